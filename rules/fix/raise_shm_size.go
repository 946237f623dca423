package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var raiseShmSize = Fix{
	ID:    "raise_shm_size",
	Title: "Enlarge shared memory",
	Doc: []string{
		"Data loader workers and NCCL pass data through shared memory (`/dev/shm`). A container gets 64 MB of it unless told otherwise, a small part of one batch; the worker then dies with a bus error. `--shm-size` sets it, `--ipc=host` lends the host's.",
		"In Kubernetes mount an `emptyDir` with `medium: Memory` at `/dev/shm`; it counts against the container's memory limit. Outside containers `/dev/shm` is half of RAM and seldom the problem.",
	},
	Tradeoff: "None; what is used counts as RAM.",
	Cost:     0.05,
	Check:    "`df -h /dev/shm` inside the container shows the new size.",
	Next:     "`num_workers=0`: without workers nothing goes through shared memory.",
	Steps: func(*ledger.Case) []step.Step {
		return []step.Step{
			{Kind: "shell", Text: "docker run --shm-size=8g IMAGE   # or --ipc=host"},
			{Kind: "config", Text: "services:\n  SERVICE:\n    shm_size: 8gb"},
			{Kind: "config", Text: "volumes:\n- name: shm\n  emptyDir: {medium: Memory, sizeLimit: 8Gi}\nvolumeMounts:\n- {name: shm, mountPath: /dev/shm}"},
		}
	},
}
