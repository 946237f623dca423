package redact

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// secret is something private, and a log in which it stands.
type secret struct{ kind, private, log string }

// made makes up secrets, always the same ones. No secret stands in this file:
// each is put together from what its vendor documents and from chance.
type made struct{ *rand.Rand }

const (
	digits  = "0123456789"
	lower   = "abcdefghijklmnopqrstuvwxyz"
	upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	hexa    = digits + "abcdef"
	alnum   = digits + lower + upper
	urlsafe = alnum + "-_"
)

// of is a word of n characters of an alphabet, with a letter and a digit in it.
func (r made) of(alphabet string, n int) string {
	for {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		if s := string(b); strings.ContainsAny(s, digits) == strings.ContainsAny(alphabet, digits) && b[0] != '-' && b[n-1] != '-' {
			return s
		}
	}
}

// person is a name that nobody has and that is no word.
func (r made) person() string {
	var b strings.Builder
	for range 3 {
		b.WriteByte("bdfghjklmnprstvz"[r.IntN(16)])
		b.WriteByte("aeiou"[r.IntN(5)])
	}
	return b.String() + "k"
}

// tokens are the shapes that vendors document: a beginning, an alphabet, a
// length.
func (r made) tokens() []secret {
	var out []secret
	for _, v := range []struct {
		name, begin, alphabet string
		n                     int
		end                   string
	}{
		{"Hugging Face", "h" + "f_", lower + upper + digits, 34, ""}, {"Hugging Face org", "api_" + "org_", alnum, 34, ""}, {"OpenAI", "s" + "k-", alnum, 48, ""}, {"OpenAI project", "sk-" + "proj-", urlsafe, 74, ""},
		{"Anthropic", "sk-" + "ant-api03-", urlsafe, 93, "AA"}, {"OpenRouter", "sk-" + "or-v1-", hexa, 64, ""}, {"DeepSeek", "s" + "k-", hexa, 32, ""}, {"Langfuse", "sk-" + "lf-", hexa, 32, ""},
		{"Groq", "gs" + "k_", alnum, 52, ""}, {"Replicate", "r8" + "_", alnum, 37, ""}, {"NVIDIA", "nv" + "api-", urlsafe, 64, ""}, {"Perplexity", "ppl" + "x-", alnum, 48, ""}, {"xAI", "xa" + "i-", alnum, 80, ""},
		{"Cerebras", "cs" + "k-", lower + digits, 48, ""}, {"Together", "tgp" + "_v1_", urlsafe, 43, ""}, {"Fireworks", "f" + "w_", alnum, 24, ""}, {"Pinecone", "pc" + "sk_", alnum, 69, ""}, {"Jina", "ji" + "na_", alnum, 60, ""},
		{"Voyage", "p" + "a-", urlsafe, 43, ""}, {"Tavily", "tv" + "ly-", alnum, 32, ""}, {"Firecrawl", "f" + "c-", hexa, 32, ""}, {"LlamaCloud", "ll" + "x-", alnum, 48, ""}, {"LangSmith", "ls" + "v2_pt_", hexa, 32, "_0123456789"},
		{"RunPod", "rp" + "a_", upper + digits, 40, ""}, {"Modal", "a" + "k-", alnum, 22, ""}, {"Stripe", "sk_" + "live_", alnum, 24, ""}, {"Stripe restricted", "rk_" + "live_", alnum, 99, ""}, {"Stripe webhook", "wh" + "sec_", alnum, 32, ""},
		{"ElevenLabs", "s" + "k_", hexa, 48, ""}, {"GitHub", "gh" + "p_", alnum, 36, ""}, {"GitHub OAuth", "gh" + "o_", alnum, 36, ""}, {"GitHub server", "gh" + "s_", alnum, 36, ""}, {"GitHub fine-grained", "github" + "_pat_", alnum, 22, "_0a1B2c3D4e5F6g7H8i9J"},
		{"GitLab", "gl" + "pat-", urlsafe, 20, ""}, {"GitLab runner", "gl" + "rt-", urlsafe, 20, ""}, {"Atlassian", "AT" + "ATT3xFfGF0", urlsafe, 170, ""}, {"Bitbucket", "AT" + "BB", alnum, 32, ""},
		{"Slack bot", "xo" + "xb-", digits, 12, "-a1B2c3D4e5F6g7H8i9J0k1L2"}, {"Slack app", "xa" + "pp-1-", upper + digits, 11, "-123456789012-0a1b2c3d4e5f"}, {"Google API", "AI" + "za", urlsafe, 35, ""}, {"Google OAuth", "ya" + "29.", urlsafe, 100, ""},
		{"Google client", "GOC" + "SPX-", urlsafe, 28, ""}, {"AWS", "AK" + "IA", upper + digits, 16, ""}, {"AWS session", "AS" + "IA", upper + digits, 16, ""}, {"Alibaba", "LT" + "AI", alnum, 20, ""}, {"Tencent", "AK" + "ID", alnum, 32, ""},
		{"DigitalOcean", "dop" + "_v1_", hexa, 64, ""}, {"Databricks", "da" + "pi", hexa, 32, ""}, {"Docker", "dckr" + "_pat_", urlsafe, 27, ""}, {"npm", "np" + "m_", alnum, 36, ""}, {"PyPI", "py" + "pi-AgEIcHlwaS5vcmc", urlsafe, 70, ""},
		{"RubyGems", "ruby" + "gems_", hexa, 48, ""}, {"crates.io", "ci" + "o", alnum, 32, ""}, {"NuGet", "oy" + "2", lower + digits, 43, ""}, {"Tailscale", "ts" + "key-auth-", alnum, 16, "-a1B2c3D4e5F6g7H8"}, {"Heroku", "HR" + "KU-", urlsafe, 60, ""},
		{"Fly.io", "fm" + "2_", alnum, 60, ""}, {"Supabase", "sb" + "p_", hexa, 40, ""}, {"PlanetScale", "pscale" + "_tkn_", urlsafe, 43, ""}, {"Vault", "hv" + "s.", urlsafe, 90, ""}, {"Pulumi", "pu" + "l-", hexa, 40, ""},
		{"Doppler", "dp" + ".pt.", alnum, 43, ""}, {"1Password", "op" + "s_eyJ", alnum, 80, ""}, {"age", "AGE-" + "SECRET-KEY-1", upper + digits, 58, ""}, {"Grafana", "gl" + "sa_", alnum, 32, "_0a1b2c3d"}, {"New Relic", "NR" + "AK-", upper + digits, 27, ""},
		{"Sentry", "sn" + "trys_", alnum, 64, ""}, {"PostHog", "ph" + "c_", alnum, 43, ""}, {"SonarQube", "sq" + "p_", hexa, 40, ""}, {"CircleCI", "CCI" + "PAT_", alnum, 40, ""}, {"Prefect", "pn" + "u_", alnum, 36, ""},
		{"Linear", "lin" + "_api_", alnum, 40, ""}, {"Notion", "nt" + "n_", alnum, 46, ""}, {"Airtable", "pa" + "tA", alnum, 13, "." + strings.Repeat("0a1b2c3d", 8)}, {"Figma", "fi" + "gd_", urlsafe, 40, ""}, {"Postman", "PM" + "AK-", hexa, 24, "-0123456789abcdef0123456789abcdef01"},
		{"SendGrid", "S" + "G.", urlsafe, 22, ".a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V"}, {"Brevo", "xkey" + "sib-", hexa, 64, "-a1B2c3D4e5F6g7H8"}, {"Mailgun", "ke" + "y-", hexa, 32, ""}, {"Shopify", "shp" + "at_", hexa, 32, ""},
		{"Square", "sq0" + "atp-", urlsafe, 22, ""}, {"Telegram", "", digits, 9, ":A" + "AE" + "hBOweik6ad9rQXMENQjcrGbqCr4Kbc0a1"}, {"JWT", "ey" + "J", alnum, 33, ".ey" + "JzdWIiOiIxMjM0In0.a1B2c3D4e5F6g7"}, {"Discord", "M", alnum, 25, ".Ga1b2C." + "a1B2c3D4e5F6g7H8i9J0k1L2m3N"},
		{"Terraform", "", alnum, 14, ".atlas" + "v1." + strings.Repeat("a1B2c3D4", 8)}, {"Azure AD", "a1B8" + "Q~", alnum, 34, ""},
	} {
		token := v.begin + r.of(v.alphabet, v.n) + v.end
		logs := []string{"the key %s was refused", "Loaded credentials: %s", `{"value": "%s", "n": 1}`, "export MINE=%s", "key='%s',", "  - %s", "got (%s)"}
		out = append(out, secret{"token: " + v.name, token, fmt.Sprintf(logs[len(out)%len(logs)], token)})
	}
	return out
}

// several makes a secret of each log, in which %s stands for it.
func several(kind string, private func() string, logs ...string) []secret {
	var out []secret
	for _, log := range logs {
		x := private()
		out = append(out, secret{kind, x, strings.ReplaceAll(log, "%s", x)})
	}
	return out
}

func (r made) words() []secret {
	long := func() string { return r.of(alnum, 24+r.IntN(30)) }
	return slices.Concat(
		several("random word", long, "using %s", "value=%s", `"%s"`, "X: %s;", "login with %s now", "curl -H 'X-Thing: %s' host", "['%s']", "id %s", "ngrok config add-authtoken %s", "<%s>"),
		several("named", func() string { return r.of(alnum, 14) },
			"vllm serve m --api-key %s --port 8000", "llama-server --api-key=%s -c 4096", "OPENAI_API_KEY=%s python a.py", "api_key: %s", "Namespace(api_key='%s', port=1)", "'api_key': ['%s']", `{"apiKey": "%s"}`, "AWS_SECRET_ACCESS_KEY=%s", "client_secret=%s",
			"--hf-token %s", "HUGGING_FACE_HUB_TOKEN=%s", "WANDB_API_KEY=%s", "x-api-key: %s", "Ocp-Apim-Subscription-Key: %s", "SECRET_KEY = '%s'", "private_token=%s", "session_token: %s", "DB_PASSWORD=%s", `password: "%s"`, "PGPASSWORD=%s psql", "passphrase=%s",
			"--password %s", "Pwd=%s;Server=x", "AccountKey=%s;EndpointSuffix=core", "?access_token=%s&x=1", "https://x.example/m.gguf?sig=%s&se=1", "https://b.s3.example/k?X-Amz-Signature=%s", "Authorization: Bearer %s", `"Authorization": "Basic %s"`, "authorization=Token %s",
			"docker login -u me -p %s", "sshpass -p %s ssh me@box", "Cookie: session=%s; theme=dark", "cookies={'session': '%s'}", "os.environ['OPENAI_API_KEY'] = '%s'", "wandb.login(key='%s0a1b')", `{"username":"me","key":"%s0a1b"}`, "mysql -u root -p%s db", "docker run -e HF_TOKEN=%s img", `'cookie': 'sid=%s'`, "Set-Cookie: auth=%s; HttpOnly", "curl --cookie sid=%s x", "curl -b 'sid=%s' x", "MY_SERVICE_KEY=%s", `\"api_key\": \"%s\"`, "webhook_secret=%s", "https://hooks.slack.com/services/T000/B000/%s", "STRIPE_KEY=%s"),
		several("login", func() string { return r.of(lower+digits, 10) },
			"curl -u me:%s https://x", "curl --user 'me:%s' x", "python server.py --gradio-auth me:%s --listen", "--gradio-auth me:abc,you:%s", "launch.py --api-auth me:%s", "demo.launch(auth=('me', '%s'))", "requests.get(u, auth=HTTPBasicAuth('me', '%s'))", "https://me:%s@git.example/x", "redis://:%s@cache:6379/0", "postgresql://me:%s@db/x", "mongodb+srv://me:%s@c.example", "http://%s@git.example/x", "amqp://guest:%s@mq", "wget --password=%s x", "--proxy-user me:%s"),
	)
}

func (r made) names() []secret {
	p := r.person
	node := func() string { return r.person() + r.of(digits, 3) }
	return slices.Concat(
		several("user", p, "/home/%s/models/a.gguf", `File "/home/%s/x.py", line 3`, "/Users/%s/ComfyUI/main.py", `C:\Users\%s\AppData\x.py`, `C:\\Users\\%s\\AppData`, "/mnt/c/Users/%s/x", "%s@gpu-box:~$ ./main", "(base) %s@node:~/x$ ls", "[%s@login1 llama]$ ./main", "USER=%s", "uid=1000(%s) gid=1000", "UserId=%s(1000)", "[sudo] password for %s: ",
			"ssh %s@gpu-box nvidia-smi", "/nfs/home/%s/run.py", "~%s/llama/main", `\\wsl$\Ubuntu\home\%s\x.py`, "Job <12> was submitted from host <a1> by user <%s> in cluster <c>", "session opened for user %s by root", "Job_Owner = %s@login", "rsync a %s@nas:/x", "/run/media/%s/disk", "C:/Users/%s/x", "/home2/%s/a.py", "/gpfs/home/%s/a.py", "LOGNAME=%s", "SLURM_JOB_USER=%s", "KAGGLE_USERNAME=%s", "wandb: Currently logged in as: %s (x)", "https://wandb.ai/%s/p/runs/1", "Author: %s <", "Bobs-MBP:~ %s$ ./main", "sudo -u %s python a.py", "su - %s", "-rw-r--r-- 1 %s staff 4096 Jan  1 10:00 a.gguf", "%s  4242 99.0 12.3 12345678 9876543 ?  R  10:00  1:00 python", "   4242 %s  20   0   61.2g  27.9g   1.1g R  99.0", "[0] A100 | 40'C,  0 % |  8000 / 40960 MB | %s(8000M)"),
		several("folder", p, "/scratch/%s/llama/train.py", "/nfs/%s/x/train.py", "/data/%s/llama-7b/model.safetensors", "/mnt/%s/a.py", "/media/%s/ssd/a.py", "/lustre/%s/job.sh", "/gpfs/projects/%s/a.py", "/scratch/project/%s/run/a.py", "/mnt/nfs/users/%s/a.py", "/data/users/%s/a.py", "/mnt/storage/%s/models/x.gguf", "/raid/%s/x.py", `\\nas\%s\models\a.gguf`, `\\nas\share\%s\a.gguf`, `'\\\\nas\\%s\\a.gguf'`, "/scratch/%s", "--output_dir /data/%s/out", "/Volumes/%s/models/a.gguf", "/storage/%s/x/main.py", "/work/%s/exp/train.py"),
		several("folder, elsewhere", p, "/scratch/%s/train.py\nrun of %s failed", "/home/%s/a\n/raid5/%s/x", "/nfs/%s/x.py\nwandb: run %s-42", "%s@box:~$ ls\nwritten to /opt/%s/out", "C:\\Users\\%s\\a\nD:\\%s\\models"),
		several("host", node, "me@%s:~$ ls", "hostname=%s rank=0", "Jan 26 17:48:20 %s ollama[1418]: loading", "2024-06-28T06:11:52+00:00 %s server[9]: x", "*** JOB 123 ON %s CANCELLED AT 2024", "srun: error: %s: task 0: Out Of Memory", "slurmstepd-%s: error: x", "%s:123:456 [0] NCCL INFO x", "[%s:12345] *** Process received signal ***", "  host      : %s", "NodeName=%s", "SLURMD_NODENAME=%s", "SLURM_NODELIST=%s", "BatchHost=%s", "Job was executed on host(s) <%s>, in queue", "exec_host = %s/0*8", "on node %s exited on signal 9", "http://%s.local/v1", "%s.corp.internal:80", "Node:         %s/10.0.0.7", `\\%s\models\a.gguf`, "nodename: %s", "hostname=%s\nfailed on %s", "MASTER_ADDR=%s", "torchrun --rdzv_endpoint=%s:29400 a.py", "failed to connect to [%s]:29500", "http://%s:8000/v1", "tcp://%s:29500", "nodeName: %s", "#SBATCH --nodelist=%s", "#SBATCH -w %s", "Execution host: %s", "https://%s.example.dev:8443/v1", "ssh: connect to %s.cs.school.edu:22", "%s:/export/home on /home", "Host %s is unreachable", "node/%s NotReady"),
		several("host by its looks", func() string { return "gpu-node-" + r.of(digits, 2) }, "worker %s disconnected", "[%s] died", "%s: rank 3 died"),
		several("pod", func() string {
			return r.person() + "-" + r.of("bcdfghjklmnpqrstvwxz2456789", 10) + "-" + r.of("bcdfghjklmnpqrstvwxz2456789", 5)
		}, "pod/%s OOMKilled", "killed %s now", `pod="team/%s"`, "kubectl logs %s -n ml", "%s   0/1   OOMKilled   3   5m", "Name:         %s", "pod_name=%s", "Successfully assigned ml/%s to ip-10-0-1-2"),
		several("namespace", p, "Namespace:    %s", "kubectl get pods -n %s", `pod="%s/a-b"`),
		several("file", func() string { return r.person() + "_" + r.person() }, "whisper %s.mp3 --model large", "python transcribe.py --audio /x/%s.wav", "llama-cli -m a.gguf -f %s.txt", "python run.py --input_csv=%s.csv", "ffmpeg -i '%s.mp4' out.mp4", "python run.py --data %s.jsonl\nreading %s.jsonl", "python ocr.py %s.pdf"),
	)
}

func (r made) addresses() []secret {
	return slices.Concat(
		several("e-mail", func() string { return r.person() + "@" + r.person() + ".example" }, "mail %s now", "<%s>", "--mail-user=%s", "from %s:"),
		several("IP", func() string {
			return fmt.Sprintf("%d.%d.%d.%d", 100+r.IntN(90), r.IntN(250), r.IntN(250), 1+r.IntN(250))
		}, "http://%s:8000/v1", "(RayWorkerWrapper pid=1054, ip=%s) out", "INFO:     %s:51234 - \"POST /v1\"", "connect to %s.", "MASTER_ADDR=%s"),
		several("IPv6", func() string { return "2001:db8:" + r.of(hexa, 4) + "::1" }, "[%s]:80", "at %s"),
		several("MAC", func() string { return "52:54:00:" + r.of(hexa, 2) + ":" + r.of(hexa, 2) + ":0e" }, "link/ether %s brd"),
		several("phone", func() string { return r.of(digits, 3) + " " + r.of(digits, 4) + " " + r.of(digits, 3) }, "call +49 %s", "tel: 0%s"),
		several("phone", func() string { return r.of(digits, 3) + "-" + r.of(digits, 4) }, "call (415) %s", "or 415-%s now", "phone 415-%s"),
		several("phone", func() string { return r.of(digits[1:], 11) }, "WhatsApp +%s"),
		several("account", r.person, "sbatch --account=%s job.sh", "#SBATCH -A %s", "Account=%s QOS=normal"),
	)
}

func (r made) prompts() []secret {
	text := func() string { return "dear " + r.person() + " about " + r.person() }
	return several("prompt", text, `{"messages": [{"role": "user", "content": "%s"}]}`, "messages=[{'role': 'user', 'content': '%s'}]", `{"role":"user","content":[{"type":"text","text":"%s"}]}`, "Received request cmpl-1: prompt: '%s', params: SamplingParams(n=1)", `{"prompt": "%s", "n": 1}`, `{"model": "m", "input": "%s"}`[:15]+`"prompt": "%s"}`,
		"<|im_start|>user\n%s<|im_end|>\n", "[INST] %s [/INST]", "<|start_header_id|>user<|end_header_id|>\n\n%s<|eot_id|>", "<start_of_turn>user\n%s<end_of_turn>", "<|user|>\n%s<|end|>", "### Instruction:\n%s\n\n### Response:", "USER: %s ASSISTANT:",
		"obj=GenerateReqInput(rid='1', text='%s', input_ids=None)", "Arguments: ('task(ab)', '%s', 20, 1024) {}", "Negative prompt: %s, bad Steps: 20, Sampler: Euler", "%s, best\nNegative prompt: ugly\nSteps: 20, Sampler: Euler a, CFG scale: 7", `llama-cli -m a.gguf -p "%s" -n 10`, `sd --prompt "%s"`, `ollama run llama3 "%s"`, `--negative-prompt "%s"`, `"inputs": {"text": "%s", "clip": ["4", 1]}, "class_type": "CLIPTextEncode"`, `{"inputs": "%s", "parameters": {}}`,
		`{"contents": [{"role": "user", "parts": [{"text": "%s"}]}]}`, "Human: %s\n\nAssistant:", "<s>[INST] <<SYS>>\nbe kind\n<</SYS>>\n\n%s [/INST]", "<|start|>user<|message|>%s<|end|>", `{"system": "%s", "prompt": "hi there"}`, "params: prompt='%s', n=1", `{"instruction": "%s", "input": ""}`, `{"question": "%s"}`, "'history': [['%s', 'ok']]", `pipe("%s", num_inference_steps=20)`, `a.py --prompt="%s"`, `a.py --question "%s"`, "User: %s\nAssistant:", "[Round 1]\n\n问：%s\n\n答：", "[Fooocus] Processed prompt: %s", `data: {"choices":[{"delta":{"content":"%s"}}]}`)
}

func secrets() []secret {
	r := made{rand.New(rand.NewPCG(11, 5))}
	return slices.Concat(r.tokens(), r.words(), r.names(), r.addresses(), r.prompts())
}

// leaks reports that a word of something private stands in a text.
func leaks(text, private string) bool {
	for word := range strings.FieldsSeq(strings.ToLower(private)) {
		if len(word) > 2 && word != "dear" && word != "about" && strings.Contains(strings.ToLower(text), word) {
			return true
		}
	}
	return false
}

// TestSecrets: of 300 private things in logs, at most 3 get through.
func TestSecrets(t *testing.T) {
	through, all := map[string]int{}, map[string]int{}
	missed := 0
	for _, x := range secrets() {
		kind, _, _ := strings.Cut(x.kind, ":")
		all[kind]++
		for part := range strings.SplitSeq(text(x.log), "\n") {
			if leaks(part, x.private) {
				t.Logf("%s: %q stays in %q", x.kind, x.private, text(x.log))
				through[kind]++
				missed++
				break
			}
		}
	}
	n := 0
	for kind, of := range all {
		t.Logf("%-20s %3d of %3d through", kind, through[kind], of)
		n += of
	}
	assert.GreaterOrEqual(t, n, 300)
	assert.LessOrEqual(t, missed, 3, "of %d", n)
}

// neutral is what looks private to a hasty eye: hashes, versions, names of
// models, dates, figures, paths of packages.
var neutral = strings.Split(strings.TrimSpace(`
commit 4e3cbae3dd1003890fb4d1747d83040d31bca7fc
Merge 4e3cbae into c2302e2
build: 5410 (b5410-8a7c1f2e)
ggml commit: 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
/root/.ollama/models/blobs/sha256-6a0746a1ec1aef3e7ec53868f220ff6e389f6f8ef87a01d77c96807de94ca2aa
md5 d41d8cd98f00b204e9800998ecf8427e
~/.cache/huggingface/hub/models--meta-llama--Meta-Llama-3.1-8B-Instruct/snapshots/0e9e39f249a16976918f6564b8830bc894c89659
GPU-5f3e1c2d-1a2b-3c4d-5e6f-0123456789ab
MIG-5f3e1c2d-1a2b-3c4d-5e6f-0123456789ab
request_id: 5f3e1c2d-1a2b-3c4d-5e6f-0123456789ab
node_id=43bef624e9a09fa65fb3f0f701000000
task ID: 8c35c363359aab51efe39d6b1824c2384d27ee4a01000000
image: vllm/vllm-openai@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
nix/store/0c5q3kdl4r8x1v2b3n4m5p6s7w8y9z0a-python3-3.11.9
conda build py311h38be061_0
PyTorch 2.5.1+cu124
torch==2.9.0.dev20250901+rocm6.4
vLLM API server version 0.11.1rc2.dev87+g0a1b2c3d4
llama.cpp build b6123
Driver Version: 570.133.20     CUDA Version: 12.8
cuDNN 8.9.7.29
nvidia-cublas-cu12==12.4.5.8
libcudnn.so.9.1.0
Python 3.11.9 (main, Apr  6 2024, 17:59:24) [GCC 11.4.0] on linux
Linux 6.8.0-45-generic #45~22.04.1-Ubuntu SMP
Windows 10.0.22631.4317
Microsoft Windows [Version 10.0.26100.1742]
transformers version: 4.46.0
git+https://github.com/huggingface/transformers@v4.46.0
gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)
ROCm 6.2.41134-65d174c3e
flash_attn-2.6.3+cu123torch2.3cxx11abiFALSE-cp311-cp311-linux_x86_64.whl
manylinux_2_17_x86_64.manylinux2014_x86_64
meta-llama/Meta-Llama-3.1-8B-Instruct
deepseek-ai/DeepSeek-R1-Distill-Qwen-32B
TheBloke/Mixtral-8x7B-Instruct-v0.1-GPTQ
bartowski/Qwen2.5-Coder-32B-Instruct-GGUF
Qwen3-30B-A3B-Instruct-2507-Q4_K_M.gguf
sd_xl_base_1.0_0.9vae.safetensors
wan2.2_t2v_high_noise_14B_fp8_scaled.safetensors
v1-5-pruned-emaonly.ckpt
XLMRobertaForSequenceClassification
CompressedTensorsW8A8Fp8MoEMethod
Qwen2_5_VLForConditionalGeneration
DeepseekV32ForCausalLM
AutoencoderKLCogVideoX
stabilityai/stable-diffusion-3.5-large
hf.co/unsloth/gemma-3-27b-it-GGUF:Q4_K_XL
ollama run llama3.1:70b-instruct-q4_K_M
2026-11-22 14:48:37,123
2024-06-28T06:11:52.685300953Z
[2025-07-02 07:41:58 TP0]
Mon Aug 22 15:23:57 2022
11/22/2026, 02:48:37 PM
INFO 08-01 12:30:45 [core.py:708]
time=2025-03-04T21:14:01.120+01:00 level=INFO
20231130_142530
epoch 3/10 2026-11-20-13-45-59
+0100
CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)
total-vm:61203384kB, anon-rss:27914240kB, file-rss:211844kB, shmem-rss:0kB, UID:0 pgtables:61204kB oom_score_adj:0
Allocation of 8589934592 bytes failed at 0x00007f3c58000000
tokens per second: 123.45, time_per_token="101.872134ms"
max_num_batched_tokens=8192, max_seq_len=131072, block_size=16
load: special_eos_id is not in special_eog_ids
total_tokens=4096 prompt_tokens=4000 completion_tokens=96
loss 1.2345e-04 lr 5.000e-05 grad_norm 0.98765
[00:01<00:02,  5.00it/s] 45%|####5     | 9/20
+12345 -6789 lines
415 926 535 897 932
0000:c1:00.0 VGA compatible controller
GPU 0: 40960 MiB total, 1024 MiB free (2.5%)
n_ctx_per_seq (4096) < n_ctx_train (131072)
temperature=0.7 top_p=0.95 top_k=40
/usr/local/lib/python3.11/dist-packages/torch/nn/modules/module.py
/opt/conda/lib/python3.10/site-packages/transformers/models/llama/modeling_llama.py
File "/workspace/vllm/vllm/v1/worker/gpu_model_runner.py", line 2345, in execute_model
/app/ComfyUI/comfy/ldm/modules/attention.py
/content/drive/MyDrive/train.py
/kaggle/working/notebook.ipynb
/data/models/TheBloke_airoboros-l2-70B-gpt4-1.4.1-GPTQ
/mnt/data/models/llama-3-8b/model-00001-of-00004.safetensors
/data/hub/models--Qwen--Qwen2.5-7B/snapshots/a09a35458c702b33eeacc393d103063234e8bc28
C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v12.4\bin\nvcc.exe
C:\Windows\System32\nvidia-smi.exe
/usr/lib/x86_64-linux-gnu/libcuda.so.1
/proc/driver/nvidia/version
/sys/fs/cgroup/memory.max
_ZN3c104cuda20CUDACachingAllocator6Native17DeviceCachingAllocator6mallocEimP11CUstream_st
void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<c10::Half>>
sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_stage4_warpsize2x2x1_tensor16x8x16_kernel
triton_poi_fused__to_copy_add_mul_3
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
NCCL_SOCKET_IFNAME=eth0 NCCL_DEBUG=INFO
EOS token = 128009 '<|eot_id|>'
tokenizer_class: PreTrainedTokenizerFast, pad_token: '<|finetune_right_pad_id|>'
api_key=None, ssl_keyfile=None, root_path=None, allow_credentials=False
Add the --api-key flag or set VLLM_API_KEY to require a key
host='0.0.0.0', port=8000, uvicorn_log_level='info'
http://localhost:11434/api/generate
https://huggingface.co/docs/transformers/main_classes/quantization
see https://distributed.dask.org/en/latest/worker-memory.html
https://github.com/pytorch/pytorch/blob/main/torch/csrc/autograd/README.md
wandb: Run data is saved locally in ./wandb/run-20261122_144837-a1b2c3d4
container_id: 3f2a1b4c5d6e
task_0=/docker/3f2a1b4c5d6e7f8091a2b3c4d5e6f7081920a1b2c3d4e5f60718293a4b5c6d7e,task=python3,pid=4242,uid=0
slurmstepd: error: Detected 1 oom_kill event in StepId=440575.batch
bus error (core dumped) python train.py --batch_size 8 --lr 1e-4 --output_dir output
python generate.py --ckpt_dir ./Wan2.2-T2V-A14B --size 1280*720 --save_file output.mp4
copy from host to device failed on node 0
`), "\n")

// TestNeutral: of 100 lines and more that hold nothing private, at most one is
// changed.
func TestNeutral(t *testing.T) {
	assert.GreaterOrEqual(t, len(neutral), 100)
	changed := 0
	for _, line := range neutral {
		if got := text(line); got != line {
			t.Logf("%q became %q", line, got)
			changed++
		}
	}
	t.Logf("%d of %d neutral lines changed", changed, len(neutral))
	assert.LessOrEqual(t, changed, 1)
	all := strings.Join(neutral, "\n")
	assert.Equal(t, all, text(all), "as one log")
}
