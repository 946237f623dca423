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
	Not:      "[[Settings of {gpu}: it is system memory.]]",
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
	Not:      "Submitting it again unchanged: it reaches the same limit.",
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
	out := map[string]string{"top": "", "gpu": graphics(c), "names": "Event 2004 (Event Viewer, System, Resource-Exhaustion-Detector) names the three programs that had committed most, in bytes."}
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
