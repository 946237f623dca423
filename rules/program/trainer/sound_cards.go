package trainer

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// joint says how many samples a refused tensor of the joint is for, of a size
// that is usual.
func joint(c *ledger.Case) map[string]string {
	out := filled(c)
	out["samples"] = ""
	if n := ledger.Requested(c) / (400 * 80 * 1025 * 4); n >= 2 && n < 1000 {
		out["samples"] = ledger.Thousands(n)
	}
	return out
}

var nemoCards = []cause.Card{
	{
		ID: "nemo/transducer", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"modules/rnnt.py", "RNNTJoint", "joint_after_projection", "rnnt_loss", "losses/rnnt"},
		If: ownCard, Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of graphics memory in the transducer's joint network", Figures: joint,
		Means: "The joint computes a score for every frame x every text position x every word piece, usually the largest tensor: samples x time x text x vocabulary x 4 bytes.[[ {asked} would be {samples} samples of 400 frames, 80 positions and 1,025 pieces.]] With fuse_loss_wer it works on fused_batch_size samples at a time (4 in most recipes, 16 in older ones), otherwise on the whole batch. The longest recordings decide.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower fused_batch_size", Kind: "text", Text: "Add `model.joint.fuse_loss_wer=true model.joint.fused_batch_size=2` to the command (then 1); the batch of the encoder stays as it is.", Cost: "Slower steps; the same result."},
			{Fix: "lower_context"},
			{Fix: "mixed_precision"},
		},
		Sources: []string{"NeMo/examples/asr/conf/conformer/conformer_transducer_bpe.yaml", "NeMo/nemo/collections/asr/modules/rnnt.py"},
	},
	{
		ID: "nemo/transcribe", Kinds: refused, Said: []string{"in transcribe", "transcribe_speech.py", "_transcribe_forward"},
		If: ownCard, Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of graphics memory while transcribing",
		Means: "Transcribing attends over a whole recording: twice the length is four times the memory. Recordings of ten minutes and more may not fit on a 12 GB card even at batch 1.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Use local attention", Kind: "python", Text: "model.change_attention_model(\"rel_pos_local_attn\", [128, 128])\nmodel.change_subsampling_conv_chunking_factor(1)", Cost: "Little quality; Conformer and FastConformer models only."},
			{Fix: "lower_batch_size", Title: "Transcribe in chunks", Kind: "text", Text: "Use the scripts of examples/asr/asr_chunked_inference, or cut the file at pauses into pieces of some minutes. With several files pass `batch_size=1` first.", Cost: "Words at the cuts may suffer."},
		},
		Sources: []string{"NeMo/examples/asr/asr_chunked_inference", "NeMo/docs/source/asr/results.rst"},
	},
	stepCard("nemo/step", []string{"nemo/collections/"},
		"The samples of a batch are padded to the longest one, so a single long sample decides, and it can come at any step.",
		"num_workers: workers use system memory (RAM).", "NeMo/examples/asr/conf/conformer/conformer_transducer_bpe.yaml",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_context"}, cause.Cure{Fix: "mixed_precision"}),
}

var espnetCards = []cause.Card{
	stepCard("espnet/step", []string{"espnet2/train/trainer.py", "espnet/asr/pytorch_backend", "espnet2/tasks/"},
		"`batch_bins` caps the elements of a batch, but a single utterance that is longer still goes in alone, and attention grows with its length squared.",
		"`batch_size`, where batch_type is numel or length: `batch_bins` decides there.", "https://github.com/espnet/espnet/issues/2798",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_context"}, cause.Cure{Fix: "mixed_precision"}),
}

var fairseqCards = []cause.Card{
	{
		ID: "fairseq/skipped", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"Skipping batch", "skipping batch"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "{skipped}", Figures: skipped,
		Means: "{then}[[ It asked for {asked} beside {mine} of {total}.]] A few in an epoch do little harm. Many do: it is usually the batches with the longest samples that are lost. `--max-tokens` is the batch of one card, padding included (audio: samples or feature frames).",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Kind: "text", Text: "Lower `--max-tokens` by a quarter, then by half (text: 4096 to 2048; wav2vec: 1500000 to 750000), and raise `--update-freq`.", Cost: "Slower; the same result."},
			{Fix: "mixed_precision"},
			{Fix: "lower_context", Title: "Skip or cut the longest samples"},
		},
		Sources: []string{"fairseq/fairseq/trainer.py", "https://github.com/facebookresearch/fairseq/issues/1191"},
	},
	{
		ID: "fairseq/oom-report", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchSummary}, Said: []string{"Ran out of memory with exception", "ran out of memory with exception", "attempting to recover from OOM", "ran out of memory in validation step"},
		If: ownCard, Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out on a batch of --max-tokens",
		Means:   "A batch did not fit. fairseq prints a table for every card, then tries to skip the batch and continue. \"CUDA OOMs\" in the table counts how often this has happened: a few are harmless, many lose the longest samples of every epoch. `--max-tokens` is the batch of one card, padding included (audio: samples or feature frames).",
		Cures:   []cause.Cure{{Fix: "lower_batch_size"}, {Fix: "mixed_precision"}, {Fix: "lower_context"}},
		Sources: []string{"fairseq/fairseq/trainer.py", "https://github.com/facebookresearch/fairseq/issues/1191"},
	},
	stepCard("fairseq/step", []string{"fairseq/trainer.py", "fairseq/tasks/", "fairseq_cli/train.py"},
		"`--max-tokens` is the batch of one card, padding included; a large dictionary makes the output layer large as well.",
		"More cards: each gets `--max-tokens` of its own.", "https://github.com/facebookresearch/fairseq/issues/1191",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "mixed_precision"}, cause.Cure{Fix: "gradient_checkpointing"}),
}

// skipped says whether the run went on: a traceback behind the message says not.
func skipped(c *ledger.Case) map[string]string {
	if n := len(c.Facts.Code); n > 0 && c.Facts.Code[n-1].Line > c.Failure.EndLine {
		return map[string]string{"skipped": "left out a batch that did not fit the card, and ended", "then": "fairseq left that batch out, but did not go on: a traceback follows. With several cards the others wait for the gradients of the one that left its batch out."}
	}
	return map[string]string{"skipped": "skipped a batch that did not fit the card, and continued", "then": "This is a warning: fairseq left that batch out and continues."}
}
