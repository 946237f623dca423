package data

import (
	"regexp"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/when"
)

var noPool = []string{"Cannot allocate memory for the buffer pool", "cannot allocate memory for the buffer pool"}

// Databases that the system refused memory, or that refused it themselves.
var (
	MySQL = server("mysql", "MySQL", program.Sources{"mysql-server/storage/innobase/buf/buf0buf.cc": "innodb_buffer_pool_size"}, []cause.Card{
		{
			ID: "mysql/windows", Kinds: refused, Said: bundles, If: func(c *ledger.Case) bool { return c.Near(noPool...) },
			Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "did not start: Windows refused memory for the InnoDB buffer pool",
			Means: "The buffer pool (`innodb_buffer_pool_size`) is requested at the start. Either RAM and page file are promised to other programs already, the page file is off or its drive is full, or the setting is too large for this PC (a 32-bit MySQL: above 1 GB). \"Plugin initialization\", \"storage engine\" and \"Aborting\" are results of it.",
			Not:   "Reinstalling, other ports, PHP's memory_limit. Do not delete `ibdata1` and `ib_logfile*`: that destroys databases.",
			Cures: []cause.Cure{
				{Fix: "raise_pagefile", Title: "Enlarge the page file", Told: "Task Manager, Performance, Memory: \"Committed\" near its limit confirms it; close programs and stray mysqld.exe. Advanced system settings, Performance, Settings, Advanced, Virtual memory: automatic, with free space on the drive; restart.", Cost: "Disk space and a restart"},
				{Fix: "lower_mem_fraction", Title: "Lower `innodb_buffer_pool_size`", Kind: "config", Text: "innodb_buffer_pool_size = 64M", Told: "In my.ini (WampServer: tray icon, MySQL, my.ini, under `[wampmysqld64]` or `[mysqld]`; XAMPP: Config), once only; then start all services again:", Cost: "Slower with large tables"},
				{Fix: "close_other_apps", Title: "Run only one database server", Told: "WampServer and XAMPP include MariaDB too: switch off the one you do not use.", Cost: "Free"},
			},
			Sources: []string{"mysql-server/storage/innobase/srv/srv0start.cc"},
		},
		{
			ID: "mysql/buffer-pool", Kinds: refused, Said: noPool,
			Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "did not start: the system refused memory for the InnoDB buffer pool",
			Means: "The buffer pool (`innodb_buffer_pool_size`, 128 MB by default) is requested at the start, and the machine had no room for it: other programs use it, a small server has no swap, or the setting is too large (the line \"Initializing buffer pool, total size\" shows it). \"Plugin initialization\", \"storage engine\" and \"Aborting\" are results of it.",
			Not:   "Reinstalling or other ports. Do not delete `ibdata1` and `ib_logfile*`: that destroys databases.",
			Cures: []cause.Cure{
				{Fix: "lower_mem_fraction", Title: "Lower `innodb_buffer_pool_size`", Kind: "config", Text: "[mysqld]\ninnodb_buffer_pool_size = 64M", Told: "In my.ini or my.cnf (WampServer: tray icon, MySQL, my.ini, under its own heading), then start it again:", Cost: "Slower with large tables"},
				swap, look,
			},
			Sources: []string{"mysql-server/storage/innobase/srv/srv0start.cc"},
		},
		{
			ID: "mysql/sort", Kinds: refused, Said: []string{"Out of sort memory"},
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "could not sort: one row is larger than the sort buffer holds",
			Means: "`sort_buffer_size` (256 KB by default) must hold a few rows with all selected columns; wide rows, JSON and TEXT columns fill it. The machine itself is not short of memory.",
			Not:   "More RAM or a larger buffer pool.",
			Cures: []cause.Cure{
				{Fix: "raise_memory_limit", Title: "Raise `sort_buffer_size`", Kind: "config", Text: "SET SESSION sort_buffer_size = 4 * 1024 * 1024;", Cost: "That much for each sort"},
				{Fix: "fix_shape", Title: "Sort fewer columns", Told: "Select only the sorted ids first and join the wide columns to them, or add an index for the ORDER BY.", Cost: "Some rewriting"},
			},
			Sources: []string{"https://dev.mysql.com/doc/refman/8.0/en/order-by-optimization.html"},
		},
	}, "InnoDB: Cannot allocate memory", "[InnoDB] Cannot allocate memory", "[InnoDB] mmap(", "Plugin 'InnoDB'", "Out of sort memory", "mysqld: ")

	Redis = server("redis", "Redis", nil, []cause.Card{
		{
			ID: "redis/fork", Kinds: refused, Said: append([]string{"Can't save in background: fork", "fork: Cannot allocate memory"}, savedLater...), If: func(c *ledger.Case) bool {
				return c.Near("Can't save in background: fork", "fork: Cannot allocate memory")
			},
			Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not fork to save its data",
			Means: "Redis forks to write its snapshot, and the kernel counts the copy at full size, though only changed pages are copied. With `vm.overcommit_memory` 0 or 2 that can be refused although RAM is free.[[ {later}]] The data is still in memory, but not saved; by default writes are refused until a save succeeds.",
			Cures: []cause.Cure{
				{Fix: "raise_memory_limit", Title: "Set `vm.overcommit_memory=1`", Told: "Where Redis is in a container: on its host. It holds at once:", Kind: "shell", Text: "sudo sysctl vm.overcommit_memory=1\necho 'vm.overcommit_memory = 1' | sudo tee -a /etc/sysctl.d/99-redis.conf", Cost: "None with Redis alone"},
				swap,
				{Fix: look.Fix, If: when.All(look.If, savedAgain), Title: "See what held memory then", Kind: look.Kind, Text: look.Text, Cost: look.Cost},
				{Fix: "lower_mem_fraction", If: when.Not(savedAgain), Title: "If it is only a cache: lower `maxmemory`", Told: "To 60 % of RAM, with `maxmemory-policy allkeys-lru`, and `save \"\"`. Not where it holds sessions, queues or jobs of another program: those would be lost.", Cost: "Old keys go"},
			},
			Figures: forkFigures,
			Sources: []string{"redis/src/rdb.c", "https://redis.io/docs/latest/operate/oss_and_stack/management/admin/"},
		},
		{
			ID: "redis/refused", Kinds: refused, Said: []string{"# Out Of Memory allocating"},
			Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was refused {asked} of RAM and ended",
			Means: "The system refused Redis {asked}: RAM, or the limit of its container, is full. Without `maxmemory` Redis can grow until then. It restarts with the data that was saved last.",
			Not:   "Restarting alone: it loads the same data again.",
			Cures: []cause.Cure{
				{Fix: "lower_mem_fraction", Title: "Set `maxmemory`", Kind: "config", Text: "maxmemory 2gb\nmaxmemory-policy allkeys-lru", Told: "60 to 70 % of what it may have; replica buffers and the copy during a save come on top.", Cost: "Old keys go"},
				look, swap,
			},
			Sources: []string{"redis/src/server.c"},
		},
	}, "# Out Of Memory allocating", "Can't save in background: fork", "MISCONF Redis")

	Elasticsearch = server("elasticsearch", "Elasticsearch", nil, []cause.Card{{
		ID: "elasticsearch/breaker", Kinds: refused, Said: []string{"circuit_breaking_exception", "CircuitBreakingException"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "refused a request: its heap is nearly full (circuit breaker)",
		Means: "The parent breaker counts what the whole heap holds and refuses requests above 95 % of -Xmx, so that the node survives. The request itself is often tiny (\"new bytes reserved\"); the list behind \"usages\" shows what fills the heap. Usual reasons: too many shards, field data, large aggregations or bulk requests, or a heap that is too small.",
		Not:   "Raising `indices.breaker.total.limit`: the node then fails with Java heap space.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the heap (-Xms, -Xmx)", Kind: "config", Text: "# config/jvm.options.d/heap.options\n-Xms4g\n-Xmx4g", Told: "Half of the RAM (or of the container's limit), 31g at most, both equal; Docker: `ES_JAVA_OPTS=\"-Xms4g -Xmx4g\"`. Then restart the node.", Cost: "Less for the file cache"},
			{Fix: "lower_batch_size", Title: "Send smaller requests", Told: "Bulk requests of 5 to 15 MB, aggregations with a smaller `size`, no sorting or aggregating on text fields; `POST /_cache/clear?fielddata=true` frees field data now.", Cost: "More requests"},
			{Fix: "lower_num_workers", Title: "Reduce the number of shards", Told: "`GET _cat/shards` and `GET _nodes/stats/breaker`: 20 shards at most for each GB of heap was the rule of version 7; delete, shrink or merge old indices.", Cost: "Some work"},
		},
		Sources: []string{"elasticsearch/server/src/main/java/org/elasticsearch/indices/breaker/HierarchyCircuitBreakerService.java", "https://www.elastic.co/guide/en/elasticsearch/reference/7.9/circuit-breaker.html"},
	}}, "circuit_breaking_exception", "CircuitBreakingException")

	Neo4j = server("neo4j", "Neo4j", nil, []cause.Card{{
		ID: "neo4j/transaction", Kinds: refused, Said: []string{"MemoryPoolOutOfMemoryError", "TransactionOutOfMemoryError", "memory.transaction"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "ended a transaction at a memory limit",
		Means: "A transaction keeps all of its changes, and what it sorts and collects, in the heap until it is committed. `dbms.memory.transaction.total.max` (all together) and `db.memory.transaction.max` (one) limit that.",
		Not:   "More page cache: transactions use the heap.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Commit in batches", Kind: "config", Text: "MATCH (n:Old) CALL { WITH n DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS;", Told: "Likewise for imports (`LOAD CSV`) and updates; in the Browser put `:auto` before it.", Cost: "No single rollback"},
			{Fix: "fix_shape", Title: "Narrow the query", Told: "`PROFILE` shows the step with most rows; limit paths (`*..3`), index the first match, use LIMIT before COLLECT and ORDER BY.", Cost: "Some rewriting"},
			{Fix: "raise_memory_limit", Title: "Raise the heap and the limit", Told: "`server.memory.heap.max_size` in neo4j.conf; the limit is 70 % of it unless set.", Cost: "RAM"},
		},
		Sources: []string{"https://neo4j.com/docs/operations-manual/current/database-internals/transaction-management/", "https://neo4j.com/docs/status-codes/current/errors/gql-errors/51N73/"},
	}}, "MemoryPoolOutOfMemoryError", "TransactionOutOfMemoryError", "Neo.TransientError")

	SQLServer = server("sql-server", "SQL Server", nil, []cause.Card{{
		ID: "sql-server/pool", Kinds: refused, Said: []string{"insufficient system memory in resource pool"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "had no memory left in its resource pool (error 701)",
		Means: "All that the server may use (`max server memory`, or the limit of the container) was in use. In a container with 2 GB, the minimum, one large query, restore or index can be enough; Express uses at most 1.4 GB for its cache.",
		Not:   "Shrinking the database or its log: that is disk.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise its memory limit", Ways: []cause.Way{
				{For: "Container", Text: "4 GB or more, and `MSSQL_MEMORY_LIMIT_MB` at 80 % of that"},
				{For: "Windows, Linux", Text: "`EXEC sp_configure 'max server memory', 8192; RECONFIGURE;` (MB; all but 4 GB of the RAM)"},
			}, Cost: "Less for other programs"},
			{Fix: "lower_batch_size", Title: "Make the query smaller", Told: "Process rows in batches, avoid huge IN lists or XML; update statistics so that memory grants are not too large.", Cost: "Some rewriting"},
			{Fix: "restart_session", Title: "Check what uses the memory", Told: "`DBCC MEMORYSTATUS`, or the largest rows of `sys.dm_os_memory_clerks`.", Cost: "Free"},
		},
		Sources: []string{"https://learn.microsoft.com/en-us/sql/relational-databases/errors-events/mssqlserver-701-database-engine-error"},
	}}, "insufficient system memory in resource pool")

	PHP = program.Program{Name: "php", Shown: "PHP", Edits: "admin", Language: "other",
		Proofs: []string{"PHP Fatal error:", "composer/src/Composer/", "Fatal error: Out of memory (allocated"},
		Cards: []cause.Card{{
			ID: "php/refused", Kinds: refused, Said: []string{"Out of memory (allocated"}, Unsaid: []string{"composer", "Composer"}, Figures: phpHeld,
			Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused memory by the system, not by memory_limit",
			Means: "\"Out of memory (allocated ...)\" is a refusal by the system[[ after {held}]]; PHP's own limit says \"Allowed memory size exhausted\".[[ {narrow}]] Otherwise the server, container or hosting package has no more to give, often without swap.",
			Not:   "`memory_limit`, in php.ini or by `ini_set`: that limit was not reached.",
			Cures: []cause.Cure{
				{If: phpNarrow, Fix: "upgrade_version", Title: "Use PHP of 64 bit", Told: "`php -r 'echo PHP_INT_SIZE;'` prints 8 there, 4 in 32 bit. Windows: the x64 download, XAMPP of 64 bit.", Cost: "An installation"},
				{Fix: "stream_dataset", Title: "Process the input in parts", Told: "An import: a few thousand rows a run; in code `fgetcsv` or a generator in place of `file()` and arrays, and `unset` of what is done.", Cost: "More runs, or some rewriting"},
				{If: when.Not(onWindows), Fix: "add_swap", Title: "Add 2 GB of swap", Kind: "shell", Text: "sudo fallocate -l 2G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "2 GB of disk, slow"},
				{Fix: "raise_memory_limit", Title: "Raise the memory of the server, container or package", Told: "A host's package has a limit for each process (`ulimit -v`, LVE) that php.ini does not show.", Cost: "Money"},
			},
			Sources: []string{"php-src/Zend/zend_alloc.c"},
		}, {
			ID: "php/composer", Kinds: refused, Said: []string{"mmap() failed: [12]", "tried to allocate"},
			Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused memory by the system, not by memory_limit",
			Means: "\"Out of memory (allocated ...)\" is a refusal by the system: the server or container has no RAM left, often without swap. (PHP's own limit says \"Allowed memory size exhausted\".) `composer update` with version 1 takes 1 to 2 GB to solve the versions, version 2 far less.",
			Not:   "`memory_limit = -1` or `COMPOSER_MEMORY_LIMIT`: the system has no more to give.",
			Cures: []cause.Cure{
				{If: when.Not(onWindows), Fix: "add_swap", Title: "Add 2 GB of swap", Kind: "shell", Text: "sudo fallocate -l 2G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "2 GB of disk, slow for a minute"},
				{Fix: "upgrade_version", Title: "Use Composer 2, install from the lock file", Told: "`composer self-update --2`; run `composer update` on your own machine, commit composer.lock, and run only `composer install` on the server.", Cost: "Free"},
				{Fix: "raise_memory_limit", Title: "Raise the memory of the server or container", Told: "2 GB are enough for Composer 1.", Cost: "Money"},
			},
			Sources: []string{"https://getcomposer.org/doc/articles/troubleshooting.md"},
		}},
		Sources: program.Sources{"https://getcomposer.org/doc/03-cli.md": "--2"},
	}
)

var phpTook = regexp.MustCompile(`\(allocated (\d{4,15})(?: bytes)?\)`)

// phpTaken is what PHP held when it was refused, 0 where it does not say.
func phpTaken(c *ledger.Case) int64 {
	found := phpTook.FindStringSubmatch(c.Failure.Message)
	if found == nil {
		return 0
	}
	n, _ := strconv.ParseInt(found[1], 10, 64)
	return n
}

// phpNarrow: it ended on Windows where a process of 32 bit does.
func phpNarrow(c *ledger.Case) bool {
	n := phpTaken(c)
	return onWindows(c) && n > 1200*units.MiB && n < 2*units.GiB
}

func phpHeld(c *ledger.Case) map[string]string {
	out := map[string]string{"held": "", "narrow": ""}
	if n := phpTaken(c); n > 0 {
		out["held"] = units.Amount(n)
	}
	if phpNarrow(c) {
		out["narrow"] = "A PHP of 32 bit ends about there, at 2 GB, whatever the RAM."
	}
	return out
}
