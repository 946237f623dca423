package redact

import (
	"slices"
	"strings"
)

// Variable begins a word that stands for a key or a password in a command: the
// name of an environment variable follows, which is printed in its place. No log
// can hold it, since control characters are taken off.
const Variable = "\x01"

// Command returns the words of a command with [Variable] and a name in place of
// every key and password. The name begins with the program's, so that no log has
// a variable of its own choice printed.
func Command(words []string, program string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		flag, value, joined := strings.Cut(words[i], "=")
		switch {
		case !SecretOption(flag):
			out = append(out, words[i])
			continue
		case joined:
			out = append(out, flag+"="+variable(flag, program))
		case i+1 == len(words) || option(words[i+1]):
			out = append(out, flag)
			continue
		default:
			i++
			value = words[i]
			out = append(out, flag, variable(flag, program))
		}
		i += restOfString(value, words[i+1:])
	}
	return out
}

// CommandLine is [Command] for a line as it was typed.
func CommandLine(line, program string) string {
	return strings.Join(Command(strings.Fields(line), program), " ")
}

// SecretOption reports an option whose value must not be repeated: --api-key,
// --gradio-auth. Those that count tokens are none.
func SecretOption(flag string) bool {
	name := optionName(flag)
	last := name[strings.LastIndexByte(name, '_')+1:]
	if !option(flag) || last == "tiktoken" {
		return false // a tokenizer
	}
	return strings.Contains(name, "password") || slices.ContainsFunc([]string{"key", "keys", "token", "auth", "secret"},
		func(word string) bool { return strings.HasSuffix(last, word) })
}

func option(word string) bool {
	name := strings.TrimLeft(word, "-")
	return len(name) < len(word) && name != "" && (name[0]|0x20) >= 'a' && (name[0]|0x20) <= 'z'
}

func optionName(flag string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimLeft(flag, "-")), "-", "_")
}

// restOfString counts the words that still belong to a value in quotes.
func restOfString(value string, words []string) int {
	if value == "" || value[0] != '\'' && value[0] != '"' || len(value) > 1 && value[len(value)-1] == value[0] {
		return 0
	}
	end := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, value[:1]) })
	if end < 0 {
		return len(words) // cut: nobody knows where it ends
	}
	return end + 1
}

// variable names the environment variable for the value of an option: the one
// that the program itself reads, where it has one (VLLM_API_KEY, LLAMA_API_KEY,
// HF_TOKEN).
func variable(flag, program string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, strings.ToUpper(optionName(flag)))
	if name == "HF_TOKEN" || strings.HasPrefix(name, program+"_") {
		return Variable + name
	}
	return Variable + program + "_" + name
}
