package calls

import (
	"slices"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Pandas is pandas: its arrays are NumPy's.
var Pandas = program.Program{
	Name: "pandas", Work: "data", Edits: "code", Language: "python",
	Proofs: []string{"pandas/core/", "pandas/io/", "pandas.errors.", "pandas._libs.", "pandas/parser.pyx", "pandas.parser.TextReader", "CParserError: Error tokenizing data"},
	Titles: map[string]string{"stream_dataset": "Read the table in pieces", "half_precision": "Use smaller types for the columns", "fix_shape": "Check the merge keys for duplicates"},
	Costs:  map[string]string{"stream_dataset": "Some rewriting.", "half_precision": "None for categories; fewer digits for float32."},
	Remedies: map[string][]cause.Remedy{
		cause.HostMemory:          {{Fix: "stream_dataset", Fit: cause.Cures}, {Fix: "half_precision", Fit: cause.Cures}, {Fix: "fix_shape", Fit: cause.Helps}, {Fix: "raise_memory_limit", Fit: cause.MayHelp, If: ledger.Capped}, {Fix: "close_other_apps", Fit: cause.MayHelp}, {Fix: "add_swap", Fit: cause.LastResort}},
		cause.OversizedAllocation: {{Fix: "fix_shape", Fit: cause.Cures}, {Fix: "stream_dataset", Fit: cause.Helps}, {Fix: "half_precision", Fit: cause.MayHelp}},
	},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"stream_dataset": step.Paste("python", "for part in pd.read_csv(\"data.csv\", usecols=[\"id\", \"value\"], chunksize=500_000):   # only the columns that you need\n    work(part)"),
		"half_precision": step.Paste("python", "df = pd.read_csv(\"data.csv\", dtype={\"city\": \"category\", \"value\": \"float32\", \"n\": \"int32\"})   # text columns take most; df.memory_usage(deep=True) shows which"),
		"fix_shape":      step.Paste("python", "print(left[\"id\"].duplicated().sum(), right[\"id\"].duplicated().sum())   # your merge key in place of id; duplicates on both sides multiply the rows"),
	},
	Cards: slices.Concat(TableCards, PandasCards),
}
