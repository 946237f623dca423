package fix

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var lowerBatchSize = Fix{
	ID:       "lower_batch_size",
	Title:    "Lower the batch size",
	Tradeoff: "Slower; in training the same result with gradient accumulation.",
	Cost:     cheap,
	Check:    checkStep,
	Next:     "If it fails at batch size 1: gradient checkpointing (training), shorter texts or smaller images, then a smaller model.",
	Needs:    Needs{size: true, notFor: []string{"rendering", "build"}, branch: "Training", told: "half the batch size and twice the gradient accumulation: the same result, slower."},
	Told:     batchToOne,
	Steps:    stepsBatch,
	Effect:   effectBatch,
	Useless:  UselessBatch,
}

const batchToOne = "Set it to 1 in your program's settings. If that runs, double it step by step."

func stepsBatch(c *ledger.Case) []step.Step {
	own := OwnBatch(c, batchDivisor(c))
	switch {
	case own != nil:
		return own
	case c.Training() && c.In("transformers"):
		return []step.Step{{Kind: "python", Text: "per_device_train_batch_size = 1\ngradient_accumulation_steps = 8   # your old batch size (default: 8): the same effective batch"}}
	case c.Training():
		return []step.Step{{Kind: "python", Text: "loader = DataLoader(dataset, batch_size=1, shuffle=True)   # if that runs, double it step by step"}}
	case c.Framework == "other" && c.Reader.Language == "": // nothing shows that it is Python
		return []step.Step{{Kind: "text", Text: batchToOne}}
	}
	return []step.Step{{Kind: "python", Text: "batch_size = 1   # if that runs, double it step by step"}}
}

// OwnBatch is the reader's own option with so small a part of the batch, nil where
// the log does not show one above 1.
func OwnBatch(c *ledger.Case, part int) []step.Step {
	s, ok := c.Setting(step.BatchSettings...)
	n := step.Divided(s.Value, part)
	if !ok || s.Value == "1" || n <= 0 {
		return nil
	}
	return []step.Step{{Kind: "config", Text: fmt.Sprintf("%s%s%d   # was %s", step.OptionName(s), map[bool]string{true: " ", false: " = "}[strings.HasPrefix(s.Flag, "-")], n, s.Value)}}
}

// batchDivisor is by how much the batch must shrink for the piece that failed
// to fit what was free, as a power of two up to 64; 2 where the figures do not
// say.
func batchDivisor(c *ledger.Case) int {
	for _, by := range [...]int{2, 4, 8, 16, 32, 64} {
		if effect.Enough(c, by) || effect.TPUProgramAt(c, by) != nil {
			return by
		}
	}
	return 2
}

func effectBatch(c *ledger.Case) *effect.Effect {
	by := batchDivisor(c)
	if e := effect.TPUProgramAt(c, by); e != nil {
		return e
	}
	return effect.Scaled(c, by, batchWords[by])
}

var batchWords = [...]string{2: "With half the batch", 4: "With a quarter of the batch", 8: "With an eighth of the batch", 16: "With a sixteenth of the batch", 32: "With 1/32 of the batch", 64: "With 1/64 of the batch"}

// UselessBatch says why a smaller batch cannot help.
func UselessBatch(c *ledger.Case) string {
	s, ok := c.Setting(step.BatchSettings...)
	if ok && s.Value == "1" && !s.Default {
		return fmt.Sprintf("It is 1 already (line %d).", s.Line)
	}
	return uselessInput(c)
}

// uselessInput: what goes into a model does not matter while it is being loaded.
func uselessInput(c *ledger.Case) string {
	if c.Phase == "load" && c.Root(fact.TorchAlloc, fact.TorchAsync, fact.CUDAError) && ledger.OnCard(c) && c.Signal("training", "backward") == nil {
		return "It failed while the model was being loaded, before any input."
	}
	return ""
}

var lowerContext = Fix{
	ID:       "lower_context",
	Title:    "Shorten the context",
	Tradeoff: "Older parts of a long conversation or document are cut off.",
	Cost:     moderate,
	Check:    "It starts and answers a short prompt; then raise the length until about 1 GiB of GPU memory is left.",
	Next:     "Store the KV cache in 8 bit, or use a smaller quantisation.",
	Needs:    Needs{size: true, works: language, branch: "Text", told: "half the length of prompt and answer."},
	Told:     "Set it to 4096 tokens in your program's settings, then raise it step by step.",
	Steps:    stepsContext,
	Effect:   func(c *ledger.Case) *effect.Effect { return effect.Scaled(c, 2, "With half the length") },
}

func stepsContext(c *ledger.Case) []step.Step {
	if c.Training() {
		return []step.Step{{Kind: "python", Text: "tokenizer(text, truncation=True, max_length=1024)   # half of what you use now"}}
	}
	if ledger.WritesScores(c) {
		return []step.Step{{Kind: "python", Text: "x = x[:, : x.shape[1] // 2]   # half the length: a quarter of this matrix"}}
	}
	return []step.Step{{Kind: "text", Text: "Set it to 4096 tokens in your program's settings, then raise it step by step."}}
}

var lowerResolution = Fix{
	ID:       "lower_resolution",
	Title:    "Lower the resolution or the number of frames",
	Tradeoff: "Less detail; upscaling afterwards brings much of it back.",
	Cost:     moderate,
	Check:    "The small size runs through; raise it in steps while about 1 GiB of GPU memory stays free.",
	Next:     "Decode in tiles if it fails at the very end; otherwise the low-memory mode.",
	Needs:    Needs{size: true, works: pictures, branch: "Images or video", told: "half the width and height, or half the frames."},
	Told:     "Halve width and height, or the number of frames.",
	Steps:    stepsResolution,
	Effect:   effectResolution,
	Useless:  uselessInput,
}

// sideDivisor is by how much to divide width and height so that the piece that
// failed fits what was free, 2 to 4; 2 where the figures do not say.
func sideDivisor(c *ledger.Case) int {
	for _, by := range [...]int{2, 3, 4} {
		if effect.Enough(c, by*by) {
			return by
		}
	}
	return 2
}

var sideWords = map[int]string{2: "half the", 3: "a third of", 4: "a quarter of"}

func stepsResolution(c *ledger.Case) []step.Step {
	by := sideDivisor(c)
	of := map[bool]string{true: "batch or the frames", false: "frames"}[c.Reader.Work == ""]
	text := fmt.Sprintf("Use %s width and height, or 1/%d of the %s. If that fails too, go lower.", sideWords[by], by*by, of)
	if strings.HasSuffix(c.Reader.Work, "-generation") && !c.Training() {
		text += " Keep width and height multiples of 64, and upscale the result afterwards."
	}
	return []step.Step{{Kind: "text", Text: text}}
}

func effectResolution(c *ledger.Case) *effect.Effect {
	by := sideDivisor(c)
	return effect.Scaled(c, by*by, fmt.Sprintf("At %s width and height", sideWords[by]))
}
