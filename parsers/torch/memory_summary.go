package torch

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// MemorySummary reads the box of torch.cuda.memory_summary() (torch/cuda/
// memory.py): cells are whole numbers of B, KB, MB, GB (1.4 to 1.10) or KiB, MiB, GiB
// (1.11 and later), powers of 1024 either way. It stands behind the parsers of
// failures, whose figures it completes.
var MemorySummary = text.Parser{
	Name: "memory-summary",
	// The count tells a box that was printed for interest from one of a crash.
	Keywords: []string{
		"CUDA OOMs: 1", "CUDA OOMs: 2", "CUDA OOMs: 3", "CUDA OOMs: 4", "CUDA OOMs: 5",
		"CUDA OOMs: 6", "CUDA OOMs: 7", "CUDA OOMs: 8", "CUDA OOMs: 9",
	},
	Context:  []string{"CUDA OOMs: 0"},
	Explains: map[fact.Kind]int{fact.TorchSummary: 1},
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		for _, h := range hits {
			memorySummary(f, l, h.At)
		}
	},
}

var (
	summaryDevice   = text.NewPattern(`memorysummary,deviceid(?<device>\d{1,3})`)
	summaryCounts   = text.NewPattern(`^cudaooms:(?<ooms>\d{1,9})`)
	summaryUsed     = text.NewPattern(`allocatedmemory\|(?<now>CELL)\|(?<peak>CELL)(?:\|(?<all>CELL))?`)
	summaryReserved = text.NewPattern(`gpureservedmemory\|(?<now>CELL)\|(?<peak>CELL)`)
	summaryLost     = text.NewPattern(`non-releasablememory\|(?<now>CELL)\|(?<peak>CELL)`)
)

// boxBefore and boxAfter are how far the title and the last row that counts
// stand from the line of the OOMs.
const boxBefore, boxAfter = 240, 4200

// memorySummary adds the box's figures as facts, and a failure if it counts one.
func memorySummary(f *fact.Facts, l *text.Log, at int) {
	counts := l.Find(summaryCounts, at, at+80)
	if !counts.Ok() {
		return
	}
	device := l.Find(summaryDevice, at-boxBefore, at).Count("device")
	if otherCard(f, device) {
		return
	}
	box := text.Message{Log: l, Facts: f, At: at, End: at}
	g := fact.Figures{Device: device}
	used, reserved := box.Find(summaryUsed, boxAfter), box.Find(summaryReserved, boxAfter)
	g.Allocated = cell(box, "torch_allocated", used)
	g.Reserved = cell(box, "torch_reserved", reserved)
	// Under cudaMallocAsync, ComfyUI's default, nobody counts what was lost, nor
	// the sums over time: those cells are 0 B.
	if all := used.Size("all"); all != nil && all.Bytes > 0 {
		cell(box, "non_releasable", box.Find(summaryLost, boxAfter))
	}
	if counts.Lower("ooms") == "0" {
		return
	}
	text.Fail(f, l, at, box.Took(counts), fact.Failure{Kind: fact.TorchSummary, Framework: "pytorch", Backend: "cuda", Wrapper: true, Figures: g, Message: l.LineText(at)})
}

// cell adds a row's present and highest value as facts and returns the present
// one. A row of zeros was not counted.
func cell(m text.Message, name string, row text.Match) *fact.Size {
	now, peak := row.Size("now"), row.Size("peak")
	if now == nil || peak == nil || peak.Bytes == 0 && name != "non_releasable" {
		return nil
	}
	line := text.Message{Log: m.Log, Facts: m.Facts, End: m.End}
	line.At, _ = row.Span()
	line.Fact(name, now)
	line.Fact(name+"_peak", peak)
	return now
}

// otherCard reports that failures name cards, and none the one of a box: each
// card has a box of its own.
func otherCard(f *fact.Facts, device *fact.Count) bool {
	if device == nil {
		return false
	}
	named := false
	for i := range f.Failures {
		switch d := f.Failures[i].Figures.Device; {
		case d == nil:
		case d.Value == device.Value:
			return false
		default:
			named = true
		}
	}
	return named
}
