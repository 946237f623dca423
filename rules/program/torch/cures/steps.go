package cures

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

// OpenWork: nothing in the log tells whether a model is trained or used, so that
// a list of cases would have none that is known to be the reader's.
func OpenWork(c *ledger.Case) bool {
	return !c.Training() && c.Phase != "inference" && !strings.HasSuffix(c.Reader.Work, "-generation") && !strings.HasSuffix(c.Reader.Work, "-inference")
}

// StepFigures are how the work of a step becomes smaller: by the kind of work
// where the log tells it, in one sentence where it does not.
func StepFigures(c *ledger.Case, less string) map[string]string {
	out := map[string]string{"any": "", "train": less, "kept": "", "half": "half", "any_rows": "", "any_pixels": "", "any_input": fits(c), "jump": "", "fewer": "half the batch size, or",
		"pictures": "half the width and height (a quarter of the memory), or fewer frames.", "halved": Halved(c),
	}
	out["using"], out["run"] = usedSo(c)
	wide := "the width and height of an image"
	if out["halved"] != "" {
		wide = "the width and height (" + out["halved"] + ")"
		out["pictures"] = "half " + wide + ", or fewer frames."
		out["any_input"] = "Half of what your command asks for (" + out["halved"] + ") is a quarter of the pixels, of attention scores a sixteenth. " + fits(c)
	}
	halve, other := "Halve the batch size (often `batch_size` or `--batch-size`), or use ", "Halve the batch size or the length, or"
	if place := batchPlace(c); place != "" {
		halve, other = "Halve the batch size ("+place+"), or use ", "Halve the batch size ("+place+") or the length, or"
	}
	switch batch := Batch(c)["batch"]; {
	case batch != "":
		halve, out["fewer"] = "Halve the batch size ("+batch+"), or use ", "half the batch size ("+batch+"), or"
	case SingleSample(c):
		halve, other, out["fewer"] = "The batch size is already 1, so use ", "The batch size is already 1: halve the length, or", "the batch size is already 1:"
	}
	if LateJump(c) {
		out["jump"] = "Many steps went well before, and " + c.Asked.String() + " in one piece is a large part of the card. Most likely one sample was much longer or larger than the others."
	}
	if c.Training() && (c.Reader.Edits == "code" || c.Signal("few_steps", "many_steps", "epochs") != nil) {
		out["kept"] = "If it fails again only after many steps, your code probably keeps tensors: use `total += loss.item()`, and store results with `.detach().cpu()`."
	}
	if !OpenWork(c) {
		return out
	}
	size := sample(c, "half the text length or half "+wide)
	if c.Reader.Work == "" && (c.Signal("vision") != nil || imaging(c)) {
		size = "smaller images or tiles (half the width and height takes a quarter)"
	}
	for _, way := range []string{"train", "using", "pictures", "half", "run", "fewer"} {
		out[way] = ""
	}
	free := ""
	if (c.Reader.Edits == "" || c.Reader.Edits == "code") && !Freed(c) {
		free = " If nothing is trained, also run it under `torch.no_grad()`."
	}
	out["any_rows"] = halve + "fewer or shorter rows per call." + free
	out["any_pixels"] = halve + "half the width and height of the images (a quarter of the memory), or tiles." + free
	out["any_input"] = strings.TrimSpace(fits(c) + " " + anyInput(c, other+" "+wide+" (a quarter of the memory, of attention scores a sixteenth)."))
	out["any"] = halve + Smaller(c, size) + "."
	switch {
	case !Ranked(c) && c.Reader.Edits == "":
		out["any"] += " In training, add gradient accumulation. In your own inference code, use `torch.no_grad()`."
		out["kept"] = whenItFails
	case other[0] == 'H' && Batch(c)["batch"] == "":
		out["any"] += " One small input shows whether it runs at all."
	}
	if !Ranked(c) && c.Reader.Edits == "code" && !Freed(c) {
		out["any"] += " If nothing is trained, also run it under `torch.no_grad()`; otherwise every layer's activations are kept."
	}
	return out
}

// usedSo is how a model that is only used takes less, and what to do about
// gradients.
func usedSo(c *ledger.Case) (using, run string) {
	if Freed(c) {
		return "one input at a time; shorten or split long inputs.", "keep"
	}
	return "run it under `torch.no_grad()`, one input at a time; shorten or split long inputs.", "run"
}

// anyInput is how one input becomes smaller: a picture, where names tell that.
func anyInput(c *ledger.Case, otherwise string) string {
	if c.Reader.Work == "vision" || c.Reader.Work == "" && imaging(c) {
		if Halved(c) == "" && Batch(c)["batch"] == "" && !SingleSample(c) && Config(c) == "" {
			return "Halve the width and height of the images (a quarter of the memory, of attention scores a sixteenth), or use tiles; then one image at a time."
		}
	}
	return otherwise
}

// whenItFails parts the causes by what only the reader knows.
const whenItFails = "If it worked before, restart the program or notebook kernel first. If it fails only after many steps, look for stored tensors (use `loss.item()`, `x.detach().cpu()`) or one very long input."

// lighter puts in how what stays from step to step becomes smaller.
func lighter(c *ledger.Case, figures map[string]string) {
	out := map[string]string{"sixteen_or": "16 bit, ", "any_lighter": "", "lighter_using": "`model.half()`", "lighter_pictures": figures["offload"], "lighter_training": figures["cheaper"]}
	if bits := figures["bits"]; bits != "" {
		out["lighter_using"] += "; " + bits
	}
	if out["lighter_using"] += "; or the next smaller model."; ledger.Has(c, fact.MixedPrecision) || NarrowAlready(c) {
		out["lighter_using"], out["sixteen_or"] = "the next smaller model, or part of it in RAM (offloading).", ""
	}
	if files := figures["files"]; out["lighter_pictures"] != "" && files != "" {
		out["lighter_pictures"] += "; " + files
	}
	if out["lighter_pictures"] != "" {
		out["lighter_pictures"] += "."
	}
	if OpenWork(c) {
		out["lighter_using"], out["lighter_pictures"], out["lighter_training"] = "", "", ""
		fewer := ""
		if figures["bits"] != "" {
			fewer = "; language models in 8 or 4 bit take even less"
		}
		how := ""
		if c.Reader.Edits == "code" {
			how = " (`model.half()` for inference, " + half(c) + " in training)"
		}
		out["any_lighter"] = "If it runs in 32 bit now, 16 bit takes about half" + how + fewer + ". Otherwise turn on CPU offloading" + lowVRAM(c) + ", or use a smaller model."
		if NarrowAlready(c) {
			out["any_lighter"] = "It already runs in 16 bit or less. Use the next smaller model, keep part of it in RAM (offloading), or use a GPU with more memory."
		}
	}
	for name, text := range out {
		figures[name] = text
	}
}

// lowVRAM is how programs call it, with the flag of the one that most such
// messages come from, for cards that the flag is meant for.
func lowVRAM(c *ledger.Case) string {
	since, _ := c.Fact("torch_since") // 1.4 to 1.9 and older ones are from before that program
	if !c.Total.Has() || c.Total.Bytes > 12*units.GiB || c.Reader.Edits == "code" || since.Text == "1.0" || since.Text == "1.4" {
		return " (often called \"low VRAM\")"
	}
	return " (\"low VRAM\"; AUTOMATIC1111: `--medvram`)"
}

// half is 16 bit in training, in the PyTorch of its time: autocast came with 1.6,
// and without "cuda." in its name with 1.10.
func half(c *ledger.Case) string {
	since, _ := c.Fact("torch_since")
	switch {
	case ledger.Before2020(c):
		return "NVIDIA's apex"
	case since.Text == "1.4":
		return "`torch.cuda.amp.autocast()`, from 1.6 on,"
	}
	return "`torch.autocast(\"cuda\")`"
}

// NarrowAlready: the log, or the line that failed, shows weights in 16 bit or
// less, which another change to 16 bit would not shrink.
func NarrowAlready(c *ledger.Case) bool { return ledger.Once(c, "pytorch/narrow", narrowAlready) }

func narrowAlready(c *ledger.Case) bool {
	if ledger.Quantised(c) != "" || ledger.SetQuantised(c, "load_in_4bit", "load_in_8bit") != "" || WideMatrix(c) {
		return true
	}
	words := []string{"float16", "bfloat16", ".half()", "fp8", "float8", "fp16=true", "bf16=true", "--fp16", "--bf16", "4bit", "8bit"}
	if f := ledger.OwnFrame(c); f != nil && containsAny(f.Source, words...) {
		return true
	}
	for _, x := range c.Facts.Talk {
		if x.Line < c.Failure.Line && containsAny(strings.ToLower(x.Text), words...) {
			return true
		}
	}
	return false
}

// MuchLive: tensors that a smaller format could shrink hold a good part of the
// card.
func MuchLive(c *ledger.Case) bool {
	live := c.F().Allocated
	return live == nil || c.Total.Bytes == 0 || live.Bytes >= 2*units.GiB || live.Bytes*4 > c.Total.Bytes
}

// trainerArguments are how the Trainer of transformers takes a smaller step, ""
// where the log does not show it: src/transformers/training_args.py has 8 as the
// default; its first versions called the option --per_gpu_train_batch_size.
func trainerArguments(c *ledger.Case) string {
	for _, s := range c.Facts.Signals {
		if s.ID != "training" {
			continue
		}
		if strings.Contains(s.Text, "--do_train") && !strings.Contains(s.Text, "--do_valid") { // which scripts over knowledge graphs have
			return "pass `--per_device_train_batch_size 2 --gradient_accumulation_steps 4` (default batch: 8; older versions: `--per_gpu_train_batch_size`), and shorten the texts (`--block_size` or `--max_seq_length`)."
		}
		if strings.Contains(s.Text, "TrainingArguments(") {
			return "set `per_device_train_batch_size=2, gradient_accumulation_steps=4` in TrainingArguments (default batch: 8), and shorten the texts (`truncation=True, max_length=...` in the tokenizer)."
		}
	}
	if byTrainer(c) {
		return "set `per_device_train_batch_size=2, gradient_accumulation_steps=4` in TrainingArguments (TRL: SFTConfig), and shorten the texts."
	}
	return ""
}

// byTrainer: a frame of the Trainer of transformers, or the call that starts it.
func byTrainer(c *ledger.Case) bool {
	return NotebookTrainer(c) || c.In("transformers") && slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		return f.Own && strings.HasPrefix(f.Source, "trainer.train(") || strings.HasSuffix(strings.ReplaceAll(f.File, `\`, "/"), "transformers/trainer.py")
	})
}

// NotebookTrainer: a cell of a notebook calls trainer.train() and nothing tells
// whose trainer that is; mostly that of transformers.
func NotebookTrainer(c *ledger.Case) bool {
	return len(c.Stack) == 1 && c.Signal("notebook") != nil && slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		return f.Own && strings.HasSuffix(f.Source, "trainer.train()")
	})
}

// SmallColab: a notebook on a card of 12 GB and less, as Colab's K80.
func SmallColab(c *ledger.Case) bool {
	return c.Signal("notebook") != nil && c.Total.Has() && c.Total.Bytes < 12*units.GiB && c.Reader.OS != "windows"
}

// LargerRuntime is the way out for a notebook in the cloud.
var LargerRuntime = cause.Cure{
	Fix: "bigger_gpu", Title: "Or take a runtime with a larger GPU", Cost: "money, or waiting",
	Told: "Colab: Runtime, Change runtime type. A T4 has 15 GiB, and the paid plans offer larger GPUs. Otherwise use the next smaller version of the model.",
}

// sixteen is how a step is computed in 16 bit.
func sixteen(c *ledger.Case) string {
	switch {
	case NotebookTrainer(c):
		return "With the transformers Trainer, set `fp16=True` in TrainingArguments. In your own loop, use `torch.autocast(\"cuda\", dtype=torch.float16)` with a `GradScaler`."
	case byTrainer(c):
		return "`bf16=True` in TrainingArguments or its subclass (TRL: SFTConfig); cards before Ampere: `fp16=True`."
	case c.Training():
		return "`torch.autocast(\"cuda\", dtype=torch.float16)` around forward and loss, with a `GradScaler`."
	}
	return "Training: `torch.autocast(\"cuda\", dtype=torch.float16)` around forward and loss, with a `GradScaler`. Inference: `model.half()` under `torch.no_grad()`."
}

// imaging: lines or files of the reader's own name pictures, as those of
// enhancement, super-resolution and style transfer do.
func imaging(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(f fact.Code) bool {
		for word := range reader.Words(f.Source + " " + path.Base(f.File)) {
			if f.Own && slices.Contains([]string{"img", "imgs", "image", "images", "photo", "upscale", "upscaler", "enhance", "esrgan", "srresnet", "sr", "frame", "frames"}, word) {
				return true
			}
		}
		return false
	})
}

// BiggerCard is what is left.
var BiggerCard = cause.Cure{Fix: "bigger_gpu", Title: "Or use a GPU with more memory", Cost: "money, or waiting", Told: "For example on Colab, Kaggle or a rented machine. There `torch.cuda.max_memory_allocated()` shows how much it really needs."}

// TooSmall is for a card that most of today's networks do not fit, whatever is
// done.
var TooSmall = cause.Cure{
	Fix: "bigger_gpu", Title: "Run it on the CPU, or on a larger card", Cost: "slower, or an account", If: func(c *ledger.Case) bool {
		return c.Total.Has() && c.Total.Bytes <= 9*units.GiB/4 && c.Backend != "mps"
	},
	Told: "{card} is too small for most current models, and CUDA itself takes 0.3 to 0.6 GiB of it. Use the program's CPU option, or set `CUDA_VISIBLE_DEVICES=-1` before the start. Colab and Kaggle offer free GPUs of 15 GiB.",
}

// CopiesInput: a line of the reader's own copies one tensor to the card, which is
// no model and, as far as the traceback shows, outside any network and loop.
func CopiesInput(c *ledger.Case) bool {
	f := ledger.OwnFrame(c)
	if f == nil || len(c.Stack) != 1 || c.Training() || InForward(c) || len(ledger.Trace(c)) > 2 || LateStep(c) {
		return false
	}
	low := strings.ToLower(f.Source)
	name, _, moved := strings.Cut(strings.TrimSpace(low), ".cuda()")
	return moved && !strings.ContainsAny(name, "(") && !strings.Contains(low, "model") && !strings.Contains(low, "net") && f.Function != "__init__"
}

// fits says how much smaller one large tensor has to become, "" where the
// message does not say what is free, or what was asked for is small.
func fits(c *ledger.Case) string {
	if !c.Free.Has() || c.Free.Bytes < units.MiB || c.Asked.Bytes*20 < c.Total.Bytes || c.Asked.Bytes > 8*c.Free.Bytes || c.Slack.Bytes >= c.Asked.Bytes || ledger.Roomy(c) {
		return ""
	}
	parts := int64(2)
	for c.Asked.Bytes > parts*c.Free.Bytes {
		parts *= 2
	}
	return map[int64]string{2: "Half", 4: "A quarter", 8: "An eighth"}[parts] + " of this tensor is " + units.Amount(c.Asked.Bytes/parts) + ", and " + c.Free.String() + " is free."
}

// HalfTooLarge: what was asked for in one piece is several times what the card
// could give, so that half of it does not fit either.
func HalfTooLarge(c *ledger.Case) bool {
	return c.Total.Has() && c.Asked.Bytes > 2*(c.Total.Bytes-c.Mine.Bytes)
}

// Scene is what many cards name of a case, in a map of the caller's own: worked
// out once.
func Scene(c *ledger.Case) map[string]string {
	return maps.Clone(ledger.Once(c, "pytorch/scene", scene))
}

// Smaller names the script's own options that say how large a sample is.
func Smaller(c *ledger.Case, otherwise string) string {
	var ways, seen []string
	for _, x := range []struct{ setting, told string }{{fact.OptionSize, "`%s` below %s (half is a quarter of the work)"}, {fact.OptionLength, "`%s` below %s"}} {
		held, _ := c.Setting(x.setting)
		for _, s := range append([]fact.Setting{held}, c.Facts.Settings...) {
			n, err := strconv.ParseFloat(s.Value, 64)
			if name := step.OptionName(s); s.Name == x.setting && name == s.Flag && err == nil && n > 1 && (n > 16 || !strings.Contains(name, "context")) && !slices.Contains(seen, name) && len(ways) < 3 {
				ways, seen = append(ways, fmt.Sprintf(x.told, name, s.Value)), append(seen, name)
			}
		}
	}
	if len(ways) == 0 {
		return otherwise
	}
	return strings.Join(ways, ", ")
}

// LateJump: a large piece was refused after many steps that had gone well.
func LateJump(c *ledger.Case) bool { return LateStep(c) && QuarterOfCard(c) }

// LongestSample is for one sample that is larger than the others.
var LongestSample = cause.Cure{
	Fix: "lower_context", Title: "Limit the longest sample", Cost: "what is cut is lost",
	Told: "Set the script's maximum length (or size) lower, or leave out the longest samples; print the shape of each batch to see which one it is. A smaller batch does not help where one sample alone is too long.",
}
