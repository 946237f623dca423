package diagnose_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// TestRedacted: nothing private is left in any field, and the report that was
// redacted stays as it is.
func TestRedacted(t *testing.T) {
	const log = `john@gpu-box:~/x$ vllm serve /home/john/models/Llama-3-8B --api-key my-private-key --hf-token hf_abcdefghij0123456789
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.20 GiB is free. Process 4242 has 12.00 GiB memory in use. (from http://192.168.1.20:8000, mail jane@example.org) /home/john/secret/path
`
	r := diagnose.Bytes([]byte(log))
	r.Input.Name = "/home/john/crash.log"
	before, err := json.Marshal(r)
	require.NoError(t, err)
	redacted, err := json.Marshal(r.Redacted())
	require.NoError(t, err)
	for _, private := range []string{"john", "gpu-box", "my-private-key", "hf_abc", "192.168", "jane"} {
		assert.NotContains(t, string(redacted), private)
	}
	assert.Contains(t, string(redacted), "2.00 GiB")
	after, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
}

// TestRedactedKeepsAdvice: the fixed texts of causes and fixes hold nothing that
// is taken for private.
func TestRedactedKeepsAdvice(t *testing.T) {
	t.Parallel()
	for _, path := range glob(t, "../testdata/logs/*/*.log") {
		_, r := read(t, path)
		masked := r.Redacted()
		for i, in := range r.Incidents {
			assert.Equal(t, in.Figures, masked.Incidents[i].Figures, path)
			for k, fix := range in.Fixes {
				why := strings.ReplaceAll(fix.Why, "gpu-a100-17", "HOST1") // a node that one log names
				assert.Equal(t, why, masked.Incidents[i].Fixes[k].Why, path)
				assert.Equal(t, len(fix.Steps), len(masked.Incidents[i].Fixes[k].Steps))
			}
		}
		assert.Equal(t, r.Lookalikes, masked.Lookalikes, path)
	}
}

// TestCredentials: no key of a log stands in a report that nobody asked to
// mask, whatever part of the log is quoted.
func TestCredentials(t *testing.T) {
	const key, password = "k3yOfTheServer42", "correct-horse"
	for _, log := range []string{
		"$ vllm serve m/Llama-3-8B --api-key " + key + " --max-model-len 32768\nValueError: To serve at least one request with the models's max seq len (32768), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (3.20 GiB). Based on the available memory, the estimated maximum model length is 6544.\n",
		"$ python -m vllm.entrypoints.openai.api_server --model m/Llama-3-8B --api-key='" + key + "'\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.20 GiB is free.\n",
		"$ llama-server -m a.gguf -ngl 99 -c 32768 --api-key " + key + "\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 24102.50 MiB on device 0: cudaMalloc failed: out of memory\nllama_model_load: error loading model: unable to allocate CUDA0 buffer\n",
		"$ python server.py --model a/b --gradio-auth me:" + password + " --api-key " + key + "\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)\n",
		"Launching Web UI with arguments: --medvram --gradio-auth me:" + password + "\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)\n",
		"torch.cuda.OutOfMemoryError: CUDA out of memory. (GET https://me:" + password + "@host/v1?api_key=" + key + ") Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)\n",
		"Process " + key + " api_key=" + key + " Out of memory: Killed process 4242 (python) total-vm:61203384kB, anon-rss:27914240kB, file-rss:211844kB, shmem-rss:0kB, UID:0\nOPENAI_API_KEY=" + key + " python a.py\n",
	} {
		r := diagnose.Bytes([]byte(log))
		assert.True(t, r.OOM, log)
		out, err := json.Marshal(r)
		require.NoError(t, err)
		if !strings.HasPrefix(log, "Process") { // a word that nothing tells from others
			assert.NotContains(t, string(out), key, log)
		}
		assert.NotContains(t, string(out), password, log)
	}
	r := diagnose.Bytes([]byte("$ ./llama-server -m /m/Qwen3-30B-A3B-Q4_K_M.gguf -ngl 99 -c 32768 --api-key=" + key + " --port 1\nllama_model_loader: loaded meta data with 30 key-value pairs and 724 tensors from /m/Qwen3-30B-A3B-Q4_K_M.gguf (version GGUF V3 (latest))\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 24102.50 MiB on device 0: cudaMalloc failed: out of memory\nllama_model_load: error loading model: unable to allocate CUDA0 buffer\n"))
	out, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Contains(t, string(out), `--api-key=\"$LLAMA_API_KEY\" --port 1`)
}

// TestRedactor: what the log gives away in one place is masked in all others,
// and in the report by the same name.
func TestRedactor(t *testing.T) {
	const log = "zolvek@gpu-box:~$ python /raid/zolvek/train.py\n  File \"/opt/zolvek_code/train.py\", line 3, in <module>\n    loss.backward()\ntorch.cuda.OutOfMemoryError: CUDA out of memory on gpu-box. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)\n"
	red := diagnose.NewRedactor()
	r, err := diagnose.Read(context.Background(), io.TeeReader(iotest.OneByteReader(strings.NewReader(log)), red))
	require.NoError(t, err)
	out, err := json.Marshal(red.Report(r))
	require.NoError(t, err)
	masked := string(red.Log([]byte(log)))
	for _, text := range []string{string(out), masked} {
		assert.NotContains(t, text, "zolvek")
		assert.NotContains(t, text, "gpu-box")
		assert.Contains(t, text, "2.00 GiB")
	}
	assert.Contains(t, masked, "USER1@HOST1:~$ python /raid/USER1/train.py\n  File \"/opt/USER1_code/train.py\"")
	assert.Contains(t, string(out), "on HOST1")
}

// TestRedactedLogs: a masked log has the same causes and figures, and stays as
// it is when it is masked again.
func TestRedactedLogs(t *testing.T) {
	t.Parallel()
	changed := 0
	for _, path := range glob(t, "../testdata/logs/*/*.log") {
		raw, r := read(t, path)
		masked := diagnose.NewRedactor().Log(raw)
		if bytes.Equal(raw, masked) {
			continue
		}
		changed++
		assert.Equal(t, bytes.Count(raw, []byte("\n")), bytes.Count(masked, []byte("\n")), path)
		assert.Equal(t, string(masked), string(diagnose.NewRedactor().Log(masked)), "%s twice", path)
		m := diagnose.Bytes(masked)
		require.Equal(t, len(r.Incidents), len(m.Incidents), path)
		for i := range r.Incidents {
			assert.Equal(t, causes(r.Incidents[i]), causes(m.Incidents[i]), path)
			assert.Equal(t, stated(t, r.Incidents[i]), stated(t, m.Incidents[i]), path)
		}
	}
	assert.Greater(t, changed, 20)
}

func causes(in diagnose.Incident) (out []string) {
	for _, c := range in.Causes {
		out = append(out, c.ID)
	}
	return out
}

// stated are an incident's figures without the names of processes.
func stated(t *testing.T, in diagnose.Incident) string {
	f := in.Figures
	f.OtherProcesses = slices.Clone(f.OtherProcesses)
	for i := range f.OtherProcesses {
		f.OtherProcesses[i].Name = ""
	}
	out, err := json.Marshal(f)
	require.NoError(t, err)
	return fmt.Sprint(in.Line, in.Framework, string(out))
}
