package local

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	intelEngine = "openvino/src/plugins/intel_gpu/src/runtime/ocl/ocl_engine.cpp"
	intelHints  = "openvino/src/inference/include/openvino/runtime/intel_gpu/properties.hpp"
)

// loadWords stand where a model is compiled for its device, before any input.
var loadWords = []string{"compiled_model.cpp", "Cannot compile model", "compile_model(", "Error occurred while loading model"}

func compiling(c *ledger.Case) bool { return c.Phase == "load" || c.Near(loadWords...) }

var (
	fewerBits = cause.Cure{Fix: "use_lower_quant", If: compiling, Title: "Export the model with 8-bit or 4-bit weights", Cost: "some quality", Told: "That is a half or a quarter of 16 bit. For a Hugging Face model: `optimum-cli export openvino --model NAME --weight-format int4 FOLDER` (or `int8`). Or download a ready OpenVINO model in int4."}
	onCPU     = cause.Cure{Fix: "cpu_offload", Title: "Run this model on the CPU", Cost: "slower", Told: "Then only RAM counts. Change the program's device setting, or use its image without OpenVINO. OpenVINO Model Server: `target_device` `CPU`. Code: `compile_model(model, \"CPU\")`, GenAI `LLMPipeline(path, \"CPU\")`."}
	lessInput = cause.Cure{Fix: "lower_batch_size", If: when.Not(compiling), Title: "Use a smaller input or batch", Cost: "detail, or more calls", Told: "Half the length needs a quarter of the attention scores. Images: half the width and height, and fewer images or frames in one request."}
)

// LibraryCards are about NVIDIA's libraries under a program that is not known.
var LibraryCards = []cause.Card{{
	ID: "other/library-workspace", Kinds: []fact.Kind{fact.CUDAHandle}, If: func(c *ledger.Case) bool {
		return c.Failure.Framework == "other" && NoneKnown(c) && c.Contains("alloc_failed")
	},
	Among: append([]string{cause.ContextTooLong, cause.HostMemory}, anyOfCard...), Headline: "had no GPU memory left for NVIDIA's cuBLAS or cuDNN",
	Means: "cuBLAS (matrices) and cuDNN (convolutions) need up to some hundred MiB of their own, and got none. So the card was already full. The message does not say whether this program or another filled it.",
	Not:   "Reinstalling CUDA, usually.",
	Cures: []cause.Cure{
		ofWhom,
		{Fix: "lower_batch_size", Title: "Give it less to do at a time", Told: "Use the program's own option: half the batch, or half the width and height of an image.", Cost: "slower, or less detail"},
		hideOthers,
	},
	Sources: []string{"https://docs.nvidia.com/deeplearning/cudnn/backend/latest/api/cudnn-graph-library.html", "https://docs.nvidia.com/cuda/cublas/#cublasstatus-t"},
}}

// DriverCards are about programs that are known by their library or by the words
// of its refusal.
var DriverCards = []cause.Card{
	{
		ID: "other/openvino-piece", Kinds: []fact.Kind{fact.BufferLimit}, Said: []string{"Exceeded max size of memory object allocation", "infer_request.cpp"}, If: func(c *ledger.Case) bool {
			return c.F().Limit != nil && ledger.Requested(c) > c.F().Limit.Bytes && ledger.Requested(c) < cause.Absurd
		},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "needs {asked} in one buffer; this Intel GPU allows {limit}",
		Means: "{piece}", Figures: pieceFigures,
		Not: "Closing programs: the limit is for a single buffer.",
		Cures: []cause.Cure{
			lessInput, fewerBits,
			{Fix: "raise_memory_limit", Title: "Allow larger buffers (new versions of OpenVINO)", Cost: "slower loading, more for the driver", Told: "Set this GPU property where the program allows it. Model Server: in `plugin_config`. OpenVINO GenAI in Python: as an argument, `VLMPipeline(path, \"GPU\", GPU_ENABLE_LARGE_ALLOCATIONS=\"YES\")` (`LLMPipeline` likewise).", Kind: "config", Text: "{\"GPU_ENABLE_LARGE_ALLOCATIONS\": \"YES\"}"},
			onCPU,
		},
		Sources: []string{intelEngine, intelHints, "https://registry.khronos.org/OpenCL/sdk/3.0/docs/man/html/clGetDeviceInfo.html"},
	},
	{
		ID: "other/openvino-overflow", Kinds: []fact.Kind{fact.BufferLimit}, Said: []string{"Exceeded max size of memory object allocation"}, If: func(c *ledger.Case) bool { return ledger.Requested(c) >= cause.Absurd },
		Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "asked for an impossible size: OpenVINO computed it wrongly",
		Means: "Your memory is not too small: the byte count in the message is no real need. OpenVINO's GPU plug-in computed a size wrongly, usually for a cache or an input of changing length. In one public report it was a long chat, and turning prefix caching off cured it.",
		Not:   "The message's smaller batch and lower precision; a larger GPU, closing programs.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Update OpenVINO and the GPU driver", Told: "With OpenVINO GenAI also turn prefix caching off: `SchedulerConfig` with `enable_prefix_caching = False`. If it stays, report it with this number.", Kind: "shell", Text: "pip install -U openvino openvino-genai openvino-tokenizers", Cost: "some minutes"},
			{Fix: "lower_context", Title: "Start a new conversation, or shorten the input", Told: "If a short input runs, limit the history that is sent.", Cost: "it forgets older parts"},
			{Fix: "cpu_offload", Title: onCPU.Title, Cost: onCPU.Cost, Told: onCPU.Told},
		},
		Sources: []string{intelEngine, "openvino.genai/src/cpp/include/openvino/genai/scheduler_config.hpp", "https://github.com/openvinotoolkit/openvino.genai/issues/2406"},
	},
	{
		ID: "other/openvino-load", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: loadWords, If: byItsCount, Figures: openVINOFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "found the model too large for the Intel GPU (OpenVINO)",
		Means: "It failed while the model was compiled, before any input, so the weights are too large. OpenVINO adds up its buffers. On Linux it refuses more than all RAM (with a separate card: RAM plus GPU memory), and on any system a buffer above the GPU's limit.[[ {held} of {all} was already taken.]]",
		Not:   "A shorter input or fewer requests: there was no input yet.",
		Cures: []cause.Cure{
			fewerBits, onCPU,
			{Fix: "use_smaller_model", Title: "Or use a smaller model", Told: "Weights take 2 GB per billion parameters in 16 bit, 1 GB in 8 bit, 0.5 GB in 4 bit, plus 1 to 2 GB to work.", Cost: "some quality"},
		},
		Sources: []string{intelEngine, "https://docs.openvino.ai/2025/model-server/ovms_docs_parameters.html", "https://huggingface.co/docs/optimum-intel/openvino/export"},
	},
	{
		ID: "other/openvino-memory", Kinds: []fact.Kind{fact.DeviceAlloc}, If: byItsCount, Figures: openVINOFigures,
		Among: anyOfCard, Headline: "ran out of memory on the Intel GPU, by OpenVINO's count[[: {asked} more was wanted]]",
		Means: "OpenVINO adds up its buffers. On Linux it refuses more than all RAM (with a separate card: RAM plus GPU memory), and on any system a buffer above the GPU's limit.[[ {held} of {all} was already taken.]]",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Use a smaller input or batch, fewer requests at once", Cost: "slower, or detail", Told: "Halve the length, or the width and height: attention scores then need a quarter. Run one request at a time."},
			onCPU,
			{Fix: "use_smaller_model", Title: "Or use a smaller model", Cost: "some quality"},
		},
		Sources: []string{intelEngine, "https://docs.openvino.ai/2025/model-server/ovms_docs_parameters.html"},
	},
	{
		ID: "other/openvino-resources", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"[GPU] out of GPU resources"},
		Among: append([]string{cause.HostMemory}, anyOfCard...), Headline: "ran out of memory on the Intel GPU (OpenVINO)",
		Means: "OpenCL refused OpenVINO a buffer; the message has no size. An integrated GPU uses the computer's RAM, so nearly full RAM or a container limit counts too. Each parallel request or worker has its own buffers.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Run fewer requests or workers at once", Cost: "slower", Told: "Set the program's workers, jobs or concurrency to 1. If it runs, raise them again."},
			{Fix: "close_other_apps", Title: "Look at the RAM while it runs", Cost: "free", Told: "If \"available\" nears zero, close large programs or give the container more RAM.", Kind: "shell", Text: "free -h"},
			{Fix: "cpu_offload", Title: "Or run it on the CPU", Cost: "slower", Told: "Change the program's device setting, or use its image without OpenVINO. It then needs ordinary RAM only."},
			{Fix: "use_smaller_model", Title: "Or choose a smaller model", Cost: "some quality"},
		},
		Sources: []string{intelEngine},
	},
	{
		ID: "other/drjit", Kinds: onCard, Said: []string{"cuda_malloc(): out of memory", "jit_malloc(): out of memory", "cuda_malloc_trim(", "jit_malloc_trim("}, Figures: drawnFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in Enoki or Dr.Jit (used by Mitsuba)",
		Means: "All samples of a rendering pass are computed side by side: width x height x samples.[[ {own} was this program's own, freed when it ended.]][[ The table after it shows {others} in use by other programs.]]",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Render in passes of fewer samples", Cost: "slower", Told: "Mitsuba: put this in the scene, inside the integrator; the sample count must be a multiple of it. In Python, call `render` several times with different seeds and average.", Kind: "config", Text: "<integer name=\"samples_per_pass\" value=\"4\"/>"},
			{Fix: "lower_resolution", Title: "Use a smaller film, or crops of it", Cost: "detail", Told: "Half the width and height is a quarter of the memory."},
			{Fix: "close_other_apps", Title: "Close what else draws on this card", Cost: "free", Told: "Desktop, browser and viewers usually take a few hundred MB to 2 GB."},
		},
		Sources: []string{"mitsuba2/src/librender/integrator.cpp", "drjit-core/src/malloc.cpp"},
	},
	{
		ID: "other/specfem", Kinds: onCard, Said: []string{"at CUDA call error code: #"}, Figures: drawnFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "could not put its mesh on the GPU (SPECFEM)",
		Means: "Every rank copies its part of the mesh to a card before the first time step.[[ The table shows one card with {all}, so all ranks share it.]][[ Other programs use only {others} of it.]] The error code is the place in SPECFEM's source.",
		Not:   "More ranks on the same card: the mesh stays as large.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Make the mesh coarser or smaller", Cost: "the shortest period", Told: "Half the elements in each direction means an eighth of the memory in 3D. Then make mesh and databases again."},
			{Fix: "multi_gpu", Title: "Or use more cards, one rank on each", Cost: "more cards", Told: "Partition the mesh for as many ranks as you have cards."},
			{Fix: "cpu_offload", Title: "Or run the solver on the CPU", Cost: "slower", Told: "In DATA/Par_file:", Kind: "config", Text: "GPU_MODE = .false."},
		},
		Sources: []string{"specfem3d/src/gpu/helper_functions.cu", "specfem3d/DATA/Par_file"},
	},
	{
		ID: "other/tensorrt-write", Kinds: []fact.Kind{fact.BadAlloc}, Said: []string{"serializing engine", "FAILED_ALLOCATION: std::bad_alloc"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "built its TensorRT engine, but had no RAM to write it out",
		Means: "Writing needs a second copy of the engine in RAM. On a Jetson the GPU uses the same RAM, so the builder's memory counts too. You need this only once: later starts load the written engine.",
		Cures: []cause.Cure{
			{Fix: "add_swap", Title: "Add 4 GB of swap for this one build", Cost: "4 GB of disk", Told: "On the machine itself, not in a container:", Kind: "shell", Text: "sudo fallocate -l 4G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile"},
			{Fix: "close_other_apps", Title: "Stop the desktop and other programs", Cost: "free", Told: "`sudo systemctl isolate multi-user.target` stops the desktop until the next start."},
			{Fix: "upgrade_version", Title: "Or build it where RAM is free", Cost: "some minutes", Told: "Run `trtexec --onnx=MODEL.onnx --saveEngine=MODEL.engine` as its own process, on the same board model and TensorRT version."},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/best-practices.html", "https://github.com/NVIDIA/TensorRT/tree/main/samples/trtexec"},
	},
}

// byItsCount: the sum of all buffers was too large, not one of them.
func byItsCount(c *ledger.Case) bool { return c.Contains("exceeded max size of memory allocation") }

func openVINOFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"held": "", "all": ""}
	if f := c.F(); f.Allocated != nil && f.Total != nil {
		out["held"], out["all"] = units.Amount(f.Allocated.Bytes), units.Amount(f.Total.Bytes)
	}
	return out
}

// pieceFigures say what a buffer above the limit is: the message names the file
// of a request or of compiling, where it was cut off neither.
func pieceFigures(c *ledger.Case) map[string]string {
	weight := "While a model is compiled, such a buffer is probably its largest weight."
	request := "In a request it is the input or result of one layer, often attention scores, which grow with the square of the length."
	switch {
	case compiling(c):
		return map[string]string{"piece": weight}
	case c.Near("infer_request.cpp"):
		return map[string]string{"piece": "The model was compiled already; this is a request. The buffer" + strings.TrimPrefix(request, "In a request it")}
	}
	return map[string]string{"piece": weight + " " + request}
}

// drawnFigures are what the program held itself, and what a pasted table shows.
func drawnFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"own": "", "others": "", "all": ""}
	if own := ledger.SizeOf(c.F().ProcessUsed); own > 0 {
		out["own"] = units.Amount(own)
	}
	if d := OnlyCard(c); d != nil {
		out["others"], out["all"] = units.Amount(d.Used.Bytes), units.Amount(d.Total.Bytes)
	}
	return out
}

// OnlyCard is the one card of a pasted table, nil where none or several are shown.
func OnlyCard(c *ledger.Case) *fact.Device {
	var only *fact.Device
	for i, d := range c.Facts.Devices {
		if d.Used == nil || d.Total == nil {
			continue
		}
		if only != nil {
			return nil
		}
		only = &c.Facts.Devices[i]
	}
	return only
}
