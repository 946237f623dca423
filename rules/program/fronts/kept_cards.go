package fronts

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program/ggml/kept"
)

// localKept is about system memory: LocalAI gives llama.cpp's cache of prompts no
// limit (backend/cpp/llama-cpp/grpc-server.cpp).
var localKept = cause.Card{
	ID: "localai/prompts-kept", Kinds: kept.Kills,
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was killed for using too much system memory (RAM)",
	Means: "RAM holds the weights that are not on a GPU, every other model that stays loaded, and earlier prompts. Recent versions of LocalAI (from v4.3, May 2026) keep those prompts, each with its KV cache, without a limit unless you set one. That is the first suspect if LocalAI is killed after a while rather than at the load.",
	Not:   "Fewer layers on the GPU: that takes more RAM.",
	Cures: []cause.Cure{
		{Fix: "lower_context", Title: "Limit the cache of earlier prompts: `cache_ram`", Cost: "an earlier conversation is read again when it comes back", Told: "In the model's YAML file, in MiB; 0 keeps none. Then restart LocalAI.", Steps: yaml("options:\n  - cache_ram:2048")},
		{Fix: oneModel.Fix, Title: oneModel.Title, Told: "Set it in LocalAI's environment (Docker: `-e`). It then unloads one model before it loads the next.", Steps: oneModel.Steps, Cost: oneModel.Cost},
		{Fix: "raise_memory_limit", Title: "Raise the container's memory limit", Told: "`docker run --memory 16g`, `mem_limit:` in compose, `resources.limits.memory` in Kubernetes. If it is killed while loading, you need this or a smaller file.", Cost: "only if the machine has it"},
	},
	Sources: []string{"LocalAI/backend/cpp/llama-cpp/grpc-server.cpp", "LocalAI/docs/content/features/text-generation.md", "https://github.com/TheTom/llama-cpp-turboquant/pull/350"},
}
