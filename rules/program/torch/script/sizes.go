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
		Headline: "ran out of memory in the CRF's scores of tag pairs: {asked}",
		Means:    "A CRF scores every pair of tags at every position: batch x length x tags x tags.[[ With 10,000 positions in a batch {asked} would be {tags} tags. Usual sets have 5 to 100, so most likely words were read as labels (wrong column or separator, an extra field), or sentences were not split.]]",
		Not:      "{settings}; 16 bit: half at best.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", If: manyTags, Title: "Count the labels that were read", Cost: "a minute", Told: "One label a line, the last column (on Linux and macOS as below). If it prints words, correct the column or separator, and delete cached alphabets or vocabularies.", Kind: "text", Text: "`awk 'NF{print $NF}' train.txt | sort | uniq -c | sort -rn | head`"},
			{Fix: "fix_shape", Title: "Print the three sizes before that line", Cost: "a minute", Kind: "python", Text: "print(feats.shape, self.transitions.shape)   # feats: the scores that go in; batch, length, tags"},
			{Fix: "lower_batch_size", Title: "Split long sentences, and lower the batch size", Cost: "slower", Told: "One sentence without its blank line at the end can be the whole file: cut at 200 to 500 tokens."},
			{Fix: "use_smaller_model", Title: "Or use fewer tags, or no CRF", Cost: "some accuracy", Told: "Half the tags take a quarter. A softmax over the tags has no pairs."},
		},
		Sources: []string{"NCRFpp/model/crf.py", "pytorch-crf/torchcrf/__init__.py"},
	},
	{
		ID: "pytorch/label-size", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"one_hot(", "bincount(", "F.one_hot", "torch.bincount"},
		If: func(c *ledger.Case) bool {
			return ledger.OnCard(c) && (ledger.Requested(c) > 2*units.GiB || ledger.AbsurdSize(c))
		},
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Means: "The size of one_hot and bincount follows from the largest label. One wrong label, such as an ignore value of 255 or an id that was never mapped, makes the tensor huge. Memory is not what is wrong.",
		Not:   "A smaller batch or a larger card: the label decides the size.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the range of the labels", Kind: "python", Text: "print(labels.min(), labels.max(), labels.dtype, labels.shape)   # before the failing line; the maximum must be below num_classes", Cost: "A minute."},
			{Fix: "lower_batch_size", Title: "Pass num_classes, and mask what is ignored", Kind: "text", Text: "Give `F.one_hot` its `num_classes`, and replace the ignore value before it, such as `labels[labels == 255] = 0`.", Cost: "None."},
			{Fix: "restart_session", Title: "List all labels that occur", Kind: "python", Text: "print(labels.unique())   # the odd one is the ignore value, or an id that was never mapped", Cost: "A minute."},
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
	return "They are off already, as the traceback shows (`decorate_context`, or the line itself)."
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
