package data

import (
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/when"
)

// duckBound is bounded with half more than the limit, and with what the refused
// piece and what is in use come to where that is above it.
func duckBound(c *ledger.Case) map[string]string {
	told, f := bounded(c), c.F()
	if told["raised"] = "12GB"; f.Limit != nil { // DuckDB's GB are powers of ten
		told["raised"] = strconv.FormatInt((f.Limit.Bytes*3/2+1e9-1)/1e9, 10) + "GB"
	}
	if told["least"] = ""; f.ProcessUsed != nil && f.Requested != nil && f.Limit != nil && f.ProcessUsed.Bytes+f.Requested.Bytes > f.Limit.Bytes/100*101 {
		told["least"] = units.Amount(f.ProcessUsed.Bytes + f.Requested.Bytes)
	}
	return told
}

// tightLimit: less than what the blocks of a few threads take.
func tightLimit(c *ledger.Case) bool { return c.F().Limit != nil && c.F().Limit.Bytes < 2*units.GiB }

// Query engines, which end a query at a limit of their own.
var (
	DuckDB = program.Program{Name: "duckdb", Shown: "DuckDB", Work: "data", Edits: "code", Language: "python",
		Proofs: []string{"duckdb.OutOfMemoryException", "OutOfMemoryException: Out of Memory Error", "Out of Memory Error: could not allocate block", "Out of Memory Error: failed to pin block", "Out of Memory Error: failed to allocate", "Out of Memory Error: Failed to change memory limit", "duckdb::"},
		Cards: []cause.Card{{
			ID: "duckdb/limit", Kinds: refused, Said: []string{"failed to pin block", "could not allocate block", "failed to offload data block", "Out of Memory Error"},
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "reached its own memory limit[[: {bound}]]",
			Means: "DuckDB uses at most 80 % of RAM unless `memory_limit` says otherwise, and spills to disk beyond that. It fails if something cannot spill (blocks in use by each thread, `string_agg` and `list`, many blocking operators at once) or if no `temp_directory` is set.[[ With what is in use, this piece takes {least}.]]",
			Not:   "Swap: the limit is DuckDB's own.",
			Cures: []cause.Cure{
				{Fix: "raise_memory_limit", If: tightLimit, Title: "Raise `memory_limit`", Told: "{limit} is little for one query: each thread holds blocks and read buffers that cannot spill. `SET memory_limit = '4GB';` if the machine or container has it.", Cost: "less for other programs"},
				{Fix: "lower_num_workers", Title: "Use fewer threads, allow spilling", Kind: "config", Text: "SET threads = 2;\nSET preserve_insertion_order = false;\nSET temp_directory = '/tmp/duckdb_spill';", Cost: "Slower"},
				{Fix: "raise_memory_limit", If: when.Not(tightLimit), Title: "Raise `memory_limit`, if RAM is free", Told: "`SET memory_limit = '{raised}';`, up to 80 % of the RAM or of the container's limit (which old versions do not see). If the system then kills it, lower it to 50 %.", Cost: "Less for other programs"},
				{Fix: "stream_dataset", Title: "Process the query in parts", Told: "`COPY (SELECT ...) TO 'out.parquet'` instead of a large result or `CREATE TABLE`; a join or aggregate by ranges of its key; fewer columns before a sort. JSON: `maximum_object_size` sets the size of its buffers.", Cost: "Some rewriting"},
			},
			Figures: duckBound,
			Sources: []string{"https://duckdb.org/docs/stable/guides/troubleshooting/oom_errors", "duckdb/src/storage/standard_buffer_manager.cpp"},
		}}}

	Trino = server("trino", "Trino", nil, []cause.Card{{
		ID: "trino/query", Kinds: refused, Said: []string{"exceeded per-node", "exceeded distributed", "ExceededMemoryLimitException", "EXCEEDED_LOCAL_MEMORY_LIMIT", "EXCEEDED_GLOBAL_MEMORY_LIMIT"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "ended the query at its memory limit[[: {bound}]]",
		Means: "A query may hold only so much user memory on each worker (`query.max-memory-per-node`, 30 % of the heap by default) and in the cluster (`query.max-memory`, 20 GB). \"Top Consumers\" in the message name the operator: HashBuilder is the right side of a join, Aggregation or Window means groups with many keys, one worker far above the others means a skewed key.",
		Not:   "More of Java's heap alone: the limit has to be raised with it.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Reduce the join or group", Told: "Put the smaller table on the right; `SET SESSION join_distribution_type = 'PARTITIONED'` if a large one was broadcast; filter and pick columns first; `ANALYZE` the tables; `approx_distinct` for COUNT(DISTINCT).", Cost: "Some rewriting"},
			{Fix: "raise_memory_limit", Title: "Raise the query limit", Kind: "config", Text: "# etc/config.properties of all nodes, then restart\nquery.max-memory-per-node=8GB\nquery.max-memory=40GB", Told: "With `memory.heap-headroom-per-node` it must stay below -Xmx.", Cost: "Fewer queries at once"},
			{Fix: "cpu_offload", Title: "Turn on spilling, or task retries", Told: "`spill-enabled=true` with `spiller-spill-path` on a fast disk; or `retry-policy=TASK`, to which the limit per query does not apply.", Cost: "Slower"},
		},
		Figures: bounded,
		Sources: []string{"https://trino.io/docs/current/admin/properties-resource-management.html", "https://trino.io/docs/current/admin/spill.html"},
	}}, "io.trino.", "com.facebook.presto", "ExceededMemoryLimitException", "EXCEEDED_LOCAL_MEMORY_LIMIT", "EXCEEDED_GLOBAL_MEMORY_LIMIT")

	Doris = server("starrocks", "StarRocks or Doris", nil, []cause.Card{{
		ID: "starrocks/limit", Kinds: refused, Said: []string{"exec_mem_limit", "exceed the limit of", "query_mem_limit"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "ended a query at its own memory limit[[: {bound}]]",
		Means: "The backend limits each query (`exec_mem_limit`, `query_mem_limit`) and its whole process (`mem_limit`, 90 % of RAM by default). The message names which: the limit of a query is raised in the session; the limit of the process is shared by loads, compaction and all queries.",
		Not:   "The frontend's Java heap: the backend is another process.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the query limit", Kind: "config", Text: "SET exec_mem_limit = 8589934592;   -- Doris\nSET query_mem_limit = 8589934592;  -- StarRocks", Cost: "Less for other queries"},
			{Fix: "cpu_offload", Title: "Turn on spilling", Told: "`SET enable_spill = true;` (StarRocks 3.0 and later, Doris 3).", Cost: "Slower"},
			{Fix: "lower_num_workers", Title: "If the process limit was reached: run fewer at once", Told: "Fewer parallel loads and queries (lower `parallel_fragment_exec_instance_num`, `pipeline_dop`), smaller load batches; then more RAM.", Cost: "Time"},
		},
		Figures: bounded,
		Sources: []string{"https://docs.starrocks.io/docs/administration/management/resource_management/Memory_management", "https://docs.starrocks.io/docs/administration/management/resource_management/spill_to_disk/"},
	}}, "exec_mem_limit", "exceed the limit of BE", "query_mem_limit")

	Gluten = server("gluten", "Spark with Gluten", nil, []cause.Card{{
		ID: "gluten/off-heap", Kinds: refused, Said: []string{"Not enough spark off-heap execution memory", "ThrowOnOomMemoryTarget"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "used up the executor's off-heap memory[[ of {pool}]]",
		Means: "Velox computes outside Java's heap, within `spark.memory.offHeap.size`[[: {pool} for all tasks of an executor, a fair share of {task} for each]].[[ {worst} holds {held} of it{alone}.]] The stats below the message name the operator: a shuffle reader or a sort that does not spill points to one partition that is too large (skew, or merged partitions).",
		Not:   "More of Java's heap (`spark.executor.memory`, -Xmx): the pool is outside it.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise `spark.memory.offHeap.size`", Kind: "config", Text: "spark.memory.offHeap.size={twice}\nspark.executor.memory=4g", Told: "The container must hold the pool, the heap and the overhead; Gluten needs little heap:", Cost: "Fewer executors on a node"},
			{Fix: "lower_batch_size", Title: "Use smaller partitions", Kind: "config", Text: "spark.sql.shuffle.partitions=1000\nspark.sql.adaptive.advisoryPartitionSizeInBytes=64m\nspark.sql.adaptive.skewJoin.enabled=true", Told: "In Spark's page of the stage compare the largest task's input with the median: far above means skew (salt or filter the key).", Cost: "More tasks"},
			{Fix: "lower_num_workers", Title: "Run fewer tasks at a time", Told: "Half of `spark.executor.cores` doubles the share of each task; it helps little if one task holds all.", Cost: "Slower"},
			{Fix: "upgrade_version", Title: "Update Gluten", Told: "Shuffle readers have learned to spill; as a test `spark.gluten.enabled=false` for this query.", Cost: "An upgrade"},
		},
		Figures: glutenFigures,
		Sources: []string{"https://apache.github.io/incubator-gluten/developers/VeloxDynamicSizingOffheap.html", "gluten/gluten-core/src/main/java/org/apache/gluten/memory/memtarget/ThrowOnOomMemoryTarget.java"},
	}}, "org.apache.gluten", "ThrowOnOomMemoryTarget", "spark.gluten.")

	ImageMagick = program.Program{Name: "imagemagick", Shown: "ImageMagick", Edits: "flags", Language: "other",
		Proofs: []string{"cache resources exhausted", "magick: ", "convert-im6"},
		Cards: []cause.Card{{
			ID: "imagemagick/policy", Kinds: refused, Said: []string{"cache resources exhausted"},
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "reached a limit of its policy (cache resources exhausted)",
			Means: "Distributions ship a `policy.xml` with low limits: memory 256 MiB, map 512 MiB, disk 1 GiB, width and height 16 thousand pixels. An image takes width x height x 8 bytes (16 in HDRI builds), a PDF or GIF that for each page. The machine may have plenty.",
			Not:   "A larger `-limit`: it cannot exceed the policy.",
			Cures: []cause.Cure{
				{Fix: "raise_memory_limit", Title: "Raise the limits in policy.xml", Told: "`identify -list policy` names the file (/etc/ImageMagick-6/policy.xml, -7). In it:", Kind: "config", Text: "<policy domain=\"resource\" name=\"memory\" value=\"2GiB\"/>\n<policy domain=\"resource\" name=\"map\" value=\"4GiB\"/>\n<policy domain=\"resource\" name=\"disk\" value=\"16GiB\"/>\n<policy domain=\"resource\" name=\"width\" value=\"64KP\"/>\n<policy domain=\"resource\" name=\"height\" value=\"64KP\"/>", Cost: "RAM and space in /tmp"},
				{Fix: "lower_batch_size", Title: "Convert page by page, at a lower density", Told: "`file.pdf[0]`, `[1]`, ... one at a time; half of the present `-density` is a quarter of the pixels.", Cost: "Detail"},
				{Fix: "lower_resolution", Title: "Read a JPEG at a smaller size", Told: "`-define jpeg:size=2000x2000` before its name: enough for a result of that size.", Cost: "Detail"},
			},
			Sources: []string{"https://imagemagick.org/script/security-policy.php", "ImageMagick/MagickCore/cache.c"},
		}},
		Sources: program.Sources{"https://imagemagick.org/script/command-line-options.php": "-list -limit -density -define"},
	}
)
