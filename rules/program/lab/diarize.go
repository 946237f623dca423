package lab

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

// ownAudio: the card is not another program's.
func ownAudio(c *ledger.Case) bool { return !ledger.Crowded(c) }

// inPieces is what makes any recording fit.
var inPieces = cause.Cure{Fix: "lower_context", Title: "Cut the recording into 30-minute parts", Kind: "shell", Text: "ffmpeg -i long.mp3 -f segment -segment_time 1800 -c copy part%03d.mp3", Cost: "you must match speakers between the parts"}

// Programs that write down who says what.
var (
	// WhisperDiarization runs Demucs, Whisper, ctc-forced-aligner and NeMo, one after
	// the other.
	WhisperDiarization = program.Program{
		Name: "whisper-diarization", Shown: "whisper-diarization", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"whisper-diarization/", "ctc_forced_aligner/", "import ctc_forced_aligner"},
		Sources: program.Sources{"whisper-diarization/diarize.py": "--batch-size --no-stem --whisper-model --device", "ctc-forced-aligner/ctc_forced_aligner/align.py": "--batch_size --window_size"},
		Like:    []*program.Program{&parts.DataAside, &trainer.Speech},
		Steps: spelling{
			"lower_batch_size":  say("Use `--batch-size 2` (8 unless set; it counts for Whisper and, since October 2024, for the aligner), 0 for Whisper without batches."),
			"use_smaller_model": say("Use `--whisper-model small.en` instead of medium.en (other languages `small`)."),
			"cpu_offload":       say("Use `--device cpu`: Whisper then runs in 8 bit."),
			"lower_context":     step.Paste("shell", inPieces.Text),
		},
		Titles: map[string]string{"lower_context": inPieces.Title, "cpu_offload": "Run it on the CPU"},
		Costs:  map[string]string{"lower_context": inPieces.Cost, "cpu_offload": "many times slower"},
		Cards: []cause.Card{{
			ID: "whisper-diarization/aligner", Kinds: cardFull, Said: []string{"in generate_emissions", "generate_emissions("}, If: ownAudio,
			Cause: cause.OversizedAllocation, Weight: cause.Decisive,
			Headline: "ran out of GPU memory in the forced aligner[[: {asked} more was refused]]",
			Means:    "The aligner (wav2vec 2.0) should read the audio in windows of 30 seconds, which takes a few GB at any length. ctc-forced-aligner between 29 December 2024 and 7 January 2025 had a bug: a longer recording went through as a whole, and attention memory grows with the square of its length.",
			Not:      "A smaller Whisper model: it was unloaded before this step.",
			Cures: []cause.Cure{
				{Fix: "upgrade_version", Title: "Update ctc-forced-aligner", Kind: "shell", Text: "pip install --upgrade --force-reinstall --no-deps git+https://github.com/MahmoudAshraf97/ctc-forced-aligner.git", Cost: "some minutes: it compiles"},
				{Fix: "lower_batch_size", Title: "If it is up to date: fewer windows at a time", Told: "diarize.py: `--batch-size 2` (default 8). The aligner's own command: `--batch_size 2` (default 4). In code: `generate_emissions(..., batch_size=2)`.", Cost: "slower"},
				inPieces,
			},
			Sources: []string{"ctc-forced-aligner/ctc_forced_aligner/alignment_utils.py", "https://github.com/MahmoudAshraf97/ctc-forced-aligner/pull/50", "https://github.com/MahmoudAshraf97/whisper-diarization/issues/286"},
		}},
	}
	// NeMoDiarizer is NeMo's search for speakers, which trains nothing.
	NeMoDiarizer = program.Program{
		Name: "diarizer", Shown: "NeMo's diarizer", Work: "audio", Edits: "code", Language: "python",
		Proofs:  []string{"asr/models/msdd_models.py", "asr/models/clustering_diarizer.py", "asr/parts/utils/offline_clustering.py", "asr/parts/utils/longform_clustering.py"},
		Sources: program.Sources{"NeMo/examples/speaker_tasks/diarization/conf/inference/diar_infer_telephonic.yaml": "batch_size device embeddings_per_chunk chunk_cluster_count infer_batch_size"},
		Like:    []*program.Program{&parts.DataAside, &trainer.Speech},
		Starts:  func(*ledger.Case, *program.Program) bool { return true }, // a library of NeMo's and of whoever calls it
		Steps:   spelling{"lower_context": step.Paste("shell", inPieces.Text)},
		Titles:  map[string]string{"lower_context": inPieces.Title},
		Costs:   map[string]string{"lower_context": inPieces.Cost},
		Cards: []cause.Card{{
			ID: "diarizer/clustering", Kinds: cardFull, Said: []string{"offline_clustering.py", "longform_clustering.py", "getCosAffinityMatrix", "perform_clustering"}, If: ownAudio,
			Cause: cause.OversizedAllocation, Weight: cause.Decisive,
			Headline: "ran out of GPU memory while comparing the voices of a long recording",
			Means:    "Clustering compares every voice sample with every other, so twice the length takes four times the memory. Since November 2023 NeMo can do this in chunks of `embeddings_per_chunk` (10,000, about 40 minutes of speech), if the configuration has that key. Otherwise it compares the whole recording at once.",
			Not:      "A smaller speech recogniser or batch: clustering has no batches.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Cluster smaller chunks", Told: "In the diarizer's YAML (whisper-diarization: nemo_msdd_configs/diar_infer_telephonic.yaml). Half the chunk needs a quarter of the memory:", Kind: "config", Text: "clustering:\n  parameters:\n    chunk_cluster_count: 50   # both keys; more than max_num_speakers\n    embeddings_per_chunk: 4000", Cost: "now and then one speaker too many"},
				{Fix: "cpu_offload", Title: "Or run the diarizer on the CPU", Told: "Set `device: cpu` in that YAML (whisper-diarization: `--device cpu`, for all steps). It then needs RAM instead.", Cost: "several times slower"},
				inPieces,
			},
			Sources: []string{"NeMo/nemo/collections/asr/parts/utils/longform_clustering.py", "NeMo/nemo/collections/asr/parts/utils/offline_clustering.py", "NeMo/nemo/collections/asr/parts/utils/speaker_utils.py", "https://github.com/NVIDIA/NeMo/pull/7737", "https://github.com/MahmoudAshraf97/whisper-diarization/issues/242"},
		}, {
			ID: "diarizer/networks", Kinds: cardFull, Said: []string{"msdd_models.py", "clustering_diarizer.py"}, If: ownAudio,
			Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory while looking for speakers",
			Means:    "Speech detection and voice samples are processed in batches of 64 by default (`batch_size`), the last network (MSDD) in batches of 25 (`infer_batch_size`). Other models that the program left on the GPU, such as a speech recogniser, count too.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Lower the batch sizes in the diarizer's YAML", Kind: "config", Text: "batch_size: 16\ndiarizer:\n  msdd_model:\n    parameters:\n      infer_batch_size: 8", Cost: "slower"},
				{Fix: "empty_cache", Title: "Unload the speech recogniser first", Kind: "python", Text: "del model\ntorch.cuda.empty_cache()   # before the diarizer is made", Cost: "none"},
				inPieces,
			},
			Sources: []string{"NeMo/examples/speaker_tasks/diarization/conf/inference/diar_infer_telephonic.yaml"},
		}},
	}
)
