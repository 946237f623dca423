package diagnose_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/workshop/paste"
	"github.com/oomdoc/oomdoc/render"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
)

// What every report promises, whatever the log was: held against spliced logs
// and a fuzzer's.

// checkReport holds the report of a log to all of it but the pages.
func checkReport(t *testing.T, raw []byte, r *diagnose.Report) bool {
	t.Helper()
	assert.Equal(t, len(r.Incidents) > 0, r.OOM)
	assert.EqualValues(t, len(raw), r.Input.Bytes)
	for _, in := range r.Incidents {
		checkIncident(t, r, in)
	}
	checkValues(t, reflect.ValueOf(r), "report", r.Input.Lines)
	first, err := json.Marshal(r)
	require.NoError(t, err)
	back, err := diagnose.Decode(bytes.NewReader(first))
	require.NoError(t, err)
	second, err := json.Marshal(back)
	require.NoError(t, err)
	// Compared as text: JSONEq would hide a byte that is no UTF-8.
	assert.Equal(t, string(first), string(second), "a report read back is another one")
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(first))
	require.NoError(t, err)
	assert.NoError(t, schemaOnce(t).Validate(document))
	return !t.Failed()
}

var theSchema struct {
	sync.Once
	*jsonschema.Schema
}

func schemaOnce(t *testing.T) *jsonschema.Schema {
	theSchema.Do(func() { theSchema.Schema = strictSchema(t) })
	return theSchema.Schema
}

func checkIncident(t *testing.T, r *diagnose.Report, in diagnose.Incident) {
	t.Helper()
	assert.Contains(t, frameworks, in.Framework)
	assert.NotEmpty(t, in.Message)
	assert.True(t, 1 <= in.Line && in.Line <= in.EndLine && in.EndLine <= r.Input.Lines, "lines %d to %d of %d", in.Line, in.EndLine, r.Input.Lines)
	checkCauses(t, in.Causes)
	for i, given := range in.Fixes {
		assert.Equal(t, i+1, given.Rank)
		assert.True(t, slices.ContainsFunc(in.Causes, func(c diagnose.Cause) bool { return c.ID == given.Addresses }), "%s addresses %s", given.ID, given.Addresses)
		assert.Contains(t, fix.Fixes(), given.ID)
		assert.NotEmpty(t, given.Steps, given.ID)
		for _, step := range given.Steps {
			checkStep(t, given.ID, step)
		}
		if e := given.Effect; e != nil {
			enough := e.NeedBytes <= e.HaveBytes
			if e.Counted != "" {
				enough = e.NeedCount <= e.HaveCount
			}
			assert.Equal(t, enough, e.Fits, "%s: %+v", given.ID, e)
			assert.GreaterOrEqual(t, e.NeedBytes, int64(0), "%s: %+v", given.ID, e)
		}
	}
	for _, useless := range in.WontHelp {
		assert.False(t, slices.ContainsFunc(in.Fixes, func(f diagnose.Fix) bool { return f.ID == useless.ID }), "%s helps and won't help", useless.ID)
		assert.NotEmpty(t, useless.Why, useless.ID)
	}
	in.Figures.Sizes(func(key string, s *diagnose.Size) {
		assert.Less(t, s.Bytes, int64(1)<<62, key) // a number that was no size is kept as printed; sums stay in range
		assert.True(t, s.Bytes >= 0 || key == "kv_available" || key == "non_torch", "%s is %d", key, s.Bytes)
		assert.NotEmpty(t, s.Text, key)
	})
	in.Figures.Counts(func(key string, c *diagnose.Count) { assert.NotEmpty(t, c.Text, key) })
	for _, p := range in.Figures.OtherProcesses {
		assert.GreaterOrEqual(t, p.Bytes, int64(0))
	}
}

// frameworks are the names that a report may use.
var frameworks = strings.Fields(`pytorch transformers vllm sglang tgi tensorrt-llm llama.cpp ollama koboldcpp lm-studio text-generation-webui exllama comfyui a1111
	diffusers deepspeed jax tensorflow cupy onnxruntime mlx candle ray numpy triton-server slurm linux-oom-killer kubernetes windows other`)

func checkCauses(t *testing.T, causes []diagnose.Cause) {
	t.Helper()
	assert.NotEmpty(t, causes)
	sum := 0.0
	for i, c := range causes {
		sum += c.Confidence
		assert.NotEmpty(t, c.Why, c.ID)
		assert.True(t, slices.ContainsFunc(cause.All(), func(r cause.Rule) bool { return r.ID == c.ID }), c.ID)
		if i > 0 {
			assert.LessOrEqual(t, c.Confidence, causes[i-1].Confidence)
		}
		for _, e := range c.Evidence {
			assert.NotEmpty(t, e.Text, c.ID)
			assert.Positive(t, e.Line, c.ID)
		}
	}
	assert.LessOrEqual(t, sum, 1.05)
}

// checkStep: a step can be pasted, and runs nothing that a log brought in.
func checkStep(t *testing.T, fix string, step diagnose.Step) {
	t.Helper()
	const marker = "pwned" // of the awkward texts
	assert.NotEmpty(t, step.Text, fix)
	switch step.Kind {
	case "shell", "env":
		assert.NoError(t, paste.Shell(step.Text, marker), "%s: %s", fix, step.Text)
	case "python":
		assert.NoError(t, paste.Python(step.Text, marker), "%s: %s", fix, step.Text)
	}
}

// checkValues looks at every text and number of a report.
func checkValues(t *testing.T, v reflect.Value, path string, lines int) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			checkValues(t, v.Elem(), path, lines)
		}
	case reflect.Slice:
		for i := range v.Len() {
			checkValues(t, v.Index(i), path, lines)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			checkValues(t, v.MapIndex(key), path+"."+key.String(), lines)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				checkValues(t, v.Field(i), path+"."+v.Type().Field(i).Name, lines)
			}
		}
	case reflect.String:
		checkText(t, path, v.String())
	case reflect.Float64:
		assert.False(t, math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0), "%s is %v", path, v.Float())
	case reflect.Int, reflect.Int64:
		switch {
		case strings.HasSuffix(path, "Line"):
			assert.True(t, v.Int() >= 0 && v.Int() <= int64(lines), "%s is %d of %d", path, v.Int(), lines)
		case strings.HasSuffix(path, "Bytes"):
			assert.True(t, v.Int() > -1<<62 && v.Int() < 1<<62, "%s is %d", path, v.Int())
		}
	}
}

// checkText: nothing that a terminal obeys, that turns text or that hides in it.
func checkText(t *testing.T, path, s string) {
	t.Helper()
	assert.True(t, utf8.ValidString(s), "%s: %q", path, s)
	several := strings.HasSuffix(path, ".Steps.Text") // code of several lines
	bad := strings.IndexFunc(s, func(r rune) bool {
		return (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) && !(several && r == '\n')
	})
	if bad >= 0 {
		assert.Fail(t, "a character that must not show", "%s: %q", path, s)
	}
	for _, no := range []string{"%!", "<nil>", "+Inf"} {
		assert.False(t, strings.Contains(s, no) && !strings.HasSuffix(path, ".Text") && !strings.HasSuffix(path, ".Message") && !strings.HasSuffix(path, ".Name"), "%s: %s", path, s)
	}
}

// checkPages: pages show no character that a report must not hold, and a
// redacted report keeps all of this.
func checkPages(t *testing.T, raw []byte, r *diagnose.Report) bool {
	t.Helper()
	reports := []*diagnose.Report{r}
	if len(raw)%4 == 0 { // it takes ten times as long as the report
		redacted := r.Redacted()
		assert.Equal(t, redacted, redacted.Redacted(), "redacted twice")
		reports = append(reports, redacted)
	}
	for _, r := range reports {
		for _, page := range []string{render.Markdown(r, render.Options{}), render.Text(r, render.Options{Layout: render.Layout{Width: 60}})} {
			bad := strings.IndexFunc(page, func(r rune) bool {
				return r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
			})
			if bad >= 0 {
				assert.Fail(t, "a character that must not show", "%q", page[bad:min(len(page), bad+40)])
			}
		}
		for _, in := range r.Incidents {
			for _, fix := range in.Fixes {
				for _, step := range fix.Steps {
					checkStep(t, fix.ID, step)
				}
			}
		}
	}
	return !t.Failed()
}
