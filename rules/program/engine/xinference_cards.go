package engine

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// XinferenceCards are about models that score or embed texts under Xinference:
// they compute all texts of a request in one batch.
var XinferenceCards = append([]cause.Card{{
	ID: "xinference/texts", Kinds: onCard, Said: []string{"xinference/model/rerank/", "in rerank", "xinference/model/embedding/", "in create_embedding"}, If: func(c *ledger.Case) bool { return c.In("xinference") && !c.In("vllm") && c.Phase != "load" },
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of GPU memory on a request: too many or too long texts at once",
	Means:    "A rerank or embedding model computes the texts of a request in batches, usually of 32, padded to the longest. Rerankers made from language models also keep scores of the whole vocabulary for every token.",
	Not:      "`--gpu_memory_utilization`: this model does not run on vLLM.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Send fewer and shorter texts per request", Told: "Send 8 to 16 documents at a time, each cut to 512 to 1024 tokens (Dify, RAGFlow and others: lower top K and chunk size).", Cost: "more requests"},
		{Fix: "restart_session", Title: "Terminate models that you do not need", Cost: "they are gone until launched again"},
		{Fix: "select_gpu", Title: "Or launch it on another GPU", Cost: "needs a free GPU"},
	},
	Sources: []string{"xinference/model/rerank/sentence_transformers/core.py", "xinference/model/embedding/sentence_transformers/core.py", "https://github.com/xorbitsai/inference/issues/3710"},
}}, xinferenceMore...)
