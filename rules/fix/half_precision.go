package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

// effectHalf: image programs load 16 bit unless told otherwise.
func effectHalf(c *ledger.Case) *effect.Effect {
	if c.In("a1111", "comfyui", "fooocus", "forge") {
		return nil
	}
	return effect.Narrowed("half_precision", effect.InHalf)(c)
}

var halfPrecision = Fix{
	ID:    "half_precision",
	Title: "Load the weights at 16 bit",
	Doc: []string{
		"Without a word about precision, transformers 4 and diffusers load weights at 32 bit, twice what is needed; transformers 5 takes the checkpoint's own. Say it: `torch_dtype=`, which is called `dtype=` from transformers 4.56 on.",
		"bfloat16 from NVIDIA's Ampere generation on and on AMD and Intel; float16 on older NVIDIA cards and on Macs. It does not help where the weights are at 16 bit or quantised already.",
	},
	Tradeoff: "None that can be seen for running a model. For training use mixed precision instead.",
	Cost:     0.1,
	Check:    "`print(model.dtype)` after loading says bfloat16 or float16, and `model.get_memory_footprint() / 2**30` is about 2 GiB for each billion parameters.",
	Next:     "8 or 4 bit.",
	Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{step.FromPretrained(c, "half = "+reader.HalfType(c)+"\n", reader.DtypeArgument(c)+"=half", `device_map="auto"`)}
	},
	Effect:  effectHalf,
	Useless: uselessHalf,
}

func uselessHalf(c *ledger.Case) string {
	if format := ledger.Quantised(c); format != "" {
		return fmt.Sprintf("%s is quantised already (%s).", quote.Printable(c.ModelName()), format)
	}
	return ledger.SetQuantised(c, "load_in_4bit", "load_in_8bit")
}
