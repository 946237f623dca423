package webui

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

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

// Textgen reads text-generation-webui.
var Textgen = text.Parser{
	Name:     "textgen",
	Keywords: textgenWords,
	Context:  textgenContext(),
	Explains: map[fact.Kind]int{fact.SilentDeath: 3, fact.ServerKilled: 4},
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

func parseTextgen(l *text.Log, hits []text.Hit, f *fact.Facts) {
	seen := map[int]bool{}
	for _, h := range hits {
		switch h.Word {
		case 0:
			silentDeath(f, l, h.At)
		case 1:
			readServerExit(f, l, h.At)
		case 2:
			generated(f, l, h.At)
		default:
			if !seen[h.Word] {
				seen[h.Word] = true
				keepDated(f, l, h.At, textgenDated[h.Word-3])
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

func keepDated(f *fact.Facts, l *text.Log, at int, d dated) {
	line, text := l.Line(at), l.LineText(at)
	f.Facts = append(f.Facts, fact.Fact{Name: TextgenSince, Count: &fact.Count{Value: d.month, Text: d.word, Line: line}, Text: text, Line: line})
	if d.loader != "" {
		f.Facts = append(f.Facts, fact.Fact{Name: TextgenLoader, Text: d.loader, Line: line})
	}
}

// loadWords begin what is printed while a model is being loaded.
var loadWords = [...]string{"foundthefollowingquantizedmodel:", "llama.cppweightsdetected:", "loadingcheckpointshards:", "loading"}

// afterLoad are words of lines that show what became of the load.
var afterLoad = [...]string{"traceback", "error", "exception", "loadedthemodel", "outputgenerated", "runningon", "closing", "extension"}

// silentDeath finds a load line with nothing after it but the end of the start
// script.
func silentDeath(f *fact.Facts, l *text.Log, at int) {
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
	text.Fail(f, l, floor+from, at, fact.Failure{Kind: fact.SilentDeath, Framework: "text-generation-webui", Phase: "load", Message: l.LineText(floor + from)})
}

var serverExit = text.NewPattern(`terminatedunexpectedlywithexitcode:(?<code>-?\d{1,12})`)

// readServerExit reads the exit code of llama-server: negative is a signal. 4 is
// an illegal instruction, a processor too old for the build.
func readServerExit(f *fact.Facts, l *text.Log, at int) {
	m := l.Find(serverExit, at, at+80)
	if !m.Ok() {
		return
	}
	from, to := m.Span()
	switch m.Lower("code") {
	case "-9":
		text.Fail(f, l, from, to, fact.Failure{Kind: fact.ServerKilled, Framework: "text-generation-webui", Backend: "cpu", Phase: "load"})
	case "-4", "3221225501":
		f.Lookalikes = append(f.Lookalikes, fact.Lookalike{
			ID: "illegal_instruction", Line: m.Line(),
			Title:  "Not out of memory: llama-server met an instruction that this processor does not have (signal 4)",
			Advice: "Install a llama.cpp build for older processors (without AVX2 or AVX-512), or update the webui: its portable builds fixed this for several CPUs.",
		})
	default:
		if len(f.Failures) > 0 {
			text.Fail(f, l, from, to, fact.Failure{Kind: fact.ServerExit, Framework: "text-generation-webui", Phase: "load", Wrapper: true})
		}
	}
}

var generatedLine = text.NewPattern(`outputgeneratedin[^(]{0,24}\((?:[^,()]{0,24},){2}context(?<context>INT)?`)

// generated reads the length of the prompt: "Output generated in 6.02 seconds
// (0.33 tokens/s, 2 tokens, context 1848, seed 1)". Fields may be blank. The
// line stands below the traceback of a generation that failed.
func generated(f *fact.Facts, l *text.Log, at int) {
	m := l.Find(generatedLine, at, at+160)
	if !m.Ok() {
		return
	}
	n := m.Count("context")
	for i := len(f.Failures) - 1; i >= 0; i-- {
		if x := &f.Failures[i]; x.End <= at && at-x.End < 1200 && x.Figures.Context == nil {
			x.Figures.Context = n
			f.Signals = append(f.Signals, fact.Signal{ID: "generating", Line: m.Line(), Text: l.LineText(at)})
			return
		}
	}
}
