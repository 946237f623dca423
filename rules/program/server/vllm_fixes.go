package server

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/step"
)

// vllmServer: "vllm serve" exists since 0.5.5.
var vllmServer = launch{
	command: "vllm_command",
	aliases: map[string]string{"-tp": "tensor_parallel_size", "-pp": "pipeline_parallel_size", "-dp": "data_parallel_size", "-q": "quantization", "-gmu": "gpu_memory_utilization"},
	start: func(c *ledger.Case) []string {
		words := []string{"vllm", "serve", c.ModelName()}
		if vllmOld(c) {
			words = []string{"python", "-m", "vllm.entrypoints.openai.api_server", "--model", c.ModelName()}
		}
		return fromSettings(c, words, vllmOptions)
	},
}

// vllmOptions are the arguments of the log that a new command repeats.
var vllmOptions = []string{
	"host", "port", "served_model_name", "tokenizer", "trust_remote_code", "dtype", "quantization", "load_format", "kv_cache_dtype",
	"tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "enable_expert_parallel", "max_model_len",
	"gpu_memory_utilization", "max_num_seqs", "max_num_batched_tokens", "enable_chunked_prefill", "enforce_eager", "cpu_offload_gb",
	"swap_space", "block_size", "enable_prefix_caching", "reasoning_parser", "tool_call_parser", "enable_auto_tool_choice",
}

// vllmWith makes steps that start vLLM with options set: a command, or the
// call of a program that uses LLM().
func vllmWith(c *ledger.Case, set ...option) []step.Step {
	if !offline(c) {
		return []step.Step{{Kind: "shell", Text: vllmServer.with(c, set...)}}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "llm = LLM(model=%s", quote.Python(c.ModelName()))
	for _, o := range set {
		value := o.value
		if _, err := strconv.ParseFloat(value, 64); err != nil && value != "True" && !strings.HasPrefix(value, "{") {
			value = quote.Python(value)
		}
		fmt.Fprintf(&b, ", %s=%s", o.name, value)
	}
	b.WriteString(")")
	return []step.Step{{Kind: "python", Text: b.String()}}
}

func vllmSet(name, value string) func(c *ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step { return vllmWith(c, option{name, value}) }
}

var vllmSteps = map[string]func(c *ledger.Case) []step.Step{
	"lower_context": func(c *ledger.Case) []step.Step {
		return vllmWith(c, option{"max_model_len", strconv.Itoa(fittingLength(c))})
	},
	"raise_gpu_memory_utilization": func(c *ledger.Case) []step.Step {
		return vllmWith(c, option{"gpu_memory_utilization", percent(raisedUtilization(c))})
	},
	"lower_gpu_memory_utilization": vllmSmallerShare,
	"quantize_kv_cache": func(c *ledger.Case) []step.Step {
		set := []option{{"kv_cache_dtype", "fp8"}}
		if u, ok := shareForHalfCache(c); ok {
			set = append(set, option{"gpu_memory_utilization", percent(u)})
		}
		return vllmWith(c, set...)
	},
	"enforce_eager": vllmSet("enforce_eager", "True"),
	"lower_max_num_seqs": func(c *ledger.Case) []step.Step {
		return vllmWith(c, option{"max_num_seqs", strconv.Itoa(fewerSequences(c))})
	},
	"lower_max_batched_tokens": vllmFewerTokens,
	"multi_gpu": func(c *ledger.Case) []step.Step {
		return vllmWith(c, option{"tensor_parallel_size", strconv.Itoa(2 * max(1, ledger.IntSetting(c, "tensor_parallel_size")))})
	},
	"cpu_offload": vllmSet("cpu_offload_gb", "8"),
	"use_lower_quant": func(c *ledger.Case) []step.Step {
		return append([]step.Step{{Kind: "text", Text: "Take a 4-bit (AWQ, GPTQ) or FP8 checkpoint of the same model: search its name with -AWQ, -GPTQ-Int4 or -FP8 on huggingface.co. Or let vLLM make 4 bit out of this one while it loads (bitsandbytes has to be installed):"}},
			vllmWith(c, option{"quantization", "bitsandbytes"})...)
	},
	"lower_swap_space": func(c *ledger.Case) []step.Step {
		return vllmWith(c, option{"swap_space", strconv.Itoa(smallerSwap(c))})
	},
	"lower_resolution": func(c *ledger.Case) []step.Step {
		return vllmWith(c, option{"limit_mm_per_prompt", `{"image": 1}`}, option{"mm_processor_kwargs", `{"max_pixels": 1003520}`})
	},
	"enable_flash_attention": step.Paste("shell", "pip install flash-attn --no-build-isolation   # then start vLLM again: without it the image encoder builds the whole attention matrix"),
	"restart_session": func(c *ledger.Case) []step.Step {
		return append([]step.Step{{Kind: "shell", Text: "nvidia-smi -l 1   # wait until the used memory no longer moves"}}, vllmWith(c)...)
	},
	"upgrade_version": func(c *ledger.Case) []step.Step {
		steps := []step.Step{{Kind: "shell", Text: "pip install -U vllm"}}
		if vllmAbsurdGraphs(c).Weight > 0 && !offline(c) {
			steps = append([]step.Step{{Kind: "shell", Text: "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0 " + vllmServer.with(c)}}, steps...)
		}
		return steps
	},
}

// vllmSmallerShare lowers the share, and the length with it where one request
// would not fit the smaller cache.
func vllmSmallerShare(c *ledger.Case) []step.Step {
	u := loweredUtilization(c)
	set := []option{{"gpu_memory_utilization", percent(u)}}
	if n, short := lengthAfter(c, u); short {
		set = append(set, option{"max_model_len", strconv.Itoa(n)})
	}
	steps := vllmWith(c, set...)
	if now, stated := utilization(c); !stated && !c.Root(fact.VLLMFreeTooLow) {
		steps[0].Text += fmt.Sprintf("   # %.2f less than %g, the default: take as much off a share of your own", now-u, now)
	}
	return steps
}

func vllmFewerTokens(c *ledger.Case) []step.Step {
	n := 2048
	if now := ledger.IntSetting(c, "max_num_batched_tokens"); now > 0 {
		n = max(256, now/effect.TokensDivisor(c))
	}
	set := []option{{"max_num_batched_tokens", strconv.Itoa(n)}}
	if vllmOld(c) || longPrefill(c) {
		set = append(set, option{"enable_chunked_prefill", "True"})
	}
	return vllmWith(c, set...)
}

func percent(u float64) string { return strconv.FormatFloat(u, 'f', 2, 64) }

// fittingLength is the longest context that the log's figures allow, else half
// of what was asked for.
func fittingLength(c *ledger.Case) int {
	f := c.F()
	switch {
	case f.EstMaxModelLen != nil:
		return int(f.EstMaxModelLen.Value)
	case c.Root(fact.VLLMTokens) && f.KVTokens != nil:
		return int(f.KVTokens.Value)
	case f.KVNeeded != nil && f.KVAvailable != nil && f.MaxModelLen != nil && f.KVNeeded.Bytes > 0 && f.KVAvailable.Bytes > 0:
		n := f.MaxModelLen.Value * float64(f.KVAvailable.Bytes) / float64(f.KVNeeded.Bytes)
		return max(16, int(n*0.98)/16*16)
	}
	if times, ok := c.Fact("concurrency"); ok && f.MaxModelLen != nil && times.Count.Value < 1 {
		return max(16, int((times.Count.Value-0.005)*f.MaxModelLen.Value)/16*16)
	}
	if f.MaxModelLen != nil {
		return max(256, int(f.MaxModelLen.Value)/2)
	}
	if n := ledger.IntSetting(c, "max_model_len", "max_seq_len"); n > 512 {
		return n / 2
	}
	return 8192
}

// cacheGap is what the cache lacks for one request, if the log says so.
func cacheGap(c *ledger.Case) (int64, bool) {
	f := c.F()
	if f.KVAvailable == nil {
		return 0, false
	}
	gap := -1.0
	switch {
	case f.KVNeeded != nil:
		gap = float64(f.KVNeeded.Bytes - f.KVAvailable.Bytes)
	case c.Root(fact.VLLMTokens) && f.KVTokens != nil && f.MaxModelLen != nil && f.KVTokens.Value > 0:
		gap = float64(f.KVAvailable.Bytes) * (f.MaxModelLen.Value/f.KVTokens.Value - 1)
	case c.Root(fact.VLLMNoCache) && f.KVAvailable.Bytes <= 0:
		gap = float64(-f.KVAvailable.Bytes)
	}
	return int64(gap), gap >= 0 && gap < 1<<60 // damaged figures can say anything
}

// neededUtilization is the share at which one request fits; above 1 the card
// is too small for it.
func neededUtilization(c *ledger.Case) (float64, bool) {
	gap, ok := cacheGap(c)
	total := cardTotal(c)
	if !ok || total <= 0 {
		return 0, false
	}
	u, _ := utilization(c)
	return math.Ceil((u+float64(gap)/float64(total))*100-1e-9) / 100, true
}

// cardTotal is the card's memory by the failure's figures or by a table of
// devices, 0 if the log has none.
func cardTotal(c *ledger.Case) int64 {
	if t := c.F().Total; t != nil {
		return t.Bytes
	}
	for _, d := range c.Facts.Devices {
		if d.Total != nil && d.Total.Bytes > 0 {
			return d.Total.Bytes
		}
	}
	return 0
}

// mostUtilization is the largest share that a start can pass.
const mostUtilization = 0.97

func raisedUtilization(c *ledger.Case) float64 {
	if u, ok := neededUtilization(c); ok && u <= mostUtilization {
		return u
	}
	if u, known := utilization(c); known && u < 0.9 {
		return 0.92
	}
	return 0.95
}

// loweredUtilization is the largest share that passes the start check, else
// one that leaves the request and half a GiB of reserve.
func loweredUtilization(c *ledger.Case) float64 {
	f := c.F()
	if c.Root(fact.VLLMFreeTooLow) && f.Free != nil && f.Total != nil && f.Total.Bytes > 0 {
		return max(0.01, math.Floor(100*float64(f.Free.Bytes)/float64(f.Total.Bytes)+1e-9)/100)
	}
	u, _ := utilization(c)
	if total := cardTotal(c); total > 0 && f.Requested != nil {
		free := int64(0)
		if f.Free != nil {
			free = f.Free.Bytes
		}
		less := float64(max(0, f.Requested.Bytes-free)+units.GiB/2) / float64(total)
		if less < u {
			return max(0.05, math.Floor((u-less)*100)/100)
		}
	}
	return max(0.05, u-0.05)
}

// fewerSequences is the exact number where the log gives it, else a quarter.
func fewerSequences(c *ledger.Case) int {
	if x, ok := c.Fact("mamba_blocks"); ok && x.Count != nil && x.Count.Value >= 1 {
		return int(x.Count.Value)
	}
	by, computed := sequencesDivisor(c)
	n, known := sequences(c)
	switch {
	case computed:
		return max(1, n/by)
	case n > 64:
		return n / 4
	case known && n > 1:
		return max(1, n/2)
	}
	return 64
}

// sequences is max_num_seqs as set, or as the sampler's rows of a known
// vocabulary show it, else the usual default.
func sequences(c *ledger.Case) (n int, known bool) {
	if n := ledger.IntSetting(c, "max_num_seqs"); n > 0 {
		return n, true
	}
	m, r := ledger.Named(c).Model, c.F().Requested
	if m == nil || r == nil || !samplesRows(c) {
		return 256, false
	}
	found := 0
	for n := 64; n <= 2048; n *= 2 {
		for _, bytes := range [...]int64{4, 12} { // a row in 32 bit, and its sort
			if ledger.Near(fit.PyTorchAllocation(int64(n)*m.Vocab*bytes), r.Bytes, 5*units.MiB) {
				found = n
			}
		}
	}
	if found == 0 {
		return 256, false
	}
	return found, true
}

// samplesRows: what failed has a row of the vocabulary for each sequence.
func samplesRows(c *ledger.Case) bool {
	return c.Root(fact.VLLMWarmup) || ledger.VllmOnCard(c) && sampling(c)
}

// sorted: the sort of the logits failed, the largest piece of the sampler.
func sorted(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Facts, func(x fact.Fact) bool {
		return x.Name == "vllm_sampler" && strings.Contains(x.Text, "logits_sort")
	})
}

// sequencesDivisor is by how much to divide the sequences so that the sampler
// finds room. Beside the piece that failed there is the one it is made of,
// which shrinks too: the logits are at least a third of it (4 bytes against the
// 12 of a sort). Where it was not the sort, a sort of three times the piece may
// follow.
func sequencesDivisor(c *ledger.Case) (by int, ok bool) {
	f := c.F()
	if !samplesRows(c) || f.Requested == nil || f.Free == nil {
		return 0, false
	}
	for by := int64(4); by <= 64; by *= 2 {
		if need, have := samplerAt(c, by); need <= have {
			return int(by), true
		}
	}
	return 0, false
}

// samplerAt is what the sampler needs and finds with 1/by of the sequences.
func samplerAt(c *ledger.Case, by int64) (need, have int64) {
	r := c.F().Requested.Bytes
	need = ledger.CeilDiv(r, by)
	if !sorted(c) {
		need = ledger.CeilDiv(3*r, by)
	}
	return need, c.F().Free.Bytes + r/3 - ledger.CeilDiv(r/3, by)
}

// smallerSwap keeps swap_space, which counts for each card, under the 40 % of
// RAM where vLLM begins to warn.
func smallerSwap(c *ledger.Case) int {
	ram := c.F().SystemAvailable
	if ram == nil {
		return 0
	}
	cards := int64(max(1, ledger.IntSetting(c, "tensor_parallel_size")))
	return int(ram.Bytes * 4 / 10 / units.GiB / cards)
}

var vllmUseless = map[string]func(c *ledger.Case) string{
	"raise_gpu_memory_utilization": uselessRaise,
	"lower_gpu_memory_utilization": uselessLower,
	"quantize_kv_cache": func(c *ledger.Case) string {
		if s, ok := c.Setting("kv_cache_dtype"); ok && strings.HasPrefix(s.Value, "fp8") && ledger.ShareTooSmall(c) {
			return "The cache is at 8 bit already (kv_cache_dtype=" + s.Value + ")."
		}
		return ""
	},
	"enforce_eager": func(c *ledger.Case) string {
		if s, ok := c.Setting("enforce_eager"); ok && s.Value == "True" && c.In("vllm") {
			return "It runs without CUDA graphs already."
		}
		return ""
	},
}

// uselessRaise corrects vLLM's own tip where it can't help.
func uselessRaise(c *ledger.Case) string {
	switch {
	case shareTooLarge(c):
		return "It takes even more of the card before what failed here gets its part."
	case ledger.LoadingWeights(c), ledger.Profiling(c):
		return "The share is applied after loading and the dummy run; neither gets more room by it."
	case !ledger.ShareTooSmall(c):
		return ""
	}
	if s, ok := c.Setting("kv_cache_memory_bytes"); ok {
		return fmt.Sprintf("The cache was fixed at %s by hand, and then vLLM ignores the share. Change that value or the length.", s.Value)
	}
	gap, known := cacheGap(c)
	needed, ok := neededUtilization(c)
	u, stated := utilization(c)
	switch {
	case ok && known && needed > 1:
		return fmt.Sprintf("vLLM's own tip: %s more would be %.2f + %s / %s = %.2f, more than the card.", units.Format(gap), u, units.FormatGiB(gap), units.Format(cardTotal(c)), needed)
	case ok && needed > mostUtilization:
		return fmt.Sprintf("It would have to be %.2f; the driver and the graphs need more than that leaves.", needed)
	case stated && u >= 0.97:
		return fmt.Sprintf("It is at %g already.", u)
	}
	return ""
}

func uselessLower(c *ledger.Case) string {
	switch {
	case c.Root(fact.VLLMLoad), ledger.LoadingWeights(c):
		return "vLLM's own tip, but the share is applied after the weights are loaded: lowering it frees nothing for them."
	case ledger.Profiling(c):
		return "The dummy run comes before the cache is taken: a smaller share leaves it no more room."
	case ledger.ShareTooSmall(c):
		return "It makes the cache even smaller."
	case c.Root(fact.VLLMFreeTooLow):
		return ""
	}
	s, fixed := c.Setting("kv_cache_memory_bytes")
	if f := c.F(); fixed && f.Requested != nil && f.Free != nil {
		return fmt.Sprintf("The cache was fixed at %s by hand, and then vLLM ignores the share. Lower that value by %s, which is what was lacking and half a GiB.", s.Value, units.Format(max(f.Requested.Bytes-f.Free.Bytes, 0)+units.GiB/2))
	}
	return ""
}

var vllmWhys = map[string]func(c *ledger.Case) string{
	"quantize_kv_cache": func(c *ledger.Case) string {
		f := c.F()
		if !c.Root(fact.VLLMTokens) || f.KVTokens == nil || f.MaxModelLen == nil {
			return ""
		}
		if 2*f.KVTokens.Value >= f.MaxModelLen.Value {
			return fmt.Sprintf("At 8 bit the same memory holds about %.0f tokens: enough for %s.", 2*f.KVTokens.Value, f.MaxModelLen.Text)
		}
		return fmt.Sprintf("At 8 bit the same memory holds about %.0f tokens: not enough alone for %s.", 2*f.KVTokens.Value, f.MaxModelLen.Text)
	},
	"lower_max_num_seqs": func(c *ledger.Case) string {
		if x, ok := c.Fact("mamba_blocks"); ok {
			return fmt.Sprintf("%s state blocks exist, one for each sequence: that number starts. Exact.", x.Count.Text)
		}
		return ""
	},
}
