package engine

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const tgiConvert = "https://github.com/huggingface/text-generation-inference/blob/main/server/text_generation_server/utils/convert.py"

// tgiRAM is a look at who was killed, and more RAM.
var tgiRAM = cause.Cure{
	Fix: "raise_memory_limit", Title: "Check whether a limit or the machine ran out, then raise it", Told: "\"Memory cgroup\" means the container's limit: raise `--memory` of `docker run` or `resources.limits.memory` in Kubernetes. Otherwise the machine was full: end other programs, or in WSL raise `memory=` in .wslconfig (half of the RAM by default).",
	Kind: "shell", Text: "sudo dmesg -T | grep -i 'killed process' | tail -4", Cost: "the check is free",
}

// tgiStartCards are about what ends before TGI serves, and about its neighbours.
var tgiStartCards = []cause.Card{
	besideOthers("tgi", func(c *ledger.Case) bool { return c.In("tgi") }, tgiKeep, tgiLauncher),
	{
		ID: "tgi/convert-killed", Kinds: []fact.Kind{fact.TGIKilled}, Said: []string{"Download process was signaled", "Converting PyTorch weights", "Convert process was signaled"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was killed while converting the checkpoint: system RAM ran out",
		Means:    "The model's repository has only `.bin` files. TGI reads them into RAM and writes them as safetensors before it uses the GPU. RAM must hold about twice the largest file.",
		Not:      "`--max-batch-prefill-tokens` or `--quantize`: nothing is on the GPU yet.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Use a repository that has `.safetensors` files", Told: "Look under \"Files\" on huggingface.co. Often a pull request there has them: use `--revision refs/pr/N` with its number. Nothing is converted then.", Cost: "a download"},
			{Fix: "restart_session", Title: "Or convert it once where there is more RAM", Told: "Use the same cache folder, then copy it to this machine:", Kind: "shell", Text: "text-generation-server download-weights MODEL", Cost: "a larger machine for an hour"},
			{Fix: "add_swap", Title: "Or add swap for the conversion", Cost: "disk, and a slow first start"},
			tgiRAM,
		},
		Sources: []string{tgiConvert, tgiLauncher},
	},
	{
		ID: "tgi/shard-killed", Kinds: []fact.Kind{fact.TGIKilled},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "lost a shard to signal 9: most likely system RAM ran out",
		Means:    "Signal 9 comes from outside, usually from Linux when system RAM runs out. Full GPU memory would end in \"CUDA out of memory\". Each shard is a separate process: it reads the checkpoint and needs 2 to 5 GB for libraries.",
		Not:      "`--max-batch-prefill-tokens` or `--cuda-memory-fraction`: they affect only GPU memory.",
		Cures: []cause.Cure{
			tgiRAM,
			{Fix: "add_swap", Title: "Or add swap space for the start", Cost: "disk, and a slow start"},
			{Fix: "use_smaller_model", Title: "Or load less", Told: "Use a checkpoint with fewer bits (AWQ or GPTQ in its name) in `.safetensors` files, or fewer shards (`--num-shard`) if the GPUs allow it.", Cost: "slight loss of quality"},
		},
		Sources: []string{tgiLauncher, tgiIssues + "1005"},
	},
	{
		ID: "tgi/pictures", Kinds: onCard, If: inTGI, Said: []string{"in vision_tower", "self.vision_tower(", "in get_image_features", "self.visual(", "models/vlm_causal_lm.py", "self.vision_model("}, Phases: []string{"inference", "unknown"},
		Cause: cause.BatchTooLarge, Weight: cause.Good,
		Headline: "ran out of GPU memory on a request with an image",
		Means:    "It failed in the part that reads images. After its warm-up TGI gives nearly all free GPU memory to the KV cache: {room} was left, and the images needed {asked} more. That grows with their size and number.",
		Not:      "A lower `--max-batch-prefill-tokens` alone: the KV cache takes what it leaves.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Send smaller or fewer images", Told: "Half the width and height is a quarter of the pixels.", Cost: "less fine detail"},
			{Fix: "lower_mem_fraction", If: when.Not(earlyTGI), Title: "Or leave more GPU memory beside the KV cache", Told: "Add it before the image's name in `docker run`; the default is 0.90 to 0.95 (2.3 and later):", Kind: "config", Text: "-e TGI_WIGGLE_ROOM=0.8", Cost: "fewer tokens at a time"},
			{Fix: "upgrade_version", If: earlyTGI, Title: "Or update to 2.3 or later", Told: "There `-e TGI_WIGGLE_ROOM=0.8` leaves a fifth of the GPU beside the KV cache. This version has no such setting.", Cost: "a download"},
			tgiQuant, tgiSplit,
		},
		Sources: []string{tgiGlobals, tgiCausal},
	},
	{
		ID: "tgi/no-flash", Kinds: onCard, If: inTGI, Said: []string{"models/causal_lm.py", "models/seq2seq_lm.py"}, Phases: []string{"inference", "unknown", "warmup"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in a model that it runs without flash attention",
		Means:    "For this model, GPU or version TGI has no flash attention (`causal_lm.py` or `seq2seq_lm.py` in the traceback). Memory then grows with the square of a prompt's length, and the KV cache with all running requests.",
		Not:      "`--cuda-graphs 0`: there are none for these models.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Accept shorter prompts and fewer tokens in total", Told: "Here TGI respects `--max-batch-total-tokens`.", Steps: func(c *ledger.Case) []step.Step {
				return tgiServer.Adds(launch.To(inputLimit(c), "1024"), launch.To("max_total_tokens", "2048"), launch.To("max_batch_total_tokens", "4096"))(c)
			}, Cost: "longer prompts are refused, others wait"},
			tgiQuant,
			{Fix: "upgrade_version", Title: "Or use the newest image", Told: "It has flash attention for more models (Ampere GPUs or newer).", Cost: "a download"},
			tgiSplit,
		},
		Sources: []string{"https://github.com/huggingface/text-generation-inference/blob/main/server/text_generation_server/models/causal_lm.py", tgiLauncher},
	},
	{
		ID: "tgi/logprobs", Kinds: onCard, If: when.All(inTGI, promptScores), Said: []string{"prefill_logprobs", "in batch_top_tokens", "decoder_input_details: true", "self.lm_head("}, Phases: []string{"inference", "unknown"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while computing log-probabilities of a prompt",
		Means:    "A request asked for details of its input. TGI then computes scores of the whole vocabulary for every prompt token: {asked} was needed, and {room} was left beside the KV cache.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Leave out `decoder_input_details`", Told: "Leave it out of the request's `parameters`, and `top_n_tokens` too. In 3.0 and later leave out `--enable-prefill-logprobs`.", Cost: "no scores of the prompt"},
			tgiFewer, tgiCache,
			{Fix: "lower_mem_fraction", If: when.Not(earlyTGI), Title: "Or leave more GPU memory beside the KV cache", Told: "Before the image's name (2.3 and later):", Kind: "config", Text: "-e TGI_WIGGLE_ROOM=0.8", Cost: "fewer tokens at a time"},
		},
		Sources: []string{tgiCausal, tgiLauncher},
	},
}

// promptScores: the log-probabilities of a prompt are in the traceback, or the head
// of the model is, far larger than for one row a prompt, and requests asked for them.
func promptScores(c *ledger.Case) bool {
	return c.Near("prefill_logprobs", "in batch_top_tokens") || c.Near("decoder_input_details: true") && c.Near("self.lm_head(") && ledger.Requested(c) > units.GiB
}

// loraxAdapter is what LoRAX keeps for adapters.
var loraxAdapter = cause.Card{
	ID: "lorax/adapter", Kinds: onCard, Said: []string{"Method LoadAdapter encountered", "in load_adapter", "lorax_server/adapters/", "Failed to load adapter"},
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "ran out of GPU memory while loading an adapter",
	Means:    "Adapters have their own part of GPU memory, `--adapter-memory-fraction` (a tenth by default); weights and KV cache take the rest. Adapters that are already loaded count too.",
	Not:      "Fewer prompt tokens: an adapter's size does not depend on them.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Raise `--adapter-memory-fraction`", Told: "The KV cache then leaves more for adapters. Add it after the image's name in `docker run`:", Kind: "config", Text: "--adapter-memory-fraction 0.2", Cost: "fewer tokens at a time"},
		{Fix: "lower_num_workers", Title: "Or keep fewer adapters at a time", Told: "The default is 1024; others are loaded when they are needed:", Kind: "config", Text: "--max-active-adapters 16", Cost: "adapters are loaded again"},
		{Fix: "use_lower_quant", Title: "Or quantise the base model", Told: "Adapters still work with it.", Kind: "config", Text: "--quantize bitsandbytes-nf4", Cost: "slight loss of quality, slower"},
	},
	Sources: []string{loraxMain, "https://github.com/predibase/lorax/blob/main/server/lorax_server/utils/adapter.py"},
}
