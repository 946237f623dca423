package ambient

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/redact"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

func TestFlags(t *testing.T) {
	for line, want := range map[string]map[string]string{
		"python server.py --listen --gpu-memory 10 5 --model a/b":        {"listen": "", "gpu_memory": "10 5", "model": "a/b"},
		`python main.py --reserve-vram=1.5 --output "x y" # later --cpu`: {"reserve_vram": "1.5", "output": "x y"},
		"python webui.py --api-key abc --port 7860 && echo --done":       {"port": "7860", "api_key": redact.Variable + "MY_API_KEY"},
		"python chat.py -m models/x -l 4096 -1":                          {"m": "models/x", "l": "4096 -1"},
	} {
		f := &fact.Facts{}
		flags(f, redact.CommandLine(line, "MY"), 1)
		got := map[string]string{}
		for _, s := range f.Settings {
			got[s.Name] = s.Value
		}
		assert.Equal(t, want, got, line)
	}
}

// TestWordsInQuotes: a value in quotes is one word, several values are several.
func TestWordsInQuotes(t *testing.T) {
	f := &fact.Facts{}
	flags(f, `python main.py --out "C:\My Pictures\out" --split 10 5 --dir='a b c' --it's --left "open`, 1)
	got := map[string][]string{}
	for _, s := range f.Settings {
		got[s.Name] = s.Words
	}
	assert.Equal(t, map[string][]string{"out": {`C:\My Pictures\out`}, "split": {"10", "5"}, "dir": {"a b c"}, "it's": nil, "left": {"open"}}, got)
}
