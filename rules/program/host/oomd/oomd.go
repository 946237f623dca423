// Package oomd knows the daemon of systemd that ends groups of programs before
// memory is gone, and that of Talos.
package oomd

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Cards are the cards of a program whose way to add swap is given, the narrowest first.
func Cards(addSwap func(*ledger.Case) []step.Step) []cause.Card {
	k := oomd
	k.Cures = slices.Clone(k.Cures)
	for i := range k.Cures {
		if k.Cures[i].Fix == "add_swap" && k.Cures[i].Told == "" {
			k.Cures[i].Steps = addSwap
		}
	}
	return []cause.Card{oomdSwap, k}
}

var oomd = cause.Card{
	ID: "linux/systemd-oomd", Kinds: []fact.Kind{fact.OOMD},
	Cause: cause.HostMemory, Weight: cause.Decisive, Figures: oomdFigures,
	Headline: "({who}) killed a whole group of programs before memory was used up",
	Means:    "It was {who}, not the kernel. It kills {group} with everything that runs in it.[[ {pressure}]][[ {unsaid}]][[ RAM and swap were both nearly full: {swapped} of {swap} of swap, beside {ram} of RAM.]][[ {swarm} processes ran in that one group, so something multiplies: `make -j` without a number, parallel tests, `xargs`, or a script that calls itself.]]",
	Not:      "[[Looking in dmesg: the kernel did not do this. Use `journalctl -u {journal}`.]]",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", If: swarm, Title: "Find what starts so many processes, and limit it", Told: "Run this in another terminal while it happens. Then set a number: `make -j8`, `pytest -n 4`, `xargs -P 4`.", Kind: "shell", Text: "ps -eo comm= | sort | uniq -c | sort -rn | head", Cost: "slower"},
		{Fix: "raise_memory_limit", If: swarm, Title: "Run it with its own memory limit", Told: "Then only this command is killed, early. Put your own command in place of the last word:", Kind: "shell", Text: "systemd-run --user --scope -p TasksMax=300 -p MemoryMax={most} bash", Cost: "what needs more is killed"},
		{Fix: "restart_session", If: swarm, Title: "Check what your shell starts by itself", Told: "Look for a line in `~/.bashrc`, direnv or an alias that calls itself, or an editor's watcher that starts a process per file.", Cost: "free"},
		{Fix: "lower_num_workers", If: when.All(when.Not(swarm), FullSwap), Title: "Find what fills RAM and swap, and reduce it", Told: "The largest group comes first. Run fewer workers or jobs, use smaller inputs, or restart a program that leaks.", Kind: "shell", Text: "systemd-cgtop -m   # every group; then: ps aux --sort=-rss | head", Cost: "some speed"},
		{Fix: "close_other_apps", If: talos, Title: "Find what fills the node", Told: "`kubectl top node; kubectl top pod -A` shows it. Stop or move pods that use far more than they request.", Cost: "free to look"},
		{Fix: "raise_memory_limit", If: talos, Title: "Raise the pod's memory request, or use a larger node", Told: "With an honest `resources.requests.memory` the scheduler places the pod where that much is free.", Cost: "pending while no node has that free"},
		{Fix: "add_swap", If: talos, Title: "Add swap on the node", Told: "A `SwapVolumeConfig` document in the machine configuration, and `swapBehavior: LimitedSwap` under `memorySwap` in the kubelet's extraConfig.", Cost: "disk, and slow when used"},
		{Fix: "lower_num_workers", If: when.All(pressed, inUnit), Title: "Run fewer jobs in {unit}", Told: "[[{ended} ]]`systemd-cgtop -m` shows which group grows.", Cost: "some speed"},
		{Fix: "raise_memory_limit", If: when.All(pressed, inUnit), Title: "Spare that unit, or raise the threshold", Told: "{spare} Or raise it for all: `sudo systemctl edit user@.service`, then `ManagedOOMMemoryPressureLimit=80%` under `[Service]`.", Cost: "other groups are killed first"},
		{Fix: "add_swap", If: when.Not(when.Any(FullSwap, talos)), Title: "Add swap on an SSD", Cost: "disk"},
		{Fix: "raise_memory_limit", If: when.Not(when.Any(swarm, talos, inUnit)), Title: "Start the job in a group of its own", Told: "Then systemd-oomd kills only that group, not your terminal or desktop. Put your own command in place of the last two words:", Kind: "shell", Text: "systemd-run --user --scope python train.py", Cost: "it can still be killed itself"},
		{Fix: "lower_num_workers", If: when.Not(when.Any(swarm, FullSwap, talos, inUnit)), Title: "Run fewer jobs, or raise systemd-oomd's threshold", Told: "Use fewer workers or compile jobs; `systemd-cgtop -m` shows which group grows. Or raise the threshold: `sudo systemctl edit user@.service`, then `ManagedOOMMemoryPressureLimit=80%` under `[Service]`.", Cost: "some speed"},
	},
	Sources: []string{"systemd/man/oomd.conf.xml", "systemd/man/systemd.resource-control.xml", "siderolabs/talos/website/content/v1.13/reference/configuration/block/swapvolumeconfig.md"},
}

// manyProcesses in one group are more than any program starts on purpose.
const manyProcesses = 200

// swarm: systemd-oomd ended hundreds of processes of one group.
func swarm(c *ledger.Case) bool {
	n, ok := c.Fact("oomd_processes")
	return ok && n.Count != nil && n.Count.Value >= manyProcesses
}

// talos: its own controller ended the group, not systemd-oomd.
func talos(c *ledger.Case) bool { return c.Contains("runtime.oomcontroller") }

// FullSwap: more swap would be used up as well.
func FullSwap(c *ledger.Case) bool { return ledger.FullSwap(c) > 0 }

// pressure is the reason in systemd-oomd's line.
var pressure = regexp.MustCompile(`being (\d[\d.]{0,6}%) > (\d[\d.]{0,6}%) for > (\w{1,12})`)

// pressed: it states pressure, and nothing else explains the kill.
func pressed(c *ledger.Case) bool {
	return pressure.MatchString(c.Failure.Message) && !swarm(c) && !FullSwap(c) && !talos(c)
}

// inService is systemd's account of what its daemon ended in a unit of its own.
var inService = regexp.MustCompile(`(?:^|\s)([\w.-]{1,80}\.service): systemd-oomd killed`)

// endedUnit is the service that was ended, "" for scopes and sessions.
func endedUnit(c *ledger.Case) string {
	n, ok := c.Fact("oomd_processes")
	if m := inService.FindStringSubmatch(n.Text); ok && n.Count != nil && m != nil {
		return m[1]
	}
	return ""
}

func inUnit(c *ledger.Case) bool { return endedUnit(c) != "" }

// oomdFigures are what systemd-oomd says of itself.
func oomdFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"ram": "", "swap": "", "swapped": "", "swarm": "", "unsaid": "", "most": "8G", "who": "systemd-oomd", "journal": "systemd-oomd", "group": "a whole cgroup (a terminal tab, a container or a desktop session)", "pressure": "", "ended": "", "unit": "", "spare": ""}
	if p := pressure.FindStringSubmatch(c.Failure.Message); p != nil {
		out["pressure"] = "The reason is memory pressure: for more than " + p[3] + " processes spent " + p[1] + " of the time waiting for memory (limit " + p[2] + "), so some RAM may have been free."
	}
	if unit := endedUnit(c); unit != "" {
		n, _ := c.Fact("oomd_processes")
		out["unit"], out["group"] = unit, "one group, here "+unit+","
		out["ended"] = "Its " + n.Count.Text + " processes were killed together: start fewer at a time."
		edit := "sudo systemctl edit "
		if c.Contains("/user@") {
			edit = "systemctl --user edit "
		}
		out["spare"] = "`" + edit + unit + "`, under `[Service]` `ManagedOOMPreference=avoid`: then other groups go first."
	}
	if talos(c) {
		out["who"], out["journal"], out["group"], out["unsaid"] = "the OOM controller of Talos Linux", "", "a whole cgroup, here that of a pod,", "It does so when processes on the node wait for memory too long (memory pressure), so some RAM may have been free."
	}
	if ram := ledger.Sized(c, "oomd_ram"); ram > 0 {
		out["ram"], out["most"] = units.Amount(ram), strconv.FormatInt(max(1, ram*6/10/units.GiB), 10)+"G"
	}
	switch {
	case FullSwap(c):
		out["swap"], out["swapped"] = units.Amount(ledger.Sized(c, "oomd_swap")), units.Amount(ledger.Sized(c, "oomd_swap_used"))
	case !swarm(c) && !talos(c) && !pressed(c):
		out["unsaid"] = "It does so when processes wait for memory too long (memory pressure), or when RAM and swap are both over 90 % full. Some RAM may still have been free. With little or no swap this happens often."
	}
	if swarm(c) {
		n, _ := c.Fact("oomd_processes")
		out["swarm"] = n.Count.Text
	}
	return out
}
