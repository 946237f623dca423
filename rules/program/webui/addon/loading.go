package addon

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// LoadingNode is about a node whose type in ComfyUI's error report says that it loads
// something, where nothing is known of it.
func LoadingNode(kinds []fact.Kind, unload cause.Cure) cause.Card {
	return cause.Card{
		ID: "comfyui/loading-node", Kinds: append([]fact.Kind{fact.ComfyUnload, fact.ComfyTips}, kinds...), Figures: loadingNode,
		If:    func(c *ledger.Case) bool { return loadingNode(c)["node"] != "" && !ledger.Roomy(c) },
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] in the node {node}, which loads a model",
		Means:    "It failed while the weights were loaded, before anything was computed. ComfyUI makes room for the models of its own loaders; a custom node with a loader of its own puts its model beside them.",
		Not:      "A smaller image, fewer frames or fewer steps: nothing was computed yet.",
		Cures: []cause.Cure{
			unload,
			{Fix: "use_lower_quant", Title: "Load a smaller file of that model", Told: "In {node} choose fp8, a GGUF file (Q5_K_M, Q4_K_S), fp16 instead of fp32, or a smaller model.", Cost: "Slight loss of quality."},
			{Fix: "cpu_offload", Title: "Let that node keep its model in RAM", Told: "Look in {node} for an input such as offload, low_vram or device cpu. If it has none, update it in the Manager.", Cost: "Slower."},
		},
		Sources: []string{"https://github.com/comfyanonymous/ComfyUI/blob/master/execution.py", "https://github.com/LucipherDev/ComfyUI-TangoFlux/issues/17"},
	}
}

// loadingNode is the type of the node that failed, "" where that does not load.
func loadingNode(c *ledger.Case) map[string]string {
	if x, ok := c.Fact("comfy_node"); ok && strings.Contains(x.Text, "Load") {
		return map[string]string{"node": x.Text}
	}
	return map[string]string{"node": ""}
}
