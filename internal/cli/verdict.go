package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/rules/cause"
)

// anyCause stands for every cause in --fail-on.
const anyCause = "any"

// answer writes what was asked for: nothing, the names of inputs with a failure,
// or the answers.
func (s *session) answer(reports []*diagnose.Report, o *options) error {
	switch {
	case o.quiet:
		return nil
	case o.list:
		var b strings.Builder
		for _, r := range reports {
			if r.OOM {
				b.WriteString(cmp.Or(r.Input.Name, "(standard input)") + "\n")
			}
		}
		return s.print([]byte(b.String()))
	case len(reports) == 0:
		return s.print([]byte("No out-of-memory failure found in any of the logs.\n"))
	}
	return s.write(reports, o)
}

// verdict is the exit code of what was read.
func verdict(reports []*diagnose.Report, o *options) error {
	oom := slices.ContainsFunc(reports, func(r *diagnose.Report) bool { return r.OOM })
	switch {
	case o.failOn != "" && failsOn(reports, o.causes()):
		return &exitError{code: codeFailOn}
	case oom || o.failOn != "":
		return nil
	}
	return errNothing
}

// failsOn reports an incident whose likeliest cause is one of those.
func failsOn(reports []*diagnose.Report, causes []string) bool {
	for _, r := range reports {
		for _, in := range r.Incidents {
			if slices.Contains(causes, anyCause) || len(in.Causes) > 0 && slices.Contains(causes, in.Causes[0].ID) {
				return true
			}
		}
	}
	return false
}

// causes are those of --fail-on.
func (o *options) causes() []string {
	return strings.FieldsFunc(strings.ReplaceAll(strings.ToLower(o.failOn), "-", "_"), func(r rune) bool { return r == ',' || r == ' ' })
}

// causeIDs are what --fail-on takes.
func causeIDs() []string {
	ids := []string{anyCause, cause.NotSaid.ID}
	for _, r := range cause.All() {
		ids = append(ids, r.ID)
	}
	return ids
}

func (o *options) checkFailOn() error {
	for _, id := range o.causes() {
		if !slices.Contains(causeIDs(), id) {
			return trouble("--fail-on %q is no cause%s; oomdoc explain lists them, any is all of them", id, meant(id, causeIDs()))
		}
	}
	return nil
}
