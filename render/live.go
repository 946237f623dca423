package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/oomdoc/oomdoc/diagnose"
)

// sourceOf names where a line was read that follows the log's own: empty for
// the log's.
func sourceOf(r *diagnose.Report, line int) string {
	if r.Live == nil || line <= r.Input.Lines {
		return ""
	}
	for _, l := range r.Live.Lines {
		if l.Line == line {
			return l.Source
		}
	}
	return "this machine"
}

// shapes are the words for how memory went.
var shapes = map[string]string{
	diagnose.Climb: "a steady climb: something is kept, and more memory only puts it off",
	diagnose.Jump:  "a jump: what was loaded or made in one go",
	diagnose.Spike: "even, then a spike at the end: one piece of work",
	diagnose.Flat:  "no rise worth the name",
}

// growth plots how memory went while somebody watched.
func (p *page) growth() {
	l := p.report.Live
	if l == nil || l.Growth == nil {
		return
	}
	var b strings.Builder
	for _, s := range append([]diagnose.Series{l.Growth.RAM}, l.Growth.Cards...) {
		if len(s.Bytes) > 1 {
			room := 3*pageWidth(p.options.Width)/4 - 30
			fmt.Fprintf(&b, "%-6s %9s %s %s\n", visible(s.Name), figure(s.First), plot(s.Bytes, room), figure(s.Peak))
			if how, known := shapes[s.Shape]; known {
				fmt.Fprintf(&b, "%-6s %9s %s\n", "", "", how)
			}
		}
	}
	if b.Len() > 0 {
		p.say(prose(fmt.Sprintf("Its memory while it ran (%s), by this machine:", lasting(time.Duration(l.Growth.Seconds*float64(time.Second))))))
		p.show("text", b.String())
	}
}

// levels are the heights of a plot's columns.
var levels = []rune("▁▂▃▄▅▆▇█")

// widestColumn is how wide an amount is drawn at most.
const widestColumn = 4

// plot draws amounts from 0 to their largest.
func plot(amounts []int64, room int) string {
	most := int64(1)
	for _, n := range amounts {
		most = max(most, n)
	}
	room = max(room, 8)
	wide := min(max(room/len(amounts), 1), widestColumn) // columns of an amount, where there are few
	room = min(room, len(amounts)*wide)
	out := make([]rune, room)
	for i := range out {
		n := int64(0)
		from := i * len(amounts) / room
		for _, x := range amounts[from:max((i+1)*len(amounts)/room, from+1)] {
			n = max(n, x)
		}
		share := float64(n) / float64(most)
		out[i] = levels[min(max(int(share*float64(len(levels))), 0), len(levels)-1)]
	}
	return string(out)
}

// machine says what this machine holds and limits now.
func (p *page) machine() {
	l := p.report.Live
	if l == nil {
		return
	}
	var items []inline
	for _, x := range l.Named {
		items = append(items, prose(namedProcess(x, l.Taken)))
	}
	for _, c := range l.Cards {
		items = append(items, prose(cardNow(c, l)))
	}
	if r := l.RAM; r != nil {
		items = append(items, prose(ramNow(r)))
	}
	if len(l.Limits) > 0 {
		x := l.Limits[0]
		items = append(items, prose(fmt.Sprintf("Limit of control group %s: %s, %s used.", visible(x.Name), figure(x.Limit), figure(x.Used))))
	}
	switch {
	case p.options.Full:
	case p.options.Terse >= withoutOthers:
		items = items[:min(len(items), 2)]
	default:
		items = items[:min(len(items), 5)]
	}
	if len(items) > 0 {
		p.say(bold("This machine now"), prose(fmt.Sprintf(" (%s, not from the log):", l.Taken.Format("15:04 MST"))))
		p.items(items)
	}
}

func namedProcess(x diagnose.LiveProcess, now time.Time) string {
	if x.Gone {
		return fmt.Sprintf("PID %d, which the log names, is gone.", x.PID)
	}
	return fmt.Sprintf("PID %d, which the log names, is still there: %s.", x.PID, whose(x, now))
}

// whose is a process in words: "python train.py, yours, started 3 h ago".
func whose(x diagnose.LiveProcess, now time.Time) string {
	told := []string{cut(visible(x.Command), 60)}
	switch {
	case x.Mine:
		told = append(told, "yours")
	case x.User != "":
		told = append(told, visible(x.User)+"'s")
	}
	if x.Started != nil {
		told = append(told, "started "+lasting(now.Sub(*x.Started))+" ago")
	}
	if x.Container != "" {
		told = append(told, "in container "+visible(x.Container))
	}
	return strings.Join(told, ", ")
}

// shownHolders are the processes of a card that a line has room for.
const shownHolders = 3

func cardNow(c diagnose.LiveCard, l *diagnose.Live) string {
	name := fmt.Sprintf("GPU %d", c.Index)
	for _, part := range []string{c.Name, c.Part} {
		if part != "" {
			name += ", " + visible(part)
		}
	}
	told := fmt.Sprintf("%s: %s used", name, figure(c.Used))
	if c.Total > 0 {
		told = fmt.Sprintf("%s: %s of %s used", name, figure(c.Used), figure(c.Total))
	}
	holders := 0
	for _, x := range l.Holders {
		if x.Card != c.Index || x.Bytes == 0 || c.Part != "" {
			continue
		}
		if holders++; holders <= shownHolders {
			told += fmt.Sprintf("; %s by PID %d (%s)", figure(x.Bytes), x.PID, whose(x, l.Taken))
		}
	}
	return told + "."
}

func ramNow(r *diagnose.LiveRAM) string {
	told := fmt.Sprintf("RAM: %s of %s available", figure(r.Available), figure(r.Total))
	switch {
	case r.SwapTotal > 0:
		told += fmt.Sprintf("; swap: %s of %s free", figure(r.SwapFree), figure(r.SwapTotal))
	case r.Source == "/proc/meminfo":
		told += "; no swap"
	}
	if r.Pressure != "" {
		told += "; memory pressure: " + visible(r.Pressure)
	}
	return told + "."
}

// lasting is a time in the unit that a person would use.
func lasting(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", max(d, 0).Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}
