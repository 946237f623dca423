package makers

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
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
		Titles:   map[string]string{"lower_batch_size": "Decode only the formats that you need", "cpu_offload": "Move finished models to RAM", "lower_resolution": "Lower the texture size"},
		Costs:    map[string]string{"lower_batch_size": "None."},
		Useless:  clues.Useless(trellisMoves, "no model has run yet", "lower_batch_size", "efficient_attention"),
		Remedies: order("lower_batch_size", "cpu_offload", "close_other_apps"), Like: []*program.Program{&Objects},
		Cards: []cause.Card{
			part("trellis/decode", []string{"decode_slat", "decoder_mesh.py", "representations/mesh", "flexicubes"}, cause.ModelTooLarge, "ran out of GPU memory while decoding the object",
				"The mesh decoder's sparse grid grows with the object's surface, while all models of the pipeline are still on the GPU. TRELLIS asks for 16 GB. Large, detailed objects need the most.", "Fewer sampling steps: they save time, not memory.", "TRELLIS/README.md", theirs("cpu_offload", "lower_batch_size")...),
			part("trellis/texture", []string{"postprocessing_utils", "bake_texture", "render_multiview", "fill_holes", "extract_glb"}, cause.BatchTooLarge, "ran out of GPU memory while making the GLB file", "It renders the mesh from many views to fill holes and bake the texture, while the pipeline's models are still on the GPU.", "Fewer sampling steps: they save time, not memory.", "TRELLIS/trellis/utils/postprocessing_utils.py", theirs("cpu_offload", "lower_resolution")...),
			trained("trellis/step", "Objects differ in size, so training can fail at any step. `batch_split` cuts each batch into parts.", "", "TRELLIS/configs/generation/slat_flow_img_dit_L_64l8p2_fp16.json",
				cure("lower_batch_size", "Raise `batch_split`, then lower the batch size", "text", "In the JSON config, double `batch_split` (default 4). Then halve `batch_size_per_gpu` (default 8).", "Slower.")),
			made("trellis/run", cause.ModelTooLarge, "TRELLIS puts all models of its pipeline on the GPU at once (`pipeline.cuda()`) and asks for 16 GB. It has no low-memory option.", "A smaller input image: it is scaled to 518 pixels anyway.", "TRELLIS/README.md",
				cause.Cure{Fix: "cpu_offload", If: trellisMoves, Title: "Do not move all models at once", Told: "Leave out `pipeline.cuda()`. Move each of `pipeline.models` to the GPU before its stage, and back with `.cpu()` after it. That means changes in its code.", Cost: "Some seconds per run."},
				cause.Cure{Fix: "cpu_offload", If: when.Not(trellisMoves)}, cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "efficient_attention"}),
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
			"use_smaller_model": step.Paste("text", "Add `--disable_tex` for the shape without texture (6 GB instead of 16 GB). API server: leave out `--enable_tex`."),
			"lower_resolution":  step.Paste("python", "mesh = pipeline(image=image, octree_resolution=256, num_chunks=8000)[0]   # your own call; 384: 3.4 times as many points"),
		},
		Useless:  both(futile(near("--low_vram_mode"), "lowvram_mode"), futile(near("--disable_tex"), "use_smaller_model")),
		Titles:   map[string]string{"use_smaller_model": "Make the shape without the texture"},
		Remedies: order("lowvram_mode", "use_smaller_model", "cpu_offload", "lower_resolution"), Like: []*program.Program{&Objects},
		Cards: []cause.Card{
			part("hunyuan3d/texture", []string{"hy3dgen/texgen", "texgen_worker(", "Hunyuan3DPaintPipeline", "hy3dpaint/"}, cause.ModelTooLarge, "ran out of GPU memory[[ ({total})]] in the texture stage", "The texture stage adds two diffusion models: shape and texture together need 16 GB, the shape alone 6 GB, its README says.", "", "Hunyuan3D-2/README.md", theirs("lowvram_mode", "use_smaller_model")...),
			part("hunyuan3d/surface", []string{"volume_decoders.py", "latents2mesh(", "surface_extractors.py"}, cause.BatchTooLarge, "ran out of GPU memory while making the surface", "The grid has `octree_resolution` cubed points: 512 has eight times as many as 256. They are computed `num_chunks` at a time.", "Fewer steps: they save time, not memory.", "Hunyuan3D-2/hy3dgen/shapegen/pipelines.py", theirs("lower_resolution", "lowvram_mode")...),
			already("hunyuan3d/lean", []string{"--low_vram_mode", "--disable_tex"}, cause.ModelTooLarge, "Options that save memory are on already. The shape alone needs 6 GB, with the texture 16 GB, its README says; the mini model needs less than both.", "A smaller input image: it is scaled anyway.", "Hunyuan3D-2/README.md", theirs("use_smaller_model", "lowvram_mode", "lower_resolution", "close_other_apps")...),
			made("hunyuan3d/run", cause.ModelTooLarge, "The web page loads the shape, texture and (with `--enable_t23d`) text-to-image models together. The shape needs 6 GB, shape and texture 16 GB.", "A smaller input image: it is scaled anyway.", "Hunyuan3D-2/README.md", theirs("lowvram_mode", "use_smaller_model", "lower_resolution")...),
		},
	}
	// InstantMesh is Tencent's.
	InstantMesh = program.Program{
		Name: "instantmesh", Shown: "InstantMesh", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"InstantMesh/"},
		Sources: program.Sources{"InstantMesh/run.py": "--export_texmap --save_video --view --diffusion_steps", "InstantMesh/README.md": "CUDA_VISIBLE_DEVICES"},
		Steps: steps{
			"lower_batch_size":  step.Paste("text", "Leave out `--save_video` and `--export_texmap`, which need extra memory. In run.py set `chunk_size = 5` instead of 20."),
			"use_smaller_model": step.Paste("text", "Run `python run.py configs/instant-mesh-base.yaml IMAGE.png`, which also frees the diffusion model before the mesh. On the web page: set `config_path` at the top of app.py to `configs/instant-mesh-base.yaml`."),
			"multi_gpu":         step.Paste("text", "app.py uses two GPUs if it sees them (diffusion on the first, reconstruction on the second). Do not hide one with `CUDA_VISIBLE_DEVICES`."),
			"lower_resolution":  step.Paste("text", "In the config: `grid_res: 64` (default 128), then `texture_resolution: 512`."),
		},
		Titles:   map[string]string{"use_smaller_model": "Use the base model", "lower_batch_size": "Leave out video and texture"},
		Costs:    map[string]string{"lower_batch_size": "No video, no texture map."},
		Remedies: order("lower_batch_size", "use_smaller_model", "lower_resolution", "close_other_apps"), Like: []*program.Program{&Objects},
		Cards: []cause.Card{
			part("instantmesh/render", []string{"render_frames", "forward_geometry", "extract_mesh", "xatlas"}, cause.BatchTooLarge, "ran out of GPU memory while making the mesh or its video", "The reconstruction model computes a grid of 128 cubed points and renders the video's frames, 20 at a time.", "Fewer diffusion steps: they save time, not memory.", "InstantMesh/run.py", theirs("lower_batch_size", "lower_resolution", "use_smaller_model")...),
			made("instantmesh/run", cause.ModelTooLarge, "First Zero123++ makes six views, then the reconstruction model makes the mesh. run.py frees the first model before the second; the web page keeps both on the GPU.", "A smaller input image: it is scaled anyway.", "InstantMesh/run.py", theirs("use_smaller_model", "multi_gpu", "lower_batch_size")...),
		},
	}
	// TripoSR is Stability's and Tripo's.
	TripoSR = program.Program{
		Name: "triposr", Shown: "TripoSR", Work: "rendering", Edits: "code", Language: "python",
		Proofs:  []string{"TripoSR/", "tsr/system.py", "tsr/models/"},
		Sources: program.Sources{"TripoSR/run.py": "--chunk-size --mc-resolution --device --bake-texture --texture-resolution"},
		Steps: steps{
			"lower_batch_size": step.Paste("text", "Add `--chunk-size 2048` to your run.py command (default 8192). For the web page: `set_chunk_size(2048)` in gradio_app.py."),
			"lower_resolution": step.Paste("text", "Add `--mc-resolution 128` (default 256: eight times as many points); with `--bake-texture` also `--texture-resolution 1024`."),
			"cpu_offload":      step.Paste("text", "Add `--device cpu`."),
		},
		Titles:   map[string]string{"cpu_offload": "Run it on the CPU"},
		Costs:    map[string]string{"cpu_offload": "Slower: a minute or two per image."},
		Remedies: order("lower_batch_size", "lower_resolution", "close_other_apps", "cpu_offload"), Like: []*program.Program{&Objects},
		Cards: []cause.Card{made("triposr/run", cause.BatchTooLarge, "TripoSR needs about 6 GB with its defaults. The grid has `--mc-resolution` cubed points, computed `--chunk-size` at a time.", "A smaller input image: it is scaled to 512 pixels anyway.", "TripoSR/README.md", theirs("lower_batch_size", "lower_resolution", "cpu_offload")...)},
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
		Cards: []cause.Card{made("pifuhd/run", cause.BatchTooLarge, "PIFuHD asks for 8 GB. Every image is scaled to 1024 x 1024. The mesh's grid has `-r` cubed points.", "A smaller image file: it is scaled to 1024 pixels anyway.", "pifuhd/README.md", theirs("lower_resolution", "close_other_apps")...)},
	}
	// AlphaPose finds joints of many people.
	AlphaPose = program.Program{
		Name: "alphapose", Shown: "AlphaPose", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"AlphaPose/", "alphapose/"},
		Sources: program.Sources{"AlphaPose/scripts/demo_inference.py": "--detbatch --posebatch --qsize --sp --gpus --detector", "AlphaPose/alphapose/opt.py": "--nThreads"},
		Steps: steps{
			"lower_batch_size":  step.Paste("text", "Add `--detbatch 1 --posebatch 30` to your demo_inference.py command (default 5 images and 64 people at a time). Then try `--posebatch 10`."),
			"use_smaller_model": step.Paste("text", "Use a FastPose checkpoint with ResNet-50 at 256x192, and `--detector yolox-s` if your version supports it."),
			"lower_num_workers": step.Paste("text", "Use `--qsize 128` (default 1024 results). On Windows or for a single process: `--sp`. Training: `--nThreads 4` (default 60)."),
		},
		Titles:   map[string]string{"lower_batch_size": "Lower `--detbatch` and `--posebatch`", "lower_num_workers": "Shorten the queue (`--qsize`)"},
		Remedies: order("lower_batch_size", "use_smaller_model", "close_other_apps"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{
			made("alphapose/run", cause.BatchTooLarge, "The detector and pose network share the GPU. By default they process 5 images and up to 64 people at a time, so crowded images need the most.", "", "AlphaPose/docs/GETTING_STARTED.md", theirs("lower_batch_size", "use_smaller_model")...),
			filledRAM("alphapose/queue", "By default up to 1024 results, with their images, wait in RAM for the writer (`--qsize`). Long or large videos fill it.", "A smaller batch: it saves GPU memory.", "AlphaPose/docs/faq.md", append(theirs("lower_num_workers"), cure("stream_dataset", "Process the video in parts", "shell", "ffmpeg -i long.mp4 -f segment -segment_time 300 -c copy part%03d.mp4", "You join the results."))...),
		},
	}
	// OpenPose is CMU's, in C++ on Caffe.
	OpenPose = program.Program{
		Name: "openpose", Shown: "OpenPose", Rank: above, Work: "vision", Edits: "flags", Language: "cpp",
		Proofs:  []string{"openpose.bin", "OpenPoseDemo", "src/openpose/", "op::", "openpose/build/", "Starting OpenPose demo"},
		Sources: program.Sources{"openpose/include/openpose/flags.hpp": "BODY_25 --net_resolution --model_pose --face --hand --scale_number --num_gpu --num_gpu_start --face_net_resolution --hand_net_resolution"},
		Steps: steps{
			"lower_resolution":  step.Paste("text", "Add `--net_resolution -1x256` (multiples of 16; default -1x368), then `-1x176`. Keep the -1, which follows each image's shape."),
			"use_smaller_model": step.Paste("text", "Leave out `--face` and `--hand`, and set `--scale_number 1`. `--model_pose COCO` needs less than BODY_25."),
			"cpu_offload":       step.Paste("text", "Use `--num_gpu 1 --num_gpu_start 1` for the second GPU. Without a GPU, use the CPU build."),
		},
		Titles:   map[string]string{"lower_resolution": "Lower `--net_resolution`", "cpu_offload": "Use another GPU, or the CPU build"},
		Costs:    map[string]string{"lower_resolution": "It misses small or distant people.", "use_smaller_model": "No feet; no face and hands."},
		Remedies: order("lower_resolution", "use_smaller_model", "close_other_apps", "cpu_offload"), Like: []*program.Program{&Tiles},
		Cards: []cause.Card{made("openpose/net", cause.BatchTooLarge, "Memory depends on `--net_resolution`, not on the size of the image. The body needs up to 4 GB with the defaults; face and hands add to that, and several scales multiply it. Caffe built without cuDNN needs several times as much.", "A smaller video: it is scaled to `--net_resolution` anyway.", "openpose/doc/05_faq.md", theirs("lower_resolution", "use_smaller_model", "close_other_apps")...)},
	}
)

// trellisMoves: TRELLIS failed while it moved its models to the GPU.
var trellisMoves = clues.Shows("pipeline.cuda()")
