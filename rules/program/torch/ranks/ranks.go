// Package ranks reads what fails because a job has several ranks: one of them is
// killed, or they exchange what does not fit.
package ranks

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/when"
)

// objectSource packs an object, tells the others its size, and makes room for
// the largest before the bytes are sent.
const objectSource = "pytorch/torch/distributed/distributed_c10d.py"

// refused are the messages of a card, with figures and without.
var refused = []fact.Kind{fact.TorchAlloc, fact.CUDAError}

// beyondObjects: more than any object that a program sends to its ranks.
func beyondObjects(c *ledger.Case) bool { return c.Asked.Bytes > 16*units.GiB || ledger.AbsurdSize(c) }

// Cards are about Python objects that ranks send to each other through
// the card.
var Cards = []cause.Card{
	{
		ID: "ranks/object-size-garbled", Kinds: refused, If: when.All(operation.Is(operation.Exchange), beyondObjects),
		Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "got a nonsense size while its processes exchanged a Python object",
		Means: "The processes (ranks) send each other a packed object, its size first. The size that arrived reads as {asked}, which cannot be right. Either one rank is in a different collective call (it failed, returned early or took another branch), or the transfer between the GPUs corrupts data.",
		Not:   "A smaller batch, shorter texts, allocator settings: nothing really needs that much.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Find the rank that left first", Cost: "some minutes", Told: "Scroll up to the first error of each rank: an exception in the data, in a reward or metric function, or an uneven last batch. All ranks must make the same collective calls in the same order. These settings report where they differ:", Kind: "env", Text: "export TORCH_DISTRIBUTED_DEBUG=DETAIL NCCL_DEBUG=INFO"},
			{Fix: "upgrade_version", Title: "If all ranks agree: update trainer, vLLM and PyTorch together", Cost: "half an hour", Told: "Install versions that were released for each other. If vLLM makes the exchange, a tensor-parallel size of 1 avoids it, as far as the model fits on one GPU."},
			{Fix: "restart_session", Title: "Test without direct transfers between the GPUs", Cost: "slower", Told: "If this helps, the machine's PCIe access control (ACS), IOMMU or driver is at fault:", Kind: "env", Text: "export NCCL_P2P_DISABLE=1"},
		},
		Sources: []string{objectSource, "https://github.com/pytorch/pytorch/pull/150815", "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"},
	},
	{
		ID: "ranks/object-on-card", Kinds: refused, If: when.All(operation.Is(operation.Exchange), when.Not(beyondObjects), func(c *ledger.Case) bool { return c.Asked.Bytes >= 32*units.MiB }),
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory while its processes exchanged a Python object through the GPU",
		Means:    "With NCCL, Python objects (evaluation results, lists of outputs) travel through GPU memory. Each process (rank) allocates room for the largest one; for a gather, times the number of ranks. It asked for {asked}, so the object is large.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Exchange it through system memory (gloo)", Cost: "a little slower", Told: "mmengine and mmdetection: set `collect_device=\"cpu\"`. In your own code, create a second group for objects:", Kind: "python", Text: "group = torch.distributed.new_group(backend=\"gloo\")   # once, on all ranks\ntorch.distributed.gather_object(results, gathered, dst=0, group=group)   # results, gathered: as in your call"},
			{Fix: "detach_accumulated", Title: "Send numbers instead of tensors", Cost: "none", Told: "Compute metrics on each rank and reduce only the sums, or let each rank write its results to a file. Move tensors in the object to the CPU first (`x.cpu()`)."},
			{Fix: "empty_cache", Title: "Free PyTorch's cache before the exchange", Cost: "none", Kind: "python", Text: "torch.cuda.empty_cache()   # on every rank, before the gather"},
		},
		Sources: []string{objectSource, "https://github.com/pytorch/pytorch/pull/150815", "mmengine/mmengine/evaluator/metric.py"},
	},
}
