package makers

import (
	"slices"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// whole are refusals by whatever such an app runs on.
var whole = slices.Concat(ortKinds, vulkan)

// frames is a card on an app that works on one picture or frame after the other.
func frames(id, means, not, source string, cures ...cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: whole, If: func(c *ledger.Case) bool { return !c.Root(inRAM...) && !ledger.Crowded(c) && !ledger.Roomy(c) },
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory[[ ({total})]]",
		Means: means, Not: not, Cures: cures, Sources: []string{source},
	}
}

func text(s string) func(*ledger.Case) []step.Step { return step.Paste("text", s) }

// Programs with a window of their own, for pictures, films and faces.
var (
	// Enhancr enlarges and mends films on VapourSynth.
	Enhancr = program.Program{
		Name: "enhancr", Shown: "enhancr", Work: "vision", Edits: "flags", Language: "js", Carries: []string{"ncnn", "real-esrgan"},
		Proofs:  []string{"[enhancr] "},
		Sources: program.Sources{"enhancr/src/app.html": "Streams Tiling"},
		Steps: steps{
			"lower_parallel":    text("Settings: Concurrent Streams 1 (2 by default). Each stream has the model and its frame on the GPU."),
			"vae_tiling":        text("Settings: Enable Tiling, Tile Resolution 512x512, or smaller if it fails again."),
			"use_smaller_model": text("A lighter model (Compact kinds instead of RealESRGAN), or 2x instead of 4x."),
			"lower_resolution":  text("Scale the film down first: half of both sides is a quarter of the memory."),
		},
		Titles: map[string]string{"lower_parallel": "Set Concurrent Streams to 1", "vae_tiling": "Turn on Tiling"}, Costs: map[string]string{"lower_parallel": "Slower."},
		Remedies: order("lower_parallel", "vae_tiling", "use_smaller_model", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{frames("enhancr/streams", "A whole frame goes through the model unless Tiling is on, and \"Streams\" in the log says how many frames at once.", "A shorter film: it works on a few frames at a time.", "enhancr/src/app.html", theirs("lower_parallel", "vae_tiling", "use_smaller_model")...)},
	}
	// SnapOtter is a page of picture tools in a container.
	SnapOtter = program.Program{
		Name: "snapotter", Shown: "SnapOtter", Work: "vision", Edits: "admin", Language: "js", Carries: []string{"real-esrgan", "codeformer", "gfpgan"},
		Proofs:  []string{"[upscale] Real-ESRGAN failed", "[enhance-faces] CodeFormer failed", "[colorize] DDColor failed", "snapotter"},
		Sources: program.Sources{"SnapOtter/apps/web/src/components/tools/upscale-settings.tsx": "scale", "pytorch/docs/source/notes/cuda.rst": "PYTORCH_CUDA_ALLOC_CONF"},
		Steps: steps{
			"lower_resolution":    text("Scale the picture down before, or choose 2x: the network works at 4x and on the whole picture."),
			"use_smaller_model":   text("Upscale with Fast (Lanczos), which needs no card."),
			"expandable_segments": text("In the container's environment (`docker run -e`, or `environment:` in Compose): `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`."),
		},
		Titles: map[string]string{"lower_resolution": "Use a smaller picture", "use_smaller_model": "Upscale without a network"}, Costs: map[string]string{"use_smaller_model": "Less sharp."},
		Remedies: order("lower_resolution", "expandable_segments", "use_smaller_model", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			part("snapotter/upscale", []string{"[upscale] Real-ESRGAN failed"}, cause.BatchTooLarge, "could not enlarge this picture with Real-ESRGAN: GPU memory ran out", "The picture goes through the network in one piece, so what it takes grows with its pixels[[: {asked} more was refused beside {mine}]].", "", "SnapOtter/packages/ai/python/upscale.py", append(theirs("lower_resolution"), cause.Cure{Fix: "expandable_segments", If: unused}, cause.Cure{Fix: "use_smaller_model"})...),
			frames("snapotter/picture", "A picture is worked on in one piece, so what that takes grows with its pixels.", "", "SnapOtter/packages/ai/python/dispatcher.py", theirs("lower_resolution", "close_other_apps")...),
		},
	}
	// Video2X is an upscaler and interpolator on ncnn.
	Video2X = program.Program{
		Name: "video2x", Shown: "Video2X", Work: "vision", Edits: "flags", Language: "cpp", Carries: []string{"ncnn", "ncnn-vulkan", "rife-ncnn-vulkan"},
		Proofs:  []string{"video2x", "Video2X", "[FFmpeg] [libplacebo @"},
		Sources: program.Sources{"video2x/tools/video2x/src/argparse.cpp": "-s --realesrgan-model --list-devices -d -p"},
		Steps: steps{
			"lower_resolution":  text("`-s 2` instead of 4, or scale the video down first: half of both sides is a quarter."),
			"use_smaller_model": text("`-p realesrgan --realesrgan-model realesr-animevideov3`, the lightest; realesrgan-plus is a much larger network."),
			"select_gpu":        text("`-d 1` for another GPU; `--list-devices` shows them."),
		},
		Remedies: order("lower_resolution", "use_smaller_model", "close_other_apps", "select_gpu"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{placebo, frames("video2x/frame", "Frames go through the network one after the other, so the resolution decides, not the length.", "A shorter video: it works on one frame at a time.", "video2x/tools/video2x/src/argparse.cpp", append(theirs("use_smaller_model", "lower_resolution"), freeVulkan)...)},
	}
	// Upscayl is a window over realesrgan-ncnn-vulkan.
	Upscayl = program.Program{
		Name: "upscayl", Shown: "Upscayl", Work: "vision", Edits: "flags", Language: "js", Carries: []string{"ncnn", "ncnn-vulkan", "real-esrgan"},
		Proofs:  []string{"upscayl-bin", "Upscayl", "upscayl/"},
		Sources: program.Sources{"upscayl/renderer/locales/en.json": "CUSTOM"},
		Steps: steps{
			"vae_tiling":       text("Settings: Custom Tile Size 200, then 100, then 32 (0 lets it choose by the GPU)."),
			"lower_resolution": text("Image Scale 2x instead of 4x, and Double Upscayl off."),
			"select_gpu":       text("Settings: GPU ID of the GPU with more memory; the log tab lists the GPUs."),
		},
		Titles:   map[string]string{"vae_tiling": "Set a small Custom Tile Size"},
		Remedies: order("vae_tiling", "lower_resolution", "close_other_apps", "select_gpu"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{frames("upscayl/picture", "The picture is cut into tiles by what the driver says that the GPU has. On-board graphics and cards in use offer less than that.", "", "upscayl/electron/utils/get-arguments.ts", append(theirs("vae_tiling", "lower_resolution"), freeVulkan)...)},
	}
	// DeepLiveCam swaps faces live.
	DeepLiveCam = program.Program{
		Name: "deep-live-cam", Shown: "Deep-Live-Cam", Work: "vision", Edits: "flags", Language: "python", Carries: []string{"roop", "gfpgan"},
		Proofs:  []string{"Deep-Live-Cam", "[DLC."},
		Sources: program.Sources{"Deep-Live-Cam/modules/core.py": "--execution-threads --max-memory --execution-provider --frame-processor"},
		Steps: steps{
			"lower_parallel":     text("Start it with `--execution-threads 1`, then 2."),
			"use_smaller_model":  text("Leave the face enhancer out (its switch, or `--frame-processor face_swapper`): GFPGAN takes more than the swapper."),
			"raise_memory_limit": text("`--max-memory` is the RAM in GB that it allows itself: raise it if RAM is free."),
		},
		Titles: map[string]string{"lower_parallel": "Use one thread", "use_smaller_model": "Switch the face enhancer off", "raise_memory_limit": "Raise `--max-memory`"}, Costs: map[string]string{"lower_parallel": "Fewer frames a second.", "use_smaller_model": "Softer faces."},
		Remedies: order("lower_parallel", "use_smaller_model", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{frames("deep-live-cam/threads", "Each thread works on a frame of its own, with the detector, the swapper and, if it is on, the enhancer (GFPGAN) on the GPU.", "A shorter video: a few frames are on the GPU at a time.", "Deep-Live-Cam/modules/core.py", theirs("lower_parallel", "use_smaller_model", "close_other_apps")...)},
	}
	// VisoMaster swaps faces with many models.
	VisoMaster = program.Program{
		Name: "visomaster", Shown: "VisoMaster", Work: "vision", Edits: "flags", Language: "python",
		Proofs:  []string{"VisoMaster"},
		Sources: program.Sources{"VisoMaster/app/ui/widgets/settings_layout_data.py": "Threads Providers"},
		Steps: steps{
			"lower_parallel":    text("Settings: Number of Threads 1, then 2."),
			"lower_resolution":  text("Face Swap: Swapper Resolution 128; fewer restorers and masks at once."),
			"use_smaller_model": text("Settings: Providers Priority CUDA instead of TensorRT, whose engines take more of the GPU; Clear VRAM before you change models."),
		},
		Titles: map[string]string{"lower_parallel": "Use one thread", "use_smaller_model": "Use CUDA instead of TensorRT", "lower_resolution": "Lower Swapper Resolution, use fewer restorers"}, Costs: map[string]string{"lower_parallel": "Slower."},
		Remedies: order("lower_parallel", "lower_resolution", "use_smaller_model", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{frames("visomaster/models", "Every model that is switched on (swapper, restorers, masks, enhancer) stays on the GPU, and each thread works on a frame of its own.", "A shorter video: a few frames are on the GPU at a time.", "VisoMaster/app/processors/models_processor.py", theirs("lower_parallel", "lower_resolution", "use_smaller_model")...)},
	}
	// Faceswap is deepfakes'.
	Faceswap = program.Program{
		Name: "faceswap", Shown: "Faceswap", Work: "vision", Edits: "flags", Language: "python",
		Proofs:  []string{"faceswap/lib/", "faceswap/plugins/", "You do not have enough GPU memory available to", "faceswap.py"},
		Sources: program.Sources{"faceswap/lib/cli/args_train.py": "-b", "faceswap/plugins/train/train_config.py": "mixed_precision"},
		Steps: steps{
			"lower_batch_size":  text("Training: half of the present batch size (`-b`). Extraction and conversion: Settings, Configure extract settings, the batch size of the plugin that failed."),
			"mixed_precision":   text("Settings, Configure train settings, Global: Mixed Precision on."),
			"use_smaller_model": text("A lighter trainer, or the model's own settings: smaller output size, the lowmem option where it has one."),
		},
		Titles: map[string]string{"use_smaller_model": "Choose a lighter trainer or plugin"}, Costs: map[string]string{"use_smaller_model": "A new model has to be trained."},
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: cause.InOrder("lower_batch_size", "mixed_precision", "close_other_apps", "use_smaller_model"), cause.ModelTooLarge: cause.InOrder("close_other_apps", "mixed_precision", "use_smaller_model"), cause.Unknown: cause.InOrder("close_other_apps", "lower_batch_size", "mixed_precision")},
		Like:     []*program.Program{&Tiles},
		Cards: []cause.Card{
			part("faceswap/extract", []string{"lib/infer/", "plugins/extract/", "to run detection at the selected batch size"}, cause.BatchTooLarge, "ran out of GPU memory while looking for faces", "Detector, aligner, masker and recognition are on the GPU together, each with a batch of its own.", "", "faceswap/lib/infer/handler.py",
				cause.Cure{Fix: "close_other_apps", Title: "Close what else uses the GPU", Told: "Browsers first: Faceswap's own message names them.", Cost: "Free."}, cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "use_smaller_model", Title: "Use lighter plugins, or fewer", Told: "Another detector or aligner, fewer maskers.", Cost: "Misses some faces."}),
			frames("faceswap/train", "The trainer's size and the batch size decide; two networks are trained at once.", "", "faceswap/lib/training/train.py", theirs("lower_batch_size", "mixed_precision", "use_smaller_model")...),
		},
	}
	// EchoMimic, Hallo and InfiniteTalk make portraits speak.
	EchoMimic = program.Program{
		Name: "echomimic", Rank: above, Shown: "EchoMimic", Work: "video-generation", Edits: "flags", Language: "python",
		Proofs:  []string{"echomimic"},
		Sources: program.Sources{"echomimic_v2/infer.py": "-W -H -L --context_frames"},
		Steps: steps{
			"lower_resolution": text("`-W 512 -H 512` (768 by default)."),
			"lower_context":    text("`-L 120`: the number of frames (240 by default). They are decoded together at the end."),
			"lower_batch_size": text("`--context_frames 8` (12 by default): frames that are sampled together."),
		},
		Titles: map[string]string{"lower_context": "Make fewer frames", "lower_batch_size": "Sample fewer frames together"}, Costs: map[string]string{"lower_context": "Parts to join.", "lower_batch_size": "Less steady motion."},
		Remedies: order("lower_resolution", "lower_context", "lower_batch_size", "close_other_apps"), Like: []*program.Program{&Scripts},
		Cards: []cause.Card{frames("echomimic/clip", "Two SD 1.5 networks are on the GPU, and `--context_frames` frames of the chosen size are sampled together; `-L` frames wait for decoding.", "Fewer steps: each needs the same.", "echomimic_v2/infer.py", theirs("lower_resolution", "lower_context", "lower_batch_size")...)},
	}
	Hallo = program.Program{
		Name: "hallo", Rank: above, Shown: "Hallo", Work: "video-generation", Edits: "flags", Language: "python",
		Proofs:  []string{"hallo/models/", "hallo/animate/", "hallo/scripts/inference.py"},
		Sources: program.Sources{"hallo/configs/inference/default.yaml": "n_sample_frames width height"},
		Steps: steps{
			"lower_batch_size": text("In configs/inference/default.yaml: `n_sample_frames: 8` (16)."),
			"lower_resolution": text("In the same file, source_image: `width: 384`, `height: 384` (512)."),
		},
		Titles:   map[string]string{"lower_batch_size": "Sample fewer frames together"},
		Remedies: order("lower_batch_size", "lower_resolution", "close_other_apps"), Like: []*program.Program{&Scripts},
		Cards: []cause.Card{frames("hallo/clip", "Two SD 1.5 networks with motion modules sample `n_sample_frames` frames of 512 x 512 together.", "A shorter sound: it is worked on piece by piece.", "hallo/configs/inference/default.yaml", theirs("lower_batch_size", "lower_resolution")...)},
	}
	InfiniteTalk = program.Program{
		Name: "infinitetalk", Rank: above, Shown: "InfiniteTalk", Work: "video-generation", Edits: "flags", Language: "python", Carries: []string{"wan"},
		Proofs:  []string{"InfiniteTalk", "generate_infinitetalk.py", "generate_multitalk.py", "wan/multitalk.py"},
		Sources: program.Sources{"InfiniteTalk/README.md": "--num_persistent_param_in_dit --quant --quant_dir --size --max_frame_num", "InfiniteTalk/app.py": "--t5_cpu"},
		Steps: steps{
			"lowvram_mode":     text("Add `--num_persistent_param_in_dit 0`: the weights then wait in RAM."),
			"use_lower_quant":  text("`--quant fp8 --quant_dir PATH` with the fp8 file that its readme names."),
			"lower_resolution": text("`--size infinitetalk-480`; `--max_frame_num 500` for the length (1000, 40 seconds)."),
			"cpu_offload":      text("`--t5_cpu`: the text encoder stays in RAM."),
		},
		Titles: map[string]string{"lowvram_mode": "Keep no weights on the GPU (`--num_persistent_param_in_dit 0`)", "cpu_offload": "Text encoder on the CPU"}, Costs: map[string]string{"lowvram_mode": "Slower; RAM for 14B weights."},
		Remedies: order("lowvram_mode", "use_lower_quant", "lower_resolution", "cpu_offload"), Like: []*program.Program{&Scripts},
		Cards: []cause.Card{frames("infinitetalk/clip", "Wan's 14B model has 28 GB of weights at 16 bit; a piece of the video is sampled at `--size` beside what of them is on the GPU.", "A shorter sound alone: it is sampled in pieces.", "InfiniteTalk/README.md", theirs("lowvram_mode", "use_lower_quant", "lower_resolution")...)},
	}
	// EasyAnimate is Alibaba PAI's.
	EasyAnimate = program.Program{
		Name: "easyanimate", Rank: above, Shown: "EasyAnimate", Work: "video-generation", Edits: "flags", Language: "python",
		Proofs:  []string{"EasyAnimate", "easyanimate/"},
		Sources: program.Sources{"EasyAnimate/predict_t2v.py": "GPU_memory_mode sample_size video_length"},
		Steps: steps{
			"cpu_offload":      text("At the top of the script, or in app.py: `GPU_memory_mode = \"sequential_cpu_offload\"` (the least memory), `\"model_cpu_offload_and_qfloat8\"` (faster)."),
			"lower_resolution": text("At the top of the script: `sample_size = [256, 448]` and fewer frames, `video_length = 25`; on its page the same fields."),
		},
		Titles:   map[string]string{"cpu_offload": "Choose a leaner `GPU_memory_mode`"},
		Remedies: order("cpu_offload", "lower_resolution", "close_other_apps"), Like: []*program.Program{&Scripts},
		Cards: []cause.Card{frames("easyanimate/clip", "Transformer, text encoder and VAE share the GPU unless `GPU_memory_mode` moves them to RAM in turn; `sample_size` times `video_length` decides about the rest.", "Fewer steps: each needs the same.", "EasyAnimate/predict_t2v.py", theirs("cpu_offload", "lower_resolution")...)},
	}
	// Krita is a plugin of the painting program, on a ComfyUI of its own.
	Krita = program.Program{
		Name: "krita-ai-diffusion", Shown: "Krita AI Diffusion", Work: "image-generation", Edits: "flags", Language: "python",
		Proofs:  []string{"krita-ai-diffusion", "ai_diffusion/", "comfyui-tooling-nodes", "krita_ai_diffusion"},
		Sources: program.Sources{"krita-ai-diffusion/ai_diffusion/settings.py": "Performance Tiled Maximum"},
		Steps: steps{
			"lowvram_mode":     text("Configure Image Diffusion, Performance: preset GPU low; it works with 2 images at most, 2 megapixels and Tiled VAE."),
			"vae_tiling":       text("Configure Image Diffusion, Performance: Tiled VAE on."),
			"lower_resolution": text("Performance: Maximum Pixel Count 2, Resolution Multiplier below 1; or select a smaller part of the canvas."),
			"lower_batch_size": text("Performance: Maximum Batch Size 1."),
		},
		Titles:   map[string]string{"lowvram_mode": "Choose the performance preset GPU low", "lower_batch_size": "One image at a time", "vae_tiling": "Turn on Tiled VAE"},
		Remedies: order("lowvram_mode", "vae_tiling", "lower_resolution", "lower_batch_size"), Like: []*program.Program{&Scripts},
		Cards: []cause.Card{frames("krita-ai-diffusion/image", "The canvas, or the selection with its surroundings, is what ComfyUI samples here: large documents make large images, up to Maximum Pixel Count.", "Fewer steps: each needs the same.", "krita-ai-diffusion/ai_diffusion/settings.py", theirs("lowvram_mode", "lower_resolution", "vae_tiling")...)},
	}
)

// unused: PyTorch holds enough that it does not use for what was refused.
func unused(c *ledger.Case) bool {
	return ledger.SizeOf(c.F().ReservedUnallocated) >= 512<<20
}

// placebo is about Video2X's processor for shaders, which counts up in textures.
var placebo = cause.Card{
	ID: "video2x/libplacebo", Kinds: vulkan, Said: []string{"[libplacebo @"}, Cause: cause.SoftwareBug, Weight: cause.Strong,
	Headline: "ran out of GPU memory in libplacebo, which runs its shaders",
	Means:    "libplacebo was refused one more texture. The list after it shows its pools and the size of the GPU's heap (not what is free). In threads of Video2X its memory rose from frame to frame until the GPU was full, whatever the size of the frames; a target that is too large for the GPU shows within the first frames.",
	Cures: []cause.Cure{
		{Fix: "upgrade_version", Title: "Update Video2X", Told: "Newer builds release more of it; note the version if it stays, and whether GPU memory climbs while it runs.", Cost: "a download"},
		{Fix: "use_smaller_model", Title: "Use another processor than libplacebo", Told: "`-p realesrgan --realesrgan-model realesr-animevideov3`, or in its window Real-ESRGAN or Real-CUGAN.", Cost: "slower, another look"},
		{Fix: "lower_resolution", Title: "Lower the target size", Told: "Half the width and height is a quarter.", Cost: "detail"},
	},
	Sources: []string{"https://github.com/k4yt3x/video2x/issues/1447", "https://github.com/k4yt3x/video2x/issues/1440", "video2x/tools/video2x/src/argparse.cpp"},
}
