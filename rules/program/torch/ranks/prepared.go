package ranks

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// PreparedCards are about ranks that prepare the data, each for itself.
var PreparedCards = []cause.Card{{
	ID: "deepspeed/ranks-prepare", Kinds: []fact.Kind{fact.RustAlloc},
	If:    func(c *ledger.Case) bool { return beforeSteps(c) && ledger.Requested(c) < units.GiB },
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of system memory (RAM) while its ranks prepared the data",
	Means: "Rust's allocator was refused RAM before the first step; in a Python run that is mostly the tokenizers library at work on the data set. All ranks of a machine share its RAM, and each one that reads or tokenises the whole set holds a copy of its own. [[{asked} is little, so RAM was full before.]]",
	Not:   "A smaller training batch or ZeRO: no batch was on a card yet.",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", Title: "Start it with fewer ranks, and watch RAM", Told: "`deepspeed --num_gpus 1 SCRIPT` (your own script and options) with `free -h` beside it: if one rank gets through, the copies are what fills RAM.", Cost: "slower"},
		{Fix: "stream_dataset", Title: "Prepare the data once, and map it", Told: "Tokenise in one process first and `save_to_disk`; the ranks then `load_from_disk`, which maps the file instead of reading it. A token in a tensor takes 8 bytes, and its mask as many. A tenth of the data shows how the need grows.", Cost: "some rewriting"},
		{Fix: "raise_memory_limit", Title: "Give it more RAM", Told: "A container, pod or job has a limit of its own (`--memory`, `resources.limits.memory`, `--mem`): raise that first. Otherwise swap, or a machine with more.", Cost: "less for others, or money"},
	},
	Sources: []string{"deepspeed/launcher/runner.py", "https://github.com/deepspeedai/DeepSpeedExamples/issues/321", "https://huggingface.co/docs/datasets/about_arrow"},
}}
