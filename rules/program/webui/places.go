package webui

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/webui/addon"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Cards on memory that is not where the reader looks: refused with room left,
// held by others, or never there.

var (
	largerPageFile = cause.Cure{
		Fix: "raise_pagefile", Title: "Enlarge the page file", Cost: "Disk space, a restart.",
		Told: "Press Win+R, run `sysdm.cpl`: Advanced, Performance: Settings, Advanced, Virtual memory: Change. Untick \"Automatically manage\", pick an SSD with room, Custom size 16384 to 49152 MB (more than now), Set, OK. Restart.",
	}
	closeForRAM = cause.Cure{
		Fix: "close_other_apps", Title: "Close browser and games", Cost: "Free.",
		Told: "In Task Manager, Performance, Memory, \"Committed x / y\": 10 GB or more should be left before a model loads.",
	}
	// roomSystems are what to look at where the log does not show the system.
	roomSystems = []cause.Way{
		{For: "Windows", Text: "watch Task Manager, Performance, Memory while it runs. If \"Committed x / y\" is nearly full, enlarge the page file: `sysdm.cpl`, Advanced, Performance: Settings, Advanced, Virtual memory: untick automatic, 16384 to 49152 MB, Set, restart"},
		{For: "Linux", Text: "run `free -h` and `sudo dmesg -T | tail` while it works: look for full RAM or a driver error"},
	}
)

// roomLeft is about a card that refused with room to spare.
func roomLeft(id string, holds func(*ledger.Case) bool, keepFree cause.Cure, sources ...string) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: when.All(holds, ledger.Roomy, notAMD), Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "could not get {asked} although {free} of the card was free",
		Means:    "The card was not full. {host} Otherwise another program may have used the card for a moment. The log does not show which.", Figures: addon.HostFull,
		Not: "Allocator settings such as `max_split_size_mb`: enough memory was free.",
		Cures: []cause.Cure{
			{Fix: "raise_pagefile", Title: largerPageFile.Title, Told: largerPageFile.Told, Cost: largerPageFile.Cost, If: (*ledger.Case).Windows},
			{Fix: "raise_pagefile", Title: "Check system memory (RAM)", Ways: roomSystems, Cost: "Free to look.", If: when.Not((*ledger.Case).Windows)},
			{Fix: "close_other_apps", Title: "Restart, and run nothing else", Told: "Restart the computer, keep browser and games closed, and watch `nvidia-smi -l 1` while it runs.", Cost: "Free."},
			keepFree,
		},
		Sources: sources,
	}
}

// amdRoomLeft is the same where the driver's figures are ROCm's.
func amdRoomLeft(id string, holds func(*ledger.Case) bool, keepFree cause.Cure, sources ...string) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(holds, ledger.Roomy, when.Not(notAMD), when.Not(carvedOut)), Cause: cause.SoftwareBug, Weight: cause.Strong,
		Headline: "could not get {asked} although {free} of the card was free",
		Means:    "The AMD card was not full. Possible reasons: RAM plus page file are full (on Windows GPU memory counts against them); a limit below the card's size (an APU gets about half of RAM); or memory was freed only a moment later. The log does not show which.",
		Not:      "`PYTORCH_HIP_ALLOC_CONF=expandable_segments:True`: many ROCm builds do not support it.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Restart with nothing else open, and watch the memory", Ways: []cause.Way{
				{For: "Windows", Text: "watch Task Manager, Performance, Memory. If \"Committed x / y\" is nearly full when it fails, enlarge the page file: `sysdm.cpl`, Advanced, Performance: Settings, Advanced, Virtual memory: untick automatic, 16384 to 49152 MB, Set, restart"},
				{For: "Linux", Text: "`watch -n1 rocm-smi --showmeminfo vram gtt`. If it always fails at the same figure, there is a limit: see `sudo dmesg -T | grep -i amdgpu`"},
			}, Cost: "Free."},
			keepFree,
			{Fix: "upgrade_version", Title: "Update driver, ROCm and PyTorch together", Told: "Update the AMD driver, install the PyTorch build for that ROCm version, then update the program itself.", Cost: "Half an hour."},
		},
		Later:   "If it always stops near the same amount, stay below it: a lower resolution, or fp8 or GGUF files.",
		Sources: sources,
	}
}

// othersHold is about a card of which others hold a large part.
func othersHold(id, shown string, holds func(*ledger.Case) bool, sources ...string) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: when.All(holds, crowded, when.Not(ledger.Roomy)), Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "ran out of GPU memory, but uses only {mine%} of the card itself",
		Means:    "PyTorch in " + shown + " uses {mine} of {total}; {others} is taken otherwise. The driver needs some hundred MiB of that. The rest is {whose}.[[ {enough}]]",
		Figures:  outside,
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: seeWho.Title, Told: seeWho.Told, Steps: whoHolds, Cost: seeWho.Cost, If: othersMost},
			{Fix: "close_other_apps", Title: seeWho.Title, Told: seeWho.Told, Steps: whoHolds, Cost: seeWho.Cost, If: when.Not(othersMost)},
			{Fix: "restart_session", Title: "Restart the computer, start only this program", Told: "That ends all leftover processes. Turning off hardware acceleration in the browser frees some hundred MB more.", Cost: "Free."},
			addon.LessWork, addon.StillLess,
		},
		Sources: sources,
	}
}

var seeWho = cause.Cure{
	Title: "Find and close what else is on the card", Told: "Close this program, then list what is still on the card (Windows also: Task Manager, Details, column Dedicated GPU memory). End leftover python processes, games, browsers.", Cost: "Free.",
}

// whoHolds lists what is on the card.
func whoHolds(c *ledger.Case) []step.Step {
	if notAMD(c) {
		return []step.Step{{Kind: "shell", Text: "nvidia-smi"}}
	}
	if c.Windows() {
		return []step.Step{{Kind: "ui", Text: "Task Manager, Details: sort by Dedicated GPU memory"}}
	}
	return []step.Step{{Kind: "shell", Text: "rocm-smi --showmeminfo vram --showpids"}}
}

// outside is what else may hold what PyTorch does not count.
func outside(c *ledger.Case) map[string]string {
	out := map[string]string{"whose": "usually another program (a second copy that did not end, a browser, a game), or memory that this program uses outside PyTorch; the log does not show which", "enough": ""}
	if c.Shortfall.Has() && c.Others.Bytes > c.Shortfall.Bytes+units.GiB {
		out["enough"] = "If that were free, the request would fit."
	}
	if uncounted(c) {
		out["whose"] = "usually another program (a second copy that did not end, a browser, a game), or freed memory that this allocator (cudaMallocAsync) keeps but does not count; the log does not show which"
	}
	for _, x := range c.F().OtherProcesses {
		if x.Real() && !x.Own && 4*x.Bytes > c.Total.Bytes {
			out["whose"] = fmt.Sprintf("mostly process %d, which holds %s: another program, or a second copy of this one", x.PID, units.Amount(x.Bytes))
			return out
		}
	}
	if !notAMD(c) {
		out["whose"] = "another program (a second copy, a browser, a game), or workspace of AMD's MIOpen in this same program; the log does not show which"
	}
	return out
}

// othersMost: more than half of the card is not this program's.
func othersMost(c *ledger.Case) bool { return c.Others.Bytes*2 > c.Total.Bytes }

func notAMD(c *ledger.Case) bool { return c.Backend != "rocm" }

// conv3dRegression is a convolution over frames for which PyTorch 2.9 does not
// take cuDNN: its own way unfolds the input into one huge piece.
func conv3dRegression(id string, holds func(*ledger.Case) bool, more ...cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"F.conv3d(", "torch.conv3d("}, If: when.All(holds, addon.Torch29, hugePiece, notAMD), Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "asked for {asked} at once in a 3D convolution: most likely a known bug of PyTorch 2.9",
		Means:    "It failed in a `conv3d`, most likely in a video VAE. The traceback's line numbers match PyTorch 2.9. At 16 bit that version does not use cuDNN here and needs several times the memory of 2.8. The PyTorch project has confirmed this.",
		Not:      "`expandable_segments`: this is one single request of {asked}.",
		Cures: append([]cause.Cure{
			{Fix: "upgrade_version", Title: "Install PyTorch 2.8, or cuDNN 9.15 with 2.9.1", Told: "Run this in the Python that starts the program. Or keep PyTorch 2.9.1 and run `pip install -U \"nvidia-cudnn-cu12>=9.15\"` (this does not help 2.9.0).", Kind: "shell", Text: "pip install torch==2.8.0 torchvision==0.23.0 torchaudio==2.8.0 --index-url https://download.pytorch.org/whl/cu128", Cost: "A download; xformers and other kernels must match."},
		}, more...),
		Sources: []string{"https://github.com/pytorch/pytorch/issues/166643", "https://github.com/pytorch/pytorch/issues/166790", "https://github.com/nvidia-cosmos/cosmos-transfer2.5/pull/227", comfyThread + "10827"}, Solved: 2,
	}
}

// hugePiece: two GiB and more at once.
func hugePiece(c *ledger.Case) bool { return ledger.Requested(c) >= 2*units.GiB }

// apuCarvedOut is a graphics unit inside the processor with its fixed part of RAM.
func apuCarvedOut(id string, holds func(*ledger.Case) bool, lean cause.Cure, sources ...string) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: when.All(holds, carvedOut), Cause: cause.ModelTooLarge, Weight: cause.Decisive,
		Headline: "found only {total} of GPU memory",
		Means:    "Most likely this is an integrated GPU, and {total} is the part of RAM that the BIOS reserves for it. [[{underflow}]]Even the smallest common model, SD 1.5, has about 2 GB of weights at 16 bit.",
		Figures:  func(c *ledger.Case) map[string]string { return map[string]string{"underflow": addon.Underflow(c)} },
		Not:      "`max_split_size_mb`, a smaller image: the weights alone are larger than {total}.",
		Cures: []cause.Cure{
			{Fix: "bigger_gpu", Title: "Raise the GPU's share of RAM in the BIOS", Told: "Set UMA Frame Buffer Size (or Dedicated Graphics Memory) to 4 GB, better 8 or more. The program shows the new size when it starts.", Cost: "Less RAM for other programs."},
			lean,
			{Fix: "use_smaller_model", Title: "Use SD 1.5 at 512 x 512, a pruned fp16 file", Told: "SDXL and Flux need far more. SD 1.5 also runs on the CPU (`--cpu` in ComfyUI), in minutes for each image.", Cost: "Lower quality."},
		},
		Sources: sources,
	}
}

var comfyPlaces = []cause.Card{
	apuCarvedOut("comfyui/carved-out", of("comfyui"), cause.Cure{Fix: "lowvram_mode", Title: "Then start with `--lowvram --cpu-vae`", Cost: "Slow.", Steps: comfyStart("", step.Change{Flag: "--lowvram"}, step.Change{Flag: "--cpu-vae"})}, comfyThread+"2431", comfyThread+"4341"),
	amdRoomLeft("comfyui/amd-room-left", of("comfyui"), comfyHoldLess, comfyThread+"9529", comfyThread+"4271", comfyCode+"comfy/cli_args.py"),
	roomLeft("comfyui/room-left", of("comfyui"), smallerFile, comfyThread+"9139", comfyThread+"7036"),
	othersHold("comfyui/others-hold", "ComfyUI", of("comfyui"), comfyCode+"comfy/model_management.py"),
}

// of holds where one of the programs takes part.
func of(programs ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.In(programs...) }
}
