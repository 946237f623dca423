package parsers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// TestRefusedInPassing: one line of a program without a parser of its own says
// that memory was refused, and its neighbour does not.
func TestRefusedInPassing(t *testing.T) {
	for name, c := range map[string]struct {
		log  string
		want fact.Kind // "" for no failure
	}{
		"killed, over a counter":  {"Total number of batches 180224\nKilledg train batch: 61203 / 180224\n", fact.ShellKilled},
		"killed, in French":       {"Caching all 373 images.\nProcessus arrêté\n", fact.ShellKilled},
		"killed, in a sentence":   {"Il processo è stato Ucciso da qualcuno", ""},
		"killed, in an editor":    {"[build] [26/90] Building CXX object src/mix.o\n[build] Killed\n", fact.ShellKilled},
		"zsh, behind a bar":       {"Loading checkpoint shards:   0%|          | 0/3 [00:00<?, ?it/s][1]    40112 killed     python ask.py --device cpu\n", fact.ShellKilled},
		"zsh's job":               {"[1]  + 40112 killed     python ask.py\n", fact.ShellKilled},
		"zsh's job that stopped":  {"[1]  + 40112 suspended  python ask.py\n", ""},
		"killed, between dashes":  {"-- total memory      263921012.0 kB\n-- available         250010428.0 kB\n-- 48 cores\n\nslurm_script: line 14: 38294 Killed                  assemble -t 64 reads.fastq\n-- total memory      263921012.0 kB\n-- available         250010428.0 kB\n-- 48 cores\n", fact.ShellKilled},
		"bwa":                     {"[E::bwa_idx_load] fail to allocate memory", fact.PlainHost},
		"tcmalloc refused":        {"tcmalloc: large alloc 17179869184 bytes == (nil) @  0x7f2a 0x7f2b", fact.PlainHost},
		"tcmalloc gave it":        {"tcmalloc: large alloc 17179869184 bytes == 0x55d4c000 @  0x7f2a 0x7f2b", ""},
		"httpd":                   {"(12)Cannot allocate memory: AH00159: fork: Unable to fork new process", fact.PlainHost},
		"httpd, another reason":   {"(2)No such file or directory: AH00558: could not open the log", ""},
		"Abaqus":                  {"***ERROR: THE REQUESTED MEMORY CANNOT BE ALLOCATED", fact.PlainHost},
		"iOS":                     {"EXC_RESOURCE -> Viewer[1234] exceeded mem limit: ActiveHard 1450 MB (fatal)", fact.PlainHost},
		"iOS, processor time":     {"EXC_RESOURCE -> Viewer[1234] CPU: 90% over 60 seconds", ""},
		"Android":                 {"lowmemorykiller: Kill 'org.example.app' (4321), uid 10110, oom_score_adj 900 to free 132456kB rss", fact.PlainHost},
		"WebAssembly":             {"RuntimeError: Aborted(OOM). Build with -sASSERTIONS for more info.", fact.PlainHost},
		"BigQuery":                {"Resources exceeded during query execution: The query could not be executed in the allotted memory.", fact.PlainHost},
		"Greenplum":               {"ERROR:  Canceling query because of high VMEM usage. current group id is 16437", fact.PlainHost},
		"npm":                     {"npm ERR! code ENOMEM\nnpm ERR! syscall spawn", fact.PlainHost},
		"npm, another code":       {"npm ERR! code ENOENT\nnpm ERR! syscall open", ""},
		"Windows' own list":       {"Windows successfully diagnosed a low virtual memory condition.", fact.PlainHost},
		"OpenVINO's card":         {"[GPU] out of GPU resources", fact.DeviceAlloc},
		"OpenVINO's buffer":       {"Exception from src/plugins/intel_gpu/src/plugin/program.cpp:415:\n[GPU] Exceeded max size of memory allocation: Required 1577058304 bytes", fact.DeviceAlloc},
		"a limit of lengths":      {"ERROR: input exceeds maximum length", ""},
		"a count of files":        {"RuntimeError: 5 files expected but only 3 given", ""},
		"a need and less":         {"ERROR: The model requires 24 GB of VRAM but your GPU has 8 GB", fact.PlainDevice},
		"a model and a card":      {"ERROR: model exceeds GPU memory (26.1 GB > 24 GB)", fact.PlainDevice},
		"a lack":                  {"ERROR: lack of video memory", fact.PlainDevice},
		"could not be allocated":  {"[ERROR] engine.cpp:120 Memory could not be allocated", fact.PlainHost},
		"OOM for short":           {"RuntimeError: CUDA OOM while it decoded", fact.PlainDevice},
		"a full pool":             {"ERROR: memory pool exhausted", fact.PlainHost},
		"short of arguments":      {"ERROR: short of arguments", ""},
		"TensorRT 5, by number":   {"E0311 14:15:13.700653 1 logging.cc:43] runtime.cpp (24) - Cuda Error in allocate: 2\nterminate called after throwing an instance of 'nvinfer1::CudaError'", fact.TRTEngine},
		"TensorRT, number 77":     {"E0311 14:15:13.700653 1 logging.cc:43] runtime.cpp (24) - Cuda Error in execute: 77\n2 engines", ""},
		"a sample, by number":     {"Cuda failure: 2Aborted (core dumped)", fact.DeviceAlloc},
		"a solver, by number":     {"solver.cu:119: CUDA error 2 in cudaMalloc", fact.DeviceAlloc},
		"spconv 1, by number":     {"RuntimeError: mmdet3d/ops/spconv/src/indice_cuda.cu 124\ncuda execution failed with error 2", fact.DeviceAlloc},
		"spconv 1, number 9":      {"RuntimeError: mmdet3d/ops/spconv/src/indice_cuda.cu 124\ncuda execution failed with error 9", ""},
		"TensorFlow, graph":       {"ResourceExhaustedError: failed to allocate memory\n\t [[{{node model/h18/ln_2/add_1}}]]", fact.TFAlloc},
		"TensorFlow on ROCm":      {"rocm_driver.cc:606] failed to allocate 1.97G (2120187392 bytes) from device: HIP_ERROR_OutOfMemory", fact.TFStart},
		"HIP, by number":          {"HIP error: 2\n", fact.DeviceAlloc},
		"CUDA error 209":          {"GPUassert: CUDA error: 209 kernel.cu 4\nCUDA error: 2d textures", ""},
		"DeepSpeed's workspace":   {"RuntimeError: Workspace can't be allocated, no enough memory.", fact.DeviceAlloc},
		"no enough memory":        {"RuntimeError: index cannot be built, there is no enough memory", fact.PlainHost},
		"Thrust's algorithm":      {"terminate called after throwing an instance of 'thrust::system::system_error'\n  what():  parallel_for failed: out of memory", fact.PlainDevice},
		"MXNet behind its logger": {"[17:36:58] include/dmlc/./logging.h:308: [17:36:58] src/storage/./pooled_storage_manager.h:111: cudaMalloc failed: out of memory\n\nStack trace returned 10 entries:", fact.DeviceAlloc},
		"SGLang 0.1":              {"Prefill out of memory. This should nerver happen.\n#tokens: 7", fact.SGLangTokens},
		"systemd-oomd 248":        {"systemd-oomd[1003]: Memory pressure for /user.slice/user-1000.slice/user@1000.service is greater than 10 for more than 10 seconds and there was reclaim activity", fact.OOMD},
		"systemd-oomd, its list":  {"systemd-oomd[1003]: Considered 31 cgroups for killing, top candidates were:\nsystemd-oomd[1003]:         Path: /system.slice/nix-daemon.service", fact.OOMD},
		"a kill's trace on ARM":   {"[  501.05]  dump_header from oom_kill_process+0x23c/0x248\n[  501.06]  oom_kill_process from out_of_memory+0x218/0x34c", fact.KernelKill},
		"a trace beside it":       {"[  501.05]  show_stack from dump_stack_lvl+0x90/0xac\n[  501.06]  show_stack from out_of_memory_notifier+0x10/0x2c", ""},
		"an allocator's dump":     {"bfc_allocator.cc:1119] Total size in pool: 89.77GiB memory_limit_: 89.77GiB available size: 153B curr_region_allocation_bytes_: 179.55GiB\nbfc_allocator.cc:1128] Stats: \nLimit:                        89.77GiB\nInUse:                        81.00GiB", fact.TFAlloc},
		"kernel, a page":          {"[   12.400113] kworker/1:2: page allocation failure: order:4, mode:0x40dc0(GFP_KERNEL|__GFP_COMP|__GFP_ZERO), nodemask=(null)", fact.PlainHost},
		"1455, of VirtualAlloc":   {"error: VirtualAlloc failed: 1455", fact.CommitLimit},
		"1455 tests":              {"Tests run: 20000, Failed: 1455, Errors: 2", ""},
		"macOS without swap":      {"kernel: low swap: failed to create swapfile", fact.AppleKill},
		"macOS made swap":         {"kernel: low swap: swapfile 12 created", ""},
		"MindSpore's pool":        {"AddMemBlockAndMemBufByEagerFree] TotalUsedMemStatistics : 60129542144 plus alloc size : 1610612736 is more than total mem size : 61203283968.", fact.DeviceAlloc},
		"MindSpore, a warning":    {"Initialize] Free memory size is less than half of total memory size.Device 0 Device MOC total size:65464696832 Device MOC free size:31138512896 may be other processes occupying this card", ""},
		"a pod's code in JSON":    {`{"lastState":{"terminated":{"exitCode":137,"reason":"Error"}}}`, fact.ShellKilled},
		"another code in JSON":    {`{"lastState":{"terminated":{"exitCode":1374,"reason":"Error"}}}`, ""},
		"two ranks at once":       {"memory allocation of memory allocation of 20971522097152 bytes failed\n bytes failed", fact.RustAlloc},
		"CNTK":                    {"EXCEPTION occurred: cuDNN failure 2: CUDNN_STATUS_ALLOC_FAILED ; GPU=0 ; hostname=BOX ; expr=cudnnCreate(&m_cudnn)", fact.DeviceAlloc},
		"ONNX Runtime's cuDNN":    {"cuda_call.cc:119 CudaCall] CUDNN failure 2: CUDNN_STATUS_ALLOC_FAILED ; GPU=0 ; hostname=box ; expr=cudnnCreate(&handle)", fact.ORTDevice},
		"cuDNN, another status":   {"cuda_call.cc:119 CudaCall] CUDNN failure 8: CUDNN_STATUS_EXECUTION_FAILED ; GPU=0 ; hostname=box", ""},
		"kernel, no failure":      {"[    0.000000] Memory policy: Data cache writealloc, page allocation order 4", ""},
		"kernel, CMA":             {"[   31.220411] cma: cma_alloc: reserved: alloc failed, req-size: 2048 pages, ret: -12", fact.PlainHost},
		"kernel, CMA reserved":    {"[    0.000000] cma: Reserved 64 MiB at 0x000000003c000000", ""},
		"Electron":                {"render-process-gone { reason: 'oom', exitCode: -536870904 }", fact.PlainMemory},
		"Electron, a crash":       {"render-process-gone { reason: 'crashed', exitCode: -1073741819 }", ""},
		"Windows, error 8":        {"CreateProcess: Not enough memory resources are available to process this command.", fact.PlainHost},
		"Windows, error 14":       {"Not enough storage is available to complete this operation.", fact.PlainHost},
		"Windows, the disk":       {"There is not enough space on the disk.", ""},
		"jetsam in words":         {"The app was terminated for exceeding jetsam memory limits", fact.AppleKill},
		"Unreal before a crash":   {"Ran out of memory allocating 268435456 bytes with alignment 16\nSignal 11 caught.\nSegmentation fault (core dumped)", fact.NativeAlloc},
		"Chromium before its end": {"[71:71:0901/101112.131415:FATAL:memory.cc(22)] Out of memory. size=41943040\nIllegal instruction (core dumped)", fact.NativeAlloc},
		"an old processor":        {"Starting up\nIllegal instruction (core dumped)", ""},
		"MUMPS, its workspace":    {" ** ERROR RETURN ** FROM DMUMPS INFO(1)=   -9\n ** INFO(2)=           81220", fact.NativeAlloc},
		"MUMPS, a singular one":   {" ** ERROR RETURN ** FROM DMUMPS INFO(1)=  -10\n ** INFO(2)=             112", ""},
		"LAMMPS":                  {"ERROR on proc 3: Failed to reallocate 88123904 bytes for array atom:x (src/memory.cpp:99)", fact.PlainHost},
		"Stata":                   {"     mm_sample():  3900  unable to allocate real <tmp>[90000000,20]\nr(3900);", fact.PlainHost},
		"Emscripten":              {"RuntimeError: abort(Cannot enlarge memory arrays. Either (1) compile with  -s TOTAL_MEMORY=X  with X higher than the current value 16777216, or if you want malloc to return NULL", fact.NativeAlloc},
		"SBCL":                    {"Heap exhausted during allocation: 98304 bytes available, 4194320 requested.", fact.NativeAlloc},
		"LuaJIT":                  {"PANIC: unprotected error in call to Lua API (not enough memory)", fact.NativeAlloc},
		"Lua, another error":      {"PANIC: unprotected error in call to Lua API (attempt to call a nil value)", ""},
		"OpenGL":                  {"GL error: GL_OUT_OF_MEMORY in glTexImage2D", fact.PlainDevice},
		"NVENC":                   {"[hevc_nvenc @ 0x5581] InitializeEncoder failed: out of memory (10)", fact.PlainDevice},
		"unrecoverable":           {"F vulkan: call failed with unrecoverable error: Out of video memory (VK_ERROR_OUT_OF_DEVICE_MEMORY)", fact.PlainDevice},
		"a texture":               {"Texture creation failed: Not enough memory resources are available to complete this operation. (0x8007000E)", fact.PlainDevice},
		"CUDA.jl in a loop":       {"ERROR: StackOverflowError:\n [5] CUDA.OutOfGPUMemoryError(sz::Int64)\n   @ CUDA pool.jl:338", fact.DeviceAlloc},
		"MicroPython, no figure":  {"MemoryError: memory allocation failed, allocating %u bytes", fact.PlainHost},
		"static TLS, cut":         {"OSError: /usr/lib/aarch64-linux-gnu/libgomp.so.1: cannot allocate mem", ""},
		"static TLS":              {"ImportError: /usr/lib/libgomp.so.1: cannot allocate memory in static TLS block", ""},
		"a compiled program":      {"itk::ERROR: CUDA ERROR: out of memory", fact.PlainDevice},
		"compiled, other letters": {"CUDA Error: out of memory\ndarknet: ./src/utils.c:293: error: Assertion `0' failed.", fact.PlainDevice},
		"PyTorch, in Python":      {"RuntimeError: CUDA error: out of memory", fact.CUDAError},
		"OpenCL before a crash":   {"OpenCL error: CL_MEM_OBJECT_ALLOCATION_FAILURE\nFailed enqueuing the kernel.\nSegmentation fault (core dumped)", fact.PlainDevice},
		"a crash alone":           {"Running the kernels\nSegmentation fault (core dumped)", ""},
		"OpenCL by its number":    {"ERROR: (../fft.c:301) CL error code -4: Memory object allocation failure", fact.DeviceAlloc},
		"cuFFT in Caffe":          {"Check failed: (cufftPlanMany(&plan, 1, &n)) == CUFFT_SUCCESS (2 vs. 0)", fact.DeviceAlloc},
		"Thrust, without detail":  {"terminate called after throwing an instance of 'thrust::system::detail::bad_alloc'\n  what():  std::bad_alloc: out of memory", fact.RMMAlloc},
	} {
		t.Run(name, func(t *testing.T) {
			found := read(c.log).Failures
			if c.want == "" {
				assert.Empty(t, found)
				return
			}
			require.NotEmpty(t, found)
			assert.Equal(t, c.want, found[0].Kind)
		})
	}
}

// TestAmountsOfTheirLabels: a word with a colon behind it speaks of the amount
// that follows, not of the one before.
func TestAmountsOfTheirLabels(t *testing.T) {
	found := read("RuntimeError: memory allocation failed on the GPU while trying to allocate 30534533120 bytes (free: 195559424, total: 191495471104).").Failures
	require.NotEmpty(t, found)
	got := found[0].Figures
	require.NotNil(t, got.Requested)
	require.NotNil(t, got.Free)
	assert.EqualValues(t, 30534533120, got.Requested.Bytes)
	assert.EqualValues(t, 195559424, got.Free.Bytes)
	assert.EqualValues(t, 191495471104, got.Total.Bytes)
}
