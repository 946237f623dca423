package makers

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
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
			"cpu_offload":       step.Paste("text", "Add `--offload` to your command (demo_st.py: the checkbox \"Offload to CPU\"). Text encoders, transformer and VAE then take turns; the largest needs 24 GB."),
			"use_lower_quant":   step.Paste("text", "Run the model in ComfyUI, Forge or diffusers in 8 or 4 bit, which fits on 8 to 16 GB. This code has only 16 bit."),
			"lower_resolution":  halved("`--width 768 --height 512` (default 1360 x 768). It helps only once the weights fit."),
			"use_smaller_model": step.Paste("text", "No smaller model: `--name flux-schnell` has as many weights as dev."),
		},
		Useless:  futile(near("--offload"), "cpu_offload"),
		Remedies: order("cpu_offload", "use_lower_quant", "lower_resolution", "close_other_apps"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			weights("flux/ram", "It reads the transformer (24 GB in 16 bit) and the T5 text encoder (9 GB) through RAM. With `--offload` they wait there, too, so 32 GB of RAM are hardly enough.", "flux/src/flux/util.py", theirs("use_lower_quant")...),
			already("flux/offloaded", []string{"--offload"}, cause.ModelTooLarge, "`--offload` is on, so only one model is on the GPU at a time. The largest is the transformer: 24 GB in 16 bit, and its work comes on top.", "schnell instead of dev: it has as many weights. Fewer steps: they save time, not memory.", "flux/src/flux/cli.py", theirs("use_lower_quant", "lower_resolution", "close_other_apps")...),
			made("flux/weights", cause.ModelTooLarge, "The transformer takes 24 GB in 16 bit, the T5 text encoder 9 GB. Without `--offload` both are on the GPU at once. Even with it, a 24 GB GPU can be a little short.", "schnell instead of dev: it has as many weights. Fewer steps: they save time, not memory.", "flux/src/flux/cli.py", theirs("cpu_offload", "use_lower_quant")...),
		},
	}
	// GenerativeModels is Stability's repository: Stable Video Diffusion, SV3D, SV4D.
	GenerativeModels = program.Program{
		Name: "generative-models", Rank: above, Shown: "Stable Video Diffusion", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"generative-models/", "simple_video_sample", "demo/video_sampling.py", "sv4d_helpers.py"},
		Sources: program.Sources{"generative-models/scripts/sampling/simple_video_sample.py": "--decoding_t --num_frames --version", "generative-models/scripts/sampling/simple_video_sample_4d.py": "--encoding_t"},
		Steps: steps{
			"vae_tiling":       step.Paste("text", "Add `--decoding_t 1` to your simple_video_sample.py command (default 14 frames at once). For SV4D also `--encoding_t 1`. Web page: \"Decode n frames at a time\" 1, Low vram mode on."),
			"lower_resolution": step.Paste("text", "Use `--num_frames 14` with the version svd instead of svd_xt, and an image of 768 x 432 instead of 1024 x 576."),
			"lowvram_mode":     step.Paste("text", "Use diffusers' StableVideoDiffusionPipeline with `enable_model_cpu_offload()` and `decode_chunk_size=2`: under 8 GB. On the Streamlit page, turn on Low vram mode."),
		},
		Titles:   map[string]string{"vae_tiling": "Decode one frame at a time (`--decoding_t 1`)", "lower_resolution": "Make fewer or smaller frames"},
		Useless:  both(clues.Useless(clues.Shows("model.sampler(", "diffusionmodules/sampling.py", "model.cuda()", "load_model"), "no frame was decoded yet", "vae_tiling"), futile(near("--decoding_t 1 -"), "vae_tiling")),
		Remedies: order("lower_resolution", "lowvram_mode", "vae_tiling"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			already("generative-models/one-frame", []string{"--decoding_t 1 -"}, cause.BatchTooLarge, "`--decoding_t 1` decodes one frame at a time already. The rest is the whole model on the GPU, and all frames of the clip in the sampler.", "Fewer steps: they save time, not memory.", "generative-models/scripts/sampling/simple_video_sample.py", theirs("lowvram_mode", "lower_resolution")...),
			part("generative-models/decode", []string{"decode_first_stage", "temporal_ae.py"}, cause.BatchTooLarge, "ran out of GPU memory in the VAE", "The VAE decodes `decoding_t` frames at once (default 14). That takes most of the memory, a comment in the script says.", "Fewer steps: they save time, not memory.", "generative-models/scripts/sampling/simple_video_sample.py", theirs("vae_tiling", "lower_resolution")...),
			made("generative-models/sample", cause.BatchTooLarge, "All frames (14 or 25, at 1024 x 576) are generated together, with the whole model on the GPU.", "Fewer steps: they save time, not memory.", "generative-models/README.md", theirs("lower_resolution", "lowvram_mode", "vae_tiling")...),
		},
	}
	// DeepFloyd is IF.
	DeepFloyd = program.Program{
		Name: "deepfloyd-if", Shown: "DeepFloyd IF", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"deepfloyd_if/", "DeepFloyd/IF-I", "pipelines/deepfloyd_if/", "IFPipeline"},
		Sources: program.Sources{"IF/README.md": "T5Embedder enable_model_cpu_offload"},
		Steps: steps{
			"cpu_offload":       step.Paste("python", "stage_1.enable_model_cpu_offload()   # diffusers; the same for stage_2 and stage_3, and no .to(\"cuda\")\n# its own code: t5 = T5Embedder(device=\"cpu\")"),
			"lowvram_mode":      step.Paste("text", "Run one stage after another. Compute the T5 embeddings first (`load_in_8bit=True`), `del` the encoder and call `torch.cuda.empty_cache()`, then load stage 1, and so on."),
			"use_smaller_model": step.Paste("text", "Use IF-I-L (0.9B) or IF-I-M instead of IF-I-XL (4.3B), and leave out the third stage."),
		},
		Remedies: order("cpu_offload", "lowvram_mode", "use_smaller_model"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			weights("deepfloyd-if/ram", "The T5-XXL text encoder passes through RAM while it loads: about 9 GB in 16 bit, 20 GB in 32 bit, and the stages after it.", "IF/README.md",
				cure("half_precision", "Load the 16-bit files, T5 in 8 bit", "python", "text_encoder = T5EncoderModel.from_pretrained(\"DeepFloyd/IF-I-XL-v1.0\", subfolder=\"text_encoder\", device_map=\"auto\", load_in_8bit=True, variant=\"8bit\")\npipe = DiffusionPipeline.from_pretrained(\"DeepFloyd/IF-I-XL-v1.0\", text_encoder=text_encoder, unet=None, device_map=\"auto\")   # needs bitsandbytes", "Hardly any quality."),
				cause.Cure{Fix: "use_smaller_model"}),
			part("deepfloyd-if/upscale", []string{"pipeline_stable_diffusion_upscale.py"}, cause.BatchTooLarge, "ran out of GPU memory in the third stage", "The third stage is Stable Diffusion's upscaler. It makes 1024 x 1024 pixels, and its VAE decodes them at once.", "Offloading the text encoder: it has done its work.", "IF/README.md",
				cure("vae_tiling", "Slice attention and tile the VAE of stage 3", "python", "stage_3.enable_attention_slicing()\nstage_3.vae.enable_tiling()\nstage_3.enable_model_cpu_offload()", "A little time."),
				cause.Cure{Fix: "lowvram_mode"}, cure("use_smaller_model", "Leave the third stage out", "text", "Keep the 256-pixel image of stage 2, or enlarge it in another program.", "Detail.")),
			made("deepfloyd-if/stages", cause.ModelTooLarge, "The text encoder, T5-XXL, is the largest part: about 9 GB in 16 bit, 20 GB in 32 bit. Three diffusion stages come on top: 16 GB for the first two and 24 GB with the third, its README says, with T5 on the CPU.", "Smaller images: the stages have fixed sizes.", "IF/README.md", theirs("cpu_offload", "lowvram_mode", "use_smaller_model")...),
		},
	}
	// PixArt is PixArt-alpha and Sigma.
	PixArt = program.Program{
		Name: "pixart", Shown: "PixArt", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"PixArt-alpha/", "PixArt-sigma/", "PixArt-Sigma/", "diffusion/model/nets/PixArt", "train_scripts/train.py"},
		Sources: program.Sources{"PixArt-alpha/configs/pixart_config/PixArt_xl2_img1024_internalms.py": "train_batch_size grad_checkpointing gradient_accumulation_steps num_workers", "PixArt-alpha/scripts/inference.py": "--image_size --bs"},
		Steps: steps{
			"gradient_checkpointing": step.Paste("text", "In the config: `grad_checkpointing = True`."),
			"lower_batch_size":       kit.ByPhase(step.Step{Kind: "text", Text: "In the config: `train_batch_size = 2`, `gradient_accumulation_steps = 4` (the config has 12, for 80 GB)."}, step.Step{Kind: "text", Text: "Use `--bs 1`."}),
			"lower_resolution":       step.Paste("text", "Use the 512 config and weights (`--image_size 512` for inference)."),
			"lowvram_mode":           kit.ByPhase(step.Step{Kind: "text", Text: "Extract T5 and VAE features once with tools/extract_features.py, so that neither is on the GPU while training."}, step.Step{Kind: "text", Text: "Use diffusers' PixArtAlphaPipeline: 11 GB, or under 8 GB with T5 in 8 bit. This repository needs 23 GB."}),
		},
		Titles:   map[string]string{"lowvram_mode": "Keep T5 off the GPU"},
		Useless:  both(futile(near("grad_checkpointing = True"), "gradient_checkpointing"), futile(func(c *ledger.Case) bool { return !c.Training() }, "gradient_checkpointing")),
		Remedies: order("gradient_checkpointing", "lower_batch_size", "lowvram_mode", "lower_resolution"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			checkpointed("pixart/checkpointed", []string{"grad_checkpointing = True"}, "Gradient checkpointing is on. All weights are trained, with two numbers of the optimizer for each, and T5 (9 GB) may be on the GPU beside them.", "PixArt-alpha/configs/pixart_config/PixArt_xl2_img1024_internalms.py", theirs("lowvram_mode", "lower_batch_size", "lower_resolution")...),
			trained("pixart/step", "The configs train all weights and are meant for 80 GB GPUs.", "", "PixArt-alpha/configs/pixart_config/PixArt_xl2_img1024_internalms.py", theirs("gradient_checkpointing", "lower_batch_size", "lowvram_mode")...),
			made("pixart/run", cause.ModelTooLarge, "The T5-XXL text encoder takes nearly 9 GB in 16 bit, far more than the image model (0.6B). With both on the GPU this repository needs 23 GB.", "Fewer steps: they save time, not memory.", "PixArt-alpha/README.md", theirs("lowvram_mode", "lower_resolution")...),
		},
	}
	// AnimateDiff is the repository, not the node pack or the extension.
	AnimateDiff = program.Program{
		Name: "animatediff", Shown: "AnimateDiff", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"/AnimateDiff/animatediff/", "AnimateDiff/scripts/", "AnimateDiff/train.py", "AnimateDiff/app.py", "animatediff/pipelines/pipeline_animation.py", "scripts.animate"},
		Sources: program.Sources{"AnimateDiff/scripts/animate.py": "--W --H --L --without-xformers", "AnimateDiff/configs/training/v1/training.yaml": "train_batch_size sample_size sample_n_frames"},
		Steps: steps{
			"lower_resolution": step.Paste("text", "Use `--W 384 --H 384` (default 512 x 512), then `--L 12` (16 frames)."),
			"lower_batch_size": step.Paste("text", "In the training YAML: `train_batch_size: 1`, `sample_size: 256`, `sample_n_frames: 8`."),
			"lowvram_mode":     step.Paste("text", "Use diffusers' AnimateDiffPipeline with `enable_model_cpu_offload()` and `enable_vae_slicing()`, or ComfyUI's AnimateDiff-Evolved. This code cannot offload."),
		},
		Remedies: order("lower_resolution", "lowvram_mode"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("animatediff/step", "Training memory grows with batch size x frames x image size.", "", "AnimateDiff/configs/training/v1/training.yaml", append(theirs("lower_batch_size"), cure("lower_context", "Train on fewer frames", "text", "In the training YAML halve `sample_n_frames` (16 in the examples).", "It learns shorter movements."))...),
			made("animatediff/run", cause.BatchTooLarge, "All frames are generated together, twice for guidance: 16 frames at 512 x 512 need about 12 GB with xformers, SDXL about 13 GB.", "Fewer steps: they save time, not memory.", "AnimateDiff/README.md", theirs("lower_resolution", "lowvram_mode")...),
		},
	}
	// OpenSora is HPC-AI's.
	OpenSora = program.Program{
		Name: "open-sora", Shown: "Open-Sora", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"Open-Sora/", "opensora/"},
		Sources: program.Sources{"Open-Sora/README.md": "--offload --num_frames --nproc_per_node --aspect_ratio", "Open-Sora/configs/diffusion/inference/256px.py": "resolution num_frames"},
		Steps: steps{
			"cpu_offload":      step.Paste("text", "Add `--offload True` to your command (2.0, with the t2i2v_256px.py config)."),
			"lower_resolution": clip("num_frames", 4, 49, "Use the 256px config instead of 768px, and `--num_frames {n}` (4k+1; default 129)."),
			"multi_gpu":        step.Paste("text", "Run `torchrun --nproc_per_node 4` with t2i2v_768px.py (sequence parallel): 44 GB on each of four GPUs instead of 60 GB on one, its README says."),
		},
		Useless:  both(clues.Useless(openSoraTooLarge, "version 2.0 still needs 44 GB or more on each GPU", "cpu_offload", "lower_resolution", "multi_gpu"), futile(near("--offload True"), "cpu_offload")),
		Remedies: order("cpu_offload", "lower_resolution", "multi_gpu"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("open-sora/step", "The buckets in the config set how many videos of which length and size form a batch. The largest bucket needs the most memory.", "", "Open-Sora/configs/diffusion/train/stage1.py", cure("lower_batch_size", "Lower the batch size of the largest buckets", "text", "In the config's `bucket_config`, set the batch of the largest sizes to 1, or leave those sizes out. Keep `grad_ckpt_settings` on.", "Slower.")),
			weights("open-sora/ram", "The 11B transformer takes 22 GB in 16 bit, T5 and the others 10 GB and more; with `--offload True` they wait in RAM. Each process reads its own copy.", "Open-Sora/README.md", cure("use_smaller_model", "Use version 1.2 (1.1B)", "text", "Its weights are a tenth as large. For version 2.0 plan 64 GB of RAM for each process.", "Quality.")),
			already("open-sora/offloaded", []string{"--offload True"}, cause.ModelTooLarge, "`--offload True` is on. Even so version 2.0 needs 52 GB at 256 x 256 and 60 GB at 768 on one GPU, its README says.", "Fewer steps: they save time, not memory.", "Open-Sora/README.md", append([]cause.Cure{{Fix: "use_smaller_model", If: openSoraTooLarge, Title: "Use version 1.2 (1.1B), or a GPU with 80 GB", Told: "No setting brings version 2.0 below {total}.", Cost: "Quality, or money."}}, theirs("multi_gpu", "lower_resolution")...)...),
			made("open-sora/run", cause.ModelTooLarge, "Version 2.0 is an 11B model plus T5, and FLUX for text input. On one GPU with offload it needs 52 GB at 256 x 256 and 60 GB at 768, its README says. Version 1.2 (1.1B) is smaller.", "Fewer steps: they save time, not memory.", "Open-Sora/README.md", append([]cause.Cure{{Fix: "use_smaller_model", If: openSoraTooLarge, Title: "Use version 1.2 (1.1B), or a GPU with 80 GB", Told: "Version 2.0 needs 52 GB even with `--offload True` at 256 x 256.", Cost: "Quality, or money."}}, theirs("cpu_offload", "lower_resolution", "multi_gpu")...)...),
		},
	}
	// Mochi is Genmo's.
	Mochi = program.Program{
		Name: "mochi", Shown: "Mochi 1", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"genmo/mochi_preview/", "genmoai/", "mochi/demos/", "If you want to force single GPU mode use CUDA_VISIBLE_DEVICES=0", "mochi/src/genmo/"},
		Sources: program.Sources{"mochi/demos/cli.py": "--cpu_offload --num_frames --width --height --model_dir", "mochi/README.md": "decode_type"},
		Steps: steps{
			"cpu_offload":      step.Paste("text", "Add `--cpu_offload` to your command (one GPU); in code `MochiSingleGPUPipeline(..., cpu_offload=True, decode_type=\"tiled_spatial\")`."),
			"lower_resolution": clip("num_frames", 6, 37, "Use `--num_frames {n}` (6k+1; default 163)."),
			"use_lower_quant":  step.Paste("text", "Run Mochi in ComfyUI (under 20 GB) or in diffusers with offload and tiling (22 GB). This code has only bf16."),
		},
		Titles:   map[string]string{"lower_resolution": "Make fewer frames"},
		Useless:  futile(near("--cpu_offload", "cpu_offload=True"), "cpu_offload"),
		Remedies: order("cpu_offload", "lower_resolution", "use_lower_quant"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("mochi/step", "The fine-tuner is made for 80 GB. Its README lists 50 GB for 37 frames, 64 GB for 61 and 80 GB for 85.", "", "mochi/demos/fine_tuner/README.md", cause.Cure{Fix: "bigger_gpu", If: clues.Below(40), Title: "Train on a GPU with 80 GB", Told: "No number of frames that its README lists fits into {total}.", Cost: "Money."},
				cause.Cure{Fix: "lower_resolution", If: when.Not(clues.Below(40)), Title: "Train on fewer frames", Kind: "text", Text: "Encode the videos again with fewer frames (25 or 37) and set the same number in the config.", Cost: "It learns shorter movements."}),
			weights("mochi/ram", "The 10B transformer takes 20 GB in 16 bit and T5-XXL 9 GB or more. They pass through RAM, and with `--cpu_offload` they wait there.", "mochi/README.md", cure("use_lower_quant", "Run Mochi in ComfyUI with fp8 files", "text", "They are half as large. This code has only bf16.", "Some quality.")),
			part("mochi/decode", []string{"decode_latents(", "decode_latents_tiled", "mochi_preview/vae/"}, cause.BatchTooLarge, "ran out of GPU memory in the VAE", "Sampling is done. The VAE decodes all frames; its command line does so with `decode_type` tiled_full, which needs more than tiled_spatial.", "Offloading the transformer: it has done its work.", "mochi/src/genmo/mochi_preview/pipelines.py",
				append(theirs("lower_resolution"), cure("vae_tiling", "Decode in spatial tiles", "text", "In demos/cli.py set `kwargs[\"decode_type\"] = \"tiled_spatial\"` instead of `\"tiled_full\"`.", "Slower."), cause.Cure{Fix: "use_lower_quant"})...),
			already("mochi/offloaded", []string{"--cpu_offload", "cpu_offload=True"}, cause.ModelTooLarge, "`--cpu_offload` is on, so one model is on the GPU at a time. The transformer alone takes 20 GB in 16 bit, and all frames are sampled together.", "Fewer steps: they save time, not memory.", "mochi/README.md", theirs("lower_resolution", "use_lower_quant")...),
			made("mochi/run", cause.ModelTooLarge, "Mochi is a 10B model with the T5-XXL text encoder: about 60 GB on one GPU without offload, its README says. Several GPUs split it.", "", "mochi/README.md", theirs("cpu_offload", "lower_resolution", "use_lower_quant")...),
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
			"cpu_offload":       step.Paste("text", "Add `--offload_to_cpu True`. It works only on GPUs with less than 30 GB."),
			"lower_resolution":  clip("num_frames", 8, 73, "Use `--num_frames {n}` (8k+1; default 121), then `--height 512` and `--width 704` (multiples of 32; default 704 x 1216)."),
		},
		Useless:  both(futile(near("--offload_to_cpu True"), "cpu_offload"), futile(near("ltxv-2b"), "use_smaller_model", "use_lower_quant")),
		Remedies: order("use_smaller_model", "cpu_offload", "lower_resolution", "use_lower_quant"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			part("ltx-video/decode", []string{"vae_decode", "autoencoders/vae", "causal_video_autoencoder"}, cause.BatchTooLarge, "ran out of GPU memory in the VAE", "The VAE decodes all frames at full size at once.", "Fewer steps: they save time, not memory.", "LTX-Video/ltx_video/models/autoencoders/vae_encode.py", theirs("lower_resolution", "cpu_offload")...),
			weights("ltx-video/ram", "The T5-XXL text encoder is read in 32 bit first (19 GB), then the transformer: 26 GB for the 13B model in 16 bit, 4 to 6 GB for the 2B model.", "LTX-Video/ltx_video/inference.py", theirs("use_smaller_model")...),
			already("ltx-video/small", []string{"ltxv-2b"}, cause.BatchTooLarge, "The 2B model takes only 4 to 6 GB. What fills the GPU beside it is the T5-XXL text encoder (9 GB), unless it is offloaded, and the frames: all of them are sampled together.", "Fewer steps: they save time, not memory.", "LTX-Video/ltx_video/inference.py", append(theirs("cpu_offload", "lower_resolution"), cure("lowvram_mode", "Run it in diffusers, with everything offloaded", "python", "pipe.enable_sequential_cpu_offload()   # LTXPipeline; and no .to(\"cuda\")\npipe.vae.enable_tiling()", "Slower."))...),
			already("ltx-video/offloaded", []string{"--offload_to_cpu True"}, cause.ModelTooLarge, "`--offload_to_cpu True` is on, so the text encoder waits in RAM. The transformer stays on the GPU: 26 GB for the 13B model in 16 bit.", "Fewer steps: they save time, not memory.", "LTX-Video/ltx_video/inference.py", theirs("use_smaller_model", "use_lower_quant", "lower_resolution")...),
			made("ltx-video/run", cause.ModelTooLarge, "The 13B model takes 26 GB in 16 bit, the 2B model 4 to 6 GB. The T5-XXL text encoder (9 GB) comes on top, unless it is offloaded. Multi-scale configs generate the clip twice, the second time at full size.", "Fewer steps: they save time, not memory.", "LTX-Video/ltx_video/inference.py", theirs("use_smaller_model", "cpu_offload", "lower_resolution")...),
		},
	}
	// SkyReels is Skywork's, on Wan.
	SkyReels = program.Program{
		Name: "skyreels", Shown: "SkyReels-V2", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"SkyReels-V2/", "skyreels_v2_infer/", "SkyReels-V1/", "generate_video_df.py"},
		Sources: program.Sources{"SkyReels-V2/generate_video_df.py": "--nproc_per_node --seed --offload --base_num_frames --num_frames --resolution --model_id --overlap_history --use_usp", "SkyReels-V2/README.md": "540P"},
		Steps: steps{
			"cpu_offload":       step.Paste("text", "Add `--offload`."),
			"lower_resolution":  step.Paste("text", "Use `--resolution 540P`. generate_video_df.py: lower `--base_num_frames` by steps of 20 (97 by default; 77, 57, 37): the clip keeps its length, in shorter segments. generate_video.py: fewer `--num_frames` (49)."),
			"use_smaller_model": step.Paste("text", "Use `--model_id Skywork/SkyReels-V2-DF-1.3B-540P`: 14.7 GB at 540P instead of 43 to 51."),
			"multi_gpu":         step.Paste("text", "Run `torchrun --nproc_per_node=2 generate_video_df.py --use_usp --seed 42` with your other options. Each GPU still holds the whole model."),
		},
		Titles:   map[string]string{"lower_resolution": "Lower the resolution and the frames per segment"},
		Useless:  both(futile(near("--offload"), "cpu_offload"), futile(near("1.3B-540P"), "use_smaller_model")),
		Remedies: order("cpu_offload", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			weights("skyreels/ram", "The 14B transformer takes 28 GB in 16 bit, twice that if its files are in 32, and the text encoder 11 GB. They pass through RAM, and with `--offload` they wait there.", "SkyReels-V2/README.md", theirs("use_smaller_model")...),
			already("skyreels/offloaded", []string{"--offload"}, cause.BatchTooLarge, "`--offload` is on. What is left is the transformer, 2.6 GB (1.3B) or 28 GB (14B) in 16 bit, and the frames of one segment. Its README lists 14.7 GB for 1.3B at 540P, and 43 to 51 GB for 14B.", "A shorter clip with diffusion forcing: memory depends on `--base_num_frames`.", "SkyReels-V2/README.md", append(theirs("lower_resolution", "use_smaller_model"), swapBlocks)...),
			already("skyreels/small", []string{"1.3B-540P"}, cause.ModelTooLarge, "The 1.3B model needs 14.7 GB at 540P, its README says; text encoder and VAE share the GPU with it unless you add `--offload`.", "A shorter clip with diffusion forcing: memory depends on `--base_num_frames`.", "SkyReels-V2/README.md", append(theirs("cpu_offload", "lower_resolution"), swapBlocks)...),
			made("skyreels/run", cause.ModelTooLarge, "Its README lists 14.7 GB for the 1.3B model at 540P, and 43 GB (image to video) to 51 GB (diffusion forcing) for the 14B model.", "A shorter clip with diffusion forcing: memory depends on `--base_num_frames`.", "SkyReels-V2/README.md", theirs("cpu_offload", "lower_resolution", "use_smaller_model")...),
		},
	}
	// DynamiCrafter moves a picture.
	DynamiCrafter = program.Program{
		Name: "dynamicrafter", Rank: above, Shown: "DynamiCrafter", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"/DynamiCrafter/", "DynamiCrafter/lvdm/", "DynamiCrafter/scripts/"},
		Sources: program.Sources{"DynamiCrafter/scripts/evaluation/inference.py": "--perframe_ae --video_length --height --width"},
		Steps: steps{
			"vae_tiling":        step.Paste("text", "Add `--perframe_ae`. Frames are then decoded one by one."),
			"use_smaller_model": step.Paste("text", "Use the 512 model (12.8 GB) or 256 (11.9 GB) instead of 1024 (18.3 GB). ComfyUI's wrapper with bf16 files needs 8 to 10 GB."),
		},
		Titles:   map[string]string{"vae_tiling": "Decode frame by frame"},
		Useless:  both(clues.Useless(clues.Shows("samplers/ddim.py", "model.cuda(", "load_model_checkpoint"), "no frame was decoded yet", "vae_tiling"), futile(near("--perframe_ae"), "vae_tiling")),
		Remedies: order("vae_tiling", "use_smaller_model"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("dynamicrafter/step", "Each training sample is a clip of 16 frames, all processed together.", "", "DynamiCrafter/configs/training_512_v1.0/config.yaml", cure("lower_batch_size", "Batch size 1, accumulate gradients", "text", "In the YAML: `batch_size: 1`, `accumulate_grad_batches: 2`, `use_checkpoint: True`.", "Slower.")),
			part("dynamicrafter/attention", []string{"sim = torch.einsum('b i d, b j d -> b i j', q, k)"}, cause.BatchTooLarge, "ran out of GPU memory in attention, without xformers", "The failing line is used only where xformers is not installed: it keeps the scores of every position with every other. 1024 x 576 pixels need the most.", "Fewer steps: they save time, not memory.", "DynamiCrafter/lvdm/modules/attention.py", append([]cause.Cure{cure("efficient_attention", "Install xformers", "shell", "pip install xformers   # the build for your PyTorch version", "None.")}, theirs("use_smaller_model")...)...),
			already("dynamicrafter/per-frame", []string{"--perframe_ae"}, cause.ModelTooLarge, "`--perframe_ae` is on, so decoding needs little. The weights are in 32 bit, and 16 frames are sampled together.", "Fewer steps: they save time, not memory.", "DynamiCrafter/README.md", append(theirs("use_smaller_model"), lookAtCard)...),
			made("dynamicrafter/run", cause.BatchTooLarge, "16 frames are generated together, with 32-bit weights. Decoding them needs the most, unless you set `--perframe_ae`.", "Fewer steps: they save time, not memory.", "DynamiCrafter/README.md", append(theirs("vae_tiling", "use_smaller_model"), lookAtCard)...),
		},
	}
	// HunyuanDiT is Tencent's.
	HunyuanDiT = program.Program{
		Name: "hunyuandit", Shown: "HunyuanDiT", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"HunyuanDiT/", "hydit/"},
		Sources: program.Sources{"HunyuanDiT/hydit/config.py": "--no-enhance --load-4bit --image-size --batch-size --gradient-checkpointing --cpu-offloading --grad-accu-steps --use-fp16 --infer-mode"},
		Steps: steps{
			"use_smaller_model":      step.Paste("text", "Add `--no-enhance`: it leaves out DialogGen, the language model that rewrites prompts. Or load that in 4 bit with `--load-4bit` (22 GB in all)."),
			"lowvram_mode":           step.Paste("text", "Use lite/inference.py (diffusers, T5 in 8 bit): it needs 6 GB."),
			"lower_resolution":       step.Paste("text", "Use `--image-size 768 768`."),
			"gradient_checkpointing": step.Paste("text", "Add `--gradient-checkpointing`."),
			"lower_batch_size":       step.Paste("text", "Use `--batch-size 1 --grad-accu-steps 4`, and `--cpu-offloading` if it is still too much."),
		},
		Titles:   map[string]string{"use_smaller_model": "Turn off the prompt rewriter (`--no-enhance`)"},
		Costs:    map[string]string{"use_smaller_model": "Prompts are taken as they are."},
		Useless:  futile(near("--no-enhance"), "use_smaller_model"),
		Remedies: order("use_smaller_model", "lowvram_mode", "lower_resolution"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("hunyuandit/step", "Training all weights needs 20 GB with all memory options on, 30 GB without offloading, its README says. A LoRA needs about 16 GB in kohya's trainer.", "", "HunyuanDiT/README.md", theirs("gradient_checkpointing", "lower_batch_size", "lower_resolution")...),
			already("hunyuandit/alone", []string{"--no-enhance"}, cause.ModelTooLarge, "DialogGen is off. The image model with its text encoders, of which mT5 is the largest, needs 11 GB.", "Fewer steps: they save time, not memory.", "HunyuanDiT/README.md", theirs("lowvram_mode", "lower_resolution", "close_other_apps")...),
			made("hunyuandit/run", cause.ModelTooLarge, "The image model alone needs 11 GB. With DialogGen, which rewrites the prompt, it needs 32 GB, or 22 GB in 4 bit.", "Fewer steps: they save time, not memory.", "HunyuanDiT/README.md", theirs("use_smaller_model", "lowvram_mode", "lower_resolution")...),
		},
	}
	// Talking and moving faces.
	LivePortrait = program.Program{
		Name: "liveportrait", Shown: "LivePortrait", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"LivePortrait/src/", "LivePortrait/inference", "LivePortrait/app", "LivePortrait/pretrained_weights", "src/live_portrait_pipeline.py", "src/live_portrait_wrapper.py"},
		Sources: program.Sources{"LivePortrait/src/config/argument_config.py": "--source_max_dim --flag_force_cpu --flag_do_torch_compile --flag_use_half_precision --flag_crop_driving_video"},
		Steps: steps{
			"lower_resolution": step.Paste("text", "Use `--source_max_dim 720` (default 1280), and a driving video of 512 x 512 pixels or smaller."),
			"stream_dataset":   step.Paste("text", "Cut the driving video. All its frames and all results stay in RAM until the end."),
			"cpu_offload":      step.Paste("text", "Use `--flag_force_cpu` (slow)."),
		},
		Titles:   map[string]string{"stream_dataset": "Use a shorter driving video", "cpu_offload": "Run it on the CPU"},
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: inUse("close_other_apps", "lower_resolution", "cpu_offload"), cause.ModelTooLarge: inUse("close_other_apps", "lower_resolution", "cpu_offload"), cause.HostMemory: kit.SwapOrPage(cause.InOrder("stream_dataset", "lower_resolution", "raise_pagefile", "add_swap")), cause.Unknown: inUse("close_other_apps", "lower_resolution")},
		Like:     []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			filledRAM("liveportrait/frames", "It reads all frames of the driving (and source) video into RAM and keeps every result until the video is written. A frame takes 2.7 MB at 1280 x 720, and there are several copies.", "", "LivePortrait/src/live_portrait_pipeline.py", theirs("stream_dataset", "lower_resolution")...),
			made("liveportrait/run", cause.BatchTooLarge, "Its networks need only 2 to 4 GB: they process faces of 256 x 256, one frame after another. If a larger GPU is full, another program is the more likely reason.", "A shorter video: it goes through the GPU frame by frame.", "LivePortrait/src/config/inference_config.py", append([]cause.Cure{lookAtCard}, theirs("lower_resolution")...)...),
		},
	}
	SadTalker = program.Program{
		Name: "sadtalker", Shown: "SadTalker", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"SadTalker", "src/facerender/", "facerender/animate.py", "audio2exp_models/"},
		Sources: program.Sources{"SadTalker/inference.py": "--batch_size --size --enhancer --background_enhancer --preprocess --cpu"},
		Steps: steps{
			"lower_batch_size":  step.Paste("text", "Use `--batch_size 1` (default 2; on the web page the slider \"batch size in generation\")."),
			"lower_resolution":  step.Paste("text", "Scale the image to 1000 pixels or fewer, use `--preprocess crop` instead of full, and size 256 instead of 512."),
			"use_smaller_model": step.Paste("text", "Leave out `--enhancer gfpgan` and `--background_enhancer realesrgan`. Enhance the finished video in a second run."),
			"stream_dataset":    step.Paste("text", "Make the video in parts of a minute: all frames are in RAM until it is written."),
		},
		Titles:   map[string]string{"use_smaller_model": "Turn off the enhancers", "stream_dataset": "Use shorter audio"},
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: inUse("lower_batch_size", "lower_resolution", "use_smaller_model"), cause.ModelTooLarge: inUse("lower_batch_size", "use_smaller_model", "lower_resolution"), cause.HostMemory: cause.InOrder("stream_dataset", "lower_resolution", "use_smaller_model"), cause.Unknown: inUse("lower_batch_size", "use_smaller_model", "lower_resolution")},
		Like:     []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			filledRAM("sadtalker/frames", "All frames of the video (25 per second) stay in RAM until it is written. With `--preprocess full` each has the size of the whole image, and an enhancer makes another copy.", "A smaller batch: it saves GPU memory.", "SadTalker/src/facerender/animate.py",
				cause.Cure{Fix: "lower_resolution", If: calls.LargePicture, Title: "Use a smaller picture", Told: "Scale it to about 1,000 pixels first. Each frame is as large as the picture: half the width and height needs a quarter of the RAM.", Cost: "detail"},
				cause.Cure{Fix: "stream_dataset", If: when.Not(calls.LargePicture)}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "use_smaller_model"}, cause.Cure{Fix: "stream_dataset"}),
			part("sadtalker/enhance", []string{"face_enhancer.py", "gfpgan/utils.py", "restorer.enhance("}, cause.BatchTooLarge, "ran out of GPU memory in the enhancer", "The enhancer processes each finished frame at full size; for the background it uses tiles of 400 pixels.", "", "SadTalker/src/utils/face_enhancer.py", theirs("use_smaller_model", "lower_resolution")...),
			made("sadtalker/render", cause.BatchTooLarge, "The face renderer processes `--batch_size` frames of 256 or 512 pixels at once.", "Shorter audio: frames go through the GPU batch after batch.", "SadTalker/inference.py", theirs("lower_batch_size", "lower_resolution", "use_smaller_model")...),
		},
	}
	Wav2Lip = program.Program{
		Name: "wav2lip", Shown: "Wav2Lip", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"Wav2Lip", "wav2lip_train.py", "Recovering from OOM error; New batch size", "Image too big to run face detection on GPU"},
		Sources: program.Sources{"Wav2Lip/inference.py": "--resize_factor --face_det_batch_size --wav2lip_batch_size --crop --box"},
		Steps: steps{
			"lower_resolution": step.Paste("text", "Add `--resize_factor 2` (half the width and height), then 4."),
			"lower_batch_size": step.Paste("text", "Add `--face_det_batch_size 4 --wav2lip_batch_size 32` (default 16 and 128)."),
			"stream_dataset":   step.Paste("text", "Use parts of a minute: all frames of a video are kept in RAM."),
		},
		Titles:   map[string]string{"lower_resolution": "Scale the frames down (`--resize_factor`)", "stream_dataset": "Process the video in parts"},
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: inUse("lower_resolution", "lower_batch_size", "close_other_apps"), cause.OversizedAllocation: inUse("lower_resolution", "lower_batch_size"), cause.ModelTooLarge: inUse("lower_resolution", "lower_batch_size", "close_other_apps"), cause.HostMemory: cause.InOrder("stream_dataset", "lower_resolution"), cause.Unknown: inUse("lower_resolution", "lower_batch_size", "close_other_apps")},
		Like:     []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			filledRAM("wav2lip/frames", "It reads all frames of the video into RAM before it begins: 6 MB per frame at 1080p, or 9 GB per minute of video.", "A smaller batch: it saves GPU memory.", "Wav2Lip/inference.py", theirs("lower_resolution", "stream_dataset")...),
			part("wav2lip/detect", []string{"face_detect", "face_detection/", "get_detections_for_batch", "Image too big to run face detection"}, cause.BatchTooLarge, "ran out of GPU memory while looking for faces", "The face detector processes whole frames at full size. Wav2Lip halves its batch size after each failure (\"Recovering from OOM error\"). At 1 it stops and asks for `--resize_factor`.", "", "Wav2Lip/inference.py", theirs("lower_resolution")...),
			trained("wav2lip/step", "A batch is `batch_size` windows of five frames (default 16; for SyncNet 64).", "", "Wav2Lip/hparams.py", cure("lower_batch_size", "Lower the batch size", "text", "In hparams.py: `batch_size=4`, `syncnet_batch_size=16`.", "Slower; quality may suffer.")),
			made("wav2lip/run", cause.BatchTooLarge, "Wav2Lip's own network processes 128 faces of 96 x 96 at once by default, which needs little. Face detection on large frames needs more.", "Shorter audio: batches go through the GPU one after another.", "Wav2Lip/inference.py", theirs("lower_batch_size", "lower_resolution")...),
		},
	}
	MuseTalk = program.Program{
		Name: "musetalk", Shown: "MuseTalk", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"MuseTalk/", "musetalk/"},
		Sources: program.Sources{"MuseTalk/scripts/inference.py": "--batch_size --use_float16 --gpu_id", "MuseTalk/configs/training/stage2.yaml": "train_bs n_sample_frames gradient_accumulation_steps"},
		Steps: steps{
			"half_precision":   step.Paste("text", "Add `--use_float16` (inference.py and app.py). Then 4 GB are enough, its README says."),
			"lower_batch_size": step.Paste("text", "Use `--batch_size 4` (default 8; realtime 20)."),
			"lower_resolution": step.Paste("text", "Use a smaller or shorter video: all of its frames are kept in RAM."),
		},
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: inUse("lower_batch_size", "half_precision", "close_other_apps"), cause.ModelTooLarge: inUse("half_precision", "lower_batch_size", "close_other_apps"), cause.HostMemory: kit.SwapOrPage(cause.InOrder("lower_resolution", "raise_pagefile", "add_swap")), cause.Unknown: inUse("half_precision", "lower_batch_size", "close_other_apps")},
		Like:     []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("musetalk/step", "Its README lists, per GPU, 32 GB at batch size 8 and 74 GB at 32 for stage 1. Stage 2, with 16 frames and two discriminators, needs 54 GB even at batch size 1.", "", "MuseTalk/README.md", cure("lower_batch_size", "Lower the batch size, accumulate gradients", "text", "In the stage's YAML, halve `train_bs` and double `gradient_accumulation_steps`. In stage 2 also lower `n_sample_frames`.", "Slower.")),
			filledRAM("musetalk/frames", "All frames of the video and their latents stay in RAM until the result is written.", "A smaller batch: it saves GPU memory.", "MuseTalk/scripts/inference.py", theirs("lower_resolution")...),
			made("musetalk/run", cause.BatchTooLarge, "`--batch_size` faces of 256 x 256 go through the UNet and VAE at once, in 32 bit by default. Whisper and the pose model also take GPU memory.", "Shorter audio: batches go through the GPU one after another.", "MuseTalk/scripts/inference.py", theirs("half_precision", "lower_batch_size")...),
		},
	}
	LatentSync = program.Program{
		Name: "latentsync", Shown: "LatentSync", Work: "video-generation", Edits: "code", Language: "python",
		Proofs:  []string{"LatentSync/", "latentsync/"},
		Sources: program.Sources{"LatentSync/README.md": "configs/unet", "LatentSync/scripts/inference.py": "--unet_config_path --inference_ckpt_path"},
		Steps: steps{
			"use_smaller_model": step.Paste("text", "Use version 1.5 (8 GB, 256 x 256) instead of 1.6 (18 GB, 512 x 512): its checkpoint with `--unet_config_path configs/unet/stage2.yaml`."),
			"lower_batch_size":  step.Paste("text", "Use configs/unet/stage2_efficient.yaml: 20 GB instead of 30 GB (stage2.yaml) or 55 GB (stage2_512.yaml)."),
			"stream_dataset":    step.Paste("text", "Use parts of half a minute: all frames of a video are kept in RAM."),
		},
		Titles:   map[string]string{"use_smaller_model": "Use the 256-pixel version (1.5)", "stream_dataset": "Process the video in parts", "lower_batch_size": "Use the efficient config"},
		Costs:    map[string]string{"use_smaller_model": "Teeth and lips are less sharp.", "stream_dataset": "Joining the parts.", "lower_batch_size": "Slightly worse."},
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: inUse("use_smaller_model", "close_other_apps"), cause.ModelTooLarge: inUse("use_smaller_model", "close_other_apps"), cause.HostMemory: kit.SwapOrPage(cause.InOrder("stream_dataset", "raise_pagefile", "add_swap")), cause.Unknown: inUse("use_smaller_model", "close_other_apps")},
		Like:     []*program.Program{&Scripts, &apps.Pictures},
		Useless:  both(futile(near("configs/unet/stage2.yaml"), "use_smaller_model"), futile(func(c *ledger.Case) bool { return c.Kind(offRAM...) }, "use_smaller_model")),
		Cards: []cause.Card{
			trained("latentsync/step", "Its README lists 23 GB for stage 1, 30 GB for stage 2 and 55 GB for stage 2 at 512 x 512, each with one clip of 16 frames per batch.", "", "LatentSync/README.md", theirs("lower_batch_size")...),
			filledRAM("latentsync/frames", "It keeps several copies of all frames in RAM: as read, aligned and pasted back. Long or 4K videos fill it.", "", "LatentSync/latentsync/pipelines/lipsync_pipeline.py", theirs("stream_dataset")...),
			already("latentsync/small", []string{"configs/unet/stage2.yaml"}, cause.ModelTooLarge, "This is the 256-pixel version (1.5), the smallest: it needs 8 GB in 16 bit, its README says. GPUs older than RTX 30 (compute capability 8) run it in 32 bit, which needs about twice that.", "A shorter video: it processes 16 frames at a time.", "LatentSync/README.md", lookAtCard, cause.Cure{Fix: "bigger_gpu"}),
			made("latentsync/run", cause.ModelTooLarge, "Version 1.5 needs 8 GB and 1.6 needs 18 GB in 16 bit, its README says. GPUs older than RTX 30 (compute capability 8) run it in 32 bit, which needs about twice that.", "A shorter video: it processes 16 frames at a time.", "LatentSync/README.md", theirs("use_smaller_model", "close_other_apps")...),
		},
	}
	// Clothes and faces in pictures.
	IDMVTON = program.Program{
		Name: "idm-vton", Shown: "IDM-VTON", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"IDM-VTON", "unet_hacked_tryon", "unet_hacked_garmnet", "tryon_pipeline"},
		Sources: program.Sources{"IDM-VTON/train_xl.py": "--train_batch_size --gradient_checkpointing --gradient_accumulation_steps --mixed_precision --width --height --use_8bit_adam --test_batch_size", "IDM-VTON/inference.py": "--test_batch_size --mixed_precision"},
		Steps: steps{
			"lower_batch_size":       kit.ByPhase(step.Step{Kind: "text", Text: "Use `--train_batch_size 1 --gradient_accumulation_steps 6` (default 6 per GPU)."}, step.Step{Kind: "text", Text: "Use `--test_batch_size 1` (default 2)."}),
			"gradient_checkpointing": step.Paste("text", "Add `--gradient_checkpointing`."),
			"mixed_precision":        step.Paste("text", "Add `--mixed_precision fp16`."),
			"lower_resolution":       step.Paste("text", "Use `--width 384 --height 512` (default 768 x 1024; gradio_demo/app.py has both in its code)."),
			"cpu_offload":            step.Paste("python", "pipe.enable_model_cpu_offload()   # gradio_demo/app.py, instead of pipe.to(device); unet_encoder has to be moved by hand: pipe.unet_encoder.to(device)"),
		},
		Titles: map[string]string{"mixed_precision": "Compute at 16 bit"}, Useless: clues.Useless(clues.Shows("gradio_demo/app.py"), "the demo makes one image, at 16 bit, and takes no options", "lower_batch_size", "mixed_precision"), Remedies: order("cpu_offload", "lower_batch_size", "mixed_precision", "lower_resolution"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			trained("idm-vton/step", "Training uses two SDXL UNets (the garment's is frozen), IP-Adapter and an image encoder. The defaults are meant for 80 GB.", "", "IDM-VTON/train_xl.py", theirs("gradient_checkpointing", "lower_batch_size", "mixed_precision")...),
			made("idm-vton/run", cause.ModelTooLarge, "Two SDXL UNets (5 GB each in 16 bit), two text encoders and an image encoder are all on the GPU: about 18 GB at 768 x 1024. The demo adds DensePose, OpenPose and a parser.", "Fewer steps: they save time, not memory.", "IDM-VTON/gradio_demo/app.py", theirs("cpu_offload", "lower_batch_size", "mixed_precision")...),
		},
	}
	OOTDiffusion = program.Program{
		Name: "ootdiffusion", Shown: "OOTDiffusion", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"OOTDiffusion/", "run_ootd.py", "gradio_ootd.py", "pipelines_ootd/", "inference_ootd"},
		Sources: program.Sources{"OOTDiffusion/run/run_ootd.py": "--sample --gpu_id --model_type --step"},
		Steps: steps{
			"lower_batch_size": step.Paste("text", "Add `--sample 1` to your run_ootd.py command (default 4 images at once). On the web page: Images 1."),
			"select_gpu": func(c *ledger.Case) []step.Step {
				if c.Near("gradio_ootd.py") {
					return step.Paste("text", "In gradio_ootd.py load only the model that you need: leave out the line of `OOTDiffusionDC` (full body) or of `OOTDiffusionHD` (upper body). With two GPUs keep hd on 0 and dc on 1.")(c)
				}
				return step.Paste("text", "Use `--gpu_id 1` if there is a second GPU.")(c)
			},
			"cpu_offload": step.Paste("text", "In code: `model.pipe.enable_model_cpu_offload()` after the model is created, and no `.to(gpu_id)` in ootd/inference_ootd_hd.py."),
		},
		Titles:   map[string]string{"lower_batch_size": "Generate one image at a time (`--sample 1`)", "select_gpu": "Use another GPU"},
		Remedies: order("lower_batch_size", "select_gpu", "close_other_apps"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Useless: futile(near("--sample 1 -", "OOTDiffusionDC(0)", "OOTDiffusionHD(0)"), "lower_batch_size"),
		Cards: []cause.Card{
			part("ootdiffusion/page", []string{"gradio_ootd.py"}, cause.ModelTooLarge, "ran out of GPU memory on its web page", "gradio_ootd.py loads both models, half body (hd) and full body (dc), with pose and parsing models: it is made for two GPUs.", "", "OOTDiffusion/run/gradio_ootd.py", cause.Cure{Fix: "select_gpu", Title: "Load only one of the two models"}, cure("lower_batch_size", "Then make one image at a time", "text", "On the page: Images 1.", "Slower.")),
			made("ootdiffusion/run", cause.BatchTooLarge, "It generates `--sample` images of 768 x 1024 at once (default 4), with two UNets in 16 bit. Pose and parsing models share the GPU.", "Fewer steps: they save time, not memory.", "OOTDiffusion/run/run_ootd.py", theirs("lower_batch_size", "select_gpu")...),
		},
	}
	InstantID = program.Program{
		Name: "instantid", Shown: "InstantID", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"InstantID/infer", "InstantID/gradio_demo", "pipeline_stable_diffusion_xl_instantid"},
		Sources: program.Sources{"InstantID/README.md": "enable_model_cpu_offload enable_vae_tiling"},
		Steps: steps{
			"cpu_offload":      step.Paste("python", "pipe.enable_model_cpu_offload()   # and no pipe.cuda()\npipe.enable_vae_tiling()"),
			"lowvram_mode":     step.Paste("python", "pipe.enable_sequential_cpu_offload()   # and no pipe.cuda()\npipe.enable_vae_tiling()"),
			"lower_resolution": step.Paste("python", "face_image = resize_img(face_image, max_side=1024, min_side=768)   # the result has this size"),
		},
		Useless:  futile(near("enable_model_cpu_offload()"), "cpu_offload"),
		Remedies: order("cpu_offload", "lower_resolution", "lowvram_mode"), Like: []*program.Program{&Scripts, &apps.Pictures},
		Cards: []cause.Card{
			already("instantid/offloaded", []string{"enable_model_cpu_offload()"}, cause.ModelTooLarge, "Whole models take turns on the GPU already. SDXL's UNet (5 GB) and the ControlNet (2.5 GB) work together, and InsightFace's ONNX models stay on the GPU, outside PyTorch.", "Fewer steps: they save time, not memory.", "InstantID/README.md", theirs("lowvram_mode", "lower_resolution")...),
			made("instantid/run", cause.ModelTooLarge, "SDXL with a ControlNet and an image adapter takes 12 GB or more in 16 bit. InsightFace's ONNX models take more GPU memory, outside PyTorch.", "Fewer steps: they save time, not memory.", "InstantID/README.md", theirs("cpu_offload", "lower_resolution", "lowvram_mode")...),
		},
	}
)

// openSoraTooLarge: version 2.0 does not fit, even spread over four such GPUs.
func openSoraTooLarge(c *ledger.Case) bool {
	return clues.Below(44)(c) && clues.Shows("scripts/diffusion/", "configs/diffusion/")(c)
}
