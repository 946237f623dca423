package calls

import (
	"slices"
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
		Means: "The line reads a whole file: {grows} What the program already held counts too. On Linux, suspect a limit (`ulimit -v`, a job's), a 32-bit Python, or one very large array. On Windows, RAM and page file together are the limit.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Read it in parts or memory-mapped", Told: "{instead}", Cost: "Some rewriting"},
			PageFile, LookWhy, SwapBridge,
		},
		Sources: []string{"https://docs.python.org/3/library/exceptions.html", "https://numpy.org/doc/stable/reference/generated/numpy.load.html", "https://docs.pytorch.org/docs/stable/generated/torch.load.html"},
	},
	{
		ID: "other/memory-between-processes", Kinds: []fact.Kind{fact.PythonMemory}, Said: []string{"multiprocessing/reduction.py", "multiprocessing/queues.py", "multiprocessing/popen_spawn_win32.py", "multiprocessing/connection.py"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of RAM while passing data between its processes (MemoryError)",
		Means: "The traceback runs through Python's multiprocessing: an object was being copied for a worker process, or back from one. Each worker holds its own copies, and batches made in advance wait in RAM. So the number of workers multiplies what is needed.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", If: inPool, Title: "Use fewer processes", Told: "The traceback shows a pool: `Pool(processes=2)`, `ProcessPoolExecutor(max_workers=2)`. Many scripts have an option for it (`--n_processes`, `--num_workers`, `-j`). Use 1 as a test.", Cost: "slower"},
			{Fix: "lower_num_workers", If: when.Not(inPool), Title: "Use fewer worker processes", Told: "Set the DataLoader's `num_workers` to 0 as a test, then 1 or 2 with `prefetch_factor=2`. With `multiprocessing.Pool` or joblib, start fewer processes.", Cost: "slower loading"},
			{Fix: "stream_dataset", Title: "Pass less between them", Told: "Let a worker open its own file by path and index instead of getting the whole data set. Keep numbers in NumPy arrays, not in lists of objects. Smaller batches also help.", Cost: "some rewriting"},
			PageFile, LookWhy,
		},
		Sources: []string{"https://github.com/python/cpython/blob/main/Lib/multiprocessing/reduction.py", "https://docs.pytorch.org/docs/stable/data.html"},
	},
	{
		ID: "other/python-memory-android", Kinds: []fact.Kind{fact.PythonMemory}, Said: android,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of RAM on the phone (MemoryError)",
		Means: "Python in an Android app uses the phone's memory directly, not the Java heap. The message has no size. A few hundred MB of data take several times that as Python objects.",
		Not:   "`android:largeHeap`: it is for Java's objects.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Read the data in parts", Told: "Read row by row with the `csv` module, use `pandas.read_csv(path, usecols=[...], chunksize=50000)`, or query a SQLite file. Keep numbers in NumPy arrays, not lists.", Cost: "some rewriting"},
			{Fix: "upgrade_version", Title: "Build the app for 64 bit, if it is not", Told: "A 32-bit app (`armeabi-v7a`, `x86`) can use 2 to 4 GB at most. Add `arm64-v8a` to `abiFilters` under `ndk` in Gradle.", Cost: "a new build"},
		},
		Sources: []string{"https://chaquo.com/chaquopy/doc/current/android.html", "https://developer.android.com/guide/topics/manifest/application-element", "https://developer.android.com/ndk/guides/abis"},
	},
	lineCard,
	{
		ID: "other/memory-in-package", Kinds: []fact.Kind{fact.PythonMemory}, Unsaid: append([]string{"pandas/core"}, android...), If: inLibrary, Figures: libraryFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM inside {library} (MemoryError)",
		Means: "{library} wanted the memory[[, called by `{own}`]]. What it needs follows from what it was given; the message has no size.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Give {library} less at once", Told: "Leave out rows, columns or files that you do not need. Or cut the input, run the parts one by one, and join the results.", Cost: "some rewriting"},
			SixtyFour, PageFile,
			{Fix: "lower_batch_size", Title: "Look for its option for parts", Told: "`--help` or the documentation may name a chunk, batch or buffer size, streaming, or a number of jobs: lower it.", Cost: "slower"},
			LookWhy,
		},
		Sources: []string{"https://docs.python.org/3/library/exceptions.html"},
	},
	{
		ID: "other/python-memory-windows", Kinds: []fact.Kind{fact.PythonMemory}, Unsaid: []string{"pandas/core"}, If: reader.OnWindows,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM (MemoryError)",
		Means: "Windows refuses memory when RAM and page file together are used up. A 32-bit Python is refused at 2 GB (4 at most), whatever the computer has. The message does not tell which. The last line of the traceback need not be what filled the memory.",
		Cures: []cause.Cure{
			SixtyFour,
			{Fix: "stream_dataset", Title: "Load less at once", Told: "Read and process the data in parts, and write results as they come. Keep numbers in NumPy arrays (4 or 8 bytes each); in a list each takes about 36.", Cost: "Some rewriting"},
			PageFile,
		},
		Sources: []string{"https://docs.python.org/3/library/exceptions.html", "https://learn.microsoft.com/en-us/windows/win32/memory/memory-limits-for-windows-releases"},
	},
	{
		ID: "other/python-memory", Kinds: []fact.Kind{fact.PythonMemory}, Unsaid: append([]string{"pandas/core"}, android...), If: when.Not(reader.OnWindows),
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM (MemoryError)",
		Means: "The system refused RAM to Python; the message does not say how much. One array above free RAM and swap is refused at once. With many small objects, suspect a limit (`ulimit -v`, strict overcommit) or a 32-bit Python (2 to 4 GB at most). The last line of the traceback need not be what filled the memory.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Load less at once", Told: "Read and process the data in parts, and write results as they come. Keep numbers in NumPy arrays (4 or 8 bytes each); in a list each takes about 36. Check for 32 bit: `python -c \"import struct; print(struct.calcsize('P') * 8)\"`.", Cost: "Some rewriting"},
			LookWhy, SwapBridge,
		},
		Sources: []string{"https://docs.python.org/3/library/exceptions.html", "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
}

// inPool: the workers are those of a pool, not of a data loader.
func inPool(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(f fact.Code) bool {
		return strings.HasSuffix(f.File, "multiprocessing/pool.py") || strings.HasSuffix(f.File, "futures/process.py")
	})
}

// android are the folders that Android gives to an app.
var android = []string{"/data/user/0/", "/data/data/"}

// readsWhole says what a line that reads a file at once takes, and what to write
// instead; nil for another line.
func readsWhole(c *ledger.Case) map[string]string {
	frames := ledger.Trace(c)
	for _, f := range frames[max(0, len(frames)-3):] {
		for _, way := range [...]struct{ call, grows, instead string }{
			{"pickle.load", "the objects of a pickle can take several times its size on disk.", "Write it in another format: numbers as `.npy` (`np.load(path, mmap_mode=\"r\")` reads only what is used), tables as Parquet, samples as one file each."},
			{"joblib.load", "all of its arrays and objects.", "`joblib.load(path, mmap_mode=\"r\")`, if it was written without compression."},
			{"json.load", "its text, and objects that can take several times as much.", "Use JSON lines, one object at a time (`for line in f: json.loads(line)`). For one large array use the package ijson."},
			{"torch.load(", "the tensors, onto the device that they were saved from.", "`torch.load(path, map_location=\"cpu\", mmap=True)` (PyTorch 2.1 and later) reads only what is used. Save the model without the optimizer if you do not train on."},
			{"np.load(", "the array in one piece.", "`np.load(path, mmap_mode=\"r\")` reads only what is used (`.npy` files; not `.npz`)."},
			{".read()", "its content, and whatever is made of it.", "Line by line (`for line in f`), or `f.read(1 << 20)` in a loop."},
			{".readlines()", "a string for each line, with about 50 bytes on top of its text.", "Line by line: `for line in f`."},
			{"loadmat(", "all variables, usually in 64 bit.", "`variable_names=[\"x\"]` reads only those. Files of version 7.3 are HDF5: `h5py.File(path)[\"x\"][0:1000]`."},
		} {
			if strings.Contains(f.Source, way.call) {
				return map[string]string{"grows": way.grows, "instead": way.instead}
			}
		}
	}
	return nil
}
