package ci

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/render"
	"github.com/oomdoc/oomdoc/rules/cause"
)

const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// The parts of SARIF 2.1.0 that are written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver driver `json:"driver"`
		} `json:"tool"`
		Results []result `json:"results"`
	}
	driver struct {
		Name           string `json:"name"`
		Version        string `json:"version,omitempty"`
		InformationURI string `json:"informationUri"`
		Rules          []rule `json:"rules"`
	}
	rule struct {
		ID               string  `json:"id"`
		Name             string  `json:"name"`
		ShortDescription message `json:"shortDescription"`
		FullDescription  message `json:"fullDescription"`
		Help             message `json:"help"`
		HelpURI          string  `json:"helpUri"`
	}
	message struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	result struct {
		RuleID          string            `json:"ruleId"`
		RuleIndex       int               `json:"ruleIndex"`
		Level           string            `json:"level"`
		Rank            float64           `json:"rank"`
		Message         message           `json:"message"`
		Locations       []location        `json:"locations"`
		Fingerprints    map[string]string `json:"partialFingerprints"`
		OccurrenceCount int               `json:"occurrenceCount"`
	}
	location struct {
		Physical physical `json:"physicalLocation"`
	}
	physical struct {
		Artifact artifact `json:"artifactLocation"`
		Region   region   `json:"region"`
	}
	artifact struct {
		URI string `json:"uri"`
	}
	region struct {
		Start   int     `json:"startLine"`
		End     int     `json:"endLine"`
		Snippet message `json:"snippet"`
	}
)

// SARIF writes reports as one run of SARIF 2.1.0: a rule for each cause, a
// result for each failure. The version is oomdoc's, "" where it is not known.
func SARIF(reports []*diagnose.Report, version string) ([]byte, error) {
	run := sarifRun{Results: []result{}}
	run.Tool.Driver = driver{Name: "oomdoc", Version: version, InformationURI: project, Rules: sarifRules()}
	for _, r := range reports {
		for i := range r.Incidents {
			run.Results = append(run.Results, sarifResult(&r.Incidents[i], r.Input.Name, run.Tool.Driver.Rules))
		}
	}
	out, err := json.MarshalIndent(sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode SARIF: %w", err)
	}
	return append(out, '\n'), nil
}

func sarifRules() []rule {
	var out []rule
	for _, r := range cause.All() {
		doc := r.Doc()
		out = append(out, rule{
			ID: r.ID, Name: pascal(r.ID), ShortDescription: told(r.Title), FullDescription: told(doc[0]),
			Help:    message{Text: told(strings.Join(doc, " ")).Text, Markdown: literal(strings.Join(doc, "\n\n"))},
			HelpURI: project + "/blob/main/docs/causes/" + r.ID + ".md",
		})
	}
	return out
}

func sarifResult(in *diagnose.Incident, file string, rules []rule) result {
	at := slices.IndexFunc(rules, func(x rule) bool { return x.ID == likeliest(in).ID })
	if at < 0 { // of a later version's report
		at = slices.IndexFunc(rules, func(x rule) bool { return x.ID == cause.Unknown })
	}
	start := max(in.Line, 1)
	where := physical{Artifact: artifact{URI: uri(file)}, Region: region{start, max(in.EndLine, start), told(in.Message)}}
	return result{
		RuleID: rules[at].ID, RuleIndex: at, Level: "error", Rank: 100 * likeliest(in).Confidence,
		Message:   message{Text: told(gist(in)).Text, Markdown: literal(render.Markdown(alone(in), render.Options{}))},
		Locations: []location{{where}},
		Fingerprints: map[string]string{
			"failure/v1": fmt.Sprintf("%x", sha256.Sum256([]byte(rules[at].ID+"\x00"+in.Framework+"\x00"+in.Message)))[:32],
		},
		OccurrenceCount: max(in.Count, 1),
	}
}

// told is a text of the report as a message.
func told(s string) message { return message{Text: literal(render.Plain(s))} }

// literal is text in which SARIF finds neither placeholders nor links
// (3.11.5 and 3.11.6 of the standard).
func literal(s string) string {
	return strings.NewReplacer("{", "{{", "}", "}}", "](", "] (").Replace(s)
}

// uri is where a log is, as far as its name says it. Viewers take a relative
// one from the root of their project.
func uri(file string) string {
	path := strings.ReplaceAll(render.Plain(file), `\`, "/")
	u := url.URL{Path: path}
	switch {
	case path == "":
		return "stdin"
	case len(path) > 2 && path[1] == ':' && path[2] == '/': // C:/logs
		u = url.URL{Scheme: "file", Path: "/" + path}
	case path[0] == '/':
		u.Scheme = "file"
	}
	return u.String()
}

// pascal is an ID as names of rules are written: ModelTooLarge.
func pascal(id string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(id, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
