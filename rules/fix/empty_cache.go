package fix

var emptyCache = Fix{
	ID:       "empty_cache",
	Title:    "Drop what is no longer needed, then empty the cache",
	Tradeoff: "A little time at each call; no quality.",
	Cost:     free,
	Check:    "The two figures that the snippet prints before and after: `allocated` must fall, not only `reserved`.",
	Next:     "If `allocated` stays, something still points to the tensors: restart the session.",
	Told:     "Unload models that are no longer needed.",
}
