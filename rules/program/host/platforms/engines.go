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
var WhoKilled = cause.Cure{Fix: "close_other_apps", Title: "Check the kernel log", Kind: "shell", Text: "sudo dmesg -T | grep -i -E 'oom|killed process'   # no line: it was not the out-of-memory killer", Cost: "Free"}

var dockerRaise = cause.Cure{Fix: "raise_memory_limit", Title: "Find whose limit it was, and raise it", Told: "The first number that this prints is the limit in bytes (CONTAINER: its name in `docker ps -a`).", Ways: []cause.Way{
	{For: "A number", Text: "the container's own limit: `docker update --memory 16g --memory-swap 16g CONTAINER` with twice that number in place of 16g; Compose `mem_limit:`"},
	{For: "0, Docker Desktop", Text: "the virtual machine's limit: Settings, Resources, Memory; with WSL 2 `memory=` in %UserProfile%\\.wslconfig, then `wsl --shutdown`"},
	{For: "0, Linux", Text: "the whole machine was full: check `free -h`, stop other programs or add swap"},
}, Kind: "shell", Text: "docker inspect -f '{{.HostConfig.Memory}} {{.State.OOMKilled}}' CONTAINER", Cost: "Free to look"}

var dockerLess = cause.Cure{Fix: "lower_num_workers", Title: "Use less memory in the container", Ways: []cause.Way{
	{For: "Workers", Text: "many programs start one per core of the host: set the number (`--workers 2`, `num_workers=2`)"},
	{For: "A model", Text: "a smaller quantisation, or 16 bit from safetensors: RAM holds it while it loads"},
	{For: "It fails after hours", Text: "something grows (`docker stats` shows the climb): update it, or restart it on a schedule"},
}, Cost: "Some speed"}

// Docker is a container that was ended.
var Docker = []cause.Card{
	{
		ID: "docker/oom-killed", Kinds: []fact.Kind{fact.ContainerKill}, Cause: cause.HostMemory, Weight: cause.Decisive, Figures: GPUFigures,
		Headline: "says OOMKilled: the container ran out of RAM",
		Means:    "The kernel ended a process of the container because RAM ran out[[, not the memory of {gpu}]]. If the container has a `--memory` limit, it reached that; otherwise Docker Desktop's virtual machine (half of RAM or less by default) or the whole host was full. All processes of the container count together, and so do files in /dev/shm and tmpfs.",
		Not:      "[[Settings of {gpu}: this is system memory (RAM).]]",
		Cures:    []cause.Cure{dockerRaise, dockerLess, WhoKilled}, Sources: []string{"moby/daemon/monitor.go", "https://docs.docker.com/engine/containers/resource_constraints/", "https://docs.docker.com/reference/cli/docker/container/update/"},
	},
	{
		ID: "docker/exited-137", Kinds: []fact.Kind{fact.ShellKilled}, Cause: cause.HostMemory, Weight: cause.Strong, Figures: GPUFigures,
		Headline: "stopped with 137: killed, most likely for RAM",
		Means:    "137 means signal 9: usually RAM ran out in the container's own limit, Docker Desktop's virtual machine, or the host. A `docker stop` that timed out, a health check or an orchestrator sends the same signal. `docker inspect` below prints true or false for OOMKilled; false does not rule it out, because a killed child process may not count.",
		Not:      "[[Settings of {gpu}: a full card raises an error instead.]]",
		Cures:    []cause.Cure{dockerRaise, WhoKilled, dockerLess}, Sources: []string{"moby/daemon/monitor.go", "https://docs.docker.com/engine/containers/resource_constraints/", "https://docs.docker.com/reference/cli/docker/container/stop/"},
	},
}

// Jetson: NvMap is the allocator of the GPU's memory on a Jetson, where both
// share the board's RAM; error 12 is ENOMEM.
var Jetson = []cause.Card{{
	ID: "jetson/nvmap", Kinds: append(slices.Clone(plainWords), fact.PlainDevice), Said: []string{"NvMapMemAllocInternalTagged:"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "was refused memory by NvMap, the allocator of the board (error 12)",
	Means:    "CPU and GPU share the board's RAM, and NvMap gives the GPU its part of it. Error 12 means that it could not: RAM is full, or what is free lies in pieces too small after long use. L4T 36.4.7 also refuses large pieces while much is free. The lines do not say which of them it is.",
	Not:      "Swap or zram: memory for the GPU cannot be swapped.",
	Cures: []cause.Cure{
		{Fix: "restart_session", Title: "Reboot, and start this program first", Told: "If it runs then, memory was in pieces or held by others. Without a reboot: `sudo sysctl vm.compact_memory=1 vm.drop_caches=3`.", Cost: "Free"},
		{Fix: "close_other_apps", Title: "Run without the desktop", Kind: "shell", Text: "sudo systemctl isolate multi-user.target   # back: graphical.target", Told: "It frees about 1 GB. `tegrastats` shows RAM and \"lfb\", the largest free pieces.", Cost: "No desktop meanwhile"},
		{Fix: "use_smaller_model", Title: "Use a smaller or more quantised model, or a shorter context", Told: "Its file, context and 1 to 2 GB for the system have to fit into the board's RAM; with ONNX or TensorRT a smaller input or batch.", Cost: "Some quality"},
		{Fix: "upgrade_version", Title: "Check the version of L4T", Told: "`cat /etc/nv_tegra_release`: with 36.4.7 take the next JetPack update.", Cost: "An update"},
	},
	Sources: []string{"https://github.com/NVIDIA/nvImageCodec/issues/43", "https://github.com/0xShug0/audio.cpp/issues/12", "https://github.com/pytorch/pytorch/issues/185240"},
}}

// Spark is an executor or task without memory.
var Spark = []cause.Card{
	{
		ID: "spark/executor-killed", Kinds: []fact.Kind{fact.ShellKilled, fact.ContainerKill, fact.SlurmKill, fact.RankKilled}, Said: []string{"ExecutorLostFailure"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "lost an executor: its container was killed (137), most likely above its memory",
		Means:    "The container holds `spark.executor.memory` (the heap) and the overhead: 10 % of that, 384 MB at least, for shuffle buffers, Python workers, Netty and native libraries. Signal 9 means that the sum exceeded the container, or that the node was full. A full Java heap gives another error (\"Java heap space\").",
		Not:      "Only a larger driver: an executor was lost.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the memory overhead", Kind: "config", Text: "# more than today's, which is 10 % of spark.executor.memory by default\nspark.executor.memoryOverhead=3g\n# PySpark: spark.executor.pyspark.memory=2g", Told: "On Kubernetes a share can stand in its place: `spark.kubernetes.memoryOverheadFactor=0.4`.", Cost: "Fewer executors on a node"},
			{Fix: "lower_num_workers", Title: "Run fewer tasks per executor", Told: "Halve `spark.executor.cores`.", Cost: "Slower"},
			{Fix: "lower_batch_size", Title: "Use smaller partitions", Told: "Double `spark.sql.shuffle.partitions`, or `repartition(n)`. If one task is far above the median in the stage's page, a key is skewed.", Cost: "More tasks"},
		},
		Sources: []string{"https://spark.apache.org/docs/latest/configuration.html"},
	},
	{
		ID: "spark/execution", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory}, Said: []string{"SparkOutOfMemoryError"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "had no execution memory left for a task",
		Means:    "Tasks of an executor share 60 % of its heap (`spark.memory.fraction`) for sorts, joins and aggregations; this one asked for a page and got none. Either one partition is far too large (skew, a window without PARTITION BY, an exploded array), or many tasks share a small heap.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Use more and smaller partitions", Kind: "config", Text: "spark.sql.shuffle.partitions=1000\nspark.sql.adaptive.enabled=true\nspark.sql.adaptive.skewJoin.enabled=true", Cost: "More tasks"},
			{Fix: "raise_memory_limit", Title: "Give each task more heap", Told: "Raise `--executor-memory`, or halve `--executor-cores`. In local mode raise `--driver-memory`.", Cost: "Fewer executors"},
			{Fix: "empty_cache", Title: "Unpersist cached tables", Told: "They use the same memory: `df.unpersist()` for what is no longer needed.", Cost: "Computed again if needed"},
		},
		Sources: []string{"https://spark.apache.org/docs/latest/tuning.html", "spark/core/src/main/java/org/apache/spark/memory/SparkOutOfMemoryError.java"},
	},
}

// LSFKilled is a job that somebody else than LSF ended.
var LSFKilled = []cause.Card{{
	ID: "lsf/killed", Kinds: []fact.Kind{fact.ShellKilled}, Unsaid: []string{"TERM_MEMLIMIT"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "reports a job that was killed by signal 9[[ after it had held {held}]]",
	Means:    "Exit code 137 means signal 9.[[ LSF counted {held} at most.]] When a job reaches LSF's own limit, LSF writes TERM_MEMLIMIT, which is not here. So most likely the node itself ran out of RAM, often because jobs that reserve none share it (\"Total Requested Memory: -\"), or somebody ended the job.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Reserve the memory that it needs", Told: "{ask} (unit: LSF_UNIT_FOR_LIMITS, MB or KB by site; `bjobs -l JOB` shows what it had):", Kind: "config", Text: "#BSUB -R \"rusage[mem={mb}] span[hosts=1]\"\n#BSUB -M {mb}", Cost: "Perhaps a longer wait"},
		{Fix: "lower_num_workers", Title: "Use fewer threads, or smaller parts of the input", Told: "Most tools need memory for each thread and for each block of input.", Cost: "Time"},
		{Fix: "close_other_apps", Title: "Ask for the node's kernel log", Told: "`bhist -l JOB` names the host. The cluster's support can read its kernel log (\"Out of memory: Killed process\").", Cost: "A mail"},
	},
	Figures: func(c *ledger.Case) map[string]string {
		told := map[string]string{"held": "", "mb": "32000", "ask": "In place of 32000 put twice what it had"}
		if held := ledger.Sized(c, "lsf_held"); held > 0 {
			told["held"], told["mb"], told["ask"] = units.Amount(held), strconv.FormatInt((2*held/1e6+999)/1000*1000, 10), "Twice what it has needed so far, for a start"
		}
		return told
	},
	Sources: []string{"https://www.ibm.com/docs/en/spectrum-lsf/10.1.0?topic=lsfconf-lsf-unit-limits"},
}}
