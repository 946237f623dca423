package makers

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// checkpointed is a card on training with gradient checkpointing on.
func checkpointed(id string, said []string, means, source string, cures ...cause.Cure) cause.Card {
	k := trained(id, means, "", source, cures...)
	k.Said = said
	return k
}

// clip is a step on a number of frames that a program takes only as k x n + 1:
// half of the reader's own where the advice would be no lower.
func clip(setting string, k, told int, text string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		n := told
		if own := ledger.IntSetting(c, setting, fact.OptionLength); own > k && own <= told {
			n = own/2/k*k + 1
		}
		return step.Paste("text", strings.ReplaceAll(text, "{n}", strconv.Itoa(n)))(c)
	}
}

// swapBlocks runs Wan's relatives on smaller cards.
var swapBlocks = cure("lowvram_mode", "Run it in ComfyUI with block swap", "text", "The WanVideo wrapper runs SkyReels-V2's models, with fp8 weights and a number of blocks kept in RAM.", "Setup; slower.")
