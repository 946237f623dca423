// Package kept knows the prompts that llama-server keeps in system memory to use
// them again, and what ends when they fill it.
package kept

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/load"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Words are those of a server that keeps prompts (tools/server/server-task.cpp,
// server-context.cpp; ik_llama.cpp/examples/server).
var Words = []string{"prompt_save:", "updating prompt cache", "prompt cache is enabled", "cache state:", "cache size limit reached", "Prompt cache: cache size"}

// Kills are the ends of a process for system memory.
var Kills = []fact.Kind{fact.KernelKill, fact.OOMD, fact.ShellKilled, fact.ContainerKill}

const (
	threads = "https://github.com/ggml-org/llama.cpp/issues/"
	again   = "an earlier conversation is read again when it comes back"
)

// limitOf is what the command or the log sets, in bytes: 8 GiB unless set.
func limitOf(c *ledger.Case) (bytes int64, set bool) {
	if n := ledger.IntSetting(c, "cache_ram"); n > 0 && n < 1<<24 {
		return int64(n) * units.MiB, true
	}
	return 8 * units.GiB, false
}

// figures are those of the prompt that was saved last, and of the limit.
func figures(c *ledger.Case) map[string]string {
	tokens, state := load.Count(c, "prompt_tokens", load.MostTokens), int64(0)
	if x, ok := c.Fact("prompt_state"); ok && x.Size != nil {
		state = x.Size.Bytes
	}
	limit, set := limitOf(c)
	out := map[string]string{"tokens": "", "state": "", "each": "", "fits": "", "beyond": "", "limit": "may grow to 8 GiB unless set otherwise"}
	if set {
		out["limit"] = "may grow to the " + units.Amount(limit) + " of `--cache-ram`"
	}
	if tokens <= 0 || state <= 0 {
		return out
	}
	out["tokens"], out["state"], out["each"] = ledger.Thousands(tokens), units.Amount(state), units.Amount(state/tokens)
	switch n := limit / state; {
	case n == 0:
		out["beyond"] = "A single prompt is kept whole even above that limit."
	case n > 1 && n < 100:
		out["fits"] = fmt.Sprint(n)
	}
	return out
}

// offSteps turn it off; ik_llama.cpp has the option, not the variable.
func offSteps(c *ledger.Case) []step.Step {
	variable := ", or in a container the variable `LLAMA_ARG_CACHE_RAM=0`"
	if c.In("ik_llama.cpp") {
		variable = ""
	}
	return []step.Step{{Kind: "text", Text: "Add `--cache-ram 0` to the command" + variable + "; 1024 keeps about 1 GiB of prompts. `--ctx-checkpoints 4` limits other copies in RAM."}}
}

// Cards are about a process that the system ended while it kept prompts.
var Cards = []cause.Card{
	{
		ID: "llama.cpp/prompt-cache", Kinds: Kills, Said: []string{"prompt_save:", "updating prompt cache"}, Figures: figures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was killed: system memory ran out while it kept a prompt for later",
		Means: "Just before, it saved a prompt[[ of {tokens} tokens, {state} ({each} per token),]] into the server's prompt cache. That cache lies in system memory (RAM) and {limit}[[: about {fits} such prompts]].[[ {beyond}]] `sudo journalctl -k | grep -i constraint` says what was full: CONSTRAINT_NONE is the whole machine, CONSTRAINT_MEMCG a limit of the service.",
		Not:   "Fewer layers on the GPU: that needs more system memory.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Turn off the prompt cache: `--cache-ram 0`", Kind: "text", Text: "Add `--cache-ram 0` to the command of llama-server (in a service: its `ExecStart=` line, with `sudo systemctl edit --full NAME`, then `sudo systemctl restart NAME`). A limit such as `--cache-ram 2048` still keeps one prompt, however long; `--ctx-checkpoints 4` limits other copies in RAM.", Cost: again},
			{Fix: "quantize_kv_cache", Title: "Use an 8-bit KV cache", Kind: "text", Text: "`-fa on -ctk q8_0 -ctv q8_0` about halves each saved prompt.", Cost: "slight loss of quality"},
			{Fix: "add_swap", Title: "Raise the service's limit, or add swap", Kind: "text", Text: "If it was the service's limit: `sudo systemctl edit NAME`, under `[Service]` a higher `MemoryMax=`. Otherwise swap: `sudo fallocate -l 8G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile`.", Cost: "disk space; slow once it is used"},
		},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/tools/server/server-task.cpp", threads + "20509"},
	},
	{
		ID: "llama.cpp/prompts-kept", Kinds: Kills, Said: Words, Figures: figures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was ended for its system memory (RAM); it keeps earlier prompts there",
		Means: "Besides weights that are not on a GPU, llama-server keeps earlier prompts in RAM to use them again. That cache {limit}; a prompt counts with its whole KV cache, and one is always kept, however long. With prompts that change it fills within some hundred requests. The log does not show how full it was at the end.",
		Not:   "Fewer layers on the GPU: that needs more system memory.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Turn off the prompt cache: `--cache-ram 0`", Steps: offSteps, Cost: again},
			{Fix: "raise_memory_limit", Title: "Or raise the limit of container or service", Kind: "text", Text: "Count what of the weights is not on a GPU, 1 to 2 GB of work, and the cache's limit on top.", Cost: "only if the machine has it"},
			{Fix: "quantize_kv_cache", Title: "Use an 8-bit KV cache", Kind: "text", Text: "`-fa on -ctk q8_0 -ctv q8_0` about halves each saved prompt.", Cost: "slight loss of quality"},
		},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/tools/server/server-task.cpp", "https://github.com/ollama/ollama/issues/18264"},
	},
}
