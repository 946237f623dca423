package screen

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/chroma/v2/styles"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/render"
)

// grounds are backgrounds that terminals come with.
var grounds = map[Background]map[string]string{
	Dark: {
		"black": "#000000", "Windows": "#0c0c0c", "VS Code": "#1e1e1e", "One Dark": "#282c34", "Dracula": "#282a36",
		"Solarized": "#002b36", "Nord": "#2e3440", "Ubuntu": "#300a24", "Gruvbox": "#282828",
	},
	Light:   {"white": "#ffffff", "One Light": "#fafafa", "Solarized": "#fdf6e3", "Gruvbox": "#fbf1c7", "grey": "#f5f5f5"},
	Unknown: {"black": "#000000", "white": "#ffffff"},
}

const least = 4.5

func contrast(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }

func ofHex(t *testing.T, hex string) float64 {
	t.Helper()
	var c [3]uint8
	_, err := fmt.Sscanf(hex, "#%02x%02x%02x", &c[0], &c[1], &c[2])
	require.NoError(t, err, hex)
	return luminance([3]float64{float64(c[0]) / 255, float64(c[1]) / 255, float64(c[2]) / 255})
}

// assertReadable holds a colour, as a number or in hexadecimal, against every
// background of its kind.
func assertReadable(t *testing.T, c string, on Background, where string) {
	t.Helper()
	if n, err := strconv.Atoi(c); err == nil {
		require.True(t, n >= 16 && n < 256, "%s: %s is the user's own colour", where, c)
		c = color(n).hex()
	}
	for name, ground := range grounds[on] {
		assert.GreaterOrEqual(t, contrast(ofHex(t, c), ofHex(t, ground)), least, "%s: %s on %s (%s)", where, c, name, ground)
	}
}

// TestContrast computes the contrast of each colour of each style: own, of
// Markdown, of code.
func TestContrast(t *testing.T) {
	for on, p := range palettes {
		on := Background(on)
		own := reflect.ValueOf(p)
		for i := range own.NumField() {
			assertReadable(t, strconv.Itoa(int(own.Field(i).Uint())), on, own.Type().Field(i).Name)
		}
		eachColor(reflect.ValueOf(style(on)), "style", func(where, c string) { assertReadable(t, c, on, where) })
		code := styles.Get(theme(on))
		require.Equal(t, names[on], code.Name)
		for _, kind := range code.Types() {
			entry := code.Get(kind)
			assert.False(t, entry.Background.IsSet(), "%s", kind)
			if entry.Colour.IsSet() {
				assertReadable(t, entry.Colour.String(), on, kind.String())
			}
		}
	}
}

// eachColor visits the colours of glamour's style.
func eachColor(v reflect.Value, where string, visit func(where, color string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachColor(v.Elem(), where, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if f := v.Field(i); strings.HasSuffix(name, "Color") && f.Kind() == reflect.Pointer && !f.IsNil() {
				visit(where+"."+name, f.Elem().String())
				continue
			}
			eachColor(v.Field(i), where+"."+name, visit)
		}
	}
}

// TestPageColors: what comes out has no other colours than those, and text in
// them only: glamour has a style of its own for whatever ours leaves out.
func TestPageColors(t *testing.T) {
	report := &diagnose.Report{OOM: true, Incidents: []diagnose.Incident{{
		Headline: "Memory ran out", Line: 1,
		Causes: []diagnose.Cause{{Title: "A `cause`", Confidence: 0.9, Why: "Why."}},
		Fixes: []diagnose.Fix{{Title: "A fix", Steps: []diagnose.Step{
			{Kind: "python", Text: "import torch  # words\nfor i in range(3):\n    print(\"%s\\n\" % f(i), None, 0x1f, @x)\nclass A(B): pass"},
			{Kind: "shell", Text: "export X=\"$Y 1\" # words\nif true; then run --flag 3 'x' | tee >(cat); fi"},
			{Kind: "config", Text: "a: 1 # words\nb: [\"x\", *y]\n!!c: true"},
			{Kind: "modelfile", Text: "FROM x\nPARAMETER num_ctx 4096"},
		}}},
	}}}
	for on := range palettes {
		on := Background(on)
		out, err := Page(render.Markdown(report, render.Options{Full: true}), on)
		require.NoError(t, err)
		seen := map[string]bool{}
		for _, sgr := range colors.FindAllString(string(out), -1) {
			assert.NotRegexp(t, `[\[;](3[0-7]|4[0-7]|48|9[0-7]|10[0-7])[;m]`, strings.ReplaceAll(sgr, "38;5;", "38:5:"), "%q", sgr)
			if _, c, ok := strings.Cut(sgr, "38;5;"); ok {
				c, _, _ = strings.Cut(strings.TrimSuffix(c, "m"), ";")
				assertReadable(t, c, on, "page")
				seen[c] = true
			}
		}
		assert.GreaterOrEqual(t, len(seen), 4, "headings, strings, numbers, comments")
	}
}
