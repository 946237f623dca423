package live

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/oomdoc/oomdoc/diagnose"
)

// Death is how a program ended that may have been killed for memory.
type Death struct {
	Name string // of the program
	PID  int
	// Code is its exit code, Signal the number of the signal that ended it, or 0.
	Code, Signal int
	// Since is when it may have been killed at the earliest.
	Since time.Time
}

const (
	sigkill    = 9
	codeKilled = 128 + sigkill // of a shell or docker run that passes it on
)

// windowsCodes are what Windows ends a process with that was refused memory and
// could not say so: abort() is a fast fail there.
var windowsCodes = map[uint32]string{
	0xC0000409: "STATUS_STACK_BUFFER_OVERRUN, which abort() gives as well",
	0xC0000017: "STATUS_NO_MEMORY",
	0xC000012D: "STATUS_COMMITMENT_LIMIT",
	0xC00000FD: "STATUS_STACK_OVERFLOW",
	0xC000009A: "STATUS_INSUFFICIENT_RESOURCES",
}

// Silent reports an end that leaves no words in a log.
func (d *Death) Silent() bool {
	_, windows := windowsCodes[uint32(d.Code)]
	return d.Signal == sigkill || d.Code == codeKilled || windows
}

// Before is what the machine had counted when a program started.
type Before struct {
	group      group
	known      bool
	kills, all int64
}

// Before counts, to be compared by [Machine.Lines].
func (m *Machine) Before() Before {
	b := Before{kills: -1, all: m.allKills()}
	if b.group, b.known = m.own(); b.known {
		b.kills = m.kills(b.group)
	}
	return b
}

// Lines are what the machine knows of a silent death, and whether it was asked
// and knows of none for memory.
func (m *Machine) Lines(ctx context.Context, d *Death, before Before) (lines []diagnose.LiveLine, denied bool) {
	if status, ok := windowsCodes[uint32(d.Code)]; ok {
		return append(m.windowsEvents(ctx, d), exitCode(d, status)...), false
	}
	counts, counting := m.counts(before)
	lines = m.kernelLog(ctx, d)
	if len(lines) == 0 {
		lines = m.systemd(ctx, d)
	}
	if len(lines) == 0 && counts != nil {
		lines = counts
	}
	if len(lines) > 0 {
		return append(lines, m.limitLines(before)...), false
	}
	if d.Signal == 0 {
		if lines = m.docker(ctx, d); len(lines) > 0 {
			return lines, false
		}
	}
	if counting && d.Signal == sigkill {
		return nil, true
	}
	return exitCode(d, ""), false
}

// counts are a line where the count of kills rose, and whether there is one.
func (m *Machine) counts(before Before) (lines []diagnose.LiveLine, counting bool) {
	if before.known && before.kills >= 0 {
		if now := m.kills(before.group); now > before.kills {
			return []diagnose.LiveLine{{Source: "cgroup", Text: text(fmt.Sprintf(
				"cgroup %s: a process of it has been killed by the OOM killer (oom_kill %d, before %d)", before.group.name, now, before.kills))}}, true
		}
		counting = true
	}
	if before.all < 0 {
		return nil, counting
	}
	if now := m.allKills(); now > before.all {
		return []diagnose.LiveLine{{Source: "kernel", Text: fmt.Sprintf(
			"/proc/vmstat: a process of this machine has been killed by the OOM killer (oom_kill %d, before %d)", now, before.all)}}, true
	}
	return nil, true
}

// limitLines state the lowest limit of the program's group as the kernel does.
func (m *Machine) limitLines(before Before) []diagnose.LiveLine {
	if !before.known {
		return nil
	}
	limits := m.limits(before.group)
	if len(limits) == 0 {
		return nil
	}
	used := max(m.peak(before.group), limits[0].Used)
	return []diagnose.LiveLine{{Source: "cgroup", Text: fmt.Sprintf("memory: usage %dkB, limit %dkB", used>>10, limits[0].Limit>>10)}}
}

func exitCode(d *Death, status string) []diagnose.LiveLine {
	told := fmt.Sprintf("%s (pid %d) ended with exit code %d", text(d.Name), d.PID, d.Code)
	switch {
	case status != "":
		told = fmt.Sprintf("%s (pid %d) ended with 0x%08X: %s", text(d.Name), d.PID, uint32(d.Code), status)
	case d.Signal == sigkill:
		told = fmt.Sprintf("%s (pid %d) was ended by signal 9 (SIGKILL)", text(d.Name), d.PID)
	}
	return []diagnose.LiveLine{{Source: "exit code", Text: told}}
}

// systemd asks the journal for what systemd and its OOM daemon said.
func (m *Machine) systemd(ctx context.Context, d *Death) []diagnose.LiveLine {
	if m.Root != "" || !there("journalctl") {
		return nil
	}
	out, ok := ask(ctx, "journalctl", "--quiet", "--no-pager", "-o", "cat", "--since", "@"+strconv.FormatInt(d.Since.Unix(), 10), "-t", "systemd", "-t", "systemd-oomd")
	if !ok {
		return nil
	}
	return linesWith(out, "systemd", "has been killed by the OOM killer", "due to memory pressure for ", "due to memory used (", "oom-kill")
}

// linesWith keeps the lines that hold one of some words, at most maxLines.
func linesWith(out, source string, words ...string) []diagnose.LiveLine {
	var lines []diagnose.LiveLine
	for line := range strings.Lines(out) {
		for _, w := range words {
			if strings.Contains(line, w) && len(lines) < maxLines {
				lines = append(lines, diagnose.LiveLine{Source: source, Text: text(line)})
				break
			}
		}
	}
	return lines
}

// lastContainers are those that may have ended just now.
const lastContainers = "5"

// docker asks for the state of containers that ended since the program began.
func (m *Machine) docker(ctx context.Context, d *Death) []diagnose.LiveLine {
	if m.Root != "" {
		return nil
	}
	for _, program := range []string{"docker", "podman"} {
		if !there(program) {
			continue
		}
		ids, ok := ask(ctx, program, "ps", "-a", "-q", "--last", lastContainers)
		if !ok || strings.TrimSpace(ids) == "" {
			continue
		}
		format := `{{.State.FinishedAt}} {{.Name}} {"OOMKilled":{{.State.OOMKilled}},"ExitCode":{{.State.ExitCode}},"Memory":{{.HostConfig.Memory}}}`
		out, _ := ask(ctx, program, append([]string{"inspect", "--format", format}, strings.Fields(ids)...)...)
		if lines := finished(out, program, d.Since); len(lines) > 0 {
			return lines
		}
	}
	return nil
}

// finished keeps the containers that were killed for memory since a time.
func finished(out, program string, since time.Time) []diagnose.LiveLine {
	var lines []diagnose.LiveLine
	for line := range strings.Lines(out) {
		stamp, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err == nil && at.After(since) && strings.Contains(rest, `"OOMKilled":true`) {
			lines = append(lines, diagnose.LiveLine{Source: program, Text: text(rest)})
		}
	}
	return lines
}

// windowsEvents asks for what Windows' Resource Exhaustion Detector wrote.
func (m *Machine) windowsEvents(ctx context.Context, d *Death) []diagnose.LiveLine {
	if m.Root != "" || !there("powershell") {
		return nil
	}
	out, ok := ask(ctx, "powershell", "-NoProfile", "-NonInteractive", "-Command", fmt.Sprintf(
		`Get-WinEvent -FilterHashtable @{LogName='System'; Id=2004; StartTime=[DateTimeOffset]::FromUnixTimeSeconds(%d).LocalDateTime} -ErrorAction Stop | ForEach-Object { ($_.Message -replace '\s+', ' ') }`, d.Since.Unix()))
	if !ok {
		return nil
	}
	return linesWith(out, "event log", "")
}
