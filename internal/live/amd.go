package live

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
)

// amd asks amd-smi (ROCm 6 and later), else rocm-smi, else the driver's files.
// Who holds what stands in the driver's files in any case.
func (m *Machine) amd(ctx context.Context) (cards []diagnose.LiveCard, holders []diagnose.LiveProcess, note string) {
	if m.Root == "" && there("amd-smi") {
		out, _ := ask(ctx, "amd-smi", "metric", "--mem-usage", "--json")
		cards = amdCards(out)
	}
	if m.Root == "" && len(cards) == 0 && there("rocm-smi") {
		out, _ := ask(ctx, "rocm-smi", "--showmeminfo", "vram", "--showproductname", "--json")
		cards = rocmCards(out)
	}
	if len(cards) == 0 {
		cards = m.amdFiles()
	}
	if len(cards) > 0 {
		holders = m.kfdHolders()
	}
	return cards, holders, ""
}

// amdCards reads amd-smi's JSON: a list, since ROCm 7 inside of "gpu_data", of
// {"gpu": 0, "mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}}}. Its MB
// are MiB.
func amdCards(out string) []diagnose.LiveCard {
	type amount struct {
		Value json.Number `json:"value"`
	}
	type card struct {
		GPU    int `json:"gpu"`
		Memory struct {
			Total amount `json:"total_vram"`
			Used  amount `json:"used_vram"`
		} `json:"mem_usage"`
	}
	var list []card
	if json.Unmarshal([]byte(out), &list) != nil {
		var wrapped struct {
			Data []card `json:"gpu_data"`
		}
		if json.Unmarshal([]byte(out), &wrapped) != nil {
			return nil
		}
		list = wrapped.Data
	}
	var cards []diagnose.LiveCard
	for _, c := range list {
		total, err := c.Memory.Total.Value.Int64()
		used, _ := c.Memory.Used.Value.Int64()
		if err == nil && c.GPU >= 0 {
			cards = append(cards, diagnose.LiveCard{Index: c.GPU, Backend: "rocm", Total: sized(total, mib), Used: sized(used, mib), Source: "amd-smi"})
		}
	}
	return cards
}

// rocmCards reads rocm-smi's JSON, whose values are all text:
// {"card0": {"VRAM Total Memory (B)": "17163091968", ...}}.
func rocmCards(out string) []diagnose.LiveCard {
	var table map[string]map[string]string
	start := strings.IndexByte(out, '{') // warnings stand before it
	if start < 0 || json.Unmarshal([]byte(out[start:]), &table) != nil {
		return nil
	}
	var cards []diagnose.LiveCard
	for name, c := range table {
		index, err := strconv.Atoi(strings.TrimPrefix(name, "card"))
		total, ok := number(c["VRAM Total Memory (B)"])
		used, _ := number(c["VRAM Total Used Memory (B)"])
		if err != nil || !ok || index < 0 {
			continue
		}
		series := c["Card Series"] // "Card series" until ROCm 6
		if series == "" {
			series = c["Card series"]
		}
		cards = append(cards, diagnose.LiveCard{Index: index, Name: text(series), Backend: "rocm", Total: sized(total, 1), Used: sized(used, 1), Source: "rocm-smi"})
	}
	sort.Slice(cards, func(i, j int) bool { return cards[i].Index < cards[j].Index })
	return cards
}

// amdFiles reads what amdgpu says in /sys, since Linux 4.20.
func (m *Machine) amdFiles() []diagnose.LiveCard {
	files, _ := filepath.Glob(filepath.Join(m.Root, "/sys/class/drm/card[0-9]*/device/mem_info_vram_total"))
	sort.Strings(files)
	var cards []diagnose.LiveCard
	for i, file := range files {
		folder := strings.TrimPrefix(filepath.Dir(file), m.Root)
		total, ok := number(m.file(filepath.Join(folder, "mem_info_vram_total")))
		used, _ := number(m.file(filepath.Join(folder, "mem_info_vram_used")))
		if ok {
			cards = append(cards, diagnose.LiveCard{Index: i, Backend: "rocm", Total: sized(total, 1), Used: sized(used, 1), Source: "amdgpu"})
		}
	}
	return cards
}

// kfdHolders reads what the compute driver counts of each process:
// /sys/class/kfd/kfd/proc/PID/vram_GPU, in bytes.
func (m *Machine) kfdHolders() []diagnose.LiveProcess {
	index := m.kfdCards()
	files, _ := filepath.Glob(filepath.Join(m.Root, "/sys/class/kfd/kfd/proc/[0-9]*/vram_*"))
	var holders []diagnose.LiveProcess
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		held, ok := number(m.file(strings.TrimPrefix(file, m.Root)))
		if err != nil || !ok || held == 0 {
			continue
		}
		p := diagnose.LiveProcess{PID: pid, Card: -1, Bytes: sized(held, 1)}
		if card, known := index[strings.TrimPrefix(filepath.Base(file), "vram_")]; known {
			p.Card = card
		}
		holders = append(holders, p)
	}
	return holders
}

// kfdCards numbers the compute driver's cards: nodes without a card have
// gpu_id 0.
func (m *Machine) kfdCards() map[string]int {
	index := map[string]int{}
	folder := "/sys/class/kfd/kfd/topology/nodes"
	nodes, _ := os.ReadDir(filepath.Join(m.Root, folder))
	sort.Slice(nodes, func(i, j int) bool {
		a, _ := strconv.Atoi(nodes[i].Name())
		b, _ := strconv.Atoi(nodes[j].Name())
		return a < b
	})
	for _, n := range nodes {
		if id := strings.TrimSpace(m.file(filepath.Join(folder, n.Name(), "gpu_id"))); id != "" && id != "0" {
			index[id] = len(index)
		}
	}
	return index
}
