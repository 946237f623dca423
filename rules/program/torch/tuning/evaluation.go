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
	Among: []string{cause.Fragmentation, cause.BatchTooLarge, cause.RetainedMemory, cause.OversizedAllocation, cause.ContextTooLong}, Headline: "ran out of memory in the evaluation between training steps",
	Means: "The evaluation has a batch of its own, 1 by default (`per_device_eval_batch_size`), and needs the logits of whole samples: tokens x vocabulary. Weights, optimizer state and what the allocator keeps of the last step stay beside it.[[ {asked} would be {tokens152} tokens in 32 bit with the vocabulary of Qwen.]] Samples are as long as the model allows unless `--max_length` is set.",
	Not:   "A smaller `--per_device_train_batch_size`: it is the evaluation that fails.",
	Cures: []cause.Cure{
		{Fix: "expandable_segments", If: slackCovers, Title: "Let the allocator join the {slack} that training left unused", Told: "`export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` before the command (PyTorch 2.1 and later)."},
		{Fix: "lower_context", Title: "Limit the length of samples (--max_length)", Told: "Longer ones are left out by default (`--truncation_strategy delete`), of the validation set too.", Kind: "config", Text: "--max_length {shorter} --per_device_eval_batch_size 1", Cost: "what is longer is not learned"},
		{Fix: "restart_session", Title: "Or train without the evaluation", Told: "Then evaluate the checkpoint with `swift infer`. From ms-swift 3 on no samples are set apart unless you name a validation set or a ratio.", Kind: "config", Text: "--eval_strategy no   # or --split_dataset_ratio 0", Cost: "no evaluation loss"},
	},
	Figures: evaluationFigures,
	Sources: []string{"ms-swift/docs/source_en/Instruction/Command-line-parameters.md", "ms-swift/swift/trainers/arguments.py", "https://github.com/modelscope/ms-swift/issues/3399"},
}
