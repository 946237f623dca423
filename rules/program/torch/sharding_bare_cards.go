package torch

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
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

func tinyMacLimit(c *ledger.Case) bool {
	limit := c.F().Limit
	return limit != nil && limit.Bytes < 9*units.GiB/2
}

// bareCards are about messages below which no program shows.
var bareCards = []cause.Card{
	{
		ID: "pytorch/attention-of-torch1", Kinds: []fact.Kind{fact.TorchAlloc}, Said: oldAttention, If: largeAttention, Figures: logitsFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in one call of attention",
		Means:    "This PyTorch is older than 2.0: its attention always writes out every row or token against every other, so that it grows with their number squared. {asked} is one such piece.[[ Nearly all of the rest is this program's own: {mine} of {total}.]]",
		Not:      "`expandable_segments`, which this version lacks; settings that ask for a fused kernel: it has none.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Fewer rows or tokens at once", Told: "Half of them take a quarter, {quarter}; half the batch takes half, {half}.", Ways: []cause.Way{
				{For: "A table given to a transformer (TabPFN and the like)", Text: "a random part of the training rows (1000), predict test rows in pieces, fewer ensemble members at once"},
				{For: fix.Generating, Text: "half the prompt, or cut texts"},
				{For: fix.Pictures, Text: "0.7 x width and height is half the tokens"},
			}, Cost: "Some accuracy or detail."},
			{Fix: "inference_mode", Title: "Keep nothing for training, if it only predicts", Kind: "python", Text: "with torch.no_grad():\n    output = model(...)   # your call", Cost: "None."},
			{Fix: "upgrade_version", Title: "A PyTorch of 2.0 or later", Told: "It has fused attention (Python 3.8 or later); a new environment is the easiest.", Cost: "Some minutes; old code may need changes."},
		},
		Sources: []string{"https://github.com/pytorch/pytorch/blob/v1.12.1/torch/nn/functional.py", "https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html"},
	},
	{
		ID: "pytorch/attention-square", Kinds: []fact.Kind{fact.TorchAlloc}, Said: attentionWords, Unsaid: oldAttention, If: largeAttention, Figures: logitsFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in one call of attention",
		Means:    "`scaled_dot_product_attention` asked for {asked} in one piece. Fused kernels need no such piece: PyTorch fell back to the plain form, which writes out every token against every other, so that it grows with the length squared. It does so for 32-bit numbers, for some masks, and for bfloat16 or flash on cards before RTX 30 (V100, T4).[[ Nearly all of the rest is this program's own: {mine} of {total}.]] If a first image or prompt worked and the second failed, something of the first is still held.",
		Not:      "`expandable_segments` alone[[: {slack} of unused reserve is far less than the piece]].",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Fewer tokens", Told: "Half the tokens take a quarter, {quarter}; half the batch takes half, {half}.", Ways: []cause.Way{
				{For: fix.Pictures, Text: "0.7 x width and height is half the tokens; fewer frames, fewer input images"},
				{For: fix.Generating, Text: "half the prompt"},
			}, Cost: "Detail or context."},
			{Fix: "efficient_attention", Title: "Get a fused kernel", Told: "float16 instead of bfloat16 or 32 bit, `is_causal=True` instead of a full mask, a newer PyTorch. This says why one is refused:", Kind: "python", Text: "from torch.nn.attention import sdpa_kernel, SDPBackend\nwith sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):\n    output = model(...)   # your call", Cost: "float16 overflows in some models (black images, NaN)."},
			{Fix: "cpu_offload", Title: "Make room: what is not in use goes to RAM", Told: "Diffusers: `pipe.enable_model_cpu_offload()`; a project of its own often has an option such as `offload_model=True`. Restart between two images to see whether the first is still held.", Cost: "Slower."},
		},
		Sources: []string{"pytorch/aten/src/ATen/native/transformers/cuda/sdp_utils.cpp", "https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html", "https://github.com/VectorSpaceLab/OmniGen/issues/40"},
	},
	{
		ID: "pytorch/mps-small-limit", Kinds: []fact.Kind{fact.MPSAlloc}, If: tinyMacLimit,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "reached a limit on the Mac's GPU memory that is too low for any Mac of Apple's own chips",
		Means:    "`max allowed` is PyTorch's own limit, by default 1.7 times what Metal recommends: about 9 GiB on a Mac of 8 GB already. {limit} is far below, so that somebody set it: `PYTORCH_MPS_HIGH_WATERMARK_RATIO`, or the program calls `torch.mps.set_per_process_memory_fraction`. Otherwise it is an Intel Mac with a small card, or a virtual machine.",
		Not:      "Closing other programs: the limit counts what this program holds only.",
		Cures: []cause.Cure{
			{Fix: "raise_watermark", Title: "Find who set the limit, and take it out", Told: "Then start the program again. The last line says what Metal recommends in GiB; a call of `set_per_process_memory_fraction` stands in the program or its packages.", Kind: "shell", Text: "echo $PYTORCH_MPS_HIGH_WATERMARK_RATIO; unset PYTORCH_MPS_HIGH_WATERMARK_RATIO\ngrep -rnE 'WATERMARK_RATIO|set_per_process_memory_fraction' --include=*.py .\npython -c \"import torch; print(torch.mps.recommended_max_memory() / 2**30)\"", Cost: "Free."},
			{Fix: "lower_batch_size", Title: "If the limit must stay: less at a time", Told: "A smaller batch (embeddings: `model.encode(texts, batch_size=4)`), 16 bit (`model.half()`), and `torch.mps.empty_cache()` between pieces of work.", Cost: "Slower."},
			{Fix: "cpu_offload", Title: "A GPU that is really this small: use the CPU", Told: "`device=\"cpu\"` where the program takes a device.", Cost: "Slower."},
		},
		Sources: []string{"pytorch/aten/src/ATen/mps/MPSAllocator.mm", "https://docs.pytorch.org/docs/stable/mps_environment_variables.html", "https://github.com/buildingjoshbetter/TrueMemory/issues/459"},
	},
	{
		ID: "pytorch/cached-slack", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool {
			return ledger.Before2020(c) && ownCard(c) && ledger.FillsCard(c) && c.Slack.Bytes > c.Asked.Bytes && !c.In("comfyui", "a1111")
		},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory: nearly all that it holds is in use",
		Means:    "{asked} was only the last straw. \"cached\" in the message means a PyTorch before 1.4: {slack} of its reserve is free but in pieces, as tensors of changing sizes leave it; the rest of it is live. Too large a batch does that, or one long sample. If it ran for many steps before, suspect that sample, or something that is kept.",
		Not:      "`PYTORCH_CUDA_ALLOC_CONF`: your PyTorch does not read it yet (releases from 1.10 on do).",
		Later:    "If it dies late again: add up `loss.item()`, not `loss`, and evaluate under `torch.no_grad()`.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the work of a step", Ways: []cause.Way{
				{For: fix.Training, Text: "half the batch, and `optimizer.step()` only every second one (nearly the same result)"},
				{For: "Text", Text: "cut samples at 128 or 256 tokens (BERT and RoBERTa: `max_seq_length`); attention grows with the length squared, and one long sample pads its batch"},
				{For: "Pictures", Text: "half the width and height"},
				{For: fix.Using, Text: "`with torch.no_grad():` around it (free)"},
			}, Cost: "Slower."},
			{Fix: "mixed_precision", Title: "A newer PyTorch, with 16 bit", Told: "From 1.6 on `torch.cuda.amp.autocast()` with a `GradScaler` takes up to half of the activations, and its allocator handles pieces better. Take a release that still supports the card.", Cost: "The code may need changes."},
			{Fix: "gradient_checkpointing", If: func(c *ledger.Case) bool { return fix.Way(c, fix.Training) }, Title: "Recompute instead of keep", Told: "`torch.utils.checkpoint.checkpoint(layer, x)` around the large layers in `forward()`; your PyTorch has it.", Cost: "About 30 % more time per step."},
		},
		Sources: []string{"pytorch/c10/cuda/CUDACachingAllocator.cpp", "https://github.com/UKPLab/sentence-transformers/issues/57", cudaNotes},
	},
	{
		ID: "pytorch/logits-fp32", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"_convert_to_fp32", "in convert_to_fp32", "logits.float()", "logits = logits.float"}, If: when.All(ownCard, func(c *ledger.Case) bool { return ledger.Requested(c) >= units.GiB/2 }), Figures: logitFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "ran out of memory turning a language model's logits into 32 bit",
		Means:    "Logits are batch x padded length x vocabulary. {asked} is {tokens32} tokens of a 32,000-word vocabulary, {tokens128} of 128,000 (Llama 3), {tokens152} of 152,000 (Qwen); one long sample pads its whole batch. The copy stands beside the 16-bit original, half its size.",
		Not:      "4 bit or LoRA: they do not touch the logits.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Shorter samples or prompts", Ways: []cause.Way{
				{For: fix.Training, Text: "`SFTConfig(max_length={shorter})` (max_seq_length in trl before 0.20); Unsloth: `max_seq_length={shorter}` where the model is loaded"},
				{For: fix.Using, Text: "`tokenizer(text, truncation=True, max_length=2048)`"},
			}, Cost: "What is cut off is lost."},
			{Fix: "lower_batch_size", Title: "One sample at a time", Ways: []cause.Way{
				{For: fix.Training, Text: "`per_device_train_batch_size=1, gradient_accumulation_steps=8`"},
				{For: "Evaluation", Text: "`per_device_eval_batch_size=1, eval_accumulation_steps=4, bf16_full_eval=True`"},
			}, Cost: "Slower."},
			{Fix: "upgrade_version", Title: "Update transformers, trl and Unsloth", Told: "Newer releases avoid the copy, or compute the last token's logits only; `use_liger_kernel=True` never writes them out.", Kind: "shell", Text: "pip install -U transformers trl accelerate", Cost: "Free."},
		},
		Sources: []string{"accelerate/src/accelerate/utils/operations.py", "https://github.com/huggingface/transformers/pull/31292"},
	},
}
