package listen

import (
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

const whisperTable = "https://github.com/openai/whisper/blob/main/README.md"

// Transcribers is what all that run Whisper share.
var Transcribers = program.Program{
	Work: "audio", Edits: "flags", Language: "python",
	Titles: map[string]string{"use_smaller_model": "Use a smaller Whisper model", "use_lower_quant": "Load the weights at 8 bit", "half_precision": "Compute at 16 bit", "cpu_offload": "Transcribe on the CPU", "lower_batch_size": "Lower the batch size", "lower_resolution": "Cut the audio into parts"},
	Costs:  map[string]string{"use_smaller_model": "More errors; turbo has few more than large.", "use_lower_quant": "Hardly any loss of accuracy.", "cpu_offload": "Several times slower.", "lower_batch_size": "Slower."},
	Steps: kit.Steps{
		"cpu_offload":      kit.NoCard,
		"lower_batch_size": step.Paste("text", "Send one file at a time."),
		"empty_cache":      step.Paste("text", "Restart it between files, or unload the model after each."),
		"lower_resolution": step.Paste("shell", "ffmpeg -i audio.mp3 -f segment -segment_time 1800 -c copy part%03d.mp3"),
	},
	Sources: kit.Visible,
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge:  cause.InOrder("use_lower_quant", "use_smaller_model", "close_other_apps", "lower_batch_size", "cpu_offload", "half_precision"),
		cause.BatchTooLarge:  cause.InOrder("lower_batch_size", "use_lower_quant", "use_smaller_model", "close_other_apps", "cpu_offload"),
		cause.HostMemory:     kit.SwapOrPage(cause.InOrder("use_smaller_model", "lower_resolution", "close_other_apps", "raise_pagefile", "add_swap")),
		cause.RetainedMemory: cause.InOrder("empty_cache", "restart_session", "lower_batch_size", "use_lower_quant"),
		cause.Unknown:        cause.InOrder("close_other_apps", "use_lower_quant", "use_smaller_model", "lower_batch_size", "cpu_offload"),
	},
}

// Whisper is OpenAI's own.
var Whisper = program.Program{
	Name: "openai-whisper", Shown: "Whisper", Rank: 91,
	Commands: []string{"whisper"}, Titles: map[string]string{"use_lower_quant": "Run the model in faster-whisper at 8 bit", "lower_batch_size": "Decode with one beam"},
	Proofs:  []string{"-packages/whisper/", "File \"whisper/__init__.py", "File \"whisper/model.py", "bin/whisper\"", "whisper.load_model(", "whisper.transcribe("},
	Like:    []*program.Program{&Transcribers},
	Sources: program.Sources{"whisper/whisper/transcribe.py": "--model --device --fp16 --beam_size --best_of --condition_on_previous_text"},
	Steps: kit.Steps{
		"use_smaller_model": step.Paste("shell", "whisper audio.mp3 --model turbo   # about 6 GB; medium 5, small 2, base 1"),
		"cpu_offload":       step.Paste("shell", "whisper audio.mp3 --model small --device cpu --fp16 False"),
		"lower_batch_size":  step.Paste("shell", "whisper audio.mp3 --beam_size 1 --best_of 1"),
		"half_precision":    step.Paste("text", "It computes at 16 bit on a card already, unless --fp16 False was given."),
		"use_lower_quant":   step.Paste("python", "# OpenAI's Whisper has no 8 bit; faster-whisper runs the same models\nfrom faster_whisper import WhisperModel\n\nmodel = WhisperModel(\"large-v3\", device=\"cuda\", compute_type=\"int8_float16\")   # or your model"),
		"empty_cache":       step.Paste("python", "import gc, torch\n\ndel model\ngc.collect()\ntorch.cuda.empty_cache()   # before the next whisper.load_model(...)"),
		"lower_resolution":  step.Paste("text", "Cutting the audio saves RAM, not GPU memory: Whisper reads 30 seconds at a time anyway."),
	},
	Cards: kit.Cards(
		cause.Card{
			ID: "openai-whisper/load", Kinds: kit.OnCard, Said: []string{"load_model", "model.to(device)", "checkpoint = torch.load("},
			If: func(c *ledger.Case) bool {
				return c.Phase == "load" || !c.Near("in transcribe", "decode_with_fallback")
			},
			Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: whisperFits,
			Headline: "ran out of GPU memory[[ ({total})]] while it loaded the model",
			Means:    "The model did not fit on the card. By OpenAI's figures large needs 10 GB, turbo 6, medium 5, small 2, base and tiny 1. If your script still keeps an earlier model, it needs room for both.",
			Not:      "Shorter audio: Whisper reads 30 seconds at a time anyway.",
			Cures: []cause.Cure{
				{Fix: "use_smaller_model", Title: "Use a smaller model[[: {fits}]]", Told: "[[By OpenAI's figures `{fits}` fits this card. On the command line: `--model {fits}`; in code: `whisper.load_model(\"{fits}\")`; in an app choose that name.]][[ {note}]][[{unknown}]]", Cost: "More errors."},
				kit.Cure("use_lower_quant", "Run the same model with faster-whisper", "python", "from faster_whisper import WhisperModel\n\nmodel = WhisperModel(\"large-v3\", device=\"cuda\", compute_type=\"int8_float16\")   # or your model; large: about 3 GB", "Hardly any loss of accuracy; faster."),
				kit.LookAtCard,
			},
			Sources: []string{whisperTable, "https://github.com/davabase/whisper_real_time/issues/8", "https://github.com/SYSTRAN/faster-whisper/blob/master/README.md"},
		},
		cause.Card{
			ID: "openai-whisper/decode", Kinds: kit.OnCard, Said: []string{"in transcribe", "decode_with_fallback", "whisper/decoding.py", `whisper\decoding.py`, "--beam_size 1"},
			If: func(c *ledger.Case) bool {
				return !c.Near("--beam_size 1") || c.Near("in transcribe", "decode_with_fallback", "whisper/decoding.py")
			},
			Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: whisperFits,
			Headline: "ran out of GPU memory[[ ({total})]] while it transcribed",
			Means:    "The model is loaded; transcribing failed. Whisper reads 30 seconds at a time, so the size of the model matters, not the length of the audio. On the command line it also keeps five beams by default, each with its own cache.",
			Not:      "Cutting the audio: Whisper reads 30 seconds at a time anyway.",
			Cures: []cause.Cure{
				{Fix: "empty_cache", Title: "Keep one model loaded at a time", If: twoWhispers, Told: "More is in use than the largest model needs: an earlier model is most likely still loaded. Restart the session, load one model, or before the next one:", Kind: "python", Text: "import gc, torch\n\ndel model   # the name of the earlier one\ngc.collect()\ntorch.cuda.empty_cache()", Cost: "Loading it again."},
				{Fix: "use_smaller_model", Title: "Use a smaller model[[: {fits}]]", Told: "[[By OpenAI's figures (turbo 6 GB, medium 5, small 2) `{fits}` fits this card. On the command line: `--model {fits}`; in code: `whisper.load_model(\"{fits}\")`.]][[ {note}]][[{unknown}]]", Cost: "More errors."},
				kit.Only(func(c *ledger.Case) bool { return !c.Near("--beam_size 1") }, kit.Cure("lower_batch_size", "Decode with one beam", "config", "--beam_size 1 --best_of 1", "Slightly more errors.")),
				{Fix: "use_lower_quant", Title: "Run the same model with faster-whisper", If: notService, Told: "At 8 bit it needs about a third: `WhisperModel(name, device=\"cuda\", compute_type=\"int8_float16\")` (int8 before RTX 20).", Cost: "Hardly any loss of accuracy; faster."},
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/openai/whisper/blob/main/whisper/decoding.py", whisperTable},
		},
		cause.Card{
			ID: "openai-whisper/ram", Kinds: kit.OffRAM, Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "ran out of system memory (RAM)",
			Means:    "RAM ran out, not GPU memory. The model is read into RAM first (large: a file of 3 GB, 6 GB at 32 bit). The whole audio is decoded into RAM too: about 230 MB per hour.",
			Cures: []cause.Cure{
				kit.Only(when.Not(smallWhisper), kit.Cure("use_smaller_model", "Use a smaller model", "config", "--model medium", "More errors.")),
				kit.Cure("lower_resolution", "Cut the audio into parts", "shell", "ffmpeg -i audio.mp3 -f segment -segment_time 3600 -c copy part%03d.mp3", "Several runs."),
				kit.ManagePage, kit.AddSwap,
			},
			Sources: []string{"https://github.com/openai/whisper/blob/main/whisper/audio.py"},
		},
	),
}

// behind puts the steps of programs that run this one before its own.
func behind(own kit.Steps, fronts ...*program.Program) kit.Steps {
	out := kit.Steps{}
	for id, s := range own {
		out[id] = func(c *ledger.Case) []step.Step {
			for _, p := range fronts {
				if c.In(p.Name) && p.Steps[id] != nil {
					return p.Steps[id](c)
				}
			}
			return s(c)
		}
	}
	return out
}

// ctranslate2Code is what the command line runs on.
const ctranslate2Code = "https://github.com/Softcatala/whisper-ctranslate2/blob/main/"

// WhisperCTranslate2 is faster-whisper as a command with the options of OpenAI's.
var WhisperCTranslate2 = program.Program{
	Name: "whisper-ctranslate2", Titles: map[string]string{"lower_batch_size": "Decode with one beam"}, Costs: map[string]string{"lower_batch_size": "Slightly more errors."}, Work: "audio", Edits: "flags", Language: "python",
	Commands: []string{"whisper-ctranslate2"},
	Proofs:   []string{"whisper_ctranslate2/", "bin/whisper-ctranslate2"},
	Like:     []*program.Program{&Transcribers},
	Sources:  program.Sources{"whisper-ctranslate2/README.md": "--compute_type --model --beam_size --best_of --vad_filter --device --condition_on_previous_text --batched"},
	Steps: kit.Steps{
		"use_lower_quant":   step.Paste("shell", "whisper-ctranslate2 audio.mp3 --compute_type int8_float16   # int8 on cards before RTX 20"),
		"use_smaller_model": step.Paste("shell", "whisper-ctranslate2 audio.mp3 --model medium --compute_type int8_float16"),
		"lower_batch_size":  step.Paste("shell", "whisper-ctranslate2 audio.mp3 --beam_size 1 --best_of 1"),
		"cpu_offload":       step.Paste("shell", "whisper-ctranslate2 audio.mp3 --model small --device cpu --compute_type int8"),
		"half_precision":    step.Paste("shell", "whisper-ctranslate2 audio.mp3 --compute_type float16"),
		"lower_resolution":  step.Paste("text", "Cutting the audio saves RAM, not GPU memory: Whisper reads 30 seconds at a time anyway."),
	},
	Cards: kit.Cards(cause.Card{
		ID: "whisper-ctranslate2/batched", Kinds: kit.OnCard, Said: []string{"in generate_segment_batched", "--batched True"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the batched pipeline",
		Means:    "With `--batched` it decodes several passages of 30 seconds at once, each with its own beams. For large-v2 the faster-whisper project measured 4.5 GB at int8 with batch size 8, and 2.9 without batching.",
		Not:      "Cutting the audio: Whisper reads 30 seconds at a time anyway.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size, or leave `--batched` out", Steps: kit.HalfBatch("config", "--batch_size %d", 4), Cost: "Slower."},
			kit.Only(when.Not(at8Bit), kit.Cure("use_lower_quant", "Load the weights in 8 bit", "config", "--compute_type int8_float16", "Hardly any loss of accuracy; int8 on cards before RTX 20.")),
			kit.LookAtCard,
			kit.Only(when.Not(smallWhisper), kit.Cure("use_smaller_model", "Use a smaller model", "config", "--model medium", "More errors.")),
		},
		Sources: []string{ctranslate2Code + "README.md", "https://github.com/SYSTRAN/faster-whisper/blob/master/README.md"},
	}, cause.Card{
		ID: "whisper-ctranslate2/decode", Kinds: kit.OnCard, Said: []string{"generate_with_fallback", "self.model.encode(", "self.model.generate("},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while it transcribed a passage",
		Means:    "The model is loaded; transcribing failed. By default it keeps five beams, and tries a difficult passage again with five samples (`best_of`). Other programs may also use part of the card.",
		Not:      "Cutting the audio: Whisper reads 30 seconds at a time. `PYTORCH_CUDA_ALLOC_CONF`: CTranslate2 does not use PyTorch's allocator.",
		Cures: []cause.Cure{
			kit.Only(when.Not(at8Bit), kit.Cure("use_lower_quant", "Load the weights in 8 bit: add to your command", "config", "--compute_type int8_float16", "Hardly any loss of accuracy; int8 on cards before RTX 20.")),
			kit.Cure("lower_batch_size", "Decode with one beam: add to your command", "config", "--beam_size 1 --best_of 1", "Slightly more errors."),
			kit.LookAtCard,
			kit.Cure("use_smaller_model", "Use a smaller model", "config", "--model medium", "More errors."),
		},
		Sources: []string{ctranslate2Code + "README.md", "https://github.com/SYSTRAN/faster-whisper/blob/master/faster_whisper/transcribe.py"},
	}),
}

// WhisperX aligns and names speakers after transcribing.
var WhisperX = program.Program{
	Name: "whisperx", Shown: "WhisperX",
	Commands: []string{"whisperx"},
	Proofs:   []string{"Performing voice activity detection using ", "Performing diarization...", "-packages/whisperx/", "whisperx/asr.py", "whisperx/alignment.py", "whisperx/diarize.py", "whisperx.load_model", "bin/whisperx", "whisperx.align("},
	Like:     []*program.Program{&Transcribers},
	Sources:  program.Sources{"whisperX/whisperx/__main__.py": "--batch_size --compute_type --model --chunk_size --no_align --device"},
	Steps: kit.Steps{
		"lower_batch_size":  kit.HalfBatch("config", "--batch_size %d", 4),
		"use_lower_quant":   step.Paste("config", "--compute_type int8"),
		"use_smaller_model": step.Paste("config", "--model medium"),
		"cpu_offload":       step.Paste("shell", "whisperx audio.wav --compute_type int8 --device cpu"),
		"half_precision":    step.Paste("shell", "whisperx audio.wav --compute_type float16"),
		"empty_cache":       step.Paste("python", "import gc, torch\n\ndel model   # after transcribing, before whisperx.load_align_model(...)\ngc.collect()\ntorch.cuda.empty_cache()"),
	},
	Cards: kit.Cards(
		cause.Card{
			ID: "whisperx/ram", Kinds: kit.OffRAM, If: func(c *ledger.Case) bool { return c.In("whisperx") }, Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "ran out of system memory (RAM)",
			Means:    "The whole recording is decoded into RAM (230 MB an hour), the models pass through it, and with `--device cpu` they stay there. Diarization and alignment work on the whole recording too, so hours of audio need most.",
			Not:      "`--batch_size` on a card: it saves GPU memory, not RAM.",
			Cures: []cause.Cure{
				kit.Cure("lower_resolution", "Cut the recording into parts", "shell", "ffmpeg -i audio.mp3 -f segment -segment_time 3600 -c copy part%03d.mp3", "Several runs; speakers are numbered anew in each."),
				kit.Only(when.Not(smallWhisper), kit.Cure("use_smaller_model", "Use a smaller model", "config", "--model medium", "More errors.")),
				kit.ManagePage, kit.AddSwap,
				{Fix: "close_other_apps", Title: "Close other programs", Told: "Browsers and idle Python processes first.", Cost: "Free."},
			},
			Sources: []string{"https://github.com/m-bain/whisperX/blob/main/README.md", "https://github.com/openai/whisper/blob/main/whisper/audio.py"},
		},
		cause.Card{
			ID: "whisperx/diarize", Kinds: kit.OnCard, Said: []string{"DiarizationPipeline", "diarize.py", "pyannote/", `pyannote\`},
			Unsaid: []string{"vads/", "vad.py", "VoiceActivity"}, Cause: cause.RetainedMemory, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] in diarization",
			Means:    "Diarization, which finds out who speaks, uses its own models.[[ {script}]][[ {cli}]]", Figures: stillLoaded,
			Cures: []cause.Cure{
				{Fix: "empty_cache", Title: "Delete the other models first", If: ownScript, Told: "In your script, before DiarizationPipeline(...):", Kind: "python", Text: "import gc, torch\n\ndel model, model_a\ngc.collect()\ntorch.cuda.empty_cache()", Cost: "Loading them again for the next file."},
				{Fix: "cpu_offload", Title: "Run diarization on the CPU", Ways: []cause.Way{{For: "Script", Text: "`DiarizationPipeline(..., device=\"cpu\")`, with your other arguments"}, {For: "Command line", Text: "`--device cpu --compute_type int8`, which runs all stages on the CPU"}}, Cost: "Much slower."},
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/m-bain/whisperX/blob/main/README.md", "https://github.com/m-bain/whisperX/issues/388"},
		},
		cause.Card{
			ID: "whisperx/align", Kinds: kit.OnCard, Said: []string{"alignment.py", "load_align_model", "in align"},
			Cause: cause.RetainedMemory, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] in alignment",
			Means:    "Alignment, which makes word timestamps, uses a second model (wav2vec2). Each segment is aligned at once, so memory grows with its length.[[ {script}]]", Figures: stillLoaded,
			Cures: []cause.Cure{
				{Fix: "empty_cache", Title: "Delete the Whisper model first", If: ownScript, Told: "In your script, before whisperx.load_align_model(...):", Kind: "python", Text: "import gc, torch\n\ndel model\ngc.collect()\ntorch.cuda.empty_cache()", Cost: "Loading it again for the next file."},
				kit.Cure("lower_resolution", "Make shorter segments, or skip alignment", "text", "Add `--chunk_size 15` to your command, or `--no_align`.", "`--no_align`: no word timestamps."),
				kit.Only(when.Not(ownScript), kit.Cure("cpu_offload", "Run it on the CPU", "config", "--device cpu --compute_type int8", "Much slower.")),
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/m-bain/whisperX/blob/main/README.md", "https://github.com/m-bain/whisperX/blob/main/whisperx/alignment.py"},
		},
		cause.Card{
			ID: "whisperx/transcribe", Kinds: kit.OnCard, Said: []string{"whisperx/asr.py", `whisperx\asr.py`, "CUDA failed with error out of memory", "generate_segment_batched"},
			Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] in the Whisper model",
			Means:    "WhisperX decodes `batch_size` segments of 30 seconds at once: 8 by default on the command line, 16 in the README's example.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Lower the batch size", Told: "In a script it is an argument of `model.transcribe`. On the command line:", Steps: kit.HalfBatch("config", "--batch_size %d", 4), Cost: "Slower."},
				kit.Only(when.Not(at8Bit), kit.Cure("use_lower_quant", "Compute at 8 bit", "config", "--compute_type int8", "Slightly more errors.")),
				kit.Only(when.Not(smallWhisper), kit.Cure("use_smaller_model", "Use a smaller model", "config", "--model medium", "More errors.")),
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/m-bain/whisperX/blob/main/README.md", "https://github.com/m-bain/whisperX/issues/315", "https://github.com/m-bain/whisperX/issues/504"}, Solved: 1,
		},
	),
}

// stillLoaded is what stays on the card from the stages before.
func stillLoaded(c *ledger.Case) map[string]string {
	if ownScript(c) {
		return map[string]string{"script": "In a script the models of the stages before are still on the card unless you deleted them.", "cli": ""}
	}
	return map[string]string{"script": "", "cli": "The command line deletes the other models before."}
}

// twoWhispers: more is in use than Whisper's largest model takes.
func twoWhispers(c *ledger.Case) bool { return ledger.SizeOf(c.F().Allocated) > 11*units.GiB }

// notService: the reader has code or a command line.
func notService(c *ledger.Case) bool { return !c.In("whisper-asr-webservice", "speaches", "subgen") }

// eightBit is how logs show that the weights are at 8 bit.
var eightBit = []string{"--compute_type int8", "--compute_type=int8", "--compute-type int8", "compute_type=\"int8", "compute_type='int8", "COMPUTE_TYPE=int8", "COMPUTE_TYPE: int8", "Compute type: int8"}

func at8Bit(c *ledger.Case) bool { return c.Near(eightBit...) }

// smallWhisper: the log names a model no larger than medium.
func smallWhisper(c *ledger.Case) bool {
	name := whisperSizes(c)["name"]
	return name != "" && !strings.Contains(name, "large")
}

// in8Bit is about those who have 8 bit already.
var in8Bit = cause.Card{
	ID: "faster-whisper/eight-bit", Kinds: kit.OnCard, Said: eightBit, Unsaid: []string{"whisperx", "asr_models/", "in generate_segment_batched", "BatchedInferencePipeline"}, Figures: whisperSizes,
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "ran out of GPU memory although the weights are at 8 bit",
	Means:    "8 bit is on already.[[ {name} then has {w8} GB of weights and needs 1 to 2 GB more to work.]] So with 4 GB free even large runs; otherwise something else takes the rest: another program, a second model, or several workers.",
	Not:      "Shorter audio: Whisper reads 30 seconds at a time anyway.",
	Cures: []cause.Cure{
		kit.LookAtCard,
		kit.Only(when.Not(smallWhisper), cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "`turbo` is half the size of large, with few more errors; then `medium`, `small`.", Cost: "More errors."}),
		kit.Only(smallWhisper, cause.Cure{Fix: "use_smaller_model", Title: "Use the next smaller model", Told: "`small`, then `base`.", Cost: "More errors."}),
		{Fix: "lower_batch_size", Title: "Decode with one beam, one file at a time", Told: "Set `beam_size` 1 and `best_of` 1 (5 by default), and no more than one worker.", Cost: "Slightly more errors."},
	},
	Sources: []string{"https://github.com/SYSTRAN/faster-whisper/blob/master/README.md"},
}

// ownScript: not WhisperX's command line, which deletes finished models itself.
func ownScript(c *ledger.Case) bool {
	return !kit.Framed(c, "whisperx/__main__.py", "bin/whisperx", "whisperx/transcribe.py", "whisperx.exe")
}

// WhisperASR is the web service in a container.
var WhisperASR = program.Program{
	Name: "whisper-asr-webservice", Shown: "The Whisper ASR web service", Edits: "admin", Work: "audio", Language: "python",
	Units:   []string{"whisper-asr-webservice"},
	Proofs:  []string{"asr_models/", "whisper-asr-webservice"},
	Like:    []*program.Program{&Transcribers},
	Sources: program.Sources{"whisper-asr-webservice/app/config.py": "ASR_MODEL ASR_ENGINE ASR_QUANTIZATION ASR_DEVICE MODEL_IDLE_TIMEOUT"},
	Steps: kit.Steps{
		"use_lower_quant":   step.Paste("config", "# docker compose, the service's environment\nASR_ENGINE: faster_whisper\nASR_QUANTIZATION: int8"),
		"use_smaller_model": step.Paste("config", "# docker compose, the service's environment\nASR_MODEL: medium"),
		"half_precision":    step.Paste("config", "# docker compose, the service's environment (its default on a card is float32)\nASR_QUANTIZATION: float16"),
		"cpu_offload":       step.Paste("config", "# docker compose, the service's environment\nASR_DEVICE: cpu"),
		"empty_cache":       step.Paste("config", "# docker compose, the service's environment: seconds until an idle model is unloaded\nMODEL_IDLE_TIMEOUT: 300"),
	},
	Cards: kit.Cards(cause.Card{
		ID: "whisper-asr-webservice/load", Kinds: kit.OnCard, Said: []string{"asr_models/", "faster_whisper_engine", "openai_whisper_engine", "mbain_whisperx_engine"},
		If: func(c *ledger.Case) bool { return c.Phase != "training" }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] with its model",
		Means:    "The container loads one model and keeps it. With faster_whisper the default precision on a card is 32 bit: large then takes about 8 GB, at int8 about 3.",
		Not:      "Shorter audio: Whisper reads 30 seconds at a time anyway.",
		Cures: []cause.Cure{
			kit.Cure("use_lower_quant", "Use faster_whisper in 8 bit", "config", "# docker compose, the service's environment\nASR_ENGINE: faster_whisper\nASR_QUANTIZATION: int8", "Hardly any loss of accuracy."),
			kit.Cure("use_smaller_model", "Set a smaller model", "config", "# docker compose, the service's environment\nASR_MODEL: medium", "More errors."),
		},
		Sources: []string{"https://github.com/ahmetoner/whisper-asr-webservice/blob/main/app/config.py", "https://github.com/SYSTRAN/faster-whisper/issues/809"},
	}),
}

// InsanelyFast is Whisper on transformers with a large batch.
var InsanelyFast = program.Program{
	Name: "insanely-fast-whisper", Shown: "insanely-fast-whisper",
	Commands: []string{"insanely-fast-whisper"}, Titles: map[string]string{"use_lower_quant": "Run the model in faster-whisper at 8 bit"},
	Proofs:  []string{"insanely_fast_whisper/", "insanely-fast-whisper"},
	Like:    []*program.Program{&Transcribers},
	Sources: program.Sources{"insanely-fast-whisper/src/insanely_fast_whisper/cli.py": "--file-name --batch-size --model-name --flash --device-id"},
	Steps: kit.Steps{
		"lower_batch_size":  kit.HalfBatch("config", "--batch-size %d", 4),
		"use_smaller_model": step.Paste("shell", "insanely-fast-whisper --file-name audio.mp3 --model-name distil-whisper/large-v2 --batch-size 4"),
		"half_precision":    step.Paste("text", "It computes at 16 bit already."),
		"use_lower_quant":   step.Paste("text", "It has no option for that; faster-whisper has (compute_type int8)."),
	},
	Cards: kit.Cards(cause.Card{
		ID: "insanely-fast-whisper/batch", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.MPSAlloc, fact.MPSBuffer}, If: func(c *ledger.Case) bool { return c.In("insanely-fast-whisper") },
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory[[ ({total})]]",
		Means:    "By default it transcribes 24 segments of 30 seconds at once (`--batch-size`). On a Mac the project recommends 4, which takes about 12 GB.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size", Steps: kit.HalfBatch("config", "--batch-size %d", 4), Cost: "Slower; Mac: add --device-id mps."},
			{Fix: "use_smaller_model", Title: "Use the distilled model", Kind: "config", Text: "--model-name distil-whisper/large-v2", Cost: "English only; few more errors."},
			{Fix: "use_lower_quant", Title: "Run the model in faster-whisper at 8 bit", Told: "large then needs about 3 GB. insanely-fast-whisper has no option for it.", Cost: "Another program.", If: func(c *ledger.Case) bool { return c.Backend != "mps" }},
		},
		Sources: []string{"https://github.com/Vaibhavs10/insanely-fast-whisper/blob/main/README.md", "https://github.com/Vaibhavs10/insanely-fast-whisper/issues/162"}, Solved: 1,
	}),
}
