package ggml

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// ggmlLines are the informative lines of a load: what they allocate, where,
// and how large it came out.
var ggmlLines = slices.Concat(
	// Buffers and totals.
	on((*ggmlReader).buffer, "buffer size ="),
	on((*ggmlReader).selfSize, "self size ="),
	on((*ggmlReader).cells, " cells, "),
	on(states(memRequired, 0, 40, ""), "mem required ="),
	on((*ggmlReader).diffusionCompute, "compute buffer size:"),
	on((*ggmlReader).metalAllocated, "buffer, size ="),
	on((*ggmlReader).metalRecommended, "recommendedMaxWorkingSetSize"),
	on(states(offloaded, 0, 40, "weights"), "offloaded "),
	// Which part is being allocated now.
	on(stageIs("weights"), "ggml ctx size =", "loading model tensors"),
	on(stageIs("kv"), "constructing llama_context"),
	on(stageIs(""), "graph nodes", "graph splits"),
	// Hyper-parameters and settings.
	numbers("n_ctx", "n_ctx_slot", "n_ctx_train", "n_prompt_tokens", "task.n_tokens", "n_ubatch", "n_seq_max", "n_layer", "n_embd", "n_head", "n_vocab", "n_ff",
		"n_embd_k_gqa", "n_embd_v_gqa", "n_expert", "n_ff_exp"),
	on(states(contextPerSeq, 0, 30, ""), "n_ctx_per_seq ("),
	on(states(worstCase, 0, 36, ""), "worst-case: n_tokens ="),
	on((*ggmlReader).flashAttention, "flash_attn ="),
	on(setting("flash_attn"), "Flash Attention was auto, set to enabled"),
	on(setting("no_mmap"), "(load_mode = none)", "(mmap = false)"), // neither mapped nor locked: builds of 2026
	on(states(modelSize, 0, 40, "weights"), "model size =", "file size ="),
	on((*ggmlReader).generalName, "general.name"),
	on((*ggmlReader).loadedFrom, "key-value pairs", "loading model from"),
	// Devices.
	on(backendIs("rocm"), "ROCm devices", "ROCm0", "hipMalloc("), on(backendIs("cuda"), "CUDA devices"),
	on(backendIs("vulkan"), "Vulkan devices", "| uma:"),
	on(states(llamaBuild, 0, 40, ""), "build: ", "build = "),
	on(states(usingDevice, 0, 200, "weights"), "using device"), // what was free before loading: the best anchor there is
	on(states(cudaDevice, 130, 40, ""), "VMM:", ", compute capability"),
	on(states(vulkanDevice, 110, 8, ""), "| uma:"),
	on(states(listedDevice, 140, 12, ""), "MiB free)"),
	on(states(syclDevice, 0, 110, ""), "SYCL0:", "SYCL1:", "SYCL2:", "SYCL3:"),
	on((*ggmlReader).rpcDevice, "total_mem="),
	on((*ggmlReader).memoryTable, "- CUDA", "- ROCm", "- Vulkan", "- SYCL", "- MTL", "- Metal", "- MUSA", "- CANN"), // a bar that begins a line is no part of it
	on((*ggmlReader).fitFailed, "failed to fit params to free device memory"),
	// Command lines.
	on((*ggmlReader).command, ".gguf", ".ggml", "-ngl", "--n-gpu-layers", "--gpu-layers", "--ctx-size", "--n_gpu_layers", "llama-server", "llama-bench", "whisper-cli", "/main -m", " -ts "),
	on((*ggmlReader).keywordArguments, "n_gpu_layers=", "n_ctx="),
	on((*ggmlReader).koboldNamespace, "gpulayers="),
	on(func(g *ggmlReader, _ text.Message) { g.hinted = "cuda" }, "CUDA_VISIBLE_DEVICES="),
	// Programs.
	on(program("koboldcpp"), "koboldcpp.py", "Welcome to KoboldCpp", "gpttype_load_model", "Load Text Model OK:", "Load Image Model OK:", "Could not load text model:", "Starting Kobold API on port", `\koboldcpp\ggml\src\`, "Processing Prompt [", "Automatic RoPE Scaling: Using"),
	on(states(koboldTokens, 0, 60, ""), "Processing Prompt ["), // "[BLAS] (512 / 12710 tokens)"
	on((*ggmlReader).loading, "load_tensors:"),
	on((*ggmlReader).promptSaved, "prompt_save:"),
	on(partOf("stable-diffusion.cpp"), "ggml_extend.hpp", "stable-diffusion.cpp", "StableDiffusion.NET", "stable_diffusion_cpp"),
	on((*ggmlReader).generates, "generating image:", "sampling using"),
	on((*ggmlReader).decodes, "- decoding "),
	on(partOf("whisper.cpp"), "whisper_init", "whisper_model_load"),
	on((*ggmlReader).usesBackend, "whisper_default_buffer_type: using device", "whisper_backend_init_gpu: using"),
	on(stageIs("weights"), "whisper_model_load"), // allocates after these lines
	// The program works: what it retried before is recovered.
	on((*ggmlReader).working,
		"server is listening", "initializing, n_slots", "initializing slots, n_slots", "llama runner started",
		"_perf_context_print:", "llama_print_timings:", "all slots are idle"),
	on(retrying(noticeLayout, "A layout that Ollama tried did not fit; it went on with fewer layers on the card and came to work."), "model layout did not fit, applying backoff"),
)

var (
	bufferSize    = text.NewPattern(`[:|](?<memory>rpc\[[^\]]{1,48}\]|[a-z]+?\d{0,3}(?:_host|_mapped|_repack|_aarch64)?)(?<kind>model|kv|compute|output|input|rs)?buffersize=(?<size>NUMmi?b)`)
	selfSize      = text.NewPattern(`selfsize=(?<size>NUMmi?b)`)
	llamaBuild    = text.NewPattern(`build[:=](?<llama_build>INT)\([0-9a-f]{7,10}\)`)
	cellsLine     = text.NewPattern(`size=(?<kv_total>NUMmib)\((?<kv_tokens>INT)cells,\d{1,4}layers,\d{1,4}`)
	memRequired   = text.NewPattern(`memrequired=(?<weights>NUMmi?b)`)
	diffusionSize = text.NewPattern(`\wcomputebuffersize:(?<diffusion_part>(?>NUM)mi?b)\(v?ram\)`)
	metalUse      = text.NewPattern(`buffer,size=NUMmi?b,(?:offs=\d{1,16},)?\((?<used>NUM)/(?<limit>NUM)\)`)
	metalWorking  = text.NewPattern(`recommendedmaxworkingsetsize=(?<size>NUMmi?b)`)
	offloaded     = text.NewPattern(`offloaded(?<gpu_layers>\d{1,4})/(?<total_layers>\d{1,4})layers`)
	valueLine     = text.NewPattern(`^=(?<value>\d{1,9})(?![\d.])`)
	worstCase     = text.NewPattern(`worst-case:n_tokens=(?<n_ubatch>\d{1,9})(?![\d.])`) // as many tokens as the physical batch
	contextPerSeq = text.NewPattern(`n_ctx_per_seq\((?<n_ctx_per_seq>\d{1,9})\)`)
	flashLine     = text.NewPattern(`flash_attn=(?<value>0|1|enabled|disabled|auto)`)
	modelSize     = text.NewPattern(`(?:model|file)size=(?<model_size>NUM[kmgt]ib)(?:\((?<bits_per_weight>NUM)bpw\))?`)
	nameLine      = text.NewPattern(`general\.name(?:str)?=(?<model>.{1,80})`)
	fromLine      = text.NewPattern(`(?:tensorsfrom|modelfrom(?!scratch\.))(?<model>[^()]{3,300})`)
	quotedModel   = text.NewPattern(`model'(?<model>[^']{3,300})'`)
	usesBackend   = text.NewPattern(`:using(?:device)?(?<device>(?:cuda|rocm|vulkan|sycl|musa|cann)\d{1,2})`)
	usingDevice   = text.NewPattern(`usingdevice(?<device>[a-z_]{1,24}\d{0,3})\((?<name>.{1,90}?)\)(?:\([^()]{1,40}\))?-(?<free>\d{1,9}mib)free`)
	cudaDevice    = text.NewPattern(`device(?<index>\d{1,3}):(?<name>[^:]{1,90}?),(?:computecapability|gfx[^:]{1,60}vmm:)`)
	vulkanDevice  = text.NewPattern(`(?<index>\d{1,2})=(?<name>[^|=]{2,100})\|uma:[01]`)
	listedDevice  = text.NewPattern(`(?<device>(?:cuda|rocm|vulkan|sycl|metal|mtl|musa|opencl|cann)\d{0,3}):(?<name>[^:]{2,90}?)\((?<total>\d{1,9}mib),(?<free>\d{1,9}mib)free\)`)
	syclDevice    = text.NewPattern(`(?<device>sycl\d):(?<name>intel[^:]{2,90}?)\((?<total>\d{1,9}mib)\)`)
	rpcDevice     = text.NewPattern(`free_mem=(?<rpc_free_bytes>\d{1,18}),total_mem=(?<rpc_total_bytes>\d{1,18})`)
	memoryRow     = text.NewPattern(`(?:^|\|)-(?<device>[a-z_]+\d{0,3})\((?<name>[^|]{1,60}?)\)\|(?<total>\d{1,9})=(?<free>\d{1,9})\+\((?<self>\d{1,9})=\d{1,9}\+\d{1,9}\+\d{1,9}\)\+(?<rest>-?\d{1,15})\|`)
	promptSaved   = text.NewPattern(`promptwithlength(?<prompt_tokens>\d{1,9}),totalstatesize=(?<prompt_state>NUMmib)`)
	koboldTokens  = text.NewPattern(`processingprompt\[\w{2,12}\]\(\d{1,9}/(?<prompt_tokens>\d{1,9})tokens\)`)
)

// promptSaved reads what the server puts into its cache of prompts, in system
// memory.
func (g *ggmlReader) promptSaved(m text.Message) {
	g.phase("inference", m.At)
	g.find(promptSaved, m.At, 0, 110).States(m.Facts, nil)
}

// states makes the reader of a line whose figures are facts, or those of a card
// that it names; where it has them, a stage may begin.
func states(p *text.Pattern, back, ahead int, stage string) func(*ggmlReader, text.Message) {
	return func(g *ggmlReader, m text.Message) {
		k := g.find(p, m.At, back, ahead)
		if k.Text("name") != "" {
			g.card(m, k, "")
		} else {
			k.States(m.Facts, nil)
		}
		if k.Ok() && stage != "" {
			g.at(stage, m.At)
		}
	}
}

func stageIs(stage string) func(*ggmlReader, text.Message) {
	return func(g *ggmlReader, m text.Message) { g.at(stage, m.At) }
}

// at notes which part is being allocated from here on.
func (g *ggmlReader) at(stage string, offset int) {
	g.stage = stage
	g.loads = g.loads || stage == "weights"
	g.contexts = g.contexts || stage == "kv"
	if phase := phaseOfStage[stage]; phase != "" {
		g.phase(phase, offset)
	}
}

func backendIs(backend string) func(*ggmlReader, text.Message) {
	return func(g *ggmlReader, _ text.Message) { g.backend = backend }
}

func program(name string) func(*ggmlReader, text.Message) {
	return func(g *ggmlReader, m text.Message) { g.proves(name, m.At) }
}

// usesBackend reads where whisper.cpp puts the model: "using device Vulkan0 (...)",
// "using CUDA0 backend".
func (g *ggmlReader) usesBackend(m text.Message) {
	name := g.find(usesBackend, m.At, 0, 80).Text("device")
	g.backend = cmp.Or(BackendOfBuffer(name), g.backend)
}

// partOf is a program on ggml that the report knows as "other".
func partOf(name string) func(*ggmlReader, text.Message) {
	return func(g *ggmlReader, m text.Message) {
		g.program = name
		g.proves(name, m.At)
	}
}

// generates notes that stable-diffusion.cpp is at work: what is refused from
// here on is the working memory of a step or of the VAE.
func (g *ggmlReader) generates(m text.Message) {
	g.stage, g.generating = "compute", true
	g.phase("inference", m.At)
	text.Says("image_sampling")(m)
}

var decodesLatents = text.NewPattern(`-decoding\d{1,5}latents`)

// decodes notes that the VAE is at work.
func (g *ggmlReader) decodes(m text.Message) {
	if m.Find(decodesLatents, 24).Ok() {
		text.Says("image_decoding")(m)
	}
}

// numbers are lines "name = N". A list per layer ("[16, 16, 4]") is left out, and
// so is an argument: the line is "print_info: n_ctx = 4096".
func numbers(names ...string) []ggmlWording {
	return text.Each(names, func(name string) ggmlWording {
		return ggmlWording{name + " =", func(g *ggmlReader, m text.Message) {
			if m.At > 0 && g.s[m.At-1] != ':' && !strings.HasSuffix(name, "_slot") && !strings.HasSuffix(name, "_tokens") {
				return
			}
			k := g.l.Find(valueLine, m.End-1, min(m.End+11, g.l.ValueEnd(m.At)))
			if !k.Ok() {
				return
			}
			m.Count(name, k.Count("value"))
			switch {
			case name == "n_ctx" && g.stage != "kv":
				g.at("kv", m.At)
			case name == "n_layer" && !strings.Contains(g.l.LineText(m.At), "] loaded "): // a program of somebody's own, when it is done
				g.at("weights", m.At)
			}
		}}
	})
}

// bufferKinds are the kinds of buffers as ggml and Ollama's engine call them.
// Before 2025 a weights buffer bears no "model".
var bufferKinds = map[string]string{
	"": "weights", "model": "weights", "kv": "kv", "compute": "compute", "output": "output", "input": "output", "rs": "state",
	"modelweights": "weights", "kvcache": "kv", "computegraph": "compute",
}

// addBuffer keeps a buffer with its groups memory, kind and size.
func addBuffer(f *fact.Facts, k text.Match) (b fact.Buffer, ok bool) {
	size := k.Size("size")
	if size == nil {
		return b, false
	}
	b = fact.Buffer{Device: k.Text("memory"), Kind: bufferKinds[k.Lower("kind")], Size: *size}
	f.Buffers = append(f.Buffers, b)
	return b, true
}

// buffer reads "llama_kv_cache: CUDA0 KV buffer size = 379.23 MiB".
func (g *ggmlReader) buffer(m text.Message) {
	b, ok := addBuffer(g.f, g.find(bufferSize, m.At, 64, 40))
	if !ok {
		return
	}
	switch b.Kind {
	case "weights":
		g.at("weights", m.At)
	case "kv", "state":
		g.at("kv", m.At)
	case "compute": // it was made: what is refused from here on is no cache
		g.at("compute", m.At)
	}
	if backend := BackendOfBuffer(b.Device); backend != "" && backend != "cpu" {
		g.backend = backend
	}
	g.open = nil
}

// selfSize is the sum of the KV buffers, until mid 2025.
func (g *ggmlReader) selfSize(m text.Message) {
	if k := m.Find(selfSize, 40); k.Ok() {
		size := k.Size("size")
		if g.program == "whisper.cpp" {
			size = g.l.Decimal(k, "size") // its MB are powers of 1000
		}
		m.Fact("kv_total", size)
		g.at("compute", m.At)
	}
}

// cells is the sum of the KV buffers since; its cells are those of one stream.
func (g *ggmlReader) cells(m text.Message) {
	if !m.Precedes("recurrent", 100) {
		states(cellsLine, 48, 48, "compute")(g, m)
	}
}

// diffusionCompute is stable-diffusion.cpp's; its MB are powers of 1024.
func (g *ggmlReader) diffusionCompute(m text.Message) {
	k := g.find(diffusionSize, m.At, 30, 60)
	if size := k.Size("diffusion_part"); size != nil {
		g.f.Buffers = append(g.f.Buffers, fact.Buffer{Kind: "compute", Size: *size})
		k.States(m.Facts, nil)
	}
}

// metalAllocated reads "(A / B)": used and recommended, both in MiB.
func (g *ggmlReader) metalAllocated(m text.Message) {
	if k := g.find(metalUse, m.At, 8, 100); k.Ok() {
		m.Fact("metal_allocated", k.SizeIn("used", "mib"))
		m.Fact("metal_limit", k.SizeIn("limit", "mib"))
		g.backend = "metal"
	}
}

// metalRecommended: MB of 2023 (ggml_metal_add_buffer) are powers of 1024,
// those of the builds from January 2024 on powers of 1000.
func (g *ggmlReader) metalRecommended(m text.Message) {
	if k := m.Find(metalWorking, 60); k.Ok() {
		g.backend = "metal"
		size := g.l.Decimal(k, "size")
		if m.Mentions("ggml_metal_add_buffer") {
			size = k.Size("size")
		}
		m.Fact("metal_recommended", size)
	}
}

func (g *ggmlReader) flashAttention(m text.Message) {
	k := m.Find(flashLine, 24)
	if !k.Ok() {
		return
	}
	said := k.Lower("value")
	g.setting("flash_attn", map[string]string{"0": "off", "1": "on", "enabled": "on", "disabled": "off", "auto": "auto"}[said], "", m.At)
	if said != "0" && said != "1" {
		m.Count("words_for_flash_attn", &fact.Count{Value: 1, Text: said, Line: g.l.Line(m.At)}) // builds since 2025-09
	}
}

// setting makes the reader of a line that says that something is on.
func setting(name string) func(*ggmlReader, text.Message) {
	return func(g *ggmlReader, m text.Message) { g.setting(name, "on", "", m.At) }
}

func (g *ggmlReader) setting(name, value, flag string, at int) {
	g.f.Settings = append(g.f.Settings, fact.Setting{Name: name, Value: value, Line: g.l.Line(at), Flag: flag, Default: flag == ""})
}

func (g *ggmlReader) mention(k text.Match, weight int, m text.Message) {
	name, _, _ := strings.Cut(strings.TrimSpace(k.Text("model")), "' - please wait") // llama.cpp before May 2023
	name = strings.Trim(name, `'"`)
	if i := strings.LastIndex(strings.ToLower(name), ".gguf"); i > 0 {
		name = name[:i+len(".gguf")]
	}
	if name != "" && !strings.Contains(name, "sha256-") {
		g.f.Models = append(g.f.Models, fact.ModelMention{Name: name, Line: g.l.Line(m.At), Weight: weight})
	}
}

// generalName stands at the end of its line.
func (g *ggmlReader) generalName(m text.Message) {
	_, to := g.l.LineSpan(m.At)
	g.mention(g.l.Find(nameLine, m.At, min(to, m.At+120)), 2, m)
}

func (g *ggmlReader) loadedFrom(m text.Message) {
	_, to := g.l.LineSpan(m.At)
	g.mention(g.l.Find(fromLine, m.At, to), 3, m)
	g.at("weights", m.At)
}

func (g *ggmlReader) loading(m text.Message) {
	if g.stage == "" {
		g.at("weights", m.At)
	}
}
