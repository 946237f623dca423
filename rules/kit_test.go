package rules

import (
	"cmp"
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/internal/workshop/paste"
	"github.com/oomdoc/oomdoc/parsers"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

// sample is what one program prints.
type sample struct {
	text string
	also []string // programs that it may prove besides
}

//go:embed testdata/samples.txtar
var sampleFile []byte

// samples are those of testdata/samples.txtar, a section a program.
func samples() map[string]sample {
	archive := txtar.Parse(sampleFile)
	out := map[string]sample{}
	for _, f := range archive.Files {
		s := sample{text: string(f.Data)}
		if rest, ok := strings.CutPrefix(s.text, "like: "); ok {
			names, body, _ := strings.Cut(rest, "\n")
			s = sample{text: body, also: strings.Fields(names)}
		}
		out[f.Name] = s
	}
	return out
}

// proved are the programs that a text proves, and those that it hints at.
func proved(set *parsers.Set, sample string) (sure, hinted []string) {
	facts := set.Parse(text.NewLog(clean.Lines(sample, 1)))
	for _, x := range facts.Failures {
		sure = append(sure, x.Framework)
	}
	for _, p := range facts.Programs {
		if p.Weight >= 2 {
			sure = append(sure, p.Name)
		}
		hinted = append(hinted, p.Name)
	}
	return sure, hinted
}

// TestKitProofs: each program is proved by what it prints, and by nothing that
// another one prints.
func TestKitProofs(t *testing.T) {
	set, all := parsers.New(Proofs(), Words()), samples()
	for _, p := range Programs() {
		if p.Name == "" {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			own, ok := all[p.Name]
			require.True(t, ok, "no sample of %s in testdata/samples.txtar", p.Name)
			sure, hinted := proved(set, own.text)
			if len(p.Proofs) == 0 && len(p.Hints) > 0 {
				sure = hinted
			}
			assert.Contains(t, sure, p.Name)
			for _, other := range sure {
				known := other == p.Name || other == "" || other == "other" || slices.Contains(own.also, other) || other == "pytorch"
				assert.True(t, known, "what %s prints proves %s", p.Name, other)
			}
		})
	}
	assert.Len(t, all, len(byName())-1, "a sample of a program that does not exist")
}

// optionNames are options of a command line and variables of an environment.
var optionNames = regexp.MustCompile(`--[a-zA-Z][\w-]+|\b[A-Z]{3}[A-Z0-9]*(?:_[A-Z0-9]+)+\b`)

// TestKitSources: each option that a program's steps name is defined by an
// upstream file that its literal names.
func TestKitSources(t *testing.T) {
	for _, p := range Programs() {
		known := map[string]bool{"--upgrade": true, "--sort": true} // of pip and ps
		for _, q := range append([]*program.Program{p}, p.Like...) {
			for _, options := range q.Sources {
				for _, o := range strings.Fields(options) {
					known[o] = true
				}
			}
		}
		c := &ledger.Case{Facts: &fact.Facts{}, Framework: p.Name, Stack: []string{p.Name}, Phase: "unknown"}
		for id, steps := range p.Steps {
			for _, s := range steps(c) {
				for _, o := range optionNames.FindAllString(s.Text, -1) {
					assert.True(t, known[o], "%s: %s names %s, and no source does", cmp.Or(p.Name, "a family"), id, o)
				}
			}
		}
	}
}

// TestKitSteps: every step of a program parses in its language.
func TestKitSteps(t *testing.T) {
	for _, p := range Programs() {
		c := &ledger.Case{Facts: &fact.Facts{}, Framework: p.Name, Stack: []string{p.Name}, Phase: "unknown"}
		for id, steps := range p.Spelled() {
			for _, s := range steps(c) {
				switch s.Kind {
				case "shell", "env":
					assert.NoError(t, paste.Shell(s.Text, "\x00"), "%s: %s", p.Name, id)
				case "python":
					assert.NoError(t, paste.Python(s.Text, "\x00"), "%s: %s", p.Name, id)
				}
			}
		}
	}
}
