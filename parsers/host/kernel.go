// Package host reads those who hand out the computer's own memory: the kernel,
// containers, batch systems, shells, and runtimes that were refused.
package host

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// The kernel's word explains what every other program saw of the same kill.
var Kernel = text.Parser{
	Name: "kernel", Keywords: text.Literals(kernelWordings), Context: []string{kernelTasks},
	Explains: map[fact.Kind]int{fact.KernelKill: 6, fact.OOMD: 6, fact.SlurmKill: 6, fact.AppleKill: 6, fact.BuildKilled: 4, fact.ShellKilled: 3},
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		worded, headers := text.SplitHits(hits, len(kernelWordings))
		text.ParseWordings(kernelWordings, l, worded, f)
		foldKills(f, l)
		readTasks(f, l, headers)
	},
}

var kernelWordings = []text.Wording{
	text.On("Killed process ", readKill),
	text.On("Kill process ", readKillIntent),
	text.On("oom-kill:constraint=", readConstraint),
	text.On(" invoked oom-killer", readInvoker),
	text.On("oom_reaper: reaped process", readReaped),
	text.On("killed as a result of limit of", readLimitKill), text.On("runtime.OOMController", readTalos),
	text.On("memory: usage ", readCgroupUsage), text.On("hierarchical_memory_limit ", readCgroupLimit),
	text.On("failed with result 'oom-kill'", text.Fails(fact.Failure{Kind: fact.KernelKill, Framework: "linux-oom-killer", Backend: "cpu"})),
	text.On("has been killed by the OOM killer", text.Fails(fact.Failure{Kind: fact.KernelKill, Framework: "linux-oom-killer", Backend: "cpu"})),
	text.On("due to memory pressure for ", readOOMD),
	text.On("due to memory used (", readOOMD),
	text.On("systemd-oomd killed ", text.Fails(fact.Failure{Kind: fact.OOMD, Framework: "linux-oom-killer", Backend: "cpu"})),
	text.On("oom-kill event(s) in", readSlurm), text.On("oom_kill event", readSlurm),
	text.On(": Out Of Memory", readSrun),
	text.On("Exceeded job memory limit", readSlurm), text.On("memory limit (", readSlurmLimit),
	text.On("OUT_OF_ME", readSacct),
	text.On("Killed signal terminated program", readCompiler),
	text.On("died due to signal 9", readCompiler),
	text.On("EXC_RESOURCE (RESOURCE_TYPE_MEMORY", readJetsam), text.On("EXC_RESOURCE -> ", readJetsam),
	text.On("Terminated due to memory issue", text.Fails(fact.Failure{Kind: fact.AppleKill, Framework: "other", Backend: "cpu"})),
	text.On(`"reason" : "per-process-limit"`, text.Fails(fact.Failure{Kind: fact.AppleKill, Framework: "other", Backend: "cpu"})),
	text.On("interrupted by signal 9", text.Fails(shellKilled)),
	text.On("code=killed, status=9", text.Fails(shellKilled)), text.On("signal 9 (SIGKILL)", readSignal9), text.On("terminated with signal SIGKILL", text.Fails(shellKilled)),
	text.On("SIGKILL: kill", text.Fails(shellKilled)), text.On("Signals.SIGKILL: 9", text.Fails(shellKilled)),
	text.On("exit code 137", readExitCode), text.On("exit code: 137", readExitCode), text.On("Exited (137)", readExitCode), text.On("exited with code 137", readExitCode),
	text.On("exit status 137", readExitCode), text.On("returncode 137", readExitCode), text.On("exitcode: 137", readExitCode), text.On("rc=137", readExitCode),
	text.On("returncode -9", text.Fails(shellKilled)), text.On("exit code -9", text.Fails(shellKilled)), text.On("return code -9", text.Fails(shellKilled)), text.On("exit code 247", text.Fails(shellKilled)),
	text.On("signal: killed", readGoKilled), text.On("terminated by signal 9", text.Fails(shellKilled)),
	text.On("sending SIGTERM to process", readEarlyOOM), text.On("sending SIGKILL to process", readEarlyOOM),
	text.On("crashed after using all available RAM", text.Fails(notebookKilled)),
	text.On("tried to allocate more memory than is available", text.Fails(notebookKilled)),
	text.On("Killed", readShell), text.On("已杀死", readShell), text.On("Getötet", readShell), text.On("Tué", readShell),
	text.On("Terminado (killed)", readShell), text.On("Убито", readShell), text.On("강제 종료", readShell),
}

var (
	killPattern = text.NewPattern(`^killedprocess(?<pid>(?>\d{1,10}))[,(]?\(?(?<name>[^)]{0,32}?)\)?(?:,uid\d{1,10})?,?total-vm:(?<vm>\d[\d,]{0,20})kb,anon-rss:(?<rss>\d[\d,]{0,20})kb(?:,file-rss:(?<file>\d[\d,]{0,20})kb)?`)
	// The name may hold blanks and brackets: it ends before "score", "total-vm"
	// or a comma.
	scorePattern      = text.NewPattern(`^killprocess(?<pid>\d{1,10})\((?<name>[^()]{0,32})\)score\d{1,5}orsacrificechild`)
	victimPattern     = text.NewPattern(`^killedprocess(?<pid>\d{1,10})\((?<name>[^()]{1,32})\)`)
	constraintPattern = text.NewPattern(`oom-kill:constraint=constraint_(?<what>[a-z_]{4,16}),`)
	cgroupPattern     = text.NewPattern(`oom_memcg=(?<path>[^,]{1,300}?),`)
	taskCgroupPattern = text.NewPattern(`task_memcg=(?<path>[^,]{1,300}?),task=(?<task>[^,]{0,32}),pid=`)
	boundPattern      = text.NewPattern(`hierarchical_memory_limit(?<limit>\d{1,19})(?!\d)`)
	usagePattern      = text.NewPattern(`memory:usage(?<usage>\d{1,16})kb,limit(?<limit>\d{1,19})kb`)
)

// readKill reads the line that names the victim: "Killed process 20759
// (python3) total-vm:1308832kB, anon-rss:575752kB, file-rss:10644kB, ...". RHEL
// 7 has "UID" before total-vm, 5.x and later has it behind.
func readKill(m text.Message) int {
	x := fact.Failure{Kind: fact.KernelKill, Framework: "linux-oom-killer", Backend: "cpu"}
	k := m.Find(killPattern, 200)
	if !k.Ok() {
		if !strings.HasSuffix(m.Log.Squeezed()[:m.At], "outofmemory:") {
			return m.End
		}
		if v := m.Find(victimPattern, 80); v.Ok() && !strings.Contains(m.Log.LineText(m.At), "`") { // the end of the line was lost
			m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "victim", Text: v.Text("name"), Count: v.Count("pid"), Line: v.Line()})
			return m.Fail(x, m.Took(v))
		}
		return m.End
	}
	x.Figures.KilledRSS = inKB(k, "rss")
	m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "victim", Text: k.Text("name"), Count: k.Count("pid"), Line: k.Line()})
	if (m.Precedes("memorycgroupoutofmemory:", 40) || m.Precedes("constraint_memcg", 400)) && !text.HasFact(m.Facts, "cgroup") {
		cgroup(m, "memory cgroup")
	}
	from := m.At
	for _, head := range [...]string{"memorycgroupoutofmemory:", "outofmemory:"} {
		if strings.HasSuffix(m.Log.Squeezed()[:m.At], head) {
			from = m.At - len(head)
			break
		}
	}
	text.Fail(m.Facts, m.Log, from, m.Took(k), x)
	return m.Took(k) // the next kill may stand on the same line
}

// inKB reads a figure of the kernel: kB there is 1024 bytes, and people add
// thousands separators in odd places.
func inKB(k text.Match, group string) *fact.Size {
	n, ok := text.WholeNumber(strings.ReplaceAll(k.Lower(group), ",", ""))
	if !ok {
		return nil
	}
	return &fact.Size{Bytes: n << 10, Text: k.Text(group) + "kB", Line: k.Line()}
}

// readKillIntent reads the line before the kill (up to 4.19): a failure of its
// own only where the kill line is missing.
func readKillIntent(m text.Message) int {
	k := m.Find(scorePattern, 120)
	if !k.Ok() || m.Precedes("code", 6) {
		return m.End
	}
	if m.Precedes("memorycgroupoutofmemory:", 40) {
		cgroup(m, "memory cgroup")
	}
	if m.Follows("killedprocess", 400) {
		return m.Took(k)
	}
	m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "victim", Text: k.Text("name"), Count: k.Count("pid"), Line: k.Line()})
	return m.Fail(fact.Failure{Kind: fact.KernelKill, Framework: "linux-oom-killer", Backend: "cpu"}, m.Took(k))
}

// readConstraint reads what stood at its limit: the machine or a cgroup.
func readConstraint(m text.Message) int {
	k := m.Find(constraintPattern, 60)
	if k.Lower("what") == "memcg" {
		path := m.Find(cgroupPattern, 700).Text("path")
		if task := m.Find(taskCgroupPattern, 900).Text("path"); owner(path) == "" && owner(task) != "" {
			path = task
		}
		cgroup(m, path)
	}
	if m.Follows("killedprocess", 1600) {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.KernelKill, Framework: "linux-oom-killer", Backend: "cpu"}, m.End)
}

// cgroup notes that a limit of a cgroup was hit, and whose it is.
func cgroup(m text.Message, path string) {
	m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "cgroup", Text: path, Line: m.Log.Line(m.At)})
	switch owner(path) {
	case "slurm":
		m.Facts.Programs = append(m.Facts.Programs, fact.Program{Name: "slurm", Line: m.Log.Line(m.At), Weight: 2})
	case "kubernetes":
		m.Facts.Programs = append(m.Facts.Programs, fact.Program{Name: "kubernetes", Line: m.Log.Line(m.At), Weight: 2})
	}
}

// owner says whose limit a cgroup path is, "" if the path does not tell.
func owner(path string) string {
	for _, o := range [...]struct{ part, owner string }{
		{"kubepods", "kubernetes"}, {"/slurm", "slurm"}, {"/docker", "docker"}, {"docker-", "docker"}, {"libpod", "podman"},
		{"/user.slice", "user"}, {".service", "service"}, {"/init.scope", "wsl"},
	} {
		if strings.Contains(path, o.part) {
			return o.owner
		}
	}
	return ""
}

// readInvoker reads "X invoked oom-killer": X only asked next. It is a failure
// of its own where the paste ends before the kill.
func readInvoker(m text.Message) int {
	if !m.Follows("gfp_mask", 40) || strings.Contains(m.Log.Squeezed()[m.At:], "killedprocess") {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.KernelKill, Framework: "linux-oom-killer", Backend: "cpu"}, m.End)
}

// readReaped reads what follows a kill, for pastes that have nothing else.
func readReaped(m text.Message) int {
	if len(m.Facts.Failures) > 0 || m.Mentions("killedprocess") {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.KernelKill, Framework: "linux-oom-killer", Backend: "cpu"}, m.End)
}

// readLimitKill reads the head of a cgroup's report up to 4.20, "Task in /a
// killed as a result of limit of /b", for pastes that end before the kill.
func readLimitKill(m text.Message) int {
	cgroup(m, m.Log.LineText(m.At))
	if strings.Contains(m.Log.Squeezed()[m.At:], "killedprocess") {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.KernelKill, Framework: "linux-oom-killer", Backend: "cpu"}, m.End)
}

// readTalos reads the OOM handler of Talos Linux, 1.12 and later.
func readTalos(m text.Message) int {
	if !m.Precedes("sendingsigkilltocgroup", 120) {
		return m.End
	}
	cgroup(m, m.Log.LineText(m.At))
	return m.Fail(fact.Failure{Kind: fact.OOMD, Framework: "linux-oom-killer", Backend: "cpu"}, m.End)
}

// readCgroupUsage reads "memory: usage 921600kB, limit 921600kB, failcnt 9".
func readCgroupUsage(m text.Message) int {
	k := m.Find(usagePattern, 80)
	if !k.Ok() {
		return m.End
	}
	if limit := k.SizeIn("limit", "kb"); limit != nil && limit.Bytes < 1<<50 {
		limit.Text += "kB"
		m.Fact("cgroup_limit", limit)
	}
	return m.Took(k)
}

// readCgroupLimit reads "hierarchical_memory_limit 314572800", in bytes, of the
// statistics that cgroup v1 prints: the smallest limit up the path.
func readCgroupLimit(m text.Message) int {
	k := m.Find(boundPattern, 50)
	if limit := k.Size("limit"); limit != nil && limit.Bytes < 1<<50 && !text.HasFact(m.Facts, "cgroup_limit") {
		m.Fact("cgroup_limit", limit)
	}
	return m.End
}

// foldKills makes one failure out of all kills of a log. dmesg keeps history,
// so the latest large one is what the user saw; many small victims tell that a
// sum went over, not one process. Figures from the lines around go with it.
func foldKills(f *fact.Facts, l *text.Log) {
	best, kills := -1, 0
	var most int64
	for _, x := range f.Failures {
		if x.Kind == fact.KernelKill && x.Figures.KilledRSS != nil {
			most = max(most, x.Figures.KilledRSS.Bytes)
		}
	}
	for i, x := range f.Failures {
		if x.Kind != fact.KernelKill {
			continue
		}
		kills++
		rss := x.Figures.KilledRSS
		switch {
		case best < 0:
			best = i
		case rss == nil:
		case f.Failures[best].Figures.KilledRSS == nil, rss.Bytes*2 >= most:
			best = i
		}
	}
	if best < 0 {
		return
	}
	chosen := f.Failures[best]
	for _, x := range f.Facts {
		if x.Name == "cgroup_limit" && chosen.Figures.Limit == nil {
			chosen.Figures.Limit = x.Size
		}
	}
	kept := f.Failures[:0]
	for i, x := range f.Failures {
		switch {
		case i == best:
			kept = append(kept, chosen)
		case x.Kind != fact.KernelKill:
			kept = append(kept, x)
		}
	}
	f.Failures = kept
	if kills > 1 {
		f.Facts = append(f.Facts, fact.Fact{Name: "kills", Count: &fact.Count{Value: float64(kills)}, Text: chosen.Message, Line: chosen.Line})
	}
}
