package listen

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// FasterWhisper is Whisper on CTranslate2, with its stand-alone build.
var FasterWhisper = program.Program{
	Name: "faster-whisper", Rank: 91, Titles: map[string]string{"lower_batch_size": "Decode with one beam"}, Costs: map[string]string{"lower_batch_size": "Slightly more errors."}, Work: "audio", Edits: "flags", Language: "python", Shown: "faster-whisper",
	Proofs: []string{"-packages/faster_whisper/", "faster_whisper/transcribe.py", "ctranslate2.models.Whisper", "Standalone Faster-Whisper", "faster-whisper-xxl", "from faster_whisper import", "faster_whisper/", "faster-whisper", "whisper-faster"},
	Hints:  []string{"faster-whisper"},
	Like:   []*program.Program{&Transcribers},
	Steps: behind(kit.Steps{
		"use_lower_quant":   inInt8,
		"half_precision":    step.Paste("python", "model = WhisperModel(name, device=\"cuda\", compute_type=\"float16\")   # name: your model"),
		"use_smaller_model": step.Paste("python", "model = WhisperModel(\"turbo\", device=\"cuda\", compute_type=\"int8_float16\")   # or medium, small"),
		"lower_batch_size":  step.Paste("python", "segments, info = model.transcribe(\"audio.mp3\", beam_size=1)   # BatchedInferencePipeline: batch_size=4"),
		"cpu_offload":       step.Paste("python", "model = WhisperModel(\"small\", device=\"cpu\", compute_type=\"int8\")"),
		"empty_cache":       step.Paste("python", "model.model.unload_model()   # and load_model() before the next file; CTranslate2"),
		"select_gpu":        step.Paste("python", "model = WhisperModel(name, device=\"cuda\", device_index=1)   # name: your model"),
	}, &WhisperCTranslate2, &WhisperX, &WhisperASR),
	Cards: kit.Cards(
		in8Bit,
		cause.Card{
			ID: "faster-whisper/standalone", Kinds: kit.OnCard, Said: []string{"Standalone Faster-Whisper", "faster-whisper-xxl"}, Figures: whisperSizes,
			Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ with {name}]]",
			Means:    "Either the model is too large for the card, or something else fills the card; the message does not say.[[ {name} has {w32} GB of weights at float32, {w16} at float16, {w8} at int8, and needs 1 to 2 GB more to work. Cards without fast float16 (GTX 10 series) use float32 by default.]]",
			Not:      "Splitting or shortening the file: Whisper reads 30 seconds at a time anyway.",
			Later:    "If it then fails in the middle of a file, add `--beam_size=1 --best_of=1`.",
			Cures: []cause.Cure{
				{Fix: "use_lower_quant", Title: "Compute at 8 bit", Told: "Add `--compute_type=int8` to your command. On RTX cards `int8_float16` is as small and faster.", Cost: "Hardly any loss of accuracy."},
				{Fix: "close_other_apps", Title: "Free the card", Told: "Close games, browsers, video editors, and earlier runs that did not end (Task Manager, Details). This shows what is there:", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
				{Fix: "use_smaller_model", Title: "Use a smaller model, or the CPU", Told: "`--model=medium --compute_type=int8` has 0.8 GB of weights, but makes more errors. `--device=cpu` keeps the quality, but is many times slower.", Cost: "Errors, or time."},
			},
			Sources: []string{"https://github.com/Purfview/whisper-standalone-win/issues/50", "https://github.com/Purfview/whisper-standalone-win/issues/141", "https://github.com/Purfview/whisper-standalone-win/issues/255"},
		},
		cause.Card{
			ID: "faster-whisper/packed", Kinds: kit.OnCard, If: packed, Said: []string{"PyInstaller", "[PYI-", "Failed to execute script", "VideoCaptioner", "buzz/", "whisper-fast", "'NoneType' object has no attribute 'write'", "输出文件不存在"}, Unsaid: []string{"generate_with_fallback", "Standalone Faster-Whisper"}, Figures: packedFigures,
			Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory while it loaded the model",
			Means:    "The model did not fit on the card[[; {follows}]]. At float16 large needs 4 to 5 GB to work, turbo 2 to 2.5, medium 2 to 3, small 1 to 1.5. Cards without fast float16 (GTX 10 series) use float32, which doubles that.",
			Cures: []cause.Cure{
				{Fix: "use_smaller_model", Title: "Choose a smaller model in the app", If: inBuzz, Told: "With Faster Whisper choose small, then base. Or choose the type Whisper.cpp, which has smaller files.", Cost: "More errors."},
				{Fix: "close_other_apps", Title: "Free the card", Told: "Task Manager, Performance, GPU shows \"Dedicated GPU memory\". Close games, browsers, local language models (LM Studio, Ollama) and earlier runs of the program that did not end.", Cost: "Free."},
				{Fix: "use_smaller_model", Title: "Choose a smaller model in the app", If: func(c *ledger.Case) bool { return !inBuzz(c) }, Told: "Try large-v3-turbo, then medium, then small.", Cost: "Few, then more errors."},
				{Fix: "use_lower_quant", Title: "Use 8-bit weights, or the CPU", Told: "[[Set {apps}.]]", Ways: []cause.Way{
					{For: "Buzz", Text: "{buzz}"}, {For: "VideoCaptioner", Text: "{captioner}"}, {For: "Command line", Text: "{xxl}"},
				}, Cost: "Hardly any loss of accuracy at 8 bit; the CPU is several times slower."},
			},
			Sources: []string{"https://github.com/chidiwilliams/buzz/blob/main/docs/docs/preferences.md", "https://github.com/Purfview/whisper-standalone-win/issues/141", "https://github.com/SYSTRAN/faster-whisper/blob/master/README.md"},
		},
		cause.Card{
			ID: "faster-whisper/load", Kinds: kit.OnCard, Said: []string{"ctranslate2.models.Whisper(", "in __init__", "in init"}, Unsaid: []string{"generate_with_fallback", "self.model.encode(", "whisperx", "asr_models/"}, Figures: whisperSizes,
			Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory while it loaded[[ {name}]]",
			Means:    "The model did not fit: it is too large, or something else is on the card, such as an earlier model of the same script.[[ {name} has {w32} GB of weights at float32, {w16} at float16, {w8} at int8, and needs 1 to 2 GB more to work.]] Without a `compute_type`, GTX 10 cards use float32.",
			Not:      "Shorter audio or fewer beams: it failed before the audio was read.",
			Cures: []cause.Cure{
				{Fix: "use_lower_quant", Title: "Load it in 8 bit", Steps: inInt8, Cost: "Hardly any loss of accuracy."},
				{Fix: "close_other_apps", Title: "See what else is on the card", Told: "End earlier runs; in a notebook restart the kernel.", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
				{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "`turbo` is half the size of large, with few more errors. At int8 `medium` has 0.8 GB of weights, `small` 0.25.", Cost: "More errors."},
			},
			Sources: []string{"https://github.com/SYSTRAN/faster-whisper/blob/master/README.md", "https://github.com/Purfview/whisper-standalone-win/issues/50", "https://github.com/SYSTRAN/faster-whisper/issues/809"}, Solved: 1,
		},
		cause.Card{
			ID: "faster-whisper/ram", Kinds: kit.InRAM, Figures: whisperSizes,
			Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "ran out of system memory (RAM)",
			Means:    "The model goes through RAM even if you use a card[[ ({name}: {w16} GB at float16, {w32} at float32)]]; on the CPU it stays there. On Windows the limit is RAM plus page file, so it can fail with RAM still free.",
			Cures: []cause.Cure{
				{Fix: "close_other_apps", Title: "Close other programs, or restart the computer", Ways: []cause.Way{{For: "Windows", Text: "Task Manager, Performance, Memory: see if `Committed` is near its limit. Close browsers and idle Python processes first"}, {For: "Linux", Text: "`free -h` and `ulimit -v` show whether RAM or a limit was reached"}}, Cost: "Free."},
				{Fix: "load_in_8bit", Title: "Load it in 8 bit", Told: "In code: `compute_type=\"int8\"` in `WhisperModel(...)`. Stand-alone build: `--compute_type=int8`.", Cost: "Hardly any loss of accuracy."},
				kit.ManagePage, kit.AddSwap,
			},
			Sources: []string{"https://github.com/SYSTRAN/faster-whisper/issues/797", "https://github.com/Purfview/whisper-standalone-win/issues/511"}, Solved: 2,
		},
		cause.Card{
			ID: "faster-whisper/batched", Kinds: kit.OnCard, Said: []string{"BatchedInferencePipeline", "generate_segment_batched", "_batched_segments_generator"}, Unsaid: []string{"whisperx"},
			Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] in the batched pipeline",
			Means:    "The batched pipeline decodes several 30-second segments at once. For large-v2 the project measured 6.1 GB at fp16 with batch size 8 (4.5 without batching), and 4.5 GB at int8 (2.9 without).",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Lower `batch_size`", Steps: kit.HalfBatch("python", "segments, info = batched_model.transcribe(\"audio.mp3\", batch_size=%d)", 4), Cost: "Slower."},
				{Fix: "use_lower_quant", Title: "Load the model in 8 bit", If: when.Not(at8Bit), Steps: inInt8, Cost: "Hardly any loss of accuracy."},
				kit.LookAtCard,
				kit.Only(when.Not(smallWhisper), cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "`turbo` is half the size of large, with few more errors; then `medium`, `small`.", Cost: "More errors."}),
			},
			Sources: []string{"https://github.com/SYSTRAN/faster-whisper/blob/master/README.md"},
		},
		cause.Card{
			ID: "faster-whisper/decode", Kinds: kit.OnCard, Said: []string{"generate_with_fallback", "self.model.encode(", "self.model.generate(", "generate_segments", "detect_language"}, Unsaid: []string{"whisperx", "whisper_ctranslate2/"},
			Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] while it transcribed",
			Means:    "The model is loaded; transcribing failed. Memory depends on the model, its precision and the number of beams, not on the length of the audio. Other programs may also use part of the card.",
			Not:      "Shorter audio: Whisper reads 30 seconds at a time anyway.",
			Cures: []cause.Cure{
				{Fix: "use_lower_quant", Title: "Load it in 8 bit", Steps: inInt8, Cost: "Hardly any loss of accuracy."},
				kit.Cure("lower_batch_size", "Decode with one beam", "python", "segments, info = model.transcribe(\"audio.mp3\", beam_size=1, best_of=1)", "Slightly more errors."),
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/SYSTRAN/faster-whisper/blob/master/faster_whisper/transcribe.py", "https://github.com/Purfview/whisper-standalone-win/issues/141"}, Solved: 1,
		},
	),
}

// packed: an app with its own Python, so that its user has no script to edit.
func packed(c *ledger.Case) bool {
	return c.Phase == "load" && c.Near("PyInstaller", "[PYI-", "Failed to execute script", "VideoCaptioner", "buzz/", "whisper-fast")
}

// packedFigures are the places of the settings in apps that run Whisper, and
// what the log shows of the failure's consequences.
func inBuzz(c *ledger.Case) bool { return c.Near("buzz/") }

func packedFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"buzz": "", "captioner": "", "xxl": "", "apps": "", "follows": ""}
	switch {
	case c.Near("buzz/"):
		out["buzz"] = "tick Preferences, Reduce GPU RAM (since 1.4.0), or set the variable `BUZZ_FORCE_CPU=true` (since 1.2.1). Update older versions"
	case c.Near("VideoCaptioner"):
		out["captioner"] = "in the transcription settings, Faster Whisper, set device to cpu"
	default:
		out["apps"] = "compute type int8 or device cpu, if the app's settings have them"
	}
	if c.Near("whisper-fast", "faster-whisper-xxl") && !c.Near("VideoCaptioner", "buzz/") {
		out["xxl"] = "add `--compute_type=int8` or `--device=cpu`"
	}
	if c.Near("'NoneType' object has no attribute 'write'", "输出文件不存在") {
		out["follows"] = "the error after it (no `write`, no output file) is only a consequence"
	}
	return out
}
