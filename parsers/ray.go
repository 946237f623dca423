package parsers

// What Ray says. Its GB are powers of 1024, and all of it is system memory.
const (
	// RayKilled: Ray's monitor killed a worker because the node ran low.
	RayKilled Kind = "ray_killed"
	// RayStore: the object store in shared memory is full.
	RayStore Kind = "ray_store"
)

var ray = Parser{
	Name:     "ray",
	Keywords: literals(rayFailures),
	Explains: map[Kind]int{RayKilled: 6, RayStore: 4},
	Parse: func(l *Log, hits []Hit, f *Facts) {
		parseWordings(rayFailures, l, hits, f)
	},
}

var rayFailures = []wording{
	{"Task was killed due to the node running low on memory", rayKilled},
	{"exceeds the memory usage threshold of", rayKilled},
	{"killed due to memory pressure (OOM)", rayPressure},
	{"System memory low at node with IP", rayLow},
	{"The object store is full", fails(Failure{Kind: RayStore, Framework: "ray", Backend: "cpu"})},
	{"ObjectStoreFullError", fails(Failure{Kind: RayStore, Framework: "ray", Backend: "cpu"})},
	{"how to address the out of memory issue", rayAdvice},
	{"unexpected system error", rayWorkerDied},
	{"RayOutOfMemoryError", rayBefore2},
}

// 2.0 and 2.1 lack the bracket about the task.
var rayText = pattern(`(?:memoryused=(?<rss>SIZE)\))?wasrunningwas(?<used>SIZE)/(?<limit>SIZE)(?:\((?<share>NUM)\))?`)

// rayKilled reads the monitor's account: what the worker held, what the node
// has, and the share in use.
func rayKilled(m message) int {
	x := m.around(rayText, 420, 420)
	return m.fail(Failure{Kind: RayKilled, Framework: "ray", Backend: "cpu", Figures: Figures{
		KilledRSS: x.Size("rss"), Allocated: x.Size("used"), Total: x.Size("limit"), Limit: x.Size("limit"), Utilization: x.Count("share"),
	}}, max(m.end, min(m.took(x), m.at+maxQuote)))
}

var rayLowText = pattern(`usedmemory\((?<used>SIZE)\)/totalcapacity\((?<limit>SIZE)\)(?:\((?<share>NUM)\))?exceedsthreshold`)

// rayLow reads the raylet of 2.0: "Used memory (54.90GB) / total capacity
// (57.60GB) (0.95307) exceeds threshold 0.95, killing latest task".
func rayLow(m message) int {
	x := m.find(rayLowText, 200)
	if !x.Ok() {
		return m.end
	}
	return m.fail(Failure{Kind: RayKilled, Framework: "ray", Backend: "cpu", Figures: Figures{
		Allocated: x.Size("used"), Total: x.Size("limit"), Limit: x.Size("limit"), Utilization: x.Count("share"),
	}}, m.took(x))
}

// rayAdvice reads what stands under every kill of the monitor (2.1 and later),
// for pastes that have nothing else of it.
func rayAdvice(m message) int {
	return m.fail(Failure{Kind: RayKilled, Framework: "ray", Backend: "cpu", Wrapper: true}, m.end)
}

var rayWorkers = pattern(`(?<workers>INT)workers\(tasks/actors\)killedduetomemorypressure`)

// rayPressure reads the raylet's count, which may be 0.
func rayPressure(m message) int {
	if x := m.around(rayWorkers, 40, 30); x.Ok() && x.Lower("workers") == "0" {
		return m.end
	}
	return m.fail(Failure{Kind: RayKilled, Framework: "ray", Backend: "cpu"}, m.end)
}

// rayWorkerDied: the text lists the OOM killer as a possibility for every death
// of a worker, so that it proves nothing.
func rayWorkerDied(m message) int {
	if !m.precedes("workerdied", 90) || m.mentions("memorypressure(oom)", "nodelowonmemory", "runninglowonmemory", "outofmemoryerror:", "killedprocess") {
		return m.end
	}
	m.f.Lookalikes = append(m.f.Lookalikes, Lookalike{
		ID: "ray_worker_died", Line: m.l.Line(m.at),
		Title:  "A Ray worker died. Ray names the kernel's OOM killer as one possibility for every death; this log does not say which it was",
		Advice: "Look into the worker's own log (ray logs cluster worker-*.err) and the kernel's: dmesg -T | grep -i -E 'killed process|out of memory'. Only if it names the worker, memory was it.",
	})
	return m.end
}

var rayOldText = pattern(`morethan\d{1,3}%ofthememoryonnode.{1,120}?isused\((?<used>NUM)/(?<total>NUM)gb\)`)

// rayBefore2 reads "RayOutOfMemoryError: More than 95% of the memory on node
// host is used (11.8 / 12.3 GB)". Without the figures it is a source line.
func rayBefore2(m message) int {
	x := m.find(rayOldText, 400)
	if !x.Ok() {
		return m.end
	}
	return m.fail(Failure{Kind: RayKilled, Framework: "ray", Backend: "cpu", Figures: Figures{
		Allocated: x.SizeIn("used", "gb"), Total: x.SizeIn("total", "gb"),
	}}, m.took(x))
}
