package script

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// recurrent: the traceback ends in an LSTM or GRU of PyTorch's, whatever its
// version calls the function.
func recurrent(c *ledger.Case) bool {
	frames := ledger.Trace(c)
	return len(frames) > 0 && strings.HasSuffix(strings.ReplaceAll(frames[len(frames)-1].File, `\`, "/"), "torch/nn/modules/rnn.py")
}

// ofPoints are functions of networks over points that group neighbours.
var ofPoints = strings.Fields("query_ball_point square_distance index_points farthest_point_sample sample_and_group sample_and_group_all knn_point get_graph_feature ball_query query_and_group grouping_operation group_points three_interpolate furthest_point_sample knn_query")

// groupsPoints: the innermost lines of the reader's own group points.
func groupsPoints(c *ledger.Case) bool {
	frames := ledger.Trace(c)
	for i := len(frames) - 1; i >= max(0, len(frames)-4); i-- {
		if slices.Contains(ofPoints, frames[i].Function) {
			return true
		}
	}
	return false
}

// layerCards are about layers whose work does not follow from the size of a picture.
var layerCards = []cause.Card{
	{
		ID: "pytorch/points", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, groupsPoints), Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while grouping the points of a point cloud",
		Means:    "The network searches neighbours among all points. That takes batch x centres x points values for the distances, then batch x centres x neighbours x channels for the groups.",
		Not:      "{settings}.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size", Cost: "slower", Told: "Half the batch size[[ ({batch})]] takes about half the memory (`--batch_size` in most of these scripts). Training below a batch size of 4 hurts batch norm."},
			{Fix: "lower_resolution", Title: "Use fewer points per sample", Cost: "detail", Told: "Sample 1,024 or 2,048 points (`--num_point` or `--npoint`). Half the points and centres take a quarter of the distances. Process a whole scene in blocks."},
			{Fix: "use_smaller_model", Title: "Or fewer neighbours", Cost: "little accuracy", Told: "Halve `nsample` or `k` in the first layers: the groups then take half. In PointNet++, single-scale grouping (ssg) takes about half of multi-scale (msg)."},
		},
		Figures: cures.Scene, Sources: []string{"https://github.com/yanx27/Pointnet_Pointnet2_pytorch", "https://github.com/WangYueFt/dgcnn"},
	},
	{
		ID: "pytorch/long-sequence", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, recurrent, eighth), Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory in a recurrent layer: {asked} for one batch",
		Means:    "An LSTM or GRU stores the gates of every time step of every sample: batch x length x width x layers. {asked} means a large batch (perhaps the whole data set) or very long sequences.",
		Not:      "{settings}.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Pass smaller batches", Cost: "slower", Told: "Print `x.shape` before that line. If the batch is the whole data set, use a `DataLoader` with `batch_size=64`. Otherwise halve the batch size[[ ({batch})]]."},
			{Fix: "lower_context", Title: "Or shorter sequences", Cost: "no gradient beyond a window", Told: "Cut the longest ones, or process them in windows and carry the state:", Kind: "python", Text: "state = None\nfor part in x.split(200, dim=1):                  # batch_first=True; otherwise dim=0\n    out, state = lstm(part, state)                # loss and backward for this window; lstm: yours\n    state = tuple(s.detach() for s in state)      # GRU: state = state.detach()"},
			{Fix: "inference_mode", If: when.Not(when.Any((*ledger.Case).Training, cures.Freed)), Title: "If nothing is trained: turn gradients off", Cost: "none", Told: "The gates are then freed at once.", Kind: "python", Text: "with torch.no_grad():\n    out = model(x)   # as in your call"},
			{Fix: "use_smaller_model", Title: "Or fewer hidden units or layers", Cost: "accuracy", Told: "Half of either takes about half. A strided convolution in front shortens long signals four or eight times."},
		},
		Figures: cures.Scene, Sources: []string{"pytorch/torch/nn/modules/rnn.py", "https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html"},
	},
	{
		ID: "pytorch/graph-propagated", Kinds: cures.Refused, If: of(func(s statement) bool { return s.itself() && s.says("sparse.mm(", "torch.spmm(", "sparse_mm(") }), Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in a graph layer over the whole graph",
		Means:    "Each layer multiplies the graph's matrix by the features of all its nodes. In training it keeps nodes x width numbers per layer. If the whole graph is passed in every step, the batch size does not change that.",
		Not:      "A smaller batch, if the whole graph is passed in every step. {settings}.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Use fewer layers or a narrower embedding", Cost: "some accuracy", Told: "Half the embedding width (64 to 32) takes half, optimizer state included. Use 2 layers instead of 3 or 4."},
			{Fix: "gradient_checkpointing", If: (*ledger.Case).Training, Title: "Or recompute the layers in the backward pass", Cost: "a quarter slower", Kind: "python", Text: "from torch.utils.checkpoint import checkpoint\n\nx = checkpoint(torch.sparse.mm, adj, x)   # in place of torch.sparse.mm(adj, x); adj, x: yours"},
			{Fix: "stream_dataset", Title: "Or train on parts of the graph", Cost: "noisier gradients", Told: "Sample the neighbours of the nodes in the batch, or drop edges. In a recommender, leave out users and items with few interactions."},
			{Fix: "cpu_offload", If: when.Not((*ledger.Case).Training), Title: "Or compute the final embeddings on the CPU", Cost: "slower", Told: "Compute them once under `torch.no_grad()`, with model and matrix on the CPU. Then score in blocks."},
		},
		Figures: cures.Scene, Sources: []string{"https://pytorch.org/docs/stable/sparse.html", "https://github.com/gusye1234/LightGCN-PyTorch"},
	},
}
