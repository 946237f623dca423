package addon

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const (
	trainsWhole = "Training keeps the model, the optimizer state and each layer's activations on the card. It needs far more than making an image."
	noSampler   = "`--lowvram`, VAE tiles, fewer steps: they are for making images, not for training."
)

// trainers are nodes that train inside ComfyUI.
var trainers = []Pack{
	{
		Folder: "comfyuifluxtrainer", Types: []string{"FluxTrain", "InitFluxLoRATraining", "InitFluxTraining", "InitSD3LoRATraining", "InitSDXLLoRATraining"}, Through: true, Part: "FluxTrainer, which trains",
		Means: trainsWhole + " The Init node decides what stays where.", Not: noSampler,
		Knobs: []Knob{
			{"cpu_offload", "Swap blocks, cache the text encoders", "In the Init node: blocks_to_swap 18 (up to 35 for Flux, 36 for SD 3.5 Large, 22 for Medium), cache_text_encoder_outputs and cache_latents disk, fp8_base on, highvram off, gradient_checkpointing enabled.", "Slower, and RAM."},
			{"lower_batch_size", "Train with batch 1 at 512 pixels", "TrainDatasetAdd: batch_size 1 (2 by default); width, height and max_bucket_reso 512, or 384 if they are 512 already.", "Slower, or less detail."},
			{"half_precision", "Use an optimizer that needs less memory", "Optimizer Config: adamw8bit. For full training (Init Flux Training): Optimizer Config Adafactor.", "Slight."},
		},
	},
	{
		Folder: "comfyextras", Types: []string{"TrainLora"}, Part: "Train LoRA, which trains",
		Means: trainsWhole, Not: noSampler,
		Knobs: []Knob{
			{"cpu_offload", "Turn on gradient_checkpointing and offloading", "In the Train LoRA node: gradient_checkpointing on; also bypass_mode and offloading, if your version has them.", "Slower, and RAM."},
			{"lower_batch_size", "Set batch_size 1, use smaller images", "In Train LoRA: batch_size 1, and grad_accumulation_steps set to the old batch size. Resize the pictures to 512 or 768 before VAE Encode.", "Slower, or less detail."},
			{"use_lower_quant", "Train on an fp8 model, with a lower rank", "Load an fp8 file with bypass_mode on. Set rank 4, training_dtype and lora_dtype bf16.", "Slight loss of quality."},
		},
	},
}

// Unsaid is what ComfyUI's log does not say: which node failed, and how much was
// asked for.
func Unsaid(c *ledger.Case) map[string]string {
	out := map[string]string{"find": "Find the node that failed", "report": "In the error report it is named after Node Type.", "silent": "The log does not say how much memory was requested or free."}
	if c.Kind(fact.TorchAsync) {
		out["silent"] = "The message does not say how much memory was requested or free."
	}
	if x, ok := c.Fact("comfy_node"); ok {
		out["unnamed"], out["find"], out["report"] = "the node is "+x.Text, "Find "+x.Text+" in the workflow", ""
	} else if !c.Near(Nodes.typed...) && Nodes.Of(c) == nil {
		out["unnamed"] = "the log does not name the node"
	}
	return out
}

// Ended is who ended ComfyUI, as far as the log shows it.
func Ended(c *ledger.Case) map[string]string {
	if c.Near("earlyoom") {
		return map[string]string{"ended": "The earlyoom daemon killed it: free RAM and free swap were both below its limits (options `-m` and `-s`, 10 % by default)."}
	}
	if c.Kind(fact.KernelKill, fact.ContainerKill) {
		return map[string]string{"ended": "The system killed ComfyUI because RAM, or the limit of its container, was full."}
	}
	return map[string]string{"ended": "ComfyUI stopped without an error message of its own. That usually means the system killed it because RAM was full (on Windows RAM plus page file; in a container or VM its limit)."}
}
