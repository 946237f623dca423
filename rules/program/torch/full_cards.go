package torch

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/rest"
	"github.com/oomdoc/oomdoc/rules/program/torch/room"
	"github.com/oomdoc/oomdoc/rules/program/torch/sized"
	"github.com/oomdoc/oomdoc/rules/when"
)

// full: this program has the card, and what was refused was small.
var full = when.All(onOneCard, ledger.FillsCard, when.Not(ledger.Roomy))

func training(c *ledger.Case) bool { return c.Training() }

// mineFirst is for a message that shows no total and much of this program's own.
var mineFirst = cause.Cure{
	Fix: "lower_batch_size", Title: cures.HalveStep.Title, Cost: cures.HalveStep.Cost, Told: cures.AnyWork, Ways: cures.LessAtOnce,
	If: func(c *ledger.Case) bool {
		much := c.Mine.Bytes > 2*units.GiB || c.Total.Has() && c.Asked.Bytes*4 >= c.Total.Bytes
		return much && !ledger.Before2020(c)
	},
}

// moved: DeepSpeed was putting the whole model on the card, before any step.
func moved(c *ledger.Case) bool { return c.Near("_configure_distributed_model") }

// farRank: a rank above 0 that calls its card GPU 0.
func farRank(c *ledger.Case) bool {
	rank, found := strings.CutPrefix(c.Failure.Source, "rank")
	return found && rank != "0" && ledger.GPU(c) == 0
}

// noCopy is for a rank on which DeepSpeed puts all weights.
var noCopy = cause.Cure{
	Fix: "shard_training", If: moved, Title: "If no other process is on it: shard the weights", Cost: "communication between the cards",
	Told: "Use ZeRO stage 3, and create the `TrainingArguments` with the DeepSpeed file before `from_pretrained`. Stages 1 and 2 keep all weights on every card, and so does stage 3 if the model is created too early. If it stays tight, add `\"offload_param\": {\"device\": \"cpu\"}`.",
}

// What to do where memory climbs from step to step, or one step jumps.
var (
	keepNumbers    = cause.Cure{Fix: "detach_accumulated", Title: "See whether memory climbs, and store numbers instead of tensors", Cost: "none", Told: "Use `total += loss.item()`, not `total += loss`, which keeps the graph of every step. Compute metrics under `torch.no_grad()`, and store results and replay buffers as `x.detach().cpu()`.", Kind: "python", Text: "print(step, torch.cuda.memory_allocated() // 2**20, \"MiB\")   # every 50 steps: rising or flat?"}
	boundLargest   = cause.Cure{Fix: "lower_batch_size", Title: "If it jumps: limit the largest batch", Cost: "what is cut is lost, or slower", Told: "Halve the batch size (in reinforcement learning, of what is drawn from the replay buffer), or cut or skip the largest samples. Texts can be batched by tokens instead of samples. Run the largest batch first, so that a failure shows at once."}
	boundAndWatch  = cause.Cure{Fix: boundLargest.Fix, Title: "Limit the largest batch, and see whether memory climbs", Cost: boundLargest.Cost, Told: boundLargest.Told, Kind: "python", Text: keepNumbers.Text}
	keepIfClimbs   = cause.Cure{Fix: keepNumbers.Fix, Title: "If it climbs: store numbers instead of tensors", Cost: "none", Told: keepNumbers.Told}
	fromCheckpoint = cause.Cure{Fix: "restart_session", Title: "Resume from the last checkpoint", Cost: "the steps since then", Told: "A leak then fails after about as many steps again, a large sample at the same place."}
)

// fullCards are for a card that is simply full: the commonest message, of which
// the figures say what cannot be the cause.
var fullCards = []cause.Card{
	{
		ID: "pytorch/fixed-part", Kinds: cures.Allocators, If: when.All(full, cause.SmallestStep), Among: []string{cause.TrainingStateTooLarge},
		Headline: "ran out of memory in training: the {card} card is full even at batch size 1",
		Means:    "Batch size 1 with gradient checkpointing is already the smallest step. So most of the {mine} in use is probably weights, gradients and optimizer state: about 16 bytes per trained parameter with Adam, whatever the batch. If your samples are long, shorten them first.",
		Not:      "A smaller batch: it is 1 already. {settings}.",
		Cures: []cause.Cure{
			{Fix: "use_lora", Title: "Train fewer parameters", If: cause.FineTunes, Cost: "for most purposes the same result", Told: "Train a LoRA, or freeze layers (`requires_grad_(False)`): only trained parameters have gradients and optimizer state."},
			cures.ShareOut,
			{Fix: "optimizer_8bit", Title: "Use 8-bit Adam", Cost: "hardly any quality", Told: "`bitsandbytes.optim.AdamW8bit` instead of AdamW (Trainer: `optim=\"adamw_bnb_8bit\"`): 2 bytes per parameter instead of 8."},
			{Fix: "offload_optimizer", Title: "Offload the optimizer to RAM", Cost: "slower steps", Told: "In the DeepSpeed file: `\"offload_optimizer\": {\"device\": \"cpu\"}`. It takes 12 bytes of RAM per parameter."},
		},
		Sources: []string{allocatorSource, "https://huggingface.co/docs/transformers/model_memory_anatomy"}, Figures: cures.Scene,
	},
	{
		ID: "pytorch/full-on-load", Kinds: cures.Allocators, If: when.All(full, cures.Loading), Among: ownDoing,
		Headline: "ran out of memory while the weights were being loaded",
		Means:    "This program held {mine} of {total} while the model was still being loaded. The {asked} that failed was only the next piece.",
		Not:      "A smaller batch or a shorter input: the model was still being loaded.",
		Cures: []cause.Cure{
			cures.TooSmall, cures.ShareLoad, cures.FewerThan16,
			{Fix: "balance_split", If: readsToCard, Title: "Load the checkpoint to the CPU first", Cost: "free", Told: "Otherwise the GPU holds the weights twice for a moment:", Kind: "python", Text: "checkpoint = torch.load(path, map_location=\"cpu\")   # path: as in your call\nmodel.load_state_dict(checkpoint)\ndel checkpoint"},
			{Fix: "cpu_offload", If: when.All(cures.NarrowAlready, when.Not(pipelined)), Title: "Keep part of the model in system memory (RAM)", Cost: "slower", Told: "Turn on the program's option for block swap, offloading or low VRAM (transformers: `device_map=\"auto\"`; diffusers: `pipe.enable_model_cpu_offload()`). The weights are already in 16 bit or less."},
			{Fix: "cpu_offload", If: pipelined, Title: "Keep one model of the pipeline on the card at a time", Cost: "slower", Told: "Use this instead of `.to(\"cuda\")`. If it is still too much: `enable_sequential_cpu_offload()`, which is much slower. In a ready-made program: its offloading or low VRAM option.", Kind: "python", Text: "pipe.enable_model_cpu_offload()   # diffusers; pipe: your pipeline, loaded with torch_dtype=torch.bfloat16"},
			{Fix: "use_lower_quant", If: pipelined, Title: "Load its largest model in 8 or 4 bit", Cost: "some quality", Told: "For images: an fp8 or GGUF file (FLUX.1's transformer takes 24 GB at 16 bit, 12 at 8, 7 at 4), in ComfyUI or with diffusers' `GGUFQuantizationConfig`; the text encoder in 8 bit, too."},
			{Fix: "half_precision", If: when.All(sized.MayFit16, when.Not(when.Any(ownModel, cures.NarrowAlready))), Title: "Load the model in 16 bit, if it is 32 bit now", Cost: "none to speak of", Told: "Many models load in 32 bit by default; 16 bit takes half. For your own model: `model.half()` before `.to(\"cuda\")`.", Kind: "python", Text: "model = Model.from_pretrained(path, torch_dtype=torch.float16)   # Model, path: as in your own call"},
			restartFirst,
			{Fix: "empty_cache", If: when.All(ownModel, when.Not(restartFirst.If)), Title: "Check what this process holds before the model", Cost: "free", Told: "An earlier model, a checkpoint or a data set may be on the card. If this is not near 0, `del` it, and load checkpoints with `map_location=\"cpu\"`.", Kind: "python", Text: "print(torch.cuda.memory_allocated() // 2**20, \"MiB before the model\")"},
			{Fix: "half_precision", If: when.All(ownModel, when.Not(when.Any(cures.NarrowAlready, pipelined))), Title: "Otherwise: 16 bit, or a smaller model", Cost: "little quality", Told: "`model.half()` before `.to(device)` halves it, if it is only used; for training, fewer layers or channels."},
			{Fix: "use_smaller_model", If: when.Not(when.Any((*ledger.Case).Training, ownModel, cures.NarrowAlready)), Title: "Or use a smaller or quantized model", Cost: "some quality", Told: "Take its next smaller version. Language models also come in 8 and 4 bit, image models as fp8 or GGUF files."},
			{Fix: "use_smaller_model", If: cures.NarrowAlready, Title: "Or use a smaller model, or a GPU with more memory", Cost: "some quality, or money", Told: "A smaller variant, or a file of it in fewer bits (GGUF, 4 bit) where the program reads one."},
			{Fix: "cpu_offload", If: when.Not(cures.NarrowAlready), Title: "Leave part of the model in system memory (RAM)", Cost: "several times slower", Told: "transformers: `device_map=\"auto\"`. diffusers: `pipe.enable_model_cpu_offload()`. Other programs call it offload or low VRAM."},
		},
		Sources: []string{allocatorSource, memoryFAQ},
	},
	{
		ID: "pytorch/evaluation", Kinds: cures.Allocators, If: when.All(onOneCard, cures.UnfreedEvaluation, when.Not(when.Any(ledger.Crowded, ledger.Roomy, slackWouldDo))), Among: append([]string{cause.RetainedMemory}, ownDoing...),
		Headline: "ran out of memory in the evaluation",
		Means:    "It failed in an evaluation function, and the traceback shows no `torch.no_grad()`. Without it, every forward pass stores activations as in training. Evaluation batches and images are often larger, too.",
		Not:      "`model.eval()` alone: it changes dropout and batch norm, not memory.[[ Allocator settings: at most {slack} to gain.]]",
		Cures: []cause.Cure{
			{Fix: evaluateFreely.Fix, If: cures.UnfreedEvaluation, Title: "Turn gradients off in the evaluation", Cost: "none", Kind: evaluateFreely.Kind, Text: evaluateFreely.Text},
			{Fix: "lower_batch_size", Title: "Use a smaller batch or smaller inputs in the evaluation", Cost: "a little time", Told: "Give the evaluation loader its own `batch_size`, such as 1. Scale down or crop large samples as in training."},
			{Fix: "detach_accumulated", If: cures.Uses, Title: "Store results in RAM", Cost: "none", Kind: "python", Text: "preds.append(pred.cpu())"},
			{Fix: "detach_accumulated", If: when.Not(cures.Uses), Title: "Free the last training step, and store results in RAM", Cost: "none", Kind: "python", Text: "del out, loss   # before the evaluation\npreds.append(pred.cpu())   # in it"},
		},
		Sources: []string{memoryFAQ, "https://pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation"},
	},
	{
		ID: "pytorch/late-step", Kinds: cures.Allocators, If: when.All(when.Any(onOneCard, cutBehindTotal, ledger.CutShort), ledger.OnCard, cures.LateStep), Among: append([]string{cause.RetainedMemory, cause.LeakedProcess}, ownDoing...),
		Headline: "ran out of memory after many steps that went well",
		Means:    "Earlier steps went well, so the model and a usual step fit. Either memory climbs because tensors are kept from step to step, or this step was larger than the others: a long sample, a large image, an evaluation.[[ {grown} of the card is outside this program; that may have grown.]]",
		Not:      "A smaller batch alone, if it is a leak: it only fails later.",
		Cures: []cause.Cure{
			cures.AtMilestone, cures.AfterEpoch, boundAndWatch, keepIfClimbs,
			{Fix: "expandable_segments", If: when.Not(cures.SplitEra), Title: "If sizes vary: turn on expandable segments", Cost: "none as a rule"},
			fromCheckpoint,
		},
		Figures: cures.LateFigures,
		Sources: []string{memoryFAQ, allocatorSource},
	},
	{
		ID: "pytorch/forward", Kinds: cures.Allocators, If: when.All(onOneCard, ownCard, throughLayers, when.Not(when.Any(cures.Loading, cures.LateStep, rest.OtherLibrary, inApp))), Among: ownDoing,
		Headline: "ran out of memory in the model's forward pass[[: this program fills the {whole} card by itself]]",
		Means:    "[[{stands} ]]The model itself is on the GPU, but the activations of this batch do not fit beside it. They grow with the batch size and the size of each sample. With gradients on, those of all layers stay until the backward pass.",
		Not:      "{settings}.[[ {in_use}.]][[ {each}]]",
		Later:    cures.Kept, Cures: cures.LineFirst([]cause.Cure{
			evaluateFreely,
			{Fix: "inference_mode", If: func(c *ledger.Case) bool {
				return !c.Training() && c.Phase == "inference" && !cures.UnfreedEvaluation(c)
			}, Title: "Turn gradients off: nothing is trained here", Cost: "none", Told: "This is often enough. If it is there already, run one input at a time, and a smaller one.", Kind: "python", Text: "with torch.no_grad():\n    output = model(x)   # as in your call"},
			loosePieces, looseBefore, cures.HalveStep, cures.LessToo, cures.HalveOld, cures.LastLayer, cures.CheaperTraining, cures.LooseToo, halfForward, cures.ShareOut, cures.LighterOptimizer, cures.BiggerCard,
		}...), Figures: through,
		Sources: []string{allocatorSource, memoryFAQ},
	},
	{
		ID: "pytorch/full-in-training", Kinds: cures.Allocators, If: when.All(full, training), Among: ownDoing,
		Headline: "ran out of memory in training[[: this program fills the {whole} card by itself]]",
		Means:    "One training step does not fit. It needs weights, gradients, optimizer state and the activations of every layer. Only the activations shrink with batch size, sequence length or image size.",
		Not:      "{settings}.[[ {in_use}.]][[ {each}]]",
		Later:    cures.Kept, Cures: cures.LineFirst(cures.TooSmall, loosePieces, looseBefore, cures.HalveStep, cures.HalveOld, closeFirst, cures.LastLayer, cures.CheaperTraining, cures.LooseToo, cures.ShareOut, cures.LighterOptimizer, cures.BiggerCard), Figures: cures.Scene,
		Sources: []string{allocatorSource, memoryFAQ},
	},
	{
		ID: "pytorch/built-there", Kinds: cures.Allocators, If: when.All(full, builtThere),
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory[[: this program fills the {whole} card by itself]], probably while it built the model",
		Means:    "The traceback ends in `torch/utils/_device.py`, so a tensor was created under `with torch.device(...)` or a default device. Model servers such as vLLM and SGLang build their layers that way; then the weights do not fit.",
		Not:      "{settings}.[[ Closing all else: {closing} at most.]]",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "A model server: load a quantized checkpoint", Cost: "little quality", Told: "FP8 or INT8 takes half of 16 bit, AWQ or GPTQ (4 bit) about a quarter. Take a checkpoint that is stored quantized: quantizing while loading may need the 16-bit weights first."},
			{Fix: "multi_gpu", Title: "Or split it over more GPUs", Cost: "more GPUs", Told: "vLLM `--tensor-parallel-size 2`, SGLang `--tp 2`."},
			{Fix: "lower_batch_size", Title: "A script of your own: lower the batch size or the input size", Cost: "slower", Told: cures.AnyWork, Ways: cures.LessAtOnce},
		}, Figures: besides,
		Sources: []string{"pytorch/torch/utils/_device.py", "vllm/vllm/model_executor/model_loader/loader.py", "sglang/python/sglang/srt/model_loader/loader.py"},
	},
	asyncFull,
	{
		ID: "pytorch/last-straw", Kinds: cures.Allocators, If: full, Among: ownDoing,
		Headline: "ran out of memory[[: this program fills the {whole} card by itself]]",
		Means:    "{last}[[ {probably}]][[ {table}]] Try one small input: if it runs, the batch or input was too large for this card; if not, the model is.",
		Not:      "{settings}.[[ Closing all else: {closing} at most.]]", Later: cures.Kept,
		Cures: cures.LineFirst(cures.TooSmall, loosePieces, looseBefore, onlyIf(when.Any(cures.LikeWeights, when.All(cures.SixteenFirst.If, cures.FourGiB)), cures.Lighter), cures.LessToo, cures.HalveStep, cures.HalveOld, closeFirst, cures.MostlyComfyUI, cures.ShareOut, cures.PerhapsRanks, cures.LooseToo, onlyIf(when.All(cures.SixteenFirst.If, when.Not(cures.FourGiB)), cures.SixteenFirst), onlyIf(when.Not(when.Any((*ledger.Case).Training, ledger.Before2020, cures.SmallCard, cures.LikeWeights)), cures.Lighter), cures.FreshStart, cures.KeptInLoop, onlyIf(func(c *ledger.Case) bool { return cures.FreeOthers.If(c) && room.LittleInTable(c) == nil }, cures.FreeOthers), cures.MoreCards), Figures: besides,
		Sources: []string{allocatorSource, memoryFAQ},
	},
	{
		ID: "pytorch/shared-card", Kinds: cures.Allocators, If: when.All(onOneCard, narrow, when.Not(when.Any(ledger.Roomy, cures.Ranked, clues.Pooled))), Among: append([]string{cause.LeakedProcess}, ownDoing...),
		Headline: "ran out of memory on {its} {card} card",
		Means:    "This program holds {mine} ({mine%}). Another {others} is outside it: {outside}.[[ {short} was missing at this moment, but the next step may need more.]]",
		Not:      "{settings}.",
		Later:    cures.Kept, Cures: []cause.Cure{onlyIf(when.All(cures.TooSmall.If, when.Not(cures.MostlyOthers)), cures.TooSmall), cures.EndListed, ownFirst, cures.LookAround, cures.LookFirst, cures.TooSmall, cures.HalveStep, cures.HalveOld, cures.LastLayer, cures.CheaperTraining, cures.LessToo, cures.ShrinkModel}, Figures: besides,
		Sources: []string{allocatorSource, memoryFAQ},
	},
	{
		ID: "pytorch/rank-apart", Kinds: cures.Allocators, Said: []string{"local_rank: 0 (pid:"}, If: when.All(onOneCard, farRank, ledger.Crowded, when.Not(ledger.Roomy)),
		Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "ran out of memory: processes outside this rank hold most of its GPU",
		Means:    "This rank holds {mine}; {others} more is in use on the same GPU. It is the first rank of its machine but not of the job, so each machine, pod or container has its own GPU 0. Either several ranks share one GPU, or an earlier run still holds it.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "select_gpu", Title: "Check whether ranks share a GPU, and give each its own", Cost: "free", Told: "If two pods show the same UUID, they share a GPU. Kubernetes: request `nvidia.com/gpu: 1` for each, without time-slicing replicas in the device plugin.", Kind: "shell", Text: "nvidia-smi -L; nvidia-smi   # in each pod, and on the node"},
			{Fix: "kill_stale_process", Title: "End what an earlier run left", Cost: "free", Told: "Old pods or containers of yours on that node: `kubectl get pods -o wide`, `docker ps`. The node's own `nvidia-smi` shows their processes, the pod's does not."},
			noCopy,
			{Fix: "lower_batch_size", If: when.Not(when.Any(moved, cures.Loading)), Title: cures.HalveStep.Title, Cost: cures.HalveStep.Cost, Told: cures.AnyWork, Ways: cures.LessAtOnce},
		},
		Figures: cures.Scene, Sources: []string{allocatorSource, "pytorch/torch/distributed/elastic/multiprocessing/api.py", "https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus"},
	},
	{
		ID: "pytorch/rank-full", Kinds: cures.Allocators, Among: append([]string{cause.LeakedProcess}, ownDoing...), If: when.All(onOneCard, cures.Ranked, when.Not(ledger.Roomy), func(c *ledger.Case) bool { return c.Others.Bytes > 2*units.GiB }),
		Headline: "ran out of memory: {others} of its GPU is outside this rank",
		Means:    "This rank holds {mine} of {total}. CUDA itself and NCCL take about 0.5 to 1.5 GiB of the rest. What is beyond that is another program, an earlier run, or another rank on the wrong GPU (`cuda` without a number means GPU 0).",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See which other processes use the GPU", Cost: "free", Kind: "shell", Text: "nvidia-smi", Told: "If one is an earlier launch of yours, end it by its PID."},
			{Fix: "balance_split", Title: "If several ranks are on one GPU: give each its own", Cost: "free", Told: "Before anything else touches CUDA:", Kind: "python", Text: "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))   # and torch.load(..., map_location=\"cpu\")"},
			noCopy,
			{Fix: "lower_batch_size", If: when.Not(when.Any(moved, cures.Loading, cures.SmallCard)), Title: cures.HalveStep.Title, Cost: cures.HalveStep.Cost, Told: cures.AnyWork, Ways: cures.LessAtOnce},
		},
		Figures: cures.Scene, Sources: []string{allocatorSource, "https://github.com/pytorch/examples/issues/969"},
	},
	{
		ID: "pytorch/no-total", Kinds: cures.Allocators, If: func(c *ledger.Case) bool {
			return ledger.OnCard(c) && (!c.Total.Has() || cutBehindTotal(c)) && !c.Limit.Has() && c.Asked.Has() && c.Backend != "mps"
		},
		Means: "The pasted message does not say {unsaid}.[[ This program held {mine}.]] {doubt}",
		Cures: []cause.Cure{cures.EndListed, mineFirst, cures.LookFirst, cures.HalveStep, cures.CheaperTraining, cures.SmallerModel}, Figures: unsaid,
		Sources: []string{allocatorSource, cudaNotes},
	},
}

// readsToCard: a line reads a checkpoint, and not to the CPU.
func readsToCard(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		return strings.Contains(f.Source, "torch.load(") && !strings.Contains(f.Source, "cpu")
	})
}

// builtThere: the traceback, as pasted, ends where a default device is applied,
// and shows nothing that computes.
func builtThere(c *ledger.Case) bool {
	frames := ledger.Trace(c)
	return len(c.Stack) == 1 && c.Phase == "unknown" && len(frames) > 0 && strings.HasSuffix(frames[len(frames)-1].File, "torch/utils/_device.py") && c.Operation == ""
}

// restartFirst is for a model of one's own in a notebook, whose cells before may
// hold another.
var restartFirst = cause.Cure{Fix: cures.RuntimeFirst.Fix, Title: cures.RuntimeFirst.Title, Cost: cures.RuntimeFirst.Cost, Told: cures.RuntimeFirst.Told, If: func(c *ledger.Case) bool { return ownModel(c) && c.Signal("notebook") != nil }}

// pipelined: the program says that it makes a pipeline, as image programs do.
func pipelined(c *ledger.Case) bool {
	return len(c.Stack) == 1 && slices.ContainsFunc(c.Facts.Talk, func(x fact.Word) bool { return strings.Contains(strings.ToLower(x.Text), "pipeline") })
}

// ownModel: a model of the reader's own is moved, not one that a library loads.
func ownModel(c *ledger.Case) bool {
	f := ledger.OwnFrame(c)
	return f != nil && len(c.Stack) == 1 && !strings.Contains(f.Source, "from_pretrained") && (strings.Contains(f.Source, ".to(") || strings.Contains(f.Source, ".cuda("))
}

// halfForward is halfBits where nothing shows training, which has its own words.
var halfForward = cause.Cure{Fix: halfBits.Fix, Title: halfBits.Title, Cost: halfBits.Cost, Told: halfBits.Told, If: when.All(halfBits.If, when.Not((*ledger.Case).Training))}

// throughLayers: a module's forward pass of the reader's own lies in the
// traceback, and no way back.
func throughLayers(c *ledger.Case) bool {
	frames := ledger.Trace(c)
	return slices.ContainsFunc(frames, func(f fact.Code) bool { return f.Own && f.Function == "forward" }) &&
		!slices.ContainsFunc(frames, func(f fact.Code) bool {
			return strings.Contains(f.File, "torch/optim/") || f.Function == "backward" || strings.Contains(f.Source, "run_backward")
		})
}

// through is scene with the layer at which it stopped.
func through(c *ledger.Case) map[string]string {
	figures := cures.Scene(c)
	figures["stands"] = ""
	if f := ledger.OwnFrame(c); f != nil && f.Function == "forward" {
		figures["stands"] = "It failed in `forward`" + inFile(f) + "."
	}
	return figures
}

// inFile names the file of a frame, if its name is a plain one.
func inFile(f *fact.Code) string {
	base := f.File[strings.LastIndexByte(f.File, '/')+1:]
	if strings.Trim(base, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") != "" || len(base) > 40 {
		return ""
	}
	return " (" + base + ")"
}

// ownFirst is a smaller step where what others hold is little beside it.
var ownFirst = onlyIf(when.All(cures.HalveStep.If, func(c *ledger.Case) bool { return c.Others.Bytes*5 < c.Mine.Bytes*2 }), cures.HalveStep)

// besides is scene with what lies beside this program, and what was refused.
func besides(c *ledger.Case) map[string]string {
	figures := cures.Scene(c)
	figures["outside"] = "CUDA itself (usually 300 to 600 MiB), and a desktop, a browser, another notebook or an old run"
	if cures.Listed(c) {
		figures["outside"] = "the processes that the message lists"
		if listed := cures.ListedBytes(c); listed < c.Others.Bytes*4/5 {
			figures["outside"] = "the processes that the message lists (" + units.Amount(listed) + "), and others that it cannot see, such as a desktop or another container"
		}
	}
	figures["table"], figures["its"] = "", "this"
	if cures.Listed(c) || c.Others.Bytes > 2*units.GiB {
		figures["its"] = "a shared"
	}
	if d := room.LittleInTable(c); d != nil {
		figures["table"] = "The pasted `nvidia-smi` table shows only " + d.Used.String() + " in use when it was made."
	}
	figures["last"] = "The " + c.Asked.String() + " that failed is only the last of many requests."
	if cures.LikeWeights(c) {
		figures["last"] += " Hardly any of the reserve is unused, as is typical while weights are loaded; computing leaves more."
	}
	if c.Asked.Bytes*8 > c.Total.Bytes {
		figures["last"] = "The " + c.Asked.String() + " that failed is a single tensor, larger than most weights: usually one operation on the whole input or batch."
	}
	if c.Slack.Has() && c.Slack.Bytes >= c.Asked.Bytes && c.Slack.Bytes*20 >= c.Total.Bytes {
		figures["last"] = "PyTorch has " + c.Slack.String() + " of unused reserve, but in pieces smaller than the " + c.Asked.String() + " it needed."
	}
	return figures
}

// cutBehindTotal: the line ends, or is written over, behind the size of the card.
func cutBehindTotal(c *ledger.Case) bool {
	f := c.F()
	return c.Root(fact.TorchAlloc) && c.Backend != "xpu" && f.Total != nil && f.Allocated == nil && f.Free == nil && f.Reserved == nil && f.ProcessUsed == nil && f.ReservedUnallocated == nil && c.Asked.Bytes < c.Total.Bytes && !ledger.AbsurdSize(c)
}

// unsaid is scene with what the message leaves open.
func unsaid(c *ledger.Case) map[string]string {
	figures := cures.Scene(c)
	figures["unsaid"], figures["doubt"] = "how large the GPU's memory is or what uses it", "Either this program's model or batch is too large, or another program uses the GPU; `nvidia-smi` shows which."
	if c.Total.Has() {
		figures["unsaid"] = "what uses the rest of this " + c.Total.Round() + " card: the figures after its size are cut off"
		if c.Asked.Bytes*3 > c.Total.Bytes && c.Training() {
			figures["doubt"] = "A tensor that large is usually the output of a layer, so the batch size and the size of a sample decide."
		}
	}
	return figures
}
