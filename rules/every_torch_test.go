package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/diagnose"
)

// ofTorch: a failure of PyTorch's own, whoever started it; engines and other
// languages have cards of theirs, and what oomdoc wrote itself is no message.
func ofTorch(in diagnose.Incident) bool {
	others := []string{"vllm", "sglang", "tensorrt-llm", "lmdeploy", "tgi", "cuda.jl"}
	return slices.Contains(in.Stack, "pytorch") && !slices.ContainsFunc(in.Stack, func(p string) bool { return slices.Contains(others, p) }) && !strings.Contains(in.Message, "title=oomdoc")
}

// TestEveryTorchFailureMeetsACard: what PyTorch says is never left to what holds
// for all programs.
func TestEveryTorchFailureMeetsACard(t *testing.T) {
	_, reports := answered(t)
	for name, report := range reports {
		for _, in := range report.Incidents {
			if ofTorch(in) {
				assert.NotNil(t, in.Knowledge, "%s, line %d: %s, %s", name, in.Line, in.Causes[0].ID, in.Message)
			}
		}
	}
}

// TestEveryTorchMessageMeetsACard gives each message to a script that stands
// still, loads, trains, predicts, waits for its ranks, runs on Windows.
func TestEveryTorchMessageMeetsACard(t *testing.T) {
	for scene, above := range torchScenes {
		for _, message := range torchMessages {
			for _, in := range diagnose.Bytes([]byte(above + message + "\n")).Incidents {
				if ofTorch(in) {
					assert.NotNil(t, in.Knowledge, "%s: %s, %s, %s", scene, in.Causes[0].ID, in.Phase, message)
				}
			}
		}
	}
}

// torchScenes are what stands above a message.
var torchScenes = map[string]string{
	"nothing":           "",
	"loading":           "Traceback (most recent call last):\n  File \"/srv/app/serve.py\", line 9, in <module>\n    model = model.to(device)\n  File \"/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py\", line 1340, in to\n    return self._apply(convert)\n",
	"checkpoint":        "Traceback (most recent call last):\n  File \"/srv/app/serve.py\", line 9, in <module>\n    state = torch.load(path)\n  File \"/opt/venv/lib/python3.11/site-packages/torch/serialization.py\", line 1114, in _load\n    result = unpickler.load()\n",
	"training":          "Epoch 1/10\nTraceback (most recent call last):\n  File \"/srv/net/train.py\", line 88, in <module>\n    loss.backward()\n  File \"/opt/venv/lib/python3.11/site-packages/torch/autograd/__init__.py\", line 266, in backward\n    Variable._execution_engine.run_backward(\n",
	"optimizer":         "Epoch 1/10\nTraceback (most recent call last):\n  File \"/srv/net/train.py\", line 88, in <module>\n    optimizer.step()\n  File \"/opt/venv/lib/python3.11/site-packages/torch/optim/adamw.py\", line 160, in step\n    state['exp_avg'] = torch.zeros_like(\n",
	"late":              "Epoch 3:  42%|####2     | 4200/10000 [1:02:11<1:25:00,  1.14it/s, loss=0.31]\nTraceback (most recent call last):\n  File \"/srv/net/train.py\", line 88, in <module>\n    out = model(x)\n",
	"validating":        "Epoch 1 train: 100%|##########| 900/900 [05:11<00:00, 2.89it/s]\nValid epoch 1:   9%|#         | 1/11 [00:01<00:13,  1.33s/it]\nTraceback (most recent call last):\n  File \"/srv/net/train.py\", line 120, in validate\n    out = model(x)\n",
	"predicting":        "Traceback (most recent call last):\n  File \"/srv/net/inference.py\", line 31, in predict\n    y = model(x)\n  File \"/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py\", line 1518, in _call_impl\n    return forward_call(*args, **kwargs)\n",
	"notebook":          "OutOfMemoryError                          Traceback (most recent call last)\nCell In[7], line 3\n      1 model = AutoModelForCausalLM.from_pretrained(name)\n----> 3 model.to(\"cuda\")\n\n",
	"ranks":             "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/srv/net/train.py\", line 41, in main\n[rank1]:     torch.distributed.barrier()\n[rank1]:   File \"/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py\", line 3703, in barrier\n[rank1]:     work = group.barrier(opts=opts)\n[rank1]: ",
	"windows":           "Traceback (most recent call last):\n  File \"C:\\work\\net\\run.py\", line 31, in main\n    y = model(x)\n  File \"C:\\Python311\\Lib\\site-packages\\torch\\nn\\modules\\module.py\", line 1518, in _call_impl\n    return forward_call(*args, **kwargs)\n",
	"from transformers": "Traceback (most recent call last):\n  File \"/srv/app/chat.py\", line 22, in <module>\n    out = model.generate(**inputs)\n  File \"/opt/venv/lib/python3.11/site-packages/transformers/generation/utils.py\", line 2215, in generate\n    result = self._sample(\n",
	"from diffusers":    "Traceback (most recent call last):\n  File \"/srv/app/draw.py\", line 22, in <module>\n    image = pipe(prompt).images[0]\n  File \"/opt/venv/lib/python3.11/site-packages/diffusers/pipelines/stable_diffusion/pipeline_stable_diffusion.py\", line 1042, in __call__\n    image = self.vae.decode(latents)[0]\n",
}

// torchMessages are what PyTorch says, in the words of its versions and with
// figures of every kind.
var torchMessages = []string{
	// the allocator of a card: full by itself, by others, in pieces, limited, with room, cut
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 11.00 MiB is free. Including non-PyTorch memory, this process has 23.62 GiB memory in use. Of the allocated memory 22.90 GiB is allocated by PyTorch, and 210.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.10 GiB is free. Including non-PyTorch memory, this process has 22.50 GiB memory in use. Of the allocated memory 20.10 GiB is allocated by PyTorch, and 1.90 GiB is reserved by PyTorch but unallocated.",
	"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 24.00 GiB total capacity; 18.10 GiB already allocated; 1.20 GiB free; 19.60 GiB reserved in total by PyTorch)",
	"RuntimeError: CUDA out of memory. Tried to allocate 9.00 GiB (GPU 0; 24.00 GiB total capacity; 4.00 GiB already allocated; 9.50 GiB free; 12.00 GiB reserved in total by PyTorch)",
	"RuntimeError: CUDA out of memory. Tried to allocate 30.00 MiB (GPU 0; 10.92 GiB total capacity; 1.10 GiB already allocated; 20.00 MiB free; 12.00 MiB cached)",
	"RuntimeError: CUDA out of memory. Tried to allocate 30.00 MiB (GPU 0; 1024.00 MiB total capacity; 450.00 MiB already allocated; 20.00 MiB free; 20.00 MiB cached)",
	"RuntimeError: CUDA out of memory. Tried to allocate 3.30 GiB (GPU 1; 11.17 GiB total capacity; 8.10 GiB already allocated; 2.20 GiB free; 8.40 GiB reserved in total by PyTorch)",
	"RuntimeError: CUDA out of memory. Tried to allocate 30.00 GiB (GPU 0; 11.17 GiB total capacity; 1.10 GiB already allocated; 9.20 GiB free; 1.40 GiB reserved in total by PyTorch)",
	"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacty of 39.39 GiB of which 19.20 GiB is free. Including non-PyTorch memory, this process has 20.18 GiB memory in use. Of the allocated memory 19.30 GiB is allocated by PyTorch, and 340.00 MiB is reserved by PyTorch but unallocated.",
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 600.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 16.00 GiB is free. Including non-PyTorch memory, this process has 7.64 GiB memory in use. 7.09 GiB allowed; Of the allocated memory 6.70 GiB is allocated by PyTorch, and 130.00 MiB is reserved by PyTorch but unallocated.",
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 300.00 MiB is free. Process 7101 has 416.00 MiB memory in use. Process 7102 has 416.00 MiB memory in use. Process 7103 has 416.00 MiB memory in use. Including non-PyTorch memory, this process has 22.10 GiB memory in use. Of the allocated memory 21.30 GiB is allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but unallocated.",
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.02 GiB. GPU 0 has a total capacity of 15.89 GiB of which 137.12 MiB is free.",
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 2.71 GiB is free. Process 899719 has 76.43 GiB memory in use. Of the allocated memory 72.19 GiB is allocated by PyTorch, and 3.76 GiB is reserved by PyTorch but unallocated.",
	"RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 8.00 GiB total capacity; 7.9",
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB.",
	"torch.OutOfMemoryError: CUDA out of memory.",
	"RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.",
	"torch.OutOfMemoryError: HIP out of memory. Tried to allocate 16.25 GiB. GPU 0 has a total capacity of 191.98 GiB of which 4.23 GiB is free.",
	"torch.OutOfMemoryError: HIP out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 15.98 GiB of which 9.20 GiB is free. Of the allocated memory 5.90 GiB is allocated by PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated.",
	"torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 7.10 GiB\nRequested               : 512.00 MiB\nDevice limit            : 8.00 GiB\nFree (according to CUDA): 0 bytes\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB",
	"torch.OutOfMemoryError: Allocation on device",
	// without figures
	"RuntimeError: CUDA error: out of memory",
	"RuntimeError: HIP error: out of memory",
	"RuntimeError: CUDA driver error: out of memory",
	"RuntimeError: cuda runtime error (2) : out of memory at /pytorch/aten/src/THC/generic/THCStorage.cu:58",
	"THCudaCheck FAIL file=/pytorch/aten/src/THC/generic/THCStorage.cu line=58 error=2 : out of memory",
	"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
	"RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
	"RuntimeError: Unable to find a valid cuDNN algorithm to run convolution",
	"RuntimeError: GET was unable to find an engine to execute this computation",
	"RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
	"RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at \"../c10/cuda/CUDACachingAllocator.cpp\":1154, please report a bug to PyTorch.",
	"node1:3341:3502 [2] enqueue.cc:1085 NCCL WARN Cuda failure 'out of memory'\ntorch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:268, unhandled cuda error",
	"node1:3341:3502 [2] NCCL WARN Failed to CUDA calloc async 16777216 bytes\ntorch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, unhandled cuda error",
	"node1:3341:3502 [2] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\nnode1:3341:3502 [2] NCCL WARN Error while creating shared memory segment /dev/shm/nccl-AbCdEf (size 9637888)\ntorch.distributed.DistBackendError: NCCL error, unhandled system error",
	"Error out of memory at line 380 in file /src/csrc/ops.cu",
	// other devices
	"RuntimeError: MPS backend out of memory (MPS allocated: 8.02 GB, other allocations: 320.00 MB, max allowed: 9.07 GB). Tried to allocate 1.00 GB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).",
	"RuntimeError: MPS backend out of memory (MPS allocated: 7.43 GB, other allocations: 24.46 GB, max allowed: 32.00 GB). Tried to allocate 129.21 MB on private pool.",
	"RuntimeError: MPS backend out of memory (MPS allocated: 41.20 GiB, other allocations: 2.11 GiB). Tried to allocate 9.00 GiB on private pool.",
	"RuntimeError: Invalid buffer size: 9.02 GB",
	"RuntimeError: XPU out of memory. Tried to allocate 768.00 MiB (GPU 0; 15.56 GiB total capacity; 1.20 GiB already allocated; 1.31 GiB reserved in total by PyTorch)",
	"torch.OutOfMemoryError: XPU out of memory. Tried to allocate 5.00 GiB. GPU 0 has a total capacity of 15.56 GiB. Of the allocated memory 4.20 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.",
	"RuntimeError: Current platform can NOT allocate memory block with size larger than 4GB! Tried to allocate 6.25 GiB (GPU  0; 15.56 GiB total capacity; 3.90 GiB already allocated; 4.01 GiB reserved in total by PyTorch)",
	"RuntimeError: level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)",
	"RuntimeError: level_zero backend failed with error: 40 (UR_RESULT_ERROR_OUT_OF_RESOURCES)",
	"RuntimeError: Native API failed. Native API returns: -5 (PI_ERROR_OUT_OF_RESOURCES)",
	"RuntimeError: NPU out of memory. Tried to allocate 786.00 MiB (NPU 0; 60.97 GiB total capacity; 58.80 GiB already allocated; 58.80 GiB current active; 300.00 MiB free; 59.50 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
	// the computer's memory
	"RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 67108864 bytes. Error code 12 (Cannot allocate memory)",
	"RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 137438953472 bytes. Error code 12 (Cannot allocate memory)",
	"RuntimeError: [enforce fail at CPUAllocator.cpp:56] posix_memalign(&data, gAlignment, nbytes) == 0. 12 vs 0",
	"RuntimeError: [enforce fail at ..\\c10\\core\\CPUAllocator.cpp:62] data. DefaultCPUAllocator: not enough memory: you tried to allocate %dGB. Buy new RAM!27",
	"RuntimeError: [enforce fail at alloc_cpu.cpp:114] data. DefaultCPUAllocator: not enough memory: you tried to allocate 16777216 bytes.",
	"RuntimeError: $ Torch: not enough memory: you tried to allocate 4GB. Buy new RAM! at /pytorch/aten/src/TH/THGeneral.cpp:204",
	"OSError: [WinError 1455] The paging file is too small for this operation to complete. Error loading \"C:\\Python311\\Lib\\site-packages\\torch\\lib\\cufft64_10.dll\" or one of its dependencies.",
	"RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed.",
	"RuntimeError: DataLoader worker (pid 4711) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
	"RuntimeError: unable to mmap 14483498400 bytes from file </models/pytorch_model.bin>: Cannot allocate memory (12)",
	"ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 0 (pid: 4711) of binary: /usr/bin/python3",
	"RuntimeError: CUDA error: out of memory\n  File \"/opt/venv/lib/python3.11/site-packages/torch/utils/data/_utils/pin_memory.py\", line 37, in _pin_memory_loop",
	// what a library does beside it
	"|                  PyTorch CUDA memory summary, device ID 0                 |\n|---------------------------------------------------------------------------|\n|            CUDA OOMs: 2            |        cudaMalloc retries: 7         |\n|===========================================================================|\n| Allocated memory      |  21790 MiB |  22741 MiB |    118 TiB |    118 TiB |",
	"Attempting to copy inputs of <function paste_masks_in_image at 0x7f> to CPU due to CUDA OOM",
	"RuntimeError: No executable batch size found, reached zero.",
}
