package render

import (
	"cmp"
	"fmt"

	"github.com/oomdoc/oomdoc/diagnose"
)

// noIncident says what the log is instead of an out-of-memory crash, or what
// to paste.
func (p *page) noIncident() {
	r := p.report
	switch {
	case len(r.Lookalikes) > 0 && r.Lookalikes[0].Text != "":
		p.heading(p.level, prose(cmp.Or(headings[r.Lookalikes[0].ID], "No out-of-memory failure found")))
		for _, l := range r.Lookalikes {
			p.say(bold(fmt.Sprintf("Line %d:", l.Line)), prose(" "), literal(l.Text))
			p.say(prose(ended(l.Title)))
			p.say(bold("What to do:"), prose(" "+ended(l.Advice)))
		}
		if r.Lookalikes[0].ID == "memory_mentioned" {
			p.say(prose(more))
		}
	case len(r.Lookalikes) > 0:
		p.heading(p.level, prose(cmp.Or(headings[r.Lookalikes[0].ID], "This is not out of memory")))
		for _, l := range r.Lookalikes {
			p.say(bold(fmt.Sprintf("Line %d:", l.Line)), prose(" "+ended(l.Title)))
			p.say(bold("What to do:"), prose(" "+ended(l.Advice)))
		}
	case len(r.Recovered) > 0:
		p.heading(p.level, prose("Memory ran short, and the program went on"))
	default:
		p.heading(p.level, prose("No out-of-memory failure found"))
		p.say(prose(pasteMore(r.Input.Lines)))
	}
	p.recovered(r.Recovered)
	var notes []inline
	for _, n := range r.Notes {
		notes = append(notes, prose(ended(capital(n))))
	}
	p.items(notes)
	p.machine()
}

const undecided = "Perhaps out of memory: the log does not show it"

// headings are those of look-alikes that a reader would call out of memory all
// the same, and of what is no log.
var headings = map[string]string{
	"quoted_message":   "This is not the log of a failure",
	"java_heap":        "Java reached a limit of its own, not the machine's memory",
	"javascript_heap":  "The heap of Node.js is full, not the machine's memory",
	"php_memory_limit": "A limit of PHP is reached, not the machine's memory",
	"php_size":         "PHP was asked for an impossible size: its limit is not too low",
	"memory_mentioned": "Perhaps out of memory: a line speaks of it",
	"job_limit":        undecided,
	"device_lost":      "The graphics card was lost: no message says that memory ran out",
	"healthy":          "Nothing failed in this log",
	"worker_vanished":  undecided,
	"kernel_died":      undecided,
	"worker_gone":      undecided,
	"ray_worker_died":  undecided,
	"child_ended":      undecided,
	"cudnn_start":      undecided,
	"cudnn_kernel":     undecided,
	"cublas_failed":    "A matrix product failed on the GPU: the log does not say that memory ran out",
	"nccl_failed":      undecided,
	"nccl_timeout":     undecided,
	"rank_ended":       undecided,
	"killed_by_hand":   undecided,
	"launch_failed":    undecided,
	"webgl_lost":       undecided,
	"database_memory":  "A setting of the database is reached, not the machine's memory",
}

func (p *page) recovered(list []diagnose.Notice) {
	var items []inline
	for _, n := range list {
		items = append(items, prose(fmt.Sprintf("Line %d: %s", n.Line, ended(n.Title))))
	}
	p.items(items)
}

// pasteMore says what to give where nothing was found.
func pasteMore(n int) string {
	told := fmt.Sprintf("Nothing in %s says that memory ran out.", lines(n))
	if n < few {
		told += " If it did, paste more: from the start of the program to the last line it printed (`PROGRAM 2>&1 | oomdoc` takes error messages along)."
	}
	return told + " If the program vanished without a message, RAM may have run out: `sudo dmesg -T | tail -100` shows that on Linux, \"Committed\" near its limit on Windows (Task Manager, Performance, Memory)."
}

// few lines are most likely not all that the program printed.
const few = 30

// more is what to give where a line speaks of memory and no more is known.
const more = "To know more, paste the log from the start of the program to the last line it printed."

func lines(n int) string {
	if n == 1 {
		return "this line"
	}
	return "these " + thousands(float64(n)) + " lines"
}
