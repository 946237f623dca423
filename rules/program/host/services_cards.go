package host

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

var kubernetesCards = []cause.Card{
	{
		ID: "kubernetes/evicted", Kinds: []fact.Kind{fact.Evicted},
		Cause: cause.HostMemory, Weight: 0.93,
		Means: "The kubelet threw the pod out because its node ran low on memory: the node's shortage, not the pod's limit. Pods that use more than they requested go first.",
		Not:   "Raising the limit: it only lets the pod take more from a short node.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Request what the pod really uses", Kind: "config", Text: "resources:\n  requests: {memory: 16Gi}   # what it needs at its peak; limits the same\n  limits: {memory: 16Gi}", Cost: "It is scheduled only where that is free"},
			lessAtOnce,
		},
		Sources: []string{"https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/"},
	},
	{
		ID: "kubernetes/limit", Kinds: []fact.Kind{fact.ContainerKill},
		Cause: cause.HostMemory, Weight: 0.94,
		Means: "The container reached its own memory limit and the kernel ended it: exit code 137. The node may have had plenty. Page cache does not count against you, but tmpfs does: an emptyDir with medium Memory, and /dev/shm.",
		Not:   "GPU settings: this is the computer's own memory.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit"},
			lessAtOnce,
		},
		Sources: []string{"https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/", "https://kubernetes.io/docs/tasks/configure-pod-container/assign-memory-resource/"},
	},
}

var slurmCards = []cause.Card{{
	ID: "slurm/limit", Kinds: []fact.Kind{fact.SlurmKill, fact.KernelKill}, If: func(c *ledger.Case) bool { return capped(c) && c.In("slurm") },
	Cause: cause.HostMemory, Weight: 0.95,
	Means: "The job's own memory (RAM, on GPU nodes too) reached what was asked for with --mem or --mem-per-cpu, or the partition's small default. Step .batch is the script itself, .0 an srun in it. The node may have had more.",
	Not:   "More GPUs or --gres: they bring no RAM unless the site ties it to them.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit"},
		lessAtOnce,
	},
	Sources: []string{"slurm/src/plugins/cgroup/v1/cgroup_v1.c", "https://slurm.schedmd.com/sbatch.html"},
}}

// service is a host that only has its own way to raise a limit, and a card.
func service(name, shown, limit, title, kind string, sources program.Sources, proofs ...string) program.Program {
	return program.Program{
		Name: name, Shown: shown, Edits: "admin", Language: "other", Proofs: proofs, Sources: sources,
		Titles: map[string]string{"raise_memory_limit": title},
		Steps:  map[string]func(*ledger.Case) []step.Step{"raise_memory_limit": step.Paste(kind, limit)},
	}
}

// Services and batch systems that say in words of their own that they ended
// something. Proofs are those words: a log that only mentions the service is
// another program's.
var (
	Docker   = with(service("docker", "Docker", "docker run --memory=16g --memory-swap=16g IMAGE   # IMAGE: what you start today; Compose: mem_limit: 16g", "Raise the container's limit", "shell", program.Sources{"docker/cli/command/container/opts.go": "--memory --memory-swap"}, `"OOMKilled": true`, `"OOMKilled":true`, "OOMKilled=true", "Exited (137)"), dockerCards)
	GitHub   = with(service("github-actions", "GitHub Actions", "Use a larger runner (`runs-on: ubuntu-latest-8-cores` where your organisation has one), or a self-hosted one.", "Use a larger runner", "text", nil, "Process completed with exit code 137", "The runner has received a shutdown signal"), githubCards)
	Colab    = with(service("colab", "Colab", "Runtime, Change runtime type: High-RAM (paid plans)", "Choose a runtime with more RAM", "ui", nil, "crashed after using all available RAM"), colabCards)
	Kaggle   = with(service("kaggle", "Kaggle", "Settings, Accelerator: sessions with a GPU or TPU differ in RAM; a TPU session has most", "Choose a session with more RAM", "ui", nil, "Your notebook tried to allocate more memory than is available"), kaggleCards)
	Lambda   = with(service("aws-lambda", "AWS Lambda", "aws lambda update-function-configuration --function-name NAME --memory-size 3008   # NAME: the function; up to 10240 MB", "Raise the function's memory", "shell", program.Sources{"https://docs.aws.amazon.com/cli/latest/reference/lambda/update-function-configuration.html": "--function-name --memory-size"}, "Runtime.ExitError", "Runtime exited with error: signal: killed", "Runtime.OutOfMemory"), lambdaCards)
	CloudRun = with(service("cloud-run", "Cloud Run", "gcloud run services update NAME --memory 2Gi   # NAME: the service", "Raise the service's memory", "shell", program.Sources{"https://cloud.google.com/sdk/gcloud/reference/run/services/update": "--memory"}, "cloud.google.com/run/docs/configuring/memory-limits"), cloudRunCards)
	AWSBatch = with(service("aws-batch", "AWS Batch", "In the job definition raise `resourceRequirements`, type MEMORY (MiB), and register a new revision.", "Raise MEMORY in the job definition", "text", nil, "OutOfMemoryError: Container killed due to memory usage"), awsBatchCards)
	PBS      = with(service("pbs", "PBS", "#PBS -l select=1:ncpus=8:mem=64gb   # PBS Pro; Torque: #PBS -l mem=64gb", "Ask for more memory", "shell", nil, "PBS: job killed:"), pbsCards)
	LSF      = with(service("lsf", "LSF", "#BSUB -M 64GB\n#BSUB -R \"rusage[mem=64GB]\"   # the unit without letters is the site's (LSF_UNIT_FOR_LIMITS)", "Ask for more memory", "shell", program.Sources{"https://www.ibm.com/docs/en/spectrum-lsf/10.1.0?topic=lsfconf-lsf-unit-limits": "LSF_UNIT_FOR_LIMITS"}, "TERM_MEMLIMIT"), lsfCards)
	HTCondor = with(service("htcondor", "HTCondor", "request_memory = 64GB", "Ask for more memory in the submit file", "config", nil, "memory usage exceeded request_memory", "Job has gone over memory limit of"), htcondorCards)
	WSL      = with(service("wsl", "WSL", "# %UserProfile%\\.wslconfig, then: wsl --shutdown\n[wsl2]\nmemory=24GB\nswap=16GB", "Give WSL more of the RAM", "config", program.Sources{"https://learn.microsoft.com/en-us/windows/wsl/basic-commands": "--shutdown"}, "microsoft-standard-WSL2", "Microsoft-standard-WSL"), wslCards)
	MacOS    = with(service("macos", "macOS", "Add memory to the machine, or use one with more: RAM is soldered on Apple silicon.", "Use a Mac with more memory", "text", nil, "Killed: 9", "EXC_RESOURCE", "jetsam", "Terminated due to memory issue"), macCards)
	PageFile = behind(with(service("windows-paging", "Windows", "In a container: raise its limit (Docker Desktop, Settings, Resources).", "Raise the limit", "text", nil, "WinError 1455", "os error 1455", "error code 1455"), pageFileCards))
)

func with(p program.Program, cards []cause.Card) program.Program {
	p.Cards = cards
	return p
}

// behind lets the cards of the program that was refused speak first.
func behind(p program.Program) program.Program {
	p.Rank = 1
	return p
}
