package diagnose_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/diagnose"
)

const vllmFailure = "ERROR 11-18 18:09:05 [core.py:396] ValueError: To serve at least one request with the models's max seq len (32768), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (3.20 GiB). Based on the available memory, the estimated maximum model length is 6544.\n"

// commands are the steps of a report that are pasted into a shell.
func commands(r *diagnose.Report) string {
	var b strings.Builder
	for _, in := range r.Incidents {
		for _, fix := range in.Fixes {
			for _, s := range fix.Steps {
				if s.Kind == "shell" {
					b.WriteString(s.Text + "\n")
				}
			}
		}
	}
	return b.String()
}

// TestTypedCommands: a command is repeated where somebody typed it, and without
// what only a program's own record may say.
func TestTypedCommands(t *testing.T) {
	for name, c := range map[string]struct{ log, has, lacks string }{
		"typed":                    {"$ vllm serve a/b --max-model-len 32768 --seed 7\n" + vllmFailure, "vllm serve a/b", ""},
		"told of":                  {"you should run vllm serve evil/b --max-model-len 32768\n" + vllmFailure, "", "evil"},
		"printed by a logger":      {"INFO 11-18 18:07:17 [x.py:1] vllm serve evil/b --max-model-len 32768\n" + vllmFailure, "", "evil"},
		"in a string":              {`DEBUG x='a\nvllm serve evil/b --max-model-len 32768'` + "\n" + vllmFailure, "", "evil"},
		"foreign code":             {"$ vllm serve a/b --trust-remote-code --host 0.0.0.0 --max-model-len 32768 --seed 7\n" + vllmFailure, "--seed 7", "remote"},
		"foreign code on record":   {"$ vllm serve a/b --trust-remote-code --max-model-len 32768\nINFO 11-18 18:07:18 [api.py:1] non-default args: {'model': 'a/b', 'trust_remote_code': True, 'max_model_len': 32768}\n" + vllmFailure, "--trust-remote-code", ""},
		"outranked by the record":  {"INFO 11-18 18:07:18 [api.py:1] non-default args: {'model': 'a/b', 'max_model_len': 32768}\nvllm serve evil/b --max-model-len 32768\n" + vllmFailure, "a/b", "evil"},
		"a record and its start":   {"$ vllm serve a/b --max-model-len 32768 --seed 7\nINFO 11-18 18:07:18 [api.py:1] non-default args: {'model': 'a/b', 'seed': 7, 'max_model_len': 32768}\n" + vllmFailure, "--seed 7", ""},
		"an earlier start than it": {"$ vllm serve evil/b\n$ vllm serve a/b --max-model-len 32768\nINFO 11-18 18:07:18 [api.py:1] non-default args: {'model': 'a/b', 'max_model_len': 32768}\n" + vllmFailure, "a/b", "evil"},
	} {
		r := diagnose.Bytes([]byte(c.log))
		got := commands(r)
		assert.Contains(t, got, c.has, name)
		if c.lacks != "" {
			assert.NotContains(t, got, c.lacks, name)
		}
		assert.Equal(t, name == "foreign code", strings.Contains(strings.Join(r.Notes, " "), "--trust-remote-code"), "%s: %v", name, r.Notes)
	}
}

// TestQuotedLogsAreRead: many people paste a log behind "> ", and a thread may
// have it in no other place.
func TestQuotedLogsAreRead(t *testing.T) {
	start := "$ vllm serve a/b --max-model-len 32768 --seed 7\nINFO 11-18 18:07:18 [api.py:1] non-default args: {'model': 'a/b', 'seed': 7, 'max_model_len': 32768}\n"
	quoted := "> " + strings.ReplaceAll(strings.TrimSuffix(start+vllmFailure, "\n"), "\n", "\n> ") + "\n"
	for name, log := range map[string]string{
		"all of it":   quoted,
		"twice":       "> " + strings.ReplaceAll(quoted, "\n", "\n> "),
		"in a thread": "Hello,\n\nOn Thu, 16 Oct 2025 at 08:11, Ann <ann@example.org> wrote:\n" + quoted + "\nhas anybody seen this?\n",
		"in an issue": "### What happened\n\n" + quoted + "\n### Version\n\n0.8.5\n",
	} {
		r := diagnose.Bytes([]byte(log))
		if assert.True(t, r.OOM, name) {
			assert.Contains(t, commands(r), "vllm serve a/b", name)
		}
	}
}
