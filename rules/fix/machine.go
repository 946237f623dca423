package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// ofMachine change what the machine allows.
var ofMachine = []Fix{
	{
		ID:       "raise_shm_size",
		Title:    "Enlarge shared memory",
		Tradeoff: "None; what is used counts as RAM.",
		Cost:     free,
		Check:    "`df -h /dev/shm` inside the container shows the new size.",
		Next:     "`num_workers=0`: without workers nothing goes through shared memory.",
		Told:     "Give the container more shared memory.",
		Steps: func(*ledger.Case) []step.Step {
			return []step.Step{
				{Kind: "shell", Text: "docker run --shm-size=8g IMAGE   # or --ipc=host"},
				{Kind: "config", Text: "services:\n  SERVICE:\n    shm_size: 8gb"},
				{Kind: "config", Text: "volumes:\n- name: shm\n  emptyDir: {medium: Memory, sizeLimit: 8Gi}\nvolumeMounts:\n- {name: shm, mountPath: /dev/shm}"},
			}
		},
	},
	{
		ID:       "raise_pagefile",
		Title:    "Enlarge the Windows page file",
		Tradeoff: "Disk space, and a restart.",
		Cost:     cheap,
		Check:    "Task Manager, Performance, Memory: the second figure of `Committed` is the new limit, and the first stays below it while loading.",
		Next:     "Close other programs, lower the number of data loader workers, or load a smaller file (`.safetensors`, fp16).",
		Told:     "Enlarge the page file of Windows: System, Advanced, Performance, Virtual memory.",
		Steps:    step.Paste("ui", "Windows key, \"View advanced system settings\"; Performance: Settings; Advanced; Virtual memory: Change. Tick \"Automatically manage\", or choose a drive with room and set Custom size, initial 32768 and maximum 98304 (MB). Restart."),
	},
	{
		ID:       "lower_build_jobs",
		Title:    "Compile with fewer jobs",
		Tradeoff: "The build takes longer.",
		Cost:     cheap,
		Check:    CheckRAM,
		Next:     "One job; or add swap; or look for a ready-made wheel.",
		Told:     "Compile with fewer jobs at a time.",
		Steps: func(c *ledger.Case) []step.Step {
			return []step.Step{step.Environ(c, "MAX_JOBS", "2"), step.Environ(c, "NVCC_THREADS", "1"), {Kind: "shell", Text: "make -j2"}}
		},
	},
	{
		ID:       "free_disk",
		Title:    "Free disk space",
		Tradeoff: "What you delete has to be downloaded again.",
		Cost:     moderate,
		Check:    "`df -h` shows room on the drive of the path in the message.",
		Next:     "Move the cache: set `HF_HOME` to a drive with room.",
		Steps: func(*ledger.Case) []step.Step {
			return []step.Step{{Kind: "shell", Text: "df -h . /tmp ~ /dev/shm"}, {Kind: "shell", Text: "du -xh --max-depth=2 ~/.cache | sort -h | tail"}}
		},
	},
}
