//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// oomdoc starts the command as a process: the test binary is the command when
// it has its name (see TestMain).
func oomdoc(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "oomdoc")
	require.NoError(t, os.Symlink(self, name))
	return exec.Command(name, args...)
}

// TestInterrupt: Ctrl-C while the input still runs gives the report so far, and so
// do a kill and the end of the terminal.
func TestInterrupt(t *testing.T) {
	for s, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		t.Run(s.String(), func(t *testing.T) {
			if signal.Ignored(s) { // as under nohup; the program then rightly runs on
				t.Skip("this signal is ignored where the tests run")
			}
			interrupt(t, s, code)
		})
	}
}

func interrupt(t *testing.T, s syscall.Signal, code int) {
	cmd := oomdoc(t, "--format", "json")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	// More than is looked at before the diagnosis begins, and more than a pipe
	// holds: when it is written, reading is under way.
	_, err = io.WriteString(in, crash+string(bytes.Repeat([]byte("INFO step done\n"), 20_000)))
	require.NoError(t, err)
	time.Sleep(100 * time.Millisecond)
	start := time.Now()
	require.NoError(t, cmd.Process.Signal(s))
	assert.Equal(t, code, wait(t, cmd))
	t.Logf("the report came after %v", time.Since(start))
	assert.Contains(t, out.String(), `"oom": true`)
	assert.Contains(t, out.String(), "Reading was interrupted")
	assert.Empty(t, errs.String())
}

// TestInterruptJudging: Ctrl-C after the input has ended ends the diagnosis.
func TestInterruptJudging(t *testing.T) {
	log := filepath.Join(t.TempDir(), "hard.log")
	var hard strings.Builder // every failure there is, in no order: half a second's work and more
	words, err := oomdoc(t, "keywords").Output()
	require.NoError(t, err)
	all := strings.Fields(strings.ReplaceAll(string(words), " ", "\x00"))
	for i := 0; hard.Len() < 1<<20; i += 7919 {
		hard.WriteString(strings.ReplaceAll(all[i%len(all)], "\x00", " ") + " 1\n")
	}
	require.NoError(t, os.WriteFile(log, []byte(hard.String()), 0o600))
	start := time.Now()
	require.NoError(t, oomdoc(t, "--format", "json", log).Run())
	whole := time.Since(start)
	best := time.Hour
	for try := 0; try < 9 && best > 100*time.Millisecond; try++ {
		cmd := oomdoc(t, "--format", "json", log)
		var out bytes.Buffer
		cmd.Stdout = &out
		require.NoError(t, cmd.Start())
		time.Sleep(whole * time.Duration(try%3+1) / 4)
		start := time.Now()
		if cmd.Process.Signal(os.Interrupt) != nil {
			continue
		}
		if code := wait(t, cmd); code == 130 && out.Len() == 0 { // else it had judged before
			best = min(best, time.Since(start))
		}
	}
	t.Logf("%v, of %v in all", best, whole)
	assert.Less(t, best, 200*time.Millisecond) // 100 ms, and the end of a process
}

// TestNohup: a hangup that is to be ignored is ignored.
func TestNohup(t *testing.T) {
	cmd := oomdoc(t, "--format", "json")
	cmd.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	var out bytes.Buffer
	cmd.Stdout = &out
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.WriteString(in, crash+string(bytes.Repeat([]byte("INFO step done\n"), 20_000)))
	require.NoError(t, err)
	time.Sleep(100 * time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	time.Sleep(50 * time.Millisecond)
	require.NoError(t, in.Close())
	assert.Zero(t, wait(t, cmd))
	assert.NotContains(t, out.String(), "interrupted")
}

// TestInterruptBeforeInput: nothing was read, so there is nothing to say. On a busy
// machine the process may need a while until it listens to signals: until then a
// signal ends it, as any process.
func TestInterruptBeforeInput(t *testing.T) {
	t.Parallel()
	const unheard = -1 // ended by the signal itself
	code, out := unheard, bytes.Buffer{}
	for pause := 500 * time.Millisecond; code == unheard && pause < 10*time.Second; pause *= 2 {
		cmd := oomdoc(t)
		out.Reset()
		cmd.Stdout, cmd.Stderr = &out, &out
		_, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		time.Sleep(pause)
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		code = wait(t, cmd)
	}
	assert.Equal(t, 130, code)
	assert.Empty(t, out.String())
}

// wait returns the exit code, or fails after ten seconds.
func wait(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	stop := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
	defer stop.Stop()
	cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// TestCollectsOnce: a short log is answered before the garbage collector would
// have anything to do, but for the ballast.
func TestCollectsOnce(t *testing.T) {
	cmd := oomdoc(t, "--format", "json", "../../testdata/logs/pytorch/traceback-3k.log")
	cmd.Env = append(cmd.Environ(), "GODEBUG=gctrace=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	require.NoError(t, cmd.Run())
	assert.LessOrEqual(t, strings.Count(errs.String(), "gc "), 1, errs.String())
}

// TestReaderGoesAway: a pipe that closes early ends the command without a word.
func TestReaderGoesAway(t *testing.T) {
	cmd := oomdoc(t, "--format", "json", "../../testdata/logs/pytorch/traceback-3k.log")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	r, w, err := os.Pipe()
	require.NoError(t, err)
	r.Close()
	cmd.Stdout = w
	require.NoError(t, cmd.Start())
	wait(t, cmd)
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		assert.Equal(t, syscall.SIGPIPE, status.Signal()) // as cat and grep end
	} else {
		assert.Zero(t, status.ExitStatus())
	}
	assert.Empty(t, errs.String())
}

// TestFullDisk: what cannot be written is said, with the code of trouble.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close()
	cmd := oomdoc(t, "../../testdata/logs/pytorch/traceback-3k.log")
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &errs
	require.NoError(t, cmd.Start())
	assert.Equal(t, 2, wait(t, cmd))
	assert.Equal(t, "oomdoc: standard output cannot be written: no space left on device\n", errs.String())
}

// TestReadErrorMidway: a file that ends in an error is no log that ended.
func TestReadErrorMidway(t *testing.T) {
	cmd := oomdoc(t, "/proc/self/mem") // its first page cannot be read
	if _, err := os.Stat("/proc/self/mem"); err != nil {
		t.Skip("no /proc here")
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Start())
	assert.Equal(t, 2, wait(t, cmd))
	assert.Empty(t, out.String())
	line, err := bufio.NewReader(&errs).ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, "cannot be read: input/output error")
	assert.Zero(t, errs.Len())
}
