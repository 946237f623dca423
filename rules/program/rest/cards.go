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
		ID: "rest/above-piece", If: abovePiece,
		Headline: "needs {asked} in one buffer; the device allows {limit}",
		Means:    "The driver limits a single buffer, here to {limit}, however much memory is free. {asked} is one array: the input or result of one step at full size.",
		Not:      "Closing programs: the limit is for a single buffer.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Process fewer samples or smaller tiles at once", Told: "The buffer grows with them: {times} of today's input or less stays below {limit}.", Cost: "more calls"},
			{Fix: "lower_resolution", Title: "Use a smaller input", Told: "Half the width and height of an image is a quarter; process a long text or recording in parts.", Cost: "detail"},
			{Fix: "half_precision", If: model, Title: "Use 16 bit instead of 32", Told: "It halves the buffer, if it is 32 bit now.", Cost: "hardly any loss"},
			{Fix: "cpu_offload", Title: "Run it on the CPU", Told: "System memory (RAM) has no such limit.", Cost: "slower"},
		},
		Figures: pieceFigures,
		Sources: []string{"https://registry.khronos.org/OpenCL/sdk/3.0/docs/man/html/clGetDeviceInfo.html", "https://developer.apple.com/documentation/metal/mtldevice/maxbufferlength"},
	},
	{
		ID: "rest/one-piece", If: onePiece,
		Headline: "asked for {asked} in one piece",
		Means:    "A single array of {asked} is rarely intended. Usually it holds all pairs of something (boxes, positions, rows), an unusually large image or text, or all the data at once.[[ It was refused with {free} free.]] If a small input runs, the size of the input is the cause. If that fails too, a shape is computed wrongly.",
		Not:      "Closing other programs, or a little more memory.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", If: byCode, Title: "Print the array's shape before that step", Told: "Its dimensions multiplied, times 4 bytes (32 bit), give {asked}: look for the one that you did not expect.", Cost: "free"},
			{Fix: "lower_batch_size", Title: "Process the input in parts", Told: "Try a tenth of the input first. If it runs, go part by part and write the results out in between.", Cost: "slower"},
			{Fix: "lower_resolution", Title: "Use a smaller input", Ways: []cause.Way{
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

// pieceFigures say what part of the input is below the bound.
func pieceFigures(c *ledger.Case) map[string]string {
	n := ledger.CeilDiv(ledger.Requested(c), max(c.F().Limit.Bytes*9/10, 1))
	told := map[int64]string{2: "a half", 3: "a third", 4: "a quarter", 5: "a fifth"}[n]
	if told == "" {
		told = "a " + ledger.Thousands(n) + "th"
	}
	return map[string]string{"times": told}
}

// cardCards are about a graphics card.
var cardCards = []cause.Card{
	{
		ID: "rest/card-load", If: when.All(onCard, when.In("load")),
		Headline: "ran out of graphics memory while it loaded a model",
		Means:    "[[{asked} was refused. ]][[{free} of {total} was free. ]]It failed while loading. Either the model is too large for the card, or something was on the card before: another model of the same program, another program, an earlier run. Look at the card while this program is closed.",
		Cures: []cause.Cure{
			lookCard, lookAny, lookMac,
			{Fix: "use_lower_quant", Title: "If the card is empty, load the model in fewer bits", Told: "The size of its file and 1 to 2 GB more have to fit. 16 bit is half of 32, 8 bit half of that, where the program offers them; or take a smaller model.", Cost: "some quality"},
			{Fix: "cpu_offload", Title: "Keep part of the model in RAM", Told: "If the program has an option for it (offload, low VRAM, layers on the card). Or run it on the CPU.", Cost: "slower"},
		},
		Sources: []string{cudaMalloc},
	},
	{
		ID: "rest/card-training", If: when.All(onCard, (*ledger.Case).Training),
		Means:   "[[{asked} more was refused. ]][[{crumb} ]][[{free} of {total} was free. ]]Training keeps the activations of every layer for the backward pass, and they usually take most of the memory; weights, gradients and optimizer state take the rest. The log does not say which part fills the card. If batch size 1 runs, it was the batch.",
		Figures: pieceOfCard,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size", Told: "Halve it by the script's option or configuration, and again if need be; if it is 1 already, use smaller samples (below). The learning rate may have to go down with it.", Cost: "slower"},
			lookCard, lookAny, lookMac,
			{Fix: "lower_resolution", Title: "Use smaller samples", Told: "Half the width and height of images keeps a quarter of the activations, half the length about half.", Cost: "detail"},
		},
		Sources: []string{cudaMalloc},
	},
	{
		ID: "rest/card-tables", If: when.All(onCard, when.Not(model)),
		Means:   "The driver refused[[ {asked}]].[[ {crumb}]] [[{free} of {total} was free. ]]The message does not say who holds the card. If it fails at once with any input, the card was most likely in use already; if only with large input, that input is too large; if after a while, something is kept.",
		Figures: pieceOfCard,
		Cures: []cause.Cure{
			lookCard, lookAny, lookMac, lessWork,
			{Fix: "restart_session", Title: "If it fails after a while, restart it and find what is kept", Told: "Usual: arrays in lists, or results that stay on the card. Copy them to RAM and free them.", Cost: "some minutes"},
			{Fix: "cpu_offload", Title: "Run it on the CPU", Told: "If the program has an option for it; RAM is usually larger.", Cost: "slower"},
		},
		Sources: []string{cudaMalloc},
	},
	{
		ID: "rest/card", If: onCard,
		Means:   "[[{asked} more was refused. ]][[{crumb} ]][[{free} of {total} was free. ]]The message does not say who holds the card. If it fails with the first, smallest input, most likely the model or another program fills it; if only with large or long input, that input does; if after a while, something is kept.",
		Figures: pieceOfCard,
		Cures: []cause.Cure{
			lookCard, lookAny, lookMac, lessWork,
			{Fix: "use_lower_quant", If: model, Title: "If it fails with the smallest input, load the model in fewer bits", Told: "16 bit is half of 32, 8 bit half of that; or take a smaller model.", Cost: "some quality"},
			{Fix: "restart_session", Title: "If it fails after a while, restart it and watch what grows", Told: "If the card's memory climbs from input to input, something is kept; a newer version may have fixed it.", Cost: "free"},
		},
		Sources: []string{cudaMalloc},
	},
}

// pieceOfCard says of a small piece that it is not the matter.
func pieceOfCard(c *ledger.Case) map[string]string {
	if fullBefore(c) {
		return map[string]string{"crumb": "That is very little: the card was nearly full before, so what fills it matters."}
	}
	return map[string]string{"crumb": ""}
}

// lessWork is the same work in smaller pieces, by who does it.
var lessWork = cause.Cure{Fix: "lower_batch_size", Title: "Reduce the input or batch size", Cost: "slower, or less detail", Ways: []cause.Way{
	{For: fix.Training, Text: "halve the batch size; if it is 1 already, use smaller samples."},
	{For: fix.Pictures, Text: "half the width and height, one at a time; tiles if the program has them."},
	{For: fix.Generating, Text: "a shorter context, fewer requests at a time."},
	{For: "Tables and arrays", Text: "try a tenth of the input; if it runs, work in blocks and write each out."},
}}

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
		ID: "rest/ram-load", If: when.All(inRAM, loading),
		Headline: "was refused RAM while it loaded a model",
		Means:    "[[{asked} was refused. ]]The model is read into system memory (RAM): as much as its file, and for a moment twice that if it is converted. [[{ram} of RAM was free. ]]Either RAM (on Windows RAM plus page file) is too small for that, or a limit or another program leaves too little.",
		Not:      "Moving layers from the graphics card to RAM.",
		Cures: []cause.Cure{
			windowsRAM,
			{Fix: "use_smaller_model", Title: "Use a smaller or more quantised model file", Told: "Its size and 1 to 2 GB more have to fit into what is free. 4 bit is a quarter of 16.", Cost: "some quality"},
			windowsLook, linuxLook, lookMac, swap,
		},
		Sources: []string{overcommit},
	},
	{
		ID: "rest/ram-model", If: when.All(inRAM, model),
		Means: "[[{asked} was refused. ]]It is system memory (RAM), not graphics memory. [[{ram} of it was free. ]]The model, its work on the input and the data of several workers share it. If it fails only with large or long input, that input is the cause; if at once, the model or a limit.",
		Not:   "Moving layers from the graphics card to RAM.",
		Cures: []cause.Cure{
			windowsRAM, windowsLook, linuxLook, lookMac,
			{Fix: "lower_resolution", Title: "Use less input at once", Ways: []cause.Way{
				{For: fix.Pictures, Text: "scale it down first: half the width and height is a quarter."},
				{For: fix.Text, Text: "shorter texts, one at a time."},
				{For: "Several workers or threads", Text: "run fewer: each has its own buffers."},
			}, Cost: "slower, or less detail"},
			swap,
		},
		Sources: []string{overcommit},
	},
	{
		ID: "rest/ram", If: inRAM,
		Means: "[[{asked} was refused. ]]It is system memory (RAM), not graphics memory.[[ {ram} of it was free.]] If it fails at once, the usual cause is a limit, a wrong size or a machine that is already full; if only with large input, that input; if after a while, something grows.",
		Cures: []cause.Cure{
			windowsRAM, windowsLook, linuxLook, lookMac,
			{Fix: "stream_dataset", If: byCode, Title: "Process the data in parts", Told: "If a tenth of the input runs, read, compute and write it part by part; 32-bit numbers take half of 64.", Cost: "some rewriting"},
			{Fix: "lower_num_workers", If: byUse, Title: "Use fewer threads or processes, or less input", Told: "Each has its own buffers, and many programs start one per core. If a tenth of the input runs, its size is the cause.", Cost: "slower"},
			swap,
		},
		Sources: []string{overcommit},
	},
	{
		ID: "rest/somewhere", If: always,
		Means: "[[{asked} was refused. ]]The message does not say whether system memory (RAM) or graphics memory ran out; watch both while it runs. If much is free in both, the single request was too large, or a limit refused it.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Check which memory is full", Ways: []cause.Way{
				{For: "Windows", Text: "Task Manager, Performance: \"Committed\" under Memory, \"Dedicated GPU memory\" under GPU."},
				{For: "Linux", Text: "`free -h`, and for NVIDIA `nvidia-smi`."},
				{For: "Mac", Text: "Activity Monitor, tab Memory."},
				{For: "In a browser", Text: "a tab gets a few GB at most, an array 2 to 4: use a smaller or quantised model, and restart the browser."},
			}, Cost: "free"},
			lessWork,
			{Fix: "restart_session", Title: "If it ran before, restart it", Told: "If the error returns after a while, something is kept from one input to the next: update it, or restart it now and then.", Cost: "free"},
			{Fix: "use_smaller_model", If: model, Title: "Use a smaller or quantised model", Told: "16 bit is half of 32, 8 bit half of that.", Cost: "some quality"},
		},
		Sources: []string{overcommit, cudaMalloc},
	},
}

func always(*ledger.Case) bool { return true }
