package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/units"
)

// part is a share of the bar, or a line of its legend when it has no mark.
type part struct {
	mark  rune // 0: not in the bar
	label string
	bytes int64
	note  string
	text  string // the amount as the page writes it elsewhere
}

func (p part) amount() string {
	if p.text != "" {
		return p.text
	}
	return units.Amount(p.bytes)
}

// spelled gives parts that are a number of the incident the spelling that all
// of the page has for it.
func spelled(in *diagnose.Incident, parts []part) []part {
	texts := map[int64]string{}
	for _, name := range slices.Sorted(maps.Keys(in.Ledger)) {
		texts[in.Ledger[name].Bytes] = in.Ledger[name].String()
	}
	in.Figures.Sizes(func(_ string, s *diagnose.Size) { texts[s.Bytes] = s.String() })
	for i := range parts {
		parts[i].text = texts[parts[i].bytes]
	}
	return parts
}

// What the marks of a bar stand for.
const (
	markMine   = '█'
	markOthers = '▒'
	markFree   = '░'
)

// pageWidth is the width to draw for, also where text is not wrapped.
func pageWidth(width int) int {
	if width <= 0 {
		return 80
	}
	return width
}

// barWidth is the width of a bar on a page.
func barWidth(width int) int { return min(pageWidth(width)-len(indent), 60) }

// picture draws what fills the memory, "" where the figures do not give it.
func picture(in *diagnose.Incident, width int) string {
	if in.Memory != nil && len(in.Memory.Parts) > 1 {
		return filled(in, barWidth(width))
	}
	if rows := spelled(in, comparison(in)); len(rows) == 2 {
		return compare(rows, barWidth(width))
	}
	return stack(in, barWidth(width))
}

// comparison: what was wanted beside what there was.
func comparison(in *diagnose.Incident) []part {
	f := in.Figures
	switch eventOf(in) {
	case noCache:
		return pair("needed", f.KVNeeded, "available", f.KVAvailable)
	case overShare:
		return pair("wanted", f.Desired, "free", f.Free)
	case noSystem:
		return pair("needed", f.SystemRequired, "available", f.SystemAvailable)
	case overCard:
		return pair("planned", f.Desired, "all of it", ceiling(f))
	case killed:
		if in.Framework == "ray" { // what it killed is one of many, and the limit the node
			return nil
		}
		return pair("held", f.KilledRSS, "limit", f.Limit)
	}
	limit := ceiling(f)
	switch {
	case f.Requested == nil:
		return nil
	case limit != nil && f.Requested.Bytes > limit.Bytes:
		return pair("wanted", f.Requested, "all of it", limit)
	case limit == nil:
		return pair("wanted", f.Requested, "free", f.Free)
	}
	return nil
}

func pair(a string, x *diagnose.Size, b string, y *diagnose.Size) []part {
	if x == nil || y == nil || x.Bytes <= 0 {
		return nil
	}
	return []part{{mark: markMine, label: a, bytes: x.Bytes}, {mark: markFree, label: b, bytes: max(y.Bytes, 0)}}
}

func compare(rows []part, width int) string {
	most := max(rows[0].bytes, rows[1].bytes)
	label, figure := legendWidths(rows)
	room := width - label - figure - 4
	var b strings.Builder
	for _, r := range rows {
		bar := strings.Repeat(string(r.mark), cells(r.bytes, most, room))
		fmt.Fprintf(&b, "%-*s  %*s  %s\n", label, r.label, figure, r.amount(), bar)
	}
	return b.String()
}

// stack is one bar for the whole card with a legend.
func stack(in *diagnose.Incident, width int) string {
	parts := shares(in)
	limit := ceiling(in.Figures)
	if parts == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s\n%s\n", capital(cmp.Or(device(in), "memory")), limit, bar(parts, limit.Bytes, width))
	return b.String() + legend(spelled(in, append(parts, wanted(in)...)))
}

// legend has a line for each part, its figure in the unit of the total.
func legend(parts []part) string {
	var b strings.Builder
	label, figure := legendWidths(parts)
	for _, p := range parts {
		mark := p.mark
		if mark == 0 {
			mark = ' '
		}
		line := fmt.Sprintf("%c %-*s  %*s  %s", mark, label, p.label, figure, p.amount(), p.note)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// shares are who holds how much of the ceiling, nil where that is not known or
// the figures contradict each other.
func shares(in *diagnose.Incident) []part {
	f := in.Figures
	limit := ceiling(f)
	mine, known := in.Ledger["mine"]
	if limit == nil || limit.Bytes <= 0 || !known && f.Free == nil && f.Allocated == nil {
		return nil
	}
	left := limit.Bytes
	var parts []part
	add := func(mark rune, label string, bytes int64) {
		if left -= bytes; bytes*200 >= limit.Bytes {
			parts = append(parts, part{mark: mark, label: label, bytes: bytes, note: percent(bytes, limit.Bytes)})
		}
	}
	if known {
		add(markMine, "this program", mine.Bytes)
		if unused := f.ReservedUnallocated; unused != nil && unused.Bytes*100 >= limit.Bytes {
			parts = append(parts, part{label: "  kept unused", bytes: unused.Bytes})
		}
	}
	if !known && f.Free == nil {
		add(markMine, "in use", f.Allocated.Bytes)
	}
	if f.OtherAllocations != nil && limit == f.Limit {
		add(markMine, "its other buffers", f.OtherAllocations.Bytes)
	}
	if f.Free == nil || limit != f.Total {
		label := "left"
		if limit == f.Total && f.Requested != nil && f.Requested.Bytes < left {
			label = "others or free" // the refusal shows that not all of it was there
		}
		return remaining(parts, label, left, limit.Bytes)
	}
	for _, p := range others(f) {
		add(markOthers, p.label, p.bytes)
	}
	rest := left - f.Free.Bytes
	if rest > 0 && known {
		add(markOthers, "everything else", rest)
	} else if rest > 0 {
		add(markMine, "in use", rest)
	}
	return remaining(parts, "free", f.Free.Bytes, limit.Bytes)
}

// remaining ends a bar with what nobody holds, nil where more is held than
// there is.
func remaining(parts []part, label string, bytes, of int64) []part {
	held := bytes
	for _, p := range parts {
		if p.mark != 0 {
			held += p.bytes
		}
	}
	if bytes < 0 || held > of+of/100 {
		return nil
	}
	return append(parts, part{mark: markFree, label: label, bytes: bytes, note: percent(bytes, of)})
}

// others are the processes that the log lists beside this program, a few of
// them by number.
func others(f diagnose.Figures) []part {
	var parts []part
	for _, p := range f.OtherProcesses {
		if !p.Own && len(parts) < 3 {
			label := "process " + strconv.Itoa(p.PID)
			if name := visible(p.Name); name != "" {
				label += " " + cut(name, 16)
			}
			parts = append(parts, part{mark: markOthers, label: label, bytes: p.Bytes})
		}
	}
	return parts
}

// wanted is the line below the legend: what was asked for.
func wanted(in *diagnose.Incident) []part {
	f := in.Figures
	if f.Requested == nil {
		return nil
	}
	note := ""
	if d := in.Ledger["short"]; d.Has() && d.Bytes > 0 {
		note = d.String() + " short"
	}
	return []part{{label: "wanted", bytes: f.Requested.Bytes, note: note}}
}

// bar fills its width in the proportions of its parts. What is there shows
// with one cell at least, at the cost of the largest.
func bar(parts []part, total int64, width int) string {
	widths := make([]int, len(parts))
	left, largest := width, 0
	for i, p := range parts {
		if p.mark == 0 {
			continue
		}
		widths[i] = cells(p.bytes, total, width)
		left -= widths[i]
		if widths[i] > widths[largest] {
			largest = i
		}
	}
	widths[largest] = max(0, widths[largest]+left)
	var b strings.Builder
	for i, p := range parts {
		if p.mark != 0 {
			b.WriteString(strings.Repeat(string(p.mark), widths[i]))
		}
	}
	return b.String()
}

func cells(bytes, total int64, width int) int {
	n := int(float64(bytes)/float64(total)*float64(width) + 0.5)
	if n == 0 && bytes > 0 {
		return 1
	}
	return min(max(n, 0), width)
}

func legendWidths(parts []part) (label, figure int) {
	for _, p := range parts {
		label = max(label, columns(p.label))
		figure = max(figure, columns(p.amount()))
	}
	return label, figure
}

func percent(bytes, total int64) string {
	return fmt.Sprintf("%3.0f %%", float64(bytes)/float64(total)*100)
}

// capital begins a sentence, unless with a name that is written otherwise:
// vLLM, llama.cpp.
func capital(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if first == "" || strings.Trim(first, "abcdefghijklmnopqrstuvwxyz") != "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
