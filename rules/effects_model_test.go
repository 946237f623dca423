package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/fit"
)

// loading is a load of a model that the card is too small for.
func loading(name string, wanted, total, allocated string) string {
	return fmt.Sprintf(`Traceback (most recent call last):
  File "/srv/chat/app.py", line 12, in <module>
    model = AutoModelForCausalLM.from_pretrained("%s", torch_dtype=torch.bfloat16).to("cuda")
  File "/srv/chat/venv/lib/python3.11/site-packages/transformers/modeling_utils.py", line 3698, in from_pretrained
    state_dict = load_state_dict(shard_file)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %s. GPU 0 has a total capacity of %s of which 14.25 MiB is free. Including non-PyTorch memory, this process has %s memory in use. Of the allocated memory %s is allocated by PyTorch, and 12.00 MiB is reserved by PyTorch but unallocated.
`, name, wanted, total, allocated, allocated)
}

func effectsOf(in diagnose.Incident) map[string]diagnose.Effect {
	out := map[string]diagnose.Effect{}
	for _, f := range in.Fixes {
		if f.Effect != nil {
			out[f.ID] = *f.Effect
		}
	}
	return out
}

func TestModelOfTheLog(t *testing.T) {
	in := only(t, loading("meta-llama/Llama-2-13b-chat-hf", "136.00 MiB", "11.63 GiB", "11.55 GiB"))
	require.NotNil(t, in.Model)
	assert.Equal(t, int64(13015864320), in.Model.Parameters)
	assert.Equal(t, "catalogue", in.Model.Basis)

	in = only(t, loading("someone/finetune-13B-GPTQ-4bit", "136.00 MiB", "11.63 GiB", "11.55 GiB"))
	assert.Equal(t, int64(13e9), in.Model.Parameters)
	assert.Equal(t, "gptq-int4", in.Model.Format)
	assert.Equal(t, "name", in.Model.Basis)
}

// A model whose size is known gets figures on fixes that the log alone cannot
// size, marked as what they are.
func TestEstimates(t *testing.T) {
	in := only(t, loading("meta-llama/Llama-2-13b-chat-hf", "136.00 MiB", "11.63 GiB", "11.55 GiB"))
	effects := effectsOf(in)
	for id, want := range map[string]bool{"load_in_4bit": true, "load_in_8bit": false, "use_lower_quant": true, "use_smaller_model": true} {
		e, ok := effects[id]
		if !ok {
			continue
		}
		assert.Equal(t, "estimate", e.Basis, id)
		assert.Equal(t, want, e.Fits, "%s: %+v", id, e)
	}
	assert.Contains(t, effects, "load_in_4bit")
	assert.Nil(t, in.BeyondCard)
	assert.Contains(t, in.Causes[0].Why, "5,120 (width) x 13,824 (MLP width) x 2 bytes, as in llama-2-13b")
}

// What is recommended passes the arithmetic of the catalogue, and a format more
// does not.
func TestLowerQuantIsTheLargest(t *testing.T) {
	for _, gib := range []float64{5.81, 7.79, 11.63, 15.77, 23.64} {
		card := fmt.Sprintf("%.2f GiB", gib)
		in := only(t, loading("meta-llama/Llama-2-13b-chat-hf", "136.00 MiB", card, fmt.Sprintf("%.2f GiB", gib-0.08)))
		e, ok := effectsOf(in)["use_lower_quant"]
		if !ok {
			continue
		}
		m, _ := fit.ModelByID("llama-2-13b")
		have := e.HaveBytes
		larger := int64(1 << 62)
		for _, format := range []string{"Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "IQ4_XS", "Q3_K_M", "IQ3_XXS", "Q2_K", "IQ2_XS"} {
			n, err := m.Need(format, fit.Setting{Engine: "llama.cpp", Context: 4096}, -1)
			require.NoError(t, err)
			if n.Sum() == e.NeedBytes {
				assert.Greater(t, larger, have, "%s: a larger format fits too", card)
				assert.Equal(t, n.Sum() <= have, e.Fits)
			}
			larger = n.Sum()
		}
	}
}

func TestBeyondCard(t *testing.T) {
	in := only(t, loading("meta-llama/Llama-3.3-70B-Instruct", "448.00 MiB", "11.63 GiB", "11.55 GiB"))
	b := in.BeyondCard
	require.NotNil(t, b)
	assert.Greater(t, b.NeedBytes, b.HaveBytes)
	assert.Equal(t, int64(24), b.CardGB)
	assert.NotEmpty(t, b.Model)
	assert.Contains(t, b.Note, "more than there is")
}

// Spread over several cards, nothing is known of a card's part.
func TestNoEstimateOfAPart(t *testing.T) {
	in := only(t, "[rank2]: "+strings.ReplaceAll(loading("meta-llama/Llama-3.3-70B-Instruct", "448.00 MiB", "11.63 GiB", "11.55 GiB"), "\n", "\n[rank2]: "))
	assert.Nil(t, in.BeyondCard)
}
