package ggml

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

var localAICards = []cause.Card{{
	ID: "localai/weights", Kinds: refused, If: when.All(device("weights", ""), above(units.GiB), when.Not(mixtureOfExperts)), Figures: numbers,
	Cause: cause.ModelTooLarge, Weight: 0.7,
	Headline: "could not load the model: its weights did not fit on the card",
	Means:    "LocalAI's llama.cpp backend asked {gpu} for {asked} in one piece, the weights as a rule, and was refused. Either the card is too small, or something is on it already, often another model that LocalAI keeps loaded. The log shows neither the card's size nor what holds it; lines after it only try other backends.",
	Not:      "A shorter context: it failed before any was made.",
	Cures: []cause.Cure{
		does("kill_stale_process", "Look, and keep one model loaded at a time", "text", "`nvidia-smi` shows what is on the card. If it is another model of LocalAI's, start it with `MAX_ACTIVE_BACKENDS=1` (older versions: `SINGLE_ACTIVE_BACKEND=true`): it unloads one before it loads the next.", "switching models takes longer"),
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

// qwenCards are qwen.cpp's, which puts a model on one card.
var qwenCards = []cause.Card{{
	ID: "qwen.cpp/one-card", Kinds: gpuFull, Figures: sizesByFormat,
	Cause: cause.ModelTooLarge, Weight: 0.75,
	Headline: "filled one card with the model[[, of {idle} that are there]]",
	Means:    "qwen.cpp puts a model on one card, and the message has no figures.[[ {params} takes {f16} GB as f16, {q8} as q8_0, {q5} as q5_0 and {q4} as q4_0, and 1 to 5 GB for cache and work.]] So either the file is too large for one card, or card 0 was busy: `ls -lh` of the file and `nvidia-smi` tell which.",
	Not:      "A shorter prompt alone: it fails with the model, as a rule.",
	Cures: []cause.Cure{
		{Fix: "use_lower_quant", Title: "Convert the model to 4 bit", Told: "If the file is larger than a card (`-i`: the folder that you converted before):", Kind: "shell", Text: "python3 qwen_cpp/convert.py -i QWEN_FOLDER -t q4_0 -o qwen-q4_0.bin", Cost: "some quality"},
		{Fix: "select_gpu", Title: "If card 0 was busy, take another", If: severalDevices, Steps: onOtherCard, Cost: "free"},
		does("multi_gpu", "Or llama.cpp, which splits a model over all cards", "text", "Convert with its `convert_hf_to_gguf.py --outtype q8_0`, then run the file with `-ngl 99 -c 8192`. qwen.cpp is no longer developed, and llama.cpp needs less.", "a conversion"),
	},
	Sources: []string{"qwen.cpp/README.md", "https://github.com/QwenLM/qwen.cpp/issues/55"},
}}

// billions are the parameters in a name such as qwen72b-ggml.bin.
var billions = regexp.MustCompile(`(\d{1,3}(?:\.\d)?)b(?:[^a-z]|$)`)

// sizesByFormat are what a model's weights take in each of the formats of the
// converter, in GB.
func sizesByFormat(c *ledger.Case) map[string]string {
	out := map[string]string{"idle": "", "params": ""}
	if n := len(cardsOf(c)); n > 1 {
		out["idle"] = fmt.Sprint(n)
	}
	n := ledger.Named(c).Parameters
	if m := billions.FindStringSubmatch(strings.ToLower(c.ModelName())); n == 0 && m != nil {
		x, _ := strconv.ParseFloat(m[1], 64)
		n = int64(x * 1e9)
	}
	if n < 1e8 || n > 1e13 {
		return out
	}
	out["params"] = fmt.Sprintf("A model of %.3g billion parameters", float64(n)/1e9)
	for name, bits := range map[string]float64{"f16": 16, "q8": 8.5, "q5": 5.5, "q4": 4.5} {
		out[name] = fmt.Sprintf("%.3g", float64(n)*bits/8e9)
	}
	return out
}

// onOtherCard starts the same command on the next card.
func onOtherCard(c *ledger.Case) []step.Step {
	if command, ok := edited(c, ""); ok {
		return []step.Step{{Kind: "shell", Text: "CUDA_VISIBLE_DEVICES=1 " + command}}
	}
	return []step.Step{{Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=1"}}
}

// ikCards are ik_llama.cpp's.
var ikCards = []cause.Card{{
	ID: "ik_llama.cpp/compute", Kinds: refused, If: when.All(device("compute"), above(4*units.GiB)), Figures: numbers,
	Cause: cause.OversizedAllocation, Weight: 0.75,
	Headline: "asked for a compute buffer of {asked}",
	Means:    "Weights and cache were in place. The buffer of {asked} is attention over the whole context in one piece, which ik_llama.cpp makes where neither flash attention nor `-amb` bounds it; with several cards in a pipeline (n_copies=4) parts of it are kept four times.",
	Not:      "Another split or fewer layers: the buffer on one card stays about as large.",
	Cures: []cause.Cure{
		does("enable_flash_attention", "Bound the attention", "text", "Start it with `-fa on` (older builds: `-fa`), for DeepSeek-like models with `-mla 3 -amb 512` too: the products then take 512 MiB at most.", "nearly free"),
		{Fix: "lower_ubatch", Title: "A smaller physical batch", Told: "With `-ub {ubTo}` instead of {ub} it takes about {ubThen}.", Cost: "slower prompts"},
		does("upgrade_version", "On several cards: build without pipeline copies", "text", "`cmake -B build -DGGML_CUDA=ON -DGGML_SCHED_MAX_COPIES=1`, then build again.", "slower prompts"),
	},
	Sources: []string{"ik_llama.cpp/common/common.cpp", "https://github.com/ikawrakow/ik_llama.cpp/issues/749"},
}}
