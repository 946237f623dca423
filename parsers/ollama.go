package parsers

import (
	"slices"
	"strings"
)

// What Ollama says: client texts, and the logfmt lines of its server. What
// its runner prints is llama.cpp's and ggml's.
const (
	// OllamaSystem is the check before loading: the part of the model that is
	// not planned for a card does not fit RAM and swap (0.2.2 and later).
	OllamaSystem Kind = "ollama_system"
	// OllamaLayout is the planner of 0.7.1 to 0.24 giving up.
	OllamaLayout Kind = "ollama_layout"
	// OllamaGuess is the text of 0.1.4 to 0.1.17 for any crash of the runner.
	OllamaGuess Kind = "ollama_guess"
	// OllamaKilled is a runner that got SIGKILL: as a rule the kernel's doing.
	OllamaKilled Kind = "ollama_killed"
	// OllamaDriver is driver code 2, cudaErrorMemoryAllocation: not even a
	// context could be made (0.1.48 to 0.11).
	OllamaDriver Kind = "ollama_driver"
	// OllamaRunner only reports how the runner ended.
	OllamaRunner Kind = "ollama_runner"
)

var ollama = Parser{
	Name:     "ollama",
	Keywords: literals(ollamaFailures),
	Context:  literals(ollamaLines),
	Explains: map[Kind]int{OllamaSystem: 4, OllamaLayout: 1, OllamaGuess: 1, OllamaKilled: 1, OllamaDriver: 3},
	Parse: func(l *Log, hits []Hit, f *Facts) {
		parseWordings(slices.Concat(ollamaFailures, ollamaLines), l, hits, f)
	},
}

// ollamaProofs: its own lines, its store of models, and the folders in which
// it builds ggml. A GGUF named after it proves nothing.
var ollamaProofs = proofsOf("ollama",
	"source=server.go", "source=sched.go", "source=runner.go", "source=ggml.go", "source=routes.go", "source=gpu.go", "source=device.go",
	"llama runner process", "llama runner exited", "failed to get device context 2", "llama-server reported out-of-memory", "llama-server process has terminated",
	"an unknown error was encountered while running the model", "gpu VRAM usage didn't recover", "memory.required.", "KvSize:",
	"/ollama/llm/", `\ollama\llm\`, `\ollama\ollama\`, "/ollama/ollama/", "/ollama/ml/", `\ollama\ml\`, "/jmorganca/ollama", "ml/backend/ggml/ggml/src",
	"registry.ollama.ai", ".ollama/models/", `.ollama\models\`, "blobs/sha256-", `blobs\sha256-`, "ollama._types.", "Ollama call failed",
)

// llamaProofs: lines of the loader and the server.
var llamaProofs = proofsOf("llama.cpp", "llama_model_loader:", "load_tensors:", "node-llama-cpp", "srv    load_model", "prompt_save:", "updating prompt cache")

// lmStudioProofs: its log's tags and its program folder. Models under
// .lmstudio prove nothing: llama.cpp loads them too.
var lmStudioProofs = proofsOf("lm-studio", "[LMSInternal]", "[LM STUDIO SERVER]", `LM Studio\resources`, "LM Studio.app/Contents", "🥲 Failed to load")

// bindingProofs say in which language settings are written.
var bindingProofs = []proof{
	{word: "node-llama-cpp", program: "node-llama-cpp", weight: 1}, {word: "InsufficientMemoryError: A context size", program: "node-llama-cpp", weight: 1},
	{word: "Failed to create llama_context", program: "llama-cpp-python", weight: 1}, {word: "llama_cpp.server", program: "llama-cpp-python", weight: 1},
	{word: "llama_cpp/llama.py", program: "llama-cpp-python", weight: 1}, {word: `llama_cpp\llama.py`, program: "llama-cpp-python", weight: 1}, {word: "for LlamaCpp", program: "llama-cpp-python", weight: 1},
}

var ollamaFailures = []wording{
	{"requires more system memory", systemMemory},
	{"model is too large for system memory", systemMemory},
	{"model request too large for system", systemMemory},
	{"memory layout cannot be allocated", ollamaFails(Failure{Kind: OllamaLayout, Phase: "load"})},
	{"failed to commit memory for model", ollamaFails(Failure{Kind: OllamaLayout, Phase: "load"})},
	{"insufficient memory - required allocations", ollamaFails(Failure{Kind: OllamaLayout, Phase: "load"})},
	{"llama runner exited, you may not have enough", ollamaFails(Failure{Kind: OllamaGuess, Phase: "load"})},
	{"failed to get device context 2", ollamaFails(Failure{Kind: OllamaDriver, Backend: "cuda"})},
	{"llama runner process has terminated", runnerEnded},
	{"llama runner process no longer running", runnerEnded},
	{"an unknown error was encountered while running the model", runnerEnded},
	{"llama-server process has terminated", runnerEnded},
	{"llama-server reported out-of-memory", runnerEnded},
	{"runtime OOM detected", runnerEnded},
}

var ollamaLines = []wording{
	{"msg=offload", offloadPlan}, {`msg="offload to`, offloadPlan},
	{"KvSize:", loadRequest}, {"runner.num_ctx=", runnerState}, {"runner.name=", runnerState},
	{`msg="model weights"`, engineBuffer}, {`msg="kv cache"`, engineBuffer}, {`msg="compute graph"`, engineBuffer},
	{`msg="system memory"`, systemFree}, {`msg="gpu memory"`, gpuMemory}, {`msg="inference compute"`, gpuMemory},
	{"gpu VRAM usage didn't recover", notRecovered}, {"ollama run ", ollamaRun},
	{"OLLAMA_NUM_PARALLEL:", ollamaEnvironment}, {"OLLAMA_FLASH_ATTENTION:", ollamaEnvironment}, {"OLLAMA_CONTEXT_LENGTH:", ollamaEnvironment},
}

var (
	ollamaNeeds      = pattern(`requiresmoresystemmemory\((?<need>SIZE)\)thanisavailable\((?<have>SIZE)\)`)
	ollamaRequested  = pattern(`requested="?(?<need>SIZE)"?.{0,60}?available="?(?<have>SIZE)`)
	ollamaSystemLine = pattern(`total="(?<total>SIZE)"free="(?<free>SIZE)"(?:free_swap="(?<swap>SIZE)")?`)
	ollamaOffload    = pattern(`layers\.model=(?<model>\d{1,4})layers\.offload=(?<offload>\d{1,4})`)
	ollamaAvailable  = pattern(`memory\.available="\[(?<size>SIZE)`)
	ollamaPartial    = pattern(`memory\.required\.allocations="\[(?<size>SIZE)\]`)
	ollamaPlannedKV  = pattern(`memory\.required\.kv="(?<size>SIZE)"`)
	ollamaGraph      = pattern(`memory\.graph\.full="(?<size>SIZE)"`)
	ollamaGraphPart  = pattern(`memory\.graph\.partial="(?<size>SIZE)"`)
	ollamaRepeating  = pattern(`memory\.weights\.repeating="(?<size>SIZE)"`)
	ollamaRequestKV  = pattern(`kvsize:(?<context>\d{1,9})`)
	ollamaGPULayers  = pattern(`gpulayers:(?<layers>\d{1,4})\[`)
	ollamaContext    = pattern(`runner\.num_ctx=(?<context>\d{1,9})`)
	ollamaName       = pattern(`runner\.name=(?:registry\.ollama\.ai/)?(?:library/)?(?<name>[\w./:-]{2,80}?)runner\.`)
	ollamaBuffer     = pattern(`msg="(?<kind>modelweights|kvcache|computegraph)"(?:device|buffer|backend)=(?<device>\w{2,24}?)size="(?<size>SIZE)"`)
	ollamaGPU        = pattern(`(?:total="(?<total>SIZE)")?available="(?<free>SIZE)"`)
	ollamaGPUName    = pattern(`name="?(?<name>[^"=]{2,60})"?(?:total|description)`)
	ollamaEnv        = pattern(`(?<name>ollama_num_parallel|ollama_flash_attention|ollama_context_length):(?<value>\w{1,9}?)(?:ollama_|\]|$)`)
)

func ollamaFails(x Failure) func(message) int {
	x.Framework = "ollama"
	return fails(x)
}

// systemMemory: available is free RAM and free swap, or a container's limit.
// Both figures are rounded, so that they can be equal.
func systemMemory(o message) int {
	x := Failure{Kind: OllamaSystem, Framework: "ollama", Backend: "cpu", Phase: "startup_check"}
	m := o.find(ollamaNeeds, 120)
	if !m.Ok() {
		m = o.find(ollamaRequested, 240)
	}
	x.Figures.SystemRequired, x.Figures.SystemAvailable = m.Size("need"), m.Size("have")
	return o.fail(x, o.took(m))
}

// runnerEnded only reports the runner's end, but for one reason that no other
// line gives: the kernel's SIGKILL.
func runnerEnded(o message) int {
	switch {
	case o.follows("signal:killed", 110):
		return o.fail(Failure{Kind: OllamaKilled, Framework: "ollama", Backend: killedOn(o.f), Phase: "load"}, o.end)
	case o.follows("outofmemory", 220), o.follows("unabletoallocate", 220), o.follows("failedtoallocate", 220), o.follows("out-of-memory", 220):
		x := Failure{Kind: OllamaRunner, Framework: "ollama", Phase: "load", Wrapper: true}
		if o.follows("anunknownerror", 20) || o.follows("runtimeoom", 20) {
			x.Phase = ""
		}
		o.fail(x, o.end)
	}
	return o.end
}

// killedOn: the card of the load lines, where they name one.
func killedOn(f *Facts) string {
	for _, b := range f.Buffers {
		if backend := backendOfBuffer(b.Device); backend != "cpu" {
			return backend
		}
	}
	return ""
}

// offloadPlan reads the plan of 0.1.32 to 0.12: estimates, not what the runner
// then allocates.
func offloadPlan(o message) int {
	from, to := o.at, o.l.ValueEnd(o.at)
	if m := o.l.Find(ollamaOffload, from, to); m.Ok() {
		o.count("total_layers", m.Count("model"))
		o.count("gpu_layers", m.Count("offload"))
	}
	for name, p := range map[string]*Pattern{
		"plan_available": ollamaAvailable, "plan_repeating": ollamaRepeating, "plan_partial": ollamaPartial, "plan_kv": ollamaPlannedKV, "plan_graph": ollamaGraph, "plan_graph_partial": ollamaGraphPart,
	} {
		if m := o.l.Find(p, from, to); m.Ok() {
			o.fact(name, m.Size("size"))
		}
	}
	return o.end
}

// loadRequest reads what the new engine (0.11.5 to 0.24) asks its runner for.
func loadRequest(o message) int {
	if m := o.find(ollamaRequestKV, 24); m.Ok() {
		o.count("n_ctx", m.Count("context"))
	}
	if m := o.find(ollamaGPULayers, 160); m.Ok() {
		o.count("gpu_layers", m.Count("layers"))
	}
	return o.end
}

func runnerState(o message) int {
	if m := o.find(ollamaContext, min(30, o.l.ValueEnd(o.at)-o.at)); m.Ok() {
		o.count("n_ctx", m.Count("context"))
	}
	if m := o.find(ollamaName, 120); m.Ok() {
		o.f.Models = append(o.f.Models, ModelMention{Name: m.Text("name"), Line: o.l.Line(o.at), Weight: 3})
	}
	return o.end
}

func engineBuffer(o message) int {
	m := o.find(ollamaBuffer, 90)
	if !m.Ok() || m.Size("size") == nil {
		return o.end
	}
	kind := map[string]string{"modelweights": "weights", "kvcache": "kv", "computegraph": "compute"}[m.Lower("kind")]
	o.f.Buffers = append(o.f.Buffers, Buffer{Device: m.Text("device"), Kind: kind, Size: *m.Size("size")})
	return o.end
}

func systemFree(o message) int {
	if m := o.find(ollamaSystemLine, 110); m.Ok() {
		o.fact("ram_total", m.Size("total"))
		o.fact("ram_free", m.Size("free"))
	}
	return o.end
}

func gpuMemory(o message) int {
	from, to := o.l.LineSpan(o.at)
	m := o.l.Find(ollamaGPU, from, to)
	if !m.Ok() {
		return o.end
	}
	d := Device{Index: -1, Total: m.Size("total"), Free: m.Size("free"), Line: o.l.Line(o.at)}
	if n := o.l.Find(ollamaGPUName, from, to); n.Ok() {
		d.Name = n.Text("name")
	}
	o.f.Devices = append(o.f.Devices, d)
	return o.end
}

func notRecovered(o message) int {
	o.f.Signals = append(o.f.Signals, Signal{ID: "vram_not_recovered", Line: o.l.Line(o.at), Text: o.l.LineText(o.at)})
	return o.end
}

// ollamaRun reads the model of a command line.
func ollamaRun(o message) int {
	_, rest, _ := strings.Cut(o.l.LineText(o.at), "ollama run ")
	for _, word := range strings.Fields(rest) {
		if !strings.HasPrefix(word, "-") {
			name := strings.Trim(word, "\"'`")
			o.f.Models = append(o.f.Models, ModelMention{Name: name, Line: o.l.Line(o.at), Weight: 3})
			o.f.Programs = append(o.f.Programs, Program{Name: "ollama", Line: o.l.Line(o.at), Weight: 2})
			break
		}
	}
	return o.end
}

func ollamaEnvironment(o message) int {
	if m := o.find(ollamaEnv, 60); m.Ok() && m.Lower("value") != "" {
		o.f.Settings = append(o.f.Settings, Setting{Name: m.Lower("name"), Value: m.Lower("value"), Line: o.l.Line(o.at), Flag: strings.ToUpper(m.Lower("name"))})
	}
	return o.end
}
