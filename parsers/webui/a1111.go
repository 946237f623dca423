package webui

import (
	"cmp"
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// A1111 reads AUTOMATIC1111 and Forge.
var A1111 = parser("a1111", map[fact.Kind]int{fact.ForgeLoad: 4},
	[]text.Wording{text.On("[Memory Management] Target:", readForgePlan)},
	[]text.Wording{
		text.On("[Memory Management] Required Model Memory:", readForgeWeights), text.On("[Memory Management] Model Memory (MB) =", readForgeWeights),
	},
)

// A1111Proofs: AUTOMATIC1111's own modules and lines, its forks, and Forge. The
// reports know one name for them; what differs between them hangs on "forge"
// and "sdnext" in the stack.
var A1111Proofs = slices.Concat(
	anySlash(text.ProofsOf("a1111",
		"modules/call_queue.py", "modules/processing.py", "modules/txt2img.py", "modules/img2img.py", "modules/sd_models.py", "modules/sd_hijack")),
	text.ProofsOf("a1111", "Error completing request", "Launching Web UI with arguments:", "Torch active/reserved:"),
	text.ProofsOf("forge", forgeLines...), text.ProofsOf("a1111", forgeLines...), text.ProofsOf("forge", "stable-diffusion-webui-forge"),
	[]text.Proof{
		{Word: "stable-diffusion-webui", Program: "a1111", Weight: 2, Beside: []string{
			"/modules/", `\modules\`, "/webui.py", `\webui.py`, "/launch.py", `\launch.py`, "/models/", `\models\`, "/extensions", `\extensions`,
			"-forge", "/venv/", `\venv\`, "/repositories", `\repositories`, "/backend/", `\backend\`}},
		{Word: "webui.py --", Program: "a1111", Weight: 2, Beside: []string{"--medvram", "--lowvram", "--xformers", "--opt-", "--no-half", "--ckpt"}},
		{Word: "cross attention optimization", Program: "a1111", Weight: 1}, {Word: "DiffusionWrapper has", Program: "a1111", Weight: 1},
		{Word: "Begin to load", Program: "forge", Weight: 1}, {Word: "oom:", Program: "sdnext", Weight: 1, Beside: []string{"}"}},
	},
)

var forgeLines = []string{"[Memory Management]", "[GPU Setting] You will use", "Moving model(s) has taken"}

var (
	forgePlan    = text.NewPattern(`\[memorymanagement\]target:[a-z0-9_]{1,60},freegpu:(?<free>NUMmb),modelrequire:(?<weights>NUMmb),(?:previouslyloaded:NUMmb,)?inferencerequire:NUMmb,remaining:NUMmb,(?<error>cudaerror:outofmemory|hiperror:outofmemory|[a-z.]{0,30}outofmemory)?`)
	forgeWeights = text.NewPattern(`requiredmodelmemory:(?<weights>NUMmb)|modelmemory\(mb\)=(?<mb>NUM)`)
)

func readForgeWeights(m text.Message) int {
	k := m.Find(forgeWeights, 80)
	m.Fact("weights", cmp.Or(k.Size("weights"), k.SizeIn("mb", "mb")))
	return m.End
}

// readForgePlan reads what Forge is about to load. "Remaining" below zero is
// normal, part of the model goes to swap; an error glued on is not.
func readForgePlan(m text.Message) int {
	k := m.Find(forgePlan, 400)
	m.Fact("weights", k.Size("weights"))
	if k.Lower("error") != "" {
		from, to := k.Span()
		x := fact.Failure{Kind: fact.ForgeLoad, Framework: "a1111", Backend: "cuda", Phase: "load", Stage: "weights"}
		x.Figures.Free = k.Size("free")
		text.Fail(m.Facts, m.Log, from, to, x)
	}
	return m.End
}
