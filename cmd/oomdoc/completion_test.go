//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// completion writes what a shell completes by into a file; the test is skipped
// where the shell is not here.
func completion(t *testing.T, shell string) (program, script string) {
	t.Helper()
	program, err := exec.LookPath(shell)
	if err != nil {
		t.Skip("no " + shell + " here")
	}
	out, err := oomdoc(t, "completion", shell).Output()
	require.NoError(t, err)
	script = filepath.Join(t.TempDir(), "completion")
	require.NoError(t, os.WriteFile(script, out, 0o644))
	check, err := exec.Command(program, "-n", script).CombinedOutput()
	require.NoError(t, err, string(check))
	return program, script
}

// completed are what each line that was typed is completed to, in every shell
// alike.
var completed = map[string][]string{
	"oomdoc --fo":           {"--format"},
	"oomdoc fol":            {"follow"},
	"oomdoc explain fragme": {"fragmentation"},
	"oomdoc run --wa":       {"--watch"},
	"oomdoc follow --from":  {"--from-start"},
	"oomdoc --format j":     {"json", "junit"},
	"oomdoc completion ":    {"bash", "fish", "powershell", "zsh"},
	"oomdoc --fail-on soft": {"software_bug"},
	"oomdoc run -- oomdoc-": {"oomdoc-program"},
}

func TestCompletionBash(t *testing.T) {
	program, script := completion(t, "bash")
	for line, want := range completed {
		cmd := exec.Command(program, "--norc", "-c", `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _oomdoc; printf '%s\n' "${COMPREPLY[@]}" | sort -u`, "bash", script)
		cmd.Args = append(cmd.Args, strings.Split(line, " ")...)
		assert.Equal(t, want, completions(t, cmd), line)
	}
}

func TestCompletionFish(t *testing.T) {
	program, script := completion(t, "fish")
	for line, want := range completed {
		cmd := exec.Command(program, "--no-config", "-c", `source $argv[1]; complete -C $argv[2] | cut -f1 | sort -u`, script, line)
		assert.Equal(t, want, completions(t, cmd), line)
	}
}

// TestCompletionZsh: its completion works in a terminal alone; it is read here.
func TestCompletionZsh(t *testing.T) { completion(t, "zsh") }

// completions runs a shell that finds oomdoc-program among the programs.
func completions(t *testing.T, cmd *exec.Cmd) []string {
	t.Helper()
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "oomdoc-program"), []byte("#!/bin/sh\n"), 0o755))
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+bin)
	cmd.Dir = bin
	out, err := cmd.Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}
