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
		Headline: "ran out of memory in the loss: a score for every class at every position",
		Means:    "The loss works on {table} scores. {asked} fits one such tensor[[ ({numbers} at 32 bit)]]; the probabilities and the gradient made of it take as much again. So the batch size, the length (or image size) and the number of classes decide.",
		Not:      "{settings}.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size", Cost: "slower", Told: "{Less}"},
			{Fix: "lower_context", If: when.Not(pictures), Title: "Leave out positions that the loss ignores", Cost: "none", Told: "Padding takes as much memory as words:", Kind: "python", Text: "keep = {labels}.view(-1) != pad   # pad: the index that the loss ignores\nloss = criterion({scores}.view(-1, {scores}.size(-1))[keep], {labels}.view(-1)[keep])   # criterion: your loss"},
			{Fix: "lower_resolution", If: pictures, Title: "Use smaller crops, or compute the loss at half the size", Cost: "detail", Told: "Half the width and height is a quarter; or compute the loss before the scores are upsampled, with downsampled labels (nearest)."},
			{Fix: "gradient_checkpointing", Title: "Or compute the loss in chunks", Cost: "slower", Told: "Split the positions, compute output layer and loss of each chunk under `torch.utils.checkpoint`, and add the losses up: only one chunk's scores exist at a time."},
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
		ID: "pytorch/all-with-all", Kinds: cures.Refused, If: when.All(of(func(s statement) bool { return s.compared() && !s.scored() }), when.Any(largePart, nodeRows)), Unsaid: []string{"raft.py", "corr.py"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory while comparing all rows with all: {asked} in one piece",
		Means:    "The line compares every row of one side with every row of the other: rows x rows values, four times as many for twice the rows (of feature maps: twice the pixels).[[ {asked} would be one matrix of {side} at {bits} bit.]][[ {several}]]",
		Not:      "[[{whole}. ]]{settings}.",
		Cures: []cause.Cure{
			cures.Only(clues.Unaccounted, cures.LookFirst),
			{Fix: "lower_context", If: nodeRows, Title: "Use fewer nodes: the whole graph is one sample", Cost: "an approximation", Told: "Take subgraphs (sampled neighbours, clusters), or compare the nodes with a few hundred anchors, if the program has such a version. Each head, view or iteration makes another such matrix: fewer of them help as well."},
			{Fix: "fix_shape", If: styled, Title: "Check the view before it: pixels became rows", Cost: "none", Told: "A Gram matrix compares channels (512 x 512 is 1 MB); {side} compares pixels. For batch x channels x height x width:", Kind: "python", Text: "features = x.view(b * c, h * w)   # then mm(features, features.t()): b * c rows"},
			{Fix: "fix_shape", If: kernels, Title: "If rows outnumber columns: multiply the other way round", Cost: "none", Told: "Linear CKA, HSIC and ridge regression need only columns x columns:", Kind: "python", Text: "g = x.T @ y   # centred columns; CKA: (g ** 2).sum() / ((x.T @ x).norm() * (y.T @ y).norm())"},
			{Fix: "lower_batch_size", If: contrasted, Title: "Compare this rank's rows with all, not all with all", Cost: "none", Told: "The gathered batch decides the size: ranks x batch, squared. open_clip: `--local-loss --gather-with-grad`.", Kind: "python", Text: "logits = scale * image_features @ all_text_features.T   # labels: rank * batch + arange(batch)"},
			{Fix: "efficient_attention", If: differing, Title: "Use torch.cdist instead of all differences", Cost: "none", Told: "The line stores a difference for each pair and each column: rows x rows x width. This gives only the distances:", Kind: "python", Text: "d = torch.cdist(a, b)   # a, b: the two sides, without unsqueeze; .square() for the squares"},
			{Fix: "fix_shape", If: withBoxes, Title: "Use fewer boxes before that line", Cost: "weak detections", Told: "A higher confidence threshold, or only the best few thousand (below); `torchvision.ops.nms` needs no such matrix. In training, crop or tile images with hundreds of objects.", Kind: "python", Text: "best = scores.topk(min(5000, len(scores))).indices   # scores, boxes: as in your function\nboxes, scores = boxes[best], scores[best]"},
			{Fix: "lower_batch_size", If: when.All((*ledger.Case).Training, when.Not(when.Any(withBoxes, nodeRows))), Title: "Lower the batch size, or the rows of a sample", Cost: "slower", Told: "Each sample has a matrix of its own: half the batch size[[ ({batch})]] takes half, half the rows of a sample (points, positions, proposals) a quarter."},
			{Fix: "fix_shape", If: (*ledger.Case).Training, Title: "Or compute it in blocks of rows", Cost: "some lines of code", Kind: "python", Text: "best = [f(part, b).topk(k) for part in a.split(1024)]   # a, b: the two sides; f: what the line computes; k: how many you need of each row (of distances: largest=False)"},
			{Fix: "cpu_offload", If: fitsRAM, Title: "Compute it on the CPU", Cost: "slower", Told: "`.cpu()` on both sides before that line; the matrix of {asked} is then in RAM."},
			{Fix: "lower_batch_size", If: when.Not((*ledger.Case).Training), Title: "Compute it in blocks of rows", Cost: "some lines of code", Kind: "python", Text: "best = [f(part, b).topk(k) for part in a.split(1024)]   # a, b: the two sides; f: what the line computes; k: how many you need of each row (of distances: largest=False)"},
			{Fix: "lower_resolution", Title: "Use smaller images", Cost: "detail", If: func(c *ledger.Case) bool {
				return (c.Reader.Work == "vision" || ofPatches(c)) && !withBoxes(c) && !contrasted(c) && !ofSamples(c)
			}, Told: "Half the width and height of the image takes a sixteenth of the matrix."},
			{Fix: "cpu_offload", Title: "Or compute it on the CPU", Cost: "slower", If: when.Not(when.Any((*ledger.Case).Training, fitsRAM)), Told: "`.cpu()` on both sides: the matrix is then in RAM."},
			{Fix: "fix_shape", If: when.Not(withBoxes), Title: "Print both shapes", Cost: "a minute", Kind: "python", Text: "print(a.shape, b.shape)   # a, b: the two sides"},
		},
		Figures: figures(func(c *ledger.Case, s statement, out map[string]string) {
			out["side"], out["whole"], out["several"] = "", "", ""
			if s.says("transpose(-", "bmm(", "permute(", ".mean(0)", "mean(dim=0") {
				out["several"] = "With a side before the rows (heads, views, samples) it is that many smaller ones."
			}
			if nodeRows(c) {
				out["whole"] = "A smaller batch: the whole graph is one sample"
			}
			bytes := 4
			if s.says("float16", ".half(") {
				bytes = 2
			}
			out["bits"] = strconv.Itoa(8 * bytes)
			if n := math.Sqrt(float64(c.Asked.Bytes) / float64(bytes)); n > 1000 {
				out["side"] = "about " + ledger.Thousands(int64(n/100+0.5)*100) + " x " + ledger.Thousands(int64(n/100+0.5)*100)
			}
		}),
		Sources: []string{"https://pytorch.org/docs/stable/generated/torch.cdist.html", "https://docs.pytorch.org/vision/stable/generated/torchvision.ops.nms.html", cures.AllocatorSource},
	},
	{
		ID: "pytorch/model-copied", Kinds: cures.Refused, If: of(func(s statement) bool { _, ok := s.copied(); return ok }),
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while copying a model on the GPU",
		Means:    "`deepcopy` makes a second copy of all weights of [[`{of}`]] on the same GPU; {asked} was the next of them.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Keep the copy in RAM", Cost: "none", Told: "The best weights so far, to go back to with `load_state_dict`:", Kind: "python", Text: "best = dict((k, v.detach().cpu().clone()) for k, v in {model}.state_dict().items())"},
			{Fix: "half_precision", Title: "For an EMA, target or teacher network: make the copy lighter", Cost: "little", Told: "Copy it in RAM before training fills the GPU, then `.to(device)`; in 16 bit if it only predicts, and with `requires_grad_(False)`. An EMA can stay in RAM and be updated every ten steps."},
			{Fix: "use_smaller_model", Title: "Or use a smaller network", Cost: "quality", Told: "Weights, gradients and Adam's state take 16 bytes per parameter, the copy 4 more."},
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
		Means:    "DDP allocates buckets for exchanging gradients, together as large as the gradients, on every GPU, and each GPU holds the whole model.[[ {beside}]]",
		Not:      "A smaller batch, more GPUs: DDP copies the model to each. {settings}.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", If: mayShare, Title: "Check that each rank has a GPU of its own", Cost: "free", Told: "A rank that sets none puts its model on GPU 0: `torch.cuda.set_device(rank)` first, `torch.load(..., map_location=\"cpu\")`.", Kind: "shell", Text: "nvidia-smi   # while it starts: one process a card"},
			{Fix: "shard_training", Title: "Use FSDP instead of DDP", Cost: "communication between the GPUs", Told: "`FULL_SHARD` divides weights, gradients and optimizer by the number of cards (PyTorch 1.12 and later)."},
			{Fix: "use_lora", Title: "Freeze what need not be trained, before the wrap", Cost: "some accuracy", Told: "Parameters with `requires_grad_(False)` need neither gradients nor buckets; a LoRA trains a few per cent of them."},
			{Fix: "half_precision", If: when.Not(cures.NarrowAlready), Title: "Or hold the weights in bfloat16", Cost: "a less exact optimizer", Told: "`model.to(torch.bfloat16)` before the wrap halves weights, gradients and buckets; cards before Ampere (V100, T4) compute it slowly."},
			{Fix: "bigger_gpu", Title: "Or use GPUs with more memory", Cost: "money, or waiting", Told: "After the buckets come the optimizer's state and the activations."},
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
		Means:    "In `{function}` the line moves `{result}` to the GPU as a whole. In an evaluation that is usually a value for every class at every position of the input (classes x height x width at full size), so one large image is enough.[[ {asked} is {numbers} at 32 bit.]]",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Keep it on the CPU", Cost: "a little slower", Told: "Remove the copy to the GPU from that line, and move what is added to the CPU instead:", Kind: "python", Text: "{result} = {result} + part.cpu()   # {result} made without .cuda(); part: what the network gives"},
			{Fix: "lower_resolution", Title: "Evaluate at a smaller size", Cost: "detail", Told: "Half the width and height is a quarter; the script's or config's size for tests; or tiles, one at a time."},
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
		Means:    "That line only moves data to the GPU. {asked} is {numbers}probably a whole data set (or grid, volume, feature table) rather than a batch.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep it in RAM, and move one batch at a time", Cost: "hardly slower", Kind: "python", Text: "loader = DataLoader(TensorDataset({data}, {labels}), batch_size=64, shuffle=True, pin_memory=True)   # both without .cuda()\nfor x, y in loader:\n    x, y = x.to(device), y.to(device)"},
			{Fix: "half_precision", Title: "Use a smaller data type", Cost: "none for images and counts", Told: "Images as `uint8`, numbers as `float16`, converted on the card batch by batch (`x.float()`): a quarter, or half. NumPy's `float64` is twice what is needed."},
			{Fix: "lower_resolution", Title: "If all of it is needed: lower its resolution", Cost: "detail", Told: "Half the resolution of an image is a quarter, of a volume an eighth; only the objects, rows or channels that are used."},
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
		Means:    "A gradient penalty, a Hessian or an inner loop of meta-learning (`create_graph=True`) keeps the graph of the backward pass as well, so this step takes about twice the memory of a usual one.",
		Not:      "{settings}.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_parallel", If: inner, Title: "Fewer tasks at a time, with one backward each", Cost: "none", Told: "`(loss / tasks).backward()` after each task instead of adding the losses up: one task's graph exists at a time."},
			{Fix: "lower_context", If: inner, Title: "Or fewer inner steps, or first order", Cost: "slightly worse as a rule", Told: "Each inner step keeps its own graph. First-order MAML passes `create_graph=False` (learn2learn: `first_order=True`): the memory of a usual step."},
			{Fix: "lower_batch_size", If: when.Not(inner), Title: "Compute the penalty on part of the batch", Cost: "a noisier penalty", Told: "A quarter of the samples is usually enough: pass `real[:n // 4]` and `fake[:n // 4]`."},
			{Fix: "gradient_accumulation", If: when.Not(inner), Title: "Or compute it only every 16th step, with 16 times the weight", Cost: "none to speak of", Told: "As StyleGAN2 does (lazy regularisation); the other steps then keep the larger batch, this one a small one."},
			{Fix: "lower_resolution", Title: "Or lower the batch size or the input size", Cost: "slower", Told: "{Less}"},
			{Fix: "detach_accumulated", If: when.Not(inner), Title: "Free its graph at once", Cost: "none", Told: "`d_loss.backward()` in the same step, `fake.detach()` for the critic, and `.item()` for what is logged."},
		},
		Figures: figures(func(_ *ledger.Case, _ statement, out map[string]string) { out["Less"] = capital(out["less"]) }),
		Sources: []string{"https://pytorch.org/docs/stable/generated/torch.autograd.grad.html", "https://arxiv.org/abs/1912.04958"},
	},
	{
		ID: "pytorch/lbfgs", Kinds: cures.Refused, Said: []string{"torch/optim/lbfgs.py"}, If: when.All(cures.OnOneCard, cures.OwnCard), Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in L-BFGS, whose history grows for the first hundred steps",
		Means:    "For each of its last steps, up to `history_size` (100 by default), L-BFGS keeps two vectors as large as everything it optimises. So early steps pass and a later one fails.",
		Not:      "{settings}.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Lower history_size", Cost: "slightly slower convergence", Kind: "python", Text: "optimizer = torch.optim.LBFGS(params, history_size=10)   # params and the rest: as in your call"},
			{Fix: "optimizer_8bit", Title: "Or use Adam, which keeps two vectors in all", Cost: "more steps", Told: "`torch.optim.Adam(params, lr=...)` without a closure; images that are optimised themselves take a large rate (0.05 to 1)."},
			{Fix: "lower_resolution", Title: "Or use smaller inputs", Cost: "detail", Told: "If an image is optimised: half the width and height takes a quarter of both history and activations. Otherwise {less}"},
		},
		Figures: cures.Scene, Sources: []string{"pytorch/torch/optim/lbfgs.py", "https://pytorch.org/docs/stable/generated/torch.optim.LBFGS.html"},
	},
	{
		ID: "pytorch/patches", Kinds: cures.Refused, If: of(func(s statement) bool {
			return s.reached("unfold", "im2col") || s.itself() && s.says("unfold(", "im2col(")
		}),
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory in `unfold` (overlapping patches)",
		Means:    "`unfold` copies every patch: kernel x kernel times the input at stride 1[[ ({times} times with this line's kernel of {kernel})]]. Its result here is {asked}.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use a stride, or a smaller input", Cost: "detail", Told: "A stride of 2 makes a quarter of the patches; so does half the width and height of the input. Or reduce the channels first (a 1 x 1 convolution)."},
			{Fix: "lower_batch_size", Title: "Process it in strips", Cost: "some lines of code", Told: "Loop over the samples of the batch, or over strips of rows with a margin of half a kernel, and keep only the results."},
			{Fix: "efficient_attention", Title: "Use a convolution instead, where it does the same", Cost: "none", Told: "A weighted sum of neighbours is `F.conv2d` (`groups=channels`), a mean is `F.avg_pool2d`: neither stores the patches."},
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
		Means:    "If earlier trials or folds went through, parts of them (a model, its optimizer, a last output or loss) may still be held by a variable, list or callback; or this one is larger. `torch.cuda.memory_allocated()` between two of them should go back to nearly nothing.",
		Not:      "`empty_cache()` alone: it frees nothing that a variable still refers to. {settings}.",
		Cures: []cause.Cure{
			{Fix: "empty_cache", Title: "Free everything before the next one", Cost: "none", Told: "Put model, optimizer and loop into one function that returns only numbers; after it:", Kind: "python", Text: "gc.collect(); torch.cuda.empty_cache()   # after each trial or fold, outside the function\nprint(torch.cuda.memory_allocated() // 2**20, \"MiB still held\")"},
			{Fix: "restart_session", Title: "Or run each in its own process", Cost: "a start each time", Told: "All its memory is cures.Freed when it ends: a script that takes the fold or trial as its argument (`subprocess.run`)."},
			{Fix: "lower_batch_size", Title: "If it goes back to zero: limit the size of the trials", Cost: "fewer candidates", Told: "Limit the batch size, width and length that are searched, or catch `RuntimeError` and skip the trial (Optuna: `raise optuna.TrialPruned()`)."},
		},
		Figures: cures.Scene, Sources: []string{cures.MemoryFAQ, "https://optuna.readthedocs.io/en/stable/reference/generated/optuna.TrialPruned.html"},
	},
	{
		ID: "pytorch/in-a-service", Kinds: cures.Allocators, Said: []string{"flask/app.py", "uvicorn/protocols", "starlette/", "fastapi/routing.py", "gradio/queueing.py", "gradio/routes.py", "django/core/handlers", "tornado/web.py", "aiohttp/web", "streamlit/runtime", "celery/app/trace.py", "Exception in ASGI application", "run_in_executor("}, If: when.All(cures.OnOneCard, when.Not(when.Any(ledger.Roomy, (*ledger.Case).Training, neverFits, cures.SlackWouldDo, cures.Listed)), alone), Among: anyCause,
		Headline: "ran out of memory while a service answered a request",
		Means:    "Either the input or batch of this request was too large, or several requests ran at once: each has its own activations, and every worker process its own copy of the models.[[ This process holds {mine} of {total}.]][[ {outside}]]",
		Not:      "[[{Settings}.]]",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Limit the input size, and lower the batch size inside", Cost: "long inputs take several calls", Told: "Refuse or split what is longer or larger than you have tested; `encode(..., batch_size=8)`, pipelines and encoders have a `batch_size` of their own."},
			{Fix: "lower_parallel", Title: "Run one request at a time, without gradients", Cost: "requests wait for each other", Kind: "python", Text: "gpu = threading.Semaphore(1)               # once, beside the model\nwith gpu, torch.inference_mode():          # in the handler; async code: asyncio.Semaphore\n    output = model(x)                      # your own call; return output.cpu()"},
			{Fix: "kill_stale_process", Title: "Use one worker process per GPU", Cost: "free", Told: "`--workers 1` for uvicorn and gunicorn, without `--reload`; load the models once, not in each request; move a second service or container to another GPU.", Kind: "shell", Text: "nvidia-smi"},
			{Fix: "half_precision", Title: "Use lighter models", Cost: "little quality", Told: "`model.half()`, or a smaller one of several that share the GPU."},
		},
		Figures: figures(func(c *ledger.Case, _ statement, out map[string]string) {
			out["outside"], out["Settings"] = "", ""
			if c.Others.Bytes > 2*units.GiB {
				out["outside"] = fmt.Sprintf("%s is held outside PyTorch: by another engine of the same service (CTranslate2, ONNX Runtime, TensorRT), another worker, or another program.", c.Others)
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
		out["beside"] = "The {asked} is as much again as the weights: one bucket for all gradients."
	}
	if ledger.Crowded(c) {
		out["beside"] = strings.TrimSpace(out["beside"] + " {others} of the card is held outside it: another run, or ranks that took the wrong card.")
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
