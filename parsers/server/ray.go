package server

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Ray reads Ray and its memory monitor.
var Ray = text.Parser{
	Name:     "ray",
	Keywords: text.Literals(rayFailures),
	Explains: map[fact.Kind]int{fact.RayKilled: 6, fact.RayStore: 4},
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		text.ParseWordings(rayFailures, l, hits, f)
	},
}

var rayFailures = []text.Wording{
	text.On("Task was killed due to the node running low on memory", rayKilled),
	text.On("exceeds the memory usage threshold of", rayKilled),
	text.On("killed due to memory pressure (OOM)", rayPressure),
	text.On("System memory low at node with IP", rayLow),
	text.On("The object store is full", text.Fails(fact.Failure{Kind: fact.RayStore, Framework: "ray", Backend: "cpu"})),
	text.On("ObjectStoreFullError", text.Fails(fact.Failure{Kind: fact.RayStore, Framework: "ray", Backend: "cpu"})),
	text.On("how to address the out of memory issue", rayAdvice),
	text.On("unexpected system error", rayWorkerDied),
	text.On("RayOutOfMemoryError", rayBefore2),
}

// 2.0 and 2.1 lack the bracket about the task.
var rayText = text.NewPattern(`(?:memoryused=(?<rss>SIZE)\))?wasrunningwas(?<used>SIZE)/(?<limit>SIZE)(?:\((?<share>NUM)\))?`)

// rayKilled reads the monitor's account: what the worker held, what the node
// has, and the share in use.
func rayKilled(m text.Message) int {
	x := m.Around(rayText, 420, 420)
	return m.Fail(fact.Failure{Kind: fact.RayKilled, Framework: "ray", Backend: "cpu", Figures: fact.Figures{
		KilledRSS: x.Size("rss"), Allocated: x.Size("used"), Total: x.Size("limit"), Limit: x.Size("limit"), Utilization: x.Count("share"),
	}}, max(m.End, min(m.Took(x), m.At+text.MaxQuote)))
}

var rayLowText = text.NewPattern(`usedmemory\((?<used>SIZE)\)/totalcapacity\((?<limit>SIZE)\)(?:\((?<share>NUM)\))?exceedsthreshold`)

// rayLow reads the raylet of 2.0: "Used memory (54.90GB) / total capacity
// (57.60GB) (0.95307) exceeds threshold 0.95, killing latest task".
func rayLow(m text.Message) int {
	x := m.Find(rayLowText, 200)
	if !x.Ok() {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.RayKilled, Framework: "ray", Backend: "cpu", Figures: fact.Figures{
		Allocated: x.Size("used"), Total: x.Size("limit"), Limit: x.Size("limit"), Utilization: x.Count("share"),
	}}, m.Took(x))
}

// rayAdvice reads what stands under every kill of the monitor (2.1 and later),
// for pastes that have nothing else of it.
func rayAdvice(m text.Message) int {
	return m.Fail(fact.Failure{Kind: fact.RayKilled, Framework: "ray", Backend: "cpu", Wrapper: true}, m.End)
}

var rayWorkers = text.NewPattern(`(?<workers>INT)workers\(tasks/actors\)killedduetomemorypressure`)

// rayPressure reads the raylet's count, which may be 0.
func rayPressure(m text.Message) int {
	if x := m.Around(rayWorkers, 40, 30); x.Ok() && x.Lower("workers") == "0" {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.RayKilled, Framework: "ray", Backend: "cpu"}, m.End)
}

// rayWorkerDied: the text lists the OOM killer as a possibility for every death
// of a worker, so that it proves nothing.
func rayWorkerDied(m text.Message) int {
	if !m.Precedes("workerdied", 90) || m.Mentions("memorypressure(oom)", "nodelowonmemory", "runninglowonmemory", "outofmemoryerror:", "killedprocess") {
		return m.End
	}
	m.Facts.Lookalikes = append(m.Facts.Lookalikes, fact.Lookalike{
		ID: "ray_worker_died", Line: m.Log.Line(m.At),
		Title:  "A Ray worker died. Ray names the kernel's OOM killer as one possibility for every death; this log does not say which it was",
		Advice: "Look into the worker's own log (ray logs cluster worker-*.err) and the kernel's: dmesg -T | grep -i -E 'killed process|out of memory'. Only if it names the worker, memory was it.",
	})
	return m.End
}

var rayOldText = text.NewPattern(`morethan\d{1,3}%ofthememoryonnode.{1,120}?isused\((?<used>NUM)/(?<total>NUM)gb\)`)

// rayBefore2 reads "RayOutOfMemoryError: More than 95% of the memory on node
// host is used (11.8 / 12.3 GB)". Without the figures it is a source line.
func rayBefore2(m text.Message) int {
	x := m.Find(rayOldText, 400)
	if !x.Ok() {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.RayKilled, Framework: "ray", Backend: "cpu", Figures: fact.Figures{
		Allocated: x.SizeIn("used", "gb"), Total: x.SizeIn("total", "gb"),
	}}, m.Took(x))
}
