// Package story says what happened to an incident: a headline, and the figures
// interpreted. A sentence names only numbers that the ledger has.
package story

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/odds"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
)

// Story is what happened, for a reader who has not seen such a crash before.
type Story struct {
	// Headline is one line; Summary two or three sentences.
	Headline, Summary string
}

// Likely is how large a share of the odds a cause has that a headline may name.
const Likely = 0.8

// Of tells the story of a case. Shown is how people write the program's name,
// card what is known of its message, nil for nothing.
func Of(c *ledger.Case, causes []odds.Cause, shown string, card *cause.Card) Story {
	t := teller{c, shown, odds.Cause{}, card}
	if len(causes) > 0 && causes[0].Share >= Likely && causes[0].ID != cause.Unknown {
		t.cause = causes[0]
	}
	if card != nil && card.Headline != "" {
		if told, ok := card.Tell(c, card.Headline); ok {
			if strings.HasPrefix(card.ID, "linux/killed") {
				shown = "Linux" // it killed, whatever program the log is of
			}
			return Story{shown + " " + code.ForBackend(c, told), t.summary()}
		}
	}
	return Story{t.headline(), t.summary()}
}

type teller struct {
	*ledger.Case
	shown string
	cause odds.Cause // the likely one, if there is one
	told  *cause.Card
}

// killed: the system ended the program.
func (t teller) killed() bool {
	return t.F().KilledRSS != nil || t.Root(fact.RayKilled) || t.Framework == "linux-oom-killer" || t.Framework == "kubernetes" || t.Framework == "slurm"
}

// refused: an allocation was, whatever a plan printed before it says;
// else a plan or a check may have been.
func (t teller) refused() bool { return t.Root(fact.CUDAError) || t.F().Requested != nil }

// onHost: the computer's own memory ran out, not a card's.
func (t teller) onHost() bool {
	return t.Backend == "cpu" || t.cause.ID == cause.HostMemory && t.Backend == ""
}

// Device is what was asked: "GPU 0", "the Mac's GPU", "the system"; "" where the
// log does not say.
func Device(c *ledger.Case) string {
	switch d := c.F().Device; {
	case ledger.InHost(c):
		return devices["cpu"]
	case devices[c.Backend] != "":
		return devices[c.Backend]
	case d != nil:
		return "GPU " + strconv.FormatFloat(d.Value, 'f', -1, 64)
	case c.Backend == "" && c.F().Total == nil:
		return ""
	}
	return "the GPU"
}

// devices are those of backends that do not count them.
var devices = map[string]string{"cpu": "the system", "mps": "the Mac's GPU", "metal": "the Mac's GPU", "tpu": "the TPU", "npu": "the NPU"}

// card is the memory that ran out with its size: "the 6.00 GiB of GPU 0".
func (t teller) card() string {
	switch {
	case t.onHost():
		return "system memory (RAM)"
	case t.Backend == "mps" || t.Backend == "metal":
		return "the Mac's GPU memory"
	case t.Total.Has() && t.Backend == "tpu":
		return "memory on its " + t.Total.Round() + " TPU"
	case t.Total.Has():
		return "memory on its " + t.Total.Round() + " " + t.whole()
	case t.Backend == "tpu":
		return "TPU memory"
	case t.Backend == "npu":
		return "NPU memory"
	case t.Backend == "":
		return "memory"
	}
	return "GPU memory"
}

// phases say when it happened.
var phases = map[string]string{
	"load": "while loading the model", "inference": "while running the model", "training": "during training", "kv_cache": "while reserving the KV cache",
	"warmup": "during the warm-up", "graph_capture": "while capturing CUDA graphs", "startup_check": "in the check at its start",
}

// when is the phase with a blank before it, "" where it is unknown.
func (t teller) when() string {
	if p, ok := phases[t.Phase]; ok && !t.Root(fact.TRTEngine, fact.NCCLAlloc) && t.Reader.Work != "data" { // an engine is built as well, who trains has collectives, too, and miners have epochs
		return " " + p
	}
	return ""
}

// pieces are what was refused, by the stage that the message names.
var pieces = map[string]string{"weights": "the model's weights", "kv": "the KV cache", "compute": "the working memory of a batch", "graph": "the working memory of a batch"}

// thousands writes a count with separators: 131,072.
func thousands(x *fact.Count) string { return ledger.Thousands(int64(x.Value)) }
