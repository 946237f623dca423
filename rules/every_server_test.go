package rules_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// TestEveryServerMeetsACard gives servers a driver's message, which has no
// figures, at each place where they compute.
func TestEveryServerMeetsACard(t *testing.T) {
	for file, function := range map[string]string{
		"vllm/v1/worker/gpu_model_runner.py": "capture_model", "vllm/worker/worker.py": "load_model", "vllm/v1/engine/core.py": "run_busy_loop", "vllm/executor/executor_base.py": "collective_rpc",
		"sglang/srt/model_executor/cuda_graph_runner.py": "capture", "sglang/srt/managers/scheduler.py": "event_loop_normal", "sglang/srt/model_executor/model_runner.py": "init_memory_pool",
		"text_generation_server/models/flash_causal_lm.py": "warmup", "text_generation_server/server.py": "Prefill",
		"lmdeploy/pytorch/engine/engine.py": "_async_step", "lmdeploy/turbomind/turbomind.py": "from_pretrained",
		"tensorrt_llm/runtime/generation.py": "setup", "xinference/core/model.py": "load", "fastchat/serve/model_worker.py": "generate_stream",
	} {
		for _, message := range []string{"RuntimeError: CUDA error: out of memory", "torch.OutOfMemoryError: CUDA out of memory."} {
			log := fmt.Sprintf("Traceback (most recent call last):\n  File \"/usr/lib/python3.10/site-packages/%s\", line 120, in %s\n    out = self.run(x)\n%s\n", file, function, message)
			in := diagnose.Bytes([]byte(log)).Incidents
			require.Len(t, in, 1, log)
			assert.NotNil(t, in[0].Knowledge, log)
		}
	}
}
