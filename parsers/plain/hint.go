package plain

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// proposes begin a sentence in which a program says what to do.
var proposes = []string{"try ", "consider ", "please ", "reduce ", "decrease ", "lower ", "increase ", "raise ", "set ", "use ", "you can ", "you may ", "you might ", "you need ", "you should ", "hint: ", "tip: ", "suggestion: ", "solution: ", "mitigation: ", "mitigations: ", "workaround: ", "remedy: ", "either ", "close "}

// noProposal are words of requests that mend nothing, and of what is not to be
// repeated from a log.
var noProposal = []string{"report", "see ", "refer", "contact", "wait", "open an issue", "http", "sudo", "curl", "wget", "rm -", "chmod", "password", "download", "install"}

// othersWords tell that a line holds what somebody else wrote.
var othersWords = []string{"prompt", "content", "query", "question", "chat", "user", "comment", "title", "http"}

const (
	longestHint = 180
	leastHint   = 14
)

// readHint looks for a proposal in the message itself: other lines may be
// anybody's.
func readHint(f *fact.Facts, m text.Message) {
	_, _, line := own(m)
	if containsAny(strings.ToLower(line), othersWords) {
		return
	}
	for sentence := range strings.SplitSeq(openings.Replace(line), "\n") {
		if proposal(sentence) {
			f.Facts = append(f.Facts, fact.Fact{Name: fact.OwnHint, Text: sentence, Line: m.Log.Line(m.At)})
			return
		}
	}
}

// openings are where one sentence ends and the next begins, and dashes and
// brackets that open one.
var openings = strings.NewReplacer("`", "", ". ", "\n", "! ", "\n", "; ", "\n", " - ", "\n", " (", "\n", ", try ", "\ntry ", ", please ", "\nplease ", ": try ", "\ntry ")

func proposal(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	opens := func(word string) bool { return strings.HasPrefix(s, word) }
	return len(s) >= leastHint && len(s) <= longestHint && slices.ContainsFunc(proposes, opens) && !containsAny(s, noProposal) &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789 .,:=-_/()'\"+%") == ""
}
