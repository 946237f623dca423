package render

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
)

// Log is what a page shows of the log itself: its first lines and its last,
// one text where nothing is left out between them. GitHub takes 65,536
// characters in a comment, so the two are to have fewer than about 50,000.
type Log struct {
	Head, Tail string
	// Left is how many lines stand between the two.
	Left int
}

// GitHub writes a report for an issue or a comment there: the answer, the log
// folded, and in the last line the versions of what ran and of what wrote it. Report and log
// are to be redacted before. A log without text is left out.
func GitHub(r *diagnose.Report, log Log, versions []string, o Options) string {
	o.Layout = Layout{} // a line break within a paragraph is one in a comment
	page := Report(r, o)
	if text := log.text(r); text != "" {
		page = append(page, folded{fmt.Sprintf("The log, redacted (%s)", countLines(r.Input.Lines)), Document{listing{"text", text}}})
	}
	if len(versions) > 0 {
		page = append(page, paragraph{join(bold("Versions:"), prose(" "+strings.Join(versions, " · ")))})
	}
	return page.Markdown(o.Layout)
}

func countLines(lines int) string {
	if lines == 1 {
		return "1 line"
	}
	return thousands(float64(lines)) + " lines"
}

// text is the log with a line for what is left out, and what the failures in
// there said.
func (l Log) text(r *diagnose.Report) string {
	if strings.TrimSpace(l.Head+l.Tail) == "" || l.Left == 0 {
		return strings.TrimSpace(l.Head + l.Tail)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n[... %s left out ...]\n", strings.TrimRight(l.Head, "\n"), countLines(l.Left))
	for _, in := range r.Incidents {
		if in.Message != "" && !strings.Contains(l.Head+l.Tail, in.Message) {
			fmt.Fprintf(&b, "[line %d:] %s\n", in.Line, in.Message)
		}
	}
	return b.String() + l.Tail
}
