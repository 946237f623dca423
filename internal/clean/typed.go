package clean

import (
	"regexp"
	"strings"
	"sync"
)

// shellPrompt is what shells, notebooks and "set -x" put before a command:
// "$ ", "user@host:~/x$ ", "(venv) [me@node x]$ ", "PS C:\x> ", "In [3]: !", "+ ".
var shellPrompt = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\([\w.+/ -]{1,40}\) *)*(?:(?:\[?[\w.-]{1,40}@[\w.-]{1,64}[^$#%>]{0,120}|~?/[^$#%>\s]{0,120}|~|[\w.-]{1,40}:[~/]?[^$#%>\s]{0,120}|(?:ba|z)?sh-[\d.]+|PS(?: [A-Za-z]:[^>]{0,200})?|[A-Za-z]:\\[^>]{0,200}|In ?\[\d*\]:)? ?(?:[$#%>❯]|➜ +\S+) ?|(?:In ?\[\d*\]: ?)?!|%%(?:bash|sh) |\+{1,4} )`)
})

// Words before a command's name that are no part of a sentence: labels of YAML,
// Dockerfiles, units and issue forms, and assignments.
var (
	commandLabel = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?i:(?:- +|(?:command|cmd|args|entrypoint|run|exec|execstart|launch command|start command|command line|command used|full command|my command|the command|script|launching with|launched with|starting with|running|executing|executed)(?: ?[:=]| +\[| is:?)+|(?:CMD|ENTRYPOINT|RUN|exec|call|start) +)[\["' ]*)`)
	})
	assignment = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:export +|set +|env +|SET +|\$env:)?[A-Za-z_]\w* ?= ?(?:"[^"]*"|'[^']*'|[^\s;&]*)[;& ]*`)
	})
	// ended is what a shell says of a command that a signal ended.
	ended = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:zsh: |\S+: line \d+: +|\[\d+\][+-]? +)(?:\d+ )?(?i:killed|abort|aborted|segmentation fault|trace trap|terminated|illegal hardware instruction)(?: \(core dumped\))? +\S`)
	})
	// processRow is the beginning of a line of ps or top.
	processRow = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:\S+ +)?\d{1,7} +(?:\S+ +){1,9}?(?:\d+:\d\d(?:[:.]\d\d)?|\d+:\d+\.\d+) +`)
	})
)

// starterNames are the first words of commands that start programs.
const starterNames = "sudo nohup time env exec docker podman nerdctl srun sbatch salloc mpirun mpiexec torchrun accelerate deepspeed python python3 py ipython uv uvx pipx conda mamba micromamba poetry pdm hatch ray kubectl helm singularity apptainer " +
	"numactl nsys taskset nice ionice stdbuf unbuffer script strace gdb setsid screen tmux bash sh zsh cmd start call export set cd source make just npx bun deno " +
	"vllm sglang ollama text-generation-launcher lmdeploy xinference aphrodite tabbyapi koboldcpp koboldcpp.py llamafile main server llama-server llama-cli llama-bench llama-run llama-mtmd-cli llama-perplexity llama-embedding llama-simple llama-completion " +
	"whisper-cli whisper sd comfy invokeai-web swift llamafactory-cli axolotl tune ns-train yolo nnunetv2_train trtllm-serve trtllm-build tritonserver local-ai genai-perf fabric lightning mlx_lm.lora mlx_lm.server mlx_lm.generate mlx_lm.convert mlx_vlm.lora mlx_vlm.server mlx_vlm.generate mlx-openai-server mlx_whisper"

// Typed reports a command line that somebody typed or wrote into a file for a
// shell: it stands behind a prompt, or the line begins with it. What stands in
// the middle of a line is told of, not typed, and so is what a logger printed.
func (l Line) Typed() bool {
	if l.Inner {
		return false
	}
	s := strings.TrimLeft(l.Text, " `\"'*")
	if at := shellPrompt().FindStringIndex(s); at != nil && at[1] < len(s) {
		return true
	}
	if l.Logged {
		return false
	}
	for range 8 {
		at := commandLabel().FindStringIndex(s)
		if at == nil {
			at = assignment().FindStringIndex(s)
		}
		if at == nil || at[1] == 0 {
			break
		}
		if s = strings.TrimLeft(s[at[1]:], " `\"'["); s == "" {
			return true
		}
	}
	return processRow().MatchString(s) || ended().MatchString(s) || starts(s)
}

// starts reports a text that begins with a program's name, a path or an option.
func starts(s string) bool {
	word, _, _ := strings.Cut(s, " ")
	word = strings.Trim(word, "\"'`,")
	if word == "" {
		return false
	}
	if strings.HasPrefix(word, "-") {
		return len(word) > 1 && (word[1] == '-' || letter(word[1]))
	}
	for _, begins := range [...]string{"./", "../", "~/", "/", `.\`, `..\`, "$("} {
		if strings.HasPrefix(word, begins) {
			return true
		}
	}
	if len(word) > 2 && letter(word[0]) && word[1] == ':' && (word[2] == '\\' || word[2] == '/') {
		return true
	}
	name := strings.TrimSuffix(strings.ToLower(word), ".exe")
	if starter()[name] || strings.HasPrefix(name, "python") {
		return true
	}
	for _, ends := range [...]string{".py", ".sh", ".bat", ".ps1", ".cmd"} {
		if strings.HasSuffix(name, ends) {
			return true
		}
	}
	return strings.Contains(word, "/") && !strings.Contains(word, "://")
}

var starter = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(starterNames) {
		names[name] = true
	}
	return names
})
