package pictures

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// bases are models whose size their name tells, by what files and functions are
// called after them; in billions of parameters.
var bases = []struct {
	part, shown string
	billions    float64
}{
	{"flux2", "", 0}, {"flux_2", "", 0}, // of several sizes
	{"flux", "FLUX.1", 12}, {"qwenimage", "Qwen-Image", 20}, {"qwen_image", "Qwen-Image", 20}, {"hidream", "HiDream", 17}, {"chroma", "Chroma", 8.9},
}

// Weighs says what the base model weighs beside the card, and what others hold
// there, where the log shows them.
func Weighs(c *ledger.Case) map[string]string {
	out := map[string]string{"base": "", "beside": ""}
	switch own := c.F().ProcessUsed; {
	case own != nil && c.Others.Bytes >= units.GiB/2:
		out["beside"] = "Other programs (desktop, browser, another run) hold " + c.Others.String() + " of the GPU."
	case own == nil && c.Others.Bytes >= 5*units.GiB/4:
		out["beside"] = c.Others.String() + " of the GPU is outside PyTorch: about half a GiB for this program's driver, the rest other programs (desktop, browser)."
	}
	names := []string{c.ModelName()}
	for _, f := range ledger.Trace(c) {
		names = append(names, f.File, f.Function)
	}
	said := strings.ToLower(strings.Join(names, " "))
	for _, b := range bases {
		if !strings.Contains(said, b.part) {
			continue
		}
		if bytes := int64(b.billions * 2e9); bytes > 0 {
			out["base"] = fmt.Sprintf("%s has about %g billion parameters: %s in 16 bit, half of that in 8 bit.", b.shown, b.billions, units.Amount(bytes))
		}
		break
	}
	return out
}
