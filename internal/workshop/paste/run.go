package paste

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Shells are those of this machine that take commands for sh.
func Shells() []string {
	var out []string
	for _, name := range []string{"bash", "dash", "zsh"} {
		if _, err := exec.LookPath(name); err == nil {
			out = append(out, name)
		}
	}
	return out
}

// Sandbox is a folder in which suggested commands run with nothing of this
// machine but touch: every program that they name is there, and does nothing.
type Sandbox struct{ dir string }

// NewSandbox makes one in an empty folder.
func NewSandbox(dir string) (*Sandbox, error) {
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(filepath.Join(dir, "work"), 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(bin, 0o700); err != nil {
		return nil, err
	}
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil {
			return nil, err
		}
	}
	touch, err := exec.LookPath("touch")
	if err != nil {
		return nil, err
	}
	return &Sandbox{dir}, os.Symlink(touch, filepath.Join(bin, "touch"))
}

// builtins of shells that would reach out of the sandbox.
const builtins = "kill() { :; }\nulimit() { :; }\nexec() { :; }\n"

// Run gives a command to a shell, and fails if touch made a file with the
// marker in its name. What the command itself says does not matter.
func (s *Sandbox) Run(shell, command, marker string) error {
	work := filepath.Join(s.dir, "work")
	found, err := exec.LookPath(shell)
	if err != nil {
		return err
	}
	cmd := exec.Command(found, "-c", builtins+command)
	cmd.Dir, cmd.Env = work, []string{"PATH=" + filepath.Join(s.dir, "bin"), "HOME=" + work}
	out, _ := cmd.CombinedOutput()
	made, err := filepath.Glob(filepath.Join(work, "*"+marker+"*"))
	if err != nil || len(made) == 0 {
		return err
	}
	for _, file := range made {
		_ = os.Remove(file)
	}
	return fmt.Errorf("%s ran what a log says (%s): %s\n%s", shell, path.Base(made[0]), command, out)
}

// Typed gives a command to cmd.exe as far as [Console] knows it, and fails where
// more than words come of it on a line with the marker, or PowerShell would expand
// the line.
func Typed(command, marker string) error {
	for line := range strings.Lines(command) {
		if line = strings.TrimRight(line, "\n"); !strings.Contains(line, marker) {
			continue
		}
		for _, c := range []Console{{}, {Batch: true}, {Delayed: true}} {
			if _, err := c.Line(line); err != nil {
				return fmt.Errorf("%w: %s", err, line)
			}
		}
		if strings.ContainsAny(line, "$`%\u201c\u201d\u201e\u2018\u2019\u201a\u201b") {
			return fmt.Errorf("PowerShell or a variable: %s", line)
		}
	}
	return nil
}
