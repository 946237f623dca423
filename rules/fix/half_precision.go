package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
)

var halfPrecision = Fix{
	ID:       "half_precision",
	Title:    "Load the weights at 16 bit",
	Tradeoff: "None that can be seen for running a model. For training use mixed precision instead.",
	Cost:     cheap,
	Check:    "`print(model.dtype)` after loading says bfloat16 or float16, and `model.get_memory_footprint() / 2**30` is about 2 GiB for each billion parameters.",
	Next:     "8 or 4 bit.",
	Needs:    Needs{notFor: noNetwork},
	Told:     "Use 16-bit weights (fp16 or bf16) in your program's settings.",
	Useless:  uselessHalf,
}

func uselessHalf(c *ledger.Case) string {
	if format := ledger.Quantised(c); format != "" {
		return fmt.Sprintf("%s is quantised already (%s).", quote.Told(c.ModelName()), format)
	}
	return ledger.SetQuantised(c, "load_in_4bit", "load_in_8bit")
}
