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
	"github.com/oomdoc/oomdoc/rules/when"
)

// Words are those of a server that keeps prompts (tools/server/server-task.cpp,
// server-context.cpp; ik_llama.cpp/examples/server).
var Words = []string{"prompt_save:", "updating prompt cache", "prompt cache is enabled", "cache state:", "cache size limit reached", "Prompt cache: cache size"}

// Kills are the ends of a process for system memory.
var Kills = []fact.Kind{fact.KernelKill, fact.OOMD, fact.ShellKilled, fact.ContainerKill}

const (
	threads = "https://github.com/ggml-org/llama.cpp/issues/"
	again   = "an earlier conversation has to be read again"
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
	out := map[string]string{"tokens": "", "state": "", "each": "", "fits": "", "beyond": "", "limit": "may grow to 8 GiB by default"}
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
	variable := ", or set `LLAMA_ARG_CACHE_RAM=0` in a container"
	if c.In("ik_llama.cpp") {
		variable = ""
	}
	return []step.Step{{Kind: "text", Text: "Add it to the command" + variable + ". `--cache-ram 1024` keeps about 1 GiB of prompts instead. `--ctx-checkpoints 4` limits other copies in RAM."}}
}

// wholeMachine: no limit of a container or service was what was full.
func wholeMachine(c *ledger.Case) bool { return c.Root(fact.KernelKill) && !ledger.Capped(c) }

// Cards are about a process that the system ended while it kept prompts.
var Cards = []cause.Card{
	Quantize,
	{
		ID: "llama.cpp/prompt-cache", Kinds: Kills, Said: []string{"prompt_save:", "updating prompt cache"}, Figures: figures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was killed: system memory ran out while it kept a prompt for later",
		Means: "llama-server keeps earlier prompts in system RAM, and it was saving one[[ of {tokens} tokens ({state})]] just before. This prompt cache {limit}[[: about {fits} such prompts]].[[ {beyond}]] `sudo journalctl -k | grep -i constraint` shows what was full: CONSTRAINT_NONE means the whole machine, CONSTRAINT_MEMCG a limit of the service or container.",
		Not:   "Fewer layers on the GPU: that needs more system memory.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Turn off the prompt cache: `--cache-ram 0`", Kind: "text", Text: "Add it to the llama-server command. In a service that is the `ExecStart=` line: `sudo systemctl edit --full NAME`, then `sudo systemctl restart NAME`. `--cache-ram 2048` limits it to 2 GiB instead, but always keeps one prompt. `--ctx-checkpoints 4` limits other copies in RAM.", Cost: again},
			{Fix: "quantize_kv_cache", Title: "Use an 8-bit KV cache", Kind: "text", Text: "`-fa on -ctk q8_0 -ctv q8_0` about halves each saved prompt.", Cost: "slight loss of quality"},
			{Fix: "add_swap", Title: "Raise the service's limit, or add swap", Kind: "text", Text: "CONSTRAINT_MEMCG: `sudo systemctl edit NAME`, and set a higher `MemoryMax=` under `[Service]`. CONSTRAINT_NONE: `sudo fallocate -l 8G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile`.", Cost: "disk space; slow once it is used"},
		},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/tools/server/server-task.cpp", threads + "20509"},
	},
	{
		ID: "llama.cpp/prompts-kept", Kinds: Kills, Said: Words, Figures: figures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was killed because system memory (RAM) ran out; it keeps earlier prompts there",
		Means: "llama-server keeps earlier prompts in system RAM to reuse them. This prompt cache {limit}, on top of weights that are not on a GPU. The log does not show how full it was at the end.",
		Not:   "Fewer layers on the GPU: that needs more system memory.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Turn off the prompt cache: `--cache-ram 0`", Steps: offSteps, Cost: again},
			{Fix: "add_swap", If: wholeMachine, Title: "Or add swap", Kind: "shell", Text: "sudo fallocate -l 8G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "8 GB of disk; slow once it is used"},
			{Fix: "raise_memory_limit", If: when.Not(wholeMachine), Title: "Or raise the limit of container or service", Kind: "text", Text: "It needs the weights that are not on a GPU, plus the cache's limit, plus 1 to 2 GB.", Cost: "only if the machine has it"},
			{Fix: "quantize_kv_cache", Title: "Use an 8-bit KV cache", Kind: "text", Text: "`-fa on -ctk q8_0 -ctv q8_0` about halves each saved prompt.", Cost: "slight loss of quality"},
		},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/tools/server/server-task.cpp", "https://github.com/ollama/ollama/issues/18264"},
	},
}
