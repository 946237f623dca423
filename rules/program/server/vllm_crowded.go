package server

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/program/server/vllm"
)

// crowdedCache: others are on the card when the cache is taken.
var crowdedCache = cause.Card{
	ID: "vllm/cache-others", Kinds: onCard, Phases: []string{"kv_cache"}, If: listedOthers, Figures: listedFigures,
	Cause: cause.LeakedProcess, Weight: cause.Decisive,
	Headline: "did not start: other processes hold {theirs} of the card",
	Means:    "{count} processes are on this GPU. {whose} the others hold {theirs} together. vLLM sizes its KV cache by its share of the whole GPU, and that was no longer free.",
	Not:      "A shorter context: the KV cache fills the share at any length.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "End or move the other processes", Told: "Largest first: {list}. Usually they are old runs or other servers. In a container, look for these PIDs on the host.", Kind: "shell", Text: "nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv", Cost: "what you end stops"},
		{Fix: "select_gpu", Title: "Or use another GPU", Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=1", Cost: "needs a free GPU"},
		{Fix: "lower_gpu_memory_utilization", Title: "If they must stay, lower `gpu_memory_utilization`", If: roomBeside, Told: "It must leave the others their {theirs}, plus 1 GiB. If vLLM then says that the context does not fit, lower `max_model_len`.", Steps: vllm.Server.Sets(launch.From("gpu_memory_utilization", shareBeside)), Cost: "a smaller KV cache"},
	},
	Sources: []string{"vllm/worker/worker.py", "vllm/v1/worker/gpu_worker.py"},
}
