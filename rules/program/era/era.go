// Package era says which options of a server the release had that made a log:
// nobody can set what came later.
package era

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
)

// A release is the newest that can have made a log: by the version that the log
// states (0.5.13 as 5013, a build of llama.cpp by its number), by the day of its
// lines, else by files that later ones do not have. What is 0 is not known.
type release struct{ version, day int }

// option is a setting with the first release that has it and the day on which
// that came out.
type option struct {
	program, name string
	since         int
	day           int
	shown         string // the first release, as people write it
}

// What changed without an option.
const (
	DefaultContext = "a context of 4096 unless set"
	OneSlot        = "one request at a time unless set"
	EngineFrees    = "gives back the input tensors of its own engine"
	ServeCommand   = "vllm serve instead of a Python module"
	SecondEngine   = "the V1 engine unless set"
	PromptLimits   = "limits of images as JSON"
	ScoresPrompts  = "scores no prompt token unless asked"
	ManyStages     = "a hybrid cache over pipeline stages"
	ByStage        = "checks each stage by its own layers"
	OwnMemory      = "counts its own memory alone"
	ShareOfFree    = "a share of what is free, not of the card"
	// WarmupSaysMemory: TGI blames memory for a failed trial batch only where it was.
	WarmupSaysMemory = "blames memory for memory alone"
)

// options are what programs have since a release, by upstream's tags and
// commits. Words of a fix of an older log that name one are left out.
//
// Ollama: `git log -S NAME` in envconfig and `git tag --contains`. llama.cpp:
// the commit's number (`git rev-list --count`), or the release that a pull
// request came out in. vLLM: the release notes and pull requests named.
var options = []option{
	{"ollama", "OLLAMA_MAX_LOADED_MODELS", 1033, 20240502, "0.1.33"}, // 34b9db5af
	{"ollama", "OLLAMA_NUM_PARALLEL", 1033, 20240502, "0.1.33"},      // 34b9db5af
	{"ollama", "ollama ps", 1038, 20240515, "0.1.38"},                // 6ccbc7d0a
	{"ollama", "OLLAMA_FLASH_ATTENTION", 1039, 20240528, "0.1.39"},   // 38255d2af
	{"ollama", "OLLAMA_SCHED_SPREAD", 1045, 20240620, "0.1.45"},      // 5e8ff556c
	{"ollama", "OLLAMA_GPU_OVERHEAD", 3010, 20240907, "0.3.10"},      // b05c9e83d
	{"ollama", "ollama stop", 3011, 20240917, "0.3.11"},              // cmd/cmd.go, StopHandler
	{"ollama", "OLLAMA_KV_CACHE_TYPE", 5000, 20241204, "0.5.0"},      // 1bdab9fdb
	{"ollama", "OLLAMA_CONTEXT_LENGTH", 5013, 20250303, "0.5.13"},    // 314573bfe
	{"ollama", EngineFrees, 6006, 20250418, "0.6.6"},                 // f50d69125, 34c3b68fc
	{"ollama", "LLAMA_ARG_CACHE_RAM", 30000, 20260601, "0.30"},       // llm/llama_server.go runs llama-server
	{"ollama", DefaultContext, 6007, 20250430, "0.6.7"},              // 44b466eeb: 4096 instead of 2048
	{"ollama", OneSlot, 10000, 20250730, "0.10"},                     // 20c3266e9: up to 4 requests at a time before
	{"ollama", "OLLAMA_VULKAN", 12011, 20251113, "0.12.11"},          // #12931
	{"llama.cpp", "-ctk ", 1619, 20231207, "b1619"},                  // bcc0eb45, #4309; the server since b2251
	{"llama.cpp", "--no-kv-offload", 1619, 20231207, "b1619"},        // bcc0eb45, the server since b2599
	{"llama.cpp", "-ub ", 2413, 20240313, "b2413"},                   // f30ea47a, #6017
	{"llama.cpp", "-fa", 2771, 20240430, "b2771"},                    // 9c67c277, #5021
	{"llama.cpp", "-ot ", 5028, 20250402, "April 2025"},              // #11397
	{"llama.cpp", "--no-mmproj-offload", 5165, 20250421, "April 2025"},
	{"llama.cpp", "--cpu-moe", 6089, 20250805, "b6089"},   // #14992, #15077
	{"llama.cpp", "--n-cpu-moe", 6089, 20250805, "b6089"}, // #15077
	{"llama.cpp", "--cache-ram", 6710, 20251009, "October 2025"},
	{"llama.cpp", "--fit", 7410, 20251215, "December 2025"}, // #16653
	{"vllm", "--enforce-eager", 2006, 20231217, "0.2.6"},    // #1926
	{"vllm", "--kv-cache-dtype", 3000, 20240131, "0.3.0"},   // #2279
	{"vllm", "--enable-chunked-prefill", 4001, 20240424, "0.4.1"},
	{"vllm", "--quantization fp8", 4003, 20240601, "0.4.3"},
	{"vllm", "--quantization bitsandbytes", 5000, 20240611, "0.5.0"},
	{"vllm", "--cpu-offload-gb", 5003, 20240723, "0.5.3"}, // #6496
	{"vllm", "--limit-mm-per-prompt", 5005, 20240823, "0.5.5"},
	{"vllm", "--mm-processor-kwargs", 6002, 20240925, "0.6.2"},
	{"vllm", "VLLM_USE_FLASHINFER_SAMPLER", 5005, 20240823, "0.5.5"}, // #7137
	{"vllm", ServeCommand, 6000, 20240904, "0.6.0"},
	{"vllm", SecondEngine, 8000, 20250318, "0.8.0"},                // prompts are computed in chunks from here on
	{"vllm", PromptLimits, 8005, 20250428, "0.8.5"},                // image=1 before
	{"vllm", OwnMemory, 9001, 20250610, "0.9.1"},                   // #18974
	{"vllm", "--kv-cache-memory-bytes", 10002, 20250913, "0.10.2"}, // #21489
	{"vllm", ManyStages, 11000, 20251002, "0.11.0"},                // #23974
	{"vllm", ByStage, 17000, 20260306, "0.17.0"},                   // #33698
	{"vllm", "VLLM_DEEP_GEMM_WARMUP", 11001, 20251118, "0.11.1"},
	{"sglang", "--schedule-conservativeness", 1006, 20240121, "0.1.6"},             // 22ec7bc2a
	{"sglang", "--context-length", 1013, 20240311, "0.1.13"},                       // 9de9a4681
	{"sglang", "--max-running-requests", 1017, 20240607, "0.1.17"},                 // 55c164362
	{"sglang", "--quantization", 1017, 20240607, "0.1.17"},                         // 0fafc5606
	{"sglang", "--disable-cuda-graph", 1020, 20240713, "0.1.20"},                   // af4e7910e
	{"sglang", "--chunked-prefill-size", 2007, 20240730, "0.2.7"},                  // 2ec39ab71
	{"sglang", "--kv-cache-dtype", 2014, 20240827, "0.2.14"},                       // 2c615d120
	{"sglang", "--max-loras-per-batch", 3001, 20240915, "0.3.1"},                   // 712216928
	{"sglang", "--cuda-graph-max-bs", 3005, 20241103, "0.3.5"},                     // 86e0dde55
	{"sglang", "--cpu-offload-gb", 4000, 20241125, "0.4.0"},                        // d98fa1e93, between 0.3.6 and 0.4.0
	{"sglang", "--page-size", 4004, 20250313, "0.4.4"},                             // e35a93fa8
	{"sglang", "--hicache-ratio", 4005, 20250326, "0.4.5"},                         // a98290aea, after 0.4.4
	{"sglang", "--hicache-size", 4006, 20250421, "0.4.6"},                          // 70645f4d7, after 0.4.5
	{"sglang", "SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK", 4006, 20250421, "0.4.6"}, // 27e9538a7
	{"sglang", "--max-lora-rank", 4010, 20250722, "0.4.10"},                        // e2ed9d049, after 0.4.9
	{"sglang", "--max-mamba-cache-size", 5003, 20251006, "0.5.3"},                  // 30c6e1f56
	{"sglang", "SGLANG_FLASHINFER_WORKSPACE_SIZE", 5004, 20251015, "0.5.4"},        // f49419061, after 0.5.3
	{"sglang", "--mamba-full-memory-ratio", 5004, 20251015, "0.5.4"},               // a55cf5304
	{"sglang", "SGLANG_ENABLE_LOGITS_PROCESSER_CHUNK", 5006, 20251107, "0.5.6"},    // d5fa019c3
	{"sglang", "--limit-mm-data-per-request", 5007, 20251220, "0.5.7"},             // 0a346d3bd
	{"sglang", "--cuda-graph-max-bs-decode", 100_000_000, 20260601, "June 2026"},   // the name that replaces --cuda-graph-max-bs
	{"tgi", "--max-batch-prefill-tokens", 9000, 20230701, "0.9.0"},                 // launcher/src/main.rs, here and below
	{"tgi", "--cuda-memory-fraction", 9004, 20230727, "0.9.4"},
	{"tgi", "bitsandbytes-nf4", 100_000_001, 20230814, "1.0.1"},
	{"tgi", "eetq", 100_001_000, 20230928, "1.1.0"},
	{"tgi", "--cuda-graphs", 200_000_000, 20240412, "2.0.0"},
	{"tgi", "--max-input-tokens", 200_000_000, 20240412, "2.0.0"},
	{"tgi", "marlin", 200_001_000, 20240628, "2.1.0"},
	{"tgi", "TGI_WIGGLE_ROOM", 200_003_000, 20240920, "2.3.0"}, // models/globals.py
	{"tgi", "--kv-cache-dtype", 200_004_000, 20241025, "2.4.0"},
	{"tgi", ScoresPrompts, 300_000_000, 20241209, "3.0.0"},           // 5df80590, #2797: REQUEST_LOGPROBS
	{"tgi", WarmupSaysMemory, 100_001_001, 20231116, "1.1.1"},        // flash_causal_lm.py: any exception before
	{"lmdeploy", "--cache-max-entry-count", 2000, 20240117, "0.2.0"}, // lmdeploy/cli/utils.py, here and below
	{"lmdeploy", ShareOfFree, 2002, 20240131, "0.2.2"},               // lmdeploy/messages.py; f90fda994
	{"lmdeploy", "--quant-policy", 4000, 20240423, "0.4.0"},          // 4 and 8 bit without a calibration
	{"lmdeploy", "--vision-max-batch-size", 4002, 20240527, "0.4.2"},
	{"lmdeploy", "--max-prefill-token-num", 6000, 20240913, "0.6.0"},
	{"lmdeploy", "--eager-mode", 6002, 20241029, "0.6.2"},
	{"tensorflow", "set_global_policy", 200_004_000, 20201214, "2.4"}, // RELEASE.md
	{"tensorflow", "cuda_malloc_async", 200_005_000, 20210513, "2.5"}, // RELEASE.md
}

// fixes are those that a program has only from a release on, by the option that
// spells them.
var fixes = []struct{ program, fix, name string }{
	{"ollama", "quantize_kv_cache", "OLLAMA_KV_CACHE_TYPE"}, {"ollama", "enable_flash_attention", "OLLAMA_FLASH_ATTENTION"},
	{"ollama", "lower_parallel", "OLLAMA_NUM_PARALLEL"}, {"ollama", "balance_split", "OLLAMA_SCHED_SPREAD"},
	{"llama.cpp", "moe_cpu_offload", "--n-cpu-moe"}, {"llama.cpp", "quantize_kv_cache", "-ctk "}, {"llama.cpp", "enable_flash_attention", "-fa"}, {"llama.cpp", "lower_ubatch", "-ub "},
	{"sglang", "cpu_offload", "--cpu-offload-gb"}, {"sglang", "quantize_kv_cache", "--kv-cache-dtype"}, {"sglang", "lower_max_batched_tokens", "--chunked-prefill-size"}, {"sglang", "enforce_eager", "--disable-cuda-graph"}, {"sglang", "lower_max_num_seqs", "--max-running-requests"},
	{"tgi", "quantize_kv_cache", "--kv-cache-dtype"}, {"tgi", "enforce_eager", "--cuda-graphs"}, {"lmdeploy", "quantize_kv_cache", "--quant-policy"},
	{"tensorflow", "mixed_precision", "set_global_policy"}, {"tensorflow", "tf_cuda_malloc_async", "cuda_malloc_async"},
	{"vllm", "cpu_offload", "--cpu-offload-gb"}, {"vllm", "quantize_kv_cache", "--kv-cache-dtype"}, {"vllm", "enforce_eager", "--enforce-eager"},
}

// versions are the facts that state the version, by program.
var versions = map[string]string{"ollama": "ollama_version", "vllm": "vllm_version", "llama.cpp": "llama_build", "sglang": "sglang_version", "tgi": "tgi_version", "lmdeploy": "lmdeploy_version"}

// files are of releases before another, which no longer have them.
var files = []struct {
	program, file string
	before        release
}{
	{"vllm", "vllm/engine/ray_utils.py", release{4000, 20240330}},
	{"vllm", "vllm/executor/gpu_executor.py", release{7000, 20250127}},
	{"vllm", "vllm/executor/ray_gpu_executor.py", release{7000, 20250127}},
	{"vllm", "vllm/executor/multiproc_gpu_executor.py", release{7000, 20250127}},
	{"vllm", "vllm/executor/multiproc_worker_utils.py", release{10000, 20250724}},
	{"vllm", "vllm/worker/model_runner.py", release{11000, 20251002}},
	{"vllm", "vllm/worker/worker.py", release{11000, 20251002}},
	{"vllm", "vllm/engine/multiprocessing/engine.py", release{11000, 20251002}},
	{"tgi", "text_generation_server/utils/layers.py", release{200_000_002, 20240515}},
	{"tgi", "text_generation_server/utils/flash_attn.py", release{200_001_000, 20240628}},
	{"tgi", "text_generation_server/models/flash_llama.py", release{200_002_000, 20240723}},
	{"tgi", "text_generation_server/models/flash_mistral.py", release{200_003_000, 20240920}},
	{"lmdeploy", "lmdeploy/vl/templates.py", release{7000, 20250115}},
	{"sglang", "sglang/srt/managers/router/model_runner.py", release{1017, 20240607}},
	{"sglang", "sglang/srt/managers/router/model_rpc.py", release{1017, 20240607}},
	{"sglang", "sglang/srt/managers/controller/model_runner.py", release{2007, 20240730}},
	{"sglang", "sglang/srt/managers/tp_worker_overlap_thread.py", release{5004, 20251023}},
}

// FirstEngine is how vLLM's engine starts its log before it names its version
// there (vllm/engine/llm_engine.py; 0.4.0.post1 is the first log seen with it). A
// card has to look for it.
const FirstEngine = "Initializing an LLM engine with config"

// words are of releases before another, which write them otherwise.
var words = []struct {
	program, word string
	before        release
}{
	{"vllm", FirstEngine, release{4001, 20240424}},
	{"tensorflow", "[[Node: ", release{100_013_000, 20190227}}, // {{node ...}} since 1.13
}

// of is the newest release of a program that can have made the log.
func of(c *ledger.Case, program string) release {
	r := release{day: c.Failure.Date}
	if x, ok := c.Fact(versions[program]); ok {
		if x.Count != nil {
			r.version = int(x.Count.Value)
		} else {
			r.version = number(x.Text)
		}
	}
	if r != (release{}) {
		return r
	}
	for _, f := range files {
		if f.program == program && (r.version == 0 || f.before.version < r.version) && inTrace(c, f.file) {
			r = release{f.before.version - 1, f.before.day - 1}
		}
	}
	for _, w := range words {
		if w.program == program && (r.version == 0 || w.before.version < r.version) && c.Near(w.word) {
			r = release{w.before.version - 1, w.before.day - 1}
		}
	}
	return r
}

// inTrace: a frame of the log is of this file.
func inTrace(c *ledger.Case, file string) bool {
	for i := range c.Facts.Code {
		if strings.HasSuffix(strings.ReplaceAll(c.Facts.Code[i].File, `\`, "/"), file) {
			return true
		}
	}
	return false
}

// number is "0.5.13" as 5013, "1.2.0" as 100002000; 0 for what is no version.
func number(version string) int {
	parts := strings.SplitN(version, ".", 3)
	out := 0
	for i, unit := range []int{100_000_000, 1000, 1} {
		if i < len(parts) {
			digits := strings.TrimLeft(parts[i], "v")
			if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
				digits = digits[:end]
			}
			n, _ := strconv.Atoi(digits)
			out += n * unit
		}
	}
	return out
}

// before reports that a release came before an option; sure is false where the
// log tells no release.
func (r release) before(o option) (is, sure bool) {
	if r.version > 0 {
		return r.version < o.since, true
	}
	return r.day > 0 && r.day < o.day, r.day > 0
}

// Lacks reports that the release which made the log had no such option.
func Lacks(c *ledger.Case, program, name string) bool {
	i := slices.IndexFunc(options, func(o option) bool { return o.program == program && o.name == name })
	if i < 0 || !c.Says(program) {
		return false
	}
	is, _ := of(c, program).before(options[i])
	return is
}

// Either spells a setting as the release does: as before something came, or as
// since then.
func Either(program, name, before, since string) func(*ledger.Case) string {
	return func(c *ledger.Case) string {
		if Lacks(c, program, name) {
			return before
		}
		return since
	}
}

// Since is what to say of an option where the log does not tell its release:
// "since 0.5.13". It is "" where the release is known.
func Since(c *ledger.Case, program, name string) string {
	for _, o := range options {
		if o.program == program && o.name == name {
			if _, sure := of(c, program).before(o); !sure {
				return "since " + o.shown
			}
		}
	}
	return ""
}

// Told reports that the log tells the release of a program, or its day.
func Told(c *ledger.Case, program string) bool { return of(c, program) != release{} }

// TooNew reports a fix that came after the release that made the log.
func TooNew(c *ledger.Case, fix string) bool {
	program := speaker(c)
	for _, f := range fixes {
		if f.fix == fix && f.program == program && Lacks(c, program, f.name) {
			return true
		}
	}
	return code.TooNew(c, fix)
}

// speaker is the program whose options the reader sets, or the library that a
// script calls.
func speaker(c *ledger.Case) string {
	return strings.TrimSuffix(cmp.Or(c.Reader.Program, c.Framework), "-script")
}

// optionsOf are the options by program.
var optionsOf = sync.OnceValue(func() map[string][]option {
	out := map[string][]option{}
	for _, o := range options {
		out[o.program] = append(out[o.program], o)
	}
	return out
})

// besides are options that only go with others: a command does its work without
// them.
var besides = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^| )--(?:enable-chunked-prefill|enforce-eager|mm-processor-kwargs '[^']*')`)
})

// ForEra is a text without what came after the release that made the log: ""
// where it speaks of nothing else. Without cuts the sentence at an offset; of
// commands and configurations whole lines go.
func ForEra(c *ledger.Case, fix, text, kind string, without func(text string, at int) string) string {
	text = code.ForEra(c, text, without)
	if fix == "upgrade_version" { // tells of what comes
		return text
	}
	for _, o := range optionsOf()[speaker(c)] {
		at := strings.Index(text, o.name)
		if at < 0 || !Lacks(c, o.program, o.name) {
			continue
		}
		if kind == "text" || kind == "ui" {
			for ; at >= 0; at = strings.Index(text, o.name) {
				text = without(text, at)
			}
			continue
		}
		text = strings.TrimSpace(besides().ReplaceAllStringFunc(text, func(flag string) string {
			if strings.HasPrefix(strings.TrimSpace(flag), o.name) {
				return ""
			}
			return flag
		}))
		var lines []string
		for line := range strings.Lines(text) {
			if !strings.Contains(line, o.name) {
				lines = append(lines, line)
			}
		}
		text = strings.TrimRight(strings.Join(lines, ""), "\n")
		if header := strings.TrimSpace(text); header == "[Service]" || header == "environment:" {
			text = ""
		}
	}
	return text
}
