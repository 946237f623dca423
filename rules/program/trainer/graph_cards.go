package trainer

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// edges says how many edges a refused tensor is for, with 64 channels of 32 bit.
func edges(c *ledger.Case) map[string]string {
	out := filled(c)
	out["edges"], out["unused"] = "", ""
	if n := ledger.Requested(c) / 256; n >= 200_000 && n < 10_000_000_000 {
		out["edges"] = ledger.Thousands(tidy(n))
	}
	if c.Slack.Has() && c.Asked.Has() && c.Slack.Bytes*8 > c.Total.Bytes {
		out["unused"] = c.Slack.String()
	}
	return out
}

// narrower is a smaller model of a graph.
var narrower = cause.Cure{
	Fix: "use_smaller_model", Title: "Use narrower or fewer layers", Kind: "text", Text: "Halve `hidden_channels`, or the heads of GAT (it keeps a value for each edge and head): half the memory for messages. Or drop a layer.", Cost: "Some accuracy.",
}

var scattered = []string{"torch_scatter", "torch_scatter/", "in scatter_max", "in scatter_add", "in scatter(", "scatter.py", "utils/gen.py"}

var pygCards = []cause.Card{
	{
		ID: "pyg/scatter-index", Kinds: []fact.Kind{fact.TorchAlloc}, Said: scattered,
		If:    func(c *ledger.Case) bool { return ledger.NeverFits(c) != "" || ledger.AbsurdSize(c) },
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "asked for {asked}: one index is far too large", Figures: filled,
		Means: "scatter makes a result with as many rows as the LARGEST number in `index` plus one, times the width of `src`. {asked} on a card of {total} means that an index holds a wrong value, or an ID that was never renumbered (a hash, a database key, an uninitialised value).[[ The program held only {mine}.]]",
		Not:   "Another card, allocator settings: the size comes from a number in the data.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the index and its largest value", Told: "Just before the failing call:", Kind: "python", Text: "print(src.shape, index.shape, index.dtype, int(index.min()), int(index.max()))", Cost: "A minute."},
			{Fix: "stream_dataset", Title: "Renumber IDs that are not 0, 1, 2...", Kind: "python", Text: "_, index = torch.unique(index, return_inverse=True)   # and pass dim_size= the number of nodes", Cost: "None."},
			{Fix: "restart_session", Title: "If the index looks right: find the line that really fails", Told: "An earlier kernel may have written outside its tensor; this makes the program stop there.", Kind: "shell", Text: "CUDA_LAUNCH_BLOCKING=1 python YOUR_SCRIPT.py   # with your own arguments", Cost: "Slow, for one run only."},
		},
		Sources: []string{"https://github.com/rusty1s/pytorch_scatter/issues/84", "pytorch_scatter/torch_scatter/utils/gen.py"}, Solved: 1,
	},
	{
		ID: "pyg/message", Kinds: refused, Said: slices.Concat([]string{"message_passing.py", "in propagate", "in __lift__", "in _lift", "_collect", "gat_conv.py", "torch_geometric/nn/conv"}, scattered[:1]),
		If: when.All(func(c *ledger.Case) bool { return ledger.OnCard(c) && !ledger.Crowded(c) && !ledger.Roomy(c) }, func(c *ledger.Case) bool {
			return ledger.NeverFits(c) == "" || ledger.Requested(c) < 4*c.Total.Bytes && !c.Near(scattered...)
		}), Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out on the messages of all edges at once", Figures: edges,
		Means: "A layer writes a message for EVERY edge, edges x channels x 4 bytes, and in training keeps it for the backward pass[[: {asked} would be {edges} edges of 64 channels]]. With one whole graph in a step there is no batch size to lower.[[ {unused} is reserved but unused, in pieces too small for it.]]",
		Not:   "`DataLoader` with a smaller batch_size, if it is one graph: it batches graphs, not the nodes of one.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Train on sampled neighbours (NeighborLoader)"},
			{Fix: "efficient_attention", Title: "Use a sparse adjacency matrix", If: func(c *ledger.Case) bool { return !c.Near("gat_conv.py") }, Told: "GCN, SAGE and GIN then multiply with it and write no messages (needs torch-sparse or a recent PyG):", Kind: "python", Text: "import torch_geometric.transforms as T\n\ndata = T.ToSparseTensor()(data)   # then model(data.x, data.adj_t)", Cost: "None; not for edge features."},
			narrower,
		},
		Sources: []string{"pytorch_geometric/torch_geometric/nn/conv/message_passing.py", "https://github.com/pyg-team/pytorch_geometric/issues/2730", "https://github.com/pyg-team/pytorch_geometric/issues/406"},
	},
}

var dglCards = []cause.Card{
	{
		ID: "dgl/message", Kinds: append([]fact.Kind{fact.CPUAlloc}, refused...), Said: []string{"dgl/core.py", "in update_all", "in apply_edges", "dgl/nn/pytorch", "dgl/ops/"},
		If: ownCard, Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out on the messages of all edges at once", Figures: edges,
		Means: "A message function computes values for every edge of its graph: edges x channels x 4 bytes[[. {asked} would be {edges} edges of 64 channels]]. Training keeps them for the backward pass, for each layer. With the full graph in one step there is no batch size to lower.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "efficient_attention", Title: "Use DGL's built-in message functions", Told: "A message function of your own writes a value for every edge; the built-in ones do not:", Kind: "python", Text: "graph.update_all(dgl.function.copy_u(\"h\", \"m\"), dgl.function.mean(\"m\", \"h\"))", Cost: "None."},
			narrower,
		},
		Sources: []string{"dgl/python/dgl/core.py", "dgl/python/dgl/dataloading/dataloader.py"},
	},
}
