package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
)

// fullFixes are shown with all they say; the others take one line each.
const fullFixes = 3

// everything is the answer with all that stands behind it.
func (p *page) everything(in *diagnose.Incident) {
	p.heading(p.level, headline(in))
	p.say(prose(in.Summary))
	p.show("text", picture(in, p.options.Width))
	p.growth()
	p.causes(in)
	if b := in.BeyondCard; b != nil {
		p.say(prose(b.Note))
	}
	if len(in.Fixes) > 0 {
		p.heading(p.level+1, prose("What to do"))
	}
	for i := range in.Fixes[:min(len(in.Fixes), fullFixes)] {
		p.fix(in, i)
	}
	p.otherFixes(in)
	p.useless(in)
	p.machine()
	for i := range p.report.Incidents[1:] {
		p.another(&p.report.Incidents[1+i])
	}
	p.details(in)
}

func (p *page) briefly(in *diagnose.Incident) {
	if len(in.Causes) > 0 {
		p.say(causeSentence(in.Causes[0]))
	}
	if len(in.Fixes) > 0 {
		p.say(bold("First: "+in.Fixes[0].Title+"."), effect(in.Fixes[0].Effect))
		p.steps(in.Fixes[0].Steps)
	}
}

// causeSentence names the cause with its odds, or says that the log does not.
func causeSentence(c diagnose.Cause) inline {
	if c.ID == "unknown" {
		return join(bold("Cause: this log does not show it."), prose(" "+c.Why))
	}
	return join(bold("Cause: "+causeName(c)), prose(" ("+odds(c)+"). "+c.Why))
}

func (p *page) causes(in *diagnose.Incident) {
	if len(in.Causes) == 0 {
		return
	}
	c := in.Causes[0]
	p.say(causeSentence(c))
	p.show("text", evidence(p.report, in, c, p.options.Width))
	var others []inline
	for _, other := range in.Causes[1:] {
		if other.Confidence >= 0.1 && len(others) < 3 && other.ID != "unknown" {
			others = append(others, join(prose(causeName(other)+fmt.Sprintf(" (%.2f): ", other.Confidence)), prose(other.Why)))
		}
	}
	if len(others) > 0 {
		told := "It could also be:"
		if c.ID == "unknown" {
			told = "It could be:"
		}
		p.say(prose(told))
		p.items(others)
	}
	if c.Settles != "" && c.Confidence < settled {
		p.say(bold("To be sure:"), prose(" "+c.Settles))
	}
}

// settled is how sure a cause is that needs no further test.
const settled = 0.7

// causeName is the cause's ID in words: what "oomdoc explain" takes, too.
func causeName(c diagnose.Cause) string { return strings.ReplaceAll(c.ID, "_", " ") }

func odds(c diagnose.Cause) string {
	return fmt.Sprintf("%s, %.2f", chance(c.Confidence), c.Confidence)
}

func (p *page) fix(in *diagnose.Incident, i int) {
	fix := in.Fixes[i]
	p.heading(p.level+2, prose(fmt.Sprintf("%d. %s", i+1, fix.Title)))
	if fix.Why != "" && !saidBefore(in, i) {
		p.say(prose(fix.Why))
	}
	p.steps(fix.Steps)
	told := []inline{effect(fix.Effect), labelled("Costs:", fix.Tradeoff)}
	if i > 0 {
		p.say(told...)
		return
	}
	told = append(told, labelled("Check:", fix.Check), labelled("Otherwise:", fix.Next))
	p.items(slices.DeleteFunc(told, func(x inline) bool { return x == nil }))
}

// labelled is a sentence with its label, nothing where there is no sentence.
func labelled(label, sentence string) inline {
	if sentence == "" {
		return nil
	}
	return join(prose(" "), bold(label), prose(" "+ended(sentence)))
}

// saidBefore: a fix without a reason of its own repeats its cause's, or that
// of a fix before it.
func saidBefore(in *diagnose.Incident, i int) bool {
	why := in.Fixes[i].Why
	for _, c := range in.Causes {
		if strings.Contains(c.Why, why) || len(why) > sameStart && strings.Contains(c.Why, why[:sameStart]) { // what the line and the tensor are stands around it
			return true
		}
	}
	for _, fix := range in.Fixes[:i] {
		if fix.Why == why {
			return true
		}
	}
	return false
}

// sameStart is how much of two texts is alike only if they say the same.
const sameStart = 60

// languages of the fences by kind of step. Other kinds are told in words.
var languages = map[string]string{"shell": "sh", "env": "sh", "python": "python", "config": "text", "modelfile": "text"}

// steps shows what to paste; lines of one language that follow each other
// share a fence.
func (p *page) steps(steps []diagnose.Step) {
	for i := 0; i < len(steps); i++ {
		language, ok := languages[steps[i].Kind]
		if !ok {
			p.say(toldStep(steps[i]))
			continue
		}
		text := steps[i].Text
		for language == "sh" && i+1 < len(steps) && languages[steps[i+1].Kind] == language {
			i++
			text = strings.TrimRight(text, "\n") + "\n" + steps[i].Text
		}
		p.show(language, text)
	}
}

// toldStep is a step in words, with the case for which it is meant.
func toldStep(s diagnose.Step) inline {
	if s.For == "" {
		return prose(s.Text)
	}
	return join(bold(s.For+":"), prose(" "+s.Text))
}

// effect says whether a fix is enough, and how that is known.
func effect(e *diagnose.Effect) inline {
	if e == nil {
		return nil
	}
	verdict := "Not enough alone:"
	switch {
	case e.Fits && e.Certainty == "condition":
		verdict = "Enough on a condition:"
	case e.Fits && e.Certainty == "bound":
		verdict = "Enough, as far as the log tells:"
	case e.Fits:
		verdict = "Enough:"
	}
	sum := fmt.Sprintf(" %s needed, %s there", figure(e.NeedBytes), figure(e.HaveBytes))
	if e.Counted != "" {
		sum = fmt.Sprintf(" %s %s needed, %s there", thousands(float64(e.NeedCount)), e.Counted, thousands(float64(e.HaveCount)))
	}
	if e.Basis == "estimate" {
		sum += " (estimate)"
	}
	sum += "."
	if e.Note != "" {
		sum += " " + ended(capital(e.Note))
	}
	return join(prose(" "), bold(verdict), prose(sum))
}

func (p *page) otherFixes(in *diagnose.Incident) {
	if len(in.Fixes) <= fullFixes {
		return
	}
	var items []inline
	for _, fix := range in.Fixes[fullFixes:] {
		item := bold(fix.Title)
		if step := oneLine(fix.Steps); step != nil {
			item = join(item, prose(": "), step)
		}
		items = append(items, item)
	}
	p.say(bold("Or else:"))
	p.blocks = append(p.blocks, list{items, fullFixes + 1})
}

// oneLine is the step of a fix, where one short line says it.
func oneLine(steps []diagnose.Step) inline {
	if len(steps) != 1 || strings.Contains(steps[0].Text, "\n") || len(steps[0].Text) > 120 {
		return nil
	}
	if _, ok := languages[steps[0].Kind]; ok {
		return literal(steps[0].Text)
	}
	return prose(steps[0].Text)
}

func (p *page) useless(in *diagnose.Incident) {
	if len(in.WontHelp) == 0 {
		return
	}
	p.heading(p.level+1, prose("Won't help here"))
	var items []inline
	for _, u := range in.WontHelp {
		items = append(items, join(bold(u.Title+":"), prose(" "+u.Why)))
	}
	p.items(items)
}

// another is a further incident in short.
func (p *page) another(in *diagnose.Incident) {
	p.heading(p.level+1, join(prose(fmt.Sprintf("Another failure, line %d: ", in.Line)), headline(in)))
	p.say(prose(in.Summary))
	p.briefly(in)
}
