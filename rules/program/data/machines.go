package data

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

func told(fix, title, cost, text string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Cost: cost, Told: text}
}

// Databases and hosts of virtual machines that the system refused memory.
var (
	Oracle = server("oracle", "Oracle Database", nil, []cause.Card{{
		ID: "oracle/memory", Kinds: refused,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "ran out of memory (ORA-04030, 04031 or 27102)",
		Means: "ORA-04031: the shared pool is full or fragmented, a setting of the server. ORA-04030: the system refused private memory to the process (PGA, `ulimit`, or 65530 mappings of `vm.max_map_count`). ORA-27102: at the start the SGA did not fit into `kernel.shmmax`, /dev/shm or the huge pages; \"No space left on device\" behind it does not mean the disk.",
		Not:   "Freeing disk space.",
		Cures: []cause.Cure{
			told("raise_memory_limit", "Raise the limit of that error", "RAM", "04031: `ALTER SYSTEM SET shared_pool_size=2G SCOPE=BOTH;` (or `sga_target`). 04030: `pga_aggregate_limit`, `ulimit -a` of the oracle user, `sysctl vm.max_map_count=262144`. 27102: `kernel.shmmax` and `kernel.shmall` above the SGA, `memlock` in limits.conf, or a smaller `sga_target`."),
			told("lower_batch_size", "ORA-04031: use bind variables", "some rewriting", "Literals make a new cursor each; `cursor_sharing=FORCE` until that is done."),
			told("lower_num_workers", "ORA-04030: use smaller work areas", "slower", "Fewer sessions and parallel servers, BULK COLLECT with LIMIT 1000."),
		},
		Sources: []string{"https://docs.oracle.com/en/error-help/db/ora-04031/", "https://docs.oracle.com/en/error-help/db/ora-04030/"},
	}}, "ORA-04030", "ORA-04031", "ORA-27102")

	VirtualMachines = program.Program{
		Name: "virtual-machine", Shown: "The host", Edits: "admin", Language: "other",
		Proofs: []string{"cannot set up guest memory", "VERR_NO_MEMORY", "to power on this virtual machine", "VBoxManage: error"},
		Cards: []cause.Card{{
			ID: "virtual-machine/memory", Kinds: append([]fact.Kind{fact.PlainDevice}, refused...),
			Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "does not have enough free memory to start the virtual machine",
			Means: "The guest's whole memory is requested at the start, and the host has less free: other guests, browsers, reserved huge pages, ZFS's cache (half of RAM on Proxmox), or strict overcommit.",
			Cures: []cause.Cure{
				told("lower_mem_fraction", "Lower the memory of the guest", "the guest is smaller", "In its settings, Memory: leave the host 2 to 4 GB (`-m 4G` of QEMU; Proxmox: with ballooning a minimum below it)."),
				told("close_other_apps", "Free memory on the host", "free", "Stop other guests; `free -h`. Proxmox with ZFS: `zfs_arc_max`; huge pages: `grep Huge /proc/meminfo`; Windows: Memory Integrity and Hyper-V reserve some."),
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
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "exceeded the memory quota of its dyno",
			Means: "R14: the dyno uses more than its quota (512 MB for the small ones) and swaps, so it is slow. R15: it used twice the quota (for some sizes the quota itself) and was killed. Web servers start several processes, each with the whole application.",
			Cures: []cause.Cure{
				told("lower_num_workers", "Run fewer processes", "fewer requests at once", "`heroku config:set WEB_CONCURRENCY=1`; threads instead of processes; Ruby: jemalloc and `MALLOC_ARENA_MAX=2`; Node: `--max-old-space-size` at 80 % of the quota."),
				told("raise_memory_limit", "Use a larger dyno", "money", "`heroku ps:type standard-2x`."),
				told("empty_cache", "If memory climbs for hours: find the leak", "some work", "The Metrics page shows the curve; gunicorn `--max-requests 1000` restarts workers meanwhile."),
			},
			Sources: []string{"https://devcenter.heroku.com/articles/error-codes"},
		}},
		Sources: program.Sources{"https://nodejs.org/api/cli.html": "--max-old-space-size", "https://docs.gunicorn.org/en/stable/settings.html": "--max-requests"},
	}
)
