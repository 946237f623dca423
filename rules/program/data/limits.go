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
		Headline: "ended a query at its memory limit",
		Means:    "Each AQL query has a limit (`--query.memory-limit`, about 60 % of RAM unless set), and so have all together (`--query.global-memory-limit`). COLLECT, SORT and results that are kept in variables are held as a whole.",
		Not:      "More RAM alone, where the limit is set to a number.",
		Cures: []cause.Cure{
			told("fix_shape", "Hold fewer documents at once", "some rewriting", "FILTER and LIMIT before SORT and COLLECT; RETURN only the attributes that are used; for large results a streaming cursor (`stream: true`)."),
			told("raise_memory_limit", "Raise the limit for this query", "less for other queries", "The query's option `memoryLimit` (bytes; not above the server's), or `--query.memory-limit` at the start of the server."),
		},
		Sources: []string{"https://docs.arangodb.com/stable/components/arangodb-server/options/", "https://docs.arangodb.com/stable/aql/how-to-invoke-aql/with-arangosh/"},
	})

	YDB = limited("ydb", "YDB", []string{"Mkql memory limit exceeded"}, cause.Card{
		Headline: "ended a query at its memory limit[[: {bound}]]",
		Means:    "A part of the query may hold only so much on its node[[, here {bound}]]. The message has the limit, not what the query needed; the node itself need not be short of memory.",
		Cures: []cause.Cure{
			told("fix_shape", "Make the query smaller", "some rewriting", "Read fewer columns and a range of keys at a time; filter before joins; page through large results by key."),
			told("raise_memory_limit", "Raise the limit, where the cluster is yours", "less for other queries", "It stands under `table_service_config`, `resource_manager`, of the node's configuration. In a managed service choose larger nodes."),
		},
		Sources: []string{"https://ydb.tech/docs/en/reference/configuration/table_service_config"},
	})

	Impala = limited("impala", "Impala", []string{"Query Status: Memory limit exceeded"}, cause.Card{
		Headline: "ended a query at a memory limit",
		Means:    "Either the query's own limit (`MEM_LIMIT`, or its pool's) or that of the whole daemon (`--mem_limit`) was reached on one node. The lines behind the message name which, and the operator that held most; joins without statistics are the usual one.",
		Cures: []cause.Cure{
			told("fix_shape", "Give the planner statistics", "some minutes", "`COMPUTE STATS` for each table of the query; then EXPLAIN shows whether a large table is still broadcast."),
			told("raise_memory_limit", "Raise the query's limit", "less for other queries", "`SET MEM_LIMIT=8g;` before it, below the daemon's limit and the maximum of the pool."),
			told("lower_num_workers", "Run fewer queries at once", "waiting", "Admission control (a pool with a maximum of running queries) keeps them from sharing too little."),
		},
		Sources: []string{"https://impala.apache.org/docs/build/html/topics/impala_mem_limit.html", "https://impala.apache.org/docs/build/html/topics/impala_admission.html"},
	})

	HAWQ = limited("hawq", "HAWQ", []string{"insufficient memory reserved for statement"}, cause.Card{
		Headline: "refused a statement: too little memory is reserved for it",
		Means:    "The statement's reserved memory does not cover the buffers that its scans need; each Parquet table takes its own. It is a setting, the machine may have more.",
		Cures: []cause.Cure{
			told("fix_shape", "Scan fewer Parquet tables or partitions", "some rewriting", "Name the partitions in the WHERE clause, or split the statement and keep results in tables between."),
			told("raise_memory_limit", "Reserve more for the statement", "fewer statements at once", "Its resource queue decides: fewer active statements there mean a larger share for each."),
		},
		Sources: []string{"https://github.com/apache/hawq"},
	})

	BigQuery = limited("bigquery", "BigQuery", []string{"could not be executed in the allotted memory", "Resources exceeded during query execution"}, cause.Card{
		Headline: "ended the query at the memory of one of its workers",
		Means:    "One step needed more than a worker of the service has; your own computer plays no part. Steps that run on one worker are the usual reason: ORDER BY over everything, a window without PARTITION BY, ARRAY_AGG or STRING_AGG of a huge group, or a join with a key that repeats very often.",
		Not:      "More RAM on your computer.",
		Cures: []cause.Cure{
			told("fix_shape", "Take the single-worker step apart", "some rewriting", "Leave ORDER BY out, or add LIMIT; add PARTITION BY to the window; count the rows for each key first and treat the most frequent keys by themselves."),
			told("stream_dataset", "Process it in parts", "several queries", "A range of dates or keys at a time, or write the earlier steps into a table."),
		},
		Sources: []string{"https://cloud.google.com/bigquery/docs/troubleshoot-queries"},
	})
)
