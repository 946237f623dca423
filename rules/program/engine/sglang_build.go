package engine

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/engine/cards"
)

// sglangStored are weights that are small on disk already.
var sglangStored = cause.Cure{Fix: "use_lower_quant", Title: "If it failed while loading, use smaller weights", Told: "Search the model's name with FP8, AWQ or GPTQ on huggingface.co. `--quantization fp8` with a 16-bit checkpoint does not help while loading.", Cost: "slight loss of quality"}

// sglangBuilds: the pasted traceback ends where a default device is applied.
func sglangBuilds(c *ledger.Case) bool {
	frames := ledger.Trace(c)
	return sglangLoading(c) && len(frames) > 0 && strings.HasSuffix(frames[len(frames)-1].File, "torch/utils/_device.py")
}

// onlineQuant says that a quantisation which is on already does not help a load,
// and how large the weights are that are loaded first.
func onlineQuant(c *ledger.Case) map[string]string {
	if ao, ok := c.Setting("torchao_config"); ok && ao.Value != "" && ledger.Quantised(c) == "" {
		out := map[string]string{"online": "`--torchao-config` cannot help here: it converts only after the 16-bit weights are loaded (except with `--load-format layered`)."}
		if m := c.Model; m != nil && c.Total.Has() && 2*m.Parameters > c.Total.Bytes {
			out["large"] = fmt.Sprintf("%.0f billion parameters at 16 bit are %s in total.", float64(m.Parameters)/1e9, units.Amount(2*m.Parameters))
		}
		return out
	}
	if cards.Quantises(c) == "fp8" && ledger.Quantised(c) == "" {
		return map[string]string{"online": "`--quantization fp8` cannot help here: SGLang first loads a 16-bit checkpoint at 16 bit and converts it afterwards."}
	}
	return nil
}

func sglangQuantised(c *ledger.Case) bool {
	return cards.Quantises(c) != "" || ledger.Quantised(c) != ""
}
