package cures

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// LogitWords are where a language model's loss is computed.
var LogitWords = []string{"logits.float()", "logits = logits.float", "in ForCausalLMLoss", "loss_function(", "fixed_cross_entropy", "shift_logits", "_convert_to_fp32", "in convert_to_fp32"}

// trainedPattern is how PEFT, LLaMA-Factory, transformers' Trainer and Unsloth
// print it: "trainable params: 20,971,520 || all params: ...", "Number of trainable
// parameters = 20,971,520", "Trainable parameters = 20,971,520 of ...".
var trainedPattern = regexp.MustCompile(`(?i)trainable param(?:eter)?s ?[=:] ?([\d,]+)`)

// Trained is how many parameters the log says are trained, 0 where it does not.
func Trained(c *ledger.Case) int64 {
	s := c.Signal(fact.Trained)
	if s == nil {
		return 0
	}
	m := trainedPattern.FindStringSubmatch(s.Text)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.ReplaceAll(m[1], ",", ""), 10, 64)
	return n
}

// trainedState is what gradients and Adam's values of them take, with their own
// 32-bit copy.
func trainedState(c *ledger.Case) int64 { return 16 * Trained(c) }

// FewTrained: that is a small part of what this program holds, so that it is not
// what fills the card.
func FewTrained(c *ledger.Case) bool {
	return Trained(c) > 0 && c.Mine.Has() && trainedState(c)*10 < c.Mine.Bytes
}

// StateIsSmall says why less of the optimizer's state cannot help.
func StateIsSmall(c *ledger.Case) string {
	if !FewTrained(c) {
		return ""
	}
	return fmt.Sprintf("Only %s parameters are trained (line %d): gradients and optimizer state take %s at most.", ledger.Thousands(Trained(c)), c.Signal(fact.Trained).Line, units.Amount(trainedState(c)))
}

// Shares says what more cards divide of a step.
func Shares(c *ledger.Case) string {
	if FewTrained(c) {
		return StateIsSmall(c) + " Frozen weights (only ZeRO-3 and FSDP divide them), activations and logits fill the GPU."
	}
	return "Weights, gradients and Adam's state take about 16 bytes per trained parameter. ZeRO-3 divides all of that over the GPUs, ZeRO-2 all but the weights, plain DDP nothing."
}
