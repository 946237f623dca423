package rules

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// A command line of the log is better advice than a made-up one: the reader's
// own, with what has to change.

// typed returns the options of the command line that contains a word, in their
// order; nil where the log shows none.
func typed(c *Case, program string) []fact.Setting {
	line := 0
	for _, s := range c.Facts.Signals {
		if s.ID == "command_line" && strings.Contains(s.Text, program) && (line == 0 || s.Line <= c.Failure.Line) {
			line = s.Line
		}
	}
	var out []fact.Setting
	for _, s := range c.Facts.Settings {
		if s.Line == line && line != 0 && s.Flag != "" {
			out = append(out, s)
		}
	}
	return out
}

// change is one flag with its value to put into a command; Drop takes it out.
type change struct {
	flag, value string
	drop        bool
}

// edited writes the options of a command line anew, with some of them changed
// in place and the others added. Every word of the log is quoted.
func edited(settings []fact.Setting, changes ...change) string {
	var words []string
	done := map[string]bool{}
	for _, s := range settings {
		o, ok := changeOf(changes, s.Name)
		switch {
		case !ok:
			words = append(words, safeFlag(s.Flag))
			for _, v := range strings.Fields(s.Value) {
				words = append(words, shellQuote(v))
			}
		case !o.drop && !done[s.Name]:
			words = append(words, o.words()...)
		}
		done[s.Name] = done[s.Name] || ok
	}
	for _, o := range changes {
		if !done[settingName(o.flag)] && !o.drop {
			words = append(words, o.words()...)
		}
	}
	return strings.Join(words, " ")
}

func (o change) words() []string {
	if o.value == "" {
		return []string{o.flag}
	}
	return []string{o.flag, o.value}
}

func changeOf(changes []change, setting string) (change, bool) {
	for _, o := range changes {
		if settingName(o.flag) == setting {
			return o, true
		}
	}
	return change{}, false
}

// settingName is a flag as parsers normalise it.
func settingName(flag string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimLeft(flag, "-")), "-", "_")
}

// safeFlag leaves letters, digits, "-" and "_" of a flag.
func safeFlag(flag string) string { return optionName(fact.Setting{Flag: flag}) }
