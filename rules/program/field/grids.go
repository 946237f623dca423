package field

import (
	"regexp"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

var (
	gridKinds = []fact.Kind{fact.PlainDevice, fact.DeviceAlloc, fact.CUDAError, fact.PlainMemory, fact.NativeAlloc}
	lookAlone = cause.Cure{Fix: "kill_stale_process", Title: "See what else is on the card", Told: "`nvidia-smi` before the start.", Cost: "free"}
	taichiGB  = regexp.MustCompile(`(?:device_memory_GB\s*=\s*|TI_DEVICE_MEMORY_GB=)(\d{1,3}(?:\.\d)?)`)
)

// RTK is the Reconstruction Toolkit, ITK's tomography.
var RTK = program.Program{
	Name: "rtk", Shown: "RTK", Work: "science", Edits: "code", Language: "cpp",
	Proofs: []string{"rtkCuda", "Remote/RTK", "rtkfdk", "import itk.RTK", "rtk::Cuda"},
	Cards: []cause.Card{{
		ID: "rtk/card", Kinds: gridKinds, Said: []string{"rtkCuda", "Remote/RTK", "rtk::Cuda", "rtkfdk"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in a reconstruction filter",
		Means: "A CUDA filter of RTK has its input and output on the GPU at once. Given the whole stack of projections, it copies all of it. The ramp filter pads each projection and transforms it, which takes several times its size. The volume comes on top.",
		Not:   "Splitting a file on disk, if the filter still updates the whole stack.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Put fewer projections on the GPU at once", Told: "rtkfdk: `--subsetsize 2 --lowmem` (16 by default). Your own code: `fdk->SetProjectionSubsetSize(2)`; another filter: pass some projections at a time (`itk::ExtractImageFilter`), or put `itk::StreamingImageFilter` with `SetNumberOfStreamDivisions` behind it.", Cost: "somewhat slower"},
			{Fix: "lower_resolution", Title: "Reconstruct the volume in slabs, or coarser", Told: "rtkfdk: `--divisions 4`. Or a larger spacing: twice the spacing is an eighth of the volume.", Cost: "time, or detail"},
			{Fix: "upgrade_version", Title: "If it fails in a loop, or with memory free: update RTK", Told: "Versions before October 2024 did not release GPU memory after a reconstruction, and some filters failed above 2 GB.", Cost: "half an hour"},
			lookAlone,
		},
		Sources: []string{"RTK/applications/rtkfdk/rtkfdk.ggo", "https://github.com/RTKConsortium/RTK/issues/612", "https://github.com/RTKConsortium/RTK/pull/598"},
	}},
	Sources: program.Sources{"RTK/applications/rtkfdk/rtkfdk.ggo": "--subsetsize --lowmem --divisions"},
}

// Taichi is Taichi, whose sparse fields take from a pool of a size of its own.
var Taichi = program.Program{
	Name: "taichi", Shown: "Taichi", Work: "science", Edits: "code", Language: "python",
	Proofs: []string{"[Taichi]", "taichi/backends/", "taichi/rhi/", "taichi_core", "taichi_python"},
	Cards: []cause.Card{{
		ID: "taichi/card", Kinds: gridKinds, Said: []string{"[Taichi]", "taichi/backends/", "taichi/rhi/", "taichi_core"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "could not get GPU memory for its pool or a field",
		Figures: func(c *ledger.Case) map[string]string {
			out := map[string]string{"pool": ""}
			for _, word := range c.Facts.Talk {
				if m := taichiGB.FindStringSubmatch(word.Text); m != nil {
					out["pool"] = m[1]
				}
			}
			return out
		},
		Means: "Sparse fields (`pointer`, `dynamic`, `hash`) take from a pool whose size `ti.init` sets[[: here {pool} GB]]. It is reserved in one piece when the program starts, so it has to fit what is free then. Dense fields come on top. `TI_DEVICE_MEMORY_GB` overrides the argument.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Set the pool to what is free, or less", Told: "Compare with `nvidia-smi` before the start. If only dense fields are used, 0.5 is enough:", Kind: "python", Text: "ti.init(arch=ti.cuda, device_memory_GB=2)   # without device_memory_fraction; unset TI_DEVICE_MEMORY_GB", Cost: "a sparse field that outgrows it fails later"},
			{Fix: "fix_shape", Title: "Make fields smaller", Told: "Count cells x bytes of all fields. Use `ti.f32` and `ti.i16` where they are enough, and a coarser grid: half of each side is an eighth.", Cost: "detail"},
			lookAlone,
		},
		Sources: []string{"taichi/python/taichi/lang/misc.py", "https://docs.taichi-lang.org/docs/global_settings"},
	}},
}
