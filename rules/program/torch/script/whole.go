package script

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// networks end the names that scripts give to them.
var networks = []string{"model", "net", "encoder", "backbone", "classifier", "extractor", "network", "mlp", "cnn", "rnn", "lstm"}

// networkCall is the first call of a network in a line, by its name or that of a
// method, and what it is handed first: out = self.net.forward(Variable(x), y).
func networkCall(source string) (net, input string) {
	for from := 0; ; {
		at := strings.IndexByte(source[from:], '(')
		if at < 0 {
			return "", ""
		}
		at += from
		from = at + 1
		path := strings.Split(source[startOfName(source, at):at], ".")
		for n := len(path); n > max(0, len(path)-2); n-- {
			if !endsIn(strings.ToLower(path[n-1]), networks) {
				continue
			}
			net = path[n-1]
			if n > 1 && path[n-2] == "self" {
				net = "self." + net
			}
			if input = handed(source[from:]); input != "" {
				return net, input
			}
		}
	}
}

// handed is the name that an argument begins with, out of what wraps it.
func handed(arguments string) string {
	arguments = strings.TrimLeft(arguments, " ")
	for _, wrap := range []string{"torch.tensor(", "torch.Tensor(", "torch.from_numpy(", "torch.FloatTensor(", "Variable(", "Tensor("} {
		arguments = strings.TrimLeft(strings.TrimPrefix(arguments, wrap), " ")
	}
	end := strings.IndexFunc(arguments, func(r rune) bool { return !strings.ContainsRune(nameRunes, r) })
	if end < 0 {
		end = len(arguments)
	}
	if end == 0 || arguments[0] >= '0' && arguments[0] <= '9' || arguments[0] == '.' {
		return ""
	}
	return arguments[:end]
}

const nameRunes = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789."

// startOfName is where the name begins that ends before at.
func startOfName(s string, at int) int {
	for at > 0 && strings.IndexByte(nameRunes, s[at-1]) >= 0 {
		at--
	}
	return at
}

func endsIn(s string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(s, end) })
}

// call is that of a network in a line of the reader's own: the frame's number, and
// what the network is handed.
type call struct {
	frame      int
	net, input string
}

// calls are those of the traceback, looked for once a case.
func calls(c *ledger.Case) []call {
	return ledger.Once(c, "script/calls", func(c *ledger.Case) (out []call) {
		for i, f := range ledger.Trace(c) {
			if !f.Own {
				continue
			}
			if net, input := networkCall(f.Source); net != "" {
				for _, move := range []string{".to", ".cuda", ".float", ".half", ".unsqueeze"} {
					input = strings.TrimSuffix(input, move)
				}
				out = append(out, call{i, net, input})
			}
		}
		return out
	})
}

// given is the network that a line of the reader's own calls, and what it hands
// over, where that has one of the names; "" for none.
func given(c *ledger.Case, named func(string) bool) (net, input string, s statement) {
	for _, x := range slices.Backward(calls(c)) {
		if frames := ledger.Trace(c); named(x.input) {
			return x.net, x.input, statement{frames[x.frame].Source, frames[x.frame].Function, frames[x.frame+1:]}
		}
	}
	return "", "", statement{}
}

// dataSets are names that scripts give to all samples of a set.
var dataSets = strings.Fields("xtrain xtest xval xvalid xtr xte xdev trainx testx valx xdata datax allx alldata traindata testdata valdata trainfeatures testfeatures traininputs testinputs valinputs trainimages testimages valimages allimages alltexts xtensor xtraintensor xtesttensor traintensor testtensor dataset allinputs")

func isDataSet(input string) bool {
	plain := strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(input[strings.LastIndexByte(input, '.')+1:], "_", ""), "self", ""))
	return input == "X" || slices.Contains(dataSets, plain)
}

var films = strings.Fields("frames video all_frames video_frames video_tensor frame_tensor frames_tensor imgs_tensor vframes")

// isFilm: the name of a whole film, or of all of its pictures.
func isFilm(input string) bool {
	return slices.Contains(films, strings.ToLower(input[strings.LastIndexByte(input, '.')+1:]))
}

// ofNetwork holds where a network was handed something of such a name.
func ofNetwork(named func(string) bool) func(*ledger.Case) bool {
	return when.All(cures.OnOneCard, cures.OwnCard, largePart, func(c *ledger.Case) bool { _, input, _ := given(c, named); return input != "" })
}

// eighth: an eighth of the card was asked for in one piece.
func eighth(c *ledger.Case) bool { return c.Asked.Bytes*8 > c.Total.Bytes }

// tests: what goes in is only evaluated, as far as names tell.
func tests(c *ledger.Case) bool {
	_, input, s := given(c, isDataSet)
	for word := range reader.Words(input) {
		if slices.Contains([]string{"test", "val", "valid", "dev", "te"}, word) {
			return true
		}
	}
	return !strings.Contains(strings.ToLower(input), "tr") && (s.evaluates() || cures.Freed(c))
}

// namesOf are the network and its input, for sentences.
func namesOf(named func(string) bool) func(*ledger.Case) map[string]string {
	return func(c *ledger.Case) map[string]string {
		out := cures.Scene(c)
		out["net"], out["input"], _ = given(c, named)
		out["labels"] = strings.NewReplacer("X", "y", "x", "y", "inputs", "labels", "images", "labels", "features", "labels").Replace(out["input"])
		if out["labels"] == out["input"] {
			out["labels"] = "labels"
		}
		return out
	}
}

const inParts = "with torch.no_grad():\n    out = torch.cat([{net}(part.to(device)).cpu() for part in {input}.split(256)])   # {input} stays in RAM"

// wholeCards are about everything handed to a network in one call.
var wholeCards = []cause.Card{
	{
		ID: "pytorch/whole-set", Kinds: cures.Refused, If: ofNetwork(isDataSet), Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory: all of `{input}` goes through the network in one call",
		Means:    "`{net}({input})` seems to pass the whole data set at once, without batches. Every layer's output then grows with the size of the set.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: tests, Title: "Pass it in batches, without gradients", Cost: "none", Kind: "python", Text: inParts},
			{Fix: "stream_dataset", If: when.Not(tests), Title: "Train in batches from a DataLoader", Cost: "none: it usually learns better", Told: "Keep both tensors in system RAM (no `.cuda()`), and replace the single call with a loop:", Kind: "python", Text: "loader = DataLoader(TensorDataset({input}, {labels}), batch_size=64, shuffle=True)\nfor x, y in loader:\n    out = {net}(x.to(device))   # then loss, backward and step, as now, with y.to(device)"},
			{Fix: "inference_mode", If: when.Not(tests), Title: "Evaluate in batches too, without gradients", Cost: "none", Kind: "python", Text: "with torch.no_grad():\n    out = torch.cat([{net}(x.to(device)).cpu() for x, _ in loader])"},
			{Fix: "lower_context", If: when.All(tests, when.Not(cures.Freed)), Title: "Free what the training left", Cost: "none", Told: "`del loss, out` before it."},
			{Fix: "lower_resolution", Title: "If even a batch of 1 fails: use smaller samples or a smaller network", Cost: "detail, or accuracy", Told: "Use shorter sequences, smaller images or fewer channels."},
		},
		Figures: namesOf(isDataSet), Sources: []string{"https://pytorch.org/docs/stable/data.html", cures.MemoryFAQ},
	},
	{
		ID: "pytorch/whole-film", Kinds: cures.Refused, If: when.All(ofNetwork(isFilm), when.Not((*ledger.Case).Training)), Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory: all frames in `{input}` go through the network in one call",
		Means:    "`{net}({input})` computes every layer for all frames at once, so memory grows with the length of the video.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Pass a few frames at a time, without gradients", Cost: "none, for a network that sees single frames", Told: "For `{input}` of frames x channels x height x width:", Kind: "python", Text: "with torch.no_grad():\n    out = torch.cat([{net}(part.to(device)).cpu() for part in {input}.split(16)])   # 4, if 16 fails"},
			{Fix: "lower_context", Title: "If the network needs the clip as a whole: use fewer frames", Cost: "detail in time", Told: "Every fourth frame (`{input}[::4]`), or windows of 16 to 32 frames with the results averaged."},
			{Fix: "lower_resolution", Title: "Scale the frames down", Cost: "detail", Told: "Half the width and height takes a quarter of the memory. Many networks were trained on only 224 to 512 pixels."},
		},
		Figures: namesOf(isFilm), Sources: []string{cures.MemoryFAQ, "https://pytorch.org/docs/stable/generated/torch.split.html"},
	},
	{
		ID: "pytorch/volume", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, eighth, operation.Is(operation.Convolution, operation.Upsampling, operation.Pointwise, operation.Concatenation), inVolumes), Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory in a 3D network: one tensor alone needs {asked}",
		Means:    "In 3D a layer's output has channels x depth x height x width values per sample. Doubling the side of a volume takes eight times the memory.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: when.Not(when.Any((*ledger.Case).Training, filmed)), Title: "Compute it in overlapping patches", Cost: "hardly slower", Told: "`pip install monai`. It assembles the result in system RAM (volume: batch x channels x three sides):", Kind: "python", Text: "from monai.inferers import sliding_window_inference\n\nwith torch.no_grad():\n    out = sliding_window_inference(volume, (96, 96, 96), 1, {net}, overlap=0.25, sw_device=\"cuda\", device=\"cpu\")"},
			{Fix: "lower_resolution", If: when.All((*ledger.Case).Training, when.Not(filmed)), Title: "Train on smaller patches, batch size 1 or 2", Cost: "less context in each patch", Told: "Random crops of 96 x 96 x 96 or 64 x 64 x 64 instead of whole volumes (half the side takes an eighth). Validate in overlapping patches."},
			{Fix: "lower_resolution", If: func(c *ledger.Case) bool { return c.Phase == "unknown" && !cures.Freed(c) && !filmed(c) }, Title: "If you train: use smaller patches", Cost: "less context in each", Told: "Random crops of 96 x 96 x 96 or 64 x 64 x 64 instead of whole volumes. Half the side takes an eighth."},
			{Fix: "lower_context", If: filmed, Title: "Use fewer or smaller frames", Cost: "detail", Told: "Half the frames take half the memory, half the width and height a quarter. Then try batch size 1."},
			{Fix: "mixed_precision", If: when.Not(ledger.Before2020), Title: "Compute it in 16 bit", Cost: "hardly any quality", Told: "{half16} around the forward pass halves most activations."},
			{Fix: "use_smaller_model", Title: "Or halve the channels of the first layers", Cost: "accuracy", Told: "They work at full size and usually take most memory. Or resample the input to a coarser spacing."},
		},
		Figures: func(c *ledger.Case) map[string]string {
			out := cures.Scene(c)
			if out["net"], _, _ = given(c, func(string) bool { return true }); out["net"] == "" || strings.HasPrefix(out["net"], "self") {
				out["net"] = "model"
			}
			return out
		},
		Sources: []string{"https://docs.monai.io/en/stable/inferers.html", cures.AllocatorSource},
	},
}

// inVolumes: the traceback goes through a convolution over three sides.
func inVolumes(c *ledger.Case) bool {
	for _, f := range ledger.Trace(c) {
		if strings.Contains(f.Source, "conv3d") || strings.Contains(f.Source, "Conv3d") || f.Function == "conv3d" || strings.Contains(f.Source, "batch_norm3d") || strings.Contains(f.Source, "trilinear") {
			return !strings.Contains(f.File, "diffusers")
		}
	}
	return false
}

// filmed: what goes in is a video, by the files of the traceback.
func filmed(c *ledger.Case) bool {
	for _, f := range ledger.Trace(c) {
		if file := strings.ToLower(f.File); f.Own && (strings.Contains(file, "video") || strings.Contains(file, "i3d") || strings.Contains(file, "c3d") || strings.Contains(file, "slowfast") || strings.Contains(f.Source, "frames") || strings.Contains(f.Source, "clip")) {
			return true
		}
	}
	return c.Reader.Work == "video-generation"
}
