// Package ci writes reports for what reads the results of automated runs:
// SARIF for code scanning, JUnit's XML for test reports, workflow commands for
// the log of a GitHub job. It is pure, and every text of a log is escaped for
// its target.
package ci

import (
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/render"
	"github.com/oomdoc/oomdoc/rules/cause"
)

// project is where the pages are that a reader of the results is sent to.
const project = "https://github.com/oomdoc/oomdoc"

// likeliest is the cause that stands first.
func likeliest(in *diagnose.Incident) diagnose.Cause {
	if len(in.Causes) == 0 {
		return diagnose.Cause{ID: cause.Unknown}
	}
	return in.Causes[0]
}

// alone is a report of one incident.
func alone(in *diagnose.Incident) *diagnose.Report {
	return &diagnose.Report{OOM: true, Incidents: []diagnose.Incident{*in}}
}

// headline is what happened on one line.
func headline(in *diagnose.Incident) string {
	if s := render.Plain(in.Headline); s != "" {
		return s
	}
	return "Memory ran out"
}

// gist is what happened and what to do first, in a few sentences.
func gist(in *diagnose.Incident) string {
	told := []string{headline(in) + "."}
	if s := render.Plain(in.Summary); s != "" {
		told = append(told, s)
	}
	if len(in.Fixes) > 0 {
		told = append(told, "First: "+strings.TrimRight(render.Plain(in.Fixes[0].Title), ".")+".")
	}
	return strings.Join(told, " ")
}
