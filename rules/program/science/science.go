// Package science knows programs beside the models: of microscopy, structure
// and dynamics, renderers and games, tables and indexes, builds.
package science

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// steps are those of a program by fix.
type steps = map[string]func(*ledger.Case) []step.Step

// cures are the same remedies for whatever filled the card, and those of the
// system memory (RAM).
func cures(card, host []cause.Remedy) map[string][]cause.Remedy {
	out := map[string][]cause.Remedy{cause.HostMemory: host}
	for _, id := range []string{cause.BatchTooLarge, cause.ContextTooLong, cause.ModelTooLarge, cause.OversizedAllocation, cause.RetainedMemory, cause.Fragmentation, cause.Unknown} {
		out[id] = card
	}
	return out
}

// Cures that many programs share.
var (
	look = cause.Cure{Fix: "kill_stale_process", Title: "Check what else uses the GPU", Told: "Run `nvidia-smi` before your program starts. If GPU memory is already nearly full, end the listed processes that you no longer need.", Cost: "A look is free"}
)

// real: the log says how much was asked for, and that it is more than a crumb.
func real(c *ledger.Case) bool { return ledger.Requested(c) >= cause.Crumb }
