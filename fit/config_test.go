package fit

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The numbers of published config.json files give the models of the catalogue.
func TestReadConfig(t *testing.T) {
	tests := []struct{ id, native, config string }{
		{"llama-3.1-8b", "bf16", `{"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256,"max_position_embeddings":131072,"tie_word_embeddings":false,"torch_dtype":"bfloat16"}`},
		{"qwen2.5-7b", "awq-int4", `{"model_type":"qwen2","hidden_size":3584,"num_hidden_layers":28,"num_attention_heads":28,"num_key_value_heads":4,"intermediate_size":18944,"vocab_size":152064,"max_position_embeddings":32768,"tie_word_embeddings":false,"sliding_window":131072,"use_sliding_window":false,"quantization_config":{"quant_method":"awq","bits":4,"group_size":128}}`},
		{"qwen3-30b-a3b", "bf16", `{"model_type":"qwen3_moe","hidden_size":2048,"num_hidden_layers":48,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"intermediate_size":6144,"moe_intermediate_size":768,"num_experts":128,"num_experts_per_tok":8,"vocab_size":151936,"max_position_embeddings":40960,"tie_word_embeddings":false,"sliding_window":null,"torch_dtype":"bfloat16"}`},
		{"deepseek-v3-671b", "fp8-block", `{"model_type":"deepseek_v3","hidden_size":7168,"num_hidden_layers":61,"num_attention_heads":128,"num_key_value_heads":128,"intermediate_size":18432,"moe_intermediate_size":2048,"n_routed_experts":256,"n_shared_experts":1,"num_experts_per_tok":8,"first_k_dense_replace":3,"kv_lora_rank":512,"q_lora_rank":1536,"qk_rope_head_dim":64,"qk_nope_head_dim":128,"v_head_dim":128,"vocab_size":129280,"max_position_embeddings":163840,"tie_word_embeddings":false,"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}}`},
		{"deepseek-v2-lite", "bf16", `{"model_type":"deepseek_v2","hidden_size":2048,"num_hidden_layers":27,"num_attention_heads":16,"num_key_value_heads":16,"intermediate_size":10944,"moe_intermediate_size":1408,"n_routed_experts":64,"n_shared_experts":2,"num_experts_per_tok":6,"first_k_dense_replace":1,"kv_lora_rank":512,"q_lora_rank":null,"qk_rope_head_dim":64,"qk_nope_head_dim":128,"v_head_dim":128,"vocab_size":102400,"max_position_embeddings":163840,"torch_dtype":"bfloat16"}`},
		{"gemma-3-27b", "bf16", `{"model_type":"gemma3","torch_dtype":"bfloat16","text_config":{"model_type":"gemma3_text","hidden_size":5376,"num_hidden_layers":62,"num_attention_heads":32,"num_key_value_heads":16,"head_dim":128,"intermediate_size":21504,"vocab_size":262208,"max_position_embeddings":131072,"sliding_window":1024}}`},
		{"gpt-oss-20b", "mxfp4", `{"model_type":"gpt_oss","hidden_size":2880,"num_hidden_layers":24,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":64,"intermediate_size":2880,"num_local_experts":32,"num_experts_per_tok":4,"vocab_size":201088,"max_position_embeddings":131072,"sliding_window":128,"tie_word_embeddings":false,"quantization_config":{"quant_method":"mxfp4"}}`},
		{"mixtral-8x7b", "bf16", `{"model_type":"mixtral","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"num_local_experts":8,"num_experts_per_tok":2,"vocab_size":32000,"max_position_embeddings":32768,"sliding_window":null,"tie_word_embeddings":false,"torch_dtype":"bfloat16"}`},
		{"qwen3-next-80b-a3b", "bf16", `{"model_type":"qwen3_next","hidden_size":2048,"num_hidden_layers":48,"num_attention_heads":16,"num_key_value_heads":2,"head_dim":256,"intermediate_size":5120,"moe_intermediate_size":512,"shared_expert_intermediate_size":512,"num_experts":512,"num_experts_per_tok":10,"linear_num_value_heads":32,"linear_num_key_heads":16,"linear_key_head_dim":128,"linear_value_head_dim":128,"linear_conv_kernel_dim":4,"full_attention_interval":4,"vocab_size":151936,"max_position_embeddings":262144,"tie_word_embeddings":false,"dtype":"bfloat16"}`},
		{"phi-4", "bf16", `{"model_type":"phi3","hidden_size":5120,"num_hidden_layers":40,"num_attention_heads":40,"num_key_value_heads":10,"intermediate_size":17920,"vocab_size":100352,"max_position_embeddings":16384,"tie_word_embeddings":false,"torch_dtype":"bfloat16"}`},
		{"gpt2", "", `{"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"n_positions":1024,"vocab_size":50257}`},
	}
	for _, tt := range tests {
		want := mustModel(t, tt.id)
		m, err := ReadConfig(strings.NewReader(tt.config))
		require.NoError(t, err, tt.id)
		assert.Equal(t, want.Parameters, m.Parameters, tt.id)
		assert.InEpsilon(t, max(1, want.ActiveParameters), max(1, m.ActiveParameters), 0.001, tt.id)
		o := KVOptions{Context: 8192, Sequences: 2}
		a, err := want.KV(o)
		require.NoError(t, err)
		b, err := m.KV(o)
		require.NoError(t, err)
		assert.Equal(t, a, b, tt.id)
		if tt.native != "" {
			assert.Equal(t, tt.native, m.Native, tt.id)
		}
		x, err := want.Weights("Q4_K_M")
		require.NoError(t, err)
		y, err := m.Weights("Q4_K_M")
		require.NoError(t, err)
		assert.Equal(t, x.Total, y.Total, tt.id)
	}
}

func TestReadConfigErrors(t *testing.T) {
	for _, s := range []string{``, `{`, `[]`, `{"model_type":"nobody"}`, `{"model_type":"llama"}`, `{"model_type":"llama","hidden_size":-1}`,
		`{"model_type":"llama","hidden_size":4096,"num_hidden_layers":99999999,"num_attention_heads":32,"vocab_size":1}`} {
		_, err := ReadConfig(strings.NewReader(s))
		assert.Error(t, err, s)
	}
}

func FuzzReadConfig(f *testing.F) {
	f.Add(`{"model_type":"gemma3_text","hidden_size":64,"num_hidden_layers":6,"num_attention_heads":4,"vocab_size":100,"intermediate_size":128,"sliding_window":16}`)
	f.Add(`{"model_type":"deepseek_v3","hidden_size":64,"num_hidden_layers":6,"num_attention_heads":4,"vocab_size":100,"kv_lora_rank":8,"n_routed_experts":4}`)
	f.Fuzz(func(t *testing.T, s string) {
		if m, err := ReadConfig(strings.NewReader(s)); err == nil {
			_, _ = m.Need("", Setting{Context: 4096, Engine: "vllm"}, -1)
			_, _ = m.Need("Q4_K_M", Setting{Context: 4096}, 1)
		}
	})
}

func TestReadSafetensors(t *testing.T) {
	header, err := json.Marshal(map[string]any{
		"__metadata__":                   map[string]string{"format": "pt"},
		"model.embed_tokens.weight":      map[string]any{"dtype": "BF16", "shape": []int{100, 8}, "data_offsets": []int{0, 1600}},
		"model.layers.0.mlp.up.weight":   map[string]any{"dtype": "BF16", "shape": []int{8, 8}, "data_offsets": []int{1600, 1728}},
		"model.layers.1.mlp.up.weight":   map[string]any{"dtype": "BF16", "shape": []int{8, 8}, "data_offsets": []int{1728, 1856}},
		"model.layers.1.mlp.down.weight": map[string]any{"dtype": "F32", "shape": []int{8, 8}, "data_offsets": []int{1856, 2112}},
	})
	require.NoError(t, err)
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	w, err := ReadSafetensors(bytes.NewReader(append(file, make([]byte, 2112)...)))
	require.NoError(t, err)
	assert.Equal(t, int64(2112), w.Total)
	assert.Equal(t, []int64{128, 384}, w.Layers)
	assert.Equal(t, int64(1600), w.Output)
	for n := range len(file) {
		_, err := ReadSafetensors(bytes.NewReader(file[:n]))
		assert.ErrorIs(t, err, ErrFile)
	}
}

func TestReadSafetensorsIndex(t *testing.T) {
	total, shards, err := ReadSafetensorsIndex(strings.NewReader(`{"metadata":{"total_size":16060522496},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`))
	require.NoError(t, err)
	assert.Equal(t, int64(16060522496), total)
	assert.Equal(t, 2, shards)
	for _, s := range []string{``, `{}`, `{"metadata":{"total_size":"x"}}`} {
		_, _, err := ReadSafetensorsIndex(strings.NewReader(s))
		assert.ErrorIs(t, err, ErrFile, s)
	}
}
