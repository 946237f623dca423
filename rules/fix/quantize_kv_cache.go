package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var quantizeKvCache = Fix{
	ID:    "quantize_kv_cache",
	Title: "Keep the KV cache at 8 bit",
	Doc: []string{
		"The KV cache is kept at 16 bit unless told otherwise. 8 bit halves it (q8_0: 0.53 of it), 4 bit takes 0.28. It saves nothing else: with a short context the cache is a few hundred MiB and there is little to win. llama.cpp prints its size as `KV self size` or `KV buffer size`.",
		"In llama.cpp a quantised V cache needs flash attention. Its name is `-ctk q8_0 -ctv q8_0` there, `OLLAMA_KV_CACHE_TYPE=q8_0` in Ollama, `--kv-cache-dtype fp8` in vLLM.",
	},
	Tradeoff: "Hardly any quality at 8 bit, some at 4 bit; a little speed.",
	Cost:     0.15,
	Check:    "The log shows the smaller cache, and the same prompt runs through.",
	Next:     "Shorten the context.",
	Steps:    stepsKVCache,
}

func stepsKVCache(c *ledger.Case) []step.Step {
	return []step.Step{{Kind: "python", Text: "output = model.generate(**inputs, cache_implementation=\"quantized\", cache_config={\"backend\": \"quanto\", \"nbits\": 4})   # 4 bit; pip install optimum-quanto"}}
}
