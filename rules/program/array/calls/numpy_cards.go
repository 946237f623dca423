package calls

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const numpyError = "numpy/_core/_exceptions.py"

// Sides are those of the array that NumPy wanted, nil where they are not known.
func Sides(c *ledger.Case) []int64 {
	shape, ok := c.Fact("array_shape")
	if !ok {
		return nil
	}
	var out []int64
	for _, side := range strings.Split(strings.Trim(shape.Text, "()[] "), ",") {
		if side = strings.TrimSpace(side); side == "" {
			continue
		}
		n, ok := ledger.Whole(side)
		if !ok || n <= 0 {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// allPairs: a matrix with two long sides of about the same length.
func allPairs(c *ledger.Case) bool {
	s := Sides(c)
	return len(s) == 2 && min(s[0], s[1]) >= 8192 && max(s[0], s[1])*10 <= min(s[0], s[1])*11
}

// record: the elements are rows of a table with named columns, as readers of
// binary files declare them.
func record(c *ledger.Case) bool { return c.Contains("data type [('") }

// numpyFigures are what the shape in the message says.
func numpyFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"n": "", "each": "", "block": "", "half": "", "bytes": "", "ffcv": "", "picture": "", "parts": "", "channels": "", "side": "", "windows_too": ""}
	s, asked := Sides(c), ledger.Requested(c)
	if asked <= 0 {
		return out
	}
	switch c.Reader.OS {
	case "linux":
		out["bound"] = "Linux promises more than it has and kills later, as a rule; so a refusal points to a limit: `ulimit -v`, strict overcommit, or an amount beyond RAM and swap."
	case "windows":
		out["bound"] = "On Windows the bound is RAM and page file together (\"Committed\"), so it can be reached with RAM free."
	default:
		out["bound"] = "To be refused, in place of killed, is the rule on Windows, where RAM and page file together are the bound; on Linux it points to `ulimit -v` or strict overcommit."
		out["windows_too"] = "Windows: Task Manager, Performance, Memory; \"Committed\" at its limit means a larger page file."
	}
	if len(s) == 3 && (s[2] == 3 || s[2] == 4) {
		out["picture"] = fmt.Sprintf("one image of %d x %d, %s of it as plain pixels", s[1], s[0], units.Amount(s[0]*s[1]*s[2]))
	}
	out["parts"] = strconv.FormatInt(max(ledger.CeilDiv(asked, 256*units.MiB), 2), 10)
	if c.Contains("data type float64") || c.Contains("data type int64") || c.Contains("data type complex128") {
		out["half"] = units.Amount(asked / 2)
	}
	if record(c) && c.Contains("'sample_id'") && c.Contains("'ptr'") {
		out["ffcv"] = "FFCV"
	}
	if len(s) == 0 {
		return out
	}
	each := asked / s[0]
	if tooManyAxes(c) {
		out["channels"], out["side"] = strconv.FormatInt(s[len(s)-1], 10), ledger.Thousands(s[1])
	}
	out["n"], out["each"] = ledger.Thousands(s[0]), units.Amount(each)
	if each < 1<<10 {
		out["each"] = strconv.FormatInt(each, 10) + " bytes"
	}
	out["bytes"] = strconv.FormatInt(each, 10)
	if each > 0 && asked > 2*units.GiB {
		out["block"] = strconv.FormatInt(max(round(units.GiB/each), 1), 10)
	}
	return out
}

// round is a number with its first digit only: what is typed by hand.
func round(n int64) int64 {
	unit := int64(1)
	for n/unit >= 10 {
		unit *= 10
	}
	return n / unit * unit
}

// tooManyAxes: a picture's two sides and its channels, and the side once more.
func tooManyAxes(c *ledger.Case) bool {
	s := Sides(c)
	return len(s) == 4 && (s[3] == 1 || s[3] == 3 || s[3] == 4) && s[0] >= 256 && (s[0] == s[1] || s[0] == s[2])
}

func ordinaryArray(c *ledger.Case) bool {
	return AtLeast(cause.Large)(c) && !record(c) && !allPairs(c) && !tooManyAxes(c)
}

// readHeader prints what an FFCV file says of itself.
func readHeader(c *ledger.Case) []step.Step {
	if numpyFigures(c)["ffcv"] == "" {
		return []step.Step{{Kind: "shell", Text: "ls -l FILE; head -c 64 FILE | xxd   # FILE: what is being read; its size, and the header that the reader goes by"}}
	}
	return []step.Step{{Kind: "python", Text: "import numpy as np, os\np = \"train.beton\"   # your file\nh = np.dtype([(\"version\", \"<u2\"), (\"fields\", \"<u2\"), (\"page\", \"<u4\"), (\"samples\", \"<u8\"), (\"table_at\", \"<u8\")], align=True)\nprint(os.path.getsize(p), np.fromfile(p, h, 1))"}}
}

var NumPyCards = []cause.Card{
	{
		ID: "numpy/record-table", Kinds: []fact.Kind{fact.NumpyAlloc}, If: func(c *ledger.Case) bool { return AtLeast(cause.Large)(c) && record(c) },
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: numpyFigures,
		Headline: "took the rest of a file for a table of {n} rows",
		Means:    "Columns with names are a table in a binary file, and its {n} rows of {bytes} bytes come from the file's header or length, not from your data. [[`sample_id, ptr, size` is {ffcv}'s allocation table: {ffcv} reads it from a position in the header to the end of the file. That position is 0 until the writer finishes, and then the whole file is taken for the table. ]]So the file is most likely incomplete, damaged, or of another format.",
		Not:      "RAM, swap, a smaller batch or fewer workers: the number itself is wrong.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Look at the file and its header", Told: "[[{ffcv}: `table_at` 0, or a file about {asked} long, confirms it. ]]Compare the length with the original's.", Steps: readHeader, Cost: "Free"},
			{Fix: "stream_dataset", Title: "Copy it again, or write it again", Told: "A copied file: `rsync -avP --checksum SOURCE TARGET` (from, to); your own: let the writer end by itself, with enough disk (`df -h .`), 1,000 samples first as a test[[; {ffcv}: `write_mode=\"jpg\"` in `RGBImageField` makes it far smaller than raw pixels]].", Cost: "Hours, and disk"},
			{Fix: "upgrade_version", Title: "The header is right: match reader and writer", Told: "Read it with the version of the library that wrote it; formats change between versions.", Cost: "Half an hour"},
		},
		Sources: []string{numpyError, "ffcv/ffcv/reader.py", "ffcv/ffcv/types.py", "ffcv/ffcv/writer.py"},
	},
	{
		ID: "numpy/all-pairs", Kinds: []fact.Kind{fact.NumpyAlloc}, If: func(c *ledger.Case) bool { return AtLeast(cause.Large)(c) && allPairs(c) }, Unsaid: []string{"pandas/core/reshape", "np.pad("},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: numpyFigures,
		Headline: "wanted every pair of {n} items in one matrix: {asked}",
		Means:    "Two long sides of about {n}: that is each item against each, {each} per row. A distance or similarity matrix, a kernel, a mask or a dense form of a graph looks like that; or it was not meant, and broadcasting made it: a column of shape (n, 1) with a row of shape (n,) gives n x n. Twice the items need four times as much, so no RAM keeps up.",
		Not:      "Swap or closing programs: {asked} is not found by tidying up.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "See whether you meant it", Kind: "python", Told: "In the line of the traceback print both operands; (n, 1) beside (n,) is the mistake, `.ravel()` or `squeeze()` on one the cure:", Text: "print(a.shape, b.shape)   # a, b: the operands of that line", Cost: "Free"},
			{Fix: "stream_dataset", Title: "Meant: in blocks of rows", Told: "{block} rows at a time take 1 GiB; keep of each block only what you need (nearest, sum, above a threshold).", Kind: "python", Text: "for i in range(0, len(x), {block}):\n    part = cdist(x[i:i + {block}], x)   # your own function of two blocks\n    nearest.append(part.argpartition(10, axis=1)[:, :10])", Cost: "Some rewriting"},
			{Fix: "half_precision", Title: "Or never build it", Told: "Neighbours: `sklearn.neighbors.NearestNeighbors` or FAISS. Graphs: a sparse matrix (`scipy.sparse`). float32 only halves it.", Cost: "Some rewriting"},
		},
		Sources: []string{numpyError, "sklearn/metrics/pairwise.py", "https://numpy.org/doc/stable/user/basics.broadcasting.html"},
	},
	{
		ID: "numpy/pad", Kinds: []fact.Kind{fact.NumpyAlloc}, Said: []string{"np.pad("}, If: AtLeast(cause.Large),
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: numpyFigures,
		Headline: "was asked to pad something to {asked}",
		Means:    "`np.pad` was to make an array of {asked}, far more than an image or a batch is. The widths that it got are wrong: in code that crops, they follow from a box, and one whose corners lie far outside the image, are swapped or not a number asks for that. So it is one bad sample or prediction, or box and image in different units, not the size of your data.",
		Not:      "More RAM, swap or a smaller type: the widths themselves are wrong.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the widths and the box before that line", Told: "Your own names in place of `box` and `image`; the sample with huge or negative corners is the one.", Kind: "python", Text: "print(box, image.shape)\nassert max(abs(v) for v in box) < 10 * max(image.shape[:2]), box", Cost: "Free"},
			{Fix: "stream_dataset", Title: "Leave that sample out, or clip its box", Told: "`np.clip` to the image's sides before cropping; check what the box is computed from (depth 0, wrong camera parameters, pixels in place of millimetres).", Cost: "A few minutes"},
			{Fix: "upgrade_version", Title: "Somebody else's program and data: match them", Told: "The version and the preparation of the data that its README names; else report the file that fails.", Cost: "Half an hour"},
		},
		Sources: []string{numpyError, "numpy/lib/_arraypad_impl.py"},
	},
	{
		ID: "numpy/axis-too-many", Kinds: []fact.Kind{fact.NumpyAlloc}, If: func(c *ledger.Case) bool { return AtLeast(units.GiB)(c) && tooManyAxes(c) },
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: numpyFigures,
		Headline: "made {n} images out of one: {asked}",
		Means:    "An image with {channels} channels of that size is {each}; the shape has one long side more, so it is there {n} times. Broadcasting does that: a mask of shape (height, width) or (height, 1, width) meets an image (height, width, {channels}), and NumPy lines up the wrong sides. If you do have {n} such images in one array, it is all your data at once.",
		Not:      "More RAM, swap or a smaller type: an image takes {each}, not {asked}.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Give the mask its channel side at the end", Told: "In the line of the traceback:", Kind: "python", Text: "print(image.shape, mask.shape)   # your own names\nmask = np.squeeze(mask)[..., None]   # (height, width, 1), beside (height, width, channels)", Cost: "Free"},
			{Fix: "lower_resolution", Title: "Somebody else's program: images of the usual kind", Told: "RGB without transparency (`image.convert(\"RGB\")`), and a smaller size: with half the sides this array is an eighth.", Cost: "Detail"},
			{Fix: "upgrade_version", Title: "Or its newest version", Told: "Such a mistake shows with some inputs only, and is often fixed already; else report it with both shapes.", Cost: "A few minutes"},
		},
		Sources: []string{numpyError, "https://numpy.org/doc/stable/user/basics.broadcasting.html"},
	},
	{
		ID: "numpy/too-large", Kinds: []fact.Kind{fact.NumpyAlloc}, If: ordinaryArray, Unsaid: []string{"pandas/core"},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: numpyFigures,
		Headline: "was refused one array of {asked}",
		Means:    "The shape in the message times the bytes of its type is {asked}[[: {n} items of {each}]]. Two ways lead there: all the data are put into one array (stacked, converted, made dense), or a shape is not what you think, and an index, a product or an extra axis has made one side far too long. The shape tells: is its first number the count of your samples?",
		Not:      "Swap or closing programs: {asked} in one piece is not found by tidying up.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "The shape surprises you: find where it comes from", Told: "Print the shapes of the operands in the line of the traceback; check what feeds that side (a size read from a file, an `[:, None]`, `np.zeros(max_id + 1)` with one huge ID).", Cost: "Free"},
			{Fix: "stream_dataset", Title: "It is all your data: never hold it at once", Told: "[[{block} of the {n} items are 1 GiB: ]]work in pieces of that size, with the array on disk in place of RAM:", Kind: "python", Text: "x = np.load(\"x.npy\", mmap_mode=\"r\")   # your own file; rows come from disk as they are used\nout = np.lib.format.open_memmap(\"out.npy\", mode=\"w+\", dtype=np.float32, shape=shape)   # one to fill", Cost: "Some rewriting"},
			{Fix: "half_precision", Title: "A smaller type, or sparse", Told: "[[float32 or int32 in place of 64 bit: {half}. ]]uint8 for pixels; counts and one-hot stay `scipy.sparse`, without `toarray()`.", Cost: "Digits"},
		},
		Sources: []string{numpyError, "numpy/lib/_format_impl.py", "https://docs.scipy.org/doc/scipy/reference/sparse.html"},
	},
	{
		ID: "numpy/ram-full", Kinds: []fact.Kind{fact.NumpyAlloc}, If: small, Unsaid: []string{"pandas/core"},
		Cause: cause.HostMemory, Weight: cause.Strong, Figures: numpyFigures,
		Headline: "found RAM full: even {asked} was refused",
		Means:    "{asked} is little[[: {image}]]. So RAM was full before this line, and the line is only the one that came next. What filled it: results that a loop keeps in a list, several worker processes with a copy each, a model beside them, or other programs. {bound}",
		Not:      "Making this one array smaller, or anything about the graphics card.",
		Cures: []cause.Cure{
			LookCommitted, LookRAM,
			{Fix: "stream_dataset", Title: "Let go of results as they come", Told: "In the loop, in place of a list that grows to the end; video and images: fewer frames, threads or workers at a time:", Kind: "python", Text: "np.save(f\"out/{i:06}.npy\", result)   # i, result: your loop's\ndel result", Cost: "Disk space"},
			{Fix: "half_precision", Title: "Keep small types until they are used", Told: "Pixels as uint8: a quarter of float32, an eighth of float64. `astype(np.float32, copy=False)` makes no second copy.", Cost: "None for images"},
		},
		Sources: []string{numpyError, "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
	{
		ID: "numpy/columns", Kinds: []fact.Kind{fact.NumpyAlloc}, If: func(c *ledger.Case) bool { return moderate(c) && columnsFirst(c) }, Unsaid: []string{"pandas/core"},
		Cause: cause.HostMemory, Weight: cause.Strong, Figures: numpyFigures,
		Headline: "was refused {asked} of RAM for {n} columns of a table",
		Means:    "Few long rows, {n} x {each}, is how pandas keeps columns of one type, turned on their side; so this is as a rule a copy of them beside the table itself, as filters, joins, `copy()` and conversions make it. The size is what the data have: it is the sum of such copies that filled RAM. {bound}",
		Not:      "Looking for a wrong shape, `gc.collect()` while names still refer to old tables, or anything about the graphics card.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Copy less of the table", Told: "No `.copy()` of the whole; filter first, and take only the columns that the step needs (`df.loc[mask, [\"id\", \"value\"]]`), `del` older versions before the next. A service that answers several requests at once makes such a copy for each.", Cost: "Some rewriting"},
			{Fix: "stream_dataset", Title: "Read only the columns that you use", Kind: "python", Text: "df = pd.read_parquet(\"data.parquet\", columns=[\"id\", \"value\"])   # your own file and columns; CSV: usecols=", Cost: "Some rewriting"},
			{Fix: "half_precision", Title: "Smaller types for the columns", Told: "[[float32 in place of 64 bit: {half} in place of {asked}. ]]Texts that repeat become categories; `df.memory_usage(deep=True)` shows the large ones.", Cost: "Digits"},
			LookCommitted, LookRAM,
		},
		Sources: []string{numpyError, pandasScale, "https://pandas.pydata.org/docs/reference/api/pandas.read_parquet.html"},
	},
	{
		ID: "numpy/moderate", Kinds: []fact.Kind{fact.NumpyAlloc}, If: moderate, Unsaid: []string{"pandas/core"},
		Cause: cause.HostMemory, Weight: cause.Strong, Figures: numpyFigures,
		Headline: "was refused one array of {asked} in RAM",
		Means:    "An array of {asked}[[ ({n} x {each})]] did not fit. It is the last piece, not the whole need: what it is made from is in memory as well, for a conversion needs the old and the new array at once; joining a list of arrays does, too. {bound}",
		Not:      "Anything about the graphics card: this is the computer's own memory.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Hold a part at a time", Told: "[[{block} of the {n} rows are 1 GiB. ]]On disk in place of RAM, filled row by row, with no list in between:", Kind: "python", Text: "x = np.load(\"x.npy\", mmap_mode=\"r\")   # your own file; rows come from disk when they are touched\nout = np.lib.format.open_memmap(\"out.npy\", mode=\"w+\", dtype=np.float32, shape=x.shape)", Cost: "Disk speed"},
			{Fix: "half_precision", Title: "A smaller type, from the start", Told: "[[float32 in place of 64 bit: {half} in place of {asked}. ]]Give `dtype=` where the array is made or read: `astype` afterwards needs both for a moment.", Cost: "Seven digits in place of sixteen"},
			LookCommitted, LookRAM,
		},
		Sources: []string{numpyError, "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
}

// Who fills RAM, by system; on Windows the page file decides.
var (
	LookCommitted = cause.Cure{If: reader.OnWindows, Fix: "raise_pagefile", Title: "Look at \"Committed\", and let the page file grow", Told: "Task Manager, Performance, Memory: at its limit nothing more is given, RAM free or not. Advanced system settings, Performance, Settings, Advanced, Virtual memory: custom size, maximum 65536 MB, on an SSD; restart.", Cost: "Disk space and a restart"}
	LookRAM       = cause.Cure{If: when.Not(reader.OnWindows), Fix: "close_other_apps", Title: "See what fills RAM", Kind: "shell", Text: "free -h; ps -eo pid,rss,args --sort=-rss | head\nulimit -v; sysctl vm.overcommit_memory   # a number, or 2: refused although much is available", Told: "Other programs and earlier Python processes count as well: end what is not needed.[[ {windows_too}]] Linux, and much is available: a limit refuses early (`ulimit -v unlimited` lifts the shell's; strict overcommit, and the memory of a batch job, are for who runs the machine).", Cost: "Free"}
)

// small: too little to be what filled the memory.
func small(c *ledger.Case) bool {
	r := ledger.Requested(c)
	return r > 0 && r < 256*units.MiB
}

func moderate(c *ledger.Case) bool {
	r := ledger.Requested(c)
	return r > 0 && r < cause.Large && !(r >= units.GiB && tooManyAxes(c))
}

// columnsFirst: a few long rows, as pandas keeps columns of one type.
func columnsFirst(c *ledger.Case) bool {
	s := Sides(c)
	return len(s) == 2 && s[0] > 1 && s[0] <= 1024 && s[1] >= 20000 && s[1] >= 100*s[0]
}
