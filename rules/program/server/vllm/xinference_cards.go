package vllm

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
)

// Listed names the processes that the message lists beside this one.
func Listed(c *ledger.Case) map[string]string {
	var list []string
	for _, p := range c.F().OtherProcesses {
		if ledger.Near(p.Bytes, c.Mine.Bytes, 64*units.MiB) && ledger.Near(c.Mine.Bytes, p.Bytes, 64*units.MiB) {
			continue // a container sees its own process so
		}
		list = append(list, fmt.Sprintf("process %d with %s", p.PID, units.Amount(p.Bytes)))
	}
	if list == nil {
		return map[string]string{"listed": ""}
	}
	return map[string]string{"listed": "The message lists " + strings.Join(list[:min(len(list), 3)], ", ") + "."}
}

// XinferenceCards are about images under Xinference, and vLLM as its engine.
var XinferenceCards = []cause.Card{{
	ID: "xinference/pictures", Kinds: onCard, If: func(c *ledger.Case) bool { return c.In("xinference") && !c.In("vllm") && c.Phase != "load" },
	Said:  []string{"model id: qwen-vl", "model id: qwen2-vl", "model id: qwen2.5-vl", "model id: qwen3-vl", "model id: internvl", "model id: minicpm-v", "model id: glm-4v", "model id: glm-4.1v", "model id: deepseek-vl", "model id: ovis"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of GPU memory on a request, most likely because of a large image",
	Means:    "The model's name says that it reads images, and it was already loaded. Its image encoder needs much more memory for large images, and every image of the conversation counts.",
	Not:      "A shorter answer: images are processed before the first word.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Send a smaller image, or limit its size at launch", Told: "Half the width and height is a quarter of the pixels. For Qwen-VL and similar models on the Transformers engine, add this launch parameter (Xinference before 1.5.0 does not limit images by itself):", Kind: "config", Text: "--max_pixels 401408", Cost: "less fine detail"},
		{Fix: "upgrade_version", Title: "Or launch it on the vLLM engine", Told: "`--model-engine vLLM` needs less memory for large images. It reserves most of the GPU: set `--gpu_memory_utilization 0.9` less what other models hold.", Cost: "a new start with other limits"},
		{Fix: "use_lower_quant", Cost: "slight loss of quality"},
	},
	Sources: []string{"xinference/model/llm/transformers/multimodal/qwen2_vl.py", "xinference/deploy/cmdline.py", "https://github.com/xorbitsai/inference/pull/3242", "https://github.com/xorbitsai/inference/issues/3230"}, Solved: 1,
}, {
	ID: "xinference/crowded-request", Kinds: onCard, Said: []string{"Model actor is out of memory"}, Figures: Listed,
	If: func(c *ledger.Case) bool {
		return c.In("xinference") && !c.In("vllm") && c.Asked.Has() && c.Mine.Has() && c.Others.Has() && c.Others.Bytes > units.GiB
	},
	Headline: "ran out of GPU memory in a request: it needed {asked} at once, beside another process",
	Means:    "The model was loaded and was working on a request. It holds {mine} of {total}; most of the rest is held by others, most likely another model of Xinference.[[ {listed}]] Embedding and rerank models compute all texts of a request in one batch, padded to the longest.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Send fewer and shorter texts per request", Told: "Embedding or rerank: 8 to 16 texts at a time, each cut to 512 to 1024 tokens (Dify, RAGFlow: lower top K and chunk size). Language model: a shorter prompt.", Cost: "more requests"},
		{Fix: "select_gpu", Title: "Or launch one of the two models on another GPU", Cost: "needs a free GPU"},
		{Fix: "restart_session", Cost: "that model is gone until launched again"},
	},
	Sources: []string{"xinference/core/model.py", "xinference/model/rerank/sentence_transformers/core.py"},
}, {
	ID: "xinference/graphs", Kinds: onCard, Said: []string{"CUDA graphs can take additional 1~3 GiB memory per GPU"},
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "ran out of GPU memory in its vLLM engine, about when it captured CUDA graphs",
	Means:    "Xinference runs this model with vLLM. vLLM takes its share of the GPU (0.9 by default) for weights and KV cache. CUDA graphs need 1 to 3 GiB outside that share, and other models on this GPU must fit there too.",
	Cures: []cause.Cure{
		{Fix: "lower_gpu_memory_utilization", Title: "Lower `gpu_memory_utilization` at launch", Own: true, Cost: "a smaller cache"},
		{Fix: "enforce_eager", Title: "Or turn CUDA graphs off: `--enforce_eager True`", Told: "In the same place.", Cost: "slower tokens"},
		{Fix: "kill_stale_process", Title: "Check what else is on the GPU", Kind: "shell", Text: "nvidia-smi   # other models: xinference list, then xinference terminate --model-uid UID", Cost: "free"},
	},
	Sources: []string{"vllm/worker/model_runner.py", "xinference/model/llm/vllm/core.py"},
}, {
	ID: "xinference/vllm", Kinds: onCard, If: func(c *ledger.Case) bool { return c.In("vllm") && c.Phase != "load" && !stage.Profiling(c) },
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "ran out of GPU memory in its vLLM engine",
	Means:    "Xinference runs this model with vLLM. vLLM takes its share of the GPU (0.9 by default) for weights and KV cache, and this step did not fit in the rest.[[ {mine} of {total} is this process's own.]] Long prompts, many requests at once or large images can cause that.",
	Cures: []cause.Cure{
		{Fix: "lower_gpu_memory_utilization", Title: "Lower `gpu_memory_utilization` at launch", Own: true, Cost: "a smaller cache"},
		Flags("lower_max_num_seqs", "Or compute less at once", "", "others wait, long prompts are slower", Option("max_num_seqs", "16"), Option("max_num_batched_tokens", "2048")),
		{Fix: "use_lower_quant", Title: "Or load smaller weights", Told: "Choose another Quantization on the launch page, or `--quantization` on the command line (AWQ, GPTQ Int4).", Cost: "slight loss of quality"},
	},
	Sources: []string{"xinference/deploy/cmdline.py", "inference/doc/source/getting_started/using_xinference.rst"}}}
