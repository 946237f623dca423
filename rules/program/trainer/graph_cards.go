package trainer

import (
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// edges says how many edges a refused tensor is for, with 64 channels of 32 bit.
func edges(c *ledger.Case) map[string]string {
	out := parts.Filled(c)
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
	Fix: "use_smaller_model", Title: "Use narrower or fewer layers", Kind: "text", Text: "Half the `hidden_channels`, or half the heads of a GAT, takes half the memory for messages. Or drop a layer.", Cost: "Some accuracy.",
}

var scattered = []string{"torch_scatter", "torch_scatter/", "in scatter_max", "in scatter_add", "in scatter(", "scatter.py", "utils/gen.py"}

var pygCards = []cause.Card{
	{
		ID: "pyg/scatter-index", Kinds: []fact.Kind{fact.TorchAlloc}, Said: scattered,
		If:    func(c *ledger.Case) bool { return ledger.NeverFits(c) != "" || ledger.AbsurdSize(c) },
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "asked for {asked}: probably one index is far too large", Figures: parts.Filled,
		Means: "scatter allocates as many rows as the LARGEST number in `index` plus one. {asked} on a {total} GPU means that an index holds a wrong value, or an ID that was never renumbered (a hash, a database key, an uninitialised value).",
		Not:   "Another GPU, allocator settings: the size comes from a number in your data.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the index and its largest value", Told: "Insert just before the failing call:", Kind: "python", Text: "print(src.shape, index.shape, index.dtype, int(index.min()), int(index.max()))", Cost: "A minute."},
			{Fix: "stream_dataset", Title: "Renumber IDs that are not 0, 1, 2...", Kind: "python", Text: "_, index = torch.unique(index, return_inverse=True)   # and pass dim_size= the number of nodes", Cost: "None."},
			{Fix: "restart_session", Title: "If the index looks right: find the line that really fails", Told: "An earlier kernel may have written outside its tensor. With this the program stops there:", Kind: "shell", Text: "CUDA_LAUNCH_BLOCKING=1 python YOUR_SCRIPT.py   # with your own arguments", Cost: "Slow, for one run only."},
		},
		Sources: []string{"https://github.com/rusty1s/pytorch_scatter/issues/84", "pytorch_scatter/torch_scatter/utils/gen.py"}, Solved: 1,
	},
	{
		ID: "pyg/message", Kinds: parts.Refused, Said: slices.Concat([]string{"message_passing.py", "in propagate", "in __lift__", "in _lift", "_collect", "gat_conv.py", "torch_geometric/nn/conv"}, scattered[:1]),
		If: when.All(func(c *ledger.Case) bool { return ledger.OnCard(c) && !ledger.Crowded(c) && !ledger.Roomy(c) }, func(c *ledger.Case) bool {
			return ledger.NeverFits(c) == "" || ledger.Requested(c) < 4*c.Total.Bytes && !c.Near(scattered...)
		}), Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory: a layer computes a message for every edge", Figures: edges,
		Means: "A layer computes a message for EVERY edge (edges x channels x 4 bytes), and training keeps it for the backward pass[[: {asked} would be {edges} edges with 64 channels]]. If one whole graph is passed per step, there is no batch size to lower.",
		Not:   "`DataLoader` with a smaller batch_size, if you have one graph: it batches graphs, not nodes.",
		Cures: []cause.Cure{
			{Fix: "inference_mode", If: cures.Evaluating, Title: "Evaluate layer by layer in batches, or on the CPU", Told: "The whole graph goes through at once here. The OGB and PyG examples have `model.inference(x, loader)` with `NeighborLoader(num_neighbors=[-1])`. If RAM allows, it is simpler on the CPU:", Kind: "python", Text: "model.cpu(); data = data.cpu()\nwith torch.no_grad():\n    out = model(data.x, data.adj_t)   # your own call; then model.cuda() again", Cost: "Slower; same result."},
			{Fix: "lower_batch_size", If: when.Not(cures.Evaluating), Title: "Train on sampled neighbours (NeighborLoader)"},
			{Fix: "efficient_attention", Title: "Use a sparse adjacency matrix", If: func(c *ledger.Case) bool { return !c.Near("gat_conv.py") }, Told: "GCN, SAGE and GIN then multiply by it and store no messages (needs torch-sparse or a recent PyG):", Kind: "python", Text: "import torch_geometric.transforms as T\n\ndata = T.ToSparseTensor()(data)   # then model(data.x, data.adj_t)", Cost: "None; not for edge features."},
			narrower,
		},
		Sources: []string{"pytorch_geometric/torch_geometric/nn/conv/message_passing.py", "https://github.com/pyg-team/pytorch_geometric/issues/2730", "https://github.com/pyg-team/pytorch_geometric/issues/406"},
	},
}

var dglCards = []cause.Card{
	{
		ID: "dgl/message", Kinds: append([]fact.Kind{fact.CPUAlloc}, parts.Refused...), Said: []string{"dgl/core.py", "in update_all", "in apply_edges", "dgl/nn/pytorch", "dgl/ops/"},
		If: parts.Own, Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory: it computes a message for every edge", Figures: edges,
		Means: "A message function computes values for every edge: edges x channels x 4 bytes[[. {asked} would be {edges} edges with 64 channels]]. Training keeps them for each layer. If the full graph is passed per step, there is no batch size to lower.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "efficient_attention", Title: "Use DGL's built-in message functions", Told: "Your own message function stores a value for every edge; the built-in ones do not:", Kind: "python", Text: "graph.update_all(dgl.function.copy_u(\"h\", \"m\"), dgl.function.mean(\"m\", \"h\"))", Cost: "None."},
			narrower,
		},
		Sources: []string{"dgl/python/dgl/core.py", "dgl/python/dgl/dataloading/dataloader.py"},
	},
}
