package cures

import (
	"fmt"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Sides are the height and the width that the reader's command asks for, 0 where it
// does not name both. Where several commands do, the last before the failure counts.
func Sides(c *ledger.Case) (height, width int) {
	for _, s := range c.Facts.Settings {
		n, err := strconv.Atoi(s.Value)
		if s.Name != fact.OptionSides || err != nil || s.Line > c.Failure.EndLine && height > 0 {
			continue
		}
		switch s.Flag {
		case "--height":
			height = n
		case "--width":
			width = n
		}
	}
	if height == 0 || width == 0 {
		return 0, 0
	}
	return height, width
}

// Halved is half of both as options, in steps of 32 as most models of pictures
// want, "" where the log does not show them or they are small.
func Halved(c *ledger.Case) string {
	height, width := Sides(c)
	if height < 512 || width < 512 {
		return ""
	}
	return fmt.Sprintf("`--height %d --width %d`", height/64*32, width/64*32)
}
