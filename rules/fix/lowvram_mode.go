package fix

import "github.com/oomdoc/oomdoc/rules/step"

var lowvramMode = Fix{
	ID:       "lowvram_mode",
	Title:    "Start the program in its low-memory mode",
	Tradeoff: "Speed, and system memory for the parts that wait.",
	Cost:     costly,
	Check:    "The free memory of the card stays above 1 GiB while an image is made.",
	Next:     "A lower resolution, or a quantised model (fp8, GGUF).",
	Needs:    Needs{own: true},
	Steps:    step.Paste("python", "pipe.enable_model_cpu_offload()   # instead of pipe.to(\"cuda\"); enable_sequential_cpu_offload() needs least, and is slow"),
}
