package calls_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/diagnose"
)

// TestPicture: a shape of pixels is told as a picture, where NumPy's own cards do
// not say so, and a large one is the first thing to lower.
func TestPicture(t *testing.T) {
	log := func(shape string) string {
		return "  File \"C:\\SadTalker\\src\\utils\\face_enhancer.py\", line 116, in enhancer_generator_no_len\n    r = restorer.enhance(img)\n" +
			"numpy.core._exceptions._ArrayMemoryError: Unable to allocate " + shape + " and data type float64\n"
	}
	large := diagnose.Bytes([]byte(log("576. MiB for an array with shape (6144, 4096, 3)"))).Incidents[0]
	assert.Contains(t, large.Summary, "That is one picture of 4096 x 6144 pixels.")
	assert.Equal(t, "Use a smaller picture", large.Fixes[0].Title)
	small := diagnose.Bytes([]byte(log("6.00 MiB for an array with shape (512, 512, 3)"))).Incidents[0]
	assert.Equal(t, "stream_dataset", small.Fixes[0].ID)
	table := diagnose.Bytes([]byte(log("7.98 GiB for an array with shape (1410000, 190, 4)"))).Incidents[0]
	assert.NotContains(t, table.Summary, "picture")
}
