package fronts

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// DS4 is antirez's engine for DeepSeek V4, on Metal, CUDA and ROCm.
var DS4 = program.Program{
	Name: "ds4", Shown: "ds4", Work: "text-inference", Edits: "flags", Language: "cpp",
	Proofs:  []string{"ds4: CUDA ", "ds4: ROCm ", "ds4: Metal ", "ds4-server: ", "ds4-bench: ", "./ds4-server "},
	Sources: program.Sources{"https://github.com/antirez/ds4/issues/449": "--ctx DS4_CUDA_NO_Q8_F16_CACHE"},
	Cards: []cause.Card{{
		ID: "ds4/context", Kinds: []fact.Kind{fact.DeviceAlloc, fact.PlainDevice}, Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "ran out of graphics memory for its context, beside the weights",
		Means:    "The weights lie on the card as a whole (`preparing model tensor mappings` says how much), and the buffers of the context come on top: the line `context buffers ... (ctx=...)` has both. On CUDA and ROCm it also fills a part of what is left with a 16-bit copy of its 8-bit weights (`q8 fp16 cache`).",
		Not:      "`--kv-disk-dir`: what is kept on disk is not what the card needs while it computes.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Start with a shorter context", Told: "An eighth of the present value first, then up as far as it starts: `context buffers` shrinks with it.", Kind: "config", Text: "--ctx 65536", Cost: "shorter conversations"},
			{Fix: "limit_framework_preallocation", Title: "Leave out the 16-bit copy", Told: "It let a start through in two threads:", Kind: "env", Text: "export DS4_CUDA_NO_Q8_F16_CACHE=1", Cost: "slower prompts"},
			{Fix: "use_lower_quant", Title: "Take a smaller quantisation, or give the GPU more memory", Told: "AMD with shared memory: a larger share in the BIOS setup or of the kernel (`amdgpu.gttsize`, `ttm.pages_limit`): only that share is used.", Cost: "slight loss of quality"},
		},
		Sources: []string{"https://github.com/antirez/ds4/issues/449", "https://github.com/antirez/ds4/issues/410", "https://github.com/antirez/ds4/issues/563"},
	}},
}
