//go:build unix

package screen

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// asking is the environment variable by which this test binary asks its
// terminal, as a process of its own that has one.
const asking = "SCREEN_TEST_ASKS"

func TestMain(m *testing.M) {
	if os.Getenv(asking) == "" {
		os.Exit(m.Run())
	}
	before, _ := unix.IoctlGetTermios(0, getTermios)
	began := time.Now()
	on := Ask(os.Stdin, os.Stdout, func(name string) string { return map[string]string{"TERM": "xterm"}[name] })
	took := time.Since(began)
	after, _ := unix.IoctlGetTermios(0, getTermios)
	os.Stdout.WriteString([]string{"unknown", "dark", "light"}[on])
	if took < 150*time.Millisecond {
		os.Stdout.WriteString(" at once")
	}
	if *before == *after {
		os.Stdout.WriteString(" restored")
	}
	line := make([]byte, 64)
	n, _ := os.Stdin.Read(line)
	os.Stdout.WriteString(" read:" + strings.TrimSpace(string(line[:n])) + ".\n")
	io.Copy(io.Discard, os.Stdin) // a terminal that loses its last process may lose what was written to it, too
}

// terminalOf runs this binary in a terminal, which answers what it is asked.
func terminalOf(t *testing.T, typed string, answer func(question string) string) string {
	t.Helper()
	master, slave, err := pty.Open()
	require.NoError(t, err)
	defer master.Close()
	if typed != "" {
		_, err := master.WriteString(typed)
		require.NoError(t, err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asking+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, cmd.Start())
	slave.Close()
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	var seen strings.Builder
	buf, answered := make([]byte, 1024), false
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		n, err := master.Read(buf)
		seen.Write(buf[:n])
		if !answered && strings.Contains(seen.String(), question) {
			answered = true
			master.WriteString(answer(question))
		}
		if strings.Contains(seen.String(), " restored") && typed == "" {
			typed = "end\n"
			master.WriteString(typed)
		}
		if err != nil || strings.Contains(seen.String(), ".\r\n") {
			break
		}
	}
	_, told, _ := strings.Cut(seen.String(), "c") // after the question, if there was one
	if !answered {
		told = seen.String()
	}
	return strings.ReplaceAll(told, "\r", "")
}

const device = "\x1b[?62;1c"

// TestAsk: a terminal's answer, in one piece or without the first; one that says
// nothing; and in every case its modes are as before and what it said is not
// read as typed.
func TestAsk(t *testing.T) {
	for name, test := range map[string]struct{ answer, want string }{
		"light":        {"\x1b]11;rgb:ffff/ffff/ffff\x1b\\" + device, "light at once restored"},
		"dark":         {"\x1b]11;rgb:1e1e/1e1e/1e1e\a" + device, "dark at once restored"},
		"does not say": {device, "unknown at once restored"},
		"silent":       {"", "unknown restored"},
		"half":         {"\x1b]11;rgb:ffff", "unknown restored"},
		"only one":     {"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "light restored"},
	} {
		t.Run(name, func(t *testing.T) {
			told := terminalOf(t, "", func(string) string { return test.answer })
			assert.Contains(t, told, test.want)
			assert.Contains(t, told, "read:end.")
		})
	}
}

// TestAskTypedAhead: where something was typed already, nothing is asked, and
// nothing of it is lost.
func TestAskTypedAhead(t *testing.T) {
	told := terminalOf(t, "typed\n", func(string) string { return "never" })
	assert.NotContains(t, told, "\x1b")
	assert.Contains(t, told, "unknown at once restored read:typed.")
}

// TestAskTypedMeanwhile: keys between question and answer are handed back where
// the system lets a program do that.
func TestAskTypedMeanwhile(t *testing.T) {
	if allowed, err := os.ReadFile("/proc/sys/dev/tty/legacy_tiocsti"); err == nil && strings.TrimSpace(string(allowed)) != "1" {
		t.Skip("this system hands nothing back")
	}
	told := terminalOf(t, "", func(string) string { return "so\x1b]11;rgb:0/0/0\x1b\\ far, " + device })
	assert.Contains(t, told, "dark at once restored")
	assert.Contains(t, told, "read:so far,")
}

// TestAskHalfALine: so is the beginning of a line, which only the changed modes
// show.
func TestAskHalfALine(t *testing.T) {
	told := terminalOf(t, "half", func(string) string { return "never" })
	assert.NotContains(t, told, "\x1b")
	assert.Contains(t, told, "restored read:half.")
}

// TestAskNobody: a file is no terminal, and neither is one that another process
// has in its foreground.
func TestAskNobody(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, heard{}, ask(f, f, time.Second))
	_, slave, err := pty.Open()
	require.NoError(t, err)
	defer slave.Close()
	assert.Equal(t, heard{}, ask(slave, slave, time.Second))
}
