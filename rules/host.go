package rules

// hostEngine is what is peculiar to linux-oom-killer, kubernetes, slurm, windows.
var hostEngine = Engine{Programs: []string{"linux-oom-killer", "kubernetes", "slurm", "windows"}}
