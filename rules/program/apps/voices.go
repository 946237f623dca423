package apps

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// words is a step in words.
func words(text string) func(*ledger.Case) []step.Step { return step.Paste("text", text) }

// Voices that people train or run from a repository.
var (
	// Tacotron2 is NVIDIA's, with its relatives.
	Tacotron2 = program.Program{
		Name: "tacotron2", Shown: "Tacotron 2", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"tacotron2/hparams.py": "--hparams batch_size fp16_run", "tacotron2/train.py": "--hparams"},
		Proofs:  []string{"tacotron2/train.py", "tacotron2/model.py", "tacotron2/loss_function.py", "tacotron2/hparams.py", "mellotron/train.py", "flowtron/train.py"},
		Steps: steps{
			"lower_batch_size": words("`--hparams=batch_size=16` (64 in hparams.py); half of the present value if yours is lower."),
			"lower_resolution": words("Take recordings above 10 seconds out of the file lists in filelists/: a batch is padded to its longest."),
			"mixed_precision":  words("`--hparams=fp16_run=True` (it needs apex)."),
		},
		Like:  []*program.Program{&Voices},
		Cards: cards(learning("tacotron2", "The decoder runs frame by frame and keeps every step for the backward pass, so memory grows with the batch size times the longest recording in the batch. Validation uses the same batch size.", "", "tacotron2/hparams.py", "lower_batch_size", "lower_resolution", "mixed_precision")),
	}
	// VITS is Kim's, with Bert-VITS2 and others made from it.
	VITS = program.Program{
		Name: "vits", Shown: "VITS", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"vits/configs/ljs_base.json": "batch_size fp16_run segment_size", "Bert-VITS2/configs/config.json": "batch_size bf16_run"},
		Proofs:  []string{"/vits/train.py", "/vits/train_ms.py", "/vits/models.py", "Bert-VITS2", "VITS-fast-fine-tuning", "vits/data_utils.py"},
		Steps: steps{
			"lower_batch_size":  step.Paste("config", "// configs/*.json, in train: half of the present value\n\"batch_size\": 8"),
			"lower_resolution":  byPhase(step.Step{Kind: "text", Text: "Cut recordings to 10 seconds at most; in train.py the bucket list `[32,300,400,...,1000]` (spectrogram frames) leaves out what is longer than its last number: `[32,300,400,500,600]`."}, step.Step{Kind: "text", Text: shorterText}),
			"mixed_precision":   words("`\"fp16_run\": true` in the config (Bert-VITS2: `\"bf16_run\"`)."),
			"lower_num_workers": words("`num_workers=2, persistent_workers=False` in the loaders of train.py (8 and more; Bert-VITS2: `num_workers` of train_ms in config.yml): on Windows each one is a whole process."),
		},
		Like: []*program.Program{&Voices},
		Cards: cards(
			learning("vits", "Samples of a batch are padded to the longest text and spectrogram, so one long recording can fill the card where the others fit. The `batch_size` of 64 in the first configs is for large cards.", "", "vits/configs/ljs_base.json", "lower_batch_size", "lower_resolution", "mixed_precision"),
			working("vits", "while it spoke", "A text without full stops is spoken in one go, and attention and the decoder grow with its length. Bert-VITS2 also keeps BERT models on the card.", "`batch_size` in the config: it is for training only.", "vits/inference.ipynb", "lower_resolution", "cpu_offload"),
		),
	}
	// StyleTTS2 is Li's.
	StyleTTS2 = program.Program{
		Name: "styletts2", Shown: "StyleTTS 2", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"accelerate/src/accelerate/commands/launch.py": "--mixed_precision", "StyleTTS2/Configs/config_ft.yml": "batch_size max_len batch_percentage joint_epoch diff_epoch"},
		Proofs:  []string{"StyleTTS2/", "styletts2/", "train_second.py", "train_finetune_accelerate.py"},
		Steps: steps{
			"lower_batch_size":  step.Paste("config", "# Configs/config_ft.yml\nbatch_size: 2   # at least 2"),
			"lower_resolution":  step.Paste("config", "max_len: 200   # frames of 12.5 ms: 2.5 seconds; default 400"),
			"use_smaller_model": step.Paste("config", "loss_params:\n  joint_epoch: 1000   # above epochs: no adversarial training with the speech model\nslmadv_params:\n  batch_percentage: 0.5   # or a smaller part of the batch for it"),
			"mixed_precision":   words("`accelerate launch --mixed_precision=fp16 train_finetune_accelerate.py`; the second stage runs on DataParallel at 32 bit. Not for train_first.py: by the README the loss can become NaN there."),
		},
		Titles: map[string]string{"use_smaller_model": "Turn off the adversarial training (`joint_epoch`)", "lower_resolution": "Train on shorter pieces (`max_len`)"}, Costs: map[string]string{"lower_resolution": "Shorter context in training."},
		Like: []*program.Program{&Voices},
		Cards: cards(
			learning("styletts2", "`batch_size` x `max_len` decides. The need rises during a run: style diffusion starts at `diff_epoch`, and at `joint_epoch` a large speech model (WavLM) joins, with `batch_percentage` of the batch.", "", "StyleTTS2/README.md", "lower_resolution", "lower_batch_size", "use_smaller_model"),
		),
	}
	// Tortoise is neonbjb's.
	Tortoise = program.Program{
		Name: "tortoise", Shown: "Tortoise TTS", Work: "audio", Edits: "code", Language: "python",
		Sources: program.Sources{"tortoise-tts/tortoise/api.py": "autoregressive_batch_size half kv_cache", "tortoise-tts/tortoise/do_tts.py": "--half --kv_cache --preset"},
		Proofs:  []string{"tortoise/api.py", "tortoise/models/", "tortoise/do_tts.py", "-packages/tortoise/", "tortoise-tts/"},
		Steps: steps{
			"lower_batch_size":  step.Paste("python", "tts = TextToSpeech(autoregressive_batch_size=1, half=True, kv_cache=True)"),
			"lower_resolution":  words("A sentence or two at a time (read.py cuts a book up by itself), and reference clips of 6 to 10 seconds."),
			"half_precision":    step.Paste("python", "tts = TextToSpeech(half=True, kv_cache=True)"),
			"lower_num_workers": words("`--preset fast` or `ultra_fast`: fewer candidates, in as many batches as before or fewer."),
		},
		Titles: map[string]string{"lower_batch_size": "Lower `autoregressive_batch_size`"},
		Like:   []*program.Program{&Voices},
		Cards: cards(
			workspace("tortoise/workspace", cause.Cure{Fix: "cpu_offload", Title: "Switch DeepSpeed off", Told: "Leave out `use_deepspeed=True`.", Cost: "slower"}, cause.Cure{Fix: "lower_batch_size", Title: "Or make fewer candidates at once", Told: "`TextToSpeech(autoregressive_batch_size=1)`.", Cost: "slower"}),
			working("tortoise", "while it made candidates", "Tortoise generates many candidates and keeps the best: 16, 8 or 4 at a time, by the total size of the card (above 14, 10 and 7 GB), not by what is free.", "", "tortoise-tts/tortoise/api.py", "lower_batch_size", "half_precision", "lower_resolution"),
			opening("tortoise", "Tortoise loads several models: a language model, CLVP, diffusion, vocoder.", "Fewer candidates: the models are loaded first.", "tortoise-tts/tortoise/api.py", "half_precision", "close_other_apps", "cpu_offload"),
		),
	}
	// MeloTTS and OpenVoice are MyShell's.
	MeloTTS = program.Program{
		Name: "melotts", Shown: "MeloTTS", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"MeloTTS/melo/configs/config.json": "batch_size fp16_run", "MeloTTS/melo/train.py": "num_workers"},
		Proofs:  []string{"melo/train.py", "melo/api.py", "melo/models.py", "MeloTTS/"},
		Steps: steps{
			"lower_batch_size":  step.Paste("config", "// config.json beside your metadata.list, in train\n\"batch_size\": 2   // 6 by default"),
			"lower_resolution":  byPhase(step.Step{Kind: "text", Text: "Recordings of 10 seconds at most in metadata.list."}, step.Step{Kind: "text", Text: shorterText}),
			"mixed_precision":   step.Paste("config", "\"fp16_run\": true"),
			"lower_num_workers": words("`num_workers=2` in the loader of melo/train.py (16)."),
		},
		Like: []*program.Program{&Voices},
		Cards: cards(
			learning("melotts", "A batch is padded to its longest recording and text. It trains at 32 bit unless `fp16_run` is set. train.sh starts itself again after a crash: see with `nvidia-smi` whether an old run is still on the card.", "", "MeloTTS/melo/train.py", "lower_batch_size", "mixed_precision", "lower_resolution"),
			working("melotts", "while it spoke", "The models take about 1 GB; what grows is the length of one sentence.", "`batch_size` in the config: it is for training only.", "MeloTTS/melo/api.py", "close_other_apps", "lower_resolution", "cpu_offload"),
		),
	}
	// StableAudioTools is Stability's.
	StableAudioTools = program.Program{
		Name: "stable-audio-tools", Shown: "stable-audio-tools", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"stable-audio-tools/README.md": "--batch-size --accum-batches --precision --num-workers --strategy --model-half", "stable-audio-tools/defaults.ini": "batch_size accum_batches"},
		Proofs:  []string{"stable_audio_tools/", "stable-audio-tools/"},
		Steps: steps{
			"lower_batch_size":  words("`--batch-size 1 --accum-batches 8`."),
			"lower_resolution":  byPhase(step.Step{Kind: "text", Text: "A smaller `sample_size` in the model config (12582912 samples are 285 seconds at 44.1 kHz)."}, step.Step{Kind: "text", Text: "Fewer seconds do not help with a fixed `sample_size`: pass a smaller one to `generate_diffusion_cond`."}),
			"mixed_precision":   words("`--precision bf16-mixed` (16-mixed is the default)."),
			"offload_optimizer": words("`--strategy deepspeed`: ZeRO 2 over the cards."),
			"half_precision":    words("In code `model.to(torch.float16)`; run_gradio.py loads at 16 bit by itself, an older one with `--model-half`."),
			"cpu_offload":       words("Encode the data set once: pre_encode.py writes latents, and training then leaves the autoencoder's encoder out."),
		},
		Titles: map[string]string{"lower_resolution": "Lower `sample_size`", "cpu_offload": "Encode the latents in advance", "offload_optimizer": "Shard the optimizer (ZeRO 2)"}, Costs: map[string]string{"cpu_offload": "One pass over the data, and disk space.", "lower_resolution": "Shorter clips."},
		Like: []*program.Program{&Voices},
		Cards: cards(
			learning("stable-audio-tools", "Batch size x `sample_size` (audio samples of a clip) decides. The frozen autoencoder encodes every batch on the same card, and an EMA copy of the weights is kept beside the trained ones.", "", "stable-audio-tools/README.md", "lower_batch_size", "cpu_offload", "lower_resolution"),
			working("stable-audio-tools", "while it made or decoded sound", "Latents are computed for the whole `sample_size`, however few seconds you ask for, and the decoder decodes all of it at once.", "Fewer steps: they cost time, not memory.", "stable-audio-tools/stable_audio_tools/inference/generation.py", "half_precision", "lower_resolution", "close_other_apps"),
		),
	}
	// DiffSinger is OpenVPI's.
	DiffSinger = program.Program{
		Name: "diffsinger", Shown: "DiffSinger", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"DiffSinger/configs/base.yaml": "max_batch_frames max_batch_size max_val_batch_frames ds_workers pl_trainer_precision accumulate_grad_batches"},
		Proofs:  []string{"DiffSinger/", "diffsinger/", "DiffSinger-main/"},
		Steps: steps{
			"lower_batch_size":  step.Paste("config", "# your config, over configs/base.yaml\nmax_batch_frames: 20000   # 50000\nmax_batch_size: 8\nmax_val_batch_frames: 20000\naccumulate_grad_batches: 2"),
			"lower_resolution":  words("Shorter pieces in the data set, 5 to 15 seconds: one that is longer than the cap still goes in alone."),
			"mixed_precision":   step.Paste("config", "pl_trainer_precision: '16-mixed'   # bf16-mixed from RTX 30 on"),
			"lower_num_workers": step.Paste("config", "ds_workers: 1\nbinarization_args:\n  num_workers: 0"),
		},
		Titles: map[string]string{"lower_batch_size": "Lower `max_batch_frames`"},
		Like:   []*program.Program{&Voices},
		Cards:  cards(learning("diffsinger", "A batch is filled up to `max_batch_frames` (50,000 by default) or `max_batch_size`; validation has limits of its own. Shallow diffusion trains two decoders at once; they can be trained one after the other.", "", "DiffSinger/docs/BestPractices.md", "lower_batch_size", "mixed_precision", "lower_resolution")),
	}
	// VoiceCraft edits and clones speech.
	VoiceCraft = program.Program{
		Name: "voicecraft", Shown: "VoiceCraft", Work: "audio", Edits: "code", Language: "python",
		Sources: program.Sources{"VoiceCraft/config.py": "--max_num_tokens --gradient_accumulation_steps --val_max_num_tokens --num_workers", "VoiceCraft/gradio_app.py": "sample_batch_size kvcache"},
		Proofs:  []string{"VoiceCraft/", "voicecraft.py"},
		Steps: steps{
			"lower_batch_size":  byPhase(step.Step{Kind: "text", Text: "`--gradient_accumulation_steps 52` (26 in e830M.sh): `--max_num_tokens` is divided by it; `--val_max_num_tokens 3000`."}, step.Step{Kind: "python", Text: "decode_config = {**decode_config, \"sample_batch_size\": 1, \"kvcache\": 0}   # kvcache 0: slower, less memory"}),
			"lower_resolution":  byPhase(step.Step{Kind: "text", Text: "Shorter recordings in the data set."}, step.Step{Kind: "text", Text: "A reference of 3 to 6 seconds and a sentence at a time."}),
			"use_smaller_model": words("The 330M checkpoint in place of 830M."),
		},
		Like: []*program.Program{&Voices},
		Cards: cards(
			learning("voicecraft", "`--max_num_tokens` is the batch of one card over all accumulated pieces (100,000 in e830M.sh): more accumulation makes each piece smaller, with the same result.", "", "VoiceCraft/config.py", "lower_batch_size", "use_smaller_model"),
			working("voicecraft", "while it spoke", "It generates `sample_batch_size` versions at once and keeps the shortest. Each has a cache for reference and text.", "", "VoiceCraft/gradio_app.py", "lower_batch_size", "lower_resolution", "use_smaller_model"),
		),
	}
	// Amphion is the toolkit with Vevo and MaskGCT.
	Amphion = program.Program{
		Name: "amphion", Shown: "Amphion", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"Amphion/config/base.json": "batch_size gradient_accumulation_step num_worker"},
		Proofs:  []string{"Amphion/", "amphion/models/"},
		Steps: steps{
			"lower_batch_size":  step.Paste("config", "// your exp_config.json, in train\n\"batch_size\": 4,\n\"gradient_accumulation_step\": 4"),
			"lower_resolution":  byPhase(step.Step{Kind: "text", Text: "Shorter recordings in the data set."}, step.Step{Kind: "text", Text: "A sentence at a time, a reference of 5 to 15 seconds."}),
			"lower_num_workers": step.Paste("config", "// in train\n\"dataloader\": {\"num_worker\": 2}   // 32 in base.json"),
		},
		Like: []*program.Program{&Voices},
		Cards: cards(
			learning("amphion", "A batch, 16 samples in most recipes, is padded to its longest recording.", "", "Amphion/config/base.json", "lower_batch_size", "lower_resolution"),
			working("amphion", "while it spoke", "Its models run one after another but all stay on the card (speech features, language or diffusion models, codec, vocoder). Memory also grows with the length of text and reference.", "`batch_size`: it is for training only.", "Amphion/models/tts/maskgct/README.md", "close_other_apps", "lower_resolution", "cpu_offload"),
		),
	}
	// ParlerTTS is Hugging Face's.
	ParlerTTS = program.Program{
		Name: "parler-tts", Shown: "Parler-TTS", Work: "audio", Edits: "code", Language: "python",
		Sources: program.Sources{"parler-tts/helpers/training_configs/starting_point_v1.json": "per_device_train_batch_size audio_encoder_per_device_batch_size max_duration_in_seconds gradient_checkpointing per_device_eval_batch_size", "parler-tts/INFERENCE.md": "torch_dtype attn_implementation"},
		Proofs:  []string{"parler_tts/", "run_parler_tts_training.py", "parler-tts/"},
		Steps: steps{
			"lower_batch_size":       step.Paste("config", "\"per_device_train_batch_size\": 2,\n\"gradient_accumulation_steps\": 8,\n\"per_device_eval_batch_size\": 1,\n\"audio_encoder_per_device_batch_size\": 4   // encoding, before training"),
			"lower_resolution":       byPhase(step.Step{Kind: "text", Text: "`max_duration_in_seconds` 15 (default 30)."}, step.Step{Kind: "text", Text: shorterText}),
			"gradient_checkpointing": step.Paste("config", "\"gradient_checkpointing\": true"),
			"half_precision":         step.Paste("python", "model = ParlerTTSForConditionalGeneration.from_pretrained(name, attn_implementation=\"sdpa\").to(\"cuda:0\", dtype=torch.bfloat16)   # name: as in your call"),
			"use_smaller_model":      words("parler-tts-mini-v1 (880 million parameters) in place of large (2.3 billion)."),
		},
		Like: []*program.Program{&Voices},
		Cards: cards(
			learning("parler-tts", "Before training all audio is encoded with `audio_encoder_per_device_batch_size` (24): it can fail there. In a training step batch size x seconds decides. Evaluation generates audio and runs a speech recogniser beside it.", "", "parler-tts/helpers/training_configs/starting_point_v1.json", "lower_batch_size", "gradient_checkpointing", "lower_resolution"),
			working("parler-tts", "while it spoke", "Without a dtype it loads at 32 bit: large takes about 9 GB, mini 3.5. The length of the text comes on top.", "", "parler-tts/INFERENCE.md", "half_precision", "lower_resolution", "use_smaller_model"),
		),
	}
	// Dia is Nari Labs'.
	Dia = program.Program{
		Name: "dia", Shown: "Dia", Work: "audio", Edits: "code", Language: "python",
		Sources: program.Sources{"dia/dia/model.py": "compute_dtype load_dac max_tokens"},
		Proofs:  []string{"dia/model.py", "dia/layers.py", "nari-labs/Dia", "-packages/dia/", "dia/audio.py"},
		Steps: steps{
			"half_precision":   step.Paste("python", "model = Dia.from_pretrained(\"nari-labs/Dia-1.6B-0626\", compute_dtype=\"bfloat16\")   # float32 is the default of from_pretrained; float16 before RTX 30"),
			"lower_resolution": words("Less text at a time, and `max_tokens` lower: 86 are a second. A reference of 5 to 10 seconds."),
			"cpu_offload":      step.Paste("python", "model = Dia.from_pretrained(\"nari-labs/Dia-1.6B-0626\", compute_dtype=\"float32\", device=\"cpu\")"),
		},
		Like: []*program.Program{&Voices},
		Cards: cards(
			opening("dia", "By its README Dia takes about 4.4 GB at 16 bit and 7.9 at 32 bit, the default of `from_pretrained` without `compute_dtype`. The audio decoder (DAC) is loaded with it.", "Shorter text: the models are loaded first.", "dia/README.md", "half_precision", "close_other_apps", "cpu_offload"),
			working("dia", "while it spoke", "By its README Dia takes about 4.4 GB at 16 bit and 7.9 at 32 bit, the default of `from_pretrained` without `compute_dtype`. Long text and a long reference come on top.", "", "dia/README.md", "half_precision", "lower_resolution", "close_other_apps"),
		),
	}
	// Moshi is Kyutai's.
	Moshi = program.Program{
		Name: "moshi", Shown: "Moshi", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"moshi/README.md": "-q --hf-repo", "moshi/moshi/moshi/server.py": "--half --device --hf-repo"},
		Proofs:  []string{"moshi/models/", "moshi/server.py", "-m moshi.", "moshi/modules/", "moshi_mlx"},
		Steps: steps{
			"use_lower_quant":   words("The PyTorch version has no quantisation. A Mac: `python -m moshi_mlx.local -q 4` (or 8). The Rust server takes a q8 model."),
			"use_smaller_model": words("A smaller model of the family, such as the 1B speech-to-text one, with `--hf-repo`."),
			"half_precision":    words("It runs at bfloat16 already; `--half` (float16) is for cards without it."),
		},
		Titles: map[string]string{"use_lower_quant": "Use the quantised MLX or Rust version"},
		Like:   []*program.Program{&Voices},
		Cards: cards(phase("moshi/card", "ran out of graphics memory", "The 7B model takes about 15 GB at bfloat16; the cache of a session comes on top. Its README asks for a card of 24 GB for the PyTorch version, which has no quantisation.",
			"`--half`: it is 16 bit, like the default.", "moshi/README.md", func(c *ledger.Case) bool { return !c.Training() }, fixes("close_other_apps", "use_lower_quant", "use_smaller_model"))),
	}
	// Spleeter is Deezer's, on TensorFlow.
	Spleeter = program.Program{
		Name: "spleeter", Shown: "Spleeter", Work: "audio", Edits: "flags", Language: "python", Commands: []string{"spleeter"},
		Sources: program.Sources{"spleeter/spleeter/options.py": "--duration --offset --mwf"},
		Proofs:  []string{"spleeter/"},
		Steps: steps{
			"lower_resolution": words("Cut it up: `spleeter separate -d 300 -s 0 ...`, then `-s 300`, ... (seconds), or ffmpeg first: `ffmpeg -i song.mp3 -f segment -segment_time 300 -c copy part%03d.mp3`."),
			"cpu_offload":      words("`CUDA_VISIBLE_DEVICES=-1` before the command."),
			"lower_batch_size": words("`spleeter:2stems` in place of 4stems or 5stems (a network for each stem), and no `--mwf`."),
		},
		Titles: map[string]string{"lower_resolution": "Cut the recording into parts", "lower_batch_size": "Separate fewer stems"}, Costs: map[string]string{"lower_batch_size": "Fewer stems."},
		Like: []*program.Program{&Voices},
		Cards: []cause.Card{{
			ID: "spleeter/length", Kinds: append([]fact.Kind{fact.TFAlloc, fact.TFStart}, offRAM...), Cause: cause.ContextTooLong, Weight: cause.Strong, If: func(c *ledger.Case) bool { return !ledger.Crowded(c) },
			Headline: "ran out of memory",
			Means:    "Spleeter separates the whole recording, up to 10 minutes by default, in one go, as 32-bit floats, with a network and a spectrogram for each stem. So memory grows with its length. On a card it takes 70 % of it at most.",
			Cures:    fixes("lower_resolution", "lower_batch_size", "cpu_offload"), Sources: []string{"spleeter/spleeter/options.py", "spleeter/spleeter/separator.py"},
		}},
	}
	// Programs of which no more is known than what they share.
	OpenVoice = speaker("openvoice", "OpenVoice", "openvoice/", "OpenVoice/")
	SparkTTS  = speaker("spark-tts", "Spark-TTS", "sparktts/", "Spark-TTS/")
)

// workspace is what DeepSpeed's kernels reserve for Tortoise, as its reader
// switches that off.
func workspace(id string, off, fewer cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Said: []string{"Workspace can't be allocated"}, Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "found no room on the card for the workspace of DeepSpeed's kernels",
		Means:    "DeepSpeed reserves one block for the batch of candidates and their length, from what was free on the card at the first call.[[ It wanted at least {asked}; {free} was free.]] The models are loaded by then.",
		Not:      "Allocator settings of PyTorch: this block does not come from its allocator.",
		Cures: []cause.Cure{
			off, fewer,
			{Fix: "kill_stale_process", Title: "Free the card, then restart the program", Told: "What is free is measured once, at the first call: a program that stays open after this error fails again.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
		},
		Sources: []string{"https://github.com/deepspeedai/DeepSpeed/blob/master/csrc/transformer/inference/includes/inference_context.h", "https://github.com/JarodMica/ai-voice-cloning/blob/master/src/webui.py"},
	}
}
