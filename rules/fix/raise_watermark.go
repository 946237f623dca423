package fix

var raiseWatermark = Fix{
	ID:       "raise_watermark",
	Title:    "Raise the limit of PyTorch on a Mac (MPS watermark)",
	Tradeoff: "The Mac may swap heavily, freeze, or end programs.",
	Cost:     costly,
	Check:    "The message no longer says `max allowed`; Activity Monitor's memory pressure stays green or yellow.",
	Next:     "Take it back, and make the work smaller: lower resolution, batch, or a smaller model.",
}
