package apps

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

// listens is a card on a program that runs Whisper by settings of its own: its
// users have no code, and no file is too long for it.
func listens(name, means, source string, own ...string) cause.Card {
	return cause.Card{
		ID: name + "/model", Kinds: onCard, If: func(c *ledger.Case) bool { return !ledger.Roomy(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] with its speech model", Means: means,
		Cures: looking(seen, fixes(own...)), Sources: []string{source},
	}
}

// Programs that write down what is said, on Whisper.
var (
	// WhisperJAV makes subtitles.
	WhisperJAV = program.Program{
		Name: "whisperjav", Shown: "WhisperJAV", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"whisperjav/", "- whisperjav - "},
		Sources: program.Sources{"WhisperJAV/whisperjav/main.py": "--mode --model --device --accept-cpu-mode --compute-type"},
		Steps: steps{
			"use_lower_quant":   words("`--compute-type int8` (modes balanced, fast and faster, which run on CTranslate2)."),
			"use_smaller_model": words("`--model turbo`: about half of large. In the window: Model override."),
			"cpu_offload":       words("`--device cpu --accept-cpu-mode`."),
		},
		Like: []*program.Program{&Transcribers},
		Cards: cards(
			cause.Card{
				ID: "whisperjav/fidelity", Kinds: onCard, Said: []string{"fidelity_pipeline"}, Cause: cause.ModelTooLarge, Weight: cause.Decisive,
				Headline: "ran out of graphics memory[[ ({total})]] in the mode fidelity",
				Means:    "Fidelity runs OpenAI's Whisper large in PyTorch, which needs about 10 GB by OpenAI's figures[[; {mine} was in use by it when {asked} more was refused]]. The other modes run the same models on CTranslate2 in a fraction of that.",
				Cures: []cause.Cure{
					{Fix: "use_lower_quant", Title: "Choose the mode balanced, or faster", Told: "`--mode balanced`, or the same entry in its window; on 4 GB with `--compute-type int8`.", Cost: "Slightly other timing."},
					{Fix: "use_smaller_model"}, {Fix: "cpu_offload"},
				},
				Sources: []string{"WhisperJAV/whisperjav/main.py", "WhisperJAV/whisperjav/pipelines/fidelity_pipeline.py", whisperTable},
			},
			listens("whisperjav", "A large model at 16 bit takes 3 to 5 GB with room to work, at 8 bit about half; scene and speech detection add little.", "WhisperJAV/whisperjav/main.py", "use_lower_quant", "use_smaller_model", "cpu_offload"),
		),
	}
	// PyVideoTrans translates videos.
	PyVideoTrans = program.Program{
		Name: "pyvideotrans", Shown: "pyVideoTrans", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"videotrans/", "pyvideotrans"},
		Sources: program.Sources{"pyvideotrans/docs/faq.md": "CUDA beam_size best_of"},
		Steps: steps{
			"use_lower_quant":   words("Tools, Advanced options: CUDA data type int8 in place of float32 or float16; beam_size 1 and best_of 1."),
			"use_smaller_model": words("Recognition model medium, then small, in place of large-v3, for which its guide names 8 GB."),
			"lower_parallel":    words("Advanced options: GPU tasks at the same time 1."),
		},
		Titles: map[string]string{"lower_parallel": "One GPU task at a time"},
		Like:   []*program.Program{&Transcribers},
		Cards:  cards(listens("pyvideotrans", "Recognition, the separation of voices and local dubbing models each take their part of the card, on large-v3 alone 4 to 8 GB.", "pyvideotrans/docs/faq.md", "use_smaller_model", "use_lower_quant", "close_other_apps")),
	}
	// VideoLingo cuts, translates and dubs.
	VideoLingo = program.Program{
		Name: "videolingo", Shown: "VideoLingo", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"VideoLingo/", "asr_backend/whisperX_local.py", "all_whisper_methods/whisperX"},
		Sources: program.Sources{"VideoLingo/core/asr_backend/whisperX_local.py": "whisper.runtime whisper.model"},
		Steps: steps{
			"lower_batch_size":  words("In `core/asr_backend/whisperX_local.py`: `batch_size = 2` on every card (16 above 8 GB), by the card's size and not by what is free."),
			"use_smaller_model": words("`config.yaml`, whisper: `model: 'large-v3-turbo'` in place of large-v3."),
			"cpu_offload":       words("`config.yaml`, whisper: `runtime: 'cloud'`, or run it without a card."),
		},
		Titles: map[string]string{"cpu_offload": "Recognise in the cloud"}, Costs: map[string]string{"cpu_offload": "A service's price."},
		Like:  []*program.Program{&Transcribers},
		Cards: cards(listens("videolingo", "WhisperX decodes 16 pieces at once on cards above 8 GB, 2 on smaller ones; Demucs and the alignment model need room before and after it.", "VideoLingo/core/asr_backend/whisperX_local.py", "lower_batch_size", "use_smaller_model", "close_other_apps")),
	}
	// WhisperLive transcribes as one speaks.
	WhisperLive = program.Program{
		Name: "whisper-live", Shown: "WhisperLive", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"whisper_live/", "WhisperLive/"},
		Units:   []string{"whisperlive-gpu"},
		Sources: program.Sources{"WhisperLive/run_server.py": "--max_clients --no_single_model --faster_whisper_custom_model_path"},
		Steps: steps{
			"lower_parallel":    words("Start the server with `--max_clients 1`, then 2 (default 4). A model that a client names is loaded for that client alone; with `--faster_whisper_custom_model_path PATH` and without `--no_single_model` all share one."),
			"use_smaller_model": words("In the client: `model=\"small\"`."),
		},
		Titles: map[string]string{"lower_parallel": "Fewer clients, or one model for all"}, Costs: map[string]string{"lower_parallel": "Others wait."},
		Like:  []*program.Program{&Transcribers},
		Cards: cards(listens("whisper-live", "Each client that connects has a model of its own unless the server was started with one for all. So memory grows with the clients, and a model stays until its client leaves.", "WhisperLive/whisper_live/backend/faster_whisper_backend.py", "lower_parallel", "use_smaller_model")),
	}
	// Speaches is faster-whisper-server's new name.
	Speaches = program.Program{
		Name: "speaches", Shown: "Speaches", Work: "audio", Edits: "admin", Language: "python",
		Proofs:  []string{"src/speaches/", "/speaches/routers/", "speaches.", "faster_whisper_server/"},
		Units:   []string{"speaches", "faster-whisper-server"},
		Beside:  map[string][]string{"speaches.": {"executors", "routers", "main:", "model_manager"}},
		Sources: program.Sources{"speaches/src/speaches/config.py": "WHISPER__COMPUTE_TYPE WHISPER__INFERENCE_DEVICE STT_MODEL_TTL TTS_MODEL_TTL"},
		Steps: steps{
			"use_lower_quant":   words("In the container's environment: `WHISPER__COMPUTE_TYPE=int8`."),
			"empty_cache":       words("In the container's environment: `STT_MODEL_TTL=0` and `TTS_MODEL_TTL=0` unload a model right after use (300 seconds by default)."),
			"use_smaller_model": words("Name a smaller model in the request: the request decides which one is loaded."),
			"cpu_offload":       words("In the container's environment: `WHISPER__INFERENCE_DEVICE=cpu`."),
		},
		Titles: map[string]string{"empty_cache": "Unload models sooner"}, Costs: map[string]string{"empty_cache": "Loading before each request."},
		Like:  []*program.Program{&Transcribers},
		Cards: cards(listens("speaches", "Each model that a request names is loaded and stays for `STT_MODEL_TTL` and `TTS_MODEL_TTL` seconds (300): several of them add up.", "speaches/src/speaches/config.py", "use_lower_quant", "empty_cache", "use_smaller_model")),
	}
	// Subgen makes subtitles for media servers.
	Subgen = program.Program{
		Name: "subgen", Shown: "Subgen", Work: "audio", Edits: "admin", Language: "python",
		Proofs:  []string{"subgen.py", "/subgen/"},
		Units:   []string{"subgen"},
		Sources: program.Sources{"subgen/subgen.py": "WHISPER_MODEL CONCURRENT_TRANSCRIPTIONS TRANSCRIBE_DEVICE COMPUTE_TYPE CLEAR_VRAM_ON_COMPLETE"},
		Steps: steps{
			"lower_parallel":    words("In the container's environment: `CONCURRENT_TRANSCRIPTIONS=1` (2 by default)."),
			"use_lower_quant":   words("In the container's environment: `COMPUTE_TYPE=int8` (auto by default)."),
			"use_smaller_model": words("In the container's environment: `WHISPER_MODEL=small` (medium by default)."),
			"cpu_offload":       words("In the container's environment: `TRANSCRIBE_DEVICE=cpu`."),
		},
		Titles: map[string]string{"lower_parallel": "One transcription at a time"}, Costs: map[string]string{"lower_parallel": "Files wait."},
		Like:  []*program.Program{&Transcribers},
		Cards: cards(listens("subgen", "Two files are transcribed at once by default, with one model of `WHISPER_MODEL` (medium) at `COMPUTE_TYPE`. The media server may decode videos on the same card.", "subgen/subgen.py", "lower_parallel", "use_lower_quant", "use_smaller_model")),
	}
	// NoScribe transcribes interviews.
	NoScribe = program.Program{
		Name: "noscribe", Shown: "noScribe", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"noScribe/", "noScribe.py", "noScribe.exe"},
		Sources: program.Sources{"noScribe/noScribe/main.py": "force_whisper_cpu force_pyannote_cpu whisper_compute_type", "noScribe/README.md": "config.yml"},
		Steps: steps{
			"use_lower_quant":   words("In its `config.yml`: `whisper_compute_type: int8`."),
			"cpu_offload":       words("In its `config.yml`: `force_whisper_cpu: 'true'`, and `force_pyannote_cpu: 'true'` if it fails while it looks for speakers."),
			"use_smaller_model": words("Model: fast, in place of precise; it is the same at 8 bit."),
		},
		Like:  []*program.Program{&Transcribers},
		Cards: cards(listens("noscribe", "It loads Whisper (large-v3-turbo) for the text and pyannote for the speakers, one after the other: about 3 GB at a time, so something else usually holds a part of the card.", "noScribe/noScribe/main.py", "use_lower_quant", "cpu_offload", "use_smaller_model")),
	}
)
