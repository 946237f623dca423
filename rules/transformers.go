package rules

import (
	"fmt"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers"
)

// transformersEngine is what is peculiar to transformers and accelerate, and
// to the trainers on top of them.
var transformersEngine = Engine{
	Programs: []string{"transformers", "peft", "trl", "unsloth", "llama-factory", "axolotl", "deepspeed"},
	Clues: map[string][]Clue{
		ModelTooLarge: {dispatchRefused,
			said(0.78, "transformers found less memory on all cards and in RAM together than the weights need: it asks for a folder on disk to put the rest.", parsers.OffloadNeeded),
			everyRankLoads},
		HostMemory:     {said(0.15, "RAM is part of what was counted and came out short.", parsers.OffloadNeeded)},
		LeakedProcess:  {dispatchShortOfFree},
		RetainedMemory: {dispatchInNotebook},
		SoftwareBug:    {warmupAllocation},
		Unknown:        {cutMessage},
		BatchTooLarge:  {said(0.5, "Even a batch of one ran out of memory.", parsers.BatchGivenUp)},
	},
	Remedies: transformersRemedies,
	Steps: map[string]func(*Case) []Step{
		"load_in_4bit":           func(c *Case) []Step { return bitsAndBytes(c, 4) },
		"load_in_8bit":           func(c *Case) []Step { return bitsAndBytes(c, 8) },
		"half_precision":         transformersHalf,
		"cpu_offload":            transformersOffload,
		"lower_context":          trainerContext,
		"lower_batch_size":       trainerBatch,
		"gradient_checkpointing": trainerCheckpointing,
		"optimizer_8bit":         trainerOptimizer,
		"shard_training":         trainerShard,
		"offload_optimizer":      deepspeedOffload,
		"use_lora":               trainerLora,
		"upgrade_version":        trainerUpgrade,
	},
	Effects: map[string]func(*Case) *Effect{
		"load_in_4bit":   func(c *Case) *Effect { return fits(c, "nf4", "4 bit") },
		"load_in_8bit":   func(c *Case) *Effect { return fits(c, "int8", "8 bit") },
		"half_precision": func(c *Case) *Effect { return fits(c, "bf16", "16 bit") },
	},
	Useless: map[string]func(*Case) string{
		"load_in_4bit":     noBitsAndBytes,
		"load_in_8bit":     noBitsAndBytes,
		"lower_batch_size": batchIsNotIt,
	},
}

var transformersRemedies = map[string][]Remedy{
	ModelTooLarge: {
		{Fix: "shard_training", Fit: 1.1, If: distributed},
		{Fix: "half_precision", Fit: 1.04, If: rootIs(parsers.OffloadNeeded)},
		{Fix: "load_in_4bit", Fit: 1, If: not(tinyCard)},
		{Fix: "use_smaller_model", Fit: 0.96},
		{Fix: "close_other_apps", Fit: 0.85, If: rootIs(parsers.OffloadNeeded)},
		{Fix: "bigger_gpu", Fit: 0.95, If: tinyCard},
		{Fix: "bigger_gpu", Fit: 0.6, If: not(tinyCard)},
		{Fix: "cpu_offload", Fit: 0.85},
		{Fix: "use_lower_quant", Fit: 0.8, If: not((*Case).Training)},
		{Fix: "kill_stale_process", Fit: 0.6, If: func(c *Case) bool { return c.Root(parsers.DispatchRefused) && c.F().Total == nil }},
		{Fix: "half_precision", Fit: 0.6, If: func(c *Case) bool { return !c.Root(parsers.OffloadNeeded) }},
		{Fix: "multi_gpu", Fit: 0.5},
	},
	ContextTooLong: {
		{Fix: "lower_context", Fit: 1},
		{Fix: "lower_batch_size", Fit: 0.9},
		{Fix: "upgrade_version", Fit: 0.7, If: unslothLogits},
		{Fix: "gradient_checkpointing", Fit: 0.5, If: (*Case).Training},
		{Fix: "gradient_accumulation", Fit: 0.45, If: (*Case).Training},
		{Fix: "efficient_attention", Fit: 0.5},
		{Fix: "load_in_4bit", Fit: 0.4, If: not((*Case).Training)},
	},
	BatchTooLarge: {
		{Fix: "lower_batch_size", Fit: 1},
		{Fix: "lower_context", Fit: 0.8},
		{Fix: "gradient_checkpointing", Fit: 0.75, If: (*Case).Training},
		{Fix: "inference_mode", Fit: 0.6, If: not((*Case).Training)},
		{Fix: "use_lora", Fit: 0.5, If: (*Case).Training},
		{Fix: "shard_training", Fit: 0.55, If: distributed},
		{Fix: "mixed_precision", Fit: 0.5, If: (*Case).Training},
	},
	TrainingStateTooLarge: {
		{Fix: "shard_training", Fit: 1.02, If: distributed},
		{Fix: "optimizer_8bit", Fit: 1},
		{Fix: "use_lora", Fit: 0.97},
		{Fix: "offload_optimizer", Fit: 0.95},
		{Fix: "gradient_checkpointing", Fit: 0.5},
	},
	SoftwareBug: {
		{Fix: "upgrade_version", Fit: 1},
		{Fix: "lower_context", Fit: 0.6, If: (*Case).Training},
		{Fix: "cpu_offload", Fit: 0.6, If: not((*Case).Training)},
		{Fix: "load_in_4bit", Fit: 0.5},
	},
	Unknown: {
		{Fix: "upgrade_version", Fit: 1.1, If: func(c *Case) bool { return c.In("unsloth") }},
		{Fix: "kill_stale_process", Fit: 0.9},
		{Fix: "lower_context", Fit: 0.8},
		{Fix: "lower_batch_size", Fit: 0.6},
	},
}

// distributed: torchrun, a rank in a prefix, or a card other than the first.
func distributed(c *Case) bool { return c.Signal("distributed") != nil || manyGPUs(c) }

func unslothLogits(c *Case) bool { return c.Signal("logits_fp32") != nil || c.In("unsloth") }

// dispatchRefused: the quantised model is larger than the free part of the
// cards; with the card's size in the log it is surely too large.
func dispatchRefused(c *Case) Finding {
	if !c.Root(parsers.DispatchRefused) {
		return nothing()
	}
	why := "transformers planned the quantised model and had to put a part on the CPU: it is larger than the memory that was free on the cards."
	if t := c.F().Total; t != nil && t.Bytes <= 8*units.GiB {
		return seen(0.86, why+fmt.Sprintf(" The card has %s in all.", t.Text), c.Failure.Line)
	}
	return seen(0.68, why, c.Failure.Line)
}

// dispatchShortOfFree: only free memory was counted, so somebody on the card
// explains it as well.
func dispatchShortOfFree(c *Case) Finding {
	if !c.Root(parsers.DispatchRefused) || c.F().Total != nil && c.F().Total.Bytes <= 8*units.GiB {
		return nothing()
	}
	return seen(0.18, "Only free memory counts there: another program on the card would do it.", c.Failure.Line)
}

func dispatchInNotebook(c *Case) Finding {
	s := c.Signal("notebook")
	if s == nil || !c.Root(parsers.DispatchRefused) {
		return nothing()
	}
	return seen(0.35, "In a notebook the model of an earlier cell is often still on the card.", s.Line, c.Failure.Line)
}

// everyRankLoads: the ranks of a launcher each load the whole model.
func everyRankLoads(c *Case) Finding {
	s := c.Signal("distributed")
	if s == nil || !allocator(c) || c.Phase != "load" {
		return nothing()
	}
	return seen(0.85, "It failed while the model was being loaded under a launcher that starts one process for each card: each loads all of it, so that more cards do not help.", s.Line, c.Failure.Line)
}

// warmupAllocation: transformers 4.49 to 4.51 ask for the whole model in one
// piece before they load it, and got the size wrong in some versions.
func warmupAllocation(c *Case) Finding {
	s := c.Signal("warmup_alloc")
	f := c.F()
	if s == nil || f.Requested == nil {
		return nothing()
	}
	why := fmt.Sprintf("transformers asked for %s at once to warm the allocator up, before the first weight.", f.Requested.Text)
	if need, ok := weightsIn(c, ""); ok && f.Requested.Bytes > need*3/2 {
		return seen(0.9, why+fmt.Sprintf(" The model needs %s: versions 4.49 to 4.51 ask for too much.", units.Format(need)), s.Line, c.Failure.Line)
	}
	return seen(0.4, why+" Versions 4.49 to 4.51 ask for too much with some models.", s.Line, c.Failure.Line)
}

// cutMessage: PyTorch 2.2 and 2.3 in some builds end the message after
// "GPU", which takes every figure but the request.
func cutMessage(c *Case) Finding {
	f := c.F()
	if !c.Root(parsers.TorchAlloc) || !c.In("unsloth", "trl", "llama-factory", "axolotl") || f.Free != nil || f.Allocated != nil || c.Phase == "load" {
		return nothing()
	}
	return seen(0.55, "The message breaks off before it says how much was free and held.", c.Failure.Line)
}

// noBitsAndBytes: it needs a CUDA card, and weights that are not quantised.
func noBitsAndBytes(c *Case) string {
	if c.Backend == "mps" || c.Backend == "xpu" || c.Backend == "npu" {
		return "bitsandbytes needs an NVIDIA card (or a recent build for AMD)."
	}
	return alreadyQuantised(c)
}

func batchIsNotIt(c *Case) string {
	switch {
	case c.Root(parsers.DispatchRefused, parsers.OffloadNeeded):
		return "It failed before the first sample: the batch size plays no part yet."
	case c.Kind(parsers.BatchGivenUp):
		return "accelerate tried smaller batches down to one, and each ran out of memory."
	}
	return ""
}

// modelLiteral is the model's name as a Python string.
func modelLiteral(c *Case) string { return pyQuote(c.ModelName()) }

func bitsAndBytes(c *Case, bits int) []Step {
	if c.In("llama-factory") {
		return []Step{{"config", "quantization_bit: " + strconv.Itoa(bits)}}
	}
	if c.In("axolotl") && bits == 4 {
		return []Step{{"config", "load_in_4bit: true\nadapter: qlora"}}
	}
	config := "BitsAndBytesConfig(load_in_8bit=True)"
	if bits == 4 {
		config = `BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16)`
	}
	return []Step{
		{"shell", "pip install -U bitsandbytes accelerate"},
		{"python", "import torch\nfrom transformers import AutoModelForCausalLM, BitsAndBytesConfig\n\nmodel = AutoModelForCausalLM.from_pretrained(\n    " + modelLiteral(c) + ",\n    quantization_config=" + config + ",\n    device_map=\"auto\",\n)"},
	}
}

func transformersHalf(c *Case) []Step {
	return []Step{
		{"python", "model = AutoModelForCausalLM.from_pretrained(" + modelLiteral(c) + ", torch_dtype=torch.bfloat16, device_map=\"auto\")"},
		{"text", "torch.float16 on cards older than Ampere (RTX 30). From transformers 4.56 on the argument is called dtype; version 5 takes 16 bit by itself."},
	}
}

// transformersOffload leaves a GiB and more on the card for activations.
func transformersOffload(c *Case) []Step {
	limit := "6GiB"
	if t := c.F().Total; t != nil {
		room := max(t.Bytes-t.Bytes/8-units.GiB, t.Bytes/2)
		limit = strconv.FormatInt(room/units.MiB, 10) + "MiB"
	}
	return []Step{{"python", "model = AutoModelForCausalLM.from_pretrained(\n    " + modelLiteral(c) + ",\n    torch_dtype=torch.float16,\n    device_map=\"auto\",\n    max_memory={0: \"" + limit + "\", \"cpu\": \"24GiB\"},\n)  # and no .to(\"cuda\") or .cuda() after it"}}
}

// halved is half of a setting that the log shows, or a start.
func halved(c *Case, fallback int, names ...string) string {
	s, ok := c.Setting(names...)
	n, err := strconv.Atoi(s.Value)
	if !ok || err != nil || n < 2 || n > 1<<24 {
		return strconv.Itoa(fallback)
	}
	return strconv.Itoa(n / 2)
}

func trainerContext(c *Case) []Step {
	n := halved(c, 1024, "max_seq_length", "max_length", "cutoff_len", "sequence_len")
	switch {
	case c.In("unsloth"):
		return []Step{{"python", "model, tokenizer = FastLanguageModel.from_pretrained(" + modelLiteral(c) + ", max_seq_length=" + n + ", load_in_4bit=True)"}}
	case c.In("llama-factory"):
		return []Step{{"config", "cutoff_len: " + n}}
	case c.In("axolotl"):
		return []Step{{"config", "sequence_len: " + n}}
	case c.Training():
		return []Step{{"python", "SFTConfig(max_length=" + n + ")  # max_seq_length= in trl before 0.20; or tokenizer(..., truncation=True, max_length=" + n + ")"}}
	}
	return []Step{{"python", "inputs = tokenizer(text, return_tensors=\"pt\", truncation=True, max_length=" + n + ").to(model.device)\nmodel.generate(**inputs, max_new_tokens=256)"}}
}

func trainerBatch(c *Case) []Step {
	accumulate := "16"
	if s, ok := c.Setting("per_device_train_batch_size"); ok {
		if n, err := strconv.Atoi(s.Value); err == nil && n > 1 && n < 4096 {
			steps := 1
			if a, ok := c.Setting("gradient_accumulation_steps"); ok {
				if k, err := strconv.Atoi(a.Value); err == nil && k > 0 && k < 4096 {
					steps = k
				}
			}
			accumulate = strconv.Itoa(n * steps)
		}
	}
	switch {
	case c.In("llama-factory"):
		return []Step{{"config", "per_device_train_batch_size: 1\ngradient_accumulation_steps: " + accumulate}}
	case c.In("axolotl"):
		return []Step{{"config", "micro_batch_size: 1\ngradient_accumulation_steps: " + accumulate}}
	case c.Training():
		return []Step{{"python", "TrainingArguments(per_device_train_batch_size=1, gradient_accumulation_steps=" + accumulate + ")"}}
	}
	return []Step{{"python", "for batch in DataLoader(dataset, batch_size=1):  # then raise it\n    with torch.inference_mode():\n        model.generate(**batch)"}}
}

func trainerCheckpointing(c *Case) []Step {
	switch {
	case c.In("unsloth"):
		return []Step{{"python", "model = FastLanguageModel.get_peft_model(model, use_gradient_checkpointing=\"unsloth\")"}}
	case c.In("axolotl"):
		return []Step{{"config", "gradient_checkpointing: true"}}
	case c.In("llama-factory"):
		return []Step{{"config", "disable_gradient_checkpointing: false"}}
	}
	return []Step{{"python", "model.config.use_cache = False\nmodel.gradient_checkpointing_enable()  # or TrainingArguments(gradient_checkpointing=True)"}}
}

func trainerOptimizer(c *Case) []Step {
	switch {
	case c.In("llama-factory"):
		return []Step{{"config", "optim: paged_adamw_8bit"}}
	case c.In("axolotl"):
		return []Step{{"config", "optimizer: paged_adamw_8bit"}}
	}
	return []Step{{"python", "TrainingArguments(optim=\"paged_adamw_8bit\")  # needs bitsandbytes"}}
}

func trainerShard(c *Case) []Step {
	switch {
	case c.In("llama-factory"):
		return []Step{{"config", "deepspeed: examples/deepspeed/ds_z3_config.json"}}
	case c.In("axolotl"):
		return []Step{{"config", "deepspeed: deepspeed_configs/zero3_bf16.json"}}
	}
	return []Step{
		{"config", "{\n  \"bf16\": {\"enabled\": true},\n  \"zero_optimization\": {\"stage\": 3, \"stage3_gather_16bit_weights_on_model_save\": true},\n  \"train_micro_batch_size_per_gpu\": \"auto\",\n  \"gradient_accumulation_steps\": \"auto\"\n}"},
		{"python", "TrainingArguments(deepspeed=\"ds_zero3.json\")  # the file above; made before from_pretrained, so that every rank loads its part only"},
	}
}

func deepspeedOffload(c *Case) []Step {
	switch {
	case c.In("llama-factory"):
		return []Step{{"config", "deepspeed: examples/deepspeed/ds_z3_offload_config.json"}}
	case c.In("axolotl"):
		return []Step{{"config", "deepspeed: deepspeed_configs/zero3_bf16_cpuoffload_all.json"}}
	}
	return []Step{{"config", "{\"zero_optimization\": {\n  \"stage\": 2,\n  \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true}\n}}"}}
}

func trainerLora(c *Case) []Step {
	switch {
	case c.In("llama-factory"):
		return []Step{{"config", "finetuning_type: lora\nlora_rank: 8\nquantization_bit: 4"}}
	case c.In("axolotl"):
		return []Step{{"config", "adapter: qlora\nload_in_4bit: true\nlora_r: 16"}}
	}
	return []Step{{"python", "from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training\n\nmodel = prepare_model_for_kbit_training(model)\nmodel = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules=\"all-linear\", task_type=\"CAUSAL_LM\"))"}}
}

func trainerUpgrade(c *Case) []Step {
	switch {
	case c.In("unsloth"):
		return []Step{{"shell", "pip install --upgrade unsloth unsloth_zoo"}}
	case c.In("llama-factory"):
		return []Step{{"shell", "pip install --upgrade llamafactory transformers accelerate"}}
	case c.In("axolotl"):
		return []Step{{"shell", "pip install --upgrade axolotl transformers accelerate"}}
	}
	return []Step{{"shell", "pip install --upgrade transformers accelerate bitsandbytes"}}
}
