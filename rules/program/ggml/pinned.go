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
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused pinned system memory for its weights, not memory of the card",
	Means: "The command puts no layers on the GPU (`-ngl`), so the model[[, {ram} with its work,]] goes to RAM, and it failed right after the line that counts that. A CUDA build of 2023 takes that buffer as pinned memory[[ ({unmapped})]]; WSL and Windows allow only a part of RAM for it, and CUDA reports that as out of memory.[[ {tmpfs}]]",
	Not:   "Fewer layers on the GPU: it has none.",
	Cures: []cause.Cure{
		{Fix: "use_mmap", Title: "Turn memory mapping (mmap) back on", If: unmapped, Told: "Without `--no-mmap` no such buffer is made:", Steps: mappedAgain, Cost: "free"},
		{Fix: "upgrade_version", Title: "Turn off pinned memory, or update", Told: "Newer builds fall back to ordinary memory by themselves (and need a GGUF file). In this one, before the start:", Kind: "env", Text: "export GGML_CUDA_NO_PINNED=1", Cost: "prompts are read a little slower"},
		{Fix: "raise_memory_limit", Title: "Under WSL: raise its memory limit", Told: "`%UserProfile%\\.wslconfig`, section `[wsl2]`: `memory=` three quarters of your RAM, then `wsl --shutdown`; it has half unless set.", Cost: "less for Windows"},
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
		out["unmapped"] = "`--no-mmap` has it copied"
	}
	if strings.HasPrefix(c.ModelName(), "/mnt/wsl/") {
		out["tmpfs"] = "/mnt/wsl lies in RAM itself: the file takes its size there a second time."
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
	return map[string]string{"garbage": "The error repeats, so this build goes on after it: what it answers since then is unusable."}
}
