package calls

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// noCard is more than any card has: what a driver reported was read wrong.
const noCard = 4096 * units.GiB

// poolFull: the process's own pool has hardly anything left, by its own count.
func poolFull(c *ledger.Case) bool {
	f := c.F()
	return f.Limit != nil && f.Allocated != nil && f.Limit.Bytes > 0 && f.Allocated.Bytes*20 >= f.Limit.Bytes*19
}

func poolFigures(c *ledger.Case) map[string]string {
	if !poolFull(c) {
		return map[string]string{"used": "", "limit": ""}
	}
	return map[string]string{"used": c.F().Allocated.String(), "limit": units.Amount(c.F().Limit.Bytes)}
}

// TensorFlowFirst are TensorFlow's cards that stand before the others.
var TensorFlowFirst = []cause.Card{
	{
		ID: "tensorflow/absurd-pool", Kinds: []fact.Kind{fact.TFStart}, If: func(c *ledger.Case) bool { return ledger.Requested(c) >= noCard },
		Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "asked for a pool of {asked} at its start: more than any card has",
		Means: "At its start TensorFlow asks for nearly all that the driver reports as free, then for a tenth less each time. Here that number is garbage: the driver or its runtime does not fit this build of TensorFlow, or its answer was an error that nobody looked at. Memory is not short.",
		Not:   "A smaller batch or model, ending other programs: the number has nothing to do with them.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Turn on memory growth", Told: "TensorFlow then takes memory as it needs it, and does not ask for all at once. Before the start:", Kind: "shell", Text: "export TF_FORCE_GPU_ALLOW_GROWTH=true   # Windows: set TF_FORCE_GPU_ALLOW_GROWTH=true", Cost: "a little fragmentation"},
			{Fix: "upgrade_version", Title: "Match TensorFlow, runtime and driver", Told: "ROCm: the release that the `tensorflow-rocm` wheel was built for, in the container as on the node; CUDA: the versions on tensorflow.org/install/source#gpu.", Cost: "half an hour"},
			{Fix: "limit_framework_preallocation", Title: "Or set the pool's size yourself", Told: "In MB, before anything uses the card:", Kind: "python", Text: "gpu = tf.config.list_physical_devices(\"GPU\")[0]\ntf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=8192)])", Cost: "none"},
		},
		Sources: []string{"xla/stream_executor/rocm/rocm_driver.cc", "tensorflow/core/common_runtime/gpu/gpu_device.cc", "https://www.tensorflow.org/guide/gpu"},
	},
	{
		ID: "tensorflow/restored", Kinds: []fact.Kind{fact.TFCopy}, Said: []string{"save/RestoreV2"}, If: when.All(func(c *ledger.Case) bool { return c.Backend != "cpu" }, poolFull), Figures: poolFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "filled its share of the card while it restored a checkpoint",
		Means: "`save/RestoreV2` reads the variables back: weights and, in training, the optimizer's slots. [[{used} of the {limit} that this process may have was in use: ]]they do not fit, and no batch was there yet.",
		Not:   "A smaller batch, ending other programs: this process's own variables fill its share.",
		Cures: []cause.Cure{
			{Fix: "optimizer_8bit", Title: "In training: an optimizer with less state", Told: "In 32 bit weights and gradients take 8 bytes a parameter, Adam's moments 8 more, Adagrad's or momentum's 4. Adafactor and plain SGD keep hardly any.", Cost: "another learning rate"},
			{Fix: "use_smaller_model", Title: "A smaller model, or fewer trained layers", Told: "Only variables in `var_list=` of `minimize` have gradients and slots.", Cost: "quality"},
			{Fix: "bigger_gpu", Title: "Or a card with more memory", Told: "Its README often says which one the authors used.", Cost: "money"},
			{Fix: "cpu_offload", Title: "To use it only: on the CPU", Told: "RAM is usually larger than the card. Before the start:", Kind: "shell", Text: "export CUDA_VISIBLE_DEVICES=-1   # Windows: set CUDA_VISIBLE_DEVICES=-1", Cost: "much slower"},
		},
		Sources: []string{"tensorflow/python/training/saver.py", "tensorflow/core/common_runtime/bfc_allocator.cc"},
	},
}
