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
	Headline: "was shutting down when NCCL found the card full: the first error stands above",
	Means:    "The traceback is in `destroy_model_parallel`: a worker was taking its groups down, which it does after something else has failed. That a full card stops NCCL even there is a consequence. The first error of any worker, further up, is the one to cure, most likely an out-of-memory error of the trial run, of CUDA graphs or of a request.",
	Not:      "NCCL's own settings (`NCCL_DEBUG` shows more lines, no more room).",
	Cures: []cause.Cure{
		{Fix: "upgrade_version", Title: "Find the first error", Told: "LOG is the whole output, from the start of the server:", Kind: "shell", Text: "grep -n -m5 -E 'OutOfMemoryError|out of memory|ValueError' LOG", Cost: "free"},
		Words("lower_gpu_memory_utilization", "If it came after the KV cache, lower `gpu_memory_utilization`", "`GPU KV cache size` then stands above it. Take 0.05 less than now (0.9 unless set).", "a smaller KV cache"),
		Flags("lower_max_batched_tokens", "If it came before, shrink the trial run", "", "slower long prompts, more requests wait", Option("max_num_batched_tokens", "2048"), Option("max_num_seqs", "16")),
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
