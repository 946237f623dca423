package ranks

import (
	"regexp"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
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

// beforeSteps: the log shows no step before a rank was ended.
func beforeSteps(c *ledger.Case) bool { return c.Signal("few_steps", "many_steps", "epochs") == nil }

// languageModel: the ranks load a model of transformers.
func languageModel(c *ledger.Case) bool {
	return cause.LoadsModel(c) || c.In("transformers", "trl", "peft", "deepspeed", "colossalai", "llama-factory", "axolotl", "llama")
}

// KilledCards are about ranks that signal 9 ended.
var KilledCards = []cause.Card{
	{
		ID: "pytorch/one-rank-killed", Kinds: []fact.Kind{fact.RankKilled}, Unsaid: []string{"closing signal SIGTERM", "exits with return code = -9", "zero_optimization"}, Figures: rankFigures,
		If:    func(c *ledger.Case) bool { return !ledger.Capped(c) && rankFigures(c)["rank"] == "0" },
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was ended by signal 9: most likely system memory (RAM) ran out",
		Means: "Exit code -9 is SIGKILL, sent from outside to process {pid}; the traceback is the launcher's own. Usually the kernel or a container's limit sends it when RAM is full; a full card raises an error instead. Most often that happens while the model is loaded: a checkpoint passes through RAM, 2 bytes per parameter in 16 bit, 4 in 32 (7 billion: 13 or 26 GiB).",
		Cures: []cause.Cure{
			{Fix: "add_swap", Title: "Watch RAM while it starts, and add swap if it fills up", Told: "Run `free -h` in a second window. Afterwards `sudo dmesg -T | grep -i 'killed process'` shows whether the kernel ended it.", Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "32 GB of disk; slow while it is used."},
			{Fix: "raise_memory_limit", Title: "Raise the memory limit of the container, pod or job", Told: "Docker `--memory`, Kubernetes `resources.limits.memory`, Slurm `--mem`; WSL: `memory=24GB` under `[wsl2]` in .wslconfig.", Cost: "Less for the rest of the machine."},
			{Fix: "use_smaller_model", Title: "Load it in 16 bit, or use a smaller or quantised model", Told: "transformers: `torch_dtype=torch.float16, low_cpu_mem_usage=True` with safetensors; a GGUF file in llama.cpp or Ollama is mapped instead of read into RAM.", Cost: "Quality, if it is quantised."},
		},
		Sources: []string{"pytorch/torch/distributed/elastic/multiprocessing/api.py", "https://github.com/meta-llama/llama/issues/856"},
	},
	{
		ID: "pytorch/rank-killed", Kinds: []fact.Kind{fact.RankKilled}, Unsaid: []string{"cpu_adam", "offload_optimizer", "zero_optimization"}, Figures: rankFigures,
		If:    func(c *ledger.Case) bool { return !ledger.Capped(c) && c.Root(fact.RankKilled) },
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "lost a process of its run to signal 9: most likely system memory (RAM) ran out",
		Means: "Exit code -9 is SIGKILL, sent from outside[[: rank {rank}, process {pid}]]; the launcher then stopped the others, and the traceback is its own. Usually the kernel or a container's limit sends it when RAM is full; a `kill -9` by hand or by a scheduler looks the same. Usually every rank loads its own copy of model and data: four ranks need four times the RAM.",
		Not:   "`--shm-size`, or freeing the card: a full /dev/shm gives a bus error, a full card a CUDA error.",
		Cures: []cause.Cure{
			{Fix: "add_swap", If: cause.LoadsModel, Title: "Add swap while it loads", Told: "First watch `free -h` while it loads. If RAM fills up, swap lets it through.", Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "32 GB of disk; slow while it is used."},
			{Fix: "raise_memory_limit", Title: "Check for a RAM limit and raise it, or add RAM", Told: "`oom_kill` above 0 inside a container means the container's limit.", Ways: []cause.Way{{For: "Docker", Text: "`--memory` of `docker run`"}, {For: "Kubernetes", Text: "`resources.limits.memory`"}, {For: "Slurm", Text: "`--mem`"}, {For: "No limit was set", Text: "add swap or RAM"}}, Kind: "shell", Text: "sudo dmesg -T | grep -iE 'oom|killed process' | tail\ncat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory.events", Cost: "None."},
			{Fix: "half_precision", If: when.All(beforeSteps, when.Not(languageModel)), Title: "If it dies while it loads: load less in each rank", Told: "Every rank reads the whole checkpoint: 7 billion parameters are 13 GiB in 16 bit, 26 in 32, times the ranks. transformers: `torch_dtype=torch.bfloat16, low_cpu_mem_usage=True`; `torch.load(..., map_location=\"cpu\", mmap=True)` (PyTorch 2.1 and later); or fewer ranks.", Cost: "None, as a rule."},
			{Fix: "lower_num_workers", Title: "Use fewer workers and ranks", Told: "Lower `num_workers` of the data loaders: each worker of each rank is a process of its own. If it runs with fewer ranks (`torchrun --nproc_per_node 1`), RAM is most likely what is short.", Cost: "Slower."},
			{Fix: "stream_dataset", If: when.Not(languageModel), Title: "Store less in the data set (arrays, no cache)", Told: "Keep paths and labels in NumPy arrays instead of lists and dicts, of which each worker of each rank gets a copy, and cache no decoded samples. `watch free -h` shows whether RAM fills up slowly.", Cost: "Some rewriting."},
			{Fix: "half_precision", If: languageModel, Title: "Load the model with less RAM", Told: "transformers: 16 bit, safetensors, `low_cpu_mem_usage=True`. FSDP: load on rank 0 only, with `sync_module_states=True`. DeepSpeed: CPU offload takes 12 bytes of RAM a parameter.", Cost: "None, as a rule."},
			{Fix: "add_swap"},
		},
		Sources: []string{"pytorch/torch/distributed/elastic/multiprocessing/api.py", "https://github.com/hpcaitech/ColossalAI/issues/3677", "https://pytorch.org/docs/stable/fsdp.html"},
	},
}
