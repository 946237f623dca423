package parsers

import "strings"

// What text-generation-webui (oobabooga) says itself; what its loaders say is
// in the files of those programs.
const (
	// SilentDeath is the Windows start script saying that the server ended,
	// right after a model began to load and without any message: the page file
	// was too small in nearly every case (start_windows.bat, 2023).
	SilentDeath Kind = "silent_death"
	// ServerKilled is llama-server under the webui ended by signal 9
	// (modules/llama_cpp_server.py, 2025-04 and later).
	ServerKilled Kind = "server_killed"
	// ServerExit is llama-server ended otherwise: the reason is in its own
	// lines above.
	ServerExit Kind = "server_exit"
)

// textgenProofs: paths of its modules and lines that nothing else prints. The
// folder repositories/exllama inside it can be ExLlama's own scripts at work.
var textgenProofs = []proof{
	{word: "text-generation-webui", program: "text-generation-webui", weight: 2, beside: []string{
		"/modules/", `\modules\`, "/server.py", `\server.py`, `[server.py`, "[models.py", "/extensions/", `\extensions\`, "/installer_files", `\installer_files`, "/repositories/gptq", `\repositories\gptq`}},
	{word: "oobabooga_windows", program: "text-generation-webui", weight: 2}, {word: "oobabooga-windows", program: "text-generation-webui", weight: 2},
	{word: "oobabooga_linux", program: "text-generation-webui", weight: 2}, {word: "oobabooga_macos", program: "text-generation-webui", weight: 2},
	{word: "textgen/modules/", program: "text-generation-webui", weight: 2}, {word: `textgen\modules\`, program: "text-generation-webui", weight: 2},
	{word: "load_func_map[loader]", program: "text-generation-webui", weight: 2},
	{word: "modules/ui_model_menu.py", program: "text-generation-webui", weight: 2}, {word: `modules\ui_model_menu.py`, program: "text-generation-webui", weight: 2},
	{word: "modules/GPTQ_loader.py", program: "text-generation-webui", weight: 2}, {word: "modules/AutoGPTQ_loader.py", program: "text-generation-webui", weight: 2},
	{word: "modules/text_generation.py", program: "text-generation-webui", weight: 2}, {word: `modules\text_generation.py`, program: "text-generation-webui", weight: 2},
	{word: "modules/exllama", program: "text-generation-webui", weight: 2}, {word: `modules\exllama`, program: "text-generation-webui", weight: 2},
	{word: "modules/llama", program: "text-generation-webui", weight: 2, beside: []string{"cpp_model.py", "cpp_hf.py", "cpp_server.py"}},
	{word: `modules\llama`, program: "text-generation-webui", weight: 2, beside: []string{"cpp_model.py", "cpp_hf.py", "cpp_server.py"}},
	{word: "modules/transformers_loader.py", program: "text-generation-webui", weight: 2}, {word: `modules\transformers_loader.py`, program: "text-generation-webui", weight: 2},
	{word: "Output generated in", program: "text-generation-webui", weight: 2, beside: []string{"tokens/s"}},
	{word: "Which one do you want to load? 1-", program: "text-generation-webui", weight: 2},
	{word: "Found the following quantized model:", program: "text-generation-webui", weight: 2},
	{word: "The AutoGPTQ params are:", program: "text-generation-webui", weight: 2},
	{word: "llama.cpp weights detected:", program: "text-generation-webui", weight: 2},
	{word: "Using the following 4-bit params", program: "text-generation-webui", weight: 2},
	{word: "Auto-assiging --gpu-memory", program: "text-generation-webui", weight: 2},
	{word: "Error loading the model with llama.cpp:", program: "text-generation-webui", weight: 2},
	{word: "Using gpu_layers=", program: "text-generation-webui", weight: 2, beside: []string{"ctx_size="}},
	{word: "TRUNCATION LENGTH:", program: "text-generation-webui", weight: 2}, {word: "INSTRUCTION TEMPLATE:", program: "text-generation-webui", weight: 2},
	{word: "installer_files/env/", program: "text-generation-webui", weight: 1}, {word: `installer_files\env\`, program: "text-generation-webui", weight: 1},
	{word: "llama-cpp-python-cuBLAS-wheels", program: "text-generation-webui", weight: 1}, {word: "llama_cpp_binaries", program: "text-generation-webui", weight: 1},
}

// dated is text that a release of the webui cannot have printed before a
// month, written as a number (202306), and what it shows besides.
type dated struct {
	word  string
	month float64
	// loader is the name that the flag --loader has for what the word shows.
	loader string
}

// textgenDated dates a log by loaders, files and the PyTorch that a release
// shipped: its options changed their names with nearly every loader.
var textgenDated = []dated{
	{"GPTQ_loader.py", 202303, "gptq-for-llama"}, {"GPTQ-for-LLaMa", 202303, "gptq-for-llama"},
	{"AutoGPTQ_loader", 202306, "autogptq"}, {"The AutoGPTQ params are:", 202306, "autogptq"},
	{"AutoAWQ_loader", 202310, "autoawq"},
	{"ExLlama_loader", 202306, "exllama"}, {"repositories/exllama", 202306, "exllama"}, {`repositories\exllama`, 202306, "exllama"},
	{"exllamav2", 202309, "exllamav2"}, {"exllamav3", 202504, "exllamav3"},
	{"huggingface_loader", 202305, "transformers"}, {"transformers_loader", 202504, "transformers"},
	{"llamacpp_model", 202303, "llama.cpp"}, {"llama_cpp_server", 202504, "llama.cpp"}, {"llama.cpp weights detected:", 202303, "llama.cpp"},
	{"terminated unexpectedly with exit code:", 202504, "llama.cpp"}, {"Using gpu_layers=", 202504, "llama.cpp"},
	{"Loaded the model in", 202306, ""}, {"ui_model_menu.py", 202308, ""}, {`Loading "`, 202312, ""}, {"--cache_4bit", 202403, ""}, {"--cache_type", 202412, ""},
	{"total capacty of", 202310, ""}, {"has a total capacity of", 202402, ""}, {"torch.OutOfMemoryError", 202411, ""},
}

var textgen = Parser{
	Name:     "textgen",
	Keywords: textgenWords,
	Context:  textgenContext(),
	Explains: map[Kind]int{SilentDeath: 3, ServerKilled: 4},
	Parse:    parseTextgen,
}

var textgenWords = []string{"Press any key to continue", "terminated unexpectedly with exit code:"}

const outputGenerated = "Output generated in"

func textgenContext() []string {
	out := []string{outputGenerated}
	for _, d := range textgenDated {
		out = append(out, d.word)
	}
	return out
}

func parseTextgen(l *Log, hits []Hit, f *Facts) {
	seen := map[int]bool{}
	for _, h := range hits {
		switch h.Word {
		case 0:
			f.silentDeath(l, h.At)
		case 1:
			f.serverExit(l, h.At)
		case 2:
			f.generated(l, h.At)
		default:
			if !seen[h.Word] {
				seen[h.Word] = true
				f.dated(l, h.At, textgenDated[h.Word-3])
			}
		}
	}
}

// Named facts of text-generation-webui.
const (
	// TextgenSince is the month that a log cannot be older than.
	TextgenSince = "textgen_since"
	// TextgenLoader is the loader that was at work.
	TextgenLoader = "textgen_loader"
)

func (f *Facts) dated(l *Log, at int, d dated) {
	line, text := l.Line(at), l.LineText(at)
	f.Facts = append(f.Facts, Fact{Name: TextgenSince, Count: &Count{Value: d.month, Text: d.word, Line: line}, Text: text, Line: line})
	if d.loader != "" {
		f.Facts = append(f.Facts, Fact{Name: TextgenLoader, Text: d.loader, Line: line})
	}
}

// loadWords begin what is printed while a model is being loaded.
var loadWords = [...]string{"foundthefollowingquantizedmodel:", "llama.cppweightsdetected:", "loadingcheckpointshards:", "loading"}

// afterLoad are words of lines that show what became of the load.
var afterLoad = [...]string{"traceback", "error", "exception", "loadedthemodel", "outputgenerated", "runningon", "closing", "extension"}

// silentDeath finds a load line with nothing after it but the end of the start
// script.
func (f *Facts) silentDeath(l *Log, at int) {
	if len(f.Failures) > 0 {
		return
	}
	floor := max(at-600, 0)
	window := l.Squeezed()[floor:at]
	from := -1
	for _, word := range loadWords {
		from = max(from, strings.LastIndex(window, word))
	}
	if from < 0 {
		return
	}
	for _, word := range afterLoad {
		if strings.Contains(window[from:], word) {
			return
		}
	}
	f.fail(l, floor+from, at, Failure{Kind: SilentDeath, Framework: "text-generation-webui", Phase: "load", Message: l.LineText(floor + from)})
}

var serverExit = pattern(`terminatedunexpectedlywithexitcode:(?<code>-?\d{1,12})`)

// serverExit reads the exit code of llama-server: negative is a signal. 4 is
// an illegal instruction, a processor too old for the build.
func (f *Facts) serverExit(l *Log, at int) {
	m := l.Find(serverExit, at, at+80)
	if !m.Ok() {
		return
	}
	from, to := m.Span()
	switch m.Lower("code") {
	case "-9":
		f.fail(l, from, to, Failure{Kind: ServerKilled, Framework: "text-generation-webui", Backend: "cpu", Phase: "load"})
	case "-4", "3221225501":
		f.Lookalikes = append(f.Lookalikes, Lookalike{
			ID: "illegal_instruction", Line: m.Line(),
			Title:  "Not out of memory: llama-server met an instruction that this processor does not have (signal 4)",
			Advice: "Install a llama.cpp build for older processors (without AVX2 or AVX-512), or update the webui: its portable builds fixed this for several CPUs.",
		})
	default:
		if len(f.Failures) > 0 {
			f.fail(l, from, to, Failure{Kind: ServerExit, Framework: "text-generation-webui", Phase: "load", Wrapper: true})
		}
	}
}

var generatedLine = pattern(`outputgeneratedin[^(]{0,24}\((?:[^,()]{0,24},){2}context(?<context>INT)?`)

// generated reads the length of the prompt: "Output generated in 6.02 seconds
// (0.33 tokens/s, 2 tokens, context 1848, seed 1)". Fields may be blank. The
// line stands below the traceback of a generation that failed.
func (f *Facts) generated(l *Log, at int) {
	m := l.Find(generatedLine, at, at+160)
	if !m.Ok() {
		return
	}
	n := m.Count("context")
	for i := len(f.Failures) - 1; i >= 0; i-- {
		if x := &f.Failures[i]; x.End <= at && at-x.End < 1200 && x.Figures.Context == nil {
			x.Figures.Context = n
			f.Signals = append(f.Signals, Signal{ID: "generating", Line: m.Line(), Text: l.LineText(at)})
			return
		}
	}
}
