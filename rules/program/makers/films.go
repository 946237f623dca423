package makers

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Repositories that make pictures and films by scripts of their own.
var (
	// FLUX is Black Forest Labs' own code.
	FLUX = program.Program{
		Name: "flux", Shown: "FLUX (Black Forest Labs' code)", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"/flux/src/flux/", "flux/demo_gr.py", "flux/demo_st.py", "-m flux --", "-m flux t2i", "\\flux\\src\\flux\\", "flux-main/src/flux/"},
		Sources: program.Sources{"flux/src/flux/cli.py": "--offload --name --width --height --loop", "flux/demo_gr.py": "--offload"},
		Steps: steps{
			"cpu_offload":       step.Paste("text", "Add `--offload` to your command (demo_st.py: the checkbox \"Offload to CPU\"): text encoders, transformer and VAE then take turns, 24 GB for the largest."),
			"use_lower_quant":   step.Paste("text", "This code has 16 bit only: 24 GB for the transformer alone. ComfyUI, Forge or diffusers run it at 8 or 4 bit, on 8 to 16 GB."),
			"lower_resolution":  halved("`--width 768 --height 512` (default 1360 x 768): it helps once the weights fit."),
			"use_smaller_model": step.Paste("text", "`--name flux-schnell` has as many weights as dev: it is faster, not smaller."),
		},
		Remedies: order("cpu_offload", "use_lower_quant", "lower_resolution", "close_other_apps"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{made("flux/weights", cause.ModelTooLarge, "Its transformer is 24 GB at 16 bit and its T5 encoder 9 GB. Without `--offload` both are on the GPU at once; with it a card of 24 GB can still be a little short.", "schnell instead of dev: it has as many weights. Fewer steps: they cost time, not memory.", "flux/src/flux/cli.py", theirs("cpu_offload", "use_lower_quant")...)},
	}
	// GenerativeModels is Stability's repository: Stable Video Diffusion, SV3D, SV4D.
	GenerativeModels = program.Program{
		Name: "generative-models", Rank: above, Shown: "Stable Video Diffusion", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"generative-models/", "simple_video_sample", "demo/video_sampling.py", "sv4d_helpers.py"},
		Sources: program.Sources{"generative-models/scripts/sampling/simple_video_sample.py": "--decoding_t --num_frames --version", "generative-models/scripts/sampling/simple_video_sample_4d.py": "--encoding_t"},
		Steps: steps{
			"vae_tiling":       step.Paste("text", "Add `--decoding_t 1` to your command of simple_video_sample.py (default 14 frames decoded at once); SV4D also `--encoding_t 1`. Page: \"Decode n frames at a time\" 1, Low vram mode on."),
			"lower_resolution": step.Paste("text", "Fewer frames (`--num_frames 14`, the version svd instead of svd_xt), an image of 768 x 432 instead of 1024 x 576."),
			"lowvram_mode":     step.Paste("text", "Streamlit page: Low vram mode. The script has none: diffusers' StableVideoDiffusionPipeline with `enable_model_cpu_offload()` and `decode_chunk_size=2` needs under 8 GB."),
		},
		Titles:   map[string]string{"vae_tiling": "Decode one frame at a time (`--decoding_t 1`)"},
		Remedies: order("vae_tiling", "lower_resolution", "lowvram_mode"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			part("generative-models/decode", []string{"decode_first_stage", "temporal_ae.py"}, cause.BatchTooLarge, "ran out of GPU memory in the VAE", "`decoding_t` frames (14 by default) are decoded at once; by the script's own comment that takes most of the memory.", "Fewer steps: they cost time, not memory.", "generative-models/scripts/sampling/simple_video_sample.py", theirs("vae_tiling", "lower_resolution")...),
			made("generative-models/sample", cause.BatchTooLarge, "All frames, 14 or 25 at 1024 x 576, are generated together, with the whole model on the GPU at 16 bit or more.", "Fewer steps: they cost time, not memory.", "generative-models/README.md", theirs("vae_tiling", "lower_resolution", "lowvram_mode")...),
		},
	}
	// DeepFloyd is IF.
	DeepFloyd = program.Program{
		Name: "deepfloyd-if", Shown: "DeepFloyd IF", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"deepfloyd_if/", "DeepFloyd/IF-I", "pipelines/deepfloyd_if/", "IFPipeline"},
		Sources: program.Sources{"IF/README.md": "T5Embedder enable_model_cpu_offload"},
		Steps: steps{
			"cpu_offload":       step.Paste("python", "stage_1.enable_model_cpu_offload()   # diffusers; the same for stage_2 and stage_3, and no .to(\"cuda\")\n# its own code: t5 = T5Embedder(device=\"cpu\")"),
			"lowvram_mode":      step.Paste("text", "One stage after another: embeddings from T5 (at 8 bit: `load_in_8bit=True`), then `del` it and `torch.cuda.empty_cache()`, then stage 1, and so on."),
			"use_smaller_model": step.Paste("text", "IF-I-L (0.9B) or IF-I-M instead of IF-I-XL (4.3B); without the third stage."),
		},
		Remedies: order("cpu_offload", "lowvram_mode", "use_smaller_model"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{made("deepfloyd-if/stages", cause.ModelTooLarge, "Its text encoder, T5-XXL, is the largest part: about 9 GB at 16 bit (20 at 32) beside three diffusion stages. Its README counts 16 GB for the first two stages and 24 with the third, with T5 on the CPU.", "Smaller images: the stages have fixed sizes.", "IF/README.md", theirs("cpu_offload", "lowvram_mode", "use_smaller_model")...)},
	}
	// PixArt is PixArt-alpha and Sigma.
	PixArt = program.Program{
		Name: "pixart", Shown: "PixArt", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"PixArt-alpha/", "PixArt-sigma/", "PixArt-Sigma/", "diffusion/model/nets/PixArt", "train_scripts/train.py"},
		Sources: program.Sources{"PixArt-alpha/configs/pixart_config/PixArt_xl2_img1024_internalms.py": "train_batch_size grad_checkpointing gradient_accumulation_steps num_workers", "PixArt-alpha/scripts/inference.py": "--image_size --bs"},
		Steps: steps{
			"gradient_checkpointing": step.Paste("text", "In the config: `grad_checkpointing = True`."),
			"lower_batch_size":       apps.ByPhase(step.Step{Kind: "text", Text: "In the config: `train_batch_size = 2`, `gradient_accumulation_steps = 4` (12 at 1024 pixels, for 80 GB)."}, step.Step{Kind: "text", Text: "Use `--bs 1`."}),
			"lower_resolution":       step.Paste("text", "The 512 config and weights (`--image_size 512` in inference)."),
			"lowvram_mode":           apps.ByPhase(step.Step{Kind: "text", Text: "Extract T5 and VAE features once (tools/extract_features.py), so that neither is on the GPU."}, step.Step{Kind: "text", Text: "diffusers' PixArtAlphaPipeline needs 11 GB, under 8 with T5 at 8 bit, where this repository needs 23."}),
		},
		Titles:   map[string]string{"lowvram_mode": "Keep T5 off the GPU"},
		Remedies: order("gradient_checkpointing", "lower_batch_size", "lowvram_mode", "lower_resolution"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("pixart/step", "It failed in a training step of all weights; the configs are meant for 80 GB.", "", "PixArt-alpha/configs/pixart_config/PixArt_xl2_img1024_internalms.py", theirs("gradient_checkpointing", "lower_batch_size", "lowvram_mode")...),
			made("pixart/run", cause.ModelTooLarge, "T5-XXL, nearly 9 GB at 16 bit, is larger than the model itself (0.6B); this repository needs 23 GB with both on the GPU.", "Fewer steps: they cost time, not memory.", "PixArt-alpha/README.md", theirs("lowvram_mode", "lower_resolution")...),
		},
	}
	// AnimateDiff is the repository, not the node pack or the extension.
	AnimateDiff = program.Program{
		Name: "animatediff", Shown: "AnimateDiff", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"/AnimateDiff/animatediff/", "AnimateDiff/scripts/", "AnimateDiff/train.py", "AnimateDiff/app.py", "animatediff/pipelines/pipeline_animation.py", "scripts.animate"},
		Sources: program.Sources{"AnimateDiff/scripts/animate.py": "--W --H --L --without-xformers", "AnimateDiff/configs/training/v1/training.yaml": "train_batch_size sample_size sample_n_frames"},
		Steps: steps{
			"lower_resolution": step.Paste("text", "Use `--W 384 --H 384` (default 512 x 512), then `--L 12` (16 frames)."),
			"lower_batch_size": step.Paste("text", "In the training YAML: `train_batch_size: 1` (4; 50 for images), `sample_size: 256`, `sample_n_frames: 8`"),
			"lowvram_mode":     step.Paste("text", "This code has no offload: diffusers' AnimateDiffPipeline with `enable_model_cpu_offload()` and `enable_vae_slicing()`, or ComfyUI's AnimateDiff-Evolved."),
		},
		Remedies: order("lower_resolution", "lowvram_mode"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("animatediff/step", "It failed in a training step: batch size x frames x image size decides.", "", "AnimateDiff/configs/training/v1/training.yaml", theirs("lower_batch_size")...),
			made("animatediff/run", cause.BatchTooLarge, "All frames go through at once, twice for guidance: 16 frames at 512 x 512 need about 12 GB with xformers, SDXL 13.", "Fewer steps: they cost time, not memory.", "AnimateDiff/README.md", theirs("lower_resolution", "lowvram_mode")...),
		},
	}
	// OpenSora is HPC-AI's.
	OpenSora = program.Program{
		Name: "open-sora", Shown: "Open-Sora", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"Open-Sora/", "opensora/"},
		Sources: program.Sources{"Open-Sora/README.md": "--offload --num_frames --nproc_per_node --aspect_ratio", "Open-Sora/configs/diffusion/inference/256px.py": "resolution num_frames"},
		Steps: steps{
			"cpu_offload":      step.Paste("text", "Add `--offload True` to your command (2.0, with the t2i2v_256px.py config)."),
			"lower_resolution": step.Paste("text", "The 256px config instead of 768px, and `--num_frames 49` (4k+1; default 129)."),
			"multi_gpu":        step.Paste("text", "`torchrun --nproc_per_node 4` with t2i2v_768px.py: sequence parallel; 44 GB on each of four, its table says (60 on one)."),
		},
		Remedies: order("cpu_offload", "lower_resolution", "multi_gpu"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("open-sora/step", "It failed in a training step: the buckets of the config say how many videos of which length and size go together; the largest decides.", "", "Open-Sora/configs/diffusion/train/stage1.py", cure("lower_batch_size", "Lower the batch size of the largest buckets", "text", "In the config's `bucket_config`: the batch of the largest sizes to 1, or leave those out; `grad_ckpt_settings` on.", "Slower.")),
			made("open-sora/run", cause.ModelTooLarge, "Version 2.0 is an 11B model with T5 and, for text, FLUX before it: by its own table 52 GB at 256 x 256 on one GPU with offload, 60 at 768. Version 1.2 (1.1B) is smaller.", "Fewer steps: they cost time, not memory.", "Open-Sora/README.md", theirs("cpu_offload", "lower_resolution", "multi_gpu")...),
		},
	}
	// Mochi is Genmo's.
	Mochi = program.Program{
		Name: "mochi", Shown: "Mochi 1", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"genmo/mochi_preview/", "genmoai/", "mochi/demos/", "mochi/src/genmo/"},
		Sources: program.Sources{"mochi/demos/cli.py": "--cpu_offload --num_frames --width --height --model_dir", "mochi/README.md": "decode_type"},
		Steps: steps{
			"cpu_offload":      step.Paste("text", "Add `--cpu_offload` to your command (one GPU); in code `MochiSingleGPUPipeline(..., cpu_offload=True, decode_type=\"tiled_spatial\")`."),
			"lower_resolution": step.Paste("text", "Use `--num_frames 37` (6k+1; default 163)."),
			"use_lower_quant":  step.Paste("text", "This code has bf16 only and states 60 GB on one GPU; ComfyUI runs Mochi under 20 GB, diffusers with offload and tiles on 22."),
		},
		Remedies: order("cpu_offload", "lower_resolution", "use_lower_quant"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("mochi/step", "It failed in training. The fine-tuner is made for 80 GB: by its own table 37 frames need 50 GB, 61 need 64, 85 need 80.", "", "mochi/demos/fine_tuner/README.md", cure("lower_resolution", "Train on fewer frames", "text", "Encode the videos again with fewer frames (25 or 37) and set the same number in the config.", "It learns shorter movements.")),
			made("mochi/run", cause.ModelTooLarge, "A 10B model with T5-XXL: by its README about 60 GB on one GPU without offload. Several cards split it.", "", "mochi/README.md", theirs("cpu_offload", "lower_resolution", "use_lower_quant")...),
		},
	}
	// LTXVideo is Lightricks' own code.
	LTXVideo = program.Program{
		Name: "ltx-video", Shown: "LTX-Video", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"LTX-Video/inference.py", "LTX-Video/ltx_video/", "ltx_video/inference.py"},
		Sources: program.Sources{"LTX-Video/ltx_video/inference.py": "--offload_to_cpu --num_frames --height --width --pipeline_config", "LTX-Video/configs/ltxv-13b-0.9.8-distilled-fp8.yaml": "precision"},
		Steps: steps{
			"use_smaller_model": step.Paste("text", "Use `--pipeline_config configs/ltxv-2b-0.9.8-distilled.yaml` instead of a 13B one."),
			"use_lower_quant":   step.Paste("text", "Use `--pipeline_config configs/ltxv-13b-0.9.8-distilled-fp8.yaml` (needs its kernels, q8_kernels, and an RTX 40 or later)."),
			"cpu_offload":       step.Paste("text", "Add `--offload_to_cpu True`: it takes effect on cards below 30 GB only."),
			"lower_resolution":  step.Paste("text", "Use `--height 512 --width 704 --num_frames 73` (sides of 32, frames 8k+1; default 704 x 1216, 121)."),
		},
		Remedies: order("use_smaller_model", "cpu_offload", "lower_resolution", "use_lower_quant"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			part("ltx-video/decode", []string{"vae_decode", "autoencoders/vae", "causal_video_autoencoder"}, cause.BatchTooLarge, "ran out of GPU memory in the VAE", "The VAE takes all frames at full size in one piece.", "Fewer steps: they cost time, not memory.", "LTX-Video/ltx_video/models/autoencoders/vae_encode.py", theirs("lower_resolution", "cpu_offload")...),
			made("ltx-video/run", cause.ModelTooLarge, "13B is 26 GB at 16 bit, with T5-XXL (9 GB) beside it unless it is offloaded; 2B is 4 to 6. Multi-scale configs generate the clip twice, the second time at full size.", "Fewer steps: they cost time, not memory.", "LTX-Video/ltx_video/inference.py", theirs("use_smaller_model", "cpu_offload", "lower_resolution")...),
		},
	}
	// SkyReels is Skywork's, on Wan.
	SkyReels = program.Program{
		Name: "skyreels", Shown: "SkyReels-V2", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"SkyReels-V2/", "skyreels_v2_infer/", "SkyReels-V1/", "generate_video_df.py"},
		Sources: program.Sources{"SkyReels-V2/generate_video_df.py": "--nproc_per_node --seed --offload --base_num_frames --num_frames --resolution --model_id --overlap_history --use_usp", "SkyReels-V2/README.md": "540P"},
		Steps: steps{
			"cpu_offload":       step.Paste("text", "Add `--offload`."),
			"lower_resolution":  step.Paste("text", "Use `--resolution 540P`; generate_video_df.py: `--base_num_frames 77`, then 57 (default 97): the clip keeps its length, but is generated in shorter pieces. generate_video.py: `--num_frames 49`."),
			"use_smaller_model": step.Paste("text", "Use `--model_id Skywork/SkyReels-V2-DF-1.3B-540P`: 14.7 GB at 540P instead of 44 to 51."),
			"multi_gpu":         step.Paste("text", "`torchrun --nproc_per_node=2 generate_video_df.py --use_usp --seed 42` with your other options: each GPU still holds the model."),
		},
		Titles:   map[string]string{"lower_resolution": "Lower the resolution and the frames at once"},
		Remedies: order("cpu_offload", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{made("skyreels/run", cause.ModelTooLarge, "By its README the 1.3B model takes 14.7 GB at 540P, the 14B model 43 (image to video) to 51 GB (diffusion forcing).", "A shorter clip with diffusion forcing: `--base_num_frames` decides how many frames go through at once.", "SkyReels-V2/README.md", theirs("cpu_offload", "lower_resolution", "use_smaller_model")...)},
	}
	// DynamiCrafter moves a picture.
	DynamiCrafter = program.Program{
		Name: "dynamicrafter", Rank: above, Shown: "DynamiCrafter", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"/DynamiCrafter/", "DynamiCrafter/lvdm/", "DynamiCrafter/scripts/"},
		Sources: program.Sources{"DynamiCrafter/scripts/evaluation/inference.py": "--perframe_ae --video_length --height --width"},
		Steps: steps{
			"vae_tiling":        step.Paste("text", "Add `--perframe_ae`: frames are decoded one by one (run.sh has it for 512 and 1024)."),
			"use_smaller_model": step.Paste("text", "The 512 model (12.8 GB at 320 x 512) or 256 (11.9) instead of 1024 (18.3 at 576 x 1024), as its README counts; ComfyUI's wrapper runs bf16 files on 8 to 10."),
		},
		Titles:   map[string]string{"vae_tiling": "Decode frame by frame"},
		Remedies: order("vae_tiling", "use_smaller_model"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("dynamicrafter/step", "It failed in a training step: 16 frames of a clip go through a model with image and motion layers.", "", "DynamiCrafter/configs/training_512_v1.0/config.yaml", cure("lower_batch_size", "Batch size 1, accumulate gradients", "text", "In the YAML: `batch_size: 1`, `accumulate_grad_batches: 2`; `use_checkpoint: True`.", "Slower.")),
			made("dynamicrafter/run", cause.BatchTooLarge, "16 frames go through at once, with 32-bit weights. Decoding them together needs the most unless `--perframe_ae` is set.", "Fewer steps: they cost time, not memory.", "DynamiCrafter/README.md", theirs("vae_tiling", "use_smaller_model")...),
		},
	}
	// HunyuanDiT is Tencent's.
	HunyuanDiT = program.Program{
		Name: "hunyuandit", Shown: "HunyuanDiT", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"HunyuanDiT/", "hydit/"},
		Sources: program.Sources{"HunyuanDiT/hydit/config.py": "--no-enhance --load-4bit --image-size --batch-size --gradient-checkpointing --cpu-offloading --grad-accu-steps --use-fp16 --infer-mode"},
		Steps: steps{
			"use_smaller_model":      step.Paste("text", "Add `--no-enhance`: without DialogGen, the language model that rewrites prompts; or `--load-4bit` for it (22 GB in all)."),
			"lowvram_mode":           step.Paste("text", "lite/inference.py (diffusers, T5 at 8 bit) needs 6 GB."),
			"lower_resolution":       step.Paste("text", "Use `--image-size 768 768`."),
			"gradient_checkpointing": step.Paste("text", "Add `--gradient-checkpointing`."),
			"lower_batch_size":       step.Paste("text", "Use `--batch-size 1 --grad-accu-steps 4`, and `--cpu-offloading` if it is still too much."),
		},
		Titles:   map[string]string{"use_smaller_model": "Turn off the prompt rewriter (`--no-enhance`)"},
		Costs:    map[string]string{"use_smaller_model": "Prompts are taken as they are."},
		Remedies: order("use_smaller_model", "lowvram_mode", "lower_resolution"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("hunyuandit/step", "By its README training all weights needs 20 GB with all memory options on, 30 without offloading. A LoRA needs about 16 GB in kohya's trainer.", "", "HunyuanDiT/README.md", theirs("gradient_checkpointing", "lower_batch_size", "lower_resolution")...),
			made("hunyuandit/run", cause.ModelTooLarge, "The image model alone needs 11 GB; DialogGen, which rewrites the prompt, brings it to 32 GB, or 22 at 4 bit.", "Fewer steps: they cost time, not memory.", "HunyuanDiT/README.md", theirs("use_smaller_model", "lowvram_mode", "lower_resolution")...),
		},
	}
	// Talking and moving faces.
	LivePortrait = program.Program{
		Name: "liveportrait", Shown: "LivePortrait", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"LivePortrait/src/", "LivePortrait/inference", "LivePortrait/app", "src/live_portrait_pipeline.py", "src/live_portrait_wrapper.py"},
		Sources: program.Sources{"LivePortrait/src/config/argument_config.py": "--source_max_dim --flag_force_cpu --flag_do_torch_compile --flag_use_half_precision --flag_crop_driving_video"},
		Steps: steps{
			"lower_resolution": step.Paste("text", "Use `--source_max_dim 720` (default 1280): the frames that are pasted back; a driving video of 512 x 512 pixels or smaller."),
			"stream_dataset":   step.Paste("text", "All frames of the driving video and all results are in RAM until the end."),
			"cpu_offload":      step.Paste("text", "Use `--flag_force_cpu` (slow)."),
		},
		Titles:   map[string]string{"stream_dataset": "Use a shorter driving video", "cpu_offload": "Run it on the CPU"},
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: inUse("close_other_apps", "lower_resolution", "cpu_offload"), cause.ModelTooLarge: inUse("close_other_apps", "lower_resolution", "cpu_offload"), cause.HostMemory: apps.SwapOrPage(cause.InOrder("stream_dataset", "lower_resolution", "raise_pagefile", "add_swap")), cause.Unknown: inUse("close_other_apps", "lower_resolution")},
		Like:     []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			filledRAM("liveportrait/frames", "It reads all frames of the driving (and source) video into RAM and keeps every result until the video is written: 2.7 MB a frame at 1280 x 720, several times over.", "", "LivePortrait/src/live_portrait_pipeline.py", theirs("stream_dataset", "lower_resolution")...),
			made("liveportrait/run", cause.BatchTooLarge, "Its networks need 2 to 4 GB: they work on faces of 256 x 256, one frame after another. If a larger GPU is full, another program is the likelier reason.", "A shorter video: it goes through the GPU frame by frame.", "LivePortrait/src/config/inference_config.py", append([]cause.Cure{lookAtCard}, theirs("lower_resolution")...)...),
		},
	}
	SadTalker = program.Program{
		Name: "sadtalker", Shown: "SadTalker", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"SadTalker", "src/facerender/", "facerender/animate.py", "audio2exp_models/"},
		Sources: program.Sources{"SadTalker/inference.py": "--batch_size --size --enhancer --background_enhancer --preprocess --cpu"},
		Steps: steps{
			"lower_batch_size":  step.Paste("text", "Use `--batch_size 1` (default 2; the page's slider: batch size in generation)."),
			"lower_resolution":  step.Paste("text", "Use `--size 256` instead of 512, `--preprocess crop` instead of full, and an image of 1000 pixels or smaller."),
			"use_smaller_model": step.Paste("text", "Leave out `--enhancer gfpgan` and `--background_enhancer realesrgan`, and enhance the finished video in a second run."),
			"stream_dataset":    step.Paste("text", "Make the video in parts of a minute: all frames are in RAM until it is written."),
		},
		Titles:   map[string]string{"use_smaller_model": "Turn off the enhancers", "stream_dataset": "Use shorter audio"},
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: inUse("lower_batch_size", "lower_resolution", "use_smaller_model"), cause.ModelTooLarge: inUse("lower_batch_size", "use_smaller_model", "lower_resolution"), cause.HostMemory: cause.InOrder("stream_dataset", "lower_resolution", "use_smaller_model"), cause.Unknown: inUse("lower_batch_size", "use_smaller_model", "lower_resolution")},
		Like:     []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			filledRAM("sadtalker/frames", "All frames of the video, 25 a second, are in RAM until it is written; with `--preprocess full` at the size of the whole image, and again if an enhancer works on them.", "A smaller batch: it saves GPU memory.", "SadTalker/src/facerender/animate.py",
				cause.Cure{Fix: "lower_resolution", If: calls.LargePicture, Title: "Use a smaller picture", Told: "Scale it to about 1,000 pixels before it goes in. Each frame is as large as the picture: half of its width and height is a quarter of the RAM.", Cost: "detail"},
				cause.Cure{Fix: "stream_dataset", If: when.Not(calls.LargePicture)}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "use_smaller_model"}, cause.Cure{Fix: "stream_dataset"}),
			part("sadtalker/enhance", []string{"face_enhancer.py", "gfpgan/utils.py", "restorer.enhance("}, cause.BatchTooLarge, "ran out of GPU memory in the enhancer", "The enhancer takes each finished frame at its own size, with tiles of 400 pixels for the background.", "", "SadTalker/src/utils/face_enhancer.py", theirs("use_smaller_model", "lower_resolution")...),
			made("sadtalker/render", cause.BatchTooLarge, "The face renderer takes `--batch_size` frames of 256 or 512 pixels at once.", "Shorter audio: frames go through the GPU batch after batch.", "SadTalker/inference.py", theirs("lower_batch_size", "lower_resolution", "use_smaller_model")...),
		},
	}
	Wav2Lip = program.Program{
		Name: "wav2lip", Shown: "Wav2Lip", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"Wav2Lip", "wav2lip_train.py", "Recovering from OOM error; New batch size", "Image too big to run face detection on GPU"},
		Sources: program.Sources{"Wav2Lip/inference.py": "--resize_factor --face_det_batch_size --wav2lip_batch_size --crop --box"},
		Steps: steps{
			"lower_resolution": step.Paste("text", "Add `--resize_factor 2` (half the width and height), then 4."),
			"lower_batch_size": step.Paste("text", "Add `--face_det_batch_size 4 --wav2lip_batch_size 32` (default 16 and 128)."),
			"stream_dataset":   step.Paste("text", "Parts of a minute: all frames of a video are in RAM."),
		},
		Titles:   map[string]string{"lower_resolution": "Scale the frames down (`--resize_factor`)", "stream_dataset": "Process the video in parts"},
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: inUse("lower_resolution", "lower_batch_size", "close_other_apps"), cause.OversizedAllocation: inUse("lower_resolution", "lower_batch_size"), cause.ModelTooLarge: inUse("lower_resolution", "lower_batch_size", "close_other_apps"), cause.HostMemory: cause.InOrder("stream_dataset", "lower_resolution"), cause.Unknown: inUse("lower_resolution", "lower_batch_size", "close_other_apps")},
		Like:     []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			filledRAM("wav2lip/frames", "It reads all frames of the video into RAM before it begins, at their own size: 6 MB a frame at 1080p, 9 GB a minute at 25 frames a second.", "A smaller batch: it saves GPU memory.", "Wav2Lip/inference.py", theirs("lower_resolution", "stream_dataset")...),
			part("wav2lip/detect", []string{"face_detect", "face_detection/", "get_detections_for_batch", "Image too big to run face detection"}, cause.BatchTooLarge, "ran out of GPU memory while looking for faces", "The face detector takes whole frames at their own size. After each refusal Wav2Lip halves that batch size itself (\"Recovering from OOM error\"); at 1 it stops and asks for `--resize_factor`.", "", "Wav2Lip/inference.py", theirs("lower_resolution")...),
			trained("wav2lip/step", "It failed in a training step: `batch_size` windows of five frames (16 by default, SyncNet 64).", "", "Wav2Lip/hparams.py", cure("lower_batch_size", "Lower the batch size", "text", "In hparams.py: `batch_size=4`, `syncnet_batch_size=16`.", "Slower; quality may suffer.")),
			made("wav2lip/run", cause.BatchTooLarge, "Its own network takes 128 mouths of 96 x 96 at once by default, which is little. Face detection on large frames needs more.", "Shorter audio: batches go through the GPU one after another.", "Wav2Lip/inference.py", theirs("lower_batch_size", "lower_resolution")...),
		},
	}
	MuseTalk = program.Program{
		Name: "musetalk", Shown: "MuseTalk", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"MuseTalk/", "musetalk/"},
		Sources: program.Sources{"MuseTalk/scripts/inference.py": "--batch_size --use_float16 --gpu_id", "MuseTalk/configs/training/stage2.yaml": "train_bs n_sample_frames gradient_accumulation_steps"},
		Steps: steps{
			"half_precision":   step.Paste("text", "Add `--use_float16` (inference.py and app.py): 4 GB are enough then, by its README."),
			"lower_batch_size": step.Paste("text", "Use `--batch_size 4` (default 8; realtime 20)."),
			"lower_resolution": step.Paste("text", "A smaller or shorter video: all of its frames are in RAM."),
		},
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: inUse("lower_batch_size", "half_precision", "close_other_apps"), cause.ModelTooLarge: inUse("half_precision", "lower_batch_size", "close_other_apps"), cause.HostMemory: apps.SwapOrPage(cause.InOrder("lower_resolution", "raise_pagefile", "add_swap")), cause.Unknown: inUse("half_precision", "lower_batch_size", "close_other_apps")},
		Like:     []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("musetalk/step", "It failed in training. Its README counts, on each of eight cards, 32 GB at batch 8 and 74 at 32 for stage 1; 54 GB at batch 1 for stage 2, which trains on 16 frames with two discriminators.", "", "MuseTalk/README.md", cure("lower_batch_size", "Lower the batch size, accumulate gradients", "text", "In the stage's YAML: half of `train_bs`, twice `gradient_accumulation_steps`; stage 2 also fewer `n_sample_frames`.", "Slower.")),
			filledRAM("musetalk/frames", "All frames of the video and their latents are kept until the result is written.", "A smaller batch: it saves GPU memory.", "MuseTalk/scripts/inference.py", theirs("lower_resolution")...),
			made("musetalk/run", cause.BatchTooLarge, "`--batch_size` faces of 256 x 256 go through UNet and VAE at once, at 32 bit by default, beside Whisper and the pose model.", "Shorter audio: batches go through the GPU one after another.", "MuseTalk/scripts/inference.py", theirs("half_precision", "lower_batch_size")...),
		},
	}
	LatentSync = program.Program{
		Name: "latentsync", Shown: "LatentSync", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"LatentSync/", "latentsync/"},
		Sources: program.Sources{"LatentSync/README.md": "configs/unet", "LatentSync/scripts/inference.py": "--unet_config_path --inference_ckpt_path"},
		Steps: steps{
			"use_smaller_model": step.Paste("text", "Version 1.5 (8 GB; 256 x 256) instead of 1.6 (18 GB; 512 x 512): its checkpoint with `--unet_config_path configs/unet/stage2.yaml`."),
			"lower_batch_size":  step.Paste("text", "configs/unet/stage2_efficient.yaml needs 20 GB where stage2.yaml needs 30 and stage2_512.yaml 55."),
			"stream_dataset":    step.Paste("text", "Parts of half a minute: all frames of a video are in RAM."),
		},
		Titles:   map[string]string{"use_smaller_model": "Use the 256-pixel version (1.5)", "stream_dataset": "Process the video in parts", "lower_batch_size": "Use the efficient config"},
		Costs:    map[string]string{"use_smaller_model": "Teeth and lips are less sharp.", "stream_dataset": "Joining the parts.", "lower_batch_size": "Slightly worse."},
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: inUse("use_smaller_model", "close_other_apps"), cause.ModelTooLarge: inUse("use_smaller_model", "close_other_apps"), cause.HostMemory: apps.SwapOrPage(cause.InOrder("stream_dataset", "raise_pagefile", "add_swap")), cause.Unknown: inUse("use_smaller_model", "close_other_apps")},
		Like:     []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("latentsync/step", "It failed in training. Its README counts 23 GB for stage 1, 30 for stage 2, 55 for stage 2 at 512 x 512, with a batch of one clip of 16 frames.", "", "LatentSync/README.md", theirs("lower_batch_size")...),
			filledRAM("latentsync/frames", "All frames of the video are read, aligned and pasted back in RAM, in several copies: long or 4K videos fill it.", "", "LatentSync/latentsync/pipelines/lipsync_pipeline.py", theirs("stream_dataset")...),
			made("latentsync/run", cause.ModelTooLarge, "Its README counts 8 GB for version 1.5 and 18 for 1.6, at 16 bit. Cards before compute capability 8 run it at 32 bit, which needs twice that.", "A shorter video: 16 frames go through the GPU at a time.", "LatentSync/README.md", theirs("use_smaller_model", "close_other_apps")...),
		},
	}
	// Clothes and faces in pictures.
	IDMVTON = program.Program{
		Name: "idm-vton", Shown: "IDM-VTON", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"IDM-VTON", "unet_hacked_tryon", "unet_hacked_garmnet", "tryon_pipeline"},
		Sources: program.Sources{"IDM-VTON/train_xl.py": "--train_batch_size --gradient_checkpointing --gradient_accumulation_steps --mixed_precision --width --height --use_8bit_adam --test_batch_size", "IDM-VTON/inference.py": "--test_batch_size --mixed_precision"},
		Steps: steps{
			"lower_batch_size":       apps.ByPhase(step.Step{Kind: "text", Text: "Use `--train_batch_size 1 --gradient_accumulation_steps 6` (default 6 a card)."}, step.Step{Kind: "text", Text: "Use `--test_batch_size 1` (default 2)."}),
			"gradient_checkpointing": step.Paste("text", "Add `--gradient_checkpointing`."),
			"mixed_precision":        step.Paste("text", "Add `--mixed_precision fp16`."),
			"lower_resolution":       step.Paste("text", "Use `--width 384 --height 512` (default 768 x 1024)."),
			"cpu_offload":            step.Paste("python", "pipe.enable_model_cpu_offload()   # gradio_demo/app.py, instead of pipe.to(device); unet_encoder has to be moved by hand: pipe.unet_encoder.to(device)"),
		},
		Titles: map[string]string{"mixed_precision": "Compute at 16 bit"}, Remedies: order("lower_batch_size", "mixed_precision", "lower_resolution", "cpu_offload"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("idm-vton/step", "It failed in training, with two SDXL UNets (the garment's is frozen), IP-Adapter and image encoder. The defaults are meant for 80 GB.", "", "IDM-VTON/train_xl.py", theirs("gradient_checkpointing", "lower_batch_size", "mixed_precision")...),
			made("idm-vton/run", cause.ModelTooLarge, "Two SDXL UNets of 5 GB each at 16 bit, two text encoders, an image encoder, in the demo also DensePose, OpenPose and a parser, are all on the GPU: about 18 GB at 768 x 1024.", "Fewer steps: they cost time, not memory.", "IDM-VTON/gradio_demo/app.py", theirs("lower_batch_size", "mixed_precision", "cpu_offload")...),
		},
	}
	OOTDiffusion = program.Program{
		Name: "ootdiffusion", Shown: "OOTDiffusion", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"OOTDiffusion/", "run_ootd.py", "gradio_ootd.py", "pipelines_ootd/", "inference_ootd"},
		Sources: program.Sources{"OOTDiffusion/run/run_ootd.py": "--sample --gpu_id --model_type --step"},
		Steps: steps{
			"lower_batch_size": step.Paste("text", "Add `--sample 1` to your command of run_ootd.py (default 4 images at once); the page: Images 1."),
			"select_gpu":       step.Paste("text", "Use `--gpu_id 1` for another GPU; gradio_ootd.py expects two cards (hd on 0, dc on 1): with one GPU load only one of the two models."),
		},
		Titles:   map[string]string{"lower_batch_size": "Generate one image at a time (`--sample 1`)", "select_gpu": "Use another GPU"},
		Remedies: order("lower_batch_size", "select_gpu", "close_other_apps"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{made("ootdiffusion/run", cause.BatchTooLarge, "`--sample` images of 768 x 1024 (4 by default) are generated at once, by two UNets at 16 bit. Pose and parsing models share the GPU.", "Fewer steps: they cost time, not memory.", "OOTDiffusion/run/run_ootd.py", theirs("lower_batch_size", "select_gpu")...)},
	}
	InstantID = program.Program{
		Name: "instantid", Shown: "InstantID", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"InstantID/infer", "InstantID/gradio_demo", "pipeline_stable_diffusion_xl_instantid"},
		Sources: program.Sources{"InstantID/README.md": "enable_model_cpu_offload enable_vae_tiling"},
		Steps: steps{
			"cpu_offload":      step.Paste("python", "pipe.enable_model_cpu_offload()   # and no pipe.cuda()\npipe.enable_vae_tiling()"),
			"lowvram_mode":     step.Paste("python", "pipe.enable_sequential_cpu_offload()   # and no pipe.cuda()\npipe.enable_vae_tiling()"),
			"vae_tiling":       step.Paste("python", "pipe.enable_vae_tiling()"),
			"lower_resolution": step.Paste("python", "face_image = resize_img(face_image, max_side=1024, min_side=768)   # the result has this size"),
		},
		Remedies: order("cpu_offload", "vae_tiling", "lower_resolution", "lowvram_mode"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{made("instantid/run", cause.ModelTooLarge, "SDXL with a ControlNet and an image adapter at 16 bit takes 12 GB and more. InsightFace's ONNX models take memory of the GPU outside PyTorch.", "Fewer steps: they cost time, not memory.", "InstantID/README.md", theirs("cpu_offload", "vae_tiling", "lower_resolution")...)},
	}
)
