package host

import "github.com/oomdoc/oomdoc/rules/program"

// Schedulers and builders of which only who reads is known yet.
var (
	PBS = program.Program{
		Name: "pbs", Shown: "PBS", Edits: "flags", Systems: []string{"linux"},
		Proofs: []string{"=>> PBS:"},
	}
	LSF = program.Program{
		Name: "lsf", Shown: "LSF", Edits: "flags", Systems: []string{"linux"},
		Proofs: []string{"TERM_MEMLIMIT"},
	}
	Snakemake = program.Program{
		Name: "snakemake", Shown: "Snakemake", Edits: "flags", Language: "other",
		Proofs: []string{"Error in rule ", "snakemake/"},
	}
	Make = program.Program{
		Name: "make", Shown: "Make", Work: "build", Edits: "flags", Language: "cpp",
		Proofs: []string{"ninja: build stopped", "*** [CMakeFiles/", "program cc1plus"},
	}
	Spark = program.Program{
		Name: "spark", Shown: "Spark", Work: "data", Edits: "flags", Language: "java",
		Proofs: []string{"org.apache.spark", "org/apache/spark", "SparkContext"},
	}
)
