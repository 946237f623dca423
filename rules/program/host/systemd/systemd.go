// Package systemd knows what systemd says of its units when the kernel has killed in
// them.
package systemd

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// reported is systemd's sentence, of every unit above the process as well.
const reported = "A process of this unit has been killed by the OOM killer"

// kernelLines are the kernel's own account of a kill, which says more.
var kernelLines = []string{"Killed process", "oom-kill:", "invoked oom-killer", "Out of memory:"}

// Cards are for systemd's sentence alone.
var Cards = []cause.Card{
	{
		ID: "linux/units", Kinds: []fact.Kind{fact.KernelKill}, Said: []string{reported}, Unsaid: kernelLines, If: several, Figures: figures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "killed processes of several services: {units}",
		Means:    "systemd only reports it; the kernel killed them. The kernel's own lines, which are not here, name each process and what it held. Unrelated services were hit, so most likely the whole machine was out of memory, not one service at its limit.",
		Not:      "Only restarting the killed service: the kernel kills what is large, not what grew.",
		Cures:    []cause.Cure{look("Find the largest process at that moment", "grep -i -B 200 'out of memory: kill' | tail -220"), bound, swap},
		Sources:  []string{"systemd/src/core/unit.c", "linux/mm/oom_kill.c"},
	},
	{
		ID: "linux/unit", Kinds: []fact.Kind{fact.KernelKill}, Said: []string{reported}, Unsaid: kernelLines, Figures: figures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "killed a process[[ of {units}]] because memory ran out",
		Means:    "systemd only reports it; the kernel killed the process. The kernel's own lines, which are not here, say whether the unit reached its own limit (\"Memory cgroup out of memory\") or the machine was full (\"Out of memory\"). By default systemd then stops the rest of the unit.",
		Cures:    []cause.Cure{look("Check whether it was the unit's limit or the machine", "grep -iE 'oom-kill|killed process|memory cgroup' | tail -20"), limit, swap},
		Sources:  []string{"systemd/src/core/unit.c", "systemd/man/systemd.service.xml"},
	},
}

func look(title, filter string) cause.Cure {
	return cause.Cure{Fix: "close_other_apps", Title: title, Told: "The kernel log names the killed process. Just before that it lists all processes (rss counts pages of 4 KiB):", Kind: "shell", Text: "journalctl -k --no-pager | " + filter, Cost: "free"}
}

// What to do once the victim is known.
var (
	bound = cause.Cure{Fix: "lower_parallel", Title: "Limit what grew", Told: "If it happens at regular times, look at timers and cron jobs, and run them one after another. Give the unit that grew a limit: `sudo systemctl edit UNIT`, then `MemoryMax=4G` under `[Service]`. The kernel then kills that one, and leaves the others alone.", Cost: "that unit is killed earlier"}
	limit = cause.Cure{Fix: "raise_memory_limit", Title: "If it was the unit's own limit: raise it", Told: "`systemctl show UNIT -p MemoryMax -p MemoryPeak` shows limit and peak (UNIT: the one in that line). Set it above the peak: `sudo systemctl set-property UNIT MemoryMax=8G`. If memory only climbs, the program leaks: update it.", Cost: "less for the rest of the machine"}
	swap  = cause.Cure{Fix: "add_swap", Title: "If the machine was full: add swap, or RAM", Kind: "shell", Text: "sudo fallocate -l 8G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "8 GB of disk; slow while it is used"}
)

// named are the units that the log reports, without those that contain another
// of them: the kernel counts a kill in every group above the process.
func named(c *ledger.Case) []string {
	var all []string
	for _, x := range c.Facts.Facts {
		if x.Name == "unit" && !slices.Contains(all, x.Text) {
			all = append(all, x.Text)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(u string) bool {
		return slices.ContainsFunc(all, func(other string) bool { return other != u && contains(u, other) })
	})
}

// contains: a slice holds the slices that its name begins, user.slice the sessions
// and managers of its users, and system.slice the services.
func contains(outer, inner string) bool {
	name, isSlice := strings.CutSuffix(outer, ".slice")
	user := strings.HasPrefix(inner, "user@") || strings.HasPrefix(inner, "session-")
	switch {
	case !isSlice:
		return false
	case strings.HasSuffix(inner, ".slice"):
		return strings.HasPrefix(inner, name+"-")
	case user:
		return name == "user" || strings.HasPrefix(name, "user-")
	}
	return name == "system"
}

func several(c *ledger.Case) bool { return len(named(c)) > 1 }

// most bounds the names in a headline.
const most = 3

func figures(c *ledger.Case) map[string]string {
	units := named(c)
	told := "`" + strings.Join(units[:min(len(units), most)], "`, `") + "`"
	if len(units) > most {
		told += " and others"
	}
	return map[string]string{"units": told}
}
