package cures

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// wideMatrices are the sizes, rounded up as the allocator does, of the widest
// matrices of language models at 16 bit: 4096 x 11008 (Llama 7B), 4096 x 14336
// (Mistral 7B, Llama 3 8B), 3584 x 18944 (Qwen2 7B), 5120 x 13824 (13B and 14B),
// 6656 x 17920 (30B). Those that a smaller model has at 32 bit are left out.
var wideMatrices = []int64{86 * units.MiB, 112 * units.MiB, 130 * units.MiB, 136 * units.MiB, 228 * units.MiB}

// WideMatrix: while a model is loaded, the piece that failed is such a matrix.
// Several GiB before it tell it from the embedding of a small model at 32 bit.
func WideMatrix(c *ledger.Case) bool {
	return slices.Contains(wideMatrices, ledger.Requested(c)) && ledger.SizeOf(c.F().Allocated) >= 4*units.GiB && Loading(c)
}

// FewerThan16 is for weights whose size shows that 16 bit is what they are in.
var FewerThan16 = cause.Cure{
	Fix: "load_in_4bit", If: WideMatrix, Title: "Load it in 4 or 8 bit: it is in 16 now", Cost: "some quality",
	Told: "{asked} is the size of a 16-bit matrix in language models of 7 billion parameters and more. 4 bit takes about a third. transformers: `quantization_config=BitsAndBytesConfig(load_in_4bit=True)`. text-generation-inference: `--quantize bitsandbytes-nf4`. If the file is a 4-bit one (GPTQ, AWQ), it was not read as such: name its format (`--quantize gptq`), and update the program.",
}
