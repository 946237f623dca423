package clean

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPromptsAreLeftOut(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"prompt":    {`*** Arguments: ('task(x1)', 'a cat, CUDA out of memory', "it's", 20, 512, 768, True)`, `Arguments: ('', '', "", 20, 512, 768, True)`},
		"escaped":   {`Arguments: ('it\'s a "secret"', 1)`, `Arguments: ('', 1)`},
		"cut":       {`Arguments: ('task(x1)', 'a long pro`, `Arguments: ('', '`},
		"wrapped":   {"Arguments: ('a cat, CUDA out\nof memory', 512)\nafter 'it'", "Arguments: ('\n', 512)\nafter 'it'"},
		"joined":    {"before 'x' Arguments: ('a (cat', 1) {} after 'it'", "before 'x' Arguments: ('', 1) {} after 'it'"},
		"unended":   {"Arguments: ('a cat\nRuntimeError: x", "Arguments: ('\nRuntimeError: x"},
		"no quotes": {`Arguments: (1, 2)`, `Arguments: (1, 2)`},
		"another":   {`Arguments: model='x'`, `Arguments: model='x'`},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, strings.TrimPrefix(DropPrompts(c.in), "*** "))
		})
	}
}
