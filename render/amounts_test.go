package render_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/render"
)

// printedAmount is a size with decimals: whole ones are settings and the sizes
// of cards.
var printedAmount = regexp.MustCompile(`(\d[\d,]*\.\d+) ?([KMGT]i?B)\b`)

// lackingAmount is what a page says was short.
var lackingAmount = regexp.MustCompile(`(\d[\d,.]* (?:bytes|[KMG]iB)) (?:short|is missing|was missing|was lacking)`)

// TestOneAmountOnce: of no number of an incident does a page give two amounts,
// two units or two roundings, and nothing but the ledger says what was short.
// What is quoted from the log stands as it was printed.
func TestOneAmountOnce(t *testing.T) {
	logs, err := filepath.Glob("../testdata/logs/*/*.log")
	require.NoError(t, err)
	require.NotEmpty(t, logs)
	for _, log := range logs {
		raw, err := os.ReadFile(log)
		require.NoError(t, err)
		r := diagnose.Bytes(raw)
		if len(r.Incidents) == 0 {
			continue
		}
		in := &r.Incidents[0]
		one, wide := &diagnose.Report{Incidents: []diagnose.Incident{*in}}, render.Layout{Width: 1 << 20}
		page := perParameters.ReplaceAllString(unquoted(render.Text(one, render.Options{Layout: wide})+render.Text(one, render.Options{Layout: wide, Full: true})), "")
		name := filepath.Base(log)
		for _, m := range lackingAmount.FindAllStringSubmatch(page, -1) {
			assert.Equal(t, in.Ledger["short"].String(), m[1], "%s: %s", name, m[0])
		}
		numbers := numbersOf(in)
		for _, m := range printedAmount.FindAllStringSubmatch(page, -1) {
			if of, text := sameNumber(numbers, m[0]); of != "" {
				t.Errorf("%s: %s is written as %s and as %s", name, of, text, m[0])
			}
		}
	}
}

// perParameters are rules of thumb, not amounts of a log.
var perParameters = regexp.MustCompile(`[0-9.]+ GB (?:a|for each) billion`)

// number is one of an incident: its bytes, and how it is written.
type number struct {
	bytes int64
	text  string
}

// numbersOf are an incident's numbers by their names.
func numbersOf(in *diagnose.Incident) map[string]number {
	out := map[string]number{}
	for name, e := range in.Ledger {
		out[name] = number{e.Bytes, e.String()}
	}
	in.Figures.Sizes(func(key string, s *diagnose.Size) { out[key] = number{s.Bytes, s.String()} })
	return out
}

// sameNumber returns the number of which an amount is another spelling, "" where
// it is spelled like one of them or is none.
func sameNumber(numbers map[string]number, amount string) (name, text string) {
	got, ok := units.Parse(amount)
	if !ok {
		return "", ""
	}
	for _, n := range numbers {
		if n.text == amount {
			return "", ""
		}
	}
	for name, n := range numbers {
		if math.Abs(float64(n.bytes-got)) <= roundingOf(amount) {
			return name, n.text
		}
	}
	return "", ""
}

// roundingOf is half of the last digit of an amount, in bytes.
func roundingOf(amount string) float64 {
	m := printedAmount.FindStringSubmatch(amount)
	if m == nil {
		return 0
	}
	one, _ := units.Parse("1 " + m[2])
	_, decimals, _ := strings.Cut(m[1], ".")
	return float64(one) / math.Pow10(len(decimals)) / 2
}

// unquoted drops the lines of a page that quote the log.
func unquoted(page string) string {
	var out []string
	for line := range strings.Lines(page) {
		if !quotedLine.MatchString(line) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

var quotedLine = regexp.MustCompile(`^\s*(?:line |> )?\d+ ?[|│]`)
