package textgen

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// besides is what a card has beside the layers of a model: driver, cache, work.
const besides = 3 * units.GiB / 2

// manyOthers: more of the card is other programs' than a desktop takes.
func manyOthers(c *ledger.Case) bool { return c.Others.Has() && c.Others.Bytes > 2*units.GiB }

// overWeights: by the model's name its weights are more than the whole card.
func overWeights(c *ledger.Case) bool {
	w, ok := ledger.WeightsIn(c, "")
	return ok && c.Total.Has() && w > c.Total.Bytes-units.GiB/2 && ledger.FillsAlone(c) && c.Phase != "inference" && !c.Training()
}

// layersBeside are the layers of a known model that the card holds beside the rest.
func layersBeside(c *ledger.Case) int64 {
	w, ok := ledger.WeightsIn(c, "")
	m := ledger.Named(c).Model
	if !ok || w <= 0 || m == nil || !c.Total.Has() {
		return 0
	}
	return max(0, (c.Total.Bytes-besides)*int64(m.Layers)/w)
}

func overFigures(c *ledger.Case) map[string]string {
	w, _ := ledger.WeightsIn(c, "")
	out := textgenSizes(c)
	out["over"], out["billions"] = units.Amount(w), strconv.FormatInt(max(1, (c.Total.Bytes-2*units.GiB)/600_000_000), 10)
	out["of"], out["beside"] = "", ""
	if n := layersBeside(c); n > 0 {
		out["of"], out["beside"] = strconv.Itoa(ledger.Named(c).Model.Layers), strconv.FormatInt(n, 10)
	}
	return out
}

// overCard is about a model that the card cannot hold.
var overCard = cause.Card{
	ID: "text-generation-webui/over-card", Kinds: torchFull, If: overWeights, Figures: overFigures,
	Cause: cause.ModelTooLarge, Weight: cause.Decisive,
	Headline: "could not load the model: its weights are larger than the {card} GPU",
	Means:    "Going by its name, the model's weights take about {over}. The GPU has {total} for weights, KV cache and everything else.",
	Not:      "A shorter context, a smaller batch: the weights come first.",
	Cures: []cause.Cure{
		{Fix: "use_smaller_model", Title: "Use a model that fits", Told: "With {total} that is about {billions} billion parameters at 4 bit, with a short context.", Cost: "lower quality"},
		{Fix: "use_lower_quant", Title: "Or load this one as a GGUF file, mostly in RAM", If: when.Not(isGGUF), Told: "Load a Q4_K_M file with the llama.cpp loader and few layers on the GPU[[: `n-gpu-layers` {beside} of {of}]]. Raise that while room stays.", Cost: "slower"},
		{Fix: "cpu_offload", Title: "Or keep layers of this file in RAM", If: when.All(fixedQuant, func(c *ledger.Case) bool { return textgenSince(c) < 202306 && layersBeside(c) > 0 }), Told: "[[{beside} of {of} layers then stay on the GPU. ]]If it fails again, use fewer.", Steps: func(c *ledger.Case) []step.Step {
			return textgenFlags(c, step.Change{Flag: "--pre_layer", Value: fmt.Sprint(layersBeside(c))})
		}, Cost: "much slower"},
	},
	Sources: []string{textgenCode + "shared.py", textgenIssues + "943"},
}

// gptqSizes are textgenSizes, and how the loader of a GPTQ file fills RAM.
func gptqSizes(c *ledger.Case) map[string]string {
	out := maps.Clone(textgenSizes(c))
	out["windows_counts"] = ""
	if reader.OnWindows(c) {
		out["windows_counts"] = "Windows counts all of that against RAM plus page file: see \"Committed\" in Task Manager, Performance, Memory."
	}
	out["loaded_how"] = "GPTQ-for-LLaMa first builds the whole model at 16 bit in RAM"
	switch full := out["full"]; {
	case c.Near("AutoGPTQ_loader.py"):
		out["loaded_how"] = "AutoGPTQ reads the file into RAM before its layers go to the GPU. RAM must hold all of it beside other programs."
		return out
	case full != "":
		out["loaded_how"] += " (" + full + " for " + out["name"] + ")"
	}
	out["loaded_how"] += " and then replaces it by the 4-bit layers."
	return out
}
