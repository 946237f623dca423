// Package launch writes the commands that start servers: the log's own edited, or
// a new one from the settings that the log shows.
package launch

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Option is an argument of a server in the spelling of its Python API. The
// value "True" stands for a bare flag, "" for no change.
type Option struct{ Name, Value string }

func (o Option) flag() string { return "--" + strings.ReplaceAll(o.Name, "_", "-") }

// Server is how a serving program is started.
type Server struct {
	Command string // fact that holds the words of the command in the log
	Start   string // what starts it, up to the model
	// Old started versions before another, which it tells.
	Old    string
	Before func(c *ledger.Case) bool
	// Repeats are the settings of a log that a new command repeats: where the
	// server dumps all of them, those that differ from 1 too.
	Repeats []string
	Dumps   bool
	// Aliases are options with another spelling of the same argument.
	Aliases map[string]string
	// Where says where an option goes that is added to a command of the reader's.
	Where string
	// Offline is a fact: the server runs inside a Python program, as LLM().
	Offline string
	// Flags: where the log shows no command, what is added to it is enough for
	// these readers.
	Flags   bool
	Readers []string
	// Hosts start it for their readers.
	Hosts map[string]Host
}

// Choice is what a fix sets an option to in a case.
type Choice func(c *ledger.Case) Option

// To sets an option to this value.
func To(name, value string) Choice {
	return func(*ledger.Case) Option { return Option{name, value} }
}

// From sets an option to what a case yields.
func From(name string, value func(c *ledger.Case) string) Choice {
	return func(c *ledger.Case) Option { return Option{name, value(c)} }
}

// Whole sets an option to a whole number of the case.
func Whole(name string, n func(c *ledger.Case) int) Choice {
	return From(name, func(c *ledger.Case) string { return strconv.Itoa(n(c)) })
}

// Hundredths sets an option to a number of two decimals.
func Hundredths(name string, u func(c *ledger.Case) float64) Choice {
	return From(name, func(c *ledger.Case) string { return Share(u(c)) })
}

// Share writes a share to the hundredth.
func Share(u float64) string { return strconv.FormatFloat(u, 'f', 2, 64) }

// Doubled sets an option to twice what the log shows, at least 2. Where it shows
// no number, the card that failed tells how many there are at least, and usual
// numbers are powers of two.
func Doubled(name string) Choice {
	return Whole(name, func(c *ledger.Case) int {
		return 2 * max(1, cmp.Or(ledger.IntSetting(c, name), 1<<bits.Len(uint(AtLeast(c)-1))))
	})
}

// workers begin the names of processes that there are only where several cards
// take part: vLLM's and SGLang's.
var workers = []string{"Worker_TP", "VllmWorker", "RayWorkerVllm", "RayWorkerWrapper", "NPURayWorkerWrapper", "TP1", "TP2", "TP3", "TP4", "TP5", "TP6", "TP7"}

// AtLeast is how many cards take part by the one that failed and by the process
// that said so ("Worker_TP3_EP3 pid=406", "VllmWorker rank=3 pid=12").
func AtLeast(c *ledger.Case) int {
	n, source := ledger.GPU(c)+1, c.Failure.Source
	if !slices.ContainsFunc(workers, func(w string) bool { return strings.HasPrefix(source, w) }) {
		return n
	}
	n = max(n, 2)
	for _, before := range []string{"TP", "rank="} {
		if _, rank, ok := strings.Cut(source, before); ok {
			if end := strings.IndexFunc(rank, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
				rank = rank[:end]
			}
			if k, err := strconv.Atoi(rank); err == nil && k < 64 {
				n = max(n, k+1)
			}
		}
	}
	return n
}

// Divided is a number that the log shows, else what is usual, divided.
func Divided(name string, usual int, by func(c *ledger.Case) int) Choice {
	return Whole(name, func(c *ledger.Case) int {
		now := ledger.IntSetting(c, name)
		if now <= 1 {
			now = usual
		}
		return max(1, now/by(c))
	})
}

// AtMost is a number, or half of the log's own where that is no larger already:
// what fails with a value is not cured by setting it again. One is not halved.
func AtMost(name string, most int) Choice {
	return From(name, func(c *ledger.Case) string {
		switch now := ledger.IntSetting(c, name); {
		case now == 1:
			return ""
		case now > 0 && now <= most:
			return strconv.Itoa(now / 2)
		}
		return strconv.Itoa(most)
	})
}

// Half is a divisor: by two.
func Half(*ledger.Case) int { return 2 }

// Sets are the steps of a fix that sets options.
func (s Server) Sets(choices ...Choice) func(c *ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		set := make([]Option, len(choices))
		for i, choose := range choices {
			set[i] = choose(c)
		}
		if h, ok := s.Host(c); ok {
			return h.steps(set)
		}
		if _, ok := c.Fact(s.Offline); ok {
			return []step.Step{{Kind: "python", Text: construct(c, s.kept(c, set))}}
		}
		text := s.With(c, set...)
		if strings.HasPrefix(text, "-") || s.InImage(c) { // no command of its own
			return []step.Step{{Kind: "config", Text: text}}
		}
		return []step.Step{{Kind: "shell", Text: text}}
	}
}

// Adds are the steps of a fix that sets options: the log's own command edited,
// else the options alone, which the reader adds to theirs.
func (s Server) Adds(choices ...Choice) func(c *ledger.Case) []step.Step {
	whole := s.Sets(choices...)
	return func(c *ledger.Case) []step.Step {
		switch {
		case s.InImage(c):
			return append([]step.Step{{Kind: "text", Text: "Everything after the image's name in your `docker run`:"}}, whole(c)...)
		case s.Logged(c) != nil:
			return whole(c)
		}
		var words []string
		for _, choose := range choices {
			if o := choose(c); o.Value != "" {
				words = append(words, o.flag(), o.Value)
			}
		}
		return []step.Step{{Kind: "text", Text: cmp.Or(s.Where, "Add to your start command:")}, {Kind: "config", Text: strings.Join(words, " ")}}
	}
}

// After puts a step before others.
func After(kind, text string, steps func(c *ledger.Case) []step.Step) func(c *ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		list, said := steps(c), text
		if list == nil { // nobody hands the options on: said is what stands before they are announced
			said, _, _ = strings.Cut(text, " Or let ")
		}
		return append([]step.Step{{Kind: kind, Text: strings.TrimSuffix(said, map[bool]string{true: ":"}[list == nil])}}, list...)
	}
}

// kept are what a script's call sets already and these do not, then these.
func (s Server) kept(c *ledger.Case, set []Option) []Option {
	var out []Option
	for _, o := range s.settings(c) {
		again := slices.ContainsFunc(set, func(x Option) bool { return x.Name == o.Name && x.Value != "" })
		_, err := strconv.ParseFloat(o.Value, 64)
		word := slices.Contains(inWords, o.Name) && o.Value != o.Name && !strings.ContainsAny(o.Value, ".[(")
		if !again && (err == nil || o.Value == "True" || word) {
			out = append(out, o)
		}
	}
	return append(out, set...)
}

// inWords are options whose values are words.
var inWords = []string{"dtype", "quantization", "load_format", "kv_cache_dtype"}

// construct is the call of a Python program that loads the log's model.
func construct(c *ledger.Case, set []Option) string {
	call := "llm = LLM(model=" + quote.Python(c.ModelName())
	for _, o := range set {
		value := o.Value
		if _, err := strconv.ParseFloat(value, 64); err != nil && value != "True" && !strings.HasPrefix(value, "{") {
			value = quote.Python(value)
		}
		if o.Value != "" {
			call += fmt.Sprintf(", %s=%s", o.Name, value)
		}
	}
	return call + ")"
}

// With returns the command that starts the server with options set: the log's
// own command edited, or a new one from the settings in the log.
func (s Server) With(c *ledger.Case, set ...Option) string {
	words := s.Logged(c)
	if words == nil && !s.Unknown(c) {
		words = s.fromSettings(c)
	}
	for _, o := range set {
		words = s.edit(words, o)
	}
	word := func(w string) string { return step.Word(c, w) }
	if s.InImage(c) {
		word = func(w string) string { return flagOfImage(c, w) }
	}
	for i, w := range words {
		flag, value, joined := strings.Cut(w, "=")
		switch {
		case !strings.HasPrefix(w, "-") || strings.IndexFunc(flag, quote.UnsafeInShell) >= 0:
			words[i] = word(w)
		case joined:
			words[i] = flag + "=" + word(value)
		}
	}
	return strings.Join(words, " ")
}

// flagOfImage is a word behind an image's name, which stands in a text that is no
// command: VALUE where a shell, or a reader of Markdown, could take it for more.
func flagOfImage(c *ledger.Case, w string) string {
	if strings.Contains(w, "`") || c.Windows() && (w == "" || strings.IndexFunc(w, quote.UnsafeInShell) >= 0) {
		return quote.Value
	}
	return step.Word(c, w)
}

// Unknown: the log shows neither the command nor the model, so that what has to be added to the reader's own command is all there is to say.
func (s Server) Unknown(c *ledger.Case) bool {
	return s.Flags && s.Logged(c) == nil && (s.Others(c) || s.Embedded(c) || c.ModelName() == "MODEL")
}

// Embedded: a program calls the engine in its own code; how it is started the log
// does not show.
func (s Server) Embedded(c *ledger.Case) bool {
	if _, offline := c.Fact(s.Offline); offline || s.Logged(c) != nil {
		return false
	}
	if _, started := c.Fact(fact.Start); started {
		return false
	}
	calls, serves := false, false
	for _, x := range c.Facts.Code {
		own := x.Own && x.Function != "" && !strings.Contains(x.File, "vllm/") && !strings.HasSuffix(x.File, "/vllm")
		calls = calls || own || x.Function == "from_engine_args" && !strings.Contains(x.File, "multiprocessing/")
		serves = serves || strings.Contains(x.File, "/entrypoints/")
	}
	return calls && !serves
}

// Others: another program starts this server, by a command of its own.
func (s Server) Others(c *ledger.Case) bool { return !slices.Contains(s.Readers, c.Reader.Program) }

// Logged returns the words of the last command before the failure.
func (s Server) Logged(c *ledger.Case) []string {
	x, ok := c.Fact(s.Command)
	if !ok {
		return nil
	}
	words := strings.Split(x.Text, "\x00")
	if strings.HasPrefix(words[0], "vllm.") || strings.HasPrefix(words[0], "sglang.") {
		words = append([]string{"python", "-m"}, words...)
	}
	return words
}

// InImage: what the log shows was typed behind an image's name, whose command it is
// added to.
func (s Server) InImage(c *ledger.Case) bool {
	words := s.Logged(c)
	return len(words) > 0 && (strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "/"))
}

// fromSettings starts the log's model with the options that the log shows as
// set by the user.
func (s Server) fromSettings(c *ledger.Case) []string {
	start := s.Start
	if s.Before != nil && s.Before(c) {
		start = s.Old
	}
	words := append(strings.Fields(start), c.ModelName())
	for _, o := range s.settings(c) {
		words = s.edit(words, o)
	}
	return words
}

// settings are the options that the log shows as set by the user.
func (s Server) settings(c *ledger.Case) []Option {
	var out []Option
	for _, name := range s.Repeats {
		set, ok := s.given(c, name)
		if ok && (!set.Default || s.Dumps && set.Value != "1") && set.Value != "False" && set.Value != "None" {
			out = append(out, Option{name, set.Value})
		}
	}
	return out
}

// given is an option as the user set it, also where the engine lists all that
// holds once more further down; else what it lists.
func (s Server) given(c *ledger.Case, name string) (fact.Setting, bool) {
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
func (s Server) edit(words []string, o Option) []string {
	if o.Value == "" {
		return words
	}
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "--no-"+o.flag()[2:] })
	at := slices.IndexFunc(words, func(w string) bool {
		head, _, _ := strings.Cut(w, "=")
		return strings.ReplaceAll(head, "_", "-") == o.flag() || s.Aliases[head] == o.Name
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
	if o.Value != "True" {
		now = append(now, o.Value)
	}
	return slices.Concat(words[:at], now, words[end:])
}
