package cli

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// versioned are the programs whose versions a reader of an issue asks for, as
// they are shown.
var versioned = []string{
	"accelerate", "bitsandbytes", "ComfyUI", "CUDA", "DeepSpeed", "diffusers", "Driver", "flash-attn", "JAX", "KoboldCpp", "llama.cpp", "LM Studio", "Ollama",
	"PyTorch", "Python", "ROCm", "SGLang", "TensorFlow", "torch", "transformers", "Triton", "vLLM", "xformers",
}

// stated is a version that a log states: "vLLM API server version 0.8.5",
// "PyTorch version: 2.4.0+cu121", "torch==2.4.0", "Driver Version: 550.54.14",
// "ollama version is 0.5.7". A bare number behind a name may be an amount.
var stated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(` + strings.Join(quoteAll(versioned), "|") + `)(?:(?: API server| library)? version(?: is)?["':= ]{1,4}|==)v?(\d+(?:\.\w+)+(?:\+\w+)?)`)
})

const mostVersions = 8

func quoteAll(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = regexp.QuoteMeta(name)
	}
	return out
}

// versionsIn are the versions that a log states, in its order, each program's
// once: the last one that it states.
func versionsIn(log string) []string {
	var names, out []string
	found := map[string]string{}
	for _, m := range stated().FindAllStringSubmatch(log, -1) {
		i := slices.IndexFunc(versioned, func(name string) bool { return strings.EqualFold(name, m[1]) })
		name := versioned[i]
		if name == "torch" {
			name = "PyTorch"
		}
		if found[name] == "" {
			names = append(names, name)
		}
		found[name] = m[2]
	}
	for _, name := range names[:min(len(names), mostVersions)] {
		out = append(out, name+" "+found[name])
	}
	return out
}
