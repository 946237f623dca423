package fix

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/rules/ledger"
)

var enableFlashAttention = Fix{
	ID:       "enable_flash_attention",
	Title:    "Turn flash attention on",
	Tradeoff: "None; usually faster.",
	Cost:     free,
	Check:    "The log says `flash_attn = 1` (llama.cpp), or the same input needs less: `torch.cuda.max_memory_allocated()`.",
	Next:     "Shorten the context or lower the batch.",
	Needs:    Needs{works: generated},
	Told:     "Turn flash attention on in your program's settings.",
	Useless:  func(c *ledger.Case) string { return uselessSetting(c, "on", "flash_attn", "flash_attention", "fa") },
}

// uselessSetting says that a switch is on already.
func uselessSetting(c *ledger.Case, on string, names ...string) string {
	s, ok := c.Setting(names...)
	if !ok || s.Default {
		return ""
	}
	switch strings.ToLower(s.Value) {
	case on, "1", "true", "enabled":
		return fmt.Sprintf("It is on already (line %d).", s.Line)
	}
	return ""
}
