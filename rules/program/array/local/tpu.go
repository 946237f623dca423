package local

import (
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
