package checkouts

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
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
	switch onlyTrains, onlyUses := k.forWork == "train" || every(k.files, trains), k.forWork == "use" || every(k.files, uses); {
	case len(ran) > 0 && k.typed() && !every(k.files, declares):
		return k.of(ran) != ""
	case training:
		return !onlyUses
	case using:
		return !onlyTrains
	}
	return true
}

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
	return strings.HasPrefix(k.spelling, "-") || strings.HasSuffix(k.spelling, "=") || strings.HasSuffix(k.spelling, "~")
}

// held is the reader's own value, "" where the log shows none.
func (k *knob) held(c *ledger.Case) string {
	name := strings.ToLower(strings.ReplaceAll(strings.Trim(k.spelling, "-=~"), "-", "_"))
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
		case k.has == "0": // which means another thing in each
			return ""
		case (k.kind == "accumulate" || k.divides() || number(k.has) > 0 && number(k.advice) > number(k.has)) && n < 1<<30: // more of it is less memory
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

// divides: a number by which the sides of pictures are divided, -1 for none, as
// Gaussian Splatting has it.
func (k *knob) divides() bool {
	return k.has == "-1" && (k.kind == "size" || k.kind == "tile") && number(k.advice) > 1 && number(k.advice) <= 8
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

// sentence is what to do with a knob, and the file in which or in whose command it
// is turned; "" where nothing is left to do: the reader has it so already, or there
// is no smaller value. before is the file of the sentence in front of it, "" for
// none.
func (k *knob) sentence(c *ledger.Case, ran []string, before string) (told, file string) {
	if file = k.of(ran); file == "" {
		file = k.files[0]
	}
	if k.kind == "gpu" { // which one is free only the reader sees
		where := " in `" + file + "`"
		if k.typed() {
			where = " in your `" + path.Base(file) + "` command"
		}
		return "`" + k.name() + "`" + where + " chooses it" + k.aside("") + ".", file
	}
	own := k.held(c)
	if len(own) > longestValue || strings.ContainsFunc(own, quote.UnsafeInShell) {
		own = ""
	}
	has := cmp.Or(own, k.has)
	if k.has == "on" || k.has == "off" {
		on := own != "" && !slices.Contains([]string{"false", "0", "no", "none"}, strings.ToLower(own))
		switch {
		case on == (k.has == "on"):
			return "", ""
		case k.has == "off":
			return k.told("Leave out", "`"+k.spelling+"`", "in", k.aside(""), file, before), file
		case !k.typed():
			return k.told("turn on", "`"+k.spelling+"`", "", k.aside(""), file, before), file
		}
		return k.told("Add", "`"+k.spelling+"`", "to", k.aside(""), file, before), file
	}
	value := k.wanted(has)
	switch {
	case value == "" || value == has:
		return "", ""
	case !k.typed() && has == "?":
		return k.told("set", "`"+k.spelling+"` to "+value, "", k.aside(""), file, before), file
	case !k.typed():
		return k.told("set", "`"+k.spelling+"` from "+has+" to "+value, "", k.aside(""), file, before), file
	case own != "":
		return k.told("Use", "`"+k.with(value)+"` instead of "+k.plain(has), "in", k.aside(""), file, before), file
	case has == "?":
		return k.told("Add", "`"+k.with(value)+"`", "to", k.aside(""), file, before), file
	}
	return k.told("Add", "`"+k.with(value)+"`", "to", k.aside("default "+k.plain(has)), file, before), file
}

// told puts together what is done with what, where (behind a word for it), and
// what to know besides. Behind a sentence on the same file it says no more where.
func (k *knob) told(verb, what, word, aside, file, before string) string {
	if before == file && verb == "Add" {
		return "Or " + what + aside + "."
	}
	if before != "" {
		verb = "Or " + strings.ToLower(verb)
	}
	switch {
	case before == file:
		return verb + " " + what + aside + "."
	case !k.typed() && before != "":
		return "Or, in `" + file + "`, " + strings.TrimPrefix(verb, "Or ") + " " + what + aside + "."
	case !k.typed():
		return "In `" + file + "`, " + verb + " " + what + aside + "."
	case strings.HasPrefix(k.spelling, "-"):
		return verb + " " + what + " " + word + " your `" + path.Base(file) + "` command" + aside + "."
	}
	return verb + " " + what + " at the end of your `" + path.Base(file) + "` command" + aside + "."
}

// plain is a value as it is typed: a comma stands for the blank between the values
// of an option, but within brackets for itself.
func (k *knob) plain(value string) string {
	if strings.HasSuffix(k.spelling, "=") || strings.ContainsAny(value, "[(") {
		return value
	}
	return strings.ReplaceAll(value, ",", " ")
}

// with is an option or a key with a value, as it is typed.
func (k *knob) with(value string) string {
	if strings.HasSuffix(k.spelling, "=") {
		return k.spelling + value
	}
	return k.name() + " " + k.plain(value)
}

// name is the spelling without the sign of how it is typed.
func (k *knob) name() string { return strings.TrimRight(k.spelling, "=~") }

// aside is what to know besides, in parentheses.
func (k *knob) aside(first string) string {
	parts := slices.DeleteFunc([]string{first, k.note}, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}
