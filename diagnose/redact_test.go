package diagnose_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// TestRedacted: nothing private is left in any field, and the report that was
// redacted stays as it is.
func TestRedacted(t *testing.T) {
	const log = `john@gpu-box:~/x$ vllm serve /home/john/models/Llama-3-8B --api-key my-private-key --hf-token hf_abcdefghij0123456789
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.20 GiB is free. Process 4242 has 12.00 GiB memory in use. (from http://192.168.1.20:8000, mail jane@example.org) /home/john/secret/path
`
	r := diagnose.Bytes([]byte(log))
	r.Input.Name = "/home/john/crash.log"
	before, err := json.Marshal(r)
	require.NoError(t, err)
	redacted, err := json.Marshal(r.Redacted())
	require.NoError(t, err)
	for _, private := range []string{"john", "gpu-box", "my-private-key", "hf_abc", "192.168", "jane"} {
		assert.NotContains(t, string(redacted), private)
	}
	assert.Contains(t, string(redacted), "2.00 GiB")
	after, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
}

// TestRedactedKeepsAdvice: the fixed texts of causes and fixes hold nothing that
// is taken for private.
func TestRedactedKeepsAdvice(t *testing.T) {
	for _, path := range glob(t, "../testdata/logs/*/*.log") {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		r := diagnose.Bytes(raw)
		masked := r.Redacted()
		for i, in := range r.Incidents {
			assert.Equal(t, in.Figures, masked.Incidents[i].Figures, path)
			for k, fix := range in.Fixes {
				assert.Equal(t, fix.Why, masked.Incidents[i].Fixes[k].Why, path)
				assert.Equal(t, len(fix.Steps), len(masked.Incidents[i].Fixes[k].Steps))
			}
		}
		assert.Equal(t, r.Lookalikes, masked.Lookalikes, path)
	}
}
