// Package makers knows repositories and programs that make, move and mend
// pictures, films and objects by a script or page of their own.
package makers

import (
	"maps"
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/step"
)

// What refuses memory of a card, and of the computer.
var (
	onCard   = []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle, fact.DeviceAlloc, fact.PlainDevice, fact.MPSAlloc, fact.MPSBuffer}
	inRAM    = []fact.Kind{fact.CPUAlloc, fact.PythonMemory, fact.NumpyAlloc, fact.BadAlloc, fact.MmapFailed, fact.CommitLimit, fact.NativeAlloc}
	offRAM   = slices.Concat(inRAM, []fact.Kind{fact.ShellKilled, fact.KernelKill, fact.RankKilled, fact.ContainerKill})
	vulkan   = []fact.Kind{fact.PlainDevice, fact.DeviceAlloc, fact.PlainMemory, fact.PlainHost}
	ortKinds = append([]fact.Kind{fact.ORTAlloc, fact.ORTLimit, fact.ORTDevice}, onCard...)
)

// steps are those of a program by fix.
type steps = map[string]func(*ledger.Case) []step.Step

func cure(fix, title, kind, text, cost string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Kind: kind, Text: text, Cost: cost}
}

var lookAtCard = cure("close_other_apps", "See what else is on the GPU", "shell", "nvidia-smi", "Free.")

func training(c *ledger.Case) bool { return c.Training() }

// inside are programs with pages of their own that run the same code.
func inside(c *ledger.Case) bool {
	return c.In("comfyui", "a1111", "forge", "sdnext", "invokeai", "swarmui", "fooocus", "wan2gp", "kohya")
}

// pieces are refusals of a piece of the card; a bare CUDA error names none.
var pieces = []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.DeviceAlloc, fact.PlainDevice, fact.MPSAlloc, fact.MPSBuffer}

// made is a card on using such a program.
func made(id, why, means, not, source string, cures ...cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: pieces, If: func(c *ledger.Case) bool {
			return !inside(c) && !training(c) && !c.Root(inRAM...) && !ledger.Crowded(c)
		},
		Cause: why, Weight: cause.Strong, Headline: "ran out of GPU memory[[ ({total})]]",
		Means: means, Not: not, Cures: cures, Sources: []string{source},
	}
}

// part is a card on one part of its work, which words of a traceback name.
func part(id string, said []string, why, headline, means, not, source string, cures ...cause.Cure) cause.Card {
	k := made(id, why, means, not, source, cures...)
	k.Said, k.Headline, k.Weight = said, headline, cause.Decisive
	return k
}

// trained is a card on training it.
func trained(id, means, not, source string, cures ...cause.Cure) cause.Card {
	k := made(id, cause.BatchTooLarge, means, not, source, cures...)
	k.Headline = "ran out of GPU memory[[ ({total})]] while training"
	k.If = func(c *ledger.Case) bool {
		return !inside(c) && training(c) && !c.Root(inRAM...) && !ledger.Crowded(c)
	}
	return k
}

// filledRAM is a card on what such a program keeps in RAM.
func filledRAM(id, means, not, source string, cures ...cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: offRAM, If: func(c *ledger.Case) bool { return !inside(c) }, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM), not GPU memory", Means: means, Not: not, Cures: cures, Sources: []string{source},
	}
}

// near: one of the words stands near the failure. A card has to look for them.
func near(words ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.Near(words...) }
}

// futile says of fixes that they are done already, or change nothing, where a
// condition holds.
func futile(where func(*ledger.Case) bool, fixes ...string) map[string]func(*ledger.Case) string {
	return clues.Useless(where, "the log shows that it changes nothing here", fixes...)
}

// both is what two say of fixes.
func both(a, b map[string]func(*ledger.Case) string) map[string]func(*ledger.Case) string {
	out := maps.Clone(a)
	for fix, says := range b {
		first := out[fix]
		out[fix] = func(c *ledger.Case) string {
			if first != nil && first(c) != "" {
				return first(c)
			}
			return says(c)
		}
	}
	return out
}

// already is a card on a run that has its most usual fix on.
func already(id string, said []string, why, means, not, source string, cures ...cause.Cure) cause.Card {
	k := made(id, why, means, not, source, cures...)
	k.Said = said
	return k
}

// weights is a card on RAM that the weights fill while they are read.
func weights(id, means, source string, cures ...cause.Cure) cause.Card {
	k := filledRAM(id, means, "Offloading: it moves weights from the GPU into RAM.", source, append(cures,
		cause.Cure{Fix: "raise_pagefile", If: (*ledger.Case).Windows},
		cause.Cure{Fix: "add_swap", If: func(c *ledger.Case) bool { return !c.Windows() }},
		cause.Cure{Fix: "close_other_apps", Title: "Close what else takes RAM", Told: "Browsers, and other Python programs with a model loaded.", Cost: "Free."})...)
	k.Headline = "ran out of system memory (RAM), not GPU memory: its weights pass through it"
	return k
}

// theirs are the program's own fixes as cures, in this order.
func theirs(fixes ...string) []cause.Cure {
	out := make([]cause.Cure, len(fixes))
	for i, fix := range fixes {
		out[i].Fix = fix
	}
	return out
}

// order are the same fixes in the same order for whatever fills a card.
func order(fixes ...string) map[string][]cause.Remedy {
	all := inUse(fixes...)
	return map[string][]cause.Remedy{cause.BatchTooLarge: all, cause.OversizedAllocation: all, cause.ModelTooLarge: all, cause.Unknown: all}
}

var anyPhase = map[string]bool{"close_other_apps": true, "gradient_checkpointing": true, "mixed_precision": true}

// inUse are fixes of a program in use: its cards on training name their own.
func inUse(fixes ...string) []cause.Remedy {
	out := cause.InOrder(fixes...)
	for i, m := range out {
		out[i].If = func(c *ledger.Case) bool { return !c.Training() || anyPhase[m.Fix] }
	}
	return out
}

// above is the rank of repositories with a copy of another's code.
const above = 120

// without: nothing can be computed from the message.
func without(*ledger.Case) *effect.Effect { return nil }

var uncounted = map[string]func(*ledger.Case) *effect.Effect{"cpu_offload": without, "use_smaller_model": without, "lowvram_mode": without, "use_lower_quant": without, "lower_resolution": without}

// Tiles is what programs share that mend or enlarge pictures.
var Tiles = program.Program{
	Titles: map[string]string{"vae_tiling": "Work in tiles", "lower_resolution": "Scale the image down", "cpu_offload": "Run it on the CPU", "half_precision": "Compute at 16 bit"},
	Costs:  map[string]string{"vae_tiling": "Slower.", "lower_resolution": "Detail.", "cpu_offload": "Many times slower."}, Effects: uncounted,
}

// Objects is what programs share that make objects from a picture.
var Objects = program.Program{
	Titles: map[string]string{"lower_resolution": "Lower the resolution of the object", "lower_batch_size": "Process smaller chunks", "cpu_offload": "Offload models to RAM", "lowvram_mode": "Turn on its low-memory mode"},
	Costs:  map[string]string{"lower_resolution": "Detail.", "lower_batch_size": "Slower.", "cpu_offload": "Some seconds per run."}, Effects: uncounted,
}

// Scripts is what repositories share that make pictures and films.
var Scripts = program.Program{
	Titles:  map[string]string{"lower_resolution": "Lower the resolution", "lowvram_mode": "Use its low-memory options"},
	Costs:   map[string]string{"lower_resolution": "A smaller or shorter result.", "cpu_offload": "Slower; needs RAM for the weights.", "stream_dataset": "You join the parts."},
	Effects: uncounted,
}
