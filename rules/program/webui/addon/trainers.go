package addon

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const (
	trainsWhole = "Training keeps the model, the trained weights' optimizer and each layer's activations on the card; sampling alone needs far less."
	noSampler   = "`--lowvram`, VAE tiles, fewer steps: they act on sampling, and this trains."
)

// trainers are nodes that train inside ComfyUI.
var trainers = []Pack{
	{
		Folder: "comfyuifluxtrainer", Types: []string{"FluxTrain", "InitFluxLoRATraining", "InitFluxTraining", "InitSD3LoRATraining", "InitSDXLLoRATraining"}, Through: true, Part: "FluxTrainer, which trains",
		Means: trainsWhole + " The Init node sets what is kept where.", Not: noSampler,
		Knobs: []Knob{
			{"cpu_offload", "Swap blocks, cache the text encoders", "In the Init node of the training: blocks_to_swap 18 (Flux: up to 35; SD 3.5 Large: 36, Medium: 22), cache_text_encoder_outputs and cache_latents disk, fp8_base on, highvram off, gradient_checkpointing enabled.", "Slower, and RAM."},
			{"lower_batch_size", "Batch 1, at 512", "TrainDatasetAdd: batch_size 1 (2 by default), width, height and max_bucket_reso 512; 384 if they are at 512 already.", "Slower, or less detail."},
			{"half_precision", "Use an optimizer of fewer bits", "Optimizer Config: adamw8bit; or Optimizer Config Adafactor, with which the whole of Flux (Init Flux Training) is trained.", "Slight."},
		},
	},
	{
		Folder: "comfyextras", Types: []string{"TrainLora"}, Part: "Train LoRA, which trains",
		Means: trainsWhole, Not: noSampler,
		Knobs: []Knob{
			{"cpu_offload", "Turn on gradient_checkpointing and offloading", "Train LoRA: gradient_checkpointing on; bypass_mode and offloading on (versions that have them).", "Slower, and RAM."},
			{"lower_batch_size", "batch_size 1, smaller images", "Train LoRA: batch_size 1, and grad_accumulation_steps as many as the batch had. Resize the pictures to 512 or 768 before VAE Encode.", "Slower, or less detail."},
			{"use_lower_quant", "Train on an fp8 model, a lower rank", "An fp8 file in the loader with bypass_mode on; rank 4, training_dtype and lora_dtype bf16.", "Slight loss of quality."},
		},
	},
}

// Unsaid is what ComfyUI's log does not say: which node failed, and how much was
// asked for.
func Unsaid(c *ledger.Case) map[string]string {
	out := map[string]string{"silent": "The lines here do not say how much was asked for or free."}
	if c.Kind(fact.TorchAsync) {
		out["silent"] = "Its allocator (cudaMallocAsync) does not say how much was asked for or free."
	}
	if !c.Near(Nodes.typed...) && Nodes.Of(c) == nil {
		out["unnamed"] = "the log does not name the node"
	}
	return out
}

// Ended is who ended ComfyUI, as far as the log shows it.
func Ended(c *ledger.Case) map[string]string {
	if c.Near("earlyoom") {
		return map[string]string{"ended": "The earlyoom daemon ended it: available RAM and free swap were both below its limits (its options `-m` and `-s`, 10 % each unless set)."}
	}
	return map[string]string{"ended": "The log ends without an error of ComfyUI's own, as it does when the system ends a program for lack of RAM (on Windows RAM and page file): of the machine, the virtual machine or the container."}
}
