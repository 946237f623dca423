package fix

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var addSwap = Fix{
	ID:       "add_swap",
	Title:    "Add swap",
	Tradeoff: "Disk space; slow whenever it is used.",
	Cost:     cheap,
	Check:    "`swapon --show` lists it, `free -h` shows its size.",
	Next:     "If it crawls, the need is not a peak: use a smaller model or more RAM.",
	Told:     "Give the system more virtual memory (swap, or the page file on Windows).",
	Steps:    stepsSwap,
	Useless:  uselessSwap,
}

func uselessSwap(c *ledger.Case) string {
	if ledger.Capped(c) {
		return "A limit of the container or job was reached, not the end of the machine's memory: swap on the machine does not raise it."
	}
	if swap := ledger.FullSwap(c); swap > 0 {
		return "More swap: " + units.Amount(swap) + " were used up as well, so that it would only take longer."
	}
	return ""
}

func stepsSwap(c *ledger.Case) []step.Step {
	if c.Windows() {
		return []step.Step{{Kind: "ui", Text: "On Windows swap is the page file: Virtual memory, Change, \"Automatically manage\"; restart."}}
	}
	return []step.Step{
		{Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile"},
		{Kind: "shell", Text: "echo '/swapfile none swap sw 0 0' | sudo tee -a /etc/fstab   # to keep it over restarts"},
	}
}
