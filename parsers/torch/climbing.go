package torch

import (
	"regexp"
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
			l.Signal(f, "climbing", at)
			return
		}
	}
}

// StepCounter reads the numbers that training loops count their steps by: "step
// 410", "iter: 40", "Episode: 1100", and tqdm's "78/300 [6:31:33<24:58:45,
// 405.07s/it]".
var StepCounter = text.Parser{Name: "steps", Context: stepWords, Parse: parseSteps}

var stepWords = []string{"step", "iter", "episode", "epoch", "batch:", "s/it]", "it/s"}

// counters are those of the words that a number follows; before the others
// stands a progress bar. Each is counted by itself: epochs beside their steps.
const (
	epochs   = 3
	counters = 5
)

const (
	// manySteps is how far a loop must have counted for all steps to need the same; of epochs two are enough.
	manySteps = 10
	// certainlyMany is where one number alone is a count of steps.
	certainlyMany = 500
	// certainlyAll is how long a finished loop must be to say how many samples
	// there are.
	certainlyAll = 50
	// pairWidth is how far behind "epoch" its steps stand.
	pairWidth = 30
	// countsRead is how many places that may be such numbers are looked at.
	countsRead = 100
)

func parseSteps(l *text.Log, hits []text.Hit, f *fact.Facts) {
	var last, rises [counters]int
	for _, h := range hits[:min(len(hits), countsRead)] {
		if h.Word >= counters {
			n, all := done(l.Squeezed()[max(h.At-barWidth, 0):h.At])
			if n == all && n >= certainlyAll {
				f.Facts = append(f.Facts, fact.Fact{Name: "counted", Count: &fact.Count{Value: float64(n), Text: strconv.Itoa(n), Line: l.Line(h.At)}, Line: l.Line(h.At)})
			}
			if n >= manySteps {
				l.Signal(f, "many_steps", h.At)
				return
			}
			continue
		}
		_, end := l.LineSpan(h.At) // a number of the next line is not this one's
		after := l.Squeezed()[min(h.At+len(stepWords[h.Word]), end):end]
		if n, paired, ok := stepsWithin(after[:min(len(after), pairWidth)]); ok && h.Word == epochs && (n >= manySteps || paired) {
			l.Signal(f, map[bool]string{true: "many_steps", false: "few_steps"}[n >= manySteps], h.At)
			if n >= manySteps {
				return
			}
		}
		n, ok := countedStep(after)
		if !ok || ofOption.MatchString(l.Squeezed()[max(h.At-8, 0):h.At]) {
			continue
		}
		if rises[h.Word]++; n <= last[h.Word] {
			rises[h.Word] = 0
		}
		last[h.Word] = n
		if many := n >= manySteps || h.Word == epochs; rises[h.Word] >= 2 && many || n >= certainlyMany && n < 1e7 && h.Word < epochs { // a batch may be that large
			l.Signal(f, "many_steps", h.At)
			return
		}
	}
}

// ofOption ends before "step" in an option that says how many there are or how
// often something is done: "--max_iter 10000", "save_step: 500".
var ofOption = regexp.MustCompile(`(?:max|num|total|warmup|save|eval|val|log|print|per|every|decay)[_-]?$`)

// barWidth is how much of a progress bar stands between its count and its end.
const barWidth = 60

// done reads how many steps of all a progress bar has counted:
// "78/300[6:31:33<".
func done(bar string) (n, all int) {
	open := max(strings.LastIndexByte(bar, '['), 0)
	if head, counted := strings.CutSuffix(bar[:open], "it"); counted { // of an unknown length
		n, _ = strconv.Atoi(head[numberStart(head, len(head)):])
		return n, 0
	}
	slash := strings.LastIndexByte(bar[:open], '/')
	if slash < 0 {
		return 0, 0
	}
	n, _ = strconv.Atoi(bar[numberStart(bar, slash):slash])
	all, _ = strconv.Atoi(bar[slash+1 : open])
	return n, all
}

// stepsWithin reads the steps behind the number of an epoch: "[1][371/4899]",
// "1,batch371/4899", "1[12800/60000(21%)]", and the epochs of "15/100".
// paired tells steps beside an epoch's number (a bar at 0 has none) from a count alone.
func stepsWithin(after string) (n int, paired, ok bool) {
	slash := strings.IndexByte(after, '/')
	if slash < 0 {
		return 0, false, false
	}
	end := numberEnd(after, slash+1, "")
	start := numberStart(after, slash)
	n, err := strconv.Atoi(after[start:slash])
	all, other := strconv.Atoi(after[slash+1 : end])
	return n, strings.ContainsAny(after[:start], "0123456789") && (n > 0 || !strings.Contains(after, "|")), err == nil && other == nil && n <= all && all >= manySteps
}

// countedStep reads the number behind "step" or "iter", whatever little stands
// in between: "step: 40", "iteration=40", "step [ 40/".
func countedStep(after string) (int, bool) {
	after = strings.TrimLeft(strings.TrimPrefix(after, "ation"), ":=#[")
	n, err := strconv.Atoi(after[:min(numberEnd(after, 0, ""), 8)])
	return n, err == nil
}
