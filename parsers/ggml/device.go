package ggml

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// indexOf reads the number at the end of a buffer's name, -1 if there is none.
func indexOf(name string) int {
	digits := strings.TrimLeft(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
	if n, err := strconv.Atoi(digits); err == nil {
		return n
	}
	return -1
}

// card keeps a card with the groups index or device, name, total and free; unit
// is that of figures without one.
func (g *ggmlReader) card(m text.Message, k text.Match, unit string) {
	name := k.Text("device")
	g.backend = cmp.Or(BackendOfBuffer(name), g.backend)
	g.f.Devices = append(g.f.Devices, fact.Device{
		Index: indexOf(name + k.Text("index")), Name: k.Text("name"), Backend: g.backend,
		Total: k.SizeIn("total", unit), Free: k.SizeIn("free", unit), Line: g.l.Line(m.At),
	})
}

func (g *ggmlReader) rpcDevice(m text.Message) {
	if k := g.find(rpcDevice, m.At, 40, min(40, g.l.ValueEnd(m.At)-m.At)); k.Ok() {
		k.States(m.Facts, nil)
		g.f.Devices = append(g.f.Devices, fact.Device{Backend: g.backend, Total: k.Size("rpc_total_bytes"), Free: k.Size("rpc_free_bytes"), Line: g.l.Line(m.At)})
	}
}

// wrapped is what -1 MiB becomes in the unsigned column of late 2025: 2^64
// bytes are 2^44 MiB.
const wrapped = 1 << 44

// memoryTable reads a row of the memory breakdown, in MiB. While parameters
// are fitted nothing is allocated, so "unaccounted" is far below zero.
func (g *ggmlReader) memoryTable(m text.Message) {
	from, to := g.l.LineSpan(m.At)
	k := g.l.Find(memoryRow, from, m.Until(to))
	rest, err := strconv.ParseInt(k.Lower("rest"), 10, 64)
	if err != nil {
		return
	}
	if rest > wrapped/2 {
		rest -= wrapped
	}
	g.card(m, k, "mib")
	if rest >= 0 && k.Lower("self") != "0" { // the model is there: what is free is what it left
		g.f.Devices[len(g.f.Devices)-1].Free = nil
	}
	m.Fact("unaccounted", &fact.Size{Bytes: rest << 20, Text: k.Text("rest"), Line: g.l.Line(m.At)})
}

// setByUser: "n_gpu_layers already set by user to 99, abort" (common/fit.cpp).
var setByUser = text.NewPattern(`n_gpu_layersalreadysetbyuserto(?<layers>\d{1,5})`)

// fitFailed is a warning: loading goes on with what the user set.
func (g *ggmlReader) fitFailed(m text.Message) {
	if k := m.Find(setByUser, 160); k.Ok() {
		g.setting("n_gpu_layers", k.Text("layers"), "-ngl", m.At)
	}
	g.notice("fit_skipped", "llama.cpp did not fit the parameters to the free memory, since the command line fixes one of them; it loads what was asked for.", m)
}
