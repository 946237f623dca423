// Package dialect spells the settings of llama.cpp that matter for memory as the
// program on it does that the reader runs.
package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/command"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Dialect is how one program on ggml spells the settings that matter for
// memory, by fix; %d stands for the value. What has no entry it does not have.
type Dialect struct {
	Kind     string // of the step
	Layers   string // what holds the number of layers on the card
	Context  string // and the length of the context
	Shown    string // where the log shows how long it is; defaults changed too often to name one
	Settings map[string]string
	Upgrade  step.Step
}

const advanced = "Load settings of the model (advanced): " // of LM Studio

var dialects = map[string]Dialect{
	"llama.cpp": {
		Kind: "shell", Layers: "`-ngl`", Context: "the context (`-c`)", Shown: "; the log's line `n_ctx` shows how long it is now",
		Settings: map[string]string{
			"fewer_gpu_layers": "-ngl %d", "lower_context": "-c %d", "lower_batch_size": "-b %d",
			"lower_ubatch":           "-ub %d",
			"enable_flash_attention": "-fa on", "quantize_kv_cache": "-fa on -ctk q8_0 -ctv q8_0", "moe_cpu_offload": "--n-cpu-moe %d",
			"lower_parallel": "--parallel 1", "balance_split": "-ts %s", "use_mmap": "take `--no-mmap` out of your command (2026: `--load-mode mmap`)", "no_gpu": "--device none",
		},
		Upgrade: step.Step{Kind: "text", Text: "Take the newest llama.cpp from github.com/ggml-org/llama.cpp/releases, or `git pull` and build again."},
	},
	"llama-cpp-python": {
		Kind: "python", Layers: "`n_gpu_layers`", Context: "`n_ctx`", Shown: "; the log's line `n_ctx` shows what it is now",
		Settings: map[string]string{
			"fewer_gpu_layers": "n_gpu_layers=%d", "lower_context": "n_ctx=%d", "lower_ubatch": "n_batch=%d", "enable_flash_attention": "flash_attn=True", "lower_batch_size": "n_batch=%d",
			"quantize_kv_cache": "flash_attn=True, type_k=8, type_v=8  # 8 is GGML_TYPE_Q8_0", "balance_split": "tensor_split=[%s]", "use_mmap": "use_mmap=True",
		},
		Upgrade: step.Step{Kind: "shell", Text: "pip install -U --no-cache-dir llama-cpp-python"},
	},
	"node-llama-cpp": {
		Kind: "config", Layers: "`gpuLayers`", Context: "`contextSize`",
		Settings: map[string]string{
			"fewer_gpu_layers": "loadModel({gpuLayers: %d})", "lower_context": "createContext({contextSize: %d})", "lower_ubatch": "createContext({batchSize: %d})", "lower_batch_size": "createContext({batchSize: %d})",
			"enable_flash_attention": "createContext({flashAttention: true})",
			"quantize_kv_cache":      "createContext({flashAttention: true, experimentalKvCacheKeyType: \"Q8_0\", experimentalKvCacheValueType: \"Q8_0\"})   // 3.18.1 and later", "lower_parallel": "createContext({sequences: 1})", "use_mmap": "loadModel({useMmap: true})",
			"no_gpu": "getLlama({gpu: false})",
		},
		Upgrade: step.Step{Kind: "shell", Text: "npm install node-llama-cpp@latest"},
	},
	"koboldcpp": {
		Kind: "text", Layers: "GPU Layers in the launcher (`--gpulayers`)", Context: "Context Size in the launcher (`--contextsize`)",
		Settings: map[string]string{
			"fewer_gpu_layers": "GPU Layers %d in the launcher (`--gpulayers %[1]d`).", "lower_context": "Context Size %d in the launcher (`--contextsize %[1]d`).",
			"lower_ubatch":           "Batch Size %d on the launcher's Hardware tab (`--batchsize %[1]d`; older versions: `--blasbatchsize`).",
			"lower_batch_size":       "Batch Size %d on the launcher's Hardware tab (`--batchsize %[1]d`; older versions: `--blasbatchsize`).",
			"enable_flash_attention": "Tick Use FlashAttention in the launcher (`--flashattention`; newer versions have it on by themselves).", "quantize_kv_cache": "Tokens tab of the launcher: Use FlashAttention, Quantize KV Cache 8-Bit (`--flashattention --quantkv 1`).",
			"moe_cpu_offload": "Hardware tab of the launcher: MoE CPU Layers %d (`--moecpu %[1]d`).",
			"balance_split":   "Hardware tab of the launcher: Tensor Split `%s` (`--tensor_split %[1]s`).", "use_mmap": "tick Use MMAP in the launcher (`--usemmap`)",
		},
		Upgrade: step.Step{Kind: "text", Text: "Take the newest koboldcpp from github.com/LostRuins/koboldcpp/releases."},
	},
	"lm-studio": {
		Kind: "ui", Layers: "GPU Offload in the load settings of the model", Context: "Context Length in the load settings of the model",
		Settings: map[string]string{
			"fewer_gpu_layers": "Load settings of the model: GPU Offload %d", "lower_context": "Load settings of the model: Context Length %d",
			"lower_ubatch": advanced + "Evaluation Batch Size %d", "lower_batch_size": advanced + "Evaluation Batch Size %d",
			"enable_flash_attention": advanced + "Flash Attention on", "quantize_kv_cache": advanced + "Flash Attention on, K and V Cache Quantization Type Q8_0",
			"moe_cpu_offload": advanced + "Number of layers for which to force MoE weights onto CPU: %d",
			"use_mmap":        advanced + "Try mmap() on", "lower_parallel": "Load settings of the model: Max Concurrent Predictions 1",
		},
		Upgrade: step.Step{Kind: "ui", Text: "LM Studio: update the program, then Settings > Runtime: update the llama.cpp engine (or choose an earlier one, if this began with an update)."},
	},
}

// Of is the dialect of a case.
func Of(c *ledger.Case) Dialect {
	for _, name := range [...]string{"lm-studio", "koboldcpp", "node-llama-cpp", "llama-cpp-python"} {
		if c.Says(name) {
			return dialects[name]
		}
	}
	return dialects["llama.cpp"]
}

// Named: the log names the program on llama.cpp that the reader runs.
func Named(c *ledger.Case) bool {
	return c.Says("lm-studio", "koboldcpp", "node-llama-cpp", "llama-cpp-python") || len(c.Stack) > 0 && c.Stack[0] == "llama.cpp" && c.Reader.Program == "llama.cpp"
}

// Spelled makes the steps of a fix in the reader's dialect, for programs that
// have no such setting the text.
func Spelled(fix string, value func(*ledger.Case) int64, otherwise string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		d := Of(c)
		setting := d.Settings[fix]
		if setting == "" {
			return []step.Step{{Kind: "text", Text: otherwise}}
		}
		if value != nil {
			setting = fmt.Sprintf(setting, value(c))
		}
		return []step.Step{d.Step(c, setting)}
	}
}

// Mapped lets the file be mapped.
func Mapped(c *ledger.Case) []step.Step {
	if c.Says("gpustack") {
		return []step.Step{{Kind: "text", Text: "Edit Model, Advanced, Backend Parameters: remove `--no-mmap`."}}
	}
	return []step.Step{{Kind: "text", Text: "Let the file be mapped: " + Of(c).Settings["use_mmap"] + "."}}
}

// Halve says how to find the number of layers where the log gives none.
func (d Dialect) Halve() step.Step {
	return step.Step{Kind: "text", Text: "Set " + d.Layers + " to 20 (a 7B or 8B model has 33 layers, a 70B 81). If it still fails, halve it; if room stays, raise it. If the log has `offloaded N/M layers to GPU`, N are on it now."}
}

// MayFit: a command of llama.cpp's own, whose build may be one that fits layers to
// the free memory.
func MayFit(c *ledger.Case) bool {
	return Of(c).Kind == "shell" && !Said(c, []string{"llm_load_tensors", "llm_load_print_meta", "llama_new_context_with_model"})
}

// Unset leaves the layers to a build that fits them (common/fit.cpp), for a model
// that no single card holds.
var Unset = step.Step{Kind: "text", Text: "Remove `-ngl`, `-ot`, `--cpu-moe`, `--n-cpu-moe` and `--fit off` from the command, where it has them: builds since December 2025 then put on the GPU what fits. With older builds start with `-ngl 5`, and raise it while room stays."}

// Step makes a step out of one setting, in words where the log does not show
// the reader's own command.
func (d Dialect) Step(c *ledger.Case, setting string) step.Step {
	switch d.Kind {
	case "shell":
		spelled, sure := era(c, setting)
		if wrapped(c) {
			return step.Step{Kind: "text", Text: "llama.cpp's option is `" + spelled + "`: set it where your program passes options to llama.cpp."}
		}
		s := command.Add(c, spelled)
		switch {
		case sure:
		case s.Kind == "shell":
			s.Text += "   # " + strings.ReplaceAll(flashAge, "`", "")
		default:
			s.Text = strings.TrimSuffix(s.Text, ".") + " (" + flashAge + ")."
		}
		return s
	case "python":
		arguments, comment, _ := strings.Cut(setting, "  # ")
		told := "In your `Llama(...)` call: `" + arguments + "`"
		if comment != "" {
			told += " (" + comment + ")"
		}
		return step.Step{Kind: "text", Text: told + "."}
	case "text":
		return step.Step{Kind: "text", Text: setting}
	}
	return step.Step{Kind: d.Kind, Text: setting}
}

// wrapped: a program around llama.cpp failed that is known and takes none of its
// options on the command line.
func wrapped(c *ledger.Case) bool {
	return len(c.Stack) > 1 && c.Stack[1] == "llama.cpp" && slices.Contains([]string{"khoj", "private-gpt", "open-webui", "h2ogpt"}, c.Stack[0])
}

// OldWords are words of builds before September 2025, where -fa is a switch
// without a value.
var OldWords = []string{"llm_load_tensors", "llm_load_print_meta", "llama_new_context_with_model", "llama_kv_cache_update_impl", "llama_kv_cache_init", "llama_init_from_gpt_params", "llama_kv_cache_unified"}

// NewWords are words of builds since then.
var NewWords = []string{"ggml_gallocr_reserve_n_impl", "common_init_result", "sched_reserve", "common_params_fit_impl", "llama_params_fit"}

// era adapts flash attention to the build; sure is false where the log does not
// tell its age.
func era(c *ledger.Case, setting string) (spelled string, sure bool) {
	_, told := c.Setting("flash_attn")
	_, inWords := c.Fact("words_for_flash_attn")
	if OldBuild(c) || told && !inWords {
		return strings.Replace(setting, "-fa on", "-fa", 1), true
	}
	return setting, inWords || Said(c, NewWords) || !strings.Contains(setting, "-fa on")
}

// OldBuild: the log has words that builds from before September 2025 print, whose
// switch for flash attention takes no value.
func OldBuild(c *ledger.Case) bool { return Said(c, OldWords) }

// Said: one of the words that cards look for stands anywhere in the log.
func Said(c *ledger.Case, words []string) bool {
	return slices.ContainsFunc(c.Facts.Words, func(w fact.Word) bool { return slices.Contains(words, w.Text) })
}

// flashAge is what to know where the log does not tell the age of the build.
const flashAge = "before September 2025: `-fa` alone"

// Fewer says the same where a little room is all that lacks.
func (d Dialect) Fewer() step.Step {
	return step.Step{Kind: "text", Text: "Find `offloaded N/M layers to GPU` in the log, and set " + d.Layers + " to 2 to 4 less than N."}
}

// All says how to lower a number that is above that of any model's layers.
func (d Dialect) All(n int) step.Step {
	return step.Step{Kind: "text", Text: fmt.Sprintf("Find `offloaded N/M layers to GPU` in the log, and set %s to 2 to 4 less than M. A number such as %d just means all layers.", d.Layers, n)}
}

// FlashOn reports that flash attention was on already.
func FlashOn(c *ledger.Case) bool {
	s, ok := c.Setting("flash_attn")
	kobold, set := c.Setting("flashattention")
	return ok && (s.Value == "on" || s.Value == "true" || s.Value == "1") || set && !strings.EqualFold(kobold.Value, "false")
}

// QuantisedCache reports that the KV cache is below 16 bit already.
func QuantisedCache(c *ledger.Case) bool {
	s, ok := c.Setting("cache_type_k")
	kobold, _ := c.Setting("quantkv") // 1: 8 bit, 2: 4 bit
	return ok && strings.HasPrefix(s.Value, "q") || kobold.Value == "1" || kobold.Value == "2"
}
