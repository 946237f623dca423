package cards

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// AphroditeTrial is Aphrodite's trial run before it sizes its KV cache.
var AphroditeTrial = cause.Card{
	ID: "aphrodite/trial", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"in profile_run", "in determine_num_available_blocks", "in determine_available_memory"},
	If:    when.All(func(c *ledger.Case) bool { return c.In("aphrodite") }, ledger.FillsAlone),
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "did not start: its trial run did not fit beside the weights",
	Means:    "The weights are loaded; {mine} of {total} is in use. Before Aphrodite sizes the KV cache, it runs one step with as many tokens and requests as its options allow, and {asked} more did not fit.",
	Not:      "Another `--gpu-memory-utilization`: it sizes only the KV cache, which comes later.",
	Cures: []cause.Cure{
		{Fix: "lower_max_batched_tokens", Title: "Lower `--max-num-batched-tokens`", Told: "Without chunked prefill it is at least the context length, so add `--enable-chunked-prefill` or lower `--max-model-len` too.", Own: true, Cost: "slower long prompts"},
		{Fix: "use_lower_quant", Title: "Or load a version with fewer bits", Told: "Use a GGUF, EXL3 (before 2026 EXL2), AWQ or GPTQ version of the model that leaves 2 GB and more of the GPU.", Cost: "slight loss of quality"},
		{Fix: "lower_max_num_seqs", Title: "Or allow fewer requests at a time", Told: "The sampler's scores count for each; the default is 256, on some large GPUs 1024.", Own: true, Cost: "others wait"},
	},
	Sources: []string{"aphrodite/engine/arg_utils.py", "https://github.com/aphrodite-engine/aphrodite-engine/blob/main/aphrodite/engine/args_tools.py"},
}
