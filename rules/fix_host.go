package rules

var raiseShmSize = Fix{
	ID:    "raise_shm_size",
	Title: "Enlarge shared memory",
	Doc: paragraphs(
		"Data loader workers and NCCL pass data through shared memory (`/dev/shm`). A container gets 64 MB of it unless told otherwise, a small part of one batch; the worker then dies with a bus error. `--shm-size` sets it, `--ipc=host` lends the host's.",
		"In Kubernetes mount an `emptyDir` with `medium: Memory` at `/dev/shm`; it counts against the container's memory limit. Outside containers `/dev/shm` is half of RAM and seldom the problem.",
	),
	Tradeoff: "None; what is used counts as RAM.",
	Cost:     0.05,
	Check:    "`df -h /dev/shm` inside the container shows the new size.",
	Next:     "`num_workers=0`: without workers nothing goes through shared memory.",
	Steps: func(*Case) []Step {
		return []Step{
			{Kind: "shell", Text: "docker run --shm-size=8g IMAGE   # or --ipc=host"},
			{Kind: "config", Text: "services:\n  SERVICE:\n    shm_size: 8gb"},
			{Kind: "config", Text: "volumes:\n- name: shm\n  emptyDir: {medium: Memory, sizeLimit: 8Gi}\nvolumeMounts:\n- {name: shm, mountPath: /dev/shm}"},
		}
	},
}

var raisePagefile = Fix{
	ID:    "raise_pagefile",
	Title: "Enlarge the Windows page file",
	Doc: paragraphs(
		"Windows promises every program the memory it asks for only as long as RAM and page file together can keep the promise. A model that is loaded, and even memory on the card, counts. When that sum is used up the request fails (error 1455), though Task Manager shows free RAM and free memory of the card.",
		"Let Windows manage the size, on a drive with room; large models want 30 to 100 GB and more. The space is mostly promised, not written, so it costs little speed.",
		"It does not make the card larger: it helps when the card was not full.",
	),
	Tradeoff: "Disk space, and a restart.",
	Cost:     0.1,
	Check:    "Task Manager, Performance, Memory: the second figure of `Committed` is the new limit, and the first stays below it while loading.",
	Next:     "Close other programs, lower the number of data loader workers, or load a smaller file (`.safetensors`, fp16).",
	Steps:    paste("ui", "Windows key, \"View advanced system settings\"; Performance: Settings; Advanced; Virtual memory: Change. Tick \"Automatically manage\", or choose a drive with room and set Custom size, initial 32768 and maximum 98304 (MB). Restart."),
}

var addSwap = Fix{
	ID:    "add_swap",
	Title: "Add swap",
	Doc: paragraphs(
		"Swap is disk space that stands in for RAM. It carries a short peak, as when a checkpoint is read and converted, and saves the machine from the kernel's OOM killer. Memory that is in constant use should not be there: it is a hundred times slower.",
		"It does not help the card, and not inside a container, job or service with a memory limit of its own: raise that limit instead.",
	),
	Tradeoff: "Disk space; slow whenever it is used.",
	Cost:     0.15,
	Check:    "`swapon --show` lists it, `free -h` shows its size.",
	Next:     "If it crawls, the need is not a peak: use a smaller model or more RAM.",
	Steps:    stepsSwap,
}

var lowerBuildJobs = Fix{
	ID:    "lower_build_jobs",
	Title: "Compile with fewer jobs",
	Doc: paragraphs(
		"A CUDA source file takes 2 to 10 GB of RAM to compile, and the build starts one job for each processor core. The kernel then kills a compiler in the middle (`Killed signal terminated program cc1plus`). Two jobs are slow and get there. The card plays no part.",
	),
	Tradeoff: "The build takes longer.",
	Cost:     0.1,
	Check:    checkRAM,
	Next:     "One job; or add swap; or look for a ready-made wheel.",
	Steps: func(c *Case) []Step {
		return []Step{environ(c, "MAX_JOBS", "2"), environ(c, "NVCC_THREADS", "1"), {Kind: "shell", Text: "make -j2"}}
	},
}

var freeDisk = Fix{
	ID:    "free_disk",
	Title: "Free disk space",
	Doc: paragraphs(
		"Checkpoints, caches of models (`~/.cache/huggingface`), container images and page files fill disks. `No space left on device` is about the disk, not about memory, unless the path is `/dev/shm`.",
	),
	Tradeoff: "What you delete has to be downloaded again.",
	Cost:     0.2,
	Check:    "`df -h` shows room on the drive of the path in the message.",
	Next:     "Move the cache: set `HF_HOME` to a drive with room.",
	Steps: func(*Case) []Step {
		return []Step{{Kind: "shell", Text: "df -h . /tmp ~ /dev/shm"}, {Kind: "shell", Text: "du -xh --max-depth=2 ~/.cache | sort -h | tail"}}
	},
}

func stepsSwap(c *Case) []Step {
	if c.Windows() {
		return []Step{{Kind: "ui", Text: "On Windows swap is the page file: Virtual memory, Change, \"Automatically manage\"; restart."}}
	}
	return []Step{
		{Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile"},
		{Kind: "shell", Text: "echo '/swapfile none swap sw 0 0' | sudo tee -a /etc/fstab   # to keep it over restarts"},
	}
}
