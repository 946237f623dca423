package rest

import (
	"slices"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/local"
	"github.com/oomdoc/oomdoc/rules/program/host/activity"
	"github.com/oomdoc/oomdoc/rules/when"
)

// cards say what holds whatever the cause turns out to be, the narrowest first.
var cards = slices.Concat(cacheCards, sizeCards, cardCards, ramCards)

// cacheCards are about the KV cache of a server without cards of its own for it.
var cacheCards = []cause.Card{
	{
		ID: "figures/kv-cache", If: when.All(onCard, cacheRefused), Figures: cacheFigures,
		Cause: cause.ContextTooLong, Weight: cause.Decisive,
		Headline: "wants {cache} for the KV cache, and {room} is free",
		Means:    "The KV cache holds the tokens of all requests that may run at once. Its size is about context length x requests at once: the product has to come down to {share} % of what it is.",
		Not:      "A quantised model alone: the cache does not shrink with the weights.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Shorten the context", Told: "{share} % of its length fits, or a little more with fewer requests.", Own: true, Cost: "older parts of a long conversation are cut off"},
			{Fix: "lower_max_num_seqs", Title: "Serve fewer requests at once", Told: "At the same length {share} % of them fit.", Own: true, Cost: "others wait"},
			{Fix: "quantize_kv_cache", If: halfCacheFits, Title: "Keep the cache in 8 bit", Told: "It then takes half.", Own: true, Cost: "hardly any quality"},
			lookCard, lookAny, lookMac,
		},
		Sources: []string{cudaMalloc},
	},
}

// sizeCards are about what was asked for: no size, or too large a piece.
var sizeCards = []cause.Card{
	{
		ID: "rest/address", If: address,
		Headline: "asked for {asked}: this number looks like an address, not a size",
		Means:    "{asked} is {hex} in hexadecimal, which is in the range of a 64-bit program's memory addresses. Most likely a pointer or uninitialised memory was read as a size. That happens by a bug, when threads share an object, or after an earlier allocation failed.",
		Not:      "More RAM, swap or a larger graphics card: nothing has {asked}.",
		Figures:  addressFigures,
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Run it with one thread and one job at a time, as a test", Told: "Set the number of threads or workers to 1. In your own code use one session or handle per thread. If that works, threads shared an object.", Cost: "slower"},
			{Fix: "restart_session", Title: "Find the first error in the log", Told: "If an earlier line says that a few MB or GB could not be allocated, solve that one: this error may only follow from it.", Cost: "free"},
			{Fix: "upgrade_version", Title: "Update the library", Told: "Or try the release before. If the error stays, report it with this number.", Cost: "some minutes"},
		},
		Sources: []string{"https://www.kernel.org/doc/html/latest/arch/x86/x86_64/mm.html"},
	},
	{
		ID: "rest/wrong-size", If: when.All(local.Unsized, when.Not(noSize)),
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for an impossible amount of memory",
		Means:    "The number in the message is not a real size: it is negative, or more than any machine has. Usually a length overflowed 32 bits or became negative, a file is damaged, or two library versions do not fit each other. Memory is most likely not short.",
		Not:      "More memory, swap, or closing programs.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Update or reinstall the program or library", Told: "Take the newest release, or the one before it. If the error stays, report it with this number and the smallest input that shows it.", Cost: "some minutes"},
			{Fix: "fix_shape", Title: "Try a small input that surely works", Told: "If it runs, the other input is damaged, empty or too large: download or create it again. If it fails too, it is a bug or a broken installation.", Cost: "some minutes"},
			{Fix: "lower_batch_size", Title: "Halve the batch, length or image size", Told: "If that helps, a count went past 2^31 (2,147,483,648), which 32 bits cannot hold.", Cost: "slower"},
		},
		Sources: []string{"https://en.cppreference.com/w/cpp/language/implicit_conversion"},
	},
	{
		ID: "rest/no-size", If: noSize,
		Headline: "asked for an impossible amount of memory",
		Means:    "No machine has that much. Usually a length overflowed 32 bits or became negative, a file is damaged, or two library versions do not fit each other. Memory is most likely not short.",
		Not:      "More memory, swap, or closing programs.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Update or reinstall the program or library", Told: "Take the newest release, or the one before it. If the error stays, report it with this number and the smallest input that shows it.", Cost: "some minutes"},
			{Fix: "fix_shape", Title: "Try a small input that surely works", Told: "If it runs, the other input is damaged, empty or too large: download or create it again. If it fails too, it is a bug or a broken installation.", Cost: "some minutes"},
			{Fix: "lower_batch_size", If: model, Title: "Halve the batch, length or image size", Told: "If that helps, a count went past 2^31 (2,147,483,648), which 32 bits cannot hold.", Cost: "slower"},
		},
		Sources: []string{"https://en.cppreference.com/w/cpp/language/implicit_conversion"},
	},
	{
		ID: "rest/one-piece-served", If: when.All(onePiece, func(c *ledger.Case) bool { return c.Reader.Work == "text-inference" && byUse(c) }),
		Headline: "asked for {asked} at once",
		Means:    "That much at once is usually working memory of one step, not weights. It grows with the tokens that a step handles at once: context length, parallel requests, prefill chunk.[[ Only {free} was free beside what the server had reserved.]]",
		Cures: []cause.Cure{
			{Fix: "lower_max_batched_tokens", Title: "Process fewer tokens in one step", Told: "Halve the server's limit of tokens per batch (prefill chunk), and halve it again if need be.", Cost: "long prompts take longer"},
			{Fix: "lower_context", Title: "Lower the maximum context length", Told: "Halve it, and halve it again if need be.", Cost: "longer texts are refused"},
			{Fix: "lower_max_num_seqs", Title: "Take fewer requests at once", Told: "Halve the limit on parallel requests, then halve it again.", Cost: "others wait"},
			{Fix: "lower_gpu_memory_utilization", Title: "Reserve less GPU memory for the KV cache", Told: "Each step then has more room beside it.", Cost: "a smaller cache"},
		},
		Sources: []string{cudaMalloc},
	},
	{
		ID: "rest/one-piece", If: onePiece, Figures: onset,
		Headline: "asked for {asked} at once",
		Means:    "An array that large is rarely intended. Usually it compares everything with everything (all pairs of positions, rows or boxes), or holds all the data at once.[[ Only {free} was free.]] If a small input runs, this input is too large. If a small input fails too, a shape is computed wrongly.",
		Not:      "Closing other programs, or a little more memory.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", If: byCode, Title: "Print the array's shape before that step", Told: "Multiply its dimensions, times 4 bytes for 32-bit numbers: the product is {asked}. One of them will be far larger than you expected.", Cost: "free"},
			lessWork,
			{Fix: "lower_resolution", If: when.Not((*ledger.Case).Training), Title: "Use a smaller input", Ways: []cause.Way{
				{For: fix.Pictures, Text: "scale it down first. Half the width and height leaves a quarter of the pixels, and a sixteenth of all pairs of pixels."},
				{For: "Text or sound", Text: "split it into shorter parts. Attention can grow with the square of the length."},
				{For: "Tables", Text: "check joins: keys that repeat on both sides multiply the rows. 32-bit numbers take half of 64-bit ones."},
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
		ID: "rest/card-loaded", Said: []string{"loaded weights in"}, If: when.All(onCard, when.Not((*ledger.Case).Training)), Figures: onset,
		Headline: "ran out of GPU memory after it had loaded the model",
		Means:    "[[{free} of {total} was free. ]]The weights were loaded. What came on top of them did not fit: context, results between the layers, or a second copy in another type.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Use a shorter context or a smaller batch", Told: "Look for an option such as context length, maximum length or batch. Try a short input first.", Cost: "less at a time"},
			{Fix: "use_lower_quant", Title: "Load a smaller model, or the same one in fewer bits", Told: "Its file size plus 1 to 2 GB has to fit into GPU memory. 8 bit takes half of 16 bit, 4 bit a quarter, where the program offers it.", Cost: "some quality"},
			lookCard, lookAny, lookMac, lookShared,
		},
		Sources: []string{cudaMalloc},
	},
	{
		ID: "rest/card-load", If: when.All(onCard, when.In("load")), Figures: onset,
		Headline: "ran out of GPU memory while it loaded a model",
		Means:    "[[{free} of {total} was free. ]]It failed while a model was being loaded. Either the model is too large for the graphics card, or something else already filled a part of it: another model, another program, an earlier run.",
		Not:      "A shorter input or a smaller batch: it failed before any input.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", If: when.Not(fullBefore), Title: "Load a smaller model, or the same one in fewer bits", Told: "Its file size plus 1 to 2 GB has to fit into GPU memory. 8 bit takes half of 16 bit, 4 bit a quarter, where the program offers it.", Cost: "some quality"},
			lookCard, lookAny, lookMac, lookShared,
			{Fix: "cpu_offload", Title: "Keep part of the model in RAM, or run it on the CPU", Told: "Look for an option such as offload, low VRAM, GPU layers or device.", Cost: "much slower"},
		},
		Sources: []string{cudaMalloc},
	},
	{
		ID: "rest/card-training", If: when.All(onCard, (*ledger.Case).Training), Figures: onset,
		Means: "[[{crumb} ]][[{free} of {total} was free. ]]Training keeps the results of every layer (activations) for the backward pass. They grow with the batch size and usually take the most memory, beside weights, gradients and optimizer state.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size", Told: "{less}", Cost: "slower"},
			lookCard, lookAny, lookMac, lookShared,
			{Fix: "lower_resolution", Title: "Use smaller images or shorter sequences", Told: "Half the width and height leaves a quarter of the activations; half the length leaves half or less.", Cost: "detail"},
		},
		Sources: []string{cudaMalloc},
	},
	{
		ID: "rest/card-tables", If: when.All(onCard, when.Not(model)), Figures: onset,
		Means: "[[{crumb} ]][[{free} of {total} was free. ]][[{when}]]",
		Cures: []cause.Cure{
			lookFirst, lookFirstAny, lessWork, lookCard, lookAny, lookMac, lookShared, kept,
			{Fix: "cpu_offload", If: byUse, Title: "Run it on the CPU", Told: "If the program has an option for it (such as device or GPU). System RAM is usually larger.", Cost: "slower"},
		},
		Sources: []string{cudaMalloc},
	},
	{
		ID: "rest/card", If: onCard, Figures: onset,
		Means: "[[{crumb} ]][[{free} of {total} was free. ]][[{when}]]",
		Cures: []cause.Cure{
			lookFirst, lookFirstAny, lessWork, lookCard, lookAny, lookMac, lookShared, kept,
			{Fix: "use_lower_quant", If: model, Title: "If that is not enough: use a smaller model, or one in fewer bits", Told: "8 bit takes half of 16 bit, 4 bit a quarter.", Cost: "some quality"},
		},
		Sources: []string{cudaMalloc},
	},
}

// lessWork is the same work in smaller pieces, by who does it: a model that is
// being loaded has none yet.
var lessWork = cause.Cure{Fix: "lower_batch_size", If: when.Not(when.All(model, when.In("load"))), Title: "Process less at a time", Told: "{less}", Cost: "slower, or less detail"}

// kept is for programs that had worked before.
var kept = cause.Cure{Fix: "restart_session", If: after, Title: "Restart it, and watch whether its memory climbs", Cost: "free",
	Told: "If it climbs from input to input, results are being kept. In your own code copy them to RAM and delete the originals; for other programs try a newer version."}

// ramCards are about system memory, and what nothing is known of.
var ramCards = []cause.Card{
	{
		ID: "rest/commit", Kinds: []fact.Kind{fact.CommitLimit},
		Headline: "ran out of memory: RAM and page file are fully reserved (Windows error 1455)",
		Means:    "This is Windows error 1455. All programs together have reserved (\"committed\") as much as RAM and page file can hold, even if some RAM still looks free. This program only asked last; another one may hold the most.",
		Cures: []cause.Cure{
			windowsRAM, windowsLook,
			{Fix: "lower_num_workers", Title: "Run fewer jobs, threads or workers at once", Told: "Each of them reserves memory of its own.", Cost: "slower"},
		},
		Sources: []string{"https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--1300-1699-", "https://learn.microsoft.com/en-us/windows/win32/memory/working-set"},
	},
	{
		ID: "rest/pod-error", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"Reason: Error", `"reason": "Error"`}, Unsaid: []string{"OOMKilled"}, If: podded,
		Cause: cause.HostMemory, Weight: cause.Likely, Headline: "reports a container killed with exit code 137, but not for its memory limit (reason Error, not OOMKilled)",
		Means: "Kubernetes normally says OOMKilled if the container has reached its own memory limit, so that is most likely not the reason. Signal 9 also comes from the kubelet, after a failed liveness or startup probe or when a stop took too long. And it comes from the kernel, if the whole node ran out of RAM.",
		Not:   "A higher memory limit, unless the node's kernel log names this container.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Find out who killed it", Told: "The events name a failed probe or an eviction; they are kept for about an hour. On the node, as root: `dmesg -T | grep -iE 'oom|killed process'`.", Kind: "shell", Text: "kubectl get events --all-namespaces --sort-by=.lastTimestamp | grep -iE 'unhealthy|killing|evict'\nkubectl logs POD --previous", Cost: "free"},
			{Fix: "upgrade_version", Title: "If a probe failed, give it more time", Told: "For a slow start add a `startupProbe` with `failureThreshold: 60` and `periodSeconds: 10`. If the probe runs a script, raise its `timeoutSeconds` (default: 1 second).", Cost: "a hung container is noticed later"},
			{Fix: "close_other_apps", Title: "If the node ran out of RAM, set honest memory requests", Told: "Compare `kubectl top pod -A` with `resources.requests.memory`. Where requests are as high as the use, the scheduler no longer overfills the node.", Cost: "fewer pods on each node"},
		},
		Sources: []string{"containerd/internal/cri/server/helpers.go", "https://github.com/kubernetes/kubernetes/issues/122256", "https://github.com/kubernetes/kubernetes/issues/125639", "https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/"},
	},
	{
		ID: "rest/pod", Kinds: []fact.Kind{fact.ShellKilled}, If: podded,
		Cause: cause.HostMemory, Weight: cause.Likely, Headline: "reports a container that was killed (exit code 137)",
		Means: "137 means signal 9 (killed). In a pod that is usually its own memory limit. `kubectl describe pod` then shows `OOMKilled` under \"Last State\"; any other reason there (a failed probe, an eviction) has another cure.",
		Not:   "Swap, a larger node or more replicas: each pod's limit stays the same.",
		Cures: []cause.Cure{
			taskLimit, podLimit,
			{Fix: "restart_session", Title: "Make sure that it was the memory limit", Told: "Look at \"Last State\" and at the events of the pod:", Kind: "shell", Text: "kubectl describe pod POD", Cost: "free"},
		},
		Sources: []string{"https://kubernetes.io/docs/tasks/configure-pod-container/assign-memory-resource/"},
	},
	{
		ID: "rest/ram-load", If: when.All(inRAM, loading), Figures: roomFigures,
		Headline: "ran out of RAM while it loaded a model",
		Means:    "A model is first read into system memory (RAM): about the size of its file, and up to twice that if it is converted. [[{ram} of RAM was free. ]]Either that is more than the machine has, or a limit or another program leaves too little.",
		Not:      "Moving layers from the graphics card to RAM.",
		Cures: []cause.Cure{
			podLimit, windowsRAM,
			{Fix: "use_smaller_model", Title: "Use a smaller model file, or a more strongly quantised one", Told: "Its size plus 1 to 2 GB has to fit into the free RAM. 4 bit takes a quarter of 16 bit.", Cost: "some quality"},
			windowsLook, linuxLook, lookMac, swap,
		},
		Sources: []string{overcommit},
	},
	{
		ID: "rest/ram-full", If: when.All(inRAM, tooLittle), Figures: roomFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM: it needed {asked} more, and {room} was free",
		Means: "The log itself counts the free system memory[[; the program held {own}]]. So the machine, virtual machine or container was full. A wrong size or a shell limit is not the reason.",
		Cures: []cause.Cure{
			podLimit, windowsRAM, swap,
			{Fix: "raise_memory_limit", If: when.Not(podded), Title: "Give it more RAM", Told: "A container or virtual machine has its own limit, often far below the machine's: raise that first. Otherwise use a machine with more RAM.", Cost: "less for other programs, or money"},
			{Fix: "lower_num_workers", Title: "Use fewer threads, processes or jobs", Told: "Each has its own buffers, and many programs start one per CPU core.", Cost: "slower"},
		},
		Sources: []string{overcommit},
	},
	{
		ID: "rest/ram-prepared", If: when.All(inRAM, activity.Prepares), Figures: roomFigures,
		Headline: "ran out of system memory (RAM) while it prepared data",
		Means:    "System memory (RAM) ran out, not GPU memory. [[{ram} of it was free. ]]Such scripts often keep something for every item until the end (a list, an index, all results), so the need grows with the amount of input. Nothing is trained yet, so settings of the training do not matter.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Prepare the input in parts", Told: "Run it on a tenth of the input. If that works, split the input, run the parts one by one, and give the training all of the results: many trainers take several files. Use fewer worker processes.", Cost: "time"},
			podLimit, windowsRAM, windowsLook, linuxLook, lookMac, swap,
		},
		Sources: []string{overcommit},
	},
	{
		ID: "rest/ram-model", If: when.All(inRAM, model), Figures: roomFigures,
		Means: "System memory (RAM) ran out, not GPU memory. [[{ram} of it was free. ]]The model, its working memory and every worker share it. If it fails only with large or long inputs, the input is too large. If it fails at once, the model is too large or a limit is too low.",
		Not:   "Moving layers from the graphics card to RAM.",
		Cures: []cause.Cure{
			podLimit, windowsRAM, windowsLook,
			{Fix: "lower_batch_size", Title: "Process less input at once", Told: "{less}", Cost: "slower, or less detail"},
			linuxLook, lookMac, swap,
		},
		Sources: []string{overcommit},
	},
	{
		ID: "rest/ram", If: inRAM, Figures: roomFigures,
		Means: "System memory (RAM) ran out, not GPU memory.[[ {ram} of it was free.]][[ {crumb}]][[ {when}]]",
		Cures: []cause.Cure{
			podLimit, windowsRAM, windowsLook, linuxLook, lookMac,
			{Fix: "stream_dataset", If: byCode, Title: "Process the data in parts", Told: "First try a tenth of the input. If it runs, read, compute and write it part by part. 32-bit numbers take half of 64-bit ones.", Cost: "some rewriting"},
			{Fix: "lower_num_workers", If: byUse, Title: "Use fewer threads or processes", Told: "Each has its own buffers, and many programs start one per CPU core.", Cost: "slower"},
			swap,
		},
		Sources: []string{overcommit},
	},
	{
		ID: "rest/somewhere", If: always, Figures: onset,
		Means: "The message does not say whether system memory (RAM) or GPU memory ran out. Watch both while it runs. If both have much free, a single request was too large, or a limit refused it.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Check which memory is full", Ways: []cause.Way{
				{For: "Windows", Text: "Task Manager, Performance: \"Committed\" under Memory, \"Dedicated GPU memory\" under GPU"},
				{For: "Linux", Text: "`free -h`, and for NVIDIA cards `nvidia-smi`"},
				{For: "Mac", Text: "Activity Monitor, Memory tab"},
			}, Cost: "free"},
			lessWork,
			kept,
			{Fix: "use_smaller_model", If: model, Title: "Use a smaller or more strongly quantised model", Told: "16 bit takes half of 32 bit, 8 bit a quarter, 4 bit an eighth.", Cost: "some quality"},
		},
		Sources: []string{overcommit, cudaMalloc},
	},
}

func always(*ledger.Case) bool { return true }
