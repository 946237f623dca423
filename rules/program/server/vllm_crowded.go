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
	Means:    "{count} processes are on this card. {whose} the others hold {theirs} together. vLLM sizes its KV cache by its share of the whole card; when it allocated it, {asked} was refused with {room} free.",
	Not:      "A shorter context: the KV cache fills the share at any length.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "End or move the other processes", Told: "Largest first: {list}. Usually they are old runs or other servers. In a container the PIDs are the host's: look there.", Kind: "shell", Text: "nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv", Cost: "what you end loses its state"},
		{Fix: "select_gpu", Title: "Or use another card", Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=1", Cost: "needs a free card"},
		{Fix: "lower_gpu_memory_utilization", Title: "If they must stay, lower `gpu_memory_utilization`", If: roomBeside, Told: "The share is of the whole card: it must leave them their {theirs}, and 1 GiB. If the cache is then too small, lower the context length. Versions before 0.9 may count what others hold as their own.", Steps: vllm.Server.Sets(launch.From("gpu_memory_utilization", shareBeside)), Cost: "a smaller KV cache"},
	},
	Sources: []string{"vllm/worker/worker.py", "vllm/v1/worker/gpu_worker.py"},
}
