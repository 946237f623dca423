//go:build unix

package clip_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/cli/clip"
)

// run starts a shell as the program that reads the clipboard.
func run(ctx context.Context, script string) ([]byte, error) {
	return clip.System(os.Getenv).Run(ctx, "sh", "-c", script)
}

// TestEndsWithChildren: a program that does not answer is ended with what it
// started; so is what one that did answer leaves behind.
func TestEndsWithChildren(t *testing.T) {
	for name, test := range map[string]struct{ script, want, err string }{
		"hangs":            {script: "sleep 300 & echo $! > PID; wait", err: "no answer"},
		"hangs, and waits": {script: "trap '' TERM; (trap '' TERM; sleep 300; sleep 300) & echo $! > PID; wait; wait", err: "no answer"},
		"leaves a child":   {script: "sleep 300 & echo $! > PID; echo crash", want: "crash\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pid := filepath.Join(t.TempDir(), "pid")
			ctx, stop := context.WithTimeout(t.Context(), 3*time.Second) // as the patience does
			defer stop()
			start := time.Now()
			out, err := run(ctx, strings.ReplaceAll(test.script, "PID", pid))
			assert.Less(t, time.Since(start), 8*time.Second)
			if test.err != "" {
				assert.EqualError(t, err, test.err)
			} else {
				require.NoError(t, err)
			}
			assert.Equal(t, test.want, string(out))
			assert.Eventually(t, func() bool { return gone(t, pid) }, 5*time.Second, 20*time.Millisecond)
		})
	}
}

// gone reports that a process has ended, though nobody may have asked for how.
func gone(t *testing.T, file string) bool {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	pid := strings.TrimSpace(string(raw))
	if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil {
		return strings.Contains(string(stat), ") Z ")
	}
	_, err = os.Stat("/proc/self")
	return err == nil || syscall.Kill(number(t, pid), 0) != nil
}

// TestTooMuch: a clipboard without end is left.
func TestTooMuch(t *testing.T) {
	_, err := run(t.Context(), "yes 'all is well'")
	assert.EqualError(t, err, "the clipboard holds more than 64 MiB; save the log to a file, and run oomdoc FILE")
	out, err := run(t.Context(), "head -c 67108864 /dev/zero")
	require.NoError(t, err)
	assert.Len(t, out, 64<<20)
	_, err = run(t.Context(), "yes complaint 1>&2 & sleep 0.2; kill $!; exit 3")
	assert.EqualError(t, err, "complaint")
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}
