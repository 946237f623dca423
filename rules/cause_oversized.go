package rules

var oversizedAllocation = Rule{
	ID:    OversizedAllocation,
	Title: "One single piece is asked for that is larger than the card can give",
	Headline: func(c *Case) string {
		if c.Backend == "cpu" {
			return "One single piece is asked for that is larger than the computer can give"
		}
		return ""
	},
	Doc: paragraphs(
		"One tensor alone is as large as the card or larger. That is a shape that grew with the square of something (an attention matrix without flash attention, a huge image), or a bug in a shape: broadcasting, a wrong length, an overflow.",
		"No setting of the allocator and no free memory helps: the request would not fit an empty card.",
	),
	Settles: "Print the shapes just before the failing line, and run once with a much smaller input: if the request shrinks faster than the input, it is a square.",
	Clues: []Clue{
		largerThanCard, metalBufferTooLarge, hugeHostTensor,
	},
	Remedies: []Remedy{
		{Fix: "lower_resolution", Fit: 0.9},
		{Fix: "lower_batch_size", Fit: 0.85},
		{Fix: "efficient_attention", Fit: 0.8},
		{Fix: "enable_flash_attention", Fit: 0.7},
		{Fix: "lower_context", Fit: 0.6},
	},
}
