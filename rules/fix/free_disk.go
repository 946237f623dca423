package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var freeDisk = Fix{
	ID:       "free_disk",
	Title:    "Free disk space",
	Tradeoff: "What you delete has to be downloaded again.",
	Cost:     moderate,
	Check:    "`df -h` shows room on the drive of the path in the message.",
	Next:     "Move the cache: set `HF_HOME` to a drive with room.",
	Steps: func(*ledger.Case) []step.Step {
		return []step.Step{{Kind: "shell", Text: "df -h . /tmp ~ /dev/shm"}, {Kind: "shell", Text: "du -xh --max-depth=2 ~/.cache | sort -h | tail"}}
	},
}
