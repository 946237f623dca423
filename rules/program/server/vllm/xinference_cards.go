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
	Headline: "ran out of graphics memory on a request: most likely its image was too large",
	Means:    "The model by its name reads images, and it was loaded when the request came[[: {mine} of {total} was its own, {asked} more was wanted]]. In its image encoder memory grows with the square of an image's pixels where attention is not fused, and every image of the conversation counts.",
	Not:      "A shorter answer: images are encoded before the first word.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Send a smaller image, or limit its size at launch", Told: "Half the width and height is a quarter of the pixels. For Qwen-VL and similar models on the Transformers engine an additional launch parameter limits it; Xinference 1.5.0 (April 2025) and later limit it to about a million pixels by themselves:", Kind: "config", Text: "--max_pixels 401408", Cost: "fine detail"},
		{Fix: "upgrade_version", Title: "Or launch it on the vLLM engine", Told: "`--model-engine vLLM`: it has fused attention for images, and a fixed KV cache. It takes most of the card: `--gpu_memory_utilization 0.9` less what other models hold.", Cost: "a start with other limits"},
		{Fix: "use_lower_quant", Cost: "slight loss of quality"},
	},
	Sources: []string{"xinference/model/llm/transformers/multimodal/qwen2_vl.py", "xinference/deploy/cmdline.py", "https://github.com/xorbitsai/inference/pull/3242", "https://github.com/xorbitsai/inference/issues/3230"}, Solved: 1,
}, {
	ID: "xinference/crowded-request", Kinds: onCard, Said: []string{"Model actor is out of memory"}, Figures: Listed,
	If: func(c *ledger.Case) bool {
		return c.In("xinference") && !c.In("vllm") && c.Asked.Has() && c.Mine.Has() && c.Others.Has() && c.Others.Bytes > units.GiB
	},
	Headline: "ran out of graphics memory in a request: {asked} in one piece, beside another model",
	Means:    "The model was loaded and worked on a request, which wanted {asked} at once; {mine} of {total} was its own by then, {others} is another process's.[[ {listed}]] That is most likely another model that Xinference launched, so look at the request first: an embedding or rerank model computes its texts in one batch, padded to the longest.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Send fewer and shorter texts per request", Told: "In the client 8 to 16 documents at a time, each cut to 512 to 1024 tokens (Dify, RAGFlow and others: top K and chunk size); to a language model shorter prompts.", Cost: "more requests"},
		{Fix: "select_gpu", Title: "Or launch one of the two on another card", Cost: "needs a free card"},
		{Fix: "restart_session", Cost: "that model is gone until launched again"},
	},
	Sources: []string{"xinference/core/model.py", "xinference/model/rerank/sentence_transformers/core.py"},
}, {
	ID: "xinference/graphs", Kinds: onCard, Said: []string{"CUDA graphs can take additional 1~3 GiB memory per GPU"},
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "ran out of graphics memory in its vLLM engine, about where CUDA graphs are captured",
	Means:    "The engine under Xinference is vLLM: weights and KV cache take its share of the card (0.9 unless set at launch). CUDA graphs come on top, by its own lines 1 to 3 GiB per card.[[ {asked} was refused.]] Other models on this card, such as an embedding model, have only that rest too.",
	Cures: []cause.Cure{
		{Fix: "lower_gpu_memory_utilization", Title: "Lower `gpu_memory_utilization` at launch", Own: true, Cost: "a smaller cache"},
		{Fix: "enforce_eager", Title: "Or turn CUDA graphs off: `--enforce_eager True`", Told: "In the same place.", Cost: "slower tokens"},
		{Fix: "kill_stale_process", Title: "Check what else is on the card", Kind: "shell", Text: "nvidia-smi   # other models: xinference list, then xinference terminate --model-uid UID", Cost: "free"},
	},
	Sources: []string{"vllm/worker/model_runner.py", "xinference/model/llm/vllm/core.py"},
}, {
	ID: "xinference/vllm", Kinds: onCard, If: func(c *ledger.Case) bool { return c.In("vllm") && c.Phase != "load" && !stage.Profiling(c) },
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "ran out of graphics memory in its vLLM engine",
	Means:    "The engine under Xinference is vLLM: weights and KV cache take its share of the card (0.9 unless set at launch), and what it computed did not fit in the rest[[: {asked} was needed, {room} was left]].[[ {mine} of {total} is this process's own.]] Long prompts, many requests at once or images can do that.",
	Cures: []cause.Cure{
		{Fix: "lower_gpu_memory_utilization", Title: "Lower `gpu_memory_utilization` at launch", Own: true, Cost: "a smaller cache"},
		Flags("lower_max_num_seqs", "Or compute less in one step", "", "others wait, long prompts are slower", Option("max_num_seqs", "16"), Option("max_num_batched_tokens", "2048")),
		{Fix: "use_lower_quant", Title: "Or load smaller weights", Told: "Another `--quantization` that the launch page lists for this model (AWQ, GPTQ Int4).", Cost: "slight loss of quality"},
	},
	Sources: []string{"xinference/deploy/cmdline.py", "inference/doc/source/getting_started/using_xinference.rst"}}}
