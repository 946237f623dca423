package parsers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/workshop/cputime"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// expressions returns every expression that a family gives to NewPattern, with
// where it stands. They are read out of the source: a list filled as patterns
// are declared would be one more thing that changes at run time.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	set := token.NewFileSet()
	paths, err := filepath.Glob("*/*.go")
	require.NoError(t, err)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if path == "lookalike/book.go" {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "NewPattern" || len(call.Args) != 1 {
				return true
			}
			out[set.Position(call.Pos()).String()] = literal(t, call.Args[0])
			return true
		})
	}
	raw, err := os.ReadFile("lookalike/troubles.txt")
	require.NoError(t, err)
	for n, line := range strings.Split(string(raw), "\n") {
		if key, expr, _ := strings.Cut(line, " "); key == "must" || key == "see" || key == "above" {
			out[fmt.Sprintf("lookalike/troubles.txt:%d", n+1)] = expr
		}
	}
	return out
}

// literal is the value of a string literal, or of several joined by "+".
func literal(t *testing.T, e ast.Expr) string {
	t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		require.NoError(t, err)
		return s
	case *ast.BinaryExpr:
		return literal(t, e.X) + literal(t, e.Y)
	}
	t.Fatalf("an expression that is no literal: %T", e)
	return ""
}

// worst is how long a pattern may take on its worst window, without a timeout:
// in a browser none would fire.
const worst = 50 * time.Millisecond

// TestPatternsOnTheirWorstInput: from each pattern texts are made that nearly
// match it over and over.
func TestPatternsOnTheirWorstInput(t *testing.T) {
	all := expressions(t)
	require.Greater(t, len(all), 150)
	for at, expr := range all {
		expr = text.Macros.Replace(expr)
		re, err := regexp2.Compile(expr, regexp2.ExplicitCapture)
		require.NoError(t, err, at)
		assertFast(t, re, windows(t, expr), at+": "+expr)
	}
}

// assertFast tries every window in short, and the hardest of them whole.
func assertFast(t *testing.T, re *regexp2.Regexp, windows []string, expr string) {
	t.Helper()
	match := func(s string) func() {
		return func() {
			_, err := re.FindStringMatch(s)
			assert.NoError(t, err, expr) // the limit of its stack
		}
	}
	short := map[string]time.Duration{}
	for _, w := range windows {
		short[w] = cputime.Of(match(w[:len(w)/8]))
	}
	slices.SortFunc(windows, func(a, b string) int { return int(short[b] - short[a]) })
	for _, w := range windows[:min(len(windows), 8)] {
		assert.Less(t, cputime.Least(worst, match(w)), worst, "%s on %.60q...", expr, w)
	}
}

// windows are texts of maxWindow bytes that are hard for an expression.
func windows(t *testing.T, expr string) []string {
	t.Helper()
	tree, err := syntax.Parse(readable(expr), syntax.Perl)
	require.NoError(t, err, expr)
	units := map[string]bool{}
	for repeat := 0; repeat <= countRepeats(tree); repeat++ {
		for _, any := range []rune{'a', '1', 0} {
			s := &sample{grow: repeat, any: any}
			s.add(tree)
			whole := s.text.String()
			units[whole] = true
			units[whole+"\x01"] = true
			units[strings.TrimSuffix(whole, lastRune(whole))] = true
			for _, cut := range s.cuts { // up to each repeat
				units[whole[:cut]] = true
			}
		}
	}
	for _, lit := range literalsOf(tree, nil) {
		units[lit] = true
		units[lit[:len(lit)-1]] = true
	}
	for _, s := range []string{"1", "1,", "1.", "a", ".", "\x01", "é", "1.0gib", "=", "("} {
		units[s] = true
	}
	var out []string
	for unit := range units {
		if unit == "" || len(unit) > text.MaxWindow {
			continue
		}
		out = append(out, strings.Repeat(unit, text.MaxWindow/len(unit)))
		fill := unit[len(unit)-1:]
		out = append(out, unit+strings.Repeat(fill, text.MaxWindow-len(unit)))
	}
	return out
}

func lastRune(s string) string {
	if s == "" {
		return ""
	}
	return s[len(s)-1:]
}

var backReference = regexp.MustCompile(`\\k<\w+>`)

var farRepeat = regexp.MustCompile(`\{(\d+),\d{4,}\}`) // Go's go to 1000

var lookaround = regexp.MustCompile(`\(\?<?[=!]`)

// readable makes an expression that Go's own parser reads: atomic groups become
// plain ones, what only looks around goes, a back reference is a digit.
func readable(expr string) string {
	expr = backReference.ReplaceAllString(strings.ReplaceAll(expr, "(?>", "(?:"), "1")
	expr = farRepeat.ReplaceAllString(expr, "{$1,1000}")
	for {
		m := lookaround.FindStringIndex(expr)
		if m == nil {
			return expr
		}
		depth, end := 0, m[0]
		for ; end < len(expr); end++ {
			switch expr[end] {
			case '\\':
				end++
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth == 0 {
				break
			}
		}
		expr = expr[:m[0]] + expr[end+1:]
	}
}

func countRepeats(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		n++
	}
	for _, sub := range re.Sub {
		n += countRepeats(sub)
	}
	return n
}

// sample writes a text that an expression matches. The repeat with the number
// grow goes as far as it may, the others stay short.
type sample struct {
	text strings.Builder
	grow int
	any  rune // for ".", 0 the last rune written
	seen int
	cuts []int
}

func (s *sample) add(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		s.text.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		s.text.WriteRune(s.pick(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		s.text.WriteRune(s.anyRune())
	case syntax.OpAlternate:
		s.add(re.Sub[s.grow%len(re.Sub)])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		s.repeat(re)
	default:
		for _, sub := range re.Sub {
			s.add(sub)
		}
	}
}

func (s *sample) repeat(re *syntax.Regexp) {
	least, most := 0, 1
	switch re.Op {
	case syntax.OpStar:
		most = 500
	case syntax.OpPlus:
		least, most = 1, 500
	case syntax.OpRepeat:
		if least, most = re.Min, re.Max; most < 0 {
			most = least + 500
		}
	}
	times := least
	if s.seen == s.grow {
		times = most
	}
	s.seen++
	s.cuts = append(s.cuts, s.text.Len())
	seen := s.seen
	for range times {
		s.seen = seen // the repeats inside have their own numbers once
		s.add(re.Sub[0])
		if s.text.Len() > text.MaxWindow {
			break
		}
	}
	s.seen = seen + countRepeats(re.Sub[0])
	s.cuts = append(s.cuts, s.text.Len())
}

func (s *sample) anyRune() rune {
	if s.any != 0 {
		return s.any
	}
	if text := s.text.String(); text != "" {
		return rune(text[len(text)-1])
	}
	return '1'
}

// pick takes what would go on best from a class: the rune for ".", if it is in
// it, else its first that can be printed.
func (s *sample) pick(ranges []rune) rune {
	want := s.anyRune()
	for i := 0; i+1 < len(ranges); i += 2 {
		if want >= ranges[i] && want <= ranges[i+1] {
			return want
		}
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i+1] >= '!' {
			return max(ranges[i], '!')
		}
	}
	return ranges[0]
}

// literalsOf lists the literals of an expression.
func literalsOf(re *syntax.Regexp, out []string) []string {
	if re.Op == syntax.OpLiteral && len(re.Rune) > 1 {
		out = append(out, string(re.Rune))
	}
	for _, sub := range re.Sub {
		out = literalsOf(sub, out)
	}
	return out
}

// TestPlain: what the makers of windows understand of an expression.
func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		`a(?!b(c)\))d`: "ad", `(?<!x)a`: "a", `(?>a+)b`: "(?:a+)b", `(?<name>a)(?=z)`: "(?<name>a)",
	} {
		assert.Equal(t, want, readable(in), fmt.Sprint(in))
	}
}
