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
	noMedvram   = "`--medvram`, `--lowvram`: they do not affect this model. "
	annotations = "The preprocessor that makes ControlNet's map failed. Its memory grows with the preprocessor resolution, not with the size of your image."
)

var extensions = []Pack{
	{
		Folder: "sdwebuicontrolnet", At: []string{"annotator", "preprocessor", "processor.py", "detectmap"}, Through: true, Part: "ControlNet's preprocessor",
		Means: annotations, Not: "Fewer steps: it failed in the preprocessor.",
		Knobs: []Knob{
			{"lower_resolution", "Lower Preprocessor Resolution to 512", "In the unit: Pixel Perfect off, Preprocessor Resolution 512. Scale the input image down to about 1024 pixels.", "A coarser map."},
			{"use_smaller_model", "Use a lighter preprocessor", "Take depth_midas instead of depth_zoe or depth_leres++, openpose instead of dw_openpose_full, seg_ufade20k instead of seg_ofcoco.", "A coarser map."},
			{"restart_session", "Make the map once and save it", "Run the preprocessor alone (the explosion button) and save the map. Then use it with preprocessor none.", "One more step."},
		},
	},
	{
		Folder: "forgelegacypreprocessors", Through: true, Part: "ControlNet's preprocessor",
		Means: annotations, Not: "Fewer steps: it failed in the preprocessor.",
		Knobs: []Knob{
			{"lower_resolution", "Lower Preprocessor Resolution to 512", "In the unit: Pixel Perfect off, Preprocessor Resolution 512. Scale the input image down to about 1024 pixels.", "A coarser map."},
			{"use_smaller_model", "Use a lighter preprocessor", "Take depth_midas instead of depth_zoe or depth_leres++, openpose instead of dw_openpose_full, seg_ufade20k instead of seg_ofcoco.", "A coarser map."},
			{"restart_session", "Make the map once and save it", "Run the preprocessor alone (the explosion button) and save the map. Then use it with preprocessor none.", "One more step."},
		},
	},
	{
		Folder: "adetailer", Through: true, Part: "ADetailer",
		Means: "ADetailer redraws each face it found, by default at the size of the whole image after Hires. fix. Its detector is on the card too.", Not: "Fewer steps, a lower batch count: every pass needs the same memory.",
		Knobs: []Knob{
			{"lower_resolution", "Inpaint faces at 512 x 512", "ADetailer, Inpainting: tick Inpaint only masked and Use separate width/height, 512 x 512 (SDXL 832 or 1024), padding 32.", "Less detail in large faces."},
			{"cpu_offload", "Run the detector on the CPU", "Add `--use-cpu adetailer` to COMMANDLINE_ARGS.", "A second for each image."},
			{"lowvram_mode", "", "", ""},
		},
	},
	{
		Folder: "multidiffusionupscalerforautomatic1111", At: []string{"tilevae", "vae_tile", "vae_optimize", "VAEHook"}, Through: true, Part: "Tiled VAE",
		Means: "Tiled VAE was on, but one tile did not fit. It suggests tile sizes for the card's total memory, not for what is free.", Not: "Fewer steps: it failed in the VAE.",
		Knobs: []Knob{
			{"vae_tiling", "Lower the tile sizes", "Halve Encoder Tile Size and Decoder Tile Size (not below 256 and 48). Fast Decoder on.", slower},
			{"lowvram_mode", "", "", ""},
			{"lower_resolution", "Upscale in two passes", "Use a lower factor in each.", "One more step."},
		},
	},
	{
		Folder: "multidiffusionupscalerforautomatic1111", Through: true, Part: "Tiled Diffusion",
		Means: "Tiled Diffusion was on. It samples several tiles in one batch, and ControlNet's maps for the whole image are on the card.", Not: "Fewer steps: every step needs the same memory.",
		Knobs: []Knob{
			{"lower_batch_size", "Lower Latent tile batch size to 1", "Tiled Diffusion: Latent tile batch size 1 (4 by default), Latent tile width and height 64.", slower},
			{"cpu_offload", "Turn on Move ControlNet tensor to CPU", "Also turn Noise Inversion off.", slower},
			{"vae_tiling", "Turn on Tiled VAE as well", "Set Decoder Tile Size to 64.", slower},
		},
	},
	{
		Folder: "sdwebuianimatediff", Through: true, Part: "AnimateDiff",
		Means: "AnimateDiff samples Context batch size frames at once (16 by default), with and without the prompt. That makes 32 images in one step.", Not: "Fewer steps: every step needs the same memory.",
		Knobs: []Knob{
			{"lower_resolution", "Lower the resolution", "Set width and height to 512 x 512 or less for SD 1.5, Hires. fix off. Upscale the frames afterwards.", "Less detail."},
			{"lower_batch_size", "Lower Context batch size to 8", "Also set Number of frames to 16 or less.", "Less steady motion."},
			{"efficient_attention", "", "Also tick Settings, Optimizations: Pad prompt/negative prompt to be same length.", ""},
		},
	},
	{
		Folder: "sdwebuisegmentanything", Part: "Segment Anything",
		Means: "sam_vit_h, the largest SAM, has 2.6 GB of weights, and masks are made at the full size of the image.", Not: noMedvram,
		Knobs: []Knob{
			{"cpu_offload", "Run SAM on the CPU", "In its panel: Use CPU for SAM.", "Half a minute for each image."},
			{"use_smaller_model", "Use a smaller SAM", "Choose sam_vit_b_01ec64.pth instead of sam_vit_h_4b8939.pth. Then click Unload all models from memory.", "Coarser edges."},
			{"lower_resolution", "Scale the image down first", "1024 to 1500 pixels on the longer side are enough.", "Coarser edges."},
		},
	},
	{
		Folder: "sdwebuireactor", Part: "ReActor",
		Means: "ReActor's face swapper and face restorer run on the card beside Stable Diffusion.", Not: noMedvram,
		Knobs: []Knob{
			{"cpu_offload", "Run the face swap on the CPU", "ReActor, tab Settings: Execution Provider CPU. Then restart the web UI.", "A second for each face."},
			{"use_smaller_model", "Turn off its restorer and upscaler", "Set Restore Face None and Upscaler None. Use the tab Extras afterwards.", "Softer faces."},
		},
	},
	{
		Folder: "stablediffusionwebuitensorrt", Through: true, Part: "the TensorRT extension",
		Means: "An export loads the whole UNet at 32 bit, and TensorRT tries kernels on the card beside it. A dynamic profile reserves memory for its largest size.", Not: "`--medvram`, `--lowvram`: its readme says that they make exports fail.",
		Knobs: []Knob{
			{"lower_resolution", "Export a smaller profile", "TensorRT Exporter: Preset 512x512 | Batch Size 1 (Static). Or static shapes with Max batch-size 1 and the size you use.", "Other image sizes need another engine."},
			{"restart_session", "Restart, and export before making an image", "In Settings set SD VAE and SD Unet to Automatic or None.", "Free."},
		},
	},
	{
		Folder: "ultimateupscaleforautomatic1111", Through: true, Part: "Ultimate SD Upscale",
		Means: "The script first enlarges the whole image with an upscaler, then redraws it tile by tile. One of these did not fit.", Not: "Fewer steps: every step needs the same memory.",
		Knobs: []Knob{
			{"vae_tiling", "Lower the tile sizes", "Tile width and Tile height 512, Padding 32, Batch size 1. In Settings, Upscaling: Tile size for all ESRGAN upscalers 128.", slower},
			{"use_smaller_model", "Turn ControlNet off", "Or tick Low VRAM in its unit.", "Less detail."},
			{"lowvram_mode", "", "", ""},
		},
	},
	{
		Folder: "stablediffusionwebuidepthmapscript", Part: "the depth map script",
		Means: "The depth model works at its net size. BOOST runs it many times at higher sizes, with a second model.", Not: noMedvram,
		Knobs: []Knob{
			{"lower_resolution", "Turn BOOST off, lower the net size", "Match net size to input size off, Net width and Net height 448.", "A coarser map."},
			{"cpu_offload", "Set Compute on to CPU", "In the same tab.", "Minutes for each image."},
			{"use_smaller_model", "Use a smaller model", "midas_v21_small or dpt_hybrid instead of dpt_beit_large_512.", "A coarser map."},
		},
	},
	{
		Folder: "stablediffusionwebuiwd14tagger", Part: "the tagger",
		Means: "The tagger runs in TensorFlow or ONNX Runtime beside Stable Diffusion. By default TensorFlow reserves most of the card.", Not: noMedvram,
		Knobs: []Knob{
			{"restart_session", "Restart, and tag before making images", "Afterwards unload the interrogator models.", "Free."},
			{"cpu_offload", "Run the tagger on the CPU", "Add `--use-cpu interrogate` to COMMANDLINE_ARGS.", "Seconds for each image."},
		},
	},
	{
		Folder: "sdwebuiregionalprompter", Through: true, Part: "a step with Regional Prompter",
		Means: "In the mode Latent each region is one more image in the batch. In the mode Attention all regions share one.", Not: "Fewer steps: every step needs the same memory.",
		Knobs: []Knob{
			{"lower_batch_size", "Set Generation Mode to Attention", "Or use fewer regions in the mode Latent, with Batch size 1.", "All regions share LoRAs."},
			{"lower_resolution", "Lower the resolution", "SD 1.5: at most 512 to 768 pixels, Hires. fix off. Upscale afterwards.", "One more step."},
			{"lowvram_mode", "", "", ""},
		},
	},
	{
		Folder: "sdwebuisupermerger", Weights: true, Part: "SuperMerger",
		Means: "Merging keeps two or three checkpoints in memory at once, beside the one that is loaded.", Not: "A smaller image: it failed while merging.",
		Knobs: []Knob{
			{"cpu_offload", "Merge in RAM", "Untick \"use cuda\" in the save settings. The checkpoints are then in RAM (16 GB for SDXL).", slower},
			{"half_precision", "Use fp16 files", "Merge pruned fp16 .safetensors, and save at fp16.", "No visible difference."},
			{"restart_session", "Restart, and merge before making an image", "Close the web UI's window and start it again.", "Free."},
		},
	},
}
