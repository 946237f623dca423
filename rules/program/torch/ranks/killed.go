package ranks

import (
	"regexp"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var rankPattern = regexp.MustCompile(`local_rank: (\d{1,3}) \(pid: (\d{1,9})\)`)

// rankFigures are the rank that was killed and its process.
func rankFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"rank": "", "pid": ""}
	if m := rankPattern.FindStringSubmatch(c.Failure.Message); m != nil {
		out["rank"], out["pid"] = m[1], m[2]
	}
	return out
}

// KilledCards are about ranks that signal 9 ended.
var KilledCards = []cause.Card{
	{
		ID: "pytorch/one-rank-killed", Kinds: []fact.Kind{fact.RankKilled}, Unsaid: []string{"closing signal SIGTERM", "exits with return code = -9", "zero_optimization"}, Figures: rankFigures,
		If:    func(c *ledger.Case) bool { return !ledger.Capped(c) && rankFigures(c)["rank"] == "0" },
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was ended by signal 9: most likely system memory (RAM) ran out",
		Means:    "Exit code -9 is SIGKILL, sent from outside to process {pid}, the only rank that the lines show; the traceback is the launcher's own. Nearly always it is the kernel or a container's limit on RAM, not the card: a full card raises an error. Most often it is the loading of the model: a checkpoint passes through RAM as a whole, 2 bytes per parameter in 16 bit, 4 in 32 (7 billion: 13 or 26 GiB).",
		Not:      "A smaller batch or shorter prompts: they are on the card.",
		Cures: []cause.Cure{
			{Fix: "add_swap", Title: "Watch RAM while it starts, and add swap if it fills up", Told: "`free -h` in a second window; `sudo dmesg -T | grep -i 'killed process'` says afterwards whether it was the kernel.", Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "32 GB of disk; slow while it is used."},
			{Fix: "raise_memory_limit", Title: "In a container, pod or job: raise its limit", Told: "Docker `--memory`, Kubernetes `resources.limits.memory`, Slurm `--mem`; WSL: `memory=24GB` under `[wsl2]` in .wslconfig.", Cost: "Less for the rest of the machine."},
			{Fix: "use_smaller_model", Title: "Load less: 16 bit, a smaller or a quantised model", Told: "transformers: `torch_dtype=torch.float16, low_cpu_mem_usage=True` with safetensors; a GGUF file in llama.cpp or Ollama is mapped, not read into RAM.", Cost: "Quality, if it is quantised."},
		},
		Sources: []string{"pytorch/torch/distributed/elastic/multiprocessing/api.py", "https://github.com/meta-llama/llama/issues/856"},
	},
	{
		ID: "pytorch/rank-killed", Kinds: []fact.Kind{fact.RankKilled}, Unsaid: []string{"cpu_adam", "offload_optimizer", "zero_optimization"}, Figures: rankFigures,
		If:    func(c *ledger.Case) bool { return !ledger.Capped(c) && c.Root(fact.RankKilled) },
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "lost a process of its run to signal 9: most likely system memory (RAM) ran out",
		Means:    "Exit code -9 is SIGKILL, sent from outside[[: rank {rank}, process {pid}]]; the launcher then stopped the others, and the traceback is its own. Nearly always it is the kernel or a container's limit on RAM, not the card: a full card raises an error. As a rule every rank loads its own copy of model and data: four ranks, four times the RAM. A `kill -9` by hand or by a scheduler looks the same.",
		Not:      "`--shm-size` or anything about the card: a full /dev/shm is a bus error, a full card a CUDA error.",
		Cures: []cause.Cure{
			{Fix: "add_swap", If: cause.LoadsModel, Title: "Add swap for the moment of loading", Told: "Look first with `free -h` while it loads: if RAM fills up, this lets it through.", Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "32 GB of disk; slow while it is used."},
			{Fix: "raise_memory_limit", Title: "See which limit it was, and raise that", Told: "On the machine itself; `oom_kill` above 0 inside a container means the container's limit.", Ways: []cause.Way{
				{For: "Docker", Text: "`--memory` of `docker run`"}, {For: "Kubernetes", Text: "`resources.limits.memory`"}, {For: "Slurm", Text: "`--mem`"}, {For: "No limit was set", Text: "add swap for the moment of loading, or RAM"},
			}, Kind: "shell", Text: "sudo dmesg -T | grep -iE 'oom|killed process' | tail\ncat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory.events", Cost: "None."},
			{Fix: "lower_num_workers", Title: "Fewer copies: test with one or two ranks", Told: "If `torchrun --nproc_per_node 2` with your other arguments runs, RAM is proved. `num_workers=2` in the data loaders: each worker of each rank is a process too.", Cost: "Slower."},
			{Fix: "half_precision", Title: "Load lighter", Told: "transformers: 16 bit, safetensors, `low_cpu_mem_usage=True`; FSDP: rank 0 loads, `sync_module_states=True` hands it on; DeepSpeed: no CPU offload, or 12 bytes of RAM a parameter for it.", Cost: "None, as a rule."},
			{Fix: "add_swap"},
		},
		Sources: []string{"pytorch/torch/distributed/elastic/multiprocessing/api.py", "https://github.com/hpcaitech/ColossalAI/issues/3677", "https://pytorch.org/docs/stable/fsdp.html"},
	},
}
