package calls

import (
	"regexp"
	"strconv"
	"sync"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// ofTokens are nodes of ONNX that work on tokens: products of matrices, attention
// and what stands between them in a transformer.
var ofTokens = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:Fused)?(?:MatMul|Softmax|Einsum|LayerNormalization|SkipLayerNormalization|EmbedLayerNormalization|BiasGelu|FastGelu|Gelu|\w*Attention)\w* node\b`)
})

func onTokens(c *ledger.Case) bool { return ofTokens().MatchString(c.Failure.Message) }

// Halved is half of the first side of a tensor of three or more, the batch as a
// rule; "" where it is none.
func Halved(c *ledger.Case) string {
	s := Sides(c)
	if len(s) < 3 || s[0] < 2 || s[0] > 512 || s[0] <= 7 && s[0] == s[1] {
		return ""
	}
	return strconv.FormatInt(s[0]/2, 10) + " if it is " + strconv.FormatInt(s[0], 10) + " now"
}

// What makes the input of a node smaller.
var (
	ShorterInput = cause.Cure{Fix: "lower_context", If: onTokens, Title: "Use shorter inputs", Told: "The node works on tokens, and a matrix of attention grows with the square of their number. Text: half the maximum length of the tokenizer. Images: half of each side. Audio: shorter parts.", Cost: "long inputs are cut"}
	SmallerInput = cause.Cure{Fix: "lower_resolution", If: when.Not(onTokens), Title: "Use a smaller input", Told: "Half the width and height is a quarter of the buffer. This works if the model's input shape has names in it instead of fixed numbers.", Cost: "detail"}
)
