package torch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// inductorSource writes the code in which a compiled model makes its buffers.
const inductorSource = "pytorch/torch/_inductor/codegen/wrapper.py"

// widths are the bytes of the types that compiled code names.
var widths = map[string]int64{"torch.float32": 4, "torch.float16": 2, "torch.bfloat16": 2, "torch.float64": 8, "torch.int64": 8, "torch.int32": 4, "torch.uint8": 1, "torch.bool": 1}

// compiledShape reads the buffer of a line of compiled code, whose sizes stand in
// it: "buf7 = empty_strided_cuda((262208, 2560), (2560, 1), torch.float32)".
func compiledShape(c *ledger.Case) (sizes []int64, kind string) {
	frames := ledger.Trace(c)
	if len(frames) == 0 {
		return nil, ""
	}
	_, call, found := strings.Cut(frames[len(frames)-1].Source, "empty_strided_cuda((")
	shape, rest, closed := strings.Cut(call, ")")
	if !found || !closed {
		return nil, ""
	}
	for part := range strings.SplitSeq(strings.Trim(shape, ", "), ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil || n <= 0 {
			return nil, "" // a size that is known at run time only
		}
		sizes = append(sizes, n)
	}
	kind = strings.TrimSuffix(strings.TrimSpace(rest[strings.LastIndexByte(rest, ',')+1:]), ")")
	return sizes, kind
}

// words of a vocabulary, and widths of a language model.
func vocabularyShape(sizes []int64) bool {
	return len(sizes) == 2 && sizes[0] >= 30_000 && sizes[0] <= 300_000 && sizes[1] >= 512 && sizes[1] <= 20_000
}

// compiledFigures say what the buffer is, where its sizes come to what was asked
// for.
func compiledFigures(c *ledger.Case) map[string]string {
	out := scene(c)
	out["shape"] = ""
	sizes, kind := compiledShape(c)
	bytes, written := widths[kind], make([]string, len(sizes))
	for i, n := range sizes {
		bytes *= n
		written[i] = ledger.Thousands(n)
	}
	if bytes > 0 && bytes <= c.Asked.Bytes+units.MiB && c.Asked.Bytes < bytes+bytes/10+20*units.MiB { // large pieces are rounded up
		out["shape"] = fmt.Sprintf("%s x %d bytes = %s", strings.Join(written, " x "), widths[kind], units.Amount(bytes))
	}
	return out
}

// compiledCards are about the buffers of torch.compile.
var compiledCards = []cause.Card{
	{
		ID: "pytorch/compiled-vocabulary", Kinds: refused, Said: []string{"empty_strided_cuda("}, Figures: compiledFigures,
		If: when.All(when.Not(ledger.Crowded), func(c *ledger.Case) bool {
			sizes, _ := compiledShape(c)
			return vocabularyShape(sizes) && compiledFigures(c)["shape"] != ""
		}),
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory making a matrix of vocabulary x width: {asked}",
		Means:    "The failing line of compiled code states it: {shape}, which is vocabulary x width, the size of the output layer (lm_head) or of the embedding. In training that is its gradient, and it is only made where that layer is trained: in full fine-tuning, or with `lm_head` or `embed_tokens` among a LoRA's targets.[[ {mine} of {total} was held already.]]",
		Not:      "Allocator settings[[: {slack} to gain]]. A smaller batch alone: this matrix does not depend on it.",
		Cures: []cause.Cure{
			{Fix: "use_lora", Title: "Leave the output layer and the embedding frozen", Cost: "none, unless new words are to be learned", Told: "A LoRA on attention and MLP only: no `lm_head`, `embed_tokens` in `target_modules` and `modules_to_save`, and not `full_finetuning=True`.", Kind: "python", Text: "target_modules=[\"q_proj\", \"k_proj\", \"v_proj\", \"o_proj\", \"gate_proj\", \"up_proj\", \"down_proj\"]"},
			{Fix: "load_in_4bit", Title: "The base in 4 bit", Cost: "little quality", Told: "`load_in_4bit=True` where the model is loaded: 0.6 GB per billion parameters in place of 2."},
			{Fix: "lower_batch_size", Title: "Then batch 1 and shorter samples", Cost: "slower; long samples are cut", Told: "`per_device_train_batch_size=1` with accumulation, a lower `max_seq_length`: that makes room beside the matrix, not the matrix smaller."},
		},
		Sources: []string{inductorSource, "https://docs.unsloth.ai/get-started/fine-tuning-llms-guide/lora-hyperparameters-guide"},
	},
	{
		ID: "pytorch/compiled-buffer", Kinds: refused, Said: []string{"empty_strided_cuda("}, Figures: compiledFigures,
		If: when.All(ownCard, when.Not(lateStep), func(c *ledger.Case) bool { return compiledFigures(c)["shape"] != "" }), Among: ownDoing,
		Headline: "ran out of memory in compiled code, making a tensor of {asked}",
		Means:    "The failing line of compiled code (`torch.compile`) states it: {shape}. The largest of these sizes that is batch, length or pixels is what to lower.[[ {mine} of {total} was held already.]] Compiled code joins operations and mostly needs less than the same without it.",
		Not:      "Allocator settings[[: {slack} to gain]].",
		Cures:    []cause.Cure{halveStep, cheaperTraining, lighter, halfWeights},
		Later:    kept, Sources: []string{inductorSource, memoryFAQ},
	},
}
