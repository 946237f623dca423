package rest

import (
	"slices"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/local"
	"github.com/oomdoc/oomdoc/rules/when"
)

// cards say what holds whatever the cause turns out to be, the narrowest first.
var cards = slices.Concat(sizeCards, cardCards, ramCards)

// sizeCards are about what was asked for: no size, or too large a piece.
var sizeCards = []cause.Card{
	{
		ID: "rest/address", If: address,
		Headline: "asked for {asked}: the number looks like an address, not a size",
		Means:    "{asked} is {hex}, which looks like an address of a 64-bit process. Most likely a pointer or uninitialised memory was read as a size: after an earlier allocation failed, because threads share an object, or by a bug. Errors before this one show whether memory was short as well.",
		Not:      "More RAM, swap or a larger card: nothing has {asked}.",
		Figures:  addressFigures,
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Run one thread, one job at a time", Told: "Set the number of threads or workers to 1; in your own code use one session or handle per thread.", Cost: "slower"},
			{Fix: "restart_session", Title: "Look for the first error in the log", Told: "If an earlier \"failed to allocate\" has a size of some MB or GB, solve that one; this error may only follow from it.", Cost: "free"},
			{Fix: "upgrade_version", Title: "Try another version", Told: "The newest release of the library, or the one before. Report it with this number.", Cost: "some minutes"},
		},
		Sources: []string{"https://www.kernel.org/doc/html/latest/arch/x86/x86_64/mm.html"},
	},
	{
		ID: "rest/wrong-size", If: when.All(local.Unsized, when.Not(noSize)),
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for an impossible amount of memory",
		Means:    "The number in the message is no size: below zero, or more than any machine has. Usually a length became negative or overflowed 32 bits, a file is damaged, or two libraries do not fit each other. Memory is most likely not short.",
		Not:      "More memory, swap, or closing programs.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Update or reinstall the program or library", Told: "The newest release, or the one before. If the error stays, report it with this number and the smallest input that shows it.", Cost: "some minutes"},
			{Fix: "fix_shape", Title: "Try a small input that is known to be good", Told: "If it runs, the other input is damaged, empty or too large in one dimension: download or make it again. If it fails too, it is a bug.", Cost: "some minutes"},
			{Fix: "lower_batch_size", Title: "Halve the batch, length or image size", Told: "It may be an overflow: counts past 2^31 (2,147,483,648) do not fit into 32 bits.", Cost: "slower"},
		},
		Sources: []string{"https://en.cppreference.com/w/cpp/language/implicit_conversion"},
	},
	{
		ID: "rest/no-size", If: noSize,
		Headline: "asked for an impossible amount of memory",
		Means:    "No machine has that much. Usually a length became negative or overflowed 32 bits, a file is damaged, or two libraries do not fit each other. Memory is most likely not short.",
		Not:      "More memory, swap, or closing programs.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Update or reinstall the program or library", Told: "The newest release, or the one before. If the error stays, report it with this number and the smallest input that shows it.", Cost: "some minutes"},
			{Fix: "fix_shape", Title: "Try a small input that is known to be good", Told: "If it runs, the other input is damaged, empty or too large in one dimension: download or make it again. If it fails too, it is a bug.", Cost: "some minutes"},
			{Fix: "lower_batch_size", If: model, Title: "Halve the batch, length or image size", Told: "It may be an overflow: counts past 2^31 (2,147,483,648) do not fit into 32 bits.", Cost: "slower"},
		},
		Sources: []string{"https://en.cppreference.com/w/cpp/language/implicit_conversion"},
	},
	{
		ID: "rest/one-piece-served", If: when.All(onePiece, func(c *ledger.Case) bool { return c.Reader.Work == "text-inference" && byUse(c) }),
		Headline: "asked for {asked} in one piece",
		Means:    "No weight is that large: it is the working memory of one step, which grows with the tokens that it takes at once (context length, requests side by side, size of a prefill).[[ Only {free} was free beside what the server had reserved.]]",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Lower the largest context length", Told: "Half of its present value, and again if need be.", Cost: "longer texts are refused"},
			{Fix: "lower_max_num_seqs", Title: "Take fewer requests at once", Told: "Half of the present value, then a quarter.", Cost: "fewer at a time"},
			{Fix: "lower_gpu_memory_utilization", Title: "Reserve less of the card for the KV cache", Told: "So that a step has more room beside it.", Cost: "a smaller cache"},
		},
		Sources: []string{cudaMalloc},
	},
	{
		ID: "rest/one-piece", If: onePiece, Figures: onset,
		Headline: "asked for {asked} in one piece",
		Means:    "A single array of {asked} is rarely intended. Usually it holds all pairs of something (positions, rows, boxes), or all the data at once.[[ It was refused with {free} free.]] If a small input runs, the input is too large; if that fails too, a shape is computed wrongly.",
		Not:      "Closing other programs, or a little more memory.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", If: byCode, Title: "Print the array's shape before that step", Told: "Its dimensions multiplied, times 4 bytes (32 bit), give {asked}: look for the one that you did not expect.", Cost: "free"},
			lessWork,
			{Fix: "lower_resolution", If: when.Not((*ledger.Case).Training), Title: "Use a smaller input", Ways: []cause.Way{
				{For: fix.Pictures, Text: "scale it down first: half the width and height is a quarter of the pixels, and a sixteenth of all pairs of them."},
				{For: "Text or sound", Text: "cut it into pieces; attention can grow with the square of the length."},
				{For: "Tables", Text: "joins multiply rows where keys repeat on both sides; 32-bit numbers take half of 64."},
			}, Cost: "detail"},
		},
		Sources: []string{overcommit, cudaMalloc},
	},
}

func addressFigures(c *ledger.Case) map[string]string {
	return map[string]string{"hex": "0x" + strconv.FormatInt(ledger.Requested(c), 16)}
}

// cardCards are about a graphics card.
var cardCards = []cause.Card{
	{
		ID: "rest/card-load", If: when.All(onCard, when.In("load")), Figures: onset,
		Headline: "ran out of graphics memory while it loaded a model",
		Means:    "[[{asked} was refused. ]][[{free} of {total} was free. ]]No input was read yet: either the model is too large for the card, or something was on it before (another model, another program, an earlier run).",
		Not:      "A shorter input or a smaller batch: it failed before any input.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", If: when.Not(fullBefore), Title: "Load the model in fewer bits, or a smaller one", Told: "The size of its file and 1 to 2 GB more have to fit. 8 bit is half of 16, 4 bit a quarter, where the program offers them.", Cost: "some quality"},
			lookCard, lookAny, lookMac, lookShared,
			{Fix: "cpu_offload", Title: "Keep part of the model in RAM, or run it on the CPU", Told: "If the program has an option for it (offload, low VRAM, layers on the card, device).", Cost: "slower"},
		},
		Sources: []string{cudaMalloc},
	},
	{
		ID: "rest/card-training", If: when.All(onCard, (*ledger.Case).Training), Figures: onset,
		Means: "[[{crumb} ]][[{free} of {total} was free. ]]Training keeps the activations of every layer for the backward pass: usually most of the memory, beside weights, gradients and optimizer state. If batch size 1 runs, it was the batch.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size", Told: "{less}", Cost: "slower"},
			lookCard, lookAny, lookMac, lookShared,
			{Fix: "lower_resolution", Title: "Use smaller samples", Told: "Half the width and height of images keeps a quarter of the activations, half the length about half.", Cost: "detail"},
		},
		Sources: []string{cudaMalloc},
	},
	{
		ID: "rest/card-tables", If: when.All(onCard, when.Not(model)), Figures: onset,
		Means: "[[{crumb} ]][[{free} of {total} was free. ]][[{when}]]",
		Cures: []cause.Cure{
			lookFirst, lookFirstAny, lessWork, lookCard, lookAny, lookMac, lookShared, kept,
			{Fix: "cpu_offload", If: byUse, Title: "Run it on the CPU", Told: "If the program has an option for it; RAM is usually larger.", Cost: "slower"},
		},
		Sources: []string{cudaMalloc},
	},
	{
		ID: "rest/card", If: onCard, Figures: onset,
		Means: "[[{crumb} ]][[{free} of {total} was free. ]][[{when}]]",
		Cures: []cause.Cure{
			lookFirst, lookFirstAny, lessWork, lookCard, lookAny, lookMac, lookShared, kept,
			{Fix: "use_lower_quant", If: model, Title: "If that is not enough: a smaller model, or one in fewer bits", Told: "8 bit is half of 16, 4 bit a quarter.", Cost: "some quality"},
		},
		Sources: []string{cudaMalloc},
	},
}

// lessWork is the same work in smaller pieces, by who does it.
var lessWork = cause.Cure{Fix: "lower_batch_size", Title: "Do less at a time", Told: "{less}", Cost: "slower, or less detail"}

// kept is for programs that had worked before.
var kept = cause.Cure{Fix: "restart_session", If: after, Title: "Restart it, and watch whether memory climbs", Cost: "free",
	Told: "If it climbs from input to input, something is kept: in your own code copy results to RAM and free them; of another program a newer version may have mended it."}

// ramCards are about system memory, and what nothing is known of.
var ramCards = []cause.Card{
	{
		ID: "rest/commit", Kinds: []fact.Kind{fact.CommitLimit},
		Means: "Windows error 1455: all programs together have committed as much as RAM and page file can hold, even if RAM looks free. This program only asked next; it need not hold the most.",
		Cures: []cause.Cure{
			windowsRAM, windowsLook,
			{Fix: "lower_num_workers", Title: "Run fewer jobs, threads or workers at once", Told: "Each commits memory of its own.", Cost: "slower"},
		},
		Sources: []string{"https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--1300-1699-", "https://learn.microsoft.com/en-us/windows/win32/memory/working-set"},
	},
	{
		ID: "rest/pod-error", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"Reason: Error", `"reason": "Error"`}, Unsaid: []string{"OOMKilled"}, If: podded,
		Cause: cause.HostMemory, Weight: cause.Likely, Headline: "reports a container that got signal 9 (137), with the reason Error, not OOMKilled",
		Means: "A kill at the container's own memory limit would read OOMKilled, so that limit is most likely not the reason. What else sends signal 9: the kubelet after a failed liveness or startup probe, or when a stop took longer than its grace period; and the kernel, where the node itself was out of RAM.",
		Not:   "A larger memory limit, unless the node's kernel log names this container.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Read who sent it", Told: "The events name a failed probe or an eviction; they are kept for an hour by default. On the node, as root: `dmesg -T | grep -iE 'oom|killed process'`.", Kind: "shell", Text: "kubectl get events --all-namespaces --sort-by=.lastTimestamp | grep -iE 'unhealthy|killing|evict'\nkubectl logs POD --previous", Cost: "free"},
			{Fix: "upgrade_version", Title: "If a probe failed: give it more time", Told: "A `startupProbe` (`failureThreshold: 60`, `periodSeconds: 10`) for a slow start; a longer `timeoutSeconds` where it starts a shell or script (1 second by default), as one does that fails with ExecSync in the node's log.", Cost: "a hung container is found later"},
			{Fix: "close_other_apps", Title: "If the node was out of RAM: request what the pods use", Told: "`kubectl top node; kubectl top pod --all-namespaces` shows it. With `resources.requests.memory` as large as the use, the scheduler does not fill the node further than it goes.", Cost: "fewer pods on each node"},
		},
		Sources: []string{"containerd/internal/cri/server/helpers.go", "https://github.com/kubernetes/kubernetes/issues/122256", "https://github.com/kubernetes/kubernetes/issues/125639", "https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/"},
	},
	{
		ID: "rest/pod", Kinds: []fact.Kind{fact.ShellKilled}, If: podded,
		Cause: cause.HostMemory, Weight: cause.Likely, Headline: "reports a container that was killed (exit code 137)",
		Means: "137 is signal 9. In a pod that is nearly always its memory limit; `kubectl describe pod` then says `OOMKilled` under \"Last State\". Another reason there (a failed probe, an eviction) is another matter.",
		Not:   "Swap, a larger node, more replicas: the limit of each pod stays the same.",
		Cures: []cause.Cure{
			podLimit,
			{Fix: "restart_session", Title: "Make sure that it was the limit", Told: "\"Last State\" and the events of the pod:", Kind: "shell", Text: "kubectl describe pod POD", Cost: "free"},
		},
		Sources: []string{"https://kubernetes.io/docs/tasks/configure-pod-container/assign-memory-resource/"},
	},
	{
		ID: "rest/ram-load", If: when.All(inRAM, loading), Figures: roomFigures,
		Headline: "was refused RAM while it loaded a model",
		Means:    "The model is read into system memory (RAM): as much as its file, and for a moment twice that if it is converted. [[{ram} of RAM was free. ]]Either that is more than there is, or a limit or another program leaves too little.",
		Not:      "Moving layers from the graphics card to RAM.",
		Cures: []cause.Cure{
			podLimit, windowsRAM,
			{Fix: "use_smaller_model", Title: "Use a smaller or more quantised model file", Told: "Its size and 1 to 2 GB more have to fit into what is free. 4 bit is a quarter of 16.", Cost: "some quality"},
			windowsLook, linuxLook, lookMac, swap,
		},
		Sources: []string{overcommit},
	},
	{
		ID: "rest/ram-full", If: when.All(inRAM, tooLittle), Figures: roomFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM: {asked} was wanted, {room} was free",
		Means: "That is the log's own count of system memory[[; the program itself held {own}]]. The machine, virtual machine or container was full, so neither a wrong size nor a limit of the shell is the reason.",
		Cures: []cause.Cure{
			podLimit, windowsRAM, swap,
			{Fix: "raise_memory_limit", If: when.Not(podded), Title: "Give it more RAM", Told: "A container or virtual machine has a limit of its own, often far below the machine's: raise that first. Otherwise a machine with more RAM.", Cost: "less for other programs, or money"},
			{Fix: "lower_num_workers", Title: "Use fewer threads, processes or jobs", Told: "Each has its own buffers, and many programs start one per core.", Cost: "slower"},
		},
		Sources: []string{overcommit},
	},
	{
		ID: "rest/ram-model", If: when.All(inRAM, model), Figures: roomFigures,
		Means: "It is system memory (RAM), not graphics memory. [[{ram} of it was free. ]]The model, its work on the input and the data of several workers share it. If it fails only with large or long input, that input is the cause; if at once, the model or a limit.",
		Not:   "Moving layers from the graphics card to RAM.",
		Cures: []cause.Cure{
			podLimit, windowsRAM, windowsLook,
			{Fix: "lower_batch_size", Title: "Use less input at once", Told: "{less}", Cost: "slower, or less detail"},
			linuxLook, lookMac, swap,
		},
		Sources: []string{overcommit},
	},
	{
		ID: "rest/ram", If: inRAM, Figures: roomFigures,
		Means: "It is system memory (RAM), not graphics memory.[[ {ram} of it was free.]][[ {crumb}]][[ {when}]]",
		Cures: []cause.Cure{
			podLimit, windowsRAM, windowsLook, linuxLook, lookMac,
			{Fix: "stream_dataset", If: byCode, Title: "Process the data in parts", Told: "If a tenth of the input runs, read, compute and write it part by part; 32-bit numbers take half of 64.", Cost: "some rewriting"},
			{Fix: "lower_num_workers", If: byUse, Title: "Use fewer threads or processes", Told: "Each has its own buffers, and many programs start one per core.", Cost: "slower"},
			swap,
		},
		Sources: []string{overcommit},
	},
	{
		ID: "rest/somewhere", If: always, Figures: onset,
		Means: "The message does not say whether system memory (RAM) or graphics memory ran out; watch both while it runs. If much is free in both, the single request was too large, or a limit refused it.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Check which memory is full", Ways: []cause.Way{
				{For: "Windows", Text: "Task Manager, Performance: \"Committed\" under Memory, \"Dedicated GPU memory\" under GPU."},
				{For: "Linux", Text: "`free -h`, and for NVIDIA `nvidia-smi`."},
				{For: "Mac", Text: "Activity Monitor, tab Memory."},
			}, Cost: "free"},
			lessWork,
			kept,
			{Fix: "use_smaller_model", If: model, Title: "Use a smaller or quantised model", Told: "16 bit is half of 32, 8 bit half of that.", Cost: "some quality"},
		},
		Sources: []string{overcommit, cudaMalloc},
	},
}

func always(*ledger.Case) bool { return true }
