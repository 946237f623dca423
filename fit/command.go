package fit

import (
	"fmt"
	"strings"
)

// command is what to type for a row: every setting that the row was computed
// with, so that a default of the program's cannot make it another. "…" stands
// for what the user knows.
func command(r Request, row Row) string {
	switch r.Engine {
	case "ollama":
		return ollamaCommand(r.Setting, row)
	case "vllm":
		return "vllm serve … --max-model-len " + fmt.Sprint(row.Context) + ifMore(" --tensor-parallel-size %d", r.Cards) + vllmUtilization(row) + checkpointCacheType(row) + fmt.Sprintf(" --max-num-seqs %d", max(1, r.Parallel))
	case "sglang":
		return "python -m sglang.launch_server --model-path … --context-length " + fmt.Sprint(row.Context) + ifMore(" --tp %d", r.Cards) + sglangFraction(row) + sglangCacheType(row) + fmt.Sprintf(" --max-running-requests %d", max(1, r.Parallel))
	case "lmdeploy":
		return "lmdeploy serve api_server … --session-len " + fmt.Sprint(row.Context) + ifMore(" --tp %d", r.Cards) + lmdeployShare(row) + lmdeployPolicy(row) + fmt.Sprintf(" --max-batch-size %d", max(1, r.Parallel))
	case "exllama":
		// TabbyAPI's: the cache is what all requests share.
		return fmt.Sprintf("python main.py --model-name … --max-seq-len %d --cache-size %d", row.Context, row.Context*max(1, r.Parallel)) + tabbyCacheMode(row)
	case "transformers":
		return transformersCall(r.Setting, row.Format)
	}
	return llamaCommand(r.Setting, row)
}

// llamaCommand is llama-server's. The number of slots stands there even if it is
// one: since November 2025 the server takes four by itself, and caches of
// windows and states grow with them.
func llamaCommand(s Setting, row Row) string {
	layers := max(99, row.TotalLayers)
	if row.GPULayers < row.TotalLayers {
		layers = row.GPULayers
	}
	c := fmt.Sprintf("llama-server -m … -ngl %d", layers)
	if row.CPUExpertLayers > 0 {
		c += fmt.Sprintf(" --n-cpu-moe %d", row.CPUExpertLayers)
	}
	c += fmt.Sprintf(" -c %d -np %d", row.Context, max(1, s.Parallel))
	if s.Parallel > 1 && !s.Split && s.has(changeUnified) && s.Engine != "ik_llama.cpp" {
		c += " -kvu"
	}
	c += flashFlag(s)
	if row.KVType != "f16" {
		c += " -ctk " + row.KVType + " -ctv " + row.KVType
	}
	if s.FullWindow && s.Engine != "ik_llama.cpp" && s.has(changeWindow) {
		c += " --swa-full"
	}
	if s.Batch > 0 {
		c += fmt.Sprintf(" -b %d", s.Batch)
	}
	if s.UBatch > 0 {
		c += fmt.Sprintf(" -ub %d", s.UBatch)
	}
	if s.Projector {
		c += " --mmproj …"
	}
	if s.Draft != nil {
		c += " -md … -ngld 99"
	}
	return c
}

// ifMore is a flag with a number, nothing for none and for one.
func ifMore(flag string, n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(flag, n)
}

// ollamaCommand: what the server decides stands in its environment.
func ollamaCommand(s Setting, row Row) string {
	env := fmt.Sprintf("OLLAMA_NUM_PARALLEL=%d ", max(1, s.Parallel))
	if !s.has(changeParallel) {
		env = ""
	}
	if s.KVType != "f16" {
		env += "OLLAMA_FLASH_ATTENTION=1 OLLAMA_KV_CACHE_TYPE=" + s.KVType + " "
	} else if s.NoFlashAttention {
		env += "OLLAMA_FLASH_ATTENTION=0 "
	}
	c := ""
	if env != "" {
		c = env + "ollama serve &\n"
	}
	c += fmt.Sprintf("ollama run …\n/set parameter num_ctx %d", row.Context)
	if s.UBatch > 0 {
		c += fmt.Sprintf("\n/set parameter num_batch %d", s.UBatch)
	}
	if row.GPULayers < row.TotalLayers {
		c += fmt.Sprintf("\n/set parameter num_gpu %d", row.GPULayers)
	}
	return c
}

// transformersCall loads a model in Python. bitsandbytes makes 8 and 4 bits of
// a 16-bit checkpoint; the other formats are checkpoints of their own.
func transformersCall(s Setting, format string) string {
	where := `{"": 0}`
	if s.Cards > 1 {
		where = `"auto"`
	}
	dtype := "dtype"
	if !s.has(changeDType) {
		dtype = "torch_dtype"
	}
	quantize := ""
	switch format {
	case "int8":
		quantize = ", quantization_config=BitsAndBytesConfig(load_in_8bit=True)"
	case "nf4", "nf4-dq":
		double := ""
		if format == "nf4-dq" {
			double = ", bnb_4bit_use_double_quant=True"
		}
		quantize = `, quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4"` + double + `, bnb_4bit_compute_dtype="bfloat16")`
	}
	return `model = AutoModelForCausalLM.from_pretrained("…", ` + dtype + `="auto", device_map=` + where + quantize + ")"
}

// flashFlag: -fa takes a value since August 2025; before, it was a switch.
func flashFlag(s Setting) string {
	switch value := s.has(changeFlashValue); {
	case !value && s.NoFlashAttention:
		return ""
	case !value:
		return " -fa"
	case s.NoFlashAttention:
		return " -fa off"
	}
	return " -fa on"
}

// vllmUtilization is the smallest share of the card, at least the 0.9 that was
// the default for long, that holds what was computed.
func vllmUtilization(row Row) string {
	return fmt.Sprintf(" --gpu-memory-utilization 0.%d", hundredths(row.NeedBytes, *row.HaveBytes, 90))
}

// hundredths of have that hold need, from least on and at most 98.
func hundredths(need, have int64, least int) int {
	for u := least; u < 98; u++ {
		if float64(need) <= float64(have)*float64(u)/100 {
			return u
		}
	}
	return 98
}

// sglangFraction is the share of weights and cache; what computes takes the rest.
func sglangFraction(row Row) string {
	return fmt.Sprintf(" --mem-fraction-static 0.%02d", hundredths(row.WeightsBytes+row.KVBytes, *row.HaveBytes, 10))
}

func sglangCacheType(row Row) string {
	switch {
	case row.KVType == "fp8":
		return " --kv-cache-dtype fp8_e5m2"
	case strings.HasPrefix(row.KVType, "fp8"):
		return " --kv-cache-dtype " + row.KVType
	}
	return ""
}

// lmdeployShare is the part of what the weights leave free that the cache gets.
func lmdeployShare(row Row) string {
	left := *row.HaveBytes - row.WeightsBytes - row.OverheadBytes
	return fmt.Sprintf(" --cache-max-entry-count 0.%02d", hundredths(row.KVBytes, max(1, left), 1))
}

func lmdeployPolicy(row Row) string {
	switch row.KVType {
	case "int8", "q8_0":
		return " --quant-policy 8"
	case "int4", "q4_0":
		return " --quant-policy 4"
	}
	return ""
}

func tabbyCacheMode(row Row) string {
	switch row.KVType {
	case "q8_0", "int8":
		return " --cache-mode Q8"
	case "q4_0", "int4":
		return " --cache-mode Q4"
	}
	return ""
}

func checkpointCacheType(row Row) string {
	if strings.HasPrefix(row.KVType, "fp8") {
		return " --kv-cache-dtype " + row.KVType
	}
	return ""
}
