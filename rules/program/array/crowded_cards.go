package array

import (
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/when"
)

// crowdedCards are TensorFlow's where the figures show that others hold the card.
var crowdedCards = []cause.Card{{
	ID: "tensorflow/others", Kinds: []fact.Kind{fact.TFAlloc}, If: heldByOthers, Figures: otherFigures,
	Cause: cause.LeakedProcess, Weight: cause.Decisive, Headline: "could not get {asked}: others hold {theirs} of the card",
	Means: "TensorFlow held {own}. The other {theirs} belong to another process or another library in this one. JAX takes three quarters of the card at its start, PyTorch keeps what it used.[[ Only {limit} was left for TensorFlow at its start, so the card was already full then.]]",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "End what else holds the card", Told: "Look for an earlier run or another notebook's kernel. If the list shows only this process, another library in it holds the memory.", Kind: "shell", Text: "nvidia-smi   # then end it by its PID", Cost: "a look is free"},
		{Fix: "limit_framework_preallocation", Title: "With JAX in the process: turn off preallocation", Told: "Set this before the program starts. The second line is for TensorFlow itself.", Kind: "env", Text: "export XLA_PYTHON_CLIENT_PREALLOCATE=false\nexport TF_FORCE_GPU_ALLOW_GROWTH=true", Cost: "a little fragmentation"},
		{Fix: "select_gpu", Title: "Use another card, or the CPU", Told: "Second card: `CUDA_VISIBLE_DEVICES=1` before the start. For a conversion or export, `CUDA_VISIBLE_DEVICES=-1` runs it on the CPU.", Cost: "slower without a card"},
	},
	Sources: []string{"tensorflow/core/common_runtime/gpu/gpu_cudamallocasync_allocator.cc", "https://docs.jax.dev/en/latest/gpu_memory_allocation.html", tfGuide},
}}

// heldByOthers: a quarter of the card and more is neither free nor TensorFlow's,
// by the driver's count and its own.
func heldByOthers(c *ledger.Case) bool { return 4*theirs(c) > total(c) && total(c) > 0 }

func total(c *ledger.Case) int64 { return bytesOf(c.F().Total) }

func theirs(c *ledger.Case) int64 {
	f := c.F()
	if f.Free == nil || f.Allocated == nil {
		return 0
	}
	return total(c) - f.Free.Bytes - max(f.Allocated.Bytes, bytesOf(f.Limit)) - ledger.DriverContext
}

// oneInBatch: the first side of three or more, the batch as a rule, is 1.
func oneInBatch(c *ledger.Case) bool {
	s := calls.Sides(c)
	return inPool(c) && len(s) >= 3 && s[0] == 1
}

// beyondCard: more was asked for than the whole card has, by the driver's count.
func beyondCard(c *ledger.Case) bool { return total(c) > 0 && ledger.Requested(c) > total(c) }

var beyondCards = []cause.Card{{
	ID: "tensorflow/arguments", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{"The byte size of input/output arguments"},
	Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory: the inputs and outputs of one compiled function are too large",
	Means: "XLA adds up the arrays that go into a compiled function and those that come out. They alone exceed its limit, a share of the card, before any temporary arrays. Each output is a new array beside its input unless the input is donated. TensorFlow, JAX and Reactant all use XLA.",
	Not:   "Memory growth: the arrays themselves exceed the limit.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use smaller arrays, or process them in parts", Told: "Halve the size or batch as a test, and use 32-bit numbers instead of 64. If the byte count in that line surprises you, print the shapes: one array is larger than you meant.", Cost: "More calls"},
		{Fix: "fix_shape", Title: "Let outputs reuse the inputs' memory", Told: "In JAX, for arrays you no longer need after the call:", Kind: "python", Text: "f = jax.jit(f, donate_argnums=0)   # the first argument is overwritten by an output of the same shape", Cost: "The input is gone afterwards"},
		{Fix: "shard_training", Title: "Shard the arrays over several cards", Told: "JAX: make a mesh and call `jax.device_put(x, sharding)`. Other programs: use their option for sharding.", Cost: "More cards"},
	},
	Sources: []string{"xla/service/gpu/gpu_hlo_schedule.cc", "https://docs.jax.dev/en/latest/buffer_donation.html"},
}, {
	ID: "tensorflow/beyond-card", Kinds: []fact.Kind{fact.TFAlloc}, If: beyondCard,
	Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "asked for {asked} at once, more than the whole card of {total}",
	Means: "The line comes from the allocator that TensorFlow and JAX share, and names no shape. Usually two long sides are multiplied: batch x length x length (attention that is not fused), batch x length x vocabulary (logits), or all pairs of items.",
	Not:   "Closing other programs, memory fractions: the request exceeds the card.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Halve the batch size, then the length instead", Told: "Change one at a time. If half the batch halves the request, the batch decides. If half the length makes it a quarter, the length does.", Cost: "Slower"},
		{Fix: "fix_shape", Title: "Print the shapes", Told: "JAX: `f` and `x` are the function that fails and its input. TensorFlow: `print(x.shape)` before that line.", Kind: "python", Text: "print(jax.eval_shape(f, x))\nprint(jax.jit(f).lower(x).compile().memory_analysis())", Cost: "Free"},
		{Fix: "efficient_attention", Title: "Use fused attention, or chunks", Told: "JAX: `jax.nn.dot_product_attention(..., implementation=\"cudnn\")` with 16-bit inputs. Compute logits in chunks (`jax.lax.map` over parts of the sequence). In training, wrap the blocks in `jax.checkpoint`.", Cost: "None as a rule"},
	},
	Sources: []string{"tensorflow/core/common_runtime/gpu/gpu_cudamallocasync_allocator.cc", "https://docs.jax.dev/en/latest/jax.nn.html", "jax/_src/lax/control_flow/loops.py"},
}}

// tensorFlowRestCards hold where none of TensorFlow's does.
var tensorFlowRestCards = []cause.Card{
	{
		ID: "tensorflow/largest-tensor", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(offCPU, mostOfPool), Figures: calls.LargestFigures(poolFigures, sessionWords),
		Headline: "asked for {asked} for one tensor, most of its GPU memory",
		Means:    "This one tensor needs most of the[[ {limit} of]] GPU memory that TensorFlow may use. The shape in the message shows which side is large: {first}. Other sides are image or volume size, channels, length, classes or pairs.",
		Not:      "Memory growth: it changes when memory is taken, not how much.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: when.Not(oneInBatch), Title: "Lower the batch size", Told: "If the first number of the shape is your batch, halve it[[: {half}]]. {where}", Cost: "slower"},
			{Fix: "lower_resolution", Title: "Use a smaller input, or patches of it", Told: "Resize or crop the input: half of each side is a quarter of an image and an eighth of a volume. Or run the model on patches and join the results. Shorten sequences.", Cost: "detail"},
			{Fix: "cpu_offload", If: when.Not((*ledger.Case).Training), Title: "Prediction only: run it on the CPU", Told: "System RAM is usually larger than GPU memory. Before the start:", Steps: environ("CUDA_VISIBLE_DEVICES", "-1"), Cost: "slower"},
			{Fix: "fix_shape", Title: "If another side is unexpected: find its source", Told: "Print the shapes before that operation. `tile`, `repeat`, one-hot rows, all pairs, and (n,1) combined with (n,) multiply sides.", Cost: "free"},
		},
		Sources: []string{bfcAllocator},
	},
	{
		ID: "tensorflow/copy", Kinds: []fact.Kind{fact.TFCopy},
		Headline: "had no room in GPU memory for data copied there",
		Means:    "\"Dst tensor is not initialized\" usually means a full card: a copy from RAM found no room. Either another process holds the card (TensorFlow in a second notebook takes nearly all of it), or the data copied at once is too large: whole arrays given to `fit`, a batch, or a checkpoint's variables.",
		Not:      "Initializing variables: the message is about memory.",
		Cures: []cause.Cure{
			runtimeFirst, endHolder,
			{Fix: "use_smaller_model", If: calls.Restoring, Title: "If the card was empty: use a smaller model", Told: "The log fails while a checkpoint is restored (`RestoreV2`), before any batch. An optimizer with less state helps too: Adam keeps two more values per weight.", Cost: "perhaps accuracy"},
			{Fix: "stream_dataset", If: when.Not(calls.Restoring), Title: "If the card was empty: send batches", Told: "This keeps the arrays in RAM and copies one batch at a time:", Kind: "python", Text: "with tf.device(\"/CPU:0\"):\n    ds = tf.data.Dataset.from_tensor_slices((x_train, y_train))\nmodel.fit(ds.shuffle(1000).batch(32).prefetch(2), epochs=10)", Cost: "none for the result"},
			{Fix: "lower_batch_size", If: when.Not(calls.Restoring), Title: "Lower the batch size", Told: "Try a quarter of it as a test.", Cost: "slower"},
		},
		Sources: []string{tfGuide},
	},
	{
		ID: "tensorflow/eager", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{"failed to allocate memory [Op:"}, If: offCPU, Figures: madeFigures,
		Headline: "had no GPU memory for the result of one operation[[ (`{node}`)]]",
		Means:    "The message shows neither the size nor what else is on the card. The operation ran eagerly: it created weights (`Mul` and `Add` are parts of an initializer), prepared data, or ran in your own loop. If it fails while the model is built, the card was probably already full.",
		Cures: []cause.Cure{
			runtimeFirst, endHolder,
			{Fix: "lower_batch_size", Title: "If it was data: use batches or the CPU", Told: "`model(x)` takes all of x at once; use `model.predict(x, batch_size=8)`. Prepare arrays with NumPy or under `with tf.device(\"/CPU:0\"):`.", Cost: "slower"},
			{Fix: "use_smaller_model", Title: "If it was the model: check its weights", Told: "`model.summary()` counts them: 4 bytes each, about 16 when training with Adam. A Dense layer after `Flatten` or a large Embedding is usually most of it.", Cost: "perhaps accuracy"},
		},
		Sources: []string{"tensorflow/core/common_runtime/eager/kernel_and_device.cc", tfGuide},
	},
	{
		ID: "tensorflow/xla", Kinds: []fact.Kind{fact.XLAAlloc}, If: func(c *ledger.Case) bool { return c.Framework == "tensorflow" }, Figures: resultFigures,
		Headline: "had no GPU memory for a step compiled by XLA[[: {asked}]]",
		Means:    "XLA compiles the step and asks for all its temporary arrays in one piece, which grows with the batch. Keras 3 turns XLA on by itself where it can (`jit_compile=\"auto\"`). The message does not say what else is on the card.",
		Not:      "Memory growth: the request stays as large.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size", Told: "`batch_size=` in `fit`, or `.batch(...)` in tf.data.", Cost: "slower per sample"},
			{Fix: "upgrade_version", Title: "Turn XLA off", Told: "`model.compile(..., jit_compile=False)`. Also remove `jit_compile=True` from your functions and `TF_XLA_FLAGS` from the environment.", Cost: "often slower"},
			{Fix: "mixed_precision", Title: "Turn on mixed precision", Told: "Before the model is built: `tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")`.", Cost: "fast on RTX and newer cards"},
			runtimeFirst, endHolder,
		},
		Sources: []string{"keras/src/trainers/trainer.py", "https://www.tensorflow.org/xla", "xla/service/buffer_assignment.cc"},
	},
	{
		ID: "tensorflow/oom-rest", Kinds: []fact.Kind{fact.TFAlloc}, If: offCPU, Figures: restFigures,
		Headline: "ran out of GPU memory for one more tensor",
		Means:    "One more tensor did not fit[[, of {shape} ({asfloat} if its numbers are 32 bit)]][[: {used} of the {limit} that this process may take was in use]]. Activations usually fill the memory; they grow with the batch, and most in training.[[ {batch} samples went through at once, {each} for each in this tensor alone. If that is not your batch size, check what the generator returns.]][[ {others}]]",
		Not:      "Memory growth: it changes when memory is taken, not how much.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: when.Not(manySamples), Title: "Halve the batch size[[: {halved}]]", Told: "Set it in `batch_size=` of `fit`, in `.batch(...)`, in what you pass to `feed_dict`, or with the script's own option.", Cost: "slower"},
			{Fix: "fix_shape", If: manySamples, Title: "Print the shape that reaches the model", Told: "Print it in the generator before `yield`; for tf.data print `ds.element_spec`. {batch} must be your batch size, not the number of all samples. Validation data has its own batch size.", Kind: "python", Text: "print(X.shape)   # X: what the generator hands over", Cost: "free"},
			{Fix: "lower_batch_size", If: manySamples, Title: "Use a batch of {fitting} or less", Told: "One tensor alone takes {asked}, so halving the batch is not enough. Set `batch_size=` in `fit`, `.batch(...)`, or the generator's own number.", Cost: "slower per sample"},
			runtimeFirst, holderOfRest,
			{Fix: "lower_resolution", Title: "Use smaller images or shorter sequences", Told: "Half the width and height is a quarter of the activations.", Cost: "detail"},
		},
		Sources: []string{bfcAllocator, tfGuide},
	},
}

// manySamples: the first side of the tensor is larger than batches that people set
// for samples of that size.
func manySamples(c *ledger.Case) bool {
	s := calls.Sides(c)
	return len(s) == 4 && s[0] >= 128 && s[0] <= 4096 && ledger.Requested(c) >= 2*units.GiB && !kernelShape(s)
}

// holderOfRest looks for others where the tensor itself is no surprise.
var holderOfRest = func() cause.Cure {
	cure := endHolder
	cure.If = when.Not(manySamples)
	return cure
}()

func restFigures(c *ledger.Case) map[string]string {
	out := madeFigures(c)
	out["halved"], out["used"], out["limit"], out["others"] = calls.Halved(c), poolFigures(c)["used"], units.Amount(bytesOf(c.F().Limit)), "Another process on the card can have the same effect."
	if out["batch"], out["each"], out["fitting"] = "", "", ""; manySamples(c) {
		n := calls.Sides(c)[0]
		out["batch"], out["each"], out["fitting"], out["others"] = strconv.FormatInt(n, 10), units.Amount(ledger.Requested(c)/n), strconv.FormatInt(n/16, 10), ""
	}
	return out
}

func otherFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"theirs": "", "own": "", "limit": ""}
	if f := c.F(); heldByOthers(c) {
		out["own"], out["theirs"] = units.Amount(f.Allocated.Bytes), units.Amount(total(c)-f.Free.Bytes-f.Allocated.Bytes)
		if f.Limit != nil && f.Limit.Bytes*2 < total(c) {
			out["limit"] = units.Amount(f.Limit.Bytes)
		}
	}
	return out
}
