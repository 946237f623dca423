package host

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var queue = []fact.Kind{fact.SlurmKill}

var yarnCards = []cause.Card{{
	ID: "yarn/container", Kinds: []fact.Kind{fact.YARNKill}, Cause: cause.HostMemory, Weight: cause.Decisive, Figures: yarnFigures,
	Headline: "lost a container: YARN killed it above its memory limit[[ ({used} of {limit})]]",
	Means:    "YARN adds up all processes of a container, and kills it above its size: executor memory plus overhead (by default 10 %, at least 384 MB). Python workers, native libraries, direct buffers and threads have only that overhead.[[ {virtual}]]",
	Not:      "Only a larger `-Xmx`: the container's size stays the same.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", If: virtualLimit, Title: "Turn off the virtual memory check", Kind: "config", Text: "<property><name>yarn.nodemanager.vmem-check-enabled</name><value>false</value></property>", Told: "It counts address space, not RAM. The administrator sets this in yarn-site.xml of the nodes:", Cost: "None"},
		{Fix: "raise_memory_limit", Title: "Raise the memory overhead", Told: "Use it in place of today's value. To keep the container's size, lower `--executor-memory` by as much.[[ {old_name}]]", Steps: yarnSteps, Cost: "fewer executors at a time, or less heap"},
		{Fix: "lower_num_workers", Title: "Run fewer tasks per executor, on smaller partitions", Told: "`--executor-cores 1` or 2: as many tasks share a container as it has cores. More partitions (`repartition`, `spark.sql.shuffle.partitions`) make each one smaller.[[ {task} failed each time: check in the UI whether its partition is far larger than the others (a skewed key).]]", Cost: "less at a time"},
	},
	Sources: []string{"https://spark.apache.org/docs/latest/configuration.html", "hadoop/hadoop-yarn-project/hadoop-yarn/hadoop-yarn-common/src/main/resources/yarn-default.xml"},
}}

// virtualLimit: it was address space that went above the limit, not RAM. YARN's
// NodeManager states both and says before them which (ContainersMonitorImpl.java).
func virtualLimit(c *ledger.Case) bool {
	return c.Contains("virtual memory") && !c.Contains("beyond physical memory") && !c.Contains("exceeding physical memory") && !c.Contains("'physical' memory")
}

func yarnFigures(c *ledger.Case) map[string]string {
	out := hostFigures(c)
	out["virtual"], out["task"], out["old_name"] = "", "", ""
	if f := c.F(); f.ProcessUsed != nil {
		out["used"] = f.ProcessUsed.String()
	}
	if virtualLimit(c) {
		out["virtual"] = "Here it was virtual memory: address space, not RAM."
	}
	if number := after(c, "aborted due to stage failure: Task "); number != "" && c.Contains("failed 4 times") {
		out["task"] = "task " + number
	}
	if c.Contains("spark.yarn.executor.memoryoverhead") {
		out["old_name"] = "In Spark 2.3 and later the option is `spark.executor.memoryOverhead`."
	}
	return out
}

func yarnSteps(c *ledger.Case) []step.Step {
	overhead := int64(2048) // MiB, in steps of a quarter of a GiB
	if limit := c.F().Limit; limit != nil && limit.Bytes > 0 {
		overhead = max((limit.Bytes*2/5+256*units.MiB-1)/(256*units.MiB)*256, 1024)
	}
	option := fmt.Sprintf("spark.executor.memoryOverhead=%dm", overhead)
	if c.Contains("spark.yarn.executor.memoryoverhead") {
		option = fmt.Sprintf("spark.yarn.executor.memoryOverhead=%d", overhead)
	}
	return []step.Step{{Kind: "shell", Text: "spark-submit --conf " + option + " YOUR_JOB   # with its other options; two fifths of the container's size today, rounded up"}}
}
