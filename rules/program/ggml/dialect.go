package ggml

import (
	"strings"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/step"
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
func speaks(c *ledger.Case) dialect {
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
func (d dialect) step(c *ledger.Case, setting string) step.Step {
	text := setting
	if d.kind == "shell" && d.layers == dialects["llama.cpp"].layers && strings.HasPrefix(setting, "-") {
		text = "llama-server -m " + quote.Shell(modelFile(c)) + " " + setting
	}
	if d.kind == "shell" && strings.HasPrefix(setting, "--") && d.layers != dialects["llama.cpp"].layers {
		text = "koboldcpp --model " + quote.Shell(modelFile(c)) + " " + setting
	}
	if d.kind == "python" {
		arguments, comment, found := strings.Cut(setting, "  # ")
		text = "llm = Llama(model_path=" + quote.Python(modelFile(c)) + ", " + arguments + ")"
		if found {
			text += "   # " + comment
		}
	}
	return step.Step{Kind: d.kind, Text: text}
}

func modelFile(c *ledger.Case) string {
	if c.Model == nil || c.Model.Name == "" {
		return "model.gguf"
	}
	return c.Model.Name
}

// era adapts flash attention to builds before September 2025, where -fa is a
// switch without a value.
func era(c *ledger.Case, setting string) string {
	if _, ok := c.Setting("flash_attn"); !ok || spelledInWords(c) {
		return setting
	}
	return strings.Replace(setting, "-fa on", "-fa", 1)
}

func spelledInWords(c *ledger.Case) bool {
	_, ok := c.Fact("words_for_flash_attn")
	return ok
}

// flashOn reports that flash attention was on already.
func flashOn(c *ledger.Case) bool {
	s, ok := c.Setting("flash_attn")
	return ok && (s.Value == "on" || s.Value == "true" || s.Value == "1")
}

// quantisedCache reports that the KV cache is below 16 bit already.
func quantisedCache(c *ledger.Case) bool {
	s, ok := c.Setting("cache_type_k")
	return ok && strings.HasPrefix(s.Value, "q")
}
