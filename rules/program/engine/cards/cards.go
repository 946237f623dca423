// Package cards computes what servers are told to set: over how many cards to split
// a model, by how much to divide the tokens of a step.
package cards

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
)

// published are models whose own checkpoints are at 8 or 4 bit, by a part of their
// name.
var published = []struct{ part, format string }{
	{"deepseek-v3", "fp8"}, {"deepseek-r1", "fp8"}, {"kimi-k2", "fp8"}, {"minimax-m2", "fp8"}, {"gpt-oss", "awq-int4"}, {"deepseek-v4", "awq-int4"},
}

// PublishedSmall is the format of the model's own checkpoint, "" for 16 bit.
func PublishedSmall(c *ledger.Case) string {
	name := strings.ToLower(c.ModelName())
	for _, p := range published {
		if strings.Contains(name, p.part) && !strings.Contains(name, "distill") {
			return p.format
		}
	}
	return ""
}

// named is what the weights take by the model's name, in the format that the log
// or its publisher gives them.
func named(c *ledger.Case) (int64, bool) {
	z, ok := ledger.SizingOf(c)
	if !ok || c.Phase != "load" {
		return 0, false
	}
	format := z.Format
	set, _ := c.Setting("quantize") // TGI's
	switch to := strings.ToLower(set.Value); {
	case ledger.Named(c).Format != "":
	case PublishedSmall(c) != "":
		format = PublishedSmall(c)
	case strings.Contains(to, "eetq"), strings.Contains(to, "fp8"), strings.HasSuffix(strings.Trim(to, "()"), "bitsandbytes"):
		format = "fp8"
	case to != "" && to != "none":
		format = "awq-int4"
	}
	w, known := ledger.WeightsIn(c, format)
	return w, known && w > 0
}

// mostCards is how many cards servers split the matrices of a model over.
const mostCards = 64

// For is on how many cards to split a model that did not load: twice as many
// as the option says, or as many as its weights need.
func For(option string) func(c *ledger.Case) int {
	return func(c *ledger.Case) int {
		var n int
		_, _ = fmt.Sscan(launch.Doubled(option)(c).Value, &n)
		w, ok := named(c)
		for ok && n < mostCards && w/int64(n) > ledger.SizeOf(c.F().Total)*85/100 && ledger.SizeOf(c.F().Total) > 0 {
			n *= 2
		}
		return n
	}
}

// Effect is what each of so many cards holds.
func Effect(option string) func(c *ledger.Case) *effect.Effect {
	return func(c *ledger.Case) *effect.Effect {
		w, ok := named(c)
		z, _ := ledger.SizingOf(c)
		if !ok {
			return effect.Estimated(c, "multi_gpu")
		}
		n := int64(For(option)(c))
		need := w/n + ledger.BesideWeights
		return &effect.Effect{NeedBytes: need, HaveBytes: z.Have, Fits: need <= z.Have, Basis: "estimate",
			Note: fmt.Sprintf("%s of weights by the model's name, an equal part on each of %d cards and %s beside.", units.Amount(w), n, units.Amount(ledger.BesideWeights))}
	}
}

// Offloaded is how many GiB of the weights do not fit the card with a fifth left
// for cache and work, 8 where the model's size is not known.
func Offloaded(c *ledger.Case) int {
	w, ok := named(c)
	if !ok || ledger.SizeOf(c.F().Total) == 0 {
		return 8
	}
	return int(max(4, ledger.CeilDiv(w-ledger.SizeOf(c.F().Total)*8/10, units.GiB)))
}

// MostStays: most of the weights would stay on the card.
func MostStays(c *ledger.Case) bool {
	w, ok := named(c)
	return !ok || int64(Offloaded(c))*units.GiB*2 < w
}

// FormatInFrames is the format of the weights by vLLM's own file for it.
func FormatInFrames(c *ledger.Case) string {
	for i := range c.Facts.Code {
		_, file, _ := strings.Cut(c.Facts.Code[i].File, "layers/quantization/")
		for _, format := range []string{"mxfp4", "awq", "gptq", "fp8"} {
			if strings.HasPrefix(file, format) {
				return format
			}
		}
	}
	return ""
}

// Quantises is what SGLang is told to quantise to, "" for nothing.
func Quantises(c *ledger.Case) string {
	s, ok := c.Setting("quantization")
	if value := strings.Trim(s.Value, "'\""); ok && value != "None" {
		return value
	}
	return ""
}
