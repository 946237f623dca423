package rest

import (
	"fmt"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// fewLayers is about a card on which hardly anything of the model lies: fewer layers
// there are no answer.
var fewLayers = cause.Card{
	ID: "figures/few-layers", Kinds: []fact.Kind{fact.GGMLRuntime}, If: func(c *ledger.Case) bool { return layersThere(c)["there"] != "" && onCard(c) }, Figures: layersThere,
	Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "ran out of GPU memory with hardly any of the model on the GPU",
	Means: "Only {there} of {all} layers are on the GPU, so the model does not fill it. Either another program does, or what goes there whatever the layers are: buffers for the prompt, and in some builds the whole KV cache.",
	Not:   "Fewer layers on the GPU: they hold next to nothing.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "Look at the GPU before you start it", Told: "If it is nearly full then, end what fills it: an earlier run, a browser, a game. If it is nearly empty, go on below.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
		{Fix: "lower_ubatch", Title: "Lower the batch size", Cost: "slower prompts"},
		{Fix: "lower_context", Title: "Shorten the context", Cost: "it sees less of the text"},
		{Fix: "upgrade_version", Title: "Update the program", Cost: "a download"},
	},
	Sources: []string{"llama.cpp/src/llama-model.cpp", "https://github.com/LostRuins/koboldcpp/issues/581"},
}

// layersThere are the layers on the card where they are two at most.
func layersThere(c *ledger.Case) map[string]string {
	n, all := c.F().GPULayers, c.F().TotalLayers
	if n == nil || all == nil || n.Value < 0 || n.Value > 2 || all.Value < 10 {
		return map[string]string{"there": "", "all": ""}
	}
	return map[string]string{"there": fmt.Sprintf("%.0f", n.Value), "all": fmt.Sprintf("%.0f", all.Value)}
}
