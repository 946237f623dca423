package script

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/explain"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Literal reads a size that the failing line itself states: torch.zeros([1, 1,
// 32769, 65536]), np.empty((60000, 60000)), torch.randn(1 << 30).
func Literal(q *explain.Question) *ledger.Explained {
	dims := literal(q.C)
	if dims == nil {
		return nil
	}
	s := &explain.Search{Question: q, Named: true}
	for _, bytes := range [...]int64{1, 2, 4, 8, 16} { // 16: complex numbers
		var terms []ledger.Term
		for _, n := range dims {
			if n != 1 {
				terms = append(terms, explain.Term("", n))
			}
		}
		s.Try(literalWhat, append(terms, explain.Term("bytes", bytes))...)
	}
	return s.Found()
}

const literalWhat = "is the tensor with the shape in the failing line"

// stated: the line says which tensor it was.
func stated(c *ledger.Case) bool { return c.Explained != nil && c.Explained.What == literalWhat }

// makers end the calls that maker reads.
var makers = []string{"zeros(", "ones(", "empty(", "full(", "rand(", "randn(", "randint(", "normal(", "random("}

var maker = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:torch|np|numpy|cp|cupy|jnp)\.(?:random\.)?(zeros|ones|empty|full|rand|randn|randint|normal|standard_normal|random)\((.*)$`)
})

// literal is the shape that the innermost lines of the traceback state in figures,
// nil where they have none, or a name in it.
func literal(c *ledger.Case) []int64 {
	frames := ledger.Trace(c)
	for i := len(frames) - 1; i >= max(0, len(frames)-3); i-- {
		source := frames[i].Source
		if !slices.ContainsFunc(makers, func(call string) bool { return strings.Contains(source, call) }) { // cheaper to see
			continue
		}
		m := maker().FindStringSubmatch(source)
		if m == nil {
			continue
		}
		listed, inside := "", false
		if at := strings.IndexAny(m[2], "(["); at >= 0 {
			listed, _, inside = strings.Cut(m[2][at+1:], map[byte]string{'(': ")", '[': "]"}[m[2][at]])
			before := strings.TrimSpace(m[2][:at])
			inside = inside && (before == "" || strings.HasSuffix(before, "=") || strings.HasSuffix(before, ",")) && !strings.Contains(before, "dtype")
		}
		if !inside {
			if m[1] == "full" || m[1] == "randint" || m[1] == "normal" {
				return nil // what stands first there are values
			}
			listed, _, _ = strings.Cut(m[2], ")")
		}
		return shape(listed)
	}
	return nil
}

// shape are the counts of a list, nil where one is no figure.
func shape(listed string) (dims []int64) {
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(listed), ","), ",") {
		part = strings.TrimSpace(part)
		if len(dims) > 0 && strings.Contains(part, "=") {
			break // device=..., dtype=...
		}
		n, ok := count(part)
		if !ok {
			return nil
		}
		dims = append(dims, n)
	}
	return dims
}

// count is a figure as people write it: 4096, 10_000, 4 * 1024, 2**30, 1 << 30.
func count(s string) (int64, bool) {
	if low, bits, shifted := strings.Cut(s, "<<"); shifted {
		n, ok := count(low)
		by, known := count(bits)
		return n << min(max(by, 0), 62), ok && known && by < 62 && n < 1<<(62-by)
	}
	product := int64(1)
	for factor := range strings.SplitSeq(strings.ReplaceAll(s, "**", "^"), "*") {
		base, power, raised := strings.Cut(factor, "^")
		n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimSpace(base), "_", ""), 10, 48)
		times := int64(1)
		if raised && err == nil {
			times, err = strconv.ParseInt(strings.TrimSpace(power), 10, 8)
		}
		if err != nil || n < 1 {
			return 0, false
		}
		for range times {
			if product *= n; product > 1<<48 {
				return 0, false
			}
		}
	}
	return product, true
}

// literalCards are about a tensor whose size the line states.
var literalCards = []cause.Card{{
	ID: "pytorch/stated-shape", Kinds: cures.Allocators, If: when.All(cures.OnOneCard, stated, largePiece, when.Not(when.Any(ledger.Crowded, ledger.Roomy, onIntel))),
	Cause: cause.OversizedAllocation, Weight: cause.Strong, Figures: literalFigures,
	Headline: "ran out of memory in a line that creates one tensor of {asked}",
	Means:    "The shape is written in that line, so no batch size or model changes it.",
	Not:      "{settings}.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "Create only the part you use", Cost: "some lines of code", Told: "Take the shape from the input (`x.shape`) instead of a fixed maximum, or work on blocks of rows.[[ {mask}]]"},
		{Fix: "half_precision", If: wide, Title: "Use a smaller data type", Cost: "precision", Told: "A mask needs 1 byte per value (`dtype=torch.bool`), a 16-bit type 2. It takes {width} now."},
		{Fix: "cpu_offload", Title: "Create it in system RAM, and move parts of it", Cost: "slower", Told: "Write `device=\"cpu\"` in that line, then `part.to(device)` for the rows in use. It takes {asked} of RAM."},
	},
	Sources: []string{cures.AllocatorSource, "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html"},
}}

// largePiece: an eighth of the card in one piece.
func largePiece(c *ledger.Case) bool { return c.Asked.Bytes*8 >= c.Total.Bytes }

// onIntel: there one piece has a limit of its own.
func onIntel(c *ledger.Case) bool { return c.Backend == "xpu" }

// perValue is how many bytes each value of that tensor has.
func perValue(c *ledger.Case) int64 { return c.Explained.Terms[len(c.Explained.Terms)-1].Value }

func wide(c *ledger.Case) bool { return perValue(c) > 1 }

func literalFigures(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	out["width"], out["mask"] = strconv.FormatInt(perValue(c), 10), ""
	if f := ledger.OwnFrame(c); f != nil && (strings.Contains(f.Source, "mask") || strings.Contains(f.Function, "mask")) {
		out["mask"] = "A causal mask needs no tensor at all: `scaled_dot_product_attention(q, k, v, is_causal=True)`."
	}
	return out
}
