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
		Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "read a nonsense size while ranks exchanged a Python object",
		Means: "The ranks send each other a small packed object, its size first. The size that arrived reads as {asked}, which no object has. Either one rank is in another collective (it failed, returned early or took another branch), or the transport between the cards garbles data.[[ {free} of the card is free.]]",
		Not:   "A smaller batch, shorter texts, allocator settings: the size is not a real need.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Find the rank that left first", Cost: "some minutes", Told: "Scroll up to the first error of every rank: an exception in the data, in a reward or metric function, an uneven last batch. Every rank must call the same collectives in the same order. A short run with these settings names the rank that does not:", Kind: "env", Text: "export TORCH_DISTRIBUTED_DEBUG=DETAIL NCCL_DEBUG=INFO"},
			{Fix: "upgrade_version", Title: "If all ranks agree: update trainer, vLLM and PyTorch together", Cost: "half an hour", Told: "Use versions that belong together. A tensor-parallel size of 1 (where the model fits), or vLLM as a server on cards of its own, avoids the exchange."},
			{Fix: "restart_session", Title: "Test without direct transfers between the cards", Cost: "slower", Told: "If this cures it, the machine's PCIe access control, IOMMU or driver is at fault:", Kind: "env", Text: "export NCCL_P2P_DISABLE=1"},
		},
		Sources: []string{objectSource, "https://github.com/pytorch/pytorch/pull/150815", "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"},
	},
	{
		ID: "ranks/object-on-card", Kinds: refused, If: when.All(operation.Is(operation.Exchange), when.Not(beyondObjects), func(c *ledger.Case) bool { return c.Asked.Bytes >= 32*units.MiB }),
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory while ranks exchanged a Python object through the card",
		Means:    "With NCCL such an object (results of an evaluation, a list of outputs) is packed and sent through graphics memory. Each rank makes room for the largest of them, times the number of ranks where all gather. {asked} was asked for, so the object is large.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Exchange it through system memory (gloo)", Cost: "a little slower", Told: "Make a second group for objects; in mmengine and mmdetection set `collect_device=\"cpu\"`.", Kind: "python", Text: "group = torch.distributed.new_group(backend=\"gloo\")   # once, on all ranks\ntorch.distributed.gather_object(results, gathered, dst=0, group=group)   # results, gathered: as in your call"},
			{Fix: "detach_accumulated", Title: "Send numbers instead of tensors", Cost: "none", Told: "Sum up metrics on each rank and reduce the sums; write large results to a file of each rank. Move tensors in the object to the CPU first (`x.cpu()`): others arrive on the card again."},
			{Fix: "empty_cache", Title: "Free PyTorch's cache before the exchange", Cost: "none", Kind: "python", Text: "torch.cuda.empty_cache()   # on every rank, before the gather"},
		},
		Sources: []string{objectSource, "https://github.com/pytorch/pytorch/pull/150815", "mmengine/mmengine/evaluator/metric.py"},
	},
}
