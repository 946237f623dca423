// Package live asks this machine what a log cannot tell: whether the kernel
// killed the program, what holds cards and memory now, which processes are
// there. It only reads, and sends nothing anywhere.
package live

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/oomdoc/oomdoc/internal/clean"
)

// Machine is where to ask. Its zero value is this machine.
type Machine struct {
	// Root stands before /proc, /sys and /dev; empty for the machine itself.
	Root string
}

// patience is how long one program may take to answer. nvidia-smi needs two
// seconds where no daemon keeps the driver loaded.
const patience = 5 * time.Second

// maxAnswer is more than any of them has to say.
const maxAnswer = 1 << 20

// file reads a file of the machine, "" where there is none.
func (m *Machine) file(path string) string {
	f, err := os.Open(filepath.Join(m.Root, path))
	if err != nil {
		return ""
	}
	defer f.Close()
	var b strings.Builder
	buf := make([]byte, 32<<10)
	for b.Len() < maxAnswer {
		n, err := f.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			break
		}
	}
	return b.String()
}

// ask runs a program that only tells, and returns what it printed; false where
// it is not there or fails.
func ask(ctx context.Context, name string, args ...string) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	return string(out[:min(len(out), maxAnswer)]), err == nil
}

// there reports whether a program can be run.
func there(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// text makes what a machine says fit to be shown: names of processes may hold
// anything.
func text(s string) string { return strings.TrimSpace(clean.Printable(s)) }
