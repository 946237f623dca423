package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
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
	Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{step.FromPretrained(c, "half = "+reader.HalfType(c)+"\n", reader.DtypeArgument(c)+"=half", `device_map="auto"`)}
	},
	Useless: uselessHalf,
}

func uselessHalf(c *ledger.Case) string {
	if format := ledger.Quantised(c); format != "" {
		return fmt.Sprintf("%s is quantised already (%s).", quote.Told(c.ModelName()), format)
	}
	return ledger.SetQuantised(c, "load_in_4bit", "load_in_8bit")
}
