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
	Headline: "ran out of memory on a graph[[: {asked} in one piece]]",
	Means:    "A layer makes a row for each node, and most for each edge as well: edges x width numbers of 4 bytes, which training keeps for every layer. Where the whole graph is one sample, nodes, edges and width decide.[[ {asked} would be {rows} million rows of 64 numbers.]]",
	Not:      "A smaller batch size, where the whole graph goes through: the batch only picks rows for the loss.[[ {settings}.]]",
	Later:    cures.Kept,
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Train on sampled neighbours", Cost: "noisier gradients", Told: "A step then sees some thousand nodes. With PyTorch Geometric (which needs pyg-lib or torch-sparse for it):", Kind: "python", Text: "from torch_geometric.loader import NeighborLoader\n\nloader = NeighborLoader(data, num_neighbors=[10, 10], batch_size=1024, shuffle=True)   # data: x, edge_index, y"},
		{Fix: "use_smaller_model", Title: "Or narrower or fewer layers", Cost: "accuracy", Told: "Half the hidden width (or half the heads of attention) is half; of wide input features a linear layer or PCA first."},
		{Fix: "cpu_offload", If: when.Not(training), Title: "If nothing is trained: compute it on the CPU", Cost: "slower", Told: "RAM is usually larger, and one pass over the whole graph is enough; under `torch.no_grad()`."},
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
