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
	Proofs: []string{"internal/viewer/client.py", "internal/viewer/viewer.py", "internal/entrypoints/viewer.py"},
	Cards: []cause.Card{
		{
			ID: "splat-viewer/absurd", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool { return ledger.NeverFits(c) != "" || ledger.AbsurdSize(c) },
			Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "asked for {asked} for one frame: the rasteriser's count is wrong",
			Means: "It failed while it rendered a view. The rasteriser sizes a buffer by a count (pairs of Gaussian and screen tile) that its own CUDA kernel computes; {asked} is no real need.[[ The program held only {mine} then.]] Usual reasons: the extension was built for another card or CUDA version; the camera is inside the scene; some Gaussians are huge or NaN.",
			Not:   "Closing programs, allocator settings: the size itself is wrong.",
			Cures: []cause.Cure{
				{Fix: "fix_shape", Title: "See whether every view fails", Told: "Go to scene center, then away from it; Max Res 512 and a smaller Scaling Modifier in the panel. Only some views: those Gaussians are broken (an earlier checkpoint). Every view, of another model too: the extension.", Cost: "A minute."},
				{Fix: "upgrade_version", Title: "Rebuild the rasteriser for this card and CUDA version", Told: "In the environment or image that runs the viewer, with the CUDA toolkit of `torch.version.cuda` and the card's number in TORCH_CUDA_ARCH_LIST (8.6 RTX 30, 8.9 RTX 40).", Kind: "shell", Text: "python -c \"import torch; print(torch.version.cuda, torch.cuda.get_device_capability())\"; nvcc --version\npip install --force-reinstall --no-cache-dir --no-deps -r requirements.txt", Cost: "Some minutes."},
				{Fix: "lower_resolution", Title: "Lower Max Res", Told: "In the viewer's panel, also Max Res when Moving.", Cost: "Less detail."},
			},
			Sources: []string{"gaussian-splatting-lightning/internal/viewer/viewer.py", "gaussian-splatting-lightning/README.md", "https://github.com/ashawkey/diff-gaussian-rasterization/issues/27"},
		},
		{
			ID: "splat-viewer/frame", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool { return ledger.OnCard(c) && !ledger.Roomy(c) },
			Cause: cause.BatchTooLarge, Weight: cause.Good, Headline: "ran out of graphics memory[[ ({total})]] while it rendered a view",
			Means: "The Gaussians stay on the card; a view adds buffers that grow with its pixels and with how many Gaussians cover each.",
			Cures: []cause.Cure{
				{Fix: "lower_resolution", Title: "Lower Max Res", Told: "In the viewer's panel, also Max Res when Moving; move the camera away from the scene.", Cost: "Less detail."},
				{Fix: "kill_stale_process", Title: "See what else is on the card", Told: "A training that still runs, a second viewer:", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
			},
			Sources: []string{"gaussian-splatting-lightning/internal/viewer/viewer.py"},
		},
	},
}
