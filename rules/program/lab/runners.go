package lab

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Programs that run language models, each in a way of its own.
var (
	// MetaLlama is Meta's own code for Llama 1 to 3.
	MetaLlama = program.Program{
		Name: "meta-llama", Shown: "Meta's Llama code", Work: "text-inference", Edits: "code", Language: "python",
		Sources: program.Sources{"llama/README.md": "--max_seq_len --max_batch_size --nproc_per_node", "llama/llama/generation.py": "model_parallel_size"},
		Proofs:  []string{"llama/generation.py", "example_chat_completion.py", "example_text_completion.py"},
		Steps: spelling{
			"lower_context":     say("Use `--max_seq_len 512 --max_batch_size 1`. The KV cache for both is reserved at the start (defaults: 2048 and 32)."),
			"lower_batch_size":  say("Use `--max_batch_size 1` (4 to 8 in the examples). Pass no more prompts at once than that."),
			"use_smaller_model": say("The next smaller checkpoint: 7B (8B) is 1 file, 13B 2, 70B 8, and `--nproc_per_node` must be the number of files."),
			"load_in_4bit":      say("Use Ollama or llama.cpp with a Q4_K_M file, or Transformers with bitsandbytes. Meta's code runs 16 bit only."),
			"multi_gpu":         say("It splits a model into as many parts as it has files, no more: 7B runs on one GPU."),
		},
		Costs:   map[string]string{"lower_context": "shorter prompts and answers"},
		Useless: map[string]func(*ledger.Case) string{"lower_context": belowLlama},
		Titles:  map[string]string{"lower_context": "Lower `--max_seq_len` and `--max_batch_size`", "load_in_4bit": "Run a 4-bit model in another program"},
		Cards: []cause.Card{
			{
				ID: "meta-llama/ram", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "Each rank first reads its whole checkpoint file (consolidated.NN.pth) into RAM: 13.5 GB for 7B, 16 GB for 8B, 2 x 13 GB for 13B, 8 x 17 GB for 70B.",
				Not:      "`--max_seq_len`, `--max_batch_size`: they save GPU memory only.",
				Cures: []cause.Cure{
					{Fix: "add_swap"},
					{Fix: "raise_memory_limit", Title: "Give the container, job or WSL more RAM", Told: "Docker `--memory`, Slurm `--mem`; WSL: `memory=24GB` below `[wsl2]` in .wslconfig (half of the RAM by default).", Cost: "less for the rest of the machine"},
					{Fix: "load_in_4bit"},
				},
				Sources: []string{"llama/llama/generation.py"},
			},
			llamaTooLarge, llamaMatrix,
			{
				ID: "meta-llama/build", Kinds: cardFull, Cause: cause.ModelTooLarge, Weight: cause.Strong, If: func(c *ledger.Case) bool { return ours(c) && !c.Training() }, Figures: phaseFigures,
				Said:     []string{"in build", "in __init__", "in load"},
				Headline: "ran out of GPU memory while building the model",
				Means:    "The weights take 2 GB per billion parameters in 16 bit (7B: 13.5 GB, 8B: 16 GB). The whole KV cache of `max_batch_size` x `max_seq_len` is reserved with them: 0.5 MB per token for 7B.",
				Not:      "A shorter prompt: the KV cache is reserved at the start.",
				Cures: []cause.Cure{
					{Fix: "lower_context"},
					{Fix: "load_in_4bit", Told: "Use Ollama or llama.cpp with a Q4_K_M file, or Transformers with bitsandbytes. Meta's code runs 16 bit only."},
					{Fix: "use_smaller_model", If: func(c *ledger.Case) bool { return belowLlama(c) == "" }},
					{Fix: "use_smaller_model", If: func(c *ledger.Case) bool { return belowLlama(c) != "" }, Title: "Or a smaller Llama", Told: "Llama 3.2 has 1B and 3B (2.3 and 6 GiB in 16 bit); they run in Transformers.", Cost: "quality"},
					llamaBigger,
				},
				Sources: []string{"llama/llama/generation.py", "llama/llama/model.py"},
			},
			useOf("meta-llama", "while generating", "The weights (2 GB per billion parameters, divided by the number of ranks) and the KV cache are reserved at the start. Logits and attention for the prompt come on top.", "A smaller `max_gen_len`: the KV cache does not depend on it.", "llama/llama/generation.py", "lower_context", "load_in_4bit", "use_smaller_model"),
		},
	}
	// KTransformers keeps experts in RAM.
	KTransformers = program.Program{
		Name: "ktransformers", Shown: "KTransformers", Work: "text-inference", Edits: "flags", Language: "python", Commands: []string{"ktransformers"},
		Sources: program.Sources{"ktransformers/archive/ktransformers/server/args.py": "--cache_lens --chunk_size --max_batch_size --max_new_tokens --optimize_config_path --cpu_infer --gguf_path", "ktransformers/doc/en/kt-kernel/GLM-5-Tutorial.md": "--kt-num-gpu-experts --chunked-prefill-size --mem-fraction-static --max-total-tokens"},
		Proofs:  []string{"ktransformers/", "kt-kernel", "--kt-num-gpu-experts"},
		Steps: spelling{
			"lower_context":      say("Use `--cache_lens 8192` (server: prompt and answer of all users together), or `--max_new_tokens 1000` (local_chat). On SGLang: `--max-total-tokens 16384`."),
			"lower_batch_size":   say("Use `--chunk_size 256` (prompt tokens per step) and `--max_batch_size 1`. On SGLang: `--chunked-prefill-size 4096`."),
			"moe_cpu_offload":    say("Use a rule file that keeps fewer experts on the GPU (`--optimize_config_path` without `-serve-marlin` or multi-GPU experts). On SGLang: lower `--kt-num-gpu-experts`."),
			"lower_mem_fraction": say("On SGLang, lower `--mem-fraction-static`, so that reading the prompt has room."),
			"use_lower_quant":    say("Pass a smaller GGUF with `--gguf_path`: for a 671B model Q4_K_M takes 382 GB of RAM, IQ1 and Q2 files 130 to 250 GB."),
		},
		Costs:  map[string]string{"lower_context": "shorter prompts and answers", "lower_batch_size": "prompts are read more slowly"},
		Titles: map[string]string{"lower_context": "Lower the cache length", "lower_batch_size": "Read the prompt in smaller chunks", "moe_cpu_offload": "Keep fewer experts on the GPU"},
		Cards: []cause.Card{
			{
				ID: "ktransformers/ram", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "KTransformers keeps the experts in RAM: 382 GB for DeepSeek-R1 or V3 in Q4_K_M. With `USE_NUMA=1` each of two CPU sockets has its own copy, 1 TB in all.",
				Not:      "A shorter context: it saves GPU memory.",
				Cures:    fixes("use_lower_quant", "add_swap"), Sources: []string{"ktransformers/doc/en/DeepseekR1_V3_tutorial.md"},
			},
			saying(anyPhase(loadOf("ktransformers", "The GPU holds attention, shared experts and the KV cache; the routed experts are in RAM. DeepSeek-V3 takes about 14 GB of GPU memory with the default rules, more if rules put experts there.", "A smaller quantisation: it saves mostly RAM.", "ktransformers/doc/en/DeepseekR1_V3_tutorial.md", "moe_cpu_offload", "lower_context")), "ktransformers/weights", "in optimize_and_load_gguf", "in load_weights", "in load_gguf_tensor"),
			useOf("ktransformers", "while reading a prompt or answering", "The GPU holds attention, the KV cache (`--cache_lens`) and the activations of one prompt chunk (`--chunk_size`). The experts are mostly in RAM.", "A smaller quantisation: it saves mostly RAM.", "ktransformers/archive/ktransformers/server/args.py", "lower_batch_size", "lower_context", "moe_cpu_offload"),
		},
	}
	// AirLLM runs one layer after another from disk.
	AirLLM = program.Program{
		Name: "airllm", Shown: "AirLLM", Work: "text-inference", Edits: "code", Language: "python",
		Sources: program.Sources{"airllm/README.md": "compression prefetching delete_original layer_shards_saving_path max_length"},
		Proofs:  []string{"airllm/", "air_llm/"},
		Steps: spelling{
			"load_in_4bit":     step.Paste("python", "model = AutoModel.from_pretrained(name, compression=\"4bit\")   # name: as in your call; needs bitsandbytes"),
			"lower_context":    step.Paste("python", "tokens = model.tokenizer(text, return_tensors=\"pt\", truncation=True, max_length=128)\nout = model.generate(tokens[\"input_ids\"].cuda(), max_new_tokens=20, use_cache=True)"),
			"lower_batch_size": step.Paste("python", "model = AutoModel.from_pretrained(name, prefetching=False)   # one layer at a time instead of two"),
		},
		Titles: map[string]string{"load_in_4bit": "Compress the layers to 4 bit", "lower_batch_size": "Turn off prefetching"},
		Cards: []cause.Card{
			{
				ID: "airllm/split", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "At the first start AirLLM splits the checkpoint into layers. It reads a whole shard into RAM for that, often 5 to 10 GB. Colab's 12 GB can be too little.",
				Cures: []cause.Cure{
					{Fix: "add_swap"},
					{Fix: "use_smaller_model", Title: "Use a checkpoint in smaller shards", Told: "Take one with safetensors files of 2 to 5 GB each. Or split it on a larger machine and use that folder.", Cost: "a download"},
				},
				Sources: []string{"airllm/README.md"},
			},
			anyPhase(while(useOf("airllm", "", "AirLLM keeps one layer at a time on the GPU (1.6 GB for 70B in 16 bit), with prefetching two. The embedding and output layers (1 to 2 GB each with a large vocabulary) and the KV cache come on top.", "", "airllm/README.md", "load_in_4bit", "lower_batch_size", "lower_context"), "with one layer at a time on the GPU")),
		},
	}
	// OptimumIntel exports to OpenVINO and runs it.
	OptimumIntel = program.Program{
		Name: "optimum-intel", Shown: "Optimum Intel (OpenVINO)", Work: "text-inference", Edits: "flags", Language: "python", Commands: []string{"optimum-cli"},
		Sources: program.Sources{"optimum-intel/docs/source/openvino/export.mdx": "--weight-format --task --dataset"},
		Proofs:  []string{"optimum/intel/", "optimum-cli export openvino", "optimum/exporters/openvino/"},
		Steps: spelling{
			"load_in_4bit":      say("Use `--weight-format int4`: the result is a quarter of the size. The export itself still loads the model in 16 or 32 bit."),
			"load_in_8bit":      say("Use `--weight-format int8`, the default from 1 billion parameters on."),
			"use_smaller_model": say("Look at huggingface.co/OpenVINO first: many models are there already converted, with -int4-ov or -int8-ov in the name."),
			"add_swap":          say("Add swap (Windows: page file) of at least twice the checkpoint's size for the export."),
			"lower_context":     say("Leave out `--dataset`: int4 then needs no calibration samples."),
		},
		Titles: map[string]string{"use_smaller_model": "Download a finished export", "add_swap": "Add swap for the export"},
		Cards: []cause.Card{{
			ID: "optimum-intel/export", Kinds: append([]fact.Kind{fact.BadAlloc, fact.MmapFailed, fact.CommitLimit, fact.NativeAlloc, fact.SilentDeath}, parts.RAMGone...), Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "ran out of system memory (RAM)",
			Means:    "An export holds the PyTorch weights, the traced graph and the OpenVINO model in RAM at the same time: several times the size of the checkpoint. Running an exported model takes about the size of its file, more on an integrated GPU.",
			Not:      "`--weight-format int4` alone: the weights are compressed only after loading.",
			Cures:    fixes("use_smaller_model", "add_swap"), Sources: []string{"optimum-intel/docs/source/openvino/export.mdx"},
		}},
	}
)

// belowLlama: the card is smaller than the weights of Meta's first checkpoints,
// 12.1 GiB on each GPU and more.
func belowLlama(c *ledger.Case) string {
	if clues.Below(13)(c) && !c.Training() && !clues.Shows("3.2", "1B", "3B")(c) {
		return "the weights of 7B, 8B or 13B alone take 12 GiB or more on each GPU"
	}
	return ""
}
