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
	raise   = cause.Cure{Fix: "raise_memory_limit", Cost: "May cost more"}
	signal9 = []fact.Kind{fact.ShellKilled, fact.ContainerKill}
	queue   = []fact.Kind{fact.SlurmKill}
)

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

var dockerCards = []cause.Card{
	{
		ID: "docker/oom-killed", Kinds: []fact.Kind{fact.ContainerKill}, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "says OOMKilled: the container ran out of RAM",
		Means:    "The kernel ended a process of the container because RAM ran out, not GPU memory. If the container has a `--memory` limit, it reached that; otherwise Docker Desktop's virtual machine (half of RAM or less by default) or the whole host was full. All processes of the container count together, and so do files in /dev/shm and tmpfs.",
		Not:      "GPU settings: this is system memory (RAM).",
		Cures:    []cause.Cure{dockerRaise, dockerLess, whoKilled}, Sources: []string{"moby/daemon/monitor.go", "https://docs.docker.com/engine/containers/resource_constraints/", "https://docs.docker.com/reference/cli/docker/container/update/"},
	},
	{
		ID: "docker/exited-137", Kinds: []fact.Kind{fact.ShellKilled}, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "stopped with 137: killed, most likely for RAM",
		Means:    "137 means signal 9: usually RAM ran out in the container's own limit, Docker Desktop's virtual machine, or the host. A `docker stop` that timed out, a health check or an orchestrator sends the same signal. `docker inspect` below prints true or false for OOMKilled; false does not rule it out, because a killed child process may not count.",
		Not:      "GPU settings: a full card raises an error instead.",
		Cures:    []cause.Cure{dockerRaise, whoKilled, dockerLess}, Sources: []string{"moby/daemon/monitor.go", "https://docs.docker.com/engine/containers/resource_constraints/", "https://docs.docker.com/reference/cli/docker/container/stop/"},
	},
}

var githubCards = limit("github-actions/runner", signal9, cause.Strong,
	"ended a process of the job with 137, most likely for RAM",
	"A process on the runner got signal 9 (137): usually the runner's RAM was full. The standard Linux runner has 16 GB for public repositories and 8 GB for private ones; parallel tests or compilers fill it. A job container with its own limit, or a time limit, looks the same.",
	"", "https://docs.github.com/en/actions/reference/runners/github-hosted-runners",
	cause.Cure{Fix: "lower_num_workers", Title: "Run fewer processes in parallel", Kind: "text", Text: "pytest `-n 2` instead of `-n auto`; `make -j2`; Jest `--maxWorkers=2`; CUDA builds `MAX_JOBS=1`.", Cost: "A longer job"},
	cause.Cure{Fix: "add_swap", Title: "Add swap in an earlier step", Kind: "config", Text: "- run: sudo fallocate -l 8G /mnt/swap && sudo chmod 600 /mnt/swap && sudo mkswap /mnt/swap && sudo swapon /mnt/swap", Cost: "Slow where it is used"},
	raise)

var colabCards = limit("colab/ram", []fact.Kind{fact.ShellKilled}, cause.Decisive,
	"restarted the session: its RAM was used up",
	"The notebook's RAM (about 12.7 GB in the free plan) was used up, and the session ended. GPU memory is separate. Usual reasons: a model loaded in 32 bit, a whole data set in a list or DataFrame, or variables of earlier cells. The message does not say which cell; the RAM graph (top right) shows the jump.",
	"Freeing GPU memory: it is RAM that ran out.", "https://research.google.com/colaboratory/faq.html",
	cause.Cure{Fix: "stream_dataset", Title: "Load the data in parts", Kind: "text", Text: "Read it in pieces (`chunksize=`, `streaming=True`, `mmap_mode=\"r\"`); load models straight to the card in 16 bit, from safetensors.", Cost: "Some rewriting"},
	cause.Cure{Fix: "empty_cache", Title: "Delete what earlier cells left", Told: "`del df, model` (your own names), then `import gc; gc.collect()`. Or Runtime, Restart session, and run only the cells that you need.", Cost: "Free"},
	raise)

var kaggleCards = limit("kaggle/ram", []fact.Kind{fact.ShellKilled}, cause.Decisive,
	"restarted the session: its RAM was used up",
	"The session's RAM (about 30 GB with a CPU or GPU) was used up. GPU memory is separate. Usual reasons: a whole data set as pixels, a wide DataFrame with copies, or a model in 32 bit. The RAM bar in the side panel shows at which cell it jumps.",
	"Freeing GPU memory: it is RAM that ran out.", "https://www.kaggle.com/docs/notebooks",
	cause.Cure{Fix: "stream_dataset", Title: "Load the data in parts", Kind: "text", Text: "Read only the columns that you use, with smaller types, from Parquet; load images batch by batch in a Dataset, not into one array.", Cost: "Some rewriting"},
	cause.Cure{Fix: "empty_cache", Title: "Delete what earlier cells left", Told: "`del train_df` (your own names), then `import gc; gc.collect()`; or restart the session and run only the cells that you need.", Cost: "Free"},
	raise)

var lambdaCards = limit("aws-lambda/memory", []fact.Kind{fact.ShellKilled}, cause.Decisive,
	"ended the function: it reached its memory size",
	"The function reached its memory size: in the REPORT line Max Memory Used equals Memory Size. Everything that is loaded counts (libraries, a model, a file read whole); files in /tmp do not. A warm container keeps globals from one call to the next.",
	"A longer timeout: it was ended for memory.", "https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html",
	raise,
	cause.Cure{Fix: "stream_dataset", Title: "Stream files instead of reading them whole", Kind: "text", Text: "Read S3 objects in pieces (`iter_chunks`), and load models outside the handler, once.", Cost: "Some rewriting"},
	cause.Cure{Fix: "detach_accumulated", Title: "If it grows from call to call, empty global caches", Told: "Max Memory Used then rises over the REPORT lines of one container: a global list or cache. Empty it at the end of the handler.", Cost: "Free"})

var cloudRunCards = limit("cloud-run/memory", []fact.Kind{fact.ContainerKill}, cause.Decisive,
	"ended the instance above its memory limit[[ of {limit}]]",
	"The instance exceeded its memory limit and was ended. Files that the program writes count too, because its file system is in memory, and all requests that an instance serves at once share it (80 by default, deployed by gcloud 80 for each vCPU).",
	"", "https://cloud.google.com/run/docs/configuring/memory-limits",
	raise,
	cause.Cure{Fix: "lower_parallel", Title: "Lower the concurrency", Kind: "shell", Text: "gcloud run services update SERVICE --concurrency 10   # requests at once; SERVICE: its name in the console", Cost: "More instances"},
	cause.Cure{Fix: "stream_dataset", Title: "Write large files to a bucket or mounted volume", Told: "And read uploads and downloads in pieces.", Cost: "Some rewriting"})

var awsBatchCards = limit("aws-batch/memory", signal9, cause.Decisive,
	"ended the container at the memory of its job definition",
	"The container exceeded the memory of its job definition and was ended (137). That number is a hard limit; the instance may have had more. All processes of the container count together, and so do files in /dev/shm.",
	"A larger instance type alone: the limit stays what the definition says.", "https://docs.aws.amazon.com/batch/latest/userguide/memory-management.html",
	raise, lessAtOnce)

var macCards = append(
	onMac(limit("macos/killed", []fact.Kind{fact.ShellKilled}, cause.Strong,
		"ended the process with signal 9, most likely for RAM",
		"The process got signal 9 and could print no error of its own. Usually RAM and swap were used up, for instance because the disk has no room for more swap. An unsigned program (which is killed right at its start) or `kill -9` looks the same. On Apple silicon GPU memory is the same RAM.",
		"Swap files as on Linux: macOS makes its swap by itself while the disk has room.", "https://support.apple.com/guide/activity-monitor/view-memory-usage-actmntr1004/mac",
		cause.Cure{Fix: "close_other_apps", Title: "Check memory pressure, and close other apps", Kind: "text", Text: "Activity Monitor, Memory: red pressure while it runs means that RAM is full. Quit what takes most, and free disk space for swap.", Cost: "Free"},
		cause.Cure{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "Use a smaller or more quantised model", Kind: "text", Text: "A model should take at most two thirds of RAM: a 4-bit file needs about 0.6 GB per billion parameters.", Cost: "Some quality"},
		lessAtOnce,
		cause.Cure{Fix: "raise_memory_limit", Title: "Use a Mac, or a rented machine, with more memory", Told: "RAM is soldered on Apple silicon.", Cost: "Money"})),
	slices.Concat(daemonCards, jetsamCards)...)

// onMac holds a card back where zsh may have said the same on Linux.
func onMac(cards []cause.Card) []cause.Card {
	cards[0].If = func(c *ledger.Case) bool { return c.Reader.OS == "mac" || c.Contains("killed: 9") }
	return cards
}

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
		{Fix: "lower_num_workers", Title: "Keep the process below {limit}", Ways: []cause.Way{
			{For: "Loops", Text: "use `@autoreleasepool` inside, so that what was read is freed at once"},
			{For: "Files", Text: "map them or read in pieces: clean mapped pages do not count"},
			{For: "Libraries", Text: "each large framework costs a few MB at its start; empty caches before the process goes idle"},
			{For: "Heavy work", Text: "do it in a separate process that ends afterwards"},
		}, Cost: "Some rewriting"},
		{Fix: "stream_dataset", Title: "Check what it holds", Kind: "shell", Text: "footprint PROCESS   # its name or number; vmmap --summary and heap say more", Cost: "Free"},
	},
	Sources: []string{"apple-oss-distributions/xnu/bsd/kern/kern_memorystatus.c", "https://github.com/eycorsican/jetsamproperties"},
}}

var jetsamCards = limit("macos/jetsam", []fact.Kind{fact.AppleKill}, cause.Strong,
	"ended the app at its memory limit[[ of {limit}]]",
	"The system ended the app at its memory limit (jetsam). On iPhone and iPad each app has one, about half of RAM; on a Mac it is a limit set for that process. The GPU uses the same RAM.",
	"Closing other apps: the limit is this app's own.", "https://developer.apple.com/documentation/xcode/identifying-high-memory-use-with-jetsam-event-reports",
	cause.Cure{Fix: "use_smaller_model", If: mayRunModels, Title: "Use a smaller model", Kind: "text", Text: "Weights, context and the app itself have to stay below the limit: on phones 1 to 3 billion parameters in 4 bit. A shorter context or input takes less as well.", Cost: "Some quality"},
	cause.Cure{Fix: "use_lower_quant", If: mayRunModels, Title: "Use a 4-bit model", Kind: "text", Text: "Take the 4-bit conversion of the same model.", Cost: "Little quality"},
	cause.Cure{Fix: "stream_dataset", If: when.Not(mayRunModels), Title: "Find what it holds with Instruments", Told: "Xcode, Debug navigator, Memory, and Instruments' Allocations. A jump is one large load (images decoded at full size, files read whole); a climb is something that is kept.", Cost: "Some rewriting"},
	cause.Cure{Fix: "raise_memory_limit", Title: "On iOS, request the larger memory limit", Kind: "text", Text: "Add the entitlement `com.apple.developer.kernel.increased-memory-limit` to the app.", Cost: "None; some devices ignore it"})

var wslCards = []cause.Card{{
	ID: "wsl/half-of-ram", Kinds: []fact.Kind{fact.KernelKill, fact.ShellKilled}, Cause: cause.HostMemory, Weight: cause.Decisive, Figures: hostFigures,
	Headline: "ran out of the RAM that Windows gives it[[: {victim} held {held}]]",
	Means:    "WSL 2 is a virtual machine. By default it has half of the computer's RAM, whatever Windows has free, and a quarter of that as swap. [[The process that was killed held {held}. ]]In Task Manager the virtual machine is VmmemWSL.",
	Not:      "Closing Windows programs: WSL's limit stays the same.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Give WSL more memory", Told: "In %UserProfile%\\.wslconfig (create it if it is missing), then `wsl --shutdown` in PowerShell. Leave 4 to 8 GB of the computer's RAM to Windows; `free -h` inside WSL shows the new size.", Kind: "config", Text: "[wsl2]\nmemory=24GB   # on a PC with 32 GB; put what yours allows\nswap=16GB", Cost: "Less for Windows"},
		{Fix: "lower_num_workers", Title: "Use less memory inside WSL", Told: "Fewer workers or compile jobs (`num_workers=2`, `MAX_JOBS=2`), models in 16 bit or a smaller quantisation.", Cost: "Some speed"},
		{Fix: "close_other_apps", Title: "Check what fills it", Kind: "shell", Text: "free -h; ps -eo pid,rss,args --sort=-rss | head; sudo dmesg | grep -i 'killed process' | tail -3", Cost: "Free"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/windows/wsl/wsl-config"},
}}

// inAI: a Python program, or one that runs models; of others nothing is known.
func inAI(c *ledger.Case) bool {
	return c.In("python") || c.Reader.Language == "python" || ledger.RunsModels(c) || c.Near("DLL load failed", "WinError")
}

var pageFileCards = []cause.Card{{
	ID: "windows/commit-limit", Kinds: []fact.Kind{fact.CommitLimit}, If: inAI, Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "ran out of system memory: RAM plus page file are all committed (error 1455)",
	Means:    "Windows commits memory before it is used, up to RAM plus page file (\"Committed\" in Task Manager); RAM itself may look free. Two things commit a lot: a model file while it is opened (as much as its size), and the CUDA libraries (a few GB in every Python process, so loader workers multiply it). A page file that is off, small, or on a full disk lowers the limit.",
	Not:      "A card with more VRAM: the limit is on RAM plus page file.",
	Cures: []cause.Cure{
		{Fix: "raise_pagefile", Title: "Enlarge the page file", Told: "Windows key, \"View advanced system settings\", Performance: Settings, Advanced, Virtual memory: Change. Untick \"Automatically manage\", custom size on an SSD with room: initial 16384, maximum 65536 MB. Set, OK, restart.", Cost: "Disk space and a restart"},
		{Fix: "close_other_apps", If: cause.LoadsModel, Title: "Close the programs with the largest commit size", Told: "Task Manager, Details, column \"Commit size\" (right-click the column header, Select columns): browsers, another UI, an old python. Or restart Windows.", Cost: "Free"},
		{Fix: "use_smaller_model", If: cause.LoadsModel, Title: "Load a smaller or split model file", Told: "A quantised file (4 bit, fp8), or one that is split into several parts, commits less at a time.", Cost: "Perhaps quality"},
		{Fix: "lower_num_workers", If: func(c *ledger.Case) bool { return !cause.LoadsModel(c) }, Title: "Use fewer worker processes", Told: "`num_workers=0` or 2 (YOLO `workers=0`); in a script with workers keep the start under `if __name__ == \"__main__\":`.", Cost: "Data may come slower"},
		{Fix: "close_other_apps", If: func(c *ledger.Case) bool { return !cause.LoadsModel(c) }, Title: "Close the programs with the largest commit size", Told: "Task Manager, Details, column \"Commit size\" (right-click the column header, Select columns): end what is on top and not needed, such as an old python.", Cost: "Free"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--1300-1699-", "https://learn.microsoft.com/en-us/troubleshoot/windows-client/performance/introduction-to-the-page-file"},
}}

var yarnCards = []cause.Card{{
	ID: "yarn/container", Kinds: []fact.Kind{fact.YARNKill}, Cause: cause.HostMemory, Weight: cause.Decisive, Figures: yarnFigures,
	Headline: "killed the container above its memory limit[[: {used} of {limit}]]",
	Means:    "YARN adds up the container's processes and ends what exceeds its size: executor memory plus overhead (by default a tenth of it, at least 384 MB). Python workers, native libraries, direct buffers and threads have only that overhead.[[ {virtual}]]",
	Not:      "A larger `-Xmx` alone: the container's size stays the same.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", If: virtualLimit, Title: "Switch off the virtual memory check", Kind: "config", Text: "<property><name>yarn.nodemanager.vmem-check-enabled</name><value>false</value></property>", Told: "It counts address space, not RAM. In yarn-site.xml of the nodes (the administrator does it).", Cost: "None"},
		{Fix: "raise_memory_limit", Title: "Raise the memory overhead", Told: "In place of today's value. To keep the container's size, lower `--executor-memory` by as much.[[ {old_name}]]", Steps: yarnSteps, Cost: "Fewer executors at a time, or less heap"},
		{Fix: "lower_num_workers", Title: "Run fewer tasks per executor, on smaller partitions", Told: "`--executor-cores 1` or 2: as many tasks share a container as it has cores. More partitions (`repartition`, `spark.sql.shuffle.partitions`) make each smaller.[[ {task} failed each time: check in the UI whether its partition is far larger than the others (a skewed key).]]", Cost: "Less at a time"},
	},
	Sources: []string{"https://spark.apache.org/docs/latest/configuration.html", "hadoop/hadoop-yarn-project/hadoop-yarn/hadoop-yarn-common/src/main/resources/yarn-default.xml"},
}}

// virtualLimit: it was address space that went above the limit, not RAM. YARN's
// NodeManager states both and says before them which (ContainersMonitorImpl.java).
func virtualLimit(c *ledger.Case) bool {
	return c.Contains("virtual memory") && !c.Contains("beyond physical memory") && !c.Contains("exceeding physical memory") && !c.Contains("'physical' memory")
}

func yarnFigures(c *ledger.Case) map[string]string {
	out := hostFigures(c)
	out["virtual"], out["task"], out["old_name"] = "", "", ""
	if f := c.F(); f.ProcessUsed != nil {
		out["used"] = f.ProcessUsed.String()
	}
	if virtualLimit(c) {
		out["virtual"] = "Here it was virtual memory: address space, not RAM."
	}
	if number := after(c, "aborted due to stage failure: Task "); number != "" && c.Contains("failed 4 times") {
		out["task"] = "task " + number
	}
	if c.Contains("spark.yarn.executor.memoryoverhead") {
		out["old_name"] = "In Spark 2.3 and later the option is `spark.executor.memoryOverhead`."
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
