// Package sized reckons with a model whose name tells its size, in scripts of
// which no more is known.
package sized

import (
	"fmt"
	"path"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/when"
)

// named: the log names one language model on one card, of a billion parameters or
// more, and nothing shows that it is in few bits already.
func named(c *ledger.Case) bool {
	m := ledger.Named(c)
	other := m.Model != nil && (m.Model.Kind == "diffusion" || m.Model.Kind == "speech") || strings.HasSuffix(c.Reader.Work, "-generation")
	return len(c.Stack) == 1 && m.Parameters >= 1e9 && !other && !ledger.ManyCards(c) && c.Reader.Cards < 2 && ledger.Quantised(c) == "" && ledger.SetQuantised(c, "load_in_4bit", "load_in_8bit") == ""
}

// in is what the weights take in a format.
func in(c *ledger.Case, format string) int64 {
	n, _ := ledger.WeightsIn(c, format)
	return n
}

// fits: so many bytes leave room for a context and a short input.
func fits(c *ledger.Case, bytes int64) bool {
	return bytes > 0 && bytes+ledger.BesideWeights <= c.Total.Bytes
}

func fits16(c *ledger.Case) bool { return fits(c, in(c, "bf16")) }
func fits4(c *ledger.Case) bool  { return fits(c, in(c, "nf4")) }

// MayFit16 is false where the log names a model that 16 bit does not bring onto the
// card.
func MayFit16(c *ledger.Case) bool {
	return ledger.Named(c).Parameters == 0 || !c.Total.Has() || ledger.ManyCards(c) || in(c, "bf16") <= c.Total.Bytes
}

// Default says what transformers loads without a type, unless the piece that was
// refused shows another.
func Default(c *ledger.Case) string {
	if c.Explained != nil && strings.Contains(c.Explained.What, "16 bit") {
		return "The failed request has the size it has in 16 bit, so most likely they are in 16 bit already."
	}
	return "Without a `dtype`, transformers 4 loads 32-bit weights: four bytes per parameter."
}

// wide: more is held than all weights take in 16 bit.
func wide(c *ledger.Case) bool {
	held := c.F().Allocated
	return held != nil && held.Bytes*20 > in(c, "bf16")*21
}

// mac: bitsandbytes has no 4 bit there.
func mac(c *ledger.Case) bool { return c.Backend == "mps" }

// weights: they were still on their way to the card.
func weights(c *ledger.Case) bool {
	f := ledger.OwnFrame(c)
	return c.Phase == "load" || f != nil && operation.MovesModel(*f)
}

// unsharded: no other card or machine takes a part of the weights.
func unsharded(c *ledger.Case) bool { return !ledger.Has(c, fact.Sharded) && !cures.Ranked(c) }

// wholly: all parameters are trained, as far as the log shows.
func wholly(c *ledger.Case) bool {
	return !ledger.Has(c, fact.Adapters) && unsharded(c) && c.Training() && ledger.Named(c).Parameters*8 > c.Total.Bytes
}

// perIn4 is how many bytes a parameter takes in 4 bit, by this model where that is
// known: its embeddings stay in 16 bit.
func perIn4(c *ledger.Case, n int64) float64 {
	if weights := in(c, "nf4"); weights > 0 && n > 0 {
		return float64(weights) / float64(n)
	}
	return 0.6
}

// figures are what the model takes, loaded and trained.
func figures(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	n := ledger.Named(c).Parameters
	out["name"], out["billions"] = quote.Told(path.Base(strings.ReplaceAll(c.Model.Name, `\`, "/"))), strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e9), ".0")
	for name, format := range map[string]string{"in32": "fp32", "in16": "bf16", "in4": "nf4"} {
		if out[name] = ""; in(c, format) > 0 {
			out[name] = units.Amount(in(c, format))
		}
	}
	out["state8"], out["state16"] = units.Amount(8*n), units.Amount(16*n)
	room := max(c.Total.Bytes-ledger.BesideWeights, 0)
	out["may16"], out["may4"] = fmt.Sprintf("%.0f", float64(room)/2e9), fmt.Sprintf("%.0f", float64(room)/1e9/perIn4(c, n))
	out["wide"], out["verdict"] = "", "In 16 bit the weights fit."
	if wide(c) {
		out["wide"] = "The program already holds more than that, so they are in 32 bit, or a second copy is loaded."
	}
	if !fits16(c) {
		out["verdict"] = "In 16 bit they do not fit on this GPU, even when nothing else uses it."
	}
	return out
}

// Cards are about a model of a known size.
var Cards = []cause.Card{
	{
		ID: "pytorch/named-on-load", Kinds: cures.Allocators, If: when.All(cures.OnOneCard, ledger.FillsCard, cures.Loading, named, when.Not((*ledger.Case).Training), when.Any(wide, when.Not(fits16))),
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: figures,
		Headline: "ran out of memory while loading a model of {billions} billion parameters",
		Means:    "{billions} billion parameters ({name}) take {in16} in 16 bit,[[ {in32} in 32,]] {in4} in 4 bit.[[ {wide}]] {verdict}",
		Not:      "A smaller batch or a shorter input: the weights were still being loaded.",
		Cures: []cause.Cure{
			{Fix: "load_in_4bit", If: when.All(when.Not(fits16), fits4, when.Not(mac)), Title: "Load it in 4 bit: {in4}", Cost: "little quality", Told: "In someone else's program, use its 4-bit option (`--load-in-4bit` or similar) or a GPTQ or AWQ version of the model. In your own code:", Own: true},
			{Fix: "half_precision", If: fits16, Title: "Load it in 16 bit: {in16}, not {in32}", Cost: "hardly any quality", Told: "Many loaders use 32 bit by default. If it is 16 bit already, look for a second copy: an earlier model, or a state dict loaded to the GPU.", Kind: "python", Text: "model = Model.from_pretrained(path, torch_dtype=torch.float16)   # Model, path: as in your own call"},
			{Fix: "cpu_offload", If: when.Not(fits16), Title: "Or keep part of it in system RAM", Cost: "several times slower", Told: "transformers: `device_map=\"auto\"`; other programs call it offload, low VRAM or CPU layers."},
			{Fix: "use_smaller_model", If: when.Not(fits16), Title: "Or use a smaller model of the same family", Cost: "some quality", Told: "A GPU with {total} holds about {may16} billion parameters in 16 bit, {may4} in 4 bit."},
		},
		Sources: []string{cures.AllocatorSource, "transformers/docs/source/en/quantization/bitsandbytes.md"},
	},
	{
		ID: "pytorch/named-in-training", Kinds: cures.Allocators, If: when.All(cures.OnOneCard, ledger.FillsCard, named, wholly, when.Not(weights)),
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Figures: figures,
		Headline: "ran out of memory in training: {billions} billion parameters with Adam exceed this GPU's {card}",
		Means:    "Training all of {name} with Adam takes {state8} in pure 16 bit and {state16} in mixed precision or 32 bit, before any activations. That is weights, gradients and Adam's state. The log shows no LoRA, no 4 bit and no second GPU that shares it.",
		Not:      "A smaller batch, shorter texts, gradient checkpointing: this state stays as large.",
		Cures: []cause.Cure{
			{Fix: "use_lora", Title: "Train a LoRA, with 4-bit weights if needed (QLoRA)", Cost: "for most purposes the same result", Told: "Only the small adapter then needs gradients and optimizer state. The frozen weights take {in16} in 16 bit, {in4} in 4 bit. In someone else's program, use its LoRA or QLoRA option.", Own: true},
			{Fix: "offload_optimizer", Title: "Or offload weights and optimizer to RAM (DeepSpeed ZeRO stage 3)", Cost: "much slower; {state16} of RAM", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {\"device\": \"cpu\"}}"},
			{Fix: "shard_training", Title: "Or shard it over more GPUs (FSDP, ZeRO-3)", Cost: "needs more GPUs", Told: "Together they need at least {state8}, in mixed precision {state16}, plus room for activations on each."},
			{Fix: "use_smaller_model", Title: "Or train a smaller model of the same family", Cost: "quality", Told: "Count 8 to 16 bytes per parameter."},
		},
		Sources: []string{"pytorch/torch/optim/adam.py", "https://www.deepspeed.ai/docs/config-json/", "https://huggingface.co/docs/transformers/model_memory_anatomy"},
	},
	{
		ID: "pytorch/named-frozen", Kinds: cures.Allocators, If: when.All(cures.OnOneCard, ledger.FillsCard, named, (*ledger.Case).Training, when.Any(weights, when.Not(wholly)), unsharded, when.Not(fits16)),
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: figures,
		Headline: "ran out of memory: {billions} billion parameters in 16 bit do not fit on a {card} GPU",
		Means:    "The weights of {name} alone take {in16} in 16 bit, {in4} in 4 bit. A LoRA saves gradients and optimizer state, not these weights. Full training takes at least {state8}. The log shows no sign of 4 bit.",
		Not:      "A smaller batch, shorter texts, gradient checkpointing: the weights stay as large.",
		Cures: []cause.Cure{
			{Fix: "load_in_4bit", If: when.All(fits4, when.Not(mac)), Title: "Train a LoRA on 4-bit weights (QLoRA): {in4}", Cost: "little quality, slower", Told: "In someone else's program, use its QLoRA or 4-bit option, and turn full training off. In your own code:", Own: true},
			{Fix: "use_smaller_model", Title: "Or train a smaller model of the same family", Cost: "some quality", Told: "A GPU with {total} holds about {may16} billion parameters in 16 bit, {may4} in 4 bit, without activations."},
			{Fix: "shard_training", Title: "Or shard the weights over more GPUs (FSDP, ZeRO-3)", Cost: "needs more GPUs", Told: "Together they need {in16} for the frozen weights, plus room for activations on each."},
		},
		Sources: []string{cures.AllocatorSource, "https://huggingface.co/docs/transformers/model_memory_anatomy", "peft/docs/source/developer_guides/quantization.md"},
	},
}
