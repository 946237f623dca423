package load

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/books"
)

func OnMetal(c *ledger.Case) bool { return c.Backend == "metal" }

func OnSYCL(c *ledger.Case) bool { return c.Backend == "sycl" }

func OnVulkan(c *ledger.Case) bool { return c.Backend == "vulkan" }

func ByOllama(c *ledger.Case) bool { return c.In("ollama") }

// AbsurdGraph reports a compute buffer beyond 64 GiB, or far beyond what attention
// scores over this context can need.
func AbsurdGraph(c *ledger.Case) bool {
	return c.F().Context == nil && ledger.Requested(c) > 64*units.GiB || BeyondContext(c)
}

// BeyondContext: scores of 128 heads over the whole context and twice the
// largest vocabulary are an upper bound of a sane graph; a partial offload adds
// the output matrix and copies of experts, up to a few GiB.
func BeyondContext(c *ledger.Case) bool {
	f := c.F()
	ub := PhysicalBatch(c)
	return ledger.GGMLRefused(c, "compute") && f.Context != nil && ledger.Requested(c) > int64(f.Context.Value)*ub*4*128+2*262144*ub*4+4*units.GiB
}

// SoftwareDevice reports that the failing device is a Vulkan driver that
// computes on the processor (Mesa's llvmpipe, SwiftShader): what it takes is the
// computer's own memory, and llama.cpp's own code is faster there. lavapipe
// states 2 GiB whatever the computer has (Mesa up to 22).
func SoftwareDevice(c *ledger.Case) bool {
	return OnVulkan(c) && slices.ContainsFunc(c.Facts.Devices, func(d fact.Device) bool {
		return MayFail(c, d) && (strings.Contains(strings.ToLower(d.Name), "llvmpipe") || strings.Contains(strings.ToLower(d.Name), "swiftshader"))
	})
}

// Pieced: what was refused is one of several pieces of the weights. Builds since
// February 2025 load them to a Vulkan device in pieces of at most 1 GiB
// (ggml-vulkan.cpp, suballocation_block_size).
func Pieced(c *ledger.Case) bool {
	return OnVulkan(c) && c.Failure.Stage == "weights" && ledger.Requested(c) <= units.GiB+units.MiB
}

// Claimed is what was listed as free on the failing device, where that is more
// than was refused.
func Claimed(c *ledger.Case) string {
	for _, d := range c.Facts.Devices {
		if d.Free != nil && MayFail(c, d) && d.Free.Bytes > ledger.Requested(c) {
			return units.Amount(d.Free.Bytes)
		}
	}
	return ""
}

// DevicesOf are the names of the cards, each once.
func DevicesOf(c *ledger.Case) string {
	names := map[string]int{}
	for _, d := range c.Facts.Devices {
		if d.Name != "" && len(d.Name) < 60 {
			names[d.Name]++
		}
	}
	for name, n := range names {
		if len(names) == 1 && n > 1 {
			return fmt.Sprintf("%d x %s", n, name)
		}
		if len(names) == 1 {
			return name
		}
	}
	return ""
}

// SharesOf lists the weights that each of several cards holds.
func SharesOf(c *ledger.Case) string {
	var list []string
	for i, x := range books.Cards(c) {
		if x.Weights > 0 {
			list = append(list, fmt.Sprintf("GPU %d %s", i, units.Amount(x.Weights)))
		}
	}
	if len(list) < 2 || len(list) > 8 {
		return ""
	}
	return strings.Join(list, ", ")
}

// weightsThere is what the card holds of the weights: what the log says of it, else
// the part of the file that its layers are.
func weightsThere(c *ledger.Case) int64 {
	size, _ := c.Fact("model_size")
	if n, all := OffloadedLayers(c), layersInAll(c); all > 0 {
		return cmp.Or(ledger.SizeOf(c.F().Weights), ledger.Proportion(ledger.SizeOf(size.Size), n, all))
	}
	return ledger.SizeOf(c.F().Weights)
}

// Placed says what a load put on the only card before it failed at work, as the
// load lines have it; "" where they do not.
func Placed(c *ledger.Case) string {
	f := c.F()
	weights, cache, graph := weightsThere(c), ledger.SizeOf(deviceKV(c)), ledger.SizeOf(f.ComputeBuffer)
	n := ContextOf(c)
	if weights == 0 || cache == 0 || n == 0 || SeveralDevices(c) || !c.Root(fact.GGMLRuntime, fact.GGMLMetal) {
		return ""
	}
	said := fmt.Sprintf("On the GPU: weights %s, KV cache %s for %s tokens (%s per token)", units.Amount(weights), units.Amount(cache), ledger.Thousands(n), units.Amount(cache/n))
	if graph > 0 {
		said += ", working memory " + units.Amount(graph)
	}
	said += "; together " + units.Amount(weights+cache+graph)
	if f.Limit != nil && OnMetal(c) {
		said += ", and macOS lets the GPU hold " + units.Amount(f.Limit.Bytes)
	}
	return said + "."
}

// OwnLength says whose length the context has, where nobody set it.
func OwnLength(c *ledger.Case, b Budget) string {
	switch set, ok := c.Setting("ctx_size"); {
	case b.Context == 0 && c.Says("gpustack", "llama-box"): // 8192 there
		return ""
	case b.Context == 0:
		return "Where no length is set, many versions use the model's maximum, often 131,072 tokens and more."
	case (!ok || set.Default) && b.Context >= 8192 && b.Context == Count(c, "n_ctx_train", MostTokens):
		return "That length is the model's maximum, which many versions use if you set none."
	case b.Context >= 65536 && (!ok || set.Default):
		return "If you did not set that length, it is the model's maximum, which many versions use by default."
	}
	return ""
}

// LargestCard is more than a card of a workstation holds.
const LargestCard = 64 * units.GiB

// Weighed is what is known of weights that were refused.
func Weighed(c *ledger.Case, out map[string]string) string {
	var said []string
	switch layers, had := "The weights of "+out["layers"]+" layers did not fit", out["had"]+" was free on the GPU."; {
	case out["layers"] != "" && out["had"] != "":
		said = append(said, layers+": "+had)
	case out["layers"] != "":
		said = append(said, layers+" into the GPU memory.")
	case out["had"] != "":
		said = append(said, strings.ToUpper(had[:1])+had[1:])
	}
	for _, s := range []string{out["pieces"], out["doubt"], out["close"]} {
		if s != "" {
			said = append(said, s)
		}
	}
	if c.Asked.Bytes <= LargestCard {
		said = append(said, "KV cache and working memory still come on top of the weights.")
	}
	return strings.Join(said, " ")
}
