package redact

import (
	"slices"
	"strings"
)

// Variable begins a word that stands in a command for a key, a password or a value
// that the reader's shell has: the name of an environment variable follows, which is printed in its place. No log
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

// OwnVariables keeps a variable of the reader's that is a whole word or a whole
// value (`$MODEL`, `--port=${PORT}`) as [Variable] and its name: the shell in which
// the command was typed knows it. A command ends before any other "$", and before
// the option whose value it is.
func OwnVariables(words []string) []string {
	var out []string
	for _, w := range words {
		flag, value, joined := strings.Cut(w, "=")
		if !joined || !option(flag) {
			flag, value = "", w
		}
		before := flag
		if n := len(out); flag == "" && n > 0 {
			before = out[n-1]
		}
		name, known := plainVariable(value)
		known = known && (SecretOption(before) || !SecretOption("--"+name)) // no key becomes a model's name
		switch {
		case known && flag != "":
			out = append(out, flag+"="+Variable+name)
		case known:
			out = append(out, Variable+name)
		case strings.Contains(w, "$"):
			if flag == "" && option(before) {
				out = out[:len(out)-1]
			}
			return out
		default:
			out = append(out, w)
		}
	}
	return out
}

// plainVariable is the name in `$NAME` or `${NAME}`.
func plainVariable(word string) (name string, ok bool) {
	name, ok = strings.CutPrefix(word, "$")
	if inner, braced := strings.CutPrefix(name, "{"); braced {
		name, ok = strings.CutSuffix(inner, "}")
	}
	plain := strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
	return name, ok && name != "" && len(name) <= 40 && plain && (name[0] < '0' || name[0] > '9')
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
