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
		Headline: "ran out of graphics memory",
		Means:    "The quantised table and its statistics lie on the card, and CatBoost takes 95 % of what is free at the start (`gpu_ram_part`). Categorical features often need most: their combinations (`max_ctr_complexity`) and one-hot copies; then depth, classes and `border_count`.",
		Not:      "Fewer iterations: trees are trained one after another.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower `max_ctr_complexity`, `border_count` and `depth`", Told: "`max_ctr_complexity=1, border_count=32, depth=6` among the parameters; `gpu_ram_part=0.9` leaves more room beside it.", Cost: "A little accuracy"},
			do("kill_stale_process", "Check what else uses the card", "free", "`nvidia-smi` before the start: end notebooks and other frameworks; in a grid search run one fit at a time."),
			{Fix: "cpu_offload", Title: "Keep categories in RAM, or train on the CPU", Told: "`gpu_cat_features_storage=\"CpuPinnedMemory\"`; or `task_type=\"CPU\"`.", Cost: "Slower"},
		},
		Sources: []string{"https://catboost.ai/docs/en/references/training-parameters/gpu", "https://catboost.ai/docs/en/concepts/speed-up-training"},
	}, nil, catboostRAM)
	Dynamics = onCard("molecular-dynamics", "The simulation", "science", []string{"src/CudaUtils.C", "NAMD", "GpuBuffer::Allocate", "gpu_extra.h", "pmemd.cuda", "Insufficient memory on accelerator"}, cause.Card{
		Headline: "did not fit on the graphics card",
		Means:    "Atoms, neighbour lists and the grid of long-range forces lie on the card; their size follows from the number of atoms and the cut-off. Each rank on a card adds its own buffers and 300 to 600 MiB of context. A simulation that blew up can ask for absurd sizes.",
		Not:      "A smaller time step alone, or more ranks on the same card.",
		Cures: []cause.Cure{
			do("lower_num_workers", "Run one rank per card", "seldom slower", "`mpirun -n` with the number of cards (NAMD `+devices 0,1`, `+p` threads); `nvidia-smi` shows what else is on it."),
			do("lower_resolution", "Use a smaller box or a coarser grid", "accuracy, with care", "A truncated octahedron instead of a cube saves a quarter of the water; PME spacing 1.0 to 1.2 A."),
			do("multi_gpu", "Use more cards, or a larger one", "money", "NAMD 3, GROMACS and LAMMPS divide the system among cards; Amber's pmemd.cuda needs the whole system on one."),
		},
		Sources: []string{"https://www.ks.uiuc.edu/Research/namd/3.0/ug/", "https://docs.lammps.org/Speed_gpu.html", "https://ambermd.org/GPUSupport.php"},
	}, nil)
	LuxCore = onCard("luxcore", "LuxCore", "rendering", []string{"LuxCore", "luxrays", "BlendLuxCore"}, cause.Card{
		Headline: "ran out of graphics memory for this scene",
		Means:    "Textures, meshes and film have to lie on the card, uncompressed: the size of the .blend file says nothing. BlendLuxCore's \"Out of Core\" is off unless ticked, works with the device OpenCL/CUDA only, and its mode \"Only Film\" moves no textures.",
		Not:      "Fewer samples: they take time, not memory.",
		Cures: []cause.Cure{
			do("cpu_offload", "Turn on Out of Core, mode \"Everything\"", "slower, and RAM", "Render properties, below the device (GPU): film, textures, meshes and other data then go to RAM where the card is too small. What the kernels and the hardware image pipeline need stays on the card; where it fails all the same, set the device to CPU."),
			do("lower_resolution", "Turn on Use Image Resizing", "hardly any, or detail", "Off unless ticked. Its type \"auto-scale to lowest size\" makes each image as small as the view allows, without loss; \"mipmap\" saves less, a fixed scale all alike. Then fewer subdivisions; hair with \"Save Memory\" (instances)."),
			do("close_other_apps", "Close what else holds the card", "free", "Set the viewport to solid, close browsers, and start the final render in a fresh Blender."),
		},
		Sources: []string{"BlendLuxCore/properties/config.py", "BlendLuxCore/export/config.py", "BlendLuxCore/properties/hair.py", "https://github.com/LuxCoreRender/LuxCore/issues/372"},
	}, nil)
	Renderers = onCard("renderer", "The renderer", "rendering", []string{"V-Ray", "[Arnold]", "arnold", "RenderMan", "[Octane]"}, cause.Card{
		Headline: "ran out of graphics memory for this scene",
		Means:    "The scene has to lie on the card: textures (an 8K one takes 256 MiB in 8 bit, 1 GiB in 32 bit), geometry after subdivision and displacement, and the frame with all its passes. The viewport or an interactive render can hold a second copy.",
		Not:      "Fewer samples: they take time, not memory.",
		Cures: []cause.Cure{
			do("close_other_apps", "Close the interactive render and other programs", "free", "Set the viewport to shaded; close browsers and other 3D programs; restart the program before a final render."),
			do("lower_resolution", "Use smaller textures, less displacement", "detail, seldom seen", "V-Ray GPU: Texture mode \"On-demand mipmapped\", compressed; Arnold: .tx files and `texture max resolution` 2048. Use instances for copies, one subdivision level less, fewer passes."),
			do("cpu_offload", "Render on the CPU", "slower", "Arnold: Render Device CPU; V-Ray: CPU engine."),
			do("bigger_gpu", "Use a card with more memory", "money", "Without NVLink the memory of two cards does not add up."),
		},
		Sources: []string{"https://docs.chaos.com/display/VMAX/V-Ray+GPU", "https://help.autodesk.com/view/ARNOL/ENU/?guid=arnold_user_guide_ac_gpu_html"},
	}, nil)
	OpenCLPictures = onCard("darktable", "darktable", "rendering", []string{"darktable", "[dt_opencl", "opencl_pixelpipe"}, cause.Card{
		Headline: "had no graphics memory for a step of the image",
		Means:    "Each module holds the image several times in 32-bit floats: 45 megapixels are 720 MiB a copy. darktable usually continues with tiles or on the CPU, more slowly.",
		Cures: []cause.Cure{
			do("limit_framework_preallocation", "Lower its share of the card", "slower", "Preferences, Processing: resources \"small\" or \"default\"; old versions: a larger `opencl_memory_headroom` in darktablerc, such as 800."),
			do("cpu_offload", "Turn OpenCL off", "slower", "Preferences, Processing, \"activate OpenCL support\" off, or `darktable --disable-opencl`."),
			do("upgrade_version", "Update the driver and darktable", "free", "Versions since 4.0 count the card's memory better."),
		},
		Sources: []string{"https://docs.darktable.org/usermanual/4.6/en/special-topics/mem-performance/"},
	}, program.Sources{"darktable/src/common/darktable.c": "--disable-opencl"})
)
