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

var lookPlain = cause.Cure{Fix: "kill_stale_process", Title: "Check what else uses the card", Kind: "shell", Text: "nvidia-smi", Told: "If it is full before the start, end what holds it, usually an earlier run.", Cost: "a look is free"}

// Theano is Theano, with Keras or Lasagne above it.
var Theano = program.Program{
	Name: "theano", Shown: "Theano", Work: "vision", Edits: "code", Language: "python",
	Proofs: []string{"Apply node that caused the error", "theano/gpuarray", "theano/compile", "theano/sandbox/cuda", "pygpu.gpuarray", "(CNMEM_STATUS_OUT_OF_MEMORY"},
	Cards: []cause.Card{{
		ID: "theano/card", Kinds: append([]fact.Kind{fact.PythonMemory, fact.NumpyAlloc}, anyCard...), Said: []string{"Apply node that caused the error", "bytes of device memory", "GpuArrayException", "(CNMEM_STATUS_OUT_OF_MEMORY"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "was refused memory on the card[[: {asked} wanted, {free} free]]",
		Means: "One node of Theano's graph asked the card for its result; \"Apply node\" names it and the shapes of its inputs, whose first side is usually the batch. In training all activations stay until the backward pass.[[ Only {free} of {total} was free.]] Python says MemoryError, but this is graphics memory.",
		Not:   "More RAM or swap.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size", Cost: "slower per sample", Told: "The size that the iterator or `fit(batch_size=)` gets; or shorter sequences, smaller images. Validate in batches, too."},
			{Fix: "limit_framework_preallocation", Title: "Free intermediate results, no pool", Cost: "slower", Kind: "env", Text: "export THEANO_FLAGS=allow_gc=True,optimizer_including=local_remove_all_assert,gpuarray.preallocate=-1", Told: "Before the start (old back end: `lib.cnmem=0`). With cuDNN `dnn.conv.algo_fwd=small,dnn.conv.algo_bwd_filter=none,dnn.conv.algo_bwd_data=none` needs no workspace."},
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
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "reached the 1 to 2 GB limit of LuaJIT",
			Means: "LuaJIT keeps its tables and strings in the lowest 1 to 2 GB of addresses, whatever RAM the computer has; tensors lie outside. So the data in Lua tables is too large: captions, vocabularies, JSON files.",
			Not:   "More RAM.",
			Cures: []cause.Cure{
				{Fix: "upgrade_version", Title: "Build Torch with Lua 5.2", Cost: "half an hour", Told: "In the folder of Torch: `./clean.sh`, then `TORCH_LUA_VERSION=LUA52 ./install.sh`."},
				{Fix: "fix_shape", Title: "Keep data outside Lua's heap", Cost: "some rewriting", Told: "Tensors (`torch.CharTensor`), or the `tds` package (`tds.Hash`, `tds.Vec`) instead of tables."},
				{Fix: "lower_batch_size", Title: "Load less data", Cost: "several runs", Told: "Smaller files, fewer threads that load (`-nDonkeys 1`)."},
			},
			Sources: []string{"torch/distro/install.sh", "https://github.com/torch/tds"},
		},
		{
			ID: "torch7/card", Kinds: append([]fact.Kind{fact.CUDAHandle}, anyCard...), Said: []string{"THCStorage.cu", "THCGeneral", "cutorch", "luajit"},
			Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "was refused memory on the card",
			Means: "Error 2 and cuDNN's ALLOC_FAILED say that memory was refused; Torch for Lua prints neither what was wanted nor what is free. A failure at the first pass means too large an input (image, batch, length) or a card in use by something else; a later one, something that is kept, or a batch of another size (the last of an epoch), for which cuDNN searches anew.",
			Cures: []cause.Cure{
				{Fix: "lower_resolution", Title: "Use a smaller image or batch", Cost: "detail, or slower", Told: "By the script's own option: `-image_size` (neural-style: 256), `-batch_size`/`-batchSize`, `-rnn_size`, `-seq_length`. Half the width and height is a quarter."},
				{Fix: "limit_framework_preallocation", Title: "Turn off cuDNN autotune, use Adam", Cost: "slower", Told: "`-backend cudnn` without `-cudnn_autotune`, `-optimizer adam` in place of L-BFGS where the script has them (neural-style); in your own code `cudnn.benchmark = false`, and the `optnet` package, which shares buffers."},
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
		Headline: "had no room on the card for an array of a reconstruction[[: {array}]]",
		Means:    "ASTRA copies volume and projections to the card as 32-bit numbers[[; {array} is {size}]]. If it runs some times and then fails, data of earlier reconstructions is still there: ASTRA's objects stay until they are deleted. If it fails at once, the card is in use or the volume too large. An error 11 (invalid argument) after it is a result.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Delete algorithm and data after each reconstruction", Cost: "none", Kind: "python", Text: "astra.algorithm.delete(alg_id)\nastra.data3d.delete([vol_id, proj_id])   # your own ids; at the end of each pass\nastra.data3d.clear(); astra.algorithm.clear()   # or all of them", Told: "In MATLAB `astra_mex_data3d('clear')`."},
			{Fix: "lower_resolution", Title: "If the first one fails: use slabs or coarser voxels", Cost: "time, or detail", Told: "Parallel beam: slices are independent, so reconstruct some at a time. Iterative methods (SIRT3D, CGLS3D) hold several such arrays, FBP and FDK fewer; newer versions split FP3D and BP3D themselves."},
			lookPlain,
			{Fix: "restart_session", Title: "Use a new process for each part", Cost: "none worth mentioning", Told: "Its memory is free when it ends; and update (`conda install -c astra-toolbox astra-toolbox`)."},
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
