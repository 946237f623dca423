package diagnose

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/internal/workshop/paste"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
	"github.com/oomdoc/oomdoc/rules/step"
)

var poisonAll = flag.Bool("poison-all", false, "TestPoisonedSteps gives every poison to every log")

// marker is what a poison makes a file of.
const marker = "pwned"

// poisons are values that make such a file where something takes them for more
// than values.
var poisons = []string{
	"/m/a$(touch pwned)", "a`touch pwned`", "a'; touch pwned; '", `a"; touch pwned; "`, "a\ntouch pwned\n", "a & touch pwned &", "a | touch pwned", `%PATH% & touch pwned`, `^& touch pwned`, "a\u201d; touch pwned; \u201d", "x\u2019; touch pwned; \u2019",
	`C:\dir with blanks\"& touch pwned &"\`, `\\server\share\a' & touch pwned & '`, "a # $(touch pwned)", `"""` + "\ntouch pwned", "$pwned", "{pwned,x}", "~pwned", "a\\`touch pwned\\`", `a\"$(touch pwned)\"`, "%s$(touch pwned)%n", "a.gguf; touch pwned", "-x=$(touch pwned)",
}

// TestPoisonedSteps: whatever a log has in place of names, values and words of
// commands, its steps start nothing by it. What parsers would refuse is put in
// behind them.
func TestPoisonedSteps(t *testing.T) {
	paths, err := filepath.Glob("../testdata/logs/*/*.log")
	require.NoError(t, err)
	p := newPoisoned(t)
	for n, path := range paths {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		for k, poison := range poisons {
			if !*poisonAll && k != n%len(poisons) {
				continue
			}
			for way := range 4 { // added or put in place, as it is or on Windows
				facts := reader().Parse(text.NewLog(clean.Lines(valid(raw), 1)))
				if way >= 2 {
					facts.Signals = slices.DeleteFunc(facts.Signals, func(s fact.Signal) bool { return s.ID == fact.OnWSL })
					facts.Signals = append(facts.Signals, fact.Signal{ID: fact.OnWindows, Line: 1, Text: `C:\`})
				}
				poisonFacts(facts, poison, way%2 == 0)
				groups, _ := group(facts)
				for _, g := range groups {
					for _, fix := range incident(g, facts).Fixes {
						for _, s := range fix.Steps {
							p.check(path+": "+fix.ID, s)
						}
					}
				}
			}
		}
	}
	p.finish()
}

// poisonFacts puts a value in place of all that is a name, a value or a word of
// a log, or behind it.
func poisonFacts(f *fact.Facts, poison string, add bool) {
	put := func(s *string) {
		if *s == "" {
			return
		}
		if !add {
			*s = ""
		}
		*s += poison
	}
	for i := range f.Models {
		put(&f.Models[i].Name)
	}
	for i := range f.Settings {
		if strings.Trim(f.Settings[i].Value, "0123456789.") != "" || !add {
			put(&f.Settings[i].Value)
			for k := range f.Settings[i].Words {
				put(&f.Settings[i].Words[k])
			}
		}
		if f.Settings[i].Flag != "" {
			f.Settings[i].Flag += poison
		}
	}
	for i := range f.Signals {
		f.Signals[i].Text += " " + poison + " --option " + poison
	}
	for i := range f.Facts {
		if x := &f.Facts[i]; strings.Contains(x.Text, "\x00") {
			x.Text += "\x00" + poison + "\x00--option\x00" + poison + "\x00--joined=" + poison
		} else if x.Size == nil && x.Count == nil && x.Name != "alloc_conf_variable" { // of our own names
			put(&x.Text)
		}
	}
	for i := range f.Failures {
		f.Failures[i].Message += " " + poison
		for k := range f.Failures[i].Figures.OtherProcesses {
			put(&f.Failures[i].Figures.OtherProcesses[k].Name)
		}
	}
	for i := range f.Devices {
		put(&f.Devices[i].Name)
	}
	for _, list := range [][]fact.Process{f.Processes, f.Tasks} {
		for i := range list {
			put(&list[i].Name)
		}
	}
}

// poisoned checks steps, each text once, and counts what it checked.
type poisoned struct {
	*testing.T
	seen   map[string]bool
	count  map[string]int
	box    *paste.Sandbox
	python []string
}

func newPoisoned(t *testing.T) *poisoned {
	box, err := paste.NewSandbox(t.TempDir())
	require.NoError(t, err)
	return &poisoned{T: t, seen: map[string]bool{}, count: map[string]int{}, box: box}
}

// code is what stands in back-ticks of words that are told.
var code = regexp.MustCompile("``[^`]+``|`[^`]+`")

func (p *poisoned) check(where string, s step.Step) {
	key := s.Target + "\x00" + s.Kind + "\x00" + s.Text
	if p.seen[key] {
		return
	}
	p.seen[key] = true
	if s.Target == "yaml" { // none has a word of a log by now
		p.count["YAML"]++
		assert.NoError(p, yaml.Unmarshal([]byte(s.Text), new(any)), "%s: %s", where, s.Text)
	}
	if !strings.Contains(s.Text, marker) {
		return
	}
	p.count[s.Kind+" for "+s.Target]++
	where += ": " + s.Kind + " for " + s.Target
	switch s.Target {
	case "sh":
		p.shell(where, s.Text)
	case "cmd":
		if s.Kind == "config" { // a line of a batch file
			_, err := paste.Console{Batch: true}.Line(s.Text)
			assert.NoError(p, err, "%s: %s", where, s.Text)
			break
		}
		assert.NoError(p, paste.Typed(s.Text, marker), where)
	case "python":
		p.python = append(p.python, s.Text)
	case "text", "ui":
		for _, span := range code.FindAllString(s.Text, -1) {
			if span = strings.Trim(span, "`"); strings.Contains(span, marker) {
				p.count["told commands"]++
				p.shell(where, span)
				assert.NoError(p, paste.Typed(span, marker), where)
			}
		}
		if s.Kind == "config" {
			p.shell(where, "printf %s "+s.Text) // flags, which a shell or shlex takes apart
		}
	default:
		assert.Fail(p, "nothing checks this target", "%s: %s", where, s.Text)
	}
}

func (p *poisoned) shell(where, command string) {
	for _, shell := range paste.Shells() {
		assert.NoError(p, p.box.Run(shell, command, marker), where)
	}
	assert.NoError(p, paste.Shell(command, marker), where)
}

// readsPython finds the marker in code that is no literal, as Python itself
// parses it.
const readsPython = `
import ast, json, sys
for code in json.load(sys.stdin):
    for node in ast.walk(ast.parse(code)):
        for name, value in ast.iter_fields(node):
            if isinstance(value, str) and "pwned" in value and not isinstance(node, ast.Constant):
                sys.exit(f"{name} in {code}")
`

func (p *poisoned) finish() {
	p.Helper()
	for kind, n := range p.count {
		p.Logf("%4d %s", n, kind)
	}
	for _, kind := range []string{"shell for sh", "shell for cmd", "python for python", "config for sh", "config for cmd", "YAML"} {
		assert.Positive(p, p.count[kind], "no step with a word of a log: %s", kind)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		p.Log("there is no python3")
		return
	}
	quoted := make([]string, len(p.python))
	for i, s := range p.python {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	cmd := exec.Command(python, "-c", readsPython)
	cmd.Stdin = strings.NewReader("[" + strings.Join(quoted, ",") + "]")
	out, err := cmd.CombinedOutput()
	assert.NoError(p, err, "%s", out)
}
