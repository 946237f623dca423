package diagnose_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// engine is a program with a log in which nothing failed, and one in which
// memory ran out. What a stranger wrote stands where %s is.
type engine struct{ name, healthy, failed string }

var engines = []engine{
	{
		"vLLM",
		"INFO 11-18 18:07:17 [api_server.py:1112] vLLM API server version 0.8.5\nINFO 11-18 18:07:40 [core.py:58] Initializing a V1 LLM engine (v0.8.5) with config: model='Qwen/Qwen2.5-7B-Instruct', max_seq_len=32768\n%s\nINFO 11-18 18:09:01 [loggers.py:87] Engine 000: Avg prompt throughput: 12.1 tokens/s, Running: 1 reqs, GPU KV cache usage: 0.3%%\n",
		"INFO 11-18 18:07:17 [api_server.py:1112] vLLM API server version 0.8.5\nINFO 11-18 18:07:18 [api_server.py:1113] args: Namespace(model='Qwen/Qwen2.5-7B-Instruct', max_model_len=32768, gpu_memory_utilization=0.95)\n%s\nERROR 11-18 18:09:05 [core.py:396] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has 22.40 GiB memory in use. Of the allocated memory 20.00 GiB is allocated by PyTorch, and 500.00 MiB is reserved by PyTorch but unallocated.\n%s\n",
	},
	{
		"SGLang",
		"[2025-10-16 09:06:22] server_args=ServerArgs(model_path='Qwen/Qwen2.5-7B-Instruct', mem_fraction_static=0.88)\n%s\n[2025-10-16 09:07:30 TP0] Decode batch. #running-req: 1, #token: 512, token usage: 0.01\n",
		"[2025-10-16 09:06:22] server_args=ServerArgs(model_path='Qwen/Qwen2.5-7B-Instruct', mem_fraction_static=0.88)\n%s\n[2025-10-16 09:07:30 TP0] Scheduler hit an exception: Traceback (most recent call last):\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 has a total capacity of 23.65 GiB of which 812.00 MiB is free.\n%s\n",
	},
	{
		"TGI",
		"2025-10-16T09:06:22.100000Z  INFO text_generation_launcher: Args { model_id: \"Qwen/Qwen2.5-7B-Instruct\", quantize: None }\n%s\n2025-10-16T09:08:22.100000Z  INFO text_generation_router::server: Success\n",
		"2025-10-16T09:06:22.100000Z  INFO text_generation_launcher: Args { model_id: \"Qwen/Qwen2.5-7B-Instruct\", quantize: None }\n%s\n2025-10-16T09:08:22.100000Z ERROR text_generation_launcher: Method Prefill encountered an error.\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 has a total capacity of 23.65 GiB of which 812.00 MiB is free.\n%s\n",
	},
	{
		"llama-server",
		"build: 4500 (abc) with cc for x86_64-linux-gnu\nllama_model_loader: loaded meta data with 30 key-value pairs and 339 tensors from /models/qwen2.5-7b-q4.gguf (version GGUF V3 (latest))\nsrv          init: initializing slots, n_slots = 1\n%s\nslot      release: id  0 | task 0 | stop processing: n_past = 120, truncated = 0\n",
		"build: 4500 (abc) with cc for x86_64-linux-gnu\nllama_model_loader: loaded meta data with 30 key-value pairs and 339 tensors from /models/qwen2.5-7b-q4.gguf (version GGUF V3 (latest))\n%s\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 2048.00 MiB on device 0: cudaMalloc failed: out of memory\nllama_kv_cache_init: failed to allocate buffer for kv cache\n%s\n",
	},
	{
		"Ollama",
		"time=2025-03-04T21:14:01.120+01:00 level=INFO source=server.go:380 msg=\"starting llama server\" cmd=\"/usr/bin/ollama runner --model /models/blobs/sha256-1 --ctx-size 8192 --batch-size 512 --n-gpu-layers 29\"\n%s\n[GIN] 2025/03/04 - 21:15:01 | 200 |  1.52s |       127.0.0.1 | POST     \"/api/chat\"\n",
		"time=2025-03-04T21:14:01.120+01:00 level=INFO source=server.go:380 msg=\"starting llama server\" cmd=\"/usr/bin/ollama runner --model /models/blobs/sha256-1 --ctx-size 8192 --batch-size 512 --n-gpu-layers 29\"\n%s\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 2048.00 MiB on device 0: cudaMalloc failed: out of memory\n%s\n",
	},
	{
		"ComfyUI",
		"Total VRAM 24210 MB, total RAM 64231 MB\npytorch version: 2.5.1+cu124\nSet vram state to: NORMAL_VRAM\ngot prompt\n%s\nPrompt executed in 12.30 seconds\n",
		"Total VRAM 24210 MB, total RAM 64231 MB\npytorch version: 2.5.1+cu124\nSet vram state to: NORMAL_VRAM\ngot prompt\n%s\n!!! Exception during processing !!! Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 20.10 GiB\nRequested               : 2.00 GiB\nDevice limit            : 23.65 GiB\n%s\nPrompt executed in 12.30 seconds\n",
	},
	{
		"A1111",
		"Launching Web UI with arguments: --xformers\nLoading weights [6ce0161689] from /sd/models/Stable-diffusion/v1-5.safetensors\n%s\nTotal progress: 100%%\n",
		"Launching Web UI with arguments: --xformers\nLoading weights [6ce0161689] from /sd/models/Stable-diffusion/v1-5.safetensors\n%s\nTraceback (most recent call last):\n  File \"/sd/modules/call_queue.py\", line 57, in f\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 5.12 GiB already allocated; 1.10 GiB free; 5.90 GiB reserved in total by PyTorch)\n%s\n",
	},
	{
		"transformers",
		"2025-10-16 09:06:22 INFO starting worker 1\nLoading checkpoint shards: 100%%\n2025-10-16 09:06:30 INFO ready\n%s\n2025-10-16 09:07:22 INFO done\n",
		"2025-10-16 09:06:22 INFO starting worker 1\n2025-10-16 09:06:30 INFO ready\n%s\nTraceback (most recent call last):\n  File \"/srv/app/serve.py\", line 31, in answer\n    out = model.generate(**batch)\n  File \"/venv/lib/python3.11/site-packages/transformers/generation/utils.py\", line 2215, in generate\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 has a total capacity of 23.65 GiB of which 812.00 MiB is free.\n%s\n",
	},
}

// form is how a program prints what a stranger sent; %s is where it stands, as
// escape writes it.
type form struct {
	name, line string
	escape     func(string) string
}

var forms = []form{
	{"request line", "INFO 11-18 18:08:00 [logger.py:39] Received request chatcmpl-7: prompt: %s, params: SamplingParams(n=1, stop=[%[1]s]), prompt_token_ids: None", repr},
	{"request object", "[2025-10-16 09:06:59] Receive: obj=GenerateReqInput(rid='7', text=%s, input_ids=None, sampling_params={'stop': [%[1]s]})", repr},
	{"parameters in a span", "2025-10-16T09:06:59.100000Z  INFO generate{parameters=GenerateParameters { max_new_tokens: Some(20), stop: [%s] } total_time=\"1.2s\"}: text_generation_router::server: Success", strconv.Quote},
	{"key and string", "time=2025-03-04T21:14:59.120+01:00 level=DEBUG source=routes.go:1508 msg=\"chat request\" images=0 prompt=%s format=\"\"", strconv.Quote},
	{"chat JSON", "srv  params_from_: request: {\"model\":%s,\"messages\":[{\"role\":\"system\",\"content\":\"Be kind.\"},{\"role\":\"user\",\"content\":%[1]s}],\"stream\":true}", strconv.Quote},
	{"chat JSON in a string", "2025-10-16 09:06:59 DEBUG body=\"%s\"", func(s string) string {
		q := strconv.Quote(fmt.Sprintf(`{"model":%s,"messages":[{"role":"user","content":%[1]s}]}`, strconv.Quote(s)))
		return q[1 : len(q)-1]
	}},
	{"chat of Python", "2025-10-16 09:06:59 DEBUG messages=[{'role': 'user', 'content': %s}]", repr},
	{"ChatML", "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n", raw},
	{"ChatML in a string", "2025-10-16 09:06:59 DEBUG templated: \"<|im_start|>user\\n%s<|im_end|>\\n<|im_start|>assistant\\n\"", inQuotes},
	{"Llama's template", "<|start_header_id|>user<|end_header_id|>\n\n%s<|eot_id|>", raw},
	{"A1111's arguments", "*** Arguments: ('task(abc)', %s, '', [], 20, 'Euler a', 1, 1, 7, 512, 512, True, %[1]s) {}", repr},
	{"A1111's parameters", "%s\nNegative prompt: %[1]s\nSteps: 20, Sampler: Euler a, CFG scale: 7, Seed: 1, Size: 512x512, Model: %[1]s", oneLine},
	{"ComfyUI's graph", "{\"6\": {\"inputs\": {\"text\": %s, \"clip\": [\"4\", 1]}, \"class_type\": \"CLIPTextEncode\"}, \"4\": {\"inputs\": {\"ckpt_name\": %[1]s}, \"class_type\": \"CheckpointLoaderSimple\"}}", strconv.Quote},
	{"URL, encoded", "INFO:     203.0.113.9:50124 - \"GET /v1/models?q=%s HTTP/1.1\" 200 OK", url.QueryEscape},
	{"URL, as it came", "203.0.113.9 - - [16/Oct/2025:09:06:59 +0000] \"GET /v1/models?q=%s HTTP/1.1\" 404 153 \"-\" \"curl/8.5.0\"", oneLine},
	{"URL of GIN", "[GIN] 2025/03/04 - 21:14:59 | 404 |  9.2us |     203.0.113.9 | GET      \"/%s\"", oneLine},
	{"URL of llama-server", "srv  log_server_r: request: GET /%s 203.0.113.9 404", oneLine},
	{"User-Agent", "203.0.113.9 - - [16/Oct/2025:09:06:59 +0000] \"POST /v1/completions HTTP/1.1\" 200 153 \"https://example.org/%s\" \"%[1]s\"", oneLine},
	{"login", "203.0.113.9 - %s [16/Oct/2025:09:06:59 +0000] \"POST /v1/completions HTTP/1.1\" 401 0 \"-\" \"curl/8.5.0\"", oneLine},
	{"headers", "2025-10-16 09:06:59 DEBUG headers: {'host': 'api', 'user-agent': %s, 'x-request-id': %[1]s}", repr},
	{"mail", "2025-10-16 09:06:59 INFO ticket 4711\nOn Thu, 16 Oct 2025 at 08:11, Eve <eve@example.org> wrote:\n> %s", func(s string) string { return strings.ReplaceAll(s, "\n", "\n> ") }},
	{"chat", "[09:06] <eve> %s", func(s string) string { return strings.ReplaceAll(s, "\n", "\n[09:06] <eve> ") }},
	{"mail in a prompt", "INFO 11-18 18:08:00 [logger.py:39] Received request chatcmpl-8: prompt: %s, params: SamplingParams(n=1)", func(s string) string {
		return repr("Summarise:\nOn Thu, Eve wrote:\n> " + strings.ReplaceAll(s, "\n", "\n> "))
	}},
}

func raw(s string) string { return s }

// oneLine is text where no line end can be: servers refuse or encode it.
func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

// repr is how Python prints a string.
func repr(s string) string {
	q := strconv.Quote(s)
	if strings.Contains(s, "'") {
		return q
	}
	return "'" + strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`) + "'"
}

// inQuotes is the inside of a string.
func inQuotes(s string) string {
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}

// payloads are what a stranger may want to have believed, by what it aims at.
var payloads = map[string][]string{
	"verdict": {
		"hello\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 66.60 GiB. GPU 0 has a total capacity of 13.37 GiB of which 66.60 MiB is free. Process 1337 has 6.66 GiB memory in use.\nbye",
		"Out of memory: Killed process 1337 (python) total-vm:61203384kB, anon-rss:27914240kB, file-rss:0kB, shmem-rss:0kB",
		"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 66600.00 MiB on device 0: cudaMalloc failed: out of memory",
		"why do I get\n\nKilled\n\nand java.lang.OutOfMemoryError: Java heap space",
	},
	"model": {
		"hello\nStarting to load model evil/model-13b...\nLoading weights [deadbeef] from /x/evil.safetensors\n--model evil/model-13b",
		"from_pretrained(\"evil/model-13b\")",
		"args: Namespace(model='evil/model-13b', max_model_len=66600)",
		"llama_model_loader: loaded meta data with 30 key-value pairs and 339 tensors from /x/evil-13b.gguf (version GGUF V3 (latest))",
	},
	"command": {
		"hello\n$ vllm serve evil/model-13b --trust-remote-code --host 0.0.0.0 --max-model-len 66600\n",
		"vllm serve evil/model-13b --trust-remote-code --max-model-len 66600",
		"\nroot@x:~# python -m sglang.launch_server --model-path evil/model-13b --trust-remote-code --mem-fraction-static 0.66\n",
		"\n$ ./llama-server -m /x/evil-13b.gguf -ngl 66 -c 66600 --host 0.0.0.0\n",
		"\nnon-default args: {'model': 'evil/model-13b', 'trust_remote_code': True, 'max_model_len': 66600}\n",
		"\n$ python launch.py --medvram --listen --enable-insecure-extension-access\n$ python main.py --reserve-vram 6.66\n",
	},
	"figure": {
		"hello\nGPU 0 has a total capacity of 13.37 GiB of which 66.60 MiB is free.\nGPU KV cache size: 66,600 tokens\nModel weights take 13.37GiB\nPYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
		"\n|    0   N/A  N/A            1337      C   /usr/bin/python                        6660MiB |\nllama_context: n_ctx = 66600\nload_tensors: offloaded 66/99 layers to GPU\nTotal VRAM 1337 MB, total RAM 666 MB",
		"[16] Tesla P100 | 27'C,   0 % |   103 / 16384 MB | user(645M)\nMem:  666  13  37  0  0  66\n#SBATCH --mem=66G",
	},
}

// poisoned puts a stranger's text into a log, and the same log with a harmless
// text of as many lines.
func poisoned(base string, x form, payload string) (poison, harmless string) {
	words := strings.FieldsFunc(payload, func(r rune) bool { return r == '\n' })
	plain := payload
	for _, w := range words {
		plain = strings.Replace(plain, w, "a kind word", 1)
	}
	fill := func(s string) string {
		line := fmt.Sprintf(strings.ReplaceAll(x.line, "%s", "%[1]s"), x.escape(s))
		return fmt.Sprintf(strings.ReplaceAll(base, "%s", "%[1]s"), line)
	}
	return fill(payload), fill(plain)
}

// aims are the keys of payloads, in the order of the table.
var aims = []string{"verdict", "model", "command", "figure"}

// TestPoisoned: what a stranger wrote changes nothing of a report, whatever it
// says, in whatever form, beside whatever program's log. One text of each aim in
// turn; with -every 1 all of them. What it counts is the table in
// docs/strangers.md.
func TestPoisoned(t *testing.T) {
	t.Parallel()
	through, logs := map[[2]string]int{}, map[[2]string]int{}
	for n, e := range engines {
		for k, x := range forms {
			for _, aim := range aims {
				for i, payload := range payloads[aim] {
					if *every != 1 && (n+k)%len(payloads[aim]) != i {
						continue
					}
					for _, base := range []string{e.healthy, e.failed} {
						log, same := poisoned(base, x, payload)
						got, want := told(log), told(same)
						cell := [2]string{x.name, aim}
						logs[cell]++
						if got != want || strings.Contains(got, `"oom":true`) != (base == e.failed) {
							if through[cell]++; through[cell] == 1 {
								t.Errorf("%s, %s, %s %d: %s\nwith a harmless text: %s", e.name, x.name, aim, i, shortened(got), shortened(want))
							}
						}
					}
				}
			}
		}
	}
	if *every != 1 {
		assertTable(t, through, logs)
	}
}

func shortened(s string) string { return s[:min(len(s), 600)] }

// strangersPage is where the table stands.
const strangersPage = "../docs/strangers.md"

// assertTable holds the page to what was counted.
func assertTable(t *testing.T, through, logs map[[2]string]int) {
	t.Helper()
	var b strings.Builder
	all := 0
	b.WriteString("| Form | " + strings.Join(aims, " | ") + " |\n|---|---|---|---|---|\n")
	for _, x := range forms {
		b.WriteString("| " + x.name + " |")
		for _, aim := range aims {
			n := logs[[2]string{x.name, aim}]
			all += n
			fmt.Fprintf(&b, " %d of %d |", through[[2]string{x.name, aim}], n)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\n%d logs of %d programs: half of them of a run in which nothing failed, half with a real failure.\n", all, len(engines))
	page, err := os.ReadFile(strangersPage)
	require.NoError(t, err)
	head, _, ok := strings.Cut(string(page), tableBegins)
	require.True(t, ok)
	want := head + tableBegins + b.String()
	if *update {
		require.NoError(t, os.WriteFile(strangersPage, []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(page), "run go test ./diagnose -run Poisoned -update")
}

const tableBegins = "## Tried\n\nHow many got through, of how many logs:\n\n"

// told is a report without what depends on the log's length.
func told(log string) string {
	r := diagnose.Bytes([]byte(log))
	r.Input = diagnose.Input{}
	out, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// TestPoisonedLarge: neither in a log that is too long to be kept whole, and
// full of it.
func TestPoisonedLarge(t *testing.T) {
	e := engines[0]
	for _, x := range forms {
		for aim, texts := range payloads {
			payload := "hello\n" + strings.Join(texts, "\n")
			line, _ := poisoned("%s", x, payload)
			calm := strings.Repeat("INFO 11-18 18:09:01 [loggers.py:87] Engine 000: Running: 1 reqs\n", 40)
			log := strings.Replace(strings.ReplaceAll(e.healthy, "%%", "%"), "%s", strings.Repeat(calm+line+"\n"+calm, 80), 1)
			r := diagnose.Bytes([]byte(log))
			assert.Greater(t, len(log), 300<<10)
			assert.False(t, r.OOM, "%s, %s", x.name, aim)
			assert.Empty(t, r.Lookalikes, "%s, %s", x.name, aim)
			assert.Empty(t, r.Notes, "%s, %s", x.name, aim)
		}
	}
}
