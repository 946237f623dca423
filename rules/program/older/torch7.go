package older

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// Torch7 is Torch for Lua, before PyTorch.
var Torch7 = program.Program{
	Name: "torch7", Shown: "Torch7", Work: "vision", Edits: "flags", Language: "other",
	Proofs: []string{"bin/luajit:", "/cutorch/", "torch/install/share/lua", "extra/cutorch", "qlua:"},
	Cards: []cause.Card{
		{
			ID: "torch7/loading", Kinds: append([]fact.Kind{fact.CUDAHandle}, ofCard...), Said: []string{"in function 'readObject'", "torch/File.lua"},
			Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "ran out of GPU memory while it read or copied a model",
			Means: "The traceback leads through `File.lua`: a model was read from its file, or copied (`clone`), before any input. A copy needs the model's size once more. If the model is smaller than the GPU, something else is on it.",
			Not:   "A smaller batch or image: no input was on the GPU yet.",
			Cures: []cause.Cure{
				look,
				{Fix: "cpu_offload", Title: "Clear the model before it is copied or saved", Told: "In the line of your script above `clone`: `model:clearState()` drops outputs and gradients that are kept in it. Or copy it in RAM: `model:float():clone()`.", Cost: "none"},
				{Fix: "use_smaller_model", Title: "If the GPU is empty: use a smaller model, or the CPU", Told: "Many scripts take `-gpu -1` or `-gpuid -1` for the CPU.", Cost: "quality, or slow"},
			},
			Sources: []string{"torch/torch7/File.lua", "torch/nn/Module.lua"},
		},
		{
			ID: "torch7/testing", Kinds: append([]fact.Kind{fact.CUDAHandle}, ofCard...), Said: []string{"===> testing", "testing...", "in function 'test'", "function 'validate'", "function 'eval_split'"}, Unsaid: []string{"'backward'"},
			Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in a test, not in training",
			Means: "Training ran, and the test that follows it failed. A test often takes whole images or another batch size, where training takes crops. The buffers of training also stay in the model until they are cleared.",
			Not:   "A smaller training batch alone: the test has its own size.",
			Cures: []cause.Cure{
				{Fix: "empty_cache", Title: "Free what training left before the test", Told: "In the script, before the test starts:", Kind: "text", Text: "`model:clearState(); collectgarbage()`", Cost: "none"},
				{Fix: "lower_resolution", Title: "Test smaller images, one at a time", Told: "Use the script's option, or run the test alone, in a new process.", Cost: "less detail"},
				look,
			},
			Sources: []string{"torch/nn/Module.lua"},
		},
		{
			ID: "torch7/host", Kinds: []fact.Kind{fact.CPUAlloc},
			Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of system memory (RAM)[[: {asked} more was refused]]",
			Means: "A tensor on the CPU did not fit into the free RAM. Its size follows from what goes through the network at once: the batch, or with `optim.lbfgs` often all of the data.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Put less through the network at once", Told: "Lower the script's `-batchSize` or `-batch_size`. L-BFGS on all data: use a part of it, or `optim.sgd` with mini-batches.", Cost: "slower"},
				{Fix: "half_precision", Title: "Use 32-bit numbers", Told: "`torch.setdefaulttensortype('torch.FloatTensor')` at the start of the script; the default is 64 bit.", Cost: "digits that seldom count"},
				{Fix: "lower_resolution", Title: "Use smaller samples, or keep the data on disk", Told: "Read each batch from its file instead of one large tensor with all of them.", Cost: "detail, or some rewriting"},
			},
			Sources: []string{"torch/torch7/lib/TH/THGeneral.c", "torch/torch7/doc/utility.md"},
		},
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
			ID: "torch7/card", Kinds: append([]fact.Kind{fact.CUDAHandle}, ofCard...), Said: []string{"THCStorage.cu", "THCGeneral", "cutorch", "luajit"}, Unsaid: []string{"in function 'readObject'"},
			Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory",
			Means: "Torch for Lua prints neither what it asked for nor what was free. If the first pass fails, the input (image, batch, length) is too large or something else uses the GPU. If a later one fails, something is kept from pass to pass, or a batch had another size.",
			Cures: []cause.Cure{
				{Fix: "lower_resolution", Title: "Use a smaller image or batch", Told: "Use the script's option: `-image_size 256` (neural-style), `-batch_size` or `-batchSize`, `-rnn_size`, `-seq_length`. Half the width and height need a quarter.", Cost: "less detail, or slower"},
				{Fix: "limit_framework_preallocation", Title: "Turn off cuDNN autotune, use Adam", Told: "neural-style: `-backend cudnn -optimizer adam` without `-cudnn_autotune`. In your own code: `cudnn.benchmark = false`, and the `optnet` package, which shares buffers.", Cost: "slower"},
				look,
			},
			Sources: []string{"torch/cutorch/lib/THC/THCStorage.cu", "https://github.com/jcjohnson/neural-style"},
		},
	},
}
