// Package npu knows what PyTorch says on Huawei's NPUs, of which a line seldom
// says what ran there.
package npu

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Cards are about an NPU that is full.
var Cards = []cause.Card{{
	ID: "pytorch/npu-driver", Kinds: []fact.Kind{fact.DeviceAlloc}, If: onNPU, Said: []string{"halMemAlloc failed"}, Figures: ascendModules,
	Headline: "was refused {asked} by the NPU's driver: the card is full",
	Means:    "This is CANN's driver, below the program.[[ Its own table says who holds the card: the application {app}.]][[ Communication between cards (HCCL) holds {hccl}.]] So what fills it is what this process loaded and computed: weights, the KV cache that a server reserves, activations and operator workspaces. The lines of the program above it, if you have them, say which.",
	Not:      "`nvidia-smi`, `PYTORCH_CUDA_ALLOC_CONF`: an Ascend card has `npu-smi info` and `PYTORCH_NPU_ALLOC_CONF`. More RAM: this is the card's memory.",
	Cures: []cause.Cure{
		{Fix: "lower_gpu_memory_utilization", Title: "Leave more of the card free, or compute less at once", Ways: []cause.Way{
			{For: "Serving (vLLM-Ascend)", Text: "`--gpu-memory-utilization` 0.1 lower than now, `--max-num-batched-tokens 4096`; images: fewer of them in a request, and smaller"},
			{For: "Training", Text: "half the micro-batch, twice the accumulation; recomputation of activations"},
		}, Cost: "fewer or shorter requests at a time; slower"},
		{Fix: "restart_session", Title: "If it served for a while: watch whether it grows", Told: "Restart it and run `watch -n 5 npu-smi info` while it works: what climbs from request to request is kept or in fragments, a matter of the version (update vllm-ascend, CANN and torch_npu together).", Cost: "free"},
		{Fix: "expandable_segments", Title: "Against fragments", Kind: "shell", Text: "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True", Cost: "free"},
	},
	Sources: []string{"vllm-ascend/docs/source/faqs.md", "https://github.com/vllm-project/vllm-ascend/issues/1987", "https://gitee.com/ascend/pytorch"},
}, {
	ID: "pytorch/npu-pieces", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(onNPU, loose),
	Cause: cause.Fragmentation, Weight: cause.Strong,
	Headline: "ran out of the NPU's memory with {slack} of its own lying unused",
	Means:    "PyTorch holds {mine} of {total}, and {slack} of that is free, but in pieces: none gave {asked} at once. Sizes that change do that (texts, images, an evaluation between steps). Its tensors leave little room beside, so a lower peak helps as well.",
	Not:      "`PYTORCH_CUDA_ALLOC_CONF`: on an NPU the variable is `PYTORCH_NPU_ALLOC_CONF`.",
	Cures: []cause.Cure{
		{Fix: "expandable_segments", Title: "Let the allocator grow its segments", Told: "Before the program starts, for every rank; take `max_split_size_mb` out if it is set. With vLLM's sleep mode it cannot be combined.", Kind: "shell", Text: "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True", Cost: "free"},
		{Fix: "lower_batch_size", Title: "Compute less at once", Ways: []cause.Way{
			{For: "Training", Text: "half the micro-batch, twice the accumulation; recomputation of activations; sequences padded to a few lengths"},
			{For: "Serving with vLLM", Text: "`--max-num-batched-tokens 2048 --max-num-seqs 32`, and `--gpu-memory-utilization` 0.05 lower than now"},
		}, Cost: "slower"},
		{Fix: "multi_gpu", Title: "Or split it over more NPUs", Told: "Training: DeepSpeed ZeRO-3 or FSDP. Serving: a larger `--tensor-parallel-size`.", Cost: "needs the cards"},
	},
	Sources: []string{"vllm-ascend/docs/source/faqs.md", "https://gitee.com/ascend/pytorch"},
}, {
	ID: "pytorch/npu-full", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(onNPU, ledger.FillsCard, when.Not(loose)), Phases: []string{"unknown"},
	Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: pieceFigures,
	Headline: "filled the NPU with its own tensors: {mine} of {total}",
	Means:    "Nearly all of the card is live tensors of this process, so it is what it loads or computes: neither fragments[[ ({slack} at most)]] nor other programs. {piece} Whether it trains or serves, this line does not show.",
	Not:      "`max_split_size_mb`, `expandable_segments`[[: {slack} to gain]].",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Compute less at once", Ways: []cause.Way{
			{For: "Training", Text: "Half the micro-batch, twice the accumulation: the same result, slower. At 1 already: shorter sequences and recomputation (`model.gradient_checkpointing_enable()`; MindSpeed, Megatron: `--recompute-granularity full --recompute-method uniform --recompute-num-layers 1`)"},
			{For: "Serving with vLLM", Text: "`--gpu-memory-utilization` 0.1 lower than now, `--max-num-batched-tokens 2048 --max-num-seqs 32`; if `Loading model weights took` does not appear above, the weights did not fit: see the next points"},
			{For: "Your own script", Text: "`torch.inference_mode()` where nothing is trained, a smaller batch, 16 bit"},
		}, Cost: "slower"},
		{Fix: "multi_gpu", Title: "Or split it over more NPUs", Told: "Serving: `--tensor-parallel-size 2`. Training: DeepSpeed ZeRO-3 or FSDP. `npu-smi info` shows whether each of them fills, or only this one.", Cost: "needs the cards"},
		{Fix: "use_lower_quant", Title: "Or smaller weights", Told: "Serving: a W8A8 checkpoint (made by ModelSlim, on modelscope.cn) with `--quantization ascend`, half of 16 bit. Training: LoRA instead of all weights.", Cost: "slight loss of quality"},
	},
	Later:   "If it runs for many steps and dies then, something is kept from step to step (`loss` instead of `loss.item()`).",
	Sources: []string{"vllm-ascend/docs/source/faqs.md", "https://github.com/vllm-project/vllm-ascend/issues/1987", "https://github.com/vllm-project/vllm-ascend/issues/5020"},
}}

// ascendModules are what the driver's table says that the process and the
// communication of its cards hold.
func ascendModules(c *ledger.Case) map[string]string {
	out := map[string]string{"app": "", "hccl": ""}
	for figure, name := range map[string]string{"app": "ascend_app", "hccl": "ascend_hccl"} {
		if x, ok := c.Fact(name); ok && x.Size != nil && x.Size.Bytes > 0 {
			out[figure] = units.Amount(x.Size.Bytes)
		}
	}
	return out
}

// pieceFigures say what a piece of that size is as a rule.
func pieceFigures(c *ledger.Case) map[string]string {
	piece := "A piece as small as the one refused can be a layer of the weights as well as something computed."
	if ledger.Requested(c) >= 1<<30 {
		piece = "One piece of the size refused is rather computed (activations, logits, a gathered buffer) than a weight."
	}
	return map[string]string{"piece": piece}
}

// loose: what lies unused would have been enough in one piece.
func loose(c *ledger.Case) bool {
	return c.Slack.Has() && c.Asked.Has() && c.Slack.Bytes > c.Asked.Bytes && c.Slack.Bytes*12 > c.Total.Bytes && c.Asked.Bytes > c.Free.Bytes
}

func onNPU(c *ledger.Case) bool { return c.Backend == "npu" }
