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

var rayLook = cause.Cure{Fix: "close_other_apps", Title: "Check which processes fill the RAM[[, on {node}]]", Kind: "shell", Text: "ps aux --sort=-rss | head; ray memory --stats-only", Cost: "free"}

var rayFewerTasks = cause.Cure{Fix: "lower_num_workers", Title: "Run fewer tasks at once", Ways: []cause.Way{
	{For: "A program of others", Text: "lower its own number of workers or threads, or give Ray fewer CPUs: `ray start --head --num-cpus=4` or `ray.init(num_cpus=4)`"},
	{For: "Your own code", Text: "reserve memory for each task, or double `num_cpus` of each: then half as many run"},
}, Told: "[[With {reserve} GiB each about {at_once} run at once here (Ray keeps some 30 % for its object store).]]", Steps: rayReserve, Cost: "slower"}

// only is a cure under a condition.
func only(cure cause.Cure, cond func(*ledger.Case) bool) cause.Cure {
	cure.If = cond
	return cure
}

var rayRoom = cause.Cure{Fix: "raise_memory_limit", Title: "Use a node with more RAM", Told: "Or make the object store smaller: `ray start --object-store-memory=8000000000` (bytes; the rest goes to disk). In a container or pod, raise its memory limit: Ray counts that as the node.", Cost: "money, or disk speed"}

// alone: one process of Ray's list is the large one, also among several of its name.
func alone(c *ledger.Case) bool {
	t := biggestTeam(c)
	top, _ := topTask(c)
	return t.count < 2 || top.Name == t.name && top.Bytes > 4*(t.bytes-top.Bytes)/int64(t.count-1)
}

// runaway: one worker of vLLM holds many times what its sisters hold.
func runaway(c *ledger.Case) bool {
	return rayFigures(c)["sisters"] != "" && c.Contains("rayworkerwrapper")
}

var endRunaway = cause.Cure{If: runaway, Fix: "upgrade_version", Title: "Update vLLM, and restart all workers", Told: "One worker grew far above the others of its kind, so it keeps what it should release. The size of the model is not the reason.", Cost: "a restart"}

var slowRunaway = cause.Cure{If: runaway, Fix: "lower_max_num_seqs", Title: "Until then, serve fewer requests at once, and restart in time", Told: "Halve `--max-num-seqs`. `ps -o rss= -p {top_pid}` shows (in KiB) how fast that worker grows.", Cost: "fewer requests at once"}

func raySmaller(cond func(*ledger.Case) bool) cause.Cure {
	return cause.Cure{If: cond, Fix: "stream_dataset", Title: "Reduce what {top} holds", Told: "Use smaller blocks or batches, no `ray.get` of a whole list, and `ray.put` once for shared input. In Ray Data use more blocks (`override_num_blocks`) or a lower `concurrency=`.", Cost: "some rewriting"}
}

const rayNot = "[[A threshold of 0.98 (`{variable}`): it gains only {gain}. ]]Turning the monitor off: the kernel then kills instead, perhaps Ray itself."

var rayCards = []cause.Card{
	{
		ID: "ray/listed", Kinds: []fact.Kind{fact.RayKilled}, If: listed,
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: rayFigures,
		Headline: "killed a task because the node's RAM was nearly full[[ ({used} of {total})]]",
		Means:    "System memory (RAM) ran out, not GPU memory. {top} (PID {top_pid}) holds {top_held}[[, where others of that name hold {sisters} on average]][[, and {count} processes called {team} hold {together} together]]. Above {share} of the node's memory[[ ({line})]] Ray ends a task, usually the newest, so another one may have taken the memory.",
		Not:      rayNot,
		Cures: []cause.Cure{
			endRunaway, slowRunaway, raySmaller(when.All(alone, when.Not(runaway))), only(rayFewerTasks, when.Not(runaway)), raySmaller(when.Not(alone)),
			rayRoom,
		},
		Sources: []string{rayGuide, rayStore, "https://docs.ray.io/en/latest/ray-core/patterns/limit-running-tasks.html"},
	},
	{
		ID: "ray/actor", Kinds: []fact.Kind{fact.RayKilled}, If: func(c *ledger.Case) bool { return c.Contains("(actor id:") },
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: rayFigures,
		Headline: "killed an actor because the node's RAM was nearly full[[ ({used} of {total})]]",
		Means:    "System memory (RAM) ran out, not GPU memory. Above {share} of the node's memory[[ ({line})]] Ray ends a worker, usually the newest.[[ This one held {held}, so others hold the rest.]] Each actor is a process that keeps its memory until it ends, and your program decides how many it starts.",
		Not:      rayNot + " Reserving memory for the actors (`memory=`): where not all fit, the last ones wait for ever, and `ray.get` with them.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Start about half as many actors", Kind: "text", Text: "Look for the option of your script that sets how many environments, workers or replicas it starts, and halve it.", Cost: "slower"},
			rayLook,
			{Fix: "stream_dataset", Title: "If one actor grows from step to step, free what it keeps", Told: "`del` results and buffers that you no longer need, and use no `ray.get` of a whole list. As a workaround end it now and then with `ray.kill(actor)`, and create it again.", Cost: "some rewriting"},
			rayRoom,
		},
		Sources: []string{rayGuide, "https://docs.ray.io/en/latest/ray-core/actors.html"},
	},
	{
		ID: "ray/node-low", Kinds: []fact.Kind{fact.RayKilled},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: rayFigures,
		Headline: "killed a task because the node's RAM was nearly full[[ ({used} of {total})]]",
		Means:    "System memory (RAM) ran out, not GPU memory, and the message does not list who holds it.[[ {ended} workers were killed.]] Usually too many tasks run at once: Ray starts as many as the CPUs allow, and ignores memory unless a task reserves it. Or one process or the object store grows. Above {share}[[ ({line})]] Ray ends the newest task first[[; this one held {held}]].",
		Not:      rayNot,
		Cures: []cause.Cure{
			rayFewerTasks, rayLook,
			{Fix: "stream_dataset", Title: "Reduce the largest process or the object store", Told: "Use smaller blocks, no `ray.get` of a whole list, and `del` what is done. A smaller object store goes to disk earlier: `ray start --object-store-memory=8000000000` (bytes). Or use a node with more RAM.", Cost: "some rewriting, or disk speed"},
		},
		Sources: []string{rayGuide, rayStore, "https://docs.ray.io/en/latest/ray-core/patterns/limit-running-tasks.html"},
	},
	{
		ID: "ray/object-store", Kinds: []fact.Kind{fact.RayStore},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: rayFigures,
		Headline: "could not store a result: its object store is full",
		Means:    "Ray keeps what tasks return and what you `ray.put` in shared memory (/dev/shm), by default 30 % of RAM. A Docker container has only 64 MB of /dev/shm by default; Ray then uses slow /tmp. An object stays as long as an ObjectRef to it exists, so a list of refs keeps all results.",
		Cures: []cause.Cure{
			{Fix: "raise_shm_size", Title: "In a container, raise `--shm-size`", Kind: "shell", Text: "docker run --shm-size=10gb IMAGE   # IMAGE: what you start today; above 30 % of its memory", Cost: "it counts as RAM"},
			{Fix: "raise_memory_limit", Title: "Enlarge the object store", Kind: "shell", Text: "ray start --head --object-store-memory=20000000000   # bytes; ray.init(object_store_memory=...) the same", Cost: "less RAM for the tasks"},
			{Fix: "stream_dataset", Title: "Release results as you use them", Kind: "python", Text: "while refs:\n    done, refs = ray.wait(refs)   # in place of ray.get(refs)\n    use(ray.get(done[0])); del done", Cost: "some rewriting"},
		},
		Sources: []string{rayStore, "https://docs.ray.io/en/latest/ray-core/objects/object-spilling.html"},
	},
}
