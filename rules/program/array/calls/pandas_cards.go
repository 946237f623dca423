package calls

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

const pandasScale = "https://pandas.pydata.org/docs/user_guide/scale.html"

var (
	namedTypes = cause.Cure{Fix: "half_precision", Title: "Small types for the columns, from the start", Told: "`df.memory_usage(deep=True)` on a part (`nrows=100_000`) shows the large columns; texts that repeat become categories:", Kind: "python", Text: "df = pd.read_csv(\"data.csv\", dtype={\"city\": \"category\", \"value\": \"float32\", \"n\": \"int32\"})   # your own columns", Cost: "Seven digits in float32"}
	inChunks   = cause.Cure{Fix: "stream_dataset", Title: "Only the columns that you use, in pieces", Told: "With your own file and columns; keep of each piece a sum, a count or the rows that you need:", Kind: "python", Text: "for part in pd.read_csv(\"data.csv\", usecols=[\"id\", \"value\"], chunksize=500_000):\n    work(part)", Cost: "Some rewriting"}
)

var PandasCards = []cause.Card{
	{
		ID: "pandas/csv", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Error tokenizing data"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of RAM while it read the file",
		Means:    "The parser of `read_csv` was refused RAM (a 32-bit Python ends at 2 to 4 GB, whatever the computer has). A table can take several times its CSV: each text is a Python object of about 50 bytes and more. Now and then the cause is one quote that is never closed: the rest of the file is then read as a single field. With a small file of the same kind it works: it is the size.",
		Not:      "`low_memory=False`: it needs more memory, not less.",
		Cures: []cause.Cure{
			inChunks, namedTypes,
			{Fix: "upgrade_version", Title: "See that Python has 64 bits", Told: "32 in what this prints: install the 64-bit Python, and pandas again.", Kind: "shell", Text: "python -c \"import struct; print(struct.calcsize('P') * 8)\"", Cost: "half an hour"},
			{Fix: "fix_shape", Title: "A small file fails as well: an unclosed quote", Told: "`quoting=3` (no quotes) reads on past it; `nrows=` with rising numbers finds the line.", Cost: "Free"},
		},
		Sources: []string{"pandas/_libs/src/parser/tokenizer.c", pandasScale},
	},
	{
		ID: "pandas/merge", Kinds: []fact.Kind{fact.NumpyAlloc}, Said: []string{"reshape/merge.py", "in merge", "left.merge(", "pd.merge("},
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "was refused {asked} in a merge, for one array of its result",
		Means:    "One array of the result alone is {asked}, so the merge has very many rows. Keys that repeat on both sides do that: each pair becomes a row, so 10,000 equal keys (empty ones count as equal, too) on each side are 100 million rows. If neither side repeats, the tables are simply that long.",
		Not:      "More memory or swap, if keys repeat: the next merge is as large again.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Look for repeated and empty keys first", Told: "Your own tables and key; two large numbers are the fault. `validate` raises an error instead of multiplying:", Kind: "python", Text: "print(left[\"id\"].duplicated().sum(), right[\"id\"].duplicated().sum(), left[\"id\"].isna().sum())\nleft.merge(right, on=\"id\", validate=\"many_to_one\")", Cost: "Free"},
			{Fix: "stream_dataset", Title: "The result really is that large", Told: "Only the columns that you need, and parts of the left table one after another, each written to disk; or DuckDB, which need not hold the result.", Cost: "Some rewriting"},
			{Fix: "half_precision", Title: "Smaller keys", Told: "int32 or categories in place of text before the merge.", Cost: "Free"},
		},
		Sources: []string{"pandas/core/reshape/merge.py", pandasScale},
	},
	{
		ID: "pandas/memory", Kinds: []fact.Kind{fact.PythonMemory}, Said: []string{"pandas/core"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was refused RAM (MemoryError)",
		Means:    "The system refused RAM in the middle of an operation on a table. Most operations make a new table beside the old one, `apply` and text columns make Python objects of 50 bytes and more each. The line of your own code in the traceback names the operation; it need not be what filled the memory.",
		Not:      "Anything about the graphics card.",
		Cures: []cause.Cure{
			namedTypes, inChunks, PageFile, LookWhy,
		},
		Sources: []string{pandasScale},
	},
	{
		ID: "pandas/copy", Kinds: []fact.Kind{fact.NumpyAlloc}, If: moderate, Said: []string{"pandas/core"}, Unsaid: []string{"reshape/"},
		Cause: cause.HostMemory, Weight: cause.Strong, Figures: numpyFigures,
		Headline: "was refused {asked} of RAM for a copy of columns",
		Means:    "pandas keeps all columns of one type in one array, and joins or copies them when a table is changed, filtered or converted. {asked} is such a block[[ ({n} x {each})]], wanted beside the table itself. {bound}",
		Not:      "Anything about the graphics card.",
		Cures: []cause.Cure{
			namedTypes,
			{Fix: "stream_dataset", Title: "Drop columns and old tables first", Told: "`usecols=` when reading, `del` of tables that are no longer used, and no chain that keeps three versions of a table in names. Else in pieces, with `chunksize=`.", Cost: "Some rewriting"},
			LookCommitted, LookRAM,
		},
		Sources: []string{"pandas/core/internals/managers.py", pandasScale},
	},
}
