package rules_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers"
	"github.com/oomdoc/oomdoc/parsers/text"
	"github.com/oomdoc/oomdoc/rules"
)

// claims are what an answer may say of a bare message only where the message
// itself says it.
var claims = []struct {
	name        string
	said, shown *regexp.Regexp
}{
	{"a training step", regexp.MustCompile(`(?i)(failed|ran out|out of memory|refused|killed|ended)[^.;]{0,40} in (a )?training|during training`),
		regexp.MustCompile(`(?i)train|backward|optimi[sz]er|\bgrad|loss|epoch|adam|finetune|xgboost|lightgbm|deepspeed|fairseq`)},
	{"loading", regexp.MustCompile(`(?i)(ran out|refused|killed|failed|stopped|memory)( of [a-z ]+)? (while|as) (it |the model |the weights |a (picture )?model )?(was |were )?(being )?load`),
		regexp.MustCompile(`(?i)load|weight|shard|checkpoint|model|mmap|initiali|terminated unexpectedly|runner process has terminated|during startup`)},
	{"answering", regexp.MustCompile(`(?i)while (running the model|it answered|predicting)`),
		regexp.MustCompile(`(?i)predict|inpaint|it/s\]|running|execut|forward|decod|prefill|infer|generat|step|graph|compute|command ?buffer|function alloc|pool_malloc|Exception during processing|cublas|h2d|request|query|workspace can't|swap space|prompt|enqueue|concat|, [34]\)`)},
	{"what else ran", regexp.MustCompile(`(?i)another program holds|most of this card|held outside`),
		regexp.MustCompile(`(?i)free|in use|used|available|allocated`)},
}

// phaseShown is what in a message tells a phase.
var phaseShown = map[string]*regexp.Regexp{
	"training":      claims[0].shown,
	"load":          claims[1].shown,
	"inference":     claims[2].shown,
	"kv_cache":      regexp.MustCompile(`(?i)kv|cache|pool|state`),
	"warmup":        regexp.MustCompile(`(?i)warm|method determine_num_available_blocks`),
	"graph_capture": regexp.MustCompile(`(?i)captur|graph`),
	"startup_check": regexp.MustCompile(`(?i)startup|start|init|require|available|free|context size`),
}

// hedged is how a sentence begins that does not know.
var hedged = regexp.MustCompile(`(?i)^(perhaps|possibly)|\b(it|this|that|which) (may|might) (be|have)\b`)

// sure is the confidence from which the page says "sure".
const sure = 0.95

// TestBareLines gives each message of the project's logs alone, without the
// lines around it: nothing is claimed then that the message does not say.
func TestBareLines(t *testing.T) {
	set, seen := parsers.New(rules.Proofs(), rules.Words()), map[string]bool{}
	logs, reports := answered(t)
	for name, log := range logs {
		lines := strings.Split(log, "\n")
		for _, whole := range reports[name].Incidents {
			if whole.Line < 1 || whole.EndLine > len(lines) {
				continue // a machine's own report, or a record of several lines
			}
			bare := strings.Join(lines[whole.Line-1:whole.EndLine], "\n")
			if seen[bare] {
				continue
			}
			seen[bare] = true
			r := diagnose.Bytes([]byte(bare + "\n"))
			if len(r.Incidents) == 0 {
				continue
			}
			facts := set.Parse(text.NewLog(clean.Lines(bare, 1)))
			proved := []string{"", "other"}
			phases := []string{"", "unknown"}
			for _, x := range facts.Failures {
				proved, phases = append(proved, x.Framework), append(phases, x.Phase)
			}
			for _, p := range facts.Programs {
				proved = append(proved, p.Name)
			}
			for _, p := range rules.Programs() {
				if slices.Contains(proved, p.Name) && p.Script != "" {
					proved = append(proved, p.Script)
				}
			}
			assertBare(t, name, bare, r.Incidents[0], whole, proved, phases)
		}
	}
	assert.Greater(t, len(seen), 800)
}

func assertBare(t *testing.T, name, bare string, in, whole diagnose.Incident, proved, phases []string) {
	t.Helper()
	told := in.Headline + " " + in.Summary + " " + in.Causes[0].Why
	assert.Contains(t, proved, in.Framework, "%s: the program of %q", name, bare)
	if strings.Contains(bare, "python") { // somebody's script
		proved = append(proved, "own-script")
	}
	assert.Contains(t, proved, in.Reader.Program, "%s: the reader's program of %q", name, bare)
	if shown := phaseShown[in.Phase]; !slices.Contains(phases, in.Phase) || in.Phase == "training" || in.Phase == "inference" {
		assert.Regexp(t, shown, bare, "%s: phase %s of %q", name, in.Phase, bare)
	}
	for _, c := range claims {
		if at := c.said.FindStringIndex(told); at != nil {
			assert.Regexp(t, c.shown, bare, "%s: %s, in %q", name, c.name, told[max(0, at[0]-90):min(len(told), at[1]+90)])
		}
	}
	if strings.Contains(told, "by itself") || strings.Contains(told, "alone fills") {
		assert.GreaterOrEqual(t, in.Ledger["mine"].Bytes*20, max(in.Ledger["total"].Bytes, in.Ledger["limit"].Bytes)*17, "%s: %q", name, told)
	}
	if in.Model != nil {
		assert.Contains(t, bare, in.Model.Name, "%s: a model", name)
	}
	for _, f := range in.Fixes {
		for _, s := range f.Steps {
			if m := whole.Model; m != nil && len(m.Name) > 3 && !strings.Contains(bare, m.Name) {
				assert.NotContains(t, s.Text, m.Name, "%s: a command with the model", name)
			}
		}
	}
	if in.Causes[0].Confidence >= sure {
		assert.NotRegexp(t, hedged, in.Causes[0].Why, "%s: sure (%.2f) of what it doubts: %s", name, in.Causes[0].Confidence, in.Causes[0].Why)
	}
}
