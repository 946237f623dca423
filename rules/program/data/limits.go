package data

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// limited is a service whose one card is about a limit of its own.
func limited(name, shown string, proofs []string, k cause.Card) program.Program {
	k.ID, k.Kinds, k.Said, k.Cause, k.Weight, k.Figures = name+"/limit", refused, proofs, cause.BudgetMisconfigured, cause.Decisive, bounded
	p := server(name, shown, nil, []cause.Card{k}, proofs...)
	p.Useless, p.Remedies = ownLimit, first(k)
	return p
}

// Query engines that end a statement at a limit of their own.
var (
	ArangoDB = limited("arangodb", "ArangoDB", []string{"query would use more memory than allowed"}, cause.Card{
		Headline: "stopped a query at its memory limit",
		Means:    "Each AQL query has a limit (`--query.memory-limit`, about 60 % of RAM by default), and so have all queries together (`--query.global-memory-limit`). COLLECT, SORT and variables keep all their documents in memory.",
		Not:      "Only more RAM, if the limit is set to a number.",
		Cures: []cause.Cure{
			told("fix_shape", "Keep fewer documents in memory", "some rewriting", "Use FILTER and LIMIT before SORT and COLLECT, and RETURN only the attributes that you need. For large results use a streaming cursor (`stream: true`)."),
			told("raise_memory_limit", "Raise the limit for this query", "less for other queries", "Set the query's option `memoryLimit` (in bytes, not above the server's limit), or start the server with a larger `--query.memory-limit`."),
		},
		Sources: []string{"https://docs.arangodb.com/stable/components/arangodb-server/options/", "https://docs.arangodb.com/stable/aql/how-to-invoke-aql/with-arangosh/"},
	})

	YDB = limited("ydb", "YDB", []string{"Mkql memory limit exceeded"}, cause.Card{
		Headline: "stopped a query at its memory limit[[ ({bound})]]",
		Means:    "Each part of a query may use only so much memory on its node. The message states the limit, not what the query needs. The node itself need not be short of memory.",
		Cures: []cause.Cure{
			told("fix_shape", "Make the query smaller", "some rewriting", "Read fewer columns, and one range of keys at a time. Filter before joins, and page through large results by key."),
			told("raise_memory_limit", "Raise the limit, if the cluster is yours", "less for other queries", "It is under `table_service_config`, `resource_manager` in the node's configuration. In a managed service choose larger nodes."),
		},
		Sources: []string{"https://ydb.tech/docs/en/reference/configuration/table_service_config"},
	})

	Impala = limited("impala", "Impala", []string{"Query Status: Memory limit exceeded"}, cause.Card{
		Headline: "stopped a query at a memory limit",
		Means:    "On one node the query reached its own limit (`MEM_LIMIT`, or its pool's) or the limit of the whole daemon (`--mem_limit`). The lines after the message name which, and the operator that held the most. The usual reason is a join of tables without statistics.",
		Cures: []cause.Cure{
			told("fix_shape", "Give the planner statistics", "some minutes", "Run `COMPUTE STATS` for each table of the query. EXPLAIN then shows whether a large table is still broadcast."),
			told("raise_memory_limit", "Raise the query's limit", "less for other queries", "Run `SET MEM_LIMIT=8g;` before it: below the daemon's limit and the pool's maximum."),
			told("lower_num_workers", "Run fewer queries at once", "waiting", "Use admission control: a pool with a maximum number of running queries."),
		},
		Sources: []string{"https://impala.apache.org/docs/build/html/topics/impala_mem_limit.html", "https://impala.apache.org/docs/build/html/topics/impala_admission.html"},
	})

	HAWQ = limited("hawq", "HAWQ", []string{"insufficient memory reserved for statement"}, cause.Card{
		Headline: "refused a statement: too little memory is reserved for it",
		Means:    "The statement's reserved memory is less than its scans need; each Parquet table needs its own buffers. That is a setting: the machine may have more.",
		Cures: []cause.Cure{
			told("fix_shape", "Scan fewer Parquet tables or partitions", "some rewriting", "Name the partitions in the WHERE clause. Or split the statement, and keep intermediate results in tables."),
			told("raise_memory_limit", "Reserve more for the statement", "fewer statements at once", "Allow fewer active statements in its resource queue: each one then gets a larger share."),
		},
		Sources: []string{"https://github.com/apache/hawq"},
	})

	BigQuery = limited("bigquery", "BigQuery", []string{"could not be executed in the allotted memory", "Resources exceeded during query execution"}, cause.Card{
		Headline: "stopped the query: one step needed more memory than a worker has",
		Means:    "Usually that is a step that runs on a single worker: ORDER BY over everything, a window without PARTITION BY, ARRAY_AGG or STRING_AGG of a huge group, or a join on a key that repeats very often.",
		Not:      "More RAM on your computer: the query runs in Google's cloud.",
		Cures: []cause.Cure{
			told("fix_shape", "Split up the step that runs on one worker", "some rewriting", "Remove the outer ORDER BY, or add LIMIT. Add PARTITION BY to the window. Count the rows per key first, and process the most frequent keys separately."),
			told("stream_dataset", "Process it in parts", "several queries", "Query one range of dates or keys at a time, or write the earlier steps into a table first."),
		},
		Sources: []string{"https://cloud.google.com/bigquery/docs/troubleshoot-queries"},
	})
)
