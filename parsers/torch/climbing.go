package torch

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Climbing reads what loops print of torch.cuda.memory_allocated() or of their
// resident size after every step: a figure that only rises is a leak.
var Climbing = text.Parser{Name: "climbing", Context: []string{"allocated", "rss"}, Parse: parseClimbing}

var allocatedNow = text.NewPattern(`^(?:allocated(?:memory)?|rss)[:=]?(?<size>SIZE)`)

// A rise is a leak when it goes on for this many prints and at least doubles.
const (
	climbingSteps = 5
	climbingRise  = 2
)

func parseClimbing(l *text.Log, hits []text.Hit, f *fact.Facts) {
	if len(hits) < climbingSteps {
		return
	}
	first, last, steps, at := int64(0), int64(0), 0, 0
	for _, h := range hits {
		m := l.Find(allocatedNow, h.At, h.At+40)
		size := m.Size("size")
		switch {
		case size == nil:
			continue
		case steps == 0 || size.Bytes < last:
			first, steps, at = size.Bytes, 0, h.At
		}
		last = size.Bytes
		steps++
		if steps >= climbingSteps && last >= climbingRise*first {
			f.Signals = append(f.Signals, fact.Signal{ID: "climbing", Line: l.Line(at), Text: l.LineText(at)})
			return
		}
	}
}

// StepCounter reads the numbers that training loops count their steps by: "step
// 410", "iter: 40".
var StepCounter = text.Parser{Name: "steps", Context: stepWords, Parse: parseSteps}

var stepWords = []string{"step", "iter"}

const (
	// manySteps is how far a loop must have counted for memory to be needed
	// alike in every step, unless something is kept.
	manySteps = 10
	// countsRead is how many places that may be such numbers are looked at.
	countsRead = 100
)

func parseSteps(l *text.Log, hits []text.Hit, f *fact.Facts) {
	last, rises := 0, 0
	for _, h := range hits[:min(len(hits), countsRead)] {
		n, ok := countedStep(l.Squeezed()[h.At+len(stepWords[h.Word]):])
		if !ok {
			continue
		}
		if n > last {
			rises++
		} else {
			rises = 0
		}
		if last = n; rises >= 2 && last >= manySteps {
			f.Signals = append(f.Signals, fact.Signal{ID: "many_steps", Line: l.Line(h.At), Text: l.LineText(h.At)})
			return
		}
	}
}

// countedStep reads the number behind "step" or "iter", whatever little stands
// in between: "step: 40", "iteration=40", "step [ 40/".
func countedStep(after string) (int, bool) {
	after = strings.TrimLeft(strings.TrimPrefix(after, "ation"), ":=#[")
	end := 0
	for end < len(after) && end < 8 && after[end] >= '0' && after[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(after[:end])
	return n, err == nil
}
