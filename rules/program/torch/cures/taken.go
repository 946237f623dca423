package cures

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Taken adds to the programs why a fix of theirs cannot help where the reader's
// command has its option already. It returns them.
func Taken(all []*program.Program) []*program.Program {
	for _, p := range all {
		own := map[string]func(*ledger.Case) string{}
		for id, steps := range p.Steps {
			if why := p.Useless[id]; why != nil || id != "lower_batch_size" {
				own[id] = orTaken(p, id, why, steps)
			}
		}
		for id, why := range p.Useless {
			if own[id] == nil {
				own[id] = why
			}
		}
		p.Useless = own
	}
	return all
}

// ofTraining are fixes that change nothing where a model is only used.
var ofTraining = []string{"gradient_checkpointing", "gradient_accumulation", "optimizer_8bit", "offload_optimizer"}

// orTaken is why a fix cannot help: as the program has it, as it is on already,
// as those that it is like have it, as the fix itself.
func orTaken(p *program.Program, id string, why func(*ledger.Case) string, steps func(*ledger.Case) []step.Step) func(*ledger.Case) string {
	return func(c *ledger.Case) string {
		if why != nil {
			if told := why(c); told != "" {
				return told
			}
		}
		switch {
		case typed(c, id, steps(c)):
			return "Your command has it already."
		case Uses(c) && (slices.Contains(ofTraining, id) || id == "mixed_precision" && p.Titles[id] == ""):
			return "Nothing is trained here."
		}
		for _, like := range p.Like {
			if theirs := like.Useless[id]; theirs != nil {
				return theirs(c)
			}
		}
		if slices.Contains([]string{"use_lora", "optimizer_8bit", "offload_optimizer"}, id) && c.In("transformers") {
			return StateIsSmall(c)
		}
		if f := fix.FixesByID()[id]; f.Useless != nil {
			return f.Useless(c)
		}
		return ""
	}
}

// typed: the log shows all options that a step begins with, as it tells them.
func typed(c *ledger.Case, id string, steps []step.Step) bool {
	if len(steps) == 0 || steps[0].Kind != "text" {
		return false
	}
	parts := strings.SplitN(steps[0].Text, "`", 3)
	if len(parts) < 3 || !slices.Contains([]string{"", "Use ", "Add "}, parts[0]) {
		return false
	}
	words := strings.Fields(parts[1])
	for i := 0; i < len(words); i++ {
		flag, value, joined := strings.Cut(words[i], "=")
		if !strings.HasPrefix(flag, "-") {
			return false
		}
		var values []string
		if joined {
			values = append(values, value)
		}
		for ; i+1 < len(words) && !strings.HasPrefix(words[i+1], "-"); i++ {
			values = append(values, words[i+1])
		}
		if !has(c, id, flag, strings.Join(values, " ")) {
			return false
		}
	}
	return len(words) > 0
}

// has: the log shows an option with this value, or one that saves as much.
func has(c *ledger.Case, id, flag, value string) bool {
	own, ok := typedValue(c, flag)
	if !ok {
		return false
	}
	told, err := strconv.Atoi(value)
	if err != nil {
		// A switch takes what stands behind it for its value.
		return value == "" && !strings.EqualFold(own, "false") || strings.EqualFold(own, value) || strings.EqualFold(value, "true") && own == ""
	}
	was, err := strconv.Atoi(own)
	switch {
	case err != nil, strings.HasPrefix(id, "lower_"): // half of the reader's own is told
		return false
	case id == "vae_tiling", id == "use_smaller_model":
		return was <= told
	}
	return was == told
}

// Mentions: a line near the failure has one of the words, such as a recipe in
// the reader's command.
func Mentions(words ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool {
		return slices.ContainsFunc(c.Facts.Talk, func(line fact.Word) bool {
			return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(line.Text, w) })
		})
	}
}

// Typed is the value of an option that the reader typed; false where the log
// shows none.
func Typed(c *ledger.Case, flag string) (value string, ok bool) { return typedValue(c, flag) }

// typedValue is the value of an option that the reader typed, "" for a switch.
func typedValue(c *ledger.Case, flag string) (value string, ok bool) {
	if set, found := c.Setting(strings.ReplaceAll(strings.ToLower(strings.TrimLeft(flag, "-")), "-", "_")); found && !set.Default {
		return set.Value, true
	}
	for _, line := range c.Facts.Talk {
		words := strings.Fields(line.Text)
		for i, word := range words {
			name, joined, isJoined := strings.Cut(word, "=")
			switch {
			case name != flag:
			case isJoined:
				value, ok = strings.Trim(joined, `'"`), true
			case i+1 < len(words) && !strings.HasPrefix(words[i+1], "-"):
				value, ok = strings.Trim(words[i+1], `'"`), true
			default:
				value, ok = "", true
			}
		}
	}
	return value, ok
}
