package ggml

import "github.com/oomdoc/oomdoc/rules/program"

// Apps on ggml of which only who reads is known yet.
var (
	LocalAI = program.Program{
		Name: "localai", Shown: "LocalAI", Work: "text-inference", Edits: "flags", Language: "go",
		Proofs: []string{"LocalAI version:", "core/backend/llm.go", "backend/go/"},
	}
	Jan = program.Program{
		Name: "jan", Shown: "Jan", Work: "text-inference", Edits: "flags", Language: "js",
		Proofs: []string{"[CORTEX]::", "[tauri_plugin_llamacpp", "cortex.llamacpp", "[APP]::Error"},
	}
	GPT4All = program.Program{
		Name: "gpt4all", Shown: "GPT4All", Work: "text-inference", Language: "cpp",
		Proofs: []string{"LAMA ERROR: failed to load model", "gpt4all-backend/", "gpt4all/gpt4all.py"},
	}
	Tabby = program.Program{
		Name: "tabby", Shown: "Tabby", Work: "text-inference", Edits: "flags", Language: "rust",
		Proofs: []string{"tabby::serve", "crates/tabby/"},
	}
	LLamaSharp = program.Program{
		Name: "llamasharp", Shown: "LLamaSharp", Work: "text-inference", Edits: "code", Language: "csharp",
		Proofs: []string{"LLamaSharp/", "LLama.Native.", "LLama.LLama"},
	}
	IKLlama = program.Program{
		Name: "ik_llama.cpp", Work: "text-inference", Edits: "flags", Language: "cpp",
		Proofs: []string{"ik_llama.cpp"},
	}
	Llamafile = program.Program{
		Name: "llamafile", Work: "text-inference", Edits: "flags", Language: "cpp",
		Proofs: []string{"llamafile_log", "import_cuda_impl:", ".llamafile "},
	}
	Khoj = program.Program{
		Name: "khoj", Shown: "Khoj", Work: "text-inference", Edits: "flags", Language: "python",
		Proofs: []string{"khoj.routers", "khoj.utils", "khoj.main"},
	}
	RKLLM = program.Program{
		Name: "rkllm", Shown: "RKLLM", Work: "text-inference", Language: "cpp",
		Proofs: []string{"rkllm-runtime", "librkllmrt"},
	}
	LlamaBox = program.Program{
		Name: "llama-box", Work: "text-inference", Edits: "flags", Language: "cpp",
		Proofs: []string{"llama-box"},
	}
	QwenCpp = program.Program{
		Name: "qwen.cpp", Work: "text-inference", Edits: "flags", Language: "cpp",
		Proofs: []string{"qwen.cpp/", "qwen_cpp/"},
	}
)
