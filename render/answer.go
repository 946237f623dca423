package render

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/rules"
)

// What each degree of terseness leaves out.
const (
	withoutSteps   = 2 // of the second and third fix
	withoutOthers  = 3 // other causes, further failures, notes
	withoutCosts   = 4 // of the first fix, and what will not help
	withoutDetails = Tersest
)

// enough is how many words an answer has at most, as far as leaving out what is
// least needed can make it so: nobody reads on. Where a window is too small for
// them, fewer.
const (
	enough = 240
	fewer  = 225
)

// What each degree of shortness leaves out.
const (
	withoutThird  = 1 // all of the third fix but its first sentence; that the log names no program
	withoutLater  = 2 // what it was if it fails again
	withoutSecond = 3 // all of the second fix but its first sentence
	onlyTitle     = 4 // all of the third fix but its title and a short command
	withoutDoubt  = 5 // of why, all but the first two sentences
	shortest      = withoutDoubt
)

// answer is the page of about 200 words: what happened, why, three fixes, what
// will not help.
func (p *page) answer(in *diagnose.Incident) {
	before, most := p.blocks, enough
	if p.options.Terse > 0 {
		most = fewer
	}
	for p.short = 0; ; p.short++ {
		p.blocks = slices.Clone(before)
		p.told(in)
		if p.short == shortest || p.blocks.words() <= most {
			return
		}
	}
}

func (p *page) told(in *diagnose.Incident) {
	terse := p.options.Terse
	p.heading(p.level, headline(in))
	summary := newIn(in)
	if terse >= withoutDetails {
		summary = firstSentence(summary)
	}
	p.say(prose(summary))
	if terse < withoutOthers {
		p.growth()
	}
	p.why(in)
	if b := in.BeyondCard; b != nil && terse < withoutCosts {
		p.say(prose(b.Note))
	}
	p.fixes(worthTelling(in))
	if terse < withoutCosts {
		p.wontHelp(in)
	}
	if k := in.Knowledge; k != nil && terse < withoutCosts && p.short < withoutLater {
		p.later(in, k.Later)
	}
	if terse < withoutOthers {
		p.also()
	}
	if nameless(p.report, in) && terse < withoutCosts && p.short < withoutThird {
		p.say(prose("The lines above the pasted one may name the program: paste them as well."))
	}
	if terse < withoutDetails {
		p.machine()
	}
	p.foot(in)
}

// nameless: a message that was pasted alone, from which nothing tells the program.
func nameless(r *diagnose.Report, in *diagnose.Incident) bool {
	return r.Input.Lines < 4 && in.Reader.Program == "" && in.Framework == "pytorch"
}

// figures are the numbers of a sentence, but for those of cards.
var figures = regexp.MustCompile(`\d[\d.,]*\d`)

// newIn is what the summary says that the headline does not: without its first
// sentence where that names no place, and no figure but the headline's.
func newIn(in *diagnose.Incident) string {
	first := firstSentence(in.Summary)
	missing := func(n string) bool { return !strings.Contains(in.Headline, n) }
	told := figures.FindAllString(first, -1)
	if strings.Contains(first, " in ") || slices.ContainsFunc(told, missing) || told == nil && !strings.HasSuffix(first, "nothing is left for it.") {
		return in.Summary
	}
	return strings.TrimSpace(in.Summary[len(first):])
}

// later says what it was if it fails again, unless a fix on the page names the
// same code.
func (p *page) later(in *diagnose.Incident, text string) {
	_, code, _ := strings.Cut(text, "`")
	code, _, _ = strings.Cut(code, "`")
	told := worthTelling(in).Fixes
	for _, f := range told[:min(len(told), 3)] {
		if code != "" && slices.ContainsFunc(f.Steps, func(s diagnose.Step) bool { return strings.Contains(s.Text, code) }) {
			return
		}
	}
	p.say(prose(text))
}

// why names the cause with the doubt that is due, and what else it could be.
func (p *page) why(in *diagnose.Incident) {
	if len(in.Causes) == 0 {
		return
	}
	c := in.Causes[0]
	told := join(bold("Why"), prose(" ("+doubt(in)+"): "))
	why := ended(c.Why)
	if p.options.Terse >= withoutDetails {
		why = firstSentence(why)
	} else if p.short >= withoutDoubt {
		first := firstSentence(why)
		why = first + firstSentence(why[len(first):])
	}
	told = join(told, prose(why))
	if p.options.Terse < withoutOthers && in.Knowledge == nil {
		if others := otherCauses(in); others != "" {
			told = join(told, prose(" "+others))
		}
	}
	p.say(told)
	if c.Confidence < perhaps && c.Settles != "" && p.options.Terse < withoutSteps && in.Knowledge == nil { // which says itself what tells
		p.say(bold("To be sure:"), prose(" "+firstSentence(ended(c.Settles))))
	}
}

// open is the doubt of a page that tells the causes between which the log does not
// decide.
const open = "not certain"

// doubt is the likeliest cause's probability in a word.
func doubt(in *diagnose.Incident) string {
	c := in.Causes[0]
	if c.ID == "unknown" || in.Knowledge != nil && in.Knowledge.Open && c.Confidence < likely {
		return open
	}
	return chance(c.Confidence)
}

// otherCauses says what else it could be.
func otherCauses(in *diagnose.Incident) string {
	for _, c := range in.Causes[1:] {
		if c.Confidence >= 0.15 && c.ID != "unknown" {
			return "Or: " + lowerFirst(ended(c.Title))
		}
	}
	return ""
}

// firstSentence cuts at the first full stop that ends a sentence.
func firstSentence(s string) string {
	for i := 0; i+2 < len(s); i++ {
		if s[i] == '.' && s[i+1] == ' ' && s[i+2] >= 'A' && s[i+2] <= 'Z' {
			return s[:i+1]
		}
	}
	return s
}

// worthTelling is an incident without the fixes that its cause asks for as a rule,
// where what is known of the message names two others.
func worthTelling(in *diagnose.Incident) *diagnose.Incident {
	told := *in
	told.Fixes = slices.DeleteFunc(slices.Clone(in.Fixes), func(f diagnose.Fix) bool { return f.General })
	if len(told.Fixes) < 2 {
		return in
	}
	return &told
}

// fixes are three. Those for cases between which the log does not decide are
// one: a line for each case.
func (p *page) fixes(in *diagnose.Incident) {
	var branches []diagnose.Fix
	for _, f := range in.Fixes {
		if f.Branch != "" {
			branches = append(branches, f)
		}
	}
	number, told := 1, len(branches) < 2
	for i := range in.Fixes {
		switch f := in.Fixes[i]; {
		case number > fullFixes, f.Branch != "" && len(branches) > 1 && told:
			continue
		case f.Branch != "" && !told:
			p.branch(branches, number)
			told = true
		case number == 1:
			p.first(in)
		default:
			p.further(in, i, number)
		}
		number++
	}
}

// branch is what to do in each case that the log leaves open.
func (p *page) branch(fixes []diagnose.Fix, number int) {
	lead := join(bold("Halve the work of a step"), prose(" and see if it runs."))
	var items []inline
	for _, f := range fixes {
		words, _, _ := split(f.Steps)
		if words = firstSentence(words); words != "" {
			items = append(items, join(bold(f.Branch+":"), prose(" "+words)))
		}
	}
	if p.options.Terse < withoutSteps {
		p.blocks = append(p.blocks, list{[]inline{join(lead, prose(" The log does not say what it was doing:"))}, number})
		p.items(items)
		return
	}
	for _, item := range items[:min(len(items), 3)] {
		lead = join(lead, prose(" "), item)
	}
	p.blocks = append(p.blocks, list{[]inline{lead}, number})
}

// first is the first fix, whole.
func (p *page) first(in *diagnose.Incident) {
	fix := in.Fixes[0]
	item := join(lead(fix), worked(fix.Effect))
	if fix.Why != "" && !saidBefore(in, 0) && p.options.Terse < withoutCosts {
		item = join(item, prose(" "+ended(fix.Why)))
	}
	words, ways, pasted := split(fix.Steps)
	if p.options.Terse >= withoutDetails {
		words, ways, pasted = firstSentence(words), nil, pasted[:min(len(pasted), 1)]
	}
	if words != "" {
		item = join(item, prose(" "+words))
	}
	if p.options.Terse >= withoutCosts {
		item = join(item, prose(" "), fills(pasted))
	}
	p.entry(item, ways, 1)
	p.steps(pasted)
	if p.options.Terse < withoutCosts {
		p.say(fills(pasted))
	}
}

// lead is a fix's title with what it costs, and the case for which it holds.
func lead(f diagnose.Fix) inline {
	title := f.Title
	if f.Branch != "" {
		title = f.Branch + ": " + lowerFirst(f.Title)
	}
	title = strings.TrimRight(title, ".")
	cost := shortCost(f.Tradeoff)
	if cost == "" {
		return titled(title + ".")
	}
	return join(titled(title), prose(" ("+cost+")."))
}

// titled is a title in which names of commands stand as code.
func titled(title string) inline {
	var out inline
	for i, part := range strings.Split(title, "`") {
		switch {
		case part == "":
		case i%2 == 1:
			out = join(out, literal(part))
		default:
			out = join(out, bold(part))
		}
	}
	return out
}

// shortCost is the first thing that a fix costs.
func shortCost(s string) string {
	for _, end := range [...]string{"; ", ". ", ": "} {
		s, _, _ = strings.Cut(s, end)
	}
	s = strings.TrimRight(s, ".")
	if len(s) > 70 || strings.HasPrefix(s, "None") || strings.HasPrefix(s, "none") {
		return ""
	}
	return lowerFirst(s)
}

// split parts the steps that are told, those for single cases and those that
// are pasted.
func split(steps []diagnose.Step) (words string, ways []inline, pasted []diagnose.Step) {
	var told []string
	for _, s := range steps {
		switch _, ok := languages[s.Kind]; {
		case ok:
			pasted = append(pasted, s)
		case s.For != "":
			ways = append(ways, join(bold(s.For+":"), prose(" "+ended(s.Text))))
		default:
			told = append(told, ended(s.Text))
		}
	}
	return strings.Join(told, " "), ways, pasted
}

// fills says what to put in where a step has placeholders.
func fills(steps []diagnose.Step) inline {
	var told []string
	for _, s := range steps {
		for _, f := range s.Fill {
			if !slices.Contains(known, f.Name) {
				told = append(told, "`"+f.Name+"`: "+f.With)
			}
		}
	}
	if len(told) == 0 {
		return nil
	}
	return prose("(" + strings.Join(told, "; ") + ".) ")
}

// known are placeholders that need no explanation.
var known = []string{"PID", "POD", "JOB", "IMAGE"}

// worked is the arithmetic of a fix in a few words.
func worked(e *diagnose.Effect) inline {
	if e == nil {
		return nil
	}
	need, have := figure(e.NeedBytes), figure(e.HaveBytes)
	if e.Counted != "" {
		need, have = thousands(float64(e.NeedCount))+" "+e.Counted, thousands(float64(e.HaveCount))
	}
	told := ""
	switch {
	case !e.Fits:
		told = fmt.Sprintf("Not enough alone: %s needed, %s there.", need, have)
	case e.Certainty != "": // rests on what the log does not say: --full tells
		return nil
	case e.Basis == "estimate":
		told = fmt.Sprintf("Enough by estimate: %s needed, %s there.", need, have)
	default:
		told = fmt.Sprintf("Enough: %s needed, %s there.", need, have)
	}
	return prose(" " + told)
}

// further is the second or third fix in short.
func (p *page) further(in *diagnose.Incident, i, number int) {
	fix := in.Fixes[i]
	item := join(lead(fix), worked(fix.Effect))
	words, ways, pasted := split(fix.Steps)
	pasted = pasted[:min(len(pasted), 1)]
	if p.short >= withoutThird && number == fullFixes || p.short >= withoutSecond && number > 1 {
		if words == "" { // else nothing would be left of it
			ways = ways[:min(len(ways), 2)]
		} else {
			words, ways = firstSentence(words), nil
		}
		if len(pasted) > 0 && len(pasted[0].Text) > 56 && !strings.HasSuffix(words, ":") && namesPartOf(words, pasted[0].Text) {
			pasted = nil // what is told can be done without it
		}
	}
	if p.options.Terse >= withoutSteps || p.short >= onlyTitle && number == fullFixes && oneStep(pasted) != nil {
		item, ways, pasted = join(lead(fix), oneStep(pasted)), nil, nil
	} else {
		if words = p.news(in, i, words); words != "" {
			item = join(item, prose(" "+words))
		}
		toFill := fills(pasted)
		if len(pasted) == 1 && !strings.Contains(pasted[0].Text, "\n") && len(pasted[0].Text) <= 56 {
			item, pasted = join(item, prose(" "), literal(pasted[0].Text), prose(".")), nil
		}
		if fills(in.Fixes[0].Steps) == nil && (i < 2 || fills(in.Fixes[1].Steps) == nil) { // else said before
			item = join(item, prose(" "), toFill)
		}
	}
	p.entry(item, ways, number)
	p.steps(pasted)
}

// namesPartOf reports words with code that stands in what is pasted as well.
func namesPartOf(words, pasted string) bool {
	for i, part := range strings.Split(words, "`") {
		if i%2 == 1 && strings.Contains(pasted, part) {
			return true
		}
	}
	return false
}

// news are a fix's words; where to put what is pasted is told once on a page.
func (p *page) news(in *diagnose.Incident, i int, words string) string {
	at := lastSentence(words)
	if len(at) < worthSparing || p.short >= withoutSecond {
		return words // the sentence before may be the one that was left out
	}
	for _, f := range slices.Backward(in.Fixes[:i]) {
		before, _, pasted := split(f.Steps)
		switch {
		case len(pasted) == 0:
		case lastSentence(before) == at:
			return strings.TrimSpace(strings.TrimSuffix(words, at)) + " In the same way:"
		default:
			return words // the same way as what was pasted last would be another
		}
	}
	return words
}

// worthSparing is how long a sentence is that is not said twice.
const worthSparing = 40

// lastSentence is what stands behind the last full stop that ends a sentence.
func lastSentence(s string) string {
	for rest := firstSentence(s); rest != s; rest = firstSentence(s) {
		s = strings.TrimPrefix(s[len(rest):], " ")
	}
	return s
}

// entry is a numbered fix with a line for each case that the log leaves open;
// where room is short they follow in its line.
func (p *page) entry(item inline, ways []inline, number int) {
	if p.options.Terse >= withoutSteps {
		for _, w := range ways {
			item = join(item, prose(" "), w)
		}
		ways = nil
	}
	p.blocks = append(p.blocks, list{[]inline{item}, number})
	p.items(ways)
}

// oneStep is the step that fits beside a title on a line: whole, or not at all.
func oneStep(pasted []diagnose.Step) inline {
	if len(pasted) != 1 || strings.Contains(pasted[0].Text, "\n") || len(pasted[0].Text) > 40 {
		return nil
	}
	return join(prose(" "), literal(pasted[0].Text))
}

// wontHelp names the one tip that somebody would try and that cannot help.
func (p *page) wontHelp(in *diagnose.Incident) {
	var told []inline
	if k := in.Knowledge; k != nil && k.Not != "" {
		told = append(told, prose(ended(k.Not)))
	}
	for _, u := range in.WontHelp {
		if len(told) == 0 && heardOf(in, u) && !slices.ContainsFunc(in.Fixes, func(f diagnose.Fix) bool { return theme(f.ID) == theme(u.ID) }) {
			told = append(told, prose(capital(shortName(u))+": "+lowerFirst(ended(firstSentence(u.Why)))))
		}
	}
	if told == nil {
		return
	}
	line := bold("Won't help:")
	for _, t := range told {
		line = join(line, prose(" "), t)
	}
	p.say(line)
}

// theme is what fixes have in common that one of them is advised and the other
// cannot be called useless.
func theme(id string) string {
	if id == "close_other_apps" {
		return "kill_stale_process"
	}
	return id
}

// heardOf: PyTorch's message recommends its allocator's settings in some
// versions only; to others nobody has spoken of them.
func heardOf(in *diagnose.Incident, u diagnose.Useless) bool {
	if u.ID != "expandable_segments" && u.ID != "max_split_size" {
		raise := strings.Contains(in.Message, "increasing `gpu_memory_utilization`")
		return u.ID != "lower_gpu_memory_utilization" || !raise
	}
	return strings.Contains(in.Message, "fragmentation") || strings.Contains(in.Message, "expandable_segments") || strings.Contains(in.Message, "max_split_size")
}

// also are further failures and what else should be known, a line each.
func (p *page) also() {
	var items []inline
	for i := range p.report.Incidents[1:] {
		in := &p.report.Incidents[1+i]
		if in.Headline == p.report.Incidents[0].Headline && in.Headline != "" {
			continue // the same again, in other words of the same program
		}
		items = append(items, join(prose(fmt.Sprintf("Another failure, line %d: ", in.Line)), headline(in), prose(".")))
	}
	for _, l := range p.report.Lookalikes {
		items = append(items, join(prose(fmt.Sprintf("Line %d is something else: ", l.Line)), prose(ended(l.Title))))
	}
	for _, n := range p.report.Notes {
		items = append(items, prose(ended(capital(n))))
	}
	p.items(items[:min(len(items), 3)])
}

// foot says where it stands in the log, what program that was, and where more
// is told.
func (p *page) foot(in *diagnose.Incident) {
	told := fmt.Sprintf("line %d", in.Line)
	if source := sourceOf(p.report, in.Line); source != "" {
		told = "by this machine (" + source + "), not the log"
	} else if in.EndLine > in.Line {
		told = fmt.Sprintf("lines %d to %d", in.Line, in.EndLine)
	}
	if in.Count > 1 {
		told += fmt.Sprintf(", %d times", in.Count)
	}
	if name := rules.Shown(in.Framework); name != "The program" {
		told += " · " + name
	}
	if in.Reader.Repository != "" {
		told += " · " + in.Reader.Repository
	} else if in.Model != nil && in.Model.Name != "" && len(in.Model.Name) < 50 {
		told += " · " + strings.ReplaceAll(in.Model.Name, "`", "")
	}
	if len(in.Causes) > 0 && doubt(in) != open { // else the page claims no cause
		told += " · `oomdoc explain " + strings.ReplaceAll(in.Causes[0].ID, "`", "") + "`"
	}
	p.say(prose(told + " · `oomdoc --full`"))
}

// lowerFirst is a title in the middle of a sentence; names keep their capitals.
func lowerFirst(s string) string {
	if len(s) < 2 || (s[1] < 'a' || s[1] > 'z') && s[1] != ' ' || strings.HasPrefix(s, "I ") {
		return s
	}
	word, _, _ := strings.Cut(s, " ")
	for _, name := range [...]string{"Windows", "Linux", "Docker", "Python", "PyTorch", "ExLlama", "Ollama", "Forge"} {
		if strings.HasPrefix(word, name) {
			return s
		}
	}
	return strings.ToLower(s[:1]) + s[1:]
}
