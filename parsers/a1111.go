package parsers

// ForgeLoad is Forge's memory manager, whose line of figures the error text
// follows (backend/memory_management.py, 2024-09 and later).
const ForgeLoad Kind = "forge_load"

var a1111 = Parser{
	Name:     "a1111",
	Keywords: []string{forgeLine},
	Context:  []string{"Torch active/reserved:", "[Memory Management] Required Model Memory:", "[Memory Management] Model Memory (MB) ="},
	Explains: map[Kind]int{ForgeLoad: 4},
	Parse:    parseA1111,
}

const forgeLine = "[Memory Management] Target:"

// a1111Proofs: AUTOMATIC1111's own modules and lines, its forks, and Forge. The
// reports know one name for them; what differs between them hangs on "forge"
// and "sdnext" in the stack.
var a1111Proofs = []proof{
	{word: "stable-diffusion-webui", program: "a1111", weight: 2, beside: []string{"/modules/", `\modules\`, "/webui.py", `\webui.py`, "/launch.py", `\launch.py`, "/models/", `\models\`, "/extensions", `\extensions`, "-forge", "/venv/", `\venv\`, "/repositories", `\repositories`, "/backend/", `\backend\`}},
	{word: "modules/call_queue.py", program: "a1111", weight: 2}, {word: `modules\call_queue.py`, program: "a1111", weight: 2},
	{word: "modules/processing.py", program: "a1111", weight: 2}, {word: `modules\processing.py`, program: "a1111", weight: 2},
	{word: "modules/txt2img.py", program: "a1111", weight: 2}, {word: `modules\txt2img.py`, program: "a1111", weight: 2},
	{word: "modules/img2img.py", program: "a1111", weight: 2}, {word: `modules\img2img.py`, program: "a1111", weight: 2},
	{word: "modules/sd_models.py", program: "a1111", weight: 2}, {word: `modules\sd_models.py`, program: "a1111", weight: 2},
	{word: "modules/sd_hijack", program: "a1111", weight: 2}, {word: `modules\sd_hijack`, program: "a1111", weight: 2},
	{word: "Error completing request", program: "a1111", weight: 2}, {word: "Launching Web UI with arguments:", program: "a1111", weight: 2},
	{word: "cross attention optimization", program: "a1111", weight: 1}, {word: "Torch active/reserved:", program: "a1111", weight: 2},
	{word: "DiffusionWrapper has", program: "a1111", weight: 1}, {word: "webui.py --", program: "a1111", weight: 2, beside: []string{"--medvram", "--lowvram", "--xformers", "--opt-", "--no-half", "--ckpt"}},
	{word: "stable-diffusion-webui-forge", program: "forge", weight: 2}, {word: "[Memory Management]", program: "forge", weight: 2}, {word: "[Memory Management]", program: "a1111", weight: 2},
	{word: "[GPU Setting] You will use", program: "forge", weight: 2}, {word: "[GPU Setting] You will use", program: "a1111", weight: 2},
	{word: "Begin to load", program: "forge", weight: 1}, {word: "Moving model(s) has taken", program: "forge", weight: 2}, {word: "Moving model(s) has taken", program: "a1111", weight: 2},
	{word: "oom:", program: "sdnext", weight: 1, beside: []string{"}"}},
}

var forgePlan = pattern(`\[memorymanagement\]target:(?<target>[a-z0-9_]{1,60}),freegpu:(?<free>NUMmb),modelrequire:(?<weights>NUMmb),(?:previouslyloaded:NUMmb,)?inferencerequire:(?<work>NUM)mb,remaining:(?<rest>NUM)mb,(?<error>cudaerror:outofmemory|hiperror:outofmemory|[a-z.]{0,30}outofmemory)?`)

var (
	forgeRequired = pattern(`requiredmodelmemory:(?<weights>NUMmb)`)
	forgeModel    = pattern(`modelmemory\(mb\)=(?<weights>NUM)`)
	forgeReserved = pattern(`torchactive/reserved:(?<active>INT)/(?<reserved>INTmib)`)
)

func parseA1111(l *Log, hits []Hit, f *Facts) {
	for _, h := range hits {
		switch h.Word {
		case 0:
			f.forgePlan(l, h.At)
		case 1:
			if m := l.Find(forgeReserved, h.At, h.At+60); m.Ok() {
				f.Facts = append(f.Facts, Fact{Name: "peak_reserved", Size: m.Size("reserved"), Text: l.LineText(h.At), Line: m.Line()})
			}
		case 2:
			f.weights(l, l.Find(forgeRequired, h.At, h.At+80))
		case 3:
			f.weights(l, l.Find(forgeModel, h.At, h.At+80))
		}
	}
}

// weights keeps the size of a model that a program states before it loads it.
func (f *Facts) weights(l *Log, m Match) {
	s := m.Size("weights")
	if s == nil {
		s = m.SizeIn("weights", "mb") // "Model Memory (MB) = 8191.2"
	}
	if s != nil {
		from, _ := m.Span()
		f.Facts = append(f.Facts, Fact{Name: "weights", Size: s, Text: l.LineText(from), Line: m.Line()})
	}
}

// forgePlan reads what Forge is about to load. "Remaining" below zero is
// normal, part of the model goes to swap; an error glued on is not.
func (f *Facts) forgePlan(l *Log, at int) {
	m := l.Find(forgePlan, at, at+400)
	if !m.Ok() {
		return
	}
	f.weights(l, m)
	if m.Lower("error") == "" {
		return
	}
	from, to := m.Span()
	f.fail(l, from, to, Failure{
		Kind: ForgeLoad, Framework: "a1111", Backend: "cuda", Phase: "load", Stage: "weights",
		Figures: Figures{Free: m.Size("free"), Weights: m.Size("weights")},
	})
}
