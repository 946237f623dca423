package host

import (
	"cmp"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var jobKills = []fact.Kind{fact.ShellKilled, fact.ContainerKill, fact.SlurmKill, fact.RankKilled}

var nextflowCards = []cause.Card{nextflowLimit, {
	ID: "nextflow/killed", Kinds: jobKills,
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "lost a process of the pipeline[[, {process}]]: it was killed, most likely for RAM",
	Means:    "137 means signal 9: most likely the kernel killed the tool. Either it used more than the `memory` of this process (with Docker that is the container's limit), or the machine was full, often because several tasks ran at once. The kernel log says \"Memory cgroup\" for the first and plain \"Out of memory\" for the second.",
	Not:      "Deleting `work/` (`-resume` needs it), or more CPUs.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Give this process more memory, and resume", Told: "Write this to mem.config (twice today's memory, below the machine's RAM), then `nextflow run ... -c mem.config -resume`. Raise `process.resourceLimits` (older nf-core: `--max_memory`) too, which caps it silently:", Steps: moreForProcess, Cost: "Slower: one after another"},
		{Fix: "close_other_apps", Title: "Check the kernel log and Docker's or WSL's memory", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'killed process|oom-kill' | tail -3; docker info | grep -i memory; free -h", Told: "Docker Desktop and WSL give containers half of the RAM or less (Settings, Resources; `memory=` in .wslconfig).", Cost: "Free"},
		{Fix: "stream_dataset", Title: "Split or subsample this sample's input", Told: "If it has far more reads, or adapters left (fastp, FastQC), than the others: many tools hold every distinct read. Or use fewer threads (`ext.args`): many hold buffers per thread.", Cost: "Some work"},
		swapForPeak,
	},
	Figures: func(c *ledger.Case) map[string]string {
		return map[string]string{"process": nextflowProcess(c)}
	},
	Sources: []string{"https://www.nextflow.io/docs/latest/reference/process.html", "https://docs.seqera.io/nextflow/reference/process/directives/resource-limits"},
}}

// nextflowProcess is the process that failed, without the workflows around it;
// "" where the log does not name it in plain letters.
func nextflowProcess(c *ledger.Case) string {
	x, _ := c.Fact("nextflow_process")
	_, name, _ := strings.Cut(x.Text, "process > '")
	name = strings.TrimRight(name, "'")
	name, _, _ = strings.Cut(name, " ")
	name = name[strings.LastIndexByte(name, ':')+1:]
	if strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return name
}

// moreForProcess is the part of a configuration that gives one process more.
func moreForProcess(c *ledger.Case) []step.Step {
	name := cmp.Or(nextflowProcess(c), "PROCESS")
	return []step.Step{{Kind: "config", Text: "process {\n  withName: '.*" + name + "' {\n    memory = 48.GB   // twice today's\n    maxForks = 1\n  }\n}"}}
}
