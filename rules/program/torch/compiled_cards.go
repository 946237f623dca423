package torch

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/tensors"
	"github.com/oomdoc/oomdoc/rules/when"
)

// inductorSource writes the code in which a compiled model makes its buffers.
const inductorSource = "pytorch/torch/_inductor/codegen/wrapper.py"

// compiledFigures say what the buffer is, where its sizes come to what was asked
// for.
func compiledFigures(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	out["shape"] = tensors.Compiled(c)
	return out
}

// compiledCards are about the buffers of torch.compile.
var compiledCards = []cause.Card{
	{
		ID: "pytorch/compiled-vocabulary", Kinds: refused, Said: []string{"empty_strided_cuda("}, Figures: compiledFigures,
		If:    when.All(when.Not(ledger.Crowded), tensors.OfVocabulary),
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory for the output layer or embedding: a matrix of {asked}",
		Means:    "The failing line gives the size: {shape}. That is vocabulary x width, the shape of the output layer (`lm_head`) or the embedding. In training it is most likely that layer's gradient. It exists only if the layer is trained: in full fine-tuning, or with `lm_head` or `embed_tokens` among the LoRA targets.",
		Not:      "[[Allocator settings: at most {slack} to gain.]]",
		Cures: []cause.Cure{
			{Fix: "use_lora", Title: "Leave the output layer and the embedding frozen", Cost: "none, unless new words are to be learned", Told: "Train a LoRA on attention and MLP only: no `lm_head` or `embed_tokens` in `target_modules` or `modules_to_save`, no `full_finetuning=True`. If that is so already, update the trainer (Unsloth: `pip install -U unsloth unsloth_zoo`).", Kind: "python", Text: "target_modules=[\"q_proj\", \"k_proj\", \"v_proj\", \"o_proj\", \"gate_proj\", \"up_proj\", \"down_proj\"]"},
			{Fix: "load_in_4bit", Title: "Load the base model in 4 bit", Cost: "little quality", Told: "Pass `load_in_4bit=True` where the model is loaded: about 0.6 GB per billion parameters instead of 2."},
			{Fix: "lower_batch_size", Title: "Lower the batch size, shorten the samples", Cost: "slower; long samples are cut", Told: "Use `per_device_train_batch_size=1` with gradient accumulation and a lower `max_seq_length`, to leave more room for the matrix."},
		},
		Sources: []string{inductorSource, "https://docs.unsloth.ai/get-started/fine-tuning-llms-guide/lora-hyperparameters-guide"},
	},
	{
		ID: "pytorch/compiled-buffer", Kinds: refused, Said: []string{"empty_strided_cuda("}, Figures: compiledFigures,
		If: when.All(ownCard, when.Not(cures.LateStep), func(c *ledger.Case) bool { return tensors.Compiled(c) != "" }), Among: ownDoing,
		Headline: "ran out of memory in compiled code, for a tensor of {asked}",
		Means:    "The failing line of compiled code (`torch.compile`) gives the size: {shape}. Lower whichever of these numbers is your batch size, text length or image size.",
		Not:      "[[Allocator settings: at most {slack} to gain.]]",
		Cures:    []cause.Cure{cures.HalveStep, cures.CheaperTraining, cures.Lighter, halfWeights},
		Later:    cures.Kept, Sources: []string{inductorSource, memoryFAQ},
	},
}
