package server

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/program/server/vllm"
	"github.com/oomdoc/oomdoc/rules/program/torch/allocator"
	"github.com/oomdoc/oomdoc/rules/step"
)

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
		out["stage"] = "This is the trial run at start: the weights are loaded, the KV cache is not allocated yet"
		if startedUp(c) {
			out["stage"] = "CUDA graphs exist already, so weights and KV cache are in place, and this needs memory outside vLLM's share"
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
		delete(out, "named")
		out["weights_half"] = units.Amount(w / 2)
		if lacking := shareLacks(c); lacking > 0 {
			out["gain"], out["likely_card"] = units.Amount(cardAtMost(c)/20), fmt.Sprintf("%d GB", int64(float64(w+3*units.GiB/2-lacking)/0.9/float64(units.GiB)+0.5))
		}
	}
	out["light"], out["which"] = vllm.LightTrial(c)
	if out["counts_others"] = ""; !era.Told(c, "vllm") || era.Lacks(c, "vllm", era.OwnMemory) {
		out["counts_others"] = "vLLM before 0.9.1 (June 2025) also subtracts what other programs use, so on a shared GPU the share must include that (`nvidia-smi`)."
	}
	if x, ok := c.Fact("graphs_estimate"); ok && x.Size != nil {
		out["graphs"] = units.Amount(x.Size.Bytes)
	}
	return out
}

// shareLacks is what weights and trial run take beyond the share, 0 if unknown.
func shareLacks(c *ledger.Case) int64 { return max(0, -ledger.SizeOf(c.F().KVAvailable)) }

// cardAtMost is how large the card is at most, by what is lacking beside the
// weights and a trial run of no more than 8 GiB.
func cardAtMost(c *ledger.Case) int64 {
	if total := cardTotal(c); total > 0 {
		return total
	}
	now, _ := vllmShare.now(c)
	return int64(float64(ledger.SizeOf(c.F().Weights)+8*units.GiB-shareLacks(c)) / now)
}

// shareCloses: what can be added to the share may be what the cache lacks.
func shareCloses(c *ledger.Case) bool {
	gap, ok := cacheGap(c)
	now, _ := vllmShare.now(c)
	return !ok || ledger.SizeOf(c.F().Weights) == 0 || float64(cardAtMost(c))*(0.95-now) >= float64(gap)
}

// farFromShare: weights and trial run are so much more than the share that what
// can be added to it is not enough.
func farFromShare(c *ledger.Case) bool {
	lacking := shareLacks(c)
	return ledger.SizeOf(c.F().Weights) > 0 && lacking > units.GiB/2 && cardAtMost(c)/20 < lacking+units.GiB/4
}

// notQuantised: the model's name does not say that its weights are small already.
func notQuantised(c *ledger.Case) bool { return ledger.Quantised(c) == "" }

// weightsFillShare: the weights, as printed, are most of the share.
func weightsFillShare(c *ledger.Case) bool {
	w, total := ledger.SizeOf(c.F().Weights), cardTotal(c)
	now, _ := vllmShare.now(c)
	return w > 0 && float64(w) > 0.8*max(now*float64(total), float64(ledger.SizeOf(c.F().Desired))) && (total > 0 || c.F().Desired != nil)
}

// shorterInEight is an 8-bit cache with the length that fits it.
func shorterInEight(c *ledger.Case) []step.Step {
	return vllm.Server.Sets(launch.To("kv_cache_dtype", "fp8"), launch.Whole("max_model_len", twiceFitting))(c)
}

func twiceFitting(c *ledger.Case) int { return 2 * fittingLength(c) }

func effectFreeCard(c *ledger.Case) *effect.Effect {
	f := c.F()
	if !c.Root(fact.VLLMFreeTooLow) || f.Desired == nil || f.Total == nil || f.Free == nil {
		return allocator.Kill(c)
	}
	e := fits(f.Desired.Bytes, f.Total.Bytes, fmt.Sprintf("%s of the %s that others hold has to be freed. Exact for this check.", units.Amount(f.Desired.Bytes-f.Free.Bytes), units.Amount(takenAtStart(c))))
	e.Certainty = effect.Condition // of its being somebody's who can be ended
	return e
}

// servingFigures add of how many tokens a piece would be the log-probabilities.
func servingFigures(c *ledger.Case) map[string]string {
	out := vllmFigures(c)
	if n := ledger.Requested(c) / (4 * 150_000); n > 256 {
		out["rows"] = "about " + grouped(float64(n/100*100))
	}
	return out
}
