package screen

import "math"

// middle is the luminance that has the same contrast to black and white.
const middle = 0.179

// luminance is the relative luminance of a colour as WCAG 2 defines it, 0 for
// black to 1 for white; the parts of the colour are 0 to 1.
func luminance(rgb [3]float64) float64 {
	linear := func(c float64) float64 {
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(rgb[0]) + 0.7152*linear(rgb[1]) + 0.0722*linear(rgb[2])
}
