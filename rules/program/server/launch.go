package server

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/step"
)

// option is an argument of a server in the spelling of its Python API. The
// value "True" stands for a bare flag, "" for no change.
type option struct{ name, value string }

func (o option) flag() string { return "--" + strings.ReplaceAll(o.name, "_", "-") }

// launch is how a serving program is started.
type launch struct {
	command string // fact that holds the words of the command in the log
	start   string // what starts it, up to the model
	// old started versions before another, which it tells.
	old    string
	before func(c *ledger.Case) bool
	// repeats are the settings of a log that a new command repeats: where the
	// server dumps all of them, those that differ from 1 too.
	repeats []string
	dumps   bool
	// aliases are options with another spelling of the same argument.
	aliases map[string]string
	// where says where an option goes that is added to a command of the reader's.
	where string
	// offline is a fact: the server runs inside a Python program, as LLM().
	offline string
	// flags: where the log shows no command, what is added to it is enough for
	// these readers.
	flags   bool
	readers []string
}

// choice is what a fix sets an option to in a case.
type choice func(c *ledger.Case) option

func to(name, value string) choice {
	return func(*ledger.Case) option { return option{name, value} }
}

func from(name string, value func(c *ledger.Case) string) choice {
	return func(c *ledger.Case) option { return option{name, value(c)} }
}

func whole(name string, n func(c *ledger.Case) int) choice {
	return from(name, func(c *ledger.Case) string { return strconv.Itoa(n(c)) })
}

func hundredths(name string, u func(c *ledger.Case) float64) choice {
	return from(name, func(c *ledger.Case) string { return percent(u(c)) })
}

func percent(u float64) string { return strconv.FormatFloat(u, 'f', 2, 64) }

func doubled(name string) choice {
	return whole(name, func(c *ledger.Case) int { return 2 * max(1, ledger.IntSetting(c, name)) })
}

// divided is a number that the log shows, else what is usual, divided.
func divided(name string, usual int, by func(c *ledger.Case) int) choice {
	return whole(name, func(c *ledger.Case) int {
		now := ledger.IntSetting(c, name)
		if now <= 1 {
			now = usual
		}
		return max(1, now/by(c))
	})
}

func half(*ledger.Case) int { return 2 }

// sets are the steps of a fix that sets options.
func (s launch) sets(choices ...choice) func(c *ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		set := make([]option, len(choices))
		for i, choose := range choices {
			set[i] = choose(c)
		}
		if _, ok := c.Fact(s.offline); ok {
			return []step.Step{{Kind: "python", Text: construct(c, set)}}
		}
		text := s.with(c, set...)
		if strings.HasPrefix(text, "-") { // no command of its own
			return []step.Step{{Kind: "config", Text: text}}
		}
		return []step.Step{{Kind: "shell", Text: text}}
	}
}

// adds are the steps of a fix that sets options: the log's own command edited,
// else the options alone, which the reader adds to theirs.
func (s launch) adds(choices ...choice) func(c *ledger.Case) []step.Step {
	whole := s.sets(choices...)
	return func(c *ledger.Case) []step.Step {
		if s.logged(c) != nil {
			return whole(c)
		}
		var words []string
		for _, choose := range choices {
			if o := choose(c); o.value != "" {
				words = append(words, o.flag(), o.value)
			}
		}
		return []step.Step{{Kind: "text", Text: cmp.Or(s.where, "Added to your start command:")}, {Kind: "config", Text: strings.Join(words, " ")}}
	}
}

// after puts a step before others.
func after(kind, text string, steps func(c *ledger.Case) []step.Step) func(c *ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		return append([]step.Step{{Kind: kind, Text: text}}, steps(c)...)
	}
}

// construct is the call of a Python program that loads the log's model.
func construct(c *ledger.Case, set []option) string {
	call := "llm = LLM(model=" + quote.Python(c.ModelName())
	for _, o := range set {
		value := o.value
		if _, err := strconv.ParseFloat(value, 64); err != nil && value != "True" && !strings.HasPrefix(value, "{") {
			value = quote.Python(value)
		}
		if o.value != "" {
			call += fmt.Sprintf(", %s=%s", o.name, value)
		}
	}
	return call + ")"
}

// with returns the command that starts the server with options set: the log's
// own command edited, or a new one from the settings in the log.
func (s launch) with(c *ledger.Case, set ...option) string {
	words := s.logged(c)
	if words == nil && !s.unknown(c) {
		words = s.fromSettings(c)
	}
	for _, o := range set {
		words = s.edit(words, o)
	}
	for i, w := range words {
		flag, value, joined := strings.Cut(w, "=")
		switch {
		case !strings.HasPrefix(w, "-") || strings.IndexFunc(flag, quote.UnsafeInShell) >= 0:
			words[i] = step.Word(c, w)
		case joined:
			words[i] = flag + "=" + step.Word(c, value)
		}
	}
	return strings.Join(words, " ")
}

// unknown: the log shows neither the command nor the model nor an option, so
// that what has to be added to the reader's own command is all there is to say.
func (s launch) unknown(c *ledger.Case) bool {
	return s.flags && s.logged(c) == nil && (s.others(c) || c.ModelName() == "MODEL" && len(s.settings(c)) == 0)
}

// others: another program starts this server, by a command of its own.
func (s launch) others(c *ledger.Case) bool { return !slices.Contains(s.readers, c.Reader.Program) }

// logged returns the words of the last command before the failure.
func (s launch) logged(c *ledger.Case) []string {
	x, ok := c.Fact(s.command)
	if !ok {
		return nil
	}
	words := strings.Split(x.Text, "\x00")
	if strings.HasPrefix(words[0], "vllm.") || strings.HasPrefix(words[0], "sglang.") {
		words = append([]string{"python", "-m"}, words...)
	}
	return words
}

// fromSettings starts the log's model with the options that the log shows as
// set by the user.
func (s launch) fromSettings(c *ledger.Case) []string {
	start := s.start
	if s.before != nil && s.before(c) {
		start = s.old
	}
	words := append(strings.Fields(start), c.ModelName())
	for _, o := range s.settings(c) {
		words = s.edit(words, o)
	}
	return words
}

// settings are the options that the log shows as set by the user.
func (s launch) settings(c *ledger.Case) []option {
	var out []option
	for _, name := range s.repeats {
		set, ok := s.given(c, name)
		if ok && (!set.Default || s.dumps && set.Value != "1") && set.Value != "False" && set.Value != "None" {
			out = append(out, option{name, set.Value})
		}
	}
	return out
}

// given is an option as the user set it, also where the engine lists all that
// holds once more further down; else what it lists.
func (s launch) given(c *ledger.Case, name string) (fact.Setting, bool) {
	held, ok := c.Setting(name)
	if !ok || !held.Default {
		return held, ok
	}
	for i := range c.Facts.Settings {
		if x := c.Facts.Settings[i]; x.Name == name && !x.Default && x.Line <= c.Failure.Line {
			held = x
		}
	}
	return held, true
}

// edit replaces an option in a command, or adds it.
func (s launch) edit(words []string, o option) []string {
	if o.value == "" {
		return words
	}
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "--no-"+o.flag()[2:] })
	at := slices.IndexFunc(words, func(w string) bool {
		head, _, _ := strings.Cut(w, "=")
		return head == o.flag() || s.aliases[head] == o.name
	})
	now, end := []string{o.flag()}, len(words)
	if at < 0 {
		at = end
	} else {
		head, _, joined := strings.Cut(words[at], "=")
		now, end = []string{head}, at+1
		if !joined && end < len(words) && !strings.HasPrefix(words[end], "-") {
			end++
		}
	}
	if o.value != "True" {
		now = append(now, o.value)
	}
	return slices.Concat(words[:at], now, words[end:])
}
