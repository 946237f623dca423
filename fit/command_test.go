package fit

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// typed is what a printed command asks for, with the defaults of the program
// for what it does not say.
type typed struct {
	Setting
	layers int
	share  float64 // of the card, vLLM's
}

// parseCommand reads a printed command as the program would.
func parseCommand(t *testing.T, command string) typed {
	t.Helper()
	x := typed{layers: -1, share: 1, Setting: Setting{KVType: "f16", Parallel: 4}}
	command = strings.ReplaceAll(strings.ReplaceAll(command, "\n/set parameter ", " --"), " serve &\nollama run", " serve-and-run")
	words := strings.Fields(command)
	unified, explicit := true, false
	for i := 0; i < len(words); i++ {
		word := words[i]
		if name, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "OLLAMA_") {
			words = append(words[:i+1], append([]string{name, value}, words[i+1:]...)...)
			continue
		}
		value := func() string { i++; return words[i] }
		number := func() int { n, err := strconv.Atoi(value()); require.NoError(t, err, command); return n }
		switch word {
		case "llama-server", "vllm", "ollama":
			x.Engine = map[string]string{"llama-server": "llama.cpp"}[word]
			if x.Engine == "" {
				x.Engine = word
			}
			if word == "ollama" || word == "vllm" {
				x.Parallel = max(1, x.Parallel)
			}
		case "python", "-m", "main.py", "serve", "run", "…", "api_server", "serve-and-run", "lmdeploy", "sglang.launch_server":
			switch word {
			case "lmdeploy":
				x.Engine = word
			case "sglang.launch_server":
				x.Engine = "sglang"
			case "main.py":
				x.Engine = "exllama"
			}
		case "--model-name", "--model-path", "-md", "--mmproj", "-ngld":
			value()
		case "-ngl", "--num_gpu":
			x.layers = number()
		case "num_gpu":
			x.layers = number()
		case "--n-cpu-moe":
			x.CPUExperts = number()
		case "-c", "--max-model-len", "--context-length", "--session-len", "--num_ctx", "--max-seq-len":
			x.Context = number()
		case "--cache-size":
			x.Parallel = number() / x.Context
		case "-np", "--max-num-seqs", "--max-running-requests", "--max-batch-size", "OLLAMA_NUM_PARALLEL":
			x.Parallel, explicit = number(), true
		case "-kvu":
			explicit = false
		case "-fa":
			x.NoFlashAttention = value() == "off"
		case "OLLAMA_FLASH_ATTENTION":
			x.NoFlashAttention = value() == "0"
		case "-ctk", "-ctv", "--kv-cache-dtype", "OLLAMA_KV_CACHE_TYPE":
			x.KVType = value()
		case "--cache-mode":
			x.KVType = map[string]string{"Q8": "q8_0", "Q4": "q4_0"}[value()]
		case "--quant-policy":
			x.KVType = map[string]string{"8": "int8", "4": "int4"}[value()]
		case "-b":
			x.Batch = number()
		case "-ub", "--num_batch":
			x.UBatch = number()
		case "--swa-full":
			x.FullWindow = true
		case "--tensor-parallel-size", "--tp":
			x.Cards = number()
		case "--gpu-memory-utilization", "--mem-fraction-static", "--cache-max-entry-count":
			f, err := strconv.ParseFloat(value(), 64)
			require.NoError(t, err)
			x.share = f
		default:
			t.Fatalf("%q in %q", word, command)
		}
	}
	x.Server = x.Engine == "llama.cpp"
	x.Split = unified && explicit && x.Parallel > 1 && x.Engine == "llama.cpp"
	return x
}

// What is typed takes what was computed: the printed command alone, read with
// the program's own defaults, gives the same sizes.
func TestTheCommandIsWhatWasComputed(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	models := Models()
	tried := map[string]int{}
	for range 600 {
		m := models[random.IntN(len(models))]
		if m.Kind != "llm" && m.Kind != "vlm" {
			continue
		}
		engine := Engines()[random.IntN(len(Engines()))]
		if engine == "transformers" || engine == "ik_llama.cpp" {
			continue // a call without sizes; the flags of llama.cpp with other defaults
		}
		s := Setting{Engine: engine, Parallel: 1 + random.IntN(4)}
		if s.llama() {
			s.KVType = []string{"f16", "q8_0", "q4_0"}[random.IntN(3)]
		}
		if engine == "llama.cpp" {
			s.Split, s.FullWindow, s.UBatch = random.IntN(2) == 0, random.IntN(4) == 0, []int{0, 256, 1024}[random.IntN(3)]
		}
		r := Request{Model: m.ID, VRAM: int64(8+random.IntN(80)) * GiB, Contexts: []int{min(m.Context, 2048<<random.IntN(5))}, Setting: s}
		p, err := NewPlan(r)
		if err != nil || p.Command == "" {
			continue
		}
		tried[engine]++
		row := p.Rows[p.Recommended]
		x := parseCommand(t, p.Command)
		if x.Cards == 0 {
			x.Cards = s.Cards
		}
		if x.layers > row.TotalLayers {
			x.layers = -1
		}
		n, err := m.Need(row.Format, x.Setting, x.layers)
		require.NoError(t, err)
		assert.Equal(t, engine, x.Engine, p.Command)
		want := [...]int64{row.WeightsBytes, row.CPUWeightsBytes, row.KVBytes, row.ComputeBytes, row.OverheadBytes}
		assert.Equal(t, want, [...]int64{n.Weights, n.CPUWeights, n.KV, n.Compute, n.Overhead}, "%s\n%s", m.ID, p.Command)
		switch have := float64(*row.HaveBytes); engine {
		case "vllm":
			assert.GreaterOrEqual(t, have*x.share, min(float64(n.Sum()), have*0.98), p.Command)
		case "sglang":
			assert.GreaterOrEqual(t, have*x.share, min(float64(n.Weights+n.KV), have*0.98), p.Command)
		}
	}
	for _, engine := range []string{"llama.cpp", "ollama", "vllm", "sglang", "lmdeploy", "exllama"} {
		assert.Greater(t, tried[engine], 15, engine)
	}
}

// llama.cpp itself says what the printed commands take: weights and caches to
// the byte, compute buffers within 2 % with all layers on the card and 8 % with
// some in RAM, where the allocator's gaps are not modelled.
func TestCommandsInTheLab(t *testing.T) {
	rows, exact := table(t, "commands"), 0
	for _, r := range rows {
		m, ok := ModelByID(r[0])
		if r[0] == "tiny" {
			m, ok = tinyModel(), true
		}
		require.True(t, ok, r[0])
		x := parseCommand(t, r[1])
		partial := x.CPUExperts > 0
		if x.layers > m.Layers {
			x.layers = -1
		} else {
			partial = true
		}
		n, err := m.Need("F16", x.Setting, x.layers)
		require.NoError(t, err)
		printed := [3]float64{number(t, r[2]), number(t, r[3]), number(t, r[4])}
		assert.InEpsilon(t, printed[0], float64(n.Weights), 1e-6, "weights of %s: %s", r[0], r[1])
		assert.InDelta(t, printed[1], float64(n.KV), 1, "cache of %s: %s", r[0], r[1])
		if partial {
			assert.InEpsilon(t, printed[2], float64(n.Compute), 0.08, "compute of %s: %s", r[0], r[1])
			continue
		}
		exact++
		assert.InEpsilon(t, printed[2], float64(n.Compute), 0.02, "compute of %s: %s", r[0], r[1])
	}
	assert.GreaterOrEqual(t, exact, 10)
}

func tinyModel() *Model {
	return &Model{Arch: "llama", Kind: "llm", Layers: 4, Hidden: 256, Heads: 8, KVHeads: 8, HeadDim: 32, ValueDim: 32, FFN: 512, Gated: true, Vocab: 512, Context: 8192}
}

// Ten printed commands, run: what llama.cpp printed when it loaded.
func TestCommandsLoaded(t *testing.T) {
	rows := table(t, "commands_loaded")
	require.Len(t, rows, 10)
	for _, r := range rows {
		x := parseCommand(t, r[0])
		n, err := tinyModel().Need("F16", x.Setting, -1)
		require.NoError(t, err)
		assert.InDelta(t, number(t, r[1]), float64(n.Weights)/MiB, 0.01, "%v", r)
		assert.InDelta(t, number(t, r[2]), float64(n.KV)/MiB, 0.01, "%v", r)
		assert.InEpsilon(t, number(t, r[3]), float64(n.Compute)/MiB, 0.005, "%v", r)
	}
}

// Random settings: slots, caches of their own, batches, full windows.
func TestRandomCommandsInTheLab(t *testing.T) {
	var off []float64
	for _, r := range table(t, "commands_random") {
		m := mustModel(t, r[0])
		x := parseCommand(t, r[1])
		x.layers = -1
		n, err := m.Need("F16", x.Setting, x.layers)
		require.NoError(t, err)
		assert.InEpsilon(t, number(t, r[2]), float64(n.Weights), 1e-6, "%v", r)
		assert.InDelta(t, number(t, r[3]), float64(n.KV), 1, "%v", r)
		off = append(off, math.Abs(float64(n.Compute)/number(t, r[4])-1))
	}
	slices.Sort(off)
	require.Greater(t, len(off), 50)
	assert.Less(t, off[len(off)/2], 0.001, "median")
	assert.Less(t, off[len(off)*9/10], 0.015, "nine of ten")
	assert.Less(t, off[len(off)-1], 0.06, "worst")
}

func TestEngineVersions(t *testing.T) {
	tests := []struct{ engine, version, command, err string }{
		{"llama.cpp", "b4000", "-np 1 -fa", ""}, {"llama.cpp", "4000", "-np 1 -fa", ""}, {"llama.cpp", "v0.5.0", "-np 1 -fa on", ""},
		{"llama.cpp", "banana", "", "write it as b5400"}, {"vllm", "b5400", "", "write it as 0.9.2"},
		{"sglang", "0.5.0", "", "leave it out"}, {"ik_llama.cpp", "b4000", "", "leave it out"},
		{"transformers", "4.50.1", "torch_dtype=", ""}, {"transformers", "5.0.0", ", dtype=", ""},
		{"ollama", "0.1.20", "ollama run", ""}, {"vllm", "0.8.5.post1", "vllm serve", ""},
	}
	for _, tt := range tests {
		p, err := NewPlan(Request{Model: "llama-3.1-8b", VRAM: 24 * GiB, Setting: Setting{Engine: tt.engine, Version: tt.version}})
		if tt.err != "" {
			assert.ErrorIs(t, err, ErrVersion, "%v", tt)
			assert.ErrorContains(t, err, tt.err)
			continue
		}
		require.NoError(t, err)
		assert.Contains(t, p.Command, tt.command, "%v", tt)
	}
	assert.NotContains(t, mustPlan(t, Request{Model: "llama-3.1-8b", VRAM: 24 * GiB, Setting: Setting{Engine: "ollama", Version: "0.1.20"}}).Command, "OLLAMA_NUM_PARALLEL")
	for _, c := range Changes() {
		_, ok := versionNumber(c.Engine, c.Since)
		assert.True(t, ok, c.Since)
		assert.True(t, strings.HasPrefix(c.Source, "https://github.com/"), c.Source)
	}
}

func mustPlan(t *testing.T, r Request) Plan {
	t.Helper()
	p, err := NewPlan(r)
	require.NoError(t, err)
	return p
}

// What builds changed, in figures: Gemma 3 27B at 32768 tokens.
func TestBuildsOfLlamaCpp(t *testing.T) {
	m := mustModel(t, "gemma-3-27b")
	need := func(version string, slots int) Need {
		n, err := m.Need("Q4_K_M", Setting{Context: 32768, Version: version, Parallel: slots, Server: true}, -1)
		require.NoError(t, err)
		return n
	}
	assert.Equal(t, int64(15872*MiB), need("b5000", 1).KV, "no cache of the window's size")
	assert.Equal(t, int64(3184*MiB), need("b6000", 1).KV)
	assert.Greater(t, need("b8000", 4).KV, need("b8000", 1).KV, "windows grow with the slots")
	assert.Greater(t, need("b6500", 4).KV, need("b8000", 4).KV, "slots could not share a cache then")
	assert.Greater(t, need("b9360", 1).Compute, 2*need("b9500", 1).Compute, "logits for every token of a batch")
	d := mustModel(t, "llama-3.1-8b")
	long := func(version string) int64 {
		n, err := d.Need("Q4_K_M", Setting{Context: 131072, Version: version, Server: true}, -1)
		require.NoError(t, err)
		return n.Compute
	}
	assert.Greater(t, long("b9340")-long("b9360"), int64(200*MiB), "the mask had 4 bytes a cell more")
	ik, err := m.Need("Q4_K_M", Setting{Context: 32768, Engine: "ik_llama.cpp"}, -1)
	require.NoError(t, err)
	assert.Equal(t, int64(15872*MiB), ik.KV)
}

// The draft and the projector are counted, and named in the command.
func TestDraftAndProjector(t *testing.T) {
	draft := mustModel(t, "qwen3-0.6b")
	plain := mustPlan(t, Request{Model: "qwen3-14b", VRAM: 24 * GiB, Formats: []string{"Q4_K_M"}, Contexts: []int{8192}})
	both := mustPlan(t, Request{Model: "qwen3-14b", VRAM: 24 * GiB, Formats: []string{"Q4_K_M"}, Contexts: []int{8192}, Setting: Setting{Draft: draft}})
	w, err := draft.Weights("Q8_0")
	require.NoError(t, err)
	assert.Equal(t, w.GPU, both.Rows[0].WeightsBytes-plain.Rows[0].WeightsBytes)
	assert.Greater(t, both.Rows[0].KVBytes, plain.Rows[0].KVBytes)
	assert.Contains(t, both.Command, " -md … -ngld 99")
	_, err = NewPlan(Request{Model: "qwen3-14b", VRAM: 24 * GiB, Setting: Setting{Draft: draft, Engine: "vllm"}})
	assert.ErrorIs(t, err, ErrEngine)
	_, err = NewPlan(Request{Model: "gemma-3-12b", VRAM: 24 * GiB, Setting: Setting{Projector: true, Engine: "vllm"}})
	assert.ErrorIs(t, err, ErrEngine)
	seen := mustPlan(t, Request{Model: "gemma-3-12b", VRAM: 24 * GiB, Contexts: []int{8192}, Setting: Setting{Projector: true}})
	assert.Contains(t, seen.Command, " --mmproj …")
}
