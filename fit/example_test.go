package fit_test

import (
	"fmt"

	"github.com/oomdoc/oomdoc/fit"
)

func ExampleFind() {
	m := fit.Find("models/TheBloke_Llama-2-13B-GPTQ/model.safetensors")
	fmt.Println(m.Model.ID, m.Format, m.Parameters, m.Basis)

	m = fit.Find("some-finetune-13B.Q4_K_M.gguf")
	fmt.Println(m.Model, m.Format, m.Parameters, m.Basis)
	// Output:
	// llama-2-13b gptq-int4 13015864320 catalogue
	// <nil> Q4_K_M 13000000000 name
}

func ExampleModel_Weights() {
	m := fit.Find("Meta-Llama-3-8B-Instruct-Q4_K_M.gguf")
	w, _ := m.Model.Weights(m.Format)
	fmt.Printf("GPU %.2f MiB, CPU %.2f MiB\n", float64(w.GPU)/fit.MiB, float64(w.CPU)/fit.MiB)
	gpu, cpu := w.Offload(20, true)
	fmt.Printf("-ngl 20: GPU %.2f MiB, CPU %.2f MiB\n", float64(gpu)/fit.MiB, float64(cpu)/fit.MiB)
	// Output:
	// GPU 4403.49 MiB, CPU 281.81 MiB
	// -ngl 20: GPU 2773.80 MiB, CPU 1911.50 MiB
}

func ExampleModel_KV() {
	m, _ := fit.ModelByID("gpt-oss-20b")
	kv, _ := m.KV(fit.KVOptions{Context: 131072})
	fmt.Println(kv.Full/fit.MiB, kv.Window/fit.MiB, m.KVPerToken("q8_0"))
	// Output: 3072 18 13056
}

func ExampleModel_ComputeBuffer() {
	m, _ := fit.ModelByID("llama-3-8b")
	for _, flash := range []bool{false, true} {
		n := m.ComputeBuffer(fit.ComputeOptions{Context: 8192, FlashAttention: flash})
		fmt.Printf("%.2f MiB\n", float64(n)/fit.MiB)
	}
	// Output:
	// 560.00 MiB
	// 258.50 MiB
}

func ExampleVLLM() {
	m, _ := fit.ModelByID("llama-3.1-8b")
	weights, _ := m.VLLMWeights("bf16")
	v := fit.VLLM{Total: 24217 * fit.MiB, Utilization: 0.9, Weights: weights, Activation: fit.VLLMActivation, NonTorch: fit.VLLMNonTorch}
	bf16, fp8 := fit.VLLMCache{}, fit.VLLMCache{Type: "fp8"}
	fmt.Println(bf16.LongestContext(m, v.Cache()), fp8.LongestContext(m, v.Cache()))
	// Output: 38448 76912
}

func ExampleModel_Recommend() {
	m, _ := fit.ModelByID("qwen3-32b")
	row, ok := m.Recommend(16*fit.GiB, 8192)
	fmt.Println(row.Format, row.Verdict, row.GPULayers, row.TotalLayers, ok)
	row, ok = m.Recommend(6*fit.GiB, 8192)
	fmt.Println(row.Format, row.Verdict, row.GPULayers, row.TotalLayers, ok)
	// Output:
	// IQ3_XXS fits 65 65 true
	// Q4_K_M offload 16 65 true
}

func ExampleModel_Explain() {
	m, _ := fit.ModelByID("llama-3-8b")
	for _, p := range m.Explain(224*fit.MiB, 0) {
		fmt.Println(p.What, "=", p.Arithmetic)
	}
	// Output:
	// MLP matrix, 32 bit = 4096 x 14336 x 4
	// fused gate and up, 16 bit = 2 x 4096 x 14336 x 2
	// MLP rows of 8192 tokens, 16 bit = 8192 x 14336 x 2
	// fused MLP rows of 4096 tokens, 16 bit = 4096 x 28672 x 2
}

func ExampleCard() {
	c, _ := fit.Card("GeForce RTX 3090")
	fmt.Println(c.Name, c.TotalBytes/fit.MiB, c.Compute, c.BF16, c.FP8, c.Basis)
	// Output: NVIDIA GeForce RTX 3090 24117 8.6 true false seen in logs
}

func ExampleWeightBytes() {
	n, ok := fit.WeightBytes(13e9, "Q4_K_M")
	fmt.Printf("%.1f GiB %v\n", float64(n)/fit.GiB, ok)
	// Output: 7.4 GiB true
}
