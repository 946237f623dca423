package ci_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/render/ci"
	"github.com/oomdoc/oomdoc/rules/cause"
)

var (
	sarifSchema = flag.String("sarif-schema", "", "validate against this copy of OASIS's sarif-schema-2.1.0.json")
	junitXSD    = flag.String("junit-xsd", "", "validate against this copy of Jenkins' junit-10.xsd, with xmllint")
)

// attacks are what a hostile log may hold, with what it must not become.
var attacks = []string{
	"\x1b[31mred\x1b[0m \x1b]52;c;aGVsbG8=\x07", "a\r\n::stop-commands::x", "%0A::error::x", "::set-output name=a::b\n::add-mask::x", "##[error]x", "a,b:c;d=e",
	"]]> <!-- x --> <!DOCTYPE x> &lt; \" '", "</failure></testcase>", "\x00\x0b\ufffe\uffff", "a\xff\xfeb", "{0} {{1}} {x}", "[free memory](https://evil.example) [1](1)",
	"../../etc/passwd", `C:\logs\a b.log`, "file:///x?y#z", "%2e%2e/x", "a\u202eb\u2066", "\"},{\"", "\u2028\u2029",
}

func hostile(s string) *diagnose.Report {
	size := &diagnose.Size{Bytes: 1 << 30, Text: s, Line: 1}
	step := diagnose.Step{Kind: "shell", Text: s}
	in := diagnose.Incident{
		Framework: s, Stack: []string{s}, Line: 3, EndLine: 2, Message: s, Headline: s, Summary: s, Figures: diagnose.Figures{Requested: size},
		Causes: []diagnose.Cause{{ID: s, Title: s, Confidence: 0.5, Why: s}}, Fixes: []diagnose.Fix{{ID: s, Title: s, Steps: []diagnose.Step{step}}},
	}
	known := in
	known.Causes = []diagnose.Cause{{ID: cause.HostMemory, Confidence: 1}}
	return &diagnose.Report{OOM: true, Input: diagnose.Input{Name: s}, Incidents: []diagnose.Incident{in, known, {}}}
}

// reports are those of all logs of the test data, hostile ones, and one of
// nothing.
func reports(t *testing.T) map[string][]*diagnose.Report {
	t.Helper()
	out := map[string][]*diagnose.Report{"none": {diagnose.Bytes([]byte("all is well\n"))}, "": nil}
	for _, a := range attacks {
		out[a] = []*diagnose.Report{hostile(a), hostile(a)}
	}
	paths, err := filepath.Glob("../testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	var all []*diagnose.Report
	for _, path := range paths {
		f, err := os.Open(path)
		require.NoError(t, err)
		r, err := diagnose.Decode(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		r.Input.Name = filepath.Base(path)
		all = append(all, r)
	}
	out["all"] = all
	return out
}

// sarif is what is held against the standard by hand; -sarif-schema has the
// whole of it.
type sarif struct {
	Version string `json:"version"`
	Runs    []struct {
		Tool struct {
			Driver struct {
				Name, InformationURI string
				Rules                []struct {
					ID, Name, HelpURI string
					ShortDescription  struct{ Text string }
				}
			}
		}
		Results []struct {
			RuleID    string
			RuleIndex int
			Level     string
			Rank      float64
			Message   struct{ Text, Markdown string }
			Locations []struct {
				PhysicalLocation struct {
					ArtifactLocation struct{ URI string }
					Region           struct{ StartLine, EndLine int }
				}
			}
			OccurrenceCount int
		}
	}
}

func TestSARIF(t *testing.T) {
	for name, list := range reports(t) {
		out, err := ci.SARIF(list, "1.2.3")
		require.NoError(t, err)
		assertPlain(t, string(out))
		validSARIF(t, out)
		var log sarif
		require.NoError(t, json.Unmarshal(out, &log))
		require.Equal(t, "2.1.0", log.Version)
		require.Len(t, log.Runs, 1)
		run := log.Runs[0]
		require.Len(t, run.Tool.Driver.Rules, len(cause.All()), "one rule a cause")
		incidents := 0
		for _, r := range list {
			incidents += len(r.Incidents)
		}
		require.Len(t, run.Results, incidents, name)
		for _, r := range run.Results {
			assert.Equal(t, run.Tool.Driver.Rules[r.RuleIndex].ID, r.RuleID)
			assert.Equal(t, "error", r.Level)
			assert.NotEmpty(t, r.Message.Text)
			assert.NotRegexp(t, `\]\(`, r.Message.Text, "a link")
			assert.NotRegexp(t, `(^|[^{])(\{\{)*\{[^{]`, r.Message.Text, "a placeholder")
			assert.Positive(t, r.OccurrenceCount)
			at := r.Locations[0].PhysicalLocation
			assert.Positive(t, at.Region.StartLine)
			assert.GreaterOrEqual(t, at.Region.EndLine, at.Region.StartLine)
			u, err := url.Parse(at.ArtifactLocation.URI)
			require.NoError(t, err)
			assert.NotEmpty(t, at.ArtifactLocation.URI)
			assert.Contains(t, []string{"", "file"}, u.Scheme, at.ArtifactLocation.URI)
			assert.Empty(t, u.RawQuery+u.Fragment+u.Host)
		}
	}
}

func validSARIF(t *testing.T, out []byte) {
	t.Helper()
	if *sarifSchema == "" {
		return
	}
	schema, err := jsonschema.NewCompiler().Compile(*sarifSchema)
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
	require.NoError(t, err)
	assert.NoError(t, schema.Validate(doc))
}

func TestSARIFNamesFiles(t *testing.T) {
	for name, want := range map[string]string{
		"": "stdin", "a.log": "a.log", "logs/a b.log": "logs/a%20b.log", "/var/log/x": "file:///var/log/x", `C:\logs\x.log`: "file:///C:/logs/x.log", "a:b": "./a:b", "x?y#z%": "x%3Fy%23z%25",
	} {
		out, err := ci.SARIF([]*diagnose.Report{{Input: diagnose.Input{Name: name}, Incidents: []diagnose.Incident{{Line: 1}}}}, "")
		require.NoError(t, err)
		var log sarif
		require.NoError(t, json.Unmarshal(out, &log))
		assert.Equal(t, want, log.Runs[0].Results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI)
	}
}

// TestJUnit: the XML is well formed, and its counts are those of its cases.
func TestJUnit(t *testing.T) {
	type suite struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Cases    []struct {
			Name    string `xml:"name,attr"`
			Failure []struct {
				Type string `xml:"type,attr"`
				Text string `xml:",chardata"`
			} `xml:"failure"`
		} `xml:"testcase"`
	}
	var all struct {
		Tests    int     `xml:"tests,attr"`
		Failures int     `xml:"failures,attr"`
		Suites   []suite `xml:"testsuite"`
	}
	for name, list := range reports(t) {
		out, err := ci.JUnit(list)
		require.NoError(t, err)
		assertPlain(t, string(out))
		assertElements(t, out)
		validJUnit(t, out)
		all.Suites = nil
		require.NoError(t, xml.Unmarshal(out, &all), "%s", out)
		require.Len(t, all.Suites, len(list), name)
		tests, failures := 0, 0
		for i, s := range all.Suites {
			assert.NotEmpty(t, s.Name)
			assert.Len(t, s.Cases, s.Tests)
			assert.Equal(t, len(list[i].Incidents), s.Failures)
			tests, failures = tests+s.Tests, failures+s.Failures
			for _, c := range s.Cases {
				assert.LessOrEqual(t, len(c.Failure), 1)
				assert.NotEmpty(t, c.Name)
			}
		}
		assert.Equal(t, tests, all.Tests)
		assert.Equal(t, failures, all.Failures)
	}
}

// assertElements: no log can make an element or an attribute.
func assertElements(t *testing.T, out []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(out)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		switch x := token.(type) {
		case xml.StartElement:
			assert.Contains(t, []string{"testsuites", "testsuite", "testcase", "failure"}, x.Name.Local)
		case xml.Comment, xml.Directive:
			assert.Fail(t, "a comment or a directive")
		}
	}
}

func validJUnit(t *testing.T, out []byte) {
	t.Helper()
	if *junitXSD == "" {
		return
	}
	lint := exec.Command("xmllint", "--nonet", "--noout", "--schema", *junitXSD, "-")
	lint.Stdin = bytes.NewReader(out)
	said, err := lint.CombinedOutput()
	assert.NoError(t, err, "%s", said)
}

// annotation is a workflow command as GitHub's runner reads it.
var annotation = regexp.MustCompile(`^::(error|notice) ((?:file=[^,:]+,line=\d+,endLine=\d+,)?title=[^,:]+)::(.+)$`)

// TestCommands: each line is one command, and no log can make another.
func TestCommands(t *testing.T) {
	for name, list := range reports(t) {
		out := ci.Commands(list)
		assertPlain(t, out)
		want := 0
		for _, r := range list {
			want += max(len(r.Incidents), 1)
		}
		assert.Equal(t, want, strings.Count(out, "\n"), name)
		for line := range strings.Lines(out) {
			m := annotation.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			require.NotNil(t, m, line)
			assert.NotRegexp(t, `%(?:[^20]|2[^5C]|0[^AD])`, strings.ReplaceAll(m[2], "%3A", ""), "a percent sign is escaped")
			assert.NotRegexp(t, `%(?:[^20]|2[^5]|0[^AD])`, m[3], "a percent sign is escaped")
		}
	}
	r := diagnose.Bytes([]byte("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)"))
	assert.True(t, strings.HasPrefix(ci.Commands([]*diagnose.Report{r}), "::error title=oomdoc%3A PyTorch ran out of memory"), "a log without a name has no file")
}

// assertPlain: no control characters, none that change the direction of text.
func assertPlain(t *testing.T, s string) {
	t.Helper()
	bad := strings.IndexFunc(s, func(r rune) bool {
		return r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) || r == '\ufffe' || r == '\uffff')
	})
	if bad >= 0 {
		assert.Fail(t, "odd character", "%q", s[max(bad-10, 0):min(bad+10, len(s))])
	}
}

// FuzzCommands looks for text that makes a command of its own.
func FuzzCommands(f *testing.F) {
	for _, a := range attacks {
		f.Add(a)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := []*diagnose.Report{hostile(s)}
		for line := range strings.Lines(ci.Commands(r)) {
			require.Regexp(t, annotation, strings.TrimSuffix(line, "\n"))
		}
		out, err := ci.JUnit(r)
		require.NoError(t, err)
		require.NoError(t, xml.Unmarshal(out, new(struct{})), "%s", out)
	})
}
