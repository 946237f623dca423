package calls

import (
	"strings"

	"github.com/oomdoc/oomdoc/fit"
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

// wholeCard: more than the 95 % of what is free that TensorFlow takes by itself.
func wholeCard(c *ledger.Case) bool {
	whole, asked := c.Total.Bytes, ledger.Requested(c)
	if x, ok := c.Fact("tf_card"); ok && whole == 0 {
		if card, known := fit.Card(x.Text); known {
			whole = card.TotalBytes
		}
	}
	return whole > 0 && asked*100 >= whole*97 && asked*100 <= whole*102 // cards of one name differ by a hundredth
}

// oneInRAM: a layer's result for one picture, on the CPU.
func oneInRAM(c *ledger.Case) bool {
	s := Sides(c)
	return c.Backend == "cpu" && len(s) == 4 && s[0] == 1 && s[1] >= 16 && min(s[2], s[3]) >= 16
}

// onTegra: TensorFlow started on a board whose GPU shares the RAM, with next to
// nothing of it.
func onTegra(c *ledger.Case) bool {
	x, ok := c.Fact("tf_share")
	board := strings.ToLower(x.Text)
	return ok && x.Size != nil && x.Size.Bytes < units.GiB && (strings.Contains(board, "tegra") || strings.Contains(board, "xavier") || strings.Contains(board, "orin"))
}

func tegraFigures(c *ledger.Case) map[string]string {
	x, _ := c.Fact("tf_share")
	if x.Size == nil {
		return map[string]string{"share": "", "board": ""}
	}
	return map[string]string{"share": units.Amount(x.Size.Bytes), "board": x.Text}
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
		ID: "tensorflow/whole-card", Kinds: []fact.Kind{fact.TFStart}, If: wholeCard,
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "asked for the whole card at its start: {asked} in one piece",
		Means: "Left alone, TensorFlow asks for 95 % of what is free. So a share near 1 is set in the code: `per_process_gpu_memory_fraction`, which many scripts offer as an option like `--gpu_memory_fraction`. It is of the card's total, of which the driver, the desktop and other programs have a part. After the refusal TensorFlow tries a tenth less each time, so it may have continued.",
		Not:   "A smaller batch or model: it does not change this request.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Lower the share to 0.8, or let it grow", Told: "The script's option, or where it makes its session (with `tf.compat.v1.` for `tf.` in TensorFlow 2):", Kind: "python", Text: "options = tf.GPUOptions(allow_growth=True)   # or per_process_gpu_memory_fraction=0.8\nsess = tf.Session(config=tf.ConfigProto(gpu_options=options))", Cost: "a little fragmentation"},
			{Fix: "close_other_apps", Title: "See what else is on the card", Told: "Desktop and browser count too; end an earlier run of yours.", Kind: "shell", Text: "nvidia-smi", Cost: "a look is free"},
		},
		Sources: []string{"tensorflow/core/common_runtime/gpu/gpu_device.cc", "tensorflow/core/protobuf/config.proto"},
	},
	{
		ID: "tensorflow/cpu-sample", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{"by allocator cpu", "by allocator mklcpu"}, If: oneInRAM,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was refused {asked} of RAM for a layer of one picture",
		Means: "The allocator in the message is the CPU's. The first number of the shape, usually the batch, is 1 already, so one picture needs {asked} in this layer alone, and in training every layer keeps its result until the backward pass.",
		Not:   "A smaller batch: it is 1. GPU settings such as memory growth: this tensor is in RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use smaller pictures, or crops of them", Told: "Half the width and height is a quarter of every layer. Use the program's own option for the size or the crop.", Cost: "detail"},
			{Fix: "close_other_apps", Title: "Free RAM", Told: "Close what you do not need; end an earlier run of yours.", Cost: "free"},
			{Fix: "add_swap", Title: "Let the system put RAM on disk", Ways: []cause.Way{{For: "Windows", Text: "Advanced system settings, Performance, Advanced, Virtual memory: automatically manage; restart."}, {For: "Linux", Text: "`sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile`"}}, Cost: "slow while it is used"},
		},
		Sources: []string{"tensorflow/core/framework/cpu_allocator_impl.cc"},
	},
	{
		ID: "tensorflow/tegra", Kinds: []fact.Kind{fact.TFAlloc}, If: onTegra, Figures: tegraFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "got only {share} at its start: the board's RAM was nearly full",
		Means: "On this board ({board}) the GPU and the system have one memory. At its start TensorFlow takes what is free there and keeps to it: {share}. Desktop, other programs and the file cache had the rest.",
		Not:   "A smaller batch: too little was there before the model came. Another GPU: the board has one.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Free RAM, then start it at once", Told: "The desktop takes about 1 GB: `sudo systemctl isolate multi-user.target` does without it until the next start. `sync; echo 3 | sudo tee /proc/sys/vm/drop_caches` empties the file cache, `free -h` shows what is used.", Cost: "what you end stops"},
			{Fix: "add_swap", Title: "Add swap for everything else", Told: "The GPU cannot use it, but other programs' memory goes there.", Kind: "shell", Text: "sudo fallocate -l 4G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "disk space"},
			{Fix: "use_smaller_model", Title: "Or a smaller model", Told: "A MobileNet instead of a ResNet, or the same model in TensorFlow Lite.", Cost: "accuracy"},
		},
		Sources: []string{"tensorflow/core/common_runtime/gpu/gpu_device.cc", "https://docs.nvidia.com/cuda/cuda-for-tegra-appnote/index.html"},
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
