package rest

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/when"
)

// heapLeft is what the driver would still give of the card, by its own count.
func heapLeft(c *ledger.Case) int64 {
	return max(ledger.Sized(c, "dxvk_budget")-ledger.Sized(c, "dxvk_driver"), 0)
}

// roomyHeap: the driver has many times what was refused.
func roomyHeap(c *ledger.Case) bool {
	return heapLeft(c) >= 8*max(ledger.Requested(c), 1) && heapLeft(c) >= 256<<20
}

// DXVK translates Direct3D to Vulkan, for Wine, Proton and old games.
var DXVK = program.Program{
	Name: "dxvk", Shown: "DXVK", Work: "rendering", Edits: "flags", Language: "cpp",
	Proofs:  []string{"DxvkMemoryAllocator", "dxvk::DxvkError", "info:  DXVK: v", "DxvkAdapter:"},
	Sources: program.Sources{"Proton/README.md": "PROTON_FORCE_LARGE_ADDRESS_AWARE PROTON_USE_WINED3D", "dxvk/dxvk.conf": "dxgi.maxDeviceMemory", "https://github.com/doitsujin/dxvk/blob/v1.10.3/dxvk.conf": "d3d9.evictManagedOnUnlock"},
	Cards: []cause.Card{
		{
			ID: "dxvk/address-space", Kinds: []fact.Kind{fact.DeviceAlloc, fact.PlainDevice}, Said: []string{"DxvkMemoryAllocator"}, If: roomyHeap,
			Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "was refused {asked} although {left} of the card was free",
			Means: "By the count of the driver {left} of the {card} was free. If a small request fails beside so much room, the address space of a 32-bit game is usually full: 2 GB, or 4 GB if it is large-address aware, for the game and all memory of the card mapped into it.",
			Not:   "A larger card, more RAM or swap: a 32-bit game cannot address more.",
			Cures: []cause.Cure{
				{Fix: "raise_memory_limit", Title: "Allow 4 GB of address space", Told: "`PROTON_FORCE_LARGE_ADDRESS_AWARE=1 %command%` (Proton; newer ones do it by themselves), `WINE_LARGE_ADDRESS_AWARE=1` in Wine and Lutris. `file Game.exe`: \"PE32\" is 32 bit, \"PE32+\" 64.", Cost: "Free"},
				{Fix: "upgrade_version", Title: "Update DXVK and the graphics driver", Told: "Wine and Proton bring a DXVK of their own: the newest GE-Proton, Proton Experimental or runner in Lutris. 2.5 and later have a new allocator and need Vulkan 1.3.", Cost: "Some minutes"},
				{Fix: "lower_resolution", If: held, Title: "Lower the texture quality", Told: "No HD packs; Direct3D 9 with DXVK 1.10.3 and older: `d3d9.evictManagedOnUnlock = True` in dxvk.conf beside the game.", Cost: "Detail, some stutter"},
				{Fix: "fix_shape", If: when.Not(held), Title: "For comparison, try WineD3D", Told: "`PROTON_USE_WINED3D=1 %command%`: if the game runs that way, it is DXVK or the driver.", Cost: "Slow; a test"},
				{Fix: "restart_session", Title: "If it fails after hours: restart the game now and then", Cost: "Free"},
			},
			Figures: heapFigures,
			Sources: []string{"dxvk/src/dxvk/dxvk_memory.cpp", "https://github.com/doitsujin/dxvk/wiki/Driver-support", "https://github.com/doitsujin/dxvk/issues/1410", "https://github.com/doitsujin/dxvk/issues/500"}, Solved: 1,
		},
		{
			ID: "dxvk/full", Kinds: []fact.Kind{fact.DeviceAlloc, fact.PlainDevice}, Said: []string{"DxvkMemoryAllocator"},
			Cause: cause.ModelTooLarge, Weight: cause.Fair, Headline: "could not get memory for a texture or buffer of the game",
			Means: "DXVK asks the Vulkan driver for each block of textures and buffers. The lines \"Heap 0\" (the card) and \"Heap 1\" (RAM) below the message show which is at its budget; if neither is, a 32-bit game has used its 2 or 4 GB of addresses.",
			Cures: []cause.Cure{
				{Fix: "lower_resolution", Title: "Lower the texture quality", Told: "Then resolution, shadows and anti-aliasing; no HD texture packs.", Cost: "Detail"},
				{Fix: "close_other_apps", Title: "Close other programs that use the card", Told: "Browsers, launchers, recorders; on laptops see that the game runs on the dedicated card.", Cost: "Free"},
				{Fix: "upgrade_version", Title: "Update DXVK and the driver", Told: "2.5 and later give memory back better; 32-bit games: `PROTON_FORCE_LARGE_ADDRESS_AWARE=1 %command%`.", Cost: "Free"},
			},
			Sources: []string{"dxvk/src/dxvk/dxvk_memory.cpp"},
		},
	},
}

// held: the game had put so much on the card that its textures count.
func held(c *ledger.Case) bool { return ledger.Sized(c, "dxvk_driver") >= 512<<20 }

func heapFigures(c *ledger.Case) map[string]string {
	told := map[string]string{"left": "", "card": ""}
	if left := heapLeft(c); left > 0 {
		told["left"] = units.Amount(left)
	}
	if c.F().Total != nil {
		told["card"] = c.F().Total.String()
	}
	return told
}
