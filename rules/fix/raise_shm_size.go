package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var raiseShmSize = Fix{
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
}
