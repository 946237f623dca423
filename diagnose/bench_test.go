package diagnose_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// BenchmarkRead is the cost of one pasted traceback on a warm library.
func BenchmarkRead(b *testing.B) {
	log, err := os.ReadFile("../testdata/logs/pytorch/traceback-3k.log")
	require.NoError(b, err)
	for name, raw := range map[string][]byte{
		"3kB":       log,
		"100kB":     append([]byte(strings.Repeat("INFO 2025-01-01 step done, loss 0.123, all is well\n", 2000)), log...),
		"4MiB-calm": bytes.Repeat([]byte("INFO:     127.0.0.1:42 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n"), 60_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := diagnose.Read(context.Background(), bytes.NewReader(raw)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
