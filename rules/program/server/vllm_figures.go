package server

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// added is a cure whose words end before what is added to the command that
// starts vLLM: the program's own step.
func added(fix, title, told, cost string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Told: told, Cost: cost, Steps: func(c *ledger.Case) []step.Step { return spelled(c, fix) }}
}

// words is a cure that is all told.
func words(fix, title, told, cost string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Told: told, Cost: cost}
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

// flags is a cure that sets options of vLLM's to these values together.
func flags(fix, title, told, cost string, set ...option) cause.Cure {
	choices := make([]choice, len(set))
	for i, o := range set {
		choices[i] = to(o.name, o.value)
		if o.name == "max_num_batched_tokens" {
			choices = append(choices, chunks)
		}
	}
	return cause.Cure{Fix: fix, Title: title, Told: told, Cost: cost, Steps: vllmServer.sets(choices...)}
}

// chunks turns chunked prefill on beside fewer tokens for a step where it is
// off: without it vLLM refuses fewer than the longest prompt.
var chunks = from("enable_chunked_prefill", func(c *ledger.Case) string {
	if wholePrompts(c) {
		return "True"
	}
	return ""
})

// wholePrompts: prompts are not computed in chunks, because an option says so or
// the engine is V0, where that is the default below 32,768 tokens.
func wholePrompts(c *ledger.Case) bool {
	_, v0 := c.Fact("vllm_v0")
	return v0 || when.Set("no_enable_chunked_prefill", "")(c) || when.Set("enable_chunked_prefill", "False")(c)
}

// where says where the first step goes: the log's own command is pasted whole.
func where(c *ledger.Case) string {
	_, offline := c.Fact(vllmServer.offline)
	switch {
	case offline:
		return "In your script:"
	case vllmServer.logged(c) != nil:
		return "Your command with it:"
	case vllmServer.others(c):
		return "It is vLLM's own option; your program passes it on, perhaps under a slightly different name:"
	case vllmServer.unknown(c):
		return "Add to the command that starts vLLM (compose: `command:`; Python: `LLM(…)`, same names with underscores):"
	}
	return "With your other options:"
}

// vllmFigures are what the cards of vLLM name beside the ledger's numbers.
func vllmFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"taken": "", "chunked": "", "where": where(c), "default": "0.9 or 0.92", "five": "1.2 GiB on a 24 GB card, 4 on 80 GB"}
	if _, ok := c.Fact("vllm_version"); ok {
		now, _ := vllmShare.now(c)
		out["default"] = fmt.Sprintf("%g", now)
	}
	if n := cardTotal(c); n > 0 {
		out["five"] = units.Amount(n/20) + " here"
	}
	if u, ok := neededUtilization(c); ok {
		out["needed"] = percent(u)
	}
	if s, ok := c.Setting("max_model_len"); !ok || s.Default {
		out["no_length"] = "Where no length is set it takes the model's own maximum."
	}
	if w := ledger.SizeOf(c.F().Weights); w > 0 {
		out["weights"] = units.Amount(w)
	}
	if wholePrompts(c) {
		out["chunked"] = " --enable-chunked-prefill"
	}
	shareFigures(c, out)
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

// shareFigures are the share as it is and as a smaller one would be.
func shareFigures(c *ledger.Case, out map[string]string) {
	now, stated := vllmShare.now(c)
	low := vllmShare.lowered(c)
	out["low"], out["off"], out["from"] = percent(low), strconv.FormatFloat(now-low, 'f', 2, 64), fmt.Sprintf("the default %g", now)
	out["own"] = "if you set a share of your own, take " + out["off"] + " off that"
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
		out["small_token"], out["large_token"] = units.Amount(int64(n-held)*128<<10), units.Amount(int64(n-held)*512<<10)
	}
	if need, have := ledger.SizeOf(f.KVNeeded), ledger.SizeOf(f.KVAvailable); need > 0 {
		out["per_token"] = fmt.Sprintf("%.0f KiB", float64(need)/n/1024)
		out["half"] = units.Amount(need / 2)
		if gap := need - have; gap > 0 {
			out["card_for"] = fmt.Sprintf("%.0f GiB", math.Ceil(float64(gap)/0.05/float64(units.GiB)))
			if !perhapsShare(c) {
				out["no_share"] = "a larger share alone (0.05 more adds " + out["five"] + ")"
			}
		}
	}
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
const leastLength = 1024

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
	return ok && gap > 0 && gap <= 96*units.GiB/20 && cardTotal(c) == 0 && (!set || u <= 0.9)
}

// moreShare is the cure where a larger share may do.
var moreShare = cause.Cure{
	Fix: "raise_gpu_memory_utilization", Title: "Or give vLLM more of the card", If: perhapsShare,
	Told: "0.05 more is the {short} that is lacking on cards from {card_for} up, if nothing else needs that.", Cost: "little left for graphs and other programs",
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

type vocabulary struct {
	words int64
	whose string
	names []string // of the family's models and modules
}

// vocabularies of widespread models, by whom they are.
var vocabularies = []vocabulary{
	{32000, "Llama 2's and Mistral's", []string{"llama", "mistral", "mixtral"}}, {128256, "Llama 3's", []string{"llama"}}, {129280, "DeepSeek V3's", []string{"deepseek"}},
	{131072, "Mistral Nemo's", []string{"mistral", "llama", "pixtral"}}, {151552, "GLM 4's", []string{"glm"}}, {151936, "Qwen's", []string{"qwen"}}, {152064, "Qwen's", []string{"qwen"}},
	{163840, "Kimi's", []string{"kimi", "deepseek"}}, {201088, "gpt-oss'", []string{"gpt"}}, {248320, "Qwen3.5's", []string{"qwen"}}, {262144, "Gemma 3's", []string{"gemma"}}, {262208, "Gemma 3's", []string{"gemma"}},
}

// sampled is what the sampler needs in one piece for each word and sequence: a
// 4-byte score, an 8-byte index to sort by, or both.
var sampled = []int64{12, 8, 4}

// rows are the sequences, the vocabulary and the bytes whose product was
// refused, to the rounding of the printed figure.
func rows(c *ledger.Case) (seqs, words, bytes int64, whose string, ok bool) {
	r := c.F().Requested
	if r == nil || !c.Contains("private pools") && !samplesRows(c) || r.Bytes < units.GiB/4 {
		return 0, 0, 0, "", false
	}
	counts := []int64{1024, 512, 256}
	if total := cardTotal(c); total > 0 && total < 70*units.GiB { // get_batch_defaults, vllm/engine/arg_utils.py
		counts = []int64{256, 512, 1024}
	}
	if n := ledger.IntSetting(c, "max_num_seqs"); n > 0 {
		counts = []int64{int64(n)}
	}
	for _, seqs := range counts {
		for _, v := range vocabularies {
			if !ofFamily(c, v.names) {
				continue
			}
			for _, b := range sampled {
				if ledger.Near(fit.PyTorchAllocation(seqs*v.words*b), r.Bytes, r.Within()) {
					return seqs, v.words, b, v.whose, true
				}
			}
		}
	}
	return 0, 0, 0, "", false
}

// ofFamily reports that neither the model's name nor a module of the traceback
// says that the model is of another family.
func ofFamily(c *ledger.Case, names []string) bool {
	said := []string{}
	if c.Model != nil {
		said = append(said, strings.ToLower(c.Model.Name))
	}
	for _, x := range c.Facts.Facts {
		if x.Name == "model_module" {
			said = append(said, x.Text)
		}
	}
	says := func(names []string) bool {
		return slices.ContainsFunc(said, func(s string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(s, n) })
		})
	}
	return says(names) || !slices.ContainsFunc(vocabularies, func(v vocabulary) bool { return says(v.names) })
}

func sampledRows(c *ledger.Case) bool { _, _, _, _, ok := rows(c); return ok }

// usualSequences are those that the refused piece shows, else the default.
func usualSequences(c *ledger.Case) int {
	if seqs, _, _, _, ok := rows(c); ok {
		return int(seqs)
	}
	return 256
}

// samplerFigures are the factors of what the sampler asked for, and what it
// asks for with fewer sequences.
func samplerFigures(c *ledger.Case, out map[string]string) {
	n := ledger.IntSetting(c, "max_num_seqs")
	if n == 0 && c.Root(fact.VLLMWarmup) {
		n = 256
	}
	fewer := fewerSequences(c)
	out["fewer"] = grouped(float64(fewer))
	if seqs, words, bytes, whose, ok := rows(c); ok {
		out["seqs"], out["words"], out["bytes"], out["whose"] = grouped(float64(seqs)), grouped(float64(words)), strconv.FormatInt(bytes, 10), whose
		out["stage"] = "This is the trial run at start: weights are in, no cache is taken yet"
		if startedUp(c) {
			out["stage"] = "Graphs exist already, so weights and cache are in place, and this comes beside vLLM's share. If the lines above show requests being served, it was one step of those"
		}
		out["piece_fewer"] = units.Amount(int64(fewer) * words * bytes)
		return
	}
	if n > 0 {
		out["seqs"] = grouped(float64(n))
		out["sort"] = units.Amount(int64(n) * 150_000 * 12)
		out["sort_fewer"] = units.Amount(int64(fewer) * 150_000 * 12)
	}
}

// mambaFigures are how many state blocks there are.
func mambaFigures(c *ledger.Case) map[string]string {
	out := vllmFigures(c)
	if x, ok := c.Fact("mamba_blocks"); ok && x.Count != nil {
		out["mamba"] = grouped(x.Count.Value)
	} else {
		out["fewer_than"] = "fewer"
	}
	return out
}

// fixedFigures are a cache that holds one request and a twentieth more.
func fixedFigures(c *ledger.Case) map[string]string {
	out := vllmFigures(c)
	out["more"] = ""
	if need := ledger.SizeOf(c.F().KVNeeded); need > 0 {
		more := ledger.CeilDiv(need+need/20, units.GiB/4) * (units.GiB / 4)
		out["more"], out["more_gib"] = strconv.FormatInt(more, 10), units.Amount(more)
	}
	return out
}

// noCacheFigures are what the parts of the share take, as far as it is printed.
func noCacheFigures(c *ledger.Case) map[string]string {
	out := vllmFigures(c)
	f := c.F()
	if f.KVAvailable != nil && f.KVAvailable.Bytes < 0 {
		out["lacking"] = units.Amount(-f.KVAvailable.Bytes)
	}
	if w := ledger.SizeOf(f.Weights); w > 0 {
		out["weights_half"] = units.Amount(w / 2)
	}
	if x, ok := c.Fact("graphs_estimate"); ok && x.Size != nil {
		out["graphs"] = units.Amount(x.Size.Bytes)
	}
	return out
}

// notQuantised: the model's name does not say that its weights are small already.
func notQuantised(c *ledger.Case) bool { return ledger.Quantised(c) == "" }

// weightsFillShare: the weights, as printed, are most of the share.
func weightsFillShare(c *ledger.Case) bool {
	w, total := ledger.SizeOf(c.F().Weights), cardTotal(c)
	now, _ := vllmShare.now(c)
	return total > 0 && w > 0 && float64(w) > 0.8*now*float64(total)
}

// shorterInEight is an 8-bit cache with the length that fits it.
func shorterInEight(c *ledger.Case) []step.Step {
	return vllmServer.sets(to("kv_cache_dtype", "fp8"), whole("max_model_len", twiceFitting))(c)
}

func twiceFitting(c *ledger.Case) int { return 2 * fittingLength(c) }

// swapFigures are the options as vLLM's own readers set them, and those of verl.
func swapFigures(c *ledger.Case) map[string]string {
	if c.Says("verl") {
		const rollout = "`actor_rollout_ref.rollout."
		return map[string]string{"set_share": "In steps of 0.1: " + rollout + "gpu_memory_utilization=0.7`", "set_seqs": rollout + "max_num_seqs=64`", "set_swap": "`+actor_rollout_ref.rollout.engine_kwargs.vllm.swap_space=16`"}
	}
	return map[string]string{
		"set_share": "`--gpu-memory-utilization 0.95`, in Python `LLM(..., gpu_memory_utilization=0.95)`; verl, in steps of 0.1: `actor_rollout_ref.rollout.gpu_memory_utilization=0.7`",
		"set_seqs":  "`--max-num-seqs 64` (verl: `actor_rollout_ref.rollout.max_num_seqs=64`)",
		"set_swap":  "`--swap-space 16` (verl: `+actor_rollout_ref.rollout.engine_kwargs.vllm.swap_space=16`)",
	}
}

func effectFreeCard(c *ledger.Case) *effect.Effect {
	f := c.F()
	if !c.Root(fact.VLLMFreeTooLow) || f.Desired == nil || f.Total == nil || f.Free == nil {
		return effect.Kill(c)
	}
	e := fits(f.Desired.Bytes, f.Total.Bytes, fmt.Sprintf("%s of the %s that others hold has to be freed. Exact for this check.", units.Amount(f.Desired.Bytes-f.Free.Bytes), units.Amount(takenAtStart(c))))
	e.Certainty = effect.Condition // of its being somebody's who can be ended
	return e
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
