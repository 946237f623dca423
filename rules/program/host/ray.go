package host

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Ray is what is peculiar to Ray: all of it is about the node's RAM.
var Ray = program.Program{
	Name: "ray", Shown: "Ray", Rank: 35,
	Commands: []string{"ray"},
	Edits:    "code", Language: "python",
	Sources: program.Sources{"ray/python/ray/scripts/scripts.py": "--object-store-memory --stats-only"},
	Clues: map[string][]cause.Clue{
		cause.HostMemory: {
			cause.First(
				cause.If(nil, cause.Stated, "Ray killed a worker of {killed_rss} because the node's {total} of RAM ran low; the graphics card plays no part."),
				cause.If(nil, cause.Stated, "{allocated} of the node's {total} of RAM were in use, so Ray killed its newest task, which need not be the one that holds the memory."),
				cause.If(nil, cause.Stated, "Ray killed a worker because the node's RAM ran low; the graphics card plays no part, though the name of the error is PyTorch's.")).Of(fact.RayKilled),
			cause.Said(cause.Strong, "Ray keeps objects in shared memory (/dev/shm), and that is full.", fact.RayStore)},
	},
	Remedies: map[string][]cause.Remedy{
		cause.HostMemory: {
			{Fix: "raise_shm_size", Fit: cause.Cures, If: when.Root(fact.RayStore)},
			{Fix: "lower_num_workers", Fit: cause.Cures},
			{Fix: "raise_memory_limit", Fit: cause.Cures},
			{Fix: "close_other_apps", Fit: cause.MayHelp},
		},
	},
	Effects: map[string]func(c *ledger.Case) *effect.Effect{"lower_num_workers": rayFewer},
	Steps: map[string]func(c *ledger.Case) []step.Step{
		"lower_num_workers": step.Paste("python", "@ray.remote(num_cpus=4)   # more CPUs for each task: fewer run at a time on the node\ndef task(part):\n    ..."),
	},
	Cards: rayCards,
}

var rayKilled = when.Root(fact.RayKilled)

// rayFewer: without the worker that Ray killed the node is below the threshold
// again, which is 0.95 unless it was changed.
func rayFewer(c *ledger.Case) *effect.Effect {
	f := c.F()
	if !rayKilled(c) || f.KilledRSS == nil || f.Allocated == nil || f.Total == nil {
		return nil
	}
	need, have := f.Allocated.Bytes-f.KilledRSS.Bytes, f.Total.Bytes*95/100
	return &effect.Effect{NeedBytes: need, HaveBytes: have, Fits: need <= have, Basis: "log", Certainty: effect.Bound, Note: fmt.Sprintf("%s in use less the %s of the worker that was killed, against 0.95 of %s, where Ray begins to kill. Exact for that moment, if the tasks that are left do not grow.", f.Allocated, f.KilledRSS, f.Total)}
}

// threshold is the share of the node's RAM at which Ray begins to kill, as the
// message states it.
func threshold(c *ledger.Case) float64 {
	for _, text := range [...]string{"memory usage threshold of ", "exceeds threshold "} {
		if share, err := strconv.ParseFloat(after(c, text), 64); err == nil && share > 0 && share <= 1 {
			return share
		}
	}
	return 0.95
}

// endedWorkers is the raylet's count of several.
var endedWorkers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b([2-9]|\d{2,6}) Workers \(tasks / actors\) killed`)
})

// rayFigures are what a kill of Ray's monitor says, and what follows from it.
func rayFigures(c *ledger.Case) map[string]string {
	out, f := teamFigures(c), c.F()
	share := threshold(c)
	out["share"] = fmt.Sprintf("%.0f %%", share*100)
	out["variable"] = "RAY_memory_usage_threshold"
	if c.Contains("the task was running") { // 2.0 and 2.1
		out["variable"] = "RAY_memory_usage_threshold_fraction"
	}
	out["node"], out["ended"] = after(c, "(IP: "), ""
	if m := endedWorkers().FindStringSubmatch(c.Failure.Message); m != nil {
		out["ended"] = m[1]
	}
	out["line"], out["over"], out["gain"], out["reserve"], out["at_once"] = "", "", "", "", ""
	if f.Total != nil && f.Allocated != nil {
		line := int64(float64(f.Total.Bytes) * share)
		out["line"] = units.Amount(line)
		if over := f.Allocated.Bytes - line; over > 0 {
			out["over"] = units.Amount(over)
		}
		if share < 0.98 && after(c, "memory usage threshold of ") != "" {
			out["gain"] = units.Amount(int64(float64(f.Total.Bytes) * (0.98 - share)))
		}
	}
	if each := cmp.Or(eachTask(c), 6*units.GiB); f.Total != nil && f.Total.Bytes > 2*each {
		n := reserved(c, each)
		out["reserve"] = strconv.FormatInt(n, 10)
		out["at_once"] = strconv.FormatInt(max(f.Total.Bytes*7/10/(n*units.GiB), 1), 10)
	}
	out["sisters"] = ""
	if t := biggestTeam(c); alone(c) {
		out["count"] = ""
		if top, _ := topTask(c); t.count > 1 && top.Name == t.name {
			out["sisters"] = units.Amount((t.bytes - top.Bytes) / int64(t.count-1))
		}
	}
	if top, ok := topTask(c); ok {
		out["top"], out["top_held"], out["top_pid"] = plainName(top.Name), units.Amount(top.Bytes), strconv.Itoa(top.PID)
	}
	return out
}

// eachTask is what one task needs: what the one that was killed held, or one of
// the group that holds most; a fifth more, for it may not have been at its peak.
func eachTask(c *ledger.Case) int64 {
	most := ledger.SizeOf(c.F().KilledRSS)
	if t := biggestTeam(c); !alone(c) {
		most = max(most, t.bytes/int64(t.count))
	} else if top, ok := topTask(c); ok && strings.HasPrefix(top.Name, "ray") {
		most = max(most, top.Bytes)
	}
	if total := c.F().Total; total != nil && most*20 < total.Bytes {
		return 0
	}
	return int64(math.Round(float64(most) * 1.2))
}

// topTask is the process that Ray's table lists with most.
func topTask(c *ledger.Case) (fact.Process, bool) {
	var most fact.Process
	for _, p := range c.Facts.Tasks {
		if p.Bytes > most.Bytes {
			most = p
		}
	}
	return most, most.Bytes > 0
}

// reserved is how many GiB each task reserves, so that fewer run than the log
// lists: half as many, where what each needs would let as many run again.
func reserved(c *ledger.Case, each int64) int64 {
	t, n := biggestTeam(c), gib(each)
	if total := c.F().Total; total != nil && t.count > 1 && strings.HasPrefix(t.name, "ray") && total.Bytes*7/10/units.GiB/n >= int64(t.count) {
		return max(total.Bytes*7/10/units.GiB/((int64(t.count)+1)/2), n+1)
	}
	return n
}

func rayReserve(c *ledger.Case) []step.Step {
	n := "6"
	note := "   # 6 GiB: put the peak that you saw for one task"
	if each := eachTask(c); each > 0 {
		n, note = strconv.FormatInt(reserved(c, each), 10), ""
	}
	return []step.Step{{Kind: "python", Text: "@ray.remote(memory=" + n + " * 1024**3)" + note + "\ndef task(part): ...   # an actor: Actor.options(memory=" + n + " * 1024**3).remote()"}}
}
