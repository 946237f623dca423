package server

import (
	"fmt"

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
	Edits: "code", Language: "python",
	Cards: rayCards,
	Clues: map[string][]cause.Clue{
		cause.HostMemory: {
			figures.First(
				cause.If(rayKilled, 0.96, "Ray killed a worker of {killed_rss} because the node's {limit} of RAM ran low; the graphics card plays no part."),
				cause.If(rayKilled, 0.96, "{allocated} of the node's {total} of RAM were in use, so Ray killed its newest task, which need not be the one that holds the memory."),
				cause.If(rayKilled, 0.96, "Ray killed a worker because the node's RAM ran low; the graphics card plays no part, though the name of the error is PyTorch's.")),
			cause.Said(0.85, "Ray keeps objects in shared memory (/dev/shm), and that is full.", fact.RayStore)},
	},
	Remedies: map[string][]cause.Remedy{
		cause.HostMemory: {
			{Fix: "raise_shm_size", Fit: 1.02, If: when.Root(fact.RayStore)},
			{Fix: "lower_num_workers", Fit: 1},
			{Fix: "raise_memory_limit", Fit: 0.95},
			{Fix: "close_other_apps", Fit: 0.6},
		},
	},
	Effects: map[string]func(c *ledger.Case) *effect.Effect{"lower_num_workers": rayFewer},
	Steps: map[string]func(c *ledger.Case) []step.Step{
		"lower_num_workers": step.Paste("python", "@ray.remote(num_cpus=4)   # more CPUs for each task: fewer run at a time on the node\ndef task(part):\n    ..."),
	},
}

var rayKilled = when.Root(fact.RayKilled)

// rayFewer: without the worker that Ray killed the node is below the threshold
// again, which is 0.95 unless it was changed.
func rayFewer(c *ledger.Case) *effect.Effect {
	f := c.F()
	if !rayKilled(c) || f.KilledRSS == nil || f.Allocated == nil || f.Total == nil {
		return nil
	}
	return bound(f.Allocated.Bytes-f.KilledRSS.Bytes, f.Total.Bytes*95/100,
		fmt.Sprintf("%s in use less the %s of the worker that was killed, against 0.95 of %s, where Ray begins to kill. Exact for that moment, if the tasks that are left do not grow.", f.Allocated, f.KilledRSS, f.Total))
}
