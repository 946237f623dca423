package rest

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/room"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Pools are about graphics whose figures are of two kinds of memory.
var Pools = []cause.Card{
	{
		ID: "pytorch/two-pools", Kinds: cures.Allocators, If: when.All(cures.OnOneCard, room.FreeAboveTotal),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "was refused {asked} on graphics that share the computer's RAM",
		Means:    "The message has {free} free of {total} in all, which no card can. So these are two pools, as on AMD graphics without memory of their own: the total is the part that the BIOS sets apart, and what is free includes RAM that the driver may map besides (GTT). No sum of the two says anything; PyTorch's tensors held {held}, and the pool in which it asked was full.",
		Not:      "Closing programs because of the {free}: that part was not short. `empty_cache()`.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Give the graphics more of the RAM", Cost: "a restart; less RAM for the rest", Told: "Either a larger part in the BIOS (UMA frame buffer), or a small one there and a larger GTT: on Linux `ttm.pages_limit`, in pages of 4 KiB, on the kernel's command line (16777216 are 64 GiB; older kernels: `amdgpu.gttsize` in MiB). This shows both pools:", Kind: "shell", Text: "sudo dmesg | grep -iE 'amdgpu.*memory'; rocminfo | grep -A4 'Pool 1'; uname -r"},
			{Fix: "upgrade_version", Title: "Use a newer kernel, and a newer ROCm build of PyTorch", Cost: "half an hour", Told: "Which pool ROCm allocates from and counts depends on its version; newer ones take both for graphics of this kind."},
			{Fix: "use_lower_quant", Title: "Until then: weights that fit {total}", Cost: "little quality", Told: "8 bit takes half of 16, 4 bit about a quarter."},
		},
		Figures: func(c *ledger.Case) map[string]string {
			return map[string]string{"free": c.F().Free.String(), "held": c.F().Allocated.String()}
		},
		Sources: []string{cures.AllocatorSource, "https://github.com/ROCm/TheRock/issues/2535", "https://rocm.docs.amd.com/en/docs-7.14.0/reference/system-optimization/rdna3-5.html"},
	},
}
