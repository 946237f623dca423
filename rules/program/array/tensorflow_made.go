package array

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/when"
)

// What TensorFlow's message names: the op of the graph, "dense_1/kernel/Assign",
// or one that ran at once, "[Op:StatelessRandomUniformV2]". Weights are made by
// those of an initializer (tensorflow/python/ops/init_ops.py, init_ops_v2.py),
// assigned, or restored (training/saver.py); a mask of a dropout is not one.
var (
	makesWeight = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)initializer|initial_value|random_?uniform|random_?normal|truncated_?normal|glorot|/assign$|^assign|restorev2|variablev2|varhandleop|variableinitialized|^qr$`)
	})
	makesOther = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)drop_?out|augment|random_(?:flip|crop|zoom|rotation|translation)|iterator|/map/`)
	})
	ofOptimizer = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:^|[/:])(?:adam|adamw|nadam|adamax|lamb|rmsprop|momentum|adagrad|adadelta|ftrl|exponentialmovingaverage)[a-z]*(?:_\d+)?(?:/|$)|ResourceApply`)
	})
	inGradient  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)gradient|backprop|_grad/`) })
	ofTable     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)embed|lookup`) })
	ofAttention = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)atten|softmax|einsum|transformer|/self/|multihead|mha`)
	})
	ofConvolution = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)conv|pool|relu|batch_?norm|fusedbatch|biasadd|upsampl|resize|pad`)
	})
)

// madeWords are functions of Keras that make weights; warnings name others of
// TensorFlow's in healthy runs.
var madeWords = []string{"in add_weight", "in _add_variable_with_custom_getter"}

// madeIn are functions, and files, of tracebacks that make or load weights.
var (
	madeFunctions = []string{"add_weight", "_add_variable_with_custom_getter", "init_variables", "initialize_variables", "_initialize_variables", "restore_v2", "load_weights"}
	madeFiles     = []string{"keras/initializers", "keras/src/initializers", "python/ops/init_ops"}
)

// madeInTrace: the traceback leads through a function that makes weights.
func madeInTrace(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(x fact.Code) bool {
		return slices.Contains(madeFunctions, x.Function) || slices.ContainsFunc(madeFiles, func(f string) bool { return strings.Contains(x.File, f) })
	})
}

// tableWords are files and functions of embeddings.
var tableWords = []string{"layers/embeddings.py", "embedding_lookup", "core/embedding.py"}

// nodeName is the op that the message names, "" where it names none.
func nodeName(c *ledger.Case) string {
	x, _ := c.Fact("tf_node")
	return x.Text
}

// optimizerNode: the op belongs to the optimizer.
// Keras 1 and 2 put all gradients into its scope: "training/Adam/gradients/...".
func optimizerNode(c *ledger.Case) bool {
	return ofOptimizer().MatchString(nodeName(c)) && !inGradient().MatchString(nodeName(c))
}

// ofOptimizerLine: no node is known, and the lines around name an optimizer's.
func ofOptimizerLine(c *ledger.Case) bool { return nodeName(c) == "" && c.Near("/Adam/") }

// kernelShape: height, width, channels in and out of a convolution's weights; no
// batch of pictures is so small and square.
func kernelShape(s []int64) bool {
	return len(s) == 4 && s[0] == s[1] && s[0] <= 7 && s[2] >= 16 && s[3] >= 16
}

// weightMade: the tensor that was refused is a weight that was being made or read.
func weightMade(c *ledger.Case) bool {
	name := nodeName(c)
	if !inPool(c) || onCPU(c) || optimizerNode(c) || makesOther().MatchString(name) || inGradient().MatchString(name) {
		return false
	}
	if makesWeight().MatchString(name) || kernelShape(calls.Sides(c)) && !c.Contains("grad") {
		return true
	}
	return !strings.Contains(name, "/") && !strings.Contains(name, "__inference") && madeInTrace(c)
}

const smallWeight = units.GiB / 4

func largeWeight(c *ledger.Case) bool { return weightMade(c) && ledger.Requested(c) >= smallWeight }

// flattened: a matrix of weights whose inputs are far more than its outputs, as a
// Dense layer behind Flatten has it.
func flattened(c *ledger.Case) bool {
	s := calls.Sides(c)
	return largeWeight(c) && len(s) == 2 && s[0] >= 8192 && s[0] >= 4*s[1] && !table(c)
}

func table(c *ledger.Case) bool {
	return largeWeight(c) && (ofTable().MatchString(nodeName(c)) || c.Near(tableWords...))
}

// pairsOf reads the length of an attention out of a shape: [batch, heads, L, L],
// [batch x heads, L, L], or all of it in one side, [batch x heads x L, L].
func pairsOf(c *ledger.Case) (length, matrices int64) {
	s, name := calls.Sides(c), nodeName(c)
	n := len(s)
	switch {
	case n == 2 && s[1] >= 100 && s[1]%16 != 0 && s[1]%50 != 0 && s[0]%s[1] == 0 && s[0] >= 8*s[1]:
		return s[1], s[0] / s[1]
	case n < 3 || s[n-1] != s[n-2] || s[n-1] < 64 || !ofAttention().MatchString(name) || ofConvolution().MatchString(name):
		return 0, 0
	}
	matrices = 1
	for _, side := range s[:n-2] {
		matrices *= side
	}
	return s[n-1], matrices
}

func pairs(c *ledger.Case) bool {
	length, _ := pairsOf(c)
	return inPool(c) && offCPU(c) && length > 0
}

// share is what TensorFlow was given of the card at its start: what was free then
// (common_runtime/gpu/gpu_device.cc).
func share(c *ledger.Case) int64 { return ledger.Sized(c, "tf_share") }

// got is the same, or the limit of which the allocator's table speaks.
func got(c *ledger.Case) int64 {
	if limit := c.F().Limit; share(c) == 0 && limit != nil {
		return limit.Bytes
	}
	return share(c)
}

// leastShare is less than any network needs that somebody puts on a card.
const leastShare = 512 * units.MiB

func hardlyAny(c *ledger.Case) bool {
	return offCPU(c) && got(c) > 0 && got(c) < leastShare && ledger.Requested(c) < 2*units.GiB
}

// madeFigures are what a weight is and what training makes of it.
func madeFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"in": "", "out": "", "shape": "", "trained": "", "share": "", "card": "", "node": "", "length": "", "matrices": "", "half": "", "asfloat": ""}
	s := calls.Sides(c)
	if len(s) > 1 {
		out["in"], out["out"], out["shape"] = calls.Grouped(s[0]), calls.Grouped(s[1]), shapeText(s)
	}
	out["trained"] = units.Amount(4 * ledger.Requested(c))
	if share(c) > 0 {
		x, _ := c.Fact("tf_share")
		out["share"], out["card"] = units.Amount(share(c)), x.Text
	}
	out["got"], out["node"] = units.Amount(got(c)), nodeName(c)
	if n := elements(s); n > 0 && ledger.Requested(c) == 0 {
		out["asfloat"] = units.Amount(4 * n)
	}
	if length, matrices := pairsOf(c); length > 0 {
		out["length"], out["matrices"], out["half"] = calls.Grouped(length), calls.Grouped(matrices), strconv.FormatInt(length/2, 10)
	}
	return out
}

// elements is the product of the sides, 0 where it is none.
func elements(s []int64) int64 {
	product := int64(1)
	for _, side := range s {
		if side <= 0 || product > math.MaxInt64/8/side {
			return 0
		}
		product *= side
	}
	return product * int64(min(len(s), 1))
}

func shapeText(s []int64) string {
	parts := make([]string, len(s))
	for i, side := range s {
		parts[i] = calls.Grouped(side)
	}
	return strings.Join(parts, " x ")
}

// madeCards are about weights and tables that have no room, whatever the batch.
var madeCards = []cause.Card{
	{
		ID: "tensorflow/share-taken", Kinds: []fact.Kind{fact.TFAlloc}, If: hardlyAny, Figures: madeFigures,
		Cause: cause.LeakedProcess, Weight: cause.Decisive, Headline: "got only {got} of the card at its start: something else holds it",
		Means:   "TensorFlow got {got} when it started[[ (\"Created device … with … MB memory\"), on a {card}]]. So something else filled the card before this program created anything.[[ `{node}` is only where it failed.]] A limit in the code (`per_process_gpu_memory_fraction`, a logical device) has the same effect.",
		Cures:   []cause.Cure{runtimeFirst, endHolder, shareGrowth, otherCard},
		Sources: []string{gpuDevice, tfGuide},
	},
	{
		ID: "tensorflow/dense-made", Kinds: []fact.Kind{fact.TFAlloc}, If: flattened, Unsaid: tableWords, Figures: madeFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "had no GPU memory for the weights of one Dense layer: {asked}",
		Means: "The shape, {shape}, is a fully connected layer with {in} inputs and {out} outputs. So many inputs usually come from `Flatten` on large feature maps. Training with Adam needs four times that (gradient and two moments): {trained}.",
		Not:   "A smaller batch: it does not change the weights.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Use `GlobalAveragePooling2D` instead of `Flatten`", Told: "`GlobalAveragePooling2D()` (text or audio: `GlobalAveragePooling1D()`) gives the layer one number per channel: some hundred inputs instead of {in}.", Cost: "Train again; often as accurate"},
			{Fix: "lower_resolution", Title: "Use smaller images, or more pooling before it", Told: "Half the width and height is a quarter of the inputs and weights. So is one more `MaxPooling2D` or `strides=2`.", Cost: "Detail"},
			{Fix: "fix_shape", Title: "Use fewer units", Told: "A quarter of the {out} units is a quarter of the weights.", Cost: "Perhaps accuracy"},
		},
		Sources: []string{"tensorflow/python/ops/init_ops_v2.py", "keras/src/layers/core/dense.py", "keras/src/layers/pooling/global_average_pooling2d.py"},
	},
	{
		ID: "tensorflow/table-made", Kinds: []fact.Kind{fact.TFAlloc}, If: table, Figures: madeFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "had no GPU memory for an embedding table: {asked}",
		Means: "The shape, {shape}, is an embedding table: {in} rows of {out} numbers, one row per item or word. Training with Adam needs four times that: {trained}.",
		Not:   "A smaller batch: it does not change the table.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Use fewer rows", Told: "If `input_dim` is the highest ID, number the items from 0 without gaps. Keep the most common ones, or hash rare ones into a fixed number of rows (`tf.keras.layers.Hashing`).", Cost: "Rare items share a row"},
			{Fix: "cpu_offload", Title: "Keep the table in RAM", Told: "Only the rows that a batch needs go to the card:", Kind: "python", Text: "with tf.device(\"/CPU:0\"):\n    table = tf.keras.layers.Embedding(rows, width)   # your own numbers; build it here, look it up here", Cost: "Slower lookups"},
			{Fix: "fix_shape", Title: "Use a smaller embedding width", Told: "Half the width is half the table. Plain SGD keeps no moments, Adagrad one.", Cost: "Perhaps accuracy"},
		},
		Sources: []string{"keras/src/layers/core/embedding.py", "keras/src/layers/preprocessing/hashing.py", "tensorflow/python/ops/init_ops_v2.py"},
	},
	{
		ID: "tensorflow/large-made", Kinds: []fact.Kind{fact.TFAlloc}, If: largeWeight, Figures: madeFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "had no GPU memory for a weight of {asked}",
		Means: "[[`{node}` creates or reads a weight. ]][[Its shape, {shape}, does not look like a batch. ]]{asked} is large for one weight.[[ TensorFlow had {share} of the card for all of them.]] Either the model is too large, or another program or earlier model takes part of the card. Training with Adam adds a gradient and two moments of that size.",
		Not:   "A smaller batch: it does not change the weights.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Find the large layer", Told: "Run `model.summary()` on the CPU (`CUDA_VISIBLE_DEVICES=-1`) to see the weights, 4 bytes each. Then use fewer units or channels, pooling before a Dense layer, or a smaller vocabulary.", Cost: "Perhaps accuracy"},
			runtimeFirst, endHolder, shareGrowth,
		},
		Sources: []string{"tensorflow/python/ops/init_ops_v2.py", bfcAllocator, tfGuide},
	},
	{
		ID: "tensorflow/weight-made", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(weightMade, when.Not(largeWeight)), Figures: madeFigures,
		Cause: cause.LeakedProcess, Weight: cause.Decisive, Headline: "had no GPU memory for one of the model's weights",
		Means:   "[[The shape, {shape}, is not a batch: ]]the operation that failed creates or loads a weight ({asked}). That is little, so the card was already nearly full[[ (TensorFlow got {share} of it at its start)]]. Another process or notebook uses it, or this process built models before. If all weights together take gigabytes, the model itself may be too large.",
		Not:     "A smaller batch: it does not change the weights.",
		Cures:   []cause.Cure{runtimeFirst, endHolder, shareGrowth, againEachTime, otherCard},
		Sources: []string{bfcAllocator, gpuDevice, tfGuide},
	},
	{
		ID: "tensorflow/bert", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{"run_classifier.py", "run_squad.py", "run_pretraining.py", "bert/encoder/", "bert/modeling.py", "bert/embeddings/"}, If: when.All(offCPU, when.Not(weightMade), when.Not(optimizerNode), when.Not(poolInPieces)), Figures: madeFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory in a step of BERT[[: {asked} more did not fit]]",
		Means: "Sequence length and batch size decide what BERT needs[[: here {matrices} matrices of {length} x {length} tokens in one layer]]. Its README gives these limits for 12 GB. BERT-Base: batch 32 at 128 tokens, or 6 at 512. BERT-Large: batch 6 at 128 tokens.",
		Not:   "Memory growth: it changes when memory is taken, not how much.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size", Told: "Halve `--train_batch_size`, with a slightly lower learning rate. Prediction has its own options (`--predict_batch_size`, `--eval_batch_size`).", Cost: "Slower per sample"},
			{Fix: "lower_context", Title: "Lower `--max_seq_length`", Told: "Use 128 or 256 if your texts are that short; attention grows with the square of the length. In run_squad.py keep `--doc_stride` below it.", Cost: "Long texts are cut"},
			{Fix: "use_smaller_model", Title: "Use BERT-Base instead of Large", Told: "Large has three times the weights, and Adam keeps two more numbers for each.", Cost: "Some accuracy"},
			endHolder,
		},
		Sources: []string{"google-research/bert/README.md", "google-research/bert/run_classifier.py", "google-research/bert/run_squad.py"},
	},
	{
		ID: "tensorflow/attention", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(pairs, when.Not(poolInPieces)), Figures: madeFigures,
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of GPU memory in attention over {length} tokens",
		Means: "The shape, {shape}, is {matrices} attention matrices of {length} x {length}: batch times heads of one layer[[ ({asfloat} if the numbers are 32 bit)]]. It grows with the square of the length, and in training each layer keeps one.[[ {used} of the {limit} that TensorFlow may use was taken.]]",
		Not:   "Memory growth: it changes when memory is taken, not how much.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Limit the length: {half} tokens need a quarter", Told: "One long sample can be enough. Set a maximum length (cut or drop longer samples), and batch by tokens instead of samples.", Cost: "Long samples are cut"},
			{Fix: "lower_batch_size", Title: "Halve the batch size", Told: "It halves those matrices: `batch_size=` in `fit`, `.batch(...)`, or the script's option.", Cost: "Slower per sample"},
			{Fix: "mixed_precision", Title: "Turn on mixed precision", Told: "TensorFlow 2.4 and later, before the model is built: `tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")`. Older versions: the script's own option. It halves each matrix.", Cost: "fast on RTX and newer cards only"},
		},
		Sources: []string{bfcAllocator, "https://www.tensorflow.org/guide/mixed_precision"},
	},
}

const gpuDevice = "tensorflow/core/common_runtime/gpu/gpu_device.cc"
