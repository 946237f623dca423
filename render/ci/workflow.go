package ci

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/render"
)

// Commands writes reports as workflow commands: an annotation of a GitHub job
// for each failure, a notice for a log without one. What stands in a log can
// neither end a command nor begin one.
func Commands(reports []*diagnose.Report) string {
	var b strings.Builder
	for _, r := range reports {
		for i := range r.Incidents {
			b.WriteString(command("error", r.Input.Name, &r.Incidents[i]))
		}
		if len(r.Incidents) == 0 {
			fmt.Fprintf(&b, "::notice title=oomdoc::%s\n", data(strings.TrimSpace(strings.TrimPrefix(render.Plain(r.Input.Name)+": no out-of-memory failure found", ": "))))
		}
	}
	return b.String()
}

func command(name, file string, in *diagnose.Incident) string {
	var properties []string
	if file = render.Plain(file); file != "" {
		properties = append(properties, "file="+property(file), fmt.Sprintf("line=%d", max(in.Line, 1)), fmt.Sprintf("endLine=%d", max(in.EndLine, in.Line, 1)))
	}
	properties = append(properties, "title="+property("oomdoc: "+headline(in)))
	text := render.Text(alone(in), render.Options{})
	return fmt.Sprintf("::%s %s::%s\n", name, strings.Join(properties, ","), data(strings.TrimSpace(text)))
}

// data is the text of a command, which ends with its line.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// property is a value before the text of a command.
func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
