package script

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/room"
	"github.com/oomdoc/oomdoc/rules/when"
)

var modelMoved = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:(?:self\.)?\w*(?:model|net|network|encoder|decoder|generator|discriminator|module|backbone)\w*\s*=\s*)?(?:self\.)?\w*(?:model|net|network|encoder|decoder|generator|discriminator|module|backbone)\w*\.(?:cuda|to)\([^()]{0,40}\)$`)
})

// movingModel: torch/nn/modules/module.py goes through the parameters of a model
// and takes them to the card, one at a time, and no module is at work; or the
// line that asks for it is the last that the log shows.
func movingModel(c *ledger.Case) bool {
	s, ok := failing(c)
	if !ok || through(c, "-packages/transformers/", "-packages/diffusers/") {
		return false
	}
	return s.reached("_apply", "convert") && !s.reached("forward") || len(s.below) == 0 && containsAny(s.source, ".cuda(", ".to(") && modelMoved().MatchString(s.source)
}

// inOptimizer: the optimizer of a script of one's own makes what it keeps.
func inOptimizer(c *ledger.Case) bool {
	frames := ledger.Trace(c)
	if len(frames) == 0 || through(c, "-packages/transformers/", "-packages/deepspeed/", "-packages/accelerate/", "/fsdp/") {
		return false
	}
	last := frames[len(frames)-1]
	return strings.Contains(strings.ReplaceAll(last.File, `\`, "/"), "torch/optim/") && strings.Contains(last.Source, "zeros_like")
}

// oneTable: one parameter is so large that it decides.
func oneTable(c *ledger.Case) bool {
	return c.Asked.Bytes > units.GiB && (c.Asked.Bytes*12 > c.Total.Bytes || neverFits(c))
}

// tableFigures say what a parameter of that size is.
func tableFigures(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	n := c.Asked.Bytes / 4
	out["numbers"], out["four"] = ledger.Thousands(n/1e6)+" million", units.Amount(c.Asked.Bytes*4)
	out["side"] = ledger.Thousands(int64(math.Sqrt(float64(n))/100+0.5) * 100)
	return out
}

// keeps: sizes of a store of steps, as scripts call them.
var keeps = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:self\.)?(?:args\.|cfg\.|config\.)?(?:capacity|buffer_size|max_size|mem_size|memory_size|replay_size|buffer_capacity|replay_capacity|memory_capacity|replay_memory_size|max_len|num_transitions|max_mem_size)\b`)
})

// bufferMade is the size that a replay buffer of the reader's own is made with,
// "" where the line makes something else.
func bufferMade(c *ledger.Case) string {
	frames := ledger.Trace(c)
	if len(frames) == 0 {
		return ""
	}
	f := frames[len(frames)-1]
	if !f.Own || f.Function != "__init__" || !containsAny(f.Source, "zeros(", "empty(", "ones(") {
		return ""
	}
	file := strings.ToLower(f.File)
	if strings.Contains(file, "buffer") || strings.Contains(file, "replay") || strings.Contains(file, "memory") || slices.ContainsFunc(frames, func(x fact.Code) bool {
		return strings.Contains(strings.ToLower(x.Source), "buffer(") || strings.Contains(x.Source, "ReplayMemory(")
	}) {
		return keeps().FindString(f.Source)
	}
	return ""
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

// denseInside: a library, not a line of the reader's own, has a graph written out
// by PyTorch Geometric.
func denseInside(c *ledger.Case) bool {
	s, ok := failing(c)
	return s.reached("to_dense_adj") && !(ok && s.says("to_dense_adj("))
}

// dense reports that the line writes out a sparse matrix.
func dense(c *ledger.Case) bool {
	s, ok := failing(c)
	return ok && s.itself() && s.says("todense()", "toarray()", "to_dense()", "to_dense_adj(")
}

// ofGraph: the matrix is one of a graph, by its names.
func ofGraph(c *ledger.Case) bool {
	s, _ := failing(c)
	return s.says("adj", "Adj", "ADJ", "lap", "Lap", "edge", "graph", "norm_", "to_dense_adj")
}

// inTorch: it is a tensor already.
func inTorch(c *ledger.Case) bool { s, _ := failing(c); return s.says("to_dense(", "to_dense_adj(") }

// firstUse: PyTorch was making its context on the card, or setting its seed, which
// needs one.
func firstUse(c *ledger.Case) bool {
	frames := ledger.Trace(c)
	if len(frames) == 0 {
		return false
	}
	last := frames[len(frames)-1]
	file := strings.ReplaceAll(last.File, `\`, "/")
	return strings.HasSuffix(file, "torch/cuda/__init__.py") && slices.Contains([]string{"_lazy_init", "set_device", "current_device", "__enter__", "_lazy_call", "mem_get_info", "get_device_properties"}, last.Function) ||
		strings.HasSuffix(file, "torch/cuda/random.py") || last.Own && containsAny(last.Source, "torch.cuda.set_device(", "cuda.manual_seed", "torch.cuda.init(")
}

// shown is what a list in the log shows of the card, "" where it has none.
func shown(c *ledger.Case) map[string]string {
	if room.FullInTable(c) == nil {
		return map[string]string{"shown": ""}
	}
	return room.Shown(c)
}

// tableCards are about one large piece that a line makes or moves as a whole.
var tableCards = []cause.Card{
	{
		ID: "pytorch/first-use", Kinds: []fact.Kind{fact.CUDAError}, If: when.All(firstUse, alone), Cause: cause.LeakedProcess, Weight: cause.Decisive, Figures: shown,
		Headline: "was refused graphics memory at its first use of the card",
		Means:    "It stopped as PyTorch opened the card, before any of your data or weights was there. So this program did not fill it: something else did (an earlier run, another user, another rank that took the same card), or the card is in exclusive mode.[[ {shown}]]",
		Not:      "A smaller batch or model: nothing of them was on the card.",
		Cures: []cause.Cure{
			cures.EndListed, room.IdleCard, room.EndTabled, cures.RuntimeFirst,
			{Fix: "kill_stale_process", If: when.Not(when.Any(cures.Listed, room.Tabled)), Title: "See what holds the card, and end what is yours", Cost: "free; unsaved work in it is lost", Told: "`kill PID` for an earlier run of yours. Nothing listed, but full: `sudo fuser -v /dev/nvidia*` shows runs that crashed.", Kind: "shell", Text: "nvidia-smi"},
			cures.OtherCard,
			{Fix: "restart_session", Title: "If the card is empty: check its mode, then restart", Cost: "the session is lost", Told: "\"E. Process\" under Compute M. in `nvidia-smi` lets only one program in: `sudo nvidia-smi -c 0` changes it. Otherwise the driver is in a bad state: restart the container or machine."},
		},
		Sources: []string{"pytorch/torch/cuda/__init__.py", "pytorch/torch/cuda/random.py", "pytorch/c10/cuda/CUDAException.cpp"},
	},
	{
		ID: "pytorch/one-parameter", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, movingModel, oneTable), Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "ran out of memory while moving the model: one of its parameters alone takes {asked}",
		Means:    "`.to(device)` moves one parameter or buffer at a time, and one of {asked} did not fit: {numbers} numbers at 32 bit. That is an embedding of very many ids, a linear layer after a flattened image or sequence, or a matrix of all nodes or samples squared (about {side} x {side}).[[ {mine} of {total} was in use by then.]]",
		Not:      "A smaller batch, a DataLoader: no data is on the card yet.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the largest parameters", Cost: "a minute", Told: "Before the line that moves the model; the first is the one:", Kind: "python", Text: "for n, p in sorted(model.named_parameters(), key=lambda x: -x[1].numel())[:5]:\n    print(n, tuple(p.shape), p.numel() * 4 / 2**30, \"GiB\")"},
			{Fix: "use_smaller_model", Title: "Make that one smaller", Cost: "little, as a rule", Told: "Embedding: number ids from 0 without gaps, merge rare ones, or halve its width. After a flatten: pool first (`nn.AdaptiveAvgPool2d(7)`). N x N: two factors of N x 16, multiplied where needed, or a sparse matrix."},
			{Fix: "cpu_offload", Title: "Or keep an embedding in RAM", Cost: "slower steps", Told: "Move the other parts only, look rows up on the CPU and move those: `self.emb(ids.cpu()).to(device)`; training needs {four} of RAM for it with Adam."},
		},
		Figures: tableFigures, Sources: []string{"pytorch/torch/nn/modules/module.py", "https://pytorch.org/docs/stable/generated/torch.nn.Embedding.html"},
	},
	{
		ID: "pytorch/optimizer-table", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, inOptimizer, oneTable), Cause: cause.TrainingStateTooLarge, Weight: cause.Decisive,
		Headline: "ran out of memory in the optimizer: one parameter needs {asked} for each value it keeps",
		Means:    "At its first step the optimizer makes copies of each parameter, and one for a single parameter of {asked} was refused: {numbers} numbers, as an embedding of many ids or a first or last layer over them has. Weight, gradient and Adam's two values of it take {four} in all.",
		Not:      "A smaller batch: the table stays as large.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Make that table smaller", Cost: "some accuracy", Told: "Half the embedding width, or half the ids (merge rare ones, drop what occurs once), takes half of the {four}."},
			{Fix: "optimizer_8bit", Title: "Or give the table an optimizer that keeps nothing", Cost: "the table needs a learning rate of its own", Told: "Plain SGD has no state: half of the {four} is saved. Call `step()` and `zero_grad()` of both:", Kind: "python", Text: "large = [p for p in model.parameters() if p.numel() > 1e8]\nothers = [p for p in model.parameters() if p.numel() <= 1e8]\noptimizer, table = torch.optim.Adam(others), torch.optim.SGD(large, lr=0.1)"},
			{Fix: "cpu_offload", Title: "Or keep the table in RAM", Cost: "slower steps", Told: "Leave the embedding on the CPU and move only the rows of a batch: `self.emb(ids.cpu()).to(device)`. Adam then works on it in RAM: {four}."},
		},
		Figures: tableFigures, Sources: []string{"pytorch/torch/optim/adam.py", "https://pytorch.org/docs/stable/generated/torch.nn.Embedding.html"},
	},
	{
		ID: "pytorch/graph-made-dense", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, largePart, denseInside), Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "ran out of memory: a library writes out the graph as a matrix of nodes x nodes, {asked}",
		Means:    "`to_dense_adj` makes a number for every pair of nodes, for the whole graph at once: {asked} at 32 bit is about {side} nodes squared. It counts up to the largest index in `edge_index`, so ids with gaps make it larger than the graph.",
		Not:      "A smaller batch size: the whole graph is written out first. 16 bit: still {half}.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Pass parts of the graph instead of the whole", Cost: "each part is a model of its own", Told: "10,000 nodes take 0.4 GiB, 20,000 1.5, often several times. PyTorch Geometric 2.0.3 and later:", Kind: "python", Text: "part = data.subgraph(torch.arange(10000))   # data: the graph that you pass"},
			{Fix: "fix_shape", Title: "Compare the largest id with the number of nodes", Cost: "a minute", Told: "If it is far above, number the nodes from 0 without gaps.", Kind: "python", Text: "e = data.edge_index   # data: the graph that you pass\nprint(data.num_nodes, int(e.max()) + 1, e.unique().numel())"},
			{Fix: "efficient_attention", Title: "Use a method that works on edges", Cost: "another method", Told: "One that rebuilds the whole adjacency always needs this matrix; methods on neighbours, attributes or sampled edges do not."},
		},
		Figures: tableFigures, Sources: []string{"pytorch_geometric/torch_geometric/utils/_to_dense_adj.py", "pytorch_geometric/torch_geometric/data/data.py"},
	},
	{
		ID: "pytorch/made-dense", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, largePart, dense), Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "ran out of memory: the line writes out a sparse matrix with all its zeros, {asked}",
		Means:    "Dense it has a number for every row and column, zeros included: {asked} at 32 bit is {numbers} numbers[[, {nodes} nodes squared]]. Sparse it is usually a few MB.",
		Not:      "16 bit: the zeros stay. {settings}.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", If: when.All(ofGraph, when.Not(inTorch)), Title: "Keep it sparse", Cost: "none", Told: "In place of that line; then `torch.sparse.mm(adj, x)` where the model multiplies by it (`@`, `matmul`):", Kind: "python", Text: "m = adj.tocoo()   # adj: the scipy matrix before todense() or toarray()\nindex = torch.tensor([m.row.tolist(), m.col.tolist()])\nadj = torch.sparse_coo_tensor(index, torch.tensor(m.data).float(), m.shape).to(device)"},
			{Fix: "fix_shape", If: inTorch, Title: "Leave out the call, and multiply with torch.sparse.mm", Cost: "none", Told: "`torch.sparse.mm(adj, x)` takes the sparse tensor (adj: yours) in place of `adj @ x`; PyTorch Geometric: pass `edge_index` to its layers."},
			{Fix: "stream_dataset", If: when.Not(when.Any(ofGraph, inTorch)), Title: "Make only the rows of a batch dense", Cost: "hardly slower", Kind: "python", Text: "rows = torch.from_numpy(x[i:i + 256].toarray()).float().to(device)   # in the training loop; x: the sparse matrix (csr)"},
			{Fix: "efficient_attention", If: ofGraph, Title: "Or use layers that take edges", Cost: "some rewriting", Told: "PyTorch Geometric's `GCNConv` takes an edge list and DGL's `GraphConv` a graph; neither makes the matrix."},
			{Fix: "stream_dataset", If: ofGraph, Title: "Or train on parts of the graph", Cost: "noisier gradients", Told: "Sampled neighbours or clusters of a few thousand nodes: half the nodes take a quarter."},
			{Fix: "use_smaller_model", If: when.Not(ofGraph), Title: "Or use fewer columns", Cost: "little", Told: "`max_features=20000` in a vectorizer, or `TruncatedSVD` of scikit-learn to a few hundred."},
		},
		Figures: func(c *ledger.Case) map[string]string {
			out := tableFigures(c)
			if out["nodes"] = ""; ofGraph(c) {
				out["nodes"] = out["side"]
			}
			return out
		},
		Sources: []string{"https://pytorch.org/docs/stable/sparse.html", "https://pytorch-geometric.readthedocs.io/en/latest/modules/nn.html"},
	},
	{
		ID: "pytorch/buffer-on-card", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, largePart, func(c *ledger.Case) bool { return bufferMade(c) != "" }), Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "ran out of memory while making a replay buffer on the GPU: {asked}",
		Means:    "The line makes room for all of `{size}` steps at once: steps x an observation x 4 bytes (1 as `uint8`).",
		Not:      "A smaller training batch: the buffer stays as large. {settings}.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep the buffer in RAM, pixels as uint8", Cost: "hardly slower", Told: "Without `device=` in that line, and with `dtype=torch.uint8` for images (a quarter: {bytes}); move only what is sampled:", Kind: "python", Text: "obs = self.obs[idx].to(device).float() / 255   # where batches are sampled; obs: your buffer's name"},
			{Fix: "lower_batch_size", Title: "Or make it shorter", Cost: "older steps are forgotten sooner", Told: "[[{fits}]]100,000 steps are enough for most tasks; it takes memory in proportion."},
			{Fix: "half_precision", Title: "Or store each observation once", Cost: "none", Told: "The next observation is the one at the next index; stacked frames are the single frames before it."},
		},
		Figures: func(c *ledger.Case) map[string]string {
			out := cures.Scene(c)
			out["size"], out["bytes"], out["fits"] = bufferMade(c), units.Amount(c.Asked.Bytes/4), ""
			if part := (c.Total.Bytes - c.Mine.Bytes) * 6 / 10 * 100 / c.Asked.Bytes; part > 0 && part < 90 {
				out["fits"] = "At " + ledger.Thousands(part) + " % of `" + out["size"] + "` this array leaves room to train on the card; other arrays come on top. "
			}
			return out
		},
		Sources: []string{"https://docs.pytorch.org/tutorials/intermediate/reinforcement_q_learning.html", cures.MemoryFAQ},
	},
}
