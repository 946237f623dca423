package calls

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// MemoryErrorCards are about Python's own exception, which has no figures.
var MemoryErrorCards = []cause.Card{
	Saving("other", cause.Cure{}),
	{
		ID: "other/memory-while-reading", Kinds: []fact.Kind{fact.PythonMemory}, Unsaid: []string{"pandas/core"}, If: func(c *ledger.Case) bool { return readsWhole(c) != nil }, Figures: readsWhole,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM while reading a whole file (MemoryError)",
		Means: "The line reads a whole file: {grows} What the program already held counts too. On Linux a refusal (instead of a kill) points to a limit (`ulimit -v`, a job's), a 32-bit Python, or one very large piece; on Windows to RAM and page file together.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Read it in parts or memory-mapped", Told: "{instead}", Cost: "Some rewriting"},
			PageFile, LookWhy, SwapBridge,
		},
		Sources: []string{"https://docs.python.org/3/library/exceptions.html", "https://numpy.org/doc/stable/reference/generated/numpy.load.html", "https://docs.pytorch.org/docs/stable/generated/torch.load.html"},
	},
	{
		ID: "other/python-memory-android", Kinds: []fact.Kind{fact.PythonMemory}, Said: android,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was refused RAM on the phone (MemoryError)",
		Means: "Python in an Android app uses the phone's memory directly, not the Java heap. The message has no size; a few hundred MB of data as Python objects are several times that.",
		Not:   "`android:largeHeap`: it is for Java's objects.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Read the data in parts", Told: "The `csv` module row by row, `pandas.read_csv(path, usecols=[...], chunksize=50000)`, or a SQLite file that is queried. Numbers as NumPy arrays, not lists.", Cost: "some rewriting"},
			{Fix: "upgrade_version", Title: "Build the app for 64 bit, if it is not", Told: "A 32-bit app (`armeabi-v7a`, `x86`) ends at 2 to 4 GB of addresses; `arm64-v8a` does not. In Gradle: `abiFilters` under `ndk`.", Cost: "a new build"},
		},
		Sources: []string{"https://chaquo.com/chaquopy/doc/current/android.html", "https://developer.android.com/guide/topics/manifest/application-element", "https://developer.android.com/ndk/guides/abis"},
	},
	{
		ID: "other/python-memory-windows", Kinds: []fact.Kind{fact.PythonMemory}, Unsaid: []string{"pandas/core"}, If: reader.OnWindows,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused RAM (MemoryError)",
		Means: "Windows refuses when RAM and page file together are given out, and a 32-bit Python is refused at 2 GB (4 at most), whatever the computer has. The message has no size and does not tell which. The last line of the traceback need not be what filled memory.",
		Cures: []cause.Cure{
			SixtyFour,
			{Fix: "stream_dataset", Title: "Load less at once", Told: "Read and process the data in parts and write results as they come. Keep numbers in NumPy arrays (4 or 8 bytes each): in a list each takes about 36.", Cost: "Some rewriting"},
			PageFile,
		},
		Sources: []string{"https://docs.python.org/3/library/exceptions.html", "https://learn.microsoft.com/en-us/windows/win32/memory/memory-limits-for-windows-releases"},
	},
	{
		ID: "other/python-memory", Kinds: []fact.Kind{fact.PythonMemory}, Unsaid: append([]string{"pandas/core"}, android...), If: when.Not(reader.OnWindows),
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused RAM (MemoryError)",
		Means: "The system refused RAM to Python; the message has no size. A single array beyond free RAM and swap is refused at once. Many small objects usually get a program killed on Linux, so for those a refusal points to a limit (`ulimit -v`, strict overcommit) or a 32-bit Python (2 to 4 GB at most). The last line of the traceback need not be what filled memory.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Load less at once", Told: "Read and process the data in parts instead of all at once; write results as they come. Keep numbers in NumPy arrays (4 or 8 bytes each): in a list each takes about 36. Check for 32 bit: `python -c \"import struct; print(struct.calcsize('P') * 8)\"`.", Cost: "Some rewriting"},
			LookWhy, SwapBridge,
		},
		Sources: []string{"https://docs.python.org/3/library/exceptions.html", "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
}

// android are the folders that Android gives to an app.
var android = []string{"/data/user/0/", "/data/data/"}

// readsWhole says what a line that reads a file at once takes, and what to write
// instead; nil for another line.
func readsWhole(c *ledger.Case) map[string]string {
	frames := ledger.Trace(c)
	for _, f := range frames[max(0, len(frames)-3):] {
		for _, way := range [...]struct{ call, grows, instead string }{
			{"pickle.load", "the objects of a pickle can take several times its size on disk.", "Where it is written, use another format: numbers as `.npy` (`np.load(path, mmap_mode=\"r\")` reads what is used), tables as Parquet, samples as one file each."},
			{"joblib.load", "all of its arrays and objects.", "`joblib.load(path, mmap_mode=\"r\")`, if it was written without compression."},
			{"json.load", "its text, and objects that can take several times as much.", "JSON lines, one object at a time (`for line in f: json.loads(line)`), or the package ijson for one large array."},
			{"torch.load(", "the tensors, onto the device that they were saved from.", "`torch.load(path, map_location=\"cpu\", mmap=True)` (PyTorch 2.1 and later) reads what is used; without the optimizer, if only the model is wanted."},
			{"np.load(", "the array in one piece.", "`np.load(path, mmap_mode=\"r\")` reads what is used (`.npy`; an `.npz` cannot be mapped)."},
			{".read()", "its content, and whatever is made of it.", "Line by line (`for line in f`), or `f.read(1 << 20)` in a loop."},
			{".readlines()", "a string for each line, with some 50 bytes beside its text.", "Line by line: `for line in f`."},
			{"loadmat(", "all variables, in 64 bit as a rule.", "`variable_names=[\"x\"]` reads only those; files of version 7.3 are HDF5: `h5py.File(path)[\"x\"][0:1000]`."},
		} {
			if strings.Contains(f.Source, way.call) {
				return map[string]string{"grows": way.grows, "instead": way.instead}
			}
		}
	}
	return nil
}
