package cures

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
)

// Refused are the messages of a card, with figures and without.
var Refused = []fact.Kind{fact.TorchAlloc, fact.CUDAError}

// OwnCard: nothing shows that others hold the card, that it was not full, that
// it is in pieces, limited, or fuller than the next one.
func OwnCard(c *ledger.Case) bool { return ledger.Once(c, "pytorch/own-card", ownCard) }

func ownCard(c *ledger.Case) bool {
	return ledger.OnCard(c) && !ledger.Crowded(c) && !ledger.Roomy(c) && !SlackWouldDo(c) && !c.Limit.Has() && !cause.SpreadOver(c) && !clues.RanksOnOneCard(c)
}

// OnOneCard: the allocator of a card names what there is and what it holds, and
// no limit of its own applies.
func OnOneCard(c *ledger.Case) bool { return ledger.Once(c, "pytorch/on-one-card", onOneCard) }

func onOneCard(c *ledger.Case) bool {
	return c.Root(Allocators...) && c.Signal("warmup_alloc") == nil && ledger.OnCard(c) && c.Backend != "mps" && c.Total.Has() && c.Mine.Has() && !c.Limit.Has() && !ledger.AbsurdSize(c)
}

// OwnDoing are causes between which a full card's figures do not decide.
var OwnDoing = []string{cause.BatchTooLarge, cause.ModelTooLarge, cause.ContextTooLong, cause.OversizedAllocation, cause.Unknown}

// SlackWouldDo: the allocator's own reserve covers what was Refused, and is a
// good part of the card.
func SlackWouldDo(c *ledger.Case) bool {
	return c.Slack.Has() && c.Asked.Has() && c.Total.Has() && c.Slack.Bytes > c.Asked.Bytes && c.Slack.Bytes*8 > c.Total.Bytes
}

// LooseToo is for unused pieces beside tensors that fill the card: one request
// more at best.
var LooseToo = cause.Cure{
	Fix: "expandable_segments", Title: "Free to try: let the allocator use its {slack} of unused reserve", Cost: "none as a rule", If: func(c *ledger.Case) bool {
		return clues.LiveFills(c) && !SplitEra(c) && c.Shortfall.Has() && c.Slack.Bytes > c.Shortfall.Bytes && c.Slack.Bytes*2 > units.GiB
	}, Told: "Set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` before the start. It may let this request through, but the next one needs room too.",
}

// MostlyComfyUI: the wording is cudaMallocAsync's, which ComfyUI turns on by
// itself and hardly anything else does.
var MostlyComfyUI = cause.Cure{
	Fix: "lowvram_mode", Title: "If this is ComfyUI: lower the size, or start it with --reserve-vram 2", Cost: "slower",
	If:   func(c *ledger.Case) bool { return c.Root(fact.TorchAsync) && !c.Training() },
	Told: "First try fewer frames, or half the width and height. Then use an fp8 or GGUF file of the model. If VAE Decode failed, use VAE Decode (Tiled) with tile_size 256.",
}

// Freed: a frame of the traceback turns gradients off.
func Freed(c *ledger.Case) bool { return ledger.Once(c, "pytorch/freed", freed) }

func freed(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		return containsAny(f.Function, "decorate_context") || containsAny(f.Source, "no_grad", "inference_mode")
	})
}
