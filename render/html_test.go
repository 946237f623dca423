package render

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"

	"github.com/oomdoc/oomdoc/diagnose"
)

// elements are the page's as a browser sees them, each with its attributes, and
// all text of its body.
func elements(t *testing.T, page string) (list []string, told string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	var all strings.Builder
	for n := range root.Descendants() {
		switch n.Type {
		case html.ElementNode:
			name := n.Data
			for _, a := range n.Attr {
				name += " " + a.Key
			}
			list = append(list, name)
		case html.TextNode:
			if n.Parent.Data != "style" {
				all.WriteString(n.Data)
			}
		case html.CommentNode:
			assert.Fail(t, "the page has a comment", n.Data)
		}
	}
	return list, all.String()
}

// TestHTMLAttacks: a browser finds the same elements whatever stands in a
// report, no script, no picture and no link among them.
func TestHTMLAttacks(t *testing.T) {
	for _, attack := range attacks {
		for _, o := range []Options{{}, {Brief: true}, {Full: true}} {
			t.Run(attack.name, func(t *testing.T) {
				hurt := HTML([]*diagnose.Report{hostile(attack.text), hostile(attack.text)}, o)
				assertClean(t, hurt)
				got, _ := elements(t, hurt)
				safe := harmless(attack.text)
				want, _ := elements(t, HTML([]*diagnose.Report{hostile(safe), hostile(safe)}, o))
				assert.Equal(t, structure(want), structure(got), "%s", hurt)
				for _, e := range got {
					assert.NotRegexp(t, `^(script|img|a|iframe|object|embed|link|form|svg|base)\b|\bon|href|src`, e)
				}
			})
		}
	}
}

// structure leaves out what backticks of a log may make of words in a line.
func structure(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(e string) bool { return e == "code" || e == "strong" })
}

// TestHTMLShowsTheText: what a reader sees of a text is the text.
func TestHTMLShowsTheText(t *testing.T) {
	for _, s := range []string{`<b>a</b> & "b" 'c' &amp;`, "</code></pre><script>", "--> ]]> {{x}}"} {
		_, told := elements(t, HTML([]*diagnose.Report{hostile(s)}, Options{}))
		assert.Contains(t, told, s)
	}
}

var policy = regexp.MustCompile(`content="default-src 'none'; style-src '(sha256-[^']+)'; base-uri 'none'; form-action 'none'"`)

// TestHTMLPolicy: the browser may use the page's own style and nothing else.
func TestHTMLPolicy(t *testing.T) {
	page := HTML([]*diagnose.Report{hostile("x")}, Options{})
	allowed := policy.FindStringSubmatch(page)
	require.NotNil(t, allowed, "%s", page)
	_, rest, _ := strings.Cut(page, "<style>")
	css, _, _ := strings.Cut(rest, "</style>")
	hash := sha256.Sum256([]byte(css))
	assert.Equal(t, "sha256-"+base64.StdEncoding.EncodeToString(hash[:]), allowed[1])
	assert.NotContains(t, page, "style=", "the policy forbids it")
	assert.NotRegexp(t, `url\(|@import`, css)
	for line := range strings.Lines(strings.TrimSpace(css)) {
		assert.Regexp(t, `^(\.oomdoc|@media|html:has|\}$)`, line, "a notebook has other elements too")
	}
}

var folds = regexp.MustCompile(`^(<details>\n<summary>[^<>]*</summary>\n|</details>\n)$`)

// TestGitHubAttacks: a comment has the structure that it has with harmless
// words; the only HTML in it is the fold, and what is folded is one listing.
func TestGitHubAttacks(t *testing.T) {
	for _, attack := range attacks {
		t.Run(attack.name, func(t *testing.T) {
			page := comment(attack.text)
			assertClean(t, page)
			assert.Equal(t, commentShape(t, comment(harmless(attack.text))), commentShape(t, page), "%s", page)
		})
	}
}

func comment(s string) string {
	log := Log{Head: s + "\n</details>\n```\n", Tail: s + "\n", Left: 7}
	return GitHub(hostile(s), log, []string{"oomdoc 1.0", "vLLM 0.6"}, Options{})
}

func commentShape(t *testing.T, page string) []string {
	t.Helper()
	var blocks []string
	source := []byte(page)
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	require.NoError(t, ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.HTMLBlock:
			var raw strings.Builder
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				raw.Write(line.Value(source))
			}
			assert.Regexp(t, folds, raw.String())
		case *ast.Link, *ast.Image, *ast.AutoLink, *ast.RawHTML, *ast.Blockquote, *ast.ThematicBreak:
			assert.Fail(t, "the comment has a "+n.Kind().String(), page)
		}
		if n.Type() == ast.TypeBlock {
			blocks = append(blocks, n.Kind().String())
		}
		return ast.WalkContinue, nil
	}))
	return blocks
}

// TestReferences: words that GitHub would make references of are code.
func TestReferences(t *testing.T) {
	for _, s := range []string{"#12", "a/b#12", "GH-12", "(gh-7)", "@octocat"} {
		assert.Contains(t, Document{paragraph{prose("see " + s)}}.Markdown(Layout{}), "`"+s+"`")
	}
	assert.Equal(t, "high-12 x\n", Document{paragraph{prose("high-12 x")}}.Markdown(Layout{}))
}

// TestLogWithGap says how much is left out, and what the failures in there said.
func TestLogWithGap(t *testing.T) {
	r := &diagnose.Report{Input: diagnose.Input{Lines: 1200}, Incidents: []diagnose.Incident{{Line: 600, Message: "CUDA out of memory"}}}
	page := GitHub(r, Log{Head: "first\n", Tail: "last\n", Left: 1198}, nil, Options{})
	assert.Contains(t, page, "<summary>The log, redacted (1,200 lines)</summary>\n\n```text\nfirst\n[... 1,198 lines left out ...]\n[line 600:] CUDA out of memory\nlast\n```\n\n</details>\n")
	page = GitHub(r, Log{Head: "CUDA out of memory\n", Tail: "last\n", Left: 1198}, nil, Options{})
	assert.NotContains(t, page, "[line 600:]")
	assert.NotContains(t, GitHub(r, Log{}, nil, Options{}), "details")
}

// FuzzHTML looks for text that makes an element of its own.
func FuzzHTML(f *testing.F) {
	for _, a := range attacks {
		f.Add(a.text)
	}
	allowed := []string{
		"html lang", "head", "meta charset", "meta http-equiv content", "meta name content", "title", "style", "body", "main class", "h1", "h2", "h3", "h4", "p", "strong", "code", "pre", "ol start", "ul", "li", "details", "summary",
	}
	f.Fuzz(func(t *testing.T, s string) {
		page := HTML([]*diagnose.Report{hostile(s)}, Options{})
		assertClean(t, page)
		list, _ := elements(t, page)
		assert.Subset(t, allowed, list, "%q", s)
	})
}
