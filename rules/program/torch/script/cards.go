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
		Told: "Unless you train in that loop: with gradients on, every stored result also keeps the activations of all layers. `model.eval()` does not turn them off.",
		Kind: "python", Text: "with torch.no_grad():   # around the loop\n    ...",
	}
	lessOfEach = cause.Cure{
		Fix: "lower_batch_size", Title: "Store less per result", Cost: "none, if you do not use the rest",
		Told: "Keep the predicted class (`.argmax(1)`) or the top few (`.topk(5)`) instead of all scores, or only the metric of each batch.",
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
var Cards = slices.Concat(asideCards, chamferCards, tableCards, wholeCards, layerCards, loopCards, collecting, computing, unsizedCards)

// collecting are about what a loop or an export holds.
var collecting = []cause.Card{
	{
		ID: "pytorch/export", Kinds: cures.Refused, Said: []string{"torch.jit.trace(", "torch.onnx.export(", "onnx/utils.py", "jit/_trace.py"}, If: when.All(cures.OnOneCard, cures.OwnCard), Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while exporting the model",
		Means:    "The export runs the model once on your example input, and stores activations for gradients unless they are off. Memory depends on the size of that example. The export usually works on the CPU as well.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Export on the CPU", Cost: "slower, but only once", Told: "Run the same call with model and example on the CPU and gradients off. If the code sets `.cuda()` inside `forward`, do only the `no_grad` part:", Kind: "python", Text: "model = model.cpu().eval()\nexample = example.cpu()      # example: the input that you pass\nwith torch.no_grad():\n    ...                      # your call of trace or export"},
			{Fix: "lower_resolution", Title: "Use a smaller example input", Cost: "none, with dynamic sizes", Told: "Batch size 1, then half the width and height. In `torch.onnx.export`, `dynamic_axes` keeps these sizes variable in the file."},
			{Fix: "kill_stale_process", Title: "Check what else is using the GPU", Cost: "free", Kind: "shell", Text: "nvidia-smi"},
		},
		Figures: cures.Scene, Sources: []string{"pytorch/torch/jit/_trace.py", "https://docs.pytorch.org/docs/stable/onnx.html"},
	},
	{
		ID: "pytorch/gathered-first", Kinds: cures.Refused, Said: []string{"in gather_map", "comm.gather(", "torch._C._gather("}, If: when.All(cures.OnOneCard, cures.OwnCard),
		Cause: cause.DeviceImbalance, Weight: cause.Strong,
		Headline: "ran out of memory while DataParallel gathered all outputs on one GPU",
		Means:    "`DataParallel` copies the outputs of all GPUs to one GPU, the first by default. That GPU needs more memory than the others and fills up first.",
		Not:      "More GPUs with the same total batch: the gathered outputs stay as large. {settings}.",
		Cures: []cause.Cure{
			{Fix: "balance_split", Training: true, Title: "Compute the loss inside the module", Cost: "some lines of code", Told: "Each GPU then returns one number instead of its outputs. Call `model(x, y).mean().backward()`.", Kind: "python", Text: "class WithLoss(torch.nn.Module):\n    def __init__(self, net, criterion):\n        super().__init__()\n        self.net, self.criterion = net, criterion\n    def forward(self, x, y):\n        return self.criterion(self.net(x), y).unsqueeze(0)\nmodel = torch.nn.DataParallel(WithLoss(net, criterion))   # net, criterion: yours"},
			{Fix: "upgrade_version", Title: "Or switch to DistributedDataParallel", Cost: "some lines of code", Told: "Wrap the model in `DistributedDataParallel`, use a `DistributedSampler`, and start it with `torchrun --nproc_per_node=2 train.py`. It gathers no outputs and is faster. Before PyTorch 1.10: `python -m torch.distributed.launch`."},
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
		Headline: "ran out of memory in `backward(retain_graph=True)`",
		Means:    "`retain_graph=True` keeps all activations of the step alive. If a tensor is carried from step to step (a hidden state, a memory, an earlier output), the graphs add up and memory climbs until the GPU is full.",
		Not:      "`empty_cache()`: the graphs are still in use. {settings}.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", If: critic, Title: "Detach the generated image, and remove retain_graph", Cost: "none: the critic's step needs no gradient of the generator", Kind: "python", Text: "d_fake = D(fake.detach())   # D, fake: yours; makes a graph without the generator\nd_loss.backward()           # then a new D(fake) for the generator's loss"},
			{Fix: "detach_accumulated", If: when.Not(critic), Title: "Detach what carries over to the next step, then remove retain_graph", Cost: "none: gradients end at the step, as in truncated backpropagation", Kind: "python", Text: "hidden = tuple(h.detach() for h in hidden)   # hidden: what is carried over; one tensor: hidden.detach()\nloss.backward()"},
			{Fix: "gradient_accumulation", Title: "Several losses in one step: add them and call backward once", Cost: "none", Told: "`(loss_a + loss_b).backward()` needs no `retain_graph`. In a GAN, pass `fake.detach()` to the critic."},
			{Fix: "lower_batch_size", Title: "Check whether memory climbs", Cost: "free", Kind: "python", Text: "print(step, torch.cuda.memory_allocated() // 2**20, \"MiB\")   # if it stays flat: lower the batch size instead"},
		},
		Figures: cures.Scene, Sources: []string{"https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html", cures.MemoryFAQ},
	},
	{
		ID: "pytorch/one-hot", Kinds: cures.Refused, Said: []string{"num_classes"}, If: of(func(s statement) bool {
			return s.itself() && s.says("one_hot(") && s.says("num_classes") && !s.says("num_classes=-1")
		}),
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "ran out of memory in `one_hot`: {asked}",
		Means:    "`one_hot` creates one 8-byte integer for every label and class. A `.float()` after it adds another 4 bytes for each.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Use class indices instead of one-hot rows", Cost: "none", Told: "For a loss: `F.cross_entropy(scores, labels)` takes the indices. For an input layer: `torch.nn.Embedding`. To pick the score of a class: `scores.gather(1, labels[:, None])`."},
			{Fix: "lower_batch_size", Title: "Lower the batch size", Cost: "slower", Told: "{Less}"},
			{Fix: "half_precision", Title: "If you do need one-hot: use 1 byte per value", Cost: "none", Kind: "python", Text: "rows = torch.zeros(*labels.shape, num_classes, dtype=torch.bool, device=labels.device).scatter_(-1, labels[..., None], True)   # 1 byte each"},
		},
		Figures: figures(func(_ *ledger.Case, _ statement, out map[string]string) { out["Less"] = capital(out["less"]) }),
		Sources: []string{"https://pytorch.org/docs/stable/generated/torch.nn.functional.one_hot.html"},
	},
	{
		ID: "pytorch/models-collected", Kinds: cures.Refused, If: ofAny(func(s statement) bool { return s.collected() != "" }), Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while loading several models onto the GPU",
		Means:    "Each model added to `{list}` stays on the GPU, so the earlier ones take up the room.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Keep one model at a time on the GPU", Cost: "slower: each model is copied to the GPU", Told: "Load all of them to system RAM (`torch.load(..., map_location=\"cpu\")`, no `.cuda()`), then run one after another:", Kind: "python", Text: "results = []\nfor m in {list}:                      # all in RAM\n    m.to(\"cuda\")\n    with torch.no_grad():\n        results.append(m(x).cpu())      # x: your input\n    m.to(\"cpu\")"},
			{Fix: "half_precision", Title: "Or load them in 16 bit", Cost: "hardly any quality", Told: "`model.half().cuda()` halves the memory of each, if they are in 32 bit. Inputs then need `.half()` too."},
			{Fix: "use_smaller_model", Title: "Or use fewer models", Cost: "some quality", Told: "Keep the best two or three of an ensemble."},
		},
		Figures: figures(func(_ *ledger.Case, s statement, out map[string]string) { out["list"] = s.collected() }),
		Sources: []string{cures.MemoryFAQ, "https://docs.pytorch.org/docs/stable/generated/torch.load.html"},
	},
	{
		ID: "pytorch/list-grows", Kinds: cures.Refused, If: of(func(s statement) bool { list, _ := s.appended(); return list != "" }), Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory while a loop collected results in `{list}` on the GPU",
		Means:    "Every result added to `{list}` stays on the GPU. With gradients on, all activations of its batch stay too. So early batches pass and a later one fails.",
		Not:      "A smaller batch alone: the results add up to the same size. {settings}.",
		Later:    "If it fails at the very first batch, the list is not the cause: turn gradients off and halve the batch size.",
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
		Headline: "ran out of memory while updating the agent from a whole rollout",
		Means:    "The update seems to pass all collected states through the network in one batch. Its activations grow with the number of steps and environments, and with the size of an observation.",
		Not:      "{settings}.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Update in minibatches", Cost: "none: PPO is designed for it", Kind: "python", Text: "for idx in torch.randperm(len(states)).split(256):   # states: what you pass now\n    ...                                              # the same update over states[idx], actions[idx], ..."},
			{Fix: "stream_dataset", Title: "Keep the rollout in RAM", Cost: "hardly slower", Told: "Store images as `uint8`, and `log_prob.detach()` and `value.detach()` without their graphs. Move only the minibatch to the GPU (`.to(device)`)."},
			{Fix: "lower_resolution", Title: "Collect less per update", Cost: "noisier updates", Told: "Use fewer environments or steps, or smaller frames (84 x 84, grayscale)."},
		},
		Figures: cures.Scene, Sources: []string{"https://docs.pytorch.org/tutorials/intermediate/reinforcement_ppo.html", cures.MemoryFAQ},
	},
	{
		ID: "pytorch/result-grows", Kinds: cures.Refused, If: ofAny(func(s statement) bool { _, _, ok := s.growing(); return ok }),
		Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory while `{whole}` grew in a loop",
		Means:    "Each iteration builds a new, longer tensor while the old one still exists, so it briefly takes twice its size. With gradients on, each part also keeps the activations of its batch.[[ `{whole}` would now be {asked}.]]",
		Not:      "A smaller batch alone: the results add up to the same size. {settings}.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Collect the parts in system RAM, concatenate once at the end", Cost: "none", Kind: "python", Text: "{list} = []                             # before the loop\n{list}.append({part}.detach().cpu())    # in it, in place of that line\n{whole} = torch.cat({list})             # after it, in RAM"},
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
		Means:    "The line turns everything stored in `{store}` into one tensor. If the store grows with each episode, the first ones pass and a later one fails.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Off-policy (DQN, SAC): sample a random batch per step", Cost: "none", Kind: "python", Text: "batch = random.sample({store}, 64)   # then the same line over batch in place of {store}"},
			{Fix: "stream_dataset", Title: "Keep the replay buffer in RAM", Cost: "hardly slower", Told: "Store states with `.detach().cpu()`, images as `uint8` (a quarter of 32 bit). Move only the sampled batch to the GPU (`.to(device)`)."},
			{Fix: "lower_context", Title: "Limit its length", Cost: "older steps are forgotten", Told: "`collections.deque(maxlen=100_000)`. On-policy methods (PPO, REINFORCE) should empty it after each update and update in minibatches."},
		},
		Figures: figures(func(_ *ledger.Case, s statement, out map[string]string) { out["store"] = s.remembered() }),
		Sources: []string{cures.MemoryFAQ, "https://docs.pytorch.org/tutorials/intermediate/reinforcement_q_learning.html"},
	},
	{
		ID: "pytorch/parts-joined", Kinds: cures.Refused, If: of(func(s statement) bool { return s.joined() != "" }),
		Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory while concatenating `{list}`",
		Means:    "If the parts of `{list}` are on the GPU, joining them there takes their size a second time.[[ The joined tensor would be {asked}.]] If a loop fills the list, it grows with the data.",
		Not:      "A smaller batch alone: the parts add up to the same size. {settings}.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Move each part to system RAM, and concatenate there", Cost: "hardly slower", Kind: "python", Text: "{list}.append(part.detach().cpu())   # part: what the loop appends now"},
			noGradients, lessOfEach,
		},
		Figures: figures(func(_ *ledger.Case, s statement, out map[string]string) { out["list"] = s.joined() }),
		Sources: []string{cures.MemoryFAQ, "https://pytorch.org/docs/stable/generated/torch.cat.html"},
	},
	{
		ID: "pytorch/scores-added-up", Kinds: cures.Refused, If: of(func(s statement) bool { _, _, ok := s.added(); return ok }),
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while adding up `{whole}` in an evaluation",
		Means:    "The line holds {parts} at once. Each usually has one value per class and pixel (or position), so memory grows with the image size and the number of classes.",
		Not:      "A smaller training batch. {settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Add up on the CPU", Cost: "a little slower", Told: "Also create `{whole}` on the CPU before the loop: `torch.zeros(...)` without `.cuda()` or `device=`.", Kind: "python", Text: "{sum} part.cpu()   # part: what that line adds"},
			{Fix: "lower_resolution", Title: "Evaluate at a smaller size, or at fewer scales", Cost: "detail", Told: "Half the width and height takes a quarter of the memory. Look for the test size or scales in the script's options or config, or test in tiles."},
			noGradients, lessOfEach,
		},
		Figures: figures(func(_ *ledger.Case, s statement, out map[string]string) {
			out["whole"], _, _ = s.added()
			out["parts"], out["sum"] = "the old sum, the new sum and the part being added", out["whole"]+" = "+out["whole"]+".cpu() +"
			if s.says("+=") {
				out["parts"], out["sum"] = "the sum and the part being added", out["whole"]+"[...] +="
			}
		}),
		Sources: []string{cures.MemoryFAQ, "https://github.com/CSAILVision/semantic-segmentation-pytorch"},
	},
	inputsKept,
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
