package torch

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Frames reads functions of tracebacks that show what PyTorch programs
// were doing, whatever the program: the name of a script says less than the
// call that failed in it (train.py loads a model first).
var Frames = text.Parser{
	Name:    "torch-frames",
	Context: text.StageTexts(torchStages),
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		for _, h := range hits {
			if s := torchStages[h.Word]; !l.Aside(h.At) {
				f.Stages = append(f.Stages, fact.Stage{Phase: s.Phase, Line: l.Line(h.At), Frame: s.Frame, Inner: s.Inner})
			}
		}
	},
}

var torchStages = slices.Concat(
	text.Frames("training", 5, "torch/autograd/__init__.py", `torch\autograd\__init__.py`, "in optimizer_step", "torch/optim/", `torch\optim\`, "initialize_optimizer_states"),
	text.Frames("kv_cache", 5, "create_state_tensors"),
	text.Frames("load", 4, "_load_pretrained_model", "load_state_dict", "load_checkpoint_in_model", "set_module_tensor_to_device", "caching_allocator_warmup", "load_torch_file", "in make_quant", "in load_quant", "load_autosplit"),
	text.Frames("inference", 3, "generation/utils.py", "in _apply_top_k_top_p", "in _apply_top_p_top_k", "in _apply_penalties", "in _apply_min_p", `generation\utils.py`, "common_ksampler", "in process_images", "decode_latent_batch", "sample_hunyuan", "in generate_with_callback"),
	text.Frames("load", 4, "get_storage_from_record", "torch.empty((out_features, in_features)"),
	text.Frames("load", 2, "self._apply(convert)", "in _apply", "self._apply(lambda t: t.", "in from_pretrained", "in load_model_wrapper", "in build_network", "in build_detector", "in build_backbone", "in build_model", "module.to(device, dtype)", "return t.to("),
	text.Frames("load", 5, "in patch_weight_to_device", "in load_models_gpu"),
	text.Frames("load", 5, "could not be loaded: CUDA out of memory", "could not be loaded: [enforce fail", "Failed to load model: CUDA out of memory", "Error loading model: CUDA out of memory"),
	text.Frames("inference", 1, "diffusers/pipelines/", `diffusers\pipelines\`), text.Steps("load", "Initializing Quantized", "Failed to load safetensors using method"), text.Steps("inference", "[info] Done.", "Injecting quantized module"), // Nunchaku's
	text.Frames("load", 2, "in instantiate_from_config", "instantiate_from_config(", "Stable diffusion model failed to load"),
	text.Frames("inference", 3, "in prompt_step", "in generate_step", "in stream_generate"), // mlx-lm and LM Studio's engine
	text.Frames("training", 3, "in training_step", "in _inner_training_loop", "in compute_loss", "in train_one_epoch", "in train_epoch", "in train_model", "in do_train"),
)
