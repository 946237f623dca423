package fix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var killStaleProcess = Fix{
	ID:       "kill_stale_process",
	Title:    "End the process that holds the memory",
	Tradeoff: "Free, but whatever you end loses its unsaved work.",
	Cost:     free,
	Check:    "`nvidia-smi` again: the used GPU memory is down to a few hundred MiB before you start.",
	Next:     "If nothing is listed although memory is used, look in other containers (`docker ps`), ask the other users of the machine, or restart it.",
	Told:     "See which processes hold GPU memory, and end those that should not be there.",
	Steps:    stepsKill,
	Why:      whyKill,
}

func stepsKill(c *ledger.Case) []step.Step {
	switch c.Backend {
	case "mps", "metal":
		return []step.Step{{Kind: "ui", Text: "Activity Monitor, tab Memory, sorted by Memory: quit what you do not need, other Python processes first."}}
	case "cpu":
		return []step.Step{{Kind: "shell", Text: "ps -eo pid,user,rss,etime,cmd --sort=-rss | head -n 15"}, {Kind: "shell", Text: "kill PID   # one of yours that should be gone"}}
	}
	named := stepsKillPIDs(c)
	if strings.HasPrefix(named[0].Text, "ps ") {
		return named
	}
	list := cmp.Or(lists[c.Backend], "nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv")
	return append([]step.Step{{Kind: "shell", Text: list}}, named...)
}

// lists show the processes on a card, by backend.
var lists = map[string]string{"rocm": "rocm-smi --showpids --showmeminfo vram", "xpu": "xpu-smi ps", "npu": "npu-smi info"}

// stepsKillPIDs names the processes of the message that are not this one. Each
// is looked at before it is ended: in a container the numbers are the host's.
func stepsKillPIDs(c *ledger.Case) []step.Step {
	var pids []string
	for _, p := range largestFirst(c.F().OtherProcesses) {
		if p.PID != c.OurPID && p.PID > 1 && p.Bytes >= 200*units.MiB && len(pids) < 4 {
			pids = append(pids, quote.PID(p.PID))
		}
	}
	if c.Windows() {
		return []step.Step{{Kind: "shell", Text: "taskkill /F /PID " + append(pids, "PID")[0]}}
	}
	if len(pids) == 0 {
		return []step.Step{{Kind: "shell", Text: "kill PID   # the one that is yours and should be gone; kill -9 PID if it stays"}}
	}
	return []step.Step{
		{Kind: "shell", Text: "ps -o pid,user,etime,cmd -p " + strings.Join(pids, ",") + "   # on the host, not inside a container"},
		{Kind: "shell", Text: "kill " + strings.Join(pids, " ") + "   # if they are yours and should be gone"},
	}
}

func largestFirst(list []fact.Process) []fact.Process {
	return slices.SortedStableFunc(slices.Values(list), func(a, b fact.Process) int { return cmp.Compare(b.Bytes, a.Bytes) })
}

func whyKill(c *ledger.Case) string {
	if !c.Others.Has() || c.OthersAtMost.Bytes < units.GiB/2 {
		return ""
	}
	if names := Occupants(c, ": "); names != "" {
		return fmt.Sprintf("Other processes hold %s of the GPU%s.", c.OthersAtMost, names)
	}
	return fmt.Sprintf("About %s of the GPU is neither free nor used by this program.", c.OthersAtMost)
}

// Occupants names up to three processes of the message's list, behind a sign; ""
// where it lists none.
func Occupants(c *ledger.Case, sign string) string {
	var names []string
	for _, p := range largestFirst(c.F().OtherProcesses) {
		if p.PID != c.OurPID && p.Bytes > 0 && len(names) < 3 {
			names = append(names, fmt.Sprintf("process %d with %s", p.PID, units.Amount(p.Bytes)))
		}
	}
	if names == nil {
		return ""
	}
	return sign + strings.Join(names, ", ")
}
