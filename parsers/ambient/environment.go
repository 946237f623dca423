package ambient

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Environment reads what a log shows of PyTorch's surroundings: its version,
// the options of its allocator that are set, and how transformers calls the
// precision. Fixes are spelled by it; no cause rests on it alone.
var Environment = text.NewParser("environment", nil, nil, slices.Concat(
	text.OnAny(allocatorOptions, "ALLOC_CONF"),
	text.OnAny(text.SaysVersion("torch_version", torchVersion), "PyTorch version", "torch==", "Torch: ", "torch 1.", "torch 2."),
	text.OnAny(text.Signals("dtype_argument"), "torch_dtype is deprecated"),
))

var torchVersion = text.NewPattern(`torch(?:version)?[:=]*(?<version>[12]\.\d{1,2})\.\d`)

// allocatorVariables are the names of PyTorch's allocator variable
// (c10/core/AllocatorConfig.cpp): the plain one is read from 2.9 on.
var allocatorVariables = [...]string{"pytorch_cuda_alloc_conf", "pytorch_hip_alloc_conf", "pytorch_npu_alloc_conf", "pytorch_alloc_conf"}

// allocatorOptions reads a variable that ends in ALLOC_CONF as
// settings, one for each of its options. PyTorch's messages and many programs
// only recommend it, and print nothing else when it is set already.
func allocatorOptions(m text.Message) int {
	s, end := m.Log.Squeezed(), m.End
	for _, name := range allocatorVariables {
		if !strings.HasSuffix(s[:end], name) {
			continue
		}
		if strings.HasPrefix(s[end:], "isdeprecated,usepytorch_alloc_conf") {
			m.Say("alloc_conf_variable", "PYTORCH_ALLOC_CONF")
		}
		if advised(s[:end-len(name)]) {
			break
		}
		value := strings.TrimLeft(s[end:min(end+120, len(s))], `"'])=:, `)
		for _, option := range [...]string{"expandable_segments", "backend", "max_split_size_mb", "garbage_collection_threshold"} {
			if _, rest, ok := strings.Cut(value, option+":"); ok {
				m.Facts.Settings = append(m.Facts.Settings, fact.Setting{Name: option, Value: allocatorValue(rest), Line: m.Log.Line(m.At), Flag: strings.ToUpper(name)})
			}
		}
		break
	}
	return m.End
}

// advised reports that the text before a variable only recommends it.
func advised(before string) bool {
	return slices.ContainsFunc([]string{"try", "setting", "consider", "and", "use"}, func(word string) bool { return strings.HasSuffix(before, word) })
}

// allocatorValue is the value of an option. The text is squeezed, so it ends where
// it can't go on.
func allocatorValue(rest string) string {
	for _, word := range [...]string{"true", "false", "cudamallocasync", "native"} {
		if strings.HasPrefix(rest, word) {
			return word
		}
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(rest)
	}
	return rest[:end]
}
