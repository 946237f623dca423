// Package ggml knows llama.cpp and what is built on ggml: Ollama, KoboldCpp, LM
// Studio, whisper.cpp, stable-diffusion.cpp.
package ggml

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

// LlamaCpp judges llama.cpp's and ggml's messages, for the front ends
// too. What was refused decides: weights, KV cache or compute buffer, in
// device or in system memory.
var LlamaCpp = program.Program{
	Name: "llama.cpp", Rank: 58,
	Proofs: []string{
		"llama_model_loader:", "load_tensors:", "node-llama-cpp", "srv    load_model", "prompt_save:", "updating prompt cache",
	},
	Clues: map[string][]cause.Clue{
		cause.ModelTooLarge: {weightsRefused, bareRefusal, metalFull, guardRefused,
			cause.Said(0.42, "The model was loaded, and then the card had nothing left for the scratch memory of the computation.", fact.GGMLRuntime)},
		cause.ContextTooLong:      {cacheRefused, computeRefused, contextAtRuntime, metalContext, guardContext},
		cause.BatchTooLarge:       {batchOfCompute, batchOfPool, diffusionWork},
		cause.OversizedAllocation: {overLimit, absurdBuffer},
		cause.HostMemory:          {hostBuffer, unifiedMemory},
		cause.DeviceImbalance:     {evenSplit, unevenBuffers, smallOnLaterCard, integratedCard},
		cause.SoftwareBug: {arenaTooSmall, absurdForContext, refusedBelowLimit, guardWithoutFigure, tinyRefused,
			cause.Said(0.5, "The oneAPI runtime reports memory for other faults too (copies between devices, its 4 GiB limit of one allocation).", fact.GGMLSYCL)},
		cause.Unknown: {nothingSaid},
	},
	Remedies: llamaRemedies,
	Steps:    llamaSteps,
	Effects:  llamaEffects,
	Checks:   llamaChecks,
	Useless:  llamaUseless,
	Whys:     llamaWhys,
}

// asked puts the request and its place into words.
func asked(c *ledger.Case, what string) string {
	where := "the card"
	switch {
	case ledger.InHost(c):
		where = "system memory"
	case c.Failure.Memory != "":
		where = c.Failure.Memory
	}
	if r := c.F().Requested; r != nil {
		return fmt.Sprintf("%s (%s) was refused by %s.", what, units.Format(r.Bytes), where)
	}
	return fmt.Sprintf("%s was refused by %s.", what, where)
}

func weightsRefused(c *ledger.Case) cause.Finding {
	if !c.Root(fact.GGMLAlloc) || c.Failure.Stage != "weights" {
		return cause.Nothing()
	}
	why := asked(c, "The buffer for the weights")
	switch {
	case ledger.InHost(c):
		return cause.Seen(0.3, why, c.Failure.Line)
	case c.In("ollama") && ledger.Requested(c) > 0:
		return cause.Seen(0.4, why, c.Failure.Line) // Ollama chose how much to load: see plannedTooMuch
	case c.Backend == "metal" && refusedBelowLimit(c).Weight > 0:
		return cause.Seen(0.25, why, c.Failure.Line)
	}
	return cause.Seen(0.78, why+" It never came to a context: the weights alone do not fit beside what is there.", c.Failure.Line)
}

// bareRefusal: a buffer was refused and nothing says which. whisper.cpp's
// compute buffers have the size that the model gives them.
func bareRefusal(c *ledger.Case) cause.Finding {
	if c.Says("whisper.cpp") && ledger.GgmlRefused(c, "compute", "kv") && !ledger.InHost(c) {
		return cause.Seen(0.6, asked(c, "A buffer")+" Its size follows from the size of the Whisper model.", c.Failure.Line)
	}
	if !c.Root(fact.GGMLAlloc) || c.Failure.Stage != "" || ledger.InHost(c) {
		return cause.Nothing()
	}
	why := asked(c, "A buffer") + " The lines that would say which part of the model it was are not in the log."
	switch {
	case c.Backend == "vulkan" && ledger.Requested(c) >= nearVulkanLimit:
		return cause.Seen(0.25, why, c.Failure.Line)
	case c.Backend == "vulkan" && ledger.Requested(c) < units.MiB:
		return cause.Seen(0.3, why, c.Failure.Line)
	}
	return cause.Seen(0.5, why+" The largest buffer is the weights', as a rule.", c.Failure.Line)
}

// metalFull: what Metal recommends is exceeded, and the weights are most of it.
func metalFull(c *ledger.Case) cause.Finding {
	f := c.F()
	if !c.Root(fact.GGMLMetal) {
		return cause.Nothing()
	}
	if f.Limit == nil {
		return cause.Seen(0.4, "A Metal command buffer failed: weights, cache and graph need more than Metal gives.", c.Failure.Line)
	}
	weights := int64(0)
	switch {
	case f.Weights != nil:
		weights = f.Weights.Bytes
	case f.Allocated != nil:
		weights = f.Allocated.Bytes - ledger.SizeOf(f.KVBuffer) - ledger.SizeOf(f.ComputeBuffer)
	}
	if weights*10 < f.Limit.Bytes*6 {
		return cause.Seen(0.15, "The weights are well below Metal's limit.", c.Failure.Line)
	}
	return cause.Seen(0.7, fmt.Sprintf("The weights take about %s of the %s that Metal recommends to use at most.", units.Format(weights), units.Format(f.Limit.Bytes)), c.Failure.Line)
}

// KoboldCpp is what is peculiar to KoboldCpp.
var KoboldCpp = program.Program{
	Name: "koboldcpp", Shown: "KoboldCpp", Rank: 86,
	Like: []*program.Program{&LlamaCpp},
}

// LMStudio is what is peculiar to LM Studio: its log's tags and its program folder. Models
// under .lmstudio prove nothing, llama.cpp loads them too.
var LMStudio = program.Program{
	Name: "lm-studio", Shown: "LM Studio", Rank: 86,
	Proofs: []string{"[LMSInternal]", "[LM STUDIO SERVER]", `LM Studio\resources`, "LM Studio.app/Contents", "🥲 Failed to load"},
	Like:   []*program.Program{&LlamaCpp},
}

// StableDiffusionCpp is stable-diffusion.cpp.
var StableDiffusionCpp = program.Program{
	Name: "stable-diffusion.cpp",
	Like: []*program.Program{&LlamaCpp},
}

// WhisperCpp is whisper.cpp.
var WhisperCpp = program.Program{
	Name: "whisper.cpp",
	Like: []*program.Program{&LlamaCpp},
}

// LlamaCppPython is the Python binding, in which settings are written as arguments.
var LlamaCppPython = program.Program{
	Name:  "llama-cpp-python",
	Hints: []string{"Failed to create llama_context", "llama_cpp.server", "llama_cpp/llama.py", "for LlamaCpp"},
}

// NodeLlamaCpp is the JavaScript binding.
var NodeLlamaCpp = program.Program{
	Name:  "node-llama-cpp",
	Hints: []string{"node-llama-cpp", "InsufficientMemoryError: A context size"},
}
