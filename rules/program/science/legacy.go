package science

import (
	"regexp"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

var anyCard = []fact.Kind{fact.PlainDevice, fact.DeviceAlloc, fact.CUDAError, fact.PlainMemory}

var lookPlain = cause.Cure{Fix: "kill_stale_process", Title: "Check what else uses the GPU", Told: "Run `nvidia-smi` before your program starts. If GPU memory is already nearly full, end what holds it, usually an earlier run.", Cost: "a look is free"}

// Theano is Theano, with Keras or Lasagne above it.
var Theano = program.Program{
	Name: "theano", Shown: "Theano", Work: "vision", Edits: "code", Language: "python",
	Proofs: []string{"Apply node that caused the error", "theano/gpuarray", "theano/compile", "theano/sandbox/cuda", "pygpu.gpuarray", "(CNMEM_STATUS_OUT_OF_MEMORY"},
	Cards: []cause.Card{{
		ID: "theano/card", Kinds: append([]fact.Kind{fact.PythonMemory, fact.NumpyAlloc}, anyCard...), Said: []string{"Apply node that caused the error", "bytes of device memory", "GpuArrayException", "(CNMEM_STATUS_OUT_OF_MEMORY"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory",
		Means: "Python says MemoryError, but this is GPU memory. \"Apply node\" names the operation that failed and the shapes of its inputs; their first side is usually the batch. In training all activations stay until the backward pass.",
		Not:   "More RAM or swap: the GPU does not use them.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size", Told: "Change what your iterator or `fit(batch_size=)` gets, also for validation. Shorter sequences or smaller images help too.", Cost: "slower per sample"},
			{Fix: "limit_framework_preallocation", Title: "Free intermediate results", Told: "Set this before the start (old back end: `lib.cnmem=0`). With cuDNN also add `dnn.conv.algo_fwd=small,dnn.conv.algo_bwd_filter=none,dnn.conv.algo_bwd_data=none`: it needs no workspace.", Kind: "env", Text: "export THEANO_FLAGS=allow_gc=True,optimizer_including=local_remove_all_assert,gpuarray.preallocate=-1", Cost: "slower"},
			lookPlain,
		},
		Sources: []string{"theano/configdefaults.py", "theano/doc/library/config.txt"},
	}},
	Sources: program.Sources{"theano/doc/library/config.txt": "THEANO_FLAGS allow_gc gpuarray.preallocate"},
}

// astraArray is what ASTRA could not have: "Failed to allocate 823x70x854 GPU array".
var astraArray = regexp.MustCompile(`(\d{1,6})x(\d{1,6})x(\d{1,6}) GPU`)

// ASTRA is the ASTRA toolbox of tomography.
var ASTRA = program.Program{
	Name: "astra", Shown: "ASTRA Toolbox", Work: "science", Edits: "code", Language: "python",
	Proofs: []string{"libastra", "astra-toolbox", "import astra", "astra.data3d", "astra_mex", "cuda/3d/util3d.cu", "cuda/3d/mem3d.cu"},
	Cards: []cause.Card{{
		ID: "astra/array", Kinds: anyCard, Figures: astraFigures,
		Headline: "could not get GPU memory for an array of a reconstruction[[: {array}]]",
		Means:    "ASTRA copies volume and projections to the GPU as 32-bit numbers[[; {array} is {size}]]. If a few reconstructions work and then one fails, earlier data is still there: ASTRA keeps objects until you delete them. If the first one fails, the volume is too large or something else uses the GPU.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Delete algorithm and data after each reconstruction", Told: "In MATLAB: `astra_mex_data3d('clear')`.", Kind: "python", Text: "astra.algorithm.delete(alg_id)\nastra.data3d.delete([vol_id, proj_id])   # your own ids; at the end of each pass\nastra.data3d.clear(); astra.algorithm.clear()   # or all of them", Cost: "none"},
			{Fix: "lower_resolution", Title: "If the first one fails: use slabs or coarser voxels", Told: "Parallel beam: slices are independent, so reconstruct some at a time. SIRT3D and CGLS3D hold several such arrays; FDK needs fewer.", Cost: "time, or detail"},
			lookPlain,
			{Fix: "restart_session", Title: "Use a new process for each part", Told: "Its GPU memory is free when it ends. Update ASTRA as well: `conda install -c astra-toolbox astra-toolbox`.", Cost: "none"},
		},
		Sources: []string{"astra-toolbox/cuda/3d/util3d.cu", "https://www.astra-toolbox.com/docs/data3d.html"},
	}},
}

func astraFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"array": "", "size": ""}
	for _, word := range c.Facts.Talk {
		if m := astraArray.FindStringSubmatch(word.Text); m != nil {
			bytes := int64(4)
			for _, side := range m[1:] {
				n, _ := strconv.ParseInt(side, 10, 64)
				bytes *= n
			}
			out["array"], out["size"] = m[1]+" x "+m[2]+" x "+m[3], units.Amount(bytes)
		}
	}
	return out
}
