package rules

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Fix is one thing a user can do.
type Fix struct {
	ID    string
	Title string // imperative: "Load it in 4 bit"
	// Doc explains it to a beginner, in Markdown paragraphs.
	Doc string
	// Tradeoff is what it costs: quality, speed, money, effort.
	Tradeoff string
	// Cost orders fixes that help alike: 0 free, 1 very dear.
	Cost float64
	// Check is how to see that it worked; Next what to try if it did not.
	Check, Next string
	// Steps are what to paste, in the spelling of the program and version that
	// the case shows. Never empty.
	Steps func(c *Case) []Step
	// Why says why here, with figures; nil leaves it to the cause.
	Why func(c *Case) string
	// Effect computes whether it is enough; nil where nothing can be computed.
	Effect func(c *Case) *Effect
	// Useless says why the fix, though usual advice, cannot help here: "" when
	// it can.
	Useless func(c *Case) string
}

// Step is one thing to paste or do.
type Step struct {
	Kind string `json:"kind"` // shell, python, config, env, modelfile, ui, text
	Text string `json:"text"`
}

// Effect is the arithmetic of a fix.
type Effect struct {
	NeedBytes int64  `json:"need_bytes"`
	HaveBytes int64  `json:"have_bytes"`
	Fits      bool   `json:"fits"`
	Basis     string `json:"basis"`          // log or estimate
	Note      string `json:"note,omitempty"` // how it was computed, and whether exact
	// Certainty is bound or condition where the arithmetic is not the last word.
	Certainty string `json:"certainty,omitempty"`
	// NeedCount and HaveCount are the arithmetic where a log counts tokens or
	// sequences and says nothing of their bytes, which are 0 then; Counted
	// names them.
	NeedCount int64  `json:"need_count,omitempty"`
	HaveCount int64  `json:"have_count,omitempty"`
	Counted   string `json:"counted,omitempty"`
}

// What an effect that fits may leave open.
const (
	bound     = "bound"     // enough for what was asked for; more may follow
	condition = "condition" // enough if something is true that the note says
)

// Advice is a fix made out for one incident.
type Advice struct {
	ID        string  `json:"id"`
	Rank      int     `json:"rank"`
	Addresses string  `json:"addresses"`
	Title     string  `json:"title"`
	Why       string  `json:"why"`
	Tradeoff  string  `json:"tradeoff"`
	Steps     []Step  `json:"steps"`
	Effect    *Effect `json:"effect,omitempty"`
	Check     string  `json:"check,omitempty"`
	Next      string  `json:"next,omitempty"`
}

// Useless is usual advice that cannot help here.
type Useless struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Why   string `json:"why"`
}

// maxAdvice bounds the list: nobody tries the seventh fix.
const maxAdvice = 6

// advise ranks fixes for the causes of a case, as its programs spell them: what
// closes the gap first, then the likelier cause, then the cheaper fix. It also
// returns the usual tips that cannot help here.
func advise(c *Case, causes []Cause, own []*Engine) ([]Advice, []Useless) {
	ranked := candidates(c, causes, own)
	for _, b := range ranked {
		b.makeOut(c)
	}
	slices.SortFunc(ranked, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.advice.ID, b.advice.ID))
	})
	advice := make([]Advice, 0, maxAdvice)
	for i, b := range ranked[:min(len(ranked), maxAdvice)] {
		b.advice.Rank = i + 1
		advice = append(advice, b.advice)
	}
	return advice, useless(c, own)
}

// candidate is a fix that some cause asks for.
type candidate struct {
	fix    Fix
	advice Advice
	score  float64
}

// candidates returns every fix that may help, under the likeliest cause that
// asks for it. All causes that do add to its score.
func candidates(c *Case, causes []Cause, own []*Engine) []*candidate {
	rules := map[string]Rule{}
	for _, r := range All() {
		rules[r.ID] = r
	}
	byID := map[string]*candidate{}
	for i, cause := range causes {
		for _, r := range remediesOf(own, rules[cause.ID]) {
			fix, ok := fixesByID()[r.Fix]
			fix = adapted(own, fix)
			if !ok || r.If != nil && !r.If(c) || fix.Useless != nil && fix.Useless(c) != "" {
				continue
			}
			score := cause.share * (r.Fit - fix.Cost/20)
			if i > 0 {
				score /= 2 // a fix for many unlikely causes must not beat the one for the likely cause
			}
			b := byID[fix.ID]
			if b == nil {
				b = &candidate{fix: fix, advice: Advice{ID: fix.ID, Addresses: cause.ID, Title: fix.Title, Tradeoff: fix.Tradeoff, Check: checkOf(c, fix), Next: forBackend(c, fix.Next), Why: cause.Why}}
				byID[fix.ID] = b
			}
			b.score += score
		}
	}
	return slices.Collect(maps.Values(byID))
}

// makeOut adds what is computed for a case: the steps, the reason and the
// arithmetic. A fix that is known not to be enough counts half.
func (b *candidate) makeOut(c *Case) {
	fix, advice := b.fix, &b.advice
	advice.Steps = stepsForBackend(c, sizedSteps(c, fix.ID, fix.Steps(c)))
	if fix.Why != nil {
		advice.Why = cmp.Or(fix.Why(c), advice.Why)
	}
	if fix.Effect != nil {
		advice.Effect = sound(fix.Effect(c))
	}
	if advice.Effect == nil {
		advice.Effect = sound(estimated(c, fix.ID))
	}
	if advice.Effect != nil && !advice.Effect.Fits {
		b.score /= 2
	}
}

// sound returns an effect, or nil where its amounts say another thing than it
// does: they come from figures of a damaged log, of which nothing follows.
func sound(e *Effect) *Effect {
	if e == nil || e.NeedBytes < 0 {
		return nil
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

// useless returns the usual tips that cannot help. Of several with one reason
// the first is enough.
func useless(c *Case, own []*Engine) []Useless {
	var out []Useless
	for _, id := range slices.Concat(usualTips, slices.Sorted(maps.Keys(fixesByID()))) {
		fix := adapted(own, fixesByID()[id])
		if fix.Useless == nil || len(out) == maxUseless || slices.Contains(torchTips, id) && !c.In("pytorch") {
			continue
		}
		why := fix.Useless(c)
		said := slices.ContainsFunc(out, func(u Useless) bool { return u.ID == id || u.Why == why })
		if why != "" && !said {
			out = append(out, Useless{ID: id, Title: fix.Title, Why: why})
		}
	}
	return out
}
