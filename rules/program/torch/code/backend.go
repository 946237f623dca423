package code

import (
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
)

// ForBackend turns a text written for NVIDIA into the names of the case's
// backend: the monitor, the variables, what the driver keeps to itself and
// PyTorch's functions. ROCm builds keep torch.cuda and "cuda". Where the log is
// from Windows, what holds "on Windows" simply holds.
func ForBackend(c *ledger.Case, text string) string {
	if c.Windows() {
		text = hereIsWindows().Replace(text)
	}
	if c.Backend == "" || c.Backend == "cuda" || c.Backend == "cpu" {
		return text
	}
	if c.Backend == "rocm" && c.Total.Has() && c.Total.Bytes < 64*units.GiB { // of AMD's, MI300 and later have 8-bit floats
		text = strings.ReplaceAll(text, "AWQ, GPTQ or FP8", "AWQ or GPTQ")
	}
	names := namesOf()[c.Backend]
	if monitor := reader.Monitor(c); monitor != "nvidia-smi" && strings.Contains(text, "nvidia-smi") {
		watched := "watch -n 1 " + monitor
		if c.Backend == "mps" || c.Backend == "metal" || c.Windows() {
			watched = monitor
		}
		for _, option := range []string{"index,name,memory.free,memory.total", "index,name,memory.total"} {
			text = strings.ReplaceAll(text, "nvidia-smi --query-gpu="+option+" --format=csv", monitor)
		}
		text = strings.NewReplacer("nvidia-smi -l 1", watched, "nvidia-smi -L", monitor, "nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv", monitor, "nvidia-smi", monitor).Replace(text)
	}
	if names == nil {
		return text
	}
	return names.Replace(text)
}

// hereIsWindows takes out that something is so on Windows.
var hereIsWindows = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("On Windows: enlarge", "Enlarge", "Possible: on Windows, ", "Possible: ", "On Windows every GiB", "Every GiB",
		"On Windows the same message", "The same message", "On Windows and WSL the driver", "The driver", "On Windows swap is the page file: ", "")
})

// drivers are what sentences call CUDA where they mean the card's driver.
var drivers = []string{
	"CUDA's own context (usually 300 to 600 MiB)", "the driver's own context (some hundred MiB)",
	"CUDA's own context is 300 to 600 MiB of that", "the driver's own context is some hundred MiB of that",
	"CUDA itself (usually 300 to 600 MiB)", "the driver itself (some hundred MiB)",
	"CUDA itself needs 300 to 600 MiB", "the driver itself needs some hundred MiB",
	"a CUDA context (300 to 600 MiB)", "a context of the driver (some hundred MiB)",
	"CUDA's own context", "the driver's own context", "CUDA's own", "the driver's own", "CUDA itself", "the driver itself",
	"a CUDA context", "a context", "touches CUDA", "touches the card", "uses CUDA", "uses the card", "before CUDA starts", "before anything uses the card",
}

// apiOf are the names of torch.npu and torch.xpu, which have the functions of
// torch.cuda (torch_npu/npu/__init__.py, torch/xpu/__init__.py).
func apiOf(backend string) []string {
	return []string{
		"torch.cuda.", "torch." + backend + ".", `"cuda"`, `"` + backend + `"`,
		"`cuda`", "`" + backend + "`", "cuda:", backend + ":", ".cuda()", "." + backend + "()",
	}
}

// namesOf are the names of each backend that differ from NVIDIA's. Which cards a
// process sees: accelerate/src/accelerate/utils/launch.py; what waits for each
// kernel: torch_npu/csrc/core/npu/NPUException.h, c10/hip/HIPException.h; devices:
// vllm-ascend/docs/source/installation.md, ROCm's and Intel's guides to containers.
var namesOf = sync.OnceValue(func() map[string]*strings.Replacer {
	made := func(own ...[]string) *strings.Replacer {
		var pairs []string
		for i := 0; i < len(drivers); i += 2 {
			if named, inside := drivers[i], drivers[i+1]; strings.HasPrefix(named, "CUDA") {
				pairs = append(pairs, ". "+named, ". T"+inside[1:]) // at the beginning of a sentence
			}
		}
		return strings.NewReplacer(slices.Concat(append(own, pairs, drivers)...)...)
	}
	return map[string]*strings.Replacer{
		"mps":  made(macFunctions),
		"rocm": made([]string{"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING=1", "AMD_SERIALIZE_KERNEL=3", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "/dev/nvidia*", "/dev/kfd /dev/dri/render*"}),
		"npu":  made(apiOf("npu"), []string{"CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING", "ASCEND_LAUNCH_BLOCKING", "/dev/nvidia*", "/dev/davinci*", " a GPU", " an NPU", " GPU", " NPU", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NPU_ALLOC_CONF"}),
		"xpu":  made(apiOf("xpu"), []string{"CUDA_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "/dev/nvidia*", "/dev/dri/render*"}),
	}
})

// macFunctions are those of torch.mps (2.0 and later), which keeps no peaks.
var macFunctions = []string{
	"torch.cuda.memory_allocated()", "torch.mps.current_allocated_memory()",
	"torch.cuda.memory_reserved()", "torch.mps.driver_allocated_memory()",
	"torch.cuda.max_memory_allocated()", "torch.mps.driver_allocated_memory()",
	"torch.cuda.memory_summary()", "torch.mps.driver_allocated_memory()",
	"torch.cuda.empty_cache()", "torch.mps.empty_cache()",
	`"cuda"`, `"mps"`, ".cuda()", `.to("mps")`,
}
