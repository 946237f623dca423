package cluster

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const serveDocs = "https://docs.ray.io/en/latest/serve/resource-allocation.html"

// serveReplicas is Ray Serve, which counts parts of cards but guards no memory.
var serveReplicas = cause.Card{
	ID: "ray-serve/replicas", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle}, If: when.All(ledger.Crowded, func(c *ledger.Case) bool { return c.In("ray-serve") }),
	Cause: cause.LeakedProcess, Weight: cause.Decisive,
	Headline: "ran out of GPU memory: other processes use {others} of this GPU",
	Means:    "Ray Serve puts replicas on a GPU until their `num_gpus` adds up to 1; it does not check memory. If your `num_gpus` is below 1, the others are most likely more replicas, or the one that an update replaces.",
	Not:      "A smaller batch, if the model itself was being loaded.",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", Title: "Give each replica the share of the GPU that it needs", Told: "A replica that needs 8 GB of 24 GB must have at least 0.34. Or run fewer replicas:", Kind: "python", Text: "@serve.deployment(num_replicas=1, ray_actor_options={\"num_gpus\": 1})", Cost: "fewer replicas"},
		{Fix: "kill_stale_process", Title: "Check for replicas of an earlier run", Told: "`serve shutdown` ends all replicas. Then check:", Kind: "shell", Text: "nvidia-smi", Cost: "what you end stops"},
		{Fix: "half_precision", Title: "Or make each replica smaller", Told: "Use 16-bit or 8-bit weights, or a smaller batch (`max_batch_size` of `@serve.batch`).", Cost: "slight loss of quality"},
	},
	Sources: []string{serveDocs},
}

// serveCards are Ray Serve's.
var serveCards = []cause.Card{
	serveReplicas,
	{
		ID: "ray-serve/killed", Kinds: []fact.Kind{fact.RayKilled}, Said: []string{"SERVE_REPLICA::", "ServeReplica:"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "lost a replica: Ray ended it because the machine's system RAM was nearly full",
		Means:    "This is system RAM, not GPU memory. Ray ends a process when the node uses 95 % of its RAM by default.[[ This replica used {killed_rss}.]] Ray places replicas by CPUs and GPUs and ignores memory unless they reserve it.",
		Not:      "Settings for GPU memory.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Reserve memory for each replica", Told: "Ray then puts fewer on a node. This is 12 GB; use what `ps` shows:", Kind: "python", Text: "@serve.deployment(ray_actor_options={\"memory\": 12 * 1024**3})", Cost: "fewer replicas on a node"},
			{Fix: "lower_num_workers", Title: "Or run fewer replicas, and limit their requests", Told: "Lower `num_replicas` (or `max_replicas` of the autoscaling), and set `max_ongoing_requests=4`: running requests hold their data in RAM.", Cost: "fewer requests at once"},
			{Fix: "close_other_apps", Title: "Check whether its memory keeps growing", Told: "If a replica grows for hours, it keeps something (a cache, results): restart it on a schedule.", Kind: "shell", Text: "ps aux --sort=-rss | head", Cost: "free"},
		},
		Sources: []string{serveDocs, "https://docs.ray.io/en/latest/ray-core/scheduling/ray-oom-prevention.html"},
	},
}
