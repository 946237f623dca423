package cluster

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/explain"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

const (
	look          = "nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv"
	lightllmModel = "https://github.com/ModelTC/LightLLM/blob/main/lightllm/common/basemodel/basemodel.py"
	lightllmArgs  = "https://github.com/ModelTC/LightLLM/blob/main/docs/EN/source/tutorial/api_server_args.rst"
)

// LightLLM is what is peculiar to LightLLM. Its cache takes mem_fraction of the
// card, less the weights, or as many tokens as max_total_token_num says.
var LightLLM = program.Program{
	Name: "lightllm", Shown: "LightLLM", Work: "text-inference", Edits: "flags", Language: "python", Systems: []string{"linux", "wsl"},
	Proofs:   []string{"lightllm.server", "lightllm/server/", "lightllm/common/", "lightllm/models/"},
	Commands: []string{"lightllm.server.api_server"},
	Numbers:  []explain.Reading{poolPiece},
	Sources:  program.Sources{lightllmArgs: "--mem_fraction --max_total_token_num --batch_max_tokens --max_req_total_len --running_max_req_size --tp"},
	Remedies: map[string][]cause.Remedy{cause.BudgetMisconfigured: {{Fix: "lower_mem_fraction", Fit: cause.Cures}, {Fix: "lower_max_batched_tokens", Fit: cause.Helps}, {Fix: "multi_gpu", Fit: cause.Helps}}},
	Cards: append(slices.Clip(lightllmMore), []cause.Card{
		{
			ID: "lightllm/start", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"in init_model", "in exposed_init_model", "load model error:", "_init_weights", "load_hf_weights", "_init_mem_manager", "_check_mem_size", "_init_cudagraph", "in _init_kv_move_buffer"},
			Cause: cause.ModelTooLarge, Weight: cause.Likely,
			Headline: "did not start: weights and KV cache did not fit on the card",
			Means:    "LightLLM loads the weights, then allocates its KV cache: up to `mem_fraction` of the card (0.8 unless set; 0.9 before May 2026), or exactly `max_total_token_num` tokens. CUDA graphs come last. The traceback shows which it was: load_hf_weights the weights, mem_manager the cache, cudagraph the graphs.",
			Not:      "Shorter prompts: the server had not started.",
			Cures: []cause.Cure{
				{Fix: "lower_mem_fraction", Title: "Lower `--mem_fraction`", Told: "The KV cache becomes smaller. Remove `--max_total_token_num`, if you set it. Added to `python -m lightllm.server.api_server`:", Kind: "config", Text: "--mem_fraction 0.7 --running_max_req_size 32", Cost: "fewer tokens and requests at a time"},
				{Fix: "multi_gpu", Title: "If the weights alone fill it, use more cards", Told: "Or a quantised checkpoint.", Kind: "config", Text: "--tp 2", Cost: "needs more cards"},
				{Fix: "kill_stale_process", Title: "Check what else is on the card", Kind: "shell", Text: look, Cost: "free"},
			},
			Sources: []string{lightllmArgs},
		},
		{
			ID: "lightllm/serving", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Unsaid: []string{"in init_model", "_init_weights", "load_hf_weights", "_init_mem_manager", "_check_mem_size", "_init_cudagraph"},
			Said:  []string{"in forward", "prefill", "decode", "context_forward", "token_forward"},
			Cause: cause.BatchTooLarge, Weight: cause.Likely,
			Headline: "ran out of graphics memory at a request",
			Means:    "Weights and KV cache were in place; the activations of a batch of prompts did not fit beside them. `batch_max_tokens` limits the tokens of a batch: 16,384 unless set, in older versions a sixth of all tokens.",
			Cures: []cause.Cure{
				{Fix: "lower_max_batched_tokens", Title: "Lower `--batch_max_tokens`", Told: "Added to its command:", Kind: "config", Text: "--batch_max_tokens 4096", Cost: "long prompts wait"},
				{Fix: "lower_mem_fraction", Title: "Lower `--mem_fraction`", Kind: "config", Text: "--mem_fraction 0.7", Cost: "fewer tokens at a time"},
				{Fix: "multi_gpu", Title: "Or use more cards", Kind: "config", Text: "--tp 2", Cost: "needs more cards"},
			},
			Sources: []string{lightllmArgs, "lightllm/lightllm/server/api_start.py"},
		},
	}...),
}

// poolTokens is --max_total_token_num, as typed or printed.
func poolTokens(c *ledger.Case) int64 { return int64(ledger.IntSetting(c, "max_total_token_num")) }

// poolPiece: the pool is made layer by layer in versions before 2025, keys and
// values apart in the oldest, at 16 bit (lightllm/common/mem_manager.py).
func poolPiece(q *explain.Question) *ledger.Explained {
	tokens := poolTokens(q.C)
	if tokens <= 0 || !q.C.In("lightllm") || !q.OnCard() {
		return nil
	}
	s := &explain.Search{Question: q}
	for _, width := range []int64{512, 1024, 2048, 4096, 5120, 6656, 8192, 10240, 13312, 16384} {
		if x := s.Try("is one layer's part of the KV cache", explain.Term("tokens", tokens), explain.Term("numbers each", width), explain.Term("bytes", 2)); x != nil {
			x.Cause = cause.BudgetMisconfigured
		}
	}
	return s.Found()
}

func inPool(c *ledger.Case) bool {
	return c.In("lightllm") && c.Explained != nil && strings.Contains(c.Explained.What, "one layer's part of the KV cache")
}

// poolFigures are half of the tokens of the pool.
func poolFigures(c *ledger.Case) map[string]string {
	n := poolTokens(c)
	return map[string]string{"tokens": ledger.Thousands(n), "half": strconv.FormatInt(n/2, 10)}
}

// lightllmMore are about LightLLM's pool and its trial at the start.
var lightllmMore = []cause.Card{
	{
		ID: "lightllm/pool-stated", Kinds: []fact.Kind{fact.TorchAlloc}, If: inPool, Figures: poolFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
		Headline: "did not start: the KV cache for {tokens} tokens did not fit beside the weights",
		Means:    "`--max_total_token_num` is {tokens}: LightLLM allocates the cache for so many tokens right after the weights, layer by layer, and {asked} is a piece of one layer for them. {free} was free.",
		Not:      "A smaller `--running_max_req_size` or shorter prompts: the cache is counted in tokens of all requests.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Lower `--max_total_token_num`", Told: "Half of it is half of the cache. Versions of late 2024 and later compute what fits if you leave it out (`--mem_fraction`, 0.9 unless set).", Kind: "config", Text: "--max_total_token_num {half}", Cost: "fewer tokens at a time"},
			{Fix: "multi_gpu", Title: "Or use more cards", Told: "Weights and cache are then split.", Kind: "config", Text: "--tp 2", Cost: "needs more cards"},
			{Fix: "kill_stale_process", Title: "Check what else is on the card", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{"https://github.com/ModelTC/lightllm/blob/main/lightllm/common/mem_manager.py", lightllmArgs},
	},
	{
		ID: "lightllm/trial", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"_check_max_len_infer", "check_max_len_infer", "Check max_len_infer fail", "check max len infer fail"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
		Headline: "did not start: its trial with the longest prompt did not fit",
		Means:    "After weights and KV cache LightLLM computes one prompt of `batch_max_tokens` tokens, to see that it fits beside them. It did not[[: {asked} was needed, {free} was left]].",
		Not:      "Fewer requests at a time: the trial is one prompt.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Lower `--mem_fraction`", Told: "0.8 unless set (0.9 before May 2026); take `--max_total_token_num` out, if you set it. Added to `python -m lightllm.server.api_server`:", Kind: "config", Text: "--mem_fraction 0.7", Cost: "fewer tokens at a time"},
			{Fix: "lower_max_batched_tokens", Title: "Or make the trial smaller", Told: "Longer prompts are then read in parts:", Kind: "config", Text: "--batch_max_tokens 4096", Cost: "slower long prompts"},
			{Fix: "lower_context", Title: "Or accept shorter requests", Kind: "config", Text: "--max_req_total_len 8192", Cost: "longer requests are refused"},
		},
		Sources: []string{lightllmModel, lightllmArgs},
	},
	{
		ID: "lightllm/pool", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"in _init_buffers", "mem_manager.py", "_mem_manager.py"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "did not start: the KV cache did not fit beside the weights",
		Means:    "The weights are loaded; LightLLM then allocates the cache for all tokens at once, layer by layer: `max_total_token_num` tokens if that is set, otherwise up to `mem_fraction` of the card.[[ {asked} was refused with {free} free.]]",
		Not:      "A smaller `--running_max_req_size`: the cache is counted in tokens.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Leave out `--max_total_token_num`", Told: "LightLLM then computes what fits (versions of late 2024 and later). In older ones halve it:", Kind: "config", Text: "--mem_fraction 0.7", Cost: "fewer tokens at a time"},
			{Fix: "multi_gpu", Title: "Or use more cards", Kind: "config", Text: "--tp 2", Cost: "needs more cards"},
			{Fix: "kill_stale_process", Title: "Check what else is on the card", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{lightllmModel, lightllmArgs},
	},
}
