package tuning

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
)

// Resized is a program's card about rows that are added to a table of embeddings, of which
// transformers makes the mean and the covariance first (modeling_utils.py).
func Resized(program string) cause.Card {
	return cause.Card{
		ID: program + "/resized-embeddings", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"in _init_added_embeddings_weights_with_mean", "in _init_added_lm_head_weights_with_mean", "in _get_resized_embeddings", "in resize_token_embeddings"},
		If: cures.OwnCard, Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "ran out of memory while it resized the token embeddings",
		Means: "`resize_token_embeddings` makes a second table for the new number of tokens. Unless it is told `mean_resizing=False`, it also turns the old one into 32 bit, and that again into a centred copy, for mean and covariance: twice rows x width x 4 bytes (vocabulary 152,000 and width 3,584: 2.0 GiB each).[[ {asked} did not fit beside {mine} of weights and the rest.]]",
		Not:   "A shorter prompt, smaller images or batch: no input was read yet.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Resize without mean and covariance (mean_resizing=False)", Told: "In the line of the traceback that calls it. Harmless where a checkpoint or training fills the new rows anyway, or no token is new.", Kind: "python", Text: "model.resize_token_embeddings(len(tokenizer), mean_resizing=False)", Cost: "new rows start at random"},
			{Fix: "cpu_offload", Title: "Or resize in RAM, before the model goes to the card", Told: "Load with `device_map=\"cpu\"`, resize, then `.to(\"cuda\")`. A table that has enough rows already need not be resized.", Cost: "RAM for the model"},
			{Fix: "load_in_4bit", Title: "If the card is full anyway: 4-bit weights", Told: "What follows (cache, images, training) needs room as well.", Cost: "little quality"},
		},
		Sources: []string{"transformers/src/transformers/modeling_utils.py", "https://github.com/NVlabs/VILA/issues/262"},
	}
}
