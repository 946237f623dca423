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

// trainingLaunch: it is a training, or was started by a launcher of trainings.
func trainingLaunch(c *ledger.Case) bool { return c.Training() || c.Near("accelerate/commands/launch") }

// KilledCards are about ranks that signal 9 ended.
var KilledCards = []cause.Card{
	{
		ID: "pytorch/one-rank-killed", Kinds: []fact.Kind{fact.RankKilled}, Unsaid: []string{"closing signal SIGTERM", "exits with return code = -9", "zero_optimization"}, Figures: rankFigures,
		If:    func(c *ledger.Case) bool { return !ledger.Capped(c) && rankFigures(c)["rank"] == "0" },
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was killed by signal 9: most likely system memory (RAM) ran out",
		Means: "Exit code -9 means something killed process {pid} (SIGKILL); the traceback is only the launcher's. Usually that is the kernel, because RAM or a container's limit was full; a full GPU raises an error instead. Often it happens while a model loads: 7 billion parameters take 13 GiB of RAM in 16 bit, 26 in 32 bit.",
		Cures: []cause.Cure{
			{Fix: "add_swap", Title: "Watch RAM while it starts, and add swap if it fills up", Told: "Run `watch free -h` in a second terminal. Afterwards `sudo dmesg -T | grep -i 'killed process'` shows whether the kernel killed it.", Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "32 GB of disk; slow while in use."},
			{Fix: "raise_memory_limit", Title: "Raise the memory limit of the container, pod or job", Told: "Docker `--memory`, Kubernetes `resources.limits.memory`, Slurm `--mem`; WSL: `memory=24GB` under `[wsl2]` in .wslconfig.", Cost: "Less for the rest of the machine."},
			{Fix: "half_precision", If: trainingLaunch, Title: "Load it in 16 bit, without offload to the CPU", Told: "Pass `torch_dtype=torch.bfloat16, low_cpu_mem_usage=True` to each `from_pretrained`, also of text encoders. DeepSpeed: set the device of `offload_optimizer` and `offload_param` to `none`; an optimizer on the CPU takes 12 to 16 bytes of RAM per trained parameter. Start one process first (`--num_processes 1`): each loads its own copy.", Cost: "More GPU memory."},
			{Fix: "use_smaller_model", If: when.Not(trainingLaunch), Title: "Load it in 16 bit, or use a smaller or quantised model", Told: "transformers: `torch_dtype=torch.float16, low_cpu_mem_usage=True` with safetensors files. A quantised GGUF file in llama.cpp or Ollama needs far less RAM.", Cost: "Quality, if it is quantised."},
		},
		Sources: []string{"pytorch/torch/distributed/elastic/multiprocessing/api.py", "https://github.com/meta-llama/llama/issues/856"},
	},
	{
		ID: "pytorch/rank-killed", Kinds: []fact.Kind{fact.RankKilled}, Unsaid: []string{"cpu_adam", "offload_optimizer", "zero_optimization"}, Figures: rankFigures,
		If:    func(c *ledger.Case) bool { return !ledger.Capped(c) && c.Root(fact.RankKilled) },
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "had one of its processes killed (signal 9): most likely system memory (RAM) ran out",
		Means: "Exit code -9 means something killed it (SIGKILL)[[: rank {rank}, process {pid}]]; the traceback is only the launcher's. Usually that is the kernel, because RAM or a container's limit was full; a scheduler's kill looks the same. Each process often loads its own copy of model and data, so four need four times the RAM.",
		Not:   "`--shm-size` or freeing GPU memory: a full /dev/shm gives a bus error, a full GPU a CUDA error.",
		Cures: []cause.Cure{
			{Fix: "add_swap", If: cause.LoadsModel, Title: "Add swap, if RAM fills up while it loads", Told: "Watch it with `watch free -h`.", Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "32 GB of disk; slow while in use."},
			{Fix: "raise_memory_limit", Title: "Check for a RAM limit and raise it, or add RAM", Told: "In a container, `oom_kill` above 0 means that its own limit was reached.", Ways: []cause.Way{{For: "Docker", Text: "`--memory` of `docker run`"}, {For: "Kubernetes", Text: "`resources.limits.memory`"}, {For: "Slurm", Text: "`--mem`"}, {For: "No limit was set", Text: "add swap or RAM"}}, Kind: "shell", Text: "sudo dmesg -T | grep -iE 'oom|killed process' | tail\ncat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory.events", Cost: "None."},
			{Fix: "half_precision", If: when.All(beforeSteps, when.Not(languageModel)), Title: "If it dies while it loads: load less in each rank", Told: "Use `torch.load(..., map_location=\"cpu\", mmap=True)` (PyTorch 2.1 and later), with transformers `torch_dtype=torch.bfloat16, low_cpu_mem_usage=True`. Or start fewer processes.", Cost: "Usually none."},
			{Fix: "lower_num_workers", Title: "Use fewer DataLoader workers and ranks", Told: "Set `num_workers=0`, then try 2: every rank starts that many extra processes. If it runs with one rank (`torchrun --nproc_per_node 1`), RAM was most likely too small.", Cost: "Slower."},
			{Fix: "stream_dataset", If: when.Not(languageModel), Title: "Store less in the data set (arrays, no cache)", Told: "If `watch free -h` shows RAM filling up slowly: keep paths and labels in NumPy arrays instead of lists and dicts, and cache no decoded samples. Each worker of each rank has its own copy.", Cost: "Some rewriting."},
			{Fix: "half_precision", If: languageModel, Title: "Load the model with less RAM", Told: "transformers: `torch_dtype=torch.bfloat16, low_cpu_mem_usage=True` with safetensors files. FSDP: load on rank 0 only, with `sync_module_states=True`. DeepSpeed's CPU offload takes 12 bytes of RAM per parameter.", Cost: "Usually none."},
			{Fix: "add_swap"},
		},
		Sources: []string{"pytorch/torch/distributed/elastic/multiprocessing/api.py", "https://github.com/hpcaitech/ColossalAI/issues/3677", "https://pytorch.org/docs/stable/fsdp.html"},
	},
}
