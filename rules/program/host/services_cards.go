package host

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/host/platforms"
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
		Titles:  map[string]string{"raise_memory_limit": title},
		Steps:   map[string]func(*ledger.Case) []step.Step{"raise_memory_limit": step.Paste(kind, limit)},
		Useless: map[string]func(*ledger.Case) string{"add_swap": idleSwap, "close_other_apps": othersJobs, "use_smaller_model": noModel},
	}
}

// Services and batch systems that say in words of their own that they ended
// something. Proofs are those words: a log that only mentions the service is
// another program's.
var (
	Docker     = with(service("docker", "Docker", "docker run --memory=16g --memory-swap=16g IMAGE   # IMAGE: what you start today; in Compose: mem_limit: 16g", "Raise the container's limit", "shell", program.Sources{"docker/cli/command/container/opts.go": "--memory --memory-swap"}, `"OOMKilled": true`, `"OOMKilled":true`, "OOMKilled=true", "{{.State.OOMKilled}}", "container oom ", "Exited (137)"), platforms.Docker)
	GitHub     = with(service("github-actions", "GitHub Actions", "Set `runs-on:` to a larger runner of your organisation (for example `ubuntu-latest-8-cores`), or use a self-hosted one.", "Use a larger runner", "text", nil, "Process completed with exit code 137", "The runner has received a shutdown signal"), platforms.GitHub)
	Colab      = with(service("colab", "Colab", "Menu Runtime, Change runtime type: High-RAM (paid plans).", "Choose a runtime with more RAM", "ui", nil, "crashed after using all available RAM"), platforms.Colab)
	Kaggle     = with(service("kaggle", "Kaggle", "Session options, Accelerator: the choices differ in RAM, and a TPU session has the most.", "Choose a session with more RAM", "ui", nil, "Your notebook tried to allocate more memory than is available"), platforms.Kaggle)
	Lambda     = with(service("aws-lambda", "AWS Lambda", "aws lambda update-function-configuration --function-name FUNCTION --memory-size 3008   # FUNCTION: its name in the console; in place of 3008: twice today's size, up to 10240 MB", "Raise the function's memory", "shell", program.Sources{"https://docs.aws.amazon.com/cli/latest/reference/lambda/update-function-configuration.html": "--function-name --memory-size"}, "Runtime.ExitError", "Runtime exited with error: signal: killed", "Runtime.OutOfMemory"), platforms.Lambda)
	Gunicorn   = with(service("gunicorn", "Gunicorn", "docker update --memory 4g --memory-swap 4g CONTAINER   # in place of 4g: twice today's; CONTAINER: its name in `docker ps`", "Raise the container's limit", "shell", program.Sources{"docker/cli/command/container/opts.go": "--memory --memory-swap", "gunicorn/config.py": "--workers --threads --preload --timeout --max-requests --max-requests-jitter"}, "was sent SIGKILL! Perhaps out of memory?", "was terminated due to signal 9"), platforms.Gunicorn)
	Joblib     = scripted(with(service("joblib", "joblib", "Raise the limit of the container or job where it was set.", "Raise the limit, if there is one", "text", nil, "TerminatedWorkerError", "excessive memory usage causing the Operating System to kill"), platforms.Joblib))
	SageMaker  = with(service("sagemaker", "SageMaker", "Set `instance_type=` of the estimator to the next size.", "Choose the next instance size", "text", nil, "AlgorithmError: ExecuteUserScriptError", "Error for Training job"), platforms.SageMaker)
	Spaces     = with(service("hf-spaces", "Hugging Face Spaces", "Settings, Space hardware: each entry states its RAM.", "Choose hardware with more RAM", "ui", nil, "Memory limit exceeded ("), platforms.Spaces)
	Streamlit  = with(service("streamlit-cloud", "Streamlit Cloud", "Run it where there is more RAM: a Hugging Face Space, or a virtual machine.", "Run it where there is more RAM", "ui", nil, "gone over its resource limits"), platforms.Streamlit)
	Render     = with(service("render", "Render", "Settings, Instance Type: one with at least twice the RAM.", "Choose a larger instance type", "ui", nil, "Ran out of memory (used over"), platforms.Render)
	CloudRun   = doubled(with(service("cloud-run", "Cloud Run", "gcloud run services update MYSERVICE --memory 2Gi   # MYSERVICE: the service's name in the console; 2Gi: twice today's limit, in whole GiB", "Raise the service's memory", "shell", program.Sources{"https://cloud.google.com/sdk/gcloud/reference/run/services/update": "--memory"}, "cloud.google.com/run/docs/configuring/memory-limits"), platforms.CloudRun), "2Gi", "Gi")
	AWSBatch   = with(service("aws-batch", "AWS Batch", "Double the MEMORY value (MiB) under `resourceRequirements`, and register a new revision of the definition.", "Raise MEMORY in the job definition", "text", nil, "OutOfMemoryError: Container killed due to memory usage"), platforms.AWSBatch)
	PBS        = with(service("pbs", "PBS", "qstat -fx JOB | grep -i -E 'mem|vmem'   # requested and used; then request twice that with #PBS -l mem=", "Request more memory", "shell", nil, "PBS: job killed:", "Aborted by PBS Server", "Cgroup mem limit exceeded", "Cgroup memsw limit exceeded"), slices.Concat(pbsSpaceCards, pbsCards))
	LSF        = with(service("lsf", "LSF", "bjobs -l JOB | grep -i -E 'mem|limit'   # requested and used; then request twice that with #BSUB -M and -R rusage[mem=]", "Request more memory", "shell", program.Sources{"https://www.ibm.com/docs/en/spectrum-lsf/10.1.0?topic=lsfconf-lsf-unit-limits": "LSF_UNIT_FOR_LIMITS"}, "TERM_MEMLIMIT", "TERM_SWAP", "LSBATCH: User input", "Sender: LSF System"), slices.Concat(lsfCards, platforms.LSFKilled))
	HTCondor   = with(service("htcondor", "HTCondor", "condor_q -l JOB | grep -E '^(RequestMemory|MemoryUsage|ResidentSetSize)'   # requested and used; then set request_memory to twice that", "Request more memory in the submit file", "shell", nil, "memory usage exceeded request_memory", "Job has gone over memory limit of", "Job has gone over cgroup memory limit of"), htcondorCards)
	GridEngine = with(service("sge", "Grid Engine", "`qacct -j JOB` shows maxvmem (used) and category (requested). Then request twice that with `-l h_vmem=`.", "Request more memory", "text", nil, "exceeds job hard limit", "died through signal KILL", "qacct", "maxvmem"), gridCards)
	Jetson     = with(service("jetson", "The Jetson", "The board's RAM is fixed: use a smaller model, or a board with more RAM.", "Use a board with more RAM", "text", nil, "NvMapMemAllocInternalTagged:"), platforms.Jetson)
	WSL        = with(service("wsl", "WSL", "# %UserProfile%\\.wslconfig, then: wsl --shutdown\n[wsl2]\nmemory=24GB\nswap=16GB", "Give WSL more of the RAM", "config", program.Sources{"https://learn.microsoft.com/en-us/windows/wsl/basic-commands": "--shutdown"}, "microsoft-standard-WSL2", "Microsoft-standard-WSL", "Wsl/Service"), slices.Concat(platforms.WSLStart, platforms.WSL))
	MacOS      = ofMac(with(service("macos", "macOS", "RAM is soldered on Apple silicon: use a Mac with more memory.", "Use a Mac with more memory", "text", nil, "Killed: 9", "EXC_RESOURCE", "jetsam", "Terminated due to memory issue", "zsh: killed", "out of application memory", "low swap: killing", "low swap: suspending pid", "low swap: throttling pid", "largest compressed process", "low swap: failed to create swapfile", "vnode_setsize for swap files failed", "no paging space action", "] due to swap exhaustion", "mach_vm_map(size=", "per-process-limit", "vm-pageshortage", "largestProcess"), platforms.MacOS))
	PageFile   = behind(with(service("windows-paging", "Windows", "In a container: raise its limit (Docker Desktop, Settings, Resources).", "Raise the limit", "text", nil, "WinError 1455", "os error 1455", "error code 1455", "Errno 1455]", "The paging file is too small for this operation to complete", "Il file di paging è troppo piccolo", "Die Auslagerungsdatei ist zu klein", "Le fichier de pagination est insuffisant", "El archivo de paginación es demasiado pequeño", "O arquivo de paginação é muito pequeno", "Файл подкачки слишком мал", "Plik stronicowania jest za mały", "页面文件太小", "分頁檔太小", "ページング ファイルが小さすぎるため", "페이징 파일이 너무 작습니다", "disk belleği dosyası çok küçük", "Het wisselbestand is te klein", "Stránkovací soubor je příliš malý", "A lapozófájl túl kicsi", "diagnosed a low virtual memory condition", "low on virtual memory", "0xC0000017", "0xC000012D", "WinError 8]"), slices.Concat(platforms.Windows, platforms.PageFile)))
)

// Programs that stand with the platforms.
var Shell, Android = platforms.Shell, platforms.Android

// doubled puts twice the log's limit in place of an example.
func doubled(p program.Program, example, unit string) program.Program {
	paste := p.Steps["raise_memory_limit"]
	p.Steps["raise_memory_limit"] = func(c *ledger.Case) []step.Step {
		steps := paste(c)
		if to := wanted(c, unit); to != "" {
			steps[0].Text = strings.ReplaceAll(steps[0].Text, example, to)
		}
		return steps
	}
	return p
}

func with(p program.Program, cards []cause.Card) program.Program {
	p.Cards = cards
	return p
}

// ofMac counts zsh's word only beside what a Mac alone has: zsh runs on Linux, too.
func ofMac(p program.Program) program.Program {
	p.Beside = map[string][]string{"zsh: killed": {"mlx", "/Users/", "homebrew"}}
	return p
}

// scripted is a library: its readers write Python.
func scripted(p program.Program) program.Program {
	p.Edits, p.Language = "code", "python"
	return p
}

// behind lets the cards of the program that was refused speak first.
func behind(p program.Program) program.Program {
	p.Rank = 1
	return p
}
