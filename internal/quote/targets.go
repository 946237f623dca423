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
		"yaml": JSON, "toml": JSON, "modelfile": Modelfile, "systemd": Systemd, "dockerfile": Dockerfile,
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

// JSON returns s as a string of JSON, which YAML and TOML read alike.
func JSON(s string) string {
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
