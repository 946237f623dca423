package diagnose

import (
	"fmt"
	"time"

	"github.com/oomdoc/oomdoc/internal/scan"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

// Live is what a machine says of itself beside a log. This package asks no
// machine: who does so hands it in by [Beside]. Amounts are in bytes.
type Live struct {
	// Taken is when the machine was asked.
	Taken time.Time `json:"taken"`
	// Lines were read on the machine, about the failure, and judged as if they
	// followed the log: those of an incident are greater than the report's
	// Input.Lines.
	Lines []LiveLine `json:"lines,omitempty"`
	// Growth is how the program's memory rose, nil where nobody watched.
	Growth *Growth `json:"growth,omitempty"`
	// Cards, Holders and RAM are what holds now, after the failure.
	Cards   []LiveCard    `json:"cards,omitempty"`
	Holders []LiveProcess `json:"holders,omitempty"`
	// Named are the processes whose numbers the log states.
	Named []LiveProcess `json:"named,omitempty"`
	RAM   *LiveRAM      `json:"ram,omitempty"`
	// Limits are those that hold for this process, the lowest first.
	Limits []LiveLimit `json:"limits,omitempty"`
	// Notes say what could not be asked.
	Notes []string `json:"notes,omitempty"`
}

// LiveLine is a line that stands in no log.
type LiveLine struct {
	// Line is the number that the report knows it by.
	Line int `json:"line"`
	// Source is where it was read: "kernel log", "kernel", "cgroup", "systemd",
	// "docker", "podman", "event log", "exit code", "watch".
	Source string `json:"source"`
	Text   string `json:"text"`
}

// LiveCard is a card as it is now.
type LiveCard struct {
	Index   int    `json:"index"`
	Name    string `json:"name,omitempty"`
	Backend string `json:"backend,omitempty"`
	// Part is the name of a MIG instance, empty for a whole card.
	Part   string `json:"part,omitempty"`
	Total  int64  `json:"total,omitempty"`
	Used   int64  `json:"used"`
	Source string `json:"source"`
}

// LiveProcess is a process as it is now.
type LiveProcess struct {
	PID  int  `json:"pid"`
	Gone bool `json:"gone,omitempty"`
	// Command is what it was started with, User whose it is, Mine whether that is
	// who asked, Started when it began.
	Command   string     `json:"command,omitempty"`
	User      string     `json:"user,omitempty"`
	Mine      bool       `json:"mine,omitempty"`
	Started   *time.Time `json:"started,omitempty"`
	Container string     `json:"container,omitempty"`
	// Card is the index of the card that it holds Bytes of, -1 for none.
	Card  int   `json:"card"`
	Bytes int64 `json:"bytes,omitempty"`
}

// LiveRAM is the computer's own memory now. On Windows Total and Available are
// what may be promised: RAM and page file.
type LiveRAM struct {
	Total     int64  `json:"total"`
	Available int64  `json:"available"`
	SwapTotal int64  `json:"swap_total"`
	SwapFree  int64  `json:"swap_free"`
	Pressure  string `json:"pressure,omitempty"` // as macOS says it
	Source    string `json:"source"`
}

// LiveLimit is a limit on memory, and how much of it is used now.
type LiveLimit struct {
	Name   string `json:"name"` // of the control group
	Limit  int64  `json:"limit"`
	Used   int64  `json:"used"`
	Source string `json:"source"`
}

// Shapes that memory takes over time.
const (
	Climb = "climb" // it rose steadily: something is kept
	Jump  = "jump"  // it rose at once and stayed: something was loaded
	Spike = "spike" // it had stayed, and rose at the end: one piece of work
	Flat  = "flat"  // it did not rise by much
)

// Growth is how a program's memory went, sampled while it ran.
type Growth struct {
	// RAM is of all processes of the program together, Cards of each card that
	// it may have used, all programs on it together.
	RAM   Series   `json:"ram"`
	Cards []Series `json:"cards,omitempty"`
	// Seconds is how long it was watched.
	Seconds float64 `json:"seconds"`
}

// Series is an amount over time, in equal steps.
type Series struct {
	Name string `json:"name"` // "RAM", "GPU 0"
	// Shape is climb, jump, spike or flat; empty where it was too short to tell.
	Shape string  `json:"shape,omitempty"`
	First int64   `json:"first"`
	Last  int64   `json:"last"`
	Peak  int64   `json:"peak"`
	Bytes []int64 `json:"bytes"`
}

// Option adds to what [Read] reads.
type Option func(*options)

type options struct{ beside func() *Live }

// Beside has [Read] call ask once, when the log has ended, and judge its lines
// and the growth that it tells of together with the log. The report keeps what
// ask returned, as its Live; nil adds nothing.
func Beside(ask func() *Live) Option { return func(o *options) { o.beside = ask } }

// join adds what was read on the machine to the end of an excerpt.
func (l *Live) join(ex *scan.Excerpt) {
	if l == nil {
		return
	}
	for _, s := range l.climbing() {
		l.Lines = append(l.Lines, LiveLine{Source: watched, Text: s.told(l.Growth.Seconds)})
	}
	for i := range l.Lines {
		l.Lines[i].Line = ex.Lines + 1 + i
		ex.Segments = append(ex.Segments, scan.Segment{FirstLine: l.Lines[i].Line, Text: []byte(l.Lines[i].Text + "\n")})
	}
}

// watched is the source of a line about growth.
const watched = "watch"

// climbing are the series that rose steadily.
func (l *Live) climbing() []Series {
	var out []Series
	if l == nil || l.Growth == nil {
		return nil
	}
	for _, s := range append([]Series{l.Growth.RAM}, l.Growth.Cards...) {
		if s.Shape == Climb {
			out = append(out, s)
		}
	}
	return out
}

// signals are what growth shows. They stand before all lines of the log: it was
// seen before the failure.
func (l *Live) signals() (out []fact.Signal) {
	for _, s := range l.climbing() {
		out = append(out, fact.Signal{ID: "climbing", Text: s.told(l.Growth.Seconds)})
	}
	return out
}

// testify adds the growth to the evidence of causes that it speaks for.
func (l *Live) testify(incidents []Incident) {
	for i := range incidents {
		for k := range incidents[i].Causes {
			c := &incidents[i].Causes[k]
			if c.ID != cause.RetainedMemory && c.ID != cause.HostMemory {
				continue
			}
			for _, line := range l.Lines {
				if line.Source == watched {
					c.Evidence = append(c.Evidence, Evidence{Line: line.Line, Text: line.Text})
				}
			}
		}
	}
}

// told is a series in words: "RAM rose steadily, from 1.2 GiB to 30 GiB in 600 s".
func (s *Series) told(seconds float64) string {
	return fmt.Sprintf("%s rose steadily, from %s to %s in %.0f s", s.Name, units.Amount(s.First), units.Amount(s.Peak), seconds)
}

// mask hides who the users of the machine are: a name alone is not known for
// one.
func (l *Live) mask() {
	if l == nil {
		return
	}
	for _, list := range [][]LiveProcess{l.Holders, l.Named} {
		for i := range list {
			if list[i].User != "" {
				list[i].User = "USER"
			}
		}
	}
}
