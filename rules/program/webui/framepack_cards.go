package webui

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var framepackCards = ofCard([]cause.Card{
	conv3dRegression("framepack/conv3d", of("framepack"),
		cause.Cure{Fix: "lowvram_mode", Title: "Meanwhile: keep more VRAM free", Told: "Close other programs on the card. In demo_gradio.py, before `vae_decode`, raise `preserved_memory_gb=8`.", Cost: "Some seconds for each section."}),
	{
		ID: "framepack/whole-attention", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: func(c *ledger.Case) bool { return ledger.NeverFits(c) != "" }, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} at once, more than the whole card ({total})",
		Means:    "Most likely this is the whole score matrix of attention[[.{kernels}]]. Cards without a fast attention kernel for bf16 build it (GTX 10, RTX 20, T4, P40); FramePack requires RTX 30 or newer[[.{spilled}]]. On an RTX 30 or newer, probably the wrong PyTorch is installed.",
		Figures: func(c *ledger.Case) map[string]string {
			out := map[string]string{"kernels": "", "spilled": ""}
			if c.Signal("no_fast_attention") != nil {
				out["kernels"] = " Its first lines say that xformers, flash-attn and sage are not installed, so PyTorch's own attention is used"
			}
			if ledger.Overfull(c) {
				out["spilled"] = " More is allocated than the card has; Windows moved the rest to RAM"
			}
			return out
		},
		Not: "GPU Inference Preserved Memory, a shorter video: one request is larger than the card.",
		Cures: []cause.Cure{
			{Fix: "efficient_attention", Title: "On RTX 20: install SageAttention 1", Told: "Use FramePack's own Python (one-click package: `system\\python\\python.exe -m pip` instead of `pip`). It needs Triton (on Windows the package `triton-windows`).", Kind: "shell", Text: "pip install sageattention==1.0.6", Cost: "Reported to work by some users."},
			{Fix: "upgrade_version", Title: "Use a fork for these cards, or float32", Told: "For example FramePack-for-RTX20XX. Or in demo_gradio.py replace each `torch.bfloat16` of the transformer with `torch.float32`, for which fast kernels exist.", Cost: "Twice the RAM at float32, slower."},
			{Fix: "bigger_gpu", Title: "Use an RTX 30 or later", Told: "FramePack requires RTX 30, 40 or 50. There 6 GB of VRAM are enough.", Cost: "Money."},
		},
		Sources: []string{framepack + "issues/233", framepack + "issues/341", framepack + "issues/419", framepack + "issues/330", "https://github.com/git-ai-code/FramePack-eichi/issues/7", framepack + "blob/main/README.md"}, Solved: 1,
	},
	{
		ID: "framepack/room-left", Kinds: []fact.Kind{fact.TorchAlloc}, If: ledger.Roomy, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "could not get {asked} although {free} of the card was free",
		Means:    "The card was not full. Most likely RAM plus page file were: on Windows GPU memory counts against them too. FramePack keeps a 13B video model, a Llama text encoder and three more models in RAM, about 60 GB at the peak.",
		Not:      "GPU Inference Preserved Memory: the card was not full.",
		Cures: []cause.Cure{
			letWindowsPage, moreSwapIf,
			{Fix: "close_other_apps", Title: "Close browser and games", Told: "FramePack alone needs most of the memory: with 32 GB of RAM add at least 40 GB of page file or swap.", Cost: "Free."},
			{Fix: "restart_session", Title: "Restart the computer, start only FramePack", Told: "Watch how RAM fills up while it loads.", Cost: "Free."},
		},
		Sources: []string{framepack + "issues/132", framepack + "issues/233"}, Solved: 1,
	},
	{
		ID: "framepack/vae", Kinds: onCard, Said: []string{"vae_decode(", "in vae_decode", "vae_decode_fake"}, If: func(c *ledger.Case) bool { return !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the VAE, while it decoded a section",
		Means:    "The VAE failed, although FramePack already decodes in tiles and slices and tries to keep 8 GB free for it. Usually another program uses part of the card, or models of an earlier failed run are still there.",
		Not:      "GPU Inference Preserved Memory: it only affects sampling.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Close other programs on the card", Told: "`nvidia-smi` shows what else is there. On 6 to 8 GB also turn off hardware acceleration in the browser.", Cost: "Free."},
			{Fix: "restart_session", Title: "Restart FramePack", Told: "After a failed run parts of the models can stay on the card.", Cost: "Some minutes of loading."},
		},
		Sources: []string{framepack + "blob/main/demo_gradio.py", framepack + "issues/263", framepack + "issues/770"},
	},
	{
		ID: "framepack/saving", Kinds: append([]fact.Kind{fact.CommitLimit}, inRAM...), Said: []string{"save_bcthw_as_mp4"}, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM) while it saved the video",
		Means:    "After each section FramePack converts all frames made so far at once, at 32 bit and in several copies; {asked} is one of them. So RAM use grows with the length of the video. The models need up to 60 GB of RAM plus page file too.",
		Not:      "GPU Inference Preserved Memory: it keeps more in RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Make a shorter video", Told: "Set Total Video Length (Seconds) to half. The last file in `outputs` has the sections saved so far.", Cost: "A shorter video."},
			letWindowsPage, closeForRAM,
		},
		Sources: []string{framepack + "blob/main/diffusers_helper/utils.py", framepack + "blob/main/demo_gradio.py"},
	},
	{
		ID: "framepack/ram", Kinds: append(append([]fact.Kind{fact.CommitLimit, fact.SilentDeath}, inRAM...), killed...), Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "{head}", Figures: silently,
		Means:   "[[{silent} ]]FramePack keeps a 13B video model, a Llama text encoder and three more models in RAM: about 60 GB at the peak. RAM and page file count together.",
		Not:     "GPU Inference Preserved Memory: it keeps more in RAM.",
		Cures:   []cause.Cure{letWindowsPage, notOn("windows", cause.Cure{Fix: moreSwap.Fix, Title: "On Linux: add swap", Told: "In WSL instead raise `memory=` (default: half of the RAM) and `swap=` under `[wsl2]` in `%UserProfile%\\.wslconfig`, then run `wsl --shutdown`.", Kind: moreSwap.Kind, Text: moreSwap.Text, Cost: moreSwap.Cost}), closeForRAM},
		Sources: []string{framepack + "issues/74", framepack + "issues/233"}, Solved: 1,
	},
	{
		ID: "framepack/sampling", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"sample_hunyuan", "with preserved memory", "move_model_to_device_with_memory_preservation", "hunyuan_video_packed"}, Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of GPU memory while sampling",
		Means:    "FramePack fills the card with weights and leaves only the \"preserved\" memory free. The sampling step needs more than that.",
		Not:      "A shorter video, fewer steps: every section needs the same memory.",
		Cures:    []cause.Cure{{Fix: "lowvram_mode", Title: "Raise GPU Inference Preserved Memory", Told: "Drag the slider from 6 (the default) to 8, then 10.", Cost: "Slower."}, {Fix: "efficient_attention", Title: "Install SageAttention or xformers", Told: "Install it into FramePack's own Python. At the start FramePack prints which ones it found.", Cost: "None; faster."}, {Fix: "close_other_apps", Title: "Close other programs on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."}},
		Sources:  []string{framepack + "blob/main/demo_gradio.py", framepack + "blob/main/diffusers_helper/memory.py"},
	},
})
