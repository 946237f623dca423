package step

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
)

// FromPretrained writes the loading of the log's model with transformers. The
// arguments come one a line, with a comment or without; setup goes before.
func FromPretrained(c *ledger.Case, setup string, arguments ...string) Step {
	var b strings.Builder
	imports := "AutoModelForCausalLM"
	if strings.Contains(setup+strings.Join(arguments, ""), "BitsAndBytesConfig") {
		imports += ", BitsAndBytesConfig"
	}
	b.WriteString("import torch\nfrom transformers import " + imports + "\n\n")
	b.WriteString(setup)
	fmt.Fprintf(&b, "model = AutoModelForCausalLM.from_pretrained(\n    %s,\n", quote.Python(c.ModelName()))
	for _, a := range arguments {
		value, comment, _ := strings.Cut(a, "   #")
		if comment != "" {
			comment = "   #" + comment
		}
		b.WriteString("    " + value + "," + comment + "\n")
	}
	b.WriteString(")")
	return Step{Kind: "python", Text: b.String()}
}
