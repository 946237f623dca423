package live

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
)

// maxLines bounds what is taken of a kernel log: the table of tasks on a large
// machine has thousands.
const maxLines = 200

// kernelLog returns what the kernel wrote of kills for memory since the program
// began: its ring buffer, or the journal's copy where that may not be read.
func (m *Machine) kernelLog(ctx context.Context, d *Death) []diagnose.LiveLine {
	if lines := killed(m.ringBuffer(d.Since), "kernel log"); lines != nil {
		return lines
	}
	if m.Root != "" || !there("journalctl") {
		return nil
	}
	out, ok := ask(ctx, "journalctl", "--quiet", "--no-pager", "-k", "-o", "cat", "--since", "@"+strconv.FormatInt(d.Since.Unix(), 10))
	if !ok {
		return nil
	}
	return killed(strings.Split(out, "\n"), "kernel log")
}

// taskRow is a row of the table of tasks, and its head: what was running, not
// what happened.
var taskRow = regexp.MustCompile(`^\[\s*\d+\]\s`)

// killed picks the last kill for memory out of a kernel log, from the process
// that asked for memory to the one that was ended. The call trace is left out.
func killed(log []string, source string) []diagnose.LiveLine {
	begin, end := -1, -1
	for i, line := range log {
		switch {
		case strings.Contains(line, " invoked oom-killer"):
			begin = i
		case strings.Contains(line, "Killed process "):
			end = i
		}
	}
	if end < 0 {
		return nil
	}
	if begin < 0 || begin > end {
		begin = end
	}
	var lines []diagnose.LiveLine
	tasks := 0
	for _, line := range log[begin : end+1] {
		if taskRow.MatchString(line) {
			if tasks++; tasks > maxLines/2 {
				continue
			}
		}
		if telling(line) {
			lines = append(lines, diagnose.LiveLine{Source: source, Text: text(line)})
		}
	}
	return lines[max(len(lines)-maxLines, 0):]
}

// tellingWords are in those lines of a kill that say something of memory.
var tellingWords = []string{
	"oom-killer", "memory: usage", "swap: usage", "oom-kill:", "Killed process", "Memory cgroup", "Out of memory", "Mem-Info", "Total swap", "pages RAM", "total_vm",
}

func telling(line string) bool {
	for _, w := range tellingWords {
		if strings.Contains(line, w) {
			return true
		}
	}
	return taskRow.MatchString(line)
}

// record reads a record of /dev/kmsg: "4,1203,98765432,-;text", with what it
// belongs to in further lines. The third number are microseconds since the
// machine started.
func record(s string) (at int64, line string, ok bool) {
	head, body, found := strings.Cut(s, ";")
	f := strings.Split(head, ",")
	if !found || len(f) < 3 {
		return 0, "", false
	}
	at, err := strconv.ParseInt(f[2], 10, 64)
	line, _, _ = strings.Cut(body, "\n")
	return at, line, err == nil
}
