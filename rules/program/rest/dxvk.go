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
			Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "was refused {asked} although {left} of GPU memory was free",
			Means: "The driver still had {left} of {card} for this game. When a small request fails beside that much room, a 32-bit game has usually used up its address space: 2 GB, or 4 GB if it is large-address aware. The game itself and all mapped GPU memory share it.",
			Not:   "A larger card, more RAM or swap: a 32-bit game cannot address more.",
			Cures: []cause.Cure{
				{Fix: "raise_memory_limit", Title: "Allow the game 4 GB of address space", Told: "Steam launch options: `PROTON_FORCE_LARGE_ADDRESS_AWARE=1 %command%` (newer Proton does it by itself). Wine and Lutris: `WINE_LARGE_ADDRESS_AWARE=1`. `file Game.exe` says PE32 for 32 bit, PE32+ for 64 bit.", Cost: "free"},
				{Fix: "upgrade_version", Title: "Update DXVK and the graphics driver", Told: "Wine and Proton bring their own DXVK: choose the newest GE-Proton, Proton Experimental or Lutris runner. DXVK 2.5 and later manage memory better, and need Vulkan 1.3.", Cost: "some minutes"},
				{Fix: "lower_resolution", If: held, Title: "Lower the texture quality", Told: "Remove HD texture packs. For Direct3D 9 with DXVK 1.10.3 and older, put `d3d9.evictManagedOnUnlock = True` into dxvk.conf beside the game.", Cost: "detail, some stutter"},
				{Fix: "fix_shape", If: when.Not(held), Title: "As a test, try WineD3D", Told: "`PROTON_USE_WINED3D=1 %command%`. If the game runs that way, the fault is in DXVK or the driver.", Cost: "slow"},
				{Fix: "restart_session", Title: "If it fails only after hours, restart the game now and then", Cost: "free"},
			},
			Figures: heapFigures,
			Sources: []string{"dxvk/src/dxvk/dxvk_memory.cpp", "https://github.com/doitsujin/dxvk/wiki/Driver-support", "https://github.com/doitsujin/dxvk/issues/1410", "https://github.com/doitsujin/dxvk/issues/500"}, Solved: 1,
		},
		{
			ID: "dxvk/full", Kinds: []fact.Kind{fact.DeviceAlloc, fact.PlainDevice}, Said: []string{"DxvkMemoryAllocator"},
			Among: own, Headline: "ran out of memory for the game's textures",
			Means: "DXVK translates Direct3D to Vulkan and asks the graphics driver for memory. Look at the lines below the message: \"Heap 0\" is usually the card, \"Heap 1\" RAM. If \"allocated (driver)\" is near \"budget\", that one is full. If neither is, a 32-bit game has used up its 2 or 4 GB of address space.",
			Cures: []cause.Cure{
				{Fix: "lower_resolution", Title: "Lower the texture quality", Told: "Then lower resolution, shadows and anti-aliasing; remove HD texture packs.", Cost: "detail"},
				{Fix: "close_other_apps", Title: "Close other programs that use the GPU", Told: "Browsers, launchers, recorders. On a laptop make sure that the game runs on the dedicated GPU.", Cost: "free"},
				{Fix: "upgrade_version", Title: "Update DXVK and the graphics driver", Told: "DXVK 2.5 and later give memory back better. 32-bit games: `PROTON_FORCE_LARGE_ADDRESS_AWARE=1 %command%`.", Cost: "free"},
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
