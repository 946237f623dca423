package vllm

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/when"
)

// besideCards are about a card that vLLM shares: with an earlier LLM() of a
// notebook or script, with a trainer, with the processor.
var besideCards = []cause.Card{
	{
		ID: "vllm/notebook-again", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, If: when.All(inNotebook, mostlyTaken),
		Cause: cause.LeakedProcess, Weight: cause.Decisive, Figures: figures,
		Headline: "did not start: {taken} of the GPU is already in use, probably by this notebook",
		Means:    "{taken} of {total} was in use before vLLM loaded anything. An `LLM(…)` from an earlier cell keeps its memory until the kernel stops. Running the cell again starts a second one beside it. The log does not show what holds the memory.",
		Not:      "A smaller model or a shorter context alone: nothing was loaded yet.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Restart the kernel, then create `LLM(…)` once", Told: "Jupyter: Kernel, Restart. Colab: Runtime, Restart session. Put the call in its own cell and do not run that cell again.", Cost: "variables are lost"},
			{Fix: "empty_cache", Title: "Or delete the earlier model first", Told: "Run `del llm`, then `import gc; gc.collect()` before the new call (llm: your variable). If the memory stays in use, restart the kernel.", Cost: "that model is gone"},
			{Fix: "kill_stale_process", Title: "If the GPU is still full, see what uses it", Told: "Run `!nvidia-smi` in a cell and end what is yours: `!kill -9 PID`.", Cost: "what you end stops"},
		},
		Sources: []string{"vllm/v1/worker/utils.py", "vllm/v1/engine/core_client.py", threads + "issues/1908"},
	},
	{
		ID: "vllm/cache-none-others", Kinds: noRoomForCache, If: muchNonTorch,
		Cause: cause.LeakedProcess, Weight: cause.Decisive, Figures: figures,
		Headline: "did not start: {foreign} of the GPU is in use outside this model",
		Means:    "vLLM reports `non_torch_memory` of {foreign}; 0.1 to 2 GiB is normal. Versions before 0.9.1 count everything else on the GPU there: another server, an earlier `LLM(…)` in the same script, an old run. That leaves nothing for the KV cache.",
		Not:      "A shorter context or fewer sequences: {foreign} is still subtracted.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Free the GPU first", Told: "End old runs with `kill PID`. If your script loads two models, run them one after the other in separate processes.", Kind: "shell", Text: "nvidia-smi", Cost: "what you end stops"},
			{Fix: "limit_framework_preallocation", Title: "To keep both, divide the GPU between them", Told: "These versions count what others use in the share. Start the first with 0.45 and the second with 0.9.", Cost: "a smaller KV cache for each"},
			{Fix: "upgrade_version", Title: "Or update vLLM to 0.9.1 or later", Told: "It counts only its own memory. Give each server its own share, such as 0.45: `pip install -U vllm`", Cost: "flags may have changed"},
		},
		Sources: []string{"vllm/worker/worker.py", threads + "pull/18974", threads + "issues/10643"},
	},
	{
		ID: "vllm/none-beside-trainer", Kinds: []fact.Kind{fact.VLLMNoCache}, If: trained,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: figures,
		Headline: "did not start: its share of the GPU leaves no memory for the KV cache",
		Means:    "The trainer gives vLLM a share of the GPU, {usual} by default. vLLM's copy of the weights (2 GB per billion parameters at 16 bit) and its trial run used all of it. vLLM before 0.9.1 may also count what the trainer holds.",
		Not:      "A smaller training batch: vLLM starts before the first step.",
		Cures: []cause.Cure{
			Given(when.All(notSet, reaches(Option("gpu_memory_utilization", ""))), raisedByTenth),
			Given(ofTRL, Flags("lower_context", "Lower the total length of prompt and answer", "This option exists since 2026; before, set `max_prompt_length` and `max_completion_length`.", "longer samples are cut", Option("max_model_len", "2048"))),
			Given(when.Not(ofTRL), Flags("lower_context", "Lower the total length of prompt and answer", "By default vLLM plans for the model's own maximum.", "longer samples are cut", Option("max_model_len", "2048"))),
			Given(ofTRL, Words("select_gpu", "Or run vLLM on its own GPU", "Set `vllm_mode=\"server\"` in `GRPOConfig(…)` and start `trl vllm-serve` on the other GPU.", "needs a second GPU")),
			Given(inUnsloth, Words("load_in_4bit", "Or train the model in 4 bit", "Set `load_in_4bit=True` in the same call: vLLM then loads it in 4 bit too.", "slight loss of quality")),
			Given(inVerl, Words("cpu_offload", "Or offload the trainer while vLLM generates", "Set `actor_rollout_ref.actor.fsdp_config.param_offload=True` and `optimizer_offload=True` in the same place.", "slower steps")),
		},
		Sources: []string{"trl/trainer/grpo_config.py", "unsloth/models/loader.py", threads + "pull/18974"},
	},
	{
		ID: "vllm/trl-server", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, Said: []string{"trl/scripts/vllm_serve.py", "trl vllm-serve"},
		Cause: cause.LeakedProcess, Weight: cause.Decisive, Figures: figures,
		Headline: "did not start under `trl vllm-serve`: its GPU is already in use",
		Means:    "[[{taken} of {total} was in use before vLLM loaded anything. ]]In server mode vLLM needs GPUs that the training does not use. Most likely the training, or an earlier start of the server, is on this GPU.",
		Not:      "`vllm_gpu_memory_utilization` in GRPOConfig: it works only in colocate mode.",
		Cures: []cause.Cure{
			{Fix: "select_gpu", Title: "Give the server and the training different GPUs", Told: "For example the server on GPU 0 and the training on the others: `CUDA_VISIBLE_DEVICES=1,2,3 accelerate launch train.py` (your script).", Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=0   # in the shell that starts trl vllm-serve", Cost: "one GPU less for the training"},
			{Fix: "kill_stale_process", Title: "End what is left of an earlier start", Told: "`kill PID` for processes of yours.", Kind: "shell", Text: "nvidia-smi", Cost: "what you end stops"},
			{Fix: "lower_gpu_memory_utilization", Title: "With one GPU only, use colocate mode", Told: "In `GRPOConfig(…)`: `vllm_mode=\"colocate\", vllm_gpu_memory_utilization=0.3`. Do not start a server.", Cost: "slower steps"},
		},
		Sources: []string{"trl/scripts/vllm_serve.py", "trl/trainer/grpo_config.py"},
	},
	{
		ID: "vllm/apu", Kinds: append([]fact.Kind{fact.VLLMFreeTooLow}, onCard...), Said: []string{"gfx1151", "gfx1150", "gfx1103", "8060S", "8050S", "890M", "780M", "Strix Halo", "Ryzen AI"}, Phases: []string{"kv_cache", "graph_capture", "startup_check"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: figures,
		Headline: "did not start: its share of the memory that CPU and GPU share was not free",
		Means:    "This GPU has no memory of its own: its {total} is part of your system RAM. The system, the file cache and other programs use the same memory. vLLM takes its share ({usual} by default) of all of it.",
		Not:      "A lower `--max-model-len` alone: the KV cache fills the share at any length.",
		Cures: []cause.Cure{
			Flags("lower_gpu_memory_utilization", "Lower `gpu_memory_utilization` to 0.7", "If that fails, try 0.6. The system needs several GiB outside the share. {where}", "a smaller KV cache", Option("gpu_memory_utilization", "0.7")),
			{Fix: "limit_framework_preallocation", Title: "Or set the size of the KV cache directly", Told: "In bytes; this is 8 GiB (vLLM 0.10.2 and later). It replaces the share:", Kind: "config", Text: "--kv-cache-memory-bytes 8589934592", Cost: "fewer or shorter requests"},
			{Fix: "raise_memory_limit", Title: "Free the file cache, and check the GPU's limit", Told: "Right before the start: `sync; echo 3 | sudo tee /proc/sys/vm/drop_caches`. Linux also limits what the GPU may use (TTM, half of the RAM by default):", Kind: "shell", Text: "cat /sys/module/ttm/parameters/pages_limit   # x 4 KiB", Cost: "free"},
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "vllm/config/cache.py", "https://rocm.docs.amd.com/en/latest/how-to/system-optimization/strixhalo.html"},
	},
}

// raisedByTenth gives an engine beside a trainer a tenth more of the card.
var raisedByTenth = cause.Cure{
	Fix: "raise_gpu_memory_utilization", Title: "Raise vLLM's share by 0.1 or 0.2", Told: "The trainer needs the rest. {where}", Cost: "less for the training",
	Steps: Server.Sets(func(c *ledger.Case) launch.Option { return Option("gpu_memory_utilization", tenthMore(c)) }),
}

func inNotebook(c *ledger.Case) bool { return c.Signal("notebook") != nil }

// mostlyTaken: more was in use than drivers and a desktop take.
func mostlyTaken(c *ledger.Case) bool {
	f := c.F()
	return f.Total != nil && f.Free != nil && f.Total.Bytes-f.Free.Bytes > 3*units.GiB
}

// muchNonTorch: what vLLM counts against its share without PyTorch is more than
// contexts and NCCL take.
func muchNonTorch(c *ledger.Case) bool { return ledger.SizeOf(c.F().NonTorch) >= 5*units.GiB }

// trained: a trainer starts the engine beside itself.
func trained(c *ledger.Case) bool { _, ok := Share(c); return ok }

func inUnsloth(c *ledger.Case) bool { return c.In("unsloth") }
func inVerl(c *ledger.Case) bool    { return c.In("verl") }
func ofTRL(c *ledger.Case) bool     { return c.In("trl") && !inUnsloth(c) && !inVerl(c) }

// notSet: nobody set a share, as far as the log shows.
func notSet(c *ledger.Case) bool { return !when.Set("gpu_memory_utilization", "")(c) }

// tenthMore is the usual share and 0.1.
func tenthMore(c *ledger.Case) string {
	u, _ := Share(c)
	return strconv.FormatFloat(u+0.1, 'f', 1, 64)
}

// besideFigures are what is on the card beside vLLM, and its usual share.
func besideFigures(c *ledger.Case, out map[string]string) {
	out["usual"] = "0.9"
	if u, ok := Share(c); ok {
		out["usual"] = strconv.FormatFloat(u, 'g', -1, 64)
	}
	f := c.F()
	if f.Total != nil && f.Free != nil {
		out["taken"] = units.Amount(f.Total.Bytes - f.Free.Bytes)
	}
	if f.NonTorch != nil {
		out["foreign"] = units.Amount(f.NonTorch.Bytes)
	}
	if n := ledger.IntSetting(c, "max_num_seqs"); n > 0 {
		out["requests"] = strconv.Itoa(n)
	}
}

// convertsToFP8: the option asks for FP8 and the model's name has none.
func convertsToFP8(c *ledger.Case) bool {
	name := strings.ToLower(c.ModelName())
	return when.Set("quantization", "fp8")(c) && name != "model" && !strings.Contains(name, "fp8") && !strings.Contains(name, "w8a8")
}

// smallerFigures are what the model takes at 8 and 4 bit.
func smallerFigures(c *ledger.Case, out map[string]string) {
	w, ok := ledger.WeightsIn(c, "fp8")
	if !ok || w <= 0 || !c.Total.Has() {
		return
	}
	out["fp8"] = units.Amount(w)
	if left := c.Total.Bytes*9/10 - w; left > 2*units.GiB {
		out["left"] = units.Amount(left)
	} else if four, ok := ledger.WeightsIn(c, "awq-int4"); ok {
		out["four"] = "about " + units.Amount(four)
	}
}

// Both are shares for two servers on one card, this one with so much for its
// weights; 0.45 each where the model's size is not known.
func Both(c *ledger.Case) (this, other string) {
	total := ledger.SizeOf(c.F().Total)
	mine := 0.45
	if w, ok := Weights(c); ok && total > 0 {
		mine = math.Ceil(100*(1.2*float64(w)+2.5*float64(units.GiB))/float64(total)) / 100
	}
	if mine > 0.65 {
		return "", ""
	}
	return fmt.Sprintf("%.2f", mine), fmt.Sprintf("%.2f", 0.93-mine)
}

// Holder names the largest process that a table in the log lists, and how it is
// ended where it is known; without a table it says what would name it.
func Holder(c *ledger.Case) (names, how string) {
	var most fact.Process
	for _, p := range c.Facts.Processes {
		if p.Bytes > max(most.Bytes, units.GiB) && p.Name != "" {
			most = p
		}
	}
	if most.Bytes == 0 {
		return "The log does not name them; `nvidia-smi` does.", ""
	}
	if strings.Contains(strings.ToLower(most.Name), "ollama") {
		how = "Ollama: `sudo systemctl stop ollama`, or `ollama stop` and the model's name. "
	}
	return fmt.Sprintf("The table in the log shows %s (PID %d) with %s.", quote.Told(most.Name), most.PID, units.Amount(most.Bytes)), how
}
