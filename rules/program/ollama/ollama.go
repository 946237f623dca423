// Package ollama knows Ollama's messages and what to do about them: its settings,
// where they go on each system, and what its server's log says of memory.
package ollama

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/program/ggml/books"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Ollama decides itself how many layers go on the card, from estimates, and
// checks system memory before it loads. What its runner prints is judged by
// [ggml.LlamaCpp] too.
var Ollama = program.Program{
	Name: "ollama", Shown: "Ollama", Rank: 86,
	Commands: []string{"ollama"},
	Units:    []string{"ollama"},
	Work:     "text-inference", Edits: "flags", Language: "go",
	Proofs: []string{
		"source=server.go", "source=llama_server.go", "source=sched.go", "source=runner.go", "source=ggml.go", "source=routes.go", "source=gpu.go", "source=device.go",
		"llama runner process", "llama runner exited", "failed to get device context 2", "llama-server reported out-of-memory", "runtime OOM detected; expiring loaded models",
		"llama-server process has terminated", "an unknown error was encountered while running the model", "gpu VRAM usage didn't recover",
		"memory.required.", "layers.offload=", "KvCacheType:", "/ollama/llm/", "/llm/llama.cpp/gguf/", "/ollama/ollama/", "/ollama/ml/", "/jmorganca/ollama", "ml/backend/ggml/ggml/src",
		"registry.ollama.ai", ".ollama/models/", "blobs/sha256-", "ollama._types.", "Ollama call failed", "tcp 127.0.0.1:11434->",
		"(ollama)", "task=ollama,", "(ollama_llama_se)", "(ollama_llama_server)",
	},
	Clues:    clues,
	Remedies: remedies,
	Effects:  map[string]func(*ledger.Case) *effect.Effect{"add_swap": roomInSwap, "raise_memory_limit": roomInLimit},
	Checks: map[string]string{
		"fewer_gpu_layers": "`ollama ps` shows a part on the CPU (\"30%/70% CPU/GPU\") and a long prompt runs.",
		"lower_context":    "`ollama ps` shows the new CONTEXT (0.10 and later) and a smaller SIZE.",
	},
	Steps:  steps,
	Cards:  slices.Concat(keptCards, systemCards, partCards, hostCards, loadCards, runCards),
	Titles: map[string]string{"upgrade_version": "Update Ollama", "lower_ubatch": "Lower the prompt batch: `num_batch`", "fewer_gpu_layers": "Put fewer layers on the GPU"},
	Costs:  map[string]string{"upgrade_version": "A download."},
	Sources: program.Sources{
		"ollama/cmd/cmd.go":                                        "--version",
		"ollama/envconfig/config.go":                               "OLLAMA_FLASH_ATTENTION OLLAMA_KV_CACHE_TYPE OLLAMA_MAX_LOADED_MODELS OLLAMA_NUM_PARALLEL OLLAMA_SCHED_SPREAD OLLAMA_GPU_OVERHEAD OLLAMA_CONTEXT_LENGTH LLAMA_ARG_FIT_TARGET",
		"llama.cpp/common/arg.cpp":                                 "LLAMA_ARG_CACHE_RAM",
		"docker/cli/docs/reference/commandline/container_stats.md": "--no-stream",
		"rocm_smi_lib/python_smi_tools/rocm_smi.py":                "--showmeminfo",
	},
}

const threads = "https://github.com/ollama/ollama/issues/"

var steps = map[string]func(*ledger.Case) []step.Step{
	"fewer_gpu_layers": layers,
	"lower_context":    context,
	"lower_ubatch":     batch,
	"lower_batch_size": batch,
	"quantize_kv_cache": func(c *ledger.Case) []step.Step {
		return server(c, "OLLAMA_FLASH_ATTENTION=1", "OLLAMA_KV_CACHE_TYPE=q8_0")
	},
	"enable_flash_attention": func(c *ledger.Case) []step.Step { return server(c, "OLLAMA_FLASH_ATTENTION=1") },
	"lower_parallel": func(c *ledger.Case) []step.Step {
		return server(c, "OLLAMA_NUM_PARALLEL=1", "OLLAMA_MAX_LOADED_MODELS=1")
	},
	"balance_split":                func(c *ledger.Case) []step.Step { return server(c, "OLLAMA_SCHED_SPREAD=1") },
	"lower_gpu_memory_utilization": room(1),
	"restart_session":              restart,
	"upgrade_version": func(c *ledger.Case) []step.Step {
		switch {
		case inDocker(c):
			image := map[bool]string{true: "ollama/ollama:rocm", false: "ollama/ollama"}[c.Backend == "rocm"]
			return []step.Step{{Kind: "shell", Text: "docker pull " + image + "   # then start the container again; models stay in its volume"}}
		case c.Windows() || c.Reader.OS == "mac":
			return []step.Step{told("Run the installer from ollama.com. Your models are kept.")}
		case c.Reader.OS == "linux":
			return []step.Step{{Kind: "shell", Text: "curl -fsSL https://ollama.com/install.sh | sh   # models are kept"}}
		}
		return []step.Step{{Kind: "shell", Text: "curl -fsSL https://ollama.com/install.sh | sh   # Linux; elsewhere the installer from ollama.com"}}
	},
	"use_smaller_model": smaller,
	"use_lower_quant":   lowerTag,
	"use_mmap":          step.Paste("text", "Let the file be mapped: `\"options\": {\"use_mmap\": true}` in the API, and no `PARAMETER use_mmap false` in the Modelfile."),
	"raise_memory_limit": func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "text", Text: fmt.Sprintf("In a container: raise its limit (`docker run -m %dg`, `mem_limit:` in compose, Docker Desktop > Settings > Resources > Memory).", limitGiB(c))}}
	},
	"close_other_apps": func(c *ledger.Case) []step.Step {
		return lookThen(c, "A model stays loaded for 5 minutes after its last use, embedding models too. `ollama stop NAME` (the name that `ollama ps` shows) unloads it at once. Then close browsers and other AI programs.")
	},
}

// manyBits ends the tag of a file of more than 4 bits.
var manyBits = regexp.MustCompile(`-(?:q[568]_[0-9a-zA-Z_]+|q4_[01]|fp16|f16|bf16)$`)

// tagOf4 is the same model at 4 bit, "" where the log's tag does not say that it is
// larger. The library has the formats of a size beside each other.
func tagOf4(c *ledger.Case) string {
	name := named(c)
	if name == "MODELNAME" || !strings.Contains(name, ":") || !manyBits.MatchString(name) {
		return ""
	}
	return manyBits.ReplaceAllString(name, "-q4_K_M")
}

func hasTagOf4(c *ledger.Case) bool { return tagOf4(c) != "" }

func lowerTag(c *ledger.Case) []step.Step {
	if tag := tagOf4(c); tag != "" {
		return []step.Step{{Kind: "shell", Text: "ollama run " + quote.Shell(tag)}}
	}
	return []step.Step{told("Choose a smaller tag of the model on ollama.com/library, such as `...-q4_K_M`, and `ollama run` it. The plain tags usually are that already.")}
}

func restart(c *ledger.Case) []step.Step {
	switch {
	case inDocker(c):
		return []step.Step{{Kind: "shell", Text: "docker restart ollama"}}
	case c.Windows() || c.Reader.OS == "mac":
		return []step.Step{told("Quit Ollama in the tray or menu bar and start it again.")}
	}
	return []step.Step{{Kind: "shell", Text: "sudo systemctl restart ollama"}}
}

func batch(c *ledger.Case) []step.Step {
	return modelfile(c, fmt.Sprintf("num_batch %d", ggml.BatchToTry(c)))
}

// size is a current model of Ollama's library, in 4 bit as its plain tag is.
type size struct {
	tag    string
	params int64 // in thousands of a billion
	bytes  int64
}

// sizes are from large to small, the usual ones of one family.
var sizes = []size{{"qwen3:235b", 235, 142e9}, {"gpt-oss:120b", 120, 65e9}, {"llama3.3:70b", 70, 43e9}, {"qwen3:32b", 32, 20e9}, {"qwen3:14b", 14, 93e8}, {"qwen3:8b", 8, 52e8}, {"qwen3:4b", 4, 26e8}, {"qwen3:1.7b", 2, 14e8}}

// fitting is the largest of them that leaves a tenth and a GiB of so much for
// context and work, and is smaller than the present model.
func fitting(c *ledger.Case, have int64) (size, bool) {
	now := ledger.Named(c).Parameters
	for _, s := range sizes {
		if now == 0 && s.params > 70 { // nothing says that the reader runs anything as large
			continue
		}
		if s.bytes*11/10+units.GiB <= have && (now == 0 || s.params*1e9 < now*9/10) {
			return s, true
		}
	}
	return size{}, false
}

// smaller names a model that fits where the log says how much there is.
func smaller(c *ledger.Case) []step.Step {
	have := ledger.SizeOf(c.F().SystemAvailable)
	if have == 0 {
		have = cardBytes(c)
	}
	if s, ok := fitting(c, have); ok {
		return []step.Step{told("About %dB at 4 bit fits into %s with a short context, for example:", s.params, units.Amount(have)), {Kind: "shell", Text: "ollama run " + s.tag}}
	}
	if family, _, _ := strings.Cut(named(c), ":"); family != "MODELNAME" && !strings.Contains(family, "/") {
		return []step.Step{told("See ollama.com/library/%s/tags for smaller sizes. A model needs its file's size plus 1 to 2 GB.", family)}
	}
	return []step.Step{told("Choose a smaller size on ollama.com/library, such as a tag with `:4b` or `:8b`. A model needs its file's size plus 1 to 2 GB; `ollama list` shows the sizes of yours.")}
}

// cardBytes is what the failing card has in all, 0 where neither log nor
// catalogue says it.
func cardBytes(c *ledger.Case) int64 {
	if c.Total.Has() {
		return c.Total.Bytes
	}
	if card, ok := fit.Card(ggml.FailingCard(c)); ok && !books.SharesMemory(ggml.FailingCard(c)) {
		return card.TotalBytes
	}
	return 0
}

// amountOf is a fact of the log that is a size.
func amountOf(c *ledger.Case, name string) string {
	if x, ok := c.Fact(name); ok && x.Size != nil && x.Size.Bytes > 0 {
		return units.Amount(x.Size.Bytes)
	}
	return ""
}

// as is a cure as the program spells it, with the value computed.
func as(fix, title, cost string) cause.Cure { return cause.Cure{Fix: fix, Title: title, Cost: cost} }

// does is a cure with words before the program's own step.
func does(fix, title, words, cost string, steps func(*ledger.Case) []step.Step) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Told: words, Steps: steps, Cost: cost}
}

// says is a cure in words, before which nothing is pasted.
func says(fix, title, words, cost string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Told: words, Cost: cost}
}

// either is a cure where a condition holds.
func either(holds func(*ledger.Case) bool, cure cause.Cure) cause.Cure {
	cure.If = holds
	return cure
}
