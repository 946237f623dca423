package ggml

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

func (g *ggmlReader) device(d fact.Device) { g.f.Devices = append(g.f.Devices, d) }

// indexOf reads the number at the end of a buffer's name, -1 if there is none.
func indexOf(name string) int {
	digits := strings.TrimLeft(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
	if n, err := strconv.Atoi(digits); err == nil {
		return n
	}
	return -1
}

// usingDevice gives what was free before loading: the best anchor there is.
func (g *ggmlReader) usingDevice(at int) {
	m := g.find(usingDevice, at, 0, 200)
	if !m.Ok() {
		return
	}
	name := m.Text("device")
	g.device(fact.Device{Index: indexOf(name), Name: m.Text("name"), Backend: BackendOfBuffer(name), Free: m.Size("free"), Line: g.l.Line(at)})
	if backend := BackendOfBuffer(name); backend != "" {
		g.backend = backend
	}
	g.at("weights", at)
}

func (g *ggmlReader) cudaDevice(at int) {
	if m := g.find(cudaDevice, at, 130, 40); m.Ok() {
		g.device(fact.Device{Index: indexOf(m.Text("index")), Name: m.Text("name"), Backend: g.backend, Line: g.l.Line(at)})
	}
}

// vulkanDevice also says whether the card shares the system's memory.
func (g *ggmlReader) vulkanDevice(at int) {
	m := g.find(vulkanDevice, at, 110, 8)
	if !m.Ok() {
		return
	}
	g.backend = "vulkan"
	g.device(fact.Device{Index: indexOf(m.Text("index")), Name: m.Text("name"), Backend: "vulkan", Line: g.l.Line(at)})
	if m.Lower("uma") == "1" {
		g.fact("unified_memory", nil, m.Count("uma"), at)
	}
}

func (g *ggmlReader) listedDevice(at int) {
	if m := g.find(listedDevice, at, 140, 12); m.Ok() {
		name := m.Text("device")
		g.device(fact.Device{Index: indexOf(name), Name: m.Text("name"), Backend: BackendOfBuffer(name), Total: m.Size("total"), Free: m.Size("free"), Line: g.l.Line(at)})
		g.backend = BackendOfBuffer(name)
	}
}

func (g *ggmlReader) rpcDevice(at int) {
	if m := g.value(rpcDevice, at, 40, 40); m.Ok() {
		g.device(fact.Device{Index: 0, Backend: g.backend, Total: m.SizeIn("total", "bytes"), Free: m.SizeIn("free", "bytes"), Line: g.l.Line(at)})
		g.fact("rpc_free", m.SizeIn("free", "bytes"), nil, at)
		g.fact("rpc_total", m.SizeIn("total", "bytes"), nil, at)
	}
}

// wrapped is what -1 MiB becomes in the unsigned column of late 2025: 2^64
// bytes are 2^44 MiB.
const wrapped = 1 << 44

// memoryTable reads a row of the memory breakdown, in MiB. While parameters
// are fitted nothing is allocated, so "unaccounted" is far below zero.
func (g *ggmlReader) memoryTable(at int) {
	from, to := g.l.LineSpan(at)
	m := g.l.Find(memoryRow, from, to)
	if !m.Ok() {
		return
	}
	rest, err := strconv.ParseInt(m.Lower("rest"), 10, 64)
	if err != nil {
		return
	}
	if rest > wrapped/2 {
		rest -= wrapped
	}
	name := m.Text("device")
	g.backend = BackendOfBuffer(name)
	g.device(fact.Device{Index: indexOf(name), Name: m.Text("name"), Backend: g.backend, Total: m.SizeIn("total", "mib"), Free: m.SizeIn("free", "mib"), Line: g.l.Line(at)})
	g.fact("unaccounted", &fact.Size{Bytes: rest << 20, Text: m.Text("rest"), Line: g.l.Line(at)}, nil, at)
}

func (g *ggmlReader) fitReduce(at int) {
	if m := g.find(fitReduceBy, at, 0, 60); m.Ok() {
		g.fact("fit_reduce", m.Size("size"), nil, at)
	}
}

// fitFailed is a warning: loading goes on with what the user set.
func (g *ggmlReader) fitFailed(at int) {
	g.f.Notices = append(g.f.Notices, fact.Notice{ID: "fit_skipped", Line: g.l.Line(at), Text: g.l.LineText(at), Title: "llama.cpp did not fit the parameters to the free memory, since the command line fixes one of them; it loads what was asked for."})
}
