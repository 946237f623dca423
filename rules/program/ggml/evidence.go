package ggml

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/books"
	"github.com/oomdoc/oomdoc/rules/when"
)

// figures are what ggml's sentences name beside the log's own.
var figures = cause.Figures{
	"try":     func(c *ledger.Case) string { return fmt.Sprint(contextToTry(c)) },
	"cache":   cause.Amount(func(c *ledger.Case) int64 { return budgetOf(c).KV }),
	"then":    cause.Amount(func(c *ledger.Case) int64 { return budgetOf(c).WithContext(contextToTry(c)).KV }),
	"matrix":  cause.Amount(func(c *ledger.Case) int64 { return scores(c, contextToTry(c)) }),
	"scores":  cause.Amount(func(c *ledger.Case) int64 { return min(scores(c, contextOf(c)), ledger.Requested(c)) }),
	"weights": cause.Amount(func(c *ledger.Case) int64 { return budgetOf(c).Weights }),
	"ubatch":  func(c *ledger.Case) string { return fmt.Sprint(physicalBatch(c)) },
	"refused": refusal,
	"card":    SharedMemoryCard,
}

// refusal ends a sentence about what was refused: its size, and by which memory.
func refusal(c *ledger.Case) string {
	where := cmp.Or(c.Failure.Memory, "the GPU")
	if ledger.InHost(c) {
		where = "system memory"
	}
	said := " did not fit into " + where + "."
	if f := c.F(); f.Requested != nil {
		said = " (" + units.Amount(f.Requested.Bytes) + ")" + said
	}
	if n := c.F().Context; n != nil && c.Failure.Stage == "kv" {
		said += " It grows with the context: " + n.Text + " tokens here."
	}
	return said
}

// evidence is a clue for ggml's cases of one sort: the first row that holds counts.
func evidence(these func(*ledger.Case) bool, rows ...cause.Row) cause.Clue {
	return cause.Where(these, figures.First(rows...)).Of(fact.GGMLAlloc, fact.GGMLLimit, fact.GGMLMetal, fact.GGMLRuntime, fact.GGMLSYCL, fact.GGMLPool, fact.GGMLPlan, fact.LlamaGuard)
}

// buffer: ggml was refused one of these parts.
func buffer(parts ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return ledger.GGMLRefused(c, parts...) }
}

// below: less was asked for than that, and how much is known.
func below(bytes int64) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { r := ledger.Requested(c); return r > 0 && r < bytes }
}

func above(bytes int64) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return ledger.Requested(c) >= bytes }
}

// contextFrom: the context is that long, or longer.
func contextFrom(tokens float64) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { f := c.F(); return f.Context != nil && f.Context.Value >= tokens }
}

func stage(name string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.Failure.Stage == name }
}

// deviceFull: oneAPI names device memory, not resources or the host's.
func deviceFull(c *ledger.Case) bool { return c.Contains("out_of_device_memory") }

func hostRefused(c *ledger.Case) bool { return ledger.GGMLRefused(c) && ledger.InHost(c) }
func bare(c *ledger.Case) bool        { return c.Failure.Stage == "" }
func arena(c *ledger.Case) bool       { return c.Root(fact.GGMLPool, fact.GGMLPlan) }
func loading(c *ledger.Case) bool     { return c.Phase == "load" }

// weightsOnly: it was loading, and neither cache nor working memory is listed yet.
func weightsOnly(c *ledger.Case) bool {
	return loading(c) && c.F().KVBuffer == nil && c.F().ComputeBuffer == nil && promptTokens(c) == 0
}

func diffuses(c *ledger.Case) bool    { return c.Says("stable-diffusion.cpp") }
func transcribes(c *ledger.Case) bool { return c.Says("whisper.cpp") }

// bareBuffer: a buffer was refused on the card, and nothing says which.
var bareBuffer = when.All(when.Root(fact.GGMLAlloc), bare, when.Not(ledger.InHost))

// roundPiece: a whole multiple of 64 MiB of a buffer that nothing names.
func roundPiece(c *ledger.Case) bool {
	r := ledger.Requested(c)
	return r >= 512*units.MiB && r%(64*units.MiB) == 0
}

// weightsWere refused, and nothing else came to be asked for.
var weightsWere = when.All(when.Root(fact.GGMLAlloc), stage("weights"), when.Not(second))

// second: the context of a first model was made before this failed: a draft,
// an adapter or another model came after it.
func second(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Buffers, func(b fact.Buffer) bool {
		return b.Kind == "kv" && b.Size.Line < c.Failure.Line && loadedBefore(c, b.Size.Line)
	})
}

// noText: there is no context to shorten and no batch of tokens.
var noText = when.Any(diffuses, transcribes)

// longPrompt: its cache and scratch memory fill a card, whatever the context.
func longPrompt(c *ledger.Case) bool { return promptTokens(c) >= 8192 }

// LargeBatch: more tokens than the default of -ub.
func LargeBatch(c *ledger.Case) bool { return physicalBatch(c) > 512 }

// wholeTexts: the physical batch is as long as the context, and long.
func wholeTexts(c *ledger.Case) bool {
	return physicalBatch(c) >= 4096 && contextOf(c) == physicalBatch(c)
}

// fewWeights: they are far from what Metal recommends at most.
func fewWeights(c *ledger.Case) bool { return budgetOf(c).Weights*10 < ledger.SizeOf(c.F().Limit)*6 }

// belowMetalLimit: Metal refused one buffer far below the working set.
func belowMetalLimit(c *ledger.Case) bool {
	return onMetal(c) && above(1)(c) && ledger.Requested(c)*10 <= ledger.SizeOf(c.F().Limit)*7
}

// SharedMemoryCard names the card if the only one shares the system's memory.
func SharedMemoryCard(c *ledger.Case) string {
	name := ""
	for _, d := range c.Facts.Devices {
		if d.Name != "" && !books.SharesMemory(d.Name) {
			return ""
		}
		name = cmp.Or(d.Name, name)
	}
	return name
}

func unified(c *ledger.Case) bool { return SharedMemoryCard(c) != "" && !ledger.InHost(c) }

// OddCard: the processor's own graphics failed, beside a real card.
func OddCard(c *ledger.Case) bool {
	if device := c.F().Device; device == nil || SharedMemoryCard(c) != "" || !c.Root(fact.GGMLRuntime, fact.GGMLAlloc, fact.GGMLLimit) {
		return false
	}
	return slices.ContainsFunc(c.Facts.Devices, func(d fact.Device) bool { return d.Index == int(c.F().Device.Value) && books.SharesMemory(d.Name) })
}
