package calls

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// fullInStep: hardly anything was asked for, in a step that trains. By then the
// program has its pool, so what the step keeps is the first suspect.
func fullInStep(c *ledger.Case) bool { return Crumb(c) && c.Training() }

// crumbInStep is a pool that a step with gradients has filled.
var crumbInStep = cause.Card{
	ID: "jax/crumb-in-step", Kinds: []fact.Kind{fact.XLAAlloc}, If: fullInStep, Said: []string{"opt_state", "opt_update", "value_and_grad", "train_step", "update_step", "jax.grad("},
	Unsaid: []string{"bytes unified memory"},
	Cause:  cause.BatchTooLarge, Weight: cause.Strong, Headline: "filled the card in a training step: even {asked} was refused",
	Means: "{asked} is very little, so the pool was full. It failed in a step that computes gradients: these keep the values of every layer and every time step for the way back. So the function can run alone and fail under `grad`. If a much smaller case fails too, another process holds the card.",
	Cures: []cause.Cure{
		{Fix: "gradient_checkpointing", Title: "Compute values again instead of keeping them", Told: "Wrap the body of the loop, or each layer:", Kind: "python", Text: "body = jax.checkpoint(body)   # jax.remat in 2020; then jax.lax.scan(body, ...)", Cost: "about a third more time"},
		{Fix: "lower_batch_size", Title: "Use a smaller batch or problem", Told: "Halve the samples per step, the number of time steps, or the grid or length. Time steps and samples count once; both sides of a grid together count by the square.", Cost: "slower, or less detail"},
		{Fix: "kill_stale_process", Title: "See what else is on the card", Told: "JAX takes most of the card at its first operation, so a second JAX process or notebook finds little left.", Kind: "shell", Text: "nvidia-smi", Cost: "a look is free"},
	},
	Sources: []string{"https://docs.jax.dev/en/latest/gradient-checkpointing.html", "https://docs.jax.dev/en/latest/gpu_memory_allocation.html"},
}
