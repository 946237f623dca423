package webui

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Cards on memory that is not where the reader looks: refused with room left,
// held by others, or never there.

var (
	largerPageFile = cause.Cure{
		Fix: "raise_pagefile", Title: "A larger page file", Cost: "Disk space, a restart.",
		Told: "Win+R, `sysdm.cpl`, Advanced, Performance: Settings, Advanced, Virtual memory: Change. Untick \"Automatically manage\", take an SSD with room, Custom size, 16384 to 49152 MB, Set, OK, restart. System managed size does as well where 50 GB are free.",
	}
	closeForRAM = cause.Cure{
		Fix: "close_other_apps", Title: "Close browser and games, then run it again", Cost: "Free.",
		Told: "Task Manager, Performance, Memory: \"Committed x / y GB\" should leave 10 GB or more before a model loads.",
	}
	// roomSystems are what to look at where the log does not show the system.
	roomSystems = []cause.Way{
		{For: "Windows", Text: "Task Manager, Performance, Memory: is \"Committed x / y\" nearly full while it runs? Then a larger page file: `sysdm.cpl`, Advanced, Performance: Settings, Advanced, Virtual memory: untick automatic, 16384 to 49152 MB, Set, restart"},
		{For: "Linux", Text: "`free -h` and `sudo dmesg -T | tail` while it runs: full RAM, or a line of the driver"},
	}
)

// roomLeft is about a card that refused with room to spare.
func roomLeft(id string, holds func(*ledger.Case) bool, keepFree cause.Cure, sources ...string) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: when.All(holds, ledger.Roomy, notAMD), Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was refused {asked} although {free} of the card was free",
		Means:    "The card was not full. On Windows every piece of card memory is booked against RAM plus page file as well, and models that wait in RAM use that up: the usual reason for this contradiction. Else another program held the card for just that moment. The log does not show which.",
		Not:      "A smaller image or model for the card's sake: {free} of it was free.",
		Cures: []cause.Cure{
			{Fix: "raise_pagefile", Title: largerPageFile.Title, Told: largerPageFile.Told, Cost: largerPageFile.Cost, If: (*ledger.Case).Windows},
			{Fix: "raise_pagefile", Title: "Look at the computer's own memory", Ways: roomSystems, Cost: "Disk space.", If: when.Not((*ledger.Case).Windows)},
			{Fix: "close_other_apps", Title: "Restart and run it alone", Told: "Restart the computer (or at least the program), leave browser and games closed, and watch `nvidia-smi -l 1` while it runs.", Cost: "Free."},
			keepFree,
		},
		Sources: sources,
	}
}

// amdRoomLeft is the same where the driver's figures are ROCm's.
func amdRoomLeft(id string, holds func(*ledger.Case) bool, keepFree cause.Cure, sources ...string) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(holds, ledger.Roomy, when.Not(notAMD), when.Not(carvedOut)), Cause: cause.SoftwareBug, Weight: cause.Strong,
		Headline: "was refused {asked} although {free} of the card was free",
		Means:    "An AMD card, and not a full one: {mine%} of {total} is this program's[[, {slack} of it unused reserve]]. So ROCm or the driver refused for another reason: on Windows RAM plus page file are used up, against which card memory is booked as well; a limit below the card's size (an APU: about half of RAM); or memory that came free a moment later. The log cannot tell these apart.",
		Not:      "`PYTORCH_HIP_ALLOC_CONF=expandable_segments:True`:[[ it could gain {slack} at most, and]] many ROCm builds do not support it.",
		Cures: []cause.Cure{
			{Fix: "raise_pagefile", Title: "Find what is short while it runs", Ways: []cause.Way{
				roomSystems[0],
				{For: "Linux", Text: "`rocm-smi --showmeminfo vram gtt` while it runs, then `sudo dmesg -T | grep -i amdgpu`: a card that stops at about the same figure each time has a limit"},
			}, Cost: "Free to look."},
			keepFree,
			{Fix: "upgrade_version", Title: "Driver, ROCm and PyTorch that match", Told: "Update the AMD driver and take PyTorch from the wheels made for that ROCm version; then the program itself.", Cost: "Half an hour."},
		},
		Later:   "If it always stops near the same amount, treat that amount as the card's size: smaller image, fp8 or GGUF files.",
		Sources: sources,
	}
}

// othersHold is about a card of which others hold a large part.
func othersHold(id, shown string, holds func(*ledger.Case) bool, sources ...string) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: when.All(holds, ledger.Crowded, when.Not(ledger.Roomy)), Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "ran out of graphics memory: {others%} of the card is neither free nor PyTorch's",
		Means:    "PyTorch counts {mine} of {total} as its own in " + shown + "; {others} is neither free nor in that count. Beside some hundred MiB of the driver's that is {whose}.[[ {enough}]]",
		Figures:  outside,
		Not:      "A smaller model alone: its weights are not what holds that. Allocator settings: they do not reach it either.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: seeWho.Title, Told: seeWho.Told, Steps: whoHolds, Cost: seeWho.Cost, If: othersMost},
			{Fix: "close_other_apps", Title: seeWho.Title, Told: seeWho.Told, Steps: whoHolds, Cost: seeWho.Cost, If: when.Not(othersMost)},
			{Fix: "restart_session", Title: "Restart it alone", Told: "Close all its windows, see that no python process is left, start it once. The browser without hardware acceleration frees some hundred MB more.", Cost: "Models load again."},
			{Fix: "lower_resolution", Title: "Until then, less at once", Told: "Half the width and height, batch 1; video: fewer frames.", Cost: "Detail."},
		},
		Sources: sources,
	}
}

var seeWho = cause.Cure{
	Title: "See who holds the card, end what is yours", Told: "Look while it is closed, then while it runs: what is full only then is its own. On Windows: Task Manager, Details, column Dedicated GPU memory.", Cost: "Free; what you end loses its unsaved work.",
}

// whoHolds lists what is on the card.
func whoHolds(c *ledger.Case) []step.Step {
	if notAMD(c) {
		return []step.Step{{Kind: "shell", Text: "nvidia-smi"}}
	}
	return []step.Step{{Kind: "shell", Text: "rocm-smi --showmeminfo vram --showpids"}}
}

// outside is what else may hold what PyTorch does not count.
func outside(c *ledger.Case) map[string]string {
	out := map[string]string{"whose": "something else as a rule: a second copy that did not end, the browser, a game, another AI program", "enough": ""}
	if c.Shortfall.Has() && c.Others.Bytes > c.Shortfall.Bytes+units.GiB {
		out["enough"] = "Were it free, the refused piece would fit."
	}
	if !notAMD(c) {
		out["whose"] = "something else (a second copy, a browser, a game), or MIOpen's workspaces in this same program, which PyTorch does not count either: the log cannot tell"
	}
	return out
}

// othersMost: more than half of the card is not this program's.
func othersMost(c *ledger.Case) bool { return c.Others.Bytes*2 > c.Total.Bytes }

func notAMD(c *ledger.Case) bool { return c.Backend != "rocm" }

// underflow is a free figure just below 2^64 bytes.
func underflow(c *ledger.Case) string {
	if c.Contains("1717986918") {
		return "The 17179869184 GiB that it calls free are a number below zero. "
	}
	return ""
}

// conv3dRegression is a convolution over frames for which PyTorch 2.9 does not
// take cuDNN: its own way unfolds the input into one huge piece.
func conv3dRegression(id string, holds func(*ledger.Case) bool, more ...cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"F.conv3d(", "torch.conv3d("}, If: when.All(holds, torch29, hugePiece, notAMD),
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "asked for {asked} in one piece for a convolution: PyTorch 2.9 is known for that",
		Means:    "It failed in a `conv3d` of the VAE, with sampling done. The line numbers in the traceback are those of PyTorch 2.9, which at 16 bit no longer takes cuDNN for it and unfolds the input instead: several times the memory of 2.8, here {asked}. The PyTorch project has confirmed it.",
		Not:      "Attention, a smaller or quantised model, sliders for preserved memory, `expandable_segments`: it is one convolution after the sampling.",
		Cures: append([]cause.Cure{
			{Fix: "upgrade_version", Title: "Another PyTorch, or cuDNN 9.15 for this one", Told: "In the Python that starts the program. Or stay: 2.9.1 takes cuDNN again with `pip install -U \"nvidia-cudnn-cu12>=9.15\"` (2.9.0 does not).", Kind: "shell", Text: "pip install torch==2.8.0 torchvision==0.23.0 torchaudio==2.8.0 --index-url https://download.pytorch.org/whl/cu128", Cost: "A download; xformers and other kernels must match."},
		}, more...),
		Sources: []string{"https://github.com/pytorch/pytorch/issues/166643", "https://github.com/pytorch/pytorch/issues/166790", "https://github.com/nvidia-cosmos/cosmos-transfer2.5/pull/227", comfyThread + "10827"}, Solved: 2,
	}
}

// torch29: where module.py calls forward in PyTorch 2.9.
func torch29(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return strings.HasSuffix(x.File, "torch/nn/modules/module.py") && (x.At == 1775 && x.Function == "_wrapped_call_impl" || x.At == 1786 && x.Function == "_call_impl")
	})
}

// hugePiece: two GiB and more at once.
func hugePiece(c *ledger.Case) bool { return ledger.Requested(c) >= 2*units.GiB }

// apuCarvedOut is a graphics unit inside the processor with its fixed part of RAM.
func apuCarvedOut(id string, holds func(*ledger.Case) bool, lean cause.Cure, sources ...string) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: when.All(holds, carvedOut), Cause: cause.ModelTooLarge, Weight: cause.Decisive,
		Headline: "has only {total}: the part of RAM that the BIOS gives this graphics unit",
		Means:    "This is no graphics card but the unit inside the processor (or a card of 1 GB), and PyTorch takes the part that the firmware sets aside, {total}, for all there is. [[{underflow}]]The smallest usual model, SD 1.5, is about 2 GB at 16 bit; no flag makes it fit.",
		Figures:  func(c *ledger.Case) map[string]string { return map[string]string{"underflow": underflow(c)} },
		Not:      "`max_split_size_mb` or a smaller image: the weights alone are several times {total}.",
		Cures: []cause.Cure{
			{Fix: "bigger_gpu", Title: "Give the graphics unit more RAM", Told: "BIOS setup: UMA Frame Buffer Size (also called Dedicated Graphics Memory), 4 GB, better 8 or more; the system loses as much. The line `Total VRAM` at the start shows whether it took.", Cost: "RAM for the rest."},
			lean,
			{Fix: "use_smaller_model", Title: "SD 1.5 at 512 x 512, a pruned fp16 file", Told: "SDXL and Flux are out of reach here; on the processor alone (`--cpu` in ComfyUI) SD 1.5 takes minutes an image.", Cost: "Quality."},
		},
		Sources: sources,
	}
}

var comfyPlaces = []cause.Card{
	apuCarvedOut("comfyui/carved-out", of("comfyui"), cause.Cure{Fix: "lowvram_mode", Title: "Then start it lean", Cost: "Slow.", Steps: comfyStart("", step.Change{Flag: "--lowvram"}, step.Change{Flag: "--cpu-vae"})}, comfyThread+"2431", comfyThread+"4341"),
	amdRoomLeft("comfyui/amd-room-left", of("comfyui"), comfyHoldLess, comfyThread+"9529", comfyThread+"4271", comfyCode+"comfy/cli_args.py"),
	roomLeft("comfyui/room-left", of("comfyui"), smallerFile, comfyThread+"9139", comfyThread+"7036"),
	othersHold("comfyui/others-hold", "ComfyUI", of("comfyui"), comfyCode+"comfy/model_management.py"),
}

// of holds where one of the programs takes part.
func of(programs ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.In(programs...) }
}
