package parsers

import "strings"

// ExLlamaSplit is the loader of ExLlamaV2 and V3 saying that weights and cache
// together do not fit the cards, without figures (exllamav2/model.py
// load_autosplit, exllamav3/model/model.py).
const ExLlamaSplit Kind = "exllama_split"

var exllama = Parser{
	Name:     "exllama",
	Keywords: exllamaWords,
	Context:  exllamaContext,
	Explains: map[Kind]int{ExLlamaSplit: 4},
	Parse:    parseExLlama,
}

var exllamaWords = []string{"Insufficient VRAM for model and cache", "Insufficient VRAM in split for model and cache"}

var exllamaContext = []string{"-- Options: [", "-- Sequence length:", "--gpu-split", "test_inference.py -", "test_benchmark_inference.py -", "examples/chat.py -"}

// exllamaProofs: TabbyAPI runs on ExLlama; its load lines are its own.
var exllamaProofs = []proof{
	{word: "exllamav2/", program: "exllama", weight: 2}, {word: `exllamav2\`, program: "exllama", weight: 2},
	{word: "exllamav3/", program: "exllama", weight: 2}, {word: `exllamav3\`, program: "exllama", weight: 2},
	{word: "exllama/model.py", program: "exllama", weight: 2}, {word: `exllama\model.py`, program: "exllama", weight: 2},
	{word: "repositories/exllama/", program: "exllama", weight: 2}, {word: `repositories\exllama\`, program: "exllama", weight: 2},
	{word: "ExLlamaV2Cache", program: "exllama", weight: 2}, {word: "load_autosplit", program: "exllama", weight: 2},
	{word: "Loading with autosplit", program: "exllama", weight: 2}, {word: "Loading with a manual GPU split", program: "exllama", weight: 2},
	{word: "Loading with autosplit", program: "tabbyapi", weight: 2}, {word: "Loading with a manual GPU split", program: "tabbyapi", weight: 2},
	{word: "tabbyAPI/", program: "tabbyapi", weight: 2}, {word: `tabbyAPI\`, program: "tabbyapi", weight: 2},
}

func parseExLlama(l *Log, hits []Hit, f *Facts) {
	for i, h := range hits {
		switch {
		case h.Word < len(exllamaWords):
			last := i+1 == len(hits) || hits[i+1].Word >= len(exllamaWords)
			if raised(l.Squeezed(), h.At) && !last {
				continue
			}
			end := h.At + len(strings.ReplaceAll(exllamaWords[h.Word], " ", ""))
			f.fail(l, h.At, end, Failure{Kind: ExLlamaSplit, Framework: "exllama", Phase: "load", Stage: "kv"})
		case h.Word == len(exllamaWords):
			f.exllamaOptions(l, h.At)
		case h.Word == len(exllamaWords)+1:
			if m := l.Find(sequenceLength, h.At, h.At+40); m.Ok() {
				f.Settings = append(f.Settings, Setting{Name: "max_seq_len", Value: m.Lower("n"), Line: m.Line()})
			}
		case h.Word == len(exllamaWords)+2:
			f.gpuSplit(l, h.At)
		default:
			f.exllamaArguments(l, h.At)
		}
	}
}

// raised reports that what stands at an offset is the source line that raises
// the error, which a traceback shows before the error itself.
func raised(s string, at int) bool {
	before := s[max(at-40, 0):at]
	return (strings.HasSuffix(before, `("`) || strings.HasSuffix(before, `('`)) && strings.Contains(before, "raise")
}

var (
	sequenceLength = pattern(`sequencelength:(?<n>INT)`)
	exllamaOption  = pattern(`options:\[(?:[^\]]{0,200},)?'gpu_split:(?<split>[\d.,]{1,60})'`)
)

// exllamaOptions reads " -- Options: ['gpu_split: 8,8', 'no_flash_attn']".
func (f *Facts) exllamaOptions(l *Log, at int) {
	if m := l.Find(exllamaOption, at, at+240); m.Ok() {
		f.Settings = append(f.Settings, Setting{Name: "gpu_split", Value: m.Lower("split"), Line: m.Line()})
	}
}

var gpuSplit = pattern(`^--gpu-split=?(?<split>\d{1,3}(?:\.\d{1,2})?(?:,\d{1,3}(?:\.\d{1,2})?)+)(?=[^\d.,]|$)`)

// gpuSplit reads the option where a console broke the command line.
func (f *Facts) gpuSplit(l *Log, at int) {
	for _, s := range f.Settings {
		if s.Name == "gpu_split" && len(s.Value) > 0 && s.Line <= l.Line(at) {
			return
		}
	}
	if m := l.Find(gpuSplit, at, at+80); m.Ok() {
		f.Settings = append(f.Settings, Setting{Name: "gpu_split", Value: m.Lower("split"), Line: m.Line(), Flag: "--gpu-split"})
	}
}

// exllamaShort are the short options of ExLlama's own scripts by what
// text-generation-webui and TabbyAPI call them.
var exllamaShort = map[string]string{"-gs": "gpu_split", "-l": "max_seq_len", "-length": "max_seq_len", "-cq4": "cache_q4", "-cq6": "cache_q6", "-cq8": "cache_q8", "-c8": "cache_8bit", "-nfa": "no_flash_attn", "-lm": "low_mem"}

func (f *Facts) exllamaArguments(l *Log, at int) {
	words := strings.Fields(l.LineText(at))
	for i, word := range words {
		name := exllamaShort[word]
		if name == "" {
			continue
		}
		value := ""
		if i+1 < len(words) && !isFlag(words[i+1]) {
			value = words[i+1]
		}
		f.Settings = append(f.Settings, Setting{Name: name, Value: value, Line: l.Line(at), Flag: word})
	}
}
