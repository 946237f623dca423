package engine

import (
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
	Fix: "raise_memory_limit", Title: "Check whether a limit or the machine ran out, then raise it", Told: "\"Memory cgroup\": a container's limit: `--memory` of `docker run`, `resources.limits.memory` in Kubernetes. Otherwise the machine: in WSL `memory=` in .wslconfig (half of the RAM unless set), or end what is large.",
	Kind: "shell", Text: "sudo dmesg -T | grep -i 'killed process' | tail -4", Cost: "a look is free",
}

// tgiStartCards are about what ends before TGI serves, and about its neighbours.
var tgiStartCards = []cause.Card{
	besideOthers("tgi", func(c *ledger.Case) bool { return c.In("tgi") }, tgiKeep, tgiLauncher),
	{
		ID: "tgi/convert-killed", Kinds: []fact.Kind{fact.TGIKilled}, Said: []string{"Download process was signaled", "Converting PyTorch weights", "Convert process was signaled"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was killed while it converted the checkpoint: system memory (RAM) ran out",
		Means:    "The repository has `.bin` files only. TGI reads them one by one into RAM and writes them again as safetensors, before anything is on the card. RAM must hold the largest file, about twice.",
		Not:      "`--max-batch-prefill-tokens`, `--quantize`: nothing is on the card yet.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Take a repository that has `.safetensors`", Told: "Look under \"Files\" on huggingface.co. Often a pull request there has them: `--revision refs/pr/N` with its number. Nothing is then converted.", Cost: "a download"},
			{Fix: "restart_session", Title: "Or convert it once where there is more RAM", Told: "With the same cache folder, which you then copy to this machine:", Kind: "shell", Text: "text-generation-server download-weights MODEL", Cost: "a larger machine for an hour"},
			{Fix: "add_swap", Title: "Or add swap for the conversion", Cost: "disk, and a slow first start"},
			tgiRAM,
		},
		Sources: []string{tgiConvert, tgiLauncher},
	},
	{
		ID: "tgi/shard-killed", Kinds: []fact.Kind{fact.TGIKilled},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "lost a shard to signal 9: most likely system memory (RAM) ran out",
		Means:    "Signal 9 comes from outside: as a rule from the kernel's out-of-memory killer, for RAM, not for graphics memory (that ends in \"CUDA out of memory\"). While a shard starts it reads the checkpoint; every shard is a process of its own with 2 to 5 GB of libraries.",
		Not:      "`--max-batch-prefill-tokens`, `--cuda-memory-fraction`: they concern the card.",
		Cures: []cause.Cure{
			tgiRAM,
			{Fix: "add_swap", Title: "Or add swap for the start", Cost: "disk, and a slow start"},
			{Fix: "use_smaller_model", Title: "Or load less", Told: "A checkpoint of fewer bits (AWQ or GPTQ in its name), in `.safetensors`; fewer shards (`--num-shard`) where the cards allow it.", Cost: "slight loss of quality"},
		},
		Sources: []string{tgiLauncher, tgiIssues + "1005"},
	},
	{
		ID: "tgi/pictures", Kinds: onCard, If: inTGI, Said: []string{"in vision_tower", "self.vision_tower(", "in get_image_features", "self.visual(", "models/vlm_causal_lm.py", "self.vision_model("}, Phases: []string{"inference", "unknown"},
		Cause: cause.BatchTooLarge, Weight: cause.Good,
		Headline: "ran out of graphics memory on a request with an image",
		Means:    "The traceback goes through the model's image part. After its warm-up TGI gives nearly all free memory to the KV cache; {room} was left, and images of this request needed {asked} more. Their need grows with size and number.",
		Not:      "A lower `--max-batch-prefill-tokens` alone: the KV cache takes what it leaves.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Send smaller or fewer images", Told: "Half the width and height is a quarter of the patches; models that cut an image into tiles take fewer tiles.", Cost: "fine detail"},
			{Fix: "lower_mem_fraction", If: when.Not(earlyTGI), Title: "Or leave more of the card beside the KV cache", Told: "Before the image's name of `docker run`; unset it is 0.90 to 0.95 (2.3 and later):", Kind: "config", Text: "-e TGI_WIGGLE_ROOM=0.8", Cost: "fewer tokens at a time"},
			{Fix: "upgrade_version", If: earlyTGI, Title: "Or update to 2.3 or later", Told: "There `-e TGI_WIGGLE_ROOM=0.8` leaves a fifth of the card beside the KV cache. This version has no such setting.", Cost: "a download"},
			tgiQuant, tgiSplit,
		},
		Sources: []string{tgiGlobals, tgiCausal},
	},
	{
		ID: "tgi/no-flash", Kinds: onCard, If: inTGI, Said: []string{"models/causal_lm.py", "models/seq2seq_lm.py"}, Phases: []string{"inference", "unknown", "warmup"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in a model that it runs without flash attention",
		Means:    "The traceback is in `causal_lm.py` or `seq2seq_lm.py`: for this model, card or version TGI has no flash attention, and no fixed KV cache either. Attention then grows with the square of a prompt, the cache with all running requests.[[ {asked} was needed, {room} was free.]]",
		Not:      "`--cuda-graphs 0`: there are none for these models.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Accept shorter prompts and fewer tokens in all", Told: "TGI keeps to `--max-batch-total-tokens` here.", Steps: func(c *ledger.Case) []step.Step {
				return tgiServer.Adds(launch.To(inputLimit(c), "1024"), launch.To("max_total_tokens", "2048"), launch.To("max_batch_total_tokens", "4096"))(c)
			}, Cost: "longer prompts are refused, others wait"},
			tgiQuant,
			{Fix: "upgrade_version", Title: "Or take the newest image", Told: "It has flash attention for more models (a card of the Ampere generation or newer).", Cost: "a download"},
			tgiSplit,
		},
		Sources: []string{"https://github.com/huggingface/text-generation-inference/blob/main/server/text_generation_server/models/causal_lm.py", tgiLauncher},
	},
	{
		ID: "tgi/logprobs", Kinds: onCard, If: inTGI, Said: []string{"prefill_logprobs", "in batch_top_tokens"}, Phases: []string{"inference", "unknown"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory on the log-probabilities of a prompt",
		Means:    "A request asked for details of its input. For those TGI computes the score of every prompt token with every word of the vocabulary: {asked} was needed, {room} was left beside the KV cache.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Leave out `decoder_input_details`", Told: "In the request's `parameters`, also `top_n_tokens`; 3.0 and later computes them only with `--enable-prefill-logprobs`: leave that out.", Cost: "no scores of the prompt"},
			tgiFewer, tgiCache,
			{Fix: "lower_mem_fraction", If: when.Not(earlyTGI), Title: "Or leave more of the card beside the KV cache", Told: "Before the image's name (2.3 and later):", Kind: "config", Text: "-e TGI_WIGGLE_ROOM=0.8", Cost: "fewer tokens at a time"},
		},
		Sources: []string{tgiCausal, tgiLauncher},
	},
}

// loraxAdapter is what LoRAX keeps for adapters.
var loraxAdapter = cause.Card{
	ID: "lorax/adapter", Kinds: onCard, Said: []string{"Method LoadAdapter encountered", "in load_adapter", "lorax_server/adapters/", "Failed to load adapter"},
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "ran out of graphics memory while it loaded an adapter",
	Means:    "Adapters have a part of the card of their own, `--adapter-memory-fraction`, a tenth unless set; weights and KV cache take the rest.[[ {asked} was refused with {room} free.]] Adapters that are loaded already count, too.",
	Not:      "Fewer prompt tokens: an adapter's size does not depend on them.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Raise `--adapter-memory-fraction`", Told: "The KV cache then leaves more to adapters. After the image's name in `docker run`:", Kind: "config", Text: "--adapter-memory-fraction 0.2", Cost: "fewer tokens at a time"},
		{Fix: "lower_num_workers", Title: "Or keep fewer adapters at a time", Told: "1024 unless set; others are loaded when they are asked for:", Kind: "config", Text: "--max-active-adapters 16", Cost: "adapters are loaded again"},
		{Fix: "use_lower_quant", Title: "Or quantise the base model", Told: "Adapters work on it.", Kind: "config", Text: "--quantize bitsandbytes-nf4", Cost: "slight loss of quality, slower"},
	},
	Sources: []string{loraxMain, "https://github.com/predibase/lorax/blob/main/server/lorax_server/utils/adapter.py"},
}
