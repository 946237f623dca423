package calls

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

const pandasScale = "https://pandas.pydata.org/docs/user_guide/scale.html"

var (
	namedTypes = cause.Cure{Fix: "half_precision", Title: "Use smaller column types", Told: "Load a part (`nrows=100_000`); `df.memory_usage(deep=True)` shows the large columns. Make repeated text `category`:", Kind: "python", Text: "df = pd.read_csv(\"data.csv\", dtype={\"city\": \"category\", \"value\": \"float32\", \"n\": \"int32\"})   # your own columns", Cost: "Seven digits in float32"}
	inChunks   = cause.Cure{Fix: "stream_dataset", Title: "Read only the columns you need, in chunks", Told: "Keep only a sum, a count or the rows you need of each chunk:", Kind: "python", Text: "for part in pd.read_csv(\"data.csv\", usecols=[\"id\", \"value\"], chunksize=500_000):\n    work(part)", Cost: "Some rewriting"}
)

// mergeCures are those of a merge that was too large.
var mergeCures = []cause.Cure{
	{Fix: "fix_shape", Title: "Check for repeated and empty keys", Told: "Use your own tables and key. If both first numbers are large, the merge multiplies rows. `validate` then raises an error:", Kind: "python", Text: "print(left[\"id\"].duplicated().sum(), right[\"id\"].duplicated().sum(), left[\"id\"].isna().sum())\nleft.merge(right, on=\"id\", validate=\"many_to_one\")", Cost: "Free"},
	{Fix: "stream_dataset", Title: "If the result is that large: merge in parts", Told: "Take only the columns you need, merge parts of the left table one after another, and write each to disk. Or use DuckDB.", Cost: "Some rewriting"},
	{Fix: "half_precision", Title: "Use smaller keys", Told: "Use int32 or categories instead of text before the merge.", Cost: "Free"},
}

var PandasCards = []cause.Card{
	{
		ID: "pandas/csv", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Error tokenizing data"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM while reading a CSV file",
		Means: "`read_csv` could not get more RAM. A table can take several times the size of its CSV: each text is a Python object of 50 bytes or more. A 32-bit Python is limited to 2 to 4 GB. An unclosed quote can also be the reason: the rest of the file is then read as one field.",
		Not:   "`low_memory=False`: it needs more memory, not less.",
		Cures: []cause.Cure{
			inChunks, namedTypes,
			{Fix: "upgrade_version", Title: "Check that Python is 64-bit", Told: "If this prints 32, install the 64-bit Python and pandas again:", Kind: "shell", Text: "python -c \"import struct; print(struct.calcsize('P') * 8)\"", Cost: "half an hour"},
			{Fix: "fix_shape", Title: "If a small file fails too: look for an unclosed quote", Told: "`quoting=3` (no quotes) reads past it. Increase `nrows=` to find the line.", Cost: "Free"},
		},
		Sources: []string{"pandas/_libs/src/parser/tokenizer.c", pandasScale},
	},
	{
		ID: "pandas/merge", Kinds: []fact.Kind{fact.NumpyAlloc}, Said: []string{"reshape/merge.py", "in merge", "left.merge(", "pd.merge("},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "could not get {asked} of RAM in a merge",
		Means:   "One array in this merge is {asked}, so it has very many rows. Keys that repeat on both sides multiply rows: 10,000 equal keys on each side make 100 million rows (empty keys count as equal). If neither side repeats, the tables are simply that long.",
		Cures:   mergeCures,
		Sources: []string{"pandas/core/reshape/merge.py", pandasScale},
	},
	{
		ID: "pandas/merge-memory", Kinds: []fact.Kind{fact.PythonMemory}, Said: []string{"reshape/merge.py"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM in a merge (MemoryError)",
		Means:   "A merge makes a new table while both old ones stay. Keys that repeat on both sides multiply rows: 10,000 equal keys on each side make 100 million rows (empty keys, NaN, count as equal).",
		Cures:   mergeCures,
		Sources: []string{"pandas/core/reshape/merge.py", pandasScale},
	},
	{
		ID: "pandas/memory", Kinds: []fact.Kind{fact.PythonMemory}, Said: []string{"pandas/core"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM (MemoryError)",
		Means: "Most pandas operations make a new table while the old one stays. `apply` and text columns make Python objects of 50 bytes or more each. Your own line in the traceback names the operation, but something earlier may have filled the memory.",
		Cures: []cause.Cure{
			namedTypes, inChunks, PageFile, LookWhy,
		},
		Sources: []string{pandasScale},
	},
	{
		ID: "pandas/copy", Kinds: []fact.Kind{fact.NumpyAlloc}, If: moderate, Said: []string{"pandas/core"}, Unsaid: []string{"reshape/"},
		Cause: cause.HostMemory, Weight: cause.Strong, Figures: numpyFigures, Headline: "could not get {asked} of RAM for a copy of columns",
		Means: "pandas keeps the columns of one type in one array, and joins or copies them when a table is changed, filtered or converted. {asked} is probably such a block[[ ({n} x {each})]], on top of the table. {bound}",
		Cures: []cause.Cure{
			namedTypes,
			{Fix: "stream_dataset", Title: "Drop unused columns and old tables", Told: "Read only what you need (`usecols=`) and `del` tables you no longer use. Otherwise work in pieces (`chunksize=`).", Cost: "Some rewriting"},
			LookCommitted, LookRAM,
		},
		Sources: []string{"pandas/core/internals/managers.py", pandasScale},
	},
}
