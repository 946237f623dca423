package script

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// PromptCards are about a language model that was given more text than one card
// can compare with itself.
var PromptCards = []cause.Card{{
	ID: "transformers/prompt", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"generation/configuration_utils.py", "Setting `pad_token_id` to `eos_token_id`"}, If: pastTheCard,
	Cause: cause.OversizedAllocation, Weight: cause.Strong,
	Headline: "asked for {asked} at once, but the GPU has only {total}: probably a very long prompt",
	Means:    "The log shows a language model generating text. A request of that size is most likely attention scores or logits of a very long prompt, or of many prompts at once. Twice the text can take four times the memory. In a RAG chain the prompt includes all retrieved documents and the history.",
	Not:      "4 bit, closing programs, allocator settings: the request is larger than the whole GPU.",
	Cures: []cause.Cure{
		{Fix: "lower_context", Title: "Shorten the prompt", Cost: "it sees less of the text", Kind: "text", Text: "Print its length in tokens first. Pass `truncation=True, max_length=2048` to the tokenizer. In RAG, use fewer and shorter documents (LangChain: `search_kwargs={\"k\": 2}` for the retriever, a smaller `chunk_size`) and less history."},
		{Fix: "efficient_attention", Title: "Use attention that stores no scores", Cost: "free", Told: "Pass `attn_implementation=\"sdpa\"` to `from_pretrained` (Transformers 4.36 and later)."},
		{Fix: "lower_batch_size", Title: "Run one prompt at a time", Cost: "slower", Told: "`batch_size=1` in a pipeline; do not pass a list of prompts to `generate`."},
	},
	Sources: []string{"transformers/src/transformers/generation/configuration_utils.py", "transformers/src/transformers/generation/utils.py", "https://huggingface.co/docs/transformers/llm_optims"},
}}

// pastTheCard: no card of this size has room for what was asked.
func pastTheCard(c *ledger.Case) bool {
	total := ledger.SizeOf(c.F().Total)
	return total > 0 && ledger.Requested(c) > total && ledger.Requested(c) < cause.Absurd && !c.Training()
}
