package ggml

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/limits"
	"github.com/oomdoc/oomdoc/rules/when"
)

// victims are how the kernel's lines name llama.cpp's programs.
var victims = []string{"(llama-server)", "task=llama-server,", "(llama-cli)", "task=llama-cli,"}

// killedCards are about a process that the system ended for its RAM.
var killedCards = []cause.Card{
	{
		ID: "llama.cpp/killed", Kinds: []fact.Kind{fact.KernelKill, fact.OOMD}, Said: victims, Figures: killedNumbers,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was killed by Linux: {full}",
		Means: "RAM holds the weights and the KV cache of all layers that are not on a GPU. Since October 2025 llama-server also keeps up to 8 GiB of earlier prompts there. The kernel's lines do not say what filled it.",
		Not:   "Fewer layers on the GPU: they would need more RAM.",
		Cures: []cause.Cure{
			where(ledger.Capped, cause.Cure{Fix: "raise_memory_limit", Title: "Raise the limit of the container or service", Steps: limits.Steps, Cost: "only if the machine has it"}),
			{Fix: "lower_context", Title: "Use less RAM: pick the case that fits", Ways: []cause.Way{
				{For: "Killed while loading", Text: "remove `--no-mmap` and `--mlock`; more layers on a GPU (`-ngl`), or a smaller model file"},
				{For: "Killed at the first requests", Text: "half the context (`-c`; the log shows it as `n_ctx`) and `--parallel 1`"},
				{For: "Grows from chat to chat", Text: "`--cache-ram 0 --ctx-checkpoints 1`"},
			}, Cost: "free to try"},
			does("quantize_kv_cache", "Use an 8-bit KV cache", "text", "`-fa on -ctk q8_0 -ctv q8_0` about halves the cache and each saved prompt.", "slight loss of quality"),
			where(when.Not(ledger.Capped), moreSwap),
		},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/tools/server/README.md", "llama.cpp/tools/server/server-task.cpp"},
	},
	{
		ID: "llama.cpp/killed-working", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"llama_init_from_file: kv self size"}, If: plain,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was killed after it had loaded the model: system memory (RAM) ran out",
		Means: "The model was loaded, and the work on the prompt began. Only then is the model file really read into RAM, so that is when it fills up. A bare `killed` is nearly always the system ending a program because RAM is full. The line `mem required` says how much it needs.",
		Not:   "Freeing GPU memory: it was killed for system RAM.",
		Cures: []cause.Cure{
			does("close_other_apps", "Close programs that use RAM", "text", "Mac: look at Activity Monitor, Memory. Linux: `free -h`. In a container its own memory limit counts.", "free"),
			does("use_smaller_model", "Use a smaller model or quantisation", "text", "The file plus 1 to 2 GB must fit into free RAM: a 7B model at Q4 needs about 6 GB, 3B about 3 GB.", "lower quality"),
			as("upgrade_version", "Update llama.cpp, or the program that brings it", "old `.bin` files need a GGUF of the same model"),
		},
		Sources: []string{"llama.cpp/llama.cpp"},
	},
	{
		ID: "llama.cpp/killed-loading", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"load_tensors:", "llm_load_tensors:", "llama_model_loader:"}, If: when.All(plain, loading), Figures: killedNumbers,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was killed while it loaded the model: system memory (RAM) ran out",
		Means: "A program that is killed while it loads a model has nearly always filled the RAM, or its container's limit.[[ {inram} of weights go to RAM here, plus the KV cache of those layers.]][[ {copied}]]",
		Not:   "Fewer layers on the GPU: they would need more RAM.",
		Cures: []cause.Cure{
			where(unmapped, cause.Cure{Fix: "use_mmap", Title: "Turn memory mapping (mmap) back on", Own: true, Told: "Linux can then drop weights from RAM and read them again.", Cost: "slow if RAM is short"}),
			where(when.All(mappedWeights, maybeLong), does("lower_context", "Shorten the context: `-c 4096`", "text", "The weights are mapped from the file, so Linux can drop them. The KV cache cannot be dropped, and without `-c` many versions make it for the model's longest context.", "shorter conversations")),
			does("use_smaller_model", "Use a smaller file", "text", "File plus KV cache plus 1 to 2 GB must fit into free RAM (`free -h`). Q4_K_M is about half of Q8_0; otherwise take the next smaller model.", "lower quality"),
			does("fewer_gpu_layers", "With a GPU: put more layers on it", "text", "Raise `-ngl` until the GPU is nearly full. What is there needs no RAM.", "free"),
			does("raise_memory_limit", "In a container: raise its limit", "text", "`docker run --memory 16g`, or `mem_limit:` in compose. In Docker Desktop and WSL raise the VM's memory too.", "only if the machine has it"),
			where(when.Not(when.All(mappedWeights, maybeLong)), as("lower_context", "Shorten the context", "shorter conversations")),
			moreSwap,
		},
		Sources: []string{"llama.cpp/src/llama-model-loader.cpp", "llama.cpp/src/llama-mmap.cpp", "llama.cpp/common/arg.cpp"},
	},
}

// mappedWeights: the weights in RAM are pages of the mapped file.
func mappedWeights(c *ledger.Case) bool {
	return !unmapped(c) && slices.ContainsFunc(c.Facts.Buffers, func(b fact.Buffer) bool {
		return b.Kind == "weights" && strings.HasSuffix(b.Device, "_Mapped")
	})
}

// maybeLong: the context is not known to be as short as builds that name mapped
// buffers have it unless set.
func maybeLong(c *ledger.Case) bool { return contextOf(c) == 0 || contextOf(c) > 4096 }

// killedNumbers say what a process that was killed held or was to hold.
func killedNumbers(c *ledger.Case) map[string]string {
	out := map[string]string{"full": "the machine's RAM was used up", "rss": "", "inram": "", "copied": ""}
	if ledger.Capped(c) {
		out["full"] = "a memory limit was reached"
	}
	if x := c.F().KilledRSS; x != nil {
		out["rss"] = units.Amount(x.Bytes)
	}
	var host int64
	for _, b := range c.Facts.Buffers {
		if b.Kind == "weights" && fact.HostMemory(b.Device) {
			host += b.Size.Bytes
		}
	}
	if host > 0 {
		out["inram"] = units.Amount(host)
	}
	if unmapped(c) {
		out["copied"] = "Memory mapping is off, so all of them must fit at once."
	}
	return out
}
