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
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of system memory (RAM), probably while preparing the data set",
	Means: "The error comes from Rust code; in a training run that is usually the tokenizers library working on the data set. Each process (rank) that reads or tokenises the whole set holds its own copy in the machine's RAM. [[{asked} is little, so RAM was full already.]]",
	Not:   "A smaller training batch or ZeRO: no training step shows yet.",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", Title: "Test with one process, and watch RAM", Told: "Run `deepspeed --num_gpus 1 SCRIPT` (your own script and options) with `watch free -h` beside it. If that gets through, the copies fill the RAM.", Cost: "slower"},
		{Fix: "stream_dataset", Title: "Prepare the data once, then load it from disk", Told: "Tokenise in one process with `datasets` and call `save_to_disk`. In training, `load_from_disk` maps the files instead of reading them into RAM.", Cost: "some rewriting"},
		{Fix: "raise_memory_limit", Title: "Give it more RAM", Told: "Raise the limit of the container, pod or job first (`--memory`, `resources.limits.memory`, `--mem`). Otherwise add swap.", Cost: "less for others, or money"},
	},
	Sources: []string{"deepspeed/launcher/runner.py", "https://github.com/deepspeedai/DeepSpeedExamples/issues/321", "https://huggingface.co/docs/datasets/about_arrow"},
}}
