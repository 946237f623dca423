// Package rest has the last cards of PyTorch: for each kind of message and each
// cause that none before speaks of. Any card before them is narrower.
package rest

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// seen is scene with what the clues of a cause say of this log.
func seen(id string) func(*ledger.Case) map[string]string {
	return func(c *ledger.Case) map[string]string {
		figures := cures.Scene(c)
		figures["seen"] = clues.Said(c, id)
		return figures
	}
}

// onDevice are all messages of PyTorch's about a card's memory.
var onDevice = []fact.Kind{
	fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle, fact.NVMLAssert, fact.NCCLAlloc, fact.TorchSummary, fact.TorchRetry,
	fact.MPSAlloc, fact.MPSBuffer, fact.XPURuntime, fact.XPUBlock, fact.BitsAndBytes,
}

// lessWork is the work of one step made smaller, for whatever it does.
var lessWork = cause.Cure{Fix: "lower_batch_size", Title: cures.HalveStep.Title, Cost: cures.HalveStep.Cost, Told: cures.AnyWork, Ways: cures.LessAtOnce, If: when.Not(when.Any(ledger.Before2020, cures.Loading))}

var (
	// validationFree is for a validation that nothing shows to be free of gradients.
	validationFree = cause.Cure{Fix: "inference_mode", If: validating, Title: "Run the validation under torch.no_grad()", Cost: "none", Told: "`model.eval()` alone does not turn gradients off. If it is there already, continue with 2.", Kind: "python", Text: "with torch.no_grad():   # around the loop of the validation\n    ..."}
	// smallerSince2020 is for times that have 4-bit models.
	smallerSince2020 = cause.Cure{Fix: cures.SmallerModel.Fix, Title: cures.SmallerModel.Title, Cost: cures.SmallerModel.Cost, Told: cures.SmallerModel.Told, If: when.Not(when.Any((*ledger.Case).Training, ledger.Before2020, heldNothing, cures.NarrowAlready))}
)

// Figures are for figures that no narrower card is about: one for each cause
// that they can have, at last one for any.
var Figures = []cause.Card{
	{
		ID: "pytorch/no-size", Kinds: []fact.Kind{fact.TorchAlloc}, If: ledger.AbsurdSize,
		Means: "This is a wrong number, not a real need. In a job of several ranks it may have arrived garbled from another rank.",
		Not:   "A larger card, allocator settings: no card has that much.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the sizes before the failing line", Cost: "some minutes", Told: "It is the last line of your own code in the traceback. With this variable the traceback names the right line:", Kind: "shell", Text: "CUDA_LAUNCH_BLOCKING=1 python script.py   # script.py: what you start"},
			{Fix: "restart_session", If: cures.Ranked, Title: "Look for the first error of the other ranks", Cost: "free", Told: "Read the earliest error of any rank. If one rank fails or times out, the others may read sizes that were never sent."},
			{Fix: "upgrade_version", Title: "If the sizes are right: update the library", Cost: "half an hour", Told: "Update the library that the failing line calls, or PyTorch, in a new environment: a kernel may misread a length."},
		},
		Sources: []string{cures.AllocatorSource, "https://github.com/NVIDIA/nccl/issues/1284"},
	},
	{
		ID: "pytorch/share-of-test", Kinds: cures.Allocators, Said: []string{"short test summary info", "::test_", "::Test", "run_test.py", "/unittest/case.py", "_pytest/"}, If: func(c *ledger.Case) bool { return c.Limit.Has() && c.Free.Bytes > c.Asked.Bytes }, Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of memory in a test: a memory fraction limits it to {limit}",
		Means:    "{free} of the GPU is free, but this process may use only {limit}. Most likely an earlier test set a memory fraction and did not reset it, so the failing test is not at fault.",
		Not:      "A larger card, smaller tensors, `empty_cache()`: the share is full, not the card.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Run the failing test alone", Cost: "a minute", Told: "If it passes, an earlier test of the same process left the limit:", Kind: "shell", Text: "python -m pytest FILE -k TEST   # from the FAILED line"},
			{Fix: "raise_memory_limit", Title: "Find the test that sets the fraction, and reset it", Cost: "none", Told: "Search with `grep -rn per_process_memory_fraction .`, and look at PYTORCH_ALLOC_CONF. Add to that test:", Kind: "python", Text: "self.addCleanup(torch.cuda.set_per_process_memory_fraction, 1.0)   # pytest: after a yield in a fixture"},
			{Fix: "lower_parallel", Title: "Until then: one process for each test file", Cost: "slower", Told: "Use `--forked` of the plugin pytest-forked, or one pytest call per file."},
		},
		Figures: cures.Scene, Sources: []string{cures.AllocatorSource, "pytorch/test/test_cuda.py", "https://docs.pytorch.org/docs/stable/generated/torch.cuda.memory.set_per_process_memory_fraction.html"},
	},
	{
		ID: "pytorch/allowed-share", Kinds: cures.Allocators, If: func(c *ledger.Case) bool { return c.Limit.Has() }, Cause: cause.BudgetMisconfigured, Weight: cause.Good,
		Headline: "ran out of memory: this process may use only {limit} of the card",
		Means:    "This process may use only {limit} of the card[[, although {free} is free]]. `torch.cuda.set_per_process_memory_fraction`, or the program around it, set that limit.",
		Not:      "Closing other programs: this process's share is full, not the card.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the memory fraction, or remove it", Cost: "less for other programs on the card", Own: true, Told: "In a ready-made server use its own option (TGI and LoRAX: `--cuda-memory-fraction 1.0`). In your own code:"},
			{Fix: "lower_batch_size", Title: "If the limit is intended: lower the batch size or the input size", Cost: "slower", Told: cures.AnyWork, Ways: cures.LessAtOnce},
			cures.SmallerModel,
		},
		Figures: cures.Scene, Sources: []string{cures.AllocatorSource, "https://docs.pytorch.org/docs/stable/generated/torch.cuda.memory.set_per_process_memory_fraction.html"},
	},
	{
		ID: "pytorch/hidden-share", Kinds: cures.Allocators, If: when.All(ledger.OnCard, cures.HiddenLimit), Cause: cause.BudgetMisconfigured, Weight: cause.Good,
		Means: "{seen} `torch.cuda.set_per_process_memory_fraction`, the program around this one, or a GPU-sharing system sets such a limit. PyTorch 2.1 does not name it in the message.",
		Not:   "Closing programs, a larger card: {free} is free.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Find the line that sets it, and raise it", Cost: "less for other programs on the card", Told: "Search with `grep -rn memory_fraction .` in your code and in the program's. Or run this first:", Kind: "python", Text: "torch.cuda.set_per_process_memory_fraction(1.0, 0)"},
			{Fix: "lower_batch_size", Title: "If the share is intended: lower the batch size or the input size", Cost: "slower", Told: cures.AnyWork, Ways: cures.LessAtOnce},
			{Fix: "restart_session", Title: "If nothing sets it: watch the GPU while it runs", Cost: "free", Told: "Another program may take the memory for a moment.", Kind: "shell", Text: "nvidia-smi -l 1"},
		},
		Figures: seen(cause.BudgetMisconfigured), Sources: []string{cures.AllocatorSource, "https://github.com/pytorch/pytorch/issues/111363"},
	},
	{
		ID: "pytorch/contexts-on-first-card", Kinds: cures.Allocators, Among: []string{cause.DeviceImbalance}, If: func(c *ledger.Case) bool {
			return clues.BareContexts(c).Weight > cause.None && !clues.RanksOnOneCard(c)
		},
		Headline: "ran out of memory on GPU {gpu}, where other ranks probably hold memory too",
		Means:    "{seen}[[ {decides}]] A rank opens one on GPU {gpu} if it touches CUDA before it has chosen its own card: a tensor on `cuda`, a checkpoint loaded without `map_location`, `empty_cache()`.",
		Not:      "Ending these processes, if they are ranks of the same job.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: contextsFew, Title: "Lower the batch size or the input size", Cost: "slower", Told: cures.AnyWork, Ways: cures.LessAtOnce},
			{Fix: "select_gpu", Title: "Set each rank's GPU first", Cost: "free", Told: "Run this before anything else uses CUDA, and load checkpoints with `torch.load(..., map_location=\"cpu\")`:", Kind: "python", Text: "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))"},
			{Fix: "lower_batch_size", If: when.Not(contextsFew), Title: "Lower the batch size a little", Cost: "slower", Told: cures.AnyWork, Ways: cures.LessAtOnce},
			{Fix: "balance_split", Title: "Or let each rank see only its own GPU", Cost: "free", Told: "Start each rank with its own number in `CUDA_VISIBLE_DEVICES`, if the launcher can.", Kind: "shell", Text: "nvidia-smi   # while it runs: one process a card is right"},
			cures.CheaperTraining,
		},
		Figures: contextFigures, Sources: []string{cures.AllocatorSource, "https://github.com/pytorch/examples/issues/969", "https://github.com/pytorch/pytorch/issues/15051"},
	},
	{
		ID: "pytorch/uneven-cards", Kinds: cures.Allocators, Among: []string{cause.DeviceImbalance}, If: ledger.OnCard,
		Means: "[[{seen} ]]Free memory on one card cannot be used for another card's share. So batches or layers must be distributed by what each card has.",
		Not:   "Ending other programs on the cards that are not full.",
		Cures: []cause.Cure{
			{Fix: "select_gpu", If: unevenCards, Title: "Leave out the small GPU", Cost: "fewer GPUs", Told: "Lower the total batch size by one GPU's share.", Kind: "shell", Text: "nvidia-smi --query-gpu=index,name,memory.total --format=csv\nexport CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={large}   # the numbers of all large ones, such as 0,2"},
			{Fix: "balance_split", If: unevenCards, Title: "Or use DistributedDataParallel", Cost: "some lines of code", Told: "Unlike DataParallel, it allows a smaller batch on the small GPU and does not gather results on the first one."},
			{Fix: "balance_split", If: when.Not(unevenCards)},
			{Fix: "lower_batch_size", Title: "Or lower the batch size until the fullest GPU can hold it", Cost: "slower", Told: cures.AnyWork, Ways: cures.LessAtOnce},
			cures.CheaperTraining,
		},
		Figures: func(c *ledger.Case) map[string]string {
			figures := seen(cause.DeviceImbalance)(c)
			figures["large"] = "0"
			if s := c.Signal("uneven_cards"); s != nil && strings.Contains(s.Text, "exclude GPU 0 ") {
				figures["large"] = "1"
			}
			return figures
		}, Sources: []string{cures.AllocatorSource, "pytorch/torch/nn/parallel/data_parallel.py"},
	},
	{
		ID: "pytorch/pieces-or-need", Kinds: cures.Allocators, Among: []string{cause.Fragmentation}, If: ledger.OnCard,
		Headline: "ran out of memory[[ with {slack} of its reserve unused]]",
		Means:    "{unused}[[ {need}]]",
		Later:    "If it fails again with little unused, memory is really short.",
		Cures: cures.LineFirst([]cause.Cure{
			cures.Only(when.Not(hardlyLoose), piecesJoined), cures.Only(when.Not(hardlyLoose), piecesSplit),
			{Fix: "lower_batch_size", Title: cures.LessInput.Title, Cost: "slower", Told: cures.LessInput.Told, Ways: cures.LessInput.Ways},
			cures.Only(hardlyLoose, cures.CheaperTraining), cures.Only(hardlyLoose, piecesJoined), cures.Only(hardlyLoose, piecesSplit),
			{Fix: "efficient_attention", If: when.All(cures.QuarterOfCard, cures.MayBeAttention), Title: cures.NoScores.Title, Cost: cures.NoScores.Cost, Told: cures.NoScores.Told},
			{Fix: "fix_shape", If: when.All(largePart, cures.FindShape.If), Title: cures.FindShape.Title, Cost: cures.FindShape.Cost, Told: cures.FindShape.Told},
			cures.NewerAllocator, cures.CheaperTraining, cures.SmallerModel,
		}...),
		Figures: pieceFigures, Sources: []string{cures.AllocatorSource, "https://pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf"},
	},
	{
		ID: "pytorch/kept", Kinds: onDevice, Among: []string{cause.RetainedMemory}, If: ledger.OnCard,
		Means: "[[{seen} ]]{named} Print `torch.cuda.memory_allocated()` {often} to see it.",
		Not:   "`empty_cache()` alone: it cannot free what a variable still refers to.",
		Cures: []cause.Cure{
			{Fix: "restart_session", If: cures.Loading, Title: "Restart the kernel, and run only the cells you need", Cost: "the state of the session is lost"},
			{Fix: "inference_mode", If: when.All(when.Not((*ledger.Case).Training), when.Not(cures.Loading)), Title: "Turn gradients off where nothing is trained", Cost: "none", Told: "Otherwise all activations are kept for a backward pass that never comes.", Kind: "python", Text: "with torch.no_grad():\n    output = model(x)   # as in your call"},
			validationFree,
			{Fix: "detach_accumulated", If: when.Not(cures.Loading), Title: "Store numbers, not tensors", Cost: "none", Kind: "python", Text: "total += loss.item()                       # not: total += loss\nresults.append(output.detach().cpu())      # not: results.append(output)"},
			{Fix: "empty_cache", If: cures.Loading, Title: "Or delete the old model", Cost: "none", Kind: "python", Text: "del model; import gc; gc.collect(); torch.cuda.empty_cache()   # model: every name that holds it"},
			lessWork, cures.HalveOld,
			{Fix: "use_smaller_model", If: cures.Loading, Title: cures.SmallerModel.Title, Cost: cures.SmallerModel.Cost, Told: cures.SmallerModel.Told},
		},
		Figures: keptFigures, Sources: []string{cures.MemoryFAQ, "https://pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation"},
	},
	{
		ID: "pytorch/optimizer-values", Kinds: onDevice, Among: []string{cause.TrainingStateTooLarge}, If: ledger.OnCard,
		Means: "[[{seen} ]]Adam's states take 8 bytes per trained parameter at 32 bit, on top of weights and gradients, whatever the batch.",
		Not:   "A smaller batch alone: this state does not depend on it.",
		Cures: []cause.Cure{
			{Fix: "optimizer_8bit", Title: "Use 8-bit Adam", Cost: "hardly any quality", Told: "2 bytes per parameter instead of 8 (`pip install bitsandbytes`):", Kind: "python", Text: "import bitsandbytes as bnb\n\noptimizer = bnb.optim.AdamW8bit(model.parameters(), lr=lr)"},
			{Fix: "use_lora", Title: "Train fewer parameters", If: cause.FineTunes, Cost: "for most purposes the same result", Told: "Train a LoRA, or freeze layers: only trained parameters have optimizer state."},
			cures.ShareOut,
			{Fix: "offload_optimizer", Title: "Offload the optimizer to RAM", Cost: "slower steps", Told: "It takes 12 bytes of RAM per parameter. In the DeepSpeed file:", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}}   // keep your stage, if it is 3"},
		},
		Figures: seen(cause.TrainingStateTooLarge), Sources: []string{"pytorch/torch/optim/adamw.py", "https://www.deepspeed.ai/docs/config-json/"},
	},
	{
		ID: "pytorch/figures", Kinds: cures.Allocators, If: when.All(notOnHost, func(c *ledger.Case) bool { return c.Backend != "mps" && (c.Asked.Has() || c.Total.Has()) }),
		Means: "{held}[[ {stage}]]",
		Later: cures.Kept,
		Cures: []cause.Cure{
			cures.EndListed,
			validationFree,
			{Fix: "detach_accumulated", If: cures.LateStep, Title: "See whether memory climbs", Cost: "none", Told: "If it rises, stop keeping tensors from step to step: use `total += loss.item()`, and store results as `x.detach().cpu()`.", Kind: "python", Text: "print(step, torch.cuda.memory_allocated() // 2**20, \"MiB\")   # every 50 steps"},
			{Fix: cures.LookFirst.Fix, Title: cures.LookFirst.Title, Cost: cures.LookFirst.Cost, Told: "If an earlier Python run of yours is still there, end it by its PID. Restart notebook kernels.", Kind: "shell", Text: "nvidia-smi", If: when.All(when.Not(cures.Listed), mineUnknown)},
			{Fix: "restart_session", If: heldNothing, Title: "Test whether the card can be used at all", Cost: "a minute", Told: "Put one number on the device of the message (`torch.zeros(1).to(...)`), then `torch.empty(2**28)` (1 GiB) and more. If one number fails, restart the container or the machine, and check the driver. If only large ones fail, the driver limits a single block, as Intel's does under WSL."},
			{Fix: "upgrade_version", If: heldNothing, Title: "If the test fails: install a PyTorch build that matches the driver", Cost: "half an hour", Told: "In a container, the host's driver counts."},
			{Fix: "half_precision", If: when.All(cures.Loading, when.Not(when.Any(heldNothing, cures.NarrowAlready))), Title: "Load it in 16 bit, if it is 32 now", Cost: "none to speak of", Told: "Pass `torch_dtype=torch.float16` (or bfloat16) where the model is loaded; for your own model, `model.half()`. It halves the memory."},
			lessWork, cures.HalveOld, cures.CheaperTraining, smallerSince2020, cures.LighterOptimizer,
			{Fix: "use_smaller_model", If: when.All(ledger.Before2020, when.Not((*ledger.Case).Training)), Title: "Use a smaller variant of the model", Cost: "accuracy", Told: "A ResNet-18 instead of a 50, fewer channels or layers; or a card with more memory."},
			{Fix: "restart_session", If: func(c *ledger.Case) bool { return !c.Others.Has() || c.Others.Bytes > units.GiB }, Title: "Restart the program with nothing else on the GPU", Cost: "the state of the session is lost", Told: "If it fails again at the same place, the batch or the model is too large."},
		},
		Figures: heldFigures, Sources: []string{cures.AllocatorSource, cures.MemoryFAQ},
	},
}

// largePart: a fifth of the card and more for one tensor.
func largePart(c *ledger.Case) bool { return c.Total.Has() && c.Asked.Bytes*5 >= c.Total.Bytes }

func unevenCards(c *ledger.Case) bool { return c.Signal("uneven_cards") != nil }

func validating(c *ledger.Case) bool { return c.Training() && c.Signal("validating") != nil }

// heldNothing: not a tensor was there, and what was refused is no large part of
// the card.
func heldNothing(c *ledger.Case) bool { return c.Mine.Has() && c.Mine.Bytes == 0 && !largePart(c) }

// mineUnknown: the message does not say how much of the card is this program's,
// or leaves most of the card to nobody.
func mineUnknown(c *ledger.Case) bool {
	return !c.Mine.Has() || clues.Unaccounted(c) || c.Others.Bytes > 2*units.GiB
}

// keptFigures say what it is that is kept, and when to look.
func keptFigures(c *ledger.Case) map[string]string {
	figures := seen(cause.RetainedMemory)(c)
	figures["named"], figures["often"] = "A variable probably still holds it: an earlier output, a list of results, a loss added up as a tensor.", "after each step"
	if cures.Loading(c) {
		figures["named"], figures["often"] = "Any variable of the session that refers to the model, or to one of its outputs, keeps it in memory.", "before the load"
	}
	return figures
}

// contextFigures say whether the contexts of other ranks decide.
func contextFigures(c *ledger.Case) map[string]string {
	figures := seen(cause.DeviceImbalance)(c)
	sum, our := int64(0), c.OurPID
	for _, p := range c.F().OtherProcesses {
		if p.PID != our {
			sum += p.Bytes
		}
	}
	figures["gpu"], figures["decides"] = "0", ""
	if n := ledger.GPU(c); n > 0 {
		figures["gpu"] = strconv.Itoa(n)
	}
	if c.Shortfall.Has() && c.Shortfall.Bytes > 0 && sum > 0 {
		figures["decides"] = "Without them the missing " + c.Shortfall.String() + " would have been there."
		if sum < c.Shortfall.Bytes {
			figures["decides"] = "They are a part of the missing " + c.Shortfall.String() + ", not all of it."
		}
	}
	return figures
}

// pieceFigures say what lies unused against what was refused.
func pieceFigures(c *ledger.Case) map[string]string {
	figures := cures.Scene(c)
	figures["unused"], figures["need"] = clues.Said(c, cause.Fragmentation), ""
	if c.Slack.Has() && c.Asked.Has() {
		figures["unused"] = c.Slack.String() + " of PyTorch's reserved memory is unused, but split into pieces (fragmentation)"
		switch {
		case c.Free.Has() && c.Free.Bytes > c.Asked.Bytes:
			figures["unused"] += ", and " + c.Free.String() + " was free when the message was written, more than the " + c.Asked.String() + " asked for."
		case c.Free.Has() && c.Free.Bytes == c.Asked.Bytes:
			figures["unused"] += ", and " + c.Free.String() + " was free when the message was written, as much as was asked for."
		case c.Slack.Bytes >= c.Asked.Bytes:
			figures["unused"] += ", more than the " + c.Asked.String() + " that was refused."
		case c.Free.Has() && c.Free.Bytes+c.Slack.Bytes >= c.Asked.Bytes:
			figures["unused"] += ", and " + c.Free.String() + " of the card is free: together more than the " + c.Asked.String() + " that was refused, neither alone."
		default:
			figures["unused"] += "."
		}
	}
	switch {
	case figures["unused"] == "":
		figures["unused"] = "Memory is reserved and not in use."
	case c.Mine.Has() && c.Total.Has() && c.Mine.Bytes*10 > c.Total.Bytes*9:
		figures["need"] = "But this program fills the card (" + c.Mine.String() + " of " + c.Total.String() + "), so a smaller batch or input helps as well."
	case cures.QuarterOfCard(c):
		figures["need"] = "But " + c.Asked.String() + " in one piece is much for a card of " + c.Total.Round() + ", so a smaller batch or input helps as well."
	}
	return figures
}

// heldFigures say what a message with some figures tells of who holds the card.
func heldFigures(c *ledger.Case) map[string]string {
	figures := cures.Scene(c)
	held := ""
	switch {
	case c.Total.Has() && c.Free.Has() && !c.Mine.Has() && c.Total.Bytes > c.Free.Bytes:
		held = units.AmountWithin(c.Total.Bytes-c.Free.Bytes, c.Total.Within+c.Free.Within) + " of the " + c.Total.String() + " was in use. The pasted message does not say how much of that is this program's."
	case clues.Unaccounted(c):
		held = "This program holds " + map[bool]string{true: "nothing", false: c.Mine.String()}[c.Mine.Bytes == 0] + " of " + c.Total.String() + ", and the message does not say what is free. Other programs may hold the rest, or the driver refused for another reason."
	case c.Total.Has() && c.Mine.Has() && c.Others.Has() && !ledger.FillsCard(c):
		held = c.Mine.String() + " of the " + c.Total.String() + " is this program's own, and " + c.Others.String() + " is outside it: CUDA's own context (usually 300 to 600 MiB), a desktop or other programs."
	case c.Total.Has() && c.Mine.Has():
		held = c.Mine.String() + " of the " + c.Total.String() + " is this program's own."
	default:
		held = "The message does not say what fills the card: this program's own model or batch, or another program."
	}
	figures["held"], figures["stage"] = held, stageOf(c)
	if clues.Unaccounted(c) {
		figures["stage"] = ""
	}
	return figures
}

// stageOf says what the moment of the failure tells.
func stageOf(c *ledger.Case) string {
	switch {
	case cures.Loading(c):
		return "It failed while a model was being built or moved to the GPU."
	case cures.LateStep(c):
		return "Earlier steps went well, so memory grows from step to step, or this step was larger."
	case c.Training():
		return "A training step needs weights, gradients, optimizer state and activations; only the activations shrink with the batch."
	case c.Phase == "inference", c.Phase == "":
		return ""
	}
	return undecided
}

// undecided is for a moment that tells nothing.
const undecided = "The log does not show whether the model or the batch is too large."

// notOnHost: the memory of a card, though the log may not show whose.
func notOnHost(c *ledger.Case) bool { return c.Backend != "cpu" }

// What joins unused pieces, by the PyTorch that has it.
var (
	piecesJoined = cause.Cure{Fix: "expandable_segments", If: when.Not(cures.SplitEra), Title: "Turn on expandable segments", Cost: "none as a rule"}
	piecesSplit  = cause.Cure{Fix: "max_split_size", If: cures.SplitEra, Title: "Set max_split_size_mb", Cost: "sometimes slower", Steps: cures.SplitSize}
)

// hardlyLoose: the unused reserve is no fiftieth of the card.
func hardlyLoose(c *ledger.Case) bool { return c.Slack.Bytes*50 < c.Total.Bytes }

// contextsFew: without what others hold it would not have fitted either.
func contextsFew(c *ledger.Case) bool {
	return c.Shortfall.Has() && c.Others.Has() && c.Others.Bytes < c.Shortfall.Bytes
}
