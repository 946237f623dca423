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
		If: cures.OwnCard, Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "ran out of memory while resizing the token embeddings",
		Means: "`resize_token_embeddings` creates a second embedding table. Without `mean_resizing=False`, newer transformers also makes 32-bit copies of the old one to compute mean and covariance. With a vocabulary of 152,000 and width 3,584 each copy takes 2 GiB.",
		Not:   "A shorter prompt, smaller images or batch: the embeddings stay as large.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Resize without mean and covariance (mean_resizing=False)", Told: "Change the line in the traceback that calls it (transformers 4.46 and later). That is fine if a checkpoint or training fills the new rows anyway.", Kind: "python", Text: "model.resize_token_embeddings(len(tokenizer), mean_resizing=False)", Cost: "new rows start at random"},
			{Fix: "cpu_offload", Title: "Or resize in system RAM, before moving the model to the GPU", Told: "Load with `device_map=\"cpu\"`, resize, then call `.to(\"cuda\")`.", Cost: "RAM for the model"},
			{Fix: "load_in_4bit", Title: "If the GPU is full anyway: load 4-bit weights", Told: "The cache, images or training need room as well.", Cost: "little quality"},
		},
		Sources: []string{"transformers/src/transformers/modeling_utils.py", "https://github.com/NVlabs/VILA/issues/262"},
	}
}
