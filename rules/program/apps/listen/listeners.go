// Package listen knows programs that write down what is said, most of them on
// Whisper.
package listen

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
)

// listens is a card on a program that runs Whisper by settings of its own: its
// users have no code, and no file is too long for it.
func listens(name, means, source string, own ...string) cause.Card {
	return cause.Card{
		ID: name + "/model", Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return !ledger.Roomy(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] with its speech model", Means: means,
		Cures: kit.Looking(kit.Seen, kit.Fixes(own...)), Sources: []string{source},
	}
}

// alone1 is such a program where the log shows that it does one thing at a time
// already.
func alone1(name, means, source string, words []string, own ...string) cause.Card {
	k := listens(name, means, source, own...)
	k.ID, k.Said = name+"/one", words
	return k
}

// Programs that write down what is said, on Whisper.
var (
	// WhisperJAV makes subtitles.
	WhisperJAV = program.Program{
		Name: "whisperjav", Shown: "WhisperJAV", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"whisperjav/", "- whisperjav - "},
		Sources: program.Sources{"WhisperJAV/whisperjav/main.py": "--mode --model --device --accept-cpu-mode --compute-type"},
		Steps: kit.Steps{
			"use_lower_quant":   kit.Words("Add `--compute-type int8` (for the modes balanced, fast and faster)."),
			"use_smaller_model": kit.Words("Add `--model turbo`: about half the size of large. In the window: Model override."),
			"cpu_offload":       kit.Words("Add `--device cpu --accept-cpu-mode`."),
		},
		Like: []*program.Program{&Transcribers},
		Cards: kit.Cards(
			cause.Card{
				ID: "whisperjav/fidelity", Kinds: kit.OnCard, Said: []string{"fidelity_pipeline"}, Cause: cause.ModelTooLarge, Weight: cause.Decisive,
				Headline: "ran out of GPU memory[[ ({total})]] in the mode fidelity",
				Means:    "The mode fidelity runs OpenAI's original Whisper; its large model needs about 10 GB. The other modes run the same models on CTranslate2 with far less memory.",
				Cures: []cause.Cure{
					{Fix: "use_lower_quant", Title: "Choose the mode balanced, or faster", Told: "Use `--mode balanced`, or choose it in the window. On 4 GB add `--compute-type int8`.", Cost: "Slightly different timing."},
					{Fix: "use_smaller_model"}, {Fix: "cpu_offload"},
				},
				Sources: []string{"WhisperJAV/whisperjav/main.py", "WhisperJAV/whisperjav/pipelines/fidelity_pipeline.py", whisperTable},
			},
			kit.Saved(listens("whisperjav", "8 bit is on already: even large then needs about 3 GB with what it works on. Usually something else takes the rest of the card.", "WhisperJAV/whisperjav/main.py", "use_lower_quant", "close_other_apps", "use_smaller_model", "cpu_offload"), "use_lower_quant", "--compute-type int8"),
			listens("whisperjav", "A large Whisper model needs 3 to 5 GB at 16 bit, and about half at 8 bit. Scene and speech detection add little.", "WhisperJAV/whisperjav/main.py", "use_lower_quant", "use_smaller_model", "cpu_offload"),
		),
	}
	// PyVideoTrans translates videos.
	PyVideoTrans = program.Program{
		Name: "pyvideotrans", Shown: "pyVideoTrans", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"videotrans/", "pyvideotrans"},
		Sources: program.Sources{"pyvideotrans/docs/faq.md": "CUDA beam_size best_of"},
		Steps: kit.Steps{
			"use_lower_quant":   kit.Words("Tools, Advanced options: set CUDA data type to int8, beam_size 1 and best_of 1."),
			"use_smaller_model": kit.Words("Choose the recognition model medium, then small. For large-v3 the guide asks for 8 GB."),
			"lower_parallel":    kit.Words("Advanced options: set GPU tasks at the same time to 1."),
		},
		Titles: map[string]string{"lower_parallel": "Run one GPU task at a time"},
		Like:   []*program.Program{&Transcribers},
		Cards:  kit.Cards(listens("pyvideotrans", "Speech recognition, voice separation and local dubbing models share the card. large-v3 alone needs 4 to 8 GB.", "pyvideotrans/docs/faq.md", "use_smaller_model", "use_lower_quant", "close_other_apps")),
	}
	// VideoLingo cuts, translates and dubs.
	VideoLingo = program.Program{
		Name: "videolingo", Shown: "VideoLingo", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"VideoLingo/", "asr_backend/whisperX_local.py", "all_whisper_methods/whisperX"},
		Sources: program.Sources{"VideoLingo/core/asr_backend/whisperX_local.py": "whisper.runtime whisper.model"},
		Steps: kit.Steps{
			"lower_batch_size":  kit.Words("In `core/asr_backend/whisperX_local.py` set `batch_size = 2` for every card. By default it uses 16 on cards above 8 GB."),
			"use_smaller_model": kit.Words("In `config.yaml` under whisper set `model: 'large-v3-turbo'`."),
			"cpu_offload":       kit.Words("In `config.yaml` under whisper set `runtime: 'cloud'`."),
		},
		Titles: map[string]string{"cpu_offload": "Recognise in the cloud"}, Costs: map[string]string{"cpu_offload": "A service's price."},
		Like: []*program.Program{&Transcribers},
		Cards: kit.Cards(
			kit.Saved(listens("videolingo", "WhisperX decodes 2 segments at once already. Demucs and the alignment model use the card too.", "VideoLingo/core/asr_backend/whisperX_local.py", "use_smaller_model", "close_other_apps", "cpu_offload"), "lower_batch_size", "Batch size: 2"),
			listens("videolingo", "WhisperX decodes 16 segments at once on cards above 8 GB, 2 on smaller ones, whatever is free. Demucs and the alignment model use the card too.", "VideoLingo/core/asr_backend/whisperX_local.py", "lower_batch_size", "use_smaller_model", "close_other_apps"),
		),
	}
	// WhisperLive transcribes as one speaks.
	WhisperLive = program.Program{
		Name: "whisper-live", Shown: "WhisperLive", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"whisper_live/", "WhisperLive/"},
		Units:   []string{"whisperlive-gpu"},
		Sources: program.Sources{"WhisperLive/run_server.py": "--max_clients --no_single_model --faster_whisper_custom_model_path"},
		Steps: kit.Steps{
			"lower_parallel":    kit.Words("Start the server with `--max_clients 1`, then 2 (default 4). Or let all clients share one model: `--faster_whisper_custom_model_path PATH`, without `--no_single_model`."),
			"use_smaller_model": kit.Words("In the client set `model=\"small\"`."),
		},
		Titles: map[string]string{"lower_parallel": "Allow fewer clients, or share one model"}, Costs: map[string]string{"lower_parallel": "Others wait."},
		Like: []*program.Program{&Transcribers},
		Cards: kit.Cards(
			alone1("whisper-live", "One client is allowed already, so the model decides, and what else is on the card.", "WhisperLive/run_server.py", []string{"--max_clients 1 ", "--max_clients=1 "}, "use_smaller_model"),
			listens("whisper-live", "Each client that connects gets its own model, unless the server shares one for all. So memory grows with the number of clients, and a model stays until its client leaves.", "WhisperLive/whisper_live/backend/faster_whisper_backend.py", "lower_parallel", "use_smaller_model"),
		),
	}
	// Speaches is faster-whisper-server's new name.
	Speaches = program.Program{
		Name: "speaches", Shown: "Speaches", Work: "audio", Edits: "admin", Language: "python",
		Proofs:  []string{"src/speaches/", "/speaches/routers/", "speaches.", "faster_whisper_server/"},
		Units:   []string{"speaches", "faster-whisper-server"},
		Beside:  map[string][]string{"speaches.": {"executors", "routers", "main:", "model_manager"}},
		Sources: program.Sources{"speaches/src/speaches/config.py": "WHISPER__COMPUTE_TYPE WHISPER__INFERENCE_DEVICE STT_MODEL_TTL TTS_MODEL_TTL"},
		Steps: kit.Steps{
			"use_lower_quant":   kit.Words("In the container's environment set `WHISPER__COMPUTE_TYPE=int8`."),
			"empty_cache":       kit.Words("In the container's environment set `STT_MODEL_TTL=0` and `TTS_MODEL_TTL=0`: models are unloaded right after use (default 300 seconds)."),
			"use_smaller_model": kit.Words("Name a smaller model in your request; the request decides which one is loaded."),
			"cpu_offload":       kit.Words("In the container's environment set `WHISPER__INFERENCE_DEVICE=cpu`."),
		},
		Titles: map[string]string{"empty_cache": "Unload models sooner"}, Costs: map[string]string{"empty_cache": "Loading before each request."},
		Like: []*program.Program{&Transcribers},
		Cards: kit.Cards(
			kit.Saved(listens("speaches", "8 bit is on already. Each model that a request names is loaded and stays on the card for `STT_MODEL_TTL` or `TTS_MODEL_TTL` seconds (300 by default). Several models add up.", "speaches/src/speaches/config.py", "empty_cache", "close_other_apps", "use_smaller_model"), "use_lower_quant", "WHISPER__COMPUTE_TYPE=int8", "WHISPER__COMPUTE_TYPE: int8"),
			listens("speaches", "Each model that a request names is loaded and stays on the card for `STT_MODEL_TTL` or `TTS_MODEL_TTL` seconds (300 by default). Several models add up.", "speaches/src/speaches/config.py", "use_lower_quant", "empty_cache", "use_smaller_model"),
		),
	}
	// Subgen makes subtitles for media servers.
	Subgen = program.Program{
		Name: "subgen", Shown: "Subgen", Work: "audio", Edits: "admin", Language: "python",
		Proofs:  []string{"subgen.py", "/subgen/"},
		Units:   []string{"subgen"},
		Sources: program.Sources{"subgen/subgen.py": "WHISPER_MODEL CONCURRENT_TRANSCRIPTIONS TRANSCRIBE_DEVICE COMPUTE_TYPE CLEAR_VRAM_ON_COMPLETE"},
		Steps: kit.Steps{
			"lower_parallel":    kit.Words("In the container's environment set `CONCURRENT_TRANSCRIPTIONS=1` (default 2)."),
			"use_lower_quant":   kit.Words("In the container's environment set `COMPUTE_TYPE=int8` (default auto)."),
			"use_smaller_model": kit.Words("In the container's environment set `WHISPER_MODEL=small` (default medium)."),
			"cpu_offload":       kit.Words("In the container's environment set `TRANSCRIBE_DEVICE=cpu`."),
		},
		Titles: map[string]string{"lower_parallel": "Run one transcription at a time"}, Costs: map[string]string{"lower_parallel": "Files wait."},
		Like: []*program.Program{&Transcribers},
		Cards: kit.Cards(
			alone1("subgen", "One transcription runs at a time already, so the model decides, and what else is on the card. The media server may decode videos there.", "subgen/subgen.py", []string{"CONCURRENT_TRANSCRIPTIONS: 1", "CONCURRENT_TRANSCRIPTIONS=1", "1 concurrent transcriptions"}, "use_lower_quant", "use_smaller_model"),
			listens("subgen", "By default Subgen transcribes two files at once, with the model `WHISPER_MODEL` (medium). The media server may decode videos on the same card.", "subgen/subgen.py", "lower_parallel", "use_lower_quant", "use_smaller_model"),
		),
	}
	// NoScribe transcribes interviews.
	NoScribe = program.Program{
		Name: "noscribe", Shown: "noScribe", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"noScribe/", "noScribe.py", "noScribe.exe"},
		Sources: program.Sources{"noScribe/noScribe/main.py": "force_whisper_cpu force_pyannote_cpu whisper_compute_type", "noScribe/README.md": "config.yml"},
		Steps: kit.Steps{
			"use_lower_quant":   kit.Words("In noScribe's `config.yml` set `whisper_compute_type: int8`."),
			"cpu_offload":       kit.Words("In noScribe's `config.yml` set `force_whisper_cpu: 'true'`. If it fails while it looks for speakers, also `force_pyannote_cpu: 'true'`."),
			"use_smaller_model": kit.Words("Choose the model fast instead of precise; it is the same model at 8 bit."),
		},
		Like:  []*program.Program{&Transcribers},
		Cards: kit.Cards(listens("noscribe", "noScribe loads Whisper (large-v3-turbo) for the text and pyannote for the speakers, one after the other. That needs only about 3 GB, so usually another program uses part of the card.", "noScribe/noScribe/main.py", "use_lower_quant", "cpu_offload", "use_smaller_model")),
	}
)
