package apps

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/step"
)

// AudioCraft is MusicGen and AudioGen.
var AudioCraft = program.Program{
	Name: "audiocraft", Shown: "AudioCraft", Edits: "code",
	Proofs: []string{"-packages/audiocraft/", "audiocraft/models/", "audiocraft/solvers/", "dora -P audiocraft", "audiocraft/modules/", "MusicGen.get_pretrained"},
	Like:   []*program.Program{&Voices},
	Steps: kit.Steps{
		"lower_resolution":  step.Paste("python", "model.set_generation_params(duration=10)   # seconds"),
		"use_smaller_model": step.Paste("python", "model = MusicGen.get_pretrained(\"facebook/musicgen-small\")"),
		"lower_batch_size":  step.Paste("python", "for text in descriptions:   # one at a time\n    wav = model.generate([text])"),
	},
	Cards: kit.Cards(cause.Card{
		ID: "audiocraft/train", Kinds: kit.OnCard, If: (*ledger.Case).Training, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] in training",
		Means:    "Weights, gradients, Adam's two values for each weight and the activations of the batch are on each card. `dataset.batch_size` is that of all cards together.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve `dataset.batch_size`", Steps: kit.HalfBatch("config", "dataset.batch_size=%d", 4), Cost: "Slower."},
			{Fix: "use_smaller_model", Title: "Train the small language model", Kind: "config", Text: "model/lm/model_scale=small", Cost: "Plainer music."},
			{Fix: "lower_resolution", Title: "Train on shorter segments", Kind: "config", Text: "dataset.segment_duration=10", Cost: "Shorter context in training."},
		},
		Sources: []string{"https://github.com/facebookresearch/audiocraft/blob/main/docs/TRAINING.md", "https://github.com/facebookresearch/audiocraft/blob/main/docs/MUSICGEN.md"},
	}, cause.Card{
		ID: "audiocraft/generate", Kinds: kit.OnCard, Said: []string{"audiocraft/models", `audiocraft\models`, "audiocraft/modules", "musicgen", "musicgen-small"}, If: func(c *ledger.Case) bool { return !c.Training() }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]]",
		Means:    "MusicGen generates all descriptions of a call at once, with a cache that grows with the duration. Its authors recommend 16 GB for the medium model; small needs less.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Generate shorter music, one description per call", Steps: kit.Half("python", "model.set_generation_params(duration=%d)\nwav = model.generate([descriptions[0]])", 10, "duration"), Cost: "Several calls."},
			kit.Only(func(c *ledger.Case) bool { return !c.Near("musicgen-small") }, kit.Cure("use_smaller_model", "Use musicgen-small", "python", "model = MusicGen.get_pretrained(\"facebook/musicgen-small\")", "Plainer music.")),
			kit.LookAtCard,
			kit.Only(func(c *ledger.Case) bool { return c.Near("musicgen-small") }, cause.Cure{Fix: "cpu_offload"}),
		},
		Sources: []string{"https://github.com/facebookresearch/audiocraft/blob/main/docs/MUSICGEN.md"},
	}),
}

// Demucs parts a mix into its stems.
var Demucs = program.Program{
	Name: "demucs", Shown: "Demucs",
	Commands: []string{"demucs"},
	Proofs:   []string{"-packages/demucs/", "demucs/apply.py", "demucs/separate.py", "-m demucs", "Selected model is a bag of", "demucs/solver.py", "demucs/train.py"},
	Like:     []*program.Program{&Voices},
	Sources:  program.Sources{"demucs/demucs/separate.py": "--segment --no-split --two-stems", "demucs/README.md": "PYTORCH_NO_CUDA_MEMORY_CACHING"},
	Steps: kit.Steps{
		"lower_resolution": step.Paste("shell", "demucs --segment 7 song.mp3   # seconds; htdemucs takes 7 at most, other models 10 or more"),
		"cpu_offload":      step.Paste("shell", "demucs -d cpu song.mp3   # about 1.5 times the length of the song"),
		"lower_batch_size": step.Paste("text", "A shorter piece: demucs --segment 7 (version 3.0.5 and later)."),
	},
	Cards: kit.Cards(
		cause.Card{
			ID: "demucs/train", Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return c.In("demucs") && c.Training() }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] in training",
			Means:    "Memory grows with `batch_size` (64 by default, over all cards) x `dset.segment` (11 seconds by default).",
			Not:      "`--segment`: that is for separating.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Halve `batch_size`", Steps: kit.HalfBatch("config", "batch_size=%d   # in your dora command", 16), Cost: "Slower; `augment.remix.group_size` must divide what each card gets."},
				kit.Cure("lower_resolution", "Train on shorter segments", "config", "dset.segment=6", "Shorter context in training."),
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/facebookresearch/demucs/blob/main/conf/config.yaml", "https://github.com/facebookresearch/demucs/blob/main/docs/training.md"},
		},
		cause.Card{
			ID: "demucs/shortest", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.MPSAlloc}, Said: []string{"--segment 7", "--segment=7", "--segment 6", "--segment 5", "--segment 4"}, If: func(c *ledger.Case) bool { return c.In("demucs") && !c.Training() && c.Phase != "load" },
			Cause: cause.BatchTooLarge, Weight: cause.Decisive,
			Headline: "ran out of GPU memory[[ ({total})]] although its segments are short",
			Means:    "The segments are about as short as they can be. Even so Demucs's README asks for 3 GB of GPU memory. A smaller card cannot run it, unless little is missing.",
			Cures: []cause.Cure{
				kit.Cure("cpu_offload", "Run it on the CPU", "config", "-d cpu", "About 1.5 times the length of the song."),
				kit.Cure("empty_cache", "Turn off PyTorch's memory cache", "env", "export PYTORCH_NO_CUDA_MEMORY_CACHING=1", "Slower."),
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/facebookresearch/demucs/blob/main/README.md"},
		},
		cause.Card{
			ID: "demucs/segment", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.MPSAlloc}, If: func(c *ledger.Case) bool { return c.In("demucs") && !c.Training() && c.Phase != "load" },
			Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: func(c *ledger.Case) map[string]string {
				if wholeSong(c) {
					return map[string]string{"old": "This Demucs is older than 3.0.3: it keeps the stems of the whole song on the card, so a long file fills it.", "new": ""}
				}
				return map[string]string{"old": "", "new": "Versions before 3.0.3 also keep the whole song and its stems on the card."}
			},
			Headline: "ran out of GPU memory[[ ({total})]] while it separated a song",
			Means:    "[[{old} ]]Demucs works on segments of some seconds, unless you use `--no-split`. Its README says at least 3 GB, and about 7 GB with the defaults.[[ {new}]]",
			Cures: []cause.Cure{
				{Fix: "upgrade_version", Title: "Update Demucs", If: wholeSong, Told: "Since 3.0.3 song and stems stay in RAM. If that is not enough, add `--segment 10` (3.0.5 and later).", Kind: "shell", Text: "python -m pip install -U demucs", Cost: "Some minutes."},
				{Fix: "lower_resolution", Title: "Shorten the segment (`--segment`)", Told: "In whole seconds: at most 7 for htdemucs; other models sound better with 10 or more. Needs version 3.0.5 or later. Keep your other options:", Kind: "shell", Text: "demucs --segment 7 song.mp3", Cost: "Slightly worse below 10."},
				{Fix: "upgrade_version", Title: "Update a Demucs before 3.0.5", If: func(c *ledger.Case) bool { return !wholeSong(c) && !kit.Framed(c, "htdemucs.py", "demucs/api.py") }, Told: "Since 3.0.3 the song stays in RAM; 3.0.5 added `--segment`. Or cut the file into parts of 10 minutes.", Kind: "shell", Text: "python -m pip install -U demucs", Cost: "Some minutes."},
				kit.Cure("cpu_offload", "Run it on the CPU", "shell", "demucs -d cpu song.mp3", "About 1.5 times the length of the song."),
				kit.Cure("empty_cache", "Turn off PyTorch's memory cache", "env", "export PYTORCH_NO_CUDA_MEMORY_CACHING=1", "Slower."),
			},
			Sources: []string{"https://github.com/facebookresearch/demucs/blob/main/README.md", "https://github.com/facebookresearch/demucs/blob/main/docs/release.md"},
		},
		cause.Card{
			ID: "demucs/load", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, If: func(c *ledger.Case) bool { return c.In("demucs") && c.Phase == "load" },
			Cause: cause.ModelTooLarge, Weight: cause.Decisive,
			Headline: "ran out of GPU memory[[ ({total})]] while it loaded the model",
			Means:    "The model itself did not fit. Versions before 3 need 8 GB for `demucs` and 4 GB for `tasnet`; later ones 3 GB with a short `--segment`.",
			Cures: []cause.Cure{
				{Fix: "upgrade_version", Title: "Update Demucs, and use short segments", If: func(c *ledger.Case) bool { return kit.Framed(c, "(model_path)") }, Told: "This Demucs is older than version 3. Run `python -m pip install -U demucs`, then `demucs --segment 7 song.mp3`.", Cost: "A download."},
				kit.Cure("cpu_offload", "Run it on the CPU (`-d cpu`)", "text", "Add `-d cpu` to your command: about 1.5 times the length of the song.", "Slower."),
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/facebookresearch/demucs/blob/main/README.md"},
		},
		cause.Card{
			ID: "demucs/ram", Kinds: kit.OffRAM, If: func(c *ledger.Case) bool { return c.In("demucs") }, Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "ran out of system memory (RAM)",
			Means:    "Demucs keeps the whole song in RAM, once for each stem: about 85 MB a minute for four stems, plus some copies. One hour needs 5 GB or more.",
			Cures:    []cause.Cure{kit.Cure("lower_resolution", "Cut long recordings first", "shell", "ffmpeg -i long.mp3 -f segment -segment_time 900 -c copy part%03d.mp3", "Parts to join."), kit.ManagePage, kit.AddSwap},
			Sources:  []string{"https://github.com/facebookresearch/demucs/blob/main/demucs/apply.py"},
		},
	),
}

// wholeSong: a Demucs before 3.0.3 adds up the stems of the song on the card.
func wholeSong(c *ledger.Case) bool { return kit.Framed(c, "estimates += out", "estimates /= totals") }
