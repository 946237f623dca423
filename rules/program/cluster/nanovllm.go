package cluster

import (
	"fmt"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// NanoVLLM is a small engine in the manner of vLLM, which people read and
// change. None of vLLM's options is one of its own; the arguments of LLM() are
// few.
var NanoVLLM = program.Program{
	Name: "nano-vllm", Shown: "nano-vllm", Work: "text-inference", Edits: "code", Language: "python",
	Proofs: []string{"nanovllm/engine/", "nanovllm/layers/", "nanovllm/models/"},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_context":                step.Paste("python", "llm = LLM(path, max_model_len=4096, max_num_batched_tokens=4096)"),
		"lower_max_batched_tokens":     step.Paste("python", "llm = LLM(path, max_num_batched_tokens=4096)   # not below max_model_len"),
		"lower_max_num_seqs":           step.Paste("python", "llm = LLM(path, max_num_seqs=32)"),
		"lower_gpu_memory_utilization": step.Paste("python", "llm = LLM(path, gpu_memory_utilization=0.8)"),
		"enforce_eager":                step.Paste("python", "llm = LLM(path, enforce_eager=True)"),
		"multi_gpu":                    step.Paste("python", "llm = LLM(path, tensor_parallel_size=2)"),
		"chunked_prefill":              step.Paste("python", "hidden_states = torch.cat([layer.mlp(part) for part in hidden_states.split(8192)])"),
	},
	Sources: program.Sources{"nanovllm/config.py": "max_model_len max_num_batched_tokens max_num_seqs gpu_memory_utilization enforce_eager tensor_parallel_size", "nanovllm/models/qwen3.py": "mlp"},
	Cards: []cause.Card{{
		ID: "nano-vllm/sampler", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"nanovllm/layers/sampler.py", "self.sampler("},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while choosing the next tokens",
		Means:    "The KV cache takes `gpu_memory_utilization` of the GPU (0.9 by default) less the weights. Beside it, the sampler needs a row of the whole vocabulary at 32 bit for every running request, up to `max_num_seqs` (512 by default): 0.6 MB each with 150,000 words, and copies of it.",
		Not:      "A shorter prompt: it counts one row for each request.",
		Cures: []cause.Cure{
			{Fix: "lower_max_num_seqs", Title: "Lower `max_num_seqs`", Cost: "more requests wait", Own: true},
			{Fix: "lower_gpu_memory_utilization", Title: "Or lower `gpu_memory_utilization`", Told: "The desktop and other programs count too.", Cost: "a smaller KV cache", Own: true},
			{Fix: "enforce_eager", If: when.Not(when.Set("enforce_eager", "True")), Title: "Or turn off CUDA graphs", Cost: "slower tokens", Own: true},
			{Fix: "use_smaller_model", Title: "Or use a smaller model", Told: "nano-vllm itself does not load quantised checkpoints.", Cost: "lower quality"},
		},
		Sources: []string{"nanovllm/config.py", "nanovllm/layers/sampler.py", "nanovllm/engine/model_runner.py"},
	}, {
		ID: "nano-vllm/prefill", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"prefill", "layer.mlp(", "self.gate_up_proj(", "self.mlp("}, Figures: promptFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while computing a prompt",
		Means:    "A layer computes all prompt tokens of a step at once. The largest part is the MLP: {asked} is about {tokens} tokens in a model of 8 billion parameters (tokens x 2 x 14,336 x 2 bytes).",
		Cures: []cause.Cure{
			{Fix: "chunked_prefill", Title: "Compute the MLP in parts of the prompt", Told: "The result is the same. 8,192 tokens then take about 0.44 GiB in such a model. Change the line that calls `mlp` (the traceback shows its file):", Cost: "hardly slower", Own: true},
			{Fix: "lower_max_batched_tokens", Title: "Or lower `max_num_batched_tokens`", Told: "Depending on the version, longer prompts are then refused or read in several steps:", Cost: "shorter prompts", Own: true},
			{Fix: "use_smaller_model", Title: "Or use a smaller model", Told: "nano-vllm itself does not load quantised checkpoints.", Cost: "lower quality"},
		},
		Sources: []string{"nanovllm/config.py", "nanovllm/engine/model_runner.py", "nanovllm/models/qwen3.py"},
	}},
}

// promptFigures are the tokens that a piece of the MLP shows, for a model of 8
// billion.
func promptFigures(c *ledger.Case) map[string]string {
	tokens := ledger.Requested(c) / (2 * 14336 * 2)
	if tokens < 256 {
		return nil
	}
	return map[string]string{"tokens": ledger.Thousands(tokens / 100 * 100), "asked": fmt.Sprint(c.F().Requested)}
}
