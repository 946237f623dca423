package calls

import (
	"fmt"
	"path"
	"slices"
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
	out := map[string]string{"n": "", "each": "", "block": "", "blocked": "", "half": "", "bytes": "", "ffcv": "", "picture": "", "parts": "", "channels": "", "side": "", "windows_too": ""}
	s, asked := Sides(c), ledger.Requested(c)
	if asked <= 0 {
		return out
	}
	switch c.Reader.OS {
	case "linux":
		out["bound"] = "On Linux, such a refusal usually means that the request exceeds RAM and swap, or a limit (`ulimit -v`, strict overcommit)."
	case "windows":
		out["bound"] = "On Windows, RAM and page file together are the limit (\"Committed\"), so a request can be refused while RAM looks free."
	default:
		out["bound"] = "The limit is RAM plus page file on Windows; on Linux it is RAM plus swap, `ulimit -v` or strict overcommit."
		out["windows_too"] = "Windows: Task Manager, Performance, Memory. If \"Committed\" is at its limit, enlarge the page file."
	}
	if len(s) == 3 && (s[2] == 3 || s[2] == 4) {
		out["picture"] = fmt.Sprintf("one image of %d x %d (%s in 8 bit)", s[1], s[0], units.Amount(s[0]*s[1]*s[2]))
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
		rows := max(round(units.GiB/each), 1)
		out["block"], out["blocked"] = strconv.FormatInt(rows, 10), units.Amount(rows*each)
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

// twoCounts: a matrix with two long sides, which are not the same.
func twoCounts(c *ledger.Case) bool {
	s := Sides(c)
	return len(s) == 2 && min(s[0], s[1]) >= 10000 && !allPairs(c)
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
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: numpyFigures, Headline: "tried to read a table of {n} rows from a binary file",
		Means: "The number of rows comes from the file's header or length. So the file is most likely incomplete, damaged, or in another format.[[ `sample_id, ptr, size` is {ffcv}'s table of samples. Its place in the header is 0 until the writer finishes, and then the whole file is read as that table.]]",
		Not:   "More RAM or swap, fewer workers: the number itself is wrong.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Check the file size and header", Told: "[[{ffcv}: `table_at` 0 means that writing never finished. ]]Compare the size with the original's.", Steps: readHeader, Cost: "Free"},
			{Fix: "stream_dataset", Title: "Copy or write the file again", Told: "A copied file: `rsync -avP --checksum SOURCE TARGET` (from, to). Your own: let the writer finish, with enough disk (`df -h .`). Test with 1,000 samples first[[; {ffcv}: `write_mode=\"jpg\"` in `RGBImageField` makes it far smaller than raw pixels]].", Cost: "Hours, and disk"},
			{Fix: "upgrade_version", Title: "If the header is right: match the library versions", Told: "Formats change: read the file with the version that wrote it.", Cost: "Half an hour"},
		},
		Sources: []string{numpyError, "ffcv/ffcv/reader.py", "ffcv/ffcv/types.py", "ffcv/ffcv/writer.py"},
	},
	{
		ID: "numpy/all-pairs", Kinds: []fact.Kind{fact.NumpyAlloc}, If: func(c *ledger.Case) bool { return AtLeast(cause.Large)(c) && allPairs(c) }, Unsaid: []string{"pandas/core/reshape", "np.pad("},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: numpyFigures, Headline: "tried to make a matrix of all pairs of {n} items: {asked}",
		Means: "The array has two long sides of about {n}: each item against each, {each} per row. Either you want that (a distance, similarity or kernel matrix, a dense graph), or broadcasting made it: shapes (n, 1) and (n,) give n x n. Twice the items need four times as much.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Check the shapes in that line", Kind: "python", Told: "Print both operands of the failing line. If one is (n, 1) and the other (n,), apply `.ravel()` to the first:", Text: "print(a.shape, b.shape)   # a, b: the operands of that line", Cost: "Free"},
			{Fix: "stream_dataset", Title: "If intended: compute blocks of rows", Told: "{block} rows at a time take {blocked}. Keep only what you need of each block (nearest, sum, above a threshold).", Kind: "python", Text: "nearest = []\nfor i in range(0, len(x), {block}):\n    part = cdist(x[i:i + {block}], x)   # your own function of two blocks\n    nearest.append(part.argpartition(10, axis=1)[:, :10])", Cost: "Some rewriting"},
			{Fix: "half_precision", Title: "Use nearest neighbors or a sparse matrix", Told: "Neighbors: `sklearn.neighbors.NearestNeighbors` or FAISS. Graphs: `scipy.sparse`. float32 halves 64-bit numbers.", Cost: "Some rewriting"},
		},
		Sources: []string{numpyError, "sklearn/metrics/pairwise.py", "https://numpy.org/doc/stable/user/basics.broadcasting.html"},
	},
	{
		ID: "numpy/pad", Kinds: []fact.Kind{fact.NumpyAlloc}, Said: []string{"np.pad("}, If: AtLeast(cause.Large),
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: numpyFigures, Headline: "asked `np.pad` for an array of {asked}",
		Means: "That is far more than an image or a batch usually takes, so the pad widths are probably wrong. In code that crops, they come from a box. Corners far outside the image, swapped corners or NaN give such widths.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the widths and the box before that line", Told: "Use your own names for `box` and `image`. Look for a sample with huge or negative corners.", Kind: "python", Text: "print(box, image.shape)\nassert max(abs(v) for v in box) < 10 * max(image.shape[:2]), box", Cost: "Free"},
			{Fix: "stream_dataset", Title: "Clip the box, or skip that sample", Told: "`np.clip` the box to the image's sides before cropping. Check where the box comes from (depth 0, wrong camera parameters, pixels instead of millimeters).", Cost: "A few minutes"},
			{Fix: "upgrade_version", Title: "Not your code: match data and version", Told: "Use the version and data preparation that its README names. Otherwise report the file that fails.", Cost: "Half an hour"},
		},
		Sources: []string{numpyError, "numpy/lib/_arraypad_impl.py"},
	},
	{
		ID: "numpy/axis-too-many", Kinds: []fact.Kind{fact.NumpyAlloc}, If: func(c *ledger.Case) bool { return AtLeast(units.GiB)(c) && tooManyAxes(c) },
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: numpyFigures, Headline: "tried to make {n} copies of an image in one array: {asked}",
		Means: "One image of {channels} channels in that size takes {each}, and the array holds {n} of them. Broadcasting often does that: a mask of shape (height, width) or (height, 1, width) meets an image (height, width, {channels}). If you really have {n} such images, this is all your data at once.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Add a channel axis to the mask", Told: "Before the failing line:", Kind: "python", Text: "print(image.shape, mask.shape)   # your own names\nmask = np.squeeze(mask)[..., None]   # (height, width, 1), beside (height, width, channels)", Cost: "Free"},
			{Fix: "lower_resolution", Title: "Not your code: smaller RGB images", Told: "Use RGB without transparency (`image.convert(\"RGB\")`) and a smaller size. Half of each side makes this array an eighth.", Cost: "Detail"},
			{Fix: "upgrade_version", Title: "Update that program", Told: "Such a bug shows with some inputs only. If it stays, report it with both shapes.", Cost: "A few minutes"},
		},
		Sources: []string{numpyError, "https://numpy.org/doc/stable/user/basics.broadcasting.html"},
	},
	{
		ID: "numpy/in-library", Kinds: []fact.Kind{fact.NumpyAlloc}, If: when.All(ordinaryArray, inLibrary), Unsaid: []string{"pandas/core"},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: libraryFigures, Headline: "could not get RAM for one array of {asked} inside {library}",
		Means: "{library} makes this array[[; your line calls it: `{own}`]]. Its sides, {shape}, usually count your data.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Give {library} less data", Told: "Leave out rows, cells, features or files you do not need, or call it for parts and join the results. Some functions take a selection: run `help()` on the one your line calls.", Cost: "A part at a time"},
			{Fix: "upgrade_version", Title: "Look for an option of {library} that skips this step", Told: "[[{hint} ]]Its newest version may have one. Search its issues for the size.", Cost: "A few minutes"},
			{Fix: "raise_memory_limit", Title: "Or run it where that much RAM is free", Told: "It needs more than {asked} on top of what the program holds, and often a copy of it. A job or container needs a limit above that.", Cost: "Money, or a queue"},
		},
		Sources: []string{numpyError, "swan_vis/swangraph.py"},
	},
	{
		ID: "numpy/too-large", Kinds: []fact.Kind{fact.NumpyAlloc}, If: ordinaryArray, Unsaid: []string{"pandas/core"},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: numpyFigures, Headline: "could not get RAM for one array of {asked}",
		Means: "The shape in the message gives this size[[: {n} items of {each}]]. Either all your data goes into one array (stacked, converted, made dense), or one side of the shape is wrong. Compare the sides with the number of your samples and the size of one.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", If: twoCounts, Title: "Keep the matrix sparse", Told: "Two long sides are usually users x items or documents x words, mostly zeros. Remove `.toarray()`, `.todense()` or `np.zeros((n, m))`, and use `scipy.sparse.csr_matrix((values, (rows, columns)))`. Compute all-pairs scores for a block of rows and keep the top k. If a side is far from your counts, print the shapes before that line.", Cost: "Some rewriting"},
			{Fix: "fix_shape", If: when.Not(twoCounts), Title: "If the shape is unexpected: trace where it comes from", Told: "Print the shapes of the operands in the failing line. Check what gives that side: a size read from a file, an `[:, None]`, or `np.zeros(max_id + 1)` with one huge ID.", Cost: "Free"},
			{Fix: "stream_dataset", Title: "If it is your data: process it in blocks", Told: "[[{block} of the {n} items are 1 GiB. ]]Keep the array on disk and work on blocks. If another library reads the file, use its window, chunk or lower-resolution option. A `.npy` file:", Kind: "python", Text: "x = np.load(\"x.npy\", mmap_mode=\"r\")   # your own file; rows come from disk as they are used\nout = np.lib.format.open_memmap(\"out.npy\", mode=\"w+\", dtype=np.float32, shape=shape)   # one to fill", Cost: "Some rewriting"},
			{Fix: "half_precision", If: twoCounts, Title: "Use a smaller type", Told: "[[float32 or int32 instead of 64 bit: {half}. ]]float16 or uint8 if the values allow it.", Cost: "Digits"},
			{Fix: "half_precision", If: when.Not(twoCounts), Title: "Use a smaller type or a sparse matrix", Told: "[[float32 or int32 instead of 64 bit: {half}. ]]uint8 for pixels. Keep counts and one-hot rows in `scipy.sparse`, without `toarray()`.", Cost: "Digits"},
		},
		Sources: []string{numpyError, "numpy/lib/_format_impl.py", "https://docs.scipy.org/doc/scipy/reference/sparse.html"},
	},
	{
		ID: "numpy/ram-full", Kinds: []fact.Kind{fact.NumpyAlloc}, If: small, Unsaid: []string{"pandas/core"},
		Cause: cause.HostMemory, Weight: cause.Strong, Figures: numpyFigures, Headline: "could not get {asked} of RAM: memory was nearly full",
		Means: "{asked} is little[[: {picture}]]. So memory, or a limit on it, was nearly used up before this line. Usual reasons: a loop that keeps results in a list, worker processes with a copy each, a model in the same process, or other programs. {bound}",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", If: loadsAll, Title: "Load each sample only when it is needed", Told: "Reading all samples into a list or array fills RAM piece by piece. Keep their paths (or a memory-mapped file), and read one where the loader asks for it:", Kind: "python", Text: "def __getitem__(self, i):   # of your Dataset\n    return read(self.paths[i]), self.labels[i]   # read: what the loop does for one file", Cost: "Some rewriting"},
			{Fix: "lower_resolution", If: frame, Title: "Process fewer or smaller frames", Told: "Video: cut it into short pieces, or scale it down first. Half the width and height is a quarter of each frame. Images: one at a time.", Kind: "shell", Text: "ffmpeg -i in.mp4 -c copy -f segment -segment_time 10 part%03d.mp4\nffmpeg -i in.mp4 -vf scale=1280:-2 small.mp4", Cost: "Detail, or several runs"},
			LookCommitted, LookRAM,
			{Fix: "stream_dataset", If: when.Not(loadsAll), Title: "Process one item at a time", Told: "Read an item, use it, write its result, and drop both. Do not keep them in a list.", Kind: "python", Text: "np.save(f\"out/{i:06}.npy\", result)   # i, result: your loop's\ndel result", Cost: "Disk space"},
			{Fix: "half_precision", Title: "Keep small types", Told: "Keep pixels as uint8: a quarter of float32, an eighth of float64. `astype(np.float32, copy=False)` avoids a second copy.", Cost: "None for images"},
		},
		Sources: []string{numpyError, "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html", "https://ffmpeg.org/ffmpeg-formats.html"},
	},
	{
		ID: "numpy/columns", Kinds: []fact.Kind{fact.NumpyAlloc}, If: func(c *ledger.Case) bool { return moderate(c) && columnsFirst(c) }, Unsaid: []string{"pandas/core"},
		Cause: cause.HostMemory, Weight: cause.Strong, Figures: numpyFigures, Headline: "could not get {asked} of RAM for one array: {n} long rows",
		Means: "An array of few long rows ({n} x {each}) is how pandas stores columns of one type. If you use pandas, this is probably a copy of columns, made by a filter, join, `copy()` or conversion while the table stays. {bound}",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Avoid copies of the whole table", Told: "Filter first and take only the columns you need (`df.loc[mask, [\"id\", \"value\"]]`). `del` older versions before the next. A service makes such a copy for each parallel request.", Cost: "Some rewriting"},
			{Fix: "stream_dataset", Title: "Read only the columns you need", Told: "Without pandas: work on slices of the long side. With pandas, choose columns where the table is read:", Kind: "python", Text: "df = pd.read_parquet(\"data.parquet\", columns=[\"id\", \"value\"])   # your own file and columns; CSV: usecols=", Cost: "Some rewriting"},
			{Fix: "half_precision", Title: "Use smaller column types", Told: "[[float32 instead of 64 bit: {half}. ]]Make repeated text `category`. `df.memory_usage(deep=True)` shows the large columns.", Cost: "Digits"},
			LookCommitted, LookRAM,
		},
		Sources: []string{numpyError, pandasScale, "https://pandas.pydata.org/docs/reference/api/pandas.read_parquet.html"},
	},
	{
		ID: "numpy/moderate", Kinds: []fact.Kind{fact.NumpyAlloc}, If: moderate, Unsaid: []string{"pandas/core"},
		Cause: cause.HostMemory, Weight: cause.Strong, Figures: numpyFigures, Headline: "could not get RAM for one array of {asked}",
		Means: "The array[[ ({n} x {each})]] did not fit beside what was in memory. Converting an array needs the old and the new one at once, and so does joining a list of arrays. {bound}",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Process it in parts", Told: "[[{block} of the {n} rows are 1 GiB. ]]Keep the array on disk and fill it row by row, without a list:", Kind: "python", Text: "x = np.load(\"x.npy\", mmap_mode=\"r\")   # your own file; rows come from disk when they are touched\nout = np.lib.format.open_memmap(\"out.npy\", mode=\"w+\", dtype=np.float32, shape=x.shape)", Cost: "Disk speed"},
			{Fix: "half_precision", Title: "Use a smaller type from the start", Told: "[[float32 instead of 64 bit: {half}. ]]Pass `dtype=` where the array is made or read; a later `astype` needs both arrays for a moment.", Cost: "seven digits instead of sixteen"},
			LookCommitted, LookRAM,
		},
		Sources: []string{numpyError, "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
}

// Who fills RAM, by system; on Windows the page file decides.
var (
	LookCommitted = cause.Cure{If: reader.OnWindows, Fix: "raise_pagefile", Title: "Enlarge the page file", Told: "Open Task Manager, Performance, Memory. If \"Committed\" is at its limit, Windows refuses more memory even when RAM looks free. Run `sysdm.cpl`: Advanced, Performance Settings, Advanced, Virtual memory, Change. Set a custom maximum of 65536 MB on an SSD and restart.", Cost: "Disk space and a restart"}
	LookRAM       = cause.Cure{If: when.Not(reader.OnWindows), Fix: "close_other_apps", Title: "See what uses RAM", Kind: "shell", Text: "free -h; ps -eo pid,rss,args --sort=-rss | head\nulimit -v; sysctl vm.overcommit_memory   # a number, or 2: a limit", Told: "Close other programs and leftover Python processes.[[ {windows_too}]] Linux, with plenty available: a limit refused it. `ulimit -v unlimited` lifts the shell's; the administrator sets overcommit and job limits.", Cost: "Free"}
)

// loadsAll: the reader's own code that prepares a data set was reading it, or the
// array is one picture of a size that data sets have.
func loadsAll(c *ledger.Case) bool {
	if s := Sides(c); len(s) == 3 && (s[2] == 3 || s[0] == 3 || s[2] == 1) && max(s[0], s[1]) < 720 && small(c) && len(ledger.Trace(c)) == 0 {
		return true
	}
	return slices.ContainsFunc(ledger.Trace(c), func(x fact.Code) bool {
		file := strings.ToLower(path.Base(x.File))
		return x.Own && (strings.Contains(file, "data") || strings.Contains(file, "loader")) && (x.Function == "__init__" || strings.Contains(x.Function, "load") || strings.Contains(x.Function, "read"))
	})
}

// frame: the array is one large picture with its channels, as a video has them.
func frame(c *ledger.Case) bool {
	s := Sides(c)
	return len(s) == 3 && (s[2] == 3 || s[2] == 4) && s[0] >= 720 && s[1] >= 720 && !loadsAll(c)
}

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
