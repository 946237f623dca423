package redact

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// text masks a log of its own.
func text(s string) string {
	m := New(nil, nil)
	m.Learn(s)
	return m.Text(s)
}

func TestText(t *testing.T) {
	const secret = "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3x"
	for _, tt := range []struct{ in, want string }{
		// tokens
		{"token hf_" + secret + " is invalid", "token KEY1 is invalid"},
		{"huggingface-cli login --token hf_" + secret, "huggingface-cli login --token KEY1"},
		{"OPENAI_API_KEY=sk-proj-" + secret, "OPENAI_API_KEY=KEY1"},
		{"key sk-ant-api03-" + secret + ", rejected", "key KEY1, rejected"},
		{"AKIAIOSFODNN7EXAMPLE", "KEY1"},
		{"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "AWS_SECRET_ACCESS_KEY=KEY1"},
		{"AWS_ACCESS_KEY_ID: ASIAIOSFODNN7EXAMPLE", "AWS_ACCESS_KEY_ID: KEY1"},
		{"Authorization: Bearer " + secret, "Authorization: Bearer KEY1"},
		{`{"Authorization": "Basic dXNlcjpwYXNz"}`, `{"Authorization": "Basic KEY1"}`},
		{"bearer " + secret, "bearer KEY1"},
		{"ghp_" + secret, "KEY1"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123", "KEY1"},
		{"https://john:pa55word@host.example/x", "https://LOGIN1@HOST1/x"},
		{"vllm serve m --api-key token-abc123 --port 8000", "vllm serve m --api-key KEY1 --port 8000"},
		{"args: Namespace(api_key='my-private-key', port=8000)", "args: Namespace(api_key='KEY1', port=8000)"},
		{"'api_key': ['my-private-key']", "'api_key': ['KEY1']"}, // vLLM 0.11
		{"'api_key': ['my-private-key', 'another one'], 'port': 1", "'api_key': ['KEY1'], 'port': 1"},
		{`"api_keys": ["a b c"`, `"api_keys": ["KEY1"`},
		{`password="correct horse, battery"`, `password="KEY1"`},
		{"'passphrase': 'it\\'s'", "'passphrase': 'KEY1'"},
		{"AccountKey=abcdEFGH0123+/==;EndpointSuffix=core.windows.net", "AccountKey=KEY1;EndpointSuffix=core.windows.net"},
		{"https://x.blob.core.windows.net/m/a.safetensors?sv=2022&sig=aB3%2FdE5fG7hI9%3D&se=1", "https://HOST1/m/a.safetensors?sv=2022&sig=KEY1&se=1"},
		{"https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F2026&X-Amz-Signature=0123abcdef", "https://b.s3.amazonaws.com/k?X-Amz-Credential=KEY1&X-Amz-Signature=KEY2"},
		{"https://civitai.com/api/download/models/1?token=0123456789abcdef0123456789abcdef", "https://civitai.com/api/download/models/1?token=KEY1"},
		{"https://hooks.slack.com/services/T000/B000/XXXXabcd1234", "https://hooks.slack.com/services/KEY1"},
		{"https://discord.com/api/webhooks/123456789/abc-DEF_ghi", "https://discord.com/api/webhooks/KEY1"},
		{"xoxb-123456789012-abcdefGHIJ", "KEY1"},
		{"AIzaSyA" + secret, "KEY1"},
		{"ya29.a0AfH6SMBx-" + secret, "KEY1"},
		{"123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc", "KEY1"},
		{"npm_" + secret + "45", "KEY1"},
		{"wandb login 0123456789abcdef0123456789abcdef01234567", "wandb login KEY1"},
		{"git clone https://john@dev.azure.com/x", "git clone https://LOGIN1@dev.azure.com/x"},
		{"-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBg\\n-----END PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----KEY1-----END PRIVATE KEY-----"},
		{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA john@laptop", "ssh-ed25519 KEY1"},
		{`"password": "hunter2", "user": 1`, `"password": "KEY1", "user": 1`},
		{"MYSQL_PASSWORD=1234 python train.py", "MYSQL_PASSWORD=KEY1 python train.py"},
		{"token=" + secret, "token=KEY1"},
		{"?access_token=" + secret + "&x=1", "?access_token=KEY1&x=1"},
		{"HF_TOKEN=abcdefgh", "HF_TOKEN=KEY1"},
		// names
		{"/home/john/models/a.gguf", "/home/USER1/models/a.gguf"},
		{`File "/home/john.smith/x.py", line 3`, `File "/home/USER1/x.py", line 3`},
		{"/Users/jane/ComfyUI/main.py", "/Users/USER1/ComfyUI/main.py"},
		{`C:\Users\Jane\AppData\x.py`, `C:\Users\USER1\AppData\x.py`},
		{`C:\Users\Jane Doe\AppData\x.py`, `C:\Users\USER1\AppData\x.py`},
		{`C:\\Users\\Jane\\AppData`, `C:\\Users\\USER1\\AppData`},
		{"C:/Users/Jane/x", "C:/Users/USER1/x"},
		{"/mnt/c/Users/Jane/x", "/mnt/c/Users/USER1/x"},
		{"cd C:\\Users\\Jane", "cd C:\\Users\\USER1"},
		{"(base) john@gpu-box:~/llama$ ./main", "(base) USER1@HOST1:~/llama$ ./main"},
		{"john@gpu-box:~$ ./main", "USER1@HOST1:~$ ./main"},
		{"mail john.doe+x@example.co.uk now", "mail EMAIL1 now"},
		{"12345@qq.com", "EMAIL1"},
		{"USER=john", "USER=USER1"},
		{"/users/john/m.gguf", "/users/USER1/m.gguf"},
		{"/run/media/john/disk", "/run/media/USER1/disk"},
		{`C:\Documents and Settings\Jane\x`, `C:\Documents and Settings\USER1\x`},
		{"uid=1000(john) gid=1000(john)", "uid=1000(USER1) gid=1000(USER1)"},
		{"UserId=john(1000)", "UserId=USER1(1000)"},
		{"[sudo] password for john: ", "[sudo] password for USER1: "},
		{"ssh -p 2222 john@gpu-box nvidia-smi", "ssh -p 2222 USER1@HOST1 nvidia-smi"},
		{"[john@node017 llama]$ ./main", "[USER1@HOST1 llama]$ ./main"},
		// addresses and hosts
		{"(RayWorkerWrapper pid=1054, ip=10.2.3.4) out", "(RayWorkerWrapper pid=1054, ip=IP1) out"},
		{"http://192.168.1.20:8000/v1", "http://IP1:8000/v1"},
		{"INFO:     203.0.113.7:51234 - \"POST /v1\"", "INFO:     IP1:51234 - \"POST /v1\""},
		{"connect to 10.0.0.5.", "connect to IP1."},
		{"[fe80::1ff:fe23:4567:890a]:80", "[IP1]:80"},
		{"2001:db8:85a3::8a2e:370:7334", "IP1"},
		{"ip-10-0-12-34.ec2.internal", "HOST1"},
		{"on ip-10-0-12-34", "on HOST1"},
		{"hostname=gpu-box-7 rank=0", "hostname=HOST1 rank=0"},
		{"hostname: gpu-box-7", "hostname: HOST1"},
		{"Jan 26 17:48:20 jupiter ollama[1418]: loading", "Jan 26 17:48:20 HOST1 ollama[1418]: loading"},
		{"Jan 26 17:48:20 jupiter kernel: Out of memory", "Jan 26 17:48:20 HOST1 kernel: Out of memory"},
		{"2024-06-28T06:11:52+00:00 jupiter server[9]: x", "2024-06-28T06:11:52+00:00 HOST1 server[9]: x"},
		{"Node:         gpu-3/10.0.0.7", "Node:         HOST1/IP1"},
		{"*** JOB 123 ON node017 CANCELLED AT 2024", "*** JOB 123 ON HOST1 CANCELLED AT 2024"},
		{"Johns-MacBook-Pro.local:8080", "HOST1:8080"},
		{"http://jupiter.local/v1", "http://HOST1/v1"},
		{"vllm-svc.prod-ml.svc.cluster.local:8000", "HOST1:8000"},
		{"at gpu1.tail1234.ts.net now", "at HOST1 now"},
		{"Running on public URL: https://0a1b2c3d.gradio.live", "Running on public URL: https://HOST1"},
		{"https://abc123-7860.proxy.runpod.net", "https://HOST1"},
		{"  host      : node017", "  host      : HOST1"},
		{"NodeList=node[001-004]", "NodeList=HOST1"},
		{`DESKTOP-AB12CD3\Jane`, `HOST1\USER1`},
		{`open \\nas\models\a.gguf`, `open \\HOST1\models\a.gguf`},
		{`'\\\\nas\\models\\a.gguf'`, `'\\\\HOST1\\models\\a.gguf'`},
		{"Namespace:    team-secret-ml", "Namespace:    NAMESPACE1"},
		{"link/ether 52:54:00:12:34:56 brd", "link/ether MAC1 brd"},
		{"52-54-00-AB-cd-ef", "MAC1"},
		{"https://[2001:db8::1]:8000/", "https://[IP1]:8000/"},
		// prompts
		{"Arguments: ('task(ab12)', 'my \\'private\\' idea', 20, 1024, [], None) {}", "Arguments: ('PROMPT', 'PROMPT', 20, 1024, [], None) {}"},
		{"Received request cmpl-1: prompt: 'tell me \\'it\\'', params: SamplingParams(n=1)", "Received request cmpl-1: prompt: 'PROMPT', params: SamplingParams(n=1)"},
		{`{"prompt": "tell me", "n": 1}`, `{"prompt": "PROMPT", "n": 1}`},
		{"prompt: 'cut in the mid", "prompt: 'PROMPT"},
		{"prompt_token_ids: [1, 3923, 374], lora_request: None", "prompt_token_ids: [PROMPT], lora_request: None"},
		{"messages=[{'role': 'user', 'content': 'my diary'}]", "messages=[{'role': 'user', 'content': 'PROMPT'}]"},
		{"obj=GenerateReqInput(rid='1', text='my diary', input_ids=None)", "obj=GenerateReqInput(rid='1', text='PROMPT', input_ids=None)"},
		{`{"inputs": {"text": "my diary", "clip": ["4", 1]}, "class_type": "CLIPTextEncode"}`, `{"inputs": {"text": "PROMPT", "clip": ["4", 1]}, "class_type": "CLIPTextEncode"}`},
		{`llama-cli -m a.gguf -p "my diary, page 1" -n 10`, `llama-cli -m a.gguf -p "PROMPT" -n 10`},
		{`sd --negative-prompt "ugly, bad"`, `sd --negative-prompt "PROMPT"`},
		{"Negative prompt: ugly, bad Steps: 20, Sampler: Euler", "Negative prompt: PROMPT Steps: 20, Sampler: Euler"},
		{`ollama run llama3 "my diary"`, `ollama run llama3 "PROMPT"`},
	} {
		got := text(tt.in)
		assert.Equal(t, tt.want, got)
		assert.Equal(t, got, text(got), "twice")
	}
}

// TestCommandLine: of a command that is printed again, keys are variables.
func TestCommandLine(t *testing.T) {
	for line, want := range map[string]string{
		"server.py --api-key abc --port 1":             "server.py --api-key \x01MY_API_KEY --port 1",
		"server.py --api-key=abc":                      "server.py --api-key=\x01MY_API_KEY",
		"server.py --hf_token=abc":                     "server.py --hf_token=\x01HF_TOKEN",
		"server.py --token --port 1":                   "server.py --token --port 1",
		"server.py --api-key":                          "server.py --api-key",
		"server.py --gradio-auth 'a:b c d' --port 1":   "server.py --gradio-auth \x01MY_GRADIO_AUTH --port 1",
		"server.py --gradio-auth 'a:b c":               "server.py --gradio-auth \x01MY_GRADIO_AUTH",
		"server.py --aws-secret x --my-key y --a-to-b": "server.py --aws-secret \x01MY_AWS_SECRET --my-key \x01MY_KEY --a-to-b",
		"server.py --tiktoken a --max-tokens 5":        "server.py --tiktoken a --max-tokens 5",
	} {
		assert.Equal(t, want, CommandLine(line, "MY"))
	}
}

// TestNearMisses: what a diagnosis needs is not eaten.
func TestNearMisses(t *testing.T) {
	for _, s := range []string{
		"1.06.520.077 E llama_model_load: error", "0.00.110.226 I ", "1.2.3.4.5", "v1.2.3.4", "12.34.56.789",
		"nvidia-cudnn-cu12==9.1.0.70", "nvidia-curand-cu12==10.3.2.106", "nvidia-cublas-cu12        12.1.3.1", "nvidia_cublas_cu12-12.1.3.1-py3-none-any.whl",
		"cuDNN 8.9.2.26", "CUDA runtime 12.1.105.0", "Driver Version: 31.0.15.3619", "driver 27.20.100.8681", "Windows 10.0.19045.3803", "libcudnn.so.8.9.2.26", "version 1.2.3.4",
		"127.0.0.1:8080", "0.0.0.0", "http://localhost:11434", "--host 0.0.0.0", "host='0.0.0.0'", "host=None", "host=localhost", "hostname=None", "hostname: localhost",
		"CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)",
		"NVIDIA GeForce RTX 4090", "AMD Radeon RX 7900 XTX", "00000000:65:00.0 Off", "0000:c1:00.0", "GPU-5f3e1c2d-aaaa-bbbb-cccc-0123456789ab",
		"12:34:56", "2026-03-01 08:00:00,123", "2026-03-01T08:00:00.123Z", "Mar  1 08:00:00", "[00:01<00:02,  5.00it/s]", "11:53:58-231487",
		"at::Tensor", "c10::cuda::CUDACachingAllocator", "std::bad_alloc", "ab::cd", "fe::ed", "fade::cafe()", "::1", "a::b::c",
		"max_tokens=4096", "bos_token='<s>'", "eos_token_id=2", "tokens: 512", "token: 5", "pad_token: '</s>'", "tokenizer='meta-llama/Llama-3-8B'", "tokenizer_mode=auto", "num_batched_tokens=8192",
		"hf_token=None", "api_key=None", "--api-key $KEY", "token=None", "use_auth_token=True", "HF_TOKEN=$HF_TOKEN", "password=***", "secret: null", "the secret is simple", "password is wrong", "api_key=os.environ['K']",
		"llm_load_print_meta: EOS token        = 2 '</s>'", "BOS token        = 128000 '<|begin_of_text|>'", "EOT token = 128009 '<|eot_id|>'", "LF token         = 198 'Ċ'", "FIM PRE token = 151659 '<|fim_prefix|>'",
		"sk-learn-contrib-extensions-more", "risk-assessment-2024-01-01-report", "disk-usage-0123456789abcdef", "hf_hub_download", "hf_transfer", "hf_quantizer.preprocess_model", "HF_HUB_ENABLE_HF_TRANSFER=1", "task-0123456789abcdef0",
		"bearer of bad news about memory", "gpt-4-0123", "sha256:0123456789abcdef0123456789abcdef", "/root/.ollama/models/blobs/sha256-6a0746a1ec1aef3e7ec53868f220ff6e389f6f8ef87a01d77c96807de94ca2aa",
		"/home/ubuntu/x", "/home/user/app", "/home/runner/work", "/Users/Shared/x", "C:\\Users\\Public\\x", "/homebrew/x", "home/models", "users/x", "~/models/a.gguf", "/opt/conda/lib/python3.10/site-packages/torch",
		"git@github.com:a/b.git", "git+https://github.com/huggingface/transformers@v4.40.0", "user@1000.service", "torch@2.1.dev", "image@sha256:0123", "ollama@gpu.service", "@torch.no_grad()", "4.47 GiB @ 1.2", "numpy@1.26.4",
		"host memory: 32 GiB", "on the host: 12 GiB", "pinned host=12gib", "prompt: None", "prompt=''", "prompt eval time =  100 ms", "Prompt executed in 1.2 seconds", "prompt processing progress, n_past = 512",
		"total-vm:12345678kB, anon-rss:1234kB, file-rss:0kB", "0x7f0123456789", "dead:beef", "cpuset=/,mems_allowed=0", "task_memcg=/user.slice/user-1000.slice/user@1000.service/app.slice",
		"2024-01-19T09:12:10.552011Z ERROR text_generation_launcher: x", "2024-01-19T09:12:10.5Z  INFO text_generation_launcher: x",
		"softmax(q@k.transpose(-2,-1))", "[[Node: gradients/mul_grad/Sum = Sum[T=DT_FLOAT]]]",
		"threading.local()", "<thread.local object>", "_thread._local", "/usr/local/bin", "x.local_rank", "docker-compose.local.yml", "env.local", ".env.local", "self.local = 1", "torch.local",
		"token: ['<s>', '</s>']", "stop_tokens=['a b', 'c d']", "additional_special_tokens: ['<|a|>', '<|b|>']", "api_key=[]", "api_keys: None", "input_ids: torch.Tensor", "input_ids=None", "num_tokens: 'a b'", "key: 'value with blanks'", "cache_key='a b c'",
		"docker run -p 8000:8000", `docker run -p "8000:8000"`, `-p "80:80/tcp"`, "docker run --gpus all -p 127.0.0.1:80:80 x", "mkdir -p '/opt/x'",
		"Namespace(model='a/b')", "namespace: default", "namespace std", "2026-11-20-13-45-59", "24-01-19-09-12-10", "00:11:22", "00000000:C1:00.0", "0000:c1:00.0 VGA", "1.06.520.077 I ", "0.01.23.456",
		"Content-Type: application/json", `"content": 5`, "the context is too long", "Prompt processing: 10 t/s", "prompt: ''", "n_prompt_tokens = 12", "prompt_tokens: 512", "Negative prompt: ",
		"https://github.com/ggml-org/llama.cpp", "https://huggingface.co/meta-llama/Llama-3-8B", "my-org/private-model-7b", "git clone https://git@github.com/x", "ssh://git@host/x", `C:\Windows\System32`, `a \n b\n`, `" \\nTraceback\\n"`, `\\n\\n`,
		"?sv=2022-11-02&st=2026", "?download=true", "policy=fp16", "signature=(Tensor a)", "asian", "dapibus", "WIN-x64", "win-amd64", "DESKTOP", "uid=1000", "user_id=12", "host: str = None", "torch.cuda.memory_allocated", "pipe.transformer_blocks",
		"MIG-5f3e1c2d-aaaa-bbbb-cccc-0123456789ab", // a card's own number tells cards of one log apart, and says nothing of a person
		"settings.local.json", "~/.local/share", "libtorch_cuda.so", "user=1000",
	} {
		assert.Equal(t, s, text(s))
	}
}

// TestLogsStay: lines of the test logs that hold nothing private stay as they
// are; the others keep their figures.
func TestLogsStay(t *testing.T) {
	sizes := regexp.MustCompile(`\d+(?:\.\d+)? ?(?:[KMG]i?B|kB|bytes)\b`)
	paths, err := filepath.Glob("../../testdata/logs/*/*.log")
	require.NoError(t, err)
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		for line := range strings.SplitSeq(string(raw), "\n") {
			if !strings.Contains(line, "Arguments: (") && !strings.Contains(line, "prompt") { // what somebody asked is masked whole
				assert.Equal(t, sizes.FindAllString(line, -1), sizes.FindAllString(text(line), -1), path)
			}
		}
	}
}

// FuzzText: whatever stands around it, a key is masked, and lines keep their
// numbers.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		"hf_0123456789abcdef", "/home/a/b", "Arguments: ('a', \"b", "10.0.0.1", "fe80::1", "x@y.zz", "token=", "password: 'x", "api_key: ['a', \"b\"]", "-----BEGIN PRIVATE KEY-----\nMIIE", "a@b:~$ ls\r\nb", "/scratch/a/b/c", `\\a\b\c`, `'\\\\a\\b\\c'`,
		"\x1b[32ma@b\x1b[0m:~$ x", "--api-key 'a b", "Human: a\n\nAssistant:", "-f a.txt\n--x ü.mp3", "+49 170 1234567", "a-bcdfghjk-bcdfg",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<12 {
			return
		}
		const key = "Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2"
		log := s + "\nexport MY_API_KEY=" + key + "\n"
		got := New(nil, nil).Log(log)
		if strings.Contains(got, key) {
			t.Errorf("%q stays in %q", key, got)
		}
		if strings.Count(got, "\n") != strings.Count(log, "\n") {
			t.Errorf("%d lines of %q became %q", strings.Count(log, "\n"), log, got)
		}
		New(nil, nil).Log(got)
		Credentials(s)
		CommandLine(s, "MY")
	})
}

// plainly is [Credentials] without looking first whether there can be any.
func plainly(s string) string {
	if !telling.in(s) && !strings.Contains(s, " -") {
		return s
	}
	name := func(kind, _ string) string { return kind }
	s = maskBlocks(s, name)
	if any := slices.ContainsFunc(credentialSigns, func(sign string) bool { return strings.Contains(s, sign) }); any {
		s = apply(credentialRules(), glanceAt(s), s, name)
	}
	if any := slices.ContainsFunc(secretSigns, func(sign string) bool { return strings.Contains(s, sign) }); any {
		s = maskNamed(s, name)
	}
	return maskTokens(s, name)
}

// FuzzCredentials: what is left out because a text cannot hold it changes
// nothing.
func FuzzCredentials(f *testing.F) {
	for _, s := range []string{
		"--api-key 'a b", "API_TOKEN=abcdefghijkl1", "Authorization: Bearer abcdefgh1234", "https://a:b@c.de/", "-----BEGIN PRIVATE KEY-----\nMIIE", "hf_AbCdEfGhIjKlMnOp12", "curl -u me:secret https://x", "password: hunter2", "coo\u212aie: abc=defghi", "x?sig=abcdefgh123",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<12 {
			return
		}
		if got, want := Credentials(s), plainly(s); got != want {
			t.Errorf("%q became %q, and not %q", s, got, want)
		}
	})
}

// TestCredentialsInLogs is [FuzzCredentials] on logs and on damaged ones.
func TestCredentialsInLogs(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/logs/*/*.log")
	require.NoError(t, err)
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		for line := range strings.SplitSeq(string(raw), "\n") {
			assert.Equal(t, plainly(line), Credentials(line), path)
		}
	}
	for _, x := range secrets() {
		assert.Equal(t, plainly(x.log), Credentials(x.log))
	}
}
