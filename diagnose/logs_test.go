package diagnose_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// TestMain lets the collector wait: it would take a seventh of the time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

var update = flag.Bool("update", false, "rewrite the golden reports under testdata/logs")

// TestWanted holds every log to what its writer knows happened there: want.tsv
// beside the logs says it, so that a golden report can't freeze a mistake.
func TestWanted(t *testing.T) {
	for _, table := range glob(t, "../testdata/logs/*/want.tsv") {
		dir := filepath.Dir(table)
		for _, w := range readWanted(t, table) {
			t.Run(filepath.Base(dir)+"/"+w["log"], func(t *testing.T) {
				_, report := read(t, filepath.Join(dir, w["log"]+".log"))
				checkWanted(t, w, report)
			})
		}
	}
}

// TestEveryLogIsWanted: a log without a line in want.tsv tests nothing.
func TestEveryLogIsWanted(t *testing.T) {
	wanted := map[string]bool{}
	for _, table := range glob(t, "../testdata/logs/*/want.tsv") {
		for _, w := range readWanted(t, table) {
			wanted[filepath.Join(filepath.Dir(table), w["log"]+".log")] = true
		}
	}
	for _, log := range glob(t, "../testdata/logs/*/*.log") {
		assert.True(t, wanted[log], "%s has no line in want.tsv", log)
	}
}

func checkWanted(t *testing.T, w map[string]string, r *diagnose.Report) {
	t.Helper()
	assert.Equal(t, w["oom"] == "yes", r.OOM, "oom")
	if w["lookalike"] != "" {
		require.NotEmpty(t, r.Lookalikes, "lookalikes")
		assert.Equal(t, w["lookalike"], r.Lookalikes[0].ID, "lookalike")
	}
	if w["oom"] != "yes" || !r.OOM {
		return
	}
	if w["incidents"] != "" {
		assert.Equal(t, w["incidents"], strconv.Itoa(len(r.Incidents)), "incidents")
	}
	checkWhat(t, w, r.Incidents[0])
	checkAdvice(t, w, r.Incidents[0])
	if w["second"] == "" || !assert.Greater(t, len(r.Incidents), 1, "a second incident") {
		return
	}
	also := strings.Fields(w["second"]) // its line, phase, cause and first fix
	require.Len(t, also, 4, "second")
	second := map[string]string{}
	for i, column := range []string{"line", "phase", "cause", "fix"} {
		if also[i] != "-" {
			second[column] = also[i]
		}
	}
	checkWhat(t, second, r.Incidents[1])
}

// checkWhat compares what happened; a column may name several that are
// right, parted by |.
func checkWhat(t *testing.T, w map[string]string, in diagnose.Incident) {
	t.Helper()
	got := map[string]string{"framework": in.Framework, "backend": in.Backend, "phase": in.Phase, "cause": in.Causes[0].ID, "fix": ""}
	if len(in.Fixes) > 0 {
		got["fix"] = in.Fixes[0].ID
	}
	for column, got := range got {
		if w[column] != "" {
			assert.Contains(t, strings.Split(w[column], "|"), got, column)
		}
	}
	if line, err := strconv.Atoi(w["line"]); err == nil {
		assert.True(t, in.Line <= line && line <= max(in.Line, in.EndLine), "line %d is not in %d to %d", line, in.Line, in.EndLine)
	}
	have := map[string]string{}
	in.Figures.Sizes(func(key string, s *diagnose.Size) { have[key] = strconv.FormatInt(s.Bytes, 10) })
	in.Figures.Counts(func(key string, c *diagnose.Count) { have[key] = strconv.FormatFloat(c.Value, 'f', -1, 64) })
	for _, f := range strings.Fields(w["figures"]) {
		key, value, _ := strings.Cut(f, "=")
		assert.Equal(t, value, have[key], "figure %s", key)
	}
}

// checkAdvice holds the first three fixes to what must not be advised there
// ("not") and the first of them to words that its steps must have ("says").
func checkAdvice(t *testing.T, w map[string]string, in diagnose.Incident) {
	t.Helper()
	steps := ""
	for i, f := range in.Fixes[:min(3, len(in.Fixes))] {
		assert.NotContains(t, strings.Fields(w["not"]), f.ID, "advised")
		for _, s := range f.Steps {
			if i == 0 {
				steps += s.Text + "\n"
			}
		}
	}
	if w["says"] != "" {
		assert.Contains(t, steps, w["says"], "steps of the first fix")
	}
}

// TestGoldenReports compares whole reports; -update rewrites them.
func TestGoldenReports(t *testing.T) {
	for _, log := range glob(t, "../testdata/logs/*/*.log") {
		t.Run(filepath.Base(filepath.Dir(log))+"/"+filepath.Base(log), func(t *testing.T) {
			_, report := read(t, log)
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			e.SetIndent("", " ")
			require.NoError(t, e.Encode(report))
			golden := strings.TrimSuffix(log, ".log") + ".json"
			if _, err := os.Stat(golden); err != nil && strings.Contains(log, "/long/") {
				t.Skip("of the long logs want.tsv says enough; some have a golden report")
			}
			if *update {
				require.NoError(t, os.WriteFile(golden, b.Bytes(), 0o644))
				return
			}
			want, err := os.ReadFile(golden)
			if os.IsNotExist(err) {
				t.Skip("no golden report yet: run go test ./diagnose -update")
			}
			require.NoError(t, err)
			assert.Equal(t, string(want), b.String())
		})
	}
}

func readWanted(t *testing.T, path string) []map[string]string {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.Comment, r.FieldsPerRecord, r.LazyQuotes = '\t', '#', -1, true
	rows, err := r.ReadAll()
	require.NoError(t, err)
	var out []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, v := range row {
			if i < len(rows[0]) && v != "-" {
				m[rows[0][i]] = v
			}
		}
		out = append(out, m)
	}
	return out
}

// reading is a log with its report.
type reading struct {
	raw    []byte
	report *diagnose.Report
}

// readings has those that were read, by their paths.
var readings sync.Map

// read returns a log and its report, which is made once for all tests: none of
// them changes it.
func read(t testing.TB, path string) ([]byte, *diagnose.Report) {
	t.Helper()
	if got, ok := readings.Load(path); ok {
		return got.(reading).raw, got.(reading).report
	}
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	got := reading{raw, diagnose.Bytes(raw)}
	readings.Store(path, got)
	return got.raw, got.report
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	require.NoError(t, err)
	return paths
}
