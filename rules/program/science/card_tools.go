package science

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// onCard is a tool whose one card answers a full graphics card; the clues say why.
func onCard(name, shown, work string, proofs []string, k cause.Card, sources program.Sources, more ...cause.Card) program.Program {
	k.ID, k.Kinds = name+"/card", []fact.Kind{fact.PlainDevice, fact.PlainMemory, fact.DeviceAlloc, fact.CUDAError}
	return program.Program{Name: name, Shown: shown, Work: work, Edits: "flags", Language: "other", Proofs: proofs, Cards: append([]cause.Card{k}, more...), Sources: sources}
}

// Tools of data, chemistry and pictures that live on the graphics card.
var (
	CatBoost = onCard("catboost", "CatBoost", "data", []string{"catboost/cuda", "_catboost.CatBoostError", "catboost/core.py"}, cause.Card{
		Headline: "ran out of GPU memory",
		Means:    "CatBoost keeps the table and its statistics in GPU memory, and takes 95 % of what is free at the start. Combinations of categorical features (`max_ctr_complexity`) often need the most. Deep trees, many classes and `border_count` add to it.",
		Not:      "Fewer iterations: trees are trained one after another.",
		Cures: []cause.Cure{
			do("lower_batch_size", "Lower `max_ctr_complexity`, `border_count` and `depth`", "A little accuracy", "Pass `max_ctr_complexity=1, border_count=32, depth=6`. `gpu_ram_part=0.9` leaves more room for other programs."),
			do("kill_stale_process", "Check what else uses the GPU", "free", "Run `nvidia-smi` before the start, and end old notebooks and other frameworks. In a grid search run one fit at a time."),
			do("cpu_offload", "Keep categories in RAM, or train on the CPU", "Slower", "Pass `gpu_cat_features_storage=\"CpuPinnedMemory\"`, or `task_type=\"CPU\"`."),
		},
		Sources: []string{"https://catboost.ai/docs/en/references/training-parameters/gpu", "https://catboost.ai/docs/en/concepts/speed-up-training"},
	}, nil, catboostRAM)
	Dynamics = onCard("molecular-dynamics", "The simulation", "science", []string{"src/CudaUtils.C", "NAMD", "GpuBuffer::Allocate", "gpu_extra.h", "pmemd.cuda", "Insufficient memory on accelerator"}, cause.Card{
		Headline: "ran out of GPU memory",
		Means:    "Atoms, neighbour lists and the grid of long-range forces are in GPU memory. Each rank on a GPU adds its own buffers and 300 to 600 MiB. A simulation that blew up can ask for absurd sizes.",
		Not:      "A smaller time step alone, or more ranks on the same GPU.",
		Cures: []cause.Cure{
			do("lower_num_workers", "Run one rank per GPU", "seldom slower", "Start `mpirun -n` with the number of GPUs (NAMD: `+devices 0,1` and `+p` threads). `nvidia-smi` shows what else is on the GPU."),
			do("lower_resolution", "Use a smaller box or a coarser grid", "accuracy, with care", "A truncated octahedron instead of a cube saves a quarter of the water. Use a PME spacing of 1.0 to 1.2 A."),
			do("multi_gpu", "Use more GPUs, or a larger one", "money", "NAMD 3, GROMACS and LAMMPS divide the system among GPUs. Amber's pmemd.cuda needs all of it on one."),
		},
		Sources: []string{"https://www.ks.uiuc.edu/Research/namd/3.0/ug/", "https://docs.lammps.org/Speed_gpu.html", "https://ambermd.org/GPUSupport.php"},
	}, nil)
	LuxCore = onCard("luxcore", "LuxCore", "rendering", []string{"LuxCore", "luxrays", "BlendLuxCore"}, cause.Card{
		Headline: "ran out of GPU memory for this scene",
		Means:    "Textures, meshes and film are in GPU memory, uncompressed, whatever the size of the .blend file. BlendLuxCore can move them to RAM (\"Out of Core\"), but only if you turn that on.",
		Not:      "Fewer samples: they take time, not memory.",
		Cures: []cause.Cure{
			do("cpu_offload", "Turn on Out of Core, mode \"Everything\"", "slower, and RAM", "Render properties, below the device (GPU). The mode \"Only Film\" moves no textures. If it still fails, set the device to CPU."),
			do("lower_resolution", "Turn on Use Image Resizing", "none, or less detail", "Choose the type \"auto-scale to lowest size\": it makes each image as small as the view allows. Then use fewer subdivisions, and hair with \"Save Memory\" (instances)."),
			do("close_other_apps", "Close other programs that use the GPU", "free", "Set the viewport to Solid, close browsers, and start the final render in a fresh Blender."),
		},
		Sources: []string{"BlendLuxCore/properties/config.py", "BlendLuxCore/export/config.py", "BlendLuxCore/properties/hair.py", "https://github.com/LuxCoreRender/LuxCore/issues/372"},
	}, nil)
	Renderers = onCard("renderer", "The renderer", "rendering", []string{"V-Ray", "[Arnold]", "arnold", "RenderMan", "[Octane]"}, cause.Card{
		Headline: "ran out of GPU memory for this scene",
		Means:    "Textures, geometry after subdivision and displacement, and the frame with all its passes share GPU memory. An 8K texture takes 256 MiB in 8 bit, 1 GiB in 32 bit. The viewport or an interactive render can hold a second copy.",
		Not:      "Fewer samples: they take time, not memory.",
		Cures: []cause.Cure{
			do("close_other_apps", "Close the interactive render and other programs", "free", "Set the viewport to shaded. Close browsers and other 3D programs, and restart the program before a final render."),
			do("lower_resolution", "Use smaller textures, less displacement", "less detail, seldom visible", "V-Ray GPU: Texture mode \"On-demand mipmapped\" or compressed. Arnold: .tx files and `texture max resolution` 2048. Use instances, one subdivision level less, and fewer passes."),
			do("cpu_offload", "Render on the CPU", "slower", "Arnold: Render Device CPU. V-Ray: the CPU engine."),
			do("bigger_gpu", "Use a GPU with more memory", "money", "Without NVLink the memory of two GPUs does not add up."),
		},
		Sources: []string{"https://docs.chaos.com/display/VMAX/V-Ray+GPU", "https://help.autodesk.com/view/ARNOL/ENU/?guid=arnold_user_guide_ac_gpu_html"},
	}, nil)
	OpenCLPictures = onCard("darktable", "darktable", "rendering", []string{"darktable", "[dt_opencl", "opencl_pixelpipe"}, cause.Card{
		Headline: "ran out of GPU memory for a step of the image",
		Means:    "Each module holds the image several times in 32-bit floats: 45 megapixels take 720 MiB per copy. darktable usually goes on in tiles or on the CPU, more slowly.",
		Cures: []cause.Cure{
			do("limit_framework_preallocation", "Let it use less GPU memory", "slower", "Preferences, Processing: set resources to \"small\" or \"default\". Old versions: raise `opencl_memory_headroom` in darktablerc, for example to 800."),
			do("cpu_offload", "Turn OpenCL off", "slower", "Preferences, Processing: \"activate OpenCL support\" off. Or start `darktable --disable-opencl`."),
			do("upgrade_version", "Update the driver and darktable", "free", "Versions since 4.0 count GPU memory better."),
		},
		Sources: []string{"https://docs.darktable.org/usermanual/4.6/en/special-topics/mem-performance/"},
	}, program.Sources{"darktable/src/common/darktable.c": "--disable-opencl"})
)
