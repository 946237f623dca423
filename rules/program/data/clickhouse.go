package data

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// clickHouseTotal is the server's limit, in the words of old and new releases.
var clickHouseTotal = []string{"Memory limit (total) exceeded", "(total) memory limit exceeded"}

// clickHouseCounted is what "would use" states (what the server counts, the new
// piece with it), and what the process held.
func clickHouseCounted(c *ledger.Case) map[string]string {
	told := map[string]string{"counted": "", "resident": ""}
	if n := ledger.Sized(c, "clickhouse_counted"); n > 0 {
		told["counted"] = units.Amount(n)
	}
	if c.F().ProcessUsed != nil {
		told["resident"] = units.Amount(c.F().ProcessUsed.Bytes)
	}
	return told
}

// fewerMerges: mutations wait for so many free places in the pool that a small
// pool needs these as well.
const fewerMerges = "In config.xml set `background_pool_size` to 4, and in its `merge_tree` part `number_of_free_entries_in_pool_to_execute_mutation`, `..._to_lower_max_size_of_merge` and `..._to_execute_optimize_entire_partition` to 2, or mutations never start."

// roomyServer: a limit at which no cache of the server is too large.
func roomyServer(c *ledger.Case) bool {
	return c.F().Limit != nil && c.F().Limit.Bytes >= 24*units.GiB
}

var clickHouseSources = []string{"ClickHouse/src/Common/MemoryTracker.cpp", "https://clickhouse.com/docs/operations/server-configuration-parameters/settings"}

// clickHouseChunk is one piece that is larger than the limit by itself.
var clickHouseChunk = cause.Card{
	ID: "clickhouse/one-piece", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"attempt to allocate chunk of"},
	If:    func(c *ledger.Case) bool { return c.F().Limit != nil && ledger.Requested(c) > c.F().Limit.Bytes },
	Cause: cause.OversizedAllocation, Weight: cause.Decisive,
	Headline: "refused a single allocation of {asked}: its limit is {limit}",
	Means:    "One step of the query wants {asked} at once, so other queries are not the reason. Usual reasons: a function that builds long strings or arrays (`range`, `repeat`, `groupArray`), one huge value in the input, or a hash table with too many keys.",
	Not:      "A restart, or fewer queries at once: this allocation alone is above the limit.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "Limit what that step creates", Cost: "some rewriting", Told: "The end of the message names the step (\"while executing\", \"In scope\"). Check the argument that sets its length, and give `groupArray` a maximum: `groupArray(1000)(x)`."},
		{Fix: "lower_batch_size", Title: "Work on fewer rows at once", Cost: "slower", Told: "For steps that build long values per row: `SET max_block_size = 8192;`. For hash tables: add a filter, or query one range of keys at a time."},
	},
	Sources: clickHouseSources,
}

// clickHouseResident is a process that holds more than the server counts: newer
// releases hold the limit against both, see will_be_rss.
var clickHouseResident = cause.Card{
	ID: "clickhouse/resident", Kinds: []fact.Kind{fact.NativeAlloc}, Said: clickHouseTotal, Figures: clickHouseCounted,
	If: func(c *ledger.Case) bool {
		n, f := ledger.Sized(c, "clickhouse_counted"), c.F()
		return n > 0 && f.Limit != nil && f.ProcessUsed != nil && f.ProcessUsed.Bytes > f.Limit.Bytes/10*9 && n < f.ProcessUsed.Bytes/4*3 && n < f.Limit.Bytes
	},
	Cause: cause.SoftwareBug, Weight: cause.Decisive,
	Headline: "refuses queries: its process holds {resident} of RAM, above its limit of {limit}",
	Means:    "By its own count ClickHouse uses only {counted} (\"would use\"). But the limit also applies to what the process really holds (\"current RSS\"), and that is full: the allocator keeps memory, or this version counts wrongly. So the query in the message is not the reason.",
	Not:      "A smaller query: any query may be refused.",
	Cures: []cause.Cure{
		{Fix: "upgrade_version", Title: "Restart the server, then update it", Cost: "a restart", Told: "The restart frees the memory at once. Then install the newest patch of your release (`SELECT version()` shows it). Version 24.11.1 is known to count wrongly: use 24.11.3 or later."},
		{Fix: "empty_cache", Title: "Find out what holds it, and release it", Cost: "free", Told: "If `jemalloc.resident` is far above `jemalloc.allocated`, the allocator keeps it. The last line releases that:", Kind: "config", Text: "SELECT metric, formatReadableSize(value) FROM system.asynchronous_metrics\nWHERE metric IN ('MemoryResident', 'jemalloc.allocated', 'jemalloc.resident');\nSYSTEM JEMALLOC PURGE;"},
		{Fix: "raise_memory_limit", Title: "If the machine has more RAM, raise the limit", Cost: "less for other programs", Told: "`max_server_memory_usage` in config.xml, in bytes (0 means `max_server_memory_usage_to_ram_ratio` of the RAM). Without the other steps it fills up again."},
	},
	Sources: append([]string{"https://github.com/ClickHouse/ClickHouse/issues/74962", "https://github.com/ClickHouse/ClickHouse/issues/98963"}, clickHouseSources...),
	Solved:  1,
}
