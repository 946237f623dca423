package clip_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/cli/clip"
)

func TestRead(t *testing.T) {
	for _, test := range []struct {
		name, os string
		env      map[string]string
		programs map[string]string // installed, and what they print; "!" fails
		want     string            // what was run
		err      string
	}{
		{name: "macOS", os: "darwin", programs: map[string]string{"pbpaste": "x"}, want: "pbpaste"},
		{name: "Windows", os: "windows", programs: map[string]string{"powershell.exe": "x"}, want: "powershell.exe"},
		{name: "WSL before its X11", os: "linux", env: map[string]string{"WSL_DISTRO_NAME": "Debian", "DISPLAY": ":0"}, programs: map[string]string{"powershell.exe": "x", "xclip": "y"}, want: "powershell.exe"},
		{name: "Wayland before X11", os: "linux", env: map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, programs: map[string]string{"wl-paste": "x", "xclip": "y"}, want: "wl-paste"},
		{name: "Wayland without wl-clipboard", os: "linux", env: map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, programs: map[string]string{"xclip": "y"}, want: "xclip"},
		{name: "X11 with xsel", os: "linux", env: map[string]string{"DISPLAY": ":0"}, programs: map[string]string{"xsel": "y"}, want: "xsel"},
		{name: "empty here, full in tmux", os: "linux", env: map[string]string{"DISPLAY": ":0", "TMUX": "/tmp/tmux"}, programs: map[string]string{"xclip": " \n", "tmux": "y"}, want: "tmux"},
		{name: "Termux", os: "android", env: map[string]string{"TERMUX_VERSION": "0.118"}, programs: map[string]string{"termux-clipboard-get": "x"}, want: "termux-clipboard-get"},
		{name: "program missing on X11", os: "linux", env: map[string]string{"DISPLAY": ":0"}, err: "install the package xclip"},
		{name: "program missing on Wayland", os: "linux", env: map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, err: "install the package wl-clipboard"},
		{name: "no session", os: "linux", err: "there is no clipboard in this session"},
		{name: "empty", os: "darwin", programs: map[string]string{"pbpaste": ""}, err: "the clipboard holds no text; copy the crash"},
		{name: "failing", os: "darwin", programs: map[string]string{"pbpaste": "!"}, err: "pbpaste: no luck; copy the log again"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ran := ""
			m := clip.Machine{
				OS:     test.os,
				Getenv: func(name string) string { return test.env[name] },
				Has:    func(program string) bool { _, ok := test.programs[program]; return ok },
				Run: func(_ context.Context, program string, _ ...string) ([]byte, error) {
					ran = program
					if test.programs[program] == "!" {
						return nil, errors.New("no luck")
					}
					return []byte(test.programs[program]), nil
				},
			}
			_, err := clip.Read(t.Context(), m)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				assert.NotContains(t, err.Error(), "\n")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, ran)
		})
	}
}

// TestReadX11 copies with xclip and reads it back, on a display of its own.
func TestReadX11(t *testing.T) {
	for _, program := range []string{"Xvfb", "xclip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program, "is not installed")
		}
	}
	display := startXvfb(t)
	t.Setenv("DISPLAY", display)
	const text = "CUDA out of memory. Tried to allocate 2.00 GiB\n\u00fcber\n"
	copying := exec.Command("xclip", "-selection", "clipboard", "-in", "-quiet")
	copying.Stdin = strings.NewReader(text)
	require.NoError(t, copying.Start())
	t.Cleanup(func() { _ = copying.Process.Kill(); _ = copying.Wait() })

	m := clip.System(func(name string) string { return map[string]string{"DISPLAY": display}[name] })
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		got, err := clip.Read(t.Context(), m)
		if err == nil {
			assert.Equal(t, text, string(got))
			return
		}
		require.True(t, time.Now().Before(deadline), "%v", err)
	}
}

// startXvfb starts a display whose number the server chooses.
func startXvfb(t *testing.T) string {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	ctx, stop := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, "Xvfb", "-displayfd", "3", "-nolisten", "tcp", "-noreset")
	server.ExtraFiles = []*os.File{w}
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) } // killed, it would leave its socket behind
	server.WaitDelay = 5 * time.Second
	require.NoError(t, server.Start())
	require.NoError(t, w.Close())
	t.Cleanup(func() { stop(); _ = server.Wait() })
	require.NoError(t, r.SetReadDeadline(time.Now().Add(20*time.Second)))
	number, err := bufio.NewReader(r).ReadString('\n') // all of it: a closed pipe would end the server
	require.NoError(t, err)
	return ":" + strings.TrimSpace(number)
}
