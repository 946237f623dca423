package parsers

import "strings"

const (
	// TFAlloc is TensorFlow's BFC allocator or an op's "OOM when allocating
	// tensor": the pool of this process is full.
	TFAlloc Kind = "tf_alloc"
	// TFStart is TensorFlow failing to take its pool from the driver at the
	// start: something else holds the card.
	TFStart Kind = "tf_start"
	// TFContext is a card so full that not even a context can be made.
	TFContext Kind = "tf_context"
	// TFCopy is "Dst tensor is not initialized": a full card in disguise.
	TFCopy Kind = "tf_copy"
	// TFHandle is a cuBLAS or cuDNN handle that TensorFlow could not make.
	TFHandle Kind = "tf_handle"
)

var tensorflow = Parser{
	Name: "tensorflow", Keywords: literals(tensorflowWordings),
	Explains: map[Kind]int{TFCopy: 1, TFStart: 1},
	Parse: func(l *Log, hits []Hit, f *Facts) {
		parseWordings(tensorflowWordings, l, hits, f)
		f.foldPoolSearch()
	},
}

var tensorflowWordings = []wording{
	{"ran out of memory trying to allocate", readBFC},
	{"OOM when allocating tensor", readOOMTensor},
	{"from device: CUDA_ERROR_OUT_OF_MEMORY", readPoolSearch}, {"from device: RESOURCE_EXHAUSTED", readPoolSearch},
	{"cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY", readContext}, {"cuInit: CUDA_ERROR_OUT_OF_MEMORY", readContext}, {"cuCtxCreate: CUDA_ERROR_OUT_OF_MEMORY", readContext},
	{"Dst tensor is not initialized", readCopy},
	{"failed to create cublas handle", readHandle}, {"Could not create cudnn handle", readHandle},
	{"Sum Total of in-use chunks", readBFCStats},
	{"exceeds 10% of", readTenPercent},
}

var (
	bfcPattern    = pattern(`tryingtoallocate(?<human>SIZE)(?:\(roundedto(?<exact>\d{1,16})\))?`)
	devicePattern = pattern(`gpu_?:?(?<device>\d{1,2})`)
	// The op's tensor: "with shape[64,2016,9,9] and type float on
	// /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc".
	// Up to 1.3 it ends behind the shape, and in 2016 a scalar has none.
	tensorPattern    = pattern(`allocatingtensor(?:withshape|ofshape)(?:(?<shape>\[[\d,]{0,120}\])(?:andtype(?<dtype>u?int(?:8|16|32|64)|bfloat16|float|double|half|bool|complex(?:64|128)|q(?:u?)int8)?)?|\[\[node)`)
	allocatorPattern = pattern(`byallocator(?<name>[a-z_0-9]{2,24})`)
)

const notAFailure = "thisisnotafailure"

// recovered: XLA and cuDNN ask for scratch space, and go on with less.
var tfWentOn = Notice{ID: "tensorflow_not_a_failure", Title: "TensorFlow asked for scratch memory, did not get it and chose a slower way; it says itself that this is no failure."}

// readBFC reads the allocator's own line; a second clause says when the caller
// went on without.
func readBFC(m message) int {
	k := m.find(bfcPattern, 90)
	if m.follows(notAFailure, 260) {
		m.notice(tfWentOn)
		return m.took(k)
	}
	x := Failure{Kind: TFAlloc, Framework: bfcUser(m), Backend: "cuda", Phase: tensorflowPhase(m)}
	x.Figures.Requested = first(k.Size("exact"), k.Size("human"))
	if x.Figures.Requested == nil {
		return m.end
	}
	from, _ := m.l.LineSpan(m.at)
	if d := m.l.Find(devicePattern, max(from, m.at-40), m.at); d.Ok() {
		x.Figures.Device = d.Count("device")
	}
	if m.precedes("itex/", 120) {
		x.Backend = "xpu" // Intel's extension has a copy of the allocator
	}
	m.bfcStats(&x)
	return m.fail(x, m.took(k))
}

// readCopy reads "Failed copying input tensor from .../device:CPU:0 to
// .../device:GPU:0 in order to run _EagerConst: Dst tensor is not initialized".
func readCopy(m message) int {
	x := Failure{Kind: TFCopy, Framework: "tensorflow", Backend: "cuda"}
	if m.precedes("device:xpu", 260) {
		x.Backend = "xpu"
	}
	if m.precedes("_eagerconst", 60) || m.precedes("convert_to_eager_tensor", 600) {
		m.f.Signals = append(m.f.Signals, Signal{ID: "eager_constant", Line: m.l.Line(m.at), Text: m.l.LineText(m.at)})
	}
	return fails(x)(m)
}

// bfcUser: XLA has a copy of the allocator, which JAX uses.
func bfcUser(m message) string {
	if m.precedes("xla/tsl", 120) && m.mentions("jax") && !m.mentions("tensorflow/") {
		return "jax"
	}
	return "tensorflow"
}

// tensorflowPhase: these come from running a graph, which is training unless
// the log says otherwise.
func tensorflowPhase(m message) string {
	if m.mentions("predict", "inference", "evaluat", "serving") && !m.mentions("gradients/", "is_training=true", "epoch", "train") {
		return "inference"
	}
	return "training"
}

// readOOMTensor reads ResourceExhaustedError; the size is shape times type.
func readOOMTensor(m message) int {
	k := m.find(tensorPattern, 260)
	x := Failure{Kind: TFAlloc, Framework: "tensorflow", Backend: "cuda", Phase: tensorflowPhase(m)}
	if bytes, ok := tensorBytes(k.Lower("shape"), k.Lower("dtype")); ok {
		x.Figures.Requested = &Size{Bytes: bytes, Text: k.through("shape", "dtype"), Line: k.Line()}
	}
	a := m.find(allocatorPattern, 420)
	switch name := a.Lower("name"); name {
	case "cpu", "mklcpu":
		x.Backend = "cpu"
	default:
		if d := m.find(devicePattern, 420); d.Ok() && a.Ok() {
			x.Figures.Device = d.Count("device")
		}
	}
	if !k.Ok() && !a.Ok() {
		return m.end
	}
	if s := m.around(bfcLimit, 1200, 0); s.Ok() { // the end of the dump, above the op's own line
		x.Figures.Limit, x.Figures.Allocated = s.Size("limit"), s.Size("used")
	}
	m.optimizerNode()
	return m.fail(x, m.took(k))
}

// The op that failed: "[[Node: training_10/Adam/mul_23 = Mul[...", since 1.12
// "[[{{node embeddings/Adam/Initializer/zeros}}]]".
var nodePattern = pattern(`\[\[(?:\{\{)?node:?(?<name>[a-z_0-9/.]{1,160})`)

var optimizerSlot = pattern(`(?:^|/)(?:adam|adamw|lamb|rmsprop|momentum|adagrad|adadelta|ftrl|exponentialmovingaverage)[a-z]*(?:_\d+)?(?:/|$)`)

// optimizerNode notes that the op belongs to the optimizer: its slots and
// updates are as large as the weights, whatever the batch.
func (m message) optimizerNode() {
	k := m.find(nodePattern, 420)
	from, to, ok := k.group("name")
	if ok && m.l.Find(optimizerSlot, from, to).Ok() {
		m.f.Signals = append(m.f.Signals, Signal{ID: "optimizer_node", Line: k.Line(), Text: m.l.LineText(from)})
	}
}

var (
	poolPattern  = pattern(`failedto(?:allocate|alloc)(?<human>[\d.]{1,9}[kmg]?)\(?(?<exact>\d{1,20})bytes\)?`)
	totalPattern = pattern(`totalmemory:(?<total>SIZE)(?:freememory:(?<free>SIZE))?`)
)

// readPoolSearch reads "failed to allocate 1.97G (2120187392 bytes) from
// device: CUDA_ERROR_OUT_OF_MEMORY". At level I newer versions go on.
func readPoolSearch(m message) int {
	k := m.around(poolPattern, 80, 0)
	if from, _ := m.l.LineSpan(m.at); m.l.Find(infoLevel, max(from-2, 0), m.at).Ok() {
		m.notice(tfWentOn)
		return m.end
	}
	x := Failure{Kind: TFStart, Framework: "tensorflow", Backend: "cuda", Phase: poolPhase(m)}
	x.Figures.Requested = k.Size("exact")
	if t := m.around(totalPattern, 6000, 0); t.Ok() {
		x.Figures.Total, x.Figures.Free = t.Size("total"), t.Size("free")
	}
	m.fail(x, m.end)
	return m.end // the next try may stand on the same line
}

// poolPhase: the pool is taken at the start; after a handle could not be made
// the card filled up later.
func poolPhase(m message) string {
	if m.mentions("failedtocreatecublashandle", "couldnotcreatecudnnhandle") {
		return "unknown"
	}
	return "startup_check"
}

// The level letter stands before the source file: "I external/local_xla/...".
var infoLevel = pattern(`(?:^|[\d.:])i(?:external|tensorflow)/[a-z_/]{0,80}cuda_(?:driver|executor)\.cc:\d+\]`)

// foldPoolSearch makes one failure out of the search for a pool: each try asks
// for 0.9 of the last, and the first says what was wanted. A try of another
// size is a new start; the last one ended the program.
func (f *Facts) foldPoolSearch() {
	kept := f.Failures[:0]
	best := -1
	var last int64
	for _, x := range f.Failures {
		if x.Kind != TFStart {
			kept = append(kept, x)
			continue
		}
		want := requested(x)
		step := float64(want) / float64(max(last, 1))
		last = want
		switch {
		case best < 0:
			kept, best = append(kept, x), len(kept)
		case step < 0.88 || step > 0.92:
			kept[best] = x
		}
	}
	f.Failures = kept
}

func readContext(m message) int {
	return m.fail(Failure{Kind: TFContext, Framework: "tensorflow", Backend: "cuda", Phase: "startup_check"}, m.end)
}

// readHandle reads "failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED":
// as a rule memory, else a broken set-up.
func readHandle(m message) int {
	if !m.follows("alloc_failed", 80) && !m.follows("not_initialized", 80) && !m.follows("internal_error", 80) {
		return m.end
	}
	return fails(Failure{Kind: TFHandle, Framework: "tensorflow", Backend: "cuda", Weak: true})(m)
}

var (
	bfcLimit = pattern(`stats:(?>.{0,60}?limit:(?<limit>\d{1,16})).{0,60}?inuse:(?<used>\d{1,16})`)
	bfcFree  = pattern(`largestfreeblock:(?<free>\d{1,16})`)
)

// readBFCStats is reached when the paste begins in the middle of the dump.
func readBFCStats(m message) int {
	if len(m.f.Failures) > 0 || !m.follows("stats:", 400) {
		return m.end
	}
	x := Failure{Kind: TFAlloc, Framework: "tensorflow", Backend: "cuda"}
	m.bfcStats(&x)
	if x.Figures.Limit == nil {
		return m.end
	}
	return m.fail(x, m.end)
}

// bfcStats reads the summary at the end of the dump, which may be long.
func (m message) bfcStats(x *Failure) {
	s := m.l.Squeezed()
	at := strings.Index(s[m.at:], "sumtotalofin-usechunks")
	if at < 0 {
		return
	}
	at += m.at
	k := m.l.Find(bfcLimit, at, at+600)
	x.Figures.Limit, x.Figures.Allocated = k.Size("limit"), k.Size("used")
	m.fact("largest_free_block", m.l.Find(bfcFree, at, at+800).Size("free"))
}

// readTenPercent reads "Allocation of N exceeds 10% of free system memory".
func readTenPercent(m message) int {
	if m.follows("systemmemory", 40) {
		m.notice(Notice{ID: "tensorflow_ten_percent", Title: "TensorFlow only remarks that one allocation is large: not an error."})
	}
	return m.end
}
