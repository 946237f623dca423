package papers

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
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
			"lower_resolution":  say("Use fewer images, or halve their width and height (a quarter of the memory). Run colmap2nerf.py on the smaller images, so that the focal lengths in transforms.json fit."),
			"use_smaller_model": say("Start it with `--network small.json` (2^15 hash table entries per level instead of 2^19). Also lower `aabb_scale` in transforms.json, for example to 4 (colmap2nerf.py `--aabb_scale 4`; default 32)."),
			"lower_batch_size":  say("Use a smaller window (`--width 640 --height 360`). For a mesh: `--marching_cubes_res 128` (default 256: eight times as many points)."),
		},
		Titles:   map[string]string{"lower_resolution": "Load fewer or smaller images", "use_smaller_model": "Use a smaller hash table and scene (aabb_scale)", "lower_batch_size": "Use a smaller window and a coarser mesh"},
		Costs:    map[string]string{"lower_resolution": "Less fine detail.", "use_smaller_model": "Less detail; no far background.", "lower_batch_size": "Coarser."},
		Remedies: ways("lower_resolution", "close_other_apps", "use_smaller_model", "lower_batch_size"), Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{paperRun("instant-ngp/card", cause.BatchTooLarge, "instant-ngp keeps all training images on the GPU, plus the hash table, the occupancy grid (larger with `aabb_scale`) and the window's image. The desktop uses the same GPU.",
			"", "instant-ngp/src/nerf_loader.cu", own("lower_resolution", "use_smaller_model", "lower_batch_size")...)},
	}
	// TorchNGP is ashawkey's, with stable-dreamfusion and others made from it.
	TorchNGP = program.Program{
		Name: "torch-ngp", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"torch-ngp/", "main_nerf.py", "main_tensoRF.py", "main_CCNeRF.py"},
		Sources: program.Sources{"torch-ngp/main_nerf.py": "--num_rays --max_ray_batch --preload --fp16 --cuda_ray --patch_size --error_map"},
		Steps: spelling{
			"cpu_offload":      say("Use `--fp16 --cuda_ray` instead of `-O`, which also sets `--preload`. The images then stay in RAM."),
			"lower_batch_size": say("Halve `--num_rays` (default 4096 per step). Without `--cuda_ray` also `--max_ray_batch 1024` for rendering (default 4096)."),
			"mixed_precision":  say("Use `--fp16`."),
			"lower_resolution": say("Scale the images of the data set down yourself; there is no option for it."),
		},
		Titles:   map[string]string{"cpu_offload": "Keep the images in RAM (no --preload)", "lower_batch_size": "Lower the number of rays per step (--num_rays)", "lower_resolution": "Use smaller images"},
		Costs:    map[string]string{"lower_resolution": "Less detail.", "cpu_offload": "Slower."},
		Remedies: ways("cpu_offload", "lower_batch_size", "mixed_precision"), Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{
			paperPart("torch-ngp/preload", []string{"in dataloader", "self.images.to(", "self.images = "}, cause.BatchTooLarge, "ran out of GPU memory while loading all images onto the GPU", "`--preload` (set by `-O`) keeps every image on the GPU: width x height x 8 to 16 bytes each.", "", "torch-ngp/main_nerf.py", own("cpu_offload", "lower_resolution")...),
			paperEval("torch-ngp/evaluate", "An evaluation renders whole images: with `--cuda_ray` all rays of an image at once, without it `--max_ray_batch` (4096) rays at a time.", "`--num_rays`: it is for training steps only.", "torch-ngp/main_nerf.py",
				cause.Cure{Fix: "lower_resolution", Title: "Use smaller images", Kind: "text", Text: "Scale the data set's images down: half the width and height makes a quarter of the rays. There is no option for it.", Cost: "Less detail."},
				cause.Cure{Fix: "lower_batch_size", Title: "Without `--cuda_ray`: render in smaller parts", Kind: "text", Text: "Use `--max_ray_batch 1024`.", Cost: "Slower."}, cause.Cure{Fix: "cpu_offload"}),
			paperStep("torch-ngp/step", "Memory grows with the rays per step and the samples on each ray. With `-O` (`--preload`) all images are on the GPU too.", "", "torch-ngp/main_nerf.py", own("lower_batch_size", "cpu_offload", "mixed_precision")...),
			paperRun("torch-ngp/render", cause.BatchTooLarge, "Without `--cuda_ray`, an image is rendered `--max_ray_batch` rays at a time. A mesh uses a grid of 256 points per side. In training, memory depends on `--num_rays`.", "", "torch-ngp/main_nerf.py", cause.Cure{Fix: "lower_batch_size", Title: "Render in smaller parts (--max_ray_batch)", Kind: "text", Text: "Images: `--max_ray_batch 1024` (default 4096; without `--cuda_ray`). Mesh: a lower `resolution` in the call of `save_mesh` (default 256). Training: halve `--num_rays`.", Cost: "Slower, or coarser."}, cause.Cure{Fix: "cpu_offload"}),
		},
	}
	// Neuralangelo is NVIDIA's.
	Neuralangelo = program.Program{
		Name: "neuralangelo", Shown: "Neuralangelo", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"neuralangelo/", "projects/nerf/", "projects/neuralangelo"},
		Sources: program.Sources{"neuralangelo/README.md": "dict_size BLOCK_RES --model --data", "neuralangelo/projects/neuralangelo/configs/base.yaml": "rand_rays", "neuralangelo/projects/neuralangelo/scripts/extract_mesh.py": "--block_res --resolution"},
		Steps: spelling{
			"use_smaller_model": say("At the end of your command, for an 8 GB GPU: `--model.object.sdf.encoding.hashgrid.dict_size=20 --model.object.sdf.encoding.hashgrid.dim=4`. For 12 GB: 21 and 4; for 16 GB: 21 and 8; for 24 GB: 22 and 8, the default."),
			"lower_batch_size":  say("Training: `--model.render.rand_rays=256` (default 512) and `--data.train.batch_size=1` (default 2). Mesh: `--block_res=64`, then 32."),
			"lower_resolution":  say("At the end of your command: `--data.val.image_size=[200,200] --data.val.batch_size=1 --data.val.subset=1`."),
		},
		Titles: map[string]string{"use_smaller_model": "Use the hash grid for your GPU (dict_size, dim)", "lower_batch_size": "Lower the number of rays (rand_rays)", "lower_resolution": "Validate on smaller images"},
		Costs:  map[string]string{"use_smaller_model": "Less fine detail.", "lower_resolution": "Coarser previews; the model stays the same."},
		Useless: map[string]func(*ledger.Case) string{"use_smaller_model": func(c *ledger.Case) string {
			if own, _ := cures.Typed(c, "--model.object.sdf.encoding.hashgrid.dict_size"); len(own) == 2 && own <= "20" {
				return "Your hash grid is the one for 8 GB already."
			}
			return ""
		}},
		Remedies: ways("use_smaller_model", "lower_batch_size", "lower_resolution"), Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{
			paperPart("neuralangelo/mesh", []string{"extract_mesh.py", "neuralangelo/utils/mesh.py"}, cause.BatchTooLarge, "ran out of GPU memory while extracting the mesh", "The mesh is extracted in blocks of `--block_res` cubed on each GPU.", "", "neuralangelo/README.md", cause.Cure{Fix: "lower_batch_size", Title: "Extract in smaller blocks (--block_res)", Kind: "text", Text: "Use `--block_res=64`, then 32 (README: 128).", Cost: "Slower; the same mesh."}, cause.Cure{Fix: "lower_resolution", Title: "Lower the mesh resolution (--resolution)", Kind: "text", Text: "Use `--resolution=1024` instead of 2048.", Cost: "A coarser mesh."}, cause.Cure{Fix: "use_smaller_model", Title: "Train again with a smaller hash grid", Kind: "text", Text: "In a new training: `--model.object.sdf.encoding.hashgrid.dict_size=20`. A trained model keeps its size.", Cost: "A new training; less fine detail."}),
			paperStep("neuralangelo/step", "The defaults need 24 GB, mostly for the hash grid (2^22 entries x 8 numbers x 16 levels) with gradients and optimizer state. Finer levels are switched on during training, so memory can grow late.", "Smaller training images: each step samples only a few rays.", "neuralangelo/README.md", own("use_smaller_model", "lower_batch_size", "lower_resolution")...),
			paperRun("neuralangelo/val", cause.BatchTooLarge, "Validation renders whole images. In training, the hash grid with gradients and optimizer state takes most of the memory.", "", "neuralangelo/README.md", own("lower_resolution", "use_smaller_model")...),
		},
	}
	// SDFStudio is a fork of Nerfstudio for surfaces.
	SDFStudio = program.Program{
		Name: "sdfstudio", Rank: above, Shown: "SDFStudio", Carries: []string{"nerfstudio"}, Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"sdfstudio/", "sdfstudio-data"},
		Sources: program.Sources{"sdfstudio/nerfstudio/data/datamanagers/base_datamanager.py": "--pipeline.datamanager.train-num-rays-per-batch --pipeline.datamanager.train-num-images-to-sample-from --pipeline", "sdfstudio/nerfstudio/models/base_model.py": "--pipeline.model.eval-num-rays-per-chunk", "sdfstudio/scripts/extract_mesh.py": "--resolution"},
		Steps: spelling{
			"lower_batch_size": say("Training: `--pipeline.datamanager.train-num-rays-per-batch 512` (default 1024). Rendering: `--pipeline.model.eval-num-rays-per-chunk 512`. Mesh: ns-extract-mesh `--resolution 512`."),
			"cpu_offload":      say("Add `--pipeline.datamanager.train-num-images-to-sample-from 20`. It then loads 20 images at a time instead of all."),
		},
		Titles:   map[string]string{"lower_batch_size": "Lower the number of rays (train-num-rays-per-batch)", "cpu_offload": "Load fewer images at a time"},
		Remedies: ways("lower_batch_size", "cpu_offload"), Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{
			{
				ID: "sdfstudio/ram", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM) with its images",
				Means:    "By default all training images are loaded into RAM before the first step, as 32-bit numbers: width x height x 12 bytes each (24 MB at 1920 x 1080).",
				Not:      "Fewer rays: they take GPU memory.",
				Cures: []cause.Cure{
					{Fix: "cpu_offload"}, {Fix: "lower_resolution", Title: "Use smaller images", Kind: "text", Text: "Half the width and height needs a quarter of the RAM. Scale the images before you process the data.", Cost: "Less detail."}, {Fix: "add_swap"},
				},
				Sources: []string{"sdfstudio/nerfstudio/data/datamanagers/base_datamanager.py"},
			},
			paperStep("sdfstudio/step", "Memory grows with the rays per step and the samples on each ray. Surface methods need second-order gradients (eikonal loss), which take far more than a NeRF.", "", "sdfstudio/nerfstudio/models/base_surface_model.py", own("lower_batch_size", "cpu_offload")...),
			paperRun("sdfstudio/render", cause.BatchTooLarge, "Rendering processes `eval-num-rays-per-chunk` rays at a time; a mesh uses a grid of `--resolution` points per side. In training, memory depends on `train-num-rays-per-batch`.", "", "sdfstudio/nerfstudio/models/base_model.py", own("lower_batch_size")...),
		},
	}
	// Threestudio makes objects from text or a picture.
	Threestudio = program.Program{
		Name: "threestudio", Shown: "threestudio", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"threestudio/", "threestudio."},
		Sources: program.Sources{"threestudio/README.md": "system.cleanup_after_validation_step system.guidance.enable_attention_slicing system.guidance.token_merging system.guidance.enable_sequential_cpu_offload", "threestudio/threestudio/models/renderers/nerf_volume_renderer.py": "num_samples_per_ray eval_chunk_size"},
		Steps: spelling{
			"lower_batch_size":    say("At the end of your command: `data.batch_size=1`, and `trainer.accumulate_grad_batches=4` for a similar result."),
			"lower_resolution":    say("At the end of your command: `data.width=64 data.height=64`, then `system.renderer.num_samples_per_ray=256` (NeRFs; default 512)."),
			"efficient_attention": say("At the end of your command: `system.guidance.enable_attention_slicing=true` (about a fifth slower), `system.guidance.token_merging=true`. PyTorch 1: `system.guidance.enable_memory_efficient_attention=true`."),
			"cpu_offload":         say("At the end of your command: `system.guidance.enable_sequential_cpu_offload=true`. It saves the most but is very slow."),
			"use_smaller_model":   say("Use a config with Stable Diffusion (-sd, about 6 GB) instead of DeepFloyd IF (-if: 15 GB for the text encoder, 10 GB to train)."),
			"empty_cache":         say("At the end of your command: `system.cleanup_after_validation_step=true system.cleanup_after_test_step=true`."),
		},
		Titles: map[string]string{"lower_resolution": "Render smaller images (data.width, data.height)", "use_smaller_model": "Use Stable Diffusion for guidance", "empty_cache": "Empty the cache after validation", "cpu_offload": "Offload the guidance to RAM", "efficient_attention": "Slice the guidance's attention"},
		Costs:  map[string]string{"lower_resolution": "Less fine detail."},
		Useless: map[string]func(*ledger.Case) string{
			"use_smaller_model": func(c *ledger.Case) string {
				if clues.Shows("stable_diffusion_guidance", "-sd.yaml")(c) || cures.Mentions("-sd.yaml")(c) {
					return "Stable Diffusion is the guidance already"
				}
				return ""
			},
			"efficient_attention": func(c *ledger.Case) string {
				if clues.Shows("from_pretrained(")(c) {
					return "It failed while the guidance was being loaded"
				}
				return ""
			},
		},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model", "efficient_attention", "cpu_offload"), Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{
			paperPart("threestudio/text", []string{"prompt_processors/", "T5EncoderModel"}, cause.ModelTooLarge, "ran out of GPU memory in the text encoder, before training",
				"Before training, the guidance's text encoder turns the prompt into embeddings, once per prompt. DeepFloyd IF's T5-XXL takes about 15 GB for that, even in 8 bit. The results are kept in .threestudio_cache.", "", "threestudio/README.md",
				append(own("use_smaller_model"), cause.Cure{Fix: "bigger_gpu", Title: "Make the embeddings on a larger GPU", Kind: "text", Text: "Run it once on a GPU with more than 16 GB, and copy its `.threestudio_cache` into your threestudio folder.", Cost: "A rented GPU for a few minutes."})...),
			paperPart("threestudio/validate", []string{"in validation_step", "in test_step"}, cause.BatchTooLarge, "ran out of GPU memory in validation or test", "Validation and test render at `data.eval_width` x `data.eval_height` (default 512 x 512), larger than in most training steps.", "", "threestudio/README.md",
				append([]cause.Cure{{Fix: "lower_resolution", Title: "Validate with smaller images and chunks", Kind: "text", Text: "At the end of your command: `data.eval_width=256 data.eval_height=256 system.renderer.eval_chunk_size=40000` (default 512, 512 and 160000).", Cost: "Slower; coarser previews."}}, own("empty_cache")...)...),
			paperStep("threestudio/step", "Memory grows with the batch size, the rendered pixels and the samples on each ray. The diffusion model that guides it comes on top. Configs that raise the resolution later (resolution_milestones) can fail there.", "", "threestudio/README.md", own("lower_resolution", "lower_batch_size", "use_smaller_model")...),
			paperRun("threestudio/run", cause.ModelTooLarge, "The scene and the diffusion model that guides it share the GPU.", "", "threestudio/README.md", own("use_smaller_model", "lower_resolution", "cpu_offload")...),
		},
	}
	// NeuS is a surface from pictures, of which many others are made.
	NeuS = program.Program{
		Name: "neus", Shown: "NeuS", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"NeuS/", "exp_runner.py"},
		Sources: program.Sources{"NeuS/confs/wmask.conf": "batch_size n_samples validate_resolution_level", "NeuS/exp_runner.py": "--mode"},
		Steps: spelling{
			"lower_batch_size": say("In the .conf: `batch_size = 256` (rays; default 512), then `n_samples = 32` and `n_importance = 32`. Previews and mesh colours use the same number."),
			"lower_resolution": say("Preview: `validate_resolution_level = 8` in the .conf (default 4). Mesh: `resolution=256` instead of 512 in the call of `validate_mesh` at the end of exp_runner.py."),
		},
		Titles:   map[string]string{"lower_batch_size": "Lower the number of rays (batch_size)", "lower_resolution": "Render a coarser preview or mesh"},
		Costs:    map[string]string{"lower_resolution": "Coarser previews or mesh; the model stays the same."},
		Useless:  clues.Useless(neusStarts, "it failed before the first ray", "lower_batch_size", "lower_resolution"),
		Remedies: ways("lower_batch_size", "lower_resolution"), Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{
			paperPart("neus/validate", []string{"in validate_mesh", "in validate_image", "extract_geometry", "extract_fields"}, cause.BatchTooLarge, "ran out of GPU memory while making a preview or mesh", "Previews and meshes are computed in parts, but normals need gradients, which take much more than colours.", "Fewer training images: they are in RAM, not on the GPU.", "NeuS/exp_runner.py", own("lower_resolution", "lower_batch_size")...),
			paperStep("neus/step", "Memory grows with the rays per step and the samples on each (default 64 + 64). The surface needs second-order gradients. The images are in RAM, not on the GPU.", "Smaller images: each step draws `batch_size` rays from them, whatever their size.", "NeuS/confs/wmask.conf", own("lower_batch_size", "lower_resolution")...),
			paperRun("neus/run", cause.BatchTooLarge, "Memory grows with rays x samples (default 512 x 128). The surface needs second-order gradients. The images are in RAM.", "", "NeuS/confs/wmask.conf", append([]cause.Cure{{Fix: "kill_stale_process", If: neusStarts, Title: "See what fills the GPU, and end it", Told: "`nvidia-smi` shows it. Restart the program or notebook if an earlier run is still there.", Cost: "Free."}}, own("lower_batch_size", "lower_resolution")...)...),
		},
	}
	// TensoRF keeps a scene in planes and lines.
	TensoRF = program.Program{
		Name: "tensorf", Shown: "TensoRF", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"TensoRF/", "models/tensoRF.py", "OctreeRender_trilinear_fast"},
		Sources: program.Sources{"TensoRF/opt.py": "--batch_size --N_voxel_final --N_voxel_init --n_lamb_sigma --n_lamb_sh --downsample_train --upsamp_list --nSamples"},
		Steps: spelling{
			"use_smaller_model": say("Use `--N_voxel_final 8000000` (200 cubed; configs have 300 to 640 cubed). Then use fewer components in the config: `n_lamb_sh = [24,24,24]`."),
			"lower_batch_size":  halve("train.py", "--batch_size", " (rays; default 4096)."),
			"lower_resolution":  say("Use `--downsample_train 2`. This saves RAM: a quarter of the rays."),
		},
		Titles:   map[string]string{"use_smaller_model": "Use a coarser final grid (--N_voxel_final)", "lower_batch_size": "Halve the rays per step (--batch_size)", "lower_resolution": "Use smaller images"},
		Costs:    map[string]string{"use_smaller_model": "Less fine detail.", "lower_resolution": "Less fine detail."},
		Remedies: ways("lower_batch_size", "use_smaller_model"), Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{
			paperPart("tensorf/upsample", []string{"upsample_volume_grid", "up_sampling_VM", "up_sampling_Vector", "updateAlphaMask", "getDenseAlpha"}, cause.ModelTooLarge, "ran out of GPU memory while refining the grid",
				"At the steps in `upsamp_list` the grid grows, up to `--N_voxel_final` voxels. The optimizer is then created again for the larger grid.", "", "TensoRF/configs/lego.txt", own("use_smaller_model", "lower_batch_size")...),
			paperStep("tensorf/step", "Memory grows with the rays per step and the samples along each. Those follow the grid, which grows at the steps in `upsamp_list`, so it can fail late.", "Fewer training images: the rays are in RAM.", "TensoRF/opt.py", own("lower_batch_size", "use_smaller_model")...),
		},
	}
	// Nvdiffrec makes meshes with materials.
	Nvdiffrec = program.Program{
		Name: "nvdiffrec", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"nvdiffrec/", "nvdiffrecmc/", "geometry/dmtet.py"},
		Sources: program.Sources{"nvdiffrec/train.py": "--batch --train-res --texture-res --spp --config", "nvdiffrec/configs/bob.json": "batch train_res texture_res"},
		Steps: spelling{
			"lower_batch_size": say("In the .json that you pass with `--config`, lower `batch`, down to 1 (often 4 or 8). The README recommends this first."),
			"lower_resolution": say("In the .json: `\"train_res\": [256, 256]`, `\"texture_res\": [1024, 1024]`, and `\"dmtet_grid\": 64` instead of 128."),
		},
		Titles:   map[string]string{"lower_batch_size": "Lower the batch size (batch)", "lower_resolution": "Lower train_res, texture_res and the grid"},
		Costs:    map[string]string{"lower_resolution": "Less detail of surface and texture."},
		Remedies: ways("lower_batch_size", "lower_resolution"), Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{paperStep("nvdiffrec/step", "Memory grows with `batch` x `train_res` x layers. The configs are made for 32 GB GPUs. The second pass (fixed mesh, 2D textures) can need more than the first.", "", "nvdiffrec/README.md", own("lower_batch_size", "lower_resolution")...)},
	}
	// DUSt3R and MASt3R compare pictures in pairs.
	DUSt3R = program.Program{
		Name: "dust3r", Shown: "DUSt3R", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"dust3r/", "DUSt3R_ViT"},
		Sources: program.Sources{"dust3r/dust3r/demo.py": "--image_size --device", "dust3r/dust3r/image_pairs.py": "scene_graph", "dust3r/dust3r/training.py": "--batch_size --accum_iter --amp"},
		Steps: spelling{
			"lower_batch_size": step.Paste("python", "pairs = make_pairs(images, scene_graph=\"swin-3\", prefilter=None, symmetrize=True)   # or \"oneref-0\"; default \"complete\": all pairs. Demo: Scenegraph\noutput = inference(pairs, model, device, batch_size=1)"),
			"lower_resolution": step.Paste("python", "images = load_images(folder, size=224)   # instead of 512; needs the weights for 224"),
			"cpu_offload":      step.Paste("python", "scene = global_aligner(output, device=\"cpu\", mode=GlobalAlignerMode.PointCloudOptimizer)"),
		},
		Titles:   map[string]string{"lower_batch_size": "Make fewer pairs (scene_graph)", "cpu_offload": "Align on the CPU", "lower_resolution": "Use smaller images (224)"},
		Costs:    map[string]string{"lower_batch_size": "Images far apart in the order are not compared.", "cpu_offload": "Much slower.", "lower_resolution": "Less detail."},
		Remedies: ways("lower_batch_size", "lower_resolution", "cpu_offload"), Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{
			{
				ID: "dust3r/ram", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM) with the results of all pairs",
				Means:    "The results of all pairs are collected in RAM before the alignment. N images make N x (N - 1) pairs with a complete scene graph (200 images: 39,800), each with points and images of both sides.",
				Not:      "A smaller batch size: it saves only GPU memory.",
				Cures: []cause.Cure{
					{Fix: "lower_batch_size"}, {Fix: "lower_context", Title: "Use fewer images, or MASt3R", Kind: "text", Text: "Half the images make a quarter of the pairs. MASt3R keeps its pairs on disk.", Cost: "Gaps in the scene."},
				},
				Sources: []string{"dust3r/dust3r/inference.py"},
			},
			paperPart("dust3r/align", []string{"dust3r/cloud_opt/", "global_aligner", "compute_global_alignment", "clean_pointcloud"}, cause.BatchTooLarge, "ran out of GPU memory while aligning the images",
				"The aligner holds the points and confidences of all pairs on the GPU at once. With the default, a complete scene graph, N images make N x (N - 1) pairs: twice the images need four times the memory.", "A smaller `batch_size` in `inference`: the pairs are already computed.", "dust3r/dust3r/cloud_opt/base_opt.py",
				append(own("lower_batch_size"), cause.Cure{Fix: "lower_context", Title: "Use fewer images", Kind: "text", Text: "Half the images make a quarter of the pairs. For many images use MASt3R, whose sparse alignment needs less.", Cost: "Gaps in the scene."}, cause.Cure{Fix: "cpu_offload"})...),
			paperStep("dust3r/step", "`--batch_size` counts image pairs per GPU. Training runs in 32 bit unless you set `--amp 1`.", "", "dust3r/dust3r/training.py", cause.Cure{Fix: "lower_batch_size", Title: "Halve the batch size (--batch_size)", Kind: "text", Text: "Halve `--batch_size`, double `--accum_iter`, and add `--amp 1`.", Cost: "Slower."}, cause.Cure{Fix: "lower_resolution", Title: "Train on smaller images (resolution)", Kind: "text", Text: "In `--train_dataset`: `resolution=224`, as in the first stage of its README.", Cost: "Less detail."}),
			paperRun("dust3r/pairs", cause.BatchTooLarge, "The network processes `batch_size` pairs at a time (default 8 in `inference`, 1 in the demo). The alignment after it holds all pairs on the GPU.", "", "dust3r/dust3r/inference.py", own("lower_batch_size", "lower_resolution")...),
		},
	}
	MASt3R = program.Program{
		Name: "mast3r", Shown: "MASt3R", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"mast3r/"},
		Sources: program.Sources{"mast3r/mast3r/demo.py": "--retrieval_model --image_size", "mast3r/mast3r/cloud_opt/sparse_ga.py": "subsample"},
		Steps: spelling{
			"lower_batch_size": say("In the demo choose Scenegraph \"swin\" or \"logwin\" with a window of 3, \"oneref\", or retrieval (start it with `--retrieval_model`). In code: `make_pairs(images, scene_graph=\"logwin-3\")`."),
			"lower_resolution": say("Use fewer images, or `--image_size 224` with weights made for it."),
			"cpu_offload":      step.Paste("python", "scene = sparse_global_alignment(files, pairs, cache_dir, model, subsample=16)   # default 8: a quarter of the anchors"),
		},
		Titles:   map[string]string{"lower_batch_size": "Make fewer pairs (scene graph)", "lower_resolution": "Use fewer or smaller images", "cpu_offload": "Align with coarser anchors (subsample=16)"},
		Costs:    map[string]string{"lower_batch_size": "Images far apart are not compared.", "cpu_offload": "A less exact alignment.", "lower_resolution": "Less detail."},
		Remedies: ways("lower_batch_size", "cpu_offload", "lower_resolution"), Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{
			paperPart("mast3r/align", []string{"mast3r/cloud_opt/", "sparse_global_alignment", "sparse_scene_optimizer"}, cause.BatchTooLarge, "ran out of GPU memory while aligning the images", "The optimizer holds the matches of all pairs on the GPU. A complete graph of N images has N x (N - 1) pairs. Pairs computed so far stay in the cache folder, so a new run continues from there.", "", "mast3r/mast3r/cloud_opt/sparse_ga.py", own("lower_batch_size", "cpu_offload", "lower_resolution")...),
			paperRun("mast3r/run", cause.BatchTooLarge, "The network processes one pair at a time and matches dense features of both images. The alignment after it holds the matches of all pairs.", "", "mast3r/mast3r/demo.py", own("lower_resolution", "lower_batch_size")...),
		},
	}
	// VGGT sees all pictures at once.
	VGGT = program.Program{
		Name: "vggt", Shown: "VGGT", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"vggt/"},
		Sources: program.Sources{"vggt/README.md": "predictions", "vggt/vggt/heads/dpt_head.py": "frames_chunk_size"},
		Steps: spelling{
			"inference_mode":   step.Paste("python", "with torch.inference_mode(), torch.autocast(\"cuda\", dtype=torch.bfloat16):   # torch.float16 on GPUs before RTX 30\n    predictions = model(images)"),
			"lower_batch_size": say("Pass fewer images at once. Its README (bf16, H100) lists 3.6 GB for 10 images, 11.4 GB for 50, 21.2 GB for 100 and 40.6 GB for 200, plus the heads."),
			"lower_resolution": say("Scale the images down first, to sides that are multiples of 14, such as 392 instead of 518."),
			"cpu_offload":      say("Call only the heads that you need: `model.aggregator(images[None])`, then camera_head or depth_head. Move results to the CPU. For depth_head also lower `frames_chunk_size` (default 8)."),
		},
		Titles:   map[string]string{"inference_mode": "Run without gradients, in 16 bit", "lower_batch_size": "Use fewer images per call", "lower_resolution": "Use smaller images", "cpu_offload": "Compute one head after another"},
		Costs:    map[string]string{"lower_batch_size": "Less overlap between parts.", "lower_resolution": "Less detail.", "cpu_offload": "Several calls instead of one."},
		Remedies: ways("inference_mode", "lower_batch_size", "cpu_offload", "lower_resolution"), Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{
			paperStep("vggt/step", "All images of a sequence attend to each other, and training keeps every layer's activations.", "", "vggt/vggt/models/aggregator.py", cause.Cure{Fix: "lower_batch_size", Title: "Lower the images per GPU", Kind: "text", Text: "In the training YAML, use fewer images per GPU and more accumulation steps.", Cost: "Slower."}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "bigger_gpu"}),
			paperRun("vggt/run", cause.BatchTooLarge, "All images are processed at once, about 0.2 GB each in 16 bit without gradients. Gradients may be on by mistake: `with torch.no_grad() and torch.cuda.amp.autocast(...)`, as in its README, enters only autocast. That takes several times as much.",
				"", "vggt/README.md", own("inference_mode", "lower_batch_size", "cpu_offload")...),
		},
	}
	// DROIDSLAM tracks a camera.
	DROIDSLAM = program.Program{
		Name: "droid-slam", Shown: "DROID-SLAM", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"DROID-SLAM/", "droid_slam/"},
		Sources: program.Sources{"DROID-SLAM/demo.py": "--buffer --stride --image_size --disable_vis --frontend_window --keyframe_thresh --upsample --backend_device", "DROID-SLAM/train.py": "--n_frames --batch --edges"},
		Steps: spelling{
			"lower_context":    halve("demo.py", "--buffer", " (keyframes, reserved at the start; default 512). For fewer keyframes: `--stride 6 --keyframe_thresh 6`."),
			"lower_resolution": say("In demo.py, `image_stream` scales to the area of 384 x 512. Change that to 240 x 320, less than half."),
			"lower_batch_size": say("demo.py: `--frontend_window 16` (default 25), leave out `--upsample`, and add `--disable_vis`. train.py: `--n_frames 5 --edges 18`."),
		},
		Titles:   map[string]string{"lower_context": "Reserve fewer keyframes (--buffer)", "lower_batch_size": "Use a smaller window", "lower_resolution": "Use smaller images"},
		Costs:    map[string]string{"lower_context": "Long sequences stop if the buffer is full.", "lower_resolution": "Less accuracy.", "lower_batch_size": "Less accuracy."},
		Remedies: ways("lower_context", "lower_resolution", "lower_batch_size"), Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{
			paperPart("droid-slam/backend", []string{"droid_backend.py", "droid.terminate(", "in terminate"}, cause.BatchTooLarge, "could not fit the final adjustment over all keyframes on the GPU", "After the last frame, bundle adjustment optimises all keyframes together, with edges between all that see the same place. That takes more memory than tracking.", "", "DROID-SLAM/droid_slam/droid_backend.py",
				cause.Cure{Fix: "lower_context", Title: "Use fewer keyframes and edges", Kind: "text", Text: "Use `--stride 6 --keyframe_thresh 6 --backend_thresh 16` (default 3, 4 and 22).", Cost: "Less accuracy."}, cause.Cure{Fix: "lower_batch_size", Title: "Run it on a second GPU (--backend_device)", Kind: "text", Text: "Use `--backend_device cuda:1`, if you have a second GPU (newer versions).", Cost: "None."}, cause.Cure{Fix: "lower_resolution"}),
			paperStep("droid-slam/step", "Its authors train on 24 GB GPUs. A step has 7 frames, 24 edges and 15 updates, all kept for the backward pass.", "", "DROID-SLAM/README.md", cause.Cure{Fix: "lower_batch_size", Title: "Train on fewer frames (--n_frames)", Kind: "text", Text: "train.py: `--n_frames 5` (default 7).", Cost: "Less accuracy."}, cause.Cure{Fix: "lower_context", Title: "Use fewer edges (--edges)", Kind: "text", Text: "train.py: `--edges 18` (default 24).", Cost: "Less accuracy."}),
			paperRun("droid-slam/track", cause.BatchTooLarge, "Its demos need 11 GB, longer data sets 24 GB. `--buffer` reserves memory for that many keyframes at the start. Correlation volumes for the edges of the window come on top.", "Fewer frames: the buffer is reserved at the start.", "DROID-SLAM/droid_slam/depth_video.py", own("lower_context", "lower_resolution", "lower_batch_size")...),
		},
	}
)

// neusStarts: NeuS failed while it moved its networks to the GPU.
var neusStarts = clues.Shows("SDFNetwork(", "NeRF(", "RenderingNetwork(")
