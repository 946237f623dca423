package ggml

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/when"
)

var localAICards = []cause.Card{{
	ID: "localai/weights", Kinds: refused, If: when.All(device("weights"), when.Not(mixtureOfExperts)),
	Cause: cause.ModelTooLarge, Weight: 0.7,
	Means: "LocalAI's llama.cpp backend asked the card for the weights, {asked}, and was refused. Either the card is too small, or a model that LocalAI still keeps loaded is on it. Lines after it only try other backends.",
	Not:   "A shorter context: it failed before any was made.",
	Cures: []cause.Cure{
		does("restart_session", "Look, and keep one model loaded at a time", "text", "`nvidia-smi` shows what is on the card. If it is another model of LocalAI's, start it with `MAX_ACTIVE_BACKENDS=1` (older versions: `SINGLE_ACTIVE_BACKEND=true`): it unloads one before it loads the next.", "switching models takes longer"),
		as("fewer_gpu_layers", "Fewer layers on the card, in the model's YAML", "slower"),
		as("use_lower_quant", "Or a smaller quantisation", "slight loss of quality"),
	},
	Sources: []string{"LocalAI/docs/content/advanced/vram-management.md", "LocalAI/docs/content/advanced/model-configuration.md"},
}}

var gpt4AllCards = []cause.Card{{
	ID: "gpt4all/fallback", Kinds: refused, Said: []string{"GPU loading failed"},
	Cause: cause.ModelTooLarge, Weight: 0.75,
	Means: "The model did not fit on the card, and GPT4All went on with the processor by itself: it works, slower. The card wants room for all layers and the context that are set for this model.",
	Cures: []cause.Cure{
		as("fewer_gpu_layers", "Fewer GPU layers for this model", "slower than all on the card"),
		as("lower_context", "Or a shorter context length", "shorter conversations"),
		as("use_smaller_model", "Or a smaller model", "lower quality"),
	},
	Sources: []string{"gpt4all/gpt4all-chat/src/chatllm.cpp", "gpt4all/gpt4all-chat/qml/ModelSettings.qml"},
}}

var tabbyCards = []cause.Card{{
	ID: "tabby/models", Kinds: gpuFull, If: onGPU,
	Cause: cause.ModelTooLarge, Weight: 0.6,
	Means: "Tabby starts a llama-server of its own for each model: completion, chat and embedding, all on the same card unless told otherwise. One of them found no room; the name in brackets (`<completion>`, `<chat>`) says which.",
	Cures: []cause.Cure{
		does("use_smaller_model", "Leave out a model, or take smaller ones", "text", "Start `tabby serve` without `--chat-model`, or choose smaller models from the registry, such as Qwen2.5-Coder-1.5B for completion.", "no chat, or shorter suggestions"),
		does("select_gpu", "Or run chat on the processor", "text", "Add `--chat-device cpu` to `tabby serve`.", "slow chat"),
		as("lower_context", "Or a shorter context", "less of the file is seen"),
	},
	Sources: []string{"tabby/crates/tabby/src/serve.rs", "tabby/crates/llama-cpp-server/src/supervisor.rs"},
}}
