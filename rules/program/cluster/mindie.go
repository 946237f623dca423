package cluster

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// MindIE is Huawei's server for its NPUs. After the trial batch of a model for
// images it wants 26 GiB free where maxInputTokenLen is above 4096, else 18.
var MindIE = program.Program{
	Name: "mindie", Shown: "MindIE", Work: "text-inference", Edits: "flags", Language: "python", Systems: []string{"linux"},
	Proofs: []string{"mindie_llm/", "mindie-service", "mindieservice_daemon"},
	Cards: []cause.Card{{
		ID: "mindie/warmup", Kinds: []fact.Kind{fact.PlainDevice}, Said: []string{"multimodal model inference out of memory"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "did not start: its trial batch left too little NPU memory free",
		Means:    "MindIE tries the largest prompt that config.json allows, with images, and then checks what is free. It needs 26 GiB with `maxInputTokenLen` above 4096, otherwise 18 GiB (on NPUs with 60 GiB and more). Less was left beside the weights.",
		Not:      "A larger `npuMemSize`: the KV cache comes from what is left.",
		Cures: []cause.Cure{
			{Fix: "lower_max_batched_tokens", Title: "Lower `maxPrefillTokens` and `maxInputTokenLen`", Told: "In config.json of mindie-service: the first under `ScheduleConfig`, the second under `ModelDeployConfig`. With 4096 only 18 GiB must stay free:", Kind: "config", Text: "\"maxInputTokenLen\" : 4096,\n\"maxPrefillTokens\" : 4096,", Cost: "longer prompts are refused"},
			{Fix: "multi_gpu", Title: "Or split the model over more NPUs", Told: "Raise `worldSize` under `ModelConfig`, and list as many numbers in `npuDeviceIds`. Each NPU then holds less of the weights.", Cost: "needs more NPUs"},
			{Fix: "use_lower_quant", Title: "Or serve an 8-bit checkpoint (W8A8)", Told: "It needs half of 16 bit, if there is one for this model.", Cost: "slight loss of quality"},
		},
		Sources: []string{"MindIE-LLM/mindie_llm/text_generator/utils/npu_mem_tool.py"},
	}},
}
