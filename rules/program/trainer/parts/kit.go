// Package parts has what the literals of trainers share: steps from the reader's own
// command, and cards on a step or an evaluation that did not fit.
package parts

import (
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Spelling is how a program does a fix.
type Spelling = map[string]func(*ledger.Case) []step.Step

// DataAside is what programs share that keep pictures, cases or results in
// system memory, where others would put layers of a model.
var DataAside = program.Program{
	Effects: map[string]func(*ledger.Case) *effect.Effect{"cpu_offload": NoSum, "lower_context": NoSum},
	Checks:  map[string]string{"cpu_offload": "`nvidia-smi` while it runs: the peak is lower by about the size of what was moved.", "lower_context": StepChecked},
}

const StepChecked = "The longest sample runs through; `nvidia-smi` then shows about 1 GiB of the card free."

// NoSum: nothing can be computed from the message.
func NoSum(*ledger.Case) *effect.Effect { return nil }

// Vision is what all trainers for pictures and volumes share: models are small,
// so that the work of a step is what fills a card.
var Vision = program.Program{
	Remedies: map[string][]cause.Remedy{
		cause.Fragmentation:         InPieces,
		cause.BatchTooLarge:         VisionWork,
		cause.TrainingStateTooLarge: VisionWork,
		cause.ModelTooLarge: {
			{Fix: "lower_batch_size", Fit: cause.Cures},
			{Fix: "lower_resolution", Fit: cause.Cures},
			{Fix: "close_other_apps", Fit: cause.Helps},
			{Fix: "use_smaller_model", Fit: cause.MayHelp},
			{Fix: "mixed_precision", Fit: cause.MayHelp, If: (*ledger.Case).Training},
		},
		cause.OversizedAllocation: {
			{Fix: "lower_resolution", Fit: cause.Cures},
			{Fix: "lower_batch_size", Fit: cause.Helps},
			{Fix: "fix_shape", Fit: cause.MayHelp},
		},
		cause.Unknown: {
			{Fix: "kill_stale_process", Fit: cause.Cures, If: when.Root(fact.CUDAError)},
			{Fix: "lower_batch_size", Fit: cause.Helps},
			{Fix: "lower_resolution", Fit: cause.Helps},
			{Fix: "restart_session", Fit: cause.MayHelp},
			{Fix: "mixed_precision", Fit: cause.MayHelp, If: (*ledger.Case).Training},
		},
	},
	Titles: map[string]string{"use_smaller_model": "Use a smaller backbone", "lower_resolution": "Use smaller images"},
	Costs: map[string]string{
		"lower_resolution":  "Small objects are found less well.",
		"use_smaller_model": "Some accuracy; trains faster.",
	},
}

// InPieces is what helps where PyTorch's own reserve lies in pieces.
var InPieces = []cause.Remedy{
	{Fix: "expandable_segments", Fit: cause.Foremost, If: reader.HasExpandableSegments},
	{Fix: "max_split_size", Fit: cause.Foremost, If: when.Not(reader.HasExpandableSegments)},
	{Fix: "max_split_size", Fit: cause.Helps, If: reader.HasExpandableSegments},
	{Fix: "lower_batch_size", Fit: cause.LastResort},
}

var VisionWork = []cause.Remedy{
	{Fix: "lower_batch_size", Fit: cause.Cures},
	{Fix: "lower_resolution", Fit: cause.Helps},
	{Fix: "mixed_precision", Fit: cause.Helps, If: (*ledger.Case).Training},
	{Fix: "gradient_checkpointing", Fit: cause.MayHelp, If: (*ledger.Case).Training},
	{Fix: "use_smaller_model", Fit: cause.LastResort},
}

// PlainVision is that of programs without a setting for checkpoints.
var PlainVision = map[string][]cause.Remedy{
	cause.BatchTooLarge:         withoutCheckpoints,
	cause.TrainingStateTooLarge: withoutCheckpoints,
}

var withoutCheckpoints = []cause.Remedy{
	{Fix: "lower_batch_size", Fit: cause.Cures},
	{Fix: "lower_resolution", Fit: cause.Helps},
	{Fix: "mixed_precision", Fit: cause.Helps, If: (*ledger.Case).Training},
	{Fix: "use_smaller_model", Fit: cause.MayHelp},
}

// LanguageModels is what trainers of language models share.
var LanguageModels = program.Program{
	Checks: map[string]string{"lower_context": StepChecked},
	Titles: map[string]string{"lower_context": "Shorten the samples"},
	Costs:  map[string]string{"lower_context": "what is cut off is not learned"},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: {
			{Fix: "lower_batch_size", Fit: cause.Cures},
			{Fix: "lower_context", Fit: cause.Helps},
			{Fix: "gradient_checkpointing", Fit: cause.Helps},
			{Fix: "use_lora", Fit: cause.LastResort},
		},
		cause.ContextTooLong: {
			{Fix: "lower_context", Fit: cause.Cures},
			{Fix: "lower_batch_size", Fit: cause.Helps},
			{Fix: "gradient_checkpointing", Fit: cause.MayHelp},
		},
		cause.TrainingStateTooLarge: {
			{Fix: "shard_training", Fit: cause.Cures},
			{Fix: "offload_optimizer", Fit: cause.Cures},
			{Fix: "use_lora", Fit: cause.Helps},
			{Fix: "gradient_checkpointing", Fit: cause.LastResort},
		},
		cause.ModelTooLarge: {
			{Fix: "shard_training", Fit: cause.Cures},
			{Fix: "use_lora", Fit: cause.Helps},
			{Fix: "use_smaller_model", Fit: cause.Helps},
			{Fix: "offload_optimizer", Fit: cause.MayHelp},
		},
	},
}

// Halved is half of a setting of the log, else a start.
func Halved(c *ledger.Case, start string, names ...string) string {
	s, _ := c.Setting(names...)
	if n := step.Divided(s.Value, 2); n > 0 {
		return strconv.Itoa(n)
	}
	return start
}

// Say is a step in words.
func Say(text string) func(*ledger.Case) []step.Step { return step.Paste("text", text) }

// Told is a step with words before it, or behind it if it is words as well: what
// to do comes first.
func Told(text string, then func(*ledger.Case) []step.Step) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		steps, words := then(c), step.Step{Kind: "text", Text: text}
		if steps[0].Kind == "text" {
			return append(steps, words)
		}
		return append([]step.Step{words}, steps...)
	}
}

// Config is a step in a program's file.
func Config(text string) func(*ledger.Case) []step.Step { return step.Paste("config", text) }

// Typed is the command of the log with options changed, and words for a log
// that shows none.
func Typed(script string, changes ...step.Change) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		own := step.Typed(c, script)
		if own == nil {
			return []step.Step{{Kind: "text", Text: "Add to your command: `" + step.Edited(c, nil, changes...) + "`."}}
		}
		return []step.Step{{Kind: "shell", Text: "python " + script + " " + step.Edited(c, own, changes...)}}
	}
}
