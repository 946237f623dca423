package apps

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Voices that people train or run from a repository.
var (
	// Tacotron2 is NVIDIA's, with its relatives.
	Tacotron2 = program.Program{
		Name: "tacotron2", Shown: "Tacotron 2", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"tacotron2/hparams.py": "--hparams batch_size fp16_run", "tacotron2/train.py": "--hparams"},
		Proofs:  []string{"tacotron2/train.py", "tacotron2/model.py", "tacotron2/loss_function.py", "tacotron2/hparams.py", "mellotron/train.py", "flowtron/train.py"},
		Steps: kit.Steps{
			"lower_batch_size": kit.HalfBatch("text", "Set `--hparams=batch_size=%d`, then half of it (64 in hparams.py).", 16),
			"lower_resolution": kit.Words("Remove recordings above 10 seconds from the file lists in filelists/."),
			"mixed_precision":  kit.Words("Set `--hparams=fp16_run=True` (it needs apex)."),
		},
		Like:  []*program.Program{&Voices},
		Cards: kit.Cards(kit.Learning("tacotron2", "Memory grows with the batch size x the longest recording in the batch. Validation uses the same batch size.", "", "tacotron2/hparams.py", "lower_batch_size", "lower_resolution", "mixed_precision")),
	}
	// VITS is Kim's, with Bert-VITS2 and others made from it.
	VITS = program.Program{
		Name: "vits", Shown: "VITS", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"vits/configs/ljs_base.json": "batch_size fp16_run segment_size", "Bert-VITS2/configs/config.json": "batch_size bf16_run"},
		Proofs:  []string{"/vits/train.py", "/vits/train_ms.py", "/vits/models.py", "Bert-VITS2", "VITS-fast-fine-tuning", "vits/data_utils.py"},
		Steps: kit.Steps{
			"lower_batch_size":  kit.HalfBatch("config", "// configs/*.json, in train; then half of it\n\"batch_size\": %d", 8),
			"lower_resolution":  kit.ByPhase(step.Step{Kind: "text", Text: "Cut recordings to at most 10 seconds. Or shorten the bucket list in train.py to `[32,300,400,500,600]`: longer recordings are then left out."}, step.Step{Kind: "text", Text: shorterText}),
			"mixed_precision":   kit.Words("Set `\"fp16_run\": true` in the config (Bert-VITS2: `\"bf16_run\"`)."),
			"lower_num_workers": kit.Words("Set `num_workers=2, persistent_workers=False` in the loaders of train.py (Bert-VITS2: `num_workers` under train_ms in config.yml)."),
		},
		Like: []*program.Program{&Voices},
		Cards: kit.Cards(
			kit.Learning("vits", "Every sample in a batch needs as much memory as the longest one, so one long recording can fill the card. The `batch_size` of 64 in the original configs is for large cards.", "", "vits/configs/ljs_base.json", "lower_batch_size", "lower_resolution", "mixed_precision"),
			kit.Working("vits", "while it spoke", "Memory grows with the length of the text that is spoken at once; text without full stops counts as one sentence. Bert-VITS2 also keeps BERT models on the card.", "`batch_size` in the config: it is for training only.", "vits/inference.ipynb", "lower_resolution", "cpu_offload"),
		),
	}
	// StyleTTS2 is Li's.
	StyleTTS2 = program.Program{
		Name: "styletts2", Shown: "StyleTTS 2", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"accelerate/src/accelerate/commands/launch.py": "--mixed_precision", "StyleTTS2/Configs/config_ft.yml": "batch_size max_len batch_percentage joint_epoch diff_epoch"},
		Proofs:  []string{"StyleTTS2/", "styletts2/", "train_second.py", "train_finetune_accelerate.py"},
		Steps: kit.Steps{
			"lower_batch_size":  step.Paste("config", "# Configs/config_ft.yml\nbatch_size: 2   # at least 2"),
			"lower_resolution":  kit.Half("config", "max_len: %d   # frames of 12.5 ms; default 400", 200, "max_len", fact.OptionLength),
			"use_smaller_model": step.Paste("config", "loss_params:\n  joint_epoch: 1000   # above epochs: no adversarial training with the speech model\nslmadv_params:\n  batch_percentage: 0.5   # or a smaller part of the batch for it"),
			"mixed_precision":   kit.Words("Run `accelerate launch --mixed_precision=fp16 train_finetune_accelerate.py`. Do not use it for train_first.py: the README warns of NaN losses."),
		},
		Titles: map[string]string{"use_smaller_model": "Turn off the adversarial training (`joint_epoch`)", "lower_resolution": "Train on shorter segments (`max_len`)"}, Costs: map[string]string{"lower_resolution": "Shorter context in training."},
		Like: []*program.Program{&Voices},
		Cards: kit.Cards(
			kit.Bound(kit.Learning("styletts2", "Memory grows with `batch_size` x `max_len`. It also rises during a run: style diffusion starts at `diff_epoch`, and a large speech model (WavLM) joins at `joint_epoch`.", "", "StyleTTS2/README.md", "lower_resolution", "lower_batch_size", "use_smaller_model"), "lower_batch_size", kit.Above(2, step.BatchSettings...)),
		),
	}
	// Tortoise is neonbjb's.
	Tortoise = program.Program{
		Name: "tortoise", Shown: "Tortoise TTS", Work: "audio", Edits: "code", Language: "python",
		Sources: program.Sources{"tortoise-tts/tortoise/api.py": "autoregressive_batch_size half kv_cache", "tortoise-tts/tortoise/do_tts.py": "--half --kv_cache --preset"},
		Proofs:  []string{"tortoise/api.py", "tortoise/models/", "tortoise/do_tts.py", "-packages/tortoise/", "tortoise-tts/"},
		Steps: kit.Steps{
			"lower_batch_size":  step.Paste("python", "tts = TextToSpeech(autoregressive_batch_size=1, half=True, kv_cache=True)"),
			"lower_resolution":  kit.Words("Use one or two sentences at a time (read.py splits longer texts), and reference clips of 6 to 10 seconds."),
			"half_precision":    step.Paste("python", "tts = TextToSpeech(half=True, kv_cache=True)"),
			"lower_num_workers": kit.Words("Use `--preset fast` or `ultra_fast`: they make fewer candidates."),
		},
		Titles: map[string]string{"lower_batch_size": "Lower `autoregressive_batch_size`"},
		Like:   []*program.Program{&Voices},
		Cards: kit.Cards(
			workspace("tortoise/workspace", cause.Cure{Fix: "cpu_offload", Title: "Turn DeepSpeed off", Told: "Remove `use_deepspeed=True`.", Cost: "Slower."}, cause.Cure{Fix: "lower_batch_size", Title: "Or make fewer candidates at once", Told: "`TextToSpeech(autoregressive_batch_size=1)`.", Cost: "Slower."}),
			kit.Working("tortoise", "while it made candidates", "Tortoise makes many candidates and keeps the best. It chooses how many at once (16, 8 or 4) from the total size of the card, not from what is free.", "", "tortoise-tts/tortoise/api.py", "lower_batch_size", "half_precision", "lower_resolution"),
			kit.Opening("tortoise", "Tortoise loads several models: a language model, CLVP, a diffusion model and a vocoder.", "Fewer candidates: loading the models failed.", "tortoise-tts/tortoise/api.py", "half_precision", "close_other_apps", "cpu_offload"),
		),
	}
	// MeloTTS and OpenVoice are MyShell's.
	MeloTTS = program.Program{
		Name: "melotts", Shown: "MeloTTS", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"MeloTTS/melo/configs/config.json": "batch_size fp16_run", "MeloTTS/melo/train.py": "num_workers"},
		Proofs:  []string{"melo/train.py", "melo/api.py", "melo/models.py", "MeloTTS/"},
		Steps: kit.Steps{
			"lower_batch_size":  kit.HalfBatch("config", "// config.json beside your metadata.list, in train (6 by default)\n\"batch_size\": %d", 2),
			"lower_resolution":  kit.ByPhase(step.Step{Kind: "text", Text: "Keep only recordings of at most 10 seconds in metadata.list."}, step.Step{Kind: "text", Text: shorterText}),
			"mixed_precision":   step.Paste("config", "\"fp16_run\": true"),
			"lower_num_workers": kit.Words("Set `num_workers=2` in the loader of melo/train.py (default 16)."),
		},
		Like: []*program.Program{&Voices},
		Cards: kit.Cards(
			kit.Learning("melotts", "Every sample in a batch needs as much memory as the longest one. Training runs at 32 bit unless `fp16_run` is set. train.sh restarts itself after a crash: check with `nvidia-smi` whether an old run is still on the card.", "", "MeloTTS/melo/train.py", "lower_batch_size", "mixed_precision", "lower_resolution"),
			kit.Working("melotts", "while it spoke", "MeloTTS's models need only about 1 GB. So another program probably uses the card, or one sentence is very long.", "`batch_size` in the config: it is for training only.", "MeloTTS/melo/api.py", "close_other_apps", "lower_resolution", "cpu_offload"),
		),
	}
	// StableAudioTools is Stability's.
	StableAudioTools = program.Program{
		Name: "stable-audio-tools", Shown: "stable-audio-tools", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"stable-audio-tools/README.md": "--batch-size --accum-batches --precision --num-workers --strategy --model-half", "stable-audio-tools/defaults.ini": "batch_size accum_batches"},
		Proofs:  []string{"stable_audio_tools/", "stable-audio-tools/"},
		Steps: kit.Steps{
			"lower_batch_size":  kit.Words("Add `--batch-size 1 --accum-batches 8`."),
			"lower_resolution":  kit.ByPhase(step.Step{Kind: "text", Text: "Set a smaller `sample_size` in the model config (12582912 samples are 285 seconds at 44.1 kHz)."}, step.Step{Kind: "text", Text: "Pass a smaller `sample_size` to `generate_diffusion_cond`; fewer seconds alone do not help."}),
			"mixed_precision":   kit.Words("Use `--precision bf16-mixed` (default 16-mixed)."),
			"offload_optimizer": kit.Words("Use `--strategy deepspeed`: ZeRO 2 over the cards."),
			"half_precision":    kit.Words("In code: `model.to(torch.float16)`. run_gradio.py uses 16 bit by default; older versions need `--model-half`."),
			"cpu_offload":       kit.Words("Encode the dataset once with pre_encode.py. Training then does not need the autoencoder's encoder."),
		},
		Titles: map[string]string{"lower_resolution": "Lower `sample_size`", "cpu_offload": "Encode the latents in advance", "offload_optimizer": "Shard the optimizer (ZeRO 2)"}, Costs: map[string]string{"cpu_offload": "One pass over the data, and disk space.", "lower_resolution": "Shorter clips."},
		Like: []*program.Program{&Voices},
		Cards: kit.Cards(
			kit.Learning("stable-audio-tools", "Memory grows with batch size x `sample_size` (audio samples of a clip). The autoencoder runs on the same card, and an EMA copy of the weights is kept there too.", "", "stable-audio-tools/README.md", "lower_batch_size", "cpu_offload", "lower_resolution"),
			kit.Working("stable-audio-tools", "while it made or decoded sound", "The model always computes the whole `sample_size`, however few seconds you ask for, and decodes all of it at once.", "Fewer steps: they cost time, not memory.", "stable-audio-tools/stable_audio_tools/inference/generation.py", "half_precision", "lower_resolution", "close_other_apps"),
		),
	}
	// DiffSinger is OpenVPI's.
	DiffSinger = program.Program{
		Name: "diffsinger", Shown: "DiffSinger", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"DiffSinger/configs/base.yaml": "max_batch_frames max_batch_size max_val_batch_frames ds_workers pl_trainer_precision accumulate_grad_batches"},
		Proofs:  []string{"DiffSinger/", "diffsinger/", "DiffSinger-main/"},
		Steps: kit.Steps{
			"lower_batch_size":  step.Paste("config", "# your config, over configs/base.yaml\nmax_batch_frames: 20000   # 50000\nmax_batch_size: 8\nmax_val_batch_frames: 20000\naccumulate_grad_batches: 2"),
			"lower_resolution":  kit.Words("Cut the dataset into clips of 5 to 15 seconds. A clip longer than the limit still goes in alone."),
			"mixed_precision":   step.Paste("config", "pl_trainer_precision: '16-mixed'   # bf16-mixed from RTX 30 on"),
			"lower_num_workers": step.Paste("config", "ds_workers: 1\nbinarization_args:\n  num_workers: 0"),
		},
		Titles: map[string]string{"lower_batch_size": "Lower `max_batch_frames`"},
		Like:   []*program.Program{&Voices},
		Cards:  kit.Cards(kit.Learning("diffsinger", "A batch is filled up to `max_batch_frames` (50,000 by default) or `max_batch_size`; validation has its own limits. Shallow diffusion trains two decoders at once; you can train them one after the other.", "", "DiffSinger/docs/BestPractices.md", "lower_batch_size", "mixed_precision", "lower_resolution")),
	}
	// VoiceCraft edits and clones speech.
	VoiceCraft = program.Program{
		Name: "voicecraft", Shown: "VoiceCraft", Work: "audio", Edits: "code", Language: "python",
		Sources: program.Sources{"VoiceCraft/config.py": "--max_num_tokens --gradient_accumulation_steps --val_max_num_tokens --num_workers", "VoiceCraft/gradio_app.py": "sample_batch_size kvcache"},
		Proofs:  []string{"VoiceCraft/", "voicecraft.py"},
		Steps: kit.Steps{
			"lower_batch_size":  kit.ByPhase(step.Step{Kind: "text", Text: "Set `--gradient_accumulation_steps 52` (26 in e830M.sh; `--max_num_tokens` is divided by it) and `--val_max_num_tokens 3000`."}, step.Step{Kind: "python", Text: "decode_config = {**decode_config, \"sample_batch_size\": 1, \"kvcache\": 0}   # kvcache 0: slower, less memory"}),
			"lower_resolution":  kit.ByPhase(step.Step{Kind: "text", Text: "Use shorter recordings in the dataset."}, step.Step{Kind: "text", Text: "Use a reference of 3 to 6 seconds and one sentence at a time."}),
			"use_smaller_model": kit.Words("Use the 330M checkpoint instead of 830M."),
		},
		Like: []*program.Program{&Voices},
		Cards: kit.Cards(
			kit.Learning("voicecraft", "`--max_num_tokens` (100,000 in e830M.sh) is divided by the number of accumulation steps. So more accumulation needs less memory, with the same result.", "", "VoiceCraft/config.py", "lower_batch_size", "use_smaller_model"),
			kit.Working("voicecraft", "while it spoke", "VoiceCraft makes `sample_batch_size` versions at once and keeps the shortest. Each needs its own cache for reference and text.", "", "VoiceCraft/gradio_app.py", "lower_batch_size", "lower_resolution", "use_smaller_model"),
		),
	}
	// Amphion is the toolkit with Vevo and MaskGCT.
	Amphion = program.Program{
		Name: "amphion", Shown: "Amphion", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"Amphion/config/base.json": "batch_size gradient_accumulation_step num_worker"},
		Proofs:  []string{"Amphion/", "amphion/models/"},
		Steps: kit.Steps{
			"lower_batch_size":  kit.HalfBatch("config", "// your exp_config.json, in train\n\"batch_size\": %d", 4),
			"lower_resolution":  kit.ByPhase(step.Step{Kind: "text", Text: "Use shorter recordings in the dataset."}, step.Step{Kind: "text", Text: "Use one sentence at a time and a reference of 5 to 15 seconds."}),
			"lower_num_workers": step.Paste("config", "// in train\n\"dataloader\": {\"num_worker\": 2}   // 32 in base.json"),
		},
		Like: []*program.Program{&Voices},
		Cards: kit.Cards(
			kit.Learning("amphion", "A batch has 16 samples in most recipes, and every sample needs as much memory as the longest one.", "", "Amphion/config/base.json", "lower_batch_size", "lower_resolution"),
			kit.Working("amphion", "while it spoke", "Amphion's models run one after another, but all stay on the card (speech features, language or diffusion model, codec, vocoder). Memory also grows with the length of text and reference.", "`batch_size`: it is for training only.", "Amphion/models/tts/maskgct/README.md", "close_other_apps", "lower_resolution", "cpu_offload"),
		),
	}
	// ParlerTTS is Hugging Face's.
	ParlerTTS = program.Program{
		Name: "parler-tts", Shown: "Parler-TTS", Work: "audio", Edits: "code", Language: "python",
		Sources: program.Sources{"parler-tts/helpers/training_configs/starting_point_v1.json": "per_device_train_batch_size audio_encoder_per_device_batch_size max_duration_in_seconds gradient_checkpointing per_device_eval_batch_size", "parler-tts/INFERENCE.md": "torch_dtype attn_implementation"},
		Proofs:  []string{"parler_tts/", "run_parler_tts_training.py", "parler-tts/"},
		Steps: kit.Steps{
			"lower_batch_size":       kit.HalfBatch("config", "\"per_device_train_batch_size\": %d,\n\"per_device_eval_batch_size\": 1,\n\"audio_encoder_per_device_batch_size\": 4   // encoding, before training", 2),
			"lower_resolution":       kit.ByPhase(step.Step{Kind: "text", Text: "Set `max_duration_in_seconds` to 15 (default 30)."}, step.Step{Kind: "text", Text: shorterText}),
			"gradient_checkpointing": step.Paste("config", "\"gradient_checkpointing\": true"),
			"half_precision":         step.Paste("python", "model = ParlerTTSForConditionalGeneration.from_pretrained(name, attn_implementation=\"sdpa\").to(\"cuda:0\", dtype=torch.bfloat16)   # name: as in your call"),
			"use_smaller_model":      kit.Words("Use parler-tts-mini-v1 (880 million parameters) instead of large (2.3 billion)."),
		},
		Like: []*program.Program{&Voices},
		Cards: kit.Cards(
			cause.Card{
				ID: "parler-tts/evaluation", Kinds: kit.OnCard, Said: []string{"Evaluating - Inference", "Evaluating - Generation", "in generate_step", "in eval_step"}, If: func(c *ledger.Case) bool { return !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Decisive,
				Headline: "ran out of GPU memory[[ ({total})]] in evaluation",
				Means:    "Training itself fits. Evaluation generates audio for a whole batch, with a cache for every sample, and then loads a speech recogniser beside the model and the optimizer.",
				Not:      "A smaller `per_device_train_batch_size`: evaluation has its own.",
				Cures: []cause.Cure{
					{Fix: "lower_parallel", Title: "Lower `per_device_eval_batch_size`", Steps: kit.Half("config", "--per_device_eval_batch_size %d", 1, "per_device_eval_batch_size"), If: kit.Above(1, "per_device_eval_batch_size"), Cost: "Evaluation takes longer."},
					{Fix: "use_smaller_model", Title: "Evaluate without generating", Kind: "config", Text: "--predict_with_generate false", Cost: "No word error rate."},
					{Fix: "lower_resolution", Title: "Use fewer and shorter evaluation samples", Kind: "config", Text: "--max_eval_samples 8", Cost: "A rougher figure."},
				},
				Sources: []string{"parler-tts/helpers/training_configs/starting_point_v1.json", "parler-tts/training/run_parler_tts_training.py"},
			},
			kit.Learning("parler-tts", "Training memory grows with batch size x seconds. It can also fail before that, when all audio is encoded (`audio_encoder_per_device_batch_size`, default 24), or in evaluation, which also runs a speech recogniser.", "", "parler-tts/helpers/training_configs/starting_point_v1.json", "lower_batch_size", "gradient_checkpointing", "lower_resolution"),
			kit.Working("parler-tts", "while it spoke", "Without a dtype Parler-TTS loads at 32 bit: large takes about 9 GB, mini 3.5. Long text comes on top.", "", "parler-tts/INFERENCE.md", "half_precision", "lower_resolution", "use_smaller_model"),
		),
	}
	// Dia is Nari Labs'.
	Dia = program.Program{
		Name: "dia", Shown: "Dia", Work: "audio", Edits: "code", Language: "python",
		Sources: program.Sources{"dia/dia/model.py": "compute_dtype load_dac max_tokens"},
		Proofs:  []string{"dia/model.py", "dia/layers.py", "nari-labs/Dia", "-packages/dia/", "dia/audio.py"},
		Steps: kit.Steps{
			"half_precision":   step.Paste("python", "model = Dia.from_pretrained(\"nari-labs/Dia-1.6B-0626\", compute_dtype=\"bfloat16\")   # float32 is the default of from_pretrained; float16 before RTX 30"),
			"lower_resolution": kit.Words("Use less text at a time, a lower `max_tokens` (86 are one second), and a reference of 5 to 10 seconds."),
			"cpu_offload":      step.Paste("python", "model = Dia.from_pretrained(\"nari-labs/Dia-1.6B-0626\", compute_dtype=\"float32\", device=\"cpu\")"),
		},
		Like: []*program.Program{&Voices},
		Cards: kit.Cards(
			kit.Opening("dia", "By its README Dia takes about 4.4 GB at 16 bit and 7.9 at 32 bit, the default of `from_pretrained` without `compute_dtype`. The audio decoder (DAC) is loaded too.", "Shorter text: loading the models failed.", "dia/README.md", "half_precision", "close_other_apps", "cpu_offload"),
			kit.Saved(kit.Working("dia", "while it spoke", "16 bit is on already: by its README Dia then takes about 4.4 GB. The text, the reference and the audio made so far come on top.", "", "dia/README.md", "lower_resolution", "close_other_apps", "cpu_offload"), "half_precision", "compute_dtype=\"float16\"", "compute_dtype=\"bfloat16\"", "compute_dtype='float16'", "compute_dtype='bfloat16'"),
			kit.Working("dia", "while it spoke", "By its README Dia takes about 4.4 GB at 16 bit and 7.9 at 32 bit, the default of `from_pretrained` without `compute_dtype`. Long text and a long reference come on top.", "", "dia/README.md", "half_precision", "lower_resolution", "close_other_apps"),
		),
	}
	// Moshi is Kyutai's.
	Moshi = program.Program{
		Name: "moshi", Shown: "Moshi", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"moshi/README.md": "-q --hf-repo", "moshi/moshi/moshi/server.py": "--half --device --hf-repo"},
		Proofs:  []string{"moshi/models/", "moshi/server.py", "-m moshi.", "moshi/modules/", "moshi_mlx"},
		Steps: kit.Steps{
			"use_lower_quant": kit.Words("On a Mac: `python -m moshi_mlx.local -q 4` (or 8). Elsewhere: the Rust server with a q8 model. The PyTorch version has no quantisation."),
			"half_precision":  kit.Words("It already runs at bfloat16; `--half` (float16) is for cards without bfloat16."),
		},
		Titles: map[string]string{"use_lower_quant": "Use the quantised MLX or Rust version"},
		Like:   []*program.Program{&Voices},
		Cards: kit.Cards(kit.Phase("moshi/card", "ran out of GPU memory", "Moshi's 7B model takes about 15 GB at bfloat16, and the cache of a session comes on top. For the PyTorch version, which has no quantisation, its README asks for 24 GB.",
			"`--half`: it is 16 bit, like the default.", "moshi/README.md", func(c *ledger.Case) bool { return !c.Training() }, kit.Fixes("close_other_apps", "use_lower_quant"))),
	}
	// Spleeter is Deezer's, on TensorFlow.
	Spleeter = program.Program{
		Name: "spleeter", Shown: "Spleeter", Work: "audio", Edits: "flags", Language: "python", Commands: []string{"spleeter"},
		Sources: program.Sources{"spleeter/spleeter/options.py": "--duration --offset --mwf"},
		Proofs:  []string{"spleeter/"},
		Steps: kit.Steps{
			"lower_resolution": kit.Words("Cut it first: `ffmpeg -i song.mp3 -f segment -segment_time 120 -c copy part%03d.mp3`. Or use `spleeter separate -d 120 -s 0 ...`, then `-s 120` and so on (seconds)."),
			"cpu_offload":      kit.Words("Put `CUDA_VISIBLE_DEVICES=-1` before the command."),
			"lower_batch_size": kit.Words("Use `spleeter:2stems` instead of 4stems or 5stems, without `--mwf`."),
		},
		Titles: map[string]string{"lower_resolution": "Cut the recording into parts", "lower_batch_size": "Separate fewer stems"}, Costs: map[string]string{"lower_batch_size": "Fewer stems."},
		Like: []*program.Program{&Voices},
		Cards: []cause.Card{{
			ID: "spleeter/length", Kinds: append([]fact.Kind{fact.TFAlloc, fact.TFStart}, kit.OffRAM...), Cause: cause.ContextTooLong, Weight: cause.Strong, If: func(c *ledger.Case) bool { return !ledger.Crowded(c) },
			Headline: "ran out of memory: most likely the recording is too long",
			Means:    "Spleeter separates the whole recording at once (up to 10 minutes by default), with a network and a spectrogram for each stem. So memory grows with its length.",
			Cures:    kit.Fixes("lower_resolution", "lower_batch_size", "cpu_offload"), Sources: []string{"spleeter/spleeter/options.py", "spleeter/spleeter/separator.py"},
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
		Headline: "ran out of GPU memory for DeepSpeed's workspace",
		Means:    "After the models are loaded, DeepSpeed reserves one large block for the batch of candidates.[[ It needs at least {asked}; {free} was free.]] That did not fit.",
		Not:      "PyTorch's allocator settings: this block does not come from PyTorch's allocator.",
		Cures: []cause.Cure{
			off, fewer,
			{Fix: "kill_stale_process", Title: "Free the card, then restart the program", Told: "Free memory is measured once, at the first call. So a program that stays open after this error fails again. This shows what else is on the card:", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{"https://github.com/deepspeedai/DeepSpeed/blob/master/csrc/transformer/inference/includes/inference_context.h", "https://github.com/JarodMica/ai-voice-cloning/blob/master/src/webui.py"},
	}
}
