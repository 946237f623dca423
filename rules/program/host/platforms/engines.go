package platforms

import (
	"slices"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// WhoKilled asks the kernel.
var WhoKilled = cause.Cure{Fix: "close_other_apps", Title: "Check the kernel log on the host", Kind: "shell", Text: "sudo dmesg -T | grep -i -E 'oom|killed process'   # no line: memory was not the reason", Cost: "free"}

// victim asks the kernel where Docker has said that it was memory.
var victim = cause.Cure{Fix: "close_other_apps", Title: "See in the host's kernel log which process was killed", Kind: "shell", Text: "sudo dmesg -T | grep -i -E 'oom|killed process'   # Docker Desktop: that log is in its virtual machine", Cost: "free"}

var dockerRaise = cause.Cure{Fix: "raise_memory_limit", Title: "Find out whose limit it was, and raise it", Told: "The first number that this prints is the container's limit in bytes (CONTAINER: its name in `docker ps -a`).", Ways: []cause.Way{
	{For: "A number", Text: "the container's own limit: `docker update --memory 16g --memory-swap 16g CONTAINER`, with twice that number in place of 16g. In Compose: `mem_limit:`"},
	{For: "0, Docker Desktop", Text: "Docker Desktop's limit: Settings, Resources, Memory. With WSL 2: `memory=` in `%UserProfile%\\.wslconfig`, then `wsl --shutdown`"},
	{For: "0, Linux", Text: "the whole machine was full: look at `free -h`, stop other programs, or add swap"},
}, Kind: "shell", Text: "docker inspect -f '{{.HostConfig.Memory}} {{.State.OOMKilled}}' CONTAINER", Cost: "free to look"}

var dockerLess = cause.Cure{Fix: "lower_num_workers", Title: "Use less memory in the container", Ways: []cause.Way{
	{For: "Workers", Text: "many programs start one per core of the host. Set the number: `--workers 2`, `num_workers=2`"},
	{For: "A model", Text: "use a smaller quantisation, or 16 bit from safetensors: RAM holds it while it loads"},
	{For: "It fails after hours", Text: "something grows (`docker stats` shows it): update it, or restart it on a schedule"},
}, Cost: "some speed"}

// Docker is a container that was ended.
var Docker = []cause.Card{
	{
		ID: "docker/oom-killed", Kinds: []fact.Kind{fact.ContainerKill}, Cause: cause.HostMemory, Weight: cause.Decisive, Figures: GPUFigures,
		Headline: "reports OOMKilled: the container ran out of RAM",
		Means:    "A process in the container was killed because RAM ran out[[, not the memory of {gpu}]]. If the container has a `--memory` limit, it reached that. Otherwise Docker Desktop's virtual machine (half of the RAM or less by default) or the whole host was full. Files in /dev/shm count as well.",
		Not:      "[[Settings of {gpu}: system memory (RAM) ran out.]]",
		Cures:    []cause.Cure{dockerRaise, dockerLess, victim}, Sources: []string{"moby/daemon/monitor.go", "https://docs.docker.com/engine/containers/resource_constraints/", "https://docs.docker.com/reference/cli/docker/container/update/"},
	},
	{
		ID: "docker/exited-137", Kinds: []fact.Kind{fact.ShellKilled}, Cause: cause.HostMemory, Weight: cause.Strong, Figures: GPUFigures,
		Headline: "reports exit code 137: the container was killed, most likely because RAM ran out",
		Means:    "137 means signal 9 (killed). Usually the container's own limit, Docker Desktop's virtual machine or the host was full. A `docker stop` that timed out sends the same signal. The command below prints true for OOMKilled if it was memory; false does not rule that out.",
		Not:      "[[Settings of {gpu}: a full GPU raises an error instead.]]",
		Cures:    []cause.Cure{dockerRaise, WhoKilled, dockerLess}, Sources: []string{"moby/daemon/monitor.go", "https://docs.docker.com/engine/containers/resource_constraints/", "https://docs.docker.com/reference/cli/docker/container/stop/"},
	},
}

// Jetson: NvMap is the allocator of the GPU's memory on a Jetson, where both
// share the board's RAM; error 12 is ENOMEM.
var Jetson = []cause.Card{{
	ID: "jetson/nvmap", Kinds: append(slices.Clone(plainWords), fact.PlainDevice), Said: []string{"NvMapMemAllocInternalTagged:"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "could not get memory for the GPU (NvMap error 12)",
	Means:    "On a Jetson, CPU and GPU share the board's RAM, and NvMap hands it to the GPU. Error 12 means \"out of memory\": RAM is full, or after long use the free parts are too small. Release L4T 36.4.7 also refuses large requests while much is free. The lines do not say which it is.",
	Not:      "Swap or zram: GPU memory cannot be swapped.",
	Cures: []cause.Cure{
		{Fix: "restart_session", Title: "Reboot, and start this program first", Told: "If it runs then, other programs held the memory or it was fragmented. Without a reboot: `sudo sysctl vm.compact_memory=1 vm.drop_caches=3`.", Cost: "free"},
		{Fix: "close_other_apps", Title: "Run without the desktop", Kind: "shell", Text: "sudo systemctl isolate multi-user.target   # back: graphical.target", Told: "That frees about 1 GB. `tegrastats` shows RAM, and the largest free blocks as \"lfb\".", Cost: "no desktop meanwhile"},
		{Fix: "use_smaller_model", Title: "Use a smaller or more strongly quantised model", Told: "Its file, its context and 1 to 2 GB for the system have to fit into the board's RAM. With ONNX or TensorRT use a smaller input or batch.", Cost: "some quality"},
		{Fix: "upgrade_version", Title: "Check the version of L4T", Told: "`cat /etc/nv_tegra_release` shows it. If it is 36.4.7, install the next JetPack update.", Cost: "an update"},
	},
	Sources: []string{"https://github.com/NVIDIA/nvImageCodec/issues/43", "https://github.com/0xShug0/audio.cpp/issues/12", "https://github.com/pytorch/pytorch/issues/185240"},
}}

// Spark is an executor or task without memory.
var Spark = []cause.Card{
	{
		ID: "spark/executor-killed", Kinds: []fact.Kind{fact.ShellKilled, fact.ContainerKill, fact.SlurmKill, fact.RankKilled}, Said: []string{"ExecutorLostFailure"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "lost an executor: its container was killed (exit code 137), most likely above its memory limit",
		Means:    "The container has to hold the Java heap (`spark.executor.memory`) and the overhead: by default 10 % of it, at least 384 MB, for Python workers, shuffle buffers and native libraries. Most likely both together went above the container's size, or the node was full. A full heap would say \"Java heap space\".",
		Not:      "Only a larger driver: an executor was killed.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the memory overhead", Kind: "config", Text: "# more than today's, which is 10 % of spark.executor.memory by default\nspark.executor.memoryOverhead=3g\n# PySpark: spark.executor.pyspark.memory=2g", Told: "Raise it above today's value. On Kubernetes you can set a share instead: `spark.kubernetes.memoryOverheadFactor=0.4`.", Cost: "fewer executors on a node"},
			{Fix: "lower_num_workers", Title: "Run fewer tasks per executor", Told: "Halve `spark.executor.cores`.", Cost: "slower"},
			{Fix: "lower_batch_size", Title: "Use smaller partitions", Told: "Double `spark.sql.shuffle.partitions`, or use `repartition(n)`. If one task is far above the median on the stage's page, its key is skewed.", Cost: "more tasks"},
		},
		Sources: []string{"https://spark.apache.org/docs/latest/configuration.html"},
	},
	{
		ID: "spark/execution", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory}, Said: []string{"SparkOutOfMemoryError"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "had no memory left for a task's sort, join or aggregation",
		Means:    "All tasks of an executor share 60 % of its heap (`spark.memory.fraction`) for sorts, joins and aggregations. This task asked for more and got none. Either its partition is far too large (skew, a window without PARTITION BY, an exploded array), or too many tasks share a small heap.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Use more and smaller partitions", Kind: "config", Text: "spark.sql.shuffle.partitions=1000\nspark.sql.adaptive.enabled=true\nspark.sql.adaptive.skewJoin.enabled=true", Cost: "more tasks"},
			{Fix: "raise_memory_limit", Title: "Give each task more heap", Told: "Raise `--executor-memory`, or halve `--executor-cores`. In local mode raise `--driver-memory`.", Cost: "fewer executors"},
			{Fix: "empty_cache", Title: "Unpersist cached tables", Told: "They use the same memory: call `df.unpersist()` for what you no longer need.", Cost: "computed again if needed"},
		},
		Sources: []string{"https://spark.apache.org/docs/latest/tuning.html", "spark/core/src/main/java/org/apache/spark/memory/SparkOutOfMemoryError.java"},
	},
}

// LSFKilled is a job that somebody else than LSF ended.
var LSFKilled = []cause.Card{{
	ID: "lsf/killed", Kinds: []fact.Kind{fact.ShellKilled}, Unsaid: []string{"TERM_MEMLIMIT"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "reports a job that was killed by signal 9[[ after it had held {held}]]",
	Means:    "Exit code 137 means signal 9 (killed).[[ LSF counted {held} at most.]] At its own limit LSF would write TERM_MEMLIMIT, which is not here. So most likely the node ran out of RAM, often because jobs without a reservation share it (\"Total Requested Memory: -\"), or somebody killed the job.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Reserve the memory that the job needs", Told: "{ask} (unit: LSF_UNIT_FOR_LIMITS, MB or KB by site; `bjobs -l JOB` shows what the job had):", Kind: "config", Text: "#BSUB -R \"rusage[mem={mb}] span[hosts=1]\"\n#BSUB -M {mb}", Cost: "perhaps a longer wait"},
		{Fix: "lower_num_workers", Title: "Use fewer threads, or split the input", Told: "Most tools need memory for each thread and for each block of input.", Cost: "time"},
		{Fix: "close_other_apps", Title: "Ask for the node's kernel log", Told: "`bhist -l JOB` names the host. The cluster's support can read its kernel log (\"Out of memory: Killed process\").", Cost: "a mail"},
	},
	Figures: func(c *ledger.Case) map[string]string { // LSF's MB are MiB
		told := map[string]string{"held": "", "mb": "32000", "ask": "Put twice what it had in place of 32000"}
		if held := ledger.Sized(c, "lsf_held"); held > 0 {
			told["held"], told["mb"], told["ask"] = units.Amount(held), strconv.FormatInt((2*held/units.MiB+99)/100*100, 10), "This is twice what it has used so far"
			if held*2%(100*units.MiB) != 0 {
				told["ask"] += ", rounded up"
			}
		}
		return told
	},
	Sources: []string{"https://www.ibm.com/docs/en/spectrum-lsf/10.1.0?topic=lsfconf-lsf-unit-limits"},
}}
