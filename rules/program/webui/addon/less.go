package addon

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// LessWork and StillLess ask for less at a time, with nodes and of pictures alone.
var (
	LessWork  = cause.Cure{Fix: "lower_resolution", Title: "Lower the resolution, or fewer frames", Told: "Half the width and height, batch size 1, tiles where the node has them; video: fewer frames at a time.", Cost: "A smaller result.", If: withNodes}
	StillLess = cause.Cure{Fix: "lower_resolution", Title: "Lower the resolution", Told: "Half the width and height, one image at a time, no upscaling in the same run.", Cost: "A smaller result.", If: when.Not(withNodes)}
)

func withNodes(c *ledger.Case) bool { return c.In("comfyui", "swarmui") }

// HostFull is how system memory can be why a card with room refused.
func HostFull(c *ledger.Case) map[string]string {
	if c.Reader.OS == "linux" {
		return map[string]string{"host": "Possibly RAM was full, or a container's limit was reached."}
	}
	return map[string]string{"host": "On Windows the usual reason is that RAM plus page file were full: GPU memory counts against them too."}
}
