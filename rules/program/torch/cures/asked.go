package cures

import (
	"path"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
)

// batchPlace is where the reader finds the batch size of a script that nothing is
// known of, "" where the log states it or does not tell.
func batchPlace(c *ledger.Case) string {
	if Batch(c)["batch"] != "" || SingleSample(c) {
		return ""
	}
	if file := Config(c); file != "" {
		return "set in `" + file + "`"
	}
	if script := asked(c); script != "" {
		return "`python " + script + " --help` shows whether it is an option"
	}
	if command := command(c); command != "" {
		return "`" + command + " --help` shows whether it is an option"
	}
	return ""
}

// said are words before an option in a sentence, not in a command, and launchers
// of a script.
var said = []string{"use", "try", "add", "with", "set", "pass", "run", "and", "the", "flag", "option", "launch", "torchrun", "accelerate", "deepspeed", "mpirun", "srun", "horovodrun", "nohup"}

// command is a program with options of its own that the log shows typed, "" for
// none: "$ stylegan2_pytorch --data faces --image-size 256".
func command(c *ledger.Case) string {
	for _, x := range c.Facts.Talk {
		words := strings.Fields(x.Text)
		if len(words) > 1 && strings.HasSuffix(words[0], "$") {
			words = words[1:]
		}
		if x.Line > c.Failure.Line || len(words) < 3 || !strings.HasPrefix(words[1], "--") || strings.Count(x.Text, " --") < 2 {
			continue
		}
		if name := words[0]; len(name) > 2 && strings.Trim(name, letters) == "" && !strings.Contains(name, ".") && !strings.HasPrefix(name, "-") && !slices.Contains(said, strings.ToLower(name)) {
			return name
		}
	}
	return ""
}

// parsed are names of what argparse and its like make of a command line.
var parsed = []string{"args", "opt", "opts", "flags", "parser"}

// asked is a script of the reader's own that says with --help what its options
// are, "" where nothing shows that it has some: argparse answers before the
// script does anything else.
func asked(c *ledger.Case) string {
	for _, f := range c.Facts.Code { // as it was typed
		if f.Own && f.Function == "" && strings.Contains(f.Args, " --") {
			return plainScript(f.File)
		}
	}
	own := ownWords(c)
	if !slices.ContainsFunc(parsed, func(word string) bool { return own[word] }) {
		return ""
	}
	for _, f := range ledger.Trace(c) {
		if f.Own && f.Function == "<module>" {
			return plainScript(strings.TrimPrefix(strings.ReplaceAll(f.File, `\`, "/"), "./"))
		}
	}
	return ""
}

// plainScript is a script's name as it is typed in its folder, "" for one that a
// shell would have to be told about.
func plainScript(file string) string {
	if strings.HasPrefix(file, "/") || strings.Contains(file, ":") {
		file = path.Base(file)
	}
	if !strings.HasSuffix(file, ".py") || strings.Trim(file, letters+"/") != "" || strings.HasPrefix(file, "-") {
		return ""
	}
	return file
}

// converts are words in names of scripts that turn weights into another form.
var converts = []string{"convert", "converter", "conversion", "export", "merge"}

// Converting: the script that ran is one of those. It trains nothing, whatever the
// names of its arguments say.
func Converting(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(f fact.Code) bool {
		if !f.Own || f.Function != "" && f.Function != "<module>" {
			return false
		}
		name := f.File[strings.LastIndexAny(f.File, `/\`)+1:]
		for word := range reader.Words(name) {
			if slices.Contains(converts, word) {
				return true
			}
		}
		return strings.Contains(name, "to_hf")
	})
}
