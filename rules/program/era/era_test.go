package era_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/program/wording"
)

// logged is a case of a program whose log states a version, or its day.
func logged(program, version string, day int) *ledger.Case {
	c := &ledger.Case{Framework: program, Stack: []string{program}, Facts: &fact.Facts{}, Failure: fact.Failure{Line: 9, Date: day}}
	c.Reader.Program = program
	if version != "" {
		c.Facts.Facts = []fact.Fact{{Name: program + "_version", Text: version, Line: 1}}
	}
	return c
}

func TestLacks(t *testing.T) {
	for _, x := range []struct {
		program, version string
		day              int
		option           string
		want             bool
	}{
		{"ollama", "", 20240724, "OLLAMA_GPU_OVERHEAD", true},
		{"ollama", "", 20240907, "OLLAMA_GPU_OVERHEAD", false},
		{"ollama", "0.3.9", 20260101, "OLLAMA_GPU_OVERHEAD", true}, // the version says more than the day
		{"ollama", "0.10.1", 0, "OLLAMA_CONTEXT_LENGTH", false},
		{"ollama", "0.5.12", 0, "OLLAMA_CONTEXT_LENGTH", true},
		{"ollama", "", 0, "OLLAMA_CONTEXT_LENGTH", false},
		{"vllm", "0.5.2", 0, "--cpu-offload-gb", true},
		{"vllm", "0.10.2rc1", 0, "--kv-cache-memory-bytes", false},
		{"vllm", "", 20231101, "--enforce-eager", true},
		{"sglang", "", 20231101, "--enforce-eager", false}, // another program's
	} {
		assert.Equal(t, x.want, era.Lacks(logged(x.program, x.version, x.day), programOf(x.option), x.option), "%v", x)
	}
}

// TestLacksOfServers: by version, by day, by a file that later releases do not
// have.
func TestLacksOfServers(t *testing.T) {
	for _, x := range []struct {
		program, version string
		day              int
		option           string
		want             bool
	}{
		{"sglang", "", 20240801, "--cuda-graph-max-bs", true},
		{"sglang", "0.4.6", 0, "--cuda-graph-max-bs", false},
		{"sglang", "", 20250514, "--cuda-graph-max-bs-decode", true},
		{"tgi", "1.4", 0, "TGI_WIGGLE_ROOM", true},
		{"tgi", "3.0.1", 20240101, "TGI_WIGGLE_ROOM", false}, // the version says more than the day
		{"tgi", "", 20240328, "--max-input-tokens", true},
		{"tgi", "2.3.0", 0, era.WarmupSaysMemory, false},
		{"lmdeploy", "0.5.1", 0, "--max-prefill-token-num", true},
		{"lmdeploy", "", 20241101, "--max-prefill-token-num", false},
	} {
		assert.Equal(t, x.want, era.Lacks(logged(x.program, x.version, x.day), x.program, x.option), "%v", x)
	}
	c := logged("sglang", "", 0)
	c.Facts.Code = []fact.Code{{File: "/opt/sg/lib/python3.11/site-packages/sglang/srt/managers/tp_worker_overlap_thread.py", Function: "__init__"}}
	assert.True(t, era.Lacks(c, "sglang", "--mamba-full-memory-ratio"))
	assert.False(t, era.Lacks(c, "sglang", "--page-size"))
}

func programOf(option string) string {
	if option[0] == 'O' {
		return "ollama"
	}
	return "vllm"
}

// TestLacksByFile: a frame of a file that later releases do not have.
func TestLacksByFile(t *testing.T) {
	c := logged("vllm", "", 0)
	c.Facts.Code = []fact.Code{{File: "/usr/lib/python3/dist-packages/vllm/worker/worker.py", Function: "load_model"}}
	assert.True(t, era.Lacks(c, "vllm", "VLLM_DEEP_GEMM_WARMUP"))
	assert.False(t, era.Lacks(c, "vllm", "--cpu-offload-gb"))
}

// TestForEra: what came later is left out of words and of commands.
func TestForEra(t *testing.T) {
	old, open := logged("ollama", "", 20240601), logged("ollama", "", 0)
	for _, x := range []struct{ kind, text, want string }{
		{"config", "[Service]\nEnvironment=\"OLLAMA_GPU_OVERHEAD=1\"\nEnvironment=\"OLLAMA_NUM_PARALLEL=1\"", "[Service]\nEnvironment=\"OLLAMA_NUM_PARALLEL=1\""},
		{"config", "environment:\n  - OLLAMA_CONTEXT_LENGTH=4096", ""},
		{"text", "Close programs. `ollama stop NAME` unloads one.", "Close programs."},
	} {
		assert.Equal(t, x.want, era.ForEra(old, "close_other_apps", x.text, x.kind, wording.Without))
		assert.Equal(t, x.text, era.ForEra(open, "close_other_apps", x.text, x.kind, wording.Without))
	}
	first := logged("vllm", "0.3.3", 0)
	assert.Equal(t, "--max-num-batched-tokens 2048", era.ForEra(first, "lower_max_batched_tokens", "--max-num-batched-tokens 2048 --enable-chunked-prefill", "config", wording.Without))
	assert.Empty(t, era.ForEra(first, "cpu_offload", "--cpu-offload-gb 8", "config", wording.Without))
	assert.Equal(t, "0.5.13 has `OLLAMA_CONTEXT_LENGTH`.", era.ForEra(old, "upgrade_version", "0.5.13 has `OLLAMA_CONTEXT_LENGTH`.", "text", wording.Without))
	assert.Equal(t, "since 0.5.13", era.Since(open, "ollama", "OLLAMA_CONTEXT_LENGTH"))
	assert.Empty(t, era.Since(old, "ollama", "OLLAMA_CONTEXT_LENGTH"))
	assert.True(t, era.TooNew(old, "quantize_kv_cache"))
	assert.False(t, era.TooNew(open, "quantize_kv_cache"))
}
