package diagnose_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

var (
	logs  = flag.String("logs", "../testdata/logs/*/*.log", "the logs that the acceptance kit damages")
	every = flag.Int("every", 12, "what is done to a log in so many ways is done in every so many of them, in turn; 1 does all")
)

// damage is what happens to a log between a terminal and us.
type damage struct {
	name string
	do   func(string) string
}

// mixes reports a damage that loses which line ended where, or which rank
// printed it.
func (d damage) mixes() bool {
	return slices.ContainsFunc([]string{"wrapped", "joined", "lost", "rich box", "value", "rank0", "pid=", "TP0"}, func(s string) bool { return strings.Contains(d.name, s) })
}

// eachLine applies f to every line.
func eachLine(f func(string) string) func(string) string {
	return func(s string) string {
		lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
		for i, l := range lines {
			lines[i] = f(l)
		}
		return strings.Join(lines, "\n") + "\n"
	}
}

func prefixed(prefix string) damage {
	return damage{"prefix " + strings.TrimSpace(prefix), eachLine(func(l string) string { return prefix + l })}
}

// wrapped breaks lines hard at a column, also inside words and numbers.
func wrapped(column int) func(string) string {
	return eachLine(func(l string) string {
		r := []rune(l)
		var b strings.Builder
		for len(r) > column {
			b.WriteString(string(r[:column]) + "\n")
			r = r[column:]
		}
		return b.String() + string(r)
	})
}

func boxed(s string) string {
	inner := eachLine(func(l string) string {
		return "│ " + l + strings.Repeat(" ", max(0, 76-len([]rune(l)))) + " │"
	})(wrapped(76)(s))
	return "╭──────── Traceback (most recent call last) ────────╮\n" + inner + "╰───────────────────────────────────────────────────╯\n"
}

func jsonString(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

var sizeWithPoint = regexp.MustCompile(`(\d)\.(\d\d) ([KMG]i?B)\b`)

func damages() []damage {
	list := []damage{
		{"carriage returns", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
		{"progress bars glued on", eachLine(func(l string) string { return " 45%|####5     | 9/20 [00:01<00:02,  5.00it/s]\r" + l })},
		{"terminal colours", eachLine(func(l string) string {
			return "\x1b[1;31m" + strings.ReplaceAll(l, " ", "\x1b[0m \x1b[31m") + "\x1b[0m"
		})},
		{"residue of colours", eachLine(func(l string) string { return "[31m" + l + "[0m" })},
		{"wrapped at 80", wrapped(80)},
		{"wrapped at 131", wrapped(131)},
		{"line ends lost", func(s string) string { return strings.ReplaceAll(s, "\n", "") }},
		{"lines joined by blanks", func(s string) string { return strings.ReplaceAll(s, "\n", " ") }},
		{"blank line after every line", func(s string) string { return strings.ReplaceAll(s, "\n", "\n\n") }},
		{"rich box", boxed},
		{"quoted", prefixed("> ").do},
		{"bold", eachLine(func(l string) string {
			if strings.TrimSpace(l) == "" {
				return l
			}
			return "**" + l + "**"
		})},
		{"fenced", func(s string) string { return "Hi, this happens:\n```python\n" + s + "```\nany idea?\n" }},
		{"HTML", eachLine(func(l string) string { return `<span class="ansi-red">` + html.EscapeString(l) + "</span>" })},
		{"curly quotes", func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, `"`, "\u201d"), "'", "\u2019") }},
		{"no-break spaces", func(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") }},
		{"JSON value", func(s string) string { return `{"level":"error","error":` + jsonString(s) + "}\n" }},
		{"logfmt value", func(s string) string {
			return "time=2025-04-29T12:31:28.521+02:00 level=ERROR msg=" + jsonString(s) + "\n"
		}},
		{"docker json-file", eachLine(func(l string) string {
			return `{"log":` + jsonString(l+"\n") + `,"stream":"stderr","time":"2025-01-02T03:04:05.678901234Z"}`
		})},
		{"journald export", eachLine(func(l string) string { return "MESSAGE=" + l })},
		{"decimal commas", func(s string) string { return sizeWithPoint.ReplaceAllString(s, "$1,$2 $3") }},
		{"GitHub issue form", func(s string) string {
			return "### Describe the bug\n\nIt crashed.\n\n### Logs\n\n```shell\n" + s + "```\n\n### Versions\n\n- OS: Linux\n- [x] I searched the issues\n"
		}},
		{"inside a large log", func(s string) string {
			calm := strings.Repeat("2026-03-01 08:00:00 request served in 0.2 s, nothing to see\n", 5000)
			return calm + s + "\n" + calm
		}},
		{"UTF-8 byte order mark", func(s string) string { return "\ufeff" + s }},
	}
	for _, p := range []string{
		"[rank0]: ", "(EngineCore_DP0 pid=6880) ", "(Worker_TP0 pid=160) ERROR 05-20 20:54:32 [multiproc_executor.py:962] ", "vllm-1  | ",
		"Jan 26 17:48:20 host server[1418]: ", "2024-06-28T06:11:52.685300953Z ", "[2025-07-02 07:41:58 TP0] ", "INFO 11-18 18:07:17 worker.py:267] ",
		"ERROR:    ", "*** ", "1.06.520.077 E ", "11:53:58-231487 ERROR    ", "[1724830909] ",
	} {
		list = append(list, prefixed(p), prefixed(p+p))
	}
	return list
}

// typed are logs that rest on a command which somebody typed or a launcher
// prints, and one whose model was given a prompt. Behind a logger's prefix, in a
// record's string or in mid-line a command is nobody's, and what stands on one
// line with an open prompt is the prompt's: strangers' words stand there too.
var typed = []string{
	"llamacpp/draft-beside.log", "llamacpp/pool-large-batch.log", "textgen/gpu-memory-without-unit.log", "llamacpp/hip-weights-2024.log", "llamacpp/moe-weights.log",
	"llamacpp/weights-refused-12gb.log", "sessions/llama-cli-equal-split-unequal-cards.log", "frameworks/mlx-insufficient.log",
	"long/llama-server-equal-split-70b.log", "long/llama-server-moe-half-offloaded.log",
	// Requests of clients stand in these; on one line all that follows is theirs.
	"long/journald-ollama-second-model-ram.log", "long/llama-server-pool-after-an-hour.log", "long/ollama-long-chat-pool.log", "long/vllm-served-then-prefill-failed.log",
}

// twoStarts are logs in which a later start worked, with figures of its own:
// which belong to the failure, only the lines tell.
var twoStarts = []string{"long/llama-server-second-start-serves.log"}

// notMended are damages that still change an answer: a wrap on the point of a
// number behind a rank's prefix, whose first half reads as a number of its own;
// a box whose wrap hides the one path that tells the system, in a message so bare
// that the system tips the scales; a traceback that lost its line ends behind a
// call "test(", which then reads as a test's source; answers that stand on the end
// of one line: a statement of a script, an exit code before a line of digits, an
// option before an exit code below zero.
var notMended = []string{"llamacpp/sycl-bare-table.log/wrapped at 80", "llamacpp/sycl-bare-table.log/rich box", "long/torchrun-eight-ranks-on-card-0.log/wrapped at 131", "frameworks/ort-title-cut.log/rich box", "host/forecasts-joined.log/line ends lost", "host/forecasts-joined.log/lines joined by blanks",
	"host/compose-exit-137.log/line ends lost", "host/compose-exit-137.log/lines joined by blanks", "pytorch/demo-of-2018-without-figures.log/line ends lost", "pytorch/demo-of-2018-without-figures.log/lines joined by blanks",
	"pytorch/test-set-in-one-call.log/line ends lost", "pytorch/test-set-in-one-call.log/lines joined by blanks", "textgen/llama-server-signal-9.log/line ends lost", "textgen/llama-server-signal-9.log/lines joined by blanks",
}

// hides reports a damage after which a command is no longer seen to be typed.
func (d damage) hides() bool {
	return strings.HasPrefix(d.name, "prefix") || slices.Contains([]string{"JSON value", "logfmt value", "line ends lost", "lines joined by blanks"}, d.name)
}

// TestDamage: whatever happened to the paste, figures and cause stay.
func TestDamage(t *testing.T) {
	t.Parallel()
	for n, path := range glob(t, *logs) {
		raw, want := read(t, path)
		several := len(want.Incidents) > 1 || len(want.Incidents) == 1 && len(want.Incidents[0].Ranks) > 1
		name := filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path)
		for i, d := range damages() {
			if (n+i)%*every != 0 || (several || slices.Contains(twoStarts, name)) && d.mixes() || d.hides() && slices.Contains(typed, name) || slices.Contains(notMended, name+"/"+d.name) {
				continue
			}
			t.Run(name+"/"+d.name, func(t *testing.T) {
				got := diagnose.Bytes([]byte(d.do(string(raw))))
				if !assert.GreaterOrEqual(t, len(got.Incidents), len(want.Incidents), "nothing found") {
					return
				}
				for i, in := range want.Incidents {
					assert.Equal(t, amounts(in), amounts(got.Incidents[i]), "figures")
					if got.Incidents[i].Framework == in.Framework { // some prefixes prove another program, and that is evidence
						assert.Equal(t, in.Causes[0].ID, got.Incidents[i].Causes[0].ID, "cause")
					}
				}
			})
		}
	}
}

// TestCuts: a paste that lost its head or tail never invents a figure.
func TestCuts(t *testing.T) {
	t.Parallel()
	for n, path := range glob(t, *logs) {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		text := string(raw)
		for i, cut := range []int{len(text) / 4, len(text) / 2, len(text) * 3 / 4, len(text) - len(text)/50 - 3} {
			if *every != 1 && i != n%4 {
				continue
			}
			cut = max(cut, 0)
			for side, part := range map[string]string{"head": text[cut:], "tail": text[:cut]} {
				for _, in := range diagnose.Bytes([]byte(part)).Incidents {
					in.Figures.Sizes(func(key string, s *diagnose.Size) {
						assert.Contains(t, strings.ReplaceAll(text, "\n", ""), s.Text, "%s cut of %s: %s", side, path, key)
					})
				}
			}
		}
	}
}

// amounts lists the figures of an incident as key=amount.
func amounts(in diagnose.Incident) []string {
	out := []string{}
	in.Figures.Sizes(func(key string, s *diagnose.Size) { out = append(out, key+"="+strconv.FormatInt(s.Bytes, 10)) })
	in.Figures.Counts(func(key string, c *diagnose.Count) { out = append(out, fmt.Sprintf("%s=%g", key, c.Value)) })
	for _, p := range in.Figures.OtherProcesses {
		out = append(out, fmt.Sprintf("pid %d=%d", p.PID, p.Bytes))
	}
	return out
}

// TestCalmStaysCalm: no damage makes a failure of a log that has none. What is
// only quoted is left out: without its lines it can't be told from a log.
func TestCalmStaysCalm(t *testing.T) {
	t.Parallel()
	for n, path := range glob(t, *logs) {
		raw, r := read(t, path)
		if r.OOM || len(r.Lookalikes) > 0 && r.Lookalikes[0].ID == "quoted_message" {
			continue
		}
		for i, d := range damages() {
			if (n+i)%min(*every, 4) != 0 {
				continue
			}
			assert.Empty(t, diagnose.Bytes([]byte(d.do(string(raw)))).Incidents, "%s after %s", path, d.name)
		}
	}
}
