package checkouts

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
)

// Words in names of scripts that say whether they train, and in those of files
// that only declare options.
var (
	trains   = []string{"train", "finetune", "fine_tune", "pretrain", "distill", "fit", "sft"}
	uses     = []string{"test", "eval", "demo", "infer", "predict", "generat", "sampl", "render", "visual", "extract", "inference", "validate", "val.py", "detect", "run_", "cli", "app", "web"}
	declares = []string{"opt", "arg", "param", "flag", "config", "setting"}
)

// longestValue is how long a value of the log may be to be told.
const longestValue = 40

// named reports that a file's name has one of some words.
func named(file string, words []string) bool {
	name := strings.ToLower(path.Base(file))
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
}

// ran are the repository's scripts that the log shows started, from its root. A
// name alone is the script at the root, where one is known there, else those of
// that name in any folder.
func (x *Checkout) ran(c *ledger.Case) []string {
	var out []string
	for _, f := range c.Facts.Code {
		if !f.Own || f.Function != "<module>" && f.Function != "" {
			continue
		}
		rel := x.inside(f.File)
		if rel == "" {
			continue
		}
		var alike []string
		exact := false
		for _, k := range x.knobs {
			for _, file := range k.files {
				exact = exact || file == rel
				if strings.HasSuffix(file, "/"+rel) {
					alike = append(alike, file)
				}
			}
		}
		if exact || alike == nil {
			alike = []string{rel}
		}
		out = append(out, alike...)
	}
	return out
}

// applies reports that the reader can turn a knob in what failed: their script
// takes it, or reads its file, as far as the log shows which one ran.
func (k *knob) applies(c *ledger.Case, ran []string) bool {
	training, using := c.Training(), c.Phase == "inference"
	if len(ran) > 0 && !training && !using {
		training, using = every(ran, trains), every(ran, uses)
	}
	if frames := ledger.Trace(c); len(ran) == 0 && len(frames) > 0 && frames[0].Own && !training && !using {
		training, using = named(frames[0].File, trains), named(frames[0].File, uses) && !named(frames[0].File, trains)
	}
	switch onlyTrains, onlyUses := every(k.files, trains) || k.notes("training") && !k.notes("training and"), every(k.files, uses) || k.notes("testing") && !k.notes("testing uses"); {
	case len(ran) > 0 && k.typed() && !every(k.files, declares):
		return k.of(ran) != ""
	case training:
		return !onlyUses
	case using:
		return !onlyTrains
	}
	return true
}

// notes reports that what the list notes of it begins with some words.
func (k *knob) notes(words string) bool { return strings.HasPrefix(k.note, words) }

// every reports that the names of all files have one of some words.
func every(files, words []string) bool {
	return !slices.ContainsFunc(files, func(f string) bool { return !named(f, words) })
}

// of is the script among those that ran which takes the option, "" for none.
func (k *knob) of(ran []string) string {
	if i := slices.IndexFunc(k.files, func(f string) bool { return slices.Contains(ran, f) }); i >= 0 {
		return k.files[i]
	}
	return ""
}

// typed reports that it stands on a command line.
func (k *knob) typed() bool {
	return strings.HasPrefix(k.spelling, "-") || strings.HasSuffix(k.spelling, "=") || strings.Contains(k.note, "typed behind")
}

// held is the reader's own value, "" where the log shows none.
func (k *knob) held(c *ledger.Case) string {
	name := strings.ToLower(strings.ReplaceAll(strings.Trim(k.spelling, "-="), "-", "_"))
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		name = name[at+1:]
	}
	for _, s := range slices.Backward(c.Facts.Settings) {
		if s.Line <= c.Failure.Line && (s.Name == name || s.Flag == k.spelling || strings.HasPrefix(s.Name, fact.Option) && strings.ToLower(strings.ReplaceAll(strings.TrimLeft(s.Flag, "-"), "-", "_")) == name) {
			return s.Value
		}
	}
	return ""
}

// wanted is the value to take instead of another: the advice of the list, else
// half; "" where there is none below it.
func (k *knob) wanted(has string) string {
	if n := number(has); has == strconv.Itoa(n) {
		switch {
		case k.kind == "workers" && n > 0:
			return strconv.Itoa(min(n-1, 2))
		case k.advice != "" && has == k.has:
			return k.advice
		case (k.kind == "accumulate" || number(k.advice) > number(k.has)) && n < 1<<30: // more of it is less memory
			return strconv.Itoa(2 * n)
		case n > 1 && n < 1<<30:
			return strconv.Itoa(n / 2)
		}
		return ""
	}
	if k.advice != "" && has == k.has {
		return k.advice
	}
	return halves(has)
}

// halves is a list of whole numbers, each of them halved; "" for anything else.
func halves(list string) string {
	parts := strings.Split(list, ",")
	for i, p := range parts {
		n := number(p)
		if p != strconv.Itoa(n) || n < 16 {
			return ""
		}
		parts[i] = strconv.Itoa(n / 2)
	}
	return strings.Join(parts, ",")
}

func number(s string) int { n, _ := strconv.Atoi(s); return max(n, 0) }

// sentence is what to do with a knob, in few words behind another; "" where
// nothing is left to do: the reader has it so already, or there is no smaller
// value.
func (k *knob) sentence(c *ledger.Case, ran []string, behind bool) string {
	own := k.held(c)
	if len(own) > longestValue || strings.ContainsFunc(own, quote.UnsafeInShell) {
		own = ""
	}
	p := place{file: k.of(ran), behind: behind}
	if p.file == "" {
		p.file = k.files[0]
	}
	if k.has == "on" || k.has == "off" {
		return k.switched(own, p)
	}
	has := k.has
	if own != "" {
		has = own
	}
	value := k.wanted(has)
	if value == "" || value == has {
		return ""
	}
	usual := ""
	if own == "" && has != "?" {
		usual = "default " + plain(has)
	}
	switch {
	case !k.typed() && has == "?":
		return p.in() + "`" + k.spelling + "` to " + plain(value) + k.aside("") + "."
	case !k.typed():
		return p.in() + "`" + k.spelling + "` from " + plain(has) + " to " + plain(value) + k.aside("") + "."
	case own != "":
		return p.use() + "`" + k.with(value) + "` instead of " + plain(has) + p.command(k, "in") + k.aside("") + "."
	}
	return p.add() + "`" + k.with(value) + "`" + p.command(k, "to") + k.aside(usual) + "."
}

// plain is a value as it is typed: a comma stands for a blank in the list.
func plain(value string) string { return strings.ReplaceAll(value, ",", " ") }

// place is where a knob is turned, and whether another was told of before it.
type place struct {
	file   string
	behind bool
}

func (p place) or(first string) string {
	if p.behind {
		return "Or "
	}
	return first
}

func (p place) use() string { return p.or("Use ") }
func (p place) add() string { return p.or("Add ") }

// in is the file that has the key.
func (p place) in() string {
	if p.behind {
		return "In the same way "
	}
	return "In `" + p.file + "`, set "
}

// command is the command that takes the option, behind a word.
func (p place) command(k *knob, word string) string {
	switch {
	case p.behind:
		return ""
	case strings.HasPrefix(k.spelling, "-"):
		return " " + word + " your `" + path.Base(p.file) + "` command"
	}
	return " at the end of your `" + path.Base(p.file) + "` command"
}

// switched is a switch to add or to leave out.
func (k *knob) switched(own string, p place) string {
	on := own != "" && !slices.Contains([]string{"false", "0", "no", "none"}, strings.ToLower(own))
	switch {
	case on == (k.has == "on"):
		return ""
	case k.has == "off":
		return p.or("Leave out ") + "`" + k.spelling + "`" + p.command(k, "in") + k.aside("") + "."
	case k.typed():
		return p.add() + "`" + k.spelling + "`" + p.command(k, "to") + k.aside("") + "."
	}
	return "In `" + p.file + "`, turn on `" + k.spelling + "`" + k.aside("") + "."
}

// with is an option with a value, as it is typed.
func (k *knob) with(value string) string {
	if strings.HasSuffix(k.spelling, "=") {
		return k.spelling + plain(value)
	}
	return k.spelling + " " + plain(value)
}

// aside is what to know besides, in parentheses.
func (k *knob) aside(first string) string {
	note := strings.TrimLeft(strings.NewReplacer("typed behind the options", "", "typed behind --opts", "").Replace(k.note), ",; ")
	parts := slices.DeleteFunc([]string{first, note}, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}
