// Package webui reads programs with a page of their own, for pictures and
// text: ComfyUI, AUTOMATIC1111, InvokeAI, text-generation-webui, TabbyAPI.
package webui

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// ComfyUI reads ComfyUI.
var ComfyUI = text.Parser{
	Name:     "comfyui",
	Keywords: comfyWords,
	Context:  comfyContext,
	Explains: map[fact.Kind]int{fact.HostBuffer: 3},
	Parse:    parseComfy,
}

var comfyWords = []string{
	"Got an OOM, unloading all loaded models", "This error means you ran out of memory on your GPU",
	"Ran out of memory when regular VAE",
	"HostBuffer.read_file_slice failed", "hostbuf_file_reader_read failed",
}

var comfyContext = []string{
	"Total VRAM ", "Set vram state to:", "loaded completely", "loaded partially", "loading in lowvram mode", "memory leak with model",
}

func parseComfy(l *text.Log, hits []text.Hit, f *fact.Facts) {
	for _, h := range hits {
		if h.Word >= len(comfyWords) {
			comfyState(f, l, h.At, comfyContext[h.Word-len(comfyWords)])
			continue
		}
		switch h.Word {
		case 2:
			comfyVAE(f, l, h.At)
		default:
			comfySays(f, l, h)
		}
	}
}

// comfySays reads the lines that report an OOM or, for the last two, are one.
func comfySays(f *fact.Facts, l *text.Log, h text.Hit) {
	end := min(h.At+len(strings.ReplaceAll(comfyWords[h.Word], " ", "")), len(l.Squeezed()))
	x := fact.Failure{Kind: fact.ComfyUnload, Framework: "comfyui", Backend: "cuda", Wrapper: true}
	switch h.Word {
	case 1:
		x.Kind = fact.ComfyTips
	case 3, 4:
		x.Kind, x.Backend, x.Wrapper = fact.HostBuffer, "cpu", false
	}
	text.Fail(f, l, h.At, end, x)
}

// comfyVAE tells a VAE that was decoded in tiles after all from one that was
// not: only when the prompt was executed without an exception is it settled.
func comfyVAE(f *fact.Facts, l *text.Log, at int) {
	s := l.Squeezed()
	rest := s[at:]
	done := strings.Index(rest, "promptexecutedin")
	raised := strings.Index(rest, "exceptionduringprocessing")
	if done >= 0 && (raised < 0 || raised > done) {
		f.Notices = append(f.Notices, fact.Notice{
			ID: "vae_tiled", Line: l.Line(at), Text: l.LineText(at),
			Title: "The VAE did not fit in one piece; ComfyUI decoded in tiles instead and went on.",
		})
		return
	}
	end := min(at+len("ranoutofmemorywhenregularvaedecoding"), len(s))
	x := fact.Failure{Kind: fact.ComfyVAE, Framework: "comfyui", Backend: "cuda", Phase: "inference", Stage: "compute", Wrapper: raised >= 0}
	x.Figures.Weights = lastWeights(f)
	text.Fail(f, l, at, end, x)
}

// lastWeights returns the weights that were stated last.
func lastWeights(f *fact.Facts) *fact.Size {
	for i := len(f.Facts) - 1; i >= 0; i-- {
		if f.Facts[i].Name == "weights" {
			return f.Facts[i].Size
		}
	}
	return nil
}

var (
	totalVRAM   = text.NewPattern(`totalvram(?<total>NUMmb)`)
	vramState   = text.NewPattern(`setvramstateto:(?<state>[a-z]{2,12}_vram|disabled|shared)`)
	loadedNow   = text.NewPattern(`loaded(?:completely|partially);(?:(?<usable>NUM)mbusable,)?(?<both>(?<loaded>NUMmb)loaded,(?:(?<offloaded>NUMmb)offloaded)?)`)
	lowvramMode = text.NewPattern(`loadinginlowvrammode(?<budget>NUM)`)
)

// comfyState reads what ComfyUI prints about the card and what it loaded; its
// "MB" are MiB.
func comfyState(f *fact.Facts, l *text.Log, at int, word string) {
	line, said := l.Line(at), l.LineText(at)
	switch word {
	case "Total VRAM ":
		if m := l.Find(totalVRAM, at, at+40); m.Ok() {
			text.Card(f, fact.Device{Index: -1, Total: m.Size("total"), Line: line}, said)
		}
	case "Set vram state to:":
		if m := l.Find(vramState, at, at+40); m.Ok() {
			f.Settings = append(f.Settings, fact.Setting{Name: "vram_state", Value: m.Lower("state"), Line: line, Default: true})
		}
	case "loading in lowvram mode":
		if m := l.Find(lowvramMode, at, at+40); m.Ok() {
			f.Signals = append(f.Signals, fact.Signal{ID: "lowvram_active", Line: line, Text: said})
		}
	case "memory leak with model":
		f.Signals = append(f.Signals, fact.Signal{ID: "comfy_leak", Line: line, Text: said})
	default:
		comfyLoaded(f, l, at)
	}
}

// comfyLoaded reads "loaded partially; 0.00 MB usable, 0.00 MB loaded, 1344.02
// MB offloaded, ..." (2025-10 and later): the weights are loaded + offloaded.
func comfyLoaded(f *fact.Facts, l *text.Log, at int) {
	line, text := l.Line(at), l.LineText(at)
	if strings.HasPrefix(text, "loaded partially") || strings.Contains(text, " loaded partially") {
		f.Signals = append(f.Signals, fact.Signal{ID: "lowvram_active", Line: line, Text: text})
	}
	m := l.Find(loadedNow, at, at+140)
	weights := m.Size("loaded")
	if !m.Ok() {
		weights = loadedBefore(text, line)
	}
	if more := m.Size("offloaded"); more != nil && weights != nil {
		sum := *weights
		sum.Bytes += more.Bytes
		sum.Text = m.Text("both")
		if weights.Bytes == 0 {
			sum.Text = more.Text
		}
		weights = &sum
	}
	if weights != nil {
		f.Facts = append(f.Facts, fact.Fact{Name: "weights", Size: weights, Text: text, Line: line})
	}
}

// loadedBefore reads "loaded completely 2098.11 242.03 True": MiB usable, then
// MiB loaded (2024-08 to 2025-10). Squeezed, the two numbers would be one.
func loadedBefore(text string, line int) *fact.Size {
	_, rest, ok := strings.Cut(text, "loaded completely ")
	if !ok {
		return nil
	}
	words := strings.Fields(rest)
	if len(words) < 3 || !strings.HasPrefix(words[2], "True") {
		return nil
	}
	bytes, ok := units.Parse(words[1] + "MB")
	if !ok {
		return nil
	}
	return &fact.Size{Bytes: bytes, Text: words[1], Line: line}
}
