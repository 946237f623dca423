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
		Means:    "The quantised table and statistics lie on the card, and CatBoost takes 95 % of what is free at the start (`gpu_ram_part`). Categorical features are what grows: their combinations (`max_ctr_complexity`) and one-hot copies, then depth, classes and `border_count`.",
		Not:      "Fewer iterations: trees are trained one after another.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Simpler statistics, fewer borders, shallower trees", Told: "`max_ctr_complexity=1, border_count=32, depth=6` among the parameters; `gpu_ram_part=0.9` leaves room beside it.", Cost: "A little accuracy"},
			do("kill_stale_process", "See what else is on the card", "free", "`nvidia-smi` before the start: notebooks and other frameworks; one fit at a time in a grid search."),
			{Fix: "cpu_offload", Title: "Tables of categories in RAM, or all on the CPU", Told: "`gpu_cat_features_storage=\"CpuPinnedMemory\"`; or `task_type=\"CPU\"`.", Cost: "Slower"},
		},
		Sources: []string{"https://catboost.ai/docs/en/references/training-parameters/gpu", "https://catboost.ai/docs/en/concepts/speed-up-training"},
	}, nil, catboostRAM)
	Dynamics = onCard("molecular-dynamics", "The simulation", "science", []string{"src/CudaUtils.C", "NAMD", "GpuBuffer::Allocate", "gpu_extra.h", "pmemd.cuda", "Insufficient memory on accelerator"}, cause.Card{
		Headline: "did not fit on the graphics card",
		Means:    "Atoms, neighbour lists and the grid of long-range forces lie on the card, by number of atoms and cut-off; several ranks on one card have a copy of buffers and 300 to 600 MiB of context each. A box that exploded asks for absurd sizes: then the structure is at fault.",
		Not:      "A smaller time step, or more ranks on the same card.",
		Cures: []cause.Cure{
			do("lower_num_workers", "One rank for each card", "seldom slower", "`mpirun -n` the number of cards (NAMD `+devices 0,1`, `+p` threads); nobody else on it: `nvidia-smi`."),
			do("lower_resolution", "Less water, a coarser grid, a shorter cut-off", "accuracy, with care", "A truncated octahedron in place of a cube saves a quarter; PME spacing 1.0 to 1.2 A; fewer pair lists ahead."),
			do("multi_gpu", "More cards, or a larger one", "money", "Domains are divided among cards in NAMD 3, GROMACS and LAMMPS; Amber's pmemd.cuda needs the whole system on one."),
		},
		Sources: []string{"https://www.ks.uiuc.edu/Research/namd/3.0/ug/", "https://docs.lammps.org/Speed_gpu.html", "https://ambermd.org/GPUSupport.php"},
	}, nil)
	Renderers = onCard("renderer", "The renderer", "rendering", []string{"V-Ray", "[Arnold]", "arnold", "RenderMan", "LuxCore", "[Octane]"}, cause.Card{
		Headline: "ran out of graphics memory for this scene",
		Means:    "The scene has to lie on the card: textures (an 8K one in 8 bit takes 256 MiB, in 32 bit a GiB), geometry after subdivision and displacement, the frame with all its passes, and the viewport's or an interactive render's second copy.",
		Not:      "Fewer samples: they take time, not memory.",
		Cures: []cause.Cure{
			do("close_other_apps", "Close the interactive render and other programs", "free", "Viewport to shaded; browsers, other 3D programs; restart the program before a final render."),
			do("lower_resolution", "Smaller textures, less displacement", "detail, seldom seen", "V-Ray GPU: Texture mode \"On-demand mipmapped\", compressed; Arnold: .tx files and `texture max resolution` 2048; instances for copies, subdivision a level lower; fewer passes."),
			do("cpu_offload", "Render on the CPU, or hybrid", "slower", "Arnold: Render Device CPU; V-Ray: CPU engine, which shares the same scene mostly."),
			do("bigger_gpu", "A card with more memory", "money", "Two cards do not add up without NVLink."),
		},
		Sources: []string{"https://docs.chaos.com/display/VMAX/V-Ray+GPU", "https://help.autodesk.com/view/ARNOL/ENU/?guid=arnold_user_guide_ac_gpu_html"},
	}, nil)
	OpenCLPictures = onCard("darktable", "darktable", "rendering", []string{"darktable", "[dt_opencl", "opencl_pixelpipe"}, cause.Card{
		Headline: "had no graphics memory for a step of the image",
		Means:    "Each module holds the image several times in 32-bit floats: 45 megapixels are 720 MiB a copy. darktable then goes on with tiles or on the processor, more slowly; it ends only where that fails too.",
		Not:      "Fewer modules that are switched off already.",
		Cures: []cause.Cure{
			do("limit_framework_preallocation", "Let it take less of the card", "slower", "Preferences, Processing: resources \"small\" or \"default\"; old versions: `opencl_memory_headroom=800` in darktablerc."),
			do("cpu_offload", "Without OpenCL, for a trial", "slower", "Preferences, Processing, \"activate OpenCL support\" off, or `darktable --disable-opencl`."),
			do("upgrade_version", "A newer driver and darktable", "free", "Memory of cards is counted better since 4.0."),
		},
		Sources: []string{"https://docs.darktable.org/usermanual/4.6/en/special-topics/mem-performance/"},
	}, program.Sources{"darktable/src/common/darktable.c": "--disable-opencl"})
)
