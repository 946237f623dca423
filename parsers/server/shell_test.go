package server

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestShellWords(t *testing.T) {
	for text, want := range map[string][]string{
		`vllm serve a/b --x '{"image": 0}' -tp 2`:   {"vllm", "serve", "a/b", "--x", `{"image": 0}`, "-tp", "2"},
		`"vllm", "serve", "a/b", "--port", "8000"]`: {"vllm", "serve", "a/b", "--port", "8000"},
		``: nil,
	} {
		assert.Equal(t, want, shellWords(text), text)
	}
}
