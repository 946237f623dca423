package ggml

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/oomdoc/oomdoc/internal/redact"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// llamaFlags are the command-line options of llama.cpp's programs by their
// normalised name. llama-cpp-python's server spells them with "_".
var llamaFlags = map[string]string{
	"-ngl": "n_gpu_layers", "--n-gpu-layers": "n_gpu_layers", "--gpu-layers": "n_gpu_layers",
	"-c": "ctx_size", "--ctx-size": "ctx_size", "--n-ctx": "ctx_size",
	"-b": "batch_size", "--batch-size": "batch_size", "--n-batch": "batch_size", "-ub": "ubatch_size", "--ubatch-size": "ubatch_size",
	"-np": "parallel", "--parallel": "parallel",
	"-ctk": "cache_type_k", "--cache-type-k": "cache_type_k", "-ctv": "cache_type_v", "--cache-type-v": "cache_type_v",
	"-ncmoe": "n_cpu_moe", "--n-cpu-moe": "n_cpu_moe", "-ts": "tensor_split", "--tensor-split": "tensor_split", "-mg": "main_gpu",
	"-m": "model", "--model": "model", "-hf": "model", "-cram": "cache_ram", "--cache-ram": "cache_ram",
}

// llamaSwitches take no value, or may.
var llamaSwitches = map[string]string{
	"-fa": "flash_attn", "--flash-attn": "flash_attn", "--no-mmap": "no_mmap", "--mlock": "mlock", "-nkvo": "no_kv_offload", "--no-kv-offload": "no_kv_offload",
	"-cmoe": "cpu_moe", "--cpu-moe": "cpu_moe", "--swa-full": "swa_full",
}

var switchValues = map[string]string{"off": "off", "0": "off", "auto": "auto"} // llama-bench wants 0 or 1

// started is a program of llama.cpp's with options behind it: a command that
// somebody typed.
var started = regexp.MustCompile(`(?:[\w./~\\:+-]*[/\\])?(?:llama-(?:server|cli|bench|run|mtmd-cli|perplexity|completion|embedding|simple)|whisper-cli|main|server)(?:\.exe)?"? -{1,2}[a-zA-Z]`)

// command reads the options of a command line, once for each line. A line that
// ends in a backslash goes on in the next.
func (g *ggmlReader) command(m text.Message) {
	at := m.At
	i := g.l.LineIndex(at)
	if g.commands[i] || len(g.l.Lines) == 0 {
		return
	}
	if !g.l.Typed(at) && !runnerRecord(g.l.Lines[i].Text) {
		return
	}
	g.commands[i] = true
	from, _ := g.l.LineSpan(at)
	line := g.l.Text(from, g.l.ValueEnd(at))
	for j := i + 1; strings.HasSuffix(line, `\`) && j < len(g.l.Lines) && j < i+12; j++ {
		line = strings.TrimSuffix(line, `\`) + " " + g.l.Lines[j].Text
		g.commands[j] = true
	}
	typed := strings.TrimSpace(g.l.Lines[i].Text)
	if strings.HasSuffix(typed, "^C") {
		return // given up before it ran
	}
	for j := i + 1; strings.HasSuffix(typed, `\`) && j < len(g.l.Lines) && j < i+12; j++ {
		typed = strings.TrimSpace(strings.TrimSuffix(typed, `\`)) + " " + strings.TrimSpace(g.l.Lines[j].Text)
	}
	if starts := started.FindStringIndex(typed); starts != nil {
		g.f.Signals = append(g.f.Signals, fact.Signal{ID: "llama_command", Line: g.l.Line(at), Text: redact.CommandLine(typed[starts[0]:], "LLAMA")})
	}
	last := lastSwitch(g.l.Lines[i].Text)
	words := strings.Fields(strings.NewReplacer(" │", "", `"`, " ", "=", " ", "'", " ").Replace(line))
	for k, word := range words {
		flag := strings.ReplaceAll(word, "_", "-")
		next := ""
		if k+1 < len(words) {
			next = words[k+1]
		}
		if name := strings.TrimRight(word, "0123456789"); name != word && llamaFlags[name] != "" {
			flag, next = name, word[len(name):] // a console broke the line between them
		}
		if last != "" && strings.HasPrefix(word, last) {
			flag = last // the line was full, and another follows
		}
		switch {
		case llamaFlags[flag] != "" && next != "":
			g.flag(llamaFlags[flag], next, word, at)
		case llamaSwitches[flag] != "":
			g.setting(llamaSwitches[flag], cmp.Or(switchValues[next], "on"), word, at)
		}
	}
}

// lastSwitch is the switch in which a line ends, "" if there is none.
func lastSwitch(line string) string {
	word := strings.ReplaceAll(line[strings.LastIndexByte(line, ' ')+1:], "_", "-")
	if llamaSwitches[word] == "" {
		return ""
	}
	return word
}

// runnerRecord reports the line in which Ollama prints how it starts its runner
// (llm/server.go): msg="starting llama server" cmd="/usr/bin/ollama runner ...".
func runnerRecord(line string) bool {
	before, _, ok := strings.Cut(line, " cmd=")
	return ok && strings.Contains(before, "starting ") && strings.Count(before, `"`)%2 == 0
}

func (g *ggmlReader) flag(name, value, flag string, at int) {
	if name == "model" {
		if !strings.Contains(value, "sha256-") {
			g.f.Models = append(g.f.Models, fact.ModelMention{Name: strings.SplitAfter(value, ".gguf")[0], Line: g.l.Line(at), Weight: 3})
		}
		return
	}
	if name != "tensor_split" && name != "cache_type_k" && name != "cache_type_v" && !integer(value) {
		return // a sentence with "-c" in it
	}
	if name == "tensor_split" && strings.Trim(value, "0123456789.,;/") != "" {
		return
	}
	g.setting(name, strings.TrimRight(value, ",;."), flag, at)
}

func integer(s string) bool {
	s = strings.TrimRight(strings.TrimPrefix(s, "-"), ",;.")
	return s != "" && strings.Trim(s, "0123456789") == ""
}

var (
	keywordArgument = text.NewPattern(`(?<name>n_ctx|n_gpu_layers|n_batch|n_ubatch)=(?<value>-?\d{1,9})`)
	koboldSettings  = text.NewPattern(`(?<name>contextsize|gpulayers|blasbatchsize|batchsize|flashattention|quantkv)=(?<value>\w{1,8})`)
)

// argumentNames are the normalised names of what these two print.
var argumentNames = map[string]string{
	"n_ctx": "ctx_size", "n_gpu_layers": "n_gpu_layers", "n_batch": "batch_size", "n_ubatch": "ubatch_size",
	"contextsize": "ctx_size", "gpulayers": "n_gpu_layers", "blasbatchsize": "ubatch_size", "batchsize": "ubatch_size",
	"flashattention": "flash_attn", "quantkv": "quantkv",
}

// keywordArguments reads llama-cpp-python's "Llama(model_path=..., n_ctx=4096,
// n_gpu_layers=35)".
func (g *ggmlReader) keywordArguments(m text.Message) {
	i := g.l.LineIndex(m.At)
	if g.commands[i] || len(g.l.Lines) == 0 || containsAny(g.l.Lines[i].Text, "llama_", "print_info") {
		return
	}
	g.commands[i] = true
	g.assignments(keywordArgument, m.At, "")
}

// koboldNamespace reads the line in which koboldcpp prints all its settings.
func (g *ggmlReader) koboldNamespace(m text.Message) {
	i := g.l.LineIndex(m.At) + 1
	if i == g.namespace {
		return
	}
	g.namespace = i
	g.proves("koboldcpp", m.At)
	g.assignments(koboldSettings, m.At, "--")
}

// mostAssignments is how many settings one line names at most.
const mostAssignments = 64

// assignments reads every "name=value" of a line.
func (g *ggmlReader) assignments(p *text.Pattern, at int, dashes string) {
	from, to := g.l.LineSpan(at)
	for range mostAssignments {
		m := g.l.Find(p, from, to)
		if !m.Ok() {
			return
		}
		name := m.Lower("name")
		g.setting(argumentNames[name], m.Lower("value"), dashes+name, at)
		_, from = m.Span()
	}
}
