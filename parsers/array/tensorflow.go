package array

import (
	"cmp"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// TensorFlow reads TensorFlow.
var TensorFlow = text.Parser{Name: "tensorflow", Explains: map[fact.Kind]int{fact.TFCopy: 1, fact.TFStart: 1}}.Reading(tensorflowWordings, nil,
	func(_ *text.Log, _ []text.Hit, f *fact.Facts) { foldPoolSearch(f) })

var tensorflowWordings = []text.Wording{
	text.On("ran out of memory trying to allocate", readBFC), text.On("cuMemAllocAsync failed to allocate", text.FailsWith(fact.Failure{Kind: fact.TFAlloc, Framework: "tensorflow", Backend: "cuda"}, 14, 900, asyncPattern)),
	text.On("OOM when allocating tensor", readOOMTensor), text.On("failed to allocate memory [Op:", readBareOp), text.On("failed to allocate memory [[{{node", readBareOp),
	text.On("from device: CUDA_ERROR_OUT_OF_MEMORY", readPoolSearch), text.On("from device: HIP_ERROR_OutOfMemory", readPoolSearch), text.On("from device: RESOURCE_EXHAUSTED", readPoolSearch),
	text.On("cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY", text.Fails(tfContext)), text.On("cuInit: CUDA_ERROR_OUT_OF_MEMORY", text.Fails(tfContext)), text.On("cuCtxCreate: CUDA_ERROR_OUT_OF_MEMORY", text.Fails(tfContext)),
	text.On("Dst tensor is not initialized", readCopy), text.On("failed to create cublas handle", text.When(readHandle, noMemory...)), text.On("Could not create cudnn handle", text.When(readHandle, noMemory...)),
	text.On("SolverDnCreate(&handle) failed", readHandle), text.On("DNN library initialization failed", readHandle), text.On("Blas GEMM launch failed", readHandle), text.On("Blas xGEMM launch failed", readHandle), text.On("Failed to call ThenRnn", readHandle), text.On("Sum Total of in-use chunks", readBFCStats), text.On("curr_region_allocation_bytes_", readBFCStats),
	text.On("exceeds 10% of", text.When(text.Notices("tensorflow_ten_percent", "TensorFlow only remarks that one allocation is large: not an error."), text.Behind("systemmemory", 40))),
}

var (
	bfcPattern    = text.NewPattern(`tryingtoallocate(?<human>SIZE)(?:\(roundedto(?<exact>\d{1,16})\))?`)
	devicePattern = text.NewPattern(`gpu_?:?(?<device>\d{1,2})`)
	// The op's tensor: "with shape[64,2016,9,9] and type float on
	// /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc".
	// Up to 1.3 it ends behind the shape, and in 2016 a scalar has none.
	tensorPattern    = text.NewPattern(`allocatingtensor(?:withshape|ofshape)(?:(?<shape>\[[\d,]{0,120}\])(?:andtype(?<dtype>u?int(?:8|16|32|64)|bfloat16|float|double|half|bool|complex(?:64|128)|q(?:u?)int8)?)?|\[\[node)`)
	allocatorPattern = text.NewPattern(`byallocator(?<name>[a-z_0-9]{2,24})`)
	nodeDevice       = text.NewPattern(`_device="[^"]{0,80}/(?:device:)?(?<on>[cg]pu):\d`) // before 1.4 the node alone says it
)

var tfContext = fact.Failure{Kind: fact.TFContext, Framework: "tensorflow", Backend: "cuda", Phase: "startup_check"}

// tfWentOn: XLA and cuDNN ask for scratch space, and go on with less.
var tfWentOn = fact.Notice{ID: "tensorflow_not_a_failure", Title: "TensorFlow asked for more of the card than it had free, and went on with less. That alone is no failure. If the program ends soon after it, the card was full: `nvidia-smi` shows what holds it, and a smaller batch needs less."}

// readBFC reads the allocator's own line.
func readBFC(m text.Message) int {
	k := m.Find(bfcPattern, 90)
	if m.Follows("thisisnotafailure", 260) {
		m.Notice(tfWentOn)
		return m.Took(k)
	}
	x := fact.Failure{Kind: fact.TFAlloc, Framework: user(jaxOwns(m)), Backend: pool(m), Phase: tensorflowPhase(m)}
	if x.Framework == "jax" && x.Backend == "cuda" && !m.Mentions("resource_exhausted", "resourceexhausted") { // which says it again
		x.Kind = fact.XLAAlloc
	}
	x.Figures.Requested = cmp.Or(k.Size("exact"), k.Size("human"))
	if x.Figures.Requested == nil {
		return m.End
	}
	from, _ := m.Log.LineSpan(m.At)
	x.Figures.Device = m.Log.Find(devicePattern, max(from, m.At-40), m.At).Count("device")
	if m.Precedes("itex/", 120) {
		x.Backend = "xpu" // Intel's extension has a copy of the allocator
	}
	if m.Follows("inconvert_to_eager_tensor", 4000) {
		m.Log.Signal(m.Facts, "eager_constant", m.At) // the traceback is printed last
	}
	bfcStats(m, &x)
	_, op, _ := strings.Cut(m.Log.LineText(m.At), "requested by op ")
	node(m, strings.TrimSpace(op))
	return m.Fail(x, m.Took(k))
}

// jaxOwns: TensorFlow's own allocator has "tensorflow/" or "local_" before it.
func jaxOwns(m text.Message) bool {
	alone := m.Precedes("external/tsl/", 120) || m.Precedes("external/xla/", 120) || m.Precedes("xla/tsl", 120) && m.Mentions("jax") && !m.Mentions("tensorflow/")
	return !m.Mentions("torch_xla") && (alone || m.Mentions("xla_gpu_host_bfc") || m.Precedes("org_tensorflow/", 120) && underJAX(m))
}

// pool is whose memory an allocator hands out: the card's, or pinned system memory.
func pool(m text.Message) string {
	return map[bool]string{true: "cpu", false: "cuda"}[m.Mentions("_host_bfc)") && !m.Mentions("(gpu_")]
}

// asyncPattern is gpu_cudamallocasync_allocator.cc's: the driver's count, its own.
var asyncPattern = text.NewPattern(`(?:gpu_async_(?<device>\d{1,2})cumemallocasync)?failedtoallocate(?<requested_bytes>\d{1,16})bytes(?:.{0,240}?freememory/totalmemory:(?<free_bytes>\d{1,16})/(?<total_bytes>\d{6,16}?)(?=20\d\d-|\D|$))?(?:.{0,320}?stats:limit:(?:0|(?<limit_bytes>[1-9]\d{0,15}))inuse:(?<allocated_bytes>\d{1,16}))?`)

// readCopy reads "... in order to run _EagerConst: Dst tensor is not initialized".
func readCopy(m text.Message) int {
	x := fact.Failure{Kind: fact.TFCopy, Framework: "tensorflow", Backend: map[bool]string{true: "xpu", false: "cuda"}[m.Precedes("device:xpu", 260)]}
	if m.Precedes("_eagerconst", 60) || m.Precedes("convert_to_eager_tensor", 600) {
		m.Log.Signal(m.Facts, "eager_constant", m.At)
	}
	return text.Fails(x)(m)
}

// user is whose runtime it is: XLA has a copy of the allocator, which JAX uses.
func user(jax bool) string { return map[bool]string{true: "jax", false: "tensorflow"}[jax] }

// tensorflowPhase: a graph ran; the log says whether one trains.
func tensorflowPhase(m text.Message) string {
	switch {
	case m.Mentions("gradient", "is_training=true", "epoch", "train", "optimizer", "adam", "momentum", "loss", ".fit("):
		return "training"
	case m.Mentions("predict", "inference", "evaluat", "serving"):
		return "inference"
	}
	return ""
}

// readBareOp reads all that 2.6 and later say of an op.
func readBareOp(m text.Message) int {
	node(m, m.Find(nodePattern, 200).Text("name"))
	return text.Fails(fact.Failure{Kind: fact.TFAlloc, Framework: "tensorflow", Backend: "cuda"})(m)
}

// readOOMTensor reads ResourceExhaustedError; the size is shape times type.
func readOOMTensor(m text.Message) int {
	k := m.Find(tensorPattern, 260)
	x := fact.Failure{Kind: fact.TFAlloc, Framework: "tensorflow", Backend: pool(m), Phase: tensorflowPhase(m)}
	if bytes, ok := tensorBytes(k.Lower("shape"), k.Lower("dtype")); ok {
		x.Figures.Requested = &fact.Size{Bytes: bytes, Text: k.Through("shape", "dtype"), Line: k.Line()}
	}
	if shape := k.Text("shape"); shape != "" { // without a type before 1.7
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "array_shape", Text: shape, Size: x.Figures.Requested, Line: k.Line()})
	}
	a := m.Find(allocatorPattern, 420)
	switch name := a.Lower("name"); {
	case name == "cpu" || name == "mklcpu", !a.Ok() && m.Find(nodeDevice, 1600).Lower("on") == "cpu":
		x.Backend = "cpu"
	case a.Ok():
		x.Figures.Device = m.Find(devicePattern, 420).Count("device")
	case !k.Ok():
		return m.End
	}
	s := m.Around(bfcLimit, 4000, 0) // the end of the dump, above the op's own line
	x.Figures.Limit, x.Figures.Allocated = s.Size("limit"), s.Size("used")
	if m.Around(poolTaken, 4000, 0).Ok() {
		m.Log.Signal(m.Facts, "pool_taken", m.At)
	}
	node(m, m.Find(nodePattern, 420).Text("name"))
	if sum := m.Find(gradientSum, 600); sum.Ok() {
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "gradients_added", Count: sum.Count("uses"), Line: sum.Line()})
	}
	return m.Fail(x, m.Took(k))
}

// The op: "[[Node: Adam/mul_23 = Mul[...", since 1.13 "[[{{node Adam/zeros}}]]", or "[Op:Mul] name: Adam/...".
var nodePattern = text.NewPattern(`\[(?:\[(?:\{\{)?node:?|op:)(?<name>[a-z_0-9/.]{1,160}(?:\]name:[a-z_0-9/.]{1,80})?)`)

// gradientSum adds up the gradients of a tensor that is used several times:
// "gradients/AddN_3 = AddN[N=21, T=DT_FLOAT".
var gradientSum = text.NewPattern(`gradients/addn\w{0,6}=addn\[n=(?<uses>\d{1,4})\b`)

// node states the op that failed, and the share of the card that TensorFlow got at
// its start: "Created device ... with 4225 MB memory:  -> device: 0, name: NVIDIA A30".
func node(m text.Message, name string) {
	if name != "" {
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "tf_node", Text: name, Line: m.Log.Line(m.At)})
	}
	at := max(m.Log.Next("createddevice/job", 0), m.Log.Next("createdtensorflowdevice(/job", 0))
	if k := m.Log.Find(sharePattern, at, min(at, m.At)+200); at >= 0 && k.Ok() {
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "tf_share", Size: k.SizeIn("share", "m"), Text: k.Text("card"), Line: k.Line()})
	}
}

var sharePattern = text.NewPattern(`device:gpu:\d{1,2}with(?<share>\d{1,7})mbmemory.{0,24}?name:(?<card>[^,]{3,40}),`)

var (
	poolPattern  = text.NewPattern(`failedto(?:allocate|alloc)(?<human>[\d.]{1,9}(?:[kmgtp](?:ib)?)?)\(?(?<exact>\d{1,20})bytes\)?`)
	namePattern  = text.NewPattern(`creatingtensorflowdevice\(.{0,60}?name:(?<card>[^,]{3,40}),`)
	totalPattern = text.NewPattern(`totalmemory:(?<total>SIZE)(?:freememory:(?<free>SIZE))?`)
)

// readPoolSearch reads "failed to allocate 1.97G (2120187392 bytes) from
// device: CUDA_ERROR_OUT_OF_MEMORY". At level I newer versions go on.
func readPoolSearch(m text.Message) int {
	k := m.Around(poolPattern, 80, 0)
	if from, _ := m.Log.LineSpan(m.At); m.Log.Find(infoLevel, max(from-2, 0), m.At).Ok() {
		m.Notice(tfWentOn)
		return m.End
	}
	x := fact.Failure{Kind: fact.TFStart, Framework: user(m.Mentions("jaxlib") && !m.Mentions("tensorflow/python", "keras/")), Backend: map[bool]string{true: "rocm", false: "cuda"}[m.Follows("hip_error", 24)], Phase: map[bool]string{true: "unknown", false: "startup_check"}[m.Mentions("failedtocreatecublashandle", "couldnotcreatecudnnhandle")]} // then it filled up later
	t := m.Around(totalPattern, 6000, 0)
	x.Figures.Requested, x.Figures.Total, x.Figures.Free = k.Size("exact"), t.Size("total"), t.Size("free")
	m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "tf_card", Text: m.Around(namePattern, 6000, 0).Text("card"), Line: m.Log.Line(m.At)})
	return text.Fails(x)(m) // the next try may stand on the same line
}

// The level letter stands before the source file: "I external/local_xla/...".
var infoLevel = text.NewPattern(`(?:^|[\d.:])i(?:external|tensorflow)/[a-z_/]{0,80}(?:cuda|rocm)_(?:driver|executor)\.cc:\d+\]`)

// foldPoolSearch makes one failure of the search for a pool: each try asks for 0.9
// of the last. A try of another size is a new start; the last one ended the program.
func foldPoolSearch(f *fact.Facts) {
	kept := f.Failures[:0]
	best, tried, last := -1, false, int64(0)
	for _, x := range f.Failures {
		if x.Kind != fact.TFStart {
			kept = append(kept, x)
			continue
		}
		want := text.Requested(x)
		step := float64(want) / float64(max(last, 1))
		last = want
		if best >= 0 && !tried && want == (text.Requested(kept[best])*9/10+255)/256*256 {
			tried = true
			f.Facts = append(f.Facts, fact.Fact{Name: "pool_retry", Size: x.Figures.Requested, Text: x.Message, Line: x.Line})
		}
		switch {
		case best < 0:
			kept, best = append(kept, x), len(kept)
		case step == 1: // no search, whose tries get smaller
			kept[best], f.Facts = x, append(f.Facts, fact.Fact{Name: "pool_repeated", Size: x.Figures.Requested, Text: x.Message, Line: x.Line})
		case step < 0.88 || step > 0.92:
			kept[best] = x
		}
	}
	f.Failures = kept
}

// readHandle reads a library that did not start: as a rule memory, else its set-up.
func readHandle(m text.Message) int {
	return text.Fails(fact.Failure{Kind: fact.TFHandle, Framework: user(m.Mentions("jax") && !m.Mentions("tensorflow/python", "keras/")), Backend: "cuda", Weak: true})(m)
}

var noMemory = []text.Guard{text.Behind("alloc_failed", 80), text.Behind("not_initialized", 80), text.Behind("internal_error", 80), text.Behind("resourceallocationfailed", 60)}

var bfcLimit = text.NewPattern(`stats:(?>.{0,60}?limit:(?<limit>SIZE|\d{1,16})).{0,60}?inuse:(?<used>SIZE|\d{1,16})`)

// readBFCStats is reached when the paste begins in the middle of the dump.
func readBFCStats(m text.Message) int {
	if len(m.Facts.Failures) > 0 || !m.Follows("stats:", 400) || m.Log.MentionsFrom("oomwhenallocatingtensor", m.At) {
		return m.End
	}
	x := fact.Failure{Kind: fact.TFAlloc, Framework: "tensorflow", Backend: pool(m)}
	bfcStats(m, &x)
	if x.Figures.Limit == nil {
		return m.End
	}
	return m.Fail(x, m.End)
}

// bfcStats reads the summary at the end of the dump, which may be long.
func bfcStats(m text.Message, x *fact.Failure) {
	heads, at := [...]string{"sumtotalofin-usechunks", "curr_region_allocation_bytes_", "stats:limit:"}, -1 // posters cut what is above
	for i := 0; at < 0 && i < len(heads); i++ {
		at = m.Log.Next(heads[i], m.At)
	}
	if at >= 0 {
		k := m.Log.Find(bfcLimit, at, at+600)
		x.Figures.Limit, x.Figures.Allocated = k.Size("limit"), k.Size("used")
		if m.Log.Find(poolTaken, at, at+400).Ok() {
			m.Log.Signal(m.Facts, "pool_taken", at)
		}
	}
}

// poolTaken: all of the share was taken, so that nobody else holds a part of it.
var poolTaken = text.NewPattern(`memory_limit_:\d{1,16}availablebytes:0(?!\d)`)
