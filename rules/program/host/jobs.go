package host

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/host/platforms"
)

// Workflow managers and engines of clusters.
var (
	Snakemake = program.Program{
		Name: "snakemake", Shown: "Snakemake", Edits: "flags", Language: "other",
		Proofs: []string{"Error in rule ", "snakemake/"},
		Cards:  snakemakeCards, Useless: map[string]func(*ledger.Case) string{"add_swap": idleSwap}, Sources: program.Sources{"https://snakemake.readthedocs.io/en/stable/executing/cli.html": "--set-resources --set-threads --retries --restart-times --cores --resources"},
	}
	Nextflow = program.Program{
		Name: "nextflow", Shown: "Nextflow", Work: "data", Edits: "flags", Language: "other",
		Proofs: []string{"Error executing process >", ".nextflow.log", "nextflow.config", "NXF_TASK_WORKDIR"},
		Cards:  nextflowCards,
	}
	Spark = program.Program{
		Name: "spark", Shown: "Spark", Work: "data", Edits: "flags", Language: "java",
		Proofs: []string{"org.apache.spark", "org/apache/spark", "SparkContext", "ExecutorLostFailure"},
		Cards:  platforms.Spark, Sources: program.Sources{"https://spark.apache.org/docs/latest/submitting-applications.html": "--executor-memory --executor-cores"},
	}
	YARN = program.Program{
		Name: "yarn", Shown: "YARN", Work: "data", Edits: "flags", Language: "java",
		Proofs: []string{"Container killed by YARN", "is running beyond physical memory limits", "is running beyond virtual memory limits", "killed by YARN for exceeding"},
		Cards:  yarnCards,
	}
)
