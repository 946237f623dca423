package lab

import (
	"fmt"
	"math"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

// quantising is a card of a program that works on one layer at a time.
func quantising(program, means, not, source string, cures ...string) cause.Card {
	k := while(useOf(program, "", means, not, source, cures...), "while quantising")
	k.ID, k.If = program+"/layer", func(c *ledger.Case) bool { return ours(c) && !c.Training() }
	k.Said = []string{"in quantize", "in fasterquant", "in _search_best", "in _get_input_feat", "in add_batch", "in oneshot", "in _module_forward", "in init_quant", "model.quantize(", "in calibrate", "in _compute_best", "in quantize_module_weight", "in accumulate_hessian", "in compress"}
	return k
}

// hessianSide is how many inputs the module has whose Hessian was refused, 0 for
// another size: inputs squared x 4 bytes, a whole number of 2 MiB as a rule.
func hessianSide(c *ledger.Case) int64 {
	asked := ledger.Requested(c)
	side := int64(math.Round(math.Sqrt(float64(asked)/4)/128)) * 128
	if off := asked - 4*side*side; side >= 8192 && max(off, -off) <= asked/1000+largeStep { // as printed
		return side
	}
	return 0
}

// hessian is about the square matrix that GPTQ inverts, which no sample shrinks.
func hessian(program, source string) cause.Card {
	return cause.Card{
		ID: program + "/hessian", Kinds: cardFull, Said: []string{"cholesky(", "cholesky_inverse(", "in hessian_inverse"}, If: func(c *ledger.Case) bool { return ours(c) && hessianSide(c) > 0 }, Figures: hessianFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "had no room to invert the Hessian of one wide module: {asked} per copy",
		Means: "GPTQ builds a matrix (Hessian) per module: {side} x {side} x 4 bytes for a module with {side} inputs. Inverting it takes three to four such matrices at once ({all}), whatever samples you use.",
		Not:   "Shorter or fewer samples, or other bits: the matrix depends only on the module.",
		Cures: []cause.Cure{
			{Fix: "bigger_gpu", Title: "Quantise on a GPU with more memory", Told: "It needs about {all} on top of one layer's weights. Rent one for some hours; the quantised model then runs on yours.", Cost: "money"},
			{Fix: "use_smaller_model", Title: "Or leave the widest modules unquantised", Told: "Skip `down_proj`, which has the most inputs. Or quantise a smaller model of the family.", Cost: "a larger file"},
			{Fix: "use_lower_quant", Title: "Or use a method without Hessians", Told: "GGUF (llama.cpp's `llama-quantize`, on the CPU), bitsandbytes and AWQ need no such matrix.", Cost: "another format"},
		},
		Sources: []string{source, "https://github.com/ModelCloud/GPTQModel/issues/383"},
	}
}

func hessianFigures(c *ledger.Case) map[string]string {
	side := hessianSide(c)
	return map[string]string{"side": fmt.Sprintf("%d,%03d", side/1000, side%1000), "all": units.Amount(3*side*side*4) + " to " + units.Amount(4*side*side*4)}
}

// basicPipeline is LLM Compressor's other way (pipelines/basic/pipeline.py).
var basicPipeline = cause.Card{
	ID: "llm-compressor/basic", Kinds: cardFull, Said: []string{"pipelines/basic/pipeline.py"}, If: ours,
	Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory in the basic pipeline, which runs the whole model at once",
	Means: "The traceback shows `pipelines/basic`: it keeps the whole model on the GPU and runs every sample through it. With GPTQ the Hessians of all layers come on top. The sequential pipeline holds one layer at a time.",
	Not:   "Fewer bits in the recipe: calibration uses the unquantised model.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use the sequential pipeline, with the model in RAM", Told: "Load the model without `device_map`, then:", Kind: "python", Text: "oneshot(model=model, dataset=ds, recipe=recipe, max_seq_length=2048, num_calibration_samples=512, pipeline=\"sequential\")", Cost: "slower; RAM for the model"},
		{Fix: "lower_context", Title: "Use shorter and fewer samples", Kind: "python", Text: "oneshot(model=model, dataset=ds, recipe=recipe, max_seq_length=1024, num_calibration_samples=256)", Cost: "hardly any quality"},
		{Fix: "use_mmap", Title: "If RAM is short as well: offload the model to disk"},
	},
	Sources: []string{"llm-compressor/src/llmcompressor/pipelines/basic/pipeline.py", "llm-compressor/src/llmcompressor/args/dataset_arguments.py", "https://github.com/vllm-project/llm-compressor/issues/1858"},
}

// firstPass is AutoAWQ's first step, which gives all samples to the model at once,
// as far as its first layer (awq/quantize/quantizer.py, init_quant).
var firstPass = cause.Card{
	ID: "autoawq/first-pass", Kinds: cardFull, Said: []string{"model.quantize(", "in init_quant"},
	If:    func(c *ledger.Case) bool { return ours(c) && c.Total.Has() && c.Asked.Bytes > c.Total.Bytes/2 },
	Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "asked for {asked} at once for its calibration samples",
	Means: "No layer's weights are that large. Before the first layer, AutoAWQ passes all calibration samples to the model at once (by default 128 of up to 512 tokens). Hidden states and attention masks grow with their number.",
	Not:   "`n_parallel_calib_samples`: it splits only later passes. More GPUs: this block is allocated on one.",
	Cures: []cause.Cure{
		{Fix: "lower_context", Title: "Use fewer calibration samples", Told: "A quarter of the samples needs a quarter of this memory.", Kind: "python", Text: "model.quantize(tokenizer, quant_config=quant_config, max_calib_samples=16, max_calib_seq_len=512)   # 0.2.6 and later", Cost: "hardly any quality"},
		{Fix: "upgrade_version", Title: "Use the versions that AutoAWQ was last tested with", Told: "AutoAWQ is no longer maintained. Its last release names these:", Kind: "shell", Text: "pip install autoawq==0.2.9 torch==2.6.0 transformers==4.51.3", Cost: "an environment of its own"},
		{Fix: "use_lower_quant", Title: "Or make AWQ weights with LLM Compressor", Told: "vLLM's project took AutoAWQ over. Its `AWQModifier` works layer by layer.", Cost: "another script"},
	},
	Sources: []string{"AutoAWQ/awq/quantize/quantizer.py", "AutoAWQ/README.md", "https://github.com/casper-hansen/AutoAWQ/issues/382", "https://github.com/casper-hansen/AutoAWQ/issues/482"},
}

// layerCosts are those of calibrating with less at a time.
var layerCosts = map[string]string{"lower_context": "hardly any quality", "cpu_offload": "slower", "lower_batch_size": "slower"}

// inRAM is a card of a program that holds the unquantised model in RAM.
func inRAM(program, means, not, source string, first ...cause.Cure) cause.Card {
	return cause.Card{
		ID: program + "/ram", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM)",
		Means:    means, Not: not,
		Cures:   append(first, cause.Cure{Fix: "add_swap"}, cause.Cure{Fix: "use_smaller_model", Title: "Or download a quantised version", Told: "Somebody may have made it: search huggingface.co for the model's name with AWQ, GPTQ or FP8.", Cost: "none"}),
		Sources: []string{source},
	}
}

// Programs that make quantised or merged weights.
var (
	// GPTQModel is ModelCloud's, AutoGPTQ before it.
	GPTQModel = program.Program{
		Name: "gptqmodel", Shown: "GPTQModel", Work: "text-inference", Edits: "code", Language: "python", Rank: 64,
		Sources: program.Sources{"GPTQModel/README.md": "CUDA_VISIBLE_DEVICES", "GPTQModel/gptqmodel/models/base.py": "batch_size calibration_concat_size", "GPTQModel/gptqmodel/quantization/config.py": "offload_to_disk auto_forward_data_parallel"},
		Proofs:  []string{"gptqmodel/"},
		Steps: spelling{
			"lower_batch_size": step.Paste("python", "model.quantize(calibration, batch_size=1)   # 1 is the default"),
			"lower_context":    step.Paste("python", "calibration = [x for x in calibration if len(x[\"input_ids\"]) <= 1024][:256]   # shorter and fewer samples"),
			"cpu_offload":      step.Paste("python", "quant_config = QuantizeConfig(bits=4, group_size=128, offload_to_disk=True, auto_forward_data_parallel=False)   # 5.0 and later"),
			"multi_gpu":        say("Use `CUDA_VISIBLE_DEVICES=0,1`. It uses a second GPU automatically."),
		},
		Titles: map[string]string{"lower_context": "Use shorter and fewer calibration samples", "cpu_offload": "Offload finished layers to disk"},
		Costs:  layerCosts, Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{hessian("gptqmodel", "GPTQModel/gptqmodel/quantization/gptq.py"), quantising("gptqmodel",
			"It quantises one layer at a time. That layer needs the outputs of all calibration samples, and a Hessian per module (0.77 GiB for 14,336 inputs). Long samples and large MoE layers need the most.",
			"Fewer `bits`: they shrink the result, not the memory for quantising.", "GPTQModel/gptqmodel/quantization/config.py",
			"lower_context", "cpu_offload", "multi_gpu"),
			inRAM("gptqmodel", "GPTQModel keeps the 16-bit model in RAM (2 GB per billion parameters), with the outputs of all calibration samples. Finished layers stay there until saving, unless `offload_to_disk` is on.", "Fewer `bits`: the 16-bit model is loaded anyway.", "GPTQModel/gptqmodel/quantization/config.py", cause.Cure{Fix: "cpu_offload"}, cause.Cure{Fix: "lower_context"})},
	}
	// TRTQuantize is TensorRT-LLM's examples/quantization/quantize.py, and ModelOpt
	// (AMMO before) below it.
	TRTQuantize = program.Program{
		Name: "tensorrt-llm-quantize", Shown: "TensorRT-LLM's quantize.py", Work: "text-inference", Edits: "flags", Language: "python",
		Sources: program.Sources{"TensorRT-LLM/examples/quantization/quantize.py": "CUDA_VISIBLE_DEVICES --model_dir --qformat --device_map --device --batch_size --calib_size --calib_max_seq_length --output_dir"},
		Proofs:  []string{"--qformat", "tensorrt_llm/quantization/", "modelopt/torch/quantization", "ammo/torch/quantization"},
		Steps: spelling{
			"lower_context":    say("Use `--calib_max_seq_length 256` and half of your `--calib_size` (both are 512 by default). Leave `--batch_size 1`."),
			"lower_batch_size": say("Use `--batch_size 1`, the default. `--calib_size` counts all samples, not those on the GPU at once."),
			"cpu_offload":      say("Use `--device_map auto` (the default of newer releases). It puts on the CPU what does not fit on the GPUs. `--device cpu` calibrates on the CPU, which takes hours."),
			"multi_gpu":        say("Make more GPUs visible (`CUDA_VISIBLE_DEVICES=0,1`): `--device_map auto` spreads the model over them."),
		},
		Titles:  map[string]string{"lower_context": "Calibrate with shorter and fewer samples", "cpu_offload": "Keep part of the model in RAM", "multi_gpu": "Spread the model over several GPUs"},
		Costs:   map[string]string{"lower_context": "hardly any quality", "cpu_offload": "much slower", "multi_gpu": "the GPUs"},
		Effects: map[string]func(*ledger.Case) *effect.Effect{"cpu_offload": func(*ledger.Case) *effect.Effect { return nil }}, // how much of the model is still to come is not known
		Cards: []cause.Card{{
			ID: "tensorrt-llm-quantize/model", Kinds: cardFull, If: func(c *ledger.Case) bool { return ours(c) && !c.Training() }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] while quantising",
			Means:    "The script loads the whole 16-bit model (2 GB per billion parameters) and runs the calibration through it. The target format (`--qformat`) saves nothing before the export.",
			Not:      "Fewer bits in `--qformat`: the 16-bit model is loaded anyway.",
			Cures:    fixes("multi_gpu", "cpu_offload", "lower_context"), Sources: []string{"TensorRT-LLM/examples/quantization/quantize.py"},
		}, inRAM("tensorrt-llm-quantize", "The script loads the whole 16-bit model, 2 GB per billion parameters (70B: 140 GB). With `--device_map auto`, what does not fit on the GPUs stays in RAM. Saving holds part of the weights a second time.", "Fewer bits in `--qformat`: the 16-bit model is loaded anyway.", "TensorRT-LLM/examples/quantization/quantize.py")},
	}
	// AutoGPTQ is read as a loader, too, by Transformers and others.
	AutoGPTQ = program.Program{
		Name: "autogptq", Shown: "AutoGPTQ", Work: "text-inference", Edits: "code", Language: "python", Rank: 64,
		Sources:  program.Sources{"AutoGPTQ/auto_gptq/modeling/_base.py": "cache_examples_on_gpu batch_size max_memory"},
		Proofs:   []string{"auto_gptq/", "AutoGPTQForCausalLM", "from auto_gptq import"},
		Beside:   map[string][]string{"AutoGPTQForCausalLM": {"from_pretrained("}},
		Remedies: map[string][]cause.Remedy{cause.ModelTooLarge: {{Fix: "cpu_offload", Fit: cause.Foremost}, {Fix: "lower_batch_size", Fit: cause.Cures}, {Fix: "lower_context", Fit: cause.Helps}}},
		Steps: spelling{
			"lower_batch_size": step.Paste("python", "model.quantize(examples, batch_size=1, cache_examples_on_gpu=False)"),
			"lower_context":    step.Paste("python", "examples = [x for x in examples if len(x[\"input_ids\"]) <= 1024][:128]   # shorter and fewer samples"),
			"cpu_offload":      step.Paste("python", "model = AutoGPTQForCausalLM.from_pretrained(name, quantize_config)   # without max_memory: it stays in RAM, one layer at a time visits the GPU"),
			"multi_gpu":        step.Paste("python", "model = AutoGPTQForCausalLM.from_pretrained(name, quantize_config, max_memory={0: \"20GiB\", 1: \"20GiB\", \"cpu\": \"60GiB\"})"),
		},
		Titles: map[string]string{"lower_batch_size": "Keep the examples in RAM (`cache_examples_on_gpu=False`)", "lower_context": "Use shorter and fewer examples", "cpu_offload": "Keep the model in RAM (no `max_memory`)"},
		Costs:  layerCosts, Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{hessian("autogptq", "AutoGPTQ/auto_gptq/quantization/gptq.py"), quantising("autogptq",
			"It quantises one layer at a time. By default the hidden states of all examples also stay on the GPU: examples x length x width x 2 bytes. The rest of the model is in RAM, unless `max_memory` puts it on the GPU.",
			"Fewer `bits`: they shrink the result, not the memory for quantising.", "AutoGPTQ/auto_gptq/modeling/_base.py",
			"lower_batch_size", "lower_context", "cpu_offload"),
			inRAM("autogptq", "AutoGPTQ keeps the 16-bit model in RAM (2 GB per billion parameters) while one layer after another visits the GPU. With `cache_examples_on_gpu=False` the examples' hidden states are there too.", "Fewer `bits`: the 16-bit model is loaded anyway.", "AutoGPTQ/auto_gptq/modeling/_base.py", cause.Cure{Fix: "lower_context"})},
	}
	// AutoAWQ searches scales with calibration samples.
	AutoAWQ = program.Program{
		Name: "autoawq", Shown: "AutoAWQ", Work: "text-inference", Edits: "code", Language: "python", Rank: 64,
		Sources: program.Sources{"AutoAWQ/awq/models/base.py": "n_parallel_calib_samples max_calib_samples max_calib_seq_len max_chunk_memory"},
		Proofs:  []string{"-packages/awq/", "awq/quantize/", "awq/models/", "AutoAWQ/", "AutoAWQForCausalLM"},
		Beside:  map[string][]string{"AutoAWQForCausalLM": {"from_pretrained("}},
		Steps: spelling{
			"lower_batch_size": step.Paste("python", "model.quantize(tokenizer, quant_config=quant_config, n_parallel_calib_samples=8, max_chunk_memory=256 * 1024 * 1024)   # 0.2.6 and later"),
			"lower_context":    step.Paste("python", "model.quantize(tokenizer, quant_config=quant_config, max_calib_samples=32, max_calib_seq_len=512)   # 0.2.6 and later; 128 and 512 by default"),
			"cpu_offload":      step.Paste("python", "model = AutoAWQForCausalLM.from_pretrained(path, device_map=\"cpu\", low_cpu_mem_usage=True, use_cache=False)   # layers visit the GPU one by one"),
		},
		Titles: map[string]string{"lower_batch_size": "Set `n_parallel_calib_samples`", "lower_context": "Use fewer and shorter samples", "cpu_offload": "Keep the other layers in RAM"},
		Costs:  layerCosts, Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{firstPass, quantising("autoawq",
			"All calibration samples (by default 128 of up to 512 tokens) go through a layer at once, unless you set `n_parallel_calib_samples`. MoE and wide MLP layers need the most. With `device_map=\"auto\"` (the default from 0.2.7 on) other layers fill the GPU too.",
			"A smaller `w_bit`: it shrinks the result, not the memory for quantising.", "AutoAWQ/awq/models/base.py",
			"lower_batch_size", "cpu_offload", "lower_context"),
			inRAM("autoawq", "AutoAWQ keeps the 16-bit model in RAM (2 GB per billion parameters) while one layer after another visits the GPU, with the calibration samples' hidden states.", "A smaller `w_bit`: the 16-bit model is loaded anyway.", "AutoAWQ/awq/models/base.py", cause.Cure{Fix: "lower_context"})},
	}
	// LLMCompressor is the vLLM project's.
	LLMCompressor = program.Program{
		Name: "llm-compressor", Shown: "LLM Compressor", Work: "text-inference", Edits: "code", Language: "python",
		Sources: program.Sources{"llm-compressor/docs/guides/entrypoints/oneshot.md": "num_calibration_samples max_seq_length sequential_targets sequential_offload_device pipeline", "llm-compressor/docs/guides/big_models_and_distributed/model_loading.md": "offload_folder"},
		Proofs:  []string{"llmcompressor/", "llm-compressor/"},
		Steps: spelling{
			"lower_batch_size": step.Paste("python", "oneshot(model=model, dataset=ds, recipe=recipe, max_seq_length=1024, num_calibration_samples=256, sequential_targets=[\"Linear\"])"),
			"lower_context":    step.Paste("python", "oneshot(model=model, dataset=ds, recipe=recipe, max_seq_length=1024, num_calibration_samples=256)"),
			"cpu_offload":      step.Paste("python", "model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=\"auto\")   # no device_map: layers come to the GPU one by one"),
			"use_mmap":         step.Paste("python", "with load_offloaded_model():   # from compressed_tensors.offload\n    model = AutoModelForCausalLM.from_pretrained(name, device_map=\"auto_offload\", offload_folder=\"./offload\")"),
		},
		Titles: map[string]string{"lower_batch_size": "Quantise one linear layer at a time", "lower_context": "Use shorter and fewer samples", "cpu_offload": "Load the model in RAM (no `device_map`)", "use_mmap": "Offload the model to disk"},
		Costs:  layerCosts, Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{
			basicPipeline,
			quantising("llm-compressor",
				"The sequential pipeline quantises one decoder layer at a time: the GPU must hold that layer, its Hessians (GPTQ) and one sample. If you load with `device_map=\"cuda\"` or `\"auto\"`, the whole model takes GPU memory too.",
				"Fewer bits in the recipe: they shrink the result, not the memory for quantising.", "llm-compressor/docs/guides/big_models_and_distributed/sequential_onloading.md",
				"cpu_offload", "lower_batch_size", "lower_context"),
			{
				ID: "llm-compressor/ram", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "The whole 16-bit model is in RAM, 2 GB per billion parameters (70B: 140 GB), and part of it a second time while saving. With several ranks, each loads its own copy by default.",
				Not:      "A smaller `max_seq_length`: most of the RAM holds weights.",
				Cures:    fixes("use_mmap", "add_swap"), Sources: []string{"llm-compressor/docs/guides/big_models_and_distributed/model_loading.md"},
			},
		},
	}
	// Mergekit merges checkpoints.
	Mergekit = program.Program{
		Name: "mergekit", Shown: "mergekit", Work: "text-inference", Edits: "flags", Language: "python", Commands: []string{"mergekit-yaml", "mergekit-moe"},
		Sources: program.Sources{"mergekit/mergekit/scripts/moe.py": "--load-in-4bit", "mergekit/mergekit/options.py": "--lazy-unpickle --low-cpu-memory --cuda --read-to-gpu --gpu-rich --out-shard-size --multi-gpu"},
		Proofs:  []string{"mergekit/", "mergekit-yaml", "mergekit-moe"},
		Steps: spelling{
			"use_mmap":         say("Add `--lazy-unpickle` (for .bin checkpoints) and `--out-shard-size 1B`. A shard stays in RAM until it is written; the default is 5B parameters, 10 GB in 16 bit."),
			"cpu_offload":      say("Leave out `--cuda`, `--gpu-rich`, `--low-cpu-memory` and `--read-to-gpu`. It then merges on the CPU, tensor by tensor."),
			"lower_batch_size": say("Use `--out-shard-size 1B`."),
			"lower_context":    say("`mergekit-moe` only: set `gate_mode: cheap_embed`, which runs no prompts through the model. With hidden gates add `--load-in-4bit`."),
			"load_in_4bit":     say("Use `mergekit-moe`: `--load-in-4bit` for the gates."),
		},
		Titles: map[string]string{"use_mmap": "Use smaller shards and `--lazy-unpickle`", "cpu_offload": "Merge on the CPU", "lower_batch_size": "Write smaller shards", "lower_context": "Use `gate_mode: cheap_embed`"},
		Costs:  map[string]string{"cpu_offload": "slower, minutes instead of seconds", "lower_batch_size": "more files"},
		Cards: []cause.Card{
			{
				ID: "mergekit/ram", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "mergekit holds one tensor of each model plus the output shard, by default 5 billion parameters (10 GB in 16 bit, 20 GB in 32 bit). It reads .bin checkpoints whole, unless you set `--lazy-unpickle`.",
				Cures:    fixes("use_mmap", "add_swap"), Sources: []string{"mergekit/mergekit/options.py"},
			},
			useOf("mergekit", "while merging on the GPU", "`--cuda` merges on the GPU. `--low-cpu-memory` and `--gpu-rich` also keep inputs and results there until a shard is full: by default 5 billion parameters, 10 GB in 16 bit.",
				"", "mergekit/mergekit/options.py", "cpu_offload", "lower_batch_size"),
		},
	}
)
