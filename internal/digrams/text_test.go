package digrams_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/digrams"
)

// TestText finds what stands in a text, whatever its case, and nothing else.
func TestText(t *testing.T) {
	x := digrams.NewText(`File "/Models/Decoder.py" in FlopCountAnalysis(NET)`)
	require.True(t, x.Has("flopcountanalysis("))
	require.True(t, x.Has("/models/"))
	require.False(t, x.Has("thop"))
	require.False(t, x.Has("decoder(")) // each pair is there, but not together
	require.True(t, x.HasAny([]string{"thop", "net)"}))
	require.False(t, x.HasAny(nil))
	require.True(t, digrams.NewText("\u212aERNEL").Has("kernel"), "the Kelvin sign becomes a letter of ASCII")
	require.False(t, digrams.NewText("").Has("a"))
}
