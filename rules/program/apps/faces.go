package apps

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Programs that change faces with ONNX models. Their readers use a page, so what
// they can do is set there, or to start the program or Colab's session anew.

// FaceFusion runs ONNX models in several threads.
var FaceFusion = program.Program{
	Name: "facefusion", Shown: "FaceFusion",
	Proofs:  []string{"[FACEFUSION", "facefusion/facefusion/", "facefusion/processors/"},
	Like:    []*program.Program{&Faces},
	Sources: program.Sources{"facefusion/facefusion/program.py": "--execution-thread-count --video-memory-strategy --execution-providers"},
	Steps: kit.Steps{
		"lower_parallel": faceFusion(step.Change{Flag: "--execution-thread-count", Value: "1"}),
		"lowvram_mode":   faceFusion(step.Change{Flag: "--execution-thread-count", Value: "2"}, strictMemory),
		"cpu_offload":    faceFusion(step.Change{Flag: "--execution-providers", Value: "cpu"}),
	},
	Cards: kit.Cards(
		cause.Card{
			ID: "facefusion/full-before", Kinds: arenas, If: when.All(func(c *ledger.Case) bool { return c.In("facefusion") }, crumb), Cause: cause.RetainedMemory, Weight: cause.Strong,
			Headline: "could not get even {asked}: memory was already full",
			Means:    "Such a small request did not fill the memory. Models and threads of this program did, or another program. The message does not say whether RAM or GPU memory is full.",
			Cures: append(again("FaceFusion"),
				bothMemories,
				cause.Cure{Fix: "lower_parallel", Title: "Use one thread and one processor at a time", Told: "On its page set Execution Thread Count 1. Tick face_swapper alone; run the enhancers afterwards.", Cost: "Slower."},
			),
			Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://github.com/facefusion/facefusion/blob/4ffae94bac5add57a360066969ff991cbf8f9e5f/facefusion/wording.py"},
		},
		cause.Card{
			ID: "facefusion/ram", Kinds: kit.OffRAM, If: func(c *ledger.Case) bool { return c.In("facefusion") }, Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "ran out of system memory (RAM), not GPU memory",
			Means:    "Every thread holds the frames of its queue at full size, with copies of them while it works; 4K frames have 24 MB each. The models are in RAM too before they go to the card.",
			Not:      "`--video-memory-strategy`: it is about GPU memory.",
			Cures: []cause.Cure{
				{Fix: "lower_parallel", Title: "Fewer threads, a queue of one", Told: "On its page set Execution Thread Count 2 and Execution Queue Count 1. Or:", Steps: faceFusion(step.Change{Flag: "--execution-thread-count", Value: "2"}, step.Change{Flag: "--execution-queue-count", Value: "1"}), Cost: "Slower."},
				{Fix: "lower_resolution", Title: "Scale the video down, or work on parts of it", Kind: "shell", Text: "ffmpeg -i target.mp4 -vf scale=-2:1080 smaller.mp4", Cost: "Detail."},
				kit.ManagePage, kit.AddSwap,
				{Fix: "close_other_apps", Title: "Close other programs", Told: "Browser and games first.", Cost: "Free."},
			},
			Sources: []string{"https://github.com/facefusion/facefusion/blob/master/facefusion/program.py", "https://github.com/facefusion/facefusion/blob/master/facefusion/wording.py"},
		},
		cause.Card{
			// Logger names of 1.x and 2.0: facefusion/processors/frame/modules/*.py.
			ID: "facefusion/first-threads", Kinds: ortKinds, Said: []string{"FACEFUSION.FRAME_PROCESSOR"}, If: func(c *ledger.Case) bool { return c.In("facefusion") }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Means: threadsMean,
			Cures: []cause.Cure{
				{Fix: "lower_parallel", Title: "Use one thread", Told: "On its page set Execution Thread Count 1 and Execution Queue Count 1. Or:", Kind: "shell", Text: "python run.py --execution-thread-count 1", Cost: "Slower."},
				oneProcessor, kit.LookAtCard,
				{Fix: "upgrade_version", Title: "Update FaceFusion", Told: "Your version is 1.x or 2.0. Since 2.2 there is Video Memory Strategy; strict unloads unused models.", Cost: "Half an hour."},
			},
			Sources: []string{"https://github.com/facefusion/facefusion/blob/4ffae94bac5add57a360066969ff991cbf8f9e5f/facefusion/core.py", "https://github.com/facefusion/facefusion/blob/f6e56a3d/facefusion/core.py"},
		},
		cause.Card{
			ID: "facefusion/threads", Kinds: ortKinds, If: func(c *ledger.Case) bool { return c.In("facefusion") }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Means: "{threads}", Figures: threadsOf,
			Cures: []cause.Cure{
				{Fix: "lower_parallel", Title: "Use one thread and the strict memory strategy", If: when.Not(leanFaceFusion), Told: "On its page set Execution Thread Count 1 and Video Memory Strategy strict. Or:", Cost: "Slower.",
					Steps: faceFusion(step.Change{Flag: "--execution-thread-count", Value: "1"}, strictMemory)},
				oneProcessor, kit.LookAtCard,
				{Fix: "lower_resolution", Title: "Scale the video down", If: leanFaceFusion, Told: "The enhancers work on larger crops with larger frames. Face swapper pixel boost at its lowest value needs least.", Kind: "shell", Text: "ffmpeg -i target.mp4 -vf scale=-2:720 smaller.mp4", Cost: "Detail."},
			},
			Sources: []string{"https://github.com/facefusion/facefusion/blob/master/facefusion/program.py", "https://github.com/facefusion/facefusion/blob/master/facefusion.ini"},
		},
	),
}

const threadsMean = "FaceFusion works on several frames at a time, one in each thread. The models of all ticked processors (swapper, face enhancer, frame enhancer) share the card."

// leanFaceFusion: one thread and the strict strategy are on already.
func leanFaceFusion(c *ledger.Case) bool {
	return !kit.Above(1, "execution_thread_count")(c) && !kit.Unlike("video_memory_strategy", "strict")(c)
}

// threadsOf is what shares the card, with the threads that the log shows.
func threadsOf(c *ledger.Case) map[string]string {
	if !kit.Above(1, "execution_thread_count")(c) {
		return map[string]string{"threads": "One thread runs already. The models of all ticked processors (swapper, face enhancer, frame enhancer) share the card with whatever else uses it."}
	}
	return map[string]string{"threads": threadsMean}
}

var (
	strictMemory = step.Change{Flag: "--video-memory-strategy", Value: "strict"}
	oneProcessor = kit.Cure("use_smaller_model", "Run one processor at a time", "ui", "Tick face_swapper alone; enhance in a second run", "A second run.")
)

// faceFusion starts it with options changed: the reader's own command, or the
// script of the version. From 3.0 on it is facefusion.py run, before run.py.
func faceFusion(changes ...step.Change) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		script, own := "facefusion.py run", step.Typed(c, "facefusion.py run")
		if before := step.Typed(c, "run.py -"); own == nil && (before != nil || oldFaceFusion(c)) {
			script, own = "run.py", before
		}
		return []step.Step{{Kind: "shell", Text: "python " + script + " " + step.Edited(c, own, changes...)}}
	}
}

// oldFaceFusion: processors of frames had a folder of their own until 3.0.
func oldFaceFusion(c *ledger.Case) bool {
	return c.Near("FACEFUSION.FRAME_PROCESSOR") || slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return strings.Contains(x.File, "facefusion/processors/frame/") })
}

// RoopUnleashed is roop with a page in place of its options.
var RoopUnleashed = program.Program{
	Name: "roop-unleashed", Shown: "roop-unleashed", Carries: []string{"roop"},
	Proofs: []string{"roop-unleashed/"},
	Like:   []*program.Program{&Faces},
	Steps: kit.Steps{
		"lower_parallel":     step.Paste("ui", "Settings: Max. Number of Threads 1, then Restart Server"),
		"lowvram_mode":       step.Paste("ui", "Face Swap: Select post-processing: None; enhance in a second run"),
		"raise_memory_limit": step.Paste("ui", "Settings: Max. Memory to use (Gb) 0, which means no limit"),
	},
	Cards: kit.Cards(
		cause.Card{
			ID: "roop-unleashed/ram", Kinds: kit.OffRAM, If: func(c *ledger.Case) bool { return c.In("roop-unleashed") }, Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "ran out of system memory (RAM), not GPU memory",
			Means:    "Models are read into RAM before they go to the card. Frames are in RAM too, several for each thread.[[ {torn}]]", Figures: tornFile,
			Not: "A graphics card with more memory: RAM ran out.",
			Cures: append(again("roop-unleashed"),
				cause.Cure{Fix: "lower_parallel", Title: "Use one thread", Told: "In Settings set Max. Number of Threads 1 and Max. Memory to use (Gb) 0 (no limit), then Restart Server. Try one image first.", Cost: "Slower."},
				cause.Cure{Fix: "raise_memory_limit", If: onColab, Title: "Choose a runtime with more RAM", Told: "Runtime, Change runtime type: High-RAM (paid). The RAM bar at the top right shows how full it is.", Cost: "Money."},
				cause.Cure{Fix: "close_other_apps", If: when.Not(onColab), Title: "Close other programs", Told: "Browser and games first. On Windows a larger page file helps too.", Cost: "Free."},
			),
			Sources: []string{"https://github.com/C0untFloyd/roop-unleashed/blob/main/ui/tabs/settings_tab.py", "https://github.com/C0untFloyd/roop-unleashed/blob/main/roop/core.py"},
		},
		cause.Card{
			ID: "roop-unleashed/models", Kinds: ortKinds, If: func(c *ledger.Case) bool { return c.In("roop-unleashed") }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Means: "Face detector, swapper, mask and enhancer are separate models that share the memory. Each thread works on its own frame, so more threads need more.",
			Cures: append(again("roop-unleashed"),
				cause.Cure{Fix: "lower_parallel", Title: "Use one thread", Told: "In Settings set Max. Number of Threads 1, then Restart Server.", Cost: "Slower."},
				cause.Cure{Fix: "use_smaller_model", Title: "Leave the enhancer out", Told: "Face Swap: Select post-processing None, Subsample upscale to 128px. In Settings tick Force CPU for Face Analyser.", Cost: "Softer faces."},
			),
			Sources: []string{"https://github.com/C0untFloyd/roop-unleashed/blob/main/ui/tabs/faceswap_tab.py", "https://github.com/C0untFloyd/roop-unleashed/blob/main/ui/tabs/settings_tab.py"},
		},
	),
}

// tornFile: a model that is read, and whose file may be the reason.
func tornFile(c *ledger.Case) map[string]string {
	if c.Contains(".onnx") {
		return map[string]string{"torn": "If RAM is free, the model file may be damaged and ask for absurd sizes: delete it and let it download again."}
	}
	return map[string]string{"torn": ""}
}

var arenas = []fact.Kind{fact.ORTAlloc, fact.ORTLimit, fact.ORTDevice}

// crumb is a request that cannot have filled anything.
func crumb(c *ledger.Case) bool {
	r := ledger.Requested(c)
	return r > 0 && r <= 16*units.MiB
}

// onColab: Colab keeps what it runs in a folder of its own.
func onColab(c *ledger.Case) bool { return c.Near("/content/") || c.In("colab") }

// bothMemories is where the message leaves open which memory it was.
var bothMemories = cause.Cure{Fix: "close_other_apps", Title: "See which memory is full", Cost: "Free.", Ways: []cause.Way{
	{For: "Linux, Colab", Text: "run `nvidia-smi` and `free -h` (in a Colab cell with `!` before each)"},
	{For: "Windows", Text: "Task Manager, Performance: look at Memory, and at \"Dedicated GPU memory\" under GPU. Close browsers and games"},
}}

// again ends a program and starts it anew, as its readers can.
func again(shown string) []cause.Cure {
	return []cause.Cure{
		{Fix: "restart_session", If: onColab, Title: "Restart the Colab session", Told: "Runtime, Restart session. Then run only the cells that start " + shown + ".", Cost: "A minute."},
		{Fix: "restart_session", If: when.Not(onColab), Title: "End " + shown + " and start it again", Told: "This frees what earlier runs left. If the error comes back at once, another program may use the memory.", Cost: "A minute."},
	}
}
