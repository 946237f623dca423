package addon

// Extensions are those of AUTOMATIC1111's web UI and of its forks.
var Extensions = Set{
	folders: []string{"extensions/", "extensions-builtin/"}, inner: []string{"/modules/", "/repositories/", "/backend/", "/ldm_patched/"},
	repositories: []string{
		"Mikubill/sd-webui-controlnet", "Bing-su/adetailer", "pkuliyi2015/multidiffusion-upscaler-for-automatic1111", "continue-revolution/sd-webui-animatediff",
		"Uminosachi/sd-webui-inpaint-anything", "continue-revolution/sd-webui-segment-anything", "Gourieff/sd-webui-reactor", "NVIDIA/Stable-Diffusion-WebUI-TensorRT", "Coyote-A/ultimate-upscale-for-automatic1111",
		"thygate/stable-diffusion-webui-depthmap-script", "picobyte/stable-diffusion-webui-wd14-tagger", "hako-mikan/sd-webui-regional-prompter", "hako-mikan/sd-webui-supermerger",
	},
	packs: extensions,
}

const (
	noMedvram   = "`--medvram`, `--lowvram` do not move this model. "
	annotations = "It failed in the preprocessor that makes ControlNet's map. Its memory grows with the preprocessor's resolution, not with the size of the result."
)

var extensions = []Pack{
	{
		Folder: "sdwebuicontrolnet", At: []string{"annotator", "preprocessor", "processor.py", "detectmap"}, Through: true, Part: "ControlNet's preprocessor",
		Means: annotations, Not: "Fewer steps: it failed in the preprocessor.",
		Knobs: []Knob{
			{"lower_resolution", "Lower Preprocessor Resolution to 512", "In the unit: Pixel Perfect off, Preprocessor Resolution 512; scale the input image down to about 1024.", "A coarser map."},
			{"use_smaller_model", "Use a lighter preprocessor", "depth_midas in place of depth_zoe or depth_leres++, openpose in place of dw_openpose_full, seg_ufade20k in place of seg_ofcoco.", "A coarser map."},
			{"restart_session", "Make the map once and save it", "Run the preprocessor alone (the explosion button), save the map, then use it with preprocessor none.", "One more step."},
		},
	},
	{
		Folder: "forgelegacypreprocessors", Through: true, Part: "ControlNet's preprocessor",
		Means: annotations, Not: "Fewer steps: it failed in the preprocessor.",
		Knobs: []Knob{
			{"lower_resolution", "Lower Preprocessor Resolution to 512", "In the unit: Pixel Perfect off, Preprocessor Resolution 512; scale the input image down to about 1024.", "A coarser map."},
			{"use_smaller_model", "Use a lighter preprocessor", "depth_midas in place of depth_zoe or depth_leres++, openpose in place of dw_openpose_full, seg_ufade20k in place of seg_ofcoco.", "A coarser map."},
			{"restart_session", "Make the map once and save it", "Run the preprocessor alone (the explosion button), save the map, then use it with preprocessor none.", "One more step."},
		},
	},
	{
		Folder: "adetailer", Through: true, Part: "ADetailer",
		Means: "ADetailer inpaints each face that it found, by default at the size of the whole image after Hires. fix, and its detector is on the card as well.", Not: "Fewer steps, a lower batch count: each pass needs the same.",
		Knobs: []Knob{
			{"lower_resolution", "Inpaint faces at 512 x 512", "ADetailer, Inpainting: Inpaint only masked on, Use separate width/height 512 x 512 (SDXL 832 or 1024); padding 32.", "Less detail in large faces."},
			{"cpu_offload", "Run the detector on the CPU", "Add `--use-cpu adetailer` to COMMANDLINE_ARGS.", "A second for each image."},
			{"lowvram_mode", "", "", ""},
		},
	},
	{
		Folder: "multidiffusionupscalerforautomatic1111", At: []string{"tilevae", "vae_tile", "vae_optimize", "VAEHook"}, Through: true, Part: "Tiled VAE",
		Means: "Tiled VAE was on, and one tile did not fit. It proposes tile sizes by the size of the card, not by what is free.", Not: "Fewer steps: it failed in the VAE.",
		Knobs: []Knob{
			{"vae_tiling", "Lower the tile sizes", "Tiled VAE: half of the present Encoder Tile Size and Decoder Tile Size (not below 256 and 48); Fast Decoder on.", slower},
			{"lowvram_mode", "", "", ""},
			{"lower_resolution", "Upscale in two passes", "A lower factor in each.", "One more step."},
		},
	},
	{
		Folder: "multidiffusionupscalerforautomatic1111", Through: true, Part: "Tiled Diffusion",
		Means: "Tiled Diffusion was on: it samples the image in tiles, several of them in one batch, and ControlNet's maps for the whole image are on the card.", Not: "Fewer steps: each needs the same.",
		Knobs: []Knob{
			{"lower_batch_size", "Lower Latent tile batch size to 1", "Tiled Diffusion: Latent tile batch size 1 (4 by default), Latent tile width and height 64.", slower},
			{"cpu_offload", "Turn on Move ControlNet tensor to CPU", "And Noise Inversion off.", slower},
			{"vae_tiling", "Turn on Tiled VAE as well", "Decoder Tile Size 64.", slower},
		},
	},
	{
		Folder: "sdwebuianimatediff", Through: true, Part: "AnimateDiff",
		Means: "AnimateDiff samples Context batch size frames at once (16 for the models of SD 1.5), both with and without the prompt: 32 images in one step with the default.", Not: "Fewer steps; a shorter animation alone, once it is longer than the context.",
		Knobs: []Knob{
			{"lower_resolution", "Lower the resolution", "Smaller width and height (SD 1.5: not above 512 x 512), Hires. fix off; upscale the frames afterwards.", "Less detail."},
			{"lower_batch_size", "Lower Context batch size to 8", "And Number of frames 16 or less.", "Less steady motion."},
			{"efficient_attention", "", "Also Settings, Optimizations: Pad prompt/negative prompt to be same length.", ""},
		},
	},
	{
		Folder: "sdwebuisegmentanything", Part: "Segment Anything",
		Means: "sam_vit_h, the largest SAM, has 2.6 GB of weights, and masks are made at the full size of the image.", Not: noMedvram,
		Knobs: []Knob{
			{"cpu_offload", "Run SAM on the CPU", "In its panel: Use CPU for SAM.", "Half a minute for each image."},
			{"use_smaller_model", "Use a smaller SAM", "sam_vit_b_01ec64.pth in place of sam_vit_h_4b8939.pth; then Unload all models from memory.", "Coarser edges."},
			{"lower_resolution", "Scale the image down first", "To 1024 to 1500 pixels.", "Coarser edges."},
		},
	},
	{
		Folder: "sdwebuireactor", Part: "ReActor",
		Means: "ReActor's swapper runs in ONNX Runtime and its face restorer in PyTorch, beside Stable Diffusion on the card.", Not: noMedvram,
		Knobs: []Knob{
			{"cpu_offload", "Run the face swap on the CPU", "ReActor, tab Settings: Execution Provider CPU; restart the web UI.", "A second for each face."},
			{"use_smaller_model", "Turn off its restorer and upscaler", "Restore Face None, Upscaler None; use tab Extras afterwards.", "Softer faces."},
		},
	},
	{
		Folder: "stablediffusionwebuitensorrt", Through: true, Part: "the TensorRT extension",
		Means: "An export loads the whole UNet at 32 bit, and TensorRT tries kernels on the card beside it; a dynamic profile reserves memory for its largest size when it is used.", Not: "`--medvram`, `--lowvram`: its readme says that they make exports fail.",
		Knobs: []Knob{
			{"lower_resolution", "Export a smaller profile", "TensorRT Exporter: Preset 512x512 | Batch Size 1 (Static), or static shapes with Max batch-size 1 and the size that you use.", "Other image sizes need another engine."},
			{"restart_session", "Restart, and export before making an image", "Settings: SD VAE and SD Unet on Automatic or None.", "Free."},
		},
	},
	{
		Folder: "ultimateupscaleforautomatic1111", Through: true, Part: "Ultimate SD Upscale",
		Means: "The script first enlarges the whole image with an upscaler, then redraws it tile by tile; one of these did not fit.", Not: "Fewer steps: each needs the same.",
		Knobs: []Knob{
			{"vae_tiling", "Lower the tile sizes", "Tile width and Tile height 512, Padding 32, Batch size 1; Settings, Upscaling: Tile size for all ESRGAN upscalers 128.", slower},
			{"use_smaller_model", "Turn ControlNet off", "Or tick Low VRAM in its unit.", "Less detail."},
			{"lowvram_mode", "", "", ""},
		},
	},
	{
		Folder: "stablediffusionwebuidepthmapscript", Part: "the depth map script",
		Means: "The depth model computes at its net size; BOOST runs it many times at higher sizes, with a second network.", Not: noMedvram,
		Knobs: []Knob{
			{"lower_resolution", "Turn BOOST off, lower the net size", "Match net size to input size off, Net width and Net height 448.", "A coarser map."},
			{"cpu_offload", "Set Compute on to CPU", "In the same tab.", "Minutes for each image."},
			{"use_smaller_model", "Use a smaller model", "midas_v21_small or dpt_hybrid in place of dpt_beit_large_512.", "A coarser map."},
		},
	},
	{
		Folder: "stablediffusionwebuiwd14tagger", Part: "the tagger",
		Means: "The tagger runs in TensorFlow or ONNX Runtime beside Stable Diffusion; by default TensorFlow reserves most of the card.", Not: noMedvram,
		Knobs: []Knob{
			{"restart_session", "Restart, and tag before making images", "Unload the interrogator models afterwards.", "Free."},
			{"cpu_offload", "Run the tagger on the CPU", "Add `--use-cpu interrogate` to COMMANDLINE_ARGS.", "Seconds for each image."},
		},
	},
	{
		Folder: "sdwebuiregionalprompter", Through: true, Part: "a step with Regional Prompter",
		Means: "In the mode Latent each region is a further pass through the network, all in one batch; in the mode Attention they share one.", Not: "Fewer steps: each needs the same.",
		Knobs: []Knob{
			{"lower_batch_size", "Set Generation Mode to Attention", "Or fewer regions in the mode Latent; Batch size 1.", "All regions share LoRAs."},
			{"lower_resolution", "Lower the resolution", "SD 1.5: not above 512 to 768 pixels, Hires. fix off; upscale afterwards.", "One more step."},
			{"lowvram_mode", "", "", ""},
		},
	},
	{
		Folder: "sdwebuisupermerger", Weights: true, Part: "SuperMerger",
		Means: "Merging holds two or three checkpoints at once beside the one that is loaded.", Not: "A smaller image: it failed while merging.",
		Knobs: []Knob{
			{"cpu_offload", "Merge in RAM", "Untick \"use cuda\" in the save settings; RAM then holds the checkpoints (16 GB for SDXL).", slower},
			{"half_precision", "Use fp16 files", "Merge pruned fp16 .safetensors, and save at fp16.", "No visible difference."},
			{"restart_session", "Restart, and merge before making an image", "Close the web UI's window and start it again.", "Free."},
		},
	},
}
