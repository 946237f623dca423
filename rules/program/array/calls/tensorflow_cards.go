package calls

import (
	"regexp"
	"strconv"
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

// ownShare is what the reader's own lines allow TensorFlow of the card, as they are
// written: a share of it, or MB.
var ownShare = regexp.MustCompile(`(?:per_process_)?gpu_memory_fraction\s*[=:]\s*(0?\.\d{1,3})|\bmemory_limit\s*=\s*(\d{2,6})\b`)

// shareFigures say it; a share of 0.8 or more leaves little to gain.
func shareFigures(c *ledger.Case) map[string]string {
	lines := make([]string, 0, len(c.Facts.Talk)+len(c.Facts.Code))
	for _, word := range c.Facts.Talk {
		lines = append(lines, word.Text)
	}
	for _, frame := range c.Facts.Code {
		lines = append(lines, frame.Source)
	}
	for _, line := range lines {
		m := ownShare.FindStringSubmatch(line)
		if m == nil || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		if n, err := strconv.ParseFloat(m[1], 64); err == nil && n < 0.8 {
			return map[string]string{"share": strconv.Itoa(int(n*100+0.5)) + " % of the card", "setting": strings.TrimSpace(m[0])}
		}
		if m[2] != "" {
			return map[string]string{"share": m[2] + " MB", "setting": strings.TrimSpace(m[0])}
		}
	}
	return map[string]string{"share": "", "setting": ""}
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
	everyPair,
	{
		ID: "tensorflow/absurd-pool", Kinds: []fact.Kind{fact.TFStart}, If: func(c *ledger.Case) bool { return ledger.Requested(c) >= noCard },
		Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "asked for {asked} of GPU memory at its start: more than any card has",
		Means: "TensorFlow asks for nearly all memory that the driver reports as free. Here that number is garbage. The driver or its runtime does not match this TensorFlow build, or its answer was an error. Your memory is not too small.",
		Not:   "A smaller batch or model, ending other programs: the number has nothing to do with them.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Turn on memory growth", Told: "TensorFlow then takes memory as it needs it. Before the start:", Kind: "shell", Text: "export TF_FORCE_GPU_ALLOW_GROWTH=true   # Windows: set TF_FORCE_GPU_ALLOW_GROWTH=true", Cost: "a little fragmentation"},
			{Fix: "upgrade_version", Title: "Match TensorFlow, runtime and driver", Told: "ROCm: install the release that your `tensorflow-rocm` wheel was built for, in the container and on the host. CUDA: use the versions listed on tensorflow.org/install/source#gpu.", Cost: "half an hour"},
			{Fix: "limit_framework_preallocation", Title: "Or set a fixed size yourself", Told: "In MB, before anything uses the card:", Kind: "python", Text: "gpu = tf.config.list_physical_devices(\"GPU\")[0]\ntf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=8192)])", Cost: "none"},
		},
		Sources: []string{"xla/stream_executor/rocm/rocm_driver.cc", "tensorflow/core/common_runtime/gpu/gpu_device.cc", "https://www.tensorflow.org/guide/gpu"},
	},
	{
		ID: "tensorflow/own-share", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{"gpu_memory_fraction", "memory_limit="}, If: func(c *ledger.Case) bool { return c.Backend != "cpu" && shareFigures(c)["share"] != "" }, Figures: shareFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "ran out of the {share} that the code allows it",
		Means: "`{setting}` in your code caps what TensorFlow takes, however much of the card is free. {asked} more did not fit under that.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise or remove that limit", Told: "A share of 0.9 leaves room for driver and desktop. Or let it grow: `gpu_options.allow_growth = True`, in TensorFlow 2 `tf.config.experimental.set_memory_growth(gpu, True)`.", Cost: "less for other programs on the card"},
			{Fix: "lower_batch_size", Title: "If others need the rest: halve the batch size", Told: "Use the script's own option, `batch_size=` in `fit`, or `.batch(...)`.", Cost: "slower"},
			{Fix: "lower_resolution", Title: "Or use smaller images or shorter sequences", Told: "Half the width and height is a quarter of the activations.", Cost: "detail"},
		},
		Sources: []string{"tensorflow/core/protobuf/config.proto", "https://www.tensorflow.org/guide/gpu"},
	},
	{
		ID: "tensorflow/whole-card", Kinds: []fact.Kind{fact.TFStart}, If: wholeCard,
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "asked for the whole card at its start: {asked} in one piece",
		Means: "By default TensorFlow leaves some of the free memory, so the code probably sets a share near 1: `per_process_gpu_memory_fraction`, in many scripts an option like `--gpu_memory_fraction`. The driver, desktop and other programs need a part of the card. After the refusal TensorFlow retries with a tenth less, so it may have continued.",
		Not:   "A smaller batch or model: it does not change this request.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Lower the share to 0.8, or let it grow", Told: "Use the script's option, or change where it makes its session (TensorFlow 2: `tf.compat.v1.` instead of `tf.`):", Kind: "python", Text: "options = tf.GPUOptions(allow_growth=True)   # or per_process_gpu_memory_fraction=0.8\nsess = tf.Session(config=tf.ConfigProto(gpu_options=options))", Cost: "a little fragmentation"},
			{Fix: "close_other_apps", Title: "See what else is on the card", Told: "Desktop and browser count too. End earlier runs of yours.", Kind: "shell", Text: "nvidia-smi", Cost: "a look is free"},
		},
		Sources: []string{"tensorflow/core/common_runtime/gpu/gpu_device.cc", "tensorflow/core/protobuf/config.proto"},
	},
	{
		ID: "tensorflow/cpu-sample", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{"by allocator cpu", "by allocator mklcpu"}, If: oneInRAM,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of RAM for a layer of one picture: {asked} was refused",
		Means: "The allocator in the message is the CPU's, so this is RAM. The first number of the shape, usually the batch size, is already 1. So one picture needs {asked} in this layer alone, and in training every layer keeps its result until the backward pass.",
		Not:   "A smaller batch: it is 1. GPU settings such as memory growth: this tensor is in RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use smaller pictures, or crops of them", Told: "Use the program's own size or crop option. Half the width and height is a quarter of every layer.", Cost: "detail"},
			{Fix: "close_other_apps", Title: "Free RAM", Told: "Close other programs and end earlier runs of yours.", Cost: "free"},
			{Fix: "add_swap", Title: "Enlarge swap or the page file", Ways: []cause.Way{{For: "Windows", Text: "run `sysdm.cpl`: Advanced, Performance Settings, Advanced, Virtual memory: let Windows manage it, and restart."}, {For: "Linux", Text: "`sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile`"}}, Cost: "slow while it is used"},
		},
		Sources: []string{"tensorflow/core/framework/cpu_allocator_impl.cc"},
	},
	{
		ID: "tensorflow/tegra", Kinds: []fact.Kind{fact.TFAlloc}, If: onTegra, Figures: tegraFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "got only {share} at its start: the board's RAM was nearly full",
		Means: "On this board ({board}) the GPU and the system share one memory. At its start TensorFlow took what was free there, {share}, and it gets no more. The desktop, other programs and the file cache had the rest.",
		Not:   "A smaller batch: too little was there before the model came. Another GPU: the board has one.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Free RAM, then start it at once", Told: "`sudo systemctl isolate multi-user.target` stops the desktop (about 1 GB) until the next start. `sync; echo 3 | sudo tee /proc/sys/vm/drop_caches` empties the file cache. `free -h` shows what is used.", Cost: "what you end stops"},
			{Fix: "add_swap", Title: "Add swap for everything else", Told: "The GPU cannot use swap, but other programs' memory can move there.", Kind: "shell", Text: "sudo fallocate -l 4G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "disk space"},
			{Fix: "use_smaller_model", Title: "Or use a smaller model", Told: "A MobileNet instead of a ResNet, or the same model in TensorFlow Lite.", Cost: "accuracy"},
		},
		Sources: []string{"tensorflow/core/common_runtime/gpu/gpu_device.cc", "https://docs.nvidia.com/cuda/cuda-for-tegra-appnote/index.html"},
	},
	{
		ID: "tensorflow/restored", Kinds: []fact.Kind{fact.TFCopy}, Said: []string{"save/RestoreV2"}, If: when.All(func(c *ledger.Case) bool { return c.Backend != "cpu" }, poolFull), Figures: poolFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory while loading a checkpoint",
		Means: "`save/RestoreV2` loads the variables: weights and, in training, the optimizer state. [[{used} of the {limit} that this process may use was taken. ]]They do not fit, and no batch was there yet.",
		Not:   "A smaller batch, ending other programs: this process's own variables fill its share.",
		Cures: []cause.Cure{
			{Fix: "optimizer_8bit", Training: true, Title: "Use an optimizer with less state", Told: "Adafactor and plain SGD keep hardly any. In 32 bit, weights and gradients take 8 bytes per parameter, Adam adds 8, Adagrad or momentum 4.", Cost: "another learning rate"},
			{Fix: "use_smaller_model", Title: "Use a smaller model, or train fewer layers", Told: "Only variables in `var_list=` of `minimize` have gradients and optimizer state.", Cost: "quality"},
			{Fix: "bigger_gpu", Title: "Or use a card with more memory", Told: "The project's README often says which one the authors used.", Cost: "money"},
			{Fix: "cpu_offload", Title: "To use the model only: run it on the CPU", Told: "System RAM is usually larger than GPU memory. Before the start:", Kind: "shell", Text: "export CUDA_VISIBLE_DEVICES=-1   # Windows: set CUDA_VISIBLE_DEVICES=-1", Cost: "much slower"},
		},
		Sources: []string{"tensorflow/python/training/saver.py", "tensorflow/core/common_runtime/bfc_allocator.cc"},
	},
}
