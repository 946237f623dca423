// Package wording keeps pages from saying a thing twice.
package wording

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Whole is a cause's reason with what the failing line computes before it and what its
// bytes are behind it, where it says neither.
func Whole(c *ledger.Case, why, said string) string {
	if line := operation.Told(c, said); line != "" && !slices.Contains([]string{cause.DeviceImbalance, cause.BudgetMisconfigured, cause.SoftwareBug, cause.ModelTooLarge}, why) {
		said = line + " " + said
	}
	return said + Size(c, said)
}

// LineDecides: what the failing line computes says what was too large, and so what
// comes first.
func LineDecides(c *ledger.Case) bool { return operation.Decides(c) }

// Size is what the bytes that were asked for are, with a blank before it, to
// follow what is said; "" where that is not known, or said already. The number is written as
// the page writes it elsewhere.
func Size(c *ledger.Case, said string) string {
	if c.Explained == nil {
		if p, ok := clues.FailingTensor(c); ok {
			return fmt.Sprintf(" %s is the size of the %s in %s (%s bytes).", c.F().Requested, p.What, ledger.Named(c).Model.ID, p.Arithmetic)
		}
		return ""
	}
	sentence := c.Explained.Sentence
	if strings.Contains(said, sentence) || c.Root(fact.GGMLPool) && strings.Contains(said, "pool") || reckoned(c, said) {
		return ""
	}
	if rest, exact := strings.CutPrefix(sentence, ledger.Thousands(c.Asked.Bytes)+" bytes is "); exact && c.Asked.Bytes > 0 {
		sentence = c.Asked.String() + " is " + rest
	}
	return " " + sentence
}

// reckoned: what is said tells already what a token of that cache takes.
func reckoned(c *ledger.Case, said string) bool {
	x := c.Explained
	return len(x.Terms) > 1 && x.Terms[0].Name == "tokens" && strings.Contains(x.What, "the KV cache") && strings.Contains(said, " per token") && strings.Contains(said, ledger.Thousands(x.Terms[0].Value)+" tokens")
}

// Idle reports that beside the fixes that a card has worded a general one would
// say nothing new: a restart of what has ended by itself, a look at the card or
// half the batch once more, or weights in few bits for a network that no library
// loads so.
func Idle(c *ledger.Case, id string, worded map[string][]step.Step) bool {
	switch id {
	case "restart_session":
		return c.Signal("notebook") == nil && (c.Reader.Writes("python") || len(c.F().OtherProcesses) > 0)
	case "empty_cache":
		return c.Training()
	case "load_in_4bit", "load_in_8bit":
		return !c.In("transformers")
	case "close_other_apps":
		return worded["kill_stale_process"] != nil
	case "lower_batch_size":
		for other, steps := range worded {
			for _, s := range steps {
				if other != id && (strings.Contains(s.Text, "half the batch") || strings.Contains(s.Text, "alve the batch")) {
					return true
				}
			}
		}
	}
	return false
}

// everyday is what cards call fixes where they speak against them.
var everyday = map[string]string{
	"a smaller batch": "lower_batch_size", "a smaller batch size": "lower_batch_size", "a lower batch size": "lower_batch_size", "smaller batches": "lower_batch_size", "fewer samples": "lower_batch_size",
	"a shorter context": "lower_context", "a shorter prompt": "lower_context",
	"a smaller image": "lower_resolution", "a lower resolution": "lower_resolution", "smaller images": "lower_resolution",
	"fewer layers on the card": "fewer_gpu_layers", "fewer layers on the gpu": "fewer_gpu_layers", "fewer gpu layers": "fewer_gpu_layers",
	"a smaller quantisation": "use_lower_quant", "a smaller model": "use_smaller_model",
	"closing programs": "close_other_apps", "fewer workers": "lower_num_workers", "closing other programs": "close_other_apps", "ending other programs": "close_other_apps",
	"restarting": "restart_session", "gradient checkpointing": "gradient_checkpointing",
	"swap": "add_swap", "more swap": "add_swap", "more ram or swap": "add_swap",
}

// CalledFutile reports that an item of a card's sentence is the fix, and no way
// to use it ("a smaller batch alone").
func CalledFutile(not, fix string) bool {
	for sentence := range strings.SplitSeq(strings.ToLower(not), ". ") {
		items, _, _ := strings.Cut(sentence, ":")
		for item := range strings.SplitSeq(items, ",") {
			if everyday[strings.TrimSpace(item)] == fix {
				return true
			}
		}
	}
	return false
}
