package live

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// machine lays out the files of a machine.
func machine(t *testing.T, files map[string]string) *Machine {
	t.Helper()
	root := t.TempDir()
	for name, body := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(body), 0o644))
	}
	return &Machine{Root: root}
}

func (m *Machine) set(t *testing.T, name, body string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(m.Root, name), []byte(body), 0o644))
}

const (
	v2Group = "sys/fs/cgroup/user.slice/job.scope/"
	v1Group = "sys/fs/cgroup/memory/job/"
)

var (
	v2Files = map[string]string{
		"proc/self/cgroup": "0::/user.slice/job.scope\n", "proc/vmstat": "nr_free_pages 5\noom_kill 3\n",
		v2Group + "cgroup.procs": "1\n", v2Group + "memory.current": "1000000\n", v2Group + "memory.max": "max\n", v2Group + "memory.peak": "2000000000\n",
		v2Group + "memory.events":                  "low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\noom_group_kill 0\n",
		"sys/fs/cgroup/user.slice/memory.max":      "2147483648\n",
		"sys/fs/cgroup/user.slice/memory.current":  "1900000000\n",
		"sys/fs/cgroup/user.slice/job.scope/x/y/z": "",
	}
	v1Files = map[string]string{
		"proc/self/cgroup": "9:name=systemd:/\n4:memory,hugetlb:/job\n0::/\n", "proc/vmstat": "oom_kill 0\n",
		v1Group + "cgroup.procs": "1\n", v1Group + "memory.usage_in_bytes": "5\n", v1Group + "memory.max_usage_in_bytes": "209715200\n",
		v1Group + "memory.limit_in_bytes":            "209715200\n",
		v1Group + "memory.oom_control":               "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		"sys/fs/cgroup/memory/memory.usage_in_bytes": "77\n",
	}
)

func killedNow() *Death {
	return &Death{Name: "python3", PID: 4242, Code: 137, Signal: 9, Since: time.Now().Add(-time.Second)}
}

// TestGroupCounts: without the kernel's log the count of kills tells, and the
// report is one of a limit.
func TestGroupCounts(t *testing.T) {
	for name, c := range map[string]struct {
		files         map[string]string
		counter, then string
		limit         string
	}{
		"v1":        {v1Files, v1Group + "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", "memory: usage 204800kB, limit 204800kB"},
		"v2":        {v2Files, v2Group + "memory.events", "max 40\noom 1\noom_kill 1\n", "memory: usage 1953125kB, limit 2097152kB"},
		"elsewhere": {v2Files, "proc/vmstat", "oom_kill 4\n", "memory: usage 1953125kB, limit 2097152kB"},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, c.files)
			before := m.Before()
			lines, denied := m.Lines(context.Background(), killedNow(), before)
			assert.True(t, denied, "nothing was counted: somebody else sent the signal")
			assert.Empty(t, lines)
			m.set(t, c.counter, c.then)
			lines, denied = m.Lines(context.Background(), killedNow(), before)
			assert.False(t, denied)
			require.Len(t, lines, 2)
			assert.Contains(t, lines[0].Text, "killed by the OOM killer")
			assert.Equal(t, c.limit, lines[1].Text)
			r, err := diagnose.Read(context.Background(), strings.NewReader("epoch 1\n"), diagnose.Beside(func() *diagnose.Live { return &diagnose.Live{Lines: lines} }))
			require.NoError(t, err)
			require.True(t, r.OOM)
			assert.Equal(t, "host_memory", r.Incidents[0].Causes[0].ID)
			assert.Equal(t, "linux-oom-killer", r.Incidents[0].Framework)
		})
	}
}

// TestNothingToAsk: where nothing can be read, the exit code is all there is,
// and the report says that it can mean something else.
func TestNothingToAsk(t *testing.T) {
	m := machine(t, nil)
	for name, c := range map[string]struct {
		death Death
		want  string
	}{
		"signal":  {Death{Name: "python3", PID: 7, Code: 137, Signal: 9}, "python3 (pid 7) was ended by signal 9 (SIGKILL)"},
		"code":    {Death{Name: "make", PID: 7, Code: 137}, "make (pid 7) ended with exit code 137"},
		"windows": {Death{Name: "python.exe", PID: 7, Code: 0xC0000017}, "python.exe (pid 7) ended with 0xC0000017: STATUS_NO_MEMORY"},
	} {
		require.True(t, c.death.Silent(), name)
		lines, denied := m.Lines(context.Background(), &c.death, m.Before())
		require.Len(t, lines, 1, name)
		assert.False(t, denied, name)
		assert.Equal(t, c.want, lines[0].Text)
		assert.Equal(t, "exit code", lines[0].Source)
		r, err := diagnose.Read(context.Background(), strings.NewReader("epoch 1\n"), diagnose.Beside(func() *diagnose.Live { return &diagnose.Live{Lines: lines} }))
		require.NoError(t, err)
		assert.True(t, r.OOM, name)
	}
	for _, code := range []int{0, 1, 2, 134, 139, 143} {
		assert.False(t, (&Death{Code: code}).Silent(), code)
	}
}

// TestKernelLog picks the last kill out of a kernel's log, with what tells of
// memory and without the trace.
func TestKernelLog(t *testing.T) {
	raw, err := os.ReadFile("testdata/kernel.log")
	require.NoError(t, err)
	lines := killed(strings.Split(string(raw), "\n"), "kernel log")
	var all []string
	for _, l := range lines {
		assert.Equal(t, "kernel log", l.Source)
		all = append(all, l.Text)
	}
	told := strings.Join(all, "\n")
	assert.Contains(t, all[0], "python3 invoked oom-killer")
	assert.Contains(t, all[len(all)-1], "Killed process 31007 (python3)")
	assert.Contains(t, told, "memory: usage 33554432kB, limit 33554432kB, failcnt 881")
	assert.NotContains(t, told, "dump_stack")
	assert.NotContains(t, told, "firefox", "an earlier kill")
	assert.Nil(t, killed([]string{"usb 1-1: new device", "python3 invoked oom-killer: gfp_mask=0x1"}, "kernel log"))
}

// TestKernelLogIsBounded: a table of thousands of tasks leaves room for what
// was killed.
func TestKernelLogIsBounded(t *testing.T) {
	log := []string{"a invoked oom-killer: gfp_mask=0x1, order=0"}
	for range 5000 {
		log = append(log, "[  16800]     0 16800    50266    48996    47328     1668         0   446464        0             0 sleep")
	}
	log = append(log, "Out of memory: Killed process 9 (a) total-vm:1kB, anon-rss:1kB, file-rss:0kB")
	lines := killed(log, "kernel log")
	assert.LessOrEqual(t, len(lines), maxLines)
	assert.Contains(t, lines[0].Text, "invoked")
	assert.Contains(t, lines[len(lines)-1].Text, "Killed process 9")
}

func FuzzRecord(f *testing.F) {
	f.Add("6,339,5140900,-;NET: Registered PF_NETLINK\n SUBSYSTEM=net\n")
	f.Add("4,1203,98765432,-,caller=T1;Killed process 5 (a)")
	f.Add(";;;,,,")
	f.Fuzz(func(t *testing.T, s string) {
		_, line, ok := record(s)
		if ok {
			assert.NotContains(t, line, "\n")
		}
		for _, l := range killed(strings.Split(s, "\n"), "x") {
			assert.NotContains(t, l.Text, "\x1b")
		}
	})
}

func TestRecord(t *testing.T) {
	at, line, ok := record("4,1203,98765432,-,caller=T1;Killed process 5 (a;b)\n DEVICE=+x\n")
	assert.True(t, ok)
	assert.EqualValues(t, 98765432, at)
	assert.Equal(t, "Killed process 5 (a;b)", line)
}

// TestDocker: of the last containers, those that ended just now and for memory.
func TestDocker(t *testing.T) {
	since := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	out := `2026-03-01T08:00:05.123456789Z /train {"OOMKilled":true,"ExitCode":137,"Memory":1073741824}
2026-03-01T07:00:05Z /older {"OOMKilled":true,"ExitCode":137,"Memory":0}
2026-03-01T08:00:06Z /stopped {"OOMKilled":false,"ExitCode":137,"Memory":0}
0001-01-01T00:00:00Z /running {"OOMKilled":false,"ExitCode":0,"Memory":0}
not a line of it
`
	lines := finished(out, "docker", since)
	require.Len(t, lines, 1)
	assert.Equal(t, `/train {"OOMKilled":true,"ExitCode":137,"Memory":1073741824}`, lines[0].Text)
}
