package diagnose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Bounds of a saved report. One of 32 incidents, which is as many as a log
// gives, has a tenth of that.
const (
	maxReportBytes  = 8 << 20
	maxReportDepth  = 24
	maxReportValues = 200_000 // keys and values, all together
)

// bounded reads one JSON value and refuses it where it is beyond what a report
// can be, before anything is made of it.
func bounded(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxReportBytes+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxReportBytes {
		return nil, fmt.Errorf("it is larger than %d MiB", maxReportBytes>>20)
	}
	depth, values := 0, 0
	for d := json.NewDecoder(bytes.NewReader(raw)); ; values++ {
		t, err := d.Token()
		switch {
		case err != nil:
			return raw, nil // the end, or what decoding will say better
		case t == json.Delim('{'), t == json.Delim('['):
			depth++
		case t == json.Delim('}'), t == json.Delim(']'):
			depth--
		}
		if depth > maxReportDepth {
			return nil, fmt.Errorf("it is nested deeper than %d levels", maxReportDepth)
		}
		if values > maxReportValues {
			return nil, fmt.Errorf("it holds more than %d values", maxReportValues)
		}
	}
}

// AsSaved returns a copy of a report that was not made here and now, to be
// shown: it is marked as saved, and what was a command or code is text wherever
// this version would not give that step for what the report quotes of its log.
// The report can come from anybody, and so can the commands in it.
func (r *Report) AsSaved() *Report {
	out := *r
	out.Saved = true
	own := ownSteps(r)
	out.Incidents = slices.Clone(r.Incidents)
	if out.Incidents == nil {
		out.Incidents = []Incident{}
	}
	for i := range out.Incidents {
		in := &out.Incidents[i]
		in.Fixes = slices.Clone(in.Fixes)
		for k := range in.Fixes {
			steps := slices.Clone(in.Fixes[k].Steps)
			for n, s := range steps {
				if s.Kind != "text" && s.Kind != "ui" && !own[[2]string{s.Kind, s.Text}] {
					steps[n] = Step{Kind: "text", Text: s.Text, For: s.For, Applies: "adapt", Target: "text"}
				}
			}
			in.Fixes[k].Steps = steps
		}
	}
	return &out
}

// ownSteps are the steps that this version gives for the lines that a report
// quotes.
func ownSteps(r *Report) map[[2]string]bool {
	lines := map[int]string{}
	for _, in := range r.Incidents {
		for _, c := range in.Causes {
			for _, e := range c.Evidence {
				lines[e.Line] = e.Text
			}
		}
		for _, c := range in.Consequences {
			lines[c.Line] = c.Message
		}
		lines[in.Line] = in.Message
	}
	var log strings.Builder
	for _, n := range slices.Sorted(maps.Keys(lines)) {
		log.WriteString(lines[n] + "\n")
	}
	own := map[[2]string]bool{}
	for _, in := range Bytes([]byte(log.String())).Incidents {
		for _, fix := range in.Fixes {
			for _, s := range fix.Steps {
				own[[2]string{s.Kind, s.Text}] = true
			}
		}
	}
	return own
}
