package fix

var multiGpu = Fix{
	ID:       "multi_gpu",
	Title:    "Spread it over more cards",
	Tradeoff: "Another card; some speed is lost between the cards.",
	Cost:     dear,
	Check:    "`nvidia-smi` after loading: all cards hold a share.",
	Next:     "If one card fills first, give it less.",
	Told:     "Spread it over more cards, if your program can.",
}
