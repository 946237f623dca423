package addon

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// LoadingNode is about a node whose type in ComfyUI's error report says that it loads
// something, where nothing is known of it.
func LoadingNode(kinds []fact.Kind, unload cause.Cure) cause.Card {
	return cause.Card{
		ID: "comfyui/loading-node", Kinds: append([]fact.Kind{fact.ComfyUnload, fact.ComfyTips}, kinds...), Figures: loadingNode,
		If:    func(c *ledger.Case) bool { return loadingNode(c)["node"] != "" && !ledger.Roomy(c) },
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] in the node {node}, which loads a model",
		Means:    "It failed while the weights were loaded, before anything was computed. ComfyUI makes room for the models of its own loaders[[; {beside}]].",
		Not:      "A smaller image, fewer frames or fewer steps: nothing was computed yet.",
		Cures: []cause.Cure{
			unload,
			{Fix: "use_lower_quant", Title: "Load a smaller file of that model", Told: "In {node} choose fp8, a GGUF file (Q5_K_M, Q4_K_S), fp16 instead of fp32, or a smaller model.", Cost: "Slight loss of quality."},
			{Fix: "use_smaller_model", If: when.Not(ownLoader), Title: "Use a smaller model", Told: "SD 1.5 instead of SDXL, SDXL instead of Flux; for video 1.3B or 5B instead of 14B.", Cost: "Lower quality."},
			{Fix: "cpu_offload", If: ownLoader, Title: "Let that node keep its model in RAM", Told: "Look in {node} for an input such as offload, low_vram or device cpu. If it has none, update it in the Manager.", Cost: "Slower."},
		},
		Sources: []string{"https://github.com/comfyanonymous/ComfyUI/blob/master/execution.py", "https://github.com/LucipherDev/ComfyUI-TangoFlux/issues/17"},
	}
}

// core are ComfyUI's own loaders.
var core = []string{"CheckpointLoader", "UNETLoader", "UnetLoaderGGUF", "CLIPLoader", "VAELoader", "ControlNetLoader", "LoraLoader", "DiffusersLoader"}

// ownLoader: the node loads outside ComfyUI's memory plan.
func ownLoader(c *ledger.Case) bool { return loadingNode(c)["beside"] != "" }

// loadingNode is the type of the node that failed, "" where that does not load.
func loadingNode(c *ledger.Case) map[string]string {
	out := map[string]string{"node": "", "beside": ""}
	if x, ok := c.Fact("comfy_node"); ok && strings.Contains(x.Text, "Load") {
		out["node"], out["beside"] = x.Text, "a custom node with a loader of its own puts its model beside them"
		if slices.ContainsFunc(core, func(name string) bool { return strings.Contains(x.Text, name) }) {
			out["beside"] = ""
		}
	}
	return out
}

// Samples: a step of a sampler failed, by its words or by the type of the node.
func Samples(c *ledger.Case) bool {
	x, _ := c.Fact("comfy_node")
	return c.Near(Sampling...) || strings.Contains(x.Text, "Sampler")
}
