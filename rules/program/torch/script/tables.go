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
		Headline: "found no free GPU memory when it first opened the GPU",
		Means:    "PyTorch failed while opening the GPU, before this process put any data or weights on it. Something else fills it (an earlier run, another user, another process of the same job), or the GPU is in exclusive mode.[[ {shown}]]",
		Not:      "A smaller batch or model: neither was on the GPU yet.",
		Cures: []cause.Cure{
			cures.EndListed, room.IdleCard, room.EndTabled, cures.RuntimeFirst,
			{Fix: "kill_stale_process", If: when.Not(when.Any(cures.Listed, room.Tabled)), Title: "See what fills the GPU, and end it if it is yours", Cost: "free; unsaved work in it is lost", Told: "`kill PID` ends an earlier run of yours. If the GPU is full but nothing is listed, `sudo fuser -v /dev/nvidia*` shows the processes.", Kind: "shell", Text: "nvidia-smi"},
			cures.OtherCard,
			{Fix: "restart_session", Title: "If the GPU is empty: check its mode, then restart", Cost: "the session is lost", Told: "\"E. Process\" under Compute M. in `nvidia-smi` allows only one program at a time; `sudo nvidia-smi -c 0` changes that. Otherwise restart the container or the machine."},
		},
		Sources: []string{"pytorch/torch/cuda/__init__.py", "pytorch/torch/cuda/random.py", "pytorch/c10/cuda/CUDAException.cpp"},
	},
	{
		ID: "pytorch/one-parameter", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, movingModel, oneTable), Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "ran out of memory while moving the model to the GPU: one parameter alone takes {asked}",
		Means:    "PyTorch moves one parameter or buffer at a time, and one of {asked} did not fit ({numbers} numbers at 32 bit). Usual reasons: an embedding with very many ids, a linear layer after a flattened image, or an N x N matrix (here about {side} x {side}).",
		Not:      "A smaller batch: the model does not depend on it.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the largest parameters", Cost: "a minute", Told: "Put this before the line that moves the model:", Kind: "python", Text: "for n, p in sorted(model.named_parameters(), key=lambda x: -x[1].numel())[:5]:\n    print(n, tuple(p.shape), p.numel() * 4 / 2**30, \"GiB\")"},
			{Fix: "use_smaller_model", Title: "Make that one smaller", Cost: "usually little accuracy", Told: "Embedding: number the ids from 0 without gaps, merge rare ids, or halve its width. Linear layer after a flatten: pool first (`nn.AdaptiveAvgPool2d(7)`). N x N: two N x 16 factors, or a sparse matrix."},
			{Fix: "cpu_offload", Title: "Or keep an embedding in system RAM", Cost: "slower steps", Told: "Move only the other layers, and in `forward` call `self.emb(ids.cpu()).to(device)`. Training it with Adam takes {four} of RAM."},
		},
		Figures: tableFigures, Sources: []string{"pytorch/torch/nn/modules/module.py", "https://pytorch.org/docs/stable/generated/torch.nn.Embedding.html"},
	},
	{
		ID: "pytorch/optimizer-table", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, inOptimizer, oneTable), Cause: cause.TrainingStateTooLarge, Weight: cause.Decisive,
		Headline: "ran out of memory in the optimizer: its state for one parameter takes {asked}",
		Means:    "At its first step the optimizer allocates state as large as each parameter. One parameter of {asked} ({numbers} numbers) did not fit, probably an embedding or a layer over very many ids. With Adam, its weight, gradient and state take {four} in all.",
		Not:      "A smaller batch alone: that parameter stays as large.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Make that layer smaller", Cost: "some accuracy", Told: "Half the embedding width, or half the ids (merge rare ones, drop those that occur once), takes half of the {four}."},
			{Fix: "optimizer_8bit", Title: "Or train that layer with plain SGD", Cost: "it needs its own learning rate", Told: "SGD without momentum has no state, which saves half of the {four}:", Kind: "python", Text: "large = [p for p in model.parameters() if p.numel() > 1e8]\nothers = [p for p in model.parameters() if p.numel() <= 1e8]\noptimizer, table = torch.optim.Adam(others), torch.optim.SGD(large, lr=0.1)   # call step() and zero_grad() on both"},
			{Fix: "cpu_offload", Title: "Or keep an embedding in system RAM", Cost: "slower steps", Told: "Leave it on the CPU and move only the rows of a batch: `self.emb(ids.cpu()).to(device)`. With Adam it takes {four} of RAM."},
		},
		Figures: tableFigures, Sources: []string{"pytorch/torch/optim/adam.py", "https://pytorch.org/docs/stable/generated/torch.nn.Embedding.html"},
	},
	{
		ID: "pytorch/graph-made-dense", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, largePart, denseInside), Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "ran out of memory: the graph is turned into a nodes x nodes matrix of {asked}",
		Means:    "`to_dense_adj` stores a number for every pair of nodes: {asked} at 32 bit is about {side} x {side} nodes. It counts up to the largest index in `edge_index`, so ids with gaps make the matrix larger than the graph.",
		Not:      "A smaller batch size, if the graph is one sample. 16 bit: still {half}.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Pass a part of the graph", Cost: "the result covers that part only", Told: "10,000 nodes take 0.4 GiB per matrix, 20,000 nodes 1.5 GiB. PyTorch Geometric 2.0.3 and later:", Kind: "python", Text: "part = data.subgraph(torch.arange(10000))   # data: the graph that you pass"},
			{Fix: "fix_shape", Title: "Compare the largest id with the number of nodes", Cost: "a minute", Told: "If the second number is far above the third, number the nodes from 0 without gaps.", Kind: "python", Text: "e = data.edge_index   # data: the graph that you pass\nprint(data.num_nodes, int(e.max()) + 1, e.unique().numel())"},
			{Fix: "efficient_attention", Title: "Or use a method that works on edges", Cost: "another method", Told: "Methods that rebuild the whole adjacency matrix always need it. Methods on neighbours or sampled edges do not."},
		},
		Figures: tableFigures, Sources: []string{"pytorch_geometric/torch_geometric/utils/_to_dense_adj.py", "pytorch_geometric/torch_geometric/data/data.py"},
	},
	{
		ID: "pytorch/made-dense", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, largePart, dense), Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "ran out of memory: the line turns a sparse matrix into a dense one of {asked}",
		Means:    "A dense matrix stores every zero: {asked} is {numbers} numbers at 32 bit[[, or {nodes} nodes squared]]. The sparse matrix is usually far smaller.",
		Not:      "16 bit: the zeros still take half. {settings}.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", If: when.All(ofGraph, when.Not(inTorch)), Title: "Keep it sparse", Cost: "none", Told: "Replace that line as below. Then use `torch.sparse.mm(adj, x)` where the model multiplies by it (`@`, `matmul`):", Kind: "python", Text: "m = adj.tocoo()   # adj: the scipy matrix before todense() or toarray()\nindex = torch.tensor([m.row.tolist(), m.col.tolist()])\nadj = torch.sparse_coo_tensor(index, torch.tensor(m.data).float(), m.shape).to(device)"},
			{Fix: "fix_shape", If: inTorch, Title: "Keep it sparse, and multiply with torch.sparse.mm", Cost: "none", Told: "Remove that call, and write `torch.sparse.mm(adj, x)` in place of `adj @ x` (adj: your sparse tensor). PyTorch Geometric: pass `edge_index` to its layers."},
			{Fix: "stream_dataset", If: when.Not(when.Any(ofGraph, inTorch)), Title: "Make only the rows of a batch dense", Cost: "hardly slower", Kind: "python", Text: "rows = torch.from_numpy(x[i:i + 256].toarray()).float().to(device)   # in the training loop; x: the sparse matrix (csr)"},
			{Fix: "efficient_attention", If: ofGraph, Title: "Or use layers that take edges", Cost: "some rewriting", Told: "PyTorch Geometric's `GCNConv` takes an edge list, DGL's `GraphConv` a graph. Neither builds the matrix."},
			{Fix: "stream_dataset", If: ofGraph, Title: "Or train on parts of the graph", Cost: "noisier gradients", Told: "Sample neighbours, or clusters of a few thousand nodes. Half the nodes take a quarter of the memory."},
			{Fix: "use_smaller_model", If: when.Not(ofGraph), Title: "Or use fewer columns", Cost: "little", Told: "Text features: `max_features=20000` in the vectorizer, or scikit-learn's `TruncatedSVD` down to a few hundred columns."},
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
		Headline: "ran out of memory while creating a replay buffer on the GPU: {asked}",
		Means:    "The line allocates room for all `{size}` steps at once: steps x observation size x 4 bytes (1 byte as `uint8`).",
		Not:      "A smaller training batch: the buffer stays as large. {settings}.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep the buffer in system RAM, images as uint8", Cost: "hardly slower", Told: "Remove `device=` from that line. For images add `dtype=torch.uint8` (a quarter: {bytes}). Move only the sampled batch:", Kind: "python", Text: "obs = self.obs[idx].to(device).float() / 255   # where batches are sampled; obs: your buffer's name"},
			{Fix: "lower_batch_size", Title: "Or make it shorter", Cost: "older steps are forgotten sooner", Told: "[[{fits}]]100,000 steps are enough for many tasks. Half the steps take half the memory."},
			{Fix: "half_precision", Title: "Or store each observation once", Cost: "none", Told: "Do not store the next observation: it is at the next index. Store single frames and stack them when sampling."},
		},
		Figures: func(c *ledger.Case) map[string]string {
			out := cures.Scene(c)
			out["size"], out["bytes"], out["fits"] = bufferMade(c), units.Amount(c.Asked.Bytes/4), ""
			if part := (c.Total.Bytes - c.Mine.Bytes) * 6 / 10 * 100 / c.Asked.Bytes; part > 0 && part < 90 {
				out["fits"] = "At " + ledger.Thousands(part) + " % of `" + out["size"] + "` this array leaves room to train on the GPU. "
			}
			return out
		},
		Sources: []string{"https://docs.pytorch.org/tutorials/intermediate/reinforcement_q_learning.html", cures.MemoryFAQ},
	},
}
