package script

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/when"
)

// computing are about what a line computes, copies or moves.
var computing = []cause.Card{
	{
		ID: "pytorch/loss-over-classes", Kinds: cures.Refused, If: when.All(when.Any(of(statement.compares), bareLoss), largePart),
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in the loss: it needs a score for every class at every position",
		Means:    "The loss works on {table} scores.[[ {asked} is {numbers} at 32 bit.]] It needs several tensors of that size: scores, probabilities and their gradient. So memory grows with the batch size, the length (or image size) and the number of classes.",
		Not:      "{settings}.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size", Cost: "slower", Told: "{Less}"},
			{Fix: "lower_context", If: when.Not(pictures), Title: "Drop padded positions before the loss", Cost: "none", Told: "Padding takes as much memory as real tokens:", Kind: "python", Text: "keep = {labels}.view(-1) != pad   # pad: the index that the loss ignores\nloss = criterion({scores}.view(-1, {scores}.size(-1))[keep], {labels}.view(-1)[keep])   # criterion: your loss"},
			{Fix: "lower_resolution", If: pictures, Title: "Use smaller crops, or compute the loss at half the size", Cost: "detail", Told: "Half the width and height takes a quarter of the memory. Or compute the loss before the scores are upsampled, with labels downsampled by nearest neighbour."},
			{Fix: "gradient_checkpointing", Title: "Or compute the loss in chunks", Cost: "slower", Told: "Compute the output layer and the loss of a few positions at a time under `torch.utils.checkpoint`, and add up the losses. Language models: Liger Kernel's `LigerFusedLinearCrossEntropyLoss` does this for you."},
			cures.CheaperTraining,
		},
		Figures: figures(func(c *ledger.Case, s statement, out map[string]string) {
			out["numbers"], out["Less"], out["table"] = "", capital(out["less"]), "batch x length x vocabulary (images: batch x classes x height x width)"
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
		ID: "pytorch/all-with-all", Kinds: cures.Refused, If: when.All(of(func(s statement) bool { return s.compared() && !s.scored() }), when.Any(largePart, nodeRows), when.Not(operation.Reads(operation.Scores))), Unsaid: []string{"raft.py", "corr.py"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory while comparing every row with every other row",
		Means:    "The line compares every row of one tensor with every row of the other. Twice the rows (on feature maps, twice the pixels) take four times the memory.[[ {asked} would be one matrix of {side} at {bits} bit.]][[ {several}]]",
		Not:      "[[{whole}. ]]{settings}.",
		Cures: []cause.Cure{
			cures.Only(clues.Unaccounted, cures.LookFirst), cures.SmallerBlocks,
			{Fix: "lower_context", If: nodeRows, Title: "Use fewer nodes: the whole graph is one sample", Cost: "an approximation", Told: "Train on subgraphs (sampled neighbours or clusters), or use the method's anchor version if it has one. Fewer heads or views help too, as each makes its own matrix."},
			{Fix: "fix_shape", If: styled, Title: "Check the `view` before that line: pixels became rows", Cost: "none", Told: "A Gram matrix should compare channels (512 x 512 takes 1 MB), not pixels. For batch x channels x height x width:", Kind: "python", Text: "features = x.view(b * c, h * w)   # then mm(features, features.t()): b * c rows"},
			{Fix: "fix_shape", If: kernels, Title: "If rows outnumber columns: multiply the other way round", Cost: "none", Told: "Linear CKA, HSIC and ridge regression need only columns x columns:", Kind: "python", Text: "g = x.T @ y   # centred columns; CKA: (g ** 2).sum() / ((x.T @ x).norm() * (y.T @ y).norm())"},
			{Fix: "lower_batch_size", If: contrasted, Title: "Compare this rank's rows with all, not all with all", Cost: "none", Told: "The full matrix grows with the square of ranks x batch size. open_clip: `--local-loss --gather-with-grad`.", Kind: "python", Text: "logits = scale * image_features @ all_text_features.T   # labels: rank * batch + arange(batch)"},
			{Fix: "efficient_attention", If: differing, Title: "Use torch.cdist instead of all differences", Cost: "none", Told: "The line stores rows x rows x columns differences. `torch.cdist` stores only the distances:", Kind: "python", Text: "d = torch.cdist(a, b)   # a, b: the two sides, without unsqueeze; .square() for the squares"},
			{Fix: "fix_shape", If: withBoxes, Title: "Use fewer boxes before that line", Cost: "weak detections", Told: "Raise the confidence threshold, or keep the best few thousand as below. `torchvision.ops.nms` needs no such matrix. In training, crop or tile images with hundreds of objects.", Kind: "python", Text: "best = scores.topk(min(5000, len(scores))).indices   # scores, boxes: as in your function\nboxes, scores = boxes[best], scores[best]"},
			{Fix: "lower_batch_size", If: when.All((*ledger.Case).Training, when.Not(when.Any(withBoxes, nodeRows))), Title: "Lower the batch size, or the rows of a sample", Cost: "slower", Told: "If each sample has its own matrix, half the batch size[[ ({batch})]] takes half the memory. Half the rows per sample (points, positions, proposals) takes a quarter."},
			{Fix: "fix_shape", If: when.All((*ledger.Case).Training, when.Not(cures.SmallerBlocks.If)), Title: "Or compute it in blocks of rows", Cost: "some lines of code", Kind: "python", Text: "best = [f(part, b).topk(k) for part in a.split(1024, dim=-2)]   # a, b: the two sides; f: what the line computes; k: how many you need of each row (of distances: largest=False)"},
			{Fix: "cpu_offload", If: fitsRAM, Title: "Compute it on the CPU", Cost: "slower", Told: "Call `.cpu()` on both tensors before that line. The matrix then takes {asked} of system RAM."},
			{Fix: "lower_batch_size", If: when.Not(when.Any((*ledger.Case).Training, cures.SmallerBlocks.If)), Title: "Compute it in blocks of rows", Cost: "some lines of code", Kind: "python", Text: "best = [f(part, b).topk(k) for part in a.split(1024, dim=-2)]   # a, b: the two sides; f: what the line computes; k: how many you need of each row (of distances: largest=False)"},
			{Fix: "lower_resolution", Title: "Use smaller images", Cost: "detail", If: func(c *ledger.Case) bool {
				return (c.Reader.Work == "vision" || ofPatches(c)) && !withBoxes(c) && !contrasted(c) && !ofSamples(c)
			}, Told: "If the rows are pixels or patches, half the width and height of both sides takes a sixteenth of the matrix (of one side, a quarter)."},
			{Fix: "cpu_offload", Title: "Or compute it on the CPU", Cost: "slower", If: when.Not(when.Any((*ledger.Case).Training, fitsRAM)), Told: "Call `.cpu()` on both tensors before that line. The matrix is then in system RAM."},
			{Fix: "fix_shape", If: when.Not(withBoxes), Title: "Print both shapes", Cost: "a minute", Kind: "python", Text: "print(a.shape, b.shape)   # a, b: the two sides"},
		},
		Figures: figures(func(c *ledger.Case, s statement, out map[string]string) {
			out["side"], out["whole"], out["several"] = "", "", ""
			if s.says("transpose(-", "bmm(", "permute(", ".mean(0)", "mean(dim=0") {
				out["several"] = "With a leading dimension (samples, heads, views) it is that many smaller matrices."
			}
			if nodeRows(c) {
				out["whole"] = "A smaller batch: the graph is one sample"
			}
			bytes := 4
			if s.says("float16", ".half(") {
				bytes = 2
			}
			out["bits"] = strconv.Itoa(8 * bytes)
			if n := math.Sqrt(float64(c.Asked.Bytes) / float64(bytes)); n > 1000 && !cures.SmallerBlocks.If(c) {
				out["side"] = "about " + ledger.Thousands(int64(n/100+0.5)*100) + " x " + ledger.Thousands(int64(n/100+0.5)*100)
			}
		}),
		Sources: []string{"https://pytorch.org/docs/stable/generated/torch.cdist.html", "https://docs.pytorch.org/vision/stable/generated/torchvision.ops.nms.html", cures.AllocatorSource},
	},
	{
		ID: "pytorch/model-copied", Kinds: cures.Refused, If: of(func(s statement) bool { _, ok := s.copied(); return ok }),
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while copying a model on the GPU",
		Means:    "`deepcopy` makes a second copy of all weights of [[`{of}`]] on the same GPU. It failed at one of them, of {asked}.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", If: of(statement.averages), Title: "Keep the copy in system RAM", Cost: "slower updates", Told: "Update it every ten steps. Or leave it on the GPU, with `requires_grad_(False)` and, if it only predicts, `.half()`.", Kind: "python", Text: "second = copy.deepcopy({model}.cpu())   # second: your name for it\n{model}.to(device)"},
			{Fix: "cpu_offload", If: of(func(s statement) bool { return !s.averages() }), Title: "Keep the copy in system RAM", Cost: "none", Told: "If you only store the best weights, for `load_state_dict` later:", Kind: "python", Text: "best = dict((k, v.detach().cpu().clone()) for k, v in {model}.state_dict().items())"},
			{Fix: "half_precision", If: of(func(s statement) bool { return !s.averages() }), Title: "For an EMA, target or teacher network: make the copy lighter", Cost: "little", Told: "Call `requires_grad_(False)` on it, and `.half()` if it only predicts. An EMA can stay in system RAM and be updated every ten steps."},
			{Fix: "use_smaller_model", Title: "Or use a smaller network", Cost: "quality", Told: "In 32-bit training with Adam, each parameter takes 16 bytes, and the copy 4 more."},
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
		ID: "pytorch/ddp-buckets", Kinds: cures.Refused, Said: []string{"in _ddp_init_helper", "dist.Reducer(", "dist._broadcast_coalesced("}, If: when.All(cures.OnOneCard, when.Any(cures.OwnCard, asMuchAgain)),
		Cause: cause.TrainingStateTooLarge, Weight: cause.Decisive,
		Headline: "ran out of memory while DDP wrapped the model",
		Means:    "Under DDP each GPU holds the whole model. Wrapping it also allocates buckets for exchanging gradients, together as large as the weights.[[ {beside}]]",
		Not:      "A smaller batch or more GPUs: each GPU still holds the whole model. {settings}.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", If: mayShare, Title: "Check that each rank has its own GPU", Cost: "free", Told: "Call `torch.cuda.set_device(local_rank)` first, and load checkpoints with `torch.load(..., map_location=\"cpu\")`: otherwise every rank uses GPU 0.", Kind: "shell", Text: "nvidia-smi   # while it starts: should show one process per GPU"},
			{Fix: "shard_training", Title: "Use FSDP instead of DDP", Cost: "communication between the GPUs", Told: "`FULL_SHARD` splits weights, gradients and optimizer state over the GPUs (PyTorch 1.12 and later)."},
			{Fix: "use_lora", Title: "Or freeze layers before wrapping", Cost: "some accuracy", Told: "Parameters with `requires_grad_(False)` need no gradients and no buckets. A LoRA trains only a few per cent of them."},
			{Fix: "half_precision", If: when.Not(cures.NarrowAlready), Title: "Or keep the weights in bfloat16", Cost: "less exact training", Told: "`model.to(torch.bfloat16)` before wrapping halves weights, gradients and buckets. It is slow on V100, T4 and older GPUs."},
			{Fix: "bigger_gpu", Title: "Or use GPUs with more memory", Cost: "money, or waiting", Told: "Training will also need room for the optimizer state and the activations."},
		},
		Figures: besideBuckets, Sources: []string{"pytorch/torch/nn/parallel/distributed.py", "pytorch/torch/csrc/distributed/c10d/reducer.cpp"},
	},
	{
		ID: "pytorch/result-moved", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, operation.Is(operation.Moving), func(c *ledger.Case) bool {
			name, _ := movedResult(c)
			return name != "" && c.Asked.Bytes*16 > c.Total.Bytes
		}),
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory while moving `{result}` to the GPU: {asked}",
		Means:    "In `{function}` the line moves all of `{result}` to the GPU. In an evaluation it usually has one value per class and pixel at full image size, so one large image is enough.[[ {asked} is {numbers} at 32 bit.]]",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Keep it on the CPU", Cost: "a little slower", Told: "Remove `.cuda()` or `.to(device)` from that line. Move what you add to it to the CPU instead:", Kind: "python", Text: "{result} = {result} + part.cpu()   # {result} made without .cuda(); part: what the network gives"},
			{Fix: "lower_resolution", Title: "Evaluate at a smaller size", Cost: "detail", Told: "Half the width and height takes a quarter of the memory. Look for the test size in the script's options or config, or test in tiles."},
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
		Headline: "ran out of memory while moving {asked} of data to the GPU at once",
		Means:    "That line only moves data to the GPU. {asked} is {numbers}probably a whole data set, grid or volume rather than one batch.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep it in system RAM and move one batch at a time", Cost: "hardly slower", Kind: "python", Text: "loader = DataLoader(TensorDataset({data}, {labels}), batch_size=64, shuffle=True, pin_memory=True)   # both without .cuda()\nfor x, y in loader:\n    x, y = x.to(device), y.to(device)"},
			{Fix: "half_precision", Title: "Use a smaller data type", Cost: "none for images and counts", Told: "Store images as `uint8` (a quarter of 32 bit) and numbers as `float16` (half). Convert each batch on the GPU with `x.float()`. NumPy's default `float64` takes twice the memory of 32 bit."},
			{Fix: "lower_resolution", Title: "If you need all of it at once: lower its resolution", Cost: "detail", Told: "Half the side of an image takes a quarter, of a volume an eighth. Or move only the rows or channels that you use."},
		},
		Figures: figures(func(c *ledger.Case, _ statement, out map[string]string) {
			out["numbers"], out["data"], out["labels"] = "", "data", "labels"
			if n := c.Asked.Bytes / 4; n > 1e6 {
				out["numbers"] = ledger.Thousands(n/1e6) + " million 32-bit floats, "
			}
		}),
		Sources: []string{"https://pytorch.org/docs/stable/data.html", cures.MemoryFAQ},
	},
	{
		ID: "pytorch/second-derivative", Kinds: cures.Refused, If: ofAny(func(s statement) bool {
			return s.says("create_graph=True", "create_graph = True") || s.within([]string{"penalty", "hessian", "hvp", "r1"}) && s.says("grad(")
		}),
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in a second derivative (create_graph)",
		Means:    "A gradient penalty, a Hessian or a meta-learning inner loop (`create_graph=True`) also keeps the activations of the backward pass. This step takes about twice the memory of a normal one, or more.",
		Not:      "{settings}.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_parallel", If: inner, Title: "Fewer tasks at a time, with one backward each", Cost: "none", Told: "Call `(loss / tasks).backward()` after each task instead of adding up the losses. Then only one task's graph exists at a time."},
			{Fix: "lower_context", If: inner, Title: "Or fewer inner steps, or first order", Cost: "usually slightly worse", Told: "First-order MAML keeps no graph of the inner steps: `create_graph=False` (learn2learn: `first_order=True`)."},
			{Fix: "lower_batch_size", If: when.Not(inner), Title: "Compute the penalty on part of the batch", Cost: "a noisier penalty", Told: "For a gradient penalty a quarter of the samples is often enough: pass `real[:n // 4]` and `fake[:n // 4]`."},
			{Fix: "gradient_accumulation", If: when.Not(inner), Title: "Or compute it every 16th step, with 16 times the weight", Cost: "hardly any effect", Told: "StyleGAN2 does this (lazy regularisation). Use a smaller batch in those steps only."},
			{Fix: "lower_resolution", Title: "Or lower the batch size or the input size", Cost: "slower", Told: "{Less}"},
			{Fix: "detach_accumulated", If: when.Not(inner), Title: "Free its graph at once", Cost: "none", Told: "Call `d_loss.backward()` in the same step, pass `fake.detach()` to the critic, and log `.item()` only."},
		},
		Figures: figures(func(_ *ledger.Case, _ statement, out map[string]string) { out["Less"] = capital(out["less"]) }),
		Sources: []string{"https://pytorch.org/docs/stable/generated/torch.autograd.grad.html", "https://arxiv.org/abs/1912.04958"},
	},
	{
		ID: "pytorch/lbfgs", Kinds: cures.Refused, Said: []string{"torch/optim/lbfgs.py"}, If: when.All(cures.OnOneCard, cures.OwnCard), Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in L-BFGS: it stores a history of its steps",
		Means:    "For each of its last `history_size` steps (100 by default), L-BFGS keeps two vectors as large as everything it optimises. So early steps pass and a later one fails.",
		Not:      "{settings}.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Lower history_size", Cost: "slightly slower convergence", Kind: "python", Text: "optimizer = torch.optim.LBFGS(params, history_size=10)   # params and the rest: as in your call"},
			{Fix: "optimizer_8bit", Title: "Or use Adam, which keeps only two vectors", Cost: "more steps", Told: "`torch.optim.Adam(params, lr=...)`, without a closure. If the image itself is optimised, use a large rate (0.05 to 1)."},
			{Fix: "lower_resolution", Title: "Or use smaller inputs", Cost: "detail", Told: "If an image is optimised, half the width and height takes a quarter of both history and activations. Otherwise {less}"},
		},
		Figures: cures.Scene, Sources: []string{"pytorch/torch/optim/lbfgs.py", "https://pytorch.org/docs/stable/generated/torch.optim.LBFGS.html"},
	},
	{
		ID: "pytorch/patches", Kinds: cures.Refused, If: of(func(s statement) bool {
			return s.reached("unfold", "im2col") || s.itself() && s.says("unfold(", "im2col(")
		}),
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory in `unfold` (overlapping patches)",
		Means:    "`unfold` copies every patch. At stride 1 the result is kernel x kernel times the input[[ ({times} times with this line's kernel of {kernel})]].",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use a stride, or a smaller input", Cost: "detail", Told: "`stride=2` makes a quarter of the patches, and so does half the width and height of the input. Or reduce the channels first (1 x 1 convolution)."},
			{Fix: "lower_batch_size", Title: "Process it in strips", Cost: "some lines of code", Told: "Loop over the samples of the batch, or over strips of rows that overlap by a kernel. Keep only the results."},
			{Fix: "efficient_attention", Title: "Or use a convolution, if it does the same", Cost: "none", Told: "A weighted sum of neighbours is `F.conv2d` (`groups=channels`), a mean is `F.avg_pool2d`. Neither stores the patches."},
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
		Headline: "ran out of memory while training several models in one process",
		Means:    "If earlier trials or folds passed, something of them may still be on the GPU: a model, optimizer, output or loss held by a variable, list or callback. Or this trial is simply larger. Between two of them `torch.cuda.memory_allocated()` should drop to nearly zero.",
		Not:      "`empty_cache()` alone: it cannot free what a variable still holds. {settings}.",
		Cures: []cause.Cure{
			{Fix: "empty_cache", Title: "Free everything before the next one", Cost: "none", Told: "Put model, optimizer and training loop into one function that returns only numbers. After each call:", Kind: "python", Text: "gc.collect(); torch.cuda.empty_cache()   # after each trial or fold, outside the function\nprint(torch.cuda.memory_allocated() // 2**20, \"MiB still held\")"},
			{Fix: "restart_session", Title: "Or run each in its own process", Cost: "some seconds per start", Told: "Pass the fold or trial to your script as an argument, and start it with `subprocess.run`. Its GPU memory is freed when it ends."},
			{Fix: "lower_batch_size", Title: "If memory does drop to zero: make this run smaller", Cost: "fewer candidates", Told: "Halve the batch size; in a search, limit batch size, width and length. Or catch `RuntimeError` and skip the trial (Optuna: `raise optuna.TrialPruned()`)."},
		},
		Figures: cures.Scene, Sources: []string{cures.MemoryFAQ, "https://optuna.readthedocs.io/en/stable/reference/generated/optuna.TrialPruned.html"},
	},
	{
		ID: "pytorch/in-a-service", Kinds: cures.Allocators, Said: []string{"flask/app.py", "uvicorn/protocols", "starlette/", "fastapi/routing.py", "gradio/queueing.py", "gradio/routes.py", "django/core/handlers", "tornado/web.py", "aiohttp/web", "streamlit/runtime", "celery/app/trace.py", "Exception in ASGI application", "run_in_executor("}, If: when.All(cures.OnOneCard, when.Not(when.Any(ledger.Roomy, (*ledger.Case).Training, neverFits, cures.SlackWouldDo, cures.Listed)), alone), Among: anyCause,
		Headline: "ran out of memory while your service answered a request",
		Means:    "Either this request's input was too large, or several requests ran at once. Each request needs its own activations, and each worker process loads its own copy of the models.[[ {outside}]]",
		Not:      "[[{Settings}.]]",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Limit the input size and the batch size", Cost: "long inputs take several calls", Told: "Reject or split inputs larger than you have tested. Lower the `batch_size` of encoders and pipelines, e.g. `encode(..., batch_size=8)`."},
			{Fix: "lower_parallel", Title: "Run one request at a time, without gradients", Cost: "requests wait for each other", Kind: "python", Text: "gpu = threading.Semaphore(1)               # once, where the model is loaded\nwith gpu, torch.inference_mode():          # in the handler\n    output = model(x)                      # your own call; return output.cpu()"},
			{Fix: "kill_stale_process", Title: "Use one worker process per GPU", Cost: "free", Told: "uvicorn and gunicorn: `--workers 1`, without `--reload`. Load the models once, not per request. See which processes share the GPU:", Kind: "shell", Text: "nvidia-smi"},
			{Fix: "half_precision", Title: "Use lighter models", Cost: "little quality", Told: "`model.half()`, or a smaller model."},
		},
		Figures: figures(func(c *ledger.Case, _ statement, out map[string]string) {
			out["outside"], out["Settings"] = "", ""
			if c.Others.Bytes > 2*units.GiB {
				out["outside"] = fmt.Sprintf("Something outside PyTorch holds %s: another engine in the same service (ONNX Runtime, TensorRT), another worker, or another program.", c.Others)
			} else {
				out["Settings"] = out["settings"]
			}
		}),
		Sources: []string{cures.CudaNotes, "https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html", "https://www.uvicorn.org/settings/"},
	},
}

// fitsRAM: features of samples are compared once, in a matrix for which a usual
// computer has room.
func fitsRAM(c *ledger.Case) bool {
	return !c.Training() && ofSamples(c) && !withBoxes(c) && c.Asked.Bytes <= 6*units.GiB
}

// styled: the Gram matrix of a style loss.
func styled(c *ledger.Case) bool { s, _ := failing(c); return s.within([]string{"gram"}) }

// kernels: similarities of the samples of a set, in a measure that has another form.
func kernels(c *ledger.Case) bool {
	s, _ := failing(c)
	return s.within([]string{"cka", "hsic", "ridge"})
}

// contrasted: a loss compares what all ranks have gathered.
func contrasted(c *ledger.Case) bool {
	s, _ := failing(c)
	return strings.Count(s.source, "all_") > 1 && s.says("feat", "emb")
}

// ofPatches: a row is a patch of an image.
func ofPatches(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool { return f.Own && strings.Contains(strings.ToLower(f.Source), "patch") })
}

// ofSamples: a row is a whole sample, whatever its size was.
func ofSamples(c *ledger.Case) bool {
	s, _ := failing(c)
	return s.says("emb", "logits", "gallery", "query_f", "feats", "qf", "gf", "distmat")
}

// mayShare: the message leaves more of the card to others than a context takes.
func mayShare(c *ledger.Case) bool {
	return !c.Total.Has() || !c.Free.Has() || !c.Mine.Has() || c.Total.Bytes-c.Free.Bytes-c.Mine.Bytes > units.GiB
}

// asMuchAgain: the request is what the program holds: before DDP has run a step,
// its only bucket is as large as all parameters (bucket_size_limits in
// torch/nn/parallel/distributed.py).
func asMuchAgain(c *ledger.Case) bool {
	return !ledger.Roomy(c) && !cures.SlackWouldDo(c) && ledger.Near(c.Asked.Bytes, c.Mine.Bytes, c.Mine.Bytes/8)
}

// besideBuckets says what else there is on the card.
func besideBuckets(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	out["beside"] = ""
	if asMuchAgain(c) {
		out["beside"] = "{asked} is as much as the program holds so far: one bucket for all gradients."
	}
	if ledger.Crowded(c) {
		out["beside"] = strings.TrimSpace(out["beside"] + " Something outside this process holds {others} of the GPU: another run, or ranks on the wrong GPU.")
	}
	for name, value := range map[string]string{"{asked}": c.Asked.String(), "{others}": c.Others.String()} {
		out["beside"] = strings.ReplaceAll(out["beside"], name, value)
	}
	return out
}

// bareLoss: the line of PyTorch's own that computes a loss over classes stands
// above the message, without those that led there.
func bareLoss(c *ledger.Case) bool {
	return operation.Is(operation.Loss)(c) && cures.OnOneCard(c) && cures.OwnCard(c) && ledger.OwnFrame(c) == nil
}
