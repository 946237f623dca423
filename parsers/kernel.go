package parsers

import "strings"

// What the operating system says when it ends a process for memory.
const (
	// KernelKill is the Linux OOM killer (mm/oom_kill.c, all eras), for the
	// whole machine or for a cgroup.
	KernelKill Kind = "kernel_kill"
	// OOMD is systemd-oomd, which kills by pressure before memory is gone.
	OOMD Kind = "systemd_oomd"
	// ShellKilled is a shell, a launcher or an IDE that saw signal 9.
	ShellKilled Kind = "shell_killed"
	// BuildKilled is a compiler that got signal 9.
	BuildKilled Kind = "build_killed"
	// SlurmKill is slurmstepd's cgroup plug-in.
	SlurmKill Kind = "slurm_kill"
	// AppleKill is jetsam: macOS or iOS ended the process.
	AppleKill Kind = "apple_kill"
)

// The kernel's word explains what every other program saw of the same kill.
var kernel = Parser{
	Name: "kernel", Keywords: literals(kernelWordings), Context: []string{kernelTasks},
	Explains: map[Kind]int{KernelKill: 6, OOMD: 6, SlurmKill: 6, AppleKill: 6, BuildKilled: 4, ShellKilled: 3},
	Parse: func(l *Log, hits []Hit, f *Facts) {
		worded, headers := splitHits(hits, len(kernelWordings))
		parseWordings(kernelWordings, l, worded, f)
		f.foldKills(l)
		f.readTasks(l, headers)
	},
}

var kernelWordings = []wording{
	{"Killed process ", readKill},
	{"Kill process ", readKillIntent},
	{"oom-kill:constraint=", readConstraint},
	{" invoked oom-killer", readInvoker},
	{"oom_reaper: reaped process", readReaped},
	{"killed as a result of limit of", readLimitKill}, {"runtime.OOMController", readTalos},
	{"memory: usage ", readCgroupUsage}, {"hierarchical_memory_limit ", readCgroupLimit},
	{"failed with result 'oom-kill'", fails(Failure{Kind: KernelKill, Framework: "linux-oom-killer", Backend: "cpu"})},
	{"has been killed by the OOM killer", fails(Failure{Kind: KernelKill, Framework: "linux-oom-killer", Backend: "cpu"})},
	{"due to memory pressure for ", readOOMD},
	{"due to memory used (", readOOMD},
	{"systemd-oomd killed ", fails(Failure{Kind: OOMD, Framework: "linux-oom-killer", Backend: "cpu"})},
	{"oom-kill event(s) in", readSlurm}, {"oom_kill event", readSlurm},
	{": Out Of Memory", readSrun},
	{"Exceeded job memory limit", readSlurm}, {"memory limit (", readSlurmLimit},
	{"OUT_OF_ME", readSacct},
	{"Killed signal terminated program", readCompiler},
	{"died due to signal 9", readCompiler},
	{"EXC_RESOURCE (RESOURCE_TYPE_MEMORY", readJetsam}, {"EXC_RESOURCE -> ", readJetsam},
	{"Terminated due to memory issue", fails(Failure{Kind: AppleKill, Framework: "other", Backend: "cpu"})},
	{`"reason" : "per-process-limit"`, fails(Failure{Kind: AppleKill, Framework: "other", Backend: "cpu"})},
	{"interrupted by signal 9", fails(shellKilled)},
	{"code=killed, status=9", fails(shellKilled)}, {"signal 9 (SIGKILL)", readSignal9}, {"terminated with signal SIGKILL", fails(shellKilled)},
	{"SIGKILL: kill", fails(shellKilled)}, {"Signals.SIGKILL: 9", fails(shellKilled)},
	{"exit code 137", readExitCode}, {"exit code: 137", readExitCode}, {"Exited (137)", readExitCode}, {"exited with code 137", readExitCode},
	{"exit status 137", readExitCode}, {"returncode 137", readExitCode}, {"exitcode: 137", readExitCode}, {"rc=137", readExitCode},
	{"returncode -9", fails(shellKilled)}, {"exit code -9", fails(shellKilled)}, {"return code -9", fails(shellKilled)}, {"exit code 247", fails(shellKilled)},
	{"signal: killed", readGoKilled}, {"terminated by signal 9", fails(shellKilled)},
	{"sending SIGTERM to process", readEarlyOOM}, {"sending SIGKILL to process", readEarlyOOM},
	{"crashed after using all available RAM", fails(notebookKilled)},
	{"tried to allocate more memory than is available", fails(notebookKilled)},
	{"Killed", readShell}, {"已杀死", readShell}, {"Getötet", readShell}, {"Tué", readShell},
	{"Terminado (killed)", readShell}, {"Убито", readShell}, {"강제 종료", readShell},
}

// A bare kill can also be kill -9, an orchestrator or a time limit.
var shellKilled = Failure{Kind: ShellKilled, Framework: "linux-oom-killer", Backend: "cpu", Weak: true}

// Colab and Kaggle say that it was memory.
var notebookKilled = Failure{Kind: ShellKilled, Framework: "other", Backend: "cpu"}

var (
	killPattern = pattern(`^killedprocess(?<pid>(?>\d{1,10}))[,(]?\(?(?<name>[^)]{0,32}?)\)?(?:,uid\d{1,10})?,?total-vm:(?<vm>\d[\d,]{0,20})kb,anon-rss:(?<rss>\d[\d,]{0,20})kb(?:,file-rss:(?<file>\d[\d,]{0,20})kb)?`)
	// The name may hold blanks and brackets: it ends before "score", "total-vm"
	// or a comma.
	scorePattern      = pattern(`^killprocess(?<pid>\d{1,10})\((?<name>[^()]{0,32})\)score\d{1,5}orsacrificechild`)
	victimPattern     = pattern(`^killedprocess(?<pid>\d{1,10})\((?<name>[^()]{1,32})\)`)
	constraintPattern = pattern(`oom-kill:constraint=constraint_(?<what>[a-z_]{4,16}),`)
	cgroupPattern     = pattern(`oom_memcg=(?<path>[^,]{1,300}?),`)
	taskCgroupPattern = pattern(`task_memcg=(?<path>[^,]{1,300}?),task=(?<task>[^,]{0,32}),pid=`)
	boundPattern      = pattern(`hierarchical_memory_limit(?<limit>\d{1,19})(?!\d)`)
	usagePattern      = pattern(`memory:usage(?<usage>\d{1,16})kb,limit(?<limit>\d{1,19})kb`)
)

// readKill reads the line that names the victim: "Killed process 20759
// (python3) total-vm:1308832kB, anon-rss:575752kB, file-rss:10644kB, ...". RHEL
// 7 has "UID" before total-vm, 5.x and later has it behind.
func readKill(m message) int {
	x := Failure{Kind: KernelKill, Framework: "linux-oom-killer", Backend: "cpu"}
	k := m.find(killPattern, 200)
	if !k.Ok() {
		if !strings.HasSuffix(m.l.Squeezed()[:m.at], "outofmemory:") {
			return m.end
		}
		if v := m.find(victimPattern, 80); v.Ok() && !strings.Contains(m.l.LineText(m.at), "`") { // the end of the line was lost
			m.f.Facts = append(m.f.Facts, Fact{Name: "victim", Text: v.Text("name"), Count: v.Count("pid"), Line: v.Line()})
			return m.fail(x, m.took(v))
		}
		return m.end
	}
	x.Figures.KilledRSS = inKB(k, "rss")
	m.f.Facts = append(m.f.Facts, Fact{Name: "victim", Text: k.Text("name"), Count: k.Count("pid"), Line: k.Line()})
	if (m.precedes("memorycgroupoutofmemory:", 40) || m.precedes("constraint_memcg", 400)) && !m.f.hasFact("cgroup") {
		m.cgroup("memory cgroup")
	}
	from := m.at
	for _, head := range [...]string{"memorycgroupoutofmemory:", "outofmemory:"} {
		if strings.HasSuffix(m.l.Squeezed()[:m.at], head) {
			from = m.at - len(head)
			break
		}
	}
	m.f.fail(m.l, from, m.took(k), x)
	return m.took(k) // the next kill may stand on the same line
}

func (f *Facts) hasFact(name string) bool {
	for _, x := range f.Facts {
		if x.Name == name {
			return true
		}
	}
	return false
}

// inKB reads a figure of the kernel: kB there is 1024 bytes, and people add
// thousands separators in odd places.
func inKB(k Match, group string) *Size {
	n, ok := wholeNumber(strings.ReplaceAll(k.Lower(group), ",", ""))
	if !ok {
		return nil
	}
	return &Size{Bytes: n << 10, Text: k.Text(group) + "kB", Line: k.Line()}
}

func wholeNumber(s string) (int64, bool) {
	var n int64
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' || n > 1<<58 {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, s != ""
}

// readKillIntent reads the line before the kill (up to 4.19): a failure of its
// own only where the kill line is missing.
func readKillIntent(m message) int {
	k := m.find(scorePattern, 120)
	if !k.Ok() || m.precedes("code", 6) {
		return m.end
	}
	if m.precedes("memorycgroupoutofmemory:", 40) {
		m.cgroup("memory cgroup")
	}
	if m.follows("killedprocess", 400) {
		return m.took(k)
	}
	m.f.Facts = append(m.f.Facts, Fact{Name: "victim", Text: k.Text("name"), Count: k.Count("pid"), Line: k.Line()})
	return m.fail(Failure{Kind: KernelKill, Framework: "linux-oom-killer", Backend: "cpu"}, m.took(k))
}

// readConstraint reads what stood at its limit: the machine or a cgroup.
func readConstraint(m message) int {
	k := m.find(constraintPattern, 60)
	if k.Lower("what") == "memcg" {
		path := m.find(cgroupPattern, 700).Text("path")
		if task := m.find(taskCgroupPattern, 900).Text("path"); owner(path) == "" && owner(task) != "" {
			path = task
		}
		m.cgroup(path)
	}
	if m.follows("killedprocess", 1600) {
		return m.end
	}
	return m.fail(Failure{Kind: KernelKill, Framework: "linux-oom-killer", Backend: "cpu"}, m.end)
}

// cgroup notes that a limit of a cgroup was hit, and whose it is.
func (m message) cgroup(path string) {
	m.f.Facts = append(m.f.Facts, Fact{Name: "cgroup", Text: path, Line: m.l.Line(m.at)})
	switch owner(path) {
	case "slurm":
		m.f.Programs = append(m.f.Programs, Program{Name: "slurm", Line: m.l.Line(m.at), Weight: 2})
	case "kubernetes":
		m.f.Programs = append(m.f.Programs, Program{Name: "kubernetes", Line: m.l.Line(m.at), Weight: 2})
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
func readInvoker(m message) int {
	if !m.follows("gfp_mask", 40) || strings.Contains(m.l.Squeezed()[m.at:], "killedprocess") {
		return m.end
	}
	return m.fail(Failure{Kind: KernelKill, Framework: "linux-oom-killer", Backend: "cpu"}, m.end)
}

// readReaped reads what follows a kill, for pastes that have nothing else.
func readReaped(m message) int {
	if len(m.f.Failures) > 0 || m.mentions("killedprocess") {
		return m.end
	}
	return m.fail(Failure{Kind: KernelKill, Framework: "linux-oom-killer", Backend: "cpu"}, m.end)
}

// readLimitKill reads the head of a cgroup's report up to 4.20, "Task in /a
// killed as a result of limit of /b", for pastes that end before the kill.
func readLimitKill(m message) int {
	m.cgroup(m.l.LineText(m.at))
	if strings.Contains(m.l.Squeezed()[m.at:], "killedprocess") {
		return m.end
	}
	return m.fail(Failure{Kind: KernelKill, Framework: "linux-oom-killer", Backend: "cpu"}, m.end)
}

// readTalos reads the OOM handler of Talos Linux, 1.12 and later.
func readTalos(m message) int {
	if !m.precedes("sendingsigkilltocgroup", 120) {
		return m.end
	}
	m.cgroup(m.l.LineText(m.at))
	return m.fail(Failure{Kind: OOMD, Framework: "linux-oom-killer", Backend: "cpu"}, m.end)
}

// readCgroupUsage reads "memory: usage 921600kB, limit 921600kB, failcnt 9".
func readCgroupUsage(m message) int {
	k := m.find(usagePattern, 80)
	if !k.Ok() {
		return m.end
	}
	if limit := k.SizeIn("limit", "kb"); limit != nil && limit.Bytes < 1<<50 {
		limit.Text += "kB"
		m.fact("cgroup_limit", limit)
	}
	return m.took(k)
}

// readCgroupLimit reads "hierarchical_memory_limit 314572800", in bytes, of the
// statistics that cgroup v1 prints: the smallest limit up the path.
func readCgroupLimit(m message) int {
	k := m.find(boundPattern, 50)
	if limit := k.Size("limit"); limit != nil && limit.Bytes < 1<<50 && !m.f.hasFact("cgroup_limit") {
		m.fact("cgroup_limit", limit)
	}
	return m.end
}

// foldKills makes one failure out of all kills of a log. dmesg keeps history,
// so the latest large one is what the user saw; many small victims tell that a
// sum went over, not one process. Figures from the lines around go with it.
func (f *Facts) foldKills(l *Log) {
	best, kills := -1, 0
	var most int64
	for _, x := range f.Failures {
		if x.Kind == KernelKill && x.Figures.KilledRSS != nil {
			most = max(most, x.Figures.KilledRSS.Bytes)
		}
	}
	for i, x := range f.Failures {
		if x.Kind != KernelKill {
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
		case x.Kind != KernelKill:
			kept = append(kept, x)
		}
	}
	f.Failures = kept
	if kills > 1 {
		f.Facts = append(f.Facts, Fact{Name: "kills", Count: &Count{Value: float64(kills)}, Text: chosen.Message, Line: chosen.Line})
	}
}

var earlyOOMPattern = pattern(`toprocess(?<pid>\d{1,10})(?:uid\d{1,10})?"?(?<name>[^"]{1,32}?)"?:(?:badness|oom_score)\d{1,5},vmrss(?<rss>\d{1,9})mib`)

// readEarlyOOM reads earlyoom 1.3 and later: 'sending SIGTERM to process 31415
// uid 1000 "python": badness 912, VmRSS 14230 MiB'.
func readEarlyOOM(m message) int {
	k := m.find(earlyOOMPattern, 200)
	if !k.Ok() {
		return m.end
	}
	x := Failure{Kind: KernelKill, Framework: "linux-oom-killer", Backend: "cpu"}
	if x.Figures.KilledRSS = k.SizeIn("rss", "mib"); x.Figures.KilledRSS != nil {
		x.Figures.KilledRSS.Text += " MiB"
	}
	m.f.Facts = append(m.f.Facts, Fact{Name: "victim", Text: k.Text("name"), Count: k.Count("pid"), Line: k.Line()})
	return m.fail(x, m.took(k))
}

// readGoKilled reads what Go's os/exec says of a child that died of signal 9.
func readGoKilled(m message) int {
	if m.precedes("runner", 80) || m.precedes("by", 2) {
		return m.end // Ollama and PyTorch's loader read it themselves
	}
	return fails(shellKilled)(m)
}

var pressurePattern = pattern(`being(?<now>NUM)%>(?<limit>NUM)%`)

// readOOMD reads "systemd-oomd[840]: Killed /user.slice/... due to memory
// pressure for ... being 51.07% > 50.00% for > 20s with reclaim activity".
func readOOMD(m message) int {
	if m.precedes("marked", 600) && !m.precedes("killed", 600) {
		return m.end // "Marked ... for killing": the kill comes on its own line
	}
	x := Failure{Kind: OOMD, Framework: "linux-oom-killer", Backend: "cpu"}
	k := m.find(pressurePattern, 500)
	if !k.Ok() && !m.follows("swapused", 120) {
		return m.end
	}
	if k.Ok() {
		m.f.Facts = append(m.f.Facts, Fact{Name: "pressure", Count: k.Count("now"), Text: m.l.LineText(m.at), Line: k.Line()})
	}
	return m.fail(x, m.took(k))
}

// readSlurm reads slurmstepd, 20.02 ("oom-kill event(s) in step 1.0 cgroup") to
// 23.02 and later ("oom_kill event in StepId=1.0").
func readSlurm(m message) int {
	if !m.follows("step", 60) && !m.follows("joblimit", 60) && !m.precedes("slurmstepd", 200) && !m.precedes("exceeded", 40) {
		return m.end
	}
	if m.precedes("detected0", 12) {
		return m.end
	}
	return m.fail(Failure{Kind: SlurmKill, Framework: "slurm", Backend: "cpu"}, m.end)
}

var slurmLimitPattern = pattern(`(?:job|step)(?<id>[^(]{0,40})memorylimit\((?<used>\d{1,16})>(?<limit>\d{1,16})\)`)

// readSlurmLimit reads the old polling plug-in: "slurmstepd: error: Job 7
// exceeded memory limit (4200000 > 4096000), being killed"; figures in KiB.
func readSlurmLimit(m message) int {
	k := m.around(slurmLimitPattern, 80, 60)
	if !k.Ok() {
		return m.end
	}
	x := Failure{Kind: SlurmKill, Framework: "slurm", Backend: "cpu"}
	x.Figures.KilledRSS, x.Figures.Limit = k.SizeIn("used", "kb"), k.SizeIn("limit", "kb")
	return m.fail(x, m.took(k))
}

// readSrun reads "srun: error: node7: tasks 1-3: Out Of Memory".
func readSrun(m message) int {
	if !m.precedes("srun:error:", 120) && !m.precedes("task", 24) {
		return m.end
	}
	return m.fail(Failure{Kind: SlurmKill, Framework: "slurm", Backend: "cpu"}, m.end)
}

// readSacct reads a job's state in sacct's table, which cuts it to OUT_OF_ME+.
func readSacct(m message) int {
	if !m.follows("out_of_me+", 12) && !m.follows("out_of_memory", 14) || m.follows("out_of_memory_", 16) || m.precedes("error", 8) || m.precedes("cuda_", 6) || m.precedes("status_", 8) {
		return m.end
	}
	if s := m.l.Squeezed(); m.at > 0 && (letter(s[m.at-1]) || s[m.at-1] == '_') && !m.mentions("jobid", "sacct", "slurm") {
		return m.end
	}
	if !m.mentions("jobid", "sacct", "slurm", "maxrss") {
		return m.end
	}
	return m.fail(Failure{Kind: SlurmKill, Framework: "slurm", Backend: "cpu"}, m.end)
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' }

// readCompiler reads gcc ("c++: fatal error: Killed signal terminated program
// cc1plus") and nvcc ("'cicc' died due to signal 9 (Kill signal)").
func readCompiler(m message) int {
	return m.fail(Failure{Kind: BuildKilled, Framework: "linux-oom-killer", Backend: "cpu", Phase: "unknown"}, m.end)
}

var jetsamPattern = pattern(`limit=?(?:<)?(?<limit>\d{1,9})mb`)

// readJetsam reads iOS's per-process limit.
func readJetsam(m message) int {
	x := Failure{Kind: AppleKill, Framework: "other", Backend: "cpu"}
	if m.mentions("mlx", "metal") {
		x.Framework, x.Backend = "mlx", "metal"
	}
	k := m.find(jetsamPattern, 160)
	if !k.Ok() {
		return m.end
	}
	x.Figures.Limit = k.SizeIn("limit", "mb")
	if x.Figures.Limit != nil {
		x.Figures.Limit.Text += " MB"
	}
	return m.fail(x, m.took(k))
}

// readSignal9 reads Celery's and others' line; torchrun's is its own.
func readSignal9(m message) int {
	if m.follows("receivedbypid", 40) {
		return m.end
	}
	return fails(shellKilled)(m)
}

// readExitCode reads exit code 137 (128 + SIGKILL), which a container whose
// OOMKilled is false got from a person.
func readExitCode(m message) int {
	s := m.l.Squeezed()
	if m.end < len(s) && s[m.end] >= '0' && s[m.end] <= '9' || m.mentions(`oomkilled":false`, `oomkilled:false`) {
		return m.end
	}
	for _, word := range [...]string{"means", "indicates", "isusually", "typically"} {
		if strings.HasPrefix(s[m.end:], word) {
			return m.end // an explanation, not a report
		}
	}
	if m.at > 0 && m.precedes("c", 1) && strings.HasPrefix(s[m.at:], "rc=") {
		return m.end
	}
	x := shellKilled
	if m.mentions("laststate:terminated", "containerstatuses", "lastfailureinfo", "restartcount") {
		x.Framework = "kubernetes"
	}
	return fails(x)(m)
}

// readShell reads the word that a shell prints for signal 9: alone on its line
// (dash, an interactive bash, PyTorch's launcher), or after script, line and
// PID; zsh has "zsh: killed     python x.py".
func readShell(m message) int {
	line := strings.TrimSpace(m.l.LineText(m.at))
	if !shellKill(line) && !m.precedes("it]", 3) { // or behind a progress bar
		return m.end
	}
	return fails(shellKilled)(m)
}

func shellKill(line string) bool {
	switch word := strings.Trim(line, ".!* "); {
	case word == "Killed", word == "Killed: 9", word == "已杀死", word == "Getötet", word == "Tué", word == "Terminado (killed)", word == "Убито", word == "강제 종료됨":
		return true
	case strings.HasPrefix(line, "zsh: killed "), strings.HasPrefix(line, "[1]") && strings.Contains(line, " killed "):
		return true
	}
	// "bash: line 1:  1374 Killed    python x.py", "job.sh: line 30: 7 Killed".
	before, after, found := cutKilled(line)
	if !found || after != "" && after[0] != ' ' {
		return false
	}
	pid := before[strings.LastIndexAny(before, " ]\t")+1:]
	_, isNumber := wholeNumber(pid)
	return isNumber && (strings.Contains(before, "line ") || strings.Contains(before, "行") || strings.HasPrefix(before, "[") || before == pid)
}

func cutKilled(line string) (before, after string, found bool) {
	for _, word := range [...]string{"Killed", "已杀死", "Getötet", "Tué"} {
		if before, after, found = strings.Cut(line, word); found {
			return strings.TrimSpace(before), after, true
		}
	}
	return "", "", false
}
