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

// Torch7 is Torch for Lua, before PyTorch.
var Torch7 = program.Program{
	Name: "torch7", Shown: "Torch7", Work: "vision", Edits: "flags", Language: "other",
	Proofs: []string{"bin/luajit:", "/cutorch/", "torch/install/share/lua", "extra/cutorch", "qlua:"},
	Cards: []cause.Card{
		{
			ID: "torch7/lua", Said: []string{"luajit: not enough memory", "luajit: bad allocation", "PANIC: unprotected error in call to Lua API (not enough memory)"},
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "reached the memory limit of LuaJIT (1 to 2 GB)",
			Means: "LuaJIT keeps its tables and strings in 1 to 2 GB, however much RAM the computer has. Tensors do not count. So the data in Lua tables is too large: captions, vocabularies, JSON files.",
			Not:   "More RAM: LuaJIT cannot use it.",
			Cures: []cause.Cure{
				{Fix: "upgrade_version", Title: "Build Torch with Lua 5.2", Cost: "half an hour", Told: "Lua 5.2 has no such limit. In the folder of Torch run `./clean.sh`, then `TORCH_LUA_VERSION=LUA52 ./install.sh`."},
				{Fix: "fix_shape", Title: "Keep data outside Lua's heap", Cost: "some rewriting", Told: "Use tensors (`torch.CharTensor`) or the `tds` package (`tds.Hash`, `tds.Vec`) instead of tables."},
				{Fix: "lower_batch_size", Title: "Load less data", Cost: "several runs", Told: "Split the files, or use fewer loading threads (`-nDonkeys 1`)."},
			},
			Sources: []string{"torch/distro/install.sh", "https://github.com/torch/tds"},
		},
		{
			ID: "torch7/card", Kinds: append([]fact.Kind{fact.CUDAHandle}, anyCard...), Said: []string{"THCStorage.cu", "THCGeneral", "cutorch", "luajit"},
			Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory",
			Means: "Torch for Lua prints neither what it asked for nor what was free. If the first pass fails, the input (image, batch, length) is too large or something else uses the GPU. If a later one fails, something is kept from pass to pass, or a batch had another size.",
			Cures: []cause.Cure{
				{Fix: "lower_resolution", Title: "Use a smaller image or batch", Told: "Use the script's option: `-image_size 256` (neural-style), `-batch_size` or `-batchSize`, `-rnn_size`, `-seq_length`. Half the width and height need a quarter.", Cost: "less detail, or slower"},
				{Fix: "limit_framework_preallocation", Title: "Turn off cuDNN autotune, use Adam", Told: "neural-style: `-backend cudnn -optimizer adam` without `-cudnn_autotune`. In your own code: `cudnn.benchmark = false`, and the `optnet` package, which shares buffers.", Cost: "slower"},
				lookPlain,
			},
			Sources: []string{"torch/cutorch/lib/THC/THCStorage.cu", "https://github.com/jcjohnson/neural-style"},
		},
	},
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
