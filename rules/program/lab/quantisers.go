package lab

import (
	"fmt"
	"math"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
	"github.com/oomdoc/oomdoc/rules/step"
)

// quantising is a card of a program that works on one layer at a time.
func quantising(program, means, not, source string, cures ...string) cause.Card {
	k := while(useOf(program, "", means, not, source, cures...), "while it quantised")
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
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "had no room to invert the Hessian of one module: {asked} for each copy",
		Means: "{asked} is {side} x {side} x 4 bytes: the Hessian of a module with {side} inputs. Inverting it takes three to four such matrices at once ({all}), whatever the samples are.",
		Not:   "Shorter or fewer samples, more bits: the matrix has the module's inputs squared.",
		Cures: []cause.Cure{
			{Fix: "bigger_gpu", Title: "Quantise on a card with more memory", Told: "About {all} beside one layer's weights; a rented one for some hours. The quantised model runs on yours.", Cost: "money"},
			{Fix: "use_smaller_model", Title: "Or leave the widest modules unquantised", Told: "`down_proj` has the most inputs; a smaller model of the family has narrower ones.", Cost: "a larger file"},
			{Fix: "use_lower_quant", Title: "Or a quantiser without Hessians", Told: "GGUF (llama.cpp's `llama-quantize`, on the CPU), bitsandbytes, or AWQ need no matrix of that size.", Cost: "another format"},
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
	Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "ran out of memory in the basic pipeline, which runs the whole model",
	Means: "`pipelines/basic` is in the traceback: every sample goes through the whole model, which lies on the GPUs, and GPTQ's Hessians of all layers (inputs squared x 4 bytes for each module) come beside it.[[ This process holds {mine} of {total}.]] The sequential pipeline holds one layer at a time.",
	Not:   "More cards of the same size, as a rule; fewer bits in the recipe.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use the sequential pipeline, with the model in RAM", Told: "Load without `device_map`:", Kind: "python", Text: "oneshot(model=model, dataset=ds, recipe=recipe, max_seq_length=2048, num_calibration_samples=512, pipeline=\"sequential\")", Cost: "slower; RAM for the model"},
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
	Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "asked for {asked} in one piece for its calibration samples",
	Means: "No weight of a layer is that large. Before its first layer AutoAWQ gives all calibration samples to the model at once (128 of at most 512 tokens by default), and what is made of them there (hidden states, attention masks) grows with their number.",
	Not:   "`n_parallel_calib_samples`, which splits later passes only; `use_cache=False`; more cards: this piece is made on one.",
	Cures: []cause.Cure{
		{Fix: "lower_context", Title: "Use fewer calibration samples", Told: "A quarter of the samples makes this piece a quarter.", Kind: "python", Text: "model.quantize(tokenizer, quant_config=quant_config, max_calib_samples=16, max_calib_seq_len=512)   # 0.2.6 and later", Cost: "hardly any quality"},
		{Fix: "upgrade_version", Title: "Use the versions that AutoAWQ was last tested with", Told: "It is no longer maintained; its last release names these:", Kind: "shell", Text: "pip install autoawq==0.2.9 torch==2.6.0 transformers==4.51.3", Cost: "an environment of its own"},
		{Fix: "use_lower_quant", Title: "Or make the AWQ weights with LLM Compressor", Told: "vLLM's project took AutoAWQ over: `AWQModifier` there goes through the model layer by layer.", Cost: "another script"},
	},
	Sources: []string{"AutoAWQ/awq/quantize/quantizer.py", "AutoAWQ/README.md", "https://github.com/casper-hansen/AutoAWQ/issues/382", "https://github.com/casper-hansen/AutoAWQ/issues/482"},
}

// layerCosts are those of calibrating with less at a time.
var layerCosts = map[string]string{"lower_context": "hardly any quality", "cpu_offload": "slower", "lower_batch_size": "slower"}

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
			"multi_gpu":        say("`CUDA_VISIBLE_DEVICES=0,1`: a second card is used by itself."),
		},
		Titles: map[string]string{"lower_context": "Use shorter and fewer calibration samples", "cpu_offload": "Offload finished layers to disk"},
		Costs:  layerCosts, Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{hessian("gptqmodel", "GPTQModel/gptqmodel/quantization/gptq.py"), quantising("gptqmodel",
			"One layer is quantised at a time, with the outputs of all calibration samples and the Hessian of each of its modules (inputs squared x 4 bytes: 0.77 GiB for 14,336). Long samples and large MoE layers need the most.",
			"Fewer `bits`: they change the result, not the memory while quantising.", "GPTQModel/gptqmodel/quantization/config.py",
			"lower_context", "cpu_offload", "multi_gpu")},
	}
	// TRTQuantize is TensorRT-LLM's examples/quantization/quantize.py, and ModelOpt
	// (AMMO before) below it.
	TRTQuantize = program.Program{
		Name: "tensorrt-llm-quantize", Shown: "TensorRT-LLM's quantize.py", Work: "text-inference", Edits: "flags", Language: "python",
		Sources: program.Sources{"TensorRT-LLM/examples/quantization/quantize.py": "CUDA_VISIBLE_DEVICES --model_dir --qformat --device_map --device --batch_size --calib_size --calib_max_seq_length --output_dir"},
		Proofs:  []string{"--qformat", "tensorrt_llm/quantization/", "modelopt/torch/quantization", "ammo/torch/quantization"},
		Steps: spelling{
			"lower_context":    say("`--calib_max_seq_length 256 --calib_size 64` (512 each by default); `--batch_size 1` is the default."),
			"lower_batch_size": say("`--batch_size 1`, the default; `--calib_size` counts samples, not what is on the GPU at once."),
			"cpu_offload":      say("`--device_map auto` (the default of newer releases) puts on the CPU what the GPUs do not hold; `--device cpu` calibrates there, for hours."),
			"multi_gpu":        say("More cards in sight (`CUDA_VISIBLE_DEVICES=0,1`): `--device_map auto` spreads the model over them."),
		},
		Titles: map[string]string{"lower_context": "Calibrate with shorter and fewer samples", "cpu_offload": "Let a part of the model lie in RAM", "multi_gpu": "Spread the model over several cards"},
		Costs:  map[string]string{"lower_context": "hardly any quality", "cpu_offload": "much slower", "multi_gpu": "the GPUs"},
		Cards: []cause.Card{{
			ID: "tensorrt-llm-quantize/model", Kinds: cardFull, If: func(c *ledger.Case) bool { return ours(c) && !c.Training() }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] while it quantised",
			Means:    "The script loads the whole model at 16 bit, 2 GB a billion parameters, and runs the calibration through it; the format that is wanted (`--qformat`) saves nothing before the export.",
			Not:      "Fewer bits in `--qformat`: the 16-bit model is loaded all the same.",
			Cures:    fixes("multi_gpu", "cpu_offload", "lower_context"), Sources: []string{"TensorRT-LLM/examples/quantization/quantize.py"},
		}},
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
		Costs:  layerCosts, Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{hessian("autogptq", "AutoGPTQ/auto_gptq/quantization/gptq.py"), quantising("autogptq",
			"One layer is quantised at a time, but the hidden states of all examples stay on the GPU by default: examples x length x width x 2 bytes, and the Hessians of the layer. The rest of the model is in RAM, unless `max_memory` puts it on the GPU.",
			"Fewer `bits`: they change the result, not the memory while quantising.", "AutoGPTQ/auto_gptq/modeling/_base.py",
			"lower_batch_size", "lower_context", "cpu_offload")},
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
		Costs:  layerCosts, Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{firstPass, quantising("autoawq",
			"All calibration samples (128 of 512 tokens by default) go through a layer at once unless `n_parallel_calib_samples` is set; MoE and wide MLP layers need the most. The other layers need not be on the GPU, but with `device_map=\"auto\"` (the default from 0.2.7 on) as many as fit are.",
			"A smaller `w_bit`: it changes the result, not the memory while quantising.", "AutoAWQ/awq/models/base.py",
			"lower_batch_size", "cpu_offload", "lower_context")},
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
		Costs:  layerCosts, Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{
			basicPipeline,
			quantising("llm-compressor",
				"The sequential pipeline quantises one decoder layer at a time: the GPU must hold that layer, its Hessians (GPTQ) and one sample. With `device_map=\"cuda\"` or `\"auto\"` the whole model is there as well. The basic pipeline runs the model as a whole.",
				"Fewer bits in the recipe: they change the result, not the memory while quantising.", "llm-compressor/docs/guides/big_models_and_distributed/sequential_onloading.md",
				"cpu_offload", "lower_batch_size", "lower_context"),
			{
				ID: "llm-compressor/ram", Kinds: trainer.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "The whole model is in RAM at 16 bit, 2 GB a billion parameters (70B: 140 GB), and a part of it once more while saving. Each of several ranks loads it by default.",
				Not:      "A smaller `max_seq_length`: the weights take most of the RAM.",
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
			"use_mmap":         say("Add `--lazy-unpickle` (checkpoints in .bin), and `--out-shard-size 1B`: a shard is kept until it is written, 5B parameters by default (10 GB at 16 bit)."),
			"cpu_offload":      say("Leave out `--cuda`, `--gpu-rich`, `--low-cpu-memory` and `--read-to-gpu`: it merges on the CPU, tensor by tensor."),
			"lower_batch_size": say("`--out-shard-size 1B`."),
			"lower_context":    say("`mergekit-moe` only: `gate_mode: cheap_embed` runs no prompts through the model; with hidden gates `--load-in-4bit` takes less."),
			"load_in_4bit":     say("`mergekit-moe`: `--load-in-4bit` for the gates."),
		},
		Titles: map[string]string{"use_mmap": "Use smaller shards and `--lazy-unpickle`", "cpu_offload": "Merge on the CPU", "lower_batch_size": "Write smaller shards", "lower_context": "Use `gate_mode: cheap_embed`"},
		Costs:  map[string]string{"cpu_offload": "slower, minutes instead of seconds", "lower_batch_size": "more files"},
		Cards: []cause.Card{
			{
				ID: "mergekit/ram", Kinds: trainer.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "mergekit holds one tensor of each model and the output shard, 5 billion parameters by default (10 GB at 16 bit, 20 at 32). Checkpoints in .bin files are read whole unless `--lazy-unpickle` is set.",
				Cures:    fixes("use_mmap", "add_swap"), Sources: []string{"mergekit/mergekit/options.py"},
			},
			useOf("mergekit", "while it merged on the GPU", "`--cuda` merges on the GPU; `--low-cpu-memory` and `--gpu-rich` also keep inputs and results there until a shard is full: 5 billion parameters by default, 10 GB at 16 bit.",
				"", "mergekit/mergekit/options.py", "cpu_offload", "lower_batch_size"),
		},
	}
)
