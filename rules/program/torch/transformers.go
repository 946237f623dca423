package torch

import (
	"slices"

	"fmt"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/engine"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/ranks"
	"github.com/oomdoc/oomdoc/rules/program/torch/tuning"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Transformers is what is peculiar to transformers and accelerate, and
// to the trainers on top of them.
var Transformers = program.Program{
	Name: "transformers", Code: code.Steps, Shown: "Transformers", Rank: 60,
	Edits: "code", Language: "python", Script: "transformers-script",
	Cards:  transformersCards,
	Proofs: []string{"site-packages/transformers/", "dist-packages/transformers/", "src/transformers/", "/modules/transformers_modules/", "Loading checkpoint shards:"},
	Clues: map[string][]cause.Clue{
		cause.ModelTooLarge: {
			cause.Said(cause.Likely, "transformers planned the quantised model and had to put a part on the CPU: it is larger than the memory that was free on the GPUs.", fact.DispatchRefused),
			cause.Said(cause.Strong, "transformers found less memory on all GPUs and in RAM together than the weights need, so it asks for a folder on disk for the rest.", fact.OffloadNeeded),
			cause.Shown("distributed", cause.If(everyRankLoads, cause.Strong, "It failed while the model was being loaded under a launcher that starts one process per GPU. Each process loads the whole model, so more GPUs do not help.")),
		},
		cause.HostMemory:    {cause.Said(cause.Hint, "RAM was counted too, and was not enough.", fact.OffloadNeeded)},
		cause.LeakedProcess: {cause.Said(cause.Hint, "Only free memory counts there, so another program on the GPU may be the cause.", fact.DispatchRefused)},
		cause.SoftwareBug:   {{Look: warmupAllocation}},
		cause.Unknown:       {cause.First(cause.If(cutMessage, cause.Good, "The message breaks off before it says how much was free and in use."))},
		cause.BatchTooLarge: {cause.Said(cause.Fair, "Even a batch of one ran out of memory.", fact.BatchGivenUp)},
	},
	Remedies: transformersRemedies,
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_context":   transformersContext,
		"shard_training":  deepspeedShard,
		"upgrade_version": step.Paste("shell", "pip install --upgrade transformers accelerate bitsandbytes"),
	},
	Useless: map[string]func(*ledger.Case) string{
		"lower_batch_size": batchIsNotIt, "use_lora": cures.StateIsSmall, "optimizer_8bit": cures.StateIsSmall, "offload_optimizer": cures.StateIsSmall,
	},
}

var transformersRemedies = map[string][]cause.Remedy{
	cause.ModelTooLarge: {
		{Fix: "shard_training", Fit: cause.Foremost, If: cause.Distributed},
		{Fix: "half_precision", Fit: cause.Foremost, If: when.Root(fact.OffloadNeeded)},
		{Fix: "load_in_4bit", Fit: cause.Cures, If: when.Not(ledger.TinyCard)},
		{Fix: "use_smaller_model", Fit: cause.Cures},
		{Fix: "bigger_gpu", Fit: cause.Cures, If: ledger.TinyCard},
		{Fix: "cpu_offload", Fit: cause.Helps},
		{Fix: "use_lower_quant", Fit: cause.Helps},
		{Fix: "half_precision", Fit: cause.MayHelp},
		{Fix: "multi_gpu", Fit: cause.LastResort},
	},
	cause.BatchTooLarge: {
		{Fix: "lower_batch_size", Fit: cause.Cures},
		{Fix: "lower_context", Fit: cause.Helps},
		{Fix: "gradient_checkpointing", Fit: cause.MayHelp, If: (*ledger.Case).Training},
		{Fix: "inference_mode", Fit: cause.MayHelp, If: when.Not((*ledger.Case).Training)},
		{Fix: "use_lora", Fit: cause.LastResort, If: (*ledger.Case).Training},
	},
}

// everyRankLoads: the ranks of a launcher each load the whole model.
var everyRankLoads = when.All(ledger.Allocator, when.In("load"))

// warmupAllocation: transformers 4.49 to 4.51 ask for the whole model in one
// piece before they load it, and got the size wrong in some versions.
func warmupAllocation(c *ledger.Case) cause.Finding {
	s := c.Signal("warmup_alloc")
	f := c.F()
	if s == nil || f.Requested == nil {
		return cause.Nothing()
	}
	why := fmt.Sprintf("transformers asked for %s at once to warm the allocator up, before the first weight: versions 4.49 to 4.51 ask for too much with some models.", f.Requested)
	if need, ok := ledger.WeightsIn(c, ""); ok && f.Requested.Bytes > need*3/2 {
		return cause.Seen(cause.Stated, why+fmt.Sprintf(" This one needs %s.", units.Amount(need)), s.Line, c.Failure.Line)
	}
	return cause.Seen(cause.Weak, why, s.Line, c.Failure.Line)
}

// cutMessage: PyTorch 2.2 and 2.3 in some builds end the message after
// "GPU", which takes every figure but the request.
func cutMessage(c *ledger.Case) bool {
	f := c.F()
	return c.Root(fact.TorchAlloc) && c.In("unsloth", "trl", "llama-factory", "axolotl") && f.Free == nil && f.Allocated == nil && c.Phase != "load"
}

func batchIsNotIt(c *ledger.Case) string {
	switch {
	case c.Root(fact.DispatchRefused, fact.OffloadNeeded):
		return "It failed while the model was being loaded, before the batch size matters."
	case c.Kind(fact.BatchGivenUp):
		return "accelerate tried smaller batches down to one, and each ran out of memory."
	}
	return fix.UselessBatch(c)
}

// lengthSettings are the names under which trainers show the length of a
// sample.
var lengthSettings = []string{"max_seq_length", "max_length", "cutoff_len", "sequence_len"}

// shorterSample is half of the length that the log shows, or a start.
func shorterSample(c *ledger.Case) string {
	s, _ := c.Setting(lengthSettings...)
	if n := step.Divided(s.Value, 2); n >= 128 {
		return strconv.Itoa(n)
	}
	return "1024"
}

func transformersContext(c *ledger.Case) []step.Step {
	n := shorterSample(c)
	if c.Training() {
		return []step.Step{{Kind: "python", Text: "SFTConfig(max_length=" + n + ")   # max_seq_length= in trl before 0.20\ntokenizer(text, truncation=True, max_length=" + n + ")   # without trl"}}
	}
	return []step.Step{{Kind: "python", Text: "inputs = tokenizer(text, return_tensors=\"pt\", truncation=True, max_length=" + n + ").to(model.device)\nmodel.generate(**inputs, max_new_tokens=256)"}}
}

func deepspeedShard(*ledger.Case) []step.Step {
	return []step.Step{
		{Kind: "config", Text: "{\n  \"bf16\": {\"enabled\": true},\n  \"zero_optimization\": {\"stage\": 3, \"stage3_gather_16bit_weights_on_model_save\": true},\n  \"train_micro_batch_size_per_gpu\": \"auto\",\n  \"gradient_accumulation_steps\": \"auto\"\n}"},
		{Kind: "python", Text: "TrainingArguments(deepspeed=\"ds_zero3.json\")   # the file above; made before from_pretrained, so that every rank loads its part only"},
	}
}

// Libraries on top of transformers, or below it.
var (
	PEFT = program.Program{
		Name: "peft",
		Work: "text-training", Edits: "code", Language: "python", Script: "transformers-script",
		Proofs: []string{"-packages/peft/"},
		Like:   []*program.Program{&Transformers},
	}
	TRL = program.Program{
		Name: "trl", Commands: []string{"trl"},
		Work: "text-training", Edits: "code", Language: "python", Script: "trl-script",
		Cards: trlCards, Proofs: []string{"-packages/trl/"}, Like: []*program.Program{&Transformers}, Starts: tuning.StartsVLLM,
	}
	DeepSpeed = program.Program{
		Name: "deepspeed", Shown: "DeepSpeed", Rank: 68,
		Edits: "code", Language: "python", Script: "deepspeed-script",
		Cards:  slices.Concat(engine.DeepSpeedServing, ranks.PreparedCards, []cause.Card{ranks.Gathered, ranks.FirstBucket}, deepspeedCards),
		Proofs: []string{"GB Max_MA ", "CPU Virtual Memory: used", "site-packages/deepspeed/", "dist-packages/deepspeed/", "DeepSpeed/deepspeed/", "TorchBackend in DeepSpeed"},
		Like:   []*program.Program{&Transformers},
	}
	Accelerate = program.Program{
		Name:  "accelerate",
		Edits: "code", Language: "python", Script: "transformers-script", Hints: []string{"site-packages/accelerate/"},
	}
)
