package vllm

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// refused are refusals of system memory, which CUDA reports in the words of the
// card where it was to be pinned.
var refused = []fact.Kind{fact.CPUAlloc, fact.CUDAError}

func inVLLM(c *ledger.Case) bool { return c.In("vllm") }

// ramCards are about system memory that vLLM asks for.
var ramCards = []cause.Card{
	{
		ID: "vllm/swap-pool", Kinds: refused, If: inVLLM, Said: []string{"in allocate_cpu_cache", "self.num_cpu_blocks, \"cpu\"", "size=(self.num_cpu_blocks"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: figures,
		Headline: "did not start: its swap pool in system memory (RAM) could not be allocated",
		Means:    "The traceback is in the allocation of blocks on the CPU: `swap_space`, 4 GiB of pinned RAM for each card unless set. CUDA reports a shortage of pinned RAM with the words of the card. Containers and WSL, where about half of the RAM can be pinned, refuse first.",
		Not:      "`--gpu-memory-utilization`, a shorter context: the card was not short.",
		Cures: []cause.Cure{
			Flags("lower_swap_space", "Set `swap_space` to 0", "Only beam search and several samples per request use it. {where}", "preempted requests are computed again", Option("swap_space", "0")),
			{Fix: "raise_memory_limit", Title: "Or allow more RAM", Told: "Docker: a higher `--memory` and `--ulimit memlock=-1`. WSL: `memory=` in .wslconfig, then `wsl --shutdown`.", Cost: "only if the machine has it"},
			{Fix: "upgrade_version", Title: "Or update vLLM", Told: "The V1 engine (0.8 and later) does not allocate it: `pip install -U vllm`", Cost: "flags may have changed"},
		},
		Sources: []string{"vllm/worker/cache_engine.py", "vllm/config/cache.py", threads + "issues/188"},
	},
	{
		ID: "vllm/offload-refused", Kinds: []fact.Kind{fact.CPUAlloc}, If: inVLLM, Said: []string{"maybe_offload_to_cpu", "in _offload", "model_executor/offloader", "uva.py"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: figures,
		Headline: "ran out of system memory (RAM) while offloading weights to it",
		Means:    "`--cpu-offload-gb` puts so many GiB of weights into RAM for each card, beside the checkpoint that is being read. Free RAM did not hold that. In a container its memory limit counts; WSL gets half of the RAM of Windows unless told otherwise.",
		Not:      "`--gpu-memory-utilization`: system memory was refused, not the card's.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Lower `--cpu-offload-gb`", Told: "Cards x value must stay some GiB below what `free -h` shows as available before the start. What then does not fit on the card needs smaller weights (AWQ, GPTQ).", Cost: "more must fit on the card"},
			{Fix: "raise_memory_limit", Title: "Or give it more RAM", Told: "WSL: in `C:\\Users\\YOU\\.wslconfig` (YOU: your Windows name) `memory=` three quarters of the RAM below `[wsl2]`, then `wsl --shutdown`. Docker: a higher `--memory`. Kubernetes: `resources.limits.memory`.", Cost: "less for other programs"},
			{Fix: "use_lower_quant", Title: "Or load weights that need no offloading", Told: "An AWQ or GPTQ checkpoint is a little over a quarter of 16 bit, and many times faster than weights read over the bus.", Cost: "slight loss of quality"},
		},
		Sources: []string{"vllm/config/offload.py", "vllm/model_executor/models/utils.py", "https://learn.microsoft.com/en-us/windows/wsl/wsl-config"},
	},
	{
		ID: "vllm/shared-memory", Kinds: []fact.Kind{fact.SharedMemory, fact.NCCLShm}, If: inVLLM,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of shared memory (/dev/shm), neither of graphics memory nor of the disk",
		Means:    "vLLM's processes for several cards, and NCCL between them, exchange data through /dev/shm. A Docker container or a pod has 64 MB of it unless told otherwise.",
		Not:      "A smaller model, `--gpu-memory-utilization` or room on the disk: none changes the size of /dev/shm.",
		Cures: []cause.Cure{
			{Fix: "raise_shm_size", Title: "Start the container with a larger /dev/shm", Told: "`docker run --ipc=host` with your other options, or `--shm-size=16g`.", Ways: []cause.Way{
				{For: "Compose", Text: "`ipc: host` or `shm_size: 16gb` in the service."},
				{For: "Kubernetes", Text: "an `emptyDir` volume with `medium: Memory`, mounted at /dev/shm; it counts towards the pod's memory limit."},
				{For: "No container", Text: "`sudo mount -o remount,size=16G /dev/shm`"},
			}, Cost: "what is used of it counts as RAM"},
			{Fix: "restart_session", Title: "Delete what crashed starts left there", Told: "While no vLLM runs: `rm /dev/shm/psm_* /dev/shm/nccl-*`", Kind: "shell", Text: "df -h /dev/shm; ls -lt /dev/shm | head", Cost: "free"},
			{Fix: "lower_num_workers", Title: "Or let NCCL do without", Kind: "env", Text: "export NCCL_SHM_DISABLE=1", Cost: "slower; vLLM's own messages still need some"},
		},
		Sources: []string{"docs/deployment/docker.md", "vllm/distributed/device_communicators/shm_broadcast.py"},
	},
	{
		ID: "vllm/offload-cache", Kinds: refused, If: inVLLM, Said: []string{"vllm/v1/kv_offload/", "simple_kv_offload", "offloading_connector.py"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: figures,
		Headline: "could not allocate its second KV cache, in system memory (RAM)",
		Means:    "The traceback is in the offloading of the KV cache to the CPU. That part has the size of `--kv-offloading-size`, in GiB for all ranks together, and is pinned; CUDA reports a shortage of pinned RAM with the words of the card.",
		Not:      "`--gpu-memory-utilization`, a smaller model: the card was not short.",
		Cures: []cause.Cure{
			{Fix: "lower_swap_space", Title: "Lower `--kv-offloading-size`", Told: "It must stay some GiB below what `free -h` shows as available before the start, 8 for example; or leave it out.", Kind: "config", Text: "--kv-offloading-size 8", Cost: "a smaller cache in RAM"},
			{Fix: "raise_memory_limit", Title: "Or allow more pinned RAM", Told: "Docker: `--ulimit memlock=-1` and a higher `--memory`. Kubernetes: a higher `resources.limits.memory`. WSL: `memory=` in .wslconfig.", Kind: "shell", Text: "free -h; ulimit -l", Cost: "only if the machine has it"},
		},
		Sources: []string{"vllm/config/cache.py", "vllm/v1/kv_offload"},
	},
	{
		ID: "vllm/lmcache", Kinds: refused, Said: []string{"lmcache/v1/memory_management.py", "lmcache/v1/memory_allocators", "in _allocate_cpu_memory"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "could not allocate LMCache's buffer in system memory (RAM)",
		Means:    "LMCache takes its whole cache in RAM at start, pinned: `max_local_cpu_size` in GB, for each rank. CUDA reports a shortage of pinned memory with the words of the card. Containers, `ulimit -l` and WSL limit it.",
		Not:      "`--gpu-memory-utilization`, a smaller model: the card was not short.",
		Cures: []cause.Cure{
			{Fix: "lower_swap_space", Title: "Lower `LMCACHE_MAX_LOCAL_CPU_SIZE`", Told: "In GB; ranks x value must stay well below free RAM. In a configuration file: `max_local_cpu_size: 5`.", Kind: "env", Text: "export LMCACHE_MAX_LOCAL_CPU_SIZE=5", Cost: "a smaller cache"},
			{Fix: "raise_memory_limit", Title: "Or allow more pinned RAM", Told: "Docker: `--ulimit memlock=-1` and a higher `--memory`. Kubernetes: a higher `resources.limits.memory`.", Kind: "shell", Text: "free -h; ulimit -l", Cost: "only if the machine has it"},
			{Fix: "limit_framework_preallocation", Title: "Or start without it, to be sure", Told: "Leave out `--kv-transfer-config` or `--kv-offloading-backend lmcache`.", Cost: "no cache beyond the card"},
		},
		Sources: []string{"lmcache/v1/memory_management.py", "lmcache/v1/config.py"},
	},
	{
		ID: "vllm/lmcache-pool", Kinds: []fact.Kind{fact.PlainHost}, If: func(c *ledger.Case) bool { return c.Failure.Stage == "lmcache" },
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
		Headline: "found LMCache's pool in system memory (RAM) full",
		Means:    "LMCache keeps chunks of KV cache in a pool of its own in RAM: `max_local_cpu_size`, 5 GB for each rank unless set. There was no room in it for one more chunk. Neither the card nor the computer's RAM need be full. Long prompts and many requests at once need more chunks at a time.",
		Not:      "`--gpu-memory-utilization`, a smaller model: the pool is not on the card.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise `LMCACHE_MAX_LOCAL_CPU_SIZE`", Told: "In GB, before vLLM starts; ranks x value must stay well below free RAM (`free -h`). With `LMCACHE_CONFIG_FILE` set it in that file: `max_local_cpu_size: 20`.", Kind: "env", Text: "export LMCACHE_MAX_LOCAL_CPU_SIZE=20", Cost: "that much RAM, pinned"},
			{Fix: "upgrade_version", Title: "Update LMCache if requests fail over it", Told: "Paths with `lmcache/experimental` are a version of early 2025.", Kind: "shell", Text: "pip install -U lmcache", Cost: "it must fit the version of vLLM"},
			Flags("lower_max_num_seqs", "Or serve fewer requests at once", "{where}", "more requests wait", Option("max_num_seqs", "16")),
		},
		Figures: figures,
		Sources: []string{"lmcache/v1/config.py", "lmcache/v1/memory_management.py"},
	},
	{
		ID: "vllm/cpu-cache-refused", Kinds: []fact.Kind{fact.CPUAlloc}, Phases: []string{"kv_cache", "warmup", "unknown", "load"}, If: when.All(inVLLM, func(c *ledger.Case) bool {
			return c.Near("VLLM_CPU_KVCACHE_SPACE", "cpu_worker.py", "cpu_model_runner.py")
		}),
		Said:  []string{"VLLM_CPU_KVCACHE_SPACE", "cpu_worker.py", "cpu_model_runner.py"},
		Cause: cause.HostMemory, Weight: cause.Strong, Figures: figures,
		Headline: "ran out of system memory (RAM); it runs on the processor here",
		Means:    "On the processor weights, KV cache (`VLLM_CPU_KVCACHE_SPACE`, in GiB) and work all are in RAM, for each rank. {asked} more was refused.",
		Not:      "`--gpu-memory-utilization` in versions of 2025 and before: the processor ignores it.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Lower `VLLM_CPU_KVCACHE_SPACE`", Told: "Weights (2 GB per billion parameters at 16 bit) and this must stay some GiB below free RAM:", Kind: "env", Text: "export VLLM_CPU_KVCACHE_SPACE=4", Cost: "fewer or shorter requests"},
			Flags("lower_context", "With a smaller cache, lower `max_model_len` too", "", "longer prompts are refused", Option("max_model_len", "4096"), Option("max_num_seqs", "8")),
			{Fix: "use_smaller_model", Title: "Or take a smaller model, in bfloat16", Told: "`--dtype bfloat16`: float32 is twice as large. For 4 bit on a processor llama.cpp or Ollama fit better.", Cost: "lower quality"},
		},
		Sources: []string{"vllm/platforms/cpu.py", "docs/getting_started/installation/cpu.md"},
	},
}
