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
		Headline: "did not start: it could not allocate its swap space in system RAM",
		Means:    "This is system RAM, not GPU memory, although the message may say CUDA. vLLM reserves `swap_space` there, 4 GiB per GPU by default, as pinned memory. Containers limit it, and WSL can pin only about half of its RAM.",
		Not:      "`--gpu-memory-utilization` or a shorter context: GPU memory was not short.",
		Cures: []cause.Cure{
			Flags("lower_swap_space", "Set `swap_space` to 0", "Only beam search and several samples per request use it. {where}", "interrupted requests may be computed again", Option("swap_space", "0")),
			{Fix: "raise_memory_limit", Title: "Or allow more RAM", Told: "Docker: a higher `--memory`, and `--ulimit memlock=-1`. WSL: a higher `memory=` in .wslconfig, then `wsl --shutdown`.", Cost: "only if the machine has it"},
			{Fix: "upgrade_version", Title: "Or update vLLM", Told: "The V1 engine (0.8 and later) does not need it: `pip install -U vllm`", Cost: "flags may have changed"},
		},
		Sources: []string{"vllm/worker/cache_engine.py", "vllm/config/cache.py", threads + "issues/188"},
	},
	{
		ID: "vllm/offload-refused", Kinds: []fact.Kind{fact.CPUAlloc}, If: inVLLM, Said: []string{"maybe_offload_to_cpu", "in _offload", "model_executor/offloader", "uva.py"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: figures,
		Headline: "ran out of system RAM while moving weights there",
		Means:    "`--cpu-offload-gb` keeps that many GiB of weights per GPU in system RAM. There was not enough of it free. In a container its memory limit counts. WSL gets half of the RAM of Windows by default.",
		Not:      "`--gpu-memory-utilization`: system RAM was short, not GPU memory.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Lower `--cpu-offload-gb`", Told: "The value times the number of GPUs must stay some GiB below what `free -h` shows as available. If the rest then does not fit on the GPU, load smaller weights (AWQ, GPTQ).", Cost: "more must fit on the GPU"},
			{Fix: "raise_memory_limit", Title: "Or give it more RAM", Told: "WSL: in `C:\\Users\\YOU\\.wslconfig` (YOU: your Windows name), below `[wsl2]`, set `memory=` to three quarters of the RAM, then run `wsl --shutdown`. Docker: a higher `--memory`. Kubernetes: `resources.limits.memory`.", Cost: "less for other programs"},
			{Fix: "use_lower_quant", Title: "Or load weights that need no offloading", Told: "An AWQ or GPTQ version is a little over a quarter of the 16-bit size, and much faster than offloading.", Cost: "slight loss of quality"},
		},
		Sources: []string{"vllm/config/offload.py", "vllm/model_executor/models/utils.py", "https://learn.microsoft.com/en-us/windows/wsl/wsl-config"},
	},
	{
		ID: "vllm/shared-memory", Kinds: []fact.Kind{fact.SharedMemory, fact.NCCLShm}, If: inVLLM,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of shared memory (/dev/shm), not of GPU memory or disk space",
		Means:    "vLLM's processes and NCCL exchange data through /dev/shm. Docker containers and pods get only 64 MB of it by default.",
		Not:      "A smaller model, `--gpu-memory-utilization` or disk space: they do not change /dev/shm.",
		Cures: []cause.Cure{
			{Fix: "raise_shm_size", Title: "Start the container with a larger /dev/shm", Told: "Add `--ipc=host` to your `docker run`, or `--shm-size=16g`.", Ways: []cause.Way{
				{For: "Compose", Text: "`ipc: host` or `shm_size: 16gb` in the service."},
				{For: "Kubernetes", Text: "an `emptyDir` volume with `medium: Memory`, mounted at /dev/shm; it counts towards the pod's memory limit."},
				{For: "No container", Text: "`sudo mount -o remount,size=16G /dev/shm`"},
			}, Cost: "what is used of it counts as RAM"},
			{Fix: "restart_session", Title: "Delete what crashed runs left there", Told: "While no vLLM runs: `rm /dev/shm/psm_* /dev/shm/nccl-*`", Kind: "shell", Text: "df -h /dev/shm; ls -lt /dev/shm | head", Cost: "free"},
			{Fix: "lower_num_workers", Title: "Or turn off shared memory in NCCL", Kind: "env", Text: "export NCCL_SHM_DISABLE=1", Cost: "slower; vLLM's own messages still need some"},
		},
		Sources: []string{"docs/deployment/docker.md", "vllm/distributed/device_communicators/shm_broadcast.py"},
	},
	{
		ID: "vllm/offload-cache", Kinds: refused, If: inVLLM, Said: []string{"vllm/v1/kv_offload/", "simple_kv_offload", "offloading_connector.py"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: figures,
		Headline: "could not allocate its second KV cache in system RAM",
		Means:    "This is system RAM, not GPU memory, although the message may say CUDA. KV cache offloading reserves `--kv-offloading-size` GiB there for all GPUs together. The memory is pinned, and there was not enough that could be pinned.",
		Not:      "`--gpu-memory-utilization` or a smaller model: GPU memory was not short.",
		Cures: []cause.Cure{
			{Fix: "lower_swap_space", Title: "Lower `--kv-offloading-size`", Told: "Keep it some GiB below what `free -h` shows as available, or leave the option out:", Kind: "config", Text: "--kv-offloading-size 8", Cost: "a smaller cache in RAM"},
			{Fix: "raise_memory_limit", Title: "Or allow more RAM to be pinned", Told: "Docker: `--ulimit memlock=-1` and a higher `--memory`. Kubernetes: a higher `resources.limits.memory`. WSL: `memory=` in .wslconfig.", Kind: "shell", Text: "free -h; ulimit -l", Cost: "only if the machine has it"},
		},
		Sources: []string{"vllm/config/cache.py", "vllm/v1/kv_offload"},
	},
	{
		ID: "vllm/lmcache", Kinds: refused, Said: []string{"lmcache/v1/memory_management.py", "lmcache/v1/memory_allocators", "in _allocate_cpu_memory"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "could not allocate LMCache's buffer in system RAM",
		Means:    "This is system RAM, not GPU memory, although the message may say CUDA. LMCache reserves its whole cache at start as pinned memory: `max_local_cpu_size` GB for each GPU. Containers, `ulimit -l` and WSL limit how much can be pinned.",
		Not:      "`--gpu-memory-utilization` or a smaller model: GPU memory was not short.",
		Cures: []cause.Cure{
			{Fix: "lower_swap_space", Title: "Lower `LMCACHE_MAX_LOCAL_CPU_SIZE`", Told: "In GB. The value times the number of GPUs must stay well below free RAM. In a configuration file: `max_local_cpu_size: 5`.", Kind: "env", Text: "export LMCACHE_MAX_LOCAL_CPU_SIZE=5", Cost: "a smaller cache"},
			{Fix: "raise_memory_limit", Title: "Or allow more RAM to be pinned", Told: "Docker: `--ulimit memlock=-1` and a higher `--memory`. Kubernetes: a higher `resources.limits.memory`.", Kind: "shell", Text: "free -h; ulimit -l", Cost: "only if the machine has it"},
			{Fix: "limit_framework_preallocation", Title: "Or start without LMCache to test it", Told: "Leave out `--kv-transfer-config` or `--kv-offloading-backend lmcache`.", Cost: "no cache beyond the GPU"},
		},
		Sources: []string{"lmcache/v1/memory_management.py", "lmcache/v1/config.py"},
	},
	{
		ID: "vllm/lmcache-pool", Kinds: []fact.Kind{fact.PlainHost}, If: func(c *ledger.Case) bool { return c.Failure.Stage == "lmcache" },
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
		Headline: "found LMCache's memory pool in system RAM full",
		Means:    "LMCache keeps parts of the KV cache in its own pool in RAM: `max_local_cpu_size`, 5 GB per GPU by default. One more part did not fit. GPU memory and RAM themselves need not be full.",
		Not:      "`--gpu-memory-utilization` or a smaller model: the pool is not on the GPU.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise `LMCACHE_MAX_LOCAL_CPU_SIZE`", Told: "In GB, before vLLM starts. The value times the number of GPUs must stay well below free RAM (`free -h`). If you use `LMCACHE_CONFIG_FILE`, set it there: `max_local_cpu_size: 20`.", Kind: "env", Text: "export LMCACHE_MAX_LOCAL_CPU_SIZE=20", Cost: "that much pinned RAM"},
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
		Headline: "ran out of system RAM while running on the CPU",
		Means:    "vLLM runs on the CPU here, so weights, KV cache (`VLLM_CPU_KVCACHE_SPACE`, in GiB) and working memory are all in system RAM, for each process of a split model. {asked} more was refused.",
		Not:      "`--gpu-memory-utilization`: versions up to 2025 ignore it on the CPU.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Lower `VLLM_CPU_KVCACHE_SPACE`", Told: "The weights (2 GB per billion parameters at 16 bit) and this value must stay some GiB below free RAM (`free -h`). If your command sets it, change it there:", Kind: "env", Text: "export VLLM_CPU_KVCACHE_SPACE=4", Cost: "fewer or shorter requests"},
			Flags("lower_context", "With a smaller cache, lower `max_model_len` too", "", "longer prompts are refused", Option("max_model_len", "4096"), Option("max_num_seqs", "8")),
			{Fix: "use_smaller_model", If: when.Not(when.Set("dtype", "bfloat16")), Title: "Or use a smaller model, in bfloat16", Told: "`--dtype bfloat16`: float32 needs twice as much. For 4-bit models on a CPU, llama.cpp or Ollama is the better choice.", Cost: "lower quality"},
			{Fix: "use_smaller_model", If: when.Set("dtype", "bfloat16"), Title: "Or use a smaller model", Told: "For 4-bit models on a CPU, llama.cpp or Ollama is the better choice.", Cost: "lower quality"},
		},
		Sources: []string{"vllm/platforms/cpu.py", "docs/getting_started/installation/cpu.md"},
	},
}
