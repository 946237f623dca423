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
		Headline: "ran out of GPU memory for its context, on top of the weights",
		Means:    "All weights are on the GPU (`preparing model tensor mappings` says how much). The context's buffers come on top: see the line `context buffers ... (ctx=...)`. On CUDA and ROCm ds4 also keeps a 16-bit copy of some 8-bit weights (`q8 fp16 cache`).",
		Not:      "`--kv-disk-dir`: the GPU needs the same memory while it computes.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Start with a shorter context", Told: "Try this, or an eighth of your present value, then raise it as far as it starts. `context buffers` shrinks with it.", Kind: "config", Text: "--ctx 65536", Cost: "shorter conversations"},
			{Fix: "limit_framework_preallocation", Title: "Leave out the 16-bit copy", Told: "Two users could start it with:", Kind: "env", Text: "export DS4_CUDA_NO_Q8_F16_CACHE=1", Cost: "slower prompts"},
			{Fix: "use_lower_quant", Title: "Use a smaller quantisation, or give the GPU more memory", Told: "On AMD chips with shared memory, raise the GPU's share in the BIOS or in the kernel (`amdgpu.gttsize`, `ttm.pages_limit`).", Cost: "slight loss of quality"},
		},
		Sources: []string{"https://github.com/antirez/ds4/issues/449", "https://github.com/antirez/ds4/issues/410", "https://github.com/antirez/ds4/issues/563"},
	}},
}
