package torch

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Ladder reads runs that try one size after the other, as benchmarks and
// servers under growing requests do: "tokens=65524", then "tokens=131068". The
// last that came through and the one that was being tried are facts.
var Ladder = text.Parser{Name: "ladder", Context: rungWords, Parse: parseLadder}

var rungWords = []string{
	"tokens=", "tokens:", "ctx=", "context=", "context length:", "seq_len=", "seqlen=", "sequence length:", "prompt length:", "input_len=", "prompt_len=",
	"batch_size=", "batch size:", "batch size =", "bs=", "batch=", "frames=", "num_frames=", "concurrency=",
}

const (
	// rungs is how many sizes must have grown, in steps of at least a quarter:
	// counters climb by less, or begin at nothing.
	rungs     = 3
	rungsRead = 400
	leastRung = 4
)

// rung is one size under one name.
type rung struct {
	value float64
	count int
	line  int
}

func parseLadder(l *text.Log, hits []text.Hit, f *fact.Facts) {
	last := map[int]rung{}
	for _, h := range hits[:min(len(hits), rungsRead)] {
		m := l.Find(rungNumber, h.At, h.At+60)
		n := m.Count("rung")
		if n == nil || n.Value < leastRung {
			continue
		}
		before, now := last[h.Word], rung{n.Value, 1, l.Line(h.At)}
		if now.value == before.value || now.line == before.line { // several on one line are settings
			continue
		}
		if now.value >= before.value*5/4 {
			now.count += before.count
		}
		last[h.Word] = now
		if now.count < rungs {
			continue
		}
		name := strings.TrimRight(rungWords[h.Word], "=: ")
		f.Facts = append(f.Facts, fact.Fact{Name: "ladder_tried", Text: name, Count: n, Line: now.line},
			fact.Fact{Name: "ladder_worked", Text: name, Count: &fact.Count{Value: before.value, Text: strconv.FormatFloat(before.value, 'f', -1, 64), Line: now.line}, Line: now.line})
	}
}

var rungNumber = text.NewPattern(`^[a-z_]{2,16}[=:](?<rung>\d{1,9})(?![\d.])`)
