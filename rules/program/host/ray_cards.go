package host

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	rayGuide = "https://docs.ray.io/en/latest/ray-core/scheduling/ray-oom-prevention.html"
	rayStore = "https://docs.ray.io/en/latest/ray-core/scheduling/memory-management.html"
)

// listed: Ray's message lists who holds the memory.
func listed(c *ledger.Case) bool { _, ok := topTask(c); return ok }

var rayLook = cause.Cure{Fix: "close_other_apps", Title: "See who holds it, while it runs[[, on {node}]]", Kind: "shell", Text: "ps aux --sort=-rss | head; ray memory --stats-only", Cost: "Free"}

var rayFewerTasks = cause.Cure{Fix: "lower_num_workers", Title: "Tell Ray what a task needs: fewer run at once", Told: "[[With {reserve} GiB each about {at_once} run together here, since Ray keeps some 30 % for its object store. ]]Or `num_cpus=2`: half as many, if it is 1 now.", Steps: rayReserve, Cost: "Slower"}

var rayRoom = cause.Cure{Fix: "raise_memory_limit", Title: "Else a node with more RAM", Told: "Or a smaller object store, `ray start --object-store-memory=8000000000` (bytes; it then spills to disk). In a container or pod it is its limit that Ray counts as the node: raise that.", Cost: "Money, or disk speed"}

// alone: one process of Ray's list is the large one.
func alone(c *ledger.Case) bool { return biggestTeam(c).count < 2 }

func raySmaller(cond func(*ledger.Case) bool) cause.Cure {
	return cause.Cure{If: cond, Fix: "stream_dataset", Title: "If {top} alone is the large one: make it smaller", Told: "Smaller blocks or batches, no `ray.get` of a whole list, `del` what is done; shared input once with `ray.put`. In Ray Data: fewer rows a block (`override_num_blocks`), `concurrency=`.", Cost: "Some rewriting"}
}

const rayNot = "[[A threshold of 0.98 (`{variable}`, set before Ray starts): it gains {gain}, which one task fills in a moment. ]]Switching the monitor off is harmful: the kernel then kills, perhaps Ray itself. GPU settings play no part."

var rayCards = []cause.Card{
	{
		ID: "ray/listed", Kinds: []fact.Kind{fact.RayKilled}, If: listed,
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: rayFigures,
		Headline: "killed a task: the node's RAM was nearly full[[, {used} of {total}]]",
		Means:    "RAM, not a GPU: Ray ends a task, the newest as a rule, above {share} of the node's memory[[, here {line}]]; that need not be the one that took it. Its list of users tells more: {top} (PID {top_pid}) holds {top_held}[[; {count} processes called {team} hold {together} together]]. If those do not add up to what is in use, the rest is the object store, or programs beside Ray.",
		Not:      rayNot,
		Cures: []cause.Cure{
			raySmaller(alone), rayFewerTasks, raySmaller(when.Not(alone)),
			rayRoom,
		},
		Sources: []string{rayGuide, rayStore, "https://docs.ray.io/en/latest/ray-core/patterns/limit-running-tasks.html"},
	},
	{
		ID: "ray/node-low", Kinds: []fact.Kind{fact.RayKilled},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: rayFigures,
		Headline: "killed a task: the node's RAM was nearly full[[, {used} of {total}]]",
		Means:    "RAM, not a GPU: Ray ends its newest task above {share} of the node's memory[[, here {line}; it was {over} above it]]. That task need not be the one that took the memory[[ (it held {held})]]. Likely too many run at once: Ray starts as many as the CPUs allow and counts no memory unless told what one needs. Or one process grows, or the object store is large; this message does not list who holds it.",
		Not:      rayNot,
		Cures: []cause.Cure{
			rayFewerTasks, rayLook,
			{Fix: "stream_dataset", Title: "One process is the large one, or the object store", Told: "Smaller blocks, no `ray.get` of a whole list, `del` what is done. The store: `ray start --object-store-memory=8000000000` (bytes), which then spills to disk. Else a node with more RAM.", Cost: "Some rewriting, or disk speed"},
		},
		Sources: []string{rayGuide, rayStore, "https://docs.ray.io/en/latest/ray-core/patterns/limit-running-tasks.html"},
	},
	{
		ID: "ray/object-store", Kinds: []fact.Kind{fact.RayStore},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: rayFigures,
		Headline: "found its object store full",
		Means:    "What tasks return and what `ray.put` stores lies in shared memory (/dev/shm), 30 % of RAM unless told otherwise; in Docker /dev/shm is 64 MB, and Ray then falls back to slow /tmp. Objects stay as long as somebody holds their ObjectRef, so a list of refs keeps all results.",
		Not:      "More CPUs or GPUs: they only fill it faster.",
		Cures: []cause.Cure{
			{Fix: "raise_shm_size", Title: "In a container: more shared memory than the store", Kind: "shell", Text: "docker run --shm-size=10gb IMAGE   # IMAGE: what you start today; above 30 % of its memory", Cost: "It counts as RAM"},
			{Fix: "raise_memory_limit", Title: "A larger store", Kind: "shell", Text: "ray start --head --object-store-memory=20000000000   # bytes; ray.init(object_store_memory=...) the same", Cost: "Less RAM for the tasks"},
			{Fix: "stream_dataset", Title: "Let go of results as you use them", Kind: "python", Text: "while refs:\n    done, refs = ray.wait(refs)   # in place of ray.get(refs)\n    use(ray.get(done[0])); del done", Cost: "Some rewriting"},
		},
		Sources: []string{rayStore, "https://docs.ray.io/en/latest/ray-core/objects/object-spilling.html"},
	},
}
