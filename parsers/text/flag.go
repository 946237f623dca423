package text

import "strings"

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

// WithoutSecrets is a command line to quote, its keys and passwords left out.
func WithoutSecrets(text string) string {
	words := strings.Fields(text)
	hide := false
	for i, word := range words {
		name, _, given := strings.Cut(word, "=")
		switch {
		case IsFlag(word) && Secret(SettingName(name)):
			if hide = !given; given {
				words[i] = name + "=..."
			}
		case IsFlag(word):
			hide = false
		case hide:
			words[i] = "..."
			hide = false
		}
	}
	return strings.Join(words, " ")
}

// Secret reports options whose value must not be repeated.
func Secret(name string) bool {
	for _, word := range [...]string{"key", "token", "password", "auth", "secret"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
