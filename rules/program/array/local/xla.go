package local

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

// TorchXLA is PyTorch on TPUs, which runs on XLA and has none of JAX's functions.
var TorchXLA = program.Program{
	Name: "pytorch-xla", Shown: "PyTorch/XLA", Rank: 57, Edits: "code", Language: "python", Script: "pytorch-xla-script",
	Proofs: []string{"RuntimeError: Resource exhausted: From /job:", "torch_xla/", "torch_xla."},
	Cards: []cause.Card{{
		ID: "pytorch-xla/step", Kinds: []fact.Kind{fact.TPUReserve, fact.TPUCompile}, Figures: heldOnChip,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "had no memory on the TPU core for a step[[: {asked} more was wanted]]",
		Means: "[[By its table {output} are outputs and {arguments} arguments (parameters, state, inputs). ]]A step also needs its temporary memory in one piece, which grows with the batch. Tensors that the script still refers to where the graph is cut stay in memory too.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch per core", Cost: "slower", Told: "Or the image size, or the length. `batch_size` is per process, and each process usually has one core."},
			{Fix: "detach_accumulated", Title: "Cut the graph in every step, and keep only numbers", Cost: "none", Told: "Call `xm.mark_step()` (new versions: `torch_xla.sync()`) at the end of each step, in evaluation too. Keep `loss.item()` instead of the tensor, and not in every step."},
			{Fix: "half_precision", Title: "Compute in bfloat16", Cost: "digits", Told: "Put `with torch.autocast(\"xla\", dtype=torch.bfloat16):` around model and loss. Older versions also accept `XLA_USE_BF16=1`."},
			{Fix: "gradient_checkpointing", If: (*ledger.Case).Training, Title: "Turn on gradient checkpointing", Cost: "about a third more time", Told: "Put `torch_xla.utils.checkpoint.checkpoint` around each block."},
		},
		Sources: []string{"pytorch/xla/torch_xla/core/xla_model.py", "pytorch/xla/torch_xla/torch_xla.py", "pytorch/xla/torch_xla/csrc/dtype.cpp", "pytorch/xla/torch_xla/utils/checkpoint.py"},
	}},
}

// heldOnChip are the shares of the runtime's table.
func heldOnChip(c *ledger.Case) map[string]string {
	if made, taken := ledger.Sized(c, "tpu_output"), ledger.Sized(c, "tpu_arguments"); made > 0 && taken > 0 {
		return map[string]string{"output": units.Amount(made), "arguments": units.Amount(taken)}
	}
	return map[string]string{"output": "", "arguments": ""}
}

// expanded is how XLA's list of the largest allocations says that a buffer takes
// eight times its size and more in tiles of 8 x 128 (buffer_assignment.cc).
var expanded = []string{"(8.0x expansion)", "(10.7x expansion)", "(12.8x expansion)", "(16.0x expansion)", "(18.3x expansion)", "(21.3x expansion)", "(25.6x expansion)", "(32.0x expansion)", "(42.7x expansion)", "(64.0x expansion)", "(128.0x expansion)"}

// Padded is about a program for a TPU whose largest buffers are padding, as the
// compiler lists them.
func Padded(program string) []cause.Card {
	return []cause.Card{{
		ID: program + "/tpu-padding", Kinds: []fact.Kind{fact.TPUCompile}, Said: expanded,
		Cause: cause.BatchTooLarge, Weight: cause.Likely, Headline: "does not fit the TPU[[: {asked} planned, {total} there]]; much of it is padding",
		Means: "The compiler's list shows it: \"Extra memory due to padding\" is many times the data of its largest buffer. A TPU stores arrays in tiles (`T(8,128)`): the last side is rounded up to 128, the one before it to 8. An array with short last sides takes up to hundreds of times its data.",
		Not:   "Restarting: the compiler adds up sizes before anything runs.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Put a long side last", Told: "`Operator:` in the first entries of the list names the operation. Transpose its arrays so that the long side (particles, points, tokens) comes last and the short one (coordinates, channels) first. Or compute the short side one value after another.", Cost: "some rewriting of that op"},
			{Fix: "lower_batch_size", Title: "Until then: fewer elements per chip", Told: "The padding shrinks with the count: use half of the points or the batch, or twice the chips.", Cost: "slower, or more chips"},
		},
		Sources: []string{"https://openxla.org/xla/tiled_layout", "xla/xla/service/buffer_assignment.cc"},
	}}
}
