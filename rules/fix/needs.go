package fix

import (
	"slices"

	"github.com/oomdoc/oomdoc/rules/ledger"
)

// needs is what a fix presupposes of who reads. A fix that a program spells in
// its own way is for that program's readers.
type needs struct {
	// works are the kinds of work for which it means something; nil: any.
	works []string
	// notFor are those for which it means nothing.
	notFor []string
	// training: something is trained; inference: nothing is.
	training, inference bool
	// python: a line of Python can be put into what failed.
	python bool
	// own: it means nothing but by a program's own setting.
	own bool
	// branch is the case for which it holds where the log does not say, and told
	// what to do then, in a sentence without a subject.
	branch, told string
}

var (
	language  = []string{"text-inference", "text-training", "embedding"}
	pictures  = []string{"image-generation", "video-generation", "vision"}
	generated = []string{"text-inference", "text-training", "image-generation", "video-generation"}
	trained   = []string{"text-training", "vision", "audio", "graph", "science", "embedding"}
	noNetwork = []string{"rendering", "build", "data"}
)

// needed is what fixes presuppose; one that is not here suits everybody.
var needed = map[string]needs{
	"lower_resolution": {works: pictures, branch: "Pictures or video", told: "half the width and height, or half the frames."},
	"vae_tiling":       {works: []string{"image-generation", "video-generation"}, branch: "Pictures or video", told: "decode the latent in tiles."},
	"lower_context":    {works: language, branch: "Text", told: "half the length of prompt and answer."},
	"lower_batch_size": {notFor: []string{"rendering", "build"}, branch: "Training", told: "half the batch, and twice the gradient accumulation: the same result, slower."},
	"inference_mode":   {python: true, inference: true, notFor: noNetwork, branch: "Using a model", told: "`with torch.inference_mode():` around it (free), and smaller input."},

	"quantize_kv_cache":        {works: []string{"text-inference"}},
	"chunked_prefill":          {works: []string{"text-inference"}, own: true},
	"lower_max_num_seqs":       {works: []string{"text-inference"}, own: true},
	"lower_max_batched_tokens": {works: []string{"text-inference", "embedding"}, own: true},
	"lower_ubatch":             {works: []string{"text-inference"}, own: true},
	"lower_parallel":           {works: []string{"text-inference"}, own: true},
	"fewer_gpu_layers":         {works: []string{"text-inference"}, own: true},
	"moe_cpu_offload":          {works: []string{"text-inference"}, own: true},
	"enforce_eager":            {own: true},
	"lowvram_mode":             {own: true},
	"use_lower_quant":          {works: generated, branch: "A language model", told: "the same model at 4 or 8 bit."},
	"use_smaller_model":        {notFor: noNetwork},
	"load_in_4bit":             {works: []string{"text-inference", "text-training"}, python: true, branch: "A language model", told: "load it in 4 bit."},
	"load_in_8bit":             {works: []string{"text-inference", "text-training"}, python: true, branch: "A language model", told: "load it in 8 bit."},
	"half_precision":           {notFor: noNetwork},
	"cpu_offload":              {works: generated, branch: "A language model", told: "put some of its layers into system memory."},
	"efficient_attention":      {notFor: []string{"rendering", "build", "data", "graph"}},
	"enable_flash_attention":   {works: generated},

	"gradient_checkpointing": {works: trained, training: true, branch: "Training", told: "gradient checkpointing: 20 to 30 % slower, the same result."},
	"gradient_accumulation":  {works: trained, training: true, branch: "Training", told: "smaller batches with gradient accumulation."},
	"mixed_precision":        {works: trained, training: true, python: true, branch: "Training", told: "mixed precision (`torch.autocast`)."},
	"optimizer_8bit":         {works: []string{"text-training", "vision"}, training: true, branch: "Training", told: "an 8-bit optimizer."},
	"offload_optimizer":      {works: []string{"text-training"}, training: true, branch: "Training", told: "keep the optimizer in system memory."},
	"use_lora":               {works: []string{"text-training"}, training: true, branch: "Training a language model", told: "adapters (LoRA) instead of all weights."},
	"shard_training":         {works: []string{"text-training", "vision"}, training: true},
	"lower_num_workers":      {notFor: []string{"rendering", "build", "image-generation", "text-inference"}},
}

// alreadyOn says that a measure is taken already, where the log shows it.
func alreadyOn(measure string) func(*ledger.Case) string {
	return func(c *ledger.Case) string {
		if ledger.Has(c, measure) {
			return "The log shows that it is on already."
		}
		return ""
	}
}

// Suits reports that a fix is for who reads a case; own, that a program of the
// case spells it in its own way.
func Suits(c *ledger.Case, id string, own bool) bool {
	n, ok := needed[id]
	if !ok || own {
		return true
	}
	r := c.Reader
	switch {
	case n.own && r.Program != "" && !c.In("llama.cpp"),
		n.training && !c.Training() && (c.Phase == "inference" || c.Phase == "load" || r.Work == "text-inference"),
		n.inference && c.Training(),
		n.python && (r.Edits == "flags" || r.Edits == "admin" || r.Language != "" && r.Language != "python"),
		r.Work == "" && (ownCode(c) || c.In("tensorflow")) && n.works != nil && !n.training && !n.python, // for work of one kind, of which nothing shows
		r.Work != "" && slices.Contains(n.notFor, r.Work),
		r.Work != "" && n.works != nil && !slices.Contains(n.works, r.Work) && !(n.training && c.Training()):
		return false
	}
	return true
}

// Presumes reports that a fix is for work of one kind where the log shows none.
func Presumes(c *ledger.Case, id string) bool {
	n := needed[id]
	return c.Reader.Work == "" && c.Reader.Program == "" && n.works != nil && !n.training
}

// AnyWork reports that a fix means something for every kind of work.
func AnyWork(id string) bool { return needed[id].works == nil && !needed[id].training }

// Branch is the case for which a fix holds where the log does not say what kind
// of work it was, and what to do then; "" where it says, or where the fix holds
// in any.
func Branch(c *ledger.Case, id string) (branch, told string) {
	n := needed[id]
	training, work := c.Training(), c.Reader.Work
	switch {
	case n.branch == "",
		c.Reader.Program != "" && c.Reader.Edits != "code", // whose settings say what it does
		c.Asked.Has() && c.Ceiling().Has() && c.Asked.Bytes > c.Ceiling().Bytes,
		work != "" && c.Phase != "unknown",
		work != "" && n.works != nil,
		n.branch == "Training" && (training || c.Phase == "inference" || work == "text-inference"),
		n.inference && c.Phase == "inference":
		return "", ""
	}
	return n.branch, n.told
}

// inWords tells fixes to those whose program has no setting that is known.
var inWords = map[string]string{
	"lower_batch_size":              "Lower the batch size in your program's settings: 1 first, to see that it runs at all, then double it.",
	"lower_num_workers":             "Use fewer worker processes for loading data (0, then 2), in your program's settings.",
	"lower_context":                 "Set a shorter context length in your program's settings: 4096 first.",
	"use_lower_quant":               "Load a smaller quantisation of the same model, 8 or 4 bit.",
	"use_smaller_model":             "Load a smaller model, or a smaller version of this one.",
	"load_in_4bit":                  "Load a 4-bit version of the model, if your program offers one.",
	"load_in_8bit":                  "Load an 8-bit version of the model, if your program offers one.",
	"half_precision":                "Use 16-bit weights (fp16 or bf16) in your program's settings.",
	"mixed_precision":               "Turn mixed precision (fp16 or bf16) on in the training settings.",
	"cpu_offload":                   "Leave a part of the model in system memory, if your program has a setting for it; it is slower.",
	"fewer_gpu_layers":              "Put fewer layers on the card in your program's settings: half of what is set now, then up again.",
	"gradient_checkpointing":        "Turn gradient checkpointing on in the training settings.",
	"gradient_accumulation":         "Use a smaller batch with gradient accumulation, in the training settings.",
	"optimizer_8bit":                "Choose an 8-bit optimizer in the training settings.",
	"offload_optimizer":             "Offload the optimizer to system memory in the training settings.",
	"use_lora":                      "Train a LoRA adapter instead of all weights.",
	"shard_training":                "Shard model and optimizer over the cards (ZeRO or FSDP), if your program supports it.",
	"quantize_kv_cache":             "Keep the KV cache at 8 bit, if your program has a setting for it.",
	"lower_resolution":              "Halve width and height, or the number of frames.",
	"vae_tiling":                    "Decode the picture in tiles, if your program has a setting for it.",
	"efficient_attention":           "Choose a memory-efficient attention (SDPA, flash or xformers) in your program's settings.",
	"enable_flash_attention":        "Turn flash attention on in your program's settings.",
	"lower_ubatch":                  "Lower the batch size for prompts in your program's settings (128, then up).",
	"lower_parallel":                "Serve one request at a time.",
	"lower_max_num_seqs":            "Allow fewer requests at the same time in your program's settings.",
	"lower_max_batched_tokens":      "Allow fewer tokens in one batch in your program's settings.",
	"multi_gpu":                     "Spread it over more cards, if your program can.",
	"balance_split":                 "Split the model unevenly over the cards, less on the one that is full.",
	"select_gpu":                    "Choose another card in your program's settings, or by CUDA_VISIBLE_DEVICES before the start.",
	"restart_session":               "Restart the program.",
	"upgrade_version":               "Install the newest release, and note the present one first.",
	"kill_stale_process":            "See what holds the memory and end what should not be there.",
	"close_other_apps":              "Close other programs that use the same memory.",
	"inference_mode":                "Run the model without gradients, if your program has a setting for it.",
	"empty_cache":                   "Unload models that are no longer needed.",
	"stream_dataset":                "Read the data in pieces instead of all at once.",
	"raise_memory_limit":            "Raise the memory limit of the container or job, above what the log says was needed.",
	"add_swap":                      "Give the system more virtual memory (swap, or the page file on Windows).",
	"raise_gpu_memory_utilization":  "Give the engine a larger share of the card in your program's settings.",
	"lower_gpu_memory_utilization":  "Give the engine a smaller share of the card in your program's settings.",
	"lower_swap_space":              "Reserve less system memory for swapping requests.",
	"enforce_eager":                 "Run without CUDA graphs, if your program has a setting for it.",
	"chunked_prefill":               "Let long prompts be read in pieces, if your program has a setting for it.",
	"lowvram_mode":                  "Start the program in its low-memory mode.",
	"moe_cpu_offload":               "Keep the experts in system memory, if your program has a setting for it.",
	"fix_shape":                     "Print the shapes just before the failing line and look for the size that is wrong.",
	"limit_framework_preallocation": "Keep the framework from taking the whole card at its start.",
	"expandable_segments":           "Set PyTorch's allocator to expandable segments before the start.",
	"lower_mem_fraction":            "Lower the static memory fraction in your program's settings.",
	"raise_mem_fraction":            "Raise the static memory fraction in your program's settings.",
	"raise_pagefile":                "Enlarge the page file of Windows: System, Advanced, Performance, Virtual memory.",
	"raise_shm_size":                "Give the container more shared memory.",
	"use_mmap":                      "Let the model's file be mapped instead of copied.",
	"detach_accumulated":            "Keep plain numbers of earlier steps, not tensors with their graphs.",
	"lower_build_jobs":              "Compile with fewer jobs at a time.",
	"free_disk":                     "Free disk space.",
	"bigger_gpu":                    "Use a card with more memory.",
}

// InWords tells a fix without any program's spelling.
func InWords(id string) string {
	if told := inWords[id]; told != "" {
		return told
	}
	return FixesByID()[id].Title + "."
}
