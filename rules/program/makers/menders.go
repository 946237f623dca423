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
			"lower_resolution": step.Paste("text", "Add `--scale=0.5` to your inference_video.py command, then 0.25. It estimates motion at half the size; the output keeps its size."),
			"half_precision":   step.Paste("text", "Add `--fp16`."),
		},
		Titles:   map[string]string{"lower_resolution": "Estimate motion at half the size (`--scale`)"},
		Costs:    map[string]string{"lower_resolution": "Hardly any quality at 4K."},
		Remedies: order("lower_resolution", "half_precision", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			made("rife/frame", cause.BatchTooLarge, "Two frames go through the network at full size, so memory depends on the resolution: 4K needs four times as much as 1080p.", "A shorter video: it processes two frames at a time.", "Practical-RIFE/README.md", theirs("lower_resolution", "half_precision")...),
			filledRAM("rife/queue", "Up to 500 input frames and 500 output frames wait in RAM, 24 MB each at 4K.", "`--scale`: it saves GPU memory.", "Practical-RIFE/inference_video.py", cure("stream_dataset", "Shorten the frame queues", "text", "In inference_video.py set `Queue(maxsize=50)` in both places instead of 500. Write to a faster disk.", "None.")),
		},
	}
	// CodeFormer and GFPGAN mend faces.
	CodeFormer = program.Program{
		Name: "codeformer", Shown: "CodeFormer", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"inference_codeformer.py", "CodeFormer/inference", "CodeFormer/facelib", "CodeFormer/basicsr/archs"},
		Sources: program.Sources{"CodeFormer/inference_codeformer.py": "--bg_tile --bg_upsampler --face_upsample --upscale --detection_model --has_aligned"},
		Steps: steps{
			"vae_tiling":        step.Paste("text", "Add `--bg_tile 200` (default 400), or leave out `--bg_upsampler` and `--face_upsample`."),
			"lower_resolution":  step.Paste("text", "Use `-s 1` (default 2), and scale images or videos above 2000 pixels down first. The face detector processes the whole image."),
			"use_smaller_model": step.Paste("text", "Use `--detection_model retinaface_mobile0.25` or YOLOv5n."),
		},
		Titles:   map[string]string{"use_smaller_model": "Use a smaller face detector", "vae_tiling": "Use smaller background tiles, or none"},
		Remedies: order("vae_tiling", "lower_resolution", "use_smaller_model", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			part("codeformer/detect", []string{"facelib/detection/", "get_face_landmarks_5(", "in detect_faces"}, cause.BatchTooLarge, "ran out of GPU memory while looking for faces", "The face detector processes the whole image at full size. Only the faces are cut to 512 x 512 later.", "", "CodeFormer/inference_codeformer.py", theirs("lower_resolution", "use_smaller_model")...),
			facesOnly(),
			made("codeformer/run", cause.BatchTooLarge, "Face detection and the enlarged background grow with the size of the image. Restoring the faces, one by one at 512 x 512, needs little.", "`-w`: it changes quality, not memory.", "CodeFormer/inference_codeformer.py", theirs("vae_tiling", "lower_resolution", "use_smaller_model")...),
		},
	}
	GFPGAN = program.Program{
		Name: "gfpgan", Shown: "GFPGAN", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"inference_gfpgan.py", "GFPGAN/inference", "GFPGAN/gfpgan/"},
		Sources: program.Sources{"GFPGAN/inference_gfpgan.py": "--bg_tile --bg_upsampler --upscale --aligned"},
		Steps: steps{
			"vae_tiling":       step.Paste("text", "Add `--bg_tile 200` (default 400), or `--bg_upsampler none`, which leaves the background unchanged."),
			"lower_resolution": step.Paste("text", "Use `-s 1` (default 2), and scale large images down first. The face detector processes the whole image."),
		},
		Titles:   map[string]string{"vae_tiling": "Use smaller background tiles, or none"},
		Remedies: order("vae_tiling", "lower_resolution", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			trained("gfpgan/step", "In each training step `batch_size_per_gpu` faces of 512 x 512 go through StyleGAN's decoder and the discriminators.", "", "GFPGAN/options/train_gfpgan_v1.yml", cure("lower_batch_size", "Lower the batch size", "text", "In the options file: `batch_size_per_gpu: 1` (default 3).", "Slower.")),
			made("gfpgan/run", cause.BatchTooLarge, "Face detection and the background, which Real-ESRGAN enlarges, grow with the size of the image. Restoring the faces, one by one at 512 x 512, needs little.", "", "GFPGAN/inference_gfpgan.py", theirs("vae_tiling", "lower_resolution")...),
		},
	}
	// SUPIR restores with SDXL and LLaVA.
	SUPIR = program.Program{
		Name: "supir", Rank: above, Shown: "SUPIR", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"/SUPIR/SUPIR/", "SUPIR/test.py", "SUPIR/gradio_demo", "SUPIR/llava", "\\SUPIR\\SUPIR\\"},
		Sources: program.Sources{"SUPIR/gradio_demo.py": "--loading_half_params --use_tile_vae --load_8bit_llava --no_llava --encoder_tile_size --decoder_tile_size", "SUPIR/test.py": "--upscale --min_size --num_samples"},
		Steps: steps{
			"lowvram_mode":      step.Paste("text", "Add `--loading_half_params --use_tile_vae --load_8bit_llava`. Then diffusion needs 12 GB and LLaVA 16 GB, its README says."),
			"use_smaller_model": step.Paste("text", "Add `--no_llava` and write the description yourself. That saves a 13B model."),
			"vae_tiling":        step.Paste("text", "Use `--use_tile_vae --encoder_tile_size 512 --decoder_tile_size 64` for small VAE tiles."),
			"lower_resolution":  step.Paste("text", "Use `--upscale 1`, then 2, with `--num_samples 1`."),
		},
		Useless:  both(futile(near("--no_llava"), "use_smaller_model"), futile(near("--use_tile_vae"), "lowvram_mode")),
		Titles:   map[string]string{"use_smaller_model": "Run without LLaVA (`--no_llava`)", "lowvram_mode": "Use half weights, VAE tiles and 8-bit LLaVA"},
		Costs:    map[string]string{"use_smaller_model": "You write the description."},
		Remedies: order("lowvram_mode", "use_smaller_model", "vae_tiling", "lower_resolution"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			part("supir/llava", []string{"llava_agent", "LLavaAgent", "llava/model"}, cause.ModelTooLarge, "ran out of GPU memory in LLaVA, which describes the image", "LLaVA 13B needs 26 GB in 16 bit and about 16 GB in 8 bit. With two GPUs it uses the second.", "", "SUPIR/README.md", theirs("use_smaller_model", "lowvram_mode")...),
			already("supir/tiled", []string{"--no_llava", "--use_tile_vae"}, cause.ModelTooLarge, "Options that save memory are on already. SDXL with a control network works at the size of the result; `--loading_half_params` halves the weights, VAE tiles bound only the VAE.", "Fewer steps: they save time, not memory.", "SUPIR/README.md", cure("lower_resolution", "Make a smaller result", "text", "Use a lower `--upscale`, or cut the picture in parts. `--num_samples 1`.", "Detail."), cause.Cure{Fix: "lowvram_mode"}, cause.Cure{Fix: "use_smaller_model"}, cause.Cure{Fix: "vae_tiling"}),
			weights("supir/ram", "Two SDXL checkpoints (7 GB each, more in 32 bit), SUPIR's own and LLaVA 13B (26 GB in 16 bit) pass through RAM: 60 GB with LLaVA.", "SUPIR/README.md", theirs("use_smaller_model")...),
			made("supir/run", cause.ModelTooLarge, "SDXL with a control network works at the size of the result. On a single GPU, LLaVA 13B shares it. By default SUPIR loads 32-bit weights and decodes the whole image at once.", "Fewer steps: they save time, not memory.", "SUPIR/README.md", theirs("lowvram_mode", "use_smaller_model", "lower_resolution")...),
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
			"half_precision":    step.Paste("text", "Use `--precision fp16`, the default."),
			"lower_resolution":  step.Paste("text", "Use `--upscale 2` instead of 4."),
		},
		Titles:   map[string]string{"use_smaller_model": "Run without LLaVA as captioner"},
		Remedies: order("vae_tiling", "use_smaller_model", "lower_resolution"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			trained("diffbir/step", "Training the control network processes a batch of 512 x 512 images at once.", "", "DiffBIR/configs/train/train_stage2.yaml", cure("lower_batch_size", "Lower the batch size", "text", "In the training YAML, lower the data set's `batch_size`.", "Slower.")),
			made("diffbir/run", cause.BatchTooLarge, "Every stage (cleaner, VAE, diffusion) processes the image at the size of the result, all at once unless you set its tile option. LLaVA as captioner takes GPU memory too.", "Fewer steps: they save time, not memory.", "DiffBIR/README.md", theirs("vae_tiling", "use_smaller_model", "lower_resolution")...),
		},
	}
	StableSR = program.Program{
		Name: "stablesr", Rank: above, Shown: "StableSR", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"StableSR/", "sr_val_ddpm_text_T", "sr_val_ddim_text_T"},
		Sources: program.Sources{"StableSR/scripts/sr_val_ddpm_text_T_vqganfin_oldcanvas_tile.py": "--vqgantile_size --vqgantile_stride --tile_overlap --n_samples --input_size --upscale"},
		Steps: steps{
			"vae_tiling":       step.Paste("text", "Use `--vqgantile_size 768 --vqgantile_stride 640` (1280 and 1000 in its examples; 512 is the least), with the script sr_val_ddpm_text_T_vqganfin_oldcanvas_tile.py."),
			"lower_batch_size": step.Paste("text", "Use `--n_samples 1` (the 512-pixel scripts default to 2)."),
			"lower_resolution": step.Paste("text", "Use `--upscale 2`, or a smaller input. Without the tile script the whole result is decoded at once."),
		},
		Remedies: order("lower_batch_size", "vae_tiling", "lower_resolution"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			trained("stablesr/step", "Training runs Stable Diffusion plus an encoder for the small image; memory grows with the batch.", "", "StableSR/README.md", cure("lower_batch_size", "Lower the batch size, accumulate gradients", "text", "In the config, lower `batch_size` and raise `accumulate_grad_batches` in proportion.", "Slower.")),
			made("stablesr/run", cause.BatchTooLarge, "Memory grows with the size of the result. Upscaling 128 to 512 pixels with two samples needs 10 GB, its README says; the example tile sizes take about 18 GB.", "Fewer steps: they save time, not memory.", "StableSR/README.md", theirs("lower_batch_size", "vae_tiling", "lower_resolution")...),
		},
	}
	// IOPaint was lama-cleaner.
	IOPaint = program.Program{
		Name: "iopaint", Shown: "IOPaint", Work: "image-generation", Edits: "flags", Language: "python",
		Proofs:  []string{"iopaint/", "lama_cleaner/", "iopaint start", "lama-cleaner "},
		Sources: program.Sources{"IOPaint/iopaint/cli.py": "--low-mem --cpu-offload --cpu-textencoder --no-half --model --device --disable-nsfw-checker", "IOPaint/iopaint/schema.py": "hd_strategy"},
		Steps: steps{
			"lowvram_mode":      step.Paste("text", "For diffusion models: add `--low-mem --cpu-offload --cpu-textencoder` to your start command."),
			"lower_resolution":  step.Paste("ui", "Settings, HD Strategy: Crop (processes only the masked part) or Resize with a smaller limit, instead of Original"),
			"half_precision":    step.Paste("text", "Leave out `--no-half`."),
			"use_smaller_model": step.Paste("text", "Use `--model=lama` (under 2 GB on usual images) instead of a diffusion model."),
			"cpu_offload":       step.Paste("text", "Use `--device=cpu`. With lama that takes only seconds."),
		},
		Titles:   map[string]string{"lowvram_mode": "Turn on `--low-mem` and CPU offload", "lower_resolution": "Process only the masked part"},
		Remedies: order("lower_resolution", "lowvram_mode", "use_smaller_model", "cpu_offload"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			part("iopaint/erase", []string{"iopaint/model/lama.py", "lama_cleaner/model/lama.py", "model/mat.py", "model/zits.py", "model/fcf.py", "model/migan.py", "manga.py"}, cause.BatchTooLarge, "ran out of GPU memory in an erase model", "An erase model processes the image, or with HD Strategy Crop the part around the mask, all at once. A mask over most of a large image makes that part large too.", "", "IOPaint/iopaint/schema.py", theirs("lower_resolution", "cpu_offload")...),
			made("iopaint/run", cause.ModelTooLarge, "Without `--cpu-offload` a diffusion model is on the GPU as a whole. Plugins (interactive segmentation, RealESRGAN) come on top.", "Closing the browser page: the models stay loaded.", "IOPaint/iopaint/cli.py", theirs("lowvram_mode", "lower_resolution", "use_smaller_model")...),
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
			"raise_memory_limit": step.Paste("text", "Servers: run one worker at a time, with at least 2 GB of RAM for u2net and 8 GB for birefnet or bria."),
		},
		Titles:   map[string]string{"lower_batch_size": "Create one session for all images", "lower_resolution": "Turn off alpha matting", "use_smaller_model": "Use a smaller model"},
		Costs:    map[string]string{"lower_resolution": "Harder edges of hair.", "lower_batch_size": "Free, and faster."},
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: inUse("use_smaller_model", "lower_batch_size", "cpu_offload"), cause.ModelTooLarge: inUse("use_smaller_model", "cpu_offload"), cause.HostMemory: cause.InOrder("lower_resolution", "use_smaller_model", "lower_batch_size"), cause.Unknown: inUse("use_smaller_model", "lower_batch_size", "cpu_offload")},
		Like:     []*program.Program{&Tiles},
		Cards: []cause.Card{
			{
				ID: "rembg/matting", Kinds: slices.Concat(inRAM, []fact.Kind{fact.NumpyAlloc}), Said: []string{"pymatting", "alpha_matting_cutout", "estimate_alpha_cf"}, Cause: cause.HostMemory, Weight: cause.Decisive,
				Headline: "ran out of system memory (RAM) in alpha matting",
				Means:    "Alpha matting (`alpha_matting=True`, `-a`) solves an equation over all pixels of the original image in RAM. At several hundred bytes per pixel, a 24-megapixel photo needs many GB.",
				Not:      "A smaller model or a GPU: matting runs on the CPU.",
				Cures:    append(theirs("lower_resolution"), cure("raise_memory_limit", "Make the mask from a smaller copy", "python", "mask = remove(image.resize((1000, 1000 * image.height // image.width)), only_mask=True).resize(image.size)", "Softer edges.")),
				Sources:  []string{"rembg/rembg/bg.py"},
			},
			{
				ID: "rembg/model", Kinds: ortKinds, If: func(c *ledger.Case) bool { return !inside(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
				Headline: "ran out of memory in its model[[: {asked} more was needed]]",
				Means:    "Memory depends on the model, not on the image: u2net works at 320 x 320 pixels, isnet, birefnet and bria at 1024 x 1024. birefnet is the largest. `remove()` without a session may load the model again for each call.",
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
			"lower_resolution": step.Paste("text", "Use `--processing_res 768`, then 512 (0 means the image's own size)."),
			"lower_batch_size": step.Paste("text", "Use `--batch_size 1` and a smaller `--ensemble_size`. By default several predictions run together."),
		},
		Useless:  futile(near("--fp16", "--half_precision"), "half_precision"),
		Remedies: order("half_precision", "lower_batch_size", "lower_resolution"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			already("marigold/half", []string{"--fp16", "--half_precision"}, cause.BatchTooLarge, "It computes in 16 bit already. Each prediction of the ensemble is a pass at `--processing_res`. Unless you set `--batch_size`, the script picks how many run at once by the size of the GPU, not by what is free.", "Fewer denoising steps: they save time, not memory.", "Marigold/marigold/util/batchsize.py", append(theirs("lower_batch_size", "lower_resolution"), lookAtCard)...),
			trained("marigold/step", "It trains Stable Diffusion's UNet in 32 bit; the batch comes on top of weights, gradients and optimizer.", "", "Marigold/config/train_marigold_depth.yaml", cure("lower_batch_size", "Lower the batch size, accumulate gradients", "text", "In the YAML of `--config`: `max_train_batch_size: 1`. Accumulation keeps the effective batch size.", "Slower.")),
			made("marigold/run", cause.BatchTooLarge, "Each prediction of the ensemble is a pass at `--processing_res`. Unless you set `--batch_size`, the script picks how many run at once by the size of the GPU, not by what is free.", "Fewer denoising steps: they save time, not memory.", "Marigold/marigold/util/batchsize.py", theirs("half_precision", "lower_batch_size", "lower_resolution")...),
		},
	}
	// DeOldify colours old pictures, on a copy of fastai 1.
	DeOldify = program.Program{
		Name: "deoldify", Rank: above, Shown: "DeOldify", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"deoldify/", "DeOldify/", "render_factor was set too high"},
		Sources: program.Sources{"DeOldify/deoldify/filters.py": "render_factor"},
		Steps: steps{
			"lower_resolution": step.Paste("python", "colorizer.plot_transformed_image(path, render_factor=20)   # default 35; memory goes with its square"),
			"restart_session":  step.Paste("text", "Restart the notebook's kernel after a failure: the traceback can keep the GPU memory in use."),
		},
		Titles:   map[string]string{"lower_resolution": "Lower `render_factor`"},
		Costs:    map[string]string{"lower_resolution": "Less detail in the colours only."},
		Remedies: order("lower_resolution", "restart_session", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			trained("deoldify/step", "Training goes up in image sizes (64, 128, 192 and more), each with its own batch size: `bs` and `sz` in the notebook's cells.", "", "DeOldify/ColorizeTrainingStable.ipynb", cure("lower_batch_size", "Halve `bs` in that cell", "text", "Restart the kernel, then set `bs=bs//2` in the cell of the size that failed.", "Slower.")),
			made("deoldify/colour", cause.BatchTooLarge, "The model works on a square of `render_factor` x 16 pixels (35 means 560 x 560), whatever the image's size. After \"render_factor was set too high\" DeOldify returns the image unchanged.", "A smaller image file: only `render_factor` counts.", "DeOldify/deoldify/filters.py", theirs("lower_resolution", "restart_session", "close_other_apps")...),
		},
	}
	// NeuralStyle is Justin Johnson's in Lua, and its port to PyTorch.
	NeuralStyle = program.Program{
		Name: "neural-style", Work: "vision", Edits: "flags", Language: "other",
		Proofs:  []string{"neural_style.lua", "neural-style/", "neural-style-pt", "neural_style_pt"},
		Sources: program.Sources{"neural-style/README.md": "-image_size -optimizer -backend -gpu -multigpu_strategy", "neural-style-pt/neural_style.py": "-multidevice_strategy"},
		Steps: steps{
			"lower_resolution": step.Paste("text", "Halve `-image_size` (default 512): it needs about a quarter of the memory. Use `-style_scale 0.5` for the style image."),
			"optimizer_8bit":   step.Paste("text", "Use `-optimizer adam -backend cudnn`: about 1 GB instead of 3.5 GB at 512 pixels, its README says. With ADAM you may have to tune the weights."),
			"multi_gpu":        step.Paste("text", "Use `-gpu 0,1` with `-multigpu_strategy 6` (neural-style-pt: `-multidevice_strategy`). Layers from that number on go to the second GPU."),
			"cpu_offload":      step.Paste("text", "Use `-gpu -1` (neural-style-pt: `-gpu c`)."),
		},
		Titles:   map[string]string{"optimizer_8bit": "Use ADAM and cuDNN instead of L-BFGS", "lower_resolution": "Lower `-image_size`", "multi_gpu": "Split the layers over two GPUs"},
		Costs:    map[string]string{"optimizer_8bit": "Weights to tune.", "lower_resolution": "Detail."},
		Remedies: order("optimizer_8bit", "lower_resolution", "multi_gpu", "cpu_offload"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{{
			ID: "neural-style/picture", Kinds: onCard, If: func(c *ledger.Case) bool { return !inside(c) && !ledger.Crowded(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]]",
			Means:    "VGG keeps activations at the image's size, and the default optimizer, L-BFGS, keeps many copies of the image: 3.5 GB at 512 pixels, four times that at 1024.",
			Not:      "Fewer iterations: they save time, not memory.",
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
			"vae_tiling":       step.Paste("text", "Add `-t 100` (tile size; 0 means automatic), then `-t 32`. Upscayl: Settings, Custom Tile Size."),
			"lower_parallel":   step.Paste("text", "Add `-j 1:1:1` (threads for load, work, save; default 1:2:2)."),
			"select_gpu":       step.Paste("text", "Use `-g 1` for the second GPU (waifu2x-ncnn-vulkan also takes `-g -1`, the CPU). The first lines of its output list the GPUs."),
			"lower_resolution": step.Paste("text", "Use a smaller factor (`-s 2`), twice if needed."),
		},
		Titles:   map[string]string{"lower_parallel": "Process one image at a time", "select_gpu": "Choose another GPU", "vae_tiling": "Use smaller tiles"},
		Remedies: order("vae_tiling", "lower_parallel", "select_gpu"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{{
			ID: "ncnn-vulkan/tile", Kinds: slices.Concat(vulkan, onCard), If: func(c *ledger.Case) bool { return !inside(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory",
			Means:    "By default it picks the tile size at the start, by the memory that the driver reports, and processes two tiles at once. If less is really free, it fails. The result can be black or have holes.",
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
			"half_precision":   step.Paste("ui", "Settings, PyTorch: Use FP16 Mode (RTX GPUs); Memory Budget Limit (GiB) 1 below what is free"),
			"lower_resolution": step.Paste("ui", "Add a Resize node before the upscaler"),
		},
		Remedies: order("vae_tiling", "half_precision", "lower_resolution", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{made("chainner/tile", cause.BatchTooLarge, "Memory grows with the tile size. Auto halves the tile after each failure; with a fixed size or No Tiling chaiNNer stops. Transformer models (SwinIR, HAT, DAT) need many times as much as ESRGAN for the same tile.", "", "chaiNNer/backend/src/nodes/impl/upscale/tiler.py", theirs("vae_tiling", "half_precision", "lower_resolution")...)},
	}
)

// facesOnly is for a command of CodeFormer's that enlarges no background.
func facesOnly() cause.Card {
	k := made("codeformer/faces", cause.BatchTooLarge, "This command enlarges no background, and restoring faces, one by one at 512 x 512, needs little. What grows with the image is face detection, which processes it whole.", "`-w` or `--bg_tile`: neither changes face detection.", "CodeFormer/inference_codeformer.py",
		append(theirs("lower_resolution", "use_smaller_model"), cause.Cure{Fix: "lower_batch_size", If: func(c *ledger.Case) bool { return c.Backend == "mps" }, Title: "With a folder: one image per run", Told: "On a Mac, PyTorch keeps what it compiled for each image size until the process ends. Pass one file at a time with `--input_path`.", Cost: "the models load each time"})...)
	also := k.If
	k.If = func(c *ledger.Case) bool {
		typed := step.Typed(c, "inference_codeformer.py")
		return also(c) && len(typed) > 0 && !slices.ContainsFunc(typed, func(s fact.Setting) bool { return s.Name == "bg_upsampler" || s.Name == "face_upsample" })
	}
	return k
}
