package diagnose_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/rules/cause"
)

const (
	logsReadme = "../testdata/logs/README.md"
	logsIntro  = `# Logs

Every log here was written for these tests, in the shapes that the programs print; its line in ` + "`want.tsv`" + ` beside it says what its writer knows
of it. Whole sessions stand in ` + "`sessions`" + `, logs that read like one cause and are another, or no failure at all, in ` + "`lookalikes`" + `.
Those of a hundred lines and more, with the deciding line far from the failure, stand in ` + "`long`" + `: their ` + "`want.tsv`" + ` also names the line,
what must not be advised (` + "`not`" + `), words of the first fix (` + "`says`" + `) and a second failure; where several answers are right, they are parted by ` + "`|`" + `.

The other folders hold the logs of one family each. This table is made by ` + "`go test ./diagnose -run TestTableOfLogs -update`" + `.

| cause | whole sessions | look-alikes |
|---|---|---|
`
)

// TestTableOfLogs: every cause has logs that have it and logs that only read
// like it; the README lists the sessions and the look-alikes.
func TestTableOfLogs(t *testing.T) {
	logs, sessions, alike := map[string]int{}, map[string][]string{}, map[string][]string{}
	for _, table := range glob(t, "../testdata/logs/*/want.tsv") {
		dir := filepath.Base(filepath.Dir(table))
		for _, w := range readWanted(t, table) {
			link := fmt.Sprintf("[%s](%s/%s.log)", w["log"], dir, w["log"])
			if like := w["reads_like"]; like != "" {
				assert.NotEqual(t, like, w["cause"], "%s reads like its own cause", w["log"])
				alike[like] = append(alike[like], link)
			}
			if w["cause"] == "" {
				continue
			}
			logs[w["cause"]]++
			if dir == "sessions" {
				sessions[w["cause"]] = append(sessions[w["cause"]], link)
			}
		}
	}
	var b strings.Builder
	b.WriteString(logsIntro)
	for _, r := range cause.All() {
		assert.GreaterOrEqual(t, logs[r.ID], 3, "logs of %s", r.ID)
		assert.GreaterOrEqual(t, len(alike[r.ID]), 2, "look-alikes of %s", r.ID)
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.ID, strings.Join(sessions[r.ID], ", "), strings.Join(alike[r.ID], ", "))
	}
	if *update {
		require.NoError(t, os.WriteFile(logsReadme, []byte(b.String()), 0o644))
		return
	}
	have, err := os.ReadFile(logsReadme)
	require.NoError(t, err)
	assert.True(t, b.String() == string(have), "the table is old: run go test ./diagnose -run TestTableOfLogs -update")
}
