package cures

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// A bar of tqdm counts every step (what a logger prints is round anyway), and a
// line of an epoch begins at its first.
var progress = sync.OnceValues(func() (bar, first *regexp.Regexp) {
	return regexp.MustCompile(`(\d{1,8})/(\d{1,8}) \[\d`), regexp.MustCompile(`(?i)epoch:? ?\[?(\d{1,5})\b.{0,40}?[\[ |]0/\d{2,8}\b`)
})

// Loops of fewer steps than this do other things, such as reading shards.
const fewestSteps = 50

// Stop is where a loop stopped: with the first step after whole epochs, after
// the last of one, or at a round number of steps.
type Stop struct{ Place, Sign string }

// Milestone says that a loop stopped where scripts evaluate, sample or save, or
// just after; nothing elsewhere, and in a training step that the traceback shows.
func Milestone(c *ledger.Case) Stop { return ledger.Once(c, "pytorch/milestone", findMilestone) }

func findMilestone(c *ledger.Case) Stop {
	if !c.Training() && strings.HasSuffix(c.Reader.Work, "-generation") || Loading(c) {
		return Stop{}
	}
	bar, first := progress()
	step := ledger.FailedAt(c, "backward") != nil || ledger.FailedAt(c, "optimizer_step") != nil
	for i := len(c.Facts.Talk) - 1; i >= 0; i-- {
		line := c.Facts.Talk[i].Text
		if c.Facts.Talk[i].Line > c.Failure.Line || readsIn(line) {
			continue
		}
		if !strings.Contains(line, "/") { // neither has any other sign, and most lines have none
			continue
		}
		if m := first.FindStringSubmatch(line); m != nil && (number(m[1]) >= 2 || number(m[1]) == 1 && slices.ContainsFunc(c.Facts.Signals, epochZero)) {
			return Stop{"the first step of epoch " + m[1], ""}
		}
		if m := bar.FindAllStringSubmatch(line, -1); m != nil {
			if last := m[len(m)-1]; !step && c.Training() {
				return stoppedAt(number(last[1]), number(last[2]))
			}
			return Stop{}
		}
	}
	return Stop{}
}

// longestLabel is how far before its share a bar's label begins; lines that have
// run together have other words before it.
const longestLabel = 40

// readsIn: a bar counts what is read or prepared, before any step.
func readsIn(bar string) bool {
	label, _, shared := strings.Cut(strings.ToLower(bar), "%")
	label = label[max(0, len(label)-longestLabel):]
	return shared && containsAny(label, "shards", "load", "reading", "map", "fetch", "okeniz", "extract", "decod", "caching")
}

// stoppedAt tells of a bar, outside a step of training.
func stoppedAt(n, all int) Stop {
	switch {
	case all < fewestSteps:
	case n == all:
		return Stop{fmt.Sprintf("the end of the epoch (%s steps)", ledger.Thousands(int64(n))), "Most scripts have one there"}
	case n+1 >= 2*fewestSteps && (n+1)%100 <= 1 && all >= 3*n:
		return Stop{fmt.Sprintf("step %s of %s", ledger.Thousands(int64((n+1)/100*100)), ledger.Thousands(int64(all))), "Such a round number points to one"}
	}
	return Stop{}
}

// epochZero: a line of the epoch that some programs count as 0.
func epochZero(x fact.Signal) bool {
	return x.ID == "epochs" && containsAny(strings.ToLower(x.Text), "epoch 0", "epoch: 0", "epoch [0]", "epoch: [0]", "epoch:0")
}

func number(s string) int { n, _ := strconv.Atoi(s); return n }

// tell puts it into figures of a card.
func (m Stop) tell(out map[string]string) map[string]string {
	out["place"], out["sign"] = m.Place, m.Sign
	return out
}

// AtMilestone and AfterEpoch are for what runs there.
var (
	AtMilestone = cause.Cure{
		Fix: "inference_mode", If: func(c *ledger.Case) bool { return Milestone(c).Sign != "" }, Title: "Make what runs at {place} smaller: an evaluation or samples", Cost: "a little time",
		Told: "{sign}: run it under `torch.no_grad()` with batch size 1, store results with `.cpu()`, and `del` the last step's output and loss before it.",
	}
	AfterEpoch = cause.Cure{
		Fix: "detach_accumulated", If: func(c *ledger.Case) bool { m := Milestone(c); return m.Place != "" && m.Sign == "" }, Title: "Free what the epoch before left on the GPU", Cost: "none",
		Told: "It stopped at {place}, and whole epochs fit. So evaluate under `torch.no_grad()`, store results with `.cpu()`, and `del` the last output and loss before the next epoch begins.",
	}
)

// LateFigures say where a loop stopped, and what may have grown beside it.
func LateFigures(c *ledger.Case) map[string]string {
	out := Milestone(c).tell(map[string]string{"grown": ""})
	if c.Others.Bytes >= units.GiB {
		out["grown"] = c.Others.String()
	}
	return out
}
