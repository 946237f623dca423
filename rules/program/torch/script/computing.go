package script

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/when"
)

// computing are about what a line computes, copies or moves.
var computing = []cause.Card{
	{
		ID: "pytorch/loss-over-classes", Kinds: cures.Refused, If: when.All(of(statement.compares), largePart),
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in the loss: a score for every class at every position",
		Means:    "The loss compares {table} scores. {asked} is one such table[[, {numbers} in 32 bit]]; its softmax and its gradient are two more. So the batch, the length (or size of the images) and the number of classes decide.[[ {mine} of {total} was held before.]]",
		Not:      "A smaller network behind the same output layer: the table stays as large. {settings}.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Fewer positions at a time", Cost: "slower", Told: "{Less}"},
			{Fix: "lower_context", If: when.Not(pictures), Title: "Leave out positions that the loss ignores", Cost: "none", Told: "Padding takes as much room as words:", Kind: "python", Text: "keep = {labels}.view(-1) != pad   # pad: the index that the loss ignores\nloss = criterion({scores}.view(-1, {scores}.size(-1))[keep], {labels}.view(-1)[keep])   # criterion: your loss"},
			{Fix: "lower_resolution", If: pictures, Title: "Smaller crops, or a loss at half the size", Cost: "detail", Told: "Half the width and height is a quarter; or compare before the scores are enlarged, with labels made smaller (nearest)."},
			{Fix: "gradient_checkpointing", Title: "Or the loss in pieces", Cost: "slower", Told: "Cut the positions into parts, compute output layer and loss of each under `torch.utils.checkpoint`, and add the losses up: only one part's table exists at a time."},
			cures.CheaperTraining,
		},
		Figures: figures(func(c *ledger.Case, s statement, out map[string]string) {
			out["numbers"], out["Less"], out["table"] = "", capital(out["less"]), "batch x length x vocabulary (of images: batch x classes x height x width)"
			if pictures(c) {
				out["table"] = "batch x classes x height x width"
			} else if strings.HasPrefix(c.Reader.Work, "text") {
				out["table"] = "batch x length x vocabulary"
			}
			out["scores"], out["labels"] = s.operands()
			if n := c.Asked.Bytes / 4; n > 1e6 {
				out["numbers"] = ledger.Thousands(n/1e6) + " million numbers"
			}
		}),
		Sources: []string{"pytorch/torch/nn/functional.py", cures.AllocatorSource},
	},
	{
		ID: "pytorch/all-with-all", Kinds: cures.Refused, If: when.All(of(func(s statement) bool { return s.compared() && !s.scored() }), largePart), Unsaid: []string{"raft.py", "corr.py"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory as it compared all with all: {asked} in one table",
		Means:    "The line sets every row of one side against every row of the other: rows x rows values, four times as many for twice the rows (of feature maps: twice the pixels).[[ {asked} is a table of {side} in 32 bit.]][[ {mine} of {total} was held before.]]",
		Not:      "A smaller network, 16 bit alone: they do not touch the square. {settings}.",
		Cures: []cause.Cure{
			{Fix: "efficient_attention", If: differing, Title: "Distances without all differences", Cost: "none", Told: "The line writes a difference for each pair and each number of a row: rows x rows x width. This gives the distances alone:", Kind: "python", Text: "d = torch.cdist(a, b)   # a, b: the two sides, without unsqueeze; .square() for the squares"},
			{Fix: "fix_shape", If: withBoxes, Title: "Fewer boxes before that line", Cost: "weak detections", Told: "A higher confidence threshold, or the best few thousand only (below); for suppression `torchvision.ops.nms` writes no table. In training: images with hundreds of objects make it so large; crop or tile them.", Kind: "python", Text: "best = scores.topk(min(5000, len(scores))).indices   # scores, boxes: as in your function\nboxes, scores = boxes[best], scores[best]"},
			{Fix: "lower_batch_size", If: when.All((*ledger.Case).Training, when.Not(withBoxes)), Title: "Fewer rows on each side", Cost: "slower", Told: "Each sample has a table of its own: half the batch size[[ ({batch})]] is half of it, half the rows in a sample (points, positions, proposals) a quarter."},
			{Fix: "fix_shape", If: (*ledger.Case).Training, Title: "Or in blocks of rows", Cost: "some lines of code", Kind: "python", Text: "best = [f(part, b).topk(k) for part in a.split(1024)]   # a, b: the two sides; f: what the line computes; k: how many of each row you need"},
			{Fix: "lower_batch_size", If: when.Not((*ledger.Case).Training), Title: "In blocks of rows, keeping what is needed of each", Cost: "some lines of code", Kind: "python", Text: "best = [f(part, b).topk(k) for part in a.split(1024)]   # a, b: the two sides; f: what the line computes; k: how many of each row you need"},
			{Fix: "lower_resolution", Title: "Images: compare smaller maps", Cost: "detail", If: func(c *ledger.Case) bool { return c.Reader.Work == "vision" && !withBoxes(c) }, Told: "Half the width and height of the image makes a sixteenth of the table."},
			{Fix: "cpu_offload", Title: "Or let the processor do it", Cost: "slower", If: when.Not((*ledger.Case).Training), Told: "`.cpu()` on both sides: then the table lies in RAM."},
			{Fix: "fix_shape", If: when.Not(withBoxes), Title: "Print both shapes", Cost: "a minute", Kind: "python", Text: "print(a.shape, b.shape)   # a, b: the two sides"},
		},
		Figures: figures(func(c *ledger.Case, _ statement, out map[string]string) {
			out["side"] = ""
			if n := math.Sqrt(float64(c.Asked.Bytes) / 4); n > 1000 {
				out["side"] = "about " + ledger.Thousands(int64(n/100+0.5)*100) + " x " + ledger.Thousands(int64(n/100+0.5)*100)
			}
		}),
		Sources: []string{"https://pytorch.org/docs/stable/generated/torch.cdist.html", "https://docs.pytorch.org/vision/stable/generated/torchvision.ops.nms.html", cures.AllocatorSource},
	},
	{
		ID: "pytorch/model-copied", Kinds: cures.Refused, If: of(func(s statement) bool { _, ok := s.copied(); return ok }),
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory as it made a second copy of a model on the card",
		Means:    "`deepcopy` makes all weights of [[`{of}`]] once more, on the same card; {asked} was the next of them. It fails whatever the batch is.[[ {mine} of {total} was held already.]]",
		Not:      "A smaller batch: the copy stays as large. {settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Keep the copy in RAM", Cost: "none", Told: "The best weights so far, to go back to with `load_state_dict`:", Kind: "python", Text: "best = dict((k, v.detach().cpu().clone()) for k, v in {model}.state_dict().items())"},
			{Fix: "half_precision", Title: "An average, a target or teacher network: lighter", Cost: "little", Told: "Copy it before training fills the card (before the optimizer, in RAM, then `.to(device)`), in 16 bit if it only predicts, and always with `requires_grad_(False)`; an average (EMA) may stay in RAM and be updated every ten steps."},
			{Fix: "use_smaller_model", Title: "Two do not fit: a smaller network", Cost: "quality", Told: "Weights, gradients and Adam take 16 bytes per parameter, the copy 4 more."},
		},
		Figures: figures(func(_ *ledger.Case, s statement, out map[string]string) {
			out["of"], _ = s.copied()
			if out["model"] = out["of"]; out["of"] == "" {
				out["model"], out["of"] = "model", "model"
			}
		}),
		Sources: []string{"pytorch/torch/nn/parameter.py", "https://docs.pytorch.org/docs/stable/generated/torch.optim.swa_utils.AveragedModel.html"},
	},
	{
		ID: "pytorch/ddp-buckets", Kinds: cures.Refused, Said: []string{"in _ddp_init_helper", "dist.Reducer(", "dist._broadcast_coalesced("}, If: when.All(cures.OnOneCard, cures.OwnCard),
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory as DDP wrapped the model, before the first step",
		Means:    "DDP lays out buckets for the exchange of gradients, in all as large as the gradients: the weights' size once more, on every card, for each holds the whole model.[[ {mine} of {total} was held before, {asked} was the next piece.]] No batch was made yet.",
		Not:      "A smaller batch, more cards: DDP copies the model to each. {settings}.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See that each rank has a card of its own", Cost: "free", Told: "A rank that chose none puts its model on GPU 0: `torch.cuda.set_device(rank)` first, `torch.load(..., map_location=\"cpu\")`.", Kind: "shell", Text: "nvidia-smi   # while it starts: one process a card"},
			{Fix: "shard_training", Title: "Cut the model up: FSDP in place of DDP", Cost: "communication between the cards", Told: "`FULL_SHARD` divides weights, gradients and optimizer by the number of cards (PyTorch 1.12 and later)."},
			{Fix: "use_lora", Title: "Share the buckets with the gradients, freeze what need not learn", Cost: "none", Told: "PyTorch 1.7 and later; frozen parameters (`requires_grad_(False)` before it) have neither.", Kind: "python", Text: "model = DDP(model, device_ids=[rank], gradient_as_bucket_view=True)"},
		},
		Figures: cures.Scene, Sources: []string{"pytorch/torch/nn/parallel/distributed.py", "https://pytorch.org/docs/1.7.0/generated/torch.nn.parallel.DistributedDataParallel.html", "pytorch/torch/csrc/distributed/c10d/reducer.cpp"},
	},
	{
		ID: "pytorch/result-moved", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, operation.Is(operation.Moving), func(c *ledger.Case) bool {
			name, _ := movedResult(c)
			return name != "" && c.Asked.Bytes*16 > c.Total.Bytes
		}),
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory as `{result}` of an evaluation was put on the card: {asked}",
		Means:    "In `{function}` the line moves `{result}` to the card as a whole. That is a value for every class at every position of one input (classes x height x width of an image at its full size), so one large image does it, however small the model.[[ {asked} is {numbers} in 32 bit.]][[ {mine} of {total} was held before.]]",
		Not:      "A smaller batch (it is one input), a smaller model. {settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Leave it in RAM", Cost: "a little slower", Told: "Take the copy to the card out of that line, and bring what is added back instead:", Kind: "python", Text: "{result} = {result} + part.cpu()   # {result} made without .cuda(); part: what the network gives"},
			{Fix: "lower_resolution", Title: "Evaluate a smaller image", Cost: "detail", Told: "Half the width and height is a quarter; the script's or config's size for tests; or tiles, one at a time."},
			lessOfEach, noGradients,
		},
		Figures: figures(func(c *ledger.Case, _ statement, out map[string]string) {
			out["result"], out["function"] = movedResult(c)
			out["numbers"] = ""
			if n := c.Asked.Bytes / 4; n > 1e6 {
				out["numbers"] = ledger.Thousands(n/1e6) + " million numbers"
			}
		}),
		Sources: []string{cures.MemoryFAQ, "https://github.com/CSAILVision/semantic-segmentation-pytorch"},
	},
	{
		ID: "pytorch/data-moved", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, operation.Is(operation.Moving), when.Not(cures.Loading), func(c *ledger.Case) bool {
			s, ok := failing(c)
			return ok && s.itself() && c.Asked.Bytes*8 > c.Total.Bytes && !s.says("odel", "net.", "net(", "encoder", "module")
		}),
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory as {asked} of data was put on the card at once",
		Means:    "Nothing is computed in that line: it moves data to the card. {asked} is {numbers}a whole data set (or grid, volume, table of features) rather than a batch.[[ {mine} of {total} was held before.]]",
		Not:      "A smaller network, a smaller batch later on: this line moves everything. {settings}.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Leave it in RAM, move a batch at a time", Cost: "hardly slower", Kind: "python", Text: "loader = DataLoader(TensorDataset({data}, {labels}), batch_size=64, shuffle=True, pin_memory=True)   # both without .cuda()\nfor x, y in loader:\n    x, y = x.to(device), y.to(device)"},
			{Fix: "half_precision", Title: "Store it smaller", Cost: "none for images and counts", Told: "Images as `uint8`, numbers as `float16`, converted on the card batch by batch (`x.float()`): a quarter, or half. NumPy's `float64` is twice what is needed."},
			{Fix: "lower_resolution", Title: "It is needed as a whole: make it coarser, or take less of it", Cost: "detail", Told: "Half the resolution of an image is a quarter, of a volume an eighth; only the objects, rows or channels that are used."},
		},
		Figures: figures(func(c *ledger.Case, _ statement, out map[string]string) {
			out["numbers"], out["data"], out["labels"] = "", "data", "labels"
			if n := c.Asked.Bytes / 4; n > 1e6 {
				out["numbers"] = ledger.Thousands(n/1e6) + " million numbers of 32 bit, "
			}
		}),
		Sources: []string{"https://pytorch.org/docs/stable/data.html", cures.MemoryFAQ},
	},
	{
		ID: "pytorch/second-derivative", Kinds: cures.Refused, If: of(func(s statement) bool {
			return s.says("create_graph=True", "create_graph = True") || s.within([]string{"penalty", "hessian", "hvp", "r1"}) && s.says("grad(")
		}),
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory as it differentiated through a gradient",
		Means:    "`create_graph=True` (a gradient penalty, a Hessian, an inner loop of meta-learning) keeps the graph of the backward pass as well, so that this step takes about twice what a usual one does.[[ {mine} of {total} was held, {asked} more was refused.]]",
		Not:      "`retain_graph=True` elsewhere: it keeps still more. {settings}.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "The penalty over a part of the batch", Cost: "a noisier penalty", Told: "A quarter of the samples is enough as a rule; give the function `real[:n // 4]` and `fake[:n // 4]`."},
			{Fix: "gradient_accumulation", Title: "Or seldom: every 16th step, with 16 times the weight", Cost: "none to speak of", Told: "As StyleGAN2 does (lazy regularisation); the other steps then keep the larger batch, this one a small one."},
			{Fix: "lower_resolution", Title: "Or less in all", Cost: "slower", Told: "{Less}"},
			{Fix: "detach_accumulated", Title: "Let go of its graph at once", Cost: "none", Told: "`d_loss.backward()` in the same step, `fake.detach()` for the critic, and `.item()` for what is logged."},
		},
		Figures: figures(func(_ *ledger.Case, _ statement, out map[string]string) { out["Less"] = capital(out["less"]) }),
		Sources: []string{"https://pytorch.org/docs/stable/generated/torch.autograd.grad.html", "https://arxiv.org/abs/1912.04958"},
	},
	{
		ID: "pytorch/lbfgs", Kinds: cures.Refused, Said: []string{"torch/optim/lbfgs.py"}, If: when.All(cures.OnOneCard, cures.OwnCard), Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory under L-BFGS, whose history grows for the first hundred steps",
		Means:    "L-BFGS keeps a vector as large as all that it optimises for each of its last steps, up to `history_size`, which is 100 by default: nothing at first, a hundred times the parameters in the end. So early steps pass and a later one fails.[[ {mine} of {total} is in use; {asked} more was refused.]]",
		Not:      "{settings}. `empty_cache()`: the history is in use.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "A shorter history", Cost: "slightly slower convergence", Kind: "python", Text: "optimizer = torch.optim.LBFGS(params, history_size=10)   # params and the rest: as in your call"},
			{Fix: "optimizer_8bit", Title: "Or Adam, which keeps two vectors", Cost: "more steps", Told: "`torch.optim.Adam(params, lr=...)` without a closure; images that are optimised themselves take a large rate (0.05 to 1)."},
			{Fix: "lower_resolution", Title: "Or less to compute on", Cost: "detail", Told: "Where an image is optimised: half the width and height is a quarter of both history and network's results. Else {less}"},
		},
		Figures: cures.Scene, Sources: []string{"pytorch/torch/optim/lbfgs.py", "https://pytorch.org/docs/stable/generated/torch.optim.LBFGS.html"},
	},
	{
		ID: "pytorch/patches", Kinds: cures.Refused, If: of(func(s statement) bool {
			return s.reached("unfold", "im2col") || s.itself() && s.says("unfold(", "im2col(")
		}),
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory as it cut a map into overlapping patches",
		Means:    "`unfold` writes every patch out: kernel x kernel times the input where the stride is 1[[ ({times} times with the kernel of {kernel} of this line)]]. {asked} is the result.[[ {mine} of {total} was held before.]]",
		Not:      "A smaller network around it. {settings}.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Unfold a smaller map, or with a stride", Cost: "detail", Told: "A stride of 2 makes a quarter of the patches, a stride as large as the kernel none that overlap; half the width and height of the input a quarter too; or fewer channels first (a 1 x 1 convolution)."},
			{Fix: "lower_batch_size", Title: "Strip by strip", Cost: "some lines of code", Told: "Loop over the samples of the batch, or over strips of rows with a margin of half a kernel, and keep of each what comes out."},
			{Fix: "efficient_attention", Title: "Without patches, where a convolution does the same", Cost: "none", Told: "A weighted sum of neighbours is `F.conv2d` (`groups=channels`), a mean `F.avg_pool2d`: neither writes the patches out."},
		},
		Figures: figures(func(_ *ledger.Case, s statement, out map[string]string) {
			out["times"], out["kernel"] = "", ""
			if m := patterns().window.FindStringSubmatch(s.source); m != nil {
				k, _ := strconv.Atoi(m[1])
				out["times"], out["kernel"] = strconv.Itoa(k*k), m[1]
			}
		}),
		Sources: []string{"https://pytorch.org/docs/stable/generated/torch.nn.Unfold.html", cures.AllocatorSource},
	},
	{
		ID: "pytorch/models-in-turn", Kinds: cures.Allocators, Said: []string{"finished with value:", "study.optimize(", "in train_fold", "in run_fold", "kf.split(", "StratifiedKFold", "KFold(", "in cross_validate"}, If: when.All(cures.OnOneCard, cures.OwnCard),
		Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory as one model after another was trained in one process",
		Means:    "Earlier trials or folds went through. What a name, a list or a callback still holds of them (the model, its optimizer, a last output or loss) stays on the card; or this one is larger than they were.[[ {mine} of {total} is held now.]] `torch.cuda.memory_allocated()` between two of them tells: it should go back to nearly nothing.",
		Not:      "`empty_cache()` alone: it frees nothing that a name still holds. {settings}.",
		Cures: []cause.Cure{
			{Fix: "empty_cache", Title: "Let go of everything before the next", Cost: "none", Told: "Model, optimizer and loop inside one function, of which only numbers are returned; after it:", Kind: "python", Text: "gc.collect(); torch.cuda.empty_cache()   # after each trial or fold, outside the function\nprint(torch.cuda.memory_allocated() // 2**20, \"MiB still held\")"},
			{Fix: "restart_session", Title: "Or each in a process of its own", Cost: "a start each time", Told: "What a process held is gone when it ends: a script with the fold or trial as its argument, called in turn (`subprocess.run`)."},
			{Fix: "lower_batch_size", Title: "It goes back to zero: this one is larger", Cost: "fewer candidates", Told: "Bound batch, width and length of what is searched, or catch `RuntimeError` and give the trial up (Optuna: `raise optuna.TrialPruned()`)."},
		},
		Figures: cures.Scene, Sources: []string{cures.MemoryFAQ, "https://optuna.readthedocs.io/en/stable/reference/generated/optuna.TrialPruned.html"},
	},
	{
		ID: "pytorch/in-a-service", Kinds: cures.Allocators, Said: []string{"flask/app.py", "uvicorn/protocols", "starlette/", "fastapi/routing.py", "gradio/queueing.py", "gradio/routes.py", "django/core/handlers", "tornado/web.py", "aiohttp/web", "streamlit/runtime", "celery/app/trace.py", "Exception in ASGI application", "run_in_executor("}, If: when.All(cures.OnOneCard, when.Not(when.Any(ledger.Roomy, (*ledger.Case).Training, neverFits, cures.SlackWouldDo, cures.Listed)), alone), Among: anyCause,
		Headline: "ran out of memory while a service answered a request",
		Means:    "Requests run beside each other in threads, each with input and intermediate results of its own on one card, and every worker process has its own copy of the models.[[ {mine} of {total} is this process's.]][[ {outside}]] A larger input than all before does it as well.",
		Not:      "Restarting it, if memory is full again after a few requests.[[ {Settings}.]]",
		Cures: []cause.Cure{
			{Fix: "lower_parallel", Title: "One request at a time on the card, and no gradients", Cost: "requests wait for each other", Kind: "python", Text: "gpu = threading.Semaphore(1)               # once, beside the model\nwith gpu, torch.inference_mode():          # in the handler; async code: asyncio.Semaphore\n    output = model(x)                      # your own call; return output.cpu()"},
			{Fix: "kill_stale_process", Title: "Count the processes: one worker a card", Cost: "free", Told: "`--workers 1` for uvicorn and gunicorn, no `--reload` beside it; the models loaded once, not in each request; a second service or container on the card moved to another.", Kind: "shell", Text: "nvidia-smi"},
			{Fix: "lower_batch_size", Title: "Bound the input", Cost: "long inputs take several calls", Told: "Refuse or cut what is longer or larger than you have tried; batches inside the models (a diarization, an encoder) have a `batch_size` of their own."},
			{Fix: "half_precision", Title: "Lighter models", Cost: "little quality", Told: "`model.half()`, or a smaller one of several that share the card."},
		},
		Figures: figures(func(c *ledger.Case, _ statement, out map[string]string) {
			out["outside"], out["Settings"] = "", ""
			if c.Others.Bytes > 2*units.GiB {
				out["outside"] = fmt.Sprintf("%s lies outside PyTorch's hands: another engine of the same service (CTranslate2, ONNX Runtime, TensorRT), another worker, or another program.", c.Others)
			} else {
				out["Settings"] = out["settings"]
			}
		}),
		Sources: []string{cures.CudaNotes, "https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html", "https://www.uvicorn.org/settings/"},
	},
}
