package step

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/redact"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// A command line of the log is better advice than a made-up one: the reader's
// own, with what has to change.

// Typed returns the options of the command line that contains a word, in their
// order; nil where the log shows none.
func Typed(c *ledger.Case, program string) []fact.Setting {
	line := 0
	for _, s := range c.Facts.Signals {
		if s.ID == "command_line" && strings.Contains(s.Text, program) && (line == 0 || s.Line <= c.Failure.Line) {
			line = s.Line
		}
	}
	var out []fact.Setting
	for _, s := range c.Facts.Settings {
		if s.Line == line && line != 0 && s.Flag != "" && !strings.HasPrefix(s.Name, fact.Option) && !slices.ContainsFunc(out, func(x fact.Setting) bool { return x.Flag == s.Flag && x.Value == s.Value }) { // those repeat one
			out = append(out, s)
		}
	}
	return out
}

// Taken reports a step that the log shows done: the reader's own command as it
// is, or options that all have these values.
func Taken(c *ledger.Case, s Step) bool {
	switch {
	case s.Kind == "shell":
		text := plainWords(s.Text)
		return slices.ContainsFunc(c.Facts.Facts, func(x fact.Fact) bool {
			return strings.HasSuffix(x.Name, "_command") && len(strings.Fields(text)) > 2 && strings.HasSuffix(text, plainWords(x.Text))
		}) || slices.ContainsFunc(c.Facts.Signals, func(x fact.Signal) bool {
			return strings.HasSuffix(x.ID, "_command") && plainWords(x.Text) == text
		})
	case s.Kind == "config" && strings.HasPrefix(s.Text, "--"):
		return optionsSet(c, strings.Fields(s.Text))
	}
	return false
}

// plainWords are the words of a command without what a shell's quoting adds.
func plainWords(command string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("\x00", " ", redact.Variable, "$", "'", "", "\"", "", "\\", "").Replace(command)), " ")
}

// optionsSet reports that the log shows each of these options with this value,
// and not as a default.
func optionsSet(c *ledger.Case, words []string) bool {
	for i := 0; i < len(words); i++ {
		if !strings.HasPrefix(words[i], "--") {
			return false
		}
		set, ok := c.Setting(settingName(words[i]))
		value := "True"
		if i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") {
			i++
			value = words[i]
		}
		if !ok || set.Default || !strings.EqualFold(set.Value, value) && (value != "True" || set.Value != "") {
			return false
		}
	}
	return len(words) > 0
}

// Change is one flag with its value to put into a command; Drop takes it out.
type Change struct {
	Flag, Value string
	Drop        bool
}

// Edited writes the options of a command line anew, with some of them changed
// in place and the others added. Every word of the log is quoted for the
// reader's shell.
func Edited(c *ledger.Case, settings []fact.Setting, changes ...Change) string {
	return EditedFor(shell(c.Windows()), settings, changes...)
}

// EditedFor is Edited for another target of [quote.For].
func EditedFor(target string, settings []fact.Setting, changes ...Change) string {
	word := quote.For(target)
	var words []string
	done := map[string]bool{}
	for _, s := range settings {
		o, ok := changeOf(changes, s.Name)
		switch {
		case !ok:
			words = append(words, SafeFlag(s.Flag))
			for _, v := range values(s) {
				words = append(words, word(v))
			}
		case !o.Drop && !done[s.Name]:
			words = append(words, o.words()...)
		}
		done[s.Name] = done[s.Name] || ok
	}
	for _, o := range changes {
		if !done[settingName(o.Flag)] && !o.Drop {
			words = append(words, o.words()...)
		}
	}
	return strings.Join(words, " ")
}

// values are the words of an option's value.
func values(s fact.Setting) []string {
	if s.Words != nil {
		return s.Words
	}
	return strings.Fields(s.Value)
}

func (o Change) words() []string {
	if o.Value == "" {
		return []string{o.Flag}
	}
	return []string{o.Flag, o.Value}
}

func changeOf(changes []Change, setting string) (Change, bool) {
	for _, o := range changes {
		if settingName(o.Flag) == setting {
			return o, true
		}
	}
	return Change{}, false
}

// settingName is a flag as parsers normalise it.
func settingName(flag string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimLeft(flag, "-")), "-", "_")
}

// SafeFlag leaves letters, digits, "-" and "_" of a flag.
func SafeFlag(flag string) string { return OptionName(fact.Setting{Flag: flag}) }

// BatchSettings are the names under which programs show a batch size for one
// device.
var BatchSettings = []string{
	"per_device_train_batch_size", "train_micro_batch_size_per_gpu", "per_device_batch_size", "train_batch_size", "micro_batch_size", "batch_size", fact.OptionBatch,
}

// OptionName is an option as it was typed, else its normalised name: letters,
// digits, "-" and "_" only.
func OptionName(s fact.Setting) string {
	return strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return -1
	}, cmp.Or(s.Flag, s.Name))
}

// Divided is a positive whole setting divided, at least 1; 0 if it is none.
func Divided(value string, by int) int {
	n, err := strconv.Atoi(value)
	if err != nil || n <= 0 || n > 1<<30 {
		return 0
	}
	return max(n/by, 1)
}
