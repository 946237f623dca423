package live

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// fakes puts programs of a shell on PATH, and nothing else but the shell's own.
func fakes(t *testing.T, scripts map[string]string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the fakes are shell scripts")
	}
	dir := t.TempDir()
	for name, body := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body), 0o755))
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

// recorded are the parts of an archive of outputs.
func recorded(t *testing.T, name string) map[string]string {
	t.Helper()
	a, err := txtar.ParseFile("testdata/" + name)
	require.NoError(t, err)
	out := map[string]string{}
	for _, f := range a.Files {
		out[f.Name] = string(f.Data)
	}
	return out
}

// nvidiaSMI is a fake that answers as a recorded driver did.
func nvidiaSMI(t *testing.T, era string) {
	t.Helper()
	out := recorded(t, "nvidia.txtar")
	dir := t.TempDir()
	for _, part := range []string{"gpus", "apps", "table"} {
		require.Contains(t, out, era+" "+part)
		require.NoError(t, os.WriteFile(filepath.Join(dir, part), []byte(out[era+" "+part]), 0o644))
	}
	fakes(t, map[string]string{"nvidia-smi": `cd ` + dir + `
case "$1" in --query-gpu=*) cat gpus;; --query-compute-apps=*) cat apps;; "") cat table;; *) echo "Unrecognized option $1"; exit 6;; esac`})
}

func TestNVIDIA(t *testing.T) {
	for era, want := range map[string]struct {
		cards   []diagnose.LiveCard
		holders []diagnose.LiveProcess
	}{
		"340": {[]diagnose.LiveCard{{Name: "Tesla K40c", Total: 11519 * mib, Used: 287 * mib}}, []diagnose.LiveProcess{{PID: 8841, Command: "python", Bytes: 264 * mib}}},
		"470": {
			[]diagnose.LiveCard{{Name: "NVIDIA GeForce RTX 3090", Total: 24268 * mib, Used: 20114 * mib}, {Index: 1, Name: "NVIDIA GeForce GTX 1060 6GB", Total: 6078 * mib, Used: 3 * mib}},
			[]diagnose.LiveProcess{{PID: 31007, Command: "/home/anna/venv/bin/python", Bytes: 18432 * mib}, {PID: 2204, Command: "[Not Found]", Bytes: 1674 * mib}},
		},
		"535mig": {
			[]diagnose.LiveCard{
				{Name: "NVIDIA A100-SXM4-40GB", Total: 40960 * mib, Used: 1250 * mib},
				{Part: "MIG 0 (GPU instance 1)", Total: 20096 * mib, Used: 1213 * mib}, {Part: "MIG 1 (GPU instance 5)", Total: 9856 * mib, Used: 19 * mib},
			},
			[]diagnose.LiveProcess{{PID: 77001, Command: "python3", Bytes: 1200 * mib}},
		},
		"560win": {
			[]diagnose.LiveCard{{Name: "NVIDIA GeForce RTX 4070 Laptop GPU", Total: 8188 * mib, Used: 6912 * mib}},
			[]diagnose.LiveProcess{{PID: 9312, Command: `C:\Users\anna\ComfyUI\python_embeded\python.exe`}, {PID: 15044, Command: "[Insufficient Permissions]"}},
		},
		"gb10": {[]diagnose.LiveCard{{Name: "NVIDIA GB10"}}, []diagnose.LiveProcess{{PID: 4100, Command: "python", Bytes: 61440 * mib}}},
	} {
		t.Run(era, func(t *testing.T) {
			nvidiaSMI(t, era)
			cards, holders, note := (&Machine{}).nvidia(context.Background())
			for i := range want.cards {
				want.cards[i].Backend, want.cards[i].Source = "cuda", "nvidia-smi"
			}
			assert.Equal(t, want.cards, cards)
			assert.Equal(t, want.holders, holders)
			assert.Empty(t, note)
		})
	}
	nvidiaSMI(t, "container")
	_, holders, note := (&Machine{}).nvidia(context.Background())
	assert.Empty(t, holders)
	assert.Contains(t, note, "inside a container")
	fakes(t, map[string]string{"nvidia-smi": `echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."; exit 9`})
	cards, _, note := (&Machine{}).nvidia(context.Background())
	assert.Empty(t, cards)
	assert.Contains(t, note, "couldn't communicate")
}

func TestAMD(t *testing.T) {
	const gib = 1 << 30
	fakes(t, map[string]string{"amd-smi": `echo '[{"gpu": 0, "mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}, "used_vram": {"value": 283, "unit": "MB"}}}]'`})
	cards, _, _ := (&Machine{}).amd(context.Background())
	assert.Equal(t, []diagnose.LiveCard{{Backend: "rocm", Total: 196592 * mib, Used: 283 * mib, Source: "amd-smi"}}, cards)
	assert.Equal(t, cards, amdCards(`{"gpu_data": [{"gpu": 0, "mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}, "used_vram": {"value": 283, "unit": "MB"}}}]}`))
	assert.Empty(t, amdCards(`[{"gpu": 0, "mem_usage": {"total_vram": "N/A"}}]`))

	fakes(t, map[string]string{"rocm-smi": `echo 'WARNING: AMD GPU device(s) is/are in a low-power state.'
echo '{"card1": {"VRAM Total Memory (B)": "17163091968", "VRAM Total Used Memory (B)": "10850304", "Card series": "Navi 21"}, "card0": {"VRAM Total Memory (B)": "1073741824", "VRAM Total Used Memory (B)": "0"}, "system": {"x": "y"}}'`})
	cards, _, _ = (&Machine{}).amd(context.Background())
	assert.Equal(t, []diagnose.LiveCard{
		{Backend: "rocm", Total: gib, Source: "rocm-smi"}, {Index: 1, Name: "Navi 21", Backend: "rocm", Total: 17163091968, Used: 10850304, Source: "rocm-smi"},
	}, cards)

	m := machine(t, map[string]string{
		"sys/class/drm/card0/device/mem_info_vram_total": "17163091968\n", "sys/class/drm/card0/device/mem_info_vram_used": "9000000000\n",
		"sys/class/kfd/kfd/topology/nodes/0/gpu_id": "0\n", "sys/class/kfd/kfd/topology/nodes/1/gpu_id": "25440\n",
		"sys/class/kfd/kfd/proc/4242/vram_25440": "8589934592\n", "sys/class/kfd/kfd/proc/4243/vram_25440": "0\n",
	})
	cards, holders, _ := m.amd(context.Background())
	assert.Equal(t, []diagnose.LiveCard{{Backend: "rocm", Total: 17163091968, Used: 9000000000, Source: "amdgpu"}}, cards)
	assert.Equal(t, []diagnose.LiveProcess{{PID: 4242, Bytes: 8 * gib}}, holders)
}

func TestIntel(t *testing.T) {
	fakes(t, map[string]string{"xpu-smi": `case "$1" in
discovery) printf 'Device ID,Device Name,Memory Physical Size\n0,"Intel(R) Data Center GPU Flex 170",14248.00 MiB\n';;
dump) printf 'Timestamp, DeviceId, GPU Memory Used (MiB)\n06:14:46.000,    0, 25.50\n';; esac`})
	cards, _, note := (&Machine{}).intel(context.Background())
	assert.Empty(t, note)
	assert.Equal(t, []diagnose.LiveCard{{Name: "Intel(R) Data Center GPU Flex 170", Backend: "xpu", Total: 14248 * mib, Used: 25*mib + mib/2, Source: "xpu-smi"}}, cards)
}

func TestRAM(t *testing.T) {
	const kib = 1 << 10
	assert.Equal(t, &diagnose.LiveRAM{Total: 24684096 * kib, Available: 23651408 * kib, SwapTotal: 2097148 * kib, SwapFree: 1000 * kib, Source: "/proc/meminfo"},
		meminfo("MemTotal:       24684096 kB\nMemFree:        16787412 kB\nMemAvailable:   23651408 kB\nSwapTotal:       2097148 kB\nSwapFree:           1000 kB\nHugePages_Total:       0\n"))
	assert.EqualValues(t, 60*kib, meminfo("MemTotal: 100 kB\nMemFree: 10 kB\nBuffers: 20 kB\nCached: 30 kB\n").Available, "before Linux 3.14")
	assert.Nil(t, meminfo(""))
	mac := macRAM("17179869184\n", "Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free:                               10000.\nPages active:                            300000.\nPages inactive:                           20000.\n",
		"total = 2048.00M  used = 1021.50M  free = 1026.50M  (encrypted)\n", "4\n")
	assert.Equal(t, &diagnose.LiveRAM{Total: 16 << 30, Available: 30000 * 16384, SwapTotal: 2048 * mib, SwapFree: 1026*mib + mib/2, Pressure: "critical", Source: "vm_stat"}, mac)
	assert.Nil(t, macRAM("", "", "", ""))
	assert.Equal(t, &diagnose.LiveRAM{Total: 24 << 30, Available: 1 << 30, SwapTotal: 8 << 30, SwapFree: 0, Source: "commit charge"},
		windowsRAM(`{"TotalVisibleMemorySize":16777216,"FreePhysicalMemory":2097152,"TotalVirtualMemorySize":25165824,"FreeVirtualMemory":1048576}`))
	assert.Nil(t, windowsRAM("Get-CimInstance : Access denied"))
}

// TestProcess: the process that a log names is told as a person would look for
// it, or is gone.
func TestProcess(t *testing.T) {
	id := strings.Repeat("ab12", 16)
	m := machine(t, map[string]string{
		"proc/4242/stat":    "4242 (python (x)) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 360000 20 21\n",
		"proc/4242/cmdline": "python\x00train.py\x00--name\x00\x1b[31mred\x00", "proc/4242/status": "Name:\tpython\nUid:\t" + strconv.Itoa(os.Getuid()) + "\t0\t0\t0\n",
		"proc/4242/cgroup": "0::/system.slice/docker-" + id + ".scope\n", "proc/stat": "cpu 1 2\nbtime 1700000000\n",
		"etc/passwd": "root:x:0:0::/root:/bin/sh\nanna:x:" + strconv.Itoa(os.Getuid()) + ":1::/home/anna:/bin/sh\n",
	})
	p := diagnose.LiveProcess{PID: 4242, Card: -1}
	m.describe(context.Background(), &p)
	began := time.Unix(1700003600, 0).UTC()
	user := "anna"
	if os.Getuid() == 0 {
		user = "root"
	}
	assert.Equal(t, diagnose.LiveProcess{PID: 4242, Card: -1, Command: "python train.py --name red", User: user, Mine: true, Started: &began, Container: "ab12ab12ab12"}, p)
	gone := diagnose.LiveProcess{PID: 5, Card: -1}
	m.describe(context.Background(), &gone)
	assert.True(t, gone.Gone)

	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	mac := diagnose.LiveProcess{PID: 9}
	describePS(&mac, "  501 anna     02-03:00:10 /usr/bin/python3 train.py\n", 501, now)
	assert.Equal(t, "/usr/bin/python3 train.py", mac.Command)
	assert.True(t, mac.Mine)
	assert.Equal(t, now.Add(-51*time.Hour-10*time.Second), *mac.Started)
	describePS(&mac, "", 501, now)
	assert.True(t, mac.Gone)

	var win diagnose.LiveProcess
	describeWindows(&win, "2026-03-01T08:00:00.1234567Z \"C:\\Python\\python.exe\" train.py\r\n")
	assert.Equal(t, `"C:\Python\python.exe" train.py`, win.Command)
	describeWindows(&win, "")
	assert.True(t, win.Gone)
}

// TestGather asks this machine, whatever it is: what it says is true of this
// process, and nothing on it changes.
func TestGather(t *testing.T) {
	r := diagnose.Bytes([]byte("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)\n"))
	r.Incidents[0].Figures.OtherProcesses = []diagnose.Process{{PID: os.Getpid()}, {PID: 1 << 22}, {PID: os.Getpid()}}
	(&Machine{}).Gather(context.Background(), r)
	require.Len(t, r.Live.Named, 2)
	assert.True(t, r.Live.Named[0].Mine)
	assert.Contains(t, r.Live.Named[0].Command, "live.test")
	require.NotNil(t, r.Live.Named[0].Started)
	assert.WithinDuration(t, time.Now(), *r.Live.Named[0].Started, time.Hour)
	assert.True(t, r.Live.Named[1].Gone)
	require.NotNil(t, r.Live.RAM)
	assert.Positive(t, r.Live.RAM.Total)
}

// FuzzAnswers: whatever a tool prints, no text of it is obeyed by a terminal
// and no amount is below nothing.
func FuzzAnswers(f *testing.F) {
	a, err := txtar.ParseFile("testdata/nvidia.txtar")
	require.NoError(f, err)
	for _, part := range a.Files {
		f.Add(string(part.Data))
	}
	for _, seed := range []string{
		`[{"gpu": 0, "mem_usage": {"total_vram": {"value": 196592}}}]`, `{"card0": {"VRAM Total Memory (B)": "17163091968"}}`,
		`0,"Intel(R)",14248.00 MiB`, "MemTotal: 24684096 kB\n", "Pages free: 10000.\n", "4242 (a) S 1", "  501 anna 02-03:00:10 x\n",
		"/train {\"OOMKilled\":true}", "[  12] 0 12 5 5 0 0 a\nKilled process 5 (a)",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cards, uuids := nvidiaCards(s)
		holders := nvidiaHolders(s, uuids)
		for _, list := range [][]diagnose.LiveCard{nvidiaParts(s), amdCards(s), rocmCards(s), intelCards(s, s)} {
			cards = append(cards, list...)
		}
		for _, c := range cards {
			assert.True(t, c.Total >= 0 && c.Used >= 0 && c.Index >= 0, "%+v", c)
			harmless(t, c.Name+c.Part)
		}
		var p, w diagnose.LiveProcess
		describePS(&p, s, 0, time.Now())
		describeWindows(&w, s)
		for _, h := range append(holders, p, w) {
			assert.GreaterOrEqual(t, h.Bytes, int64(0))
			harmless(t, h.Command+h.User)
		}
		for _, r := range []*diagnose.LiveRAM{meminfo(s), macRAM("1000", s, s, s), windowsRAM(s)} {
			if r != nil {
				assert.True(t, r.Total >= 0 && r.Available >= 0 && r.SwapTotal >= 0 && r.SwapFree >= 0, "%+v", r)
			}
		}
		(&Machine{}).began(s)
		for _, l := range append(finished(s, "docker", time.Time{}), killed(strings.Split(s, "\n"), "x")...) {
			harmless(t, l.Text)
		}
	})
}

func harmless(t *testing.T, s string) {
	t.Helper()
	for _, r := range s {
		if r < ' ' || r >= 0x7f && r <= 0x9f {
			assert.Fail(t, "a character that must not show", "%q", s)
		}
	}
}
