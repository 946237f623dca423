package local

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/when"
)

// NoneKnown: no program is known by its lines, or none but the reader's own.
func NoneKnown(c *ledger.Case) bool {
	return len(c.Stack) <= 1 && (c.Reader.Program == "" || c.Reader.Program == "own-script")
}

var (
	onCard = []fact.Kind{fact.PlainDevice, fact.CUDAError, fact.DeviceAlloc, fact.PlainMemory}
	// ContextWords are the driver's calls that make a context on a card.
	ContextWords = []string{"CuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", "cuCtxCreate"}
	anyOfCard    = []string{cause.Unknown, cause.BatchTooLarge, cause.ModelTooLarge, cause.OversizedAllocation}
	ofWhom       = cause.Cure{Fix: "kill_stale_process", Title: "See what is using each card", Told: "End what is yours and no longer needed. Inside a container the process list is usually empty: run it on the host.", Kind: "shell", Text: "nvidia-smi", Cost: "free"}
	hideOthers   = cause.Cure{Fix: "select_gpu", Title: "Hide the full cards before the start", Told: "Some programs touch every card at their start, so one full card stops them. Show them only a free card, by its number in `nvidia-smi`. They then count from 0: if you name cards in an option (`--gpu 5`), write 0 there.", Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=1", Cost: "needs a free card"}
)

// NamedCards are about refusals on a card whose message names the library or the
// call, but no program.
var NamedCards = []cause.Card{
	{
		ID: "other/context", Kinds: onCard, Said: ContextWords, If: NoneKnown,
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "could not start on the GPU: no memory for a CUDA context",
		Means: "Every process first needs a CUDA context of 300 to 600 MiB, and the driver had no room for it. Usually something else fills the card: an earlier run, another user or container, or several processes started at once.",
		Not:   "A smaller scene, input or batch: the failure comes before any of it is on the card.",
		Cures: []cause.Cure{
			ofWhom, hideOthers,
			{Fix: "restart_session", Title: "If the card is full but no process shows", Told: "A process in another container, or a crashed one, may hold it. Stop that container, or restart the machine.", Cost: "what runs there"},
		},
		Sources: []string{"https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html"},
	},
	{
		ID: "other/nvdiffrast", Kinds: onCard, Said: []string{"cudaMalloc(&m_gpuPtr"},
		Cause: cause.BatchTooLarge, Weight: cause.Sure, Headline: "ran out of GPU memory in nvdiffrast",
		Means: "nvdiffrast's CUDA rasterizer takes its buffers straight from the driver, so it cannot use memory that PyTorch keeps in reserve. The buffers grow with the triangles, pixels and images of one call, and its context keeps them.",
		Not:   "`PYTORCH_CUDA_ALLOC_CONF`: nvdiffrast does not take from that pool.",
		Cures: []cause.Cure{
			{Fix: "empty_cache", Title: "Release PyTorch's reserve before that call", Told: "`del` what you no longer need, then call `torch.cuda.empty_cache()` before `dr.rasterize` or `peeler.rasterize_next_layer`.", Cost: "a little time"},
			{Fix: "lower_resolution", Title: "Rasterize less in one call", Told: "Use fewer triangles, fewer images per call, or half the width and height. Print `tri.shape`: a diverging network can produce millions of triangles.", Cost: "detail"},
			{Fix: "detach_accumulated", Title: "Make one context and keep it", Told: "Call `dr.RasterizeCudaContext()` once, not in each step or frame.", Cost: "none"},
			ofWhom,
		},
		Sources: []string{"nvdiffrast/common/cudaraster/impl/Buffer.cpp", "https://github.com/NVlabs/nvdiffrast/issues/182", "https://github.com/NVlabs/nvdiffrast/issues/197"},
	},
	{
		ID: "other/directml", Kinds: onCard, Said: []string{"Could not allocate tensor with"}, If: NoneKnown,
		Among: anyOfCard, Headline: "could not get {asked} of GPU memory through DirectML",
		Means: "This is torch-directml, which runs PyTorch on Windows with GPUs of any maker. The message says neither how large the card is nor what is on it. DirectML usually needs more memory than ROCm or CUDA for the same work. An integrated GPU has only a part of the RAM.",
		Not:   "`PYTORCH_CUDA_ALLOC_CONF`: it is for CUDA.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Start small: one input at a time, half the size", Told: "Try batch size 1 and half the length, or half the width and height. If you do not train, run the model under `torch.no_grad()`.", Cost: "slower, or detail"},
			{Fix: "half_precision", Title: "Load the model in 16 bit, or a smaller one", Told: "`model.half()` halves 32-bit weights. Text models under 3 billion parameters then fit 8 GB.", Cost: "hardly any quality"},
			{Fix: "upgrade_version", Title: "Replace DirectML with the card's own PyTorch build", Cost: "a new installation", Ways: []cause.Way{
				{For: "AMD", Text: "PyTorch's ROCm wheels for Windows (RX 7000 and later), or Linux with ROCm."},
				{For: "Intel Arc", Text: "PyTorch's XPU build (`torch.xpu`)."},
				{For: "NVIDIA", Text: "PyTorch's CUDA build."},
				{For: "Integrated GPU", Text: "the CPU (`device=\"cpu\"`) is often no slower and can use all of the RAM."},
			}},
		},
		Sources: []string{"https://learn.microsoft.com/en-us/windows/ai/directml/pytorch-windows", "https://github.com/vladmandic/sdnext/blob/master/CHANGELOG.md"},
	},
	{
		ID: "other/thrust", Kinds: onCard, Said: []string{"thrust::system::system_error", "thrust::system::detail::bad_alloc", "parallel_for failed"}, If: NoneKnown,
		Among: anyOfCard, Headline: "ran out of GPU memory in a Thrust algorithm",
		Means: "Thrust is the CUDA library for sorts, scans and copies. Such an algorithm often needs a temporary buffer as large as its data. The message shows neither a size nor what is on the card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Try half of the input", Told: "Use half of the rows, points, images or particles, or the next lower size or resolution. If that runs, process the input in parts.", Cost: "several runs"},
			ofWhom,
			{Fix: "cpu_offload", Title: "With cuDF or cuML: spill into RAM", Told: "Before the first table:", Kind: "python", Text: "import rmm\nrmm.reinitialize(managed_memory=True)", Cost: "slow while it spills"},
			{Fix: "bigger_gpu", Title: "If nothing else is on it: use a card with more memory", Cost: "money"},
		},
		Sources: []string{"https://nvidia.github.io/cccl/thrust/", "rmm/docs/user_guide/guide.md"},
	},
	{
		ID: "other/openacc", Kinds: onCard, Said: []string{"Present table dump for device", "total/free CUDA memory"}, If: NoneKnown,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory (OpenACC)[[: {asked} more did not fit]]",
		Means: "The program asked for one more array on the GPU, and it did not fit. \"total/free CUDA memory\" in the log gives the card's size and what was free, in bytes. The present table lists this program's arrays there (`size:`); in a simulation these are the fields on its grid.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use a coarser grid, or fewer fields", Told: "Half the cells in each direction means an eighth of the memory in 3D. Turn off models and outputs you do not need. Use single precision if the code supports it.", Cost: "detail"},
			{Fix: "multi_gpu", Title: "Run on more cards, one rank each", Told: "`mpirun -np 2` on two cards: each holds half of the grid. Several ranks on one card share its memory.", Cost: "more cards"},
			{Fix: "kill_stale_process", Title: "If the table adds up to far less than the card: see who uses the rest", Cost: "free"},
		},
		Sources: []string{"https://docs.nvidia.com/hpc-sdk/compilers/openacc-gs/index.html"},
	},
	{
		// Since April 2023 its memory arena goes without a range of addresses where
		// it gets none.
		ID: "other/address-range", Kinds: onCard, Said: []string{"cuMemAddressReserve("}, If: func(c *ledger.Case) bool { return c.Contains("gpu_memory.h") },
		Cause: cause.Unknown, Weight: cause.Decisive,
		Headline: "could not reserve GPU addresses in tiny-cuda-nn",
		Means:    "`cuMemAddressReserve` only reserves addresses, as many as the card has memory; it takes no memory yet. So the card is rarely too small. A limit on the process's virtual memory (shell, job scheduler) can be the reason, or many ranges reserved already.",
		Not:      "A smaller batch, a larger card: the range is as large as the card, whatever the work is.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Check the limit on virtual memory", Told: "It should say `unlimited`. If it shows a number, run `ulimit -v unlimited` before the start. In a cluster job, ask how to raise the limit.", Kind: "shell", Text: "ulimit -v", Cost: "free"},
			{Fix: "upgrade_version", Title: "Update tiny-cuda-nn, and the driver", Told: "Releases from 2.0 on use ordinary memory if the range is refused. Build it for your PyTorch and CUDA:", Kind: "shell", Text: "pip install --upgrade --force-reinstall 'git+https://github.com/NVlabs/tiny-cuda-nn/#subdirectory=bindings/torch'", Cost: "some minutes to build"},
			{Fix: "kill_stale_process", Title: "See whether the card is full before the start", Told: "End an earlier run of yours by its PID, or restart the notebook's kernel.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
		},
		Sources: []string{"tiny-cuda-nn/include/tiny-cuda-nn/gpu_memory.h", "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__VA.html"},
	},
	{
		ID: "other/tiny-cuda-nn", Kinds: onCard, Said: []string{"tiny-cuda-nn/gpu_memory.h"}, Unsaid: []string{"cuMemAddressReserve("},
		Among: anyOfCard, Headline: "ran out of GPU memory in tiny-cuda-nn",
		Means: "tiny-cuda-nn runs the small networks of NeRF-like programs. It takes its working memory straight from the driver, not from PyTorch's pool, and needs more with more rays or points per batch. The message has no size, and another program on the card has the same effect.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the number of rays per batch", Told: "Halve it. Nerfstudio: `--pipeline.datamanager.train-num-rays-per-batch 2048` (4096 by default). Other programs: their option for rays, samples or points.", Cost: "slower"},
			ofWhom,
			{Fix: "empty_cache", Title: "Release PyTorch's reserve", Told: "tiny-cuda-nn cannot use memory that PyTorch keeps. In your own code, before the call that fails:", Kind: "python", Text: "torch.cuda.empty_cache()", Cost: "a little time"},
			{Fix: "lower_resolution", Title: "Use smaller or fewer images", Told: "Halve the width and height of the training images, or keep the images on the CPU if the program offers that.", Cost: "detail"},
		},
		Sources: []string{"tiny-cuda-nn/include/tiny-cuda-nn/gpu_memory.h", "nerfstudio/nerfstudio/data/datamanagers/base_datamanager.py"},
	},
	{
		ID: "gaussian-splatting/tsdf", Kinds: []fact.Kind{fact.BadAlloc, fact.PythonMemory, fact.NativeAlloc}, Said: []string{"TSDF integration progress", "Running tsdf volume integration", "ScalableTSDFVolume", "volume.integrate("},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of RAM while fusing depth maps into a mesh (TSDF)",
		Means: "Open3D's TSDF volume is in RAM and gains blocks with every view. Smaller voxels and a larger depth range need more. The depth and color images of all views are often kept too.",
		Not:   "Graphics card settings: this volume is in RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use larger voxels (`--voxel_size`)", Told: "Doubling it (render.py prints it as voxel_size) needs about a quarter of the blocks. 2D Gaussian Splatting: `render.py --voxel_size ... --depth_trunc ...` (a smaller depth range). Own code: `voxel_length` of `ScalableTSDFVolume`.", Cost: "fine detail"},
			{Fix: "stream_dataset", Title: "Integrate fewer views", Told: "Every third view is often enough. 2D Gaussian Splatting, in render.py: `gaussExtractor.reconstruction(scene.getTrainCameras()[::3])`.", Cost: "some coverage"},
			calls.PageFile, calls.LookWhy, calls.SwapBridge,
		},
		Sources: []string{"2d-gaussian-splatting/render.py", "2d-gaussian-splatting/utils/mesh_utils.py", "open3d/cpp/open3d/pipelines/integration/ScalableTSDFVolume.h"},
	},
}

// mlxSet: the command has an option, with that value where one is given.
func mlxSet(name, value string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool {
		s, ok := c.Setting(name)
		return ok && (value == "" || s.Value == value)
	}
}

// examplesTraining is about the script that mlx-examples had before mlx_lm.
var examplesTraining = cause.Card{
	ID: "mlx/examples-lora", Kinds: []fact.Kind{fact.MetalMemory, fact.MLXAlloc}, Said: []string{" lora.py --", "Consider pre-splitting your data"}, Unsaid: []string{"Resource limit", "mlx_lm", "mlx_vlm", "will be truncated", "Peak mem"},
	Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of the Mac's GPU memory in training",
	Means: "This `lora.py` (from mlx-examples) does not cut long samples. It pads a batch to its longest sample, and above 2,048 tokens it only warns. So one long sample decides how much a step takes.",
	Not:   "`--max-tokens`: it is for generating. `--max-seq-length`, `--grad-checkpoint`: they belong to its successor `mlx_lm.lora`.",
	Cures: []cause.Cure{
		{Fix: "lower_context", Title: "Split the long samples in train.jsonl and valid.jsonl", Told: "Split them into pieces below 2,048 tokens (about 1,500 English words), or leave them out. Shorter pieces help further.", Cost: "context across the cut is lost"},
		{Fix: "lower_batch_size", If: when.Not(mlxSet("batch_size", "1")), Title: "Lower `--batch-size` to 1", Told: "The default is 4.", Cost: "noisier steps"},
		{Fix: "use_lora", Title: "Train fewer layers: `--lora-layers 4`", Told: "The default is 16. With fewer, less is kept for the backward pass.", Cost: "perhaps quality"},
		{Fix: "use_lower_quant", Title: "Train on a 4-bit model (QLoRA)", Told: "Make one with `python convert.py --hf-path REPOSITORY -q` (REPOSITORY: the model's name on Hugging Face).", Cost: "slight loss of quality"},
		{Fix: "upgrade_version", Title: "Or move to `mlx_lm.lora`", Told: "`pip install mlx-lm`. It cuts samples at `--max-seq-length` and has `--grad-checkpoint`.", Cost: "other option names"},
	},
	Sources: []string{"mlx-examples/lora/lora.py", "mlx-examples/lora/README.md"},
}

// trainingCard is about MLX in training; the card of a request says the rest.
var trainingCard = cause.Card{
	ID: "mlx/training", Kinds: []fact.Kind{fact.MetalMemory, fact.MLXAlloc}, Said: []string{"Train loss", "Consider pre-splitting your data", " lora.py --", "mlx_lm.lora", "mlx_lm/lora.py", "mlx_lm/tuner/", "mlx_vlm/lora.py"}, Unsaid: []string{"Resource limit"},
	Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of the Mac's GPU memory in training",
	Means: "Weights, gradients, optimizer state and activations share what macOS gives the GPU: two thirds to three quarters of the RAM. A batch is padded to its longest sample, so one long sample can fail after many steps (\"Peak mem\" rises with it).",
	Not:   "Swap: memory that the GPU works on stays in RAM.",
	Cures: []cause.Cure{
		{Fix: "lower_context", Title: "Lower `--max-seq-length`", Told: "Halve it (2048 by default). Longer samples are cut there, so split them if you need their ends.", Cost: "Long samples are cut"},
		{Fix: "use_lora", If: mlxSet("fine_tune_type", "full"), Title: "Train a LoRA: `--fine-tune-type lora`", Told: "Full training also holds gradients and optimizer state for all weights.", Cost: "For most purposes the same result"},
		{Fix: "gradient_checkpointing", If: when.Not(mlxSet("grad_checkpoint", "")), Title: "Add `--grad-checkpoint`, lower `--batch-size`", Told: "Halve `--batch-size` (4 by default), down to 1.", Cost: "A third more time"},
		{Fix: "lower_batch_size", If: when.All(mlxSet("grad_checkpoint", ""), when.Not(mlxSet("batch_size", "1"))), Title: "Lower `--batch-size`", Told: "Halve it (4 by default), down to 1.", Cost: "More time"},
		{Fix: "use_lower_quant", Title: "Train fewer layers, on a 4-bit model", Told: "`--num-layers 8` (16 by default; `--lora-layers` in 2024 and before), with a model whose name ends in `-4bit` (QLoRA).", Cost: "Perhaps quality"},
		{Fix: "close_other_apps", Title: "Quit other programs", Told: "Open Activity Monitor, Memory: browsers and other models share the RAM with the GPU.", Cost: "Free"},
	},
	Sources: []string{"mlx-lm/mlx_lm/lora.py", "mlx-lm/mlx_lm/LORA.md", "mlx/mlx/backend/metal/device.cpp"},
}
