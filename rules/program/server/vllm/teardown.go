package vllm

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
)

// teardown is about workers that stop after something else has failed.
var teardown = cause.Card{
	ID: "vllm/nccl-teardown", Kinds: []fact.Kind{fact.NCCLAlloc}, Said: []string{"in destroy_model_parallel", "in destroy_process_group", "_TP.destroy()"}, If: stage.OnCard, Figures: figures,
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "was already shutting down: the cause is the first error further up",
	Means:    "A worker was closing its NCCL groups, which it does after something else has failed. The message about NCCL is only a consequence. Look for the first error of any worker, most likely an out-of-memory error.",
	Not:      "NCCL settings: `NCCL_DEBUG` prints more lines but frees no memory.",
	Cures: []cause.Cure{
		{Fix: "upgrade_version", Title: "Find the first error", Told: "Replace LOG with the file that holds the whole output of the server:", Kind: "shell", Text: "grep -n -m5 -E 'OutOfMemoryError|out of memory|ValueError' LOG", Cost: "free"},
		Words("lower_gpu_memory_utilization", "If it came after the line `GPU KV cache size`, lower `gpu_memory_utilization`", "By 0.05 (it is 0.9 unless you set it).", "a smaller KV cache"),
		Flags("lower_max_batched_tokens", "If it came before, make the trial run smaller", "", "slower long prompts, more requests wait", Option("max_num_batched_tokens", "2048"), Option("max_num_seqs", "16")),
	},
	Sources: []string{"vllm/v1/executor/multiproc_executor.py", "vllm/distributed/parallel_state.py", threads + "issues/18446"},
}

// LightByName: by its name the model's weights are less than half of what PyTorch
// holds on a full card, so that the KV cache must be most of the rest.
func LightByName(c *ledger.Case) bool {
	held, total := ledger.SizeOf(c.F().Allocated), ledger.SizeOf(c.F().Total)
	w, ok := LightWeights(c)
	return ok && total > 0 && held*5 > total*4 && w*2 < held && !strings.Contains(c.Reader.Work, "training") && c.Signal("training") == nil
}

// LightWeights are those on each card, by the model's name: at 16 bit where nothing
// says otherwise.
func LightWeights(c *ledger.Case) (int64, bool) {
	w, ok := Weights(c)
	if !ok {
		w, ok = ledger.WeightsIn(c, "")
	}
	return w / int64(max(1, ledger.IntSetting(c, "tensor_parallel_size"))) / Stages(c), ok && w > 0
}
