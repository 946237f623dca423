package cures

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
)

// Built: CUDA refused, without figures, while a network was being made: the
// innermost frames make a layer of PyTorch's or its first values, or are the
// reader's own constructors of a network or of its parts, and no module is at
// work.
func Built(c *ledger.Case) bool {
	if !c.Root(fact.CUDAError) || c.F().Requested != nil {
		return false
	}
	frames := ledger.Trace(c)
	if f := ledger.OwnFrame(c); f != nil && f.Function == "__init__" && containsAny(f.Source, ".cuda()", ".to(device)") && !containsAny(f.Source, "model", "net") && !says(f.File, "", otherwise) {
		return true
	}
	for _, f := range frames[max(0, len(frames)-3):] {
		file := strings.ReplaceAll(f.File, `\`, "/")
		if strings.Contains(file, "torch/nn/modules/") && (f.Function == "__init__" || f.Function == "reset_parameters") || strings.HasSuffix(file, "torch/nn/init.py") {
			return true
		}
	}
	return constructs(frames)
}

// ofNetwork are words of names that say that a network or a part of one is made.
var ofNetwork = strings.Fields("network networks model models module modules net nets detector detectors backbone backbones neck necks encoder decoder head heads generator discriminator segmentor segmentors layer layers arch archs")

// otherwise are words of names of what is made beside the network.
var otherwise = strings.Fields("dataset datasets dataloader loader buffer replay memory optimizer optim scheduler env envs loss losses")

// constructs: the innermost frames are constructors, of which one is a network's
// by its name or its folder.
func constructs(frames []fact.Code) bool {
	network, inside := false, false
	for _, f := range slices.Backward(frames) {
		file := strings.ReplaceAll(f.File, `\`, "/")
		switch makes := f.Function == "__init__" || f.Function == "build" || f.Function == "build_from_cfg" || builds(f.Function); {
		case strings.HasPrefix(f.Function, "<"):
		case strings.Contains(file, "/torch/"):
			if !inside && !strings.Contains(file, "/torch/cuda/") && !slices.Contains([]string{"_apply", "convert", "to", "cuda"}, f.Function) {
				return false // it computes something
			}
		case !makes:
			return network && !slices.Contains([]string{"forward", "_call_impl", "train_step", "step"}, f.Function)
		case !inside && says(file, f.Function, otherwise):
			return false
		default:
			inside, network = true, network || says(file, f.Function, ofNetwork)
		}
	}
	return network
}

// builds: a function by whose name a network is made: build_network, _make_layer,
// build_model_from_cfg.
func builds(function string) bool {
	words := slices.Collect(reader.Words(function))
	if len(words) < 2 || says("", function, otherwise) {
		return false
	}
	last := slices.Contains([]string{"make", "get", "setup", "init"}, words[0]) && slices.Contains(ofNetwork, words[len(words)-1])
	return last || slices.Contains([]string{"build", "create"}, words[0]) && says("", function, ofNetwork)
}

// says: the file, its folder or the function has one of the words in its name.
func says(file, function string, names []string) bool {
	parts := strings.Split(strings.TrimSuffix(file, ".py"), "/")
	for word := range reader.Words(strings.Join(parts[max(0, len(parts)-2):], " ") + " " + function) {
		if slices.Contains(names, word) {
			return true
		}
	}
	return false
}
