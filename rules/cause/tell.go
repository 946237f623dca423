package cause

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Tell is [Teller.Tell] for one sentence.
func (k *Card) Tell(c *ledger.Case, sentence string) (told string, ok bool) {
	return k.For(c).Tell(sentence)
}

// Teller tells of one case what a card has to say. It belongs to one goroutine.
type Teller struct {
	card *Card
	c    *ledger.Case
}

// For returns what tells of a case.
func (k *Card) For(c *ledger.Case) *Teller { return &Teller{card: k, c: c} }

// Tell puts figures into a sentence: {name} is a number of the ledger by its
// name in reports, one of the card's own figures, the model's name, or a setting
// of plain characters;
// {name%} what share of the total a number is, {card} the total without decimals
// that say nothing. What stands in [[ ]] is left out where the log lacks one of
// its figures, or has none of it; ok is false where one is lacking elsewhere.
func (t *Teller) Tell(sentence string) (told string, ok bool) {
	if !strings.ContainsAny(sentence, "{[") {
		return sentence, true
	}
	var b strings.Builder
	b.Grow(len(sentence) + 32)
	for rest := sentence; ; {
		before, after, found := strings.Cut(rest, "[[")
		part, known := filled(before, t.figure)
		if !known {
			return "", false
		}
		b.WriteString(part)
		if !found {
			return b.String(), true
		}
		optional, tail, _ := strings.Cut(after, "]]")
		if part, known := filled(optional, t.some); known {
			b.WriteString(part)
		}
		rest = tail
	}
}

// knows reports that the log has every figure that a sentence cannot do without.
func (t *Teller) knows(sentence string) bool {
	for sentence != "" {
		before, after, _ := strings.Cut(sentence, "[[")
		if strings.Contains(before, "{") {
			if _, known := filled(before, t.figure); !known {
				return false
			}
		}
		_, sentence, _ = strings.Cut(after, "]]")
	}
	return true
}

// Command puts figures into what is pasted: only those of the ledger and the
// card's own, for a log's words are strangers'. Other braces are left as they
// are.
func (t *Teller) Command(text string) (told string, ok bool) {
	missing := false
	told = replaced(text, func(name string) string {
		if value, known := t.ownFigure(name); known {
			missing = missing || value == ""
			return value
		}
		if e := t.c.Entry(name); e.Has() {
			return e.String()
		}
		return "{" + name + "}"
	})
	return told, !missing
}

// Meaning is what the card says of a case for which it holds.
func (t *Teller) Meaning() string {
	told, _ := t.Tell(t.card.Means)
	return told
}

// figure looks up what a sentence names, "" for what the log does not give.
func (t *Teller) figure(name string) string {
	if value, known := t.ownFigure(name); known {
		return value
	}
	share, isShare := strings.CutSuffix(name, "%")
	e := t.c.Entry(share)
	switch {
	case name == "card" && t.c.Total.Has():
		return t.c.Total.Round()
	case name == "whole" && ledger.FillsAlone(t.c) && t.c.Total.Has(): // the card, where this program fills it
		return t.c.Total.Round()
	case e.Has() && (e.Bytes == 0 || e.Bytes > 0 && e.Bytes < 1<<20 && e.Bytes <= e.Within): // or no more than its roundings
		return nothing
	case e.Has() && e.Bytes < 0:
		return ""
	case e.Has() && isShare:
		return ledger.Percent(e, t.c.Total)
	case e.Has():
		return e.String()
	case name == "model" && t.c.Model != nil:
		return quote.Told(t.c.Model.Name)
	}
	s, _ := t.c.Setting(name)
	if strings.ContainsFunc(s.Value, quote.UnsafeInShell) { // it may stand in a command that is told
		return ""
	}
	return s.Value
}

const nothing = "nothing"

// some is a figure of which there is some.
func (t *Teller) some(name string) string {
	if value := t.figure(name); value != nothing {
		return value
	}
	return ""
}

// ownFigure is one of the card's own figures.
func (t *Teller) ownFigure(name string) (value string, known bool) {
	if t.card.Figures != nil {
		value, known = ledger.Once(t.c, t.card, t.card.Figures)[name]
	}
	return value, known
}

// filled is a sentence with its figures, ok false where one is lacking.
func filled(sentence string, figure func(name string) string) (told string, ok bool) {
	ok = true
	told = replaced(sentence, func(name string) string {
		value := figure(name)
		ok = ok && value != ""
		return value
	})
	return told, ok
}

// replaced writes a text with what stands for each {name} in it.
func replaced(text string, value func(name string) string) string {
	if strings.IndexByte(text, '{') < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 64)
	for rest := text; ; {
		before, after, _ := strings.Cut(rest, "{")
		b.WriteString(before)
		name, tail, closed := strings.Cut(after, "}")
		if !closed {
			return b.String() + rest[len(before):]
		}
		b.WriteString(value(name))
		rest = tail
	}
}
