package local

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// TPUBuffer is for an array that a TPU had no room for. A compiled program is
// "reserved" at the bottom of memory; an array is "allocated".
var TPUBuffer = cause.Card{
	ID: "jax/tpu-buffer", Kinds: []fact.Kind{fact.TPUReserve}, If: func(c *ledger.Case) bool { return c.Contains("attempting to allocate") },
	Among: []string{cause.BatchTooLarge, cause.RetainedMemory, cause.ModelTooLarge, cause.Fragmentation, cause.OversizedAllocation, cause.TrainingStateTooLarge, cause.Unknown}, Figures: fullChip,
	Headline: "had no room for an array on the TPU: {asked} did not fit",
	Means:    "The array was to lie on one chip: parameters, state, or the result of a step.[[ {full}]] Arrays from earlier cells or steps stay as long as a name refers to them: parameters of a first run, a cell's output (`_`), the old state. If it fails in a fresh process too, the arrays are too large for a chip (8 GB per core on TPU v2, 16 on v3).",
	Cures: []cause.Cure{
		{Fix: "restart_session", If: when.Not((*ledger.Case).Training), Title: "Restart the runtime, and load the model once", Told: "Do not just run the cell again. To keep the session: `del params` and what you made from it, then see what is left:", Kind: "python", Text: "for x in jax.live_arrays(): print(x.shape, x.dtype, x.nbytes >> 20, \"MiB\")   # x.delete() frees one", Cost: "What the session holds"},
		{Fix: "detach_accumulated", If: (*ledger.Case).Training, Title: "Let the new state replace the old", Told: "Donate the old state to the step, and keep only numbers from the result:", Kind: "python", Text: "step = jax.jit(step, donate_argnums=(0, 1))   # the positions of params and opt_state\nhistory.append(float(loss))", Cost: "The old arrays are gone afterwards"},
		{Fix: "shard_training", Title: "If one chip is too small: shard the arrays", Told: "`jax.device_put(x, jax.sharding.NamedSharding(mesh, spec))` on NumPy arrays, so that no chip gets all of it first. Without a sharding everything goes to chip 0.", Cost: "Some rewriting"},
		{Fix: "half_precision", Title: "Keep the parameters in bfloat16", Told: "They take half of float32. Load them in that type.", Cost: "Digits, in training"},
	},
	Sources: []string{"https://github.com/google-deepmind/gemma/issues/85", "https://docs.jax.dev/en/latest/_autosummary/jax.live_arrays.html", "https://docs.jax.dev/en/latest/faq.html", "https://docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html"},
}

// fullChip says how little was left.
func fullChip(c *ledger.Case) map[string]string {
	out := Reserved(c)
	out["full"] = ""
	if f := c.F(); f.Free != nil && f.Free.Bytes < units.GiB {
		out["full"] = "Only " + units.Amount(f.Free.Bytes) + " was free, so the chip is full."
	}
	return out
}

// Reserved are what the runtime's table says of the chip.
func Reserved(c *ledger.Case) map[string]string {
	if f := c.F(); f.Allocated != nil && f.Total != nil {
		return map[string]string{"held": units.Amount(f.Allocated.Bytes), "all": units.Amount(f.Total.Bytes)}
	}
	return map[string]string{"held": "", "all": ""}
}

// TensorFlowTPU is for a program that TensorFlow compiled for a TPU.
var TensorFlowTPU = cause.Card{
	ID: "tensorflow/tpu", Kinds: []fact.Kind{fact.TPUCompile}, Figures: TPUFigures,
	Cause: cause.BatchTooLarge, Weight: cause.Likely, Headline: "does not fit the TPU: {asked} planned, {total} on a core",
	Means: "The compiler adds up what the program needs on one core and refuses before anything runs. Activations are usually most of it; they grow with the batch per core (the global batch divided by the cores).[[ Here {program} are temporary arrays such as activations, and {arguments} are arguments (parameters, state, inputs).]][[ {largest}]]",
	Not:   "Restarting, or GPU settings such as memory growth.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower the batch size per core", Told: "Halve the global batch (`train_batch_size` or `--batch_size`), or use twice the cores. Multiples of 8 per core fit the TPU best.", Cost: "Slower per sample"},
		{Fix: "mixed_precision", If: when.Not(inSixteen), Title: "Use bfloat16", Told: "The script's own option (`use_bfloat16`); Keras in TensorFlow 2: `tf.keras.mixed_precision.set_global_policy(\"mixed_bfloat16\")`. It halves float32 activations.", Cost: "None as a rule"},
		{Fix: "lower_resolution", If: when.Not(steps), Title: "Use smaller images or shorter sequences", Told: "Half the width and height is a quarter of the activations.", Cost: "Detail"},
		{Fix: "lower_context", If: steps, Title: "Use shorter sequences, or a narrower model", Told: "The sides of the largest buffer are usually samples, steps and width. Lower the longest length of the data (`max_length`, `max_seq_length`), or the hidden size.", Cost: "Context, or accuracy"},
		{Fix: "bigger_gpu", If: inSixteen, Title: "Use a TPU with more memory per core", Told: "A core has 8 GB on TPU v2 and 16 GB on v3.", Cost: "Money"},
	},
	Sources: []string{"https://www.tensorflow.org/guide/mixed_precision", "https://cloud.google.com/tpu/docs/performance-guide"},
}

// inSixteen: the largest buffer that the compiler lists is in 16 bit already.
func inSixteen(c *ledger.Case) bool { return strings.HasPrefix(listed(c), "bf16[") }

// steps: the largest buffer has three sides, as sequences have; pictures have four.
func steps(c *ledger.Case) bool { return strings.Count(listed(c), ",") == 2 }

func listed(c *ledger.Case) string { shape, _ := c.Fact("xla_shape"); return shape.Text }

// TPUFigures are the shares of XLA's table, and what is too much.
func TPUFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"over": "", "program": "", "arguments": "", "unknown": "", "copy": "", "largest": ""}
	for _, name := range [...]string{"program", "arguments"} {
		if x, ok := c.Fact("tpu_" + name); ok && x.Size != nil {
			out[name] = units.Amount(x.Size.Bytes)
			if x.Size.Bytes == 0 {
				out[name] = "0 GiB"
			}
		}
	}
	if program, arguments := ledger.Sized(c, "tpu_program"), ledger.Sized(c, "tpu_arguments"); arguments > 0 && 4*program > 3*arguments && program <= arguments+arguments/10 {
		out["copy"] = "The program's temporary arrays take nearly as much (" + out["program"] + "): often a second copy of the parameters in another type."
	}
	if shape, ok := c.Fact("xla_shape"); ok && shape.Size != nil {
		out["largest"] = "The largest buffer in its list is `" + shape.Text + "`: " + units.Amount(shape.Size.Bytes) + "."
	}
	if out["arguments"] == "" {
		out["unknown"] = "The log does not say how much of it is parameters and how much activations."
	}
	if c.Shortfall.Has() && c.Shortfall.Bytes > 0 {
		out["over"] = c.Shortfall.String()
	}
	return out
}
