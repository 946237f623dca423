// Package activity reads what a program was doing when something killed it without
// a word, from its command and its last lines, and has the cards for each kind of
// work.
package activity

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/host/platforms"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Training: something was trained, or a loop counted its steps with a loss.
func Training(c *ledger.Case) bool {
	s := c.Signal("many_steps")
	return c.Training() || s != nil && strings.Contains(strings.ToLower(s.Text), "loss")
}

// lastLines are how many lines before the kill tell what was going on; of three
// that count, the next number is close.
const (
	lastLines = 8
	inARow    = 3
)

// last are the program's last lines before the kill, the nearest first.
func last(c *ledger.Case) (out []string) {
	for _, x := range slices.Backward(c.Facts.Talk) {
		if x.Line < c.Failure.Line && strings.TrimSpace(x.Text) != "" {
			out = append(out, x.Text)
		}
	}
	return out
}

// command are the words of what was started, and its pairs of words: the scripts,
// and what a shell names beside the kill, up to the first option.
func command(c *ledger.Case) (out []string) {
	for _, x := range c.Facts.Code {
		if x.Args != "" || x.Own && x.Source == "" {
			out = slices.AppendSeq(out, reader.Words(path.Base(x.File)))
		}
	}
	for _, x := range c.Facts.Talk {
		script, what, found := strings.Cut(x.Text, "illed ")
		if found = found && x.Line == c.Failure.Line; !found && strings.HasPrefix(strings.TrimLeft(x.Text, "$ "), "python") {
			what, found = strings.Replace(x.Text, " -m ", " ", 1), true
		}
		script, _, shell := strings.Cut(script, ".sh: ")
		if what, _, _ = strings.Cut(what, " -"); found && shell {
			what += " " + path.Base(script)
		}
		if found {
			out = slices.AppendSeq(out, reader.Words(what))
		}
	}
	for i := range max(len(out)-1, 0) {
		out = append(out, out[i]+out[i+1])
	}
	return out
}

// installs: the last lines are those of something that installs or fetches.
var installs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\btriggers for\b|\.whl|metadata|to unpack|package lists|\bobjects:`)
})

// does reports that one of the last lines begins with such a word, or, where none
// tells of another work, that the command is named so. In a training only the
// lines count: its script prepares and evaluates too.
func (w *work) does(c *ledger.Case) bool {
	lines := last(c)
	if w.inPython && c.Reader.Language != "python" && !ledger.RunsModels(c) || slices.ContainsFunc(lines[:min(3, len(lines))], installs().MatchString) {
		return false
	}
	if toGGUF(c) {
		return false
	} else if weights(c) {
		return w.id == "converting"
	} else if w.id == "converting" {
		return false
	}
	for n, line := range lines[:min(lastLines, len(lines))] {
		words := slices.Collect(reader.Words(line))
		if slices.ContainsFunc(words[:min(4, len(words))], func(w string) bool { return w == "finish" || w == "finished" || w == "done" }) {
			continue // with that work
		}
		for _, word := range words[:min(4, len(words))] {
			i := slices.IndexFunc(works, func(x work) bool { return slices.Contains(strings.Fields(x.says), word) })
			if i >= 0 && (n == 0 || works[i].long) {
				return &works[i] == w && (w.id == "saving" || !Training(c) || c.Signal("many_steps", "few_steps") == nil) && !(w.id == "reading" && ReadsModel(c))
			}
		}
	}
	i := slices.IndexFunc(works, func(x work) bool {
		return slices.ContainsFunc(command(c), func(word string) bool { return slices.Contains(strings.Fields(x.named), word) })
	})
	return i >= 0 && &works[i] == w && !Training(c)
}

// Prepares: what was started is named as something that prepares data.
func Prepares(c *ledger.Case) bool {
	words, named := command(c), strings.Fields(works[len(works)-1].named)
	for _, x := range c.Facts.Code {
		if x.Function == "<module>" && x.Own && x.Line <= c.Failure.Line {
			words = slices.AppendSeq(words, reader.Words(path.Base(x.File)))
			break // those below it are imported
		}
	}
	return !Training(c) && slices.ContainsFunc(words, func(word string) bool { return slices.Contains(named, word) })
}

// Forked: Python found semaphores that its worker processes had left behind; a
// single one is that of a progress bar.
func Forked(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Talk, func(x fact.Word) bool {
		return strings.Contains(x.Text, " leaked semaphore") && !strings.Contains(x.Text, " 1 leaked")
	})
}

// weights: a conversion of the weights of a model, by its command, or by a file of
// them in its last lines.
func weights(c *ledger.Case) bool {
	of := func(words string) bool {
		return slices.ContainsFunc(command(c), func(word string) bool { return slices.Contains(strings.Fields(words), word) })
	}
	lines := last(c)
	return of("convert converter conversion") && (of("checkpoint checkpoints weights hf safetensors pth ckpt pytorch llama model") || len(lines) > 0 && modelParts().MatchString(lines[0]))
}

// toGGUF: the last line is one tensor's of llama.cpp's converters:
// "blk.3.ffn_up.weight, n_dims = 2, torch.bfloat16 --> float16", "... --> F16".
func toGGUF(c *ledger.Case) bool {
	lines := last(c)
	return len(lines) > 0 && strings.Contains(lines[0], "torch.") && strings.Contains(lines[0], " --> ")
}

var modelParts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`pytorch_model|model-\d{5}-of-|consolidated\.\d|\.safetensors`)
})

// parameters are those in a name or option: "7B", "llama-13b".
var parameters = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(?:^|[\s/_-])(\d{1,3}(?:\.\d)?)b\b`) })

// ofModel is what the weights of the model that the command names take.
func ofModel(c *ledger.Case) string {
	for _, x := range c.Facts.Talk {
		if m := parameters().FindStringSubmatch(x.Text); m != nil && x.Line <= c.Failure.Line {
			n, _ := strconv.ParseFloat(m[1], 64)
			if n >= 0.5 && n < 700 {
				return m[1] + " billion parameters take " + units.Amount(int64(n*2e9)) + " in 16 bit, " + units.Amount(int64(n*4e9)) + " in 32."
			}
		}
	}
	return ""
}

// own is what a program prints of the memory of its process.
var own = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:rss\b|\bmem(?:ory)? (?:usage|used|consumption)|\bram usage)[^\d\n]{0,24}(\d{1,9}(?:\.\d{1,3})?) ?([kmg])i?b\b`)
})

// held is the last such figure before the end, "" where none is printed.
func held(c *ledger.Case) (amount string) {
	for _, x := range c.Facts.Talk {
		if m := own().FindStringSubmatch(x.Text); m != nil && x.Line <= c.Failure.Line && !aside().MatchString(x.Text) {
			n, _ := strconv.ParseFloat(m[1], 64)
			amount = units.Amount(int64(n * float64(map[string]int64{"k": units.KiB, "m": units.MiB, "g": units.GiB}[strings.ToLower(m[2])])))
		}
	}
	return amount
}

var aside = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)gpu|cuda|vram`) })

var modelFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)load.{0,60}(?:\.(?:pth?|ckpt|bin|safetensors|gguf|h5|onnx)\b|model|weights|checkpoint)`)
})

// ReadsModel: the last line before the kill names the file of a model.
func ReadsModel(c *ledger.Case) bool {
	lines := last(c)
	return len(lines) > 0 && modelFile().MatchString(lines[0])
}

// loopDone: a progress bar stood at its end just before the kill, not one of an
// epoch.
func loopDone(c *ledger.Case) bool {
	n, m := bar(c)
	return n > 0 && n >= m-m/100 && m > 0 && !strings.Contains(strings.ToLower(c.Signal("many_steps").Text), "loss") && !strings.Contains(strings.ToLower(c.Signal("many_steps").Text), "epoch")
}

// inLoop: a progress bar or lines had counted much of a loop, which is no training.
func inLoop(c *ledger.Case) bool {
	n, m := bar(c)
	return !Training(c) && (n >= 10 && n < m-m/100 || counted(c) >= 10)
}

// bar is what a progress bar close before the failure had counted, 0 without one.
func bar(c *ledger.Case) (done, all int64) {
	s := c.Signal("many_steps")
	if s == nil || s.Line > c.Failure.EndLine || c.Failure.Line-s.Line > 3 {
		return 0, 0
	}
	counted := s.Text[:max(0, strings.Index(s.Text, " ["))]
	before, after, _ := strings.Cut(counted[strings.LastIndexAny(counted, "| ")+1:], "/")
	done, _ = strconv.ParseInt(before, 10, 64)
	all, _ = strconv.ParseInt(after, 10, 64)
	return done, all
}

// count is a number that a line counts to: the one behind such a word, or the
// first of the line.
var (
	countWord = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:processed|processing|finished|done|saved|converted|written|wrote|loaded|read|image|frame|file|row|block|page|sample|batch)s?\b\D{0,12}(\d{1,9})\b`)
	})
	firstCount = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\D{0,30}\b(\d{1,9})\b`) })
)

// counted is what the last lines had counted to: three in a row that rise, or one
// that says so; 0 where none does.
func counted(c *ledger.Case) (n int64) {
	lines := last(c)
	for i, line := range lines[:min(inARow, len(lines))] {
		m := countWord().FindStringSubmatch(line)
		if first := firstCount().FindStringSubmatch(line); m == nil {
			m = first
		}
		if m == nil {
			return 0
		}
		at, _ := strconv.ParseInt(m[1], 10, 64)
		switch {
		case i == 0:
			n = at
			if countWord().MatchString(line) && n >= 100 {
				return n
			}
		case at >= n-int64(i)+1 || n < 10:
			return 0
		}
	}
	if len(lines) < inARow {
		return 0
	}
	return n
}

// requests are how many had been answered, as the last lines show; Ultralytics
// counts the images of each call.
func requests(c *ledger.Case) (n int) {
	for _, line := range last(c) {
		if answered().MatchString(line) {
			n++
		}
	}
	return n
}

var answered = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"(?:GET|POST|PUT) [^"]{1,200}" 200|(?:^|\d )image 1/1 /`)
})

// calibrated: llm-compressor's "Quantizing model.layers.3.mlp.up_proj using 512 samples".
var calibrated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`using ([1-9]\d{0,6}) samples`) })

// stage is a line of words, and no command.
var stage = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s{0,8}[A-Z(\[]?[a-z]+[\]):]? [A-Za-z][A-Za-z0-9 ()\[\]/.,:;'%&+_-]{2,70}$`)
})

// code begins or ends a line of a program or a command, which is no message.
var code = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:raise|return|for|with|import|from|if|def|python3?|pip|sudo|make|bash|sh|cd|warnings)\b|[(=]$`)
})

// started is what many tools print of their threads.
var started = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(\d{1,3}) (?:threads|cores|processes|workers)\b`)
})

// option says what the typed options make of the need: processes, and the size of
// a part.
func option(c *ledger.Case) string {
	typed := slices.Clone(c.Facts.Settings)
	texts := make([]string, 0, len(c.Facts.Talk))
	for _, x := range c.Facts.Code {
		texts = append(texts, x.Args)
	}
	for _, x := range c.Facts.Talk {
		if strings.Count(x.Text, " -") > 1 { // a command
			texts = append(texts, x.Text)
		}
	}
	for _, text := range texts {
		words := strings.Fields(text)
		for i := range max(len(words)-1, 0) {
			typed = append(typed, fact.Setting{Flag: words[i], Value: words[i+1]})
		}
	}
	for _, kind := range [...]struct{ words, advice string }{
		{"workers worker jobs threads thread proc procs processes nproc cores cpus", ": try 1."},
		{"shard chunk samples block", ": try a quarter."},
		{"p t j", ": if that is the number of threads, try 1."},
	} {
		for _, s := range typed {
			n, err := strconv.Atoi(s.Value)
			if err == nil && n > 1 && strings.HasPrefix(s.Flag, "-") && slices.ContainsFunc(slices.Collect(reader.Words(s.Flag)), func(w string) bool { return slices.Contains(strings.Fields(kind.words), w) }) {
				return "Your command has `" + step.OptionName(s) + " " + strconv.Itoa(n) + "`" + kind.advice
			}
		}
	}
	if m := started().FindStringSubmatch(strings.Join(last(c), "\n")); m != nil && m[1] != "1" {
		return "It started with " + m[0] + ": try 1."
	}
	return ""
}

// Figures are what sentences about such a kill name.
func Figures(c *ledger.Case) map[string]string {
	out := map[string]string{"gpu": platforms.Graphics(c), "option": option(c), "requests": strconv.Itoa(requests(c)), "when": "", "samples": "", "stage": "", "model": ofModel(c), "held": held(c)}
	if m := calibrated().FindStringSubmatch(strings.Join(last(c), "\n")); m != nil {
		out["samples"] = m[1]
	}
	if lines := last(c); len(lines) > 0 && stage().MatchString(lines[0]) && !code().MatchString(lines[0]) {
		out["stage"] = strings.TrimSpace(lines[0])
	}
	switch n, m := bar(c); {
	case m > 0 && n >= m-m/100:
		out["when"] = "A loop of " + ledger.Thousands(m) + " had just finished: what follows (joining all results, turning a list into one array, writing it out) often needs a second copy of everything."
	case n >= 10 && n < m:
		out["when"] = "The loop had done " + ledger.Thousands(n) + " of " + ledger.Thousands(m) + ": if each keeps something, all of them need " + strconv.FormatFloat(float64(m)/float64(n), 'f', 1, 64) + " times as much RAM."
	case counted(c) >= 10:
		out["when"] = "Its lines had counted to " + ledger.Thousands(counted(c)) + ": either memory grows with the number of items, or a later one is much larger."
	}
	return out
}
