package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// budgets are how many statements a reading may execute, in thousands: of this
// module, regexp2, strings, bytes and regexp, as Go's own coverage counts them.
// Unlike times they are the same on every machine, busy or not. Set them anew
// where more work is worth its while (go test ./bench/work -count-work -v prints what it
// counts), and say so in the commit.
var budgets = []struct {
	name   string
	log    string // by name, see logs
	warm   bool   // beyond the first reading, which compiles patterns
	page   bool
	budget int
}{
	{"3 kB, the first time", "crash", false, false, 2350},
	{"3 kB, warm", "crash", true, false, 133},
	{"3 kB, redacted and written", "crash", true, true, 2877},
	{"100 kB, warm", "long", true, false, 2081},
	{"1 MiB of a healthy log, warm", "healthy", true, false, 3538},
	{"whole sessions, warm", "sessions", true, false, 3976},
}

// tooMuch is how many times its budget a reading may take. Counts vary by less
// than a hundredth; what is above is a change of the code.
const tooMuch = 1.5

var count = flag.Bool("count-work", false, "build a program that counts its statements, and hold it to the budgets")

// TestWork holds readings to their budgets.
func TestWork(t *testing.T) {
	if !*count {
		t.Skip("builds the whole program with counters, half a minute: the gate does, with -count-work")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "work")
	run(t, exec.Command("go", "build", "-cover", "-covermode=atomic", "-coverpkg=github.com/oomdoc/oomdoc/...,github.com/dlclark/regexp2/v2/...,strings,bytes,regexp", "-o", binary, "."))
	files := logs(t, dir)
	for _, b := range budgets {
		t.Run(b.name, func(t *testing.T) {
			args := []string{fmt.Sprintf("-page=%v", b.page), files[b.log]}
			before, after, times := 0, 1, 1
			if b.warm {
				before, after, times = 1, 5, 4
			}
			base, _ := executed(t, binary, append([]string{fmt.Sprintf("-n=%d", before)}, args...))
			whole, by := executed(t, binary, append([]string{fmt.Sprintf("-n=%d", after)}, args...))
			got := (whole - base) / times / 1000
			t.Logf("%d thousand statements, budget %d", got, b.budget)
			if float64(got) > tooMuch*float64(b.budget) {
				t.Errorf("%d thousand statements are executed, and the budget is %d; by package, all in all: %v", got, b.budget, by)
			}
			if float64(got)*tooMuch < float64(b.budget) {
				t.Errorf("only %d thousand statements are executed: lower the budget of %d", got, b.budget)
			}
		})
	}
}

// logs writes what is read.
func logs(t *testing.T, dir string) map[string]string {
	t.Helper()
	crash, err := os.ReadFile("../../testdata/logs/pytorch/traceback-3k.log")
	require.NoError(t, err)
	long := strings.Repeat("INFO 2025-01-01 step done, loss 0.123, all is well\n", 2000) + string(crash)
	healthy := strings.Repeat("INFO:     127.0.0.1:42 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n", 1<<20/70)
	sessions := ""
	for _, name := range []string{"vllm-compose-restarts", "ollama-num-gpu-all-backoff", "comfyui-fourth-workflow-video", "kernel-tasks-table", "ddp-four-ranks-interleaved", "llama-server-fit-aborted", "tgi-two-shards-warmup"} {
		raw, err := os.ReadFile("../../testdata/logs/sessions/" + name + ".log")
		require.NoError(t, err)
		sessions += string(raw)
	}
	files := map[string]string{}
	for name, text := range map[string]string{"crash": string(crash), "long": long, "healthy": healthy, "sessions": sessions} {
		files[name] = filepath.Join(dir, name+".log")
		require.NoError(t, os.WriteFile(files[name], []byte(text), 0o600))
	}
	return files
}

// executed runs the binary and sums up the statements that were executed, in
// all and by package.
func executed(t *testing.T, binary string, args []string) (sum int, by map[string]int) {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(binary), "counts") // the test's own has a comma in its name, which covdata takes for two
	require.NoError(t, err)
	cmd := exec.Command(binary, args...)
	cmd.Env = append(cmd.Environ(), "GOCOVERDIR="+dir)
	run(t, cmd)
	profile := filepath.Join(dir, "profile.txt")
	run(t, exec.Command("go", "tool", "covdata", "textfmt", "-i="+dir, "-o="+profile))
	f, err := os.Open(profile)
	require.NoError(t, err)
	defer f.Close()
	by = map[string]int{}
	for s := bufio.NewScanner(f); s.Scan(); {
		file, rest, _ := strings.Cut(s.Text(), ":")
		var place string
		var statements, count int
		if n, _ := fmt.Sscan(rest, &place, &statements, &count); n == 3 { // "mode: atomic" is none
			sum += statements * count
			by[path.Dir(file)] += statements * count
		}
	}
	return sum, by
}

func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", cmd, out)
}
