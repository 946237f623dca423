package parsers

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
	"github.com/oomdoc/oomdoc/rules"
)

var oneParser = flag.String("parser", "", "name of the parser that FuzzParser runs; by default each that a text leads to")

// whole is the set that programs use.
var whole = New(rules.Proofs(), rules.Words())

// FuzzParser feeds anything to one parser alone: no panic, and facts that keep
// within their log. Its seeds are the lines around a parser's own keywords in
// the test logs, so that a change of a byte seldom misses it.
func FuzzParser(f *testing.F) {
	all := whole.all
	chosen := func(i int) bool { return *oneParser == "" || all[i].Name == *oneParser }
	some := false
	for i, texts := range seeds(f) {
		if chosen(i) {
			some = true
			for _, text := range texts {
				f.Add(text)
			}
		}
	}
	require.True(f, some, "there is no parser %q", *oneParser)
	f.Fuzz(func(t *testing.T, pasted string) {
		l := text.NewLog(clean.Lines(strings.ToValidUTF8(pasted, "\ufffd"), 1))
		for i, hits := range whole.hitsByParser(l, whole.find().search.All(l.Squeezed()), &fact.Facts{}) {
			if len(hits) > 0 && chosen(i) {
				facts := &fact.Facts{}
				all[i].Parse(l, hits, facts)
				checkFacts(t, l, facts)
			}
		}
	})
}

// Bounds on the seeds of one parser: a corpus of a thousand would keep a fuzzer
// busy with reading it.
const (
	seedsOfParser = 24
	seedLines     = 3 // before and after a keyword
)

// seeds cuts pieces of the test logs for every parser: around the first hit of
// each of its keywords.
func seeds(f *testing.F) [][]string {
	f.Helper()
	out := make([][]string, len(whole.all))
	paths, err := filepath.Glob("../testdata/logs/*/*.log")
	require.NoError(f, err)
	seen := map[[2]int]bool{} // parser, keyword
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		require.NoError(f, err)
		physical := strings.SplitAfter(string(raw), "\n")
		l := text.NewLog(clean.Lines(strings.ToValidUTF8(string(raw), "\ufffd"), 1))
		for i, hits := range whole.hitsByParser(l, whole.find().search.All(l.Squeezed()), &fact.Facts{}) {
			for _, h := range hits {
				key := [2]int{i, h.Word}
				if seen[key] || len(out[i]) >= seedsOfParser {
					continue
				}
				seen[key] = true
				line := l.Line(h.At) - 1
				out[i] = append(out[i], strings.Join(physical[max(line-seedLines, 0):min(line+seedLines+1, len(physical))], ""))
			}
		}
	}
	return out
}

// checkFacts holds facts to what rules rely on.
func checkFacts(t *testing.T, l *text.Log, f *fact.Facts) {
	t.Helper()
	last := 0
	for _, line := range l.Lines {
		last = max(last, line.Number)
	}
	for _, x := range f.Failures {
		assert.NotEmpty(t, x.Kind)
		assert.LessOrEqual(t, 0, x.At)
		assert.Less(t, x.At, x.End)
		assert.LessOrEqual(t, x.End, len(l.Squeezed()))
		assert.LessOrEqual(t, x.Line, x.EndLine)
		assert.NotEmpty(t, x.Message, x.Kind)
	}
	walk(reflect.ValueOf(f).Elem(), "Facts", func(path string, v reflect.Value) {
		switch {
		case v.Kind() == reflect.String:
			assert.True(t, utf8.ValidString(v.String()), "%s: %q", path, v.String())
		case strings.HasSuffix(path, "Line"):
			assert.True(t, v.Int() >= 0 && v.Int() <= int64(last), "%s: %d of %d", path, v.Int(), last)
		case strings.HasSuffix(path, ".Bytes"):
			assert.True(t, v.Int() > -1<<62 && v.Int() < 1<<62, "%s: %d", path, v.Int())
		case v.Kind() == reflect.Float64:
			assert.False(t, math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0), "%s: %v", path, v.Float())
		}
	})
}

// walk visits every string and number of a value.
func walk(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), path, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), path, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	case reflect.String, reflect.Int, reflect.Int64, reflect.Float64:
		visit(path, v)
	}
}

// TestParserNames: a name chooses one parser. bench/fuzz.sh reads them here.
func TestParserNames(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range whole.all {
		assert.NotEmpty(t, p.Name)
		assert.False(t, seen[p.Name], p.Name)
		seen[p.Name] = true
		t.Log(p.Name)
	}
}
