package lookalike

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Memory of other kinds: heaps of other runtimes, databases, quotas, contexts.
var runtimeDisguises = []disguise{
	{
		literals: []string{"Resource has been exhausted (e.g. check quota)", "insufficient_quota", "exceeded your current quota", "RESOURCE_EXHAUSTED: Quota", "Too Many Requests", "rate_limit_exceeded"},
		id:       "api_quota", title: "A quota or rate limit of an online service is used up. 'Resource exhausted' is its name for that; no memory is involved.",
		advice: "Wait and try again later, slow the requests down, or raise the quota of the account.",
	},
	{
		literals: []string{"JavaScript heap out of memory", "Reached heap limit Allocation failed"},
		explains: []fact.Kind{fact.ShellKilled},
		id:       "javascript_heap", title: "Node.js reached the limit of its own heap; the machine and the card may have plenty.",
		advice: "Raise it before the command: `NODE_OPTIONS=--max-old-space-size=8192` (MB, below the RAM; PowerShell: `$env:NODE_OPTIONS=\"--max-old-space-size=8192\"`). If it fills that as well, something in the program grows: a newer version, or less at a time.",
	},
	{
		literals: []string{"Java heap space", "GC overhead limit exceeded", "OutOfMemoryError: Direct buffer memory", "OutOfMemoryError: Metaspace", "java.lang.OutOfMemoryError"},
		when:     func(m text.Message) bool { return !m.Follows("nativethread", 80) },
		id:       "java_heap", title: "A Java program reached the limit of its own heap (-Xmx), not the machine's or the card's.",
		advice: "Raise it, if the machine has the RAM: `java -Xmx8g`; Gradle `org.gradle.jvmargs=-Xmx8g`; Spark `--driver-memory 8g` (collect, broadcast) or `--executor-memory 8g` (tasks), before the start; Metaspace `-XX:MaxMetaspaceSize=512m`. If it fills that as well: `-XX:+HeapDumpOnOutOfMemoryError` shows what is kept.",
	},
	{
		literals: []string{"Allowed memory size of"},
		when:     func(m text.Message) bool { return m.Follows("bytesexhausted", 60) },
		id:       "php_memory_limit", title: "A PHP script reached memory_limit, a setting of PHP.",
		advice: "Raise memory_limit in php.ini, or run `php -d memory_limit=1G script.php`.",
	},
	{
		literals: []string{"runtime: out of memory: cannot allocate", "fatal error: runtime: out of memory", "fatal error: out of memory"},
		when: func(m text.Message) bool {
			return m.Mentions("goroutine", "runtime:outofmemory") && !m.Mentions("errno=1455")
		},
		id: "go_heap", title: "A Go program was refused memory by the system: its own limit (ulimit -v, a cgroup), or a machine that is really short. The card is not involved.",
		advice: "Check `ulimit -v` and the container's limit; GOMEMLIMIT keeps the heap of a Go program small. If the machine is short, free memory there.",
	},
	{
		literals: []string{"stack overflow", "goroutine stack exceeds", "maximum recursion depth exceeded", "StackOverflowError", "has overflowed its stack"},
		id:       "stack_overflow", title: "A function calls itself without end: the stack is full, memory is not.",
		advice: "Look for the recursion in the trace; sys.setrecursionlimit only helps if the depth is really needed.",
	},
	{
		literals: []string{"OOM command not allowed when used memory", "Cannot map innodb_buffer_pool_size", "Memory overcommit must be enabled", "overcommit_memory is set to 0"},
		id:       "database_memory", title: "A database speaks of its own memory setting.",
		advice: "Redis: raise maxmemory or set maxmemory-policy allkeys-lru; its overcommit warning wants `sysctl vm.overcommit_memory=1`. MySQL: lower innodb_buffer_pool_size.",
	},
	{
		literals: []string{"Failed on request of size"},
		when:     func(m text.Message) bool { return m.Follows("memorycontext", 60) },
		id:       "database_memory", title: "PostgreSQL was refused memory for one query.",
		advice: "Lower what a query may take (`work_mem`, `hash_mem_multiplier`, `max_connections`), or look at the query named behind STATEMENT; if the machine itself was short, `free -h` and its kernel's log show it.",
	},
	{
		literals: []string{"max_locks_per_transaction"},
		id:       "database_memory", title: "PostgreSQL's table of locks is full, a setting of its own; `shared memory` is its name for it.",
		advice: "Raise max_locks_per_transaction in postgresql.conf (256, then restart), or lock fewer tables in one transaction.",
	},
	{
		literals: []string{"Array dimensions exceeded supported range"},
		id:       "absurd_shape", title: "A .NET array was to be longer than .NET allows, which it reports as OutOfMemoryException; the machine's memory was not asked.",
		advice: "Hold the data in several arrays, or find out where the length comes from: the first line of your own in the trace.",
	},
	{
		literals: []string{"Storage size calculation overflowed", "Trying to create tensor with negative dimension", "negative dimensions are not allowed", "seems to have been called with negative number", "array is too big"},
		id:       "absurd_shape", title: "A tensor was asked for with an impossible shape: a bug in how the shape is computed, not a lack of memory.",
		advice: "Print the shapes just before that line.",
	},
	{
		literals: []string{
			"failed to find a memory slot for batch of size", "failed to find free space in the KV cache", "KV cache is full", "NoKvSlot",
			"exceeds the available context size", "exceed context window of", "tokens. However, you requested", "input is too long to process",
		},
		id: "context_full", title: "The prompt and the answers no longer fit into the context that was reserved at the start; no memory was refused.",
		advice: "Start with a larger context (-c, num_ctx: it costs memory), lower the number of parallel slots, or shorten the prompt.",
	},
}
