package server

import (
	"slices"
	"strings"
	"unicode"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// vllmArguments lead to lines that show how vLLM was started.
var vllmArguments = []text.Wording{
	text.On("args: Namespace(", vllmNamespace),     // all arguments, defaults included, to 0.8
	text.On("non-default args: {", vllmNonDefault), // what the user set, 0.9 and later
	text.On("LLM engine with config:", vllmConfig), // to 0.4
	text.On("with config: model=", vllmConfig),     // "(v0.5.4) with config:", V0 and V1
	text.On("vLLM API server version", vllmStart),  // and "(v0.9.2)" in the engine's line
	text.On("vllm serve", commandLine("vllm_command", vllmShort)),
	text.On("vllm.entrypoints.openai.api_server", commandLine("vllm_command", vllmShort)),
	text.On("vllm.entrypoints.api_server", commandLine("vllm_command", vllmShort)),
	text.On("Using max model len", vllmEffectiveLength),
	text.On("Starting to load model", vllmLoads),
	text.On("vllm/entrypoints/llm.py", mark("vllm_offline")), // a Python program called LLM(): there is no server to start
	text.On("logits_sort, logits_idx", mark("vllm_sampler")), // V0 and V1 sort the logits of all sequences
	text.On("layers/sampler.py", mark("vllm_sampler")),
	text.On("sample/sampler.py", mark("vllm_sampler")),
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

// vllmNamespace reads argparse's Namespace: a value that differs from the
// default was set by the user.
func vllmNamespace(m text.Message) int {
	for _, a := range text.PythonArguments(rest(m)) {
		unset, known := vllmMemory[a.Name]
		switch {
		case a.Name == "model" && a.Simple():
			model(m, a.Value)
		case known && a.Simple():
			set(m, a, unset == "" || slices.Contains(strings.Fields(unset), a.Value))
		}
	}
	return m.End
}

// vllmNonDefault reads the dict of what the user set, all of it.
func vllmNonDefault(m text.Message) int {
	for _, a := range text.PythonArguments(rest(m)) {
		if a.Name == "model" || a.Name == "model_tag" {
			model(m, a.Value)
		}
		if a.Simple() && !credential(a.Name) {
			set(m, a, false)
		}
	}
	return m.End
}

// vllmConfig reads the engine's own view: effective values. The share of the
// card is not in it; max_seq_len is the effective max_model_len.
func vllmConfig(m text.Message) int {
	s := rest(m)
	if strings.HasPrefix(m.Log.Squeezed()[m.At:], "withconfig:model=") {
		s = "model=" + s
	}
	for _, a := range text.PythonArguments(s) {
		if _, known := vllmMemory[a.Name]; known && a.Simple() {
			set(m, a, true)
		}
		if a.Name == "model" && a.Simple() {
			model(m, a.Value)
		}
	}
	return m.End
}

func set(m text.Message, a text.Argument, byDefault bool) {
	m.Facts.Settings = append(m.Facts.Settings, fact.Setting{Name: strings.ReplaceAll(a.Name, "-", "_"), Value: a.Value, Line: m.Log.Line(m.At), Default: byDefault})
}

func model(m text.Message, name string) {
	m.Facts.Models = append(m.Facts.Models, fact.ModelMention{Name: name, Line: m.Log.Line(m.At), Weight: 3})
}

// rest returns the text from the literal's end on, in its own case but without
// white space, which wraps put into the middle of names. It ends where the
// literal comes again: that is the next message, and a log full of it must not
// be read over and over.
func rest(m text.Message) string {
	to := min(m.End+text.MaxWindow, len(m.Log.Squeezed()))
	if i := strings.Index(m.Log.Squeezed()[m.End:to], m.Log.Squeezed()[m.At:m.End]); i >= 0 {
		to = m.End + i
	}
	return m.Log.InItsCase(m.End, to)
}

var vllmVersionText = text.NewPattern(`version(?<version>\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:\.?(?:post|rc|dev)\d{1,4})?)`)

// vllmStart is the first line of a server: what failed before it belongs to an
// earlier start.
func vllmStart(m text.Message) int {
	mark(fact.Start)(m)
	return vllmVersion(m)
}

func vllmVersion(m text.Message) int {
	x := m.Find(vllmVersionText, 60)
	if x.Ok() {
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "vllm_version", Text: x.Text("version"), Line: m.Log.Line(m.At)})
	}
	return m.Took(x)
}

// vllmLoads reads "Starting to load model Qwen/Qwen3-32B..." (V1, 0.8 on).
func vllmLoads(m text.Message) int {
	rest := rest(m)
	name, _, ok := strings.Cut(rest[:min(len(rest), 160)], "...")
	if ok && name != "" && strings.IndexFunc(name, notInModelName) < 0 {
		model(m, name)
	}
	return m.End
}

func notInModelName(r rune) bool {
	return r > unicode.MaxASCII || !(unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._/-", r))
}

var vllmLengthText = text.NewPattern(`modellen(?<length>INT)`)

func vllmEffectiveLength(m text.Message) int {
	x := m.Find(vllmLengthText, 40)
	exactly(m, "max_model_len", x.Lower("length"))
	return m.Took(x)
}

// mark makes a reader that only notes that something was said.
func mark(name string) func(text.Message) int {
	return func(m text.Message) int {
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: name, Text: m.Log.LineText(m.At), Line: m.Log.Line(m.At)})
		return m.End
	}
}

// vllmShort are the short options, by the argument they set.
var vllmShort = map[string]string{"-tp": "tensor_parallel_size", "-pp": "pipeline_parallel_size", "-dp": "data_parallel_size", "-q": "quantization", "-gmu": "gpu_memory_utilization"}

// commandLine makes the reader of a command as a shell, a Dockerfile or a
// process list shows it. It goes on behind a backslash. The fact holds its
// words, parted by NUL; aliases are the options that are not spelled like the
// argument they set.
func commandLine(name string, aliases map[string]string) func(text.Message) int {
	return func(m text.Message) int {
		words := commandWords(m)
		if len(words) == 0 {
			return m.End
		}
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: name, Text: strings.Join(withoutCredentials(words), "\x00"), Line: m.Log.Line(m.At)})
		for i := 0; i < len(words); i++ {
			flag, value, joined := strings.Cut(words[i], "=")
			name, ok := optionName(flag, aliases)
			if !ok {
				if i > 0 && words[i-1] == "serve" {
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
			if credential(name) {
				continue
			}
			if name == "model" || name == "model_path" || name == "model_id" {
				model(m, value)
			}
			m.Facts.Settings = append(m.Facts.Settings, fact.Setting{Name: name, Value: value, Line: m.Log.Line(m.At), Flag: flag})
		}
		return m.End
	}
}

// credential reports an argument whose value must not be repeated.
func credential(name string) bool {
	return strings.HasSuffix(name, "_key") || strings.HasSuffix(name, "_token") || strings.Contains(name, "password")
}

// withoutCredentials replaces values that must not be repeated.
func withoutCredentials(words []string) []string {
	out := slices.Clone(words)
	for i, w := range out {
		flag, _, joined := strings.Cut(w, "=")
		if name, ok := optionName(flag, nil); !ok || !credential(name) {
			continue
		}
		if joined {
			out[i] = flag + "=SECRET"
		} else if i+1 < len(out) {
			out[i+1] = "SECRET"
		}
	}
	return out
}

// optionName returns the argument that an option sets.
func optionName(flag string, aliases map[string]string) (string, bool) {
	if name, ok := aliases[flag]; ok {
		return name, true
	}
	long, ok := strings.CutPrefix(flag, "--")
	return strings.ReplaceAll(strings.ToLower(long), "-", "_"), ok && long != ""
}

// servers are the first words of commands that are read: what runs when they
// are pasted again.
var servers = []string{"vllm", "sglang", "vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server", "sglang.launch_server", "text-generation-launcher"}

// commandWords returns the words of the command at the literal, without
// quotes, up to where the shell's next command begins.
func commandWords(m text.Message) []string {
	_, to := m.Log.LineSpan(m.At)
	text := m.Log.Text(m.At, to)
	var from int
	for range 30 {
		if !strings.HasSuffix(strings.TrimRight(text, " "), `\`) || to >= len(m.Log.Squeezed()) {
			break
		}
		from, to = m.Log.LineSpan(to)
		text = strings.TrimRight(strings.TrimRight(text, " "), `\`) + " " + m.Log.Text(from, to)
	}
	if i := strings.IndexAny(text, "|;&><`$#"); i >= 0 {
		text = text[:i]
	}
	words := shellWords(text)
	if len(words) == 0 || !slices.Contains(servers, words[0]) {
		return nil // its blanks are lost, or it is prose
	}
	if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") || strings.Contains(w, "/") }) {
		return nil // prose
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
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, open = c, true
		case c == ' ' || c == '\t' || c == ']':
			end()
		default:
			word.WriteByte(c)
			open = true
		}
	}
	end()
	return words
}
