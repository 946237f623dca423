package follow

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reading follows a file and passes on its lines.
func reading(t *testing.T, name string) (*File, <-chan string, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f, lines := New(ctx, name), make(chan string, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(lines)
		for in := bufio.NewScanner(f); in.Scan(); {
			lines <- in.Text()
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return f, lines, cancel
}

func next(t *testing.T, lines <-chan string) string {
	t.Helper()
	select {
	case line := <-lines:
		return line
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came")
		return ""
	}
}

func add(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func TestGrowsRotatesAndIsCut(t *testing.T) {
	name := filepath.Join(t.TempDir(), "app.log")
	add(t, name, "old 1\nold 2\n")
	f, lines, cancel := reading(t, name)
	assert.Equal(t, "old 1", next(t, lines))
	assert.Equal(t, "old 2", next(t, lines))
	add(t, name, "new 1\n")
	assert.Equal(t, "new 1", next(t, lines))
	assert.Equal(t, 2, f.Old())

	// logrotate: the file moves, its last line still comes, a new one appears.
	require.NoError(t, os.Rename(name, name+".1"))
	add(t, name+".1", "last of the first\n")
	assert.Equal(t, "last of the first", next(t, lines))
	time.Sleep(2 * pause)
	add(t, name, "first of the second\n")
	assert.Equal(t, "first of the second", next(t, lines))

	// copytruncate
	require.NoError(t, os.Truncate(name, 0))
	time.Sleep(2 * pause)
	add(t, name, "again\n")
	assert.Equal(t, "again", next(t, lines))

	// removed, and made anew
	require.NoError(t, os.Remove(name))
	time.Sleep(2 * pause)
	add(t, name, "made anew\n")
	assert.Equal(t, "made anew", next(t, lines))
	assert.Equal(t, 2, f.Old())

	cancel()
	_, open := <-lines
	assert.False(t, open)
}

func TestAppearsLater(t *testing.T) {
	name := filepath.Join(t.TempDir(), "later.log")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f, missing := New(ctx, name), make(chan bool, 2)
	f.Missing = func() { missing <- true }
	line := make(chan string)
	go func() {
		s, _ := bufio.NewReader(f).ReadString('\n')
		line <- s
	}()
	assert.True(t, <-missing)
	time.Sleep(2 * pause)
	add(t, name, "here\n")
	assert.Equal(t, "here\n", <-line)
	assert.Zero(t, f.Old(), "it stood in no file when that was looked for")
	assert.Empty(t, missing, "it is said once")
}

func TestCannotBeFollowed(t *testing.T) {
	_, err := New(context.Background(), t.TempDir()).Read(make([]byte, 10))
	assert.ErrorContains(t, err, "it is a directory")
}
