package fix

import "github.com/oomdoc/oomdoc/rules/step"

var emptyCache = Fix{
	ID:       "empty_cache",
	Title:    "Drop what is no longer needed, then empty the cache",
	Tradeoff: "A little time at each call; no quality.",
	Cost:     free,
	Check:    "The two figures that the snippet prints before and after: `allocated` must fall, not only `reserved`.",
	Next:     "If `allocated` stays, something still points to the tensors: restart the session.",
	Told:     "Unload models that are no longer needed.",
	Steps: step.Paste("python", `import gc, torch

def show(when):
    print(f"{when}: allocated {torch.cuda.memory_allocated() / 2**30:.2f} GiB, reserved {torch.cuda.memory_reserved() / 2**30:.2f} GiB")

show("before")
model = outputs = optimizer = None   # every name that still holds the old work
gc.collect()
torch.cuda.empty_cache()
show("after")`),
}
