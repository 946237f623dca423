package fix

var fewerGpuLayers = Fix{
	ID:       "fewer_gpu_layers",
	Title:    "Put fewer layers on the GPU",
	Tradeoff: "Speed: the layers left in system memory run at the processor's pace.",
	Cost:     costly,
	Check:    "The log says `offloaded 20/33 layers to GPU`, and `nvidia-smi` shows room left.",
	Next:     "A smaller quantisation with all layers on the card is usually faster.",
	Needs:    Needs{works: []string{"text-inference"}, own: true},
	Told:     "Put fewer layers on the card in your program's settings: half of what is set now, then up again.",
}
