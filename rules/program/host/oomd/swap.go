package oomd

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// oomdSwap is systemd-oomd where it lists its candidates by their swap, as it
// does for no other reason than full RAM and swap (oomd_select_by_swap_usage).
var oomdSwap = cause.Card{
	ID: "linux/oomd-swap", Kinds: []fact.Kind{fact.OOMD}, Said: []string{"Swap Usage:"}, If: when.Not(when.Any(pressed, talos, FullSwap)),
	Cause: cause.HostMemory, Weight: cause.Decisive, Figures: oomdGroup,
	Headline: "(systemd-oomd) ended a whole group of programs: RAM and swap were nearly full",
	Means:    "It was systemd-oomd, not the kernel. It lists groups by their swap, which it does when RAM and swap are both nearly full (over 90 % by default), and ends the group with the most, with all that runs in it.[[ {swarm} processes were in that one: all that is started from one terminal or desktop app shares a group, unless something multiplies.]]",
	Not:      "Looking for \"Killed process\" in dmesg: the kernel did not do this. `journalctl -u systemd-oomd` shows it.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", Title: "Find what fills RAM and swap, and end or reduce it", Told: "The second command counts processes by name: hundreds of one kind point to jobs without a limit (`make -j8`, `pytest -n 4`, `xargs -P 4` set one).", Kind: "shell", Text: "systemd-cgtop -m   # the largest groups\nps -eo comm= | sort | uniq -c | sort -rn | head", Cost: "A look is free"},
		{Fix: "raise_memory_limit", Title: "Start large jobs in a group of their own", Told: "Then only the job is ended, not your terminal with it. Put your own command in place of the last two words:", Kind: "shell", Text: "systemd-run --user --scope -p MemoryMax=50% python train.py", Cost: "It can still be ended itself"},
		{Fix: "add_swap", Title: "Add swap, or do not let it end groups for swap", Told: "More swap moves the limit. Or `ManagedOOMSwap=auto` in place of `kill` on the slice that has it (`systemctl --user edit app.slice`, under `[Slice]`): then the kernel ends single processes, later.", Cost: "Disk; the machine may stall before"},
	},
	Sources: []string{"systemd/src/oom/oomd-util.c", "systemd/man/oomd.conf.xml", "systemd/man/systemd.resource-control.xml"},
}

// oomdGroup says how many processes a group had, where it was far more than
// programs start on purpose.
func oomdGroup(c *ledger.Case) map[string]string {
	return map[string]string{"swarm": oomdFigures(c)["swarm"]}
}
