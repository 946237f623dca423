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
	Headline: "lost a process of the pipeline[[, {process}]]: it was killed, most likely because memory ran out",
	Means:    "Exit code 137 means signal 9 (killed). Either the tool used more than the `memory` of this process (with Docker that is the container's limit), or the machine was full because several tasks ran at once. In the kernel log \"Memory cgroup\" means the first, plain \"Out of memory\" the second.",
	Not:      "Deleting `work/` (`-resume` needs it), or more CPUs.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Give this process more memory, and resume", Told: "Write this to mem.config and add `-c mem.config -resume` to your command. Use twice today's memory, but less than the machine has. Raise `process.resourceLimits` too (older nf-core: `--max_memory`), which silently caps it:", Steps: moreForProcess, Cost: "slower, one task at a time"},
		{Fix: "close_other_apps", Title: "Check the kernel log, and how much Docker or WSL may use", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'killed process|oom-kill' | tail -3; docker info | grep -i memory; free -h", Told: "Docker Desktop and WSL get half of the RAM or less (Settings, Resources; `memory=` in .wslconfig).", Cost: "free"},
		{Fix: "stream_dataset", Title: "Split or subsample this sample's input", Told: "Do this if it has far more reads than the other samples, or adapters left (check with FastQC). Or use fewer threads (`ext.args`): many tools need memory for each thread.", Cost: "some work"},
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
