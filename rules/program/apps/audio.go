package apps

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Voices is what programs share that speak, sing or part music.
var Voices = program.Program{
	Work: "audio", Edits: "flags", Language: "python",
	Titles:  map[string]string{"lower_resolution": "Use shorter recordings or texts", "cpu_offload": "Run it on the CPU", "use_smaller_model": "Use a smaller model", "lowvram_mode": "Turn on its low-memory mode"},
	Costs:   map[string]string{"lower_resolution": "Cutting them takes time.", "cpu_offload": "Many times slower."},
	Effects: kit.NoSums,
	Steps: kit.Steps{
		"cpu_offload":       kit.NoCard,
		"lower_batch_size":  kit.ByPhase(step.Step{Kind: "text", Text: "Halve the batch size of the training, down to 1, and accumulate twice as many gradients."}, step.Step{Kind: "text", Text: "One request at a time, with shorter text or audio."}),
		"lower_resolution":  kit.ByPhase(step.Step{Kind: "text", Text: shorterClip}, step.Step{Kind: "text", Text: shorterText}),
		"use_smaller_model": step.Paste("text", "Choose a smaller variant of the model, if there is one."),
		"lowvram_mode":      step.Paste("text", "If it has no such mode, run it on the CPU, or free the card first."),
	},
	Sources: kit.Visible,
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge:         kit.NotTrained(cause.InOrder("lower_batch_size", "lower_resolution", "close_other_apps", "cpu_offload")),
		cause.OversizedAllocation:   kit.NotTrained(cause.InOrder("lower_resolution", "lower_batch_size", "cpu_offload")),
		cause.TrainingStateTooLarge: cause.InOrder("lower_batch_size", "close_other_apps", "bigger_gpu"),
		cause.ModelTooLarge:         cause.InOrder("close_other_apps", "use_smaller_model", "cpu_offload"),
		cause.HostMemory:            kit.SwapOrPage(cause.InOrder("close_other_apps", "raise_pagefile", "add_swap", "raise_memory_limit")),
		cause.Unknown:               cause.InOrder("close_other_apps", "lower_batch_size", "lower_resolution", "cpu_offload"),
	},
}

var (
	shorterText = "Give it one or two sentences at a time and join the audio files afterwards."
	shorterClip = "Cut the recordings into pieces of 5 to 15 seconds before preprocessing."
)

// CoquiTTS is coqui's library with XTTS.
var CoquiTTS = program.Program{
	Name: "coqui-tts", Shown: "Coqui TTS", Edits: "code",
	Sources: program.Sources{"TTS/recipes/ljspeech/xtts_v2/train_gpt_xtts.py": "BATCH_SIZE GRAD_ACUMM_STEPS"},
	Proofs:  []string{"-packages/TTS/", "TTS/tts/models/", "TTS/bin/", "from TTS.api import"},
	Like:    []*program.Program{&Voices},
	Steps: kit.Steps{
		"lower_resolution": step.Paste("python", "for i, sentence in enumerate(text.split(\". \")):\n    tts.tts_to_file(text=sentence, speaker_wav=\"voice.wav\", language=\"en\", file_path=f\"part{i}.wav\")"),
		"lower_batch_size": kit.ByPhase(step.Step{Kind: "python", Text: "BATCH_SIZE = 1        # in the training recipe\nGRAD_ACUMM_STEPS = 252   # so that the product stays about 252"}, step.Step{Kind: "text", Text: shorterText}),
		"cpu_offload":      step.Paste("python", "tts = TTS(\"tts_models/multilingual/multi-dataset/xtts_v2\").to(\"cpu\")"),
		"half_precision":   step.Paste("text", "XTTS has no switch for 16 bit; DeepSpeed (use_deepspeed=True in load_checkpoint) runs it faster, not smaller."),
	},
	Cards: kit.Cards(
		cause.Card{
			ID: "coqui-tts/training", Kinds: kit.OnCard, Said: []string{"trainer.fit()", "trainer/trainer.py", `trainer\trainer.py`, "train_gpt_xtts", "xtts_ft_demo"},
			Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] in training",
			Means:    "Memory grows with the batch size x the longest clip in the batch. So one long recording can fill the card although all others fit.",
			Cures: []cause.Cure{
				kit.Only(xtts, kit.Cure("lower_batch_size", "Lower the batch size, accumulate more", "python", "BATCH_SIZE = 1        # in the recipe; on the demo page: Batch size 1\nGRAD_ACUMM_STEPS = 252   # Coqui recommends a product of at least 252", "Slower steps.")),
				kit.Only(when.Not(xtts), cause.Cure{Fix: "lower_batch_size", Title: "Halve the batch size (`batch_size`)", Told: "In the recipe's config; `eval_batch_size` too, if it failed in evaluation. Set `mixed_precision=True`, if it is off.", Cost: "Slower."}),
				kit.Only(when.Not(xtts), cause.Cure{Fix: "lower_resolution", Title: "Leave out the longest clips (`max_audio_len`)", Told: "In the recipe's config set `max_audio_len` (in samples: 10 seconds at 22050 Hz are 220500).", Cost: "Longer clips are left out."}),
				kit.Only(xtts, kit.Cure("lower_resolution", "Shorten the longest clip (`max_wav_length`)", "python", "max_wav_length=176400   # in GPTArgs: 8 seconds at 22050 Hz instead of 11.6", "Longer clips are left out.")),
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/coqui-ai/TTS/blob/dev/recipes/ljspeech/xtts_v2/train_gpt_xtts.py"},
		},
		cause.Card{
			ID: "coqui-tts/long-text", Kinds: kit.OnCard, Said: []string{"in inference", "tts_to_file", "in tts", "xtts.py", "in synthesize"},
			If: func(c *ledger.Case) bool { return !c.Training() }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] while it spoke",
			Means:    "XTTS itself needs 3 to 4 GB. The rest grows with the length of one sentence and of the reference recording. Text without full stops counts as one sentence.",
			Cures: []cause.Cure{
				kit.Cure("lower_resolution", "Shorten the sentences and the reference recording", "text", "Put full stops into long passages: text is split there (`split_sentences=True`, the default). Or call `tts_to_file` for each sentence. Use a `speaker_wav` of 6 to 10 seconds.", "Parts to join."),
				kit.LookAtCard,
				kit.Cure("cpu_offload", "Run it on the CPU", "python", "tts = TTS(\"tts_models/multilingual/multi-dataset/xtts_v2\").to(\"cpu\")", "Several times slower than speech."),
			},
			Sources: []string{"https://github.com/coqui-ai/TTS/blob/dev/TTS/api.py", "https://github.com/coqui-ai/TTS/blob/dev/docs/source/models/xtts.md"},
		},
	),
}

// xtts: its own recipe or page, not another model of the library's.
func xtts(c *ledger.Case) bool {
	return c.Near("xtts.py", "train_gpt_xtts", "xtts_ft_demo") || !kit.Framed(c, "TTS/tts/models/")
}

// Bark is Suno's.
var Bark = program.Program{
	Name: "bark", Shown: "Bark", Edits: "code",
	Proofs:  []string{"-packages/bark/", "bark/generation.py", "SUNO_USE_SMALL_MODELS", "from bark import"},
	Like:    []*program.Program{&Voices},
	Sources: program.Sources{"bark/bark/generation.py": "SUNO_USE_SMALL_MODELS SUNO_OFFLOAD_CPU"},
	Steps: kit.Steps{
		"lowvram_mode":      step.Paste("python", barkOffload),
		"use_smaller_model": step.Paste("python", "import os\n\nos.environ[\"SUNO_USE_SMALL_MODELS\"] = \"True\"   # before bark is imported"),
		"lower_resolution":  step.Paste("text", shorterText),
	},
	Cards: kit.Cards(cause.Card{
		ID: "bark/smallest", Kinds: kit.OnCard, Said: []string{"SUNO_OFFLOAD_CPU=True", "SUNO_OFFLOAD_CPU\"] = \"True", "SUNO_OFFLOAD_CPU'] = 'True"}, If: func(c *ledger.Case) bool { return c.In("bark") }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] although it offloads to RAM",
		Means:    "Offloading to RAM is on already; with the small models about 2 GB are enough then. Something else takes a part, or the card is too small.",
		Cures: []cause.Cure{
			kit.Only(func(c *ledger.Case) bool { return !c.Near("SUNO_USE_SMALL_MODELS=True") }, cause.Cure{Fix: "use_smaller_model"}),
			kit.LookAtCard,
			{Fix: "cpu_offload"},
			{Fix: "lower_resolution", Title: "Speak one short sentence at a time"},
		},
		Sources: []string{"https://github.com/suno-ai/bark/blob/main/README.md"},
	}, cause.Card{
		ID: "bark/models", Kinds: kit.OnCard, Unsaid: []string{"SUNO_USE_SMALL_MODELS=True"}, If: func(c *ledger.Case) bool { return c.In("bark") }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] with its models",
		Means:    "The full version of Bark needs about 12 GB for its models. The small models fit into 8 GB. If parts also move to RAM, about 2 GB are enough.",
		Cures: []cause.Cure{
			kit.Cure("lowvram_mode", "Use the small models and offload to RAM", "python", barkOffload, "Slightly worse speech; slower."),
			kit.LookAtCard,
		},
		Sources: []string{"https://github.com/suno-ai/bark/blob/main/README.md"},
	}),
}

const barkOffload = "import os\n\nos.environ[\"SUNO_OFFLOAD_CPU\"] = \"True\"        # both before bark is imported\nos.environ[\"SUNO_USE_SMALL_MODELS\"] = \"True\""

// RVC converts voices.
var RVC = program.Program{
	Name: "rvc", Shown: "RVC",
	Proofs: []string{"Retrieval-based-Voice-Conversion", "infer/modules/vc/", "infer/vc/", "infer/modules/train/", "train_nsf_sim_cache_sid_load_pretrain", "infer/lib/infer_pack/", "infer-web.py", "infer/lib/train/", "Applio/", "rvc/train/", "rvc/infer/"},
	Like:   []*program.Program{&Voices},
	Steps: kit.Steps{
		"lower_batch_size": kit.ByPhase(step.Step{Kind: "ui", Text: "Train tab: Batch size per GPU: half of the present value, then 1; Cache all training sets to GPU memory: No"}, step.Step{Kind: "text", Text: "Convert pieces of 30 to 60 seconds, one at a time."}),
		"lower_resolution": kit.ByPhase(step.Step{Kind: "text", Text: "Cut the recordings into clips of a few seconds, leave out long ones, and process the data again."}, step.Step{Kind: "config", Text: "# configs/config.py, at the end: smaller pieces of sound at a time\nx_pad = 1\nx_query = 5\nx_center = 30\nx_max = 32"}),
		"half_precision":   step.Paste("text", "It computes at 16 bit already on cards that can; GTX 16xx run at 32 bit on purpose."),
	},
	Cards: kit.Cards(
		cause.Card{
			ID: "rvc/index", Kinds: kit.OffRAM, Said: []string{"train_index", "training index", "big_npy", "IndexIVFFlat", "train-index"}, Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "ran out of system memory (RAM) while it built the index",
			Means:    "The feature index takes all features of the recordings into one array: 50 rows of 768 numbers (3 KB each) per second of voice, and a copy of it while it is put together. So it grows with the length of the recordings. The voice model itself does not need the index.",
			Not:      "A smaller batch size: it saves GPU memory, not RAM.",
			Cures: []cause.Cure{
				{Fix: "lower_resolution", Title: "Use less of the recordings", Told: "RVC's FAQ asks for 10 to 50 minutes of good voice. Take the rest out and process the data again.", Cost: "Some variety."},
				{Fix: "close_other_apps", Title: "Close RVC, start it again, build only the index", Told: "Other programs, and what training left in memory, are out of the way then.", Cost: "Free."},
				kit.ManagePage, kit.AddSwap,
			},
			Sources: []string{"https://github.com/RVC-Project/Retrieval-based-Voice-Conversion-WebUI/blob/main/docs/en/faq_en.md", "https://github.com/RVC-Project/Retrieval-based-Voice-Conversion-WebUI/blob/main/infer-web.py"},
		},
		cause.Card{
			ID: "rvc/training", Kinds: kit.OnCard, Said: []string{"modules/train/", "rvc/train/", `modules\train\`, "train_nsf_sim_cache", "train_and_evaluate", "cache_if_train"},
			Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] in training",
			Means:    "Two settings matter: the batch size per GPU, and whether the whole training set is cached in GPU memory. That cache only pays off below ten minutes of audio.",
			Cures: []cause.Cure{
				kit.Cure("lower_batch_size", "Lower the batch size, turn off the GPU cache", "ui", "Train tab: halve Batch size per GPU, down to 1. Cache all training sets to GPU memory: No (Applio: Cache Dataset in GPU off, Checkpointing on)", "Slower."),
				kit.LookAtCard,
				kit.Cure("bigger_gpu", "Train on a larger card", "text", "If batch size 1 fails too, RVC's FAQ says that the card cannot train it. Train on a rented card and convert on yours.", "Money."),
			},
			Sources: []string{"https://github.com/RVC-Project/Retrieval-based-Voice-Conversion-WebUI/blob/main/docs/en/faq_en.md"},
		},
		cause.Card{
			ID: "rvc/converting", Kinds: kit.OnCard, Said: []string{"pipeline.py", "vc_single", "vc_multi", "rmvpe", "in infer"},
			If: func(c *ledger.Case) bool { return !c.Training() }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] while it converted a voice",
			Means:    "RVC cuts the audio into pieces. It chooses their length (`x_pad`, `x_query`, `x_center`, `x_max`) by the total size of the card, not by what is free.",
			Cures: []cause.Cure{
				kit.Cure("lower_resolution", "Use the settings of a 4 GB card", "config", "# configs/config.py, at the end of device_config\nx_pad = 1\nx_query = 5\nx_center = 30\nx_max = 32", "Slower."),
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/RVC-Project/Retrieval-based-Voice-Conversion-WebUI/blob/main/configs/config.py", "https://github.com/RVC-Project/Retrieval-based-Voice-Conversion-WebUI/blob/main/docs/en/faq_en.md"},
		},
		cause.Card{
			ID: "rvc/either", Kinds: kit.OnCard, Said: []string{"infer/lib/infer_pack/"}, If: func(c *ledger.Case) bool { return !c.Training() && c.Phase != "inference" },
			Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]]",
			Means:    "It failed in the voice model, which runs both in training and in conversion; the log does not show which it was. In training the batch size matters, in conversion the length of the audio.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Lower the batch size, or convert shorter pieces", Cost: "Slower.", Ways: []cause.Way{
					{For: "Training", Text: "Train tab: Batch size per GPU 1 or 2, Cache all training sets to GPU memory: No. Restart RVC between feature extraction and training."},
					{For: "Converting", Text: "cut the recording into pieces of 30 to 60 seconds. Use pitch method `pm` or `harvest` instead of `crepe` or `rmvpe`. In configs/config.py set `x_pad = 1`, `x_query = 5`, `x_center = 30`, `x_max = 32`."},
				}},
				kit.LookAtCard,
				kit.Cure("bigger_gpu", "Train on a larger card", "text", "If batch size 1 fails too, RVC's FAQ says that the card cannot train it. Train on a rented card and convert on yours.", "Money."),
			},
			Sources: []string{"https://github.com/RVC-Project/Retrieval-based-Voice-Conversion-WebUI/blob/main/docs/en/faq_en.md", "https://github.com/RVC-Project/Retrieval-based-Voice-Conversion-WebUI/blob/main/configs/config.py"},
		},
	),
}

// SoVITS is so-vits-svc and its forks.
var SoVITS = program.Program{
	Name: "so-vits-svc", Shown: "so-vits-svc",
	Proofs:  []string{"so-vits-svc", "so_vits_svc_fork", "vdecoder/hifigan"},
	Like:    []*program.Program{&Voices},
	Sources: program.Sources{"so-vits-svc/inference_main.py": "--clip --slice_db --linear_gradient --device"},
	Steps: kit.Steps{
		"lower_batch_size": kit.ByPhase(step.Step{Kind: "config", Text: "// configs/config.json, in train; half of yours\n\"batch_size\": 1"}, step.Step{Kind: "text", Text: "Convert one file at a time, with --clip 20."}),
		"lower_resolution": kit.ByPhase(step.Step{Kind: "text", Text: shorterClip}, step.Step{Kind: "text", Text: "Add --clip 20: pieces of 20 seconds."}),
	},
	Cards: kit.Cards(
		cause.Card{
			ID: "so-vits-svc/training", Kinds: kit.OnCard, Said: []string{"train_and_evaluate", "train.py", "train_diff.py", "'all_in_mem': True"}, If: (*ledger.Case).Training, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] in training",
			Means:    "Memory grows with `batch_size` in configs/config.json and with the longest clip of the dataset. The project recommends clips of 5 to 15 seconds.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Lower `batch_size` in config.json", Steps: kit.HalfBatch("config", "// configs/config.json, in train\n\"batch_size\": %d", 2), Cost: "Slower."},
				{Fix: "cpu_offload", Title: "Take the dataset off the card: `all_in_mem` false", If: allInMem, Told: "In configs/config.json, in train. With true, the loader keeps the whole dataset in memory.", Cost: "Slightly slower."},
				kit.Cure("lower_resolution", "Cut long clips", "text", shorterClip, "Preprocessing once more."),
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/svc-develop-team/so-vits-svc/blob/4.1-Stable/README.md"},
		},
		cause.Card{
			ID: "so-vits-svc/converting", Kinds: kit.OnCard, Said: []string{"inference_main", "infer_tool", "slice_inference", "in infer", "--clip"}, If: func(c *ledger.Case) bool { return !c.Training() },
			Cause: cause.ContextTooLong, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] while converting[[ a section of {seconds} seconds]]",
			Figures:  longSegment,
			Means:    "[[{clip}]] Memory in the encoder grows with the square of a section's length.[[ At 20 seconds, {asked} would shrink to {at20}.]]",
			Not:      "`batch_size` in config.json: it is for training only.",
			Cures: []cause.Cure{
				kit.Only(unclipped, kit.Cure("lower_context", "Force a cut every 20 seconds: add to your command", "config", "--clip 20 --linear_gradient 1", "Seams may be heard.")),
				kit.Only(when.Not(unclipped), kit.Cure("lower_context", "Cut it shorter still (`--clip`)", "config", "--clip 10 --linear_gradient 1", "Seams may be heard.")),
				kit.Cure("lower_resolution", "Let it cut at more pauses", "config", "--slice_db -30", "Quiet sounds may be lost; -50 for dry vocals with breaths."),
				kit.Cure("cpu_offload", "Cut the file first", "shell", "ffmpeg -i raw/song.wav -f segment -segment_time 20 -c copy raw/song_%03d.wav", "Parts to join."),
			},
			Sources: []string{"https://github.com/svc-develop-team/so-vits-svc/blob/4.1-Stable/README.md", "https://github.com/svc-develop-team/so-vits-svc/blob/4.1-Stable/inference_main.py"},
		},
	),
}

// unclipped: the song is not cut by force.
func unclipped(c *ledger.Case) bool {
	s, ok := c.Setting("clip")
	return !ok && !c.Near("--clip") || s.Value == "0"
}

// allInMem: the log shows the whole dataset kept in memory.
func allInMem(c *ledger.Case) bool { return c.Near("'all_in_mem': True") }

// longSegment is the piece that was being converted, and what the refused
// request would be for one of 20 seconds: it goes with the square.
func longSegment(c *ledger.Case) map[string]string {
	out := map[string]string{"seconds": "", "at20": "", "clip": "Without `--clip` the song is only cut at its pauses, and music or noise under the voice hides them."}
	if !unclipped(c) {
		out["clip"] = "`--clip` is on already, but the voice model and the pieces still do not fit."
	}
	x, ok := c.Fact("segment_seconds")
	if !ok || x.Count == nil || x.Count.Value < 30 {
		return out
	}
	part := 20 / x.Count.Value
	out["seconds"] = fmt.Sprintf("%.0f", x.Count.Value)
	if asked := ledger.Requested(c); asked > 0 {
		out["at20"] = units.Amount(int64(float64(asked) * part * part))
	}
	return out
}

// GPTSoVITS trains two models from a minute of speech.
var GPTSoVITS = program.Program{
	Name: "gpt-sovits", Shown: "GPT-SoVITS",
	Proofs:  []string{"GPT_SoVITS/", "GPT-SoVITS", "s2_train", "s1_train.py"},
	Like:    []*program.Program{&Voices},
	Sources: program.Sources{"GPT-SoVITS/tools/i18n/locale/en_US.json": "min_length min_interval"},
	Steps: kit.Steps{
		"lower_batch_size": kit.ByPhase(step.Step{Kind: "ui", Text: "1B-Fine-tuned training: Batch size per GPU 1, for the SoVITS and the GPT model; v3 and v4: gradient checkpointing on"}, step.Step{Kind: "ui", Text: "batch_size 1 in the fast inference and in api_v2"}),
		"lower_resolution": kit.ByPhase(step.Step{Kind: "ui", Text: "Audio slicer: smaller values of min_length and min_interval, then format the data set again"}, step.Step{Kind: "ui", Text: "How to slice the sentence: Slice by every punct"}),
	},
	Cards: kit.Cards(
		cause.Card{
			ID: "gpt-sovits/training", Kinds: kit.OnCard, Said: []string{"s2_train", "s1_train", "train_and_evaluate"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] in training",
			Means:    "The page suggests a batch size from the total size of the card (half its GB, an eighth for v3 and v4). It does not count other programs on the card or long clips.",
			Cures: []cause.Cure{
				kit.Cure("lower_batch_size", "Halve the batch size", "ui", "1B-Fine-tuned training: Batch size per GPU: half of yours, then 1. v3: gradient checkpointing on", "Slower."),
				kit.Cure("lower_resolution", "Cut long clips", "ui", "Audio slicer: lower min_length and min_interval, and leave out clips above 10 seconds. Then format the dataset again", "Preparing once more."),
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/RVC-Boss/GPT-SoVITS/blob/main/webui.py"},
		},
		cause.Card{
			ID: "gpt-sovits/speaking", Kinds: kit.OnCard, Said: []string{"inference_webui", "TTS_infer_pack", "get_tts_wav", "api_v2.py"}, If: func(c *ledger.Case) bool { return !c.Training() },
			Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] while it spoke",
			Means:    "Text that is not sliced is spoken all at once. The fast inference also speaks several slices at the same time.",
			Cures: []cause.Cure{
				kit.Cure("lower_resolution", "Slice the text, set batch size 1", "ui", "How to slice the sentence: Slice by every punct. In the fast inference and api_v2: batch_size 1", "Slower."),
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/RVC-Boss/GPT-SoVITS/blob/main/GPT_SoVITS/TTS_infer_pack/TTS.py"},
		},
	),
}

// F5TTS counts its training batch in frames.
var F5TTS = program.Program{
	Name: "f5-tts", Shown: "F5-TTS",
	Proofs:  []string{"f5_tts/", "f5-tts_"},
	Like:    []*program.Program{&Voices},
	Sources: program.Sources{"F5-TTS/src/f5_tts/train/finetune_cli.py": "--batch_size_per_gpu --batch_size_type --max_samples --grad_accumulation_steps --bnb_optimizer"},
	Steps: kit.Steps{
		"lower_batch_size": kit.ByPhase(step.Step{Kind: "text", Text: "Halve `--batch_size_per_gpu` (frames; 3200 by default) and set `--max_samples 16`."}, step.Step{Kind: "text", Text: shorterText}),
		"lower_resolution": kit.ByPhase(step.Step{Kind: "text", Text: "Leave out clips above 20 seconds."}, step.Step{Kind: "text", Text: "A reference of less than 12 seconds and shorter texts."}),
		"optimizer_8bit":   step.Paste("config", "--bnb_optimizer"),
	},
	Cards: kit.Cards(cause.Card{
		ID: "f5-tts/training", Kinds: kit.OnCard, Said: []string{"finetune_cli", "f5_tts/model/trainer.py", "f5_tts/train", `f5_tts\train`, `f5_tts\model\trainer.py`}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] in training",
		Means:    "F5-TTS counts a batch in frames, not in clips. The default of 3200 frames is about 34 seconds of speech on each card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve `--batch_size_per_gpu`", Steps: kit.Half("config", "--batch_size_per_gpu %d --batch_size_type frame --max_samples 16", 1600, "batch_size_per_gpu"), Cost: "Slower; clips longer than that many frames (94 a second) are left out."},
			kit.Cure("optimizer_8bit", "Use an 8-bit optimizer", "config", "--bnb_optimizer", "Hardly any loss of quality; needs bitsandbytes."),
		},
		Sources: []string{"https://github.com/SWivid/F5-TTS/blob/main/src/f5_tts/train/finetune_cli.py"},
	}),
}
