package fronts

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/program/ggml/books"
	"github.com/oomdoc/oomdoc/rules/program/ggml/command"
	"github.com/oomdoc/oomdoc/rules/program/ggml/dialect"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// localFigures: LocalAI asks for all layers unless its YAML says otherwise, so
// that a share of the weights is that of a layer.
func localFigures(c *ledger.Case) map[string]string {
	r := ledger.Requested(c)
	out := map[string]string{"sure": "A shorter context alone: it failed on the weights."}
	if ggml.Device("")(c) { // it may be the cache as well
		out["sure"] = ""
	}
	if r > 0 && r < 24*units.GiB && c.Model != nil && sevenOrEight.MatchString(c.Model.Name) {
		out["layer"] = fmt.Sprintf("%d MiB", r/33/units.MiB)
	}
	return out
}

// sevenOrEight is the name of a 7B or 8B model.
var sevenOrEight = regexp.MustCompile(`(?i)(^|[^0-9.x])[78]b`)

func yaml(lines string) func(*ledger.Case) []step.Step {
	return func(*ledger.Case) []step.Step { return []step.Step{{Kind: "config", Text: lines}} }
}

// oneModel keeps one model loaded at a time.
var oneModel = cause.Cure{
	Fix: "restart_session", Title: "Keep one model loaded at a time", Cost: "reloading when you switch",
	Told: "Run `nvidia-smi`: if an earlier model of LocalAI is still on the GPU, set this in LocalAI's environment (Docker: `-e`) and restart it. It then unloads one model before it loads the next.",
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
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "could not load the model: it did not fit into free GPU memory",
		Means: "LocalAI's llama.cpp backend could not get GPU memory for the model[[ ({asked})]]. Either the GPU is too small for it, or something else is using the GPU, often another model that LocalAI keeps loaded. Errors from other backends after this one are only a consequence.",
		Not:   "[[{sure}]]",
		Cures: []cause.Cure{
			oneModel,
			{Fix: "fewer_gpu_layers", Title: "Lower `gpu_layers`", Cost: "slower",
				Told:  "Edit the model's YAML file in the models folder, then restart LocalAI. If it still fails, try 10[[ (most 7B and 8B models have 33 layers or a few more, of about {layer} each here)]].",
				Steps: yaml("gpu_layers: 20")},
			{Fix: "use_lower_quant", Title: "Use a smaller quantisation", Cost: "slight loss of quality",
				Told: "Download the Q4_K_M file of the same model: about three quarters of a Q6_K, about half of a Q8_0. Put its name into the YAML, under `parameters:`, as `model: NAME.Q4_K_M.gguf`."},
		},
		Sources: []string{"LocalAI/docs/content/advanced/vram-management.md", "LocalAI/docs/content/advanced/model-configuration.md", "LocalAI/core/cli/run.go", "https://github.com/mudler/LocalAI/issues/1946"},
	},
	{
		ID: "localai/context", Kinds: ggml.RefusedKinds, If: ggml.Device("kv", "compute"), Figures: localFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "could not load the model: no GPU memory left for its context",
		Means: "The weights fit. The KV cache or the compute buffer that comes next ({asked}) did not. Both usually grow with `context_size`[[ ({context} tokens here)]]. Another model that LocalAI keeps loaded may also use part of the GPU.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Lower `context_size`, use an 8-bit KV cache", Cost: "shorter conversations",
				Told: "Edit the model's YAML file in the models folder, then restart LocalAI. The 8-bit cache takes about half the memory and needs flash attention.",
				Steps: func(c *ledger.Case) []step.Step {
					return []step.Step{{Kind: "config", Text: fmt.Sprintf("context_size: %d\nflash_attention: \"on\"\ncache_type_k: q8_0\ncache_type_v: q8_0", ggml.ContextToSet(c))}}
				}},
			oneModel,
			{Fix: "fewer_gpu_layers", Title: "Lower `gpu_layers`", Cost: "slower", Told: "In the same YAML file. By default LocalAI puts all layers on the GPU.",
				Steps: func(c *ledger.Case) []step.Step {
					return []step.Step{{Kind: "config", Text: fmt.Sprintf("gpu_layers: %d", ggml.LayersToSet(c))}}
				}},
		},
		Sources: []string{"LocalAI/docs/content/advanced/model-configuration.md", "LocalAI/core/cli/run.go"},
	},
	{
		ID: "localai/running", Kinds: ggml.AtWork, If: onGPU,
		Cause: cause.ModelTooLarge, Weight: cause.Good, Headline: "ran out of GPU memory while it processed a prompt",
		Means: "The model was already loaded. Reading a prompt needs working memory on top, often a few hundred MB and more for long prompts, and that did not fit. Often another model that LocalAI keeps loaded takes the room.",
		Cures: []cause.Cure{
			oneModel,
			{Fix: "fewer_gpu_layers", Title: "Lower `gpu_layers`", Cost: "slower", Told: "Edit the model's YAML file in the models folder, then restart LocalAI. A 7B or 8B model has 33 layers or more. Lower it until it runs.", Steps: yaml("gpu_layers: 28")},
			{Fix: "lower_context", Title: "Lower `context_size`", Cost: "shorter conversations", Told: "In the same YAML file.", Steps: func(c *ledger.Case) []step.Step {
				return []step.Step{{Kind: "config", Text: fmt.Sprintf("context_size: %d", ggml.ContextToSet(c))}}
			}},
		},
		Sources: []string{"LocalAI/docs/content/advanced/vram-management.md", "LocalAI/docs/content/advanced/model-configuration.md"},
	},
}

// localBeside is about a card that is full beside the failing backend: LocalAI
// starts a process for each model and, by default, ends none of them.
var localBeside = cause.Card{
	ID: "localai/others-hold-much", Kinds: kit.OnCard, If: ledger.Crowded,
	Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "ran out of GPU memory: other processes use nearly all of it",
	Means: "This model's backend had little room[[ ({free} of {total})]]; other processes use the rest. LocalAI runs each model in its own process and keeps it loaded by default, so an earlier model is the first suspect.",
	Not:   "A smaller model alone: it would have to fit into what little is left.",
	Cures: []cause.Cure{
		oneModel,
		{Fix: "kill_stale_process", Title: "Restart LocalAI, and load this model first", Cost: "the other models have to be loaded again", Told: "The restart ends all its backends. If `nvidia-smi` still shows a full GPU, another program uses it: close that one."},
		{Fix: "select_gpu", Title: "Give LocalAI another GPU, if there is one", Cost: "none", Told: "Set `CUDA_VISIBLE_DEVICES` in its environment (Docker: `--gpus device=1`)."},
	},
	Sources: []string{"LocalAI/pkg/model/initializers.go", "LocalAI/core/cli/run.go", "https://github.com/mudler/LocalAI/issues/2126"},
}

// localPython is about LocalAI's backends in Python, which have none of
// llama.cpp's settings.
var localPython = cause.Card{
	ID: "localai/python", Kinds: kit.OnCard,
	Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in one of its Python backends",
	Means: "A Python backend (vLLM, diffusers, transformers, speech) could not get memory[[: it asked for {asked}, and {free} of {total} was free]]. Either its model is too large for this GPU, or another model or program uses the rest.",
	Not:   "`gpu_layers`: only the llama.cpp backend has it.",
	Cures: []cause.Cure{
		oneModel,
		{Fix: "use_lower_quant", Title: "Lower this model's memory in its YAML file", Cost: "some speed or quality", Ways: []cause.Way{
			{For: "vLLM", Text: "`max_model_len: 4096`, `gpu_memory_utilization: 0.8`, or a model in AWQ or GPTQ"},
			{For: "Pictures (diffusers)", Text: "`f16: true` and `low_vram: true`, which keeps only the working part on the GPU"},
			{For: "transformers, speech", Text: "`f16: true`, or a smaller model"},
		}},
		{Fix: "use_smaller_model", Title: "Run it as GGUF in the llama.cpp backend", Told: "For text models: a Q4 file is about a third of the 16-bit size, and layers that do not fit can stay in RAM.", Cost: "another download"},
	},
	Sources: []string{"LocalAI/core/config/model_config.go", "LocalAI/backend/python/diffusers/backend.py", "LocalAI/docs/content/features/text-generation.md", "LocalAI/core/cli/run.go"},
}

var gpt4AllCards = []cause.Card{
	{
		ID: "gpt4all/fallback", Kinds: ggml.RefusedKinds, Said: []string{"GPU loading failed"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "could not load the model on the GPU and fell back to the CPU",
		Means: "The model did not fit into GPU memory[[ ({asked} was refused)]], so GPT4All runs it on the CPU instead: it works, but slowly. GPU memory must hold all the layers set for the GPU, plus the context.",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Lower GPU Layers", Cost: "slower than all on the GPU", Kind: "ui", Text: "Settings, Model, choose the model: GPU Layers 20 (100 means all), then reload the model"},
			{Fix: "lower_context", Title: "Lower Context Length", Cost: "shorter conversations", Kind: "ui", Text: "Settings, Model: half of the present Context Length; then reload the model"},
			as("use_smaller_model", "Use a smaller model", "lower quality"),
		},
		Sources: []string{"gpt4all/gpt4all-chat/src/chatllm.cpp", "gpt4all/gpt4all-chat/qml/ModelSettings.qml"},
	},
	{
		ID: "gpt4all/vulkan", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(onVulkan, bare),
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory (Vulkan)",
		Means: "GPT4All puts all layers on the GPU by default, and that is most likely more than was free. The log shows neither how much it asked for nor what was free.",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Lower GPU Layers, or use the CPU", Cost: "slower", Ways: []cause.Way{
				{For: "Desktop app", Text: "Settings, Model: GPU Layers 20; or Settings, Application: Device CPU"},
				{For: "Python", Text: "`GPT4All(name, device=\"cpu\")`, or `ngl=20` beside `device=\"gpu\"`"},
			}},
			{Fix: "close_other_apps", Title: "See what else is on the GPU", Cost: "free", Told: "Task Manager or `nvidia-smi` shows it. Close games, browsers and other AI programs."},
			as("use_smaller_model", "Use a smaller model", "lower quality"),
		},
		Sources: []string{"gpt4all/gpt4all-bindings/python/gpt4all/gpt4all.py", "https://github.com/nomic-ai/gpt4all/issues/1690"},
	},
}

// janFit lets llama.cpp choose context and layers by what is free.
var janFit = cause.Cure{Fix: "fewer_gpu_layers", Title: "Turn on Fit (auto-adjust to device memory)", Cost: "a shorter context, or a few layers on the CPU", Told: "In Jan 0.8 and later. llama.cpp then chooses a context and layers that fit. Leave Context Size empty.", Kind: "ui", Text: "Settings, Model Providers, Llama.cpp: Fit (auto-adjust to device memory) on; then start the model again"}

var janCards = []cause.Card{
	{
		ID: "jan/kv", Kinds: ggml.RefusedKinds, If: ggml.Device("kv"),
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "could not load the model: its {asked} KV cache did not fit on the GPU",
		Means: "The weights fit, the KV cache for the context did not. If Context Size is empty or 0, Jan reserves the model's maximum, often 128k or 256k tokens.",
		Not:   "A smaller batch: the cache does not depend on it.",
		Cures: []cause.Cure{
			janFit,
			{Fix: "lower_context", Title: "Lower Context Size", Cost: "shorter conversations", Kind: "ui", Text: "Gear icon next to the model: a lower Context Size (such as 8192); then start the model again"},
			{Fix: "quantize_kv_cache", Title: "Use an 8-bit KV cache", Cost: "hardly any loss", Told: "It takes about half as much.", Kind: "ui", Text: "Settings, Model Providers, Llama.cpp: Flash Attention on, KV Cache K Type and V Type q8_0"},
			{Fix: "restart_session", Title: "Stop other loaded models", Cost: "free", Kind: "ui", Text: "Settings, Model Providers, Llama.cpp: stop it in the list; Auto-Unload Old Models on keeps it so"},
		},
		Sources: []string{"https://github.com/janhq/jan/issues/8236", "jan/extensions/llamacpp-extension/settings.json"},
	},
	sharedRAM("jan/shared", cause.Cure{Fix: "fewer_gpu_layers", Title: "Lower GPU Layers", Cost: "slower", Kind: "ui", Text: "Gear icon next to the model: GPU Layers {layers}; 0 uses the CPU alone"}, "jan/extensions/llamacpp-extension/settings.json"),
	{
		ID: "jan/weights", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("weights", ""), when.Not(ggml.Experts), when.Not(ggml.Shared)), Figures: janLayers,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "could not load the model: {what} did not fit into GPU memory",
		Means: "The GPU had no room for {what}[[ ({asked})]].[[ {open}]] Either GPU Layers is set too high for the free memory, or something else uses the GPU, such as another loaded model.",
		Not:   "[[{sure}]]",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Lower GPU Layers", Cost: "slower", Kind: "ui", Text: "Gear icon next to the model: GPU Layers {layers}; raise it until about 1 GiB of the GPU stays free"},
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
		out["what"], out["open"], out["sure"] = "a part of it", "The log does not say which part: most likely the weights, which load first, or else the KV cache.", ""
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
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "could not load the model: the integrated GPU got no more RAM",
		Means: "{card} has no memory of its own. It shares the RAM with the system and all other programs[[, and {asked} more was refused]]. The free memory in the log is only an estimate, and the KV cache comes on top of the weights.",
		Not:   "A shorter context alone, if it failed on the weights.",
		Cures: []cause.Cure{
			fewer,
			{Fix: "close_other_apps", Title: "Close programs that use RAM, then load again", Told: "Browsers, games and other loaded models take RAM that this GPU needs.", Cost: "free"},
			{Fix: "use_smaller_model", Title: "Use a smaller model or quantisation", Told: "The file should be at least 2 GB smaller than the free memory that the log lists for the GPU."},
		},
		Sources: sources,
	}
}

var tabbyCards = []cause.Card{{
	ID: "tabby/crammed", Kinds: ggml.FullKinds, Said: []string{"llama_cpp_bindings", "Unable to load model:"}, If: func(c *ledger.Case) bool { return ggml.Crammed(c) > 8*ledger.Requested(c) }, Figures: ggml.CrammedFigures,
	Cause: cause.LeakedProcess, Weight: cause.Decisive, Headline: ggml.CrammedHeadline,
	Means: "{asked} was refused on {gpu} ({kind}, {whole}), which has far more than that. So most of it was already in use: by an earlier run, another model server or a notebook.",
	Not:   "A smaller model or context while something else fills the GPU.",
	Cures: []cause.Cure{
		does("kill_stale_process", "See which process holds the GPU, and end it", "shell", "nvidia-smi", "what it had not saved"),
		{Fix: "select_gpu", Title: "Or give Tabby a GPU that is free", Told: "Docker: `--gpus '\"device={other}\"'` instead of `--gpus all`, if `nvidia-smi` shows GPU {other} as empty. Without Docker: start it with `CUDA_VISIBLE_DEVICES={other}`.", Cost: "free"},
		as("upgrade_version", "Update Tabby", "a download"),
	},
	Sources: []string{"https://github.com/TabbyML/tabby/issues/1498", "https://docs.docker.com/engine/containers/resource_constraints/"},
}, {
	ID: "tabby/one-model", Kinds: ggml.FullKinds, Said: []string{"serve --model"}, Unsaid: []string{"--chat-model", "<chat>"}, If: onGPU,
	Cause: cause.ModelTooLarge, Weight: cause.Good,
	Means: "Tabby was started with one model, for completion, and it did not fit. Either the GPU is too small for it, or something else uses the GPU. The log does not show how much was free.",
	Cures: []cause.Cure{
		does("close_other_apps", "See what is on the GPU", "shell", "nvidia-smi", "free"),
		does("use_smaller_model", "Use a smaller model", "text", "Start it with `--model StarCoder-1B` or `--model Qwen2.5-Coder-1.5B`.", "weaker suggestions"),
		as("lower_context", "Lower the context size", "less of the file is seen"),
	},
	Sources: []string{"tabby/crates/tabby/src/serve.rs"},
}, {
	ID: "tabby/models", Kinds: ggml.FullKinds, If: onGPU,
	Cause: cause.ModelTooLarge, Weight: cause.Good,
	Means: "Tabby starts one llama-server per model (completion, chat, embedding), all on the same GPU by default. One of them did not fit; its name in the log (`<completion>`, `<chat>`) says which.",
	Cures: []cause.Cure{
		does("use_smaller_model", "Run without the chat model, or use smaller models", "text", "Start `tabby serve` without `--chat-model`, or with smaller models, such as `--model Qwen2.5-Coder-1.5B` for completion.", "no chat, or shorter suggestions"),
		does("select_gpu", "Run the chat model on the CPU", "text", "Add `--chat-device cpu` to `tabby serve`.", "slow chat"),
		as("lower_context", "Lower the context size", "less of the file is seen"),
	},
	Sources: []string{"tabby/crates/tabby/src/serve.rs", "tabby/crates/llama-cpp-server/src/supervisor.rs"},
}}

// qwenCards are qwen.cpp's, which puts a model on one card.
var qwenCards = []cause.Card{{
	ID: "qwen.cpp/one-card", Kinds: ggml.FullKinds, Figures: sizesByFormat,
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "ran out of GPU memory on one GPU[[; this machine has {idle}]]",
	Means:    "qwen.cpp loads the whole model onto one GPU.[[ {params} takes {f16} GB as f16, {q8} GB as q8_0 and {q4} GB as q4_0, plus 1 to 5 GB for KV cache and working memory.]] Either the file is too large for the GPU, or another job uses it: compare the file's size with `nvidia-smi`.",
	Cures: []cause.Cure{
		{Fix: "use_lower_quant", Title: "If the file is larger than the GPU's memory: convert it to 4 bit", Steps: qwenSmaller, Cost: "some quality"},
		{Fix: "select_gpu", Title: "If it is small enough: use the other GPU", If: ggml.SeveralDevices, Steps: onOtherCard, Cost: "free"},
		{Fix: "multi_gpu", Title: "Use llama.cpp, which splits a model over all GPUs", Steps: qwenSplit, Cost: "a conversion"},
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
	Headline: "asked for a huge compute buffer ({asked}), probably for pipeline copies",
	Means:    "Weights and KV cache fit, and attention is limited already. `n_copies=4` in the log means that pipeline parallelism over several GPUs keeps some buffers four times. With tensors placed by hand (`-ot`) those copies can include large weights.",
	Cures: []cause.Cure{
		ikCopies,
		does("balance_split", "Place whole layers with `-ot`", "text", "Keep the experts of a layer (up, gate and down) together: on the GPU that has the layer, or on the CPU. Give the failing GPU the fewest. Tensors scattered over GPUs are copied between them.", "a few trials"),
		{Fix: "lower_ubatch", Title: "Lower the micro-batch: `-ub`", Cost: "slower prompts"},
	},
	Sources: []string{"ik_llama.cpp/ggml/src/ggml-backend.cpp", "https://github.com/ikawrakow/ik_llama.cpp/issues/500"}, Solved: 1,
}, {
	ID: "ik_llama.cpp/batch", Kinds: ggml.RefusedKinds, Said: []string{"attn_max_b", "-amb ", "flash_attn", "attn_max_b = 0"}, Unsaid: []string{"(n_copies=4)"}, If: when.All(ggml.Device("compute"), above(units.GiB), bounded, ggml.LargeBatch), Figures: ggml.Numbers,
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "had no room for the compute buffer of a {ub}-token batch",
	Means:    "Weights and KV cache fit; the compute buffer ({asked}) on {gpu} did not[[ ({left} was left, {short} too little)]]. It grows with `-ub`, which is {ub} here instead of the usual 512.",
	Cures: []cause.Cure{
		{Fix: "lower_ubatch", Title: "Lower the micro-batch: `-ub`", Told: "With `-ub {ubTo}` the buffer takes about {ubThen}.", Cost: "slower prompts"},
		does("moe_cpu_offload", "Keep more experts in RAM", "text", "If an `-ot` rule puts experts on that GPU, remove it, so that `exps=CPU` applies to them.", "slower"),
		{Fix: "lower_context", Title: "Lower the context size", Cost: "shorter conversations"},
	},
	Sources: []string{"ik_llama.cpp/common/common.cpp", "https://github.com/ikawrakow/ik_llama.cpp/issues/437"},
}, {
	ID: "ik_llama.cpp/compute", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("compute"), above(4*units.GiB), when.Not(bounded)), Figures: ggml.Numbers,
	Cause: cause.OversizedAllocation, Weight: cause.Strong,
	Headline: "asked for a compute buffer of {asked}",
	Means:    "Weights and KV cache fit. A compute buffer this large usually means that attention is computed over the whole context at once: neither flash attention nor `-amb` limits it. If the log says n_copies=4, parts of it are kept four times.",
	Cures: []cause.Cure{
		does("enable_flash_attention", "Turn on flash attention", "text", "Start it with `-fa on` (older builds: `-fa`). For DeepSeek-like models add `-mla 3 -amb 512`, which limits that part to 512 MiB.", "nearly free"),
		{Fix: "lower_ubatch", Title: "Lower the micro-batch: `-ub`", Told: "With `-ub {ubTo}` instead of {ub} it takes about {ubThen}.", Cost: "slower prompts"},
		{Fix: ikCopies.Fix, If: func(c *ledger.Case) bool { return c.Near("(n_copies=4)") }, Title: ikCopies.Title, Kind: ikCopies.Kind, Text: ikCopies.Text, Cost: ikCopies.Cost},
	},
	Sources: []string{"ik_llama.cpp/common/common.cpp", "https://github.com/ikawrakow/ik_llama.cpp/issues/749"},
}}
