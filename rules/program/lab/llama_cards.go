package lab

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// llamaModel is a checkpoint of Meta's: the code asks for one matrix of its
// feed-forward layers as a whole, at 16 bit, before it keeps this rank's part
// (fairscale/nn/model_parallel/layers.py, _initialize_affine_weight). Its shape is
// dim x ffn of params.json, by the rule in llama/model.py (FeedForward).
type llamaModel struct {
	name            string
	dim, ffn, ranks int64
	parameters      int64  // in millions, by llama/model.py's shapes
	said            string // a word that tells it from another with the same matrix
}

var llamaModels = []llamaModel{
	{"7B", 4096, 11008, 1, 6738, ""}, {"8B", 4096, 14336, 1, 8030, ""}, {"13B", 5120, 13824, 2, 13016, ""}, {"33B", 6656, 17920, 4, 32529, ""},
	{"34B", 8192, 22016, 4, 33744, "34b"}, {"65B", 8192, 22016, 8, 65286, ""}, {"70B", 8192, 28672, 8, 68977, ""},
}

// largeStep is to what PyTorch rounds up a large request (kRoundLarge).
const largeStep = 2 * units.MiB

// llamaOf is the model of which one matrix was refused, nil for another size.
func llamaOf(c *ledger.Case) *llamaModel {
	for i, m := range llamaModels {
		if asked := 2 * m.dim * m.ffn; (m.said == "" || c.Near(m.said, strings.ToUpper(m.said))) && ledger.Requested(c) == (asked+largeStep-1)/largeStep*largeStep {
			return &llamaModels[i]
		}
	}
	return nil
}

// each is what the weights take on a card.
func (m *llamaModel) each() int64 { return m.parameters * 2_000_000 / m.ranks }

// smaller are the smaller checkpoints that fit, as far as the log tells.
func (m *llamaModel) smaller(c *ledger.Case) string {
	var fit []string
	for _, k := range llamaModels[:3] {
		if k.parameters < m.parameters && k.each()+units.GiB <= ledger.SizeOf(c.F().Total) {
			fit = append(fit, k.name+" "+units.Amount(k.each())+[]string{"", " on one GPU", " on each of two"}[k.ranks])
		}
	}
	return strings.Join(fit, ", ")
}

func llamaBuilds(c *ledger.Case) bool { return ours(c) && !c.Training() && llamaOf(c) != nil }

func llamaExceeds(c *ledger.Case) bool {
	return llamaBuilds(c) && llamaOf(c).each()+units.GiB/2 > ledger.SizeOf(c.F().Total)
}

func llamaFigures(c *ledger.Case) map[string]string {
	m := llamaOf(c)
	if m == nil {
		return nil
	}
	out := map[string]string{"llama": m.name, "dim": grouped(m.dim), "ffn": grouped(m.ffn), "each": units.Amount(m.each()), "four": units.Amount(m.parameters * 600_000), "parts": "", "whole": "", "twin": "", "count": "", "smaller": m.smaller(c)}
	if m.name == "65B" {
		out["twin"] = "Code Llama's 34B (four files) has the same matrix and takes 15.7 GiB on each of four."
	}
	if m.ranks > 1 {
		out["parts"], out["whole"] = fmt.Sprintf("on each of %d GPUs, one per checkpoint file", m.ranks), "made whole before a rank keeps its part"
		out["count"] = fmt.Sprintf("It takes %d of them.", m.ranks)
	}
	return out
}

// grouped is a number with commas.
func grouped(n int64) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }

var (
	llamaElsewhere = cause.Cure{Fix: "load_in_4bit", Title: "Run a 4-bit version in another program", Told: "Use Ollama or llama.cpp with a Q4_K_M file (about {four} in all), or Transformers with bitsandbytes and `device_map=\"auto\"`. Meta's code runs 16 bit only.", Cost: "slight loss of quality"}
	llamaSmaller   = cause.Cure{Fix: "use_smaller_model", Title: "Or a smaller Llama", Told: "[[Weights in 16 bit: {smaller}. ]]Llama 3.2 has 1B and 3B (2.3 and 6 GiB); they run in Transformers.", Cost: "quality"}
	llamaBigger    = cause.Cure{Fix: "bigger_gpu", Title: "Or use GPUs with more memory", Told: "Weights, KV cache and 1 to 2 GiB of working memory must fit on each.[[ {count}]]", Cost: "other hardware"}
	llamaMeans     = "It failed while building the model: {asked} is one of the {llama} model's matrices, {ffn} x {dim} in 16 bit[[, {whole}]]. In 16 bit the weights take {each}[[ {parts}]].[[ {twin}]]"

	llamaTooLarge = cause.Card{
		ID: "meta-llama/too-large", Kinds: cardFull, If: llamaExceeds, Figures: llamaFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive,
		Headline: "cannot fit the {llama} model: {each} of weights, but the GPU has {total}",
		Means:    llamaMeans,
		Not:      "`--max_seq_len`, `--max_batch_size` or allocator settings: the weights alone do not fit.",
		Cures:    []cause.Cure{llamaElsewhere, llamaSmaller, llamaBigger},
		Sources:  []string{"llama/llama/model.py", "fairscale/fairscale/nn/model_parallel/layers.py"},
	}
	llamaMatrix = cause.Card{
		ID: "meta-llama/matrix", Kinds: cardFull, If: llamaBuilds, Figures: llamaFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while building the {llama} model",
		Means:    llamaMeans + " Each layer also reserves its KV cache for `max_batch_size` x `max_seq_len` tokens.",
		Not:      "A shorter prompt: the KV cache is reserved at the start.",
		Cures:    append(fixes("lower_context"), llamaElsewhere, llamaSmaller),
		Sources:  []string{"llama/llama/model.py", "fairscale/fairscale/nn/model_parallel/layers.py"},
	}
)
