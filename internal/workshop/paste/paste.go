// Package paste tells whether a suggested command or piece of code does what it
// was written to do, whatever a log put into it. Tests of several packages use
// it; no program does.
package paste

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// programs are what suggested commands may start. None of these names comes
// from a log.
var programs = []string{
	"accelerate", "aphrodite", "awk", "aws", "axolotl", "bjobs", "cargo", "cat", "condor_q", "curl", "dask", "demucs", "df", "docker", "dp", "du", "echo", "export", "ffmpeg",
	"free", "gcloud", "git", "gmx", "grep", "head", "hl-smi", "insanely-fast-whisper", "kill", "koboldcpp", "kubectl", "launchctl", "llama-cli", "llama-server", "ls",
	"llamafactory-cli", "lmdeploy", "make", "mlc_llm", "mlx_lm.convert", "mlx_lm.generate", "nnUNetv2_plan_experiment", "nnUNetv2_preprocess", "nnUNetv2_train", "npm",
	"npu-smi", "nvidia-smi", "ollama", "openllm", "pip", "printf", "ps", "python", "qstat", "ray", "rocm-smi", "rustup", "sacct", "sd", "sd-cli", "set", "setx", "sh", "sleep", "sort",
	"spark-submit", "sudo", "sync", "sysctl", "systemctl", "journalctl", "free", "systemd-run", "tail", "taskkill", "text-generation-launcher", "torchrun", "tpu-info", "trl", "trtllm-build", "trtllm-serve",
	"tune", "ulimit", "unset", "vllm", "watch", "whisper", "whisper-ctranslate2", "whisperx", "wsl", "xinference", "xpu-smi",
}

// powerShell are the lines for it that stand beside those for other shells.
var powerShell = regexp.MustCompile(`(?m)^\$env:[A-Z_]+ = "[\w.:,-]*"`)

// Shell parses a command as a shell would. An error says that it is none, that
// it starts a program which is not one of ours, or that a marker, which only a
// log can have brought in, stands anywhere but in a word that the shell takes
// literally.
func Shell(step, marker string) error {
	step = powerShell.ReplaceAllString(step, "set")
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(step), "")
	if err != nil {
		return err
	}
	c := checker{step: step, marker: marker}
	syntax.Walk(file, c.visit)
	return errors.Join(c.errs...)
}

type checker struct {
	step, marker string
	errs         []error
}

func (c *checker) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

func (c *checker) source(n syntax.Node) string {
	return c.step[n.Pos().Offset():n.End().Offset()]
}

func (c *checker) marked(n syntax.Node) bool { return strings.Contains(c.source(n), c.marker) }

// base is the name of a program without its folders, of Windows too.
func base(program string) string {
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(program, `\`, "/")), ".exe")
}

func (c *checker) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.CallExpr:
		if len(n.Args) > 0 && !slices.Contains(programs, base(n.Args[0].Lit())) { // a reader's own command may have a path
			c.fail("starts %s: if that is our own word, it belongs into the list of programs", c.source(n.Args[0]))
		}
	case *syntax.Word:
		if c.marked(n) {
			if !literal(n.Parts) {
				c.fail("%s is not taken literally", c.source(n))
			}
			return false
		}
	case *syntax.Redirect, *syntax.Comment:
		if c.marked(n) {
			c.fail("%s", c.source(n))
		}
	}
	return true
}

var escaped = regexp.MustCompile(`(?s)\\.`)

// literal reports that a shell neither expands nor runs any of a word's parts.
func literal(parts []syntax.WordPart) bool {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(escaped.ReplaceAllString(part.Value, ""), "*?[{~!") {
				return false
			}
		case *syntax.SglQuoted:
			if part.Dollar {
				return false
			}
		case *syntax.DblQuoted:
			if !literal(part.Parts) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// pythonText are the literals and comments of Python.
var pythonText = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|#[^\n]*`)

// Python reads code as far as its string literals: an error says that a marker
// stands outside of them.
func Python(step, marker string) error {
	if code := pythonText.ReplaceAllString(step, ""); strings.Contains(code, marker) {
		return fmt.Errorf("%q is code in %s", marker, step)
	}
	return nil
}
