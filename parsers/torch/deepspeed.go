package torch

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// DeepSpeed reads see_memory_usage (deepspeed/runtime/utils.py, all
// versions): what PyTorch uses and holds, and the computer's memory.
var DeepSpeed = text.Parser{Name: "deepspeed"}.Reading(nil, []text.Wording{
	// "MA 26.38 GB  Max_MA 26.38 GB  CA 26.71 GB  Max_CA 27 GB": allocated and
	// reserved, with their peaks. GB is GiB there.
	text.On("GB Max_MA ", text.States(24, 100, text.NewPattern(`ma(?<torch_allocated>SIZE)max_maSIZEca(?<torch_reserved>SIZE)max_caSIZE`))),
	text.On("CPU Virtual Memory: used", readHostUsage),
}, nil)

var hostUsage = text.NewPattern(`^cpuvirtualmemory:used=(?<used>SIZE),percent=(?<share>NUM)%`)

// readHostUsage reads "CPU Virtual Memory:  used = 322.57 GB, percent = 17.1%",
// of the whole machine.
func readHostUsage(m text.Message) int {
	k := m.Find(hostUsage, 80)
	if used, share := k.Size("used"), k.Count("share"); used != nil && share != nil {
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "host_used", Size: used, Count: share, Text: m.Log.LineText(m.At), Line: used.Line})
	}
	return m.End
}
