package server

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Ray reads Ray and its memory monitor.
var Ray = text.Parser{
	Name:     "ray",
	Explains: map[fact.Kind]int{fact.RayKilled: 6, fact.RayStore: 4},
}.Reading(rayFailures, nil, nil)

var rayFailures = []text.Wording{
	text.On("Task was killed due to the node running low on memory", rayKilled),
	text.On("exceeds the memory usage threshold of", rayAccount),
	text.On("killed due to memory pressure (OOM)", rayPressure),
	// The raylet of 2.0: "Used memory (54.90GB) / total capacity (57.60GB)
	// (0.95307) exceeds threshold 0.95, killing latest task".
	text.On("System memory low at node with IP", text.FailsIf(rayFailure, 0, 200, text.NewPattern(`usedmemory\((?<allocated>SIZE)\)/totalcapacity\((?<limit>(?<total>SIZE))\)(?:\((?<utilization>NUM)\))?exceedsthreshold`))),
	text.On("The object store is full", text.Fails(fact.Failure{Kind: fact.RayStore, Framework: "ray", Backend: "cpu"})),
	text.On("ObjectStoreFullError", text.Fails(fact.Failure{Kind: fact.RayStore, Framework: "ray", Backend: "cpu"})),
	// What stands under every kill of the monitor (2.1 and later), for pastes that
	// have nothing else of it.
	text.On("how to address the out of memory issue", text.Fails(fact.Failure{Kind: fact.RayKilled, Framework: "ray", Backend: "cpu", Wrapper: true})),
	text.On("unexpected system error", rayWorkerDied),
	text.On("memory users:", rayUsers), text.On("memory consumers are:", rayUsers),
	// "RayOutOfMemoryError: More than 95% of the memory on node host is used
	// (11.8 / 12.3 GB)", before 2.0. Without the figures it is a source line.
	text.On("RayOutOfMemoryError", rayRaised),
}

var rayRaising = text.NewPattern(`morethan\d{1,3}%ofthememoryonnode.{1,120}?isused\((?<allocated_gib>NUM)/(?<total_gib>NUM)gb\)`)

// rayRaised leaves the list in the same line to be read.
func rayRaised(m text.Message) int {
	if k := m.Find(rayRaising, 400); k.Ok() {
		m.FailWith(rayFailure, k)
		return m.Took(k)
	}
	return m.End
}

var rayFailure = fact.Failure{Kind: fact.RayKilled, Framework: "ray", Backend: "cpu"}

// rayKilled reads the monitor's account: what the worker held, what the node
// has, and the share in use. 2.0 and 2.1 lack the bracket about the task.
var rayKilled = text.FailsWith(rayFailure, 420, 420, text.NewPattern(`(?:memoryused=(?<killed_rss>SIZE)\))?wasrunningwas(?<allocated>SIZE)/(?<limit>(?<total>SIZE))(?:\((?<utilization>NUM)\))?`))

// rayAccount leaves the list of the largest processes to be read, which is
// announced in the same line.
func rayAccount(m text.Message) int {
	end := rayKilled(m)
	if i := strings.Index(m.Log.Squeezed()[m.At:end], "memoryusers:"); i >= 0 {
		return m.At + i
	}
	return end
}

var rayWorkers = text.NewPattern(`(?<workers>INT)workers\(tasks/actors\)killedduetomemorypressure`)

// rayPressure reads the raylet's count, which may be 0.
func rayPressure(m text.Message) int {
	if x := m.Around(rayWorkers, 40, 30); x.Ok() && x.Lower("workers") == "0" {
		return m.End
	}
	return m.Fail(rayFailure, m.End)
}

// rayUsers reads the largest processes that Ray lists, once: "410728  2.17
// ray::work", before 2.0 "28442  5.0GiB  ray::X.alloc()", at first "5.0GB", of 10^9.
func rayUsers(m text.Message) int {
	if len(m.Facts.Tasks) > 0 {
		return m.End
	}
	at := m.Log.LineIndex(m.At)
	for _, line := range m.Log.Lines[at+1 : min(at+14, len(m.Log.Lines))] {
		fields := strings.Fields(line.Text[:min(len(line.Text), 1<<10)])
		if len(fields) < 3 {
			continue
		}
		pid, ok := text.WholeNumber(fields[0])
		number, decimal := strings.CutSuffix(fields[1], "GB")
		bytes, ok2 := units.Parse(strings.TrimSuffix(number, "GiB") + "gib")
		if decimal {
			bytes = rayDecimal(m.Facts, bytes)
		}
		if ok && ok2 {
			m.Facts.Tasks = append(m.Facts.Tasks, fact.Process{PID: int(pid), Bytes: bytes, Text: fields[1], Name: fields[2], Device: -1, Line: line.Number})
		}
	}
	return m.End
}

// rayDecimal is for old releases: GB in list and total are 10^9 bytes.
func rayDecimal(f *fact.Facts, n int64) int64 {
	if x := len(f.Failures) - 1; len(f.Tasks) == 0 && x >= 0 && f.Failures[x].Figures.Allocated != nil && f.Failures[x].Figures.Total != nil {
		for _, size := range []*fact.Size{f.Failures[x].Figures.Allocated, f.Failures[x].Figures.Total} {
			size.Bytes = int64(float64(size.Bytes) * 1e9 / (1 << 30))
		}
	}
	return int64(float64(n) * 1e9 / (1 << 30))
}

// rayWorkerDied: the text lists the OOM killer as a possibility for every death
// of a worker, so that it proves nothing.
func rayWorkerDied(m text.Message) int {
	if !m.Precedes("workerdied", 90) || m.Mentions("memorypressure(oom)", "nodelowonmemory", "runninglowonmemory", "outofmemoryerror:", "killedprocess") {
		return m.End
	}
	m.Lookalike(fact.Lookalike{
		ID:     "ray_worker_died",
		Title:  "A Ray worker died. Ray names the kernel's OOM killer as one possibility for every death; this log does not say which it was",
		Advice: "Look into the worker's own log (ray logs cluster worker-*.err) and the kernel's: dmesg -T | grep -i -E 'killed process|out of memory'. Only if it names the worker, memory was it.",
	})
	return m.End
}
