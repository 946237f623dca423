package field

import "github.com/oomdoc/oomdoc/rules/program"

// Programs that look at cells, brains and animals.
var (
	// Cellpose finds cells; version 4 is Cellpose-SAM, a far larger network.
	Cellpose = of(program.Program{
		Name: "cellpose", Shown: "Cellpose", Work: "vision", Edits: "code",
		Proofs:   []string{"cellpose/models.py", "cellpose/core.py", "cellpose/dynamics.py", "cellpose/__main__.py", "cellpose/resnet_torch.py", "cellpose/vit_sam.py", "cellpose/gui/"},
		Commands: []string{"cellpose"},
		Titles:   map[string]string{"lower_batch_size": "Lower the batch size (batch_size=1)", "lower_resolution": "Bin or crop the image", "cpu_offload": "Run this image on the CPU", "stream_dataset": "Segment the volume plane by plane", "use_smaller_model": "Use version 3, with its smaller network"},
		Costs:    map[string]string{"lower_batch_size": "Slower; the same masks.", "lower_resolution": "Thin edges may be lost.", "cpu_offload": "Slower.", "stream_dataset": "Cells are joined between planes by overlap.", "use_smaller_model": "Other masks; its models cannot be mixed with those of version 4."},
		Steps: steps{
			"use_smaller_model": say("If it is version 4: `pip install \"cellpose<4\"` in a new environment, then the model \"cyto3\"."),
			"lower_batch_size":  say("Use `model.eval(img, batch_size=1)` (default 8 tiles), or `--batch_size 1` on the command line. For training: `--train_batch_size 1` (default 8 before version 4)."),
			"lower_resolution":  say("A quarter of the pixels takes a quarter of the memory. Also check `diameter`: below 30 it enlarges the image by 30 / diameter. 15 means four times the pixels, in 3D eight times the voxels."),
			"cpu_offload":       say("Use `CellposeModel(gpu=False)` for this image. In the GUI turn off \"use GPU\"."),
			"stream_dataset":    say("For 3D use `do_3D=False, stitch_threshold=0.4` instead of `do_3D=True` (command line: `--stitch_threshold 0.4` without `--do_3D`)."),
		},
		Sources: program.Sources{"cellpose/cellpose/cli.py": "--batch_size --train_batch_size --diameter --do_3D --stitch_threshold"},
	}, []shortage{{
		id: "dynamics", said: []string{"cellpose/dynamics.py", "follow_flows", "steps_interp", "compute_masks", "masks_to_flows"}, source: "cellpose/cellpose/dynamics.py",
		means: "The network is done. What failed is the next step, which follows the flows to the centres of the cells. It keeps 32-bit arrays of all pixels of the image or volume at once, whatever the batch size.",
		not:   "A smaller `batch_size`: the tiles are done.",
		fixes: []string{"lower_resolution", "stream_dataset", "cpu_offload"},
	}, {
		id: "training", said: []string{"cellpose/train.py", "in train_seg"}, source: "cellpose/cellpose/train.py",
		means: "In training a batch is crops of 224 or 256 pixels, whatever the size of the images, and every layer's results are kept for the gradients. Version 4 (Cellpose-SAM) trains a network some fifty times as large as version 3's.",
		not:   "Smaller images: only crops of them are used.",
		fixes: []string{"lower_batch_size", "use_smaller_model", "kill_stale_process"},
		done:  []string{"lower_resolution", "cpu_offload", "stream_dataset"},
	}, {
		id: "sam", said: []string{"cellpose/vit_sam.py"}, source: "cellpose/cellpose/vit_sam.py",
		means: "Version 4 (Cellpose-SAM) runs a vision transformer of some 300 million weights on tiles of 256 x 256 pixels, `batch_size` of them at once. The networks of version 3 have a few million.",
		fixes: []string{"lower_batch_size", "kill_stale_process", "use_smaller_model", "cpu_offload"},
	}, {
		means:  "The network works on tiles of 256 x 256 pixels, `batch_size` of them at once. Version 4 (Cellpose-SAM) is a much larger network than earlier ones: 8 tiles take several GB.",
		fixes:  []string{"lower_batch_size", "kill_stale_process", "lower_resolution", "cpu_offload"},
		source: "cellpose/cellpose/models.py",
	}}, one(shortage{
		means:  "The whole image, its flows and probabilities are in RAM: 3 or 4 32-bit numbers per pixel, several times while masks are created. A `diameter` below 30 enlarges the image first.",
		fixes:  []string{"lower_resolution", "stream_dataset", "add_swap"},
		source: "cellpose/cellpose/models.py",
	}))

	// StarDist finds star-convex objects, with TensorFlow.
	StarDist = of(program.Program{
		Name: "stardist", Shown: "StarDist", Work: "vision", Edits: "code",
		Proofs: []string{"stardist/models/", "stardist/nms.py", "stardist/matching.py", "stardist/big.py", "csbdeep/models/", "csbdeep/internals/"},
		Titles: map[string]string{"lower_resolution": "Predict in tiles (n_tiles)", "stream_dataset": "For very large images, predict block by block", "lower_batch_size": "For training, lower patch and batch size"},
		Costs:  map[string]string{"lower_resolution": "A little slower; the same objects.", "stream_dataset": "Slower.", "lower_batch_size": "Large objects must still fit into a patch."},
		Steps: steps{
			"lower_resolution": python("labels, details = model.predict_instances(img, n_tiles=(4, 4))   # one number per axis; a volume: (2, 4, 4). Double them until it fits"),
			"stream_dataset":   python("labels, details = model.predict_instances_big(img, axes=\"YX\", block_size=4096, min_overlap=128)   # img may be a zarr array"),
			"lower_batch_size": say("`Config2D(train_batch_size=1, train_patch_size=(128, 128))`, or for Config3D `train_patch_size=(32, 64, 64)`."),
		},
		Sources: program.Sources{"stardist/stardist/models/base.py": "n_tiles predict_instances_big", "stardist/stardist/models/model2d.py": "train_patch_size train_batch_size"},
	}, one(shortage{
		means:  "Without `n_tiles` the whole image goes through the network at once, with 32 to 128 channels per pixel. In training batch size x patch size decides.",
		fixes:  []string{"lower_resolution", "lower_batch_size", "kill_stale_process"},
		source: "stardist/stardist/models/base.py",
	}), one(shortage{
		means:  "For each pixel the network returns a probability and the distances along all rays (32 in 2D, 96 in 3D), in 32 bit. `n_tiles` reduces only GPU memory: the result is put together in RAM.",
		not:    "`n_tiles` alone: it reduces only GPU memory.",
		fixes:  []string{"stream_dataset", "raise_memory_limit", "add_swap"},
		source: "stardist/stardist/models/base.py",
	}))

	// SLEAP follows animals, with TensorFlow until version 1.4.
	SLEAP = of(program.Program{
		Name: "sleap", Shown: "SLEAP", Work: "vision", Edits: "flags",
		Proofs:   []string{"sleap/nn/", "sleap/gui/", "sleap/io/", "INFO:sleap.", "sleap-train", "sleap-track", "sleap_nn/"},
		Commands: []string{"sleap-train", "sleap-track", "sleap-label"},
		Titles:   map[string]string{"lower_batch_size": "Lower the batch size", "lower_resolution": "Scale the images down (\"Input Scaling\")", "use_smaller_model": "Use a smaller network", "stream_dataset": "Do not preload the frames", "lower_context": "Track the video in parts"},
		Costs:    map[string]string{"stream_dataset": "Slower.", "lower_context": "Parts to join.", "lower_batch_size": "Slower.", "lower_resolution": "Fine parts may be lost.", "use_smaller_model": "Some accuracy."},
		Steps: steps{
			"lower_batch_size":  say("Training: set \"Batch Size\" to 2 or 1 in the dialogue (`optimization.batch_size`). Tracking: `sleap-track --batch_size 1` (default 4)."),
			"lower_resolution":  say("Set \"Input Scaling\" to 0.5 in the training dialogue (`data.preprocessing.input_scaling`): that takes a quarter of the memory. For top-down models scale only the centroid model, which sees the whole frame."),
			"use_smaller_model": say("Use fewer \"Filters\" (16 instead of 32), a filters rate of 1.5, or a max stride of 16."),
			"stream_dataset":    say("Training: export the profile and set `preload_data` to false under `optimization` in its JSON."),
			"lower_context":     say("Tracking: `sleap-track --frames 0-9999`, then the next part."),
		},
		Sources: program.Sources{"sleap/sleap/nn/config/optimization.py": "preload_data", "sleap/sleap/nn/inference.py": "--batch_size --frames", "sleap/sleap/config/training_editor_form.yaml": "optimization.batch_size data.preprocessing.input_scaling"},
	}, one(shortage{
		means:  "Memory grows with pixels x filters x batch size. Bottom-up and centroid models see the whole frame, at \"Input Scaling\" times its size.",
		fixes:  []string{"lower_batch_size", "lower_resolution", "kill_stale_process", "use_smaller_model"},
		source: "sleap/sleap/config/training_editor_form.yaml",
	}), one(shortage{
		means:  "Training loads all labelled frames into RAM first (`preload_data`), at full size, in 32 bit where they are scaled. Tracking keeps the predictions of all frames until it saves them.",
		not:    "A smaller batch: it saves GPU memory.",
		fixes:  []string{"stream_dataset", "lower_resolution", "lower_context", "add_swap"},
		source: "sleap/sleap/nn/config/optimization.py",
	}))

	// Kilosort sorts spikes; version 4 is in Python, those before in MATLAB.
	Kilosort = of(program.Program{
		Name: "kilosort", Shown: "Kilosort", Work: "science", Edits: "code",
		Proofs: []string{"kilosort/run_kilosort.py", "kilosort/clustering_qr.py", "kilosort/template_matching.py", "kilosort/spikedetect.py", "kilosort/datashift.py", "kilosort/preprocessing.py", "kilosort.run_kilosort", "kilosort.parameters", "Kilosort version 4"},
		Titles: map[string]string{"lower_batch_size": "Lower batch_size (samples)", "empty_cache": "Clear the cache between steps (clear_cache=True)", "lower_resolution": "Cluster with fewer spikes (max_cluster_subset)", "use_smaller_model": "Use a coarser grid of templates (dminx)", "stream_dataset": "Sort the recording in parts", "upgrade_version": "Update Kilosort"},
		Costs:  map[string]string{"lower_batch_size": "Slower.", "empty_cache": "Slower.", "lower_resolution": "Usually no loss.", "use_smaller_model": "Usually no loss at the probe's own spacing.", "stream_dataset": "Units must be matched between the parts.", "upgrade_version": "A few minutes."},
		Steps: steps{
			"upgrade_version":   say("If it is version 4.1.0 to 4.1.2 (its first lines say so), run `pip install --upgrade kilosort`."),
			"lower_batch_size":  half("settings[\"batch_size\"] = {n}   # samples; 30000: 1 s at 30 kHz; default 60000", 30000, "batch_size"),
			"empty_cache":       python("run_kilosort(settings, clear_cache=True)   # GUI: \"Clear PyTorch Cache\""),
			"lower_resolution":  python("settings.update(cluster_downsampling=20, max_cluster_subset=25000)   # 4.1.0 to 4.1.2 had downsampling 1: update, or set it"),
			"stream_dataset":    python("settings.update(tmin=0, tmax=7200)   # seconds; the units of the parts then have to be matched"),
			"use_smaller_model": python("settings.update(dminx=32, nearest_chans=10)   # dminx: um, a multiple of the contact spacing; nearest_chans is 10 by default"),
		},
		Sources: program.Sources{"Kilosort/kilosort/parameters.py": "batch_size cluster_downsampling max_cluster_subset dminx nearest_chans tmin tmax", "Kilosort/docs/hardware.rst": "batch_size"},
	}, []shortage{{
		id: "clustering", said: []string{"clustering_qr.py", "clustering_qr.run", "in kmeans_plusplus", "assign_iclust"}, source: "Kilosort/kilosort/parameters.py",
		means: "It failed in clustering, which compares spikes with a subset of other spikes. Many spikes make it large: a long recording, a low threshold, noise or artefacts. Versions 4.1.0 to 4.1.2 used a much larger subset than others.",
		not:   "A smaller `batch_size`: clustering does not use it.",
		fixes: []string{"lower_resolution", "empty_cache", "upgrade_version"},
	}, {
		means:  "Memory grows with channels x samples per batch (60,000 samples are 2 s), plus templates for each position on the probe. The developers recommend 12 GB, and more for probes with many or dense channels.",
		fixes:  []string{"lower_batch_size", "empty_cache", "use_smaller_model", "kill_stale_process"},
		source: "Kilosort/docs/hardware.rst",
	}}, one(shortage{
		means:  "Features of all spikes stay in RAM until the end, so the number of spikes decides (channels x hours x rate). The developers recommend 32 GB, better 64. Long recordings with many channels need more.",
		fixes:  []string{"stream_dataset", "raise_memory_limit", "add_swap"},
		source: "Kilosort/docs/hardware.rst",
	}))

	// Suite2p finds neurons in recordings of calcium.
	Suite2p = of(program.Program{
		Name: "suite2p", Shown: "Suite2p", Work: "vision", Edits: "code",
		Proofs: []string{"suite2p/run_s2p.py", "suite2p/registration/", "suite2p/detection/", "suite2p/extraction/", "suite2p/io/", "suite2p/gui/"},
		Titles: map[string]string{"lower_batch_size": "Lower the frames per batch (batch_size)", "lower_resolution": "Detect on fewer binned frames (nbinned)", "stream_dataset": "Split the tiff files"},
		Costs:  map[string]string{"lower_batch_size": "Slower.", "lower_resolution": "Rare cells may be missed.", "stream_dataset": "Disk space."},
		Steps: steps{
			"lower_batch_size": say("Set `ops[\"batch_size\"] = 100` (default 500), then `nimg_init` to 200. In version 1 registration (100) and extraction (500) have their own `batch_size`."),
			"lower_resolution": say("Set `ops[\"nbinned\"] = 2000` (default 5000; in version 1: `nbins`)."),
			"stream_dataset":   say("Split the tiffs into files of a few GB. Put `fast_disk` on an SSD with room for the whole recording in 16 bit."),
		},
		Sources: program.Sources{"suite2p/suite2p/default_ops.py": "batch_size nimg_init nbinned", "suite2p/docs/parameters.md": "batch_size"},
	}, one(shortage{
		means:  "For registration all frames of a batch and their Fourier transforms are on the GPU: width x height x `batch_size` x 4 bytes, several times.",
		fixes:  []string{"lower_batch_size", "kill_stale_process", "lower_resolution"},
		source: "suite2p/docs/parameters.md",
	}), one(shortage{
		means:  "Detection keeps the movie, binned to at most `nbinned` frames, in RAM with copies: 5000 frames of 512 x 512 are 4.9 GiB, of 1024 x 1024 19.5 GiB. Registration keeps `batch_size` frames and their transforms.",
		fixes:  []string{"lower_resolution", "lower_batch_size", "stream_dataset", "add_swap"},
		source: "suite2p/suite2p/default_ops.py",
	}))

	// CaImAn is calcium imaging in patches, a process for each at once.
	CaImAn = of(program.Program{
		Name: "caiman", Shown: "CaImAn", Work: "vision", Edits: "code",
		Proofs: []string{"caiman/source_extraction/", "caiman/motion_correction.py", "caiman/mmapping.py", "caiman/cluster.py", "caiman/base/"},
		Titles: map[string]string{"lower_num_workers": "Run fewer processes", "lower_resolution": "Use smaller patches (rf)", "lower_batch_size": "Process fewer pixels per process"},
		Costs:  map[string]string{"lower_num_workers": "Slower; the same result.", "lower_resolution": "Patches must stay well above a cell's size.", "lower_batch_size": "Slower."},
		Steps: steps{
			"lower_num_workers": python("c, dview, n_processes = cm.cluster.setup_cluster(backend=\"multiprocessing\", n_processes=2)   # default: all cores; dview=None: no pool"),
			"lower_resolution":  python("opts.change_params({\"rf\": 40, \"stride\": 20, \"low_rank_background\": True, \"p_ssub\": 2, \"p_tsub\": 2})"),
			"lower_batch_size":  python("opts.change_params({\"n_pixels_per_process\": 500, \"memory_fact\": 0.5})"),
		},
		Sources: program.Sources{"CaImAn/caiman/source_extraction/cnmf/params.py": "n_processes rf stride n_pixels_per_process memory_fact low_rank_background p_ssub p_tsub", "CaImAn/docs/source/CaImAn_Tips.rst": "n_processes"},
	}, nil, one(shortage{
		means:  "Each process keeps a patch of the movie in RAM, and CNMF-E (one photon) needs several times that. Memory grows with processes x patch size x frames. `cm.load` of a whole movie, or `rf=None` (no patches), keeps all of it.",
		fixes:  []string{"lower_num_workers", "lower_resolution", "lower_batch_size", "add_swap"},
		source: "CaImAn/docs/source/CaImAn_Tips.rst",
	}))
)
