package fix

import "github.com/oomdoc/oomdoc/rules/step"

var raisePagefile = Fix{
	ID:    "raise_pagefile",
	Title: "Enlarge the Windows page file",
	Doc: []string{
		"Windows promises every program the memory it asks for only as long as RAM and page file together can keep the promise. A model that is loaded, and even memory on the card, counts. When that sum is used up the request fails (error 1455), though Task Manager shows free RAM and free memory of the card.",
		"Let Windows manage the size, on a drive with room; large models want 30 to 100 GB and more. The space is mostly promised, not written, so it costs little speed.",
		"It does not make the card larger: it helps when the card was not full.",
	},
	Tradeoff: "Disk space, and a restart.",
	Cost:     0.1,
	Check:    "Task Manager, Performance, Memory: the second figure of `Committed` is the new limit, and the first stays below it while loading.",
	Next:     "Close other programs, lower the number of data loader workers, or load a smaller file (`.safetensors`, fp16).",
	Steps:    step.Paste("ui", "Windows key, \"View advanced system settings\"; Performance: Settings; Advanced; Virtual memory: Change. Tick \"Automatically manage\", or choose a drive with room and set Custom size, initial 32768 and maximum 98304 (MB). Restart."),
}
