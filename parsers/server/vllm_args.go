package server

import (
	"regexp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/argv"
	"github.com/oomdoc/oomdoc/internal/redact"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// vllmArguments lead to lines that show how vLLM was started.
var vllmArguments = []text.Wording{
	text.On("args: Namespace(", arguments("", vllmNamespace)),     // all arguments, defaults included, to 0.8
	text.On("non-default args: {", arguments("", vllmNonDefault)), // what the user set, 0.9 and later
	text.On("LLM engine with config:", arguments("", vllmConfig)), // to 0.4
	text.On("with config: model=", arguments("model=", vllmConfig)),
	text.On("LLM engine (v", vllmVersion), text.On("vLLM Version: ", vllmVersion), text.On("vllm==0.", vllmVersion), text.On("vllm: 0.", vllmVersion),
	text.On("vLLM API server version", func(m text.Message) int { text.Says(fact.Start)(m); return vllmVersion(m) }), // what failed before is of an earlier start
	text.On("vllm/vllm-openai", commandLine("vllm_command", vllmShort)), text.On("vllm serve", commandLine("vllm_command", vllmShort)),
	text.On("vllm.entrypoints.openai.api_server", commandLine("vllm_command", vllmShort)), text.On("vllm.entrypoints.api_server", commandLine("vllm_command", vllmShort)), text.On("fastchat.serve.vllm_worker", commandLine("fastchat_command", vllmShort)),
	text.On("Using max model len", text.States(0, 40, text.NewPattern(`modellen(?<is_max_model_len>INT)`))),
	text.On("Starting to load model", vllmLoads), text.On("vllm/entrypoints/llm.py", text.Says("vllm_offline")), // a Python program called LLM(): there is no server to start
	text.On("= LLM(", vllmCalled), text.On("MQLLMEngine", text.Says("vllm_v0")), text.On("Initializing a V0 LLM engine", text.Says("vllm_v0")), text.On("vllm/worker/model_runner.py", text.Says("vllm_v0")), text.On("vllm/worker/worker.py", text.Says("vllm_v0")),
	text.On("logits_sort, logits_idx", text.Says("vllm_sampler")), // V0 and V1 sort the logits of all sequences
	text.On("layers/sampler.py", text.Says("vllm_sampler")),
	text.On("sample/sampler.py", text.Says("vllm_sampler")),
}

var vllmCallText, assigns = regexp.MustCompile(`LLM\((model=)?["']`), regexp.MustCompile(`(?:^|\s)[A-Z][A-Z0-9_]*=\S*\s*$`)

// vllmCalled: a line of the reader's own program calls LLM(), and names its model.
func vllmCalled(m text.Message) int {
	text.Says("vllm_offline")(m)
	if k := vllmCallText.FindStringSubmatch(m.Log.LineText(m.At)); k != nil {
		arguments("model="[len(k[1]):], vllmNonDefault)(m)
	}
	return m.End
}

// vllmMemory are the arguments that bear on memory, with the values that mean
// nobody set them ("" where any may).
var vllmMemory = map[string]string{
	"max_model_len": "None", "gpu_memory_utilization": "0.9 0.92", "max_num_seqs": "None 128 256 1024", "max_num_batched_tokens": "None",
	"kv_cache_dtype": "auto", "kv_cache_memory_bytes": "None", "cpu_offload_gb": "0", "swap_space": "4",
	"enforce_eager": "False", "tensor_parallel_size": "1", "pipeline_parallel_size": "1", "data_parallel_size": "1",
	"quantization": "None", "dtype": "auto", "block_size": "16", "enable_chunked_prefill": "None",
	"limit_mm_per_prompt": "None", "num_gpu_blocks_override": "None", "max_seq_len": "", "device_config": "",
}

// vllmNamespace: of argparse's Namespace, a value that differs from the default
// was set by the user.
func vllmNamespace(a text.Argument) (keep, byDefault bool) {
	unset, known := vllmMemory[a.Name]
	return known, unset == "" || slices.Contains(strings.Fields(unset), a.Value)
}

// vllmNonDefault: the dict has what the user set, all of it.
func vllmNonDefault(text.Argument) (keep, byDefault bool) { return true, false }

// vllmConfig: the engine's own view has effective values. The share of the card
// is not in it; max_seq_len is the effective max_model_len.
func vllmConfig(a text.Argument) (keep, byDefault bool) {
	_, known := vllmMemory[a.Name]
	return known, true
}

// arguments makes the reader of a printed list of arguments, which begins with
// what the literal has of it. Those that keep chooses become settings.
func arguments(begins string, keep func(a text.Argument) (keep, byDefault bool)) func(text.Message) int {
	return func(m text.Message) int {
		m.Log.Records(m.At)
		// In its own case but without white space, which wraps put into the middle of names.
		rest := m.Log.InItsCase(m.End, m.Until(m.End+text.MaxWindow))
		for _, a := range text.PythonArguments(begins + rest) {
			if !a.Simple() || redact.SecretOption("--"+a.Name) {
				continue
			}
			if a.Value != "False" && argv.Opens(a.Name, a.Value) {
				m.Log.Recorded(text.SettingName(a.Name))
			}
			if slices.Contains(modelArguments, a.Name) {
				model(m, a.Value)
			}
			if ok, byDefault := keep(a); ok {
				m.Facts.Settings = append(m.Facts.Settings, fact.Setting{Name: strings.ReplaceAll(a.Name, "-", "_"), Value: a.Value, Line: m.Log.Line(m.At), Default: byDefault})
			}
		}
		return m.End
	}
}

// only keeps some arguments; the line shows defaults too.
func only(names ...string) func(text.Argument) (keep, byDefault bool) {
	return func(a text.Argument) (keep, byDefault bool) { return slices.Contains(names, a.Name), true }
}

// modelArguments name the model.
var modelArguments = []string{"model", "model_tag", "model_path", "model_id"}

func model(m text.Message, name string) {
	if strings.HasPrefix(name, redact.Variable) {
		return
	}
	m.Facts.Models = append(m.Facts.Models, fact.ModelMention{Name: name, Line: m.Log.Line(m.At), Weight: 3})
}

var vllmVersion, serverRelease = text.SaysVersion("vllm_version", text.NewPattern(`(?:version|engine\(v|vllm==|vllm:)(?<version>\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:\.?(?:post|rc|dev)\d{1,4})?)`)), text.NewPattern(`(?:inference:|sglang:v?|lmdeploy:v?|sglang==|lmdeploy==)(?<version>\d{1,2}\.\d{1,3}(?:\.\d{1,3})?)`) // of an image, of pip, of check_env

var vllmModelText = text.NewPattern(`loadmodel(?<name>[a-z0-9._/-]{1,160}?)\.\.\.`)

// vllmLoads reads "Starting to load model Qwen/Qwen3-32B..." (V1, 0.8 on).
func vllmLoads(m text.Message) int {
	if from, to, ok := m.Find(vllmModelText, 200).Group("name"); ok {
		model(m, m.Log.InItsCase(from, to))
	}
	return m.End
}

// vllmShort are the short options, by the argument they set.
var vllmShort = map[string]string{"-tp": "tensor_parallel_size", "-pp": "pipeline_parallel_size", "-dp": "data_parallel_size", "-q": "quantization", "-gmu": "gpu_memory_utilization"}

// commandLine makes the reader of a command as a shell, a Dockerfile or a
// process list shows it, or of what stands behind an image's name in docker run.
// It goes on behind a backslash. The fact holds its words, parted by NUL; aliases
// are the options that are not spelled like the argument they set.
func commandLine(name string, aliases map[string]string) func(text.Message) int {
	return func(m text.Message) int {
		words := commandWords(m)
		if len(words) == 0 || !m.Log.Typed(m.At) {
			return m.End
		}
		if from, _ := m.Log.LineSpan(m.At); assigns.MatchString(m.Log.Text(from, m.At)) {
			m.Say("variables_before", "")
		}
		m.Say(name, strings.Join(redact.Command(words, strings.ToUpper(strings.TrimSuffix(name, "_command"))), "\x00"))
		for i := 0; i < len(words); i++ {
			flag, value, joined := strings.Cut(words[i], "=")
			name, ok := optionName(flag, aliases)
			if !ok {
				if i == 0 && strings.Contains(words[0], "/") || i > 0 && slices.Contains([]string{"serve", "chat", "api_server"}, words[i-1]) && words[i] != "api_server" {
					model(m, words[i])
				}
				continue
			}
			if !joined {
				if value = "True"; i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
					i++
					value = words[i]
				}
			}
			if redact.SecretOption(flag) || strings.HasPrefix(value, redact.Variable) {
				continue
			}
			if slices.Contains(modelArguments, name) {
				model(m, value)
			}
			m.Facts.Settings = append(m.Facts.Settings, fact.Setting{Name: name, Value: value, Line: m.Log.Line(m.At), Flag: flag})
		}
		return m.End
	}
}

// optionName returns the argument that an option sets.
func optionName(flag string, aliases map[string]string) (string, bool) {
	if name, ok := aliases[flag]; ok {
		return name, true
	}
	long, ok := strings.CutPrefix(flag, "--")
	return text.SettingName(long), ok && long != ""
}

// servers are the first words of commands that are read: what runs when they
// are pasted again.
var servers = []string{"vllm", "sglang", "lmdeploy", "vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server", "fastchat.serve.vllm_worker", "sglang.launch_server", "text-generation-launcher"}

// commandWords returns the words of the command at the literal, without
// quotes, up to where the shell's next command begins.
func commandWords(m text.Message) []string {
	_, to := m.Log.LineSpan(m.At)
	to = m.Until(to)
	text := m.Log.Text(m.At, to)
	for range 30 {
		before, goesOn := strings.CutSuffix(strings.TrimRight(text, " "), `\`)
		if !goesOn || to >= len(m.Log.Squeezed()) {
			break
		}
		from, end := m.Log.LineSpan(to)
		text, to = before+" "+m.Log.Text(from, end), end
	}
	if i := strings.IndexAny(text, "|;&><`#"); i >= 0 {
		text = text[:i]
	}
	words := redact.OwnVariables(shellWords(text))
	ofCommand := func(w string) bool { return strings.HasPrefix(w, "-") || strings.Contains(w, "/") }
	if len(words) > 2 && strings.ContainsAny(words[0], "/:") && slices.ContainsFunc(words[1:3], func(w string) bool { return strings.HasPrefix(w, "--") }) && ofCommand(words[1]) {
		return words[1:] // of an image
	}
	if len(words) == 0 || !slices.Contains(servers, words[0]) || !slices.ContainsFunc(words, ofCommand) {
		return nil // its blanks are lost, or it is prose
	}
	return words
}

// shellWords splits a command at blanks outside quotes and drops the quotes. A
// comma behind a quote is that of a JSON or YAML list.
func shellWords(s string) []string {
	var words []string
	var word strings.Builder
	quote, open := byte(0), false
	end := func() {
		if open {
			words = append(words, word.String())
		}
		word.Reset()
		open = false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
			if i+1 < len(s) && s[i+1] == ',' {
				i++
				end()
			}
		case quote == 0 && (c == '\'' || c == '"'):
			quote, open = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == ']'):
			end()
		default:
			word.WriteByte(c)
			open = true
		}
	}
	end()
	return words
}
