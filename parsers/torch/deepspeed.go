package torch

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// DeepSpeed reads see_memory_usage (deepspeed/runtime/utils.py, all
// versions): what PyTorch uses and holds, and the computer's memory.
var DeepSpeed = text.Parser{
	Name:    "deepspeed",
	Context: []string{"GB Max_MA ", "CPU Virtual Memory: used"},
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		for _, h := range hits {
			m := text.Message{Log: l, Facts: f, At: h.At, End: h.At}
			if h.Word == 0 {
				readTorchUsage(m)
			} else {
				readHostUsage(m)
			}
			f.Programs = append(f.Programs, fact.Program{Name: "deepspeed", Line: l.Line(h.At), Weight: 2})
		}
	},
}

var (
	torchUsage = text.NewPattern(`ma(?<used>SIZE)max_ma(?<peak>SIZE)ca(?<held>SIZE)max_ca(?<most>SIZE)`)
	hostUsage  = text.NewPattern(`^cpuvirtualmemory:used=(?<used>SIZE),percent=(?<share>NUM)%`)
)

// readTorchUsage reads "MA 26.38 GB  Max_MA 26.38 GB  CA 26.71 GB  Max_CA 27
// GB": allocated and reserved, with their peaks. GB is GiB there, and Max_CA is
// rounded to whole ones, so that it can be less than CA.
func readTorchUsage(m text.Message) {
	k := m.Around(torchUsage, 24, 100)
	if !k.Ok() {
		return
	}
	m.Fact("torch_allocated", k.Size("used"))
	m.Fact("torch_allocated_peak", k.Size("peak"))
	m.Fact("torch_reserved", k.Size("held"))
	m.Fact("torch_reserved_peak", k.Size("most"))
}

// readHostUsage reads "CPU Virtual Memory:  used = 322.57 GB, percent = 17.1%",
// of the whole machine.
func readHostUsage(m text.Message) {
	k := m.Find(hostUsage, 80)
	if used, share := k.Size("used"), k.Count("share"); used != nil && share != nil {
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "host_used", Size: used, Count: share, Text: m.Log.LineText(m.At), Line: used.Line})
	}
}
