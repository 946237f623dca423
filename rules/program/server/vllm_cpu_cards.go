package server

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// onProcessor: vLLM runs on the computer's processor, where no share of a card
// bounds the cache: VLLM_CPU_KVCACHE_SPACE does, 4 GiB unless set.
func onProcessor(c *ledger.Case) bool { return c.Framework == "vllm" && c.Backend == "cpu" }

// processorFigures are the cache in whole GiB that one request of full length
// needs, and a quarter more.
func processorFigures(c *ledger.Case) map[string]string {
	out := vllmFigures(c)
	if need := ledger.SizeOf(c.F().KVNeeded); need > 0 {
		out["space"] = fmt.Sprintf("%.0f", math.Ceil(float64(need)*1.25/float64(units.GiB)))
	}
	return out
}

// perhapsProcessor is a cure where the cache has the size that is the default on
// the CPU, and nothing in the log speaks of a card.
var perhapsProcessor = cause.Cure{
	Fix: "raise_gpu_memory_utilization", Title: "If vLLM runs on the CPU, raise `VLLM_CPU_KVCACHE_SPACE`", Told: "Its default of 4 GiB is exactly what is available here. {space} GiB holds one request with at least a quarter to spare; system RAM must hold it beside the weights:", Kind: "env", Text: "export VLLM_CPU_KVCACHE_SPACE={space}", Cost: "RAM",
	If: func(c *ledger.Case) bool {
		return ledger.SizeOf(c.F().KVAvailable) == 4*units.GiB && cardTotal(c) == 0 && c.F().Weights == nil && !builtForCard(c) && !when.Set("gpu_memory_utilization", "")(c)
	},
}

// builtForCard: the paths of its files name what the build is for.
func builtForCard(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return strings.Contains(x.File, "/rocm/") || strings.Contains(x.File, "/cuda/")
	})
}

// vllmCPUCards are about caches in RAM.
var vllmCPUCards = []cause.Card{
	{
		ID: "vllm/cpu-cache", Kinds: []fact.Kind{fact.VLLMCacheTooSmall, fact.VLLMTokens, fact.VLLMNoCache}, If: when.All(onProcessor, when.Not(when.Set("gpu_memory_utilization", ""))),
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: processorFigures,
		Headline: "did not start: the KV cache in system RAM is smaller than one request of full length",
		Means:    "vLLM runs on the CPU here. Its KV cache is in system RAM and has a fixed size, `VLLM_CPU_KVCACHE_SPACE` in GiB. In many versions that is 4 by default, however much RAM there is.[[ One request of {tokens} tokens needs {kv_needed}, and {kv_available} is there.]]",
		Not:      "`--gpu-memory-utilization`, which the message suggests: most versions ignore it on the CPU.",
		Cures: []cause.Cure{
			{Fix: "raise_gpu_memory_utilization", Title: "Raise `VLLM_CPU_KVCACHE_SPACE`", Told: "RAM must hold it beside the weights.[[ {space} GiB holds one request with at least a quarter to spare.]]", Kind: "env", Text: "export VLLM_CPU_KVCACHE_SPACE={space}", Cost: "RAM"},
			{Fix: "lower_context", Title: "Or lower the context length: `max_model_len`", Told: "{where}", Steps: vllmSteps["lower_context"], Cost: "longer prompts are refused"},
		},
		Sources: []string{"vllm/platforms/cpu.py", "docs/getting_started/installation/cpu.md"},
	},
}
