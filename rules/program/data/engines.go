package data

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// Query engines, which end a query at a limit of their own.
var (
	DuckDB = program.Program{Name: "duckdb", Shown: "DuckDB", Work: "data", Edits: "code", Language: "python",
		Proofs: []string{"duckdb.OutOfMemoryException", "OutOfMemoryException: Out of Memory Error", "Out of Memory Error: could not allocate block", "Out of Memory Error: failed to pin block", "Out of Memory Error: failed to allocate", "duckdb::"},
		Cards: []cause.Card{{
			ID: "duckdb/limit", Kinds: refused, Said: []string{"failed to pin block", "could not allocate block", "failed to offload data block", "Out of Memory Error"},
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
			Headline: "reached its own memory limit[[: {bound}]]",
			Means:    "DuckDB takes 80 % of RAM at most unless `memory_limit` says otherwise, and spills to disk beyond that. What cannot spill (a block that is in use in each thread, `string_agg` and `list`, many blocking operators at once) or finds no `temp_directory` (a database in memory has none to begin with in some programs) ends so.",
			Not:      "Swap: it is a limit of DuckDB's own.",
			Cures: []cause.Cure{
				{Fix: "lower_num_workers", Title: "Fewer threads, no insertion order, room to spill", Kind: "config", Text: "SET threads = 2;\nSET preserve_insertion_order = false;\nSET temp_directory = '/tmp/duckdb_spill';", Cost: "Slower"},
				{Fix: "raise_memory_limit", Title: "A higher limit, where RAM is free", Told: "`SET memory_limit = '12GB';`, up to 80 % of the RAM or of the container's limit (which old versions do not see). Killed by the system instead: lower it to 50 %.", Cost: "Less for other programs"},
				{Fix: "stream_dataset", Title: "In parts", Told: "`COPY (SELECT ...) TO 'out.parquet'` in place of a large result in Python or `CREATE TABLE`; a join or aggregate by ranges of its key; fewer columns before a sort.", Cost: "Some rewriting"},
			},
			Figures: bounded,
			Sources: []string{"https://duckdb.org/docs/stable/guides/troubleshooting/oom_errors", "duckdb/src/storage/standard_buffer_manager.cpp"},
		}}}

	Trino = server("trino", "Trino", nil, []cause.Card{{
		ID: "trino/query", Kinds: refused, Said: []string{"exceeded per-node", "exceeded distributed", "ExceededMemoryLimitException", "EXCEEDED_LOCAL_MEMORY_LIMIT", "EXCEEDED_GLOBAL_MEMORY_LIMIT"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
		Headline: "ended the query at its memory limit[[: {bound}]]",
		Means:    "One query may hold so much user memory on each worker (`query.max-memory-per-node`, 30 % of the heap unless set) and in the cluster (`query.max-memory`, 20 GB). \"Top Consumers\" in the message name the operator: HashBuilder is the right side of a join, Aggregation or Window groups with too many keys, and one worker far above the others a skewed key.",
		Not:      "More workers against the limit of one node where the key is skewed, or Java's heap alone: the limit has to follow.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Make the join or group smaller", Told: "The smaller table on the right; `SET SESSION join_distribution_type = 'PARTITIONED'` where a large one was broadcast; filter and pick columns before it; `ANALYZE` the tables; `approx_distinct` for COUNT(DISTINCT).", Cost: "Some rewriting"},
			{Fix: "raise_memory_limit", Title: "Raise the limit", Kind: "config", Text: "# etc/config.properties of all nodes, then restart\nquery.max-memory-per-node=8GB\nquery.max-memory=40GB", Told: "With `memory.heap-headroom-per-node` it must stay below -Xmx.", Cost: "Fewer queries at once"},
			{Fix: "cpu_offload", Title: "Let it spill, or retry in tasks", Told: "`spill-enabled=true` with `spiller-spill-path` on a fast disk for joins, sorts and aggregations; or `retry-policy=TASK`, to which the limit for a query does not apply.", Cost: "Slower"},
		},
		Figures: bounded,
		Sources: []string{"https://trino.io/docs/current/admin/properties-resource-management.html", "https://trino.io/docs/current/admin/spill.html"},
	}}, "io.trino.", "com.facebook.presto", "ExceededMemoryLimitException", "EXCEEDED_LOCAL_MEMORY_LIMIT", "EXCEEDED_GLOBAL_MEMORY_LIMIT")

	Doris = server("starrocks", "StarRocks or Doris", nil, []cause.Card{{
		ID: "starrocks/limit", Kinds: refused, Said: []string{"exec_mem_limit", "exceed the limit of", "query_mem_limit"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
		Headline: "ended a query at a memory limit of its own[[: {bound}]]",
		Means:    "The backend bounds each query (`exec_mem_limit`, `query_mem_limit`) and itself (`mem_limit`, 90 % of RAM unless set). Which one spoke stands in the message: the query's is raised in the session, the process's is shared by loads, compaction and all queries.",
		Not:      "Java's heap of the frontend: the backend is another process.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the limit of this query", Kind: "config", Text: "SET exec_mem_limit = 8589934592;   -- Doris\nSET query_mem_limit = 8589934592;  -- StarRocks", Cost: "Less for other queries"},
			{Fix: "cpu_offload", Title: "Let it spill", Told: "`SET enable_spill = true;` (StarRocks 3.0 and later, Doris 3).", Cost: "Slower"},
			{Fix: "lower_num_workers", Title: "The process's limit: fewer at once", Told: "Fewer parallel loads and queries (`parallel_fragment_exec_instance_num`, `pipeline_dop` lower), smaller load batches; then more RAM.", Cost: "Time"},
		},
		Figures: bounded,
		Sources: []string{"https://docs.starrocks.io/docs/administration/management/resource_management/Memory_management", "https://docs.starrocks.io/docs/administration/management/resource_management/spill_to_disk/"},
	}}, "exec_mem_limit", "exceed the limit of BE", "query_mem_limit")

	Gluten = server("gluten", "Spark with Gluten", nil, []cause.Card{{
		ID: "gluten/off-heap", Kinds: refused, Said: []string{"Not enough spark off-heap execution memory", "ThrowOnOomMemoryTarget"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
		Headline: "used up the executor's off-heap memory[[ of {pool}]]",
		Means:    "Velox computes outside Java's heap, within `spark.memory.offHeap.size`[[: {pool} for all tasks of an executor, {task} for each at a fair share]].[[ {worst} holds {held} of it{alone}.]] The stats name the operator below it: a shuffle reader or a sort that does not spill points to one partition that is too large (skew, or partitions that were merged).",
		Not:      "More of Java's heap (`spark.executor.memory`, -Xmx) or retries: the pool lies beside it.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "A larger pool, paid for by the heap", Kind: "config", Text: "spark.memory.offHeap.size={twice}\nspark.executor.memory=4g", Told: "The container must hold both and the overhead; Gluten needs little of the heap:", Cost: "Fewer executors on a node"},
			{Fix: "lower_batch_size", Title: "Smaller partitions", Kind: "config", Text: "spark.sql.shuffle.partitions=1000\nspark.sql.adaptive.advisoryPartitionSizeInBytes=64m\nspark.sql.adaptive.skewJoin.enabled=true", Told: "In Spark's page of the stage compare the largest task's input with the median: far above is skew (salt or filter the key).", Cost: "More tasks"},
			{Fix: "lower_num_workers", Title: "Fewer tasks at a time", Told: "`spark.executor.cores` at half: each task's share doubles; little help where one task holds all.", Cost: "Slower"},
			{Fix: "upgrade_version", Title: "A newer Gluten", Told: "Readers of shuffles have learned to spill; as a trial `spark.gluten.enabled=false` for this query.", Cost: "An upgrade"},
		},
		Figures: glutenFigures,
		Sources: []string{"https://apache.github.io/incubator-gluten/developers/VeloxDynamicSizingOffheap.html", "gluten/gluten-core/src/main/java/org/apache/gluten/memory/memtarget/ThrowOnOomMemoryTarget.java"},
	}}, "org.apache.gluten", "ThrowOnOomMemoryTarget", "spark.gluten.")

	ImageMagick = program.Program{Name: "imagemagick", Shown: "ImageMagick", Edits: "flags", Language: "other",
		Proofs: []string{"cache resources exhausted", "magick: ", "convert-im6"},
		Cards: []cause.Card{{
			ID: "imagemagick/policy", Kinds: refused, Said: []string{"cache resources exhausted"},
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
			Headline: "reached a limit of its own policy (cache resources exhausted)",
			Means:    "Distributions ship a `policy.xml` with low limits: memory 256 MiB, map 512 MiB, disk 1 GiB, width and height 16 thousand pixels. An image takes width x height x 8 bytes while it is worked on (16 in HDRI builds), a PDF or GIF that for each page at once. The machine may have plenty.",
			Not:      "More RAM, or `-limit` above the policy: the policy is the most that it can name.",
			Cures: []cause.Cure{
				{Fix: "raise_memory_limit", Title: "Raise the policy", Told: "`identify -list policy` names the file (/etc/ImageMagick-6/policy.xml, -7). In it:", Kind: "config", Text: "<policy domain=\"resource\" name=\"memory\" value=\"2GiB\"/>\n<policy domain=\"resource\" name=\"map\" value=\"4GiB\"/>\n<policy domain=\"resource\" name=\"disk\" value=\"16GiB\"/>\n<policy domain=\"resource\" name=\"width\" value=\"64KP\"/>\n<policy domain=\"resource\" name=\"height\" value=\"64KP\"/>", Cost: "RAM and space in /tmp"},
				{Fix: "lower_batch_size", Title: "Page by page, at fewer dots", Told: "`file.pdf[0]`, `[1]`, ... one at a time; a lower `-density` (150 in place of 300 is a quarter).", Cost: "Detail"},
			},
			Sources: []string{"https://imagemagick.org/script/security-policy.php", "ImageMagick/MagickCore/cache.c"},
		}},
		Sources: program.Sources{"https://imagemagick.org/script/command-line-options.php": "-list -limit -density"},
	}
)
