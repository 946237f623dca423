// Package engine has the programs that serve models on engines of their own:
// TensorRT-LLM, LMDeploy, MLC LLM, servers of embeddings, and runtimes of small
// families.
package engine

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

type steps = map[string]func(*ledger.Case) []step.Step

// onCard are the failures of an allocation on the card under a server.
var onCard = []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle, fact.NCCLAlloc, fact.XPURuntime}

// figures are what sentences of clues name beside the log's own.
var figures = cause.Figures{
	"share": cause.Number("%g", shareSet),
}

func text(words string) func(*ledger.Case) []step.Step { return step.Paste("text", words) }

// shell is a command for the log's model, which stands in it as MODEL.
func shell(words string) func(c *ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "shell", Text: ofModel(c, words)}}
	}
}

// after puts a step before others.
func after(kind, words string, then func(c *ledger.Case) []step.Step) func(c *ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		return append([]step.Step{{Kind: kind, Text: words}}, then(c)...)
	}
}

// look is what shows who is on the card.
const look = "nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv"

// shareSet is the share of the card, or of what is free, that was set.
func shareSet(c *ledger.Case) (u float64, ok bool) {
	if u := c.F().Utilization; u != nil && u.Value > 0 && u.Value <= 1 {
		return u.Value, true
	}
	s, _ := c.Setting("mem_fraction_static", "cache_max_entry_count", "gpu_memory_utilization", "free_gpu_memory_fraction")
	u, err := strconv.ParseFloat(s.Value, 64)
	return u, err == nil && u > 0 && u <= 1
}

// shareBelow holds where a smaller share than that was set.
func shareBelow(most float64) func(c *ledger.Case) bool {
	return func(c *ledger.Case) bool { u, ok := shareSet(c); return ok && u < most }
}

// part is a share of a size as text, "" where the size is not known.
func part(s *fact.Size, share float64) string {
	if s == nil || s.Bytes <= 0 {
		return ""
	}
	return units.Amount(int64(float64(s.Bytes) * share))
}

// ofModel puts the log's model into a command.
func ofModel(c *ledger.Case, words string) string {
	return strings.ReplaceAll(words, "MODEL", step.Word(c, c.ModelName()))
}

// setting is a setting of the log as text, "" where it does not show it.
func setting(c *ledger.Case, names ...string) string {
	s, _ := c.Setting(names...)
	return s.Value
}
