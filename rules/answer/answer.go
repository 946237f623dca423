// Package answer turns causes into advice: fixes ranked and made out for a case,
// and the usual tips that cannot help there.
package answer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/odds"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/program/wording"
	"github.com/oomdoc/oomdoc/rules/step"
)

// sizedSteps puts the figure of a fix before its steps, where the model's size
// gives one.
func sizedSteps(c *ledger.Case, fix string, steps []step.Step) []step.Step {
	z, ok := ledger.SizingOf(c)
	if !ok {
		return steps
	}
	text := ""
	switch fix {
	case "use_lower_quant":
		if format, need, ok := z.LowerQuant(); ok && need <= z.Have {
			text = fmt.Sprintf("Load %s in `%s`: that fits this GPU with %d tokens of context.", z.Name, format, z.Setting.Context)
		}
	case "use_smaller_model":
		if name, format, _, ok := z.Smaller(); ok {
			text = fmt.Sprintf("Fits this GPU: %s in `%s`.", name, format)
		}
	case "bigger_gpu":
		if e := effect.Bigger(z); e != nil {
			text = e.Note
		}
	}
	if text == "" {
		return steps
	}
	return append([]step.Step{{Kind: "text", Text: text}}, steps...)
}

// Advice is a fix made out for one incident.
type Advice struct {
	ID        string `json:"id"`
	Rank      int    `json:"rank"`
	Addresses string `json:"addresses"`
	// Branch is the case for which it holds, where the log leaves several.
	Branch   string         `json:"branch,omitempty"`
	Title    string         `json:"title"`
	Why      string         `json:"why"`
	Tradeoff string         `json:"tradeoff"`
	Steps    []step.Step    `json:"steps"`
	Effect   *effect.Effect `json:"effect,omitempty"`
	Check    string         `json:"check,omitempty"`
	Next     string         `json:"next,omitempty"`
	General  bool           `json:"general,omitempty"` // asked for by the cause alone: what is known of this message names others
}

// Useless is usual advice that cannot help here.
type Useless struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Why   string `json:"why"`
}

// Knowledge is what is known of this message of this program.
type Knowledge struct {
	// ID is PROGRAM/WHAT.
	ID string `json:"id"`
	// Open: it tells the causes between which the log does not decide.
	Open bool `json:"open,omitempty"`
	// Not says what cannot help here, and why.
	Not string `json:"not,omitempty"`
	// Later says what it was if it runs now and fails again after a while.
	Later string `json:"later,omitempty"`
	// Sources are upstream files and public threads, Solved counts the threads
	// that a fix resolved.
	Sources []string `json:"sources,omitempty"`
	Solved  int      `json:"solved,omitempty"`
}

// Known returns what is known of a case, nil where general knowledge has to do.
func Known(c *ledger.Case, causes []odds.Cause, own []*program.Program) *Knowledge {
	if len(causes) == 0 || causes[0].Card == "" {
		return nil
	}
	card := program.CardOf(own, causes[0].Card)
	t := card.For(c)
	not, _ := t.Tell(card.Not)
	for _, setting := range []string{"llocator setting", "expandable_segments", "max_split_size"} { // which may bridge the gap
		if at := strings.Index(not, setting); at >= 0 && c.Shortfall.Has() && c.Slack.Bytes > max(c.Shortfall.Bytes, units.GiB) {
			not = strings.TrimSpace(wording.Without(not, at))
		}
	}
	later, _ := t.Tell(card.Later)
	if c.Reader.Edits == "flags" && !c.Training() && strings.Contains(later, "loss.item()") { // no loop of theirs
		later = ""
	}
	return &Knowledge{ID: card.ID, Open: card.Cause == "", Not: code.ForEra(c, code.ForBackend(c, not), wording.Without), Later: code.ForEra(c, code.ForBackend(c, later), wording.Without), Sources: slices.Clone(card.Sources), Solved: card.Solved}
}

// Open is a question that a log leaves open.
type Open struct {
	Question string `json:"question"`
	// Settle says how to find out.
	Settle string `json:"settle"`
}

// settled is how sure a cause is that needs no further test.
const settled = 0.7

// Opens returns what the log leaves open: the kind of work where the advice
// branches, and the cause where it is not sure.
func Opens(causes []odds.Cause, advice []Advice) []Open {
	var out []Open
	if slices.ContainsFunc(advice, func(a Advice) bool { return a.Branch != "" }) {
		out = append(out, Open{"What was the program doing when memory ran out?", "The lines above the failure show it: paste the log from the program's start on."})
	}
	if len(causes) > 0 && causes[0].Confidence < settled && causes[0].Settles != "" {
		out = append(out, Open{"Is the cause " + strings.ReplaceAll(causes[0].ID, "_", " ") + "?", causes[0].Settles})
	}
	return out
}

// maxAdvice bounds the list: nobody tries the seventh fix.
const maxAdvice = 6

// Advise ranks fixes for the causes of a case, as its programs spell them: what
// closes the gap first, then the likelier cause, then the cheaper fix. It also
// returns the usual tips that cannot help here.
func Advise(c *ledger.Case, causes []odds.Cause, own []*program.Program) ([]Advice, []Useless) {
	ranked := candidates(c, causes, own)
	for _, b := range ranked {
		b.weigh(c)
	}
	if len(causes) > 0 {
		ranked = prescribe(c, causes[0], ranked, own)
	}
	if len(causes) > 0 {
		learned(c, causes[0], ranked)
	}
	slices.SortFunc(ranked, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.advice.ID, b.advice.ID))
	})
	advice := make([]Advice, 0, maxAdvice)
	for _, b := range ranked {
		if len(advice) == maxAdvice {
			break
		}
		if b.spell(c, own); len(b.advice.Steps) > 0 { // else it is taken already
			b.advice.Rank, b.advice.Check, b.advice.Next = len(advice)+1, b.check(c), code.ForBackend(c, b.fix.Next)
			advice = append(advice, b.advice)
		}
	}
	if len(causes) > 0 && causes[0].Card == "" && (causes[0].ID == cause.BatchTooLarge || causes[0].ID == cause.Unknown) {
		branched(c, advice)
	}
	for i := range advice {
		advice[i].Steps = step.Marked(advice[i].Steps, c.Windows())
	}
	return advice, useless(c, own)
}

// spelled: a program of the case spells the fix in its own way.
func spelled(id string, own []*program.Program) bool {
	return slices.ContainsFunc(own, func(p *program.Program) bool { return p.Steps[id] != nil })
}

// learned turns what fixes are worth by hand into log-odds, with what labelled
// logs say of fixes in such situations.
func learned(c *ledger.Case, likeliest odds.Cause, ranked []*candidate) {
	situation := odds.Situation(c, likeliest.ID)
	for _, b := range ranked {
		offer := odds.Offer{Fix: b.fix.ID, As: cmp.Or(b.plan, b.fix.ID), Worth: b.score}
		if h := likeliest.Heard; h != nil {
			h.Situation, h.Offers = situation, append(h.Offers, offer)
		}
		b.score = odds.Ranked(offer, situation)
	}
}

// branched names the cases for which fixes hold where the log leaves them open,
// and says what to do then.
func branched(c *ledger.Case, advice []Advice) {
	told := map[string]bool{}
	for i := range advice {
		a := &advice[i]
		branch, sentence := fix.FixesByID()[a.ID].Branch(c)
		if branch == "" || told[branch] {
			continue
		}
		told[branch], a.Branch = true, branch
		a.Steps = append([]step.Step{{Kind: "text", Text: strings.ToUpper(sentence[:1]) + sentence[1:]}}, a.Steps...)
	}
	if len(told) == 1 { // nobody's alternative
		for i := range advice {
			if a := &advice[i]; a.Branch != "" {
				a.Steps = a.Steps[1:]
				if fix.FixesByID()[a.ID].AnyWork() {
					a.Branch = ""
				}
			}
		}
	}
}

// candidate is a fix that some cause asks for.
type candidate struct {
	fix    fix.Fix
	advice Advice
	score  float64
	plan   string // the first of the cures that it is one of, which keep their order
	spelt  bool   // its steps and its reason are the case's
}

// candidates returns every fix that may help, under the likeliest cause that
// asks for it. All causes that do add to its score.
func candidates(c *ledger.Case, causes []odds.Cause, own []*program.Program) []*candidate {
	var out []*candidate
	for i, cause := range causes {
		for at, r := range program.Remedies(own, ruleOf()[cause.ID]) {
			if r.If != nil && !r.If(c) {
				continue
			}
			fix := program.Adapt(own, fix.FixesByID()[r.Fix])
			if fix.Refuted(c) != "" || era.TooNew(c, fix.ID) || !fix.Suits(c, spelled(fix.ID, own)) {
				continue
			}
			score := cause.Share * (r.Fit.Share() - float64(at)/100 - fix.Cost.Share()/20)
			if i > 0 {
				score /= 2 // a fix for many unlikely causes must not beat the one for the likely cause
			}
			k := slices.IndexFunc(out, func(b *candidate) bool { return b.fix.ID == fix.ID })
			if k < 0 {
				k = len(out)
				out = append(out, &candidate{fix: fix, advice: Advice{ID: fix.ID, Addresses: cause.ID, Title: fix.Title, Tradeoff: fix.Tradeoff, Why: cause.Why}})
			}
			out[k].score += score
		}
	}
	slices.SortFunc(out, func(a, b *candidate) int { return strings.Compare(a.fix.ID, b.fix.ID) })
	return out
}

// ruleOf are the causes by ID.
var ruleOf = sync.OnceValue(func() map[string]cause.Rule {
	rules := map[string]cause.Rule{}
	for _, r := range cause.All() {
		rules[r.ID] = r
	}
	return rules
})

// spell adds the steps for a case and the reason, once: most candidates are
// never told of.
func (b *candidate) spell(c *ledger.Case, own []*program.Program) {
	if b.spelt {
		return
	}
	b.spelt = true
	b.advice.Steps = forReader(c, b.fix.ID, sizedSteps(c, b.fix.ID, b.fix.Steps(c)), own)
	if b.fix.Why != nil {
		b.advice.Why = cmp.Or(b.fix.Why(c), b.advice.Why)
	}
}

// weigh adds the arithmetic for a case. A fix that is known not to be enough
// counts half.
func (b *candidate) weigh(c *ledger.Case) {
	fix, advice, onCard := b.fix, &b.advice, !strings.HasSuffix(b.fix.Title, "on the CPU") // what runs there needs nothing of the card
	if fix.Effect != nil && onCard {
		advice.Effect = sound(c, fix.Effect(c))
	}
	if advice.Effect == nil && onCard {
		advice.Effect = sound(c, effect.Estimated(c, fix.ID))
	}
	if e := advice.Effect; e != nil && !e.Fits {
		b.score /= 2
	}
}

// check is how to see that the fix worked.
func (b *candidate) check(c *ledger.Case) string {
	told := checkOf(c, b.fix)
	if e := b.advice.Effect; e != nil && e.Fits && e.Counted == "" && c.Total.Has() && e.HaveBytes >= c.Total.Bytes-units.GiB { // all of the card is reckoned with
		return passable(told, e.HaveBytes-e.NeedBytes)
	}
	return told
}

// passable is a check that asks for no more room than a fix leaves.
func passable(check string, left int64) string {
	if left >= units.GiB {
		return check
	}
	some := "a little"
	if left > units.GiB/8 {
		some = "about " + units.Amount(left/(64*units.MiB)*(64*units.MiB))
	}
	return strings.NewReplacer("about 1 GiB", some, "1 to 2 GiB", some, "above 1 GiB", "above zero").Replace(check)
}

// sound returns an effect, or nil where its amounts say another thing than it
// does: they come from figures of a damaged log, of which nothing follows. Where
// more was free than was refused, no sum of the log's figures is enough.
func sound(c *ledger.Case, e *effect.Effect) *effect.Effect {
	hadRoom := !c.Limit.Has() && c.Free.Has() && c.Asked.Has() && c.Free.Bytes > c.Asked.Bytes
	if e == nil || e.NeedBytes < 0 || e.Basis == "log" && e.Fits && hadRoom {
		return nil
	}
	if there := c.Total.Bytes - c.Others.Bytes; e.Basis == "estimate" && c.Total.Has() && c.Others.Has() && e.HaveBytes > there+there/100 {
		return nil // others hold a part of what it counts on
	}
	enough := e.NeedBytes <= e.HaveBytes
	if e.Counted != "" {
		enough = e.NeedCount <= e.HaveCount
	}
	if e.Fits != enough {
		return nil
	}
	return e
}

// maxUseless bounds the tips that are refuted.
const maxUseless = 4

// usualTips are the fixes most often recommended where they can't help, the
// commonest first.
var usualTips = []string{"expandable_segments", "kill_stale_process", "raise_watermark", "lower_batch_size", "load_in_4bit", "raise_gpu_memory_utilization"}

// torchTips are heard of by people who run PyTorch; nobody else needs to be
// told that they will not help.
var torchTips = []string{"load_in_4bit", "load_in_8bit", "half_precision", "empty_cache", "expandable_segments", "max_split_size"}

// tips are all fixes, the usual tips first.
var tips = sync.OnceValue(func() []*fix.Fix {
	var out []*fix.Fix
	for _, id := range slices.Concat(usualTips, slices.Sorted(maps.Keys(fix.FixesByID()))) {
		f := fix.FixesByID()[id]
		out = append(out, &f)
	}
	return out
})

// useless returns the usual tips that cannot help. Of several with one reason
// the first is enough.
func useless(c *ledger.Case, own []*program.Program) []Useless {
	var out []Useless
	for _, tip := range tips() {
		if len(out) == maxUseless || slices.Contains(torchTips, tip.ID) && !c.In("pytorch") {
			continue
		}
		why := program.Refuted(c, own, tip)
		said := slices.ContainsFunc(out, func(u Useless) bool { return u.ID == tip.ID || u.Why == why })
		if why != "" && !said {
			out = append(out, Useless{ID: tip.ID, Title: program.Adapt(own, *tip).Title, Why: why})
		}
	}
	return out
}

// checkOf is how to see that a fix worked, where a line can be put into the
// program that failed: else from outside.
func checkOf(c *ledger.Case, f fix.Fix) string {
	switch {
	case !strings.Contains(f.Check, "torch."), c.Reader.Writes("python") && c.In("pytorch", "transformers", "diffusers", "deepspeed") && c.Backend != "cpu":
		return code.ForBackend(c, f.Check)
	case c.Root(ledger.HostKinds...) || c.Backend == "cpu":
		return fix.CheckRAM
	}
	return code.ForBackend(c, fix.CheckCard)
}
