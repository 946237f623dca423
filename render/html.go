package render

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
)

// look is scoped to .oomdoc, so that a notebook can take the page's body over.
//
//go:embed page.css
var look string

// HTML writes reports as one file: the answers, each with all that is known
// folded below. It has no script and asks for nothing: its policy lets the
// browser use the style that stands in it and nothing else. What a notebook
// shows in a cell is from "<style>" to "</main>".
func HTML(reports []*diagnose.Report, o Options) string {
	o.Layout = Layout{}
	var body strings.Builder
	for i, r := range reports {
		if i > 0 {
			body.WriteString("\n<hr>\n")
		}
		one := o
		if one.Name = ""; len(reports) > 1 {
			one.Name = named(r)
		}
		page := Report(r, one)
		if len(r.Incidents) > 0 && !o.Brief && !o.Full {
			all := one
			all.Name, all.Full = "", true
			page = append(page, folded{"All that is known", Report(r, all)[1:]}) // its heading stands above
		}
		body.WriteString(page.write(one.Layout, block.html))
	}
	hash := sha256.Sum256([]byte(look))
	return fmt.Sprintf(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>%s</title>
<style>%s</style>
</head>
<body>
<main class="oomdoc">
%s</main>
</body>
</html>
`, base64.StdEncoding.EncodeToString(hash[:]), markup(title(reports)), look, body.String())
}

// title is the page's in the browser's tab.
func title(reports []*diagnose.Report) string {
	if len(reports) == 1 && len(reports[0].Incidents) > 0 {
		return Plain(reports[0].Incidents[0].Headline) + " - oomdoc"
	}
	return "oomdoc"
}

// named is what a report among several is called.
func named(r *diagnose.Report) string {
	if r.Input.Name == "" {
		return "standard input"
	}
	return r.Input.Name
}

// markup is text that HTML shows as it is.
func markup(s string) string { return html.EscapeString(visible(s)) }

func (in inline) html() string {
	var b strings.Builder
	for _, s := range in {
		switch s.style {
		case code:
			b.WriteString("<code>" + markup(s.text) + "</code>")
		case strong:
			b.WriteString("<strong>" + markup(s.text) + "</strong>")
		default:
			b.WriteString(markup(s.text))
		}
	}
	return strings.TrimSpace(b.String())
}

func (h heading) html(w *writer) {
	fmt.Fprintf(w, "<h%d>%s</h%[1]d>\n", h.level, h.title.html())
}

func (p paragraph) html(w *writer) { w.WriteString("<p>" + p.body.html() + "</p>\n") }

func (l list) html(w *writer) {
	open, end := "<ul>\n", "</ul>\n"
	if l.from > 0 {
		open, end = fmt.Sprintf("<ol start=\"%d\">\n", l.from), "</ol>\n"
	}
	w.WriteString(open)
	for _, item := range l.items {
		w.WriteString("<li>" + item.html() + "</li>\n")
	}
	w.WriteString(end)
}

func (c listing) html(w *writer) {
	w.WriteString("<pre><code>")
	for _, line := range visibleLines(c.body) {
		w.WriteString(html.EscapeString(line) + "\n")
	}
	w.WriteString("</code></pre>\n")
}
