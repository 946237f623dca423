package ggml

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/command"
	"github.com/oomdoc/oomdoc/rules/program/ggml/dialect"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// pinnedCard is about weights in RAM that a CUDA build takes as pinned memory.
var pinnedCard = cause.Card{
	ID: "llama.cpp/pinned", Kinds: atWork, If: pinnedWeights, Figures: pinnedFigures,
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not get pinned system memory (RAM) for its weights; the GPU is not full",
	Means: "The command sets no `-ngl`, so the model[[ ({ram} with its working memory)]] goes to RAM. CUDA builds of 2023 ask for that RAM as pinned memory[[ ({unmapped})]]. WSL and Windows allow only part of the RAM to be pinned, and CUDA reports the refusal as out of memory.[[ {tmpfs}]]",
	Not:   "Fewer layers on the GPU: there are none on it.",
	Cures: []cause.Cure{
		{Fix: "use_mmap", Title: "Turn memory mapping (mmap) back on", If: unmapped, Told: "Without `--no-mmap` it needs no pinned memory:", Steps: mappedAgain, Cost: "free"},
		{Fix: "upgrade_version", Title: "Turn off pinned memory, or update", Told: "Newer builds fall back to ordinary RAM by themselves, but need a GGUF file. With this build, set this before the start:", Kind: "env", Text: "export GGML_CUDA_NO_PINNED=1", Cost: "prompts are read a little slower"},
		{Fix: "raise_memory_limit", Title: "Under WSL: raise its memory limit", Told: "WSL gets half of the RAM unless told otherwise. In `%UserProfile%\\.wslconfig`, under `[wsl2]`, set `memory=` to three quarters of your RAM, such as `memory=24GB`. Then run `wsl --shutdown`.", Cost: "less for Windows"},
	},
	Sources: []string{"llama.cpp/ggml-cuda.cu", llamaThreads + "1230"}, Solved: 1,
}

// pinnedWeights: a command without layers for the card failed right behind the
// line that says what the weights take of RAM (builds of 2023).
func pinnedWeights(c *ledger.Case) bool {
	ram, ok := c.Fact("weights")
	layers, set := c.Setting("n_gpu_layers")
	return ok && c.Signal("llama_command") != nil && strings.Contains(ram.Text, "mem required") && c.Failure.Line-ram.Line <= 3 &&
		(!set || layers.Value == "0") && !when.Fact("gpu_layers")(c)
}

func pinnedFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"ram": units.Amount(ledger.Sized(c, "weights")), "unmapped": "", "tmpfs": ""}
	if unmapped(c) {
		out["unmapped"] = "because of `--no-mmap`"
	}
	if strings.HasPrefix(c.ModelName(), "/mnt/wsl/") {
		out["tmpfs"] = "The file also lies on /mnt/wsl, which is RAM itself, so it takes its size twice."
	}
	return out
}

// mappedAgain is the reader's own command without --no-mmap.
func mappedAgain(c *ledger.Case) []step.Step {
	typed, ok := command.Edited(c, "")
	if !ok {
		return nil
	}
	return []step.Step{{Kind: "shell", Text: strings.Replace(typed, " --no-mmap", "", 1)}}
}

// stops are what a build prints that ends at a Metal command that failed, as
// ggml_metal_graph_compute did until 2024.
var stops = []string{"GGML_ASSERT", "SIGABRT", "Abort trap", "ggml_abort"}

// metalRepeats: builds of 2024 went on after a Metal command that failed. Each
// command buffer of one graph prints the error, so that only several graphs tell.
func metalRepeats(c *ledger.Case) map[string]string {
	if len(c.Facts.Failures) < 3 || dialect.Said(c, stops) {
		return map[string]string{"garbage": ""}
	}
	return map[string]string{"garbage": "The error repeats because this build goes on after it: what it answers since then is unusable."}
}
