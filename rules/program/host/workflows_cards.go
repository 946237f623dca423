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
	Headline: "lost a task of the pipeline[[, {process}]]: it used more memory than was requested for it[[{figures}]]",
	Means:    "Nextflow submits each task as a job, and the `memory` of its process becomes the job's limit. The job is killed as soon as it is above that, so the log does not say how much it needs in all.",
	Not:      "Editing the job script (.command.run): Nextflow writes it again.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Give this process more memory, and resume", Told: "Write this to mem.config and add `-c mem.config -resume` to your command; each retry then requests more.[[ {wanted} is {basis}.]] `process.resourceLimits` (older nf-core: `--max_memory`) silently caps it, so raise that too:", Steps: moreEachTime, Cost: "perhaps a longer wait"},
		{Fix: "close_other_apps", If: when.All(ofSlurm, func(c *ledger.Case) bool { return slurmJob(c) != "" }), Title: "Find out which process it was, and what it used", Steps: slurmName, Told: "The job's name is `nf-` followed by the process name.", Cost: "free"},
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
	out["mb"], out["gb"], out["kill"] = strconv.FormatInt(megabytes(c), 10), strconv.FormatInt(megabytes(c)/1000, 10), "Exit code 137 or \"Killed\" (signal 9) most likely means that RAM was full, or a memory limit of a container or job. The message does not say which."
	if c.Kind(fact.SlurmKill, fact.ContainerKill) {
		out["kill"] = "It was killed at the limit of its job or container, which is the memory that was requested for it."
	}
	return out
}

var snakemakeCards = []cause.Card{{
	ID: "snakemake/killed", Kinds: jobKills, Cause: cause.HostMemory, Weight: cause.Decisive, Figures: atLimit,
	Headline: "lost a job of the workflow: it was killed, most likely because memory ran out[[{figures}]]",
	Means:    "{kill} On a cluster Snakemake requests what the rule's `resources` say, or a small default. On one machine it starts as many jobs as the cores allow; it counts memory only if rules state it and you pass `--resources mem_mb=`.",
	Not:      "Editing a job script: Snakemake writes it again.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "On a cluster: request more for this rule", Told: "Without touching the workflow: `--set-resources RULE:mem_mb={mb}` (RULE: its name in \"Error in rule\").[[ {wanted} is {basis}.]] Or in the rule, together with `--retries 2` (older: `--restart-times 2`):", Steps: moreEachRetry, Cost: "perhaps a longer wait"},
		{Fix: "lower_num_workers", If: when.Not(onQueue), Title: "On one machine: run less at once", Told: "Lower `--cores`. Or pass `--resources mem_mb=` with four fifths of the RAM in MB, if the rules state `mem_mb`.", Cost: "slower"},
		{Fix: "lower_num_workers", If: onQueue, Title: "Use fewer threads in this rule", Told: "`--set-threads RULE=2`: many tools need memory for each thread.", Cost: "slower"},
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
		Headline: "lost a task of the workflow: it was killed, most likely because memory ran out[[{figures}]]",
		Means:    "{kill} Cromwell requests what `memory` in the task's `runtime` block says; the backend decides whether that is a limit.",
		Not:      "Only `maxRetries`: it requests the same memory again.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Request more memory for this task", Told: "Put this into the inputs JSON, with your own workflow and task name. If the WDL has its own input for memory, use that.[[ {wanted} is {basis}.]]", Kind: "config", Text: "\"WORKFLOW.TASK.runtime.memory\": \"{gb}GB\"", Cost: "perhaps a longer wait, or money"},
			{Fix: "lower_num_workers", If: when.Not(onQueue), Title: "On one machine: run fewer tasks at once", Told: "Set `concurrent-job-limit = 1` in the `config` of the backend.", Cost: "slower"},
			{Fix: "lower_num_workers", If: onQueue, Title: "Use fewer threads in this task", Told: "Lower its input or `runtime` attribute for cores (`cpu`): many tools need memory for each thread.", Cost: "slower"},
		},
		Sources: []string{"cromwell/docs/RuntimeAttributes.md", "cromwell/cromwell.example.backends/LocalExample.conf"},
	}},
}

// gridSpace are what lowers the address space of a job, which Grid Engine counts.
var (
	gridSpace = cause.Cure{Fix: "lower_num_workers", If: enforced, Title: "Run fewer processes, and limit Java's heaps", Told: "All processes of the job count, with all that they reserve. Use the tool's own option for threads or processes. For Java tools put `export _JAVA_OPTIONS=-Xmx4g` before the command: otherwise each one reserves a quarter of the node's RAM.", Cost: "time"}
	gridArena = cause.Cure{Fix: "lower_parallel", If: enforced, Title: "Let threads reserve less", Told: "Put this before the command in the job script. Otherwise each thread reserves 64 MiB or more of address space (glibc).", Kind: "shell", Text: "export MALLOC_ARENA_MAX=2", Cost: "None"}
)

// enforced: Grid Engine names its limit as the reason, and not how high it is.
func enforced(c *ledger.Case) bool { return c.F().Limit == nil && c.Contains("enforced") }

// gridFigures add the address space that the job had at most.
func gridFigures(c *ledger.Case) map[string]string {
	out := queueFigures(c)
	out["reached"], out["counts"] = "", "`h_vmem` counts address space (virtual memory), which can be far more than RAM: threads, Java and CUDA reserve much that they never use."
	if c.Near("h_rss", "s_rss") && !c.Near("h_vmem", "s_vmem") {
		out["counts"] = "`h_rss` counts the RAM in use."
	}
	if n := ledger.Sized(c, "vmem_used"); n > 0 && enforced(c) {
		out["reached"], out["figures"] = units.Amount(n), ": "+units.Amount(n)+" of address space"
	}
	return out
}
