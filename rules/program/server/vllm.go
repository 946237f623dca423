// Package server knows servers of language models: vLLM, SGLang, TGI,
// TensorRT-LLM, LMDeploy, MLC LLM, Ray.
package server

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

// VLLM is what is peculiar to vLLM. Its share of the card,
// gpu_memory_utilization, has a direction: too small when the checks of the
// cache refuse, too large when the start check, the graphs, the warm-up of the
// sampler or a request fail, and without any part while weights load or the
// profile runs.
var VLLM = program.Program{
	Name: "vllm", Shown: "vLLM", Rank: 80,
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {vllmNothingLeft, vllmFixedCache, vllmShareSetLow, vllmShareTooLarge, vllmOutsideShare,
			cause.Said(0.62, "The cache blocks ran out and vLLM's own swap pool is full too: its settings, not the computer's swap.", fact.VLLMSwapFull)},
		cause.ContextTooLong: {vllmContextOverCache, vllmLongPrefill},
		cause.BatchTooLarge: {vllmManySequences, vllmProfileTooLarge,
			cause.Said(0.75, "Hybrid models keep one state block for each running sequence, and fewer exist than max_num_seqs asks for.", fact.VLLMMamba)},
		cause.ModelTooLarge: {vllmWeightsFill, vllmNoRoomBesideWeights},
		cause.LeakedProcess: {vllmCardTaken,
			cause.Said(0.6, "Free memory grew while vLLM measured itself: another process on this card let go of memory at that moment.", fact.VLLMProfileMoved)},
		cause.SoftwareBug: {vllmAbsurdGraphs,
			cause.Said(0.25, "Free memory moved while vLLM measured itself; versions before 2026 also fail when it did not.", fact.VLLMProfileMoved)},
		cause.HostMemory: {
			cause.Said(0.95, "swap_space is system memory, for each card, and more than 70 % of what the computer or container has.", fact.VLLMSwapTooLarge),
			cause.Said(0.8, "The engine process ended by signal 9: as a rule the kernel's out-of-memory killer, and then system memory ran out.", fact.VLLMKilled),
		},
	},
	Remedies: vllmRemedies,
	Steps:    vllmSteps,
	Effects:  vllmEffects,
	Useless:  vllmUseless,
	Whys:     vllmWhys,
}

// shareTooLarge: what does not count inside the share found no room, or not even
// the share itself. Lower it.
func shareTooLarge(c *ledger.Case) bool {
	return c.Root(fact.VLLMFreeTooLow, fact.VLLMWarmup) || ledger.TakingCache(c) || capturing(c) || serving(c)
}

func capturing(c *ledger.Case) bool { return ledger.VllmOnCard(c) && c.Phase == "graph_capture" }

// serving: after the cache was taken and the graphs were made: a request, or a
// warm-up with graphs in place. An allocation without any sign of its phase
// counts when the allocator has done work already: loading leaves nothing
// cached.
func serving(c *ledger.Case) bool {
	if !ledger.VllmOnCard(c) {
		return false
	}
	switch c.Phase {
	case "inference":
		return true
	case "warmup":
		return ledger.CacheTaken(c)
	}
	return c.Phase == "unknown" && !ledger.LooksLikeLoad(c) && !longPrefill(c)
}

// sampling: the sampler's frames stand in the log. It sorts a row of the
// vocabulary for each sequence.
func sampling(c *ledger.Case) bool {
	_, ok := c.Fact("vllm_sampler")
	return ok
}

// longPrefill: versions before chunked prefill (V0) compute the whole
// max_model_len at once, and one request is a good part of the card.
func longPrefill(c *ledger.Case) bool {
	r := c.F().Requested
	return ledger.VllmOnCard(c) && r != nil && r.Bytes >= units.GiB && c.Contains("already allocated")
}

// takenAtStart is what was in use before vLLM began, 0 if unknown.
func takenAtStart(c *ledger.Case) int64 {
	f := c.F()
	if f.Total == nil || f.Free == nil {
		return 0
	}
	return f.Total.Bytes - f.Free.Bytes
}

// utilization is the share of the card, as set, said or, with false, assumed.
func utilization(c *ledger.Case) (float64, bool) {
	if u := c.F().Utilization; u != nil {
		return u.Value, true
	}
	if s, ok := c.Setting("gpu_memory_utilization"); ok {
		if v, err := strconv.ParseFloat(s.Value, 64); err == nil && v > 0 && v <= 1 {
			return v, true
		}
	}
	return 0.9, false
}

func vllmNothingLeft(c *ledger.Case) cause.Finding {
	if !c.Root(fact.VLLMNoCache) {
		return cause.Nothing()
	}
	why := "After weights and working memory nothing of vLLM's share of the card is left for the KV cache."
	if a := c.F().KVAvailable; a != nil {
		why = fmt.Sprintf("After weights and working memory %s of vLLM's share of the card is left for the KV cache.", a.Text)
	}
	if u, known := utilization(c); known && u < 0.8 {
		return cause.Seen(0.75, why+fmt.Sprintf(" The share was set to %g.", u), c.Failure.Line)
	}
	return cause.Seen(0.5, why, c.Failure.Line)
}

func vllmFixedCache(c *ledger.Case) cause.Finding {
	s, ok := c.Setting("kv_cache_memory_bytes")
	if !ok || !c.Root(fact.VLLMCacheTooSmall, fact.VLLMTokens) {
		return cause.Nothing()
	}
	return cause.Seen(0.9, fmt.Sprintf("The size of the cache was fixed by hand (kv_cache_memory_bytes, %s), and the share of the card is ignored then.", s.Value), c.Failure.Line, s.Line)
}

// vllmShareSetLow: a share far below the default that, raised to the default,
// would be enough.
func vllmShareSetLow(c *ledger.Case) cause.Finding {
	if !c.Root(fact.VLLMCacheTooSmall, fact.VLLMTokens) {
		return cause.Nothing()
	}
	u, known := utilization(c)
	if needed, ok := neededUtilization(c); known && ok && u <= 0.75 && needed <= 0.92 {
		return cause.Seen(0.62, fmt.Sprintf("The share of the card was set to %g; at %.2f one request fits.", u, needed), c.Failure.Line)
	}
	return cause.Seen(0.12, "A larger share of the card would leave more for the cache.", c.Failure.Line)
}

// vllmShareTooLarge: less is free at start than the share asks for, because of
// a desktop or a context, not of another job.
func vllmShareTooLarge(c *ledger.Case) cause.Finding {
	f := c.F()
	if !c.Root(fact.VLLMFreeTooLow) || f.Free == nil || f.Total == nil {
		return cause.Nothing()
	}
	why := "The share asks for more than is free at start."
	if f.Desired != nil && f.Utilization != nil {
		why = fmt.Sprintf("%s of the card is wanted (%s), %s is free: %s too little.", f.Desired.Text, f.Utilization.Text, units.Format(f.Free.Bytes), units.Format(f.Desired.Bytes-f.Free.Bytes))
	}
	switch taken := takenAtStart(c); {
	case taken < 5*units.GiB/2:
		return cause.Seen(0.78, why+fmt.Sprintf(" What is taken already, %s, is what a desktop or the contexts of drivers take.", units.Format(taken)), c.Failure.Line)
	case taken < 4*units.GiB:
		return cause.Seen(0.5, why, c.Failure.Line)
	}
	return cause.Seen(0.2, why, c.Failure.Line)
}

func vllmCardTaken(c *ledger.Case) cause.Finding {
	f := c.F()
	if !c.Root(fact.VLLMFreeTooLow) || f.Free == nil || f.Total == nil {
		if c.Root(fact.VLLMNoCache) {
			return cause.Seen(0.1, "Versions before 0.9.1 count what other programs hold as their own.", c.Failure.Line)
		}
		return cause.Nothing()
	}
	taken := takenAtStart(c)
	why := fmt.Sprintf("%s of %s was in use before vLLM started.", units.Format(taken), f.Total.Text)
	switch {
	case taken >= 4*units.GiB:
		return cause.Seen(0.8, why, c.Failure.Line)
	case taken >= 5*units.GiB/2:
		return cause.Seen(0.48, why, c.Failure.Line)
	}
	return cause.Seen(0.22, why, c.Failure.Line)
}

// vllmOutsideShare: graphs, sampler and requests take memory beside the share.
func vllmOutsideShare(c *ledger.Case) cause.Finding {
	u, known := utilization(c)
	share := ""
	if known {
		share = fmt.Sprintf(" The share is %g of the card.", u)
	}
	switch {
	case c.Root(fact.VLLMWarmup):
		if ledger.IntSetting(c, "max_num_seqs") < 512 {
			return cause.Seen(0.6, "At a usual number of sequences the sampler's warm-up found no room: weights and cache took nearly all of the card."+share, c.Failure.Line)
		}
		return cause.Seen(0.3, "The share leaves no room for the sampler's warm-up."+share, c.Failure.Line)
	case ledger.TakingCache(c):
		return cause.Seen(0.8, "vLLM sized the cache by its share of the card, and the card did not have that much."+share, c.Failure.Line)
	case capturing(c):
		return cause.Seen(0.88, "The cache was taken, and the CUDA graphs found no room beside it."+share, c.Failure.Line)
	case serving(c) && c.Phase == "warmup":
		return cause.Seen(0.55, "Weights, cache and graphs fill the card, and the sampler's warm-up found no room beside them."+share, c.Failure.Line)
	case serving(c) && c.Phase == "inference":
		return cause.Seen(0.75, "The cache took the room that the computation of a request needs."+share, c.Failure.Line)
	case serving(c) && c.Contains("private pools"):
		return cause.Seen(0.5, "CUDA graphs exist already, so the cache was taken: what is computed found no room beside it."+share, c.Failure.Line)
	case serving(c):
		return cause.Seen(0.58, "vLLM fills the card up to its share; what is computed found no room beside it."+share, c.Failure.Line)
	}
	return cause.Nothing()
}

// vllmContextOverCache: one request of the full length is more than the cache
// holds. A cache of next to nothing is not about the length.
func vllmContextOverCache(c *ledger.Case) cause.Finding {
	f := c.F()
	switch {
	case c.Root(fact.VLLMTokens) && f.KVTokens != nil && f.MaxModelLen != nil:
		why := fmt.Sprintf("One request may have %s tokens; the cache that is left holds %s.", f.MaxModelLen.Text, f.KVTokens.Text)
		if f.KVTokens.Value < 512 {
			return cause.Seen(0.3, why, c.Failure.Line)
		}
		return cause.Seen(0.88, why, c.Failure.Line)
	case c.Root(fact.VLLMCacheTooSmall) && f.KVNeeded != nil && f.KVAvailable != nil:
		length := "the full length"
		if f.MaxModelLen != nil {
			length = f.MaxModelLen.Text + " tokens"
		}
		weight := 0.9
		if _, fixed := c.Setting("kv_cache_memory_bytes"); fixed {
			weight = 0.5
		}
		return cause.Seen(weight, fmt.Sprintf("The weights fit; what does not is the cache of one single request of %s.", length), c.Failure.Line)
	case c.Root(fact.VLLMTokens, fact.VLLMCacheTooSmall):
		return cause.Seen(0.8, "One request of the full length is more than the cache that is left holds.", c.Failure.Line)
	}
	return cause.Nothing()
}

func vllmLongPrefill(c *ledger.Case) cause.Finding {
	if !longPrefill(c) {
		return cause.Nothing()
	}
	return cause.Seen(0.62, fmt.Sprintf("One request of %s in an early version, which computes the whole context length in one step.", c.F().Requested.Text), c.Failure.Line)
}

func vllmManySequences(c *ledger.Case) cause.Finding {
	n := ledger.IntSetting(c, "max_num_seqs")
	switch {
	case c.Root(fact.VLLMWarmup) && n >= 512:
		return cause.Seen(0.72, fmt.Sprintf("The warm-up runs %d sequences at once, each with a row of the whole vocabulary in 32 bit.", n), c.Failure.Line)
	case c.Root(fact.VLLMWarmup):
		return cause.Seen(0.36, "The sampler's warm-up needs a row of the vocabulary for each sequence.", c.Failure.Line)
	case serving(c) && largeTemporary(c):
		return cause.Seen(0.62, fmt.Sprintf("One temporary of %s after the graphs were made is the size of sequences x vocabulary.", c.F().Requested.Text), c.Failure.Line)
	case capturing(c):
		return cause.Seen(0.2, "Graphs are captured for up to max_num_seqs sequences.", c.Failure.Line)
	}
	return cause.Nothing()
}

// largeTemporary: over 1 GiB, where graphs exist and no request runs yet.
func largeTemporary(c *ledger.Case) bool {
	r := c.F().Requested
	return r != nil && r.Bytes > units.GiB && c.Phase != "inference" && c.Contains("private pools")
}

func vllmProfileTooLarge(c *ledger.Case) cause.Finding {
	if !ledger.Profiling(c) {
		return cause.Nothing()
	}
	return cause.Seen(0.62, "It failed in vLLM's dummy run, before any cache was taken: too many tokens or sequences are computed at once beside the weights.", c.Failure.Line)
}

func vllmWeightsFill(c *ledger.Case) cause.Finding {
	if !ledger.LoadingWeights(c) || c.Others.Bytes > 4*units.GiB {
		return cause.Nothing()
	}
	why := "It failed while the weights were being loaded; vLLM's share of the card plays no part then."
	if f := c.F(); f.Allocated != nil && f.Total != nil {
		why = fmt.Sprintf("%s of %s is this process's own, nothing of it cached: weights. vLLM's share of the card plays no part while they load.", f.Allocated.Text, f.Total.Text)
		if c.Phase == "unknown" {
			return cause.Seen(0.65, why, c.Failure.Line)
		}
	}
	return cause.Seen(0.87, why, c.Failure.Line)
}

// vllmNoRoomBesideWeights: the share is as large as it can be, or the weights
// are most of it.
func vllmNoRoomBesideWeights(c *ledger.Case) cause.Finding {
	f := c.F()
	switch {
	case c.Root(fact.VLLMTokens) && f.KVTokens != nil && f.KVTokens.Value < 512:
		return cause.Seen(0.6, fmt.Sprintf("Room for %s tokens is no usable cache: the weights take nearly all of the share.", f.KVTokens.Text), c.Failure.Line)
	case c.Root(fact.VLLMTokens, fact.VLLMCacheTooSmall):
		return cause.Seen(0.08, "Smaller weights would leave more for the cache.", c.Failure.Line)
	case !c.Root(fact.VLLMNoCache):
		return cause.Nothing()
	case f.Weights != nil && f.Total != nil && f.Weights.Bytes*100 > f.Total.Bytes*80:
		return cause.Seen(0.8, fmt.Sprintf("The weights take %s of %s.", f.Weights.Text, f.Total.Text), c.Failure.Line)
	}
	if u, known := utilization(c); known && u >= 0.93 {
		return cause.Seen(0.6, fmt.Sprintf("The share is %g of the card already and nothing is left beside the weights.", u), c.Failure.Line)
	}
	return cause.Seen(0.3, "The weights may take nearly all of the share.", c.Failure.Line)
}

// vllmAbsurdGraphs: an estimate for CUDA graphs that no card ever needed (0.2
// to 3 GiB is usual) is taken off the cache (0.21 and later).
func vllmAbsurdGraphs(c *ledger.Case) cause.Finding {
	x, ok := c.Fact("graphs_estimate")
	if !ok || x.Size == nil || !ledger.ShareTooSmall(c) || x.Size.Bytes < 8*units.GiB {
		return cause.Nothing()
	}
	return cause.Seen(0.85, fmt.Sprintf("vLLM estimated %s for CUDA graphs (0.2 to 3 GiB is usual) and took that off the cache.", x.Size.Text), x.Line, c.Failure.Line)
}

// offline reports that vLLM runs inside a Python program, not as a server.
func offline(c *ledger.Case) bool {
	_, ok := c.Fact("vllm_offline")
	return ok
}

// vllmOld reports a version before "vllm serve" (0.5.5).
func vllmOld(c *ledger.Case) bool {
	v, ok := c.Fact("vllm_version")
	if !ok {
		return false
	}
	parts := strings.SplitN(v.Text, ".", 3)
	if len(parts) < 2 || parts[0] != "0" {
		return false
	}
	minor, err := strconv.Atoi(parts[1])
	return err == nil && minor < 6
}
