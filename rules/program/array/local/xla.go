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
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "had no room on the TPU core for a step[[: {asked} more was wanted]]",
		Means: "[[By its table {output} are outputs and {arguments} arguments (parameters, state, inputs). ]]A step needs its temporaries in one piece beside them, and they grow with the batch. Outputs are all tensors that the script still refers to where the graph is cut.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch per core", Cost: "slower", Told: "Or the image size, or the length. `batch_size` is per process, and each process has one core."},
			{Fix: "detach_accumulated", Title: "Cut the graph in every step, and keep only numbers", Cost: "none", Told: "`xm.mark_step()` (new versions: `torch_xla.sync()`) at the end of a step, of an evaluation as well; `loss.item()` in place of the tensor, and that not in every step."},
			{Fix: "half_precision", Title: "Compute in bfloat16", Cost: "digits", Told: "`with torch.autocast(\"xla\", dtype=torch.bfloat16):` around model and loss; older versions also know the environment variable `XLA_USE_BF16=1`."},
			{Fix: "gradient_checkpointing", If: (*ledger.Case).Training, Title: "Turn on gradient checkpointing", Cost: "about a third more time", Told: "`torch_xla.utils.checkpoint.checkpoint` around each block."},
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
