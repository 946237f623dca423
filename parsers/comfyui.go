package parsers

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
)

// What ComfyUI says about memory; the allocator's own messages are PyTorch's.
const (
	// ComfyUnload is ComfyUI after an OOM, dropping its models (execution.py,
	// 2024-08 and later).
	ComfyUnload Kind = "comfy_unload"
	// ComfyTips is the text of the pop-up (2025 and later); it has no figures.
	ComfyTips Kind = "comfy_tips"
	// ComfyVAE is a VAE that did not fit and is tried again in tiles (comfy/sd.py).
	ComfyVAE Kind = "comfy_vae"
	// HostBuffer is ComfyUI's dynamic VRAM out of pinned system memory (2026).
	HostBuffer Kind = "host_buffer"
)

var comfyui = Parser{
	Name:     "comfyui",
	Keywords: comfyWords,
	Context:  comfyContext,
	Explains: map[Kind]int{HostBuffer: 3},
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

// comfyProofs: Fooocus, Forge and others have its memory manager inside, so
// "Total VRAM" alone proves nothing.
var comfyProofs = []proof{
	{word: "got prompt", program: "comfyui", weight: 2}, {word: "!!! Exception during processing", program: "comfyui", weight: 2},
	{word: "Prompt executed in", program: "comfyui", weight: 2}, {word: "Error occurred when executing", program: "comfyui", weight: 2, beside: comfyNode},
	{word: "Got an OOM, unloading all loaded models", program: "comfyui", weight: 2},
	{word: "ComfyUI Error Report", program: "comfyui", weight: 2},
	{word: "ComfyUI/execution.py", program: "comfyui", weight: 2}, {word: `ComfyUI\execution.py`, program: "comfyui", weight: 2},
	{word: "ComfyUI/comfy/", program: "comfyui", weight: 2}, {word: `ComfyUI\comfy\`, program: "comfyui", weight: 2},
	{word: "ComfyUI/nodes.py", program: "comfyui", weight: 2}, {word: `ComfyUI\nodes.py`, program: "comfyui", weight: 2},
	{word: "ComfyUI/main.py", program: "comfyui", weight: 2}, {word: `ComfyUI\main.py`, program: "comfyui", weight: 2},
	{word: "ComfyUI/custom_nodes/", program: "comfyui", weight: 2}, {word: `ComfyUI\custom_nodes\`, program: "comfyui", weight: 2},
	{word: "comfy/model_management.py", program: "comfyui", weight: 2}, {word: `comfy\model_management.py`, program: "comfyui", weight: 2},
	{word: "Ran out of memory when regular VAE", program: "comfyui", weight: 2},
	{word: "This error means you ran out of memory on your GPU", program: "comfyui", weight: 2},
	{word: "[Fooocus", program: "fooocus", weight: 2}, {word: "ldm_patched", program: "fooocus", weight: 1},
}

// comfyNode ends the title of the pop-up: the name of a node and a colon.
var comfyNode = []string{":"}

func parseComfy(l *Log, hits []Hit, f *Facts) {
	for _, h := range hits {
		if h.Word >= len(comfyWords) {
			f.comfyState(l, h.At, comfyContext[h.Word-len(comfyWords)])
			continue
		}
		switch h.Word {
		case 2:
			f.comfyVAE(l, h.At)
		default:
			f.comfySays(l, h)
		}
	}
}

// comfySays reads the lines that report an OOM or, for the last two, are one.
func (f *Facts) comfySays(l *Log, h Hit) {
	end := min(h.At+len(strings.ReplaceAll(comfyWords[h.Word], " ", "")), len(l.Squeezed()))
	x := Failure{Kind: ComfyUnload, Framework: "comfyui", Backend: "cuda", Wrapper: true}
	switch h.Word {
	case 1:
		x.Kind = ComfyTips
	case 3, 4:
		x.Kind, x.Backend, x.Wrapper = HostBuffer, "cpu", false
	}
	f.fail(l, h.At, end, x)
}

// comfyVAE tells a VAE that was decoded in tiles after all from one that was
// not: only when the prompt was executed without an exception is it settled.
func (f *Facts) comfyVAE(l *Log, at int) {
	s := l.Squeezed()
	rest := s[at:]
	done := strings.Index(rest, "promptexecutedin")
	raised := strings.Index(rest, "exceptionduringprocessing")
	if done >= 0 && (raised < 0 || raised > done) {
		f.Notices = append(f.Notices, Notice{
			ID: "vae_tiled", Line: l.Line(at), Text: l.LineText(at),
			Title: "The VAE did not fit in one piece; ComfyUI decoded in tiles instead and went on.",
		})
		return
	}
	end := min(at+len("ranoutofmemorywhenregularvaedecoding"), len(s))
	x := Failure{Kind: ComfyVAE, Framework: "comfyui", Backend: "cuda", Phase: "inference", Stage: "compute", Wrapper: raised >= 0}
	x.Figures.Weights = f.lastWeights()
	f.fail(l, at, end, x)
}

// lastWeights returns the weights that were stated last.
func (f *Facts) lastWeights() *Size {
	for i := len(f.Facts) - 1; i >= 0; i-- {
		if f.Facts[i].Name == "weights" {
			return f.Facts[i].Size
		}
	}
	return nil
}

var (
	totalVRAM   = pattern(`totalvram(?<total>NUMmb)`)
	vramState   = pattern(`setvramstateto:(?<state>[a-z]{2,12}_vram|disabled|shared)`)
	loadedNow   = pattern(`loaded(?:completely|partially);(?:(?<usable>NUM)mbusable,)?(?<both>(?<loaded>NUMmb)loaded,(?:(?<offloaded>NUMmb)offloaded)?)`)
	lowvramMode = pattern(`loadinginlowvrammode(?<budget>NUM)`)
)

// comfyState reads what ComfyUI prints about the card and what it loaded; its
// "MB" are MiB.
func (f *Facts) comfyState(l *Log, at int, word string) {
	line, said := l.Line(at), l.LineText(at)
	switch word {
	case "Total VRAM ":
		if m := l.Find(totalVRAM, at, at+40); m.Ok() {
			f.card(Device{Index: -1, Total: m.Size("total"), Line: line}, said)
		}
	case "Set vram state to:":
		if m := l.Find(vramState, at, at+40); m.Ok() {
			f.Settings = append(f.Settings, Setting{Name: "vram_state", Value: m.Lower("state"), Line: line, Default: true})
		}
	case "loading in lowvram mode":
		if m := l.Find(lowvramMode, at, at+40); m.Ok() {
			f.Signals = append(f.Signals, Signal{ID: "lowvram_active", Line: line, Text: said})
		}
	case "memory leak with model":
		f.Signals = append(f.Signals, Signal{ID: "comfy_leak", Line: line, Text: said})
	default:
		f.comfyLoaded(l, at)
	}
}

// card keeps a card that a program names at its start.
func (f *Facts) card(d Device, text string) {
	f.Devices = append(f.Devices, d)
	f.Facts = append(f.Facts, Fact{Name: "total", Size: d.Total, Text: text, Line: d.Line})
}

// comfyLoaded reads "loaded partially; 0.00 MB usable, 0.00 MB loaded, 1344.02
// MB offloaded, ..." (2025-10 and later): the weights are loaded + offloaded.
func (f *Facts) comfyLoaded(l *Log, at int) {
	line, text := l.Line(at), l.LineText(at)
	if strings.HasPrefix(text, "loaded partially") || strings.Contains(text, " loaded partially") {
		f.Signals = append(f.Signals, Signal{ID: "lowvram_active", Line: line, Text: text})
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
		f.Facts = append(f.Facts, Fact{Name: "weights", Size: weights, Text: text, Line: line})
	}
}

// loadedBefore reads "loaded completely 2098.11 242.03 True": MiB usable, then
// MiB loaded (2024-08 to 2025-10). Squeezed, the two numbers would be one.
func loadedBefore(text string, line int) *Size {
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
	return &Size{Bytes: bytes, Text: words[1], Line: line}
}
