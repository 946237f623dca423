package webui

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var framepackCards = ofCard([]cause.Card{
	conv3dRegression("framepack/conv3d", of("framepack"),
		cause.Cure{Fix: "close_other_apps", Title: "Meanwhile: keep more VRAM free", Told: "Close other programs on the card. In demo_gradio.py, before `vae_decode`: a higher `preserved_memory_gb=8`.", Cost: "Some seconds for each section."}),
	{
		ID: "framepack/whole-attention", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: func(c *ledger.Case) bool { return ledger.NeverFits(c) != "" }, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} in one piece for attention, on a card of {total}",
		Means:    "Most likely this is the whole score matrix of attention[[.{kernels}]]. Cards without a fused kernel for bf16 make it (GTX 10, RTX 20, T4, P40); FramePack asks for RTX 30 or later[[.{spilled}]]. On an RTX 30 or later most likely another PyTorch is installed than FramePack came with.",
		Figures: func(c *ledger.Case) map[string]string {
			out := map[string]string{"kernels": "", "spilled": ""}
			if c.Signal("no_fast_attention") != nil {
				out["kernels"] = " Its start lines say that neither xformers, flash-attn nor sage is installed, which leaves PyTorch's own attention"
			}
			if ledger.Overfull(c) {
				out["spilled"] = " More is allocated than the card has: Windows moved the rest to RAM"
			}
			return out
		},
		Not: "GPU Inference Preserved Memory, a shorter video: one request is larger than the card.",
		Cures: []cause.Cure{
			{Fix: "efficient_attention", Title: "RTX 20: install SageAttention 1", Told: "With FramePack's own Python (one-click package: `system\\python\\python.exe -m pip` in place of `pip`); it needs Triton (Windows: `triton-windows`).", Kind: "shell", Text: "pip install sageattention==1.0.6", Cost: "Reported to work by some users."},
			{Fix: "upgrade_version", Title: "Use a fork for these cards, or float32", Told: "FramePack-for-RTX20XX; or in demo_gradio.py `torch.float32` in place of each `torch.bfloat16` of the transformer: fused kernels exist for that.", Cost: "Twice the RAM at float32, slower."},
			{Fix: "bigger_gpu", Title: "Use an RTX 30 or later", Told: "FramePack requires RTX 30, 40 or 50; 6 GB of VRAM are enough there.", Cost: "Money."},
		},
		Sources: []string{framepack + "issues/233", framepack + "issues/341", framepack + "issues/419", framepack + "issues/330", "https://github.com/git-ai-code/FramePack-eichi/issues/7", framepack + "blob/main/README.md"}, Solved: 1,
	},
	{
		ID: "framepack/room-left", Kinds: []fact.Kind{fact.TorchAlloc}, If: ledger.Roomy, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was refused {asked} although {free} of the card was free",
		Means:    "The card was not full. On Windows card memory also counts against RAM plus page file, and most likely those ran out: FramePack holds a model of 13 billion parameters, a Llama text encoder and three more in RAM, about 60 GB at the peak.",
		Not:      "GPU Inference Preserved Memory: the card was not full.",
		Cures: []cause.Cure{
			letWindowsPage,
			{Fix: "close_other_apps", Title: "Close browser and games", Told: "With 32 GB of RAM have at least 40 GB of page file (Linux: swap).", Cost: "Free."},
			{Fix: "restart_session", Title: "Restart the computer, start only FramePack", Told: "Watch \"Committed\" in Task Manager, Performance, Memory while it loads.", Cost: "Free."},
		},
		Sources: []string{framepack + "issues/132", framepack + "issues/233"}, Solved: 1,
	},
	{
		ID: "framepack/vae", Kinds: onCard, Said: []string{"vae_decode(", "in vae_decode", "vae_decode_fake"}, If: func(c *ledger.Case) bool { return !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode a section",
		Means:    "The VAE failed. It works in tiles and slices already, with 8 GB kept free for it where the card has them; the slider does not act on this step. Most often something else holds part of the card, or models of an earlier failure are still there.",
		Not:      "GPU Inference Preserved Memory: it acts on sampling only.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Close other programs on the card", Told: "`nvidia-smi` shows what else is there; with 6 to 8 GB turn the browser's hardware acceleration off.", Cost: "Free."},
			{Fix: "restart_session", Title: "Restart FramePack", Told: "After a failure parts of the models can stay on the card.", Cost: "Some minutes of loading."},
		},
		Sources: []string{framepack + "blob/main/demo_gradio.py", framepack + "issues/263", framepack + "issues/770"},
	},
	{
		ID: "framepack/saving", Kinds: append([]fact.Kind{fact.CommitLimit}, inRAM...), Said: []string{"save_bcthw_as_mp4"}, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM) while it saved the video",
		Means:    "After each section FramePack saves all frames made so far at once, at 32 bit and in several copies: {asked} is one of them. That grows with the length of the video, beside the models, about 60 GB at the peak, for which RAM and page file count together.",
		Not:      "GPU Inference Preserved Memory: it keeps more in RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Make a shorter video", Told: "In the page: Total Video Length (Seconds), half of it first. The last file in `outputs` has the sections that were saved.", Cost: "less video"},
			letWindowsPage, closeForRAM,
		},
		Sources: []string{framepack + "blob/main/diffusers_helper/utils.py", framepack + "blob/main/demo_gradio.py"},
	},
	{
		ID: "framepack/ram", Kinds: append(append([]fact.Kind{fact.CommitLimit, fact.SilentDeath}, inRAM...), killed...), Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "{head}", Figures: silently,
		Means:   "[[{silent} ]]FramePack holds a model of 13 billion parameters, a Llama text encoder and three more in RAM: about 60 GB at the peak, for which RAM and page file count together.",
		Not:     "GPU Inference Preserved Memory: it keeps more in RAM.",
		Cures:   []cause.Cure{letWindowsPage, notOn("windows", cause.Cure{Fix: moreSwap.Fix, Title: "On Linux: add swap", Told: "In WSL raise `memory=` and `swap=` under `[wsl2]` in `%UserProfile%\\.wslconfig` instead (half of the RAM by default), then `wsl --shutdown`.", Kind: moreSwap.Kind, Text: moreSwap.Text, Cost: moreSwap.Cost}), closeForRAM},
		Sources: []string{framepack + "issues/74", framepack + "issues/233"}, Solved: 1,
	},
	{
		ID: "framepack/sampling", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"sample_hunyuan", "with preserved memory", "move_model_to_device_with_memory_preservation", "hunyuan_video_packed"}, Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of graphics memory while sampling",
		Means:    "FramePack moves as much of the model to the card as leaves the preserved memory free; the activations of a step need more than that.",
		Not:      "A shorter video, fewer steps: each section needs the same.",
		Cures:    []cause.Cure{{Fix: "lowvram_mode", Title: "Raise GPU Inference Preserved Memory", Told: "In the page, by 2 GB (6 by default), then 2 more.", Cost: "Slower."}, {Fix: "efficient_attention", Title: "Install SageAttention or xformers", Told: "Into FramePack's own Python; at its start it prints which are installed.", Cost: "None; faster."}, {Fix: "close_other_apps", Title: "Close other programs on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."}},
		Sources:  []string{framepack + "blob/main/demo_gradio.py", framepack + "blob/main/diffusers_helper/memory.py"},
	},
})
