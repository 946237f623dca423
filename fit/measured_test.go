package fit

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/fit.md")

// sample is a size that a program printed, with what it was asked for.
type sample struct {
	group, model, format string
	options              map[string]string
	measured             int64
	note                 string
}

func (s sample) String() string {
	return fmt.Sprintf("%s: %s %s %v", s.group, s.model, s.format, s.options)
}

func (s sample) number(key string) int {
	n, _ := strconv.Atoi(s.options[key])
	return n
}

func (s sample) set(key string) bool { return s.options[key] != "" && s.options[key] != "0" }

// share is a part of the layers, as in 7/16: what one device held.
func (s sample) share(n int64) int64 {
	if a, b, ok := strings.Cut(s.options["share"], "/"); ok {
		num, _ := strconv.ParseInt(a, 10, 64)
		den, _ := strconv.ParseInt(b, 10, 64)
		return n * num / den
	}
	return n
}

func samples(t *testing.T) []sample {
	var out []sample
	for _, r := range table(t, "measured") {
		s := sample{group: r[0], model: r[1], format: r[2], options: map[string]string{}, measured: int64(number(t, r[4])), note: r[5]}
		for kv := range strings.FieldsSeq(r[3]) {
			k, v, _ := strings.Cut(kv, "=")
			s.options[k] = v
		}
		out = append(out, s)
	}
	return out
}

// group says how to predict its rows, and the bars they are held to.
type group struct {
	name          string
	predict       func(*testing.T, *Model, sample) int64
	median, worst float64 // of |error|, in percent
	mib           float64 // of |error|, in MiB; 0: no bar
	say           string
}

var groups = []group{
	{"GGUF, stock mixtures", predictGGUF, 0.1, 2, 0, "exact"},
	{"GGUF, README of llama.cpp", predictGGUF, 0.01, 0.01, 0, "exact"},
	{"GGUF, other makers", predictGGUF, 8, 8, 0, "+-8 %, ask for the file size"},
	{"KV cache, llama.cpp", predictKV, 0.001, 0.01, 0.1, "exact"},
	{"compute buffer, llama.cpp", predictCompute, 0.1, 1, 1, "exact"},
	{"compute buffer, other graphs", predictCompute, 3, 10, 0, "+-25 %"},
	{"weights, vLLM", predictVLLM, 1, 1, 0, "exact"},
	{"KV cache, vLLM", predictVLLMCache, 0.5, 1.5, 0, "exact"},
	{"peak, transformers", predictTransformers, 1.5, 8, 0, "+-4 %, AWQ with long prompts +-8 %"},
	{"file, MLX", predictFile, 0.05, 0.05, 0, "exact"},
	{"step, training", predictTraining, 15, 26, 0, "+-25 %"},
}

func TestMeasured(t *testing.T) {
	var b strings.Builder
	b.WriteString("| what | rows | median | p90 | worst | say |\n| --- | ---: | ---: | ---: | ---: | --- |\n")
	seen := 0
	for _, g := range groups {
		var errs []float64
		for _, s := range samples(t) {
			if s.group != g.name {
				continue
			}
			seen++
			predicted := g.predict(t, mustModel(t, s.model), s)
			e := 100 * float64(predicted-s.measured) / float64(s.measured)
			errs = append(errs, e)
			assert.LessOrEqual(t, math.Abs(e), g.worst, "%v: %d, measured %d", s, predicted, s.measured)
			if g.mib > 0 {
				assert.LessOrEqual(t, math.Abs(float64(predicted-s.measured))/MiB, g.mib, "%v: %d, measured %d", s, predicted, s.measured)
			}
			if math.Abs(e) > 1 {
				t.Logf("%+6.2f %% %v %s", e, s, s.note)
			}
		}
		slices.SortFunc(errs, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
		n := len(errs)
		assert.LessOrEqual(t, math.Abs(errs[n/2]), g.median, g.name)
		fmt.Fprintf(&b, "| %s | %d | %.3f %% | %.2f %% | %+.2f %% | %s |\n", g.name, n, math.Abs(errs[n/2]), math.Abs(errs[n*9/10]), errs[n-1], g.say)
	}
	require.Equal(t, len(samples(t)), seen, "a group is without a formula")
	t.Log("\n" + b.String())
	checkTable(t, "errors", b.String())
}

// checkTable holds docs/fit.md to a table between its marks.
func checkTable(t *testing.T, mark, want string) {
	const file = "../docs/fit.md"
	open, end := "<!-- "+mark+" -->\n", "<!-- /"+mark+" -->"
	doc, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(doc), open)
	require.True(t, ok)
	have, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+open+want+end+after), 0o644))
		return
	}
	assert.Equal(t, want, have, "docs/fit.md is stale: go test ./fit -update")
}

// docs/fit.md holds the table of what changed when.
func TestChangesAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("| program | since | merged | what |\n| --- | --- | --- | --- |\n")
	for _, c := range Changes() {
		number := c.Source[strings.LastIndexByte(c.Source, '/')+1:]
		fmt.Fprintf(&b, "| %s | %s | %s | %s ([%s](%s)) |\n", c.Engine, c.Since, c.Date, c.Told, number, c.Source)
	}
	checkTable(t, "changes", b.String())
}

// docs/fit.md shows the questions that internal/cli answers in a test.
func TestQuestionsAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("| `oomdoc fit` ... | | what the answer holds |\n| --- | --- | --- |\n")
	for _, r := range table(t, "questions") {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r[0], r[1], r[2])
	}
	checkTable(t, "questions", b.String())
}

func predictGGUF(t *testing.T, m *Model, s sample) int64 {
	if s.set("untied") { // a conversion that stores the head
		c := *m
		c.Tied = false
		m = &c
	}
	w, err := m.weights(s.format, s.set("matrix"))
	require.NoError(t, err)
	if n := s.number("layers"); n > 0 {
		gpu, cpu := w.Offload(n, !s.set("until2025"))
		if s.options["part"] == "gpu" {
			return gpu
		}
		return cpu
	}
	return map[string]int64{"total": w.Total, "gpu": w.GPU, "cpu": w.CPU}[s.options["part"]]
}

func predictKV(t *testing.T, m *Model, s sample) int64 {
	kv, err := m.KV(KVOptions{
		Context: s.number("context"), TypeK: s.options["k"], TypeV: s.options["v"],
		Sequences: s.number("sequences"), UBatch: s.number("ubatch"), WindowCells: s.number("cells"),
		FullWindow: s.set("fullwindow"), Expanded: s.set("expanded"),
	})
	require.NoError(t, err)
	parts := map[string]int64{"total": kv.Total(), "full": kv.Full, "window": kv.Window, "recurrent": kv.Recurrent}
	return s.share(parts[s.options["part"]])
}

func predictCompute(t *testing.T, m *Model, s sample) int64 {
	output := 0.0
	if s.set("output") {
		output = number(t, s.options["output"])
	}
	return m.ComputeBuffer(ComputeOptions{
		Context: s.number("context"), UBatch: s.number("ubatch"), FlashAttention: s.set("fa"),
		FullWindow: s.set("fullwindow"), Copies: s.number("copies"), Partial: s.set("partial"), Outputs: s.number("oneoutput"), Expanded: s.set("expanded"), Until2025: s.set("until2025"),
		OutputBytes: int64(output * MiB),
	})
}

func predictVLLM(t *testing.T, m *Model, s sample) int64 {
	n, err := m.VLLMWeights(s.format)
	require.NoError(t, err)
	if s.set("text") { // the log counts the language model only
		n -= 2 * m.VisionParameters
	}
	return n
}

func predictVLLMCache(_ *testing.T, m *Model, s sample) int64 {
	c := VLLMCache{TensorParallel: s.number("tp"), BatchedTokens: s.number("batched")}
	if s.set("request") {
		return c.Request(m, s.number("tokens"))
	}
	kv, _ := m.KV(KVOptions{Context: s.number("tokens"), exactCells: true, FullWindow: true})
	return kv.Full/c.share(m) + kv.Window/c.share(m)
}

func predictTransformers(t *testing.T, m *Model, s sample) int64 {
	p, err := m.TransformersPeak(s.format, s.number("prompt"), s.number("new"))
	require.NoError(t, err)
	if s.options["rows"] == "0" {
		return p.Resident()
	}
	return p.Over(s.number("gpus")).Total()
}

func predictFile(t *testing.T, m *Model, s sample) int64 {
	w, err := m.Weights(s.format)
	require.NoError(t, err)
	return w.Total
}

func predictTraining(t *testing.T, m *Model, s sample) int64 {
	if n := s.number("logits"); n > 0 {
		return m.Logits(n, 8)
	}
	o := Training{
		Method: s.options["method"], Format: s.format, Precision: s.options["precision"], Optimizer: s.options["optimizer"],
		Tokens: s.number("tokens"), Sequence: s.number("sequence"), Rank: s.number("rank"), Checkpointing: s.set("checkpointing"),
	}
	n, err := m.Training(o)
	require.NoError(t, err)
	if s.set("nogradients") { // freed layer by layer: optimizer in backward
		n.Gradients = 0
	}
	return n.Total()
}

func TestAllocations(t *testing.T) {
	rows := table(t, "allocations")
	require.Len(t, rows, 119)
	for _, r := range rows {
		product := int64(1)
		for f := range strings.SplitSeq(r[1], "*") {
			product *= int64(number(t, f))
		}
		assert.Equal(t, int64(number(t, r[2])), product, "%v", r)
		have := PyTorchAllocation(product)
		assert.Equal(t, int64(number(t, r[3])), have, "%v", r)
		printed := fmt.Sprintf("%.2f MiB", float64(have)/MiB)
		if have > GiB {
			printed = fmt.Sprintf("%.2f GiB", float64(have)/GiB)
		}
		assert.Equal(t, r[0], printed, "%v", r)
	}
}

func TestExplain(t *testing.T) {
	tests := []struct {
		model string
		mib   float64
		want  string
	}{
		{"llama-3-8b", 112, "MLP matrix, 16 bit"}, {"llama-3-8b", 224, "fused gate and up, 16 bit"},
		{"llama-3-8b", 1002, "embedding or head, 16 bit"}, {"llama-2-7b", 86, "MLP matrix, 16 bit"},
		{"qwen2.5-7b", 130, "MLP matrix, 16 bit"}, {"qwen3-30b-a3b", 768, "experts' w13 of a layer, 16 bit"},
		{"gpt-oss-20b", 786, "logits of 1024 tokens, 32 bit"}, {"qwen2.5-14b", 1782, "sort of the logits of 1024 sequences"},
		{"deepseek-v3-671b", 7168, "experts' w13 of a layer, 8 bit"},
	}
	for _, tt := range tests {
		var got []string
		for _, p := range mustModel(t, tt.model).Explain(int64(tt.mib*MiB), 0) {
			got = append(got, p.What)
		}
		assert.Contains(t, got, tt.want, tt.model)
	}
	assert.Empty(t, mustModel(t, "llama-3-8b").Explain(20*MiB, 0))
}
