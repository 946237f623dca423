package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/rules/ledger"
)

func whyWeights(c *ledger.Case) string {
	f := c.F()
	if !ledger.Allocator(c) || f.Allocated == nil || f.Total == nil || f.Allocated.Bytes*2 < f.Total.Bytes || f.Allocated.Bytes > f.Total.Bytes {
		return ""
	}
	return fmt.Sprintf("This program alone holds %s of the %s.", f.Allocated, f.Total)
}

func noBitsAndBytes(c *ledger.Case) string {
	if c.Backend == "mps" && c.In("transformers") {
		return "bitsandbytes does not run on Apple's GPU; take a model that is quantised already (MLX, GGUF)."
	}
	return ""
}
