// Package render writes a report for people: as Markdown or as plain text. It
// is pure: no terminal, no colours, no clock.
package render

import (
	"fmt"
	"strconv"
	"strings"
)

// Document is a page in the few elements that every writer knows.
type Document []block

type block interface {
	markdown(w *writer)
	text(w *writer)
	html(w *writer)
}

type (
	heading struct {
		level int
		title inline
	}
	paragraph struct{ body inline }
	// list has bullets, or numbers from a first one on.
	list struct {
		items []inline
		from  int
	}
	// listing is text in a fence; lines are not wrapped.
	listing struct{ language, body string }
	// folded is a part of the page that its reader opens.
	folded struct {
		summary string
		blocks  Document
	}
)

// Layout is how a document is written.
type Layout struct {
	// Width in columns; 0 does not wrap.
	Width int
	// NoBreak indents the continued lines of lists by no-break spaces and
	// counts what will be seen instead of what is written: for renderers that
	// drop indentation and take the marks away, such as glamour.
	NoBreak bool
	// Heads lets a heading that is too wide go on in the next line, underlined as
	// only the first two levels can be: for what is read as it is and copied
	// nowhere.
	Heads bool
}

// underline makes a heading of the lines above it.
func underline(level int) string {
	if level == 1 {
		return "==="
	}
	return "---"
}

// Markdown writes the document as Markdown that is pleasant to read as it is.
func (d Document) Markdown(l Layout) string { return d.write(l, block.markdown) }

// Text writes the document without any marks.
func (d Document) Text(l Layout) string { return d.write(l, block.text) }

// words is about how many words a reader has before him.
func (d Document) words() int {
	n := 0
	for _, b := range d {
		switch b := b.(type) {
		case heading:
			n += b.title.count()
		case paragraph:
			n += b.body.count()
		case list:
			for _, item := range b.items {
				n += item.count()
			}
		case listing:
			n += len(strings.Fields(b.body))
		case folded:
			n += b.blocks.words()
		}
	}
	return n
}

func (in inline) count() int {
	n := 0
	for _, s := range in {
		n += strings.Count(strings.TrimSpace(s.text), " ") + 1
	}
	return n
}

func (d Document) write(l Layout, one func(block, *writer)) string {
	w := &writer{Layout: l}
	for i, b := range d {
		if i > 0 {
			w.WriteString("\n")
		}
		one(b, w)
	}
	return w.String()
}

type writer struct {
	Layout
	strings.Builder
}

// flow writes wrapped words, the first line after one prefix, the others
// after another.
func (w *writer) flow(words []word, first, rest string) {
	for i, line := range wrap(words, w.Layout, columns(first)) {
		if i == 0 {
			w.WriteString(first)
		} else {
			w.WriteString(rest)
		}
		w.WriteString(line + "\n")
	}
}

func (h heading) markdown(w *writer) {
	if w.Heads {
		if lines := wrap(unmistakable(h.title.words(true)), w.Layout, 0); len(lines) > 1 {
			w.WriteString(strings.Join(lines, "\n") + "\n" + underline(h.level) + "\n")
			return
		}
	}
	w.WriteString(strings.Repeat("#", h.level))
	for _, x := range h.title.words(true) {
		w.WriteString(" " + x.out)
	}
	w.WriteString("\n")
}

func (h heading) text(w *writer) {
	lines := wrap(h.title.words(false), w.Layout, 0)
	under := 0
	for _, line := range lines {
		under = max(under, columns(line))
		w.WriteString(line + "\n")
	}
	switch h.level {
	case 1:
		w.WriteString(strings.Repeat("=", under) + "\n")
	case 2:
		w.WriteString(strings.Repeat("-", under) + "\n")
	}
}

func (p paragraph) markdown(w *writer) { w.flow(unmistakable(p.body.words(true)), "", "") }
func (p paragraph) text(w *writer)     { w.flow(p.body.words(false), "", "") }

func (l list) markdown(w *writer) {
	for i, item := range l.items {
		mark := l.mark(i)
		rest := strings.Repeat(" ", len(mark))
		if w.NoBreak {
			rest += strings.Repeat("\u00a0", len(mark))
		}
		w.flow(unmistakable(item.words(true)), mark, rest)
	}
}

func (l list) text(w *writer) {
	for i, item := range l.items {
		mark := l.mark(i)
		w.flow(item.words(false), mark, strings.Repeat(" ", len(mark)))
	}
}

func (l list) mark(i int) string {
	if l.from == 0 {
		return "- "
	}
	return strconv.Itoa(l.from+i) + ". "
}

// unmistakable escapes a first word that would begin another block.
func unmistakable(words []word) []word {
	if len(words) > 0 {
		words[0].out = escapeStart(words[0].out)
	}
	return words
}

func (c listing) markdown(w *writer) {
	body := strings.Join(visibleLines(c.body), "\n")
	mark := fence(body)
	fmt.Fprintf(w, "%s%s\n%s\n%s\n", mark, language(c.language), body, mark)
}

// indent is what stands before a listing in plain text.
const indent = "    "

func (c listing) text(w *writer) {
	for _, line := range visibleLines(c.body) {
		w.WriteString(strings.TrimRight(indent+line, " ") + "\n")
	}
}
