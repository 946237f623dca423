package text

import (
	"slices"
	"strings"
)

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
	return strings.Join(Masked(strings.Fields(text), "..."), " ")
}

// Masked are the words of a command with a mask for every key and password.
func Masked(words []string, mask string) []string {
	out := slices.Clone(words)
	for i, word := range out {
		flag, _, joined := strings.Cut(word, "=")
		switch {
		case !IsFlag(flag) || !Secret(SettingName(flag)):
		case joined:
			out[i] = flag + "=" + mask
		case i+1 < len(out) && !IsFlag(out[i+1]):
			out[i+1] = mask
		}
	}
	return out
}

// Secret reports options whose value must not be repeated. Those that count
// tokens are none.
func Secret(name string) bool {
	last := name[strings.LastIndexByte(name, '_')+1:]
	if last == "tiktoken" {
		return false // a tokenizer
	}
	return strings.Contains(name, "password") || slices.ContainsFunc([]string{"key", "keys", "token", "auth", "secret"},
		func(word string) bool { return strings.HasSuffix(last, word) })
}
