package rest

import (
	"slices"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// cards say what holds whatever the cause turns out to be, the narrowest first.
var cards = slices.Concat(sizeCards, cardCards, ramCards)

// sizeCards are about what was asked for: no size, or too large a piece.
var sizeCards = []cause.Card{
	{
		ID: "rest/address", If: address,
		Headline: "asked for {asked}: the number looks like an address, not a size",
		Means:    "{asked} is {hex}, and addresses of a 64-bit process look like that. So a pointer or memory that was never set was read as a size: after an allocation before it failed, when threads share what they must not, or by a bug of this version. Whether memory was short as well, errors before this one show.",
		Not:      "More RAM, swap or a larger card: nothing has {asked}.",
		Figures:  addressFigures,
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "One thread, one run at a time", Told: "An app's number of threads or execution workers at 1; in your own code one session or handle for each thread. If it runs so, raise it by one.", Cost: "slower"},
			{Fix: "restart_session", Title: "Restart it, and look for the first error", Told: "The first \"failed to allocate\" of the log with a size of some MB or GB is the one to solve; this one may only follow from it.", Cost: "free"},
			{Fix: "upgrade_version", Title: "It is the first error: another version", Told: "The newest of the library, or the one before; report it with this number.", Cost: "some minutes"},
		},
		Sources: []string{"https://www.kernel.org/doc/html/latest/arch/x86/x86_64/mm.html"},
	},
	{
		ID: "rest/no-size", If: noSize,
		Headline: "asked for a size that is none",
		Means:    "No machine has that much: as a rule a length went below zero or past what 32 bits hold, a file is damaged, or a header was read as a count. So it is not memory that is short, and the same input fails anywhere.",
		Not:      "More memory, swap, closing programs.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Another version of the program or library", Told: "The newest, or the one before; if it stays, report it with this number and the smallest input that shows it.", Cost: "some minutes"},
			{Fix: "fix_shape", Title: "Try a small input that is known to be good", Told: "It runs: the other one is damaged, empty or too large in one side; load or make it again. It fails as well: a bug.", Cost: "some minutes"},
			{Fix: "lower_batch_size", If: model, Title: "Less at once: it may be an overflow", Told: "Counts past 2^31 (2,147,483,648) overflow in 32 bits: half the batch, the length or the image stays below.", Cost: "slower"},
		},
		Sources: []string{"https://en.cppreference.com/w/cpp/language/implicit_conversion"},
	},
	{
		ID: "rest/above-piece", If: abovePiece,
		Headline: "wanted {asked} in one piece; the device gives {limit} at most",
		Means:    "The driver bounds what one buffer may hold, here {limit}, however much is free. {asked} is a single array: inputs or results of one step at their full size.",
		Not:      "Closing programs, or a card with more memory of the same kind: the bound is for one piece.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Fewer samples or tiles at once", Told: "The piece grows in step with them: to stay below {limit}, {times} or less of what went in now.", Cost: "more calls"},
			{Fix: "lower_resolution", Title: "Smaller input", Told: "Half the width and height is a quarter; a long text or sound in parts.", Cost: "detail"},
			{Fix: "half_precision", If: model, Title: "16 bit instead of 32", Told: "Half of the piece, if it is 32 bit now.", Cost: "hardly any loss"},
			{Fix: "cpu_offload", Title: "Or on the processor", Told: "RAM has no such bound.", Cost: "slower"},
		},
		Figures: pieceFigures,
		Sources: []string{"https://registry.khronos.org/OpenCL/sdk/3.0/docs/man/html/clGetDeviceInfo.html", "https://developer.apple.com/documentation/metal/mtldevice/maxbufferlength"},
	},
	{
		ID: "rest/one-piece", If: onePiece,
		Headline: "wanted {asked} in one piece",
		Means:    "A single array of {asked} is rarely meant. It is the product of sides: all pairs of something (boxes, positions, rows), an image or a text far larger than usual, or all the data at once.[[ It was refused with {free} free.]] If a small input runs, it is the size of the input; if that fails alike, a side is wrong.",
		Not:      "Closing other programs, or a little more memory.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the sides before that step", Told: "Sides x bytes of a number (4 for 32 bit) must give {asked}: the side that you did not expect is the fault.", Cost: "free"},
			{Fix: "lower_batch_size", Title: "It is meant: in parts", Told: "A tenth of the input at a time, results written out before the next.", Cost: "slower"},
			{Fix: "lower_resolution", Title: "Or a smaller input", Ways: []cause.Way{
				{For: fix.Pictures, Text: "scale it down before it goes in: half the width and height is a quarter, and all pairs of its points a sixteenth."},
				{For: "Text or sound", Text: "cut it into pieces; attention over all positions grows with the square of the length."},
				{For: "Tables", Text: "joins multiply rows where keys repeat on both sides; 32-bit numbers are half."},
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
		Means:    "[[{asked} for the model was refused. ]][[{free} of {total} was free. ]]It failed before any work, so it is the model, or what was on the card before it: another model of the same program, another program, an earlier run. Which, one look at the card while this program is closed tells.",
		Not:      "Smaller inputs, or a shorter run: nothing was computed yet.",
		Cures: []cause.Cure{
			lookCard, lookAny, lookMac,
			{Fix: "use_lower_quant", Title: "The card is empty: a smaller form of the model", Told: "Its file's size, and 1 to 2 GB for its work, have to fit: 16 bit is half of 32, 8 bit half of that, where the program has them.", Cost: "some quality"},
			{Fix: "cpu_offload", Title: "Or a part of it in RAM", Told: "If the program has a switch for it (offload, low VRAM, layers on the card); or on the processor as a whole.", Cost: "slower"},
		},
		Sources: []string{cudaMalloc},
	},
	{
		ID: "rest/card-training", If: when.All(onCard, (*ledger.Case).Training),
		Means:   "[[{asked} more was refused. ]][[{crumb} ]][[{free} of {total} was free. ]]Training keeps the results of all layers of a batch until it goes back through them, and that is most of it as a rule; weights, gradients and the optimizer's state are the rest. The log does not say which part fills it: if batch 1 runs, it was the batch.",
		Not:     "More RAM or swap: the card does not use them.",
		Figures: pieceOfCard,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Batch 1 to see that it runs, then double it", Told: "By the script's option or its configuration; the learning rate may have to go down with it.", Cost: "slower"},
			lookCard, lookAny, lookMac,
			{Fix: "lower_resolution", Title: "Smaller samples", Told: "Half the width and height of images is a quarter of the work kept, half the length about half.", Cost: "detail"},
		},
		Sources: []string{cudaMalloc},
	},
	{
		ID: "rest/card-tables", If: when.All(onCard, when.Not(model)),
		Means:   "The driver refused[[ {asked}]].[[ {crumb}]] [[{free} of {total} was free. ]]The message does not say who holds the card. It helps to know when it fails: at once, whatever the input (the card was taken, or a size is wrong), with large input only (its size), or after a while (something is kept).",
		Not:     "More RAM or swap: the card does not use them.",
		Figures: pieceOfCard,
		Cures: []cause.Cure{
			lookCard, lookAny, lookMac, lessWork,
			{Fix: "restart_session", Title: "It fails after a while: find what is kept", Told: "Arrays in lists, or results that stay on the card: copy them to RAM and let go; a restart in between frees all.", Cost: "some minutes"},
			{Fix: "cpu_offload", Title: "Or on the processor", Told: "If the program has a switch for it: RAM is larger.", Cost: "slower"},
		},
		Sources: []string{cudaMalloc},
	},
	{
		ID: "rest/card", If: onCard,
		Means:   "[[{asked} more was refused. ]][[{crumb} ]][[{free} of {total} was free. ]]The message does not say who holds the card. Does it fail at the first and smallest input, it is the model or another program; with large or long input only, it is the work; after a while, something is kept.",
		Not:     "More RAM or swap: the card does not use them as its own.",
		Figures: pieceOfCard,
		Cures: []cause.Cure{
			lookCard, lookAny, lookMac, lessWork,
			{Fix: "use_lower_quant", If: model, Title: "It fails with the smallest input: the model in fewer bits", Told: "16 bit is half of 32, 8 bit half of that; or the next smaller size of the same model.", Cost: "some quality"},
			{Fix: "restart_session", Title: "It fails after a while: restart it, and see what grows", Told: "Watch the card's memory while it works: a climb from input to input is something that is kept; its newest version may have mended it.", Cost: "free"},
		},
		Sources: []string{cudaMalloc},
	},
}

// pieceOfCard says of a small piece that it is not the matter.
func pieceOfCard(c *ledger.Case) map[string]string {
	if fullBefore(c) {
		return map[string]string{"crumb": "That is next to nothing: the card was full before it, and who fills it counts."}
	}
	return map[string]string{"crumb": ""}
}

// lessWork is the same work in smaller pieces, by who does it.
var lessWork = cause.Cure{Fix: "lower_batch_size", Title: "Less at once", Cost: "slower, or less detail", Ways: []cause.Way{
	{For: fix.Training, Text: "batch 1 to see that it runs, then double it."},
	{For: fix.Pictures, Text: "half the width and height, one at a time; tiles where the program has them."},
	{For: fix.Generating, Text: "a shorter context, fewer requests at a time."},
	{For: "Tables and arrays", Text: "a tenth of the input; does it run, work in blocks and write each out."},
}}

// ramCards are about the computer's own memory, and what nothing is known of.
var ramCards = []cause.Card{
	{
		ID: "rest/commit", Kinds: []fact.Kind{fact.CommitLimit},
		Means: "Windows error 1455: what Windows can promise of RAM and page file together is taken by all programs; how much RAM is free plays no part. This program was the one that asked next, and need not hold the most.",
		Not:   "Closing this window alone, or a graphics card's settings.",
		Cures: []cause.Cure{
			windowsRAM, windowsLook,
			{Fix: "lower_num_workers", Title: "Less at the same time", Told: "Fewer jobs of a build, threads or worker processes: each is promised memory of its own.", Cost: "slower"},
		},
		Sources: []string{"https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--1300-1699-", "https://learn.microsoft.com/en-us/windows/win32/memory/working-set"},
	},
	{
		ID: "rest/ram-load", If: when.All(inRAM, loading),
		Headline: "was refused RAM while it loaded a model",
		Means:    "[[{asked} was refused. ]]The model is read into the computer's RAM: a file of its size, and for a moment twice that where it is converted. [[{ram} of RAM was free. ]]Either RAM (on Windows RAM and page file together) is smaller than that, or a limit or another program leaves less.",
		Not:      "Settings for the graphics card: what is taken off the card goes to RAM.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "A smaller file of the model", Told: "Compare its size with what is free: it and 1 to 2 GB have to fit. 4 bit is a quarter of 16.", Cost: "some quality"},
			windowsRAM, windowsLook, linuxLook, lookMac, swap,
		},
		Sources: []string{overcommit},
	},
	{
		ID: "rest/ram-model", If: when.All(inRAM, model),
		Means: "[[{asked} was refused. ]]It is the computer's own RAM, not the card's memory. [[{ram} of it was free. ]]A model, its work on the input and the data of several workers share it; if it fails with large or long input only, it is the work, if at once, the model or a limit.",
		Not:   "Settings for the graphics card: what is taken off the card goes to RAM.",
		Cures: []cause.Cure{
			windowsRAM, windowsLook, linuxLook, lookMac,
			{Fix: "lower_resolution", Title: "Less input at once", Ways: []cause.Way{
				{For: fix.Pictures, Text: "scale it down first: half the width and height is a quarter."},
				{For: fix.Text, Text: "shorter texts, one at a time."},
				{For: "Several workers or threads", Text: "fewer: each has buffers of its own."},
			}, Cost: "slower, or less detail"},
			swap,
		},
		Sources: []string{overcommit},
	},
	{
		ID: "rest/ram", If: inRAM,
		Means: "[[{asked} was refused. ]]It is the computer's own RAM, not a graphics card's.[[ {ram} of it was free.]] What else was in memory the log does not show. It helps to know when it fails: at once (a limit, a wrong size, a machine that is full already), with large input only, or after a while (something grows).",
		Not:   "A graphics card and its settings.",
		Cures: []cause.Cure{
			windowsRAM, windowsLook, linuxLook, lookMac,
			{Fix: "stream_dataset", If: byCode, Title: "Read and write in parts", Told: "Does a tenth of the input run, it is the size: read, compute, write, let go, part by part; 32-bit numbers are half of 64.", Cost: "some rewriting"},
			{Fix: "lower_num_workers", If: byUse, Title: "Fewer threads or processes, less input", Told: "Each has buffers of its own, and many programs start one for each core; does a tenth of the input run, it is its size.", Cost: "slower"},
			swap,
		},
		Sources: []string{overcommit},
	},
	{
		ID: "rest/somewhere", If: always,
		Means: "[[{asked} was refused. ]]The message does not say whether it was the computer's RAM or a card's memory; one look at both while it runs does. A piece that is refused with much free in both is too large by itself, or a limit stands in the way.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "See which memory is full", Ways: []cause.Way{
				{For: "Windows", Text: "Task Manager, Performance: \"Committed\" under Memory, \"Dedicated GPU memory\" under GPU."},
				{For: "Linux", Text: "`free -h`, and for NVIDIA `nvidia-smi`."},
				{For: "Mac", Text: "Activity Monitor, tab Memory."},
				{For: "In a browser", Text: "a tab has some GB at most, an array 2 to 4: a smaller or quantised model, and a restart of the browser."},
			}, Cost: "free"},
			lessWork,
			{Fix: "restart_session", Title: "It ran before: restart it", Told: "If it comes back after a while, something is kept from one input to the next: its newest version, or a restart now and then.", Cost: "free"},
			{Fix: "use_smaller_model", If: model, Title: "A smaller form of the model", Told: "16 bit is half of 32, 8 bit half of that.", Cost: "some quality"},
		},
		Sources: []string{overcommit, cudaMalloc},
	},
}

func always(*ledger.Case) bool { return true }
