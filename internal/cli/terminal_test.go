package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/screen"
)

// TestBackground: the flag, then COLORFGBG; what is no terminal is not asked.
func TestBackground(t *testing.T) {
	for _, test := range []struct {
		theme, env string
		want       screen.Background
	}{
		{"auto", "", screen.Unknown}, {"auto", "15;0", screen.Dark}, {"auto", "0;15", screen.Light}, {"auto", "0;default;15", screen.Light}, {"auto", "7", screen.Light},
		{"auto", "0;default", screen.Unknown}, {"dark", "0;15", screen.Dark}, {"light", "15;0", screen.Light},
	} {
		s := &session{stdin: strings.NewReader(""), stdout: io.Discard, getenv: func(string) string { return test.env }}
		assert.Equal(t, test.want, s.background(&options{theme: test.theme}), "%s %q", test.theme, test.env)
	}
}

func TestEscapeC1(t *testing.T) {
	assert.Equal(t, `"a\u009bb\u007f"`, string(escapeC1([]byte("\"a\u009bb\x7f\""))))
	assert.Equal(t, `"plain"`, string(escapeC1([]byte(`"plain"`))))
}

// TestOneEnd: standard input that ends, as a terminal does at Ctrl-D, and
// would go on.
func TestOneEnd(t *testing.T) {
	var out strings.Builder
	typed := &terminalInput{lines: []string{"CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)\n", "", "more"}}
	err := Run(t.Context(), []string{"--brief"}, typed, &out, io.Discard, func(string) string { return "" })
	require.NoError(t, err)
	assert.Contains(t, out.String(), "2.00 GiB")
	assert.Equal(t, []string{"more"}, typed.lines)
}

type terminalInput struct{ lines []string }

func (in *terminalInput) Read(p []byte) (int, error) {
	line := in.lines[0]
	in.lines = in.lines[1:]
	if line == "" {
		return 0, io.EOF
	}
	return copy(p, line), nil
}
