package fix

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

// ofMachine change what the machine allows and has, and what runs on it.
var ofMachine = []Fix{
	{
		ID:       "raise_shm_size",
		Title:    "Enlarge shared memory",
		Tradeoff: "None; what is used of it counts as RAM.",
		Cost:     free,
		Check:    "`df -h /dev/shm` inside the container shows the new size.",
		Next:     "`num_workers=0`: without workers nothing goes through shared memory.",
		Told:     "Give the container more shared memory.",
		Steps: func(*ledger.Case) []step.Step {
			return []step.Step{
				{Kind: "shell", Text: "docker run --shm-size=8g IMAGE   # or --ipc=host"},
				{Kind: "config", Text: "services:\n  SERVICE:\n    shm_size: 8gb"},
				{Kind: "config", Text: "volumes:\n- name: shm\n  emptyDir: {medium: Memory, sizeLimit: 8Gi}\nvolumeMounts:\n- {name: shm, mountPath: /dev/shm}"},
			}
		},
	},
	{
		ID:       "raise_pagefile",
		Title:    "Enlarge the Windows page file",
		Tradeoff: "Disk space, and a restart.",
		Cost:     cheap,
		Check:    "Task Manager, Performance, Memory: the second figure of `Committed` is the new limit, and the first stays below it while loading.",
		Next:     "Close other programs, lower the number of data loader workers, or load a smaller file (`.safetensors`, fp16).",
		Told:     "Enlarge the page file of Windows: System, Advanced, Performance, Virtual memory.",
		Steps:    step.Paste("ui", "Windows key, \"View advanced system settings\"; Performance: Settings; Advanced; Virtual memory: Change. Tick \"Automatically manage\", or choose a drive with free space and set Custom size, initial 32768 and maximum 98304 (MB). Restart."),
	},
	{
		ID:       "lower_build_jobs",
		Title:    "Compile with fewer jobs",
		Tradeoff: "The build takes longer.",
		Cost:     cheap,
		Check:    CheckRAM,
		Next:     "One job; or add swap; or look for a ready-made wheel.",
		Told:     "Compile with fewer jobs at a time.",
		Steps: func(c *ledger.Case) []step.Step {
			return []step.Step{step.Environ(c, "MAX_JOBS", "2"), step.Environ(c, "NVCC_THREADS", "1"), {Kind: "shell", Text: "make -j2"}}
		},
	},
	{
		ID:       "free_disk",
		Title:    "Free disk space",
		Tradeoff: "What you delete has to be downloaded again.",
		Cost:     moderate,
		Check:    "`df -h` shows free space on the drive of the path in the message.",
		Next:     "Move the cache: set `HF_HOME` to a drive with free space.",
		Steps: func(*ledger.Case) []step.Step {
			return []step.Step{{Kind: "shell", Text: "df -h . /tmp ~ /dev/shm"}, {Kind: "shell", Text: "du -xh --max-depth=2 ~/.cache | sort -h | tail"}}
		},
	},
	{
		ID:       "add_swap",
		Title:    "Add swap",
		Tradeoff: "Disk space; slow whenever it is used.",
		Cost:     cheap,
		Check:    "`swapon --show` lists it, `free -h` shows its size.",
		Next:     "If everything crawls, it needs that memory all the time: use a smaller model or more RAM.",
		Told:     "Give the system more virtual memory (swap, or the page file on Windows).",
		Steps:    stepsSwap,
		Useless:  uselessSwap,
	},
	{
		ID:       "raise_memory_limit",
		Title:    "Raise the memory limit that was set",
		Tradeoff: "Less memory for other programs on the machine.",
		Cost:     moderate,
		Check:    "`docker stats`, `kubectl top pod` or `sacct -o MaxRSS` stay below the new limit; for PyTorch the message no longer says `allowed`.",
		Next:     "If its memory grows up to the new limit too, something leaks: look for what grows.",
		Told:     "Raise the memory limit of the container or job above what the log says it needed.",
		Steps:    stepsMemoryLimit,
	},
	{
		ID:       "bigger_gpu",
		Title:    "Use a GPU with more memory",
		Tradeoff: "Money.",
		Cost:     dear,
		Check:    checkLoaded,
		Next:     "If it fails there as well, the size of the GPU is not the cause: look for a growing context, batch or leak.",
		Needs:    Needs{size: true},
		Steps:    stepsBiggerGPU,
	},
	{
		ID:       "select_gpu",
		Title:    "Use another GPU",
		Tradeoff: "Free, if there is another GPU; it may be slower.",
		Cost:     free,
		Check:    "`nvidia-smi` while it runs: the memory grows on the GPU you chose.",
		Next:     "If the other GPU is just as full, find out which processes fill it.",
		Told:     "Choose another GPU in your program's settings, or set `CUDA_VISIBLE_DEVICES` before the start.",
		Steps:    stepsSelectGPU,
		Useless:  func(c *ledger.Case) string { return ledger.NeverFits(c) },
	},
	{
		ID:       "close_other_apps",
		Title:    "Close other programs that use memory",
		Tradeoff: "Free; you can't use them meanwhile.",
		Cost:     free,
		Check:    "Start again with them closed, and compare the free figure of the message (or Task Manager) with the one before.",
		Next:     "If little was gained, make the work itself smaller.",
		Told:     "Close other programs that use the same memory.",
		Steps:    stepsCloseApps,
	},
	{
		ID:       "restart_session",
		Title:    "Restart the program or notebook kernel",
		Tradeoff: "The state of the session is lost; the model has to be loaded again.",
		Cost:     free,
		Check:    "In the new session, before the model is loaded: `torch.cuda.mem_get_info()` shows nearly all of the GPU free.",
		Next:     "If a fresh session fails at the same place, nothing was left over: make the work smaller instead.",
		Told:     "Restart the program.",
		Steps: func(c *ledger.Case) []step.Step {
			if c.Signal("notebook") != nil {
				return []step.Step{{Kind: "ui", Text: "Menu Kernel (Colab: Runtime), Restart. Then run only the cells you need, each once."}}
			}
			return []step.Step{{Kind: "text", Text: "End the program (Ctrl+C; in a notebook Kernel, Restart). Check in `" + reader.Monitor(c) + "` that its memory is free. Then start it again with one model only."}}
		},
	},
	{
		ID:       "upgrade_version",
		Title:    "Update the program",
		Tradeoff: "Half an hour; other things may change. Note the old version first, so that you can go back.",
		Cost:     moderate,
		Check:    "Print the version (`pip show torch`, `ollama --version`, `vllm --version`) and run the same thing again.",
		Next:     "If it stays, report it with the whole log, and make the work smaller meanwhile.",
		Told:     "Note the version you have, then install the newest release.",
		Steps:    stepsUpgrade,
	},
}

func uselessSwap(c *ledger.Case) string {
	switch swap := ledger.FullSwap(c); {
	case ledger.Capped(c):
		return "A limit of the container or job was reached: swap on the machine does not raise it."
	case swap > 0:
		return "More swap: " + units.Amount(swap) + " of it was used up as well, so more only delays the crash."
	case c.Asked.Bytes >= 128*units.GiB:
		return "It is far too slow for one array of " + c.Asked.String() + "."
	}
	return ""
}

func stepsSwap(c *ledger.Case) []step.Step {
	if c.Windows() {
		return []step.Step{{Kind: "ui", Text: "On Windows swap is the page file: Virtual memory, Change, \"Automatically manage\"; restart."}}
	}
	return []step.Step{
		{Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile"},
		{Kind: "shell", Text: "echo '/swapfile none swap sw 0 0' | sudo tee -a /etc/fstab   # to keep it over restarts"},
	}
}

func stepsMemoryLimit(c *ledger.Case) []step.Step {
	if c.Root(fact.TorchAlloc, fact.TorchAsync) {
		return []step.Step{{Kind: "python", Text: fmt.Sprintf("torch.cuda.set_per_process_memory_fraction(1.0, %d)   # or remove the line that sets it lower", ledger.GPU(c))}}
	}
	if reader.RefusedByAllocator(c) {
		return step.AddressSpace(c)
	}
	if c.Reader.OS == "wsl" {
		return []step.Step{
			{Kind: "config", Text: "# C:\\Users\\YOU\\.wslconfig; memory: below what the computer has (the default is half of it)\n[wsl2]\nmemory=24GB\nswap=32GB"},
			{Kind: "shell", Text: "wsl --shutdown   # in PowerShell; then start WSL again"},
		}
	}
	if c.Near("/content/") {
		return []step.Step{{Kind: "ui", Text: "Colab: Runtime, Change runtime type: High-RAM (paid plans)."}}
	}
	return []step.Step{{Kind: "text", Text: "If a limit was set, double it: Docker `--memory`, Compose `mem_limit:`, Kubernetes `resources.limits.memory`, a batch job's memory request. If there is none, the machine needs more RAM."}}
}

func stepsBiggerGPU(c *ledger.Case) []step.Step {
	f := c.F()
	if f.Requested != nil && f.Total != nil && ledger.OnCard(c) {
		sizes := "4, 6, 8, 12, 16, 24, 32, 48, 80, 96, 140, 180"
		for _, n := range [...]int64{4, 6, 8, 12, 16, 24, 32, 48, 80, 96, 140} {
			if f.Total.Bytes > (n-1)*units.GiB {
				sizes = strings.TrimPrefix(sizes, fmt.Sprintf("%d, ", n))
			}
		}
		return []step.Step{{Kind: "text", Text: fmt.Sprintf("Take a GPU with clearly more than %s: the next sizes are %s GB.", f.Total, strings.Join(strings.Split(sizes, ", ")[:min(3, strings.Count(sizes, ", ")+1)], ", "))}}
	}
	return []step.Step{{Kind: "text", Text: "Rent a GPU with more memory for an hour first, to see whether it is enough."}}
}

func stepsSelectGPU(c *ledger.Case) []step.Step {
	other := strconv.Itoa(ledger.OtherGPU(c))
	if variable := visible[c.Backend]; variable != "" {
		return []step.Step{step.Environ(c, variable, other)}
	}
	return []step.Step{
		{Kind: "shell", Text: "nvidia-smi --query-gpu=index,name,memory.free,memory.total --format=csv"},
		step.Environ(c, "CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
		step.Environ(c, "CUDA_VISIBLE_DEVICES", other),
	}
}

// visible are the variables that choose a card, by backend.
var visible = map[string]string{"rocm": "HIP_VISIBLE_DEVICES", "xpu": "ZE_AFFINITY_MASK", "npu": "ASCEND_RT_VISIBLE_DEVICES", "vulkan": "GGML_VK_VISIBLE_DEVICES"}

func stepsCloseApps(c *ledger.Case) []step.Step {
	switch {
	case c.Windows():
		return []step.Step{{Kind: "ui", Text: "Task Manager, tab Details: right-click the header, add \"Commit size\" and \"Dedicated GPU memory\", and sort by them. Close what you do not need: browsers, games, other Python programs."}}
	case c.Backend == "mps" || c.Backend == "metal":
		return []step.Step{{Kind: "ui", Text: "Activity Monitor, tab Memory: quit the largest programs that you do not need."}}
	case ledger.OnCard(c):
		return []step.Step{{Kind: "shell", Text: cmp.Or(lists[c.Backend], "nvidia-smi") + "   # lists programs that use the GPU; close browsers, games, other AI programs"}}
	}
	return []step.Step{{Kind: "shell", Text: "ps -eo pid,rss,comm --sort=-rss | head -n 15   # the largest programs; close those you do not need"}}
}

func stepsUpgrade(c *ledger.Case) []step.Step {
	if c.In("pytorch") || len(c.Stack) == 0 {
		return []step.Step{
			{Kind: "shell", Text: "pip list   # note which torch, transformers, accelerate, diffusers you have"},
			{Kind: "text", Text: "Update PyTorch with the command that https://pytorch.org/get-started/locally/ gives for this system: a plain `pip install torch` installs the wrong build on Windows and for AMD and Intel GPUs."},
		}
	}
	return []step.Step{{Kind: "text", Text: "Note the version you have, install the newest one, and search its issues for the error message of this log."}}
}
