package ggml

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Ollama reads the server of Ollama.
var Ollama = text.NewParser("ollama", map[fact.Kind]int{
	fact.OllamaSystem: 4, fact.OllamaLayout: 1, fact.OllamaGuess: 1, fact.OllamaKilled: 1, fact.OllamaDriver: 3,
}, ollamaFailures, ollamaLines)

var ollamaFailures = []text.Wording{
	text.On("requires more system memory", systemMemory), text.On("requested model (", text.When(systemMemory, func(m text.Message) bool { return m.Follows("istoolargeforthissystem", 80) })), // server/sched.go, 0.3 to 0.5
	text.On("model is too large for system memory", systemMemory), text.On("model request too large for system", systemMemory),
	text.On("memory layout cannot be allocated", text.Fails(ollamaLayout)),
	text.On("failed to commit memory for model", text.Fails(ollamaLayout)), text.On("insufficient memory - required allocations", text.Fails(ollamaLayout)),
	text.On("llama runner exited, you may not have enough", text.Fails(fact.Failure{Kind: fact.OllamaGuess, Framework: "ollama", Phase: "load"})),
	text.On("failed to get device context 2", text.Fails(fact.Failure{Kind: fact.OllamaDriver, Framework: "ollama", Backend: "cuda"})),
	text.On("llama runner process has terminated", runnerEnded), text.On("llama runner process no longer running", runnerEnded),
	text.On("llama-server process has terminated", runnerEnded), text.On("llama-server reported out-of-memory", runnerEnded),
	text.On("an unknown error was encountered while running the model", runnerEnded), text.On("runtime OOM detected", runnerEnded),
}

var ollamaLines = []text.Wording{
	text.On("msg=offload", offloadPlan), text.On(`msg="offload to`, offloadPlan), text.On("layers.offload=", offloadPlan),
	text.On("KvSize:", loadRequest), text.On("runner.num_ctx=", runnerState), text.On("runner.name=", runnerState),
	text.On(`msg="model weights"`, engineBuffer), text.On(`msg="kv cache"`, engineBuffer), text.On(`msg="compute graph"`, engineBuffer),
	text.On(`msg="gpu memory"`, gpuMemory), text.On(`msg="system memory"`, text.States(0, 120, ollamaSystemRAM)), text.On(`msg="inference compute"`, gpuMemory),
	text.On("gpu VRAM usage didn't recover", text.Signals("vram_not_recovered")), text.On("ollama run ", ollamaRun),
	text.On("(version 0.", text.SaysVersion("ollama_version", ollamaRelease)), text.On("ollama version is ", text.SaysVersion("ollama_version", ollamaRelease)), // "Listening on [::]:11434 (version 0.5.7)"
}

var (
	ollamaNeeds     = text.NewPattern(`(?:requiresmoresystemmemory|requestedmodel)\((?<need>SIZE)\)(?:thanisavailable|istoolargeforthissystem)\((?<have>SIZE)\)`)
	ollamaRequested = text.NewPattern(`requested="?(?<need>SIZE)"?.{0,60}?available="?(?<have>SIZE)`)
	ollamaSystemRAM = text.NewPattern(`total="?(?<ram_total>SIZE)"?free="?(?<ram_free>SIZE)(?:"?(?:free_)?swap="?(?<swap_free>SIZE))?`)
	ollamaRequestKV = text.NewPattern(`kvsize:(?<n_ctx>\d{1,9})`)
	ollamaGPULayers = text.NewPattern(`gpulayers:(?<gpu_layers>\d{1,4})\[`)
	ollamaContext   = text.NewPattern(`runner\.num_ctx=(?<n_ctx>\d{1,9})`)
	ollamaName      = text.NewPattern(`runner\.name=(?:registry\.ollama\.ai/)?(?:library/)?(?<name>[\w./:-]{2,80}?)runner\.`)
	ollamaBuffer    = text.NewPattern(`msg="(?<kind>modelweights|kvcache|computegraph)"(?:device|buffer|backend)=(?<memory>\w{2,24}?)size="(?<size>SIZE)"`)
	ollamaGPU       = text.NewPattern(`(?:total="(?<total>SIZE)")?available="(?<free>SIZE)"`)
	ollamaRelease   = text.NewPattern(`version(?:is)?(?<version>0\.\d{1,2}\.\d{1,3})`)
	ollamaGPUName   = text.NewPattern(`name="?(?<name>[^"=]{2,60})"?(?:total|description)`)
)

// The plan of 0.1.32 to 0.12: estimates, not what the runner then allocates.
var ollamaPlan = [...]*text.Pattern{
	text.NewPattern(`layers\.(?:model=(?<total_layers>\d{1,4})layers\.)?offload=(?<gpu_layers>\d{1,4})`),
	text.NewPattern(`memory\.available="\[(?<plan_available>SIZE)`),
	text.NewPattern(`memory\.required\.allocations="\[(?<plan_partial>SIZE)\]`),
	text.NewPattern(`memory\.required\.full="(?<plan_full>SIZE)"`),
	text.NewPattern(`memory\.required\.kv="(?<plan_kv>SIZE)"`),
	text.NewPattern(`memory\.weights\.total="(?<plan_weights>SIZE)"`),
	text.NewPattern(`memory\.graph\.full="(?<plan_graph>SIZE)"`),
	text.NewPattern(`memory\.graph\.partial="(?<plan_graph_partial>SIZE)"`),
}

var ollamaLayout = fact.Failure{Kind: fact.OllamaLayout, Framework: "ollama", Phase: "load"}

// systemMemory: available is free RAM and free swap, or a container's limit.
// Both figures are rounded, so that they can be equal.
func systemMemory(o text.Message) int {
	x := fact.Failure{Kind: fact.OllamaSystem, Framework: "ollama", Backend: "cpu", Phase: "startup_check"}
	m := o.Find(ollamaNeeds, 120)
	if !m.Ok() {
		m = o.Find(ollamaRequested, 240)
		o.Find(ollamaSystemRAM, 240).States(o.Facts, nil)
	}
	x.Figures.SystemRequired, x.Figures.SystemAvailable = m.Size("need"), m.Size("have")
	return o.Fail(x, o.Took(m))
}

// runnerEnded only reports the runner's end, but for one reason that no other
// line gives: the kernel's SIGKILL.
func runnerEnded(o text.Message) int {
	switch {
	case o.Follows("signal:killed", 110):
		return o.Fail(fact.Failure{Kind: fact.OllamaKilled, Framework: "ollama", Backend: killedOn(o.Facts), Phase: "load"}, o.End)
	case o.Follows("outofmemory", 220), o.Follows("unabletoallocate", 220), o.Follows("failedtoallocate", 220), o.Follows("out-of-memory", 220):
		x := fact.Failure{Kind: fact.OllamaRunner, Framework: "ollama", Phase: "load", Wrapper: true}
		if o.Follows("anunknownerror", 20) || o.Follows("runtimeoom", 20) {
			x.Phase = ""
		}
		o.Fail(x, o.End)
	}
	return o.End
}

// killedOn: the card of the load lines, where they name one.
func killedOn(f *fact.Facts) string {
	for _, b := range f.Buffers {
		if backend := BackendOfBuffer(b.Device); backend != "cpu" {
			return backend
		}
	}
	return ""
}

func offloadPlan(o text.Message) int {
	to := o.Until(o.Log.ValueEnd(o.At))
	for _, p := range ollamaPlan {
		o.Log.Find(p, o.At, to).States(o.Facts, nil)
	}
	return o.End
}

// loadRequest reads what the new engine (0.11.5 to 0.24) asks its runner for.
func loadRequest(o text.Message) int {
	o.Find(ollamaRequestKV, 24).States(o.Facts, nil)
	o.Find(ollamaGPULayers, 160).States(o.Facts, nil)
	return o.End
}

func runnerState(o text.Message) int {
	o.Find(ollamaContext, min(30, o.Log.ValueEnd(o.At)-o.At)).States(o.Facts, nil)
	if m := o.Find(ollamaName, 120); m.Ok() {
		o.Facts.Models = append(o.Facts.Models, fact.ModelMention{Name: m.Text("name"), Line: o.Log.Line(o.At), Weight: 3})
	}
	return o.End
}

func engineBuffer(o text.Message) int {
	addBuffer(o.Facts, o.Find(ollamaBuffer, 90))
	return o.End
}

func gpuMemory(o text.Message) int {
	from, to := o.Log.LineSpan(o.At)
	to = o.Until(to)
	m := o.Log.Find(ollamaGPU, from, to)
	if !m.Ok() {
		return o.End
	}
	o.Facts.Devices = append(o.Facts.Devices, fact.Device{
		Index: -1, Name: o.Log.Find(ollamaGPUName, from, to).Text("name"), Total: m.Size("total"), Free: m.Size("free"), Line: o.Log.Line(o.At),
	})
	return o.End
}

// ollamaRun reads the model of a command line.
func ollamaRun(o text.Message) int {
	_, rest, _ := strings.Cut(o.Log.LineText(o.At), "ollama run ")
	words := strings.Fields(rest)
	if i := slices.IndexFunc(words, func(word string) bool { return !strings.HasPrefix(word, "-") }); i >= 0 && !strings.Contains(" in on at it is to and or but for from with works command ", " "+words[i]+" ") {
		name := strings.Trim(words[i], "\"'`")
		o.Facts.Models = append(o.Facts.Models, fact.ModelMention{Name: name, Line: o.Log.Line(o.At), Weight: 3})
		o.Facts.Programs = append(o.Facts.Programs, fact.Program{Name: "ollama", Line: o.Log.Line(o.At), Weight: 2})
	}
	return o.End
}
