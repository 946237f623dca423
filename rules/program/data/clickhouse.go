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
const fewerMerges = "`background_pool_size` 4 in config.xml, and with it 2 for `number_of_free_entries_in_pool_to_execute_mutation`, `..._to_lower_max_size_of_merge` and `..._to_execute_optimize_entire_partition` in its `merge_tree` part, or mutations would never start."

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
	Headline: "refused one piece of {asked}: larger than its whole limit of {limit}",
	Means:    "One step of the query wants {asked} in one piece, whatever else runs. A function that makes long strings or arrays (`range`, `repeat`, `randomString`, `groupArray`), a huge value in the input, or a hash table of too many keys asks like that.",
	Not:      "A restart, or fewer queries at once: the piece alone exceeds the limit.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "Bound what that step makes", Cost: "some rewriting", Told: "The end of the message names the step (\"while executing\", \"In scope\"). Check the argument that sets its length; give `groupArray` a maximum (`groupArray(1000)(x)`)."},
		{Fix: "lower_batch_size", Title: "Work on fewer rows at once", Cost: "slower", Told: "`SET max_block_size = 8192;` for steps that make long values a row; a filter, or a range of keys a query, for hash tables."},
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
	Headline: "refuses queries: its process holds {resident} of RAM, its limit is {limit}",
	Means:    "It counts only {counted} itself (\"would use\", the new piece included). The limit is held against what the process holds as well (\"current RSS\"), and that is what is full: memory that its allocator keeps, or that this version counts wrongly. So the query in the message is not the reason, and any other may be refused too.",
	Not:      "A smaller query.",
	Cures: []cause.Cure{
		{Fix: "upgrade_version", Title: "Restart the server, then update it", Cost: "a restart", Told: "The restart frees it at once. Then take the newest patch of your release (`SELECT version()`). For 24.11.1 its makers say that it counts wrongly, and to take 24.11.3 or later."},
		{Fix: "empty_cache", Title: "See what holds it, and give it back", Cost: "free", Told: "If `jemalloc.resident` is far above `jemalloc.allocated`, the allocator keeps it:", Kind: "config", Text: "SELECT metric, formatReadableSize(value) FROM system.asynchronous_metrics\nWHERE metric IN ('MemoryResident', 'jemalloc.allocated', 'jemalloc.resident');\nSYSTEM JEMALLOC PURGE;"},
		{Fix: "raise_memory_limit", Title: "If the machine has more: raise the limit", Cost: "less for other programs", Told: "`max_server_memory_usage` in config.xml (bytes; 0: `max_server_memory_usage_to_ram_ratio` of the RAM). Without a cure of the cause it fills again."},
	},
	Sources: append([]string{"https://github.com/ClickHouse/ClickHouse/issues/74962", "https://github.com/ClickHouse/ClickHouse/issues/98963"}, clickHouseSources...),
	Solved:  1,
}
