package live

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
)

// ram is the computer's own memory, nil where it does not tell.
func (m *Machine) ram(ctx context.Context) *diagnose.LiveRAM {
	switch {
	case m.on("linux"):
		return meminfo(m.file("/proc/meminfo"))
	case m.on("darwin"):
		size, _ := ask(ctx, "sysctl", "-n", "hw.memsize")
		stat, _ := ask(ctx, "vm_stat")
		swap, _ := ask(ctx, "sysctl", "-n", "vm.swapusage")
		pressure, _ := ask(ctx, "sysctl", "-n", "kern.memorystatus_vm_pressure_level")
		return macRAM(size, stat, swap, pressure)
	case m.on("windows"):
		out, _ := ask(ctx, "powershell", "-NoProfile", "-NonInteractive", "-Command",
			"Get-CimInstance Win32_OperatingSystem | Select-Object TotalVisibleMemorySize,FreePhysicalMemory,TotalVirtualMemorySize,FreeVirtualMemory | ConvertTo-Json -Compress")
		return windowsRAM(out)
	}
	return nil
}

// meminfo reads /proc/meminfo. MemAvailable is there since Linux 3.14.
func meminfo(file string) *diagnose.LiveRAM {
	kib := map[string]int64{}
	for line := range strings.Lines(file) {
		name, value, _ := strings.Cut(line, ":")
		if n, ok := number(strings.TrimSuffix(strings.TrimSpace(value), "kB")); ok {
			kib[name] = n
		}
	}
	if kib["MemTotal"] == 0 {
		return nil
	}
	available, ok := kib["MemAvailable"]
	if !ok {
		available = kib["MemFree"] + kib["Buffers"] + kib["Cached"]
	}
	return &diagnose.LiveRAM{
		Total: sized(kib["MemTotal"], 1<<10), Available: sized(available, 1<<10), SwapTotal: sized(kib["SwapTotal"], 1<<10), SwapFree: sized(kib["SwapFree"], 1<<10), Source: "/proc/meminfo",
	}
}

// pressures are macOS's levels.
var pressures = map[string]string{"1": "normal", "2": "warning", "4": "critical"}

// macRAM reads vm_stat ("(page size of 16384 bytes)", "Pages free:  12345.") and
// vm.swapusage ("total = 2048.00M  used = 1021.50M  free = 1026.50M").
func macRAM(size, stat, swap, pressure string) *diagnose.LiveRAM {
	total, ok := number(size)
	if !ok {
		return nil
	}
	page, pages := int64(4096), int64(0)
	if _, rest, found := strings.Cut(stat, "page size of "); found {
		digits, _, _ := strings.Cut(rest, " ")
		if n, ok := number(digits); ok && n > 0 && n <= 1<<20 {
			page = n
		}
	}
	for line := range strings.Lines(stat) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "Pages free", "Pages inactive", "Pages speculative", "Pages purgeable":
			n, _ := number(strings.Trim(strings.TrimSpace(value), "."))
			pages += n
		}
	}
	return &diagnose.LiveRAM{
		Total: sized(total, 1), Available: min(sized(pages, page), total), SwapTotal: swapPart(swap, "total"), SwapFree: swapPart(swap, "free"),
		Pressure: pressures[strings.TrimSpace(pressure)], Source: "vm_stat",
	}
}

func swapPart(s, name string) int64 {
	_, rest, _ := strings.Cut(s, name+" = ")
	digits, _, _ := strings.Cut(rest, "M")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(n >= 0 && n < 1<<30) {
		return 0
	}
	return int64(n * mib)
}

// windowsRAM reads what may be promised to programs (RAM and page file), in
// KiB: it runs out before RAM does.
func windowsRAM(out string) *diagnose.LiveRAM {
	var os struct {
		TotalVisibleMemorySize, FreePhysicalMemory, TotalVirtualMemorySize, FreeVirtualMemory int64
	}
	if json.Unmarshal([]byte(out), &os) != nil || os.TotalVirtualMemorySize <= 0 {
		return nil
	}
	const kib = 1 << 10
	return &diagnose.LiveRAM{
		Total: sized(os.TotalVirtualMemorySize, kib), Available: sized(os.FreeVirtualMemory, kib),
		SwapTotal: sized(max(os.TotalVirtualMemorySize-os.TotalVisibleMemorySize, 0), kib), SwapFree: sized(max(os.FreeVirtualMemory-os.FreePhysicalMemory, 0), kib), Source: "commit charge",
	}
}
