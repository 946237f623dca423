// Package command edits the llama.cpp command that the reader typed.
package command

import (
	"path"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/redact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// longNames are llama.cpp's options by their short name.
var longNames = map[string][]string{
	"-ngl": {"--n-gpu-layers", "--gpu-layers"}, "-c": {"--ctx-size"}, "-b": {"--batch-size"}, "-ub": {"--ubatch-size"}, "-fa": {"--flash-attn"},
	"-ctk": {"--cache-type-k"}, "-ctv": {"--cache-type-v"}, "-ts": {"--tensor-split"}, "--n-cpu-moe": {"-ncmoe"}, "--parallel": {"-np"}, "-cram": {"--cache-ram"},
}

// binaries are llama.cpp's and those of its forks, which a command that is
// printed again may start.
var binaries = []string{"llama-server", "llama-cli", "llama-run", "llama-mtmd-cli", "main", "server", "qwen", "whisper-cli"}

// longestCommand is what somebody still reads on the page.
const longestCommand = 300

// Edited is the reader's own command with some options set, ok false where the
// log shows none, or one that more than words and options stand in.
func Edited(c *ledger.Case, options string) (command string, ok bool) {
	signal := c.Signal("llama_command")
	if signal == nil || len(signal.Text) > longestCommand || strings.Contains(signal.Text, "llama-bench") {
		return "", false
	}
	words, ok := Words(signal.Text, c.Windows())
	if !ok || len(words) < 3 || !slices.Contains(binaries, binary(words[0])) {
		return "", false
	}
	if c.Windows() && step.Word(c, words[0]) != words[0] {
		return "", false // PowerShell starts nothing that stands in quotes
	}
	if modelMissing(words) {
		return "", false
	}
	for i, w := range words[1:] {
		if w == "" && slices.Contains([]string{"-p", "--prompt"}, words[i]) {
			words[i+1] = "PROMPT" // what was asked is not repeated
		}
	}
	changes := strings.Fields(options)
	for len(changes) > 0 {
		flag, value := changes[0], ""
		changes = changes[1:]
		if len(changes) > 0 && !strings.HasPrefix(changes[0], "-") {
			value, changes = changes[0], changes[1:]
		}
		words = with(words, flag, value)
	}
	for i, w := range words {
		if i == 0 || !isFlag(w) {
			words[i] = step.Word(c, w)
			if strings.HasPrefix(w, "~/") {
				words[i] = "~/" + step.Word(c, w[2:])
			}
			continue
		}
		flag, value, joined := strings.Cut(w, "=")
		if words[i] = step.SafeFlag(flag); joined {
			words[i] += "=" + step.Word(c, value)
		}
	}
	return strings.Join(words, " "), true
}

// modelMissing: the option that names the model stands without it, as where
// somebody took a path out.
func modelMissing(words []string) bool {
	for i, w := range words {
		if slices.Contains([]string{"-m", "--model", "-hf", "--hf-repo"}, w) && (i+1 == len(words) || isFlag(words[i+1])) {
			return true
		}
	}
	return false
}

// ContextUnset: the log shows the command, and it sets no context.
func ContextUnset(c *ledger.Case) bool {
	signal := c.Signal("llama_command")
	if signal == nil {
		return false
	}
	words := strings.Fields(signal.Text)
	return !slices.ContainsFunc(words, func(w string) bool { return w == "-c" || strings.HasPrefix(w, "--ctx-size") })
}

// binary is the name of the program that a command starts.
func binary(word string) string {
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(word, `\`, "/")), ".exe")
}

// with sets one option of a command where it stands, else at its end.
func with(words []string, flag, value string) []string {
	at := slices.IndexFunc(words, func(w string) bool { return w == flag || slices.Contains(longNames[flag], w) })
	switch {
	case at < 0 && value == "":
		return append(words, flag)
	case at < 0:
		return append(words, flag, value)
	case value == "":
		return words
	case at+1 == len(words) || isFlag(words[at+1]):
		return slices.Insert(words, at+1, value)
	}
	words[at+1] = value
	return words
}

func isFlag(w string) bool {
	return len(w) > 1 && w[0] == '-' && (w[1] < '0' || w[1] > '9')
}

// Words are the words of a command line; ok is false where a quote stays
// open or the shell would do more than pass words on.
func Words(line string, windows bool) (words []string, ok bool) {
	word, in, open := "", byte(0), false
	for i := range len(line) {
		ch := line[i]
		switch {
		case in != 0 && ch == in:
			in = 0
		case in != 0:
			word += string(ch)
		case ch == '"' || ch == '\'':
			in, open = ch, true
		case ch == ' ' || ch == '\t':
			if open {
				words = append(words, word)
			}
			word, open = "", false
		case ch == '\\' && windows:
			word, open = word+string(ch), true
		case strings.IndexByte("`$;|&<>(){}#*\\", ch) >= 0 || ch < ' ' && ch != redact.Variable[0] || ch > '~':
			return nil, false
		default:
			word, open = word+string(ch), true
		}
	}
	if open {
		words = append(words, word)
	}
	return words, in == 0
}

// Add is one setting on llama.cpp's command line: in the reader's own command
// where the log shows it, else what to add to it.
func Add(c *ledger.Case, setting string) step.Step {
	if command, ok := Edited(c, setting); ok {
		return step.Step{Kind: "shell", Text: command}
	}
	return step.Step{Kind: "text", Text: "Add `" + setting + "` to " + whose(c) + "."}
}

// whose is where the reader keeps the options.
func whose(c *ledger.Case) string {
	if c.Contains("-1  | ") { // docker compose
		return "`command:` in your compose file"
	}
	return "your command"
}
