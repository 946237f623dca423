package ggml

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// ggmlLines are the informative lines of a load: what they allocate, where,
// and how large it came out.
var ggmlLines = []ggmlWording{
	// Buffers and totals.
	{"buffer size =", (*ggmlReader).buffer},
	{"self size =", (*ggmlReader).selfSize},
	{" cells, ", (*ggmlReader).cells},
	{"VRAM used:", (*ggmlReader).vramUsed},
	{"mem required =", (*ggmlReader).memRequired},
	{"compute buffer size:", (*ggmlReader).diffusionCompute},
	{"buffer, size =", (*ggmlReader).metalAllocated},
	{"recommendedMaxWorkingSetSize", (*ggmlReader).metalRecommended},
	{"offloaded ", (*ggmlReader).offloaded},
	// Which part is being allocated now.
	{"ggml ctx size =", stageIs("weights")},
	{"loading model tensors", stageIs("weights")},
	{"constructing llama_context", stageIs("kv")},
	{"graph nodes", stageIs("")},
	{"graph splits", stageIs("")},
	// Hyper-parameters and settings.
	{"n_ctx =", number("n_ctx")}, {"n_ctx_per_seq (", (*ggmlReader).contextPerSeq}, {"n_ctx_slot =", number("n_ctx_slot")},
	{"n_ctx_train =", number("n_ctx_train")}, {"n_batch =", number("n_batch")}, {"n_ubatch =", number("n_ubatch")}, {"n_seq_max =", number("n_seq_max")}, {"worst-case: n_tokens =", (*ggmlReader).worstCase},
	{"n_layer =", number("n_layer")}, {"n_embd =", number("n_embd")}, {"n_head =", number("n_head")}, {"n_vocab =", number("n_vocab")}, {"n_ff =", number("n_ff")},
	{"n_embd_k_gqa =", number("n_embd_k_gqa")}, {"n_embd_v_gqa =", number("n_embd_v_gqa")},
	{"n_expert =", number("n_expert")}, {"n_ff_exp =", number("n_ff_exp")},
	{"(load_mode =", (*ggmlReader).loadMode}, {"flash_attn =", (*ggmlReader).flashAttention}, {"Flash Attention was auto, set to enabled", (*ggmlReader).flashEnabled},
	{"model size =", (*ggmlReader).modelSize}, {"file size =", (*ggmlReader).modelSize},
	{"general.name", (*ggmlReader).generalName}, {"key-value pairs", (*ggmlReader).loadedFrom}, {"loading model from", (*ggmlReader).loadedFrom},
	// Devices.
	{"ROCm devices", backendIs("rocm")}, {"CUDA devices", backendIs("cuda")}, {"Vulkan devices", backendIs("vulkan")}, {"ROCm0", backendIs("rocm")}, {"hipMalloc(", backendIs("rocm")},
	{"using device", (*ggmlReader).usingDevice}, {"VMM:", (*ggmlReader).cudaDevice}, {", compute capability", (*ggmlReader).cudaDevice}, {"| uma:", (*ggmlReader).vulkanDevice},
	{"MiB free)", (*ggmlReader).listedDevice}, {"total_mem=", (*ggmlReader).rpcDevice}, {"_memory_breakdown_print: | -", (*ggmlReader).memoryTable},
	{"need to reduce device memory by", (*ggmlReader).fitReduce}, {"failed to fit params to free device memory", (*ggmlReader).fitFailed},
	// Command lines.
	{".gguf", (*ggmlReader).command}, {".ggml", (*ggmlReader).command}, {"-ngl", (*ggmlReader).command}, {"--n-gpu-layers", (*ggmlReader).command}, {"--gpu-layers", (*ggmlReader).command},
	{"--ctx-size", (*ggmlReader).command}, {"--n_gpu_layers", (*ggmlReader).command}, {"llama-server", (*ggmlReader).command}, {"llama-bench", (*ggmlReader).command},
	{"n_gpu_layers=", (*ggmlReader).keywordArguments}, {"n_ctx=", (*ggmlReader).keywordArguments}, {"gpulayers=", (*ggmlReader).koboldNamespace},
	{"CUDA_VISIBLE_DEVICES=", hint("cuda")},
	// Programs.
	{"koboldcpp.py", program("koboldcpp")}, {"Welcome to KoboldCpp", program("koboldcpp")}, {"Processing Prompt [", (*ggmlReader).koboldPrompt}, {`\koboldcpp\ggml\src\`, program("koboldcpp")}, {"load_tensors:", (*ggmlReader).loading}, {"prompt_save:", (*ggmlReader).promptCache},
	{"ggml_extend.hpp", partOf("stable-diffusion.cpp")}, {"stable-diffusion.cpp", partOf("stable-diffusion.cpp")}, {"generating image:", (*ggmlReader).generates}, {"sampling using", (*ggmlReader).generates}, {"- decoding ", (*ggmlReader).decodes}, {"whisper_model_load", (*ggmlReader).whisperLoads}, {"whisper_init", partOf("whisper.cpp")},
	// The program works: what it retried before is recovered.
	{"server is listening", (*ggmlReader).working}, {"initializing, n_slots", (*ggmlReader).working}, {"initializing slots, n_slots", (*ggmlReader).working}, {"llama runner started", (*ggmlReader).working},
	{"_perf_context_print:", (*ggmlReader).working}, {"llama_print_timings:", (*ggmlReader).working}, {"all slots are idle", (*ggmlReader).working},
	{"model layout did not fit, applying backoff", (*ggmlReader).layoutBackoff},
}

var (
	bufferSize    = text.NewPattern(`[:|](?<memory>rpc\[[^\]]{1,48}\]|[a-z]+?\d{0,3}(?:_host|_mapped|_repack|_aarch64)?)(?<kind>model|kv|compute|output|input|rs)?buffersize=(?<size>NUMmi?b)`)
	selfSize      = text.NewPattern(`selfsize=(?<size>NUMmi?b)`)
	cellsLine     = text.NewPattern(`size=(?<size>NUMmib)\((?<cells>INT)cells,(?<layers>\d{1,4})layers,(?<seqs>\d{1,4})`)
	vramUsed      = text.NewPattern(`vramused:(?<size>NUMmi?b)`)
	memRequired   = text.NewPattern(`memrequired=(?<size>NUMmi?b)`)
	diffusionSize = text.NewPattern(`\wcomputebuffersize:(?<size>(?>NUM)mi?b)\((?<where>v?ram)\)`)
	metalUse      = text.NewPattern(`buffer,size=NUMmi?b,(?:offs=\d{1,16},)?\((?<used>NUM)/(?<limit>NUM)\)`)
	metalWorking  = text.NewPattern(`recommendedmaxworkingsetsize=(?<size>NUMmi?b)`)
	offloadedLine = text.NewPattern(`offloaded(?<layers>\d{1,4})/(?<total>\d{1,4})layers`)
	valueLine     = text.NewPattern(`=(?<value>\d{1,9})(?![\d.])`)
	contextPerSeq = text.NewPattern(`n_ctx_per_seq\((?<value>\d{1,9})\)`)
	flashLine     = text.NewPattern(`flash_attn=(?<value>0|1|enabled|disabled|auto)`)
	sizeLine      = text.NewPattern(`(?:model|file)size=(?<size>NUM[kmgt]ib)(?:\((?<bits>NUM)bpw\))?`)
	nameLine      = text.NewPattern(`general\.name(?:str)?=(?<name>.{1,80})`)
	fromLine      = text.NewPattern(`(?:tensorsfrom|modelfrom)(?<path>[^()]{3,300})`)
	quotedModel   = text.NewPattern(`model'(?<path>[^']{3,300})'`)
	usingDevice   = text.NewPattern(`usingdevice(?<device>[a-z_]{1,24}\d{0,3})\((?<name>.{1,90}?)\)(?:\([^()]{1,40}\))?-(?<free>\d{1,9}mib)free`)
	cudaDevice    = text.NewPattern(`device(?<index>\d{1,3}):(?<name>[^:]{1,90}?),(?:computecapability|gfx[^:]{1,60}vmm:)`)
	vulkanDevice  = text.NewPattern(`(?<index>\d{1,2})=(?<name>[^|=]{2,100})\|uma:(?<uma>[01])`)
	listedDevice  = text.NewPattern(`(?<device>(?:cuda|rocm|vulkan|sycl|metal|mtl|musa|opencl|cann)\d{0,3}):(?<name>[^:]{2,90}?)\((?<total>\d{1,9}mib),(?<free>\d{1,9}mib)free\)`)
	rpcDevice     = text.NewPattern(`free_mem=(?<free>\d{1,18}),total_mem=(?<total>\d{1,18})`)
	memoryRow     = text.NewPattern(`\|-(?<device>[a-z_]+\d{0,3})\((?<name>[^|]{1,60}?)\)\|(?<total>\d{1,9})=(?<free>\d{1,9})\+\(\d{1,9}=(?<model>\d{1,9})\+(?<context>\d{1,9})\+(?<compute>\d{1,9})\)\+(?<rest>-?\d{1,15})\|`)
	fitReduceBy   = text.NewPattern(`needtoreducedevicememoryby(?<size>\d{1,9}mib)`)
	promptState   = text.NewPattern(`totalstatesize=(?<size>NUMmib)`)
)

func stageIs(stage string) func(*ggmlReader, int) {
	return func(g *ggmlReader, at int) { g.at(stage, at) }
}

// at notes which part is being allocated from here on.
func (g *ggmlReader) at(stage string, offset int) {
	g.stage = stage
	g.loads = g.loads || stage == "weights"
	g.contexts = g.contexts || stage == "kv"
	if phase := phaseOfStage[stage]; phase != "" {
		g.f.Stages = append(g.f.Stages, fact.Stage{Phase: phase, Line: g.l.Line(offset)})
	}
}

func backendIs(backend string) func(*ggmlReader, int) {
	return func(g *ggmlReader, _ int) { g.backend = backend }
}

// hint is a backend that a command line suggests.
func hint(backend string) func(*ggmlReader, int) {
	return func(g *ggmlReader, _ int) { g.hinted = backend }
}

func program(name string) func(*ggmlReader, int) {
	return func(g *ggmlReader, at int) { g.proves(name, at) }
}

// partOf is a program on ggml that the report knows as "other".
func partOf(name string) func(*ggmlReader, int) {
	return func(g *ggmlReader, at int) {
		g.program = name
		g.proves(name, at)
	}
}

// generates notes that stable-diffusion.cpp is at work: what is refused from
// here on is the working memory of a step or of the VAE.
func (g *ggmlReader) generates(at int) {
	g.stage, g.generating = "compute", true
	g.f.Stages = append(g.f.Stages, fact.Stage{Phase: "inference", Line: g.l.Line(at)})
	g.f.Facts = append(g.f.Facts, fact.Fact{Name: "image_sampling", Text: g.l.LineText(at), Line: g.l.Line(at)})
}

var decodesLatents = text.NewPattern(`-decoding\d{1,5}latents`)

// decodes notes that the VAE is at work.
func (g *ggmlReader) decodes(at int) {
	if g.find(decodesLatents, at, 0, 24).Ok() {
		g.f.Facts = append(g.f.Facts, fact.Fact{Name: "image_decoding", Text: g.l.LineText(at), Line: g.l.Line(at)})
	}
}

// whisperLoads: whisper.cpp allocates its weights after these lines.
func (g *ggmlReader) whisperLoads(at int) {
	partOf("whisper.cpp")(g, at)
	g.at("weights", at)
}

var koboldTokens = text.NewPattern(`processingprompt\[\w{2,12}\]\(\d{1,9}/(?<tokens>\d{1,9})tokens\)`)

// koboldPrompt reads "Processing Prompt [BLAS] (512 / 12710 tokens)", which
// only koboldcpp prints.
func (g *ggmlReader) koboldPrompt(at int) {
	g.proves("koboldcpp", at)
	g.fact("prompt_tokens", nil, g.find(koboldTokens, at, 0, 60).Count("tokens"), at)
}

// number reads "name = N". A list per layer ("[16, 16, 4]") is left out.
func number(name string) func(*ggmlReader, int) {
	return func(g *ggmlReader, at int) {
		if at > 0 && g.s[at-1] != ':' && name != "n_ctx_slot" {
			return // an argument, not "print_info: n_ctx = 4096"
		}
		m := g.value(valueLine, at+len(name), 0, 12)
		if !m.Ok() {
			return
		}
		if from, _ := m.Span(); from != at+len(name) {
			return
		}
		g.fact(name, nil, m.Count("value"), at)
		if name == "n_ctx" && g.stage != "kv" {
			g.at("kv", at)
		}
		if name == "n_layer" {
			g.at("weights", at)
		}
	}
}

// worstCase is the graph that is reserved: as many tokens as the physical batch.
func (g *ggmlReader) worstCase(at int) {
	if m := g.value(valueLine, at+len("worst-case:n_tokens"), 0, 12); m.Ok() {
		g.fact("n_ubatch", nil, m.Count("value"), at)
	}
}

// buffer reads "llama_kv_cache: CUDA0 KV buffer size = 379.23 MiB". Before
// 2025 a weights buffer bears no "model".
func (g *ggmlReader) buffer(at int) {
	m := g.find(bufferSize, at, 64, 40)
	if !m.Ok() {
		return
	}
	size := m.Size("size")
	if size == nil {
		return
	}
	kinds := map[string]string{"": "weights", "model": "weights", "kv": "kv", "compute": "compute", "output": "output", "input": "output", "rs": "state"}
	b := fact.Buffer{Device: m.Text("memory"), Kind: kinds[m.Lower("kind")], Size: *size}
	g.f.Buffers = append(g.f.Buffers, b)
	switch b.Kind {
	case "weights":
		g.at("weights", at)
	case "kv", "state":
		g.at("kv", at)
	}
	if backend := BackendOfBuffer(b.Device); backend != "" && backend != "cpu" {
		g.backend = backend
	}
	g.open = nil
}

// selfSize is the sum of the KV buffers, until mid 2025.
func (g *ggmlReader) selfSize(at int) {
	if m := g.find(selfSize, at, 0, 40); m.Ok() {
		size := m.Size("size")
		if g.program == "whisper.cpp" {
			size = g.l.Decimal(m, "size") // its MB are powers of 1000
		}
		g.fact("kv_total", size, nil, at)
		g.at("compute", at)
	}
}

// cells is the sum of the KV buffers since; its cells are those of one stream.
func (g *ggmlReader) cells(at int) {
	m := g.find(cellsLine, at, 48, 48)
	if !m.Ok() || strings.Contains(g.around(at, 100, 0), "recurrent") {
		return
	}
	g.fact("kv_total", m.Size("size"), nil, at)
	g.fact("kv_tokens", nil, m.Count("cells"), at)
	g.fact("kv_layers", nil, m.Count("layers"), at)
	g.at("compute", at)
}

func (g *ggmlReader) vramUsed(at int) {
	if m := g.find(vramUsed, at, 0, 40); m.Ok() {
		g.fact("vram_used", m.Size("size"), nil, at)
	}
}

func (g *ggmlReader) memRequired(at int) {
	if m := g.find(memRequired, at, 0, 40); m.Ok() {
		g.fact("weights", m.Size("size"), nil, at)
	}
}

// diffusionCompute is stable-diffusion.cpp's; its MB are powers of 1024.
func (g *ggmlReader) diffusionCompute(at int) {
	if m := g.find(diffusionSize, at, 30, 60); m.Ok() && m.Size("size") != nil {
		g.f.Buffers = append(g.f.Buffers, fact.Buffer{Device: "", Kind: "compute", Size: *m.Size("size")})
		g.fact("diffusion_part", m.Size("size"), nil, at)
	}
}

// metalAllocated reads "(A / B)": used and recommended, both in MiB.
func (g *ggmlReader) metalAllocated(at int) {
	if m := g.find(metalUse, at, 8, 100); m.Ok() {
		g.fact("metal_allocated", m.SizeIn("used", "mib"), nil, at)
		g.fact("metal_limit", m.SizeIn("limit", "mib"), nil, at)
		g.backend = "metal"
	}
}

// metalRecommended: MB of 2023 (ggml_metal_add_buffer) are powers of 1024,
// those of the builds from January 2024 on powers of 1000.
func (g *ggmlReader) metalRecommended(at int) {
	m := g.find(metalWorking, at, 0, 60)
	if !m.Ok() {
		return
	}
	g.backend = "metal"
	size := g.l.Decimal(m, "size")
	if strings.Contains(g.s, "ggml_metal_add_buffer") {
		size = m.Size("size")
	}
	g.fact("metal_recommended", size, nil, at)
}

func (g *ggmlReader) offloaded(at int) {
	if m := g.find(offloadedLine, at, 0, 40); m.Ok() {
		g.fact("gpu_layers", nil, m.Count("layers"), at)
		g.fact("total_layers", nil, m.Count("total"), at)
		g.at("weights", at)
	}
}

func (g *ggmlReader) contextPerSeq(at int) {
	if m := g.find(contextPerSeq, at, 0, 30); m.Ok() {
		g.fact("n_ctx_per_seq", nil, m.Count("value"), at)
	}
}

func (g *ggmlReader) flashAttention(at int) {
	m := g.find(flashLine, at, 0, 24)
	if !m.Ok() {
		return
	}
	value := map[string]string{"0": "off", "1": "on", "enabled": "on", "disabled": "off", "auto": "auto"}[m.Lower("value")]
	g.setting("flash_attn", value, "", at)
	if v := m.Lower("value"); v != "0" && v != "1" {
		g.fact("words_for_flash_attn", nil, &fact.Count{Value: 1, Text: v, Line: g.l.Line(at)}, at) // builds since 2025-09
	}
}

// loadMode reads "loading model tensors, this can take a while... (load_mode =
// none)", of builds of 2026: neither mapped nor locked.
func (g *ggmlReader) loadMode(at int) {
	if strings.HasPrefix(g.s[at:], "(load_mode=none)") {
		g.setting("no_mmap", "on", "", at)
	}
}

func (g *ggmlReader) flashEnabled(at int) { g.setting("flash_attn", "on", "", at) }

func (g *ggmlReader) setting(name, value, flag string, at int) {
	g.f.Settings = append(g.f.Settings, fact.Setting{Name: name, Value: value, Line: g.l.Line(at), Flag: flag, Default: flag == ""})
}

func (g *ggmlReader) modelSize(at int) {
	if m := g.find(sizeLine, at, 0, 40); m.Ok() {
		g.fact("model_size", m.Size("size"), nil, at)
		g.fact("bits_per_weight", nil, m.Count("bits"), at)
		g.at("weights", at)
	}
}

func (g *ggmlReader) mention(m text.Match, group string, weight, at int) {
	name := strings.Trim(strings.TrimSpace(m.Text(group)), `'"`)
	if i := strings.LastIndex(strings.ToLower(name), ".gguf"); i > 0 {
		name = name[:i+len(".gguf")]
	}
	if name != "" && !strings.Contains(name, "sha256-") {
		g.f.Models = append(g.f.Models, fact.ModelMention{Name: name, Line: g.l.Line(at), Weight: weight})
	}
}

// generalName stands at the end of its line.
func (g *ggmlReader) generalName(at int) {
	_, to := g.l.LineSpan(at)
	if m := g.l.Find(nameLine, at, min(to, at+120)); m.Ok() {
		g.mention(m, "name", 2, at)
	}
}

func (g *ggmlReader) loadedFrom(at int) {
	_, to := g.l.LineSpan(at)
	if m := g.l.Find(fromLine, at, to); m.Ok() {
		g.mention(m, "path", 3, at)
	}
	g.at("weights", at)
}

func (g *ggmlReader) modelInQuotes(at int) {
	if m := g.find(quotedModel, at, 0, 380); m.Ok() {
		g.mention(m, "path", 3, at)
	}
}

// promptCache is llama-server's cache of prompts in system memory (-cram,
// 8192 MiB unless set, since 2025-10).
func (g *ggmlReader) promptCache(at int) {
	g.f.Stages = append(g.f.Stages, fact.Stage{Phase: "inference", Line: g.l.Line(at)})
	if m := g.find(promptState, at, 0, 120); m.Ok() {
		g.fact("prompt_cache", m.Size("size"), nil, at)
	}
}

func (g *ggmlReader) loading(at int) {
	if g.stage == "" {
		g.at("weights", at)
	}
}

func (g *ggmlReader) layoutBackoff(at int) {
	g.retrying(noticeLayout, "A layout that Ollama tried did not fit; it went on with fewer layers on the card and came to work.", at)
}

func (g *ggmlReader) lookalike(id string, at int, title, advice string) {
	g.f.Lookalikes = append(g.f.Lookalikes, fact.Lookalike{ID: id, Line: g.l.Line(at), Title: title, Advice: advice})
}
