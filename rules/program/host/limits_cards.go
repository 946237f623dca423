package host

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

// limit is the card of a service that ended a program at a limit.
func limit(id string, kinds []fact.Kind, weight float64, means, not, source string, cures ...cause.Cure) []cause.Card {
	return []cause.Card{{ID: id, Kinds: kinds, Cause: cause.HostMemory, Weight: weight, Means: means, Not: not, Cures: cures, Sources: []string{source}}}
}

var (
	raise   = cause.Cure{Fix: "raise_memory_limit", Cost: "Less for the others, or waiting time"}
	signal9 = []fact.Kind{fact.ShellKilled, fact.ContainerKill}
	queue   = []fact.Kind{fact.SlurmKill}
)

var dockerRaise = cause.Cure{Fix: "raise_memory_limit", Title: "See whose limit it was, and raise it", Kind: "text", Text: "`docker inspect -f '{{.HostConfig.Memory}}' NAME` (NAME: the container) shows its own, 0 for none. Its own: `--memory=16g` (Compose: `mem_limit: 16g`). None: Docker Desktop, Settings, Resources, Memory; with WSL 2 in .wslconfig; on Linux the machine was full.", Cost: "Less for the rest"}

var dockerCards = append(
	limit("docker/oom-killed", []fact.Kind{fact.ContainerKill}, 0.94,
		"Docker says OOMKilled: the kernel ended a process of the container for memory. With a --memory limit that was it; without one, Docker Desktop's virtual machine or the whole host was full. Files in /dev/shm and tmpfs count as well.",
		"GPU settings: this is the computer's own memory.", "moby/daemon/monitor.go", dockerRaise, lessAtOnce),
	limit("docker/exited-137", []fact.Kind{fact.ShellKilled}, 0.78,
		"The container ended with 137: signal 9. As a rule that is memory, its own limit or the host's. `docker stop` that waited too long, and health checks, send it too: `docker inspect` says OOMKilled true or false.",
		"GPU settings: this is the computer's own memory.", "moby/daemon/monitor.go", dockerRaise, whoKilled, lessAtOnce)...)

var githubCards = limit("github-actions/runner", signal9, 0.82,
	"A process on the runner was ended by signal 9 (137), for memory as a rule. Standard runners have 16 GB for public repositories and half of that for private ones; tests and compilers in parallel fill it.",
	"Re-running it: the same job needs the same memory.", "https://docs.github.com/en/actions/reference/runners/github-hosted-runners",
	cause.Cure{Fix: "lower_num_workers", Title: "Fewer processes at once", Kind: "text", Text: "pytest `-n 2` in place of `-n auto`; `make -j2`; for Jest `--maxWorkers=2`; builds with CUDA `MAX_JOBS=1`.", Cost: "A longer job"},
	cause.Cure{Fix: "add_swap", Title: "Add swap in a step", Kind: "config", Text: "- run: sudo fallocate -l 8G /mnt/swap && sudo chmod 600 /mnt/swap && sudo mkswap /mnt/swap && sudo swapon /mnt/swap", Cost: "Slow where it is used"},
	raise)

var colabCards = limit("colab/ram", []fact.Kind{fact.ShellKilled}, 0.93,
	"The notebook's own RAM (about 12.7 GB in the free plan) was used up and the kernel ended; the card's memory is another thing. Loading a model in 32 bit, or a whole data set as a list or DataFrame, does that.",
	"A smaller batch on the card: it is RAM that ran out.", "https://research.google.com/colaboratory/faq.html",
	cause.Cure{Fix: "stream_dataset", Title: "Do not hold it all in RAM", Kind: "text", Text: "Read the data in parts (`chunksize=`, `streaming=True`, `mmap_mode=\"r\"`); load models straight to the card in 16 bit, from safetensors.", Cost: "Some rewriting"},
	cause.Cure{Fix: "empty_cache", Title: "Delete what earlier cells left", Kind: "python", Text: "del df, model   # your own names\nimport gc; gc.collect()", Cost: "None"},
	raise)

var kaggleCards = limit("kaggle/ram", []fact.Kind{fact.ShellKilled}, 0.93,
	"The session's RAM (about 30 GB on CPU and GPU sessions) was used up, and Kaggle restarted it; the card's memory is another thing. A whole data set as pixels or a wide DataFrame does that.",
	"A smaller batch on the card: it is RAM that ran out.", "https://www.kaggle.com/docs/notebooks",
	cause.Cure{Fix: "stream_dataset", Title: "Do not hold it all in RAM", Kind: "text", Text: "Read columns that you use, with smaller types, from Parquet; load images batch by batch in a Dataset, not into one array.", Cost: "Some rewriting"},
	cause.Cure{Fix: "empty_cache", Title: "Delete what earlier cells left", Kind: "python", Text: "del train_df   # your own names\nimport gc; gc.collect()", Cost: "None"},
	raise)

var lambdaCards = limit("aws-lambda/memory", []fact.Kind{fact.ShellKilled}, 0.88,
	"The function reached its memory size: in the REPORT line Max Memory Used equals Memory Size. Models and libraries unpacked into /tmp do not count, what is loaded does. Processor time grows with the memory as well.",
	"A longer timeout: it was ended for memory.", "https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html",
	raise,
	cause.Cure{Fix: "stream_dataset", Title: "Stream instead of reading whole", Kind: "text", Text: "Read S3 objects in pieces (`iter_chunks`), and load models outside the handler, once.", Cost: "Some rewriting"})

var cloudRunCards = limit("cloud-run/memory", []fact.Kind{fact.ContainerKill}, 0.94,
	"The instance passed its limit of {limit} and was ended. Files that are written count too: its file system is in memory. Requests served at once share it.",
	"More instances: each has the same limit.", "https://cloud.google.com/run/docs/configuring/memory-limits",
	raise,
	cause.Cure{Fix: "lower_parallel", Title: "Fewer requests per instance", Kind: "shell", Text: "gcloud run services update NAME --concurrency 10   # NAME: the service; 80 by default", Cost: "More instances"})

var awsBatchCards = limit("aws-batch/memory", signal9, 0.94,
	"The container passed the memory of its job definition and was ended (137). The instance may have had more: the definition's number is a hard limit.",
	"A larger instance type: the limit stays what the definition says.", "https://docs.aws.amazon.com/batch/latest/userguide/memory-management.html",
	raise, lessAtOnce)

var macCards = append(
	limit("macos/killed", []fact.Kind{fact.ShellKilled}, 0.72,
		"macOS ended the process with signal 9, without a word. As a rule RAM and swap were full; a program that is not signed, or `kill -9`, looks the same. GPU memory is the same RAM on Apple silicon.",
		"Linux advice such as swap files: macOS makes its swap by itself while the disk has room.", "https://support.apple.com/guide/activity-monitor/view-memory-usage-actmntr1004/mac",
		cause.Cure{Fix: "close_other_apps", Title: "Look at memory pressure", Kind: "text", Text: "Activity Monitor, Memory: red pressure while it runs means RAM; quit what takes most, and free disk space for swap.", Cost: "Free"},
		lessAtOnce,
		cause.Cure{Fix: "use_smaller_model", Title: "A smaller model or more compression", Kind: "text", Text: "A model should take at most two thirds of RAM: a 4-bit file needs about 0.6 GB per billion parameters.", Cost: "Some quality"}),
	limit("macos/jetsam", []fact.Kind{fact.AppleKill}, 0.85,
		"The system ended the app at its memory limit (jetsam). On iPhone and iPad each app has one, about half of RAM; on a Mac it is a limit set for that process. The card is the same RAM.",
		"Swap: iOS ends apps instead of swapping them.", "https://developer.apple.com/documentation/xcode/identifying-high-memory-use-with-jetsam-event-reports",
		cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller model", Kind: "text", Text: "Stay below half of the device's RAM with weights and cache together; 1 to 3 billion parameters in 4 bit on phones.", Cost: "Some quality"},
		cause.Cure{Fix: "use_lower_quant", Title: "Use a 4-bit model", Kind: "text", Text: "Take the 4-bit conversion of the same model.", Cost: "Little quality"},
		cause.Cure{Fix: "raise_memory_limit", Title: "iOS: ask for the larger limit", Kind: "text", Text: "Add the entitlement `com.apple.developer.kernel.increased-memory-limit` to the app.", Cost: "None; some devices ignore it"})...)

var wslCards = limit("wsl/half-of-ram", []fact.Kind{fact.KernelKill, fact.ShellKilled}, 0.9,
	"WSL's virtual machine was out of memory. It gets half of the computer's RAM by default (8 GB on old builds of Windows 10), whatever Windows itself has free, and a quarter of that as swap.",
	"Closing Windows programs: WSL's share does not grow by that.", "https://learn.microsoft.com/en-us/windows/wsl/wsl-config",
	cause.Cure{Fix: "raise_memory_limit", Title: "Raise its share", Kind: "config", Text: "# %UserProfile%\\.wslconfig, then: wsl --shutdown\n[wsl2]\nmemory=24GB   # leave 4 to 8 GB to Windows\nswap=16GB", Cost: "Less for Windows"},
	lessAtOnce)

var pageFileCards = limit("windows/commit-limit", []fact.Kind{fact.CommitLimit}, 0.94,
	"Error 1455: Windows promises memory before it is used, and RAM plus page file are promised away. RAM may look free. A model file or the CUDA libraries take several GB of that promise in each Python process, so loader workers multiply it.",
	"Freeing VRAM or a smaller batch on the card: this is the computer's own memory.", "https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--1300-1699-",
	cause.Cure{Fix: "raise_pagefile", Title: "Let the page file grow", Kind: "ui", Text: "Advanced system settings, Performance, Settings, Advanced, Virtual memory: custom size, initial 16384, maximum 65536 MB, on an SSD with room; restart", Cost: "Disk space and a restart"},
	cause.Cure{Fix: "lower_num_workers", Title: "If workers load data: fewer of them", Kind: "text", Text: "Set the number of workers to 0 or 2 (`num_workers=0`, YOLO: `workers=0`).", Cost: "Data may come slower"},
	cause.Cure{Fix: "close_other_apps", Title: "Look at Committed", Kind: "text", Text: "Task Manager, Performance, Memory: \"Committed\" shows used and limit; close what takes most.", Cost: "Free"})
