package webui

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// ExLlama reads ExLlama and TabbyAPI.
var ExLlama = text.Parser{
	Name:     "exllama",
	Keywords: exllamaWords,
	Context:  exllamaContext,
	Explains: map[fact.Kind]int{fact.ExLlamaSplit: 4},
	Parse:    parseExLlama,
}

var exllamaWords = []string{"Insufficient VRAM for model and cache", "Insufficient VRAM in split for model and cache"}

var exllamaContext = []string{"-- Options: [", "-- Sequence length:", "--gpu-split", "test_inference.py -", "test_benchmark_inference.py -", "examples/chat.py -"}

func parseExLlama(l *text.Log, hits []text.Hit, f *fact.Facts) {
	for i, h := range hits {
		switch {
		case h.Word < len(exllamaWords):
			last := i+1 == len(hits) || hits[i+1].Word >= len(exllamaWords)
			if raised(l.Squeezed(), h.At) && !last {
				continue
			}
			end := h.At + len(strings.ReplaceAll(exllamaWords[h.Word], " ", ""))
			text.Fail(f, l, h.At, end, fact.Failure{Kind: fact.ExLlamaSplit, Framework: "exllama", Phase: "load", Stage: "kv"})
		case h.Word == len(exllamaWords):
			exllamaOptions(f, l, h.At)
		case h.Word == len(exllamaWords)+1:
			if m := l.Find(sequenceLength, h.At, h.At+40); m.Ok() {
				f.Settings = append(f.Settings, fact.Setting{Name: "max_seq_len", Value: m.Lower("n"), Line: m.Line()})
			}
		case h.Word == len(exllamaWords)+2:
			readGPUSplit(f, l, h.At)
		default:
			exllamaArguments(f, l, h.At)
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
	sequenceLength = text.NewPattern(`sequencelength:(?<n>INT)`)
	exllamaOption  = text.NewPattern(`options:\[(?:[^\]]{0,200},)?'gpu_split:(?<split>[\d.,]{1,60})'`)
)

// exllamaOptions reads " -- Options: ['gpu_split: 8,8', 'no_flash_attn']".
func exllamaOptions(f *fact.Facts, l *text.Log, at int) {
	if m := l.Find(exllamaOption, at, at+240); m.Ok() {
		f.Settings = append(f.Settings, fact.Setting{Name: "gpu_split", Value: m.Lower("split"), Line: m.Line()})
	}
}

var gpuSplit = text.NewPattern(`^--gpu-split=?(?<split>\d{1,3}(?:\.\d{1,2})?(?:,\d{1,3}(?:\.\d{1,2})?)+)(?=[^\d.,]|$)`)

// readGPUSplit reads the option where a console broke the command line.
func readGPUSplit(f *fact.Facts, l *text.Log, at int) {
	for _, s := range f.Settings {
		if s.Name == "gpu_split" && len(s.Value) > 0 && s.Line <= l.Line(at) {
			return
		}
	}
	if m := l.Find(gpuSplit, at, at+80); m.Ok() {
		f.Settings = append(f.Settings, fact.Setting{Name: "gpu_split", Value: m.Lower("split"), Line: m.Line(), Flag: "--gpu-split"})
	}
}

// exllamaShort are the short options of ExLlama's own scripts by what
// text-generation-webui and TabbyAPI call them.
var exllamaShort = map[string]string{"-gs": "gpu_split", "-l": "max_seq_len", "-length": "max_seq_len", "-cq4": "cache_q4", "-cq6": "cache_q6", "-cq8": "cache_q8", "-c8": "cache_8bit", "-nfa": "no_flash_attn", "-lm": "low_mem"}

func exllamaArguments(f *fact.Facts, l *text.Log, at int) {
	words := strings.Fields(l.LineText(at))
	for i, word := range words {
		name := exllamaShort[word]
		if name == "" {
			continue
		}
		value := ""
		if i+1 < len(words) && !text.IsFlag(words[i+1]) {
			value = words[i+1]
		}
		f.Settings = append(f.Settings, fact.Setting{Name: name, Value: value, Line: l.Line(at), Flag: word})
	}
}
