package fronts

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/apps"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/program/ggml/books"
	"github.com/oomdoc/oomdoc/rules/program/ggml/command"
	"github.com/oomdoc/oomdoc/rules/program/ggml/dialect"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// localFigures: LocalAI asks for all layers unless its YAML says otherwise, so
// that a share of the weights is that of a layer.
func localFigures(c *ledger.Case) map[string]string {
	r := ledger.Requested(c)
	out := map[string]string{"quarter": units.Amount(r * 3 / 4)}
	if r > 0 && r < 24*units.GiB {
		out["layer"] = fmt.Sprintf("%d MiB", r/33/units.MiB)
	}
	return out
}

func yaml(lines string) func(*ledger.Case) []step.Step {
	return func(*ledger.Case) []step.Step { return []step.Step{{Kind: "config", Text: lines}} }
}

// oneModel keeps one model loaded at a time.
var oneModel = cause.Cure{
	Fix: "restart_session", Title: "Keep one model loaded at a time", Cost: "reloading when you switch",
	Told: "Run `nvidia-smi`: if an earlier model of LocalAI is still on the card, set this in LocalAI's environment (Docker: `-e`) and restart it. It then unloads one model before it loads the next.",
	Steps: func(c *ledger.Case) []step.Step {
		if dialect.OldBuild(c) {
			return []step.Step{{Kind: "config", Text: "SINGLE_ACTIVE_BACKEND=true"}}
		}
		return []step.Step{{Kind: "config", Text: "MAX_ACTIVE_BACKENDS=1   # versions before 3.9: SINGLE_ACTIVE_BACKEND=true"}}
	},
}

var localAICards = []cause.Card{
	localBeside, localKept, localPython,
	{
		ID: "localai/weights", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("weights", ""), when.Not(ggml.Experts)), Figures: localFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "did not load the model: its weights did not fit on the card",
		Means: "LocalAI's llama.cpp backend asked the card for the weights[[ in one piece, {asked}]], and less was free. Either the card is too small for them, or something else is on it, often an earlier model that LocalAI keeps loaded. LocalAI may then try other backends; their errors only follow.",
		Not:   "A shorter context alone: it failed on the weights.",
		Cures: []cause.Cure{
			oneModel,
			{Fix: "fewer_gpu_layers", Title: "Lower `gpu_layers`", Cost: "slower",
				Told:  "In the model's YAML in the models folder, then restart LocalAI; 10 if it is refused again[[ (a 7B or 8B model has 33 layers, then of about {layer})]].",
				Steps: yaml("gpu_layers: 20")},
			{Fix: "use_lower_quant", Title: "Use a smaller quantisation", Cost: "slight loss of quality",
				Told: "Q4_K_M takes about three quarters of a Q6_K[[ ({quarter} instead of {asked})]]; put its name in the YAML: `parameters:`, `model: NAME.Q4_K_M.gguf` (the new file)."},
		},
		Sources: []string{"LocalAI/docs/content/advanced/vram-management.md", "LocalAI/docs/content/advanced/model-configuration.md", "LocalAI/core/cli/run.go", "https://github.com/mudler/LocalAI/issues/1946"},
	},
	{
		ID: "localai/context", Kinds: ggml.RefusedKinds, If: ggml.Device("kv", "compute"), Figures: localFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "did not load the model: KV cache or compute buffer did not fit on the card",
		Means: "The weights fit; {asked} for the KV cache or the compute buffer did not. Both grow with `context_size` in the model's YAML[[ ({context} tokens here)]]. Another model that LocalAI keeps loaded may also hold part of the card.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Lower `context_size`, use an 8-bit KV cache", Cost: "shorter conversations",
				Told: "In the model's YAML in the models folder, then restart LocalAI. The 8-bit cache takes about half and needs flash attention.",
				Steps: func(c *ledger.Case) []step.Step {
					return []step.Step{{Kind: "config", Text: fmt.Sprintf("context_size: %d\nflash_attention: \"on\"\ncache_type_k: q8_0\ncache_type_v: q8_0", ggml.ContextToSet(c))}}
				}},
			oneModel,
			{Fix: "fewer_gpu_layers", Title: "Lower `gpu_layers`", Cost: "slower", Told: "In the same YAML; by default LocalAI asks for all layers.",
				Steps: func(c *ledger.Case) []step.Step {
					return []step.Step{{Kind: "config", Text: fmt.Sprintf("gpu_layers: %d", ggml.LayersToSet(c))}}
				}},
		},
		Sources: []string{"LocalAI/docs/content/advanced/model-configuration.md", "LocalAI/core/cli/run.go"},
	},
	{
		ID: "localai/running", Kinds: ggml.AtWork, If: onGPU,
		Cause: cause.ModelTooLarge, Weight: cause.Good, Headline: "ran out of graphics memory while it answered",
		Means: "The model was loaded; the working memory of a prompt did not fit beside it. No size is printed: a few hundred MB are usual, more with a long prompt. Another model that stays loaded on the card is a common reason.",
		Cures: []cause.Cure{
			oneModel,
			{Fix: "fewer_gpu_layers", Title: "Lower `gpu_layers`", Cost: "slower", Told: "In the model's YAML in the models folder, then restart LocalAI. A 7B model has 33 layers; lower it until it runs.", Steps: yaml("gpu_layers: 28")},
			{Fix: "lower_context", Title: "Lower `context_size`", Cost: "shorter conversations", Told: "In the same YAML.", Steps: func(c *ledger.Case) []step.Step {
				return []step.Step{{Kind: "config", Text: fmt.Sprintf("context_size: %d", ggml.ContextToSet(c))}}
			}},
		},
		Sources: []string{"LocalAI/docs/content/advanced/vram-management.md", "LocalAI/docs/content/advanced/model-configuration.md"},
	},
}

// localBeside is about a card that is full beside the failing backend: LocalAI
// starts a process for each model and, by default, ends none of them.
var localBeside = cause.Card{
	ID: "localai/others-hold-much", Kinds: apps.OnCard, If: ledger.Crowded,
	Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "ran out of the card's memory: nearly all of it was held outside this backend",
	Means: "This model's backend had[[ {free} of {total}]] left to load into; what fills the card is not its own. LocalAI starts a process for each model and by default keeps it, so that an earlier model is the usual holder; the desktop or another program are the others.",
	Not:   "A smaller model alone: it would have to fit into the same remainder.",
	Cures: []cause.Cure{
		oneModel,
		{Fix: "kill_stale_process", Title: "Restart LocalAI, and load this model first", Cost: "the other models have to be loaded again", Told: "It ends all its backends. If `nvidia-smi` still shows the card as full, the holder is not LocalAI: end that program."},
		{Fix: "select_gpu", Title: "Give LocalAI another card, if there is one", Cost: "none", Told: "Set `CUDA_VISIBLE_DEVICES` in its environment (Docker: `--gpus device=1`)."},
	},
	Sources: []string{"LocalAI/pkg/model/initializers.go", "LocalAI/core/cli/run.go", "https://github.com/mudler/LocalAI/issues/2126"},
}

// localPython is about LocalAI's backends in Python, which have none of
// llama.cpp's settings.
var localPython = cause.Card{
	ID: "localai/python", Kinds: apps.OnCard,
	Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of the card's memory in one of its Python backends",
	Means: "A backend of LocalAI in Python (vLLM, diffusers, transformers, speech) was refused memory[[: {asked}, with {free} of {total} free]]. Either its model is too large for the card, or another model that LocalAI keeps loaded, or another program, holds the rest.",
	Not:   "`gpu_layers`: only the llama.cpp backend has it.",
	Cures: []cause.Cure{
		oneModel,
		{Fix: "use_lower_quant", Title: "Make this model smaller, in its YAML", Cost: "some speed or quality", Ways: []cause.Way{
			{For: "vLLM", Text: "`max_model_len: 4096`, `gpu_memory_utilization: 0.8`, or a model in AWQ or GPTQ"},
			{For: "Pictures (diffusers)", Text: "`f16: true` and `low_vram: true`, which keeps only the working part on the card"},
			{For: "transformers, speech", Text: "`f16: true`, or a smaller model"},
		}},
		{Fix: "use_smaller_model", Title: "Run it as GGUF in the llama.cpp backend", Told: "For text: a Q4 file takes a third of 16 bit, and layers that do not fit stay in RAM.", Cost: "another download"},
	},
	Sources: []string{"LocalAI/core/config/model_config.go", "LocalAI/backend/python/diffusers/backend.py", "LocalAI/docs/content/features/text-generation.md", "LocalAI/core/cli/run.go"},
}

var gpt4AllCards = []cause.Card{
	{
		ID: "gpt4all/fallback", Kinds: ggml.RefusedKinds, Said: []string{"GPU loading failed"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "could not load the model on the card and runs it on the CPU",
		Means: "The model did not fit on the card[[ ({asked} was refused)]], and GPT4All went on with the CPU by itself, which works but is slower. The card must hold all layers and the context that are set for this model.",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Lower GPU Layers", Cost: "slower than all on the card", Kind: "ui", Text: "Settings, Model, choose the model: GPU Layers 20 (100 means all); then reload it"},
			{Fix: "lower_context", Title: "Lower Context Length", Cost: "shorter conversations", Kind: "ui", Text: "Settings, Model: half of the present Context Length; then reload the model"},
			as("use_smaller_model", "Use a smaller model", "lower quality"),
		},
		Sources: []string{"gpt4all/gpt4all-chat/src/chatllm.cpp", "gpt4all/gpt4all-chat/qml/ModelSettings.qml"},
	},
	{
		ID: "gpt4all/vulkan", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(onVulkan, bare),
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "was refused memory by the Vulkan driver",
		Means: "The Vulkan driver refused memory; the log shows neither how much nor what was free. By default GPT4All puts all layers on the card, most likely more than it had free.",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Lower GPU Layers, or use the CPU", Cost: "slower", Ways: []cause.Way{
				{For: "Desktop app", Text: "Settings, Model: GPU Layers 20; or Settings, Application: Device CPU"},
				{For: "Python", Text: "`GPT4All(name, device=\"cpu\")`, or `ngl=20` beside `device=\"gpu\"`"},
			}},
			{Fix: "close_other_apps", Title: "See what else is on the card", Cost: "free", Told: "`nvidia-smi`, or the system's monitor: games, browsers and other AI programs hold some of it."},
			as("use_smaller_model", "Use a smaller model", "lower quality"),
		},
		Sources: []string{"gpt4all/gpt4all-bindings/python/gpt4all/gpt4all.py", "https://github.com/nomic-ai/gpt4all/issues/1690"},
	},
}

// janFit lets llama.cpp choose context and layers by what is free.
var janFit = cause.Cure{Fix: "fewer_gpu_layers", Title: "Turn on Fit (auto-adjust to device memory)", Cost: "a shorter context, or a few layers on the CPU", Told: "Jan 0.8 and later, where it may be off. llama.cpp then shortens what you did not set until it fits; set no Context Size beside it.", Kind: "ui", Text: "Settings, Model Providers, Llama.cpp: Fit (auto-adjust to device memory) on; then start the model again"}

var janCards = []cause.Card{
	{
		ID: "jan/kv", Kinds: ggml.RefusedKinds, If: ggml.Device("kv"),
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "did not load the model: {asked} of KV cache did not fit on the card",
		Means: "The weights fit; the KV cache for the context did not: {asked} was refused. No Context Size, or 0, means the model's own maximum, often 128k or 256k tokens.",
		Not:   "A smaller batch: the cache does not depend on it.",
		Cures: []cause.Cure{
			janFit,
			{Fix: "lower_context", Title: "Lower Context Size", Cost: "shorter conversations", Kind: "ui", Text: "Gear beside the model: a lower Context Size (such as 8192); then start the model again"},
			{Fix: "quantize_kv_cache", Title: "Use an 8-bit KV cache", Cost: "hardly any loss", Told: "It takes about half as much.", Kind: "ui", Text: "Settings, Model Providers, Llama.cpp: Flash Attention on, KV Cache K Type and V Type q8_0"},
			{Fix: "restart_session", Title: "Stop other loaded models", Cost: "free", Kind: "ui", Text: "Settings, Model Providers, Llama.cpp: stop it in the list; Auto-Unload Old Models on keeps it so"},
		},
		Sources: []string{"https://github.com/janhq/jan/issues/8236", "jan/extensions/llamacpp-extension/settings.json"},
	},
	sharedRAM("jan/shared", cause.Cure{Fix: "fewer_gpu_layers", Title: "Lower GPU Layers", Cost: "slower", Kind: "ui", Text: "Gear beside the model: GPU Layers {layers}; 0 uses the CPU alone"}, "jan/extensions/llamacpp-extension/settings.json"),
	{
		ID: "jan/weights", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("weights", ""), when.Not(ggml.Experts), when.Not(ggml.Shared)), Figures: janLayers,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "did not load the model: {what} did not fit on the card",
		Means: "The card refused {what}[[, {asked} in one piece]].[[ {open}]] GPU Layers asks for more layers than the free memory holds, or something else is on the card, such as another loaded model.",
		Not:   "[[{sure}]]",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Lower GPU Layers", Cost: "slower", Kind: "ui", Text: "Gear beside the model: GPU Layers {layers}; raise it until about 1 GiB of the card stays free"},
			{Fix: "restart_session", Title: "Stop other loaded models", Cost: "free", Kind: "ui", Text: "Settings, Model Providers, Llama.cpp: stop it in the list; Auto-Unload Old Models on keeps it so"},
			as("use_lower_quant", "Use a smaller quantisation", "slight loss of quality"),
		},
		Sources: []string{"jan/extensions/llamacpp-extension/settings.json"},
	},
}

// janLayers are those to set: computed where the log lists what was put on the
// card, else half of what models of the usual sizes have.
func janLayers(c *ledger.Case) map[string]string {
	out := map[string]string{"card": quote.Told(ggml.SharedMemoryCard(c)), "layers": "at half of the model's layers (a 7B or 8B has 32 to 36, a 14B 40 to 48)"}
	out["what"], out["open"], out["sure"] = "its weights", "", "A shorter context alone: it failed on the weights."
	if ggml.Device("")(c) {
		out["what"], out["open"], out["sure"] = "a part of it", "The line does not say which: most likely weights, which come first, else the KV cache of the context.", ""
	}
	if keep, of := ggml.LayersToKeep(c); of > 4 && keep > 0 {
		out["layers"] = fmt.Sprintf("%d instead of %d", keep, of)
	}
	return out
}

// sharedRAM is about weights that did not fit into what a processor's graphics may
// take of the RAM: they have no card for other programs to fill.
func sharedRAM(id string, fewer cause.Cure, sources ...string) cause.Card {
	return cause.Card{
		ID: id, Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("weights", ""), when.Not(ggml.Experts), ggml.Shared), Figures: janLayers,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "did not load the model: the processor's graphics got no more of the RAM",
		Means: "{card} has no memory of its own: it takes a share of the RAM, which model, system and other programs share[[, and {asked} more was refused]]. What is listed as free is an estimate, and the KV cache and compute buffer come on top of the weights.",
		Not:   "A shorter context alone, if it failed on the weights.",
		Cures: []cause.Cure{
			fewer,
			{Fix: "close_other_apps", Title: "Close what uses RAM, then load", Told: "Browsers and other loaded models: on such graphics their RAM is the model's.", Cost: "free"},
			{Fix: "use_smaller_model", Title: "Use a smaller model or quantisation", Told: "The file should stay 2 GB below what the log lists as free for the GPU."},
		},
		Sources: sources,
	}
}

var tabbyCards = []cause.Card{{
	ID: "tabby/crammed", Kinds: ggml.FullKinds, Said: []string{"llama_cpp_bindings", "Unable to load model:"}, If: func(c *ledger.Case) bool { return ggml.Crammed(c) > 8*ledger.Requested(c) }, Figures: ggml.CrammedFigures,
	Cause: cause.LeakedProcess, Weight: cause.Decisive, Headline: ggml.CrammedHeadline,
	Means: "{asked} was refused on {gpu} ({kind}, {whole}), far less than it has. So the GPU is large enough, but most of it was in use before: an earlier run, another model server, a notebook.",
	Not:   "A smaller model or context, as long as something else fills the GPU.",
	Cures: []cause.Cure{
		does("kill_stale_process", "See which process holds the GPU, and end it", "shell", "nvidia-smi", "what it had not saved"),
		does("select_gpu", "Or give Tabby a GPU that is free", "text", "In Docker `--gpus '\"device=2\"'` in place of `--gpus all` (2: one that `nvidia-smi` shows as empty); it then does not spread over full ones either. Without Docker: `CUDA_VISIBLE_DEVICES=2` before the start.", "free"),
		as("upgrade_version", "Update Tabby", "a download"),
	},
	Sources: []string{"https://github.com/TabbyML/tabby/issues/1498", "https://docs.docker.com/engine/containers/resource_constraints/"},
}, {
	ID: "tabby/one-model", Kinds: ggml.FullKinds, Said: []string{"serve --model"}, Unsaid: []string{"--chat-model", "<chat>"}, If: onGPU,
	Cause: cause.ModelTooLarge, Weight: cause.Good,
	Means: "Tabby was started with one model, for completion, and it did not fit: the GPU is too small for it, or something else is on it. The log does not show how much was free.",
	Cures: []cause.Cure{
		does("close_other_apps", "See what is on the GPU", "shell", "nvidia-smi", "free"),
		does("use_smaller_model", "Use a smaller model", "text", "Choose a smaller one from the registry, such as StarCoder-1B or Qwen2.5-Coder-1.5B, in place of one of 7B.", "weaker suggestions"),
		as("lower_context", "Lower the context size", "less of the file is seen"),
	},
	Sources: []string{"tabby/crates/tabby/src/serve.rs"},
}, {
	ID: "tabby/models", Kinds: ggml.FullKinds, If: onGPU,
	Cause: cause.ModelTooLarge, Weight: cause.Good,
	Means: "Tabby starts a llama-server for each model (completion, chat, embedding), by default all on the same card. One of them did not fit; the name in brackets (`<completion>`, `<chat>`) says which.",
	Cures: []cause.Cure{
		does("use_smaller_model", "Run without the chat model, or use smaller models", "text", "Start `tabby serve` without `--chat-model`, or choose smaller models from the registry, such as Qwen2.5-Coder-1.5B for completion.", "no chat, or shorter suggestions"),
		does("select_gpu", "Run the chat model on the CPU", "text", "Add `--chat-device cpu` to `tabby serve`.", "slow chat"),
		as("lower_context", "Lower the context size", "less of the file is seen"),
	},
	Sources: []string{"tabby/crates/tabby/src/serve.rs", "tabby/crates/llama-cpp-server/src/supervisor.rs"},
}}

// qwenCards are qwen.cpp's, which puts a model on one card.
var qwenCards = []cause.Card{{
	ID: "qwen.cpp/one-card", Kinds: ggml.FullKinds, Figures: sizesByFormat,
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory on one card[[, of {idle} in this machine]]",
	Means:    "qwen.cpp puts a model on one card, and the error has no sizes.[[ {params} takes {f16} GB as f16, {q8} as q8_0 and {q4} as q4_0, plus 1 to 5 GB for KV cache and activations.]] Either the file is too large for one card, or another job holds that card: the file's size and `nvidia-smi` show which.",
	Cures: []cause.Cure{
		{Fix: "use_lower_quant", Title: "If the file is larger than the card: convert to 4 bit", Steps: qwenSmaller, Cost: "some quality"},
		{Fix: "select_gpu", Title: "If it is small enough: use the other card", If: ggml.SeveralDevices, Steps: onOtherCard, Cost: "free"},
		{Fix: "multi_gpu", Title: "Use llama.cpp, which splits a model over all cards", Steps: qwenSplit, Cost: "a conversion"},
	},
	Sources: []string{"qwen.cpp/README.md", "https://github.com/QwenLM/qwen.cpp/issues/55"},
}}

// billions are the parameters in a name such as qwen72b-ggml.bin.
var billions = regexp.MustCompile(`(\d{1,3}(?:\.\d)?)b(?:[^a-z]|$)`)

// sizesByFormat are what a model's weights take in each of the formats of the
// converter, in GB.
func sizesByFormat(c *ledger.Case) map[string]string {
	out := map[string]string{"idle": "", "params": ""}
	if n := len(books.Cards(c)); n > 1 {
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

// qwenFolder is the model's folder, which holds its tokeniser too.
func qwenFolder(c *ledger.Case) string {
	if signal := c.Signal("llama_command"); signal != nil {
		words, _ := command.Words(signal.Text, false)
		if at := slices.Index(words, "--tiktoken"); at >= 0 && at+1 < len(words) && strings.Contains(words[at+1], "/") {
			return step.Word(c, path.Dir(words[at+1]))
		}
	}
	return "QWEN_FOLDER"
}

// ofFolder explains the word that stands for a folder that the log does not name.
func ofFolder(c *ledger.Case) string {
	if qwenFolder(c) == "QWEN_FOLDER" {
		return " (`QWEN_FOLDER`: the folder that you converted before)"
	}
	return ""
}

// qwenSmaller converts the model to 4 bit, and starts that file.
func qwenSmaller(c *ledger.Case) []step.Step {
	text, where := "python3 qwen_cpp/convert.py -i "+qwenFolder(c)+" -t q4_0 -o qwen-q4_0.bin", "In the folder of qwen.cpp"
	if line, ok := command.Edited(c, "-m qwen-q4_0.bin"); ok {
		if folder, _, found := strings.Cut(line, "build/bin/"); found && !strings.Contains(folder, " ") {
			text, where = strings.Replace(text, "qwen_cpp/", folder+"qwen_cpp/", 1), "Where you started it"
		}
		text += "\n" + line
	}
	return []step.Step{
		{Kind: "text", Text: "`ls -lh` shows the file's size. " + where + ofFolder(c) + ":"},
		{Kind: "shell", Text: text},
	}
}

// qwenSplit runs the model in llama.cpp, on all cards.
func qwenSplit(c *ledger.Case) []step.Step {
	return []step.Step{{Kind: "text", Text: "Convert with its `convert_hf_to_gguf.py " + qwenFolder(c) + " --outtype q8_0 --outfile qwen-q8_0.gguf`" + ofFolder(c) + ", then start it with `-m qwen-q8_0.gguf -ngl 99 -c 8192`."}}
}

// onOtherCard starts the same command on the next card.
func onOtherCard(c *ledger.Case) []step.Step {
	if line, ok := command.Edited(c, ""); ok && !c.Windows() {
		return []step.Step{{Kind: "shell", Text: "CUDA_VISIBLE_DEVICES=1 " + line}}
	}
	return []step.Step{step.Environ(c, "CUDA_VISIBLE_DEVICES", "1")}
}

// bounded: flash attention or -amb bounds the products of attention already.
func bounded(c *ledger.Case) bool {
	return dialect.FlashOn(c) || c.Near("-amb ") || c.Near("attn_max_b") && !c.Near("attn_max_b = 0")
}

var ikCopies = does("upgrade_version", "Build with `GGML_SCHED_MAX_COPIES=1`", "text", "`cmake -B build -DGGML_CUDA=ON -DGGML_SCHED_MAX_COPIES=1`, then `cmake --build build --config Release`.", "slower prompts")

// ikCards are ik_llama.cpp's.
var ikCards = []cause.Card{{
	ID: "ik_llama.cpp/copies", Kinds: ggml.RefusedKinds, Said: []string{"(n_copies=4)"}, If: when.All(ggml.Device("compute"), above(4*units.GiB), bounded), Figures: ggml.Numbers,
	Cause: cause.OversizedAllocation, Weight: cause.Strong,
	Headline: "asked for a compute buffer of {asked}: pipeline copies",
	Means:    "Weights and KV cache fit, and attention is limited already. The log says n_copies=4: for a pipeline over several cards, inputs of each part of the graph are kept four times. With tensors placed by hand (`-ot`) that can include weights in system memory or on other cards, which makes the buffer very large.",
	Cures: []cause.Cure{
		ikCopies,
		does("balance_split", "Place whole layers with `-ot`", "text", "With `-ot`: give the experts of a layer (up, gate and down together) to the card that has the layer itself, or to the CPU, and the failing card fewest: tensors scattered over cards are copied between them.", "a few trials"),
		{Fix: "lower_ubatch", Title: "Lower the physical batch: `-ub`", Cost: "slower prompts"},
	},
	Sources: []string{"ik_llama.cpp/ggml/src/ggml-backend.cpp", "https://github.com/ikawrakow/ik_llama.cpp/issues/500"}, Solved: 1,
}, {
	ID: "ik_llama.cpp/batch", Kinds: ggml.RefusedKinds, Said: []string{"attn_max_b", "-amb ", "flash_attn", "attn_max_b = 0"}, Unsaid: []string{"(n_copies=4)"}, If: when.All(ggml.Device("compute"), above(units.GiB), bounded, ggml.LargeBatch), Figures: ggml.Numbers,
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "did not fit a compute buffer for {ub} tokens at once",
	Means:    "Weights and KV cache fit; the compute buffer of {asked} was refused on {gpu}[[ ({left} was left, {short} too little)]]. Attention is limited already, so the buffer grows with the physical batch, {ub} here instead of the usual 512.",
	Cures: []cause.Cure{
		{Fix: "lower_ubatch", Title: "Lower the physical batch: `-ub`", Told: "With `-ub {ubTo}` instead of {ub} it takes about {ubThen}.", Cost: "slower prompts"},
		does("moe_cpu_offload", "Keep more experts in RAM", "text", "Remove an `-ot` that puts experts on that card, so that `exps=CPU` applies to them.", "slower"),
		{Fix: "lower_context", Title: "Lower the context size", Cost: "shorter conversations"},
	},
	Sources: []string{"ik_llama.cpp/common/common.cpp", "https://github.com/ikawrakow/ik_llama.cpp/issues/437"},
}, {
	ID: "ik_llama.cpp/compute", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("compute"), above(4*units.GiB), when.Not(bounded)), Figures: ggml.Numbers,
	Cause: cause.OversizedAllocation, Weight: cause.Strong,
	Headline: "asked for a compute buffer of {asked}",
	Means:    "Weights and KV cache fit. A buffer of {asked} is most often attention over the whole context in one piece, which ik_llama.cpp makes where neither flash attention nor `-amb` limits it; where the log says n_copies=4, parts of it are kept four times.",
	Cures: []cause.Cure{
		does("enable_flash_attention", "Turn on flash attention", "text", "Start it with `-fa on` (older builds: `-fa`), for DeepSeek-like models also with `-mla 3 -amb 512`, which limits that part to 512 MiB.", "nearly free"),
		{Fix: "lower_ubatch", Title: "Lower the physical batch: `-ub`", Told: "With `-ub {ubTo}` instead of {ub} it takes about {ubThen}.", Cost: "slower prompts"},
		{Fix: ikCopies.Fix, If: func(c *ledger.Case) bool { return c.Near("(n_copies=4)") }, Title: ikCopies.Title, Kind: ikCopies.Kind, Text: ikCopies.Text, Cost: ikCopies.Cost},
	},
	Sources: []string{"ik_llama.cpp/common/common.cpp", "https://github.com/ikawrakow/ik_llama.cpp/issues/749"},
}}
