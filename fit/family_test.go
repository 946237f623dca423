package fit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFamily(t *testing.T) {
	assert.Contains(t, Family("llama 3"), "llama-3.2-1b")
	assert.Equal(t, []string{"wan2.2-a14b", "wan2.2-ti2v-5b"}, Family("wan 2.2"))
	assert.Contains(t, Family("deepseek-r1"), "deepseek-v3-671b")
	for _, name := range []string{"", "llama-3-8b", "Qwen/Qwen3", "qwen3:8b", "/models/llama", "zzz", "mixtral"} {
		assert.NotContains(t, Family(name), "llama-3-8b", name)
	}
	_, err := NewPlan(Request{Model: "llama 3", VRAM: 8 * GiB})
	assert.ErrorIs(t, err, ErrFamily)
	assert.Less(t, len(err.Error()), 500)
}

// What a name of the catalogue says about its work agrees with its kind.
func TestKindByName(t *testing.T) {
	for _, m := range Models() {
		switch kind := KindByName(m.ID); m.Kind {
		case "llm", "vlm", "encoder-decoder":
			assert.Empty(t, kind, m.ID)
		case "speech":
			assert.Equal(t, "speech", kind, m.ID)
		}
	}
	for name, want := range map[string]string{"SomeVideo-14B": "video", "my-flux-lora-12B": "pictures", "bge-large": "embeddings", "my-model-7B": "", "parakeet-1.1b": "speech"} {
		assert.Equal(t, want, KindByName(name), name)
	}
}

// Aliases of one shape have contexts of their own.
func TestVariants(t *testing.T) {
	for name, want := range map[string]int{
		"Qwen/Qwen3-30B-A3B": 40960, "Qwen/Qwen3-Coder-30B-A3B-Instruct": 262144, "qwen3-coder:30b": 262144, "Qwen3-30B-A3B-Thinking-2507-UD-Q4_K_XL.gguf": 262144,
		"Qwen/Qwen3-4B": 40960, "Qwen3-4B-Instruct-2507": 262144, "DeepSeek-R1-Distill-Qwen-7B": 131072, "qwen2.5:7b": 32768, "Qwen2.5-Math-7B": 4096,
		"mistralai/Mistral-Small-24B-Instruct-2501": 32768, "mistralai/Mistral-Small-3.2-24B-Instruct-2506": 131072,
	} {
		m := Find(name).Model
		if assert.NotNil(t, m, name) {
			assert.Equal(t, want, m.Context, "%s is %s", name, m.ID)
		}
	}
	coder, base := mustModel(t, "qwen3-coder-30b-a3b"), mustModel(t, "qwen3-30b-a3b")
	assert.Equal(t, base.Parameters, coder.Parameters)
	assert.NotContains(t, coder.Aliases, base.Aliases[0])
}

func TestOwnCatalogue(t *testing.T) {
	var own Own
	require.NoError(t, own.ReadModels(strings.NewReader(`[{"id":"mine-7b","arch":"llama","layers":32,"hidden":4096,"heads":32,"kv_heads":32,"head_dim":128,"ffn":11008,"gated":true,"vocab":32000,"context":4096},
		{"id":"mine-long","base":"mine-7b","aliases":["me/Mine-Long"],"context":65536}]`)))
	require.NoError(t, own.ReadCards(strings.NewReader("# a comment\nHome Brew\tbrew,hb\tNVIDIA\tworkstation\t48\t8.6\n")))
	p := mustPlan(t, Request{Model: "me/Mine-Long", Card: "hb", Own: &own})
	assert.Equal(t, "own catalogue", p.Model.Basis)
	assert.Equal(t, 65536, p.Model.MaxContext)
	assert.Equal(t, mustModel(t, "llama-2-7b").Parameters, p.Model.Parameters)
	assert.Equal(t, "Home Brew", p.Card.Name)
	assert.Equal(t, "qwen3-8b", mustPlan(t, Request{Model: "qwen3-8b", VRAM: 8 * GiB, Own: &own}).Model.ID)
	for _, bad := range []string{"", "{}", `[{}]`, `[{"id":"x"}]`, `[{"id":"x","base":"nowhere"}]`, `[{"id":"x","base":"qwen3-8b","layers":-1}]`, `[{"id":"x","base":"qwen3-8b","pattern":"FS"}]`, `[{"id":"x","base":"qwen3-8b","hidden":99999999999}]`, `[{"id":"x","base":"qwen3-8b","layers":"many"}]`} {
		var o Own
		assert.ErrorIs(t, o.ReadModels(strings.NewReader(bad)), ErrFile, bad)
	}
	for _, bad := range []string{"one column", "\t\t\t\t", "A\t\tNVIDIA\tx\tmany"} {
		var o Own
		assert.ErrorIs(t, o.ReadCards(strings.NewReader(bad)), ErrFile, bad)
	}
}

func FuzzOwnCatalogue(f *testing.F) {
	f.Add(`[{"id":"a","base":"qwen3-8b","context":5}]`)
	f.Add(`[{"id":"a","kind":"diffusion","parameters":5,"components":[{"name":"x","parameters":3}]}]`)
	f.Fuzz(func(t *testing.T, s string) {
		var o Own
		if o.ReadModels(strings.NewReader(s)) != nil {
			return
		}
		for _, e := range o.entries {
			NewPlan(Request{Model: e.ID, VRAM: 8 * GiB, Own: &o})
		}
	})
}

func TestConfigOfANewType(t *testing.T) {
	config := `{"model_type":"shiny_new","architectures":["ShinyNewForCausalLM"],"hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256,"max_position_embeddings":131072,"hidden_act":"silu"}`
	m, err := ReadConfig(strings.NewReader(config))
	require.NoError(t, err)
	assert.Equal(t, mustModel(t, "llama-3.1-8b").Parameters, m.Parameters)
	p := mustPlan(t, Request{Known: m, VRAM: 24 * GiB})
	assert.Contains(t, p.Notes[0], `"shiny_new" is not known`)
	_, err = ReadConfig(strings.NewReader(`{"model_type":"seer","architectures":["SeerForImageClassification"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":2,"vocab_size":10}`))
	assert.ErrorIs(t, err, ErrShape)

	assert.True(t, m.SetCheckpoint(16100000000))
	p = mustPlan(t, Request{Known: m, VRAM: 24 * GiB, Setting: Setting{Engine: "vllm"}})
	assert.InDelta(t, 16100000000, float64(p.Rows[0].WeightsBytes), 64*MiB, "the files, and vLLM's rotations")
	m.file = nil
	assert.False(t, m.SetCheckpoint(400), "files of something else")
}
