package live

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/redact"
)

// describe says what a process is, whose, and since when, or that it is gone.
func (m *Machine) describe(ctx context.Context, p *diagnose.LiveProcess) {
	switch {
	case m.on("linux"):
		m.describeLinux(p)
	case m.on("windows"):
		out, _ := ask(ctx, "powershell", "-NoProfile", "-NonInteractive", "-Command",
			"Get-CimInstance Win32_Process -Filter 'ProcessId="+strconv.Itoa(p.PID)+"' | ForEach-Object { $_.CreationDate.ToUniversalTime().ToString('o') + ' ' + $_.CommandLine }")
		describeWindows(p, out)
	default:
		out, _ := ask(ctx, "ps", "-p", strconv.Itoa(p.PID), "-o", "uid=,user=,etime=,command=")
		describePS(p, out, os.Getuid(), time.Now())
	}
}

// userTicks are the units of /proc/PID/stat in a second: 100 on all machines
// that Linux is built for today.
const userTicks = 100

func (m *Machine) describeLinux(p *diagnose.LiveProcess) {
	folder := "/proc/" + strconv.Itoa(p.PID)
	stat := m.file(folder + "/stat")
	if stat == "" {
		p.Gone = true
		return
	}
	if args := strings.TrimRight(m.file(folder+"/cmdline"), "\x00"); args != "" {
		p.Command = command(strings.ReplaceAll(args, "\x00", " "))
	} else if p.Command == "" {
		p.Command = text(m.file(folder + "/comm"))
	}
	if _, uid, found := strings.Cut(m.file(folder+"/status"), "\nUid:"); found {
		if id, err := strconv.Atoi(strings.Fields(uid + " x")[0]); err == nil {
			p.User, p.Mine = m.user(id), id == os.Getuid()
		}
	}
	if began, ok := m.began(stat); ok {
		p.Started = &began
	}
	if id := containerPattern.FindStringSubmatch(m.file(folder + "/cgroup")); id != nil {
		p.Container = id[1]
	}
}

// longestCommand is enough to know a program by.
const longestCommand = 200

func command(s string) string {
	s = redact.Credentials(text(s))
	if len(s) > longestCommand {
		s = strings.ToValidUTF8(s[:longestCommand], "") + "…"
	}
	return s
}

// containerPattern finds the number that Docker, Podman and containerd give, of
// which people use the first twelve digits.
var containerPattern = regexp.MustCompile(`(?:docker[-/]|libpod-|cri-containerd-|crio-|kubepods[^\n]*/)([0-9a-f]{12})[0-9a-f]{52}`)

// began is the 22nd field of /proc/PID/stat, counted from the machine's start.
func (m *Machine) began(stat string) (time.Time, bool) {
	f := bytes.Fields([]byte(stat[strings.LastIndexByte(stat, ')')+1:]))
	boot := counted(m.file("/proc/stat"), "btime")
	if len(f) < 20 || boot < 0 {
		return time.Time{}, false
	}
	ticks, ok := number(string(f[19]))
	if !ok || ticks > 1<<50 || boot > 1<<40 {
		return time.Time{}, false
	}
	return time.Unix(boot+ticks/userTicks, 0).UTC(), true
}

// user is a user's name, or its number.
func (m *Machine) user(id int) string {
	for line := range strings.Lines(m.file("/etc/passwd")) {
		f := strings.Split(line, ":")
		if len(f) > 2 && f[2] == strconv.Itoa(id) {
			return text(f[0])
		}
	}
	return "user " + strconv.Itoa(id)
}

// describePS reads "  501 anna     01-03:12:45 python train.py".
func describePS(p *diagnose.LiveProcess, out string, me int, now time.Time) {
	f := strings.Fields(out)
	if len(f) < 4 {
		p.Gone = true
		return
	}
	id, _ := strconv.Atoi(f[0])
	p.User, p.Mine, p.Command = text(f[1]), id == me, command(strings.Join(f[3:], " "))
	if age, ok := elapsed(f[2]); ok {
		began := now.Add(-age).UTC().Truncate(time.Second)
		p.Started = &began
	}
}

// elapsed reads ps's [[days-]hours:]minutes:seconds.
func elapsed(s string) (time.Duration, bool) {
	days, clock, found := strings.Cut(s, "-")
	if !found {
		days, clock = "0", s
	}
	d, err := strconv.Atoi(days)
	total := time.Duration(d) * 24 * time.Hour
	if err != nil || d < 0 || d > 1<<16 {
		return 0, false
	}
	parts := strings.Split(clock, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, false
	}
	unit := time.Second
	for i := len(parts) - 1; i >= 0; i-- {
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < 0 || n > 99 {
			return 0, false
		}
		total += time.Duration(n) * unit
		unit *= 60
	}
	return total, true
}

// describeWindows reads "2026-03-01T08:00:00.0000000Z python train.py".
func describeWindows(p *diagnose.LiveProcess, out string) {
	stamp, line, _ := strings.Cut(strings.TrimSpace(out), " ")
	began, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		p.Gone = true
		return
	}
	began = began.UTC().Truncate(time.Second)
	p.Started = &began
	if line != "" {
		p.Command = command(line)
	}
}
