package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"

	"github.com/oomdoc/oomdoc/internal/units"
)

// hostEngine is what is peculiar to the operating system and to what hands out
// its memory: the kernel, containers, batch systems, Windows.
var hostEngine = Engine{
	Programs: []string{"linux-oom-killer", "kubernetes", "slurm", "windows"},
	Clues: map[string][]Clue{
		HostMemory: {
			kernelKilled, shellSawKill,
			said(0.94, "Kubernetes threw the pod out because the node ran low on memory: the node's shortage, not the pod's own limit.", fact.Evicted),
			said(0.95, "systemd-oomd ended a whole group of programs because they waited for memory too long; it acts before memory is gone, so some may have been free.", fact.OOMD),
			said(0.97, "Slurm's memory limit of the job was reached, and the kernel ended processes of the step. It is system memory, on GPU nodes too.", fact.SlurmKill),
			said(0.97, "The container reached its own memory limit and was killed.", fact.ContainerKill),
			said(0.95, "A Dask worker was ended at 95 % of the share of memory that it was given; the computer may have had more.", fact.WorkerBudget),
			said(0.95, "YARN ended the container above its memory limit.", fact.YARNKill),
			said(0.97, "A compiler was killed: too many compile at once for the computer's memory.", fact.BuildKilled),
			said(0.7, "iOS or macOS ended the program at its memory limit.", fact.AppleKill),
			said(0.97, "NCCL could not make its segments in /dev/shm: shared memory is too small.", fact.NCCLShm),
		},
		ModelTooLarge: {said(0.25, "On Apple devices the card's memory is the computer's: the model may be too big for the device.", fact.AppleKill)},
		LeakedProcess: {tableShowsAnother},
		Unknown:       {killedWithoutWord},
	},
	Remedies: map[string][]Remedy{HostMemory: hostRemedies},
	Steps:    map[string]func(*Case) []Step{"raise_memory_limit": stepsHostLimit, "close_other_apps": stepsCloseBiggest},
	Effects:  map[string]func(*Case) *Effect{"raise_memory_limit": effectHostLimit},
	Useless: map[string]func(*Case) string{
		"expandable_segments": cardIsNotIt,
		"kill_stale_process":  func(*Case) string { return "" },
		"bigger_gpu":          cardIsNotIt,
		"add_swap":            uselessSwap,
	},
}

// hostKinds are kinds that only system memory explains.
var hostKinds = []fact.Kind{
	fact.KernelKill, fact.OOMD, fact.ShellKilled, fact.BuildKilled, fact.SlurmKill, fact.ContainerKill, fact.Evicted,
	fact.YARNKill, fact.RayKilled, fact.CommitLimit, fact.SharedMemory, fact.WorkerKilled, fact.RankKilled, fact.NCCLShm, fact.WorkerBudget,
}

func cardIsNotIt(c *Case) string {
	if !c.Root(hostKinds...) {
		return ""
	}
	return "It is about the card's memory; what ran out is the computer's."
}

// capped reports that a limit of a container, job or service was reached, not
// the end of the machine's memory.
func capped(c *Case) bool {
	_, cgroup := c.Fact("cgroup")
	return cgroup && c.Kind(fact.KernelKill) || c.Kind(fact.SlurmKill, fact.ContainerKill, fact.YARNKill, fact.WorkerBudget)
}

func uselessSwap(c *Case) string {
	if !capped(c) {
		return ""
	}
	return "A limit of the container or job was reached, not the end of the machine's memory: swap on the machine does not raise it."
}

// kernelKilled names the victim, what it held, and whether the machine or a
// limit was at its end.
func kernelKilled(c *Case) Finding {
	if !c.Root(fact.KernelKill) {
		return nothing()
	}
	why := "The kernel's out-of-memory killer ended "
	if v, ok := c.Fact("victim"); ok && v.Count != nil {
		why += fmt.Sprintf("process %s (%s)", v.Count.Text, v.Text)
	} else {
		why += "a process"
	}
	if rss := c.F().KilledRSS; rss != nil {
		why += fmt.Sprintf(", which held %s", units.Format(rss.Bytes))
	}
	lines := []int{c.Failure.Line}
	also := ""
	if p, ok := biggestOther(c); ok {
		also = fmt.Sprintf(" Beside it process %d (%s) held %s.", p.PID, p.Name, units.Format(p.Bytes))
		lines = append(lines, p.Line)
	}
	if !capped(c) {
		return seen(0.96, why+": the machine's memory was used up."+also, lines...)
	}
	why += ": its memory cgroup (" + cgroupOwner(c) + ") reached its limit"
	if limit := c.F().Limit; limit != nil {
		why += fmt.Sprintf(" of %s", units.Format(limit.Bytes))
	}
	why += ", whatever the machine had left."
	if kills, ok := c.Fact("kills"); ok && c.F().KilledRSS != nil && kills.Count.Value >= 3 && c.F().KilledRSS.Bytes < 64*units.MiB {
		why += fmt.Sprintf(" %.0f small processes died: their sum was over, not one of them.", kills.Count.Value)
	}
	return seen(0.97, why+also, lines...)
}

// biggestOther is the process that held most when the kernel killed another,
// where it held enough to matter.
func biggestOther(c *Case) (fact.Process, bool) {
	victim, ok := c.Fact("victim")
	rss := c.F().KilledRSS
	if !ok || victim.Count == nil || rss == nil {
		return fact.Process{}, false
	}
	var most fact.Process
	for _, p := range c.Facts.Tasks {
		if p.PID != int(victim.Count.Value) && p.Bytes > most.Bytes {
			most = p
		}
	}
	return most, most.Bytes >= 256*units.MiB && most.Bytes*4 >= rss.Bytes
}

// stepsCloseBiggest ends the process that the kernel's table shows, where it is
// not of the same program as the one that died.
func stepsCloseBiggest(c *Case) []Step {
	p, ok := biggestOther(c)
	if victim, _ := c.Fact("victim"); !ok || p.Name == victim.Text {
		return fixesByID()["close_other_apps"].Steps(c)
	}
	return []Step{
		{Kind: "shell", Text: fmt.Sprintf("ps -o pid,user,rss,etime,args -p %d   # held %s when memory ran out", p.PID, units.Format(p.Bytes))},
		{Kind: "shell", Text: fmt.Sprintf("kill %d   # if it is yours and not needed", p.PID)},
	}
}

// otherHoldsMore: what the kernel killed is not what took most of the memory.
func otherHoldsMore(c *Case) bool {
	p, ok := biggestOther(c)
	victim, _ := c.Fact("victim")
	return ok && !capped(c) && p.Name != victim.Text && p.Bytes > c.F().KilledRSS.Bytes/2
}

// cgroupOwner says in a word whose limit it was.
func cgroupOwner(c *Case) string {
	switch path := cgroupPath(c); {
	case strings.Contains(path, "kubepods"):
		return "a Kubernetes pod"
	case strings.Contains(path, "/slurm"):
		return "a Slurm job"
	case strings.Contains(path, "docker"):
		return "a Docker container"
	case strings.Contains(path, "libpod"):
		return "a Podman container"
	case strings.Contains(path, ".service"):
		return "a systemd service"
	}
	return "a container, job or service"
}

func cgroupPath(c *Case) string {
	f, _ := c.Fact("cgroup")
	return strings.ToLower(f.Text)
}

// shellSawKill: signal 9 without a word from the kernel. Among programs that
// load models it is the out-of-memory killer by far most often.
func shellSawKill(c *Case) Finding {
	used, full := hostNearlyFull(c)
	switch {
	case full && c.Root(fact.RankKilled, fact.ShellKilled):
		return seen(0.96, fmt.Sprintf("A process was ended by signal 9, and %s of the computer's memory (%s) was in use just before.", used.Count.Text, used.Size.Text), used.Line, c.Failure.Line)
	case c.Root(fact.RankKilled):
		return seen(0.85, "A process was ended by signal 9: as a rule the kernel's out-of-memory killer, for the computer's memory.", c.Failure.Line)
	case !c.Root(fact.ShellKilled):
		return nothing()
	case c.Framework == "other" && !c.Failure.Weak:
		return seen(0.95, "The notebook service says that the session used up the computer's memory.", c.Failure.Line)
	}
	return seen(0.82, "The program was ended by signal 9 without an error of its own: as a rule the kernel's out-of-memory killer. It can also have been ended by hand or by a time limit.", c.Failure.Line)
}

func killedWithoutWord(c *Case) Finding {
	if !c.Root(fact.ShellKilled) || !c.Failure.Weak {
		return nothing()
	}
	return seen(0.4, "Signal 9 can also come from kill -9, an orchestrator or a time limit.", c.Failure.Line)
}

// tableShowsAnother: a table in the log lists a compute process with a real
// share of the card that failed.
func tableShowsAnother(c *Case) Finding {
	if !onCard(c) || c.F().Limit != nil || roomy(c) {
		return nothing()
	}
	for _, p := range c.Facts.Processes {
		if p.Bytes < units.GiB || p.PID == c.OurPID || c.Mine.Has() && near(p.Bytes, c.Mine.Bytes, units.GiB) {
			continue
		}
		if d := c.F().Device; d != nil && p.Device >= 0 && int(d.Value) != p.Device && len(c.Facts.Devices) > 1 {
			continue
		}
		return seen(0.6, fmt.Sprintf("The table lists process %d (%s) with %s on the card.", p.PID, p.Name, p.Text), p.Line, c.Failure.Line)
	}
	return nothing()
}

// stepsHostLimit spells the limit the way of whoever set it, at twice the
// value the log shows.
func stepsHostLimit(c *Case) []Step {
	path := cgroupPath(c)
	container, lxc := lxcContainer(path)
	switch {
	case refusedByAllocator(c):
		return stepsAddressSpace(c)
	case lxc:
		return []Step{{Kind: "shell", Text: fmt.Sprintf("pct set %s --memory %s   # on the Proxmox host, in MiB; lxc: lxc.cgroup2.memory.max", container, doubledMiB(c))}}
	case c.In("slurm"):
		return []Step{{Kind: "shell", Text: "#SBATCH --mem=" + doubled(c, "G", "64G") + "   # in the job script; or --mem-per-cpu, or --exclusive for the whole node"}, {Kind: "shell", Text: "sacct -j JOBID -o JobID,State,ReqMem,MaxRSS"}}
	case c.In("kubernetes") || strings.Contains(path, "kubepods"):
		limit := doubled(c, "Gi", "32Gi")
		return []Step{{Kind: "config", Text: "resources:\n  requests: {memory: " + limit + "}\n  limits: {memory: " + limit + "}"}, {Kind: "shell", Text: "kubectl top pod POD --containers"}}
	case strings.Contains(path, ".service"):
		unit := path[strings.LastIndexByte(path[:strings.Index(path, ".service")], '/')+1 : strings.Index(path, ".service")]
		return []Step{{Kind: "shell", Text: "sudo systemctl set-property " + shellQuote(unit+".service") + " MemoryMax=" + doubled(c, "G", "32G")}}
	case strings.Contains(path, "init.scope"):
		return []Step{{Kind: "config", Text: "# %UserProfile%\\.wslconfig, then: wsl --shutdown\n[wsl2]\nmemory=24GB\nswap=16GB"}}
	case c.Root(fact.WorkerBudget):
		return []Step{{Kind: "python", Text: "from dask.distributed import Client, LocalCluster\nclient = Client(LocalCluster(n_workers=2, threads_per_worker=2, memory_limit=\"" + doubled(c, "GiB", "16GiB") + "\"))   # or: dask worker --memory-limit"}}
	case c.Root(fact.YARNKill):
		return []Step{{Kind: "shell", Text: "spark-submit --executor-memory 8g --conf spark.executor.memoryOverhead=2g ..."}}
	}
	limit := doubled(c, "g", "32g")
	steps := []Step{{Kind: "shell", Text: "docker run --memory=" + limit + " --memory-swap=" + limit + " IMAGE"}}
	if !capped(c) {
		steps = append(steps, Step{Kind: "shell", Text: "sudo dmesg -T | grep -i -E 'oom|killed process'   # says whether a limit or the machine was at its end"})
	}
	return steps
}

// lxcContainer is the number of a container of Proxmox: its cgroup is /lxc/101.
func lxcContainer(path string) (string, bool) {
	_, rest, ok := strings.Cut(path, "/lxc/")
	id, _, _ := strings.Cut(rest, "/")
	_, number := whole(id)
	return id, ok && number
}

func doubledMiB(c *Case) string {
	if limit := c.F().Limit; limit != nil && limit.Bytes > 0 && limit.Bytes < units.TiB {
		return strconv.FormatInt(ceilDiv(2*limit.Bytes, units.MiB), 10)
	}
	return "16384"
}

// refusedByAllocator: malloc or mmap said no. Of a container's or job's limit
// the kernel kills instead, so that something else refuses: a limit on address
// space, strict overcommit, or a piece larger than RAM and swap together
// (mm/util.c, __vm_enough_memory).
func refusedByAllocator(c *Case) bool {
	if onWindows(c) || c.Signal("wsl") != nil || c.Backend == "metal" || c.Backend == "mps" {
		return false
	}
	if c.Root(fact.ORTAlloc) {
		return c.Backend == "cpu"
	}
	return c.Root(fact.CPUAlloc, fact.NumpyAlloc, fact.PythonMemory, fact.BadAlloc, fact.RustAlloc, fact.MmapFailed) || c.In("llama.cpp") && ggmlRefused(c) && inHost(c)
}

// stepsAddressSpace look for what refused, and lift it.
func stepsAddressSpace(*Case) []Step {
	return []Step{
		{Kind: "shell", Text: "ulimit -v unlimited   # in the shell that starts the program; `ulimit -v` alone shows the limit, in KiB"},
		{Kind: "shell", Text: "sysctl vm.overcommit_memory   # 2 refuses too, with memory free: sudo sysctl vm.overcommit_memory=0"},
	}
}

// doubled is twice the known limit in whole GiB, or a fallback.
func doubled(c *Case, suffix, fallback string) string {
	gib := twiceLimit(c)
	if gib == 0 {
		return fallback
	}
	return strconv.FormatInt(gib, 10) + suffix
}

// twiceLimit is that in GiB, 0 if the log does not state a limit.
func twiceLimit(c *Case) int64 {
	limit := c.F().Limit
	if limit == nil || limit.Bytes <= 0 || limit.Bytes > units.TiB {
		return 0
	}
	return ceilDiv(2*limit.Bytes, units.GiB)
}

// effectHostLimit: the limit was reached, so that more than it is needed. How
// much more, no log of a kill says.
func effectHostLimit(c *Case) *Effect {
	gib := twiceLimit(c)
	if gib == 0 || !capped(c) || c.Root(fact.YARNKill) || strings.Contains(cgroupPath(c), "init.scope") {
		return nil
	}
	f := c.F()
	held := ""
	if rss := f.KilledRSS; rss != nil && rss.Bytes <= f.Limit.Bytes {
		held = fmt.Sprintf(" The process that was killed held %s of it.", units.Format(rss.Bytes))
	}
	return &Effect{NeedBytes: max(f.Limit.Bytes, sizeOf(f.KilledRSS)) + 1, HaveBytes: gib * units.GiB, Fits: true, Basis: "log", Certainty: bound,
		Note: fmt.Sprintf("The limit of %s was reached: more than that is needed, and how much more a kill does not say. A lower bound; %d GiB is twice the limit, to see what it comes to.%s", units.Format(f.Limit.Bytes), gib, held)}
}

// hostRemedies cure a lack of system memory by whose memory it is: shared
// memory, Windows' promises, a limit of a container or job, the machine.
var hostRemedies = []Remedy{
	{Fix: "raise_shm_size", Fit: 1.1, If: sharedMemory},
	{Fix: "raise_pagefile", Fit: 1.1, If: onWindows},
	{Fix: "lower_build_jobs", Fit: 1.1, If: rootIs(fact.BuildKilled)},
	{Fix: "raise_memory_limit", Fit: 1.1, If: capped},
	{Fix: "raise_memory_limit", Fit: 0.98, If: either(rootIs(fact.Evicted), inPod)},
	{Fix: "raise_memory_limit", Fit: 0.85, If: maybeCapped},
	{Fix: "use_smaller_model", Fit: 1, If: rootIs(fact.AppleKill)},
	{Fix: "use_lower_quant", Fit: 0.95, If: rootIs(fact.AppleKill)},
	{Fix: "lower_context", Fit: 0.8, If: rootIs(fact.AppleKill)},
	{Fix: "lower_num_workers", Fit: 1, If: either(manyAtOnce, killedWithWorkers)},
	{Fix: "stream_dataset", Fit: 0.9, If: rootIs(fact.NumpyAlloc)},
	{Fix: "stream_dataset", Fit: 1.05, If: growsList},
	{Fix: "detach_accumulated", Fit: 1.15, If: climbingHost},
	{Fix: "lower_resolution", Fit: 1, If: wantsLargeBuffer},
	{Fix: "lower_batch_size", Fit: 0.8, If: wantsLargeBuffer},
	{Fix: "add_swap", Fit: 0.87, If: swapHelps},
	{Fix: "close_other_apps", Fit: 0.85, If: onWindows},
	{Fix: "close_other_apps", Fit: 1.05, If: otherHoldsMore},
	{Fix: "close_other_apps", Fit: 0.7, If: func(c *Case) bool { return !onWindows(c) && swapHelps(c) && !otherHoldsMore(c) }},
	{Fix: "use_mmap", Fit: 0.6, If: loadsModel},
	{Fix: "use_smaller_model", Fit: 0.7, If: loadsModel},
	{Fix: "use_lower_quant", Fit: 0.65, If: loadsModel},
	{Fix: "lower_num_workers", Fit: 0.6, If: func(c *Case) bool {
		return !loadsModel(c) && !either(manyAtOnce, killedWithWorkers)(c) && !c.Root(fact.AppleKill) && !wholeDataAtOnce(c)
	}},
	{Fix: "stream_dataset", Fit: 0.5, If: (*Case).Training},
	{Fix: "use_smaller_model", Fit: 0.4, If: func(c *Case) bool { return !loadsModel(c) && !c.Root(fact.AppleKill, fact.NumpyAlloc) }},
}

// growsList: Python's memory ran out where a list is made longer.
func growsList(c *Case) bool {
	return c.Root(fact.PythonMemory, fact.NumpyAlloc, fact.CPUAlloc) && failedAt(c, "appends") != nil
}

// climbingHost: what the program printed of its memory rose until the
// computer's own ran out, or many steps had fitted into it.
func climbingHost(c *Case) bool {
	if c.Root(fact.CPUAlloc) && requested(c) > 0 && requested(c) < 64*units.MiB && c.Signal("many_steps") != nil && c.Signal("many_steps").Line < c.Failure.Line {
		return true // as many steps as that worked, and the next asked for little
	}
	s := c.Signal("climbing")
	return s != nil && s.Line < c.Failure.Line && c.Root(fact.CPUAlloc, fact.PythonMemory, fact.NumpyAlloc, fact.BadAlloc, fact.ShellKilled)
}

// inPod: a pod has a limit as a rule, and the node no swap.
func inPod(c *Case) bool { return c.Root(fact.ShellKilled) && c.In("kubernetes") }

// maybeCapped: a kill of which the log does not say whether a limit or the
// machine was at its end.
func maybeCapped(c *Case) bool {
	return !wholeDataAtOnce(c) && c.Root(fact.ShellKilled, fact.RankKilled, fact.WorkerKilled, fact.RayKilled, fact.BadAlloc, fact.PythonMemory, fact.NumpyAlloc, fact.CPUAlloc, fact.RustAlloc, fact.NativeAlloc, fact.ORTAlloc)
}

// wholeDataAtOnce: one piece that no swap and no limit makes room for.
func wholeDataAtOnce(c *Case) bool {
	return requested(c) >= unusual || c.Root(fact.NumpyAlloc, fact.RustAlloc) && requested(c) >= large
}

// swapHelps: the machine itself is short, or may be.
func swapHelps(c *Case) bool {
	return !capped(c) && !onWindows(c) && !wholeDataAtOnce(c) && !sharedMemory(c) && !c.Root(fact.AppleKill, fact.Evicted)
}

// manyAtOnce: workers, tasks or threads share the memory, and each holds some.
func manyAtOnce(c *Case) bool {
	f := c.F()
	return c.Root(fact.SharedMemory, fact.WorkerKilled, fact.RayKilled) || c.Root(fact.ORTAlloc) && f.Requested != nil && f.Requested.Bytes < 64*units.MiB
}

// killedWithWorkers: a program with data loader workers was killed.
func killedWithWorkers(c *Case) bool {
	return c.Root(fact.ShellKilled, fact.KernelKill) && c.Signal("workers") != nil
}

// wantsLargeBuffer: the size of one input decides.
func wantsLargeBuffer(c *Case) bool {
	f := c.F()
	return c.Root(fact.ORTAlloc) && f.Requested != nil && f.Requested.Bytes >= 64*units.MiB
}

// loadsModel reports a program that died while it read a model.
func loadsModel(c *Case) bool {
	return c.Phase == "load" && !sharedMemory(c)
}
