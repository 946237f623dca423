package makers

import (
	"slices"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// notNamed: no program with settings that are known runs ncnn here.
func notNamed(c *ledger.Case) bool {
	return !inside(c) && !c.In("ncnn-vulkan", "rife-ncnn-vulkan", "rve")
}

const ncnnMeans = "\"vkAllocateMemory failed -2\" means that the GPU has no memory left. The result can be black or have holes."

// freeVulkan is for cards of any maker.
var freeVulkan = cause.Cure{Fix: "close_other_apps", Title: "Close other programs that use the GPU", Cost: "Free.", Told: "Browsers, games and other AI programs. Windows: Task Manager, tab Details, column Dedicated GPU memory."}

// Programs that run networks with ncnn on Vulkan.
var (
	// Ncnn is the library under a program that the log does not name.
	Ncnn = program.Program{
		Name: "ncnn", Shown: "A program on ncnn", Work: "vision", Edits: "flags", Language: "cpp",
		Proofs: []string{"vkAllocateMemory failed -", "Using backend: ncnn"},
		Steps: steps{
			"vae_tiling":       step.Paste("text", "In an upscaler set the tile size to 200, then 100, then 32 (0 means automatic)."),
			"lower_parallel":   step.Paste("text", "Process one image, stream or thread at a time. Upscale and interpolate in separate runs."),
			"lower_resolution": step.Paste("text", "Scale the input down first, or crop it: half the width and height needs a quarter of the memory."),
		},
		Titles: map[string]string{"vae_tiling": "Use smaller tiles", "lower_parallel": "Run one model at a time"}, Costs: map[string]string{"lower_parallel": "Slower."},
		Remedies: order("vae_tiling", "lower_parallel", "close_other_apps", "lower_resolution"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{{
			ID: "ncnn/device", Kinds: slices.Concat(vulkan, onCard), Said: []string{"vkAllocateMemory failed -2"}, If: notNamed, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory",
			Means:    ncnnMeans + " Most programs on ncnn upscale pictures, interpolate frames or detect things. Memory grows with the pixels of a tile or frame, and with how many run at once.",
			Cures:    append(theirs("vae_tiling", "lower_parallel", "lower_resolution"), freeVulkan), Sources: []string{"ncnn/src/allocator.cpp"},
		}},
	}
	// NcnnFrames make frames in between, and know no tiles.
	NcnnFrames = program.Program{
		Name: "rife-ncnn-vulkan", Shown: "The ncnn-vulkan interpolator", Carries: []string{"ncnn"}, Work: "vision", Edits: "flags", Language: "cpp",
		Proofs:  []string{"rife-ncnn-vulkan", "cain-ncnn-vulkan"},
		Sources: program.Sources{"rife-ncnn-vulkan/src/main.cpp": "-u -j -g"},
		Steps: steps{
			"lower_resolution": step.Paste("text", "Scale the frames down first: half the width and height needs a quarter of the memory. For 4K frames, rife-ncnn-vulkan has `-u` (UHD mode)."),
			"lower_parallel":   step.Paste("text", "Add `-j 1:1:1` (threads for load, work, save; default 1:2:2). It then processes one pair of frames at a time."),
			"select_gpu":       step.Paste("text", "Use `-g 1` for the second GPU. The first lines of its output list the GPUs."),
		},
		Titles:   map[string]string{"lower_parallel": "Work on one pair of frames at a time", "lower_resolution": "Scale the frames down", "select_gpu": "Choose another GPU"},
		Remedies: order("lower_parallel", "lower_resolution", "close_other_apps", "select_gpu"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{{
			ID: "rife-ncnn-vulkan/frame", Kinds: slices.Concat(vulkan, onCard), If: func(c *ledger.Case) bool { return !inside(c) && !c.In("rve") }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory",
			Means:    ncnnMeans + " Each thread keeps two whole frames on the GPU, and two threads run at once by default.",
			Not:      "A shorter video: only a few frames are on the GPU at a time.",
			Cures:    append(theirs("lower_parallel", "lower_resolution"), freeVulkan), Sources: []string{"rife-ncnn-vulkan/src/main.cpp"},
		}},
	}
	// RVE is REAL-Video-Enhancer, which runs an upscaler and an interpolator.
	RVE = program.Program{
		Name: "rve", Shown: "REAL-Video-Enhancer", Carries: []string{"ncnn", "rife-ncnn-vulkan", "rife"}, Work: "vision", Edits: "flags", Language: "python", Rank: above,
		Proofs:  []string{"REAL-Video-Enhancer", "rve-backend", "Using Interpolation Model:", "Using Upscaling Model:"},
		Sources: program.Sources{"REAL-Video-Enhancer/backend/rve-backend.py": "--tilesize"},
		Steps: steps{
			"vae_tiling":        step.Paste("ui", "Tiling on, Tile Size 256, then 128"),
			"lower_parallel":    step.Paste("text", "Upscale in one run with interpolation off. Then interpolate the result in a second run."),
			"use_smaller_model": step.Paste("ui", "Choose a lighter upscaling model, or 2x instead of 4x"),
			"lower_resolution":  step.Paste("text", "Scale the video down first: half the width and height needs a quarter of the memory."),
		},
		Titles: map[string]string{"vae_tiling": "Turn on Tiling", "lower_parallel": "Upscale and interpolate in separate runs"}, Costs: map[string]string{"lower_parallel": "Two runs."},
		Remedies: order("vae_tiling", "lower_parallel", "close_other_apps", "use_smaller_model"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{{
			ID: "rve/frame", Kinds: slices.Concat(vulkan, onCard), Cause: cause.BatchTooLarge, Weight: cause.Strong,
			If:       func(c *ledger.Case) bool { return c.Kind(vulkan...) || !ledger.Crowded(c) && !ledger.Roomy(c) },
			Headline: "ran out of GPU memory[[ ({total})]]",
			Means:    "Unless Tiling is on, whole frames go through the upscaling model, so memory grows with the frame size. Upscaling and interpolating in one run keeps both models on the GPU.",
			Not:      "A shorter video: it processes one frame, or a pair, at a time.",
			Cures:    append(theirs("vae_tiling", "lower_parallel"), freeVulkan), Sources: []string{"REAL-Video-Enhancer/backend/src/RenderVideo.py", "REAL-Video-Enhancer/testRVEInterface.ui"},
		}},
	}
)
