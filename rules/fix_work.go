package rules

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

var lowerContext = Fix{
	ID:    "lower_context",
	Title: "Shorten the context",
	Doc: paragraphs(
		"Every token of the context keeps keys and values in memory (the KV cache), so the cache grows in step with the length: what is fine at 2,000 tokens can be too much at 32,000. Many models announce 128,000 or more, and programs that take that figure reserve for all of it.",
		"Set what you need, not what the model can do: 4,096 to 8,192 for chat. The setting is called `--ctx-size` or `-c` (llama.cpp), `num_ctx` (Ollama), `--max-model-len` (vLLM), `max_seq_len` (ExLlama), `max_length` or `cutoff_len` (training).",
		"In training the length also multiplies the activations and the logits (tokens x vocabulary x 4 bytes: 8,192 tokens of Llama 3 are 3.91 GiB, several times over).",
	),
	Tradeoff: "Older parts of a long conversation or document are cut off.",
	Cost:     0.2,
	Check:    "It starts and answers a short prompt; then raise the length until about 1 GiB of the card is left.",
	Next:     "Keep the KV cache at 8 bit, or use a smaller quantisation to make room.",
	Steps:    stepsContext,
	Effect:   effectShorterPrompt,
}

var quantizeKvCache = Fix{
	ID:    "quantize_kv_cache",
	Title: "Keep the KV cache at 8 bit",
	Doc: paragraphs(
		"The KV cache is kept at 16 bit unless told otherwise. 8 bit halves it (q8_0: 0.53 of it), 4 bit takes 0.28. It saves nothing else: with a short context the cache is a few hundred MiB and there is little to win. llama.cpp prints its size as `KV self size` or `KV buffer size`.",
		"In llama.cpp a quantised V cache needs flash attention. Its name is `-ctk q8_0 -ctv q8_0` there, `OLLAMA_KV_CACHE_TYPE=q8_0` in Ollama, `--kv-cache-dtype fp8` in vLLM.",
	),
	Tradeoff: "Hardly any quality at 8 bit, some at 4 bit; a little speed.",
	Cost:     0.15,
	Check:    "The log shows the smaller cache, and the same prompt runs through.",
	Next:     "Shorten the context.",
	Steps:    stepsKVCache,
}

var enableFlashAttention = Fix{
	ID:    "enable_flash_attention",
	Title: "Turn flash attention on",
	Doc: paragraphs(
		"Plain attention writes a matrix of length x length for every head: 32 heads and 16,384 tokens are 16 GiB. Flash attention computes the same in small tiles and never writes it. What it saves is that matrix (llama.cpp: heads x context x batch x 4 bytes of the compute buffer), not the KV cache and not the weights.",
		"It needs a card and a build that support it: NVIDIA from Ampere on for the flash-attn package; llama.cpp has its own for most cards. PyTorch 2's `sdpa` does the same without another package, and is the default in newer transformers.",
	),
	Tradeoff: "None; usually faster.",
	Cost:     0.05,
	Check:    "The log says `flash_attn = 1` (llama.cpp), or the same input needs less: `torch.cuda.max_memory_allocated()`.",
	Next:     "Shorten the context or lower the batch.",
	Steps:    stepsFlashAttention,
	Useless:  func(c *Case) string { return uselessSetting(c, "on", "flash_attn", "flash_attention", "fa") },
}

var efficientAttention = Fix{
	ID:    "efficient_attention",
	Title: "Use a memory-efficient attention",
	Doc: paragraphs(
		"Attention written out by hand or set to `eager` keeps a matrix of length x length. PyTorch 2's `scaled_dot_product_attention` (`sdpa`) and xformers never do. For images the length is the number of patches, so plain attention grows with the *fourth* power of the side: half the side, a sixteenth of the memory.",
		"Where no efficient kernel exists for the card, the type or the mask, PyTorch silently falls back to the plain one: 16-bit types and no exotic mask avoid that. `enable_attention_slicing()` is for programs without sdpa and does nothing beside it.",
	),
	Tradeoff: "None; usually faster.",
	Cost:     0.1,
	Check:    "The request of the next message, if there is one, is far smaller.",
	Next:     "Lower the resolution or the length.",
	Steps:    stepsEfficientAttention,
}

var lowerBatchSize = Fix{
	ID:    "lower_batch_size",
	Title: "Lower the batch size",
	Doc: paragraphs(
		"What is computed on the way grows in step with the number of samples at a time. Start with 1 to see that it runs at all, then double it until about 1 GiB of the card is left. In training, accumulate gradients to keep the effective batch.",
		"Do not size it by the last request: \"Tried to allocate 20.00 MiB\" is only the last straw, rounded up. If it fails at batch 1 as well, it is the weights, the length or the image size.",
	),
	Tradeoff: "Slower per sample; in training the same result when gradients are accumulated.",
	Cost:     0.15,
	Check:    checkStep,
	Next:     "If it fails at batch 1: gradient checkpointing (training), a shorter length or smaller images, then a smaller model.",
	Steps:    stepsBatch,
	Effect:   effectBatch,
	Useless:  uselessBatch,
}

var lowerResolution = Fix{
	ID:    "lower_resolution",
	Title: "Lower the resolution or the number of frames",
	Doc: paragraphs(
		"Half of width and height is a quarter of the pixels, and a quarter of the memory for what is computed on them; with plain attention a sixteenth. For video the number of frames multiplies it. Work small, then scale the result up in tiles.",
		"Models are made for a size (512 for Stable Diffusion 1.5, 1024 for SDXL and FLUX): above it memory explodes and pictures get worse.",
	),
	Tradeoff: "Detail; scaling up afterwards brings most of it back.",
	Cost:     0.25,
	Check:    "The small size runs through; raise it in steps while about 1 GiB of the card stays free.",
	Next:     "Decode in tiles if it fails at the very end, else the low-memory mode.",
	Steps:    stepsResolution,
	Effect:   effectResolution,
}

var vaeTiling = Fix{
	ID:    "vae_tiling",
	Title: "Decode the image in tiles",
	Doc: paragraphs(
		"The last step of an image program, the VAE, turns the small latent image into pixels and needs several GiB at once for large ones. In tiles it needs the memory of one tile, whatever the size of the picture. It helps when the sampling runs to the end and the failure comes right after it.",
		"It does nothing for a failure while sampling.",
	),
	Tradeoff: "A little time; faint seams are possible.",
	Cost:     0.1,
	Check:    "The picture is finished; the peak after the last sampling step is lower.",
	Next:     "A smaller tile, the VAE at 16 bit, or on the processor.",
	Steps:    paste("python", "pipe.vae.enable_tiling()\npipe.vae.enable_slicing()   # for several images at a time"),
}

var lowerUbatch = Fix{
	ID:    "lower_ubatch",
	Title: "Lower the physical batch (-ub)",
	Doc: paragraphs(
		"llama.cpp reads a prompt in pieces of `-ub` tokens (512) and reserves a compute buffer for one piece: half of it, half of the buffer. It helps when the message is about the *compute buffer* or `graph_reserve`. Before March 2024 the same was `-b`.",
		"The logical batch `-b` (2048) costs next to nothing.",
	),
	Tradeoff: "Long prompts are read more slowly; answers come as fast.",
	Cost:     0.1,
	Check:    "The log's `compute buffer size` is smaller.",
	Next:     "Flash attention, then a shorter context.",
	Steps:    paste("shell", "llama-server -m model.gguf -b 256 -ub 256"),
}

var lowerParallel = Fix{
	ID:    "lower_parallel",
	Title: "Serve fewer requests at a time",
	Doc: paragraphs(
		"Every request in work keeps its own KV cache. Ollama multiplies the context by `OLLAMA_NUM_PARALLEL`; newer llama-server starts four slots by itself. One slot is enough for one person.",
	),
	Tradeoff: "Requests wait for each other.",
	Cost:     0.2,
	Check:    "The log's KV cache is smaller by the same factor.",
	Next:     "Shorten the context.",
	Steps:    paste("shell", "llama-server -m model.gguf --parallel 1   # Ollama: OLLAMA_NUM_PARALLEL=1 for the server"),
}

var lowerMaxNumSeqs = Fix{
	ID:    "lower_max_num_seqs",
	Title: "Lower the number of concurrent sequences",
	Doc: paragraphs(
		"vLLM warms its sampler up with as many sequences as it may serve at once (256, on large cards 1024): sequences x vocabulary x 4 bytes and more. On a small card, or with a large vocabulary, that alone fails. It also bounds how much KV cache is in use at a time, and how many CUDA graphs are captured.",
	),
	Tradeoff: "Fewer requests at a time; a single one is as fast.",
	Cost:     0.15,
	Check:    "The start gets past the warm-up and the profiling.",
	Next:     "Fewer batched tokens, or a smaller share of the card.",
	Steps:    stepsVLLM("--max-num-seqs 64"),
}

var lowerMaxBatchedTokens = Fix{
	ID:    "lower_max_batched_tokens",
	Title: "Lower the tokens of one batch",
	Doc: paragraphs(
		"`--max-num-batched-tokens` is how many tokens vLLM computes in one step, and its working memory follows it. 2048 is enough with chunked prefill; without it, the value has to be at least the context length.",
	),
	Tradeoff: "Long prompts take longer to their first token.",
	Cost:     0.15,
	Check:    "The start's profile shows a smaller peak of activations, and a larger KV cache.",
	Next:     "Fewer sequences, a shorter context.",
	Steps:    stepsVLLM("--max-num-batched-tokens 2048 --enable-chunked-prefill"),
}

var chunkedPrefill = Fix{
	ID:    "chunked_prefill",
	Title: "Read long prompts in pieces (chunked prefill)",
	Doc: paragraphs(
		"Without it a prompt of 30,000 tokens is computed at once, and the working memory is planned for that. In pieces of 2,048 tokens the plan is a fraction of it, and more is left for the KV cache. The newer vLLM engine (V1) always does it; in the older one it is on by itself only above 32,768 tokens.",
	),
	Tradeoff: "Little: long prompts take slightly longer.",
	Cost:     0.1,
	Check:    "The start says that chunked prefill is enabled.",
	Next:     "Fewer batched tokens.",
	Steps:    stepsVLLM("--enable-chunked-prefill --max-num-batched-tokens 2048"),
}

var enforceEager = Fix{
	ID:    "enforce_eager",
	Title: "Run without CUDA graphs",
	Doc: paragraphs(
		"CUDA graphs record the work for many batch sizes to start it faster, and take 0.2 to 1.5 GiB beside the planned memory; older versions do not count them in. Without them that memory is free. Fewer capture sizes are the middle way.",
	),
	Tradeoff: "10 to 30 % slower on small models, less on large ones.",
	Cost:     0.25,
	Check:    "The start no longer prints `Capturing CUDA graphs`.",
	Next:     "A smaller share of the card.",
	Steps:    stepsVLLM("--enforce-eager"),
}

var fixShape = Fix{
	ID:    "fix_shape",
	Title: "Look for the shape that is wrong",
	Doc: paragraphs(
		"A request of hundreds of GiB is no lack of memory: it is a tensor nobody meant. Typical are broadcasting `(N,)` against `(N, 1)`, which gives N x N; labels of the wrong type; one enormous sample among small ones; a length that overflowed.",
		"Print the shapes before the failing line, or run the step on one sample on the processor.",
	),
	Tradeoff: "An hour of looking.",
	Cost:     0.2,
	Check:    "The printed shapes are the ones you expect.",
	Next:     "If every shape is as meant, the algorithm needs the square of the input: use one that works in pieces.",
	Steps: paste("python", `for name, value in list(locals().items()):
    if hasattr(value, "shape"):
        print(name, tuple(value.shape), value.dtype)`),
}

func stepsContext(c *Case) []Step {
	if c.Training() {
		return []Step{{Kind: "python", Text: "tokenizer(text, truncation=True, max_length=1024)   # half of what you use now"}}
	}
	if writesScores(c) {
		return []Step{{Kind: "python", Text: "x = x[:, : x.shape[1] // 2]   # half the length: a quarter of this matrix"}}
	}
	return []Step{{Kind: "text", Text: "Set the context length to 4096 (`--ctx-size`, `num_ctx`, `--max-model-len`, `max_seq_len`, whichever your program has), then go up."}}
}

func stepsKVCache(c *Case) []Step {
	return []Step{{Kind: "python", Text: "output = model.generate(**inputs, cache_implementation=\"quantized\", cache_config={\"backend\": \"quanto\", \"nbits\": 4})   # 4 bit; pip install optimum-quanto"}}
}

func stepsFlashAttention(c *Case) []Step {
	return []Step{fromPretrained(c, "half = "+halfType(c)+"\n", dtypeArgument(c)+"=half", `device_map="auto"`, `attn_implementation="sdpa"   # or "flash_attention_2" with the flash-attn package`)}
}

func stepsEfficientAttention(c *Case) []Step {
	library := fromPretrained(c, "half = "+halfType(c)+"\n", dtypeArgument(c)+"=half", `device_map="auto"`, `attn_implementation="sdpa"`)
	fused := Step{Kind: "python", Text: "out = torch.nn.functional.scaled_dot_product_attention(q, k, v)   # PyTorch 2; instead of softmax(q @ k.T / sqrt(d)) @ v"}
	if returnsWeights(c) {
		return []Step{{Kind: "python", Text: "out, _ = attention(q, k, v, need_weights=False)   # nn.MultiheadAttention of PyTorch 2 writes no matrix then"}, {Kind: "python", Text: "# any version: 256 queries at a time\nout = torch.cat([attention(part, k, v)[0] for part in q.split(256, dim=1)], dim=1)   # batch_first=True"}}
	}
	if writesScores(c) {
		return []Step{fused, {Kind: "python", Text: "# any version: 256 queries at a time\nparts = [torch.softmax(part @ k.transpose(-2, -1) * k.shape[-1] ** -0.5, -1) @ v for part in q.split(256, dim=-2)]\nout = torch.cat(parts, dim=-2)"}}
	}
	return []Step{fused, library}
}

// batchSettings are the names under which programs show a batch size for one
// device.
var batchSettings = []string{
	"per_device_train_batch_size", "train_micro_batch_size_per_gpu", "per_device_batch_size", "train_batch_size", "micro_batch_size", "batch_size",
}

// sideDivisor is by how much to divide width and height so that the piece that
// failed fits what was free, 2 to 4; 2 where the figures do not say.
func sideDivisor(c *Case) int {
	for _, by := range [...]int{2, 3, 4} {
		if scaled(c, by*by, "") != nil {
			return by
		}
	}
	return 2
}

var sideWords = map[int]string{2: "half the", 3: "a third of", 4: "a quarter of"}

func stepsResolution(c *Case) []Step {
	text := "Halve width and height (or the number of frames) until it runs; keep them multiples of 64. Then scale the result up."
	if by := sideDivisor(c); by > 2 {
		text = fmt.Sprintf("Go to %s width and height, or 1/%d of the frames, and lower until it runs; keep them multiples of 64. Then scale the result up.", sideWords[by], by*by)
	}
	return []Step{{Kind: "text", Text: text}}
}

func effectResolution(c *Case) *Effect {
	by := sideDivisor(c)
	return scaled(c, by*by, fmt.Sprintf("At %s width and height", sideWords[by]))
}

func stepsBatch(c *Case) []Step {
	if s, ok := c.Setting(batchSettings...); ok && s.Value != "1" {
		if n := divided(s.Value, batchDivisor(c)); n > 0 {
			return []Step{{Kind: "config", Text: fmt.Sprintf("%s%s%d   # was %s", optionName(s), optionSeparator(s), n, s.Value)}}
		}
	}
	switch {
	case c.Training() && c.In("transformers"):
		return []Step{{Kind: "python", Text: "per_device_train_batch_size = 1\ngradient_accumulation_steps = 8   # the old batch size: keeps the effective batch"}}
	case c.Training():
		return []Step{{Kind: "python", Text: "loader = DataLoader(dataset, batch_size=1, shuffle=True)   # see that it runs at all, then double it"}}
	}
	return []Step{{Kind: "python", Text: "batch_size = 1   # see that it runs at all, then double it"}}
}

// batchDivisor is by how much the batch must shrink for the piece that failed
// to fit what was free, as a power of two up to 64; 2 where the figures do not
// say.
func batchDivisor(c *Case) int {
	for _, by := range [...]int{2, 4, 8, 16, 32, 64} {
		if scaled(c, by, "") != nil || tpuProgramAt(c, by) != nil {
			return by
		}
	}
	return 2
}

func effectBatch(c *Case) *Effect {
	by := batchDivisor(c)
	if e := tpuProgramAt(c, by); e != nil {
		return e
	}
	return scaled(c, by, map[int]string{2: "With half the batch", 4: "With a quarter of the batch", 8: "With an eighth of the batch", 16: "With a sixteenth of the batch", 32: "With 1/32 of the batch", 64: "With 1/64 of the batch"}[by])
}

// optionName is an option as it was typed, else its normalised name: letters,
// digits, "-" and "_" only.
func optionName(s fact.Setting) string {
	name := s.Flag
	if name == "" {
		name = s.Name
	}
	return strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return -1
	}, name)
}

func optionSeparator(s fact.Setting) string {
	if strings.HasPrefix(s.Flag, "-") {
		return " "
	}
	return " = "
}

func uselessBatch(c *Case) string {
	s, ok := c.Setting(batchSettings...)
	if ok && s.Value == "1" && !s.Default {
		return fmt.Sprintf("It is 1 already (line %d).", s.Line)
	}
	if c.Phase == "load" && c.Root(fact.TorchAlloc) && onCard(c) && c.Signal("training", "backward") == nil {
		return "It failed while the model was being loaded, before there was a batch."
	}
	return ""
}

// uselessSetting says that a switch is on already.
func uselessSetting(c *Case, on string, names ...string) string {
	s, ok := c.Setting(names...)
	if !ok || s.Default {
		return ""
	}
	switch strings.ToLower(s.Value) {
	case on, "1", "true", "enabled":
		return fmt.Sprintf("It is on already (line %d).", s.Line)
	}
	return ""
}
