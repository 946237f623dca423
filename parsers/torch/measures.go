package torch

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Measures reads which measures against too little memory a training run has
// taken already, as its flags, its printed configuration and its frames show.
var Measures = text.Parser{Name: "measures"}.Reading(nil, measureWords, nil)

// measureWords are the words under which programs show a measure; most spell
// them alike.
var measureWords = slices.Concat(
	measures(fact.Checkpoints, "gradient_checkpointing", "gradient-checkpointing", "Gradient Checkpointing", "activation_checkpointing", "activation-checkpointing", "checkpoint_activations", "checkpoint-activations", "recompute_activations"),
	measures(fact.MixedPrecision, "mixed_precision", "mixed-precision", "Mixed Precision", "use_amp", "use-amp", "--amp", "--fp16", "--bf16", "fp16=True", "bf16=True", "fp16: True", "bf16: True", "'fp16': True", "'bf16': True"),
	measures(fact.Adapters, "use_lora", "use-lora", "use_peft", "use-peft"),
	text.OnAny(text.Signals(fact.Checkpoints), "torch/utils/checkpoint.py", `torch\utils\checkpoint.py`),
	text.OnAny(text.Signals(fact.MixedPrecision), "Automatic Mixed Precision (AMP)", "torch/amp/autocast_mode.py", "torch/cuda/amp/autocast_mode.py", "scaler.scale(", "amp/grad_scaler.py"),
	text.OnAny(text.Signals(fact.SmallOptimizer), "adamw_8bit", "adamw_bnb_8bit", "paged_adamw_8bit", "AdamW8bit", "bitsandbytes/optim", `bitsandbytes\optim`),
	text.OnAny(text.Signals(fact.Sharded), "FULL_SHARD", "full-shard", "distributed/fsdp/", "runtime/zero/stage3.py", "zero_stage=3", "zero_stage 3", "zero3"),
	text.OnAny(text.Signals(fact.Adapters), "trainable%: 0.", "trainable%: 1.", "trainable%: 2.", "trainable%: 3.", "peft/peft_model.py", "peft/tuners/"),
	text.OnAny(text.Signals(fact.Trained), "trainable params: ", "Trainable parameters = ", "Number of trainable parameters = "),
)

func measures(id string, words ...string) []text.Wording {
	return text.OnAny(func(m text.Message) int {
		if switchedOn(m) {
			m.Log.Signal(m.Facts, id, m.At)
		}
		return m.End
	}, words...)
}

// valuePattern is what stands behind an option that is on or off.
var valuePattern = text.NewPattern(`^['"]?[\])]?(?:[=:,]{0,2}['"]?(?<value>true|false|1(?!\d)|0(?!\d)|yes|no|none|null|fp16|bf16|fp32|16(?!\d)))`)

// switchedOn reports that a measure's name is followed by a value that turns it
// on, or is a bare flag of a command.
func switchedOn(m text.Message) bool {
	value := m.Log.Find(valuePattern, m.End, m.End+12).Lower("value")
	if value != "" {
		return slices.Contains([]string{"true", "1", "yes", "fp16", "bf16", "16"}, value)
	}
	s := m.Log.Squeezed()
	line := strings.TrimSpace(m.Log.LineText(m.At))
	return strings.HasPrefix(s[max(m.At-2, 0):], "--") && (strings.Contains(line, ".py") || strings.HasPrefix(line, "--")) ||
		strings.HasSuffix(s[m.At:m.End], "true")
}
