package cures

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
)

// Cheaper is how a step of the same size takes less with the PyTorch of its time,
// without what is on already.
func Cheaper(c *ledger.Case) string {
	var ways []string
	latest := code.Latest(c)
	for _, w := range []struct {
		measure, told string
		since         int
	}{
		{fact.MixedPrecision, "16 bit (`torch.autocast(\"cuda\")`)", 106},
		{fact.Checkpoints, "gradient checkpointing (a quarter slower)", 0},
		{fact.SmallOptimizer, "8-bit Adam (`bitsandbytes`)", 111},
		{fact.Adapters, "LoRA", 111},
	} {
		if (latest == 0 || latest >= w.since) && !ledger.Has(c, w.measure) {
			ways = append(ways, w.told)
		}
	}
	if len(ways) == 0 {
		return ""
	}
	return strings.Join(ways, ", ") + "."
}

// narrower puts in how a step is computed in 16 bit and keeps fewer activations,
// with the PyTorch of its time.
func narrower(c *ledger.Case, figures map[string]string) {
	figures["autocast"], figures["half16"], figures["scaled"], figures["scaler"] = autocast(c), "`torch.autocast(\"cuda\", dtype=torch.float16)`", " (in training with a `GradScaler`)", ", with a `GradScaler`"
	if since, _ := c.Fact("torch_since"); since.Text == "1.4" {
		figures["half16"] = "`torch.cuda.amp.autocast()` (PyTorch 1.6 and later)"
	} else if sinceAmpere(c) {
		figures["half16"], figures["scaled"], figures["scaler"] = "`torch.autocast(\"cuda\", dtype=torch.bfloat16)`", "", ""
	}
	figures["cheaper_step"] = "Turn on mixed precision and gradient checkpointing"
	if strings.HasSuffix(figures["autocast"], "already; gradient") || figures["autocast"] == "Gradient" {
		figures["cheaper_step"] = "Turn on gradient checkpointing"
	}
	figures["cheaper_how"] = figures["autocast"] + " checkpointing (" + figures["checkpointer"] + ") recomputes activations instead of storing them."
	if figures["autocast"] == "Gradient" {
		figures["cheaper_how"] = "Call the large layers through " + figures["checkpointer"] + ": their activations are recomputed instead of stored."
	}
}
