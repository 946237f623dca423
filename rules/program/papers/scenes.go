package papers

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Scenes and surfaces of papers: rays, grids and pairs of pictures.
var (
	// InstantNGP is NVIDIA's, in C++ and CUDA.
	InstantNGP = program.Program{
		Name: "instant-ngp", Shown: "instant-ngp", Work: "rendering", Edits: "flags", Language: "cpp",
		Proofs:  []string{"instant-ngp/", "instant-ngp.exe", "pyngp", "Instant-NGP"},
		Sources: program.Sources{"instant-ngp/scripts/run.py": "--marching_cubes_res --width --height --network", "instant-ngp/scripts/colmap2nerf.py": "--aabb_scale", "instant-ngp/configs/nerf/small.json": "log2_hashmap_size"},
		Steps: spelling{
			"lower_resolution":  say("Smaller images in the data set, fewer of them: all lie on the card. Half the width and height is a quarter; give colmap2nerf.py the smaller ones, so that the focal lengths in transforms.json fit."),
			"use_smaller_model": say("A smaller hash table: `--network small.json` (2^15 entries a level instead of 2^19); and a smaller `aabb_scale` in transforms.json (colmap2nerf.py `--aabb_scale 4`, 32 as it comes): the occupancy grid follows it."),
			"lower_batch_size":  say("A smaller window while it trains (`--width 640 --height 360`), and for a mesh `--marching_cubes_res 128` (default 256: eight times as many points)."),
		},
		Titles:   map[string]string{"lower_resolution": "Fewer or smaller images", "use_smaller_model": "A smaller scene and hash table", "lower_batch_size": "A smaller window, a coarser mesh"},
		Costs:    map[string]string{"lower_resolution": "Fine detail.", "use_smaller_model": "Detail; far background.", "lower_batch_size": "Coarser."},
		Remedies: ways("lower_resolution", "close_other_apps", "use_smaller_model", "lower_batch_size"), Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{paperRun("instant-ngp/card", cause.BatchTooLarge, "All training images lie on the card, beside the hash table, the grid of the scene (by `aabb_scale`) and the image that the window shows. A desktop's own programs share the card.",
			"Fewer training steps: memory does not grow with them.", "instant-ngp/src/nerf_loader.cu", own("lower_resolution", "use_smaller_model", "lower_batch_size")...)},
	}
	// TorchNGP is ashawkey's, with stable-dreamfusion and others made from it.
	TorchNGP = program.Program{
		Name: "torch-ngp", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"torch-ngp/", "main_nerf.py", "main_tensoRF.py", "main_CCNeRF.py"},
		Sources: program.Sources{"torch-ngp/main_nerf.py": "--num_rays --max_ray_batch --preload --fp16 --cuda_ray --patch_size --error_map"},
		Steps: spelling{
			"cpu_offload":      say("`--fp16 --cuda_ray` instead of `-O`, which adds `--preload`: the images then stay in RAM."),
			"lower_batch_size": say("`--num_rays 2048` (default 4096 a step); without `--cuda_ray` also `--max_ray_batch 1024` for images (default 4096)."),
			"mixed_precision":  say("`--fp16`."),
			"lower_resolution": say("Smaller images in the data set: there is no option for it."),
		},
		Titles:   map[string]string{"cpu_offload": "Keep the images in RAM", "lower_batch_size": "Fewer rays at a time", "lower_resolution": "Smaller images"},
		Remedies: ways("cpu_offload", "lower_batch_size", "mixed_precision"), Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{
			paperPart("torch-ngp/preload", []string{"nerf/provider.py", "in dataloader", "self.images.to("}, cause.BatchTooLarge, "ran out while it put all images on the card", "`--preload` (a part of `-O`) keeps every image on the card: width x height x 8 to 16 bytes each. No ray was computed yet.", "Fewer rays: none was computed.", "torch-ngp/main_nerf.py", own("cpu_offload", "lower_resolution")...),
			paperStep("torch-ngp/step", "It failed in a training step: rays x samples on each; images lie on the card as well with `-O`.", "Fewer epochs: memory does not grow with them.", "torch-ngp/main_nerf.py", own("lower_batch_size", "cpu_offload", "mixed_precision")...),
			paperRun("torch-ngp/render", cause.BatchTooLarge, "It failed while an image or a mesh was made, not in a training step.", "Fewer rays a step: they count in training.", "torch-ngp/main_nerf.py", cause.Cure{Fix: "lower_batch_size", Title: "Smaller parts", Kind: "text", Text: "`--max_ray_batch 1024` (without `--cuda_ray`); a mesh: a lower `resolution` in `save_mesh` (256 as it comes).", Cost: "Slower, or coarser."}, cause.Cure{Fix: "cpu_offload"}),
		},
	}
	// Neuralangelo is NVIDIA's.
	Neuralangelo = program.Program{
		Name: "neuralangelo", Shown: "Neuralangelo", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"neuralangelo/", "projects/nerf/", "projects/neuralangelo"},
		Sources: program.Sources{"neuralangelo/README.md": "dict_size BLOCK_RES --model --data", "neuralangelo/projects/neuralangelo/configs/base.yaml": "rand_rays", "neuralangelo/projects/neuralangelo/scripts/extract_mesh.py": "--block_res --resolution"},
		Steps: spelling{
			"use_smaller_model": say("At the end of your command, by card: 8 GB `--model.object.sdf.encoding.hashgrid.dict_size=20 --model.object.sdf.encoding.hashgrid.dim=4`; 12 GB 21 and 4; 16 GB 21 and 8 (24 GB: 22 and 8, as it comes)."),
			"lower_batch_size":  say("`--model.render.rand_rays=256` (default 512) and `--data.train.batch_size=1` (2). Mesh: `--block_res=64`, then 32."),
			"lower_resolution":  say("Validation: `--data.val.image_size=[200,200] --data.val.batch_size=1 --data.val.subset=1` at the end of your command."),
		},
		Titles:   map[string]string{"use_smaller_model": "A hash grid for your card", "lower_batch_size": "Fewer rays", "lower_resolution": "Smaller validation images"},
		Costs:    map[string]string{"use_smaller_model": "Fine detail.", "lower_resolution": "Coarser previews; the result stays."},
		Remedies: ways("use_smaller_model", "lower_batch_size", "lower_resolution"), Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{
			paperPart("neuralangelo/mesh", []string{"extract_mesh.py", "neuralangelo/utils/mesh.py"}, cause.BatchTooLarge, "ran out while extracting the mesh", "The grid is worked off in blocks of `--block_res` cubed on each card.", "A smaller hash grid: the model is trained already.", "neuralangelo/README.md", cause.Cure{Fix: "lower_batch_size", Title: "Smaller blocks", Kind: "text", Text: "`--block_res=64`, then 32 (README: 128), and `--resolution=1024` instead of 2048.", Cost: "Slower; --resolution: coarser."}),
			paperStep("neuralangelo/step", "Its defaults need 24 GB: the hash grid (2^22 entries x 8 numbers x 16 levels) with gradients and optimizer is most of it. The finer levels are switched on as training goes on, so that memory may grow late.", "Smaller images: rays are sampled.", "neuralangelo/README.md", own("use_smaller_model", "lower_batch_size", "lower_resolution")...),
			paperRun("neuralangelo/val", cause.BatchTooLarge, "It failed in validation, which renders whole images, not in a training step.", "A smaller hash grid first: training fitted.", "neuralangelo/README.md", own("lower_resolution", "use_smaller_model")...),
		},
	}
	// SDFStudio is a fork of Nerfstudio for surfaces.
	SDFStudio = program.Program{
		Name: "sdfstudio", Rank: above, Shown: "SDFStudio", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"sdfstudio/", "sdfstudio-data"},
		Sources: program.Sources{"sdfstudio/nerfstudio/data/datamanagers/base_datamanager.py": "--pipeline.datamanager.train-num-rays-per-batch --pipeline.datamanager.train-num-images-to-sample-from --pipeline", "sdfstudio/nerfstudio/models/base_model.py": "--pipeline.model.eval-num-rays-per-chunk", "sdfstudio/scripts/extract_mesh.py": "--resolution"},
		Steps: spelling{
			"lower_batch_size": say("Add `--pipeline.datamanager.train-num-rays-per-batch 512` (default 1024); rendering: `--pipeline.model.eval-num-rays-per-chunk 512`. Mesh: ns-extract-mesh `--resolution 512`."),
			"cpu_offload":      say("Add `--pipeline.datamanager.train-num-images-to-sample-from 20`: so many images at a time instead of all."),
		},
		Titles:   map[string]string{"lower_batch_size": "Fewer rays at a time", "cpu_offload": "Fewer images at a time"},
		Remedies: ways("lower_batch_size", "cpu_offload"), Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{
			paperStep("sdfstudio/step", "It failed in a training step: rays x samples; surfaces need gradients of gradients (eikonal loss), twice a NeRF's memory and more, and numerical gradients six more points each.", "A smaller number of steps: memory does not grow with them.", "sdfstudio/nerfstudio/models/base_surface_model.py", own("lower_batch_size", "cpu_offload")...),
			paperRun("sdfstudio/render", cause.BatchTooLarge, "It failed while an image or mesh was made, not in a training step.", "train-num-rays-per-batch: it counts in training.", "sdfstudio/nerfstudio/models/base_model.py", own("lower_batch_size")...),
		},
	}
	// Threestudio makes objects from text or a picture.
	Threestudio = program.Program{
		Name: "threestudio", Shown: "threestudio", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"threestudio/", "threestudio."},
		Sources: program.Sources{"threestudio/README.md": "system.cleanup_after_validation_step system.guidance.enable_attention_slicing system.guidance.token_merging system.guidance.enable_sequential_cpu_offload", "threestudio/threestudio/models/renderers/nerf_volume_renderer.py": "num_samples_per_ray eval_chunk_size"},
		Steps: spelling{
			"lower_batch_size":    say("At the end of your command: `data.batch_size=1`, with `trainer.accumulate_grad_batches=4` for the same result."),
			"lower_resolution":    say("At the end of your command: `data.width=64 data.height=64`, then `system.renderer.num_samples_per_ray=256` (512 as it comes for NeRFs)."),
			"efficient_attention": say("At the end of your command: `system.guidance.enable_attention_slicing=true` (about a fifth slower), `system.guidance.token_merging=true`; PyTorch 1: `system.guidance.enable_memory_efficient_attention=true`."),
			"cpu_offload":         say("At the end of your command: `system.guidance.enable_sequential_cpu_offload=true`: saves most and is very slow."),
			"use_smaller_model":   say("A config on Stable Diffusion (-sd, about 6 GB) instead of DeepFloyd IF (-if: 15 GB for the text, 10 to train)."),
			"empty_cache":         say("It fails in validation or test only: `system.cleanup_after_validation_step=true system.cleanup_after_test_step=true`."),
		},
		Titles:   map[string]string{"lower_resolution": "Render smaller images", "use_smaller_model": "Stable Diffusion as the guide", "efficient_attention": "Slice the guide's attention"},
		Costs:    map[string]string{"lower_resolution": "Fine detail."},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model", "efficient_attention", "cpu_offload"), Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{
			paperPart("threestudio/text", []string{"prompt_processors/", "T5EncoderModel"}, cause.ModelTooLarge, "ran out while its text encoder read the prompt",
				"The prompt's embeddings are made before training, by the guide's text encoder: T5-XXL of DeepFloyd IF takes about 15 GB even at 8 bit. They are kept in .threestudio_cache, so that it is needed once for each prompt.", "A smaller image or batch: nothing was rendered yet.", "threestudio/README.md",
				append(own("use_smaller_model"), cause.Cure{Fix: "bigger_gpu", Title: "Or make the embeddings elsewhere", Kind: "text", Text: "Run it once on a card of 16 GB and more, and copy `.threestudio_cache` beside the code here.", Cost: "A rented card for a minute."})...),
			paperPart("threestudio/validate", []string{"in validation_step", "in test_step"}, cause.BatchTooLarge, "ran out in validation or test, not in training", "Validation renders at 512 x 512 (`data.eval_width`, `data.eval_height`), more than most training steps do.", "A smaller training batch: it counts in training.", "threestudio/README.md",
				append(own("empty_cache"), cause.Cure{Fix: "lower_resolution", Title: "Smaller parts, smaller images", Kind: "text", Text: "`system.renderer.eval_chunk_size=40000` (160000 as it comes), `data.eval_width=256 data.eval_height=256`.", Cost: "Slower, or coarser previews."})...),
			paperStep("threestudio/step", "It failed in a training step: batch x rendered pixels x samples on each ray, plus the diffusion model that guides it. Memory rises at the steps at which a config raises its size (resolution_milestones) or adds a stage.", "A shorter prompt, fewer steps: memory does not grow with them.", "threestudio/README.md", own("lower_resolution", "lower_batch_size", "use_smaller_model")...),
			paperRun("threestudio/run", cause.ModelTooLarge, "The diffusion model that guides it and the scene share the card.", "Fewer steps: memory does not grow with them.", "threestudio/README.md", own("use_smaller_model", "lower_resolution", "cpu_offload")...),
		},
	}
	// NeuS is a surface from pictures, of which many others are made.
	NeuS = program.Program{
		Name: "neus", Shown: "NeuS", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"NeuS/", "exp_runner.py"},
		Sources: program.Sources{"NeuS/confs/wmask.conf": "batch_size n_samples validate_resolution_level", "NeuS/exp_runner.py": "--mode"},
		Steps: spelling{
			"lower_batch_size": say("In the .conf: `batch_size = 256` (rays; default 512), then `n_samples = 32`, `n_importance = 32`. Images and colours of the mesh use the same number."),
			"lower_resolution": say("In the .conf: `validate_resolution_level = 8`; mesh: `resolution=256` in the call of validate_mesh at the end of exp_runner.py (512)."),
		},
		Titles:   map[string]string{"lower_batch_size": "Fewer rays at a time", "lower_resolution": "A coarser preview or mesh"},
		Costs:    map[string]string{"lower_resolution": "Coarser previews; the model stays."},
		Remedies: ways("lower_batch_size", "lower_resolution"), Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{
			paperPart("neus/validate", []string{"in validate_mesh", "in validate_image", "extract_geometry", "extract_fields"}, cause.BatchTooLarge, "ran out while it made a preview or mesh", "Rays and grid points are worked off in parts; what was computed stays if `.detach().cpu()` is missing, and gradients for normals need more than colours.", "Fewer training images: they lie in RAM.", "NeuS/exp_runner.py", own("lower_resolution", "lower_batch_size")...),
			paperStep("neus/step", "It failed in a training step: rays x samples (64 and 64 more), with gradients of gradients for the surface. The images lie in RAM, not on the card.", "Smaller images: rays are drawn from them, 512 at a time.", "NeuS/confs/wmask.conf", own("lower_batch_size", "lower_resolution")...),
			paperRun("neus/run", cause.BatchTooLarge, "Rays x samples decide (512 x 128 as it comes), with gradients of gradients for the surface; the images lie in RAM.", "Smaller images: rays are drawn from them.", "NeuS/confs/wmask.conf", own("lower_batch_size", "lower_resolution")...),
		},
	}
	// TensoRF keeps a scene in planes and lines.
	TensoRF = program.Program{
		Name: "tensorf", Shown: "TensoRF", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"TensoRF/", "models/tensoRF.py", "OctreeRender_trilinear_fast"},
		Sources: program.Sources{"TensoRF/opt.py": "--batch_size --N_voxel_final --N_voxel_init --n_lamb_sigma --n_lamb_sh --downsample_train --upsamp_list --nSamples"},
		Steps: spelling{
			"use_smaller_model": say("`--N_voxel_final 8000000` (200 cubed; configs have 300 to 640 cubed), then fewer components in the config: `n_lamb_sh = [24,24,24]`."),
			"lower_batch_size":  halve("train.py", "--batch_size", "2048", " (rays; default 4096)."),
			"lower_resolution":  say("`--downsample_train 2`: a quarter of the rays in RAM."),
		},
		Titles:   map[string]string{"use_smaller_model": "A coarser final grid", "lower_batch_size": "Fewer rays at a time", "lower_resolution": "Smaller images"},
		Costs:    map[string]string{"use_smaller_model": "Fine detail.", "lower_resolution": "Fine detail."},
		Remedies: ways("lower_batch_size", "use_smaller_model", "lower_resolution"), Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{
			paperPart("tensorf/upsample", []string{"upsample_volume_grid", "up_sampling_VM", "up_sampling_Vector", "updateAlphaMask", "getDenseAlpha"}, cause.ModelTooLarge, "ran out while the grid was made finer",
				"At the steps of `upsamp_list` (2000, 3000, 4000, 5500 and 7000 as it comes) the grid grows up to `--N_voxel_final`, and the optimizer is made again: it fails there each time.", "A smaller batch alone: the grid is what grew.", "TensoRF/configs/lego.txt", own("use_smaller_model", "lower_batch_size")...),
			paperStep("tensorf/step", "It failed in a training step: rays x samples along the finest grid so far. The grid grows at the steps of `upsamp_list`, so that it may die thousands of steps in.", "Fewer training images: rays are drawn from RAM.", "TensoRF/opt.py", own("lower_batch_size", "use_smaller_model")...),
		},
	}
	// Nvdiffrec makes meshes with materials.
	Nvdiffrec = program.Program{
		Name: "nvdiffrec", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"nvdiffrec/", "nvdiffrecmc/", "geometry/dmtet.py"},
		Sources: program.Sources{"nvdiffrec/train.py": "--batch --train-res --texture-res --spp --config", "nvdiffrec/configs/bob.json": "batch train_res texture_res"},
		Steps: spelling{
			"lower_batch_size": say("In the .json of `--config`: `\"batch\": 1` (4 or 8 there); its README names this first."),
			"lower_resolution": say("In the .json: `\"train_res\": [256, 256]`, `\"texture_res\": [1024, 1024]`, and `\"dmtet_grid\": 64` instead of 128."),
		},
		Costs:    map[string]string{"lower_resolution": "Detail of the surface and its texture."},
		Remedies: ways("lower_batch_size", "lower_resolution"), Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{paperStep("nvdiffrec/step", "It failed in a training step: batch x train_res x layers; it is made for cards of 32 GB. The second pass (mesh fixed, 2D textures) needs other amounts than the first.", "More cards: the configs' batch is that of each.", "nvdiffrec/README.md", own("lower_batch_size", "lower_resolution")...)},
	}
	// DUSt3R and MASt3R compare pictures in pairs.
	DUSt3R = program.Program{
		Name: "dust3r", Shown: "DUSt3R", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"dust3r/"},
		Sources: program.Sources{"dust3r/dust3r/demo.py": "--image_size --device", "dust3r/dust3r/image_pairs.py": "scene_graph", "dust3r/dust3r/training.py": "--batch_size --accum_iter --amp"},
		Steps: spelling{
			"lower_batch_size": step.Paste("python", "pairs = make_pairs(images, scene_graph=\"swin-3\", prefilter=None, symmetrize=True)   # or \"oneref-0\"; default \"complete\": all pairs\noutput = inference(pairs, model, device, batch_size=1)"),
			"lower_resolution": step.Paste("python", "images = load_images(folder, size=224)   # 512; with the weights for 224"),
			"cpu_offload":      step.Paste("python", "scene = global_aligner(output, device=\"cpu\", mode=GlobalAlignerMode.PointCloudOptimizer)"),
		},
		Titles:   map[string]string{"lower_batch_size": "Fewer pairs (scene graph)", "cpu_offload": "Align on the processor", "lower_resolution": "Smaller images"},
		Costs:    map[string]string{"lower_batch_size": "Images that are far apart in the order are not compared.", "cpu_offload": "Much slower.", "lower_resolution": "Detail."},
		Remedies: ways("lower_batch_size", "lower_resolution", "cpu_offload"), Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{
			paperPart("dust3r/align", []string{"dust3r/cloud_opt/", "global_aligner", "compute_global_alignment", "clean_pointcloud"}, cause.BatchTooLarge, "ran out while aligning the images",
				"The aligner holds points and confidences of ALL pairs on the card at once: N images have N x (N - 1) pairs in a complete graph, so that twice the images are four times as much. The network itself had done its part; in the demo the pairs are Scenegraph: complete unless you change it.", "batch_size of `inference`: the network is done.", "dust3r/dust3r/cloud_opt/base_opt.py",
				append(own("lower_batch_size"), cause.Cure{Fix: "lower_context", Title: "Fewer images", Kind: "text", Text: "Half of the images is a quarter of the pairs; or MASt3R with its sparse alignment, made for more.", Cost: "Gaps."}, cause.Cure{Fix: "cpu_offload"})...),
			paperStep("dust3r/step", "It failed in a training step: `--batch_size` pairs of ONE card, at 32 bit unless `--amp 1`.", "More cards: the batch is that of one.", "dust3r/dust3r/training.py", cause.Cure{Fix: "lower_batch_size", Title: "A smaller batch, accumulated", Kind: "text", Text: "Half of `--batch_size`, twice `--accum_iter`; `--amp 1`.", Cost: "Slower."}, cause.Cure{Fix: "lower_resolution"}),
			paperRun("dust3r/pairs", cause.BatchTooLarge, "The network takes `batch_size` pairs at a time (8 by default in `inference`, 1 in the demo); results go to RAM, the pairs' number does not count here.", "Fewer images: pairs are worked off one after another.", "dust3r/dust3r/inference.py", own("lower_batch_size", "lower_resolution")...),
		},
	}
	MASt3R = program.Program{
		Name: "mast3r", Shown: "MASt3R", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"mast3r/"},
		Sources: program.Sources{"mast3r/mast3r/demo.py": "--retrieval_model --image_size", "mast3r/mast3r/cloud_opt/sparse_ga.py": "subsample"},
		Steps: spelling{
			"lower_batch_size": say("Fewer pairs: Scenegraph \"swin\" or \"logwin\" with a window of 3, or \"oneref\", or retrieval (`--retrieval_model` when starting the demo); code: `make_pairs(images, scene_graph=\"logwin-3\")`."),
			"lower_resolution": say("`--image_size 224` with the weights for it, where there are any; fewer images otherwise."),
			"cpu_offload":      step.Paste("python", "scene = sparse_global_alignment(files, pairs, cache_dir, model, subsample=16)   # default 8: a quarter of the anchors"),
		},
		Titles:   map[string]string{"lower_batch_size": "Fewer pairs (scene graph)", "cpu_offload": "Coarser anchors"},
		Costs:    map[string]string{"lower_batch_size": "Images far apart are not compared.", "cpu_offload": "Detail of the alignment."},
		Remedies: ways("lower_batch_size", "cpu_offload", "lower_resolution"), Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{
			paperPart("mast3r/align", []string{"mast3r/cloud_opt/", "sparse_global_alignment", "sparse_scene_optimizer"}, cause.BatchTooLarge, "ran out while aligning the images", "The optimizer holds the matches of all pairs on the card: complete graphs have N x (N - 1) of them. Pairs computed so far lie in its cache folder and are not computed again.", "A smaller batch: pairs go one after another.", "mast3r/mast3r/cloud_opt/sparse_ga.py", own("lower_batch_size", "cpu_offload", "lower_resolution")...),
			paperRun("mast3r/run", cause.BatchTooLarge, "The network takes one pair at a time; matching compares dense features of both images, pixel by pixel.", "Fewer images, if the first pair fails.", "mast3r/mast3r/demo.py", own("lower_resolution", "lower_batch_size")...),
		},
	}
	// VGGT sees all pictures at once.
	VGGT = program.Program{
		Name: "vggt", Shown: "VGGT", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"vggt/"},
		Sources: program.Sources{"vggt/README.md": "predictions", "vggt/vggt/heads/dpt_head.py": "frames_chunk_size"},
		Steps: spelling{
			"inference_mode":   step.Paste("python", "with torch.inference_mode(), torch.autocast(\"cuda\", dtype=torch.bfloat16):   # float16 before RTX 30\n    predictions = model(images)"),
			"lower_batch_size": say("Fewer images at a time: its table (bf16, H100) has 3.6 GB for 10, 11.4 for 50, 21.2 for 100, 40.6 for 200; the heads come on top."),
			"lower_resolution": say("Smaller images before the model: sides of multiples of 14, such as 392 instead of 518."),
			"cpu_offload":      say("Only the heads that you need: `model.aggregator(images[None])`, then camera_head and depth_head, `predictions` to the CPU; a smaller `frames_chunk_size` (8) in the call of depth_head."),
		},
		Titles:   map[string]string{"inference_mode": "No gradients, 16 bit", "lower_batch_size": "Fewer images at a time", "cpu_offload": "One head after another"},
		Costs:    map[string]string{"lower_batch_size": "Less overlap between parts.", "lower_resolution": "Detail.", "cpu_offload": "Several calls instead of one."},
		Remedies: ways("inference_mode", "lower_batch_size", "cpu_offload", "lower_resolution"), Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{
			paperStep("vggt/step", "It failed in a training step: all images of a sequence attend to each other, with every layer's result kept.", "More cards: each has sequences of its own.", "vggt/vggt/models/aggregator.py", cause.Cure{Fix: "lower_batch_size", Title: "Fewer images in a batch", Kind: "text", Text: "In the training YAML: fewer images for one GPU, and more steps to accumulate for the same result.", Cost: "Slower."}),
			paperRun("vggt/run", cause.BatchTooLarge, "All images go through at once, about 0.2 GB each at 16 bit without gradients. `with torch.no_grad() and torch.cuda.amp.autocast(...)`, as its README has it, enters autocast ONLY (Python's `and`), so that every layer's result is kept for the backward pass that never comes: several times as much.",
				"Allocator settings: it is one piece of work.", "vggt/README.md", own("inference_mode", "lower_batch_size", "cpu_offload")...),
		},
	}
	// DROIDSLAM tracks a camera.
	DROIDSLAM = program.Program{
		Name: "droid-slam", Shown: "DROID-SLAM", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"DROID-SLAM/", "droid_slam/"},
		Sources: program.Sources{"DROID-SLAM/demo.py": "--buffer --stride --image_size --disable_vis --frontend_window --keyframe_thresh --upsample --backend_device", "DROID-SLAM/train.py": "--n_frames --batch --edges"},
		Steps: spelling{
			"lower_context":    say("`--buffer 256` (default 512 keyframes, reserved at the start); a longer way between keyframes: `--stride 6`, `--keyframe_thresh 6`."),
			"lower_resolution": say("Smaller images: in demo.py `image_stream` scales to the area of 384 x 512; 240 x 320 is less than half."),
			"lower_batch_size": say("`--frontend_window 16` (default 25); training: `--n_frames 5 --edges 18`. Without `--upsample`, with `--disable_vis`. The final bundle adjustment on another card: `--backend_device cuda:1`."),
		},
		Titles:   map[string]string{"lower_context": "Fewer keyframes", "lower_batch_size": "A smaller window", "lower_resolution": "Smaller images"},
		Costs:    map[string]string{"lower_context": "Long sequences end early if the buffer is full.", "lower_resolution": "Accuracy.", "lower_batch_size": "Accuracy."},
		Remedies: ways("lower_context", "lower_resolution", "lower_batch_size"), Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{
			paperPart("droid-slam/backend", []string{"droid_backend.py", "droid.terminate(", "in terminate"}, cause.BatchTooLarge, "ran out in the final adjustment over all keyframes", "At the end all keyframes are adjusted together, with edges between all that see the same: more than tracking needed, so that it can fail after the last frame.", "`--buffer`: it was large enough for tracking.", "DROID-SLAM/droid_slam/droid_backend.py",
				cause.Cure{Fix: "lower_context", Title: "Fewer keyframes and edges", Kind: "text", Text: "`--stride 6`, `--keyframe_thresh 6`, `--backend_thresh 16` (default 22).", Cost: "Accuracy."}, cause.Cure{Fix: "lower_batch_size", Title: "Another card for it", Kind: "text", Text: "`--backend_device cuda:1`, where there is one.", Cost: "None."}, cause.Cure{Fix: "lower_resolution"}),
			paperStep("droid-slam/step", "It failed in a training step, for which its authors need 24 GB: 7 frames with 24 edges, 15 updates each, all kept for the backward pass.", "`--batch`: it is 1.", "DROID-SLAM/README.md", own("lower_batch_size", "lower_resolution")...),
			paperRun("droid-slam/track", cause.BatchTooLarge, "It wants 11 GB for its demos and 24 for the longer data sets: `--buffer` reserves features of that many keyframes at the start, and correlation volumes of all edges of the window come on top.", "Fewer frames at the same stride: the buffer is reserved whatever comes.", "DROID-SLAM/droid_slam/depth_video.py", own("lower_context", "lower_resolution", "lower_batch_size")...),
		},
	}
)
