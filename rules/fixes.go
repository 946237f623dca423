package rules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
)

// Fixes returns every fix by its ID, in a map of the caller's own.
func Fixes() map[string]Fix { return maps.Clone(fixesByID()) }

// allFixes returns every fix, by what it changes.
func allFixes() []Fix {
	return []Fix{
		useLowerQuant, useSmallerModel, loadIn4Bit, loadIn8Bit, halfPrecision, cpuOffload, fewerGpuLayers, moeCpuOffload, multiGpu, biggerGpu, lowvramMode, useMmap,
		lowerContext, quantizeKvCache, enableFlashAttention, efficientAttention, lowerBatchSize, lowerResolution, vaeTiling, lowerUbatch, lowerParallel, lowerMaxNumSeqs, lowerMaxBatchedTokens, chunkedPrefill, enforceEager, fixShape,
		gradientCheckpointing, gradientAccumulation, mixedPrecision, useLora, optimizer8Bit, offloadOptimizer, shardTraining, inferenceMode, detachAccumulated, streamDataset, lowerNumWorkers,
		killStaleProcess, restartSession, emptyCache, selectGpu, balanceSplit, closeOtherApps, expandableSegments, maxSplitSize, limitFrameworkPreallocation, tfCudaMallocAsync, upgradeVersion,
		raiseGpuMemoryUtilization, lowerGpuMemoryUtilization, raiseMemFraction, lowerMemFraction, raiseMemoryLimit, raiseWatermark, lowerSwapSpace,
		raiseShmSize, raisePagefile, addSwap, lowerBuildJobs, freeDisk,
	}
}

// Cures returns the causes that list the fix as a remedy; engines add more.
func (f Fix) Cures() []Rule {
	return slices.DeleteFunc(All(), func(r Rule) bool {
		return !slices.ContainsFunc(r.Remedies, func(m Remedy) bool { return m.Fix == f.ID })
	})
}

var fixesByID = sync.OnceValue(func() map[string]Fix {
	byID := map[string]Fix{}
	for _, fix := range allFixes() {
		byID[fix.ID] = fix
	}
	return byID
})

// paste makes the steps of a fix that is the same for everybody.
func paste(kind, text string) func(*Case) []Step {
	return func(*Case) []Step { return []Step{{Kind: kind, Text: text}} }
}

// paragraphs joins the paragraphs of a fix's or a cause's Doc.
func paragraphs(list ...string) string { return strings.Join(list, "\n\n") }

// Checks that several fixes share.
const (
	checkLoaded = "After loading, `torch.cuda.memory_allocated() / 2**30` and `torch.cuda.memory_reserved() / 2**30` (GiB) stay about 1 GiB under the card's total, and a short generation runs through."
	checkStep   = "One whole step (forward, backward, optimizer) runs through; `torch.cuda.max_memory_allocated() / 2**30` printed after it is the real need in GiB."
	checkCard   = "The same work runs through, and `nvidia-smi` shows about 1 GiB of the card free while it does."
	checkRAM    = "`free -h` (Linux; the column `available`) or Task Manager, Performance, Memory (Windows) while it runs: the figure stops falling before it reaches zero."
)

// gpu is the index of the card that the message names. It counts inside
// CUDA_VISIBLE_DEVICES, as PyTorch's own arguments do.
func gpu(c *Case) int {
	if d := c.F().Device; d != nil && d.Value >= 0 {
		return int(d.Value)
	}
	return 0
}

// otherGPU is a card that the message does not name: the freest of a table,
// where the log has one.
func otherGPU(c *Case) int {
	if index, _, ok := freestCard(c); ok {
		return index
	}
	if gpu(c) == 0 {
		return 1
	}
	return 0
}

// monitor is the program that shows what a card holds.
func monitor(c *Case) string {
	switch c.Backend {
	case "rocm":
		return "rocm-smi"
	case "xpu":
		return "xpu-smi"
	case "npu":
		return "npu-smi info"
	case "mps", "metal":
		return "Activity Monitor"
	}
	return "nvidia-smi"
}

// checkOf is how to see that a fix worked, where a line can be put into the
// program that failed: else from outside.
func checkOf(c *Case, f Fix) string {
	switch {
	case !strings.Contains(f.Check, "torch.") || ownCode(c):
		return forBackend(c, f.Check)
	case c.Root(hostKinds...) || c.Backend == "cpu":
		return checkRAM
	}
	return forBackend(c, checkCard)
}

// ownCode: it was a script of the reader's own that failed, on PyTorch.
func ownCode(c *Case) bool {
	switch c.Framework {
	case "pytorch", "transformers", "diffusers", "deepspeed":
		return c.Backend != "cpu"
	}
	return c.Framework == "other" && c.In("pytorch") && c.Backend != "cpu"
}

// forBackend turns a text written for NVIDIA into the names of the case's
// backend: the monitor, and PyTorch's functions. ROCm builds keep torch.cuda.
func forBackend(c *Case, text string) string {
	switch c.Backend {
	case "mps":
		text = macFunctions.Replace(text)
	case "xpu", "npu":
		text = strings.ReplaceAll(text, "torch.cuda.", "torch."+c.Backend+".")
	}
	return strings.ReplaceAll(text, "nvidia-smi", monitor(c))
}

// macFunctions are those of torch.mps (2.0 and later), which keeps no peaks.
var macFunctions = strings.NewReplacer(
	"torch.cuda.memory_allocated()", "torch.mps.current_allocated_memory()",
	"torch.cuda.memory_reserved()", "torch.mps.driver_allocated_memory()",
	"torch.cuda.max_memory_allocated()", "torch.mps.driver_allocated_memory()",
	"torch.cuda.memory_summary()", "torch.mps.driver_allocated_memory()",
	"torch.cuda.empty_cache()", "torch.mps.empty_cache()",
)

// stepsForBackend does so for code. Commands are written for their backend.
func stepsForBackend(c *Case, steps []Step) []Step {
	for i := range steps {
		if steps[i].Kind == "python" {
			steps[i].Text = forBackend(c, steps[i].Text)
		}
	}
	return steps
}

// fromPretrained writes the loading of the log's model with transformers. The
// arguments come one a line, with a comment or without; setup goes before.
func fromPretrained(c *Case, setup string, arguments ...string) Step {
	var b strings.Builder
	imports := "AutoModelForCausalLM"
	if strings.Contains(setup+strings.Join(arguments, ""), "BitsAndBytesConfig") {
		imports += ", BitsAndBytesConfig"
	}
	b.WriteString("import torch\nfrom transformers import " + imports + "\n\n")
	b.WriteString(setup)
	fmt.Fprintf(&b, "model = AutoModelForCausalLM.from_pretrained(\n    %s,\n", pyQuote(c.ModelName()))
	for _, a := range arguments {
		value, comment, _ := strings.Cut(a, "   #")
		if comment != "" {
			comment = "   #" + comment
		}
		b.WriteString("    " + value + "," + comment + "\n")
	}
	b.WriteString(")")
	return Step{Kind: "python", Text: b.String()}
}

// onCard reports that the memory that ran out is a card's, not the computer's.
func onCard(c *Case) bool { return c.Backend != "" && c.Backend != "cpu" }

// torchFigures reports a message of PyTorch's allocators that says how much
// was wanted, so that tips can be held against it, or a server's that wraps one.
func torchFigures(c *Case) bool {
	return c.F().Requested != nil && (allocator(c) || c.Root(fact.VLLMLoad, fact.VLLMWarmup, fact.TGIWarmup) && c.F().Allocated != nil)
}

// workFigures is torchFigures, or the same of another framework whose message
// says what there was.
func workFigures(c *Case) bool {
	return torchFigures(c) || c.F().Requested != nil && onCard(c) && c.Root(otherAllocators...)
}

// otherAllocators are those frameworks' refusals of a piece of work.
var otherAllocators = []fact.Kind{fact.TFAlloc, fact.CuPyAlloc, fact.DeviceAlloc, fact.ORTLimit, fact.MLXBuffer, fact.BufferLimit, fact.TPUReserve}

// neverFits says that the one piece that was asked for exceeds the empty card.
func neverFits(c *Case) string {
	f := c.F()
	if absurdSize(c) {
		return "The size asked for is above an exbibyte: a number that is no size, which no card can give."
	}
	if f.Requested == nil || f.Total == nil || f.Requested.Bytes <= f.Total.Bytes {
		return ""
	}
	return fmt.Sprintf("One piece of %s was asked for, and the whole card has %s: it would not fit if the card were empty.", f.Requested.Text, f.Total.Text)
}

// limited says that a limit set for this process was hit, below what the card
// has.
func limited(c *Case) string {
	f := c.F()
	if !c.Root(fact.TorchAlloc, fact.TorchAsync) || f.Limit == nil || f.Total == nil || f.Limit.Bytes >= f.Total.Bytes {
		return ""
	}
	return fmt.Sprintf("This process may use %s of the %s only; what else is on the card does not matter.", f.Limit.Text, f.Total.Text)
}

// held is how much others have of the card at most, context of this process
// taken off where it is in it; ok is false where the figures do not say.
func held(c *Case) (bytes int64, ok bool) {
	f := c.F()
	switch {
	case c.Others.Has() && (f.ProcessUsed != nil || c.OurPID != 0):
		return max(c.Others.Bytes, 0), true
	case c.Others.Has():
		return max(c.Others.Bytes-driverContext, 0), true
	case f.Total != nil && f.Allocated != nil && c.Root(fact.TorchAlloc, fact.TorchAsync):
		return max(f.Total.Bytes-f.Allocated.Bytes, 0), true
	}
	return 0, false
}

// scaled is the effect of making the piece that failed smaller by a divisor.
// It is a bound: the other values of the step shrink as well. Where the bound
// is not enough nothing is known, and pieces up to 64 MiB only were the last
// straw.
func scaled(c *Case, divisor int, how string) *Effect {
	f := c.F()
	free, told := roomFor(c)
	if !workFigures(c) || told == "" || f.Requested.Bytes <= 64*units.MiB || roomy(c) {
		return nil
	}
	need := f.Requested.Bytes / int64(divisor)
	if need > free {
		return nil
	}
	return &Effect{NeedBytes: need, HaveBytes: free, Fits: true, Basis: "log", Certainty: bound,
		Note: fmt.Sprintf("%s the piece that failed is at most %s, and %s. A bound, if it grows with that setting: the rest of the step shrinks too.", how, units.Format(need), told)}
}

// tokensDivisor is by how much to divide the tokens of a step so that the piece
// that failed fits what was free, 2 to 8; 2 where the figures do not say.
func tokensDivisor(c *Case) int {
	for _, by := range [...]int{2, 4, 8} {
		if scaled(c, by, "") != nil {
			return by
		}
	}
	return 2
}

// effectTokens is what that leaves of the piece.
func effectTokens(c *Case) *Effect {
	by := tokensDivisor(c)
	return scaled(c, by, fmt.Sprintf("With 1/%d of the tokens of a step", by))
}

// roomFor is what a request found: the free figure, else what a limit leaves.
// It says so in words, "" where the log does not tell.
func roomFor(c *Case) (bytes int64, told string) {
	f := c.F()
	switch {
	case f.Free != nil && !allocator(c):
		return f.Free.Bytes, units.Format(f.Free.Bytes) + " was free"
	case f.Free != nil:
		return f.Free.Bytes, f.Free.Text + " was free"
	case f.Limit != nil && c.Root(fact.MLXBuffer, fact.BufferLimit):
		return f.Limit.Bytes, units.Format(f.Limit.Bytes) + " is the most in one piece"
	case f.Limit == nil || f.Allocated == nil:
		return 0, ""
	}
	bytes = f.Limit.Bytes - f.Allocated.Bytes - sizeOf(f.OtherAllocations)
	if bytes < 0 || f.Requested != nil && bytes > f.Requested.Bytes && !allocator(c) {
		return 0, "" // fragments, not the sum, were in the way
	}
	return bytes, fmt.Sprintf("%s of the limit of %s was left", units.Format(bytes), limitText(c))
}

// limitText is the limit as written, with a unit where a program prints bare
// bytes.
func limitText(c *Case) string {
	if allocator(c) {
		return c.F().Limit.Text
	}
	return units.Format(c.F().Limit.Bytes)
}

// effectShorterPrompt is what half the length leaves of the piece that failed: a
// quarter of an attention matrix, half of anything else.
func effectShorterPrompt(c *Case) *Effect {
	if p, ok := failingTensor(c); ok && strings.HasPrefix(p.What, "attention matrix") {
		return scaled(c, 4, "With half the length, and an attention matrix that grows with its square,")
	}
	return scaled(c, 2, "With half the length")
}

// effectLargerCard: the smallest card with room for what was held and wanted.
func effectLargerCard(c *Case) *Effect {
	f := c.F()
	if !torchFigures(c) || !c.Mine.Has() || f.Total == nil || f.Limit != nil || roomy(c) || c.Backend == "mps" || estimated(c, "bigger_gpu") != nil {
		return nil // nothing to go by, or the model is sized as a whole
	}
	need := c.Mine.Bytes + f.Requested.Bytes
	vendor := map[string]string{"rocm": "AMD"}[c.Backend]
	card, ok := fit.SmallestCard(max(need, f.Total.Bytes+1), vendor)
	if !ok || c.Backend != "cuda" && vendor == "" {
		return nil
	}
	return &Effect{NeedBytes: need, HaveBytes: card.Bytes, Fits: true, Basis: "log", Certainty: bound,
		Note: fmt.Sprintf("%s held + %s wanted: the next size is %d GB (such as %s). A lower bound: what comes after this request needs room too.", units.Format(c.Mine.Bytes), f.Requested.Text, card.GB, card.Names[0])}
}

// effectMaxMemory: what a limit for the card leaves free, against the request.
func effectMaxMemory(c *Case) *Effect {
	f := c.F()
	if !torchFigures(c) || f.Total == nil || !onCard(c) || !c.Others.Has() || !c.In("transformers") && c.Framework != "pytorch" {
		return nil
	}
	share := cardShare(c)
	have := f.Total.Bytes - max(c.Others.Bytes, driverContext) - share
	return &Effect{NeedBytes: f.Requested.Bytes, HaveBytes: have, Fits: have >= f.Requested.Bytes, Basis: "log",
		Note: fmt.Sprintf("With %d GiB of weights on the card at most, %s of its %s stay free beside %s that others and the driver hold. Exact for this request.", share/units.GiB, units.Format(have), f.Total.Text, units.Format(max(c.Others.Bytes, driverContext)))}
}

// divided is a positive whole setting divided, at least 1; 0 if it is none.
func divided(value string, by int) int {
	n, err := strconv.Atoi(value)
	if err != nil || n <= 0 || n > 1<<30 {
		return 0
	}
	return max(n/by, 1)
}
