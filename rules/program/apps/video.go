package apps

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	uis "github.com/oomdoc/oomdoc/rules/program/torch/pictures"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Pictures is what programs share that make images and videos.
var Pictures = program.Program{
	Edits: "flags", Language: "python",
	Titles: map[string]string{"lowvram_mode": "Turn on its low-memory mode", "cpu_offload": "Keep parts of the model in RAM"},
	Steps: kit.Steps{
		"use_smaller_model":   step.Paste("text", "Choose a smaller model: SD 1.5 instead of SDXL, SDXL instead of Flux, 2B or 1.3B instead of 14B."),
		"efficient_attention": step.Paste("text", "Install xformers into its Python, or update to PyTorch 2, which has memory-efficient attention built in."),
	},
	Remedies: pictures(),
}

// pictures are the remedies of programs that make pictures, without the fixes
// for which one has no setting.
func pictures(without ...string) map[string][]cause.Remedy {
	out := map[string][]cause.Remedy{
		cause.BatchTooLarge:       cause.InOrder("lower_resolution", "lowvram_mode", "vae_tiling", "cpu_offload", "close_other_apps"),
		cause.OversizedAllocation: cause.InOrder("lower_resolution", "efficient_attention", "vae_tiling", "lowvram_mode"),
		cause.ModelTooLarge:       cause.InOrder("lowvram_mode", "cpu_offload", "use_lower_quant", "use_smaller_model", "close_other_apps"),
		cause.HostMemory:          cause.InOrder("raise_pagefile", "add_swap", "use_lower_quant", "close_other_apps"),
		cause.Unknown:             cause.InOrder("lowvram_mode", "lower_resolution", "close_other_apps", "use_smaller_model"),
	}
	kit.SwapOrPage(out[cause.HostMemory])
	for id, list := range out {
		out[id] = slices.DeleteFunc(list, func(r cause.Remedy) bool { return slices.Contains(without, r.Fix) })
	}
	return out
}

// wanLean: Wan's own script, with T5 on the CPU.
func wanLean(c *ledger.Case) bool {
	return c.In("wan") && c.Near("--t5_cpu") && !kit.Training(c) && !ledger.Crowded(c)
}

// wanSmallest: Wan's smallest model is in use.
func wanSmallest(c *ledger.Case) bool { return c.Near("--task t2v-1.3B", "task='t2v-1.3B'") }

// wanFrames are about half of the frames of the log, 4n+1 as Wan wants them.
func wanFrames(c *ledger.Case) []step.Step {
	frames := 81
	if own := ledger.IntSetting(c, "frame_num"); own > 0 {
		frames = own
	}
	return []step.Step{{Kind: "config", Text: "--frame_num " + strconv.Itoa(max(frames/8*4+1, 5))}}
}

// Wan2GP is deepbeepmeep's page for many video models.
var Wan2GP = program.Program{
	Name: "wan2gp", Carries: append([]string{"wan", "hunyuanvideo"}, uis.Nested...), Edits: "flags", Language: "python", Shown: "WanGP", Work: "video-generation",
	Proofs:  []string{"wgp.py", "Wan2GP/", "Memory Management for the GPU Poor", "-packages/mmgp/", "it is likely that you have unsufficient"},
	Like:    []*program.Program{&Pictures},
	Sources: program.Sources{"Wan2GP/docs/CLI.md": "--profile --preload --attention --perc-reserved-mem-max --fp16 --quantize-transformer"},
	Steps: kit.Steps{
		"lowvram_mode":        leanerProfile,
		"cpu_offload":         leastPinned,
		"lower_resolution":    step.Paste("ui", "Fewer frames first (81, then 49), then 480p; longer clips with Sliding Windows"),
		"vae_tiling":          step.Paste("ui", "Configuration, Performance: VAE Tiling on, at the smallest tile"),
		"use_lower_quant":     step.Paste("shell", "python wgp.py --quantize-transformer True --profile 4"),
		"use_smaller_model":   step.Paste("ui", "Choose the 1.3B or 5B model of the family"),
		"efficient_attention": step.Paste("shell", "python wgp.py --attention sage2   # or sdpa, which needs nothing installed"),
	},
	Cards: kit.Cards(
		cause.Card{
			ID: "wan2gp/ram", Kinds: kit.OffRAM, Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "ran out of system memory (RAM), not GPU memory",
			Means:    "WanGP keeps whole models in RAM so that small cards can run them. By its own list profiles 1 and 2 need 64 GB of RAM, 3 and 4 need 32, 5 needs 24.",
			Cures: []cause.Cure{
				{Fix: "lowvram_mode", Title: "Use the profile that needs the least RAM (5)", Steps: leastPinned, Cost: "Slower."},
				kit.ManagePage, kit.AddSwap,
			},
			Sources: []string{"https://github.com/deepbeepmeep/Wan2GP/blob/main/docs/TROUBLESHOOTING.md", "https://github.com/deepbeepmeep/Wan2GP/blob/main/docs/CLI.md"},
		},
		cause.Card{
			ID: "wan2gp/guess", Kinds: []fact.Kind{fact.CUDAError}, Said: []string{"you have unsufficient RAM"}, If: func(c *ledger.Case) bool { return c.In("wan2gp") }, Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "failed, and guesses that RAM ran out",
			Means:    "\"You have unsufficient RAM\" is only WanGP's guess. The real error is above it in the console: usually \"CUDA error: out of memory\" without sizes. A likely reason is that RAM could not be pinned (reserved) for swapped weights; the log does not prove it.",
			Cures: []cause.Cure{
				{Fix: "lowvram_mode", Title: "Pin less RAM: profile 4 or 5", Steps: leastPinned, Told: "Also turn compilation off for one run (Configuration, Performance).", Cost: "Slower."},
				{Fix: "close_other_apps", Title: "Restart WanGP, close other programs", Told: "The browser and other AI programs take RAM and GPU memory.", Cost: "Free."},
				{Fix: "upgrade_version", Title: "If only one new model fails: update WanGP", Kind: "shell", Text: "git pull && pip install -r requirements.txt", Cost: "Some minutes."},
				kit.ManagePage,
			},
			Sources: []string{"https://github.com/deepbeepmeep/Wan2GP/blob/main/wgp.py", "https://github.com/deepbeepmeep/Wan2GP/blob/main/docs/TROUBLESHOOTING.md"},
		},
		cause.Card{
			ID: "wan2gp/pinned", Kinds: []fact.Kind{fact.CUDAError}, Unsaid: []string{"you have unsufficient RAM"}, If: func(c *ledger.Case) bool { return c.In("wan2gp") && c.F().Requested == nil }, Cause: cause.Unknown, Weight: cause.Strong,
			Headline: "got a CUDA out-of-memory error without sizes: RAM or GPU memory",
			Means:    "Often this means that RAM could not be pinned (reserved) for swapped weights. A full card usually says \"Tried to allocate\" instead. The log does not prove which it was, and the traceback may show a later call.",
			Cures: []cause.Cure{
				{Fix: "restart_session", Title: "Restart WanGP", Told: "Close its window, make sure that its python process is gone, and start it again. After switching models this is often enough.", Cost: "Free."},
				{Fix: "lowvram_mode", Title: "Use profile 5 and pin less RAM", Steps: leastPinned, Cost: "Slower."},
				{Fix: "raise_pagefile", Title: "Enlarge the page file or swap", Told: "Windows: Win+R, `sysdm.cpl`, Advanced, Performance: Settings, Advanced, Virtual memory: 32768 to 65536 MB on an SSD; restart. Linux: 32 GB of swap.", Cost: "Disk space."},
				{Fix: "upgrade_version", Title: "Update WanGP", If: firstWanGP, Told: "Your version is older than April 2025 (`gradio_server.py`). In its folder run:", Kind: "shell", Text: "git pull && pip install -r requirements.txt", Cost: "Some minutes."},
				{Fix: "upgrade_version", Title: "Go back to the previous NVIDIA driver", Told: "If the same settings worked before a driver update, install the old driver clean (in one report 581.80 instead of 591.44).", Cost: "Half an hour."},
			},
			Sources: []string{"https://github.com/deepbeepmeep/Wan2GP/blob/main/wgp.py", "https://github.com/deepbeepmeep/Wan2GP/blob/main/docs/CLI.md", "https://github.com/deepbeepmeep/Wan2GP/issues/1215"},
		},
		cause.Card{
			ID: "wan2gp/page-guess", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"you have unsufficient VRAM"}, If: func(c *ledger.Case) bool { return c.In("wan2gp") && c.F().Requested == nil }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "stopped, and guesses that GPU memory ran out",
			Means:    "WanGP shows this sentence for every error about memory or allocation, so GPU memory or RAM may be full. The real error is above it in the console.",
			Cures: []cause.Cure{
				{Fix: "lower_resolution", Title: "Make fewer frames, then 480p; a smaller input image", Told: "Use 49 frames instead of 81. Scale a large start image down to the clip's size.", Cost: "A shorter or smaller clip."},
				{Fix: "fix_shape", Title: "Read the error in the console", Told: "\"Tried to allocate\" with sizes means GPU memory. `DefaultCPUAllocator`, `MemoryError` or `pin_memory` means RAM: then use profile 5 and close programs.", Cost: "Free."},
				{Fix: "lowvram_mode", Title: "Use a leaner memory profile", Told: "On the page: Configuration, Performance, Memory Profile. Or:", Steps: leanerProfile, Cost: "Slower."},
			},
			Sources: []string{"https://github.com/deepbeepmeep/Wan2GP/blob/main/wgp.py", "https://github.com/deepbeepmeep/Wan2GP/blob/main/docs/TROUBLESHOOTING.md"},
		},
		cause.Card{
			ID: "wan2gp/decode", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"vae.decode(", "VAE_tile_size", "modules/vae.py", "spatial_tiled_decode", "vae.encode("}, If: func(c *ledger.Case) bool { return c.In("wan2gp") }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] in the VAE",
			Means:    "The VAE encodes an input image before the steps and decodes the finished clip after them. Its memory grows with the resolution. In Auto the tile size depends on the total size of the card, not on what is free.",
			Cures: []cause.Cure{
				kit.Cure("vae_tiling", "Use the smallest VAE tiles", "ui", "Configuration, Performance, VAE Tiling: choose the last entry (for 6 GB cards; in older versions 128 x 128) instead of Auto", "Slower; seams are rare."),
				{Fix: "lower_resolution", Title: "Lower the resolution, or make fewer frames", Told: "Use 480p, and enlarge the clip afterwards with Spatial Upsampling.", Cost: "Detail."},
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/deepbeepmeep/Wan2GP/blob/main/wgp.py", "https://github.com/deepbeepmeep/Wan2GP/blob/main/docs/TROUBLESHOOTING.md"},
		},
		cause.Card{
			ID: "wan2gp/generate", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.DeviceAlloc}, If: func(c *ledger.Case) bool { return c.In("wan2gp") }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]]",
			Means:    "WanGP's profile decides how much of the model stays on the card: 1 and 3 all of it, 2 and 4 (the default) a part, 4.5 and 5 the least.[[ Yours is {profile}.]] The rest is for the clip itself, which grows with frames x pixels.",
			Figures:  func(c *ledger.Case) map[string]string { return map[string]string{"profile": profile(c)} },
			Cures: []cause.Cure{
				{Fix: "lowvram_mode", Title: "Use a leaner memory profile", Told: "On the page: Configuration, Performance, Memory Profile. Or:", Steps: leanerProfile, Cost: "Slower.", If: func(c *ledger.Case) bool { return profile(c) == "1" || profile(c) == "3" }},
				{Fix: "lower_resolution", Title: "Make fewer frames, then 480p", Told: "For example 49 frames instead of 81. For longer clips use Sliding Windows.", Cost: "A shorter or smaller clip."},
				{Fix: "lowvram_mode", Title: "Use a leaner memory profile", Told: "On the page: Configuration, Performance, Memory Profile. Or:", Steps: leanerProfile, Cost: "Slower.", If: func(c *ledger.Case) bool { return profile(c) != "1" && profile(c) != "3" && profile(c) != "5" }},
				kit.Cure("close_other_apps", "Turn off the browser's hardware acceleration", "text", "In the browser's settings, System. WanGP's docs say that a browser can take 1 to 5 GB of the card.", "Free."),
			},
			Sources: []string{"https://github.com/deepbeepmeep/Wan2GP/blob/main/docs/TROUBLESHOOTING.md", "https://github.com/deepbeepmeep/Wan2GP/blob/main/README.md"},
		},
	),
}

// profile is what WanGP was started with, "" where the log does not say.
func profile(c *ledger.Case) string {
	s, _ := c.Setting("profile")
	return s.Value
}

// firstWanGP: its page was gradio_server.py until wgp.py replaced it in April
// 2025; that one has --profile and does not have --perc-reserved-mem-max.
func firstWanGP(c *ledger.Case) bool { return kit.Framed(c, "gradio_server.py") }

// leastPinned is the profile that keeps and pins the least.
func leastPinned(c *ledger.Case) []step.Step {
	if firstWanGP(c) {
		return []step.Step{{Kind: "shell", Text: "python gradio_server.py --profile 5"}}
	}
	return []step.Step{{Kind: "shell", Text: "python wgp.py --profile 5 --perc-reserved-mem-max 0.2"}}
}

// leanerProfile is the next profile with less on the card (wgp.py,
// memory_profile_choices), in the reader's own command.
func leanerProfile(c *ledger.Case) []step.Step {
	next := map[string]string{"": "4.5", "1": "2", "2": "4", "3": "4", "3.5": "4", "4": "4.5"}[profile(c)]
	if next == "" {
		next = "5"
	}
	if firstWanGP(c) { // it had whole numbers only
		return []step.Step{{Kind: "shell", Text: "python gradio_server.py --profile 5"}}
	}
	own := step.Typed(c, "wgp.py")
	return []step.Step{{Kind: "shell", Text: "python wgp.py " + step.Edited(c, own, step.Change{Flag: "--profile", Value: next}, step.Change{Flag: "--preload", Drop: true})}}
}

// Wan is the official script.
var Wan = program.Program{
	Remedies: pictures("vae_tiling", "use_lower_quant"),
	Name:     "wan", Shown: "Wan", Work: "video-generation",
	Proofs:  []string{"Wan2.1/generate.py", "Wan2.2/generate.py", "generate.py --task t2v-", "generate.py --task i2v-", "generate.py --task ti2v-", `generate.py \ --task t2v-`, `generate.py \ --task i2v-`, `generate.py \ --task ti2v-`, "wan/text2video.py", "wan/image2video.py", "wan/textimage2video.py", "wan/first_last_frame2video.py"},
	Like:    []*program.Program{&Pictures},
	Sources: program.Sources{"Wan2.1/generate.py": "--task --size --ckpt_dir --offload_model --t5_cpu --frame_num --dit_fsdp --t5_fsdp --ulysses_size --nproc_per_node"},
	Steps: kit.Steps{
		"lowvram_mode":      step.Paste("config", "--offload_model True --t5_cpu"),
		"cpu_offload":       step.Paste("config", "--offload_model True --t5_cpu"),
		"lower_resolution":  step.Paste("config", "--size 832*480 --frame_num 49"),
		"use_smaller_model": step.Paste("shell", "python generate.py --task t2v-1.3B --size 832*480 --ckpt_dir ./Wan2.1-T2V-1.3B --offload_model True --t5_cpu"),
		"multi_gpu":         step.Paste("shell", "torchrun --nproc_per_node=2 generate.py --task t2v-14B --size 1280*720 --ckpt_dir ./Wan2.1-T2V-14B --dit_fsdp --t5_fsdp --ulysses_size 2"),
	},
	Cards: kit.Cards(cause.Card{
		ID: "wan/ti2v-offloaded", Kinds: kit.OnCard, Said: []string{"--task ti2v-5B", "task='ti2v-5B'"}, If: func(c *ledger.Case) bool { return wanLean(c) && c.Near("--convert_model_dtype") }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] with all its memory options on",
		Means:    "Offload, T5 on the CPU and 16 bit are on already. Even so Wan's README asks for 24 GB for the 5B model, of which the weights take 10. The rest is for the frames (121 by default), in sampling or at the end in the VAE.",
		Not:      "`--size 832*480`: the 5B model only takes 1280*704 and 704*1280. Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			kit.Cure("lower_resolution", "Make fewer frames (`--frame_num`)", "text", "Set `--frame_num 81`, then 49 (the default is 121). If even 9 frames fail, frames are not the reason: see with `nvidia-smi` what else is on the card.", "A shorter clip."),
			kit.Cure("expandable_segments", "Reduce fragmentation", "shell", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "Usually none."),
			kit.Cure("use_smaller_model", "Run it in ComfyUI or WanGP", "text", "Both can run this model with 8-bit weights and decode in tiles.", "Another program."),
		},
		Sources: []string{"https://github.com/Wan-Video/Wan2.2/blob/main/README.md", "https://github.com/Wan-Video/Wan2.2/blob/main/wan/textimage2video.py", "https://github.com/Wan-Video/Wan2.2/blob/main/wan/configs/__init__.py", "https://github.com/Wan-Video/Wan2.2/issues/90"},
	}, cause.Card{
		ID: "wan/offloaded", Kinds: kit.OnCard, Said: []string{"--t5_cpu"}, Unsaid: []string{"--convert_model_dtype", "ti2v-5B", "t2v-1.3B", "wan/modules/vae"}, If: wanLean, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] although offload is on",
		Not:      "`--offload_model True --t5_cpu`: the command has them already.",
		Means:    "Even with offload and T5 on the CPU, the whole transformer is on the card while it computes. 14B has 28 GB at 16 bit, 57 at 32 (image to video: 33 and 66). Without a 16-bit option the weights are loaded as in their files, often at 32 bit.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Load the transformer at 16 bit", Told: "Wan 2.2: add `--convert_model_dtype`. Wan 2.1: in wan/text2video.py or image2video.py, where the model is created:", Kind: "python", Text: "self.model = WanModel.from_pretrained(checkpoint_dir, torch_dtype=torch.bfloat16)", Cost: "Hardly any loss of quality."},
			{Fix: "multi_gpu", Title: "Split it over several cards", Kind: "config", Text: "torchrun --nproc_per_node=2 generate.py ... --dit_fsdp --t5_fsdp --ulysses_size 2", Told: "Put your own options in place of the dots.", Cost: "The cards."},
			kit.Cure("use_smaller_model", "Use the 1.3B model, or quantised files", "text", "For Wan 2.1: `--task t2v-1.3B`. Or run 14B in ComfyUI or WanGP at 8 bit or as GGUF, on 8 to 16 GB.", "Quality, or another program."),
		},
		Sources: []string{"https://github.com/Wan-Video/Wan2.1/blob/main/wan/text2video.py", "https://github.com/Wan-Video/Wan2.1/issues/205", "https://github.com/Wan-Video/Wan2.2/blob/main/generate.py"},
	}, cause.Card{
		ID: "wan/offloaded-16", Kinds: kit.OnCard, Said: []string{"--convert_model_dtype"}, If: wanLean, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] with all its memory options on",
		Means:    "Offload, T5 on the CPU and 16 bit are on already. While it computes, a whole transformer is still on the card: 28 GB for 14B. The frames come on top. Wan's README asks for 80 GB.",
		Not:      "`--offload_model True --t5_cpu --convert_model_dtype`: the command has them already.",
		Cures: []cause.Cure{
			kit.Cure("use_smaller_model", "Run it quantised, or use the 5B model", "text", "ComfyUI and WanGP can run 14B at 8 bit or as GGUF on 8 to 16 GB. Wan's own `--task ti2v-5B` (another checkpoint) needs 24 GB.", "Quality, or another program."),
			{Fix: "multi_gpu", Title: "Split it over several cards", Kind: "config", Text: "torchrun --nproc_per_node=2 generate.py ... --dit_fsdp --t5_fsdp --ulysses_size 2", Told: "Put your own options in place of the dots, without `--t5_cpu` and `--convert_model_dtype`.", Cost: "The cards."},
		},
		Sources: []string{"https://github.com/Wan-Video/Wan2.2/blob/main/README.md", "https://github.com/Wan-Video/Wan2.2/blob/main/generate.py"},
	}, cause.Card{
		ID: "wan/decode", Kinds: kit.OnCard, Said: []string{"wan/modules/vae"}, If: func(c *ledger.Case) bool { return c.In("wan") && !kit.Training(c) && !ledger.Crowded(c) },
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory in the VAE, before or after the video was computed",
		Means: "The traceback is in Wan's VAE, which decodes the finished latents (or encodes the input image). It works a few frames at a time, so the picture size counts most.[[ {slack} is reserved but unused: left over from the transformer.]]",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", If: func(c *ledger.Case) bool { return !c.Near("--t5_cpu") }, Title: "Move everything else off the GPU first", Told: "Add `--t5_cpu` to your command, and take out `--offload_model False`. On one GPU offloading is the default: the transformer then leaves the GPU before the VAE decodes. With several GPUs add `--offload_model True`.", Cost: "Slower; RAM for the weights."},
			{Fix: "max_split_size", If: func(c *ledger.Case) bool { return c.Slack.Bytes > 1<<30 }, Title: "Let PyTorch give back unused blocks", Kind: "env", Text: "export PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.6,max_split_size_mb:128", Cost: "Sometimes slower."},
			{Fix: "lower_resolution", Title: "Use a smaller size", Told: "`--size 832*480` is the smallest that the 14B and 1.3B models are made for. Close programs that use the GPU as well.", Cost: "Less detail."},
			kit.Cure("use_smaller_model", "Or decode in tiles, in ComfyUI or WanGP", "text", "Both run the same weights and can decode in tiles.", "Another program."),
		},
		Sources: []string{"https://github.com/Wan-Video/Wan2.1/blob/main/wan/modules/vae.py", "https://github.com/Wan-Video/Wan2.1/blob/main/wan/text2video.py"},
	}, cause.Card{
		ID: "wan/small-offloaded", Kinds: kit.OnCard, Said: []string{"--task t2v-1.3B", "task='t2v-1.3B'"}, If: func(c *ledger.Case) bool { return wanLean(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] with its smallest model and all memory options on",
		Means:    "Offload and T5 on the CPU are on already, with the 1.3B model. By Wan's README that takes 8.2 GB for 81 frames at 480p. Fewer frames need less.",
		Not:      "`--offload_model True --t5_cpu`: the command has them already.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Make fewer frames", Steps: wanFrames, Cost: "A shorter clip."},
			{Fix: "half_precision", Title: "Load the transformer at 16 bit", Told: "In wan/text2video.py, where the model is created:", Kind: "python", Text: "self.model = WanModel.from_pretrained(checkpoint_dir, torch_dtype=torch.bfloat16)", Cost: "Hardly any loss of quality."},
			kit.Cure("use_smaller_model", "Run it in ComfyUI or WanGP", "text", "Both run the same model at 8 bit or as GGUF, and decode in tiles: 6 GB are enough.", "Another program."),
			kit.LookAtCard,
		},
		Sources: []string{"https://github.com/Wan-Video/Wan2.1/blob/main/README.md", "https://github.com/Wan-Video/Wan2.1/blob/main/wan/text2video.py"},
	}, cause.Card{
		ID: "wan/ram", Kinds: kit.OffRAM, If: func(c *ledger.Case) bool { return c.In("wan") && !kit.Training(c) }, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM) while it loaded or offloaded its weights",
		Means:    "All weights pass through RAM: T5 11 GB, 14B 28 GB at 16 bit or 57 at 32. Wan 2.2's A14B has two of them. `--offload_model True` and `--t5_cpu` keep them there; with several processes each has its own copy.",
		Not:      "`--offload_model`, `--t5_cpu`: they move weights from the card into RAM.",
		Cures: []cause.Cure{
			kit.Only(when.Not(wanSmallest), cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller model, or quantised files", Told: "Wan 2.2: `--task ti2v-5B`; Wan 2.1: `--task t2v-1.3B` (other checkpoints). Or run 14B in ComfyUI or WanGP at 8 bit or as GGUF.", Cost: "Quality, or another program."}),
			kit.ManagePage, kit.AddSwap,
			{Fix: "raise_memory_limit", Title: "Use a machine with more RAM", Told: "64 GB for one 14B model, 128 GB for A14B. In Docker and WSL raise the limit; with torchrun start fewer processes.", Cost: "Money."},
		},
		Sources: []string{"https://github.com/Wan-Video/Wan2.1/blob/main/wan/text2video.py", "https://github.com/Wan-Video/Wan2.2/blob/main/README.md"},
	}, cause.Card{
		ID: "wan/generate", Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return c.In("wan") && !kit.Training(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]]",
		Not:      "More cards without `--dit_fsdp --t5_fsdp`: then each card holds the whole model.",
		Means:    "Wan's own script needs a lot: T5 takes 11 GB, the 14B transformer 28 GB at 16 bit or 57 at 32. With offload and T5 on the CPU the 1.3B model needs 8.2 GB. For 14B Wan 2.2 asks for 80 GB.",
		Cures: []cause.Cure{
			kit.Cure("lowvram_mode", "Offload the model, keep T5 on the CPU", "config", "--offload_model True --t5_cpu", "Slower; RAM for the weights."),
			{Fix: "lower_resolution", Title: "Use 480p and fewer frames", Told: "The default is 81 frames. The 5B model of Wan 2.2 has no 480p; lower only its frames.", Kind: "config", Text: "--size 832*480 --frame_num 49", Cost: "A shorter or smaller clip."},
			kit.Cure("use_smaller_model", "Use the 1.3B model, or quantised files", "text", "For Wan 2.1: `--task t2v-1.3B`. Or run 14B in ComfyUI or WanGP at 8 bit or as GGUF, on 8 to 16 GB.", "Quality, or another program."),
		},
		Sources: []string{"https://github.com/Wan-Video/Wan2.1/blob/main/README.md", "https://github.com/Wan-Video/Wan2.1/blob/main/generate.py"},
	}),
}

// HunyuanVideo is Tencent's script.
var HunyuanVideo = program.Program{
	Remedies: pictures("vae_tiling"), // it is on by itself
	Name:     "hunyuanvideo", Edits: "code", Language: "python", Shown: "HunyuanVideo", Work: "video-generation",
	Proofs:  []string{"HunyuanVideo/hyvideo/", "HunyuanVideo/sample_video.py", "hyvideo/", "HunyuanVideo/", "--embedded-cfg-scale", "--flow-reverse"},
	Like:    []*program.Program{&Pictures},
	Sources: program.Sources{"HunyuanVideo/hyvideo/config.py": "--video-size --video-length --use-cpu-offload --use-fp8 --dit-weight --ulysses-degree"},
	Steps: kit.Steps{
		"lowvram_mode":     step.Paste("config", "--use-cpu-offload"),
		"cpu_offload":      step.Paste("config", "--use-cpu-offload"),
		"lower_resolution": step.Paste("config", "--video-size 544 960 --video-length 65"),
		"use_lower_quant":  step.Paste("config", "--use-fp8 --dit-weight ckpts/hunyuan-video-t2v-720p/transformers/mp_rank_00_model_states_fp8.pt"),
	},
	Cards: kit.Cards(
		cause.Card{
			ID: "hunyuanvideo/parallel", Kinds: kit.OnCard, Said: []string{"--ulysses-degree", "--ring-degree", "ulysses_degree"}, If: func(c *ledger.Case) bool { return c.In("hunyuanvideo") && !kit.Training(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]]: every card holds the whole model",
			Means:    "`--ulysses-degree` and `--ring-degree` split the work over the cards, not the weights. Each card holds the transformer (26 GB at 16 bit) and the Llama text encoder (16 GB).",
			Not:      "More cards alone: each one holds all weights.",
			Cures: []cause.Cure{
				{Fix: "cpu_offload", Title: "Run on one card with CPU offload", Told: "Start it without torchrun and the two degrees; keep your other options:", Steps: hunyuanAlone, Cost: "Slower; 60 GB of RAM."},
				hunyuanFP8, hunyuanElsewhere,
			},
			Sources: []string{"https://github.com/Tencent-Hunyuan/HunyuanVideo/blob/main/README.md", "https://github.com/Tencent-Hunyuan/HunyuanVideo/issues/299"},
		},
		cause.Card{
			ID: "hunyuanvideo/generate", Kinds: kit.OnCard, Said: []string{"HunyuanVideo/", "hyvideo/", "sample_video.py", "--embedded-cfg-scale", "--flow-reverse", "--use-cpu-offload", "--use-fp8"}, If: func(c *ledger.Case) bool { return c.In("hunyuanvideo") && !kit.Training(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]]",
			Means:    "The transformer has 26 GB at 16 bit and the Llama text encoder 16; both are on the card by default. Tencent asks for 60 GB for 129 frames at 720x1280, and 45 GB at 544x960; fp8 saves about 10 of them.",
			Cures: []cause.Cure{
				{Fix: "cpu_offload", Title: "Turn on CPU offload", If: kit.Without("--use-cpu-offload"), Kind: "config", Text: "--use-cpu-offload", Cost: "Slower; 60 GB of RAM."},
				{Fix: "lower_resolution", Title: "Lower size and length", Steps: hunyuanLength, Cost: "A shorter or smaller clip."},
				hunyuanFP8, hunyuanElsewhere,
			},
			Sources: []string{"https://github.com/Tencent-Hunyuan/HunyuanVideo/blob/main/README.md"},
		},
	),
}

var (
	hunyuanFP8 = cause.Cure{If: kit.Without("--use-fp8"), Fix: "use_lower_quant", Title: "Use the fp8 weights", Kind: "config", Text: "--use-fp8 --dit-weight ckpts/hunyuan-video-t2v-720p/transformers/mp_rank_00_model_states_fp8.pt --use-cpu-offload", Cost: "About 10 GB less; a download."}

	hunyuanElsewhere = cause.Cure{Fix: "upgrade_version", Title: "Run it in ComfyUI or WanGP", Told: "Both can run the same model with quantised weights and tiles on 8 to 24 GB.", Cost: "Another program to set up."}
)

// hunyuanLength is 544 x 960, or half the frames of who has that already; 4n+1.
func hunyuanLength(c *ledger.Case) []step.Step {
	frames := 129
	if own := ledger.IntSetting(c, "video_length"); own > 0 {
		frames = own
	}
	return []step.Step{{Kind: "config", Text: "--video-size 544 960 --video-length " + strconv.Itoa(max(frames/8*4+1, 5))}}
}

// hunyuanAlone is the reader's own command on one card.
func hunyuanAlone(c *ledger.Case) []step.Step {
	own := step.Edited(c, step.Typed(c, "sample_video.py"), step.Change{Flag: "--nproc_per_node", Drop: true}, step.Change{Flag: "--ulysses-degree", Drop: true}, step.Change{Flag: "--ring-degree", Drop: true}, step.Change{Flag: "--use-cpu-offload"})
	return []step.Step{{Kind: "shell", Text: "python sample_video.py " + own}}
}

// cogOffload tells whether layers are offloaded already.
func cogOffload(c *ledger.Case) map[string]string {
	if c.Near("enable_sequential_cpu_offload()") {
		return map[string]string{"without": "", "with": "Sequential offload, which needs least, is on already: so it is the frames at work."}
	}
	return map[string]string{"without": "Without them it needs about three times as much.", "with": ""}
}

// CogVideo is its own scripts on diffusers.
var CogVideo = program.Program{
	Remedies: pictures("use_lower_quant"),
	Name:     "cogvideo", Shown: "CogVideoX", Work: "video-generation", Edits: "code",
	Proofs: []string{"CogVideo/", "cogvideox_transformer", "pipelines/cogvideo/", "CogVideoXPipeline"},
	Like:   []*program.Program{&Pictures},
	Steps: kit.Steps{
		"lowvram_mode":     step.Paste("python", "pipe.enable_sequential_cpu_offload()   # and no pipe.to(\"cuda\")"),
		"cpu_offload":      step.Paste("python", "pipe.enable_model_cpu_offload()   # and no pipe.to(\"cuda\")"),
		"vae_tiling":       step.Paste("python", "pipe.vae.enable_slicing()\npipe.vae.enable_tiling()"),
		"lower_resolution": step.Paste("python", "pipe(prompt, num_frames=49)   # CogVideoX 1.5: 81 at most, 8n+1"),
	},
	Cards: kit.Cards(cause.Card{
		ID: "cogvideo/generate", Kinds: kit.OnCard, Said: []string{"CogVideo/", "pipelines/cogvideo/", "cogvideox", "CogVideoX", "enable_sequential_cpu_offload()"}, If: func(c *ledger.Case) bool { return c.In("cogvideo") && !kit.Training(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]]",
		Means:    "The memory figures in CogVideoX's README assume CPU offload, VAE slicing and VAE tiling.[[ {without}]][[ {with}]]",
		Figures:  cogOffload,
		Not:      "Offload after `pipe.to(\"cuda\")`: everything is on the card by then.",
		Cures: []cause.Cure{
			kit.Only(func(c *ledger.Case) bool { return c.Near("enable_sequential_cpu_offload()") }, cause.Cure{Fix: "lower_resolution", Title: "Make fewer frames", Kind: "python", Text: "pipe(prompt, num_frames=25)   # with your other arguments", Cost: "A shorter clip."}),
			kit.Only(func(c *ledger.Case) bool { return c.Near("enable_sequential_cpu_offload()") }, cause.Cure{Fix: "use_lower_quant", Title: "Quantise the transformer (torchao)", Told: "CogVideo's inference/cli_demo_quantization.py runs 5B at int8, and fp8 from RTX 40 on.", Cost: "Slight loss of quality."}),
			kit.Only(func(c *ledger.Case) bool { return !c.Near("enable_sequential_cpu_offload()") }, kit.Cure("cpu_offload", "Turn on CPU offload, VAE slicing and tiling", "python", "pipe.enable_sequential_cpu_offload()   # faster, with more memory: enable_model_cpu_offload()\npipe.vae.enable_slicing()\npipe.vae.enable_tiling()", "Slower.")),
			kit.Only(func(c *ledger.Case) bool { return !strings.Contains(strings.ToLower(c.ModelName()), "i2v") }, kit.Cure("use_smaller_model", "Use the 2B model at float16", "python", "pipe = CogVideoXPipeline.from_pretrained(\"THUDM/CogVideoX-2b\", torch_dtype=torch.float16)", "Quality.")),
		},
		Sources: []string{"https://github.com/THUDM/CogVideo/blob/main/README.md", "https://github.com/THUDM/CogVideo/blob/main/inference/cli_demo.py"},
	}),
}

// OmniGen edits pictures by words.
var OmniGen = program.Program{
	Remedies: pictures("vae_tiling", "use_lower_quant"),
	Name:     "omnigen", Language: "python", Shown: "OmniGen", Work: "image-generation", Edits: "code",
	Proofs: []string{"OmniGen/OmniGen/", "-packages/OmniGen/", "OmniGenPipeline", "OmniGen/pipeline.py", "OmniGen/model.py"},
	Like:   []*program.Program{&Pictures},
	Steps: kit.Steps{
		"cpu_offload":      step.Paste("python", "images = pipe(prompt=prompt, input_images=inputs, offload_model=True)"),
		"lowvram_mode":     step.Paste("python", "images = pipe(prompt=prompt, input_images=inputs, offload_model=True, separate_cfg_infer=True, use_kv_cache=True, offload_kv_cache=True)"),
		"lower_resolution": step.Paste("python", "images = pipe(prompt=prompt, input_images=inputs, max_input_image_size=512, height=768, width=768)"),
	},
	Cards: kit.Cards(cause.Card{
		ID: "omnigen/generate", Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return c.In("omnigen") && !kit.Training(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]]",
		Means:    "Each input image becomes part of the prompt at its own size, and attention grows with the square of that. By OmniGen's table the defaults need 9 GB for text, 12 with one image and 13 with two. If it uses much more, results of an earlier call may still be there.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Lower the size of input images and result", Told: "512 instead of 1024 pixels needs a quarter of the image tokens.", Kind: "python", Text: "images = pipe(prompt=prompt, input_images=inputs, max_input_image_size=512, height=768, width=768)", Cost: "Less detail kept."},
			{Fix: "cpu_offload", Title: "Offload the model, compute guidance separately", Kind: "python", Text: "images = pipe(prompt=prompt, input_images=inputs, offload_model=True, separate_cfg_infer=True, offload_kv_cache=True)", Cost: "Two to three times slower; 3 to 6 GB by OmniGen's table."},
			{Fix: "restart_session", Title: "If only a later call fails: update OmniGen", Told: "Newer code frees its cache. Or restart the program between images.", Cost: "Some seconds."},
		},
		Sources: []string{"https://github.com/VectorSpaceLab/OmniGen/blob/main/docs/inference.md"},
	}),
}
