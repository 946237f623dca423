package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Pandas is pandas: its arrays are NumPy's.
var Pandas = program.Program{
	Name: "pandas", Work: "data", Edits: "code", Language: "python",
	Proofs: []string{"pandas/core/", "pandas/io/", "pandas.errors.", "pandas._libs."},
	Titles: map[string]string{"stream_dataset": "Read the table in pieces", "half_precision": "Use smaller types for the columns"},
	Costs:  map[string]string{"stream_dataset": "Some rewriting.", "half_precision": "None for categories; fewer digits for float32."},
	Remedies: map[string][]cause.Remedy{
		cause.HostMemory:          {{Fix: "stream_dataset", Fit: 1}, {Fix: "half_precision", Fit: 0.95}, {Fix: "fix_shape", Fit: 0.8}, {Fix: "raise_memory_limit", Fit: 0.6, If: ledger.Capped}, {Fix: "close_other_apps", Fit: 0.6}, {Fix: "add_swap", Fit: 0.5}},
		cause.OversizedAllocation: {{Fix: "fix_shape", Fit: 1}, {Fix: "stream_dataset", Fit: 0.8}, {Fix: "half_precision", Fit: 0.6}},
	},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"stream_dataset": step.Paste("python", "for part in pd.read_csv(\"data.csv\", usecols=[\"id\", \"value\"], chunksize=500_000):   # only the columns that you need\n    work(part)"),
		"half_precision": step.Paste("python", "df = pd.read_csv(\"data.csv\", dtype={\"city\": \"category\", \"value\": \"float32\", \"n\": \"int32\"})   # text columns take most; df.memory_usage(deep=True) shows which"),
		"fix_shape":      step.Paste("python", "print(left[\"id\"].duplicated().sum(), right[\"id\"].duplicated().sum())   # your merge key in place of id; duplicates on both sides multiply the rows"),
	},
	Cards: []cause.Card{
		{
			ID: "pandas/csv", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Error tokenizing data"},
			Cause: cause.HostMemory, Weight: 0.85,
			Means: "pandas' reader ran out of RAM while it parsed the file. A table takes two to ten times its CSV, text columns most. Now and then the cause is one unclosed quote, which turns the rest of the file into a single field.",
			Not:   "`low_memory=False`: it needs more memory, not less.",
			Cures: []cause.Cure{
				{Fix: "stream_dataset", Title: "Read fewer columns, in pieces", Kind: "python", Text: "for part in pd.read_csv(\"data.csv\", usecols=[\"id\", \"value\"], chunksize=500_000):\n    work(part)   # your own column names", Cost: "Some rewriting"},
				{Fix: "half_precision", Title: "Name the types of the columns", Kind: "python", Text: "df = pd.read_csv(\"data.csv\", dtype={\"city\": \"category\", \"value\": \"float32\"})", Cost: "None for repeated texts"},
			},
			Sources: []string{"pandas/_libs/src/parser/tokenizer.c", "https://pandas.pydata.org/docs/user_guide/scale.html"},
		},
		{
			ID: "pandas/merge", Kinds: []fact.Kind{fact.NumpyAlloc}, Said: []string{"reshape/merge.py", "in merge", "left.merge(", "pd.merge("},
			Cause: cause.OversizedAllocation, Weight: 0.72,
			Means: "A merge made far more rows than either table has: {asked} for one column of the result. Keys that repeat on both sides give every combination; 10,000 equal keys on each side are 100 million rows.",
			Not:   "More memory or swap: with repeated keys the next merge is as large again.",
			Cures: []cause.Cure{
				{Fix: "fix_shape", Title: "Look for repeated keys first", Kind: "python", Text: "print(left[\"id\"].duplicated().sum(), right[\"id\"].duplicated().sum())   # your key in place of id\nleft.merge(right, on=\"id\", validate=\"many_to_one\")   # raises instead of multiplying", Cost: "Free"},
				{Fix: "stream_dataset", Title: "If the result really is that large", Kind: "text", Text: "Merge in parts of the left table and write each part to disk, or use a database or DuckDB, which need not hold the result.", Cost: "Some rewriting"},
			},
			Sources: []string{"pandas/core/reshape/merge.py"},
		},
	},
}
