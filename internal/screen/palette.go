package screen

import (
	"fmt"
	"strconv"
	"strings"
)

// Background is what a terminal writes on.
type Background int

// Unknown gets colours that can be read on both of the others.
const (
	Unknown Background = iota
	Dark
	Light
)

// FromEnv reads what rxvt, Konsole and others leave in COLORFGBG, "15;0": the
// last number is the background's among the sixteen colours.
func FromEnv(value string) Background {
	n, err := strconv.Atoi(value[strings.LastIndexByte(value, ';')+1:])
	switch {
	case err != nil || n < 0 || n > 15:
		return Unknown
	case n == 7 || n == 15:
		return Light
	}
	return Dark
}

// color is one of the 240 colours from 16 on, which are the same in every
// terminal; the first sixteen are the user's own.
type color uint8

// rgb is the colour's red, green and blue.
func (c color) rgb() [3]uint8 {
	if c >= 232 {
		grey := 8 + 10*uint8(c-232)
		return [3]uint8{grey, grey, grey}
	}
	levels, n := [6]uint8{0, 95, 135, 175, 215, 255}, uint8(c-16)
	return [3]uint8{levels[n/36], levels[n/6%6], levels[n%6]}
}

func (c color) String() string { return strconv.Itoa(int(c)) }

// hex is the colour as "#5f5fff".
func (c color) hex() string {
	x := c.rgb()
	return fmt.Sprintf("#%02x%02x%02x", x[0], x[1], x[2])
}

// palette is what the parts of a page are written in. Running text has the
// terminal's own colour.
type palette struct {
	heading, code, number color
	// quiet is for what matters least: comments, what is free.
	quiet color
	// The parts of a bar.
	mine, others, cache, driver color
}

// palettes have a contrast of 4.5 to 1 and more against usual backgrounds of
// their kind; that for an unknown one against black and white.
var palettes = [...]palette{
	Unknown: {heading: 63, code: 29, number: 98, quiet: 243, mine: 131, others: 163, cache: 63, driver: 98},
	Dark:    {heading: 39, code: 222, number: 141, quiet: 247, mine: 210, others: 214, cache: 75, driver: 141},
	Light:   {heading: 26, code: 125, number: 55, quiet: 242, mine: 160, others: 94, cache: 26, driver: 90},
}
