package host

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Workflow managers write the job scripts themselves, so that their readers set
// memory in the workflow's own configuration.

// nextflowLimit is a task that a batch system ended at the memory which Nextflow
// had requested for it.
var nextflowLimit = cause.Card{
	ID: "nextflow/limit", Kinds: queue, Cause: cause.HostMemory, Weight: cause.Decisive,
	Figures: func(c *ledger.Case) map[string]string {
		out := queueFigures(c)
		out["process"] = nextflowProcess(c)
		return out
	},
	Headline: "lost a task of the pipeline[[, {process}]], at the memory that was requested for it[[{figures}]]",
	Means:    "Nextflow submits each task as a job of its own, and the `memory` of its process becomes the job's limit. The job is ended as soon as it is above that, so how much it needs in all the log does not say.",
	Not:      "Editing the job script (.command.run): Nextflow writes it anew.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Give this process more memory, and resume", Told: "Write this to mem.config and add `-c mem.config -resume` to the command: what is done is kept, and each retry asks for more.[[ {wanted} is {basis}.]] `process.resourceLimits` (older nf-core: `--max_memory`) caps it silently:", Steps: moreEachTime, Cost: "Perhaps a longer wait in the queue"},
		{Fix: "close_other_apps", If: when.All(ofSlurm, func(c *ledger.Case) bool { return slurmJob(c) != "" }), Title: "See which process it was, and what it used", Steps: slurmName, Told: "The job's name is `nf-` and that of the process.", Cost: "Free"},
	},
	Sources: []string{"nextflow/docs/process.mdx", "https://docs.seqera.io/nextflow/reference/process/directives/resource-limits"},
}

func ofSlurm(c *ledger.Case) bool { return c.In("slurm") }

func slurmName(c *ledger.Case) []step.Step {
	return []step.Step{{Kind: "shell", Text: "sacct -j " + slurmJob(c) + " -o JobName%80,State,ReqMem,MaxRSS,Elapsed"}}
}

// moreEachTime is the part of a configuration that asks for more at each retry.
func moreEachTime(c *ledger.Case) []step.Step {
	name, note := nextflowProcess(c), ""
	if name == "" {
		name, note = "PROCESS", "   // PROCESS: its name in Nextflow's own error"
	}
	memory := "32.GB"
	if n := enough(c); n > 0 {
		memory = strconv.FormatInt(gib(n), 10) + ".GB"
	}
	return []step.Step{{Kind: "config", Text: "process {\n  withName: '.*" + name + "' {" + note + "\n    memory = { " + memory + " * task.attempt }\n    errorStrategy = 'retry'\n    maxRetries = 2\n  }\n}"}}
}

// megabytes is what to ask for in whole thousands of MB, as Snakemake counts.
func megabytes(c *ledger.Case) int64 {
	return cmp.Or((enough(c)+1e9-1)/1e9*1000, 32000)
}

// atLimit says of a rule or task at what it was ended.
func atLimit(c *ledger.Case) map[string]string {
	out := queueFigures(c)
	out["mb"], out["gb"], out["kill"] = strconv.FormatInt(megabytes(c), 10), strconv.FormatInt(megabytes(c)/1000, 10), "137 and signal 9 mean that the kernel ended it: RAM was full, or a limit of a container or job. The message does not say which."
	if c.Kind(fact.SlurmKill, fact.ContainerKill) {
		out["kill"] = "It was ended at the limit of its job or container, which is the memory that was requested for it."
	}
	return out
}

var snakemakeCards = []cause.Card{{
	ID: "snakemake/killed", Kinds: jobKills, Cause: cause.HostMemory, Weight: cause.Decisive, Figures: atLimit,
	Headline: "lost a job of the workflow: it was killed, most likely for RAM[[{figures}]]",
	Means:    "{kill} On a cluster Snakemake requests what the rule's `resources` say, else a small default. On one machine it starts as many jobs as the cores allow, and counts memory only where rules state it and `--resources mem_mb=` gives a sum.",
	Not:      "Editing a job script: Snakemake writes it anew.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "On a cluster: request more for this rule", Told: "Without touching the workflow: `--set-resources RULE:mem_mb={mb}` (RULE: its name in \"Error in rule\").[[ {wanted} is {basis}.]] In the rule, with `--retries 2` (older: `--restart-times 2`):", Steps: moreEachRetry, Cost: "Perhaps a longer wait"},
		{Fix: "lower_num_workers", If: when.Not(onQueue), Title: "On one machine: run less at once", Told: "A lower `--cores`, or `--resources mem_mb=` with four fifths of the RAM in MB, where the rules state `mem_mb`.", Cost: "Slower"},
		{Fix: "lower_num_workers", If: onQueue, Title: "Use fewer threads in this rule", Told: "`--set-threads RULE=2`: many tools hold a buffer for each thread.", Cost: "Slower"},
	},
	Sources: []string{"https://snakemake.readthedocs.io/en/stable/snakefiles/rules.html", "https://snakemake.readthedocs.io/en/stable/executing/cli.html"},
}}

// onQueue: a batch system ended it.
func onQueue(c *ledger.Case) bool { return c.Kind(fact.SlurmKill) || ledger.OnCluster(c) }

func moreEachRetry(c *ledger.Case) []step.Step {
	return []step.Step{{Kind: "config", Text: fmt.Sprintf("    resources:\n        mem_mb=lambda wildcards, attempt: %d * attempt", megabytes(c))}}
}

// Cromwell runs workflows in WDL.
var Cromwell = program.Program{
	Name: "cromwell", Shown: "Cromwell", Work: "data", Edits: "flags", Language: "other",
	Proofs:  []string{"cromwell-executions/", "cromwell.backend."},
	Useless: map[string]func(*ledger.Case) string{"add_swap": idleSwap},
	Cards: []cause.Card{{
		ID: "cromwell/killed", Kinds: jobKills, Cause: cause.HostMemory, Weight: cause.Decisive, Figures: atLimit,
		Headline: "lost a task of the workflow: it was killed, most likely for RAM[[{figures}]]",
		Means:    "{kill} Cromwell requests what the `runtime` block of the task says under `memory`; the backend decides whether that is a limit.",
		Not:      "`maxRetries` alone: it asks for the same memory again.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Request more memory for this task", Told: "In the inputs JSON, with your own names of workflow and task, where the WDL has no input for it.[[ {wanted} is {basis}.]]", Kind: "config", Text: "\"WORKFLOW.TASK.runtime.memory\": \"{gb}GB\"", Cost: "Perhaps a longer wait, or money"},
			{Fix: "lower_num_workers", If: when.Not(onQueue), Title: "On one machine: run fewer tasks at once", Told: "`concurrent-job-limit = 1` in the `config` of the backend.", Cost: "Slower"},
			{Fix: "lower_num_workers", If: onQueue, Title: "Use fewer threads in this task", Told: "Its input or `runtime` attribute for cores (`cpu`): many tools hold a buffer for each thread.", Cost: "Slower"},
		},
		Sources: []string{"cromwell/docs/RuntimeAttributes.md", "cromwell/cromwell.example.backends/LocalExample.conf"},
	}},
}

// gridSpace are what lowers the address space of a job, which Grid Engine counts.
var (
	gridSpace = cause.Cure{Fix: "lower_num_workers", If: enforced, Title: "Run fewer processes, and bound Java's heaps", Told: "All processes of the job count with all that they reserve. Use the tool's own option for threads or processes; for Java tools in it put `export _JAVA_OPTIONS=-Xmx4g` before the command: otherwise each reserves a quarter of the node's RAM.", Cost: "Time"}
	gridArena = cause.Cure{Fix: "lower_parallel", If: enforced, Title: "Let threads reserve less", Told: "In the job script before the command: glibc reserves 64 MiB or more of address space for each thread.", Kind: "shell", Text: "export MALLOC_ARENA_MAX=2", Cost: "None as a rule"}
)

// enforced: Grid Engine names its limit as the reason, and not how high it is.
func enforced(c *ledger.Case) bool { return c.F().Limit == nil && c.Contains("enforced") }

// gridFigures add the address space that the job had at most.
func gridFigures(c *ledger.Case) map[string]string {
	out := queueFigures(c)
	out["reached"] = ""
	if n := ledger.Sized(c, "vmem_used"); n > 0 && enforced(c) {
		out["reached"], out["figures"] = units.Amount(n), ": "+units.Amount(n)+" of address space"
	}
	return out
}
