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
		return map[string]string{"little": "So little is refused only if memory was full already: of all sessions and programs of that machine together, or of this query itself."}
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
		Headline: "did not start: the system has no shared memory segment left",
		Means:    "PostgreSQL needs one small System V shared memory segment. \"No space left on device\" means that the kernel has none left: their number (SHMMNI) or total size (SHMALL) is used up, mostly by leftovers of killed servers. Neither the disk nor RAM need be full.",
		Not:      "Freeing disk space, or a larger /dev/shm: System V segments are elsewhere.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Remove segments that nobody uses", Told: "First stop other PostgreSQL servers, those of tests too. `ipcs -m` lists the segments. If one has `nattch` 0 and your user, remove it with `ipcrm -m ID` (ID: its shmid).", Cost: "free"},
			{Fix: "raise_shm_size", Title: "Raise the kernel's limit", Ways: []cause.Way{
				{For: "Linux", Text: "`sudo sysctl -w kernel.shmmni=8192`"},
				{For: "macOS", Text: "the defaults are small (`kern.sysv.shmmni` 32, `kern.sysv.shmall` 1024 pages). Set larger numbers in /etc/sysctl.conf, for all five of `shmmax`, `shmmin`, `shmmni`, `shmseg` and `shmall`, then restart"},
			}, Cost: "None"},
			{Fix: "restart_session", Title: "Or restart the machine", Told: "That removes all segments.", Cost: "some minutes"},
		},
		Sources: []string{"postgresql/src/backend/port/sysv_shmem.c", "https://www.postgresql.org/docs/current/kernel-resources.html"},
	}, {
		ID: "postgresql/shared-memory", Kinds: []fact.Kind{fact.SharedSegment},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "found /dev/shm full: a parallel query could not get {asked}",
		Means:    "\"No space left on device\" does not mean the disk here. The workers of a parallel query share hash tables and sorts in /dev/shm, which is memory. A Docker container has only 64 MB of it by default.",
		Not:      "Freeing disk space: /dev/shm is in memory.",
		Cures: []cause.Cure{
			{Fix: "raise_shm_size", Title: "Give the container more shared memory", Told: "Then create it again (`docker compose up -d`). `df -h /dev/shm` inside shows the size.", Own: true, Cost: "what is used counts as RAM"},
			{Fix: "lower_parallel", Title: "Turn off parallel queries", Own: true, Cost: "large queries are slower"},
			{Fix: "lower_batch_size", Title: "Lower `work_mem`", Told: "It limits each hash or sort of each worker (default 4 MB). If it is higher: `ALTER SYSTEM SET work_mem = '8MB'; SELECT pg_reload_conf();`", Cost: "large sorts go to disk"},
		},
		Sources: []string{"postgresql/src/backend/storage/ipc/dsm_impl.c", "https://docs.docker.com/reference/cli/docker/container/run/"},
	}, {
		ID: "postgresql/gathered", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"array_agg(", "string_agg(", "json_agg(", "jsonb_agg(", "xmlagg("}, If: func(c *ledger.Case) bool { return c.Near("in memory context \"") && !littleAsked(c) },
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "could not get {asked} more for one query",
		Means:    "The statement gathers values of many rows in one array or string (`array_agg`, `string_agg`). `work_mem` does not limit that: all groups are held in memory until the query ends. The system refused {asked} more, because RAM and swap, a limit or strict overcommit (`vm.overcommit_memory=2`) left no room.",
		Not:      "A lower `work_mem`: it does not limit these functions.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Split the query", Told: "Aggregate one range of the GROUP BY key at a time, with WHERE, or return the rows and collect them in the program.", Cost: "more runs"},
			{Fix: "raise_memory_limit", Title: "Check whether the system may promise more memory", Kind: "shell", Text: "free -h; sysctl vm.overcommit_memory; grep -i commit /proc/meminfo", Told: "If overcommit is 2 and `Committed_AS` is near `CommitLimit`: add swap, or raise `vm.overcommit_ratio`.", Cost: "free"},
			{Fix: "lower_num_workers", Title: "Allow fewer sessions", Told: "Lower `max_connections`, with a pool (PgBouncer) in front: every session has its own memory.", Cost: "sessions wait"},
		},
		Sources: []string{"postgresql/src/backend/utils/mmgr/aset.c", "https://www.postgresql.org/docs/current/runtime-config-resource.html"},
	}, {
		ID: "postgresql/query", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"in memory context \""},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "could not get {asked} more for one query",
		Means:    "The system refused the server {asked} for the query that the log names after STATEMENT. RAM and swap were full, strict overcommit (`vm.overcommit_memory=2`) forbade it, or a limit of the process was reached.[[ {little}]] The memory contexts listed before the error show what the session holds.",
		Figures:  refusedQuery,
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", If: littleAsked, Title: "Check what fills the server's machine", Kind: "shell", Text: "free -h; sysctl vm.overcommit_memory; grep -i commit /proc/meminfo", Told: "Run it on the server, or in its container. If little is available: add RAM or swap, raise the container's limit, or run less beside it. If overcommit is 2 and `Committed_AS` is near `CommitLimit`: add swap, or raise `vm.overcommit_ratio`.", Cost: "free"},
			{Fix: "lower_num_workers", If: littleAsked, Title: "Allow fewer sessions, and less memory for each", Told: "Lower `max_connections` and use a pool (PgBouncer). Set `shared_buffers` to a quarter of the RAM. `work_mem` (default 4MB) counts for each sort, hash and parallel worker: `ALTER SYSTEM SET work_mem = '8MB'; SELECT pg_reload_conf();`", Cost: "sessions wait; large sorts go to disk"},
			{Fix: "lower_batch_size", Title: "Limit the memory of the query", Told: "Run this in the session before the query. It does not limit huge `array_agg`, `string_agg` or IN lists: split such a query.", Kind: "config", Text: "SET work_mem = '8MB';   -- lower than today; 4MB unless set\nSET hash_mem_multiplier = 1;   -- PostgreSQL 13 and later\nSET max_parallel_workers_per_gather = 0;", Cost: "slower queries"},
			{Fix: "raise_memory_limit", If: when.Not(littleAsked), Title: "Check whether the system may promise more memory", Kind: "shell", Text: "free -h; sysctl vm.overcommit_memory; grep -i commit /proc/meminfo", Told: "If overcommit is 2 and `Committed_AS` is near `CommitLimit`: add swap, or raise `vm.overcommit_ratio`.", Cost: "free"},
			{Fix: "lower_num_workers", If: when.Not(littleAsked), Title: "Allow fewer sessions", Told: "Lower `max_connections`, with a pool (PgBouncer) in front: every session has its own memory.", Cost: "sessions wait"},
		},
		Sources: []string{"postgresql/src/backend/utils/mmgr/aset.c", "https://www.postgresql.org/docs/current/kernel-resources.html"},
	}, {
		ID: "postgresql/killed", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"was terminated by signal 9"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "lost a session: it was killed (signal 9), most likely because RAM ran out",
		Means:    "A server process was killed, most likely by the kernel because RAM or the container's limit was full. PostgreSQL then ends all sessions and recovers. \"Failed process was running\" shows that session's statement; it usually held the most memory.",
		Not:      "A larger `shared_buffers`: it leaves less for sessions.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Reduce what each session may use", Told: "`work_mem` (default 4 MB) counts for each sort, hash and parallel worker. If it is higher: `ALTER SYSTEM SET work_mem = '8MB'; SELECT pg_reload_conf();`. Then use fewer connections, through a pool (PgBouncer).", Cost: "slower queries"},
			{Fix: "raise_memory_limit", Title: "Check whether it was a limit or the machine", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'killed process|oom-kill' | tail -4; free -h", Told: "\"Memory cgroup\": raise the container's limit. \"Out of memory\": the machine was full, so check what else runs on it.", Cost: "free"},
			{Fix: "add_swap", Title: "On a dedicated server, turn off overcommit", Told: "`sudo sysctl vm.overcommit_memory=2`, with swap. A large query then fails with an error, and the other sessions go on.", Cost: "other programs may be refused memory"},
		},
		Sources: []string{"postgresql/src/backend/postmaster/postmaster.c", "https://www.postgresql.org/docs/current/kernel-resources.html"},
	}, {
		ID: "postgresql/map", Said: []string{"could not map anonymous shared memory"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
		Headline: "did not start: it could not get its shared memory",
		Means:    "At its start PostgreSQL requests `shared_buffers` (and room for `max_connections`) at once; the HINT states that size. The machine, its container or its huge pages have less free. Often another PostgreSQL still runs, or the configuration comes from a larger machine.",
		Not:      "`kernel.shmmax`: PostgreSQL has not needed it since version 9.3.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Lower `shared_buffers`", Kind: "config", Text: "shared_buffers = 1GB   # lower than today, a quarter of RAM at most\nmax_connections = 100\nhuge_pages = try", Told: "In postgresql.conf, then start it again:", Cost: "None"},
			{Fix: "kill_stale_process", Title: "Check whether another server runs", Kind: "shell", Text: "ps -C postgres -o pid,rss,args; free -h; grep Huge /proc/meminfo", Cost: "free"},
			{Fix: "raise_memory_limit", Title: "If `huge_pages = on` is set, reserve enough huge pages", Told: "`sysctl vm.nr_hugepages` times 2 MB must be above the size in the HINT. Or set `huge_pages = try`.", Cost: "that RAM is set aside"},
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
			Headline: "reached its memory limit for the whole server[[ ({limit})]]",
			Means:    "ClickHouse adds up the memory of its queries, merges and caches, and refuses more than `max_server_memory_usage`: by default 90 % of the RAM or of the container's limit.[[ Its process held {resident} of RAM then; if that is far below the limit, caches and its own count reached it.]]",
			Cures: []cause.Cure{
				{Fix: "stream_dataset", If: roomyServer, Title: "Limit each query, and let it spill to disk", Told: "Set `max_memory_usage` to {limit} divided by the number of parallel queries. Set `max_bytes_before_external_group_by` and `max_bytes_before_external_sort` to half of that, and lower `max_threads`.", Cost: "slower queries"},
				{Fix: "lower_parallel", If: roomyServer, Title: "Run fewer merges and mutations at once", Told: "`SELECT table, elapsed, formatReadableSize(memory_usage) FROM system.merges` shows what each one takes." + fewerMerges, Cost: "more parts"},
				{Fix: "raise_memory_limit", If: roomyServer, Title: "Give the server more memory", Told: "Its own limit follows the RAM (`max_server_memory_usage_to_ram_ratio`, 0.9).", Cost: "money"},
				{Fix: "raise_memory_limit", If: when.Not(roomyServer), Title: "Give the container or machine more memory", Told: "ClickHouse usually needs 8 to 16 GiB; 4 GiB is little. Kubernetes: `resources.limits.memory`. Its own limit follows (`max_server_memory_usage_to_ram_ratio`).", Cost: "less for other programs"},
				{Fix: "lower_mem_fraction", If: when.Not(roomyServer), Title: "Lower the cache sizes", Told: "In config.xml set `mark_cache_size` and `uncompressed_cache_size` to a tenth of the limit (some versions default to 5 and 8 GiB). `SYSTEM DROP MARK CACHE` frees it at once.", Cost: "slower reads"},
				{Fix: "lower_parallel", If: when.Not(roomyServer), Title: "Run fewer and smaller merges", Told: fewerMerges + " `max_bytes_to_merge_at_max_space_in_pool` 1073741824 in `merge_tree`; insert in batches of thousands of rows.", Cost: "more parts"},
				{Fix: "upgrade_version", Title: "If the process holds far less than it counts, restart and update it", Told: "Versions differ in how they correct their own count by the system's figure.", Cost: "a restart"},
			},
			Sources: []string{"ClickHouse/src/Common/MemoryTracker.cpp", "https://clickhouse.com/docs/operations/server-configuration-parameters/settings"},
		},
		{
			ID: "clickhouse/query", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Memory limit (for query) exceeded", "Memory limit (for user) exceeded", "Query memory limit exceeded: would use", "User memory limit exceeded: would use"},
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
			Figures:  queryOrUser,
			Headline: "stopped a query at {whose} memory limit[[ ({limit})]]",
			Means:    "{shared} Joins keep their whole right side in memory, GROUP BY and ORDER BY keep all their keys.",
			Not:      "Only more RAM: the limit stays the same.",
			Cures: []cause.Cure{
				{Fix: "stream_dataset", Title: "Let the query spill to disk", Told: "`SET max_bytes_before_external_group_by = 5000000000, max_bytes_before_external_sort = 5000000000` (half of max_memory_usage). For joins: `SET join_algorithm = 'auto'`.", Cost: "slower"},
				{Fix: "lower_parallel", If: ofUser, Title: "Run fewer queries of this user at once", Told: "`SELECT user, query_id, formatReadableSize(memory_usage), query FROM system.processes` shows what each one takes; `KILL QUERY WHERE query_id = 'ID'` ends one.", Cost: "others wait"},
				{Fix: "raise_memory_limit", If: ofUser, Title: "Raise `max_memory_usage_for_user`", Told: "Set it in the user's profile (users.xml, in bytes): above today's limit, but below the server's own limit.", Cost: "less for other users"},
				{Fix: "raise_memory_limit", If: when.Not(ofUser), Title: "Raise `max_memory_usage` for this query", Told: "`SET max_memory_usage = 20000000000` (in bytes): above today's limit, but below what the machine has free.", Cost: "less for other queries"},
				{Fix: "lower_batch_size", Title: "Make the query smaller", Told: "Select fewer columns, filter before the join, and put the smaller table on its right side. Lower `max_threads`: each thread has its own state.", Cost: "some rewriting"},
			},
			Sources: []string{"ClickHouse/src/Common/MemoryTracker.cpp", "https://clickhouse.com/docs/operations/settings/query-complexity"},
		},
	},
}

// ofUser: ClickHouse's limit for all queries of a user was reached.
func ofUser(c *ledger.Case) bool {
	return c.Contains("(for user)") || c.Contains("user memory limit exceeded")
}

// queryOrUser says whose limit ClickHouse's query reached.
func queryOrUser(c *ledger.Case) map[string]string {
	if ofUser(c) {
		return map[string]string{"whose": "its user's", "shared": "All queries of a user share one limit (`max_memory_usage_for_user`), so this query need not be the largest; the server may have had more."}
	}
	return map[string]string{"whose": "its own", "shared": "`max_memory_usage` limits each query; the server may have had more."}
}
