// Command gen writes server logs of any size, to measure reading speed and
// false alarms on. All are healthy but "failing" and "varying", in which every
// line is a failure, with the same figures or with others.
//
//	go run ./bench/gen -engine vllm -size 1073741824 > big.log
//
// The same flags always give the same log. With -crash the last line is a
// failure.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	engine := flag.String("engine", "vllm", "one of "+strings.Join(names(), ", "))
	size := flag.Int64("size", 64<<20, "bytes to write, about")
	crash := flag.Bool("crash", false, "end with an out-of-memory error")
	flag.Parse()
	lines := append(engines[*engine], failing[*engine]...)
	if len(lines) == 0 {
		fmt.Fprintf(os.Stderr, "no engine %q; there are %s\n", *engine, strings.Join(names(), ", "))
		os.Exit(2)
	}
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	write(w, lines, *size)
	if *crash {
		io.WriteString(w, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has 22.10 GiB memory in use. Of the allocated memory 21.50 GiB is allocated by PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated.\n")
	}
	if err := w.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func names() []string {
	var out []string
	for _, logs := range []map[string][]line{engines, failing} {
		for name := range logs {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// write repeats lines in the proportion of their weights.
func write(w io.Writer, lines []line, size int64) {
	r := rand.New(rand.NewPCG(1, 2))
	total := 0
	for _, l := range lines {
		total += l.weight
	}
	clock := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	for written := int64(0); written < size; {
		pick := r.IntN(total)
		for _, l := range lines {
			if pick -= l.weight; pick < 0 {
				n, err := io.WriteString(w, l.make(r, clock))
				if err != nil {
					return
				}
				written += int64(n)
				break
			}
		}
		clock = clock.Add(time.Duration(r.IntN(400)) * time.Millisecond)
	}
}

// line makes lines of one kind; weight is its share.
type line struct {
	weight int
	make   func(r *rand.Rand, at time.Time) string
}

func text(weight int, format string, values ...func(*rand.Rand) any) line {
	return line{weight, func(r *rand.Rand, at time.Time) string {
		if !strings.Contains(format, "%") {
			return format + "\n"
		}
		args := []any{at.Format("01-02 15:04:05")}
		for _, v := range values {
			args = append(args, v(r))
		}
		return fmt.Sprintf(format+"\n", args...)
	}}
}

func upTo(n int) func(*rand.Rand) any { return func(r *rand.Rand) any { return r.IntN(n) } }
func decimal(n float64) func(*rand.Rand) any {
	return func(r *rand.Rand) any { return r.Float64() * n }
}
func hex(r *rand.Rand) any { return fmt.Sprintf("%016x", r.Uint64()) }

var engines = map[string][]line{
	"vllm": {
		text(62, "\x1b[0;36m(APIServer pid=1)\x1b[0m INFO:     10.0.%[3]d.%[4]d:%[2]d - \"POST /v1/chat/completions HTTP/1.1\" 200 OK", upTo(60000), upTo(255), upTo(255)),
		text(18, "(APIServer pid=1) INFO %s [loggers.py:127] Engine 000: Avg prompt throughput: %.1f tokens/s, Avg generation throughput: %.1f tokens/s, Running: %d reqs, Waiting: %d reqs, GPU KV cache usage: %.1f%%, Prefix cache hit rate: %.1f%%", decimal(9000), decimal(3000), upTo(200), upTo(40), decimal(100), decimal(80)),
		text(10, "(APIServer pid=1) INFO %s [logger.py:42] Received request chatcmpl-%s: prompt: None, params: SamplingParams(n=1, presence_penalty=0.0, temperature=0.7, top_p=0.95, top_k=-1, seed=None, stop=[], max_tokens=%d, logprobs=None, skip_special_tokens=True), prompt_token_ids: None, lora_request: None.", hex, upTo(4096)),
		text(8, "(APIServer pid=1) INFO:     127.0.0.1:%[2]d - \"GET /health HTTP/1.1\" 200 OK", upTo(60000)),
		text(1, "WARNING %s [scheduler.py:1057] Sequence group %s is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. This can affect the end-to-end performance. Increase gpu_memory_utilization or tensor_parallel_size to provide more KV cache memory. total_num_cumulative_preemption=%d", hex, upTo(900)),
		text(1, "\rProcessed prompts:  %[2]d%%|####      | %[3]d/512 [00:%[4]d<00:11,  7.01it/s]", upTo(100), upTo(512), upTo(60)),
	},
	"llama-server": {
		text(30, "slot update_slots: id %2[2]d | task %[3]d | prompt processing progress, n_past = %[4]d, n_tokens = 512, progress = %[5]f", upTo(4), upTo(99999), upTo(8192), decimal(1)),
		text(20, "slot print_timing: id %2[2]d | task %[3]d | prompt eval time = %8.2[4]f ms / %5[5]d tokens (    1.20 ms per token,   833.33 tokens per second)", upTo(4), upTo(99999), decimal(9000), upTo(8000)),
		text(20, "slot      release: id %2[2]d | task %[3]d | stop processing: n_past = %[4]d, truncated = 0", upTo(4), upTo(99999), upTo(8192)),
		text(20, "srv  log_server_r: request: POST /v1/chat/completions 10.0.0.%[2]d 200", upTo(255)),
		text(5, "srv  params_from_: Chat format: Content-only"),
		text(3, "slot get_availabl: id %2[2]d | task -1 | selected slot by LRU, t_last = %[3]d", upTo(4), upTo(1<<30)),
		text(2, "srv   prompt_save:  - saving prompt with length %[2]d, total state size = %.3[3]f MiB", upTo(30000), decimal(4000)),
	},
	"ollama": {
		text(60, "[GIN] 2026/03/01 - %s | 200 | %8.3fs |       127.0.0.1 | POST     \"/api/chat\"", decimal(30)),
		text(20, "time=2026-03-01T08:00:00.%03[2]dZ level=INFO source=sched.go:517 msg=\"updated VRAM based on existing loaded models\" gpu=GPU-%[3]s library=cuda total=\"23.6 GiB\" available=\"%.1[4]f GiB\"", upTo(999), hex, decimal(20)),
		text(10, "time=2026-03-01T08:00:00.%03[2]dZ level=INFO source=server.go:1289 msg=\"llama runner started in %.2[3]f seconds\"", upTo(999), decimal(9)),
		text(5, "llama_model_loader: - kv %3[2]d:                          llama.block_count u32              = 32", upTo(30)),
		text(5, "load_tensors:        CUDA0 model buffer size =  %7.2[2]f MiB", decimal(9000)),
	},
	"training": {
		text(70, "{'loss': %.4[2]f, 'grad_norm': %.3[3]f, 'learning_rate': 2e-05, 'epoch': %.2[4]f}", decimal(3), decimal(2), decimal(4)),
		text(20, "\r %2[2]d%%|##########          | %[3]d/25120 [3:02:10<15:17:25,  2.62s/it]", upTo(100), upTo(25120)),
		text(5, "[2026-03-01 08:00:00,%03[2]d] [INFO] [utils.py:803:see_memory_usage] MA %.2[3]f GB         Max_MA 26.38 GB         CA 26.71 GB         Max_CA 27 GB", upTo(999), decimal(26)),
		text(5, "Saving model checkpoint to ./out/checkpoint-%[2]d", upTo(9999)),
	},
	"sglang": {
		text(45, "[2026-%[1]s TP0] Decode batch, #running-req: %[2]d, #token: %[3]d, token usage: %.2[4]f, cuda graph: True, gen throughput (token/s): %.2[5]f, #queue-req: %[6]d, ", upTo(200), upTo(400000), decimal(0.9), decimal(4000), upTo(9)),
		text(20, "[2026-%[1]s TP0] Prefill batch, #new-seq: %[2]d, #new-token: %[3]d, #cached-token: %[4]d, token usage: %.2[5]f, #running-req: %[6]d, #queue-req: 0, ", upTo(16), upTo(8192), upTo(8192), decimal(0.9), upTo(200)),
		text(30, "[2026-%[1]s] INFO:     10.0.0.%[2]d:%[3]d - \"POST /v1/chat/completions HTTP/1.1\" 200 OK", upTo(255), upTo(60000)),
		text(1, "[2026-%[1]s TP0] KV cache pool is full. Retract requests. #retracted_reqs: %[2]d, #new_token_ratio: 0.6214 -> 1.0000", upTo(9)),
		text(1, "[2026-%[1]s TP0] max_total_num_tokens=442834, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=4096, context_len=131072, available_gpu_mem=%.2[2]f GB", decimal(9)),
	},
	"tgi": {
		text(70, "2026-03-01T08:00:00.%06[2]dZ  INFO generate{parameters=GenerateParameters { best_of: None, temperature: Some(0.7), max_new_tokens: Some(%[3]d), seed: None } total_time=\"%.6[4]fs\" validation_time=\"412.71µs\" queue_time=\"61.2µs\" inference_time=\"1.2s\" time_per_token=\"21.3ms\" seed=\"None\"}: text_generation_router::server: router/src/server.rs:407: Success", upTo(999999), upTo(2048), decimal(30)),
		text(20, "2026-03-01T08:00:00.%06[2]dZ  INFO text_generation_router_v3::radix: backends/v3/src/radix.rs:108: Prefix %[3]d - Suffix %[4]d", upTo(999999), upTo(4000), upTo(4000)),
		text(5, "2026-03-01T08:00:00.%06[2]dZ  INFO shard-manager: text_generation_launcher: Waiting for shard to be ready... rank=%[3]d", upTo(999999), upTo(8)),
		text(2, "2026-03-01T08:00:00.%06[2]dZ  INFO text_generation_launcher: Setting max batch total tokens to %[3]d", upTo(999999), upTo(400000)),
	},
	"journald": {
		text(30, "Mar 01 08:14:27 gpu4 systemd[1]: session-%[2]d.scope: Deactivated successfully.", upTo(99999)),
		text(20, "Mar 01 08:14:27 gpu4 sshd[%[2]d]: Accepted publickey for train from 10.0.0.%[3]d port %[4]d ssh2", upTo(99999), upTo(255), upTo(60000)),
		text(20, "Mar 01 08:14:27 gpu4 CRON[%[2]d]: (root) CMD (test -x /usr/sbin/anacron || run-parts --report /etc/cron.hourly)", upTo(99999)),
		text(10, "Mar 01 08:14:27 gpu4 kernel: [%.6[2]f] docker0: port %[3]d(veth%.4[4]s) entered forwarding state", decimal(900000), upTo(9), hex),
		text(5, "Mar 01 08:14:27 gpu4 systemd[1]: Started systemd-oomd.service - Userspace Out-Of-Memory (OOM) Killer."),
		text(5, "Mar 01 08:14:27 gpu4 kernel: [%.6[2]f] nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms  580.65.06", decimal(900)),
		text(5, "Mar 01 08:14:27 gpu4 systemd[1]: user@%[2]d.service: Consumed 1h 12min 3.120s CPU time, 18.%[3]dG memory peak, 0B memory swap peak.", upTo(9999), upTo(9)),
		text(5, "Mar 01 08:14:27 gpu4 dockerd[%[2]d]: time=\"2026-03-01T08:00:00Z\" level=info msg=\"ignoring event\" container=%[3]s module=libcontainerd namespace=moby topic=/tasks/delete type=\"*events.TaskDelete\"", upTo(9999), hex),
	},
	"docker": {
		text(60, `{"log":"INFO:     10.0.0.%[2]d:%[3]d - \"POST /v1/completions HTTP/1.1\" 200 OK\n","stream":"stdout","time":"2026-03-01T08:00:00.%09[4]dZ"}`, upTo(255), upTo(60000), upTo(999999999)),
		text(30, `{"log":"INFO %[1]s [loggers.py:127] Engine 000: Avg prompt throughput: %.1[2]f tokens/s, Avg generation throughput: %.1[3]f tokens/s, Running: %[4]d reqs, Waiting: 0 reqs, GPU KV cache usage: %.1[5]f%%\n","stream":"stderr","time":"2026-03-01T08:00:00.000000000Z"}`, decimal(9000), decimal(3000), upTo(200), decimal(100)),
		text(10, `{"log":"\u001b[32mINFO\u001b[0m health check ok, %[2]d models loaded, memory %.1[3]f / 80.0 GiB\n","stream":"stdout","time":"2026-03-01T08:00:00.000000000Z"}`, upTo(4), decimal(80)),
	},
	"a1111": {
		text(60, "\r%3[2]d%%|████████      | %[3]d/30 [00:%02[4]d<00:03,  6.41it/s]", upTo(100), upTo(30), upTo(60)),
		text(20, "Total progress: %3[2]d%%|██████████| %[3]d/30 [00:05<00:00,  5.61it/s]", upTo(100), upTo(30)),
		text(8, "Reusing loaded model v1-5-pruned-emaonly.safetensors [6ce0161689] to load dreamshaper_%[2]d.safetensors [%.10[3]s]", upTo(9), hex),
		text(6, "Weights loaded in %.1[2]fs (send model to cpu: %.1[3]fs, load weights from disk: 1.2s, apply weights to model: 0.4s, move model to device: 0.3s).", decimal(9), decimal(2)),
		text(6, "Applying attention optimization: Doggettx... done."),
	},
	"comfyui": {
		text(30, "got prompt"),
		text(20, "Requested to load Flux"),
		text(20, "loaded completely; %.2[2]f MB usable, %.2[3]f MB loaded, full load: True", decimal(20000), decimal(12000)),
		text(30, "Prompt executed in %.2[2]f seconds", decimal(60)),
	},
}

// failing are logs in which every line is a failure: with the same figures, or
// with others.
var failing = map[string][]line{
	"failing": {
		text(1, "(EngineCore pid=7) ERROR %s torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has 22.10 GiB memory in use. Of the allocated memory 21.50 GiB is allocated by PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated."),
	},
	"varying": {
		text(1, "(EngineCore pid=7) ERROR %s torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which %.2f GiB is free. Including non-PyTorch memory, this process has %.2f GiB memory in use. Of the allocated memory 21.50 GiB is allocated by PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated.", decimal(2), decimal(22)),
	},
}
