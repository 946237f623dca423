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

// WholeFile is a DeepSpeed file for the Trainer, which fills in "auto".
const WholeFile = `{
  "zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": true},
  "bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"},
  "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"
}`

// OffloadWeights is what is left at stage 3.
var OffloadWeights = cause.Cure{
	Fix: "cpu_offload", If: Stage3, Title: "Offload the weights too (offload_param)", Cost: "slower steps; 2 bytes of RAM per parameter",
	Told: "You already run stage 3, which supports it:", Kind: "config", Text: `"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}}`,
}

// Gathered is about the weights that stage 3 brings together for the next layers
// (deepspeed/runtime/zero/partition_parameters.py).
var Gathered = cause.Card{
	ID: "deepspeed/gathered", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"in __all_gather_params", "in _all_gather_dtype", "in all_gather_coalesced", "in _allgather_params_coalesced"},
	If:    when.Not(when.Any(ledger.Crowded, ledger.Roomy)),
	Among: []string{cause.Fragmentation, cause.BatchTooLarge, cause.ModelTooLarge, cause.TrainingStateTooLarge, cause.OversizedAllocation, cause.ContextTooLong}, Headline: "ran out of memory while ZeRO-3 gathered the weights of the next layers",
	Means: "Stage 3 keeps a share of the weights on each GPU and gathers the next layers just before use, here {asked}. Up to `stage3_max_live_parameters` (default 1e9, 2 GB in 16 bit) stay gathered at once. Activations, gradients and this GPU's shares take the rest.[[ {unused}]]",
	Not:   "More GPUs alone: the gathered layers stay as large.",
	Cures: []cause.Cure{
		{Fix: "expandable_segments", If: slackEnough, Title: "Try expandable_segments first", Cost: "free", Told: "`export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` (PyTorch 2.1 and later) lets PyTorch use its {slack}."},
		{Fix: "limit_framework_preallocation", Title: "Gather less at once", Told: "In `zero_optimization` of your DeepSpeed config (defaults 1e9, 1e9, 5e7):", Kind: "config", Text: "\"stage3_max_live_parameters\": 1e8,\n\"stage3_max_reuse_distance\": 1e8,\n\"stage3_prefetch_bucket_size\": 1e7", Cost: "somewhat slower steps"},
		{Fix: "lower_batch_size", Title: "Lower the micro-batch size, or shorten the samples", Cost: "slower", Told: "Lower `train_micro_batch_size_per_gpu`, not `train_batch_size`. If it is 1, cut the longest samples (images and video are tokens too) and turn on gradient checkpointing."},
		{Fix: "offload_optimizer", Title: "Offload the optimizer to system memory (RAM)", Steps: OffloadSteps, Cost: "slower steps; 12 bytes of RAM per parameter"},
	},
	Figures: func(c *ledger.Case) map[string]string {
		if !slackEnough(c) {
			return map[string]string{"unused": ""}
		}
		return map[string]string{"unused": units.Amount(c.Slack.Bytes) + " of PyTorch's reserved memory is unused, but split into blocks that are too small."}
	},
	Sources: []string{"DeepSpeed/deepspeed/runtime/zero/partition_parameters.py", "DeepSpeed/deepspeed/runtime/zero/config.py", "DeepSpeed/docs/_pages/config-json.md"},
}

// Engine: DeepSpeed runs the steps of a training, and its file says in what they
// are computed.
func Engine(c *ledger.Case) bool { return c.In("deepspeed") && c.Training() }

// OffloadOptimizer is what makes room beside ZeRO without another batch.
var OffloadOptimizer = cause.Cure{Fix: "offload_optimizer", If: Engine, Title: "Offload the optimizer to system memory (RAM)", Steps: OffloadSteps, Cost: "slower steps; 12 bytes of RAM per parameter"}

// NoZeRO is about DeepSpeed's optimizer of stage 0.
var NoZeRO = cause.Card{
	ID: "deepspeed/no-zero", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"deepspeed/runtime/fp16/fused_optimizer.py", "deepspeed/runtime/fp16/unfused_optimizer.py"}, If: when.Not(ledger.Crowded),
	Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of memory in the optimizer: every GPU holds all of its state",
	Means: "The traceback shows DeepSpeed's optimizer for ZeRO stage 0, which shards nothing. With Adam, each GPU holds 12 bytes of optimizer state per parameter, plus 16-bit weights and gradients.",
	Not:   "A smaller batch: the optimizer state stays as large.",
	Cures: []cause.Cure{
		{Fix: "shard_training", Title: "Turn on ZeRO stage 2", Cost: "hardly slower", Told: "It splits optimizer state and gradients over the GPUs; with pipeline parallelism use stage 1 (optimizer state only). In the DeepSpeed config:", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 2}"},
		{Fix: "offload_optimizer", Title: "Offload the optimizer to system memory (RAM)", Cost: "slower steps", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}}"},
		{Fix: "use_smaller_model", Title: "Split the model over more GPUs", Cost: "more GPUs", Told: "Megatron: a larger tensor or pipeline parallel size; with experts, a larger expert parallel size."},
	},
	Sources: []string{"DeepSpeed/deepspeed/runtime/fp16/fused_optimizer.py", "DeepSpeed/docs/_pages/config-json.md"},
}

// FirstBucket is about the buffer that stages 1 and 2 make as a backward pass
// starts (deepspeed/runtime/zero/stage_1_and_2.py, backward).
var FirstBucket = cause.Card{
	ID: "deepspeed/first-bucket", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"torch.empty(int(self.reduce_bucket_size)", "buf_0 = torch.empty(", "buf_1 = torch.empty("},
	If: when.Not(when.Any(ledger.Crowded, Stage3)), Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of memory as the backward pass began: no room for ZeRO's gradient bucket of {asked}",
	Means: "The failing line makes the buffer for gradients (`reduce_bucket_size`; twice with `overlap_comm`). This is ZeRO stage 1 or 2: every GPU holds all of the weights, beside its share of the optimizer and the activations. So {mine} was in use before the first gradient.",
	Not:   "`train_batch_size`: only `train_micro_batch_size_per_gpu` is on a card.",
	Cures: []cause.Cure{
		{Fix: "offload_optimizer", Title: "Use ZeRO stage 3, with the optimizer in system memory", Told: "Stage 3 also divides the weights. On a single GPU only the offload helps. In the DeepSpeed file:", Kind: "config", Text: `"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "pin_memory": true}}`, Cost: "slower steps; 12 bytes of RAM per parameter"},
		{Fix: "limit_framework_preallocation", Title: "Make the bucket smaller", Told: "At 5e7 it takes 0.1 GB in 16 bit. That makes room for the bucket only; keep your own stage.", Steps: BucketSteps, Cost: "somewhat slower exchange"},
		{Fix: "gradient_checkpointing", If: when.Not(checkpoints), Title: "Turn on gradient checkpointing, lower the micro-batch", Cost: "slower", Told: "`model.gradient_checkpointing_enable()` (Trainer: `gradient_checkpointing=True`), and 1 sample per GPU: the activations take the rest."},
		{Fix: "use_lora"},
	},
	Sources: []string{"DeepSpeed/deepspeed/runtime/zero/stage_1_and_2.py", "DeepSpeed/docs/_pages/config-json.md"},
}

// checkpoints: the log shows that activations are computed twice already.
func checkpoints(c *ledger.Case) bool { return ledger.Has(c, fact.Checkpoints) }

// Buckets is about the exchange of gradients.
var Buckets = cause.Card{
	ID: "deepspeed/buckets", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"reduce_ipg_grads", "reduce_independent_p_g_buckets", "all_gather_dp_groups", "average_tensor", "allreduce_bucket", "__avg_scatter_grads"},
	If: when.Not(ledger.Crowded), Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of memory while exchanging gradients",
	Means: "DeepSpeed exchanges gradients in buckets of 5e8 elements by default, 1 GB each in 16 bit. With `overlap_comm` several exist at once.",
	Cures: []cause.Cure{
		{Fix: "limit_framework_preallocation", Title: "Lower reduce_bucket_size and allgather_bucket_size", Told: "In the DeepSpeed config, a tenth of the default (0.1 GB each). Keep your own stage and other settings.", Steps: BucketSteps, Cost: "Somewhat slower exchange."},
		{Fix: "lower_batch_size", If: func(c *ledger.Case) bool { return ledger.IntSetting(c, step.BatchSettings...) != 1 }, Title: "Lower the batch size per GPU", Kind: "config", Text: "\"train_micro_batch_size_per_gpu\": 1,\n\"gradient_accumulation_steps\": 16", Cost: "Slower; the same result."},
		{Fix: "offload_optimizer", Title: "Offload the optimizer to system memory (RAM)", Steps: OffloadSteps, Cost: "Slower steps; 12 bytes of RAM per parameter."},
	},
	Sources: []string{"DeepSpeed/docs/_pages/config-json.md", "DeepSpeed/deepspeed/runtime/zero/stage_1_and_2.py"},
}
