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

var nextflowCards = []cause.Card{{
	ID: "nextflow/killed", Kinds: jobKills,
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "lost a process of the pipeline to the kernel, most likely for RAM[[: {process}]]",
	Means:    "137 is 128 + 9: the kernel ended the tool. Either it went above the `memory` that this process was given (with Docker that is the container's limit), or the machine was full because several tasks ran at once. Which, the kernel says: \"Memory cgroup\" or plain \"Out of memory\".",
	Not:      "Deleting `work/` (`-resume` needs it), more CPUs, or the same start again.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "More for this process, one at a time, and resume", Told: "A file mem.config with this, then `nextflow run ... -c mem.config -resume`; stay below the machine's RAM, and raise `process.resourceLimits` (older nf-core: `--max_memory`) with it, which caps it silently:", Steps: moreForProcess, Cost: "Slower: one after another"},
		{Fix: "close_other_apps", Title: "See what Docker or WSL may have, and what the kernel says", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'killed process|oom-kill' | tail -3; docker info | grep -i memory; free -h", Told: "Docker Desktop and WSL give the machine's containers half of the RAM or less (Settings, Resources; `memory=` in .wslconfig).", Cost: "Free"},
		{Fix: "stream_dataset", Title: "Less input for this sample", Told: "See whether this sample is larger or dirtier than the others (the report of fastp or FastQC: adapters left, far more reads): many tools hold every distinct read. Split or subsample it; fewer threads where each holds buffers (`ext.args`).", Cost: "Some work"},
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
	Means:    "137 is 128 + 9.[[ LSF counted {held} at most.]] For its own limit LSF writes TERM_MEMLIMIT, which is not here: so the node itself ran out, as a rule because jobs that reserve no memory share it (\"Total Requested Memory: -\"), or somebody ended it.",
	Not:      "Anything about a graphics card.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Reserve what it needs", Told: "{ask} (unit: LSF_UNIT_FOR_LIMITS, MB or KB by site; `bjobs -l JOB` shows what it had):", Kind: "config", Text: "#BSUB -R \"rusage[mem={mb}] span[hosts=1]\"\n#BSUB -M {mb}", Cost: "Perhaps a longer wait"},
		{Fix: "lower_num_workers", Title: "Fewer threads, or smaller parts", Told: "Most tools need memory for each thread and for each block of input; half of them is about half.", Cost: "Time"},
		{Fix: "close_other_apps", Title: "Ask what the node says", Told: "`bhist -l JOB` names the host; its kernel's log (\"Out of memory: Killed process\") says whose memory it was: the cluster's support can read it.", Cost: "A mail"},
	},
	Figures: func(c *ledger.Case) map[string]string {
		told := map[string]string{"held": "", "mb": "32000", "ask": "Twice what it has needed so far, for a start"}
		if held := ledger.Sized(c, "lsf_held"); held > 0 {
			told["held"], told["mb"] = units.Amount(held), strconv.FormatInt((2*held/1e6+999)/1000*1000, 10)
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
	return []step.Step{{Kind: "config", Text: "process {\n  withName: '.*" + name + "' {\n    memory = 48.GB\n    maxForks = 1\n  }\n}"}}
}

var sparkCards = []cause.Card{
	{
		ID: "spark/executor-killed", Kinds: jobKills, Said: []string{"ExecutorLostFailure"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "lost an executor: its container was killed (137), most likely above its memory",
		Means:    "The container holds `spark.executor.memory` (the heap) and the overhead: 10 % of that, 384 MB at least, for shuffle buffers, Python workers, Netty and native libraries. Signal 9 from outside means that the sum went above the container, or that the node was full; Java's heap being full looks otherwise (Java heap space).",
		Not:      "Only a larger `spark.executor.memory`: the part beside it stays short.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "More overhead", Kind: "config", Text: "spark.executor.memoryOverhead=3g\n# PySpark: spark.executor.pyspark.memory=2g", Told: "Kubernetes: `spark.kubernetes.memoryOverheadFactor` 0.4.", Cost: "Fewer executors on a node"},
			{Fix: "lower_num_workers", Title: "Fewer tasks in an executor", Told: "`spark.executor.cores` at half.", Cost: "Slower"},
			{Fix: "lower_batch_size", Title: "Smaller partitions", Told: "`spark.sql.shuffle.partitions` doubled, or `repartition(n)`; in the stage's page one task far above the median is skew.", Cost: "More tasks"},
		},
		Sources: []string{"https://spark.apache.org/docs/latest/configuration.html"},
	},
	{
		ID: "spark/execution", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory}, Said: []string{"SparkOutOfMemoryError"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "had no execution memory left for a task",
		Means:    "Tasks of an executor share 60 % of its heap (`spark.memory.fraction`) for sorts, joins and aggregations; this one asked for a page and got none. Either one partition is far too large (skew, a window without PARTITION BY, an exploded array), or many tasks share a small heap.",
		Not:      "The driver's memory: it failed in an executor.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "More and smaller partitions", Kind: "config", Text: "spark.sql.shuffle.partitions=1000\nspark.sql.adaptive.enabled=true\nspark.sql.adaptive.skewJoin.enabled=true", Cost: "More tasks"},
			{Fix: "raise_memory_limit", Title: "More heap for each task", Told: "`--executor-memory 16g`, or half of `--executor-cores`; cached tables take from the same part: unpersist what is not needed.", Cost: "Fewer executors"},
		},
		Sources: []string{"https://spark.apache.org/docs/latest/tuning.html", "spark/core/src/main/java/org/apache/spark/memory/SparkOutOfMemoryError.java"},
	},
}
