package argv

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestClosed(t *testing.T) {
	for in, want := range map[string][2]string{
		"vllm serve a/b --trust-remote-code --max-model-len 4096":                 {"vllm serve a/b --max-model-len 4096", "--trust-remote-code"},
		"vllm serve --trust-remote-code a/b":                                      {"vllm serve a/b", "--trust-remote-code"},
		"vllm serve a/b --host 0.0.0.0 --port 1":                                  {"vllm serve a/b --port 1", "--host"},
		"vllm serve a/b --host 127.0.0.1 --allowed-local-media-path /":            {"vllm serve a/b --host 127.0.0.1", "--allowed-local-media-path"},
		"vllm serve a/b --allowed-local-media-path=/ --x":                         {"vllm serve a/b --x", "--allowed-local-media-path"},
		"vllm serve a/b --tool-parser-plugin /x.py --chat-template https://e/x.j": {"vllm serve a/b", "--tool-parser-plugin --chat-template"},
		"llama-server -m a --host=:: -ngl -1 --api http://localhost:1":            {"llama-server -m a -ngl -1 --api http://localhost:1", "--host"},
		"python server.py --listen --share --model x":                             {"python server.py --model x", "--listen --share"},
	} {
		kept, left := Closed(strings.Fields(in), func(string) bool { return false })
		assert.Equal(t, want, [2]string{strings.Join(kept, " "), strings.Join(left, " ")}, in)
	}
	kept, left := Closed([]string{"vllm", "--trust-remote-code"}, func(flag string) bool { return flag == "--trust-remote-code" })
	assert.Equal(t, []string{"vllm", "--trust-remote-code"}, kept)
	assert.Empty(t, left)
}
