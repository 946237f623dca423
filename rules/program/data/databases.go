package data

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// littleAsked: so little was refused that no single query is to blame.
func littleAsked(c *ledger.Case) bool {
	asked := ledger.Requested(c)
	return asked > 0 && asked <= units.MiB
}

// refusedQuery says what a small request means.
func refusedQuery(c *ledger.Case) map[string]string {
	if littleAsked(c) {
		return map[string]string{"little": "So little is refused only where memory was full already, by all sessions and programs of that machine together or by what this query had taken before."}
	}
	return map[string]string{"little": ""}
}

// PostgreSQL is the database, whose workers share memory through /dev/shm.
var PostgreSQL = program.Program{
	Name: "postgresql", Shown: "PostgreSQL", Edits: "admin", Work: "data", Language: "other",
	Proofs:  []string{"could not resize shared memory segment", "could not create shared memory segment", "could not map anonymous shared memory", "in memory context \"", "terminating any other active server processes", "server process (PID"},
	Sources: program.Sources{"postgresql/src/backend/storage/ipc/dsm_impl.c": "dynamic_shared_memory_type", "postgresql/doc/src/sgml/config.sgml": "max_parallel_workers_per_gather work_mem hash_mem_multiplier max_connections", "docker/cli/command/container/opts.go": "--shm-size"},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"raise_shm_size": step.Paste("config", "services:\n  SERVICE:          # your service with the database\n    shm_size: 1gb   # docker run: --shm-size=1g"),
		"lower_parallel": step.Paste("config", "ALTER SYSTEM SET max_parallel_workers_per_gather = 0;   -- then: SELECT pg_reload_conf();"),
	},
	Titles: map[string]string{"raise_shm_size": "Give the container more shared memory", "lower_parallel": "Turn off parallel queries"},
	Cards: []cause.Card{{
		ID: "postgresql/system-v", Kinds: []fact.Kind{fact.SharedSegment}, Said: []string{"could not create shared memory segment"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "could not create a shared memory segment at its start",
		Means:    "PostgreSQL takes one small segment of System V. \"No space left on device\" means that the kernel has no more of them to give: their number (SHMMNI) or size in all (SHMALL) is used up, mostly by segments that servers which were killed left behind. Neither the disk nor RAM need be full.",
		Not:      "Freeing disk space, a larger /dev/shm: System V segments are not there.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Remove segments that nobody uses", Told: "Stop other PostgreSQL servers first, those of tests too. `ipcs -m` lists the segments; one with `nattch` 0 and your user is a leftover: `ipcrm -m ID`, with its shmid.", Cost: "free"},
			{Fix: "raise_shm_size", Title: "Raise the kernel's limit", Ways: []cause.Way{
				{For: "Linux", Text: "`sudo sysctl -w kernel.shmmni=8192`"},
				{For: "macOS", Text: "`kern.sysv.shmmni` is 32 by default, and `kern.sysv.shmall` 1024 pages: larger numbers in /etc/sysctl.conf (all five of `shmmax`, `shmmin`, `shmmni`, `shmseg`, `shmall`), then restart"},
			}, Cost: "none"},
			{Fix: "restart_session", Title: "Or restart the machine", Told: "It removes all segments.", Cost: "some minutes"},
		},
		Sources: []string{"postgresql/src/backend/port/sysv_shmem.c", "https://www.postgresql.org/docs/current/kernel-resources.html"},
	}, {
		ID: "postgresql/shared-memory", Kinds: []fact.Kind{fact.SharedSegment},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "found /dev/shm full: a parallel query could not share {asked}",
		Means:    "\"No space left on device\" does not mean the disk here: the segment is in /dev/shm, which is memory. A container has 64 MB of it by default, and the workers of a parallel query share their hash tables and sorts through it.",
		Not:      "Freeing disk space: /dev/shm is in memory.",
		Cures: []cause.Cure{
			{Fix: "raise_shm_size", Title: "Give the container more shared memory", Told: "Then create it again (`docker compose up -d`); `df -h /dev/shm` inside shows the size.", Own: true, Cost: "None; what is used counts as RAM"},
			{Fix: "lower_parallel", Title: "Turn off parallel queries", Own: true, Cost: "Large queries are slower"},
			{Fix: "lower_batch_size", Title: "Lower `work_mem`", Told: "It limits each hash or sort of each worker (4 MB unless set): if it is higher, `ALTER SYSTEM SET work_mem = '8MB';`", Cost: "Large sorts go to disk"},
		},
		Sources: []string{"postgresql/src/backend/storage/ipc/dsm_impl.c", "https://docs.docker.com/reference/cli/docker/container/run/"},
	}, {
		ID: "postgresql/query", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"in memory context \""},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was refused {asked} by the system in one query",
		Means:    "The server asked the system for {asked} more, for one query, which its own log names after STATEMENT, and was refused: RAM and swap were full, the machine had promised all that it may (`vm.overcommit_memory=2`), or a limit on the process was reached.[[ {little}]] The memory contexts that the server's log lists before the error show what this session holds.",
		Figures:  refusedQuery,
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", If: littleAsked, Title: "See what fills the server's machine", Kind: "shell", Text: "free -h; sysctl vm.overcommit_memory; grep -i commit /proc/meminfo", Told: "On the machine (or in the container) of the server. Little available: more RAM or swap, a higher container limit, or fewer programs beside it. `Committed_AS` near `CommitLimit` with overcommit 2: add swap, or raise `vm.overcommit_ratio`.", Cost: "A look is free"},
			{Fix: "lower_num_workers", If: littleAsked, Title: "Allow fewer sessions, each with less", Told: "A lower `max_connections`, with a pool in the client or PgBouncer; `shared_buffers` at a quarter of the RAM; `work_mem` counts for each sort, hash and parallel worker of each session (4MB unless set): `ALTER SYSTEM SET work_mem = '8MB'; SELECT pg_reload_conf();`", Cost: "Sessions wait; large sorts go to disk"},
			{Fix: "lower_batch_size", Title: "Let a query take less", Told: "For this session; each sort, hash and parallel worker may take `work_mem`. Huge `array_agg`, `string_agg` or IN lists have no such bound: split the query.", Kind: "config", Text: "SET work_mem = '8MB';   -- lower than today; 4MB unless set\nSET hash_mem_multiplier = 1;   -- PostgreSQL 13 and later\nSET max_parallel_workers_per_gather = 0;", Cost: "Slower queries"},
			{Fix: "raise_memory_limit", If: when.Not(littleAsked), Title: "Check what the machine may promise", Kind: "shell", Text: "free -h; sysctl vm.overcommit_memory; grep -i commit /proc/meminfo", Told: "`Committed_AS` near `CommitLimit` with overcommit 2: add swap, or raise `vm.overcommit_ratio`.", Cost: "A look is free"},
			{Fix: "lower_num_workers", If: when.Not(littleAsked), Title: "Allow fewer sessions", Told: "A lower `max_connections` with a pool (PgBouncer) before it: every session has memory of its own.", Cost: "Sessions wait"},
		},
		Sources: []string{"postgresql/src/backend/utils/mmgr/aset.c", "https://www.postgresql.org/docs/current/kernel-resources.html"},
	}, {
		ID: "postgresql/killed", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"was terminated by signal 9"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "lost a session to signal 9, most likely because RAM ran out",
		Means:    "One server process got signal 9, nearly always from the kernel, because RAM or the container's limit was full; PostgreSQL then ends all sessions and recovers. \"Failed process was running\" shows what that session did, if the log has it; it is usually the one that held most.",
		Not:      "A larger `shared_buffers`: it leaves less for sessions.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Let sessions take less", Told: "`work_mem` (4 MB unless set) counts for each sort, hash and parallel worker; if it is higher: `ALTER SYSTEM SET work_mem = '8MB'; SELECT pg_reload_conf();`. Then fewer connections, through a pool (PgBouncer).", Cost: "Slower queries"},
			{Fix: "raise_memory_limit", Title: "Check whether it was a limit or the machine", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'killed process|oom-kill' | tail -4; free -h", Told: "\"Memory cgroup\": raise the container's limit. \"Out of memory\": the machine was full; see what else runs on it.", Cost: "A look is free"},
			{Fix: "add_swap", Title: "On a server of its own: forbid overcommitting", Told: "`sudo sysctl vm.overcommit_memory=2`, with swap: a query then fails with an error instead of ending all sessions.", Cost: "Other programs may be refused memory"},
		},
		Sources: []string{"postgresql/src/backend/postmaster/postmaster.c", "https://www.postgresql.org/docs/current/kernel-resources.html"},
	}, {
		ID: "postgresql/map", Said: []string{"could not map anonymous shared memory"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
		Headline: "did not start: the system refused it its shared memory",
		Means:    "PostgreSQL allocates `shared_buffers` (and room for `max_connections`) in one piece at the start; the HINT gives its size as \"currently\". The machine, its container or its huge pages have less than that free, often because another PostgreSQL still runs, or the configuration comes from a larger machine.",
		Not:      "`kernel.shmmax`: since 9.3 PostgreSQL takes it with mmap.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Lower `shared_buffers`", Kind: "config", Text: "shared_buffers = 1GB   # lower than today, a quarter of RAM at most\nmax_connections = 100\nhuge_pages = try", Told: "In postgresql.conf, then start it again:", Cost: "None as a rule"},
			{Fix: "kill_stale_process", Title: "Check whether another server runs", Kind: "shell", Text: "ps -C postgres -o pid,rss,args; free -h; grep Huge /proc/meminfo", Cost: "A look is free"},
			{Fix: "raise_memory_limit", Title: "With `huge_pages = on`, reserve enough huge pages", Told: "`sysctl vm.nr_hugepages` times 2 MB must exceed the size in the HINT. Or set `huge_pages = try`.", Cost: "RAM set aside"},
		},
		Sources: []string{"postgresql/src/backend/port/sysv_shmem.c"},
	}},
}

// ClickHouse is the database, which counts what it takes and bounds it itself.
var ClickHouse = program.Program{
	Name: "clickhouse", Shown: "ClickHouse", Edits: "admin", Work: "data", Language: "other",
	Proofs: []string{"DB::Exception", "Memory limit (total) exceeded", "Memory limit (for query) exceeded", "memory limit exceeded: would use", "MEMORY_LIMIT_EXCEEDED"},
	Cards: []cause.Card{
		clickHouseChunk, clickHouseResident,
		{
			ID: "clickhouse/total", Kinds: []fact.Kind{fact.NativeAlloc}, Said: clickHouseTotal, Figures: clickHouseCounted,
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "reached the limit that it sets itself for the whole server[[: {limit}]]",
			Means:    "The server counts what its queries, merges and caches take, and refuses what exceeds `max_server_memory_usage`, by default 0.9 of the RAM or of the container's limit.[[ Its process held {resident} of RAM at that moment; if that is far below the limit, mostly its caches and its own count are at the limit.]]",
			Cures: []cause.Cure{
				{Fix: "stream_dataset", If: roomyServer, Title: "Bound each query, and let it spill to disk", Told: "`max_memory_usage` at {limit} divided by the queries that run at once; `max_bytes_before_external_group_by` and `max_bytes_before_external_sort` at half of that; fewer `max_threads`.", Cost: "slower queries"},
				{Fix: "lower_parallel", If: roomyServer, Title: "Run fewer merges and mutations at once", Told: "`SELECT table, elapsed, formatReadableSize(memory_usage) FROM system.merges` shows what each takes. " + fewerMerges, Cost: "more parts"},
				{Fix: "raise_memory_limit", If: roomyServer, Title: "Give the server more memory", Told: "Its own limit follows the RAM (`max_server_memory_usage_to_ram_ratio`, 0.9).", Cost: "money"},
				{Fix: "raise_memory_limit", If: when.Not(roomyServer), Title: "Give the container or machine more memory", Told: "Kubernetes: `resources.limits.memory`; 4 GiB is little for ClickHouse, 8 to 16 usual. Its own limit follows (`max_server_memory_usage_to_ram_ratio`).", Cost: "Less for other programs"},
				{Fix: "lower_mem_fraction", If: when.Not(roomyServer), Title: "Lower the cache sizes", Told: "`mark_cache_size` and `uncompressed_cache_size` (5 and 8 GiB by default in some versions) in config.xml, to a tenth of the limit; `SYSTEM DROP MARK CACHE` frees it at once.", Cost: "Slower reads"},
				{Fix: "lower_parallel", If: when.Not(roomyServer), Title: "Run fewer and smaller merges", Told: fewerMerges + " `max_bytes_to_merge_at_max_space_in_pool` 1073741824 in `merge_tree`; insert in batches of thousands of rows.", Cost: "More parts"},
				{Fix: "upgrade_version", Title: "If the process holds far less than it counts, restart and update it", Told: "Versions differ in how they correct the count by the system's figure.", Cost: "A restart"},
			},
			Sources: []string{"ClickHouse/src/Common/MemoryTracker.cpp", "https://clickhouse.com/docs/operations/server-configuration-parameters/settings"},
		},
		{
			ID: "clickhouse/query", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Memory limit (for query) exceeded", "Memory limit (for user) exceeded", "Query memory limit exceeded: would use", "User memory limit exceeded: would use"},
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
			Headline: "ended a query at its own limit[[: {limit}]]",
			Means:    "`max_memory_usage` limits one query[[, here to {limit}]]; the server may have had more. Joins hold their whole right side, GROUP BY and ORDER BY all their keys.",
			Not:      "More RAM alone: the limit stays the same.",
			Cures: []cause.Cure{
				{Fix: "stream_dataset", Title: "Spill to disk", Told: "`SET max_bytes_before_external_group_by = 5000000000, max_bytes_before_external_sort = 5000000000` (half of max_memory_usage); joins: `SET join_algorithm = 'auto'`.", Cost: "Slower"},
				{Fix: "raise_memory_limit", Title: "Raise `max_memory_usage` for this query", Told: "`SET max_memory_usage = 20000000000` (bytes; above today's limit, below what the machine has free).", Cost: "Less for other queries"},
				{Fix: "lower_batch_size", Title: "Make the query smaller", Told: "Fewer columns, a filter before the join, the smaller table on its right side; fewer `max_threads`, because each thread has its own state.", Cost: "Some rewriting"},
			},
			Sources: []string{"ClickHouse/src/Common/MemoryTracker.cpp", "https://clickhouse.com/docs/operations/settings/query-complexity"},
		},
	},
}
