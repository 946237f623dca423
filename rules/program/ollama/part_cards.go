package ollama

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

var unifiedWords = []string{"library=Metal", "recommendedMaxWorkingSetSize", "has unified memory", "uma: 1", "Jetson", "GB10"}

// killFigures are what a killed runner had taken.
func killFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"ram": amountOf(c, "ram_free"), "all": amountOf(c, "ram_total"), "card": ggml.FailingCard(c)}
	var card, host int64
	for _, b := range c.Facts.Buffers {
		switch {
		case b.Kind != "weights":
		case fact.HostMemory(b.Device):
			host += b.Size.Bytes
		default:
			card += b.Size.Bytes
		}
	}
	if card > 0 {
		out["oncard"] = units.Amount(card)
	}
	if host > 0 {
		out["inram"] = units.Amount(host)
	}
	out["holds"] = "RAM must hold the layers that are not on the GPU and their part of the context"
	if host > 0 {
		out["holds"] = "RAM must hold the layers that are not on the GPU (" + out["inram"] + " of weights) and their part of the context"
	} else if full := ledger.Sized(c, "plan_full"); full > 0 && full == ledger.Sized(c, "plan_partial") {
		out["holds"] = "The whole model was to go to the GPU, so look for another model, other programs or a container's limit"
	}
	if card > 0 && host > 0 {
		out["both"] = units.Amount(card + host)
	}
	return out
}

// pinned: memory of the system that the card's driver pins.
func pinned(c *ledger.Case) bool {
	return strings.HasSuffix(strings.ToLower(c.Failure.Memory), "_host")
}

// killer asks who sent the signal.
func killer(c *ledger.Case) []step.Step {
	if inDocker(c) {
		return []step.Step{{Kind: "shell", Text: "docker inspect -f '{{.State.OOMKilled}}' ollama; sudo dmesg -T | grep -i 'killed process' | tail -3"}}
	}
	return []step.Step{{Kind: "shell", Text: "sudo dmesg -T | grep -i 'killed process' | tail -3; free -h; ollama ps"}}
}

const signal9 = "The system killed Ollama's runner (signal 9) while it loaded the model. That usually means that RAM and swap were used up, or a container's limit was reached. "

// logOf is where the server's log lies.
func logOf(c *ledger.Case) string {
	switch {
	case inDocker(c):
		return "`docker logs ollama`"
	case c.Windows():
		return "`%LOCALAPPDATA%\\Ollama\\server.log`"
	case c.Reader.OS == "linux":
		return "`journalctl -u ollama -n 100 --no-pager`"
	case c.Reader.OS == "mac":
		return "`~/.ollama/logs/server.log`"
	}
	return "`journalctl -u ollama -n 100 --no-pager` (Linux), `~/.ollama/logs/server.log` (Mac)"
}

func logFigures(c *ledger.Case) map[string]string { return map[string]string{"log": logOf(c)} }

// partCards are about Ollama's own messages that no buffer of llama.cpp's
// stands behind.
var partCards = []cause.Card{
	{
		ID: "ollama/killed-unified", Kinds: []fact.Kind{fact.OllamaKilled}, If: when.Any(ggml.Shared, near(unifiedWords)), Figures: killFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was killed while it loaded: most likely the RAM, which the GPU shares, ran out",
		Means: signal9 + "Here the GPU[[ ({card})]] uses the same RAM, so the model, its context and all other programs share it.[[ The weights on the GPU alone take {oncard}.]]",
		Not:   "Fewer layers on the GPU: it is the same memory.",
		Cures: []cause.Cure{
			as("use_smaller_model", "Use a smaller model or quantisation", "lower quality"),
			does("close_other_apps", "See what else uses RAM", "Desktop, browser and other models all count. `ollama stop NAME` unloads a model that `ollama ps` lists.", "free", look),
			does("lower_context", "Shorten the context too", "", "shorter conversations", context),
		},
		Sources: []string{"ollama/llm/server.go", threads + "9685"},
	},
	{
		ID: "ollama/create", Kinds: []fact.Kind{fact.OllamaKilled, fact.KernelKill}, Said: []string{"quantizing F16 model", "quantizing F32 model", "quantizing BF16 model", "converting model"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was killed while it created a model: system memory (RAM) ran out",
		Means: "`ollama create` converts and quantises the weights in system RAM. Nothing is on a GPU yet. It reads the full-size model, and at 16 bit that is 2 GB per billion parameters.",
		Not:   "`num_gpu` or a shorter context: no model is running.",
		Cures: []cause.Cure{
			says("use_lower_quant", "Take a file that is quantised already", "Search the model's name with GGUF on huggingface.co, and put the Q4_K_M file into `FROM` of the Modelfile: nothing is converted then. Or `ollama run hf.co/USER/REPO:Q4_K_M`.", "a download"),
			says("add_swap", "Or add swap for it", "It needs about the size of the 16-bit model once.", "disk, and slow"),
			says("restart_session", "Or create it on a machine with more RAM", "`ollama create` there, then copy the models folder (`OLLAMA_MODELS`).", "a copy"),
		},
		Sources: []string{"ollama/server/create.go", "ollama/docs/import.md"},
	},
	{
		ID: "ollama/killed", Kinds: []fact.Kind{fact.OllamaKilled}, Unsaid: unifiedWords, Figures: killFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was killed while it loaded: most likely system memory (RAM) ran out",
		Means: signal9 + "{holds}.[[ {ram} of {all} RAM was free before.]]",
		Not:   "Fewer layers on the GPU: that moves more into RAM.",
		Cures: []cause.Cure{
			does("close_other_apps", "Confirm it, and close programs that use RAM", "A `Killed process` line with `ollama` proves it. `ollama stop NAME` unloads a model that `ollama ps` lists.", "free", killer),
			as("use_smaller_model", "Use a smaller model or quantisation", "lower quality"),
			says("raise_memory_limit", "Raise the memory limit, if there is one", "Docker: `docker update --memory 24g --memory-swap 24g ollama`, if it has less now, or `mem_limit:` in compose. Kubernetes: `resources.limits.memory`. WSL: `memory=` under `[wsl2]` in .wslconfig. Without a limit, add swap (slow).", "only if the machine has it"),
		},
		Sources: []string{"ollama/llm/server.go"},
	},
	{
		ID: "ollama/pinned", Kinds: ggml.RefusedKinds, If: when.All(byOllama, pinned),
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "did not load the model: too little system memory (RAM), not GPU memory",
		Means: "`_Host` in the log means RAM that the GPU driver pins for the layers that are not on the GPU. It cannot be swapped out, and containers and WSL can limit it.",
		Not:   "Fewer layers on the GPU: they would need more of the same RAM.",
		Cures: []cause.Cure{
			unload,
			as("use_smaller_model", "Use a smaller model", "lower quality"),
			says("raise_memory_limit", "Raise the memory limit of the container or WSL", "Docker: `docker update --memory 24g --memory-swap 24g ollama`, if it has less now. WSL: `memory=` under `[wsl2]` in .wslconfig.", "only if the machine has it"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "ollama/llm/server.go"},
	},
	{
		ID: "ollama/layout-forced", Kinds: []fact.Kind{fact.OllamaLayout}, Said: []string{"with num_gpu"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "did not load the model: `num_gpu` asks for more layers than fit on the GPU",
		Means: "`num_gpu` is set in the Modelfile, your front end's model settings or the request's options. Ollama then does not use fewer layers by itself.",
		Cures: []cause.Cure{
			says("fewer_gpu_layers", "Remove `num_gpu`", "Delete it from the Modelfile or request, or set it back to default in the front end. Ollama then chooses itself; `ollama ps` shows what.", "free"),
			does("lower_context", "Shorten the context", "", "shorter conversations", context),
			unload,
		},
		Sources: []string{"ollama/llm/server.go"},
	},
	{
		ID: "ollama/layout", Kinds: []fact.Kind{fact.OllamaLayout}, Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Fair, Headline: "could not fit the model into the free memory",
		Means: "Ollama tried to put smaller and smaller parts of the model on the GPU, and none fitted. Usually another model or program uses the GPU, or the context is too long. The lines above this one list what it tried.",
		Cures: []cause.Cure{
			either(manyRequests, does("lower_parallel", "Serve one request at a time", "The server reserves the whole context for each of {slots} requests.", "others wait", func(c *ledger.Case) []step.Step { return server(c, "OLLAMA_NUM_PARALLEL=1") })),
			does("restart_session", "Unload other models", "Run `ollama stop NAME` for each model that is listed. Then close other programs that use the GPU.", "free", look),
			does("lower_context", "Shorten the context", "", "shorter conversations", context),
			says("fewer_gpu_layers", "Remove `num_gpu` if it is set", "The Modelfile, a front end or the request may set it.", "free"),
		},
		Sources: []string{"ollama/llm/server.go"},
	},
	{
		ID: "ollama/guess", Kinds: []fact.Kind{fact.OllamaGuess}, Figures: logFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Fair, Headline: "stopped while it loaded the model, and only guesses that memory was short",
		Means: "Ollama 0.1.4 to 0.1.17 (autumn 2023) printed this for any crash. Usually the model was too large, but a wrong GPU driver, a CPU without AVX or a damaged download look the same. If it was memory, {log} says \"out of memory\" or \"killed\".",
		Cures: []cause.Cure{
			says("upgrade_version", "Update Ollama and try again", "Linux: `curl -fsSL https://ollama.com/install.sh | sh`; Mac and Windows: the installer from ollama.com. Later versions put only as many layers on the GPU as fit, and name the reason. Your models are kept.", "a download"),
			does("use_smaller_model", "If it still fails: try a small model", "If this runs, memory was the problem. A model needs the size that `ollama list` shows plus 1 to 2 GB.", "lower quality", func(*ledger.Case) []step.Step {
				return []step.Step{{Kind: "shell", Text: "ollama run llama3.2:1b"}}
			}),
			does("fewer_gpu_layers", "Keep your model, and run it on the CPU", "If this runs, the GPU was too small. Then raise `num_gpu` to 10, then 20.", "much slower", func(c *ledger.Case) []step.Step {
				return modelfile(c, "num_gpu 0", "num_ctx 2048")
			}),
		},
		Sources: []string{threads + "1727", threads + "1019"}, Solved: 1,
	},
	{
		ID: "ollama/not-recovered", Kinds: []fact.Kind{fact.OllamaDriver}, If: notRecovered,
		Cause: cause.RetainedMemory, Weight: cause.Likely, Headline: "found the GPU full while it changed models",
		Means: "Ollama unloaded one model, but its GPU memory was still not free after 5 seconds. So the GPU was full before the next model began to load.",
		Cures: []cause.Cure{
			does("restart_session", "Restart Ollama, and see what uses the GPU", "An `ollama` process in `nvidia-smi` without a model in `ollama ps` is a leftover; a restart ends it.", "a minute", func(c *ledger.Case) []step.Step {
				return append([]step.Step{{Kind: "shell", Text: "ollama ps; nvidia-smi"}}, restart(c)...)
			}),
			does("lower_parallel", "Keep one model loaded at a time", "", "switching models takes longer", steps["lower_parallel"]),
			does("lower_gpu_memory_utilization", "Make Ollama keep 1 GiB of the GPU free", "", "a few layers run on the CPU", room(1)),
		},
		Sources: []string{"ollama/server/sched.go", threads + "9562"},
	},
	{
		ID: "ollama/driver", Kinds: []fact.Kind{fact.OllamaDriver}, If: when.Not(notRecovered),
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "found the GPU full when it looked for free memory",
		Means: "The GPU driver reported \"out of memory\" (code 2) when Ollama only asked for the state of the GPU. So something already fills it: a loaded model, another program, or a leftover process of Ollama.",
		Not:   "A smaller model or context: the GPU was full before it loaded one.",
		Cures: []cause.Cure{
			does("kill_stale_process", "See what uses the GPU", "An `ollama` process in `nvidia-smi` without a model in `ollama ps` is a leftover: restart Ollama. Anything else: close it.", "free", func(*ledger.Case) []step.Step {
				return []step.Step{{Kind: "shell", Text: "ollama ps; nvidia-smi"}}
			}),
			does("restart_session", "Restart Ollama", "", "a minute", restart),
			does("lower_gpu_memory_utilization", "If it comes back: make Ollama keep 1 GiB of the GPU free", "", "a few layers run on the CPU", room(1)),
		},
		Sources: []string{"ollama/discover/gpu.go"},
	},
	{
		ID: "ollama/client", Kinds: []fact.Kind{fact.OllamaRunner}, Said: clients, Figures: logFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "could not load the model: its server ran out of memory",
		Means: "The error comes from the Ollama server, not from your Python code. Its log says which part of the model did not fit: {log}.",
		Cures: []cause.Cure{
			does("close_other_apps", "See what is loaded on the server", "`ollama stop NAME` unloads a model that is listed. An embedding model beside the chat model counts too.", "free", look),
			does("lower_context", "Shorten the context in your code", "", "shorter conversations", context), otherSize,
		},
		Sources: []string{"ollama/llm/server.go", threads + "13556"},
	},
}
