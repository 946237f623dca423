// Package operation says what a program was computing when memory ran out, from
// the innermost frames of the traceback that ends in the failure: a convolution,
// a concatenation, a copy to the card.
package operation

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// ID names an operation.
type ID string

// Operations, by what decides their size.
const (
	Convolution   ID = "convolution"   // batch x channels x area
	Upsampling    ID = "upsampling"    // the size that is enlarged to
	Attention     ID = "attention"     // length squared, if scores are kept
	Projection    ID = "projection"    // tokens x width
	Logits        ID = "logits"        // tokens x vocabulary
	Pointwise     ID = "pointwise"     // what goes in
	Recurrent     ID = "recurrent"     // batch x length x width
	Concatenation ID = "concatenation" // the sum of its parts, beside them
	Creation      ID = "creation"      // the shape in the line
	Repetition    ID = "repetition"    // a copy, or several
	Gathering     ID = "gathering"     // as many rows as there are indices
	Distances     ID = "distances"     // rows x rows
	Spectrum      ID = "spectrum"      // windows x frequencies
	Decomposition ID = "decomposition" // n x n
	Sorting       ID = "sorting"       // a copy with indices
	Moving        ID = "moving"        // what is put on the card
	Extension     ID = "extension"     // compiled code of a library
	Softmax       ID = "softmax"       // scores: as large as what goes in
	Loss          ID = "loss"          // rows x classes
	Exchange      ID = "exchange"      // a Python object, packed
	Conversion    ID = "conversion"    // a copy of what goes in, in another type
)

// sign is what shows an operation in a frame: the function that it is in, or a
// part of its source line.
type sign struct {
	id    ID
	calls []string
	lines []string
}

// telling are signs that decide wherever they stand among the innermost frames;
// the first that a frame meets counts.
var telling = []sign{
	{Exchange, []string{"all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list", "_object_to_tensor", "_tensor_to_object"}, []string{"resize_(max_object_size)", "_object_to_tensor("}},
	{Distances, []string{"cdist", "pairwise_distance", "pairwise_distances", "pdist", "euclidean_distances", "knn"}, []string{"cdist(", "pairwise_distance", "pdist("}},
	{Attention, []string{"scaled_dot_product_attention", "_scaled_dot_product_attention", "multi_head_attention_forward", "attention", "attn", "self_attn", "_attn", "memory_efficient_attention"}, []string{"scaled_dot_product_attention(", ".transpose(-2, -1)", ".transpose(-1, -2)", "attn.softmax(", "attn_weights =", "mm(proj_query", "matmul(proj_query", "bmm(query", "matmul(query", "bmm(q, k", "matmul(q, k", "bmm(theta", "matmul(theta_x, phi_x", "matmul(theta, phi"}},
	{Logits, []string{"lm_head"}, []string{"lm_head(", "lm_logits", "embed_out(", "self.lm_head", "F.log_softmax(lm", "vocab_size)", "vocab_projection"}},
	{Convolution, []string{"_conv_forward", "conv1d_forward", "conv2d_forward", "conv3d_forward", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}, []string{"F.conv", ".conv2d(", ".conv3d(", "conv1d_forward(", "conv2d_forward(", "conv3d_forward(", "_conv_forward("}},
	{Upsampling, []string{"interpolate", "upsample", "resize", "grid_sample", "pixel_shuffle"}, []string{"F.interpolate(", "F.upsample(", "F.grid_sample(", "torch._nn.upsample_", "image.resize("}},
	{Recurrent, []string{"lstm", "gru", "rnn_tanh"}, []string{"_VF.lstm(", "_VF.gru(", "_VF.rnn"}},
	{Concatenation, []string{"concatenate", "vstack", "hstack", "dstack", "concat"}, []string{"torch.cat(", "torch.stack(", "torch.concat(", "np.concatenate(", "np.stack(", "np.vstack(", "np.hstack("}},
	{Spectrum, []string{"stft", "istft", "fft", "rfft", "ifft", "irfft", "fftn", "rfftn"}, []string{"torch.stft(", "torch.fft.", "np.fft."}},
	{Decomposition, []string{"svd", "eigh", "eig", "cholesky", "inv", "pinv", "lstsq", "qr", "matrix_exp"}, []string{"torch.linalg.", "np.linalg.", "torch.svd(", "torch.inverse(", "torch.cholesky("}},
	{Sorting, nil, []string{".topk(", "torch.topk(", ".sort(", "torch.sort(", ".argsort(", "torch.unique(", ".unique(", ".nonzero(", "torch.nonzero("}},
	{Gathering, []string{"index_select", "gather", "scatter", "scatter_add", "scatter_", "propagate", "aggregate"}, []string{".index_select(", "torch.gather(", ".gather(", "scatter_add", "scatter("}},
	{Pointwise, []string{"silu", "relu", "gelu", "elu", "selu", "leaky_relu", "hardswish", "hardtanh", "mish", "softplus", "prelu", "batch_norm", "layer_norm", "group_norm", "instance_norm"}, []string{"F.relu(", "F.softplus(", "F.gelu(", "F.silu(", "F.leaky_relu(", "torch.relu(", "torch.tanh(", "torch.sigmoid("}},
	{Repetition, []string{"deepcopy", "clone"}, []string{".repeat(", ".repeat_interleave(", "torch.tile(", "copy.deepcopy(", ".expand(", ".tile(", "np.repeat("}},
}

// plain are signs that say something only where no other does.
var plain = []sign{
	{Creation, nil, []string{"torch.zeros(", "torch.empty(", "torch.ones(", "torch.full(", "torch.rand", "zeros_like(", "np.zeros(", "np.empty(", "np.ones(", "np.full("}},
	{Projection, nil, []string{"F.linear(", "torch.matmul(", "torch.bmm(", "torch.mm(", "torch.einsum(", "einsum("}},
	{Loss, []string{"cross_entropy", "nll_loss", "log_softmax"}, []string{"cross_entropy(", "cross_entropy_loss(", "nll_loss(", "log_softmax("}},
	{Softmax, []string{"softmax"}, []string{".softmax(", "_softmax("}},
	{Extension, nil, []string{"_C.", "_ext.", "_backend.", "_cuda.", "cuda_lib."}},
}

// copying are signs of a copy in another type or order, where nothing else is said.
var copying = []sign{
	{Conversion, nil, []string{"torch.tensor(", "torch.Tensor(", "FloatTensor(", "DoubleTensor(", "LongTensor(", "torch.as_tensor(", "torch.from_numpy(", ".astype(", ".float()", ".double()", "np.array(", "np.asarray(", ".contiguous()"}},
}

// moving is the sign of a line that puts data on the card. It says so only where
// the line is the last of the traceback, and hands the data to nothing else: a
// line such as out = net(x.cuda()) computes.
var moving = []string{".to(device", ".cuda(", ".to(\"cuda", ".to('cuda", ".to(self.device", "device=device"}

func moves(f fact.Code) bool {
	_, value, assigned := strings.Cut(f.Source, "=")
	if !assigned {
		value = f.Source
	}
	value = strings.TrimSpace(value)
	for _, sign := range moving {
		at := strings.Index(f.Source, sign)
		if at < 0 || ofModel(f.Source[:at]) {
			continue
		}
		caller, inside, _ := strings.Cut(value, "(")
		nested := strings.Contains(inside, sign) && !slices.ContainsFunc(makers, func(maker string) bool { return strings.Contains(caller, maker) })
		return !nested || !strings.HasSuffix(value, ")") || strings.HasSuffix(strings.TrimSpace(caller), ".append")
	}
	return false
}

// ofModel: what is moved is no data, as its name says.
func ofModel(receiver string) bool {
	name := strings.ToLower(receiver[strings.LastIndexAny(receiver, ". =(,")+1:])
	return slices.ContainsFunc([]string{"model", "network", "encoder", "decoder", "generator", "discriminator", "backbone", "unet", "transformer", "pipe", "pipeline"}, func(w string) bool { return strings.HasSuffix(name, w) }) || name == "net"
}

// MovesModel reports a line that puts a model on the card, by its name.
func MovesModel(f fact.Code) bool {
	return slices.ContainsFunc(moving, func(sign string) bool {
		at := strings.Index(f.Source, sign)
		return at >= 0 && ofModel(f.Source[:at])
	})
}

// endsOnCard reports a statement whose last call moves what was made before it,
// in RAM: x = torch.stack(frames).cuda().
func endsOnCard(source string) bool {
	if !strings.Contains(source, ").cuda(") && !strings.Contains(source, ").to(") {
		return false
	}
	at := max(strings.LastIndex(source, ").cuda("), strings.LastIndex(source, ").to(d"), strings.LastIndex(source, ").to(\"cuda"), strings.LastIndex(source, ").to('cuda"), strings.LastIndex(source, ").to(self.d"))
	if at < 0 || !strings.Contains(source, "=") || !slices.ContainsFunc(makers, func(maker string) bool { return strings.Contains(source[:at], maker) }) {
		return false
	}
	rest := source[at+1:]
	return strings.Count(rest, "(") == 1 && strings.HasSuffix(rest, ")") && strings.Count(rest, ")") == 1
}

// makers make a tensor of what they are given, and compute nothing.
var makers = []string{"Variable", "from_numpy", "ensor", "stack", "cat", "DataLoader", "dict", "tuple", "list"}

// innermost is how many frames say what was computed; those before them only
// lead there.
const innermost = 5

// Of returns the operation that was refused memory, "" where the traceback shows
// none.
func Of(c *ledger.Case) ID {
	frames := ledger.Trace(c)
	frames = frames[max(0, len(frames)-innermost):]
	if len(frames) > 0 && endsOnCard(frames[len(frames)-1].Source) {
		return Moving
	}
	if len(frames) > 0 && SelfProduct(frames[len(frames)-1].Source) {
		return Distances // all rows with all, whatever the result is called
	}
	for i, signs := range [][]sign{telling, plain, copying} {
		if i == 2 && len(frames) > 0 && moves(frames[len(frames)-1]) {
			return Moving
		}
		for _, f := range slices.Backward(frames) {
			if id := in(f, signs); id != "" {
				return id
			}
		}
	}
	return ""
}

// SelfProduct reports a line that multiplies a tensor by itself, turned: all of
// its rows with all, no queries by keys.
func SelfProduct(source string) bool {
	if !slices.ContainsFunc([]string{".t(", ".T", ".mT", ".transpose(", ".permute("}, func(call string) bool { return strings.Contains(source, call) }) {
		return false // an expression costs more
	}
	at := turned().FindStringSubmatch(source)
	return at != nil && (strings.Contains(source, "("+at[1]+",") || strings.Contains(source, at[1]+" @"))
}

var turned = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([\w.]+?)\.(?:t\(|T\b|mT\b|transpose\(|permute\()`)
})

// ofLayers are what layers do with their own results all the time: there the
// batch decides, and the line says nothing.
var ofLayers = []ID{Concatenation, Creation, Repetition}

// in is the operation of a frame.
func in(f fact.Code, signs []sign) ID {
	if strings.Contains(f.File, "torch/nn/parallel/") {
		return "" // what it gathers are outputs, no rows
	}
	function := f.Function[strings.LastIndexByte(f.Function, '.')+1:]
	source := strings.ReplaceAll(f.Source, "torch._C.", "torch.") // PyTorch's own is no library's
	for _, s := range signs {
		if function == "forward" && slices.Contains(ofLayers, s.id) {
			continue
		}
		if s.id == Convolution && function == "forward" && strings.HasSuffix(f.File, "torch/nn/modules/conv.py") {
			return s.id // before 1.5 the call is spread over lines of which the last is shown
		}
		if s.id == Conversion && networkCall(f.Source) {
			continue // out = model(x.float()): a batch for a network
		}
		if slices.Contains(s.calls, function) || slices.ContainsFunc(s.lines, func(part string) bool { return strings.Contains(source, part) }) {
			return s.id
		}
	}
	return ""
}

var apart = []ID{Concatenation, Creation, Repetition, Gathering, Distances, Spectrum, Decomposition, Sorting, Moving, Extension}

// Apart reports an operation that is none of a network's layers: what goes into
// that line decides, not the batch of a step.
func Apart(c *ledger.Case) bool {
	return slices.Contains(apart, ID(c.Operation))
}

// Is holds where one of the operations was refused memory.
func Is(ids ...ID) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return slices.Contains(ids, ID(c.Operation)) }
}

// AlongFeatures: the failing line joins along the last or second axis, which
// results of several batches are not joined along.
func AlongFeatures(c *ledger.Case) bool {
	f := ledger.OwnFrame(c)
	return f != nil && slices.ContainsFunc([]string{"dim=-1", "dim = -1", "axis=-1", ", -1)", "dim=1)", "dim = 1)", ", 1)"}, func(axis string) bool { return strings.Contains(f.Source, axis) })
}
