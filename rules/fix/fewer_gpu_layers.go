package fix

import "github.com/oomdoc/oomdoc/rules/step"

var fewerGpuLayers = Fix{
	ID:    "fewer_gpu_layers",
	Title: "Put fewer layers on the GPU",
	Doc: []string{
		"Programs built on llama.cpp can keep any number of layers on the card and the rest in system memory. Start with half of the layers, look at the free memory, go up. Each layer also takes its share of the KV cache with it.",
		"The option is `-ngl` in llama.cpp and `num_gpu` in Ollama: `/set parameter num_gpu 20`, `PARAMETER num_gpu 20` in a Modelfile, or `\"options\": {\"num_gpu\": 20}` in the API. An option `--gpu-layers` of `ollama run` never existed.",
	},
	Tradeoff: "Speed: the layers left in system memory run at the processor's pace.",
	Cost:     0.3,
	Check:    "The log says `offloaded 20/33 layers to GPU`, and `nvidia-smi` shows room left.",
	Next:     "A smaller quantisation with all layers on the card is usually faster.",
	Steps:    step.Paste("shell", "llama-server -m model.gguf -ngl 20"),
}
