package torch

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// asyncFull is about a full card in the words of cudaMallocAsync. PyTorch does not
// use it unless told to; ComfyUI and what is built on it tell it to.
var asyncFull = cause.Card{
	ID: "pytorch/async-full", Kinds: []fact.Kind{fact.TorchAsync}, If: when.All(full, func(c *ledger.Case) bool { return len(c.Stack) == 1 && !c.Training() }), Among: ownDoing,
	Headline: "ran out of memory[[: this program fills the {whole} card by itself]]",
	Means:    "This wording comes from the allocator cudaMallocAsync, which ComfyUI and Fooocus turn on by default and hardly anything else does. So this is most likely such an image program. {last}[[ {table}]] If the first image fails too, the image size or the model is too large. If it came after many images, memory was not freed.",
	Not:      "{settings}.[[ Closing all else: {closing} at most.]]", Figures: besides,
	Cures: []cause.Cure{
		{Fix: "restart_session", If: func(c *ledger.Case) bool { return c.Asked.Bytes*50 < c.Total.Bytes }, Title: "Restart the program", Cost: "free", Told: "Models of earlier images may still be on the GPU. Colab: Runtime, Restart session; then run only the cells that start it."},
		{Fix: "lowvram_mode", Title: "Start it with less memory in use on the GPU", Cost: "slower", Ways: []cause.Way{
			{For: "ComfyUI", Text: "`--reserve-vram 2`"},
			{For: "Fooocus", Text: "`--always-low-vram`"},
		}},
		{Fix: "lower_resolution", Title: "Make smaller images, one at a time", Cost: "less detail", Told: "Half the width and height, batch size 1; video: fewer frames. No upscaling in the same run."},
		{Fix: "use_lower_quant", Title: "Load an fp8 or GGUF file of the model", Cost: "little quality", Told: "An fp8 file is half of 16 bit; or the next smaller model."},
		cures.FreeOthers,
	},
	Sources: []string{"pytorch/c10/cuda/CUDAMallocAsyncAllocator.cpp", "ComfyUI/cuda_malloc.py", "https://github.com/lllyasviel/Fooocus/blob/main/ldm_patched/modules/args_parser.py"},
}
