package calls

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// ShapeCards are about an array that a line of the reader's own makes by its
// shape, before anything is in it.
var ShapeCards = []cause.Card{
	replayMemory("other/replay-memory", fact.PythonMemory),
	{
		ID: "other/memory-shape", Kinds: []fact.Kind{fact.PythonMemory}, If: func(c *ledger.Case) bool { return shaped(c) != nil }, Figures: shaped,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not get RAM for one array (MemoryError)",
		Means: "`{call}` makes one array of a given shape. Its size is the product of the shape times the bytes of its type (8 unless a `dtype` says less).[[ {sides}]] It was above free RAM and swap, or above `ulimit -v`, a job's limit or what a 32-bit Python can use.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the shape, and lower what makes it large", Cost: "less at once", Told: "[[Likely: `{size}`. ]][[On the command line most likely `{option}`. ]]A smaller type helps too: float32 takes half of float64, uint8 an eighth."},
			{Fix: "use_mmap", Title: "Keep it on disk", Cost: "slower, unless RAM can cache it", Told: "Replace that call with `np.memmap(\"x.dat\", dtype=..., mode=\"w+\", shape=...)`."},
			PageFile, LookWhy, SwapBridge,
		},
		Sources: []string{"https://docs.python.org/3/library/exceptions.html", "https://numpy.org/doc/stable/reference/generated/numpy.memmap.html"},
	},
}

// NumPyShapeCards are the same where NumPy says what it asked for.
var NumPyShapeCards = []cause.Card{
	{
		ID: "numpy/every-barcode", Kinds: []fact.Kind{fact.NumpyAlloc}, If: everyBarcode, Figures: callFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "tried to make the unfiltered 10x Genomics matrix dense: {asked}",
		Means: "737,280 and 6,794,880 are the numbers of all barcodes that 10x chemistries (v2, v3) know, not of cells. So the unfiltered matrix was read and written out with all its zeros. A run has thousands of cells.",
		Not:   "More RAM, swap, a smaller type: nearly all of these rows are empty.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Read the filtered matrix", Cost: "none", Told: "Use the folder `filtered_feature_bc_matrix` (older: filtered_gene_bc_matrices) instead of the raw one. In scanpy:", Kind: "python", Text: "adata = sc.read_10x_mtx(\"filtered_feature_bc_matrix\")   # or sc.read_10x_h5(\"filtered_feature_bc_matrix.h5\")"},
			{Fix: "stream_dataset", Title: "Or drop empty barcodes before anything is made dense", Told: "In scanpy, right after reading:", Cost: "none", Kind: "python", Text: "sc.pp.filter_cells(adata, min_genes=200)   # adata.X stays sparse: no .toarray(), .todense()"},
		},
		Sources: []string{"https://kb.10xgenomics.com/hc/en-us/articles/115004506263", "https://github.com/alexdobin/STAR/issues/829", "https://github.com/theislab/single-cell-tutorial/issues/85"},
	},
	replayMemory("numpy/replay-memory", fact.NumpyAlloc),
	{
		ID: "numpy/graph-densified", Kinds: []fact.Kind{fact.NumpyAlloc}, Said: densify, If: when.All(large, squareShape), Unsaid: Joined(oneHot, allDist), Figures: callFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "had no RAM for a sparse matrix of all pairs made dense[[: {asked}]]",
		Means: "`toarray` or `todense` writes out all the zeros[[: {n} rows and as many columns]], such as a graph's adjacency or similarities. The sparse matrix stores only the pairs that exist.",
		Not:   "More RAM, a smaller type alone: with twice the nodes it is four times as much.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Keep it sparse", Cost: "none as a rule", Ways: []cause.Way{
				{For: "SciPy, networkx", Text: "`A @ X` and sums accept a sparse matrix; `networkx.to_scipy_sparse_array(G)` makes one"},
				{For: "DGL", Text: "`khop_adj` is always dense. For one hop use `graph.adj_external(scipy_fmt=\"csr\")` (before 1.0: `graph.adj(scipy_fmt=\"csr\")`)"},
				{For: "PyTorch", Text: "`torch.sparse.mm(A, X)`, or a graph library's message passing"},
			}},
			{Fix: "stream_dataset", Title: "Make a block of rows dense at a time", Cost: "some rewriting", Kind: "python", Text: "for i in range(0, A.shape[0], 1024):   # A: the sparse matrix, in csr format\n    block = A[i:i + 1024].toarray()"},
			{Fix: "lower_resolution", Title: "If a network needs it whole: train on parts of the graph", Cost: "noisier gradients", Told: "Sample neighbors (DGL `NeighborSampler`, PyG `NeighborLoader`), or use subgraphs of some thousand nodes."},
		},
		Sources: []string{"scipy/sparse/_base.py", "dgl/python/dgl/transforms/functional.py", "https://github.com/dmlc/dgl/issues/4121"}, Solved: 1,
	},
}

// replayMemory is about what an agent learns from, made whole at the start.
func replayMemory(id string, kind fact.Kind) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{kind}, If: func(c *ledger.Case) bool { return replays(c) != nil }, Figures: replays,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "had no RAM for the replay buffer[[: {asked}]]",
		Means: "The line allocates the whole replay buffer at the start: number of steps x bytes of one observation. A million frames of 84 x 84 take 6.57 GiB as bytes and four times that as float32. Storing the next observation too doubles it.",
		Not:   "A smaller batch size, a larger graphics card: this is RAM.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep fewer steps[[: lower `{size}`]]", Told: "Try a tenth first; memory falls in proportion.[[ On the command line it is most likely `{option}`.]]", Cost: "often slower learning"},
			{Fix: "half_precision", If: notBytes, Title: "Keep frames as bytes", Cost: "none", Told: "Pass `dtype=np.uint8`: a quarter of float32, an eighth of float64 (the default of `np.zeros` and `np.empty`). Divide by 255 when you read a batch."},
			{Fix: "use_mmap", Title: "Keep it on disk", Cost: "slower, unless RAM can cache it", Kind: "python", Text: "np.memmap(\"replay.dat\", dtype=dtype, mode=\"w+\", shape=shape)   # in place of that call; dtype, shape: as in that line"},
			PageFile, SwapBridge,
		},
		Sources: []string{"https://github.com/tambetm/simple_dqn/issues/14", "https://numpy.org/doc/stable/reference/generated/numpy.memmap.html"}, Solved: 1,
	}
}

// shapeCall is a call that makes an array by its shape; counted a name that says
// how many or how much.
var (
	shapeCall = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:np|numpy)\.(?:zeros|empty|ones|full|ndarray)\(`)
	})
	counted = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:(?:self|args|opt|opts|cfg|config|params|hparams|FLAGS)\.)?(?:\w*(?:capacity|size|count|num|max)\w*|n_\w+)\b`)
	})
)

// shaped are the call of the failing line and what it counts by; nil for another
// line.
func shaped(c *ledger.Case) map[string]string {
	frames := ledger.Trace(c)
	if len(frames) == 0 {
		return nil
	}
	last := frames[len(frames)-1]
	call := shapeCall().FindString(last.Source)
	if call == "" || !last.Own {
		return nil
	}
	_, arguments, _ := strings.Cut(last.Source, call)
	out := map[string]string{"call": strings.TrimSuffix(call, "("), "size": "", "option": "", "sides": sizeOfShape(arguments)}
	for _, text := range []string{callers(frames), arguments} {
		for _, name := range counted().FindAllString(text, -1) {
			prefix, option, qualified := strings.Cut(name, ".")
			switch {
			case !qualified || prefix == "self":
				out["size"] = name
			default:
				out["size"], out["option"] = name, "--"+option
				return out
			}
		}
	}
	return out
}

// callers are the lines of the reader's own that led to the last.
func callers(frames []fact.Code) string {
	var b strings.Builder
	for _, f := range slices.Backward(frames[:len(frames)-1]) {
		if f.Own {
			b.WriteString(f.Source + "\n")
		}
	}
	return b.String()
}

// replays are the same for a replay memory; nil for another array.
func replays(c *ledger.Case) map[string]string {
	out := shaped(c)
	if out == nil {
		return nil
	}
	frames := ledger.Trace(c)
	words := strings.ToLower(callers(frames) + frames[len(frames)-1].File)
	if !strings.Contains(words, "replay") && !(strings.Contains(words, "buffer(") && strings.Contains(words, "obs")) { // other buffers hold sound, pictures ...
		return nil
	}
	if out["asked"] = ""; c.Asked.Has() {
		out["asked"] = c.Asked.String()
	}
	return out
}

// notBytes: the failing line does not make bytes already.
func notBytes(c *ledger.Case) bool {
	f := ledger.OwnFrame(c)
	return f == nil || !strings.Contains(f.Source, "uint8")
}

// squareShape: the array has as many rows as columns.
func squareShape(c *ledger.Case) bool {
	s := Sides(c)
	return len(s) == 2 && s[0] == s[1]
}

// everyBarcode: a side is the length of a list of barcodes that Cell Ranger has.
func everyBarcode(c *ledger.Case) bool {
	return slices.ContainsFunc(Sides(c), func(n int64) bool { return n == 737_280 || n == 6_794_880 })
}
