package textgen

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/webui"
)

const koboldCode = "https://github.com/KoboldAI/KoboldAI-Client/blob/main/"

// koboldLayers is KoboldAI's own split of a model over cards, RAM and disk.
var koboldLayers = cause.Cure{
	Fix: "fewer_gpu_layers", Title: "Give the GPU fewer layers", Told: "When you choose the model, move the slider of the GPU down by a quarter; the rest goes to the CPU. On the command line:", Kind: "config", Text: "--breakmodel_gpulayers 20", Cost: "slower",
}

// koboldFewer is that for weights that did not fit: how many more there are the
// message does not say.
var koboldFewer = cause.Cure{
	Fix: "fewer_gpu_layers", Title: "Give the GPU half as many layers", Told: "Restart KoboldAI. When you choose the model, set the slider of the GPU to half; the rest goes to the CPU, or to Disk cache if RAM is short. Raise it by one or two while room stays. On the command line: `--breakmodel_gpulayers`.", Cost: "slower",
}

// koboldLoads are the frames that read weights: the layers are moved to their
// devices while the checkpoint is read.
var koboldLoads = []string{"tried to load your model", "in load_model", "in load_state_dict", "in lazy_load_callback", "in torch_load"}

var koboldSmaller = cause.Cure{
	Fix: "use_lower_quant", Title: "Use KoboldCpp with a GGUF file instead", Told: "It has the same web page, but runs quantised models: Q4_K_M needs about 0.6 GB for each billion parameters; KoboldAI needs 2 GB.", Cost: "another program; slight loss of quality",
}

// KoboldAI is the page for stories that loads models with Transformers; KoboldCpp
// came after it.
var KoboldAI = program.Program{
	Name: "koboldai", Shown: "KoboldAI", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs: []string{"aiserver.py", "KoboldAI-Client", "KoboldAI ran out of memory", "when KoboldAI tried", "__main__:generate:"},
	Sources: program.Sources{
		"KoboldAI-Client/aiserver.py": "--breakmodel_gpulayers --breakmodel_disklayers --lowmem",
	},
	Cards: []cause.Card{
		{
			ID: "koboldai/ram", Kinds: append([]fact.Kind{fact.CPUAlloc, fact.CommitLimit, fact.PythonMemory}, webui.Killed...), Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "ran out of system memory (RAM), not GPU memory",
			Means:    "The model passes through RAM on its way to the GPU, and layers that are not on a GPU stay in RAM.",
			Not:      "Fewer layers on the GPU: that puts more into RAM.",
			Cures:    []cause.Cure{webui.LetWindowsPage, {Fix: "cpu_offload", Title: "Put layers into the disk cache", Told: "When you choose the model, use the slider Disk cache instead of the CPU. Starting with `--lowmem` also needs less RAM.", Cost: "much slower"}, koboldSmaller},
			Sources:  []string{koboldCode + "aiserver.py"},
		},
		{
			ID: "koboldai/load", Kinds: append(slices.Clone(torchFull), fact.DeviceAlloc), Said: koboldLoads, Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "did not load: the layers for the GPU do not fit on it",
			Means:    "KoboldAI loads models at 16 bit: 2 GB for each billion parameters (6B: 12 GB, 13B: 26 GB), plus 1 to 2 GB for the story. You choose how many layers go to the GPU; KoboldAI does not check that they fit.",
			Not:      "Fewer Max Tokens: no story was read yet.",
			Cures:    []cause.Cure{koboldFewer, koboldSmaller, {Fix: "close_other_apps", Title: "See what else is on the GPU", Kind: "shell", Text: "nvidia-smi", Cost: "free"}},
			Sources:  []string{koboldCode + "aiserver.py", koboldCode + "breakmodel.py"},
		},
		{
			ID: "koboldai/story", Kinds: torchFull, Unsaid: koboldLoads, Cause: cause.ContextTooLong, Weight: cause.Strong,
			Headline: "ran out of GPU memory while it wrote",
			Means:    "The model is loaded, but the story needs memory too, and more the longer it gets (up to Max Tokens). So it can work for a while and fail once the story is long.",
			Not:      "Starting a new story: it grows to the same length.",
			Cures: []cause.Cure{
				{Fix: "lower_context", Title: "Lower Max Tokens and Amount to Generate", Told: "In Settings: Max Tokens 1024 (or three quarters of the current value), Amount to Generate 60, Gens Per Action 1.", Cost: "it sees less of the story"},
				koboldLayers, koboldSmaller,
			},
			Sources: []string{koboldCode + "aiserver.py", koboldCode + "gensettings.py"},
		},
	},
}
