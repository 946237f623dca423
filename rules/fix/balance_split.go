package fix

var balanceSplit = Fix{
	ID:       "balance_split",
	Title:    "Split the model unevenly over the cards",
	Tradeoff: "A few trials to find the split; no quality.",
	Cost:     cheap,
	Check:    "`nvidia-smi` after loading: every card has 1 to 2 GiB to spare, the first one included.",
	Next:     "If all cards are nearly full, the model is too big for their sum.",
	Told:     "Split the model unevenly over the cards, less on the one that is full.",
}
