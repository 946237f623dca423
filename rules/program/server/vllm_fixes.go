package server

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/engine/cards"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/program/server/vllm"
	"github.com/oomdoc/oomdoc/rules/program/torch/allocator"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// since021: the usual share is 0.92 since about 0.21, or what a program sets that
// starts vLLM.
func since021(c *ledger.Case) (float64, bool) {
	if u, ok := vllm.Share(c); ok {
		return u, true
	}
	version, _ := c.Fact("vllm_version")
	minor, _, _ := strings.Cut(strings.TrimPrefix(version.Text, "0."), ".")
	n, err := strconv.Atoi(minor)
	return 0.92, err == nil && n >= 21
}

var vllmSteps = map[string]func(c *ledger.Case) []step.Step{
	"lower_context":                vllm.Server.Sets(launch.Whole("max_model_len", fittingLength)),
	"raise_gpu_memory_utilization": vllm.Server.Sets(launch.Hundredths("gpu_memory_utilization", raisedUtilization)),
	"lower_gpu_memory_utilization": vllmShare.relative(vllm.Server.Sets(launch.Hundredths("gpu_memory_utilization", vllmShare.lowered), launch.From("max_model_len", cause.Number("%.0f", lengthAfter)))),
	"quantize_kv_cache":            vllm.Server.Sets(launch.To("kv_cache_dtype", "fp8"), launch.From("gpu_memory_utilization", cause.Number("%.2f", shareForHalfCache))),
	"enforce_eager":                vllm.Server.Sets(launch.To("enforce_eager", "True")),
	"lower_max_num_seqs":           vllm.Server.Sets(launch.Whole("max_num_seqs", fewerSequences)),
	"lower_max_batched_tokens":     vllm.Server.Sets(launch.Divided("max_num_batched_tokens", 4096, cards.TokensDivisor), vllm.Chunks),
	"multi_gpu":                    vllm.Server.Sets(launch.Whole("tensor_parallel_size", vllm.CardsFor)),
	"cpu_offload":                  vllm.Server.Sets(launch.Whole("cpu_offload_gb", vllm.Offloaded)),
	"use_lower_quant": launch.After("text", "Search the model's name with AWQ, GPTQ or FP8 on huggingface.co. Or let vLLM convert this one to 4 bit while it loads (`pip install bitsandbytes`):",
		vllm.Server.Sets(launch.To("quantization", "bitsandbytes"), launch.To("load_format", "bitsandbytes"))),
	"lower_swap_space":       vllm.Server.Sets(launch.To("swap_space", "0")),
	"lower_resolution":       vllm.Server.Sets(launch.From("limit_mm_per_prompt", era.Either("vllm", era.PromptLimits, "image=1", `{"image": 1}`)), launch.To("mm_processor_kwargs", `{"max_pixels": 1003520}`)),
	"enable_flash_attention": step.Paste("shell", "pip install flash-attn --no-build-isolation   # then start vLLM again: without it the image encoder builds the whole attention matrix"),
	"restart_session":        launch.After("shell", "nvidia-smi -l 1   # wait until the used memory no longer changes", vllm.Server.Sets()),
	"upgrade_version":        step.Paste("shell", "pip install -U vllm"),
	"close_other_apps":       step.Paste("shell", "nvidia-smi"),
}

var vllmEffects = map[string]func(c *ledger.Case) *effect.Effect{
	"lower_context":                effectShorter,
	"raise_gpu_memory_utilization": effectRaiseShare,
	"lower_gpu_memory_utilization": effectLowerShare,
	"quantize_kv_cache":            effectHalfCache,
	"multi_gpu":                    effectTwiceCards,
	"lower_max_num_seqs":           effectFewerSequences,
	"lower_max_batched_tokens":     cards.TokensUnless(when.Any(samplesRows, capturing)), // rows of the sampler are not linear in them
	"use_lower_quant":              effectQuantForCache,
	"kill_stale_process":           effectFreeCard,
	"close_other_apps":             effectFreeCard,
}

var vllmUseless = map[string]func(c *ledger.Case) string{
	"raise_gpu_memory_utilization": figures.Why(
		cause.If(shareTooLarge, cause.None, "vLLM then takes even more of the GPU for weights and KV cache."),
		cause.If(when.Any(stage.LoadingWeights, stage.Profiling), cause.None, "The share takes effect after loading and the trial run; it gives them no more room."),
		cause.If(ledger.ShareTooSmall, cause.None, "The cache size is set to {kv_cache_memory_bytes} by hand, and vLLM then ignores the share. Change that size or the context length."),
		cause.If(when.All(ledger.ShareTooSmall, beyondCard), cause.None, "vLLM suggests this, but for the missing {short} it would have to be {needed_share}; at most 0.97 of the GPU can be used."),
		cause.If(when.All(ledger.ShareTooSmall, nearlyAll), cause.None, "It is {share} already."),
		cause.If(when.All(ledger.ShareTooSmall, farShort), cause.None, "vLLM suggests this, but 0.05 more is 1.2 GiB on a 24 GB GPU and 4 GiB on 80 GB; {short} is missing."),
	),
	"lower_gpu_memory_utilization": figures.Why(
		cause.If(when.All(noRoomAtAll, when.Not(twoFit)), cause.None, "Only {room} is free, too little for any model."),
		cause.If(stage.LoadingWeights, cause.None, "vLLM suggests this, but the share takes effect only after the weights are loaded."),
		cause.If(stage.Profiling, cause.None, "The trial run comes before the KV cache: a smaller share gives it no more room."),
		cause.If(ledger.ShareTooSmall, cause.None, "It makes the KV cache even smaller."),
		cause.If(when.Not(startRefused), cause.None, "The cache size is set to {kv_cache_memory_bytes} by hand, and vLLM then ignores the share. Lower that value by {reserve} instead."),
	),
	"quantize_kv_cache": figures.Why(
		cause.If(when.All(onProcessor, ledger.ShareTooSmall), cause.None, "On the CPU many versions refuse an FP8 cache."),
		cause.If(when.All(ledger.ShareTooSmall, when.Set("kv_cache_dtype", "fp8")), cause.None, "The KV cache is 8 bit already (kv_cache_dtype={kv_cache_dtype}).")),
	"enforce_eager": figures.Why(cause.If(when.Set("enforce_eager", "True"), cause.None, "It already runs without CUDA graphs.")),
}

// vllmShare is gpu_memory_utilization. Every start check lets 0.97 of a card
// pass at most.
var vllmShare = share{usual: 0.9, later: since021, least: 0.05, of: cardTotal, tooLarge: shareTooLarge}

const mostUtilization = 0.97

// nearlyAll: no more of the card can be asked for.
func nearlyAll(c *ledger.Case) bool {
	u, set := shareSet(c)
	return set && u >= mostUtilization
}

// farShort: the cache lacks more than the last twentieth of an 80 GB card.
func farShort(c *ledger.Case) bool {
	gap, ok := cacheGap(c)
	return ok && c.F().KVAvailable != nil && c.F().KVAvailable.Bytes > 0 && cardTotal(c) == 0 && gap > 4*units.GiB
}

// cardTotal is the card's memory by the failure's figures, 0 if unknown.
func cardTotal(c *ledger.Case) int64 { return ledger.SizeOf(c.F().Total) }

// cacheTokens is what the cache holds where the refusal counts in tokens: by
// itself, or by how many requests of full length it says fit.
func cacheTokens(c *ledger.Case) (tokens float64, ok bool) {
	f := c.F()
	switch times, said := c.Fact("concurrency"); {
	case !c.Root(fact.VLLMTokens):
		return 0, false
	case f.KVTokens != nil:
		tokens = f.KVTokens.Value
	case said && f.MaxModelLen != nil:
		tokens = blocks((times.Count.Value - 0.005) * f.MaxModelLen.Value)
	}
	return tokens, tokens >= 1
}

// blocks are the tokens that fit whole blocks of the cache.
func blocks(tokens float64) float64 { return math.Floor(tokens/16) * 16 }

// fittingLength is the longest context that the log's figures allow, else half
// of what was asked for.
func fittingLength(c *ledger.Case) int {
	f := c.F()
	if f.EstMaxModelLen != nil {
		return withMargin(f.EstMaxModelLen.Value)
	}
	if tokens, ok := cacheTokens(c); ok {
		return withMargin(tokens)
	}
	n := float64(ledger.IntSetting(c, "max_model_len", "max_seq_len"))
	if f.MaxModelLen != nil {
		n = f.MaxModelLen.Value
	}
	if n > 1000 && fixedByHand(c) {
		return int(n*float64(f.KVAvailable.Bytes-f.KVAvailable.Within())/float64(f.KVNeeded.Bytes+f.KVNeeded.Within())/1000) * 1000
	}
	if ledger.SizeOf(f.KVNeeded) > 0 && ledger.SizeOf(f.KVAvailable) > 0 && n > 0 {
		return max(16, withMargin(0.98*n*float64(f.KVAvailable.Bytes)/float64(f.KVNeeded.Bytes)))
	}
	if n < 1 {
		return 8192
	}
	return int(n) / 2
}

// withMargin leaves a twentieth of what fits and a little more: what is free
// varies from start to start. Long ones are rounded down to thousands or hundreds.
func withMargin(tokens float64) int {
	switch tokens *= 0.95; {
	case tokens > 20000:
		return int(tokens/1000) * 1000
	case tokens > 4000:
		return int(tokens/100) * 100
	}
	return int(blocks(tokens))
}

// effectShorter: the length is vLLM's own, or by proportion.
func effectShorter(c *ledger.Case) *effect.Effect {
	f := c.F()
	n := fittingLength(c)
	if tokens, ok := cacheTokens(c); ok {
		return counted("tokens", int64(n), int64(tokens), fmt.Sprintf("The cache holds %.0f tokens, and one request may have as many. Exact for these flags.", tokens))
	}
	if f.KVNeeded == nil || ledger.SizeOf(f.KVAvailable) <= 0 || f.MaxModelLen == nil || f.MaxModelLen.Value < 1 {
		return nil
	}
	note := fmt.Sprintf("%d tokens by proportion: exact where every layer sees the whole context, safe where some see a window only.", n)
	if f.EstMaxModelLen != nil {
		note = fmt.Sprintf("vLLM computed %.0f tokens for this card and these flags; the rest is left for what varies from start to start.", f.EstMaxModelLen.Value)
	}
	return fits(min(f.KVAvailable.Bytes, int64(float64(f.KVNeeded.Bytes)*float64(n)/f.MaxModelLen.Value)), f.KVAvailable.Bytes, note)
}

func counted(what string, need, have int64, note string) *effect.Effect {
	return &effect.Effect{NeedCount: need, HaveCount: have, Counted: what, Fits: need <= have, Basis: "log", Note: note}
}

// cacheGap is what the cache lacks for one request, if the log says so.
func cacheGap(c *ledger.Case) (int64, bool) {
	gap := c.Shortfall.Bytes
	return gap, c.F().KVAvailable != nil && c.Shortfall.Has() && gap >= 0 && gap < 1<<60 // damaged figures can say anything
}

// neededUtilization is the share at which one request fits; above 1 the card
// is too small for it.
func neededUtilization(c *ledger.Case) (float64, bool) {
	gap, ok := cacheGap(c)
	return shareWith(c, gap), ok && cardTotal(c) > 0
}

// shareWith is the share that leaves the cache so much more.
func shareWith(c *ledger.Case, more int64) float64 {
	u, _ := vllmShare.now(c)
	return math.Ceil((u+float64(more)/float64(cardTotal(c)))*100-1e-9) / 100
}

func raisedUtilization(c *ledger.Case) float64 {
	if u, ok := neededUtilization(c); ok && u <= mostUtilization {
		return u
	}
	if u, hosted := vllm.Share(c); hosted { // a trainer needs the rest
		return u + 0.1
	}
	return 0.95
}

// effectRaiseShare: the cache grows by the card's memory times what is added.
func effectRaiseShare(c *ledger.Case) *effect.Effect {
	gap, _ := cacheGap(c)
	needed, ok := neededUtilization(c)
	if !ok || gap <= 0 {
		return nil
	}
	u, stated := vllmShare.now(c)
	have := int64(math.Max(0, raisedUtilization(c)-u) * float64(cardTotal(c)))
	e := fits(gap, have, fmt.Sprintf("the cache lacks %s; %.2f + %s / %s = %.2f", units.Amount(gap), u, units.FormatGiB(gap), units.Amount(cardTotal(c)), needed))
	if !stated {
		e.Basis = "estimate"
		e.Note += fmt.Sprintf(", if the share was the default of %g", u)
	}
	return e
}

func effectLowerShare(c *ledger.Case) *effect.Effect {
	f := c.F()
	if c.Root(fact.VLLMFreeTooLow) && f.Free != nil && cardTotal(c) > 0 {
		u := vllmShare.lowered(c)
		return fits(int64(u*float64(cardTotal(c))), f.Free.Bytes,
			fmt.Sprintf("%s of %s is free, so %.2f is the most that passes this check. Exact for it; whether the cache is large enough then is checked next.", f.Free, f.Total, u))
	}
	e := vllmShare.smaller(c)
	if n, short := lengthAfter(c); short && e != nil {
		e.Note += fmt.Sprintf(" Two changes together: the smaller cache holds one request of %.0f tokens at most.", n)
	}
	return e
}

// lengthAfter is the longest request that the cache holds at a smaller share,
// where that is below the length that is set now: by the cache's size and how
// many requests of full length vLLM says it holds.
func lengthAfter(c *ledger.Case) (tokens float64, short bool) {
	times, ok := c.Fact("concurrency")
	length, stated := c.Fact("concurrency_length")
	kv := ledger.SizeOf(c.F().KVAvailable)
	if !ok || !stated || kv <= 0 || c.Root(fact.VLLMFreeTooLow) {
		return 0, false
	}
	now, _ := vllmShare.now(c)
	after := times.Count.Value * (1 - (now-vllmShare.lowered(c))*float64(cardTotal(c))/float64(kv))
	if after >= 1 || after <= 0 {
		return 0, false
	}
	return max(16, blocks((after-0.005)*length.Count.Value)), true
}

// fewerSequences is the exact number where the log gives it, else a quarter or
// less.
func fewerSequences(c *ledger.Case) int {
	if x, ok := c.Fact("mamba_blocks"); ok && x.Count != nil && x.Count.Value >= 1 {
		return int(x.Count.Value)
	}
	n := ledger.IntSetting(c, "max_num_seqs")
	if n == 0 {
		n = usualSequences(c)
	}
	by, _ := sequencesDivisor(c)
	return max(1, n/by)
}

// samplesRows: what failed has a row of the vocabulary for each sequence.
var samplesRows = when.Any(warmUp, when.All(stage.OnCard, sampling))

// sequencesDivisor is by how much to divide the sequences so that the sampler
// finds room, 4 to 64; 4 where the figures do not say.
func sequencesDivisor(c *ledger.Case) (by int, ok bool) {
	if f := c.F(); !samplesRows(c) && !sampledRows(c) || f.Requested == nil || f.Free == nil {
		return 4, false
	}
	for by := int64(4); by <= 64; by *= 2 {
		if need, have := samplerAt(c, by); need <= have {
			return int(by), true
		}
	}
	return 4, false
}

// samplerAt is what the sampler needs and finds with 1/by of the sequences.
// Beside the piece that failed there is the one it is made of, which shrinks
// too: the logits are at least a third of it (4 bytes against the 12 of a
// sort). Unless it was the sort, one of three times the piece may follow.
func samplerAt(c *ledger.Case, by int64) (need, have int64) {
	r := c.F().Requested.Bytes
	return ledger.CeilDiv(sortOf(c)*r, by), c.F().Free.Bytes + r/3 - ledger.CeilDiv(r/3, by)
}

func sortOf(c *ledger.Case) int64 {
	if _, _, bytes, _, ok := rows(c); ok && bytes == 8 { // the indices, and a buffer like them after it
		return 2
	}
	for _, x := range c.Facts.Facts {
		if x.Name == "vllm_sampler" && strings.Contains(x.Text, "logits_sort") {
			return 1
		}
	}
	return 3
}

// effectFewerSequences: the number of state blocks where vLLM names it, else
// the rows of the sampler.
func effectFewerSequences(c *ledger.Case) *effect.Effect {
	if x, ok := c.Fact("mamba_blocks"); ok && x.Count != nil {
		return counted("sequences", int64(fewerSequences(c)), int64(x.Count.Value), "One state block for each sequence. Exact.")
	}
	by, ok := sequencesDivisor(c)
	if !ok {
		return nil
	}
	need, have := samplerAt(c, int64(by))
	e := bound(need, have, fmt.Sprintf("Each sequence has its row of the vocabulary: with 1/%d of them its sort, %d times the piece that failed, takes %s, and the logits, a third of it at least, shrink beside the %s that was free. A bound.",
		by, sortOf(c), units.Amount(need), c.F().Free))
	if ledger.IntSetting(c, "max_num_seqs") == 0 {
		e.Basis = "estimate"
		e.Note += " Counted from the default of 256 sequences; large cards have 1024."
	}
	return e
}

// effectQuantForCache: what 4-bit weights leave for the cache.
func effectQuantForCache(c *ledger.Case) *effect.Effect {
	f := c.F()
	if effect.Estimated(c, "use_lower_quant") != nil {
		return nil
	}
	if f.KVNeeded == nil || f.KVAvailable == nil || f.Weights == nil || ledger.Quantised(c) != "" {
		return allocator.Narrower(c, allocator.InFourBit)
	}
	more := allocator.Shrinks(f.Weights.Bytes, allocator.InFourBit)
	e := fits(f.KVNeeded.Bytes, f.KVAvailable.Bytes+more, fmt.Sprintf("If the weights of %s are at 16 bit, 4 bit leaves %s more for the cache.", f.Weights, units.Amount(more)))
	e.Certainty = effect.Condition
	return e
}

func effectHalfCache(c *ledger.Case) *effect.Effect {
	f := c.F()
	note := "8 bit instead of 16 halves the cache of a request; some attention backends refuse it."
	if tokens, ok := cacheTokens(c); ok && f.MaxModelLen != nil {
		return counted("tokens", int64(f.MaxModelLen.Value), int64(2*tokens), note)
	}
	if f.KVNeeded == nil || f.KVAvailable == nil {
		return nil
	}
	have := f.KVAvailable.Bytes
	if u, ok := shareForHalfCache(c); ok {
		now, _ := vllmShare.now(c)
		have += int64((u - now) * float64(cardTotal(c)))
		note = fmt.Sprintf("Two changes together: 8 bit halves the cache of a request, and %.2f instead of %g of the card leaves %s for it.", u, now, units.Amount(have))
	}
	return fits(f.KVNeeded.Bytes/2, have, note)
}

// effectTwiceCards: each of twice the cards holds half of the cache and half of
// the weights. How many were still to come, a log of loading does not say.
func effectTwiceCards(c *ledger.Case) *effect.Effect {
	f := c.F()
	if f.KVNeeded != nil && f.KVAvailable != nil {
		e := fits(f.KVNeeded.Bytes/2, f.KVAvailable.Bytes+ledger.SizeOf(f.Weights)/2, "Each of twice the cards holds half of the cache, if the model has heads enough, and half of the weights.")
		e.Basis = "estimate"
		return e
	}
	held, have, ok := allocator.WeightsAndRoom(c)
	if !ok || !stage.LoadingWeights(c) || effect.Estimated(c, "multi_gpu") != nil {
		return nil
	}
	return bound((held+f.Requested.Bytes)/2, have,
		fmt.Sprintf("Half of the %s loaded so far and of the %s that failed on each of twice the cards. A lower bound: what was still to come is not in the log; %s in all fit that way, beside 1 GiB on each for the rest.",
			units.Amount(held), f.Requested, units.Amount(2*(have-units.GiB))))
}
