// Package survey knows programs that make maps and models of photographs.
package survey

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// card are the cures of a full graphics card.
var card = cause.InOrder("lower_resolution", "lower_num_workers")

// OpenDroneMap is ODM, also under WebODM: a chain of compiled programs.
var OpenDroneMap = program.Program{
	Name: "opendronemap", Shown: "OpenDroneMap", Carries: []string{"openmvs"}, Work: "vision", Edits: "flags", Language: "cpp",
	Sources: program.Sources{"ODM/opendm/config.py": "--auto-boundary --max-concurrency --pc-quality --feature-quality --split --split-overlap --depthmap-resolution"},
	Proofs:  []string{"/opendm/", "/code/SuperBuild/", "smvsrecon"},
	Titles:  map[string]string{"lower_num_workers": "Set --max-concurrency 1", "lower_resolution": "Use a coarser point cloud", "stream_dataset": "Split the images"},
	Remedies: map[string][]cause.Remedy{
		cause.HostMemory:    cause.InOrder("raise_memory_limit", "lower_num_workers", "lower_resolution", "stream_dataset"),
		cause.BatchTooLarge: card, cause.ModelTooLarge: card, cause.OversizedAllocation: card, cause.RetainedMemory: card, cause.Unknown: card,
	},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_num_workers": step.Paste("text", "In WebODM: Edit, max-concurrency. Each parallel process needs its own memory."),
		"lower_resolution":  step.Paste("text", "Set `--pc-quality low` and `--feature-quality medium`, or resize the images to 2048 pixels when you create the task. Before 2021 the first option was `--depthmap-resolution 320`."),
		"stream_dataset":    step.Paste("text", "Set `--split 100 --split-overlap 100`: parts of 100 images, joined at the end."),
	},
	Cards: []cause.Card{{
		ID: "opendronemap/size", Kinds: []fact.Kind{fact.BadAlloc, fact.PlainHost, fact.NativeAlloc}, If: func(c *ledger.Case) bool { return ledger.Requested(c) >= cause.NoMachine },
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "asked for {asked} at once, which no computer has",
		Means: "No real image or point cloud needs that. Usually the reconstruction is wrong: some cameras or points lie far away from the rest (frames of a video without positions, blurred or repeated pictures), and a map of the whole extent is computed.",
		Not:   "More RAM, swap, or a larger limit of Docker.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Keep the reconstruction to where the cameras are", Kind: "config", Text: "--auto-boundary", Cost: "what lies outside is left out"},
			{Fix: "lower_batch_size", Title: "Give it fewer and sharper pictures", Told: "Leave out blurred and nearly equal frames, and keep 70 % overlap. `opensfm/stats` and the sparse point cloud show which cameras lie far away: leave those out.", Cost: "some work"},
			{Fix: "lower_resolution", Title: "Lower the quality settings, as a test", Told: "`--pc-quality low --feature-quality medium`. If that runs, the size came from the dense point cloud. Otherwise update ODM, and report it with this number.", Cost: "less detail"},
		},
		Sources: []string{"ODM/opendm/config.py", "https://docs.opendronemap.org/arguments/auto-boundary/"},
	}, {
		ID: "opendronemap/ram", Kinds: []fact.Kind{fact.BadAlloc, fact.ShellKilled, fact.PythonMemory, fact.PlainHost, fact.NativeAlloc},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of system memory (RAM) in one of its steps",
		Means: "One of ODM's programs could not get RAM, or was killed (exit code 134 is an abort, 137 a kill). ODM's guide asks for 16 GB of RAM plus swap for 250 images, 32 GB for 500 and 64 GB for 1,500. Docker Desktop gives its containers only a part of the computer's RAM.",
		Not:   "Uploading the same images again.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Give Docker more memory", Told: "Docker Desktop: Settings, Resources: raise Memory and Swap. With WSL 2 set `memory=` and `swap=` in `.wslconfig` instead. Docker on Linux uses all RAM: add a swap file there.", Kind: "shell", Text: "docker info | grep -i memory   # what it has now", Cost: "Less for other programs"},
			{Fix: "lower_resolution", Title: "Lower the quality settings, or use smaller images", Own: true, Cost: "Less detail"},
			{Fix: "lower_num_workers", Title: "Set `--max-concurrency 1`", Own: true, Cost: "Slower"},
		},
		Sources: []string{"ODM/opendm/config.py", "ODM/opendm/system.py", "https://docs.opendronemap.org/arguments/"},
	}},
}
