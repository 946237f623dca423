package apps

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	uis "github.com/oomdoc/oomdoc/rules/program/torch/pictures"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Pictures is what programs share that make images and videos.
var Pictures = program.Program{
	Edits: "flags", Language: "python",
	Titles: map[string]string{"lowvram_mode": "Turn its memory saving on", "cpu_offload": "Keep parts of the model in RAM"},
	Steps: steps{
		"use_smaller_model":   step.Paste("text", "Choose a smaller model: SD 1.5 instead of SDXL, SDXL instead of Flux, 2B or 1.3B instead of 14B."),
		"efficient_attention": step.Paste("text", "Install xformers into its Python, or update to PyTorch 2, whose own attention writes no score matrix."),
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
	for id, list := range out {
		out[id] = slices.DeleteFunc(list, func(r cause.Remedy) bool { return slices.Contains(without, r.Fix) })
	}
	return out
}

func training(c *ledger.Case) bool { return c.Training() }

// Wan2GP is deepbeepmeep's page for many video models.
var Wan2GP = program.Program{
	Name: "wan2gp", Carries: uis.Nested, Edits: "flags", Language: "python", Shown: "WanGP", Work: "video-generation",
	Proofs:  []string{"wgp.py", "Wan2GP/", "Memory Management for the GPU Poor", "-packages/mmgp/"},
	Like:    []*program.Program{&Pictures},
	Sources: program.Sources{"Wan2GP/docs/CLI.md": "--profile --preload --attention --perc-reserved-mem-max --fp16 --quantize-transformer"},
	Steps: steps{
		"lowvram_mode":        leanerProfile,
		"cpu_offload":         step.Paste("shell", "python wgp.py --profile 5 --perc-reserved-mem-max 0.3"),
		"lower_resolution":    step.Paste("ui", "Fewer frames first (81, then 49), then 480p; longer clips with Sliding Windows"),
		"vae_tiling":          step.Paste("ui", "Configuration, Performance: VAE Tiling on, at the smallest tile"),
		"use_lower_quant":     step.Paste("shell", "python wgp.py --quantize-transformer True --profile 4"),
		"use_smaller_model":   step.Paste("ui", "Choose the 1.3B or 5B model of the family"),
		"efficient_attention": step.Paste("shell", "python wgp.py --attention sage2   # or sdpa, which needs nothing installed"),
	},
	Cards: cards(
		cause.Card{
			ID: "wan2gp/ram", Kinds: offRAM, Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "ran out of the computer's own memory, not the card's",
			Means:    "WanGP keeps whole models in RAM so that cards of 6 GB do; profiles 1 and 3 want the most, and pinned (reserved) memory counts on top.",
			Not:      "Fewer frames: they are work for the card.",
			Cures: []cause.Cure{
				cure("lowvram_mode", "Use the profile with least RAM", "shell", "python wgp.py --profile 5 --perc-reserved-mem-max 0.3", "Slower."),
				managePage,
			},
			Sources: []string{"https://github.com/deepbeepmeep/Wan2GP/blob/main/docs/TROUBLESHOOTING.md", "https://github.com/deepbeepmeep/Wan2GP/blob/main/docs/CLI.md"},
		},
		cause.Card{
			ID: "wan2gp/pinned", Kinds: []fact.Kind{fact.CUDAError}, If: func(c *ledger.Case) bool { return c.In("wan2gp") && c.F().Requested == nil }, Cause: cause.Unknown, Weight: cause.Strong,
			Headline: "got a bare CUDA out-of-memory error: RAM as likely as the card",
			Means:    "It has no sizes. WanGP itself takes such an error for RAM: pinned (reserved) memory for swapped weights was refused; a full card would say \"Tried to allocate\". The log does not prove it. The frames name whatever call came next, even one that needs nothing, and a second exception while it cleans up is fallout.",
			Not:      "Fewer frames or VAE tiles alone: they are work for the card. Trying again without a restart: the CUDA context stays broken.",
			Cures: []cause.Cure{
				{Fix: "restart_session", Title: "Restart WanGP, one model for each start", Told: "Close its window, see in Task Manager or `nvidia-smi` that python is gone, start it again. After switching models it is often enough.", Cost: "Free."},
				{Fix: "raise_pagefile", Title: "More RAM to promise", Told: "Windows: Win+R, `sysdm.cpl`, Advanced, Performance: Settings, Advanced, Virtual memory: 32768 to 65536 MB on an SSD, restart; close the browser. Linux: 32 GB of swap.", Cost: "Disk space."},
				{Fix: "lowvram_mode", Title: "Pin less, the leanest profile", Kind: "shell", Text: "python wgp.py --profile 5 --perc-reserved-mem-max 0.2", Cost: "Slower."},
				{Fix: "upgrade_version", Title: "It began with a new driver: go back", Told: "Where the same settings worked before: the NVIDIA driver of that time (581.80 in place of 591.44 in one case), clean installation.", Cost: "Half an hour."},
			},
			Later:   "If the same settings worked before, ask what changed: a new NVIDIA driver has been the reason; go back to the one before.",
			Sources: []string{"https://github.com/deepbeepmeep/Wan2GP/blob/main/wgp.py", "https://github.com/deepbeepmeep/Wan2GP/blob/main/docs/CLI.md", "https://github.com/deepbeepmeep/Wan2GP/issues/1215"},
		},
		cause.Card{
			ID: "wan2gp/decode", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"vae.decode(", "VAE_tile_size", "modules/vae.py", "spatial_tiled_decode", "vae.encode("}, If: func(c *ledger.Case) bool { return c.In("wan2gp") }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of graphics memory[[ ({total})]] in the VAE, not in a step",
			Means:    "The VAE turns an image into a latent before the steps, and the finished clip into frames after them[[: {asked} more was refused]]. It grows with the pixels of a frame, and the tile size is chosen by the card's size, whatever else is on it.",
			Not:      "Another profile, a quantised model: the model of the steps is not what is short here.",
			Cures: []cause.Cure{
				cure("vae_tiling", "The smallest tiles", "ui", "Configuration, Performance: VAE Tiling: the last entry (128 x 128) in place of Auto", "Slower; seams are rare."),
				{Fix: "lower_resolution", Title: "480p, or fewer frames", Told: "The clip can be enlarged afterwards by its Spatial Upsampling.", Cost: "Detail."},
				lookAtCard,
			},
			Sources: []string{"https://github.com/deepbeepmeep/Wan2GP/blob/main/wgp.py", "https://github.com/deepbeepmeep/Wan2GP/blob/main/docs/TROUBLESHOOTING.md"},
		},
		cause.Card{
			ID: "wan2gp/generate", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: func(c *ledger.Case) bool { return c.In("wan2gp") }, Cause: cause.BatchTooLarge, Weight: cause.Likely,
			Headline: "ran out of graphics memory[[ ({total})]]",
			Means:    "It failed on the card[[: {asked} more with {mine} of {total} its own]]. WanGP's profiles decide what stays there: 1 and 3 the whole model, 2 and 4 (the default) a part, 4.5 and 5 least.[[ Here it was {profile}.]] The rest of the card is for the work, which grows with frames times pixels.",
			Figures:  func(c *ledger.Case) map[string]string { return map[string]string{"profile": profile(c)} },
			Cures: []cause.Cure{
				{Fix: "lowvram_mode", Title: "The next leaner profile, nothing preloaded", Told: "Or in the page: Configuration, Performance, Memory Profile.", Steps: leanerProfile, Cost: "Slower.", If: func(c *ledger.Case) bool { return profile(c) != "5" }},
				{Fix: "lower_resolution", Title: "Fewer frames, then 480p", Told: "Frames 49 instead of 81 (0.6 of the work); longer clips with Sliding Windows.", Cost: "A shorter or smaller clip."},
				cure("close_other_apps", "Let the browser draw without the card", "text", "WanGP's authors count 1 to 5 GB for browsers: turn hardware acceleration off, or use the script for Chrome in its Scripts folder.", "Free."),
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

// leanerProfile is the next profile with less on the card (wgp.py,
// memory_profile_choices), in the reader's own command.
func leanerProfile(c *ledger.Case) []step.Step {
	next := map[string]string{"": "4.5", "1": "2", "2": "4", "3": "4", "3.5": "4", "4": "4.5"}[profile(c)]
	if next == "" {
		next = "5"
	}
	own := step.Typed(c, "wgp.py")
	return []step.Step{{Kind: "shell", Text: "python wgp.py " + step.Edited(c, own, step.Change{Flag: "--profile", Value: next}, step.Change{Flag: "--preload", Drop: true})}}
}

// Wan is the official script.
var Wan = program.Program{
	Remedies: pictures("vae_tiling", "use_lower_quant"),
	Name:     "wan", Shown: "Wan", Work: "video-generation",
	Proofs:  []string{"Wan2.1/generate.py", "Wan2.2/generate.py", "wan/text2video.py", "wan/image2video.py", "wan/textimage2video.py", "wan/first_last_frame2video.py"},
	Like:    []*program.Program{&Pictures},
	Sources: program.Sources{"Wan2.1/generate.py": "--task --size --ckpt_dir --offload_model --t5_cpu --frame_num --dit_fsdp --t5_fsdp --ulysses_size --nproc_per_node"},
	Steps: steps{
		"lowvram_mode":      step.Paste("config", "--offload_model True --t5_cpu"),
		"cpu_offload":       step.Paste("config", "--offload_model True --t5_cpu"),
		"lower_resolution":  step.Paste("config", "--size 832*480 --frame_num 49"),
		"use_smaller_model": step.Paste("shell", "python generate.py --task t2v-1.3B --size 832*480 --ckpt_dir ./Wan2.1-T2V-1.3B --offload_model True --t5_cpu"),
		"multi_gpu":         step.Paste("shell", "torchrun --nproc_per_node=2 generate.py --task t2v-14B --size 1280*720 --ckpt_dir ./Wan2.1-T2V-14B --dit_fsdp --t5_fsdp --ulysses_size 2"),
	},
	Cards: cards(cause.Card{
		ID: "wan/generate", Kinds: onCard, If: func(c *ledger.Case) bool { return c.In("wan") && !training(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]]",
		Not:      "More cards without `--dit_fsdp --t5_fsdp`: each then holds the whole model.",
		Means:    "Wan's own script keeps everything at 16 bit: 14B is 28 GB of weights, its T5 encoder 11 GB more. With offload and T5 on the processor the 1.3B model needs 8.2 GB; 14B is made for 80 GB cards.",
		Cures: []cause.Cure{
			cure("lowvram_mode", "Offload, T5 on the processor", "config", "--offload_model True --t5_cpu", "Slower; RAM for the weights."),
			cure("lower_resolution", "480p and fewer frames", "config", "--size 832*480 --frame_num 49   # 4n+1", "A shorter or smaller clip."),
			cure("use_smaller_model", "1.3B, or a program with quantised files", "text", "`--task t2v-1.3B`; ComfyUI and WanGP run 14B at 8 bit or GGUF on 8 to 16 GB.", "Quality, or another program."),
		},
		Sources: []string{"https://github.com/Wan-Video/Wan2.1/blob/main/README.md", "https://github.com/Wan-Video/Wan2.1/blob/main/generate.py"},
	}),
}

// HunyuanVideo is Tencent's script.
var HunyuanVideo = program.Program{
	Name: "hunyuanvideo", Edits: "code", Language: "python", Shown: "HunyuanVideo", Work: "video-generation",
	Proofs:  []string{"HunyuanVideo/hyvideo/", "HunyuanVideo/sample_video.py", "hyvideo/", "HunyuanVideo/", "--embedded-cfg-scale", "--flow-reverse"},
	Like:    []*program.Program{&Pictures},
	Sources: program.Sources{"HunyuanVideo/hyvideo/config.py": "--video-size --video-length --use-cpu-offload --use-fp8 --dit-weight --vae-tiling --ulysses-degree"},
	Steps: steps{
		"lowvram_mode":     step.Paste("config", "--use-cpu-offload"),
		"cpu_offload":      step.Paste("config", "--use-cpu-offload"),
		"lower_resolution": step.Paste("config", "--video-size 544 960 --video-length 65"),
		"vae_tiling":       step.Paste("config", "--vae-tiling"),
		"use_lower_quant":  step.Paste("config", "--use-fp8 --dit-weight ckpts/hunyuan-video-t2v-720p/transformers/mp_rank_00_model_states_fp8.pt"),
	},
	Cards: cards(
		cause.Card{
			ID: "hunyuanvideo/parallel", Kinds: onCard, Said: []string{"--ulysses-degree", "--ring-degree", "ulysses_degree"}, If: func(c *ledger.Case) bool { return c.In("hunyuanvideo") && !training(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "ran out of graphics memory[[ ({total})]]: every card holds the whole model",
			Means:    "`--ulysses-degree` and `--ring-degree` split the sequence over the cards, not the weights: the transformer, 26 GB at 16 bit, and its Llama text encoder, 16 more, go to each of them[[; {mine} of {total} were in use on this one]]. A smaller clip cannot help much then: the weights fill the card.",
			Not:      "More cards, a smaller or shorter clip: neither makes the weights smaller.",
			Cures: []cause.Cure{
				{Fix: "cpu_offload", Title: "One card with offload", Told: "Without torchrun and without the two degrees; your other options stay:", Kind: "shell", Text: "python sample_video.py --use-cpu-offload", Cost: "Slower; 60 GB of RAM."},
				hunyuanFP8, hunyuanElsewhere,
			},
			Sources: []string{"https://github.com/Tencent-Hunyuan/HunyuanVideo/blob/main/README.md", "https://github.com/Tencent-Hunyuan/HunyuanVideo/issues/299"},
		},
		cause.Card{
			ID: "hunyuanvideo/generate", Kinds: onCard, If: func(c *ledger.Case) bool { return c.In("hunyuanvideo") && !training(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "ran out of graphics memory[[ ({total})]]",
			Means:    "The transformer is 26 GB at 16 bit and its Llama text encoder 16, both on the card unless told otherwise[[; {mine} of {total} was this process's]]. Tencent states 60 GB for 129 frames at 720x1280, 45 GB at 544x960.",
			Not:      "A quantised text encoder alone: the transformer stays as large.",
			Cures: []cause.Cure{
				{Fix: "cpu_offload", Title: "Offload, smaller and shorter", Kind: "config", Text: "--use-cpu-offload --video-size 544 960 --video-length 65", Cost: "Slower; 60 GB of RAM; a shorter clip."},
				hunyuanFP8, hunyuanElsewhere,
			},
			Sources: []string{"https://github.com/Tencent-Hunyuan/HunyuanVideo/blob/main/README.md"},
		},
	),
}

var (
	hunyuanFP8 = cause.Cure{Fix: "use_lower_quant", Title: "The fp8 weights as well", Kind: "config", Text: "--use-fp8 --dit-weight ckpts/hunyuan-video-t2v-720p/transformers/mp_rank_00_model_states_fp8.pt --use-cpu-offload", Cost: "About 10 GB less; a download."}

	hunyuanElsewhere = cause.Cure{Fix: "upgrade_version", Title: "ComfyUI or WanGP", Told: "Both run the same model with quantised weights and tiles on 8 to 24 GB.", Cost: "Another program to set up."}
)

// CogVideo is its own scripts on diffusers.
var CogVideo = program.Program{
	Remedies: pictures("use_lower_quant"),
	Name:     "cogvideo", Shown: "CogVideoX", Work: "video-generation", Edits: "code",
	Proofs: []string{"CogVideo/", "cogvideox_transformer", "pipelines/cogvideo/", "CogVideoXPipeline"},
	Like:   []*program.Program{&Pictures},
	Steps: steps{
		"lowvram_mode":     step.Paste("python", "pipe.enable_sequential_cpu_offload()   # and no pipe.to(\"cuda\")"),
		"cpu_offload":      step.Paste("python", "pipe.enable_model_cpu_offload()   # and no pipe.to(\"cuda\")"),
		"vae_tiling":       step.Paste("python", "pipe.vae.enable_slicing()\npipe.vae.enable_tiling()"),
		"lower_resolution": step.Paste("python", "pipe(prompt, num_frames=49)   # CogVideoX 1.5: 81 at most, 8n+1"),
	},
	Cards: cards(cause.Card{
		ID: "cogvideo/generate", Kinds: onCard, If: func(c *ledger.Case) bool { return c.In("cogvideo") && !training(c) }, Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of graphics memory[[ ({total})]]",
		Means:    "CogVideoX's table of needs holds with offload, VAE slicing and VAE tiling on. Without them, its README says, the peak is about three times as high.",
		Not:      "Offload after `pipe.to(\"cuda\")`: everything is on the card then.",
		Cures: []cause.Cure{
			cure("cpu_offload", "Turn all three savings on", "python", "pipe.enable_sequential_cpu_offload()   # faster, with more memory: enable_model_cpu_offload()\npipe.vae.enable_slicing()\npipe.vae.enable_tiling()", "Slower."),
			cure("use_smaller_model", "Use the 2B model at float16", "python", "pipe = CogVideoXPipeline.from_pretrained(\"THUDM/CogVideoX-2b\", torch_dtype=torch.float16)", "Quality."),
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
	Steps: steps{
		"cpu_offload":      step.Paste("python", "images = pipe(prompt=prompt, input_images=inputs, offload_model=True)"),
		"lowvram_mode":     step.Paste("python", "images = pipe(prompt=prompt, input_images=inputs, offload_model=True, separate_cfg_infer=True, use_kv_cache=True, offload_kv_cache=True)"),
		"lower_resolution": step.Paste("python", "images = pipe(prompt=prompt, input_images=inputs, max_input_image_size=512, height=768, width=768)"),
	},
	Cards: cards(cause.Card{
		ID: "omnigen/generate", Kinds: onCard, If: func(c *ledger.Case) bool { return c.In("omnigen") && !training(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]]",
		Means:    "Each input image becomes part of the prompt, at the size it has, and attention grows with the square of that. OmniGen's own table: 9, 12 and 13 GB for text, one and two images with its defaults[[; here {mine} was in use]]. Much more than that means attention without a fused kernel (cards before RTX 30), or results of an earlier call that are still there.",
		Not:      "A quantised language model: the images in the prompt are what grows.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Smaller input images, smaller result", Told: "512 instead of 1024: a quarter of the tokens, a sixteenth of written-out attention.", Kind: "python", Text: "images = pipe(prompt=prompt, input_images=inputs, max_input_image_size=512, height=768, width=768)", Cost: "Less detail kept."},
			{Fix: "cpu_offload", Title: "Offload the model, guidance apart", Kind: "python", Text: "images = pipe(prompt=prompt, input_images=inputs, offload_model=True, separate_cfg_infer=True, offload_kv_cache=True)", Cost: "Two to three times slower; 3 to 6 GB by OmniGen's table."},
			{Fix: "restart_session", Title: "First call works, second fails: a fresh process", Told: "Update OmniGen (later code frees its cache), or restart between images.", Cost: "Some seconds."},
		},
		Sources: []string{"https://github.com/VectorSpaceLab/OmniGen/blob/main/docs/inference.md"},
	}),
}
