package engine

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// pausedCards are about an engine that shares its card with the trainer of the
// same job, and sleeps while that works.
var pausedCards = []cause.Card{
	{
		ID: "sglang/paused-pool", Kinds: []fact.Kind{fact.MemorySaver}, Figures: holderFigures,
		If:    func(c *ledger.Case) bool { return holderFigures(c)["holder"] != "" },
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "could not take back the memory that it had paused for the trainer",
		Means:    "The engine gives its memory up while the trainer works and maps it again for the next rollout (`resume_memory_occupation`); by then the card was not free. {holder} What the trainer freed stays reserved in PyTorch's segments as long as one small tensor (a LoRA, a bucket) lives in each, or it was not offloaded yet. Refused connections and SIGQUIT are consequences.",
		Not:      "Longer HTTP retries. Ending the process that is listed, before you know that it is not your trainer.",
		Cures: []cause.Cure{
			{Fix: "expandable_segments", Title: "Let the trainer's process give its segments back", Cost: "none", Told: "For the TRAIN actors only (Ray: `env_vars` of their `runtime_env`). A process in which torch_memory_saver runs, the engine's or a trainer that it offloads (slime), refuses this setting.", Kind: "env", Text: "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
			{Fix: "empty_cache", Title: "Offload and empty the trainer's cache before the engine resumes", Cost: "a little time a step", Told: "Weights and optimizer to RAM first (verl: `param_offload`, `optimizer_offload`; slime: offloading of the train part), then in that process:", Kind: "python", Text: "gc.collect()\ntorch.cuda.empty_cache()   # before resume_memory_occupation"},
			{Fix: "lower_mem_fraction", Title: "Or a smaller share for the engine", Cost: "a smaller KV cache"},
		},
		Sources: []string{"torch_memory_saver/csrc/core.cpp", "sglang/python/sglang/srt/server_args.py", "https://github.com/fzyzcjy/torch_memory_saver"},
	},
	{
		ID: "sglang/paused-open", Kinds: []fact.Kind{fact.MemorySaver},
		Headline: "could not take back the memory that it had paused",
		Means:    "torch_memory_saver gives a pool up while others work and maps it again (`resume`); by then something else lay on the card. In training with a rollout engine that is as a rule the trainer, which had not left it yet: its weights, its optimizer, or what PyTorch keeps in its cache. The first \"may not be an issue\" line is a warning, the error after it the failure.",
		Not:      "A larger share for the engine: it needs the room that it had.",
		Cures: []cause.Cure{
			{Fix: "empty_cache", Title: "Let the trainer leave the card before the resume", Cost: "a little time a step", Told: "Weights and optimizer to RAM (verl: `param_offload`, `optimizer_offload`), then in its process; and the caller's order: first that, then the KV cache.", Kind: "python", Text: "gc.collect()\ntorch.cuda.empty_cache()   # before resume_memory_occupation"},
			{Fix: "lower_mem_fraction", Title: "Or a smaller share for the engine", Told: "`--mem-fraction-static` 0.1 lower; in a job of several the engine's setting there.", Cost: "a smaller KV cache"},
			{Fix: "kill_stale_process", Title: "See who is on the card at that moment", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
		},
		Sources: []string{"torch_memory_saver/csrc/core.cpp", "https://github.com/fzyzcjy/torch_memory_saver/issues/99"},
	},
}

// holderFigures say which listed process holds most.
func holderFigures(c *ledger.Case) map[string]string {
	out, most := map[string]string{"holder": ""}, int64(2*units.GiB)
	for _, p := range c.F().OtherProcesses {
		if p.Bytes > most && p.PID != c.OurPID {
			most = p.Bytes
			out["holder"] = fmt.Sprintf("Process %d holds %s of it: in such a job as a rule the trainer itself.", p.PID, units.Amount(p.Bytes))
		}
	}
	return out
}
