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
			"lower_parallel":    text("Settings: Concurrent Streams 1 (default 2). Each stream keeps its own model and frame on the GPU."),
			"vae_tiling":        text("Settings: Enable Tiling, Tile Resolution 512x512, or smaller if it fails again."),
			"use_smaller_model": text("Choose a lighter model (a Compact model instead of RealESRGAN), or 2x instead of 4x."),
			"lower_resolution":  text("Scale the video down first: half the width and height needs a quarter of the memory."),
		},
		Titles: map[string]string{"lower_parallel": "Set Concurrent Streams to 1", "vae_tiling": "Turn on Tiling"}, Costs: map[string]string{"lower_parallel": "Slower."},
		Remedies: order("lower_parallel", "vae_tiling", "use_smaller_model", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{frames("enhancr/streams", "Unless Tiling is on, whole frames go through the model, as many at once as you set Concurrent Streams.", "A shorter video: only a few frames are on the GPU at a time.", "enhancr/src/app.html", theirs("lower_parallel", "vae_tiling", "use_smaller_model")...)},
	}
	// SnapOtter is a page of picture tools in a container.
	SnapOtter = program.Program{
		Name: "snapotter", Shown: "SnapOtter", Work: "vision", Edits: "admin", Language: "js", Carries: []string{"real-esrgan", "codeformer", "gfpgan"},
		Proofs:  []string{"[upscale] Real-ESRGAN failed", "[enhance-faces] CodeFormer failed", "[colorize] DDColor failed", "snapotter"},
		Sources: program.Sources{"SnapOtter/apps/web/src/components/tools/upscale-settings.tsx": "scale", "pytorch/docs/source/notes/cuda.rst": "PYTORCH_CUDA_ALLOC_CONF"},
		Steps: steps{
			"lower_resolution":    text("Scale the picture down first: half the width and height needs a quarter of the memory."),
			"use_smaller_model":   text("For upscaling, choose Fast (Lanczos), which needs no GPU."),
			"expandable_segments": text("Set in the container's environment (`docker run -e`, or `environment:` in Compose): `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`."),
		},
		Titles: map[string]string{"lower_resolution": "Use a smaller picture", "use_smaller_model": "Upscale without a network"}, Costs: map[string]string{"use_smaller_model": "Less sharp."},
		Remedies: order("lower_resolution", "expandable_segments", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			part("snapotter/upscale", []string{"[upscale] Real-ESRGAN failed"}, cause.BatchTooLarge, "ran out of GPU memory while enlarging this picture with Real-ESRGAN", "The whole picture goes through the network at once, so memory grows with its pixels.", "", "SnapOtter/packages/ai/python/upscale.py", append(theirs("lower_resolution"), cause.Cure{Fix: "expandable_segments", If: unused}, cause.Cure{Fix: "use_smaller_model"})...),
			frames("snapotter/picture", "SnapOtter processes the whole picture at once, so memory grows with its pixels.", "", "SnapOtter/packages/ai/python/dispatcher.py", theirs("lower_resolution", "close_other_apps")...),
		},
	}
	// Video2X is an upscaler and interpolator on ncnn.
	Video2X = program.Program{
		Name: "video2x", Shown: "Video2X", Work: "vision", Edits: "flags", Language: "cpp", Carries: []string{"ncnn", "ncnn-vulkan", "rife-ncnn-vulkan"},
		Proofs:  []string{"video2x", "Video2X", "[FFmpeg] [libplacebo @"},
		Sources: program.Sources{"video2x/tools/video2x/src/argparse.cpp": "-s --realesrgan-model --list-devices -d -p"},
		Steps: steps{
			"lower_resolution":  text("Use `-s 2` instead of 4, or scale the video down first: half the width and height needs a quarter of the memory."),
			"use_smaller_model": text("Use `-p realesrgan --realesrgan-model realesr-animevideov3`, the lightest. realesrgan-plus is a much larger network."),
			"select_gpu":        text("Use `-d 1` for the second GPU. `--list-devices` shows them."),
		},
		Remedies: order("lower_resolution", "use_smaller_model", "close_other_apps", "select_gpu"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{placebo, frames("video2x/frame", "Frames go through the network one after another, so memory depends on the resolution and the model, not on the length.", "A shorter video: it processes one frame at a time.", "video2x/tools/video2x/src/argparse.cpp", append(theirs("use_smaller_model", "lower_resolution"), freeVulkan)...)},
	}
	// Upscayl is a window over realesrgan-ncnn-vulkan.
	Upscayl = program.Program{
		Name: "upscayl", Shown: "Upscayl", Work: "vision", Edits: "flags", Language: "js", Carries: []string{"ncnn", "ncnn-vulkan", "real-esrgan"},
		Proofs:  []string{"upscayl-bin", "Upscayl", "upscayl/"},
		Sources: program.Sources{"upscayl/renderer/locales/en.json": "CUSTOM"},
		Steps: steps{
			"vae_tiling":       text("Settings: Custom Tile Size 200, then 100, then 32 (0 means automatic)."),
			"lower_resolution": text("Choose Image Scale 2x instead of 4x, and turn Double Upscayl off."),
			"select_gpu":       text("Settings: set GPU ID to the GPU with more memory. The log tab lists the GPUs."),
		},
		Titles:   map[string]string{"vae_tiling": "Set a small Custom Tile Size"},
		Remedies: order("vae_tiling", "lower_resolution", "close_other_apps", "select_gpu"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{frames("upscayl/picture", "By default Upscayl picks the tile size by the GPU memory that the driver reports. Integrated GPUs, and GPUs that other programs use, often have less than that free.", "", "upscayl/electron/utils/get-arguments.ts", append(theirs("vae_tiling", "lower_resolution"), freeVulkan)...)},
	}
	// DeepLiveCam swaps faces live.
	DeepLiveCam = program.Program{
		Name: "deep-live-cam", Shown: "Deep-Live-Cam", Work: "vision", Edits: "flags", Language: "python", Carries: []string{"roop", "gfpgan"},
		Proofs:  []string{"Deep-Live-Cam", "[DLC."},
		Sources: program.Sources{"Deep-Live-Cam/modules/core.py": "--execution-threads --max-memory --execution-provider --frame-processor"},
		Steps: steps{
			"lower_parallel":     text("Start it with `--execution-threads 1`, then 2."),
			"use_smaller_model":  text("Turn the face enhancer off (its switch, or `--frame-processor face_swapper`). GFPGAN takes more memory than the swapper."),
			"raise_memory_limit": text("Start it with `--max-memory 24` if RAM is free, below what the computer has. Without the option the limit is 16 GB, on a Mac 4."),
			"stream_dataset":     text("Cut the video into parts of a minute. Turn \"Keep frames\" off."),
		},
		Titles: map[string]string{"lower_parallel": "Use one thread", "use_smaller_model": "Switch the face enhancer off", "raise_memory_limit": "Raise `--max-memory`", "stream_dataset": "Process the video in parts"}, Costs: map[string]string{"lower_parallel": "Fewer frames per second.", "use_smaller_model": "Softer faces."},
		Remedies: order("lower_parallel", "use_smaller_model", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			filledRAM("deep-live-cam/limit", "Deep-Live-Cam sets a limit on its own RAM (`--max-memory`, in GB), so Python is refused memory although the computer may have some free. Each thread keeps its frame and its copies of it in RAM.", "Freeing GPU memory: RAM was refused.", "Deep-Live-Cam/modules/core.py", theirs("raise_memory_limit", "lower_parallel", "stream_dataset")...),
			frames("deep-live-cam/threads", "Each thread processes its own frame. The detector, the swapper and, if it is on, the face enhancer (GFPGAN) share the GPU.", "A shorter video: only a few frames are on the GPU at a time.", "Deep-Live-Cam/modules/core.py", theirs("lower_parallel", "use_smaller_model", "close_other_apps")...),
		},
	}
	// VisoMaster swaps faces with many models.
	VisoMaster = program.Program{
		Name: "visomaster", Shown: "VisoMaster", Work: "vision", Edits: "flags", Language: "python",
		Proofs:  []string{"VisoMaster"},
		Sources: program.Sources{"VisoMaster/app/ui/widgets/settings_layout_data.py": "Threads Providers"},
		Steps: steps{
			"lower_parallel":    text("Settings: Number of Threads 1, then 2."),
			"lower_resolution":  text("Face Swap: Swapper Resolution 128, and fewer restorers and masks at once."),
			"use_smaller_model": text("Settings: Providers Priority CUDA instead of TensorRT, which takes more GPU memory. Press Clear VRAM before you change models."),
		},
		Titles: map[string]string{"lower_parallel": "Use one thread", "use_smaller_model": "Use CUDA instead of TensorRT", "lower_resolution": "Lower Swapper Resolution, use fewer restorers"}, Costs: map[string]string{"lower_parallel": "Slower."},
		Remedies: order("lower_parallel", "lower_resolution", "use_smaller_model", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{frames("visomaster/models", "Every model that you switch on (swapper, restorers, masks, enhancer) stays on the GPU. Each thread also processes its own frame.", "A shorter video: only a few frames are on the GPU at a time.", "VisoMaster/app/processors/models_processor.py", theirs("lower_parallel", "lower_resolution", "use_smaller_model")...)},
	}
	// Faceswap is deepfakes'.
	Faceswap = program.Program{
		Name: "faceswap", Shown: "Faceswap", Work: "vision", Edits: "flags", Language: "python",
		Proofs:  []string{"faceswap/lib/", "faceswap/plugins/", "You do not have enough GPU memory available to", "faceswap.py"},
		Sources: program.Sources{"faceswap/lib/cli/args_train.py": "-b", "faceswap/plugins/train/train_config.py": "mixed_precision"},
		Steps: steps{
			"lower_batch_size":  text("Training: halve the batch size (`-b`). Extraction: Settings, Configure extract settings, lower the batch size of the plugin that failed."),
			"mixed_precision":   text("Settings, Configure train settings, Global: Mixed Precision on."),
			"use_smaller_model": text("Choose a lighter trainer, or in the model's settings a smaller output size or the lowmem option."),
		},
		Titles: map[string]string{"use_smaller_model": "Choose a lighter trainer or plugin"}, Costs: map[string]string{"use_smaller_model": "You must train a new model."},
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: cause.InOrder("lower_batch_size", "mixed_precision", "close_other_apps", "use_smaller_model"), cause.ModelTooLarge: cause.InOrder("close_other_apps", "mixed_precision", "use_smaller_model"), cause.Unknown: cause.InOrder("close_other_apps", "lower_batch_size", "mixed_precision")},
		Like:     []*program.Program{&Tiles},
		Cards: []cause.Card{
			part("faceswap/extract", []string{"lib/infer/", "plugins/extract/", "to run detection at the selected batch size"}, cause.BatchTooLarge, "ran out of GPU memory while looking for faces", "Detector, aligner, masker and recognition share the GPU, each with its own batch size.", "", "faceswap/lib/infer/handler.py",
				cause.Cure{Fix: "close_other_apps", Title: "Close other programs that use the GPU", Told: "Start with browsers: Faceswap's own message names them.", Cost: "Free."}, cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "use_smaller_model", Title: "Use lighter plugins, or fewer", Told: "Choose another detector or aligner, and fewer maskers.", Cost: "Misses some faces."}),
			frames("faceswap/train", "In training, memory depends on the size of the trainer's model and on the batch size.", "", "faceswap/lib/training/train.py", theirs("lower_batch_size", "mixed_precision", "use_smaller_model")...),
		},
	}
	// EchoMimic, Hallo and InfiniteTalk make portraits speak.
	EchoMimic = program.Program{
		Name: "echomimic", Rank: above, Shown: "EchoMimic", Work: "video-generation", Edits: "flags", Language: "python",
		Proofs:  []string{"echomimic"},
		Sources: program.Sources{"echomimic_v2/infer.py": "-W -H -L --context_frames"},
		Steps: steps{
			"lower_resolution": text("Use `-W 512 -H 512` (default 768), then 384."),
			"lower_context":    text("Halve `-L`, the number of frames (default 240). All of them are decoded at the end."),
			"lower_batch_size": text("Use `--context_frames 8` (frames sampled together, default 12)."),
		},
		Titles: map[string]string{"lower_context": "Make fewer frames", "lower_batch_size": "Sample fewer frames together"}, Costs: map[string]string{"lower_context": "Parts to join.", "lower_batch_size": "Less steady motion."},
		Remedies: order("lower_resolution", "lower_context", "lower_batch_size", "close_other_apps"), Like: []*program.Program{&Scripts},
		Cards: []cause.Card{frames("echomimic/clip", "Two SD 1.5 networks are on the GPU and sample `--context_frames` frames together. Memory grows with that number and with the frame size.", "Fewer steps: they save time, not memory.", "echomimic_v2/infer.py", theirs("lower_resolution", "lower_context", "lower_batch_size")...)},
	}
	Hallo = program.Program{
		Name: "hallo", Rank: above, Shown: "Hallo", Work: "video-generation", Edits: "flags", Language: "python",
		Proofs:  []string{"hallo/models/", "hallo/animate/", "hallo/scripts/inference.py"},
		Sources: program.Sources{"hallo/configs/inference/default.yaml": "n_sample_frames width height"},
		Steps: steps{
			"lower_batch_size": text("In configs/inference/default.yaml set `n_sample_frames: 8` (default 16)."),
			"lower_resolution": text("In the same file, under source_image, set `width: 384` and `height: 384` (default 512)."),
		},
		Titles:   map[string]string{"lower_batch_size": "Sample fewer frames together"},
		Remedies: order("lower_batch_size", "lower_resolution", "close_other_apps"), Like: []*program.Program{&Scripts},
		Cards: []cause.Card{
			filledRAM("hallo/frames", "The results of all segments are kept in RAM, 3 MB per frame of 512 x 512 in 32 bit (4.4 GB per minute of audio), and joined at the end: for that moment they are there twice.", "Fewer frames at a time (`n_sample_frames`): it saves GPU memory.", "hallo/scripts/inference.py", cure("stream_dataset", "Use shorter audio, and join the videos", "shell", "ffmpeg -i long.wav -f segment -segment_time 60 part%03d.wav", "You join the parts.")),
			frames("hallo/clip", "Two SD 1.5 networks with motion modules sample `n_sample_frames` frames (default 16, at 512 x 512) together.", "Shorter audio: it is processed in segments.", "hallo/configs/inference/default.yaml", theirs("lower_batch_size", "lower_resolution")...),
		},
	}
	InfiniteTalk = program.Program{
		Name: "infinitetalk", Rank: above, Shown: "InfiniteTalk", Work: "video-generation", Edits: "flags", Language: "python", Carries: []string{"wan"},
		Proofs:  []string{"InfiniteTalk", "generate_infinitetalk.py", "generate_multitalk.py", "wan/multitalk.py"},
		Sources: program.Sources{"InfiniteTalk/README.md": "--num_persistent_param_in_dit --quant --quant_dir --size --max_frame_num", "InfiniteTalk/app.py": "--t5_cpu"},
		Steps: steps{
			"lowvram_mode":     text("Add `--num_persistent_param_in_dit 0`. The weights then wait in RAM."),
			"use_lower_quant":  text("Use `--quant fp8 --quant_dir PATH`, with the fp8 file that its README names."),
			"lower_resolution": text("Use `--size infinitetalk-480`, and `--max_frame_num 500` for half the length (default 1000)."),
			"cpu_offload":      text("Add `--t5_cpu`. The text encoder then stays in RAM."),
		},
		Titles: map[string]string{"lowvram_mode": "Keep no weights on the GPU (`--num_persistent_param_in_dit 0`)", "cpu_offload": "Text encoder on the CPU"}, Costs: map[string]string{"lowvram_mode": "Slower; needs RAM for the 14B weights."},
		Remedies: order("lowvram_mode", "use_lower_quant", "lower_resolution", "cpu_offload"), Like: []*program.Program{&Scripts},
		Useless: both(futile(near("--num_persistent_param_in_dit 0"), "lowvram_mode"), both(futile(near("--quant fp8", "--quant int8"), "use_lower_quant"), futile(near("--t5_cpu"), "cpu_offload"))),
		Cards: []cause.Card{
			weights("infinitetalk/ram", "Wan's 14B model takes 28 GB in 16 bit, or 33 GB and more with its text encoder (11 GB), and the quantised files half of that. They pass through RAM, and with `--num_persistent_param_in_dit 0` they stay there.", "InfiniteTalk/README.md", theirs("use_lower_quant")...),
			part("infinitetalk/decode", []string{"wan/modules/vae.py", "self.vae.decode("}, cause.BatchTooLarge, "ran out of GPU memory in the VAE", "Sampling of a segment is done; the VAE decodes its frames. That depends on `--size` and on what else is still on the GPU.", "Quantised weights, or fewer of them on the GPU: decoding does not use them.", "InfiniteTalk/README.md", cure("lower_resolution", "Use the 480p size", "text", "`--size infinitetalk-480` instead of infinitetalk-720.", "Detail."), lookAtCard, cure("vae_tiling", "Or run it in ComfyUI, which can decode in tiles", "text", "The WanVideo wrapper has InfiniteTalk, with tiled VAE in its decode node.", "Setup.")),
			already("infinitetalk/lean", []string{"--num_persistent_param_in_dit 0", "--quant fp8", "--quant int8", "--t5_cpu"}, cause.BatchTooLarge, "Options that save memory are on already. What is left is sampling a segment of the video at `--size`, beside the weights that are still on the GPU (28 GB in 16 bit without them).", "Shorter audio alone: it is sampled in segments.", "InfiniteTalk/README.md", theirs("lowvram_mode", "use_lower_quant", "cpu_offload", "lower_resolution")...),
			frames("infinitetalk/clip", "It runs on Wan's 14B model, 28 GB of weights in 16 bit. Sampling a segment of the video at `--size` needs more memory on top.", "Shorter audio alone: it is sampled in segments.", "InfiniteTalk/README.md", theirs("lowvram_mode", "use_lower_quant", "lower_resolution")...),
		},
	}
	// EasyAnimate is Alibaba PAI's.
	EasyAnimate = program.Program{
		Name: "easyanimate", Rank: above, Shown: "EasyAnimate", Work: "video-generation", Edits: "flags", Language: "python",
		Proofs:  []string{"EasyAnimate", "easyanimate/"},
		Sources: program.Sources{"EasyAnimate/predict_t2v.py": "GPU_memory_mode sample_size video_length"},
		Steps: steps{
			"cpu_offload":      text("At the top of the script, or in app.py, set `GPU_memory_mode = \"sequential_cpu_offload\"` (least memory) or `\"model_cpu_offload_and_qfloat8\"` (faster)."),
			"lower_resolution": text("At the top of the script set `sample_size = [256, 448]` and `video_length = 25`. Its web page has the same fields."),
		},
		Titles:   map[string]string{"cpu_offload": "Choose a leaner `GPU_memory_mode`"},
		Remedies: order("cpu_offload", "lower_resolution", "close_other_apps"), Like: []*program.Program{&Scripts},
		Useless: futile(near("\"sequential_cpu_offload\""), "cpu_offload"),
		Cards: []cause.Card{
			part("easyanimate/decode", []string{"in decode_latents", "self.vae.decode("}, cause.BatchTooLarge, "ran out of GPU memory in the VAE", "Sampling is done; the VAE decodes the clip. That grows with `sample_size` x `video_length`, whatever is offloaded.", "Fewer steps: they save time, not memory.", "EasyAnimate/predict_t2v.py", theirs("lower_resolution", "close_other_apps")...),
			already("easyanimate/offloaded", []string{"\"sequential_cpu_offload\""}, cause.BatchTooLarge, "`sequential_cpu_offload` is the leanest `GPU_memory_mode`. What is left grows with `sample_size` x `video_length`.", "Fewer steps: they save time, not memory.", "EasyAnimate/predict_t2v.py", theirs("lower_resolution", "close_other_apps")...),
			frames("easyanimate/clip", "Transformer, text encoder and VAE share the GPU, unless `GPU_memory_mode` moves them to RAM in turn. The rest grows with `sample_size` x `video_length`.", "Fewer steps: they save time, not memory.", "EasyAnimate/predict_t2v.py", theirs("cpu_offload", "lower_resolution")...),
		},
	}
	// Krita is a plugin of the painting program, on a ComfyUI of its own.
	Krita = program.Program{
		Name: "krita-ai-diffusion", Shown: "Krita AI Diffusion", Work: "image-generation", Edits: "flags", Language: "python",
		Proofs:  []string{"krita-ai-diffusion", "ai_diffusion/", "comfyui-tooling-nodes", "krita_ai_diffusion"},
		Sources: program.Sources{"krita-ai-diffusion/ai_diffusion/settings.py": "Performance Tiled Maximum"},
		Steps: steps{
			"lowvram_mode":     text("Configure Image Diffusion, Performance: choose the preset GPU low. It limits images to 2 megapixels and turns on Tiled VAE."),
			"lower_resolution": text("Performance: Maximum Pixel Count 1, Resolution Multiplier below 1. Or select a smaller part of the canvas."),
			"lower_batch_size": text("Performance: Maximum Batch Size 1."),
		},
		Titles:   map[string]string{"lowvram_mode": "Choose the performance preset GPU low", "lower_batch_size": "Make one image at a time"},
		Remedies: order("lowvram_mode", "lower_resolution", "lower_batch_size"), Like: []*program.Program{&Scripts},
		Cards: []cause.Card{frames("krita-ai-diffusion/image", "Krita sends the canvas, or the selection with its surroundings, to ComfyUI. A large document makes a large image, up to Maximum Pixel Count.", "Fewer steps: they save time, not memory.", "krita-ai-diffusion/ai_diffusion/settings.py", theirs("lowvram_mode", "lower_resolution", "lower_batch_size")...)},
	}
)

// unused: PyTorch holds enough that it does not use for what was refused.
func unused(c *ledger.Case) bool {
	return ledger.SizeOf(c.F().ReservedUnallocated) >= 512<<20
}

// placebo is about Video2X's processor for shaders, which counts up in textures.
var placebo = cause.Card{
	ID: "video2x/libplacebo", Kinds: vulkan, Said: []string{"[libplacebo @"}, Cause: cause.SoftwareBug, Weight: cause.Strong,
	Headline: "ran out of GPU memory in libplacebo, its shader processor",
	Means:    "libplacebo could not create another texture. Users of Video2X report that its memory grows from frame to frame until the GPU is full, whatever the frame size. If it fails within the first frames, the target size is probably too large for the GPU.",
	Cures: []cause.Cure{
		{Fix: "upgrade_version", Title: "Update Video2X", Told: "Newer builds may release more of it. Watch in Task Manager or `nvidia-smi` whether GPU memory climbs while it runs.", Cost: "a download"},
		{Fix: "use_smaller_model", Title: "Use another processor than libplacebo", Told: "Use `-p realesrgan --realesrgan-model realesr-animevideov3`, or in its window Real-ESRGAN or Real-CUGAN.", Cost: "slower, another look"},
		{Fix: "lower_resolution", Title: "Lower the target size", Told: "Half the width and height needs a quarter of the memory.", Cost: "detail"},
	},
	Sources: []string{"https://github.com/k4yt3x/video2x/issues/1447", "https://github.com/k4yt3x/video2x/issues/1440", "video2x/tools/video2x/src/argparse.cpp"},
}
