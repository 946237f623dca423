package redact

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// secretValue tells a secret from what else follows such a name: None, a
// number, a variable, the next word of a sentence.
func secretValue(before, x, _ string) bool {
	name, separator := splitKey(before)
	if slices.Contains([]string{"none", "null", "nil", "true", "false", "empty", "secret", "token", "redacted", "required", "optional", "str", "string", "dummy", "..."}, strings.ToLower(strings.Trim(x, ".:*<>[]"))) || strings.Trim(x, "*xX.") == "" {
		return false
	}
	if strings.ContainsAny(x[:1], "$<{%(@[|") || strings.HasPrefix(x, "os.") || pathLike(x) {
		return false
	}
	if _, err := strconv.ParseFloat(x, 64); err == nil && !strings.Contains(name, "pass") {
		return false
	}
	switch {
	case separator == "" && !strings.HasPrefix(name, "--"):
		return false // a sentence
	case separator == "":
		return len(x) >= 3 && x[0] != '-' && !slices.Contains([]string{"flag", "flags", "option", "options", "argument", "and", "and/or", "was", "must", "can", "for", "with", "with.", "from"}, strings.ToLower(x))
	case strings.HasSuffix(name, "per_token"), !strings.Contains(name, "pass") && measured().MatchString(x):
		return false
	case name == "token":
		return len(x) >= 12 && secretLooking("", x, "")
	case strings.HasSuffix(name, "_key_id"), strings.HasSuffix(name, "secret"), strings.Contains(name, "pass"), name == "pwd":
		return len(x) >= 3
	}
	return len(x) >= 6
}

// measured is a figure with its unit.
var measured = lazy(`^\d+(?:\.\d+)?(?:[a-zA-Zµ]{1,3}|[KMGT]i?B|%|(?:tok|it|s)\w*/\w+)?$`)

// splitKey returns the name and the separator at the end of a text: `--api-key`
// and "" of "vllm serve --api-key ".
func splitKey(before string) (name, separator string) {
	rest := strings.TrimRight(before, "'\" \t\\")
	if strings.HasSuffix(before, "b'") || strings.HasSuffix(before, `b"`) {
		rest = strings.TrimRight(before[:len(before)-2], "'\" \t")
	}
	if n := len(strings.TrimRight(rest, ":=")); n < len(rest) {
		rest, separator = strings.TrimRight(rest[:n], "'\" \t]\\"), rest[n:]
	}
	start := strings.LastIndexFunc(rest, func(r rune) bool { return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) + 1
	return strings.ToLower(rest[start:]), separator
}

// pathLike reports the place of a secret, or the folder that PWD names.
func pathLike(x string) bool {
	return x[0] == '/' || x[0] == '~' || strings.HasPrefix(x, "./") || len(x) > 2 && x[1] == ':' && (x[2] == '\\' || x[2] == '/')
}

// noGit leaves the account alone that every clone has.
func noGit(_, x, _ string) bool { return x != "git" && !strings.HasPrefix(x, "git@") }

// noPlaceholder tells a login in a URL from the words that stand for one in a
// manual.
func noPlaceholder(_, x, _ string) bool {
	return !slices.Contains([]string{"user:password", "username:password", "user:pass"}, strings.ToLower(x)) && !strings.ContainsAny(x[:1], "$<{")
}

// login tells a name with its password from the numbers of a user and a group,
// a drive's letter and a program's own names.
func login(_, x, _ string) bool {
	name, password, _ := strings.Cut(x, ":")
	number := strings.Trim(x, "0123456789:") == ""
	return !number && len(name) > 0 && !strings.HasPrefix(x, "$") && !strings.HasPrefix(password, "/") && name != password && !(len(name) == 1 && pathLike(x))
}

// querySecret wants of the common names in a URL that their values look like
// secrets.
func querySecret(before, x, after string) bool {
	name := strings.ToLower(before[strings.LastIndexAny(before, "?&")+1 : len(before)-1])
	return !slices.Contains([]string{"key", "auth", "code", "policy"}, name) || secretLooking("", x, after)
}

// namespace leaves those that every cluster has alone.
func namespace(_, x, _ string) bool {
	return !slices.Contains([]string{"default", "kube-system", "none", "null"}, strings.ToLower(x))
}

// localHost tells a machine's name in a home network from a file or an
// attribute: "settings.local.json", "~/.local/share", "threading.local()".
func localHost(before, x, after string) bool {
	if before != "" && (wordly(before[len(before)-1]) || strings.IndexByte(".-/~\\$", before[len(before)-1]) >= 0 && !strings.HasSuffix(before, "//")) {
		return false
	}
	if after != "" && (strings.IndexByte("(-_=[\\", after[0]) >= 0 || after[0] == '.' && len(after) > 1 && wordly(after[1])) {
		return false
	}
	name := strings.ToLower(strings.TrimSuffix(x, ".local"))
	return !slices.Contains([]string{"self", "cls", "threading", "thread", "asgiref", "torch", "env", "config", "settings", "this", "var", "locals", "host"}, name)
}

// hardware tells a card's address from a date with its time.
func hardware(before, x, after string) bool {
	if before != "" && (wordly(before[len(before)-1]) || strings.IndexByte(":-.", before[len(before)-1]) >= 0) || after != "" && (wordly(after[0]) || strings.IndexByte(":-", after[0]) >= 0) {
		return false
	}
	return strings.Contains(x, ":") || strings.ContainsFunc(x, unicode.IsLetter)
}

// noScheme leaves the word before the token of an Authorization header alone.
func noScheme(_, x, _ string) bool {
	return !slices.Contains([]string{"bearer", "basic", "digest", "token"}, strings.ToLower(x))
}

// secretLooking wants digits among letters: "sk-learn-contrib-example" has
// none.
func secretLooking(before, x, _ string) bool {
	if before != "" && (before[len(before)-1] == '-' || before[len(before)-1] == '/') && !strings.HasPrefix(x, "hf_") {
		return false // part of a longer name: disk-sk-..., or of a path
	}
	digits, letters := 0, 0
	for _, r := range x {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	return digits > 0 && letters > 0 || strings.HasPrefix(x, "hf_") && letters >= 20
}

// words tells a prompt from what else follows -p: Docker's "8000:8000", a
// directory to make.
func words(_, x, _ string) bool {
	return strings.Contains(x, " ") && x[0] != '/' && x[0] != '.'
}

// accounts that say what kind of machine it is, and nothing about a person.
var accounts = []string{
	"user", "users", "username", "name", "you", "yourname", "ubuntu", "debian", "root", "admin", "administrator", "runner", "jovyan", "ec2-user", "azureuser", "vscode", "coder",
	"public", "shared", "default", "app", "appuser", "docker", "ollama", "vllm", "comfyui", "container", "node", "nobody", "mambauser", "model-server", "sagemaker-user", "studio-lab-user", "linuxbrew", "conda", "build", "builder", "work", "workspace", "data", "models", "...", "xxx", "xxxx",
}

func person(_, x, _ string) bool {
	return !slices.Contains(accounts, strings.ToLower(x)) && strings.Trim(x, "*.x$<>{}_%") != ""
}

// named is [person] for a name that stands in a sentence or a list of options.
func named(before, x, after string) bool {
	return person(before, x, after) && !slices.Contains([]string{
		"none", "null", "true", "false", "request", "interrupt", "error", "code", "memory", "input", "script", "space", "defined", "program", "process", "mode", "config", "settings", "level", "agent", "assistant", "system", "id", "unknown",
	}, strings.ToLower(x))
}

// publicHosts are those that everybody knows, and what they are part of.
var publicHosts = set(`
	github.com github.io githubusercontent.com gitlab.com bitbucket.org huggingface.co hf.co pytorch.org python.org pypi.org pythonhosted.org readthedocs.io readthedocs.org nvidia.com nvidia.cn ngc.nvidia.com amd.com intel.com google.com googleapis.com goo.gle microsoft.com aka.ms
	apple.com docker.com docker.io ghcr.io quay.io gcr.io amazonaws.com azure.com kubernetes.io k8s.io ray.io vllm.ai ollama.com ollama.ai tensorflow.org jax.dev openai.com anthropic.com modelscope.cn civitai.com wandb.ai kaggle.com colab.research.google.com stackoverflow.com
	stackexchange.com discord.com discord.gg slack.com reddit.com wikipedia.org arxiv.org gradio.app streamlit.io conda.io anaconda.com anaconda.org conda-forge.org debian.org ubuntu.com kernel.org schedmd.com llvm.org cmake.org nodejs.org npmjs.com rust-lang.org crates.io docs.rs
	golang.org go.dev julialang.org r-project.org oracle.com java.com apache.org w3.org example.com example.org example.net mozilla.org cloudflare.com comfy.org invoke.ai lmstudio.ai sentry.io bit.ly t.co youtube.com youtu.be twitter.com x.com localhost openxla.org mlflow.org keras.io scipy.org numpy.org
	dask.org rapids.ai scikit-learn.org pandas.pydata.org spark.apache.org databricks.com cuda.com khronos.org vulkan.lunarg.com blender.org opencv.org onnxruntime.ai onnx.ai tinyurl.com medium.com gnu.org curl.se sqlite.org postgresql.org redis.io mongodb.com elastic.co grafana.com prometheus.io
	deepspeed.ai lightning.ai fast.ai paddlepaddle.org.cn baidu.com aliyuncs.com tuna.tsinghua.edu.cn unsloth.ai axolotl.ai jupyter.org developer.download.nvidia.com oomdoc.dev
`)

// public reports a host that is known, or lies in a domain that is.
func public(x string) bool {
	for x = strings.TrimPrefix(strings.ToLower(x), "docs."); ; {
		if publicHosts[x] {
			return true
		}
		_, rest, ok := strings.Cut(x, ".")
		if !ok {
			return false
		}
		x = rest
	}
}

// account leaves those of [person], and public hosts.
func account(before, x, after string) bool {
	return person(before, x, after) && x != "git" && !public(x)
}

// distinctHost is [host] for a name in a sentence: "on host memory", "from host
// to device". One with a number is a machine's.
func distinctHost(before, x, after string) bool {
	quoted := strings.HasSuffix(before, "<") || strings.HasSuffix(before, "'") || strings.HasSuffix(before, `"`)
	kind := strings.TrimRight(strings.ToLower(x), "0123456789_.:-")
	return host(before, x, after) && (quoted || strings.ContainsAny(x, "0123456789")) && !slices.Contains([]string{"rank", "cuda", "device", "worker", "localhost"}, kind)
}

// machine leaves the names of services, which containers have among each other.
func machine(before, x, after string) bool {
	file := slices.Contains([]string{"py", "js", "ts", "sh", "md", "cc", "cpp", "cu", "rs", "go", "json", "yaml", "yml", "txt", "html", "log"}, x[strings.LastIndexByte(x, '.')+1:]) // linked by a forum
	return host(before, x, after) && !file && !public(x) && !slices.Contains(accounts, strings.ToLower(x)) && !slices.Contains([]string{"example", "redis", "postgres", "db", "cache", "mq", "minio", "litellm", "webui", "backend", "frontend", "server", "api", "proxy", "worker", "gateway", "registry", "qdrant", "searxng"}, strings.ToLower(x))
}

// share leaves the names under which Windows shows its own Linux.
func share(_, x, _ string) bool { return !strings.EqualFold(x, "wsl.localhost") }

// podLike wants letters in what Kubernetes appends.
func podLike(_, x, _ string) bool {
	hash := x[strings.LastIndexByte(strings.TrimRight(x[:len(x)-6], "-"), '-')+1:]
	return strings.ContainsFunc(hash, unicode.IsLetter)
}

// phone tells a telephone number from a figure and a part of a longer word.
func phone(before, x, after string) bool {
	if before != "" && (wordly(before[len(before)-1]) || strings.IndexByte("+-.:/", before[len(before)-1]) >= 0) || after != "" && (wordly(after[0]) || strings.IndexByte("-:/%", after[0]) >= 0) {
		return false
	}
	if len(after) > 1 && after[0] == '.' && wordly(after[1]) {
		return false
	}
	digits := len(x) - len(strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, x))
	return digits >= 7 && digits <= 15
}

// mailbox tells an e-mail from "git@github.com", "user@1000.service" and
// "torch@2.1.dev".
func mailbox(_, x, after string) bool {
	name, domain, _ := strings.Cut(x, "@")
	end := domain[strings.LastIndexByte(domain, '.')+1:]
	if name == "git" || len(end) < 2 || strings.IndexFunc(end, func(r rune) bool { return !unicode.IsLetter(r) }) >= 0 || strings.HasPrefix(after, "/") || strings.HasPrefix(after, "(") {
		return false
	}
	return !slices.Contains([]string{"service", "slice", "scope", "socket", "timer", "target", "mount", "swap", "path", "dev", "post", "py", "json", "so", "sh", "js", "log"}, strings.ToLower(end))
}

// host tells a host's name from None, a number and this very machine.
func host(_, x, _ string) bool {
	lower := strings.ToLower(strings.TrimRight(x, "."))
	if slices.Contains([]string{"none", "null", "localhost", "kernel", "true", "false", "hostname", "unknown", "localhost.localdomain"}, lower) {
		return false
	}
	if x == strings.ToUpper(x) && strings.IndexFunc(x, unicode.IsDigit) < 0 {
		return false // a level: ERROR
	}
	return strings.IndexFunc(x, unicode.IsLetter) >= 0 && !sizeLike(lower)
}

// sizeLike reports "12gib" and its like.
func sizeLike(s string) bool {
	rest := strings.TrimLeft(s, "0123456789.")
	return rest != s && slices.Contains([]string{"b", "k", "m", "g", "kb", "mb", "gb", "kib", "mib", "gib"}, rest)
}

// address tells an IPv4 address from a version, a time and a part of a longer
// number. This machine (127.0.0.1, 0.0.0.0) is no secret.
func address(before, x, after string) bool {
	if before != "" && (wordly(before[len(before)-1]) || strings.IndexByte(".-+~", before[len(before)-1]) >= 0) {
		return false
	}
	if after != "" && (wordly(after[0]) || after[0] == '+' || (after[0] == '.' || after[0] == '-') && len(after) > 1 && wordly(after[1])) {
		return false
	}
	a, err := netip.ParseAddr(x) // refuses leading zeros and 256
	if err != nil || a.IsLoopback() || a.IsUnspecified() || x == "255.255.255.255" {
		return false
	}
	return !versioned(before)
}

// versioned reports that what precedes makes the next number a version:
// "nvidia-curand-cu12==", "cuDNN ", "driver version: ".
func versioned(before string) bool {
	if strings.HasSuffix(before, "==") || strings.HasSuffix(before, ">=") || strings.HasSuffix(before, "<=") || strings.HasSuffix(before, "~=") {
		return true
	}
	before = before[max(0, len(before)-60):]
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		before = before[i+1:]
	}
	word := strings.ToLower(strings.TrimRight(before, " \t:=('\"|v"))
	if i := strings.LastIndexAny(word, " \t(,;'\"|"); i >= 0 {
		word = word[i+1:]
	}
	for _, sign := range []string{
		"version", "driver", "cuda", "cudnn", "cublas", "curand", "cufft", "cusparse", "cusolver", "nvidia", "nccl", "tensorrt", "runtime", "release", "build", "toolkit", "firmware",
		"bios", "rocm", "hip", "-cu1", "windows", "chrome", "firefox", "edge", "opera", "torch", "python", "lib", "rev", "package", "level-zero", "oneapi", "opencl", "directml", "vulkan",
	} {
		if strings.Contains(word, sign) {
			return true
		}
	}
	return false
}

// address6 tells an IPv6 address from a time (12:34:56), a PCI address
// (00000000:65:00.0) and a C++ name (c10::cuda).
func address6(before, x, after string) bool {
	if before != "" && (wordly(before[len(before)-1]) || before[len(before)-1] == ':') || after != "" && (wordly(after[0]) || after[0] == ':') {
		return false
	}
	a, err := netip.ParseAddr(x)
	if err != nil {
		return false
	}
	first := x[0] | 0x20
	return first == '2' && len(x) > 4 && x[4] == ':' || first == 'f' && len(x) > 4 && x[4] == ':' && (a.IsLinkLocalUnicast() || a.IsPrivate() || a.IsMulticast())
}

func wordly(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// quad wants four numbers with dots between them.
func quad(t *glance) bool {
	groups, digits := 0, 0
	for i := range len(t.lower) {
		switch c := t.lower[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '.' && digits > 0 && digits <= 3:
			if groups++; groups == 3 {
				return true
			}
			digits = 0
		default:
			groups, digits = 0, 0
		}
	}
	return false
}

// pairs wants four pairs of characters with ":" or "-" between them.
func pairs(t *glance) bool {
	s := t.lower
	for i := 2; i+9 < len(s); i++ {
		if c := s[i]; (c == ':' || c == '-') && s[i+3] == c && s[i+6] == c && s[i+9] == c {
			return true
		}
	}
	return false
}

// globalAddress wants the first group of an IPv6 address that [address6] takes.
func globalAddress(t *glance) bool {
	s := t.lower
	for i := 4; i < len(s); i++ {
		if s[i] == ':' && (s[i-4] == '2' || s[i-4] == 'f') {
			return true
		}
	}
	return false
}

// threeThenFour wants the separators of 415-926-5358.
func threeThenFour(separator byte) near {
	return func(t *glance) bool {
		s := t.lower
		for i := 3; i+5 < len(s); i++ {
			if s[i] == separator && s[i+4] == separator && s[i-1] <= '9' && s[i+5] <= '9' {
				return true
			}
		}
		return false
	}
}

// podEnds are what a pod's name can end in.
const podEnds = "bcdfghjklmnpqrstvwxz2456789"

// podSuffix wants -XXXXXXXX-XXXXX.
func podSuffix(t *glance) bool {
	s := t.lower
	for i := 9; i+6 <= len(s); i++ {
		if s[i] == '-' && strings.Trim(s[i+1:i+6], podEnds) == "" && strings.Trim(s[i-8:i], podEnds) == "" {
			return true
		}
	}
	return false
}
