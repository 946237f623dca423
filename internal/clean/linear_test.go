package clean

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/workshop/cputime"
)

// TestLinear: quotes, escapes and prompts over and over take time in proportion.
func TestLinear(t *testing.T) {
	for _, unit := range []string{
		`x="\n`, `"\n`, ` "\n`, ` '\n`, ` \"\n`, ` \\\"\n' `, ` &quot;\n`, `msg="a\n`, `msg="\"a\\n' `, `{"log":"\n`, "`\\n", `(venv) `, "$ ", "a@b:~/", "X=1 ", `X="`, "1 1 ", "1 1:1 ", "CMD ", "command: ", "In [1]: ", "PS C:\\", "zsh: killed ",
	} {
		for _, s := range []string{strings.Repeat(unit, 1<<20/len(unit)), strings.Repeat(unit+"\n", 20_000)} {
			took := cputime.Least(time.Second, func() {
				for _, l := range Lines(s, 1) {
					l.Typed()
				}
			})
			assert.Less(t, took, time.Second, "%q", unit)
		}
	}
}
