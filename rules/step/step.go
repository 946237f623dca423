// Package step makes the steps of a fix: commands, edits of the log's own
// command lines, snippets.
package step

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Step is one thing to paste or do.
type Step struct {
	Kind string `json:"kind"` // shell, python, config, env, modelfile, ui, text
	Text string `json:"text"`
	// For is the case for which it is meant, where the log leaves several:
	// "Training", "Pictures".
	For string `json:"for,omitempty"`
	// Applies is as_is (can be pasted), fill_in (after putting in what Fill
	// names) or adapt (words, or a pattern for code of one's own).
	Applies string `json:"applies,omitempty"`
	Fill    []Fill `json:"fill,omitempty"`
	// Target is what the text is quoted for: sh, cmd (PowerShell takes it, too),
	// powershell, yaml, toml, python, dockerfile, modelfile, ui, text. [Marked]
	// fills it in where the kind and the reader's system say it.
	Target string `json:"target,omitempty"`
}

// Fill is a placeholder of a step.
type Fill struct {
	Name string `json:"name"`
	With string `json:"with"`
}

// Paste makes the steps of a fix that is the same for everybody.
func Paste(kind, text string) func(*ledger.Case) []Step {
	return func(*ledger.Case) []Step { return []Step{{Kind: kind, Text: text}} }
}

// Environ sets an environment variable for what is started afterwards.
func Environ(c *ledger.Case, name, value string) Step {
	switch {
	case c.Signal("notebook") != nil:
		return Step{Kind: "python", Text: fmt.Sprintf("# first cell, after a restart of the kernel, before other imports\nimport os\nos.environ[%s] = %s", quote.Python(name), quote.Python(value))}
	case c.Windows():
		return Step{Kind: "env", Text: fmt.Sprintf("set %s=%s\n$env:%[1]s = \"%[2]s\"   # instead, in PowerShell", name, value)}
	}
	text := "export " + name + "=" + value
	if c.Reader.OS == "" && len(text) < 60 {
		text += "   # Windows: set " + name + "=" + value
	}
	return Step{Kind: "env", Text: text}
}
