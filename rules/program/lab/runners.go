package lab

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
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
			"lower_context":     say("`--max_seq_len 512 --max_batch_size 1`: the cache for both is made at the start, whatever is asked later (defaults of the class: 2048 and 32)."),
			"lower_batch_size":  say("`--max_batch_size 1`: 4 to 8 in the examples, and their lists of prompts must not be longer."),
			"use_smaller_model": say("The next smaller checkpoint: 7B (8B) is 1 file, 13B 2, 70B 8, and `--nproc_per_node` must be the number of files."),
			"load_in_4bit":      say("This code has 16 bit only. On one smaller card: llama.cpp or Ollama with a Q4_K_M file, or Transformers with bitsandbytes."),
			"multi_gpu":         say("It splits a model into as many parts as it has files, no more: 7B runs on one GPU."),
		},
		Costs:  map[string]string{"lower_context": "shorter prompts and answers"},
		Titles: map[string]string{"lower_context": "Lower `--max_seq_len` and `--max_batch_size`", "load_in_4bit": "Run a 4-bit model in another program"},
		Cards: []cause.Card{
			{
				ID: "meta-llama/ram", Kinds: trainer.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "Each rank reads its whole file (consolidated.NN.pth) into RAM before the GPU sees any of it: 13.5 GB for 7B, 16 for 8B, 13 for each of 13B's two, 17 for each of 70B's eight.",
				Not:      "`--max_seq_len`, `--max_batch_size`: they are about GPU memory.",
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
				Headline: "ran out of memory while it built the model",
				Means:    "The model is built on the GPU at 16 bit, 2 GB a billion parameters (7B: 13.5 GB, 8B: 16), together with the whole KV cache of `max_batch_size` x `max_seq_len`: 7B needs 0.5 MB a token, 1 GB for 4 x 512.",
				Not:      "A shorter prompt: the KV cache is allocated before.",
				Cures:    fixes("lower_context", "load_in_4bit", "use_smaller_model"), Sources: []string{"llama/llama/generation.py", "llama/llama/model.py"},
			},
			useOf("meta-llama", "while it generated", "Weights (16 bit, 2 GB a billion parameters, divided by the number of ranks) and the KV cache are allocated at the start; logits of the prompt (tokens x vocabulary at 32 bit) and attention over it come on top. If it fails before the first answer, it is weights and cache.", "A smaller `max_gen_len`: the KV cache does not depend on it.", "llama/llama/generation.py", "lower_context", "load_in_4bit", "use_smaller_model"),
		},
	}
	// KTransformers keeps experts in RAM.
	KTransformers = program.Program{
		Name: "ktransformers", Shown: "KTransformers", Work: "text-inference", Edits: "flags", Language: "python", Commands: []string{"ktransformers"},
		Sources: program.Sources{"ktransformers/archive/ktransformers/server/args.py": "--cache_lens --chunk_size --max_batch_size --max_new_tokens --optimize_config_path --cpu_infer --gguf_path", "ktransformers/doc/en/kt-kernel/GLM-5-Tutorial.md": "--kt-num-gpu-experts --chunked-prefill-size --mem-fraction-static --max-total-tokens"},
		Proofs:  []string{"ktransformers/", "kt-kernel", "--kt-num-gpu-experts"},
		Steps: spelling{
			"lower_context":      say("`--cache_lens 8192` (the server; it holds prompt, answer and all users), or `--max_new_tokens 1000` (local_chat). On SGLang: `--max-total-tokens 16384`."),
			"lower_batch_size":   say("`--chunk_size 256`: tokens of the prompt in one go; `--max_batch_size 1`. On SGLang: `--chunked-prefill-size 4096`."),
			"moe_cpu_offload":    say("A rule file that keeps fewer experts on the GPU (`--optimize_config_path` without `-serve-marlin` or multi-GPU experts). On SGLang: a smaller `--kt-num-gpu-experts`."),
			"lower_mem_fraction": say("On SGLang: `--mem-fraction-static 0.9` lower, so that prefill has room."),
			"use_lower_quant":    say("A smaller GGUF for `--gguf_path`: Q4_K_M of a 671B model takes 382 GB of RAM, IQ1 and Q2 files 130 to 250."),
		},
		Costs:  map[string]string{"lower_context": "shorter prompts and answers", "lower_batch_size": "prompts are read more slowly"},
		Titles: map[string]string{"lower_context": "Lower the cache length", "lower_batch_size": "Read the prompt in smaller chunks", "moe_cpu_offload": "Keep fewer experts on the GPU"},
		Cards: []cause.Card{
			{
				ID: "ktransformers/ram", Kinds: trainer.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "Experts are kept in RAM and computed on the CPU: a Q4_K_M file of DeepSeek-R1 or V3 takes 382 GB. With `USE_NUMA=1` on two sockets each has a copy: 1 TB.",
				Not:      "A shorter context: it saves GPU memory.",
				Cures:    fixes("use_lower_quant", "add_swap"), Sources: []string{"ktransformers/doc/en/DeepseekR1_V3_tutorial.md"},
			},
			saying(anyPhase(loadOf("ktransformers", "Attention, shared experts and the KV cache are on the GPU, the routed experts in RAM: about 14 GB of the GPU for DeepSeek-V3 with the default rules, more with rules that put experts there.", "A smaller quantisation: it saves mostly RAM.", "ktransformers/doc/en/DeepseekR1_V3_tutorial.md", "moe_cpu_offload", "lower_context")), "ktransformers/weights", "in optimize_and_load_gguf", "in load_weights", "in load_gguf_tensor"),
			useOf("ktransformers", "while it read a prompt or answered", "The card holds attention, the KV cache (`--cache_lens`) and the activations of one chunk of the prompt (`--chunk_size`; local_chat 8,192 tokens); the experts are in RAM.", "A smaller quantisation: it saves mostly RAM.", "ktransformers/archive/ktransformers/server/args.py", "lower_batch_size", "lower_context", "moe_cpu_offload"),
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
				ID: "airllm/split", Kinds: trainer.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "At the first start AirLLM reads the checkpoint shard by shard and writes it layer by layer: a whole shard, often 5 to 10 GB, and its layers are in RAM then. Colab's 12 GB can be too little.",
				Cures: []cause.Cure{
					{Fix: "add_swap"},
					{Fix: "use_smaller_model", Title: "Use a checkpoint in smaller shards", Told: "safetensors files of 2 to 5 GB each; or split it on a larger machine and give that folder.", Cost: "a download"},
				},
				Sources: []string{"airllm/README.md"},
			},
			anyPhase(while(useOf("airllm", "", "AirLLM keeps one layer on the GPU (70B: 1.6 GB at 16 bit), a second with prefetching, the embedding and output layers in their turn (1 to 2 GB each with a vocabulary of 128,000), and the KV cache of the text.", "", "airllm/README.md", "load_in_4bit", "lower_batch_size", "lower_context"), "with one layer at a time on the GPU")),
		},
	}
	// OptimumIntel exports to OpenVINO and runs it.
	OptimumIntel = program.Program{
		Name: "optimum-intel", Shown: "Optimum Intel (OpenVINO)", Work: "text-inference", Edits: "flags", Language: "python", Commands: []string{"optimum-cli"},
		Sources: program.Sources{"optimum-intel/docs/source/openvino/export.mdx": "--weight-format --task --dataset"},
		Proofs:  []string{"optimum/intel/", "optimum-cli export openvino", "optimum/exporters/openvino/"},
		Steps: spelling{
			"load_in_4bit":      say("`--weight-format int4`: the result is a quarter; the export itself still reads the model at 16 or 32 bit."),
			"load_in_8bit":      say("`--weight-format int8`, the default from 1 billion parameters on."),
			"use_smaller_model": say("Take an export that is done: the OpenVINO organisation on huggingface.co has most models with -int4-ov or -int8-ov in the name."),
			"add_swap":          say("Swap or a page file of twice the checkpoint or more while it exports."),
			"lower_context":     say("Leave out `--dataset`: int4 then needs no calibration samples."),
		},
		Titles: map[string]string{"use_smaller_model": "Download a finished export", "add_swap": "Add swap for the export"},
		Cards: []cause.Card{{
			ID: "optimum-intel/export", Kinds: append([]fact.Kind{fact.BadAlloc, fact.MmapFailed, fact.CommitLimit, fact.NativeAlloc, fact.SilentDeath}, trainer.RAMGone...), Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "ran out of system memory (RAM)",
			Means:    "An export holds the PyTorch weights, the traced graph and the OpenVINO model at the same time: several times the size of the checkpoint. Running the result takes the size of its file, once more on an integrated GPU.",
			Not:      "`--weight-format int4` alone: weights are compressed after they are loaded.",
			Cures:    fixes("use_smaller_model", "add_swap", "load_in_8bit"), Sources: []string{"optimum-intel/docs/source/openvino/export.mdx"},
		}},
	}
)
