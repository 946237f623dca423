package torch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/script"
	"github.com/oomdoc/oomdoc/rules/program/torch/sized"
	"github.com/oomdoc/oomdoc/rules/step"
)

// batchOf is the batch of a card and the accumulation that the log shows, 0 for
// a batch that it does not.
func batchOf(c *ledger.Case) (batch, accumulate int) {
	return ledger.IntSetting(c, step.BatchSettings...), max(ledger.IntSetting(c, "gradient_accumulation_steps"), 1)
}

// batchIsOne: the log shows a batch that cannot shrink.
func batchIsOne(c *ledger.Case) bool {
	batch, _ := batchOf(c)
	return batch == 1
}

// manyInBatch: there is a batch to lower, or the log does not say.
func manyInBatch(c *ledger.Case) bool { return !batchIsOne(c) }

// smallerBatch spells half of the batch and twice the accumulation, by a format
// of the two. Where the log shows neither, one at a time.
func smallerBatch(kind, format string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		batch, accumulate := batchOf(c)
		if batch < 2 {
			return []step.Step{{Kind: kind, Text: fmt.Sprintf(format, 1, 8) + "   # batch x accumulation as before"}}
		}
		return []step.Step{{Kind: kind, Text: fmt.Sprintf(format, batch/2, 2*accumulate) + fmt.Sprintf("   # was %d and %d", batch, accumulate)}}
	}
}

// modelFigures are what the model of the log takes, "" where its size is not
// known: w32 to w4 its weights, full a full training in mixed precision, states
// what of that its optimizer keeps in 32 bit; room is the card less 2 GiB.
func modelFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"room": "", "w32": "", "w16": "", "w8": "", "w4": "", "full": "", "states": "", "auto": script.AutoClass(c), "default": sized.Default(c)}
	if gib := c.Total.Bytes / units.GiB; c.Total.Has() && gib > 3 {
		out["room"] = strconv.FormatInt(gib-2, 10)
	}
	if c.Model == nil || c.Model.Parameters <= 0 {
		return out
	}
	n := c.Model.Parameters
	for name, bytes := range map[string]int64{"w32": 4 * n, "w16": 2 * n, "w8": n * 11 / 10, "w4": n * 6 / 10, "full": 16 * n, "states": 12 * n} {
		out[name] = units.Amount(bytes)
	}
	return out
}

// lengthFigures are the length of a sample that the log shows and half of it.
func lengthFigures(c *ledger.Case) map[string]string {
	out := modelFigures(c)
	s, _ := c.Setting(lengthSettings...)
	out["length"], out["shorter"], out["shares"] = s.Value, shorterSample(c), cures.Shares(c)
	return out
}

// logitsFigures are what one piece comes to at half and at a quarter.
func logitsFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"half": "", "quarter": ""}
	if c.Asked.Has() {
		out["half"], out["quarter"] = units.Amount(c.Asked.Bytes/2), units.Amount(c.Asked.Bytes/4)
	}
	return out
}

// logitFigures are how many tokens a piece of 32-bit logits is for the two
// vocabularies that are common.
func logitFigures(c *ledger.Case) map[string]string {
	out := lengthFigures(c)
	out["tokens32"], out["tokens128"], out["tokens152"] = "", "", ""
	if n := ledger.Requested(c); n >= units.GiB/2 {
		for name, vocabulary := range map[string]int64{"tokens32": 32000, "tokens128": 128256, "tokens152": 151936} {
			out[name] = thousands(n / vocabulary / 4)
		}
	}
	return out
}

// thousands is a count rounded to what it can mean: 20,300.
func thousands(n int64) string {
	if n >= 1000 {
		n -= n % 100
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	return strconv.FormatInt(n, 10)
}

// lowered is a sentence's words in the middle of another.
func lowered(s string) string { return strings.ToLower(s[:1]) + s[1:] }
