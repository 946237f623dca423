package server

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/engine/cards"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/program/server/vllm"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// added is a cure whose words end before what is added to the command that
// starts vLLM: the program's own step.
func added(fix, title, told, cost string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Told: told, Cost: cost, Steps: func(c *ledger.Case) []step.Step { return spelled(c, fix) }, If: func(c *ledger.Case) bool { return spelled(c, fix) != nil }}
}

// spelled is the step of a fix as vLLM has it, without the words around it.
func spelled(c *ledger.Case, fix string) []step.Step {
	var out []step.Step
	for _, s := range vllmSteps[fix](c) {
		if s.Kind != "text" {
			s.Text, _, _ = strings.Cut(s.Text, "   # ")
			out = append(out, s)
		}
	}
	return out
}

// wholeTrial: the trial run computed one whole prompt, and what it took would
// do for what the cache lacks. Above 32,768 tokens V0 computes in chunks anyway.
func wholeTrial(c *ledger.Case) bool {
	gap, ok := cacheGap(c)
	n := c.F().MaxModelLen
	return ok && n != nil && n.Value > 4096 && n.Value <= 32768 && vllm.WholePrompts(c) && vllm.TrialTook(c) > gap*3/2
}

// vllmFigures are what the cards of vLLM name beside the ledger's numbers.
func vllmFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"taken": "", "chunked": "", "where": vllm.Where(c), "default": "0.9 or 0.92", "fewer_bits": fewerBits(c), "five": "1.2 GiB on a 24 GB card, 4 on 80 GB"}
	_, versioned := c.Fact("vllm_version")
	if now, stated := vllmShare.now(c); !stated && (versioned || now < 0.9) {
		out["default"] = fmt.Sprintf("%g", now)
	}
	if n := cardTotal(c); n > 0 {
		out["five"] = units.Amount(n/20) + " here"
	}
	if u, ok := neededUtilization(c); ok {
		out["needed"] = launch.Share(u)
	}
	if s, ok := c.Setting("max_model_len"); !ok || s.Default {
		out["no_length"] = "If no length is set, vLLM takes the model's own maximum."
	}
	if w := ledger.SizeOf(c.F().Weights); w > 0 {
		out["weights"] = units.Amount(w)
	}
	if wholeTrial(c) {
		out["trial"] = units.Amount(vllm.TrialTook(c))
	}
	if vllm.WholePrompts(c) {
		out["chunked"] = " --enable-chunked-prefill"
	}
	for _, name := range []string{"DeepGEMM", "FlashInfer"} {
		if c.Near(map[string]string{"DeepGEMM": "deep_gemm_warmup", "FlashInfer": "flashinfer_autotune"}[name]) {
			out["kernels"] = name
		}
	}
	if n := vllm.CardsFor(c); n > 0 {
		out["twice"], out["halves"] = strconv.Itoa(n), "half as much"
		if w, ok := vllm.Weights(c); ok {
			out["named"] = vllm.Named(c)
			if stage.LoadingWeights(c) {
				out["halves"] = units.Amount(w/int64(n)/vllm.Stages(c)) + " of the weights"
			}
		}
		if ledger.IntSetting(c, "tensor_parallel_size") == 0 && launch.AtLeast(c) > 1 {
			out["second"] = fmt.Sprintf("At least %d are in use now: set twice your present number, or add a second machine with `--pipeline-parallel-size 2`.", launch.AtLeast(c))
		}
	}
	shareFigures(c, out)
	out["this_share"], out["other_share"] = vllm.Both(c)
	out["holder"], out["how"] = vllm.Holder(c)
	lengthFigures(c, out)
	samplerFigures(c, out)
	if grew := grownBy(c); grew > 0 {
		out["grew"] = units.Amount(grew)
		if x, _ := c.Fact("initial_free"); c.Room.Has() {
			out["before_gib"] = x.Size.String()
		}
	}
	return out
}

// fewerBits says which smaller checkpoint of the model there may be, with what it
// would take where the name tells its size.
func fewerBits(c *ledger.Case) string {
	const search = "search the model's name with one of these words on huggingface.co."
	format := cmp.Or(ledger.Quantised(c), cards.FormatInFrames(c))
	sized := ""
	if w, ok := ledger.WeightsIn(c, "awq-int4"); ok && w > 0 {
		sized = " (4 bit: about " + units.Amount(w) + ")"
	}
	switch {
	case format == "" && (era.Lacks(c, "vllm", "--quantization fp8") || cardTotal(c)>>30 == 14): // a T4 has no FP8
		return "Take an AWQ or GPTQ version" + sized + ": " + search
	case strings.Contains(strings.ToLower(c.ModelName()), "gpt-oss"): // published in MXFP4
		return "gpt-oss is 4 bit already: take a smaller model."
	case format == "":
		return "Take an AWQ, GPTQ or FP8 version" + sized + ": " + search
	case strings.Contains(format, "8"):
		return "This one is 8 bit already. Take an AWQ, GPTQ or w4a16 version" + sized + ": " + search
	}
	return "This one is 4 bit already: take the next smaller model of its family."
}

// overShare is what the weights take on each card, by the model's name and the
// number of cards, where that is more than a part of a card.
func overShare(c *ledger.Case, part int64) (each string, cards int, over bool) {
	w, ok := vllm.Weights(c)
	if !ok || part <= 0 {
		return "", 0, false
	}
	cards = max(1, ledger.IntSetting(c, "tensor_parallel_size")) * int(vllm.Stages(c))
	w /= int64(cards)
	return units.Amount(w), cards, w > part
}

// heavyForShare: what is free holds less than the model's weights, by its name.
func heavyForShare(c *ledger.Case) bool {
	at := int64(vllmShare.lowered(c) * float64(cardTotal(c)))
	_, cards, over := overShare(c, at)
	four, ok := ledger.WeightsIn(c, "awq-int4")
	return over && ok && four/int64(cards) < at*4/5
}

// lighterShare is what sharing the card takes where the model is too heavy for
// what is free.
var lighterShare = cause.Cure{
	Fix: "use_lower_quant", Title: "To share the card, load smaller weights as well", If: heavyForShare,
	Told: "Only {lighter} fits in a share of {low} ({low_gib}): {heavy}.", Cost: "slight loss of quality",
}

// shareFigures are the share as it is and as a smaller one would be.
func shareFigures(c *ledger.Case, out map[string]string) {
	now, stated := vllmShare.now(c)
	low := vllmShare.lowered(c)
	out["low"], out["off"], out["from"] = launch.Share(low), strconv.FormatFloat(now-low, 'f', 2, 64), fmt.Sprintf("the default %g", now)
	out["a_share"] = fmt.Sprintf("%g%s", now, map[bool]string{false: " by default"}[stated])
	out["own"] = "if you set your own value, subtract " + out["off"] + " from it"
	if stated {
		delete(out, "own")
		out["share"], out["from"] = fmt.Sprintf("%g", now), fmt.Sprintf("%g", now)
	}
	total, f := cardTotal(c), c.F()
	if total <= 0 {
		return
	}
	at := int64(low * float64(total))
	out["low_gib"], out["share_gib"], out["freed"] = units.Amount(at), units.Amount(int64(now*float64(total))), units.Amount(int64((now-low)*float64(total)))
	if each, cards, over := overShare(c, at); over {
		out["heavy"], out["lighter"] = "these weights alone are about "+each, "a smaller model"
		if q := ledger.Quantised(c); q == "" {
			out["lighter"] = "an AWQ, GPTQ or FP8 checkpoint of this model"
		} else if strings.Contains(q, "8") {
			out["lighter"] = "a 4-bit checkpoint of this model"
		}
		if cards > 1 {
			out["heavy"] += fmt.Sprintf(" on each of %d cards", cards)
		}
	}
	if w := ledger.Sized(c, "weights_loaded"); w > 0 {
		out["loaded"], out["loaded_part"] = units.Amount(w), fmt.Sprintf("%d %%", (w*100+total/2)/total)
		if share := int64(now * float64(total)); share < w {
			out["past_it"] = fmt.Sprintf("A share of %g is %s, less than the weights, so the KV cache would not fit either.", now, units.Amount(share))
		}
	}
	if f.Free == nil {
		return
	}
	out["taken"] = units.Amount(takenAtStart(c))
	out["most"] = fmt.Sprintf("%.3f", math.Floor(1000*float64(f.Free.Bytes)/float64(total))/1000)
	if spare := f.Free.Bytes - at; spare > 0 {
		out["spare"] = units.Amount(spare)
	}
}

// lengthFigures are the longest request as it is, and as it would fit.
func lengthFigures(c *ledger.Case, out map[string]string) {
	f := c.F()
	if f.MaxModelLen == nil || f.MaxModelLen.Value < 1 {
		return
	}
	n := f.MaxModelLen.Value
	held, known := cacheTokens(c)
	out["tokens"], out["fit_eight"] = grouped(n), grouped(float64(twiceFitting(c)))
	out["margin"] = margin(c)
	if known || f.EstMaxModelLen != nil || ledger.SizeOf(f.KVNeeded) > 0 && ledger.SizeOf(f.KVAvailable) > 0 {
		out["fit"] = grouped(float64(fittingLength(c)))
	} else {
		out["fit_half"] = grouped(float64(fittingLength(c)))
	}
	if f.EstMaxModelLen != nil {
		out["limit_tokens"] = grouped(f.EstMaxModelLen.Value)
	}
	if known {
		out["held"], out["held_eight"] = grouped(held), grouped(2*held)
		out["lacking"], out["times"] = grouped(n-held), strconv.FormatFloat(n/held, 'f', 1, 64)
		if have := ledger.SizeOf(f.KVAvailable); have > 0 {
			out["lack"], out["per_token"] = units.Amount(int64(float64(have)*(n-held)/held)), fmt.Sprintf("%.0f KiB", float64(have)/held/1024)
		}
	}
	if need, have := ledger.SizeOf(f.KVNeeded), ledger.SizeOf(f.KVAvailable); need > 0 {
		out["per_token"] = fmt.Sprintf("%.0f KiB", float64(need)/n/1024)
		out["half"] = units.Amount(need / 2)
		if gap := need - have; gap > 0 {
			if n := math.Ceil(float64(gap) / 0.05 / float64(units.GiB)); n > 8 {
				out["card_for"] = fmt.Sprintf("%.0f GiB", n)
			} else { // no card that runs vLLM is smaller
				out["any_card"], out["little"] = "Or raise `gpu_memory_utilization` slightly", "0.05 more is "+out["five"]+"; "+c.Shortfall.String()+" is missing."
			}
			if !perhapsShare(c) {
				out["no_share"] = "a larger share alone (0.05 more adds " + out["five"] + ")"
			}
		}
	}
}

// margin is what the length that is advised leaves of the tokens that fit.
func margin(c *ledger.Case) string {
	f := c.F()
	most, known := cacheTokens(c)
	switch {
	case f.EstMaxModelLen != nil:
		most = f.EstMaxModelLen.Value
	case !known && ledger.SizeOf(f.KVNeeded) > 0 && f.MaxModelLen != nil:
		most = f.MaxModelLen.Value * float64(ledger.SizeOf(f.KVAvailable)) / float64(f.KVNeeded.Bytes)
	}
	if left := 100 * (1 - float64(fittingLength(c))/most); most > 0 && left >= 1 {
		return fmt.Sprintf("%.0f %%", left)
	}
	return "a little"
}

// tokensKnown: the refusal says how many tokens the cache holds.
func tokensKnown(c *ledger.Case) bool { _, ok := cacheTokens(c); return ok }

// halfFits: an 8-bit cache holds one request of full length.
func halfFits(c *ledger.Case) bool {
	f := c.F()
	if held, ok := cacheTokens(c); ok && f.MaxModelLen != nil {
		return f.MaxModelLen.Value <= 2*held
	}
	return f.KVNeeded != nil && f.KVAvailable != nil && f.KVNeeded.Bytes/2 <= f.KVAvailable.Bytes
}

// nextToNone: by vLLM's own figures the cache that is left holds no request
// worth serving, whatever its length is set to.
func nextToNone(c *ledger.Case) bool {
	n := c.F().MaxModelLen
	return n != nil && n.Value > 2*leastLength && fittingLength(c) < leastLength && !fixedByHand(c) && !when.Set("kv_cache_memory_bytes", "")(c)
}

// leastLength is the shortest context that is of any use.
const leastLength = 2048

// shareLeft: the share can still be raised by what is worth it.
func shareLeft(c *ledger.Case) bool {
	u, set := shareSet(c)
	return !set || u < raisedUtilization(c)-0.01
}

// perhapsShare: the log does not show the card, and on one of today's a larger
// share would be enough.
func perhapsShare(c *ledger.Case) bool {
	gap, ok := cacheGap(c)
	u, set := shareSet(c)
	return ok && gap > 0 && gap <= 80*units.GiB/20 && cardTotal(c) == 0 && (!set || u <= 0.9)
}

// moreShare is the cure where a larger share may do.
var moreShare = cause.Cure{
	Fix: "raise_gpu_memory_utilization", Title: "[[Or, if the card has {card_for} or more, raise `gpu_memory_utilization`]][[{any_card}]]", If: perhapsShare,
	Told: "[[On a GPU with {card_for}, 0.05 more is the {short} that is missing.]][[{little}]] Only if nothing else uses the GPU.", Cost: "little left for graphs and other programs",
	Steps: func(c *ledger.Case) []step.Step { return spelled(c, "raise_gpu_memory_utilization") },
}

// grouped is a count with its thousands apart.
func grouped(n float64) string {
	s := strconv.FormatFloat(math.Floor(n), 'f', -1, 64)
	for i := len(s) - 3; i > 0 && s[0] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// grownBy is how much more was free after vLLM had measured than before.
func grownBy(c *ledger.Case) int64 {
	x, ok := c.Fact("initial_free")
	if !ok || x.Size == nil || c.F().Free == nil {
		return 0
	}
	return c.F().Free.Bytes - x.Size.Bytes
}

// planFigures are what a planner of experts counted for overhead, and what there
// was.
func planFigures(c *ledger.Case) map[string]string {
	out := vllmFigures(c)
	for name, key := range map[string]string{"overhead_planned": "planned_overhead", "overhead_measured": "measured_overhead"} {
		if x, ok := c.Fact(name); ok && x.Size != nil {
			out[key] = x.Size.String()
		}
	}
	return out
}
