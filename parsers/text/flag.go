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
