package ggml

import (
	"slices"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/books"
	"github.com/oomdoc/oomdoc/rules/when"
)

// room is a card before anything was loaded onto it: what it has in all, what
// was free, and what is known of what was to come there.
type room struct{ total, free, need int64 }

// roomOf reads it; ok is false where the log does not show all of it.
func roomOf(c *ledger.Case) (r room, ok bool) {
	if ledger.InHost(c) || unified(c) || diffuses(c) {
		return room{}, false
	}
	name := FailingCard(c)
	for _, d := range c.Facts.Devices {
		if d.Free == nil || !mayFail(c, d) || d.Index < 0 && severalDevices(c) || d.Line > c.Failure.Line {
			continue
		}
		if loadedBefore(c, d.Line) {
			return room{}, false // what is held there is this program's first model
		}
		r.free, r.total = d.Free.Bytes, max(r.total, ledger.SizeOf(d.Total))
	}
	if card, known := fit.Card(name); known && !books.SharesMemory(name) {
		r.total = max(r.total, card.TotalBytes)
	}
	b := budgetOf(c)
	r.need = max(b.Weights+b.KV+b.Graph, b.Refused)
	return r, r.free > 0 && r.total > 0 && r.need > 0
}

// Taken: others held a third of the card before this program loaded anything,
// and on the empty card it would have fitted.
func Taken(c *ledger.Case) bool {
	r, ok := roomOf(c)
	held := r.total - r.free
	return ok && held >= 2*units.GiB && held*3 >= r.total && r.need > r.free && r.need <= r.total*94/100
}

// TakenFigures are what sentences about it name.
func TakenFigures(c *ledger.Case) map[string]string {
	r, _ := roomOf(c)
	return map[string]string{
		"gpu": gpuName(c), "look": lookAt(c), "had": units.Amount(r.free), "whole": units.Amount(r.total), "held": units.Amount(r.total - r.free), "need": units.Amount(r.need),
	}
}

// CrammedFigures are what sentences about it name.
func CrammedFigures(c *ledger.Case) map[string]string {
	whole := Crammed(c)
	return map[string]string{"gpu": gpuName(c), "look": lookAt(c), "kind": FailingCard(c), "whole": units.Amount(whole), "held": units.Amount(whole - ledger.Requested(c)), "other": map[bool]string{true: "0", false: "1"}[gpuName(c) == "GPU 1"]}
}

const (
	CrammedHeadline = "did not load: other programs already use most of {gpu}, at least about {held}"
	CrammedMeans    = "{asked} is everything that this model puts on {gpu} as weights, and this {kind} has {whole}. So the GPU is large enough, but something else fills it: an earlier run, another model server, a notebook, or another model of this program."
)

// What cards say of it: the first lines of a start tell what was free before it,
// and a card that was half full then is not too small.
const (
	TakenHeadline = "did not load: other programs held {held} of {gpu} before it began"
	TakenMeans    = "Only {had} of {whole} was free before loading began. This model needs at least {need} on {gpu}, which would fit if the GPU were empty."
)

var takenCards = []cause.Card{{
	ID: "llama.cpp/card-taken", Kinds: refused, If: when.All(device("weights", "kv", "compute", ""), when.Not(byOllama), Taken), Figures: TakenFigures,
	Cause: cause.LeakedProcess, Weight: cause.Decisive, Headline: TakenHeadline, Means: TakenMeans,
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "See which process holds the GPU, and end it", Told: "Look in `{look}` for an earlier run, another model server, a notebook or a game.", Cost: "unsaved work in it is lost"},
		as("fewer_gpu_layers", "Keep both: put fewer layers on the GPU", "slower"),
	},
	Sources: []string{"llama.cpp/src/llama.cpp", "llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
}, {
	ID: "llama.cpp/card-crammed", Kinds: refused, Unsaid: slices.Concat(projects, drafts, loras, readsImage), If: when.All(stage("weights"), when.Not(byOllama), func(c *ledger.Case) bool { return Crammed(c) > 0 && !unified(c) && !diffuses(c) }), Figures: CrammedFigures,
	Cause: cause.LeakedProcess, Weight: cause.Decisive, Headline: CrammedHeadline, Means: CrammedMeans,
	Not: "A smaller quantisation, as long as something else fills the GPU.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "See which process holds the GPU, and end it", Told: "`{look}` shows what uses it.", Cost: "unsaved work in it is lost"},
		{Fix: "select_gpu", If: severalDevices, Title: "Or use another GPU", Told: "`{look}` shows which one is free. For GPU {other}, start it with `CUDA_VISIBLE_DEVICES={other}` (AMD: `HIP_VISIBLE_DEVICES={other}`). In Docker: `--gpus device={other}`.", Cost: "free"},
		as("fewer_gpu_layers", "Keep both: put fewer layers on the GPU", "slower"),
	},
	Sources: []string{"llama.cpp/src/llama-model.cpp", "llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "https://github.com/TabbyML/tabby/issues/1498"},
}}
