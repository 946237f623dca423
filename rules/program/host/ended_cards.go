package host

import (
	"cmp"
	"fmt"
	"github.com/oomdoc/oomdoc/internal/units"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/host/kinds"
	"github.com/oomdoc/oomdoc/rules/program/host/oomd"
	"github.com/oomdoc/oomdoc/rules/when"
)

// known: what was killed is a program of which it is known what bounds it.
func known(c *ledger.Case) bool {
	victim, _ := c.Fact("victim")
	_, ok := kinds.Of(victim.Text)
	return ok
}

// ofMachine: it is a program that takes its size from the machine's RAM.
func ofMachine(c *ledger.Case) bool {
	victim, _ := c.Fact("victim")
	p, _ := kinds.Of(victim.Text)
	return p.OfMachine
}

// killedAbove reports a victim that held so many bytes at least.
func killedAbove(bytes int64) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.F().KilledRSS != nil && c.F().KilledRSS.Bytes >= bytes }
}

// smallVictim: the largest process of a full machine is small, and nothing
// tells why else it was chosen.
func smallVictim(c *ledger.Case) bool {
	return uncapped(c) && c.F().KilledRSS != nil && c.F().KilledRSS.Bytes > 0 && c.F().KilledRSS.Bytes < 512<<20 && adjusted(c) == "" && !ledger.OtherHoldsMore(c)
}

// fewest is how many processes of one name are a crowd.
const fewest = 8

// crowds are the names that most processes of the kernel's table bear, "61
// php-cgi, 23 apache2"; "" where none is there often.
func crowds(c *ledger.Case) string {
	counts := map[string]int{}
	for _, p := range c.Facts.Tasks {
		counts[p.Name]++
	}
	var names []string
	for name, n := range counts {
		if n >= fewest && !strings.HasPrefix(name, "kworker") {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	var told []string
	for _, name := range names[:min(len(names), 3)] {
		told = append(told, fmt.Sprintf("%d %s", counts[name], plainName(name)))
	}
	return strings.Join(told, ", ")
}

// daemonFigures are what bounds the service that was ended, and who runs beside
// it in great number.
func daemonFigures(c *ledger.Case) map[string]string {
	out := machineFigures(c)
	victim, _ := c.Fact("victim")
	out["crowds"], out["crowd_bound"] = crowds(c), ""
	if _, name, _ := strings.Cut(out["crowds"], " "); name != "" {
		name, _, _ = strings.Cut(name, ",")
		if other, ok := kinds.Of(name); ok && name != victim.Text {
			out["crowd_bound"] = name + ": " + other.Bound
		}
	}
	return out
}

var endedCards = []cause.Card{
	{
		ID: "linux/swapoff", Kinds: []fact.Kind{fact.KernelKill}, Said: []string{"try_to_unuse", "SyS_swapoff", "sys_swapoff"}, If: uncapped,
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: machineFigures,
		Headline: "ran out of RAM while swap was being turned off",
		Means:    "Swap was being turned off (`swapoff` is in the call trace), so everything in swap had to go back into RAM[[ ({ram_total} here)]]. It did not fit. The program named in the log only asked for memory at that moment.",
		Not:      "Looking for a leak in the program that was killed.",
		Cures: []cause.Cure{
			{Fix: "add_swap", Title: "Keep swap on", Told: "Find what calls `swapoff`: an installer, a script or a shutdown unit. Run it after the large programs have ended. `free -h` must then show more available RAM than used swap.", Cost: "None"},
			{Fix: "raise_memory_limit", Title: "Get more RAM, or a larger virtual machine", Told: "You need at least as much more as `free -h` shows as used swap.", Cost: "Money, or less for the host"},
			{Fix: "close_other_apps", Title: "Stop the largest programs first", Kind: "shell", Text: "ps -eo pid,rss,args --sort=-rss | head", Cost: "Free"},
		},
		Sources: []string{"linux/mm/swapfile.c", "linux/mm/oom_kill.c"},
	},
	{
		ID: "linux/postgres-backend", Kinds: []fact.Kind{fact.KernelKill}, Said: []string{"(postgres)", "task=postgres,"}, If: when.All(uncapped, killedAbove(units.GiB)),
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: machineFigures,
		Headline: "killed one PostgreSQL session that held {held}: the machine's RAM was used up",
		Means:    "Each PostgreSQL connection is a process, and this one held {held} of private memory, so `shared_buffers` is not the reason. Usual reasons: large sorts and hashes (`work_mem` counts for each step and parallel worker), array_agg or json_agg, a huge transaction, or a leak. PostgreSQL then restarts all sessions; committed data is safe.",
		Not:      "Only restarting it: the same statement grows again.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Find the statement, and limit its memory", Told: "PostgreSQL's own log names it: \"was terminated by signal 9\", then \"Failed process was running: ...\". Run this before that statement:", Kind: "config", Text: "SET work_mem = '8MB';   -- lower than today; 4MB unless set\nSET max_parallel_workers_per_gather = 0;\nSET hash_mem_multiplier = 1;   -- version 13 and later", Cost: "slower, because sorts go to disk"},
			{Fix: "restart_session", Title: "If sessions grow over time, recycle them", Told: "Set the pooler's `server_lifetime`, and try `SET jit = off`. In version 14 and later `SELECT pg_log_backend_memory_contexts(PID);` logs what grows.", Cost: "free"},
			{Fix: "upgrade_version", Title: "Update PostgreSQL and its extensions", Told: "If it still grows, report it with those memory contexts: no setting limits a leak.", Cost: "An upgrade"},
			{Fix: "raise_memory_limit", Title: "Turn off overcommit, so that only the query fails", Told: "With `vm.overcommit_memory=2` and a fitting `vm.overcommit_ratio` that session gets \"out of memory\", and the others go on.", Cost: "Other programs are refused as well"},
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://www.postgresql.org/docs/current/kernel-resources.html", "https://www.postgresql.org/docs/current/runtime-config-resource.html"},
	},
	{
		ID: "linux/daemon", Kinds: []fact.Kind{fact.KernelKill}, If: when.All(known, uncapped, when.Not(ledger.OtherHoldsMore), when.Not(manyAlike)), Unsaid: []string{"microsoft-standard-WSL2", "earlyoom"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: daemonFigures,
		Headline: "killed {victim}: the machine's RAM was used up",
		Means:    "The whole machine[[, with {ram_total} of RAM,]] was out of memory[[, its {swap} of swap included]].[[ {victim} held {held}.]] The kernel usually kills the largest process, which need not be the one that grew.[[ Its table lists {crowds}: so many processes fill a small machine together.]]",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Limit the number of processes", If: func(c *ledger.Case) bool { return crowds(c) != "" }, Told: "[[{crowd_bound}. ]]For {victim}: {bounded}.", Cost: "Requests wait at a peak"},
			{Fix: "lower_num_workers", Title: "Limit the memory of {victim}", If: func(c *ledger.Case) bool { return crowds(c) == "" }, Told: "{bound}. Then restart it, and watch what it holds:", Kind: "shell", Text: "ps -eo pid,rss,etime,args --sort=-rss | head", Cost: "a smaller cache is slower"},
			{Fix: "add_swap", Title: "Add swap for peaks", If: when.Not(oomd.FullSwap), Steps: swapSteps, Cost: "Disk; slow while it is used"},
			{Fix: "raise_memory_limit", Title: "Get a machine with more RAM", Told: "For example the next size of the virtual machine. Or move what grows to a machine of its own.", Cost: "Money"},
			{Fix: "close_other_apps", Title: "Until then, restart it automatically", Told: "`sudo systemctl edit NAME`, then `Restart=on-failure` under `[Service]`.", Cost: "hides the cause"},
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://dev.mysql.com/doc/refman/8.4/en/memory-use.html", "https://httpd.apache.org/docs/2.4/mod/mpm_common.html"},
	},
}
