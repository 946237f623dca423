package code

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
)

// ForBackend turns a text written for NVIDIA into the names of the case's
// backend: the monitor, and PyTorch's functions. ROCm builds keep torch.cuda.
func ForBackend(c *ledger.Case, text string) string {
	switch c.Backend {
	case "mps":
		text = macFunctions.Replace(text)
	case "rocm":
		if c.Total.Has() && c.Total.Bytes < 64*units.GiB { // of AMD's, MI300 and later have 8-bit floats
			text = strings.ReplaceAll(text, "AWQ, GPTQ or FP8", "AWQ or GPTQ")
		}
	case "xpu", "npu":
		text = strings.ReplaceAll(text, "torch.cuda.", "torch."+c.Backend+".")
	}
	return strings.ReplaceAll(text, "nvidia-smi", reader.Monitor(c))
}

// macFunctions are those of torch.mps (2.0 and later), which keeps no peaks.
var macFunctions = strings.NewReplacer(
	"torch.cuda.memory_allocated()", "torch.mps.current_allocated_memory()",
	"torch.cuda.memory_reserved()", "torch.mps.driver_allocated_memory()",
	"torch.cuda.max_memory_allocated()", "torch.mps.driver_allocated_memory()",
	"torch.cuda.memory_summary()", "torch.mps.driver_allocated_memory()",
	"torch.cuda.empty_cache()", "torch.mps.empty_cache()",
)
