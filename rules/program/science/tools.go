package science

import (
	"slices"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/program/compilers"
	"github.com/oomdoc/oomdoc/rules/program/science/matlab"
	"github.com/oomdoc/oomdoc/rules/program/science/opencv"
	"github.com/oomdoc/oomdoc/rules/step"
)

// MATLAB is MATLAB with the Parallel Computing Toolbox.
var MATLAB = program.Program{
	Name: "matlab", Shown: "MATLAB", Work: "science", Edits: "code", Language: "other",
	Proofs:   []string{"'gpuDevice()'", "Error using gpuArray", "gpuArray(", "gpuArray/", "on gpuArray", "MATLAB:", "parallel:gpu", "Error using parallel.gpu", "Maximum variable size allowed on the device is exceeded", "Requested array exceeds the maximum possible variable size", "exceeds maximum array size preference", "array exceeded the preset maximum array size", "help memory\" for your options", "HELP MEMORY for your options", "main_kilosort"},
	Titles:   map[string]string{"lower_batch_size": "Lower MiniBatchSize", "half_precision": "Use single instead of double", "restart_session": "Reset the GPU", "stream_dataset": "Use a tall array or matfile"},
	Costs:    map[string]string{"lower_batch_size": "Slower per epoch.", "half_precision": "Less precision.", "restart_session": "All gpuArrays are lost.", "stream_dataset": "Some rewriting."},
	Remedies: cures(cause.InOrder("restart_session", "lower_batch_size", "half_precision", "close_other_apps"), cause.InOrder("half_precision", "fix_shape", "stream_dataset", "raise_pagefile")),
	Steps: steps{
		"lower_batch_size": step.Paste("text", "Set `\"MiniBatchSize\", 8` in `trainingOptions` (128 by default); `predict` and `classify` take it as well. Your own loops: `gather` results and `clear` each gpuArray."),
		"half_precision":   step.Paste("text", "Convert first: `x = gpuArray(single(x));`. MATLAB computes in double by default."),
		"restart_session":  step.Paste("text", "Run `reset(gpuDevice)`, then `gpuDevice` to see AvailableMemory. If it stays low, another program holds the GPU: `!nvidia-smi`."),
		"fix_shape":        step.Paste("text", "Look at `whos` and at the sizes in that line: `a - b'` of two vectors makes a whole matrix (implicit expansion)."),
		"stream_dataset":   step.Paste("text", "Read parts with `matfile`, `datastore` or `tall`, instead of `load`."),
	},
	Cards: slices.Concat(matlabCallCards, matlab.ArrayCards, matlabCards),
}

// Julia is CUDA.jl.
var Julia = program.Program{
	Name: "cuda.jl", Shown: "CUDA.jl", Work: "science", Edits: "code", Language: "other",
	Sources:  program.Sources{"CUDA.jl/docs/src/usage/memory.md": "JULIA_CUDA_HARD_MEMORY_LIMIT JULIA_CUDA_MEMORY_POOL"},
	Proofs:   []string{"Out of GPU memory trying to allocate", "CUDA.jl", "/.julia/packages/CUDA/", "OutOfGPUMemoryError"},
	Titles:   map[string]string{"empty_cache": "Free arrays at once", "lower_batch_size": "Lower the batch size", "half_precision": "Use Float32"},
	Costs:    map[string]string{"empty_cache": "A little time.", "half_precision": "Less precision."},
	Remedies: cures(cause.InOrder("empty_cache", "lower_batch_size", "half_precision", "kill_stale_process"), cause.InOrder("lower_batch_size", "stream_dataset", "raise_memory_limit")),
	Steps: steps{
		"empty_cache":      step.Paste("text", "Call `CUDA.unsafe_free!(x)` on temporaries, or `x = nothing; GC.gc(); CUDA.reclaim()`: Julia's collector does not know how full the GPU is. In loops use broadcasts in place (`y .= f.(x)`)."),
		"lower_batch_size": step.Paste("text", "Flux and Lux: `DataLoader((x, y); batchsize=16)`, and move a batch with `gpu` inside the loop, not the data set before it."),
		"half_precision":   step.Paste("text", "Use `cu(x)`, which makes Float32, instead of `CuArray(x)`, which keeps Float64."),
		"stream_dataset":   step.Paste("text", "Map the file: `using Mmap; x = mmap(open(\"x.bin\"), Matrix{Float32}, (rows, columns))`."),
	},
	Cards: juliaCards,
}

// R is R, with torch or without.
var R = program.Program{
	Name: "r", Shown: "R", Work: "data", Edits: "code", Language: "other",
	Proofs:   []string{"cannot allocate vector of size", "vector memory exhausted (limit reached?)", "vector memory limit of", "Execution halted", "cpp_torch_namespace", "in mcfork(", "unable to fork, possible reason", "cannot allocate memory block of size", "'Calloc' could not allocate memory", "bplapply", "mclapply"},
	Titles:   map[string]string{"fix_shape": "Keep the matrix sparse, work on parts", "empty_cache": "Remove large objects, then gc()", "stream_dataset": "Read fewer columns"},
	Costs:    map[string]string{"fix_shape": "Some rewriting.", "empty_cache": "None.", "stream_dataset": "Some rewriting."},
	Remedies: cures(cause.InOrder("lower_batch_size", "empty_cache"), cause.InOrder("fix_shape", "empty_cache", "stream_dataset", "raise_memory_limit", "raise_pagefile")),
	Steps: steps{
		"fix_shape":        step.Paste("text", "`as.matrix` of a sparse matrix, `dist` of many rows and `expand.grid` make it whole: keep `Matrix` objects, or work on blocks of rows. Each modification of a data.frame copies columns; data.table changes them in place."),
		"empty_cache":      step.Paste("text", "`sort(sapply(ls(), function(n) object.size(get(n))))` shows the largest objects; `rm(x); gc()` gives them back. An .RData file that loads at the start brings old ones back."),
		"stream_dataset":   step.Paste("text", "`data.table::fread(\"data.csv\", select = c(\"id\", \"value\"))`, or `arrow::open_dataset` and dplyr, which reads what is used."),
		"lower_batch_size": step.Paste("text", "torch: `dataloader(ds, batch_size = 8)`, `with_no_grad({...})` when predicting, and `gc()` in the loop: tensors are freed when R collects."),
	},
	Cards: slices.Concat(rCallCards, rCards),
}

// OpenCV is OpenCV.
var OpenCV = program.Program{
	Name: "opencv", Shown: "OpenCV", Work: "vision", Edits: "code", Language: "cpp",
	Proofs:   []string{"OpenCV(", "cv2.error", "cv::error", "cv::Mat", "OpenCV Error", "cv::cuda"},
	Titles:   map[string]string{"lower_resolution": "Use smaller images", "detach_accumulated": "Reuse and release the matrices"},
	Costs:    map[string]string{"lower_resolution": "Less detail.", "detach_accumulated": "None."},
	Remedies: cures(append([]cause.Remedy{{Fix: "lower_batch_size", Fit: cause.Cures, If: (*ledger.Case).Training}}, cause.InOrder("lower_resolution", "detach_accumulated", "kill_stale_process")...), cause.InOrder("fix_shape", "lower_resolution", "detach_accumulated", "add_swap")),
	Steps: steps{
		"lower_batch_size":   step.Paste("text", "Halve `batch_size` in the training script."),
		"lower_resolution":   step.Paste("python", "img = cv2.resize(cv2.imread(path), None, fx=0.5, fy=0.5)   # a quarter of the memory from here on"),
		"detach_accumulated": step.Paste("python", "cap.release(); del frames   # do not keep frames in a list: handle each and let it go"),
		"fix_shape":          step.Paste("python", "print(img.shape, img.dtype)   # before the call: a wrong scale factor or homography makes an image of many gigabytes"),
	},
	Cards: opencv.Cards,
}

// Paddle is PaddlePaddle, with PaddleOCR.
var Paddle = program.Program{
	Name: "paddle", Script: "paddle-script", Shown: "PaddlePaddle", Work: "vision", Edits: "code", Language: "python",
	Proofs:   []string{"memory has been allocated(actual using", "memory has been allocated and available memory is only", "paddle/fluid/", "paddle::memory", "paddle/base/", "PaddleOCR", "ppocr", "paddlenlp", "ppdet/", "Paddle Fluid", "paddle::platform", "paddle/phi/", "start PaddlePaddle on another GPU"},
	Titles:   map[string]string{"limit_framework_preallocation": "Let the pool grow instead", "lower_batch_size": "Lower the batch size", "lower_resolution": "Limit the image's side"},
	Costs:    map[string]string{"limit_framework_preallocation": "A little speed.", "lower_resolution": "May miss small print."},
	Remedies: withLeak(cures(cause.InOrder("lower_batch_size", "lower_resolution", "limit_framework_preallocation", "kill_stale_process"), cause.InOrder("lower_batch_size", "lower_num_workers", "raise_memory_limit"))),
	Steps: steps{
		"limit_framework_preallocation": step.Paste("env", "export FLAGS_allocator_strategy=auto_growth\nexport FLAGS_fraction_of_gpu_memory_to_use=0.5"),
		"lower_batch_size":              step.Paste("text", "Training: `batch_size_per_card` (PaddleOCR, PaddleClas) or `batch_size` in the YAML under Train.loader. PaddleOCR in use: `rec_batch_num=1` (`text_recognition_batch_size=1` since 3.0)."),
		"lower_resolution":              step.Paste("text", "PaddleOCR: `det_limit_side_len=960` with `det_limit_type=\"max\"` (`text_det_limit_side_len` and `text_det_limit_type` since 3.0): large scans go to the network whole otherwise."),
	},
	Cards: paddleCards,
}

// Octave is GNU Octave.
var Octave = program.Program{
	Name: "octave", Shown: "Octave", Work: "science", Edits: "code", Language: "other",
	Proofs: []string{"Octave's index type", "octave:"}, Cards: octaveCards,
}

// JuliaHost is Julia without a card.
var JuliaHost = program.Program{
	Name: "julia", Shown: "Julia", Work: "science", Edits: "code", Language: "other",
	Proofs: []string{"./boot.jl:", "OutOfMemoryError()", "@ Base ./"},
	Cards:  []cause.Card{juliaJacobian, juliaTable, juliaRAM},
}

// TFObjectDetection is TensorFlow's object detection API.
var TFObjectDetection = program.Program{
	Name: "tf-object-detection", Shown: "TF Object Detection", Work: "vision", Edits: "flags", Language: "python",
	Proofs:   []string{"object_detection/model_", "object_detection/legacy", "object_detection/core", "object_detection/meta_architectures", "FirstStageFeatureExtractor/", "SecondStageFeatureExtractor/", "SecondStageBoxPredictor/"},
	Titles:   map[string]string{"lower_batch_size": "Lower batch_size in pipeline.config", "lower_resolution": "Smaller image_resizer", "lower_num_workers": "Smaller input queues"},
	Costs:    map[string]string{"lower_resolution": "May miss small objects.", "lower_num_workers": "The GPU may wait for data."},
	Remedies: withLeak(cures(cause.InOrder("lower_batch_size", "lower_resolution", "kill_stale_process"), cause.InOrder("lower_num_workers", "lower_batch_size", "raise_memory_limit"))),
	Steps: steps{
		"lower_batch_size":  step.Paste("config", "train_config {\n  batch_size: 2   # in pipeline.config; 1 where images are kept at their aspect ratio\n}"),
		"lower_resolution":  step.Paste("config", "image_resizer {\n  keep_aspect_ratio_resizer { min_dimension: 400 max_dimension: 700 }\n}"),
		"lower_num_workers": step.Paste("config", "train_input_reader {\n  shuffle_buffer_size: 256\n  num_readers: 2\n}"),
	},
	Cards: calls.DetectionCards,
}

// Minecraft is Minecraft and other games on Java.
var Minecraft = program.Program{
	Name: "minecraft", Shown: "Minecraft", Work: "rendering", Edits: "flags", Language: "java",
	Proofs:   []string{"net.minecraft.", "net/minecraft/", "---- Minecraft Crash Report", ".minecraft", "minecraftforge", "fabricmc"},
	Titles:   map[string]string{"lower_resolution": "Lower render distance and textures", "lower_mem_fraction": "Lower -Xmx"},
	Costs:    map[string]string{"lower_resolution": "Sight.", "lower_mem_fraction": "Room for fewer mods."},
	Remedies: cures(cause.InOrder("lower_resolution", "close_other_apps"), cause.InOrder("lower_mem_fraction", "close_other_apps", "raise_pagefile", "add_swap")),
	Steps: steps{
		"lower_resolution":   step.Paste("ui", "Options, Video Settings: Render Distance 8, Graphics Fast; a resource pack of 32x or less, shaders off"),
		"lower_mem_fraction": step.Paste("ui", "Launcher, Installations, More Options, JVM Arguments: -Xmx4G instead of a value near the RAM of the machine; 4 to 8 GB are right for most mod packs"),
	},
	Like: []*program.Program{&Java},
}

// Java is a Java machine that the system refused memory: not its heap.
var Java = program.Program{
	Name: "java", Shown: "Java", Edits: "flags", Language: "java",
	Proofs:   []string{"hs_err_pid", "insufficient memory for the Java Runtime Environment", "os::commit_memory(", "Out of Memory Error (os_"},
	Titles:   map[string]string{"lower_mem_fraction": "Lower -Xmx"},
	Costs:    map[string]string{"lower_mem_fraction": "A smaller heap."},
	Remedies: map[string][]cause.Remedy{cause.HostMemory: cause.InOrder("lower_mem_fraction", "close_other_apps", "raise_pagefile", "raise_memory_limit")},
	Steps:    steps{"lower_mem_fraction": step.Paste("text", "Lower `-Xmx`: heap, threads and native memory together have to fit the RAM or the container's limit. In containers `-XX:MaxRAMPercentage=60` leaves room for the rest.")},
	Cards:    javaCards,
}

// Build is a build of C++ or CUDA code, mostly by pip.
var Build = program.Program{
	Name: "build", Shown: "The build", Work: "build", Edits: "flags", Language: "cpp",
	Sources:  program.Sources{"flash-attention/setup.py": "MAX_JOBS NVCC_THREADS", "flash-attention/README.md": "--no-build-isolation", "cmake/Help/manual/cmake.1.rst": "--build --parallel CMAKE_BUILD_PARALLEL_LEVEL"},
	Proofs:   []string{"Building wheel for", "ninja: build stopped", "Failed building wheel", "error: command '/usr/bin/nvcc'", "Building CUDA object"},
	Titles:   map[string]string{"upgrade_version": "Install a prebuilt wheel"},
	Costs:    map[string]string{"upgrade_version": "None, if there is one for your versions."},
	Beside:   map[string][]string{"Building wheel for": {"still running"}},
	Remedies: map[string][]cause.Remedy{cause.HostMemory: cause.InOrder("lower_build_jobs", "upgrade_version", "add_swap", "raise_memory_limit")},
	Steps: steps{
		"lower_build_jobs": step.Paste("shell", "MAX_JOBS=2 NVCC_THREADS=1 pip install flash-attn --no-build-isolation   # your own package; make -j2, cmake --build build --parallel 2"),
		"upgrade_version":  step.Paste("text", "Look for a prebuilt wheel that fits your Python, PyTorch and CUDA versions on the project's releases page, and `pip install` its address: nothing is compiled then."),
	},
	Cards: slices.Concat(buildCards[:1], compilers.OfBuild(), buildCards[1:]),
}
