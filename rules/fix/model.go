package fix

import "github.com/oomdoc/oomdoc/rules/ledger"

func noBitsAndBytes(c *ledger.Case) string {
	if c.Backend == "mps" && c.In("transformers") {
		return "bitsandbytes does not run on Apple's GPU; take a model that is quantised already (MLX, GGUF)."
	}
	return ""
}
