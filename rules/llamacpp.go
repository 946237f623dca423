package rules

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/ggml"

	"github.com/oomdoc/oomdoc/internal/units"
)

// llamacppEngine judges llama.cpp's and ggml's messages, for the front ends
// too. What was refused decides: weights, KV cache or compute buffer, in
// device or in system memory.
var llamacppEngine = Engine{
	Programs: []string{"llama.cpp", "koboldcpp", "lm-studio", "stable-diffusion.cpp", "whisper.cpp"},
	Clues: map[string][]Clue{
		ModelTooLarge: {weightsRefused, bareRefusal, metalFull, guardRefused,
			said(0.42, "The model was loaded, and then the card had nothing left for the scratch memory of the computation.", fact.GGMLRuntime)},
		ContextTooLong:      {cacheRefused, computeRefused, contextAtRuntime, metalContext, guardContext},
		BatchTooLarge:       {batchOfCompute, batchOfPool, diffusionWork},
		OversizedAllocation: {overLimit, absurdBuffer},
		HostMemory:          {hostBuffer, unifiedMemory},
		DeviceImbalance:     {evenSplit, unevenBuffers, smallOnLaterCard, integratedCard},
		SoftwareBug: {arenaTooSmall, absurdForContext, refusedBelowLimit, guardWithoutFigure, tinyRefused,
			said(0.5, "The oneAPI runtime reports memory for other faults too (copies between devices, its 4 GiB limit of one allocation).", fact.GGMLSYCL)},
		Unknown: {nothingSaid},
	},
	Remedies: llamaRemedies,
	Steps:    llamaSteps,
	Effects:  llamaEffects,
	Checks:   llamaChecks,
	Useless:  llamaUseless,
	Whys:     llamaWhys,
}

// ggmlRefused reports a buffer that ggml was refused, with its stage.
func ggmlRefused(c *Case, stages ...string) bool {
	if !c.Root(fact.GGMLAlloc, fact.GGMLLimit) {
		return false
	}
	for _, s := range stages {
		if c.Failure.Stage == s {
			return true
		}
	}
	return len(stages) == 0
}

// inHost reports that what was refused is system memory, pinned or not.
func inHost(c *Case) bool { return ggml.HostMemory(c.Failure.Memory) }

// requested returns the bytes asked for, 0 if the log does not say.
func requested(c *Case) int64 {
	if r := c.F().Requested; r != nil {
		return r.Bytes
	}
	return 0
}

// asked puts the request and its place into words.
func asked(c *Case, what string) string {
	where := "the card"
	switch {
	case inHost(c):
		where = "system memory"
	case c.Failure.Memory != "":
		where = c.Failure.Memory
	}
	if r := c.F().Requested; r != nil {
		return fmt.Sprintf("%s (%s) was refused by %s.", what, units.Format(r.Bytes), where)
	}
	return fmt.Sprintf("%s was refused by %s.", what, where)
}

func weightsRefused(c *Case) Finding {
	if !c.Root(fact.GGMLAlloc) || c.Failure.Stage != "weights" {
		return nothing()
	}
	why := asked(c, "The buffer for the weights")
	switch {
	case inHost(c):
		return seen(0.3, why, c.Failure.Line)
	case c.In("ollama") && requested(c) > 0:
		return seen(0.4, why, c.Failure.Line) // Ollama chose how much to load: see plannedTooMuch
	case c.Backend == "metal" && refusedBelowLimit(c).Weight > 0:
		return seen(0.25, why, c.Failure.Line)
	}
	return seen(0.78, why+" It never came to a context: the weights alone do not fit beside what is there.", c.Failure.Line)
}

// bareRefusal: a buffer was refused and nothing says which. whisper.cpp's
// compute buffers have the size that the model gives them.
func bareRefusal(c *Case) Finding {
	if c.Says("whisper.cpp") && ggmlRefused(c, "compute", "kv") && !inHost(c) {
		return seen(0.6, asked(c, "A buffer")+" Its size follows from the size of the Whisper model.", c.Failure.Line)
	}
	if !c.Root(fact.GGMLAlloc) || c.Failure.Stage != "" || inHost(c) {
		return nothing()
	}
	why := asked(c, "A buffer") + " The lines that would say which part of the model it was are not in the log."
	switch {
	case c.Backend == "vulkan" && requested(c) >= nearVulkanLimit:
		return seen(0.25, why, c.Failure.Line)
	case c.Backend == "vulkan" && requested(c) < units.MiB:
		return seen(0.3, why, c.Failure.Line)
	}
	return seen(0.5, why+" The largest buffer is the weights', as a rule.", c.Failure.Line)
}

// metalFull: what Metal recommends is exceeded, and the weights are most of it.
func metalFull(c *Case) Finding {
	f := c.F()
	if !c.Root(fact.GGMLMetal) {
		return nothing()
	}
	if f.Limit == nil {
		return seen(0.4, "A Metal command buffer failed: weights, cache and graph need more than Metal gives.", c.Failure.Line)
	}
	weights := int64(0)
	switch {
	case f.Weights != nil:
		weights = f.Weights.Bytes
	case f.Allocated != nil:
		weights = f.Allocated.Bytes - sizeOf(f.KVBuffer) - sizeOf(f.ComputeBuffer)
	}
	if weights*10 < f.Limit.Bytes*6 {
		return seen(0.15, "The weights are well below Metal's limit.", c.Failure.Line)
	}
	return seen(0.7, fmt.Sprintf("The weights take about %s of the %s that Metal recommends to use at most.", units.Format(weights), units.Format(f.Limit.Bytes)), c.Failure.Line)
}

func sizeOf(s *fact.Size) int64 {
	if s == nil {
		return 0
	}
	return s.Bytes
}

// guardRefused: a front end's own estimate, of the size of a model.
func guardRefused(c *Case) Finding {
	need := c.F().SystemRequired
	switch {
	case !c.Root(fact.LlamaGuard) || c.F().Context != nil || hasFact("guard_nan")(c):
		return nothing()
	case need == nil:
		return seen(0.4, "A front end stopped before loading: by its own estimate, whose figure is not in this log, model and context do not fit.", c.Failure.Line)
	case need.Bytes > absurdEstimate:
		return nothing()
	}
	return seen(0.5, fmt.Sprintf("LM Studio estimates %s for model and context and stopped before loading.", need.Text), c.Failure.Line)
}

// absurdEstimate is more than any model people load at home: then the context
// drives the estimate.
const absurdEstimate = 100 << 30

func guardContext(c *Case) Finding {
	if !c.Root(fact.LlamaGuard) {
		return nothing()
	}
	if f := c.F(); f.Context != nil {
		return seen(0.85, fmt.Sprintf("The program itself computed that a context of %s tokens does not fit, before it allocated anything.", f.Context.Text), c.Failure.Line)
	}
	if need := c.F().SystemRequired; need != nil && need.Bytes > absurdEstimate {
		return seen(0.55, fmt.Sprintf("%s is far more than any model's weights: the context length drives the estimate.", need.Text), c.Failure.Line)
	}
	if hasFact("guard_nan")(c) {
		return nothing()
	}
	return seen(0.25, "The estimate counts the context too.", c.Failure.Line)
}

func guardWithoutFigure(c *Case) Finding {
	if !c.Root(fact.LlamaGuard) || !hasFact("guard_nan")(c) {
		return nothing()
	}
	return seen(0.85, "The estimate has no number (NaN): the guard's own arithmetic failed, and no memory was asked for.", c.Failure.Line)
}

func cacheRefused(c *Case) Finding {
	if c.Root(fact.GGMLCannotRun) {
		return seen(0.8, "One layer's part of the KV cache is larger than what this Vulkan device can address in a piece.", c.Failure.Line)
	}
	if ggmlRefused(c, "state") {
		return seen(0.33, asked(c, "The recurrent state of a hybrid model"), c.Failure.Line)
	}
	if !ggmlRefused(c, "kv") || c.Says("whisper.cpp") {
		return nothing()
	}
	why := asked(c, "The KV cache")
	if f := c.F(); f.Context != nil {
		why += fmt.Sprintf(" It grows with the context: %s tokens here.", f.Context.Text)
	}
	if inHost(c) {
		return seen(0.62, why, c.Failure.Line)
	}
	return seen(0.75, why+" The weights were in place.", c.Failure.Line)
}

// computeRefused: the graph's buffer grows with the physical batch, and
// without flash attention with the context too.
func computeRefused(c *Case) Finding {
	if !ggmlRefused(c, "compute", "output") {
		return nothing()
	}
	why := asked(c, "The compute buffer") + " Weights and KV cache were in place."
	context := c.F().Context
	switch {
	case c.Says("stable-diffusion.cpp", "whisper.cpp"):
		return nothing() // there is no context to shorten: see diffusionWork
	case absurdGraph(c):
		return seen(0.12, why, c.Failure.Line)
	case inHost(c) && requested(c) < units.GiB && requested(c) > 0:
		return seen(0.1, why, c.Failure.Line)
	case c.Root(fact.GGMLLimit) && context == nil:
		return seen(0.35, why, c.Failure.Line)
	case c.In("ollama"):
		return seen(0.35, why, c.Failure.Line)
	}
	return seen(0.5, why, c.Failure.Line)
}

// contextAtRuntime: a long context leaves the least room to grow.
func contextAtRuntime(c *Case) Finding {
	if !c.Root(fact.GGMLRuntime) {
		return nothing()
	}
	if f := c.F(); f.Context != nil && f.Context.Value >= 16384 {
		return seen(0.55, fmt.Sprintf("The context is %s tokens long, so that the KV cache takes much of the card.", f.Context.Text), c.Failure.Line)
	}
	if prompt, ok := c.Fact("prompt_tokens"); ok && prompt.Count.Value >= 8192 {
		return seen(0.5, fmt.Sprintf("The prompt alone is %s tokens long: the KV cache takes much of the card, and its scratch memory the rest.", prompt.Count.Text), prompt.Line, c.Failure.Line)
	}
	if pinned, ok := c.Fact("pinned_refused"); ok {
		return seen(0.5, fmt.Sprintf("%s of pinned memory was refused before: a round figure like that is a KV cache.", pinned.Size.Text), pinned.Line, c.Failure.Line)
	}
	return seen(0.33, "The KV cache may be what fills the card.", c.Failure.Line)
}

func metalContext(c *Case) Finding {
	f := c.F()
	if !c.Root(fact.GGMLMetal) {
		return nothing()
	}
	if f.Context != nil && f.Context.Value >= 16384 && f.Weights != nil && f.Limit != nil && f.Weights.Bytes*10 < f.Limit.Bytes*6 {
		return seen(0.65, fmt.Sprintf("The weights take %s of %s; the cache for %s tokens is what is left to explain it.", units.Format(f.Weights.Bytes), units.Format(f.Limit.Bytes), f.Context.Text), c.Failure.Line)
	}
	return seen(0.25, "The context may be what goes over the limit.", c.Failure.Line)
}

// physicalBatch is the -ub that held, 512 unless the log says otherwise.
func physicalBatch(c *Case) int64 {
	if s, ok := c.Setting("ubatch_size"); ok {
		if n, ok := whole(s.Value); ok {
			return n
		}
	}
	if x, ok := c.Fact("n_ubatch"); ok {
		return int64(x.Count.Value)
	}
	return 512
}

func batchOfCompute(c *Case) Finding {
	if !ggmlRefused(c, "compute") || absurdGraph(c) || c.Says("stable-diffusion.cpp", "whisper.cpp") {
		return nothing()
	}
	if ub := physicalBatch(c); ub > 512 {
		return seen(0.55, fmt.Sprintf("The physical batch is %d tokens; the compute buffer grows with it (512 is the default).", ub), c.Failure.Line)
	}
	return seen(0.28, "The compute buffer grows with the physical batch.", c.Failure.Line)
}

// batchOfPool: arenas of 2023 were planned for the usual batch.
func batchOfPool(c *Case) Finding {
	if !c.Root(fact.GGMLPool, fact.GGMLPlan) {
		return nothing()
	}
	if s, ok := c.Setting("batch_size"); ok {
		if n, ok := whole(s.Value); ok && n > 512 {
			return seen(0.8, fmt.Sprintf("The batch is %d tokens; the arena of this build is planned for 512.", n), s.Line, c.Failure.Line)
		}
	}
	return seen(0.15, "A batch or prompt that this build did not plan for.", c.Failure.Line)
}

// diffusionWork: stable-diffusion.cpp names the part that it computed.
func diffusionWork(c *Case) Finding {
	part, ok := c.Fact("diffusion_part")
	if !ok && c.Says("stable-diffusion.cpp") && c.Failure.Stage == "compute" {
		return seen(0.6, "The working memory of one step was refused; it grows with the size of the image or the batch.", c.Failure.Line)
	}
	if !ok || !c.Root(fact.GGMLSYCL, fact.GGMLAlloc, fact.GGMLLimit, fact.GGMLRuntime) {
		return nothing()
	}
	return seen(0.7, fmt.Sprintf("The last step asked for %s of working memory, which grows with the size of the image.", part.Size.Text), part.Line, c.Failure.Line)
}

// nearVulkanLimit is close to the 4 GiB that most Vulkan drivers give in one
// piece (maxMemoryAllocationSize, maxBufferSize).
const nearVulkanLimit = 7 * units.GiB / 2

func overLimit(c *Case) Finding {
	if c.Root(fact.GGMLLimit) {
		why := fmt.Sprintf("One buffer of %s is more than this device gives in one piece, however much is free.", units.Format(requested(c)))
		if requested(c) == 0 {
			why = "One buffer is larger than this device gives in one piece, however much is free."
		}
		switch {
		case c.Failure.Stage == "weights" || c.Failure.Stage == "":
			return seen(0.7, why, c.Failure.Line)
		case c.F().Context != nil && c.F().Context.Value >= 32768:
			return seen(0.42, why, c.Failure.Line)
		}
		return seen(0.55, why, c.Failure.Line)
	}
	if c.Root(fact.GGMLAlloc) && c.Backend == "vulkan" && c.Failure.Stage == "" && requested(c) >= nearVulkanLimit {
		return seen(0.45, fmt.Sprintf("One buffer of %s is at the 4 GiB that most Vulkan drivers give in one piece.", units.Format(requested(c))), c.Failure.Line)
	}
	return nothing()
}

// absurdBuffer: no setting makes one compute buffer that large but attention
// scores over the whole context, or a fault in the planning.
func absurdBuffer(c *Case) Finding {
	if !ggmlRefused(c, "compute") || !absurdGraph(c) {
		if ggmlRefused(c, "kv") && requested(c) > 100*units.GiB {
			return seen(0.3, fmt.Sprintf("One cache of %s is more than any card has.", units.Format(requested(c))), c.Failure.Line)
		}
		return nothing()
	}
	return seen(0.55, fmt.Sprintf("One compute buffer of %s is out of all proportion.", units.Format(requested(c))), c.Failure.Line)
}

// absurdGraph reports a compute buffer beyond 64 GiB, or far beyond what attention
// scores over this context can need.
func absurdGraph(c *Case) bool {
	if r := requested(c); r > 64*units.GiB && c.F().Context == nil {
		return true
	}
	return beyondContext(c)
}

// beyondContext: scores of 128 heads over the whole context and twice the
// largest vocabulary are an upper bound of a sane graph; a partial offload adds
// the output matrix and copies of experts, up to a few GiB.
func beyondContext(c *Case) bool {
	f := c.F()
	if !ggmlRefused(c, "compute") || f.Requested == nil || f.Context == nil {
		return false
	}
	ub := physicalBatch(c)
	return f.Requested.Bytes > int64(f.Context.Value)*ub*4*128+2*262144*ub*4+4*units.GiB
}

func absurdForContext(c *Case) Finding {
	if !beyondContext(c) {
		return nothing()
	}
	return seen(0.62, fmt.Sprintf("%s of compute buffer for a context of %s tokens is out of proportion: a fault of this version, or a vision part that is counted in.", units.Format(requested(c)), c.F().Context.Text), c.Failure.Line)
}

// hostBuffer: the computer's own memory was refused.
func hostBuffer(c *Case) Finding {
	if !ggmlRefused(c) || !inHost(c) {
		return nothing()
	}
	why := asked(c, "A buffer")
	switch c.Failure.Stage {
	case "weights":
		return seen(0.78, why+" That part of the weights lies in system memory, so that the card does not matter.", c.Failure.Line)
	case "kv", "state":
		return seen(0.35, why, c.Failure.Line)
	case "compute", "output":
		if requested(c) < units.GiB {
			return seen(0.8, why+" So little is refused only when nearly nothing is left, or when Windows has promised away RAM and page file.", c.Failure.Line)
		}
		return seen(0.38, why, c.Failure.Line)
	}
	return seen(0.7, why, c.Failure.Line)
}

// unifiedMemory: cards that share the system's memory are full when that is.
func unifiedMemory(c *Case) Finding {
	d := sharedMemoryCard(c)
	if d == "" || inHost(c) || !ggmlRefused(c, "weights", "") && !c.Root(fact.GGMLRuntime) {
		return nothing()
	}
	return seen(0.55, fmt.Sprintf("%s has no memory of its own: what it takes comes from the system's, and what the driver may take of that is limited.", d), c.Failure.Line)
}

// integrated are names of graphics that share the system's memory.
var integrated = []string{"8060s", "8050s", "890m", "880m", "780m", "680m", "660m", "radeon(tm) graphics", "radeon graphics", "gfx1151", "gfx1150", "gfx1103", "orin", "xavier", "thor", "gb10", "iris", "uhd graphics", "apple m"}

func sharesMemory(name string) bool {
	name = strings.ToLower(name)
	for _, part := range integrated {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// softwareDevice reports that the failing device is a Vulkan driver that
// computes on the processor (Mesa's llvmpipe, SwiftShader): what it takes is the
// computer's own memory, and llama.cpp's own code is faster there. lavapipe
// states 2 GiB whatever the computer has (Mesa up to 22).
func softwareDevice(c *Case) bool {
	index := -1
	if d := c.F().Device; d != nil {
		index = int(d.Value)
	}
	for _, d := range c.Facts.Devices {
		name := strings.ToLower(d.Name)
		if (index < 0 || d.Index < 0 || d.Index == index) && (strings.Contains(name, "llvmpipe") || strings.Contains(name, "swiftshader")) {
			return c.Backend == "vulkan"
		}
	}
	return false
}

// sharedMemoryCard names the card if the only one shares the system's memory.
func sharedMemoryCard(c *Case) string {
	name := ""
	for _, d := range c.Facts.Devices {
		if d.Name == "" {
			continue
		}
		if !sharesMemory(d.Name) {
			return ""
		}
		name = d.Name
	}
	return name
}

// unevenBuffers: the failing card holds far more of the weights than another.
func unevenBuffers(c *Case) Finding {
	f := c.F()
	if !ggmlRefused(c, "kv", "compute") || f.Weights == nil || f.Device == nil || inHost(c) {
		return nothing()
	}
	for _, b := range c.Facts.Buffers {
		if b.Kind != "weights" || ggml.HostMemory(b.Device) || strings.EqualFold(b.Device, c.Failure.Memory) {
			continue
		}
		if b.Size.Bytes*13 < f.Weights.Bytes*10 {
			weight := 0.6
			if b.Size.Bytes*5 < f.Weights.Bytes*3 || c.Failure.Stage == "compute" {
				weight = 0.8
			}
			return seen(weight, fmt.Sprintf("%s holds %s of weights, %s only %s: the split gives the full card too much.", c.Failure.Memory, units.Format(f.Weights.Bytes), b.Device, units.Format(b.Size.Bytes)), f.Weights.Line, c.Failure.Line)
		}
	}
	return nothing()
}

// evenSplit: the weights meant for one card are more than it has free, while
// the free memory of all cards would hold as much for each.
func evenSplit(c *Case) Finding {
	f := c.F()
	if !c.Root(fact.GGMLAlloc) || c.Failure.Stage != "weights" || f.Device == nil || inHost(c) {
		return nothing()
	}
	free, own, cards := int64(0), int64(0), int64(0)
	for _, d := range c.Facts.Devices {
		if d.Free == nil || d.Index < 0 {
			continue
		}
		cards++
		free += d.Free.Bytes
		if d.Index == int(f.Device.Value) {
			own = d.Free.Bytes
		}
	}
	if _, split := c.Setting("tensor_split"); !split || own == 0 || cards < 2 || requested(c)*cards > free*9/10 {
		return nothing()
	}
	return seen(0.85, fmt.Sprintf("%s was to go to %s with %s free; the cards have %s together: the split does not follow their sizes.", units.Format(requested(c)), c.Failure.Memory, units.Format(own), units.Format(free)), c.Failure.Line)
}

// smallOnLaterCard: little is refused, and not on the first card: the others
// had room.
func smallOnLaterCard(c *Case) Finding {
	f := c.F()
	if !ggmlRefused(c, "kv", "compute") || f.Device == nil || inHost(c) {
		return nothing()
	}
	switch {
	case f.Device.Value >= 1 && requested(c) > 0 && requested(c) < units.GiB:
		return seen(0.6, fmt.Sprintf("Only %s is missing, on card %s, while the cards before it took their share.", units.Format(requested(c)), f.Device.Text), c.Failure.Line)
	case f.Device.Value >= 1:
		return seen(0.25, "It is not the first card that is full.", c.Failure.Line)
	}
	return nothing()
}

// integratedCard: the failing device is the processor's own graphics, beside a
// real card.
func integratedCard(c *Case) Finding {
	f := c.F()
	if f.Device == nil || !c.Root(fact.GGMLRuntime, fact.GGMLAlloc, fact.GGMLLimit) {
		return nothing()
	}
	culprit, others := "", false
	for _, d := range c.Facts.Devices {
		if d.Index == int(f.Device.Value) && sharesMemory(d.Name) {
			culprit = d.Name
		} else if d.Name != "" && !sharesMemory(d.Name) {
			others = true
		}
	}
	if culprit == "" || !others {
		return nothing()
	}
	return seen(0.75, fmt.Sprintf("Device %s is %s, the processor's own graphics with little memory: it should not take part.", f.Device.Text, culprit), c.Failure.Line)
}

// arenaTooSmall: arenas and plans of fixed size are the program's own mistake.
func arenaTooSmall(c *Case) Finding {
	f := c.F()
	if !c.Root(fact.GGMLPool, fact.GGMLPlan) {
		return nothing()
	}
	weight := 0.78
	if batchOfPool(c).Weight > 0.5 {
		weight = 0.35 // a setting explains it
	}
	why := "A buffer of fixed size inside the program is too small. It is neither RAM nor VRAM that is short: that version planned it wrong."
	if f.Requested != nil && f.Free != nil {
		why = fmt.Sprintf("A buffer inside the program has %s and needs %s: %s too little. It is neither RAM nor VRAM that is short; that version planned it wrong.",
			units.Format(f.Free.Bytes), units.Format(f.Requested.Bytes), units.Format(f.Requested.Bytes-f.Free.Bytes))
	}
	return seen(weight, why, c.Failure.Line)
}

// refusedBelowLimit: Metal refuses one buffer far below the working set.
func refusedBelowLimit(c *Case) Finding {
	f := c.F()
	if !ggmlRefused(c) || c.Backend != "metal" || f.Requested == nil || f.Limit == nil || f.Requested.Bytes*10 > f.Limit.Bytes*7 {
		return nothing()
	}
	return seen(0.55, fmt.Sprintf("%s was refused although Metal recommends up to %s: one buffer was over the largest that Metal gives (later versions use several), or other programs hold the memory.", units.Format(f.Requested.Bytes), units.Format(f.Limit.Bytes)), c.Failure.Line)
}

func tinyRefused(c *Case) Finding {
	if !c.Root(fact.GGMLAlloc) || inHost(c) || requested(c) == 0 || requested(c) >= units.MiB {
		return nothing()
	}
	return seen(0.45, fmt.Sprintf("%s are refused: the device is full to the last byte, or the driver's number of allocations is used up.", units.Format(requested(c))), c.Failure.Line)
}

func nothingSaid(c *Case) Finding {
	switch {
	case ggmlRefused(c, "state"):
		return seen(0.45, "The recurrent state of a hybrid model was refused; it grows with the number of slots, not with the context, and no size is stated.", c.Failure.Line)
	case c.Root(fact.GGMLAlloc) && c.Failure.Stage == "" && c.Backend == "vulkan" && requested(c) < nearVulkanLimit:
		return seen(0.35, "The lines say only that this much was refused, not for what.", c.Failure.Line)
	case c.Root(fact.GGMLRuntime, fact.GGMLSYCL):
		return seen(0.2, "The message has no size.", c.Failure.Line)
	}
	return nothing()
}
