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
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "reached its own memory limit[[ ({bound})]]",
			Means: "DuckDB uses at most 80 % of RAM, or `memory_limit` if set, and moves data to disk beyond that. It fails if it cannot: blocks in use by each thread, `string_agg` and `list` have to stay in memory, and without a `temp_directory` nothing can be moved.[[ With what is in use, this piece takes {least}.]]",
			Not:   "Swap: the limit is DuckDB's own.",
			Cures: []cause.Cure{
				{Fix: "raise_memory_limit", If: tightLimit, Title: "Raise `memory_limit`", Told: "{limit} is little for one query: each thread needs blocks and read buffers that cannot move to disk. `SET memory_limit = '4GB';`, if the machine or container has it.", Cost: "less for other programs"},
				{Fix: "lower_num_workers", Title: "Use fewer threads, and allow it to use the disk", Kind: "config", Text: "SET threads = 2;\nSET preserve_insertion_order = false;\nSET temp_directory = '/tmp/duckdb_spill';", Cost: "slower"},
				{Fix: "raise_memory_limit", If: when.Not(tightLimit), Title: "Raise `memory_limit`, if RAM is free", Told: "`SET memory_limit = '{raised}';`, but at most 80 % of the RAM or of the container's limit (which old versions do not see). If the system then kills it, use 50 %.", Cost: "less for other programs"},
				{Fix: "stream_dataset", Title: "Process the query in parts", Told: "Use `COPY (SELECT ...) TO 'out.parquet'` instead of a large result or `CREATE TABLE`. Join or aggregate one range of keys at a time, and select fewer columns before a sort. For JSON lower `maximum_object_size`.", Cost: "some rewriting"},
			},
			Figures: duckBound,
			Sources: []string{"https://duckdb.org/docs/stable/guides/troubleshooting/oom_errors", "duckdb/src/storage/standard_buffer_manager.cpp"},
		}}}

	Trino = server("trino", "Trino", nil, []cause.Card{{
		ID: "trino/query", Kinds: refused, Said: []string{"exceeded per-node", "exceeded distributed", "ExceededMemoryLimitException", "EXCEEDED_LOCAL_MEMORY_LIMIT", "EXCEEDED_GLOBAL_MEMORY_LIMIT"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "stopped the query at its memory limit[[ ({bound})]]",
		Means: "A query may use only so much memory on each worker (`query.max-memory-per-node`, default 30 % of the heap) and in the whole cluster (`query.max-memory`, default 20 GB). If the message lists \"Top Consumers\", they name the reason: HashBuilder is the right side of a join, Aggregation or Window a group with many keys.",
		Not:   "Only a larger Java heap: the query limit has to be raised as well.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Make the join or group smaller", Told: "Put the smaller table on the right, filter and select columns first, and run `ANALYZE` on the tables. If a large table was broadcast: `SET SESSION join_distribution_type = 'PARTITIONED'`. Use `approx_distinct` for COUNT(DISTINCT).", Cost: "some rewriting"},
			{Fix: "raise_memory_limit", Title: "Raise the memory limit of queries", Kind: "config", Text: "# etc/config.properties of all nodes, then restart\nquery.max-memory-per-node=8GB\nquery.max-memory=40GB", Told: "Together with `memory.heap-headroom-per-node` the first has to stay below -Xmx.", Cost: "fewer queries at once"},
			{Fix: "cpu_offload", Title: "Allow spilling to disk, or task retries", Told: "`spill-enabled=true`, with `spiller-spill-path` on a fast disk. Or `retry-policy=TASK`: the limit per query does not apply then.", Cost: "slower"},
		},
		Figures: bounded,
		Sources: []string{"https://trino.io/docs/current/admin/properties-resource-management.html", "https://trino.io/docs/current/admin/spill.html"},
	}}, "io.trino.", "com.facebook.presto", "ExceededMemoryLimitException", "EXCEEDED_LOCAL_MEMORY_LIMIT", "EXCEEDED_GLOBAL_MEMORY_LIMIT")

	Doris = server("starrocks", "StarRocks or Doris", nil, []cause.Card{{
		ID: "starrocks/limit", Kinds: refused, Said: []string{"exec_mem_limit", "exceed the limit of", "query_mem_limit"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "stopped a query at {whose} memory limit[[ ({bound})]]",
		Means: "{means}",
		Not:   "The frontend's Java heap: the backend is another process.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", If: ofBackend, Title: "Run less at once", Told: "Run fewer parallel loads and queries (lower `parallel_fragment_exec_instance_num` or `pipeline_dop`) and smaller load batches. If that is not enough, add RAM.", Cost: "time"},
			{Fix: "raise_memory_limit", If: when.Not(ofBackend), Title: "Raise the query's limit", Kind: "config", Text: "SET exec_mem_limit = 8589934592;   -- Doris\nSET query_mem_limit = 8589934592;  -- StarRocks", Cost: "less for other queries"},
			{Fix: "cpu_offload", Title: "Allow spilling to disk", Told: "`SET enable_spill = true;` (StarRocks 3.0 and later, Doris 3).", Cost: "slower"},
			{Fix: "lower_batch_size", Title: "Make the query smaller", Told: "Select fewer columns, filter before the join, and put the smaller table on its right side. Load one partition or day at a time.", Cost: "some rewriting"},
		},
		Figures: queryOrBackend,
		Sources: []string{"https://docs.starrocks.io/docs/administration/management/resource_management/Memory_management", "https://docs.starrocks.io/docs/administration/management/resource_management/spill_to_disk/"},
	}}, "exec_mem_limit", "exceed the limit of BE", "query_mem_limit")

	Gluten = server("gluten", "Spark with Gluten", nil, []cause.Card{{
		ID: "gluten/off-heap", Kinds: refused, Said: []string{"Not enough spark off-heap execution memory", "ThrowOnOomMemoryTarget"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "used up the executor's off-heap memory[[ of {pool}]]",
		Means: "Velox computes outside the Java heap, within `spark.memory.offHeap.size`[[: {pool} for all tasks of an executor, a fair share of {task} for each]].[[ {worst} holds {held} of it{alone}.]] The stats below the message name the operator. A shuffle reader or a sort points to one partition that is too large (skew, or merged partitions).",
		Not:   "A larger Java heap (`spark.executor.memory`, -Xmx): this memory is outside it.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise `spark.memory.offHeap.size`", Kind: "config", Text: "spark.memory.offHeap.size={twice}\nspark.executor.memory=4g", Told: "The container has to hold this pool, the heap and the overhead; Gluten needs little heap:", Cost: "fewer executors on a node"},
			{Fix: "lower_batch_size", Title: "Use smaller partitions", Kind: "config", Text: "spark.sql.shuffle.partitions=1000\nspark.sql.adaptive.advisoryPartitionSizeInBytes=64m\nspark.sql.adaptive.skewJoin.enabled=true", Told: "On the stage's page in Spark's UI compare the largest task's input with the median. If it is far above, the key is skewed: salt or filter it.", Cost: "more tasks"},
			{Fix: "lower_num_workers", Title: "Run fewer tasks at a time", Told: "Halve `spark.executor.cores`: each task then gets twice the share. It helps little if one task holds all.", Cost: "slower"},
			{Fix: "upgrade_version", Title: "Update Gluten", Told: "Newer releases let shuffle readers spill. As a test set `spark.gluten.enabled=false` for this query.", Cost: "an upgrade"},
		},
		Figures: glutenFigures,
		Sources: []string{"https://apache.github.io/incubator-gluten/developers/VeloxDynamicSizingOffheap.html", "gluten/gluten-core/src/main/java/org/apache/gluten/memory/memtarget/ThrowOnOomMemoryTarget.java"},
	}}, "org.apache.gluten", "ThrowOnOomMemoryTarget", "spark.gluten.")

	ImageMagick = program.Program{Name: "imagemagick", Shown: "ImageMagick", Edits: "flags", Language: "other",
		Proofs: []string{"cache resources exhausted", "magick: ", "convert-im6"},
		Cards: []cause.Card{{
			ID: "imagemagick/policy", Kinds: refused, Said: []string{"cache resources exhausted"},
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "reached a limit of its policy file (cache resources exhausted)",
			Means: "Linux distributions ship a `policy.xml` with low limits: often 256 MiB of memory, 512 MiB of map, 1 GiB of disk and 16,000 pixels of width and height. An image takes width x height x 8 bytes (16 in HDRI builds), and a PDF or GIF that for each page. The machine may have plenty.",
			Not:   "A larger `-limit`: it cannot exceed the policy.",
			Cures: []cause.Cure{
				{Fix: "raise_memory_limit", Title: "Raise the limits in policy.xml", Told: "`identify -list policy` names the file (usually /etc/ImageMagick-6/policy.xml or /etc/ImageMagick-7/policy.xml). Change these lines in it:", Kind: "config", Text: "<policy domain=\"resource\" name=\"memory\" value=\"2GiB\"/>\n<policy domain=\"resource\" name=\"map\" value=\"4GiB\"/>\n<policy domain=\"resource\" name=\"disk\" value=\"16GiB\"/>\n<policy domain=\"resource\" name=\"width\" value=\"64KP\"/>\n<policy domain=\"resource\" name=\"height\" value=\"64KP\"/>", Cost: "RAM and space in /tmp"},
				{Fix: "lower_batch_size", Title: "Convert page by page, or at a lower density", Told: "Name one page at a time: `file.pdf[0]`, `file.pdf[1]`. Half the `-density` leaves a quarter of the pixels.", Cost: "detail"},
				{Fix: "lower_resolution", Title: "Read a JPEG at a smaller size", Told: "Put `-define jpeg:size=2000x2000` before the file name: that is enough for a result of that size.", Cost: "detail"},
			},
			Sources: []string{"https://imagemagick.org/script/security-policy.php", "ImageMagick/MagickCore/cache.c"},
		}},
		Sources: program.Sources{"https://imagemagick.org/script/command-line-options.php": "-list -limit -density -define"},
	}
)

// ofBackend: StarRocks' or Doris' whole process was at its limit.
func ofBackend(c *ledger.Case) bool {
	return c.Contains("of process") || c.Contains("process memory") || c.Contains("process limit")
}

// queryOrBackend says whose limit a query of StarRocks or Doris reached.
func queryOrBackend(c *ledger.Case) map[string]string {
	out := bounded(c)
	out["whose"], out["means"] = "its own", "The backend limits each query (`exec_mem_limit` in Doris, `query_mem_limit` in StarRocks). The machine may have had more. Joins and aggregations with many keys need the most."
	if ofBackend(c) {
		out["whose"], out["means"] = "the whole backend's", "The backend process reached its own limit (`mem_limit`, default 90 % of RAM). Loads, compaction and all queries share it, so this query need not be the largest."
	}
	return out
}
