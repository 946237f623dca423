// Package clip reads the clipboard by running the program that the desktop, the
// terminal or the system has for it. There is no cgo and no library: a
// clipboard is read once a run, and only when the user asked for it.
package clip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Machine is where the clipboard is: tests put their own in place.
type Machine struct {
	OS     string
	Getenv func(string) string
	// Has reports that a program can be run; Run returns what it printed.
	Has func(program string) bool
	Run func(ctx context.Context, program string, args ...string) ([]byte, error)
}

// System is this machine.
func System(getenv func(string) string) Machine {
	return Machine{OS: runtime.GOOS, Getenv: getenv, Has: installed, Run: output}
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// patience bounds a program that waits for an owner of the clipboard who does
// not answer (xclip against a hung window does), and afterwards what it started
// and left behind.
const (
	patience  = 10 * time.Second
	aftermath = time.Second
)

// most is how much a clipboard may hold, in bytes. Of a complaint less is kept.
const (
	most          = 64 << 20
	mostComplaint = 4 << 10
)

var errTooMuch = fmt.Errorf("the clipboard holds more than %d MiB; save the log to a file, and run oomdoc FILE", most>>20)

// output runs a program that reads the clipboard. When it takes too long, says
// too much or ctx is done, it is ended with all that it started.
func output(ctx context.Context, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, complaint := &limited{most: most, over: cancel}, &limited{most: mostComplaint}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = out, complaint
	cmd.WaitDelay = aftermath
	together(cmd)
	err := cmd.Run()
	switch {
	case out.full:
		return nil, errTooMuch
	case ctx.Err() != nil:
		return nil, errors.New("no answer")
	case errors.Is(err, exec.ErrWaitDelay): // it ended well, but a child of it keeps the pipe open
		_ = cmd.Cancel()
	case err != nil:
		line, _, _ := strings.Cut(strings.TrimSpace(complaint.kept.String()), "\n")
		if line == "" {
			line = err.Error()
		}
		return nil, errors.New(strings.ToValidUTF8(strings.Map(printable, line), "?"))
	}
	return out.kept.Bytes(), nil
}

// limited keeps the first bytes that are written to it, and says when there are
// more.
type limited struct {
	kept bytes.Buffer
	most int
	full bool
	over func() // nil: the rest is dropped
}

func (l *limited) Write(p []byte) (int, error) {
	room := l.most - l.kept.Len()
	l.kept.Write(p[:min(len(p), room)])
	if len(p) > room {
		l.full = true
		if l.over != nil {
			l.over()
		}
	}
	return len(p), nil
}

func printable(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return ' '
	}
	return r
}

// way is one way to a clipboard.
type way struct {
	program string
	args    []string
	here    func(Machine) bool
	install string // the package that brings the program, "" where it is always there
}

func variable(name string) func(Machine) bool {
	return func(m Machine) bool { return m.Getenv(name) != "" }
}

func system(names string) func(Machine) bool {
	return func(m Machine) bool { return m.OS == names }
}

// powershell prints the clipboard as UTF-8; without the first statement it
// would be in the console's code page.
var powershell = []string{"-NoProfile", "-NonInteractive", "-Command", "[Console]::OutputEncoding=[System.Text.Encoding]::UTF8; Get-Clipboard -Raw"}

// ways in the order of trying. Wayland goes before X11, which it brings along,
// and WSL before both: WSLg has displays whose clipboard lags behind. The
// buffer of tmux is the last: it is one's own, but not what was copied last.
var ways = []way{
	{"pbpaste", nil, system("darwin"), ""},
	{"powershell.exe", powershell, system("windows"), ""},
	{"powershell.exe", powershell, variable("WSL_DISTRO_NAME"), ""},
	{"termux-clipboard-get", nil, variable("TERMUX_VERSION"), "termux-api"},
	{"wl-paste", []string{"--no-newline"}, variable("WAYLAND_DISPLAY"), "wl-clipboard"},
	{"xclip", []string{"-selection", "clipboard", "-out"}, variable("DISPLAY"), "xclip"},
	{"xsel", []string{"-b", "-o"}, variable("DISPLAY"), "xclip"},
	{"tmux", []string{"show-buffer"}, variable("TMUX"), ""},
}

// Read returns the text on the clipboard. Its error is one line that says what
// to do: install a program, copy something, or paste by hand.
func Read(ctx context.Context, m Machine) ([]byte, error) {
	var missing string
	var failed error
	for _, w := range ways {
		switch {
		case !w.here(m):
			continue
		case !m.Has(w.program):
			if missing == "" {
				missing = w.install
			}
			continue
		}
		text, err := m.Run(ctx, w.program, w.args...)
		switch {
		case errors.Is(err, errTooMuch):
			return nil, err
		case err != nil && failed == nil:
			failed = fmt.Errorf("the clipboard could not be read: %s: %w; copy the log again, or paste it: run oomdoc, paste, press Ctrl-D", w.program, err)
		case err != nil:
		case len(bytes.TrimSpace(text)) == 0 && failed == nil:
			failed = errors.New("the clipboard holds no text; copy the crash, then run oomdoc --paste again")
		case len(bytes.TrimSpace(text)) > 0:
			return text, nil
		}
	}
	switch {
	case failed != nil:
		return nil, failed
	case missing != "":
		return nil, fmt.Errorf("no program here reads the clipboard; install the package %s, or paste by hand: run oomdoc, paste, press Ctrl-D", missing)
	}
	return nil, errors.New("there is no clipboard in this session (no display, no tmux); paste by hand: run oomdoc, paste, press Ctrl-D")
}
