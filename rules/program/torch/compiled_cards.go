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
		Headline: "ran out of memory making a matrix of vocabulary x width: {asked}",
		Means:    "The failing line of compiled code states it: {shape}, which is vocabulary x width, the size of the output layer (lm_head) or of the embedding. In training that is its gradient, and it is only made where that layer is trained: in full fine-tuning, or with `lm_head` or `embed_tokens` among a LoRA's targets.[[ {mine} of {total} was held already.]]",
		Not:      "Allocator settings[[: {slack} to gain]]. A smaller batch alone: this matrix does not depend on it.",
		Cures: []cause.Cure{
			{Fix: "use_lora", Title: "Leave the output layer and the embedding frozen", Cost: "none, unless new words are to be learned", Told: "A LoRA on attention and MLP only: no `lm_head`, `embed_tokens` in `target_modules` and `modules_to_save`, and not `full_finetuning=True`. Is neither trained, the fused loss makes it all the same: update the trainer (`pip install -U unsloth unsloth_zoo`).", Kind: "python", Text: "target_modules=[\"q_proj\", \"k_proj\", \"v_proj\", \"o_proj\", \"gate_proj\", \"up_proj\", \"down_proj\"]"},
			{Fix: "load_in_4bit", Title: "The base in 4 bit", Cost: "little quality", Told: "`load_in_4bit=True` where the model is loaded: 0.6 GB per billion parameters in place of 2."},
			{Fix: "lower_batch_size", Title: "Then batch 1 and shorter samples", Cost: "slower; long samples are cut", Told: "`per_device_train_batch_size=1` with accumulation, a lower `max_seq_length`: that makes room beside the matrix, not the matrix smaller."},
		},
		Sources: []string{inductorSource, "https://docs.unsloth.ai/get-started/fine-tuning-llms-guide/lora-hyperparameters-guide"},
	},
	{
		ID: "pytorch/compiled-buffer", Kinds: refused, Said: []string{"empty_strided_cuda("}, Figures: compiledFigures,
		If: when.All(ownCard, when.Not(cures.LateStep), func(c *ledger.Case) bool { return tensors.Compiled(c) != "" }), Among: ownDoing,
		Headline: "ran out of memory in compiled code, making a tensor of {asked}",
		Means:    "The failing line of compiled code (`torch.compile`) states it: {shape}. The largest of these sizes that is batch, length or pixels is what to lower.[[ {mine} of {total} was held already.]] Compiled code joins operations and mostly needs less than the same without it.",
		Not:      "Allocator settings[[: {slack} to gain]].",
		Cures:    []cause.Cure{cures.HalveStep, cures.CheaperTraining, cures.Lighter, halfWeights},
		Later:    cures.Kept, Sources: []string{inductorSource, memoryFAQ},
	},
}
