package rules

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/oomdoc/oomdoc/parsers/fact"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/units"
)

// What a fix prescribes passes the arithmetic of its effect, and one step more
// does not: for every fix that computes a value, over made-up figures.

func size(bytes int64) *fact.Size { return &fact.Size{Bytes: bytes, Text: units.Format(bytes)} }

func count(v float64) *fact.Count { return &fact.Count{Value: v, Text: fmt.Sprint(v)} }

// refused is an allocation on a card that PyTorch refused.
func refused(program, phase string, total, free, requested int64) *Case {
	x := fact.Failure{Kind: fact.TorchAlloc, Phase: phase, Line: 9, Figures: fact.Figures{
		Total: size(total), Free: size(free), Requested: size(requested), Allocated: size(total - free - units.GiB), Device: count(0),
	}}
	c := &Case{Failure: x, Chain: []fact.Failure{x}, Facts: &fact.Facts{}, Framework: program, Stack: []string{program, "pytorch"}, Phase: phase, Backend: "cuda"}
	derive(c)
	return c
}

func figures(seed uint64, each func(r *rand.Rand)) {
	r := rand.New(rand.NewPCG(seed, 7))
	for range 3000 {
		each(r)
	}
}

func TestLoweredUtilizationIsTheLargest(t *testing.T) {
	figures(1, func(r *rand.Rand) {
		total := units.GiB * (8 + r.Int64N(180))
		c := refused("vllm", "graph_capture", total, r.Int64N(units.GiB), 1+r.Int64N(4*units.GiB))
		c.F().Utilization = count(float64(70+r.IntN(29)) / 100)
		require.True(t, shareTooLarge(c))
		u := loweredUtilization(c)
		e := effectLowerShare(c)
		require.NotNil(t, e)
		if u <= 0.05 {
			return // nothing helps
		}
		assert.True(t, e.Fits)
		assert.Contains(t, vllmSmallerShare(c)[0].Text, percent(u))
		wanted := float64(max(c.F().Requested.Bytes, c.F().Free.Bytes) - c.F().Free.Bytes + units.GiB/2)
		given := (c.F().Utilization.Value - u) * float64(total)
		require.GreaterOrEqual(t, given+1, wanted, "%+v", e)
		require.Less(t, given-0.01*float64(total), wanted, "a hundredth more would do: %+v", e)
	})
}

// A smaller share may leave less than one request of full length: the length
// goes down with it.
func TestLengthAfterFitsTheSmallerCache(t *testing.T) {
	shortened := 0
	figures(2, func(r *rand.Rand) {
		total := units.GiB * (16 + r.Int64N(128))
		c := refused("vllm", "graph_capture", total, r.Int64N(units.GiB), 1+r.Int64N(2*units.GiB))
		c.F().Utilization = count(0.95)
		kv, times, length := total/8+r.Int64N(total/2), 1+3*r.Float64(), 1024*(1+r.IntN(128))
		c.F().KVAvailable = size(kv)
		c.Facts.Facts = []fact.Fact{{Name: "concurrency", Count: count(times), Line: 3}, {Name: "concurrency_length", Count: count(float64(length)), Line: 3}}
		u := loweredUtilization(c)
		left := float64(kv) - (0.95-u)*float64(total)
		tokens := times * float64(length) * left / float64(kv)
		n, short := lengthAfter(c, u)
		if left <= 0 {
			return
		}
		require.Equal(t, tokens < float64(length), short, "%v tokens of %d", tokens, length)
		if !short {
			return
		}
		shortened++
		assert.LessOrEqual(t, float64(n), max(tokens, 16))
		assert.Contains(t, vllmSmallerShare(c)[0].Text, fmt.Sprintf("--max-model-len %d", n))
		assert.Contains(t, effectSmallerShare(c, u).Note, fmt.Sprintf("Two changes together: the smaller cache holds one request of %d tokens", n))
	})
	assert.Greater(t, shortened, 50)
}

func TestSequencesAreTheMost(t *testing.T) {
	found := 0
	figures(3, func(r *rand.Rand) {
		c := refused("vllm", "warmup", 80*units.GiB, r.Int64N(units.GiB/2), units.GiB/8+r.Int64N(2*units.GiB))
		n := 64 << r.IntN(5)
		c.Facts.Settings = []fact.Setting{{Name: "max_num_seqs", Value: fmt.Sprint(n), Line: 1}}
		text := "logits_sort, logits_idx = logits.sort(dim=-1, descending=False)"
		if r.IntN(2) == 0 {
			text = "vllm/v1/sample/sampler.py"
		}
		c.Facts.Facts = []fact.Fact{{Name: "vllm_sampler", Text: text, Line: 2}}
		by, ok := sequencesDivisor(c)
		e := effectFewerSequences(c)
		require.Equal(t, ok, e != nil)
		if !ok {
			return
		}
		found++
		assert.True(t, e.Fits)
		assert.Equal(t, "log", e.Basis)
		assert.Equal(t, max(1, n/by), fewerSequences(c))
		if by > 4 {
			need, have := samplerAt(c, int64(by/2))
			assert.Greater(t, need, have, "half as small a part would do")
		}
	})
	assert.Greater(t, found, 1000)
}

func TestTokensBatchAndSidesAreTheMost(t *testing.T) {
	for name, x := range map[string]struct {
		divisor func(*Case) int
		steps   []int
		part    func(int) int
		effect  func(*Case) *Effect
	}{
		"tokens": {tokensDivisor, []int{2, 4, 8}, func(n int) int { return n }, effectTokens},
		"batch":  {batchDivisor, []int{2, 4, 8, 16, 32, 64}, func(n int) int { return n }, effectBatch},
		"sides":  {sideDivisor, []int{2, 3, 4}, func(n int) int { return n * n }, effectResolution},
	} {
		figures(4, func(r *rand.Rand) {
			c := refused("pytorch", "inference", 24*units.GiB, r.Int64N(2*units.GiB), 65*units.MiB+r.Int64N(8*units.GiB))
			if roomy(c) {
				return
			}
			by := x.divisor(c)
			e := x.effect(c)
			if e == nil {
				last := int64(x.part(x.steps[len(x.steps)-1]))
				require.Greater(t, c.F().Requested.Bytes/last, c.F().Free.Bytes, "%s: the smallest part would fit", name)
				return
			}
			require.LessOrEqual(t, e.NeedBytes, e.HaveBytes, name)
			for _, larger := range x.steps {
				if larger < by {
					require.Greater(t, c.F().Requested.Bytes/int64(x.part(larger)), c.F().Free.Bytes, "%s: 1/%d would do, 1/%d is said", name, larger, by)
				}
			}
		})
	}
}

// While loading, what is held are weights; later the effect says how many of
// them it takes, and no fewer would do.
func TestNarrowerWeights(t *testing.T) {
	for _, n := range []narrower{inFourBit, inEightBit, inHalf} {
		figures(5, func(r *rand.Rand) {
			c := refused("pytorch", []string{"load", "inference"}[r.IntN(2)], units.GiB*(6+r.Int64N(90)), r.Int64N(units.GiB), units.GiB+r.Int64N(3*units.GiB))
			held, have, ok := weightsAndRoom(c)
			if !ok {
				return
			}
			e := effectNarrower(c, n)
			least := n.least(c, held, have)
			short := c.F().Requested.Bytes - c.F().Free.Bytes
			require.GreaterOrEqual(t, shrinks(least+2, n), short, "the least frees too little")
			if least > held {
				require.True(t, e == nil || !e.Fits)
				return
			}
			require.NotNil(t, e)
			require.Equal(t, e.NeedBytes <= e.HaveBytes, e.Fits)
		})
	}
}

func TestLoweredFraction(t *testing.T) {
	figures(6, func(r *rand.Rand) {
		total := units.GiB * (12 + r.Int64N(180))
		c := refused("sglang", "inference", total, r.Int64N(units.GiB), 1+r.Int64N(6*units.GiB))
		c.F().Utilization = count(float64(60+r.IntN(36)) / 100)
		e := effectLowerFraction(c)
		if e == nil || loweredFraction(c) <= 0.3 {
			return
		}
		assert.True(t, e.Fits, "%+v", e)
		assert.LessOrEqual(t, loweredFraction(c), c.F().Utilization.Value-0.08+1e-9)
		less := c.F().Utilization.Value - loweredFraction(c)
		wanted := float64(c.F().Requested.Bytes - c.F().Free.Bytes + units.GiB/2)
		assert.True(t, less < 0.09+1e-9 || (less-0.01)*float64(staticPool(c)) < wanted, "a hundredth more would do")
	})
}

func TestDoubledLimitIsOfTheStep(t *testing.T) {
	for _, limit := range []int64{512 * units.MiB, 921600 << 10, 5 * units.GiB, 32 * units.GiB} {
		x := fact.Failure{Kind: fact.KernelKill, Figures: fact.Figures{Limit: size(limit), KilledRSS: size(limit / 2)}}
		c := &Case{Failure: x, Chain: []fact.Failure{x}, Facts: &fact.Facts{Facts: []fact.Fact{{Name: "cgroup", Text: "/docker/0a1b"}}}, Framework: "linux-oom-killer", Stack: []string{"linux-oom-killer"}}
		e := effectHostLimit(c)
		require.NotNil(t, e)
		assert.Greater(t, e.NeedBytes, limit)
		assert.GreaterOrEqual(t, e.HaveBytes, 2*limit)
		assert.Contains(t, stepsHostLimit(c)[0].Text, fmt.Sprintf("--memory=%dg", e.HaveBytes/units.GiB))
		assert.Equal(t, bound, e.Certainty)
	}
}

// PyTorch's own ranks on one card: what they hold comes free, and nothing else
// is counted.
func TestOwnCards(t *testing.T) {
	c := refused("pytorch", "load", 24*units.GiB, 20*units.MiB, 512*units.MiB)
	c.Failure.Source = "rank2"
	for _, pid := range []int{311, 312, 313} {
		c.Failure.Figures.OtherProcesses = append(c.Failure.Figures.OtherProcesses, fact.Process{PID: pid, Bytes: 6 * units.GiB, Text: "6.00 GiB"})
	}
	e := effectOwnCards(c)
	require.NotNil(t, e)
	assert.Equal(t, int64(18*units.GiB+20*units.MiB), e.HaveBytes)
	assert.True(t, e.Fits)
}

// A table names the card with room, and the step takes that one.
func TestFreestCard(t *testing.T) {
	c := refused("pytorch", "inference", 24*units.GiB, 20*units.MiB, 512*units.MiB)
	for i, used := range []int64{24, 20, 3, 9} {
		c.Facts.Devices = append(c.Facts.Devices, fact.Device{Index: i, Backend: "cuda", Total: size(24 * units.GiB), Used: size(used * units.GiB)})
	}
	assert.Equal(t, 2, otherGPU(c))
	e := effectFreerCard(c)
	require.NotNil(t, e)
	assert.Equal(t, int64(21*units.GiB), e.HaveBytes)
	assert.Contains(t, e.Note, "GPU 2")
}

// 8 bit alone is not enough, and with a larger share it is: both stand in one
// command, and a hundredth less of the card would not do.
func TestHalfCacheWithLargerShare(t *testing.T) {
	found := 0
	figures(8, func(r *rand.Rand) {
		total := units.GiB * (16 + r.Int64N(64))
		x := fact.Failure{Kind: fact.VLLMCacheTooSmall, Line: 9, Figures: fact.Figures{
			Total: size(total), KVAvailable: size(units.GiB + r.Int64N(8*units.GiB)), KVNeeded: size(2*units.GiB + r.Int64N(24*units.GiB)), MaxModelLen: count(32768), Utilization: count(float64(60+r.IntN(35)) / 100),
		}}
		c := &Case{Failure: x, Chain: []fact.Failure{x}, Facts: &fact.Facts{}, Framework: "vllm", Stack: []string{"vllm"}, Phase: "kv_cache", Backend: "cuda"}
		u, ok := shareForHalfCache(c)
		if !ok {
			return
		}
		found++
		e := effectHalfCache(c)
		require.NotNil(t, e)
		assert.True(t, e.Fits)
		assert.Contains(t, e.Note, "Two changes together")
		text := vllmSteps["quantize_kv_cache"](c)[0].Text
		assert.Contains(t, text, "--kv-cache-dtype fp8")
		assert.Contains(t, text, "--gpu-memory-utilization "+percent(u))
		less := float64(c.F().KVAvailable.Bytes) + (u-0.01-c.F().Utilization.Value)*float64(total)
		assert.Less(t, less, float64(c.F().KVNeeded.Bytes)/2+2)
	})
	assert.Greater(t, found, 200)
}

func TestTPUProgramShrinksWithTheBatch(t *testing.T) {
	x := fact.Failure{Kind: fact.TPUCompile, Figures: fact.Figures{Desired: size(41 * units.GiB), Limit: size(16 * units.GiB), Total: size(16 * units.GiB)}}
	c := &Case{Failure: x, Chain: []fact.Failure{x}, Framework: "jax", Stack: []string{"jax"}, Backend: "tpu", Facts: &fact.Facts{Facts: []fact.Fact{{Name: "tpu_program", Size: size(38 * units.GiB)}}}}
	assert.Nil(t, tpuProgramAt(c, 2), "3 + 19 is over 16")
	e := effectBatch(c)
	require.NotNil(t, e)
	assert.Equal(t, int64(3*units.GiB+38*units.GiB/4), e.NeedBytes)
	assert.Equal(t, condition, e.Certainty)
}

// Where giving back memory is not enough, what is added says so.
func TestTwoChangesTogether(t *testing.T) {
	c := refused("pytorch", "inference", 24*units.GiB, units.GiB, 6*units.GiB)
	assert.Empty(t, alsoSmaller(c, 6*units.GiB))
	assert.Contains(t, alsoSmaller(c, 4*units.GiB), "with 1/2 of the batch as well the piece that failed is at most 3.00 GiB")
	assert.Contains(t, alsoSmaller(c, 2*units.GiB), "1/4")
	c.Phase = "load"
	assert.Empty(t, alsoSmaller(c, 2*units.GiB))
}

// A cache of a fixed size is not made smaller by the share.
func TestShareOfAFixedCache(t *testing.T) {
	c := refused("vllm", "graph_capture", 24*units.GiB, 100*units.MiB, 600*units.MiB)
	assert.Empty(t, uselessLower(c))
	c.Facts.Settings = []fact.Setting{{Name: "kv_cache_memory_bytes", Value: "12884901888", Line: 1}}
	assert.Contains(t, uselessLower(c), "Lower that value by 1012.00 MiB")
}
