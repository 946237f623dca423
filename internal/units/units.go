// Package units reads and writes sizes the way the programs that run out of
// memory print them: "1.70 GiB", "34679.64 MiB", "23721,00 MiB", "0 bytes".
//
// Nearly all of them divide by 1024 whatever the label says (PyTorch's MPS
// allocator, llama.cpp, vLLM, Ollama, ComfyUI), so KB, MB and GB are powers of
// 1024 in [Parse]; [ParseDecimal] is for the few that mean powers of 1000.
package units

import (
	"math"
	"strconv"
	"strings"
)

// Sizes in bytes.
const (
	KiB int64 = 1 << 10
	MiB int64 = 1 << 20
	GiB int64 = 1 << 30
	TiB int64 = 1 << 40
)

// tooLarge is where a printed size stops being one: SIZE_MAX or -1 printed as
// an unsigned number ("17179869184.00 GiB" is 2^64 bytes).
const tooLarge = float64(1 << 60)

// Parse returns the bytes of a size such as "2.00 GiB", rounded to the nearest
// byte. A size without a unit is in bytes. It reports false for text that is
// no size, for NaN, and for values of 2^60 and more, which programs print when
// they do not know or have no limit.
func Parse(s string) (int64, bool) { return parse(s, 1024) }

// ParseDecimal is [Parse] with KB, MB, GB and TB as powers of 1000. KiB, MiB,
// GiB and TiB stay powers of 1024.
func ParseDecimal(s string) (int64, bool) { return parse(s, 1000) }

func parse(s string, base float64) (int64, bool) {
	s = strings.TrimSpace(s)
	cut := strings.IndexFunc(s, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r == '.' || r == ',' || r == '-' || r == '+')
	})
	number, unit := s, ""
	if cut >= 0 {
		number, unit = s[:cut], strings.TrimSpace(s[cut:])
	}
	factor, ok := unitFactor(unit, base)
	if !ok {
		return 0, false
	}
	if factor == 1 {
		if n, err := strconv.ParseInt(dropThousands(number), 10, 64); err == nil {
			return n, math.Abs(float64(n)) < tooLarge
		}
	}
	v, ok := Number(number, factor > 1)
	if !ok || math.Abs(v*factor) >= tooLarge {
		return 0, false
	}
	return int64(math.Round(v * factor)), true
}

// Of returns the bytes of a unit, 1 for none.
func Of(unit string) (int64, bool) {
	factor, ok := unitFactor(unit, 1024)
	return int64(factor), ok
}

func unitFactor(unit string, base float64) (float64, bool) {
	var small [len("bytes")]byte
	for i := range min(len(unit), len(small)) {
		if small[i] = unit[i]; unit[i] >= 'A' && unit[i] <= 'Z' {
			small[i] |= 0x20
		}
	}
	if len(unit) > len(small) {
		return 0, false
	}
	switch string(small[:len(unit)]) {
	case "", "b", "byte", "bytes":
		return 1, true
	case "k", "kb":
		return base, true
	case "m", "mb":
		return base * base, true
	case "g", "gb":
		return base * base * base, true
	case "t", "tb":
		return base * base * base * base, true
	case "ki", "kib":
		return float64(KiB), true
	case "mi", "mib":
		return float64(MiB), true
	case "gi", "gib":
		return float64(GiB), true
	case "ti", "tib":
		return float64(TiB), true
	}
	return 0, false
}

// Number reads a decimal number that may carry thousands separators
// ("188,640") or a decimal comma ("23721,00", which llama.cpp prints under
// some locales). scaled says that a unit larger than a byte follows: then a
// lone comma is a decimal one even before three digits ("23,515 GiB").
func Number(s string, scaled bool) (float64, bool) {
	if i := strings.IndexByte(s, ','); i >= 0 {
		lone := i == strings.LastIndexByte(s, ',') && !strings.Contains(s, ".")
		if lone && (scaled || len(s)-i-1 != 3) {
			s = s[:i] + "." + s[i+1:]
		} else {
			s = dropThousands(s)
		}
	}
	s = strings.TrimSuffix(s, ".")
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	return v, true
}

func dropThousands(s string) string { return strings.ReplaceAll(s, ",", "") }

// Format writes a size with two decimals in the unit a reader expects:
// "1.21 GiB", "512.00 MiB", "900 bytes".
func Format(bytes int64) string {
	abs := bytes
	if abs < 0 {
		abs = -abs
	}
	unit, name := int64(1), ""
	switch {
	case abs >= GiB:
		unit, name = GiB, " GiB"
	case abs >= MiB:
		unit, name = MiB, " MiB"
	case abs >= KiB:
		unit, name = KiB, " KiB"
	default:
		return strconv.FormatInt(bytes, 10) + " bytes"
	}
	return strconv.FormatFloat(float64(bytes)/float64(unit), 'f', 2, 64) + name
}

// Amount writes a size as reports do: in GiB with two decimals, below a GiB in
// MiB as programs print it, without decimals that say nothing.
func Amount(bytes int64) string { return AmountWithin(bytes, 0) }

// AmountWithin is [Amount] for a size that roundings can put off by so much: two
// figures in GiB with two decimals do not differ by "38 MiB".
func AmountWithin(bytes, within int64) string {
	abs := max(bytes, -bytes)
	switch {
	case abs >= 1024*TiB:
		return amount(bytes, 1024*TiB, 2, " PiB")
	case abs >= TiB:
		return strconv.FormatFloat(float64(bytes)/float64(TiB), 'f', 2, 64) + " TiB"
	case abs >= GiB && within >= GiB/4: // stated without decimals
		return amount(bytes, GiB, 0, " GiB")
	case abs >= GiB || within >= MiB && abs >= GiB/100:
		return amount(bytes, GiB, 2, " GiB")
	case abs >= 10*MiB:
		return amount(bytes, MiB, 0, " MiB")
	case bytes > 0 && bytes < MiB && within >= KiB:
		return "less than 1 MiB"
	}
	return strings.Replace(Format(bytes), ".00 ", " ", 1)
}

// amount writes a size in a unit, with so many decimals.
func amount(bytes, unit int64, decimals int, name string) string {
	var b [32]byte
	return string(append(strconv.AppendFloat(b[:0], float64(bytes)/float64(unit), 'f', decimals, 64), name...))
}

// FormatGiB writes a size in GiB with two decimals and no unit, for tables and
// bars that name the unit once.
func FormatGiB(bytes int64) string {
	return strconv.FormatFloat(float64(bytes)/float64(GiB), 'f', 2, 64)
}
