// Package lowmem knows kills by the Linux kernel with RAM free that it could not use
// for itself.
package lowmem

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// zone is what a line of the kernel's report says of a part of RAM, in bytes.
type zone struct{ free, least, reserved int64 }

// shortZone is a zone below its minimum whose free memory is nearly all kept for
// drivers; ok is false where the report shows none.
func shortZone(c *ledger.Case) (z zone, ok bool) {
	for _, x := range c.Facts.Facts {
		if x.Size == nil {
			continue
		}
		switch x.Name {
		case "zone_free":
			z = zone{free: x.Size.Bytes}
		case "zone_min":
			z.least = x.Size.Bytes
		case "zone_cma":
			if z.reserved = x.Size.Bytes; z.free > z.reserved && z.free-z.reserved < z.least && z.reserved > 4*z.least {
				return z, true
			}
		}
	}
	return zone{}, false
}

func reservedLowmem(c *ledger.Case) bool { _, ok := shortZone(c); return ok }

// highMem: a 32-bit kernel, part of whose RAM it reaches in a roundabout way only.
func highMem(c *ledger.Case) bool { _, ok := c.Fact("kernel_highmem"); return ok }

func zoneFigures(c *ledger.Case) map[string]string {
	z, _ := shortZone(c)
	out := map[string]string{"zone_free": units.Amount(z.free), "zone_cma": units.Amount(z.reserved), "zone_left": units.Amount(z.free - z.reserved), "zone_min": units.Amount(z.least), "high": "", "swap": ""}
	if x, ok := c.Fact("kernel_highmem"); ok {
		out["high"] = units.Amount(x.Size.Bytes)
	}
	total, ok := c.Fact("kernel_swap")
	left, ok2 := c.Fact("kernel_swap_free")
	if ok && ok2 && total.Size.Bytes > 0 && left.Size.Bytes*10 >= total.Size.Bytes*9 {
		out["swap"] = units.Amount(left.Size.Bytes)
	}
	return out
}

// Cards are kills for want of low memory.
var Cards = []cause.Card{{
	ID: "linux/lowmem-reserved", Kinds: []fact.Kind{fact.KernelKill, fact.PlainHost}, If: reservedLowmem, Figures: zoneFigures,
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "ran out of the kernel's own RAM: {zone_cma} of the free {zone_free} is kept for drivers",
	Means:    "The kernel needs memory from a special zone (\"low memory\") for itself. {zone_free} is free there, but {zone_cma} of that is CMA, which is kept for drivers. Only {zone_left} is left, below the minimum of {zone_min}.[[ {high} of RAM is HighMem, which a 32-bit kernel cannot use for its own data.]][[ The {swap} of free swap does not help either.]] Whatever was killed need not be large.",
	Not:      "More swap, more RAM, closing other programs, or limits for programs: the kernel's own zone is short.",
	Cures: []cause.Cure{
		{Fix: "upgrade_version", If: highMem, Title: "Use a 64-bit kernel", Told: "It has no HighMem, so the kernel can use all RAM. Raspberry Pi 3 and newer: put `arm_64bit=1` into config.txt and restart; 32-bit programs still work. Other boards and PCs: install a 64-bit image.", Cost: "a restart, or an installation"},
		{Fix: "limit_framework_preallocation", Title: "Reserve less for drivers (CMA)", Told: "Put `cma=64M` on the kernel's command line (Raspberry Pi: cmdline.txt, or `dtoverlay=vc4-kms-v3d,cma-64` in config.txt), then restart. `grep Cma /proc/meminfo` shows the size. Cameras and large screens need more.", Cost: "perhaps no room for camera or video"},
		{Fix: "upgrade_version", If: when.Not(highMem), Title: "Update the kernel", Told: "Take the newest one for the board: how it divides RAM between itself and CMA has changed several times.", Cost: "a restart"},
	},
	Sources: []string{"linux/mm/show_mem.c", "linux/mm/page_alloc.c", "https://www.kernel.org/doc/html/latest/admin-guide/kernel-parameters.html", "https://github.com/raspberrypi/documentation/blob/master/documentation/asciidoc/computers/config_txt/boot.adoc"},
}}
