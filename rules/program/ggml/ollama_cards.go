package ggml

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const ollamaThreads = "https://github.com/ollama/ollama/issues/"

var (
	ollamaDenied = []fact.Kind{fact.OllamaSystem}
	inContainer  = []string{"/root/.ollama", "docker", "kubernetes", "kubepods", "container", "ollama  |"}
	// overhead keeps a part of each card free; the variable is in bytes.
	overhead = does("lower_gpu_memory_utilization", "Keep a part of the card free", "text",
		"Set `OLLAMA_GPU_OVERHEAD=1073741824` (1 GiB, in bytes) for the server and restart it: Ollama then plans with that much less on each card. In Docker `-e`, on Linux `sudo systemctl edit ollama`, on Windows in the user's environment variables.", "a few layers run on the processor")
)

func manyRequests(c *ledger.Case) bool {
	return ledger.IntSetting(c, "parallel", "ollama_num_parallel") > 1
}

// ollamaCards are Ollama's. What they leave open is llama.cpp's to say.
var ollamaCards = []cause.Card{
	{
		ID: "ollama/system-parallel", Kinds: ollamaDenied, If: manyRequests,
		Cause: cause.HostMemory, Weight: 0.8,
		Means:   "Before it loads, Ollama compares what does not go to the card with free RAM and swap: {asked} against {room}. Several requests at a time multiply the context in that sum.",
		Cures:   []cause.Cure{as("lower_parallel", "Serve one request at a time", "others wait"), as("lower_context", "A shorter context", "shorter conversations"), as("close_other_apps", "Close what uses RAM", "free")},
		Sources: []string{"ollama/server/sched.go", ollamaThreads + "7423"},
	},
	{
		ID: "ollama/system-container", Kinds: ollamaDenied, Said: inContainer, If: checked,
		Cause: cause.HostMemory, Weight: 0.82,
		Means: "Ollama wants {asked} of RAM and swap for the part that does not go to a card, and sees {room}. In a container that is the container's or the Docker VM's limit, not the machine's memory.",
		Not:   "A larger card limit or `num_gpu`, if the container sees no card at all: check `ollama ps` first.",
		Cures: []cause.Cure{
			as("raise_memory_limit", "Raise the container's or VM's memory", "only if the machine has it"),
			as("use_smaller_model", "Or a smaller model", "lower quality"),
			as("lower_context", "Or a shorter context", "shorter conversations"),
		},
		Sources: []string{"ollama/llm/llama_server.go", ollamaThreads + "7423"},
	},
	{
		ID: "ollama/system-slightly", Kinds: ollamaDenied, If: slightly,
		Cause: cause.HostMemory, Weight: 0.88,
		Means:   "Ollama compares the part that does not go to a card with free RAM and swap before it loads: {asked} wanted, {room} free. Little is missing, so anything that frees some will do.",
		Cures:   []cause.Cure{as("lower_context", "A shorter context", "shorter conversations"), as("close_other_apps", "Or close what uses RAM, try again", "free")},
		Sources: []string{"ollama/llm/llama_server.go", ollamaThreads + "6918", ollamaThreads + "6723"},
	},
	{
		ID: "ollama/system-hopeless", Kinds: ollamaDenied, If: hopeless,
		Cause: cause.HostMemory, Weight: 0.8,
		Means: "The model wants {asked} of RAM and swap for what does not go to a card, and {room} is free: more than twice as much is missing. Closing programs does not make up for that.",
		Not:   "Closing programs: they hold far less than what is missing.",
		Cures: []cause.Cure{
			as("use_smaller_model", "Choose a smaller model", "lower quality"),
			as("use_lower_quant", "Or a smaller quantisation", "slight loss of quality"),
			as("lower_context", "If you set a long context: shorten it", "shorter conversations"),
		},
		Sources: []string{"ollama/llm/llama_server.go", ollamaThreads + "7013"},
	},
	{
		ID: "ollama/system-much", Kinds: ollamaDenied, If: tooLittle,
		Cause: cause.HostMemory, Weight: 0.85,
		Means:   "Before it loads, Ollama compares the part that does not go to a card with free RAM and swap: {asked} wanted, {room} free. That much is missing that closing programs alone will likely not do.",
		Not:     "More swap alone: it passes the check and makes the model crawl.",
		Cures:   []cause.Cure{as("use_smaller_model", "Choose a smaller model", "lower quality"), as("close_other_apps", "Or close what uses RAM", "free"), as("lower_context", "Or a shorter context", "shorter conversations")},
		Sources: []string{"ollama/llm/llama_server.go", ollamaThreads + "7013", ollamaThreads + "13556"},
	},
	{
		ID: "ollama/system", Kinds: ollamaDenied, If: checked,
		Cause: cause.HostMemory, Weight: 0.85,
		Means:   "Before it loads, Ollama compares the part that does not go to a card with free RAM and swap: {asked} wanted, {room} free. It is a check of the computer's memory, even where there is a card.",
		Not:     "More swap alone: it passes the check and makes the model crawl.",
		Cures:   []cause.Cure{as("close_other_apps", "Close what uses RAM", "free"), as("use_smaller_model", "Choose a smaller model", "lower quality"), as("lower_context", "Or a shorter context", "shorter conversations")},
		Sources: []string{"ollama/llm/llama_server.go", ollamaThreads + "6918", ollamaThreads + "7013"},
	},
	{
		ID: "ollama/killed-unified", Kinds: []fact.Kind{fact.OllamaKilled}, Said: []string{"library=Metal", "recommendedMaxWorkingSetSize", "has unified memory", "uma: 1", "Jetson", "GB10"},
		Cause: cause.HostMemory, Weight: 0.8,
		Means:   "The system ended the runner while it loaded (signal 9). Here the graphics use the computer's own memory, so model, context and programs share it, and it ran out.",
		Not:     "Fewer layers on the graphics: it is the same memory.",
		Cures:   []cause.Cure{as("use_smaller_model", "Choose a smaller model", "lower quality"), as("lower_context", "Or a shorter context", "shorter conversations"), as("close_other_apps", "Close what uses RAM", "free")},
		Sources: []string{"ollama/llm/llama_server.go"},
	},
	{
		ID: "ollama/killed", Kinds: []fact.Kind{fact.OllamaKilled},
		Cause: cause.HostMemory, Weight: 0.82,
		Means: "The runner got signal 9 while it loaded: as a rule the kernel's out-of-memory killer or a container's limit. System memory ran out, not the card's.",
		Not:   "`num_gpu` below what fits: that moves more into system memory.",
		Cures: []cause.Cure{
			as("close_other_apps", "Close what uses RAM", "free"),
			does("raise_memory_limit", "Look who killed it, then give it more memory", "shell", "sudo dmesg -T | grep -i 'killed process'   # in Docker also: docker inspect CONTAINER, OOMKilled (CONTAINER: its name)", "only if the machine has it"),
			as("use_smaller_model", "Or choose a smaller model", "lower quality"),
		},
		Sources: []string{"ollama/llm/llama_server.go"},
	},
	{
		ID: "ollama/layout-forced", Kinds: []fact.Kind{fact.OllamaLayout}, Said: []string{"with num_gpu"},
		Cause: cause.BudgetMisconfigured, Weight: 0.85,
		Means: "`num_gpu` was set by hand, and so many layers do not fit what is free on the card. Without it Ollama counts the layers itself.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Leave num_gpu to Ollama", "text", "Take `num_gpu` out of the request or Modelfile (in a front end: set it back to its default); `ollama ps` shows what Ollama chooses.", "free"),
			as("lower_context", "Or a shorter context", "shorter conversations"),
		},
		Sources: []string{"ollama/llm/server.go"},
	},
	{
		ID: "ollama/layout", Kinds: []fact.Kind{fact.OllamaLayout},
		Cause: cause.BudgetMisconfigured, Weight: 0.5,
		Means:   "Ollama's planner found no way to lay the model out with the memory it saw. Either another model or program holds the card, or the context is set so long that not even the smallest part fits.",
		Cures:   []cause.Cure{as("fewer_gpu_layers", "Leave num_gpu alone, or set it lower", "slower"), as("lower_context", "A shorter context", "shorter conversations"), as("restart_session", "Unload what Ollama still holds", "a minute")},
		Sources: []string{"ollama/llm/server.go"},
	},
	{
		ID: "ollama/guess", Kinds: []fact.Kind{fact.OllamaGuess},
		Cause: cause.ModelTooLarge, Weight: 0.5,
		Means:   "That sentence is the guess of versions before 0.1.18 for any end of the runner. Memory is the usual reason, but a damaged download or an old driver said the same.",
		Cures:   []cause.Cure{as("use_smaller_model", "Try a smaller model", "lower quality"), as("fewer_gpu_layers", "Or fewer layers on the card", "slower"), as("upgrade_version", "Update Ollama: it tells more since", "free")},
		Sources: []string{ollamaThreads + "1727"}, Solved: 1,
	},
	{
		ID: "ollama/not-recovered", Kinds: []fact.Kind{fact.OllamaDriver}, If: notRecovered,
		Cause: cause.RetainedMemory, Weight: 0.65,
		Means: "Ollama was changing models: the runner before had ended and its memory had not come back when the next one looked at the card. It is full to the last byte for that moment.",
		Cures: []cause.Cure{
			as("restart_session", "Unload, restart Ollama", "a minute"),
			as("lower_parallel", "Keep one model loaded at a time", "switching models takes longer"),
			overhead,
		},
		Sources: []string{"ollama/server/sched.go", ollamaThreads + "9562"},
	},
	{
		ID: "ollama/driver", Kinds: []fact.Kind{fact.OllamaDriver},
		Cause: cause.LeakedProcess, Weight: 0.5,
		Means: "The driver answered out of memory when Ollama only looked at the card, before any model: something holds all of it, another program or an old runner of Ollama's.",
		Not:   "A smaller model or context: nothing was loaded yet.",
		Cures: []cause.Cure{
			does("kill_stale_process", "See what holds the card", "shell", "nvidia-smi   # an `ollama` runner without a model in `ollama ps` is a leftover: restart Ollama", "free"),
			as("restart_session", "Restart Ollama", "a minute"),
		},
		Sources: []string{"ollama/discover/gpu.go"},
	},
	{
		ID: "ollama/vision", Kinds: gpuFull, Said: projects, If: when.All(byOllama, onGPU, when.Not(absurdGraph)),
		Cause: cause.ModelTooLarge, Weight: 0.65,
		Means: "It is a vision model, and its projector, or the work on an image, found no room: older versions do not count all of that when they choose the layers.",
		Cures: []cause.Cure{
			as("upgrade_version", "Update Ollama: it sizes the projector now", "a download"),
			as("fewer_gpu_layers", "Leave it room: fewer layers on the card", "slower"),
			overhead,
		},
		Sources: []string{"https://github.com/ollama/ollama/pull/16866", ollamaThreads + "16496"}, Solved: 1,
	},
	{
		ID: "ollama/requests", Kinds: refused, If: when.All(byOllama, device("kv"), manyRequests),
		Cause: cause.ContextTooLong, Weight: 0.75,
		Means:   "The weights fit; {asked} for the context did not. Ollama makes the cache for several requests at a time, so that their number multiplies `num_ctx`. Older versions chose up to 4 by themselves.",
		Cures:   []cause.Cure{as("lower_parallel", "Serve one request at a time", "others wait"), as("lower_context", "Or a shorter context", "shorter conversations"), as("quantize_kv_cache", "Or an 8-bit cache", "slight loss of quality")},
		Sources: []string{"ollama/envconfig/config.go", "ollama/docs/faq.mdx"},
	},
	{
		ID: "ollama/flash-attention", Kinds: refused, If: when.All(byOllama, device("compute"), scoresFill),
		Cause: cause.BudgetMisconfigured, Weight: 0.6,
		Means:   "Weights and cache fit; the compute buffer of {asked} did not. Flash attention is off here, and most of that buffer is the matrix of attention over the context.",
		Cures:   []cause.Cure{as("enable_flash_attention", "Turn flash attention on", "free where the card has it"), as("lower_context", "Or a shorter context", "shorter conversations")},
		Sources: []string{"ollama/docs/faq.mdx", "ollama/envconfig/config.go"},
	},
	{
		ID: "ollama/kv", Kinds: refused, If: when.All(byOllama, device("kv")),
		Cause: cause.ContextTooLong, Weight: 0.78,
		Means:   "The weights fit; the cache for the context did not: {asked}. `num_ctx` decides its size; cards of 24 GiB and more get 32k or 256k by themselves in versions of 2026.",
		Cures:   []cause.Cure{as("lower_context", "A shorter context", "shorter conversations"), as("quantize_kv_cache", "Or an 8-bit cache", "slight loss; needs flash attention"), as("fewer_gpu_layers", "Or fewer layers on the card", "slower")},
		Sources: []string{"ollama/docs/context-length.mdx", "ollama/docs/faq.mdx"},
	},
	{
		ID: "ollama/compute", Kinds: refused, If: when.All(byOllama, device("compute"), when.Not(absurdGraph)),
		Cause: cause.BudgetMisconfigured, Weight: 0.6,
		Means: "Weights and cache fit; the compute buffer, {asked}, did not. Ollama chose how many layers go to the card by its own estimate, and that was too low for this model.",
		Cures: []cause.Cure{
			as("fewer_gpu_layers", "Put fewer layers on the card", "slower"),
			as("lower_context", "Or a shorter context", "shorter conversations"),
			overhead,
		},
		Sources: []string{"ollama/envconfig/config.go", ollamaThreads + "8471"},
	},
	{
		ID: "ollama/num-gpu", Kinds: refused, If: when.All(byOllama, device("weights")), Said: []string{"layers.requested="}, Unsaid: []string{"layers.requested=-1"},
		Cause: cause.BudgetMisconfigured, Weight: 0.85,
		Means: "`num_gpu` was set by hand, so Ollama put that many layers on the card without checking, and the weights, {asked}, did not fit. Front ends set it too.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Leave num_gpu to Ollama", "text", "Take `num_gpu` out of the request or Modelfile (in a front end: set it back to its default). `ollama ps` shows what Ollama chooses.", "free"),
			as("use_lower_quant", "Or a smaller quantisation", "slight loss of quality"),
		},
		Sources: []string{"ollama/llm/llama_server.go", ollamaThreads + "9170"},
	},
	{
		ID: "ollama/weights", Kinds: refused, If: when.All(byOllama, device("weights")),
		Cause: cause.BudgetMisconfigured, Weight: 0.6,
		Means: "Ollama chose by its own estimate how much goes to the card, and the card refused the weights, {asked}. The estimate was too low, or another program took memory between the look and the load.",
		Not:   "More RAM: the card was what refused.",
		Cures: []cause.Cure{
			as("fewer_gpu_layers", "Fewer layers on the card", "slower"),
			overhead,
			as("upgrade_version", "Update Ollama: llama.cpp fits the layers now", "a download"),
		},
		Sources: []string{"ollama/envconfig/config.go", ollamaThreads + "8447", ollamaThreads + "8471"},
	},
	{
		ID: "ollama/running", Kinds: atWork, If: when.All(byOllama, onGPU, when.Not(longText)),
		Cause: cause.BudgetMisconfigured, Weight: 0.6,
		Means: "The model was loaded and answered or began to; then the card ran full while it computed. Ollama's estimate leaves little room, and a longer prompt, an image or another program used it up.",
		Not:   "More RAM: the card was what ran full.",
		Cures: []cause.Cure{
			as("fewer_gpu_layers", "Put fewer layers on the card", "slower"),
			as("lower_context", "Or a shorter context", "shorter conversations"),
			overhead,
		},
		Sources: []string{"ollama/envconfig/config.go", ollamaThreads + "9562", ollamaThreads + "8597"},
	},
}
