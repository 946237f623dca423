package subject

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// graph: nodes and edges go through a network, by the names of its arguments.
var graph = says("edge_index", "edge_attr", "edge_weight", "cogdl/", "unsup_graphsage", "message_passing")

// GraphCards are about graphs that go through as a whole.
var GraphCards = []cause.Card{{
	ID: "pytorch/whole-graph", Kinds: cures.Refused, If: of(graph, largePart), Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory in a graph network[[: {asked} at once]]",
	Means:    "A layer stores a row for each node, and often one for each edge: edges x width numbers of 4 bytes. Training keeps them for every layer.[[ {asked} would be {rows} million rows of 64 numbers.]]",
	Not:      "A smaller batch size, if the whole graph is passed in every step.[[ {settings}.]]",
	Later:    cures.Kept,
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "For one large graph: train on sampled neighbours", Cost: "noisier gradients", Told: "For many small graphs, lower the batch size instead. PyTorch Geometric (needs pyg-lib or torch-sparse):", Kind: "python", Text: "from torch_geometric.loader import NeighborLoader\n\nloader = NeighborLoader(data, num_neighbors=[10, 10], batch_size=1024, shuffle=True)   # data: x, edge_index, y"},
		{Fix: "use_smaller_model", Title: "Or use narrower or fewer layers", Cost: "accuracy", Told: "Half the hidden width, or half the attention heads, takes half the memory. Reduce wide input features with a linear layer or PCA first."},
		{Fix: "cpu_offload", If: when.Not(training), Title: "If nothing is trained: compute it on the CPU", Cost: "slower", Told: "Use `torch.no_grad()`: one pass over the graph is enough, and system RAM is usually larger."},
		sixteen,
	},
	Figures: func(c *ledger.Case) map[string]string {
		out := cures.Scene(c)
		out["rows"] = ""
		if n := c.Asked.Bytes / 256 / 1_000_000; n > 1 {
			out["rows"] = ledger.Thousands(n)
		}
		return out
	},
	Sources: []string{"pytorch_geometric/torch_geometric/loader/neighbor_loader.py", "https://github.com/THUDM/CogDL/issues/370", "https://github.com/jhljx/CTGCN/issues/7"},
}}
