package makers

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Programs that make objects and people from pictures.
var (
	// TRELLIS is Microsoft's.
	TRELLIS = program.Program{
		Name: "trellis", Shown: "TRELLIS", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"TRELLIS/trellis/", "TRELLIS/app", "TRELLIS/example", "trellis/pipelines/", "trellis/modules/sparse/", "[SPARSE] Backend:"},
		Sources: program.Sources{"TRELLIS/example.py": "ATTN_BACKEND", "TRELLIS/trellis/pipelines/trellis_image_to_3d.py": "formats", "TRELLIS/app.py": "texture_size simplify"},
		Steps: steps{
			"lower_batch_size":    step.Paste("python", "outputs = pipeline.run(image, seed=1, formats=[\"gaussian\", \"mesh\"])   # default adds radiance_field; the GLB needs these two"),
			"lower_resolution":    step.Paste("python", "glb = postprocessing_utils.to_glb(outputs[\"gaussian\"][0], outputs[\"mesh\"][0], simplify=0.95, texture_size=512)"),
			"cpu_offload":         step.Paste("python", "pipeline.models[\"slat_flow_model\"].cpu(); torch.cuda.empty_cache()   # before decode_slat; .cuda() again before the next run"),
			"efficient_attention": step.Paste("env", "export ATTN_BACKEND=xformers   # or flash-attn; before the import"),
		},
		Titles:   map[string]string{"lower_batch_size": "Decode only the formats that you need", "cpu_offload": "Move models that are done to RAM", "lower_resolution": "A smaller texture"},
		Remedies: order("lower_batch_size", "cpu_offload", "close_other_apps", "lower_resolution"), Like: []*program.Program{&Objects},
		Cards: []cause.Card{
			part("trellis/decode", []string{"decode_slat", "decoder_mesh.py", "representations/mesh", "flexicubes"}, cause.ModelTooLarge, "ran out while decoding the object, after it was made",
				"Both flow models were done; the mesh decoder works on a grid that grows with the object's surface, at 256 cubed, while all models of the pipeline still lie on the card: TRELLIS states 16 GB. Objects that fill their box need most, so that other images may work.", "Fewer sampling steps: they were over.", "TRELLIS/README.md", theirs("cpu_offload", "lower_batch_size")...),
			part("trellis/texture", []string{"postprocessing_utils", "bake_texture", "render_multiview", "fill_holes", "extract_glb"}, cause.BatchTooLarge, "ran out while it made the GLB: filling holes and baking the texture", "The object was made. Its mesh is rendered from hundreds of views to find holes and paint the texture, beside the pipeline's models.", "Fewer sampling steps: they were over.", "TRELLIS/trellis/utils/postprocessing_utils.py", theirs("cpu_offload", "lower_resolution")...),
			trained("trellis/step", "Training splits a batch by batch_split; sparse objects differ in size, so that it may die at a random step.", "More cards: batch_size_per_gpu is that of one.", "TRELLIS/configs/generation/slat_flow_img_dit_L_64l8p2_fp16.json",
				cure("lower_batch_size", "Smaller parts of a batch", "text", "In the JSON: twice the `batch_split` (4), then half of `batch_size_per_gpu` (8).", "Slower.")),
			made("trellis/run", cause.ModelTooLarge, "TRELLIS puts all models of its pipeline on the card at once (pipeline.cuda()) and states 16 GB; it has no switch for less.", "Smaller input images: they are scaled to 518 pixels anyway.", "TRELLIS/README.md", theirs("cpu_offload", "lower_batch_size", "efficient_attention")...),
		},
	}
	// Hunyuan3D is Tencent's, version 2.
	Hunyuan3D = program.Program{
		Name: "hunyuan3d", Shown: "Hunyuan3D 2", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"Hunyuan3D-2/", "hy3dgen/", "Hunyuan3D-2.1/", "hy3dshape/"},
		Sources: program.Sources{"Hunyuan3D-2/gradio_app.py": "--low_vram_mode --disable_tex --model_path --subfolder --texgen_model_path --enable_flashvdm --enable_t23d --device", "Hunyuan3D-2/api_server.py": "--enable_tex"},
		Steps: steps{
			"lowvram_mode":      step.Paste("shell", "python gradio_app.py --model_path tencent/Hunyuan3D-2mini --subfolder hunyuan3d-dit-v2-mini-turbo --texgen_model_path tencent/Hunyuan3D-2 --low_vram_mode --enable_flashvdm"),
			"cpu_offload":       step.Paste("python", "pipeline.enable_model_cpu_offload()   # shape and texture pipelines both have it; and no .to(\"cuda\")"),
			"use_smaller_model": step.Paste("text", "The shape alone, without texture: `--disable_tex` (6 GB instead of 16); API server: without `--enable_tex`."),
			"lower_resolution":  step.Paste("python", "mesh = pipeline(image=image, octree_resolution=256, num_chunks=8000)[0]   # your own call; 384: 3.4 times as many points"),
		},
		Titles:   map[string]string{"use_smaller_model": "The shape without the texture"},
		Remedies: order("lowvram_mode", "use_smaller_model", "cpu_offload", "lower_resolution"), Like: []*program.Program{&Objects},
		Cards: []cause.Card{
			part("hunyuan3d/texture", []string{"hy3dgen/texgen", "texgen_worker(", "Hunyuan3DPaintPipeline", "hy3dpaint/"}, cause.ModelTooLarge, "ran out in the texture stage[[ ({total})]]", "Shape alone needs 6 GB, shape and texture together 16, as its README has it: two more diffusion models lie beside the shape's.", "A coarser mesh alone: the texture models are what fills it.", "Hunyuan3D-2/README.md", theirs("lowvram_mode", "use_smaller_model")...),
			part("hunyuan3d/surface", []string{"volume_decoders.py", "latents2mesh(", "surface_extractors.py"}, cause.BatchTooLarge, "ran out while it made the surface from the latents", "The grid has octree_resolution cubed points, worked off num_chunks at a time: 512 has eight times as many as 256.", "Fewer steps: they were over.", "Hunyuan3D-2/hy3dgen/shapegen/pipelines.py", theirs("lower_resolution", "lowvram_mode")...),
			made("hunyuan3d/run", cause.ModelTooLarge, "The page loads shape, texture and, with `--enable_t23d`, text-to-image models together; 6 GB do for the shape, 16 with texture.", "Smaller input images: they are scaled anyway.", "Hunyuan3D-2/README.md", theirs("lowvram_mode", "use_smaller_model", "lower_resolution")...),
		},
	}
	// InstantMesh is Tencent's.
	InstantMesh = program.Program{
		Name: "instantmesh", Shown: "InstantMesh", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"InstantMesh/"},
		Sources: program.Sources{"InstantMesh/run.py": "--export_texmap --save_video --view --diffusion_steps", "InstantMesh/README.md": "CUDA_VISIBLE_DEVICES"},
		Steps: steps{
			"lower_batch_size":  step.Paste("text", "Without `--save_video` and `--export_texmap`: both render or bake beside the model; in run.py `chunk_size = 5` for 20."),
			"use_smaller_model": step.Paste("shell", "python run.py configs/instant-mesh-base.yaml examples/hatsune_miku.png   # your own image; NeRF instead: instant-nerf-base.yaml"),
			"multi_gpu":         step.Paste("text", "app.py takes two cards by itself where it sees them (diffusion on the first, reconstruction on the second): do not hide one with CUDA_VISIBLE_DEVICES."),
			"lower_resolution":  step.Paste("text", "In the config: `grid_res: 64` (128 there), then `texture_resolution: 512`."),
		},
		Titles:   map[string]string{"use_smaller_model": "The base model", "lower_batch_size": "Without video and texture"},
		Remedies: order("lower_batch_size", "use_smaller_model", "lower_resolution", "close_other_apps"), Like: []*program.Program{&Objects},
		Cards: []cause.Card{
			part("instantmesh/render", []string{"render_frames", "forward_geometry", "extract_mesh", "xatlas"}, cause.BatchTooLarge, "ran out while it made the mesh or its video", "The images were made. The grid (128 cubed) and the frames of the video are rendered by the reconstruction model, 20 at a time.", "Fewer diffusion steps: they were over.", "InstantMesh/run.py", theirs("lower_batch_size", "lower_resolution", "use_smaller_model")...),
			made("instantmesh/run", cause.ModelTooLarge, "Two models take turns: Zero123++ makes six views, the large reconstruction model the mesh; run.py lets go of the first before the second, the page keeps both.", "Smaller input images: they are scaled anyway.", "InstantMesh/run.py", theirs("use_smaller_model", "multi_gpu", "lower_batch_size")...),
		},
	}
	// TripoSR is Stability's and Tripo's.
	TripoSR = program.Program{
		Name: "triposr", Shown: "TripoSR", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"TripoSR/", "tsr/system.py", "tsr/models/"},
		Sources: program.Sources{"TripoSR/run.py": "--chunk-size --mc-resolution --device --bake-texture --texture-resolution"},
		Steps: steps{
			"lower_batch_size": step.Paste("text", "Add `--chunk-size 2048` to your command of run.py (default 8192; 0 works without chunks); the page: `set_chunk_size(2048)` in gradio_app.py."),
			"lower_resolution": step.Paste("text", "Add `--mc-resolution 128` (default 256: eight times as many points); with `--bake-texture` also `--texture-resolution 1024`."),
			"cpu_offload":      step.Paste("text", "Add `--device cpu`."),
		},
		Titles:   map[string]string{"cpu_offload": "Run it on the processor"},
		Costs:    map[string]string{"cpu_offload": "Slower: a minute or two an image."},
		Remedies: order("lower_batch_size", "lower_resolution", "close_other_apps", "cpu_offload"), Like: []*program.Program{&Objects},
		Cards: []cause.Card{made("triposr/run", cause.BatchTooLarge, "It needs about 6 GB with its defaults: the grid of `--mc-resolution` cubed, worked off in chunks.", "Smaller input images: they are scaled to 512 pixels anyway.", "TripoSR/README.md", theirs("lower_batch_size", "lower_resolution", "cpu_offload")...)},
	}
	// PIFuHD makes people.
	PIFuHD = program.Program{
		Name: "pifuhd", Shown: "PIFuHD", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"pifuhd/", "HGPIFuMRNet", "HGPIFuNetwNML"},
		Sources: program.Sources{"pifuhd/apps/simple_test.py": "--resolution"},
		Steps: steps{
			"lower_resolution": step.Paste("shell", "python -m apps.simple_test -r 256   # with your own -i and -o; default 512: eight times as many points"),
		},
		Remedies: order("lower_resolution", "close_other_apps"), Like: []*program.Program{&Objects},
		Cards: []cause.Card{made("pifuhd/run", cause.BatchTooLarge, "Its README wants 8 GB. The image goes in at 1024 x 1024 whatever its size is; the mesh's grid has `-r` cubed points.", "A smaller image file: it is scaled to 1024 pixels.", "pifuhd/README.md", theirs("lower_resolution", "close_other_apps")...)},
	}
	// AlphaPose finds joints of many people.
	AlphaPose = program.Program{
		Name: "alphapose", Shown: "AlphaPose", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"AlphaPose/", "alphapose/"},
		Sources: program.Sources{"AlphaPose/scripts/demo_inference.py": "--detbatch --posebatch --qsize --sp --gpus --detector", "AlphaPose/alphapose/opt.py": "--nThreads"},
		Steps: steps{
			"lower_batch_size":  step.Paste("text", "Add `--detbatch 1 --posebatch 30` to your command of demo_inference.py (default 5 images and 64 persons at a time), then 10 and fewer."),
			"use_smaller_model": step.Paste("text", "A FastPose checkpoint on ResNet-50 at 256x192; `--detector yolox-s` where it is supported."),
			"lower_num_workers": step.Paste("text", "`--qsize 128` (default 1024 results wait in RAM); Windows or a single process: `--sp`. Training: `--nThreads 4` (default 60)."),
		},
		Titles:   map[string]string{"lower_batch_size": "Fewer images and persons at a time", "lower_num_workers": "A shorter queue"},
		Remedies: order("lower_batch_size", "use_smaller_model", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			made("alphapose/run", cause.BatchTooLarge, "Detector and pose network share the card: 5 images at a time for the one, up to 64 PERSONS for the other, so that crowded images decide.", "A shorter queue: it lies in RAM.", "AlphaPose/docs/GETTING_STARTED.md", theirs("lower_batch_size", "use_smaller_model")...),
			filledRAM("alphapose/queue", "Up to 1024 results, with their images, wait in RAM for the writer (`--qsize`): long or large videos fill it.", "A smaller batch: it counts on the card.", "AlphaPose/docs/faq.md", theirs("lower_num_workers")...),
		},
	}
	// OpenPose is CMU's, in C++ on Caffe.
	OpenPose = program.Program{
		Name: "openpose", Shown: "OpenPose", Rank: above, Work: "vision", Edits: "flags", Language: "cpp",
		Proofs:  []string{"openpose.bin", "OpenPoseDemo", "src/openpose/", "op::", "openpose/build/", "Starting OpenPose demo"},
		Sources: program.Sources{"openpose/include/openpose/flags.hpp": "BODY_25 --net_resolution --model_pose --face --hand --scale_number --num_gpu --num_gpu_start --face_net_resolution --hand_net_resolution"},
		Steps: steps{
			"lower_resolution":  step.Paste("text", "Add `--net_resolution -1x256` (multiples of 16; default -1x368), then `-1x176`. Keep the -1: without it, images of different shapes need memory again."),
			"use_smaller_model": step.Paste("text", "`--model_pose COCO` needs less than BODY_25 (2 GB with its defaults); without `--face` and `--hand`; `--scale_number 1`."),
			"cpu_offload":       step.Paste("text", "Another card: `--num_gpu 1 --num_gpu_start 1`; the CPU build for none."),
		},
		Titles:   map[string]string{"lower_resolution": "A smaller net resolution", "cpu_offload": "Another card, or the processor"},
		Costs:    map[string]string{"lower_resolution": "Small or far people are missed.", "use_smaller_model": "No feet; no face and hands."},
		Remedies: order("lower_resolution", "use_smaller_model", "close_other_apps", "cpu_offload"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{made("openpose/net", cause.BatchTooLarge, "The network's own resolution decides, not the image's size: 4 GB do for the body with the defaults, face and hands add to it, four scales at high resolution take 10 GB and more. Caffe built without cuDNN needs several times as much.", "A smaller video: it is scaled to `--net_resolution`.", "openpose/doc/05_faq.md", theirs("lower_resolution", "use_smaller_model", "close_other_apps")...)},
	}
)
