package ci

import (
	"encoding/xml"
	"fmt"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/render"
)

// The parts of JUnit's XML that are written: those that Jenkins, GitLab and
// others agree on.
type (
	testSuites struct {
		XMLName  xml.Name    `xml:"testsuites"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Suites   []testSuite `xml:"testsuite"`
	}
	testSuite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Cases    []testCase `xml:"testcase"`
	}
	testCase struct {
		Name    string   `xml:"name,attr"`
		Class   string   `xml:"classname,attr"`
		Failure *failure `xml:"failure"`
	}
	failure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",cdata"`
	}
)

// JUnit writes reports as test results: a suite for each log, in it a failed
// test for each failure, or one that passed. There are no times in it: it says
// what a log holds, not when it was read.
func JUnit(reports []*diagnose.Report) ([]byte, error) {
	all := testSuites{Name: "oomdoc"}
	for _, r := range reports {
		suite := testSuite{Name: render.Plain(r.Input.Name)}
		if suite.Name == "" {
			suite.Name = "standard input"
		}
		for i := range r.Incidents {
			suite.Cases = append(suite.Cases, failedCase(&r.Incidents[i]))
			suite.Failures++
		}
		if len(suite.Cases) == 0 {
			suite.Cases = []testCase{{Name: "no out-of-memory failure", Class: "oomdoc"}}
		}
		suite.Tests = len(suite.Cases)
		all.Tests, all.Failures = all.Tests+suite.Tests, all.Failures+suite.Failures
		all.Suites = append(all.Suites, suite)
	}
	out, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode JUnit's XML: %w", err)
	}
	return append([]byte(xml.Header), append(out, '\n')...), nil
}

func failedCase(in *diagnose.Incident) testCase {
	return testCase{
		Name: fmt.Sprintf("line %d", in.Line), Class: "oomdoc." + render.Plain(likeliest(in).ID),
		Failure: &failure{
			Type: render.Plain(likeliest(in).ID), Message: headline(in),
			Text: "\n" + render.Text(alone(in), render.Options{Layout: render.Layout{Width: 80}}),
		},
	}
}
