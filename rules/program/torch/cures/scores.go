package cures

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/when"
)

// FusedScores is for a line that itself multiplies queries by keys.
var FusedScores = cause.Cure{Fix: "efficient_attention", Title: "Use a fused attention kernel", Kind: "python", Text: "x = torch.nn.functional.scaled_dot_product_attention(q, k, v)   # instead of softmax(q @ k.transpose(-2, -1)) @ v; q has the scale", Cost: "None; usually faster. PyTorch 2.0 and later."}

// Scores are what makes a matrix of attention smaller, the best first.
var Scores = []cause.Cure{
	{Fix: FusedScores.Fix, If: ledger.ReturnsWeights, Title: "Ask the layer for no weights", Cost: "none, if nothing uses them", Own: true},
	{Fix: FusedScores.Fix, If: when.All(PlainScores, when.Not(BeforeFused)), Title: FusedScores.Title, Kind: FusedScores.Kind, Text: FusedScores.Text, Cost: FusedScores.Cost},
	{Fix: FusedScores.Fix, If: when.All(HalfTooLarge, mayBePlain), Title: ifPlain, Cost: "none", Told: onlyPlain},
	{Fix: "lower_context", Title: "{Shorten}", Cost: "what is cut is lost", Told: "{shorter} takes a quarter of this matrix.[[ {limits}]]"},
	{Fix: "lower_batch_size", If: when.Not(SingleSample), Title: "Lower the batch size", Cost: "slower", Told: "Half the batch size[[ ({batch})]] takes half of it."},
}

// LastScores is what may be had where the layer does more than that.
var LastScores = cause.Cure{Fix: FusedScores.Fix, If: when.All(mayBePlain, when.Not(HalfTooLarge)), Title: ifPlain, Cost: "none", Told: onlyPlain}

func mayBePlain(c *ledger.Case) bool {
	return !PlainScores(c) && !BeforeFused(c) && !ledger.ReturnsWeights(c)
}

const (
	ifPlain   = "If it is plain softmax attention: use a fused kernel"
	onlyPlain = "If the layer computes softmax(q k) v and nothing else, replace it by `torch.nn.functional.scaled_dot_product_attention(q, k, v)`, which stores no scores. It returns no weights. Relative positions or a bias must go in as `attn_mask`, again a matrix of that size."
)

// PlainScores: the failing line is the product of queries and keys, and adds
// nothing of its own to it. A softmax of another function may get anything.
func PlainScores(c *ledger.Case) bool {
	f := ledger.OwnFrame(c)
	if f == nil || ledger.ReturnsWeights(c) {
		return false
	}
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(f.Source, word) })
	}
	return has("matmul(", "bmm(", "einsum(", " @ ", "mm(") && !has("rel", "pos", "bias", "mask")
}

// BeforeFused: a PyTorch before 2.0.
func BeforeFused(c *ledger.Case) bool { v := code.Latest(c); return v != 0 && v < 200 }

// ScoreFigures say how a sample becomes shorter in the reader's work, and what
// the script's own options for it are.
func ScoreFigures(c *ledger.Case) map[string]string {
	out := Scene(c)
	words := [3]string{"Shorten the sequence, or use a smaller image", "Half the length (of an image: 0.7 x width and height)", "Twice the length (for images: twice the pixels)"}
	switch work := c.Reader.Work; {
	case work == "audio" || slices.ContainsFunc(c.Facts.Code, spoken):
		words = [3]string{"Cut or drop the longest recordings and texts", "Half the length", "Twice the length"}
	case strings.HasPrefix(work, "text") || work == "embedding":
		words = [3]string{"Shorten the texts", "Half the length", "Twice the length"}
	case work == "vision" || work == "image-generation":
		words = [3]string{"Use smaller images or crops", "0.7 x width and height", "Twice the pixels"}
	}
	out["Shorten"], out["shorter"], out["twice"] = words[0], words[1], words[2]
	out["scored"] = "ran out of memory in the attention scores"
	switch {
	case c.Backend == "cpu":
		out["scored"] = "ran out of system memory (RAM) in the attention scores: " + c.Asked.String() + " at once"
	case ledger.NeverFits(c) != "" && c.Total.Has():
		out["scored"] = "asked for " + c.Asked.String() + " at once for attention scores: the GPU has " + c.Total.String()
	case c.Asked.Has():
		out["scored"] += ": " + c.Asked.String() + " at once"
	}
	out["limits"] = capital(Smaller(c, ""))
	if out["limits"] != "" {
		out["limits"] += "."
	}
	return out
}

// spoken: a file is of a network for speech.
func spoken(f fact.Code) bool {
	file := strings.ToLower(f.File)
	return slices.ContainsFunc([]string{"zipformer", "conformer", "voice", "speech", "/icefall/", "/tts", "wenet", "whisper"}, func(part string) bool { return strings.Contains(file, part) })
}

func capital(s string) string {
	if s == "" || s[0] == '`' {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
