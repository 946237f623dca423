package cli

import (
	"cmp"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/build"
	"github.com/oomdoc/oomdoc/render"
	"github.com/oomdoc/oomdoc/render/ci"
)

// outputs are the values of --format: for people, for programs, and for where
// answers go.
var outputs = []string{"markdown", "text", "json", "github", "html", "sarif", "junit", "gha"}

// export writes reports in a format that knows no terminal; ok is false for
// the others.
func (s *session) export(reports []*diagnose.Report, o *options) (out []byte, ok bool, err error) {
	page := render.Options{Brief: o.brief, Full: o.full}
	switch o.format {
	case "json":
		out, err = asJSON(reports)
	case "github":
		out = s.github(reports, page)
	case "html":
		out = []byte(render.HTML(reports, page))
	case "sarif":
		out, err = ci.SARIF(reports, build.Number())
	case "junit":
		out, err = ci.JUnit(reports)
	case "gha":
		out = []byte(ci.Commands(reports))
	default:
		return nil, false, nil
	}
	if err != nil {
		return nil, true, trouble("%v", err)
	}
	return out, true, nil
}

// masked are the reports to be written: what goes to GitHub is always masked.
func (s *session) masked(reports []*diagnose.Report) []*diagnose.Report {
	if s.redactor == nil {
		return reports
	}
	out := make([]*diagnose.Report, len(reports))
	for i, r := range reports {
		out[i] = s.redactor.Report(r)
		if log := s.logs[r]; log != nil {
			s.logs[out[i]] = log
		}
	}
	return out
}

func (s *session) github(reports []*diagnose.Report, page render.Options) []byte {
	var out []byte
	for i, r := range reports {
		if i > 0 {
			out = append(out, '\n')
		}
		if len(reports) > 1 {
			page.Name = cmp.Or(r.Input.Name, "standard input")
		}
		var log render.Log
		if kept := s.logs[r]; kept != nil {
			log = kept.log(r.Input.Lines)
			log.Head, log.Tail = string(s.redactor.Log([]byte(log.Head))), string(s.redactor.Log([]byte(log.Tail)))
		}
		versions := append(versionsIn(log.Head+log.Tail), "oomdoc "+build.String())
		out = append(out, render.GitHub(r, log, versions, page)...)
	}
	return out
}
