package touch

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// DropCaches frees what a Jetson's driver does not take back by itself.
var DropCaches = cause.Cure{
	Fix: "close_other_apps", Title: "Free the file cache and the desktop's memory", Cost: "free; files are read again",
	Kind: "text", Text: "`sync; echo 3 | sudo tee /proc/sys/vm/drop_caches`, then start it again at once. On a Jetson the GPU can take only memory that is really free, and Linux fills that with files. Without the desktop (`sudo systemctl isolate multi-user.target`) there is 1 to 2 GB more.",
}

// RaiseShare gives graphics without memory of their own more of the RAM. On
// Linux amdgpu maps up to half of it (GTT), as TTM's limit of pages of 4 KiB says.
var RaiseShare = cause.Cure{Fix: "raise_memory_limit", Title: "Give the GPU a larger share of the RAM", Cost: "less RAM for programs", Steps: shareSteps}

func shareSteps(c *ledger.Case) []step.Step {
	if c.Windows() {
		return []step.Step{{Kind: "text", Text: "AMD Software, Performance, Tuning: Variable Graphics Memory; or in the BIOS: UMA frame buffer size. Restart."}}
	}
	return []step.Step{{Kind: "text", Text: "Kernel options `ttm.pages_limit=N ttm.page_pool_size=N`, N in pages of 4 KiB (15728640 is 60 GiB; leave 4 GiB or more of the RAM), in GRUB_CMDLINE_LINUX_DEFAULT of /etc/default/grub; `sudo update-grub`, restart. The BIOS' UMA frame buffer size can stay small."}}
}
