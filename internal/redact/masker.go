package redact

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oomdoc/oomdoc/internal/digrams"
)

// Masker masks what is private in one log and in the report on it: each name by
// one pseudonym (USER1, HOST2, KEY1) wherever it stands. It is not safe for
// concurrent use.
type Masker struct {
	read, written Words
	// names are pseudonyms by what they stand for, in lower case.
	names map[string]string
	count map[string]int
	// spread are names that are masked wherever they stand, by their first
	// word.
	spread map[string][]alias
}

type alias struct{ text, is string }

// maxNames bounds what a masker keeps in mind. What comes later is masked
// without a number, and only where it shows itself.
const maxNames = 20000

// New makes a masker. A diagnosis reads some words and writes others: a name
// that is one of either is masked only where it stands as a name, and folders and
// files whose names have one of the first in them stay.
func New(read, written Words) *Masker {
	return &Masker{read: read, written: written, names: map[string]string{}, count: map[string]int{}, spread: map[string][]alias{}}
}

// Words are words in lower case. Maskers share them.
type Words map[string]bool

// WordsOf are the words of some texts.
func WordsOf(texts []string) Words {
	out := Words{}
	for _, t := range texts {
		for _, w := range strings.FieldsFunc(strings.ToLower(t), func(r rune) bool { return !unicode.IsLetter(r) }) {
			out[w] = true
		}
	}
	return out
}

// Log is a log with all that is private masked, and without terminal codes.
func (m *Masker) Log(s string) string {
	return m.spreading(m.mask(bare(s)))
}

// bare is a text without terminal codes, which names would be hidden in.
func bare(s string) string {
	if strings.IndexByte(s, 0x1b) < 0 {
		return s
	}
	return codes().ReplaceAllString(s, "")
}

var codes = lazy("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b\n]*(?:\x07|\x1b\\\\))")

// Learn takes in the names of a text, so that they are masked wherever they
// stand in what [Masker.Text] gets later.
func (m *Masker) Learn(s string) { m.mask(bare(s)) }

// Text returns s with all that is private masked. Lines keep their number, and a
// text that was masked stays as it is.
func (m *Masker) Text(s string) string { return m.spreading(m.mask(s)) }

// mask finds names by where they stand and how they look.
func (m *Masker) mask(s string) string {
	s = maskPrompts(s, m.name)
	s = maskBlocks(s, m.name)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = m.line(line)
	}
	return strings.Join(lines, "\n")
}

func (m *Masker) line(s string) string {
	if before, after, ok := strings.Cut(strings.TrimRight(s, "\r"), "\r"); ok { // a progress bar
		return m.line(before) + "\r" + m.line(after+s[len(strings.TrimRight(s, "\r")):])
	}
	t := glanceAt(s)
	s = apply(promptRules(), t, s, m.name)
	s = apply(credentialRules(), t, s, m.name)
	if has := digrams.Of(s); secretSigns.in(s, &has) {
		s = maskNamed(s, m.name)
	}
	s = maskTokens(s, m.name)
	s = apply(personalRules(), t, s, m.name)
	s = m.maskPaths(t, s)
	return m.maskFiles(t, s)
}

// known reports a name that is made of words that a diagnosis looks for.
func (m *Masker) known(x string) bool {
	parts := strings.FieldsFunc(strings.ToLower(x), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(parts, func(p string) bool { return len(p) > 3 && m.read[p] })
}

// word reports what is a word of the field, and no name everywhere.
func (m *Masker) word(x string) bool {
	lower := strings.ToLower(x)
	return m.known(x) || m.read[lower] || m.written[lower] || common[lower] || slices.Contains(accounts, lower)
}

// name is the pseudonym of what was found.
func (m *Masker) name(kind, x string) string {
	if kind == "PROMPT" {
		return kind
	}
	key := strings.ToLower(x)
	if is, ok := m.names[key]; ok {
		return is // of a folder that is named after somebody, too
	}
	if len(m.names) >= maxNames {
		return kind
	}
	m.count[kind]++
	is := kind + strconv.Itoa(m.count[kind])
	m.names[key] = is
	if kind != "DIR" {
		m.learn(kind, x, is)
	}
	return is
}

// learn has a name masked everywhere, if it can be told from a word.
func (m *Masker) learn(kind, x, is string) {
	least := map[string]int{"USER": 3, "HOST": 4, "POD": 6, "FILE": 5, "KEY": 8, "ACCOUNT": 4, "DIR": 4}[kind]
	if least == 0 || len(x) < least || !distinct(kind, x) || m.word(x) {
		return
	}
	m.add(x, is)
	if first, _, ok := strings.Cut(x, "."); ok && kind == "HOST" && len(first) >= least && strings.ContainsAny(first, "0123456789-") && distinct(kind, first) && !m.word(first) {
		m.add(first, is)
	}
}

func (m *Masker) add(x, is string) {
	x = strings.ToLower(x)
	first := firstWord(x)
	if first == "" || slices.Contains(m.spread[first], alias{x, is}) {
		return
	}
	m.spread[first] = append(m.spread[first], alias{x, is})
	slices.SortStableFunc(m.spread[first], func(a, b alias) int { return len(b.text) - len(a.text) })
}

// distinct wants a letter, and of a key what no word has. A number is a figure
// wherever it stands.
func distinct(kind, x string) bool {
	letters := strings.ContainsFunc(x, unicode.IsLetter)
	if kind == "KEY" {
		return letters && (len(x) >= 14 || strings.ContainsAny(x, "0123456789"))
	}
	return letters && len(x) <= 100 && !version().MatchString(x)
}

var version = lazy(`^v?\d+(?:\.\d+)+`)

// spreading masks what was learned wherever it stands as a word of its own.
func (m *Masker) spreading(s string) string {
	if len(m.spread) == 0 {
		return s
	}
	var b strings.Builder
	last := 0
	for i := 0; i < len(s); {
		word := firstWord(s[i:])
		if word == "" {
			_, n := utf8.DecodeRuneInString(s[i:])
			i += n
			continue
		}
		end := i + len(word)
		for _, a := range m.spread[strings.ToLower(word)] {
			if n := len(a.text); i+n <= len(s) && strings.EqualFold(s[i:i+n], a.text) && firstWord(s[i+n:]) == "" && i+n > last {
				b.WriteString(s[last:i] + a.is)
				last, end = i+n, i+n
				break
			}
		}
		i = end
	}
	return b.String() + s[last:]
}

// firstWord is the run of letters and digits that a text begins with.
func firstWord(s string) string {
	n := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if n < 0 {
		return s
	}
	return s[:n]
}
