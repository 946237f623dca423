package diagnose_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestImports: a program that imports the library gets regexp2 and nothing
// else. glamour above all belongs to the command: importing it costs 17 ms at
// every start.
func TestImports(t *testing.T) {
	for _, pkg := range []string{"diagnose", "render", "fit"} {
		list := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "github.com/oomdoc/oomdoc/"+pkg)
		out, err := list.Output()
		require.NoError(t, err)
		for _, dep := range strings.Fields(string(out)) {
			own := strings.HasPrefix(dep, "github.com/oomdoc/oomdoc/")
			regexp2 := strings.HasPrefix(dep, "github.com/dlclark/regexp2/v2")
			assert.True(t, own || regexp2, "%s imports %s", pkg, dep)
		}
	}
}
