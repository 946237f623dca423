package host

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// kernelTasks is how the kernel's table of processes begins; its last columns
// are the same in all eras ("nr_ptes" up to 4.14, "pgtables_bytes" from there,
// "rss_anon rss_file rss_shmem" from 6.8).
const kernelTasks = "oom_score_adj name"

// pageSize is that of x86; ARM servers may have 64 KiB, and then the kill line,
// in kB, does not fit the table.
const pageSize = 4 << 10

// readTasks reads the table that belongs to the kill that was chosen: dmesg
// keeps those of earlier kills.
func readTasks(f *fact.Facts, l *text.Log, headers []text.Hit) {
	killed := -1
	for i := range f.Failures {
		if f.Failures[i].Kind == fact.KernelKill {
			killed = f.Failures[i].At
		}
	}
	header := -1
	for _, h := range headers {
		if h.At < killed || header < 0 {
			header = h.At
		}
	}
	if killed < 0 {
		return
	}
	if header < 0 {
		headless(f, l, killed)
		return
	}
	at := l.LineIndex(header)
	names := strings.Fields(behindBrackets(l.Lines[at].Text))
	columns := taskTable{columns: len(names), tgid: slices.Index(names, "tgid"), rss: slices.Index(names, "rss"), swap: slices.Index(names, "swapents")}
	for _, line := range l.Lines[at+1:] {
		p, ok := columns.row(line.Text)
		if !ok && behindTasks.MatchString(line.Text) {
			return
		}
		if ok {
			p.Line = line.Number
			listed(f, p)
			columns.swapped(f, line.Text, p)
		}
	}
}

// swapped notes what the victim had in swap.
func (t taskTable) swapped(f *fact.Facts, row string, p fact.Process) {
	fields := strings.Fields(behindBrackets(row))
	if t.swap < 0 || t.swap >= len(fields) || !slices.ContainsFunc(f.Facts, func(x fact.Fact) bool {
		return x.Name == "victim" && x.Count != nil && int(x.Count.Value) == p.PID
	}) {
		return
	}
	if pages, ok := text.WholeNumber(fields[t.swap]); ok && pages > 0 {
		f.Facts = append(f.Facts, fact.Fact{Name: "victim_swap", Size: &fact.Size{Bytes: pages * pageSize, Text: fields[t.swap] + " pages", Line: p.Line}, Line: p.Line})
	}
}

// behindTasks are the lines that follow the table, of all eras.
var behindTasks = regexp.MustCompile(`oom-kill:|Kill(?:ed)? process `)

// taskTable says in which column a table has what; the number in brackets
// before them may be gone with the prefix of the line, tgid repeats it.
type taskTable struct{ columns, tgid, rss, swap int }

// row reads "[  20759]  0 20759  327208  146599  1683456  0  0 python3". Sizes
// are pages; the name may hold blanks.
func (t taskTable) row(s string) (fact.Process, bool) {
	fields := strings.Fields(behindBrackets(s))
	if t.tgid < 0 || t.rss < 0 || len(fields) < t.columns {
		return fact.Process{}, false
	}
	pid, ok := text.WholeNumber(fields[t.tgid])
	pages, ok2 := text.WholeNumber(fields[t.rss])
	if !ok || !ok2 {
		return fact.Process{}, false
	}
	return fact.Process{
		PID: int(pid), Bytes: pages * pageSize, Text: fields[t.rss] + " pages",
		Name: strings.Join(fields[t.columns-1:], " "), Device: -1,
	}, true
}

func behindBrackets(s string) string { return s[strings.LastIndex(s, "] ")+1:] }

// taskRow begins a row: the number in brackets, the user, and the number again.
var taskRow = regexp.MustCompile(`\[ *(\d+)\] +\d+ +(\d+) +\d+ +\d+ +\d+ `)

// headless reads the rows that stand before the kill where the table's head was
// cut off: only those whose two numbers agree.
func headless(f *fact.Facts, l *text.Log, killed int) {
	end := l.LineIndex(killed)
	for _, line := range l.Lines[max(end-400, 0):end] {
		m := taskRow.FindStringSubmatch(line.Text)
		if m == nil || m[1] != m[2] {
			continue
		}
		fields := strings.Fields(behindBrackets(line.Text))
		t := taskTable{columns: 8, tgid: 1, rss: 3, swap: -1}
		if len(fields) >= 11 && number(fields[7]) && number(fields[8]) {
			t.columns = 11
		}
		if p, ok := t.row(line.Text); ok && number(fields[t.columns-2]) {
			p.Line = line.Number
			listed(f, p)
		}
	}
}

// listed adds a process. Every pod has one named pause (kubernetes/build/pause).
func listed(f *fact.Facts, p fact.Process) {
	if f.Tasks = append(f.Tasks, p); p.Name == "pause" && text.HasFact(f, "cgroup") {
		f.Programs = append(f.Programs, fact.Program{Name: "kubernetes", Line: p.Line, Weight: 2})
	}
}

func number(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}
