package addon

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// What WanVideoWrapper prints before it samples says how much of the weights is on the
// card still, and how many frames it works on.
var (
	WanSwap   = cause.Cure{Fix: "cpu_offload", Title: "Swap more blocks to RAM", Told: "[[{swap}]]", Cost: "Some speed, and RAM for those blocks."}
	WanFrames = cause.Cure{Fix: "lower_resolution", Title: "Fewer frames, or a lower resolution", Told: "Lower num_frames (81, 49, 33), then go to 832x480. For long clips add WanVideo Context Options, which work on 81 frames at a time.", Cost: "A shorter or smaller clip."}
)

// usualClip is the length that Wan's models were made for.
const usualClip = 81

// WanLong: the clip is longer than the models were made for.
func WanLong(c *ledger.Case) bool {
	x, ok := c.Fact("wan_frames")
	return ok && x.Count != nil && x.Count.Value > usualClip
}

// WanFigures are what it printed.
func WanFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"clip": "", "blocks": "Its node WanVideo BlockSwap decides how many of the weights stay on the card (the 14B model has 40 blocks).", "swap": "Connect WanVideo BlockSwap to the model loader. Start with blocks_to_swap 20 and raise it by 10, up to 40 for 14B. In the model loader set load_device to offload_device."}
	if x, ok := c.Fact("wan_frames"); ok && x.Count != nil {
		out["clip"] = fmt.Sprintf("Here it sampled %.0f frames together", x.Count.Value)
		if WanLong(c) {
			out["clip"] += fmt.Sprintf("; the models were made for %d", usualClip)
		}
		out["clip"] += "."
	}
	if swapped, kept := ledger.Sized(c, "wan_swapped"), ledger.Sized(c, "wan_kept"); swapped > 0 && kept > units.GiB {
		out["blocks"] = "Its block swap keeps " + units.Amount(swapped) + " of the weights in RAM and " + units.Amount(kept) + " on the card."
		out["swap"] = "Raise blocks_to_swap in WanVideo BlockSwap by 10, up to all 40 of the 14B model: that frees up to " + units.Amount(kept) + "."
	}
	return out
}
