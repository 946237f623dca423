package host

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// service is a host that only has its own way to raise a limit, and a card.
func service(name, shown, limit, title, kind string, sources program.Sources, proofs ...string) program.Program {
	var commands []string
	if command, _, _ := strings.Cut(limit, " "); kind == "shell" && command != "docker" { // which others have, too
		commands = []string{command}
	}
	return program.Program{
		Name: name, Shown: shown, Edits: "admin", Language: "other", Proofs: proofs, Sources: sources, Commands: commands,
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
	Lambda   = with(service("aws-lambda", "AWS Lambda", "aws lambda update-function-configuration --function-name FUNCTION --memory-size 3008   # FUNCTION: its name in the console; twice today's size, up to 10240 MB", "Raise the function's memory", "shell", program.Sources{"https://docs.aws.amazon.com/cli/latest/reference/lambda/update-function-configuration.html": "--function-name --memory-size"}, "Runtime.ExitError", "Runtime exited with error: signal: killed", "Runtime.OutOfMemory"), lambdaCards)
	CloudRun = with(service("cloud-run", "Cloud Run", "gcloud run services update SERVICE --memory 2Gi   # SERVICE: its name in the console; twice today's limit", "Raise the service's memory", "shell", program.Sources{"https://cloud.google.com/sdk/gcloud/reference/run/services/update": "--memory"}, "cloud.google.com/run/docs/configuring/memory-limits"), cloudRunCards)
	AWSBatch = with(service("aws-batch", "AWS Batch", "In the job definition raise `resourceRequirements`, type MEMORY (MiB), and register a new revision.", "Raise MEMORY in the job definition", "text", nil, "OutOfMemoryError: Container killed due to memory usage"), awsBatchCards)
	PBS      = with(service("pbs", "PBS", "qstat -fx JOB | grep -i -E 'mem|vmem'   # asked for and used; then ask for twice that with #PBS -l mem=", "Ask for more memory", "shell", nil, "PBS: job killed:", "Aborted by PBS Server"), slices.Concat(pbsSpaceCards, pbsCards))
	LSF      = with(service("lsf", "LSF", "bjobs -l JOB | grep -i -E 'mem|limit'   # asked for and used; then ask for twice that with #BSUB -M and -R rusage[mem=]", "Ask for more memory", "shell", program.Sources{"https://www.ibm.com/docs/en/spectrum-lsf/10.1.0?topic=lsfconf-lsf-unit-limits": "LSF_UNIT_FOR_LIMITS"}, "TERM_MEMLIMIT", "LSBATCH: User input", "Sender: LSF System"), slices.Concat(lsfCards, lsfKilledCards))
	HTCondor = with(service("htcondor", "HTCondor", "condor_q -l JOB | grep -E '^(RequestMemory|MemoryUsage|ResidentSetSize)'   # asked for and used; then request_memory twice that", "Ask for more memory in the submit file", "shell", nil, "memory usage exceeded request_memory", "Job has gone over memory limit of"), htcondorCards)
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
