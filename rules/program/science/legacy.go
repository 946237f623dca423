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

var lookPlain = cause.Cure{Fix: "kill_stale_process", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Told: "Full before the start: end what holds it, an earlier run as a rule.", Cost: "a look is free"}

// Theano is Theano, with Keras or Lasagne above it.
var Theano = program.Program{
	Name: "theano", Shown: "Theano", Work: "vision", Edits: "code", Language: "python",
	Proofs: []string{"Apply node that caused the error", "theano/gpuarray", "theano/compile", "theano/sandbox/cuda", "pygpu.gpuarray", "CNMEM_STATUS_OUT_OF_MEMORY"},
	Cards: []cause.Card{{
		ID: "theano/card", Kinds: append([]fact.Kind{fact.PythonMemory, fact.NumpyAlloc}, anyCard...), Said: []string{"Apply node that caused the error", "bytes of device memory", "GpuArrayException", "CNMEM_STATUS_OUT_OF_MEMORY"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "was refused memory on the card[[: {asked} wanted, {free} free]]",
		Means:    "One node of Theano's graph asked the card for its result; \"Apply node\" names it and its inputs' shapes below: the first side is the batch as a rule. In training all activations stay until the backward pass is through.[[ Only {free} of {total} was free.]] It says MemoryError, but it is the card's.",
		Not:      "More RAM or swap.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch", Cost: "slower per sample", Told: "The size that the iterator or `fit(batch_size=)` gets; shorter sequences or smaller images do as much. Validation on the whole set in one call: in batches."},
			{Fix: "limit_framework_preallocation", Title: "What Theano keeps", Cost: "slower", Kind: "env", Text: "export THEANO_FLAGS=allow_gc=True,optimizer_including=local_remove_all_assert,gpuarray.preallocate=-1", Told: "Before the start: intermediate results are let go at once, and no pool is kept (old back end: `lib.cnmem=0`). With cuDNN `dnn.conv.algo_fwd=small,dnn.conv.algo_bwd_filter=none,dnn.conv.algo_bwd_data=none` needs no workspace."},
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
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
			Headline: "reached LuaJIT's own limit of 1 to 2 GB",
			Means:    "Tables and strings of LuaJIT live in the lowest 1 to 2 GB of addresses, whatever RAM the computer has; tensors lie outside. So it is data in Lua tables: captions, vocabularies, JSON files.",
			Not:      "More RAM, or a smaller batch.",
			Cures: []cause.Cure{
				{Fix: "upgrade_version", Title: "Torch with Lua 5.2, which has no such limit", Cost: "half an hour", Told: "In the folder of Torch: `./clean.sh`, then `TORCH_LUA_VERSION=LUA52 ./install.sh`."},
				{Fix: "fix_shape", Title: "Or keep data outside Lua's heap", Cost: "some rewriting", Told: "Tensors (`torch.CharTensor`), the `tds` package (`tds.Hash`, `tds.Vec`) in place of tables."},
				{Fix: "lower_batch_size", Title: "Or a part of the data", Cost: "several runs", Told: "Smaller files, fewer threads that load (`-nDonkeys 1`)."},
			},
			Sources: []string{"torch/distro/install.sh", "https://github.com/torch/tds"},
		},
		{
			ID: "torch7/card", Kinds: anyCard, Said: []string{"THCStorage.cu", "THCGeneral", "cutorch", "luajit"},
			Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "was refused memory on the card",
			Means:    "Error 2 is the driver's \"out of memory\"; Torch for Lua prints neither what was wanted nor what is free. At the first pass it is the size of what goes in (image, batch, length) or a card that something else holds, later something that is kept.",
			Not:      "Options of PyTorch: this is its predecessor in Lua, with none of them.",
			Cures: []cause.Cure{
				{Fix: "lower_resolution", Title: "A smaller input", Cost: "detail, or slower", Told: "By the script's own option: `-image_size` (neural-style: 256), `-batch_size`/`-batchSize`, `-rnn_size`, `-seq_length`. Half the width and height is a quarter."},
				{Fix: "limit_framework_preallocation", Title: "cuDNN without its tuning, a lighter optimizer", Cost: "slower", Told: "`-backend cudnn` without `-cudnn_autotune`, `-optimizer adam` in place of L-BFGS where the script has them (neural-style); in your own code `cudnn.benchmark = false`, and the `optnet` package, which shares buffers."},
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
		Means:    "ASTRA copies volume and projections to the card as 32-bit numbers[[; {array} is {size}]]. If it runs a number of times and then fails, what earlier reconstructions made is still there: ASTRA's objects stay until they are deleted. If it fails at once, the card is too full or the volume too large. The error 11 after it only follows.",
		Not:      "More RAM; looking into \"invalid argument\".",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Delete algorithm and data after each reconstruction", Cost: "none", Kind: "python", Text: "astra.algorithm.delete(alg_id)\nastra.data3d.delete([vol_id, proj_id])   # your own ids; at the end of each pass\nastra.data3d.clear(); astra.algorithm.clear()   # or all of them", Told: "MATLAB has `astra_mex_data3d('clear')` likewise."},
			{Fix: "lower_resolution", Title: "It fails at the first one: slabs or coarser voxels", Cost: "time, or detail", Told: "Parallel beam: slices are independent, reconstruct some at a time. Iterative methods (SIRT3D, CGLS3D) hold several such arrays, FBP and FDK fewer; newer versions split FP3D and BP3D by themselves."},
			lookPlain,
			{Fix: "restart_session", Title: "Or a process for each part of the work", Cost: "none worth mentioning", Told: "What it held is free when it ends; and the newest version (`conda install -c astra-toolbox astra-toolbox`)."},
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
