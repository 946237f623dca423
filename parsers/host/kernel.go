// Package host reads those who hand out the computer's own memory: the kernel,
// containers, batch systems, shells, and runtimes that were refused.
package host

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// The kernel's word explains what every other program saw of the same kill.
var Kernel = text.Parser{
	Name: "kernel", Context: []string{kernelTasks},
	Explains: map[fact.Kind]int{fact.KernelKill: 6, fact.OOMD: 6, fact.SlurmKill: 6, fact.AppleKill: 6, fact.BuildKilled: 4, fact.ShellKilled: 3},
}.Reading(kernelWordings, nil, func(l *text.Log, headers []text.Hit, f *fact.Facts) {
	foldKills(l, f)
	readTasks(f, l, headers)
})

var (
	kernelKill = fact.Failure{Kind: fact.KernelKill, Framework: "linux-oom-killer", Backend: "cpu"}
	oomdKill   = fact.Failure{Kind: fact.OOMD, Framework: "linux-oom-killer", Backend: "cpu"}
	appleKill  = fact.Failure{Kind: fact.AppleKill, Framework: "other", Backend: "cpu"}
	buildKill  = fact.Failure{Kind: fact.BuildKilled, Framework: "linux-oom-killer", Backend: "cpu", Phase: "unknown"}
)

var kernelWordings = slices.Concat(
	[]text.Wording{
		text.On("Killed process ", readKill), text.On("Kill process ", readKillIntent), text.On("oom-kill:constraint=", readConstraint),
		text.On(" invoked oom-killer", text.When(text.Unless(text.FailsAlone(kernelKill), killBelow), text.Behind("gfp_mask", 40))), // who only asked next
		text.On("System OOM encountered", readSystemOOM),
		text.On("oom_reaper: reaped process", text.Unless(text.FailsAlone(kernelKill), func(m text.Message) bool { return len(m.Facts.Failures) > 0 }, text.Beside("killedprocess"))),
		text.On("killed as a result of limit of", readLimitKill), text.On("Memory cgroup stats for ", readLimitKill), text.On("runtime.OOMController", readTalos),
		// "memory: usage 921600kB, limit 921600kB, failcnt 9".
		text.On("memory: usage ", text.States(0, 80, text.NewPattern(`memory:usage\d{1,16}kb,limit(?<cgroup_limit>\d{1,19}kb)`))),
		// In bytes, of cgroup v1: the smallest limit up the path.
		text.On("hierarchical_memory_limit ", text.States(0, 50, text.NewPattern(`hierarchical_memory_limit(?<cgroup_limit_bytes>\d{1,19})(?!\d)`))),
		// "Total swap = 2097148kB", "4181632 pages RAM": what the machine has.
		text.On("memory+swap: usage ", text.Says("cgroup_v1")), text.On("mem_cgroup_out_of_memory", text.Says("cgroup")), text.On("Free swap ", text.States(0, 40, text.NewPattern(`freeswap=(?<kernel_swap_free_kib>\d{1,14})kb`))), text.On("Total swap =", text.States(0, 40, text.NewPattern(`totalswap=(?<kernel_swap_kib>\d{1,14})kb`))), text.On(" pages RAM", readPages), text.On(" memory peak", readPeak),
		text.On("free_cma:", text.States(500, 30, zonePattern)), text.On(" pages HighMem", readPages),
		text.On("due to memory pressure for ", readOOMD), text.On("seconds and there was reclaim activity", text.FailsIf(oomdKill, 260, 0, text.NewPattern(`memorypressurefor`))), // systemd-oomd 248, before it kills
		text.On("due to memory used (", readOOMD), text.On("Killed /user.slice/", readOOMDKill), text.On("Killed /system.slice/", readOOMDKill), text.On("systemd-oomd killed ", text.FailsWith(oomdKill, 0, 60, text.NewPattern(`systemd-oomdkilled(?<oomd_processes>\d{1,7})process`))),
		text.On(": Out Of Memory", text.When(text.FailsAlone(slurmKill), text.Before("srun:error:", 120), text.Before("task", 24))), // "srun: error: node7: tasks 1-3: Out Of Memory"
		text.On("memory limit (", readSlurmLimit), text.On("OUT_OF_ME", readSacct),
		text.On("signal 9 (SIGKILL)", text.Unless(text.Fails(shellKilled), text.Behind("receivedbypid", 40))), // Celery's and others'; torchrun's is its own
		// Go's os/exec of a child; Ollama and PyTorch's loader read it themselves.
		text.On("signal: killed", text.Unless(text.Fails(shellKilled), text.Before("runner", 80), text.Before("by", 2))),
	},
	text.OnAny(text.Unless(text.Fails(kernelKill), killBelow), "OOM killer terminated this process", "Tasks state (memory values in pages)", "oom_kill_process from out_of_memory"), text.OnAny(text.Unless(text.FailsAlone(oomdKill), text.Behind("killed/", 4000)), "cgroups for killing, top candidates were"), text.OnAny(text.Unless(readUnit, text.Before("systemd-oomdkilled", 240)), "failed with result 'oom-kill'", "has been killed by the OOM killer"),
	text.OnAny(text.States(0, 60, text.NewPattern(`memory\(kbytes,-v\)(?<address_limit_kib>\d{1,15})`)), "virtual memory (kbytes, -v)"), // bash's ulimit -a
	text.OnAny(text.Says("cluster"), "srun: ", "#SBATCH", "sbatch ", "SLURM_JOB", "/gpfs/", "/lustre/", "#PBS ", "#BSUB ", "module load ", "/slurm_script: line ", "/var/spool/slurm", "/mom_priv/jobs/", "/.lsbatch/"),
	text.OnAny(readSlurm, "oom-kill event(s) in", "oom_kill event", "Exceeded job memory limit", "Exceeded step memory limit"),
	text.OnAny(readCompilerSignal, "signal terminated program"),
	// gcc ("c++: fatal error: Killed signal terminated program cc1plus") and nvcc
	// ("'cicc' died due to signal 9 (Kill signal)").
	text.OnAny(text.Fails(buildKill), "Killed signal terminated program", "died due to signal 9", "ld terminated with signal 9", "error: Killed (program"),
	// launchd's account of a service.
	text.OnAny(text.FailsWith(appleKill, 400, 0, jetsamLimit), "JETSAM_REASON_MEMORY"), text.OnAny(readJetsam, "EXC_RESOURCE (RESOURCE_TYPE_MEMORY", "EXC_RESOURCE -> "),
	text.OnAny(text.Fails(appleKill), "Terminated due to memory issue", "Terminated due to memory pressure", "terminated for exceeding jetsam memory limits", `"reason" : "per-process-limit"`, `"reason" : "vm-pageshortage"`, "low swap: killing", "low swap: suspending pid", "low swap: throttling pid", "killing largest compressed process", "low swap: failed to create swapfile", "vnode_setsize for swap files failed", "triggering no paging space action", "] due to swap exhaustion"), // from the swap on: xnu's kern_memorystatus.c, kern_proc.c and vm_compressor_backing_store.c
	text.OnAny(readEarlyOOM, "sending SIGTERM to process", "sending SIGKILL to process"),
	text.OnAny(text.Fails(shellKilled), "interrupted by signal 9", "[Process completed (signal 9)", "code=killed, status=9", "terminated with signal SIGKILL", "SIGKILL: kill",
		"Signals.SIGKILL: 9", "Negsignal.SIGKILL", "returncode -9", "exited on signal 9", "KILL SIGNAL: 9", "EXIT STRING: Killed (signal 9)", "exit code -9", "return code -9", "exit code 247", "terminated by signal 9", "died through signal KILL", "waitpid returned 9", "signal (9): Killed", "EXIT CODE: 9 =", "KILLED BY SIGNAL: 9 ("), // the last two are the frame of MPICH and Intel MPI
	text.OnAny(readExitCode, "exit code 137", "exit code: 137", "exit code (137)", "Exited (137)", "exited with code 137", "exit status 137", "returncode 137", "ExitCode 137", "status of 137(SIGKILL)", "npm ERR! code 137", "npm error code 137",
		"exitcode: 137", `"exitCode": 137`, "rc=137", "Exit status: 137", "Exit code is 137", "errno 137"),
	// Colab and Kaggle say that it was memory.
	text.OnAny(text.Fails(fact.Failure{Kind: fact.ShellKilled, Framework: "other", Backend: "cpu"}),
		"crashed after using all available RAM", "tried to allocate more memory than is available"),
	text.OnAny(readShell, append(killedWords, "강제 종료")...),
)

var (
	// A zone's free memory includes what is kept for drivers (mm/show_mem.c).
	zonePattern = text.NewPattern(`(?:dma|dma32|normal)free:(?<zone_free_kib>\d{1,12})kb.{0,50}?min:(?<zone_min_kib>\d{1,12})kb.{0,440}?free_cma:(?<zone_cma_kib>[1-9]\d{0,11})kb`)
	unitName    = regexp.MustCompile(`(\S+\.(?:service|scope|slice)): `)
	killPattern = text.NewPattern(`^killedprocess(?<pid>(?>\d{1,10}))[,(]?\(?(?<name>[^)]{0,32}?)\)?(?:,uid\d{1,10})?,?` +
		`total-vm:\d[\d,]{0,20}kb,anon-rss:(?<rss>\d[\d,]{0,20})kb(?:,file-rss:(?<file>\d[\d,]{0,20})kb)?(?:,shmem-rss:(?<shmem>\d[\d,]{0,20})kb)?`)
	// The name may hold blanks and brackets.
	scorePattern      = text.NewPattern(`^killprocess(?<pid>\d{1,10})\((?<name>[^()]{0,32})\)score\d{1,5}orsacrificechild`)
	victimPattern     = text.NewPattern(`^killedprocess(?<pid>\d{1,10})\((?<name>[^()]{1,32})\)`)
	cgroupPattern     = text.NewPattern(`oom_memcg=(?<path>[^,]{1,300}?),`)
	taskCgroupPattern = text.NewPattern(`task_memcg=(?<path>[^,]{1,300}?),task=[^,]{0,32},pid=`)
)

// compilers are the processes of a build, in lower case, whoever started them.
var compilers = []string{
	"cicc", "ptxas", "nvcc", "cudafe++", "fatbinary", "nvlink", "cc1plus", "cc1", "lto1", "collect2", "ld", "ld.lld", "lld", "ld.gold", "ld.mold", "ld.bfd",
	"clang", "clang++", "hipcc", "amdclang++", "g++", "gcc", "c++", "rustc", "ninja", "icpx", "ccec", "compile", "link", // the last two are Go's
}

// readKill reads the line that names the victim. RHEL 7 has "UID" before total-vm,
// Linux 5.x and later has it behind.
func readKill(m text.Message) int {
	x, k := kernelKill, m.Find(killPattern, 200)
	if !k.Ok() {
		v := m.Find(victimPattern, 80) // the end of the line was lost
		if !v.Ok() || !m.Precedes("outofmemory:", len("outofmemory:")) || strings.Contains(m.Log.LineText(m.At), "`") {
			return m.End
		}
		victim(m, v)
		return m.Fail(x, m.Took(v))
	}
	x.Figures.KilledRSS = inKB(k, "rss")
	if slices.Contains(compilers, k.Lower("name")) {
		x.Kind, x.Phase = buildKill.Kind, buildKill.Phase
	}
	victim(m, k)
	m.Fact("victim_file", inKB(k, "file")) // beside what is private
	m.Fact("victim_shmem", inKB(k, "shmem"))
	if _, rest, found := strings.Cut(m.Log.LineText(m.At), "oom_score_adj:"); found {
		rest, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "victim_score_adj", Text: rest, Line: k.Line()})
	}
	if (m.Precedes("memorycgroupoutofmemory:", 40) || m.Precedes("constraint_memcg", 400)) && !text.HasFact(m.Facts, "cgroup") {
		cgroup(m, "memory cgroup")
	}
	from := m.At
	for _, head := range [...]string{"outofmemory:", "memorycgroup"} {
		if m.Precedes(head, m.At-from+len(head)) {
			from -= len(head)
		}
	}
	text.Fail(m.Facts, m.Log, from, m.Took(k), x)
	return m.Took(k) // the next kill may stand on the same line
}

var pagesPattern = text.NewPattern(`(?<!\d)(?<pages>\d{4,10})pages(?<of>ram|highmem)`)

// readPages reads how much memory the machine has, and how much of it is high.
func readPages(m text.Message) int {
	k := m.Around(pagesPattern, 12, 12)
	if n, ok := text.WholeNumber(k.Text("pages")); ok {
		m.Fact("kernel_"+k.Lower("of"), &fact.Size{Bytes: n * pageSize, Text: k.Text("pages") + " pages", Line: k.Line()})
	}
	return m.End
}

// "Consumed 2min 45.760s CPU time, 11.4G memory peak, 0B memory swap peak."
var peakPattern = text.NewPattern(`[,;](?<peak>\d{1,4}(?:\.\d)?)(?<unit>[mgt])memorypeak`)

// readPeak reads the most memory that a systemd unit had.
func readPeak(m text.Message) int {
	k := m.Around(peakPattern, 16, 16)
	if n, err := strconv.ParseFloat(k.Text("peak"), 64); err == nil {
		unit := map[string]float64{"m": 1 << 20, "g": 1 << 30, "t": 1 << 40}[k.Lower("unit")]
		m.Fact("unit_memory_peak", &fact.Size{Bytes: int64(n * unit), Text: k.Text("peak") + k.Text("unit"), Line: k.Line()})
	}
	return m.End
}

// readUnit reads systemd's "run-r3f.scope: Failed with result 'oom-kill'.", and "A
// process of this unit has been killed by the OOM killer.", of the units above, too.
func readUnit(m text.Message) int {
	if name := unitName.FindStringSubmatch(m.Log.LineText(m.At)); name != nil {
		m.Say("unit", name[1])
	}
	return text.Fails(kernelKill)(m) // the peak stands on the same line
}

// readCompilerSignal reads gcc's words where the signal's name before them is in
// another language, or was lost (gcc.cc, strsignal).
func readCompilerSignal(m text.Message) int {
	for _, other := range [...]string{"killed", "segmentationfault", "aborted", "interrupt", "terminated", "illegalinstruction", "buserror"} {
		if m.Precedes(other, len(other)) {
			return m.End // no kill, or one that has its own wording
		}
	}
	return m.Fail(buildKill, m.End)
}

// readSystemOOM reads the event of kubelet's oom_watcher, of the node, not of a pod.
func readSystemOOM(m text.Message) int {
	k := m.Find(systemOOM, 120)
	if k.Ok() { // without it where the kernel's line was not understood (oom_watcher_linux.go), or cut
		victim(m, k)
	}
	return m.Fail(kernelKill, m.Took(k))
}

var systemOOM = text.NewPattern(`victimprocess:(?<name>[^,]{1,32}),pid:(?<pid>\d{1,10})`)

// victim notes the process that was killed.
func victim(m text.Message, k text.Match) {
	m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "victim", Text: k.Text("name"), Count: k.Count("pid"), Line: k.Line()})
}

// inKB reads a figure of the kernel (1024 bytes), with separators that people add.
func inKB(k text.Match, group string) *fact.Size {
	n, ok := text.WholeNumber(strings.ReplaceAll(k.Lower(group), ",", ""))
	if !ok {
		return nil
	}
	return &fact.Size{Bytes: n << 10, Text: k.Text(group) + "kB", Line: k.Line()}
}

// readKillIntent reads the line before the kill (up to 4.19), if that is missing.
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
	victim(m, k)
	return m.Fail(kernelKill, m.Took(k))
}

// readConstraint reads what stood at its limit: the machine or a cgroup.
func readConstraint(m text.Message) int {
	if m.Follows("constraint_memcg,", 60) {
		path := m.Find(cgroupPattern, 700).Text("path")
		if task := m.Find(taskCgroupPattern, 900).Text("path"); owner(path) == "" && owner(task) != "" {
			path = task
		}
		cgroup(m, path)
	}
	if m.Follows("killedprocess", 1600) {
		return m.End
	}
	return m.Fail(kernelKill, m.End)
}

// cgroup notes that a limit of a cgroup was hit, and whose it is.
func cgroup(m text.Message, path string) {
	m.Say("cgroup", path)
	if program := owner(path); program == "slurm" || program == "kubernetes" {
		m.Facts.Programs = append(m.Facts.Programs, fact.Program{Name: program, Line: m.Log.Line(m.At), Weight: 2})
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

// killBelow holds where the line of a kill follows, which says more.
func killBelow(m text.Message) bool { return m.Log.MentionsFrom("killedprocess", m.At) }

// readLimitKill reads the head of a cgroup's report up to 4.20, "Task in /a
// killed as a result of limit of /b", for pastes that end before the kill.
func readLimitKill(m text.Message) int {
	cgroup(m, m.Log.LineText(m.At))
	if killBelow(m) {
		return m.End
	}
	return m.Fail(kernelKill, m.End)
}

// readTalos reads the OOM handler of Talos Linux, 1.12 and later.
func readTalos(m text.Message) int {
	if !m.Precedes("sendingsigkilltocgroup", 120) {
		return m.End
	}
	cgroup(m, m.Log.LineText(m.At))
	return m.Fail(oomdKill, m.End)
}

// foldKills makes one failure of each control group's kills, of all if one has none.
func foldKills(l *text.Log, f *fact.Facts) {
	var kills, left []fact.Failure
	var groups []string // of each kill
	for _, x := range f.Failures {
		if x.Kind != fact.KernelKill {
			left = append(left, x)
			continue
		}
		kills, groups = append(kills, x), append(groups, groupOf(l, x))
	}
	if slices.Contains(groups, "") {
		groups = make([]string, len(groups))
	}
	for i, group := range groups {
		if slices.Index(groups, group) < i {
			continue
		}
		var same []fact.Failure
		for k, x := range kills {
			if groups[k] == group {
				same = append(same, x)
			}
		}
		left = append(left, chosenKill(f, same))
	}
	f.Failures = left
}

// groupOf is the control group whose limit a kill names: of Kubernetes the pod,
// since a container that starts anew has another name; "" if it names none.
func groupOf(l *text.Log, x fact.Failure) string {
	before := l.Squeezed()[max(x.At-600, 0):x.At]
	_, path, _ := strings.Cut(before[max(strings.LastIndex(before, "oom_memcg="), 0):], "oom_memcg=")
	path, _, _ = strings.Cut(path, ",")
	if strings.Contains(path, "kubepods") {
		path, _, _ = strings.Cut(path[strings.LastIndex(path, "pod"):], "/")
	}
	return path
}

// chosenKill is the kill that a log is about: dmesg keeps history, so the latest
// large one is what the user saw. Figures from the lines around go with it.
func chosenKill(f *fact.Facts, kills []fact.Failure) fact.Failure {
	var most int64
	for _, x := range kills {
		if rss := x.Figures.KilledRSS; rss != nil {
			most = max(most, rss.Bytes)
		}
	}
	chosen := kills[0]
	for _, x := range kills {
		if rss := x.Figures.KilledRSS; rss != nil && rss.Bytes*2 >= most {
			chosen = x
		}
	}
	for _, x := range f.Facts { // the last one before the kill, or the first
		if x.Name == "cgroup_limit" && (chosen.Figures.Limit == nil || x.Line < chosen.Line) {
			chosen.Figures.Limit = x.Size
		}
	}
	if peak := unitPeak(f); peak != nil && chosen.Figures.Limit == nil && most <= peak.Bytes+peak.Bytes/50 {
		chosen.Figures.Limit = peak
	}
	return chosen
}

// unitPeak is the peak of a unit whose own limit was reached, which is that limit;
// nil where the log does not show both.
func unitPeak(f *fact.Facts) *fact.Size {
	if !text.HasFact(f, "unit") || !text.HasFact(f, "cgroup") {
		return nil
	}
	for _, x := range f.Facts {
		if x.Name == "unit_memory_peak" {
			return x.Size
		}
	}
	return nil
}
