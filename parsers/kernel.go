package parsers

// kernel reads the Linux kernel, systemd, shells, Slurm and Windows.
var kernel = Parser{Name: "kernel"}
