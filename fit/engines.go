package fit

import (
	"fmt"
	"slices"
	"strings"
)

// An engine is what is peculiar to a program that runs language models.
type engine struct {
	name string
	// formats to try, the largest first, where nothing names one.
	formats []string
	// cacheTypes that it takes; the first is the default, another spelling of it
	// may follow.
	cacheTypes []string
	// reads a format of weights.
	reads func(format) bool
}

var sixteenBits = []string{"f16", "fp16", "bf16", "float16", "bfloat16", "auto"}

var engines = []engine{
	{"llama.cpp", ggufLadder, append(KVTypes(), "fp16", "auto"), isGGUF},
	{"ik_llama.cpp", ggufLadder, append(KVTypes(), "fp16", "auto", "q6_0", "q8_kv"), isGGUF},
	{"ollama", ggufLadder, []string{"f16", "q8_0", "q4_0", "fp16", "auto"}, isGGUF},
	{"vllm", checkpointLadder, append(slices.Clone(sixteenBits), "fp8", "fp8_e4m3", "fp8_e5m2"), isCheckpoint},
	{"sglang", checkpointLadder, append(slices.Clone(sixteenBits), "fp8", "fp8_e4m3", "fp8_e5m2"), isCheckpoint},
	{"lmdeploy", []string{"bf16", "awq-int4"}, append(slices.Clone(sixteenBits), "int8", "int4"), isTurboMind},
	{"exllama", []string{"exl3-8", "exl3-6", "exl3-5", "exl3-4", "exl3-3.5", "exl3-3"}, append(slices.Clone(sixteenBits), "q8_0", "q4_0"), isEXL},
	{"transformers", bitsandbytesLadder, sixteenBits, func(f format) bool { return f.gguf == "" && !isEXL(f) && !strings.HasPrefix(f.name, "ml") }},
}

// Engines are the programs that a plan can be for.
func Engines() []string {
	var names []string
	for _, e := range engines {
		names = append(names, e.name)
	}
	return names
}

func isGGUF(f format) bool { return f.gguf != "" }
func isEXL(f format) bool  { return strings.HasPrefix(f.name, "exl") }

// isCheckpoint: what vLLM and SGLang load.
func isCheckpoint(f format) bool {
	return f.gguf == "" && !isEXL(f) && !strings.HasPrefix(f.name, "ml")
}

// isTurboMind: LMDeploy's engine has 4 bits as AWQ and GPTQ make them, 8 and 16.
func isTurboMind(f format) bool {
	return isCheckpoint(f) && !strings.HasPrefix(f.name, "nf4") && f.name != "fp4" && !strings.HasPrefix(f.name, "hqq")
}

func engineNamed(name string) (engine, bool) {
	if name == "" {
		name = "llama.cpp"
	}
	i := slices.IndexFunc(engines, func(e engine) bool { return e.name == name })
	if i < 0 {
		return engine{}, false
	}
	return engines[i], true
}

// checkCacheType refuses types that the engine does not have.
func (s Setting) checkCacheType() error {
	e, _ := engineNamed(s.Engine)
	if t := strings.ToLower(s.KVType); !slices.Contains(e.cacheTypes, t) || cacheUnits()[t] == 0 {
		return fmt.Errorf("%w: cache type %q of %s; it has %s", ErrFormat, s.KVType, s.engine(), strings.Join(e.cacheTypes, ", "))
	}
	switch {
	case s.llama() && s.NoFlashAttention && !slices.Contains(append([]string{"f32"}, sixteenBits...), strings.ToLower(s.KVType)):
		return fmt.Errorf("%w: llama.cpp quantises values with flash attention only; leave --flash-attn on or --kv-type f16", ErrFormat)
	case s.Engine == "ollama" && !s.has(changeCacheType) && s.KVType != "f16":
		return fmt.Errorf("%w: Ollama quantises its cache since 0.5.0", ErrFormat)
	}
	return nil
}

// needServer sizes what vLLM, SGLang and LMDeploy hold: all plan the cache from
// what weights and a profile leave. Sums over the cards: what is not split is on
// each.
func (z sized) needServer(s Setting) (Need, error) {
	cards := s.cards()
	c := VLLMCache{Type: s.KVType, TensorParallel: int(cards), fullWindow: s.Engine != "vllm" || !s.has(changeHybrid)}
	n := Need{
		Weights: z.vllmWeights(z.w), KV: cards * int64(s.Parallel) * c.Request(z.Model, s.Context),
		Compute: cards * (VLLMActivation + VLLMGraphs), Overhead: cards * VLLMNonTorch,
	}
	n.Reserve = s.reserve(roundMiB(n.Sum() / 20))
	if n.KV == 0 {
		return n, ErrShape
	}
	return n, nil
}

// exllamaChunk is how many tokens of a prompt pass at once.
const exllamaChunk = 2048

// needExllama: embeddings stay in RAM, the head has 6 bits, all requests share
// the cache, and a prompt passes in pieces.
func (z sized) needExllama(s Setting) (Need, error) {
	kv, err := z.KV(KVOptions{Context: s.Context * s.Parallel, TypeK: s.KVType, TypeV: s.KVType, FullWindow: true})
	if err != nil {
		return Need{}, err
	}
	cards := s.cards()
	n := Need{
		Weights: z.w.Total + z.w.Vision, KV: kv.Total(), Overhead: cards * s.driver(),
		Compute: cards * (exllamaChunk*2*(3*z.ffnWidth()+4*z.Hidden) + 256*MiB),
	}
	if rows := 2 * z.Vocab * z.Hidden; n.Weights > rows {
		n.Weights, n.CPUWeights = n.Weights-rows, rows
	}
	n.Reserve = s.reserve(roundMiB(n.Sum() / 20))
	return n, nil
}
