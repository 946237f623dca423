package script

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// of holds where a card of which nobody else has a large part failed at a
// statement like that.
func of(like func(statement) bool) func(*ledger.Case) bool {
	return when.All(cures.OnOneCard, cures.OwnCard, at(like))
}

// ofAny is the same where the message may have no figures.
func ofAny(like func(statement) bool) func(*ledger.Case) bool {
	return when.All(when.Any(when.All(cures.OnOneCard, cures.OwnCard), unsized), at(like))
}

func at(like func(statement) bool) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool {
		s, ok := failing(c)
		return ok && like(s)
	}
}

// unsized: CUDA itself refused, without figures, in a script of one's own.
func unsized(c *ledger.Case) bool { return c.Root(fact.CUDAError) && alone(c) }

// figures are scene with those of the statement.
func figures(add func(c *ledger.Case, s statement, figures map[string]string)) func(*ledger.Case) map[string]string {
	return func(c *ledger.Case) map[string]string {
		out := cures.Scene(c)
		s, _ := failing(c)
		add(c, s, out)
		return out
	}
}

// Cures that several cards share.
var (
	noGradients = cause.Cure{
		Fix: "inference_mode", Title: "Turn gradients off around that loop", Cost: "none", If: when.Not(cures.Freed),
		Told: "If that is not done yet: otherwise each part keeps the activations of all layers, too. `model.eval()` does not turn gradients off.",
		Kind: "python", Text: "with torch.no_grad():   # around the loop\n    ...",
	}
	lessOfEach = cause.Cure{
		Fix: "lower_batch_size", Title: "Store less of each part", Cost: "none, where the rest is not used",
		Told: "The class instead of all scores (`.argmax(1)`), the best few (`.topk(5)`), 16 bit (`.half()`), or only the metric of each batch.",
	}
)

// critic: the loss is that of a discriminator.
func critic(c *ledger.Case) bool {
	s, _ := failing(c)
	low := strings.ToLower(s.source)
	return strings.Contains(low, "d_loss") || strings.Contains(low, "loss_d") || strings.Contains(low, "errd") || strings.Contains(low, "disc") || strings.Contains(low, "critic")
}

// anyCause are the causes between which such a line leaves it open.
var anyCause = append([]string{cause.RetainedMemory, cause.TrainingStateTooLarge, cause.LeakedProcess, cause.Fragmentation}, cures.OwnDoing...)

// Cards are about what a line of one's own code does, by its words.
var Cards = slices.Concat(chamferCards, tableCards, wholeCards, layerCards, loopCards, collecting, computing, unsizedCards)

// collecting are about what a loop or an export holds.
var collecting = []cause.Card{
	{
		ID: "pytorch/export", Kinds: cures.Refused, Said: []string{"torch.jit.trace(", "torch.onnx.export(", "onnx/utils.py", "jit/_trace.py", "torch2trt("}, If: when.All(cures.OnOneCard, cures.OwnCard), Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while exporting the model",
		Means:    "Export runs the model once on the example input, with gradients unless they are off, and records the graph. So the size of the example decides, and the file comes out the same on the CPU.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Export on the CPU", Cost: "some seconds or minutes", Told: "Move model and example to the CPU, and run the same call without gradients:", Kind: "python", Text: "model = model.cpu().eval()\nexample = example.cpu()      # example: the input that you pass\nwith torch.no_grad():\n    ...                      # your call of trace or export"},
			{Fix: "lower_resolution", Title: "Use a smaller example input", Cost: "none, with dynamic sizes", Told: "Batch size 1 and half the width and height; in `torch.onnx.export`, `dynamic_axes` leaves those sizes open."},
			{Fix: "kill_stale_process", Title: "Check what else is using the GPU", Cost: "free", Kind: "shell", Text: "nvidia-smi"},
			lessOfEach,
		},
		Figures: cures.Scene, Sources: []string{"pytorch/torch/jit/_trace.py", "https://docs.pytorch.org/docs/stable/onnx.html"},
	},
	{
		ID: "pytorch/gathered-first", Kinds: cures.Refused, Said: []string{"in gather_map", "comm.gather(", "torch._C._gather("}, If: when.All(cures.OnOneCard, cures.OwnCard),
		Cause: cause.DeviceImbalance, Weight: cause.Strong,
		Headline: "ran out of memory while DataParallel gathered all outputs on one GPU",
		Means:    "DataParallel copies all outputs to the first GPU, where the loss is computed, so that GPU needs more memory than the others.[[ {asked} was such an output; this program held {mine} of {total} there.]]",
		Not:      "More GPUs with the same total batch: what is gathered stays as large. {settings}.",
		Cures: []cause.Cure{
			{Fix: "balance_split", Title: "Compute the loss inside the module", Cost: "some lines of code", Told: "Then each GPU returns a number instead of its outputs (take `loss.mean()`).", Kind: "python", Text: "class WithLoss(torch.nn.Module):\n    def __init__(self, net, criterion):\n        super().__init__()\n        self.net, self.criterion = net, criterion\n    def forward(self, x, y):\n        return self.criterion(self.net(x), y).unsqueeze(0)\nmodel = torch.nn.DataParallel(WithLoss(net, criterion))   # net, criterion: yours"},
			{Fix: "upgrade_version", Title: "Or use DistributedDataParallel", Cost: "a process for each GPU", Told: "It gathers no outputs, and is faster: `torchrun --nproc_per_node=2 train.py` (before 1.10 `python -m torch.distributed.launch`)."},
			{Fix: "lower_batch_size", Title: "Lower the total batch size", Cost: "slower", Told: "{Less}"},
			lessOfEach,
		},
		Figures: figures(func(_ *ledger.Case, _ statement, out map[string]string) { out["Less"] = capital(out["less"]) }),
		Sources: []string{"pytorch/torch/nn/parallel/data_parallel.py", "pytorch/torch/nn/parallel/scatter_gather.py"},
	},
	{
		ID: "pytorch/graph-retained", Kinds: cures.Refused, If: ofAny(func(s statement) bool {
			return s.says("retain_graph=True", "retain_graph = True") && s.says("backward(")
		}),
		Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory in a backward pass that keeps its graph",
		Means:    "`retain_graph=True` keeps the graph of the step. If something is carried over from step to step (a hidden state, a memory, an earlier output), each step's graph includes all earlier ones, and memory climbs until the card is full.",
		Not:      "`empty_cache()`: the graphs are still referred to. {settings}.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", If: critic, Title: "Detach the generated image, and remove retain_graph", Cost: "none: the critic's step needs no gradient of the generator", Kind: "python", Text: "d_fake = D(fake.detach())   # D, fake: yours; makes a graph without the generator\nd_loss.backward()           # then a new D(fake) for the generator's loss"},
			{Fix: "detach_accumulated", If: when.Not(critic), Title: "Detach what is carried over, and remove retain_graph", Cost: "none: gradients end at the step, as in truncated backpropagation", Kind: "python", Text: "hidden = tuple(h.detach() for h in hidden)   # hidden: what is carried over; one tensor: hidden.detach()\nloss.backward()"},
			{Fix: "gradient_accumulation", Title: "For several losses of one step: add them and call backward once", Cost: "none", Told: "`(loss_a + loss_b).backward()` needs no `retain_graph`; pass a generator's output to the critic as `fake.detach()`."},
			{Fix: "lower_batch_size", Title: "See whether memory climbs", Cost: "free", Kind: "python", Text: "print(step, torch.cuda.memory_allocated() // 2**20, \"MiB\")   # if it is flat and still fails: a smaller batch"},
		},
		Figures: cures.Scene, Sources: []string{"https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html", cures.MemoryFAQ},
	},
	{
		ID: "pytorch/one-hot", Kinds: cures.Refused, Said: []string{"num_classes"}, If: of(func(s statement) bool {
			return s.itself() && s.says("one_hot(") && s.says("num_classes") && !s.says("num_classes=-1")
		}),
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "ran out of memory in `one_hot`: {asked}",
		Means:    "`one_hot` makes positions x classes integers of 8 bytes, and a `.float()` after it another 4 bytes for each.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Use the class indices instead", Cost: "none", Told: "`F.cross_entropy(scores, labels)` takes class indices; `torch.nn.Embedding` replaces a one-hot row times a matrix; `scores.gather(1, labels[:, None])` picks the score of a class."},
			{Fix: "lower_batch_size", Title: "Lower the batch size", Cost: "slower", Told: "{Less}"},
			{Fix: "half_precision", Title: "If you need it: use 1 byte per value", Cost: "none", Kind: "python", Text: "rows = torch.zeros(*labels.shape, num_classes, dtype=torch.bool, device=labels.device).scatter_(-1, labels[..., None], True)   # 1 byte each"},
		},
		Figures: figures(func(_ *ledger.Case, _ statement, out map[string]string) { out["Less"] = capital(out["less"]) }),
		Sources: []string{"https://pytorch.org/docs/stable/generated/torch.nn.functional.one_hot.html"},
	},
	{
		ID: "pytorch/models-collected", Kinds: cures.Refused, If: ofAny(func(s statement) bool { return s.collected() != "" }), Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while several models were put on the GPU together",
		Means:    "Each model that is added to `{list}` stays on the GPU, and the earlier ones fill it.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Keep one model at a time on the GPU", Cost: "a copy to the GPU for each", Told: "Load all to RAM (`map_location=\"cpu\"`), and keep only the results:", Kind: "python", Text: "results = []\nfor m in {list}:                      # all in RAM\n    m.to(\"cuda\")\n    with torch.no_grad():\n        results.append(m(x).cpu())      # x: your input\n    m.to(\"cpu\")"},
			{Fix: "half_precision", Title: "Use 16 bit", Cost: "hardly any quality", Told: "`model.half()` before `.cuda()`: half for each."},
			{Fix: "use_smaller_model", Title: "Use fewer models", Cost: "some quality", Told: "The best two or three of an ensemble, or one with averaged weights."},
		},
		Figures: figures(func(_ *ledger.Case, s statement, out map[string]string) { out["list"] = s.collected() }),
		Sources: []string{cures.MemoryFAQ, "https://docs.pytorch.org/docs/stable/generated/torch.load.html"},
	},
	{
		ID: "pytorch/list-grows", Kinds: cures.Refused, If: of(func(s statement) bool { list, _ := s.appended(); return list != "" }), Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory while a loop collected results in `{list}` on the GPU",
		Means:    "Everything that is added to `{list}` stays on the GPU, and with gradients on, the whole graph of its batch as well. It grows with the number of batches, so early batches pass and a later one fails.",
		Not:      "A smaller batch alone: the results add up to the same. {settings}.",
		Later:    "If it fails at the very first batch, the list is not the reason: turn gradients off and halve the batch size.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Move each result to RAM", Cost: "hardly slower", Kind: "python", Text: "{list}.append({part}.detach().cpu())"},
			noGradients, lessOfEach,
		},
		Figures: figures(func(_ *ledger.Case, s statement, out map[string]string) {
			if out["list"], out["part"] = s.appended(); out["part"] == "" {
				out["part"] = "result"
			}
		}),
		Sources: []string{cures.MemoryFAQ},
	},
	{
		ID: "pytorch/rollout-at-once", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, rollout, func(c *ledger.Case) bool { s, ok := failing(c); return ok && s.remembered() == "" }, when.Not(cures.LateStep)),
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in the agent's update from its rollout",
		Means:    "The network processes all collected states in one batch and stores its activations for the backward pass; that grows with steps, environments and the size of an observation.",
		Not:      "{settings}.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Update in minibatches", Cost: "none: PPO is meant to work so", Kind: "python", Text: "for idx in torch.randperm(len(states)).split(256):   # states: what you pass now\n    ...                                              # the same update over states[idx], actions[idx], ..."},
			{Fix: "stream_dataset", Title: "Keep the rollout in RAM", Cost: "hardly slower", Told: "Images as `uint8` (divided by 255 on the card), no graphs: `log_prob.detach()`, `value.detach()` when they are stored; `.to(device)` for a minibatch only."},
			{Fix: "lower_resolution", Title: "Collect less per update", Cost: "noisier updates", Told: "Fewer environments or steps, smaller frames (84 x 84, gray)."},
		},
		Figures: cures.Scene, Sources: []string{"https://docs.pytorch.org/tutorials/intermediate/reinforcement_ppo.html", cures.MemoryFAQ},
	},
	{
		ID: "pytorch/result-grows", Kinds: cures.Refused, If: ofAny(func(s statement) bool { _, _, ok := s.growing(); return ok }),
		Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory while `{whole}` grew in a loop",
		Means:    "Each iteration makes a new tensor of all results so far plus one part, while the old one still exists: about twice its size for a moment. It grows with the data; with gradients on, each part keeps its graph as well.[[ `{whole}` has reached {asked}; this program held {mine} of {total}.]]",
		Not:      "A smaller batch alone: the results add up to the same. {settings}.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Collect the parts in RAM, and concatenate once", Cost: "none", Kind: "python", Text: "{list} = []                             # before the loop\n{list}.append({part}.detach().cpu())    # in it, in place of that line\n{whole} = torch.cat({list})             # after it, in RAM"},
			noGradients, lessOfEach,
		},
		Figures: figures(func(_ *ledger.Case, s statement, out map[string]string) {
			out["whole"], out["part"], _ = s.growing()
			out["list"] = strings.ReplaceAll(out["whole"], "self.", "") + "_parts"
			if strings.Contains(out["list"], ".") {
				out["list"] = "parts"
			}
		}),
		Sources: []string{cures.MemoryFAQ, "https://pytorch.org/docs/stable/generated/torch.cat.html"},
	},
	{
		ID: "pytorch/whole-buffer", Kinds: cures.Refused, If: ofAny(func(s statement) bool { return s.remembered() != "" }),
		Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory while moving all of `{store}` to the GPU",
		Means:    "The line makes one tensor of everything in `{store}`. That grows with the episodes, so the first ones pass and a later one fails.[[ It came to {asked}; this program held {mine} of {total}.]]",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Sample a random batch per step", Cost: "none", Kind: "python", Text: "batch = random.sample({store}, 64)   # then the same line over batch in place of {store}"},
			{Fix: "stream_dataset", Title: "Keep the replay buffer in RAM", Cost: "hardly slower", Told: "States as NumPy arrays or CPU tensors, images as `uint8` (a quarter of 32 bit); `.detach().cpu()` when they go in, `.to(device)` for the batch only."},
			{Fix: "lower_context", Title: "Limit its length", Cost: "older steps are forgotten", Told: "`collections.deque(maxlen=100_000)`; on-policy methods empty it after each update."},
		},
		Figures: figures(func(_ *ledger.Case, s statement, out map[string]string) { out["store"] = s.remembered() }),
		Sources: []string{cures.MemoryFAQ, "https://docs.pytorch.org/tutorials/intermediate/reinforcement_q_learning.html"},
	},
	{
		ID: "pytorch/parts-joined", Kinds: cures.Refused, If: of(func(s statement) bool { return s.joined() != "" }),
		Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory while concatenating `{list}`",
		Means:    "The parts of `{list}` are on the GPU already, and the line makes one tensor of them: twice as much for a moment.[[ The whole is {asked}; this program held {mine}, the parts included.]] A list that a loop fills grows with the data.",
		Not:      "A smaller batch alone: the parts add up to the same. {settings}.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Move each part to RAM, and concatenate there", Cost: "hardly slower", Kind: "python", Text: "{list}.append(part.detach().cpu())   # part: what the loop appends now"},
			noGradients, lessOfEach,
		},
		Figures: figures(func(_ *ledger.Case, s statement, out map[string]string) { out["list"] = s.joined() }),
		Sources: []string{cures.MemoryFAQ, "https://pytorch.org/docs/stable/generated/torch.cat.html"},
	},
	{
		ID: "pytorch/scores-added-up", Kinds: cures.Refused, If: of(func(s statement) bool { _, _, ok := s.added(); return ok }),
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while adding up `{whole}` in an evaluation",
		Means:    "The line holds {parts} at once. In an evaluation each usually has a value for every class at every position of the input, so the size of the image (or length of the text) times the classes decides.[[ One of them is {asked}; this program held {mine} of {total}.]]",
		Not:      "A smaller training batch. {settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Add up on the CPU", Cost: "a little slower", Told: "And make `{whole}` there before the loop (`torch.zeros(...)` without `.cuda()` or `device=`).", Kind: "python", Text: "{sum} part.cpu()   # part: what that line adds"},
			{Fix: "lower_resolution", Title: "Evaluate at a smaller size, or at fewer scales", Cost: "detail", Told: "Half the width and height takes a quarter; test in tiles; the script's option or config for test sizes."},
			noGradients, lessOfEach,
		},
		Figures: figures(func(_ *ledger.Case, s statement, out map[string]string) {
			out["whole"], _, _ = s.added()
			out["parts"], out["sum"] = "old sum, new sum and the part that is added", out["whole"]+" = "+out["whole"]+".cpu() +"
			if s.says("+=") {
				out["parts"], out["sum"] = "the sum and the part that is added", out["whole"]+"[...] +="
			}
		}),
		Sources: []string{cures.MemoryFAQ, "https://github.com/CSAILVision/semantic-segmentation-pytorch"},
	},
}

func pictures(c *ledger.Case) bool { return c.Reader.Work == "vision" }

// alone: no other program shows, whose own cards say more.
func alone(c *ledger.Case) bool { return len(c.Stack) == 1 }

func neverFits(c *ledger.Case) bool { return ledger.NeverFits(c) != "" }

// largePart: not a last small piece.
func largePart(c *ledger.Case) bool { return c.Asked.Bytes*32 > c.Total.Bytes }

func differing(c *ledger.Case) bool { s, _ := failing(c); return s.differs() && !s.boxes() }

func withBoxes(c *ledger.Case) bool { s, _ := failing(c); return s.boxes() }

func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
