package lab

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/tuning"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Repositories of models that read pictures and text.
// repoOfQwenVL are what stands in the folder of its repository: folders of models
// have the same names.
var repoOfQwenVL = []string{".py", "qwen-vl", "evaluation", "cookbooks"}

var (
	// LLaVA is Liu's, and what is made from it.
	LLaVA = program.Program{
		Name: "llava", Shown: "LLaVA", Work: "text-training", Edits: "code", Language: "python",
		Sources: program.Sources{
			"LLaVA/scripts/v1_5/finetune_lora.sh": "--per_device_train_batch_size --gradient_accumulation_steps --model_max_length --gradient_checkpointing --lora_enable --deepspeed --image_aspect_ratio",
			"LLaVA/README.md":                     "--load-4bit --load-8bit CUDA_VISIBLE_DEVICES",
			"LLaVA/llava/train/train.py":          "--bits",
		},
		Proofs: []string{"llava/train/", "llava/model/", "llava/serve/", "llava/eval/", "LLaVA/llava", "llava_trainer.py"},
		Steps: spelling{
			"lower_batch_size":       say("Use `--per_device_train_batch_size 1 --gradient_accumulation_steps 16` (the scripts use 16 and 1, for 80 GB GPUs)."),
			"lower_context":          say("Use `--model_max_length 1024`. In version 1.5 an image takes 576 of these tokens."),
			"lower_resolution":       say("Use `--image_aspect_ratio pad`. `anyres` (version 1.6) cuts an image into up to five tiles, 2,880 tokens."),
			"gradient_checkpointing": say("Use `--gradient_checkpointing True`, as in its scripts."),
			"use_lora":               llavaAdapters,
			"shard_training":         say("Use `--deepspeed ./scripts/zero3.json` over all GPUs."),
			"offload_optimizer":      say("Use `--deepspeed ./scripts/zero3_offload.json`. It uses RAM instead, and is slower."),
			"load_in_4bit":           say("Add `--load-4bit` to llava.serve.cli or model_worker; in code `load_pretrained_model(path, None, name, load_4bit=True)`."),
			"load_in_8bit":           say("Add `--load-8bit` to llava.serve.cli or model_worker."),
			"multi_gpu":              say("Make several GPUs visible (`CUDA_VISIBLE_DEVICES=0,1`). It spreads the model over them automatically."),
		},
		Useless: map[string]func(*ledger.Case) string{"load_in_8bit": inFourBits},
		Like:    []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			tuning.Resized("llava"), loadOf("llava", "The 7B model takes 14 GB in 16 bit plus the vision encoder, and under 8 GB with `--load-4bit`. 13B takes 26 GB.", "", "LLaVA/README.md", "load_in_4bit", "load_in_8bit", "multi_gpu"),
			{
				ID: "llava/train", Kinds: cardFull, If: trainsAlone, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: phaseFigures,
				Headline: "ran out of GPU memory in a training step",
				Means:    "The scripts are made for 8 GPUs with 80 GB each and 16 samples on each GPU. An image adds 576 tokens to the text (2,880 with `anyres`). Full finetuning takes 16 bytes per parameter, split over the GPUs only with ZeRO-3.",
				Cures:    fixes("lower_batch_size", "use_lora", "offload_optimizer"), Sources: []string{"LLaVA/README.md"},
			},
			useOf("llava", "while answering", "The 7B weights take 14 GB in 16 bit. An image adds 576 tokens (up to 2,880 in 1.6), and every image and turn of a conversation stays in the KV cache.", "", "LLaVA/README.md", "load_in_4bit", "load_in_8bit", "multi_gpu"),
		},
	}
	// InternVL is OpenGVLab's, and its code on Hugging Face.
	InternVL = program.Program{
		Name: "internvl", Shown: "InternVL", Work: "text-training", Edits: "code", Language: "python",
		Sources: program.Sources{"InternVL/internvl_chat/shell/internvl2.0/2nd_finetune/internvl2_8b_internlm2_7b_dynamic_res_2nd_finetune_lora.sh": "BATCH_SIZE", "InternVL/internvl_chat/shell/internvl2.5/2nd_finetune/internvl2_5_8b_dynamic_res_2nd_finetune_lora.sh": "--max_dynamic_patch --max_seq_length --grad_checkpoint --use_llm_lora --freeze_llm --freeze_backbone --deepspeed PER_DEVICE_BATCH_SIZE", "InternVL/README.md": "max_num load_image"},
		Proofs:  []string{"internvl_chat/", "internvl/train/", "internvl/model/", "modeling_internvl_chat.py", "modeling_intern_vit.py"},
		Steps: spelling{
			"lower_batch_size":       fewerPictures,
			"lower_resolution":       inTiles,
			"lower_context":          say("Use `--max_seq_length 4096` (8192 in the 2.5 scripts), and lower `--max_dynamic_patch` to match. Longer samples are cut."),
			"gradient_checkpointing": say("Use `--grad_checkpoint True`, as in its scripts."),
			"use_lora":               say("Use the `_finetune_lora.sh` script: `--use_llm_lora 16 --freeze_llm True --freeze_backbone True`."),
			"shard_training":         say("Use `--deepspeed zero_stage3_config.json` instead of zero_stage1_config.json, which splits only the optimizer."),
			"load_in_8bit":           step.Paste("python", "model = AutoModel.from_pretrained(path, torch_dtype=torch.bfloat16, load_in_8bit=True, trust_remote_code=True).eval()"),
			"multi_gpu":              step.Paste("python", "model = AutoModel.from_pretrained(path, torch_dtype=torch.bfloat16, device_map=\"auto\", trust_remote_code=True).eval()   # the README's split_model() keeps vision on card 0"),
		},
		Titles: map[string]string{"lower_resolution": "Use fewer tiles per image"},
		Like:   []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			loadOf("internvl", "The weights take 2 GB per billion parameters in 16 bit (8B: 16 GB), half of that with `load_in_8bit`.", "", "InternVL/README.md", "load_in_8bit", "multi_gpu", "use_smaller_model"),
			{
				ID: "internvl/train", Kinds: cardFull, If: trainsAlone, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: phaseFigures,
				Headline: "ran out of GPU memory in a training step",
				Means:    "Each image is cut into up to `max_dynamic_patch` tiles of 448 x 448 (6 in the scripts), 256 tokens each. All tiles of a batch go through the vision encoder at once. ZeRO-1, the scripts' default, keeps all weights and gradients on each GPU.",
				Not:      "More GPUs with ZeRO-1: each holds all weights and gradients.",
				Cures:    fixes("lower_resolution", "lower_batch_size", "shard_training"), Sources: []string{"InternVL/internvl_chat/shell/internvl2.5/2nd_finetune/internvl2_5_8b_dynamic_res_2nd_finetune_lora.sh"},
			},
			useOf("internvl", "while reading images", "By default each image is cut into up to 12 tiles of 448 x 448 plus an overview, 256 tokens each. Every video frame counts as an image. All tiles go through the vision encoder at once.", "", "InternVL/README.md", "lower_resolution", "load_in_8bit", "multi_gpu"),
		},
	}
	// QwenVL are the scripts and utilities of Qwen2-VL to Qwen3-VL.
	QwenVL = program.Program{
		Name: "qwen-vl", Shown: "Qwen-VL", Work: "text-training", Edits: "code", Language: "python",
		Sources: program.Sources{
			"Qwen3-VL/qwen-vl-finetune/qwenvl/train/argument.py":         "--lora_r",
			"Qwen3-VL/qwen-vl-finetune/README.md":                        "--per_device_train_batch_size --gradient_accumulation_steps --max_pixels --video_max_frames --video_max_pixels --model_max_length --lora_enable --deepspeed --tune_mm_llm --tune_mm_vision --data_flatten",
			"Qwen3-VL/qwen-vl-utils/src/qwen_vl_utils/vision_process.py": "max_pixels FPS_MAX_FRAMES total_pixels",
		},
		Proofs: []string{"qwen_vl_utils/", "qwenvl/train/", "qwenvl/data/", "qwen-vl-finetune/", "Qwen2.5-VL/", "Qwen3-VL/", "Qwen2-VL/"},
		Beside: map[string][]string{"Qwen2.5-VL/": repoOfQwenVL, "Qwen3-VL/": repoOfQwenVL, "Qwen2-VL/": repoOfQwenVL}, // folders of models are called so, too
		Steps: spelling{
			"lower_batch_size":    say("Use `--per_device_train_batch_size 1 --gradient_accumulation_steps 16`. With `--data_flatten True` a batch is one long sequence."),
			"lower_resolution":    fewerPixels,
			"lower_context":       say("Use `--model_max_length 4096`."),
			"use_lora":            say("Use `--lora_enable True --lora_r 8`. Or freeze the vision part: `--tune_mm_vision False`."),
			"shard_training":      say("Use `--deepspeed ./scripts/zero3.json` over all GPUs (not for the MoE models of Qwen3-VL: ZeRO-2)."),
			"offload_optimizer":   say("Use `--deepspeed ./scripts/zero3_offload.json`."),
			"efficient_attention": step.Paste("python", "model = AutoModelForImageTextToText.from_pretrained(name, dtype=\"bfloat16\", attn_implementation=\"flash_attention_2\", device_map=\"auto\")   # pip install flash-attn"),
			"half_precision":      step.Paste("python", "model = AutoModelForImageTextToText.from_pretrained(name, dtype=\"bfloat16\", device_map=\"auto\")   # torch_dtype= in older Transformers, where 32 bit is the default"),
		},
		Titles: map[string]string{"lower_resolution": "Lower `max_pixels`, use fewer frames"},
		Like:   []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			loadOf("qwen-vl", "The weights take 2 GB per billion parameters in 16 bit. Older Transformers load them in 32 bit, twice that, unless you pass a dtype.", "", "Qwen3-VL/README.md", "half_precision", "use_smaller_model", "load_in_4bit"),
			{
				ID: "qwen-vl/train", Kinds: cardFull, If: trainsAlone, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: phaseFigures,
				Headline: "ran out of GPU memory in a training step",
				Means:    "Memory grows with the pixels of your images: one token per 28 x 28 pixels (32 x 32 in Qwen3-VL). Attention in the vision encoder grows even faster. `--max_pixels` limits that. Full finetuning also takes 16 bytes per parameter.",
				Cures:    fixes("lower_resolution", "use_lora", "lower_batch_size"), Sources: []string{"Qwen3-VL/qwen-vl-finetune/README.md"},
			},
			useOf("qwen-vl", "while reading images", "Memory grows with the pixels of your images: one token per 28 x 28 pixels (32 x 32 in Qwen3-VL), up to 16,384 per image by default. Without flash attention, the vision encoder's attention grows with the square of that.",
				"", "Qwen3-VL/qwen-vl-utils/src/qwen_vl_utils/vision_process.py", "lower_resolution", "efficient_attention", "half_precision"),
		},
	}
	// MiniGPT4 is Vision-CAIR's.
	MiniGPT4 = program.Program{
		Name: "minigpt-4", Shown: "MiniGPT-4", Work: "text-inference", Edits: "flags", Language: "python",
		Sources: program.Sources{"MiniGPT-4/README.md": "low_resource", "MiniGPT-4/train_configs/minigpt4_stage2_finetune.yaml": "batch_size cc_sbu_align"},
		Proofs:  []string{"minigpt4/", "MiniGPT-4/"},
		Steps: spelling{
			"load_in_8bit":      config("# eval_configs/minigpt4_eval.yaml\nmodel:\n  low_resource: True   # 8 bit: 7B 11.5 GB, 13B 23 GB"),
			"lower_batch_size":  config("# train_configs/...yaml\ndatasets:\n  cc_sbu_align:   # each data set of the file\n    batch_size: 4   # 12 in stage 2"),
			"lower_context":     say("In its page, start a new chat and leave beam search at 1. Images and turns stay in the prompt."),
			"use_smaller_model": say("Use Vicuna 7B instead of 13B: 11.5 GB instead of 23."),
		},
		Cards: []cause.Card{
			loadOf("minigpt-4", "In 8 bit it takes 11.5 GB with the 7B model and 23 GB with 13B, its README says. With `low_resource: False` the language model takes twice as much.", "", "MiniGPT-4/README.md", "load_in_8bit", "use_smaller_model"),
			trainOf("minigpt-4", "The language model and vision encoder are frozen but still on the GPU, in 16 bit: 14 GB for 7B, 26 GB for 13B. `batch_size` x the length of the answers comes on top.", "", "MiniGPT-4/train_configs/minigpt4_stage2_finetune.yaml", "lower_batch_size", "use_smaller_model"),
			titled("lower_context", "Start a new chat", "it forgets earlier turns", useOf("minigpt-4", "while answering", "In 8 bit it takes 11.5 GB with 7B and 23 GB with 13B. Beams multiply the KV cache, and images and turns of a chat stay in it.", "A smaller image: all images are scaled to the same size.", "MiniGPT-4/README.md", "load_in_8bit", "lower_context", "use_smaller_model")),
		},
	}
	// LAVIS is Salesforce's, with BLIP-2 and InstructBLIP.
	LAVIS = program.Program{
		Name: "lavis", Shown: "LAVIS", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"LAVIS/lavis/projects/blip2/train/caption_coco_ft.yaml": "batch_size_train batch_size_eval amp", "LAVIS/lavis/configs/models/blip2/blip2_caption_opt2.7b.yaml": "use_grad_checkpoint vit_precision image_size"},
		Proofs:  []string{"lavis/"},
		Steps: spelling{
			"lower_batch_size":       config("# the run file below lavis/projects\nrun:\n  batch_size_train: 4\n  batch_size_eval: 4\n  accum_grad_iters: 4"),
			"gradient_checkpointing": config("model:\n  use_grad_checkpoint: True"),
			"half_precision":         step.Paste("python", "model, vis, txt = load_model_and_preprocess(\"blip2_opt\", \"pretrain_opt2.7b\", is_eval=True, device=\"cpu\")   # your names\nmodel = model.half().to(\"cuda\")"),
			"lower_resolution":       config("model:\n  image_size: 224   # 364 in the caption files\n  vit_precision: \"fp16\""),
			"use_smaller_model":      say("Use `pretrain_opt2.7b` or flant5xl instead of 6.7b, flant5xxl or vicuna13b."),
			"mixed_precision":        config("run:\n  amp: True"),
			"lower_num_workers":      config("run:\n  num_workers: 1"),
		},
		Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{
			loadOf("lavis", "LAVIS loads in 32 bit by default: BLIP-2 with OPT 2.7B takes about 15 GB, larger language models more.", "", "LAVIS/lavis/configs/models/blip2/blip2_caption_opt2.7b.yaml", "half_precision", "use_smaller_model"),
			trainOf("lavis", "The run files have batch sizes for 16 GPUs with 40 GB each (16 to 100 per GPU). Caption finetuning also trains the vision encoder, at 364 x 364 in 32 bit.", "", "LAVIS/lavis/projects/blip2/train/caption_coco_ft.yaml", "lower_batch_size", "gradient_checkpointing", "lower_resolution"),
			useOf("lavis", "while reading images", "The model loads in 32 bit by default. `generate` uses five beams by default, which takes five times the KV cache per sample.", "", "LAVIS/lavis/configs/models/blip2/blip2_caption_opt2.7b.yaml", "half_precision", "lower_batch_size", "use_smaller_model"),
		},
	}
)

// inFourBits: fewer bits than 8 are on.
func inFourBits(c *ledger.Case) string {
	if _, ok := cures.Typed(c, "--load-4bit"); ok {
		return "You load it in 4 bit already."
	}
	return ""
}

// llavaAdapters are LoRA, or fewer bits below one.
func llavaAdapters(c *ledger.Case) []step.Step {
	if _, ok := cures.Typed(c, "--lora_enable"); ok {
		return []step.Step{{Kind: "text", Text: "You train a LoRA already. Add `--bits 4` for QLoRA, with zero2.json instead of zero3.json."}}
	}
	return []step.Step{{Kind: "text", Text: "Use scripts/v1_5/finetune_lora.sh. For QLoRA add `--bits 4` (with zero2.json)."}}
}

// inTiles are fewer tiles, in the training script or in code.
var inTiles = kit.ByPhase(step.Step{Kind: "text", Text: "Use `--max_dynamic_patch 4` (6 in the scripts), and fewer images or frames per sample."}, step.Step{Kind: "python", Text: "pixel_values = load_image(\"image.jpg\", max_num=4).to(torch.bfloat16).cuda()   # 12 by default; video: max_num=1, fewer frames"})

// fewerPictures are smaller batches of InternVL.
var fewerPictures = kit.ByPhase(step.Step{Kind: "text", Text: "Put `PER_DEVICE_BATCH_SIZE=1` before the script (default 4). It accumulates up to `BATCH_SIZE`."}, step.Step{Kind: "text", Text: "Ask one question at a time (`model.chat`, not `batch_chat`), with fewer images or frames."})

// fewerPixels is the same for Qwen-VL.
var fewerPixels = kit.ByPhase(step.Step{Kind: "text", Text: "Use `--max_pixels 401408` (512 tokens of 28 x 28), `--video_max_frames 8 --video_max_pixels 802816`."}, step.Step{Kind: "python", Text: "processor = AutoProcessor.from_pretrained(name, max_pixels=1280 * 28 * 28)   # 1,280 tokens an image; video: \"fps\": 1, \"max_pixels\": 360 * 420 in its entry"})
