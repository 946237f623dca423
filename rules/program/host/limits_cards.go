package host

import (
	"fmt"
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// limit is the card of a service that ended a program at a limit.
func limit(id string, kinds []fact.Kind, weight cause.Level, headline, means, not, source string, cures ...cause.Cure) []cause.Card {
	return []cause.Card{{ID: id, Kinds: kinds, Cause: cause.HostMemory, Weight: weight, Headline: headline, Means: means, Not: not, Cures: cures, Sources: []string{source}}}
}

var (
	raise   = cause.Cure{Fix: "raise_memory_limit", Cost: "Less for the others, or waiting time"}
	signal9 = []fact.Kind{fact.ShellKilled, fact.ContainerKill}
	queue   = []fact.Kind{fact.SlurmKill}
)

var dockerRaise = cause.Cure{Fix: "raise_memory_limit", Title: "See whose limit it was, and raise it", Told: "The first number that this prints (CONTAINER: its name in `docker ps -a`) is the limit in bytes.", Ways: []cause.Way{
	{For: "A number", Text: "its own: `docker update --memory 16g --memory-swap 16g CONTAINER` with twice that in place of 16g; Compose `mem_limit:`"},
	{For: "0, Docker Desktop", Text: "the virtual machine's: Settings, Resources, Memory; with WSL 2 `memory=` in %UserProfile%\\.wslconfig, then `wsl --shutdown`"},
	{For: "0, Linux", Text: "the whole machine was full: `free -h`, and swap or fewer programs"},
}, Kind: "shell", Text: "docker inspect -f '{{.HostConfig.Memory}} {{.State.OOMKilled}}' CONTAINER", Cost: "Free to look"}

var dockerLess = cause.Cure{Fix: "lower_num_workers", Title: "Or stay below it", Ways: []cause.Way{
	{For: "Workers", Text: "many programs start one for each core of the host: set the number (`--workers 2`, `num_workers=2`)"},
	{For: "A model", Text: "a smaller quantisation, or 16 bit from safetensors: RAM holds it while it loads"},
	{For: "After hours", Text: "something grows: `docker stats` shows the climb; newest version, or a restart on a schedule"},
}, Cost: "Some speed"}

var dockerCards = []cause.Card{
	{
		ID: "docker/oom-killed", Kinds: []fact.Kind{fact.ContainerKill}, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "says OOMKilled: the container ran out of RAM",
		Means:    "The kernel ended a process of the container for RAM, not for GPU memory. With a `--memory` limit that was it; without one, Docker Desktop's virtual machine (half of RAM or less by default) or the whole host was full. All processes of the container count together, and files in /dev/shm and tmpfs.",
		Not:      "GPU settings, or starting it again as it is.",
		Cures:    []cause.Cure{dockerRaise, dockerLess, whoKilled}, Sources: []string{"moby/daemon/monitor.go", "https://docs.docker.com/engine/containers/resource_constraints/", "https://docs.docker.com/reference/cli/docker/container/update/"},
	},
	{
		ID: "docker/exited-137", Kinds: []fact.Kind{fact.ShellKilled}, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "stopped with 137: killed, most likely for RAM",
		Means:    "137 is signal 9. As a rule that is RAM: the container's own limit, Docker Desktop's virtual machine, or the host. A `docker stop` whose ten seconds ran out, a health check and an orchestrator send it, too; `docker inspect` below says OOMKilled true or false, though false is no proof if a child process was the one that died.",
		Not:      "GPU settings: this is the computer's own memory.",
		Cures:    []cause.Cure{dockerRaise, whoKilled, dockerLess}, Sources: []string{"moby/daemon/monitor.go", "https://docs.docker.com/engine/containers/resource_constraints/", "https://docs.docker.com/reference/cli/docker/container/stop/"},
	},
}

var githubCards = limit("github-actions/runner", signal9, cause.Strong,
	"ended a process of the job with 137, for RAM most likely",
	"A process on the runner was ended by signal 9 (137): as a rule the runner's RAM was full. The standard Linux runner has 16 GB for public repositories and 8 GB for private ones; tests or compilers in parallel fill it. A container of the job with a limit of its own, or a time limit, look the same.",
	"Re-running it: the same job needs the same memory.", "https://docs.github.com/en/actions/reference/runners/github-hosted-runners",
	cause.Cure{Fix: "lower_num_workers", Title: "Fewer processes at once", Kind: "text", Text: "pytest `-n 2` in place of `-n auto`; `make -j2`; for Jest `--maxWorkers=2`; builds with CUDA `MAX_JOBS=1`.", Cost: "A longer job"},
	cause.Cure{Fix: "add_swap", Title: "Add swap in a step", Kind: "config", Text: "- run: sudo fallocate -l 8G /mnt/swap && sudo chmod 600 /mnt/swap && sudo mkswap /mnt/swap && sudo swapon /mnt/swap", Cost: "Slow where it is used"},
	raise)

var colabCards = limit("colab/ram", []fact.Kind{fact.ShellKilled}, cause.Decisive,
	"restarted the session: its RAM was used up",
	"The notebook's own RAM (about 12.7 GB in the free plan) was used up and the session ended; the card's memory is another thing. What does it as a rule: a model loaded in 32 bit, a whole data set as a list or DataFrame, or variables of earlier cells. The message does not say which cell; the RAM graph (top right) shows the jump.",
	"A smaller batch on the card: it is RAM that ran out.", "https://research.google.com/colaboratory/faq.html",
	cause.Cure{Fix: "stream_dataset", Title: "Do not hold it all in RAM", Kind: "text", Text: "Read the data in parts (`chunksize=`, `streaming=True`, `mmap_mode=\"r\"`); load models straight to the card in 16 bit, from safetensors.", Cost: "Some rewriting"},
	cause.Cure{Fix: "empty_cache", Title: "Delete what earlier cells left", Told: "`del df, model` (your own names), then `import gc; gc.collect()`. Or Runtime, Restart session, and run only the cells that you need.", Cost: "Free"},
	raise)

var kaggleCards = limit("kaggle/ram", []fact.Kind{fact.ShellKilled}, cause.Decisive,
	"restarted the session: its RAM was used up",
	"The session's RAM (about 30 GB with a CPU or GPU) was used up; the card's memory is another thing. A whole data set as pixels, a wide DataFrame with copies, or a model in 32 bit does that. The RAM bar in the side panel shows at which cell it jumps.",
	"A smaller batch on the card: it is RAM that ran out.", "https://www.kaggle.com/docs/notebooks",
	cause.Cure{Fix: "stream_dataset", Title: "Do not hold it all in RAM", Kind: "text", Text: "Read columns that you use, with smaller types, from Parquet; load images batch by batch in a Dataset, not into one array.", Cost: "Some rewriting"},
	cause.Cure{Fix: "empty_cache", Title: "Delete what earlier cells left", Told: "`del train_df` (your own names), then `import gc; gc.collect()`; or restart the session and run only the cells that you need.", Cost: "Free"},
	raise)

var lambdaCards = limit("aws-lambda/memory", []fact.Kind{fact.ShellKilled}, cause.Decisive,
	"ended the function: it reached its memory size",
	"In the REPORT line Max Memory Used equals Memory Size: the function was ended for memory. What is loaded counts (libraries, a model, a file read whole); files in /tmp do not. A warm container keeps globals from one call to the next. The share of a processor grows with the memory size, too.",
	"A longer timeout: it was ended for memory.", "https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html",
	raise,
	cause.Cure{Fix: "stream_dataset", Title: "Stream instead of reading whole", Kind: "text", Text: "Read S3 objects in pieces (`iter_chunks`), and load models outside the handler, once.", Cost: "Some rewriting"},
	cause.Cure{Fix: "detach_accumulated", Title: "It grows from call to call: something is kept", Told: "The number rises over the REPORT lines of one container: a global list or cache. Empty it at the end of the handler.", Cost: "Free"})

var cloudRunCards = limit("cloud-run/memory", []fact.Kind{fact.ContainerKill}, cause.Decisive,
	"ended the instance above its memory limit[[ of {limit}]]",
	"The instance passed its memory limit and was ended. Files that the program writes count too, for its file system is in memory, and all requests that it serves at once share it (80 by default).",
	"More instances: each has the same limit.", "https://cloud.google.com/run/docs/configuring/memory-limits",
	raise,
	cause.Cure{Fix: "lower_parallel", Title: "Fewer requests per instance", Kind: "shell", Text: "gcloud run services update SERVICE --concurrency 10   # SERVICE: its name in the console; 80 by default", Cost: "More instances"},
	cause.Cure{Fix: "stream_dataset", Title: "Write no large files, hold no whole ones", Told: "Files go to a bucket or a mounted volume; uploads and downloads in pieces.", Cost: "Some rewriting"})

var awsBatchCards = limit("aws-batch/memory", signal9, cause.Decisive,
	"ended the container at the memory of its job definition",
	"The container passed the memory of its job definition and was ended (137). That number is a hard limit: the instance may have had more. All processes of the container count together, and files in /dev/shm.",
	"A larger instance type: the limit stays what the definition says.", "https://docs.aws.amazon.com/batch/latest/userguide/memory-management.html",
	raise, lessAtOnce)

var macCards = append(
	limit("macos/killed", []fact.Kind{fact.ShellKilled}, cause.Strong,
		"ended the process with signal 9: RAM, most likely",
		"Signal 9, without a word of its own: as a rule RAM and swap were used up, for instance because the disk has no room for more swap. A program that is not signed, or `kill -9`, looks the same: that one dies at once, at its start. On Apple silicon GPU memory is the same RAM.",
		"Linux advice such as swap files: macOS makes its swap by itself while the disk has room.", "https://support.apple.com/guide/activity-monitor/view-memory-usage-actmntr1004/mac",
		cause.Cure{Fix: "close_other_apps", Title: "Look at memory pressure", Kind: "text", Text: "Activity Monitor, Memory: red pressure while it runs means RAM; quit what takes most, and free disk space for swap.", Cost: "Free"},
		lessAtOnce,
		cause.Cure{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "A smaller model or more compression", Kind: "text", Text: "A model should take at most two thirds of RAM: a 4-bit file needs about 0.6 GB per billion parameters.", Cost: "Some quality"}),
	slices.Concat(daemonCards, jetsamCards)...)

// smallLimit: a limit that no app has, but the daemons of iOS do.
func smallLimit(c *ledger.Case) bool {
	limit := c.F().Limit
	return limit != nil && limit.Bytes <= 200*units.MiB
}

// mayRunModels: the log is about AI, or the app had reached gigabytes, as few
// others do.
func mayRunModels(c *ledger.Case) bool {
	limit := c.F().Limit
	return ledger.RunsModels(c) || limit != nil && limit.Bytes >= 2*units.GiB
}

var daemonCards = []cause.Card{{
	ID: "macos/jetsam-daemon", Kinds: []fact.Kind{fact.AppleKill}, If: smallLimit, Figures: hostFigures,
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "ended the process at its own limit of {limit} (jetsam)",
	Means:    "The limit is this process's own, {limit}, as launchd gives it to daemons and extensions; the device need not have been short of memory. What counts is its phys_footprint: dirty and compressed pages, not files that are mapped. A soft limit may be passed while it is active, a hard one not; an idle daemon has the inactive one.",
	Not:      "Closing apps, a restart or swap: the limit is this process's own.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Give it a larger limit", Told: "Where the system is yours (own firmware, jailbreak): an entry with its label in /System/Library/LaunchDaemons/com.apple.jetsamproperties.MODEL.plist (Version4, Daemon, Override; Global there is the default): `ActiveSoftMemoryLimit` and `InactiveHardMemoryLimit`, in MB; then restart the device. On a stock system nobody can.", Cost: "Less for other processes"},
		{Fix: "lower_num_workers", Title: "Or stay below {limit}", Ways: []cause.Way{
			{For: "Loops", Text: "`@autoreleasepool` inside; what was read is let go of at once"},
			{For: "Files", Text: "mapped or in pieces: clean mapped pages do not count"},
			{For: "Libraries", Text: "each large framework costs a few MB before it does anything; caches emptied before it goes idle"},
			{For: "Heavy work", Text: "in a process of its own that ends afterwards"},
		}, Cost: "Some rewriting"},
		{Fix: "stream_dataset", Title: "See what it holds", Kind: "shell", Text: "footprint PROCESS   # its name or number; vmmap --summary and heap say more", Cost: "Free"},
	},
	Sources: []string{"apple-oss-distributions/xnu/bsd/kern/kern_memorystatus.c", "https://github.com/eycorsican/jetsamproperties"},
}}

var jetsamCards = limit("macos/jetsam", []fact.Kind{fact.AppleKill}, cause.Strong,
	"ended the app at its memory limit",
	"The system ended the app at its memory limit (jetsam). On iPhone and iPad each app has one, about half of RAM; on a Mac it is a limit set for that process. The GPU uses the same RAM.",
	"Swap: iOS ends apps instead of swapping them.", "https://developer.apple.com/documentation/xcode/identifying-high-memory-use-with-jetsam-event-reports",
	cause.Cure{Fix: "use_smaller_model", If: mayRunModels, Title: "Use a smaller model", Kind: "text", Text: "Stay below half of the device's RAM with weights and cache together; 1 to 3 billion parameters in 4 bit on phones.", Cost: "Some quality"},
	cause.Cure{Fix: "use_lower_quant", If: mayRunModels, Title: "Use a 4-bit model", Kind: "text", Text: "Take the 4-bit conversion of the same model.", Cost: "Little quality"},
	cause.Cure{Fix: "stream_dataset", If: when.Not(mayRunModels), Title: "See what it holds, and hold less", Told: "Xcode, Debug navigator, Memory, and Instruments' Allocations: a jump is one large load (images decoded at full size, files read whole), a climb something that is kept.", Cost: "Some rewriting"},
	cause.Cure{Fix: "raise_memory_limit", Title: "iOS: ask for the larger limit", Kind: "text", Text: "Add the entitlement `com.apple.developer.kernel.increased-memory-limit` to the app.", Cost: "None; some devices ignore it"})

var wslCards = []cause.Card{{
	ID: "wsl/half-of-ram", Kinds: []fact.Kind{fact.KernelKill, fact.ShellKilled}, Cause: cause.HostMemory, Weight: cause.Decisive, Figures: hostFigures,
	Headline: "ran out of its own share of the RAM[[: {victim} held {held}]]",
	Means:    "WSL 2 is a virtual machine with half of the computer's RAM by default, whatever Windows itself has free, and a quarter of that as swap. [[What was killed held {held}, so its share was not much more than that. ]]In Task Manager it is VmmemWSL.",
	Not:      "Closing Windows programs: WSL's share does not grow by that.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Raise its share", Told: "In %UserProfile%\\.wslconfig (make it, if it is not there), then `wsl --shutdown` in PowerShell. Leave 4 to 8 GB of the computer's RAM to Windows; `free -h` inside shows the new share.", Kind: "config", Text: "[wsl2]\nmemory=24GB   # of 32; put what yours allows\nswap=16GB", Cost: "Less for Windows"},
		{Fix: "lower_num_workers", Title: "Take less inside", Told: "Fewer workers or compile jobs (`num_workers=2`, `MAX_JOBS=2`); models in 16 bit or a smaller quantisation. Files under /mnt/c are slow, but cost no more RAM.", Cost: "Some speed"},
		{Fix: "close_other_apps", Title: "See what fills it", Kind: "shell", Text: "free -h; ps -eo pid,rss,args --sort=-rss | head; sudo dmesg | grep -i 'killed process' | tail -3", Cost: "Free"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/windows/wsl/wsl-config"},
}}

var pageFileCards = []cause.Card{{
	ID: "windows/commit-limit", Kinds: []fact.Kind{fact.CommitLimit}, Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "could promise no more memory (error 1455)",
	Means:    "Windows promises memory before it is used, and RAM plus page file are promised away (\"Committed\" in the Task Manager); RAM itself may look free. Two things take large promises: a model file while it is opened, as much as its size, and the CUDA libraries, a few GB in every Python process, so that loader workers multiply them. A page file that is off, small, or on a full disk brings it on.",
	Not:      "Freeing VRAM or a smaller batch: this is the computer's own memory.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", If: cause.LoadsModel, Title: "First close what holds most, and try again", Told: "Task Manager, Details, column \"Commit size\" (right click on the head, Select columns): browsers, another UI, an old python; or restart Windows.", Cost: "Free"},
		{Fix: "raise_pagefile", Title: "Let the page file grow", Told: "Windows key, \"View advanced system settings\", Performance: Settings, Advanced, Virtual memory: Change. Untick \"Automatically manage\", custom size on an SSD with room: initial 16384, maximum 65536 MB (more than the model file by far). Set, OK, restart.", Cost: "Disk space and a restart"},
		{Fix: "use_smaller_model", If: cause.LoadsModel, Title: "Or open a smaller file", Told: "A file that is quantised already (4 bit, fp8), or one split into several parts, is promised in smaller amounts; it failed while the file was opened, so batch and length do not count yet.", Cost: "Perhaps quality"},
		{Fix: "lower_num_workers", If: func(c *ledger.Case) bool { return !cause.LoadsModel(c) }, Title: "Several processes: fewer of them", Told: "`num_workers=0` or 2 (YOLO `workers=0`); in a script with workers keep the start under `if __name__ == \"__main__\":`.", Cost: "Data may come slower"},
		{Fix: "close_other_apps", If: func(c *ledger.Case) bool { return !cause.LoadsModel(c) }, Title: "Without a restart: free promises", Told: "Task Manager, Details, column \"Commit size\" (right click on the head, Select columns): end what stands on top and is not needed, another UI or an old python first. A smaller file of the model (fp8, 16 bit in place of 32) needs less.", Cost: "Free"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--1300-1699-", "https://learn.microsoft.com/en-us/troubleshoot/windows-client/performance/introduction-to-the-page-file"},
}}

var yarnCards = []cause.Card{{
	ID: "yarn/container", Kinds: []fact.Kind{fact.YARNKill}, Cause: cause.HostMemory, Weight: cause.Decisive, Figures: yarnFigures,
	Headline: "killed the container above its memory limit[[: {used} of {limit}]]",
	Means:    "YARN adds up the container's processes and ends what goes above its size: executor memory plus overhead (by default a tenth of it, 384 MB at least). Python and native libraries, direct buffers and threads live in that overhead alone.[[ {virtual}]]",
	Not:      "A larger -Xmx alone, for the heap is not what grew, as a rule; more memory for the driver; swap.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "More overhead, for what runs beside the JVM", Told: "In place of today's values. The size stays if `--executor-memory` gives as much away.[[ {old_name}]]", Steps: yarnSteps, Cost: "Fewer executors at a time, or less heap"},
		{Fix: "lower_num_workers", Title: "Fewer tasks in an executor, smaller parts", Told: "`--executor-cores 1` or 2: as many tasks share a container as it has cores. More partitions (`repartition`, `spark.sql.shuffle.partitions`) make each smaller[[; {task} failed each time, so look in the UI whether its part is far larger than the others (a skewed key)]].", Cost: "Less at a time"},
		{Fix: "fix_shape", If: virtualLimit, Title: "It counts address space: switch that check off", Kind: "config", Text: "<property><name>yarn.nodemanager.vmem-check-enabled</name><value>false</value></property>", Told: "In yarn-site.xml of the nodes, by who runs them.", Cost: "None"},
	},
	Sources: []string{"https://spark.apache.org/docs/latest/configuration.html", "hadoop/hadoop-yarn-project/hadoop-yarn/hadoop-yarn-common/src/main/resources/yarn-default.xml"},
}}

// virtualLimit: it was address space that went above the limit, not RAM.
func virtualLimit(c *ledger.Case) bool { return c.Contains("virtual memory") }

func yarnFigures(c *ledger.Case) map[string]string {
	out := hostFigures(c)
	out["virtual"], out["task"], out["old_name"] = "", "", ""
	if f := c.F(); f.ProcessUsed != nil {
		out["used"] = f.ProcessUsed.String()
	}
	if virtualLimit(c) {
		out["virtual"] = "\"Virtual\" counts address space, not RAM: that check is often switched off."
	}
	if number := after(c, "aborted due to stage failure: Task "); number != "" && c.Contains("failed 4 times") {
		out["task"] = "task " + number
	}
	if c.Contains("spark.yarn.executor.memoryoverhead") {
		out["old_name"] = "Since Spark 2.3 it is `spark.executor.memoryOverhead`."
	}
	return out
}

func yarnSteps(c *ledger.Case) []step.Step {
	overhead := int64(2)
	if limit := c.F().Limit; limit != nil && limit.Bytes > 0 {
		overhead = max(gib(limit.Bytes*2/5), 1)
	}
	option := fmt.Sprintf("spark.executor.memoryOverhead=%dg", overhead)
	if c.Contains("spark.yarn.executor.memoryoverhead") {
		option = fmt.Sprintf("spark.yarn.executor.memoryOverhead=%d", overhead*1024)
	}
	return []step.Step{{Kind: "shell", Text: "spark-submit --conf " + option + " YOUR_JOB   # with its other options; two fifths of the container's size today"}}
}
