package text

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Parser reads the messages of one program.
type Parser struct {
	Name string
	// Keywords lead to the parser. Case and white space do not count. A keyword
	// of a failure must not occur in a healthy log.
	Keywords []string
	// Context keywords lead to informative lines (arguments, buffers, devices).
	// They may occur in healthy logs, but not line after line.
	Context []string
	// Explains says, for the kinds that this parser makes, how much of a crash
	// they explain when several statements tell of it: the highest is the root.
	// Allocators are 2 (the default), an engine's own check that names the
	// setting 4, the kernel 6.
	Explains map[fact.Kind]int
	// Parse adds what it finds. Hits are in the order of the text.
	Parse func(l *Log, hits []Hit, f *fact.Facts)
}

// NewParser makes a parser of wordings: of failures, and of lines that inform.
func NewParser(name string, explains map[fact.Kind]int, failures, lines []Wording) Parser {
	return Parser{Name: name, Explains: explains}.Reading(failures, lines, nil)
}

// Reading is the parser with wordings to read before its own keywords: those
// of failures and informative ones. What is left goes to then.
func (p Parser) Reading(failures, lines []Wording, then func(l *Log, others []Hit, f *fact.Facts)) Parser {
	list := slices.Concat(failures, lines)
	p.Keywords = Literals(failures)
	p.Context = slices.Concat(Literals(lines), p.Context)
	p.Parse = func(l *Log, hits []Hit, f *fact.Facts) {
		worded, others := SplitHits(hits, len(list))
		ParseWordings(list, l, worded, f)
		if then != nil {
			then(l, others, f)
		}
	}
	return p
}

// Words returns every keyword under the number that [Hit.Word] has.
func (p Parser) Words() []string { return slices.Concat(p.Keywords, p.Context) }

// Hit is a keyword at a squeezed offset. Word counts Keywords, then Context.
type Hit struct {
	Word int
	At   int
}
