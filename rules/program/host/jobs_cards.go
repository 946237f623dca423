package host

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
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

var lsfKilledCards = []cause.Card{{
	ID: "lsf/killed", Kinds: []fact.Kind{fact.ShellKilled}, Unsaid: []string{"TERM_MEMLIMIT"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "reports a job that was killed by signal 9[[ after it had held {held}]]",
	Means:    "Exit code 137 means signal 9.[[ LSF counted {held} at most.]] When a job reaches LSF's own limit, LSF writes TERM_MEMLIMIT, which is not here. So most likely the node itself ran out of RAM, often because jobs that reserve none share it (\"Total Requested Memory: -\"), or somebody ended the job.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Reserve the memory that it needs", Told: "{ask} (unit: LSF_UNIT_FOR_LIMITS, MB or KB by site; `bjobs -l JOB` shows what it had):", Kind: "config", Text: "#BSUB -R \"rusage[mem={mb}] span[hosts=1]\"\n#BSUB -M {mb}", Cost: "Perhaps a longer wait"},
		{Fix: "lower_num_workers", Title: "Use fewer threads, or smaller parts of the input", Told: "Most tools need memory for each thread and for each block of input.", Cost: "Time"},
		{Fix: "close_other_apps", Title: "Ask for the node's kernel log", Told: "`bhist -l JOB` names the host. The cluster's support can read its kernel log (\"Out of memory: Killed process\").", Cost: "A mail"},
	},
	Figures: func(c *ledger.Case) map[string]string {
		told := map[string]string{"held": "", "mb": "32000", "ask": "In place of 32000 put twice what it had"}
		if held := ledger.Sized(c, "lsf_held"); held > 0 {
			told["held"], told["mb"], told["ask"] = units.Amount(held), strconv.FormatInt((2*held/1e6+999)/1000*1000, 10), "Twice what it has needed so far, for a start"
		}
		return told
	},
	Sources: []string{"https://www.ibm.com/docs/en/spectrum-lsf/10.1.0?topic=lsfconf-lsf-unit-limits"},
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

var sparkCards = []cause.Card{
	{
		ID: "spark/executor-killed", Kinds: jobKills, Said: []string{"ExecutorLostFailure"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "lost an executor: its container was killed (137), most likely above its memory",
		Means:    "The container holds `spark.executor.memory` (the heap) and the overhead: 10 % of that, 384 MB at least, for shuffle buffers, Python workers, Netty and native libraries. Signal 9 means that the sum exceeded the container, or that the node was full. A full Java heap gives another error (\"Java heap space\").",
		Not:      "Only a larger driver: an executor was lost.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the memory overhead", Kind: "config", Text: "# more than today's, which is 10 % of spark.executor.memory by default\nspark.executor.memoryOverhead=3g\n# PySpark: spark.executor.pyspark.memory=2g", Told: "On Kubernetes a share can stand in its place: `spark.kubernetes.memoryOverheadFactor=0.4`.", Cost: "Fewer executors on a node"},
			{Fix: "lower_num_workers", Title: "Run fewer tasks per executor", Told: "Halve `spark.executor.cores`.", Cost: "Slower"},
			{Fix: "lower_batch_size", Title: "Use smaller partitions", Told: "Double `spark.sql.shuffle.partitions`, or `repartition(n)`. If one task is far above the median in the stage's page, a key is skewed.", Cost: "More tasks"},
		},
		Sources: []string{"https://spark.apache.org/docs/latest/configuration.html"},
	},
	{
		ID: "spark/execution", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory}, Said: []string{"SparkOutOfMemoryError"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "had no execution memory left for a task",
		Means:    "Tasks of an executor share 60 % of its heap (`spark.memory.fraction`) for sorts, joins and aggregations; this one asked for a page and got none. Either one partition is far too large (skew, a window without PARTITION BY, an exploded array), or many tasks share a small heap.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Use more and smaller partitions", Kind: "config", Text: "spark.sql.shuffle.partitions=1000\nspark.sql.adaptive.enabled=true\nspark.sql.adaptive.skewJoin.enabled=true", Cost: "More tasks"},
			{Fix: "raise_memory_limit", Title: "Give each task more heap", Told: "Raise `--executor-memory`, or halve `--executor-cores`. In local mode raise `--driver-memory`.", Cost: "Fewer executors"},
			{Fix: "empty_cache", Title: "Unpersist cached tables", Told: "They use the same memory: `df.unpersist()` for what is no longer needed.", Cost: "Computed again if needed"},
		},
		Sources: []string{"https://spark.apache.org/docs/latest/tuning.html", "spark/core/src/main/java/org/apache/spark/memory/SparkOutOfMemoryError.java"},
	},
}
