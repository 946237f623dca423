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
		r.Work != "" && slices.Contains(n.notFor, r.Work),
		r.Work != "" && n.works != nil && !slices.Contains(n.works, r.Work) && !(n.training && c.Training()):
		return false
	}
	return true
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
		work != "" && c.Phase != "unknown",
		work != "" && n.works != nil,
		n.branch == "Training" && (training || c.Phase == "inference" || work == "text-inference"),
		n.inference && c.Phase == "inference":
		return "", ""
	}
	return n.branch, n.told
}
