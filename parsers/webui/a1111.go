package webui

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// A1111 reads AUTOMATIC1111 and Forge.
var A1111 = text.Parser{
	Name:     "a1111",
	Keywords: []string{forgeLine},
	Context:  []string{"Torch active/reserved:", "[Memory Management] Required Model Memory:", "[Memory Management] Model Memory (MB) ="},
	Explains: map[fact.Kind]int{fact.ForgeLoad: 4},
	Parse:    parseA1111,
}

const forgeLine = "[Memory Management] Target:"

// a1111Proofs: AUTOMATIC1111's own modules and lines, its forks, and Forge. The
// reports know one name for them; what differs between them hangs on "forge"
// and "sdnext" in the stack.
var A1111Proofs = []text.Proof{
	{Word: "stable-diffusion-webui", Program: "a1111", Weight: 2, Beside: []string{"/modules/", `\modules\`, "/webui.py", `\webui.py`, "/launch.py", `\launch.py`, "/models/", `\models\`, "/extensions", `\extensions`, "-forge", "/venv/", `\venv\`, "/repositories", `\repositories`, "/backend/", `\backend\`}},
	{Word: "modules/call_queue.py", Program: "a1111", Weight: 2}, {Word: `modules\call_queue.py`, Program: "a1111", Weight: 2},
	{Word: "modules/processing.py", Program: "a1111", Weight: 2}, {Word: `modules\processing.py`, Program: "a1111", Weight: 2},
	{Word: "modules/txt2img.py", Program: "a1111", Weight: 2}, {Word: `modules\txt2img.py`, Program: "a1111", Weight: 2},
	{Word: "modules/img2img.py", Program: "a1111", Weight: 2}, {Word: `modules\img2img.py`, Program: "a1111", Weight: 2},
	{Word: "modules/sd_models.py", Program: "a1111", Weight: 2}, {Word: `modules\sd_models.py`, Program: "a1111", Weight: 2},
	{Word: "modules/sd_hijack", Program: "a1111", Weight: 2}, {Word: `modules\sd_hijack`, Program: "a1111", Weight: 2},
	{Word: "Error completing request", Program: "a1111", Weight: 2}, {Word: "Launching Web UI with arguments:", Program: "a1111", Weight: 2},
	{Word: "cross attention optimization", Program: "a1111", Weight: 1}, {Word: "Torch active/reserved:", Program: "a1111", Weight: 2},
	{Word: "DiffusionWrapper has", Program: "a1111", Weight: 1}, {Word: "webui.py --", Program: "a1111", Weight: 2, Beside: []string{"--medvram", "--lowvram", "--xformers", "--opt-", "--no-half", "--ckpt"}},
	{Word: "stable-diffusion-webui-forge", Program: "forge", Weight: 2}, {Word: "[Memory Management]", Program: "forge", Weight: 2}, {Word: "[Memory Management]", Program: "a1111", Weight: 2},
	{Word: "[GPU Setting] You will use", Program: "forge", Weight: 2}, {Word: "[GPU Setting] You will use", Program: "a1111", Weight: 2},
	{Word: "Begin to load", Program: "forge", Weight: 1}, {Word: "Moving model(s) has taken", Program: "forge", Weight: 2}, {Word: "Moving model(s) has taken", Program: "a1111", Weight: 2},
	{Word: "oom:", Program: "sdnext", Weight: 1, Beside: []string{"}"}},
}

var forgePlan = text.NewPattern(`\[memorymanagement\]target:(?<target>[a-z0-9_]{1,60}),freegpu:(?<free>NUMmb),modelrequire:(?<weights>NUMmb),(?:previouslyloaded:NUMmb,)?inferencerequire:(?<work>NUM)mb,remaining:(?<rest>NUM)mb,(?<error>cudaerror:outofmemory|hiperror:outofmemory|[a-z.]{0,30}outofmemory)?`)

var (
	forgeRequired = text.NewPattern(`requiredmodelmemory:(?<weights>NUMmb)`)
	forgeModel    = text.NewPattern(`modelmemory\(mb\)=(?<weights>NUM)`)
	forgeReserved = text.NewPattern(`torchactive/reserved:(?<active>INT)/(?<reserved>INTmib)`)
)

func parseA1111(l *text.Log, hits []text.Hit, f *fact.Facts) {
	for _, h := range hits {
		switch h.Word {
		case 0:
			readForgePlan(f, l, h.At)
		case 1:
			if m := l.Find(forgeReserved, h.At, h.At+60); m.Ok() {
				f.Facts = append(f.Facts, fact.Fact{Name: "peak_reserved", Size: m.Size("reserved"), Text: l.LineText(h.At), Line: m.Line()})
			}
		case 2:
			weights(f, l, l.Find(forgeRequired, h.At, h.At+80))
		case 3:
			weights(f, l, l.Find(forgeModel, h.At, h.At+80))
		}
	}
}

// weights keeps the size of a model that a program states before it loads it.
func weights(f *fact.Facts, l *text.Log, m text.Match) {
	s := m.Size("weights")
	if s == nil {
		s = m.SizeIn("weights", "mb") // "Model Memory (MB) = 8191.2"
	}
	if s != nil {
		from, _ := m.Span()
		f.Facts = append(f.Facts, fact.Fact{Name: "weights", Size: s, Text: l.LineText(from), Line: m.Line()})
	}
}

// readForgePlan reads what Forge is about to load. "Remaining" below zero is
// normal, part of the model goes to swap; an error glued on is not.
func readForgePlan(f *fact.Facts, l *text.Log, at int) {
	m := l.Find(forgePlan, at, at+400)
	if !m.Ok() {
		return
	}
	weights(f, l, m)
	if m.Lower("error") == "" {
		return
	}
	from, to := m.Span()
	text.Fail(f, l, from, to, fact.Failure{
		Kind: fact.ForgeLoad, Framework: "a1111", Backend: "cuda", Phase: "load", Stage: "weights",
		Figures: fact.Figures{Free: m.Size("free"), Weights: m.Size("weights")},
	})
}
