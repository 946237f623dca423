package calls

import (
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// vocabularies are sizes of tables of tokens, as checkpoints have them: Gemma,
// Llama 2 and 3, Qwen, GPT-2, GPT-NeoX, T5, PaliGemma (vocab_size of config.json).
var vocabularies = []int64{256000, 256128, 257152, 262144, 262208, 32000, 32128, 128256, 151936, 152064, 50257, 50304, 50432}

var tableShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\w+\[(\d{5,6}),(\d{3,5})\]$`) })

// tableSides are the sides of the largest result, where it is a table of tokens.
func tableSides(c *ledger.Case) (words, width int64) {
	shape, _ := c.Fact("xla_shape")
	m := tableShape().FindStringSubmatch(shape.Text)
	if m == nil {
		return 0, 0
	}
	words, _ = strconv.ParseInt(m[1], 10, 64)
	width, _ = strconv.ParseInt(m[2], 10, 64)
	if !slices.Contains(vocabularies, words) {
		return 0, 0
	}
	return words, width
}

// EmbeddingTable: what XLA returns is a language model's table of tokens.
func EmbeddingTable(c *ledger.Case) bool { words, _ := tableSides(c); return words > 0 }

func tableFigures(c *ledger.Case) map[string]string {
	words, width := tableSides(c)
	if words == 0 {
		return nil
	}
	return map[string]string{"words": Grouped(words), "width": Grouped(width)}
}

// JAXFirst are about parameters that are put on the card or converted there.
var JAXFirst = []cause.Card{crumbInStep, {
	ID: "jax/embedding-table", Kinds: []fact.Kind{fact.XLAAlloc}, If: EmbeddingTable, Figures: tableFigures,
	Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "had no memory left while loading a language model's parameters",
	Means: "The array that did not fit has {words} x {width} numbers: the token embeddings of a language model. So parameters were being loaded, converted or copied. This table exists twice for a moment (input and result), on top of what is already there.",
	Not:   "Fewer samples, a shorter prompt: no text was read yet.",
	Cures: []cause.Cure{
		{Fix: "restart_session", Title: "Restart, and load the parameters once", Told: "A notebook that ran the loading cell twice holds two copies. Choose Runtime, Restart session, then run each cell once.", Cost: "what was computed"},
		{Fix: "cpu_offload", Title: "Load and convert on the CPU", Told: "Then copy them to the device once:", Kind: "python", Text: "with jax.default_device(jax.devices(\"cpu\")[0]):\n    params = load(path)   # your loading call\nparams = jax.device_put(params, jax.devices()[0])", Cost: "RAM for the model"},
		{Fix: "use_smaller_model", Title: "Or use a smaller model or more chips", Told: "Weights take 2 GB per billion parameters in 16 bit. JAX takes 75 % of a GPU by default.", Cost: "quality, or hardware"},
	},
	Sources: []string{"xla/service/buffer_assignment.cc", "https://github.com/google-deepmind/gemma/issues/54"},
}}
