package server

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/program/server/vllm"
	"github.com/oomdoc/oomdoc/rules/when"
)

const metalPlan = "vllm-metal/vllm_metal/v1/worker.py"

// vllmMetalCards are vllm-metal's, whose plan the message itself prints.
var vllmMetalCards = []cause.Card{
	{
		ID: "vllm/metal-trial", Kinds: []fact.Kind{fact.VLLMNoCache}, If: trialOutgrows, Figures: metalFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "did not start: its trial run took {overhead}, which leaves nothing for the KV cache",
		Means:    "macOS allows the GPU {limit}, and vLLM may use {usable} of that ({share}). The weights take {weights}, the trial run {overhead}: {lacking} too much. The trial run computes as many tokens as one step may have (`max_num_batched_tokens`), and MLX keeps its buffers.",
		Not:      "[[{enough} ]]Closing other programs: the limit is set by macOS, not by what is free.",
		Cures: []cause.Cure{
			vllm.Flags("lower_max_batched_tokens", "Lower `max_num_batched_tokens`", "To a quarter of your value, 2048 or less: the trial run shrinks with it. {where}", "long prompts are read in more steps", vllm.Option("max_num_batched_tokens", "2048")),
			vllm.Words("upgrade_version", "If an older version worked, change vllm-metal and MLX", "Install the newest vllm-metal with the MLX version it asks for, or go back to the pair that worked. Unset `MLX_MAX_MB_PER_BUFFER` and other `MLX_` variables.", "a few minutes"),
			vllm.Words("use_smaller_model", "Or a smaller model", "Its activations are smaller too; a quantised file shrinks only the weights.", "some quality"),
		},
		Sources: []string{metalPlan, "https://github.com/vllm-project/vllm-metal/issues/585"}, Solved: 1,
	},
	{
		ID: "vllm/metal-share", Kinds: []fact.Kind{fact.VLLMNoCache}, If: when.All(vllm.ShareTooSmall, when.Not(trialOutgrows)), Figures: metalFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "did not start: its share ({share}) of the Mac's memory is too small for this model",
		Means:    "macOS allows the GPU {limit}, and vLLM may use {usable} of that ({share}). The weights take {weights}, the trial run {overhead}[[: {lacking} too much, before any KV cache]]. All that macOS allows would hold them.",
		Not:      "A shorter context alone: at any length nothing is left.",
		Cures: []cause.Cure{
			vllm.Words("raise_gpu_memory_utilization", "Raise vLLM's share to {wider}", "It is {share} now, set by you, by a default, or by the app that starts vLLM: `--gpu-memory-utilization {wider}`, or the variable `VLLM_METAL_MEMORY_FRACTION={wider}` where the message names that one (it takes precedence in older versions).", "less for everything else"),
			vllm.Words("lower_max_num_seqs", "Serve fewer requests at a time", "`--max-num-seqs 1` for one user: what is kept for each request that runs shrinks.", "others wait"),
			vllm.Words("use_lower_quant", "Or load smaller weights of the same model", "A 4-bit MLX conversion (names end in `-4bit`) is a little over a quarter of 16 bit.", "slight loss of quality"),
		},
		Sources: []string{metalPlan, "https://docs.vllm.ai/projects/vllm-metal/en/latest/configuration/"},
	},
	{
		ID: "vllm/metal-weights", Kinds: []fact.Kind{fact.VLLMNoCache}, If: func(c *ledger.Case) bool { return c.Backend == "metal" && !trialOutgrows(c) }, Figures: metalFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not start: the weights leave nothing for the KV cache",
		Means:    "macOS allows the GPU {limit}, and vLLM may use {usable} of that ({share}). The weights take {weights}, the trial run {overhead}[[: {lacking} too much, before any KV cache]].",
		Not:      "A shorter context alone: at any length nothing is left.[[ {enough}]]",
		Cures: []cause.Cure{
			vllm.Words("use_lower_quant", "Load smaller weights of the same model", "A 4-bit MLX conversion (names end in `-4bit`) is a little over a quarter of 16 bit.", "slight loss of quality"),
			vllm.Words("raise_gpu_memory_utilization", "Or raise `--gpu-memory-utilization`", "All of it is {gain} more. In older versions `VLLM_METAL_MEMORY_FRACTION` takes precedence.", "less for everything else"),
			vllm.Words("raise_memory_limit", "Or allow the GPU more of the RAM", "`sudo sysctl iogpu.wired_limit_mb=$(( $(sysctl -n hw.memsize) / 1048576 * 4 / 5 ))`, until the next restart.", "too much freezes the Mac"),
		},
		Sources: []string{metalPlan, "https://docs.vllm.ai/projects/vllm-metal/en/latest/configuration/"},
	},
}

// crowdedCache: others are on the card when the cache is taken.
var crowdedCache = cause.Card{
	ID: "vllm/cache-others", Kinds: onCard, Phases: []string{"kv_cache"}, If: listedOthers, Figures: listedFigures,
	Cause: cause.LeakedProcess, Weight: cause.Decisive,
	Headline: "did not start: other processes hold {theirs} of the card",
	Means:    "{count} processes are on this card. {whose} the others hold {theirs} together. vLLM sizes its KV cache by its share of the whole card; when it allocated it, {asked} was refused with {room} free.",
	Not:      "A shorter context: the KV cache fills the share at any length.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "End or move the other processes", Told: "Largest first: {list}. Usually they are old runs or other servers. In a container the PIDs are the host's: look there.", Kind: "shell", Text: "nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv", Cost: "what you end loses its state"},
		{Fix: "select_gpu", Title: "Or use another card", Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=1", Cost: "needs a free card"},
		{Fix: "lower_gpu_memory_utilization", Title: "If they must stay, lower `gpu_memory_utilization`", If: roomBeside, Told: "The share is of the whole card: it must leave them their {theirs}, and 1 GiB. If the cache is then too small, lower the context length. Versions before 0.9 may count what others hold as their own.", Steps: vllm.Server.Sets(launch.From("gpu_memory_utilization", shareBeside)), Cost: "a smaller KV cache"},
	},
	Sources: []string{"vllm/worker/worker.py", "vllm/v1/worker/gpu_worker.py"},
}

// trialOutgrows: the trial run is the largest part of the plan.
func trialOutgrows(c *ledger.Case) bool {
	f := c.F()
	return c.Backend == "metal" && f.ActivationPeak != nil && f.Weights != nil && f.Limit != nil && f.ActivationPeak.Bytes > max(f.Weights.Bytes, f.Limit.Bytes-f.Weights.Bytes)
}

func metalFigures(c *ledger.Case) map[string]string {
	return vllm.MetalFigures(c, noCacheFigures(c))
}
