package array

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

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
	makesWeight   = regexp.MustCompile(`(?i)initializer|initial_value|random_?uniform|random_?normal|truncated_?normal|glorot|/assign$|^assign|restorev2|variablev2|varhandleop|variableinitialized|^qr$`)
	makesOther    = regexp.MustCompile(`(?i)drop_?out|augment|random_(?:flip|crop|zoom|rotation|translation)|iterator|/map/`)
	ofOptimizer   = regexp.MustCompile(`(?i)(?:^|[/:])(?:adam|adamw|nadam|adamax|lamb|rmsprop|momentum|adagrad|adadelta|ftrl|exponentialmovingaverage)[a-z]*(?:_\d+)?(?:/|$)|ResourceApply`)
	inGradient    = regexp.MustCompile(`(?i)gradient|backprop|_grad/`)
	ofTable       = regexp.MustCompile(`(?i)embed|lookup`)
	ofAttention   = regexp.MustCompile(`(?i)atten|softmax|einsum|transformer|/self/|multihead|mha`)
	ofConvolution = regexp.MustCompile(`(?i)conv|pool|relu|batch_?norm|fusedbatch|biasadd|upsampl|resize|pad`)
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
func optimizerNode(c *ledger.Case) bool { return ofOptimizer.MatchString(nodeName(c)) }

// kernelShape: height, width, channels in and out of a convolution's weights; no
// batch of pictures is so small and square.
func kernelShape(s []int64) bool {
	return len(s) == 4 && s[0] == s[1] && s[0] <= 7 && s[2] >= 16 && s[3] >= 16
}

// weightMade: the tensor that was refused is a weight that was being made or read.
func weightMade(c *ledger.Case) bool {
	name := nodeName(c)
	if !inPool(c) || onCPU(c) || optimizerNode(c) || makesOther.MatchString(name) || inGradient.MatchString(name) {
		return false
	}
	if makesWeight.MatchString(name) || kernelShape(calls.Sides(c)) && !c.Contains("grad") {
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
	return largeWeight(c) && (ofTable.MatchString(nodeName(c)) || c.Near(tableWords...))
}

// pairsOf reads the length of an attention out of a shape: [batch, heads, L, L],
// [batch x heads, L, L], or all of it in one side, [batch x heads x L, L].
func pairsOf(c *ledger.Case) (length, matrices int64) {
	s, name := calls.Sides(c), nodeName(c)
	n := len(s)
	switch {
	case n == 2 && s[1] >= 100 && s[1]%16 != 0 && s[1]%50 != 0 && s[0]%s[1] == 0 && s[0] >= 8*s[1]:
		return s[1], s[0] / s[1]
	case n < 3 || s[n-1] != s[n-2] || s[n-1] < 64 || !ofAttention.MatchString(name) || ofConvolution.MatchString(name):
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

// leastShare is less than any network needs that somebody puts on a card.
const leastShare = 512 * units.MiB

func hardlyAny(c *ledger.Case) bool {
	return offCPU(c) && share(c) > 0 && share(c) < leastShare && ledger.Requested(c) < 2*units.GiB
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
	out["node"] = nodeName(c)
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
		Cause: cause.LeakedProcess, Weight: cause.Decisive,
		Headline: "got only {share} of the card at its start: something else holds it",
		Means:    "\"Created device … with … MB memory\" is what TensorFlow found free when it began: {share}, on a {card}. So the card was full of something else before this program made anything, and {asked} no longer fitted.[[ The op, `{node}`, is only the one that came next.]] Own limits in the code (`per_process_gpu_memory_fraction`, a logical device) have the same effect.",
		Not:      "A smaller batch, image or model: {share} is too little for any.",
		Cures:    []cause.Cure{runtimeFirst, endHolder, shareGrowth, otherCard},
		Sources:  []string{gpuDevice, tfGuide},
	},
	{
		ID: "tensorflow/dense-made", Kinds: []fact.Kind{fact.TFAlloc}, If: flattened, Unsaid: tableWords, Figures: madeFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive,
		Headline: "had no room for the weights of one Dense layer: {asked}",
		Means:    "The shape, {shape}, is no batch: it is the weights of a fully connected layer, {in} inputs by {out} outputs, {asked} while they are made. So many inputs come from `Flatten` on large feature maps. Training with Adam needs that four times (gradient and two moments): {trained}.",
		Not:      "A smaller batch, mixed precision, memory growth: the weights keep their size.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Pool in place of `Flatten`", Told: "`GlobalAveragePooling2D()` (text or sound: `GlobalAveragePooling1D()`) hands the layer one number for each channel: some hundred inputs in place of {in}.", Cost: "Train again; often as accurate"},
			{Fix: "lower_resolution", Title: "Or smaller images, or more pooling before it", Told: "Half the width and height is a quarter of the inputs, and of the weights; so is one more `MaxPooling2D` or `strides=2`.", Cost: "Detail"},
			{Fix: "fix_shape", Title: "Or fewer outputs", Told: "A quarter of the {out} units is a quarter of the weights; `model.summary()` shows where they are.", Cost: "Perhaps accuracy"},
		},
		Sources: []string{"tensorflow/python/ops/init_ops_v2.py", "keras/src/layers/core/dense.py", "keras/src/layers/pooling/global_average_pooling2d.py"},
	},
	{
		ID: "tensorflow/table-made", Kinds: []fact.Kind{fact.TFAlloc}, If: table, Figures: madeFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive,
		Headline: "had no room for an embedding table: {asked}",
		Means:    "The shape, {shape}, is a table of weights with a row for each item or word, {in} rows of {out} numbers: {asked} before anything is computed. An optimizer with two moments makes {trained} of it in training.",
		Not:      "A smaller batch, memory growth: the table keeps its size.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Fewer rows", Told: "Is `input_dim` the highest ID and not the count of items? Number them from 0 without gaps. Else hash rare ones into a fixed number of rows (`tf.keras.layers.Hashing`), or keep the commonest.", Cost: "Rare items share a row"},
			{Fix: "cpu_offload", Title: "Or keep the table in RAM", Told: "Only the rows that a batch needs go to the card:", Kind: "python", Text: "with tf.device(\"/CPU:0\"):\n    table = tf.keras.layers.Embedding(rows, width)   # your own numbers; build it here, look it up here", Cost: "Slower lookups"},
			{Fix: "fix_shape", Title: "Or narrower rows", Told: "Half the width is half the table; plain SGD or Adagrad keep no or one moment.", Cost: "Perhaps accuracy"},
		},
		Sources: []string{"keras/src/layers/core/embedding.py", "keras/src/layers/preprocessing/hashing.py", "tensorflow/python/ops/init_ops_v2.py"},
	},
	{
		ID: "tensorflow/large-made", Kinds: []fact.Kind{fact.TFAlloc}, If: largeWeight, Figures: madeFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "had no room on the card for a weight of {asked}, before the first step",
		Means:    "[[`{node}` makes or reads a weight: ]][[its shape, {shape}, has no batch in it, and ]]no data was needed yet. {asked} is large for one weight.[[ TensorFlow had {share} of the card for all of them.]] If the layers before it fit, it is the model; on a card of which another program or an earlier model holds a part, less would fit as well. Training adds a gradient and two moments of that size with Adam.",
		Not:      "A smaller batch: none is there yet.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "See which layer it is", Told: "`model.summary()` on the CPU (`CUDA_VISIBLE_DEVICES=-1`) lists the weights: 4 bytes each. Fewer units or channels, pooling before a Dense layer, a smaller vocabulary.", Cost: "Perhaps accuracy"},
			runtimeFirst, endHolder, shareGrowth,
		},
		Sources: []string{"tensorflow/python/ops/init_ops_v2.py", bfcAllocator, tfGuide},
	},
	{
		ID: "tensorflow/weight-made", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(weightMade, when.Not(largeWeight)), Figures: madeFigures,
		Cause: cause.LeakedProcess, Weight: cause.Decisive,
		Headline: "had no room on the card for the weights, before the first step",
		Means:    "[[The shape, {shape}, is not a batch: ]]what failed makes or loads a weight ({asked}); no data was read yet. That is little, so the card was full already[[ (TensorFlow got {share} of it at its start)]]: another process or notebook holds it, or a model made before in this process. Only where all weights together come to gigabytes is it the model.",
		Not:      "A smaller batch or image: none is there yet.",
		Cures:    []cause.Cure{runtimeFirst, endHolder, shareGrowth, againEachTime, otherCard},
		Sources:  []string{bfcAllocator, gpuDevice, tfGuide},
	},
	{
		ID: "tensorflow/bert", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{"run_classifier.py", "run_squad.py", "run_pretraining.py", "bert/encoder/", "bert/modeling.py", "bert/embeddings/"}, If: when.All(offCPU, when.Not(weightMade), when.Not(optimizerNode), when.Not(poolInPieces)), Figures: madeFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "filled the card in a step of BERT[[: {asked} more did not fit]]",
		Means:    "Length and batch decide what a step of BERT keeps[[: here {matrices} matrices of {length} x {length} tokens in one layer]]. Its authors' README gives, for 12 GB and BERT-Base, batch 32 at 128 tokens and 6 at 512; BERT-Large trains at 128 only with batch 6.",
		Not:      "Memory growth: it changes when memory is taken, not how much.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "A smaller batch", Told: "`--train_batch_size`: half of it, again if need be; the learning rate a little lower with it. Prediction has its own (`--predict_batch_size`, `--eval_batch_size`).", Cost: "Slower per sample"},
			{Fix: "lower_context", Title: "Shorter sequences", Told: "`--max_seq_length=128` (or 256) where the texts are that short: the attention falls with the square, the rest in step. In run_squad.py `--doc_stride` below it.", Cost: "Long texts are cut"},
			{Fix: "use_smaller_model", Title: "BERT-Base in place of Large", Told: "Its optimizer (Adam) holds two more numbers for each weight, whatever the batch.", Cost: "Some accuracy"},
			endHolder,
		},
		Sources: []string{"google-research/bert/README.md", "google-research/bert/run_classifier.py", "google-research/bert/run_squad.py"},
	},
	{
		ID: "tensorflow/attention", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(pairs, when.Not(poolInPieces)), Figures: madeFigures,
		Cause: cause.ContextTooLong, Weight: cause.Decisive,
		Headline: "filled the card with the attention over {length} tokens",
		Means:    "The shape, {shape}, is {matrices} matrices of {length} x {length}, each token against each: batch times heads of one attention layer[[, {asked}]][[, {asfloat} if the numbers are 32 bit]]. It grows with the square of the length, and in training each layer keeps one.[[ {used} of the {limit} that TensorFlow may take were in use.]]",
		Not:      "Ending other programs, and memory growth: what one step computes is the matter.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Cut the length: {half} tokens need a quarter", Told: "A single long sample decides: cap the length (a maximum length option, cut or drop longer ones), and batch by tokens, not by samples.", Cost: "Long samples are cut"},
			{Fix: "lower_batch_size", Title: "Or half the batch", Told: "Half of those matrices; `batch_size=` in `fit`, `.batch(...)`, or the script's option.", Cost: "Slower per sample"},
			{Fix: "mixed_precision", Title: "Or 16 bit", Told: "Half of each; TensorFlow 2.4 and later: `tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")` before the model is made, older ones where the script has an option for it.", Cost: "Needs an RTX or newer card to be fast"},
		},
		Sources: []string{bfcAllocator, "https://www.tensorflow.org/guide/mixed_precision"},
	},
}

const gpuDevice = "tensorflow/core/common_runtime/gpu/gpu_device.cc"
