package rules

import (
	"maps"
	"slices"
	"sort"
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

// Advise ranks fixes for the causes of a case: what closes the gap first, then
// the likelier cause, then the cheaper fix. It also returns the usual tips that
// cannot help here.
func Advise(c *Case, causes []Cause) ([]Advice, []Useless) {
	type candidate struct {
		advice Advice
		score  float64
	}
	rules := map[string]Rule{}
	for _, r := range All() {
		rules[r.ID] = r
	}
	own := enginesOf(c)
	fixes := func(id string) (Fix, bool) {
		fix, ok := Fixes()[id]
		return adapted(own, fix), ok
	}
	best := map[string]*candidate{}
	for i, cause := range causes {
		for _, r := range remediesOf(own, rules[cause.ID]) {
			fix, ok := fixes(r.Fix)
			if !ok || r.If != nil && !r.If(c) || fix.Useless != nil && fix.Useless(c) != "" {
				continue
			}
			score := cause.share * (r.Fit - fix.Cost/20)
			if i > 0 {
				score /= 2 // a fix for many unlikely causes must not beat the one for the likely cause
			}
			b := best[fix.ID]
			if b == nil {
				b = &candidate{advice: Advice{ID: fix.ID, Addresses: cause.ID, Title: fix.Title, Tradeoff: fix.Tradeoff, Check: forBackend(c, fix.Check), Next: forBackend(c, fix.Next), Why: cause.Why}}
				best[fix.ID] = b
			}
			b.score += score
		}
	}
	ranked := make([]*candidate, 0, len(best))
	for id, b := range best {
		fix, _ := fixes(id)
		b.advice.Steps = stepsForBackend(c, sizedSteps(c, id, fix.Steps(c)))
		if fix.Why != nil {
			if why := fix.Why(c); why != "" {
				b.advice.Why = why
			}
		}
		if fix.Effect != nil {
			b.advice.Effect = fix.Effect(c)
		}
		if b.advice.Effect == nil {
			b.advice.Effect = estimated(c, id)
		}
		if b.advice.Effect != nil && !b.advice.Effect.Fits {
			b.score /= 2
		}
		ranked = append(ranked, b)
	}
	sort.Slice(ranked, func(i, j int) bool {
		if ranked[i].score != ranked[j].score {
			return ranked[i].score > ranked[j].score
		}
		return ranked[i].advice.ID < ranked[j].advice.ID
	})
	advice := make([]Advice, 0, maxAdvice)
	for i, b := range ranked[:min(len(ranked), maxAdvice)] {
		b.advice.Rank = i + 1
		advice = append(advice, b.advice)
	}
	return advice, useless(c, own)
}

// maxUseless bounds the tips that are refuted.
const maxUseless = 4

// usualTips are the fixes most often recommended where they can't help, the
// commonest first.
var usualTips = []string{"expandable_segments", "kill_stale_process", "raise_watermark", "lower_batch_size", "load_in_4bit", "raise_gpu_memory_utilization"}

// useless returns the usual tips that cannot help. Of several with one reason
// the first is enough.
// torchTips are heard of by people who run PyTorch; nobody else needs to be
// told that they will not help.
var torchTips = []string{"load_in_4bit", "load_in_8bit", "half_precision", "empty_cache", "expandable_segments", "max_split_size"}

func useless(c *Case, own []*Engine) []Useless {
	var out []Useless
	for _, id := range slices.Concat(usualTips, slices.Sorted(maps.Keys(Fixes()))) {
		fix := adapted(own, Fixes()[id])
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
