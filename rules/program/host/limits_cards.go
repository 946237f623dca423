package host

import (
	"fmt"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var queue = []fact.Kind{fact.SlurmKill}

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
		ID: "docker/oom-killed", Kinds: []fact.Kind{fact.ContainerKill}, Cause: cause.HostMemory, Weight: cause.Decisive, Figures: gpuFigures,
		Headline: "says OOMKilled: the container ran out of RAM",
		Means:    "The kernel ended a process of the container because RAM ran out[[, not the memory of {gpu}]]. If the container has a `--memory` limit, it reached that; otherwise Docker Desktop's virtual machine (half of RAM or less by default) or the whole host was full. All processes of the container count together, and so do files in /dev/shm and tmpfs.",
		Not:      "[[Settings of {gpu}: this is system memory (RAM).]]",
		Cures:    []cause.Cure{dockerRaise, dockerLess, whoKilled}, Sources: []string{"moby/daemon/monitor.go", "https://docs.docker.com/engine/containers/resource_constraints/", "https://docs.docker.com/reference/cli/docker/container/update/"},
	},
	{
		ID: "docker/exited-137", Kinds: []fact.Kind{fact.ShellKilled}, Cause: cause.HostMemory, Weight: cause.Strong, Figures: gpuFigures,
		Headline: "stopped with 137: killed, most likely for RAM",
		Means:    "137 means signal 9: usually RAM ran out in the container's own limit, Docker Desktop's virtual machine, or the host. A `docker stop` that timed out, a health check or an orchestrator sends the same signal. `docker inspect` below prints true or false for OOMKilled; false does not rule it out, because a killed child process may not count.",
		Not:      "[[Settings of {gpu}: a full card raises an error instead.]]",
		Cures:    []cause.Cure{dockerRaise, whoKilled, dockerLess}, Sources: []string{"moby/daemon/monitor.go", "https://docs.docker.com/engine/containers/resource_constraints/", "https://docs.docker.com/reference/cli/docker/container/stop/"},
	},
}

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

// How Windows' limit is raised, and who shares it.
var (
	morePages = cause.Cure{Fix: "raise_pagefile", Title: "Enlarge the page file", Told: "Windows key, \"View advanced system settings\", Performance: Settings, Advanced, Virtual memory: Change. Untick \"Automatically manage\", custom size on an SSD with room: initial 16384, maximum 65536 MB. Set, OK, restart.", Cost: "Disk space and a restart"}
	mostPages = cause.Cure{Fix: "close_other_apps", Title: "Close the programs with the largest commit size", Told: "Task Manager, Details, column \"Commit size\" (right-click the column header, Select columns): end what is on top and not needed, such as an old python.", Cost: "Free"}
)

var pageFileCards = []cause.Card{{
	ID: "windows/commit-spawned", Kinds: []fact.Kind{fact.CommitLimit}, Said: []string{"multiprocessing/spawn.py"}, If: inAI, Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "ran out of system memory: its worker processes committed RAM plus page file (error 1455)",
	Means:    "The traceback is that of a process which another Python process started (`multiprocessing/spawn.py`). Each of them loads the libraries anew, and with PyTorch's CUDA files commits a few GB before it does anything; Windows grants all processes together no more than RAM plus page file.",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", Title: "Start fewer processes", Told: "A tool: its own option for processes, workers or threads, at 1 (often `-n 1` or `--workers 1`). Your own script: `num_workers=0` or `Pool(2)`, and the start under `if __name__ == \"__main__\":`.", Cost: "Time"},
		morePages, mostPages,
	},
	Sources: []string{"cpython/Lib/multiprocessing/spawn.py", "https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--1300-1699-"},
}, {
	ID: "windows/commit-limit", Kinds: []fact.Kind{fact.CommitLimit}, If: inAI, Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "ran out of system memory: RAM plus page file are all committed (error 1455)",
	Means:    "Windows commits memory before it is used, up to RAM plus page file (\"Committed\" in Task Manager); RAM itself may look free. Two things commit a lot: a model file while it is opened (as much as its size), and the CUDA libraries (a few GB in every Python process, so loader workers multiply it). A page file that is off, small, or on a full disk lowers the limit.",
	Not:      "A card with more VRAM: the limit is on RAM plus page file.",
	Cures: []cause.Cure{
		morePages,
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
