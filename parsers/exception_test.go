package parsers

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestExceptions: a log without a failure says which exception ended it; one
// with a failure, or with no traceback, has none.
func TestExceptions(t *testing.T) {
	for name, c := range map[string]struct{ log, want string }{
		"syntax":       {"Traceback (most recent call last):\n  File \"/srv/app/main.py\", line 7, in <module>\n    import loader\n  File \"/srv/app/loader.py\", line 31\n    pass\n    ^\nIndentationError: expected an indented block", "IndentationError: expected an indented block (loader.py, line 31)"},
		"last of two":  {"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: 'x'\n\nTraceback (most recent call last):\n  File \"b.py\", line 2, in g\nmy.mod.BadThingError: no", "my.mod.BadThingError: no (b.py, line 2)"},
		"no words":     {"Traceback (most recent call last):\nFile “C:\\x\\y.py”, line 5, in init\nassert self.m\nAssertionError", "AssertionError (y.py, line 5)"},
		"of C":         {"Traceback (most recent call last):\n  File \"q.py\", line 9, in f\n    L = torch.linalg.cholesky(H)\ntorch._C._LinAlgError: linalg.cholesky: the input is not positive-definite", "torch._C._LinAlgError: linalg.cholesky: the input is not positive-definite (q.py, line 9)"},
		"a panic":      {"loading\nthread 'main' panicked at src/gguf.rs:357:46:\nno entry found for key\nnote: run with `RUST_BACKTRACE=1`", "panicked at src/gguf.rs:357:46: no entry found for key"},
		"an old panic": {"thread 'main' panicked at 'no entry found for key', src/gguf.rs:357:46\nnote: run with `RUST_BACKTRACE=1`", "panicked at 'no entry found for key', src/gguf.rs:357:46"},
		"a full panic": {"thread 'main' panicked at src/model.rs:7:2:\nout of memory while it allocated 4096 bytes for the cache", ""},
		"no traceback": {"note: ValueError: is what it prints", ""},
		"memory":       {"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := read(c.log)
			if c.want == "" {
				assert.Empty(t, found.Lookalikes)
				return
			}
			if assert.Len(t, found.Lookalikes, 1) {
				assert.Equal(t, c.want, found.Lookalikes[0].Text)
			}
		})
	}
}
