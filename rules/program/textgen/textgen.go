// Package textgen knows programs that write text and have a page or a server of
// their own: text-generation-webui, ExLlama, TabbyAPI.
package textgen

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/program/webui"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Textgen is what is peculiar to text-generation-webui: a loader for
// every kind of file, each with knobs of its own, whose names changed with the
// years.
var Textgen = program.Program{
	Name: "text-generation-webui", Rank: 90,
	Units: []string{"text-generation-webui"},
	Work:  "text-inference", Edits: "flags", Language: "python",
	Sources: program.Sources{
		"text-generation-webui/modules/shared.py": "--auto-devices --cache_4bit --cache_8bit --cache_type --cpu-memory --gpu-memory --gpu-split --load-in-4bit --load-in-8bit" +
			" --n-gpu-layers --ctx-size --cache-type --fit-target CMD_FLAGS",
	},
	Proofs: []string{
		"text-generation-webui", "oobabooga_windows", "oobabooga-windows", "oobabooga_linux", "oobabooga_macos", "textgen/modules/",
		"load_func_map[loader]", "modules/ui_model_menu.py", "modules/GPTQ_loader.py", "modules/AutoGPTQ_loader.py", "modules/text_generation.py",
		"modules/exllama", "modules/llama", "modules/transformers_loader.py", "Output generated in", "Which one do you want to load? 1-",
		"Found the following quantized model:", "The AutoGPTQ params are:", "llama.cpp weights detected:", "Using the following 4-bit params",
		"Auto-assiging --gpu-memory", "Error loading the model with llama.cpp:", "Using gpu_layers=", "TRUNCATION LENGTH:", "INSTRUCTION TEMPLATE:",
		"INFO:Loading TheBloke_", "Loading TheBloke_", // owner_name, as download-model.py names folders
	},
	Hints: []string{"installer_files/env/", "llama-cpp-python-cuBLAS-wheels", "llama_cpp_binaries"},
	Beside: map[string][]string{
		"text-generation-webui": {"/modules/", "/server.py", "[server.py", "[models.py", "/extensions/", "/installer_files", "/repositories/gptq"},
		"oobabooga_windows":     {"text-generation-webui", "/modules/", "/server.py", "/extensions/", "/repositories/", "/bitsandbytes/", "/transformers/", "/torch/"},
		"installer_files/env/":  {"text-generation-webui", "/modules/", "/server.py", "/extensions/", "/repositories/", "/bitsandbytes/", "/transformers/", "/torch/"},
		"modules/llama":         {"cpp_model.py", "cpp_hf.py", "cpp_server.py"},
		"Output generated in":   {"tokens/s"},
		"Using gpu_layers=":     {"ctx_size="},
	},
	Cards: textgenCards,
	Clues: map[string][]cause.Clue{
		cause.HostMemory: {
			cause.Said(cause.Strong, "The server vanished while it loaded a model, without a message: on Windows, in nearly every such case, RAM and page file were used up.", fact.SilentDeath),
			cause.Said(cause.Decisive, "llama-server was ended by signal 9: the system's out-of-memory killer.", fact.ServerKilled),
		},
		cause.Unknown:             {cause.Said(cause.Hint, "The server ended without a message.", fact.SilentDeath)},
		cause.ContextTooLong:      {cause.First(cause.If(longPrompt, cause.Good, "It loaded, and failed while it answered: the cache grows with every token of the conversation."))},
		cause.BudgetMisconfigured: {{Look: gpuMemoryWithoutUnit}},
	},
	Remedies: textgenRemedies,
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_context":     textgenContextSteps,
		"quantize_kv_cache": textgenCache,
		"cpu_offload":       textgenOffload,
		"fewer_gpu_layers":  textgenLayers,
		"load_in_4bit":      func(c *ledger.Case) []step.Step { return textgenFlags(c, step.Change{Flag: "--load-in-4bit"}) },
		"load_in_8bit":      func(c *ledger.Case) []step.Step { return textgenFlags(c, step.Change{Flag: "--load-in-8bit"}) },
		"balance_split": func(c *ledger.Case) []step.Step {
			return textgenFlags(c, step.Change{Flag: "--gpu-split", Value: lessOnFirst(c)})
		},
		"use_lower_quant":  textgenQuant,
		"lower_batch_size": step.Paste("ui", "Training tab: Micro Batch Size: 1, Cutoff Length: 256, LoRA Rank: 8; load the base model with load-in-8bit"),
	},
	Useless: map[string]func(*ledger.Case) string{
		"load_in_4bit":      textgenNo4bit,
		"load_in_8bit":      textgenNo4bit,
		"quantize_kv_cache": textgenNoCacheQuant,
		"cpu_offload":       textgenNoOffload,
	},
}

var textgenRemedies = map[string][]cause.Remedy{
	cause.ModelTooLarge: {
		{Fix: "fewer_gpu_layers", Fit: cause.Foremost, If: loadedBy("llama.cpp")},
		{Fix: "load_in_4bit", Fit: cause.Cures},
		{Fix: "use_lower_quant", Fit: cause.Cures, If: when.Not(fixedQuant)},
		{Fix: "use_smaller_model", Fit: cause.Cures},
		{Fix: "cpu_offload", Fit: cause.Cures, If: when.Not(loadedBy("llama.cpp"))},
		{Fix: "lower_context", Fit: cause.MayHelp},
		{Fix: "use_lower_quant", Fit: cause.LastResort, If: fixedQuant},
		{Fix: "bigger_gpu", Fit: cause.LastResort},
	},
	cause.ContextTooLong: {
		{Fix: "lower_context", Fit: cause.Cures},
		{Fix: "quantize_kv_cache", Fit: cause.Helps},
		{Fix: "fewer_gpu_layers", Fit: cause.Helps, If: loadedBy("llama.cpp")},
		{Fix: "cpu_offload", Fit: cause.MayHelp, If: when.Not(loadedBy("llama.cpp"))},
		{Fix: "use_lower_quant", Fit: cause.MayHelp},
		{Fix: "balance_split", Fit: cause.MayHelp, If: severalCards},
		{Fix: "use_smaller_model", Fit: cause.LastResort},
	},
	cause.HostMemory: webui.HostRemedies,
	cause.Fragmentation: {
		{Fix: "max_split_size", Fit: cause.Cures, If: func(c *ledger.Case) bool { return c.Windows() || !reader.HasExpandableSegments(c) }},
		{Fix: "expandable_segments", Fit: cause.Cures},
		{Fix: "lower_batch_size", Fit: cause.Cures, If: (*ledger.Case).Training},
		{Fix: "lower_context", Fit: cause.Helps, If: when.Not((*ledger.Case).Training)},
		{Fix: "use_lower_quant", Fit: cause.MayHelp, If: when.Not((*ledger.Case).Training)},
	},
	cause.DeviceImbalance:     {{Fix: "balance_split", Fit: cause.Foremost}, {Fix: "lower_context", Fit: cause.MayHelp}},
	cause.BudgetMisconfigured: {{Fix: "cpu_offload", Fit: cause.Cures}, {Fix: "lower_context", Fit: cause.MayHelp}},
	cause.Unknown: {
		{Fix: "raise_pagefile", Fit: cause.Cures, If: webui.MostlyWindows},
		{Fix: "lower_context", Fit: cause.Helps},
		{Fix: "use_lower_quant", Fit: cause.MayHelp},
	},
}

// textgenSince is the month before which this log cannot have been made, 0 if
// nothing dates it.
func textgenSince(c *ledger.Case) int {
	month := 0
	for _, x := range c.Facts.Facts {
		if x.Name == fact.TextgenSince && x.Count != nil {
			month = max(month, int(x.Count.Value))
		}
	}
	return month
}

// loader is what the log shows, else the flag, in the flag's names.
func loader(c *ledger.Case) string {
	if s, ok := c.Setting("loader"); ok {
		return strings.ToLower(strings.TrimSuffix(strings.ToLower(s.Value), "_hf"))
	}
	if x, ok := c.Fact(fact.TextgenLoader); ok {
		return x.Text
	}
	return ""
}

func loadedBy(name string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return loader(c) == name }
}

// fixedQuant: GPTQ and AWQ checkpoints come at 4 bit and hardly at fewer.
func fixedQuant(c *ledger.Case) bool {
	f := ledger.Quantised(c)
	return strings.HasPrefix(f, "gptq") || strings.HasPrefix(f, "awq")
}

// longPrompt: at inference the card was full of weights and cache, and the
// prompt was what grew.
var longPrompt = when.All(webui.Work("text-generation-webui"), when.In("inference"))

// gpuMemoryWithoutUnit: --gpu-memory counts GiB; 6500 without a unit is no
// limit at all (modules/models.py).
func gpuMemoryWithoutUnit(c *ledger.Case) cause.Finding {
	s, ok := c.Setting("gpu_memory")
	n, err := strconv.Atoi(s.Value)
	if !ok || err != nil || n < 128 || !ledger.Allocator(c) {
		return cause.Nothing()
	}
	return cause.Seen(cause.Decisive, fmt.Sprintf("--gpu-memory %d means %d GiB, which limits nothing: %dMiB was meant.", n, n, n), s.Line, c.Failure.Line)
}

// textgenFlags shows where flags go: into the command that the log shows, else
// into CMD_FLAGS.txt since 2023-06, before that into the line of webui.py or of
// the start script that starts server.py.
func textgenFlags(c *ledger.Case, changes ...step.Change) []step.Step {
	if settings := step.Typed(c, "server.py"); settings != nil {
		return []step.Step{{Kind: "shell", Text: "python server.py " + step.Edited(c, settings, changes...)}}
	}
	flags := step.Edited(c, nil, changes...)
	if since := textgenSince(c); since != 0 && since < 202306 {
		model := ""
		if c.Model != nil {
			model = " --model " + step.Word(c, c.Model.Name)
		}
		return []step.Step{
			{Kind: "text", Text: "In webui.py (start-webui.bat in the oldest releases), change the line that starts server.py to this:"},
			{Kind: "shell", Text: "python server.py" + model + " " + flags},
		}
	}
	return []step.Step{
		{Kind: "text", Text: "Put this line into CMD_FLAGS.txt (next to the start script, in user_data/ since 2025) and start again:"},
		{Kind: "config", Text: flags},
	}
}

func textgenContextSteps(c *ledger.Case) []step.Step {
	n := shorterContext(c)
	switch {
	case loader(c) == "llama.cpp":
		return textgenFlags(c, contextFlag(c)...)
	case strings.HasPrefix(loader(c), "exllama") || loader(c) == "autoawq" || c.In("exllama"):
		return textgenFlags(c, step.Change{Flag: "--max_seq_len", Value: n})
	}
	return []step.Step{
		{Kind: "ui", Text: "Parameters tab: Truncate the prompt up to this length: " + truncated(c) + ", and max_new_tokens: 200"},
		{Kind: "text", Text: "Releases before June 2023 call it Maximum prompt size in tokens."},
	}
}

func textgenCache(c *ledger.Case) []step.Step {
	switch {
	case loader(c) == "llama.cpp":
		return textgenFlags(c, step.Change{Flag: "--cache_type", Value: "q8_0"})
	case textgenSince(c) >= 202412:
		return textgenFlags(c, step.Change{Flag: "--cache_type", Value: "q4"})
	}
	steps := textgenFlags(c, step.Change{Flag: "--cache_4bit"})
	steps[0].Text = "From v2.0 (December 2024) on `--cache_type q4`; before March 2024 `--cache_8bit`; between them as here. " + steps[0].Text
	return steps
}

func textgenOffload(c *ledger.Case) []step.Step {
	if loader(c) == "gptq-for-llama" || loader(c) == "gptq" || fixedQuant(c) && textgenSince(c) < 202306 {
		return textgenFlags(c, step.Change{Flag: "--pre_layer", Value: fewerLayers(c)})
	}
	if textgenSince(c) >= 202504 {
		return []step.Step{{Kind: "text", Text: "Load a GGUF file of the model instead: llama.cpp can split it between GPU and RAM."}, {Kind: "config", Text: "--n-gpu-layers " + fewerLayers(c)}}
	}
	steps := textgenFlags(c, step.Change{Flag: "--auto-devices"}, step.Change{Flag: "--gpu-memory", Value: gpuMemory(c)}, step.Change{Flag: "--cpu-memory", Value: "32GiB"})
	return append(steps, step.Step{Kind: "text", Text: "From v3.0 (April 2025) on only --cpu-memory is left, a bare number of GiB: --cpu-memory 32."})
}

// gpuMemory caps the weights at the card less two GiB for cache and work. The
// unit is never left out: a bare number counts GiB.
func gpuMemory(c *ledger.Case) string {
	total := int64(8 * units.GiB)
	if t := c.F().Total; t != nil {
		total = t.Bytes
	}
	limit := max(total-2*units.GiB, total/2) / units.MiB / 100 * 100
	return strconv.FormatInt(limit, 10) + "MiB"
}

// roomyContext is a third of what would just fit beside the weights: on a Mac
// working memory needs 2 GB of the same limit.
func roomyContext(c *ledger.Case) []step.Change {
	flags := contextFlag(c)
	if try, of := ggml.ContextToTry(c); of > 0 {
		flags[0].Value = strconv.FormatInt(max(try/3/1024*1024, 1024), 10)
	}
	return flags
}

// gptqForLLaMa: its files are in the trace; it cannot cap memory.
func gptqForLLaMa(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return strings.Contains(x.File, "GPTQ-for-LLaMa") })
}

// fewerLayers is what fits by llama.cpp's own figures, half of the layers that
// the log shows on the card, or a number to start from.
func fewerLayers(c *ledger.Case) string {
	if keep, of := ggml.LayersToKeep(c); of > 0 && keep > 0 {
		return strconv.FormatInt(keep, 10)
	}
	if n := layersBeside(c); n > 0 && overWeights(c) {
		return strconv.FormatInt(n, 10)
	}
	s, _ := c.Setting("n_gpu_layers", "gpu_layers", "ngl")
	if n := step.Divided(s.Value, 2); n > 0 && n < 45 { // 90 and more stand for all
		return strconv.Itoa(n)
	}
	return "20"
}

// textgenLayers: later releases say --gpu-layers, which those before v3.4 lack,
// and take the old spelling as well (modules/shared.py).
func textgenLayers(c *ledger.Case) []step.Step {
	s, _ := c.Setting("n_gpu_layers", "gpu_layers")
	return textgenFlags(c, step.Change{Flag: step.SafeFlag(cmp.Or(s.Flag, "--n-gpu-layers")), Value: fewerLayers(c)})
}

func textgenQuant(c *ledger.Case) []step.Step {
	if loader(c) == "exllamav2" || loader(c) == "exllamav3" {
		return exllamaQuant(c)
	}
	steps := []step.Step{{Kind: "text", Text: "Download a quantised build of the model (GGUF Q4_K_M for llama.cpp; EXL2 or EXL3 at 4 bits for ExLlama) and choose it in the Model tab."}}
	if c.Model == nil {
		return steps
	}
	return append(steps, step.Step{Kind: "text", Text: "Search huggingface.co for: " + quote.Told(c.Model.Name) + " GGUF"})
}

func textgenNo4bit(c *ledger.Case) string {
	if why := ledger.AlreadyQuantised(c); why != "" {
		return why
	}
	switch l := loader(c); {
	case c.Backend == "mps" || c.Backend == "cpu" && !c.Root(fact.TorchAlloc):
		return "bitsandbytes needs an NVIDIA card, and the weights pass through system memory at full size first."
	case l == "transformers" || l == "":
		return ""
	default:
		return "The " + l + " loader reads files that are quantised already; the 4-bit option belongs to the Transformers loader."
	}
}

func textgenNoCacheQuant(c *ledger.Case) string {
	switch l := loader(c); {
	case strings.HasPrefix(l, "exllamav"), l == "llama.cpp", c.In("exllama"):
		return cacheQuantisedAlready(c)
	default:
		return "Only the ExLlamaV2, ExLlamaV3 and llama.cpp loaders of the webui can keep the cache at fewer bits."
	}
}

func textgenNoOffload(c *ledger.Case) string {
	if l := loader(c); strings.HasPrefix(l, "exllama") {
		return "ExLlama runs on graphics cards only; to use system memory too, load a GGUF file with llama.cpp."
	}
	if c.Backend == "mps" {
		return "On a Mac the card's memory is the system's memory: there is no other place."
	}
	return ""
}
