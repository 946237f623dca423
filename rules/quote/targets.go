package quote

import (
	"encoding/json"
	"strings"

	"github.com/oomdoc/oomdoc/internal/redact"
)

// For returns what makes a text of a log one word or value for a target, as
// steps name theirs; nil for a target of words and clicks. Every target has one
// quoter, and each result is safe alone where the target takes a value.
func For(target string) func(string) string {
	quoted := map[string]func(string) string{
		"sh": Shell, "cmd": Windows, "bat": Bat, "powershell": PowerShell, "python": Python,
		"yaml": YAML, "toml": TOML, "modelfile": Modelfile, "systemd": Systemd, "dockerfile": Dockerfile,
	}[target]
	if quoted == nil {
		return nil
	}
	return func(s string) string {
		name, secret := strings.CutPrefix(s, redact.Variable)
		switch {
		case !secret, target == "sh", target == "python":
			return quoted(s)
		case target == "powershell":
			return `"$env:` + name + `"`
		}
		return Value
	}
}

// Double returns s for the inside of double quotes of a POSIX shell. A "!" goes
// into single quotes between two pairs: typed into bash it recalls a command.
func Double(s string) string {
	return escape(Printable(s), func(r rune) string {
		switch r {
		case '\\', '"', '$', '`':
			return `\` + string(r)
		case '!':
			return `"'!'"`
		}
		return string(r)
	})
}

// Value stands in commands for what [Windows] cannot quote.
const Value = "VALUE"

// Windows returns s as one word that cmd.exe and PowerShell take alike, since
// nobody knows into which of them a command is pasted: unchanged when it has
// only safe characters, else in double quotes. There is no way to write what one
// of them expands also within quotes ("%", "$", back-ticks, "!", quotes of any
// kind): those become the placeholder [Value].
func Windows(s string) string {
	s = Printable(s)
	switch {
	case strings.ContainsFunc(s, expandedOnWindows):
		return Value
	case strings.HasPrefix(s, "-"):
		s = `.\` + s
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r != '\\' && r != ':' && unsafeOnWindows(r) }) {
		return s
	}
	// Before the closing quote the C run time halves backslashes.
	bare := strings.TrimRight(s, `\`)
	return `"` + bare + strings.Repeat(`\`, 2*(len(s)-len(bare))) + `"`
}

func unsafeOnWindows(r rune) bool { return UnsafeInShell(r) || r == '@' || r == ',' || r == '=' }

// expandedOnWindows reports what cmd.exe or PowerShell reads within double
// quotes. PowerShell takes typographic quotes for its own.
func expandedOnWindows(r rune) bool { return strings.ContainsRune("%!$`\"“”„‟‘’‚‛", r) }

// Cmd returns s as one word for the prompt of cmd.exe alone. The quotes are
// escaped like all else, so that cmd.exe itself never is within quotes: there a
// caret would be one more character. Percent signs are looked at before carets:
// one behind each makes the name of a variable that there is not.
func Cmd(s string) string {
	percent := false
	return escape(argument(Printable(s)), func(r rune) string {
		behind := percent
		percent = r == '%'
		if behind || strings.ContainsRune("()%!^\"<>&|", r) {
			return "^" + string(r)
		}
		return string(r)
	})
}

// Bat returns s for what follows `set NAME=` in a batch file: no word, but all
// that is left of the line.
func Bat(s string) string {
	return escape(Printable(s), func(r rune) string {
		switch {
		case r == '%':
			return "%%"
		case strings.ContainsRune("()!^\"<>&|", r):
			return "^" + string(r)
		}
		return string(r)
	})
}

// argument is a word as the C run time of Windows reads it from a command line.
func argument(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	backslashes := 0
	for _, r := range s {
		switch r {
		case '\\':
			backslashes++
		case '"':
			b.WriteString(strings.Repeat(`\`, backslashes+1)) // as many again, and one for the quote
			backslashes = 0
		default:
			backslashes = 0
		}
		b.WriteRune(r)
	}
	b.WriteString(strings.Repeat(`\`, backslashes) + `"`)
	return b.String()
}

// PowerShell returns s as a string of PowerShell that it expands nothing in.
func PowerShell(s string) string {
	s = Printable(s)
	if strings.HasPrefix(s, "-") {
		s = "./" + s
	}
	return "'" + escape(s, func(r rune) string {
		if strings.ContainsRune("'‘’‚‛", r) { // each of them ends a string
			return string(r) + string(r)
		}
		return string(r)
	}) + "'"
}

// YAML returns s as a string of YAML: JSON's are.
func YAML(s string) string { return jsonString(s) }

// TOML returns s as a basic string of TOML, which has JSON's escapes.
func TOML(s string) string { return jsonString(s) }

func jsonString(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(Printable(s)) // a string always can be
	return strings.TrimSuffix(b.String(), "\n")
}

// Modelfile returns s as the value of an instruction of Ollama's Modelfile: the
// rest of the line is taken as it stands, unless a quote begins it.
func Modelfile(s string) string {
	s = strings.TrimSpace(Printable(s))
	if strings.HasPrefix(s, `"`) {
		return `"""` + strings.ReplaceAll(s, `"`, "") + `"""` // no name has them
	}
	return s
}

// Systemd returns s for the inside of double quotes of Environment= in a unit.
func Systemd(s string) string {
	return escape(Printable(s), func(r rune) string {
		switch r {
		case '\\', '"':
			return `\` + string(r)
		case '%':
			return "%%"
		}
		return string(r)
	})
}

// Dockerfile returns s as a value of ENV or ARG.
func Dockerfile(s string) string {
	return `"` + escape(Printable(s), func(r rune) string {
		if r == '\\' || r == '"' || r == '$' {
			return `\` + string(r)
		}
		return string(r)
	}) + `"`
}

// escape writes each character of a text as f has it.
func escape(s string, f func(rune) string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteString(f(r))
	}
	return b.String()
}
