package ambient

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestFrame holds what reads whole frames to the expression that reads all.
func TestFrame(t *testing.T) {
	for _, line := range []string{
		`File "/a/b.py", line 3, in f`, `  File "/a b/c.py", line 12, in <module>`, `File "x.py", line 7`, `File "x.py", line 7, in `, `File "x.py", line 7 in f`,
		`File "x.py", line 7, in A.f(x)`, `File "x.py", line , in f`, `File "x.py", line 7a, in f`, `File "", line 7, in f`, `File "x.py`, `File x.py line 3`,
		`File  "x.py", line 3, in f`, `a File "x.py":12`, `MyFile "x.py", line 3, in f`, `File, File "x.py", line 3, in f`, `File "a", line 1, in b, in c`,
		`File <ipython-input-3-abc>, line 3`, `File "x.py", line 7, in größe`, `File`, ``, `nothing`,
	} {
		file, number, function, ok := frame(line)
		m := pythonFrame.FindStringSubmatch(line)
		assert.Equal(t, m != nil, ok, line)
		if m != nil && ok {
			assert.Equal(t, []string{m[1] + m[2] + m[3], m[4], m[5]}, []string{file, number, function}, line)
		}
	}
}
