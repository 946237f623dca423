package calls

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

const pandasScale = "https://pandas.pydata.org/docs/user_guide/scale.html"

var (
	namedTypes = cause.Cure{Fix: "half_precision", Title: "Use smaller column types", Told: "`df.memory_usage(deep=True)` on a part (`nrows=100_000`) shows the large columns; make repeated text `category`:", Kind: "python", Text: "df = pd.read_csv(\"data.csv\", dtype={\"city\": \"category\", \"value\": \"float32\", \"n\": \"int32\"})   # your own columns", Cost: "Seven digits in float32"}
	inChunks   = cause.Cure{Fix: "stream_dataset", Title: "Read only the columns you need, in chunks", Told: "Your own file and columns; keep only a sum, a count or the rows you need of each chunk:", Kind: "python", Text: "for part in pd.read_csv(\"data.csv\", usecols=[\"id\", \"value\"], chunksize=500_000):\n    work(part)", Cost: "Some rewriting"}
)

// mergeCures are those of a merge that was too large.
var mergeCures = []cause.Cure{
	{Fix: "fix_shape", Title: "Check for repeated and empty keys", Told: "Your own tables and key. Two large numbers mean that the merge multiplies rows; `validate` then raises an error:", Kind: "python", Text: "print(left[\"id\"].duplicated().sum(), right[\"id\"].duplicated().sum(), left[\"id\"].isna().sum())\nleft.merge(right, on=\"id\", validate=\"many_to_one\")", Cost: "Free"},
	{Fix: "stream_dataset", Title: "If the result is that large: merge in parts", Told: "Take only the columns that you need, and parts of the left table one after another, each written to disk; or use DuckDB.", Cost: "Some rewriting"},
	{Fix: "half_precision", Title: "Use smaller keys", Told: "int32 or categories in place of text before the merge.", Cost: "Free"},
}

var PandasCards = []cause.Card{
	{
		ID: "pandas/csv", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Error tokenizing data"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM while reading a CSV file",
		Means: "The parser of `read_csv` was refused RAM (a 32-bit Python ends at 2 to 4 GB, whatever the computer has). A table can take several times the size of its CSV: each text is a Python object of about 50 bytes or more. An unclosed quote can also be the cause: the rest of the file is then read as one field.",
		Not:   "`low_memory=False`: it needs more memory, not less.",
		Cures: []cause.Cure{
			inChunks, namedTypes,
			{Fix: "upgrade_version", Title: "Check that Python is 64-bit", Told: "If this prints 32, install the 64-bit Python, and pandas again:", Kind: "shell", Text: "python -c \"import struct; print(struct.calcsize('P') * 8)\"", Cost: "half an hour"},
			{Fix: "fix_shape", Title: "If a small file fails too: look for an unclosed quote", Told: "`quoting=3` (no quotes) reads past it; `nrows=` with rising numbers finds the line.", Cost: "Free"},
		},
		Sources: []string{"pandas/_libs/src/parser/tokenizer.c", pandasScale},
	},
	{
		ID: "pandas/merge", Kinds: []fact.Kind{fact.NumpyAlloc}, Said: []string{"reshape/merge.py", "in merge", "left.merge(", "pd.merge("},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "was refused {asked} in a merge",
		Means:   "One array in this merge is {asked}, so it has very many rows. Keys that repeat on both sides multiply rows: 10,000 equal keys on each side (empty ones count as equal) make 100 million rows. If neither side repeats, the tables are simply that long.",
		Cures:   mergeCures,
		Sources: []string{"pandas/core/reshape/merge.py", pandasScale},
	},
	{
		ID: "pandas/merge-memory", Kinds: []fact.Kind{fact.PythonMemory}, Said: []string{"reshape/merge.py"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused RAM in a merge (MemoryError)",
		Means:   "A merge makes a new table beside both old ones, so even a plain one needs the larger table once more. Keys that repeat on both sides multiply rows: 10,000 equal keys on each side (empty ones, NaN, count as equal) make 100 million rows.",
		Cures:   mergeCures,
		Sources: []string{"pandas/core/reshape/merge.py", pandasScale},
	},
	{
		ID: "pandas/memory", Kinds: []fact.Kind{fact.PythonMemory}, Said: []string{"pandas/core"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused RAM (MemoryError)",
		Means: "The system refused RAM during an operation on a table. Most operations make a new table beside the old one; `apply` and text columns make Python objects of 50 bytes or more each. The line of your own code in the traceback names the operation; what filled memory may be elsewhere.",
		Cures: []cause.Cure{
			namedTypes, inChunks, PageFile, LookWhy,
		},
		Sources: []string{pandasScale},
	},
	{
		ID: "pandas/copy", Kinds: []fact.Kind{fact.NumpyAlloc}, If: moderate, Said: []string{"pandas/core"}, Unsaid: []string{"reshape/"},
		Cause: cause.HostMemory, Weight: cause.Strong, Figures: numpyFigures, Headline: "was refused {asked} of RAM for a copy of columns",
		Means: "pandas keeps the columns of one type in one array, and joins or copies them when a table is changed, filtered or converted. {asked} is probably such a block[[ ({n} x {each})]], wanted beside the table. {bound}",
		Cures: []cause.Cure{
			namedTypes,
			{Fix: "stream_dataset", Title: "Drop unused columns and old tables", Told: "`usecols=` when reading, `del` of tables that are no longer used. Otherwise in pieces, with `chunksize=`.", Cost: "Some rewriting"},
			LookCommitted, LookRAM,
		},
		Sources: []string{"pandas/core/internals/managers.py", pandasScale},
	},
}
