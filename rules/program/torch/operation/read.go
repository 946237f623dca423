package operation

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Operations that a line shows by more than the function it calls.
const (
	Scores      ID = "scores"      // queries x keys
	Boxes       ID = "boxes"       // boxes x boxes
	Correlation ID = "correlation" // positions x positions
	Volume      ID = "volume"      // channels x depths x area
	OneHot      ID = "one_hot"     // labels x classes
	Flat        ID = "flat"        // all gradients in one buffer
	Gathered    ID = "gathered"    // what all ranks hold
	State       ID = "state"       // the optimizer's, as large as the parameters
	Twice       ID = "twice"       // a copy of the weights
	Cache       ID = "cache"       // keys and values of all tokens
	WholeSet    ID = "whole_set"   // all samples in one tensor
	Dense       ID = "dense"       // rows x columns, zeros included
	Masking     ID = "masking"     // what a mask selects, and its indices
	Padding     ID = "padding"     // the input and its border, or the longest
	Patches     ID = "patches"     // kernel x kernel times the input
	Residues    ID = "residues"    // residues x residues
	Second      ID = "second"      // a graph of the backward pass
	Result      ID = "result"      // scores of a whole image or volume
	Feeding     ID = "feeding"     // a batch handed to a network
)

// line is a source line of a traceback, as its recognisers read it.
type line struct {
	source   string // without what stands behind it in a comment
	function string
	file     string // in small letters
}

func lineOf(f fact.Code) line {
	source, _, _ := strings.Cut(f.Source, "  #")
	return line{strings.TrimSpace(source), f.Function[strings.LastIndexByte(f.Function, '.')+1:], strings.ToLower(strings.ReplaceAll(f.File, `\`, "/"))}
}

// says reports that the line has one of the texts.
func (l line) says(texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(l.source, text) })
}

// within reports that the line stands in one of the functions.
func (l line) within(functions ...string) bool { return slices.Contains(functions, l.function) }

// in reports that the line's file has one of the texts in its path.
func (l line) in(parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(l.file, part) })
}

// assigned is the name that the line gives its result, "" for none.
func (l line) assigned() string {
	name, _, ok := strings.Cut(l.source, "=")
	name, _, _ = strings.Cut(strings.TrimSpace(strings.TrimRight(name, "+-*/ ")), "[")
	if !ok || strings.ContainsAny(name, "( ") {
		return ""
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// multiplies reports a product of matrices.
func (l line) multiplies() bool {
	return l.says(" @ ", "matmul(", "bmm(", ".mm(", "einsum(", "np.dot(", ".dot(", "BatchMatMul")
}

// readers say what a line computes, the surest first.
var readers = []struct {
	id    ID
	reads func(line) bool
}{
	{State, line.keepsState}, {Flat, line.flattens}, {Gathered, line.gathers}, {Second, func(l line) bool { return l.says("create_graph=True", "create_graph = True") }},
	{Cache, line.grows}, {OneHot, line.spreads}, {Scores, line.scores}, {Logits, line.classes}, {Correlation, line.correlates}, {Volume, line.stacksDepths},
	{Boxes, line.boxes}, {Distances, line.pairs}, {Dense, line.densifies}, {Twice, line.copiesWeights}, {WholeSet, line.wholeSet}, {Result, line.addsUp},
	{Residues, func(l line) bool {
		return l.within("_opm") || l.in("outer_product_mean", "triangular_", "triangle_")
	}},
	{Gathering, line.perEdge}, {Padding, line.pads},
	{Patches, func(l line) bool { return l.says("unfold(", "im2col(", "extract_patches(", "view_as_windows(") }},
	{Masking, line.masks}, {Decomposition, func(l line) bool {
		return l.says("linalg.", ".inverse(", "cholesky", "torch.svd(", "corrcoef(") || l.within("cov", "corrcoef")
	}},
	{Recurrent, func(l line) bool { return l.within("selective_scan") || l.says("deltaA =", "deltaA=") }},
	{Convolution, func(l line) bool { return l.in("deform_conv", "/dcn") && l.within("forward") }},
	{Creation, func(l line) bool { return l.says("meshgrid(", "PolynomialFeatures(") }},
}

// reads is what a line computes by its own words.
func reads(l line) ID {
	for _, r := range readers {
		if r.reads(l) {
			return r.id
		}
	}
	return ""
}

// read is what the failing line computes by its own words, "" where they do not
// tell. PyTorch's and NumPy's own functions do what the line above them asks for.
func read(frames []fact.Code) ID {
	for _, f := range slices.Backward(frames[max(0, len(frames)-3):]) {
		l := lineOf(f)
		if l.source == "" {
			continue
		}
		if id := reads(l); id != "" {
			return id
		}
		if !l.in("/torch/", "/numpy/", "/scipy/", "/tensorflow/", "/jax/") {
			return ""
		}
	}
	return ""
}

func (l line) keepsState() bool {
	return l.in("/optim/", "/optimizers/") && !l.in("lbfgs") && l.says("exp_avg", "_foreach_", "state[", "momentum_buffer", "square_avg", "denom") || l.says("exp_avg", "weights_partition = ", "fp32_partition")
}

func (l line) flattens() bool {
	grads := l.says("grad")
	return l.says("_flatten_dense_tensors(", "parameters_to_vector(") || l.within("_gather_flat_grad", "flatten_dense_tensors_aligned") || grads && l.says("self.flatten(", ".flatten() for", ".view(-1) for", ".reshape(-1) for")
}

func (l line) gathers() bool {
	return l.says("tensors_gather", ".gather(0,", "all_gather(", "all_gather_into_tensor(", "gather_object(") || l.says("empty(", "empty_like(", "zeros_like(") && l.says("world_size", "in size_list") || l.within("all_gather", "concat_all_gather", "_gpu_gather_one", "gather_tensors") && l.says("cat(", "empty")
}

// grows: the keys and values of earlier tokens, joined with the new ones.
func (l line) grows() bool {
	return l.says("key_cache", "value_cache", "past_key", "past_value", "kv_cache", "k_cache", "v_cache") && !l.says("model(", "softmax") || l.within("repeat_kv")
}

func (l line) spreads() bool {
	return l.says("one_hot", "onehot", "OneHot", "to_categorical(", "get_dummies(") || l.within("to_categorical", "one_hot") || l.says("arange(") && l.says("== ") && l.says("[..., None]", "[:, None]")
}

// about are words in names for what meets in attention.
var about = sync.OnceValues(func() (operands, names *regexp.Regexp) {
	q, k := `(?:q|Q|qt|query\w*|queries|proj_query|q_\w+|Q_\w+|theta\w*|xq)\b`, `(?:k|K|kt|key\w*|keys|proj_key|k_\w+|K_\w+|phi\w*|xk)\b`
	operands = regexp.MustCompile(`\b` + q + `[^=]*(?:@|,)[^=]*\b` + k)
	names = regexp.MustCompile(`\b(?:attn\w*|attention\w*|energy|dots|qk|QK|sim_map|w_|f_div_C|K_expand|Q_K\w*|\w+_attn|attn)\b`)
	return
})

// scores: a number for every query and key, or what is done with them.
func (l line) scores() bool {
	if l.says("scaled_dot_product_attention(", "memory_efficient_attention(", "flash_attn") || SelfProduct(l.source) {
		return false
	}
	operands, names := about()
	works := l.says("softmax(", "masked_fill(", "dropout(", "attn_drop(", "baddbmm(", "torch.where(", "_bias", "rel_h", ".expand(")
	inside := l.in("attention", "attn", "non_local", "nonlocal", "transformer", "/vit") || strings.Contains(strings.ToLower(l.function), "attention") || strings.Contains(l.function, "qkv") || l.within("attend", "_prob_QK")
	switch multiplies := l.multiplies(); {
	case multiplies && operands.MatchString(l.source):
		return true
	case (multiplies || works) && names.MatchString(l.source):
		return true
	case inside && works && l.says("softmax(") && l.says("qk", "sim", "scores", "weights", "(f,", "dots", "(w,"):
		return true
	}
	return l.within("get_attention_scores") || l.says("(scores @ v)", "(attn @ v)", "attn @ v", "(weights @ v)") || inside && l.says("attention_scores", "b h i d, b h j d", "b i d, b j d", "t_score")
}

// classes: a score for every class or word at every position.
func (l line) classes() bool {
	if l.says("lm_head(", "log_softmax(", "logsumexp(", "vocab_parallel", "cross_entropy(", "nll_loss(", "cross_entropy_loss(") {
		return true
	}
	loss := strings.Contains(strings.ToLower(l.function), "loss") || l.in("loss", "dice")
	return l.says("logits") && l.says("softmax(", ".float()", ".clone()", "logit in logits") || loss && l.says("softmax(input", "softmax(pred", "softmax(out", "softmax(net")
}

func (l line) correlates() bool {
	return l.multiplies() && (l.within("corr", "correlation") || l.in("/corr.py", "correlation") || l.says("fmap1", "fmap2"))
}

func (l line) stacksDepths() bool {
	return l.says("volume", "cost = ", "maxdisp", "num_depth") && l.says("volume", "maxdisp", "num_depth", "depth_values", "warped") && !l.says("volumetric_function(", "model(")
}

func (l line) boxes() bool {
	return l.says("tgt_ids", "boxes1[:, None", "box1[:, None", "bboxes1[..., :, None", "n_max_boxes", "box_iou(", "iou_calculator(") || l.within("bbox_overlaps", "box_iou", "_box_inter_union", "get_box_metrics", "iou_calculation") && l.says("*", "max(", "min(", "expand(", "[..., ")
}

// comparing are functions that compare all with all.
var comparing = strings.Fields("knn dist pdist cdist distance distances square_distance pairwise euclidean cosine similarity affinity distmat kernel rbf chamfer mmd pairwise_distance pairwise_distances compute_distances distance_matrix guassian_kernel gaussian_kernel euclidean_distance euclidean_dist cosine_similarity batch_pairwise_dist distchamfer _prepare_attentional_mechanism_input postprocess_rbf getadjmat coarse_matching")

// pairs: rows of one side meet all rows of the other.
func (l line) pairs() bool {
	if l.says("cdist(", "pairwise_dist", "pdist(", "euclidean_distances(", "cosine_similarity(", "subtract.outer(", "np.outer(", "linkage(", "similarity_f(", "build_adjacency_matrix") || SelfProduct(l.source) {
		return true
	}
	if l.multiplies() && (l.says(".t())", ".T)", ".mT)", ".transpose(") || strings.HasSuffix(l.source, ".T") || allPairs(l.source)) {
		return !l.says("weight")
	}
	spread := l.says("unsqueeze(1)", "unsqueeze(2)", "[:, None", "[:,None", "[:,:,None") && l.says("unsqueeze(0)", "unsqueeze(1)", "[None", ", None,", ",None,") && l.says(" - ", "-b", " * ", "similarity")
	square := l.says("zeros(", "empty(") && (l.says(".shape[0], ") && strings.Count(l.source, ".shape[0]") > 1 || l.says("(node_size, node_size)", "((n, n)", "(N, N)", "(n, n)"))
	among := slices.Contains(comparing, strings.ToLower(l.function)) || l.in("/coarse_matching.py", "chamfer", "distance")
	return spread || square || l.says("repeat(N,1)", "repeat(N, 1)", "expand(n, m", "expand(m, n", "repeat_interleave(N", "N * N") || strings.Count(l.source, ".tile(") > 1 || among && l.says("expand(", " - ", "- 2", "-2", "exp_()", "**", "pow(", "softmax(", "cat(", "zeros(")
}

// terms of an einsum: two operands and the result.
var terms = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`["']\s*([A-Za-z. ]+),\s*([A-Za-z. ]+)->\s*([A-Za-z. ]+)["']`)
})

// allPairs reports an einsum over what both operands have, in which each keeps a
// side of its own: rows x rows.
func allPairs(source string) bool {
	m := terms().FindStringSubmatch(source)
	if m == nil {
		return false
	}
	own := func(a, b string) bool {
		return strings.ContainsFunc(a, func(r rune) bool { return r != ' ' && strings.ContainsRune(m[3], r) && !strings.ContainsRune(b, r) })
	}
	summed := strings.ContainsFunc(m[1], func(r rune) bool { return r != ' ' && strings.ContainsRune(m[2], r) && !strings.ContainsRune(m[3], r) })
	return summed && own(m[1], m[2]) && own(m[2], m[1])
}

func (l line) densifies() bool {
	return l.says(".to_dense(", ".todense(", ".toarray(") || l.within("_process_toarray_args")
}

func (l line) copiesWeights() bool {
	return l.says("deepcopy(model", "deepcopy(self.model", "deepcopy(net", "master_param", "shard_main_param", "model_grad.float()") || l.says("param.", "p.data", "params") && l.says(".clone()")
}

// sets are names of all samples there are.
var sets = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:x_?train|train_?x|x_?test|all_?images|images_?all|images_?list|out_images|image_?list|all_?data|train_?images|train_?data|self\.cached\w*|batch_list|rays_rgb|frames|video)\b`)
})

// wholeSet: all samples, images or frames become one tensor.
func (l line) wholeSet() bool {
	if l.in("datamanager", "nerfstudio_collate") || l.within("cache_images", "_load_images") {
		return l.says("stack(", "cat(", "collate")
	}
	made := l.says("stack(", "array(", "FloatTensor(", "torch.tensor(", "Tensor(", "concatenate(", "from_numpy(", ".cuda()", ".to(device")
	return made && sets().MatchString(l.source) && !l.within("forward", "__getitem__", "collate_fn", "collate") && !networkCall(l.source) || l.says("zeros(", "empty(") && l.says("len(files", "len(images", "len(paths", "len(img")
}

// addsUp: an evaluation keeps scores of a whole image or volume.
func (l line) addsUp() bool {
	name := strings.ToLower(l.assigned())
	named := strings.Contains(name, "prob") || strings.Contains(name, "logit") || strings.Contains(name, "score_map") || strings.Contains(name, "count_map") || strings.Contains(name, "vote")
	uses := slices.ContainsFunc([]string{"predict", "test", "infer", "sliding", "eval", "valid"}, func(word string) bool { return strings.Contains(strings.ToLower(l.function), word) })
	return named && uses && l.says("+=", "zeros(", "empty(")
}

func (l line) perEdge() bool {
	return l.says("x[col]", "x[row]", "edge_index", "x_i, x_j", "(x_j", "index_select(", "spmm(", "sparse.mm(", "gspmm", "feature-x", "np.take(", "scatter_max(", "scatter_mean(") && !l.says("model(") && !networkCall(l.source) || l.in("torch_scatter/")
}

func (l line) pads() bool {
	return l.says("F.pad(", "_pad1d(", "_pad2d(", "_pad3d(", "np.pad(", "pad_sequence(", "constant_pad_nd(")
}

func (l line) masks() bool {
	return l.says("count_nonzero(", "masked_select(", "nonzero(", "[mask]", "[valid]", "[keep]", "[valid_mask]", "_mask]")
}

// networkCall reports a line that hands a batch to a network.
func networkCall(source string) bool {
	_, value, assigned := strings.Cut(source, "= ")
	if !assigned {
		value = strings.TrimPrefix(source, "return ")
	}
	caller, _, called := strings.Cut(strings.TrimLeft(value, "[ "), "(")
	name := strings.ToLower(caller)
	for _, method := range []string{".forward", ".inference", ".predict", ".module"} {
		name = strings.TrimSuffix(name, method)
	}
	name = name[strings.LastIndexByte(name, '.')+1:]
	if strings.Contains(name, "load") || strings.Contains(name, "build") || strings.Contains(name, "create") || strings.Contains(name, "get_") {
		return false
	}
	return called && (name == "g" || name == "d" || slices.ContainsFunc([]string{"model", "net", "network", "encoder", "decoder", "generator", "discriminator", "backbone", "vocoder"}, func(end string) bool { return strings.HasSuffix(name, end) }))
}
