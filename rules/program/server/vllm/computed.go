package vllm

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/when"
)

// ComputedOpen is about a layer that was computing, in a log that shows neither
// the start nor a request. Weights are made by other functions than forward.
func ComputedOpen(notOthers func(*ledger.Case) bool, figures func(*ledger.Case) map[string]string, images cause.Cure) cause.Card {
	return cause.Card{
		ID: "vllm/computed-open", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(stage.OnCard, inLayer, when.Any(notOthers, ledger.Roomy)), Phases: []string{"unknown"}, Figures: figures,
		Headline: "ran out of GPU memory while a layer of the model was computing",
		Means:    "The traceback is in a layer's `forward`, so the weights were already loaded. It was the trial run at start, if no line `GPU KV cache size` (old: `# GPU blocks`) stands above it, otherwise CUDA graphs or a request. All of them grow with the tokens and images of one step.",
		Cures: []cause.Cure{
			Flags("lower_max_batched_tokens", "Lower `max_num_batched_tokens` and `max_num_seqs`", "", "slower long prompts, more requests wait", Option("max_num_batched_tokens", "2048"), Option("max_num_seqs", "16")),
			images,
			{Fix: "lower_gpu_memory_utilization", Title: "If it fails again: choose by the lines above it", Ways: []cause.Way{
				{For: "GPU KV cache size", Text: "`--gpu-memory-utilization {low}` instead of {from}[[ frees {freed}]][[; {own}]]"},
				{For: "No such line", Text: "smaller weights (AWQ, GPTQ or FP8)[[: about {in16} billion parameters at 16 bit or {in4} at 4 bit fit this card]], or `--tensor-parallel-size {twice}`"},
			}, Cost: "less cache, or slight loss of quality"},
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	}
}

// inLayer: a forward pass of vLLM's own layers or models lies in the traceback.
func inLayer(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		return strings.Contains(f.File, "vllm/model_executor/") && strings.HasPrefix(f.Function, "forward")
	})
}
