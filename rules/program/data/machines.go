package data

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

func told(fix, title, cost, text string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Cost: cost, Told: text}
}

// Databases and hosts of virtual machines that the system refused memory.
var (
	Oracle = server("oracle", "Oracle Database", nil, []cause.Card{{
		ID: "oracle/memory", Kinds: refused,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: oracleError, Headline: "ran out of memory[[ ({code})]]",
		Means: "{means}",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", If: says("ora-04031"), Title: "Enlarge the shared pool", Cost: "RAM", Told: "`ALTER SYSTEM SET shared_pool_size=2G SCOPE=BOTH;`, with more than today in place of 2G. With automatic memory management raise `sga_target`."},
			{Fix: "lower_batch_size", If: says("ora-04031"), Title: "Use bind variables", Cost: "some rewriting", Told: "Each literal in a statement creates a new cursor. `ALTER SYSTEM SET cursor_sharing=FORCE;` helps until the statements are changed."},
			{Fix: "raise_memory_limit", If: says("ora-04030"), Title: "Find the limit, and raise it", Cost: "RAM", Told: "Check `free -h` and, as the oracle user, `ulimit -a`. Then raise the mappings: `sudo sysctl vm.max_map_count=262144`. A container's own limit counts, too."},
			{Fix: "lower_num_workers", If: says("ora-04030"), Title: "Use less memory per session", Cost: "slower", Told: "Run fewer sessions and parallel servers. In PL/SQL use BULK COLLECT with LIMIT 1000 instead of collecting a whole table."},
			{Fix: "raise_memory_limit", If: says("ora-27102"), Title: "Raise the kernel's limits, or lower the SGA", Cost: "RAM", Told: "`kernel.shmmax` and `kernel.shmall` have to be above the SGA, and `memlock` in limits.conf too. Or set a smaller `sga_target` (or `memory_target`)."},
			{Fix: "close_other_apps", If: says("ora-27102"), Title: "Check what else uses the RAM", Cost: "free", Told: "Another instance may still run: `ps -ef | grep pmon; ipcs -m; free -h; grep Huge /proc/meminfo`."},
		},
		Sources: []string{"https://docs.oracle.com/en/error-help/db/ora-04031/", "https://docs.oracle.com/en/error-help/db/ora-04030/"},
	}}, "ORA-04030", "ORA-04031", "ORA-27102")

	VirtualMachines = program.Program{
		Name: "virtual-machine", Shown: "The host", Edits: "admin", Language: "other",
		Proofs: []string{"cannot set up guest memory", "VERR_NO_MEMORY", "to power on this virtual machine", "VBoxManage: error"},
		Cards: []cause.Card{{
			ID: "virtual-machine/memory", Kinds: append([]fact.Kind{fact.PlainDevice}, refused...),
			Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "does not have enough free memory to start the virtual machine",
			Means: "A virtual machine requests its whole memory at the start, and the host has less free. What else uses it: other virtual machines, browsers, reserved huge pages, the ZFS cache (on Proxmox often half of the RAM), or strict overcommit.",
			Cures: []cause.Cure{
				told("lower_mem_fraction", "Give the virtual machine less memory", "less inside it", "Change Memory in its settings, and leave 2 to 4 GB to the host. QEMU: `-m 4G`. Proxmox: lower Memory itself; the minimum for ballooning does not change what it requests at the start."),
				told("close_other_apps", "Free memory on the host", "free", "Stop other virtual machines; `free -h` shows the result. Proxmox with ZFS: lower `zfs_arc_max`. `grep Huge /proc/meminfo` shows reserved huge pages."),
				swap,
			},
			Sources: []string{"https://www.qemu.org/docs/master/system/invocation.html", "https://pve.proxmox.com/wiki/ZFS_on_Linux"},
		}},
		Sources: program.Sources{"qemu/qemu-options.hx": "-m"},
	}

	Heroku = program.Program{
		Name: "heroku", Shown: "Heroku", Edits: "admin", Language: "other",
		Proofs: []string{"Error R14", "Error R15", "heroku[web"},
		Cards: []cause.Card{{
			ID: "heroku/quota", Kinds: append([]fact.Kind{fact.ShellKilled}, refused...),
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: quota, Headline: "{headline}",
			Means: "{means} Web servers start several processes, and each one holds the whole application.",
			Cures: []cause.Cure{
				told("lower_num_workers", "Run fewer processes", "fewer requests at once", "`heroku config:set WEB_CONCURRENCY=1`, and threads instead of processes. Ruby: use jemalloc, or set `MALLOC_ARENA_MAX=2`. Node: set `--max-old-space-size` to 80 % of the quota (in MB)."),
				told("raise_memory_limit", "Use a larger dyno", "money", "`heroku ps:type standard-2x`."),
				told("empty_cache", "If memory climbs for hours, find the leak", "some work", "The Metrics page shows the curve. Until then gunicorn's `--max-requests 1000` restarts workers regularly."),
			},
			Sources: []string{"https://devcenter.heroku.com/articles/error-codes"},
		}},
		Sources: program.Sources{"https://nodejs.org/api/cli.html": "--max-old-space-size", "https://docs.gunicorn.org/en/stable/settings.html": "--max-requests"},
	}
)

// says: the message has that error.
func says(code string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.Contains(code) }
}

// oracleErrors are Oracle's errors for want of memory, and what they mean.
var oracleErrors = [...][2]string{
	{"ORA-04031", "The shared pool of the server is full or fragmented. That is a setting of the server; the machine may have memory left. Usually it is too small, or statements with literals instead of bind variables fill it."},
	{"ORA-04030", "The operating system refused a server process more private memory (PGA). RAM was full, or a limit was reached: of the process (`ulimit`), of its container, or the 65530 mappings of `vm.max_map_count`."},
	{"ORA-27102", "At its start the instance could not get its shared memory (SGA). It is larger than the kernel's limits, /dev/shm, the huge pages or the free RAM allow. \"No space left on device\" does not mean the disk here."},
}

// oracleError is the error of the message, and what it means.
func oracleError(c *ledger.Case) map[string]string {
	for _, e := range oracleErrors {
		if c.Contains(strings.ToLower(e[0])) {
			return map[string]string{"code": e[0], "means": e[1]}
		}
	}
	return map[string]string{"code": "", "means": "Either a limit of the server (shared pool, PGA, SGA) or of the operating system was reached."}
}

// quota is which of Heroku's two errors it is: the dyno goes on after R14.
func quota(c *ledger.Case) map[string]string {
	if c.Contains("r15") {
		return map[string]string{"headline": "killed the dyno: it used far more than its memory quota (R15)", "means": "The dyno used twice its quota (on some sizes, all of it) and was killed. The small dynos have 512 MB."}
	}
	return map[string]string{"headline": "reports that the dyno uses more than its memory quota (R14)", "means": "The dyno goes on, but it swaps, so it is slow. The small dynos have 512 MB. At twice the quota it is killed (R15)."}
}
