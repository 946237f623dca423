package script

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// counters are files, functions and calls of what counts a network's operations or
// prints a table of its layers, by running it once: thop, ptflops, fvcore,
// torchinfo, torchsummary, torchstat, and functions of a repository's own.
var counters = []string{"thop/profile.py", "thop.profile(", "ptflops/", "get_model_complexity_info(", "fvcore/nn/jit_analysis.py", "flop_count", "flopcountanalysis(", "torchinfo/", "torchsummary/", "torchstat/", "calflops/", "multadds", "count_flops", "get_flops", "compute_flops", "calculate_flops"}

// counting: a frame of the failure counts operations.
func counting(c *ledger.Case) bool { return cures.Frames(c).HasAny(counters) }

// plainEnds are ends of names of functions that do without a compiled extension
// what a kernel of it does.
var plainEnds = []string{"_py", "_python", "_pytorch", "_naive", "_fallback", "_slow"}

// plain: the innermost functions of the reader's own are such.
func plain(c *ledger.Case) bool {
	frames := ledger.Trace(c)
	return slices.ContainsFunc(frames[max(0, len(frames)-3):], func(f fact.Code) bool {
		return f.Own && slices.ContainsFunc(plainEnds, func(end string) bool { return strings.HasSuffix(strings.ToLower(f.Function), end) })
	})
}

// plainFunction is its name.
func plainFunction(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	out["plain"] = ""
	for _, f := range ledger.Trace(c) {
		for _, end := range plainEnds {
			if f.Own && strings.HasSuffix(strings.ToLower(f.Function), end) && !strings.ContainsAny(f.Function, "`<>") {
				out["plain"] = f.Function
			}
		}
	}
	return out
}

// asideCards are about work beside the one that the reader wants done.
var asideCards = []cause.Card{{
	ID: "pytorch/counting", Kinds: cures.Refused, If: when.All(cures.OnOneCard, counting), Cause: cause.BatchTooLarge, Weight: cause.Decisive,
	Headline: "ran out of GPU memory while counting the model's operations (FLOPs)",
	Means:    "The failing call runs the model once only to count operations or print a table of layers, often with gradients on and a large dummy input. Your real work had not started.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "Leave out the count", Cost: "none", Told: "Comment out the line that counts operations or prints the summary; results do not depend on it."},
		{Fix: "inference_mode", Title: "Or count without gradients, with a small input", Cost: "none", Told: "Put it under `torch.no_grad()`, with a dummy input of a quarter of the size and batch size 1, or count on the CPU."},
		{Fix: "lower_resolution", Title: "If it then fails in the real work: use smaller inputs", Cost: "less detail", Told: "Half the width and height takes a quarter of the memory."},
	},
	Figures: cures.Scene, Sources: []string{"thop/thop/profile.py", "ptflops/ptflops/flops_counter.py", "torchinfo/torchinfo/torchinfo.py"},
}, {
	ID: "pytorch/plain-version", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, plain), Cause: cause.OversizedAllocation, Weight: cause.Strong, Figures: plainFunction,
	Headline: "ran out of GPU memory in the slow version of an operation[[: {asked} at once]]",
	Means:    "`{plain}` looks like the plain PyTorch version of a compiled CUDA operation. It creates whole matrices that the compiled one never stores. Projects usually run it when their extension is not built or failed to load; an earlier line of the log may say so.",
	Cures: []cause.Cure{
		{Fix: "efficient_attention", Title: "Build the project's CUDA extension", Cost: "some minutes; needs the CUDA toolkit of PyTorch's version", Told: "Its README says how: mostly `python setup.py install` or `pip install .` in the folder that holds the `.cu` files. Then check that the extension imports without an error."},
		{Fix: "lower_batch_size", Title: "Or compute it in blocks of rows", Cost: "some lines of code", Told: "Split the first input (`x.split(1024, dim=-2)`), call the function for each part, and join the results."},
		{Fix: "lower_resolution", Title: "Or use smaller inputs", Cost: "less detail", Told: "Half the points or pixels on both sides takes a quarter."},
	},
	Sources: []string{"CamLiFlow/models/csrc/wrapper.py", "https://docs.pytorch.org/tutorials/advanced/cpp_extension.html"},
}, {
	ID: "pytorch/converting", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.Converting, alone, when.Not(counting)), Cause: cause.ModelTooLarge, Weight: cause.Good, Figures: cures.Scene,
	Headline: "ran out of GPU memory in a script that converts weights",
	Means:    "Going by its name, the script turns weights into another form. That needs no GPU: a batch size or gradient settings change nothing. It needs room for the weights once or twice, which RAM usually has.",
	Cures: []cause.Cure{
		{Fix: "cpu_offload", Title: "Run the conversion on the CPU", Cost: "slower, but it runs once", Told: "Use the script's own option if it has one (`--device cpu`, `--cpu`). Otherwise hide the GPU before you start it, and load with `torch.load(path, map_location=\"cpu\")`:", Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=-1"},
		{Fix: "kill_stale_process", Title: "Or free the GPU first", Cost: "what you end stops", Told: "`nvidia-smi` shows what else uses it, such as the training run that wrote the weights."},
		{Fix: "half_precision", Title: "If RAM is short as well: load it in 16 bit", Cost: "none for weights that are 16 bit", Told: "`torch_dtype=torch.bfloat16` and `low_cpu_mem_usage=True` in `from_pretrained`."},
	},
	Sources: []string{"https://docs.pytorch.org/docs/stable/generated/torch.load.html"},
}}
