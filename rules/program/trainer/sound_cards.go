package trainer

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// joint says how many samples a refused tensor of the joint is for, of a size
// that is usual.
func joint(c *ledger.Case) map[string]string {
	out := parts.Filled(c)
	out["samples"] = ""
	if n := ledger.Requested(c) / (400 * 80 * 1025 * 4); n >= 2 && n < 1000 {
		out["samples"] = ledger.Thousands(n)
	}
	return out
}

var nemoCards = []cause.Card{
	{
		ID: "nemo/transducer", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"modules/rnnt.py", "RNNTJoint", "joint_after_projection", "rnnt_loss", "losses/rnnt"},
		If: parts.Own, Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory in the transducer's joint network", Figures: joint,
		Means: "The joint network scores every audio frame x text position x word piece, usually the largest tensor.[[ {asked} fits {samples} samples of 400 frames, 80 positions and 1,025 pieces.]] With `fuse_loss_wer` it processes `fused_batch_size` samples at a time, otherwise the whole batch. The longest recordings decide.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: cures.Evaluating, Title: "Lower the validation batch size", Kind: "text", Text: "It failed in validation. Add `model.validation_ds.batch_size=4` (test: `model.test_ds.batch_size`) and `model.joint.fuse_loss_wer=true model.joint.fused_batch_size=4`.", Cost: "Slower validation; same result."},
			{Fix: "lower_batch_size", If: when.Not(cures.Evaluating), Title: "Lower fused_batch_size", Kind: "text", Text: "Add `model.joint.fuse_loss_wer=true model.joint.fused_batch_size=2` to your command, then try 1. The encoder's batch size stays the same.", Cost: "Slower steps; same result."},
			{Fix: "lower_context"},
			{Fix: "mixed_precision"},
		},
		Sources: []string{"NeMo/examples/asr/conf/conformer/conformer_transducer_bpe.yaml", "NeMo/nemo/collections/asr/modules/rnnt.py"},
	},
	{
		ID: "nemo/transcribe", Kinds: parts.Refused, Said: []string{"in transcribe", "transcribe_speech.py", "_transcribe_forward"},
		If: parts.Own, Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of GPU memory while transcribing",
		Means: "Most models attend over the whole recording: twice the length takes four times the memory. Ten minutes or more may not fit on a 12 GB GPU even at batch size 1.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Use local attention", Kind: "python", Text: "model.change_attention_model(\"rel_pos_local_attn\", [128, 128])\nmodel.change_subsampling_conv_chunking_factor(1)", Cost: "Little accuracy; Conformer and FastConformer models only."},
			{Fix: "lower_batch_size", Title: "Transcribe in chunks", Kind: "text", Text: "With several files first pass `batch_size=1`. For long files use the scripts in examples/asr/asr_chunked_inference, or cut them at pauses into parts of a few minutes.", Cost: "Words at the cuts may suffer."},
		},
		Sources: []string{"NeMo/examples/asr/asr_chunked_inference", "NeMo/docs/source/asr/results.rst"},
	},
	parts.StepCard("nemo/step", []string{"nemo/collections/"},
		"All samples in a batch are padded to the longest one. So a single long recording is enough, at any step.",
		"`num_workers`: workers use system RAM.", "NeMo/examples/asr/conf/conformer/conformer_transducer_bpe.yaml",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_context"}, cause.Cure{Fix: "mixed_precision"}),
}

var espnetCards = []cause.Card{
	parts.EvaluationCard("espnet/decode", []string{"espnet2/bin/", "in inference", "espnet/bin/asr_recog.py"},
		"Decoding takes one utterance at a time. Attention over it grows with the square of its length, so the longest recording decides; the beam multiplies the decoder's part.",
		"`batch_bins`: it is about training.", "https://github.com/espnet/espnet/issues/2798",
		cause.Cure{Fix: "lower_context", Title: "Cut long recordings before decoding", Kind: "text", Text: "Split them at pauses (a voice activity detector, or a segments file) into parts of at most 30 seconds.", Cost: "Words at the cuts may suffer."},
		cause.Cure{Fix: "lower_parallel", Title: "Use a smaller beam", Kind: "text", Text: "`beam_size: 10` in the decoding config (or `--beam_size 10`), if it fails in the decoder.", Cost: "A few more errors."},
		cause.Cure{Fix: "cpu_offload", Title: "Or decode on the CPU", Kind: "text", Text: "asr.sh: `--gpu_inference false`; asr_inference.py: `--ngpu 0`.", Cost: "Slower; RAM instead."}, parts.FreeOthers),
	parts.StepCard("espnet/step", []string{"espnet2/train/trainer.py", "espnet/asr/pytorch_backend", "espnet2/tasks/"},
		"`batch_bins` limits the size of a batch, but a single longer utterance still goes in alone. Attention grows with the square of its length.",
		"`batch_size`, if `batch_type` is numel or length: `batch_bins` decides then.", "https://github.com/espnet/espnet/issues/2798",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_context"}, cause.Cure{Fix: "mixed_precision"}),
}

var fairseqCards = []cause.Card{
	{
		ID: "fairseq/skipped", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"Skipping batch", "skipping batch"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) && !firstFairseq(c) && lost(c) < mostLost }, Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "{skipped}", Figures: skipped,
		Means: "{then} A few per epoch do little harm. Many do, as the longest samples are usually the ones lost. `--max-tokens` is the batch size per GPU, padding included (audio: samples or feature frames).",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Kind: "text", Text: "Lower `--max-tokens` by a quarter, then by half (text: 4096 to 2048; wav2vec: 1500000 to 750000), and raise `--update-freq` accordingly.", Cost: "Slower; same result."},
			{Fix: "mixed_precision"},
			{Fix: "lower_context", Title: "Skip or cut the longest samples"},
		},
		Sources: []string{"fairseq/fairseq/trainer.py", "https://github.com/facebookresearch/fairseq/issues/1191"},
	},
	mostSkipped,
	{
		// Before 0.5 (June 2018) there was neither --fp16 nor --update-freq.
		ID: "fairseq/skipped-first", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: firstWords,
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "{skipped}", Figures: skipped,
		Means: "{then} [[{first} ]]`oom=` in the progress bar is the number of skipped batches per step: below 0.01 it does little harm. If it rises, the longest samples are the ones lost. `--max-tokens` is the batch size per GPU, padding included.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower --max-tokens", Kind: "text", Text: "Lower `--max-tokens` by a quarter, then by half (and `--max-sentences`, if you set it).", Cost: "slower"},
			{Fix: "lower_context", Title: "Or leave out the longest sentences", Kind: "text", Text: "Lower `--max-source-positions` and `--max-target-positions` (default 1024), or drop long sentences when you prepare the data.", Cost: "they are not trained on"},
			{Fix: "upgrade_version", If: failedFirst, Title: "Update fairseq", Told: "From 0.5 on it has `--update-freq` (smaller batches, the same step) and `--fp16`.", Cost: "an installation"},
			{Fix: "kill_stale_process", Title: "If it is always the same GPU: see what else uses it", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
		},
		Sources: []string{"fairseq/fairseq/multiprocessing_trainer.py", "fairseq/fairseq/options.py"},
	},
	{
		ID: "fairseq/oom-report", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchSummary}, Said: []string{"Ran out of memory with exception", "ran out of memory with exception", "attempting to recover from OOM", "ran out of memory in validation step"},
		If: parts.Own, Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of memory on one batch",
		Means:   "A batch did not fit. fairseq prints a memory table, then usually tries to skip the batch. \"CUDA OOMs\" in the table counts how often this happened: a few are harmless, many lose the longest samples of every epoch. `--max-tokens` is the batch size per GPU, padding included.",
		Cures:   []cause.Cure{{Fix: "lower_batch_size"}, {Fix: "mixed_precision"}, {Fix: "lower_context"}},
		Sources: []string{"fairseq/fairseq/trainer.py", "https://github.com/facebookresearch/fairseq/issues/1191"},
	},
	parts.EvaluationCard("fairseq/generate", []string{"fairseq_cli/generate.py", "fairseq_cli/interactive.py", "sequence_generator.py", "in inference_step"},
		"Generating keeps the states of `--batch-size` (or `--max-tokens`) samples x `--beam` (default 5) hypotheses, up to the longest output.",
		"`--update-freq`: it is about training.", "fairseq/fairseq/dataclass/configs.py",
		cause.Cure{Fix: "lower_batch_size", If: when.Not(parts.One("--batch-size", "batch_size")), Title: "Generate fewer samples at once", Steps: func(c *ledger.Case) []step.Step {
			return parts.Say("Set `--batch-size " + parts.HalfOf(c, 16, "batch_size", "--batch-size") + "`, or `--max-tokens 2048`.")(c)
		}, Cost: "Slower; same result."},
		cause.Cure{Fix: "half_precision", If: when.Not(parts.Shows("--fp16")), Title: "Generate in 16 bit (--fp16)", Kind: "text", Text: "Add `--fp16`.", Cost: "Hardly any quality."},
		cause.Cure{Fix: "lower_parallel", Title: "Use a smaller beam", Kind: "text", Text: "`--beam 2`, or 1.", Cost: "Some quality."}, parts.FreeOthers),
	parts.StepCard("fairseq/step", []string{"fairseq/trainer.py", "fairseq/tasks/", "fairseq_cli/train.py"},
		"`--max-tokens` is the batch size per GPU, padding included. A large dictionary makes the output layer large as well.",
		"More GPUs: each gets its own `--max-tokens`.", "https://github.com/facebookresearch/fairseq/issues/1191",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "mixed_precision"}, cause.Cure{Fix: "gradient_checkpointing"}),
}

// firstWords are those before 0.5: a warning that names the GPU, files that were
// merged into train.py then.
var firstWords = []string{"ran out of memory on GPU #", "singleprocess_train.py", "multiprocessing_trainer.py"}

func firstFairseq(c *ledger.Case) bool { return c.Near(firstWords...) }

// skipped says whether the run went on: a traceback behind the message says not.
func skipped(c *ledger.Case) map[string]string {
	first := map[bool]string{true: "It was the first batch of the run, so every batch of this size may fail."}[failedFirst(c)]
	if n := len(c.Facts.Code); n > 0 && c.Facts.Code[n-1].Line > c.Failure.EndLine {
		return map[string]string{"skipped": "skipped a batch that did not fit on the GPU, and ended", "first": first, "then": "fairseq skipped that batch but did not go on: a traceback follows. With several GPUs the others wait for the one that skipped its batch."}
	}
	return map[string]string{"skipped": "skipped a batch that did not fit on the GPU, and continued", "first": first, "then": "This is a warning: fairseq skipped that batch and continues."}
}
