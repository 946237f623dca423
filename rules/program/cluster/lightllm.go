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
			Headline: "did not start: weights and KV cache did not fit in GPU memory",
			Means:    "LightLLM loads the weights, then allocates its KV cache, then captures CUDA graphs. The traceback shows which step failed: load_hf_weights, mem_manager or cudagraph. The KV cache takes up to `mem_fraction` of the GPU (0.8 by default; 0.9 before May 2026), or exactly `max_total_token_num` tokens.",
			Not:      "Shorter prompts: the server had not started.",
			Cures: []cause.Cure{
				{Fix: "lower_mem_fraction", Title: "Lower `--mem_fraction`", Told: "The KV cache becomes smaller. Remove `--max_total_token_num` if you set it. Add to `python -m lightllm.server.api_server`:", Kind: "config", Text: "--mem_fraction 0.7 --running_max_req_size 32", Cost: "fewer tokens and requests at a time"},
				{Fix: "multi_gpu", Title: "If the weights alone fill the GPU, use more GPUs", Told: "Or use a quantised checkpoint.", Kind: "config", Text: "--tp 2", Cost: "needs more GPUs"},
				{Fix: "kill_stale_process", Title: "Check what else is on the GPU", Kind: "shell", Text: look, Cost: "free"},
			},
			Sources: []string{lightllmArgs},
		},
		{
			ID: "lightllm/serving", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Unsaid: []string{"in init_model", "_init_weights", "load_hf_weights", "_init_mem_manager", "_check_mem_size", "_init_cudagraph"},
			Said:  []string{"in forward", "prefill", "decode", "context_forward", "token_forward"},
			Cause: cause.BatchTooLarge, Weight: cause.Likely,
			Headline: "ran out of GPU memory on a request",
			Means:    "Weights and KV cache were in place, and a batch of prompts did not fit beside them. `batch_max_tokens` limits the tokens of a batch: 16,384 by default, in older versions a sixth of all tokens.",
			Cures: []cause.Cure{
				{Fix: "lower_max_batched_tokens", Title: "Lower `--batch_max_tokens`", Told: "Add to its command:", Kind: "config", Text: "--batch_max_tokens 4096", Cost: "long prompts wait"},
				{Fix: "lower_mem_fraction", Title: "Lower `--mem_fraction`", Kind: "config", Text: "--mem_fraction 0.7", Cost: "fewer tokens at a time"},
				{Fix: "multi_gpu", Title: "Or use more GPUs", Kind: "config", Text: "--tp 2", Cost: "needs more GPUs"},
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
		Means:    "`--max_total_token_num` is {tokens}. LightLLM allocates the KV cache for that many tokens right after the weights, layer by layer, and it did not fit.",
		Not:      "A smaller `--running_max_req_size` or shorter prompts: the KV cache is sized in tokens.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Lower `--max_total_token_num`", Told: "Half of it halves the KV cache. If you leave it out, versions from late 2024 on compute what fits (`--mem_fraction`).", Kind: "config", Text: "--max_total_token_num {half}", Cost: "fewer tokens at a time"},
			{Fix: "multi_gpu", Title: "Or use more GPUs", Told: "Weights and KV cache are then split.", Kind: "config", Text: "--tp 2", Cost: "needs more GPUs"},
			{Fix: "kill_stale_process", Title: "Check what else is on the GPU", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{"https://github.com/ModelTC/lightllm/blob/main/lightllm/common/mem_manager.py", lightllmArgs},
	},
	{
		ID: "lightllm/trial", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"_check_max_len_infer", "check_max_len_infer", "Check max_len_infer fail", "check max len infer fail"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
		Headline: "did not start: its trial with the longest prompt did not fit",
		Means:    "After weights and KV cache, LightLLM tries one prompt of `batch_max_tokens` tokens. It did not fit beside them.",
		Not:      "Fewer requests at a time: the trial is one prompt.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Lower `--mem_fraction`", Told: "The default is 0.8 (0.9 before May 2026). Remove `--max_total_token_num` if you set it. Add to `python -m lightllm.server.api_server`:", Kind: "config", Text: "--mem_fraction 0.7", Cost: "fewer tokens at a time"},
			{Fix: "lower_max_batched_tokens", Title: "Or make the trial smaller", Told: "Longer prompts are then read in parts:", Kind: "config", Text: "--batch_max_tokens 4096", Cost: "slower long prompts"},
			{Fix: "lower_context", Title: "Or accept shorter requests", Kind: "config", Text: "--max_req_total_len 8192", Cost: "longer requests are refused"},
		},
		Sources: []string{lightllmModel, lightllmArgs},
	},
	{
		ID: "lightllm/pool", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"in _init_buffers", "mem_manager.py", "_mem_manager.py"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "did not start: the KV cache did not fit beside the weights",
		Means:    "The weights are loaded. LightLLM then allocates the KV cache for all tokens at once: `max_total_token_num` tokens if you set that, otherwise up to `mem_fraction` of the GPU.",
		Not:      "A smaller `--running_max_req_size`: the KV cache is sized in tokens.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Lower `--mem_fraction`, and leave out `--max_total_token_num`", Told: "Versions from late 2024 on then compute what fits. In older ones halve `--max_total_token_num`.", Kind: "config", Text: "--mem_fraction 0.7", Cost: "fewer tokens at a time"},
			{Fix: "multi_gpu", Title: "Or use more GPUs", Kind: "config", Text: "--tp 2", Cost: "needs more GPUs"},
			{Fix: "kill_stale_process", Title: "Check what else is on the GPU", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{lightllmModel, lightllmArgs},
	},
}
