package script

import (
	"maps"
	"math"
	"path"
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/allocator"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/reader"
)

// tagged: the scores of a CRF are a good part of the card.
func tagged(c *ledger.Case) bool {
	return ledger.OnCard(c) && c.Asked.Has() && c.Total.Has() && c.Asked.Bytes*4 > c.Total.Bytes
}

// manyTags: so many pairs of tags at 10,000 positions as no usual set of tags has.
func manyTags(c *ledger.Case) bool { return c.Asked.Bytes/4/10000 > 300*300 }

// tagFigures say what number of tags the size would mean.
func tagFigures(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	out["tags"] = ""
	if manyTags(c) {
		out["tags"] = ledger.Thousands(int64(math.Sqrt(float64(c.Asked.Bytes)/40000)/100+0.5) * 100)
	}
	return out
}

// SizeCards are for operations whose size follows from a value.
var SizeCards = append(literalCards, []cause.Card{
	{
		ID: "pytorch/crf-tags", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"transitions.view(", "transitions.unsqueeze(", "self.transitions", "torchcrf/__init__.py"}, If: tagged,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: tagFigures,
		Headline: "ran out of memory in the CRF: {asked} for the scores of all tag pairs",
		Means:    "A CRF scores every pair of tags at every position: batch x length x tags x tags.[[ With 10,000 positions in a batch, {asked} means {tags} tags. Usual tag sets have 5 to 100. So probably words were read as labels (wrong column or separator), or sentences were not split.]]",
		Not:      "{settings}; 16 bit: half at best.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", If: manyTags, Title: "Count the labels in your training file", Cost: "a minute", Told: "This lists the last column (Linux and macOS). If it prints words, correct the column or separator, and delete cached vocabularies.", Kind: "text", Text: "`awk 'NF{print $NF}' train.txt | sort | uniq -c | sort -rn | head`"},
			{Fix: "fix_shape", Title: "Print the shapes before that line", Cost: "a minute", Kind: "python", Text: "print(feats.shape, self.transitions.shape)   # feats: the scores that go in; batch, length, tags"},
			{Fix: "lower_batch_size", Title: "Split long sentences, and lower the batch size", Cost: "slower", Told: "Cut sentences at 200 to 500 tokens. A missing blank line can turn a whole file into one sentence."},
			{Fix: "use_smaller_model", Title: "Or use fewer tags, or no CRF", Cost: "some accuracy", Told: "Half the tags take a quarter of the memory. A softmax over the tags needs no pairs."},
		},
		Sources: []string{"NCRFpp/model/crf.py", "pytorch-crf/torchcrf/__init__.py"},
	},
	{
		ID: "pytorch/label-size", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"one_hot(", "bincount(", "F.one_hot", "torch.bincount"},
		If: func(c *ledger.Case) bool {
			return ledger.OnCard(c) && (ledger.Requested(c) > 2*units.GiB || ledger.AbsurdSize(c))
		},
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Means: "Without a fixed number of classes, `one_hot` and `bincount` size their result by the largest label. One wrong label makes the tensor huge: an ignore value such as 255, or an id that was never mapped.",
		Not:   "A smaller batch or a larger GPU, if a label is wrong: it decides the size.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the range of the labels", Kind: "python", Text: "print(labels.min(), labels.max(), labels.dtype, labels.shape)   # before the failing line; the maximum must be below num_classes", Cost: "A minute."},
			{Fix: "lower_batch_size", Title: "Pass num_classes, and replace ignore values", Kind: "text", Text: "Pass `num_classes` to `F.one_hot`. Replace the ignore value before it, for example `labels[labels == 255] = 0`, and mask those positions in the loss.", Cost: "None."},
			{Fix: "restart_session", Title: "List all labels", Kind: "python", Text: "print(labels.unique())   # look for an ignore value, or an id that was never mapped", Cost: "A minute."},
		},
		Sources: []string{"pytorch/aten/src/ATen/native/Onehot.cpp", "https://pytorch.org/docs/stable/generated/torch.nn.functional.one_hot.html"},
	},
}...)

// Useless says why fixes cannot help, by what the allocator and the failing line
// show.
var Useless = func() map[string]func(*ledger.Case) string {
	out := maps.Clone(allocator.Useless)
	out["lower_batch_size"], out["inference_mode"] = uselessBatch, uselessFreeing
	return out
}()

// uselessFreeing says that gradients are off already.
func uselessFreeing(c *ledger.Case) string {
	if !cures.Freed(c) || c.Training() || !alone(c) {
		return ""
	}
	return "Gradients are off already, as the traceback shows."
}

// uselessBatch says why a smaller batch cannot help: the matrix is of the whole
// graph, too.
func uselessBatch(c *ledger.Case) string {
	if told := fix.UselessBatch(c); told != "" || !operation.Is(operation.Distances)(c) || !nodeRows(c) {
		return told
	}
	return "The matrix has a value for every pair of nodes, and the whole graph is one sample."
}

// nodeRows: the rows that meet are the nodes of a graph.
func nodeRows(c *ledger.Case) bool {
	return c.Reader.Work == "graph" || slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		for word := range reader.Words(f.Source + " " + f.Function + " " + path.Base(f.File)) {
			if f.Own && slices.Contains([]string{"adj", "adjacency", "graph", "graphlearn", "gnn", "gcn", "gat", "node", "nodes"}, word) {
				return true
			}
		}
		return false
	})
}
