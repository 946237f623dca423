package redact

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// secretName is the name of a secret, as in NAME=VALUE, "NAME": "VALUE", --NAME
// VALUE. "token" alone is not enough: language models are full of tokens.
const secretName = `(?i)(?:\b|_|-)(?:api_?keys?|api-keys?|secret(?:[_-]?(?:access[_-]?)?key)?|client[_-]?secret|access[_-]?key(?:_id)?|account[_-]?key|shared[_-]?access[_-]?key|private[_-]?key|access[_-]?token|auth[_-]?token|session[_-]?token|` +
	`api[_-]?token|hf[_-]?token|hub[_-]?token|bot[_-]?token|refresh[_-]?token|bearer[_-]?token|github[_-]?token|use_auth_token|x-api-key|password|passwd|passphrase|credentials?|token)`

// secretSigns are parts of those names.
var secretSigns = []string{"key", "secret", "token", "pass", "credential"}

// namedSecret is for a list of secrets: "token" alone names one of a model.
func namedSecret(before, x, _ string) bool {
	name, _ := splitKey(strings.TrimRight(before, "[( "))
	return name != "token" && x != "'SECRET'" && strings.Trim(x, `'", `) != ""
}

// secretString is [secretValue] for a string with its quotes: it may hold what
// ends a bare value.
func secretString(before, x, after string) bool {
	inside := strings.Trim(x, `'"`)
	return x != "'SECRET'" && inside != "" && strings.ContainsAny(inside, " ,;)]}&'\"\\") && !strings.Contains(inside, "\n") && secretValue(before, inside, after)
}

// secretValue tells a secret from what else follows such a name: None, a
// number, a variable, the next word of a sentence.
func secretValue(before, x, _ string) bool {
	name, separator := splitKey(before)
	if slices.Contains([]string{"none", "null", "nil", "true", "false", "empty", "secret", "token", "redacted", "..."}, strings.ToLower(strings.Trim(x, ".:*<>[]"))) || strings.Trim(x, "*xX.") == "" {
		return false
	}
	if strings.ContainsAny(x[:1], "$<{%(@[") || strings.HasPrefix(x, "os.") || strings.HasPrefix(x, "|") {
		return false
	}
	if _, err := strconv.ParseFloat(x, 64); err == nil && !strings.Contains(name, "pass") {
		return false
	}
	switch {
	case separator == "" && !strings.HasPrefix(name, "--"):
		return false // a sentence
	case separator == "":
		return len(x) >= 3 && x[0] != '-'
	case name == "token":
		return len(x) >= 12 && secretLooking("", x, "")
	case strings.HasSuffix(name, "_key_id"), strings.HasSuffix(name, "secret"), strings.Contains(name, "pass"):
		return len(x) >= 3
	}
	return len(x) >= 6
}

// splitKey returns the name and the separator at the end of a text: `--api-key`
// and "" of "vllm serve --api-key ".
func splitKey(before string) (name, separator string) {
	rest := strings.TrimRight(before, "'\" \t")
	if strings.HasSuffix(before, "b'") || strings.HasSuffix(before, `b"`) {
		rest = strings.TrimRight(before[:len(before)-2], "'\" \t")
	}
	if n := len(strings.TrimRight(rest, ":=")); n < len(rest) {
		rest, separator = strings.TrimRight(rest[:n], "'\" \t"), rest[n:]
	}
	start := strings.LastIndexFunc(rest, func(r rune) bool { return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) + 1
	return strings.ToLower(rest[start:]), separator
}

// noGit leaves the account alone that every clone has.
func noGit(_, x, _ string) bool { return x != "git" && !strings.HasPrefix(x, "git@") && x != "LOGIN" }

// words tells a prompt from what else follows -p: Docker's "8000:8000", a
// directory to make.
func words(_, x, _ string) bool {
	return strings.Contains(x, " ") && x[1] != '/' && x[1] != '.'
}

// namespace leaves those that every cluster has alone.
func namespace(_, x, _ string) bool {
	return !slices.Contains([]string{"default", "kube-system", "none", "null"}, strings.ToLower(x)) && x != "NAMESPACE"
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

func longerThanTwo(_, x, _ string) bool { return len(x) > 2 && x != "'PROMPT'" && x != `"PROMPT"` }

// accounts that say what kind of machine it is, and nothing about a person.
var accounts = []string{
	"user", "users", "username", "name", "you", "yourname", "ubuntu", "debian", "root", "admin", "administrator", "runner", "jovyan", "ec2-user", "azureuser", "vscode", "coder",
	"public", "shared", "default", "app", "appuser", "docker", "ollama", "vllm", "comfyui", "container", "node", "nobody", "mambauser", "model-server", "sagemaker-user", "studio-lab-user", "linuxbrew", "conda", "build", "builder", "work", "workspace", "data", "models", "...", "xxx", "xxxx",
}

func person(_, x, _ string) bool {
	return x != "USER" && !slices.Contains(accounts, strings.ToLower(x)) && strings.Trim(x, "*.x$<>{}_%") != ""
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
	if slices.Contains([]string{"host", "none", "null", "localhost", "kernel", "true", "false", "hostname", "unknown", "localhost.localdomain"}, lower) {
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
