package makers

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Programs that enlarge, restore, clean and cut out pictures.
var (
	// RIFE makes frames in between.
	RIFE = program.Program{
		Name: "rife", Shown: "RIFE", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"Practical-RIFE", "ECCV2022-RIFE", "arXiv2020-RIFE", "RIFE_HDv", "IFNet_HDv", "train_log/IFNet"},
		Sources: program.Sources{"Practical-RIFE/inference_video.py": "--scale --UHD --fp16 --multi --exp"},
		Steps: steps{
			"lower_resolution": step.Paste("text", "Add `--scale=0.5` to your command of inference_video.py (motion at half the size; the frames stay), then 0.25. `--UHD` is the same as 0.5."),
			"half_precision":   step.Paste("text", "Add `--fp16`."),
		},
		Titles:   map[string]string{"lower_resolution": "Estimate motion at half the size (`--scale`)"},
		Costs:    map[string]string{"lower_resolution": "Hardly any quality at 4K."},
		Remedies: order("lower_resolution", "half_precision", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			made("rife/frame", cause.BatchTooLarge, "Two frames go through the network at their full size, so the resolution decides: 4K needs four times what 1080p does.", "A shorter video: it works on two frames at a time.", "Practical-RIFE/README.md", theirs("lower_resolution", "half_precision")...),
			filledRAM("rife/queue", "Up to 500 frames that are read and 500 that are to be written wait in RAM: at 4K 24 MB each.", "`--scale`: it saves GPU memory.", "Practical-RIFE/inference_video.py", cure("stream_dataset", "Shorten the frame queues", "text", "In inference_video.py: `Queue(maxsize=50)` at both places instead of 500; write to a faster disk.", "None.")),
		},
	}
	// CodeFormer and GFPGAN mend faces.
	CodeFormer = program.Program{
		Name: "codeformer", Shown: "CodeFormer", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"inference_codeformer.py", "CodeFormer/inference", "CodeFormer/facelib", "CodeFormer/basicsr/archs"},
		Sources: program.Sources{"CodeFormer/inference_codeformer.py": "--bg_tile --bg_upsampler --face_upsample --upscale --detection_model --has_aligned"},
		Steps: steps{
			"vae_tiling":        step.Paste("text", "Add `--bg_tile 200` (default 400) for the background, or leave out `--bg_upsampler` and `--face_upsample`."),
			"lower_resolution":  step.Paste("text", "Use `-s 1` (default 2), and scale images or videos of more than 2000 pixels down first: faces are looked for in the whole image."),
			"use_smaller_model": step.Paste("text", "Use `--detection_model retinaface_mobile0.25` or YOLOv5n."),
		},
		Titles:   map[string]string{"use_smaller_model": "Use a smaller face detector", "vae_tiling": "Use smaller background tiles, or none"},
		Remedies: order("vae_tiling", "lower_resolution", "use_smaller_model", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			part("codeformer/detect", []string{"facelib/detection/", "get_face_landmarks_5(", "in detect_faces"}, cause.BatchTooLarge, "ran out of GPU memory while looking for faces", "The face detector takes the whole image at its own size; the faces themselves are restored at 512 x 512.", "", "CodeFormer/inference_codeformer.py", theirs("lower_resolution", "use_smaller_model")...),
			facesOnly(),
			made("codeformer/run", cause.BatchTooLarge, "Faces are restored one by one at 512 x 512, which needs little; face detection and the enlarged background grow with the image.", "`-w`: it changes quality, not memory.", "CodeFormer/inference_codeformer.py", theirs("vae_tiling", "lower_resolution", "use_smaller_model")...),
		},
	}
	GFPGAN = program.Program{
		Name: "gfpgan", Shown: "GFPGAN", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"inference_gfpgan.py", "GFPGAN/inference", "GFPGAN/gfpgan/"},
		Sources: program.Sources{"GFPGAN/inference_gfpgan.py": "--bg_tile --bg_upsampler --upscale --aligned"},
		Steps: steps{
			"vae_tiling":       step.Paste("text", "Add `--bg_tile 200` (default 400), or `--bg_upsampler none`, which leaves the background as it is."),
			"lower_resolution": step.Paste("text", "Use `-s 1` (default 2), and scale large images down first: faces are looked for in the whole image."),
		},
		Titles:   map[string]string{"vae_tiling": "Use smaller background tiles, or none"},
		Remedies: order("vae_tiling", "lower_resolution", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			trained("gfpgan/step", "It failed in a training step: `batch_size_per_gpu` faces of 512 x 512 go through StyleGAN's decoder and the discriminators.", "", "GFPGAN/options/train_gfpgan_v1.yml", cure("lower_batch_size", "Lower the batch size", "text", "In the options file: `batch_size_per_gpu: 1` (3 there).", "Slower.")),
			made("gfpgan/run", cause.BatchTooLarge, "Faces are restored one by one at 512 x 512, which needs little; face detection and the background enlarged by Real-ESRGAN grow with the image.", "", "GFPGAN/inference_gfpgan.py", theirs("vae_tiling", "lower_resolution")...),
		},
	}
	// SUPIR restores with SDXL and LLaVA.
	SUPIR = program.Program{
		Name: "supir", Rank: above, Shown: "SUPIR", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"/SUPIR/SUPIR/", "SUPIR/test.py", "SUPIR/gradio_demo", "SUPIR/llava", "\\SUPIR\\SUPIR\\"},
		Sources: program.Sources{"SUPIR/gradio_demo.py": "--loading_half_params --use_tile_vae --load_8bit_llava --no_llava --encoder_tile_size --decoder_tile_size", "SUPIR/test.py": "--upscale --min_size --num_samples"},
		Steps: steps{
			"lowvram_mode":      step.Paste("text", "Add `--loading_half_params --use_tile_vae --load_8bit_llava`: by its README 12 GB for the diffusion and 16 for LLaVA."),
			"use_smaller_model": step.Paste("text", "Add `--no_llava` and write the description yourself: a 13B model less."),
			"vae_tiling":        step.Paste("text", "Use `--use_tile_vae --encoder_tile_size 512 --decoder_tile_size 64`, small tiles for the VAE."),
			"lower_resolution":  step.Paste("text", "Use `--upscale 1`, then 2; `--num_samples 1`."),
		},
		Titles:   map[string]string{"use_smaller_model": "Run without LLaVA (`--no_llava`)", "lowvram_mode": "Use half weights, VAE tiles and 8-bit LLaVA"},
		Costs:    map[string]string{"use_smaller_model": "You describe the image."},
		Remedies: order("lowvram_mode", "use_smaller_model", "vae_tiling", "lower_resolution"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			part("supir/llava", []string{"llava_agent", "LLavaAgent", "llava/model"}, cause.ModelTooLarge, "ran out of GPU memory in LLaVA, which describes the image", "LLaVA 13B needs 26 GB at 16 bit and about 16 at 8 bit. With two cards it uses the second.", "", "SUPIR/README.md", theirs("use_smaller_model", "lowvram_mode")...),
			made("supir/run", cause.ModelTooLarge, "SDXL with a control network works at the size of the result, beside LLaVA 13B if both share the GPU. Without options it loads 32-bit weights and decodes in one piece.", "Fewer steps: they cost time, not memory.", "SUPIR/README.md", theirs("lowvram_mode", "use_smaller_model", "lower_resolution")...),
		},
	}
	// DiffBIR and StableSR restore with Stable Diffusion.
	DiffBIR = program.Program{
		Name: "diffbir", Rank: above, Shown: "DiffBIR", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"DiffBIR/", "diffbir/"},
		Sources: program.Sources{"DiffBIR/inference.py": "--cleaner_tiled --cleaner_tile_size --vae_encoder_tiled --vae_decoder_tiled --vae_decoder_tile_size --cldm_tiled --cldm_tile_size --captioner --precision --upscale --batch_size"},
		Steps: steps{
			"vae_tiling":        step.Paste("text", "Add `--cleaner_tiled --vae_encoder_tiled --vae_decoder_tiled --cldm_tiled` (version 2.1), then `--cldm_tile_size 512 --vae_decoder_tile_size 256`."),
			"use_smaller_model": step.Paste("text", "Use `--captioner none` (or ram) instead of llava."),
			"half_precision":    step.Paste("text", "Use `--precision fp16`, its default."),
			"lower_resolution":  step.Paste("text", "Use `--upscale 2` instead of 4."),
		},
		Titles:   map[string]string{"use_smaller_model": "Run without LLaVA as captioner"},
		Remedies: order("vae_tiling", "use_smaller_model", "lower_resolution"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			trained("diffbir/step", "It failed in a training step of the control network, at 512 x 512.", "", "DiffBIR/configs/train/train_stage2.yaml", cure("lower_batch_size", "Lower the batch size", "text", "In the training YAML: a smaller `batch_size` of the data set.", "Slower.")),
			made("diffbir/run", cause.BatchTooLarge, "Every stage (cleaner, VAE, diffusion) takes the image at the size of the result in one piece unless its own tile option is set. LLaVA, if it is the captioner, is on the GPU as well.", "Fewer steps: they cost time, not memory.", "DiffBIR/README.md", theirs("vae_tiling", "use_smaller_model", "lower_resolution")...),
		},
	}
	StableSR = program.Program{
		Name: "stablesr", Rank: above, Shown: "StableSR", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"StableSR/", "sr_val_ddpm_text_T", "sr_val_ddim_text_T"},
		Sources: program.Sources{"StableSR/scripts/sr_val_ddpm_text_T_vqganfin_oldcanvas_tile.py": "--vqgantile_size --vqgantile_stride --tile_overlap --n_samples --input_size --upscale"},
		Steps: steps{
			"vae_tiling":       step.Paste("text", "Use `--vqgantile_size 768 --vqgantile_stride 640` (1280 and 1000 in its examples; 512 is the least) with the script sr_val_ddpm_text_T_vqganfin_oldcanvas_tile.py."),
			"lower_batch_size": step.Paste("text", "Use `--n_samples 1` (default 2 in the scripts for 512 pixels)."),
			"lower_resolution": step.Paste("text", "Use `--upscale 2`, or a smaller input: without the tile script the whole result is decoded at once."),
		},
		Remedies: order("lower_batch_size", "vae_tiling", "lower_resolution"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			trained("stablesr/step", "It failed in a training step of Stable Diffusion with an encoder for the small image.", "", "StableSR/README.md", cure("lower_batch_size", "Lower the batch size, accumulate gradients", "text", "In the config: a smaller `batch_size`, more `accumulate_grad_batches`.", "Slower.")),
			made("stablesr/run", cause.BatchTooLarge, "128 to 512 pixels needs 10 GB with two samples, by its README. Memory grows with the size of the result; tiles of the example size take about 18 GB.", "Fewer steps: they cost time, not memory.", "StableSR/README.md", theirs("lower_batch_size", "vae_tiling", "lower_resolution")...),
		},
	}
	// IOPaint was lama-cleaner.
	IOPaint = program.Program{
		Name: "iopaint", Shown: "IOPaint", Work: "image-generation", Edits: "flags", Language: "python",
		Proofs:  []string{"iopaint/", "lama_cleaner/", "iopaint start", "lama-cleaner "},
		Sources: program.Sources{"IOPaint/iopaint/cli.py": "--low-mem --cpu-offload --cpu-textencoder --no-half --model --device --disable-nsfw-checker", "IOPaint/iopaint/schema.py": "hd_strategy"},
		Steps: steps{
			"lowvram_mode":      step.Paste("text", "Diffusion models only: start it with `--low-mem --cpu-offload --cpu-textencoder` added to your command."),
			"lower_resolution":  step.Paste("ui", "Settings of the page, HD Strategy: Crop (only the masked part is computed) or Resize with a smaller limit, instead of Original"),
			"half_precision":    step.Paste("text", "Leave out `--no-half`."),
			"use_smaller_model": step.Paste("text", "Use `--model=lama` (under 2 GB on usual images) instead of a diffusion model."),
			"cpu_offload":       step.Paste("text", "Use `--device=cpu`: lama takes seconds there."),
		},
		Titles:   map[string]string{"lowvram_mode": "Turn on `--low-mem` and CPU offload", "lower_resolution": "Compute the masked part only"},
		Remedies: order("lower_resolution", "lowvram_mode", "use_smaller_model", "cpu_offload"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			part("iopaint/erase", []string{"iopaint/model/lama.py", "lama_cleaner/model/lama.py", "model/mat.py", "model/zits.py", "model/fcf.py", "model/migan.py", "manga.py"}, cause.BatchTooLarge, "ran out of GPU memory in an erase model", "Erase models take the image, or the part around the mask, in one piece; HD Strategy decides which. A mask over all of a large image makes that the whole image.", "", "IOPaint/iopaint/schema.py", theirs("lower_resolution", "cpu_offload")...),
			made("iopaint/run", cause.ModelTooLarge, "Diffusion models are on the GPU as a whole unless `--cpu-offload` is set, with plugins (interactive segmentation, RealESRGAN) beside them.", "Closing the browser page: the models stay loaded.", "IOPaint/iopaint/cli.py", theirs("lowvram_mode", "lower_resolution", "use_smaller_model")...),
		},
	}
	// Rembg cuts out what is in front, by ONNX models.
	Rembg = program.Program{
		Name: "rembg", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"-packages/rembg/", "rembg/sessions/", "rembg/bg.py"},
		Sources: program.Sources{"rembg/README.md": "OMP_NUM_THREADS", "rembg/rembg/commands/i_command.py": "-a -m", "rembg/rembg/sessions/base.py": "providers"},
		Steps: steps{
			"use_smaller_model":  step.Paste("python", "session = new_session(\"u2net\")   # or isnet-general-use; birefnet-general and bria-rmbg take 1024 x 1024 and several GB\nresult = remove(image, session=session)"),
			"lower_batch_size":   step.Paste("python", "session = new_session(\"u2net\")   # once, not for each image\nresults = (remove(image, session=session) for image in images)"),
			"cpu_offload":        step.Paste("python", "session = new_session(\"u2net\", providers=[\"CPUExecutionProvider\"])"),
			"lower_resolution":   step.Paste("text", "Leave out `-a` (`alpha_matting=True`), or scale the image to 1000 pixels first."),
			"raise_memory_limit": step.Paste("text", "A server: one worker at a time, 2 GB for u2net and 8 for birefnet or bria at least."),
		},
		Titles:   map[string]string{"lower_batch_size": "Make one session for all images", "lower_resolution": "Turn off alpha matting", "use_smaller_model": "Use a smaller model"},
		Costs:    map[string]string{"lower_resolution": "Harder edges of hair."},
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: inUse("use_smaller_model", "lower_batch_size", "cpu_offload"), cause.ModelTooLarge: inUse("use_smaller_model", "cpu_offload"), cause.HostMemory: cause.InOrder("lower_resolution", "use_smaller_model", "lower_batch_size"), cause.Unknown: inUse("use_smaller_model", "lower_batch_size", "cpu_offload")},
		Like:     []*program.Program{&Tiles},
		Cards: []cause.Card{
			{
				ID: "rembg/matting", Kinds: slices.Concat(inRAM, []fact.Kind{fact.NumpyAlloc}), Said: []string{"pymatting", "alpha_matting_cutout", "estimate_alpha_cf"}, Cause: cause.HostMemory, Weight: cause.Decisive,
				Headline: "ran out of system memory (RAM) in alpha matting",
				Means:    "`alpha_matting=True` (`-a`) solves an equation over all pixels of the original image in RAM: several hundred bytes a pixel, so a photo of 24 megapixels needs many GB.",
				Not:      "A smaller model, a graphics card: matting runs on the CPU.",
				Cures:    append(theirs("lower_resolution"), cure("raise_memory_limit", "Make the mask from a small copy", "python", "mask = remove(image.resize((1000, 1000 * image.height // image.width)), only_mask=True).resize(image.size)", "Softer edges.")),
				Sources:  []string{"rembg/rembg/bg.py"},
			},
			{
				ID: "rembg/model", Kinds: ortKinds, If: func(c *ledger.Case) bool { return !inside(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
				Headline: "ran out of memory in its model[[: {asked} refused]]",
				Means:    "The model decides more than the image: u2net takes 320 x 320 pixels, isnet, birefnet and bria 1024 x 1024, ten times as many; birefnet is the largest. `remove()` without a session loads a model for each call.",
				Not:      "Smaller images: the model scales them to its own size anyway.",
				Cures:    theirs("use_smaller_model", "lower_batch_size", "cpu_offload"),
				Sources:  []string{"rembg/rembg/sessions/birefnet_general.py", "rembg/rembg/sessions/u2net.py"},
			},
		},
	}
	// Marigold finds depth by diffusion.
	Marigold = program.Program{
		Name: "marigold", Shown: "Marigold", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"Marigold/", "marigold/marigold_", "marigold_depth_pipeline"},
		Sources: program.Sources{"Marigold/script/depth/run.py": "--fp16 --half_precision --processing_res --ensemble_size --batch_size"},
		Steps: steps{
			"half_precision":   step.Paste("text", "Add `--fp16`."),
			"lower_resolution": step.Paste("text", "Use `--processing_res 768` (0 takes the image's own size), then 512."),
			"lower_batch_size": step.Paste("text", "Use `--batch_size 1` and a smaller `--ensemble_size`: predictions of an ensemble go through together."),
		},
		Remedies: order("half_precision", "lower_batch_size", "lower_resolution"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			trained("marigold/step", "It failed in a training step of Stable Diffusion's UNet at 32 bit.", "", "Marigold/config/train_marigold_depth.yaml", cure("lower_batch_size", "Lower the batch size, accumulate gradients", "text", "In the YAML of `--config`: `max_train_batch_size: 1`; accumulation keeps the effective batch size.", "Slower.")),
			made("marigold/run", cause.BatchTooLarge, "Each prediction of the ensemble is a pass at `--processing_res`. Several go through at once: how many follows the size of the GPU unless `--batch_size` is set.", "Fewer denoising steps: they cost time, not memory.", "Marigold/marigold/util/batchsize.py", theirs("half_precision", "lower_batch_size", "lower_resolution")...),
		},
	}
	// DeOldify colours old pictures, on a copy of fastai 1.
	DeOldify = program.Program{
		Name: "deoldify", Rank: above, Shown: "DeOldify", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"deoldify/", "DeOldify/", "render_factor was set too high"},
		Sources: program.Sources{"DeOldify/deoldify/filters.py": "render_factor"},
		Steps: steps{
			"lower_resolution": step.Paste("python", "colorizer.plot_transformed_image(path, render_factor=20)   # default 35; memory goes with its square"),
			"restart_session":  step.Paste("text", "Restart the notebook's kernel after the first failure: the traceback keeps what was on the GPU."),
		},
		Titles:   map[string]string{"lower_resolution": "Lower `render_factor`"},
		Costs:    map[string]string{"lower_resolution": "Colour at lower detail; the image keeps its own."},
		Remedies: order("lower_resolution", "restart_session", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			trained("deoldify/step", "It failed in training, which goes up in sizes (64, 128, 192 and more), each with a smaller batch: `bs` and `sz` in the notebook's cells.", "", "DeOldify/ColorizeTrainingStable.ipynb", cure("lower_batch_size", "Halve `bs` in that cell", "text", "`bs=bs//2` in the cell of this size, after a restart of the kernel.", "Slower.")),
			made("deoldify/colour", cause.BatchTooLarge, "The model works on a square of render_factor x 16 pixels, whatever the image's size: 35 is 560 x 560. After the message \"render_factor was set too high\" DeOldify returns the image unchanged.", "A smaller image file: `render_factor` decides.", "DeOldify/deoldify/filters.py", theirs("lower_resolution", "restart_session", "close_other_apps")...),
		},
	}
	// NeuralStyle is Justin Johnson's in Lua, and its port to PyTorch.
	NeuralStyle = program.Program{
		Name: "neural-style", Work: "vision", Edits: "flags", Language: "other",
		Proofs:  []string{"neural_style.lua", "neural-style/", "neural-style-pt", "neural_style_pt"},
		Sources: program.Sources{"neural-style/README.md": "-image_size -optimizer -backend -gpu -multigpu_strategy", "neural-style-pt/neural_style.py": "-multidevice_strategy"},
		Steps: steps{
			"lower_resolution": step.Paste("text", "Half of the present `-image_size` (512 by default) takes about a quarter; `-style_scale 0.5` for the style image."),
			"optimizer_8bit":   step.Paste("text", "Use `-optimizer adam -backend cudnn`: about 1 GB instead of 3.5 at 512 pixels, its README says; with ADAM other weights may look better."),
			"multi_gpu":        step.Paste("text", "Use `-gpu 0,1` with `-multigpu_strategy 6` (neural-style-pt: `-multidevice_strategy`): layers from that number on the second card."),
			"cpu_offload":      step.Paste("text", "Use `-gpu -1` (neural-style-pt: `-gpu c`)."),
		},
		Titles:   map[string]string{"optimizer_8bit": "Use ADAM and cuDNN instead of L-BFGS", "lower_resolution": "Lower `-image_size`", "multi_gpu": "Split the layers over two GPUs"},
		Costs:    map[string]string{"optimizer_8bit": "Weights to tune.", "lower_resolution": "Detail."},
		Remedies: order("optimizer_8bit", "lower_resolution", "multi_gpu", "cpu_offload"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{{
			ID: "neural-style/picture", Kinds: onCard, If: func(c *ledger.Case) bool { return !inside(c) && !ledger.Crowded(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]]",
			Means:    "VGG keeps activations at the image's size for the backward pass, and L-BFGS, the default optimizer, many copies of the image: 3.5 GB at 512 pixels, four times that at 1024.",
			Not:      "Fewer iterations: they cost time, not memory.",
			Cures:    theirs("optimizer_8bit", "lower_resolution", "multi_gpu"), Sources: []string{"neural-style/README.md", "neural-style-pt/README.md"},
		}},
	}
	// NcnnUpscalers are nihui's and those made from them: Upscayl, Waifu2x GUIs,
	// Video2X.
	NcnnUpscalers = program.Program{
		Name: "ncnn-vulkan", Shown: "The ncnn-vulkan upscaler", Carries: []string{"ncnn"}, Work: "vision", Edits: "flags", Language: "cpp",
		Proofs:  []string{"waifu2x-ncnn-vulkan", "realesrgan-ncnn-vulkan", "realcugan-ncnn-vulkan", "realsr-ncnn-vulkan", "srmd-ncnn-vulkan", "upscayl-bin", "dain-ncnn-vulkan"},
		Sources: program.Sources{"waifu2x-ncnn-vulkan/src/main.cpp": "-t -j -g"},
		Steps: steps{
			"vae_tiling":       step.Paste("text", "Add `-t 100` (tile size; 0 lets it choose by the GPU), then `-t 32`. Upscayl: Settings, Custom Tile Size."),
			"lower_parallel":   step.Paste("text", "Add `-j 1:1:1` (threads for load, work, save; default 1:2:2)."),
			"select_gpu":       step.Paste("text", "Use `-g 1` for another GPU, `-g -1` for the CPU. The first lines of its output list the GPUs; an integrated one has little memory of its own."),
			"lower_resolution": step.Paste("text", "A smaller factor (`-s 2`), twice if need be."),
		},
		Titles:   map[string]string{"lower_parallel": "Work on one image at a time", "select_gpu": "Choose another GPU", "vae_tiling": "Use smaller tiles"},
		Remedies: order("vae_tiling", "lower_parallel", "select_gpu"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{{
			ID: "ncnn-vulkan/tile", Kinds: slices.Concat(vulkan, onCard), If: func(c *ledger.Case) bool { return !inside(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory",
			Means:    "Unless you set it, it chooses the tile size at the start, by the memory that the driver offers then, and works on two tiles at once by default. \"vkAllocateMemory failed\" can repeat for each tile, and the result can be black or have holes.",
			Cures:    theirs("vae_tiling", "lower_parallel", "select_gpu"), Sources: []string{"waifu2x-ncnn-vulkan/src/main.cpp", "waifu2x-ncnn-vulkan/README.md"},
		}},
	}
	// ChaiNNer is a page of nodes for pictures.
	ChaiNNer = program.Program{
		Name: "chainner", Shown: "chaiNNer", Work: "vision", Edits: "flags", Language: "python",
		Proofs:  []string{"chaiNNer", "chainner_", "nodes/impl/upscale/", "nodes/impl/pytorch/"},
		Sources: program.Sources{"chaiNNer/backend/src/packages/chaiNNer_pytorch/settings.py": "use_fp16 budget_limit", "chaiNNer/backend/src/packages/chaiNNer_pytorch/pytorch/processing/upscale_image.py": "tile_size"},
		Steps: steps{
			"vae_tiling":       step.Paste("ui", "In the Upscale Image node: Tile Size 512, then 256, instead of Auto (estimate) or No Tiling"),
			"half_precision":   step.Paste("ui", "Settings, PyTorch: Use FP16 Mode (RTX cards); Memory Budget Limit (GiB) one below what is free"),
			"lower_resolution": step.Paste("ui", "A Resize node before the upscaler"),
		},
		Remedies: order("vae_tiling", "half_precision", "lower_resolution", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{made("chainner/tile", cause.BatchTooLarge, "Memory grows with the tile. Auto halves it after each refusal; with a fixed size or No Tiling chaiNNer stops. Transformer models (SwinIR, HAT, DAT) need many times what ESRGAN does at the same tile size.", "", "chaiNNer/backend/src/nodes/impl/upscale/tiler.py", theirs("vae_tiling", "half_precision", "lower_resolution")...)},
	}
)

// facesOnly is for a command of CodeFormer's that enlarges no background.
func facesOnly() cause.Card {
	k := made("codeformer/faces", cause.BatchTooLarge, "Faces are restored one by one at 512 x 512, which needs little, and this command enlarges no background. What grows with the image is the search for faces, which takes it whole.", "`-w`: it changes quality, not memory. `--bg_tile`: no background is enlarged.", "CodeFormer/inference_codeformer.py",
		append(theirs("lower_resolution", "use_smaller_model"), cause.Cure{Fix: "lower_batch_size", If: func(c *ledger.Case) bool { return c.Backend == "mps" }, Title: "With a folder: one image per run", Told: "On a Mac PyTorch keeps what it compiled for each size of image until the process ends. Give `--input_path` one file at a time.", Cost: "the models load each time"})...)
	also := k.If
	k.If = func(c *ledger.Case) bool {
		typed := step.Typed(c, "inference_codeformer.py")
		return also(c) && len(typed) > 0 && !slices.ContainsFunc(typed, func(s fact.Setting) bool { return s.Name == "bg_upsampler" || s.Name == "face_upsample" })
	}
	return k
}
