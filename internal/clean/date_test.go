package clean_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/clean"
)

func TestDateOf(t *testing.T) {
	for line, want := range map[string]int{
		`time=2024-07-24T16:07:58.350+02:00 level=INFO source=server.go:622 msg="llama runner started"`:             20240724,
		`Jul 24 16:07:58 host ollama[11]: time=2024-07-24T16:07:58.350+02:00 level=INFO source=server.go`:           20240724,
		`[GIN] 2024/03/31 - 18:56:52 | 200 |    1.6048077s |   192.168.50.60 | POST     "/api/chat"`:                20240331,
		`[2025-10-16 09:06:22 TP0] Load weight begin. avail mem=78.57 GB`:                                           20251016,
		`2025-06-24 23:43:36,902 xinference.core.model 5892 ERROR    Model actor is out of memory`:                  20250624,
		`{"function":"update_slots","level":"INFO","line":1642,"msg":"slot released","timestamp":1711936612,"x":1}`: 20240401,
		` ERR [load_model] unable to load model | tid="139899989935040" timestamp=1725724830 model="x.gguf"`:        20240907,
		`ERROR 10-14 12:32:47 multiproc_worker_utils.py:233] torch.OutOfMemoryError`:                                0,
		`/data/run-2024-07-25/model.gguf`: 0,
		`tensor of 20240725 rows`:         0,
		`2024-13-45 00:00:00 x`:           0,
		`timestamp=123`:                   0,
		`20`:                              0,
		``:                                0,
	} {
		assert.Equal(t, want, clean.DateOf(line), line)
	}
}

func TestDateNear(t *testing.T) {
	lines := clean.Lines("2024-07-24 16:07:58 one\ntwo\nthree\n", 1)
	assert.Equal(t, 20240724, clean.DateNear(lines, 2))
	assert.Zero(t, clean.DateNear(clean.Lines("one\ntwo\n", 1), 1))
}
