package rules_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Ids of the report's contract: other tools know them, so none may be missing
// or renamed.
const (
	causeIDs = `model_too_large context_too_long batch_too_large training_state_too_large fragmentation leaked_process
		retained_memory budget_misconfigured oversized_allocation host_memory device_imbalance software_bug unknown`
	fixIDs = `use_lower_quant use_smaller_model load_in_4bit load_in_8bit half_precision kill_stale_process restart_session
		empty_cache lower_batch_size lower_context lower_resolution gradient_checkpointing gradient_accumulation mixed_precision
		use_lora optimizer_8bit offload_optimizer shard_training expandable_segments max_split_size cpu_offload fewer_gpu_layers
		moe_cpu_offload multi_gpu balance_split select_gpu raise_gpu_memory_utilization lower_gpu_memory_utilization
		raise_mem_fraction lower_mem_fraction lower_max_num_seqs lower_max_batched_tokens enforce_eager quantize_kv_cache
		enable_flash_attention lower_ubatch lower_parallel chunked_prefill lower_swap_space raise_watermark raise_memory_limit
		raise_shm_size raise_pagefile add_swap close_other_apps use_mmap lower_num_workers inference_mode detach_accumulated
		efficient_attention vae_tiling lowvram_mode upgrade_version stream_dataset bigger_gpu limit_framework_preallocation
		tf_cuda_malloc_async lower_build_jobs free_disk fix_shape`
)

var stepKinds = []string{"shell", "python", "config", "env", "modelfile", "ui", "text"}

func TestEveryCauseIsComplete(t *testing.T) {
	var ids []string
	for _, r := range cause.All() {
		ids = append(ids, r.ID)
		assert.NotEmpty(t, r.Title, r.ID)
		assert.Greater(t, len(strings.Join(r.Doc(), " ")), 200, "%s: doc", r.ID)
		assert.NotEmpty(t, r.Settles, "%s: settles", r.ID)
		assert.NotEmpty(t, r.Remedies, "%s: remedies", r.ID)
		for _, m := range r.Remedies {
			assert.Contains(t, fix.Fixes(), m.Fix, "remedy of %s", r.ID)
		}
	}
	assert.ElementsMatch(t, strings.Fields(causeIDs), ids)
}

func TestEveryFixIsComplete(t *testing.T) {
	var ids []string
	for id, f := range fix.Fixes() {
		ids = append(ids, id)
		for part, text := range map[string]string{"title": f.Title, "doc": strings.Join(f.Doc(), " "), "tradeoff": f.Tradeoff, "check": f.Check, "next": f.Next} {
			assert.NotEmpty(t, text, "%s: %s", id, part)
		}
		assert.Greater(t, len(strings.Join(f.Doc(), " ")), 150, "%s: doc", id)
		assert.NotZero(t, f.Cost, "%s: cost", id)
		steps := f.Steps(&ledger.Case{Facts: &fact.Facts{}})
		assert.NotEmpty(t, steps, "%s: steps of an empty case", id)
		checkSteps(t, id, steps)
	}
	assert.ElementsMatch(t, strings.Fields(fixIDs), ids)
}

// TestAdviceForEveryLog: whatever the log, each fix that is shown is complete
// and made of steps that can be pasted.
func TestAdviceForEveryLog(t *testing.T) {
	logs, err := filepath.Glob("../testdata/logs/*/*.log")
	require.NoError(t, err)
	require.NotEmpty(t, logs)
	for _, log := range logs {
		raw, err := os.ReadFile(log)
		require.NoError(t, err)
		for _, in := range diagnose.Bytes(raw).Incidents {
			assert.NotEmpty(t, in.Fixes, log)
			for _, f := range in.Fixes {
				assert.NotEmpty(t, f.Tradeoff, "%s: %s", log, f.ID)
				assert.NotEmpty(t, f.Why, "%s: %s", log, f.ID)
				assert.NotEmpty(t, f.Steps, "%s: %s", log, f.ID)
				checkSteps(t, log+": "+f.ID, f.Steps)
			}
			for _, u := range in.WontHelp {
				assert.NotEmpty(t, u.Why, "%s: %s", log, u.ID)
			}
		}
	}
}

func checkSteps(t *testing.T, where string, steps []step.Step) {
	t.Helper()
	for _, s := range steps {
		assert.True(t, slices.Contains(stepKinds, s.Kind), "%s: kind %q", where, s.Kind)
		assert.NotEmpty(t, strings.TrimSpace(s.Text), where)
	}
}
