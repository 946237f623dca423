package tuning

import (
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// evaluationFigures are how many tokens the piece is as 32-bit logits, and a
// length to try.
func evaluationFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"tokens152": "", "shorter": "2048"}
	if n := ledger.IntSetting(c, "max_length"); n >= 512 {
		out["shorter"] = strconv.Itoa(n / 2)
	}
	if n := ledger.Requested(c); n >= units.GiB/2 {
		out["tokens152"] = ledger.Thousands(n / 151936 / 4 / 100 * 100)
	}
	return out
}

// slackCovers: what the allocator holds unused is more than was asked for.
func slackCovers(c *ledger.Case) bool { return c.Asked.Has() && c.Slack.Bytes >= c.Asked.Bytes }

// SwiftEvaluation is about the validation set of ms-swift.
var SwiftEvaluation = cause.Card{
	ID: "ms-swift/evaluation", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"in evaluation_loop", "in prediction_step", "in evaluate"},
	If:    func(c *ledger.Case) bool { return ledger.OnCard(c) && !ledger.Crowded(c) && !ledger.Roomy(c) },
	Among: []string{cause.Fragmentation, cause.BatchTooLarge, cause.RetainedMemory, cause.OversizedAllocation, cause.ContextTooLong}, Headline: "ran out of memory in the evaluation during training",
	Means: "The evaluation needs the logits of whole samples (tokens x vocabulary), while weights and optimizer state stay on the GPU.[[ With Qwen's vocabulary, {asked} is {tokens152} tokens in 32 bit.]] Samples can be as long as the model allows unless `--max_length` is set.",
	Not:   "A smaller `--per_device_train_batch_size`: the evaluation has its own batch size.",
	Cures: []cause.Cure{
		{Fix: "expandable_segments", If: slackCovers, Title: "Let PyTorch reuse the {slack} that training left unused", Cost: "free", Told: "Run `export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` before the command (PyTorch 2.1 and later)."},
		{Fix: "lower_context", Title: "Limit the length of samples (--max_length)", Told: "Longer samples are dropped by default (`--truncation_strategy delete`), also from the validation set.", Kind: "config", Text: "--max_length {shorter} --per_device_eval_batch_size 1", Cost: "longer samples are not learned"},
		{Fix: "restart_session", Title: "Or train without the evaluation", Told: "Evaluate the checkpoint afterwards with `swift infer`.", Kind: "config", Text: "--eval_strategy no   # or --split_dataset_ratio 0", Cost: "no evaluation loss"},
	},
	Figures: evaluationFigures,
	Sources: []string{"ms-swift/docs/source_en/Instruction/Command-line-parameters.md", "ms-swift/swift/trainers/arguments.py", "https://github.com/modelscope/ms-swift/issues/3399"},
}
