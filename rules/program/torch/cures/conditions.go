package cures

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/digrams"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// ShareOut is for a job of several ranks in which each holds everything.
var ShareOut = cause.Cure{
	Fix: "shard_training", Title: "Shard weights, gradients and optimizer over the GPUs", Cost: "slower steps", If: Ranked,
	Told: "[[{sharding}]]If it is still too much, offload to RAM (DeepSpeed `offload_optimizer`, FSDP `cpu_offload`) or use more GPUs.",
}

// ShareLoad is for a job in which each rank loads everything.
var ShareLoad = cause.Cure{
	Fix: "shard_training", Title: "Shard the weights while they are loaded", Cost: "slower steps", If: Ranked,
	Told: "Each rank puts the whole model on its own card, so more GPUs change nothing. FSDP: build it on the CPU, and wrap it (`FULL_SHARD`) before anything moves it. DeepSpeed ZeRO-3: build it under `deepspeed.zero.Init()`.",
}

// PerhapsRanks is for a message whose other processes are as small as a context.
var PerhapsRanks = cause.Cure{
	Fix: "shard_training", Title: "If several cards train one model: shard it over them", Cost: "slower steps", If: bareContexts,
	Told: "DeepSpeed ZeRO-3 or FSDP splits the model; plain DDP keeps all of it on each card. The other processes in the message are as small as bare CUDA contexts, which the ranks of one job often leave on each other's cards.",
}

// bareContexts: each other process that the message names holds what a context
// takes, and hardly anything else.
func bareContexts(c *ledger.Case) bool {
	others := c.F().OtherProcesses
	return len(others) > 0 && !Ranked(c) && c.Total.Bytes > 13*units.GiB && !slices.ContainsFunc(others, func(p fact.Process) bool {
		return p.PID != c.OurPID && (p.Bytes < 200*units.MiB || p.Bytes > 700*units.MiB)
	}) && slices.ContainsFunc(others, func(p fact.Process) bool { return p.PID != c.OurPID })
}

// Ranked: the log shows a job of several processes.
func Ranked(c *ledger.Case) bool {
	return c.Signal("distributed") != nil || strings.HasPrefix(c.Failure.Source, "rank") || clues.Interleaved(c)
}

// LateStep: a loop had counted many steps when it failed.
func LateStep(c *ledger.Case) bool {
	s := c.Signal("many_steps")
	bar := s != nil && strings.Contains(s.Text, "|")
	return s != nil && !readsIn(s.Text) && (s.Line <= c.Failure.EndLine || bar && !strings.Contains(s.Text, "100%") && s.Line <= c.Failure.EndLine+nearbyLines) && !ledger.Roomy(c) && c.Reader.Work != "image-generation" && c.Reader.Work != "video-generation" && c.Phase != "load"
}

// Stepped: the log shows that some of its work had gone well, or may have in cells
// before.
func Stepped(c *ledger.Case) bool { return c.Signal("many_steps", "notebook") != nil }

// nearbyLines: a progress bar is often written after the message.
const nearbyLines = 5

// Loading: weights were on their way to the card.
func Loading(c *ledger.Case) bool {
	return c.Phase == "load" || c.Phase == "unknown" && saysLoading(c) || CutInLoading(c) || MovesModel(c)
}

// MovesModel: the innermost line of the reader's own puts a model on the card,
// whatever the command asks for afterwards.
func MovesModel(c *ledger.Case) bool {
	f := ledger.OwnFrame(c)
	return f != nil && (operation.MovesModel(*f) || f.Source == "" && slices.ContainsFunc(c.Facts.Code, func(same fact.Code) bool { // its line is among another rank's
		return same.File == f.File && same.At == f.At && operation.MovesModel(same)
	}))
}

// CutInLoading: the message has no traceback, and that of another rank, which
// follows it, ends, as pasted, in a call that loads the model.
func CutInLoading(c *ledger.Case) bool {
	var after []fact.Code
	for _, f := range c.Facts.Code {
		switch {
		case f.Function == "" || f.Line > c.Failure.EndLine+linesOfRank:
		case f.Line <= c.Failure.EndLine:
			return false
		default:
			after = append(after, f)
		}
	}
	return len(after) > 0 && (Ranked(c) || reader.ManyGPUs(c)) && containsAny(after[len(after)-1].Source, "load_model(", ".from_pretrained(", "get_model(", "build_model(")
}

// linesOfRank are those of a traceback that another rank wrote.
const linesOfRank = 40

// saysLoading: the last lines of the program's own before the failure tell of a
// model that is loaded or moved, and of nothing that it did afterwards.
func saysLoading(c *ledger.Case) bool {
	said := false
	for _, x := range c.Facts.Talk {
		if x.Line >= c.Failure.Line {
			break
		}
		line := strings.ToLower(x.Text)
		verb := containsAny(line, "moving ", "loading ", "initializing ", "initialising ", "creating ", "building ")
		if verb && containsAny(line, " model", "pipeline", "weights", "checkpoint", " to cuda", "to gpu", "transformer", "unet", "encoder") {
			said = true
		} else if containsAny(line, "step", "epoch", "generat", "process", "infer", "sampl", "predict", "running", "it/s", "s/it", "loaded", "iter") {
			said = false
		}
	}
	return said
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

// Allocators are PyTorch's own and CUDA's asynchronous one.
var Allocators = []fact.Kind{fact.TorchAlloc, fact.TorchAsync}

// SmallCard: one that the weights of usual models fill, with no sign of training.
func SmallCard(c *ledger.Case) bool {
	return !c.Training() && c.Total.Has() && c.Total.Bytes <= 13*units.GiB/2
}

// FourGiB: a card so small that the weights alone fill it as a rule.
func FourGiB(c *ledger.Case) bool { return c.Total.Has() && c.Total.Bytes <= 9*units.GiB/2 }

// LikeWeights: nothing tells what went on, and next to nothing is cached, as where
// one weight after the other was put on a card that small models do not fill.
func LikeWeights(c *ledger.Case) bool {
	return c.Phase == "unknown" && OpenWork(c) && !SmallCard(c) && !ledger.Before2020(c) && clues.WhileLoading(c) && ledger.FillsAlone(c)
}

// MoreCards is for weights that fewer bits do not make small enough.
var MoreCards = cause.Cure{
	Fix: "multi_gpu", Title: "Or split the model over several GPUs", Cost: "needs them, or a larger GPU", If: when.All(LikeWeights, func(c *ledger.Case) bool { return c.Reader.Work == "" || strings.HasPrefix(c.Reader.Work, "text") }),
	Told: "Model servers: vLLM `--tensor-parallel-size 2`, SGLang `--tp 2`. transformers: `device_map=\"auto\"`. Training: FSDP or DeepSpeed ZeRO-3.",
}

// MostlyOthers: more of the card is outside the program than its own.
func MostlyOthers(c *ledger.Case) bool { return c.Others.Has() && c.Others.Bytes > c.Mine.Bytes }

// SplitEra: a PyTorch before 2.1, which has no expandable_segments.
func SplitEra(c *ledger.Case) bool { return !reader.HasExpandableSegments(c) }

// SplitSize is the option of a PyTorch without expandable segments. Its
// garbage_collection_threshold acts only beside a memory fraction (c10/cuda/CUDACachingAllocator.cpp: set_fraction).
func SplitSize(c *ledger.Case) []step.Step {
	return code.AllocConf(c, "max_split_size_mb:128")
}

// Cures of a card that is not full.
var (
	PagesFirst = Pages("On Windows: enlarge the page file", func(c *ledger.Case) bool { return reader.OnWindows(c) || reader.LooksLikeWindows(c) })
	OnWindows  = Pages("On Windows: enlarge the page file", func(c *ledger.Case) bool { return cmp.Or(c.Reader.OS, "windows") == "windows" })
)

// LessBooked is for Windows, which books what lies on the card in RAM too.
var LessBooked = cause.Cure{
	Fix: "half_precision", Title: "Or load the model in 16 or 8 bit", Cost: "some quality", If: func(c *ledger.Case) bool { return lessBooked(c) && !ofPictures(c) },
	Told: "16 bit in place of 32 halves it, a language model in 8 bit (transformers: `load_in_8bit=True`) needs a quarter. On Windows every GiB on the card also counts against RAM and page file.",
}

// LessBookedPictures is the same for models of images and video.
var LessBookedPictures = cause.Cure{
	Fix: "half_precision", Title: "Or load the model in 16 bit or as fp8", Cost: LessBooked.Cost, If: func(c *ledger.Case) bool { return lessBooked(c) && ofPictures(c) },
	Told: "16 bit in place of 32 halves it, an fp8 file of the same model is half of 16 bit (FLUX: 12 GB in place of 24; sd-scripts: `--fp8_base`). On Windows every GiB on the card also counts against RAM and page file.",
}

func lessBooked(c *ledger.Case) bool { return PagesFirst.If(c) && MuchLive(c) && !NarrowAlready(c) }

func ofPictures(c *ledger.Case) bool { return strings.HasSuffix(c.Reader.Work, "-generation") }

func Pages(title string, holds func(*ledger.Case) bool) cause.Cure {
	return cause.Cure{
		Fix: "raise_pagefile", Title: title, If: holds, Cost: "disk space, a restart",
		Told: "Press Windows+R, run `SystemPropertiesAdvanced`, then Performance: Settings, Advanced, Virtual memory: Change; untick \"Automatically manage\", Custom size, initial 16384 MB (or what it has now, if that is more), maximum 65536 MB, Set, OK, restart. To check first: Task Manager, Performance, Memory shows \"Committed\" near its limit. Closing browsers, games and other AI programs helps at once: they count against the same limit.",
	}
}

// Cures of a single tensor that is too large.
var LessInput = cause.Cure{
	Fix: "lower_batch_size", Title: "Lower the batch size or the input size", Cost: "slower", Told: "[[{any_input}]]",
	Ways: []cause.Way{
		{For: fix.Training, Text: "{fewer} smaller or shorter samples."},
		{For: fix.Text, Text: "{half} the length takes a quarter of the attention scores; cut the longest input."},
		{For: fix.Pictures, Text: "{half} the width and height[[ ({halved})]] takes a quarter (attention scores: a sixteenth), or work in tiles."},
		{For: fix.Sound, Text: "split long recordings into chunks of 30 to 60 seconds, one at a time."},
	},
}

var (
	SmallerInput = cause.Cure{Fix: "lower_resolution", Title: LessInput.Title, Cost: LessInput.Cost, Told: LessInput.Told, Ways: LessInput.Ways}
	NoScores     = cause.Cure{
		Fix: "efficient_attention", If: MayBeAttention, Title: "If it is attention: use a fused kernel", Cost: "none",
		Told: "Turn on the program's memory-efficient attention (SDPA, xformers, flash-attn): it stores no score matrix. In transformers: `attn_implementation=\"sdpa\"`. In your own code: `torch.nn.functional.scaled_dot_product_attention`.",
	}
	FindShape = cause.Cure{
		Fix: "fix_shape", Title: "If the size surprises you: print the tensor shapes", Cost: "some minutes", If: func(c *ledger.Case) bool { return ownScript(c) || c.Reader.Edits == "code" },
		Told: "Print them before the last line of your own code in the traceback.",
	}
	// ByLine is what one large piece mostly is, by the line that makes it.
	ByLine = cause.Cure{
		Fix: "fix_shape", If: func(c *ledger.Case) bool { return c.Reader.Edits == "" && len(ledger.Trace(c)) == 0 },
		Title: "In your own code: look at the failing line", Cost: "some minutes",
		Ways: []cause.Way{
			{For: "Distances, similarities", Text: "blocks of rows, such as 1,000 of `a` at a time in `torch.cdist(a, b)`."},
			{For: "A difference, a loss", Text: "shapes `(N,)` and `(N, 1)` make N x N numbers: `squeeze(-1)`."},
			{For: "Logits", Text: "in chunks, or for the last token only."},
		},
	}
)

// Validating: the last line before the traceback is of a validation.
func Validating(c *ledger.Case) bool {
	frames := ledger.Trace(c)
	return len(frames) > 0 && slices.ContainsFunc(c.Facts.Signals, func(s fact.Signal) bool {
		return s.ID == "validating" && s.Line <= frames[0].Line && frames[0].Line-s.Line <= linesBetween
	})
}

// PassesValidation: a call is handed the validation, by its first argument or by
// the name of a loader: iterate("val", ...), run_epoch(model, val_loader). A call
// that is handed both sets decides nothing.
func PassesValidation(source string) bool {
	line := strings.ReplaceAll(source, "'", `"`)
	if strings.Contains(line, "train_") || strings.Contains(line, "Loader(") || strings.Contains(line, "ataset(") {
		return false
	}
	return slices.ContainsFunc([]string{`("val"`, `("valid"`, `("validation"`, `("test"`, `("eval"`, `="val"`, `="valid"`, `="test"`, "val_loader", "valid_loader", "valloader", "val_dataloader", "test_loader", "testloader", "test_dataloader"}, func(word string) bool {
		return strings.Contains(line, word)
	})
}

// linesBetween are a progress bar and the head of a traceback.
const linesBetween = 4

// HiddenLimit: what is held and wanted comes to no more than a share of the
// card, as set_per_process_memory_fraction leaves it.
func HiddenLimit(c *ledger.Case) bool {
	return clues.HiddenFraction(c).Weight > cause.None
}

// QuarterOfCard: a fifth of the card and more in one piece, and too much.
func QuarterOfCard(c *ledger.Case) bool {
	return c.Asked.Has() && c.Total.Has() && c.Asked.Bytes*5 >= c.Total.Bytes && c.Shortfall.Has() && c.Shortfall.Bytes > 0
}

// InForward: the traceback goes through a network's forward pass, so that the
// model itself is on the card.
func InForward(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool { return f.Function == "forward" })
}

// MayBeAttention: nothing shows another operation, and where lines of the
// reader's own are all that there is, something in the traceback has attention.
func MayBeAttention(c *ledger.Case) bool {
	return c.Operation == "" && !otherNetwork(c) || operation.Is(operation.Attention, operation.Softmax, operation.Projection, operation.Creation, operation.Repetition)(c)
}

// attentive are parts of the names of networks with attention, and of what passes
// texts through one.
var attentive = []string{"attn", "attention", "transformer", "bert", "gpt", "vit", "qkv", "query", "clip", "llama", "qwen", "token", "encoder", "unet", "diffus", "t5", "llm", "prompt", "text", "self(hidden"}

// otherNetwork: a repository of research whose traceback names nothing of the kind.
func otherNetwork(c *ledger.Case) bool {
	frames := ledger.Trace(c)
	return len(frames) > 0 && len(c.Stack) == 1 && c.Reader.Work != "image-generation" && !strings.HasPrefix(c.Reader.Work, "text") && slices.ContainsFunc(frames, func(f fact.Code) bool { return f.Own && f.Source != "" }) && !Frames(c).HasAny(attentive)
}

// Frames are the file, the function and the line of each frame of the traceback,
// a frame a line, in small letters and with "/" in paths.
func Frames(c *ledger.Case) *digrams.Text {
	return ledger.Once(c, "pytorch/frames", func(c *ledger.Case) *digrams.Text {
		var b strings.Builder
		for _, f := range ledger.Trace(c) {
			b.WriteString(strings.ReplaceAll(f.File, `\`, "/") + " " + f.Function + " " + f.Source + "\n")
		}
		return digrams.NewText(b.String())
	})
}

// Names: the message has one of the words.
func Names(words ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool {
		return slices.ContainsFunc(words, c.Contains)
	}
}

// Sources of what cards say of PyTorch's messages.
const (
	AllocatorSource = "pytorch/c10/cuda/CUDACachingAllocator.cpp"
	CudaNotes       = "https://pytorch.org/docs/stable/notes/cuda.html#memory-management"
	MemoryFAQ       = "https://pytorch.org/docs/stable/notes/faq.html"
)

// NewerAllocator is for a reserve in pieces where nothing can join them yet.
var NewerAllocator = cause.Cure{
	Fix: "upgrade_version", Title: "Update PyTorch and set its allocator options", Cost: "an installation", If: func(c *ledger.Case) bool { return code.TooNew(c, "max_split_size") },
	Told: "This PyTorch seems to be 1.9 or older. From 1.10 on, `PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128` keeps large blocks whole; from 2.1 on `expandable_segments:True` avoids most fragmentation.",
}

// Varied is what changes in size where memory lies in pieces.
func Varied(c *ledger.Case) string {
	switch {
	case c.Training():
		return "inputs of varying length or size, an evaluation between steps"
	case c.Reader.Work == "text-inference":
		return "texts of varying length, several models in turn"
	}
	return "inputs of varying size, parts of a program that take turns"
}

// OfCUDA: a card for which bitsandbytes has always been made.
func OfCUDA(c *ledger.Case) bool {
	return c.Backend != "npu" && c.Backend != "xpu" && c.Backend != "mps"
}
