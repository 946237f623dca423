package pictures

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// large: what was refused is a piece such as a VAE asks for.
func large(c *ledger.Case) bool { return c.Asked.Bytes >= units.GiB }

// smallSegments is for a PyTorch without expandable segments.
var smallSegments = cause.Cure{
	Fix: "max_split_size", Title: "Set max_split_size_mb", Cost: "some speed", Told: "Set this before you start the program:",
	Steps: func(c *ledger.Case) []step.Step {
		return code.AllocConf(c, "max_split_size_mb:512")
	},
}

// stills: the program makes no videos.
func stills(c *ledger.Case) bool { return c.In("fooocus", "a1111", "forge", "invokeai") }

// amdOnWindows: there is no rocm-smi.
func amdOnWindows(c *ledger.Case) bool { return c.Windows() && c.Backend == "rocm" }

// makesPictures: that is what the reader does.
func makesPictures(c *ledger.Case) bool {
	return c.Reader.Work == "image-generation" || c.Reader.Work == "video-generation"
}

// Slack is a program's card about memory that lies unused in pieces where pictures
// are made: the parts of such a program take turns.
func Slack(id string, makes func(*ledger.Case) bool) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc}, Cause: cause.Fragmentation, Weight: cause.Good,
		If: func(c *ledger.Case) bool {
			return makes(c) && !c.Training() && c.Slack.Bytes >= units.GiB && c.Slack.Bytes > c.Asked.Bytes && !clues.LiveFills(c)
		},
		Headline: "ran out of memory while {slack} was reserved but unused (fragmentation)",
		Means:    "{slack} of PyTorch's reserved memory is unused, but split into blocks too small for {asked}. Text encoder, model and VAE take turns and need blocks of different sizes, which leaves gaps.",
		Later:    "If it fails again with little unused memory, it really needs more: use a smaller image (video: fewer frames).",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", If: large},
			{Fix: "expandable_segments", If: when.All(reader.HasExpandableSegments, when.Not(large))},
			{Fix: smallSegments.Fix, If: when.Not(when.Any(reader.HasExpandableSegments, large)), Title: smallSegments.Title, Told: smallSegments.Told, Cost: smallSegments.Cost, Steps: smallSegments.Steps},
			{Fix: "lower_resolution", If: stills, Title: "Use a lower resolution", Cost: "detail"},
			{Fix: "lower_resolution", If: when.Not(stills), Title: "Use fewer frames, or a lower resolution", Cost: "detail"},
			{Fix: "expandable_segments", If: when.All(reader.HasExpandableSegments, large)},
			{Fix: smallSegments.Fix, If: when.All(large, when.Not(reader.HasExpandableSegments)), Title: smallSegments.Title, Told: smallSegments.Told, Cost: smallSegments.Cost, Steps: smallSegments.Steps},
			{Fix: "restart_session", If: amdOnWindows, Title: "Restart the program before the next run", Told: "Task Manager (Performance, GPU) shows whether its memory is free before you start it again.", Cost: "models load again"},
			{Fix: "restart_session", If: when.Not(amdOnWindows), Title: "Restart the program before the next run", Cost: "models load again"},
		},
		Sources: []string{"pytorch/c10/cuda/CUDACachingAllocator.cpp", "https://pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf"},
	}
}
