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
	Headline: "asked for {asked} in one piece while it generated: the card has {total}",
	Means:    "The lines above it are of a language model that answers. A piece of that size is most likely the scores of attention (every token with every other, so four times as much for twice the text) or the logits of a very long prompt, or of many at once. In a chain with retrieval the prompt holds all documents found, and the history.",
	Not:      "4 bit, closing programs, allocator settings: not even an empty card holds that piece.",
	Cures: []cause.Cure{
		{Fix: "lower_context", Title: "Shorten the prompt", Cost: "it sees less of the text", Kind: "text", Text: "Print its length in tokens first. Fewer and shorter documents (LangChain: `search_kwargs={\"k\": 2}` for the retriever, a smaller `chunk_size`), less history; or `truncation=True, max_length=2048` for the tokenizer."},
		{Fix: "efficient_attention", Title: "Use attention that stores no scores", Cost: "free", Told: "In the call of `from_pretrained` (Transformers 4.36 and later): `attn_implementation=\"sdpa\"`, or `\"flash_attention_2\"` on RTX 30 and later."},
		{Fix: "lower_batch_size", Title: "One prompt at a time", Cost: "slower", Told: "In a pipeline `batch_size=1`; no list of prompts in one `generate`."},
	},
	Sources: []string{"transformers/src/transformers/generation/configuration_utils.py", "transformers/src/transformers/generation/utils.py", "https://huggingface.co/docs/transformers/llm_optims"},
}}

// pastTheCard: no card of this size has room for what was asked.
func pastTheCard(c *ledger.Case) bool {
	total := ledger.SizeOf(c.F().Total)
	return total > 0 && ledger.Requested(c) > total && ledger.Requested(c) < cause.Absurd && !c.Training()
}
