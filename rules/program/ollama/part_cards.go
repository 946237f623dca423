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
	out["holds"] = "RAM holds the layers that do not go to the GPU and their part of the context"
	if host > 0 {
		out["holds"] = "RAM holds the layers that do not go to the GPU (" + out["inram"] + " of weights) and their part of the context"
	} else if full := ledger.Sized(c, "plan_full"); full > 0 && full == ledger.Sized(c, "plan_partial") {
		out["holds"] = "By its plan the whole model goes to the GPU, so its layers are not what stays in RAM: look for another model, other programs and a container's limit"
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

const signal9 = "The runner got signal 9 while it loaded. The kernel sends that when RAM and swap are used up or a container's limit is reached; a service that was stopped by hand looks the same. "

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
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was killed while it loaded: most likely system memory (RAM) ran out, which the GPU shares",
		Means: signal9 + "Here the GPU[[ ({card})]] has no memory of its own: [[{oncard} of weights for the GPU, ]][[{inram} for the CPU, ]]the context and all programs come out of the same RAM.",
		Not:   "Fewer layers on the GPU: it is the same memory.",
		Cures: []cause.Cure{
			as("use_smaller_model", "Use a smaller model or quantisation", "lower quality"),
			does("close_other_apps", "See what else uses RAM", "Desktop, browser and other models count: `ollama stop NAME` unloads one that `ollama ps` lists. Without the desktop a Jetson has 1 to 2 GB more.", "free", look),
			does("lower_context", "Shorten the context too", "", "shorter conversations", context),
		},
		Sources: []string{"ollama/llm/server.go", threads + "9685"},
	},
	{
		ID: "ollama/killed", Kinds: []fact.Kind{fact.OllamaKilled}, Unsaid: unifiedWords, Figures: killFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was killed while it loaded: most likely system memory (RAM) ran out",
		Means: signal9 + "{holds}[[; {ram} of {all} was free before]].",
		Not:   "Fewer layers on the GPU: that moves more into RAM.",
		Cures: []cause.Cure{
			does("close_other_apps", "Confirm the kill, and close programs that use RAM", "A line with `ollama` is the proof. `ollama stop NAME` unloads a model that `ollama ps` lists.", "free", killer),
			as("use_smaller_model", "Use a smaller model or quantisation", "lower quality"),
			says("raise_memory_limit", "Raise the memory limit, if there is one", "Container, if it has less now: `docker update --memory 24g --memory-swap 24g ollama`, or `mem_limit:` in compose. Kubernetes: `resources.limits.memory`. WSL: `memory=` below `[wsl2]` in .wslconfig. Without a limit, swap lets it load, slowly.", "only if the machine has it"),
		},
		Sources: []string{"ollama/llm/server.go"},
	},
	{
		ID: "ollama/pinned", Kinds: ggml.RefusedKinds, If: when.All(byOllama, pinned),
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "did not load the model: system memory (RAM) was refused, not GPU memory",
		Means: "What was refused[[, {asked},]] is RAM that the GPU driver pins for the layers that stay off the GPU. It cannot be swapped out, and containers can limit it.",
		Not:   "Fewer layers on the GPU: they would need more of the same RAM.",
		Cures: []cause.Cure{
			unload,
			as("use_smaller_model", "Use a smaller model", "lower quality"),
			says("raise_memory_limit", "Raise the memory limit of the container or WSL", "Docker, if it has less now: `docker update --memory 24g --memory-swap 24g ollama`. WSL: `memory=` below `[wsl2]` in .wslconfig.", "only if the machine has it"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "ollama/llm/server.go"},
	},
	{
		ID: "ollama/layout-forced", Kinds: []fact.Kind{fact.OllamaLayout}, Said: []string{"with num_gpu"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "did not load the model: as many layers as `num_gpu` asks for do not fit",
		Means: "`num_gpu` is set (in a Modelfile, a front end's model settings or the request's options), and Ollama does not go below it: that many layers do not fit into the free GPU memory.",
		Cures: []cause.Cure{
			says("fewer_gpu_layers", "Remove `num_gpu`", "Take `num_gpu` out of the Modelfile or request; in a front end set it back to its default. `ollama ps` then shows what Ollama chooses.", "free"),
			does("lower_context", "Shorten the context", "", "shorter conversations", context),
			unload,
		},
		Sources: []string{"ollama/llm/server.go"},
	},
	{
		ID: "ollama/layout", Kinds: []fact.Kind{fact.OllamaLayout}, Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Fair, Headline: "found no way to place the model in the memory that it saw",
		Means: "The planner (0.11.5 to 0.24) tried smaller and smaller parts of the model on the GPU and none fitted. Another model or program holds the GPU, or the context is so long that not even the smallest part fits beside it. The lines above this one list what it tried.",
		Cures: []cause.Cure{
			either(manyRequests, does("lower_parallel", "Serve one request at a time", "The server makes room for {slots} requests at once, each with the whole context.", "others wait", func(c *ledger.Case) []step.Step { return server(c, "OLLAMA_NUM_PARALLEL=1") })),
			does("restart_session", "Unload other models", "`ollama stop NAME` for each model that it lists; then other programs on the GPU.", "free", look),
			does("lower_context", "Shorten the context", "", "shorter conversations", context),
			says("fewer_gpu_layers", "Remove `num_gpu` if it is set", "A Modelfile, front end or request may set it.", "free"),
		},
		Sources: []string{"ollama/llm/server.go"},
	},
	{
		ID: "ollama/guess", Kinds: []fact.Kind{fact.OllamaGuess}, Figures: logFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Fair, Headline: "stopped while it loaded the model, and only guesses that memory was short",
		Means: "The guess is Ollama's: versions of autumn 2023 (0.1.4 to 0.1.17) printed this for any end of the runner. Mostly model and context were larger than the free memory; a driver that does not match, a CPU without AVX or a damaged download look the same. If it was memory, {log} says \"out of memory\" or \"killed\".",
		Cures: []cause.Cure{
			says("upgrade_version", "Update Ollama and try again", "Linux: `curl -fsSL https://ollama.com/install.sh | sh`; Mac and Windows: the installer from ollama.com. Later versions count before they load, put fewer layers on the GPU by themselves, and name the reason. Models are kept.", "a download"),
			does("use_smaller_model", "If it still fails: try a small model", "If this runs, it was memory. A model needs the size that `ollama list` shows and 1 to 2 GB more.", "lower quality", func(*ledger.Case) []step.Step {
				return []step.Step{{Kind: "shell", Text: "ollama run llama3.2:1b"}}
			}),
			does("fewer_gpu_layers", "Keep your model, and run it on the CPU", "If it runs like this, the GPU was too small: raise `num_gpu` to 10, then 20.", "much slower", func(c *ledger.Case) []step.Step {
				return modelfile(c, "num_gpu 0", "num_ctx 2048")
			}),
		},
		Sources: []string{threads + "1727", threads + "1019"}, Solved: 1,
	},
	{
		ID: "ollama/not-recovered", Kinds: []fact.Kind{fact.OllamaDriver}, If: notRecovered,
		Cause: cause.RetainedMemory, Weight: cause.Likely, Headline: "found the GPU full while it changed models",
		Means: "Ollama was changing models: the memory of the previous runner had not come back after 5 seconds, and the driver answered \"out of memory\" (code 2) when the next one only queried the GPU. Nothing of that model was loaded yet.",
		Cures: []cause.Cure{
			does("restart_session", "See which process holds the GPU, and restart Ollama", "An `ollama` process in the list without a model in `ollama ps` is a leftover.", "a minute", func(c *ledger.Case) []step.Step {
				return append([]step.Step{{Kind: "shell", Text: "ollama ps; nvidia-smi"}}, restart(c)...)
			}),
			does("lower_parallel", "Keep one model loaded at a time", "", "switching models takes longer", steps["lower_parallel"]),
			does("lower_gpu_memory_utilization", "Keep 1 GiB of the GPU out of Ollama's plan", "", "a few layers run on the CPU", room(1)),
		},
		Sources: []string{"ollama/server/sched.go", threads + "9562"},
	},
	{
		ID: "ollama/driver", Kinds: []fact.Kind{fact.OllamaDriver},
		Cause: cause.LeakedProcess, Weight: cause.Fair, Headline: "found the GPU full before it loaded anything",
		Means: "The driver answered \"out of memory\" (code 2) when Ollama only queried the GPU, before any model: another program or an old runner of Ollama's holds all of it.",
		Not:   "A smaller model or context: nothing was loaded yet.",
		Cures: []cause.Cure{
			does("kill_stale_process", "See which process holds the GPU", "An `ollama` process without a model in `ollama ps` is a leftover: restart Ollama. Anything else: close it.", "free", func(*ledger.Case) []step.Step {
				return []step.Step{{Kind: "shell", Text: "ollama ps; nvidia-smi"}}
			}),
			does("restart_session", "Restart Ollama", "", "a minute", restart),
			does("lower_gpu_memory_utilization", "If it comes back under load: keep 1 GiB of the GPU free", "", "a few layers run on the CPU", room(1)),
		},
		Sources: []string{"ollama/discover/gpu.go"},
	},
	{
		ID: "ollama/client", Kinds: []fact.Kind{fact.OllamaRunner}, Said: clients, Figures: logFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Fair, Headline: "could not load the model: its server ran out of memory",
		Means: "Your Python code only passes on what the Ollama server answered: its runner ended because memory was refused. The server's log says for which part of the model: {log}.",
		Cures: []cause.Cure{
			does("close_other_apps", "See what is loaded on the server", "`ollama stop NAME` unloads what it lists; an embedding model beside the chat model counts too.", "free", look),
			does("lower_context", "Shorten the context in your code", "", "shorter conversations", context), otherSize,
		},
		Sources: []string{"ollama/llm/server.go", threads + "13556"},
	},
}
