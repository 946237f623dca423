package server

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const rayMonitor = "https://docs.ray.io/en/latest/ray-core/scheduling/ray-oom-prevention.html"

// rayShares says who held the node's memory: the worker that was killed, and
// the others.
func rayShares(c *ledger.Case) map[string]string {
	out := map[string]string{"used": "", "node": "", "killed": "", "rest": "", "small": ""}
	f := c.F()
	if f.Allocated != nil && f.Total != nil {
		out["used"], out["node"] = f.Allocated.String(), f.Total.String()
	}
	if f.KilledRSS == nil {
		return out
	}
	out["killed"] = f.KilledRSS.String()
	if f.Allocated == nil || f.Allocated.Bytes <= f.KilledRSS.Bytes {
		return out
	}
	out["rest"] = units.Amount(f.Allocated.Bytes - f.KilledRSS.Bytes)
	if f.KilledRSS.Bytes*4 < f.Allocated.Bytes {
		out["small"] = "So it need not be the one that fills the node."
	}
	return out
}

// rayCards are Ray's, all of them about the node's RAM.
var rayCards = []cause.Card{
	{
		ID: "ray/killed", Kinds: []fact.Kind{fact.RayKilled}, Figures: rayShares,
		Cause: cause.HostMemory, Weight: 0.96,
		Headline: "lost a worker: the node's RAM ran low, and Ray killed it",
		Means:    "Ray watches the RAM of each node and from 95 % on kills the newest task that it can run again; no graphics card plays a part.[[ {used} of {node} was in use.]][[ The worker that it killed held {killed}, everything else {rest}.]][[ {small}]] The list of processes below the message, or `ray logs raylet.out`, shows who holds what.",
		Not:      "GPU settings, a smaller share of the card: it is the computer's memory. A higher RAY_memory_usage_threshold alone: then the kernel kills instead.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Let fewer run at once on a node", Ways: []cause.Way{
				{For: "Tasks and actors", Text: "say what each needs, in bytes: `@ray.remote(memory=8 * 2**30)`; Ray then places no more than fit. Or `num_cpus=4` for each."},
				{For: "Ray Data", Text: "fewer parallel reads and smaller batches: `concurrency=4` in `map_batches`."},
			}, Cost: "slower"},
			{Fix: "raise_memory_limit", Title: "Give the node more", Told: "In Docker or Kubernetes the limit of the container counts, not the machine: double `--memory` or `resources.limits.memory` of the worker group.", Cost: "less for the others"},
			{Fix: "detach_accumulated", Title: "Hold less in the driver", Told: "Results fetched by `ray.get` in one list stay; fetch them in pieces (`ray.wait`), and delete references to large objects."},
		},
		Sources: []string{rayMonitor, "https://github.com/ray-project/ray/issues/28776"},
	},
	{
		ID: "ray/store", Kinds: []fact.Kind{fact.RayStore},
		Cause: cause.HostMemory, Weight: 0.88,
		Headline: "found Ray's object store full, shared memory of the node",
		Means:    "Ray keeps objects that tasks pass to each other in shared memory (/dev/shm), by default 30 % of the RAM. Containers get 64 MB of it unless told, and objects stay as long as anything refers to them.",
		Not:      "GPU settings: no card is involved.",
		Cures: []cause.Cure{
			{Fix: "raise_shm_size", Title: "More shared memory", Ways: []cause.Way{
				{For: "Docker", Text: "`docker run --shm-size=10g`."},
				{For: "Kubernetes", Text: "an `emptyDir` with `medium: Memory` mounted at /dev/shm."},
				{For: "No container", Text: "`ray.init(object_store_memory=16 * 2**30)`, in bytes."},
			}, Cost: "RAM"},
			{Fix: "lower_num_workers", Title: "Fewer objects at a time", Told: "Smaller batches, fewer tasks in flight (`ray.wait` before new ones)."},
			{Fix: "detach_accumulated", Title: "Let go of references", Told: "`ray memory` lists what still refers to objects: delete those lists of results."},
		},
		Sources: []string{"https://docs.ray.io/en/latest/ray-core/scheduling/memory-management.html", rayMonitor},
	},
}

// fastchatCards are FastChat's, whose workers run Transformers.
var fastchatCards = []cause.Card{
	{
		ID: "fastchat/load", Kinds: onCard, Phases: []string{"load"},
		Cause: cause.ModelTooLarge, Weight: 0.8,
		Headline: "did not load: the weights do not fit on the card",
		Means:    "The worker loads the model at 16 bit, 2 GB for each billion parameters: 14 GB for 7B, 26 for 13B.[[ {mine} of {total} was its own when {asked} more was refused.]] Nothing was generated yet.",
		Not:      "A smaller `max_new_tokens`, fewer users: it failed before any request.",
		Cures: []cause.Cure{
			{Fix: "load_in_8bit", Title: "Load it in 8 bit", Told: "About half; added to `fastchat.serve.cli` or `model_worker`, `--cpu-offloading` beside it if that is still too much (Linux):", Kind: "config", Text: "--load-8bit", Cost: "slower, hardly any quality"},
			{Fix: "multi_gpu", Title: "Split it over two cards", Told: "The second number is for weights on each card; leave 4 GB free for the cache:", Kind: "config", Text: "--num-gpus 2 --max-gpu-memory 20GiB", Cost: "needs a second card"},
			{Fix: "use_smaller_model", Title: "Or a smaller or 4-bit model", Told: "A GPTQ file with `--gptq-wbits 4 --gptq-groupsize 128`, AWQ with `--awq-wbits 4`: a quarter."},
		},
		Sources: []string{"https://github.com/lm-sys/FastChat/blob/main/fastchat/model/model_adapter.py", "https://github.com/lm-sys/FastChat#not-enough-memory"},
	},
	{
		ID: "fastchat/request", Kinds: onCard,
		Cause: cause.ContextTooLong, Weight: 0.76,
		Headline: "ran out of the card while it answered",
		Means:    "A FastChat worker keeps a cache for each conversation that is being answered, and it grows with every token of all of them; there is no fixed pool that would make others wait.[[ {mine} of {total} was its own when {asked} was refused.]]",
		Not:      "A restart alone: the same load brings it back.",
		Cures: []cause.Cure{
			{Fix: "lower_parallel", Title: "One request at a time", Told: "Added to the worker:", Kind: "config", Text: "--limit-worker-concurrency 1", Cost: "others wait"},
			{Fix: "load_in_8bit", Title: "Smaller weights leave more for it", Kind: "config", Text: "--load-8bit", Cost: "slower"},
			{Fix: "lower_context", Title: "Shorter conversations", Told: "Smaller `max_new_tokens` in the client, and a new conversation; or `vllm_worker`, which has a fixed pool."},
		},
		Sources: []string{"https://github.com/lm-sys/FastChat/blob/main/fastchat/serve/model_worker.py"},
	},
}
