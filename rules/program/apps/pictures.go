package apps

import (
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	uis "github.com/oomdoc/oomdoc/rules/program/torch/pictures"
	"github.com/oomdoc/oomdoc/rules/step"
)

// EasyDiffusion is the one-click program on sdkit.
var EasyDiffusion = program.Program{
	Remedies: pictures("use_lower_quant"),
	Name:     "easy-diffusion", Shown: "Easy Diffusion", Work: "image-generation", Edits: "flags", Language: "python",
	Proofs: []string{"-packages/sdkit/", "easydiffusion/", "ui/easydiffusion"},
	Like:   []*program.Program{&Pictures},
	Steps: kit.Steps{
		"lowvram_mode":     step.Paste("ui", "Settings: GPU Memory Usage: Low"),
		"cpu_offload":      step.Paste("ui", "Settings: GPU Memory Usage: Low"),
		"lower_resolution": step.Paste("ui", "Image Settings: 512x512 (SDXL 1024x1024), one image in parallel; an initial image of the same size or smaller; no upscaler"),
		"vae_tiling":       step.Paste("ui", "Image Settings: Enable VAE Tiling (on by default)"),
	},
	Cards: kit.Cards(cause.Card{
		ID: "easy-diffusion/card", Kinds: kit.OnCard, Said: []string{"sdkit/", "easydiffusion/", "vram_usage_level: low", "'vram_usage_level': 'low'"}, If: func(c *ledger.Case) bool { return c.In("easy-diffusion") }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]]",
		Means:    "The setting GPU Memory Usage decides which parts of the model stay on the card: Balanced by default, Low for cards with 3 to 4 GB. A large initial image needs more memory too.",
		Not:      "`--medvram` and other flags of AUTOMATIC1111: Easy Diffusion has this setting instead.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Set GPU Memory Usage to Low", If: func(c *ledger.Case) bool { return !c.Near("vram_usage_level: low", "'vram_usage_level': 'low'") }, Told: "You find it in the Settings tab. Save, and run it again.", Cost: "Slower."},
			{Fix: "lower_resolution", Title: "Lower the image size, and that of the initial image", Told: "Use 512 x 512 (SDXL 1024 x 1024) for both, and one image in parallel. Enlarge afterwards.", Cost: "Less detail."},
			{Fix: "vae_tiling", Title: "Turn VAE Tiling on, if it is off", Told: "In Image Settings. It helps if it failed at the very end of an image.", Cost: "Some seconds."},
		},
		Sources: []string{"https://github.com/easydiffusion/easydiffusion/blob/main/ui/media/js/main.js", "https://github.com/easydiffusion/easydiffusion/blob/main/ui/media/js/parameters.js"},
	}),
}

// SwarmUI starts ComfyUI behind a page of its own.
var SwarmUI = program.Program{
	Name: "swarmui", Carries: uis.Nested, Shown: "SwarmUI", Work: "image-generation", Edits: "flags", Language: "python",
	Proofs:  []string{"[ComfyUI-0/STDERR]", "[ComfyUI-1/STDERR]", "[ComfyUI-0/STDOUT]", "SwarmUI/dlbackend", "SwarmUI/src"},
	Like:    []*program.Program{&Pictures},
	Sources: program.Sources{"ComfyUI/comfy/cli_args.py": "--reserve-vram --vram-headroom --disable-pinned-memory"},
	Steps: kit.Steps{
		"lowvram_mode":     step.Paste("ui", "Server, Backends, the ComfyUI backend: ExtraArgs: --reserve-vram 2 (ComfyUI of 2026: --vram-headroom 2), then save to restart it"),
		"cpu_offload":      step.Paste("ui", "Server, Backends, the ComfyUI backend: ExtraArgs: --reserve-vram 4"),
		"vae_tiling":       step.Paste("ui", "Display Advanced Options, Advanced Sampling: VAE Tile Size 256; video: VAE Temporal Tile Size 16"),
		"lower_resolution": step.Paste("ui", "Resolution: a smaller one, Images 1; Init Image and Refine / Upscale off, or Refiner Do Tiling on"),
		"use_lower_quant":  step.Paste("ui", "Models: an fp8 or GGUF file of the same model"),
	},
	Cards: kit.Cards(
		cause.Card{
			ID: "swarmui/decode", Kinds: append([]fact.Kind{fact.ComfyUnload, fact.ComfyTips, fact.ComfyVAE}, kit.OnCard...), Said: []string{"vae.decode(", "SwarmKSampler decode", "VAEDecode", "regular VAE decoding"},
			If: inSwarm, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] in the VAE",
			Means:    "The VAE, which makes the final image, failed in the ComfyUI that SwarmUI runs. Its memory grows with the resolution and, for video, with the frames.",
			Not:      "Fewer steps: they cost time, not memory.",
			Cures: []cause.Cure{
				kit.Cure("vae_tiling", "Decode in tiles (VAE Tile Size)", "ui", "Display Advanced Options, Advanced Sampling: VAE Tile Size 256; video: VAE Temporal Tile Size 16", "Some seconds."),
				kit.Cure("lowvram_mode", "Reserve GPU memory (`--reserve-vram`)", "ui", "Server, Backends, the ComfyUI backend: ExtraArgs: --reserve-vram 2", "Slower."),
			},
			Sources: []string{"https://github.com/mcmonkeyprojects/SwarmUI/blob/master/src/Text2Image/T2IParamTypes.cs"},
		},
		cause.Card{
			ID: "swarmui/driver", Kinds: []fact.Kind{fact.CUDAError}, If: inSwarm,
			Headline: "got a CUDA out-of-memory error without sizes from its ComfyUI",
			Means:    "Either RAM or the card may be full. A full card usually says \"Allocation on device\". This message also comes when ComfyUI cannot pin RAM (since November 2025), and on Windows when RAM plus page file are full. If it began with an update, pinning is more likely.",
			Cures: []cause.Cure{
				kit.Cure("use_mmap", "Turn pinned memory off (`--disable-pinned-memory`)", "ui", "Server, Backends, the ComfyUI backend: ExtraArgs: --disable-pinned-memory, then save to restart it", "Somewhat slower."),
				{Fix: "raise_pagefile", Title: "Look at RAM, enlarge the page file", Told: "Watch Task Manager, Performance, Memory. If \"Committed x / y\" is nearly full, run `sysdm.cpl`: Advanced, Performance: Settings, Advanced, Virtual memory: 16384 to 49152 MB. Restart.", Cost: "Free to look.", If: (*ledger.Case).Windows},
				kit.Cure("lowvram_mode", "Reserve GPU memory (`--reserve-vram`)", "ui", "Server, Backends, the ComfyUI backend: ExtraArgs: --reserve-vram 2 (ComfyUI of 2026: --vram-headroom 2)", "Slower."),
			},
			Sources: []string{"https://github.com/mcmonkeyprojects/SwarmUI/issues/1114", "https://github.com/Comfy-Org/ComfyUI/issues/10662", "https://github.com/Comfy-Org/ComfyUI/blob/master/comfy/cli_args.py"},
		},
		cause.Card{
			ID: "swarmui/sample", Kinds: append([]fact.Kind{fact.ComfyUnload, fact.ComfyTips}, kit.OnCard...), If: inSwarm, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] in its ComfyUI",
			Means:    "The ComfyUI that SwarmUI runs ran out of GPU memory. You set its options on SwarmUI's page under Server, Backends, not in a .bat file.",
			Cures: []cause.Cure{
				kit.Cure("lower_resolution", "Lower the resolution, one image at a time", "ui", "Lower Resolution (SD 1.5 512x512, SDXL and Flux 1024x1024), Images 1; video: fewer Frames. Refine afterwards with Refiner Do Tiling", "Less detail at once."),
				kit.Cure("lowvram_mode", "Reserve GPU memory (`--reserve-vram`)", "ui", "Server, Backends, the ComfyUI backend: ExtraArgs: --reserve-vram 2 (ComfyUI of 2026: --vram-headroom 2)", "Slower."),
				kit.Cure("use_lower_quant", "Use an fp8 or GGUF model", "ui", "Models: an fp8 file of the same model, or a GGUF (Q4_K_S to Q8_0)", "Slight loss of quality."),
			},
			Sources: []string{"https://github.com/mcmonkeyprojects/SwarmUI/blob/master/src/BuiltinExtensions/ComfyUIBackend/ComfyUISelfStartBackend.cs"},
		},
	),
}

func inSwarm(c *ledger.Case) bool { return c.In("swarmui") }

// Deforum animates in AUTOMATIC1111's web UI.
var Deforum = program.Program{
	Remedies: pictures("vae_tiling", "cpu_offload", "use_lower_quant"),
	Name:     "deforum", Shown: "Deforum", Work: "video-generation", Edits: "flags", Language: "python",
	Proofs: []string{"deforum_helpers/", "deforum-for-automatic1111", "sd-webui-deforum"},
	Like:   []*program.Program{&Pictures},
	Steps: kit.Steps{
		"lower_resolution": step.Paste("ui", "Run tab: W and H 512; upscale the frames afterwards"),
		"lowvram_mode":     step.Paste("ui", "3D mode: Depth Algorithm Midas-3-Hybrid or off (2D mode); Settings, Deforum: Keep 3D models in VRAM off"),
	},
	Cards: kit.Cards(cause.Card{
		ID: "deforum/frame", Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return c.In("deforum") }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] while it rendered a frame",
		Means:    "Deforum renders one frame after another. In 3D mode a depth model is on the card beside Stable Diffusion; with optical flow also RAFT.",
		Not:      "Fewer frames: every frame needs the same memory.",
		Cures: []cause.Cure{
			kit.Cure("lower_resolution", "Lower W and H", "ui", "Run tab: W and H 512 (SD 1.5). Upscale in the Output tab", "One more step."),
			kit.Cure("lowvram_mode", "Turn off \"Keep 3D models in VRAM\", or use 2D mode", "ui", "Settings, Deforum: Keep 3D models in VRAM between runs: off. Or use 2D mode, without optical flow cadence", "Some seconds for each frame."),
		},
		Sources: []string{"https://github.com/deforum-art/sd-webui-deforum/tree/automatic1111-webui/scripts/deforum_helpers"},
	}),
}

// Trainers is what older trainers of Stable Diffusion share.
var Trainers = program.Program{
	Work: "image-generation", Edits: "flags", Language: "python",
	Steps: kit.Steps{"use_lora": step.Paste("text", "Train a LoRA with kohya's sd-scripts instead: the model is frozen, and 8 GB are enough for SD 1.5.")},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge:         cause.InOrder("lower_batch_size", "gradient_checkpointing", "lower_resolution", "optimizer_8bit", "use_lora"),
		cause.TrainingStateTooLarge: cause.InOrder("optimizer_8bit", "use_lora", "gradient_checkpointing", "lower_batch_size", "mixed_precision"),
		cause.ModelTooLarge:         cause.InOrder("mixed_precision", "use_lora", "optimizer_8bit", "close_other_apps"),
	},
}

// Dreambooth is the extension of AUTOMATIC1111's web UI.
var Dreambooth = program.Program{
	Name: "sd-dreambooth-extension", Shown: "The Dreambooth extension", Work: "image-generation", Edits: "flags", Language: "python",
	Proofs: []string{"sd_dreambooth_extension", "Injecting trainable lora...", "OOM Detected, reducing batch/grad size", "Concept requires "}, Beside: map[string][]string{"Concept requires ": {"class images"}},
	Like: []*program.Program{&Trainers},
	Steps: kit.Steps{
		"lower_batch_size":       step.Paste("ui", "Parameters: Batch Size 1, Class Batch Size 1, Gradient Accumulation Steps 1"),
		"gradient_checkpointing": step.Paste("ui", "Parameters: Gradient Checkpointing on"),
		"optimizer_8bit":         step.Paste("ui", "Parameters, Advanced: Optimizer 8bit AdamW, Mixed Precision fp16 or bf16, Memory Attention xformers, Cache Latents off"),
		"use_lora":               step.Paste("ui", "Parameters: Use LORA"),
		"lower_resolution":       step.Paste("ui", "Parameters: Max Resolution 512"),
		"mixed_precision":        step.Paste("ui", "Parameters, Advanced: Mixed Precision fp16 (bf16 from RTX 30 on)"),
		"cpu_offload":            step.Paste("ui", "Parameters: Step Ratio of Text Encoder Training 0"),
	},
	Cards: kit.Cards(cause.Card{
		ID: "sd-dreambooth-extension/training", Kinds: kit.OnCard, Said: []string{"sd_dreambooth_extension", "Injecting trainable lora", "OOM Detected, reducing batch/grad size", "Preparing dataset with buckets", "Concept requires "}, If: func(c *ledger.Case) bool { return c.In("sd-dreambooth-extension") }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] in training",
		Means:    "The training and, if it is loaded, the web UI's own model share the card. [[{checkpointed} ]][[{lora} ]]Training the text encoder too may not work below 12 GB.",
		Figures: func(c *ledger.Case) map[string]string {
			out := map[string]string{"checkpointed": "", "checkpointing": "Gradient Checkpointing on", "lora": "Without LoRA all weights are trained, which needs most.", "use": "Use LORA"}
			if kit.Framed(c, "torch/utils/checkpoint.py") {
				out["checkpointed"], out["checkpointing"] = "Gradient checkpointing is on already.", ""
			}
			if c.Near("Injecting trainable lora") {
				out["lora"], out["use"] = "LoRA is on already.", ""
			}
			return out
		},
		Not:   "Fewer training steps: every step needs the same memory.",
		Later: "If all that fails, train a LoRA with kohya_ss: then the web UI's model is not on the card.",
		Cures: []cause.Cure{
			{Fix: "optimizer_8bit", Title: "Set 8-bit AdamW, fp16 and batch size 1", Told: "In Parameters: [[{use}, ]]Optimizer 8bit AdamW, Mixed Precision fp16, Memory Attention xformers, Batch Size 1, Class Batch Size 1,[[ {checkpointing},]] Use EMA off, Step Ratio of Text Encoder Training 0.", Cost: "Slower; likeness may suffer."},
			{Fix: "restart_session", Title: "Restart the web UI and train at once", Told: "Close the web UI and check with `nvidia-smi` that the card is empty. Start it and train before you make an image. Save Preview(s) Frequency: 0.", Cost: "Free."},
			{Fix: "lower_resolution", Title: "Lower Max Resolution", Told: "For example 384 instead of 512: about half of the pixels.", Cost: "Less detail learned."},
		},
		Sources: []string{"https://github.com/d8ahazard/sd_dreambooth_extension/blob/main/README.md", "https://github.com/d8ahazard/sd_dreambooth_extension/blob/main/scripts/main.py", "https://github.com/d8ahazard/sd_dreambooth_extension/issues/658"},
	}),
}

// EveryDream fine-tunes whole models.
var EveryDream = program.Program{
	Name: "everydream", Shown: "EveryDream", Work: "image-generation",
	Proofs:  []string{"EveryDream2trainer", "EveryDream-trainer"},
	Like:    []*program.Program{&Trainers},
	Sources: program.Sources{"EveryDream2trainer/train.py": "--batch_size --gradient_checkpointing --resolution --disable_textenc_training --amp"},
	Steps: kit.Steps{
		"lower_batch_size":       step.Paste("config", "--batch_size 1"),
		"gradient_checkpointing": step.Paste("config", "--gradient_checkpointing"),
		"lower_resolution":       step.Paste("config", "--resolution 512"),
		"mixed_precision":        step.Paste("text", "It trains in mixed precision already (disable_amp is false in train.json)."),
		"optimizer_8bit":         step.Paste("config", "// optimizer.json, base\n\"optimizer\": \"adamw8bit\""),
	},
	Cards: kit.Cards(cause.Card{
		ID: "everydream/training", Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return c.In("everydream") }, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] in training",
		Means:    "EveryDream trains all weights of the model and, unless turned off, its text encoder. For SD 1.5 weights, gradients and optimizer state take about 10 GB with the 8-bit optimizer, 16 with plain AdamW.",
		Cures: []cause.Cure{
			kit.Cure("gradient_checkpointing", "Turn on gradient checkpointing, batch size 1", "config", "--batch_size 1 --gradient_checkpointing --resolution 512", "A third slower."),
			kit.Cure("cpu_offload", "Turn off text encoder training", "config", "--disable_textenc_training", "New words are learned less well."),
		},
		Sources: []string{"https://github.com/victorchall/EveryDream2trainer/blob/main/train.py"},
	}),
}

// Faces is what programs share that change faces.
var Faces = program.Program{
	Work: "vision", Edits: "flags", Language: "python",
	Steps: kit.Steps{
		"lower_resolution": step.Paste("shell", "ffmpeg -i target.mp4 -vf scale=-2:720 smaller.mp4"),
		"cpu_offload":      kit.NoCard,
	},
	Sources: kit.Visible,
	Titles:  map[string]string{"lower_parallel": "Use fewer threads", "lower_resolution": "Scale the video down", "cpu_offload": "Run it on the CPU"},
	Costs:   map[string]string{"lower_parallel": "Slower.", "cpu_offload": "Many times slower."},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: cause.InOrder("lower_parallel", "lowvram_mode", "lower_resolution", "close_other_apps", "cpu_offload"),
		cause.ModelTooLarge: cause.InOrder("lowvram_mode", "lower_parallel", "close_other_apps", "cpu_offload"),
		cause.HostMemory:    cause.InOrder("lower_parallel", "raise_memory_limit", "lower_resolution", "raise_pagefile"),
		cause.Unknown:       cause.InOrder("lower_parallel", "lowvram_mode", "close_other_apps"),
	},
}

var ortKinds = append([]fact.Kind{fact.ORTAlloc, fact.ORTLimit, fact.ORTDevice}, kit.OnCard...)

// Roop is the older face swapper.
var Roop = program.Program{
	Name: "roop", Shown: "roop",
	Proofs:  []string{"roop/core.py", "roop/processors/", "roop/face_analyser.py", "[ROOP."},
	Like:    []*program.Program{&Faces},
	Sources: program.Sources{"roop/roop/core.py": "--execution-threads --temp-frame-format --max-memory --frame-processor --execution-provider"},
	Steps: kit.Steps{
		"lower_parallel":     step.Paste("shell", "python run.py --execution-threads 1"),
		"lowvram_mode":       step.Paste("shell", "python run.py --execution-threads 1 --frame-processor face_swapper"),
		"cpu_offload":        step.Paste("shell", "python run.py --execution-provider cpu"),
		"raise_memory_limit": step.Paste("shell", "python run.py --max-memory 16   # GB of RAM that it may use"),
	},
	Cards: kit.Cards(cause.Card{
		ID: "roop/ram", Kinds: kit.OffRAM, If: func(c *ledger.Case) bool { return c.In("roop") }, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM), not GPU memory",
		Means:    "Each thread keeps its own frame at full size, and several copies of it while it works. So many threads and large frames (4K) need much RAM.",
		Not:      "Settings for GPU memory: RAM ran out.",
		Cures: []cause.Cure{
			{Fix: "lower_parallel", Title: "Use one thread", If: kit.Above(1, "execution_threads"), Told: "Add to your command:", Kind: "config", Text: "--execution-threads 1 --temp-frame-format jpg", Cost: "Slower."},
			{Fix: "lower_resolution", Title: "Scale the video down", Kind: "shell", Text: "ffmpeg -i target.mp4 -vf scale=-2:1080 smaller.mp4", Cost: "Detail."},
			{Fix: "close_other_apps", Title: "Close other programs", Told: "Browser and games first. If you set `--max-memory` (GB of RAM for roop) low, raise it.", Cost: "Free."},
		},
		Sources: []string{"https://github.com/s0md3v/roop/blob/main/roop/core.py"},
	}, cause.Card{
		ID: "roop/threads", Kinds: ortKinds, If: func(c *ledger.Case) bool { return c.In("roop") }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Means: "Each thread of roop works on its own frame; with CUDA there are 8 threads by default. The face enhancer is a second model on the card.",
		Cures: []cause.Cure{
			kit.Only(kit.Above(1, "execution_threads"), kit.Cure("lower_parallel", "Use one thread", "config", "--execution-threads 1", "Slower.")),
			kit.Cure("use_smaller_model", "Leave the face enhancer out", "config", "--frame-processor face_swapper", "Softer faces."),
			kit.LookAtCard,
		},
		Sources: []string{"https://github.com/s0md3v/roop/blob/main/roop/core.py"},
	}),
}

// DeepFaceLab trains on TensorFlow, asking for its settings at the start.
var DeepFaceLab = program.Program{
	Name: "deepfacelab", Shown: "DeepFaceLab", Work: "vision", Edits: "flags", Language: "python",
	Proofs: []string{"DeepFaceLab/", "Model_SAEHD", "Model_AMP/", "Model_Quick96"},
	Titles: map[string]string{"offload_optimizer": "Keep model and optimizer in RAM", "lower_resolution": "Make a smaller model"},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge:         cause.InOrder("lower_batch_size", "offload_optimizer", "lower_resolution", "close_other_apps"),
		cause.TrainingStateTooLarge: cause.InOrder("lower_batch_size", "offload_optimizer", "lower_resolution"),
		cause.ModelTooLarge:         cause.InOrder("offload_optimizer", "lower_resolution", "close_other_apps"),
	},
	Steps: kit.Steps{
		"lower_batch_size":  step.Paste("ui", "Press Enter within two seconds of the start to change settings: Batch_size: half of the present value"),
		"offload_optimizer": step.Paste("ui", "Press Enter within two seconds of the start: Place models and optimizer on GPU: n; Use AdaBelief optimizer: n"),
		"lower_resolution":  step.Paste("text", "A new model with resolution 128 and smaller AutoEncoder, Encoder and Decoder dimensions: they cannot be changed later."),
	},
	Cards: kit.Cards(cause.Card{
		ID: "deepfacelab/weights", Kinds: []fact.Kind{fact.TFAlloc, fact.TFCopy}, Said: []string{"/Initializer/", "/weight/Assign", "initializers/"}, If: func(c *ledger.Case) bool { return c.In("deepfacelab") && c.Near("/Initializer/") }, Cause: cause.ModelTooLarge, Weight: cause.Decisive,
		Headline: "could not create this model: its weights do not fit on the card",
		Means:    "It failed while it created the weights, before any face was loaded.[[ One layer alone asked for {asked}.]] The optimizer needs one or two more values for each weight. You choose resolution and dimensions when you create a model; they cannot be changed later.",
		Not:      "A smaller batch size: no batch was loaded yet.",
		Cures: []cause.Cure{
			kit.Cure("offload_optimizer", "Move model and optimizer to RAM", "ui", "Press Enter within two seconds of the start: Place models and optimizer on GPU: n; Use AdaBelief optimizer: n (it has to be chosen again)", "Slower steps."),
			kit.Cure("lower_resolution", "Make a new, smaller model", "text", "Choose resolution 128 and smaller AutoEncoder and inter dimensions. Quick96 fits cards with 4 GB.", "Detail; training starts over."),
			kit.LookAtCard,
		},
		Sources: []string{"https://github.com/iperov/DeepFaceLab/blob/master/models/Model_SAEHD/Model.py", "https://github.com/iperov/DeepFaceLab/blob/master/core/leras/layers/Dense.py"},
	}, cause.Card{
		ID: "deepfacelab/ram", Kinds: kit.OffRAM, If: func(c *ledger.Case) bool { return c.In("deepfacelab") }, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM), not GPU memory",
		Means:    "Several processes read and warp faces while it trains, half of them for src and half for dst, each with its own copy of the program. With models and optimizer in RAM (GPU: n) that comes on top. On Windows RAM plus page file are the limit.",
		Not:      "A smaller Batch_size alone: the processes stay.",
		Cures: []cause.Cure{
			kit.ManagePage, kit.AddSwap,
			{Fix: "lower_num_workers", Title: "Pack the faces", Told: "Run `4.2) data_src faceset util` pack (5.2 for dst): one file instead of thousands. Sort out faces that you do not need.", Cost: "Some minutes."},
			{Fix: "close_other_apps", Title: "Close other programs", Told: "Browser and games first.", Cost: "Free."},
		},
		Sources: []string{"https://github.com/iperov/DeepFaceLab/blob/master/samplelib/SampleGeneratorFace.py", "https://github.com/iperov/DeepFaceLab/blob/master/models/Model_SAEHD/Model.py"},
	}, cause.Card{
		ID: "deepfacelab/training", Kinds: []fact.Kind{fact.TFAlloc, fact.TFStart, fact.TFCopy, fact.TFHandle, fact.CUDAError}, Said: []string{"DeepFaceLab/", "Model_SAEHD", "Model_AMP", "Model_Quick96", "models_opt_on_gpu: False"}, If: func(c *ledger.Case) bool { return c.In("deepfacelab") }, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Means: "Model, optimizer and a batch of faces share the card. You can change the batch size at every start, but not the resolution and dimensions of a model.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size at the next start", Steps: kit.HalfBatch("ui", "Press Enter within two seconds of the start and set Batch_size to %d", 4), Cost: "Slower learning."},
			kit.Only(func(c *ledger.Case) bool { return !c.Near("models_opt_on_gpu: False") }, kit.Cure("offload_optimizer", "Move model and optimizer to RAM", "ui", "In the same place: Place models and optimizer on GPU: n; Use AdaBelief optimizer: n (it has to be chosen again)", "Slower steps.")),
			kit.LookAtCard,
			kit.Only(func(c *ledger.Case) bool { return c.Near("models_opt_on_gpu: False") }, kit.Cure("lower_resolution", "Train a smaller model", "text", "Quick96 fits cards with 4 GB; with 2 GB a new SAEHD of resolution 96 and smaller dimensions.", "Detail; training starts over.")),
		},
		Sources: []string{"https://github.com/iperov/DeepFaceLab/blob/master/models/Model_SAEHD/Model.py", "https://github.com/iperov/DeepFaceLab/blob/master/models/ModelBase.py"},
	}),
}

// InpaintAnything makes masks with Segment Anything, as an extension of the web
// UI and by itself.
var InpaintAnything = program.Program{
	Name: "inpaint-anything", Shown: "Inpaint Anything", Work: "image-generation", Edits: "flags", Language: "python",
	Proofs: []string{"Inpaint Anything - ", "sd-webui-inpaint-anything", "ia_sam_manager.py"},
	Like:   []*program.Program{&Pictures},
	Steps: kit.Steps{
		"lower_resolution":  step.Paste("ui", "Scale the image to 1500 pixels or less before you load it"),
		"cpu_offload":       step.Paste("ui", "Settings, Inpaint Anything: Run Segment Anything on CPU"),
		"use_smaller_model": step.Paste("ui", "Segment Anything Model ID: mobile_sam.pt or FastSAM-s.pt"),
	},
	Cards: kit.Cards(cause.Card{
		ID: "inpaint-anything/masks", Kinds: kit.OnCard, Said: []string{"Inpaint Anything - ", "ia_sam_manager.py", "sam_hq_vit", "input_image:", "SamAutomaticMaskGenerator"},
		If: func(c *ledger.Case) bool { return c.In("inpaint-anything") && ledger.Requested(c) > units.GiB }, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} at once: most likely masks at the full size of the image",
		Means:    "Segment Anything makes many masks at once, each at the full size of the input image. {asked} fits an image of {pixels} million pixels; for 1.5 million pixels it would be {small}.",
		Figures:  maskFigures,
		Not:      "`--medvram`, or a smaller generated image: the masks have the size of the input image.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Scale the input image down", Told: "Make it about 1500 x 1000 before you load it. Enlarge the result afterwards.", Cost: "Detail."},
			{Fix: "cpu_offload", Title: "Run Segment Anything on the CPU", Told: "Settings, Inpaint Anything: Run Segment Anything on CPU. The masks then need RAM.", Cost: "Minutes for each image."},
			{Fix: "use_smaller_model", Title: "Use FastSAM", Told: "Set Segment Anything Model ID to FastSAM-s.pt.", Cost: "Coarser edges."},
		},
		Sources: []string{"https://github.com/Uminosachi/sd-webui-inpaint-anything/blob/main/ia_sam_manager.py", "https://github.com/Uminosachi/sd-webui-inpaint-anything/blob/main/scripts/inpaint_anything.py", "https://github.com/facebookresearch/segment-anything/blob/main/segment_anything/automatic_mask_generator.py"},
	}),
}

// maskFigures are the size of the picture whose masks were refused. The HQ
// models get half of the points at a time.
func maskFigures(c *ledger.Case) map[string]string {
	points := int64(64)
	if c.Near("sam_hq_vit") {
		points = 32
	}
	pixels := ledger.Requested(c) / (points * 3 * 4)
	return map[string]string{"points": strconv.FormatInt(points, 10), "pixels": strconv.FormatFloat(float64(pixels)/1e6, 'f', 1, 64), "small": units.Amount(points * 3 * 4 * 1500000)}
}
