package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// share says how a part of the memory is drawn, and what it is to somebody who
// has not heard of it.
type share struct {
	mark        rune
	label, told string
}

// shareOf is how a part is drawn; one of a newer report is drawn by its ID.
func shareOf(id string) share {
	switch id {
	case ledger.PartWeights:
		return share{markWeights, "weights", "the model itself"}
	case ledger.PartCache:
		return share{markCache, "KV cache", "grows with the context"}
	case ledger.PartCompute:
		return share{markCompute, "computation", "grows with the batch"}
	case ledger.PartTensors:
		return share{markWeights, "tensors", "of this program"}
	case ledger.PartUnused:
		return share{markUnused, "unused reserve", "kept for reuse"}
	case ledger.PartDriver:
		return share{markOverhead, "driver", "and libraries"}
	case ledger.PartLibraries:
		return share{markOverhead, "other libraries", "of this program"}
	case ledger.PartBuffers:
		return share{markOverhead, "other buffers", "of this program"}
	case ledger.PartOthers:
		return share{markOtherProgram, "other programs", ""}
	case ledger.PartKept:
		return share{markFree, "left out", "beyond the share"}
	case ledger.PartUnknown:
		return share{markUnknown, "others or free", "the log does not say"}
	case ledger.PartFree:
		return share{markFree, "free", ""}
	}
	return share{markUnknown, strings.ReplaceAll(visible(id), "_", " "), ""}
}

// Marks of a bar beside those of a plan.
const (
	markUnused       = '▄'
	markOtherProgram = '▞'
	markUnknown      = '·'
)

// filled is one bar for the memory that ran out, with a legend; "" for a report
// whose parts do not add up.
func filled(in *diagnose.Incident, width int) string {
	m := in.Memory
	if sound(in, memoryParts(in, true)) == nil {
		return ""
	}
	parts := memoryParts(in, true)
	key := legend(spelled(in, append(parts, lacking(in, true)...)))
	if columnsWide(key) > width {
		key = legend(spelled(in, append(memoryParts(in, false), lacking(in, false)...)))
	}
	return fmt.Sprintf("%s, %s\n%s\n%s", capital(cmp.Or(device(in), "memory")), memoryTotal(m), bar(parts, m.TotalBytes, width), key)
}

// sound returns parts, nil for a report whose parts do not add up.
func sound(in *diagnose.Incident, parts []part) []part {
	sum := int64(0)
	for _, p := range in.Memory.Parts {
		if p.Bytes < 0 {
			return nil
		}
		sum += p.Bytes
	}
	if sum != in.Memory.TotalBytes || sum <= 0 {
		return nil
	}
	return parts
}

// memoryTotal says how much memory the bar shows, and which.
func memoryTotal(m *diagnose.Memory) string {
	told := units.Amount(m.TotalBytes)
	if m.Basis == "estimate" {
		told = "about " + told
	}
	switch m.Of {
	case ledger.OfFree:
		return told + " free before loading"
	case ledger.OfLimit:
		return "limit " + told
	}
	return told
}

// mostOfDriver is what contexts and libraries of one program take at most.
const mostOfDriver = 3 * units.GiB / 2

// memoryParts are the parts with their share and, where there is room, what they
// are. Other programs stand one by one where the log lists them.
func memoryParts(in *diagnose.Incident, roomy bool) []part {
	m := in.Memory
	free := in.Figures.Free
	stated := m.Of == ledger.OfCard && free != nil && free.Bytes == 0 || // nothing free is no part
		slices.ContainsFunc(m.Parts, func(p ledger.MemoryPart) bool { return p.ID == ledger.PartFree })
	var parts []part
	add := func(s share, bytes int64, basis string) {
		note := percent(bytes, m.TotalBytes)
		if basis == "estimate" {
			note = "~" + note[1:]
		}
		if roomy && s.told != "" {
			note += "  " + s.told
		}
		parts = append(parts, part{mark: s.mark, label: s.label, bytes: bytes, note: note})
	}
	for _, p := range m.Parts {
		s := shareOf(p.ID)
		switch {
		case p.ID == ledger.PartOthers:
			for _, o := range others(in.Figures) {
				if o.bytes <= p.Bytes+p.Bytes/100 { // figures of a log are rounded
					n := min(o.bytes, p.Bytes)
					add(share{s.mark, o.label, ""}, n, p.Basis)
					p.Bytes -= n
				}
			}
		case p.ID == ledger.PartUnknown && stated && p.Bytes > mostOfDriver:
			s = shareOf(ledger.PartOthers)
			s.told = "not listed"
		case p.ID == ledger.PartUnknown && stated:
			s.label, s.told = "driver, others", "not listed"
		case p.ID == ledger.PartUnknown && m.Of == ledger.OfLimit:
			s = share{markFree, "left", ""}
		}
		if p.Bytes > 0 {
			add(s, p.Bytes, p.Basis)
		}
	}
	return parts
}

func columnsWide(text string) int {
	most := 0
	for line := range strings.Lines(text) {
		most = max(most, columns(strings.TrimRight(line, "\n")))
	}
	return most
}

// lacking are the lines below the legend: what was asked for, and how much of
// it was not there, beside it or in a narrow page below.
func lacking(in *diagnose.Incident, roomy bool) []part {
	f := in.Figures
	label, want, short := "wanted", in.Ledger["asked"], in.Ledger["short"]
	switch {
	case f.Requested == nil && (f.KVNeeded == nil || f.KVAvailable == nil), !want.Has():
		return nil
	case f.Requested == nil:
		label = "one request"
	}
	switch {
	case !short.Has() || short.Bytes <= 0:
		return []part{{label: label, bytes: want.Bytes}}
	case roomy:
		return []part{{label: label, bytes: want.Bytes, note: short.String() + " short"}}
	}
	return []part{{label: label, bytes: want.Bytes}, {label: "short", bytes: short.Bytes}}
}
