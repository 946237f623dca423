package host

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/host/activity"
	"github.com/oomdoc/oomdoc/rules/program/host/platforms"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// more is the step of a queue's own spelling with the memory that follows from
// the log; its program's own step where the log shows none.
func more(kind, unit, spelling string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		to := wanted(c, unit)
		if to == "" {
			return nil
		}
		return []step.Step{{Kind: kind, Text: strings.ReplaceAll(spelling, "MEM", to)}}
	}
}

// What a job can do itself, whatever runs it.
var (
	fewAtOnce  = cause.Way{For: "Several processes or ranks", Text: "run fewer per node: each has its own copy of what it loads"}
	threads    = cause.Way{For: "A tool with threads", Text: "use fewer threads, or its own memory option: many tools need memory for each thread"}
	lessMemory = cause.Cure{Fix: "lower_num_workers", If: func(c *ledger.Case) bool { return !inPython(c) && !fits(c) }, Title: "Run fewer processes or threads", Ways: []cause.Way{
		fewAtOnce, threads,
	}, Cost: "Time"}
	lessForked = cause.Cure{Fix: "lower_num_workers", If: func(c *ledger.Case) bool { return activity.Forked(c) && !fits(c) }, Title: "Run fewer worker processes", Told: "The leaked semaphores show that Python had worker processes, and each needs RAM of its own. Set the data loader's `num_workers` (mmdetection: `workers_per_gpu`) to 2, pools to `Pool(4)`.", Cost: "time"}
	lessPython = cause.Cure{Fix: "lower_num_workers", If: func(c *ledger.Case) bool { return inPython(c) && !activity.Forked(c) && !fits(c) }, Title: "Run fewer processes or threads", Ways: []cause.Way{
		fewAtOnce,
		{For: "Python", Text: "set `Pool(4)` or `num_workers=2` (the default counts the node's cores), and open arrays with `np.load(path, mmap_mode=\"r\")`"},
		threads,
	}, Cost: "Time"}
	fewerOf = cause.Cure{Fix: "lower_num_workers", If: fits, Title: "Run {fitting} processes at once", Told: "If the {processes} requested cores are as many processes, each holds about {each}, so {fitting} stay below today's {limit}. Set the program's own option[[ (`{option}`)]] and the job's cores to that number.", Cost: "time"}
)

// fits: the cores of the job tell how many processes would fit.
func fits(c *ledger.Case) bool { return queueFigures(c)["fitting"] != "" }

// queueFigures are those of a job in a queue.
func queueFigures(c *ledger.Case) map[string]string {
	out, f := hostFigures(c), c.F()
	out["figures"], out["fitting"], out["option"], out["space"] = "", "", "", ""
	if c.Contains("killed: vmem") || c.Contains("killed: pvmem") {
		out["space"] = "A vmem limit counts address space: request far more than the RAM in use, or only `mem=` if the site allows that."
	}
	switch {
	case f.KilledRSS != nil && f.Limit != nil:
		out["figures"] = fmt.Sprintf(" (%s used, %s requested)", f.KilledRSS, f.Limit)
	case f.Limit != nil:
		out["figures"] = fmt.Sprintf(" of %s", f.Limit)
	}
	cores, ok := c.Fact("queue_cores")
	n, _ := ledger.Whole(cores.Text)
	if !ok || n < 2 || f.KilledRSS == nil || f.Limit == nil {
		return out
	}
	each := f.KilledRSS.Bytes / n
	if m := f.Limit.Bytes * 9 / 10 / each; m >= 1 && m < n {
		out["processes"], out["each"], out["fitting"] = cores.Text, units.Amount(each), strconv.FormatInt(m, 10)
		if option, ok := c.Fact("queue_processes"); ok {
			out["option"] = option.Text + " " + out["fitting"]
		}
	}
	return out
}

// grows tells size from growth, to those who can change the code.
var grows = cause.Cure{Fix: "stream_dataset", If: writes, Title: "Check whether memory jumps or climbs", Told: "On the node: `watch -n 30 'ps -u $USER -o pid,rss,etime,args --sort=-rss | head -5'`. If memory jumps, read that data in parts. If it climbs steadily, write results out as they come.", Cost: "free"}

// writes: the reader's own code runs there, not a finished tool.
func writes(c *ledger.Case) bool { return inPython(c) || c.Reader.Edits == "code" }

// afterMany is for a training that had counted many steps or epochs: what they
// need was there, so something may have come on top.
var afterMany = cause.Cure{
	Fix: "detach_accumulated", If: func(c *ledger.Case) bool {
		return c.Signal("many_steps") != nil && activity.Training(c) && !firstEpoch(c)
	}, Title: "If memory climbs from epoch to epoch, find what is kept", Cost: "free",
	Told: "Usually it is outputs collected over an epoch, `loss` summed up instead of `loss.item()`, loader workers that copy Python lists (use arrays), or figures that stay open. Print once per epoch:",
	Kind: "python", Text: "import psutil; print(psutil.Process().memory_info().rss >> 20, \"MiB\")   # of the main process; its children hold more",
}

// inFirst is for a training that is ended on its first way through the data: what
// is collected over epochs cannot be it.
var inFirst = cause.Cure{
	Fix: "detach_accumulated", If: func(c *ledger.Case) bool { return activity.Training(c) && firstEpoch(c) }, Title: "Find what grows within the first epoch", Cost: "free",
	Told: "Something is kept for each sample: a cache in the data set (`functools.lru_cache`, a list or dict in `__getitem__`), once per loader worker. Remove the cache, or keep it on disk. Print every hundred steps:",
	Kind: "python", Text: "import psutil; print(psutil.Process().memory_info().rss >> 20, \"MiB\")   # of the main process; its children hold more",
}

// first counts epochs from 0, or says of how many it is the first.
var first = regexp.MustCompile(`(?i)\bepoch:?\s{0,3}(?:\[?0\b|\[?1\s?/)`)

// firstEpoch: the steps that were counted were those of the first epoch.
func firstEpoch(c *ledger.Case) bool {
	s := c.Signal("many_steps")
	return s != nil && first.MatchString(s.Text)
}

// queueCard is that of a batch system that ended a job at its limit.
func queueCard(id string, weight cause.Level, whose, means, not, source string, ask cause.Cure) []cause.Card {
	ask.Fix, ask.Cost = "raise_memory_limit", cmp.Or(ask.Cost, "perhaps a longer wait")
	if ask.Title == "" {
		ask.Title = "Request more memory[[: {wanted}]]"
	}
	ask.Told += "[[{wanted} is {basis}.]][[ {space}]]"
	return []cause.Card{{
		ID: id, Kinds: queue, Cause: cause.HostMemory, Weight: weight, Figures: queueFigures,
		Headline: whose + "[[{figures}]]", Means: means, Not: not,
		Cures: []cause.Cure{ask, afterMany, inFirst, fewerOf, lessForked, lessPython, lessMemory, grows}, Sources: []string{source},
	}}
}

var pbsCards = queueCard("pbs/limit", cause.Decisive, "killed the job at its memory limit",
	"PBS ends a job that uses more than it requested, even if the node has more. `mem` is the RAM of all its processes together. `vmem` and `pvmem` count address space, which can be far more than the RAM in use.",
	"", "https://github.com/openpbs/openpbs",
	cause.Cure{Steps: pbsSteps})

// pbsSpaceCards are for a limit of address space that programs reach which only
// reserve it.
var pbsSpaceCards = []cause.Card{{
	ID: "pbs/address-space", Kinds: queue, If: onlyReserved, Figures: spaceFigures,
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "killed the job for its address space of {space}; it used only {held} of RAM",
	Means:    "The job exceeded its `vmem` limit[[ of {limit}]]: that counts reserved address space ({space}), not RAM. It used only {held} of RAM. Java reserves its whole heap at the start, for each task; CUDA and threads also reserve far more than they use.",
	Not:      "A node with more RAM: RAM was not used up.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "Remove the `vmem` limit, keep `mem`", Told: "Put `#PBS -l mem={keep}gb` into the head of the job script in place of `vmem=`. If the site requires `vmem`, request twice the {space}.", Cost: "perhaps a longer wait"},
		{Fix: "lower_parallel", Title: "Run fewer tasks at once, with smaller heaps", Told: "Java: set `-Xmx` for each task. Nextflow: lower `executor.queueSize`, or submit its tasks as jobs (`process.executor = 'pbs'`). Snakemake: lower `--jobs`.", Cost: "slower"},
		{Fix: "lower_num_workers", Title: "Use fewer threads", Told: "Each thread reserves 64 MiB or more of address space (glibc). `export MALLOC_ARENA_MAX=2` limits that.", Cost: "None"},
	},
	Sources: []string{"https://github.com/adaptivecomputing/torque", "https://www.nextflow.io/docs/latest/executor.html", "glibc/malloc/arena.c"},
}}

// onlyReserved: address space was above the limit, RAM far below.
func onlyReserved(c *ledger.Case) bool {
	used, limit, held := c.F().ProcessUsed, c.F().Limit, ledger.Sized(c, "pbs_mem")
	return used != nil && limit != nil && held > 0 && used.Bytes > limit.Bytes && held*2 < limit.Bytes
}

func spaceFigures(c *ledger.Case) map[string]string {
	held := ledger.Sized(c, "pbs_mem")
	return map[string]string{"space": c.F().ProcessUsed.String(), "held": units.Amount(held), "keep": strconv.FormatInt(gib(c.F().Limit.Bytes), 10)}
}

func pbsSteps(c *ledger.Case) []step.Step {
	resource := "mem"
	for _, name := range [...]string{"pvmem", "vmem", "pmem"} {
		if c.Contains("killed: " + name) {
			resource = name
			break
		}
	}
	if asked, ok := c.Fact("queue_asked"); ok && wanted(c, "gb") != "" {
		start, list, _ := strings.Cut(asked.Text, " ")
		before, after, found := strings.Cut(list, resource+"=")
		if found && (before == "" || strings.HasSuffix(before, ",") || strings.HasSuffix(before, ":")) {
			rest := strings.TrimLeft(after, "0123456789kmgtbw")
			return []step.Step{{Kind: "shell", Text: start + " -l " + before + resource + "=" + wanted(c, "gb") + rest + "   # in place of your -l; all else as it was"}}
		}
	}
	if resource == "mem" {
		return more("shell", "gb", "#PBS -l mem=MEM   # PBS Pro with chunks: #PBS -l select=1:ncpus=8:mem=MEM, your own numbers for the rest")(c)
	}
	return more("shell", "gb", "#PBS -l "+resource+"=MEM")(c)
}

// lsfReserved: the job held less than half of what it reserved, so that its
// limit is another.
func lsfReserved(c *ledger.Case) bool {
	f := c.F()
	return f.KilledRSS != nil && f.Limit != nil && f.KilledRSS.Bytes*2 < f.Limit.Bytes
}

var lsfCards = append([]cause.Card{{
	ID: "lsf/limit-below-reservation", Kinds: queue, If: lsfReserved, Cause: cause.HostMemory, Weight: cause.Strong, Figures: hostFigures,
	Headline: "killed the job at a limit below what it had reserved: {held} used, {limit} reserved",
	Means:    "LSF has two settings: `rusage[mem=]` reserves memory (here {limit}), and `-M` is the limit. The report shows at most {held}, so `-M`, or the queue's default for it, is most likely far lower. A number without a unit is in KB by default, in MB or GB at some sites.",
	Not:      "Reserving more (`rusage[mem=]`): the limit stays the same.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Set the limit (-M) as high as the reservation", Told: "In the job script. If your site does not accept a unit, see LSF_UNIT_FOR_LIMITS.", Steps: reservedSteps, Cost: "None: it is reserved already"},
		{Fix: "close_other_apps", Title: "Check which limit the job had", Kind: "shell", Text: "bjobs -l JOB | grep -A3 -i -E 'limit|rusage'   # JOB: its number", Told: "MEMLIMIT is the limit. The site decides whether it counts for the job or for each process.", Cost: "free"},
		lessPython, lessMemory,
	},
	Sources: []string{"https://www.ibm.com/docs/en/spectrum-lsf/10.1.0?topic=limits-memory", "https://www.ibm.com/docs/en/SSWRJV_10.1.0/lsf_command_ref/bsub.__m.1.html"},
}}, queueCard("lsf/limit", cause.Decisive, "killed the job at its memory limit",
	"The limit (`-M`) counts the RAM of all processes of the job; the node may have had more. `-M` is the limit, and `rusage[mem=]` reserves memory for the job: raise both.",
	"", "https://www.ibm.com/docs/en/spectrum-lsf/10.1.0?topic=limits-memory",
	cause.Cure{Steps: more("shell", "GB", "#BSUB -M MEM\n#BSUB -R \"rusage[mem=MEM]\"   # sites that take no unit: see LSF_UNIT_FOR_LIMITS")})...)

// reservedSteps make the limit as large as the reservation.
func reservedSteps(c *ledger.Case) []step.Step {
	return []step.Step{{Kind: "config", Text: fmt.Sprintf("#BSUB -M %dGB", gib(c.F().Limit.Bytes))}}
}

var htcondorCards = queueCard("htcondor/limit", cause.Decisive, "stopped the job: it used more memory than it had requested",
	"HTCondor holds or ends a job that uses more than its `request_memory`, even if the machine has more. A submit file without that line gets the pool's default, which is often small.",
	"Releasing it unchanged: it will be stopped again.", "https://htcondor.readthedocs.io/en/latest/users-manual/submitting-a-job.html",
	cause.Cure{Told: "Change the held job, release it, and change the submit file for later jobs. ", Steps: condorSteps})

// condorSteps edit the jobs that are held; RequestMemory there is in MiB.
func condorSteps(c *ledger.Case) []step.Step {
	n := enough(c)
	if n <= 0 {
		return nil
	}
	job, note := "CLUSTER", "   # CLUSTER: the number before the dot in condor_q"
	if id, ok := c.Fact("condor_cluster"); ok {
		job, note = id.Text, ""
	}
	return []step.Step{
		{Kind: "shell", Text: fmt.Sprintf("condor_qedit %s RequestMemory %d%s\ncondor_release %[1]s", job, gib(n)*1024, note)},
		{Kind: "config", Text: "request_memory = " + wanted(c, "GB")},
	}
}

// slurmFigures are those of a job that Slurm's cgroup ended.
func slurmFigures(c *ledger.Case) map[string]string {
	out := hostFigures(c)
	out["node"], out["tasks"], out["step"] = "", "", ""
	if node := after(c, "srun: error: "); node != "" {
		out["node"] = node
	}
	if task := after(c, ": tasks "); task != "" {
		out["tasks"] = "tasks " + task
	} else if task := after(c, ": task "); task != "" {
		out["tasks"] = "task " + task
	}
	for _, text := range [...]string{"StepId=", "event(s) in step "} {
		out["step"] = cmp.Or(out["step"], after(c, text))
	}
	out["alone"], out["ask"], out["gpu"] = "", "", platforms.Graphics(c)
	if out["wanted"] == "" {
		out["ask"] = "This prints `ReqMem` (requested) and `MaxRSS` (the sampled peak, which can miss a short one). Put twice `ReqMem` into the job script: `#SBATCH --mem=32G`, for example, or `--mem=0` for all of the node's RAM."
	}
	if onePython(c) {
		out["alone"] = "Read data in parts or memory-mapped (`np.load(path, mmap_mode=\"r\")`), and delete what you no longer need. Loader workers hold data as well: test with `num_workers=0`."
	}
	if !c.Kind(fact.KernelKill) {
		out["held"] = "" // Slurm counts all processes of a step or job
	}
	out["running"], out["job_is"] = "JOBID", "JOBID: the number of the new job"
	// Before 20.11 a step shared its job's resources by default, and steps were written
	// "7.0"; 20.11 has "StepId=7.0" and `srun --overlap` (RELEASE_NOTES).
	out["overlap"] = "-n 1 "
	switch {
	case after(c, "StepId=") != "":
		out["overlap"] = "--overlap "
	case out["step"] == "":
		out["overlap"] = ""
	}
	if out["node"] == "" || out["overlap"] == "" {
		out["sstat"] = "`sstat -j JOBID -a -o JobID,MaxRSS,MaxRSSNode`"
	}
	out["free_left"] = ""
	out["free_other"], out["free_node"] = "", ""
	if c.RAM.Has() {
		out["free_left"] = c.RAM.String()
		if at, ok := c.Fact("free_node"); ok && out["node"] != "" && !strings.HasPrefix(out["node"], at.Text) {
			out["free_other"], out["free_left"], out["free_node"] = c.RAM.String(), "", at.Text
		}
	}
	return out
}

// slurmAsk edits the reader's own request, or finds out what it was.
func slurmAsk(c *ledger.Case) []step.Step {
	job := cmp.Or(slurmJob(c), "JOBID")
	look := step.Step{Kind: "shell", Text: "sacct -j " + job + " -o JobID,State,ReqMem,MaxRSS,MaxRSSNode,AllocCPUS,NTasks"}
	if job == "JOBID" {
		look.Text += "   # JOBID: the job's number"
	}
	to := wanted(c, "G")
	switch {
	case to == "":
		return []step.Step{look}
	case c.In("snakemake"):
		return []step.Step{{Kind: "config", Text: fmt.Sprintf("resources:\n    mem_mb=%d   # in the rule; or --set-resources RULE:mem_mb=%[1]d", enough(c)/1000000)}}
	}
	return []step.Step{{Kind: "shell", Text: "#SBATCH --mem=" + to}, look}
}

var slurmCards = []cause.Card{{
	ID: "slurm/at-some-point", Kinds: queue, Said: []string{"memory limit at some point"}, Unsaid: []string{"oom-kill event", "oom_kill event", "being killed", "Killed"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Figures: slurmFigures,
	Headline: "reports that the job reached its memory limit; no line shows that a process was killed",
	Means:    "Slurm prints \"at some point\" at the end of a step that reached its limit at least once. Cached files count as well, and they are dropped before a process is killed. So if the output is complete and the program reports no error, the result is probably fine.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Request more memory[[: {wanted}]]", Told: "{ask}", Steps: slurmAsk, Cost: "perhaps a longer wait"},
		{Fix: "stream_dataset", Title: "Check whether the results are complete", Told: "Look for the program's own last line, its exit code and the size of its output. A killed child process leaves \"Killed\", a broken pipe or a shorter file.", Cost: "free"},
		{Fix: "lower_num_workers", Title: "Run fewer processes or threads in the job", Told: "Each adds to the job's total. A pipeline's own report of its peak may leave out child processes.", Cost: "time"},
	},
	Sources: []string{"slurm/src/plugins/task/cgroup/task_cgroup_memory.c", "https://slurm.schedmd.com/sacct.html"},
}, {
	ID: "slurm/limit", Kinds: []fact.Kind{fact.SlurmKill, fact.KernelKill}, If: func(c *ledger.Case) bool { return capped(c) && c.In("slurm") },
	Cause: cause.HostMemory, Weight: cause.Decisive, Figures: slurmFigures,
	Headline: "killed the job: it reached its memory limit[[ of {limit}]]",
	Means:    "Slurm killed processes[[ of step {step}]][[ ({tasks} on {node})]] because the job used more system memory (RAM) than it had requested[[, not that of {gpu}]]. The limit is `--mem` or `--mem-per-cpu`, or else the partition's default, often a few GB per core. All tasks of the job on a node share it.[[ The killed process held {held}.]][[ If `free` ({free_left} available) was run on that node during the job, the node itself was not full.]][[ Your `free` ({free_other} available) was run on {free_node}, so it says nothing about {node}.]]",
	Not:      "[[Freeing memory of {gpu}: the limit is on RAM.]]",
	Cures: []cause.Cure{
		fewerTasks(fullNode),
		{Fix: "raise_memory_limit", Title: "Request more memory[[: {wanted}]]", Told: "[[{wanted} is {basis}; `MaxRSS` below is the peak so far (sampled, so it can miss a short one). `--mem=0` is all of the node's RAM.]][[{ask}]]", Steps: slurmAsk, Cost: "perhaps a longer wait"},
		afterMany, inFirst,
		{Fix: "lower_num_workers", If: onePython, Title: "Keep less data in memory", Told: "{alone}", Cost: "some rewriting"},
		fewerTasks(func(c *ledger.Case) bool { return manyTasks(c) && !fullNode(c) }), oneTask(lessForked), oneTask(lessMemory), oneTask(lessPython),
		{Fix: "stream_dataset", If: writes, Title: "Check whether memory jumps or climbs", Told: "[[`srun --jobid={running} {overlap}-w {node} free -m`]][[{sstat}]] while it runs ({job_is}). If memory jumps at the start, load less at a time. If it climbs steadily, something is kept, and more RAM only delays the failure.", Cost: "free"},
	},
	Sources: []string{"slurm/src/plugins/cgroup/v1/cgroup_v1.c", "https://slurm.schedmd.com/sbatch.html", "https://slurm.schedmd.com/sacct.html", "https://slurm.schedmd.com/sstat.html"},
}}

// fewerTasks gives each task of a job more of its node.
func fewerTasks(when func(*ledger.Case) bool) cause.Cure {
	return cause.Cure{Fix: "lower_num_workers", If: when, Title: "Run fewer tasks per node", Told: "Double `--nodes` and halve `--ntasks-per-node`: all tasks on a node share its memory. If the job already has whole nodes, only this or the site's large-memory nodes give it more RAM. With `--mem-per-cpu` raise `--cpus-per-task`.", Cost: "more nodes, or time"}
}

// oneTask keeps a cure for jobs of which the log shows one task at most.
func oneTask(cure cause.Cure) cause.Cure {
	cure.If = when.All(cure.If, when.Not(manyTasks), when.Not(onePython))
	return cure
}

// fullNode: so many tasks that they are likely to fill their nodes, whose RAM no
// other request raises.
func fullNode(c *ledger.Case) bool {
	n, err := strconv.Atoi(after(c, ": task "))
	return err == nil && n >= 16
}

// manyTasks: the task that died has a number that only one of several has.
func manyTasks(c *ledger.Case) bool {
	if after(c, ": tasks ") != "" {
		return true
	}
	n, err := strconv.Atoi(after(c, ": task "))
	return err == nil && n > 0
}

// onePython: the batch script itself, not srun, started the Python that died.
func onePython(c *ledger.Case) bool {
	return strings.HasSuffix(after(c, "StepId="), ".batch") && after(c, ": task ") == "" && !manyTasks(c) && c.Root(fact.SlurmKill, fact.ShellKilled) && (c.In("python", "tensorflow", "pytorch", "jax") || pythonKilled(c))
}

func pythonKilled(c *ledger.Case) bool {
	for _, x := range append([]fact.Failure{c.Failure}, c.Chain...) {
		if strings.Contains(x.Message, " python") {
			return true
		}
	}
	return false
}
