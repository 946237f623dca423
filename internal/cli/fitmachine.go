package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
)

// machine is where this computer tells of its memory: programs of its drivers
// and files of its kernel. Each may be missing.
type machine struct {
	files fs.FS
	run   func(ctx context.Context, name string, args ...string) (string, error)
	os    string
}

func thisMachine() machine {
	return machine{files: os.DirFS("/"), os: runtime.GOOS, run: func(ctx context.Context, name string, args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, name, args...).Output()
		return string(out), err
	}}
}

// look fills what the user did not say: the cards, with what is free on them now,
// and the RAM. The notes name where each figure comes from.
func (m machine) look(ctx context.Context, r *fit.Request) []string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var notes []string
	if r.Card == "" && r.VRAM == 0 {
		var from string
		if r.Devices, from = m.devices(ctx); len(r.Devices) > 0 {
			notes = append(notes, deviceNote(r.Devices, from))
			r.Display = m.os == "windows" // what is free there changes by the minute
		}
	}
	// Of another computer's card nothing is known about the RAM beside it.
	if r.RAM == 0 && len(r.Devices) > 0 && m.os != "darwin" {
		if r.RAM = m.freeRAM(); r.RAM > 0 {
			notes = append(notes, fmt.Sprintf("/proc/meminfo has %s of RAM available for what is not on the card.", units.Amount(r.RAM)))
		}
	}
	return notes
}

func deviceNote(devices []fit.Device, from string) string {
	var parts []string
	for _, d := range devices {
		part := fmt.Sprintf("%s, %s free of %s", d.Name, units.Amount(d.Free), units.Amount(d.Total))
		if d.Display {
			part += ", with a screen"
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("%s shows on this computer: %s. What other programs hold now is taken as gone; --gpu or --vram says otherwise.", from, strings.Join(parts, "; "))
}

// devices asks each driver in turn.
func (m machine) devices(ctx context.Context) ([]fit.Device, string) {
	if list := m.nvidia(ctx); len(list) > 0 {
		return list, "nvidia-smi"
	}
	if list := m.sysfs(); len(list) > 0 {
		return list, "/sys/class/drm"
	}
	if m.os == "darwin" {
		return m.apple(ctx), "sysctl"
	}
	return nil, ""
}

func (m machine) nvidia(ctx context.Context) []fit.Device {
	out, err := m.run(ctx, "nvidia-smi", "--query-gpu=name,memory.total,memory.free,display_active", "--format=csv,noheader,nounits")
	if err != nil {
		return nil
	}
	var list []fit.Device
	for line := range strings.Lines(out) {
		if d, ok := smiLine(line); ok && len(list) < 16 {
			list = append(list, d)
		}
	}
	return list
}

// smiLine reads "NVIDIA GeForce RTX 3060, 12288, 11512, Enabled": MiB.
func smiLine(line string) (fit.Device, bool) {
	f := strings.Split(line, ",")
	if len(f) != 4 {
		return fit.Device{}, false
	}
	total, ok := mebibytes(f[1])
	if !ok {
		return fit.Device{}, false // "[N/A]" on machines where CPU and GPU share memory
	}
	free, ok := mebibytes(f[2])
	if !ok || free > total {
		free = total
	}
	return fit.Device{Name: strings.TrimSpace(f[0]), Total: total, Free: free, Display: strings.TrimSpace(f[3]) == "Enabled"}, true
}

func mebibytes(s string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n <= 0 || n > largestCard/units.MiB {
		return 0, false
	}
	return n * units.MiB, true
}

// sysfs reads what amdgpu and Intel's i915 write: VRAM in bytes.
func (m machine) sysfs() []fit.Device {
	const class = "sys/class/drm"
	entries, err := fs.ReadDir(m.files, class)
	if err != nil {
		return nil
	}
	var list []fit.Device
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "card") || strings.Contains(e.Name(), "-") || len(list) == 16 {
			continue // card0-DP-1 is a connector
		}
		card := path.Join(class, e.Name())
		if total, ok := m.number(card + "/device/mem_info_vram_total"); ok {
			used, _ := m.number(card + "/device/mem_info_vram_used")
			list = append(list, fit.Device{Name: m.cardName(card, "AMD card"), Vendor: "AMD", Total: total, Free: max(0, total-used)})
		} else if total, ok := m.number(card + "/lmem_total_bytes"); ok {
			free, ok := m.number(card + "/lmem_avail_bytes")
			if !ok {
				free = total
			}
			list = append(list, fit.Device{Name: m.cardName(card, "Intel card"), Vendor: "Intel", Total: total, Free: min(free, total)})
		}
	}
	return list
}

func (m machine) cardName(card, otherwise string) string {
	b, err := fs.ReadFile(m.files, card+"/device/product_name")
	if name := strings.TrimSpace(string(b)); err == nil && name != "" && len(name) < 100 {
		return name
	}
	return otherwise
}

func (m machine) number(file string) (int64, bool) {
	b, err := fs.ReadFile(m.files, file)
	if err != nil || len(b) > 64 {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil && n > 0 && n <= largestCard
}

// apple: a Mac tells its chip and its RAM; what the GPU may take is a share.
func (m machine) apple(ctx context.Context) []fit.Device {
	out, err := m.run(ctx, "sysctl", "-n", "machdep.cpu.brand_string", "hw.memsize")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err != nil || len(lines) != 2 {
		return nil
	}
	ram, err := strconv.ParseInt(strings.TrimSpace(lines[1]), 10, 64)
	if err != nil || ram < units.GiB || ram > largestCard {
		return nil
	}
	name := fmt.Sprintf("%s %dGB", strings.TrimSpace(lines[0]), ram/units.GiB)
	c, ok := fit.Card(name)
	if !ok {
		return nil
	}
	return []fit.Device{{Name: name, Vendor: "Apple", Total: ram, Free: c.TotalBytes}}
}

// freeRAM is MemAvailable of /proc/meminfo, 0 where there is none.
func (m machine) freeRAM() int64 {
	b, err := fs.ReadFile(m.files, "proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "MemAvailable:" {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil && n > 0 && n < 1<<40 {
				return n * 1024
			}
		}
	}
	return 0
}
