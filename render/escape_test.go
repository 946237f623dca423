package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"

	"github.com/oomdoc/oomdoc/diagnose"
)

// attacks are what a hostile log may hold.
var attacks = []struct{ name, text string }{
	{"OSC 52", "\x1b]52;c;aGVsbG8=\x07 done"},
	{"OSC 52 with C1", "\u009d52;c;aGVsbG8=\u009c done"},
	{"colours", "\x1b[31mred\x1b[0m"},
	{"entity", "&#27;]52;c;aGVsbG8=&#7; &lt;b&gt; &amp;"},
	{"link", "[free memory](https://evil.example/x)"},
	{"reference", "[x]: https://evil.example \"y\""},
	{"image", "![x](https://evil.example/track.png)"},
	{"autolink", "<https://evil.example> www.evil.example https://evil.example/x me@evil.example"},
	{"mention", "@octocat fixes #1 and owner/repo#12"},
	{"script", "<script>alert(1)</script><img src=x onerror=alert(1)>"},
	{"comment", "<!-- hidden -->"},
	{"fence", "```\n# out\n```sh\nrm -rf ~\n```"},
	{"tildes", "~~~\nrm\n~~~ ~~gone~~"},
	{"long fence", "`````\n````\n``` x"},
	{"backticks", "`` ` ``` `"},
	{"odd backtick", "a ` b"},
	{"emphasis", "**bold** *it* __init__ _x_ ***"},
	{"heading", "# Title ## x"},
	{"setext", "title\n===\nother\n---"},
	{"list", "- a\n- b\n1. c\n2) d\n+ e"},
	{"ordered", "1. rm -rf"},
	{"quote", "> quoted"},
	{"table", "| a | b |\n|---|---|\n| c | d |"},
	{"rule", "--- *** ___"},
	{"bidi", "safe\u202egnp.exe\u2066\u2069"},
	{"zero width", "a\u200bb\u200d\ufeffc"},
	{"tag characters", "a\U000e0041b"},
	{"private use", "a\ue000b"},
	{"separators", "a\u2028b\u2029c\u0085d"},
	{"invalid UTF-8", "a\xff\xfeb"},
	{"backslashes", `\\ \* \<b> \` + "`"},
	{"html in code", "`<b>` `&lt;`"},
	{"carriage return", "good\rbad"},
}

// hostile puts a text into every field of a report.
func hostile(s string) *diagnose.Report {
	size := &diagnose.Size{Bytes: 0, Text: s, Line: 1}
	count := &diagnose.Count{Value: 3, Text: s, Line: 1}
	cause := diagnose.Cause{ID: s, Title: s, Confidence: 0.5, Why: s, Settles: s, Evidence: []diagnose.Evidence{{Line: 1, Text: s}}}
	fix := diagnose.Fix{ID: s, Title: s, Why: s, Tradeoff: s, Check: s, Next: s, Effect: &diagnose.Effect{Note: s, Basis: s}}
	for _, kind := range []string{"shell", "text", s} {
		fix.Steps = append(fix.Steps, diagnose.Step{Kind: kind, Text: s})
	}
	in := diagnose.Incident{
		Framework: s, Stack: []string{s}, Backend: s, Phase: s, Line: 1, EndLine: 2, Count: 2, Ranks: []string{s}, Message: s,
		Figures:  diagnose.Figures{Device: count, Requested: size, Total: size, Allocated: size, Utilization: count},
		Model:    &diagnose.Model{Name: s, Format: s},
		Causes:   []diagnose.Cause{cause, cause},
		Fixes:    []diagnose.Fix{fix, fix, fix, {Title: s, Steps: []diagnose.Step{{Kind: "shell", Text: s}}}},
		WontHelp: []diagnose.Useless{{ID: s, Title: s, Why: s}},
	}
	return &diagnose.Report{
		Incidents:  []diagnose.Incident{in, in},
		Lookalikes: []diagnose.Lookalike{{ID: s, Line: 1, Title: s, Advice: s}},
		Recovered:  []diagnose.Notice{{ID: s, Line: 1, Title: s}},
		Notes:      []string{s},
	}
}

// shape is a page's structure as GitHub's Markdown sees it: its blocks, and
// none of the elements that only an attack could have made.
func shape(t *testing.T, markdown string) []string {
	t.Helper()
	var blocks []string
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader([]byte(markdown)))
	require.NoError(t, ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n.Kind().String() {
		case "Link", "Image", "AutoLink", "RawHTML", "HTMLBlock", "Strikethrough", "Table", "TaskCheckBox", "ThematicBreak", "Blockquote", "CodeBlock":
			assert.Fail(t, "the page has a "+n.Kind().String(), "%s", markdown)
		case "Emphasis":
			assert.Equal(t, 2, n.(*ast.Emphasis).Level, "%s", markdown)
		}
		if n.Type() == ast.TypeBlock {
			blocks = append(blocks, n.Kind().String())
		}
		return ast.WalkContinue, nil
	}))
	return blocks
}

// harmless are plain words, as many and as long as those of a text, in as many
// lines.
func harmless(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		words := strings.Fields(lines[i])
		for k := range words {
			words[k] = strings.Repeat("w", len(words[k]))
		}
		lines[i] = strings.Join(words, " ")
	}
	return strings.Join(lines, "\n")
}

// TestAttacks: whatever stands in a report, the page keeps the structure that
// it has with harmless words, and no control character gets out.
func TestAttacks(t *testing.T) {
	for _, attack := range attacks {
		for _, width := range []int{0, 40, 80} {
			for _, kind := range []Options{{}, {Brief: true}, {Full: true}, {Terse: Tersest}} {
				for _, noBreak := range []bool{false, true} {
					t.Run(attack.name, func(t *testing.T) {
						o := kind
						o.Layout, o.Name = Layout{Width: width, NoBreak: noBreak}, attack.text
						page := Markdown(hostile(attack.text), o)
						assertClean(t, page)
						assertClean(t, Text(hostile(attack.text), o))
						o.Name = "harmless"
						assert.Equal(t, shape(t, Markdown(hostile(harmless(attack.text)), o)), shape(t, page), "%s", page)

						none := hostile(attack.text)
						none.Incidents = nil
						assertClean(t, Markdown(none, o))
						shape(t, Markdown(none, o))
					})
				}
			}
		}
	}
}

func assertClean(t *testing.T, page string) {
	t.Helper()
	bad := strings.IndexFunc(page, func(r rune) bool { return r != '\n' && r != '\u00a0' && odd(r) })
	if bad >= 0 {
		assert.Fail(t, "odd character", "%q in %q", page[bad:min(bad+4, len(page))], page)
	}
}

// TestProseSurvives: what a reader sees of a text is the text.
func TestProseSurvives(t *testing.T) {
	for _, s := range []string{
		"gpu_memory_utilization=0.9 * 24 [GiB] <b> a_b _c_ __init__", "12. is a number", "- dash", "# hash", "a & b &amp; c", `C:\Users\*`, "~40 GB ~~ x", "1 ` 2",
	} {
		var page bytes.Buffer
		md := Document{paragraph{prose(s)}}.Markdown(Layout{})
		require.NoError(t, goldmark.New(goldmark.WithRendererOptions(html.WithUnsafe())).Convert([]byte(md), &page))
		want := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
		assert.Equal(t, "<p>"+want+"</p>\n", page.String(), "from %q", md)
	}
}

// FuzzMarkdown looks for text that changes a page's structure.
func FuzzMarkdown(f *testing.F) {
	for _, a := range attacks {
		f.Add(a.text, 40)
	}
	o := Options{Layout: Layout{Width: 40}}
	f.Fuzz(func(t *testing.T, s string, width int) {
		if strings.TrimSpace(visible(strings.ReplaceAll(s, "`", ""))) == "" || width < 0 {
			t.Skip()
		}
		o := o
		o.Width = width % 200
		page := Markdown(hostile(s), o)
		assertClean(t, page)
		shape(t, page)
	})
}
