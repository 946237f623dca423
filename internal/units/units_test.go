package units

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"2.00 GiB", 2147483648, true},
		{"7.21 GiB", 7741678551, true},
		{"1024.00 MiB", GiB, true},
		{"512.00 KiB", 524288, true},
		{"0 bytes", 0, true},
		{"90177536 bytes", 90177536, true},
		{"25,600,000 bytes", 25600000, true},
		{"23721,00 MiB", 23721 * MiB, true},
		{"23,515 GiB", 25249038991, true},
		{"188,640.5 MiB", 197803900928, true},
		{"-14.28 GiB", -15333033247, true},
		{"72GB", 72 * GiB, true},
		{"745. GiB", 745 * GiB, true},
		{"4942 MiB", 4942 * MiB, true},
		{"1048475.67 GiB", 1125792178325422, true},
		{"17179869184.00 GiB", 0, false}, // SIZE_MAX printed as a size
		{"18446744073648275456", 0, false},
		{"GiB", 0, false},
		{"12 parsecs", 0, false},
		{"", 0, false},
		{"1.2.3 GiB", 0, false},
	} {
		got, ok := Parse(tt.in)
		assert.Equal(t, tt.ok, ok, tt.in)
		assert.Equal(t, tt.want, got, tt.in)
	}
}

func TestParseDecimal(t *testing.T) {
	got, ok := ParseDecimal("5726.63 MB")
	assert.True(t, ok)
	assert.EqualValues(t, 5726630000, got)
	got, ok = ParseDecimal("1 GiB")
	assert.True(t, ok)
	assert.Equal(t, GiB, got)
}

func TestFormat(t *testing.T) {
	for in, want := range map[int64]string{
		0: "0 bytes", 900: "900 bytes", 1536: "1.50 KiB", 1299227607: "1.21 GiB", -GiB: "-1.00 GiB", 20 * MiB: "20.00 MiB",
	} {
		assert.Equal(t, want, Format(in))
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"2.00 GiB", "1e400 GiB", "NaN", "9223372036854775808", "-9223372036854775808", "1,2,3.4 MiB", "-0 bytes"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, ok := Parse(s); ok && (n >= 1<<60 || n <= -1<<60) {
			t.Errorf("%q parsed as %d", s, n)
		}
	})
}
