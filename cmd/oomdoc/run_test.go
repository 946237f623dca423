//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// window is a terminal in which a command runs.
type window struct {
	master *os.File
	cmd    *exec.Cmd
	mu     sync.Mutex
	seen   bytes.Buffer
}

// open starts a command in a terminal of 33 by 101; streams that it has already
// stay as they are.
func open(t *testing.T, cmd *exec.Cmd) *window {
	t.Helper()
	master, slave, err := pty.Open()
	require.NoError(t, err)
	defer slave.Close()
	require.NoError(t, pty.Setsize(master, &pty.Winsize{Rows: 33, Cols: 101}))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	cmd.Stdout = slave
	if cmd.Stdin == nil {
		cmd.Stdin = slave
	}
	if cmd.Stderr == nil {
		cmd.Stderr = slave
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); master.Close() })
	w := &window{master: master, cmd: cmd}
	go io.Copy(w, master)
	return w
}

func (w *window) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen.Write(b)
}

func (w *window) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.ReplaceAll(w.seen.String(), "\r", "")
}

// shows waits until the window shows a text.
func (w *window) shows(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(w.text(), text) }, 10*time.Second, 10*time.Millisecond, "%q is not there", text)
}

func (w *window) keys(t *testing.T, keys string) {
	t.Helper()
	_, err := w.master.WriteString(keys)
	require.NoError(t, err)
}

// TestRunGivesATerminal: the program has a terminal of the window's size for
// what leads to one, and only for that.
func TestRunGivesATerminal(t *testing.T) {
	w := open(t, oomdoc(t, "run", "--", "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && stty size; tty </dev/tty >/dev/null && echo has its own"))
	assert.Zero(t, wait(t, w.cmd))
	w.shows(t, "33 101\nhas its own\n")

	cmd := oomdoc(t, "run", "--", "sh", "-c", "test -t 1 && echo to the screen; test -t 2 || echo to the file >&2; stty size")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	w = open(t, cmd)
	assert.Zero(t, wait(t, cmd))
	assert.Equal(t, "to the file\n", errs.String())
	w.shows(t, "to the screen\n33 101\n")

	cmd = oomdoc(t, "run", "--", "sh", "-c", "test -t 1 && read x && printf 'a\\nb %s\\n' \"$x\"")
	cmd.Stdin = strings.NewReader("typed elsewhere\n")
	w = open(t, cmd)
	assert.Zero(t, wait(t, cmd))
	w.shows(t, "a\nb typed elsewhere\n")
	assert.NotContains(t, w.seen.String(), "\r\r")
}

// TestRunKeys: Ctrl-C reaches the program, and it alone decides what follows;
// so does a new size of the window.
func TestRunKeys(t *testing.T) {
	w := open(t, oomdoc(t, "run", "--", "sh", "-c", `trap 'echo "got it"; exit 7' INT; trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done`))
	w.shows(t, "ready")
	require.NoError(t, pty.Setsize(w.master, &pty.Winsize{Rows: 40, Cols: 90}))
	w.shows(t, "40 90")
	w.keys(t, "\x03")
	assert.Equal(t, 7, wait(t, w.cmd))
	w.shows(t, "got it")
}

// TestRunTyping: what is typed reaches the program as its own terminal has it,
// to Ctrl-D.
func TestRunTyping(t *testing.T) {
	w := open(t, oomdoc(t, "run", "--", "cat"))
	w.keys(t, "hello\n")
	w.shows(t, "hello\nhello\n") // the echo and the answer
	w.keys(t, "\x04")
	assert.Zero(t, wait(t, w.cmd))
}

// TestRunStopsAndGoesOn: Ctrl-Z stops program and command, fg goes on with both.
func TestRunStopsAndGoesOn(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	self := oomdoc(t, "run", "--", "cat").Args
	cmd := exec.Command(bash, "--norc", "--noprofile", "-i")
	cmd.Env = append(os.Environ(), "PS1=ready> ", "TERM=dumb", "HISTFILE=")
	w := open(t, cmd)
	w.shows(t, "ready> ")
	w.keys(t, strings.Join(self, " ")+"\n")
	time.Sleep(300 * time.Millisecond)
	w.keys(t, "before\n")
	w.shows(t, "before\nbefore\n")
	w.keys(t, "\x1a")
	w.shows(t, "Stopped")
	w.keys(t, "echo in $((40+2)) between\n")
	w.shows(t, "in 42 between")
	w.keys(t, "fg\n")
	time.Sleep(300 * time.Millisecond)
	w.keys(t, "after\n")
	w.shows(t, "after\nafter\n")
	w.keys(t, "\x04")
	// What is typed before the program has ended is the program's: wait for the
	// prompt, the fourth.
	require.Eventually(t, func() bool { return strings.Count(w.text(), "ready> ") >= 4 }, 20*time.Second, 10*time.Millisecond)
	w.keys(t, "exit 5\n")
	assert.Equal(t, 5, wait(t, cmd))
}

// TestRunSignals: what is sent to the command is the program's, and a program
// that a signal ended gives its code.
func TestRunSignals(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		send   os.Signal
		code   int
	}{
		"handled":   {`trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done`, syscall.SIGTERM, 9},
		"unhandled": {`echo ready; exec sleep 20`, syscall.SIGTERM, 143},
		"user":      {`trap 'exit 3' USR1; echo ready; while :; do sleep 0.05; done`, syscall.SIGUSR1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := oomdoc(t, "run", "--", "sh", "-c", c.script)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			_, err = io.ReadFull(out, make([]byte, len("ready\n")))
			require.NoError(t, err)
			require.NoError(t, cmd.Process.Signal(c.send))
			assert.Equal(t, c.code, wait(t, cmd))
		})
	}
}

// TestRunAll: not a byte is lost or moved, in the log neither.
func TestRunAll(t *testing.T) {
	var want bytes.Buffer
	for i := range 300_000 {
		fmt.Fprintln(&want, i+1)
	}
	log := filepath.Join(t.TempDir(), "all.log")
	out, err := oomdoc(t, "run", "--log", log, "--", "seq", "300000").Output()
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want.Bytes(), out))
	kept, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want.Bytes(), kept))
}

// TestRunLeavesBehind: a process that the program leaves behind keeps nobody
// waiting.
func TestRunLeavesBehind(t *testing.T) {
	t.Parallel()
	began := time.Now()
	out, err := oomdoc(t, "run", "--", "sh", "-c", "sleep 30 & echo done").Output()
	require.NoError(t, err)
	assert.Equal(t, "done\n", string(out))
	assert.Less(t, time.Since(began), 10*time.Second)
}

// TestRunReaderGoesAway: the program is told, as it would be without.
func TestRunReaderGoesAway(t *testing.T) {
	cmd := oomdoc(t, "run", "--", "yes")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout = w
	require.NoError(t, cmd.Start())
	w.Close()
	_, err = io.ReadFull(r, make([]byte, 100))
	require.NoError(t, err)
	r.Close()
	assert.Equal(t, 128+int(syscall.SIGPIPE), wait(t, cmd))
}

// TestSignOfLife: a terminal that waits longer than two seconds is told what is
// going on, and nothing of it stays.
func TestSignOfLife(t *testing.T) {
	t.Parallel()
	cmd := oomdoc(t, "--brief")
	r, in, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdin = r
	w := open(t, cmd)
	w.shows(t, "waiting for standard input; Ctrl-C ends it")
	_, err = io.WriteString(in, crash+strings.Repeat("a healthy line\n", 20_000))
	require.NoError(t, err)
	w.shows(t, "of standard input; its end is waited for")
	require.NoError(t, in.Close())
	assert.Zero(t, wait(t, cmd))
	w.shows(t, "\x1b[K")
}

// TestBackgroundIsAsked: the terminal says that it is light, and the page is
// written for that; one that is given the log as its input is not asked.
func TestBackgroundIsAsked(t *testing.T) {
	log := filepath.Join(t.TempDir(), "crash.log")
	require.NoError(t, os.WriteFile(log, []byte(crash), 0o600))
	const heading = "\x1b[38;5;%d;1m"
	for name, c := range map[string]struct {
		args   []string
		answer string
		color  int
	}{
		"light":   {nil, "\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?6c", 26},
		"dark":    {nil, "\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?6c", 39},
		"neither": {nil, "\x1b[?6c", 63},
		"told":    {[]string{"--theme", "light"}, "", 26},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := oomdoc(t, append(c.args, log)...)
			cmd.Env = append(os.Environ(), "TERM=xterm-256color", "CI=", "NO_COLOR=", "COLORFGBG=", "STY=", "SSH_TTY=", "SSH_CONNECTION=")
			w := open(t, cmd)
			if c.answer != "" {
				w.shows(t, "\x1b]11;?")
				w.keys(t, c.answer)
			}
			assert.Zero(t, wait(t, cmd))
			w.shows(t, fmt.Sprintf(heading, c.color))
			assert.Equal(t, c.answer != "", strings.Contains(w.text(), "\x1b]11;?"))
		})
	}
}
