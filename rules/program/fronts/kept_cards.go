package fronts

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program/ggml/kept"
)

// localKept is about system memory: LocalAI gives llama.cpp's cache of prompts no
// limit (backend/cpp/llama-cpp/grpc-server.cpp).
var localKept = cause.Card{
	ID: "localai/prompts-kept", Kinds: kept.Kills,
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was ended for its system memory (RAM)",
	Means: "In RAM lie the weights that are not on a GPU, every other model that stays loaded, and earlier prompts: LocalAI's llama.cpp backend keeps those without a limit unless you set one (`cache_ram` is -1, in use by default since v4.3, May 2026), each with its whole KV cache. If it ends after a while and not at the load, that is the first suspect.",
	Not:   "Fewer layers on the GPU: that needs more system memory.",
	Cures: []cause.Cure{
		{Fix: "lower_context", Title: "Bound the prompts that are kept: `cache_ram`", Cost: "an earlier conversation is read again when it comes back", Told: "MiB, in the model's YAML; 0 keeps none. Then restart LocalAI.", Steps: yaml("options:\n  - cache_ram:2048")},
		{Fix: oneModel.Fix, Title: oneModel.Title, Told: "In LocalAI's environment (Docker: `-e`); it then unloads one model before it loads the next.", Steps: oneModel.Steps, Cost: oneModel.Cost},
		{Fix: "raise_memory_limit", Title: "Raise the container's memory limit", Told: "`docker run --memory 16g`, `mem_limit:` in compose, `resources.limits.memory` in Kubernetes. If it ends while it loads, this or a smaller file is what helps.", Cost: "only if the machine has it"},
	},
	Sources: []string{"LocalAI/backend/cpp/llama-cpp/grpc-server.cpp", "LocalAI/docs/content/features/text-generation.md", "https://github.com/TheTom/llama-cpp-turboquant/pull/350"},
}
