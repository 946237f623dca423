package story

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// headline says what happened, and why where that is likely.
func (t teller) headline() string {
	switch {
	case t.killed():
		return t.killedHeadline()
	case t.F().KVAvailable != nil && !t.refused():
		return t.cacheHeadline()
	}
	return t.refusedHeadline()
}

// with joins what happened and a reason to a line.
func (t teller) with(what, why string) string {
	if why == "" {
		return t.shown + " " + what
	}
	return t.shown + " " + what + ": " + why
}

func (t teller) killedHeadline() string {
	who := map[string]string{"linux-oom-killer": "Linux killed the program", "kubernetes": "Kubernetes killed the container", "slurm": "Slurm killed the job"}[t.Framework]
	who = cmp.Or(who, "The program was killed")
	switch {
	case t.Limit.Has() && t.cause.ID != "":
		return who + ": it reached its memory limit of " + t.Limit.String()
	case t.cause.ID == cause.HostMemory:
		return who + ": system memory (RAM) ran out"
	case t.cause.ID != "":
		return who + ": " + lowered(t.cause.Title)
	}
	return who + ", probably because memory (RAM) ran out"
}

func (t teller) cacheHeadline() string {
	switch f := t.F(); {
	case f.KVAvailable.Bytes <= 0:
		return t.with("did not start", "nothing is left for the KV cache")
	case f.MaxModelLen != nil && t.Asked.Has():
		return t.with("did not start", "one request of "+thousands(f.MaxModelLen)+" tokens needs more KV cache than is left")
	}
	return t.with("did not start", "the KV cache needs more than is left")
}

// refusedHeadline: the figures speak first, where they say why.
func (t teller) refusedHeadline() string {
	f := t.F()
	switch {
	case ledger.AbsurdSize(t.Case):
		return t.with("asked for an impossible size", "the number is not a real amount of memory")
	case f.Requested != nil && t.Ceiling().Has() && f.Requested.Bytes > t.Ceiling().Bytes:
		return t.with("asked for "+t.Asked.String()+" in one block", "the "+t.whole()+" has "+t.Ceiling().Round())
	case f.Free != nil && ledger.Roomy(t.Case):
		return t.with("did not get "+t.Asked.String()+" although "+t.Free.String()+" was free", "")
	case pieces[t.Failure.Stage] != "":
		return t.with("ran out of "+t.card(), pieces[t.Failure.Stage]+" did not fit")
	}
	return t.with("ran out of "+t.card()+t.when(), t.reason())
}

func (t teller) whole() string {
	switch {
	case t.onHost():
		return "computer"
	case t.Limit.Has():
		return "limit"
	}
	return "GPU"
}

// reason is what the figures say, else the likely cause's title.
func (t teller) reason() string {
	outside := t.Others.Bytes - ledger.DriverContext
	switch {
	case t.cause.ID == cause.LeakedProcess && t.Others.Has() && t.Total.Has() && outside*2 < t.Total.Bytes && outside*5 > t.Total.Bytes:
		return ledger.Percent(t.Others, t.Total) + " of it is used by something else"
	case t.cause.ID == cause.Fragmentation && t.Slack.Has():
		return t.Slack.String() + " is reserved but not in use, in blocks that are too small"
	case t.cause.ID == cause.BatchTooLarge || t.cause.ID == "":
		if ledger.FillsAlone(t.Case) && t.Total.Has() && !t.onHost() {
			return "this program fills it by itself"
		}
		return ""
	case t.cause.ID == cause.ModelTooLarge && t.Phase == "load":
		return "the model does not fit"
	case t.cause.Title == cause.HostTitle:
		return "" // the line says so
	}
	return lowered(t.cause.Title)
}

// lowered is a title in the middle of a line: names keep their capitals.
func lowered(title string) string {
	first, size := utf8.DecodeRuneInString(title)
	word, _, _ := strings.Cut(title, " ")
	if strings.ToLower(word[size:]) != word[size:] {
		return title
	}
	for _, name := range [...]string{"Windows", "Linux", "Docker", "Kubernetes", "Slurm", "Python", "Ollama", "Metal", "Ray"} {
		if strings.HasPrefix(word, name) {
			return title
		}
	}
	return string(unicode.ToLower(first)) + title[size:]
}
