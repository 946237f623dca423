package textgen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// textgenSizes is what the model takes at 16 bit and at 4.
func textgenSizes(c *ledger.Case) map[string]string {
	out := map[string]string{"full": "", "quarter": "", "gguf": "", "shares": "", "name": "", "whose": "", "moment": ", most likely while loading a model"}
	if c.Phase == "load" {
		out["moment"] = " while loading a model"
	}
	if c.Model != nil && c.Model.Parameters > 0 && !isGGUF(c) {
		out["full"], out["quarter"], out["gguf"] = units.Amount(2*c.Model.Parameters), roughly(c, 0.55), roughly(c, 0.6)
		out["name"] = quote.Told(c.Model.Name)
	}
	if asked := ledger.Requested(c); asked > 0 {
		out["shares"] = layerShares(asked)
		out["fits"] = "as many as your GPU holds (a 7B or 8B has 33, a 13B 41)"
		if m, ok := counted(c); ok {
			out["fits"] = fmt.Sprintf("about %d with 8 GB, %d with 12 GB, %d with 16 GB, %d with 24 GB (%s a layer)", m.holds(asked, 8), m.holds(asked, 12), m.holds(asked, 16), m.holds(asked, 24), units.Amount(asked/m.layers))
			out["shares"] = ""
		} else if m, ok := guessed(asked); ok {
			out["whose"] = fmt.Sprintf("%s is about what all %d layers of a %s model take at Q4_K_M (%s each). If it is one, a GPU with %d GB holds about %d of them with a context of 4096 tokens.", units.Amount(asked), m.layers, m.name, units.Amount(asked/m.layers), m.card(asked), m.holds(asked, m.card(asked)))
			out["shares"] = ""
		}
	}
	out["prompt"], out["to"] = "", truncated(c)
	if n := c.F().Context; n != nil && n.Value > shortPrompt {
		out["prompt"] = ledger.Thousands(int64(n.Value))
	}
	out["brief"] = ""
	if briefPrompt(c) {
		out["brief"] = fmt.Sprintf("This prompt had only %.0f tokens, so the weights leave too little room.", c.F().Context.Value)
	}
	return out
}

// roughly is what the model takes at so many bytes a parameter, without decimals
// that such a rule does not give.
func roughly(c *ledger.Case, bytes float64) string {
	gib := float64(c.Model.Parameters) * bytes / float64(units.GiB)
	if gib < 10 {
		return fmt.Sprintf("%.1f GiB", gib)
	}
	return fmt.Sprintf("%.0f GiB", gib)
}

// shortPrompt is a length of prompt, in tokens, that is cut to half of it.
const shortPrompt = 2048

// briefPrompt: the prompt that failed is known and too short to matter.
func briefPrompt(c *ledger.Case) bool {
	n := c.F().Context
	return n != nil && n.Value > 0 && n.Value < 256
}

// truncated is three quarters of the prompt that failed, half of a short one, and
// 1024 where the log does not show it.
func truncated(c *ledger.Case) string {
	n := c.F().Context
	switch {
	case n != nil && n.Value > shortPrompt && n.Value < 1<<24:
		return fmt.Sprint(int(n.Value) * 3 / 4 / 512 * 512)
	case n != nil && n.Value > 0 && n.Value < 1400:
		return fmt.Sprint(max(int(n.Value)/2/128*128, 256))
	}
	return "1024"
}

// ggufSize is a widespread model at Q4_K_M: what their layers take on the card, in
// MiB, and their cache a token and layer, in bytes.
type ggufSize struct {
	name               string
	mib, layers, cache int64
}

var widespread = []ggufSize{{"7B (Llama 2)", 3821, 33, 16384}, {"8B (Llama 3)", 4403, 33, 4096}, {"13B (Llama 2)", 7413, 41, 20480}, {"70B", 39980, 81, 4096}}

// guessed is the model whose layers take that much, within 4 %.
func guessed(asked int64) (ggufSize, bool) {
	for _, m := range widespread {
		if off := asked - m.mib*units.MiB; 25*max(off, -off) <= asked {
			return m, true
		}
	}
	return ggufSize{}, false
}

// counted is the model by the number of layers that the log says were put there.
func counted(c *ledger.Case) (ggufSize, bool) {
	s, _ := c.Setting("n_gpu_layers", "gpu_layers", "ngl")
	n := int64(step.Divided(s.Value, 1))
	return ggufSize{"", 0, n, 4096}, n > 4 && n < 200
}

// holds is how many layers go onto a card with their cache of 4096 tokens,
// beside a desktop and the work.
func (m ggufSize) holds(asked, gb int64) int64 {
	return min(m.layers, max(0, (gb*units.GiB*94/100-units.GiB)/(asked/m.layers+4096*m.cache)))
}

// card is the largest usual card that does not hold all layers.
func (m ggufSize) card(asked int64) int64 {
	of := int64(4)
	for _, gb := range []int64{6, 8, 12, 16, 24} {
		if 10*m.holds(asked, gb) < 8*m.layers {
			of = gb
		}
	}
	return of
}

// guessedLayers are the layers for that card where the log shows no setting.
func guessedLayers(c *ledger.Case) string {
	m, ok := counted(c)
	if !ok {
		m, ok = guessed(ledger.Requested(c))
	}
	if ok {
		return strconv.FormatInt(m.holds(ledger.Requested(c), m.card(ledger.Requested(c))), 10)
	}
	return fewerLayers(c)
}

// layerShares says which part of the layers that were refused cards hold beside
// a desktop, a cache of 4096 tokens and the work on it.
func layerShares(asked int64) string {
	var told []string
	for _, gb := range []int64{6, 8, 10, 12, 16, 24} {
		room := gb*units.GiB*94/100 - units.GiB*3/2
		if room >= asked {
			return strings.Join(append(told, fmt.Sprintf("all of them with %d GB (if that is your GPU, something else uses it)", gb)), ", ")
		}
		told = append(told, fmt.Sprintf("%d %% of them with %d GB", room*100/asked/5*5, gb))
	}
	return strings.Join(told[max(0, len(told)-3):], ", ")
}

// where is a cure for some of the logs that meet a card.
func where(holds func(*ledger.Case) bool, cure cause.Cure) cause.Cure {
	cure.If = holds
	return cure
}
