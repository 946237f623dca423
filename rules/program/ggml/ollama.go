package ggml

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Ollama is what is peculiar to Ollama: it decides itself how many
// layers go on the card, from estimates, and checks system memory before it
// loads. What its runner prints is judged in llamacpp.go.
var Ollama = program.Program{
	Name: "ollama", Shown: "Ollama", Rank: 86,
	Proofs: []string{
		"source=server.go", "source=sched.go", "source=runner.go", "source=ggml.go", "source=routes.go", "source=gpu.go", "source=device.go",
		"llama runner process", "llama runner exited", "failed to get device context 2", "llama-server reported out-of-memory",
		"llama-server process has terminated", "an unknown error was encountered while running the model", "gpu VRAM usage didn't recover",
		"memory.required.", "KvSize:", "/ollama/llm/", "/ollama/ollama/", "/ollama/ml/", "/jmorganca/ollama", "ml/backend/ggml/ggml/src",
		"registry.ollama.ai", ".ollama/models/", "blobs/sha256-", "ollama._types.", "Ollama call failed",
	},
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {plannedTooMuch},
		cause.ModelTooLarge:       {ollamaTooLarge},
		cause.HostMemory:          {systemCheck, runnerKilled, cause.Said(0.3, "System memory may be what was short.", fact.OllamaGuess)},
		cause.RetainedMemory:      {contextRefused},
		cause.LeakedProcess:       {cause.Said(0.38, "Something holds the whole card.", fact.OllamaDriver)},
		cause.Unknown:             {cause.Said(0.25, "The text is Ollama's guess for any end of its runner.", fact.OllamaGuess)},
	},
	Remedies: ollamaRemedies,
	Steps:    ollamaSteps,
	Effects:  map[string]func(*ledger.Case) *effect.Effect{"add_swap": ollamaSwap, "raise_memory_limit": ollamaLimit, "use_lower_quant": ollamaQuant},
	Checks: map[string]string{
		"fewer_gpu_layers": "`ollama ps` shows a part on the CPU (\"30%/70% CPU/GPU\") and a long prompt runs.",
		"lower_context":    "`ollama ps` shows the new CONTEXT (0.10 and later) and a smaller SIZE.",
	},
	Useless: map[string]func(*ledger.Case) string{
		"lower_ubatch": func(c *ledger.Case) string {
			if c.Root(fact.GGMLAlloc) && c.Failure.Stage == "weights" {
				return "The weights did not load; the batch is not allocated yet at that point."
			}
			return ""
		},
	},
}

// plannedTooMuch: Ollama counted layers by its own estimate, and the runner's
// real buffers went over it.
func plannedTooMuch(c *ledger.Case) cause.Finding {
	if !c.In("ollama") || ledger.InHost(c) {
		return cause.Nothing()
	}
	why := "Ollama decided itself how much goes on the card; what the runner then needed was more than its estimate."
	switch {
	case c.Root(fact.OllamaLayout):
		return cause.Seen(0.5, "Ollama's planner found no layout that fits, with the layers or the memory that it was told to use.", c.Failure.Line)
	case c.Root(fact.GGMLRuntime):
		return cause.Seen(0.47, why+" The reserve it left was used up while tokens were computed.", c.Failure.Line)
	case ledger.GgmlRefused(c, "weights") && ledger.Requested(c) > 0 && !c.Root(fact.GGMLLimit):
		return cause.Seen(0.5, why, c.Failure.Line)
	case ledger.GgmlRefused(c, "weights") && c.Backend != "":
		return cause.Seen(0.4, why, c.Failure.Line)
	case ledger.GgmlRefused(c, "compute") && !c.Root(fact.GGMLLimit) && !absurdGraph(c):
		return cause.Seen(0.47, why, c.Failure.Line)
	case ledger.GgmlRefused(c, "") && c.Backend != "vulkan":
		return cause.Seen(0.47, why, c.Failure.Line)
	}
	return cause.Nothing()
}

func ollamaTooLarge(c *ledger.Case) cause.Finding {
	switch {
	case c.Root(fact.OllamaGuess):
		return cause.Seen(0.45, "The runner ended while it loaded, and a model that is too large is the usual reason.", c.Failure.Line)
	case c.Root(fact.OllamaLayout):
		return cause.Seen(0.4, "Not even a part of the model fits beside what is on the card.", c.Failure.Line)
	case c.Root(fact.OllamaKilled):
		return cause.Seen(0.25, "The model is larger than the memory that is left.", c.Failure.Line)
	case c.Root(fact.OllamaSystem) && tooLittle(c):
		return cause.Seen(0.3, "Far more is needed than there is.", c.Failure.Line)
	}
	return cause.Nothing()
}

// tooLittle: more than closing programs can give.
func tooLittle(c *ledger.Case) bool {
	f := c.F()
	return f.SystemRequired != nil && f.SystemAvailable != nil && f.SystemRequired.Bytes*10 > f.SystemAvailable.Bytes*13
}

// hopeless: three times what there is, which no program to close and no page
// file makes up for.
func hopeless(c *ledger.Case) bool {
	f := c.F()
	return f.SystemRequired != nil && f.SystemAvailable != nil && f.SystemRequired.Bytes > 3*f.SystemAvailable.Bytes
}

// slightly: so little is missing that the smallest saving is enough.
func slightly(c *ledger.Case) bool {
	f := c.F()
	return f.SystemRequired != nil && f.SystemAvailable != nil && f.SystemRequired.Bytes-f.SystemAvailable.Bytes <= units.GiB*6/10
}

func systemCheck(c *ledger.Case) cause.Finding {
	f := c.F()
	if !c.Root(fact.OllamaSystem) {
		return cause.Nothing()
	}
	why := "Ollama compares the part of the model that is not planned for a card with free RAM and free swap, before it loads; that is not enough."
	if f.SystemRequired != nil && f.SystemAvailable != nil {
		short := max(f.SystemRequired.Bytes-f.SystemAvailable.Bytes, 0)
		why = fmt.Sprintf("%s of RAM and swap are needed for the part that is not planned for a card, and %s are free: %s short.", f.SystemRequired.Text, f.SystemAvailable.Text, units.Format(short))
		if short < units.GiB/10 {
			why = fmt.Sprintf("%s of RAM and swap are needed and %s are free, both rounded: less than 0.1 GiB is missing.", f.SystemRequired.Text, f.SystemAvailable.Text)
		}
	}
	return cause.Seen(0.93, why, c.Failure.Line)
}

func runnerKilled(c *ledger.Case) cause.Finding {
	if !c.Root(fact.OllamaKilled) {
		return cause.Nothing()
	}
	why := "The runner got signal 9 while it loaded: as a rule the kernel's out-of-memory killer."
	if name := sharedMemoryCard(c); name != "" {
		why += " The graphics (" + name + ") share the system's memory."
	}
	return cause.Seen(0.75, why, c.Failure.Line)
}

// contextRefused: not even a CUDA context could be made.
func contextRefused(c *ledger.Case) cause.Finding {
	if !c.Root(fact.OllamaDriver) {
		return cause.Nothing()
	}
	why := "The driver answered 2 (out of memory) when Ollama only looked at the card: it is full to the brim."
	if s := c.Signal("vram_not_recovered"); s != nil {
		return cause.Seen(0.55, why+" The runner before was still being torn down and its memory had not come back.", c.Failure.Line, s.Line)
	}
	return cause.Seen(0.4, why, c.Failure.Line)
}

var ollamaRemedies = map[string][]cause.Remedy{
	cause.BudgetMisconfigured: {
		{Fix: "fewer_gpu_layers", Fit: 1},
		{Fix: "lower_context", Fit: 0.85, If: when.Not(stage("weights"))},
		{Fix: "upgrade_version", Fit: 0.8},
		{Fix: "balance_split", Fit: 0.6, If: when.All(severalDevices, stage("weights"))},
	},
	cause.ModelTooLarge: {
		{Fix: "fewer_gpu_layers", Fit: 1, If: when.Not(when.Root(fact.OllamaGuess))},
		{Fix: "use_smaller_model", Fit: 1},
		{Fix: "fewer_gpu_layers", Fit: 0.9, If: when.Root(fact.OllamaGuess)},
		{Fix: "use_lower_quant", Fit: 0.9},
		{Fix: "close_other_apps", Fit: 0.75},
		{Fix: "upgrade_version", Fit: 0.6},
	},
	cause.HostMemory: {
		{Fix: "lower_context", Fit: 1.02, If: when.All(when.Root(fact.OllamaSystem), slightly)},
		{Fix: "use_smaller_model", Fit: 1.02, If: tooLittle},
		{Fix: "use_lower_quant", Fit: 0.95, If: hopeless},
		{Fix: "close_other_apps", Fit: 1, If: when.Not(hopeless)},
		{Fix: "raise_pagefile", Fit: 0.97, If: reader.OnWindows},
		{Fix: "use_smaller_model", Fit: 0.85, If: when.Not(tooLittle)},
		{Fix: "add_swap", Fit: 0.93, If: when.Not(reader.OnWindows)},
		{Fix: "raise_memory_limit", Fit: 0.85},
		{Fix: "use_mmap", Fit: 0.85, If: stage("weights")},
		{Fix: "lower_context", Fit: 0.8, If: when.All(when.Root(fact.OllamaSystem), when.Not(slightly))},
	},
	cause.RetainedMemory: {
		{Fix: "restart_session", Fit: 1},
		{Fix: "lower_parallel", Fit: 0.85},
		{Fix: "kill_stale_process", Fit: 0.8},
	},
	cause.LeakedProcess: {
		{Fix: "kill_stale_process", Fit: 1},
		{Fix: "restart_session", Fit: 0.9},
		{Fix: "lower_parallel", Fit: 0.6},
	},
}

var ollamaSteps = map[string]func(*ledger.Case) []step.Step{
	"fewer_gpu_layers": func(c *ledger.Case) []step.Step { return ollamaOption(c, "num_gpu", layersToKeep(c)) },
	"lower_context": func(c *ledger.Case) []step.Step {
		return ollamaOption(c, "num_ctx", max(contextToTry(c)/slots(c)/256*256, 512))
	},
	"lower_ubatch":     func(c *ledger.Case) []step.Step { return ollamaOption(c, "num_batch", batchToTry(c)) },
	"lower_batch_size": func(c *ledger.Case) []step.Step { return ollamaOption(c, "num_batch", batchToTry(c)) },
	"quantize_kv_cache": func(*ledger.Case) []step.Step {
		return ollamaServer("OLLAMA_FLASH_ATTENTION=1", "OLLAMA_KV_CACHE_TYPE=q8_0")
	},
	"enable_flash_attention": func(*ledger.Case) []step.Step { return ollamaServer("OLLAMA_FLASH_ATTENTION=1") },
	"lower_parallel": func(*ledger.Case) []step.Step {
		return ollamaServer("OLLAMA_NUM_PARALLEL=1", "OLLAMA_MAX_LOADED_MODELS=1")
	},
	"balance_split": func(*ledger.Case) []step.Step { return ollamaServer("OLLAMA_SCHED_SPREAD=1") },
	"restart_session": func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "shell", Text: "ollama ps"}, {Kind: "shell", Text: "ollama stop " + quote.Shell(ollamaModel(c))}, {Kind: "shell", Text: "sudo systemctl restart ollama"}}
	},
	"upgrade_version": func(*ledger.Case) []step.Step {
		return []step.Step{{Kind: "shell", Text: "curl -fsSL https://ollama.com/install.sh | sh   # Linux; elsewhere the installer from ollama.com"}, {Kind: "shell", Text: "ollama --version"}}
	},
	"use_smaller_model": func(*ledger.Case) []step.Step {
		return []step.Step{{Kind: "text", Text: "Choose a smaller size of the family on ollama.com/library (a tag like `:3b` or `:8b`); `ollama list` shows the sizes of what you have."}}
	},
	"use_lower_quant": func(*ledger.Case) []step.Step {
		return []step.Step{{Kind: "text", Text: "Choose a 4-bit tag of the model on ollama.com/library (`...-q4_K_M`; the plain tags usually are that), and `ollama run` it."}}
	},
	"use_mmap": func(*ledger.Case) []step.Step {
		return []step.Step{{Kind: "text", Text: "Let the file be mapped: `\"options\": {\"use_mmap\": true}` in the API, and no `PARAMETER use_mmap false` in the Modelfile."}}
	},
	"raise_memory_limit": func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "text", Text: fmt.Sprintf("In a container: raise its limit (`docker run -m %dg`, `mem_limit:` in compose, Docker Desktop > Settings > Resources > Memory).", ollamaGiB(c))}}
	},
	"close_other_apps": func(*ledger.Case) []step.Step {
		return []step.Step{{Kind: "shell", Text: "ollama ps   # another model may still be loaded: ollama stop NAME"}, {Kind: "text", Text: "Close browsers, games and other AI programs, then try again."}}
	},
}

// ollamaOption spells an option for the three places that take it. A flag of
// `ollama run` for any of them never existed.
func ollamaOption(c *ledger.Case, name string, value int64) []step.Step {
	model := ollamaModel(c)
	return []step.Step{
		{Kind: "text", Text: fmt.Sprintf("In `ollama run %s`: `/set parameter %s %d`", quote.Printable(model), name, value)},
		{Kind: "modelfile", Text: fmt.Sprintf("FROM %s\nPARAMETER %s %d", quote.Printable(model), name, value)},
		{Kind: "shell", Text: fmt.Sprintf(`curl http://localhost:11434/api/generate -d %s`, quote.Shell(fmt.Sprintf(`{"model": %q, "prompt": "hello", "options": {%q: %d}}`, quote.Printable(model), name, value)))},
	}
}

// slots is how many requests share the context that the log states: the
// runner's --ctx-size is num_ctx times that.
func slots(c *ledger.Case) int64 {
	if s, ok := c.Setting("parallel"); ok {
		if n, ok := ledger.Whole(s.Value); ok && n > 0 {
			return n
		}
	}
	return 1
}

// ollamaModel is the model's name in Ollama's store.
func ollamaModel(c *ledger.Case) string {
	if c.Model == nil || c.Model.Name == "" {
		return "MODEL"
	}
	return c.Model.Name
}

// ollamaServer sets variables where they count: for the server, not for
// `ollama run`.
func ollamaServer(variables ...string) []step.Step {
	unit := "sudo systemctl edit ollama    # add these lines, then: sudo systemctl restart ollama\n[Service]"
	docker := "docker run"
	for _, v := range variables {
		unit += "\nEnvironment=\"" + v + "\""
		docker += " -e " + v
	}
	return []step.Step{{Kind: "config", Text: unit}, {Kind: "shell", Text: docker + " ... ollama/ollama"}}
}

// ollamaGiB is a limit for the container in GiB: what is needed and a GiB for
// the rest, 16 where the log does not say.
func ollamaGiB(c *ledger.Case) int64 {
	if need := c.F().SystemRequired; need != nil && need.Bytes < units.TiB {
		return ledger.CeilDiv(need.Bytes, units.GiB) + 1
	}
	return 16
}

// ollamaLimit: in a container Ollama sees its limit, not the machine's memory.
func ollamaLimit(c *ledger.Case) *effect.Effect {
	need := c.F().SystemRequired
	if !c.Root(fact.OllamaSystem) || need == nil {
		return nil
	}
	have := ollamaGiB(c) * units.GiB
	return &effect.Effect{NeedBytes: need.Bytes, HaveBytes: have, Fits: need.Bytes <= have, Basis: "log", Certainty: effect.Condition,
		Note: fmt.Sprintf("%s needed and 1 GiB for the rest; enough if Ollama runs in a container whose limit it met, and the machine has that much.", need.Text)}
}

// ollamaQuant tells where not even the smallest format of 16-bit weights is
// small enough; otherwise the log does not say what the format is now.
func ollamaQuant(c *ledger.Case) *effect.Effect {
	f := c.F()
	if !c.Root(fact.OllamaSystem) || f.SystemRequired == nil || f.SystemAvailable == nil {
		return nil
	}
	least := f.SystemRequired.Bytes / 16 * 26 / 10 // Q2_K, 2.6 bits at the least
	if least <= f.SystemAvailable.Bytes {
		return nil
	}
	return &effect.Effect{NeedBytes: least, HaveBytes: f.SystemAvailable.Bytes, Basis: "log",
		Note: fmt.Sprintf("Even from 16 bit down to Q2_K, at 2.6 bits, %s would come to %s.", f.SystemRequired.Text, units.Format(least))}
}

// ollamaSwap: on Linux Ollama counts free swap as available (llm/server.go, 0.3
// and later); the step adds 32 GiB.
func ollamaSwap(c *ledger.Case) *effect.Effect {
	f := c.F()
	if !c.Root(fact.OllamaSystem) || f.SystemRequired == nil || f.SystemAvailable == nil || c.Windows() {
		return nil
	}
	have := f.SystemAvailable.Bytes + 32*units.GiB
	return &effect.Effect{NeedBytes: f.SystemRequired.Bytes, HaveBytes: have, Fits: have >= f.SystemRequired.Bytes, Basis: "log",
		Note: fmt.Sprintf("%s available + 32 GiB of swap, which Ollama counts on Linux. Exact for this check; what lands in swap is slow.", f.SystemAvailable.Text)}
}
