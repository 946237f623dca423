package tensors

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// widths are the bytes of the types that compiled code names.
var widths = map[string]int64{"torch.float32": 4, "torch.float16": 2, "torch.bfloat16": 2, "torch.float64": 8, "torch.int64": 8, "torch.int32": 4, "torch.uint8": 1, "torch.bool": 1}

// compiledShape reads the buffer of a line of compiled code, whose sizes stand in
// it: "buf7 = empty_strided_cuda((262208, 2560), (2560, 1), torch.float32)".
func compiledShape(c *ledger.Case) (sizes []int64, kind string) {
	frames := ledger.Trace(c)
	if len(frames) == 0 {
		return nil, ""
	}
	_, call, found := strings.Cut(frames[len(frames)-1].Source, "empty_strided_cuda((")
	shape, rest, closed := strings.Cut(call, ")")
	if !found || !closed {
		return nil, ""
	}
	for part := range strings.SplitSeq(strings.Trim(shape, ", "), ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil || n <= 0 {
			return nil, "" // a size that is known at run time only
		}
		sizes = append(sizes, n)
	}
	kind = strings.TrimSuffix(strings.TrimSpace(rest[strings.LastIndexByte(rest, ',')+1:]), ")")
	return sizes, kind
}

// OfVocabulary reports a buffer of as many rows as a vocabulary has words, and of
// a language model's width.
func OfVocabulary(c *ledger.Case) bool {
	sizes, _ := compiledShape(c)
	return Compiled(c) != "" && len(sizes) == 2 && sizes[0] >= 30_000 && sizes[0] <= 300_000 && sizes[1] >= 512 && sizes[1] <= 20_000
}

// Compiled writes out the sizes of the buffer that compiled code was making, ""
// where they do not come to what was asked for.
func Compiled(c *ledger.Case) string {
	sizes, kind := compiledShape(c)
	bytes, written := widths[kind], make([]string, len(sizes))
	for i, n := range sizes {
		bytes *= n
		written[i] = ledger.Thousands(n)
	}
	if bytes > 0 && bytes <= c.Asked.Bytes+units.MiB && c.Asked.Bytes < bytes+bytes/10+20*units.MiB { // large pieces are rounded up
		return fmt.Sprintf("%s x %d bytes = %s", strings.Join(written, " x "), widths[kind], units.Amount(bytes))
	}
	return ""
}
