package live

import (
	"path"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
)

// group is a control group whose memory is counted.
type group struct {
	dir  string // under /sys/fs/cgroup
	name string // as /proc/self/cgroup has it
	v2   bool
}

// own is the control group of this process, and with it of what it starts.
func (m *Machine) own() (group, bool) {
	var v2 string
	for line := range strings.Lines(m.file("/proc/self/cgroup")) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, name, _ := strings.Cut(rest, ":")
		switch {
		case number == "0" && controllers == "":
			v2 = name
		case hasController(controllers, "memory"):
			return m.at(group{dir: "/sys/fs/cgroup/memory", name: name})
		}
	}
	if v2 == "" {
		return group{}, false
	}
	return m.at(group{dir: "/sys/fs/cgroup", name: v2, v2: true})
}

func hasController(list, name string) bool {
	for c := range strings.SplitSeq(list, ",") {
		if c == name {
			return true
		}
	}
	return false
}

// at finds a group's directory. A container sees the host's name and has its
// own group at the top.
func (m *Machine) at(g group) (group, bool) {
	for _, dir := range []string{path.Join(g.dir, g.name), g.dir} {
		if m.file(path.Join(dir, "cgroup.procs")) != "" || m.file(path.Join(dir, g.usageFile())) != "" {
			g.dir = dir
			return g, true
		}
	}
	return group{}, false
}

func (g group) usageFile() string {
	if g.v2 {
		return "memory.current"
	}
	return "memory.usage_in_bytes"
}

// kills is how many processes of the group were killed for memory, -1 where it
// does not tell (v1 before Linux 4.13).
func (m *Machine) kills(g group) int64 {
	file := "memory.oom_control"
	if g.v2 {
		file = "memory.events"
	}
	return counted(m.file(path.Join(g.dir, file)), "oom_kill")
}

// allKills is how many processes of the whole machine were killed for memory
// since it started, -1 where it does not tell.
func (m *Machine) allKills() int64 { return counted(m.file("/proc/vmstat"), "oom_kill") }

// counted reads "name number" in a line of its own.
func counted(file, name string) int64 {
	for line := range strings.Lines(file) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && key == name {
			return n
		}
	}
	return -1
}

// noLimit is where version 1 puts a limit that is none: the largest number of
// whole pages.
const noLimit = 1 << 60

// limits are those that hold for a group: its own and those above it, the
// lowest first.
func (m *Machine) limits(g group) []diagnose.LiveLimit {
	root, file := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	source := "cgroup v1"
	if g.v2 {
		root, file, source = "/sys/fs/cgroup", "memory.max", "cgroup v2"
	}
	var out []diagnose.LiveLimit
	for dir := g.dir; len(dir) >= len(root); dir = path.Dir(dir) {
		limit, ok := number(m.file(path.Join(dir, file)))
		if ok && limit < noLimit {
			used, _ := number(m.file(path.Join(dir, g.usageFile())))
			name := strings.TrimPrefix(dir, root)
			if name == "" {
				name = "/"
			}
			out = insert(out, diagnose.LiveLimit{Name: text(name), Limit: limit, Used: used, Source: source})
		}
	}
	return out
}

// insert keeps the lowest limit first.
func insert(list []diagnose.LiveLimit, l diagnose.LiveLimit) []diagnose.LiveLimit {
	i := 0
	for i < len(list) && list[i].Limit <= l.Limit {
		i++
	}
	return append(list[:i], append([]diagnose.LiveLimit{l}, list[i:]...)...)
}

// peak is the most that a group ever had, 0 where it does not tell.
func (m *Machine) peak(g group) int64 {
	file := "memory.max_usage_in_bytes"
	if g.v2 {
		file = "memory.peak" // Linux 5.19
	}
	n, _ := number(m.file(path.Join(g.dir, file)))
	return n
}

func number(s string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	return n, err == nil && n >= 0
}
