package rest

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// bareDriver are messages that have no figures, whoever wrote them.
var bareDriver = []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle, fact.NVMLAssert, fact.NCCLAlloc}

// whoFirst is lookFirst without a figure of what others hold.
var whoFirst = cause.Cure{
	Fix: "kill_stale_process", If: when.Not(cures.Listed), Title: "Check what uses the GPU just before the start", Cost: "free; unsaved work in what you end is lost",
	Steps: cures.BeforeStart,
}

// halveTraining is lessWork where something is trained.
var halveTraining = cause.Cure{Fix: "lower_batch_size", If: (*ledger.Case).Training, Title: cures.HalveStep.Title, Cost: cures.HalveStep.Cost, Told: cures.AnyWork, Ways: cures.LessAtOnce}

// engines set memory aside by options of their own.
func engines(c *ledger.Case) bool { return c.In("vllm", "sglang", "tensorrt-llm", "lmdeploy", "tgi") }

// ofTorch: it is PyTorch that speaks, not another program that uses the same
// libraries of NVIDIA's, nor another language's.
func ofTorch(c *ledger.Case) bool {
	return c.In("pytorch") && (c.Reader.Language == "" || c.Reader.Language == "python") && !engines(c)
}

// volatileGone is what PyTorch 0.4 and later warn of
// (torch/csrc/autograd/python_variable.cpp).
const volatileGone = "volatile was removed"

// ignoresVolatile: it is such a version, by its warning or by a message with the
// card's total. In a training the word alone may stand in another part.
func ignoresVolatile(c *ledger.Case) bool {
	if c.Near(volatileGone) { // printed once, where it is first met
		return ledger.FailedAt(c, "backward") == nil
	}
	return !c.Training() && c.F().Total != nil
}

// Scenes read what stands beside a message.
var Scenes = append(beside, []cause.Card{
	{
		ID: "pytorch/volatile", Kinds: append(slices.Clone(cures.Allocators), fact.CUDAError, fact.CUDAHandle), Said: []string{volatileGone, "volatile=True"}, If: ignoresVolatile, Cause: cause.RetainedMemory, Weight: cause.Decisive,
		Headline: "ran out of memory: its code uses `volatile`, which no longer turns gradients off",
		Means:    "The code is written for PyTorch 0.3; since 0.4 `volatile` has no effect. So every layer's result is kept for a backward pass that never comes, several times what inference needs.",
		Not:      "Allocator settings, gradient checkpointing: nothing is trained here.",
		Cures: []cause.Cure{
			{Fix: "inference_mode", Title: "Turn gradients off with torch.no_grad()", Cost: "none", Told: "Put this around the failing call, and remove `volatile=True`:", Kind: "python", Text: "with torch.no_grad():\n    results = model(x)   # your own call"},
			{Fix: "lower_batch_size", Title: "If it still fails: smaller inputs, one at a time", Cost: "detail, or slower", Told: "Run one image or text at a time, at half the width and height."},
			{Fix: "kill_stale_process", If: when.Not(cures.Listed), Title: whoFirst.Title, Cost: whoFirst.Cost, Steps: whoFirst.Steps},
			cures.EndListed,
		},
		Sources: []string{"https://pytorch.org/blog/pytorch-0_4_0-migration-guide/", "https://github.com/multimodallearning/pytorch-mask-rcnn/issues/13"},
	},
	{
		ID: "pytorch/collective-words", Kinds: bareDriver, Said: []string{"in barrier", "distributed.barrier(", "group.barrier(", "in init_process_group", "in _verify_param_shape_across_processes", "in _verify_params_across_processes", "broadcastUniqueNCCLID", "hvd.broadcast_parameters(", "hvd.init("}, If: bareWords,
		Headline: "ran out of GPU memory while its ranks connected",
		Means:    "Connecting the ranks needs little memory: a CUDA context (300 to 600 MiB) and NCCL's buffers, on the GPU that the rank chose, by default GPU 0. So that GPU was most likely full already, because several ranks or another job use it.",
		Not:      "Allocator settings: a context and NCCL's buffers are outside PyTorch's allocator.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Watch the GPUs while it starts", Cost: "free", Told: "If another job or an earlier launch of yours is there, end it or use other GPUs. If several of your ranks are on one GPU, set each rank's GPU (see 2).", Kind: "shell", Text: "nvidia-smi -l 1"},
			{Fix: "balance_split", Title: "Set each rank's GPU first", Cost: "free", Told: "Run this before `init_process_group` and any `.cuda()`. Old code uses `args.local_rank` from the launcher, which must not be 0 for all ranks.", Kind: "python", Text: "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))"},
			{Fix: "select_gpu", Title: "Start on GPUs that are free", Cost: "free", Told: "Start as many ranks as there are free GPUs.", Kind: "shell", Text: "export CUDA_VISIBLE_DEVICES=2,3   # the numbers of the free ones"},
			{Fix: "restart_session", Title: "End what an earlier launch left", Cost: "free", Told: "Find it with `ps aux | grep python`, then `kill` its PIDs: ranks of a crashed launch can wait for each other forever."},
		},
		Sources: []string{"pytorch/torch/distributed/distributed_c10d.py", "https://github.com/MIC-DKFZ/nnUNet/issues/593", "https://github.com/pytorch/pytorch/issues/15051"},
	},
	{
		ID: "pytorch/tensorrt-beside", Kinds: []fact.Kind{fact.CUDAError, fact.TorchAlloc, fact.CUDAHandle}, Said: []string{"[TensorRT] ERROR", "[TRT] [E]", "saferuntime.cpp", "defaultallocator.cpp"},
		Headline: "ran out of memory in a process that also runs TensorRT",
		Means:    "TensorRT allocates outside PyTorch: each engine takes its weights, plus working memory for the largest input that it was built for. PyTorch has only what is left. The log does not show what else is on the GPU.",
		Not:      "Mixed precision, gradient checkpointing, PyTorch's allocator settings: the engines' memory is not PyTorch's.",
		Cures: []cause.Cure{
			cures.EndListed, whoFirst,
			{Fix: "lower_batch_size", Title: "Try a short input; rebuild the engines for smaller shapes", Cost: "longer inputs go in pieces", Told: "Rebuild the engines with the largest batch and shape that you need (`trtexec --maxShapes=...`, or the builder's profile) and with `--fp16`. These shapes decide what an engine reserves."},
			{Fix: "cpu_offload", Title: "Load one engine at a time", Cost: "slower", Told: "If a script runs several in turn, free one (`del context, engine`) before it creates the next context."},
			cures.OtherCard,
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/best-practices.html", "https://github.com/NVIDIA/DeepLearningExamples/issues/681"},
	},
}...)

// whileLoading is a cure where a model is being loaded.
func whileLoading(k cause.Cure) cause.Cure {
	k.If = when.All(k.If, cures.Loading)
	return k
}

// noCode: the reader has settings only.
func noCode(c *ledger.Case) bool { return c.Reader.Edits != "" && c.Reader.Edits != "code" }

// bareWords: the message has no figures of a card.
func bareWords(c *ledger.Case) bool {
	return ledger.OnCard(c) && !c.Asked.Has() && !c.Mine.Has() && !c.Free.Has()
}

// Words are for messages without figures, a card for each kind.
var Words = []cause.Card{
	{
		ID: "pytorch/cudnn-none", Kinds: []fact.Kind{fact.CUDAHandle}, If: cures.Names("cudnn", "unable to find"),
		Headline: "most likely ran out of GPU memory: cuDNN could not run a convolution",
		Means:    "cuDNN found no algorithm that could run. Usually the GPU is full, because of this program or others, and no workspace is left. If it also fails with a small input on an empty GPU, the versions of PyTorch, cuDNN and the driver probably do not match.",
		Later:    cures.Kept, Figures: cures.Scene,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: when.Not(when.Any(cures.Loading, ledger.Before2020)), Title: "Lower the batch size or the image size", Cost: "slower, or detail", Told: "[[{any_pixels}]]", Ways: []cause.Way{
				{For: fix.Training, Text: "{fewer} half the width and height of the images (a quarter of the memory)."},
				{For: fix.Using, Text: "{run} it under `torch.no_grad()`, one image at a time, scaled down or in tiles."},
			}},
			cures.EndListed, whoFirst, cures.HalveOld, cures.OtherCard,
			{Fix: "half_precision", If: cures.Loading, Title: "Use a smaller model, or 16 bit", Cost: "little quality", Told: "Call `model.half()`, or take the next smaller version of the model."},
			{Fix: "upgrade_version", Title: "Test whether any convolution works", Cost: "a minute", Told: "If this fails, install the PyTorch build for your GPU and driver in a new environment:", Kind: "shell", Text: "python -c \"import torch; print(torch.nn.Conv2d(3, 8, 3).cuda()(torch.rand(1, 3, 64, 64).cuda()).shape)\""},
		},
		Sources: []string{"pytorch/aten/src/ATen/native/cudnn/Conv_v7.cpp", "https://github.com/marqo-ai/marqo/issues/101", "https://github.com/XPixelGroup/DiffBIR/issues/59"},
	},
	{
		ID: "pytorch/handle-beside-nccl", Kinds: []fact.Kind{fact.CUDAHandle}, Said: []string{"NCCL WARN Cuda failure 2 'out of memory'", "NCCL WARN Cuda failure 'out of memory'"}, If: cures.Names("alloc_failed", "not_initialized"),
		Among: []string{cause.Unknown, cause.BatchTooLarge, cause.TrainingStateTooLarge, cause.ModelTooLarge, cause.LeakedProcess}, Headline: "ran out of GPU memory: the driver had nothing left for NCCL and cuBLAS",
		Means: "NCCL's lines show that the driver was out of memory. NCCL and cuBLAS allocate outside PyTorch's pool, so they fail first when that pool has filled the GPU with weights, gradients, optimizer state and activations.",
		Not:   "Reinstalling CUDA, looking for a wrong index: the driver was out of memory.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Divide the training state over more cards, or offload it", Cost: "slower steps", Told: "Use ZeRO-3 or FSDP. Megatron: `--use-distributed-optimizer`, or a larger `--tensor-model-parallel-size` or `--pipeline-model-parallel-size`. If it failed while loading a checkpoint, load it to RAM (`torch.load(..., map_location=\"cpu\")`), or without optimizer state (Megatron: `--no-load-optim`)."},
			{Fix: "lower_batch_size", Title: cures.HalveStep.Title, Cost: cures.HalveStep.Cost, Told: cures.AnyWork, Ways: cures.LessAtOnce},
			{Fix: "lower_mem_fraction", Title: "Leave some memory outside PyTorch's pool", Cost: "PyTorch then fails first, with figures", Told: "Run this first in each rank:", Kind: "python", Text: "torch.cuda.set_per_process_memory_fraction(0.95)"},
			cures.LookFirst,
		},
		Figures: cures.Scene, Sources: []string{"nccl/src/include/alloc.h", "pytorch/aten/src/ATen/cuda/CublasHandlePool.cpp", "https://github.com/NVIDIA/Megatron-LM/issues/1509"},
	},
	{
		ID: "pytorch/cublas-none", Kinds: []fact.Kind{fact.CUDAHandle},
		Headline: "could not start a CUDA library: the GPU is full, or an earlier error (index out of range)",
		Means:    "cuBLAS (or cuSPARSE) could not create its handle, which needs only some MiB. Either the GPU was full, or an earlier kernel failed, often because of a token id above the vocabulary or a label above the number of classes. A run with `CUDA_LAUNCH_BLOCKING=1` shows which.",
		Not:      "Reinstalling CUDA, usually.",
		Later:    cures.Kept, Figures: cures.Scene,
		Cures: []cause.Cure{
			cures.EndListed,
			{Fix: "kill_stale_process", If: when.Not(cures.Listed), Title: "Watch the GPU while it starts", Cost: "free", Told: "If it is full before the start, end your other processes there or use another GPU. If it fills up as this program starts, the program is too large for it.", Kind: "shell", Text: "nvidia-smi -l 1"},
			{Fix: "fix_shape", Title: "If the GPU is not full: look for an index out of range", Cost: "a minute", Told: "A device-side assert then names the line. Compare `ids.max()` with the embedding's rows (`model.get_input_embeddings().num_embeddings`), and the labels with the number of classes.", Kind: "shell", Text: "CUDA_LAUNCH_BLOCKING=1 python script.py   # script.py: what you start"},
			{Fix: "lower_batch_size", Title: "If this program fills the GPU: lower the batch size or the input size", Cost: "slower", Told: cures.AnyWork, Ways: cures.LessAtOnce},
			{Fix: "multi_gpu", Title: "Or use more GPUs, if the model barely fits", Cost: "money"},
		},
		Sources: []string{"pytorch/aten/src/ATen/cuda/CublasHandlePool.cpp", "https://github.com/EleutherAI/lm-evaluation-harness/issues/1689"},
	},
	{
		ID: "pytorch/nvml-assert", Kinds: []fact.Kind{fact.NVMLAssert},
		Headline: "ran out of GPU memory, and could not print the usual message",
		Means:    "This assertion replaces the usual out-of-memory message: the GPU was full, PyTorch asked NVML what uses it, and NVML did not answer. That happens on MIG slices, on Jetson and in restricted containers.[[ {stage}]]",
		Later:    cures.Kept, Figures: staged,
		Cures: []cause.Cure{
			{Fix: "half_precision", If: cures.Loading, Title: "Use a smaller model, or 16 bit", Cost: "little quality", Told: "Weights take 2 GB per billion parameters in 16 bit, 4 in 32. `1g.20gb` in a MIG slice's name means 20 GB in all."},
			halveTraining, cures.CheaperTraining,
			{Fix: "bigger_gpu", Title: "Check how much memory the device has", Cost: "a minute; a larger slice or card: money, or waiting", Told: "If it is a MIG slice and too small, request a larger one. Select a slice by its UUID (`nvidia-smi -L`) in CUDA_VISIBLE_DEVICES; a number may mean another one.", Kind: "shell", Text: "python -c \"import torch; print([x / 2**30 for x in torch.cuda.mem_get_info()])\"   # free, total in GiB"},
			lessWork, cures.SmallerModel,
		},
		Sources: []string{"pytorch/c10/cuda/CUDACachingAllocator.cpp", "https://github.com/pytorch/pytorch/issues/112377", "https://github.com/Stability-AI/sd3.5/issues/18"},
	},
	{
		ID: "pytorch/nccl-buffers", Kinds: []fact.Kind{fact.NCCLAlloc}, If: ofTorch,
		Headline: "ran out of GPU memory when NCCL allocated its buffers",
		Means:    "NCCL moves data between GPUs and allocates outside PyTorch's pool, about 0.2 to 2 GB in all, at the first use of each group of ranks. The GPU had none left, and NCCL cannot use PyTorch's unused reserve.",
		Not:      "A longer NCCL timeout.",
		Figures:  cures.Scene,
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check that each rank has its own GPU", Cost: "free", Told: "If several ranks share one, call `torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))` first. End leftover processes of earlier runs.", Kind: "shell", Text: "nvidia-smi -l 1"},
			{Fix: "lower_batch_size", Title: "Leave about 1 GB free: lower the batch size", Cost: "slower", Told: cures.AnyWork, Ways: cures.LessAtOnce},
			{Fix: "upgrade_version", Title: "Or lower NCCL_BUFFSIZE", Cost: "sometimes slower", Told: "This is half the usual 4 MiB. Fewer channels (`NCCL_MAX_NCHANNELS`) help as well.", Kind: "env", Text: "export NCCL_BUFFSIZE=2097152"},
			{Fix: "empty_cache", Title: "Let NCCL allocate before PyTorch fills the GPU", Cost: "none", Told: "Run this right after `init_process_group`. Before you create another group later, call `torch.cuda.empty_cache()`.", Kind: "python", Text: "torch.distributed.all_reduce(torch.zeros(1, device=\"cuda\"))"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html", "https://github.com/NVIDIA/nccl/issues/295", "https://github.com/pytorch/torchtitan/pull/660"},
	},
	{
		ID: "pytorch/summary", Kinds: []fact.Kind{fact.TorchSummary},
		Headline: "ran out of GPU memory, according to its memory summary",
		Means:    "This is the output of `torch.cuda.memory_summary()`; the error message itself is missing. \"Allocated memory\" is what tensors use, \"GPU reserved memory\" what PyTorch has taken from the GPU. If \"Non-releasable memory\" is large, memory is fragmented; if it is small, memory is really short.[[ {lost}]]",
		Not:      "Judging by \"Tot Alloc\" and \"Tot Freed\": they count everything since the start.",
		Later:    cures.Kept, Figures: tableFigures,
		Cures: []cause.Cure{
			lessWork, cures.CheaperTraining,
			{Fix: "expandable_segments", Title: "If much is non-releasable: turn on expandable segments", Cost: "none, usually"},
			cures.SmallerModel, cures.LighterOptimizer, cures.EndListed, whoFirst,
		},
		Sources: []string{"https://docs.pytorch.org/docs/stable/generated/torch.cuda.memory.memory_summary.html"},
	},
	{
		ID: "pytorch/words", Kinds: onDevice, If: when.All(notOnHost, ofTorch, when.Not(when.Root(fact.MPSAlloc, fact.MPSBuffer, fact.XPURuntime, fact.XPUBlock, fact.TorchRetry))),
		Means: "{whose}[[ {stage}]] The log {unshown}.",
		Not:   "{settings}",
		Later: cures.Kept,
		Cures: []cause.Cure{
			whileLoading(cures.PagesFirst),
			halveTraining, cures.EndListed, whoFirst, cures.OneOfMany,
			{Fix: "half_precision", If: cures.Loading, Title: "If the GPU is empty before the start: a smaller model, or 16 bit", Cost: "little quality", Told: "Pass `torch_dtype=torch.float16` where it is loaded; for your own model, `model.half()`. Load a language model in 4 bit."},
			cures.CheaperTraining,
			{Fix: "lower_batch_size", If: when.Not(when.Any(cures.Loading, (*ledger.Case).Training)), Title: "If the GPU is empty before the start: lower the batch size or the input size", Cost: "slower", Told: cures.AnyWork, Ways: cures.LessAtOnce},
			{Fix: "inference_mode", If: when.Not(when.Any(cures.Loading, (*ledger.Case).Training, ledger.Before2020, inWebUI, noCode)), Title: "If your own code only runs the model: turn gradients off", Cost: "none", Told: "Otherwise every layer's activations are kept. Run one input at a time:", Kind: "python", Text: "with torch.inference_mode():\n    output = model(x)   # as in your call"},
			cures.PagesFirst,
			{Fix: "restart_session", If: when.Not(noCode), Title: "If it fails even with a small input on an empty GPU: restart", Cost: "the session is lost", Told: "Restart the kernel, the container or the machine: a crashed process can leave the driver in a bad state."},
		},
		Figures: staged, Sources: []string{"pytorch/c10/cuda/CUDAException.cpp", cures.CudaNotes},
	},
}

// inWebUI: a page in the browser runs it, whose code is seldom the reader's own.
func inWebUI(c *ledger.Case) bool { return c.Near("gradio/queueing.py", "gradio/routes.py") }

// staged is scene with what the moment tells, and whose words the message is.
func staged(c *ledger.Case) map[string]string {
	figures := cures.Scene(c)
	figures["stage"], figures["settings"], figures["unshown"] = stageOf(c), "", "shows neither the card's size nor what uses it"
	if c.Total.Has() {
		figures["unshown"] = "does not show what uses the card"
	}
	if figures["stage"] == undecided {
		figures["stage"] = ""
	}
	figures["whose"] = "The message is cut off or shortened: PyTorch's own goes on with figures."
	if c.Root(fact.TorchAsync) {
		figures["whose"] = "\"Allocation on device\" is the message of the allocator cudaMallocAsync, which ComfyUI and Fooocus turn on; here it has no sizes."
	}
	if c.Root(fact.CUDAError) {
		figures["whose"], figures["settings"] = figures["refuser"]+".", "Allocator settings such as max_split_size_mb: they do not reach the driver."
	}
	if reader.OnWindows(c) || reader.LooksLikeWindows(c) {
		figures["whose"] += " On Windows the same message comes when RAM and page file are used up, even with free GPU memory."
	}
	return figures
}

// tableFigures say what the memory summary counts as lost.
func tableFigures(c *ledger.Case) map[string]string {
	figures := cures.Scene(c)
	figures["lost"] = ""
	if x, ok := c.Fact("non_releasable"); ok && x.Size != nil {
		figures["lost"] = "Here it is " + x.Size.String() + "."
	}
	return figures
}
