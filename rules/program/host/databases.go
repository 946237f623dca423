package host

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// PostgreSQL is the database, whose workers share memory through /dev/shm.
var PostgreSQL = program.Program{
	Name: "postgresql", Shown: "PostgreSQL", Edits: "admin", Work: "data", Language: "other",
	Proofs:  []string{"could not resize shared memory segment", "could not map anonymous shared memory"},
	Sources: program.Sources{"postgresql/src/backend/storage/ipc/dsm_impl.c": "dynamic_shared_memory_type", "postgresql/doc/src/sgml/config.sgml": "max_parallel_workers_per_gather work_mem", "docker/cli/command/container/opts.go": "--shm-size"},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"raise_shm_size": step.Paste("config", "services:\n  SERVICE:          # your service with the database\n    shm_size: 1gb   # docker run: --shm-size=1g"),
		"lower_parallel": step.Paste("config", "ALTER SYSTEM SET max_parallel_workers_per_gather = 0;   -- then: SELECT pg_reload_conf();"),
	},
	Titles: map[string]string{"raise_shm_size": "Give the container more shared memory", "lower_parallel": "Or no parallel queries"},
	Cards: []cause.Card{{
		ID: "postgresql/shared-memory", Kinds: []fact.Kind{fact.SharedSegment},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "found /dev/shm full: a parallel query could not share {asked}",
		Means:    "\"No space left on device\" is no disk here: the segment lies in /dev/shm, which is memory. A container has 64 MB of it unless told otherwise, and the workers of one parallel query share their hash tables and sorts through it. Errors after this one follow from it.",
		Not:      "Freeing disk space, or more RAM: the size of /dev/shm is a setting.",
		Cures: []cause.Cure{
			{Fix: "raise_shm_size", Title: "Give the container more shared memory", Told: "Then create it again (`docker compose up -d`); `df -h /dev/shm` inside shows the size.", Own: true, Cost: "None; what is used counts as RAM"},
			{Fix: "lower_parallel", Title: "Or no parallel queries", Own: true, Cost: "Large queries are slower"},
			{Fix: "lower_batch_size", Title: "Or a smaller `work_mem`", Told: "It bounds each hash or sort of each worker: `ALTER SYSTEM SET work_mem = '16MB';`", Cost: "Large sorts go to disk"},
		},
		Sources: []string{"postgresql/src/backend/storage/ipc/dsm_impl.c", "https://docs.docker.com/reference/cli/docker/container/run/"},
	}, {
		ID: "postgresql/map", Said: []string{"could not map anonymous shared memory"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
		Headline: "did not start: the system refused it its shared memory",
		Means:    "`shared_buffers` (with room for `max_connections`) is taken in one piece at the start; the HINT names its size as \"currently\". It is larger than what the machine, its container or its huge pages have free, often because another PostgreSQL still runs, or the file came from a larger machine.",
		Not:      "`kernel.shmmax`: since 9.3 PostgreSQL takes it with mmap.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "A quarter of the RAM, no more", Kind: "config", Text: "shared_buffers = 1GB\nmax_connections = 100\nhuge_pages = try", Told: "In postgresql.conf, then start it again:", Cost: "None as a rule"},
			{Fix: "kill_stale_process", Title: "See whether another server runs", Kind: "shell", Text: "ps -C postgres -o pid,rss,args; free -h; grep Huge /proc/meminfo", Cost: "A look is free"},
			{Fix: "raise_memory_limit", Title: "`huge_pages = on`: reserve enough of them", Told: "`sysctl vm.nr_hugepages` times 2 MB must exceed the size in the HINT, or set `huge_pages = try`.", Cost: "RAM set aside"},
		},
		Sources: []string{"postgresql/src/backend/port/sysv_shmem.c"},
	}},
}

// ClickHouse is the database, which counts what it takes and bounds it itself.
var ClickHouse = program.Program{
	Name: "clickhouse", Shown: "ClickHouse", Edits: "admin", Work: "data", Language: "other",
	Proofs: []string{"DB::Exception", "Memory limit (total) exceeded", "Memory limit (for query) exceeded", "MEMORY_LIMIT_EXCEEDED"},
	Cards: []cause.Card{
		{
			ID: "clickhouse/total", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Memory limit (total) exceeded"},
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "reached the limit that it sets itself for the whole server[[: {limit}]]",
			Means:    "The server counts all that its queries, merges and caches take and refuses what goes above max_server_memory_usage, by default 0.9 of the RAM or of the container's limit.[[ Its process held {process_used} of RAM at that moment: far below the limit means that the count, with caches in it, is what is full.]] A background merge that fails is tried again and again.",
			Not:      "Another query: the sum of all is at the limit.",
			Cures: []cause.Cure{
				{Fix: "raise_memory_limit", Title: "Give the container or machine more", Told: "Kubernetes: `resources.limits.memory`; 4 GiB is little for ClickHouse, 8 to 16 usual. Its own limit follows (`max_server_memory_usage_to_ram_ratio`).", Cost: "Less for other programs"},
				{Fix: "lower_mem_fraction", Title: "Smaller caches", Told: "`mark_cache_size` and `uncompressed_cache_size` (5 and 8 GiB by default in some versions) in config.xml, to a tenth of the limit; `SYSTEM DROP MARK CACHE` frees it at once.", Cost: "Slower reads"},
				{Fix: "lower_parallel", Title: "Fewer and smaller merges", Told: "`background_pool_size` 2 in config.xml, and `max_bytes_to_merge_at_max_space_in_pool` 1073741824 as a setting of merge_tree; insert in batches of thousands of rows.", Cost: "More parts"},
				{Fix: "upgrade_version", Title: "The process holds far less than it counts: restart, then a newer version", Told: "Versions differ in how the count is put right by what the system says.", Cost: "A restart"},
			},
			Sources: []string{"ClickHouse/src/Common/MemoryTracker.cpp", "https://clickhouse.com/docs/operations/server-configuration-parameters/settings"},
		},
		{
			ID: "clickhouse/query", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Memory limit (for query) exceeded", "Memory limit (for user) exceeded"},
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
			Headline: "ended a query at its own limit[[: {limit}]]",
			Means:    "max_memory_usage bounds one query[[, here at {limit}]]; the server may have had more. Joins hold their right side whole, GROUP BY and ORDER BY all their keys.",
			Not:      "More RAM alone: the limit stays where it is.",
			Cures: []cause.Cure{
				{Fix: "stream_dataset", Title: "Let it go to disk", Told: "`SET max_bytes_before_external_group_by = 5000000000, max_bytes_before_external_sort = 5000000000` (half of max_memory_usage); joins: `SET join_algorithm = 'auto'`.", Cost: "Slower"},
				{Fix: "raise_memory_limit", Title: "Or raise the limit of this query", Told: "`SET max_memory_usage = 20000000000` (bytes), below what the machine has free.", Cost: "Less for other queries"},
				{Fix: "lower_batch_size", Title: "Or ask for less", Told: "Fewer columns, the smaller table on the right of the join, a filter before it; `max_threads` 4: each thread has its own state.", Cost: "Some rewriting"},
			},
			Sources: []string{"ClickHouse/src/Common/MemoryTracker.cpp", "https://clickhouse.com/docs/operations/settings/query-complexity"},
		},
	},
}
