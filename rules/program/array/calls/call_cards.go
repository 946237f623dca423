package calls

import (
	"math"
	"slices"
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

// fromHDF5: the reader's own line reads a whole dataset of an HDF5 file.
func fromHDF5(c *ledger.Case) bool {
	return OwnLineHas(c, "hf.get(", "hf[", "h5.get(", "h5[", "h5_file", "h5file", "h5py.File(")
}

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
	SixtyFour = cause.Cure{Fix: "upgrade_version", If: maybe32, Title: "Check that Python is 64-bit", Kind: "shell", Text: "python -c \"import struct; print(struct.calcsize('P') * 8)\"", Told: "If this prints 32, the process can use only 2 GB: install the 64-bit Python.", Cost: "half an hour"}
)

// maybe32: a Python for Windows that no 64-bit library was seen in. PyTorch has
// never been made for 32-bit Windows, and programs of these kinds of work run it.
func maybe32(c *ledger.Case) bool {
	return reader.OnWindows(c) && !c.In("pytorch") && !slices.Contains([]string{"text-inference", "text-training", "embedding", "image-generation", "video-generation", "audio"}, c.Reader.Work)
}

// CallCards are about arrays of RAM whose call says what they are.
var CallCards = []cause.Card{
	{
		ID: "numpy/32-bit", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory, fact.NativeAlloc}, Said: bits32, If: when.Not(AtLeast(3 * units.GiB)),
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "reached the 2 GB limit of a 32-bit Python",
		Means: "The folder in the traceback belongs to a 32-bit Python. It can use 2 GB (4 at most), whatever RAM the computer has, and needs one free stretch of addresses for each array.[[ No stretch of {asked} was left.]]",
		Not:   "More RAM or a larger page file: a 32-bit process cannot use them.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Install the 64-bit Python and your packages again", Told: "Get \"Windows installer (64-bit)\" from python.org, or 64-bit Anaconda. Then this prints 64:", Kind: "shell", Text: "python -c \"import struct; print(struct.calcsize('P') * 8)\"", Cost: "half an hour"},
			{Fix: "stream_dataset", Title: "Until then: work in parts", Told: "pandas: `chunksize=`. NumPy: `np.load(..., mmap_mode=\"r\")` and small slices. Use float32, int32 and categories.", Cost: "some rewriting"},
			{Fix: "detach_accumulated", Title: "Delete large objects before that line", Told: "`del` what you no longer need, and use a fresh process for each file.", Cost: "none"},
		},
		Sources: []string{"https://docs.python.org/3/using/windows.html", numpyError},
	},
	{
		ID: "numpy/one-hot", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: oneHot, If: large, Figures: callFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "had no RAM for one-hot labels[[: {asked}]]",
		Means: "The call turns each label into a row of zeros with a single 1[[: {n} rows of {columns} numbers]]. Losses such as `sparse_categorical_crossentropy` take the integer labels directly, so you do not need it.",
		Not:   "A smaller batch: this array is made for all labels at once.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Keep labels as integers", Cost: "none", Kind: "python", Text: "model.compile(optimizer=\"adam\", loss=\"sparse_categorical_crossentropy\", metrics=[\"accuracy\"])   # and no to_categorical"},
			{Fix: "stream_dataset", Title: "Make one-hot rows batch by batch", Cost: "some lines", Told: "Do it in a generator or `Sequence`, or in the pipeline: `ds.map(lambda x, y: (x, tf.one_hot(y, classes)))`. For inputs, an `Embedding` layer takes indices."},
			{Fix: "half_precision", Title: "Use uint8, or fewer classes", Cost: "rare classes", Told: "`dtype=\"uint8\"` is a quarter of float32. For words, keep only the most common ones."},
			SixtyFour,
		},
		Sources: []string{"keras/src/utils/numerical_utils.py", "keras/src/losses/losses.py", numpyError},
	},
	{
		ID: "numpy/sparse-assigned", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: []string{"scipy/sparse/lil.py", "scipy/sparse/_lil.py", "scipy/sparse/_index.py"}, If: large, Figures: callFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "had no RAM while part of a sparse matrix was assigned[[: {asked}]]",
		Means: "Your line assigns a sparse block to a slice of a sparse matrix. SciPy makes the block dense for that, zeros included. Graph recommenders often build the adjacency matrix of users and items this way.",
		Not:   "A smaller batch, fewer workers: the matrix is built before training.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Build the matrix from blocks instead", Cost: "none", Told: "The result is the same, and stays sparse throughout:", Kind: "python", Text: "import scipy.sparse as sp\nR = R.tocsr()   # R: users x items\nadj_mat = sp.bmat([[None, R], [R.T, None]], format=\"csr\")   # in place of both assignments"},
			{Fix: "stream_dataset", Title: "Or assign a few rows at a time", Cost: "slower", Kind: "python", Text: "for i in range(0, R.shape[0], 1000):\n    adj_mat[i:i + 1000, n_users:] = R[i:i + 1000]"},
		},
		Sources: []string{"scipy/sparse/_lil.py", "neural_graph_collaborative_filtering/NGCF/utility/load_data.py"},
	},
	{
		ID: "numpy/densified", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: densify, If: large, Unsaid: Joined(oneHot, allDist), Figures: callFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "had no RAM for a sparse matrix made dense[[: {asked}]]",
		Means: "`toarray` or `todense` writes out all the zeros[[: {n} rows of {columns} columns]]. A sparse matrix stores only the other values.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Keep it sparse", Cost: "none as a rule", Told: "Drop the `.toarray()`. Most of scikit-learn takes `scipy.sparse` directly (linear models, naive Bayes, `SGDClassifier`, `TruncatedSVD`, k-means), and so do LightGBM and XGBoost."},
			{Fix: "lower_batch_size", Title: "Reduce the columns before making it dense", Cost: "rare words", Told: "Texts: `TfidfVectorizer(max_features=5000, min_df=5)`. Otherwise `SelectKBest`, or `TruncatedSVD(100)`, which gives a small dense result."},
			{Fix: "stream_dataset", Title: "Make a block of rows dense at a time", Cost: "some rewriting", Kind: "python", Text: "for i in range(0, X.shape[0], 1000):\n    model.partial_fit(X[i:i + 1000].toarray(), y[i:i + 1000])   # an estimator that has partial_fit; predict likewise"},
			SixtyFour,
		},
		Sources: []string{"scipy/sparse/_base.py", "https://docs.scipy.org/doc/scipy/reference/sparse.html", "https://scikit-learn.org/stable/computing/scaling_strategies.html"},
	},
	{
		ID: "numpy/distances", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: Joined(allDist, gram), If: large, Unsaid: []string{"sklearn/neighbors/"}, Figures: callFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "had no RAM for a matrix of all pairs of rows[[: {asked}]]",
		Means: "The call compares every row with every other[[: {items} rows need {asked}]]. Twice the rows need four times as much.[[ It failed in `{own}`.]]",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Use a method without all pairs", Cost: "slightly different results", Ways: []cause.Way{
				{For: "Most similar rows", Text: "`NearestNeighbors(n_neighbors=10).fit(X).kneighbors(X)`, or FAISS. Sparse texts: `cosine_similarity(X, dense_output=False)`"},
				{For: "Clusters", Text: "`MiniBatchKMeans`, `HDBSCAN`, `Birch`; `AgglomerativeClustering(connectivity=kneighbors_graph(X, 20))`"},
				{For: "Kernel methods", Text: "`Nystroem` or `RBFSampler` before a linear model; a sparse or local Gaussian process"},
			}},
			{Fix: "stream_dataset", Title: "Compute a block of rows at a time", Cost: "some rewriting", Kind: "python", Text: "from sklearn.metrics import pairwise_distances_chunked\nnearest = np.vstack([d.argpartition(10, axis=1)[:, :10] for d in pairwise_distances_chunked(X, working_memory=1024)])   # MiB at a time"},
			{Fix: "lower_batch_size", Title: "Use a sample of the rows", Cost: "less detail", Told: "A tenth of the rows needs a hundredth of the memory."},
		},
		Sources: []string{"sklearn/metrics/pairwise.py", "scipy/spatial/distance.py", "https://scikit-learn.org/stable/modules/kernel_approximation.html"},
	},
	{
		ID: "numpy/stacked", Kinds: []fact.Kind{fact.NumpyAlloc}, If: stacked, Figures: callFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "had no RAM for all the images in one array: {asked}",
		Means: "The shape shows {n} images in one array, {each} each in this type[[; as uint8 they would take {bytes8} in all]]. The list of images, or the array in another type, usually needs RAM at the same time.[[ {bound}]]",
		Not:   "Graphics card settings: this array is in RAM.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Load the images batch by batch", Cost: "some rewriting", Told: "Keras: `tf.keras.utils.image_dataset_from_directory(folder, image_size=(224, 224), batch_size=32)`. PyTorch: a `Dataset` that opens one file in `__getitem__`. NumPy files: `np.load(path, mmap_mode=\"r\")`."},
			{Fix: "half_precision", Title: "Keep pixels as uint8, divide by 255 per batch", Cost: "none", Told: "uint8 is an eighth of float64 and a quarter of float32. Allocate `np.empty(shape, np.uint8)` and fill it image by image, without a list."},
			{Fix: "lower_resolution", Title: "Resize images when they are read", Cost: "detail", Told: "Half of each side is a quarter of the memory."},
			LookCommitted, LookRAM, SixtyFour,
		},
		Sources: []string{numpyError, "keras/src/utils/image_dataset_utils.py"},
	},
}

// TableCards are about calls of pandas.
var TableCards = []cause.Card{
	{
		ID: "pandas/dummies", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: dummies, If: large, Figures: callFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "had no RAM for dummy columns[[: {asked}]]",
		Means: "`get_dummies` makes a column for each distinct value. So many[[ ({columns})]] usually mean that a column of numbers, dates, IDs or free text is treated as categories.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Find the column with too many values", Told: "Drop the columns that have thousands of values, or convert them to numbers:", Cost: "free", Kind: "python", Text: "print(df.select_dtypes([\"object\", \"category\"]).nunique().sort_values().tail())   # thousands: drop it, or make it a number\ndf[\"price\"] = pd.to_numeric(df[\"price\"], errors=\"coerce\")   # your own column"},
			{Fix: "stream_dataset", Title: "Use sparse dummies, and merge rare values", Cost: "rare values are merged", Told: "`pd.get_dummies(df, columns=[...], sparse=True)`. Or `OneHotEncoder(min_frequency=50, handle_unknown=\"infrequent_if_exist\")` of scikit-learn 1.1 and later, which gives a sparse result."},
			{Fix: "half_precision", Title: "Do without dummies", Cost: "another model", Told: "Use codes (`df[c].cat.codes`), a target mean, or a model that takes categories (LightGBM, CatBoost)."},
		},
		Sources: []string{"pandas/core/reshape/encoding.py", "sklearn/preprocessing/_encoders.py"},
	},
	{
		ID: "pandas/pivot", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: pivoting, If: large, Unsaid: Joined(dummies, []string{"reshape/merge.py"}), Figures: callFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "had no RAM for the pivoted table[[: {asked}]]",
		Means: "`pivot`, `unstack` and `crosstab` make a cell for each combination of row and column, even if it never occurs. Most cells are then empty but still take 8 bytes each. The original data is usually small.",
		Not:   "Smaller types in the table that is pivoted: the cells are what is large.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Make a sparse matrix instead", Cost: "some rewriting", Told: "It stores only existing values; SciPy, scikit-learn and implicit accept it. With your own three columns:", Kind: "python", Text: "from scipy.sparse import csr_matrix\nr, c = df[\"user\"].astype(\"category\"), df[\"item\"].astype(\"category\")\nm = csr_matrix((df[\"value\"], (r.cat.codes, c.cat.codes)))   # names: r.cat.categories, c.cat.categories"},
			{Fix: "lower_batch_size", Title: "Drop rare rows and columns first", Cost: "rare ones are lost", Told: "`df[df.groupby(\"item\")[\"value\"].transform(\"size\") >= 20]`, and the same for the other key. The number of cells is the product of both counts (`df.nunique()` shows them)."},
			{Fix: "fix_shape", Title: "Keep the table long", Cost: "none", Told: "`groupby([\"user\", \"item\"]).agg(...)` has rows only for existing pairs. If the keys are categories, add `observed=True` to `groupby` and `pivot_table`."},
		},
		Sources: []string{"pandas/core/reshape/pivot.py", "pandas/core/reshape/reshape.py", "https://docs.scipy.org/doc/scipy/reference/generated/scipy.sparse.csr_matrix.html"},
	},
	{
		ID: "pandas/groups", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: grouping, If: large, Unsaid: Joined(dummies, []string{"reshape/merge.py"}), Figures: callFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "had no RAM for the result of grouping[[: {asked}]]",
		Means: "If the keys are categories, `groupby` makes a group for each combination of values, even if it never occurs. If they are not, or have few values, the table itself is large.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Group with `observed=True`", Told: "It keeps only the combinations that occur:", Cost: "none", Kind: "python", Text: "df.groupby([\"a\", \"b\"], observed=True)[\"value\"].sum()   # your own keys; or df[\"a\"] = df[\"a\"].astype(str) before"},
			{Fix: "stream_dataset", Title: "Keep the pivot long or sparse", Cost: "some rewriting", Told: "`groupby(...).agg(...)` instead of `pivot_table`. A matrix for a model: `scipy.sparse.coo_matrix((values, (a.cat.codes, b.cat.codes)))`."},
			{Fix: "half_precision", Title: "Select columns before grouping", Cost: "none", Told: "Take only the columns you aggregate. DuckDB and Polars can group tables that pandas cannot hold."},
		},
		Sources: []string{"pandas/core/groupby/groupby.py", "https://pandas.pydata.org/docs/user_guide/categorical.html", pandasScale},
	},
}

// bareCallCards hold for a MemoryError without a size, where no traceback needs to
// show NumPy's own files.
var bareCallCards = []cause.Card{
	{
		ID: "other/converted", Kinds: []fact.Kind{fact.PythonMemory}, Said: narrowed, If: func(c *ledger.Case) bool { return OwnLineHas(c, narrowed...) }, Unsaid: Joined(densify, oneHot, allDist, dummies), Figures: callFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM while converting or joining an array (MemoryError)",
		Means: "The error is in `{own}`, which makes an array in one piece. What it is made from stays in memory too, unless that is a file. The message has no size; one request above free RAM and swap is refused at once.",
		Not:   "Graphics card settings: this memory is RAM.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", If: fromHDF5, Title: "Read HDF5 rows when they are needed", Cost: "disk speed", Told: "Without `np.array(...)` the data stays in the file, and `__getitem__` reads one row. With loader workers, open the file there, not in `__init__`:", Kind: "python", Text: "self.features = h5py.File(path, \"r\")[\"image_features\"]   # your own path and name; then self.features[i] in __getitem__"},
			{Fix: "stream_dataset", Title: "Convert one batch at a time", Cost: "some rewriting", Told: "Keep the stored array as it is. Convert each sample where you read it (`__getitem__`, the generator): `x = data[i].astype(np.float32)`. Open `.npy` files with `np.load(path, mmap_mode=\"r\")`, and slice HDF5 datasets (`f[\"x\"][i]`)."},
			{Fix: "half_precision", Title: "Avoid the second copy", Cost: "none", Told: "Pass `dtype=` where the array is made, or use `astype(np.float32, copy=False)`. Or fill `np.empty(shape, np.float32)` in slices and `del` the source. `print(a.shape, a.dtype, a.nbytes / 2**30)` shows the size in GiB."},
			SwapBridge, LookCommitted, SixtyFour, LookRAM,
		},
		Sources: []string{numpyError, "https://numpy.org/doc/stable/reference/generated/numpy.ndarray.astype.html", "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
	{
		ID: "other/sklearn-tree", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainHost, fact.PythonMemory, fact.NativeAlloc}, Said: []string{"sklearn/tree", "sklearn.tree._tree", "sklearn/ensemble/forest.py", "sklearn/ensemble/_forest.py"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM for decision trees[[: {asked} more]]",
		Means: "By default, scikit-learn grows each tree until its leaves are pure. Noisy or continuous targets then give nearly one leaf per row. A node takes about 64 bytes plus a number for each class, times the number of trees.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Limit `max_depth` and `min_samples_leaf`", Told: "Start with these values:", Cost: "rarely accuracy", Kind: "python", Text: "RandomForestRegressor(n_estimators=100, max_depth=16, min_samples_leaf=10, max_samples=0.3, n_jobs=2)   # or ...Classifier; max_samples since 0.22"},
			{Fix: "use_smaller_model", Title: "Use histogram gradient boosting", Cost: "another model", Told: "`HistGradientBoostingClassifier` or `...Regressor`, or LightGBM. They use 256 bins per column and small trees."},
			{Fix: "fix_shape", Title: "Check classifier or regressor", Cost: "free", Told: "A classifier stores a number for each class in every node. Use the regressor for continuous targets."},
			SixtyFour,
		},
		Sources: []string{"sklearn/tree/_utils.pyx", "sklearn/tree/_tree.pyx", "sklearn/ensemble/_forest.py"},
	},
	{
		ID: "other/loadtxt", Kinds: []fact.Kind{fact.PythonMemory}, Said: []string{"in loadtxt", "in genfromtxt", "np.loadtxt(", "np.genfromtxt(", "lib/npyio.py"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM while NumPy read a text file",
		Means: "`loadtxt` and `genfromtxt` make Python objects of the values before the array, above all in older NumPy. That can take several times the size of the file.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Read it with pandas", Told: "It needs far less memory:", Cost: "none", Kind: "python", Text: "X = pd.read_csv(\"train.csv\", header=None, dtype=np.float32).to_numpy()   # your own file\nnp.save(\"train.npy\", X)   # next time: np.load(\"train.npy\", mmap_mode=\"r\")"},
			{Fix: "lower_batch_size", Title: "Read only the columns and rows you need", Cost: "some rewriting", Told: "Use `usecols=` and `max_rows=`, or `chunksize=` of pandas, and `dtype=np.float32`."},
			LookWhy, PageFile, SixtyFour,
		},
		Sources: []string{"numpy/lib/_npyio_impl.py", "https://pandas.pydata.org/docs/reference/api/pandas.read_csv.html"},
	},
	{
		ID: "other/sparse-solve", Kinds: []fact.Kind{fact.PythonMemory, fact.PlainMemory, fact.PlainHost, fact.NativeAlloc}, Said: []string{"linsolve.py", "in splu", "in spsolve", "in factorized", "_superlu"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of memory in a sparse direct solver",
		Means: "A direct solver (SuperLU) turns many zeros into values (fill-in). Its factors can be hundreds of times larger than the matrix, most of all for 3D grids. SciPy's SuperLU also fails above 2^31 values, however much RAM is free.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Use an iterative solver (GMRES, CG)", Told: "With an incomplete factorization as preconditioner:", Cost: "a tolerance to choose", Kind: "python", Text: "ilu = scipy.sparse.linalg.spilu(A.tocsc(), drop_tol=1e-4, fill_factor=10)\nM = scipy.sparse.linalg.LinearOperator(A.shape, ilu.solve)\nx, info = scipy.sparse.linalg.gmres(A, b, M=M)   # symmetric and positive: cg"},
			{Fix: "upgrade_version", Title: "Use another direct solver", Cost: "an installation", Told: "scikit-umfpack (64-bit indices), PARDISO (`pypardiso`), or CHOLMOD (`scikit-sparse`) for symmetric matrices. In `splu`, `permc_spec=\"COLAMD\"` or `\"MMD_AT_PLUS_A\"` changes the fill-in."},
			{Fix: "lower_resolution", Title: "Use a coarser grid", Told: "In 3D, half the points in each direction is an eighth of the unknowns, and even less fill-in.", Cost: "detail"},
		},
		Sources: []string{"scipy/sparse/linalg/_dsolve/linsolve.py", "https://docs.scipy.org/doc/scipy/reference/sparse.linalg.html"},
	},
	{
		ID: "other/pickle", Kinds: []fact.Kind{fact.PythonMemory}, Said: []string{"pickle.dump(", "pickle.dumps(", "in save_reduce", "cPickle.dump(", "pickler.dump("}, If: func(c *ledger.Case) bool {
			return OwnLineHas(c, "pickle.dump", "Pickle.dump", "torch.save(", "joblib.dump(")
		},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM while saving with pickle",
		Means: "pickle remembers every object it has written[[, and {old}]]. So saving needs memory beside the object, most of all for many small ones. The message has no size.", Figures: pickleFigures,
		Cures: []cause.Cure{
			{Fix: "stream_dataset", If: newProtocol, Title: "Save in parts", Told: "Each part then needs little on top, and can be freed:", Cost: "some rewriting", Kind: "python", Text: "for i in range(0, len(data), 10_000):   # data: your own list\n    with open(f\"part-{i}.pkl\", \"wb\") as f:\n        pickle.dump(data[i:i + 10_000], f, protocol=pickle.HIGHEST_PROTOCOL)"},
			{Fix: "upgrade_version", If: when.Not(newProtocol), Title: "Use the highest pickle protocol", Told: "It avoids the copy of large arrays:", Cost: "none", Kind: "python", Text: "pickle.dump(obj, f, protocol=pickle.HIGHEST_PROTOCOL)   # Python 3.8 and later: protocol 5"},
			{Fix: "stream_dataset", Title: "Save in the library's own format", Cost: "none", Told: "scikit-learn: `joblib.dump(obj, path)`. Arrays: `np.save`. Tables: `df.to_parquet`. Networks: `model.save`. Split large lists into several files."},
			{Fix: "detach_accumulated", Title: "Save less", Cost: "none", Told: "Keep the training data out of the object, and `del` what you do not need before saving."},
			SixtyFour,
		},
		Sources: []string{"https://docs.python.org/3/library/pickle.html", "https://joblib.readthedocs.io/en/stable/persistence.html"},
	},
}

func pickleFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"old": "protocols before 5 copy a large array into one byte string"}
	if newProtocol(c) {
		out["old"] = ""
	}
	return out
}

// newProtocol: the line that saves asks for the highest protocol already, or leaves
// it to a library.
func newProtocol(c *ledger.Case) bool {
	return OwnLineHas(c, "HIGHEST_PROTOCOL", "protocol=-1", "protocol=4", "protocol=5", ", -1)", "torch.save(", "joblib.dump(")
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
