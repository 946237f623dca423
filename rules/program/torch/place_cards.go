package torch

import (
	"fmt"
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/ram"
	"github.com/oomdoc/oomdoc/rules/program/torch/ranks"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Conditions and kinds that many cards share.
var (
	refused  = cures.Refused
	ownCard  = cures.OwnCard
	ownDoing = cures.OwnDoing
)

// smallPiece: a card that is full was asked for little more, so that no single
// tensor is to blame.
func smallPiece(c *ledger.Case) bool {
	return ledger.FillsCard(c) && c.Asked.Has() && c.Asked.Bytes*12 < c.Total.Bytes
}

// optimizerWords stand where the optimizer makes its values.
var optimizerWords = []string{"exp_avg_sq", "exp_avg'] =", `exp_avg"] =`, "p, memory_format=torch.preserve_format", "torch/optim/adam", "_init_group", "bnb/optim", "bitsandbytes/optim"}

// temporaryWords stand where Adam computes on values that it has.
var temporaryWords = []string{"denom = (exp_avg_sq.sqrt()", "denom = exp_avg_sq.sqrt()", "torch._foreach_sqrt(", "torch._foreach_div(", "in _multi_tensor_adam", "denom = (max_exp_avg_sqs"}

// slackBridges: the allocator's unused reserve is more than what was lacking.
func slackBridges(c *ledger.Case) bool {
	return c.Slack.Has() && c.Shortfall.Has() && c.Slack.Bytes > c.Shortfall.Bytes
}

// flatPiece: a tensor larger than the layers of most models, as ZeRO and FSDP
// make of all that a card holds.
func flatPiece(c *ledger.Case) bool { return ledger.Requested(c) >= units.GiB }

// flatFigures say what a flat piece in 32 bit is a share of.
func flatFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"flat": "", "settings": ""}
	if c.Slack.Has() && !slackBridges(c) {
		out["settings"] = "Allocator settings: " + c.Slack.String() + " to gain."
	}
	if n := ledger.Requested(c) / 4; flatPiece(c) {
		cards := int64(ranksSeen(c))
		if cards < 2 {
			cards = 8
		}
		out["flat"] = fmt.Sprintf("%s in one tensor is %s million numbers in 32 bit, more than most layers have: probably a flat shard of ZeRO or FSDP (with %d GPUs, of a model of %.1f billion parameters).",
			c.Asked, ledger.Thousands(n/1_000_000), cards, float64(n*cards)/1e9)
	}
	return out
}

// placeCards read where in a script a card was refused, whatever the script.
var placeCards = slices.Concat(ram.Cards, []cause.Card{
	{
		ID: "pytorch/torch-load", Kinds: refused, Said: []string{"_cuda_deserialize", "default_restore_location", "in restore_location", "_validate_device"},
		Cause: cause.DeviceImbalance, Weight: cause.Strong, Headline: "ran out of GPU memory while `torch.load` read a checkpoint",
		Means: "`torch.load` puts every tensor back on the GPU it was saved from, usually cuda:0. If the model is there already, the GPU holds its weights twice for a moment. With several processes, all of them load it onto the same GPU.",
		Cures: []cause.Cure{
			{Fix: "balance_split", Title: "Load the checkpoint to the CPU first", Kind: "python", Text: "checkpoint = torch.load(path, map_location=\"cpu\")   # path: as in your call\nmodel.load_state_dict(checkpoint)\ndel checkpoint", Cost: "Free; system memory for the file."},
			{Fix: "select_gpu", If: cures.Ranked, Title: "Set each process's GPU before loading", Kind: "python", Text: "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))", Cost: "Free."},
			cures.EndListed, cures.LookFirst,
			{Fix: "half_precision", If: when.Not((*ledger.Case).Training), Title: "If the model alone is too large: 16 bit, or run on the CPU", Cost: "little quality, or slower", Told: "`model.half()` before `.to(\"cuda\")` halves a 32-bit model. For the CPU, use `map_location=\"cpu\"` and leave out `.cuda()`."},
		},
		Sources: []string{"pytorch/torch/serialization.py", "https://github.com/pytorch/examples/issues/1078", "https://github.com/NVIDIA/apex/issues/222"}, Solved: 2,
	},
	{
		ID: "pytorch/ranks-on-one-card", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.Any(ranksOnOneCard, twinRanks), Figures: twins,
		Cause: cause.DeviceImbalance, Weight: cause.Strong, Headline: "ran out of memory: several ranks of one job use the same GPU",
		Means: "{beside}. A rank uses GPU 0 unless something assigns it another: `cuda` without a number, a `device_map` that names no rank, or a checkpoint loaded without `map_location`.[[ {idle}]]",
		Cures: []cause.Cure{
			{Fix: "balance_split", If: placedByMap, Title: "Put each rank's copy on its own card", Kind: "python", Text: "model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16,   # name: as in your call\n    device_map={\"\": int(os.environ.get(\"LOCAL_RANK\", 0))})", Told: "`device_map=\"auto\"` is for one process over all GPUs (plain `python`, no launcher). With a launcher, use:", Cost: "Free."},
			{Fix: "balance_split", If: when.Not(placedByMap), Title: "Give each rank its own card", Kind: "python", Text: "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))   # first thing; then .cuda() and torch.load(..., map_location=\"cpu\")", Cost: "Free."},
			{Fix: "select_gpu", Title: "Check that the job sees all of its GPUs, and no earlier launch runs", Kind: "shell", Text: "echo $CUDA_VISIBLE_DEVICES; nvidia-smi", Told: "If an old launch still holds a GPU, end it by its PID. If the other GPUs are empty, your ranks are all on one.", Cost: "Free."},
			{Fix: "load_in_8bit", If: placedByMap, Title: "For a LoRA: load the base model in 8 or 4 bit", Told: "About 1.1 or 0.6 GB per billion parameters on each card, with the same `device_map` for each rank.", Cost: "Little quality."},
			cures.LighterOptimizer, cures.HalveStep,
		},
		Sources: []string{"https://github.com/pytorch/examples/issues/969", "https://github.com/NVIDIA/apex/issues/222", "transformers/src/transformers/modeling_utils.py"}, Solved: 1,
	},
	{
		ID: "pytorch/pin-memory", Kinds: []fact.Kind{fact.CUDAError}, Said: []string{"pin_memory.py", "in pin memory thread", "in pin_memory"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not pin memory (page-locked RAM) for a batch",
		Means: "It failed while pinning a batch. Pinned memory is page-locked system memory (RAM). So most likely RAM, or a limit on locking it, ran out, although the message says CUDA.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Turn off pinned memory (pin_memory=False)", Kind: "python", Text: "loader = DataLoader(dataset, batch_size=batch_size, num_workers=2, pin_memory=False)", Cost: "Copies to the card are slightly slower."},
			{Fix: "close_other_apps", Title: "Free system memory", Kind: "text", Text: "Close what holds RAM (`free -h`, or the Task Manager). Fewer workers also hold fewer batches.", Cost: "Free."},
			{Fix: "raise_memory_limit", Title: "Raise the limit on locked memory, if there is one", Kind: "shell", Text: "ulimit -l   # unlimited, or KiB; Docker: start the container with --ulimit memlock=-1", Cost: "Free."},
		},
		Sources: []string{"pytorch/torch/utils/data/_utils/pin_memory.py", "pytorch/aten/src/ATen/cuda/CachingHostAllocator.cpp"},
	},
	{
		ID: "pytorch/cublas-workspace", Kinds: []fact.Kind{fact.CUDAHandle}, If: func(c *ledger.Case) bool { return c.Contains("alloc_failed") },
		Cause: cause.BatchTooLarge, Weight: cause.Good, Headline: "ran out of GPU memory when {library} allocated its workspace",
		Means: "{library}, NVIDIA's library {work}, needs up to a few hundred MiB and did not get them. So the GPU was most likely full, because of this program or another one. An index out of range in an embedding can give the same message; `CUDA_LAUNCH_BLOCKING=1` then shows another error.",
		Not:   "Reinstalling CUDA, usually.",
		Later: cures.Kept, Figures: libraryFigures,
		Cures: []cause.Cure{
			cures.EndListed, cures.LookFirst, cures.HalveStep, cures.OtherCard,
		},
		Sources: []string{"pytorch/aten/src/ATen/cuda/CublasHandlePool.cpp", "https://github.com/ultralytics/yolov5/issues/8914"},
	},
	{
		ID: "pytorch/optimizer-temporary", Kinds: []fact.Kind{fact.TorchAlloc}, Said: temporaryWords, If: when.Not(ledger.Crowded), Figures: flatFigures,
		Cause: cause.TrainingStateTooLarge, Weight: cause.Decisive, Headline: "ran out of memory in the optimizer step: Adam's temporary copies did not fit",
		Means: "Adam makes temporary copies of its state for the update, and they did not fit.[[ {flat}]] Forward and backward pass went through. Weights, gradients and Adam's state stay on the GPU whatever the batch size.",
		Not:   "A much smaller batch: by then most activations are freed.[[ {settings}]]",
		Cures: []cause.Cure{
			{Fix: "expandable_segments", If: when.All(reader.HasExpandableSegments, slackBridges), Title: "Turn on expandable segments", Cost: "none"},
			{Fix: "offload_optimizer", If: when.All(flatPiece, cures.Has(fact.Sharded)), Title: "Lower DeepSpeed's sub_group_size, or offload the optimizer", Cost: "slower steps", Told: "In the DeepSpeed file: `\"sub_group_size\": 1e8` updates a tenth of the default at once; `\"offload_optimizer\"` moves the update to RAM.", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3, \"sub_group_size\": 1e8, \"offload_optimizer\": {\"device\": \"cpu\"}}   // offload: 12 bytes of RAM a parameter"},
			{Fix: "shard_training", If: when.All(flatPiece, when.Not(cures.Has(fact.Sharded))), Title: "Use ZeRO stage 3, or offload the optimizer", Cost: "slower steps", Told: "Stage 3 (FSDP: `FULL_SHARD`) also shards the weights, which ZeRO-2 keeps on every GPU. With enough RAM, add `\"offload_optimizer\": {\"device\": \"cpu\"}`. In the DeepSpeed file:", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3, \"sub_group_size\": 1e8}"},
			{Fix: "upgrade_version", If: when.All(flatPiece, cures.SingleTensor), Title: "Use fused Adam", Cost: "none", Told: "It updates in one kernel without copies (PyTorch 2.0 and later; Trainer: `optim=\"adamw_torch_fused\"`). `foreach=False` changes nothing here: this run already updates one tensor at a time.", Kind: "python", Text: "fused=True   # in the call that makes your optimizer"},
			{Fix: "upgrade_version", If: when.All(flatPiece, when.Not(cures.SingleTensor)), Title: "Use fused Adam, or foreach=False", Cost: "none; foreach=False is slower", Told: "Fused, it updates in one kernel without copies (PyTorch 2.0 and later; Trainer: `optim=\"adamw_torch_fused\"`). With `foreach=False` the copies are of one tensor at a time: about the size of all trained parameters less.", Kind: "python", Text: "fused=True   # in the call that makes your optimizer"},
			{Fix: "optimizer_8bit", If: when.Not(flatPiece), Title: "Use fused Adam or foreach=False, else 8-bit Adam", Cost: "none; foreach=False is slower", Told: "Fused, it updates in one kernel without copies (PyTorch 2.0 and later; Trainer: `optim=\"adamw_torch_fused\"`). With `foreach=False` the copies are of one tensor at a time: about the size of all trained parameters less. 8-bit Adam (`bitsandbytes.optim.AdamW8bit`) makes the state a quarter.", Kind: "python", Text: "fused=True   # or foreach=False: in the call that makes your optimizer"},
			{Fix: "use_lora", If: cause.FineTunes, Title: "Train fewer parameters", Cost: "for most purposes the same result", Told: "Train a LoRA, or freeze layers (`requires_grad_(False)`)."},
		},
		Sources: []string{"pytorch/torch/optim/adam.py", "DeepSpeed/docs/_pages/config-json.md", "https://pytorch.org/docs/stable/generated/torch.optim.AdamW.html"},
	},
	{
		ID: "pytorch/optimizer-restored", Kinds: refused, If: when.All(ledger.OnCard, when.Not(ledger.Crowded), clues.Restoring),
		Cause: cause.RetainedMemory, Weight: cause.Strong, Headline: "ran out of memory while it restored the optimizer from a checkpoint",
		Means: "The optimizer's `load_state_dict` copies its state to the GPU (Adam: two values per trained parameter). If the checkpoint itself was loaded to the GPU, the state is there twice for a moment, beside the model.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Load the checkpoint to the CPU (map_location=\"cpu\")", Cost: "system memory (RAM) for the file", Told: "Change the line of your script that reads the file, so that only the final state goes to the GPU:", Kind: "python", Text: "checkpoint = torch.load(path, map_location=\"cpu\")   # path: as in your call\noptimizer.load_state_dict(checkpoint[\"optimizer\"])   # the key: as in your call\ndel checkpoint"},
			{Fix: "restart_session", Title: "Free what the GPU still holds, or restore in a new process", Cost: "none", Told: "Before the restore, `del` the last batch, outputs and loss, and call `torch.cuda.empty_cache()`. If you only test, load the model without the optimizer."},
			{Fix: "lower_batch_size", Title: "Lower the batch size", Cost: "slower", Told: "This leaves more room if you restore in the middle of training."},
		},
		Figures: cures.Scene, Sources: []string{"pytorch/torch/optim/optimizer.py", "https://pytorch.org/docs/stable/generated/torch.load.html"},
	},
	{
		ID: "pytorch/optimizer-state", Kinds: refused, Said: optimizerWords, Unsaid: temporaryWords,
		If: when.All(ownCard, clues.InOptimizer), Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Means: "It failed in the optimizer. At its first step Adam creates two values for each trained parameter (8 bytes at 32 bit), on top of weights and gradients.",
		Not:   "A smaller batch alone: weights, gradients and optimizer state stay as large.",
		Cures: []cause.Cure{
			{Fix: "shard_training", If: when.All(cures.Ranked, when.Not(cures.Has(fact.Sharded))), Title: "Shard it over the GPUs that you use (ZeRO-3 or FSDP)", Cost: "slower steps", Told: "The log shows several processes (ranks). Without ZeRO or FSDP each holds the whole state. Trainer: save this as ds.json and add `--deepspeed ds.json`. Accelerate and your own code: FSDP.", Kind: "config", Text: ranks.WholeFile},
			{Fix: "optimizer_8bit", Title: "Use 8-bit Adam", Told: "2 bytes per parameter instead of 8 (`pip install bitsandbytes`):", Kind: "python", Text: "import bitsandbytes as bnb\n\noptimizer = bnb.optim.AdamW8bit(model.parameters(), lr=lr)", Cost: "None worth mentioning."},
			{Fix: "use_lora", Title: "Train fewer parameters", Kind: "text", Text: "Freeze layers (`requires_grad_(False)`), or train a LoRA: only trained parameters have optimizer state.", Cost: "For most purposes the same result."},
			{Fix: "shard_training", If: when.Not(cures.Ranked), Title: "Shard it over several GPUs (FSDP, ZeRO)"},
		},
		Sources: []string{"pytorch/torch/optim/adam.py", "https://github.com/pytorch/pytorch/issues/9439"},
	},
	{
		ID: "pytorch/kept-graph", Kinds: refused, Said: []string{"total_loss += loss", "running_loss += loss", "epoch_loss += loss", "loss_sum += loss", "train_loss += loss", "losses.append(loss)", "loss_list.append(loss)"}, Unsaid: []string{"loss.item()", "loss.detach()", "loss.data"},
		If: when.Not(ledger.Crowded), Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory in a script that adds up or collects its losses as tensors",
		Means:    "The script adds up or collects `loss` itself instead of a number. If it does so over several steps, each loss keeps the graph and activations of its step, and memory grows until the GPU is full.",
		Not:      "`empty_cache()`: the graphs are still in use.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Add up loss.item()", Kind: "python", Text: "total_loss += loss.item()   # a number; loss.detach() where a tensor is wanted", Cost: "None."},
			{Fix: "empty_cache", Title: "Delete outputs and loss at the end of each step", Kind: "python", Text: "del loss, output", Cost: "None."},
			{Fix: "lower_batch_size", Title: "See whether memory climbs; if it is flat, lower the batch size", Kind: "python", Text: "print(torch.cuda.memory_allocated() // 2**20, \"MiB\")   # every 50 steps", Cost: "Slower."},
		},
		Sources: []string{memoryFAQ},
	},
	{
		ID: "pytorch/outputs-collected", Kinds: refused, Said: []string{"preds.append(", "outputs.append(", "all_preds.append(", "features.append(", "embeddings.append(", "torch.cat(preds", "torch.cat(outputs", "torch.cat(all_", "torch.cat(features"}, Unsaid: []string{".cpu()"},
		Phases: []string{"inference", "unknown"}, If: when.Not(ledger.Crowded), Cause: cause.RetainedMemory, Weight: cause.Likely,
		Headline: "ran out of memory in a loop that collects results on the GPU",
		Means:    "The loop keeps the results of all batches on the GPU, and their graphs too unless gradients are off. So memory grows with every batch.",
		Not:      "A smaller batch alone: the results of all samples add up to the same.",
		Cures: []cause.Cure{
			{Fix: "inference_mode", Title: "Turn gradients off, and move results to the CPU", Kind: "python", Text: "with torch.inference_mode():\n    for x, _ in loader:\n        preds.append(model(x.to(device)).cpu())", Cost: "None."},
			{Fix: "detach_accumulated", Title: "Store the metrics, not the outputs", Kind: "text", Text: "Add up each batch's metric as a number instead of keeping its outputs.", Cost: "None."},
		},
		Sources: []string{memoryFAQ},
	},
	validationCard("pytorch/validation", refused, cause.RetainedMemory, cause.Good, nil),
	validationCard("pytorch/validation-open", []fact.Kind{fact.CUDAError}, "", cause.None, ownDoing), // where other clues outweigh it
	{
		ID: "pytorch/pairwise", Kinds: refused, Said: []string{"torch.cdist", "cdist(", "pairwise_distance", "euclidean_dist", "pdist("},
		If: when.Not(ledger.Crowded), Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory computing the distances of all pairs[[: {asked}]]",
		Means:    "The distances of all pairs form one matrix of rows x rows; some implementations need that times the dimension. Twice the rows takes four times the memory.",
		Cures: []cause.Cure{
			{Fix: "efficient_attention", If: cures.Through("geomloss/"), Title: "Let geomloss compute it without the matrix", Kind: "python", Text: "distance = SamplesLoss(..., backend=\"online\")   # your other arguments; pip install pykeops", Cost: "An installation."},
			{Fix: "lower_batch_size", If: when.Not(cures.Through("geomloss/")), Title: "Compute the matrix in blocks of rows", Kind: "python", Text: "rows = [torch.cdist(part, b).topk(k, largest=False) for part in a.split(1024)]   # keep what is needed of each block", Cost: "Some lines; a little time."},
			{Fix: "fix_shape", Title: "Print the shapes of both inputs", Kind: "python", Text: "print(a.shape, b.shape)   # a whole data set on both sides is rarely meant", Cost: "A minute."},
			{Fix: "cpu_offload", If: cures.Through("geomloss/"), Title: "Or compute it on the CPU", Kind: "python", Text: "cost = distance(a.cpu(), b.cpu())   # your own call; the matrix is then in RAM", Cost: "Slower."},
			{Fix: "cpu_offload", If: when.Not(cures.Through("geomloss/")), Title: "Or compute it on the CPU", Kind: "python", Text: "d = torch.cdist(a.cpu(), b.cpu())   # a, b: the two sides; the matrix is then in RAM", Cost: "Slower."},
		},
		Sources: []string{"pytorch/aten/src/ATen/native/Distance.cpp", "https://pytorch.org/docs/stable/generated/torch.cdist.html"},
	},
	{
		ID: "pytorch/scores", Kinds: refused, If: when.All(ledger.WritesScores, when.Not(ledger.Crowded), when.Not(smallPiece)),
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "{scored}",
		Means:    "The failing line computes attention scores as a full matrix: batch x heads x length x length. {twice} takes four times the memory, so one long sample is enough.",
		Cures:    append(slices.Clone(cures.Scores), loosePieces, looseBefore, cures.LastScores),
		Figures:  cures.ScoreFigures, Sources: []string{"https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html"},
	},
	{
		ID: "pytorch/embedding-table", Kinds: []fact.Kind{fact.TorchAlloc, fact.CPUAlloc, fact.CUDAError}, Said: []string{"torch/nn/modules/sparse.py", "embedding_dense_backward", "(num_embeddings, embedding_dim)"}, Unsaid: []string{"-packages/transformers/"},
		If: when.Not(ledger.Crowded), Cause: cause.OversizedAllocation, Weight: cause.Good,
		Headline: "ran out of memory in an embedding table[[: {asked}]]",
		Means:    "An embedding table takes rows x width x 4 bytes. Training adds a gradient of the same size and twice that for Adam, even if a batch uses only a few rows.",
		Not:      "A smaller batch, if it fails while the model is being made.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Check the number of rows", Kind: "text", Text: "Print `num_embeddings`: it should be the largest id + 1, not a hash or a timestamp. If it is, map the ids to 0 ... n-1 first.", Cost: "A minute."},
			{Fix: "use_smaller_model", If: cures.Near("(num_embeddings, embedding_dim)"), Title: "Make the rows narrower", Kind: "text", Text: "Half the width takes half the memory.", Cost: "Some accuracy."},
			{Fix: "cpu_offload", If: when.All(cures.Near("(num_embeddings, embedding_dim)"), when.Not(when.Root(fact.CPUAlloc))), Title: "Or keep the table in system RAM", Kind: "text", Text: "Create it without `.to(device)`, and move only the rows that a batch looks up to the GPU.", Cost: "Slower."},
			{Fix: "optimizer_8bit", If: when.Not(cures.Near("(num_embeddings, embedding_dim)")), Title: "Use sparse gradients", Kind: "python", Text: "table = torch.nn.Embedding(rows, width, sparse=True)   # with torch.optim.SparseAdam for it", Cost: "No weight decay on this table."},
		},
		Sources: []string{"pytorch/torch/nn/modules/sparse.py", "https://pytorch.org/docs/stable/generated/torch.nn.Embedding.html"},
	},
})

// validationCard is about a validation that nothing in the traceback frees of
// gradients.
func validationCard(id string, kinds []fact.Kind, of string, weight cause.Level, among []string) cause.Card {
	return cause.Card{
		ID: id, Kinds: kinds, Phases: []string{"inference", "unknown", "training"}, Unsaid: []string{"no_grad", "inference_mode", "grad_mode.py", "_contextlib.py", "transformers/trainer", "evaluation_loop", "lightning"},
		If: when.All(ownCard, cures.UnfreedEvaluation), Cause: of, Weight: weight, Among: among,
		Headline: "ran out of GPU memory in validation",
		Means:    "It failed in validation, and the traceback shows no `torch.no_grad()`. Without it, every forward pass stores activations as in training, on top of what training still holds.",
		Not:      "`model.eval()` alone: it changes dropout and batch norm, not memory.",
		Cures: []cause.Cure{
			{Fix: "inference_mode", If: countless, Title: "Make the inputs of the validation volatile", Cost: "None.", Told: "PyTorch before 0.4 turns gradients off that way only:", Kind: "python", Text: "x = Variable(x.cuda(), volatile=True)   # each input, and the labels"},
			{Fix: "inference_mode", Title: "Run the validation under torch.no_grad()", Told: "A traceback does not show it; if it is there already, continue with 2.", Kind: "python", Text: "model.eval()\nwith torch.no_grad():\n    for x, y in val_loader:\n        output = model(x.to(device))", Cost: "None."},
			{Fix: "lower_batch_size", Title: "Use a smaller batch in the validation", Kind: "text", Text: "Give the validation loader its own `batch_size`, such as 1. Process long inputs in parts, and move each result to the CPU.", Cost: "A little time."},
			{Fix: "detach_accumulated"},
		},
		Sources: []string{memoryFAQ, "https://pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation"},
	}
}

// ranksOnOneCard: processes of like size on GPU 0 under a launcher.
func ranksOnOneCard(c *ledger.Case) bool {
	others := c.F().OtherProcesses
	if clues.RankBeside(c) {
		return true
	}
	if !distributed(c) || ledger.GPU(c) != 0 || len(others) < 2 || !c.Mine.Has() {
		return false
	}
	alike := 0
	for _, p := range others {
		if p.Bytes*2 > c.Mine.Bytes && p.Bytes < 2*c.Mine.Bytes {
			alike++
		}
	}
	return alike >= 2
}

// twinRanks: in a launch of several processes, GPU 0 holds beside this one about
// as much again, once or several times.
func twinRanks(c *ledger.Case) bool {
	if ledger.GPU(c) != 0 || !c.Others.Has() || c.Mine.Bytes < 2*units.GiB || len(c.F().OtherProcesses) > 0 || ranksSeen(c) < 2 {
		return false
	}
	times := (c.Others.Bytes + c.Mine.Bytes/5) / c.Mine.Bytes
	return times >= 1 && times < int64(max(ranksSeen(c), 2)) && c.Others.Bytes-times*c.Mine.Bytes < c.Mine.Bytes/5
}

// ranksSeen counts the processes that a launcher's lines name.
func ranksSeen(c *ledger.Case) int {
	pids := map[float64]bool{}
	for _, x := range c.Facts.Facts {
		if x.Name == "rank_pid" && x.Count != nil {
			pids[x.Count.Value] = true
		}
	}
	return len(pids)
}

// placedByMap: a model of transformers, which a device map puts somewhere, and no
// line of the reader's own.
func placedByMap(c *ledger.Case) bool { return c.In("transformers") && !cures.MovesModel(c) }

// twins say what is beside this rank, and what that leaves idle.
func twins(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	out["beside"], out["idle"] = clues.BesideRank(c), ""
	if !ranksOnOneCard(c) {
		out["beside"] = "This rank holds " + c.Mine.String() + ", and " + c.Others.String() + " more is in use, about what another rank with the same model takes. So probably both put their copy on GPU 0"
	}
	if !ranksOnOneCard(c) || clues.RankFailed(c) > 0 {
		out["idle"] = "Then another GPU is idle."
	}
	return out
}

// libraryFigures name the library that was refused its workspace.
func libraryFigures(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	out["library"], out["work"] = "cuBLAS", "for matrices"
	if c.Contains("cudnn") {
		out["library"], out["work"] = "cuDNN", "for convolutions"
	}
	return out
}
