package webui

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var (
	kohyaLean = cause.Cure{
		Fix: "lower_batch_size", Title: "Batch 1 with gradient checkpointing", Kind: "config",
		Text: "--train_batch_size 1 --gradient_checkpointing --optimizer_type AdamW8bit --sdpa", Cost: "About a third slower.",
	}
	kohyaCache = cause.Cure{
		Fix: "cpu_offload", Title: "Cache latents and text encoder outputs", Kind: "config",
		Text: "--cache_latents_to_disk --cache_text_encoder_outputs_to_disk --network_train_unet_only", Cost: "No caption shuffling, no text encoder training.",
	}
	kohyaSwap = cause.Cure{
		Fix: "offload_optimizer", Title: "Swap blocks to RAM", Kind: "config",
		Text: "--blocks_to_swap 18 --fp8_base", Cost: "Slower; needs 32 GB of RAM or more.",
	}
)

var kohyaCards = ofCard([]cause.Card{
	{
		ID: "kohya/caching", Kinds: onCard, Said: []string{"cache_batch_latents", "caching latents", "vae.encode("},
		Cause: cause.BatchTooLarge, Weight: 0.85,
		Means:   "It failed before training, while the VAE encoded the pictures. Here the size of the training resolution and `--vae_batch_size` count; the network that is trained is not on the card yet, or idle.",
		Not:     "A smaller rank or another optimizer: training had not begun.",
		Cures:   []cause.Cure{{Fix: "lower_batch_size", Title: "Encode one picture at a time", Kind: "config", Text: "--vae_batch_size 1 --cache_latents_to_disk", Cost: "Caching takes longer, once."}, {Fix: "lower_resolution", Title: "Lower the resolution", Kind: "config", Text: "--resolution 768,768", Cost: "Less detail learned."}},
		Sources: []string{kohyaCode + "library/train_util.py"},
	},
	{
		ID: "kohya/samples", Kinds: onCard, Said: []string{"sample_images", "generating sample images"}, Unsaid: []string{"accelerator.backward", "optimizer.step"},
		Cause: cause.BatchTooLarge, Weight: 0.8,
		Means:   "Training ran; it failed making the sample pictures in between, which need a whole pipeline (VAE and text encoders too) beside what training holds.",
		Cures:   []cause.Cure{{Fix: "lower_resolution", Title: "Make samples smaller, or none", Kind: "config", Text: "# in the sample prompt file, behind each prompt\n--w 512 --h 512", Cost: "Smaller previews; without --sample_prompts none."}, kohyaLean},
		Sources: []string{kohyaCode + "library/train_util.py"},
	},
	{
		ID: "kohya/flux", Kinds: onCard, Said: []string{"flux_train", "flux_models.py", "sd3_train", "lumina_train", "anima_train", "hunyuan_image_train"},
		Cause: cause.TrainingStateTooLarge, Weight: 0.7,
		Means:   "A model of this kind (FLUX: 12 billion parameters, 24 GB at 16 bit) does not fit beside its gradients on usual cards. sd-scripts has two savings for it: 8-bit base weights and blocks that are swapped to RAM.",
		Not:     "A smaller rank: the LoRA is megabytes, the base model is what fills the card.",
		Cures:   []cause.Cure{kohyaSwap, kohyaCache, {Fix: "lower_resolution", Title: "Train at 512", Kind: "config", Text: "--resolution 512,512", Cost: "Less detail learned."}},
		Sources: []string{kohyaCode + "library/train_util.py", kohyaCode + "docs/flux_train_network.md"},
	},
	{
		ID: "kohya/full-tune", Kinds: onCard, Said: []string{"fine_tune.py", "sdxl_train.py", "train_db.py"},
		Cause: cause.TrainingStateTooLarge, Weight: 0.8,
		Means:   "All weights are trained here, not a LoRA: gradients and two optimizer moments come on top. For SDXL that is about 40 GB with AdamW at 32 bit, before any picture.",
		Not:     "A smaller batch alone: it does not touch weights, gradients and moments.",
		Cures:   []cause.Cure{{Fix: "optimizer_8bit", Title: "Adafactor with a fused backward pass", Kind: "config", Text: "--optimizer_type Adafactor --optimizer_args scale_parameter=False relative_step=False warmup_init=False --fused_backward_pass --full_bf16 --mixed_precision bf16 --gradient_checkpointing", Cost: "No gradient accumulation; RTX 30 and later for bf16."}, {Fix: "use_lora", Title: "Train a LoRA", Kind: "text", Text: "`train_network.py`, for SDXL `sdxl_train_network.py`: 8 to 12 GB are enough.", Cost: "Slightly less faithful."}},
		Sources: []string{kohyaCode + "library/train_util.py", kohyaCode + "docs/sdxl_train_network.md"},
	},
	{
		ID: "kohya/prepare", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"accelerator.prepare(", "in prepare_model", "unet.to(accelerator.device", "in _prepare_one"},
		Cause: cause.ModelTooLarge, Weight: 0.7,
		Means:   "It failed putting the model on the card, before the first step. Without `--mixed_precision` and without `--full_fp16` or `--fp8_base` the base model goes there at 32 bit.",
		Not:     "A smaller batch or resolution: no picture was read yet.",
		Cures:   []cause.Cure{{Fix: "mixed_precision", Title: "Load the base at 8 or 16 bit", Kind: "config", Text: "--mixed_precision bf16 --fp8_base", Cost: "Little quality; fp16 instead of bf16 before RTX 30."}, kohyaCache, {Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."}},
		Sources: []string{kohyaCode + "train_network.py", kohyaCode + "library/train_util.py"},
	},
	{
		ID: "kohya/optimizer", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"optimizer.step", "optimizer_step", "exp_avg"},
		Cause: cause.TrainingStateTooLarge, Weight: 0.8,
		Means:   "The first forward and backward pass went through; it failed when the optimizer made its moments, twice the size of what is trained at 32 bit with AdamW.",
		Cures:   []cause.Cure{{Fix: "optimizer_8bit", Title: "Use an 8-bit optimizer", Kind: "config", Text: "--optimizer_type AdamW8bit", Cost: "None that can be seen."}, {Fix: "use_lora", Title: "Train fewer weights", Kind: "config", Text: "--network_dim 16 --network_alpha 8 --network_train_unet_only", Cost: "Less capacity."}},
		Sources: []string{kohyaCode + "library/train_util.py"},
	},
	{
		ID: "kohya/step", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"train_network.py", "accelerator.backward", "noise_pred = ", "call_unet"},
		Cause: cause.BatchTooLarge, Weight: 0.7,
		Means:   "It failed in a training step: activations grow with batch and resolution, and bucketing gives some batches larger pictures than `--resolution`, so it can fail long after the start.",
		Cures:   []cause.Cure{kohyaLean, kohyaCache, {Fix: "lower_resolution", Title: "Lower resolution and buckets", Kind: "config", Text: "--resolution 768,768 --max_bucket_reso 1024", Cost: "Less detail learned."}},
		Sources: []string{kohyaCode + "train_network.py", kohyaCode + "library/train_util.py"},
	},
	{
		ID: "kohya/ram", Kinds: append(append([]fact.Kind{fact.CommitLimit, fact.WorkerKilled, fact.SharedMemory}, inRAM...), killed...),
		Cause: cause.HostMemory, Weight: 0.85,
		Means:   "System memory ran out, not the card's. Models are read into RAM first, data loader workers are each a copy of the program, and latents cached without `to_disk` stay in RAM.",
		Not:     "A smaller batch: it is about the card.",
		Cures:   []cause.Cure{{Fix: "lower_num_workers", Title: "Fewer workers, cache to disk", Kind: "config", Text: "--max_data_loader_n_workers 0 --cache_latents_to_disk --lowram", Cost: "Reading pictures takes longer."}, letWindowsPage, moreSwap},
		Sources: []string{kohyaCode + "library/train_util.py"},
	},
})

var framepackCards = ofCard([]cause.Card{
	{
		ID: "framepack/whole-attention", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: func(c *ledger.Case) bool { return ledger.NeverFits(c) != "" },
		Cause: cause.OversizedAllocation, Weight: 0.88,
		Means:   "It asked for {asked} in one piece on a {total} card: attention written out as a whole matrix. That happens on cards without a fused kernel for bf16 (GTX 10, RTX 20, T4, P40); FramePack is made for RTX 30 and later.",
		Not:     "The slider GPU Inference Preserved Memory: no setting makes such a piece fit.",
		Cures:   []cause.Cure{{Fix: "efficient_attention", Title: "RTX 20: install SageAttention 1", Kind: "shell", Text: "pip install sageattention==1.0.6   # with FramePack's own Python; needs Triton", Cost: "None; reported to work by some."}, {Fix: "upgrade_version", Title: "Run it at float32", Kind: "text", Text: "In demo_gradio.py write `torch.float32` for each `torch.bfloat16` of the transformer, as forks for RTX 20 do (FramePack-for-RTX20XX): fused kernels exist for that.", Cost: "Twice the RAM, slower."}, {Fix: "bigger_gpu", Title: "Use an RTX 30 or later", Kind: "text", Text: "FramePack names RTX 30, 40 and 50 as its requirement; 6 GB are enough there.", Cost: "Money."}},
		Sources: []string{framepack + "issues/233", framepack + "issues/341", framepack + "issues/419", framepack + "issues/330", "https://github.com/git-ai-code/FramePack-eichi/issues/7", framepack + "blob/main/README.md"}, Solved: 1,
	},
	{
		ID: "framepack/room-left", Kinds: []fact.Kind{fact.TorchAlloc}, If: ledger.Roomy,
		Cause: cause.HostMemory, Weight: 0.75,
		Means:   "{free} of the card was free and {asked} was refused: Windows counts card memory against RAM plus page file as well, and that was what ran out. FramePack needs 60 GB and more of both together.",
		Not:     "The slider for preserved memory: the card was not full.",
		Cures:   []cause.Cure{letWindowsPage, {Fix: "close_other_apps", Title: "Free system memory", Kind: "text", Text: "Close browsers and games; with 32 GB of RAM have at least 40 GB of page file (Linux: swap).", Cost: "Free."}},
		Sources: []string{framepack + "issues/132", framepack + "issues/233"}, Solved: 1,
	},
	{
		ID: "framepack/vae", Kinds: onCard, Said: []string{"vae_decode(", "in vae_decode", "vae_decode_fake"},
		Cause: cause.BatchTooLarge, Weight: 0.7,
		Means:   "A section was sampled; decoding it failed. The VAE works in tiles and slices already, with 8 GB kept free for it where the card has them: the slider does not act on this step.",
		Not:     "The slider for preserved memory: it holds for sampling.",
		Cures:   []cause.Cure{{Fix: "close_other_apps", Title: "Free the card", Kind: "text", Text: "`nvidia-smi` shows what else is there; on 6 to 8 GB let the browser draw without the card (hardware acceleration off).", Cost: "Free."}, {Fix: "restart_session", Title: "Start FramePack again", Kind: "text", Text: "Close its window and start it anew: after a failure parts of the models stay on the card.", Cost: "Some minutes of loading."}},
		Sources: []string{framepack + "blob/main/demo_gradio.py", framepack + "issues/263", framepack + "issues/770"},
	},
	{
		ID: "framepack/ram", Kinds: append(append([]fact.Kind{fact.CommitLimit}, inRAM...), killed...),
		Cause: cause.HostMemory, Weight: 0.9,
		Means:   "System memory ran out, not the card's. FramePack holds a 13-billion model, a Llama text encoder and three more models in RAM: about 60 GB together at their peak.",
		Not:     "The slider for preserved memory: it moves more into RAM.",
		Cures:   []cause.Cure{letWindowsPage, moreSwap},
		Sources: []string{framepack + "issues/74", framepack + "issues/233"}, Solved: 1,
	},
	{
		ID: "framepack/sampling", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"sample_hunyuan", "with preserved memory", "move_model_to_device_with_memory_preservation", "hunyuan_video_packed"},
		Cause: cause.BatchTooLarge, Weight: 0.65,
		Means:   "It failed while sampling. FramePack moves as much of the model to the card as leaves the preserved memory free; the work of a step needs more than that. The length of the video does not matter.",
		Not:     "A shorter video: each section needs the same.",
		Cures:   []cause.Cure{{Fix: "lowvram_mode", Title: "Preserve more memory", Kind: "ui", Text: "GPU Inference Preserved Memory (GB): from 6 to 8, then 10", Cost: "Slower."}, {Fix: "efficient_attention", Title: "Install Sage attention or xformers", Kind: "text", Text: "Into FramePack's Python; at its start it prints which are installed.", Cost: "None; TeaCache is separate."}, {Fix: "close_other_apps", Title: "Free the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."}},
		Sources: []string{framepack + "blob/main/demo_gradio.py", framepack + "blob/main/diffusers_helper/memory.py"},
	},
})
