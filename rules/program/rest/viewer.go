package rest

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

// SplatViewer is Gaussian Splatting on Lightning, whose viewer runs in a browser.
var SplatViewer = program.Program{
	Name: "gaussian-splatting-lightning", Shown: "The Gaussian splatting viewer", Work: "rendering", Edits: "flags", Language: "python",
	Proofs:  []string{"internal/viewer/client.py", "internal/viewer/viewer.py", "internal/entrypoints/viewer.py"},
	Useless: map[string]func(*ledger.Case) string{"multi_gpu": func(*ledger.Case) string { return "The viewer renders on one GPU." }},
	Cards: []cause.Card{
		{
			ID: "splat-viewer/absurd", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool { return ledger.NeverFits(c) != "" || ledger.AbsurdSize(c) },
			Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "asked for {asked} for one frame: the rasteriser's count is wrong",
			Means: "It failed while it rendered a view. The rasteriser's CUDA code counts pairs of Gaussians and screen tiles to size a buffer; {asked} means that this count is wrong.[[ The program held only {mine} then.]] Usual reasons: the extension was built for another GPU or CUDA version, the camera is inside the scene, or some Gaussians are huge or NaN.",
			Not:   "Closing programs or allocator settings: the size itself is wrong.",
			Cures: []cause.Cure{
				{Fix: "fix_shape", Title: "Check whether every view fails", Told: "In the panel click \"Go to scene center\", move away from it, and set Max Res to 512. If only some views fail, Gaussians are broken: load an earlier checkpoint. If every view fails, with other models too, rebuild the extension.", Cost: "a minute"},
				{Fix: "upgrade_version", Title: "Rebuild the rasteriser for this GPU and CUDA version", Told: "Use the CUDA toolkit of `torch.version.cuda`, and put the GPU's number into TORCH_CUDA_ARCH_LIST (8.6 for RTX 30, 8.9 for RTX 40).", Kind: "shell", Text: "python -c \"import torch; print(torch.version.cuda, torch.cuda.get_device_capability())\"; nvcc --version\npip install --force-reinstall --no-cache-dir --no-deps -r requirements.txt", Cost: "some minutes"},
				{Fix: "lower_resolution", Title: "Lower Max Res", Told: "It is in the viewer's panel; lower \"Max Res when Moving\" too.", Cost: "less detail"},
			},
			Sources: []string{"gaussian-splatting-lightning/internal/viewer/viewer.py", "gaussian-splatting-lightning/README.md", "https://github.com/ashawkey/diff-gaussian-rasterization/issues/27"},
		},
		{
			ID: "splat-viewer/frame", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool { return ledger.OnCard(c) && !ledger.Roomy(c) },
			Among: own, Headline: "ran out of GPU memory[[ ({total})]] while it rendered a view",
			Means: "The Gaussians stay in GPU memory. Each view needs more on top: the larger the picture and the more Gaussians cover each pixel, the more.",
			Cures: []cause.Cure{
				{Fix: "lower_resolution", Title: "Lower Max Res", Told: "It is in the viewer's panel; lower \"Max Res when Moving\" too, and move the camera away from the scene.", Cost: "less detail"},
				{Fix: "use_smaller_model", Title: "Load fewer Gaussians", Told: "Load an earlier checkpoint, or a pruned model.", Cost: "less detail"},
				{Fix: "kill_stale_process", Title: "Check what else is on the GPU", Told: "A training that still runs, or a second viewer:", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			},
			Sources: []string{"gaussian-splatting-lightning/internal/viewer/viewer.py"},
		},
	},
}
