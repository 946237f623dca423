package rest

import (
	"strconv"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/room"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// beside are about memory outside this program that is no stranger's.
var beside = []cause.Card{
	{
		ID: "pytorch/started-together", Kinds: cures.Allocators, If: when.All(cures.OnOneCard, ledger.Crowded, startedTogether, when.Not(ledger.Roomy)),
		Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "ran out of memory on a GPU that {count} processes share, probably started together",
		Means:    "{listed}: most likely one program started them all, such as {kinds}. Each has its own CUDA context and data; this one holds {mine}.",
		Not:      "`empty_cache()` in this process: it does not reach the others.",
		Cures: []cause.Cure{
			{Fix: "balance_split", If: cures.Ranked, Title: "Give each rank its own GPU", Cost: "free", Told: "Run this in each rank before anything else touches CUDA. Then move tensors and models to that device, not to `cuda:0`:", Kind: "python", Text: "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))   # and torch.load(..., map_location=\"cpu\")"},
			{Fix: "lower_parallel", If: when.Not(cures.Ranked), Title: "Give each its own GPU, or run fewer of them at once", Cost: "slower", Told: "Workers or tests: one at a time (`--workers 1`, `Pool(1)`, pytest-xdist `-n 1`), or a different `CUDA_VISIBLE_DEVICES` for each; ranks: call `torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))` first, and use no `cuda:0` in the code."},
			{Fix: "expandable_segments", If: slackHelps, Title: "Let the allocator use its {slack} of unused reserve", Cost: "none"},
			{Fix: "kill_stale_process", Title: "If one of them is an earlier run: end it", Cost: "what it does is lost"},
			{Fix: "lower_batch_size", Title: cures.HalveStep.Title, Cost: cures.HalveStep.Cost, Told: cures.AnyWork, Ways: cures.LessAtOnce},
		},
		Figures: together, Sources: []string{cures.AllocatorSource},
	},
	{
		ID: "pytorch/pool-uncounted", Kinds: []fact.Kind{fact.TorchAsync}, If: when.All(clues.Pooled, ledger.Crowded, when.Not(when.Any(ledger.Roomy, cures.Ranked))), Among: append([]string{cause.LeakedProcess}, cures.OwnDoing...),
		Headline: "ran out of memory on this {card} card",
		Means:    "Tensors hold {mine} ({mine%}). The message does not split the other {others}: freed memory that this allocator (cudaMallocAsync) keeps, CUDA's own 300 to 600 MiB, and possibly other programs.",
		Not:      "`max_split_size_mb`: this allocator has no such setting.",
		Cures:    []cause.Cure{cures.MostlyComfyUI, lessWork, cures.LookFirst, cures.ShrinkModel}, Figures: cures.Scene,
		Sources: []string{"pytorch/c10/cuda/CUDAMallocAsyncAllocator.cpp"},
	},
	{
		ID: "pytorch/no-figures-in-forward", Kinds: []fact.Kind{fact.CUDAError}, Phases: []string{"unknown"}, If: func(c *ledger.Case) bool {
			return len(c.Stack) == 1 && cures.InForward(c) && c.Signal("training") == nil && !reader.LooksLikeWindows(c) && !reader.OnWindows(c)
		},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in a model's forward pass; the message has no figures",
		Means:    "{refuser}. It failed in a forward pass, so the model is on the GPU, and the activations of this batch or input probably do not fit. Or other programs fill the GPU: `nvidia-smi` before the start shows that.",
		Not:      "{no_settings}.", Later: cures.Kept, Figures: cures.Scene,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size or the input size", Cost: "slower, or detail", Told: "[[{any}]]", Ways: []cause.Way{
				{For: fix.Training, Text: "{fewer} smaller or shorter samples."},
				{For: fix.Using, Text: "{run} it under `torch.no_grad()`, one input at a time. Scale large images down, or work in tiles."},
			}},
			cures.EndListed, cures.RuntimeFirst, cures.LookFirst, cures.CheaperTraining, cures.SmallerModel,
		},
		Sources: []string{"pytorch/c10/cuda/CUDAException.cpp", "https://github.com/MIC-DKFZ/nnUNet/issues/318"},
	},
	{
		ID: "pytorch/first-beside", Kinds: cures.Allocators, If: when.All(cures.OnOneCard, cures.QuarterOfCard, room.NothingHeld, when.Not(when.Any(ledger.Roomy, ledger.FillsCard)), func(c *ledger.Case) bool { return c.Others.Bytes > 2*units.GiB && ledger.NeverFits(c) == "" }),
		Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "ran out of memory at its first tensor of {asked}, while {others} was already in use",
		Means:    "PyTorch held nothing yet, so {asked} was its first tensor: usually a whole data set at once, a dense matrix of everything by everything, or a wrong shape. Also, {others} of the card is in use outside PyTorch, probably by other programs or an earlier run.",
		Not:      "{settings}; gradient checkpointing, mixed precision: nothing was computed yet.",
		Cures: []cause.Cure{
			cures.EndListed, cures.LookFirst,
			{Fix: "fix_shape", Title: "Print the shape of what is made or moved first", Cost: "a minute", Told: "Keep data in RAM and move one batch at a time. A matrix of users by items or nodes by nodes can be sparse, or computed in blocks of rows.", Kind: "python", Text: "print(x.shape, x.dtype, x.numel() * x.element_size() / 2**30)   # x: what goes to the GPU"},
			cures.OtherCard,
		}, Figures: cures.Scene,
		Sources: []string{cures.AllocatorSource, cures.MemoryFAQ},
	},
	{
		ID: "pytorch/shared-with-system", Kinds: cures.Allocators, If: when.All(cures.OnOneCard, ledger.Crowded, room.SharedAMD, when.Not(ledger.Roomy)),
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of the memory that its GPU shares with the system",
		Means:    "{card} points to an AMD GPU that shares RAM with the CPU. Then the {others} outside PyTorch may be other programs, the system's file cache, or a second copy of the weights in RAM while they load.",
		Not:      "`empty_cache()` and allocator settings.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "See what holds the memory, and close it", Cost: "free", Told: "Look for another model server or run, and for this program's own use of RAM:", Kind: "shell", Text: "free -h; rocm-smi --showpids; ps -eo pid,rss,args --sort=-rss | head"},
			{Fix: "use_mmap", Title: "Load the weights without a second copy in RAM", Cost: "none", Told: "Use safetensors files. In transformers: `low_cpu_mem_usage=True` with `device_map=\"cuda\"`. In your own code, delete a state dict as soon as it is loaded."},
			{Fix: "use_lower_quant", Title: "Or use smaller weights", Cost: "little quality", Told: "8 bit takes half of 16, 4 bit about a quarter."},
			{Fix: "lower_resolution", Title: "If it failed at work, not while loading: use a smaller input", Cost: "detail", Told: "Half the width and height of an image, fewer frames, or a shorter text."},
		},
		Figures: cures.Scene, Sources: []string{cures.AllocatorSource, "https://rocm.docs.amd.com/en/docs-7.14.0/reference/system-optimization/rdna3-5.html"},
	},
}

// neighbours is how far apart the numbers of processes lie that were started
// together.
const neighbours = 64

// startedTogether: the processes that the message lists have numbers near this
// one's, or near one another's where there are several and this one is not told
// from them, as in a container.
func startedTogether(c *ledger.Case) bool {
	lowest, highest, others := c.OurPID, c.OurPID, 0
	for _, p := range c.F().OtherProcesses {
		if p.PID == c.OurPID {
			continue
		}
		if others++; lowest == 0 {
			lowest, highest = p.PID, p.PID
		}
		lowest, highest = min(lowest, p.PID), max(highest, p.PID)
	}
	return highest-lowest <= neighbours && (others > 0 && c.OurPID != 0 || others >= several)
}

// several is how many processes make a job.
const several = 3

// slackHelps: what lies unused would have been enough with what was free.
func slackHelps(c *ledger.Case) bool {
	return c.Slack.Bytes > units.GiB/4 && c.Slack.Bytes+c.Free.Bytes >= c.Asked.Bytes
}

// together is scene with who the processes are.
func together(c *ledger.Case) map[string]string {
	figures := cures.Scene(c)
	count := 1
	for _, p := range c.F().OtherProcesses {
		if p.PID != c.OurPID {
			count++
		}
	}
	figures["kinds"] = "ranks that all took the same card, the workers of a server, a pool, or tests"
	if cures.Ranked(c) {
		figures["kinds"] = "the ranks of this job, which all took the same card"
	}
	figures["count"], figures["listed"] = strconv.Itoa(count), "The message lists the other processes"+fix.Occupants(c, ": ")
	if c.OurPID != 0 {
		figures["listed"] += ". Their PIDs are close to this one's, " + quote.PID(c.OurPID)
	} else {
		figures["listed"] += ", whose PIDs lie next to one another"
	}
	return figures
}
