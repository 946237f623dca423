package cures

import (
	"regexp"
	"slices"
	"sync"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/when"
)

// byLine are what makes the tensor of a line smaller, by what the line computes.
var byLine = []struct {
	id   operation.ID
	cure cause.Cure
}{
	{operation.Scores, cause.Cure{Fix: "efficient_attention", If: when.Not(ledger.Before2020), Title: "Use fused attention, which stores no scores", Cost: "none", Told: "`torch.nn.functional.scaled_dot_product_attention(q, k, v)` (PyTorch 2.0 and later) replaces the scores, the softmax and the product with `v`; a mask or bias goes in as `attn_mask`. Libraries often have a setting for it (xformers, flash-attn; transformers: `attn_implementation=\"sdpa\"`)."}},
	{operation.Scores, cause.Cure{Fix: "lower_context", Title: "Make the input shorter or smaller", Cost: "detail", Told: "Half the length takes a quarter of the scores, half the width and height of an image a sixteenth. A smaller batch helps in proportion."}},
	{operation.Logits, fewerPositions}, {operation.Loss, fewerPositions},
	{operation.OneHot, cause.Cure{Fix: "fix_shape", Title: "Use class indices instead of one-hot rows", Cost: "none", Told: "`F.cross_entropy(scores, labels)` takes the indices, `torch.nn.Embedding` replaces one-hot input, and `scores.gather(1, labels[:, None])` picks a class. If you need the rows: a smaller batch or crop, or `bool` (1 byte each)."}},
	{operation.Distances, inBlocks},
	{operation.Boxes, cause.Cure{Fix: "fix_shape", Title: "Compare fewer boxes at a time", Cost: "weak detections", Told: "Raise the confidence threshold, or keep the best few thousand. In training, crop or tile images with hundreds of objects, or lower the batch size (mmdetection: `gpu_assign_thr=50` moves this step to the CPU)."}},
	{operation.Correlation, cause.Cure{Fix: "lower_resolution", Title: "Use smaller images", Cost: "detail", Told: "Half the width and height of both takes a sixteenth. RAFT and its kin also compute it piece by piece: `--alternate_corr`."}},
	{operation.Volume, cause.Cure{Fix: "lower_resolution", Title: "Use smaller images, or fewer depths", Cost: "detail", Told: "Half the width and height takes a quarter, half the depths or disparities (`numdepth`, `maxdisp`) half. Train on smaller crops."}},
	{operation.Residues, cause.Cure{Fix: "lower_context", Title: "Use a shorter sequence or smaller chunks", Cost: "slower, or a part of the complex", Told: "Half the residues takes a quarter. OpenFold and its kin: set `chunk_size` (4, then 1), turn on low-memory attention, or predict the chains apart."}},
	{operation.Flat, cause.Cure{Fix: "shard_training", Title: "Make the buffer smaller", Cost: "slower steps", Told: "DeepSpeed: `\"reduce_bucket_size\": 5e7`, or ZeRO stage 2 and 3, which shard gradients; DDP: `bucket_cap_mb=10, gradient_as_bucket_view=True`; plain scripts: exchange one gradient at a time. Frozen parameters (LoRA) have no gradients."}},
	{operation.State, cause.Cure{Fix: "optimizer_8bit", Title: "Use fused or 8-bit Adam", Cost: "none worth mentioning", Told: "`torch.optim.AdamW(..., fused=True)` makes no temporary copies (PyTorch 2.0 and later); `bitsandbytes.optim.AdamW8bit` makes the state a quarter. Frozen parameters (LoRA) have none; ZeRO and FSDP shard it."}},
	{operation.Twice, cause.Cure{Fix: "cpu_offload", Title: "Keep the copy in system RAM", Cost: "slower updates", Told: "Make it from weights that were moved first (`v.detach().cpu()` of each in `state_dict()`), or in 16 bit if it only predicts. Copies for mixed precision (master weights): shard them (ZeRO, FSDP), or train fewer parameters."}},
	{operation.Gathered, gatherLess}, {operation.Exchange, gatherLess},
	{operation.Cache, cause.Cure{Fix: "lower_context", Title: "Use a shorter context, or fewer sequences at a time", Cost: "what is cut is lost", Told: "Half the tokens take half the cache; so do half the beams or samples. A cache that is quantised, offloaded or allocated once (`cache_implementation=\"static\"` or `\"offloaded\"` in transformers) makes no such copies."}},
	{operation.WholeSet, cause.Cure{Fix: "stream_dataset", Title: "Keep the data in RAM or on disk, and load one batch at a time", Cost: "hardly slower", Told: "A `DataLoader` over files or over tensors in RAM; `x.to(device)` for each batch. Stored as `uint8`, images take a quarter. A data manager that caches images usually has an option for fewer at a time (nerfstudio: `--pipeline.datamanager.train-num-images-to-sample-from`)."}},
	{operation.Dense, cause.Cure{Fix: "fix_shape", Title: "Keep it sparse, or convert some rows at a time", Cost: "some lines of code", Told: "Many functions take sparse matrices (`torch.sparse.mm`, scikit-learn's estimators, `TruncatedSVD` in place of PCA). Otherwise take the rows first: `m[i:i + 1000].toarray()`."}},
	{operation.Result, cause.Cure{Fix: "cpu_offload", Title: "Keep the sum on the CPU", Cost: "a little slower", Told: "Create it without `device=` or `.cuda()`, and add `part.cpu()`. nnU-Net: `perform_everything_on_device=False` (`-device cpu` for all)."}},
	{operation.Gathering, cause.Cure{Fix: "lower_batch_size", Title: "Use fewer edges or indices at a time", Cost: "slower, or noisier", Told: "Sample neighbours or subgraphs, use fewer neighbours (`k`) or graphs per batch, or loop over parts of the index. If the size is absurd, an index is wrong: print its maximum."}},
	{operation.Patches, cause.Cure{Fix: "lower_resolution", Title: "Use a stride, or a smaller input", Cost: "detail", Told: "`stride=2` makes a quarter of the patches, and so does half the width and height. Or loop over the samples, or over strips that overlap by a kernel."}},
	{operation.Second, cause.Cure{Fix: "lower_batch_size", Title: "Compute it on part of the batch", Cost: "a noisier penalty", Told: "A quarter of the samples or points is often enough for a penalty. In meta-learning: fewer inner steps, or first order (`create_graph=False`)."}},
	{operation.Spectrum, cause.Cure{Fix: "lower_batch_size", Title: "Split the input", Cost: "slower", Told: "Recordings: chunks of 30 to 60 seconds, one at a time. Images and grids: a smaller size, or one channel at a time."}},
	{operation.Decomposition, cause.Cure{Fix: "cpu_offload", Title: "Do this step on the CPU, or on fewer rows", Cost: "slower", Told: "`.cpu()` before it, `.to(device)` after it. If the leading part is enough: `torch.svd_lowrank`, `full_matrices=False`, inducing points or a random part of the rows."}},
	{operation.Sorting, cause.Cure{Fix: "lower_batch_size", Title: "Sort parts, or on the CPU", Cost: "slower", Told: "`topk` of each part, then of the parts' best; or `.cpu()` before it. In a loss over all pixels: a smaller batch or crop."}},
	{operation.Masking, cause.Cure{Fix: "lower_batch_size", Title: "Process it in parts", Cost: "some lines of code", Told: "Loop over slices of rows, rays or points (`for part in x.split(65536)`), and keep the results in RAM."}},
	{operation.Repetition, cause.Cure{Fix: "fix_shape", Title: "Broadcast instead of repeating", Cost: "none", Told: "`x.expand(n, -1)` and `x[:, None]` need no copy, `repeat`, `tile` and `repeat_interleave` make one. If a copy is needed, work on a part of the rows at a time."}},
	{operation.Upsampling, cause.Cure{Fix: "lower_batch_size", Title: "Lower the batch size, or resample to a smaller size", Cost: "detail", Told: "Half the width and height takes a quarter. Class scores: take `.argmax(1)` first and enlarge that one map, or enlarge in RAM (`x.cpu()`)."}},
	{operation.Padding, cause.Cure{Fix: "lower_batch_size", Title: "Lower the batch size, or the largest sample", Cost: "slower, or detail", Told: "One long or large sample makes the whole batch as large: sort by size, and cut or crop the largest. If the size is absurd, a coordinate is wrong: print it."}},
}

var (
	fewerPositions = cause.Cure{Fix: "lower_batch_size", Title: "Compute fewer positions at a time", Cost: "slower", Told: "Halve the batch size[[ ({batch})]] or the longest sample, or compute output layer and loss for a few hundred positions at a time (`for part in hidden.split(512, dim=1)`). Language models: a fused loss such as Liger Kernel's. Images: smaller crops, or the loss at half the size."}
	inBlocks       = cause.Cure{Fix: "lower_batch_size", If: func(c *ledger.Case) bool { return !blocked(c) }, Title: "Compute it in blocks of rows", Cost: "some lines of code", Told: "Keep what you need of each block (the nearest few, a sum) in place of the whole matrix:", Kind: "python", Text: "best = [f(part, b).topk(k) for part in a.split(1024, dim=-2)]   # a, b: the two sides; f: what the line computes; k: how many you need of each row (of distances: largest=False)"}
	gatherLess     = cause.Cure{Fix: "cpu_offload", Title: "Gather on the CPU, or less of it", Cost: "slower", Told: "Store each rank's results in RAM or in a file and join them at the end (a second process group with `backend=\"gloo\"` gathers in RAM). Gather metrics or classes instead of features and scores, and lower the evaluation batch."}
)

// LineCures are what follows from what the failing line computes, but for
// those of an operation that a card is about.
func LineCures(but operation.ID) []cause.Cure {
	var out []cause.Cure
	for _, x := range byLine {
		if x.id == but {
			continue
		}
		cure := x.cure
		cure.ByLine = true
		if cure.If = when.All(operation.Reads(x.id), when.Not(operation.LastStraw)); x.cure.If != nil {
			cure.If = when.All(cure.If, x.cure.If)
		}
		out = append(out, cure)
	}
	return out
}

// LineFirst are a card's cures behind those of the failing line.
func LineFirst(list ...cause.Cure) []cause.Cure { return slices.Concat(LineCures(""), list) }

// SmallerBlocks is for a line that takes some rows at a time already.
var SmallerBlocks = cause.Cure{
	Fix: "lower_batch_size", If: blocked, Title: "Use smaller blocks", Cost: "a little slower",
	Told: "The line already takes one block of rows at a time. A tenth of the rows in a block takes a tenth of {asked}, and the result is the same.",
}

// blocked: the failing line cuts rows between two variables out of a tensor.
func blocked(c *ledger.Case) bool {
	f := ledger.OwnFrame(c)
	return f != nil && rowsBetween().MatchString(f.Source)
}

var rowsBetween = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\w\[[a-z_]\w* ?: ?\(?[a-z_]`) })
