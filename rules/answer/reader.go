package answer

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/program/wording"
	"github.com/oomdoc/oomdoc/rules/step"
)

// SpokenAgainst returns what a card's sentence calls futile and a step advises, ""
// for nothing. A sentence against "a lower" setting, or against one "alone",
// speaks of a way to use it; an option with the reader's own value is theirs.
func SpokenAgainst(c *ledger.Case, not string, steps []step.Step) string {
	parts := strings.Split(not, "`")
	for i := 1; i+1 < len(parts); i += 2 {
		word, before, after := parts[i], strings.TrimSpace(parts[i-1]), strings.TrimSpace(parts[i+1])
		opens := strings.Trim(before[max(0, len(before)-1):], ",.:;") == "" || strings.HasSuffix(before, " or")
		closes := strings.Trim(after[:min(1, len(after))], ",.:;") == "" || strings.HasPrefix(after, "or ")
		if len(word) < 4 || !opens || !closes { // nothing beside it, or another item of a list
			continue
		}
		for _, s := range steps {
			if rest, found := step.AfterWord(s.Text, word); found && !step.Own(c, word, rest) {
				return word
			}
		}
	}
	return ""
}

// startsAgain are fixes whose command is the reader's own on purpose.
var startsAgain = []string{"restart_session", "kill_stale_process", "close_other_apps", "upgrade_version", "select_gpu"}

// StartsAgain reports a fix that may repeat the reader's own command.
func StartsAgain(fix string) bool { return slices.Contains(startsAgain, fix) }

// forReader returns those steps of a fix that this reader can do: in the names
// of their backend, system and program. Where none is left the fix is told in
// words.
func forReader(c *ledger.Case, id string, steps []step.Step, own []*program.Program) []step.Step {
	var out []step.Step
	taken := false
	for _, s := range steps {
		if !StartsAgain(id) && step.Taken(c, s) || s.Kind != "text" && step.WrongWay(c, id, s.Text) {
			taken = true
			continue
		}
		s.Text = wording.WithoutCode(c, otherSystems(c, code.ForBackend(c, s.Text), s.Kind), s.Kind)
		if s.Text != "" {
			s.Text = era.ForEra(c, id, s.Text, s.Kind, wording.Without)
			taken = taken || s.Text == ""
		}
		if c.Reader.OS == "windows" {
			s = onWindows(s)
		}
		if s.Kind == "shell" && strings.HasPrefix(s.Text, "Activity Monitor") { // no command
			s = step.Step{Kind: "ui", Text: "Activity Monitor, tab Memory: quit the largest programs that you do not need."}
		}
		if s.Text == "" || !understood(c, id, s, own) || foreign(c, s.Text) || id == "raise_memory_limit" && step.BelowStated(c, s.Text) {
			continue
		}
		out = append(out, s)
	}
	if len(out) == 0 && taken {
		return nil
	}
	if len(out) == 0 {
		return []step.Step{{Kind: "text", Text: fix.FixesByID()[id].InWords()}}
	}
	if last := &out[len(out)-1]; last.Kind == "text" && len(out) < len(steps) {
		last.Text = strings.TrimRight(last.Text, ":. ") + "." // what it announced is not for this reader
	}
	return out
}

// understood: Python is for those who write it, or whose program spells the fix
// so.
func understood(c *ledger.Case, id string, s step.Step, own []*program.Program) bool {
	return s.Kind != "python" || c.Reader.Program == "" && c.Reader.Language == "" && c.Reader.Edits == "" || c.Reader.Writes("python") ||
		slices.ContainsFunc(own, func(p *program.Program) bool { return p.Name == c.Reader.Program && p.Steps[id] != nil })
}

// commands are those that belong to a program, with the programs whose readers
// have them.
var commands = []command{
	{"llama-server", []string{"llama.cpp", "ik_llama.cpp", "llamafile"}},
	{"llama-cli", []string{"llama.cpp", "ik_llama.cpp", "llamafile"}},
	{"vllm serve", []string{"vllm", "ray", "ray-serve", "kserve", "vllm-ascend", "vllm-gaudi", "ipex-llm", "tpu-inference", "docker", "kubernetes"}},
	{"OLLAMA_", []string{"ollama"}},
	{"ollama run", []string{"ollama", "open-webui"}},
	{"sglang.launch_server", []string{"sglang"}},
	{"AutoModelForCausalLM", nil},
	{"BitsAndBytesConfig", nil},
	{"DataLoader(", nil},
	{"model.gguf", []string{"llama.cpp", "ik_llama.cpp", "llamafile", "koboldcpp", "stable-diffusion.cpp", "whisper.cpp"}},
}

type command struct {
	text     string
	programs []string
}

// foreign reports a command of a program that the reader does not run.
func foreign(c *ledger.Case, text string) bool {
	return slices.ContainsFunc(commands, func(x command) bool { return strings.Contains(text, x.text) && !runs(c, x.programs) })
}

// runs: the reader may run one of some programs; where there is none, own code
// on PyTorch.
func runs(c *ledger.Case, programs []string) bool {
	switch onTorch := c.In("pytorch", "transformers"); {
	case c.Reader.Program == "" && (programs != nil || onTorch):
		return true
	case programs == nil:
		return c.Reader.Writes("python") && onTorch
	}
	return slices.Contains(programs, c.Reader.Program)
}

// linuxWords stand in commands that Windows does not have.
var linuxWords = []string{"sudo ", "dmesg", "/dev/shm", "fallocate", "swapon", "systemctl", "journalctl", "ulimit"}

// onWindows is a step for Windows, without text where Windows has no such thing.
func onWindows(s step.Step) step.Step {
	if s.Kind != "shell" && s.Kind != "env" && s.Kind != "config" {
		return s
	}
	var lines []string
	for line := range strings.Lines(s.Text) {
		line = strings.TrimRight(line, "\n")
		if slices.ContainsFunc(linuxWords, func(word string) bool { return strings.Contains(line, word) }) {
			continue
		}
		if assignment, ok := strings.CutPrefix(line, "export "); ok {
			assignment, _, _ = strings.Cut(assignment, "   #") // cmd would take it for a part of the value
			name, value, _ := strings.Cut(assignment, "=")
			lines = append(lines, "set "+assignment)
			if s.Kind == "env" {
				lines = append(lines, `$env:`+name+` = "`+strings.Trim(value, `"'`)+`"   # instead, in PowerShell`)
			}
			continue
		}
		lines = append(lines, line)
	}
	s.Text = strings.Join(lines, "\n")
	return s
}

// otherSystems takes out of a told step what is for other systems than the
// reader's.
func otherSystems(c *ledger.Case, text, kind string) string {
	if kind != "text" && kind != "ui" || c.Reader.OS == "" {
		return text
	}
	words := []string{"Windows:", "Task Manager", "page file"}
	if c.Reader.OS == "windows" {
		words = append([]string{"Linux:"}, linuxWords...)
	}
	for _, word := range words {
		for i := strings.Index(text, word); i >= 0; i = strings.Index(text, word) {
			text = wording.Without(text, i)
		}
	}
	return strings.TrimPrefix(strings.TrimSpace(text), map[string]string{"linux": "Linux: ", "windows": "Windows: "}[c.Reader.OS])
}
