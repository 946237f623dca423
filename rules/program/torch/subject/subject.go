// Package subject has cards for kinds of networks that repositories of research
// share code for, whatever their names: stereo, rays, knowledge graphs, tracking.
// The files, functions and lines of a traceback tell which it is.
package subject

import (
	"path"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/digrams"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Cards are about kinds of networks.
var Cards = slices.Concat(depthCards, rayCards, entityCards, frameCards, pictureCards, bankCards)

// names are the last folder, the file, the function and the line of each frame of
// the reader's own, in small letters.
func names(c *ledger.Case) *digrams.Text {
	return ledger.Once(c, "subject/names", func(c *ledger.Case) *digrams.Text {
		var out strings.Builder
		for _, f := range ledger.Trace(c) {
			if f.Own {
				file := strings.ReplaceAll(f.File, `\`, "/")
				out.WriteString(path.Base(path.Dir(file)) + "/" + path.Base(file) + "\n" + f.Function + "\n" + f.Source + "\n")
			}
		}
		return digrams.NewText(out.String())
	})
}

// says holds where one of the parts stands in the names.
func says(parts ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return names(c).HasAny(parts) }
}

// of holds for a repository that is known by such names alone: its own card is
// full, or the message has no figures.
func of(named func(*ledger.Case) bool, more ...func(*ledger.Case) bool) func(*ledger.Case) bool {
	return when.All(theirs, named, when.All(more...))
}

// theirs is what all cards of this room ask first; found out once.
func theirs(c *ledger.Case) bool {
	return ledger.Once(c, "subject/theirs", func(c *ledger.Case) bool {
		return unknown(c) && (c.Root(fact.CUDAError) || cures.OnOneCard(c) && cures.OwnCard(c))
	})
}

// plain are programs that say nothing of what a network is for.
var plain = []string{"pytorch", "lightning", "accelerate", "torchvision", "timm", "apex"}

func unknown(c *ledger.Case) bool {
	return !slices.ContainsFunc(c.Stack, func(p string) bool { return !slices.Contains(plain, p) })
}

// used: what was running uses a network, by the innermost function or file that
// tells; training is the opposite, and neither may be known.
func used(c *ledger.Case) bool     { return cures.Freed(c) || stage(c) == "uses" }
func training(c *ledger.Case) bool { return !cures.Freed(c) && stage(c) == "trains" }

// What functions and files are called where a network is used, where it is
// trained, and where it may be either.
var (
	using  = strings.Fields("test tests testing demo eval evaluate evaluation validate validation val infer inference predict prediction submission")
	fits   = strings.Fields("train training fit pretrain finetune backward optimize optimise")
	either = strings.Fields("render extract detect generate visualize visualise sample save process track segment")
)

func stage(c *ledger.Case) string {
	frames := ledger.Trace(c)
	word := func(name func(fact.Code) string, uses []string) string {
		for _, f := range slices.Backward(frames) {
			if !f.Own {
				continue
			}
			for word := range reader.Words(name(f)) {
				switch {
				case slices.Contains(uses, word):
					return "uses"
				case slices.Contains(fits, word):
					return "trains"
				}
			}
		}
		return ""
	}
	function := func(f fact.Code) string {
		if strings.Contains(f.Source, "backward(") {
			return "backward"
		}
		return f.Function
	}
	file := func(f fact.Code) string { return path.Base(strings.ReplaceAll(f.File, `\`, "/")) }
	known := word(function, using)
	if known == "" {
		known = word(file, using)
	}
	if known == "" && !c.Training() && (word(function, either) != "" || word(file, either) != "") {
		return "uses"
	}
	if known == "" && c.Training() {
		return "trains"
	}
	return known
}

// gradientsOpen is for a use in which nothing shows that gradients are off.
var gradientsOpen = cause.Cure{
	Fix: "inference_mode", If: when.All(used, when.Not(when.Any(cures.Freed, old))), Title: "Turn gradients off, if they are on", Cost: "none", Told: "With gradients on, PyTorch keeps every layer's output; `model.eval()` is not enough.",
	Kind: "python", Text: "with torch.no_grad():   # around the loop, or @torch.no_grad() above the function\n    ...",
}

// sixteen is half of a tensor that a network makes.
var sixteen = cause.Cure{
	Fix: "mixed_precision", If: when.Not(when.Any(ledger.Before2020, cures.Has(fact.MixedPrecision))), Title: "Compute it in 16 bit", Cost: "hardly any quality", Told: "Put {half16} around the forward pass: it halves most activations.",
}

// old: PyTorch before 0.4 turns gradients off by a flag of the input.
func old(c *ledger.Case) bool { return c.Root(fact.CUDAError) && c.Contains("thc") }

// inputsOld is gradientsOpen for that.
var inputsOld = cause.Cure{
	Fix: "inference_mode", If: when.All(used, old), Title: "Turn gradients off with volatile inputs", Cost: "none", Told: "PyTorch before 0.4, which writes this message, has no `torch.no_grad()`. `model.eval()` is not enough.",
	Kind: "python", Text: "x = Variable(x.cuda(), volatile=True)   # x: each input of the evaluation",
}

// look is what remains where the message does not say who has the card.
var look = cures.Only(when.All(when.Root(fact.CUDAError), when.Not(old)), cures.LookFirst)
