package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// TestHealthyLogs: a server that runs for hours is no crash, whatever it prints
// about memory.
func TestHealthyLogs(t *testing.T) {
	for engine := range engines {
		t.Run(engine, func(t *testing.T) {
			var log bytes.Buffer
			write(&log, engines[engine], 8<<20)
			assert.False(t, bytes.Contains(log.Bytes(), []byte("%!")), "a line lacks a value")
			r, err := diagnose.Read(t.Context(), &log)
			require.NoError(t, err)
			assert.False(t, r.OOM)
			assert.Empty(t, r.Incidents)
			assert.Empty(t, r.Lookalikes)
		})
	}
}
