package torch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/ranks"
	"github.com/oomdoc/oomdoc/rules/program/torch/rest"
	"github.com/oomdoc/oomdoc/rules/program/torch/script"
	"github.com/oomdoc/oomdoc/rules/program/torch/sized"
	"github.com/oomdoc/oomdoc/rules/program/torch/tuning"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// ramGone are the ways in which a process is told that RAM is at its end.
var ramGone = []fact.Kind{fact.KernelKill, fact.ShellKilled, fact.RankKilled, fact.SlurmKill, fact.ContainerKill, fact.CPUAlloc}

// writesCode: the reader has a script, not the file of a trainer.
func writesCode(c *ledger.Case) bool {
	return !c.In("llama-factory", "axolotl", "ms-swift", "flagembedding", "torchtune", "kohya", "verl", "openrlhf")
}

// smallerToTrain is the last way out of a training whose model does not fit.
var smallerToTrain = cause.Cure{
	Fix: "use_smaller_model", Title: "Use a smaller model", Cost: "Quality.",
	Told: "Full training takes about 16 bytes per parameter (divided by the GPUs that shard it), a LoRA 2 to 3 on 16-bit weights, about 1 on 4-bit ones.",
}

var transformersCards = slices.Concat(script.TransformersCards, script.PromptCards, []cause.Card{rest.LoadFourBit, tuning.Resized("transformers")}, loadingCards, generatingCards, trainerCards)

// loadingCards are about a model on its way to the card.
var loadingCards = []cause.Card{
	{
		ID: "transformers/dispatch-refused", Kinds: []fact.Kind{fact.DispatchRefused}, Figures: modelFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "refused to load: the quantised model does not fit what is free on the card",
		Means:    "`device_map=\"auto\"` had to put layers on the CPU, where bitsandbytes does not run quantised layers by default. [[{model} needs about {w8} at 8 bit, {w4} at 4 bit. ]]The model may be too large, another program may use the GPU, or PyTorch sees no GPU at all.",
		Not:      "A smaller batch or `expandable_segments`: no weights were loaded yet.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", If: when.Not(ledger.TinyCard), Title: "See what is free, and whether PyTorch sees the card", Told: "If it prints `False`, install a PyTorch with CUDA. If an old run or notebook kernel holds the GPU, end it and load again. The model needs about 1.1 GB per billion parameters at 8 bit, 0.6 at 4 bit, plus 1 to 2 GB.", Kind: "shell", Text: "nvidia-smi\npython -c \"import torch; print(torch.cuda.is_available(), torch.cuda.mem_get_info())\"", Cost: "Free."},
			{Fix: "use_smaller_model", If: ledger.TinyCard},
			{Fix: "load_in_4bit", If: when.Not(ledger.TinyCard), Title: "Load it in 4 bit, all of it on the card", Kind: "python", Text: fourBit(`{"": 0}`), Cost: "Little quality."},
			{Fix: "cpu_offload", Title: "Load it in 8 bit, with a part on the CPU", Kind: "python", Text: "# those layers take 4 GB of RAM per billion parameters; transformers before 4.38: update it first\nmodel = AutoModelForCausalLM.from_pretrained(name, device_map=\"auto\",\n    quantization_config=BitsAndBytesConfig(load_in_8bit=True, llm_int8_enable_fp32_cpu_offload=True),\n    max_memory={0: \"10GiB\", \"cpu\": \"48GiB\"})   # your card less 2, your RAM less 8", Cost: "Many times slower."},
			{Fix: "use_smaller_model"},
		},
		Sources: []string{"transformers/src/transformers/quantizers/quantizer_bnb_8bit.py", "transformers/docs/source/en/quantization/bitsandbytes.md", "https://github.com/hustvl/Senna/issues/17"},
	},
	{
		ID: "transformers/offload-folder", Kinds: []fact.Kind{fact.OffloadNeeded}, Figures: modelFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "stopped loading: the weights fit neither the cards nor RAM",
		Means:    "`device_map=\"auto\"` filled the GPUs, then system memory, and needed a disk folder for the rest. [[{model} takes {w32} at 32 bit, {w16} at 16, {w4} at 4. ]]Without a dtype, transformers 4 loads 32 bit, usually twice what is needed.",
		Not:      "`offload_folder=\"offload\"`: it then loads, but reads weights from disk for each token, which is very slow.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Load it in 16 bit, if you set no dtype", Told: "It takes half of 32 bit. In transformers 5 the argument is `dtype`.", Kind: "python", Text: "model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16, device_map=\"auto\")   # name: as in your call", Cost: "None for use."},
			{Fix: "load_in_4bit", Title: "Load it in 4 bit (NVIDIA cards)", Told: "About a third of 16 bit.", Kind: "python", Text: fourBit(`"auto"`), Cost: "Little quality."},
			{Fix: "use_smaller_model", Title: "Use a smaller model, or a GGUF file in Ollama or llama.cpp"},
		},
		Sources: []string{"transformers/src/transformers/modeling_utils.py", "accelerate/docs/source/concept_guides/big_model_inference.md"},
	},
	{
		ID: "transformers/rank-loads", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"load"}, Figures: ranks.Unsharded(modelFigures),
		If:    when.All(cures.Ranked, ledger.Allocator, when.Not(when.Any(ledger.Crowded, ranksOnOneCard, twinRanks, func(c *ledger.Case) bool { return c.Signal("second_model") != nil }))),
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while loading: each rank puts the whole model on its own card",
		Means:    "The launcher starts one process per GPU, and each loads all weights before anything is sharded, so more GPUs do not help.[[ {unsharded}]][[ {model} needs {w16} per GPU at 16 bit, {w4} at 4 bit.]]",
		Not:      "A smaller batch: no sample was read. ZeRO stage 1 or 2: they keep all weights on every card.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Shard the weights while they are loaded (ZeRO-3 or FSDP)", Told: "For full training. ZeRO-3: create the `TrainingArguments` with its file before `from_pretrained`. FSDP: in accelerate's config file:", Kind: "config", Text: "fsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_cpu_ram_efficient_loading: true\n  fsdp_sync_module_states: true", Cost: "Communication between the cards."},
			{Fix: "load_in_4bit", If: writesCode, Title: "For a LoRA: load the base model in 4 bit on each rank", Told: "It takes about 0.6 GB per billion parameters on each GPU:", Kind: "python", Text: "from accelerate import PartialState\n\nmodel = AutoModelForCausalLM.from_pretrained(\n    name, quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=\"nf4\", bnb_4bit_compute_dtype=torch.bfloat16),\n    device_map={\"\": PartialState().local_process_index})   # name: as in your call", Cost: "Little quality."},
			{Fix: "load_in_4bit", If: func(c *ledger.Case) bool { return !writesCode(c) }, Title: "Train a LoRA on a 4-bit model"},
			smallerToTrain,
		},
		Sources: []string{"transformers/src/transformers/modeling_utils.py", "accelerate/docs/source/usage_guides/fsdp.md", "transformers/docs/source/en/deepspeed.md"},
	},
	{
		ID: "transformers/warm-up", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"caching_allocator_warmup"}, Figures: modelFigures,
		If: func(c *ledger.Case) bool {
			need, ok := ledger.WeightsIn(c, "")
			return !ok || ledger.Requested(c) <= need*3/2
		},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "could not reserve room for the weights: the model does not fit what is free",
		Means:    "Before loading, transformers (4.50 and later) reserves this GPU's share of the model in one piece. So the weights take about {asked} as they are loaded now.[[ {model} should take {w16} at 16 bit.]] If that is about twice what 16 bit needs, the model is loaded in 32 bit, or the release counts wrong.",
		Not:      "A smaller batch: the model is still being loaded.",
		Cures: []cause.Cure{
			{Fix: "load_in_4bit", Title: "Load it in 4 bit", Told: "It takes about a third of 16 bit:", Kind: "python", Text: fourBit(`"auto"`), Cost: "Little quality."},
			{Fix: "half_precision", Title: "Load it in 16 bit (torch_dtype), and update", Told: "This halves the size if it is 32 bit now:", Kind: "python", Text: "model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16, device_map=\"auto\")   # pip install -U transformers accelerate", Cost: "None."},
			{Fix: "kill_stale_process", Title: "If the model should fit: see what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{"transformers/src/transformers/modeling_utils.py", "https://github.com/huggingface/transformers/issues/36483", "https://github.com/huggingface/transformers/issues/37436"},
	},
	{
		ID: "transformers/warm-up-too-large", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"caching_allocator_warmup"}, Figures: modelFigures,
		Cause: cause.SoftwareBug, Weight: cause.Good,
		Headline: "asked for {asked} at once, more than the weights take",
		Means:    "Before loading, transformers asks for room for all weights in one piece; 4.49 to 4.51 ask for too much with some models.[[ {model} should take {w16} at 16 bit.]]",
		Not:      "A smaller batch: the model is still being loaded.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Update transformers", Cost: "some minutes", Kind: "shell", Text: "pip install --upgrade transformers accelerate"},
			{Fix: "half_precision", If: when.All(writesCode, when.Not(cures.NarrowAlready)), Title: "Load it in 16 bit (torch_dtype)", Cost: "none", Told: "It takes half of 32 bit:", Kind: "python", Text: "model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16, device_map=\"auto\")   # name: as in your call"},
			{Fix: "load_in_4bit", If: writesCode, Title: "Load it in 4 bit", Cost: "little quality", Told: "It takes about a third of 16 bit:", Kind: "python", Text: fourBit(`"auto"`)},
		},
		Sources: []string{"transformers/src/transformers/modeling_utils.py", "https://github.com/huggingface/transformers/issues/37436"},
	},
	{
		ID: "transformers/kbit-fp32", Kinds: refused, Said: []string{"in prepare_model_for_kbit_training", "in prepare_model_for_int8_training", "param.data = param.data.to(torch.float32)"},
		Cause: cause.ModelTooLarge, Weight: cause.Decisive,
		Headline: "ran out of memory while preparing the quantised model for training",
		Means:    "`prepare_model_for_kbit_training` converts every unquantised parameter to 32 bit: norms, embeddings and lm_head (some GB with a vocabulary of 150,000). If the model is not quantised at all, that is everything: 4 bytes per parameter.",
		Not:      "A smaller batch: training has not begun.",
		Cures: []cause.Cure{
			{Fix: "load_in_4bit", Title: "Check that the model is quantised", Told: "If it prints `False`, or about 2 GiB per billion parameters, the `BitsAndBytesConfig` did not reach `from_pretrained` (pass it as `quantization_config=`).", Kind: "python", Text: "print(getattr(model, \"is_loaded_in_4bit\", False), model.get_memory_footprint() / 2**30)   # GiB", Cost: "Free."},
			{Fix: "half_precision", Title: "Replace prepare_model_for_kbit_training by two calls", Kind: "python", Text: "model.gradient_checkpointing_enable()\nmodel.enable_input_require_grads()   # instead of prepare_model_for_kbit_training(model)", Cost: "Norms stay in 16 bit: slightly less stable."},
			smallerToTrain,
		},
		Sources: []string{"peft/src/peft/utils/other.py", "https://github.com/huggingface/peft/issues/1149", "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1569"}, Solved: 1,
	},
	{
		ID: "transformers/load-killed", Kinds: []fact.Kind{fact.KernelKill, fact.ShellKilled, fact.CPUAlloc, fact.RankKilled}, Said: []string{"Loading checkpoint shards", "in from_pretrained", "load_state_dict"}, Unsaid: []string{"zero_optimization", "exits with return code = -9"},
		If: func(c *ledger.Case) bool {
			return (c.Signal("loading") != nil || !c.Training() && !c.Root(fact.RankKilled)) && !c.Near("closing signal SIGTERM") && writesCode(c) && !reader.LooksLikeWindows(c) && !c.In("text-generation-webui")
		}, Figures: shardFigures,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM) while loading the model",
		Means:    "It ended while the weights were being loaded[[ ({read})]]. They pass through system memory: .bin files as a whole, safetensors in parts. Without `device_map` the whole model is built in RAM first, in 32 bit if no dtype is given.[[ {model} is {w32} at 32 bit, {w16} at 16.]]",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", If: reader.OnMac, Title: "Run a GGUF file of the model instead", Told: "Search the model's name with GGUF on huggingface.co. A Q4_K_M file has about 0.6 GB per billion parameters, and llama.cpp, Ollama and LM Studio run it on a Mac.", Cost: "Another download."},
			{Fix: "half_precision", If: reader.OnMac, Title: "Load it in 16 bit", Told: "That is 2 GB per billion parameters; 32 bit takes twice as much.", Kind: "python", Text: "model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16, low_cpu_mem_usage=True)   # name: as in your call", Cost: "None."},
			{Fix: "close_other_apps", If: reader.OnMac, Title: "Close other programs first", Told: "Activity Monitor, Memory: sort by memory, and close what you do not need.", Cost: "Free."},
			{Fix: "half_precision", If: when.Not(reader.OnMac), Title: "Load straight to the card, in 16 bit", Told: "With safetensors, only some GB pass through RAM at a time (`pip install accelerate`):", Kind: "python", Text: "model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16, device_map=\"auto\", low_cpu_mem_usage=True)   # name: as in your call", Cost: "None."},
			{Fix: "raise_memory_limit", If: hostedLike, Title: "Use a runtime or container with more RAM", Cost: "often paid", Told: "Colab: Runtime, Change runtime type, High-RAM (the usual one has 12.7 GB). Otherwise raise Docker `--memory`, Kubernetes `limits.memory` or Slurm `--mem`."},
			{Fix: "add_swap", If: when.Not(when.Any(hostedLike, reader.OnMac)), Title: "Add swap while it loads"},
			{Fix: "use_lower_quant", If: when.Not(reader.OnMac), Title: "Use a checkpoint that is 4 bit already", Told: "Look on the Hub for the same model with -bnb-4bit, AWQ or GPTQ in its name. It is about a third of the size.", Cost: "Another download."},
		},
		Sources: []string{"transformers/src/transformers/modeling_utils.py", "accelerate/docs/source/concept_guides/big_model_inference.md"},
	},
	{
		ID: "transformers/load", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"load"}, Figures: modelFigures,
		If: func(c *ledger.Case) bool {
			return ownCard(c) && !distributed(c) && writesCode(c) && c.Signal("second_model", "warmup_alloc") == nil
		},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while loading the model: the weights do not fit the card",
		Means:    "The GPU was full while the model was still being loaded. [[{model} takes {w32} at 32 bit, {w16} at 16, {w4} at 4. ]]{default}",
		Not:      "A smaller batch or a shorter prompt: the model is still being loaded.",
		Cures: []cause.Cure{
			{Fix: "half_precision", If: when.All(sized.MayFit16, untyped), Title: "Load it in 16 bit: your call sets no dtype", Told: "It takes half of 32 bit, without loss of quality in use:", Kind: "python", Text: "model = {auto}.from_pretrained(name, torch_dtype=torch.float16, device_map=\"auto\")   # dtype= in transformers 5", Cost: "None for use."},
			{Fix: "load_in_4bit", Title: "Load it in 4 bit", Told: "It takes about 0.6 GB per billion parameters instead of 2 (16 bit) or 4 (32 bit):", Kind: "python", Text: fourBit(`"auto"`), Cost: "Little quality."},
			{Fix: "half_precision", If: when.All(sized.MayFit16, when.Not(untyped)), Title: "Load it in 16 bit, if you set no dtype", Kind: "python", Text: "model = {auto}.from_pretrained(name, torch_dtype=torch.float16, device_map=\"auto\")   # dtype= in transformers 5", Cost: "None for use."},
			{Fix: "cpu_offload", Title: "Keep 16 bit, and put a part into system memory (RAM)", Told: "This leaves 2 GiB of the GPU free for the work:", Steps: partInRAM, Cost: "5 to 20 times slower."},
			{Fix: "use_smaller_model"},
		},
		Sources: []string{"transformers/src/transformers/modeling_utils.py", "transformers/docs/source/en/quantization/bitsandbytes.md"},
	},
}

// untyped: the reader's own line loads a model in one call and names no data type.
func untyped(c *ledger.Case) bool {
	f := ledger.OwnFrame(c)
	return f != nil && strings.Contains(f.Source, "from_pretrained(") && strings.HasSuffix(f.Source, ")") && !strings.Contains(f.Source, "dtype") && !strings.Contains(f.Source, "quant") && !strings.Contains(f.Source, "load_in") && !strings.Contains(f.Source, "**")
}

// hostedLike: Python where Colab and images of Docker have it, on a system that
// they set up.
func hostedLike(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(f fact.Code) bool { return strings.HasPrefix(f.File, "/usr/local/lib/python3") })
}

// shardFigures are modelFigures with how many files had been read.
func shardFigures(c *ledger.Case) map[string]string {
	out := modelFigures(c)
	out["read"] = ""
	done, _ := c.Fact("shards_read")
	if all, ok := c.Fact("shards_all"); ok && done.Count != nil && all.Count != nil {
		out["read"] = fmt.Sprintf("%.0f of its %.0f files were done", done.Count.Value, all.Count.Value)
	}
	return out
}

// fourBit loads a model in 4 bit by a device map.
func fourBit(deviceMap string) string {
	return "import torch\nfrom transformers import {auto}, BitsAndBytesConfig\n\nmodel = {auto}.from_pretrained(\n    name, device_map=" + deviceMap + ",   # name: as in your call; pip install -U bitsandbytes accelerate\n    quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=\"nf4\",\n        bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=torch.float16))"
}

// generatingCards are about a model that is used.
var generatingCards = []cause.Card{
	{
		ID: "transformers/card-0-full", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"inference"}, Said: []string{"accelerate/hooks.py", "dispatch_model", "device_map", "accelerate/big_modeling.py"},
		If: func(c *ledger.Case) bool { return distributed(c) || len(c.Facts.Devices) > 1 }, Cause: cause.DeviceImbalance, Weight: cause.Strong,
		Headline: "filled one of several GPUs: the layers are split, the work is not",
		Means:    "`device_map` splits the layers over the GPUs, but inputs and logits need extra memory on the first and the last GPU. One GPU can be full while others have room; `nvidia-smi` shows it.",
		Cures: []cause.Cure{
			{Fix: "balance_split", Title: "Put fewer layers on the full card (max_memory)", Told: "Give each GPU a limit that leaves some GiB free; replace the numbers by yours:", Kind: "python", Text: "model = AutoModelForCausalLM.from_pretrained(name, device_map=\"auto\", max_memory={0: \"10GiB\", 1: \"20GiB\"})   # or device_map=\"balanced_low_0\"", Cost: "None."},
			{Fix: "lower_context", Title: "Shorten the input, lower max_new_tokens", Cost: "what comes after the limit is cut off"},
		},
		Sources: []string{"accelerate/src/accelerate/utils/modeling.py", "accelerate/docs/source/concept_guides/big_model_inference.md"},
	},
	{
		ID: "transformers/prompt-logits", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"inference"}, Said: []string{"logits.float()", "logits = logits.float", "in convert_to_fp32", "_convert_to_fp32", "self.lm_head("}, Figures: logitFigures,
		If: func(c *ledger.Case) bool { return ownCard(c) && !c.Training() }, Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "ran out of memory while computing the logits of the prompt",
		Means:    "It failed at the logits: one number for each input token and each word of the vocabulary. Releases before 4.45 computed them for the whole prompt, though only the last token's are used.[[ {asked} is {tokens152} tokens with a vocabulary of 152,000 or {tokens32} with 32,000.]]",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Update transformers", Told: "When generating, newer releases compute only the last token's logits. In your own forward call, pass `logits_to_keep=1` (4.45 to 4.48: `num_logits_to_keep`).", Kind: "shell", Text: "pip install -U transformers accelerate", Cost: "None, usually."},
			{Fix: "lower_context", Title: "Shorten the input", Kind: "python", Text: "inputs = tokenizer(text, return_tensors=\"pt\", truncation=True, max_length=2048).to(model.device)", Cost: "What is cut off is not read."},
			{Fix: "lower_batch_size", Title: "Lower the number of prompts in a batch", Told: "Half the prompts need half the logits.", Cost: "Slower."},
		},
		Sources: []string{"transformers/src/transformers/generation/utils.py", "https://github.com/huggingface/transformers/pull/31292"},
	},
	{
		ID: "transformers/generate", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.NVMLAssert}, Phases: []string{"inference", "unknown"}, Said: []string{"in generate", "self.generate(", "model.chat(", "generation/utils.py", "in _sample", "in greedy_search", "in _prefill", "pipelines/text_generation"}, Figures: lengthFigures,
		If: func(c *ledger.Case) bool {
			return (ownCard(c) || !c.Total.Has()) && !c.Training() && writesCode(c) && !c.In("text-generation-webui", "vllm", "diffusers", "comfyui")
		}, Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "ran out of memory while generating",
		Means:    "Besides the weights, generation needs memory for the prompt and the KV cache. Both grow with the tokens of prompt and answer, and with the prompts in a batch. If the weights leave less than 1 or 2 GiB free (see `model.get_memory_footprint() / 2**30`), the model is too large for the GPU.",
		Not:      "`torch.no_grad()` around it: `generate` turns gradients off itself. `empty_cache()` after the error: the allocator has given back what it could.",
		Later:    "If it works for a while and then fails, results stay on the GPU (store them with `.cpu()`), or a chat history grows.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Shorten the prompt and the answer", Told: "Images and video become thousands of tokens: pass fewer or smaller ones (the processor's `max_pixels`).", Kind: "python", Text: "inputs = tokenizer(text, return_tensors=\"pt\", truncation=True, max_length=2048).to(model.device)\noutput = model.generate(**inputs, max_new_tokens=256)", Cost: "What is cut off is not read."},
			{Fix: "efficient_attention", Title: "Use fused attention (sdpa)", Told: "Pass `attn_implementation=\"sdpa\"` to `from_pretrained`. With \"eager\", memory grows with the square of the prompt length.", Cost: "None."},
			{Fix: "load_in_4bit", Title: "Load the weights in 4 bit", Kind: "python", Text: fourBit(`"auto"`), Cost: "Little quality."},
		},
		Sources: []string{"transformers/src/transformers/generation/utils.py", "transformers/src/transformers/cache_utils.py", "transformers/docs/source/en/attention_interface.md"},
	},
	{
		ID: "transformers/batch-given-up", Kinds: []fact.Kind{fact.BatchGivenUp},
		Cause: cause.BatchTooLarge, Weight: cause.Good,
		Headline: "gave up: not even a batch of one fits",
		Means:    "accelerate lowered the batch size down to one, and each attempt failed, most likely out of memory. Either the model with gradients and optimizer, or a single sample, is too large, or earlier attempts left tensors on the GPU.",
		Not:      "A smaller batch size: 1 was tried.",
		Cures: []cause.Cure{
			{Fix: "gradient_checkpointing", Title: "Turn on gradient checkpointing, and shorten the samples"},
			{Fix: "use_lora", Title: "Train a LoRA on a 4-bit model", Ways: []cause.Way{{For: fix.Training, Text: "full training takes about 16 bytes per parameter, a 4-bit LoRA under 1"}}},
			{Fix: "kill_stale_process", Title: "Check that the GPU is empty at the start", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{"accelerate/src/accelerate/utils/memory.py"},
	},
}

// partInRAM leaves 2 GiB of the card free for the work.
func partInRAM(c *ledger.Case) []step.Step {
	room := modelFigures(c)["room"]
	if room == "" {
		room = "10"
	}
	return []step.Step{{Kind: "python", Text: "model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16, device_map=\"auto\",\n    max_memory={0: \"" + room + "GiB\", \"cpu\": \"48GiB\"})   # name: as in your call; cpu: what RAM you have free"}}
}
