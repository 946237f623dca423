// Package pool knows the pools of fixed size that programs on ggml plan for
// themselves, and plan too small.
package pool

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/dialect"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Words: llama.cpp within a Python program, which updates it by pip.
var Words = []string{"Llama.generate:", "llama_cpp/", "llama_cpp.server", "langchain", "localGPT", "Enter a query:", "Traceback (most recent call last)"}

// Cards are about llama.cpp's own pools; otherProgram holds where a program is
// known whose update is its own.
func Cards(otherProgram func(*ledger.Case) bool) []cause.Card {
	return []cause.Card{
		Loading("llama.cpp"), Batch("llama.cpp", "Start it with `-b 512`."),
		{
			ID: "llama.cpp/plan", Kinds: []fact.Kind{fact.GGMLPlan}, Unsaid: dialect.NewWords, If: when.Not(Beyond), Figures: numbers,
			Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "planned one of its own buffers too small: a bug, not a lack of memory",
			Means: "llama.cpp calculates the size of its buffers before it fills them, and this one came out too small[[ by {lack}]]. That is a bug of this build, often in one backend. Neither RAM nor GPU memory is short.",
			Not:   "More RAM, swap or fewer layers on the GPU: the plan stays wrong.",
			Cures: []cause.Cure{
				{Fix: "upgrade_version", Title: "Update to a newer build", Cost: "a download"},
				{Fix: "select_gpu", Title: "If the newest build fails too: use another backend", Told: "Run it on the CPU (`-ngl 0`), or use a build for another backend (CUDA, HIP, Vulkan).", Cost: "possibly slower"},
				{Fix: "lower_context", If: func(c *ledger.Case) bool { return !c.Contains(".weight") }, Title: "Shorten the context until then", Cost: "may not be enough"},
			},
			Sources: []string{"llama.cpp/ggml/src/ggml-alloc.c", "https://github.com/ggml-org/llama.cpp/pull/12197"},
		},
		{
			ID: "llama.cpp/arena-python", Kinds: []fact.Kind{fact.GGMLPool}, Said: Words, Unsaid: dialect.NewWords, If: when.Not(Beyond), Figures: numbers,
			Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: arenaHeadline, Means: arenaMeans, Not: arenaNot,
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Lower `n_batch`", Told: "In the `LlamaCpp(...)` or `Llama(...)` call set `n_batch=512`; if it is 512 or less already, halve it. localGPT sets it to the whole context (`kwargs[\"n_batch\"] = max_ctx_size`): write 512 there.", Cost: "slower prompts"},
				{Fix: "upgrade_version", Title: "Update llama-cpp-python", Kind: "shell", Text: "pip install -U --no-cache-dir llama-cpp-python   # then a GGUF of the same model instead of a `.bin` file", Cost: "a new model file; the program around it may need an update too"},
				shortPrompt,
			},
			Sources: []string{"llama.cpp/ggml/src/ggml.c", "https://github.com/PromtEngineer/localGPT/blob/main/load_models.py", "https://github.com/abetlen/llama-cpp-python/issues/546"}, Solved: 1,
		},
		{
			ID: "llama.cpp/arena", Kinds: []fact.Kind{fact.GGMLPool}, Unsaid: dialect.NewWords, If: when.Not(Beyond), Figures: numbers,
			Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: arenaHeadline, Means: arenaMeans + "[[ {little}]]", Not: arenaNot,
			Cures: []cause.Cure{
				{Fix: "upgrade_version", If: otherProgram, Title: "Update the program", Cost: "old model files may need a new download"},
				{Fix: "upgrade_version", If: when.Not(otherProgram), Title: "Update llama.cpp, or the program that brings it", Told: "llama.cpp: take the newest release, or `git pull` and build again. Python: `pip install -U llama-cpp-python`; instead of the abandoned pygpt4all and pyllamacpp, `pip install gpt4all`. Replace old `.bin` model files by a GGUF file of the same model.", Cost: "old model files need a new download"},
				{Fix: "lower_batch_size", If: when.Any(when.Not(slightlyShort), computes), Title: "Until then: lower the batch size", Kind: "text", Text: "Halve it, 512 at most: `n_batch` in Python, `-b` in llama.cpp. If it fails only after several requests, reload the model between them.", Cost: "slower prompts"},
				{Fix: shortPrompt.Fix, If: when.Any(when.Not(slightlyShort), computes), Title: shortPrompt.Title, Kind: shortPrompt.Kind, Text: shortPrompt.Text, Cost: shortPrompt.Cost},
			},
			Sources: []string{"llama.cpp/ggml/src/ggml.c", "https://github.com/abetlen/llama-cpp-python/issues/546"},
		},
	}
}

// What pools of fixed size have in common.
const (
	arenaHeadline = "overran an internal memory pool of fixed size: RAM and GPU are not full"
	arenaMeans    = "Versions of 2023 reserve a pool of fixed size for their work[[, here {pool}; {lack} more was needed]]. A large batch or a long prompt can exceed it. More memory in the computer changes nothing."
	arenaNot      = "More RAM, swap or fewer layers on the GPU: the pool keeps its size."
)

var shortPrompt = cause.Cure{Fix: "lower_context", Title: "Shorten the prompt", Kind: "text", Text: "Send fewer document passages, less chat history or a shorter question.", Cost: "less text at a time"}

// Loading is about loaders that reckon their pool themselves, as the examples
// of ggml and whisper.cpp do.
func Loading(program string) cause.Card {
	return cause.Card{
		ID: program + "/arena-loading", Kinds: []fact.Kind{fact.GGMLPool}, Said: []string{"model_load: ggml ctx size"}, Unsaid: madeContext, If: when.All(when.Not(Beyond), when.Any(slightlyShort, when.All(short, when.In("load")))), Figures: numbers,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "planned its own memory pool {lack} too small while it loaded a model",
		Means: "The program's own estimate of the memory for this model is too low by {lack}. {why} RAM and GPU memory are not full. A crash right after it is the same bug.",
		Not:   "Closing programs, more RAM or a smaller quantisation: the estimate stays short.",
		Cures: []cause.Cure{
			{
				Fix: "upgrade_version", If: slightlyShort, Title: "Correct the estimate, or update", Ways: []cause.Way{
					{For: "In the source", Text: "find the line that prints `ggml ctx size`, add `ctx_size += 1024*1024;` just before it, and build again. It costs 1 MiB of RAM."},
					{For: "Update", Text: "`git pull` and build again. Abandoned examples may be gone: whisper.cpp has `talk-llama` instead of `talk`, with a GGUF model."},
				}, Cost: "a rebuild",
			},
			{Fix: "upgrade_version", If: when.Not(slightlyShort), Title: "Use a current llama.cpp with a GGUF file of the model", Told: "Take its newest release (64-bit). alpaca.cpp and other forks of early 2023 are abandoned, and no current program reads their `.bin` files.", Cost: "a new download"},
			{Fix: "use_smaller_model", If: when.Not(slightlyShort), Title: "To stay with this program: use the file that it expects", Told: "Get the file that its README names, whole (a large model once came in several parts) and of the size that the program was built or started for.", Cost: "a new download"},
		},
		Sources: []string{"ggml/examples/gpt-2/main-alloc.cpp", "https://github.com/ggml-org/whisper.cpp/issues/1804"}, Solved: 1,
	}
}

// madeContext is said once a llama.cpp of spring 2023 has loaded its model: the
// pool is then that of the computation.
var madeContext = []string{"llama_init_from_file: kv self size", "num tensors =", "sampling parameters:"}

func computes(c *ledger.Case) bool { return c.Near(madeContext...) }

func short(c *ledger.Case) bool { return ledger.Requested(c) > ledger.SizeOf(c.F().Free) }

// slightlyShort: the pool lacks less than what the cure adds to it.
func slightlyShort(c *ledger.Case) bool {
	lack := ledger.Requested(c) - ledger.SizeOf(c.F().Free)
	return lack > 0 && lack < units.MiB
}

// Batch is about a batch for which such a build has no room.
func Batch(program, where string) cause.Card {
	return cause.Card{
		ID: program + "/arena-batch", Kinds: []fact.Kind{fact.GGMLPool}, If: Beyond, Figures: numbers,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "overran an internal memory pool: a batch size of {batch_size} is too large for this version",
		Means: "These versions of 2023 reserve a pool of fixed size, made for batches of 512 tokens[[; {lack} more than its {pool} was needed]]. RAM and GPU memory are not full. A crash right after it is the same bug.",
		Not:   "More RAM or fewer layers on the GPU: the pool keeps its size.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Set the batch size back to 512", Kind: "text", Text: where, Cost: "slower prompts"},
			{Fix: "upgrade_version", Title: "Update to a version without such a pool", Cost: "old `.bin` files need a GGUF of the same model"},
		},
		Sources: []string{"llama.cpp/ggml.c", "https://github.com/abetlen/llama-cpp-python/issues/546"}, Solved: 1,
	}
}

// numbers are the size of a pool inside the program, and what it lacks.
func numbers(c *ledger.Case) map[string]string {
	needed, pool := ledger.Requested(c), ledger.SizeOf(c.F().Free)
	if pool == 0 || needed <= pool {
		return nil
	}
	little, why := "", "Either the file is not what this program expects (another size or format, one part of several), or a 32-bit build overflowed in the sum."
	if slightlyShort(c) {
		why = "Usually ggml's bookkeeping per tensor grew, and the estimate in this program's source was not updated."
	}
	if slightlyShort(c) && !computes(c) {
		little = "So small a gap usually means that the size was calculated wrongly for this model."
	}
	return map[string]string{"pool": units.Amount(pool), "lack": units.Amount(needed - pool), "little": little, "why": why}
}

// Beyond: arenas of 2023 were planned for 512 tokens.
func Beyond(c *ledger.Case) bool { return ledger.IntSetting(c, "batch_size") > 512 }
