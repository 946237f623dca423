package script

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// of holds where a card of which nobody else has a large part failed at a
// statement like that.
func of(like func(statement) bool) func(*ledger.Case) bool {
	return when.All(cures.OnOneCard, cures.OwnCard, func(c *ledger.Case) bool {
		s, ok := failing(c)
		return ok && like(s)
	})
}

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
		Fix: "inference_mode", Title: "No gradients around that loop", Cost: "none", If: when.Not(freed),
		Told: "Unless it is there already: without it each part keeps the results of all layers, too. `model.eval()` does not do it.",
		Kind: "python", Text: "with torch.no_grad():   # around the loop\n    ...",
	}
	lessOfEach = cause.Cure{
		Fix: "lower_batch_size", Title: "Keep less of each part", Cost: "none, where the rest is not used",
		Told: "The class in place of all scores (`.argmax(1)`), the best few (`.topk(5)`), 16 bit (`.half()`), or the metric of each batch as a number.",
	}
)

// freed: a frame of the traceback turns gradients off.
func freed(c *ledger.Case) bool {
	for _, f := range ledger.Trace(c) {
		if strings.Contains(f.Function, "decorate_context") || strings.Contains(f.Source, "no_grad") || strings.Contains(f.Source, "inference_mode") {
			return true
		}
	}
	return false
}

// anyCause are the causes between which such a line leaves it open.
var anyCause = append([]string{cause.RetainedMemory, cause.TrainingStateTooLarge, cause.LeakedProcess, cause.Fragmentation}, cures.OwnDoing...)

// Cards are about what a line of one's own code does, by its words.
var Cards = slices.Concat(collecting, computing)

// collecting are about what a loop or an export holds.
var collecting = []cause.Card{
	{
		ID: "pytorch/export", Kinds: cures.Refused, Said: []string{"torch.jit.trace(", "torch.onnx.export(", "onnx/utils.py", "jit/_trace.py", "torch2trt("}, If: when.All(cures.OnOneCard, cures.OwnCard), Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory as the model was exported: it is run once on its example input",
		Means:    "Tracing runs the model on the example, with gradients unless they are off, and holds the graph beside it. So the size of the example decides; nothing is trained, and the file comes out the same on the processor.[[ {asked} was refused, {mine} of {total} in use.]]",
		Not:      "16 bit only for this: it changes what is exported. {settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Export on the processor", Cost: "some seconds or minutes", Told: "RAM holds what the card does not; then the same call without gradients:", Kind: "python", Text: "model = model.cpu().eval()\nexample = example.cpu()      # example: the input that you pass\nwith torch.no_grad():\n    ...                      # your call of trace or export"},
			{Fix: "lower_resolution", Title: "A smaller example", Cost: "none, with dynamic sizes", Told: "Batch 1 and half the width and height; in `torch.onnx.export` `dynamic_axes` leaves those sizes open. A model that compares all positions with all grows with the square of them."},
			{Fix: "kill_stale_process", Title: "See that nothing else is on the card", Cost: "free", Kind: "shell", Text: "nvidia-smi"},
			lessOfEach,
		},
		Figures: cures.Scene, Sources: []string{"pytorch/torch/jit/_trace.py", "https://docs.pytorch.org/docs/stable/onnx.html"},
	},
	{
		ID: "pytorch/gathered-first", Kinds: cures.Refused, Said: []string{"in gather_map", "comm.gather(", "torch._C._gather("}, If: when.All(cures.OnOneCard, cures.OwnCard),
		Cause: cause.DeviceImbalance, Weight: cause.Strong,
		Headline: "ran out of memory as DataParallel gathered the outputs of all cards on one",
		Means:    "DataParallel brings all results to the first card, where the loss is computed and its gradient begins; so that card needs more than the others.[[ {asked} was such an output, beside {mine} of {total}.]]",
		Not:      "More cards with the same batch in all: what is gathered stays as large. {settings}.",
		Cures: []cause.Cure{
			{Fix: "balance_split", Title: "Compute the loss inside the module", Cost: "some lines of code", Told: "Then a number comes back from each card in place of its outputs (`loss.mean()` after it).", Kind: "python", Text: "class WithLoss(torch.nn.Module):\n    def __init__(self, net, criterion):\n        super().__init__()\n        self.net, self.criterion = net, criterion\n    def forward(self, x, y):\n        return self.criterion(self.net(x), y).unsqueeze(0)\nmodel = torch.nn.DataParallel(WithLoss(net, criterion))   # net, criterion: yours"},
			{Fix: "upgrade_version", Title: "Or DistributedDataParallel", Cost: "a process for each card", Told: "Nothing is gathered there, and it is faster: `torchrun --nproc_per_node=2 train.py` (before 1.10 `python -m torch.distributed.launch`)."},
			{Fix: "lower_batch_size", Title: "A smaller batch in all", Cost: "slower", Told: "{Less}"},
			lessOfEach,
		},
		Figures: figures(func(_ *ledger.Case, _ statement, out map[string]string) { out["Less"] = capital(out["less"]) }),
		Sources: []string{"pytorch/torch/nn/parallel/data_parallel.py", "pytorch/torch/nn/parallel/scatter_gather.py"},
	},
	{
		ID: "pytorch/graph-retained", Kinds: cures.Refused, If: of(func(s statement) bool {
			return s.says("retain_graph=True", "retain_graph = True") && s.says("backward(")
		}),
		Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory in a backward pass that keeps its graph",
		Means:    "`retain_graph=True` leaves the graph of the step in place. Where something is carried over from step to step (a hidden state, a memory, an output of before), each step's graph then holds all before it, and memory climbs until the card is full.[[ {mine} of {total} is in use.]]",
		Not:      "`empty_cache()`, a smaller batch alone: it climbs on. {settings}.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Cut the graph where the next step begins, and drop retain_graph", Cost: "none: gradients end at the step, as in truncated backpropagation", Kind: "python", Text: "hidden = tuple(h.detach() for h in hidden)   # hidden: what is carried over; one tensor: hidden.detach()\nloss.backward()"},
			{Fix: "gradient_accumulation", Title: "Several losses of one step: add them, one backward", Cost: "none", Told: "`(loss_a + loss_b).backward()` needs no `retain_graph`; a generator's output goes to the critic as `fake.detach()`."},
			{Fix: "lower_batch_size", Title: "See whether it climbs", Cost: "free", Kind: "python", Text: "print(step, torch.cuda.memory_allocated() // 2**20, \"MiB\")   # flat now: then a smaller step, if it still fails"},
		},
		Figures: cures.Scene, Sources: []string{"https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html", cures.MemoryFAQ},
	},
	{
		ID: "pytorch/one-hot", Kinds: cures.Refused, Said: []string{"num_classes"}, If: of(func(s statement) bool {
			return s.itself() && s.says("one_hot(") && s.says("num_classes") && !s.says("num_classes=-1")
		}),
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "ran out of memory as it wrote class numbers out as rows of zeros and ones: {asked}",
		Means:    "`one_hot` makes positions x classes numbers of 8 bytes, and a `.float()` behind it 4 bytes more for each, of which all but one in a row are zero.[[ {mine} of {total} was held before.]]",
		Not:      "A smaller network. {settings}.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Give the class numbers themselves", Cost: "none", Told: "`F.cross_entropy(scores, labels)` takes numbers of classes, `torch.nn.Embedding` is the product of a one-hot row and a matrix, `scores.gather(1, labels[:, None])` picks the value of a class."},
			{Fix: "lower_batch_size", Title: "Fewer positions at a time", Cost: "slower", Told: "{Less}"},
			{Fix: "half_precision", Title: "It is needed: smaller numbers", Cost: "none", Kind: "python", Text: "rows = torch.zeros(*labels.shape, num_classes, dtype=torch.bool, device=labels.device).scatter_(-1, labels[..., None], True)   # 1 byte each"},
		},
		Figures: figures(func(_ *ledger.Case, _ statement, out map[string]string) { out["Less"] = capital(out["less"]) }),
		Sources: []string{"https://pytorch.org/docs/stable/generated/torch.nn.functional.one_hot.html"},
	},
	{
		ID: "pytorch/models-collected", Kinds: cures.Refused, If: of(func(s statement) bool { return s.collected() != "" }), Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory as several models were put on the card together",
		Means:    "Each model that goes into `{list}` stays on the card; the earlier ones fill it.[[ {mine} of {total} is in use, {asked} was the next piece.]] No input was computed yet.",
		Not:      "A smaller batch. {settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "One at a time on the card", Cost: "a copy to the card for each", Told: "Load all to RAM (`map_location=\"cpu\"`), and keep only results:", Kind: "python", Text: "results = []\nfor m in {list}:                      # all in RAM\n    m.to(\"cuda\")\n    with torch.no_grad():\n        results.append(m(x).cpu())      # x: your input\n    m.to(\"cpu\")"},
			{Fix: "half_precision", Title: "In 16 bit", Cost: "hardly any quality", Told: "`model.half()` before `.cuda()`: half for each."},
			{Fix: "use_smaller_model", Title: "Fewer of them", Cost: "some quality", Told: "The best two or three of an ensemble, or one with averaged weights."},
		},
		Figures: figures(func(_ *ledger.Case, s statement, out map[string]string) { out["list"] = s.collected() }),
		Sources: []string{cures.MemoryFAQ, "https://docs.pytorch.org/docs/stable/generated/torch.load.html"},
	},
	{
		ID: "pytorch/list-grows", Kinds: cures.Refused, If: of(func(s statement) bool { list, _ := s.appended(); return list != "" }), Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory as a loop collected results in `{list}` on the card",
		Means:    "Everything that goes into `{list}` stays on the card, and with gradients on the whole graph of its batch with it. It grows with the data, not with the batch: early batches pass, a later one fails.[[ {mine} of {total} is in use; {asked} was only the next piece.]]",
		Not:      "A smaller batch alone: it only dies at another place. {settings}.",
		Later:    "If it fails at the very first batch, the list is not it: then gradients off and half the batch.",
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
		Headline: "ran out of memory as an agent learned from what it had collected",
		Means:    "The network runs over all states that are handed to it in one go, and keeps each layer's results for the backward pass; that grows with steps, environments and the size of an observation, hardly with the network.[[ {asked} was refused, {mine} of {total} in use.]]",
		Not:      "`empty_cache()`. {settings}.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Learn in minibatches", Cost: "none: that is how it is meant", Kind: "python", Text: "for idx in torch.randperm(len(states)).split(256):   # states: what you pass now\n    ...                                              # the same update over states[idx], actions[idx], ..."},
			{Fix: "stream_dataset", Title: "What was collected stays in RAM", Cost: "hardly slower", Told: "Images as `uint8` (divided by 255 on the card), no graphs: `log_prob.detach()`, `value.detach()` when they are stored; `.to(device)` for a minibatch only."},
			{Fix: "lower_resolution", Title: "Collect less per update", Cost: "noisier updates", Told: "Fewer environments or steps, smaller frames (84 x 84, gray)."},
		},
		Figures: cures.Scene, Sources: []string{"https://docs.pytorch.org/tutorials/intermediate/reinforcement_ppo.html", cures.MemoryFAQ},
	},
	{
		ID: "pytorch/result-grows", Kinds: cures.Refused, If: of(func(s statement) bool { _, _, ok := s.growing(); return ok }),
		Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory as `{whole}` grew: every turn of a loop adds to it on the card",
		Means:    "The line makes a new tensor of all results so far and one part more, while the old one is still there: about twice its size for a moment, and more in every turn. It grows with the data, whatever the batch; where gradients are on, each part keeps its graph as well.[[ {asked} is what `{whole}` has come to, with {mine} of {total} in use in all.]]",
		Not:      "A smaller batch: the sum of the results stays the same. {settings}.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Collect the parts in RAM, join them once", Cost: "none", Kind: "python", Text: "{list} = []                             # before the loop\n{list}.append({part}.detach().cpu())    # in it, in place of that line\n{whole} = torch.cat({list})             # after it, in RAM"},
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
		ID: "pytorch/whole-buffer", Kinds: cures.Refused, If: of(func(s statement) bool { return s.remembered() != "" }),
		Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory as it put all of `{store}` on the card at once",
		Means:    "The line makes one tensor of everything that `{store}` holds. That grows with the episodes until it is full, so that the first ones pass and a later one fails.[[ {asked} is what it came to, with {mine} of {total} in use in all.]]",
		Not:      "A smaller network. {settings}.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "A random batch of it per step", Cost: "none: that is how it is meant", Kind: "python", Text: "batch = random.sample({store}, 64)   # then the same line over batch in place of {store}"},
			{Fix: "stream_dataset", Title: "Keep the store itself in RAM", Cost: "hardly slower", Told: "States as NumPy arrays or CPU tensors, images as `uint8` (a quarter of 32 bit); `.detach().cpu()` when they go in, `.to(device)` for the batch only."},
			{Fix: "lower_context", Title: "Bound it", Cost: "older steps are forgotten", Told: "`collections.deque(maxlen=100_000)`; on-policy methods empty it after each update."},
		},
		Figures: figures(func(_ *ledger.Case, s statement, out map[string]string) { out["store"] = s.remembered() }),
		Sources: []string{cures.MemoryFAQ, "https://docs.pytorch.org/tutorials/intermediate/reinforcement_q_learning.html"},
	},
	{
		ID: "pytorch/parts-joined", Kinds: cures.Refused, If: of(func(s statement) bool { return s.joined() != "" }),
		Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory as it joined all parts of `{list}`",
		Means:    "The parts of `{list}` lie on the card already, and the line makes one tensor of them beside that: twice as much for a moment.[[ {asked} for the whole, beside {mine}, in which the parts are.]] A list that a loop fills grows with the data, whatever the batch.",
		Not:      "A smaller batch or model: the sum of the parts stays the same. {settings}.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Move each part to RAM as it comes, join there", Cost: "hardly slower", Kind: "python", Text: "{list}.append(part.detach().cpu())   # part: what the loop appends now"},
			noGradients, lessOfEach,
		},
		Figures: figures(func(_ *ledger.Case, s statement, out map[string]string) { out["list"] = s.joined() }),
		Sources: []string{cures.MemoryFAQ, "https://pytorch.org/docs/stable/generated/torch.cat.html"},
	},
	{
		ID: "pytorch/scores-added-up", Kinds: cures.Refused, If: of(func(s statement) bool { _, _, ok := s.added(); return ok }),
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory as it added up `{whole}` in an evaluation",
		Means:    "The line holds {parts} at once. In an evaluation each is a value for every class at every position of the whole input, so that the size of an image (or length of a text) times the classes decides, hardly the model.[[ {asked} is one of them, with {mine} of {total} in use in all.]] A larger sample than all before ends it.",
		Not:      "A smaller training batch. {settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Add up in RAM", Cost: "a little slower", Told: "And make `{whole}` there before the loop (`torch.zeros(...)` without `.cuda()` or `device=`).", Kind: "python", Text: "{sum} part.cpu()   # part: what that line adds"},
			{Fix: "lower_resolution", Title: "Evaluate large inputs smaller, or at fewer scales", Cost: "detail", Told: "Half the width and height takes a quarter; test in tiles; the script's option or config for test sizes."},
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
