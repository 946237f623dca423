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
		literals: []string{"Java heap space", "GC overhead limit exceeded", "OutOfMemoryError: Direct buffer memory", "OutOfMemoryError: Metaspace", "JVM Metaspace is exhausted", "java.lang.OutOfMemoryError"},
		when:     func(m text.Message) bool { return !m.Follows("nativethread", 80) },
		id:       "java_heap", title: "A Java program reached the limit of its own heap (-Xmx), not the machine's or the card's.",
		by: [][2]string{
			{"directbuffermemory", "Raise `-XX:MaxDirectMemorySize=2g`, which is as large as -Xmx unless set; it counts beside the heap. Netty, Spark's shuffles and NIO keep buffers there: if it only climbs, one is not given back."},
			{"metaspace", "Raise `-XX:MaxMetaspaceSize=1g` (Gradle: in `org.gradle.jvmargs`, then `./gradlew --stop`; Maven: `MAVEN_OPTS`). It holds classes, not data: if it climbs with each build or redeployment, class loaders are kept; restart the daemon or server."},
			{"gradle", "`org.gradle.jvmargs=-Xmx4g -XX:MaxMetaspaceSize=1g` in `~/.gradle/gradle.properties` (or the project's, whose other flags the line must keep), then `./gradlew --stop` and build again. Without it the daemon has 512 MB for all modules that it compiles. Still full: `--max-workers=2`. Tests have a JVM of their own: `test { maxHeapSize = \"2g\" }`. GRADLE_OPTS does not reach the daemon. Leave a quarter of the RAM to the rest."},
			{"org.apache.maven", "`MAVEN_OPTS=-Xmx4g` for Maven itself; tests run in a JVM of their own: `<argLine>-Xmx2g</argLine>` of surefire; the compiler: `<fork>true</fork>` with `<maxmem>`."},
			{"net.minecraft", "Minecraft: 4 to 6 GB in the launcher (JVM arguments `-Xmx6G`; Prism, CurseForge: Java settings), a server `java -Xmx6G -jar server.jar nogui`; not above half of the RAM. Then a lower render distance, fewer mods; grows over hours: a mod keeps chunks."},
			{"org.elasticsearch", "A file in config/jvm.options.d with `-Xms8g` and `-Xmx8g`, at half of the RAM and 31g at most; then fewer shards, smaller aggregations (`size`, `search.max_buckets`) and bulk requests."},
			{"kafka", "`KAFKA_HEAP_OPTS=\"-Xmx4g -Xms4g\"` before the start script; clients: smaller `fetch.max.bytes`, `max.poll.records`, `buffer.memory`. A client without TLS on a TLS port reads nonsense as a size and fails like this at once: check `security.protocol`."},
			{"ij.plugin", "ImageJ, Fiji: Edit, Options, Memory & Threads: three quarters of the RAM, then restart. Open large stacks as virtual stacks (`Use virtual stack` at the import), duplicate less, close what is done."},
		},
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
		literals: []string{"CONTEXT_LOST_WEBGL", "WebGLRenderer: Context Lost", "WebGL context was lost", "WebGL context lost"},
		when:     nothingElseFailed,
		id:       "webgl_lost", title: "The browser took the page's graphics context away and does not say why: as a rule graphics memory, above all on phones and integrated cards, else a driver that was reset or many live pages. Errors behind it (a width of 0, no shader) only follow.", quoted: true,
		advice: "Somebody else's page: close other tabs with 3D, update browser and driver, try another browser. Your own: fewer and compressed textures (KTX2), a lower pixel ratio (`setPixelRatio(1)`; Cesium `viewer.resolutionScale = 0.75`), a smaller tile cache (Cesium `tileset.cacheBytes`, `maximumScreenSpaceError = 32`), dispose of what is gone, one context a page; on `webglcontextlost` call `preventDefault()` and build the scene anew.",
	},
	{
		literals: []string{"the function failed to launch on the GPU"},
		when:     nothingElseFailed,
		id:       "launch_failed", title: "A kernel could not be started on the card; memory is not named. Either this build and the card do not go together, or the input is so large that a launch or a library's work space beside JAX's pool did not fit.", quoted: true,
		advice: "Run the smallest input first. It fails as well: driver, card and build (AlphaFold 3 on a card before Ampere: `--flash_attention_implementation=xla`; `nvidia-smi`, and `dmesg | grep -i xid`). Only the large one fails: leave room beside the pool (`XLA_CLIENT_MEM_FRACTION=0.85`), `--flash_attention_implementation=xla`, fewer tokens, or a newer version.",
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
