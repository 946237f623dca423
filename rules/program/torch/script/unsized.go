package script

import (
	"path"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/program/torch/room"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// use is the file or function that shows that a model is used, not trained, ""
// where the traceback shows neither, or a step of training.
func use(c *ledger.Case) string {
	found, network := "", false
	for _, f := range ledger.Trace(c) {
		if strings.HasSuffix(f.File, "nn/parallel/distributed.py") {
			return "" // DDP is for training
		}
		network = network || f.Function == "forward" || f.Function == "__call__"
		if !f.Own {
			continue
		}
		s := statement{source: f.Source, function: f.Function}
		if s.says("backward(", "optimizer", "criterion", "loss") || s.within(strings.Fields("train training fit update learn finetune")) {
			return ""
		}
		base := strings.ToLower(path.Base(strings.ReplaceAll(f.File, `\`, "/")))
		word, _, _ := strings.Cut(strings.TrimSuffix(base, ".py")+"_", "_")
		switch {
		case found != "":
		case s.evaluates():
			found = "`" + f.Function + "`"
		case slices.Contains([]string{"test", "demo", "eval", "evaluate", "infer", "inference", "predict", "sample", "val", "detect", "generate"}, word):
			found = "`" + base + "`"
		}
	}
	switch {
	case !network:
		return ""
	case found == "" && cures.Validating(c):
		return "The evaluation in the log"
	}
	return found
}

// beforeNoGrad: a PyTorch before 0.4, in which a flag of the input does it.
func beforeNoGrad(c *ledger.Case) bool { v := code.Latest(c); return v != 0 && v < 4 }

// onPictures: images go through a network, by the names and layers of the traceback.
func onPictures(c *ledger.Case) bool {
	return c.Reader.Work == "vision" || c.Reader.Work == "image-generation" || slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		if containsAny(f.Source, "conv2d", "interpolate(", "upsample", "pool2d") || strings.HasSuffix(f.File, "modules/conv.py") {
			return true
		}
		for word := range reader.Words(f.Source) {
			if f.Own && slices.Contains([]string{"img", "imgs", "image", "images", "lr", "sr", "style", "photo"}, word) {
				return true
			}
		}
		return false
	})
}

// unsizedCards are about messages without figures that a traceback explains.
var unsizedCards = []cause.Card{{
	ID: "pytorch/used-without-figures", Kinds: []fact.Kind{fact.CUDAError}, Unsaid: []string{"volatile was removed"}, If: func(c *ledger.Case) bool { return unsized(c) && use(c) != "" }, Cause: cause.BatchTooLarge, Weight: cause.Decisive,
	Headline: "ran out of GPU memory while running a model, probably without training it",
	Means:    "{use} seems to run the model without training it.[[ {open}]] A whole image or sequence also needs more than the crops used in training. The message has no sizes: if `nvidia-smi` shows the GPU full before you start, another program is the cause.",
	Not:      "{no_settings}.",
	Cures: []cause.Cure{
		{Fix: "inference_mode", If: when.All(when.Not(cures.Freed), beforeNoGrad), Title: "Turn gradients off with volatile input", Cost: "none", Told: "PyTorch before 0.4 has no `torch.no_grad()`, and `model.eval()` is not enough:", Kind: "python", Text: "x = Variable(x.cuda(), volatile=True)   # x: what you pass to the network"},
		{Fix: "inference_mode", If: when.All(when.Not(cures.Freed), when.Not(beforeNoGrad)), Title: "Turn gradients off", Cost: "none", Told: "`model.eval()` is not enough, and `volatile=True` does nothing since PyTorch 0.4.", Kind: "python", Text: "with torch.no_grad():   # around the loop, or @torch.no_grad() above the function\n    ..."},
		{Fix: "lower_resolution", If: onPictures, Title: "Use smaller images, one at a time", Cost: "detail", Told: "Batch size 1. Half the width and height takes a quarter of the memory. Or cut large images into tiles and merge the results on the CPU."},
		{Fix: "lower_batch_size", If: when.Not(onPictures), Title: "Pass less at a time", Cost: "slower", Told: "Use batch size 1 and shorter inputs. Move each result to system RAM with `.cpu()`."},
		{Fix: "kill_stale_process", Title: "See what is on the GPU before you start", Cost: "free", Told: "End an earlier run of yours with `kill PID`.", Kind: "shell", Text: "nvidia-smi"},
	},
	Figures: func(c *ledger.Case) map[string]string {
		out := cures.Scene(c)
		if out["use"], out["open"] = use(c), ""; !cures.Freed(c) {
			out["open"] = "Nothing in the traceback turns gradients off. If they are on, PyTorch keeps the activations of all layers, which takes several times the memory."
		}
		return out
	},
	Sources: []string{"https://pytorch.org/docs/stable/generated/torch.no_grad.html", "https://pytorch.org/blog/pytorch-0_4_0-migration-guide/"},
}, {
	ID: "pytorch/used", Kinds: []fact.Kind{fact.TorchAlloc}, Unsaid: []string{"volatile was removed"}, If: when.All(cures.OnOneCard, cures.OwnCard, alone, func(c *ledger.Case) bool {
		return use(c) != "" && !cures.Freed(c) && !c.Training() && !cures.LateStep(c) && !cures.QuarterOfCard(c) && !neverFits(c)
	}), Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory while running a model, probably without training it",
	Means:    "{use} seems to run the model without training it, and nothing in the traceback turns gradients off. If they are on, PyTorch keeps the activations of all layers, which takes several times the memory. A whole image or sequence also needs more than the crops used in training.",
	Not:      "{settings}.",
	Later:    "If it fails only after many inputs, results stay on the GPU: store them with `.cpu()`.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", If: when.All(onPictures, eighth), Title: "Use smaller images, one at a time", Cost: "detail", Told: "Half the width and height takes a quarter of the memory. Or cut large images into tiles and merge the results on the CPU."},
		{Fix: "inference_mode", Title: "Turn gradients off, if they are on", Cost: "none", Told: "`model.eval()` is not enough.", Kind: "python", Text: "with torch.no_grad():   # around the loop, or @torch.no_grad() above the function\n    ..."},
		{Fix: "lower_resolution", If: when.All(onPictures, when.Not(eighth)), Title: "Use smaller images, one at a time", Cost: "detail", Told: "Half the width and height takes a quarter of the memory. Use batch size 1, or cut large images into tiles."},
		{Fix: "lower_batch_size", If: when.Not(onPictures), Title: "Pass less at a time", Cost: "slower", Told: "Use batch size 1 and shorter inputs. Move each result to system RAM with `.cpu()`."},
		{Fix: "half_precision", Title: "Use 16 bit", Cost: "hardly any quality", Told: "`model.half()` and `x.half()` halve weights and activations."},
	},
	Figures: func(c *ledger.Case) map[string]string {
		out := cures.Scene(c)
		out["use"] = use(c)
		return out
	},
	Sources: []string{"https://pytorch.org/docs/stable/generated/torch.no_grad.html", cures.MemoryFAQ},
}, {
	ID: "pytorch/model-without-figures", Kinds: []fact.Kind{fact.CUDAError}, Phases: []string{"training", "inference"}, If: func(c *ledger.Case) bool { return unsized(c) && netMoved(c) != "" }, Cause: cause.LeakedProcess, Weight: cause.Strong,
	Headline: "ran out of GPU memory while moving the model to the GPU",
	Means:    "`{line}` only moves the weights. So the GPU was nearly full before (an earlier run, another user, another notebook), or the weights alone are too large. The message does not say which.[[ {shown}]]",
	Not:      "A smaller batch or input: the weights stay as large.",
	Cures: []cause.Cure{
		cures.EndListed, room.IdleCard, room.EndTabled, cures.RuntimeFirst, cures.LookFirst, cures.OtherCard,
		{Fix: "fix_shape", Title: "If the GPU is empty: check the size of the model", Cost: "a minute", Told: "Put this before that line. Training with Adam takes four times as much:", Kind: "python", Text: "print(sum(p.numel() for p in {model}.parameters()) * 4 / 2**30, \"GiB\")"},
		{Fix: "use_smaller_model", Title: "If that is too much: use a smaller model", Cost: "some accuracy", Told: "Fewer layers or channels; half the width of an embedding halves it."},
	},
	Figures: func(c *ledger.Case) map[string]string {
		out := shown(c)
		out["model"] = netMoved(c)
		out["line"] = ledger.OwnFrame(c).Source
		return out
	},
	Sources: []string{"pytorch/c10/cuda/CUDAException.cpp", cures.MemoryFAQ},
}, {
	ID: "pytorch/checkpoint-without-figures", Kinds: []fact.Kind{fact.CUDAError}, If: func(c *ledger.Case) bool { return unsized(c) && loadsUnmapped(c) }, Cause: cause.DeviceImbalance, Weight: cause.Decisive,
	Headline: "ran out of GPU memory while `torch.load` read a checkpoint",
	Means:    "Without `map_location`, `torch.load` puts every tensor back on the GPU number it was saved from, usually GPU 0. If that GPU is full (another program, another process of this job, the model itself), it fails here.",
	Not:      "A smaller batch: the checkpoint stays as large.",
	Cures: []cause.Cure{
		{Fix: "balance_split", Title: "Load the checkpoint to the CPU first", Cost: "none", Kind: "python", Text: "checkpoint = torch.load(path, map_location=\"cpu\")   # path: as in your call; load_state_dict copies it to the model's card"},
		{Fix: "kill_stale_process", Title: "See which GPU is full, and free it", Cost: "free", Told: "End an earlier run of yours with `kill PID`.", Kind: "shell", Text: "nvidia-smi"},
		cures.OtherCard,
	},
	Sources: []string{"pytorch/torch/serialization.py", "https://docs.pytorch.org/docs/stable/generated/torch.load.html"},
}}

// loadsUnmapped: a line of the reader's own loads a checkpoint to wherever it was.
func loadsUnmapped(c *ledger.Case) bool {
	s, ok := failing(c)
	return ok && s.says("torch.load(") && !s.says("map_location") && slices.ContainsFunc(s.below, func(f fact.Code) bool {
		return strings.HasSuffix(strings.ReplaceAll(f.File, `\`, "/"), "torch/serialization.py")
	})
}

// netMoved is the model that the innermost line of the reader's own puts on the
// card, "" for another line.
func netMoved(c *ledger.Case) string {
	f := ledger.OwnFrame(c)
	if f == nil || !operation.MovesModel(*f) {
		return ""
	}
	at := max(strings.Index(f.Source, ".cuda("), strings.Index(f.Source, ".to("))
	return f.Source[startOfName(f.Source, at):max(at, 0)]
}
