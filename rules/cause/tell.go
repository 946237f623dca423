package cause

import (
	"strings"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
)

// Tell puts figures into a sentence: {name} is a number of the ledger by its
// name in reports, one of the card's own figures, the model's name, or a setting
// of plain characters;
// {name%} what share of the total a number is, {card} the total without decimals
// that say nothing. What stands in [[ ]] is left out where the log lacks one of
// its figures, or has none of it; ok is false where one is lacking elsewhere.
func (k *Card) Tell(c *ledger.Case, sentence string) (told string, ok bool) {
	if !strings.ContainsAny(sentence, "{[") {
		return sentence, true
	}
	figures := k.figures(c)
	var b strings.Builder
	for rest := sentence; ; {
		before, after, found := strings.Cut(rest, "[[")
		part, known := filled(before, figures)
		if !known {
			return "", false
		}
		b.WriteString(part)
		if !found {
			return b.String(), true
		}
		optional, tail, _ := strings.Cut(after, "]]")
		if part, known := filled(optional, someOf(figures)); known {
			b.WriteString(part)
		}
		rest = tail
	}
}

// Command puts figures into what is pasted: only those of the ledger and the
// card's own, for a log's words are strangers'. Other braces are left as they
// are.
func (k *Card) Command(c *ledger.Case, text string) (told string, ok bool) {
	entries := c.Entries()
	own := k.own(c)
	missing := false
	told = replaced(text, func(name string) string {
		if value, known := own[name]; known {
			missing = missing || value == ""
			return value
		}
		if e, known := entries[name]; known {
			return e.String()
		}
		return "{" + name + "}"
	})
	return told, !missing
}

// figures looks up what a sentence names, "" for what the log does not give.
func (k *Card) figures(c *ledger.Case) func(name string) string {
	entries, own := c.Entries(), k.own(c)
	return func(name string) string {
		if value, known := own[name]; known {
			return value
		}
		share, isShare := strings.CutSuffix(name, "%")
		e, known := entries[share]
		switch {
		case name == "card" && c.Total.Has():
			return c.Total.Round()
		case name == "whole" && ledger.FillsAlone(c) && c.Total.Has(): // the card, where this program fills it
			return c.Total.Round()
		case known && e.Bytes == 0:
			return nothing
		case known && e.Bytes < 0:
			return ""
		case known && isShare:
			return ledger.Percent(e, c.Total)
		case known:
			return e.String()
		case name == "model" && c.Model != nil:
			return quote.Told(c.Model.Name)
		}
		s, _ := c.Setting(name)
		if strings.ContainsFunc(s.Value, quote.UnsafeInShell) { // it may stand in a command that is told
			return ""
		}
		return s.Value
	}
}

const nothing = "nothing"

// someOf looks up figures of which there is some.
func someOf(figures func(name string) string) func(name string) string {
	return func(name string) string {
		if value := figures(name); value != nothing {
			return value
		}
		return ""
	}
}

func (k *Card) own(c *ledger.Case) map[string]string {
	if k.Figures == nil {
		return nil
	}
	return k.Figures(c)
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
	var b strings.Builder
	for rest := text; ; {
		before, after, found := strings.Cut(rest, "{")
		b.WriteString(before)
		name, tail, closed := strings.Cut(after, "}")
		if !found {
			return b.String()
		}
		if !closed {
			b.WriteString("{" + after)
			return b.String()
		}
		b.WriteString(value(name))
		rest = tail
	}
}
