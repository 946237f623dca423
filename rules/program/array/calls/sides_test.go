package calls

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSizeOfShape(t *testing.T) {
	for arguments, want := range map[string]string{
		"[n_examples, 196, 512], dtype=np.float32)":  "Each of `n_examples` takes 392 KiB here (196 x 512 x 4 bytes), 100,000 of them 37.38 GiB.",
		"(len(files), 224, 224, 3), dtype='uint8')":  "Each of `len(files)` takes 147 KiB here (224 x 224 x 3 x 1 bytes), 100,000 of them 14.02 GiB.",
		"(60000, 1000, 100))":                        "Here that is 60000 x 1000 x 100 x 8 bytes: 44.70 GiB.",
		"(n, m, 3))":                                 "", // two names
		"(n, m[0], ":                                 "", // cut off
		"(n, 9223372036854775807))":                  "",
		"(n, 0))":                                    "",
		"(n, 3), dtype=object)":                      "",
		"shape, dtype=np.float32)":                   "",
		"(n,))":                                      "",
		"(rows((b, c)), 4000, 4000), dtype=np.int8)": "", // no plain name
	} {
		assert.Equal(t, want, sizeOfShape(arguments), arguments)
	}
}

func TestSizeOfPrinted(t *testing.T) {
	for line, want := range map[string]int64{
		"x_test  shape = (461851, 5, 5, 244), type = float64": 461851 * 5 * 5 * 244 * 8,
		"X.shape: (60000, 224, 224, 3) dtype: uint8":          60000 * 224 * 224 * 3,
		"Shape: (10, 10)":                  0,
		"data shape: (60000, 1000)":        60000 * 1000 * 8,
		"shape = (n, 3)":                   0,
		"shape = (9223372036854775807, 3)": 0,
		"no array":                         0,
	} {
		_, got, _ := SizeOfPrinted(line)
		assert.Equal(t, want, got, line)
	}
}
