package fix

import "github.com/oomdoc/oomdoc/rules/step"

var raisePagefile = Fix{
	ID:       "raise_pagefile",
	Title:    "Enlarge the Windows page file",
	Tradeoff: "Disk space, and a restart.",
	Cost:     cheap,
	Check:    "Task Manager, Performance, Memory: the second figure of `Committed` is the new limit, and the first stays below it while loading.",
	Next:     "Close other programs, lower the number of data loader workers, or load a smaller file (`.safetensors`, fp16).",
	Told:     "Enlarge the page file of Windows: System, Advanced, Performance, Virtual memory.",
	Steps:    step.Paste("ui", "Windows key, \"View advanced system settings\"; Performance: Settings; Advanced; Virtual memory: Change. Tick \"Automatically manage\", or choose a drive with room and set Custom size, initial 32768 and maximum 98304 (MB). Restart."),
}
