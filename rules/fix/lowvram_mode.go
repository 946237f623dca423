package fix

var lowvramMode = Fix{
	ID:       "lowvram_mode",
	Title:    "Start the program in its low-memory mode",
	Tradeoff: "Speed, and system memory for the parts that wait.",
	Cost:     costly,
	Check:    "The free memory of the card stays above 1 GiB while an image is made.",
	Next:     "A lower resolution, or a quantised model (fp8, GGUF).",
	Needs:    Needs{own: true},
}
