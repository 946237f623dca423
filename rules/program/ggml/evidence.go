package ggml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// row is what a case is worth as evidence, and what is said of it. Names in
// braces stand for its figures.
type row struct {
	holds  func(*ledger.Case) bool // nil: always
	weight float64                 // 0: none
	why    string
}

// evidence is a clue for cases of one sort: the first row that holds counts.
func evidence(these func(*ledger.Case) bool, rows ...row) cause.Clue {
	return func(c *ledger.Case) cause.Finding {
		if !these(c) {
			return cause.Nothing()
		}
		for _, r := range rows {
			if r.holds == nil || r.holds(c) {
				why, lines := fill(c, r.why)
				return cause.Seen(r.weight, why, append(lines, c.Failure.Line)...)
			}
		}
		return cause.Nothing()
	}
}

// reason is what all rows say that hold.
func reason(rows ...row) func(*ledger.Case) string {
	return func(c *ledger.Case) string {
		var why []string
		for _, r := range rows {
			if r.holds(c) {
				sentence, _ := fill(c, r.why)
				why = append(why, sentence)
			}
		}
		return strings.Join(why, " ")
	}
}

// fill puts the figures of a case into a sentence, and returns the lines of
// those that the failure itself does not state.
func fill(c *ledger.Case, sentence string) (filled string, lines []int) {
	if !strings.Contains(sentence, "{") {
		return sentence, nil
	}
	f := c.F()
	size := units.Amount(ledger.Requested(c))
	request, context, sized := " ("+size+")", "", " of "+size
	if f.Requested == nil {
		request, sized = "", ""
	}
	where := cmp.Or(c.Failure.Memory, "the card")
	if ledger.InHost(c) {
		where = "system memory"
	}
	request += " was refused by " + where + "."
	if f.Context != nil {
		context = f.Context.Text
		if c.Failure.Stage == "kv" {
			request += fmt.Sprintf(" It grows with the context: %s tokens here.", context)
		}
	}
	by := ""
	if f.Requested != nil && f.Free != nil {
		by = fmt.Sprintf(": it has %s and needs %s, %s more", units.Amount(f.Free.Bytes), size, units.Amount(f.Requested.Bytes-f.Free.Bytes))
	}
	batch, _ := c.Setting("batch_size")
	work, _ := c.Fact("diffusion_part")
	pinned, _ := c.Fact("pinned_refused")
	prompt, _ := c.Fact("prompt_tokens")
	for mark, line := range map[string]int{"{batch}": batch.Line, "{work}": work.Line, "{pinned}": pinned.Line, "{prompt}": prompt.Line} {
		if strings.Contains(sentence, mark) {
			lines = append(lines, line)
		}
	}
	b, try := budgetOf(c), contextToTry(c)
	return strings.NewReplacer(
		"{try}", fmt.Sprint(try), "{cache}", units.Amount(b.KV), "{then}", units.Amount(b.withContext(try).KV), "{matrix}", units.Amount(scores(c, try)),
		"{refused}", request, "{size}", size, "{of size}", sized, "{by}", by, "{context}", context, "{ubatch}", fmt.Sprint(b.Batch), "{batch}", batch.Value,
		"{work}", text(work.Size), "{pinned}", text(pinned.Size), "{prompt}", fmt.Sprint(count(c, "prompt_tokens", mostTokens)),
		"{scores}", units.Amount(min(scores(c, b.Context), b.Refused)), "{weights}", units.Amount(b.Weights), "{limit}", units.Amount(ledger.SizeOf(f.Limit)),
		"{need}", text(f.SystemRequired), "{available}", text(f.SystemAvailable), "{short}", units.Amount(missing(c)), "{card}", sharedMemoryCard(c),
	).Replace(sentence), lines
}

// text is a figure as the log writes it.
func text(s *fact.Size) string {
	if s == nil {
		return "whose figure is not in this log"
	}
	return s.String()
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

func onMetal(c *ledger.Case) bool     { return c.Backend == "metal" }
func onVulkan(c *ledger.Case) bool    { return c.Backend == "vulkan" }
func hostRefused(c *ledger.Case) bool { return ledger.GGMLRefused(c) && ledger.InHost(c) }
func bare(c *ledger.Case) bool        { return c.Failure.Stage == "" }
func arena(c *ledger.Case) bool       { return c.Root(fact.GGMLPool, fact.GGMLPlan) }
func loading(c *ledger.Case) bool     { return c.Phase == "load" }
func diffuses(c *ledger.Case) bool    { return c.Says("stable-diffusion.cpp") }
func transcribes(c *ledger.Case) bool { return c.Says("whisper.cpp") }
func byOllama(c *ledger.Case) bool    { return c.In("ollama") }

// bareBuffer: a buffer was refused on the card, and nothing says which.
var bareBuffer = when.All(when.Root(fact.GGMLAlloc), bare, when.Not(ledger.InHost))

// weightsWere refused, and nothing else came to be asked for.
var weightsWere = when.All(when.Root(fact.GGMLAlloc), stage("weights"))

// noText: there is no context to shorten and no batch of tokens.
var noText = when.Any(diffuses, transcribes)

// longPrompt: its cache and scratch memory fill a card, whatever the context.
func longPrompt(c *ledger.Case) bool { return count(c, "prompt_tokens", mostTokens) >= 8192 }

// largeBatch: more tokens than the default of -ub.
func largeBatch(c *ledger.Case) bool { return physicalBatch(c) > 512 }

// beyondArena: arenas of 2023 were planned for 512 tokens.
func beyondArena(c *ledger.Case) bool { return ledger.IntSetting(c, "batch_size") > 512 }

// fewWeights: they are far from what Metal recommends at most.
func fewWeights(c *ledger.Case) bool {
	return budgetOf(c).Weights*10 < ledger.SizeOf(c.F().Limit)*6
}

// belowMetalLimit: Metal refused one buffer far below the working set.
func belowMetalLimit(c *ledger.Case) bool {
	return onMetal(c) && above(1)(c) && ledger.Requested(c)*10 <= ledger.SizeOf(c.F().Limit)*7
}

// absurdGraph reports a compute buffer beyond 64 GiB, or far beyond what attention
// scores over this context can need.
func absurdGraph(c *ledger.Case) bool {
	return c.F().Context == nil && ledger.Requested(c) > 64*units.GiB || beyondContext(c)
}

// beyondContext: scores of 128 heads over the whole context and twice the
// largest vocabulary are an upper bound of a sane graph; a partial offload adds
// the output matrix and copies of experts, up to a few GiB.
func beyondContext(c *ledger.Case) bool {
	f := c.F()
	ub := physicalBatch(c)
	return ledger.GGMLRefused(c, "compute") && f.Context != nil && ledger.Requested(c) > int64(f.Context.Value)*ub*4*128+2*262144*ub*4+4*units.GiB
}

// softwareDevice reports that the failing device is a Vulkan driver that
// computes on the processor (Mesa's llvmpipe, SwiftShader): what it takes is the
// computer's own memory, and llama.cpp's own code is faster there. lavapipe
// states 2 GiB whatever the computer has (Mesa up to 22).
func softwareDevice(c *ledger.Case) bool {
	return onVulkan(c) && slices.ContainsFunc(c.Facts.Devices, func(d fact.Device) bool {
		name := strings.ToLower(d.Name)
		return mayFail(c, d) && (strings.Contains(name, "llvmpipe") || strings.Contains(name, "swiftshader"))
	})
}

// sharedMemoryCard names the card if the only one shares the system's memory.
func sharedMemoryCard(c *ledger.Case) string {
	name := ""
	for _, d := range c.Facts.Devices {
		if d.Name != "" && !ledger.SharesMemory(d.Name) {
			return ""
		}
		name = cmp.Or(d.Name, name)
	}
	return name
}

func unified(c *ledger.Case) bool { return sharedMemoryCard(c) != "" && !ledger.InHost(c) }

// oddCard: the failing device is the processor's own graphics, beside a real
// card.
func oddCard(c *ledger.Case) bool {
	device := c.F().Device
	if device == nil || sharedMemoryCard(c) != "" || !c.Root(fact.GGMLRuntime, fact.GGMLAlloc, fact.GGMLLimit) {
		return false
	}
	return slices.ContainsFunc(c.Facts.Devices, func(d fact.Device) bool { return d.Index == int(device.Value) && ledger.SharesMemory(d.Name) })
}
