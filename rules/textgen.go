package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/webui"

	"github.com/oomdoc/oomdoc/internal/units"
)

// textgenEngine is what is peculiar to text-generation-webui: a loader for
// every kind of file, each with knobs of its own, whose names changed with the
// years.
var textgenEngine = Engine{
	Programs: []string{"text-generation-webui"},
	Clues: map[string][]Clue{
		HostMemory: {
			said(0.8, "The server vanished while it loaded a model, without a message: on Windows, in nearly every such case, RAM and page file were used up.", fact.SilentDeath),
			said(0.9, "llama-server was ended by signal 9: the system's out-of-memory killer.", fact.ServerKilled),
		},
		Unknown:             {said(0.15, "The server ended without a message.", fact.SilentDeath)},
		ContextTooLong:      {longPrompt},
		RetainedMemory:      {earlierModel},
		BudgetMisconfigured: {gpuMemoryWithoutUnit},
	},
	Remedies: textgenRemedies,
	Steps: map[string]func(*Case) []Step{
		"lower_context":     textgenContextSteps,
		"quantize_kv_cache": textgenCache,
		"cpu_offload":       textgenOffload,
		"fewer_gpu_layers":  textgenLayers,
		"load_in_4bit":      func(c *Case) []Step { return textgenFlags(c, change{flag: "--load-in-4bit"}) },
		"load_in_8bit":      func(c *Case) []Step { return textgenFlags(c, change{flag: "--load-in-8bit"}) },
		"balance_split":     func(c *Case) []Step { return textgenFlags(c, change{flag: "--gpu-split", value: lessOnFirst(c)}) },
		"use_lower_quant":   textgenQuant,
		"lower_batch_size":  textgenBatch,
	},
	Useless: map[string]func(*Case) string{
		"load_in_4bit":      textgenNo4bit,
		"load_in_8bit":      textgenNo4bit,
		"quantize_kv_cache": textgenNoCacheQuant,
		"cpu_offload":       textgenNoOffload,
	},
}

var textgenRemedies = map[string][]Remedy{
	ModelTooLarge: {
		{Fix: "load_in_4bit", Fit: 1.02},
		{Fix: "use_lower_quant", Fit: 1, If: not(fixedQuant)},
		{Fix: "use_smaller_model", Fit: 0.97},
		{Fix: "fewer_gpu_layers", Fit: 1.05, If: loadedBy("llama.cpp")},
		{Fix: "cpu_offload", Fit: 0.97, If: not(loadedBy("llama.cpp"))},
		{Fix: "lower_context", Fit: 0.6},
		{Fix: "use_lower_quant", Fit: 0.5, If: fixedQuant},
		{Fix: "bigger_gpu", Fit: 0.5},
	},
	ContextTooLong: {
		{Fix: "lower_context", Fit: 1},
		{Fix: "quantize_kv_cache", Fit: 0.9},
		{Fix: "fewer_gpu_layers", Fit: 0.8, If: loadedBy("llama.cpp")},
		{Fix: "cpu_offload", Fit: 0.75, If: not(loadedBy("llama.cpp"))},
		{Fix: "use_lower_quant", Fit: 0.65},
		{Fix: "balance_split", Fit: 0.6, If: severalCards},
		{Fix: "use_smaller_model", Fit: 0.5},
	},
	BatchTooLarge: {
		{Fix: "lower_batch_size", Fit: 1, If: (*Case).Training},
		{Fix: "lower_context", Fit: 0.95, If: not((*Case).Training)},
		{Fix: "lower_context", Fit: 0.75, If: (*Case).Training},
		{Fix: "gradient_checkpointing", Fit: 0.7, If: (*Case).Training},
		{Fix: "load_in_4bit", Fit: 0.8},
		{Fix: "use_lower_quant", Fit: 0.75},
		{Fix: "cpu_offload", Fit: 0.6},
	},
	HostMemory: {
		{Fix: "raise_pagefile", Fit: 1, If: textgenWindows},
		{Fix: "close_other_apps", Fit: 0.85, If: textgenWindows},
		{Fix: "add_swap", Fit: 0.95, If: not(textgenWindows)},
		{Fix: "raise_memory_limit", Fit: 0.8, If: not(textgenWindows)},
		{Fix: "use_lower_quant", Fit: 0.75},
		{Fix: "use_smaller_model", Fit: 0.8},
	},
	Fragmentation: {
		{Fix: "max_split_size", Fit: 1, If: func(c *Case) bool { return c.Windows() || !hasExpandableSegments(c) }},
		{Fix: "expandable_segments", Fit: 1},
		{Fix: "lower_batch_size", Fit: 0.95, If: (*Case).Training},
		{Fix: "lower_context", Fit: 0.9, If: not((*Case).Training)},
		{Fix: "use_lower_quant", Fit: 0.7, If: not((*Case).Training)},
	},
	DeviceImbalance: {
		{Fix: "balance_split", Fit: 1.1},
		{Fix: "lower_context", Fit: 0.7},
		{Fix: "use_lower_quant", Fit: 0.5},
	},
	BudgetMisconfigured: {
		{Fix: "cpu_offload", Fit: 1},
		{Fix: "lower_context", Fit: 0.7},
		{Fix: "use_smaller_model", Fit: 0.6},
	},
	RetainedMemory: {
		{Fix: "restart_session", Fit: 1},
		{Fix: "use_lower_quant", Fit: 0.6},
		{Fix: "use_smaller_model", Fit: 0.6},
		{Fix: "lower_context", Fit: 0.6},
	},
	Unknown: {
		{Fix: "raise_pagefile", Fit: 1, If: textgenWindows},
		{Fix: "lower_context", Fit: 0.8},
		{Fix: "use_lower_quant", Fit: 0.75},
		{Fix: "close_other_apps", Fit: 0.6},
	},
}

// textgenWindows: most users of the one-click installer; its closing words come
// from a batch file.
func textgenWindows(c *Case) bool { return onWindows(c) || c.Root(fact.SilentDeath) }

// textgenSince is the month before which this log cannot have been made, 0 if
// nothing dates it.
func textgenSince(c *Case) int {
	month := 0
	for _, x := range c.Facts.Facts {
		if x.Name == webui.TextgenSince && x.Count != nil {
			month = max(month, int(x.Count.Value))
		}
	}
	return month
}

// loader is what the log shows, else the flag, in the flag's names.
func loader(c *Case) string {
	if s, ok := c.Setting("loader"); ok {
		return strings.ToLower(strings.TrimSuffix(strings.ToLower(s.Value), "_hf"))
	}
	if x, ok := c.Fact(webui.TextgenLoader); ok {
		return x.Text
	}
	return ""
}

func loadedBy(name string) func(*Case) bool {
	return func(c *Case) bool { return loader(c) == name }
}

// fixedQuant: GPTQ and AWQ checkpoints come at 4 bit and hardly at fewer.
func fixedQuant(c *Case) bool {
	f := quantised(c)
	return strings.HasPrefix(f, "gptq") || strings.HasPrefix(f, "awq")
}

// longPrompt: at inference the card was full of weights and cache, and the
// prompt was what grew.
func longPrompt(c *Case) Finding {
	if !c.In("text-generation-webui") || !allocator(c) || roomy(c) || c.Phase != "inference" {
		return nothing()
	}
	if n := c.F().Context; n != nil && n.Value >= 1024 {
		return seen(0.66, fmt.Sprintf("It loaded, and died while it answered a prompt of %s tokens: the cache grows with every one.", n.Text), n.Line, c.Failure.Line)
	}
	return seen(0.56, "It loaded, and died while it answered: the cache grows with every token of the conversation.", c.Failure.Line)
}

// earlierModel: a second model is loaded from the page into a process that had
// one already.
func earlierModel(c *Case) Finding {
	s := c.Signal("model_loaded")
	if s == nil || s.Line > c.Failure.Line || !c.In("text-generation-webui") || c.Phase != "load" || !allocator(c) {
		return nothing()
	}
	return seen(0.45, "Another model was loaded in this process before, and may still hold its memory.", s.Line, c.Failure.Line)
}

// gpuMemoryWithoutUnit: --gpu-memory counts GiB; 6500 without a unit is no
// limit at all (modules/models.py).
func gpuMemoryWithoutUnit(c *Case) Finding {
	s, ok := c.Setting("gpu_memory")
	if !ok || !allocator(c) {
		return nothing()
	}
	n, err := strconv.Atoi(s.Value)
	if err != nil || n < 128 {
		return nothing()
	}
	return seen(0.95, fmt.Sprintf("--gpu-memory %d means %d GiB, which limits nothing: %dMiB was meant.", n, n, n), s.Line, c.Failure.Line)
}

// textgenFlags shows where flags go: into the command that the log shows, else
// into CMD_FLAGS.txt since 2023-06, before that into the line of webui.py or of
// the start script that starts server.py.
func textgenFlags(c *Case, changes ...change) []Step {
	if settings := typed(c, "server.py"); settings != nil {
		return []Step{{"shell", "python server.py " + edited(settings, changes...)}}
	}
	flags := edited(nil, changes...)
	if since := textgenSince(c); since != 0 && since < 202306 {
		model := ""
		if c.Model != nil {
			model = " --model " + shellQuote(c.Model.Name)
		}
		return []Step{
			{"text", "In webui.py (start-webui.bat in the oldest releases), change the line that starts server.py to this:"},
			{"shell", "python server.py" + model + " " + flags},
		}
	}
	return []Step{
		{"text", "Put this line into CMD_FLAGS.txt (beside the start script, in user_data/ since 2025) and start again:"},
		{"config", flags},
	}
}

func textgenContextSteps(c *Case) []Step {
	since, n := textgenSince(c), shorterContext(c, 4096)
	switch {
	case since >= 202504:
		return textgenFlags(c, change{flag: "--ctx-size", value: n})
	case loader(c) == "llama.cpp":
		return textgenFlags(c, change{flag: "--n_ctx", value: n})
	case strings.HasPrefix(loader(c), "exllama") || loader(c) == "autoawq" || c.In("exllama"):
		return textgenFlags(c, change{flag: "--max_seq_len", value: n})
	case since != 0 && since < 202306:
		return []Step{{"ui", "Parameters tab: Maximum prompt size in tokens: 1024"}}
	}
	return []Step{
		{"ui", "Parameters tab: Truncate the prompt up to this length: 1024, and max_new_tokens: 200"},
		{"text", "Releases before June 2023 call it Maximum prompt size in tokens."},
	}
}

func textgenCache(c *Case) []Step {
	since := textgenSince(c)
	switch {
	case loader(c) == "llama.cpp":
		return textgenFlags(c, change{flag: "--cache-type", value: "q8_0"})
	case since >= 202504:
		return textgenFlags(c, change{flag: "--cache-type", value: "q4"})
	case since >= 202412:
		return textgenFlags(c, change{flag: "--cache_type", value: "q4"})
	case since >= 202403:
		return textgenFlags(c, change{flag: "--cache_4bit"})
	}
	return append(textgenFlags(c, change{flag: "--cache_4bit"}), Step{"text", "Releases from December 2024 on spell it --cache_type q4, those before March 2024 have only --cache_8bit."})
}

func textgenOffload(c *Case) []Step {
	if loader(c) == "gptq-for-llama" || loader(c) == "gptq" || fixedQuant(c) && textgenSince(c) < 202306 {
		return textgenFlags(c, change{flag: "--pre_layer", value: strconv.Itoa(layersOnCard(c))})
	}
	if textgenSince(c) >= 202504 {
		return []Step{{"text", "Load a GGUF file of the model instead: llama.cpp splits it between card and memory."}, {"config", "--gpu-layers " + strconv.Itoa(layersOnCard(c))}}
	}
	return textgenFlags(c, change{flag: "--auto-devices"}, change{flag: "--gpu-memory", value: gpuMemory(c)}, change{flag: "--cpu-memory", value: "32GiB"})
}

// gpuMemory caps the weights at the card less two GiB for cache and work. The
// unit is never left out: a bare number counts GiB.
func gpuMemory(c *Case) string {
	total := int64(8 * units.GiB)
	if t := c.F().Total; t != nil {
		total = t.Bytes
	}
	limit := max(total-2*units.GiB, total/2) / units.MiB / 100 * 100
	return strconv.FormatInt(limit, 10) + "MiB"
}

// layersOnCard is how many layers of the model fit, or a number to start from.
func layersOnCard(c *Case) int {
	m := named(c).Model
	need, ok := weightsIn(c, "")
	total := c.F().Total
	if m == nil || m.Layers == 0 || !ok || total == nil || need <= 0 {
		return 20
	}
	room := max(total.Bytes-2*units.GiB, total.Bytes/3)
	return int(max(1, min(int64(m.Layers), room*int64(m.Layers)/need)))
}

func textgenLayers(c *Case) []Step {
	flag := "--n-gpu-layers"
	if textgenSince(c) >= 202504 {
		flag = "--gpu-layers"
	}
	return textgenFlags(c, change{flag: flag, value: strconv.Itoa(layersOnCard(c))})
}

func textgenQuant(c *Case) []Step {
	if loader(c) == "exllamav2" || loader(c) == "exllamav3" {
		return exllamaQuant(c)
	}
	steps := []Step{{"text", "Download a quantised build of the model (GGUF Q4_K_M for llama.cpp; EXL2 or EXL3 at 4 bits for ExLlama) and choose it on the Model tab."}}
	if c.Model == nil {
		return steps
	}
	return append(steps, Step{"text", "Search huggingface.co for: " + printable(c.Model.Name) + " GGUF"})
}

func textgenBatch(c *Case) []Step {
	return []Step{{"ui", "Training tab: Micro Batch Size: 1, Cutoff Length: 256, LoRA Rank: 8; load the base model with load-in-8bit"}}
}

func textgenNo4bit(c *Case) string {
	if why := alreadyQuantised(c); why != "" {
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

func textgenNoCacheQuant(c *Case) string {
	switch l := loader(c); {
	case strings.HasPrefix(l, "exllamav"), l == "llama.cpp", c.In("exllama"):
		return cacheQuantisedAlready(c)
	default:
		return "Only the ExLlamaV2, ExLlamaV3 and llama.cpp loaders of the webui can keep the cache at fewer bits."
	}
}

func textgenNoOffload(c *Case) string {
	if l := loader(c); strings.HasPrefix(l, "exllama") {
		return "ExLlama runs on graphics cards only; to use system memory too, load a GGUF file with llama.cpp."
	}
	if c.Backend == "mps" {
		return "On a Mac the card's memory is the system's memory: there is no other place."
	}
	return ""
}
