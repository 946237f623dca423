package server

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
)

// option is an argument of a server in the spelling of its Python API. The
// value "True" stands for a bare flag, "" takes the option away.
type option struct{ name, value string }

func (o option) flag() string { return "--" + strings.ReplaceAll(o.name, "_", "-") }

// launch is how a serving program is started.
type launch struct {
	command string // fact that holds the words of the command in the log
	start   func(c *ledger.Case) []string
	// aliases are options with another spelling of the same argument.
	aliases map[string]string
	// flags spells options that are not named like their argument.
	flags map[string]string
}

// with returns the command that starts the server with options set: the log's
// own command edited, or a new one from the settings in the log.
func (s launch) with(c *ledger.Case, set ...option) string {
	words := s.logged(c)
	if words == nil {
		words = s.start(c)
	}
	for _, o := range set {
		words = s.edit(words, o)
	}
	for i, w := range words {
		if strings.HasPrefix(w, "-") {
			words[i] = quoteFlag(w)
		} else {
			words[i] = quote.Shell(w)
		}
	}
	return strings.Join(words, " ")
}

// quoteFlag quotes an option that came from a log, with what is joined to it.
func quoteFlag(w string) string {
	flag, value, joined := strings.Cut(w, "=")
	if strings.IndexFunc(flag, quote.UnsafeInShell) >= 0 {
		return quote.Shell(w)
	}
	if !joined {
		return flag
	}
	return flag + "=" + quote.Shell(value)
}

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

// edit replaces an option in a command, or adds it.
func (s launch) edit(words []string, o option) []string {
	flag := o.flag()
	if spelled, ok := s.flags[o.name]; ok {
		flag = spelled
	}
	at := slices.IndexFunc(words, func(w string) bool {
		head, _, _ := strings.Cut(w, "=")
		return head == flag || s.aliases[head] == o.name
	})
	if at < 0 {
		if o.value == "" {
			return words
		}
		if o.value == "True" {
			return append(words, flag)
		}
		return append(words, flag, o.value)
	}
	end := at + 1
	if !strings.Contains(words[at], "=") && end < len(words) && !strings.HasPrefix(words[end], "-") {
		end++
	}
	head, _, _ := strings.Cut(words[at], "=")
	var now []string
	switch o.value {
	case "":
	case "True":
		now = []string{head}
	default:
		now = []string{head, o.value}
	}
	return slices.Concat(words[:at], now, words[end:])
}

// fromSettings appends the options that a log shows as set by the user and
// that stand in a list of known ones.
func fromSettings(c *ledger.Case, words []string, known []string) []string {
	for _, name := range known {
		s, ok := c.Setting(name)
		if !ok || s.Default || s.Value == "False" || s.Value == "None" {
			continue
		}
		words = append(words, option{name: name}.flag())
		if s.Value != "True" {
			words = append(words, s.Value)
		}
	}
	return words
}
