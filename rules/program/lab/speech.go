package lab

import (
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Toolkits for speech, beside NeMo, ESPnet and fairseq.
var (
	// Icefall are the recipes of k2.
	Icefall = program.Program{
		Name: "icefall", Shown: "icefall", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"icefall/egs/librispeech/ASR/zipformer/train.py": "--use-bf16 --use-fp16 --prune-range --world-size --max-duration remove_short_and_long_utt", "icefall/egs/librispeech/ASR/tdnn_lstm_ctc/asr_datamodule.py": "--max-duration --num-buckets --num-workers", "icefall/egs/librispeech/ASR/zipformer/decode.py": "--beam-size --decoding-method --max-states"},
		Proofs:  []string{"icefall/", "Your GPU ran out of memory with the current max_duration", "see if any of the batches in epoch 1 would cause OOM", "pruned_transducer_stateless", "], tot_loss[loss=", "-packages/k2/", "This OOM is not an error. You can ignore it"},
		Steps: spelling{
			"lower_batch_size":  durations,
			"lower_context":     kit.ByPhase(step.Step{Kind: "text", Text: "In train.py, `remove_short_and_long_utt`: set `c.duration > 15.0` instead of 20.0 to leave longer utterances out."}, step.Step{Kind: "text", Text: "Cut long recordings at pauses before decoding."}),
			"mixed_precision":   say("Use `--use-fp16 1` (`--use-bf16 1` in newer recipes). That leaves room for a batch about 1.5 times as large."),
			"lower_num_workers": say("Use `--num-workers 1 --num-buckets 30`. Fewer buckets hold fewer cuts in RAM."),
		},
		Titles: map[string]string{"lower_batch_size": "Lower `--max-duration`"},
		Like:   []*program.Program{&trainer.Speech},
		Cards: []cause.Card{
			{
				ID: "icefall/pessimistic", Kinds: cardFull, Said: []string{"scan_pessimistic_batches_for_oom", "Your GPU ran out of memory with the current", "would cause OOM"}, Cause: cause.BatchTooLarge, Weight: cause.Decisive, Figures: phaseFigures, If: func(c *ledger.Case) bool { return ledger.OnCard(c) && !ledger.Crowded(c) },
				Headline: "ran out of GPU memory in its test of the largest batches",
				Means:    "Before training, icefall tries the batches that need the most memory. One of them did not fit with your `--max-duration`, the seconds of audio per batch and GPU. The recipes' values are for 32 GB.",
				Not:      "Skipping the test: the same batch would fail later in training.",
				Cures:    fixes("lower_batch_size", "mixed_precision", "lower_context"), Sources: []string{"icefall/egs/librispeech/ASR/zipformer/train.py"},
			},
			{
				ID: "icefall/rescored", Kinds: cardFull, Said: []string{"This OOM is not an error. You can ignore it"}, Cause: cause.BatchTooLarge, Weight: cause.Decisive, If: ledger.OnCard,
				Headline: "ran out of GPU memory on a lattice, pruned it and went on: no crash",
				Means:    "This is a warning, unless the program stopped here. Rescoring combines each lattice with the language model. If that does not fit, icefall prunes the lattice and tries again, up to ten times.",
				Cures: []cause.Cure{
					{Fix: "lower_batch_size", Title: "Lower `--max-duration` if it comes often", Told: "Halve it in the decoding command. A model that is not fully trained also has very large lattices.", Cost: "slower"},
				},
				Sources: []string{"icefall/icefall/decode.py"},
			},
			trainOf("icefall", "Each GPU gets a batch of `--max-duration` seconds of audio. A transducer's loss also grows with frames x tokens x vocabulary; a lower `--prune-range` reduces it. The largest batch can come at any step.", "", "icefall/egs/librispeech/ASR/zipformer/train.py", "lower_batch_size", "mixed_precision", "lower_context"),
			cutting(useOf("icefall", "while decoding", "A batch is `--max-duration` seconds of audio. Beams and lattices come on top, most of all with a language model in `--decoding-method`.", "", "icefall/icefall/decode.py", "lower_batch_size", "lower_context")),
		},
	}
	// SpeechBrain reads YAML files with overrides; pyannote uses it, too.
	SpeechBrain = program.Program{
		Name: "speechbrain", Shown: "SpeechBrain", Work: "audio", Edits: "flags", Language: "python", Rank: 62,
		Sources: program.Sources{"speechbrain/speechbrain/utils/run_opts.py": "--auto_mix_prec", "speechbrain/recipes/LibriSpeech/ASR/transformer/hparams/conformer_small.yaml": "--batch_size --grad_accumulation_factor --max_batch_length_train --max_batch_length_val --precision --sorting", "speechbrain/recipes/CommonVoice/ASR/CTC/hparams/train_en_with_wav2vec.yaml": "--avoid_if_longer_than"},
		Proofs:  []string{"speechbrain/", "speechbrain.core", "speechbrain.utils"},
		Steps: spelling{
			"lower_batch_size":  kit.ByPhase(step.Step{Kind: "text", Text: "After the YAML file on the command line: half of the present `--batch_size`, with `--grad_accumulation_factor 2`. With dynamic batches: half of `--max_batch_length_train`."}, step.Step{Kind: "text", Text: "Transcribe one file at a time."}),
			"lower_context":     kit.ByPhase(step.Step{Kind: "text", Text: "`--avoid_if_longer_than 10.0` (seconds), if the recipe has it. `--sorting descending` puts the longest first, so you see at once whether they fit."}, step.Step{Kind: "text", Text: "Cut the recording at pauses into parts of 20 to 30 seconds."}),
			"mixed_precision":   say("Use `--precision fp16`, or bf16 from RTX 30 on (before version 1.0: `--auto_mix_prec True`)."),
			"lower_num_workers": say("Use `num_workers: 1` below dataloader_opts in the YAML file."),
		},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size or the seconds in a batch"},
		Like:   []*program.Program{&trainer.Speech},
		Cards: []cause.Card{
			saying(phaseCard("", "ran out of GPU memory in validation", "Validation and tests have their own batch size and often use beam search. Memory grows with the beam size (66 in some recipes) and with `max_batch_length_val` or the batch size.",
				"A smaller training batch: validation has its own.", "speechbrain/recipes/LibriSpeech/ASR/transformer/hparams/conformer_small.yaml", ours,
				[]cause.Cure{{Fix: "lower_batch_size", Title: "Lower the validation batch size", Told: "`--max_batch_length_val 50`, or `batch_size: 1` under valid_dataloader_opts and test_dataloader_opts. Then a smaller `valid_beam_size` or `test_beam_size`.", Cost: "slower"}, {Fix: "lower_context"}}),
				"speechbrain/validation", "in _fit_valid", "in evaluate_batch", "Stage.VALID", "in evaluate"),
			trainOf("speechbrain", "A batch is padded to its longest sample, so one long recording can be too much, at any step. Attention and encoders such as wav2vec 2.0 or WavLM need the most.", "", "speechbrain/recipes/LibriSpeech/ASR/transformer/hparams/conformer_small.yaml", "lower_batch_size", "lower_context", "mixed_precision"),
			cutting(useOf("speechbrain", "on a recording", "A whole file usually goes through the model at once. Memory grows with its length; for attention, with the square of it.", "", "speechbrain/speechbrain/inference", "lower_context", "lower_batch_size")),
		},
	}
	// WeNet reads YAML files.
	WeNet = program.Program{
		Name: "wenet", Shown: "WeNet", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"wenet/examples/aishell/s0/conf/train_conformer.yaml": "batch_size batch_type max_length accum_grad shuffle_size sort_size", "wenet/examples/aishell/whisper/conf/finetune_whisper_largev3.yaml": "max_frames_in_batch", "wenet/wenet/bin/recognize.py": "--batch_size", "wenet/wenet/utils/train_utils.py": "--use_amp --num_workers --prefetch --dtype"},
		Proofs:  []string{"wenet/"},
		Steps: spelling{
			"lower_batch_size":  kit.ByPhase(step.Step{Kind: "config", Text: "# conf/train_*.yaml\ndataset_conf:\n  batch_conf:\n    batch_type: 'dynamic'\n    max_frames_in_batch: 12000   # static: half of the present batch_size\naccum_grad: 16"}, step.Step{Kind: "text", Text: "Use `--batch_size 1` in the recognize stage of run.sh (wenet/bin/recognize.py)."}),
			"lower_context":     kit.ByPhase(step.Step{Kind: "config", Text: "dataset_conf:\n  filter_conf:\n    max_length: 2000   # frames of 10 ms; 40960 lets everything through"}, step.Step{Kind: "text", Text: "Cut long recordings at pauses before decoding."}),
			"mixed_precision":   say("Use `--use_amp` (or `--dtype bf16` with DeepSpeed)."),
			"lower_num_workers": say("Use `--num_workers 2 --prefetch 10`. Also lower `shuffle_size` and `sort_size` in the YAML file: each worker holds that many utterances."),
		},
		Like: []*program.Program{&trainer.Speech},
		Cards: []cause.Card{
			trainOf("wenet", "With `batch_type: static` a batch is `batch_size` utterances (16 in the recipe), padded to the longest. In the recipes `filter_conf.max_length` allows up to 40,960 frames, nearly seven minutes.", "A smaller `shuffle_size`: it saves RAM.", "wenet/examples/aishell/s0/conf/train_conformer.yaml", "lower_context", "lower_batch_size", "mixed_precision"),
			cutting(useOf("wenet", "while decoding", "Decoding takes several utterances at a time (`--batch_size` in the recognize stage of run.sh), padded to the longest. Attention rescoring makes a copy for each beam.", "", "wenet/examples/aishell/s0/run.sh", "lower_batch_size", "lower_context")),
		},
	}
	// FunASR is ModelScope's, with Paraformer and SenseVoice.
	FunASR = program.Program{
		Name: "funasr", Shown: "FunASR", Work: "audio", Edits: "code", Language: "python", Commands: []string{"funasr"},
		Sources: program.Sources{"FunASR/docs/tutorial/README.md": "batch_size_s batch_size_threshold_s max_single_segment_time", "FunASR/examples/industrial_data_pretraining/paraformer/finetune.sh": "dataset_conf.batch_size dataset_conf.sort_size"},
		Proofs:  []string{"funasr/", "FunASR/"},
		Steps: spelling{
			"lower_batch_size": kit.ByPhase(step.Step{Kind: "text", Text: "Use `++dataset_conf.batch_size=2000` (6000 in finetune.sh: frames, with `batch_type=token`)."}, step.Step{Kind: "python", Text: "res = model.generate(input=wav, batch_size_s=60, batch_size_threshold_s=20)   # seconds of sound; defaults 300 and 60"}),
			"lower_context":    kit.ByPhase(step.Step{Kind: "text", Text: "Cut recordings at pauses into parts of 20 seconds before training."}, step.Step{Kind: "python", Text: "model = AutoModel(model=\"paraformer-zh\", vad_model=\"fsmn-vad\", punc_model=\"ct-punc\",\n                  vad_kwargs={\"max_single_segment_time\": 30000})   # ms; 60000 by default"}),
			"cpu_offload":      step.Paste("python", "model = AutoModel(model=\"paraformer-zh\", device=\"cpu\")   # your model"),
		},
		Titles: map[string]string{"lower_context": "Cut long recordings at pauses", "cpu_offload": "Run it on the CPU"},
		Costs:  map[string]string{"lower_context": "cuts at pauses may cost a word", "cpu_offload": "many times slower"},
		Like:   []*program.Program{&parts.DataAside, &trainer.Speech},
		Cards: []cause.Card{
			trainOf("funasr", "With `batch_type=token`, `dataset_conf.batch_size` counts frames per GPU (6,000 in finetune.sh). A longer utterance still goes in alone.", "", "FunASR/examples/industrial_data_pretraining/paraformer/finetune.sh", "lower_batch_size"),
			useOf("funasr", "on a recording", "Attention grows with the square of a segment's length. Without a `vad_model` the whole file is one segment. With it, segments are batched up to `batch_size_s` seconds (default 300).", "", "FunASR/docs/tutorial/README.md", "lower_context", "lower_batch_size", "cpu_offload"),
		},
	}
	// Pyannote finds out who speaks; WhisperX and others use it.
	Pyannote = program.Program{
		Name: "pyannote", Shown: "pyannote.audio", Work: "audio", Edits: "code", Language: "python", Rank: 63,
		Sources: program.Sources{"pyannote-audio/src/pyannote/audio/pipelines/speaker_diarization.py": "segmentation_batch_size embedding_batch_size"},
		Proofs:  []string{"pyannote/audio/"},
		Steps: spelling{
			"lower_batch_size": kit.ByPhase(step.Step{Kind: "python", Text: "task = SpeakerDiarization(protocol, duration=5.0, batch_size=8)   # your task and protocol; 32 by default"}, step.Step{Kind: "python", Text: "pipeline.segmentation_batch_size = 4   # 32 in most pipelines\npipeline.embedding_batch_size = 4"}),
			"lower_context":    say("Cut the recording into parts of ten to twenty minutes. You must then match speakers between the parts."),
			"cpu_offload":      step.Paste("python", "pipeline.to(torch.device(\"cpu\"))"),
		},
		Titles: map[string]string{"lower_batch_size": "Lower the pipeline's batch sizes", "lower_context": "Cut the recording", "cpu_offload": "Run it on the CPU"},
		Costs:  map[string]string{"lower_context": "speakers to match afterwards", "cpu_offload": "many times slower"},
		Like:   []*program.Program{&parts.DataAside, &trainer.Speech},
		Cards: []cause.Card{
			{
				ID: "pyannote/batch", Kinds: append([]fact.Kind{fact.PythonMemory}, cardFull...), Said: []string{"is probably too large. Try with a smaller value until memory error disappears"}, Cause: cause.BatchTooLarge, Weight: cause.Decisive,
				Headline: "ran out of GPU memory on a batch of audio windows",
				Means:    "pyannote sends `batch_size` audio windows of a few seconds through the network at once. It raises this `MemoryError` if the GPU has no room for them.",
				Not:      "More RAM: the GPU is full.",
				Cures:    fixes("lower_batch_size", "close_other_apps", "cpu_offload"), Sources: []string{"pyannote-audio/src/pyannote/audio/core/inference.py"},
			},
			{
				ID: "pyannote/stitched", Kinds: []fact.Kind{fact.NumpyAlloc}, Said: []string{"stitched_segmentations"}, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
				Headline: "wanted {asked} of RAM for the speakers of one long recording",
				Means:    "The failing line makes one array of windows x frames x speakers. A speaker who cannot be matched from one window to the next counts as a new one. So both numbers grow with the length of the recording.",
				Not:      "A smaller batch: the array depends on the recording alone.",
				Cures: []cause.Cure{
					{Fix: "lower_context", Title: "Cut the recording into ten-minute parts", Told: "Half the length needs about a quarter of the memory. Match the speakers between the parts afterwards.", Cost: "speakers to match afterwards"},
					{Fix: "upgrade_version", Title: "Update pyannote.audio, and use its diarization pipeline", Told: "Version 3.0 dropped this segmentation pipeline. For whole recordings use `pyannote/speaker-diarization-3.1` or later, which compares voices.", Kind: "shell", Text: "pip install --upgrade pyannote.audio", Cost: "changes in the script"},
					{Fix: "fix_shape", Title: "Check the file: length, noise, music", Told: "Windows without clear speech are hard to match. `ffprobe audio.wav` shows the length. Cut parts without speech.", Cost: "a minute"},
				},
				Sources: []string{"pyannote-audio/pyannote/audio/pipelines/segmentation.py", "https://huggingface.co/pyannote/speaker-diarization-3.1"},
			},
			{
				ID: "pyannote/ram", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "pyannote reads the whole recording into RAM. Then clustering compares the speakers of every window with every other, which grows with the square of the length.",
				Not:      "A smaller batch: it saves only GPU memory.",
				Cures:    fixes("lower_context", "add_swap"), Sources: []string{"pyannote-audio/src/pyannote/audio/pipelines/speaker_diarization.py"},
			},
			itself(useOf("pyannote", "while looking for speakers", "Audio windows of a few seconds go through the networks in batches (`segmentation_batch_size`, `embedding_batch_size`: 32 in most published pipelines). A speech recogniser in the same process takes its share of the GPU too.", "", "pyannote-audio/src/pyannote/audio/pipelines/speaker_diarization.py", "lower_batch_size", "cpu_offload")),
		},
	}
	// Kaldi is the C++ toolkit.
	Kaldi = program.Program{
		Name: "kaldi", Shown: "Kaldi", Work: "audio", Edits: "flags", Language: "cpp",
		Sources: program.Sources{"kaldi/egs/wsj/s5/utils/run.pl": "--max-jobs-run", "kaldi/egs/wsj/s5/run.sh": "--nj --trainer --egs", "kaldi/egs/wsj/s5/steps/nnet3/chain/train.py": "--trainer.num-chunk-per-minibatch --use-gpu", "kaldi/egs/wsj/s5/steps/nnet3/train_dnn.py": "--trainer.optimization.minibatch-size", "kaldi/src/cudamatrix/cu-allocator.h": "--cuda-memory-proportion", "kaldi/egs/wsj/s5/steps/nnet3/train_rnn.py": "--egs.chunk-width"},
		Proofs:  []string{"cu-allocator.cc", "nnet3-chain-train", "nnet3-train", "kaldi/src/", "cu-device.cc:"},
		Steps: spelling{
			"lower_batch_size":   say("Halve `--trainer.num-chunk-per-minibatch` (chain models) or `--trainer.optimization.minibatch-size` (train_dnn.py)."),
			"kill_stale_process": say("Run `sudo nvidia-smi -c 3` (one job per GPU) and set `--use-gpu wait` in the training command. Jobs then wait for a free GPU."),
			"lower_context":      say("Use `--egs.chunk-width 100` for recurrent models. You must make new egs."),
			"lower_num_workers":  say("Run fewer jobs at a time: lower `--nj`, or `--max-jobs-run` in cmd.sh."),
		},
		Titles: map[string]string{"kill_stale_process": "Run one job on each GPU", "lower_batch_size": "Lower the minibatch size", "lower_context": "Lower the chunk width"},
		Costs:  map[string]string{"lower_context": "new examples to make"},
		Cards: []cause.Card{{
			ID: "kaldi/region", Kinds: append([]fact.Kind{fact.PlainMemory, fact.NativeAlloc}, cardFull...), Said: []string{"cu-allocator.cc", "Failed to allocate a memory region"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory",
			Means:    "Usually several jobs share one GPU. At its start Kaldi takes half of the free memory (`--cuda-memory-proportion`), so each job gets half of what the others left.",
			Cures:    fixes("kill_stale_process", "lower_batch_size"), Sources: []string{"kaldi/src/cudamatrix/cu-allocator.cc"},
		}},
	}
	// RETURNN is RWTH's.
	RETURNN = program.Program{
		Name: "returnn", Shown: "RETURNN", Work: "audio", Edits: "flags", Language: "python",
		Sources: program.Sources{"returnn/docs/configuration_reference/training.rst": "batch_size max_seqs max_seq_length", "returnn/returnn/torch/engine.py": "accum_grad_multiple_step torch_amp"},
		Proofs:  []string{"returnn/torch/", "returnn/tf/", "returnn/__main__.py", "returnn/util/"},
		Steps: spelling{
			"lower_batch_size": config("batch_size = 10000          # frames (audio: samples), half of yours\nmax_seqs = 40\naccum_grad_multiple_step = 2"),
			"lower_context":    config("max_seq_length = {\"classes\": 75}   # drops longer sequences"),
			"mixed_precision":  config("torch_amp = \"bfloat16\"   # PyTorch backend"),
		},
		Titles: map[string]string{"lower_batch_size": "Lower `batch_size` (frames)"},
		Like:   []*program.Program{&trainer.Speech},
		Cards:  []cause.Card{stepOf("returnn", "`batch_size` limits the frames (or raw audio samples) in a batch, padding included, and `max_seqs` the number of sequences. One longer sequence still goes in alone.", "", "returnn/docs/configuration_reference/training.rst", "lower_batch_size", "lower_context", "mixed_precision")},
	}
	// Seamless is Meta's SeamlessM4T.
	Seamless = program.Program{
		Name: "seamless", Shown: "SeamlessM4T", Work: "audio", Edits: "code", Language: "python", Commands: []string{"m4t_predict", "m4t_finetune"},
		Sources: program.Sources{"seamless_communication/src/seamless_communication/cli/m4t/finetune/trainer.py": "SPEECH_TO_TEXT", "seamless_communication/src/seamless_communication/cli/m4t/finetune/finetune.py": "--batch_size --max_src_tokens --mode --freeze_layers", "seamless_communication/src/seamless_communication/cli/m4t/predict/predict.py": "--model_name dtype"},
		Proofs:  []string{"seamless_communication/"},
		Steps: spelling{
			"lower_batch_size":  say("Use `--batch_size 1 --max_src_tokens 2000` (defaults 5 and 7000)."),
			"lower_context":     say("Cut the recording at pauses into parts of 20 to 30 seconds. A whole file goes through the encoder at once."),
			"half_precision":    step.Paste("python", "translator = Translator(\"seamlessM4T_v2_large\", \"vocoder_v2\", torch.device(\"cuda:0\"), dtype=torch.float16)"),
			"use_smaller_model": say("Use `--model_name seamlessM4T_medium` (1.2 billion parameters instead of 2.3)."),
			"use_lora":          say("Use `--mode SPEECH_TO_TEXT` with `--freeze_layers` for the other parts."),
		},
		Titles: map[string]string{"use_lora": "Train one part of the model only"},
		Like:   []*program.Program{&trainer.Speech},
		Cards: []cause.Card{
			loadOf("seamless", "The large models have 2.3 billion parameters: 4.6 GB in 16 bit, twice that in 32 bit. The vocoder comes on top.", "A shorter recording: it failed while loading the model.", "seamless_communication/README.md", "half_precision", "use_smaller_model"),
			trainOf("seamless", "It trains all weights of the chosen part, about 16 bytes per parameter. `--max_src_tokens` limits the batch on each GPU.", "", "seamless_communication/src/seamless_communication/cli/m4t/finetune/finetune.py", "lower_batch_size", "use_lora", "use_smaller_model"),
			cutting(useOf("seamless", "on a recording", "The whole recording goes through the encoder at once, and attention grows with the square of its length. The models are made for sentences, up to about 30 seconds.", "", "seamless_communication/src/seamless_communication/cli/m4t/predict/README.md", "lower_context", "half_precision", "use_smaller_model")),
		},
	}
)

// durations is half of the seconds of a batch.
func durations(c *ledger.Case) []step.Step {
	half := parts.Halved(c, "300", "max_duration")
	if own, ok := cures.Typed(c, "--max-duration"); ok && step.Divided(own, 2) > 0 {
		half = strconv.Itoa(step.Divided(own, 2))
	}
	return []step.Step{{Kind: "text", Text: "Use `--max-duration " + half + "` (seconds per batch and GPU), then raise it while it fits."}}
}
