package addon

const (
	noSteps  = "Fewer steps: every step needs the same memory."
	noTiles  = "Fewer steps: it failed in the VAE."
	ownPlan  = "`--lowvram`: these nodes ignore it. "
	slower   = "Slower."
	shorter  = "A shorter or smaller clip."
	fewer    = "Fewer frames, then a lower resolution"
	decoding = "The VAE failed, which decodes or encodes the clip. It handles many frames at once at full size."
)

// Nodes are ComfyUI's custom nodes, the rows of one folder together, the special
// ones first. ComfyUI names a node by its type in its error report (since 2024)
// and in its console (before).
var Nodes = Set{
	folders: []string{"custom_nodes/"}, inner: []string{"/comfy/"}, typed: []string{"Node Type: ", "when executing "}, titled: "Allocation on device",
	repositories: []string{
		"kijai/ComfyUI-HunyuanVideoWrapper", "kijai/ComfyUI-CogVideoXWrapper", "kijai/ComfyUI-MochiWrapper", "Lightricks/ComfyUI-LTXVideo", "kijai/ComfyUI-FramePackWrapper",
		"kijai/ComfyUI-WanVideoWrapper", "kijai/ComfyUI-DynamiCrafterWrapper", "kijai/ComfyUI-SUPIR", "kijai/ComfyUI-CCSR", "ssitu/ComfyUI_UltimateSDUpscale", "lihaoyun6/ComfyUI-FlashVSR_Ultra_Fast",
		"ltdrdata/ComfyUI-Impact-Pack", "Gourieff/ComfyUI-ReActor", "kijai/ComfyUI-LivePortraitKJ", "ShmuelRonen/ComfyUI-LatentSyncWrapper", "huchenlei/ComfyUI-layerdiffuse",
		"1038lab/ComfyUI-RMBG", "storyicon/comfyui_segment_anything", "kijai/ComfyUI-segment-anything-2", "Fannovel16/comfyui_controlnet_aux", "kijai/ComfyUI-DepthAnythingV2", "Fannovel16/ComfyUI-Frame-Interpolation",
		"kijai/ComfyUI-Florence2", "1038lab/ComfyUI-QwenVL", "1038lab/ComfyUI-JoyCaption", "fpgaminer/joycaption_comfyui", "kijai/ComfyUI-MMAudio", "wildminder/ComfyUI-VibeVoice", "Enemyx-net/VibeVoice-ComfyUI",
		"kijai/ComfyUI-KwaiKolorsWrapper", "lum3on/comfyui_HiDream-Sampler", "kijai/ComfyUI-Hunyuan3DWrapper", "if-ai/ComfyUI-IF_Trellis", "nunchaku-tech/ComfyUI-nunchaku", "kijai/ComfyUI-FluxTrainer",
	},
	packs: append(trainers, nodes...),
}

var nodes = []Pack{
	// Video models.
	{
		Folder: "comfyuihunyuanvideowrapper", At: []string{"vae/", ":decode", ":encode_keyframes"}, Types: []string{"HyVideoDecode", "HyVideoEncode"}, Part: "HunyuanVideo's decode node",
		Means: decoding, Not: noTiles,
		Knobs: []Knob{
			{"vae_tiling", "Turn on tiling, with smaller tiles", "HunyuanVideo Decode: enable_vae_tiling on, auto_tile_size off, spatial_tile_sample_min_size 128; temporal_tiling_sample_size 32 if that is not enough.", "Slower; below 64 in time the video can stutter."},
			{"lower_resolution", fewer, "Lower num_frames (4n+1), then width and height.", shorter},
		},
	},
	{
		Folder: "comfyuihunyuanvideowrapper", At: []string{"text_encoder", "TextEncode", "encode_prompt", "text_encode"}, Types: []string{"HyVideoTextEncode", "DownloadAndLoadHyVideoTextEncoder"}, Weights: true, Part: "HunyuanVideo's text encoder",
		Means: "The text encoder, which reads the prompt, failed: the text encoder is a language model of 8 billion parameters, 15 GB at 16 bit.", Not: "Fewer frames, VAE tiles: it failed in the text encoder.",
		Knobs: []Knob{
			{"use_lower_quant", "Load the text encoder in 4 or 8 bit", "(Down)Load HunyuanVideo TextEncoder: quantization bnb_nf4 (or fp8_e4m3fn).", "Hardly any loss of quality."},
			{"restart_session", "Unload other models first", "Click Unload Models (beside Manager) before the run. In the Model Loader set load_device to offload_device, so that the video model stays in RAM.", "Models load again."},
		},
	},
	{
		Folder: "comfyuihunyuanvideowrapper", Types: []string{"HyVideoSampler", "HyVideoModelLoader"}, Part: "HunyuanVideoWrapper's sampler",
		Means: "The wrapper runs the 13B model itself, outside ComfyUI's memory plan. It needs memory for the blocks on the card, and for frames x pixels.", Not: ownPlan + noSteps,
		Knobs: []Knob{
			{"cpu_offload", "Turn on block swap", "Connect HunyuanVideo BlockSwap to the Model Loader: double_blocks_to_swap 20, single_blocks_to_swap 20 (up to 40), offload_txt_in and offload_img_in on. In the Model Loader set load_device to offload_device.", "Slower, and RAM."},
			{"use_lower_quant", "Load the model in 8 bit", "Model Loader: quantization fp8_e4m3fn, or an fp8 file.", "Slight loss of quality."},
			{"lower_resolution", fewer, "Lower num_frames (4n+1), then width and height.", shorter},
		},
	},
	{
		Folder: "comfyuicogvideoxwrapper", At: []string{":decode", "autoencoder", "decode_latents"}, Types: []string{"CogVideoDecode", "CogVideoImageEncode"}, Part: "CogVideoX's decode node",
		Means: decoding, Not: noTiles,
		Knobs: []Knob{
			{"vae_tiling", "Turn on enable_vae_tiling", "CogVideo Decode: enable_vae_tiling on, auto_tile_size off, tile_sample_min_height 96, tile_sample_min_width 128.", "Slower; seams may show."},
			{"lower_resolution", fewer, "Lower num_frames, or a smaller size where the model allows it.", shorter},
		},
	},
	{
		Folder: "comfyuicogvideoxwrapper", Types: []string{"CogVideoSampler", "DownloadAndLoadCogVideo", "CogVideoXModelLoader"}, Part: "CogVideoXWrapper's sampler",
		Means: "The wrapper runs the model itself, outside ComfyUI's memory plan. The 5B model has 10 GB of weights at 16 bit. Working memory for the frames comes on top.", Not: ownPlan + noSteps,
		Knobs: []Knob{
			{"use_lower_quant", "Load the model in 8 bit", "Its loader: quantization fp8_e4m3fn, load_device offload_device; or (Down)load CogVideo GGUF Model.", "Slight loss of quality."},
			{"cpu_offload", "Turn on sequential offload", "The same loader: enable_sequential_cpu_offload on (not together with quantization).", "Many times slower."},
			{"lower_resolution", fewer, "num_frames 49 or less, at the size the model was made for. Or use the 2B model.", shorter},
		},
	},
	{
		Folder: "comfyuimochiwrapper", At: []string{":decode", "vae"}, Types: []string{"MochiDecode"}, Part: "Mochi's decode node",
		Means: decoding, Not: noTiles,
		Knobs: []Knob{
			{"vae_tiling", "Turn on enable_vae_tiling", "Mochi VAE Decode Spatial Tiling: enable_vae_tiling on, num_tiles_w and num_tiles_h 4 (then 8), per_batch 6 or lower.", "Slower; seams may show."},
			{"lower_resolution", "Fewer frames", "Lower num_frames in the sampler (6n+1).", shorter},
		},
	},
	{
		Folder: "comfyuimochiwrapper", Types: []string{"MochiSampler", "DownloadAndLoadMochi"}, Part: "Mochi's sampler",
		Means: "The wrapper runs the 10B model itself, outside ComfyUI's memory plan: 20 GB of weights at 16 bit, half of that at 8. Working memory for the frames comes on top.", Not: ownPlan + noSteps,
		Knobs: []Knob{
			{"use_lower_quant", "Load the model in 8 bit", "Its loader: precision fp8_e4m3fn, or a GGUF file.", "Slight loss of quality."},
			{"lower_resolution", "Fewer frames", "Lower num_frames (6n+1).", shorter},
		},
	},
	{
		Folder: "comfyuiltxvideo", At: []string{"tiled_vae_decode", ":decode", "/vae"}, Types: []string{"LTXVTiledVAEDecode", "LTXVSpatioTemporalTiledVAEDecode"}, Through: true, Part: "LTX-Video's decoding",
		Means: decoding, Not: noTiles,
		Knobs: []Knob{
			{"vae_tiling", "Decode in tiles", "LTXV Spatio Temporal Tiled VAE Decode instead of VAE Decode: spatial_tiles 4 (then 6), temporal_tile_length 16; working_device cpu as a last resort.", slower},
			{"lower_resolution", fewer, "Half of the frames need about half.", shorter},
		},
	},
	{
		Folder: "comfyuiltxvideo", Types: []string{"LTXVLoopingSampler", "LTXVTiledSampler", "LTXVBaseSampler"}, Through: true, Part: "LTX-Video's sampler",
		Means: "All frames of a section are on the card at once, so memory grows with width x height x frames.", Not: noSteps,
		Knobs: []Knob{
			{"lower_resolution", "Sample in tiles, or lower the resolution", "LTXV Looping Sampler: temporal_tile_size 80 or less, horizontal_tiles and vertical_tiles 2. Other samplers: fewer frames, or half the width and height and then the spatial upscaler.", "Slower."},
			{"use_lower_quant", "Load an fp8 or GGUF file", "For the model and for its text encoder (T5 or Gemma).", "Slight loss of quality."},
			{"lowvram_mode", "Keep more VRAM free: `--reserve-vram 4`", "Start ComfyUI with it. For LTX-2 use its Low VRAM loaders.", slower},
		},
	},
	{
		Folder: "comfyuiframepackwrapper", Types: []string{"FramePackSampler", "LoadFramePackModel", "DownloadAndLoadFramePackModel", "FramePackSingleFrameSampler"}, Part: "FramePackWrapper's sampler",
		Means: "The sampler fills the card with the 13B model and leaves gpu_memory_preservation (in GB) free. That was too little. The video is made in sections, so its length hardly matters.", Not: "A shorter video, fewer steps: every section needs the same memory.",
		Knobs: []Knob{
			{"lowvram_mode", "Raise gpu_memory_preservation", "In FramePackSampler set gpu_memory_preservation to 8 (default 6), then 10.", slower},
			{"use_lower_quant", "Load the model in 8 bit", "Load FramePackModel: quantization fp8_e4m3fn, load_device offload_device.", "Slight loss of quality."},
			{"lower_resolution", "Lower base_resolution", "Find Nearest Bucket: base_resolution 512 instead of 640.", "A smaller clip."},
		},
	},
	{
		Folder: "comfyuiwanvideowrapper", At: []string{"t5", "encode_prompt"}, Types: []string{"WanVideoTextEncode", "LoadWanVideoT5TextEncoder"}, Weights: true, Part: "WanVideo's text encoder",
		Means: "The text encoder, which reads the prompt, failed: UMT5-XXL has 11 GB of weights at 16 bit.", Not: "Fewer frames, VAE tiles: it failed in the text encoder.",
		Knobs: []Knob{
			{"cpu_offload", "Offload the text encoder to RAM", "Load WanVideo T5 TextEncoder: load_device offload_device. WanVideo TextEncode: force_offload on, so that it leaves the card afterwards.", "Some seconds."},
			{"use_lower_quant", "Load the text encoder in 8 bit", "The same loader: quantization fp8_e4m3fn, with the fp8 file of the encoder.", "Hardly any loss of quality."},
		},
	},
	{
		Folder: "comfyuidynamicrafterwrapper", Types: []string{"DynamiCrafterI2V", "ToonCrafter"}, Part: "DynamiCrafter's node",
		Means: "The node samples all its frames as one batch and decodes them itself.", Not: ownPlan + noSteps,
		Knobs: []Knob{
			{"use_lower_quant", "Load the weights in 16 or 8 bit", "(Down)Load DynamiCrafterModel: dtype fp16 (not fp32), fp8_unet on.", "Slight loss of quality."},
			{"lower_resolution", "Fewer frames, or the 512 model", "Set frames to 16 or less. Load a 512 file instead of a 1024 one.", shorter},
			{"restart_session", "Unload it after the run", "Set keep_model_loaded off.", "It loads again each time."},
		},
	},
	// Upscalers.
	{
		Folder: "comfyuisupir", At: []string{":encode", ":decode", "autoencoder", "SUPIR_encode", "SUPIR_decode", "first_stage"}, Types: []string{"SUPIR_encode", "SUPIR_decode", "SUPIR_first_stage"}, Part: "SUPIR's VAE",
		Means: "SUPIR's VAE failed (Encode, First Stage or Decode), not the sampler. It works at the size of the result.", Not: "Fewer steps: it failed in the VAE.",
		Knobs: []Knob{
			{"vae_tiling", "Turn on use_tiled_vae", "use_tiled_vae on, encoder_tile_size and decoder_tile_size 512, then 256.", slower},
			{"lower_resolution", "Upscale less", "Keep the longer side of the result below 2048. Do the rest in a second pass or with a plain 2x upscaler.", "One more step."},
		},
	},
	{
		Folder: "comfyuisupir", At: []string{"nodes.py:process"}, Types: []string{"SUPIR_Upscale"}, Part: "SUPIR_Upscale, SUPIR's first node",
		Means: "SUPIR_Upscale puts SDXL and SUPIR's control network on the card whole: about 8 GB of weights at 16 bit, more on cards before RTX 30. It works at the size of the result: 2x has four times the pixels.", Not: ownPlan + noSteps,
		Knobs: []Knob{
			{"use_lower_quant", "Use SUPIR's newer nodes, with fp8_unet", "Update ComfyUI-SUPIR in the Manager. Then use SUPIR Model Loader (v2) and SUPIR Sampler instead of SUPIR_Upscale: fp8_unet on, diffusion_dtype fp16, high_vram off.", "The workflow must be rebuilt."},
			{"lower_resolution", "Upscale less", "Lower scale_by, or use a smaller input image. Try a result of at most 1024 pixels on the longer side first.", "A second pass."},
			{"vae_tiling", "Turn on use_tiled_vae", "Set encoder_tile_size_pixels 512, decoder_tile_size_latent 64, keep_model_loaded off.", slower},
		},
	},
	{
		Folder: "comfyuisupir", Types: []string{"SUPIR_sample", "SUPIR_model_loader", "SUPIR_conditioner"}, Part: "SUPIR, the upscaler",
		Means: "SUPIR runs SDXL plus its control network: about 8 GB of weights at 16 bit. It works at the size of the result: 2x has four times the pixels of the input.", Not: ownPlan + noSteps,
		Knobs: []Knob{
			{"use_lower_quant", "Load the UNet in 8 bit (fp8_unet)", "SUPIR Model Loader (v2): fp8_unet on, diffusion_dtype fp16, high_vram off.", "Hardly any loss of quality."},
			{"vae_tiling", "Sample in tiles", "SUPIR Sampler: sampler TiledRestoreEDMSampler, sampler_tile_size 512 (1024 by default).", slower},
			{"lower_resolution", "Upscale less", "Keep the longer side of the result below 2048.", "A second pass."},
		},
	},
	{
		Folder: "comfyuiccsr", Types: []string{"CCSR_Upscale"}, Part: "CCSR, the upscaler",
		Means: "CCSR runs an SD 2.1 model plus a control network, at the size of the result.", Not: ownPlan + noSteps,
		Knobs: []Knob{
			{"vae_tiling", "Turn on tiled sampling and small VAE tiles", "CCSR_Upscale: sampling_method ccsr_tiled_mixdiff, tile_size 512, vae_tile_size_encode and vae_tile_size_decode 512.", slower},
			{"lower_resolution", "Upscale less", "A lower scale_by, keep_model_loaded off.", "A second pass."},
		},
	},
	{
		Folder: "comfyuiultimatesdupscale", Types: []string{"UltimateSDUpscale"}, Through: true, Part: "Ultimate SD Upscale",
		Means: "This node first enlarges the image with an upscale model, then redraws it tile by tile. One tile must fit beside the checkpoint and each ControlNet.", Not: noSteps,
		Knobs: []Knob{
			{"vae_tiling", "Lower tile_width and tile_height", "tile_width and tile_height 512, tiled_decode on, batch_size 1 where it has that; mode_type Linear.", "Slower; seams can show."},
			{"use_smaller_model", "Use a 2x upscale model, without ControlNet", "Set upscale_model to a 2x file (a 4x model first makes 16 times the pixels). Bypass ControlNet Tile as a test.", "Less detail."},
			{"restart_session", "Upscale in a separate workflow", "Save the image and click Unload Models (beside Manager). Then upscale it with a workflow that does only that.", "One more step."},
		},
	},
	{
		Folder: "comfyuiflashvsrultrafast", Types: []string{"FlashVSRNode"}, Part: "FlashVSR, the video upscaler",
		Means: "It upscales many frames at once, at the size of the result.", Not: ownPlan + noSteps,
		Knobs: []Knob{
			{"vae_tiling", "Turn on tiled_vae and tiled_dit", "FlashVSR Ultra-Fast (Advanced): tiled_vae and tiled_dit on, tile_size 128, unload_dit on, scale 2.", slower},
			{"lower_batch_size", "Use mode tiny-long, fewer frames", "Set mode to tiny-long. In Load Video set frame_load_cap 100, and do the rest in further runs.", "Several runs."},
		},
	},
	// Faces.
	{
		// Its informative_sample (hacky.py, since 2024 sample_error_enhancer.py) is
		// above every sampling in ComfyUI, so that only frames of its work count.
		Folder: "comfyuiimpactpack", At: []string{":enhance_", ":do_detail", ":make_sam_mask", "animatediff_nodes.py"}, Types: []string{"FaceDetailer", "DetailerForEach", "SEGSDetailer"}, Through: true, Part: "the Impact Pack's detailer",
		Means: "A detailer cuts out each face, enlarges it to guide_size (at most max_size) and redraws it. Checkpoint, detector and SAM share the card.", Not: noSteps,
		Knobs: []Knob{
			{"lower_resolution", "Lower guide_size and max_size", "FaceDetailer: guide_size 384, max_size 768, bbox_crop_factor 2, tiled_encode and tiled_decode on (if it has them).", "Less detail in large faces."},
			{"cpu_offload", "Run SAM on the CPU, or leave it out", "SAMLoader: device_mode CPU. Or disconnect sam_model_opt and set sam_detection_hint none.", "Coarser masks."},
		},
	},
	{
		Folder: "comfyuireactor", Types: []string{"ReActor"}, Part: "ReActor's face swap or its face restorer",
		Means: "ReActor's face swapper and face restorer run beside ComfyUI's models, which do not make room for them. A restorer with 1024 or 2048 in its name enlarges each face to that size.", Not: noSteps,
		Knobs: []Knob{
			{"use_smaller_model", "Use a 512 restorer, or none", "ReActor Fast Face Swap: face_restore_model none or GFPGANv1.4, facedetection retinaface_mobile0.25; no Face Booster.", "Softer faces."},
			{"restart_session", "Swap faces in a separate workflow", "Save the images and click Unload Models (beside Manager). Then run Load Image and ReActor alone (clips: Load Video with frame_load_cap 100).", "One more step."},
		},
	},
	{
		Folder: "comfyuiliveportraitkj", Types: []string{"LivePortrait"}, Part: "LivePortrait's node",
		Means: "LivePortrait's models are small (about 1 GB). So usually the rest of the workflow fills the card, or the source images are very large.", Not: "`--lowvram`: these nodes ignore it.",
		Knobs: []Knob{
			{"restart_session", "Run only this workflow, after Unload Models", "Click Unload Models (beside Manager), then run this workflow alone. (Down)Load LivePortraitModels: precision fp16.", "Models load again."},
			{"lower_resolution", "Scale the source down, fewer frames", "Source image at most 1024 pixels; Load Video: frame_load_cap 100.", "Several runs."},
		},
	},
	{
		Folder: "comfyuilatentsyncwrapper", Types: []string{"LatentSyncNode"}, Part: "LatentSync, the lip sync",
		Means: "LatentSync runs its own diffusion model over 16 frames at a time. Version 1.6 works at 512 pixels and needs about 20 GB; version 1.5 at 256 pixels needs about 8.", Not: noSteps,
		Knobs: []Knob{
			{"use_smaller_model", "Use LatentSync 1.5 (256 pixels)", "Install the checkpoint and folder of LatentSync 1.5 instead of 1.6.", "A softer mouth."},
			{"lower_resolution", "Use shorter, smaller clips", "Load Video: frame_load_cap 250 (10 seconds), custom_height 720. Join the parts.", "Several runs."},
			{"restart_session", "Unload other models first", "Click Unload Models (beside Manager), then run this workflow.", "Models load again."},
		},
	},
	// Masks, depth, transparency.
	{
		Folder: "comfyuilayerdiffuse", Types: []string{"LayeredDiffusionDecode"}, Through: true, At: []string{":decode", "layered_diffusion.py:decode", "estimate_augmented"}, Part: "Layer Diffuse Decode",
		Means: "Transparency is decoded eight times at full size, for sub_batch_size images at once (16 by default).", Not: noSteps,
		Knobs: []Knob{
			{"lower_batch_size", "Lower sub_batch_size to 1", "Layer Diffuse Decode: sub_batch_size 1; Empty Latent: batch_size 1.", slower},
			{"lower_resolution", "Lower the resolution", "Width and height in multiples of 64.", "Less detail."},
		},
	},
	{
		Folder: "comfyuirmbg", Types: []string{"RMBG", "BiRefNet", "SAM2Segment", "SAM3Segment", "ClothesSegment"}, Part: "the background remover",
		Means: "Masks are computed at process_res, not at the size of the image. BiRefNet's large variants need several GB at 2048.", Not: "`--lowvram`: this node ignores it.",
		Knobs: []Knob{
			{"lower_resolution", "Lower process_res", "RMBG: process_res 1024, then 512; clips in parts (Load Video: frame_load_cap 100).", "Coarser edges."},
			{"use_smaller_model", "Use a smaller variant", "BiRefNet: BiRefNet_lite; SAM2: tiny or small, device CPU.", "Coarser edges."},
			{"restart_session", "Unload other models first", "Click Unload Models (beside Manager) first, or run it in a separate workflow.", "Models load again."},
		},
	},
	{
		Folder: "comfyuisegmentanything", Types: []string{"GroundingDinoSAMSegment", "SAMModelLoader"}, Part: "Segment Anything",
		Means: "sam_vit_h has 2.6 GB of weights, and masks are made at the full size of the image. Loaded models stay on the card.", Not: "`--lowvram`: this node ignores it.",
		Knobs: []Knob{
			{"use_smaller_model", "Use a smaller SAM", "SAMModelLoader (segment anything): sam_vit_b (375MB) or mobile_sam(39MB).", "Coarser edges."},
			{"lower_resolution", "Scale the image down first", "Scale the image to 1024 pixels, and the mask back up afterwards.", "Coarser edges."},
		},
	},
	{
		Folder: "comfyuisegmentanything2", Types: []string{"Sam2", "DownloadAndLoadSAM2Model"}, Part: "Segment Anything 2",
		Means: "For video, all frames and their results stay in memory until the clip is done.", Not: "`--lowvram`: this node ignores it.",
		Knobs: []Knob{
			{"use_smaller_model", "Use a smaller SAM 2", "(Down)Load SAM2Model: sam2.1_hiera_tiny or small, precision fp16; keep_model_loaded off.", "Coarser edges."},
			{"lower_batch_size", "Process the clip in parts", "Load Video: frame_load_cap 100, custom_height 720.", "Several runs."},
		},
	},
	{
		Folder: "comfyuicontrolnetaux", Types: []string{"DWPreprocessor", "DepthAnythingV2Preprocessor", "DepthAnythingPreprocessor", "OneFormer-", "Zoe-DepthMapPreprocessor", "OpenposePreprocessor"}, Part: "the ControlNet preprocessor",
		Means: "It failed in the preprocessor that makes ControlNet's map. Its memory grows with its input resolution, not with the size of the result.", Not: "A smaller Empty Latent, fewer steps: it failed in the preprocessor.",
		Knobs: []Knob{
			{"lower_resolution", "Lower resolution to 512", "In the preprocessor: resolution 512 (of the shorter side); clips in parts (Load Video: frame_load_cap 100).", "A coarser map."},
			{"use_smaller_model", "Use a smaller variant or another preprocessor", "Depth Anything V2: ckpt_name depth_anything_v2_vits.pth. Instead of OneFormer: SAM or UniFormer. Pose: DWPose with the TorchScript files.", "A coarser map."},
			{"restart_session", "Make the map once and save it", "Do it in a separate workflow. Then use Load Image instead of the preprocessor.", "One more step."},
		},
	},
	{
		Folder: "comfyuidepthanythingv2", Types: []string{"DepthAnything_V2"}, Part: "Depth Anything V2",
		Means: "It computes depth at the size of the image, for all frames that go in.", Not: "`--lowvram`: this node ignores it.",
		Knobs: []Knob{
			{"lower_resolution", "Scale the image down, fewer frames", "Scale the image to 1024 first; clips in parts (Load Video: frame_load_cap 100).", "A coarser map."},
			{"use_smaller_model", "Use the small model", "depth_anything_v2_vits_fp16, precision fp16.", "A coarser map."},
		},
	},
	{
		Folder: "comfyuiframeinterpolation", Types: []string{"RIFE VFI", "FILM VFI", "GMFSS Fortuna VFI", "IFRNet VFI"}, Part: "the frame interpolation",
		Means: "Two frames at a time are on the card, at 32 bit and full size. FILM needs several times the memory of RIFE, especially at 4K or with a multiplier above 2.", Not: "",
		Knobs: []Knob{
			{"lower_batch_size", "Set clear_cache_after_n_frames to 1", "Also batch_size 1 (if it has that) and multiplier 2 (a second pass makes 4).", slower},
			{"use_smaller_model", "Use RIFE instead of FILM", "RIFE VFI: rife49 or rife47, fast_mode on, ensemble off; for 4K scale_factor 0.5.", "Fast motion smears a little more."},
			{"lower_resolution", "Interpolate before upscaling", "Half the width and height needs a quarter.", "None."},
		},
	},
	// Language, captions, sound.
	{
		Folder: "comfyuiflorence2", Types: []string{"Florence2Run", "DownloadAndLoadFlorence2Model"}, Weights: true, Part: "Florence-2",
		Means: "Florence-2 is small (0.5 to 1.6 GB), so most likely other models of the workflow fill the card.", Not: "A smaller Empty Latent: captioning does not use it.",
		Knobs: []Knob{
			{"restart_session", "Caption in a separate run, then unload it", "Florence2Run: keep_model_loaded off. Run it in a separate workflow, or click Unload Models (beside Manager) first.", "Models load again."},
			{"use_smaller_model", "Use the base model at fp16", "DownloadAndLoadFlorence2Model: Florence-2-base, precision fp16, attention sdpa.", "Plainer captions."},
		},
	},
	{
		Folder: "comfyuiqwenvl", Types: []string{"AILab_QwenVL"}, Weights: true, Part: "the QwenVL node",
		Means: "The node loads a whole vision language model beside the image models: a 7B or 8B model has 16 GB at 16 bit. Large images and many frames add thousands of tokens.", Not: "`--lowvram`: this node ignores it.",
		Knobs: []Knob{
			{"use_lower_quant", "Load it in 4 bit", "Set quantization to 4-bit (VRAM-friendly) and keep_model_loaded off. Or use a 2B to 4B model.", "Slight loss of quality."},
			{"lower_resolution", "Scale the image down, fewer frames", "Scale the image to about 1 megapixel first; frame_count 8 or less.", "Less detail."},
			{"restart_session", "Write the prompt in a separate run", "Then click Unload Models (beside Manager) and make the image.", "One more step."},
		},
	},
	{
		Folder: "comfyuijoycaption", Types: []string{"JC_", "JoyCaption"}, Weights: true, Part: "JoyCaption",
		Means: "JoyCaption is a model of 8 billion parameters: 17 GB at 16 bit, 9 at 8, 6 at 4.", Not: "`--lowvram`: this node ignores it.",
		Knobs: []Knob{
			{"use_lower_quant", "Load it in 4 bit", "Set quantization to Maximum Savings (4-bit), or use its GGUF node. Set memory_management to Clear After Run.", "Slight loss of quality."},
			{"restart_session", "Caption in a separate run", "Then click Unload Models (beside Manager) and make the image.", "One more step."},
		},
	},
	{
		Folder: "joycaptioncomfyui", Types: []string{"JJC_"}, Weights: true, Part: "JoyCaption",
		Means: "JoyCaption is a model of 8 billion parameters: 17 GB at 16 bit, 9 at 8, 6 at 4.", Not: "`--lowvram`: this node ignores it.",
		Knobs: []Knob{
			{"use_lower_quant", "Load it in 4 bit", "Set memory_mode to Maximum Savings (4-bit) and keep_loaded off.", "Slight loss of quality."},
			{"restart_session", "Caption in a separate run", "Then click Unload Models (beside Manager) and make the image.", "One more step."},
		},
	},
	{
		Folder: "comfyuimmaudio", Types: []string{"MMAudio"}, Part: "MMAudio's node",
		Means: "MMAudio encodes all frames of the clip and makes the sound for the whole length at once. The video workflow's models may still be on the card.", Not: noSteps,
		Knobs: []Knob{
			{"restart_session", "Make the sound in a separate run", "Save the clip and click Unload Models (beside Manager). Then run Load Video and MMAudio alone, with force_offload on in MMAudio Sampler.", "One more step."},
			{"half_precision", "Use fp16 and a duration of 8 seconds", "MMAudio ModelLoader and FeatureUtilsLoader: precision fp16; duration 8.", "No audible difference; shorter sound."},
		},
	},
	{
		Folder: "comfyuivibevoice", Types: []string{"VibeVoiceTTS"}, Part: "VibeVoice",
		Means: "The Large model has about 18 GB of weights at 16 bit, 1.5B about 5; long scripts add a cache that grows with the text.", Not: "`--lowvram`: this node ignores it.",
		Knobs: []Knob{
			{"use_lower_quant", "Load the language model in 4 bit", "VibeVoice TTS: quantize_llm_4bit on, force_offload on; or the 1.5B model.", "Slight loss of quality."},
			{"lower_context", "Use shorter scripts", "Some paragraphs at a time; join the files.", "Several runs."},
		},
	},
	{
		Folder: "vibevoicecomfyui", Types: []string{"VibeVoiceSingleSpeakerNode", "VibeVoiceMultipleSpeakersNode"}, Part: "VibeVoice",
		Means: "The Large model has about 18 GB of weights at 16 bit, 1.5B about 5; long scripts add a cache that grows with the text.", Not: "`--lowvram`: this node ignores it.",
		Knobs: []Knob{
			{"use_lower_quant", "Load the language model in 4 bit", "quantize_llm 4bit, free_memory_after_generate on; or the 1.5B model.", "Slight loss of quality."},
			{"lower_context", "Lower max_words_per_chunk", "Set it to 100 in the node.", "Several pieces."},
		},
	},
	// Pictures with models of their own.
	{
		Folder: "comfyuikwaikolorswrapper", Types: []string{"DownloadAndLoadChatGLM3", "LoadChatGLM3", "KolorsTextEncode"}, At: []string{"chatglm", "text_encode", ":encode"}, Weights: true, Part: "Kolors' text encoder",
		Means: "Kolors' text encoder is ChatGLM3 (6B): 12 GB at 16 bit, more than Kolors itself.", Not: "A smaller image: it failed in the text encoder.",
		Knobs: []Knob{
			{"use_lower_quant", "Load ChatGLM3 in 4 bit", "(Down)load ChatGLM3 Model: precision quant4 (quant8 needs about 8 GB).", "Hardly any loss of quality."},
			{"restart_session", "Unload other models first", "Click Unload Models (beside Manager), then run this workflow.", "Models load again."},
		},
	},
	{
		Folder: "comfyuikwaikolorswrapper", Types: []string{"KolorsSampler"}, Part: "the Kolors sampler",
		Means: "The sampler runs Kolors (5 GB at 16 bit) itself, outside ComfyUI's memory plan. ChatGLM3 may still be on the card too.", Not: ownPlan + noSteps,
		Knobs: []Knob{
			{"use_lower_quant", "Load ChatGLM3 in 4 bit", "(Down)load ChatGLM3 Model: precision quant4.", "Hardly any loss of quality."},
			{"lower_resolution", "Lower the resolution", "Kolors Sampler: width and height 1024 or less. Put VAE Decode (Tiled) behind it.", "Less detail."},
		},
	},
	{
		Folder: "comfyuihidreamsampler", Types: []string{"HiDreamSampler", "HiDreamImg2Img"}, Weights: true, Part: "the HiDream sampler",
		Means: "The node loads HiDream (17B) and its text encoders (Llama 3.1 8B, T5, two CLIPs) itself. The full, dev and fast models need about 27 GB, the nf4 files about 15.", Not: ownPlan + noSteps,
		Knobs: []Knob{
			{"use_lower_quant", "Use an nf4 model", "Set model_type to fast-nf4 or dev-nf4.", "Slight loss of quality."},
			{"use_smaller_model", "Use ComfyUI's own HiDream nodes", "Load an fp8 or GGUF file of the model and fp8 text encoders. ComfyUI then moves them one by one.", "The workflow must be rebuilt."},
		},
	},
	{
		Folder: "comfyuihunyuan3dwrapper", At: []string{"vae", "volume", "decode", "octree"}, Types: []string{"Hy3DVAEDecode"}, Part: "Hunyuan3D's shape decoding",
		Means: "The shape is decoded on a grid of octree_resolution in each direction: 512 has 2.4 times the points of 384. num_chunks points are computed at once.", Not: noSteps,
		Knobs: []Knob{
			{"lower_resolution", "Lower octree_resolution and num_chunks", "Hy3D VAE Decode: octree_resolution 256, num_chunks 4000, enable_flash_vdm on.", "Less detail."},
			{"restart_session", "Turn on force_offload", "Turn force_offload on in every node, and click Unload Models (beside Manager) before the run.", slower},
		},
	},
	{
		Folder: "comfyuihunyuan3dwrapper", At: []string{"multiview", "MultiView", "hy3dpaint", "texgen", "render", "bake"}, Types: []string{"Hy3DSampleMultiView", "Hy3DRenderMultiView", "Hy3DBakeFromMultiview", "Hy3DDelightImage"}, Part: "Hunyuan3D's texture",
		Means: "Texturing samples all views at once, which needs about 16 GB at the default sizes.", Not: noSteps,
		Knobs: []Knob{
			{"lower_resolution", "Lower the texture size, fewer views", "Hy3D Render MultiView: render_size 1024, texture_size 1024; Hy3D Sample MultiView: view_size 512 or less, fewer views in Hy3D Camera Config.", "Coarser texture."},
			{"restart_session", "Texture in a separate run", "Export the mesh and click Unload Models (beside Manager). Then run Hy3D Load Mesh and the texture nodes alone.", "One more step."},
		},
	},
	{
		Folder: "comfyuiiftrellis", Types: []string{"IF_TrellisImageTo3D", "IF_TrellisCheckpointLoader"}, Part: "TRELLIS",
		Means: "Structure, shape and textures are computed one after another on the card.", Not: "`--lowvram`: these nodes ignore it.",
		Knobs: []Knob{
			{"half_precision", "Turn on use_fp16", "Trellis Model Loader: use_fp16 on.", "No visible difference."},
			{"lower_resolution", "Lower texture_size", "texture_size 512, texture_mode fast (not opt), one input image.", "Coarser texture."},
		},
	},
	{
		Folder: "comfyuinunchaku", Types: []string{"NunchakuFluxDiTLoader", "NunchakuQwenImageDiTLoader"}, Through: true, Weights: true, Part: "a Nunchaku model",
		Means: "Nunchaku's 4-bit model takes 6 to 12 GB. cpu_offload auto offloads it only on cards below 14 to 15 GB. The text encoder comes on top.", Not: "`--lowvram`: Nunchaku ignores it.",
		Knobs: []Knob{
			{"cpu_offload", "Set cpu_offload to enable", "Nunchaku FLUX DiT Loader (or Qwen-Image's, with num_blocks_on_gpu 1): cpu_offload enable.", "Somewhat slower."},
			{"use_lower_quant", "Use a smaller text encoder", "t5xxl_fp8_e4m3fn, or Nunchaku Text Encoder Loader V2 with its 4-bit T5.", "Hardly any loss of quality."},
			{"lower_resolution", "Lower the resolution", "Half the width and height, batch_size 1; upscale afterwards in tiles.", "One more step."},
		},
	},
}
