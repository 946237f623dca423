package parsers

// deepspeedLines reads see_memory_usage (deepspeed/runtime/utils.py, all
// versions): what PyTorch uses and holds, and the computer's memory.
var deepspeedLines = Parser{
	Name:    "deepspeed",
	Context: []string{"GB Max_MA ", "CPU Virtual Memory: used"},
	Parse: func(l *Log, hits []Hit, f *Facts) {
		for _, h := range hits {
			m := message{l: l, f: f, at: h.At, end: h.At}
			if h.Word == 0 {
				m.readTorchUsage()
			} else {
				m.readHostUsage()
			}
			f.Programs = append(f.Programs, Program{Name: "deepspeed", Line: l.Line(h.At), Weight: 2})
		}
	},
}

var (
	torchUsage = pattern(`ma(?<used>SIZE)max_ma(?<peak>SIZE)ca(?<held>SIZE)max_ca(?<most>SIZE)`)
	hostUsage  = pattern(`^cpuvirtualmemory:used=(?<used>SIZE),percent=(?<share>NUM)%`)
)

// readTorchUsage reads "MA 26.38 GB  Max_MA 26.38 GB  CA 26.71 GB  Max_CA 27
// GB": allocated and reserved, with their peaks. GB is GiB there, and Max_CA is
// rounded to whole ones, so that it can be less than CA.
func (m message) readTorchUsage() {
	k := m.around(torchUsage, 24, 100)
	if !k.Ok() {
		return
	}
	m.fact("torch_allocated", k.Size("used"))
	m.fact("torch_allocated_peak", k.Size("peak"))
	m.fact("torch_reserved", k.Size("held"))
	m.fact("torch_reserved_peak", k.Size("most"))
}

// readHostUsage reads "CPU Virtual Memory:  used = 322.57 GB, percent = 17.1%",
// of the whole machine.
func (m message) readHostUsage() {
	k := m.find(hostUsage, 80)
	if used, share := k.Size("used"), k.Count("share"); used != nil && share != nil {
		m.f.Facts = append(m.f.Facts, Fact{Name: "host_used", Size: used, Count: share, Text: m.l.LineText(m.at), Line: used.Line})
	}
}
