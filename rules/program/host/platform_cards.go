package host

import (
	"regexp"
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/when"
)

// plainWords are messages that only say that memory was short.
var plainWords = []fact.Kind{fact.PlainMemory, fact.PlainHost}

// said asks a card for words of the message as well.
func said(words []string, cards []cause.Card) []cause.Card {
	cards[0].Said = words
	return cards
}

// unread leaves the word to the library where the log ends in its reading weights.
func unread(cards []cause.Card) []cause.Card {
	cards[0].Unsaid = []string{"Loading checkpoint shards"}
	return cards
}

// gunicornCards: readGunicorn has left out workers that gunicorn itself ended for
// not answering (gunicorn/arbiter.py, murder_workers).
var gunicornCards = unread(limit("gunicorn/killed", []fact.Kind{fact.ShellKilled}, cause.Strong,
	"lost a worker to signal 9 (SIGKILL), most likely for RAM",
	"Somebody else ended the worker: most likely the kernel, because RAM or the container's limit was full. Each worker is a process with its own copy of all that it loads: a model of 2 GB in 4 workers is 8 GB. If a line \"WORKER TIMEOUT\" with the same pid stands before this one, gunicorn did it itself: then raise `--timeout`.",
	"`--timeout` where no WORKER TIMEOUT stands before it.", "gunicorn/arbiter.py",
	cause.Cure{Fix: "lower_num_workers", Title: "Run one worker with threads: `--workers 1 --threads 4`", Told: "In place of today's `--workers` (`-w`, WEB_CONCURRENCY, or `workers` in gunicorn.conf.py): threads share one copy. With one worker still killed, what it loads is larger than the memory.", Cost: "Fewer requests at once"},
	cause.Cure{Fix: "use_mmap", Title: "Load before the fork: `--preload`", Told: "The workers then share pages that nobody writes to. Not for a model on a card: CUDA does not survive a fork.", Cost: "No reload of single workers"},
	cause.Cure{Fix: "raise_memory_limit", Title: "Raise the container's limit, or add RAM", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'killed process|oom-kill' | tail -4", Told: "The kernel's line says how much the worker held, and whether a limit (\"Memory cgroup\") or the machine was full. If it fails only after hours, memory grows: `--max-requests 1000 --max-requests-jitter 100`.", Cost: "Free to look"}))

// joblibCards: joblib/externals/loky/process_executor.py lists the exit codes.
var joblibCards = said([]string{"TerminatedWorkerError", "A worker process managed by the executor was unexpectedly terminated"}, limit("joblib/killed", nil, cause.Strong,
	"lost a worker process, most likely because RAM ran out",
	"joblib names both reasons that a worker can vanish; SIGKILL(-9) at the end of its message means that the system ended it, a SIGSEGV that it crashed (it then also fails with `n_jobs=1`). Each worker is a process: what it is given, but for large NumPy arrays, and what it makes is there once per job, and `n_jobs=-1` starts one for every core.",
	"A longer `timeout`, or graphics card settings.", "https://joblib.readthedocs.io/en/stable/parallel.html",
	cause.Cure{Fix: "lower_num_workers", Title: "Run fewer jobs at once (n_jobs)", Told: "`n_jobs=2` in that call (scikit-learn: of the search or of the model, not of both), then as many as RAM holds. `n_jobs=1` shows what one needs.", Kind: "python", Text: "results = Parallel(n_jobs=2, pre_dispatch=\"n_jobs\")(tasks)   # tasks: as in your call; GridSearchCV takes both as well", Cost: "Time"},
	cause.Cure{Fix: "stream_dataset", Title: "Pass NumPy arrays, and return less", Told: "Arrays above 1 MB are shared, DataFrames and lists copied to each worker: `X.to_numpy(\"float32\")`, or pass a path and read there. Write large results to files. In Docker with a small /dev/shm: `JOBLIB_TEMP_FOLDER=/tmp`.", Cost: "Some rewriting"},
	cause.Cure{Fix: "lower_parallel", Title: "Use threads, which share memory", Told: "`Parallel(n_jobs=4, prefer=\"threads\")`: fast where the work is NumPy's or another library's that releases the GIL.", Cost: "Pure Python gets slower"}))

var sageMakerCards = limit("sagemaker/killed", []fact.Kind{fact.ShellKilled, fact.ContainerKill}, cause.Strong,
	"ended the job with exit code 137: most likely the instance's RAM was full",
	"137 is signal 9, which the system sends when RAM is full. It is the instance's system memory: a full card raises an error of its own. Every data loader worker and every rank is a process with a copy, and models pass through RAM when they load. CloudWatch shows it: MemoryUtilization near 100.",
	"More GPU memory: a full card raises a CUDA error.", "https://docs.aws.amazon.com/sagemaker/latest/dg/training-metrics.html",
	cause.Cure{Fix: "raise_memory_limit", Title: "Choose the next instance size", Told: "With the same card: `ml.g5.xlarge` has 16 GiB of RAM, `ml.g5.2xlarge` 32, `ml.g5.4xlarge` 64 (`instance_type=` of the estimator).", Cost: "Money"},
	cause.Cure{Fix: "lower_num_workers", Title: "Use fewer data loader workers", Told: "`num_workers=2`, `dataloader_num_workers` of the Trainer, `num_proc=1` in `map`.", Cost: "The card may wait for data"},
	cause.Cure{Fix: "stream_dataset", Title: "Keep the data out of RAM", Told: "`input_mode=\"FastFile\"` streams from S3; read samples as they are needed, and load models in 16 bit from safetensors.", Cost: "Some rewriting"})

// hostedModel is what an app with a model does first where it is hosted.
var hostedModel = cause.Cure{Fix: "half_precision", Title: "Load the model in 16 bit, or a smaller one", Told: "`from_pretrained(..., torch_dtype=torch.bfloat16)`: 32 bit needs 4 GB for each billion parameters, 16 bit 2. With safetensors RAM holds little more than the model. Load it once for all users, not per request.", Cost: "Hardly any quality"}

var spaceCards = []cause.Card{{
	ID: "hf-spaces/memory", Kinds: plainWords, Said: []string{"Memory limit exceeded ("},
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "ended the app: it used more RAM than its hardware has",
	Means:    "The number in brackets is the RAM of the Space's hardware (16 GB on the free CPU), not the card's memory. It is usually reached while a model loads: in 32 bit, or twice for a moment when a .bin is read and then converted.",
	Not:      "A restart alone: it loads the same again.",
	Cures: []cause.Cure{
		hostedModel,
		{Fix: "raise_memory_limit", Title: "Choose hardware with more RAM", Told: "Settings, Space hardware: each entry states its RAM. A Space of somebody else: duplicate it, then choose.", Cost: "Paid by the hour"},
		{Fix: "stream_dataset", Title: "Load models one at a time", Told: "Several in one app: load each when it is used, and delete it after (`del pipe; gc.collect()`). Read tables and indexes from disk (memory-mapped) instead of into lists.", Cost: "Slower first request"},
	},
	Sources: []string{"https://huggingface.co/docs/hub/spaces-overview", "https://huggingface.co/spaces/Kunbyte/DRA-Ctrl/discussions/2"},
}}

var streamlitCards = []cause.Card{{
	ID: "streamlit-cloud/resources", Kinds: plainWords, Said: []string{"gone over its resource limits"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "stopped the app: it is over the limits of the free Community Cloud",
	Means:    "Nearly always that is RAM (the cloud grants a few GB at most): a model or table that is loaded again in each session or rerun, a cache that grows, or PyTorch with a model. The page does not say which limit it was; \"Manage app\" shows the log.",
	Not:      "A reboot of the app alone: it fills again.",
	Cures: []cause.Cure{
		{Fix: "detach_accumulated", Title: "Load once, and bound the caches", Told: "`@st.cache_resource` above the function that loads a model, `@st.cache_data(ttl=3600, max_entries=10)` above one that loads a table: all sessions then share one copy.", Cost: "Some lines of code"},
		{Fix: "use_smaller_model", Title: "Use a smaller model, or a hosted one", Told: "Quantised ONNX instead of PyTorch, or an inference API; read only the columns that are shown (`usecols=`, Parquet).", Cost: "Quality, or money"},
		{Fix: "raise_memory_limit", Title: "Run it where there is more RAM", Told: "A Hugging Face Space has 16 GB for free, a virtual machine what you rent.", Cost: "A move"},
	},
	Sources: []string{"https://docs.streamlit.io/develop/concepts/architecture/caching", "https://docs.streamlit.io/deploy/streamlit-community-cloud/manage-your-app"},
}}

var hostedCards = []cause.Card{{
	ID: "render/memory", Kinds: plainWords, Said: []string{"Ran out of memory (used over"},
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "restarted the service: it used more RAM than its instance type has",
	Means:    "The number in the line is the instance's RAM, and all processes of the service share it. 512 MB hold no PyTorch with a model: importing torch alone takes a few hundred MB.",
	Not:      "Swap: an instance has none.",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", Title: "Run one worker", Told: "Set WEB_CONCURRENCY to 1 (Environment), or `--workers 1` in the start command: each worker holds its own copy.", Cost: "Fewer requests at once"},
		{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "Use a smaller model without PyTorch", Told: "ONNX Runtime or a GGUF file of a small model, or call a hosted API.", Cost: "Quality, or money"},
		{Fix: "raise_memory_limit", Title: "Choose a larger instance type", Told: "Settings, Instance Type: with at least twice the number in the line.", Cost: "Money"},
		{Fix: "detach_accumulated", Title: "If it comes back after hours, look for growth", Told: "The Metrics page shows memory: a jump at a request is one large file or query, a steady climb is a cache or a leak.", Cost: "Free"},
	},
	Sources: []string{"https://render.com/docs/troubleshooting-deploys", "https://render.com/pricing"},
}}

// commitWays is how Windows' limit is raised.
const commitWays = "Win+R, `SystemPropertiesAdvanced`, Performance: Settings, Advanced, Virtual memory: Change. Untick \"Automatically manage\", choose an SSD with room, Custom size, initial 16384, maximum 65536 MB, Set, OK, restart."

// windowsCards: codes and events of Windows itself that mean the commit limit:
// STATUS_NO_MEMORY, STATUS_COMMITMENT_LIMIT (ntstatus.h), Resource-Exhaustion-
// Detector's event 2004.
var windowsCards = []cause.Card{{
	ID: "windows/virtual-memory", Kinds: append(slices.Clone(plainWords), fact.PlainDevice), Said: []string{"diagnosed a low virtual memory condition", "low on virtual memory", "Out of Virtual Memory", "0xC0000017", "0xC000012D", "WinError 8]"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Figures: commitFigures,
	Headline: "ran out of virtual memory: RAM plus page file are all committed",
	Means:    "Windows promises programs at most RAM plus page file (\"Committed\" in Task Manager), and counts what is reserved even if it is never used: RAM may look free. {names}",
	Not:      "Graphics card settings: it is system memory.",
	Cures: []cause.Cure{
		{Fix: "restart_session", If: topProgram, Title: "Restart {top}, and watch it", Told: "That gives its memory back. If its \"Commit size\" (Task Manager, Details) then grows all day with the same work, it leaks: update it, or go back to the version before that began.", Cost: "What is open in it"},
		{Fix: "raise_pagefile", Title: "Enlarge the page file", Told: commitWays, Cost: "Disk space and a restart"},
		{Fix: "close_other_apps", If: when.Not(topProgram), Title: "Close what has committed most", Told: "Task Manager, Details, column \"Commit size\" (right-click the header, Select columns). A number that grows all day belongs to a program that leaks: restart or update that one.", Cost: "Free"},
		{Fix: "upgrade_version", If: topProgram, Title: "Update {top}", Told: "A page file only postpones what keeps growing. Look for a known leak of this version, and report these events.", Cost: "Some minutes"},
		{Fix: "use_smaller_model", If: when.All(ledger.RunsModels, when.Not(topProgram)), Title: "Load a smaller or more quantised model", Told: "Its file has to fit beside what is committed already.", Cost: "Some quality"},
		{Fix: "lower_num_workers", If: when.Not(when.Any(ledger.RunsModels, topProgram)), Title: "Run fewer processes, or smaller inputs", Told: "Each Python process with PyTorch commits a few GB for CUDA's libraries alone.", Cost: "Time"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/openspecs/windows_protocols/ms-erref/596a1078-e883-4972-9bbc-49e60bebca55", "https://learn.microsoft.com/en-us/troubleshoot/windows-client/performance/introduction-to-the-page-file"},
}}

var wslStartCards = []cause.Card{{
	ID: "wsl/start", Kinds: append(slices.Clone(plainWords), fact.PlainDevice), Said: []string{"Wsl/Service"},
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "did not start: Windows could not give its virtual machine the memory",
	Means:    "WSL 2 is a virtual machine, and Windows was refused memory when it made it. So it is Windows' own memory that was short: RAM, or RAM plus page file (\"Committed\" in Task Manager), not what Linux has inside.",
	Not:      "A larger `memory=` in .wslconfig: Windows would have to give even more.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", Title: "End a WSL that hangs, and close large programs", Told: "`wsl --shutdown` in PowerShell; then see Task Manager, Memory, and start WSL again.", Cost: "What runs in WSL ends"},
		{Fix: "raise_memory_limit", Title: "Let WSL take less", Told: "In %UserProfile%\\.wslconfig, about half of the computer's RAM at most; then `wsl --shutdown`.", Kind: "config", Text: "[wsl2]\nmemory=8GB   # half of your RAM", Cost: "Less inside WSL"},
		{Fix: "raise_pagefile", Title: "Enlarge the page file", Told: commitWays, Cost: "Disk space and a restart"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/windows/wsl/wsl-config"},
}}

// macFullCards: what macOS says when RAM and swap are used up, and its reports of
// processes that it ended for memory.
var macFullCards = []cause.Card{
	{
		ID: "macos/report", Kinds: []fact.Kind{fact.AppleKill}, Said: []string{"rpages", "largestProcess", "vm-pageshortage"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ended a process for memory (a jetsam report)",
		Means:    "The report lists all processes; the one that was ended has a \"reason\". \"per-process-limit\": it reached its own limit, whatever was free. \"vm-pageshortage\" or \"highwater\": the device was short, and it was next. What it held is \"rpages\" times the page size (16 KiB on Apple silicon).",
		Not:      "Closing other apps where the reason is per-process-limit.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "Use a smaller model or a shorter context", Told: "On phones 1 to 3 billion parameters in 4 bit: weights, context and the app have to stay below about half of RAM.", Cost: "Some quality"},
			{Fix: "stream_dataset", If: when.Not(ledger.RunsModels), Title: "Find what it holds with Instruments", Told: "Allocations, and Xcode's memory gauge: a jump is one large load (an image at full size), a climb is something that is kept.", Cost: "Some rewriting"},
			{Fix: "raise_memory_limit", Title: "On iOS, request the larger limit", Told: "The entitlement `com.apple.developer.kernel.increased-memory-limit`, for per-process-limit.", Cost: "Some devices ignore it"},
			{Fix: "close_other_apps", Title: "If the device was short, close other apps", Told: "And restart it: the report's \"free\" pages show how little was left.", Cost: "Free"},
		},
		Sources: []string{"https://developer.apple.com/documentation/xcode/identifying-high-memory-use-with-jetsam-event-reports"},
	},
	{
		ID: "macos/application-memory", Kinds: plainWords, Said: []string{"out of application memory"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of memory for apps: RAM is full, and swap cannot grow",
		Means:    "macOS puts what does not fit into RAM into swap files on the disk. The message comes when those cannot grow any more: the startup disk is nearly full, or one program has grown to many times the RAM. On Apple silicon models on the GPU are in the same RAM.",
		Not:      "Swap settings: macOS makes swap by itself while the disk has room.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Quit the largest program", Told: "The window of the message lists sizes; Activity Monitor, Memory, too. A size far above the RAM is a leak: update that program.", Cost: "Free"},
			{Fix: "restart_session", If: when.Not(ledger.RunsModels), Title: "If it comes back, find what grows", Told: "Look at Activity Monitor's Memory column after an hour and after a day; quit and update what climbs.", Cost: "Free"},
			{Fix: "free_disk", Title: "Free disk space for swap", Told: "20 GB or more: System Settings, General, Storage. Then restart, which empties swap.", Cost: "Free"},
			{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "Use a smaller or more quantised model", Told: "At most two thirds of RAM with its context: a 4-bit file is about 0.6 GB per billion parameters.", Cost: "Some quality"},
		},
		Sources: []string{"https://support.apple.com/guide/activity-monitor/view-memory-usage-actmntr1004/mac"},
	},
}

// gridCards: Sun Grid Engine and its successors count h_vmem for each slot, of
// all processes of the job together (queue_conf(5)).
var gridCards = []cause.Card{{
	ID: "sge/limit", Kinds: queue, Said: []string{"h_vmem", "s_vmem", "h_rss", "s_rss"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Figures: gridFigures,
	Headline: "ended the job at its memory limit[[{figures}]]",
	Means:    "The limit (`h_vmem`, or the queue's default) is for each slot, and all processes of the job count together. It counts address space (virtual memory), which can be more than the RAM in use: threads, Java and CUDA reserve much that they never touch. The node may have had more.",
	Cures: []cause.Cure{
		gridSpace,
		{Fix: "raise_memory_limit", Title: "Request more memory[[: {wanted}]]", Told: "[[{wanted} is {basis}, in all. ]][[It had reached {reached}: ask for more than that in all. ]]With a parallel environment (`-pe smp 4`) the number is for one slot: divide it by the slots.", Steps: more("shell", "G", "#$ -l h_vmem=MEM   # in the job script; or behind qsub: -l h_vmem=MEM"), Cost: "Perhaps a longer wait in the queue"},
		gridArena, lessMemory, lessPython, grows,
	},
	Sources: []string{"https://manpages.ubuntu.com/manpages/bionic/en/man5/sge_queue_conf.5.html", "gridengine/source/daemons/execd/execd_ck_to_do.c"},
}, {
	ID: "sge/killed", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"died through signal KILL"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "ended the job with signal 9 (KILL), most likely at its memory limit",
	Means:    "Grid Engine sends KILL at a hard limit: memory (`h_vmem`) or time (`h_rt`); the kernel sends it when the node is full. The mail's \"Max vmem\", or `maxvmem` of qacct, tells: close to the limit times the slots, it was memory.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Compare use and limit, and request twice as much", Told: "`qacct -j JOB` (its number): `maxvmem` is what it used, `category` what was asked for. Then `qsub -l h_vmem=32G`, with twice `maxvmem`, divided by the slots, in place of 32G.", Cost: "Perhaps a longer wait"},
		lessMemory, lessPython, grows,
	},
	Sources: []string{"https://manpages.ubuntu.com/manpages/bionic/en/man5/sge_queue_conf.5.html", "gridengine/source/daemons/qmaster/job_exit.c"},
}}

// jetsonCards: NvMap is the allocator of the GPU's memory on a Jetson, where both
// share the board's RAM; error 12 is ENOMEM.
var jetsonCards = []cause.Card{{
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

// tensorflowKilled: TensorFlow had remarked on large pieces of RAM before.
var tensorflowKilled = cause.Card{
	ID: "linux/killed-tensorflow", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"of free system memory", "exceeds 10% of system memory"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "killed the program, most likely for RAM: TensorFlow had just asked for large pieces of it",
	Means:    "TensorFlow remarks on each piece that is more than a tenth of the RAM (\"Allocation of ... exceeds 10%\"); a few of these fill it. Such a piece is usually the whole data set as one tensor (`from_tensor_slices`, `fit` with arrays), or a layer's result where it runs on the CPU: the number is its bytes. " + bareKill + otherKills,
	Not:      "GPU settings such as memory growth: this is RAM.",
	Cures: []cause.Cure{
		{Fix: "stream_dataset", Title: "If it comes before the first step: feed the data in batches", Told: "`tf.keras.utils.image_dataset_from_directory`, `tf.data.Dataset.from_generator` or TFRecords read as they go; no `.cache()` without a file name, and a smaller `shuffle` buffer.", Cost: "Some rewriting"},
		{Fix: "lower_batch_size", Title: "If it comes in a step: lower the batch size or the image size", Told: "Half the batch is half of these pieces.", Cost: "Slower"},
		askKernel,
	},
	Sources: []string{"tensorflow/core/framework/cpu_allocator_impl.cc", "https://www.tensorflow.org/guide/data"},
}

// committer is the program that heads the list of Windows' event.
var committer = regexp.MustCompile(`virtual\s+memory:\s+(\S[^()]{0,60}?) \(\d+\)`)

// topProgram: one program holds far more than any other on the list: it is named.
func topProgram(c *ledger.Case) bool { return commitFigures(c)["top"] != "" }

func commitFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"top": "", "names": "Event 2004 (Event Viewer, System, Resource-Exhaustion-Detector) names the three programs that had committed most, in bytes."}
	if ledger.RunsModels(c) {
		out["names"] = "A model commits about its file's size while it loads. " + out["names"]
	}
	x, ok := c.Fact("commit_top")
	m := committer.FindStringSubmatch(x.Text)
	if !ok || m == nil || x.Size == nil {
		return out
	}
	least, most := x.Size.Bytes, x.Size.Bytes
	for _, other := range c.Facts.Facts {
		if n := committer.FindStringSubmatch(other.Text); other.Name == "commit_top" && other.Size != nil && n != nil && n[1] == m[1] {
			least, most = min(least, other.Size.Bytes), max(most, other.Size.Bytes)
		}
	}
	out["top"] = quote.Told(m[1])
	out["names"] = out["top"] + " heads the list of this event, with " + units.Amount(most) + " committed."
	if most-least > 8*units.MiB {
		out["names"] += " Between the events here that figure changed by " + units.Amount(most-least) + ": if the later ones are the larger, it grows."
	}
	return out
}
