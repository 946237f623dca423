package rules

import (
	"fmt"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"

	"github.com/oomdoc/oomdoc/internal/units"
)

// transformersEngine is what is peculiar to transformers and accelerate, and
// to the trainers on top of them.
var transformersEngine = Engine{
	Programs: []string{"transformers", "peft", "trl", "unsloth", "llama-factory", "axolotl", "deepspeed"},
	Clues: map[string][]Clue{
		ModelTooLarge: {dispatchRefused,
			said(0.78, "transformers found less memory on all cards and in RAM together than the weights need: it asks for a folder on disk to put the rest.", fact.OffloadNeeded),
			everyRankLoads},
		HostMemory:     {said(0.15, "RAM is part of what was counted and came out short.", fact.OffloadNeeded)},
		LeakedProcess:  {dispatchShortOfFree},
		RetainedMemory: {dispatchInNotebook},
		SoftwareBug:    {warmupAllocation},
		Unknown:        {cutMessage},
		BatchTooLarge:  {said(0.5, "Even a batch of one ran out of memory.", fact.BatchGivenUp)},
	},
	Remedies: transformersRemedies,
	Steps: map[string]func(*Case) []Step{
		"lower_context":   transformersContext,
		"shard_training":  deepspeedShard,
		"upgrade_version": paste("shell", "pip install --upgrade transformers accelerate bitsandbytes"),
	},
	Useless: map[string]func(*Case) string{
		"lower_batch_size": batchIsNotIt,
	},
}

var transformersRemedies = map[string][]Remedy{
	ModelTooLarge: {
		{Fix: "shard_training", Fit: 1.1, If: distributed},
		{Fix: "half_precision", Fit: 1.04, If: rootIs(fact.OffloadNeeded)},
		{Fix: "load_in_4bit", Fit: 1, If: not(tinyCard)},
		{Fix: "use_smaller_model", Fit: 0.96},
		{Fix: "close_other_apps", Fit: 0.85, If: rootIs(fact.OffloadNeeded)},
		{Fix: "bigger_gpu", Fit: 0.95, If: tinyCard},
		{Fix: "bigger_gpu", Fit: 0.6, If: not(tinyCard)},
		{Fix: "cpu_offload", Fit: 0.85},
		{Fix: "use_lower_quant", Fit: 0.8, If: not((*Case).Training)},
		{Fix: "kill_stale_process", Fit: 0.6, If: func(c *Case) bool { return c.Root(fact.DispatchRefused) && c.F().Total == nil }},
		{Fix: "half_precision", Fit: 0.6, If: func(c *Case) bool { return !c.Root(fact.OffloadNeeded) }},
		{Fix: "multi_gpu", Fit: 0.5},
	},
	ContextTooLong: {
		{Fix: "lower_context", Fit: 1.05},
		{Fix: "lower_batch_size", Fit: 0.8},
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
	if !c.Root(fact.DispatchRefused) {
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
	if !c.Root(fact.DispatchRefused) || c.F().Total != nil && c.F().Total.Bytes <= 8*units.GiB {
		return nothing()
	}
	return seen(0.18, "Only free memory counts there: another program on the card would do it.", c.Failure.Line)
}

func dispatchInNotebook(c *Case) Finding {
	s := c.Signal("notebook")
	if s == nil || !c.Root(fact.DispatchRefused) {
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
		return seen(0.98, why+fmt.Sprintf(" The model needs %s: versions 4.49 to 4.51 ask for too much.", units.Format(need)), s.Line, c.Failure.Line)
	}
	return seen(0.4, why+" Versions 4.49 to 4.51 ask for too much with some models.", s.Line, c.Failure.Line)
}

// cutMessage: PyTorch 2.2 and 2.3 in some builds end the message after
// "GPU", which takes every figure but the request.
func cutMessage(c *Case) Finding {
	f := c.F()
	if !c.Root(fact.TorchAlloc) || !c.In("unsloth", "trl", "llama-factory", "axolotl") || f.Free != nil || f.Allocated != nil || c.Phase == "load" {
		return nothing()
	}
	return seen(0.55, "The message breaks off before it says how much was free and held.", c.Failure.Line)
}

func batchIsNotIt(c *Case) string {
	switch {
	case c.Root(fact.DispatchRefused, fact.OffloadNeeded):
		return "It failed before the first sample: the batch size plays no part yet."
	case c.Kind(fact.BatchGivenUp):
		return "accelerate tried smaller batches down to one, and each ran out of memory."
	}
	return uselessBatch(c)
}

// lengthSettings are the names under which trainers show the length of a
// sample.
var lengthSettings = []string{"max_seq_length", "max_length", "cutoff_len", "sequence_len"}

// shorterSample is half of the length that the log shows, or a start.
func shorterSample(c *Case) string {
	s, _ := c.Setting(lengthSettings...)
	if n := divided(s.Value, 2); n >= 128 {
		return strconv.Itoa(n)
	}
	return "1024"
}

func transformersContext(c *Case) []Step {
	n := shorterSample(c)
	if c.Training() {
		return []Step{{"python", "SFTConfig(max_length=" + n + ")   # max_seq_length= in trl before 0.20\ntokenizer(text, truncation=True, max_length=" + n + ")   # without trl"}}
	}
	return []Step{{"python", "inputs = tokenizer(text, return_tensors=\"pt\", truncation=True, max_length=" + n + ").to(model.device)\nmodel.generate(**inputs, max_new_tokens=256)"}}
}

func deepspeedShard(*Case) []Step {
	return []Step{
		{"config", "{\n  \"bf16\": {\"enabled\": true},\n  \"zero_optimization\": {\"stage\": 3, \"stage3_gather_16bit_weights_on_model_save\": true},\n  \"train_micro_batch_size_per_gpu\": \"auto\",\n  \"gradient_accumulation_steps\": \"auto\"\n}"},
		{"python", "TrainingArguments(deepspeed=\"ds_zero3.json\")   # the file above; made before from_pretrained, so that every rank loads its part only"},
	}
}
