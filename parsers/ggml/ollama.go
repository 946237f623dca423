package ggml

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Ollama reads the server of Ollama.
var Ollama = text.Parser{
	Name:     "ollama",
	Keywords: text.Literals(ollamaFailures),
	Context:  text.Literals(ollamaLines),
	Explains: map[fact.Kind]int{fact.OllamaSystem: 4, fact.OllamaLayout: 1, fact.OllamaGuess: 1, fact.OllamaKilled: 1, fact.OllamaDriver: 3},
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		text.ParseWordings(slices.Concat(ollamaFailures, ollamaLines), l, hits, f)
	},
}

var ollamaFailures = []text.Wording{
	text.On("requires more system memory", systemMemory),
	text.On("model is too large for system memory", systemMemory),
	text.On("model request too large for system", systemMemory),
	text.On("memory layout cannot be allocated", ollamaFails(fact.Failure{Kind: fact.OllamaLayout, Phase: "load"})),
	text.On("failed to commit memory for model", ollamaFails(fact.Failure{Kind: fact.OllamaLayout, Phase: "load"})),
	text.On("insufficient memory - required allocations", ollamaFails(fact.Failure{Kind: fact.OllamaLayout, Phase: "load"})),
	text.On("llama runner exited, you may not have enough", ollamaFails(fact.Failure{Kind: fact.OllamaGuess, Phase: "load"})),
	text.On("failed to get device context 2", ollamaFails(fact.Failure{Kind: fact.OllamaDriver, Backend: "cuda"})),
	text.On("llama runner process has terminated", runnerEnded),
	text.On("llama runner process no longer running", runnerEnded),
	text.On("an unknown error was encountered while running the model", runnerEnded),
	text.On("llama-server process has terminated", runnerEnded),
	text.On("llama-server reported out-of-memory", runnerEnded),
	text.On("runtime OOM detected", runnerEnded),
}

var ollamaLines = []text.Wording{
	text.On("msg=offload", offloadPlan), text.On(`msg="offload to`, offloadPlan),
	text.On("KvSize:", loadRequest), text.On("runner.num_ctx=", runnerState), text.On("runner.name=", runnerState),
	text.On(`msg="model weights"`, engineBuffer), text.On(`msg="kv cache"`, engineBuffer), text.On(`msg="compute graph"`, engineBuffer),
	text.On(`msg="system memory"`, systemFree), text.On(`msg="gpu memory"`, gpuMemory), text.On(`msg="inference compute"`, gpuMemory),
	text.On("gpu VRAM usage didn't recover", notRecovered), text.On("ollama run ", ollamaRun),
	text.On("OLLAMA_NUM_PARALLEL:", ollamaEnvironment), text.On("OLLAMA_FLASH_ATTENTION:", ollamaEnvironment), text.On("OLLAMA_CONTEXT_LENGTH:", ollamaEnvironment),
}

var (
	ollamaNeeds      = text.NewPattern(`requiresmoresystemmemory\((?<need>SIZE)\)thanisavailable\((?<have>SIZE)\)`)
	ollamaRequested  = text.NewPattern(`requested="?(?<need>SIZE)"?.{0,60}?available="?(?<have>SIZE)`)
	ollamaSystemLine = text.NewPattern(`total="(?<total>SIZE)"free="(?<free>SIZE)"(?:free_swap="(?<swap>SIZE)")?`)
	ollamaOffload    = text.NewPattern(`layers\.model=(?<model>\d{1,4})layers\.offload=(?<offload>\d{1,4})`)
	ollamaAvailable  = text.NewPattern(`memory\.available="\[(?<size>SIZE)`)
	ollamaPartial    = text.NewPattern(`memory\.required\.allocations="\[(?<size>SIZE)\]`)
	ollamaPlannedKV  = text.NewPattern(`memory\.required\.kv="(?<size>SIZE)"`)
	ollamaGraph      = text.NewPattern(`memory\.graph\.full="(?<size>SIZE)"`)
	ollamaGraphPart  = text.NewPattern(`memory\.graph\.partial="(?<size>SIZE)"`)
	ollamaRepeating  = text.NewPattern(`memory\.weights\.repeating="(?<size>SIZE)"`)
	ollamaRequestKV  = text.NewPattern(`kvsize:(?<context>\d{1,9})`)
	ollamaGPULayers  = text.NewPattern(`gpulayers:(?<layers>\d{1,4})\[`)
	ollamaContext    = text.NewPattern(`runner\.num_ctx=(?<context>\d{1,9})`)
	ollamaName       = text.NewPattern(`runner\.name=(?:registry\.ollama\.ai/)?(?:library/)?(?<name>[\w./:-]{2,80}?)runner\.`)
	ollamaBuffer     = text.NewPattern(`msg="(?<kind>modelweights|kvcache|computegraph)"(?:device|buffer|backend)=(?<device>\w{2,24}?)size="(?<size>SIZE)"`)
	ollamaGPU        = text.NewPattern(`(?:total="(?<total>SIZE)")?available="(?<free>SIZE)"`)
	ollamaGPUName    = text.NewPattern(`name="?(?<name>[^"=]{2,60})"?(?:total|description)`)
	ollamaEnv        = text.NewPattern(`(?<name>ollama_num_parallel|ollama_flash_attention|ollama_context_length):(?<value>\w{1,9}?)(?:ollama_|\]|$)`)
)

func ollamaFails(x fact.Failure) func(text.Message) int {
	x.Framework = "ollama"
	return text.Fails(x)
}

// systemMemory: available is free RAM and free swap, or a container's limit.
// Both figures are rounded, so that they can be equal.
func systemMemory(o text.Message) int {
	x := fact.Failure{Kind: fact.OllamaSystem, Framework: "ollama", Backend: "cpu", Phase: "startup_check"}
	m := o.Find(ollamaNeeds, 120)
	if !m.Ok() {
		m = o.Find(ollamaRequested, 240)
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

// offloadPlan reads the plan of 0.1.32 to 0.12: estimates, not what the runner
// then allocates.
func offloadPlan(o text.Message) int {
	from, to := o.At, o.Log.ValueEnd(o.At)
	if m := o.Log.Find(ollamaOffload, from, to); m.Ok() {
		o.Count("total_layers", m.Count("model"))
		o.Count("gpu_layers", m.Count("offload"))
	}
	for name, p := range map[string]*text.Pattern{
		"plan_available": ollamaAvailable, "plan_repeating": ollamaRepeating, "plan_partial": ollamaPartial, "plan_kv": ollamaPlannedKV, "plan_graph": ollamaGraph, "plan_graph_partial": ollamaGraphPart,
	} {
		if m := o.Log.Find(p, from, to); m.Ok() {
			o.Fact(name, m.Size("size"))
		}
	}
	return o.End
}

// loadRequest reads what the new engine (0.11.5 to 0.24) asks its runner for.
func loadRequest(o text.Message) int {
	if m := o.Find(ollamaRequestKV, 24); m.Ok() {
		o.Count("n_ctx", m.Count("context"))
	}
	if m := o.Find(ollamaGPULayers, 160); m.Ok() {
		o.Count("gpu_layers", m.Count("layers"))
	}
	return o.End
}

func runnerState(o text.Message) int {
	if m := o.Find(ollamaContext, min(30, o.Log.ValueEnd(o.At)-o.At)); m.Ok() {
		o.Count("n_ctx", m.Count("context"))
	}
	if m := o.Find(ollamaName, 120); m.Ok() {
		o.Facts.Models = append(o.Facts.Models, fact.ModelMention{Name: m.Text("name"), Line: o.Log.Line(o.At), Weight: 3})
	}
	return o.End
}

func engineBuffer(o text.Message) int {
	m := o.Find(ollamaBuffer, 90)
	if !m.Ok() || m.Size("size") == nil {
		return o.End
	}
	kind := map[string]string{"modelweights": "weights", "kvcache": "kv", "computegraph": "compute"}[m.Lower("kind")]
	o.Facts.Buffers = append(o.Facts.Buffers, fact.Buffer{Device: m.Text("device"), Kind: kind, Size: *m.Size("size")})
	return o.End
}

func systemFree(o text.Message) int {
	if m := o.Find(ollamaSystemLine, 110); m.Ok() {
		o.Fact("ram_total", m.Size("total"))
		o.Fact("ram_free", m.Size("free"))
	}
	return o.End
}

func gpuMemory(o text.Message) int {
	from, to := o.Log.LineSpan(o.At)
	m := o.Log.Find(ollamaGPU, from, to)
	if !m.Ok() {
		return o.End
	}
	d := fact.Device{Index: -1, Total: m.Size("total"), Free: m.Size("free"), Line: o.Log.Line(o.At)}
	if n := o.Log.Find(ollamaGPUName, from, to); n.Ok() {
		d.Name = n.Text("name")
	}
	o.Facts.Devices = append(o.Facts.Devices, d)
	return o.End
}

func notRecovered(o text.Message) int {
	o.Facts.Signals = append(o.Facts.Signals, fact.Signal{ID: "vram_not_recovered", Line: o.Log.Line(o.At), Text: o.Log.LineText(o.At)})
	return o.End
}

// ollamaRun reads the model of a command line.
func ollamaRun(o text.Message) int {
	_, rest, _ := strings.Cut(o.Log.LineText(o.At), "ollama run ")
	for _, word := range strings.Fields(rest) {
		if !strings.HasPrefix(word, "-") {
			name := strings.Trim(word, "\"'`")
			o.Facts.Models = append(o.Facts.Models, fact.ModelMention{Name: name, Line: o.Log.Line(o.At), Weight: 3})
			o.Facts.Programs = append(o.Facts.Programs, fact.Program{Name: "ollama", Line: o.Log.Line(o.At), Weight: 2})
			break
		}
	}
	return o.End
}

func ollamaEnvironment(o text.Message) int {
	if m := o.Find(ollamaEnv, 60); m.Ok() && m.Lower("value") != "" {
		o.Facts.Settings = append(o.Facts.Settings, fact.Setting{Name: m.Lower("name"), Value: m.Lower("value"), Line: o.Log.Line(o.At), Flag: strings.ToUpper(m.Lower("name"))})
	}
	return o.End
}
