package fit

import (
	"fmt"
	"strings"
)

// command is what to type for a row; "…" stands for what the user knows.
func command(r Request, row Row) string {
	switch r.Engine {
	case "ollama":
		c := ollamaServer(r.Setting) + fmt.Sprintf("ollama run …\n/set parameter num_ctx %d", row.Context)
		if row.GPULayers < row.TotalLayers {
			c += fmt.Sprintf("\n/set parameter num_gpu %d", row.GPULayers)
		}
		return c
	case "vllm":
		return "vllm serve … --max-model-len " + fmt.Sprint(row.Context) + vllmCards(r.Setting) + vllmUtilization(row) + vllmCacheType(row) + ifMore(" --max-num-seqs %d", r.Parallel)
	case "transformers":
		return transformersCall(row.Format, r.Cards)
	}
	layers := max(99, row.TotalLayers)
	if row.GPULayers < row.TotalLayers {
		layers = row.GPULayers
	}
	c := fmt.Sprintf("llama-server -m … -ngl %d", layers)
	if row.CPUExpertLayers > 0 {
		c += fmt.Sprintf(" --n-cpu-moe %d", row.CPUExpertLayers)
	}
	c += fmt.Sprintf(" -c %d", row.Context) + flashFlag(r.Setting)
	if row.KVType != "f16" {
		c += " -ctk " + row.KVType + " -ctv " + row.KVType
	}
	return c + ifMore(" -np %d", r.Parallel) + ifMore(" -ub %d", r.UBatch)
}

// ifMore is a flag with a number, nothing for none and for one.
func ifMore(flag string, n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(flag, n)
}

// ollamaServer is what only the server can be told, by its environment.
func ollamaServer(s Setting) string {
	env := ""
	if s.KVType != "f16" {
		env += "OLLAMA_FLASH_ATTENTION=1 OLLAMA_KV_CACHE_TYPE=" + s.KVType + " "
	}
	if s.Parallel > 1 {
		env += fmt.Sprintf("OLLAMA_NUM_PARALLEL=%d ", s.Parallel)
	}
	if env == "" {
		return ""
	}
	return env + "ollama serve &\n"
}

// transformersCall loads a model in Python. bitsandbytes makes 8 and 4 bits of
// a 16-bit checkpoint; the other formats are checkpoints of their own.
func transformersCall(format string, cards int) string {
	where := `{"": 0}`
	if cards > 1 {
		where = `"auto"`
	}
	quantize := ""
	switch format {
	case "int8":
		quantize = ", quantization_config=BitsAndBytesConfig(load_in_8bit=True)"
	case "nf4":
		quantize = `, quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype="bfloat16")`
	}
	return `model = AutoModelForCausalLM.from_pretrained("…", dtype="auto", device_map=` + where + quantize + ")"
}

// flashFlag: -fa takes a value since August 2025; before, it was a switch.
func flashFlag(s Setting) string {
	switch n := s.build(); {
	case n > 0 && n < 6300 && s.NoFlashAttention:
		return ""
	case n > 0 && n < 6300:
		return " -fa"
	case s.NoFlashAttention:
		return " -fa off"
	}
	return " -fa on"
}

func vllmCards(s Setting) string {
	if s.Cards < 2 {
		return ""
	}
	return fmt.Sprintf(" --tensor-parallel-size %d", s.Cards)
}

// vllmUtilization asks for more than the default 0.9 only where it must.
func vllmUtilization(row Row) string {
	for u := 90; u <= 98; u++ {
		if float64(row.NeedBytes) <= float64(*row.HaveBytes)*float64(u)/100 {
			if u == 90 {
				return ""
			}
			return fmt.Sprintf(" --gpu-memory-utilization 0.%d", u)
		}
	}
	return " --gpu-memory-utilization 0.98"
}

func vllmCacheType(row Row) string {
	if strings.HasPrefix(row.KVType, "fp8") {
		return " --kv-cache-dtype " + row.KVType
	}
	return ""
}
