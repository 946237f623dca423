package rules

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers"
)

// dialect is how one program on ggml spells the settings that matter for
// memory; %d stands for the value. An empty entry means that it has none.
type dialect struct {
	kind     string // of the step
	layers   string
	context  string
	batch    string // physical: what the compute buffer grows with
	flash    string
	cache    string // 8-bit KV cache, with the flash attention that it needs
	experts  string
	parallel string
	split    string
	mmap     string
}

var dialects = map[string]dialect{
	"llama.cpp": {
		kind: "shell", layers: "-ngl %d", context: "-c %d", batch: "-ub %d -b %[1]d", flash: "-fa on", cache: "-fa on -ctk q8_0 -ctv q8_0",
		experts: "--n-cpu-moe %d", parallel: "--parallel 1", split: "-ts %s", mmap: "remove --no-mmap (2026: --load-mode mmap)",
	},
	"llama-cpp-python": {
		kind: "python", layers: "n_gpu_layers=%d", context: "n_ctx=%d", batch: "n_batch=%d, n_ubatch=%[1]d", flash: "flash_attn=True", cache: "flash_attn=True, type_k=8, type_v=8  # 8 is GGML_TYPE_Q8_0",
		split: "tensor_split=[%s]", mmap: "use_mmap=True",
	},
	"node-llama-cpp": {
		kind: "config", layers: "loadModel({gpuLayers: %d})", context: "createContext({contextSize: %d})", batch: "createContext({batchSize: %d})", flash: "createContext({flashAttention: true})",
		parallel: "createContext({sequences: 1})", mmap: "loadModel({useMmap: true})",
	},
	"koboldcpp": {
		kind: "shell", layers: "--gpulayers %d", context: "--contextsize %d", batch: "--blasbatchsize %d  # --batchsize in newer versions", flash: "--flashattention", cache: "--flashattention --quantkv 1",
		experts: "--moecpu %d", split: "--tensor_split %s", mmap: "--usemmap",
	},
	"lm-studio": {
		kind: "ui", layers: "Load settings of the model: GPU Offload %d", context: "Load settings of the model: Context Length %d", batch: "Load settings of the model (advanced): Evaluation Batch Size %d",
		flash: "Load settings of the model (advanced): Flash Attention on", cache: "Load settings of the model (advanced): Flash Attention on, K and V Cache Quantization Type Q8_0",
		experts: "Load settings of the model (advanced): Number of layers for which to force MoE weights onto CPU: %d", mmap: "Load settings of the model (advanced): Try mmap() on", parallel: "Load settings of the model: Max Concurrent Predictions 1",
	},
}

// speaks is the dialect of a case.
func speaks(c *Case) dialect {
	for _, name := range [...]string{"lm-studio", "koboldcpp"} {
		if c.Framework == name {
			return dialects[name]
		}
	}
	for _, name := range [...]string{"node-llama-cpp", "llama-cpp-python"} {
		if c.Says(name) {
			return dialects[name]
		}
	}
	return dialects["llama.cpp"]
}

// step makes a step out of one setting. On a command line it edits the
// reader's own program and model.
func (d dialect) step(c *Case, setting string) Step {
	text := setting
	if d.kind == "shell" && d.layers == dialects["llama.cpp"].layers && strings.HasPrefix(setting, "-") {
		text = "llama-server -m " + shellQuote(modelFile(c)) + " " + setting
	}
	if d.kind == "shell" && strings.HasPrefix(setting, "--") && d.layers != dialects["llama.cpp"].layers {
		text = "koboldcpp --model " + shellQuote(modelFile(c)) + " " + setting
	}
	if d.kind == "python" {
		arguments, comment, found := strings.Cut(setting, "  # ")
		text = "llm = Llama(model_path=" + pyQuote(modelFile(c)) + ", " + arguments + ")"
		if found {
			text += "   # " + comment
		}
	}
	return Step{Kind: d.kind, Text: text}
}

func modelFile(c *Case) string {
	if c.Model == nil || c.Model.Name == "" {
		return "model.gguf"
	}
	return c.Model.Name
}

// era adapts flash attention to builds before September 2025, where -fa is a
// switch without a value.
func era(c *Case, setting string) string {
	if _, ok := c.Setting("flash_attn"); !ok || spelledInWords(c) {
		return setting
	}
	return strings.Replace(setting, "-fa on", "-fa", 1)
}

func spelledInWords(c *Case) bool {
	_, ok := c.Fact("words_for_flash_attn")
	return ok
}

// flashOn reports that flash attention was on already.
func flashOn(c *Case) bool {
	s, ok := c.Setting("flash_attn")
	return ok && (s.Value == "on" || s.Value == "true" || s.Value == "1")
}

// quantisedCache reports that the KV cache is below 16 bit already.
func quantisedCache(c *Case) bool {
	s, ok := c.Setting("cache_type_k")
	return ok && strings.HasPrefix(s.Value, "q")
}

var llamaSteps = map[string]func(*Case) []Step{
	"fewer_gpu_layers": llamaLayers,
	"moe_cpu_offload": func(c *Case) []Step {
		d := speaks(c)
		if d.experts == "" {
			return []Step{{Kind: "text", Text: "Keep the experts in system memory: llama.cpp's `--n-cpu-moe N` (August 2025 on), before that `-ot \"exps=CPU\"`."}}
		}
		layers, _, ok := expertLayers(c)
		if !ok {
			layers = 99
			if x, ok := c.Fact("n_layer"); ok {
				layers = int64(x.Count.Value)
			}
		}
		return []Step{d.step(c, fmt.Sprintf(d.experts, layers))}
	},
	"lower_context": llamaContext,
	"lower_ubatch": func(c *Case) []Step {
		d := speaks(c)
		return []Step{d.step(c, fmt.Sprintf(d.batch, batchToTry(c)))}
	},
	"lower_batch_size": func(c *Case) []Step {
		d := speaks(c)
		if d.kind == "shell" && d.layers == dialects["llama.cpp"].layers {
			return []Step{d.step(c, "-b 512")}
		}
		return []Step{d.step(c, fmt.Sprintf(d.batch, min(batchToTry(c), 512)))}
	},
	"enable_flash_attention": func(c *Case) []Step {
		if diffuses(c) {
			return []Step{{Kind: "shell", Text: "sd -m model.gguf --diffusion-fa"}}
		}
		d := speaks(c)
		return []Step{d.step(c, era(c, d.flash))}
	},
	"quantize_kv_cache": func(c *Case) []Step {
		d := speaks(c)
		if d.cache == "" {
			return []Step{{Kind: "text", Text: "Use an 8-bit KV cache where the program offers one; node-llama-cpp does not, llama-server does: `-fa on -ctk q8_0 -ctv q8_0`."}}
		}
		return []Step{d.step(c, era(c, d.cache))}
	},
	"lower_parallel": func(c *Case) []Step {
		d := speaks(c)
		if d.parallel == "" {
			return []Step{{Kind: "text", Text: "Use one sequence at a time."}}
		}
		return []Step{d.step(c, d.parallel)}
	},
	"balance_split":   llamaSplit,
	"use_lower_quant": llamaQuant,
	"use_mmap": func(c *Case) []Step {
		d := speaks(c)
		return []Step{{Kind: "text", Text: "Let the file be mapped: " + d.mmap}}
	},
	"raise_memory_limit": llamaLimit,
	"select_gpu":         llamaSelect,
	"upgrade_version":    llamaUpgrade,
	"raise_pagefile": func(*Case) []Step {
		return []Step{{Kind: "ui", Text: "Windows: System > About > Advanced system settings > Performance: Settings > Advanced > Virtual memory: Change. Tick \"Automatically manage\", or set a custom size of 1.5 times the RAM on a disk with room. Restart."}}
	},
	"vae_tiling": func(*Case) []Step {
		return []Step{{Kind: "shell", Text: "sd -m model.gguf --vae-tiling --diffusion-fa"}}
	},
	"cpu_offload": func(c *Case) []Step {
		if diffuses(c) {
			return []Step{{Kind: "shell", Text: "sd -m model.gguf --offload-to-cpu --vae-on-cpu --clip-on-cpu"}}
		}
		return []Step{speaks(c).step(c, fmt.Sprintf(speaks(c).layers, layersToKeep(c)))}
	},
	"lower_resolution": func(*Case) []Step { return []Step{{Kind: "shell", Text: "sd -m model.gguf -W 512 -H 512"}} },
}

// llamaLayers leaves layers in system memory; all of them where the card is
// the processor in disguise.
func llamaLayers(c *Case) []Step {
	d := speaks(c)
	if softwareDevice(c) {
		switch d.layers {
		case dialects["node-llama-cpp"].layers:
			return []Step{{Kind: d.kind, Text: "getLlama({gpu: false})"}}
		case dialects["llama.cpp"].layers:
			return []Step{d.step(c, "--device none")}
		}
		return []Step{d.step(c, fmt.Sprintf(d.layers, 0))}
	}
	set := fmt.Sprintf(d.layers, layersToKeep(c))
	if c.Failure.Stage != "kv" {
		return []Step{d.step(c, set)}
	}
	return d.withFlash(c, set, budget(c).Context)
}

// llamaContext shortens the context.
func llamaContext(c *Case) []Step {
	d := speaks(c)
	n := contextToTry(c)
	return d.withFlash(c, fmt.Sprintf(d.context, n), n)
}

// withFlash sets flash attention too where it is off: the matrix of attention
// over a context comes on top of the cache.
func (d dialect) withFlash(c *Case, set string, context int64) []Step {
	switch call, rest, ok := strings.Cut(d.flash, "({"); {
	case scores(c, context) == 0 || d.flash == "":
	case d.kind == "shell":
		set += " " + era(c, d.flash)
	case ok && strings.HasPrefix(set, call+"({"):
		set = strings.TrimSuffix(set, "})") + ", " + rest
	default:
		return []Step{d.step(c, set), d.step(c, d.flash)}
	}
	return []Step{d.step(c, set)}
}

// whyShorter says on what the context rests, and what it costs besides its
// cache.
func whyShorter(c *Case) string {
	b := budget(c)
	n := contextToTry(c)
	var why []string
	if room, ok := roomUnknown(c, b); ok && c.Failure.Stage == "kv" && b.Refused > 0 && b.Context > n {
		why = append(why, fmt.Sprintf("%s, so start small: the cache for %d tokens takes %s instead of %s. If it starts, double it until it does not.", room, n, units.Format(proportion(b.Refused, n, b.Context)), units.Format(b.Refused)))
	}
	if matrix := scores(c, n); matrix > 0 && (c.Failure.Stage == "kv" || c.Failure.Stage == "compute") {
		why = append(why, fmt.Sprintf("Two changes together: flash attention is off, and without it the matrix of attention takes %s in the compute buffer at %d tokens, beside the cache.", units.Format(matrix), n))
	}
	return strings.Join(why, " ")
}

// roomUnknown reports that a cache or a compute buffer was refused and nothing
// says how much would be granted, with a sentence for it.
func roomUnknown(c *Case, b ggmlBudget) (string, bool) {
	switch {
	case c.Failure.Stage != "kv" && c.Failure.Stage != "compute" || c.Root(parsers.GGMLLimit) || b.Free > 0:
		return "", false
	case inHost(c):
		return "The log does not say how much memory the computer has left", true
	}
	return "The log does not say how much of the device is left", true
}

// whyLayers says why no layer should go to a device that is the processor.
func whyLayers(c *Case) string {
	if !softwareDevice(c) {
		return ""
	}
	return "This Vulkan device is no card but a driver that computes on the processor (llvmpipe). What it takes is the computer's own memory, a second time beside the mapped file; nothing is lost without it. If there is a card in this computer, its Vulkan driver is missing."
}

// whyFlash says what flash attention frees.
func whyFlash(c *Case) string {
	b := budget(c)
	matrix := scores(c, b.Context)
	if matrix == 0 || c.Failure.Stage != "compute" {
		return ""
	}
	return fmt.Sprintf("It is off, and %s of the %s that were refused are the matrix of attention, which flash attention never builds.", units.Format(min(matrix, b.Refused)), units.Format(b.Refused))
}

var llamaWhys = map[string]func(*Case) string{"lower_context": whyShorter, "enable_flash_attention": whyFlash, "fewer_gpu_layers": whyLayers}

// effectFlash: what is left of a refused compute buffer.
func effectFlash(c *Case) *Effect {
	b := budget(c)
	limit := b.batchLimit(c)
	if !scoresFill(c) || limit <= 0 || inHost(c) {
		return nil
	}
	matrix := scores(c, b.Context)
	return b.effect(b.Refused-matrix, limit, fmt.Sprintf("%s less the matrix of attention of %s (heads x context x physical batch x 4 bytes).", units.Format(b.Refused), units.Format(matrix)))
}

// layersToKeep is the -ngl to paste: computed, else a few layers fewer, else a
// value to start from.
func layersToKeep(c *Case) int64 {
	if b, over, ok := aboveMetal(c); ok {
		if n, _, ok := b.dropUnder(over); ok {
			return b.Layers - n
		}
	}
	b := budget(c)
	if n, _, ok := b.keepAny(c.Failure.Stage); ok {
		return n
	}
	if _, none := b.noLayerFits(c.Failure.Stage); none {
		return 0
	}
	switch {
	case b.Layers > 4 && (c.Root(parsers.GGMLRuntime) || c.Failure.Stage == "kv" || c.Failure.Stage == "compute"):
		return b.Layers - max(2, b.Layers/16)
	case b.Layers > 4:
		return b.Layers * 3 / 4
	}
	return 20
}

// keepAny is keep or what drop leaves, by what was refused.
func (b ggmlBudget) keepAny(stage string) (layers, need int64, ok bool) {
	if stage == "kv" || stage == "compute" {
		n, need, ok := b.drop(stage == "kv")
		return b.Layers - n, need, ok
	}
	return b.keep()
}

// contextToTry is the context to paste: computed, else one that fits nearly
// anywhere, else half, else 4096.
func contextToTry(c *Case) int64 {
	if b, over, ok := aboveMetal(c); ok {
		if n, _, ok := b.contextUnder(over); ok {
			return n
		}
	}
	if b, graph, ok := besideGraph(c); ok {
		if n, _, ok := b.contextBeside(graph); ok {
			return n
		}
	}
	b := budget(c)
	if c.Failure.Stage == "kv" {
		if n, _, ok := b.contextThatFits(); ok {
			return n
		}
	}
	if b.Context == 0 {
		return 4096
	}
	if _, ok := roomUnknown(c, b); ok {
		return b.modestContext()
	}
	return b.halvedContext(b.batchLimit(c))
}

// modestContext is a start where nothing says how much there is: half of what
// was refused may be as much too long.
func (b ggmlBudget) modestContext() int64 {
	n := min(max(b.Context/4, 2048), 8192, b.Context/2)
	return max(n/256*256, 512)
}

// halvedContext halves the context until the buffer would clear a limit with a
// fifth to spare: part of a compute buffer does not depend on the context.
func (b ggmlBudget) halvedContext(limit int64) int64 {
	n := b.Context / 2
	for limit > 0 && n > 4096 && proportion(b.Refused, n, b.Context)*5 > limit*4 {
		n /= 2
	}
	return max(n/256*256, 512)
}

// batchToTry is the physical batch to paste.
func batchToTry(c *Case) int64 {
	b := budget(c)
	if n, _, ok := b.batchThatFits(b.batchLimit(c)); ok && c.Failure.Stage == "compute" {
		return n
	}
	return max(b.Batch/2, 64)
}

// batchLimit is what a compute buffer must stay below: what the device gives
// in one piece, or the room that is left.
func (b ggmlBudget) batchLimit(c *Case) int64 {
	if c.Root(parsers.GGMLLimit) {
		if b.Refused > 4*units.GiB {
			return 4 * units.GiB
		}
		return 0
	}
	return b.room()
}

// ggufLadder are the usual files of a model, the largest first.
var ggufLadder = []string{"Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K"}

// quantThatFits is the largest usual file of the model whose weights find room
// on the card, beside a cache and a compute buffer.
func quantThatFits(c *Case) (format string, need, have int64, ok bool) {
	free, _ := freeOfDevice(c)
	have = free - besideWeights
	if free == 0 || inHost(c) || severalDevices(c) {
		return "", 0, 0, false
	}
	for _, format := range ggufLadder {
		if need, ok := weightsIn(c, format); ok && need <= have {
			return format, need, have, true
		}
	}
	return "", 0, 0, false
}

func llamaQuant(c *Case) []Step {
	if format, need, _, ok := quantThatFits(c); ok {
		return []Step{{Kind: "text", Text: fmt.Sprintf("Download the %s file of %s (about %s) and load that with all layers on the card.", format, printable(c.ModelName()), units.Format(need))}}
	}
	if file, now, ok := fileThatFits(c); ok && estimated(c, "use_lower_quant") == nil {
		return []Step{{Kind: "text", Text: fmt.Sprintf("Download a smaller GGUF of the same model, of %s at most (the present one puts %s on the card): Q4_K_M, then IQ4_XS, Q3_K_M.", units.Format(file), units.Format(now))}}
	}
	return []Step{{Kind: "text", Text: "Download a smaller GGUF of the same model: Q4_K_M, then IQ4_XS, Q3_K_M. The file should be at least 1.5 GiB smaller than the card's free memory."}}
}

// llamaSplit takes weight off the card that is full.
func llamaSplit(c *Case) []Step {
	d := speaks(c)
	shares := splitShares(c)
	if d.split == "" || shares == "" {
		return []Step{{Kind: "text", Text: "Give the full card a smaller share of the layers (llama.cpp: `-ts 2,3`, in the order of the cards; the numbers are proportions)."}}
	}
	return []Step{d.step(c, fmt.Sprintf(d.split, shares))}
}

// splitShares writes the proportions for a command.
func splitShares(c *Case) string {
	list := shareList(c)
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = fmt.Sprint(s)
	}
	return strings.Join(parts, ",")
}

// shareList are proportions in the order of the devices, about GiB: the weights
// that each took, with what was refused taken off the failing card; free memory
// before loading where the weights did not come that far. It is nil where the
// log does not name every device.
func shareList(c *Case) []int64 {
	shares := splitOfWeights(c)
	if len(shares) < 2 {
		shares = freeByIndex(c)
	}
	if len(shares) < 2 || len(shares) > 16 {
		return nil
	}
	list := make([]int64, len(shares))
	for i := range list {
		bytes, ok := shares[i]
		if !ok {
			return nil
		}
		list[i] = max((bytes+units.GiB/2)/units.GiB, 1)
	}
	return list
}

// freeByIndex is what each device had before loading.
func freeByIndex(c *Case) map[int]int64 {
	free := map[int]int64{}
	for _, d := range c.Facts.Devices {
		if d.Free != nil && d.Index >= 0 {
			free[d.Index] = d.Free.Bytes
		}
	}
	return free
}

// weightsByIndex are the model buffers of the devices, and their sum.
func weightsByIndex(c *Case) (weights map[int]int64, sum int64) {
	weights = map[int]int64{}
	for _, b := range c.Facts.Buffers {
		index := strings.TrimLeft(b.Device, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
		if n, ok := whole(index); ok && b.Kind == "weights" {
			sum += b.Size.Bytes - weights[int(n)]
			weights[int(n)] = b.Size.Bytes
		}
	}
	return weights, sum
}

func splitOfWeights(c *Case) map[int]int64 {
	shares, _ := weightsByIndex(c)
	f := c.F()
	if f.Device == nil || shares[int(f.Device.Value)] <= 2*requested(c) {
		return nil
	}
	moved := requested(c)
	shares[int(f.Device.Value)] -= moved
	for i := range shares {
		if i != int(f.Device.Value) {
			shares[i] += moved / int64(max(len(shares)-1, 1))
		}
	}
	return shares
}

// llamaLimit raises what macOS lets the GPU take, or a container's limit.
func llamaLimit(c *Case) []Step {
	if refusedByAllocator(c) {
		return stepsAddressSpace(c)
	}
	if c.Backend == "metal" {
		return []Step{{Kind: "shell", Text: fmt.Sprintf("sudo sysctl iogpu.wired_limit_mb=%d   # macOS 14 and later, until the next restart; only if the RAM has it to spare", wiredLimit(c))}}
	}
	return []Step{{Kind: "text", Text: "In a container: raise its memory limit (`docker run -m 32g`, `resources.limits.memory` in Kubernetes, `MemoryMax=` in a systemd unit)."}}
}

// llamaSelect keeps a device out.
func llamaSelect(c *Case) []Step {
	names := map[string]string{"cuda": "CUDA_VISIBLE_DEVICES", "rocm": "HIP_VISIBLE_DEVICES", "vulkan": "GGML_VK_VISIBLE_DEVICES", "sycl": "ONEAPI_DEVICE_SELECTOR"}
	name, ok := names[c.Backend]
	if !ok {
		return []Step{{Kind: "shell", Text: "llama-server --list-devices"}, {Kind: "shell", Text: "llama-server --device CUDA0"}}
	}
	value := "0"
	if f := c.F(); f.Device != nil && f.Device.Value == 0 {
		value = "1"
	}
	if c.Backend == "sycl" {
		value = "level_zero:" + value
	}
	return []Step{{Kind: "env", Text: name + "=" + value}}
}

func llamaUpgrade(c *Case) []Step {
	switch {
	case c.Framework == "lm-studio":
		return []Step{{Kind: "ui", Text: "LM Studio: update the program, then Settings > Runtime: update the llama.cpp engine (or choose an earlier one, if this began with an update)."}}
	case c.Framework == "koboldcpp":
		return []Step{{Kind: "text", Text: "Take the newest koboldcpp from github.com/LostRuins/koboldcpp/releases."}}
	case c.Says("llama-cpp-python"):
		return []Step{{Kind: "shell", Text: "pip install -U --no-cache-dir llama-cpp-python"}}
	case c.Says("node-llama-cpp"):
		return []Step{{Kind: "shell", Text: "npm install node-llama-cpp@latest"}}
	}
	return []Step{{Kind: "text", Text: "Take the newest llama.cpp from github.com/ggml-org/llama.cpp/releases, or `git pull` and build again. Old GGML files (`.bin`) need a GGUF of the same model then."}}
}

var llamaChecks = map[string]string{
	"fewer_gpu_layers":       "The load line says `offloaded N/M layers to GPU` with your number, and a long prompt runs.",
	"lower_context":          "The log says `n_ctx` with your number, and the `KV buffer size` lines shrink with it.",
	"lower_ubatch":           "The log says `n_ubatch` with your number, and the `compute buffer size` shrinks with it.",
	"quantize_kv_cache":      "The KV line says `K (q8_0)` and `V (q8_0)`, about half of the size before.",
	"enable_flash_attention": "The log says `flash_attn = 1` or `enabled`, and the `compute buffer size` shrinks.",
	"moe_cpu_offload":        "The `CUDA0 model buffer size` shrinks while `offloaded N/M` stays; `nvidia-smi` shows room.",
}

var llamaEffects = map[string]func(*Case) *Effect{
	"enable_flash_attention": effectFlash,
	"lower_batch_size":       effectPoolBatch,
	"raise_memory_limit":     effectWiredLimit,
	"fewer_gpu_layers": func(c *Case) *Effect {
		if inHost(c) || c.Root(parsers.GGMLLimit) {
			return nil
		}
		b := budget(c)
		n, need, ok := b.keepAny(c.Failure.Stage)
		if !ok {
			return firstEffect(effectLayersUnder(c), effectNoLayer(c, b))
		}
		return b.effect(need, b.Free, fmt.Sprintf("%d of %d layers, each of about %s%s; %s are kept for the driver's context and the run-time pool. Layers differ somewhat in size.",
			n, b.Layers, units.Format(b.layerSize(c.Failure.Stage)), b.withCache(c.Failure.Stage), units.Format(b.reserve(c.Failure.Stage))))
	},
	"use_lower_quant": func(c *Case) *Effect {
		format, need, have, ok := quantThatFits(c)
		if !ok || c.Root(parsers.GGMLLimit) {
			return effectFileThatFits(c)
		}
		return &Effect{NeedBytes: need, HaveBytes: have, Fits: true, Basis: "estimate",
			Note: fmt.Sprintf("Weights of %s at %s, from its name; %s of the card are kept for context, cache and a short prompt.", printable(c.ModelName()), format, units.Format(besideWeights))}
	},
	"moe_cpu_offload": func(c *Case) *Effect {
		b := budget(c)
		layers, expert, ok := expertLayers(c)
		if !ok {
			return nil
		}
		need := b.Refused - layers*expert + b.KV + b.Compute + loadReserve
		return b.effect(need, b.Free, fmt.Sprintf("The experts of one layer take about %s (3 x n_embd x n_ff_exp x n_expert at the file's bits per weight); %d layers' experts go to system memory.", units.Format(expert), layers))
	},
	"lower_context": func(c *Case) *Effect {
		b := budget(c)
		n, need, ok := b.contextThatFits()
		if c.Failure.Stage != "kv" || inHost(c) {
			return firstEffect(effectContextUnder(c), effectContextBeside(c))
		}
		if least := int64(1024); !ok && b.Free > 0 && b.Context > least && b.Refused > 0 && b.room() < proportion(b.Refused, least, b.Context) {
			return b.effect(proportion(b.Refused, least, b.Context), max(b.room(), 0), fmt.Sprintf("Not even %d tokens find room beside the weights; %s are kept for the driver's context and the compute buffer. Layers have to leave the card.", least, units.Format(contextReserve+b.Compute)))
		}
		if !ok {
			return nil
		}
		return b.effect(need, b.room(), fmt.Sprintf("The cache is linear in the context: %s for %d tokens make %s for %d. %s are kept for the driver's context and the compute buffer.", units.Format(b.Refused), b.Context, units.Format(need), n, units.Format(contextReserve+b.Compute)))
	},
	"quantize_kv_cache": func(c *Case) *Effect {
		b := budget(c)
		if c.Failure.Stage != "kv" || inHost(c) || b.room() <= 0 || b.Refused == 0 || quantisedCache(c) {
			return firstEffect(effectCacheUnder(c), effectCacheBeside(c))
		}
		return b.effect(proportion(b.Refused, 17, 32), b.room(), "q8_0 takes 17/32 of 16 bit.")
	},
	"lower_ubatch":  effectBatchOfGraph,
	"balance_split": effectSplit,
}

// reserve is what the arithmetic keeps free: more where weights were refused,
// for there the compute buffer is still to come.
func (b ggmlBudget) reserve(stage string) int64 {
	if stage == "kv" || stage == "compute" {
		return contextReserve
	}
	return loadReserve
}

// withCache says whether a layer's size holds its part of the cache, where the
// weights were refused and the cache was still to come.
func (b ggmlBudget) withCache(stage string) string {
	switch {
	case stage == "kv" || stage == "compute":
		return ""
	case b.KV == 0:
		return " without its part of the KV cache, which the log does not tell"
	case b.Compute == 0:
		return " with its part of the KV cache"
	}
	return fmt.Sprintf(" with its part of the KV cache for %d tokens, beside %s of compute buffer", b.Context, units.Format(b.Compute+b.Output))
}

func (b ggmlBudget) layerSize(stage string) int64 {
	if stage == "weights" || b.Weights == 0 {
		return b.perLayer()
	}
	return b.Weights / b.Layers
}

// effect states the arithmetic; what the log does not state is said.
func (b ggmlBudget) effect(need, have int64, note string) *Effect {
	basis := "log"
	if b.Assumed != "" {
		basis, note = "estimate", note+" Counted on "+b.Assumed+"."
	}
	return &Effect{NeedBytes: need, HaveBytes: have, Fits: need <= have, Basis: basis, Note: note}
}

var llamaUseless = map[string]func(*Case) string{
	"fewer_gpu_layers": func(c *Case) string {
		switch {
		case c.Root(parsers.GGMLPool, parsers.GGMLPlan):
			return "A buffer inside the program is too small; the card is not involved."
		case ggmlRefused(c) && inHost(c):
			return "System memory was refused: what leaves the card goes there, so that fewer layers on the card make it worse."
		case c.Root(parsers.OllamaSystem):
			return "The check is about system memory: what leaves the card goes there, so that fewer layers on the card make it worse."
		case c.Root(parsers.GGMLLimit) && c.Failure.Stage == "compute":
			return "One buffer is larger than the device gives in a piece; it stays as large with fewer layers."
		}
		return ""
	},
	"quantize_kv_cache": func(c *Case) string {
		switch {
		case quantisedCache(c):
			return "The KV cache is quantised already."
		case c.Root(parsers.GGMLPool, parsers.GGMLPlan):
			return "A buffer inside the program is too small, not the cache."
		case ggmlRefused(c, "state"):
			return "The recurrent state is kept at 32 bit; only the KV cache can be quantised."
		}
		return ""
	},
	"enable_flash_attention": func(c *Case) string {
		if flashOn(c) {
			return "Flash attention is on already."
		}
		return ""
	},
	"use_lower_quant": func(c *Case) string {
		if c.Root(parsers.GGMLPool, parsers.GGMLPlan) {
			return "A buffer inside the program is too small; how large the weights are does not matter."
		}
		return ""
	},
	"lower_ubatch": func(c *Case) string {
		if c.Root(parsers.GGMLAlloc) && c.Failure.Stage == "weights" {
			return "The weights did not load; the batch is not allocated yet at that point."
		}
		return ""
	},
	"lower_context": func(c *Case) string {
		if c.Root(parsers.GGMLAlloc) && c.Failure.Stage == "weights" {
			return "The weights did not load; the context is not allocated yet at that point."
		}
		if f := c.F(); f.Context != nil && f.Context.Value <= 2048 && ggmlRefused(c) {
			return fmt.Sprintf("The context is %s tokens already; there is next to nothing to win.", f.Context.Text)
		}
		return ""
	},
}

// mmapRefused: the file itself could not be mapped. That takes address space,
// no memory, so a limit on address space (ulimit -v, LimitAS) is what refused.
func mmapRefused(c *Case) bool {
	return c.contains("mmap failed: cannot allocate memory")
}
