// Package ambient reads what stands around a failure, whatever the program:
// models, command lines, versions, the system, tables of processes.
package ambient

import (
	"regexp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Models reads the names of models out of load lines, arguments and calls.
var Models = text.Parser{Name: "models", Context: text.Each(modelNames, func(m modelWord) string { return m.word }), Parse: parseModels}

// modelWord is text after which a model's name stands.
type modelWord struct {
	word   string
	weight int
	// read takes the name from the rest of the line; nil for calls.
	read func(rest string) string
}

var modelNames = []modelWord{
	{"Loading", 3, loadedName},
	{"--model", 3, optionValue}, {"--model_name_or_path", 3, optionValue}, {"--pretrained_model_name_or_path", 3, optionValue}, {"--base_model", 3, optionValue},
	{"model_name_or_path:", 3, firstWord}, {"base_model:", 3, firstWord}, {"-- Model:", 3, firstWord},
	{"Loading model:", 3, firstWord}, {"Loading weights [", 3, afterFrom}, {"Loading model [", 3, afterFrom}, {"Loading the model [", 3, firstWord}, // fastchat/serve/model_worker.py
	{"from_pretrained(", 2, nil},
	{"--model-path", 1, sizedName}, {"--model_path", 1, sizedName}, {"--model-id", 1, sizedName}, {"--model_id", 1, sizedName}, {"--model_name", 1, sizedName}, {"--base-model", 1, sizedName}, {"--pretrained", 1, sizedName},
	{"model_id=", 1, sizedName}, {"model_id =", 1, sizedName}, {"/models--", 1, sizedName},
	{"Found the following quantized model:", 2, firstWord}, {"llama.cpp weights detected:", 2, firstWord},
}

// maxMentions bounds what is kept of a log that loads models all day: the
// last ones before a failure matter.
const maxMentions = 256

func parseModels(l *text.Log, hits []text.Hit, f *fact.Facts) {
	read := map[text.Hit]bool{} // by word and line: the first of a line says it
	for _, h := range hits {
		m := modelNames[h.Word]
		if m.read == nil {
			pretrained(f, l, h.At)
			continue
		}
		i := l.LineIndex(h.At)
		place := text.Hit{Word: h.Word, At: i}
		if read[place] || strings.HasPrefix(m.word, "--") && !l.Typed(h.At) {
			continue
		}
		read[place] = true
		line := l.Lines[i].Text
		at := strings.Index(strings.ToLower(line), strings.ToLower(m.word))
		if at < 0 || len(f.Models) >= maxMentions || m.word == "Loading" && at > 0 || strings.HasSuffix(line[:at], "error ") {
			continue // wrapped over two lines, no load line, or llama.cpp's "error loading model: unable to allocate ..."
		}
		rest := line[at+len(m.word):]
		if strings.TrimSpace(rest) == "" && i+1 < len(l.Lines) {
			rest = l.Lines[i+1].Text // rich wraps at 80 columns
		}
		if name := m.read(rest); plausible(name) {
			f.Models = append(f.Models, fact.ModelMention{Name: name, Line: l.Lines[i].Number, Weight: m.weight})
		}
	}
}

var pretrainedName = text.NewPattern(`^from_pretrained\((?:pretrained_model_name_or_path=)?["'](?<name>[^"']{3,160})["']`)

// pretrained reads the literal in a call of from_pretrained, which consoles
// break anywhere.
func pretrained(f *fact.Facts, l *text.Log, at int) {
	if m := l.Find(pretrainedName, at, at+240); m.Ok() && plausible(m.Text("name")) {
		f.Models = append(f.Models, fact.ModelMention{Name: strings.ReplaceAll(m.Text("name"), " ", ""), Line: m.Line(), Weight: 2})
	}
}

// loadedName reads `Loading NAME...` and `Loading "NAME"` of
// text-generation-webui, all eras.
func loadedName(rest string) string {
	rest = strings.TrimSpace(rest)
	if name := quotedName(rest); name != "" {
		return name
	}
	name, ok := strings.CutSuffix(rest, "...")
	if !ok || strings.ContainsAny(name, " :[") || !strings.ContainsAny(name, "-_/.0123456789") { // "Loading data..."
		return ""
	}
	return name
}

// optionValue reads the value of an option; "--model-dir" is another one.
func optionValue(rest string) string {
	if !strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, "=") {
		return ""
	}
	return firstWord(strings.TrimPrefix(rest, "="))
}

func afterFrom(rest string) string {
	_, name, _ := strings.Cut(rest, "] from ")
	return strings.TrimSpace(name)
}

// sizedName reads the value of a looser option, or a folder of Hugging Face's
// cache (models--org--name), where the name tells how large the model is.
func sizedName(rest string) string {
	name := firstWord(strings.TrimPrefix(strings.TrimSpace(rest), "="))
	name, _, _ = strings.Cut(strings.Replace(name, "--", "/", 1), "/snapshots")
	name = strings.TrimRight(name, "/\"'")
	if !sized.MatchString(name) {
		return ""
	}
	return name
}

// sized is a number of billions in a name: 7b, 1.5B.
var sized = regexp.MustCompile(`(?i)[-_/][0-9]{1,3}(\.[0-9]+)?b([-_./]|$)`)

func firstWord(rest string) string {
	rest = strings.TrimSpace(rest)
	if name := quotedName(rest); name != "" {
		return name
	}
	name, _, _ := strings.Cut(rest, " ")
	return strings.TrimRight(name, ",;)")
}

// quotedName reads a string literal that stands at the beginning.
func quotedName(rest string) string {
	if rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	name, _, ok := strings.Cut(rest[1:], rest[:1])
	if !ok {
		return ""
	}
	return name
}

// plausible tells a name from an option, a variable or a progress bar.
func plausible(name string) bool {
	if len(name) < 3 || len(name) > 200 || strings.HasPrefix(name, "-") || strings.ContainsAny(name, "{}<>|$%\"") || strings.Contains(name, "sha256-") {
		return false
	}
	if slices.Contains([]string{"model", "tokenizer", "settings", "extension", "extensions", "weights", "none", "null", "the"}, strings.ToLower(name)) {
		return false
	}
	return strings.ContainsFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
}
