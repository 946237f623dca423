package cluster

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/array"
	"github.com/oomdoc/oomdoc/rules/step"
)

// MindSpore is Huawei's framework, with MindNLP and MindFormers. Its pool takes
// the card up to a bound of its own, max_device_memory or nearly all that is free.
var MindSpore = program.Program{
	Name: "mindspore", Shown: "MindSpore", Rank: 56, Script: "mindspore-script", Edits: "code", Language: "python", Systems: []string{"linux"},
	Proofs: []string{"mindspore/ccsrc/", "-packages/mindspore/", "-packages/mindnlp/", "-packages/mindformers/", "is more than total mem size"}, Hints: []string{"mindnlp/", "mindformers/"},
	Like: []*program.Program{&array.Frameworks},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"half_precision":         step.Paste("python", half),
		"gradient_checkpointing": step.Paste("python", `net.recompute()   # or only its largest blocks: block.recompute()`),
		"lower_batch_size":       step.Paste("python", `dataset = dataset.batch(4)   # half of today's`),
	},
	Titles: map[string]string{"gradient_checkpointing": "Compute activations again (recompute)"},
	Useless: map[string]func(*ledger.Case) string{
		"expandable_segments": func(*ledger.Case) string {
			return "It is an option of PyTorch's allocator; MindSpore has its own pool."
		},
	},
	Cards:   mindSporeCards,
	Sources: program.Sources{"https://www.mindspore.cn/docs/en/stable/api_python/runtime/mindspore.runtime.set_memory.html": "max_size"},
}

const half = "from_pretrained(name, ms_dtype=mindspore.float16)   # in your own call of MindNLP; bfloat16 where the card has it"

// Where upstream prints them, and what its documentation says of them.
const (
	mindPool    = "mindspore/ccsrc/common/mem_reuse/mem_dynamic_allocator.cc"
	mindActors  = "mindspore/ccsrc/runtime/graph_scheduler/actor/actor_common.h"
	mindAdapter = "mindspore/ccsrc/plugin/device/ascend/hal/device/ascend_memory_adapter.cc"
	setMemory   = "https://www.mindspore.cn/docs/en/stable/api_python/runtime/mindspore.runtime.set_memory.html"
)

var mindSporeCards = []cause.Card{{
	ID: "mindspore/card-taken", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Malloc device memory failed"},
	Cause: cause.LeakedProcess, Weight: cause.Strong,
	Headline: "did not start: another process uses the device's memory",
	Means:    "At its start MindSpore takes most of the memory that should be free.[[ {free} of {total} was free before it held anything.]] Usually an earlier run never ended. It can also be another user, or workers of your own data pipeline.",
	Not:      "A smaller batch: nothing of the model was on the device yet.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "See which process uses it, and end your own leftovers", Told: "The table at the end lists processes by device; `kill PID` ends one.", Kind: "shell", Text: "npu-smi info", Cost: "free"},
		{Fix: "select_gpu", Title: "Or use a free device", Told: "Use its number from that table, before any other call of MindSpore. Older versions: `set_context(device_id=1)`.", Kind: "python", Text: `mindspore.set_device("Ascend", 1)`, Cost: "free"},
		{Fix: "limit_framework_preallocation", Title: "Or take less memory", Told: "This helps only if the other program leaves enough for the model. Set less than `npu-smi info` shows as free. Older versions: `set_context(max_device_memory=\"8GB\")`.", Kind: "python", Text: `mindspore.runtime.set_memory(max_size="8GB")   # less than what is free`, Cost: "less room for the model"},
		{Fix: "lower_num_workers", Title: "If it is the data pipeline, keep its steps on the CPU", Told: "Use `python_multiprocessing=False` in `dataset.map`, or functions that compute on the CPU.", Cost: "slower"},
	},
	Sources: []string{mindAdapter, setMemory, "https://www.mindspore.cn/docs/en/master/faq/data_processing.html"},
}, {
	ID: "mindspore/generate", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"model.generate(", "generation/utils.py"},
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "ran out of device memory with the model loaded[[: {mine} of {limit}]]",
	Means:    "Most of that is the weights, then the KV cache of the texts. Weights take 4 bytes per parameter in 32 bit and 2 in 16 bit; `from_pretrained` without a type may load 32 bit.",
	Not:      "A shorter text alone, if the weights fill the device: the KV cache is small beside them.",
	Cures: []cause.Cure{
		{Fix: "half_precision", Title: "Load the weights in 16 bit", Kind: "python", Text: half, Cost: "usually none"},
		{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "If it is 16 bit already: parameters times 2 bytes, plus some GB for KV cache and work, must fit.", Cost: "lower quality"},
		{Fix: "raise_gpu_memory_utilization", Title: "Check that no limit is set", Told: "Raise or remove `max_device_memory` (`set_context`) or `max_size` (`runtime.set_memory`) in the script. A second process on the device lowers the limit too: `npu-smi info`.", Cost: "free"},
		{Fix: "multi_gpu", Title: "Or split it over more devices", Told: "In MindFormers set `model_parallel: 2` under `parallel_config` and `--use_parallel True`, and start it with `scripts/msrun_launcher.sh`.", Cost: "needs more devices"},
	},
	Sources: []string{mindPool, setMemory, "https://gitee.com/mindspore-lab/mindnlp", "https://www.mindspore.cn/mindformers/docs/en/r1.7.0/guide/inference.html", "https://github.com/candle-org/MindAct/issues/1761"},
}, {
	ID: "mindspore/full", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"is more than total mem size", "memory isn't enough and alloc failed"},
	Among:    []string{cause.BatchTooLarge, cause.ModelTooLarge, cause.TrainingStateTooLarge, cause.ContextTooLong, cause.Unknown, cause.OversizedAllocation},
	Headline: "ran out of device memory[[: {mine} of {limit}]]",
	Means:    "In training, activations take most memory, and they grow with the batch. If it fails at once with a single sample, the weights and optimizer state are too large.[[ The operator that the error line names wanted {asked} for one result.]]",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Halve the batch", Told: "Or shorten the sequences, or use smaller images.", Own: true, Cost: "slower; accumulate gradients for the same result"},
		{Fix: "gradient_checkpointing", Told: "For training only, before the model is compiled.", Own: true, Cost: "about a third slower"},
		{Fix: "half_precision", Title: "Compute in 16 bit", Kind: "python", Text: `net = mindspore.amp.auto_mixed_precision(net, "O2")   # before the training starts`, Cost: "check that the loss stays normal"},
		{Fix: "raise_gpu_memory_utilization", Title: "Check that no limit is set", Told: "`max_device_memory` or `runtime.set_memory(max_size=...)` in the script limits it; a second process on the device does too.", Cost: "free"},
	},
	Sources: []string{mindPool, mindActors, setMemory, "https://www.mindspore.cn/tutorials/en/r2.7.0/parallel/recompute.html"},
}}
