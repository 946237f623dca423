package step

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// limits are what stands before the value of a limit on memory.
var limits = []string{"--memory=", "--memory ", "--memory-limit=", "--mem=", "--mem ", "--limits=memory=", "MemoryMax=", "memory: ", "mem=", "request_memory = "}

// BelowStated reports a limit on memory that is set to no more than the log
// states for one, for all there is or for what was in use.
func BelowStated(c *ledger.Case, text string) bool {
	stated := max(c.Limit.Bytes, ledger.SizeOf(c.F().Limit), ledger.SizeOf(c.F().KilledRSS), c.Total.Bytes)
	for _, before := range limits {
		for rest := text; ; {
			_, after, found := strings.Cut(rest, before)
			if !found {
				break
			}
			rest = after
			value := strings.Trim(after[:len(after)-len(strings.TrimLeft(after, "\"0123456789.kKMGTgmtiBb"))], "\"")
			if bytes, ok := size(value); ok && stated > 0 && bytes <= stated {
				return true
			}
		}
	}
	return false
}

// size reads "32g", "32Gi", "64G", "40gb": schedulers count by 1024.
func size(value string) (int64, bool) {
	unit := strings.ToLower(strings.TrimLeft(value, "0123456789."))
	if unit == "" {
		return 0, false
	}
	return units.Parse(value[:len(value)-len(unit)] + " " + strings.ToUpper(unit[:1]) + "iB")
}

// way is how a fix changes settings.
type way struct {
	up    bool
	names []string
}

var contexts = []string{"max_model_len", "ctx_size", "num_ctx", "n_ctx", "max_seq_len", "context_length", "context_size"}

var ways = map[string]way{
	"lower_context":                {false, contexts},
	"lower_batch_size":             {false, BatchSettings},
	"lower_gpu_memory_utilization": {false, []string{"gpu_memory_utilization"}},
	"raise_gpu_memory_utilization": {true, []string{"gpu_memory_utilization"}},
	"lower_mem_fraction":           {false, []string{"mem_fraction_static"}},
	"raise_mem_fraction":           {true, []string{"mem_fraction_static"}},
	"lower_max_num_seqs":           {false, []string{"max_num_seqs"}},
	"lower_max_batched_tokens":     {false, []string{"max_num_batched_tokens"}},
	"fewer_gpu_layers":             {false, []string{"n_gpu_layers", "gpu_layers", "num_gpu"}},
	"lower_ubatch":                 {false, []string{"ubatch_size"}},
	"lower_parallel":               {false, []string{"parallel", "num_parallel"}},
	"lower_num_workers":            {false, []string{"num_workers", "dataloader_num_workers"}},
	"multi_gpu":                    {true, []string{"tensor_parallel_size", "tensor_parallel"}},
}

// WrongWay reports a step that sets a value which is not on the other side of
// the reader's own: a fix that lowers a setting and does not. What a command has
// of other settings is the reader's.
func WrongWay(c *ledger.Case, fix, text string) bool {
	w, ok := ways[fix]
	if !ok {
		return false
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\n' || r == '=' })
	for i, word := range words[:max(len(words)-1, 0)] {
		name := settingName(word)
		if !slices.Contains(w.names, name) {
			continue
		}
		set, ok := c.Setting(name)
		was, err := strconv.ParseFloat(set.Value, 64)
		is, err2 := strconv.ParseFloat(words[i+1], 64)
		if ok && err == nil && err2 == nil && was > 0 && (w.up && is <= was || !w.up && is >= was) {
			return true
		}
	}
	return false
}
