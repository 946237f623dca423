package lab

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

// AutoRound is Intel's, which tunes how weights are rounded, block by block.
var AutoRound = program.Program{
	Name: "auto-round", Shown: "AutoRound", Work: "text-inference", Edits: "code", Language: "python", Rank: 64, Commands: []string{"auto-round", "auto_round"},
	Sources: program.Sources{
		"auto-round/docs/step_by_step.md":     "low_gpu_mem_usage batch_size gradient_accumulate_steps seqlen nsamples device_map iters --disable_opt_rtn low_cpu_mem_usage --gradient_accumulate_steps",
		"auto-round/auto_round/cli/parser.py": "--low_gpu_mem_usage --bs --seqlen --nsamples --device_map",
	},
	Proofs: []string{"auto_round/compressors/", "auto_round/autoround.py", "-packages/auto_round/", "auto-round/auto_round/", "AutoRound(", "from auto_round import"},
	Steps: spelling{
		"cpu_offload":      say("Add `--low_gpu_mem_usage`; in code `AutoRound(..., low_gpu_mem_usage=True)`."),
		"lower_batch_size": say("Use `--bs 1 --gradient_accumulate_steps 8`; in code `batch_size=1, gradient_accumulate_steps=8`."),
		"lower_context":    say("Use `--seqlen 512` (2048 by default); in code `AutoRound(..., seqlen=512)`."),
		"multi_gpu":        step.Paste("python", "ar = AutoRound(name, scheme=\"W4A16\", device_map=\"0,1\")   # AutoRound's own device_map; --device_map auto"),
		"use_lower_quant":  say("Use `iters=0` in AutoRound(...): it then only rounds, without tuning. From 0.13 on, `--disable_opt_rtn` on the command line also avoids loading the whole model."),
	},
	Titles: map[string]string{"cpu_offload": "Keep features in RAM (low_gpu_mem_usage)", "lower_batch_size": "Tune one sample at a time", "lower_context": "Use shorter samples", "multi_gpu": "Use several GPUs (AutoRound's `device_map`)", "use_lower_quant": "Round without tuning"},
	Costs:  map[string]string{"cpu_offload": "30 to 100 % slower", "lower_batch_size": "slower", "lower_context": "perhaps some accuracy", "multi_gpu": "the GPUs", "use_lower_quant": "accuracy"},
	Like:   []*program.Program{&parts.DataAside},
	Cards: []cause.Card{{
		ID: "auto-round/block", Kinds: cardFull, If: ours, Among: []string{cause.Fragmentation, cause.BatchTooLarge, cause.ModelTooLarge, cause.OversizedAllocation, cause.Unknown},
		Headline: "ran out of GPU memory while quantising",
		Means:    "AutoRound tunes one block at a time. Its documentation lists 18 GB for an 8B model and 42 GB for 70B (W4A16), and 10 and 25 GB with `low_gpu_mem_usage`. A block of a large MoE model has all its experts. While collecting inputs it falls back to the CPU if the GPU is full, so this message need not stop the run.",
		Not:      "Fewer bits: tuning works on the 16-bit weights.",
		Cures:    fixes("cpu_offload", "lower_batch_size", "multi_gpu", "lower_context", "use_lower_quant"),
		Sources:  []string{"auto-round/docs/step_by_step.md", "auto-round/README.md", "https://github.com/intel/auto-round/issues/1211"},
	}, {
		ID: "auto-round/ram", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM)",
		Means:    "AutoRound loads the whole 16-bit model into RAM, 2 GB per billion parameters (70B: 140 GB). With `low_gpu_mem_usage` the inputs of a block wait there too: samples x length x width x 2 bytes.",
		Not:      "A smaller `--bs`: it saves GPU memory.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Keep fewer inputs in RAM", Told: "Use `--nsamples 64 --seqlen 1024` (128 and 2048 by default).", Cost: "perhaps some accuracy"},
			{Fix: "add_swap"},
			{Fix: "use_smaller_model", Title: "Or download a quantised version", Told: "Search huggingface.co for the model's name with AutoRound, AWQ or GPTQ.", Cost: "none"},
		},
		Sources: []string{"auto-round/docs/step_by_step.md"},
	}},
}
