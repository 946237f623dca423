package textgen

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/webui"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	exllamaV2   = "https://github.com/turboderp-org/exllamav2/blob/master/exllamav2/"
	exllamaV3   = "https://github.com/turboderp-org/exllamav3/blob/master/exllamav3/"
	tabbyConfig = "https://github.com/theroyallab/tabbyAPI/blob/main/config_sample.yml"
)

const exllamaMeans = "ExLlama loads the model layer by layer, each with its part of the KV cache for the full context length. The GPU was full before the last layer.[[ The weights take about {weights}.]][[ For {name} the KV cache takes {eight} for 8192 tokens and {long} for 32768 (at 16 bit).]]"

// exllamaSizes is what the cache of the log's model takes.
func exllamaSizes(c *ledger.Case) map[string]string {
	out := map[string]string{"weights": bitsTake(c), "name": "", "each": "", "eight": "", "long": "", "huge": "", "small": "", "less": ""}
	if c.Model == nil {
		return out
	}
	m := fit.Find(c.Model.Name)
	if m.Model == nil {
		return out
	}
	each := m.Model.KVPerToken("f16")
	if each <= 0 {
		return out
	}
	out["name"], out["each"] = quote.Told(c.Model.Name), units.Amount(each)
	n, _ := strconv.ParseInt(shorterContext(c), 10, 64)
	out["eight"], out["long"] = units.Amount(8192*each), units.Amount(32768*each)
	out["less"], out["small"] = strconv.FormatInt(n, 10), units.Amount(n*each)
	if n := int64(m.Model.Context); n > 65536 {
		out["huge"] = fmt.Sprintf("The model itself goes to %d tokens: %s.", n, units.Amount(n*each))
	}
	return out
}

// atBits is what the weights take at the bits that the model's name says, in GiB.
func atBits(c *ledger.Case) (gib, bits float64) {
	bits, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimPrefix(ledger.Quantised(c), "exl2-"), "exl3-"), 64)
	if err != nil || bits < 1 || bits > 8 || c.Model == nil {
		return 0, 0
	}
	return float64(c.Model.Parameters) * bits / 8 / float64(units.GiB), bits
}

func bitsTake(c *ledger.Case) string {
	gib, bits := atBits(c)
	switch {
	case gib <= 0:
		return ""
	case heavyBits(c):
		return fmt.Sprintf("%.0f GiB (at %g bits), too much for one GPU of 24 GB", gib, bits)
	}
	return fmt.Sprintf("%.0f GiB (at %g bits)", gib, bits)
}

// heavyBits: the weights alone fill a card of 24 GB, the largest usual one.
func heavyBits(c *ledger.Case) bool { gib, _ := atBits(c); return gib > 22 }

// bitsFirst puts fewer bits before a shorter cache where those weights fill a card.
func bitsFirst(more ...cause.Cure) []cause.Cure {
	return append([]cause.Cure{where(heavyBits, exllamaBits)}, append(more, where(when.Not(heavyBits), exllamaBits))...)
}

var exllamaBits = cause.Cure{
	Fix: "use_lower_quant", Title: "Use a build with fewer bits per weight", Told: "Download another build of the same model for your loader (EXL2 for ExLlamaV2, EXL3 for ExLlamaV3). One bit less saves 0.12 GB for each billion parameters.", Cost: "loss of quality below 4 bits",
}

// inExLlama is a cure for TabbyAPI's file, or for the loader's scripts and code.
func inExLlama(fix, title, told, cost string, tabby func(c *ledger.Case) string, script func(c *ledger.Case) string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Told: told, Cost: cost, Steps: func(c *ledger.Case) []step.Step {
		if c.In("tabbyapi") {
			return []step.Step{{Kind: "config", Text: "model:   # in config.yml, then restart\n  " + tabby(c)}}
		}
		return []step.Step{{Kind: "python", Text: script(c)}}
	}}
}

var (
	exllamaShorter = inExLlama("lower_context", "Shorten the context (cache length)", "", "longer chats are cut",
		func(c *ledger.Case) string {
			n := shorterContext(c)
			half := ""
			if _, ok := c.Setting("max_seq_len", "cache_size", "ctx_size"); !ok {
				half = "   # or half of what is set now"
			}
			return "max_seq_len: " + n + half + "\n  cache_size: " + n
		},
		func(c *ledger.Case) string {
			n := shorterContext(c)
			if loaderV3(c) {
				return "cache = Cache(model, max_num_tokens=" + n + ")   # in the scripts: -cs " + n
			}
			return "cache = ExLlamaV2Cache(model, max_seq_len=" + n + ", lazy=True)   # in the scripts: -l " + n
		})
	exllamaSmaller = inExLlama("quantize_kv_cache", "Use a quantised KV cache", "8 bit takes about half of 16 bit, 4 bit a quarter.", "hardly any loss of quality at 8 bit",
		func(c *ledger.Case) string {
			if loaderV3(c) {
				return "cache_mode: \"8,8\"   # or \"4,4\""
			}
			return "cache_mode: Q8   # or Q4; ExLlamaV3: \"8,8\", \"4,4\""
		},
		func(c *ledger.Case) string {
			if loaderV3(c) {
				return "cache = Cache(model, max_num_tokens=8192, layer_type=CacheLayer_quant, k_bits=8, v_bits=8)   # max_num_tokens as you have it; in the scripts: -cq 8"
			}
			return "cache = ExLlamaV2Cache_Q8(model, max_seq_len=8192, lazy=True)   # or _Q4; the length as you have it; examples/chat.py: -cq8"
		})
)

// mixture: by its name the model is a mixture of experts ("30B-A3B", "8x7B").
func mixture(c *ledger.Case) bool {
	return c.Model != nil && (expertsInName.MatchString(c.Model.Name) || ledger.Named(c).Model != nil && ledger.Named(c).Model.MoE != nil)
}

var expertsInName = regexp.MustCompile(`(?i)-a\d+(?:\.\d+)?b|\dx\d+b|moe|flash-next`)

// exllamaExperts computes experts on the processor, which TabbyAPI hands on to
// ExLlamaV3 since 2026.
var exllamaExperts = inExLlama("moe_cpu_offload", "With a mixture-of-experts (MoE) model: keep some experts in RAM", "Raise the number of layers until it loads (999 is all). It does not work with tensor parallelism.", "slower",
	func(*ledger.Case) string { return "cpu_moe_offload_layers: 20" },
	func(*ledger.Case) string {
		return "config.infer_params.moe_cpu_offload = 20   # before the model is loaded; in the scripts: -mcl 20"
	})

// loaderV3: ExLlamaV3, whose classes have other names.
func loaderV3(c *ledger.Case) bool { return c.Near("exllamav3/", "in split for model and cache") }

// as is a cure whose step is the program's own.
func as(fix, title, cost string) cause.Cure { return cause.Cure{Fix: fix, Title: title, Cost: cost} }

// exllamaCards are ExLlama's and TabbyAPI's.
var exllamaCards = []cause.Card{
	{
		ID: "tabbyapi/after-unload", Kinds: append([]fact.Kind{fact.ExLlamaSplit}, torchFull...), Said: []string{"Unloading existing model", "Model unloaded."},
		If:    func(c *ledger.Case) bool { return c.In("tabbyapi") && c.Phase == "load" && !ledger.Crowded(c) },
		Cause: cause.RetainedMemory, Weight: cause.Strong, Headline: "could not load this model after it had unloaded another one",
		Means: "This server had another model loaded before. Not all of that model's GPU memory is always freed within the same process.[[ This process held {mine} of {total} when it failed.]] If a fresh start fails too, this model and its cache are too large together.",
		Not:   "Offloading layers to RAM: ExLlama runs on GPUs only.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Restart TabbyAPI, and load this model first", Told: "Set it as `model_name` in config.yml, so that it is loaded first. `inline_model_loading: false` stops clients from switching models.", Cost: "a minute"},
			exllamaSmaller, exllamaShorter,
			{Fix: "use_smaller_model", Title: "With a draft model or vision: turn them off", Told: "In config.yml leave `draft_model_name` empty, and set `vision: false`. Both need GPU memory beside the model.", Cost: "slower answers; no images"},
		},
		Sources: []string{"https://github.com/theroyallab/tabbyAPI/blob/main/common/model.py", tabbyConfig},
	},
	{
		ID: "exllama/no-room-v3", Kinds: []fact.Kind{fact.ExLlamaSplit}, Said: []string{"exllamav3/", "in split for model and cache"}, Figures: exllamaSizes,
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "could not fit weights and KV cache together on the GPU",
		Means:    exllamaMeans + " A `gpu_split` that is too small, or a large `autosplit_reserve`, has the same effect.",
		Not:      "Offloading dense layers to RAM: ExLlama keeps them on GPUs.",
		Cures:    bitsFirst(where(mixture, exllamaExperts), exllamaShorter, exllamaSmaller, where(when.Not(mixture), exllamaExperts)),
		Later:    "Another program on the GPU has the same effect: check `nvidia-smi` before you load.",
		Sources:  []string{exllamaV3 + "model/model_ls.py", exllamaV3 + "model_init.py", tabbyConfig, "https://github.com/theroyallab/tabbyAPI/issues/475", "https://github.com/turboderp-org/exllamav3/issues/361"},
	},
	{
		ID: "exllama/no-room", Kinds: []fact.Kind{fact.ExLlamaSplit}, Figures: exllamaSizes,
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "could not fit weights and KV cache together on the GPU",
		Means:    exllamaMeans,
		Not:      "Offloading layers to RAM: ExLlama runs on GPUs only.",
		Cures:    bitsFirst(exllamaShorter, exllamaSmaller),
		Later:    "Another program on the GPU has the same effect: check `nvidia-smi` before you load.",
		Sources:  []string{exllamaV2 + "model.py", exllamaV2 + "cache.py", tabbyConfig},
	},
	{
		ID: "exllama/scratch", Kinds: torchFull, Said: []string{"context.prepare(scratch)", "in get_device_context", "get_device_context"}, If: func(c *ledger.Case) bool { return c.Total.Has() && c.Mine.Bytes*10 > c.Total.Bytes*7 },
		Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "found the GPU already filled by its own process when it began to load a model there",
		Means:    "ExLlamaV2 had just begun to load on this GPU, and this process already held {mine} of {total} there. Probably another model or a draft model is still loaded, for example because two requests asked for different models. Otherwise the split puts too much on this GPU.",
		Not:      "Ending other programs: this process holds most of the GPU.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Restart, and load one model only", Told: "The GPUs should be nearly empty before it loads. If it works then, unload before you switch models (TabbyAPI: `POST /v1/model/unload`), or leave out the draft model. `inline_model_loading: false` in TabbyAPI's config.yml stops clients from switching.", Steps: func(c *ledger.Case) []step.Step {
				stop := "nvidia-smi   # after the program was ended"
				if c.Signal(fact.InContainer) != nil {
					stop = "docker compose restart tabbyapi   # the service's name in your compose file\nnvidia-smi"
				}
				return []step.Step{{Kind: "shell", Text: stop}}
			}, Cost: "free"},
			inExLlama("balance_split", "If one model alone fails: leave room on that GPU", "", "only if the other GPU has room", func(c *ledger.Case) string {
				return "gpu_split_auto: true   # with gpu_split by hand: less for that GPU\n  autosplit_reserve: [96, 1024]   # MB, a number for each GPU"
			}, func(c *ledger.Case) string {
				return "model.load_autosplit(cache, reserve_vram=[256 * 2**20, 1024 * 2**20])   # bytes, a number for each GPU"
			}),
			inExLlama("quantize_kv_cache", "Use a quantised KV cache and a shorter context", "", "hardly any loss of quality at 8 bit", func(c *ledger.Case) string {
				return "cache_mode: Q8   # half of FP16; Q4: a quarter\n  max_seq_len: " + shorterContext(c) + "   # or what your chats need"
			}, func(c *ledger.Case) string {
				return "cache = ExLlamaV2Cache_Q8(model, max_seq_len=" + shorterContext(c) + ", lazy=True)   # or _Q4"
			}),
		},
		Sources: []string{exllamaV2 + "device.py", exllamaV2 + "model.py", tabbyConfig, "https://github.com/theroyallab/tabbyAPI/issues/304"},
	},
	{
		ID: "exllama/cache", Kinds: torchFull, Said: []string{"in create_state_tensors", "exllamav2/cache.py", "exllamav3/cache/"}, Figures: exllamaSizes,
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "ran out of GPU memory for the KV cache",
		Means:    "ExLlama allocates the KV cache at once, for the full context length.[[ For {name} it takes {eight} for 8192 tokens and {long} for 32768 (at 16 bit).]] If you set no length, it uses the model's maximum (TabbyAPI of 2026: 4096 tokens).",
		Not:      "Offloading to RAM: ExLlama runs on GPUs only.",
		Cures:    bitsFirst(exllamaShorter, exllamaSmaller),
		Sources:  []string{exllamaV2 + "cache.py", exllamaV2 + "model_init.py", tabbyConfig},
	},
	{
		ID: "exllama/killed", Kinds: webui.Killed, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was killed while it loaded: system memory (RAM), not GPU memory",
		Means:    "The log ends without an error, so the system probably killed the program because RAM was full. In a container or WSL their own memory limit counts. The weights pass through RAM file by file while loading.",
		Not:      "A shorter context or a quantised cache: they save GPU memory, not RAM.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the memory limit", Ways: []cause.Way{
				{For: "Docker", Text: "raise or remove `mem_limit:` in the compose file (`--memory` with `docker run`)"},
				{For: "WSL", Text: "set `memory=` under `[wsl2]` in `C:\\Users\\YOU\\.wslconfig`, then `wsl --shutdown`; the default is half of the RAM"},
				{For: "Linux", Text: "add swap: `sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile`"},
			}, Cost: "less for the others"},
			exllamaBits,
			{Fix: "close_other_apps", Title: "Load one model at a time", Told: "Stop a second server, and unload a model before you load the next (TabbyAPI: `POST /v1/model/unload`). `sudo dmesg -T | grep -i oom` on the host shows what was killed.", Cost: "free"},
		},
		Sources: []string{exllamaV2 + "stloader.py", tabbyConfig},
	},
	{
		ID: "exllama/mmap", Kinds: []fact.Kind{fact.MmapFailed}, Figures: textgenSizes,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "could not map the weights file: a limit on system memory, not the GPUs",
		Means:    "Linux refused to map the weights file, before any of it reached a GPU. By default it refuses a mapping that is larger than RAM and swap together, although little of it would be used at once. A set `ulimit -v`, or `vm.overcommit_memory` at 2, has the same effect.",
		Not:      "Another GPU split: no GPU was used yet.",
		Later:    "If the GPUs run full next: the split counts only the weights, so leave 1 to 2 GB of each free.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Allow the mapping: `vm.overcommit_memory=1`", Told: "`sysctl` lasts until the next restart (for a container run it on the host); `ulimit` counts in this terminal:", Kind: "shell", Text: "free -h; ulimit -v; sysctl vm.overcommit_memory\nsudo sysctl -w vm.overcommit_memory=1\nulimit -v unlimited", Cost: "if RAM really runs out, a program is killed"},
			{Fix: "add_swap", Title: "Or add swap, until RAM and swap are larger than the file", Kind: "shell", Text: "sudo fallocate -l 48G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "48 GB of disk"},
			{Fix: "use_smaller_model", Title: "Use a build with weights in several files", Told: "They are mapped one by one. Large EXL2 builds (ExLlamaV2) and EXL3 builds (ExLlamaV3) usually have several.", Cost: "a download and a newer program"},
		},
		Sources: []string{"https://docs.kernel.org/mm/overcommit-accounting.html", "https://github.com/turboderp/exllama/issues/193"},
	},
	noFlash("exllama/no-flash", exllamaShorter, exllamaSmaller),
	{
		ID: "exllama/generate", Kinds: torchFull, Said: []string{"exllamav2/generator", "exllamav3/generator", "in generate_simple", "in prefill", "in begin_stream_ex"},
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "loaded the model, then ran out of GPU memory on a prompt",
		Means:    "Weights and KV cache already have their full size. The work on the prompt needed {asked} more; {room} was left. By default prompts are read in chunks of 2048 tokens; smaller chunks need less.",
		Not:      "A shorter answer: the KV cache has its full size from the start.",
		Cures: []cause.Cure{
			inExLlama("lower_ubatch", "Lower the prompt chunk size", "", "slower prompts", func(*ledger.Case) string { return "chunk_size: 512" }, func(*ledger.Case) string {
				return "config.max_input_len = 512\nconfig.max_attention_size = 512 ** 2   # before the model is made"
			}),
			exllamaShorter, exllamaSmaller,
		},
		Sources: []string{exllamaV2 + "config.py", tabbyConfig},
	},
	{
		ID: "exllama/autosplit", Kinds: torchFull, Said: []string{"in load_autosplit_gen", "in load_autosplit"}, Unsaid: []string{"generator/", "get_device_context"}, If: func(c *ledger.Case) bool { return c.Near("in forward") && c.Backend == "rocm" },
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "did not load: the automatic split filled one GPU and did not go on to the next",
		Means:    "The automatic split loads layers until one GPU is full, then goes on to the next. ExLlamaV2 before 0.0.9 (November 2023) did not recognise ROCm's out-of-memory message, and stopped here. With only one GPU, the model is too large for it.",
		Cures: []cause.Cure{
			inExLlama("balance_split", "Split by hand: `gpu_split`", "The numbers are GB of weights for each GPU: 2 to 4 below its size, less on the first. This is for two GPUs with 24 GB:", "a few trials", func(*ledger.Case) string {
				return "gpu_split_auto: false\n  gpu_split: [20, 22]"
			}, func(*ledger.Case) string {
				return "model.load(gpu_split=[20, 22])   # instead of load_autosplit; in the scripts: -gs 20,22"
			}),
			{Fix: "upgrade_version", Title: "Update ExLlamaV2", Kind: "shell", Text: "pip install -U exllamav2", Cost: "a rebuild on ROCm"},
			exllamaShorter,
		},
		Sources: []string{exllamaV2 + "model.py", "https://github.com/turboderp-org/exllamav2/issues/166", "https://github.com/turboderp-org/exllamav2/commit/cb33b33"},
	},
	{
		ID: "exllama/load", Kinds: torchFull, Said: []string{"in load_gen", "in load_autosplit_gen", "in load_autosplit", "in load_tp_gen", "exllama/model.py", "load_weight(", "self.load_multi("}, Unsaid: []string{"generator/", "in forward"}, If: func(c *ledger.Case) bool { return !severalSplit(c) },
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not load: the weights do not fit on the GPU",
		Means:    "ExLlama keeps the whole model on GPUs, and this one was full before all weights were loaded. KV cache and working memory still come on top.",
		Not:      "Offloading to RAM: ExLlama cannot do that. llama.cpp can, with a GGUF file.",
		Cures: []cause.Cure{
			exllamaBits, where(withCache, exllamaShorter), where(withCache, exllamaSmaller),
			{Fix: "use_smaller_model", Title: "Or use a GGUF file with llama.cpp", Told: "Layers that do not fit on the GPU can stay in RAM.", Cost: "slower"},
		},
		Sources: []string{exllamaV2 + "model.py"},
	},
}

// withCache: this way of loading makes each layer's part of the cache with it.
func withCache(c *ledger.Case) bool {
	return c.Near("in load_autosplit_gen", "in load_autosplit", "in load_tp_gen")
}

// noFlash is ExLlamaV2's own attention, taken where flash-attn and xformers are
// missing or turned off: it writes out the scores of every head.
func noFlash(id string, more ...cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: torchFull, Said: []string{"in _attn_torch"}, Cause: cause.ContextTooLong, Weight: cause.Strong, Figures: textgenSizes,
		Headline: "loaded the model, then ran out of GPU memory because flash-attn is missing",
		Means:    "Without flash-attn and xformers, ExLlamaV2 uses its own attention (`_attn_torch`). That needs a matrix that grows fast with the prompt[[, here {prompt} tokens]].",
		Not:      "A shorter answer: the KV cache has its full size from the start.",
		Cures: append([]cause.Cure{
			{Fix: "enable_flash_attention", Title: "Install flash-attn, and leave `no_flash_attn` off", Told: "For RTX 30 or later; older GPUs: `pip install xformers`. Use the Python that loads the model. text-generation-webui brings it along: untick `no_flash_attn` in the Model tab.", Kind: "shell", Text: "pip install flash-attn --no-build-isolation", Cost: "none; faster"},
		}, more...),
		Sources: []string{exllamaV2 + "attn.py", exllamaV2 + "model_init.py"},
	}
}
