package server

import "github.com/oomdoc/oomdoc/rules/program"

// Servers of which only who reads is known yet.
var (
	Xinference = program.Program{
		Name: "xinference", Shown: "Xinference", Work: "text-inference", Edits: "flags", Language: "python",
		Proofs: []string{"xinference/", "xinference.", "envs/xinference"},
	}
	VLLMOmni = program.Program{
		Name: "vllm-omni", Shown: "vLLM-Omni", Work: "image-generation", Edits: "flags", Language: "python",
		Proofs: []string{"vllm_omni/"},
	}
	OpenLLM = program.Program{
		Name: "openllm", Shown: "OpenLLM", Work: "text-inference", Edits: "flags", Language: "python",
		Proofs: []string{"openllm/", "openllm_core/", "openllm_cli"},
	}
	MistralRS = program.Program{
		Name: "mistral.rs", Work: "text-inference", Edits: "flags", Language: "rust",
		Proofs: []string{"mistralrs_core", "mistralrs-core", "mistralrs_server"},
	}
)
