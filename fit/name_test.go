package fit

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/workshop/cputime"
)

// Published names with the parameters and bits that they hold.
func TestFindPublishedNames(t *testing.T) {
	for _, r := range table(t, "names") {
		m := Find(r[0])
		want, have := number(t, r[1]), float64(m.Parameters)/1e9
		if m.Model != nil {
			// The tower is in some published counts.
			if withTower := have + float64(m.Model.VisionParameters)/1e9; math.Abs(withTower-want) < math.Abs(have-want) {
				have = withTower
			}
		}
		assert.InEpsilon(t, want, have, 0.06, "%s: %+v", r[0], m)
		if r[3] != "None" && m.Format != "" {
			bits, ok := lookupFormat(m.Format, "")
			require.True(t, ok, "%s: %q", r[0], m.Format)
			assert.InDelta(t, number(t, r[3]), 8*float64(bits.size(1e9))/1e9, 0.7, "%s: %s", r[0], m.Format)
		}
	}
}

func TestFind(t *testing.T) {
	tests := []struct {
		name, model, format string
		billions            float64
		basis               string
	}{
		{"llama3:70b-instruct-q2_K", "llama-3-70b", "Q2_K", 70.55, "catalogue"},
		{"llama3:latest", "llama-3-8b", "", 8.03, "catalogue"},
		{"qwen2.5-coder:32b-instruct-q8_0", "qwen2.5-32b", "Q8_0", 32.76, "catalogue"},
		{"hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M", "llama-3.2-3b", "Q4_K_M", 3.21, "catalogue"},
		{"/root/.cache/huggingface/hub/models--meta-llama--Llama-3.1-8B-Instruct/snapshots/0e9e39f249a16976918f6564b8830bc894c89659/", "llama-3.1-8b", "", 8.03, "catalogue"},
		{"/root/.ollama/models/manifests/registry.ollama.ai/library/llama3.1/70b", "llama-3.1-70b", "", 70.55, "catalogue"},
		{"/usr/share/ollama/.ollama/models/blobs/sha256-6a0746a1ec1aef3e7ec53868f220ff6e389f6f8ef87a01d77c96807de94ca2aa", "", "", 0, ""},
		{`C:\models\Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf`, "llama-3.1-8b", "Q4_K_M", 8.03, "catalogue"},
		{"models/TheBloke_Llama-2-13B-GPTQ/model.safetensors", "llama-2-13b", "gptq-int4", 13.02, "catalogue"},
		{"Qwen2.5-14B-Instruct-AWQ", "qwen2.5-14b", "awq-int4", 14.77, "catalogue"},
		{"Qwen3-30B-A3B-UD-Q4_K_XL.gguf", "qwen3-30b-a3b", "UD-Q4_K_XL", 30.53, "catalogue"},
		{"8x7B", "mixtral-8x7b", "", 46.70, "catalogue"},
		{"30B-A3B", "", "", 30, "name"},
		{"DeepSeek-R1-Distill-Qwen-14B-Q4_K_M.gguf", "deepseek-r1-distill-qwen-14b", "Q4_K_M", 14.77, "catalogue"},
		{"deepseek-ai/DeepSeek-R1", "deepseek-v3-671b", "", 671.03, "catalogue"},
		{"deepseek-r1", "", "", 0, ""},
		{"deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "deepseek-r1-0528-qwen3-8b", "", 8.19, "catalogue"},
		{"deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct", "deepseek-v2-lite", "", 15.71, "catalogue"},
		{"mlx-community/Qwen3-8B-4bit", "qwen3-8b", "mlx-4bit", 8.19, "catalogue"},
		{"Qwen/Qwen2.5-Omni-7B", "", "", 7, "name"},
		{"Llama-3-Sauerkraut-merge", "", "", 0, ""},
		{"Llama-3-13B-frankenmerge", "", "", 13, "name"},
		{"microsoft/Phi-3-vision-128k-instruct", "", "", 0, ""},
		{"Qwen/Qwen3-Embedding-8B", "", "", 8, "name"},
		{"meta-llama/Llama-Guard-3-8B", "", "", 8, "name"},
		{"Qwen/Qwen3-VL-8B-Instruct", "qwen3-vl-8b", "", 8.19, "catalogue"},
		{"gpt-4", "", "", 0, ""}, {"gpt-3.5-turbo", "", "", 0, ""}, {"model-4bit-128g", "", "gptq-int4", 0, ""},
		{"some-model-8K-v1.2-2407-h6", "", "", 0, ""}, {"5bpw", "", "exl2-5", 0, ""},
		{"bigscience/bloom-7b1", "bloom-7b1", "", 7.07, "catalogue"},
		{"google/gemma-3n-E4B-it", "gemma-3n-e4b", "", 6.87, "catalogue"},
		{"some-E4B-tune", "", "", 0, ""},
		{"openai/whisper-large-v3-turbo", "whisper-large-v3-turbo", "", 0.807, "catalogue"},
		{"slice/vte-spawn-dbb4a75e-031f-480d-924b-5de5af7579d2.scope", "", "", 0, ""},
		{"Qwen3.5-9B-Some-Tune-MTP-Q4_K_M.gguf", "qwen3.5-9b", "Q4_K_M", 8.95, "catalogue"},
		{"", "", "", 0, ""}, {"///", "", "", 0, ""},
	}
	for _, tt := range tests {
		m := Find(tt.name)
		id := ""
		if m.Model != nil {
			id = m.Model.ID
		}
		assert.Equal(t, tt.model, id, tt.name)
		assert.Equal(t, tt.format, m.Format, tt.name)
		assert.InDelta(t, tt.billions, float64(m.Parameters)/1e9, 0.01, tt.name)
		assert.Equal(t, tt.basis, m.Basis, tt.name)
	}
}

// Every id and alias of the catalogue finds its own model, or one of the same
// shape where names are shared.
func TestFindCatalogue(t *testing.T) {
	for _, m := range Models() {
		for _, name := range append([]string{m.ID}, m.Aliases...) {
			got := Find(name).Model
			if assert.NotNil(t, got, "%s of %s", name, m.ID) && got != m {
				assert.Equal(t, m.Parameters, got.Parameters, "%s of %s is %s", name, m.ID, got.ID)
			}
		}
	}
}

func TestNear(t *testing.T) {
	assert.Contains(t, Near("lama-3.1-8b"), "llama-3.1-8b")
	assert.Contains(t, Near("qwen2.5-7bb"), "qwen2.5-7b")
	assert.Empty(t, Near("zzzzzzzzzzzzzz"))
}

func FuzzFind(f *testing.F) {
	f.Add("TheBloke_Llama-2-13B-GPTQ")
	f.Add("a/b/c:1")
	f.Fuzz(func(t *testing.T, name string) {
		m := Find(name)
		if m.Basis == "" && (m.Model != nil || m.Parameters != 0) || m.Basis != "" && m.Parameters <= 0 {
			t.Fatalf("%q: %+v", name, m)
		}
		Card(name)
	})
}

func BenchmarkFind(b *testing.B) {
	Find("warm")
	for b.Loop() {
		Find("TheBloke/Llama-2-13B-chat-GGUF/llama-2-13b-chat.Q4_K_M.gguf")
	}
}

// The longest and most broken name takes well under a millisecond a kilobyte.
func TestFindIsBounded(t *testing.T) {
	for _, piece := range []string{"a", "7b-", "q4_", "1.1.", "llama-", "(", "é", "8x"} {
		name := strings.Repeat(piece, 1<<20)
		assert.Less(t, cputime.Least(50*time.Millisecond, func() { Find(name) }), 50*time.Millisecond, piece)
	}
}
