package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var lowerResolution = Fix{
	ID:       "lower_resolution",
	Title:    "Lower the resolution or the number of frames",
	Tradeoff: "Detail; scaling up afterwards brings most of it back.",
	Cost:     moderate,
	Check:    "The small size runs through; raise it in steps while about 1 GiB of the card stays free.",
	Next:     "Decode in tiles if it fails at the very end, else the low-memory mode.",
	Needs:    Needs{size: true, works: pictures, branch: "Images or video", told: "half the width and height, or half the frames."},
	Told:     "Halve width and height, or the number of frames.",
	Steps:    stepsResolution,
	Effect:   effectResolution,
}

// sideDivisor is by how much to divide width and height so that the piece that
// failed fits what was free, 2 to 4; 2 where the figures do not say.
func sideDivisor(c *ledger.Case) int {
	for _, by := range [...]int{2, 3, 4} {
		if effect.Enough(c, by*by) {
			return by
		}
	}
	return 2
}

var sideWords = map[int]string{2: "half the", 3: "a third of", 4: "a quarter of"}

func stepsResolution(c *ledger.Case) []step.Step {
	text := "Halve width and height (or the number of frames) until it runs; keep them multiples of 64. Then scale the result up."
	if by := sideDivisor(c); by > 2 {
		text = fmt.Sprintf("Go to %s width and height, or 1/%d of the frames, and lower until it runs; keep them multiples of 64. Then scale the result up.", sideWords[by], by*by)
	}
	return []step.Step{{Kind: "text", Text: text}}
}

func effectResolution(c *ledger.Case) *effect.Effect {
	by := sideDivisor(c)
	return effect.Scaled(c, by*by, fmt.Sprintf("At %s width and height", sideWords[by]))
}
