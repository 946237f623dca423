package rules_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/review"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// allLogs are the project's logs: those of the tests of readings, of cards, of
// programs and of the command.
func allLogs(t *testing.T) map[string]string {
	t.Helper()
	out := cardLogs(t)
	for _, pattern := range []string{"../testdata/logs/*/*.log", "../testdata/script/*.txtar", "testdata/samples.txtar"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, path := range files {
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			if filepath.Ext(path) == ".log" {
				out[path] = string(raw)
				continue
			}
			for _, f := range txtar.Parse(raw).Files {
				out[path+": "+f.Name] = string(f.Data)
			}
		}
	}
	return out
}

var (
	answering sync.Once
	logsOfAll map[string]string
	reports   map[string]*diagnose.Report
)

// answered are all logs with their answers, made once.
func answered(t *testing.T) (map[string]string, map[string]*diagnose.Report) {
	t.Helper()
	answering.Do(func() {
		logsOfAll, reports = allLogs(t), map[string]*diagnose.Report{}
		for name, log := range logsOfAll {
			reports[name] = diagnose.Bytes([]byte(log))
		}
	})
	return logsOfAll, reports
}

// TestNothingDropped: the last look finds nothing to drop in any answer to a log
// of the project.
func TestNothingDropped(t *testing.T) {
	incidents := 0
	_, reports := answered(t)
	for name, report := range reports {
		for _, in := range report.Incidents {
			incidents++
			for _, d := range in.Dropped {
				t.Errorf("%s, line %d: %s: %s", name, in.Line, d.Rule, d.Text)
			}
		}
	}
	assert.Greater(t, incidents, 1500)
}

// ofSystems are commands that many readers have, whatever they run.
var ofSystems = strings.Fields(`accelerate cargo cat curl df dmesg docker du echo export fallocate ffmpeg footprint free git grep journalctl kill kubectl make mkswap npu-smi
	nvidia-smi pip ps python python3 swapon sync sysctl systemctl systemd-cgtop systemd-run taskset torchrun ulimit unset until watch wc xpu-smi hl-smi rocm-smi bitsandbytes`)

// TestKitCommands: what a program's steps start comes with it, with what it is
// like, or with the system.
func TestKitCommands(t *testing.T) {
	for _, p := range rules.Programs() {
		known := slices.Clone(p.Commands)
		for _, q := range rules.Programs() {
			if slices.Contains(p.Like, q) || slices.Contains(q.Like, p) { // a family has steps for its members
				known = append(known, q.Commands...)
			}
		}
		c := &ledger.Case{Facts: &fact.Facts{}, Framework: p.Name, Stack: []string{p.Name}, Phase: "unknown"}
		check := func(what, kind, text string) {
			for line := range strings.Lines(text) {
				if command := review.Started(line); kind == "shell" && command != "" && !strings.ContainsAny(command, "./{") && !slices.Contains(ofSystems, command) {
					assert.Contains(t, known, command, "%s: %s starts what is none of its Commands", cmp.Or(p.Name, "a family"), what)
				}
			}
		}
		for id, steps := range p.Spelled() {
			for _, s := range steps(c) {
				check(id, s.Kind, s.Text)
			}
		}
		for _, k := range p.Cards {
			for _, cure := range k.Cures {
				check(k.ID, cure.Kind, cure.Text)
			}
		}
	}
}
