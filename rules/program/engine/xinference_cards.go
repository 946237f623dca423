package engine

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// XinferenceCards are about requests that are one batch under Xinference: texts
// to score or to embed, and images.
var XinferenceCards = append([]cause.Card{{
	ID: "xinference/pictures", Kinds: onCard, If: func(c *ledger.Case) bool { return c.In("xinference") && !c.In("vllm") && c.Phase != "load" },
	Said:  []string{"model id: qwen-vl", "model id: qwen2-vl", "model id: qwen2.5-vl", "model id: qwen3-vl", "model id: internvl", "model id: minicpm-v", "model id: glm-4v", "model id: glm-4.1v", "model id: deepseek-vl", "model id: ovis"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of graphics memory on a request: most likely its image was too large",
	Means:    "The model by its name reads images, and it was loaded when the request came[[: {mine} of {total} was its own, {asked} more was wanted]]. In its image encoder memory grows with the square of an image's pixels where attention is not fused, and every image of the conversation counts.",
	Not:      "`--gpu_memory_utilization`: this model does not run on vLLM.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Send a smaller image, or limit its size at launch", Told: "Half the width and height is a quarter of the pixels. For Qwen-VL and similar models on the Transformers engine an additional launch parameter limits it; Xinference 1.5.0 (April 2025) and later limit it to about a million pixels by themselves:", Kind: "config", Text: "--max_pixels 401408", Cost: "fine detail"},
		{Fix: "upgrade_version", Title: "Or launch it on the vLLM engine", Told: "`--model-engine vLLM`: it has fused attention for images, and a fixed KV cache. It takes most of the card: `--gpu_memory_utilization 0.9` less what other models hold.", Cost: "a start with other limits"},
		{Fix: "use_lower_quant", Cost: "slight loss of quality"},
	},
	Sources: []string{"xinference/model/llm/transformers/multimodal/qwen2_vl.py", "xinference/deploy/cmdline.py", "https://github.com/xorbitsai/inference/pull/3242", "https://github.com/xorbitsai/inference/issues/3230"}, Solved: 1,
}, {
	ID: "xinference/texts", Kinds: onCard, Said: []string{"xinference/model/rerank/", "in rerank", "xinference/model/embedding/", "in create_embedding"}, If: func(c *ledger.Case) bool { return c.In("xinference") && !c.In("vllm") && c.Phase != "load" },
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of graphics memory on a request: too many or too long texts at once",
	Means:    "A rerank or embedding model computes the texts of a request in batches, mostly of 32, padded to the longest[[; {asked} more was wanted, {room} was free]]. Rerankers made from language models also keep scores of the whole vocabulary for every token.",
	Not:      "`--gpu_memory_utilization`: this model does not run on vLLM.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Send fewer and shorter texts per request", Told: "In the client 8 to 16 documents at a time, each cut to 512 to 1024 tokens (Dify, RAGFlow and others: top K and chunk size).", Cost: "more requests"},
		{Fix: "restart_session", Title: "Terminate models that you do not need", Cost: "they are gone until launched again"},
		{Fix: "select_gpu", Title: "Or launch it on another card", Cost: "needs a free card"},
	},
	Sources: []string{"xinference/model/rerank/sentence_transformers/core.py", "xinference/model/embedding/sentence_transformers/core.py", "https://github.com/xorbitsai/inference/issues/3710"},
}}, xinferenceMore...)
