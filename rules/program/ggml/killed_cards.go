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
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was ended by Linux: {full}",
		Means: "The kernel ended it[[ when it held {rss}]]. In RAM it keeps the weights that are not on a GPU (all at once with `--no-mmap`), the KV cache of those layers for the whole context, and llama-server since October 2025 up to 8 GiB of prompts for later (`--cache-ram`). The kernel does not say which, nor whether it was at the start.",
		Not:   "Fewer layers on the GPU: they would need more RAM.",
		Cures: []cause.Cure{
			where(ledger.Capped, cause.Cure{Fix: "raise_memory_limit", Title: "Raise the limit of the container or service", Steps: limits.Steps, Cost: "only if the machine has it"}),
			{Fix: "lower_context", Title: "Reduce what it keeps in RAM", Ways: []cause.Way{
				{For: "It ends while it loads", Text: "a smaller file, or more layers on a GPU (`-ngl`); no `--no-mmap`, no `--mlock`"},
				{For: "It ends at the first requests", Text: "half of the context that the log shows as `n_ctx` (`-c`), and `--parallel 1`"},
				{For: "It grows from chat to chat", Text: "`--cache-ram 0 --ctx-checkpoints 1`"},
			}, Cost: "free to try"},
			does("quantize_kv_cache", "Use an 8-bit KV cache", "text", "`-fa on -ctk q8_0 -ctv q8_0` halves the cache and each saved prompt.", "slight loss of quality"),
			where(when.Not(ledger.Capped), moreSwap),
		},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/tools/server/README.md", "llama.cpp/tools/server/server-task.cpp"},
	},
	{
		ID: "llama.cpp/killed-working", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"llama_init_from_file: kv self size"}, If: plain,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was killed after it had loaded the model: system memory (RAM) ran out",
		Means: "Model and KV cache were there (`kv self size`), and the work on the prompt began. Signal 9 is then mostly the system's, when RAM is full: the mapped file is read into it only as it is used. `mem required` says what this build wants for itself.",
		Not:   "Freeing graphics memory: this is about RAM.",
		Cures: []cause.Cure{
			does("close_other_apps", "Close programs that use RAM", "text", "On a Mac: Activity Monitor, Memory. On Linux: `free -h`; in a container or IDE its own limit counts.", "free"),
			does("use_smaller_model", "Use a smaller file", "text", "File, KV cache and 1 to 2 GB have to fit beside what else runs.", "lower quality"),
			as("upgrade_version", "Update llama.cpp, or the program that brings it", "old `.bin` files need a GGUF of the same model"),
		},
		Sources: []string{"llama.cpp/llama.cpp"},
	},
	{
		ID: "llama.cpp/killed-loading", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"load_tensors:", "llm_load_tensors:", "llama_model_loader:"}, If: when.All(plain, loading), Figures: killedNumbers,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was killed while it loaded the model: system memory (RAM) ran out",
		Means: "Signal 9 in the middle of a load is nearly always the kernel: RAM, or the limit of a container, was full.[[ {inram} of weights go to RAM here, and the KV cache of those layers on top.]][[ {copied}]]",
		Not:   "Fewer layers on the GPU: they would need more RAM.",
		Cures: []cause.Cure{
			where(unmapped, cause.Cure{Fix: "use_mmap", Title: "Map the file instead of copying it", Own: true, Told: "Mapped weights can be dropped from RAM and read again.", Cost: "slow if RAM is short"}),
			where(when.All(mappedWeights, maybeLong), does("lower_context", "Shorten the context: `-c 4096`", "text", "The file is mapped: the kernel can drop it from RAM and read it again. KV cache and working memory cannot be dropped, and without `-c` they are made for the model's longest context in many versions.", "shorter conversations")),
			does("use_smaller_model", "Use a smaller file", "text", "File, KV cache and 1 to 2 GB have to fit into the free RAM (`free -h`): Q4_K_M is about half of a Q8_0; else the next smaller model.", "lower quality"),
			does("fewer_gpu_layers", "With a GPU: put more layers on it", "text", "Raise `-ngl` as far as its memory goes; what lies there needs no RAM.", "free"),
			does("raise_memory_limit", "In a container: raise its limit", "text", "`docker run --memory 16g`, `mem_limit:` in compose, the VM's memory in Docker Desktop and WSL: it counts for weights, cache and working memory together.", "only if the machine has it"),
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
		out["copied"] = "Mapping is off, so all of them are needed at once."
	}
	return out
}
