// Package cures has what many cards of PyTorch share: cures that hold for whatever
// runs on a card, and what they presuppose.
package cures

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/program/torch/room"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Cures that hold for whatever runs on a card, by what it was doing.
var (
	// LessAtOnce is the work of one step, made smaller; where nothing tells the
	// work, AnyWork says it in one sentence instead.
	LessAtOnce = []cause.Way{
		{For: fix.Training, Text: "{train}"},
		{For: fix.Using, Text: "{using}"},
		{For: fix.Pictures, Text: "{pictures}"},
		{For: fix.Sound, Text: "split long recordings into chunks of a few minutes; fewer chunks at a time."},
	}
	HalveStep = cause.Cure{
		Fix: "lower_batch_size", Title: "Lower the batch size or the input size", Cost: "slower", If: when.Not(when.Any(ledger.Before2020, SmallCard)), Told: AnyWork, Ways: LessAtOnce,
	}
	// HalveOld is the same for PyTorch before 1.4, which has neither autocast nor
	// inference_mode.
	HalveOld = cause.Cure{
		Fix: "lower_batch_size", Title: HalveStep.Title, Cost: "slower", If: ledger.Before2020, Told: AnyWork,
		Ways: []cause.Way{
			{For: fix.Training, Text: "{train}"},
			{For: fix.Using, Text: "{using}"},
			{For: "All pairs of something (a graph's nodes, distances)", Text: "{pairs}"},
		},
	}
	// Lighter is what stays from step to step, made smaller.
	Lighter = cause.Cure{
		Fix: "use_smaller_model", Title: "Use [[{sixteen_or}]]offloading or a smaller model", Cost: "little quality", If: when.Not(when.Any((*ledger.Case).Training, ledger.Before2020)),
		Told: "[[{any_lighter}]]", Ways: []cause.Way{
			{For: fix.Using, Text: "{lighter_using}"},
			{For: fix.Pictures, Text: "{lighter_pictures}"},
			{For: fix.Training, Text: "{lighter_training}"},
		},
	}
	// SixteenFirst is the same on a small card, where most programs run in 32 bit or
	// could: 16 bit is what to try there.
	SixteenFirst = cause.Cure{Fix: "half_precision", Title: Lighter.Title, Cost: Lighter.Cost, If: when.All(SmallCard, when.Not(ledger.Before2020)), Told: Lighter.Told, Ways: Lighter.Ways}
	ShrinkModel  = cause.Cure{Fix: Lighter.Fix, Title: Lighter.Title, Cost: Lighter.Cost, If: when.Not((*ledger.Case).Training), Told: Lighter.Told, Ways: Lighter.Ways}
	// FreshStart is for what piles up.
	FreshStart = cause.Cure{
		Fix: "restart_session", Title: "If it worked before: restart the program", Cost: "", If: when.All(Stepped, when.Not(when.Any((*ledger.Case).Training, ownScript, Ranked))),
		Told: "Restart the program or the notebook kernel. If memory climbs again, store numbers instead of tensors (`loss.item()`, `x.detach().cpu()`).",
	}
	// KeptInLoop is the same for a script.
	KeptInLoop = cause.Cure{
		Fix: "detach_accumulated", Title: "If it fails only after many steps: look for tensors that are kept", Cost: "none", If: when.All(Stepped, when.Not((*ledger.Case).Training), when.Any(ownScript, Ranked)),
		Told: "In the loop, use `total += loss.item()` instead of `total += loss`. Store results as `x.detach().cpu()`, and validate under `torch.no_grad()`.",
	}
	CheaperTraining = cause.Cure{
		Fix: "gradient_checkpointing", Title: "{cheaper_step}", Cost: "20 to 30 % more time per step", If: when.All((*ledger.Case).Training, when.Not(Has(fact.Checkpoints))),
		Told: "{cheaper_how}",
	}
	// LastLayer is for training on a card that a deep network fills by itself.
	LastLayer = cause.Cure{
		Fix: "use_smaller_model", Title: "Use a smaller network, or train only its last layers", Cost: "accuracy", If: when.All((*ledger.Case).Training, ledger.TinyCard),
		Told: "Freeze the first layers with `p.requires_grad_(False)`: they then need no gradients and no optimizer state. A ResNet-18 or 34 needs far less memory than a ResNet-152.",
	}
	SmallerModel = cause.Cure{
		Fix: "use_smaller_model", Title: "Use a smaller model, or lower precision", Cost: "some quality", If: when.Not((*ledger.Case).Training),
		Told: "In your own code, `model.half()` halves a 32-bit model.[[ {smaller_model}]]",
	}
	// LessToo is a smaller step where the weights are the likelier part.
	LessToo = cause.Cure{
		Fix: "lower_batch_size", Title: HalveStep.Title, Cost: "slower", If: when.All(SmallCard, when.Not(ledger.Before2020)), Told: AnyWork, Ways: LessAtOnce,
	}
	LighterOptimizer = cause.Cure{
		Fix: "optimizer_8bit", Title: "If even batch size 1 fails: train fewer parameters", Cost: "hardly any quality", If: (*ledger.Case).Training,
		Told: "Freeze layers (`p.requires_grad_(False)`), train a LoRA, or use 8-bit Adam (`bitsandbytes.optim.AdamW8bit`). Weights, gradients and Adam's state take about 16 bytes per trained parameter, whatever the batch.",
	}
	OtherCard = cause.Cure{
		Fix: "select_gpu", Title: "Or use another GPU, if there is one", Cost: "free", If: func(c *ledger.Case) bool {
			return room.FullInTable(c) == nil && !(c.Training() && (Ranked(c) || ledger.GPU(c) > 0 || c.Signal("distributed") != nil)) // a rank has its card from the launcher
		},
		Steps: func(c *ledger.Case) []step.Step {
			n := 1
			if ledger.GPU(c) > 0 {
				n = 0
			}
			return []step.Step{{Kind: "text", Text: "Set `CUDA_VISIBLE_DEVICES=" + strconv.Itoa(n) + "` before the start to use GPU " + strconv.Itoa(n) + "; `nvidia-smi` shows how full each one is."}}
		},
	}
)

// OneOfMany is for DataParallel that sees one card, so that the whole batch goes
// there: torch/nn/parallel/data_parallel.py calls the module itself then.
var OneOfMany = cause.Cure{
	Fix: "multi_gpu", Title: "DataParallel uses only one GPU here: make the others visible", Cost: "needs them", If: func(c *ledger.Case) bool {
		return slices.ContainsFunc(c.Facts.Code, func(f fact.Code) bool {
			return strings.Contains(f.File, "data_parallel.py") && strings.Contains(f.Source, "self.module(*inputs[0]")
		})
	},
	Told: "The traceback shows that the whole batch goes to one GPU. With more GPUs visible, each takes a part of it.", Kind: "shell", Text: "nvidia-smi -L; export CUDA_VISIBLE_DEVICES=0,1   # and device_ids=[0, 1] where the script sets it",
}

// LookFirst is the cure that costs nothing: see who holds the card.
var LookFirst = look("kill_stale_process", when.Not(when.Any(Listed, room.Tabled)))

// RuntimeFirst is for a notebook, whose earlier cells hold more than others as a
// rule.
var RuntimeFirst = cause.Cure{
	Fix: "restart_session", Title: "Restart the notebook's runtime", Cost: "variables are lost, files stay", If: func(c *ledger.Case) bool { return c.Signal("notebook") != nil && !Listed(c) },
	Told: "Colab: Runtime, Restart session; Kaggle: Run, Restart; Jupyter: Kernel, Restart. This frees what earlier cells or a failed run left on the GPU. On Colab and Kaggle nobody else shares it.",
}

// Hosted is the same for a card that notebooks in the cloud have, where the log
// shows no cell.
var Hosted = cause.Cure{
	Fix: "restart_session", Title: "On Colab or Kaggle: restart the session", Cost: "variables are lost, files stay", If: func(c *ledger.Case) bool {
		return likeT4(c) && len(c.Stack) == 1 && c.Signal("notebook") == nil && c.Signal("distributed") == nil && !Listed(c)
	}, Told: "Colab: Runtime, Restart session; Kaggle: Run, Restart. This frees what earlier cells left on the GPU; `nvidia-smi` often lists no process there.",
}

// EndListed is the same where the message says who it is.
var EndListed = cause.Cure{Fix: "kill_stale_process", If: Listed}

// Listed: the message names processes beside this one that hold more than a
// trifle, such as a display server's 6 MiB.
func Listed(c *ledger.Case) bool {
	held := ListedBytes(c)
	return len(c.F().OtherProcesses) > 0 && (held == 0 || held >= 64*units.MiB)
}

// LookAround is the same where it is a desktop rather than another run.
var LookAround = look("close_other_apps", func(c *ledger.Case) bool { return c.Others.Bytes < 3*units.GiB/2 })

func look(id string, holds func(*ledger.Case) bool) cause.Cure {
	return cause.Cure{
		Fix: id, If: holds, Title: "Check what else is using the GPU", Cost: "free; unsaved work in it is lost",
		Steps: func(c *ledger.Case) []step.Step {
			return []step.Step{{Kind: "text", Text: holders(c)}, {Kind: "shell", Text: "nvidia-smi"}}
		},
	}
}

// FreeOthers is a look where others hold little.
var FreeOthers = cause.Cure{
	Fix: "close_other_apps", Title: "Close other programs on the GPU", Cost: "free", If: freesEnough,
	Told: "`nvidia-smi` lists them. This frees less than {others}, because CUDA itself needs part of that.",
}

// freesEnough: others hold what was lacking, beside what CUDA itself needs.
func freesEnough(c *ledger.Case) bool {
	return c.Others.Bytes > 300*units.MiB && (!c.Shortfall.Has() || c.Others.Bytes-300*units.MiB > c.Shortfall.Bytes)
}

// Kept is how memory grows from step to step, where the log shows that there are
// steps.
const Kept = "[[{kept}]]"

// AnyWork is a smaller step where nothing tells what the work is.
const AnyWork = "[[{any}]]"

// Batch is the batch size that the log states and half of it.
func Batch(c *ledger.Case) map[string]string {
	s, _ := c.Setting(step.BatchSettings...)
	n := step.Divided(s.Value, 2)
	if n == 0 || s.Value == "1" {
		return map[string]string{"batch": ""}
	}
	return map[string]string{"batch": step.OptionName(s) + " " + s.Value + " to " + strconv.Itoa(n)}
}

// Has holds where the log shows that a measure is taken already.
func Has(measure string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return ledger.Has(c, measure) }
}

// Less is how a training step becomes smaller.
func Less(c *ledger.Case, Batch string) string {
	switch {
	case Validating(c):
		return "use batch size 1 in the validation (its loader may have its own `batch_size`), and " + Smaller(c, sample(c, "smaller inputs, or parts of them")) + "."
	case SingleSample(c):
		return "the batch size is already 1, so use " + Smaller(c, sample(c, "shorter texts, smaller images or crops")) + "."
	case Batch == "" && trainerArguments(c) != "":
		return trainerArguments(c)
	case Batch != "":
		return "halve the batch size (" + Batch + ") and double the gradient accumulation for the same result, or use " + Smaller(c, sample(c, "shorter texts, smaller images")) + "."
	}
	if place := batchPlace(c); place != "" {
		return "halve the batch size (" + place + "; 1 shows whether it runs at all), or use " + Smaller(c, sample(c, "shorter or smaller samples")) + "."
	}
	named := ""
	if c.Reader.Edits == "code" {
		named = "`batch_size` of the DataLoader; "
	}
	return "halve the batch size (" + named + "1 shows whether it runs at all), with gradient accumulation for the same result; or use " + Smaller(c, sample(c, "shorter or smaller samples")) + "."
}

// off is the script's own switch, where the log shows that it is off.
func off(c *ledger.Case, setting string) (name string, is bool) {
	s, ok := c.Setting(setting)
	return "`" + step.OptionName(s) + "`", ok && s.Value != "true"
}

// scene is batch with what the card's size says of it.
func scene(c *ledger.Case) map[string]string {
	figures := Batch(c)
	figures["probably"], figures["closing"], figures["pairs"], figures["less"], figures["cheaper"] = "", "", "", Less(c, figures["batch"]), Cheaper(c)
	Milestone(c).tell(figures)["each"] = ""
	if cards := clues.Cards(c); cards != "" {
		figures["each"] = "More GPUs of this size: " + cards + " failed alike, each with its own copy of the model and its own batch."
	}
	figures["sharding"] = "FSDP (`FULL_SHARD`) or DeepSpeed ZeRO-3 splits them across the GPUs; plain DDP keeps a full copy on each. "
	if ledger.Has(c, fact.Sharded) {
		figures["sharding"] = ""
	}
	figures["bits"], figures["files"], figures["offload"] = fewerBits(c)
	figures["refuser"] = "The message comes from the GPU driver and has no figures"
	if latest := code.Latest(c); ledger.Before2020(c) || latest != 0 && latest <= 100 {
		figures["refuser"] = "A PyTorch this old gives no figures"
	}
	figures["settings"], figures["doing"], figures["fits"], figures["elements"] = allocatorSettings(c), doing(c), fits(c), ""
	if c.Asked.Has() {
		figures["elements"] = ledger.Thousands(c.Asked.Bytes / 4 / 1e6)
	}
	figures["no_settings"] = "Allocator settings such as `max_split_size_mb`: they do not affect the driver"
	if ledger.Before2020(c) || code.Latest(c) != 0 && code.Latest(c) < 110 {
		figures["no_settings"] = "Allocator settings (`PYTORCH_CUDA_ALLOC_CONF`): this PyTorch has none; `empty_cache()`: PyTorch did that before it failed"
	}
	figures["checkpointer"] = "`torch.utils.checkpoint`"
	if trainerArguments(c) != "" {
		figures["checkpointer"] = "`--gradient_checkpointing`, in TrainingArguments `gradient_checkpointing=True`"
	}
	narrower(c, figures)
	figures["smaller_model"] = smallerModel(figures["bits"], figures["files"])
	figures["sixteen"] = sixteen(c)
	maps.Copy(figures, StepFigures(c, figures["less"]))
	lighter(c, figures)
	if c.Asked.Bytes*8 > c.Total.Bytes {
		figures["pairs"] = "no batch helps: a sparse form (PyTorch Geometric), or blocks of rows; half the rows take a quarter."
	}
	if c.Others.Bytes > ledger.DriverContext && !freesEnough(c) {
		figures["closing"] = c.Others.String()
	}
	figures["in_use"] = ""
	if c.Slack.Bytes < c.Asked.Bytes && c.Slack.Bytes*8 < c.Mine.Bytes {
		figures["in_use"] = "`empty_cache()`: it frees only what no tensor uses"
	}
	if figures["batch"] == "" && byTrainer(c) {
		figures["batch"] = "`per_device_train_batch_size`"
		if NotebookTrainer(c) {
			figures["batch"] = "with transformers' Trainer `per_device_train_batch_size=1, gradient_accumulation_steps=8` in TrainingArguments"
		}
	}
	if likeT4(c) {
		figures["probably"] = "By its size it is probably a Tesla T4 (Colab, Kaggle): use float16 there, not bfloat16."
	}
	return figures
}

// allocatorSettings are futile where all that lies unused is less than what was
// refused; "" where it is more.
func allocatorSettings(c *ledger.Case) string {
	told := "Allocator settings"
	if latest := code.Latest(c); c.Contains("reserved in total by pytorch") && (latest == 0 || latest >= 110) { // newer messages name expandable_segments
		told = "`max_split_size_mb`"
	}
	if c.Slack.Has() && c.Shortfall.Has() && c.Slack.Bytes >= c.Shortfall.Bytes && c.Shortfall.Bytes > 0 && (c.Slack.Bytes*50 >= c.Total.Bytes || c.Slack.Bytes*2 > units.GiB) {
		return "" // they may let this request through, and the next
	}
	if c.Slack.Bytes >= c.Asked.Bytes {
		told += ", usually"
	}
	if c.Slack.Bytes > 0 {
		told += ": at most " + c.Slack.String() + " to gain"
	}
	return told
}

// doing says what the layer was doing that failed first, "" where the traceback
// shows none.
func doing(c *ledger.Case) string {
	told := map[operation.ID]string{
		operation.Convolution:   "It stopped in a convolution",
		operation.Pointwise:     "It stopped in an activation or normalisation layer",
		operation.Upsampling:    "It stopped in an upsampling layer",
		operation.Recurrent:     "It stopped in a recurrent layer",
		operation.Projection:    "It stopped in a matrix product",
		operation.Concatenation: "It stopped while joining tensors",
	}[operation.ID(c.Operation)]
	if told == "" {
		return ""
	}
	return told + ", so the model was on the GPU already. The activations of the batch are the likelier cause."
}

// fewerBits are the formats below 16 bit that there were for the reader's work
// when this PyTorch was current: for language models since 2022, for pictures
// since 2024.
func fewerBits(c *ledger.Case) (language, pictures, offload string) {
	latest, work := code.Latest(c), c.Reader.Work
	if ledger.Before2020(c) || latest != 0 && latest < 111 {
		return "", "", ""
	}
	if work == "" || strings.HasPrefix(work, "text") {
		language = "language models in 8 or 4 bit"
	}
	if (latest == 0 || latest > 200) && (work == "" || work == "image-generation" || work == "video-generation") {
		pictures = "image models as fp8 or GGUF"
	}
	return language, pictures, "`--medvram` (AUTOMATIC1111), `--lowvram` (ComfyUI), `pipe.enable_model_cpu_offload()` (diffusers)"
}

// smallerModel is what else there is for a model that is only used.
func smallerModel(bits, files string) string {
	switch {
	case bits != "" && files != "":
		return "Otherwise load a language model in 8 or 4 bit, an image model as fp8 or GGUF, or take the next smaller version of the model."
	case bits != "":
		return "Otherwise load it in 8 or 4 bit (language models), or take its next smaller version."
	case files != "":
		return "Otherwise load an fp8 or GGUF file of it, or take its next smaller version."
	}
	return "Otherwise take its next smaller version."
}

// likeT4: a card of 15 GB of which the driver keeps as much as on a Tesla T4.
func likeT4(c *ledger.Case) bool {
	gib := float64(c.Total.Bytes) / float64(units.GiB)
	return c.Backend == "cuda" && gib > 14.5 && gib < 14.8
}

// autocast is how 16 bit is turned on in the PyTorch that wrote the message:
// torch.cuda.amp came with 1.6, torch.autocast with 1.10.
func autocast(c *ledger.Case) string {
	latest := code.Latest(c)
	half, isOff := off(c, fact.OptionHalf)
	switch {
	case isOff:
		return "Turn " + half + " on, which is off in this run: it halves most activations. Gradient"
	case ledger.Has(c, fact.MixedPrecision):
		return "16 bit is on already; gradient"
	case trainerArguments(c) != "":
		return "`--fp16` (in TrainingArguments: `fp16=True`; from RTX 30 on: `bf16=True`) halves most activations. Gradient"
	case ledger.Before2020(c), latest != 0 && latest < 106:
		return "Gradient"
	case latest != 0 && latest < 110:
		return "Run forward and loss under `torch.cuda.amp.autocast()` with a `GradScaler` (PyTorch 1.6 and later): it halves most activations. Gradient"
	case c.Root(fact.CUDAError): // which says nothing of the version
		return "Run forward and loss under `torch.autocast` (PyTorch 1.10 and later): it halves most activations. Gradient"
	case likeT4(c):
		return "Run forward and loss under `torch.autocast(\"cuda\", dtype=torch.float16)` with a `GradScaler`: it halves most activations. Gradient"
	}
	if sinceAmpere(c) {
		return "Run forward and loss under `torch.autocast(\"cuda\", dtype=torch.bfloat16)`: it halves most activations. Gradient"
	}
	return "Run forward and loss under `torch.autocast(\"cuda\", dtype=torch.bfloat16)` (before RTX 30: float16 with a `GradScaler`): it halves most activations. Gradient"
}
