package ranks

import (
	"maps"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Unsharded is figures with what it says that the Trainer itself moved the model
// to the card: it leaves that to DeepSpeed and FSDP where they are on
// (transformers/trainer.py, place_model_on_device, since 4.0).
func Unsharded(figures func(*ledger.Case) map[string]string) func(*ledger.Case) map[string]string {
	return func(c *ledger.Case) map[string]string {
		out := maps.Clone(figures(c))
		if out["unsharded"] = ""; slices.ContainsFunc(ledger.Trace(c), movesForTrainer) && !slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool { return f.Function == "_inner_training_loop" }) {
			out["unsharded"] = "The Trainer moved the model itself (`_move_model_to_device`), which it does only without DeepSpeed and FSDP: so neither reached its `TrainingArguments`, whatever started the job."
		}
		return out
	}
}

// movesForTrainer: a frame that is on its way there. The stacks of two ranks may be
// mixed, so that the line of a frame is another's.
func movesForTrainer(f fact.Code) bool {
	return strings.HasSuffix(strings.ReplaceAll(f.File, `\`, "/"), "transformers/trainer.py") && (f.Function == "_move_model_to_device" || strings.Contains(f.Source, "_move_model_to_device("))
}
