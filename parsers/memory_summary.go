package parsers

// TorchSummary is torch.cuda.memory_summary() that counts an OOM: fairseq
// prints one per card with the exception, ComfyUI (2026) after it.
const TorchSummary Kind = "torch_summary"

// memorySummary reads the box of torch.cuda.memory_summary() (torch/cuda/
// memory.py): cells are whole numbers of B, KB, MB, GB (1.4 to 1.10) or KiB, MiB, GiB
// (1.11 and later), powers of 1024 either way. It stands behind the parsers of
// failures, whose figures it completes.
var memorySummary = Parser{
	Name: "memory-summary",
	// The count tells a box that was printed for interest from one of a crash.
	Keywords: []string{
		"CUDA OOMs: 1", "CUDA OOMs: 2", "CUDA OOMs: 3", "CUDA OOMs: 4", "CUDA OOMs: 5",
		"CUDA OOMs: 6", "CUDA OOMs: 7", "CUDA OOMs: 8", "CUDA OOMs: 9",
	},
	Context:  []string{"CUDA OOMs: 0"},
	Explains: map[Kind]int{TorchSummary: 1},
	Parse: func(l *Log, hits []Hit, f *Facts) {
		for _, h := range hits {
			f.memorySummary(l, h.At)
		}
	},
}

var (
	summaryDevice   = pattern(`memorysummary,deviceid(?<device>\d{1,3})`)
	summaryCounts   = pattern(`^cudaooms:(?<ooms>\d{1,9})\|?(?:cudamallocretries:(?<retries>\d{1,9}))?`)
	summaryUsed     = pattern(`allocatedmemory\|(?<now>CELL)\|(?<peak>CELL)(?:\|(?<all>CELL))?`)
	summaryReserved = pattern(`gpureservedmemory\|(?<now>CELL)\|(?<peak>CELL)`)
	summaryLost     = pattern(`non-releasablememory\|(?<now>CELL)\|(?<peak>CELL)`)
)

// boxBefore and boxAfter are how far the title and the last row that counts
// stand from the line of the OOMs.
const boxBefore, boxAfter = 240, 4200

// memorySummary adds the box's figures as facts, and a failure if it counts one.
func (f *Facts) memorySummary(l *Log, at int) {
	counts := l.Find(summaryCounts, at, at+80)
	if !counts.Ok() {
		return
	}
	device := l.Find(summaryDevice, at-boxBefore, at).Count("device")
	if f.otherCard(device) {
		return
	}
	box := message{l: l, f: f, at: at, end: at}
	box.count("cuda_ooms", counts.Count("ooms"))
	box.count("cuda_malloc_retries", counts.Count("retries"))
	g := Figures{Device: device}
	used, reserved := box.find(summaryUsed, boxAfter), box.find(summaryReserved, boxAfter)
	g.Allocated = box.cell("torch_allocated", used)
	g.Reserved = box.cell("torch_reserved", reserved)
	// Under cudaMallocAsync, ComfyUI's default, nobody counts what was lost, nor
	// the sums over time: those cells are 0 B.
	if all := used.Size("all"); all != nil && all.Bytes > 0 {
		box.cell("non_releasable", box.find(summaryLost, boxAfter))
	}
	if n := counts.Count("ooms"); n == nil || n.Value == 0 {
		return
	}
	_, end := counts.Span()
	f.fail(l, at, end, Failure{Kind: TorchSummary, Framework: "pytorch", Backend: "cuda", Wrapper: true, Figures: g, Message: l.LineText(at)})
}

// cell adds a row's present and highest value as facts and returns the present
// one. A row of zeros was not counted.
func (m message) cell(name string, row Match) *Size {
	now, peak := row.Size("now"), row.Size("peak")
	if now == nil || peak == nil || peak.Bytes == 0 && name != "non_releasable" {
		return nil
	}
	line := message{l: m.l, f: m.f, end: m.end}
	line.at, _ = row.Span()
	line.fact(name, now)
	line.fact(name+"_peak", peak)
	return now
}

// otherCard reports that failures name cards, and none the one of a box: each
// card has a box of its own.
func (f *Facts) otherCard(device *Count) bool {
	named := false
	for _, x := range f.Failures {
		d := x.Figures.Device
		if d == nil || device == nil {
			continue
		}
		if d.Value == device.Value {
			return false
		}
		named = true
	}
	return named
}
