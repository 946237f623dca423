package odds

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
)

// Feature is something general that is the case or not: of a group of which at
// most a few hold, a value.
type Feature struct{ Group, Value string }

// Observe says what of general nature a log shows of its failure: the kind of
// message, the phase, the work, the shares of the memory, what the innermost
// frames do. Amounts are taken as ratios, and each says all that it is at least.
func Observe(c *ledger.Case) []Feature {
	o := observer{c: c, seen: make([]Feature, 0, 64)}
	o.add("all", "")
	o.message()
	o.memory()
	o.place()
	o.doing()
	o.counts()
	return o.seen
}

type observer struct {
	c    *ledger.Case
	seen []Feature
}

func (o *observer) add(group, value string) { o.seen = append(o.seen, Feature{group, value}) }

func (o *observer) when(holds bool, group, value string) {
	if holds {
		o.add(group, value)
	}
}

// message is what was said, and by whom.
func (o *observer) message() {
	c := o.c
	o.add("kind", string(c.Failure.Kind))
	for i, x := range c.Chain {
		if x.Kind != c.Failure.Kind && !slices.ContainsFunc(c.Chain[:i], func(y fact.Failure) bool { return y.Kind == x.Kind }) {
			o.add("beside", string(x.Kind))
		}
	}
	o.add("framework", c.Framework)
	o.add("backend", c.Backend)
	o.add("phase", c.Phase)
	o.add("stage", c.Failure.Stage)
	o.when(c.Failure.Weak, "message", "weak")
	o.when(ledger.AbsurdSize(c), "message", "absurd")
	o.when(ledger.CutShort(c), "message", "cut")
	o.when(ledger.InHost(c), "message", "host buffer")
	o.when(c.F().Empty(), "message", "no figures")
}

// shares are parts of a whole, in percent, at which logs begin to differ.
var shares = [...]struct {
	percent int64
	name    string
}{{2, "2"}, {10, "10"}, {25, "25"}, {50, "50"}, {75, "75"}, {90, "90"}, {97, "97"}, {100, "100"}}

// ratio says which shares of a whole a part is at least, nothing where one of
// them is not known.
func (o *observer) ratio(group string, part, whole ledger.Entry) {
	if !part.Has() || !whole.Has() || whole.Bytes <= 0 || part.Bytes < 0 {
		return
	}
	o.add(group, "known")
	for _, s := range shares {
		if float64(part.Bytes)*100 < float64(s.percent)*float64(whole.Bytes) {
			return
		}
		o.add(group, s.name)
	}
}

// memory is who holds it, and what was wanted of it.
func (o *observer) memory() {
	c := o.c
	o.ratio("mine/total", c.Mine, c.Total)
	o.ratio("others/total", c.OthersAtMost, c.Total)
	o.ratio("free/total", c.Free, c.Total)
	o.ratio("slack/asked", c.Slack, c.Asked)
	o.ratio("slack/total", c.Slack, c.Total)
	o.ratio("asked/total", c.Asked, c.Total)
	o.ratio("asked/free", c.Asked, c.Free)
	o.ratio("asked/mine", c.Asked, c.Mine)
	o.ratio("weights/total", c.Weights, c.Total)
	o.ratio("cache/total", c.Cache, c.Total)
	o.ratio("room/asked", c.Room, c.Asked)
	o.when(c.Limit.Has(), "memory", "limit")
	if c.Asked.Has() {
		for _, s := range sizes {
			o.when(c.Asked.Bytes >= s.bytes, "asked", s.name)
		}
	}
	if m := c.Model; m != nil && c.Total.Has() && m.Parameters > 0 {
		o.ratio("model/total", ledger.Entry{Bytes: 2 * m.Parameters, From: named}, c.Total)
	}
}

var named = []string{"name"}

var sizes = [...]struct {
	bytes int64
	name  string
}{{2 * units.MiB, "2 MiB"}, {64 * units.MiB, "64 MiB"}, {512 * units.MiB, "512 MiB"}, {2 * units.GiB, "2 GiB"}, {16 * units.GiB, "16 GiB"}, {128 * units.GiB, "128 GiB"}}

// place is who reads, and where it ran.
func (o *observer) place() {
	c := o.c
	o.add("work", c.Reader.Work)
	o.add("edits", c.Reader.Edits)
	o.add("system", c.Reader.OS)
	o.when(c.Model != nil, "model", "named")
	o.when(c.Reader.Cards > 1, "cards", "several")
	o.when(c.Reader.Ranks > 1, "ranks", "several")
	o.when(c.Training(), "doing", "training")
	if c.Explained != nil {
		o.add("explained", c.Explained.Cause)
	}
}

// doing is what the innermost frames name, and the operation in them.
func (o *observer) doing() {
	c := o.c
	if c.Operation != "" {
		o.add("operation", c.Operation)
	}
	frames := ledger.Trace(c)
	for _, x := range frames[max(0, len(frames)-innermost):] {
		stem := x.File[strings.LastIndexByte(x.File, '/')+1:]
		for _, name := range [...]string{x.Function, stem} {
			for word := range reader.Words(name) {
				if activity := activities[word]; activity != "" {
					o.once("frame", activity)
				}
			}
		}
	}
	for i, s := range c.Facts.Signals {
		if i == most {
			break
		}
		o.once("signal", s.ID)
	}
}

// innermost frames say what was going on, and so many activities are read.
const (
	innermost = 8
	most      = 40
)

func (o *observer) once(group, value string) {
	if f := (Feature{group, value}); !slices.Contains(o.seen, f) {
		o.seen = append(o.seen, f)
	}
}

// counts is what else the log states.
func (o *observer) counts() {
	c := o.c
	o.when(len(c.F().OtherProcesses) > 0, "listed", "others")
	o.when(len(c.Facts.Processes) > 1, "listed", "processes")
	o.when(len(c.Facts.Tasks) > 0, "listed", "tasks")
	o.when(len(c.Facts.Devices) > 1, "listed", "devices")
	o.when(len(c.Facts.Code) > 0, "listed", "code")
}

// activities are what words in names of functions and files tell of.
var activities = map[string]string{
	"load": "load", "loading": "load", "loader": "load", "from": "load", "pretrained": "load", "checkpoint": "load", "state": "load", "weights": "load", "init": "make", "build": "make", "create": "make", "setup": "make", "convert": "move", "to": "move", "cuda": "move", "apply": "move", "device": "move",
	"train": "train", "training": "train", "trainer": "train", "fit": "train", "epoch": "train", "finetune": "train", "loss": "loss", "backward": "backward", "autograd": "backward", "step": "step", "optimizer": "optimizer", "adam": "optimizer", "adamw": "optimizer", "sgd": "optimizer", "optim": "optimizer",
	"generate": "generate", "generation": "generate", "decode": "decode", "decoder": "decode", "encode": "encode", "encoder": "encode", "predict": "predict", "inference": "predict", "infer": "predict", "eval": "evaluate", "evaluate": "evaluate", "evaluation": "evaluate", "validate": "evaluate", "validation": "evaluate", "val": "evaluate", "test": "evaluate", "sample": "sample", "sampler": "sample", "sampling": "sample", "save": "save", "saving": "save",
	"attention": "attention", "attn": "attention", "mlp": "mlp", "linear": "mlp", "conv": "conv", "conv2d": "conv", "conv3d": "conv", "resnet": "conv", "unet": "unet", "vae": "vae", "transformer": "transformer", "embedding": "embedding", "embeddings": "embedding", "lm": "head", "logits": "head", "softmax": "attention", "loops": "train",
	"image": "image", "images": "image", "video": "video", "frames": "video", "audio": "audio", "upscale": "upscale", "resize": "upscale", "interpolate": "upscale", "cache": "cache", "kv": "cache", "quantize": "quantize", "quant": "quantize", "gptq": "quantize", "merge": "merge", "lora": "lora", "gather": "gather", "all": "gather", "reduce": "gather", "ddp": "ranks", "distributed": "ranks", "parallel": "ranks", "fsdp": "ranks", "deepspeed": "ranks", "zero": "ranks",
	"dataset": "data", "data": "data", "dataloader": "data", "collate": "data", "read": "data", "concat": "join", "cat": "join", "stack": "join", "copy": "copy", "clone": "copy", "deepcopy": "copy", "matrix": "matrix", "distance": "matrix", "cdist": "matrix", "similarity": "matrix", "graph": "graph", "conv1d": "conv", "warmup": "warmup", "profile": "warmup", "capture": "warmup", "dummy": "warmup",
}
