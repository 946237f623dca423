package torch

import "github.com/oomdoc/oomdoc/parsers/text"

// DeepSpeed reads see_memory_usage (deepspeed/runtime/utils.py, all
// versions): what PyTorch uses and holds.
var DeepSpeed = text.Parser{Name: "deepspeed"}.Reading(nil, []text.Wording{
	// "MA 26.38 GB  Max_MA 26.38 GB  CA 26.71 GB  Max_CA 27 GB": allocated and
	// reserved, with their peaks. GB is GiB there.
	text.On("GB Max_MA ", text.States(24, 100, text.NewPattern(`ma(?<torch_allocated>SIZE)max_maSIZEca(?<torch_reserved>SIZE)max_caSIZE`))),
}, nil)
