package server

import (
	"fmt"
	"math"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var vllmEffects = map[string]func(c *ledger.Case) *effect.Effect{
	"lower_context":                effectShorter,
	"raise_gpu_memory_utilization": effectRaiseShare,
	"lower_gpu_memory_utilization": effectLowerShare,
	"quantize_kv_cache":            effectHalfCache,
	"multi_gpu":                    effectTwiceCards,
	"lower_max_num_seqs":           effectFewerSequences,
	"lower_max_batched_tokens":     effectFewerTokens,
	"use_lower_quant":              effectQuantForCache,
	"kill_stale_process":           effectFreeCard,
	"close_other_apps":             effectFreeCard,
	"lower_swap_space": func(c *ledger.Case) *effect.Effect {
		f := c.F()
		if !c.Root(fact.VLLMSwapTooLarge) || f.SystemAvailable == nil {
			return nil
		}
		need := int64(smallerSwap(c)) * units.GiB * int64(max(1, ledger.IntSetting(c, "tensor_parallel_size")))
		return &effect.Effect{NeedBytes: need, HaveBytes: f.SystemAvailable.Bytes * 7 / 10, Fits: true, Basis: "log", Note: "vLLM refuses above 70 % of the RAM it sees. Exact for this check."}
	},
}

// effectShorter: the length is vLLM's own, or by proportion.
func effectShorter(c *ledger.Case) *effect.Effect {
	f := c.F()
	if tokens, ok := cacheTokens(c); ok {
		return inTokens(c, int64(fittingLength(c)), int64(tokens), fmt.Sprintf("The cache holds %.0f tokens, and one request may have as many. Exact for these flags.", tokens))
	}
	if f.KVNeeded == nil || f.KVAvailable == nil || f.MaxModelLen == nil || f.MaxModelLen.Value < 1 || f.KVAvailable.Bytes <= 0 {
		return nil
	}
	n := fittingLength(c)
	need := min(f.KVAvailable.Bytes, int64(float64(f.KVNeeded.Bytes)*float64(n)/f.MaxModelLen.Value))
	note := fmt.Sprintf("%d tokens by proportion: exact where every layer sees the whole context, safe where some see a window only.", n)
	if f.EstMaxModelLen != nil {
		note = fmt.Sprintf("vLLM computed %d tokens for this card and these flags: exact.", n)
	}
	return &effect.Effect{NeedBytes: need, HaveBytes: f.KVAvailable.Bytes, Fits: true, Basis: "log", Note: note}
}

// cacheTokens is what the cache holds where the refusal counts in tokens.
func cacheTokens(c *ledger.Case) (float64, bool) {
	f := c.F()
	switch {
	case !c.Root(fact.VLLMTokens):
		return 0, false
	case f.KVTokens != nil:
		return f.KVTokens.Value, f.KVTokens.Value >= 1
	}
	times, ok := c.Fact("concurrency")
	if !ok || f.MaxModelLen == nil {
		return 0, false
	}
	return math.Floor(times.Count.Value * f.MaxModelLen.Value), times.Count.Value > 0
}

// inTokens is an effect of counts; in bytes where the log says how large the
// cache is that holds so many.
func inTokens(c *ledger.Case, need, have int64, note string) *effect.Effect {
	e := &effect.Effect{NeedCount: need, HaveCount: have, Counted: "tokens", Fits: need <= have, Basis: "log", Note: note}
	tokens, _ := cacheTokens(c)
	if kv := c.F().KVAvailable; kv != nil && kv.Bytes > 0 && tokens >= 1 {
		each := float64(kv.Bytes) / tokens
		e = &effect.Effect{NeedBytes: int64(math.Ceil(each * float64(need))), HaveBytes: int64(math.Ceil(each * float64(have))), Fits: e.Fits, Basis: "log", Note: note}
	}
	return e
}

// effectRaiseShare: the cache grows by the card's memory times what is added.
func effectRaiseShare(c *ledger.Case) *effect.Effect {
	gap, ok := cacheGap(c)
	needed, known := neededUtilization(c)
	if !ok || !known {
		return nil
	}
	u, stated := utilization(c)
	have := int64(math.Max(0, raisedUtilization(c)-u) * float64(cardTotal(c)))
	note := fmt.Sprintf("the cache lacks %s; %.2f + %s / %s = %.2f", units.Format(gap), u, units.FormatGiB(gap), units.Format(cardTotal(c)), needed)
	basis := "log"
	if !stated {
		basis = "estimate"
		note += ", if the share was the default of 0.9"
	}
	return &effect.Effect{NeedBytes: gap, HaveBytes: have, Fits: needed <= mostUtilization, Basis: basis, Note: note}
}

func effectLowerShare(c *ledger.Case) *effect.Effect {
	f := c.F()
	u := loweredUtilization(c)
	switch total := cardTotal(c); {
	case total <= 0:
		return nil
	case c.Root(fact.VLLMFreeTooLow) && f.Free != nil:
		need := int64(u * float64(total))
		if need > f.Free.Bytes {
			return &effect.Effect{NeedBytes: need, HaveBytes: f.Free.Bytes, Basis: "log", Note: fmt.Sprintf("%s of %s is free: not even a hundredth.", units.Format(f.Free.Bytes), f.Total.Text)}
		}
		return &effect.Effect{NeedBytes: need, HaveBytes: f.Free.Bytes, Fits: true, Basis: "log",
			Note: fmt.Sprintf("%s of %s is free, so %.2f is the most that passes this check. Exact for it; whether the cache is large enough then is checked next.", units.Format(f.Free.Bytes), f.Total.Text, u)}
	case f.Requested != nil && f.Free != nil && shareTooLarge(c):
		return effectSmallerShare(c, u)
	}
	return nil
}

// effectSmallerShare: the cache gives back the card's memory times what is
// taken off its share, whatever that is.
func effectSmallerShare(c *ledger.Case, u float64) *effect.Effect {
	f := c.F()
	now, stated := utilization(c)
	given := int64(math.Max(0, now-u) * float64(cardTotal(c)))
	note := fmt.Sprintf("%.2f of %s less gives back %s beside the %s that was free, about half a GiB of it as reserve: what comes after this request may be larger.", now-u, units.Format(cardTotal(c)), units.Format(given), f.Free.Text)
	if !stated {
		note += fmt.Sprintf(" Take %.2f off the share that is set now: %.2f if that is the default of %g.", now-u, u, now)
	}
	if n, short := lengthAfter(c, u); short {
		note += fmt.Sprintf(" Two changes together: the smaller cache holds one request of %d tokens at most.", n)
	}
	have := f.Free.Bytes + given
	return &effect.Effect{NeedBytes: f.Requested.Bytes, HaveBytes: have, Fits: have >= f.Requested.Bytes, Basis: "log", Certainty: effect.Bound, Note: note}
}

// lengthAfter is the longest request that the cache holds at a smaller share,
// where that is below the length that is set now: by the cache's size and how
// many requests of full length vLLM says it holds.
func lengthAfter(c *ledger.Case, u float64) (tokens int, short bool) {
	times, ok := c.Fact("concurrency")
	length, stated := c.Fact("concurrency_length")
	kv := c.F().KVAvailable
	now, _ := utilization(c)
	if !ok || !stated || kv == nil || kv.Bytes <= 0 || c.Root(fact.VLLMFreeTooLow) {
		return 0, false
	}
	left := float64(kv.Bytes) - (now-u)*float64(cardTotal(c))
	after := times.Count.Value * left / float64(kv.Bytes)
	if after >= 1 || after <= 0 {
		return 0, false
	}
	return max(16, int((after-0.005)*length.Count.Value)/16*16), true
}

// effectFewerSequences: the number of state blocks where vLLM names it, else
// the rows of the sampler.
func effectFewerSequences(c *ledger.Case) *effect.Effect {
	n := fewerSequences(c)
	if x, ok := c.Fact("mamba_blocks"); ok && x.Count != nil {
		return &effect.Effect{NeedCount: int64(n), HaveCount: int64(x.Count.Value), Counted: "sequences", Fits: n <= int(x.Count.Value), Basis: "log", Note: "One state block for each sequence. Exact."}
	}
	by, ok := sequencesDivisor(c)
	if !ok {
		return nil
	}
	need, have := samplerAt(c, int64(by))
	follows := "the sort of three times the piece that failed, which may follow it,"
	if sorted(c) {
		follows = "the sort that failed"
	}
	e := &effect.Effect{NeedBytes: need, HaveBytes: have, Fits: need <= have, Basis: "log", Certainty: effect.Bound,
		Note: fmt.Sprintf("Each sequence has its row of the vocabulary: with 1/%d of them %s takes %s, and the logits, a third of it at least, shrink beside the %s that was free. A bound.", by, follows, units.Format(need), c.F().Free.Text)}
	if _, known := sequences(c); !known {
		e.Basis = "estimate"
		e.Note += " Counted from the default of 256 sequences; large cards have 1024."
	}
	return e
}

// effectFewerTokens: what a step computes is linear in its tokens, rows of the
// sampler are not.
func effectFewerTokens(c *ledger.Case) *effect.Effect {
	if samplesRows(c) || capturing(c) {
		return nil
	}
	return effect.EffectTokens(c)
}

// effectQuantForCache: what 4-bit weights leave for the cache.
func effectQuantForCache(c *ledger.Case) *effect.Effect {
	f := c.F()
	if effect.Estimated(c, "use_lower_quant") != nil {
		return nil
	}
	if f.KVNeeded == nil || f.KVAvailable == nil || f.Weights == nil || ledger.Quantised(c) != "" {
		return effect.EffectNarrower(c, effect.InFourBit)
	}
	have := f.KVAvailable.Bytes + effect.Shrinks(f.Weights.Bytes, effect.InFourBit)
	return &effect.Effect{NeedBytes: f.KVNeeded.Bytes, HaveBytes: have, Fits: have >= f.KVNeeded.Bytes, Basis: "log", Certainty: effect.Condition,
		Note: fmt.Sprintf("If the weights of %s are at 16 bit, 4 bit leaves %s more for the cache.", f.Weights.Text, units.Format(have-f.KVAvailable.Bytes))}
}

func halfCacheFits(c *ledger.Case) bool {
	e := effectHalfCache(c)
	return e != nil && e.Fits
}

func effectHalfCache(c *ledger.Case) *effect.Effect {
	f := c.F()
	const note = "8 bit instead of 16 halves the cache of a request; some attention backends refuse it."
	if tokens, ok := cacheTokens(c); ok && f.MaxModelLen != nil {
		e := inTokens(c, int64(f.MaxModelLen.Value), int64(2*tokens), note)
		e.NeedBytes, e.HaveBytes = e.NeedBytes/2, e.HaveBytes/2 // of 8-bit tokens
		return e
	}
	if f.KVNeeded == nil || f.KVAvailable == nil {
		return nil
	}
	need, have := f.KVNeeded.Bytes/2, f.KVAvailable.Bytes
	if u, ok := shareForHalfCache(c); ok {
		now, _ := utilization(c)
		have += int64((u - now) * float64(cardTotal(c)))
		return &effect.Effect{NeedBytes: need, HaveBytes: have, Fits: need <= have, Basis: "log",
			Note: fmt.Sprintf("Two changes together: 8 bit halves the cache of a request, and %.2f instead of %g of the card leaves %s for it.", u, now, units.Format(have))}
	}
	return &effect.Effect{NeedBytes: need, HaveBytes: have, Fits: need <= have, Basis: "log", Note: note}
}

// shareForHalfCache is the share of the card at which an 8-bit cache holds one
// request, where it does not at the present one and no other change is enough.
func shareForHalfCache(c *ledger.Case) (float64, bool) {
	f := c.F()
	now, stated := utilization(c)
	total := cardTotal(c)
	if f.KVNeeded == nil || f.KVAvailable == nil || total <= 0 || !stated || f.KVNeeded.Bytes/2 <= f.KVAvailable.Bytes {
		return 0, false
	}
	if _, fixed := c.Setting("kv_cache_memory_bytes"); fixed {
		return 0, false
	}
	u := math.Ceil((now+float64(f.KVNeeded.Bytes/2-f.KVAvailable.Bytes)/float64(total))*100-1e-9) / 100
	return u, u <= mostUtilization
}

func effectTwiceCards(c *ledger.Case) *effect.Effect {
	f := c.F()
	if f.KVNeeded == nil || f.KVAvailable == nil {
		return effectTwiceCardsAtLoad(c)
	}
	need, have := f.KVNeeded.Bytes/2, f.KVAvailable.Bytes
	if f.Weights != nil {
		have += f.Weights.Bytes / 2
	}
	return &effect.Effect{NeedBytes: need, HaveBytes: have, Fits: need <= have, Basis: "estimate", Note: "Each of twice the cards holds half of the cache, if the model has heads enough, and half of the weights."}
}

// effectTwiceCardsAtLoad: each of twice the cards holds half of the weights. How
// many were still to come, the log does not say.
func effectTwiceCardsAtLoad(c *ledger.Case) *effect.Effect {
	held, have, ok := effect.WeightsAndRoom(c)
	if !ok || !ledger.LoadingWeights(c) || effect.Estimated(c, "multi_gpu") != nil {
		return nil
	}
	need := (held + c.F().Requested.Bytes) / 2
	return &effect.Effect{NeedBytes: need, HaveBytes: have, Fits: need <= have, Basis: "log", Certainty: effect.Bound,
		Note: fmt.Sprintf("Half of the %s loaded so far and of the %s that failed on each of twice the cards. A lower bound: what was still to come is not in the log; %s in all fit that way, beside 1 GiB on each for the rest.", units.Format(held), c.F().Requested.Text, units.Format(2*(have-units.GiB)))}
}

func effectFreeCard(c *ledger.Case) *effect.Effect {
	f := c.F()
	if !c.Root(fact.VLLMFreeTooLow) || f.Desired == nil || f.Total == nil || f.Free == nil {
		return effect.EffectKill(c)
	}
	return &effect.Effect{NeedBytes: f.Desired.Bytes, HaveBytes: f.Total.Bytes, Fits: f.Desired.Bytes <= f.Total.Bytes, Basis: "log",
		Note: fmt.Sprintf("%s of the %s that others hold has to be freed. Exact for this check.", units.Format(f.Desired.Bytes-f.Free.Bytes), units.Format(takenAtStart(c)))}
}
