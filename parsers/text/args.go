package text

import "strings"

// Argument is one pair of a printed list of arguments.
type Argument struct {
	Name, Value string
	quoted      bool
}

// maxArguments bounds what is read of one printed list.
const maxArguments = 300

// PythonArguments reads the repr of a namespace, a dataclass or a dict from
// inside its bracket on: "host=None, model='a/b', seeds=[1, 2])" or
// "'model': 'a/b', 'dtype': None}". It stops at the closing bracket or where
// the text is no pair any more.
func PythonArguments(s string) []Argument {
	var out []Argument
	for len(out) < maxArguments {
		s = strings.TrimLeft(s, " ,")
		name, rest, ok := argumentName(s)
		if !ok {
			return out
		}
		n := valueLen(rest)
		value := strings.TrimSpace(rest[:n])
		out = append(out, unquoted(name, value))
		s = rest[n:]
	}
	return out
}

// argumentName takes "name=", "name:" or "'name':" off.
func argumentName(s string) (name, rest string, ok bool) {
	quote := ""
	if s != "" && (s[0] == '\'' || s[0] == '"') {
		quote, s = s[:1], s[1:]
	}
	n := 0
	for n < len(s) && n < 64 && (s[n] == '_' || s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z' || s[n] >= '0' && s[n] <= '9' || s[n] == '-') {
		n++
	}
	if n == 0 || !strings.HasPrefix(s[n:], quote) {
		return "", "", false
	}
	rest = strings.TrimLeft(s[n+len(quote):], " ")
	if rest == "" || rest[0] != '=' && rest[0] != ':' {
		return "", "", false
	}
	return strings.ToLower(s[:n]), strings.TrimLeft(rest[1:], " "), true
}

// valueLen returns how long the value is that s begins with: up to the comma or
// closing bracket that ends it.
func valueLen(s string) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(' || c == '[' || c == '{' || c == '<':
			depth++
		case c == ')' || c == ']' || c == '}' || c == '>':
			if depth == 0 {
				return i
			}
			depth--
		case c == ',' && depth == 0:
			return i
		}
	}
	return len(s)
}

func unquoted(name, value string) Argument {
	if n := len(value); n >= 2 && (value[0] == '\'' || value[0] == '"') && value[n-1] == value[0] {
		return Argument{name, value[1 : n-1], true}
	}
	// Rust prints Some(4), Python <LoadFormat.AUTO: 'auto'>.
	if inner, ok := strings.CutPrefix(value, "Some("); ok {
		return unquoted(name, strings.TrimRight(strings.TrimSuffix(inner, ")"), ", "))
	}
	return Argument{name, value, false}
}

// Simple reports a value that the program was told and that can be put on a
// command line as it is.
func (a Argument) Simple() bool {
	unset := a.Value == "" || a.Value == "None" && !a.quoted || a.Value == "null"
	return !unset && (a.quoted || !strings.ContainsAny(a.Value[:1], "[{(<"))
}

// IsFlag reports a word of a command line that is an option.
func IsFlag(word string) bool {
	name := strings.TrimLeft(word, "-")
	dashes := len(word) - len(name)
	return dashes >= 1 && dashes <= 2 && name != "" && (name[0]|0x20) >= 'a' && (name[0]|0x20) <= 'z'
}

// SettingName normalises the spelling of an option.
func SettingName(flag string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimLeft(flag, "-")), "-", "_")
}
