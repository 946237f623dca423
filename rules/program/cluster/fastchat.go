package cluster

import (
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// fastchatCard are the failures on a card, and killed those of RAM.
var (
	fastchatCard = []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle, fact.NCCLAlloc, fact.XPURuntime}
	killed       = []fact.Kind{fact.KernelKill, fact.ShellKilled, fact.ContainerKill}
)

// FastChat's workers run Transformers, or vLLM in vllm_worker.
var FastChat = program.Program{
	Name: "fastchat", Shown: "FastChat", Work: "text-inference", Edits: "flags", Language: "python",
	Cards:   fastchatCards,
	Proofs:  []string{"fastchat/serve/", "fastchat/model/", "fastchat.serve.", "fastchat/train/"},
	Hints:   []string{"NETWORK ERROR DUE TO HIGH TRAFFIC. PLEASE REGENERATE"}, // fastchat/constants.py; forks have it, too
	Sources: program.Sources{"fastchat/model/model_adapter.py": "--awq-wbits --gptq-groupsize --cpu-offloading --gptq-wbits --load-8bit --max-gpu-memory --num-gpus", "fastchat/serve/model_worker.py": "--limit-worker-concurrency", "fastchat/serve/vllm_worker.py": "--gpu_memory_utilization"},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"load_in_8bit":                 step.Paste("text", "Start the worker with `--load-8bit`: half of the weights. `vllm_worker` does not have it: use an AWQ model there."),
		"use_lower_quant":              step.Paste("text", "Use a 4-bit version of the model: an AWQ checkpoint in `vllm_worker`, or GPTQ with `--gptq-wbits 4`."),
		"cpu_offload":                  step.Paste("text", "Add `--cpu-offloading` to `--load-8bit`: layers that do not fit go to system RAM (Linux, one GPU)."),
		"multi_gpu":                    step.Paste("text", "Start the worker with `--num-gpus 2 --max-gpu-memory 20GiB`: this limits the weights on each GPU; leave a few GiB for the KV cache."),
		"lower_parallel":               step.Paste("text", "Start the worker with `--limit-worker-concurrency 1`: one request at a time."),
		"lower_gpu_memory_utilization": step.Paste("text", "Start `vllm_worker` with `--gpu_memory_utilization 0.8`."),
		"raise_gpu_memory_utilization": step.Paste("text", "Start `vllm_worker` with `--gpu_memory_utilization 0.95`."),
		"lower_context": func(c *ledger.Case) []step.Step {
			if c.In("vllm") {
				return []step.Step{{Kind: "text", Text: "Start `vllm_worker` with `--max-model-len 4096`: it takes vLLM's own options."}}
			}
			return []step.Step{{Kind: "text", Text: "Send shorter conversations, and lower `max_new_tokens`: the cache of a Transformers worker grows with every token."}}
		},
		"upgrade_version": step.Paste("shell", "pip install -U \"fschat[model_worker]\""),
	},
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge:  {{Fix: "load_in_8bit", Fit: cause.Cures}, {Fix: "multi_gpu", Fit: cause.Cures}, {Fix: "cpu_offload", Fit: cause.Helps}, {Fix: "use_smaller_model", Fit: cause.MayHelp}},
		cause.BatchTooLarge:  {{Fix: "lower_parallel", Fit: cause.Cures}, {Fix: "lower_context", Fit: cause.Cures}, {Fix: "load_in_8bit", Fit: cause.Helps}, {Fix: "multi_gpu", Fit: cause.MayHelp}},
		cause.ContextTooLong: {{Fix: "lower_context", Fit: cause.Cures}, {Fix: "lower_parallel", Fit: cause.Helps}, {Fix: "load_in_8bit", Fit: cause.Helps}, {Fix: "multi_gpu", Fit: cause.MayHelp}},
	},
}

// fastchatShare is what of a card weights may take: two thirds.
func fastchatShare(c *ledger.Case) map[string]string {
	total := ledger.SizeOf(c.F().Total)
	if total == 0 {
		total = 24 << 30
	}
	return map[string]string{"each": strconv.Itoa(max(1, int(total*2/3>>30)))}
}

// fastchatWeights is what the weights take at 16 bit, by the model's name.
func fastchatWeights(c *ledger.Case) map[string]string {
	w, ok := ledger.WeightsIn(c, "bf16")
	if !ok || w <= 0 || w > ledger.SizeOf(c.F().Total) || ledger.Quantised(c) != "" {
		return map[string]string{"at16": ""}
	}
	return map[string]string{"at16": "At 16 bit the weights are about " + units.Amount(w) + "; the rest is KV cache and working memory."}
}

// fastchatCards are FastChat's, whose workers run Transformers.
var fastchatCards = []cause.Card{
	fastchatSave, fastchatTrain,
	{
		ID: "fastchat/ram", Kinds: killed, If: func(c *ledger.Case) bool { return c.Root(killed...) && c.In("fastchat") },
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was killed: most likely system RAM ran out",
		Means:    "A 16-bit model takes 2 GB of system RAM per billion parameters while it loads. With `--device cpu` it stays there at 32 bit: 30 GB for 7B, 60 GB for 13B.",
		Not:      "`--max-gpu-memory`: it limits only GPU memory.",
		Cures: []cause.Cure{
			{Fix: "load_in_8bit", Title: "Load it in 8 bit", Told: "It needs about half, on the CPU too: each layer is made smaller as it is read.", Kind: "config", Text: "--load-8bit", Cost: "slower, hardly any quality"},
			{Fix: "use_smaller_model", Title: "Or use a smaller model", Told: "On a CPU, llama.cpp with a Q4_K_M file needs about 0.6 GB per billion parameters and is faster.", Cost: "lower quality"},
			{Fix: "add_swap", Title: "Or add swap space while it loads", Cost: "disk, and slow"},
			{Fix: "raise_memory_limit", Title: "Check the kernel's log", Kind: "shell", Text: "sudo dmesg -T | grep -i 'killed process' | tail -4", Cost: "free"},
		},
		Sources: []string{"https://github.com/lm-sys/FastChat#cpu-only", "https://github.com/lm-sys/FastChat/blob/main/fastchat/model/compression.py"},
	},
	fastchatEight,
	{
		ID: "fastchat/cli", Kinds: fastchatCard, Said: []string{"fastchat.serve.cli", "fastchat/serve/cli.py"}, If: when.All(ledger.FillsAlone, when.Not(when.In("load"))), Figures: fastchatShare,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory: {mine} of {total} is its own",
		Means:    "FastChat loads the model at 16 bit by default, 2 GB per billion parameters: 14 GB for 7B, 26 GB for 13B. A conversation needs 1 GB and more on top. With `--num-gpus 2` it fills the first GPU to 85 % before it uses the second.",
		Not:      "PyTorch's allocator settings: the memory is in use.",
		Cures: []cause.Cure{
			{Fix: "load_in_8bit", Title: "Load it in 8 bit", Told: "A 7B model is then 7 GB. If that is still too much on one GPU, add `--cpu-offloading` (Linux):", Kind: "config", Text: "--load-8bit", Cost: "slower, hardly any quality"},
			{Fix: "multi_gpu", Title: "Or spread it evenly over two GPUs", Told: "`--num-gpus 2` alone fills the first one. The second option limits the weights on each, so that the first keeps room:", Kind: "config", Text: "--num-gpus 2 --max-gpu-memory {each}GiB", Cost: "needs two GPUs"},
			{Fix: "lower_context", Title: "Or start a new conversation", Told: "If it failed after some turns, the KV cache of the conversation has grown. `!!reset` clears it.", Cost: "the history is lost"},
		},
		Sources: []string{"https://github.com/lm-sys/FastChat/blob/main/fastchat/model/model_adapter.py", "https://github.com/lm-sys/FastChat/blob/main/fastchat/serve/cli.py"},
	},
	{
		ID: "fastchat/load", Kinds: fastchatCard, Phases: []string{"load"}, Figures: fastchatShare,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not load: the weights do not fit in GPU memory",
		Means:    "FastChat loads the model at 16 bit by default, 2 GB per billion parameters: 14 GB for 7B, 26 GB for 13B.",
		Not:      "A smaller `max_new_tokens` or fewer users: it failed while loading.",
		Cures: []cause.Cure{
			{Fix: "load_in_8bit", Title: "Load it in 8 bit", Told: "It needs about half. Add to `fastchat.serve.cli` or `model_worker`; if that is still too much, also `--cpu-offloading` (Linux):", Kind: "config", Text: "--load-8bit", Cost: "slower, hardly any quality"},
			{Fix: "multi_gpu", Title: "Split it over two GPUs", Told: "The number limits the weights on each GPU; leave a third of it free for the KV cache:", Kind: "config", Text: "--num-gpus 2 --max-gpu-memory {each}GiB", Cost: "needs a second GPU"},
			{Fix: "use_smaller_model", Title: "Or use a smaller or 4-bit model", Told: "Use GPTQ with `--gptq-wbits 4 --gptq-groupsize 128`, or AWQ with `--awq-wbits 4`: about a quarter of 16 bit."},
		},
		Sources: []string{"https://github.com/lm-sys/FastChat/blob/main/fastchat/model/model_adapter.py", "https://github.com/lm-sys/FastChat#not-enough-memory"},
	},
	{
		ID: "fastchat/request", Kinds: fastchatCard,
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "ran out of GPU memory, most likely on a request",
		Means:    "A FastChat worker keeps a KV cache for each running conversation. It grows with every token, and nothing limits it.[[ {at16}]]", Figures: fastchatWeights,
		Cures: []cause.Cure{
			{Fix: "load_in_8bit", Title: "Load it in 8 bit", Told: "That halves the weights and leaves more for the KV cache. Add it to the worker, which has to be restarted anyway:", Kind: "config", Text: "--load-8bit", Cost: "slower"},
			{Fix: "lower_context", Title: "Shorten the conversations", Told: "Lower `max_tokens` (`max_new_tokens`) in the client and start a new conversation. Or use `vllm_worker`, whose KV cache has a fixed size."},
			{Fix: "lower_parallel", Title: "With several users, answer one request at a time", Told: "By default five are answered together. Add to the worker:", Kind: "config", Text: "--limit-worker-concurrency 1", Cost: "others wait"},
		},
		Sources: []string{"https://github.com/lm-sys/FastChat/blob/main/fastchat/serve/model_worker.py"},
	},
}

// fastchatEight is a worker whose weights are small already.
var fastchatEight = cause.Card{
	ID: "fastchat/small-weights", Kinds: fastchatCard, Said: []string{"--load-8bit", "load_8bit=True", "--gptq-wbits", "--awq-wbits"}, Unsaid: []string{"fastchat/train/"}, If: when.Not(when.In("load")),
	Figures: fastchatShare,
	Cause:   cause.ContextTooLong, Weight: cause.Strong,
	Headline: "ran out of GPU memory on a request",
	Means:    "The weights are at 8 bit or fewer already. What grew is the KV cache: each running conversation has one, it grows with every token, and nothing limits it.",
	Not:      "`--load-8bit`: it is in use, or the checkpoint has fewer bits.",
	Cures: []cause.Cure{
		{Fix: "balance_split", If: func(c *ledger.Case) bool { return ledger.GPU(c) > 0 || ledger.ManyCards(c) }, Title: "Limit the weights on each GPU", Told: "`--max-gpu-memory` counts only weights; a third of the GPU should stay free for the KV cache. Instead of your value:", Kind: "config", Text: "--max-gpu-memory {each}GiB", Cost: "the other GPUs take the rest"},
		{Fix: "lower_context", Title: "Shorten the conversations", Told: "Lower `max_tokens` (`max_new_tokens`) in the client and start a new conversation. `!!reset` does that in the command-line chat.", Cost: "the history is lost"},
		{Fix: "lower_parallel", Title: "With several users, answer one request at a time", Told: "By default five are answered together. Add to the worker:", Kind: "config", Text: "--limit-worker-concurrency 1", Cost: "others wait"},
		{Fix: "use_lower_quant", Title: "Or use `vllm_worker` with an AWQ model", Told: "4 bit is half of 8, and its KV cache has a fixed size.", Cost: "another worker"},
	},
	Sources: []string{"https://github.com/lm-sys/FastChat/blob/main/fastchat/serve/model_worker.py", "https://github.com/lm-sys/FastChat/blob/main/fastchat/model/model_adapter.py"},
}

// fastchatSave is the end of a training under FSDP.
var fastchatSave = cause.Card{
	ID: "fastchat/train-save", Kinds: fastchatCard, Said: []string{"safe_save_model_for_hf_trainer", "trainer_save_model_safe", "_full_post_state_dict_hook", "in _save_checkpoint", "in _unflatten_as_full_params"}, If: func(c *ledger.Case) bool { return c.Near("fastchat/train/") },
	Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
	Headline: "ran out of GPU memory while saving the model",
	Means:    "The training itself fitted. To save, FSDP gathers the whole model on the GPU from the shards of all GPUs, and {asked} more did not fit.",
	Not:      "A smaller batch: nothing is trained in this step.",
	Cures: []cause.Cure{
		{Fix: "cpu_offload", Title: "Gather the weights in system RAM", Told: "In the `train.py` of the traceback, around the saving (`FSDP`, `StateDictType`, `FullStateDictConfig` from torch.distributed.fsdp):", Kind: "python", Text: "policy = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)\nwith FSDP.state_dict_type(trainer.model, StateDictType.FULL_STATE_DICT, policy):\n    trainer.save_model()", Cost: "RAM for the whole model"},
		{Fix: "upgrade_version", Title: "Or use `train_mem.py` of the newest FastChat", Told: "With current transformers and accelerate `trainer.save_model()` does it that way. `git pull`, then resume from the last checkpoint.", Cost: "an update to test"},
		{Fix: "shard_training", Title: "Or train with DeepSpeed instead", Told: "It gathers one layer after another for the file: `--deepspeed playground/deepspeed_config_s3.json` instead of the `--fsdp` options.", Cost: "another set-up"},
	},
	Sources: []string{"https://github.com/lm-sys/FastChat/blob/main/fastchat/train/train.py", "torch/distributed/fsdp/_state_dict_utils.py"},
}

// fastchatLeast: the batch of each card is one already.
func fastchatLeast(c *ledger.Case) bool {
	return ledger.IntSetting(c, "per_device_train_batch_size") == 1
}

// fastchatLength is half of the texts' length, 1024 where the log shows none.
func fastchatLength(c *ledger.Case) map[string]string {
	n := ledger.IntSetting(c, "model_max_length")
	if n <= 1 {
		n = 2048
	}
	return map[string]string{"half_length": strconv.Itoa(n / 2)}
}

// fastchatTrain is FastChat's own training of a model.
var fastchatTrain = cause.Card{
	ID: "fastchat/train", Kinds: fastchatCard, Said: []string{"fastchat/train/"}, Figures: fastchatLength,
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of GPU memory in training",
	Means:    "Full training needs about 16 bytes per parameter for weights, gradients and optimizer state: 112 GB for 7 billion, divided among the GPUs with FSDP or ZeRO-3. The activations of a batch come on top.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", If: when.Not(fastchatLeast), Title: "Lower the batch size first", Told: "More gradient accumulation gives the same result. Instead of your values:", Kind: "config", Text: "--per_device_train_batch_size 1 --gradient_accumulation_steps 16 --gradient_checkpointing True --model_max_length 1024", Cost: "slower; longer texts are cut"},
		{Fix: "lower_context", If: fastchatLeast, Title: "Shorten the texts", Told: "The batch is 1 already. Instead of your value:", Kind: "config", Text: "--model_max_length {half_length}", Cost: "longer texts are cut"},
		{Fix: "use_lora", Title: "Train with LoRA at 4 bit", Told: "Use `fastchat/train/train_lora.py` with `--q_lora True --deepspeed playground/deepspeed_config_s2.json`. A 7B model then fits in 16 to 24 GB.", Cost: "trains an adapter, not the full weights"},
		{Fix: "shard_training", If: ledger.ManyCards, Title: "Keep the shards of FSDP in system RAM", Told: "Use `--fsdp \"full_shard auto_wrap offload\" --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer`, or `--deepspeed playground/deepspeed_config_s3.json`.", Cost: "slower"},
	},
	Sources: []string{"https://github.com/lm-sys/FastChat/blob/main/fastchat/train/train_lora.py", "https://github.com/lm-sys/FastChat/blob/main/docs/training.md"},
}
