package ranks

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Stage3: the log shows that the weights are shared out already, by the file of
// the traceback (deepspeed/runtime/zero/stage3.py) or the name of the
// configuration.
func Stage3(c *ledger.Case) bool { return ledger.Has(c, fact.Sharded) }

// stage is the one to write into a DeepSpeed file: a run at 3 stays there.
func stage(c *ledger.Case) int {
	if Stage3(c) {
		return 3
	}
	return 2
}

// OffloadSteps moves the optimizer to RAM, at the stage of the run.
func OffloadSteps(c *ledger.Case) []step.Step {
	return []step.Step{{Kind: "config", Text: fmt.Sprintf(`"zero_optimization": {"stage": %d, "offload_optimizer": {"device": "cpu", "pin_memory": true}}`, stage(c))}}
}

// BucketSteps makes the buckets a tenth, by the names that the stage reads.
func BucketSteps(c *ledger.Case) []step.Step {
	text := `"zero_optimization": {"stage": 2, "reduce_bucket_size": 5e7, "allgather_bucket_size": 5e7, "overlap_comm": false}`
	if Stage3(c) {
		text = `"zero_optimization": {"stage": 3, "reduce_bucket_size": 5e7, "overlap_comm": false}`
	}
	return []step.Step{{Kind: "config", Text: text}}
}

// OffloadWeights is what is left at stage 3.
var OffloadWeights = cause.Cure{
	Fix: "cpu_offload", If: Stage3, Title: "Offload the weights too (offload_param)", Cost: "slower steps; 2 bytes of RAM a parameter",
	Told: "Stage 3 is on already; only it can do this.", Kind: "config", Text: `"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}}`,
}

// Gathered is about the weights that stage 3 brings together for the next layers
// (deepspeed/runtime/zero/partition_parameters.py).
var Gathered = cause.Card{
	ID: "deepspeed/gathered", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"in __all_gather_params", "in _all_gather_dtype", "in all_gather_coalesced", "in _allgather_params_coalesced"},
	If:    when.Not(when.Any(ledger.Crowded, ledger.Roomy)),
	Among: []string{cause.Fragmentation, cause.BatchTooLarge, cause.ModelTooLarge, cause.TrainingStateTooLarge, cause.OversizedAllocation, cause.ContextTooLong}, Headline: "ran out of memory where ZeRO-3 gathers the weights of the next layers",
	Means: "Stage 3 keeps a part of the weights on each card and gathers those of the next layers just before they are used: here {asked}. Up to `stage3_max_live_parameters` (1e9: 2 GB at 16 bit) stay gathered at once; activations, gradients and this card's shares fill the rest.[[ {unused}]]",
	Not:   "More sharding: stage 3 is the last. What is gathered stays as large with more cards.",
	Cures: []cause.Cure{
		{Fix: "expandable_segments", If: slackEnough, Title: "Free to try: let the allocator join its {slack}", Told: "`export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` (PyTorch 2.1 and later)."},
		{Fix: "limit_framework_preallocation", Title: "Gather less at once", Told: "In the DeepSpeed file (defaults 1e9, 1e9, 5e7; its documentation's example has 5e8 for the last, 1 GB at 16 bit):", Kind: "config", Text: "\"stage3_max_live_parameters\": 1e8,\n\"stage3_max_reuse_distance\": 1e8,\n\"stage3_prefetch_bucket_size\": 1e7", Cost: "somewhat slower steps"},
		{Fix: "lower_batch_size", Title: "Shrink the step: smaller micro-batch, shorter samples", Told: "`train_micro_batch_size_per_gpu` counts, not `train_batch_size`; at 1 cut the longest samples (images and video are tokens too), and turn on gradient checkpointing."},
		{Fix: "offload_optimizer", Title: "Offload the optimizer to system memory (RAM)", Steps: OffloadSteps, Cost: "slower steps; 12 bytes of RAM a parameter"},
	},
	Figures: func(c *ledger.Case) map[string]string {
		if !slackEnough(c) {
			return map[string]string{"unused": ""}
		}
		return map[string]string{"unused": units.Amount(c.Slack.Bytes) + " of the allocator's reserve is unused, in pieces that are too small."}
	},
	Sources: []string{"DeepSpeed/deepspeed/runtime/zero/partition_parameters.py", "DeepSpeed/deepspeed/runtime/zero/config.py", "DeepSpeed/docs/_pages/config-json.md"},
}

// Engine: DeepSpeed runs the steps of a training, and its file says in what they
// are computed.
func Engine(c *ledger.Case) bool { return c.In("deepspeed") && c.Training() }

// OffloadOptimizer is what makes room beside ZeRO without another batch.
var OffloadOptimizer = cause.Cure{Fix: "offload_optimizer", If: Engine, Title: "Offload the optimizer to system memory (RAM)", Steps: OffloadSteps, Cost: "slower steps; 12 bytes of RAM a parameter"}

// NoZeRO is about DeepSpeed's optimizer of stage 0.
var NoZeRO = cause.Card{
	ID: "deepspeed/no-zero", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"deepspeed/runtime/fp16/fused_optimizer.py", "deepspeed/runtime/fp16/unfused_optimizer.py"}, If: when.Not(ledger.Crowded),
	Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of memory in the optimizer: every card holds all of its state",
	Means: "The optimizer in the traceback is DeepSpeed's for ZeRO stage 0, which shards nothing. Each card holds 32-bit weights and Adam's two values, 12 bytes per parameter, beside 16-bit weights and gradients, and a copy of the gradients during the step.[[ {asked} was asked for, beside {mine}.]]",
	Not:   "A smaller batch: the optimizer state stays as large.",
	Cures: []cause.Cure{
		{Fix: "shard_training", Title: "Turn on ZeRO (stage 1 or 2)", Cost: "hardly slower", Told: "Stage 1 divides the optimizer state by the number of data-parallel cards, stage 2 the gradients too. In the DeepSpeed file:", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 1}"},
		{Fix: "offload_optimizer", Title: "Offload the optimizer to system memory (RAM)", Cost: "slower steps", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}}"},
		{Fix: "use_smaller_model", Title: "Spread the model over more cards", Cost: "more cards, or a smaller model", Told: "Megatron: a larger tensor or pipeline parallel size; experts: a larger expert parallel size; fewer layers."},
	},
	Sources: []string{"DeepSpeed/deepspeed/runtime/fp16/fused_optimizer.py", "DeepSpeed/docs/_pages/config-json.md"},
}

// Buckets is about the exchange of gradients.
var Buckets = cause.Card{
	ID: "deepspeed/buckets", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"reduce_ipg_grads", "reduce_independent_p_g_buckets", "all_gather_dp_groups", "average_tensor", "allreduce_bucket", "__avg_scatter_grads"},
	If: when.Not(ledger.Crowded), Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of memory while exchanging gradients",
	Means: "The exchange of gradients needs buckets: 5e8 elements by default, 1 GB each in 16 bit, and several exist at once with `overlap_comm`.[[ {asked} was asked for with {free} free.]]",
	Cures: []cause.Cure{
		{Fix: "limit_framework_preallocation", Title: "Lower reduce_bucket_size and allgather_bucket_size", Told: "In the DeepSpeed file: a tenth of the default, 0.1 GB each, and one at a time. Keep your stage.", Steps: BucketSteps, Cost: "Somewhat slower exchange."},
		{Fix: "lower_batch_size", If: func(c *ledger.Case) bool { return ledger.IntSetting(c, step.BatchSettings...) != 1 }, Title: "Lower the batch size of each card", Kind: "config", Text: "\"train_micro_batch_size_per_gpu\": 1,\n\"gradient_accumulation_steps\": 16", Cost: "Slower; the same result."},
		{Fix: "offload_optimizer", Title: "Offload the optimizer to system memory (RAM)", Steps: OffloadSteps, Cost: "Slower steps; 12 bytes of RAM a parameter."},
	},
	Sources: []string{"DeepSpeed/docs/_pages/config-json.md", "DeepSpeed/deepspeed/runtime/zero/stage_1_and_2.py"},
}
