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
	noMedvram   = "`--medvram`, `--lowvram`: they move Stable Diffusion, not this model. "
	annotations = "It failed in the preprocessor that makes ControlNet's map, before any step. Its own resolution is what counts, not the size of the result."
)

var extensions = []Pack{
	{
		Folder: "sdwebuicontrolnet", At: []string{"annotator", "preprocessor", "processor.py", "detectmap"}, Through: true, Part: "ControlNet's preprocessor",
		Means: annotations, Not: "A smaller result, fewer steps: none had run.",
		Knobs: []Knob{
			{"lower_resolution", "Preprocessor Resolution 512", "In the unit: Pixel Perfect off, Preprocessor Resolution 512; the input image itself scaled down to about 1024.", "A coarser map, rarely seen."},
			{"use_smaller_model", "A lighter preprocessor", "depth_midas in place of depth_zoe or depth_leres++, openpose in place of dw_openpose_full, seg_ufade20k in place of seg_ofcoco.", "A coarser map."},
			{"restart_session", "Make the map once", "Run the preprocessor alone (the explosion button), save the map, then use it with preprocessor none.", "One step more."},
		},
	},
	{
		Folder: "forgelegacypreprocessors", Through: true, Part: "ControlNet's preprocessor",
		Means: annotations, Not: "A smaller result, fewer steps: none had run. GPU Weights: the preprocessor loads its model by itself.",
		Knobs: []Knob{
			{"lower_resolution", "Preprocessor Resolution 512", "In the unit: Pixel Perfect off, Preprocessor Resolution 512; the input image itself scaled down to about 1024.", "A coarser map, rarely seen."},
			{"use_smaller_model", "A lighter preprocessor", "depth_midas in place of depth_zoe or depth_leres++, openpose in place of dw_openpose_full, seg_ufade20k in place of seg_ofcoco.", "A coarser map."},
			{"restart_session", "Make the map once", "Run the preprocessor alone (the explosion button), save the map, then use it with preprocessor none.", "One step more."},
		},
	},
	{
		Folder: "adetailer", Through: true, Part: "ADetailer's pass over the faces",
		Means: "The image itself was made. ADetailer then inpaints each face it found, at the size of the whole image after Hires. fix unless it is told otherwise, and its detector lies on the card as well.", Not: "Fewer steps, a lower batch count: each pass needs the same.",
		Knobs: []Knob{
			{"lower_resolution", "Inpaint at 512", "ADetailer, Inpainting: Inpaint only masked on, Use separate width/height 512 x 512 (SDXL 832 or 1024); padding 32.", "Less detail in large faces."},
			{"cpu_offload", "Detect on the processor", "Add `--use-cpu adetailer` to COMMANDLINE_ARGS; one tab instead of several.", "A second an image."},
			{"lowvram_mode", "", "", ""},
		},
	},
	{
		Folder: "multidiffusionupscalerforautomatic1111", At: []string{"tilevae", "vae_tile", "vae_optimize", "VAEHook"}, Through: true, Part: "Tiled VAE",
		Means: "Tiled VAE was on already, and one tile did not fit. It proposes tile sizes by the size of the card, as if nothing else were on it.", Not: "Fewer steps, another sampler: they were over.",
		Knobs: []Knob{
			{"vae_tiling", "Smaller tiles", "Tiled VAE: Encoder Tile Size 960, then 512; Decoder Tile Size 64, then 48; Fast Decoder on.", slower},
			{"lowvram_mode", "", "", ""},
			{"lower_resolution", "Enlarge in two passes", "Half of the factor in each.", "One step more."},
		},
	},
	{
		Folder: "multidiffusionupscalerforautomatic1111", Through: true, Part: "Tiled Diffusion",
		Means: "Tiled Diffusion was on already: it samples the large image in tiles of the latent, several of them in one batch, and ControlNet's maps lie on the card for the whole image.", Not: "Fewer steps: each needs the same.",
		Knobs: []Knob{
			{"lower_batch_size", "One tile at a time", "Tiled Diffusion: Latent tile batch size 1 (4 by default), Latent tile width and height 64.", slower},
			{"cpu_offload", "ControlNet's map in RAM", "Move ControlNet tensor to CPU on; Noise Inversion off.", slower},
			{"vae_tiling", "Tiled VAE beside it", "Tick Tiled VAE as well, Decoder Tile Size 64.", slower},
		},
	},
	{
		Folder: "sdwebuianimatediff", Through: true, Part: "AnimateDiff",
		Means: "AnimateDiff samples Context batch size frames at once (16 for the models of SD 1.5), both with and without the prompt: 32 images in one step.", Not: "Fewer steps; a shorter animation alone, once it is longer than the context.",
		Knobs: []Knob{
			{"lower_resolution", "Smaller frames", "512 x 512 or 384 x 512, Batch size 1, Hires. fix off; enlarge the frames afterwards.", "Detail."},
			{"lower_batch_size", "A smaller context", "AnimateDiff: Context batch size 8, Number of frames 16.", "Less steady motion."},
			{"efficient_attention", "", "Also Settings, Optimizations: Pad prompt/negative prompt to be same length.", ""},
		},
	},
	{
		Folder: "sdwebuisegmentanything", Part: "Segment Anything",
		Means: "It failed in the SAM extension: sam_vit_h has 2.6 GB of weights, and masks are made at the full size of the image.", Not: noMedvram,
		Knobs: []Knob{
			{"cpu_offload", "SAM on the processor", "In its panel: Use CPU for SAM.", "Half a minute an image."},
			{"use_smaller_model", "A smaller SAM", "sam_vit_b_01ec64.pth in place of sam_vit_h_4b8939.pth; then Unload all models from memory.", "Coarser edges."},
			{"lower_resolution", "A smaller image", "Scale it to 1024 to 1500 pixels first.", "Coarser edges."},
		},
	},
	{
		Folder: "sdwebuireactor", Part: "ReActor",
		Means: "ReActor's swapper runs in ONNX Runtime and its face restorer in PyTorch, beside Stable Diffusion and outside of its memory plan.", Not: noMedvram,
		Knobs: []Knob{
			{"cpu_offload", "The swap on the processor", "ReActor, tab Settings: Execution Provider CPU; restart the web UI.", "A second a face."},
			{"use_smaller_model", "No restorer, no upscaler there", "Restore Face None, Upscaler None; Extras afterwards.", "Softer faces."},
		},
	},
	{
		Folder: "stablediffusionwebuitensorrt", Through: true, Part: "the TensorRT extension",
		Means: "Exporting loads the whole UNet at 32 bit, twice for a moment, and the builder tries kernels on the card beside it; a dynamic profile reserves memory for its largest size when it is used.", Not: "`--medvram`, `--lowvram`: its readme says that they make exports fail.",
		Knobs: []Knob{
			{"lower_resolution", "A smaller profile", "TensorRT Exporter: Preset 512x512 | Batch Size 1 (Static), or static shapes with Max batch-size 1 and the size that you use.", "Other sizes need another engine."},
			{"restart_session", "Export right after a start", "Start the web UI, make no image, export at once; Settings: SD VAE and SD Unet on Automatic or None.", "Free."},
		},
	},
	{
		Folder: "ultimateupscaleforautomatic1111", Through: true, Part: "Ultimate SD Upscale",
		Means: "The script redraws the image tile by tile; one tile, with what else is on, did not fit. Before that its upscaler enlarges the whole image.", Not: "A smaller factor: tiles stay as large, there are only fewer.",
		Knobs: []Knob{
			{"vae_tiling", "Smaller tiles", "Tile width and Tile height 512, Padding 32, Batch size 1; Settings, Upscaling: Tile size for all ESRGAN upscalers 128.", slower},
			{"use_smaller_model", "No ControlNet beside it", "Or tick Low VRAM in its unit.", "Detail."},
			{"lowvram_mode", "", "", ""},
		},
	},
	{
		Folder: "stablediffusionwebuidepthmapscript", Part: "the depth map script",
		Means: "It failed in a depth model, which computes at its net size; BOOST runs it many times at higher sizes with a second network.", Not: noMedvram,
		Knobs: []Knob{
			{"lower_resolution", "A smaller net size, BOOST off", "BOOST off, Match net size to input size off, Net width and Net height 448.", "A coarser map."},
			{"cpu_offload", "Compute on: CPU", "In the same tab.", "Minutes an image."},
			{"use_smaller_model", "A smaller model", "midas_v21_small or dpt_hybrid in place of dpt_beit_large_512.", "A coarser map."},
		},
	},
	{
		Folder: "stablediffusionwebuiwd14tagger", Part: "the tagger",
		Means: "The tagger runs in TensorFlow or ONNX Runtime beside Stable Diffusion; TensorFlow takes most of a card for itself by default.", Not: noMedvram,
		Knobs: []Knob{
			{"restart_session", "Tag before making images", "Right after a start, and unload the interrogator models afterwards.", "Free."},
			{"cpu_offload", "The tagger on the processor", "Add `--use-cpu interrogate` to COMMANDLINE_ARGS.", "Seconds an image."},
		},
	},
	{
		Folder: "sdwebuiregionalprompter", Through: true, Part: "a step with Regional Prompter",
		Means: "In the mode Latent each region is a further pass through the network, all in one batch; in the mode Attention they share one.", Not: "Fewer steps: each needs the same.",
		Knobs: []Knob{
			{"lower_batch_size", "Generation Mode: Attention", "Or fewer regions in the mode Latent; Batch size 1.", "All regions share LoRAs."},
			{"lower_resolution", "A smaller image", "512 to 768 pixels (SD 1.5), Hires. fix off; enlarge afterwards.", "One step more."},
			{"lowvram_mode", "", "", ""},
		},
	},
	{
		Folder: "sdwebuisupermerger", Weights: true, Part: "SuperMerger",
		Means: "Merging holds two or three checkpoints at once beside the one that is loaded.", Not: "A smaller image: none was being made.",
		Knobs: []Knob{
			{"cpu_offload", "Merge in RAM", "Leave \"use cuda\" unticked among the save settings; then RAM has to hold the checkpoints (16 GB for SDXL).", slower},
			{"half_precision", "fp16 files", "Merge pruned fp16 .safetensors, and save at fp16.", "None for making images."},
			{"restart_session", "Right after a start", "Without making an image before.", "Free."},
		},
	},
}
