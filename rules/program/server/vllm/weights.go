package vllm

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/engine/cards"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
)

// Weights are what a model's weights take by the model's name, where nothing says
// that they are converted while they load.
func Weights(c *ledger.Case) (int64, bool) {
	w, ok := ledger.WeightsIn(c, "")
	switch framed := cards.FormatInFrames(c); {
	case ledger.Named(c).Format == "" && (cards.PublishedSmall(c) != "" || framed != ""):
		return 0, false
	case ledger.Named(c).Format == "":
		w, ok = ledger.WeightsIn(c, "bf16")
	}
	s, set := c.Setting("quantization")
	return w, ok && w > 0 && !(set && !strings.HasPrefix(s.Value, "None"))
}

// CardsFor is on how many cards to split the model: twice as many as now, or as
// many as its weights need, by the model's name.
func CardsFor(c *ledger.Case) int {
	n, _ := strconv.Atoi(launch.Doubled("tensor_parallel_size")(c).Value)
	w, ok := Weights(c)
	for ok && stage.LoadingWeights(c) && n < 16 && w/int64(n)/Stages(c) > ledger.SizeOf(c.F().Total)*85/100 && ledger.SizeOf(c.F().Total) > 0 {
		n *= 2
	}
	return n
}

// Stages are the parts into which the layers are split beside their matrices.
func Stages(c *ledger.Case) int64 {
	return int64(max(1, ledger.IntSetting(c, "pipeline_parallel_size")))
}

// each is what the weights take on each card, by the model's name.
func each(c *ledger.Case) (bytes, cards int64, ok bool) {
	w, ok := Weights(c)
	cards = int64(max(1, ledger.IntSetting(c, "tensor_parallel_size"))) * Stages(c)
	return w / cards, cards, ok
}

// Named is what the weights take by the model's name, in all and on each card.
func Named(c *ledger.Case) string {
	w, cards, _ := each(c)
	if cards == 1 {
		return units.Amount(w)
	}
	return fmt.Sprintf("%s, %s on each of %d cards", units.Amount(w*cards), units.Amount(w), cards)
}

// WouldFit: by the model's name its weights are well below each card, and still
// they filled one while they were loaded.
func WouldFit(c *ledger.Case) bool {
	w, _, ok := each(c)
	total := ledger.SizeOf(c.F().Total)
	return ok && stage.LoadingWeights(c) && total > 0 && w < total*7/10 && ledger.SizeOf(c.F().Allocated) > total*17/20
}

// Would says so.
func Would(c *ledger.Case) string {
	w, cards, _ := each(c)
	if !WouldFit(c) {
		return ""
	}
	if cards > 1 {
		return "By the model's name the weights are about " + units.Amount(w) + " on each of " + strconv.FormatInt(cards, 10) + " cards, which would fit. Most likely they were loaded at more bits than the name says, or not on all of these cards. "
	}
	return "By the model's name the weights are about " + units.Amount(w) + ", which would fit. Most likely they were loaded at more bits than the name says. "
}

// Unread: a checkpoint of 8 bit for Ascend, whose format the command does not name.
func Unread(c *ledger.Case) bool {
	_, set := c.Setting("quantization")
	return stage.OnAscend(c) && !set && strings.Contains(strings.ToLower(c.ModelName()), "w8a8")
}

// Offloaded is how many GiB of each card's weights do not fit it with a fifth
// left for cache and work, 8 where the model's size is not known.
func Offloaded(c *ledger.Case) int {
	w, _, ok := each(c)
	if !ok || ledger.SizeOf(c.F().Total) == 0 || !stage.LoadingWeights(c) {
		return 8
	}
	return int(max(4, ledger.CeilDiv(w-ledger.SizeOf(c.F().Total)*8/10, units.GiB)))
}

// MostStays: most of the weights would stay on the card.
func MostStays(c *ledger.Case) bool {
	w, _, ok := each(c)
	return !ok || int64(Offloaded(c))*units.GiB*2 < w
}
