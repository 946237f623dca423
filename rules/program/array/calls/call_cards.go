package calls

import (
	"math"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Calls of Python's libraries that make large arrays, as tracebacks name them.
var (
	densify  = []string{"in toarray", "in todense", ".toarray()", ".todense()", "in _process_toarray_args"}
	oneHot   = []string{"in to_categorical", "to_categorical(", "np_utils.py"}
	allDist  = []string{"in pdist", "in cdist", "in squareform", "in cosine_similarity", "in pairwise_distances", "in euclidean_distances", "in _euclidean_distances", "in rbf_kernel", "in linear_kernel", "metrics/pairwise.py", "scipy/spatial/distance.py", "scipy/cluster/hierarchy.py"}
	gram     = []string{"sklearn/gaussian_process/", "_spectral_clustering.py", "sklearn/manifold/_spectral", "sklearn/manifold/_mds.py", "sklearn/manifold/_isomap.py", "sklearn/kernel_ridge.py", "_affinity_propagation.py", "affinity_propagation_.py", "in _optics"}
	dummies  = []string{"in get_dummies", "in _get_dummies_1d", "get_dummies("}
	grouping = []string{"core/groupby/", "in groupby"}
	pivoting = []string{"reshape/pivot.py", "in unstack", "in _unstack", "in pivot", "crosstab("}
	// bits32 are folders into which Python's installer puts a 32-bit Python.
	bits32 = []string{"Python35-32", "Python36-32", "Python37-32", "Python38-32", "Python39-32", "Python310-32", "Python311-32", "(x86)/Python", "Miniconda2-32", "Anaconda3-32"}
	// narrowed is where the reader's own line makes a copy of another type.
	narrowed = []string{".astype(", "np.array(", "np.asarray(", "np.concatenate(", "np.stack(", "np.vstack(", "np.hstack("}
)

// inRAMCall: NumPy's refusal, with or without a size.
func inRAMCall(c *ledger.Case) bool { return c.Kind(fact.NumpyAlloc, fact.PythonMemory) }

func large(c *ledger.Case) bool { return inRAMCall(c) && !Crumb(c) }

// condensed is the count of items whose pairs make a vector of that length: n
// (n - 1) / 2, as SciPy's pdist has it; 0 where it is none.
func condensed(c *ledger.Case) int64 {
	s := Sides(c)
	if len(s) != 1 || s[0] < 1<<20 {
		return 0
	}
	n := int64((1 + math.Sqrt(1+8*float64(s[0]))) / 2)
	for _, n := range []int64{n - 1, n, n + 1} {
		if n*(n-1)/2 == s[0] {
			return n
		}
	}
	return 0
}

// stacked: many pictures in one array: count, height, width, and channels or not.
func stacked(c *ledger.Case) bool {
	s := Sides(c)
	if !c.Kind(fact.NumpyAlloc) || len(s) < 3 || len(s) > 5 || tooManyAxes(c) || !AtLeast(256*units.MiB)(c) {
		return false
	}
	return len(s) == 4 && (s[3] == 1 || s[3] == 3 || s[3] == 4) && s[0] >= 16 && min(s[1], s[2]) >= 16 && max(s[1], s[2]) <= 8192
}

// callFigures are those of the shape, by what the call makes of them.
func callFigures(c *ledger.Case) map[string]string {
	out := numpyFigures(c)
	out["items"], out["columns"], out["bytes8"], out["own"] = "", "", "", ""
	s := Sides(c)
	switch n := condensed(c); {
	case n > 0:
		out["items"] = Grouped(n)
	case len(s) == 2 && s[0] == s[1]:
		out["items"] = Grouped(s[0])
	}
	if len(s) >= 2 {
		out["n"], out["columns"] = Grouped(s[0]), Grouped(s[1])
	}
	if len(s) >= 3 && stacked(c) {
		product := int64(1)
		for _, side := range s {
			product *= side
		}
		out["bytes8"] = units.Amount(product)
	}
	out["own"] = strings.TrimSpace(OwnLine(c))
	return out
}

var (
	sixtyFour = cause.Cure{Fix: "upgrade_version", If: reader.OnWindows, Title: "See that Python has 64 bits", Kind: "shell", Text: "python -c \"import struct; print(struct.calcsize('P') * 8)\"", Told: "A 32-bit one (2 GB at most, whatever the computer has) is the commonest cause on Windows: install the 64-bit one.", Cost: "half an hour"}
)

// CallCards are about arrays of RAM whose call says what they are.
var CallCards = []cause.Card{
	{
		ID: "numpy/32-bit", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory, fact.NativeAlloc}, Said: bits32, If: when.Not(AtLeast(3 * units.GiB)),
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
		Headline: "ended at the 2 GB that a 32-bit Python may have",
		Means:    "The folder in the traceback is that of a 32-bit Python: it has 2 GB of addresses (4 at most), whatever RAM the computer has, and needs a free stretch in them for each array.[[ {asked} in one piece was no longer to be had.]]",
		Not:      "More RAM or a larger page file: a 32-bit process cannot use them.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Install the 64-bit Python, and the packages again", Told: "\"Windows installer (64-bit)\" on python.org, or Anaconda 64-bit; this prints 64 then:", Kind: "shell", Text: "python -c \"import struct; print(struct.calcsize('P') * 8)\"", Cost: "half an hour"},
			{Fix: "stream_dataset", Title: "Until then: in parts", Told: "pandas `chunksize=`, NumPy `np.load(..., mmap_mode=\"r\")` on small pieces; float32, `int32` and categories.", Cost: "some rewriting"},
			{Fix: "detach_accumulated", Title: "`del` what is done with", Told: "Before the line that fails; a fresh process for each file.", Cost: "none"},
		},
		Sources: []string{"https://docs.python.org/3/using/windows.html", numpyError},
	},
	{
		ID: "numpy/one-hot", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: oneHot, If: large, Figures: callFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "had no RAM for labels as one-hot rows[[: {asked}]]",
		Means:    "The call turns each label into a row of zeros with a single 1[[: {n} rows of {columns} numbers]]. That is the number of classes times the labels themselves, and it need not exist: losses take the labels as they are.",
		Not:      "A smaller batch: this is made before training; swap.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Keep labels as integers", Cost: "none", Kind: "python", Text: "model.compile(optimizer=\"adam\", loss=\"sparse_categorical_crossentropy\", metrics=[\"accuracy\"])   # and no to_categorical"},
			{Fix: "stream_dataset", Title: "It must be one-hot: a batch at a time", Cost: "some lines", Told: "In a generator or `Sequence`, or in the pipeline: `ds.map(lambda x, y: (x, tf.one_hot(y, classes)))`. Inputs: an `Embedding` layer takes indices."},
			{Fix: "half_precision", Title: "Or fewer classes, one byte each", Cost: "rare classes", Told: "`dtype=\"uint8\"` is a quarter; a vocabulary cut to the commonest words shortens every row."},
			sixtyFour,
		},
		Sources: []string{"keras/src/utils/numerical_utils.py", "keras/src/losses/losses.py", numpyError},
	},
	{
		ID: "numpy/densified", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: densify, If: large, Unsaid: Joined(oneHot, allDist), Figures: callFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "made a sparse matrix dense, and RAM was too small for that[[: {asked}]]",
		Means:    "`toarray` or `todense` writes out all the zeros[[: {n} rows of {columns} columns]]. As a sparse matrix only what is not zero takes room, as a rule less than a hundredth.",
		Not:      "Swap or closing programs, if it comes to tens of GB.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Leave it sparse", Cost: "none as a rule", Told: "Most of scikit-learn takes `scipy.sparse` as it is (linear models, naive Bayes, `SGDClassifier`, `TruncatedSVD`, k-means, LightGBM and XGBoost, too): drop the `.toarray()`."},
			{Fix: "lower_batch_size", Title: "It must be dense: fewer columns first", Cost: "rare words", Told: "Texts: `TfidfVectorizer(max_features=5000, min_df=5)`; else `SelectKBest`, or `TruncatedSVD(100)`, whose result is dense and small."},
			{Fix: "stream_dataset", Title: "Or a block of rows at a time", Cost: "some rewriting", Kind: "python", Text: "for i in range(0, X.shape[0], 1000):\n    model.partial_fit(X[i:i + 1000].toarray(), y[i:i + 1000])   # an estimator that has partial_fit; predict likewise"},
			sixtyFour,
		},
		Sources: []string{"scipy/sparse/_base.py", "https://docs.scipy.org/doc/scipy/reference/sparse.html", "https://scikit-learn.org/stable/computing/scaling_strategies.html"},
	},
	{
		ID: "numpy/distances", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: Joined(allDist, gram), If: large, Unsaid: []string{"sklearn/neighbors/"}, Figures: callFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "had no RAM for a number for each pair of rows[[: {asked}]]",
		Means:    "The call compares every row with every other[[: {items} rows make {asked}]]; twice the rows need four times as much, so that RAM never keeps up.[[ It failed in `{own}`.]]",
		Not:      "Swap; a smaller type, which only halves it.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "A method that does without all pairs", Cost: "other results in detail", Ways: []cause.Way{
				{For: "Most similar rows", Text: "`NearestNeighbors(n_neighbors=10).fit(X).kneighbors(X)`, or FAISS; of sparse texts `cosine_similarity(X, dense_output=False)`"},
				{For: "Clusters", Text: "`MiniBatchKMeans`, `HDBSCAN`, `Birch`; `AgglomerativeClustering(connectivity=kneighbors_graph(X, 20))`"},
				{For: "Kernel methods", Text: "`Nystroem` or `RBFSampler` before a linear model; a sparse or local Gaussian process"},
			}},
			{Fix: "stream_dataset", Title: "A block of rows at a time, the best of each kept", Cost: "some rewriting", Kind: "python", Text: "from sklearn.metrics import pairwise_distances_chunked\nnearest = np.vstack([d.argpartition(10, axis=1)[:, :10] for d in pairwise_distances_chunked(X, working_memory=1024)])   # MiB at a time"},
			{Fix: "lower_batch_size", Title: "Or a sample of the rows", Cost: "less detail", Told: "10,000 rows need 0.8 GB of 64-bit pairs, 30,000 already 7 GB."},
		},
		Sources: []string{"sklearn/metrics/pairwise.py", "scipy/spatial/distance.py", "https://scikit-learn.org/stable/modules/kernel_approximation.html"},
	},
	{
		ID: "numpy/stacked", Kinds: []fact.Kind{fact.NumpyAlloc}, If: stacked, Figures: callFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "had no RAM for all the images in one array: {asked}",
		Means:    "The shape tells: {n} images at once, {each} each in this type[[; as bytes (uint8) they would be {bytes8}]]. What they are made from is in memory as well: a list beside the array, or the old type beside the new one.[[ {bound}]]",
		Not:      "A smaller batch in training: this is all the data; anything about the graphics card.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Read them while training, a batch at a time", Cost: "some rewriting", Told: "Keras: `tf.keras.utils.image_dataset_from_directory(folder, image_size=(224, 224), batch_size=32)`; PyTorch: a `Dataset` that opens one file in `__getitem__`. NumPy files: `np.load(path, mmap_mode=\"r\")`."},
			{Fix: "half_precision", Title: "Keep pixels as uint8, divide by 255 in the batch", Cost: "none", Told: "An eighth of float64, a quarter of float32: `np.empty(shape, np.uint8)`, filled image by image, and no list in between."},
			{Fix: "lower_resolution", Title: "Smaller images when they are read", Cost: "detail", Told: "Half of each side is a quarter."},
			LookCommitted, LookRAM, sixtyFour,
		},
		Sources: []string{numpyError, "keras/src/utils/image_dataset_utils.py"},
	},
}

// TableCards are about calls of pandas.
var TableCards = []cause.Card{
	{
		ID: "pandas/dummies", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: dummies, If: large, Figures: callFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "had no RAM for dummy columns[[: {asked}]]",
		Means:    "`get_dummies` makes a column for each value that occurs. So many[[ ({columns})]] mean that a column of numbers, dates, IDs or free texts was taken for categories; older pandas even builds a square of them first.",
		Not:      "Swap or closing programs: the column itself is the fault.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "See which column it is", Cost: "free", Kind: "python", Text: "print(df.select_dtypes([\"object\", \"category\"]).nunique().sort_values().tail())   # thousands: drop it, or make it a number\ndf[\"price\"] = pd.to_numeric(df[\"price\"], errors=\"coerce\")   # your own column"},
			{Fix: "stream_dataset", Title: "Meant: sparse columns, rare values together", Cost: "rare values", Told: "`pd.get_dummies(df, columns=[...], sparse=True)`, or `OneHotEncoder(min_frequency=50, handle_unknown=\"infrequent_if_exist\")`, whose result is sparse (scikit-learn 1.1 and later)."},
			{Fix: "half_precision", Title: "Or no dummies at all", Cost: "another model", Told: "Codes (`df[c].cat.codes`), a target mean, or a model that takes categories (LightGBM, CatBoost)."},
		},
		Sources: []string{"pandas/core/reshape/encoding.py", "sklearn/preprocessing/_encoders.py"},
	},
	{
		ID: "pandas/groups", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: Joined(grouping, pivoting), If: large, Unsaid: Joined(dummies, []string{"reshape/merge.py"}), Figures: callFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "had no RAM for the result of grouping or pivoting[[: {asked}]]",
		Means:    "With keys of type category, `groupby` makes a group for each combination of values, whether it occurs or not; `pivot`, `unstack` and `crosstab` make a cell for each. Three keys of 10,000 values are a million millions. Where keys are few it is the table itself that is large.",
		Not:      "Swap: the number of combinations is the fault.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Only the groups that occur", Cost: "none", Kind: "python", Text: "df.groupby([\"a\", \"b\"], observed=True)[\"value\"].sum()   # your own keys; or df[\"a\"] = df[\"a\"].astype(str) before"},
			{Fix: "stream_dataset", Title: "Pivot: leave it long, or sparse", Cost: "some rewriting", Told: "`groupby(...).agg(...)` in place of `pivot_table`; a matrix for a model: `scipy.sparse.coo_matrix((values, (a.cat.codes, b.cat.codes)))`."},
			{Fix: "half_precision", Title: "Fewer columns in it", Cost: "none", Told: "Take the columns that you sum up before grouping; DuckDB or Polars group tables that pandas cannot hold."},
		},
		Sources: []string{"pandas/core/groupby/groupby.py", "https://pandas.pydata.org/docs/user_guide/categorical.html", pandasScale},
	},
}

// bareCallCards hold for a MemoryError without a size, where no traceback needs to
// show NumPy's own files.
var bareCallCards = []cause.Card{
	{
		ID: "other/converted", Kinds: []fact.Kind{fact.PythonMemory}, Said: narrowed, If: func(c *ledger.Case) bool { return OwnLineHas(c, narrowed...) }, Unsaid: Joined(densify, oneHot, allDist, dummies), Figures: callFigures,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "had no RAM for a copy of a whole array (MemoryError)",
		Means:    "`{own}` makes a new array beside the old one: for a moment both are there, and a list that it is made from as well. One request of that size is refused at once, also on Linux, if it is beyond what is free in RAM and swap; the message has no size.",
		Not:      "A smaller batch, or anything about the graphics card: this is all the data, in RAM.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Convert a sample or a batch, not the whole", Cost: "some rewriting", Told: "Leave the stored array as it is and convert where a sample is taken (`__getitem__`, the generator): `x = data[i].astype(np.float32)`. From disk: `np.load(path, mmap_mode=\"r\")` (.npy; an .npz is read whole)."},
			{Fix: "half_precision", Title: "No second copy", Cost: "none", Told: "Give `dtype=` where it is made; `astype(np.float32, copy=False)` copies only if it must; `del` the old one, or fill `np.empty(shape, np.float32)` in slices. `print(a.shape, a.dtype, a.nbytes / 2**30)` shows the size in GiB."},
			SwapBridge, LookCommitted, sixtyFour, LookRAM,
		},
		Sources: []string{numpyError, "https://numpy.org/doc/stable/reference/generated/numpy.ndarray.astype.html", "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
	{
		ID: "other/sklearn-tree", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainHost, fact.PythonMemory, fact.NativeAlloc}, Said: []string{"sklearn/tree", "sklearn.tree._tree", "sklearn/ensemble/forest.py", "sklearn/ensemble/_forest.py"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "had no RAM for a tree of a forest[[: {asked} more]]",
		Means:    "scikit-learn grows trees to the end unless told otherwise: one with noisy or continuous targets gets nearly as many leaves as rows, each node some 64 bytes and one number for each class, times the number of trees. A tree's array doubles when it grows.[[ {asked} was such a piece.]]",
		Not:      "Anything about a graphics card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Bound the trees", Cost: "seldom accuracy", Kind: "python", Text: "RandomForestRegressor(n_estimators=100, max_depth=16, min_samples_leaf=10, max_samples=0.3, n_jobs=2)   # or ...Classifier; max_samples since 0.22"},
			{Fix: "use_smaller_model", Title: "Or boosting on bins", Cost: "another model", Told: "`HistGradientBoostingClassifier` or `...Regressor`, LightGBM: 256 bins a column, small trees."},
			{Fix: "fix_shape", Title: "See whether it is meant to classify", Cost: "free", Told: "A classifier with thousands of classes keeps a number for each in every node: continuous targets want the regressor."},
			sixtyFour,
		},
		Sources: []string{"sklearn/tree/_utils.pyx", "sklearn/tree/_tree.pyx", "sklearn/ensemble/_forest.py"},
	},
	{
		ID: "other/loadtxt", Kinds: []fact.Kind{fact.PythonMemory}, Said: []string{"in loadtxt", "in genfromtxt", "np.loadtxt(", "np.genfromtxt(", "lib/npyio.py"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of RAM while NumPy read a text file",
		Means:    "`loadtxt` and `genfromtxt` hold every value as a Python object first (some 30 to 60 bytes, in lists), and make the array of 8 bytes a number from that afterwards; older NumPy much more so. So a file of 1 GB can take 10 and more.",
		Not:      "A graphics card and its settings.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Let pandas read it", Cost: "none", Kind: "python", Text: "X = pd.read_csv(\"train.csv\", header=None, dtype=np.float32).to_numpy()   # your own file; a tenth of the memory\nnp.save(\"train.npy\", X)   # next time: np.load(\"train.npy\", mmap_mode=\"r\")"},
			{Fix: "lower_batch_size", Title: "Only the columns and rows that you use", Cost: "some rewriting", Told: "`usecols=`, `max_rows=` and `skiprows=`, or `chunksize=` of pandas; `dtype=np.float32`."},
			LookWhy, PageFile, sixtyFour,
		},
		Sources: []string{"numpy/lib/_npyio_impl.py", "https://pandas.pydata.org/docs/reference/api/pandas.read_csv.html"},
	},
	{
		ID: "other/sparse-solve", Kinds: []fact.Kind{fact.PythonMemory, fact.PlainMemory, fact.PlainHost, fact.NativeAlloc}, Said: []string{"linsolve.py", "in splu", "in spsolve", "in factorized", "_superlu"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "had no RAM for the factors of a sparse matrix",
		Means:    "A direct solver (SuperLU) fills in what was zero: the factors of a sparse matrix can be hundreds of times the matrix, most of all for grids in three dimensions. SuperLU in SciPy also ends where its factors have more than 2^31 values, however much RAM is free.",
		Not:      "float32, which only halves it; a graphics card.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "An iterative solver", Cost: "a tolerance to choose", Kind: "python", Text: "ilu = scipy.sparse.linalg.spilu(A.tocsc(), drop_tol=1e-4, fill_factor=10)\nM = scipy.sparse.linalg.LinearOperator(A.shape, ilu.solve)\nx, info = scipy.sparse.linalg.gmres(A, b, M=M)   # symmetric and positive: cg"},
			{Fix: "upgrade_version", Title: "Or a better direct one", Cost: "an installation", Told: "scikit-umfpack (64-bit indices), PARDISO (`pypardiso`), CHOLMOD (`scikit-sparse`) for symmetric ones; `permc_spec=\"COLAMD\"` or `\"MMD_AT_PLUS_A\"` changes the fill of `splu`."},
			{Fix: "lower_resolution", Title: "A coarser grid, or fewer unknowns at once", Told: "Half the points in each direction is an eighth of the unknowns in space, and far less of the fill.", Cost: "detail"},
		},
		Sources: []string{"scipy/sparse/linalg/_dsolve/linsolve.py", "https://docs.scipy.org/doc/scipy/reference/sparse.linalg.html"},
	},
	{
		ID: "other/pickle", Kinds: []fact.Kind{fact.PythonMemory}, Said: []string{"pickle.dump(", "pickle.dumps(", "in save_reduce", "cPickle.dump("}, If: func(c *ledger.Case) bool { return OwnLineHas(c, "pickle.dump", "Pickle.dump") },
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "had no RAM for the copy that pickle makes while it saves",
		Means:    "pickle remembers every object that it has seen, and older protocols make one string of a large array first: for a moment there is a second copy beside the object. The message has no size.",
		Not:      "A smaller batch, or a graphics card.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "A protocol that writes large arrays as they are", Cost: "none", Kind: "python", Text: "pickle.dump(obj, f, protocol=pickle.HIGHEST_PROTOCOL)   # Python 3.8 and later: 5; Python 2 has none such"},
			{Fix: "stream_dataset", Title: "Or the library's own format", Cost: "none", Told: "`joblib.dump(obj, path)` for scikit-learn, `np.save` for arrays, `df.to_parquet` for tables, `model.save` for networks; large lists in several files."},
			{Fix: "detach_accumulated", Title: "Save less", Cost: "none", Told: "Not the training data inside the object; `del` what is not needed before."},
			sixtyFour,
		},
		Sources: []string{"https://docs.python.org/3/library/pickle.html", "https://joblib.readthedocs.io/en/stable/persistence.html"},
	},
	{
		ID: "other/joblib", Said: []string{"TerminatedWorkerError", "A worker process managed by the executor was unexpectedly terminated"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "lost a worker of joblib (`n_jobs`), most likely for RAM",
		Means:    "Each of the `n_jobs` processes has its own Python, its own copy of what it makes and often of the data; together they were too much, and the system ended one. A crash in compiled code ends one in the same way; with one process it then fails alike.",
		Not:      "Settings of the graphics card.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Fewer processes", Cost: "slower", Told: "`n_jobs=2` in place of -1, `pre_dispatch=\"n_jobs\"` in a search; `n_jobs=1` shows the true error if it is none of memory. A forest inside a grid search: `n_jobs` in one of the two only."},
			{Fix: "stream_dataset", Title: "Share the data, do not copy it", Cost: "none", Told: "NumPy arrays above 1 MB are shared by memory map, tables and lists are copied to each: hand over arrays, float32. In Docker a small /dev/shm is no help: `JOBLIB_TEMP_FOLDER=/tmp`."},
			{Fix: "lower_batch_size", Title: "Threads in place of processes", Cost: "slower for Python code", Kind: "python", Text: "with joblib.parallel_backend(\"threading\", n_jobs=4):\n    search.fit(X, y)   # your own call"},
		},
		Sources: []string{"https://joblib.readthedocs.io/en/stable/parallel.html", "sklearn/model_selection/_search.py"},
	},
}

// BareCalls are the cards of calls as other programs than NumPy meet them.
func BareCalls() []cause.Card {
	var out []cause.Card
	for _, k := range CallCards {
		if k.Said == nil {
			continue
		}
		k.ID = strings.Replace(k.ID, "numpy/", "other/", 1)
		k.Kinds = []fact.Kind{fact.PythonMemory}
		out = append(out, k)
	}
	return append(out, bareCallCards...)
}
