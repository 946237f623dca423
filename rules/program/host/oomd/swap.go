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
	Headline: "(systemd-oomd) killed a whole group of programs: RAM and swap were nearly full",
	Means:    "It was systemd-oomd, not the kernel. When RAM and swap are both nearly full (over 90 % by default), it kills the group that uses the most swap, with everything that runs in it.[[ {swarm} processes were in that one: everything started from one terminal or desktop app shares a group, unless something multiplies.]]",
	Not:      "Looking in dmesg: the kernel did not do this. Use `journalctl -u systemd-oomd`.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", Title: "Find what fills RAM and swap, and stop or reduce it", Told: "The second command counts processes by name. Hundreds of one kind point to jobs without a limit: set one with `make -j8`, `pytest -n 4` or `xargs -P 4`.", Kind: "shell", Text: "systemd-cgtop -m   # the largest groups\nps -eo comm= | sort | uniq -c | sort -rn | head", Cost: "free"},
		{Fix: "raise_memory_limit", Title: "Start large jobs in a group of their own", Told: "Then only the job is killed, not your terminal with it. Put your own command in place of the last two words:", Kind: "shell", Text: "systemd-run --user --scope -p MemoryMax=50% python train.py", Cost: "it can still be killed itself"},
		{Fix: "add_swap", Title: "Add swap, or stop it from killing for swap", Told: "More swap moves the limit. Or set `ManagedOOMSwap=auto` instead of `kill` on the slice that has it (`systemctl --user edit app.slice`, under `[Slice]`). Then the kernel kills single processes, later.", Cost: "disk; the machine may stall first"},
	},
	Sources: []string{"systemd/src/oom/oomd-util.c", "systemd/man/oomd.conf.xml", "systemd/man/systemd.resource-control.xml"},
}

// oomdGroup says how many processes a group had, where it was far more than
// programs start on purpose.
func oomdGroup(c *ledger.Case) map[string]string {
	return map[string]string{"swarm": oomdFigures(c)["swarm"]}
}
