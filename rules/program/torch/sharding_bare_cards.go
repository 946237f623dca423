package torch

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/rest"
	"github.com/oomdoc/oomdoc/rules/when"
)

// attentionWords are where PyTorch's own attention is called.
var attentionWords = []string{"scaled_dot_product_attention"}

// oldAttention is a function of PyTorch before 2.0.
var oldAttention = []string{"in _scaled_dot_product_attention"}

// largeAttention: one call of attention wants what no fused kernel would.
func largeAttention(c *ledger.Case) bool {
	return ledger.Requested(c) >= units.GiB/2 && !ledger.Crowded(c) && !c.Training() && !c.In("comfyui", "a1111", "forge", "fooocus")
}

// bareCards are about messages below which no program shows.
var bareCards = []cause.Card{
	{
		ID: "pytorch/attention-of-torch1", Kinds: []fact.Kind{fact.TorchAlloc}, Said: oldAttention, If: largeAttention, Figures: logitsFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in one call of attention",
		Means:    "This PyTorch is older than 2.0. Its attention stores the scores of every row or token against every other: twice as many take four times the memory. {asked} is one such score matrix.",
		Not:      "`expandable_segments` and fused attention kernels: this version has neither.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Use fewer rows or tokens at once", Told: "Half of them take a quarter ({quarter}), half the batch takes half ({half}).", Ways: []cause.Way{{For: "A table given to a transformer (TabPFN and the like)", Text: "use 1,000 random training rows, predict the test rows in parts, and use fewer ensemble members at once"}, {For: fix.Generating, Text: "use half the prompt, or cut the texts"}, {For: fix.Pictures, Text: "0.7 x width and height gives half the tokens"}}, Cost: "Some accuracy or detail."},
			{Fix: "inference_mode", Title: "If it only predicts: turn gradients off", Kind: "python", Text: "with torch.no_grad():\n    output = model(...)   # your call", Cost: "None."},
			{Fix: "upgrade_version", Title: "Update PyTorch to 2.0 or later", Told: "It has fused attention. It needs Python 3.8 or later; a new environment is easiest.", Cost: "Some minutes; old code may need changes."},
		},
		Sources: []string{"https://github.com/pytorch/pytorch/blob/v1.12.1/torch/nn/functional.py", "https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html"},
	},
	{
		ID: "pytorch/attention-square", Kinds: []fact.Kind{fact.TorchAlloc}, Said: attentionWords, Unsaid: oldAttention, If: largeAttention, Figures: logitsFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in one call of attention",
		Means:    "`scaled_dot_product_attention` asked for {asked} at once, which fused kernels never need. So most likely PyTorch used the plain version: it stores the scores of every token against every other. It does that for some masks and data types, and often on GPUs before RTX 30 (V100, T4).",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Lower the image size or the input length (fewer tokens)", Told: "Half the tokens take a quarter ({quarter}), half the batch takes half ({half}).", Ways: []cause.Way{{For: fix.Pictures, Text: "0.7 x width and height gives half the tokens; or use fewer frames or input images"}, {For: fix.Generating, Text: "use half the prompt"}}, Cost: "Detail or context."},
			{Fix: "efficient_attention", If: func(c *ledger.Case) bool { return c.Backend != "npu" }, Title: "Use a fused attention kernel", Told: "Use 16 bit instead of 32 (float16 before RTX 30), no unneeded mask, and a newer PyTorch. This shows why the kernel is refused:", Kind: "python", Text: "from torch.nn.attention import sdpa_kernel, SDPBackend\nwith sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):\n    output = model(...)   # your call", Cost: "float16 overflows in some models (black images, NaN)."},
			{Fix: "cpu_offload", Title: "Offload idle models to system memory (RAM)", Told: "In diffusers: `pipe.enable_model_cpu_offload()`. Other programs often have an option such as `offload_model=True`. If only the second image fails, restart in between.", Cost: "Slower."},
		},
		Sources: []string{"pytorch/aten/src/ATen/native/transformers/cuda/sdp_utils.cpp", "https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html", "https://github.com/VectorSpaceLab/OmniGen/issues/40"},
	},
	rest.SmallMac,
	rest.CachedSlack,
	{
		ID: "pytorch/logits-fp32", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"_convert_to_fp32", "in convert_to_fp32", "logits.float()", "logits = logits.float"}, If: when.All(ownCard, func(c *ledger.Case) bool { return ledger.Requested(c) >= units.GiB/2 }), Figures: logitFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "ran out of memory while converting a language model's logits to 32 bit",
		Means:    "Logits take batch x padded length x vocabulary, and the 32-bit copy comes on top of the 16-bit original. {asked} is {tokens128} tokens with a vocabulary of 128,000 (Llama 3), {tokens152} with 152,000 (Qwen) or {tokens32} with 32,000. One long sample pads its whole batch.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Shorten the samples or prompts", Ways: []cause.Way{{For: fix.Training, Text: "`SFTConfig(max_length={shorter})` (max_seq_length in trl before 0.20); Unsloth: `max_seq_length={shorter}` where the model is loaded"}, {For: fix.Using, Text: "`tokenizer(text, truncation=True, max_length=2048)`"}}, Cost: "What is cut off is lost."},
			{Fix: "lower_batch_size", Title: "Lower the batch size to 1", Ways: []cause.Way{{For: fix.Training, Text: "`per_device_train_batch_size=1, gradient_accumulation_steps=8`"}, {For: "Evaluation", Text: "`per_device_eval_batch_size=1, eval_accumulation_steps=4, bf16_full_eval=True`"}}, Cost: "Slower."},
			{Fix: "upgrade_version", Title: "Update transformers, trl and Unsloth", Told: "Newer releases avoid the copy, or compute only the last token's logits. In training, `use_liger_kernel=True` never stores them.", Kind: "shell", Text: "pip install -U transformers trl accelerate", Cost: "Free."},
		},
		Sources: []string{"accelerate/src/accelerate/utils/operations.py", "https://github.com/huggingface/transformers/pull/31292"},
	},
}
