package ambient

import (
	"regexp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// System reads which system a log was made on, by paths and by what only one
// of them says.
var System = text.Parser{Name: "system", Context: append(text.Each(systemWords, func(w systemWord) string { return w.word }), driveWords...), Parse: parseSystem}

// systemWord is text that only one system prints. A path counts where it
// begins a word: "/usr/" inside of one is part of another path, or of a URL.
type systemWord struct {
	word, id string
	path     bool
}

var systemWords = slices.Concat(
	says(fact.OnLinux, "x86_64-linux-gnu", "aarch64-linux-gnu", "linux-gnu", "manylinux", "/dev/shm", "glibc", "SIGKILL", "slurmstepd:", "oom-kill:", "oom_score_adj", "invoked oom-killer",
		"Killed process", "systemd[", "journalctl", "sudo ", "cgroup", "signal: killed", "Platform = Linux", "Platform: Linux", "os_linux.cpp", "linux_arm", "linux_amd64", "/lib/python3", "$ ./", "$ python", "$ ollama", "$ llama", "$ vllm", "$ sudo", "root@", "NCCL WARN", "ProcessGroupNCCL", "NCCL error", "insufficient shared memory", "is killed by signal", "sigkill_handler",
		"can't allocate memory: you", "Error code 12", "bash: line", "torch.distributed.elastic", "Linux version", "Linux-", "libc.so", "libcuda.so", ".so(", ".so.", "(core dumped)", "vfio", "zsh: killed", "amdgpu", "/kfd", "drm:"),
	paths(fact.OnLinux, "/home/", "/usr/", "/opt/", "/root/", "/mnt/", "/data/", "/workspace", "/tmp/", "/var/", "/app/", "/srv/", "/lib64/", "/lib/x86", "/proc/", "/sys/", "/dev/", "/scratch/", "/kaggle/", "/content/", "/media/", "/etc/", "/build/", "/go/src/", "/pytorch/", "/workspaces/", "/models/", "/vllm", "/nfs", "/bin/"),
	says(fact.OnWindows, "'/C/", `"/C/`, "/c/Users/", "Press any key to continue", "0xc0000409", "TerminateProcess:", "WinError", "Exception 0xc", "Exception 0xe", "os error 1455", "DefaultCPUAllocator: not enough memory", `\c10\core`, "PS C:", "AppData", "ProgramData", "Program Files", ".exe ", ".exe`", `.exe"`, ".dll ", `.dll"`, ".bat ", "powershell", "Platform = Windows", "Platform: Windows", "Windows-1", "Windows 1", "\\site-packages\\", `\llama.cpp\`, `\ollama\`, `blobs\sha256-`, "win_amd64", "win32", "os_windows.cpp", "os_windows_x86", "DirectML", "dml_", "installer_files\\", "MSVC", "Microsoft Windows"),
	says(fact.OnMac, "/opt/homebrew", "MacBook", "Mac-mini", "Mac-Studio", "darwin", "macOS", "MPS backend out of memory", "MPS allocated", "ggml_metal_", "kIOGPU", "Apple M", "MTLBuffer", "mps.", "metal::malloc", "Invalid buffer size:", "CoreML", "libobjc", ".dylib", "jetsam", "Killed: 9", "FP16_VA = 1 | WASM_SIMD = 0 | BLAS = 1"),
	paths(fact.OnMac, "/Users/", "/Applications/", "/Library/", "/private/var"),
	says(fact.OnWSL, "microsoft-standard-WSL", "WSL2", "/usr/lib/wsl/"),
	paths(fact.OnWSL, "/mnt/c/", "/mnt/d/", "/C/Users/", "/host_mnt/", "/run/desktop/mnt/"),
)

func says(id string, words ...string) []systemWord {
	return text.Each(words, func(w string) systemWord { return systemWord{w, id, false} })
}

func paths(id string, words ...string) []systemWord {
	return text.Each(words, func(w string) systemWord { return systemWord{w, id, true} })
}

// driveWords lead to lines that may have a path with a drive letter, or one
// that begins with .\.
var driveWords = []string{`c:\`, `d:\`, `e:\`, `f:\`, `g:\`, `h:\`, "c:/", "d:/", "e:/", `..\`, `'.\`, ".exe", ".gguf", ".safetensors", ".bat", ".ps1", ".py"}

// drive finds a path with a drive letter.
var drive = regexp.MustCompile(`(?:^|[\s"'(\[])[A-Za-z]:(?:\\{1,2}[^\s\\]|/[\w.])`)

// relative is a path of Windows without its drive: .\main.exe, ..\models\a.gguf.
var relative = regexp.MustCompile(`(?:^|[\s"'(\[=])\.{1,2}\\[\w.-]+`)

// enoughOfSystem lines are evidence enough for one system.
const enoughOfSystem = 3

func parseSystem(l *text.Log, hits []text.Hit, f *fact.Facts) {
	seen, last := map[string]int{}, map[string]int{}
	if i := slices.IndexFunc(l.Lines, func(x clean.Line) bool { return x.Program != "" || x.Source == "APIServer pid=1" }); i >= 0 { // journald's prefix, or a container's, whose first process vLLM is
		f.Signals = append(f.Signals, fact.Signal{ID: fact.OnLinux, Line: l.Lines[i].Number, Text: l.Lines[i].Text})
		if strings.HasSuffix(l.Lines[i].Program, "|") || l.Lines[i].Program == "" {
			f.Signals = append(f.Signals, fact.Signal{ID: fact.InContainer, Line: l.Lines[i].Number, Text: l.Lines[i].Text})
		}
	}
	line, asked, looked := -1, []int(nil), 0 // the words that were asked for on a line
	for _, h := range hits {
		if i := l.LineIndex(h.At); i != line {
			line, asked = i, asked[:0]
		}
		if slices.Contains(asked, h.Word) || looked > maxLooked {
			continue
		}
		asked, looked = append(asked, h.Word), looked+1
		id := fact.OnWindows
		if h.Word < len(systemWords) {
			id = systemWords[h.Word].id
		}
		if seen[id] >= enoughOfSystem || last[id] == l.Line(h.At) || !systemAt(l, h) {
			continue
		}
		seen[id]++
		last[id] = l.Line(h.At)
		l.Signal(f, id, h.At)
	}
}

// systemAt reports that a hit proves its system. It looks at the line as it was
// written: squeezing joins words and folds case.
func systemAt(l *text.Log, h text.Hit) bool {
	line := l.LineText(h.At)
	line = line[:min(len(line), longestFrame)]
	if h.Word >= len(systemWords) {
		hasPath := strings.Contains(line, `:\`) || strings.Contains(line, ":/")
		return hasPath && drive.MatchString(line) || strings.Contains(line, `.\`) && relative.MatchString(line)
	}
	w := systemWords[h.Word]
	for at := 0; ; {
		i := strings.Index(line[at:], w.word)
		if i < 0 {
			return false
		}
		at += i
		if !w.path || at == 0 || strings.IndexByte(" \t\"'`([=:,>~", line[at-1]) >= 0 && !strings.HasSuffix(line[:at], "://") {
			return true
		}
		at++
	}
}
