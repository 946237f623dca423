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
			Means: "MySQL requests its buffer pool (`innodb_buffer_pool_size`) at the start, and Windows refused. RAM and page file are promised to other programs, the page file is off or its drive is full, or the setting is too large for this PC. \"Plugin initialization\", \"storage engine\" and \"Aborting\" only follow from that.",
			Not:   "Reinstalling, other ports, or PHP's memory_limit. Do not delete `ibdata1` and `ib_logfile*`: that destroys databases.",
			Cures: []cause.Cure{
				{Fix: "raise_pagefile", Title: "Enlarge the page file", Told: "Close large programs and stray mysqld.exe first. Then press Win+R, run `SystemPropertiesAdvanced`; Performance: Settings, Advanced, Virtual memory: Change. Tick \"Automatically manage\", with free space on the drive, and restart.", Cost: "disk space and a restart"},
				{Fix: "lower_mem_fraction", Title: "Lower `innodb_buffer_pool_size`", Kind: "config", Text: "innodb_buffer_pool_size = 64M", Told: "In my.ini (XAMPP: Config button; WampServer: tray icon, MySQL, my.ini, under `[wampmysqld64]` or `[mysqld]`). Set it only once, then start all services again:", Cost: "slower with large tables"},
				{Fix: "close_other_apps", Title: "Run only one database server", Told: "WampServer also brings MariaDB: turn off the one that you do not use.", Cost: "free"},
			},
			Sources: []string{"mysql-server/storage/innobase/srv/srv0start.cc"},
		},
		{
			ID: "mysql/buffer-pool", Kinds: refused, Said: noPool,
			Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "did not start: the system refused memory for the InnoDB buffer pool",
			Means: "MySQL requests its buffer pool (`innodb_buffer_pool_size`, default 128 MB) at the start, and the machine had no room for it. Other programs use the RAM, a small server has no swap, or the setting is too large. \"Plugin initialization\", \"storage engine\" and \"Aborting\" only follow from that.",
			Not:   "Reinstalling, or other ports. Do not delete `ibdata1` and `ib_logfile*`: that destroys databases.",
			Cures: []cause.Cure{
				{Fix: "lower_mem_fraction", Title: "Lower `innodb_buffer_pool_size`", Kind: "config", Text: "[mysqld]\ninnodb_buffer_pool_size = 64M", Told: "In my.cnf (Linux) or my.ini (Windows), then start it again:", Cost: "slower with large tables"},
				swap, look,
			},
			Sources: []string{"mysql-server/storage/innobase/srv/srv0start.cc"},
		},
		{
			ID: "mysql/sort", Kinds: refused, Said: []string{"Out of sort memory"},
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "could not sort: the rows are too large for the sort buffer",
			Means: "`sort_buffer_size` (default 256 KB) must hold a few rows with all selected columns. Wide rows, JSON and TEXT columns fill it. The machine itself is not short of memory.",
			Not:   "More RAM, or a larger buffer pool.",
			Cures: []cause.Cure{
				{Fix: "raise_memory_limit", Title: "Raise `sort_buffer_size`", Told: "For this session (for all: `SET GLOBAL`):", Kind: "config", Text: "SET SESSION sort_buffer_size = 4 * 1024 * 1024;", Cost: "that much for each sort"},
				{Fix: "fix_shape", Title: "Sort fewer columns", Told: "Sort only the ids first, and join the wide columns to them. Or add an index for the ORDER BY.", Cost: "some rewriting"},
			},
			Sources: []string{"https://dev.mysql.com/doc/refman/8.0/en/order-by-optimization.html"},
		},
	}, "InnoDB: Cannot allocate memory", "[InnoDB] Cannot allocate memory", "[InnoDB] mmap(", "Plugin 'InnoDB'", "Out of sort memory", "mysqld: ")

	Redis = server("redis", "Redis", nil, []cause.Card{
		{
			ID: "redis/fork", Kinds: refused, Said: append([]string{"Can't save in background: fork", "fork: Cannot allocate memory"}, savedLater...), If: func(c *ledger.Case) bool {
				return c.Near("Can't save in background: fork", "fork: Cannot allocate memory")
			},
			Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not fork to save its data to disk",
			Means: "Redis forks to write its snapshot, and the kernel counts that copy at full size, although only changed pages are copied. With `vm.overcommit_memory` 0 or 2 it may refuse although RAM is free.[[ {later}]] The data is still in memory but not saved. By default Redis refuses writes until a save succeeds.",
			Cures: []cause.Cure{
				{Fix: "raise_memory_limit", Title: "Set `vm.overcommit_memory=1`", Told: "If Redis runs in a container, do this on its host. It takes effect at once:", Kind: "shell", Text: "sudo sysctl vm.overcommit_memory=1\necho 'vm.overcommit_memory = 1' | sudo tee -a /etc/sysctl.d/99-redis.conf", Cost: "None"},
				swap,
				{Fix: look.Fix, If: when.All(look.If, savedAgain), Title: "Check what held the memory then", Kind: look.Kind, Text: look.Text, Cost: look.Cost},
				{Fix: "lower_mem_fraction", If: when.Not(savedAgain), Title: "If it is only a cache, lower `maxmemory`", Told: "Set it to 60 % of RAM, with `maxmemory-policy allkeys-lru` and `save \"\"`. Do not do this if it holds sessions, queues or jobs of another program: those would be lost.", Cost: "old keys are deleted"},
			},
			Figures: forkFigures,
			Sources: []string{"redis/src/rdb.c", "https://redis.io/docs/latest/operate/oss_and_stack/management/admin/"},
		},
		{
			ID: "redis/refused", Kinds: refused, Said: []string{"# Out Of Memory allocating"},
			Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not get {asked} of RAM and stopped",
			Means: "RAM, or the limit of the container, was full. Without `maxmemory` Redis grows until that happens. After a restart it has the data that it saved last.",
			Not:   "Only restarting: it loads the same data again.",
			Cures: []cause.Cure{
				{Fix: "lower_mem_fraction", Title: "Set `maxmemory`", Kind: "config", Text: "maxmemory 2gb\nmaxmemory-policy allkeys-lru", Told: "Use 60 to 70 % of what Redis may have: replica buffers and the copy during a save come on top. With `noeviction` instead of `allkeys-lru` no keys are deleted, and writes fail instead.", Cost: "old keys are deleted"},
				look, swap,
			},
			Sources: []string{"redis/src/server.c"},
		},
	}, "# Out Of Memory allocating", "Can't save in background: fork", "MISCONF Redis")

	Elasticsearch = server("elasticsearch", "Elasticsearch", nil, []cause.Card{{
		ID: "elasticsearch/breaker", Kinds: refused, Said: []string{"circuit_breaking_exception", "CircuitBreakingException"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: breaker, Headline: "refused a request: {full} (circuit breaker)",
		Means: "{means}",
		Not:   "Raising `indices.breaker.total.limit`: the node then fails with Java heap space.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", If: ofBreaker("[fielddata]"), Title: "Sort and aggregate on keyword fields", Told: "Use `NAME.keyword` instead of the text field NAME, or map the field as `keyword`. `POST /_cache/clear?fielddata=true` frees what is loaded now.", Cost: "perhaps a new index"},
			{Fix: "lower_batch_size", If: ofBreaker("[request]"), Title: "Make the aggregation smaller", Told: "Lower `size` and the number of nested levels, page through buckets with a `composite` aggregation, and filter to a shorter time range first.", Cost: "more requests"},
			{Fix: "raise_memory_limit", Title: "Raise the heap (-Xms, -Xmx)", Kind: "config", Text: "# config/jvm.options.d/heap.options\n-Xms4g\n-Xmx4g", Told: "Use half of the RAM (or of the container's limit), at most 31g, the same for both, then restart the node. Docker: `ES_JAVA_OPTS=\"-Xms4g -Xmx4g\"`.", Cost: "less for the file cache"},
			{Fix: "lower_batch_size", If: when.Not(ofBreaker("[request]")), Title: "Send smaller requests", Told: "Use bulk requests of 5 to 15 MB and aggregations with a smaller `size`. Do not sort or aggregate on text fields. `POST /_cache/clear?fielddata=true` frees field data now.", Cost: "more requests"},
			{Fix: "lower_num_workers", If: when.Not(when.Any(ofBreaker("[fielddata]"), ofBreaker("[request]"))), Title: "Reduce the number of shards", Told: "`GET _cat/shards` lists them. As a guide use at most 20 shards per GB of heap: delete, shrink or merge old indices.", Cost: "some work"},
		},
		Sources: []string{"elasticsearch/server/src/main/java/org/elasticsearch/indices/breaker/HierarchyCircuitBreakerService.java", "https://www.elastic.co/guide/en/elasticsearch/reference/7.9/circuit-breaker.html"},
	}}, "circuit_breaking_exception", "CircuitBreakingException")

	Neo4j = server("neo4j", "Neo4j", nil, []cause.Card{{
		ID: "neo4j/transaction", Kinds: refused, Said: []string{"MemoryPoolOutOfMemoryError", "TransactionOutOfMemoryError", "memory.transaction"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "stopped a transaction at a memory limit",
		Means: "A transaction keeps all its changes, and everything it sorts and collects, in the heap until it is committed. `db.memory.transaction.max` limits one transaction, `dbms.memory.transaction.total.max` all together.",
		Not:   "A larger page cache: transactions use the heap.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Commit in batches", Kind: "config", Text: "MATCH (n:Old) CALL { WITH n DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS;", Told: "Do the same for imports (`LOAD CSV`) and updates. In the Browser put `:auto` before it. For example, to delete:", Cost: "no single rollback"},
			{Fix: "fix_shape", Title: "Make the query smaller", Told: "`PROFILE` shows the step with the most rows. Limit path lengths (`*..3`), add an index for the first match, and use LIMIT before COLLECT and ORDER BY.", Cost: "some rewriting"},
			{Fix: "raise_memory_limit", Title: "Raise the heap and the limit", Told: "Raise `server.memory.heap.max_size` in neo4j.conf. The limit is 70 % of it by default.", Cost: "RAM"},
		},
		Sources: []string{"https://neo4j.com/docs/operations-manual/current/database-internals/transaction-management/", "https://neo4j.com/docs/status-codes/current/errors/gql-errors/51N73/"},
	}}, "MemoryPoolOutOfMemoryError", "TransactionOutOfMemoryError", "Neo.TransientError")

	SQLServer = server("sql-server", "SQL Server", nil, []cause.Card{{
		ID: "sql-server/pool", Kinds: refused, Said: []string{"insufficient system memory in resource pool"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of memory in its resource pool (error 701)",
		Means: "Everything that the server may use (`max server memory`, or the container's limit) was in use. In a container with 2 GB, the minimum, one large query, restore or index can be enough. The Express edition uses at most about 1.4 GB for its cache.",
		Not:   "Shrinking the database or its log: that frees disk, not memory.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise its memory limit", Ways: []cause.Way{
				{For: "Container", Text: "give it 4 GB or more, and set `MSSQL_MEMORY_LIMIT_MB` to 80 % of that"},
				{For: "Windows, Linux", Text: "`EXEC sp_configure 'show advanced options', 1; RECONFIGURE; EXEC sp_configure 'max server memory', 8192; RECONFIGURE;` (in MB: all but 4 GB of the RAM)"},
			}, Cost: "less for other programs"},
			{Fix: "lower_batch_size", Title: "Make the query smaller", Told: "Process rows in batches, and avoid huge IN lists or XML. Update statistics, so that memory grants are not too large.", Cost: "some rewriting"},
			{Fix: "restart_session", Title: "Check what uses the memory", Told: "Look at the largest rows of `sys.dm_os_memory_clerks`, or run `DBCC MEMORYSTATUS`.", Cost: "free"},
		},
		Sources: []string{"https://learn.microsoft.com/en-us/sql/relational-databases/errors-events/mssqlserver-701-database-engine-error"},
	}}, "insufficient system memory in resource pool")

	PHP = program.Program{Name: "php", Shown: "PHP", Edits: "admin", Language: "other",
		Proofs: []string{"PHP Fatal error:", "composer/src/Composer/", "Fatal error: Out of memory (allocated"},
		Cards: []cause.Card{{
			ID: "php/refused", Kinds: refused, Said: []string{"Out of memory (allocated"}, Unsaid: []string{"composer", "Composer"}, Figures: phpHeld,
			Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of memory on the server (memory_limit was not the reason)",
			Means: "\"Out of memory (allocated ...)\" means that the system refused memory[[ after {held}]]. PHP's own limit would say \"Allowed memory size exhausted\".[[ {narrow}]] Otherwise the server, container or hosting package has no more memory to give, often without swap.",
			Not:   "`memory_limit` in php.ini or by `ini_set`: that limit was not reached.",
			Cures: []cause.Cure{
				{If: phpNarrow, Fix: "upgrade_version", Title: "Use 64-bit PHP", Told: "`php -r \"echo PHP_INT_SIZE;\"` prints 8 for 64-bit and 4 for 32-bit PHP. On Windows use the x64 download, or a 64-bit XAMPP.", Cost: "an installation"},
				{Fix: "stream_dataset", Title: "Process the input in parts", Told: "Import a few thousand rows per run. In code use `fgetcsv` or a generator instead of `file()` and large arrays, and `unset` what you no longer need.", Cost: "more runs, or some rewriting"},
				{If: when.Not(onWindows), Fix: "add_swap", Title: "Add 2 GB of swap", Kind: "shell", Text: "sudo fallocate -l 2G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "2 GB of disk, and slow when used"},
				{Fix: "raise_memory_limit", Title: "Raise the memory of the server, container or package", Told: "Hosting packages limit each process (`ulimit -v`, LVE); php.ini does not show that.", Cost: "money"},
			},
			Sources: []string{"php-src/Zend/zend_alloc.c"},
		}, {
			ID: "php/composer", Kinds: refused, Said: []string{"mmap() failed: [12]", "tried to allocate"},
			Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of memory on the server (memory_limit was not the reason)",
			Means: "\"Out of memory (allocated ...)\" means that the system refused memory: the server or container has no RAM left, often without swap. Composer 1 needs 1 to 2 GB for `composer update`, Composer 2 far less.",
			Not:   "`memory_limit = -1` or `COMPOSER_MEMORY_LIMIT`: the system has no more to give.",
			Cures: []cause.Cure{
				{If: when.Not(onWindows), Fix: "add_swap", Title: "Add 2 GB of swap", Kind: "shell", Text: "sudo fallocate -l 2G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "2 GB of disk, and slow for a minute"},
				{Fix: "upgrade_version", Title: "Use Composer 2, and only install on the server", Told: "`composer self-update --2`. Run `composer update` on your own machine, commit composer.lock, and run only `composer install` on the server.", Cost: "free"},
				{Fix: "raise_memory_limit", Title: "Raise the memory of the server or container", Told: "2 GB are enough for Composer 1.", Cost: "money"},
			},
			Sources: []string{"https://getcomposer.org/doc/articles/troubleshooting.md"},
		}},
		Sources: program.Sources{"https://getcomposer.org/doc/03-cli.md": "--2"},
	}
)

// ofBreaker: Elasticsearch's message names that breaker.
func ofBreaker(name string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.Contains(name) }
}

// breaker is which of Elasticsearch's breakers refused, and what that tells.
func breaker(c *ledger.Case) map[string]string {
	switch {
	case c.Contains("[fielddata]"):
		return map[string]string{"full": "its field data is at its limit", "means": "Elasticsearch loads field data into the Java heap to sort or aggregate on text fields. It may take 40 % of the heap by default, and this request needs more. The rest of the heap need not be full."}
	case c.Contains("[request]"):
		return map[string]string{"full": "it needs more heap than one request may take", "means": "The structures that requests build, mostly aggregations with many buckets, may take 60 % of the Java heap by default. This request would exceed that. The rest of the heap need not be full."}
	case c.Contains("[parent]"):
		return map[string]string{"full": "its heap is nearly full", "means": "The parent breaker refuses requests before the Java heap overflows, usually at 95 % of -Xmx. The request itself is often tiny; the list after \"usages\" shows what fills the heap. Usual reasons: too many shards, field data, large aggregations or bulk requests, or a heap that is too small."}
	}
	return map[string]string{"full": "it would take too much of the heap", "means": "A circuit breaker refuses requests before the Java heap overflows. The message names it, with its limit. Usual reasons: large aggregations or bulk requests, field data, too many shards, or a heap that is too small."}
}

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
		out["narrow"] = "A 32-bit PHP fails at about that size (below 2 GB), however much RAM there is."
	}
	return out
}
